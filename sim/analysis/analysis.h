/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input that every analysis takes: a case, how its points are predicted, and a callback
 * for progress.
 *
 * An analysis predicts a case at many points and answers one question about them. Its
 * REQUEST is a plain struct with the fields that it needs, its ANSWER a plain struct of
 * numbers. It prints nothing and does not see the command line: errors go to the diag of
 * its caller, and words, tables and charts of an answer are sim/report.
 */
#ifndef FARWIRE_ANALYSIS_ANALYSIS_H
#define FARWIRE_ANALYSIS_ANALYSIS_H

#include "sim/predict/predict.h"

struct watch {
	/* Called when points are done. `before` of them were done by an earlier run. NULL: none. */
	void (*tell)(void *ctx, size_t before, size_t done, size_t count);
	void *ctx;
};

struct analysis_input {
	struct case_request request;
	struct predict_options options;
	struct watch watch;
};

/* The input with the case's recorded program, if it plays one, which then is
 * not read again for each point. */
struct analysis_input analysis_with_calls(struct analysis_input input,
					  const struct scenario *scenario);

#endif
