/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluating datasets, for `validate` and `report`. */
#ifndef FARWIRE_VERB_VALIDATION_H
#define FARWIRE_VERB_VALIDATION_H

#include "plots/charts.h"
#include "sim/analysis/dataset.h"
#include "sim/json/write.h"
#include "sim/verb/verb.h"

/* Evaluates a dataset under the command's settings. NULL: *exit_code says how to end, errors are
 * printed. */
const struct dataset_outcome *command_validate(const struct command *command, const char *name,
					       int *exit_code);

/* The table of one dataset with its errors, claims and fitted parameters. */
void validation_print(FILE *out, struct arena *arena, const struct dataset_outcome *outcome,
		      bool color);

#endif
