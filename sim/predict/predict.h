/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a case to a prediction: steady state, draws, intervals, validation. */
#ifndef FARWIRE_PREDICT_PREDICT_H
#define FARWIRE_PREDICT_PREDICT_H

#include "sim/result/result.h"
#include "sim/scenario/scenario.h"

struct predict_options {
	uint64_t seed;
	size_t draws_count; /* 0: no intervals (low = value = high) */
	unsigned jobs;	    /* threads for the draws; results do not depend on it */
	struct trace *trace; /* of the point prediction; NULL: none */
};

/* NULL after input errors (in diag). A failed verdict is a prediction. A broken
 * invariant gives *broken (else NULL). */
const struct prediction *predict_case(struct arena *arena, struct diag *diag,
				      const struct case_request *request,
				      const struct predict_options *options,
				      const char **broken);

#endif
