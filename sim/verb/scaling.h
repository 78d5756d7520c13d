/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job on more and more GPUs, for `scale` and `report`. */
#ifndef FARWIRE_VERB_SCALING_H
#define FARWIRE_VERB_SCALING_H

#include "plots/charts.h"
#include "sim/verb/verb.h"

struct scaling {
	const char *name; /* of the case */
	const struct prediction *const *predictions;
	size_t count;
};

/* Predicts the case on each number of GPUs: those of `gpus` ("1,2,4", "1:64:log7",
 * as --vary takes them), or NULL: 1, 2, 4 ... up to the case's own number, or, if it
 * names none, to all GPUs of its topology. NULL: *exit_code is set, errors are
 * printed. */
const struct scaling *scaling_run(const struct command *command, const struct case_request *request,
				  const char *gpus, int *exit_code);
/* Throughput with the ideal line, of a collective its bus bandwidth. */
struct drawing *scaling_chart(struct arena *arena, struct chart_text text,
			      const struct scaling *scaling);
/* What each step is made of; NULL for a collective. */
struct drawing *scaling_parts_chart(struct arena *arena, struct chart_text text,
				    const struct scaling *scaling);

#endif
