/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/controls.h"

#include "sim/analysis/solve.h"
#include "sim/verb/options.h"

/* A number has values from a hundredth to a thousand times its own, which few points show. */
static const double LEAST_FACTOR = 100;

struct maker {
	struct arena *arena;
	const struct command *command;
	const struct scenario *scenario;
	VEC(struct control) items;
};

const struct control *control_find(const struct controls *controls, const char *key)
{
	for (size_t i = 0; i < controls->count; i++)
		if (strcmp(controls->items[i].key, key) == 0)
			return &controls->items[i];
	return NULL;
}

size_t control_value(const struct control *control, const char *text)
{
	for (size_t i = 0; i < control->count; i++)
		if (strcmp(control->texts[i], text) == 0)
			return i;
	return SIZE_MAX;
}

void control_set(struct arena *arena, const struct control *control, size_t value,
		 struct setting_list *settings)
{
	for (size_t i = 0; i < control->key_count; i++)
		*VEC_PUSH(arena, &settings->list) = (struct setting){
			arena_printf(arena, "%s=%s", control->keys[i], control->texts[value]),
			{"--set", 0}};
}

/* ---- values ---- */

/* Returns the next value of the series 1, 2, 5, 10 ..., or of 1, 2, 3, 4, 6, 8, 12 ... for whole
 * numbers. */
static double after(double value, bool whole)
{
	if (whole) {
		double power = exp2(floor(log2(value * 1.0001)));
		return value < 1.49 * power && power > 1 ? 1.5 * power : 2 * power;
	}
	double power = pow(10, floor(log10(value * 1.0001)));
	double digit = value / power;
	return power * (digit < 1.5 ? 2 : digit < 4 ? 5 : 10);
}

/* Returns whether the row belongs to a kind of links between hosts. */
static bool is_of_network(const struct param_row *row)
{
	for (size_t i = 0; i < link_kind_count(); i++) {
		const struct link_kind *kind = link_kind_at(i);
		if (!kind->inside_host && row >= kind->table->rows &&
		    row < kind->table->rows + kind->table->count)
			return true;
	}
	return false;
}

/* Returns a number, which counts in Gbit/s if it is the bandwidth of a network. */
static const char *number_text(struct maker *m, const struct cfg_param *param, bool Gbit,
			       double value)
{
	return Gbit ? arena_printf(m->arena, "%.6g Gbit/s", value)
		    : cfg_param_text(m->arena, param, value);
}

/* Fills the values of a number: a series around its own value, which is one of them. */
static void number_values(struct maker *m, const struct cfg_param *param, struct control *control)
{
	const double GBIT_BPS = 1.25e8;
	VEC(const char *) texts = {0};
	struct solve_range range;
	bool whole = param->row->whole, has_own = false;
	bool Gbit = param->row->quantity == QUANTITY_RATE && is_of_network(param->row);
	double unit = Gbit ? GBIT_BPS : 1, own = param->value / unit;
	if (!solve_range_of(param, &range))
		range = solve_range_between(param, param->value, param->value);
	double low = fmax(range.low / unit, own / LEAST_FACTOR), high = range.high / unit;
	double least = low > 0 ? low : high / LEAST_FACTOR;
	double value = whole ? 1 : pow(10, floor(log10(least)));
	for (;; value = after(value, whole)) {
		bool beyond = value > high * 1.0001;
		if (!has_own && (beyond || value > own * 0.9999)) {
			has_own = true;
			control->initial = texts.count;
			*VEC_PUSH(m->arena, &texts) = number_text(m, param, Gbit, own);
		}
		if (beyond)
			break;
		if (value > low * 0.9999 && fabs(value - own) > 1e-4 * value)
			*VEC_PUSH(m->arena, &texts) = number_text(m, param, Gbit, value);
	}
	control->number = true;
	control->texts = texts.items;
	control->count = texts.count;
}

/* Adds names to the values, and keeps the index of the parameter's own one. */
static void word_values(struct maker *m, const struct cfg_param *param, const char *const *names,
			size_t count, struct control *control)
{
	const char **texts = ARENA_ARRAY(m->arena, count + 1, const char *);
	control->initial = count;
	for (size_t i = 0; i < count; i++) {
		texts[i] = names[i];
		if (strcmp(names[i], param->text) == 0)
			control->initial = i;
	}
	control->count = count;
	if (control->initial == count)
		texts[control->count++] = param->text;
	control->texts = texts;
}

/* Returns the names that a row's completion lists: "names:runtimes none", "words:a b". */
static size_t completed(struct maker *m, const char *complete, const char *const **names)
{
	VEC(const char *) all = {0};
	const char *words = strchr(complete, ':') + 1, *const *shipped = NULL;
	size_t length = strcspn(words, " "), count = 0;
	const char *table = arena_printf(m->arena, "%.*s", (int)length, words);
	if (strncmp(complete, "names:", 6) == 0) {
		for (size_t i = 0; i < FOLDER_COUNT && !count; i++)
			if (strcmp(shipped_folders[i].name, table) == 0)
				count = data_names(m->arena, m->command->data_root,
						   shipped_folders[i].path, &shipped);
		if (!count && strcmp(table, transport_kind_registry.listed) == 0) {
			shipped = registry_names(m->arena, &transport_kind_registry, NULL);
			count = transport_kind_count();
		}
		words += length;
	}
	for (size_t i = 0; i < count; i++)
		*VEC_PUSH(m->arena, &all) = shipped[i];
	for (words += strspn(words, " "); *words; words += length, words += strspn(words, " ")) {
		length = strcspn(words, " ");
		*VEC_PUSH(m->arena, &all) = arena_printf(m->arena, "%.*s", (int)length, words);
	}
	*names = all.items;
	return all.count;
}

/* ---- controls ---- */

static bool is_given(const struct cfg_param *param)
{
	return param->source == CFG_SOURCE_FILE || param->source == CFG_SOURCE_SET;
}

/* Returns whether a parameter other than the one with this path differs. */
static bool differs(const struct cfg_resolution *a, const struct cfg_resolution *b,
		    const char *path)
{
	for (size_t i = 0; i < cfg_param_count(a); i++) {
		const struct cfg_param *one = cfg_param_at(a, i);
		const struct cfg_param *other = cfg_param_find(b, one->path);
		if (strcmp(one->path, path) != 0 && (!other || other->value != one->value))
			return true;
	}
	return cfg_param_count(a) != cfg_param_count(b);
}

/* Returns whether the case can be read with another value of the control. A word names a file, from
 * which other parameters then come. */
static bool is_accepted(const struct maker *m, const struct control *control)
{
	struct arena *scratch = arena_new();
	struct setting_list settings = {0};
	const struct case_request request = command_case(m->command, 0);
	control_set(scratch, control, control->initial ? control->initial - 1 : 1, &settings);
	const struct case_request with =
		request_with(scratch, &request, settings.list.items, settings.list.count);
	const struct scenario *other = case_read(scratch, diag_new(scratch), &with);
	bool good = other && (control->number ||
			      differs(m->scenario->resolution, other->resolution, control->key));
	arena_free(scratch);
	return good;
}

/* Adds a control of these parameters, which have equal values. complete: the names of a text; NULL:
 * none. */
static void add(struct maker *m, const struct cfg_param *const *params, size_t count,
		const char *complete, bool given)
{
	const struct cfg_param *param = params[0];
	struct control control = {.key = param->path, .key_count = count};
	const char **keys = ARENA_ARRAY(m->arena, count, const char *), *const * names;
	const struct controls made = {m->items.items, m->items.count};
	if (control_find(&made, param->path))
		return;
	for (size_t i = 0; i < count; i++)
		keys[i] = params[i]->path;
	control.keys = keys;
	control.label = cfg_param_words(m->arena, param->path, param->row);
	if (count > 1)
		control.label = arena_printf(m->arena, "%s and %zu equal link%s", control.label,
					     count - 1, count > 2 ? "s" : "");
	if (param->row->kind == PARAM_KIND_NUMBER) {
		number_values(m, param, &control);
	} else if (complete && strncmp(complete, "files:", 6) != 0 && *param->text) {
		size_t named = completed(m, complete, &names);
		word_values(m, param, names, named, &control);
	}
	if (control.count > 1 && (given || is_accepted(m, &control)))
		*VEC_PUSH(m->arena, &m->items) = control;
}

/* Adds the options of cases. A topology is left out, because it replaces the case. */
static void add_options(struct maker *m)
{
	for (size_t i = 0; i < option_count(); i++) {
		const struct option *option = option_at(i);
		if (option->kind != OPTION_CASE || strcmp(option->name, "topology") == 0)
			continue;
		const struct cfg_param *param = cfg_param_find(
			m->scenario->resolution, arena_printf(m->arena, "case.%s", option->name));
		if (param && (is_given(param) || param->value > 0 || param->text))
			add(m, &param, 1, option->complete, is_given(param));
	}
}

/* Adds numbers that the case states. */
static void add_stated(struct maker *m)
{
	static const char *const groups[] = {"case.", "serve.", "plan."};
	const struct cfg_resolution *resolution = m->scenario->resolution;
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *param = cfg_param_at(resolution, i);
		for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
			if (param->row->kind == PARAM_KIND_NUMBER && is_given(param) &&
			    strncmp(param->path, groups[g], strlen(groups[g])) == 0)
				add(m, &param, 1, NULL, true);
	}
}

/* Adds the bandwidth or the latency of links between hosts. Those with one kind and one value are
 * one control. */
static void add_links(struct maker *m, const char *key)
{
	const struct cfg_resolution *resolution = m->scenario->resolution;
	VEC(const struct cfg_param *) params = {0};
	char name[64];
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *param = cfg_param_at(resolution, i);
		param_key(param->row, name, sizeof name);
		if (strncmp(param->path, "link.", 5) == 0 && strcmp(name, key) == 0 &&
		    is_of_network(param->row))
			*VEC_PUSH(m->arena, &params) = param;
	}
	bool *taken = ARENA_ARRAY(m->arena, params.count + 1, bool);
	for (size_t i = 0; i < params.count; i++) {
		VEC(const struct cfg_param *) equal = {0};
		for (size_t k = i; k < params.count; k++)
			if (!taken[k] && params.items[k]->row == params.items[i]->row &&
			    params.items[k]->value == params.items[i]->value) {
				taken[k] = true;
				*VEC_PUSH(m->arena, &equal) = params.items[k];
			}
		if (equal.count)
			add(m, equal.items, equal.count, NULL, true);
	}
}

struct controls controls_of(const struct command *command, struct diag *diag,
			    const struct scenario *scenario)
{
	struct maker m = {.arena = command->arena, .command = command, .scenario = scenario};
	add_links(&m, "bandwidth");
	add_links(&m, "latency");
	add_options(&m);
	add_stated(&m);
	for (size_t i = 0; i < command->keys.count; i++) {
		const char *key = command->keys.items[i];
		const struct cfg_param *param = cfg_param_find(scenario->resolution, key);
		if (param && param->row->kind == PARAM_KIND_NUMBER)
			add(&m, &param, 1, NULL, true);
		else
			diag_error(diag, (struct origin){"--for", 0},
				   "'%s' is not a number of this case (`farwire explain CASE` "
				   "lists its parameters)",
				   key);
	}
	return (struct controls){m.items.items, m.items.count};
}
