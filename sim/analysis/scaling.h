/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case on more and more GPUs: a sweep over case.gpus. */
#ifndef FARWIRE_ANALYSIS_SCALING_H
#define FARWIRE_ANALYSIS_SCALING_H

#include "sim/analysis/sweep.h"

struct scaling_request {
	struct analysis_input input;
	/* Numbers of GPUs: "1,2,4", "1:64:log7". Text NULL: 1, 2, 4 ... up to the case's own
	 * number, or, if it names none, to all GPUs of its topology. */
	struct setting gpus;
};

struct scaling {
	const char *name; /* of the case */
	const struct prediction *const *predictions;
	size_t count;
};

/* NULL after errors in diag, or a broken invariant (*fault). */
const struct scaling *scaling_run(struct arena *arena, struct diag *diag,
				  const struct scaling_request *request, struct sweep_fault *fault);

#endif
