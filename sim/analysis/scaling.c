/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/scaling.h"

/* Returns the list least, 2 * least and so on, which ends with most. */
static const char *doubling(struct arena *arena, size_t least, size_t most)
{
	const char *text = arena_printf(arena, "%zu", least);
	for (size_t gpus = 2 * least; gpus < most; gpus *= 2)
		text = arena_printf(arena, "%s,%zu", text, gpus);
	return most > least ? arena_printf(arena, "%s,%zu", text, most) : text;
}

/* Reads the case. A case that is not a job is read on the first number of GPUs, so that
 * settings of exchange, library, input and plan exist. *most is the default for the largest number
 * of GPUs. Returns NULL after errors. */
static const struct scenario *read_as_job(struct arena *arena, struct diag *diag,
					  const struct scaling_request *request, size_t *most)
{
	struct case_request job = request->input.request;
	size_t count = job.setting_count;
	struct setting *settings = ARENA_ARRAY(arena, count + 1, struct setting);
	const struct scenario *scenario = case_read(arena, diag_new(arena), &job);
	bool is_job = scenario && (scenario->style != JOBS_PROGRAMS || scenario->jobs[0].plan);
	if (!is_job) {
		const char *gpus = request->gpus.text ? request->gpus.text : "1";
		settings[0] = (struct setting){
			arena_printf(arena, "case.gpus=%.*s", (int)strcspn(gpus, ",:"), gpus),
			request->gpus.origin};
		for (size_t i = 0; i < count; i++)
			settings[i + 1] = job.settings[i];
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

/* Returns the reason why the case cannot be scaled; NULL: it can. */
static const char *refuse(struct arena *arena, const struct scenario *scenario,
			  const struct sweep_axis *axis)
{
	if (scenario->job_count > 1)
		return arena_printf(arena,
				    "the case has %zu jobs, but `farwire scale` needs one "
				    "(`farwire compare` compares several cases)",
				    scenario->job_count);
	for (size_t i = 0; i < axis->count; i++)
		if (axis->words || !(axis->values[i] >= 1))
			return "numbers of GPUs must be whole and at least 1 (write --gpus "
			       "1,2,4,8)";
	return NULL;
}

const struct scaling *scaling_run(struct arena *arena, struct diag *diag,
				  const struct scaling_request *request, struct sweep_fault *fault)
{
	struct sweep_axis *axis = ARENA_NEW(arena, struct sweep_axis);
	const char *gpus = request->gpus.text;
	size_t most = 0;
	const struct scenario *scenario = read_as_job(arena, diag, request, &most);
	*fault = (struct sweep_fault){0};
	if (!scenario)
		return NULL;
	if (!gpus)
		gpus = doubling(arena, scenario->style == JOBS_RANKS ? 1 : 2, most);
	const char *wrong = NULL;
	if (sweep_axis_read(arena, diag, request->gpus.origin.file,
			    arena_printf(arena, "case.gpus=%s", gpus), axis))
		wrong = refuse(arena, scenario, axis);
	if (wrong)
		diag_error(diag, request->gpus.origin, "%s", wrong);
	if (diag_count(diag))
		return NULL;
	const struct sweep_request grid = {.input = request->input, .axes = axis, .axis_count = 1};
	const struct sweep *sweep = sweep_run(arena, diag, &grid, fault);
	struct scaling *scaling = ARENA_NEW(arena, struct scaling);
	if (!sweep)
		return NULL;
	const char *name = scenario->name; /* that of a plan has the number of GPUs */
	if (scenario->jobs[0].plan && !scenario->named)
		name = arena_printf(arena, "%s on %s", scenario->params->model,
				    scenario->params->topology);
	*scaling = (struct scaling){name, sweep->points, sweep->point_count};
	return scaling;
}
