/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts a case on increasing numbers of GPUs: a sweep over case.gpus. */
#pragma once

#include "sim/analysis/sweep.h"

struct scaling_request {
	struct analysis_input input;
	/* Numbers of GPUs: "1,2,4" or "1:64:log7". If text is NULL, they are 1, 2, 4 and so on
	 * up to the number of the case, or without one up to all GPUs of the topology. */
	struct setting gpus;
};

struct scaling {
	const char *name; /* name of the case */
	const struct prediction *const *predictions;
	size_t count;
};

/* Returns NULL after errors in diag or after a broken invariant, both described by *fault. */
const struct scaling *scaling_run(struct arena *arena, struct diag *diag,
				  const struct scaling_request *request, struct sweep_fault *fault);
