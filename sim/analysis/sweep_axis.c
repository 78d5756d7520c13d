/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the values of an axis from "key=a,b,c" or "key=lo:hi:log20". */
#include "sim/analysis/sweep.h"

enum { LISTED_MAX = 10000 }; /* the reader compares each value with all before it */

struct axis_reading {
	struct arena *arena;
	struct diag *diag;
	const char *text; /* text of the axis as the user wrote it */
	struct sweep_axis *axis;
};

static bool refuse(struct axis_reading *r, const char *why)
{
	diag_error(r->diag, (struct origin){r->axis->from, 0},
		   "'%s' is not a variation (write KEY=a,b,c or KEY=lo:hi:log20 or "
		   "KEY=lo:hi:lin20, each value with its unit)%s%s",
		   r->text, *why ? ": " : "", why);
	return false;
}

/* Finds the quantity of a text and its value. Returns false for words. */
static bool any_quantity(struct arena *arena, const char *text, enum quantity *quantity,
			 double *value)
{
	static const enum quantity order[] = {
		QUANTITY_COUNT, QUANTITY_RATIO,        QUANTITY_TIME,      QUANTITY_BYTES,
		QUANTITY_RATE,  QUANTITY_FREQUENCY,    QUANTITY_FLOP_RATE, QUANTITY_FLOP,
		QUANTITY_POWER, QUANTITY_TIME_PER_BYTE};
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		if (!quantity_parse(arena, order[i], text, value)) {
			*quantity = order[i];
			return true;
		}
	return false;
}

static void add_value(struct arena *arena, struct sweep_axis *axis, const char *value_text,
		      double value)
{
	const char **texts = (const char **)(void *)axis->texts;
	double *values = (double *)(void *)axis->values;
	texts[axis->count] = arena_printf(arena, "%s=%s", axis->key, value_text);
	values[axis->count++] = value;
}

static void add_spaced(struct axis_reading *r, double low, double high, size_t count)
{
	struct sweep_axis *axis = r->axis;
	axis->texts = ARENA_ARRAY(r->arena, count, const char *);
	axis->values = ARENA_ARRAY(r->arena, count, double);
	for (size_t i = 0; i < count; i++) {
		double t = (double)i / (double)(count - 1);
		double value = i == count - 1 ? high
			       : axis->log    ? low * pow(high / low, t)
					      : low + (high - low) * t;
		const char *unit = quantity_unit(axis->quantity);
		bool end = i == 0 || i == count - 1;
		const char *text = arena_printf(r->arena, end ? "%.15g" : "%.9g", value);
		number_parse(text, &value); /* the printed value and the set value must be equal */
		add_value(r->arena, axis,
			  arena_printf(r->arena, "%s%s%s", text, unit[0] ? " " : "", unit), value);
	}
}

/* Reads one end of a range. case_read checks both ends again. */
static bool read_end(struct axis_reading *r, const char *text, enum quantity *quantity,
		     double *value)
{
	if (any_quantity(r->arena, text, quantity, value) && isfinite(*value))
		return true;
	return refuse(r, arena_printf(r->arena, "'%s' is not a number with a known unit", text));
}

static bool read_range(struct axis_reading *r, char *low_text)
{
	struct sweep_axis *axis = r->axis;
	char *high_text = strchr(low_text, ':');
	*high_text++ = '\0';
	char *how = strchr(high_text, ':');
	if (!how)
		return refuse(r, "write the spacing and the number of values, such as log20, after "
				 "the second colon");
	*how++ = '\0';
	axis->ranged = true;
	/* kind: a spacing of values, not the importer */
	axis->log = strncmp(how, "log", 3) == 0;
	if (!axis->log && strncmp(how, "lin", 3) != 0)
		return refuse(r, "the spacing must be 'log' or 'lin'");
	char *end = how + 3;
	size_t count = strtoul(how + 3, &end, 10);
	if (how[3] < '0' || how[3] > '9' || *end || count < 2 || count > POINTS_MAX)
		return refuse(
			r, arena_printf(r->arena, "a range must have 2 to %d values", POINTS_MAX));
	double low, high;
	enum quantity other;
	if (!read_end(r, low_text, &axis->quantity, &low) || !read_end(r, high_text, &other, &high))
		return false;
	if (other != axis->quantity)
		return refuse(r, "the two ends have units of different quantities");
	if (!(low < high))
		return refuse(r, "the high end must be above the low end");
	if (axis->log && low <= 0)
		return refuse(r, "a logarithmic range must begin above 0");
	if (!isfinite(axis->log ? high / low : high - low))
		return refuse(r, "the two ends are too far apart");
	add_spaced(r, low, high, count);
	return true;
}

static bool add_listed(struct axis_reading *r, const char *word)
{
	struct sweep_axis *axis = r->axis;
	double value;
	enum quantity quantity;
	bool number = any_quantity(r->arena, word, &quantity, &value);
	for (size_t i = 0; i < axis->count; i++)
		if (strcmp(axis->texts[i] + strlen(axis->key) + 1, word) == 0)
			return refuse(r, arena_printf(r->arena, "'%s' is listed twice", word));
	if (!number || (axis->count && quantity != axis->quantity))
		axis->words = true;
	else
		axis->quantity = quantity;
	add_value(r->arena, axis, word, number ? value : 0);
	return true;
}

static bool read_list(struct axis_reading *r, char *text)
{
	struct sweep_axis *axis = r->axis;
	size_t count = 1;
	for (const char *comma = text; (comma = strchr(comma, ',')); comma++)
		count++;
	if (count > LISTED_MAX)
		return refuse(
			r, arena_printf(r->arena, "a list can have at most %d values", LISTED_MAX));
	axis->texts = ARENA_ARRAY(r->arena, count, const char *);
	axis->values = ARENA_ARRAY(r->arena, count, double);
	for (char *next = text; next;) {
		char *word = next;
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		while (*word == ' ')
			word++;
		if (!add_listed(r, word))
			return false;
	}
	for (size_t i = 0; i < axis->count && axis->words; i++)
		((double *)(void *)axis->values)[i] = (double)i;
	return true;
}

bool sweep_axis_read(struct arena *arena, struct diag *diag, const char *from, const char *text,
		     struct sweep_axis *axis)
{
	struct axis_reading r = {arena, diag, text, axis};
	char *key = arena_strdup(arena, text), *value = strchr(key, '=');
	*axis = (struct sweep_axis){.key = key, .from = from};
	if (!value || value == key || !value[1])
		return refuse(&r, "");
	*value++ = '\0';
	return strchr(value, ':') ? read_range(&r, value) : read_list(&r, value);
}

bool sweep_axes_check(struct diag *diag, const struct sweep_axis *axes, size_t count)
{
	size_t points = 1;
	for (size_t i = 0; i < count; i++) {
		const struct origin origin = {axes[i].from, 0};
		for (size_t j = 0; j < i; j++)
			if (strcmp(axes[i].key, axes[j].key) == 0)
				return diag_error(diag, origin,
						  "'%s' is varied twice (write one --vary for it)",
						  axes[i].key);
		if (axes[i].count > POINTS_MAX / points)
			return diag_error(diag, origin,
					  "the grid has more than %d points (write fewer values)",
					  POINTS_MAX);
		points *= axes[i].count;
	}
	return true;
}
