/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire sweep: a case over a grid of parameter values. */
#include "sim/predict/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/verb/answers.h"
#include "sim/verb/chart_data.h"
#include "sim/verb/verbs.h"

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

static const struct result_table *tabulate(struct arena *arena, const struct sweep *sweep)
{
	static const struct answer_column answers[] = {
		{{"images_per_s", QUANTITY_COUNT, false, true},
		 ANSWER_THROUGHPUT,
		 CLIENTS | TRAINING,
		 false},
		{{"bus_bandwidth_Bps", QUANTITY_RATE, false, true},
		 ANSWER_THROUGHPUT,
		 COLLECTIVE,
		 false},
		{{"ratio", QUANTITY_RATIO, false, true}, ANSWER_RATIO, CLIENTS, false},
		{{"speedup", QUANTITY_RATIO, false, true}, ANSWER_SPEEDUP, TRAINING, false},
		{{"efficiency", QUANTITY_RATIO, false, true}, ANSWER_RATIO, TRAINING, false},
		{{"step_s", QUANTITY_TIME, false, true}, ANSWER_STEP, CLIENTS | TRAINING, false},
		{{"time_s", QUANTITY_TIME, false, true}, ANSWER_STEP, COLLECTIVE, false},
		{{"exposed_s", QUANTITY_TIME, false, false}, ANSWER_EXPOSED, TRAINING, false},
		{{"input_wait_s", QUANTITY_TIME, false, false}, ANSWER_INPUT, TRAINING, false},
		{{"gpu_utilization", QUANTITY_RATIO, false, true},
		 ANSWER_UTILIZATION,
		 CLIENTS | TRAINING,
		 false},
		{{"choice", QUANTITY_COUNT, true, false}, ANSWER_CHOICE, COLLECTIVE, false},
		{{"bottleneck", QUANTITY_COUNT, true, false},
		 ANSWER_BOTTLENECK,
		 CLIENTS | TRAINING,
		 false},
		{{"verdict", QUANTITY_COUNT, true, false}, ANSWER_VERDICT, ALL_KINDS, false},
	};
	size_t axes = sweep->axis_count;
	struct result_column *lead = ARENA_ARRAY(arena, axes, struct result_column);
	struct result_cell *cells =
		ARENA_ARRAY(arena, axes * sweep->point_count, struct result_cell);
	for (size_t a = 0; a < axes; a++)
		lead[a] = (struct result_column){sweep->axes[a].key, sweep->axes[a].quantity,
						 sweep->axes[a].words, false};
	for (size_t i = 0; i < sweep->point_count; i++)
		for (size_t a = 0; a < axes; a++) {
			size_t index = axis_index(sweep, i, a);
			double value = sweep->axes[a].values[index];
			cells[i * axes + a] = (struct result_cell){
				axis_word(&sweep->axes[a], index), {value, value, value}};
		}
	const struct answers all = {.name = "sweep",
				    .title = "Sweep",
				    .predictions = sweep->points,
				    .count = sweep->point_count,
				    .columns = answers,
				    .column_count = sizeof answers / sizeof answers[0],
				    .lead = lead,
				    .lead_cells = cells,
				    .lead_count = axes};
	return answers_table(arena, &all);
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

/* The points along the first axis at the c-th combination of the others, and
 * what those are. */
static const struct prediction **line_of(struct arena *arena, const struct sweep *sweep, size_t c,
					 const char **label)
{
	size_t count = sweep->axes[0].count, lines = sweep->point_count / count;
	const struct prediction **line = ARENA_ARRAY(arena, count, const struct prediction *);
	*label = "";
	for (size_t i = 0; i < count; i++)
		line[i] = sweep->points[i * lines + c];
	for (size_t a = 1; a < sweep->axis_count; a++)
		*label = arena_printf(arena, "%s%s%s", *label, a > 1 ? ", " : "",
				      sweep->axes[a].texts[axis_index(sweep, c, a)]);
	return line;
}

static struct chart_text text_of(const struct command *command, const char *title)
{
	return (struct chart_text){command->title ? command->title : title,
				   command_caption(command)};
}

/* Of jobs over their numbers of GPUs. */
static const struct drawing *draw_scaling(const struct command *command, const struct sweep *sweep)
{
	struct arena *arena = command->arena;
	size_t count = sweep->axes[0].count, lines = sweep->point_count / count;
	struct scaling_curve *curves = ARENA_ARRAY(arena, lines, struct scaling_curve);
	for (size_t c = 0; c < lines; c++) {
		const char *label;
		const struct prediction **line = line_of(arena, sweep, c, &label);
		curves[c] = chart_scaling_curve(arena, *label ? label : "simulated", line, count,
						(struct measured){NULL, NULL});
	}
	return chart_scaling(arena, text_of(command, "Scaling"), curves, lines);
}

/* Of a collective over the size of its messages. */
static const struct drawing *draw_bandwidth(const struct command *command,
					    const struct sweep *sweep)
{
	struct arena *arena = command->arena;
	size_t count = sweep->axes[0].count, lines = sweep->point_count / count;
	struct bandwidth_curve *curves = ARENA_ARRAY(arena, lines, struct bandwidth_curve);
	for (size_t c = 0; c < lines; c++) {
		const char *label;
		const struct prediction **line = line_of(arena, sweep, c, &label);
		curves[c] = chart_bandwidth_curve(arena, *label ? label : "simulated", line,
						  sweep->axes[0].values, count,
						  (struct measured){NULL, NULL});
	}
	return chart_bandwidth(arena, text_of(command, "Bus bandwidth over the size"), curves,
			       lines);
}

/* A collective has no ratio: GB/s. */
static struct estimate drawn(const struct prediction *p, bool bandwidth)
{
	double scale = bandwidth ? 1e-9 : 1;
	struct estimate number = bandwidth ? p->throughput : p->ratio;
	if (!p->ok)
		return (struct estimate){NAN, NAN, NAN};
	return (struct estimate){number.value * scale, number.low * scale, number.high * scale};
}

/* Ratio over the first axis, a curve for each value of the others. */
static const struct drawing *draw_curves(const struct command *command, const struct sweep *sweep,
					 unsigned kinds)
{
	struct arena *arena = command->arena;
	const struct sweep_axis *x = &sweep->axes[0];
	size_t lines = sweep->point_count / x->count;
	bool bandwidth = kinds == COLLECTIVE;
	struct curve *curves = ARENA_ARRAY(arena, lines, struct curve);
	struct chart_axes axes = {.y_label = bandwidth           ? "bus bandwidth (GB/s)"
					     : kinds == TRAINING ? "scaling efficiency"
								 : "ratio to the local GPU",
				  .x_log = x->log};
	const double *values = shown_values(arena, x, &axes.x_label);
	for (size_t c = 0; c < lines; c++) {
		struct estimate *y = ARENA_ARRAY(arena, x->count, struct estimate);
		const char *label;
		const struct prediction **line = line_of(arena, sweep, c, &label);
		for (size_t i = 0; i < x->count; i++)
			y[i] = drawn(line[i], bandwidth);
		curves[c] = (struct curve){label, values, y, x->count};
	}
	const char *title = chart_bars_title(sweep->points, sweep->point_count);
	return chart_curves(arena, text_of(command, bandwidth ? "Bus bandwidth" : title), axes,
			    curves, lines);
}

static int draw(const struct command *command, const struct sweep *sweep)
{
	unsigned kinds = prediction_kinds(sweep->points, sweep->point_count);
	const struct sweep_axis *x = &sweep->axes[0];
	const struct drawing *drawing =
		kinds == TRAINING && strcmp(x->key, "case.gpus") == 0 ? draw_scaling(command, sweep)
		: kinds == COLLECTIVE && strcmp(x->key, "case.collective_size") == 0
			? draw_bandwidth(command, sweep)
			: draw_curves(command, sweep, kinds);
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
		sweep_axis_read(command->arena, diag, "--vary", command->vary[i], &axes[i]);
	const struct case_request request = command_case(command, 0);
	struct command quick = *command; /* points alone, unless draws are asked for */
	if (!command->draws_given)
		quick.draws = 0;
	if (diag_count(diag)) {
		diag_print(diag, stderr);
		return EXIT_USAGE;
	}
	int code = EXIT_DONE;
	const struct sweep *sweep =
		command_sweep(&quick, &request, axes, command->vary_count, &code);
	if (!sweep)
		return code;
	code = command_table(command, tabulate(command->arena, sweep));
	if (code == EXIT_DONE && command->plot)
		code = draw(&quick, sweep);
	return code;
}

const struct verb verb_sweep = {
	.name = "sweep",
	.words = "CASE",
	.help = "a case over a grid of parameter values (point predictions unless --draws)",
	.examples = "  farwire sweep case.cfg --vary 'link.wire.latency=1 us:1 ms:log20' --plot "
		    "curve.svg\n"
		    "  farwire sweep nccl.cfg --vary 'case.collective_size=8 B:8 GiB:log31' --plot "
		    "bandwidth.svg\n",
	.options = "set vary format output plot title seed draws jobs color quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
