/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits given rows, using the parameters to which the rows are sensitive. */
#include <math.h>
#include <string.h>

#include "calib/fit/fitting.h"
#include "sim/base/arena.h"

/* An offered parameter is used if it moves a row by more than this. */
static const double FELT = 0.01;

/* Returns the largest sensitivity of a row to the parameter; 0: the rows' cases do not have it. */
static double felt(struct fitting *f, const struct scenario *scenario,
		   const struct fit_offer *offer)
{
	const struct cfg_param *param = cfg_param_find(scenario->resolution, offer->path);
	if (!param || param->row->kind != PARAM_KIND_NUMBER)
		return 0;
	double x = log(offer->start);
	f->first = f->result->count;
	f->count = 1;
	f->result->parameters[f->first] = (struct fitted_parameter){.path = offer->path,
								    .row = param->row,
								    .start = offer->start,
								    .min = offer->low,
								    .max = offer->high,
								    .value = offer->start};
	return spread_felt(f, &x, 0);
}

/* Sets the stage's parameters: those with the largest sensitivity, in the order of the offers. */
static void choose(struct fitting *f, const struct fit_rows_request *request,
		   const struct scenario *scenario)
{
	double most[FIT_TOTAL_MAX], limit = FELT;
	size_t room = request->row_count / 2;
	room = room < FIT_PARAMETERS_MAX ? room : FIT_PARAMETERS_MAX;
	for (size_t i = 0; i < request->offer_count; i++)
		most[i] = felt(f, scenario, &request->offers[i]);
	f->first = f->count = 0;
	for (size_t turn = 0; turn < request->offer_count; turn++) {
		size_t above = 0;
		for (size_t i = 0; i < request->offer_count; i++)
			above += most[i] >= limit;
		if (above <= room)
			break;
		double least = INFINITY; /* smallest remaining one, which is removed */
		for (size_t i = 0; i < request->offer_count; i++)
			if (most[i] >= limit)
				least = fmin(least, most[i]);
		limit = nextafter(least, INFINITY);
	}
	for (size_t i = 0; i < request->offer_count && f->count < room; i++) {
		const struct fit_offer *offer = &request->offers[i];
		if (most[i] < limit)
			continue;
		f->result->parameters[f->count++] = (struct fitted_parameter){
			.path = offer->path,
			.row = cfg_param_find(scenario->resolution, offer->path)->row,
			.start = offer->start,
			.min = offer->low,
			.max = offer->high,
			.value = offer->start,
			.note = request->note};
	}
	f->result->count = f->count;
}

/* Removes the least sensitive of the parameters that the rows do not determine. The others continue
 * from their results. */
static bool drop_untold(struct fitting *f)
{
	struct fitted_parameter *parameters = f->result->parameters;
	size_t worst = f->count;
	for (size_t i = 0; i < f->count; i++) {
		parameters[i].start = parameters[i].value;
		if (parameters[i].low <= parameters[i].min &&
		    parameters[i].high >= parameters[i].max &&
		    (worst == f->count || f->felt[i] < f->felt[worst]))
			worst = i;
	}
	if (worst == f->count || f->count == 1)
		return false;
	memmove(&parameters[worst], &parameters[worst + 1],
		(f->count - worst - 1) * sizeof *parameters);
	f->result->count = --f->count;
	return true;
}

const struct fit_result *fit_rows(struct arena *arena, struct diag *diag, const char *data_root,
				  const struct fit_rows_request *request, uint64_t seed,
				  FILE *progress, const char **broken)
{
	FW_ASSERT(request->row_count <= FIT_ROWS_MAX && request->offer_count <= FIT_TOTAL_MAX);
	*broken = NULL;
	const struct case_request first = dataset_request(request->rows[0], data_root);
	const struct scenario *scenario = case_read(arena, diag, &first);
	if (!scenario)
		return NULL;
	struct fitting f = {.arena = arena,
			    .diag = diag,
			    .data_root = data_root,
			    .seed = seed,
			    .progress = progress,
			    .alone = true,
			    .baselines = baselines_new()};
	f.result = ARENA_NEW(arena, struct fit_result);
	struct fit_stage_result *stage = f.result->stages =
		ARENA_NEW(arena, struct fit_stage_result);
	f.stage = stage;
	f.row_count = request->row_count;
	memcpy(f.rows, request->rows, f.row_count * sizeof *f.rows);
	choose(&f, request, scenario);
	if (f.count == 0 && !f.failed)
		diag_error(diag, (struct origin){0},
			   "no parameter of the fit influences the measured times (measure smaller "
			   "and larger sizes)");
	*broken = f.broken;
	if (f.count == 0 || f.failed || f.broken) {
		baselines_free(f.baselines);
		return NULL;
	}
	stage->profiles = ARENA_ARRAY(arena, 1, const char *);
	stage->profiles[stage->profile_count++] = fitting_add_profile(&f, request->profile);
	fitting_keep_rows(&f, stage);
	f.result->stage_count = 1;
	bool found = fitting_minimise(&f, stage);
	while (found && drop_untold(&f))
		found = fitting_minimise(&f, stage);
	baselines_free(f.baselines);
	stage->count = f.count;
	*broken = f.broken;
	return found ? f.result : NULL;
}
