/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cfg/cfg.h"
#include "sim/cfg/resolution.h"

enum { KEY_SIZE = 80 };

/* The state while one row is read. */
struct row_reading {
	struct cfg_resolution *resolution;
	struct arena *arena; /* arena of the parameters */
	struct diag *diag;
	const char *thing;
	const struct param_row *row;
	char key[KEY_SIZE];
	struct cfg_param param; /* the result so far */
	bool own_interval;      /* the interval was given, possibly as "none" */
	bool ok;
};

static const char *const statuses[] = {"published", "derived", "measured", "fitted", "assumption"};
enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

/* ---- one value from its text ---- */

static const char *range_text(struct arena *arena, const struct param_row *row)
{
	const double endless = 1e300; /* bounds beyond this mean "unbounded" */
	const char *low = quantity_format(arena, row->quantity, row->min);
	const char *high = quantity_format(arena, row->quantity, row->max);
	const char *noun = row->whole ? "a whole number" : quantity_noun(row->quantity);
	if (row->max > endless)
		return arena_printf(arena, "%s of at least %s", noun, low);
	if (row->min < -endless)
		return arena_printf(arena, "%s of at most %s", noun, high);
	return arena_printf(arena, "%s from %s to %s", noun, low, high);
}

/* Returns the smallest positive value that is accepted. A smaller value is almost certainly a
 * mistake, because 0 often has a special meaning, and a division by it overflows. The smallest
 * rate is a thousandth per second. */
static double least_of(enum quantity quantity)
{
	bool rate = quantity == QUANTITY_RATE || quantity == QUANTITY_FLOP_RATE ||
		    quantity == QUANTITY_FREQUENCY;
	return rate ? 1e-3 : 1e-30;
}

static const char *check_range(struct arena *arena, const struct param_row *row, double value)
{
	double least = least_of(row->quantity);
	if (row->min <= 0 && value > 0 && value < least)
		return arena_printf(arena, "is too small (write %s, or at least %s)",
				    quantity_format(arena, row->quantity, 0),
				    quantity_format(arena, row->quantity, least));
	if (!(value >= row->min && value <= row->max))
		return arena_printf(arena, "is out of range (write %s)", range_text(arena, row));
	if (row->whole && value != floor(value))
		return arena_printf(arena, "is not a whole number (write %s)",
				    range_text(arena, row));
	return NULL;
}

/* Reads text according to row into *value, and also *chosen for texts and choices. Returns NULL, or
 * a message; then both are unchanged. */
static const char *parse(struct arena *arena, const struct param_row *row, const char *text,
			 double *value, const char **chosen)
{
	double number = 0;
	const char *wrong = NULL;
	switch (row->kind) {
	case PARAM_KIND_NUMBER:
		wrong = quantity_parse(arena, row->quantity, text, &number);
		if (!wrong)
			wrong = check_range(arena, row, number);
		if (!wrong)
			*value = number;
		return wrong;
	case PARAM_KIND_BOOL:
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			return "is neither true nor false (write true or false)";
		*value = *text == 't';
		return NULL;
	case PARAM_KIND_TEXT:
		*chosen = arena_strdup(arena, text);
		return NULL;
	case PARAM_KIND_CHOICE:
		break;
	}
	const char *const *choices = param_choices(arena, row);
	size_t count = 0;
	for (; choices[count]; count++)
		if (strcmp(text, choices[count]) == 0) {
			*value = (double)count;
			*chosen = choices[count];
			return NULL;
		}
	const char *near = diag_nearest(text, choices, count);
	const char *list = cfg_list(arena, choices, count);
	return near ? arena_printf(arena, "is not one of %s (did you mean \"%s\"?)", list, near)
		    : arena_printf(arena, "is not one of its choices (write one of %s)", list);
}

/* Returns an example of a value for this row. */
static const char *example(struct arena *arena, const struct param_row *row)
{
	switch (row->kind) {
	case PARAM_KIND_BOOL:
		return "true";
	case PARAM_KIND_TEXT:
		return "\"...\"";
	case PARAM_KIND_CHOICE:
		return arena_printf(arena, "\"%s\"", param_choices(arena, row)[0]);
	case PARAM_KIND_NUMBER:
		break;
	}
	const char *text = quantity_example(row->quantity);
	return row->quantity == QUANTITY_COUNT ? text : arena_printf(arena, "\"%s\"", text);
}

/* ---- one value from a node of a file ---- */

/* Reports an error at origin: "thing: key<part> message". */
#define REFUSE(reading, origin, part, ...)                                                         \
	refuse((reading), (origin), (part), arena_printf((reading)->arena, __VA_ARGS__))

static void refuse(struct row_reading *reading, struct origin origin, const char *part,
		   const char *what)
{
	reading->ok = false;
	diag_error(reading->diag, origin, "%s: %s%s %s", reading->thing, reading->key, part, what);
}

static const char *check_type(struct arena *arena, const struct param_row *row,
			      const struct cfg_node *node)
{
	bool flag;
	switch (row->kind) {
	case PARAM_KIND_NUMBER:
		return cfg_bool(node, &flag)
			       ? arena_printf(arena, "is not %s (write %s)",
					      quantity_noun(row->quantity), example(arena, row))
			       : NULL;
	case PARAM_KIND_BOOL:
		return cfg_bool(node, &flag) ? NULL
					     : "is neither true nor false (write true or false)";
	case PARAM_KIND_TEXT:
	case PARAM_KIND_CHOICE:
		break;
	}
	return cfg_text(node) ? NULL : "is not a text (put it in quotes)";
}

/* Reads a scalar node. part is its name within a value group (".low"), for messages. */
static bool read_scalar(struct row_reading *reading, const struct cfg_node *node, const char *part,
			double *value, const char **chosen)
{
	const char *text = cfg_scalar_text(reading->arena, node);
	if (!text) {
		REFUSE(reading, cfg_origin(node), part, "is a %s, not a value (write %s)",
		       cfg_is_list(node) ? "list" : "group", example(reading->arena, reading->row));
		return false;
	}
	const char *wrong = check_type(reading->arena, reading->row, node);
	if (!wrong)
		wrong = parse(reading->arena, reading->row, text, value, chosen);
	if (wrong) {
		const char *quote = cfg_text(node) ? "\"" : "";
		REFUSE(reading, cfg_origin(node), part, "= %s%s%s %s", quote, text, quote, wrong);
	}
	return !wrong;
}

/* Reads interval = "10 %": the interval extends by that ratio below and above the value, within the
 * row's bounds. */
static void read_interval(struct row_reading *reading, const struct cfg_node *node)
{
	struct cfg_param *param = &reading->param;
	const char *text = cfg_scalar_text(reading->arena, node);
	double ratio = 0;
	const char *wrong =
		text ? quantity_parse(reading->arena, QUANTITY_RATIO, text, &ratio) : NULL;
	if (!text || wrong || ratio < 0 || ratio > 1) {
		REFUSE(reading, cfg_origin(node), ".interval",
		       "is not a ratio from 0 to 1 (write \"10 %%\")");
		return;
	}
	double width = fabs(param->value) * ratio;
	param->low = fmax(param->value - width, fmin(param->value, reading->row->min));
	param->high = fmin(param->value + width, fmax(param->value, reading->row->max));
}

static void read_bounds(struct row_reading *reading, const struct cfg_node *group)
{
	struct cfg_param *param = &reading->param;
	const struct cfg_node *low = cfg_child(group, "low"), *high = cfg_child(group, "high");
	const struct cfg_node *interval = cfg_child(group, "interval");
	const char *none = NULL;
	if (!low && !high && !interval)
		return;
	reading->own_interval = true;
	if (reading->row->kind != PARAM_KIND_NUMBER) {
		REFUSE(reading, cfg_origin(group), "",
		       "is not a number and cannot have an interval (write the value without a "
		       "group)");
		return;
	}
	if (interval && (low || high)) {
		REFUSE(reading, cfg_origin(interval), "",
		       "has both an interval and low or high (write one of the two)");
		return;
	}
	if (interval) {
		read_interval(reading, interval);
		return;
	}
	if ((low && !read_scalar(reading, low, ".low", &param->low, &none)) ||
	    (high && !read_scalar(reading, high, ".high", &param->high, &none)))
		return;
	if (param->low > param->value || param->high < param->value) {
		enum quantity quantity = reading->row->quantity;
		REFUSE(reading, cfg_origin(param->low > param->value ? low : high), "",
		       "= %s is not between low = %s and high = %s",
		       quantity_format(reading->arena, quantity, param->value),
		       quantity_format(reading->arena, quantity, param->low),
		       quantity_format(reading->arena, quantity, param->high));
	}
}

static void read_status(struct row_reading *reading, const struct cfg_node *group)
{
	const struct cfg_node *origin = cfg_child(group, "origin"),
			      *note = cfg_child(group, "note");
	const char *word = cfg_text(origin);
	for (size_t i = 0; word && i < STATUS_COUNT; i++)
		if (strcmp(word, statuses[i]) == 0)
			reading->param.status = statuses[i];
	if (origin && !word)
		REFUSE(reading, cfg_origin(origin), ".origin",
		       "is not a text (write \"measured\")");
	else if (word && strcmp(reading->param.status, word) != 0)
		REFUSE(reading, cfg_origin(origin), ".origin", "= \"%s\" is unknown (%s)", word,
		       cfg_suggestion(reading->arena, word, statuses, STATUS_COUNT));
	if (note && !cfg_text(note))
		REFUSE(reading, cfg_origin(note), ".note", "is not a text (put it in quotes)");
	else if (note)
		reading->param.note = arena_strdup(reading->arena, cfg_text(note));
}

/* Reads a list of { path; by } into *items; by must be between -most and most. */
static void read_others(struct row_reading *reading, const struct cfg_node *group, const char *key,
			double most, const struct cfg_correlation **items, size_t *count)
{
	struct arena *keep = reading->resolution->arena;
	const struct cfg_node *list = cfg_child(group, key);
	if (!list)
		return;
	struct cfg_correlation *to = ARENA_ARRAY(keep, cfg_count(list) + 1, struct cfg_correlation);
	for (size_t i = 0; i < cfg_count(list); i++) {
		const char *path = cfg_text(cfg_child(cfg_at(list, i), "path"));
		const struct cfg_node *by = cfg_child(cfg_at(list, i), "by");
		if (!path || !by || !cfg_number(by, &to[i].ratio) || !(fabs(to[i].ratio) <= most)) {
			REFUSE(reading, cfg_origin(list), arena_printf(reading->arena, ".%s", key),
			       "must be a list of groups with a path and a number from -%g to %g "
			       "(write ( { path = \"runtime.handoff\"; by = -0.9; } ))",
			       most, most);
			return;
		}
		to[i].path = arena_strdup(keep, path);
	}
	*items = to;
	*count = cfg_count(list);
}

/* Reads the keys that fits add to an interval: freedom, correlated, follows. */
static void read_spread(struct row_reading *reading, const struct cfg_node *group)
{
	struct cfg_param *param = &reading->param;
	const struct cfg_node *freedom = cfg_child(group, "freedom");
	if (freedom && (!cfg_number(freedom, &param->freedom_count) || !(param->freedom_count > 0)))
		REFUSE(reading, cfg_origin(freedom), ".freedom",
		       "is not a number above 0 (write 3)");
	read_others(reading, group, "correlated", 1, &param->correlations,
		    &param->correlation_count);
	read_others(reading, group, "follows", 1000, &param->follows, &param->follow_count);
}

/* Reads { value = ...; low = ...; high = ...; origin = ...; note = ...; }. */
static void read_group(struct row_reading *reading, const struct cfg_node *group)
{
	static const char *const keys[] = {"value", "low",     "high",       "interval", "origin",
					   "note",  "freedom", "correlated", "follows"};
	struct cfg_param *param = &reading->param;
	const char *about = arena_printf(reading->arena, "%s: %s: ", reading->thing, reading->key);
	for (size_t i = 0; i < cfg_count(group); i++)
		if (!cfg_known_name(reading->diag, cfg_at(group, i), about, keys,
				    sizeof keys / sizeof keys[0]))
			reading->ok = false;
	read_status(reading, group);
	const struct cfg_node *value = cfg_child(group, "value");
	if (!value) {
		REFUSE(reading, cfg_origin(group), "",
		       "is a group without a value (write { value = %s; })",
		       example(reading->arena, reading->row));
		return;
	}
	if (!read_scalar(reading, value, ".value", &param->value, &param->text))
		return;
	param->low = param->high = param->value;
	read_bounds(reading, group);
	read_spread(reading, group);
}

/* ---- one row ---- */

static void read_preset(struct row_reading *reading, const char *table)
{
	const struct param_row *row = reading->row;
	struct cfg_param *param = &reading->param;
	const char *wrong = parse(reading->arena, row, row->preset, &param->value, &param->text);
	if (wrong)
		fw_assert_failed(arena_printf(reading->arena, "the default \"%s\" of %s.%s %s",
					      row->preset, table, row->field, wrong),
				 __FILE__, __LINE__);
	param->low = param->high = param->value;
}

static void read_file(struct row_reading *reading, const struct cfg_node *node)
{
	struct cfg_param *param = &reading->param;
	param->source = CFG_SOURCE_FILE;
	param->origin = cfg_origin(node);
	param->status = "given";
	param->note = ""; /* the row's source describes only its default */
	if (cfg_is_group(node)) {
		read_group(reading, node);
	} else if (read_scalar(reading, node, "", &param->value, &param->text)) {
		param->low = param->high = param->value;
	}
}

/* Gives a cost without its own interval the prior interval of its class. */
static void apply_prior(struct row_reading *reading)
{
	struct cfg_param *param = &reading->param;
	if (param->row->prior == PRIOR_NONE || reading->own_interval)
		return;
	if (param->row->scale > 0 && param->source == CFG_SOURCE_DEFAULT) {
		param->prior = PRIOR_UNSEEN;
		param->high = num_normal_quantile((1 + 0.95) / 2) * param->row->scale;
		return;
	}
	param->prior = strcmp(param->status, "assumption") == 0 ? PRIOR_ASSUMED : param->row->prior;
	double by = log(prior_factor(param->prior));
	param->low = param_moved(param->row, param->value, -by);
	param->high = param_moved(param->row, param->value, by);
}

static void read_setting(struct row_reading *reading, const struct cfg_setting *setting)
{
	struct cfg_param *param = &reading->param;
	param->source = CFG_SOURCE_SET;
	param->origin = setting->origin;
	param->status = "given";
	param->note = "";
	const char *wrong =
		parse(reading->arena, reading->row, setting->text, &param->value, &param->text);
	if (wrong) {
		reading->ok = false;
		diag_error(reading->diag, setting->origin, "%s = \"%s\" %s", param->path,
			   setting->text, wrong);
	}
	param->low = param->high = param->value;
	param->prior = PRIOR_NONE;
	param->freedom_count = 0;
	param->correlation_count = param->follow_count = 0;
}

static void read_draw(struct row_reading *reading, double value)
{
	struct cfg_param *param = &reading->param;
	const char *wrong = reading->row->kind == PARAM_KIND_NUMBER
				    ? check_range(reading->arena, reading->row, value)
				    : "is not a number and cannot be drawn";
	if (wrong) {
		reading->ok = false;
		diag_error(reading->diag, param->origin, "%s: a draw of %s %s", param->path,
			   number_format(reading->arena, 6, value), wrong);
		return;
	}
	param->source = CFG_SOURCE_DRAW;
	param->value = value;
}

static void store(const struct cfg_param *param, void *params)
{
	unsigned char *field = (unsigned char *)params + param->row->offset;
	switch (param->row->kind) {
	case PARAM_KIND_NUMBER:
		memcpy(field, &param->value, sizeof param->value);
		break;
	case PARAM_KIND_BOOL:
		memcpy(field, &(bool){param->value != 0}, sizeof(bool));
		break;
	case PARAM_KIND_TEXT:
		memcpy(field, &param->text, sizeof param->text);
		break;
	case PARAM_KIND_CHOICE:
		memcpy(field, &(int){(int)param->value}, sizeof(int));
		break;
	}
}

static const char *path_of(struct arena *arena, const char *prefix, const char *key)
{
	size_t before = prefix ? strlen(prefix) : 0, size = strlen(key) + 1;
	char *path = arena_alloc(arena, before + (before > 0) + size);
	if (before) {
		memcpy(path, prefix, before);
		path[before++] = '.';
	}
	memcpy(path + before, key, size);
	return path;
}

/* Sets a valid value before anything is read, so that callers can continue after errors. */
static void begin_param(struct row_reading *reading, const char *prefix)
{
	const struct param_row *row = reading->row;
	reading->param = (struct cfg_param){
		.path = path_of(reading->resolution->arena, prefix, reading->key),
		.row = row,
		.source = CFG_SOURCE_DEFAULT,
		.text = row->kind == PARAM_KIND_TEXT     ? ""
			: row->kind == PARAM_KIND_CHOICE ? param_choices(reading->arena, row)[0]
							 : NULL,
		.status = "default",
		.note = row->source ? row->source : "",
	};
	if (row->kind == PARAM_KIND_NUMBER)
		reading->param.value = isfinite(row->min) ? row->min : 0;
	reading->param.low = reading->param.high = reading->param.value;
}

/* group contains the row's key, or is NULL. place is the origin of the error for a missing value.
 */
static bool read_row(struct row_reading *reading, const struct cfg_node *group, struct origin place,
		     const char *prefix, const char *table, void *params)
{
	begin_param(reading, prefix);
	struct cfg_resolution *resolution = reading->resolution;
	const char *path = reading->param.path;
	const struct override *given = cfg_override_take(resolution, path, OVERRIDE_NODE);
	const struct override *setting = cfg_override_take(resolution, path, OVERRIDE_SETTING);
	const struct override *draw = cfg_override_take(resolution, path, OVERRIDE_DRAW);
	const struct cfg_node *node = given ? given->node : cfg_child(group, reading->key);
	if (node && !given && cfg_is_left_out(resolution, path, cfg_origin(node)))
		node = NULL;
	if (reading->row->preset)
		read_preset(reading, table);
	if (node)
		read_file(reading, node);
	if ((node || reading->row->preset) && reading->ok)
		apply_prior(reading);
	if (setting)
		read_setting(reading, &setting->setting);
	if (!node && !setting && !reading->row->preset && place.file)
		REFUSE(reading, place, "", "is missing (write %s = %s;)", reading->key,
		       example(reading->arena, reading->row));
	else if (!node && !setting && !reading->row->preset)
		REFUSE(reading, place, "", "is missing (write --set %s=%s)", reading->param.path,
		       example(reading->arena, reading->row));
	if (draw && reading->ok)
		read_draw(reading, draw->value);
	store(&reading->param, params);
	*VEC_PUSH(resolution->arena, &resolution->params) = reading->param;
	return reading->ok;
}

static bool is_known(const char *name, const struct param_table *table, const char *const *also,
		     size_t also_count)
{
	bool known = param_find(table, name) != NULL;
	for (size_t i = 0; i < also_count && !known; i++)
		known = strcmp(also[i], name) == 0;
	return known;
}

static void refuse_name(struct diag *diag, const struct cfg_node *child, const char *thing,
			const struct param_table *table, const char *const *also, size_t also_count)
{
	struct arena *scratch = arena_new();
	const char **known = ARENA_ARRAY(scratch, table->count + also_count, const char *);
	for (size_t i = 0; i < table->count; i++) {
		char *key = arena_alloc(scratch, KEY_SIZE);
		param_key(&table->rows[i], key, KEY_SIZE);
		known[i] = key;
	}
	for (size_t i = 0; i < also_count; i++)
		known[table->count + i] = also[i];
	cfg_known_name(diag, child, arena_printf(scratch, "%s: ", thing), known,
		       table->count + also_count);
	arena_free(scratch);
}

bool cfg_params(struct cfg_resolution *resolution, struct arena *arena, struct diag *diag,
		const struct cfg_node *node, const char *prefix, const char *thing,
		const struct param_table *table, const char *const *also, size_t also_count,
		void *params)
{
	memset(params, 0, table->size);
	struct arena *scratch = arena_new();
	bool ok = true;
	if (node && !cfg_is_group(node)) {
		ok = false;
		diag_error(diag, cfg_origin(node), "%s must be a group (write { ... })", thing);
		node = NULL;
		diag = diag_new(scratch); /* hide the errors that result from this one */
	}
	for (size_t i = 0; i < cfg_count(node); i++)
		if (!is_known(cfg_name(cfg_at(node, i)), table, also, also_count)) {
			refuse_name(diag, cfg_at(node, i), thing, table, also, also_count);
			ok = false;
		}
	for (size_t i = 0; i < table->count; i++) {
		struct row_reading reading = {.resolution = resolution,
					      .arena = arena,
					      .diag = diag,
					      .thing = thing,
					      .row = &table->rows[i],
					      .ok = true};
		param_key(reading.row, reading.key, sizeof reading.key);
		ok &= read_row(&reading, node, cfg_origin(node), prefix, table->name, params);
	}
	arena_free(scratch);
	return ok;
}
