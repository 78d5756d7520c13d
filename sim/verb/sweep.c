/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire sweep: a case over a grid of parameter values. */
#include "sim/predict/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plots/charts.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/verb/verbs.h"

struct sweep_writing {
	enum output_format format;
	const struct result_table *table;
};

static void write_sweep(FILE *out, const void *ctx)
{
	const struct sweep_writing *w = ctx;
	result_table_write(out, w->format, w->table);
}

static void show_progress(size_t done, size_t count)
{
	fprintf(stderr, "\r%zu of %zu points%s", done, count, done == count ? "\n" : "");
}

static size_t axis_index(const struct sweep *sweep, size_t point, size_t axis)
{
	for (size_t a = sweep->axis_count; a-- > axis + 1;)
		point /= sweep->axes[a].count;
	return point % sweep->axes[axis].count;
}

static const char *axis_word(const struct sweep_axis *axis, size_t index)
{
	return axis->texts[index] + strlen(axis->key) + 1;
}

enum { ANSWERS = 6 };

static const struct result_table *tabulate(struct arena *arena, const struct sweep *sweep)
{
	static const struct result_column answers[ANSWERS] = {
		{"images_per_s", QUANTITY_COUNT, false, true},
		{"ratio", QUANTITY_RATIO, false, true},
		{"step_s", QUANTITY_TIME, false, true},
		{"gpu_utilization", QUANTITY_RATIO, false, true},
		{"bottleneck", QUANTITY_COUNT, true, false},
		{"verdict", QUANTITY_COUNT, true, false},
	};
	size_t columns = sweep->axis_count + ANSWERS;
	struct result_column *all = ARENA_ARRAY(arena, columns, struct result_column);
	struct result_cell *cells =
		ARENA_ARRAY(arena, columns * sweep->point_count, struct result_cell);
	for (size_t a = 0; a < sweep->axis_count; a++)
		all[a] = (struct result_column){sweep->axes[a].key, sweep->axes[a].quantity,
						sweep->axes[a].words, false};
	memcpy(all + sweep->axis_count, answers, sizeof answers);
	for (size_t i = 0; i < sweep->point_count; i++) {
		struct result_cell *cell = &cells[i * columns];
		const struct sweep_point *p = &sweep->points[i];
		for (size_t a = 0; a < sweep->axis_count; a++, cell++) {
			size_t index = axis_index(sweep, i, a);
			double value = sweep->axes[a].values[index];
			cell->text = axis_word(&sweep->axes[a], index);
			cell->number = (struct estimate){value, value, value};
		}
		cell[0].number = p->throughput;
		cell[1].number = p->ratio;
		cell[2].number = p->step_s;
		cell[3].number = p->gpu_utilization;
		cell[4].text = p->bottleneck;
		cell[5].text = p->ok ? "ok" : p->reason;
	}
	struct result_table *table = ARENA_NEW(arena, struct result_table);
	*table = (struct result_table){"sweep", "Sweep", all, columns, cells, sweep->point_count};
	return table;
}

/* What an axis is shown in. */
static const struct shown {
	enum quantity quantity;
	double per_unit;
	const char *unit;
} shown[] = {{QUANTITY_TIME, 1e6, "us"},
	     {QUANTITY_RATE, 8e-9, "Gbit/s"},
	     {QUANTITY_BYTES, 1.0 / 1024, "KiB"},
	     {QUANTITY_FREQUENCY, 1e-3, "kHz"}};

static const double *shown_values(struct arena *arena, const struct sweep_axis *axis,
				  const char **label)
{
	*label = axis->key;
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
		if (shown[i].quantity != axis->quantity || axis->words)
			continue;
		double *values = ARENA_ARRAY(arena, axis->count, double);
		for (size_t k = 0; k < axis->count; k++)
			values[k] = axis->values[k] * shown[i].per_unit;
		*label = arena_printf(arena, "%s (%s)", axis->key, shown[i].unit);
		return values;
	}
	return axis->values;
}

/* Ratio over the first axis, a curve for each value of the others. */
static int draw(const struct command *command, const struct sweep *sweep)
{
	const struct sweep_axis *x = &sweep->axes[0];
	size_t curves = sweep->point_count / x->count;
	struct curve *lines = ARENA_ARRAY(command->arena, curves, struct curve);
	struct chart_axes axes = {.y_label = "ratio to the local GPU", .x_log = x->log};
	const double *values = shown_values(command->arena, x, &axes.x_label);
	for (size_t c = 0; c < curves; c++) {
		struct estimate *y = ARENA_ARRAY(command->arena, x->count, struct estimate);
		const char *label = "";
		for (size_t i = 0; i < x->count; i++)
			y[i] = sweep->points[i * curves + c].ratio;
		for (size_t a = 1; a < sweep->axis_count; a++)
			label = arena_printf(command->arena, "%s%s%s", label, a > 1 ? ", " : "",
					     sweep->axes[a].texts[axis_index(sweep, c, a)]);
		lines[c] = (struct curve){label, values, y, x->count};
	}
	struct chart_text text = {command->title ? command->title
						 : "What is kept of the local GPU's throughput",
				  command_caption(command)};
	const struct drawing *drawing = chart_curves(command->arena, text, axes, lines, curves);
	return command_draw(command, command->plot, &drawing, 1);
}

static int run(const struct command *command)
{
	struct diag *diag = diag_new(command->arena);
	struct sweep_axis axes[AXES_MAX];
	if (command->vary_count == 0 || command->vary_count > AXES_MAX) {
		fprintf(stderr, "farwire: `farwire sweep` needs 1 to %d --vary key=...\n",
			AXES_MAX);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < command->vary_count; i++)
		sweep_axis_read(command->arena, diag, command->vary[i], &axes[i]);
	const struct case_request request = command_case(command, 0);
	struct command quick = *command; /* points alone, unless draws are asked for */
	if (!command->draws_given)
		quick.draws = 0;
	struct predict_options options = command_predict(&quick);
	const char *broken = NULL;
	bool watched = !command->quiet && isatty(STDERR_FILENO);
	const struct sweep *sweep =
		diag_count(diag)
			? NULL
			: sweep_run(command->arena, diag, &request, axes, command->vary_count,
				    &options, watched ? show_progress : NULL, &broken);
	if (!sweep) {
		diag_print(diag, stderr);
		if (broken)
			fprintf(stderr, "farwire: the simulation broke an invariant: %s\n", broken);
		return broken ? EXIT_FAILED : EXIT_USAGE;
	}
	struct sweep_writing w = {command->format, tabulate(command->arena, sweep)};
	int code = command_write(command, write_sweep, &w);
	if (code == EXIT_DONE && command->plot)
		code = draw(&quick, sweep);
	return code;
}

const struct verb verb_sweep = {
	.name = "sweep",
	.words = "CASE",
	.help = "a case over a grid of parameter values (point predictions unless --draws)",
	.examples = "  farwire sweep case.cfg --vary 'link.wire.latency=1 us:1 ms:log20' --plot "
		    "curve.svg\n",
	.options = "set vary format output plot title seed draws jobs color quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
