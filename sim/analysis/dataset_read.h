/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that the readers of datasets share and no other file uses.
 *
 *   dataset.c        the file, its rows of `beside`, measures
 *   dataset_table.c  rows of a .tsv
 *   dataset_grid.c   combinations of dimensions
 *   dataset_claim.c  claims about either, and claims that are observations of fits */
#pragma once

#include "sim/analysis/dataset.h"

struct dataset_reader {
	struct arena *arena;
	struct diag *diag;
	const char *root;
	const struct cfg_node *node; /* the group `dataset` */
	struct dataset *dataset;
	const struct tsv *tsv;
	const struct setting *extra; /* settings of the command line, which follow all others */
	size_t extra_count;
};

typedef VEC(struct setting) settings_vec;

enum { DATASET_ROWS_MAX = 100000 };

/* Returns a text of the group; NULL if it is missing. */
const char *dataset_text(const struct cfg_node *group, const char *key);
/* Returns a text of the group; "" after an error if it is missing. */
const char *dataset_need(struct dataset_reader *r, const struct cfg_node *group, const char *key);
void dataset_add_settings(struct dataset_reader *r, settings_vec *settings,
			  const struct cfg_node *list);
void dataset_add_extra(struct dataset_reader *r, settings_vec *settings);
/* Returns the case file that the group names; NULL: none. */
const char *dataset_case(struct dataset_reader *r, const struct cfg_node *group);
/* Returns the measure that the text `key` of the group names; `without` if it is missing. */
enum measure dataset_measure(struct dataset_reader *r, const struct cfg_node *group,
			     const char *key, enum measure without);
/* Sets the settings of a row's reference case: the row's own, then those of the list, then those
 * of the command line. */
void dataset_set_reference(struct dataset_reader *r, const struct cfg_node *list,
			   struct dataset_row *row);

void dataset_read_table(struct dataset_reader *r, const char *table);
void dataset_read_grid(struct dataset_reader *r, const struct cfg_node *dimensions);
/* Reads the claims of the dataset. own[own_count] are added before them. */
void dataset_read_claims(struct dataset_reader *r, const struct claim *own, size_t own_count);

/* Adds the rows of the claims whose role is fit. */
void dataset_read_observations(struct dataset_reader *r);

/* Return an index. If the name does not exist, they report an error at `at` and return SIZE_MAX or
 * 0. */
size_t dataset_find_dimension(struct dataset_reader *r, const struct cfg_node *at,
			      const char *name);
size_t dataset_find_value(struct dataset_reader *r, const struct cfg_node *at, size_t dimension,
			  const char *name);
/* Reads a group { dimension = "value"; ... } into at[]. Dimensions that it does not name get
 * SIZE_MAX. */
void dataset_read_place(struct dataset_reader *r, const struct cfg_node *group, size_t *at);
