/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes observations for fits from claims of role fit, in which a source states a range. */
#include <math.h>

#include "sim/base/diag.h"
#include "sim/analysis/dataset_read.h"

static bool is_about(const struct dataset *dataset, const struct claim *claim,
		     const struct dataset_row *row)
{
	for (size_t d = 0; d < dataset->dimension_count; d++)
		if (claim->where_at[d] != SIZE_MAX && claim->where_at[d] != row->at[d])
			return false;
	for (size_t i = 0; i < claim->word_count; i++)
		if (!label_has(row->label, claim->words[i]))
			return false;
	return true;
}

/* Returns the row to which the claim relates this row; NULL: the grid skips it. */
static const struct dataset_row *reference_of(const struct dataset *dataset,
					      const struct claim *claim,
					      const struct dataset_row *row)
{
	for (size_t i = 0; i < dataset->row_count; i++) {
		bool same = true;
		for (size_t d = 0; d < dataset->dimension_count; d++)
			same = same && dataset->rows[i].at[d] == (claim->over_at[d] == SIZE_MAX
									  ? row->at[d]
									  : claim->over_at[d]);
		if (same)
			return &dataset->rows[i];
	}
	return NULL;
}

/* Returns the bound of the number divided by its reference. */
static double bound(const struct claim *claim, double value)
{
	return claim->loss ? 1 / (1 - value) : value;
}

void dataset_read_observations(struct dataset_reader *r)
{
	const struct dataset *dataset = r->dataset;
	VEC(struct dataset_row) rows = {0};
	FW_ASSERT(dataset->rows || dataset->row_count == 0);
	for (size_t i = 0; i < dataset->claim_count; i++) {
		const struct claim *claim = &dataset->claims[i];
		for (size_t k = 0; claim->role == ROLE_FIT && k < dataset->row_count; k++) {
			const struct dataset_row *row = &dataset->rows[k];
			const struct dataset_row *reference = reference_of(dataset, claim, row);
			if (!is_about(dataset, claim, row) || !reference)
				continue;
			struct dataset_row *one = VEC_PUSH(r->arena, &rows);
			*one = *row;
			one->label = claim->text;
			one->role = ROLE_FIT;
			one->relative = true;
			one->measure = claim->time ? MEASURE_TIME : row->measure;
			one->reference = reference->settings;
			one->reference_count = reference->setting_count;
			one->reference_path = reference->case_path;
			one->low = bound(claim, claim->low);
			one->high = bound(claim, claim->high);
			one->measured = sqrt(one->low * one->high);
		}
	}
	r->dataset->observations = rows.items;
	r->dataset->observation_count = rows.count;
}
