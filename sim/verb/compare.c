/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire compare: cases beside each other, the first one as 1. */
#include <math.h>
#include <stdio.h>

#include "plots/charts.h"
#include "sim/base/arena.h"
#include "sim/report/answers.h"
#include "sim/verb/verbs.h"

const struct result_table *
comparison_table(struct arena *arena, const struct prediction *const *predictions, size_t count)
{
	static const struct answer_column columns[] = {
		{{"case", QUANTITY_COUNT, true, false}, ANSWER_NAME, ALL_KINDS, false},
		{{"gpus", QUANTITY_COUNT, false, false}, ANSWER_GPUS, TRAINING | COLLECTIVE, false},
		{{"images_per_s", QUANTITY_COUNT, false, true},
		 ANSWER_THROUGHPUT,
		 CLIENTS | TRAINING,
		 false},
		{{"bus_bandwidth_Bps", QUANTITY_RATE, false, true},
		 ANSWER_THROUGHPUT,
		 COLLECTIVE,
		 false},
		{{"to_first", QUANTITY_RATIO, false, true}, ANSWER_TO_FIRST, ALL_KINDS, false},
		{{"to_local", QUANTITY_RATIO, false, true}, ANSWER_RATIO, CLIENTS, false},
		{{"efficiency", QUANTITY_RATIO, false, true}, ANSWER_RATIO, TRAINING, false},
		{{"step_s", QUANTITY_TIME, false, true}, ANSWER_STEP, CLIENTS | TRAINING, false},
		{{"time_s", QUANTITY_TIME, false, true}, ANSWER_STEP, COLLECTIVE, false},
		{{"training_s", QUANTITY_TIME, false, true}, ANSWER_TRAINING, TRAINING, true},
		{{"exposed_s", QUANTITY_TIME, false, false}, ANSWER_EXPOSED, TRAINING, false},
		{{"input_wait_s", QUANTITY_TIME, false, false}, ANSWER_INPUT, TRAINING, false},
		{{"choice", QUANTITY_COUNT, true, false}, ANSWER_CHOICE, COLLECTIVE, false},
		{{"gpu_utilization", QUANTITY_RATIO, false, false},
		 ANSWER_UTILIZATION,
		 CLIENTS | TRAINING,
		 false},
		{{"verdict", QUANTITY_COUNT, true, false}, ANSWER_VERDICT, ALL_KINDS, false},
	};
	const struct answers answers = {.name = "comparison",
					.title = "Cases beside each other",
					.predictions = predictions,
					.count = count,
					.columns = columns,
					.column_count = sizeof columns / sizeof columns[0]};
	return answers_table(arena, &answers);
}

static int draw(const struct command *command, const struct prediction *const *predictions,
		size_t count)
{
	struct ratio_bar *bars = ARENA_ARRAY(command->arena, count, struct ratio_bar);
	for (size_t i = 0; i < count; i++)
		bars[i] = (struct ratio_bar){
			.label = predictions[i]->name,
			.measured = NAN,
			.failed = predictions[i]->ok ? NULL : predictions[i]->reason,
			.ratio = throughput_quotient(predictions[i], predictions[0])};
	struct chart_text text = {
		command->title
			? command->title
			: arena_printf(command->arena, "Throughput, %s = 1", predictions[0]->name),
		command_caption(command)};
	const struct drawing *drawing = chart_ratio_bars(command->arena, text, bars, count);
	return command_draw(command, command->plot, &drawing, 1);
}

static int run(const struct command *command)
{
	int code = EXIT_DONE;
	const struct prediction **predictions = command_predictions(command, NULL, &code);
	if (!predictions)
		return code;
	size_t count = command_case_count(command);
	code = command_table(command, comparison_table(command->arena, predictions, count));
	if (code == EXIT_DONE && command->plot)
		code = draw(command, predictions, count);
	return code;
}

const struct verb verb_compare = {
	.name = "compare",
	.words = "CASE CASE...",
	.help = "cases beside each other, the first one as 1",
	.examples = "  farwire compare local.cfg remote.cfg --plot ratios.svg\n",
	.options = "set format output plot title seed draws jobs color quiet",
	.words_min = 2,
	.cases = true,
	.run = run,
};
