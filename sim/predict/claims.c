/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds and orderings that a source states, judged on predicted ratios. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/predict/dataset.h"

static bool matches(const struct dataset *dataset, const struct claim *claim,
		    const struct dataset_row *row)
{
	for (size_t d = 0; d < dataset->dimension_count; d++)
		if (claim->where_at[d] != SIZE_MAX && claim->where_at[d] != row->at[d])
			return false;
	return row->judged;
}

/* The row that differs from row in one dimension alone. */
static const struct row_outcome *sibling(const struct dataset *dataset,
					 const struct row_outcome *rows,
					 const struct dataset_row *row, size_t dimension,
					 size_t value)
{
	for (size_t i = 0; i < dataset->row_count; i++) {
		bool same = rows[i].row->at[dimension] == value;
		for (size_t d = 0; d < dataset->dimension_count; d++)
			same = same && (d == dimension || rows[i].row->at[d] == row->at[d]);
		if (same)
			return &rows[i];
	}
	return NULL;
}

static void note(struct claim_outcome *outcome, double value)
{
	outcome->values[outcome->value_count++] = value;
}

/* Whether row's ratio is above (sign +1) or below (-1) all its siblings'. */
static bool is_extreme(const struct dataset *dataset, const struct claim *claim,
		       const struct row_outcome *rows, const struct row_outcome *row, double sign)
{
	const struct grid_dimension *d = &dataset->dimensions[claim->dimension];
	for (size_t v = 0; v < d->value_count; v++) {
		const struct row_outcome *other =
			sibling(dataset, rows, row->row, claim->dimension, v);
		if (v != claim->value && d->values[v].judged &&
		    !(sign * row->predicted.value > sign * other->predicted.value))
			return false;
	}
	return true;
}

static bool rises(const struct dataset *dataset, const struct claim *claim,
		  const struct row_outcome *rows, const struct row_outcome *row)
{
	const struct grid_dimension *d = &dataset->dimensions[claim->dimension];
	size_t next = row->row->at[claim->dimension] + 1;
	if (next >= d->value_count)
		return true;
	const struct row_outcome *after = sibling(dataset, rows, row->row, claim->dimension, next);
	return !after->row->judged || after->predicted.value > row->predicted.value;
}

static bool holds_at(const struct dataset *dataset, const struct claim *claim,
		     const struct row_outcome *rows, const struct row_outcome *row, bool *counts)
{
	double value = row->predicted.value;
	size_t at = dataset->dimension_count ? row->row->at[claim->dimension] : 0;
	switch (claim->kind) {
	case CLAIM_RANGE:
		return value >= claim->low && value <= claim->high;
	case CLAIM_FIRST:
	case CLAIM_LAST:
		*counts = at == claim->value;
		return !*counts ||
		       is_extreme(dataset, claim, rows, row, claim->kind == CLAIM_FIRST ? 1 : -1);
	case CLAIM_GREATER:
		*counts = at == claim->value || at == claim->than;
		return at != claim->value ||
		       value > sibling(dataset, rows, row->row, claim->dimension, claim->than)
				       ->predicted.value;
	case CLAIM_RISES:
		return rises(dataset, claim, rows, row);
	case CLAIM_UTILIZATION:
		break;
	}
	value = row->prediction->gpu_utilization.value;
	*counts = isfinite(value) && isfinite(row->row->utilization_max);
	return !*counts || row->row->utilization_max >= value - claim->slack;
}

void claims_judge(struct arena *arena, const struct dataset *dataset,
		  const struct row_outcome *rows, struct claim_outcome *outcomes)
{
	for (size_t i = 0; i < dataset->claim_count; i++) {
		const struct claim *claim = &dataset->claims[i];
		struct claim_outcome *outcome = &outcomes[i];
		*outcome = (struct claim_outcome){
			.claim = claim,
			.holds = true,
			.values = ARENA_ARRAY(arena, dataset->row_count + 1, double)};
		for (size_t k = 0; k < dataset->row_count; k++) {
			bool counts = true;
			if (!matches(dataset, claim, rows[k].row))
				continue;
			if (!holds_at(dataset, claim, rows, &rows[k], &counts))
				outcome->holds = false;
			if (counts)
				note(outcome, claim->kind == CLAIM_UTILIZATION
						      ? rows[k].prediction->gpu_utilization.value
						      : rows[k].predicted.value);
		}
		if (outcome->value_count == 0)
			outcome->holds = false; /* a claim about nothing is not shown */
	}
}
