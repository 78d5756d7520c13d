/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire compare: compares cases with the first one, which counts as 1. */
#include "sim/report/answers.h"
#include "sim/report/chart_data.h"
#include "sim/verb/verbs.h"

static const struct drawing *draw(const struct command *command,
				  const struct prediction *const *predictions, size_t count)
{
	struct ratio_bar *bars = chart_bars(command->arena, predictions, count);
	for (size_t i = 0; i < count; i++)
		bars[i].ratio = throughput_quotient(predictions[i], predictions[0]).estimate;
	const struct chart_text text = command_chart_text(
		command, arena_printf(command->arena, "Throughput, %s = 1", predictions[0]->name));
	return chart_ratio_bars(command->arena, text, bars, count);
}

static int run(const struct command *command)
{
	int code = EXIT_DONE;
	const struct prediction **predictions = command_predictions(command, NULL, &code);
	if (!predictions)
		return code;
	size_t count = command_case_count(command);
	return command_answer(command, comparison_table(command->arena, predictions, count),
			      command->plot ? draw(command, predictions, count) : NULL, NULL);
}

const struct verb verb_compare = {
	.name = "compare",
	.words = "CASE CASE...",
	.help = "compares cases with the first one, which counts as 1",
	.examples = "  farwire compare local.cfg remote.cfg --plot ratios.svg\n",
	.options =
		"set plan serve wide format output plot no-data title seed draws jobs color quiet",
	.words_min = 2,
	.cases = true,
	.run = run,
};
