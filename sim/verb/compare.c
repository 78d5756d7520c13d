/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire compare: compares cases with the first one, which counts as 1. */
#include "sim/report/answers.h"
#include "sim/report/chart_data.h"
#include "sim/verb/verbs.h"

const struct drawing *command_comparison(const struct command *command,
					 const struct result_table *table, size_t lead,
					 const struct prediction *const *predictions, size_t count,
					 const struct target *target)
{
	if (costs_are_known(predictions, count))
		return cost_chart(command->arena,
				  command_chart_text(command, "Throughput over cost"), table, lead,
				  predictions, target);
	struct ratio_bar *bars = chart_bars(command->arena, predictions, count);
	for (size_t i = 0; i < count; i++)
		bars[i].ratio = throughput_quotient(predictions[i], predictions[0]).estimate;
	const struct chart_text text = command_chart_text(
		command, arena_printf(command->arena, "Throughput, %s = 1", predictions[0]->name));
	return chart_ratio_bars(command->arena, text, bars, count);
}

static int run(const struct command *command)
{
	struct target target = {0};
	int code = EXIT_DONE;
	struct diag *diag = diag_new(command->arena);
	const struct case_request request = command_case(command, 0);
	const struct scenario *scenario =
		command->target ? case_read(command->arena, diag_new(command->arena), &request)
				: NULL;
	if (scenario)
		target_read(command->arena, diag, (struct origin){"--target", 0},
			    reporting_of(command->arena, scenario), command->target, &target);
	if (diag_count(diag))
		return command_failed(diag, NULL);
	const struct prediction **predictions = command_predictions(command, NULL, &code);
	if (!predictions)
		return code;
	size_t count = command_case_count(command);
	struct arena *arena = command->arena;
	const struct result_table *table = comparison_table(arena, predictions, count);
	const struct target *wanted = target.reported ? &target : NULL;
	const struct drawing *drawing =
		command->plot ? command_comparison(command, table, 1, predictions, count, wanted)
			      : NULL;
	if (wanted)
		table = ranked_table(arena, table, predictions, 1, &target);
	return command_answer(command, table, drawing, NULL);
}

const struct verb verb_compare = {
	.name = "compare",
	.words = "CASE CASE...",
	.help = "compares cases with the first one, which counts as 1; with --target, the cheapest "
		"of those that satisfy it comes first",
	.examples = "  farwire compare local.cfg remote.cfg --plot ratios.svg\n"
		    "  farwire compare a100.cfg h100.cfg --prices list-2026 --target "
		    "'training_time<=168 h'\n"
		    "  farwire compare --topology dgx-a100,dgx-h100 --model resnet50 --batch 64\n",
	.options = CASE_OPTIONS ANSWER_OPTIONS "target",
	.systems = true,
	.run = run,
};
