/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refuses keys without which the run answers another question than the user asked: a pipeline of a
 * job that has none, or epochs of a single program. `farwire run` and
 * `farwire sweep` find other settings without effect by trials (sim/predict/effects.h), and name
 * them. */
#include "sim/scenario/case.h"

enum sort {                       /* of a case, as bits */
	    SORT_PROGRAMS = 1,    /* programs of one GPU each */
	    SORT_SERVICE = 2,     /* model servers */
	    SORT_RANKS = 4,       /* a job whose programs are played call by call */
	    SORT_JOBS = 8,        /* data-parallel jobs */
	    SORT_COLLECTIVE = 16, /* a benchmark of a collective */
	    SORT_KERNEL = 32      /* a single kernel */
};
#define SORT_ONE_GPU (SORT_PROGRAMS | SORT_SERVICE)
#define SORT_FUSED   (SORT_JOBS | SORT_COLLECTIVE)

static const struct {
	unsigned unused_in; /* sum of sorts */
	const char *why;
	const char *keys[10];
} rules[] = {
	{SORT_ONE_GPU,
	 "has an effect only on jobs (write case.gpus, or --gpus, for a job, or leave it out)",
	 {"case.gpus_per_machine", "case.guest", "case.straggler", "case.epochs", "case.tokens",
	  "case.job_steps", "case.programs"}},
	{SORT_FUSED,
	 "has no effect on collectives and jobs of fused steps (leave it out)",
	 {"case.runtime", "case.program", "case.gpu", "case.copies", "case.fraction",
	  "case.programs"}},
	{SORT_KERNEL,
	 "has no effect on a single kernel (leave it out, or the keys of the group kernel)",
	 {"case.model", "case.stack", "case.batch", "case.sequence", "case.runtime",
	  "case.transport", "case.fraction"}},
	{SORT_SERVICE,
	 "has no effect on model servers (use the keys of the group serve)",
	 {"case.batch"}},
	{SORT_ONE_GPU | SORT_RANKS | SORT_JOBS,
	 "has an effect only on a collective (write case.collective, or leave it out)",
	 {"case.collective_size"}},
};

/* A collective may replace the training of a case file, so only options are refused. A report,
 * which adds a collective to the page of a training, replaces options, too. */
static const char *const training_options[] = {"case.model", "case.batch", "case.epochs",
					       "case.tokens"};

bool case_gives(const struct reader *c, const char *path)
{
	const struct cfg_param *param = cfg_param_find(c->resolution, path);
	return param && param->origin.file;
}

static void refuse(struct reader *c, const char *key, const char *why, bool options)
{
	const struct cfg_param *param = cfg_param_find(c->resolution, key);
	if (case_gives(c, key) && !(options && param->origin.line > 0))
		diag_error(c->diag, param->origin, "case: %s %s", key, why);
}

void case_refuse_unused(struct reader *c)
{
	bool forwards = strcmp(c->params->runtime, "none") != 0;
	const struct origin collective = case_origin_of(c, "case.collective");
	bool given = collective.line > 0 || collective.file[0] == '-';
	enum sort sort = case_has_kernel(c)         ? SORT_KERNEL
			 : c->params->collective[0] ? SORT_COLLECTIVE
			 : case_is_job(c)           ? SORT_JOBS
			 : case_has_ranks(c)        ? SORT_RANKS
			 : case_serves(c)           ? SORT_SERVICE
						    : SORT_PROGRAMS;
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		for (const char *const *key = rules[i].keys; *key; key++)
			if ((rules[i].unused_in & sort) != 0 &&
			    (forwards || strcmp(*key, "case.runtime") != 0))
				refuse(c, *key, rules[i].why, false);
	for (size_t i = 0; i < sizeof training_options / sizeof training_options[0]; i++)
		if (sort == SORT_COLLECTIVE && given)
			refuse(c, training_options[i],
			       "has no effect on a collective (leave it out)", true);
	struct origin origin;
	if (sort == SORT_KERNEL &&
	    (case_is_job(c) || case_has_ranks(c) || case_serves(c) || c->params->calls[0])) {
		case_find_keys(c, "kernel", &origin);
		diag_error(c->diag, origin,
			   "kernel: a single kernel runs on one GPU (leave out the keys of the "
			   "group kernel, or case.gpus, case.collective, case.calls and serve)");
	}
	if (!case_has_run(c) && case_find_keys(c, "run", &origin))
		diag_error(c->diag, origin,
			   "run: these keys describe the long run of a plan (write --plan, and "
			   "case.tokens or case.job_steps, or leave them out)");
	if ((sort & SORT_ONE_GPU) != 0 && case_find_keys(c, "plan", &origin))
		diag_error(c->diag, origin,
			   "plan: a plan splits a job over several GPUs (write case.gpus, or "
			   "--gpus, too)");
}
