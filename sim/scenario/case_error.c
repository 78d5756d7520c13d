/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of the model error, one for each kind of case (docs/models/intervals.md). */
#include <math.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/scenario/case.h"

struct error_params {
	double local_ratio, forwarded_ratio, training_ratio, collective_ratio;
};
#define ERROR_ROW(field_, what_)                                                                   \
	PARAM_NUMBER(struct error_params, field_, QUANTITY_RATIO, 0, 1, "5 %",                     \
		     "standard deviation of the relative model error for " what_,                  \
		     "assumption: used until a fit sets it (calib/profiles/model-error.cfg)")
static const struct param_row error_rows[CASE_KIND_COUNT] = {
	[CASE_LOCAL] = ERROR_ROW(local_ratio, "programs on one GPU with the local driver"),
	[CASE_FORWARDED] = ERROR_ROW(forwarded_ratio, "programs with forwarded calls"),
	[CASE_TRAINING] = ERROR_ROW(training_ratio, "training on several GPUs"),
	[CASE_COLLECTIVE] = ERROR_ROW(collective_ratio, "a collective alone"),
};

const char *case_kind_path(enum case_kind kind)
{
	static const char *const paths[CASE_KIND_COUNT] = {"error.local", "error.forwarded",
							   "error.training", "error.collective"};
	return paths[kind];
}

enum case_kind scenario_kind(const struct scenario *scenario)
{
	if (scenario->style == JOBS_COLLECTIVE)
		return CASE_COLLECTIVE;
	for (size_t i = 0; i < scenario->job_count; i++)
		if (scenario->jobs[i].rank_count > 1)
			return CASE_TRAINING;
	for (size_t i = 0; i < scenario->job_count; i++)
		if (scenario->jobs[i].runtime)
			return CASE_FORWARDED;
	return CASE_LOCAL;
}

double scenario_sample_tokens(const struct scenario *scenario)
{
	double tokens = NAN;
	for (size_t i = 0; i < scenario->job_count; i++) {
		const struct network *network = scenario->jobs[i].network;
		double own = network && network->sequence ? (double)network->sequence : NAN;
		if (i > 0 && own != tokens)
			return NAN;
		tokens = own;
	}
	return tokens;
}

bool scenario_has_gpus(const struct scenario *scenario)
{
	bool several = scenario->style != JOBS_PROGRAMS || scenario->params->gpus_count > 0;
	for (size_t i = 0; i < scenario->job_count; i++)
		several = several || scenario->jobs[i].rank_count > 1;
	return several;
}

void case_read_error(struct case_reader *c)
{
	struct reader *reader = &c->reader;
	const struct param_table table = {.name = "error",
					  .size = sizeof(struct error_params),
					  .rows = &error_rows[scenario_kind(c->scenario)],
					  .count = 1};
	struct error_params params;
	cfg_params(reader->resolution, reader->arena, reader->diag, NULL, "error", "error", &table,
		   NULL, 0, &params);
}

void case_apply_error_profile(struct case_reader *c)
{
	struct reader *reader = &c->reader;
	const char *path =
		arena_printf(reader->arena, "%s/calib/profiles/" MODEL_ERROR ".cfg", reader->root);
	if (access(path, R_OK) != 0)
		return; /* keep the defaults */
	const struct cfg_node *file = cfg_read(reader->arena, reader->diag, path);
	case_apply_parameters(c, cfg_child(file, "parameters"), MODEL_ERROR);
}
