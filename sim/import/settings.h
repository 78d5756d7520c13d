/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations of training frameworks as a flat list of settings.
 *
 *   config.json, NeMo's and GPT-NeoX's YAML, DeepSpeed's JSON    libyaml reads both languages
 *   --num-layers 32 --swiglu, in a shell script or alone         one setting for each argument
 *   TorchTitan's TOML                                            sections and single values
 *
 * A setting's path is made of lower-case words with '_', joined by '.': "zero_optimization.stage".
 * Elements of a list have numbers. Fields (fields.def) say which names of which tools mean the
 * same. */
#pragma once

#include "sim/import/reading.h"

struct setting_read {
	const char *path, *value;
	struct origin origin;
	bool used;
};

enum settings_field {
#define FIELD(name, what, names) FIELD_##name,
#include "sim/import/fields.def"
#undef FIELD
	FIELD_COUNT,
};

struct settings {
	struct reading *reading;
	VEC(struct setting_read) items;
};

/* Adds a setting. Reports an error if there are too many. */
void settings_add(struct settings *settings, const char *path, const char *value,
		  struct origin origin);
/* Reads all files of the reading. */
void settings_read(struct settings *settings);
/* Reads a JSON or YAML text, a TOML text, or arguments. The readers do not change the text. */
void settings_read_yaml(struct settings *settings, const char *path, const char *text,
			size_t size_B);
void settings_read_toml(struct settings *settings, const char *path, const char *text);
void settings_read_arguments(struct settings *settings, const char *path, const char *text);

/* Returns the setting of a field and marks it as used. Returns NULL if it is missing, null, or only
 * a variable. Two settings with different values are an error. */
const struct setting_read *settings_find(struct settings *settings, enum settings_field field);
/* Returns element `index` of a list and marks it as used; NULL if there is none. */
const struct setting_read *settings_item(struct settings *settings, const char *list, size_t index);
/* Reads a whole number of at least `least`. Returns false if it is missing, or after an error. */
bool settings_count(struct settings *settings, enum settings_field field, double least,
		    double *value);
/* Reads the tokens that each token sees: a number, or a pair of those before and after it
 * (Megatron-LM, Transformer Engine). A causal window of 127,0 is one of 128 tokens, because a token
 * sees itself; -1,0 means no window. *tokens_count stays without a setting. */
void settings_window(struct settings *settings, double *tokens_count);
/* The same as settings_count for a number of at least 1 that must be there. */
bool settings_need(struct settings *settings, enum settings_field field, double *value);
/* Reads the number if there is a preset, *value > 0; otherwise it must be there. */
void settings_preset(struct settings *settings, enum settings_field field, double *value);
/* Reads true or false. *value stays without a setting. */
bool settings_flag(struct settings *settings, enum settings_field field, bool *value);
/* Returns whether the setting is there and true. */
bool settings_is_true(struct settings *settings, enum settings_field field);
/* Returns "config.json:12: num_hidden_layers" for a comment; NULL without a setting, or for
 * FIELD_COUNT. */
const char *settings_place(struct settings *settings, enum settings_field field);
/* Returns whether a field of plans has this name; *key is then its key in a plan. */
bool settings_plan_key(const char *name, size_t length, const char **key);
/* Counts the settings, and lists those that were not used although they seem to matter. `others`
 * are the first and the last field that belong to the other importer. */
void settings_account(struct settings *settings, enum settings_field first,
		      enum settings_field last, const char *other);
