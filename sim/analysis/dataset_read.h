/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that the readers of datasets share; private to them.
 *
 *   dataset.c        the file, its rows beside, measures
 *   dataset_table.c  rows of a .tsv
 *   dataset_grid.c   combinations of dimensions
 *   dataset_claim.c  what a source claims of either
 *   dataset_observe.c  claims that are observations of fits
 */
#ifndef FARWIRE_ANALYSIS_DATASET_READ_H
#define FARWIRE_ANALYSIS_DATASET_READ_H

#include "sim/base/vec.h"
#include "sim/analysis/dataset.h"

struct dataset_reader {
	struct arena *arena;
	struct diag *diag;
	const char *root;
	const struct cfg_node *node; /* the group `dataset` */
	struct dataset *dataset;
	const struct tsv *tsv;
	const struct setting *extra; /* of the command line: behind all others */
	size_t extra_count;
};

typedef VEC(struct setting) settings_vec;

enum { DATASET_ROWS_MAX = 100000 };

/* A text of the group, or NULL. */
const char *dataset_text(const struct cfg_node *group, const char *key);
/* The same; "" and an error if it is missing. */
const char *dataset_need(struct dataset_reader *r, const struct cfg_node *group, const char *key);
void dataset_add_settings(struct dataset_reader *r, settings_vec *settings,
			  const struct cfg_node *list);
void dataset_add_extra(struct dataset_reader *r, settings_vec *settings);
/* The case file that the group names, or NULL. */
const char *dataset_case(struct dataset_reader *r, const struct cfg_node *group);
/* Which measure the group's text `key` names; `without` if it has none. */
enum measure dataset_measure(struct dataset_reader *r, const struct cfg_node *group,
			     const char *key, enum measure without);
/* The settings of a row's other case: its own, then the list, then the extra ones. */
void dataset_set_reference(struct dataset_reader *r, const struct cfg_node *list,
			   struct dataset_row *row);

void dataset_read_table(struct dataset_reader *r, const char *table);
void dataset_read_grid(struct dataset_reader *r, const struct cfg_node *dimensions);
/* The claims of the dataset: own[own_count], then what `claims` says. */
void dataset_read_claims(struct dataset_reader *r, const struct claim *own, size_t own_count);

/* The rows of the claims of role fit. */
void dataset_read_observations(struct dataset_reader *r);

/* Indices by name; an error at `at` if there is none, and SIZE_MAX or 0. */
size_t dataset_find_dimension(struct dataset_reader *r, const struct cfg_node *at,
			      const char *name);
size_t dataset_find_value(struct dataset_reader *r, const struct cfg_node *at, size_t dimension,
			  const char *name);
/* Reads a group { dimension = "value"; ... } into at[]; SIZE_MAX for dimensions that it does not
 * name. */
void dataset_read_place(struct dataset_reader *r, const struct cfg_node *group, size_t *at);

#endif
