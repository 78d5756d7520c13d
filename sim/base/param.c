/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/param.h"
#include "sim/base/base.h"

static bool is_unit(const char *word)
{
	static const char *const units[] = {"s",     "W",  "B",     "Bps",   "flop",
					    "flops", "Hz", "ratio", "count", "spB"};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(word, units[i]) == 0)
			return true;
	return false;
}

void param_key(const struct param_row *row, char *key, size_t size)
{
	const char *last = strrchr(row->field, '_');
	size_t length = strlen(row->field);
	if (row->kind == PARAM_KIND_NUMBER && last && last > row->field && is_unit(last + 1))
		length = (size_t)(last - row->field);
	FW_ASSERT(length < size);
	memcpy(key, row->field, length);
	key[length] = '\0';
}

const struct param_row *param_find(const struct param_table *table, const char *key)
{
	char own[80];
	size_t length = strlen(key);
	for (size_t i = 0; i < table->count; i++) {
		if (strncmp(table->rows[i].field, key, length) != 0)
			continue; /* a field begins with its key, so others need no comparison */
		param_key(&table->rows[i], own, sizeof own);
		if (strcmp(own, key) == 0)
			return &table->rows[i];
	}
	return NULL;
}

const char *const *param_choices(struct arena *arena, const struct param_row *row)
{
	return row->choices ? row->choices : registry_names(arena, row->kinds, NULL);
}

const char *prior_name(enum prior prior)
{
	static const char *const names[] = {"none",  "data sheet", "published",         "assumed",
					    "tuned", "reached",    "other generations", "unseen"};
	return names[prior];
}

/* docs/models/intervals.md gives the reasons for these factors. */
double prior_factor(enum prior prior)
{
	static const double factors[] = {1, 1.05, 1.25, 1.7, 1.3, 1.75, 3.4, 1};
	return factors[prior];
}

static bool has_odds(const struct param_row *row)
{
	return row->quantity == QUANTITY_RATIO && row->max == 1 && row->min >= 0;
}

static double place(const struct param_row *row, double value)
{
	return has_odds(row) ? log(value) - log1p(-value) : log(value);
}

double param_moved(const struct param_row *row, double value, double by)
{
	double at = value > 0 ? place(row, value) : INFINITY;
	if (!isfinite(at))
		return value;
	double moved = value * exp(by);
	if (has_odds(row)) {
		double odds = value / (1 - value) * exp(by);
		moved = isfinite(odds) ? odds / (1 + odds) : 1;
	}
	moved = fmin(fmax(moved, row->min), row->max);
	return row->whole ? fmin(fmax(round(moved), row->min), row->max) : moved;
}

double param_distance(const struct param_row *row, double from, double to)
{
	if (!(from > 0) || !(to > 0))
		return INFINITY;
	double distance = fabs(place(row, to) - place(row, from));
	return isfinite(distance) ? distance : INFINITY;
}
