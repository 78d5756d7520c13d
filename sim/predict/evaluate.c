/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicting every row of a dataset and summing up the errors. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/base/vec.h"
#include "sim/predict/dataset.h"

static struct error_summary summarize(struct arena *arena, const struct dataset_outcome *outcome,
				      enum row_role role)
{
	struct error_summary summary = {
		.median_abs = NAN, .max_abs = NAN, .geomean_abs = NAN, .coverage = NAN};
	double *errors = ARENA_ARRAY(arena, outcome->dataset->row_count + 1, double), logs = 0,
	       covered = 0;
	for (size_t i = 0; i < outcome->dataset->row_count; i++) {
		const struct row_outcome *row = &outcome->rows[i];
		if (row->row->role != role || !isfinite(row->error))
			continue;
		errors[summary.count++] = fabs(row->error);
		logs += fabs(log1p(row->error));
		covered += row->row->measured >= row->predicted.low &&
			   row->row->measured <= row->predicted.high;
	}
	if (summary.count == 0)
		return summary;
	double n = (double)summary.count;
	summary.median_abs = num_quantile(errors, summary.count, 0.5);
	summary.max_abs = errors[summary.count - 1]; /* sorted by num_quantile */
	summary.geomean_abs = expm1(logs / n);
	summary.coverage = covered / n;
	return summary;
}

static const struct cfg_param **collect_fitted(struct arena *arena,
					       const struct dataset_outcome *outcome, size_t *count)
{
	VEC(const struct cfg_param *) fitted = {0};
	for (size_t i = 0; i < outcome->dataset->row_count; i++) {
		const struct cfg_resolution *resolution = outcome->rows[i].prediction->resolution;
		for (size_t k = 0; k < cfg_param_count(resolution); k++) {
			const struct cfg_param *param = cfg_param_at(resolution, k);
			bool known = strcmp(param->status, "fitted") != 0;
			for (size_t f = 0; f < fitted.count && !known; f++)
				known = strcmp(fitted.items[f]->path, param->path) == 0;
			if (!known) {
				const struct cfg_param **slot = VEC_PUSH(arena, &fitted);
				*slot = param;
			}
		}
	}
	*count = fitted.count;
	return fitted.items;
}

static struct row_outcome judge_row(const struct dataset *dataset, const struct dataset_row *row,
				    const struct prediction *prediction)
{
	struct row_outcome outcome = {.row = row, .prediction = prediction, .error = NAN};
	outcome.predicted = dataset->ratio ? prediction->ratio : prediction->throughput;
	if (row->failure)
		outcome.agrees = !prediction->ok;
	else if (prediction->ok)
		outcome.error = outcome.predicted.value / row->measured - 1;
	return outcome;
}

/* Predicts count rows; false after an error. */
static bool predict_rows(struct arena *arena, struct diag *diag, const struct dataset *dataset,
			 const struct dataset_row *rows, const char *data_root,
			 const struct predict_options *options, const char **broken,
			 struct row_outcome *outcomes)
{
	for (size_t i = 0; i < dataset->row_count; i++) {
		const struct case_request request = {.settings = rows[i].settings,
						     .setting_count = rows[i].setting_count,
						     .data_root = data_root};
		const struct prediction *prediction =
			predict_case(arena, diag, &request, options, broken);
		if (!prediction)
			return false;
		outcomes[i] = judge_row(dataset, &rows[i], prediction);
	}
	return true;
}

const struct dataset_outcome *dataset_evaluate(struct arena *arena, struct diag *diag,
					       const struct dataset *dataset, const char *data_root,
					       const struct predict_options *options,
					       const char **broken)
{
	struct dataset_outcome *outcome = ARENA_NEW(arena, struct dataset_outcome);
	outcome->dataset = dataset;
	outcome->rows = ARENA_ARRAY(arena, dataset->row_count + 1, struct row_outcome);
	outcome->beside = ARENA_ARRAY(arena, dataset->beside_count + 1, struct row_outcome *);
	outcome->claims = ARENA_ARRAY(arena, dataset->claim_count + 1, struct claim_outcome);
	outcome->bounds_hold = true;
	if (!predict_rows(arena, diag, dataset, dataset->rows, data_root, options, broken,
			  outcome->rows))
		return NULL;
	for (size_t i = 0; i < dataset->beside_count; i++) {
		/* shown, not judged: points are enough */
		struct predict_options points = *options;
		points.draws_count = 0;
		outcome->beside[i] = ARENA_ARRAY(arena, dataset->row_count + 1, struct row_outcome);
		if (!predict_rows(arena, diag, dataset, dataset->beside[i].rows, data_root, &points,
				  broken, outcome->beside[i]))
			return NULL;
	}
	for (size_t i = 0; i < dataset->row_count; i++) {
		const struct dataset_row *row = &dataset->rows[i];
		outcome->fit_row_count += row->role == ROLE_FIT;
		/* what was measured and is predicted to fail has no error, but counts */
		outcome->verdict_count += row->failure || (isfinite(row->measured) &&
							   !outcome->rows[i].prediction->ok);
		outcome->verdict_agree_count += row->failure && outcome->rows[i].agrees;
	}
	outcome->fit = summarize(arena, outcome, ROLE_FIT);
	outcome->test = summarize(arena, outcome, ROLE_TEST);
	outcome->fitted = collect_fitted(arena, outcome, &outcome->fitted_count);
	claims_judge(arena, dataset, outcome->rows, outcome->claims);
	for (size_t i = 0; i < dataset->claim_count; i++)
		outcome->bounds_hold = outcome->bounds_hold && outcome->claims[i].holds;
	return outcome;
}
