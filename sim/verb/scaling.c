/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/scaling.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/report/chart_data.h"

/* least, twice that ... and most itself. */
static const char *doubling(struct arena *arena, size_t least, size_t most)
{
	const char *text = arena_printf(arena, "%zu", least);
	for (size_t gpus = 2 * least; gpus < most; gpus *= 2)
		text = arena_printf(arena, "%s,%zu", text, gpus);
	return most > least ? arena_printf(arena, "%s,%zu", text, most) : text;
}

/* The case as it is, if it is a job, else on one GPU, so that settings of exchange,
 * library and input are known; and the most GPUs of a scaling that names none. NULL
 * after errors. */
static const struct scenario *read_as_job(struct arena *arena, struct diag *diag,
					  const struct case_request *request, size_t *most)
{
	struct case_request job = *request;
	struct setting *settings = ARENA_ARRAY(arena, request->setting_count + 1, struct setting);
	const struct scenario *scenario = case_read(arena, diag_new(arena), request);
	bool is_job = scenario && scenario->style != JOBS_PROGRAMS;
	if (!is_job) {
		settings[0] = (struct setting){"case.gpus=1", {"--gpus", 0}};
		for (size_t i = 0; i < request->setting_count; i++)
			settings[i + 1] = request->settings[i];
		job.settings = settings;
		job.setting_count++;
		scenario = case_read(arena, diag, &job);
	}
	if (scenario)
		*most = is_job && scenario->params->gpus_count > 0
				? (size_t)scenario->params->gpus_count
				: scenario->topology.gpu_count;
	return scenario;
}

/* What is wrong with scaling this case, or NULL. */
static const char *refuse(struct arena *arena, const struct scenario *scenario,
			  const struct sweep_axis *axis)
{
	if (scenario->job_count > 1)
		return arena_printf(arena,
				    "has %zu jobs (scale takes a case with one; compare shows "
				    "several side by side)",
				    scenario->job_count);
	for (size_t i = 0; i < axis->count; i++)
		if (axis->words || !(axis->values[i] >= 1))
			return "numbers of GPUs are whole, from 1 (write --gpus 1,2,4,8)";
	return NULL;
}

const struct scaling *scaling_run(const struct command *command, const struct case_request *request,
				  const char *gpus, int *exit_code)
{
	struct arena *arena = command->arena;
	struct diag *diag = diag_new(arena);
	struct sweep_axis *axis = ARENA_NEW(arena, struct sweep_axis);
	size_t most = 0;
	const struct scenario *scenario = read_as_job(arena, diag, request, &most);
	if (scenario && !gpus)
		gpus = doubling(arena, scenario->style == JOBS_FUSED ? 1 : 2, most);
	const char *wrong =
		scenario && sweep_axis_read(arena, diag, "--gpus",
					    arena_printf(arena, "case.gpus=%s", gpus), axis)
			? refuse(arena, scenario, axis)
			: NULL;
	if (wrong)
		diag_error(diag, (struct origin){"--gpus", 0}, "%s", wrong);
	if (diag_count(diag)) {
		*exit_code = command_failed(diag, NULL);
		return NULL;
	}
	FW_ASSERT(scenario);
	const struct sweep *sweep = command_sweep(command, request, axis, 1, exit_code);
	struct scaling *scaling = ARENA_NEW(arena, struct scaling);
	if (!sweep)
		return NULL;
	*scaling = (struct scaling){scenario->name, sweep->points, sweep->point_count};
	return scaling;
}

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
