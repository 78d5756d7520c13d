/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/import/settings.h"
#include "sim/base/table.h"

enum { SETTINGS_MAX = 50000 };
#define SETTING_MAX 2e9 /* libconfig reads larger whole numbers differently */

static const struct {
	const char *what, *names;
} fields[] = {
#define FIELD(name, what, names) {what, names},
#include "sim/import/fields.def"
#undef FIELD
};

void settings_add(struct settings *settings, const char *path, const char *value,
		  struct origin origin)
{
	struct reading *reading = settings->reading;
	if (settings->items.count == SETTINGS_MAX) {
		diag_error(reading->diag, origin,
			   "there are more than %d settings (name a configuration, not data)",
			   SETTINGS_MAX);
		return;
	}
	char *name = arena_strdup(reading->arena, path + strspn(path, "-"));
	for (char *c = name; *c; c++)
		*c = (char)(*c == '-' ? '_' : tolower((unsigned char)*c));
	/* Tests of Megatron-LM have YAML with arguments: "MODEL_ARGS.--num-layers". */
	for (char *dashes; (dashes = strstr(name, ".__"));)
		memmove(dashes + 1, dashes + 3, strlen(dashes + 3) + 1);
	*VEC_PUSH(reading->arena, &settings->items) =
		(struct setting_read){.path = name, .value = value, .origin = origin};
}

static void read_one(struct settings *settings, const char *path)
{
	size_t size_B;
	size_t before = settings->items.count;
	const char *text = reading_file(settings->reading, path, &size_B);
	if (!text)
		return;
	bool yaml = ends_in(path, ".json") || ends_in(path, ".yaml") || ends_in(path, ".yml");
	if (ends_in(path, ".toml"))
		settings_read_toml(settings, path, text);
	else if (yaml || text[strspn(text, " \t\r\n")] == '{' || !strstr(text, "--"))
		settings_read_yaml(settings, path, text, size_B);
	else
		settings_read_arguments(settings, path, text);
	if (settings->items.count == before && diag_count(settings->reading->diag) == 0)
		diag_error(settings->reading->diag, (struct origin){path, 0},
			   "no settings were found (name a config.json, a YAML or TOML file, or a "
			   "text with --arguments)");
}

void settings_read(struct settings *settings)
{
	for (size_t i = 0; i < settings->reading->path_count; i++)
		read_one(settings, settings->reading->paths[i]);
}

static bool is_named(const char *names, const char *path)
{
	const char *dot = strrchr(path, '.'), *last = dot ? dot + 1 : path;
	while (*names) {
		size_t length = strcspn(names, " "), all = strlen(path);
		bool nested = memchr(names, '.', length) != NULL;
		if (!nested && !strstr(path, "linear_attn_config.") && strlen(last) == length &&
		    memcmp(names, last, length) == 0)
			return true;
		if (nested && all >= length && memcmp(path + all - length, names, length) == 0 &&
		    (all == length || path[all - length - 1] == '.'))
			return true;
		names += length + (names[length] == ' ');
	}
	return false;
}

static bool is_nothing(const char *value)
{
	return !value[0] || strcmp(value, "null") == 0 || strcmp(value, "None") == 0 ||
	       strcmp(value, "~") == 0;
}

static bool is_variable(const char *value)
{
	return strchr(value, '$') != NULL || strcmp(value, "auto") == 0;
}

static bool same_value(const char *a, const char *b)
{
	double x, y;
	if (number_parse(a, &x) && number_parse(b, &y))
		return !(x < y) && !(x > y);
	return strcmp(a, b) == 0;
}

/* A configuration of several parts has one for text and others for images and sounds. Settings of
 * the text's part describe the language model, so they replace those outside of it. Settings of the
 * other parts are not read. */
enum part_of_model { PART_OTHER, PART_WHOLE, PART_TEXT };

static bool is_in(const char *path, const char *const *parts)
{
	for (; *parts; parts++) {
		const char *at = strstr(path, *parts);
		if (at && (at == path || at[-1] == '.'))
			return true;
	}
	return false;
}

static enum part_of_model part_of_model(const char *path)
{
	static const char *const text[] = {"text_config.", "llm_config.", "language_config.", NULL};
	static const char *const other[] = {"vision_config.", "vision_tower.",     "audio_config.",
					    "talker_config.", "projector_config.", NULL};
	return is_in(path, other) ? PART_OTHER : is_in(path, text) ? PART_TEXT : PART_WHOLE;
}

/* Returns the field's setting and marks it; *variable is the last one without a value. */
static const struct setting_read *find(struct settings *settings, enum settings_field field,
				       const struct setting_read **variable)
{
	struct reading *reading = settings->reading;
	const struct setting_read *found = NULL;
	enum part_of_model best = PART_WHOLE;
	*variable = NULL;
	for (size_t i = 0; i < settings->items.count; i++) {
		struct setting_read *item = &settings->items.items[i];
		enum part_of_model part = part_of_model(item->path);
		if (!is_named(fields[field].names, item->path) || part == PART_OTHER)
			continue;
		item->used = true;
		if (is_variable(item->value)) {
			*variable = item;
		} else if (!is_nothing(item->value) && (!found || part > best)) {
			found = item;
			best = part;
		} else if (found && !is_nothing(item->value) && part == best &&
			   !same_value(found->value, item->value)) {
			diag_error(reading->diag, item->origin,
				   "%s is %s, but %s in %s:%d is %s (leave one of them out)",
				   reading_quote(reading, item->path),
				   reading_quote(reading, item->value),
				   reading_quote(reading, found->path), found->origin.file,
				   found->origin.line, reading_quote(reading, found->value));
		}
	}
	return found;
}

const struct setting_read *settings_find(struct settings *settings, enum settings_field field)
{
	const struct setting_read *variable;
	const struct setting_read *found = find(settings, field, &variable);
	if (!found && variable)
		reading_note(settings->reading, "%s:%d: %s is not a value, so %s is assumed",
			     variable->origin.file, variable->origin.line,
			     reading_quote(settings->reading, variable->value), fields[field].what);
	return found;
}

const struct setting_read *settings_item(struct settings *settings, const char *list, size_t index)
{
	char name[64];
	snprintf(name, sizeof name, "%s.%zu", list, index);
	for (size_t i = 0; i < settings->items.count; i++) {
		struct setting_read *item = &settings->items.items[i];
		if (part_of_model(item->path) == PART_OTHER || !is_named(name, item->path))
			continue;
		item->used = true;
		return item;
	}
	return NULL;
}

bool settings_count(struct settings *settings, enum settings_field field, double least,
		    double *value)
{
	struct reading *reading = settings->reading;
	const struct setting_read *found = settings_find(settings, field);
	double number;
	if (!found)
		return false;
	if (!number_parse(found->value, &number) || number < least || number > floor(number) ||
	    number > SETTING_MAX)
		return diag_error(
			reading->diag, found->origin,
			"%s must be a whole number from %g to 2e9, not '%s' (write the number)",
			reading_quote(reading, found->path), least,
			reading_quote(reading, found->value));
	*value = number;
	return true;
}

void settings_window(struct settings *settings, double *tokens_count)
{
	const struct setting_read *item = settings_find(settings, FIELD_WINDOW);
	double before, after;
	if (!item || !strchr(item->value, ',')) {
		settings_count(settings, FIELD_WINDOW, 1, tokens_count);
		return;
	}
	char *pair = arena_strdup(settings->reading->arena, item->value);
	pair += strspn(pair, "([ ");
	pair[strcspn(pair, ")]")] = '\0';
	char *comma = strchr(pair, ',');
	*comma = '\0';
	comma += 1 + strspn(comma + 1, " ");
	if (!number_parse(pair, &before) || !number_parse(comma, &after) || before < -1 ||
	    before > 2e9 || before > floor(before) || after < 0 || after > 0)
		diag_error(settings->reading->diag, item->origin,
			   "%s = %s: a window is a number of tokens, or a pair of those before and "
			   "after a token, and none after it are visible (write 127,0 for example)",
			   reading_quote(settings->reading, item->path),
			   reading_quote(settings->reading, item->value));
	else if (before >= 0)
		*tokens_count = before + 1;
}

bool settings_need(struct settings *settings, enum settings_field field, double *value)
{
	const struct setting_read *variable;
	struct reading *reading = settings->reading;
	if (find(settings, field, &variable))
		return settings_count(settings, field, 1, value);
	const char *names = fields[field].names;
	if (variable)
		diag_error(reading->diag, variable->origin,
			   "%s is %s, which has no value here (write the number)",
			   reading_quote(reading, variable->path),
			   reading_quote(reading, variable->value));
	else
		diag_error(reading->diag, (struct origin){reading->paths[0], 0},
			   "%s is missing (add %.*s, or name a second file that has it)",
			   fields[field].what, (int)strcspn(names, " "), names);
	return false;
}

void settings_preset(struct settings *settings, enum settings_field field, double *value)
{
	if (*value > 0)
		settings_count(settings, field, 1, value);
	else
		settings_need(settings, field, value);
}

bool settings_flag(struct settings *settings, enum settings_field field, bool *value)
{
	static const char *const yes[] = {"true", "True", "1", "yes", "on", NULL};
	static const char *const no[] = {"false", "False", "0", "no", "off", NULL};
	struct reading *reading = settings->reading;
	const struct setting_read *found = settings_find(settings, field);
	for (size_t i = 0; found && yes[i]; i++)
		if (strcmp(found->value, yes[i]) == 0 || strcmp(found->value, no[i]) == 0) {
			*value = strcmp(found->value, yes[i]) == 0;
			return true;
		}
	if (found)
		diag_error(reading->diag, found->origin,
			   "%s must be true or false, not '%s' (write true or false)",
			   reading_quote(reading, found->path),
			   reading_quote(reading, found->value));
	return false;
}

bool settings_is_true(struct settings *settings, enum settings_field field)
{
	bool value = false;
	return settings_flag(settings, field, &value) && value;
}

const char *settings_place(struct settings *settings, enum settings_field field)
{
	const struct setting_read *variable;
	const struct setting_read *found =
		field < FIELD_COUNT ? find(settings, field, &variable) : NULL;
	return found ? arena_printf(settings->reading->arena, "%s:%d: %s",
				    reading_quote(settings->reading, found->origin.file),
				    found->origin.line,
				    reading_quote(settings->reading, found->path))
		     : NULL;
}

bool settings_plan_key(const char *name, size_t length, const char **key)
{
	for (int i = FIELD_TP; i <= FIELD_BUCKET; i++)
		for (const char *names = fields[i].names; *names; names += names[0] == ' ') {
			size_t size = strcspn(names, " ");
			if (size == length && memcmp(names, name, length) == 0) {
				*key = fields[i].what;
				return true;
			}
			names += size;
		}
	return false;
}

static bool has_part(const char *path, const char *const *words)
{
	while (*words && !strstr(path, *words))
		words++;
	return *words != NULL;
}

/* Returns whether an unused setting suggests that it changes the time of a step. */
static bool seems_to_matter(const struct setting_read *item)
{
	static const char *const words[] = {
		"parallel", "expert",     "moe_",       "_layers", "hidden_size",  "heads",
		"_dim",     "batch_size", "zero",       "shard",   "offload",      "recompute",
		"pipeline", "fp8",        "_rank",      "window",  "intermediate", "accumulat",
		"nextn",    "mtp_",       "rotary_pct", "lora",    "quant",        NULL};
	static const char *const harmless[] = {"loss",
					       "jitter",
					       "val_",
					       "fusion",
					       "init_",
					       "output_layer_parallelism",
					       "activation_scheme",
					       "max_window_layers",
					       "checkpoint_num_layers",
					       "_dir",
					       NULL};
	static const char *const off[] = {"false", "False", "0", "null", "None", "", NULL};
	for (size_t i = 0; off[i]; i++)
		if (strcmp(item->value, off[i]) == 0)
			return false;
	return has_part(item->path, words) && !has_part(item->path, harmless);
}

void settings_account(struct settings *settings, enum settings_field first,
		      enum settings_field last, const char *other)
{
	struct reading *reading = settings->reading;
	size_t other_count = 0;
	for (size_t i = 0; i < settings->items.count; i++) {
		const struct setting_read *item = &settings->items.items[i];
		bool elsewhere = false;
		for (int field = (int)first; field <= (int)last && !item->used; field++)
			elsewhere |= is_named(fields[field].names, item->path);
		other_count += elsewhere;
		reading->used_count += item->used;
		reading->skipped_count += !item->used;
		if (!item->used && !elsewhere && seems_to_matter(item))
			reading_note(reading, "%s:%d: %s = %s was skipped, but may matter",
				     reading_quote(reading, item->origin.file), item->origin.line,
				     reading_quote(reading, item->path),
				     reading_quote(reading, item->value));
	}
	if (other_count)
		reading_note(reading, "%zu of the skipped settings are for `farwire import %s`",
			     other_count, other);
}
