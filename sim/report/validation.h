/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of `farwire validate`: measurements and predictions of datasets. */
#pragma once

#include "sim/analysis/dataset.h"
#include "sim/base/table.h"

struct validation {
	struct arena *arena;
	const struct dataset_outcome *const *outcomes;
	size_t count;
};

/* Returns the titles of the table of a dataset's rows, and adds a row to it. */
const char *validation_heads(struct arena *arena, const struct dataset *dataset);
void validation_row(struct arena *arena, struct table *table, const struct dataset *dataset,
		    const struct row_outcome *row);

/* The titles of the table of errors of farwire and of the formulas of sim/analysis/pencil.h by
 * group and role, and its rows. */
#define PENCIL_CAPTION                                                                             \
	"Geometric mean errors of farwire and of formulas without a simulation: of the number, "   \
	"and of the time that is added to the local step."
extern const char *const pencil_heads;
void pencil_lines(struct arena *arena, struct table *table, const struct dataset_outcome *outcome);

/* Prints the table of one dataset with its errors, claims and fitted parameters. Tables fit into
 * line_width characters (0: any width). */
void validation_print(FILE *out, struct arena *arena, const struct dataset_outcome *outcome,
		      bool color, size_t line_width);
/* Prints all datasets and a summary of their errors. */
void validation_print_all(FILE *out, const struct validation *validation, bool color,
			  size_t line_width);
void validation_json(FILE *out, const struct validation *validation, bool pretty);
void validation_csv(FILE *out, const struct validation *validation);
