/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/reported.h"
#include "sim/base/param.h"
#include "sim/predict/predict.h"

static enum prediction_kind kind_of(const struct scenario *scenario)
{
	if (scenario->style == JOBS_COLLECTIVE)
		return PREDICTION_COLLECTIVE;
	if (scenario->style == JOBS_SERVING)
		return PREDICTION_SERVING;
	return scenario_has_gpus(scenario) ? PREDICTION_TRAINING : PREDICTION_PROGRAMS;
}

struct reporting reporting_of(struct arena *arena, const struct scenario *scenario)
{
	struct reporting reporting = {.kind = kind_of(scenario)};
	const char *counted = scenario_setup(arena, scenario).counted;
	if (counted)
		reporting.unit = counted_unit(counted);
	return reporting;
}

/* Returns the row, or if it counts images, a copy that counts what the case counts. */
static const struct reported *counted(struct arena *arena, const struct reported *row,
				      struct reporting reporting)
{
	if (row != answer_at(ANSWER_THROUGHPUT) || !reporting.unit)
		return row;
	struct reported *copy = ARENA_NEW(arena, struct reported);
	*copy = *row;
	copy->heading = copy->unit = reporting.unit;
	if (strcmp(reporting.unit, "steps/s") == 0)
		copy->name = "steps_per_s";
	return copy;
}

/* Returns the name in lower case, with _ for blanks, - and /, and without a unit at the end. */
static const char *plain_name(struct arena *arena, const char *name, size_t length)
{
	char *text = arena_printf(arena, "%.*s", (int)length, name);
	for (char *at = text; *at; at++)
		*at = strchr(" -/", *at) ? '_' : (char)tolower((unsigned char)*at);
	size_t rest = strlen(text);
	static const char *const units[] = {"_per_s", "_bps", "_s"};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		size_t size = strlen(units[i]);
		if (rest > size && strcmp(text + rest - size, units[i]) == 0) {
			text[rest - size] = '\0';
			break;
		}
	}
	return text;
}

static bool is_named(struct arena *arena, const struct reported *row, const char *plain)
{
	const char *const names[] = {row->name, row->also, row->heading};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i] && strcmp(plain_name(arena, names[i], strlen(names[i])), plain) == 0)
			return true;
	return false;
}

const struct reported *reported_find(struct arena *arena, struct diag *diag, struct origin origin,
				     struct reporting reporting, const char *name)
{
	enum prediction_kind kind = reporting.kind;
	const char *plain = plain_name(arena, name, strlen(name)), *list = "";
	bool other = false;
	for (enum answer i = 0; i < ANSWER_COUNT; i++) {
		const struct reported *row = counted(arena, answer_at(i), reporting);
		bool here = row->kinds & (unsigned)kind;
		if (!row->spoken)
			continue;
		if (is_named(arena, row, plain)) {
			if (here)
				return row;
			other = true;
		}
		if (here)
			list = arena_printf(arena, "%s%s%s", list, *list ? ", " : "", row->name);
	}
	diag_error(diag, origin, "%s '%s' (the results of %s are %s)",
		   other ? "this kind of case has no result" : "there is no result called", name,
		   kind == PREDICTION_COLLECTIVE ? "a collective"
		   : kind == PREDICTION_TRAINING ? "a training job"
		   : kind == PREDICTION_SERVING  ? "a model server"
						 : "a program on a GPU",
		   list);
	return NULL;
}

const char *reported_main(enum prediction_kind kind)
{
	return kind == PREDICTION_COLLECTIVE ? "bus_bandwidth_Bps"
	       : kind == PREDICTION_TRAINING ? "efficiency"
	       : kind == PREDICTION_SERVING  ? "latency_p99_s"
					     : "ratio";
}

const char *reported_text(struct arena *arena, const struct reported *reported, double value)
{
	if (isnan(value))
		return "-";
	const char *text = reported->quantity == QUANTITY_RATIO
				   ? arena_printf(arena, "%.4g", value)
				   : quantity_format(arena, reported->quantity, value);
	if (reported->quantity == QUANTITY_COUNT) /* "%.4g" would round 9999.5 to 1e+04 */
		text = arena_printf(arena,
				    fabs(value) >= 9999.5 && fabs(value) < 1e15 ? "%.0f" : "%.4g",
				    value);
	return reported->unit ? arena_printf(arena, "%s %s", text, reported->unit) : text;
}

const char *reported_interval(struct arena *arena, const struct reported *reported,
			      struct estimate number)
{
	struct reported bare = *reported;
	const char *text = reported_text(arena, reported, number.value);
	bare.unit = NULL;
	return number.low < number.high ? arena_printf(arena, "%s (%s to %s)", text,
						       reported_text(arena, &bare, number.low),
						       reported_text(arena, &bare, number.high))
					: text;
}

/* Returns the value's text without the unit of a count at its end. */
static const char *without_unit(struct arena *arena, const char *text, const char *unit)
{
	size_t length = strlen(text), size = unit ? strlen(unit) : 0;
	if (size && length > size && strcmp(text + length - size, unit) == 0)
		length -= size;
	while (length && text[length - 1] == ' ')
		length--;
	return arena_printf(arena, "%.*s", (int)length, text);
}

bool target_read(struct arena *arena, struct diag *diag, struct origin origin,
		 struct reporting reporting, const char *text, struct target *target)
{
	const char *sign = strpbrk(text, "<>");
	size_t length = sign ? (size_t)(sign - text) : 0;
	while (length && text[length - 1] == ' ')
		length--;
	if (!length || sign[1] != '=')
		return diag_error(diag, origin,
				  "'%s' is not a target (write a result, >= or <=, and a value, "
				  "such as 'ratio>=0.95' or 'step<=250 ms')",
				  text);
	const char *name = arena_printf(arena, "%.*s", (int)length, text), *value = sign + 2;
	*target = (struct target){.at_least = *sign == '>'};
	target->reported = reported_find(arena, diag, origin, reporting, name);
	if (!target->reported)
		return false;
	while (*value == ' ')
		value++;
	const char *wrong =
		quantity_parse(arena, target->reported->quantity,
			       without_unit(arena, value, target->reported->unit), &target->value);
	const char *unit = target->reported->unit;
	if (wrong)
		diag_error(diag, origin, "%s of '%s' %s%s%s", name, text, wrong,
			   unit ? "; this case counts " : "", unit ? unit : "");
	else if (!(target->value > 0))
		diag_error(diag, origin, "%s of '%s' must be greater than 0", name, text);
	target->text = arena_printf(arena, "%s %s %s", target->reported->spoken,
				    target->at_least ? ">=" : "<=",
				    reported_text(arena, target->reported, target->value));
	return !wrong && target->value > 0;
}
