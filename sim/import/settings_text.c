/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads arguments and TOML.
 *
 * Arguments stand alone, one a line, or in a shell script that starts Megatron-LM, DeepSpeed or
 * torchrun. Nothing is executed. `NAME=value` sets a variable for the lines below it, and $NAME,
 * ${NAME} and ${NAME:-default} are replaced. Other expansions stay as they are, and have no value.
 *
 * No C library for TOML is part of Debian 12. The configurations of TorchTitan have sections and
 * one value on a line, and only this part of TOML is read; lists are settings with their text. */
#include "sim/import/settings.h"

enum { WORD_MAX_B = 1000 };

struct script {
	struct settings *settings;
	struct arena *arena;
	struct origin origin;
	const char *key; /* an argument whose value may come next */
	VEC(struct setting_read) variables;
};

/* ---- arguments ---- */

/* Returns the value of ${name...} or $name, or NULL. `rest` may be ":-default" or "". */
static const char *variable(const struct script *script, const char *name, size_t length,
			    const char *rest)
{
	for (size_t i = script->variables.count; i > 0; i--) {
		const struct setting_read *item = &script->variables.items[i - 1];
		if (strlen(item->path) == length && memcmp(item->path, name, length) == 0)
			return item->value;
	}
	return strncmp(rest, ":-", 2) == 0 && rest[2] ? rest + 2 : NULL;
}

/* Returns the word with its variables replaced. A word stays as it is if one is unknown. */
static const char *expand(struct script *script, const char *word)
{
	const char *dollar = strchr(word, '$');
	if (!dollar)
		return word;
	bool braces = dollar[1] == '{';
	const char *name = dollar + 1 + braces;
	size_t length = 0;
	while (isalnum((unsigned char)name[length]) || name[length] == '_')
		length++;
	size_t whole = braces ? strcspn(name, "}") : length;
	const char *rest =
		arena_printf(script->arena, "%.*s", (int)(whole - length), name + length);
	const char *value = length ? variable(script, name, length, rest) : NULL;
	if (!value || strchr(value, '$') || strlen(value) > WORD_MAX_B)
		return word;
	const char *after = name + whole + (braces && name[whole] == '}');
	if (strchr(after, '$'))
		return word;
	return arena_printf(script->arena, "%.*s%s%s", (int)(dollar - word), word, value, after);
}

static void end_flag(struct script *script)
{
	if (script->key)
		settings_add(script->settings, script->key, "true", script->origin);
	script->key = NULL;
}

static bool is_assignment(const char *word)
{
	size_t length = 0;
	while (isalnum((unsigned char)word[length]) || word[length] == '_')
		length++;
	return length > 0 && word[length] == '=' && !isdigit((unsigned char)word[0]);
}

static void take_word(struct script *script, char *word)
{
	char *equals = strchr(word, '=');
	if (strncmp(word, "--", 2) == 0 && word[2]) {
		end_flag(script);
		if (equals) {
			*equals = '\0';
			settings_add(script->settings, word, expand(script, equals + 1),
				     script->origin);
		} else {
			script->key = word;
		}
	} else if (script->key && !strchr("\\|;&<>", word[0]) && !strstr(word, "[@]")) {
		settings_add(script->settings, script->key, expand(script, word), script->origin);
		script->key = NULL;
	} else if (!script->key && is_assignment(word)) {
		*equals = '\0';
		const char *value = expand(script, equals + 1);
		*VEC_PUSH(script->arena, &script->variables) =
			(struct setting_read){.path = word, .value = value};
	} else {
		end_flag(script);
	}
}

/* Takes the words of a line. Quotes, commas and parentheses around words are dropped, because
 * scripts keep lists of arguments in variables. Those inside a word stay: Et|(tt|)*29L. */
static void take_words(struct script *script, const char *line)
{
	while (*(line += strspn(line, " \t()"))) {
		char word[WORD_MAX_B];
		size_t length = 0, depth = 0;
		if (*line == '#')
			break;
		for (; *line && *line != ' ' && *line != '\t'; line++) {
			bool list = length == 0 || strchr("=$", word[length - 1]);
			if ((*line == '(' && list) || (*line == ')' && depth == 0))
				break;
			depth += (*line == '(') - (size_t)(*line == ')');
			if (*line != '"' && *line != '\'' && length + 1 < sizeof word)
				word[length++] = *line;
		}
		while (length > 0 && (word[length - 1] == ';' || word[length - 1] == ','))
			length--;
		word[length] = '\0';
		if (length > 0)
			take_word(script, arena_strdup(script->arena, word));
	}
	end_flag(script);
}

void settings_read_arguments(struct settings *settings, const char *path, const char *text)
{
	struct script script = {.settings = settings, .arena = settings->reading->arena};
	struct lines *lines = reading_lines(settings->reading, path, text);
	const char *line;
	while (diag_count(settings->reading->diag) == 0 && (line = lines_next(lines))) {
		script.origin = lines->origin;
		take_words(&script, line);
	}
}

/* ---- TOML ---- */

/* Cuts a comment that is not inside quotes, and blanks at the end. */
static void cut_comment(char *line)
{
	char quote = 0;
	for (char *c = line; *c; c++) {
		if (!quote && *c == '#') {
			*c = '\0';
			break;
		}
		if ((*c == '"' || *c == '\'') && (!quote || quote == *c))
			quote = quote ? 0 : *c;
	}
	size_t length = strlen(line);
	while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
		line[--length] = '\0';
}

static void take_pair(struct settings *settings, const char *section, char *line,
		      struct origin origin)
{
	struct arena *arena = settings->reading->arena;
	char *equals = strchr(line, '='), *value = equals + 1 + strspn(equals + 1, " \t");
	size_t end = strlen(value), name = strcspn(line, " \t=");
	if (end >= 2 && (value[0] == '"' || value[0] == '\'') && value[end - 1] == value[0]) {
		value[end - 1] = '\0';
		value++;
	}
	settings_add(settings,
		     section[0] ? arena_printf(arena, "%s.%.*s", section, (int)name, line)
				: arena_printf(arena, "%.*s", (int)name, line),
		     arena_strdup(arena, value), origin);
}

void settings_read_toml(struct settings *settings, const char *path, const char *text)
{
	struct arena *arena = settings->reading->arena;
	struct lines *lines = reading_lines(settings->reading, path, text);
	const char *section = "";
	bool in_list = false;
	char *line;
	while (diag_count(settings->reading->diag) == 0 && (line = lines_next(lines))) {
		line += strspn(line, " \t");
		cut_comment(line);
		size_t length = strlen(line);
		const char *equals = strchr(line, '=');
		if (in_list || length == 0)
			in_list = in_list && !strchr(line, ']');
		else if (line[0] == '[' && line[length - 1] == ']' && length <= WORD_MAX_B)
			section = arena_printf(arena, "%.*s", (int)length - 2, line + 1);
		else if (equals && equals > line) {
			in_list = strchr(equals, '[') && !strchr(equals, ']');
			take_pair(settings, section, line, lines->origin);
		} else
			diag_error(settings->reading->diag, lines->origin,
				   "this is not a line of TOML (write [section] or key = value)");
	}
}
