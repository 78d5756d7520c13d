/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input that every analysis takes: a case, how its points are predicted, and a callback for
 * progress.
 *
 * An analysis predicts a case at many points and answers one question about them. Its REQUEST
 * is a plain struct, and its ANSWER is a plain struct of numbers. It prints nothing and does not
 * depend on the command line. Errors go to the diag of the caller. sim/report makes words,
 * tables and charts of an answer. */
#pragma once

#include "sim/predict/predict.h"

struct analysis_input {
	struct case_request request;
	struct predict_options options;
	struct watch watch;
};

/* Returns the input with the case's recorded program, if it has one, so that it is not read
 * again for each point. */
struct analysis_input analysis_with_calls(struct analysis_input input,
					  const struct scenario *scenario);
