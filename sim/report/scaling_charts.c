/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/scaling_charts.h"

#include "sim/base/arena.h"
#include "sim/report/chart_data.h"

static struct drawing *bandwidth_chart(struct arena *arena, struct chart_text text,
				       const struct scaling *scaling)
{
	double *gpus = ARENA_ARRAY(arena, scaling->count, double);
	struct estimate *rates = ARENA_ARRAY(arena, scaling->count, struct estimate);
	for (size_t i = 0; i < scaling->count; i++) {
		const struct prediction *p = scaling->predictions[i];
		gpus[i] = (double)p->gpu_count;
		rates[i] = (struct estimate){p->throughput.value * 1e-9, p->throughput.low * 1e-9,
					     p->throughput.high * 1e-9};
	}
	const struct curve curve = {scaling->predictions[0]->collective, gpus, rates,
				    scaling->count};
	const struct chart_axes axes = {"GPUs", "bus bandwidth (GB/s)", true, false};
	return chart_curves(arena, text, axes, &curve, 1);
}

static bool trains(const struct scaling *scaling)
{
	return prediction_kinds(scaling->predictions, scaling->count) == PREDICTION_TRAINING;
}

struct drawing *scaling_chart(struct arena *arena, struct chart_text text,
			      const struct scaling *scaling)
{
	if (!trains(scaling))
		return bandwidth_chart(arena, text, scaling);
	const struct scaling_curve curve =
		chart_scaling_curve(arena, scaling->name, scaling->predictions, scaling->count,
				    (struct measured){NULL, NULL});
	return chart_scaling(arena, text, &curve, 1);
}

struct drawing *scaling_parts_chart(struct arena *arena, struct chart_text text,
				    const struct scaling *scaling)
{
	return trains(scaling) ? chart_exposed(arena, text, scaling->predictions, scaling->count)
			       : NULL;
}
