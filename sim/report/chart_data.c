/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/chart_data.h"
#include "sim/report/answers.h"

size_t *order_rising(struct arena *arena, const double *keys, size_t count)
{
	size_t *order = ARENA_ARRAY(arena, count + 1, size_t);
	for (size_t i = 0; i < count; i++) {
		size_t at = i;
		for (; at > 0 && keys && keys[order[at - 1]] > keys[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return order;
}

static struct estimate throughput_of(const struct prediction *prediction)
{
	return prediction->ok ? prediction->throughput : ESTIMATE_NONE;
}

/* Returns the sizes of messages, or the numbers of GPUs. */
static const double *keys_of(struct arena *arena, const struct prediction_line *line)
{
	double *gpus = ARENA_ARRAY(arena, line->count + 1, double);
	for (size_t i = 0; i < line->count; i++)
		gpus[i] = (double)line->predictions[i]->gpu_count;
	return line->sizes_B ? line->sizes_B : gpus;
}

struct scaling_curve chart_scaling_curve(struct arena *arena, const struct prediction_line *line)
{
	size_t count = line->count;
	struct scaling_curve curve = {.label = line->label,
				      .unit = throughput_unit(line->predictions, count),
				      .alone = NAN,
				      .measured_alone = NAN,
				      .count = count};
	struct scaling_point *points = ARENA_ARRAY(arena, count + 1, struct scaling_point);
	const double *gpus = keys_of(arena, line);
	const size_t *order = order_rising(arena, gpus, count);
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = line->predictions[order[i]];
		double value = line->measured ? line->measured[order[i]] : NAN;
		points[i] = (struct scaling_point){gpus[order[i]], throughput_of(p),
						   p->ok ? p->ratio : ESTIMATE_NONE, value,
						   line->test && line->test[order[i]]};
		if (p->ok && !isfinite(curve.alone) && p->speedup.value > 0)
			curve.alone = p->throughput.value / p->speedup.value;
		if (p->gpu_count == 1 && isfinite(value))
			curve.measured_alone = value;
	}
	curve.points = points;
	return curve;
}

struct curve chart_bandwidth_curve(struct arena *arena, const struct prediction_line *line)
{
	size_t count = line->count;
	double *x = ARENA_ARRAY(arena, count + 1, double);
	struct estimate *y = ARENA_ARRAY(arena, count + 1, struct estimate);
	struct estimate *points = ARENA_ARRAY(arena, count + 1, struct estimate);
	bool *test = ARENA_ARRAY(arena, count + 1, bool);
	const double *keys = keys_of(arena, line);
	const size_t *order = order_rising(arena, keys, count);
	for (size_t i = 0; i < count; i++) {
		size_t k = order[i];
		x[i] = keys[k];
		y[i] = estimate_scaled(throughput_of(line->predictions[k]), 1e-9);
		points[i] = estimate_exact(line->measured ? line->measured[k] * 1e-9 : NAN);
		test[i] = line->test && line->test[k];
	}
	return (struct curve){line->label, x, y, count, line->measured ? points : NULL, test};
}

struct drawing *chart_lines(struct arena *arena, struct chart_text text,
			    const struct prediction_line *lines, size_t count)
{
	bool sizes = lines[0].sizes_B;
	bool jobs = prediction_kinds(lines[0].predictions, lines[0].count) == PREDICTION_TRAINING;
	const struct chart_axes axes = {.x_label = sizes ? "message size" : "number of GPUs",
					.y_label = "bus bandwidth (GB/s)",
					.x_log = true,
					.y_log = sizes,
					.x_sizes = sizes};
	struct scaling_curve *scaling = ARENA_ARRAY(arena, count, struct scaling_curve);
	struct curve *bandwidth = ARENA_ARRAY(arena, count, struct curve);
	for (size_t i = 0; i < count; i++)
		if (jobs)
			scaling[i] = chart_scaling_curve(arena, &lines[i]);
		else
			bandwidth[i] = chart_bandwidth_curve(arena, &lines[i]);
	return jobs ? chart_scaling(arena, text, scaling, count)
		    : chart_curves(arena, text, axes, bandwidth, count);
}

struct ratio_bar *chart_bars(struct arena *arena, const struct prediction *const *predictions,
			     size_t count)
{
	struct ratio_bar *bars = ARENA_ARRAY(arena, count + 1, struct ratio_bar);
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		bool first =
			prediction_kind(p) == PREDICTION_COLLECTIVE || !isfinite(p->ratio.value);
		bars[i] = (struct ratio_bar){
			.label = p->name,
			.ratio = first ? throughput_quotient(p, predictions[0]).estimate : p->ratio,
			.failed = p->ok ? NULL : p->reason};
	}
	return bars;
}

const char *chart_bars_title(const struct prediction *const *predictions, size_t count)
{
	switch (prediction_kinds(predictions, count)) {
	case PREDICTION_PROGRAMS:
		return "Throughput relative to the local GPU";
	case PREDICTION_TRAINING:
		for (size_t i = 0; i < count; i++)
			if (isfinite(predictions[i]->ratio.value))
				return "Scaling efficiency: throughput relative to ideal linear "
				       "scaling";
		return "Throughput relative to the first case";
	case PREDICTION_COLLECTIVE:
		return "Bus bandwidth relative to the first case";
	default:
		return "Throughput relative to the baselines";
	}
}

struct chart_unit chart_unit(enum quantity quantity, double largest)
{
	static const struct {
		enum quantity quantity;
		double most; /* up to this value */
		struct chart_unit unit;
	} shown[] = {{QUANTITY_TIME, 10e-3, {1e6, "us"}},
		     {QUANTITY_TIME, 1, {1e3, "ms"}},
		     {QUANTITY_TIME, INFINITY, {1, "s"}},
		     {QUANTITY_RATE, INFINITY, {8e-9, "Gbit/s"}},
		     {QUANTITY_BYTES, INFINITY, {1.0 / 1024, "KiB"}},
		     {QUANTITY_FREQUENCY, INFINITY, {1e-3, "kHz"}}};
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
		if (shown[i].quantity == quantity && largest <= shown[i].most * (1 + 1e-9))
			return shown[i].unit;
	return (struct chart_unit){1, NULL};
}

const char *chart_label(struct arena *arena, const char *words, const char *unit)
{
	return unit ? arena_printf(arena, "%s (%s)", words, unit) : words;
}
