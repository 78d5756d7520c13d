/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire compare: cases beside each other, the first one as 1. */
#include <math.h>
#include <stdio.h>

#include "plots/charts.h"
#include "sim/base/arena.h"
#include "sim/verb/verbs.h"

struct comparison {
	enum output_format format;
	const struct result_table *table;
};

static void write_comparison(FILE *out, const void *ctx)
{
	const struct comparison *c = ctx;
	result_table_write(out, c->format, c->table);
}

/* Quotient of two estimates; the bounds pair the worst with the best, since
 * the draws of different cases are not the same worlds. */
static struct estimate quotient(struct estimate a, struct estimate b)
{
	return (struct estimate){a.value / b.value, a.low / b.high, a.high / b.low};
}

static struct result_cell text_cell(const char *text)
{
	return (struct result_cell){.text = text, .number = {NAN, NAN, NAN}};
}

static struct result_cell number_cell(struct estimate number)
{
	return (struct result_cell){.number = number};
}

static const struct result_table *
tabulate(struct arena *arena, const struct prediction *const *predictions, size_t count)
{
	static const struct result_column columns[] = {
		{"case", QUANTITY_COUNT, true, false},
		{"images_per_s", QUANTITY_COUNT, false, true},
		{"to_first", QUANTITY_RATIO, false, true},
		{"to_local", QUANTITY_RATIO, false, true},
		{"step", QUANTITY_TIME, false, true},
		{"gpu_utilization", QUANTITY_RATIO, false, false},
		{"verdict", QUANTITY_COUNT, true, false},
	};
	enum { COLUMNS = sizeof columns / sizeof columns[0] };
	struct result_table *table = ARENA_NEW(arena, struct result_table);
	*table = (struct result_table){
		.name = "comparison",
		.title = "Cases beside each other",
		.columns = columns,
		.column_count = COLUMNS,
		.row_count = count,
		.cells = ARENA_ARRAY(arena, count * COLUMNS, struct result_cell)};
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		struct result_cell *row = &table->cells[i * COLUMNS];
		row[0] = text_cell(p->name);
		row[1] = number_cell(p->throughput);
		row[2] = number_cell(i == 0 && p->ok
					     ? (struct estimate){1, 1, 1}
					     : quotient(p->throughput, predictions[0]->throughput));
		row[3] = number_cell(p->ratio);
		row[4] = number_cell(p->step_s);
		row[5] = number_cell(p->gpu_utilization);
		row[6] = text_cell(p->ok ? "ok" : p->reason);
	}
	return table;
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
			.ratio = i == 0 && predictions[i]->ok
					 ? (struct estimate){1, 1, 1}
					 : quotient(predictions[i]->throughput,
						    predictions[0]->throughput)};
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
	struct comparison c = {command->format, tabulate(command->arena, predictions, count)};
	code = command_write(command, write_comparison, &c);
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
