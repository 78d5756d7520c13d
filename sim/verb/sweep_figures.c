/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/sweep_figures.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/verb/answers.h"
#include "sim/verb/chart_data.h"

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
				      sweep->axes[a].texts[sweep_axis_index(sweep, c, a)]);
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

int sweep_draw(const struct command *command, const struct sweep *sweep)
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
