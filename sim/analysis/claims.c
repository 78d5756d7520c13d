/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judges the bounds and orders that a source claims. A number is NaN if it could not be
 * predicted. Every claim about it is then broken. */
#include "sim/analysis/dataset.h"

struct judging {
	const struct dataset *dataset;
	const struct claim *claim;
	const struct row_outcome *rows;
};

static const struct row_outcome *row_at(const struct judging *j, size_t index)
{
	return index < SIZE_MAX ? &j->rows[index] : NULL;
}

/* Returns the row that differs from row only in the claim's dimension; NULL: the grid skips it. */
static const struct row_outcome *sibling(const struct judging *j, const struct row_outcome *row,
					 size_t value)
{
	size_t at[DIMENSIONS_OF_GRID_MAX];
	memcpy(at, row->row->at, sizeof at);
	at[j->claim->dimension] = value;
	return row_at(j, dataset_row_at(j->dataset, at));
}

/* Returns the row to which this row's number is relative. It may be the row itself. */
static const struct row_outcome *reference_of(const struct judging *j,
					      const struct row_outcome *row)
{
	return row_at(j, claim_reference(j->dataset, j->claim, row->row));
}

static double own_number(const struct claim *claim, const struct row_outcome *row)
{
	if (!row->prediction->ok)
		return NAN;
	if (claim->kind == CLAIM_UTILIZATION)
		return row->prediction->gpu_utilization.value;
	if (claim->part)
		return prediction_part_s(row->prediction, claim->part) /
		       row->prediction->step_s.value;
	return claim->time ? row->step_s : row->predicted.value;
}

static double number(const struct judging *j, const struct row_outcome *row)
{
	if (!j->claim->over)
		return own_number(j->claim, row);
	const struct row_outcome *reference = reference_of(j, row);
	if (!reference)
		return NAN;
	double ratio = own_number(j->claim, row) / own_number(j->claim, reference);
	return j->claim->loss ? 1 - 1 / ratio : ratio;
}

/* Returns true if the row's number is above (sign 1) or below (sign -1) the numbers of all its
 * siblings. */
static bool is_extreme(const struct judging *j, const struct row_outcome *row, double sign)
{
	const struct grid_dimension *d = &j->dataset->dimensions[j->claim->dimension];
	for (size_t v = 0; v < d->value_count; v++) {
		const struct row_outcome *other = sibling(j, row, v);
		if (v != j->claim->value && other && other->row->judged &&
		    !(sign * number(j, row) > sign * number(j, other)))
			return false;
	}
	return true;
}

static bool rises(const struct judging *j, const struct row_outcome *row)
{
	size_t next = row->row->at[j->claim->dimension] + 1;
	if (next >= j->dataset->dimensions[j->claim->dimension].value_count)
		return true;
	const struct row_outcome *after = sibling(j, row, next);
	return !after || !after->row->judged || number(j, after) > number(j, row);
}

/* Compares a row at `value` with its sibling at `than`. */
static bool compares(const struct judging *j, const struct row_outcome *row)
{
	const struct row_outcome *other = sibling(j, row, j->claim->than);
	double a = number(j, row), b = number(j, other);
	switch (j->claim->kind) {
	case CLAIM_WITHIN:
		return fabs(a - b) <= j->claim->slack;
	case CLAIM_OUTGROWS:
		return j->claim->share * (a - 1) > b - 1;
	default:
		return a > b;
	}
}

/* Returns true if the claim holds for the row. *counts is false if the claim is not about the
 * row. */
static bool holds_at(const struct judging *j, const struct row_outcome *row, bool *counts)
{
	const struct claim *claim = j->claim;
	double value = number(j, row);
	size_t at = row->row->at[claim->dimension];
	switch (claim->kind) {
	case CLAIM_RANGE:
		return value >= claim->low && value <= claim->high;
	case CLAIM_FIRST:
	case CLAIM_LAST:
		*counts = at == claim->value;
		return !*counts || is_extreme(j, row, claim->kind == CLAIM_FIRST ? 1 : -1);
	case CLAIM_GREATER:
	case CLAIM_WITHIN:
	case CLAIM_OUTGROWS:
		*counts = (at == claim->value && sibling(j, row, claim->than)) ||
			  (at == claim->than && sibling(j, row, claim->value));
		return !*counts || at == claim->than || compares(j, row);
	case CLAIM_RISES:
		return rises(j, row);
	case CLAIM_UTILIZATION:
		break;
	}
	*counts = isfinite(value) && isfinite(row->row->utilization_max);
	return !*counts || row->row->utilization_max >= value - claim->slack;
}

static struct claim_outcome judge(struct arena *arena, const struct judging *j)
{
	struct claim_outcome outcome = {
		.claim = j->claim,
		.holds = true,
		.values = ARENA_ARRAY(arena, j->dataset->row_count + 1, double)};
	for (size_t i = 0; i < j->dataset->row_count; i++) {
		const struct row_outcome *row = &j->rows[i];
		bool counts = true;
		if (!row->row->judged || !claim_is_about(j->dataset, j->claim, row->row))
			continue;
		if (j->claim->over && reference_of(j, row) == row && j->claim->kind == CLAIM_RANGE)
			continue; /* the quotient of a row and itself is 1 */
		bool holds = holds_at(j, row, &counts);
		if (!holds && outcome.holds)
			outcome.broken_at = row->row->label;
		outcome.holds = outcome.holds && holds;
		if (counts)
			outcome.values[outcome.value_count++] = number(j, row);
	}
	if (outcome.value_count == 0)
		outcome.holds = false; /* without a row, the claim is not confirmed */
	return outcome;
}

void claims_judge(struct arena *arena, const struct dataset *dataset,
		  const struct row_outcome *rows, struct claim_outcome *outcomes)
{
	for (size_t i = 0; i < dataset->claim_count; i++) {
		const struct judging judging = {dataset, &dataset->claims[i], rows};
		outcomes[i] = judge(arena, &judging);
	}
}
