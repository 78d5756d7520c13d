/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <libconfig.h>

#include "sim/cfg/cfg.h"
#include "sim/cfg/resolution.h"
#include "sim/cfg/text.h"

enum type { TYPE_GROUP, TYPE_LIST, TYPE_INTEGER, TYPE_FLOAT, TYPE_BOOL, TYPE_TEXT };

struct cfg_node {
	const char *name;
	struct origin origin;
	enum type type;
	const char *text;
	double number;
	long long integer;
	bool flag;
	struct cfg_node *children;
	size_t count;
};

/* ---- from libconfig's settings to farwire's ---- */

struct building {
	struct arena *arena;
	struct diag *diag;
	const struct cfg_source_text *source;
};

/* Passes what the node says to diag_reads. Comments and blanks change no result. */
static void note(const struct building *b, const struct cfg_node *node)
{
	char number[40];
	snprintf(number, sizeof number, "%d %zu %d %.17g", (int)node->type, node->count,
		 (int)node->flag, node->number);
	diag_reads(b->diag, number, strlen(number) + 1);
	if (node->name)
		diag_reads(b->diag, node->name, strlen(node->name) + 1);
	if (node->text)
		diag_reads(b->diag, node->text, strlen(node->text) + 1);
}

static void build_value(struct building *b, const config_setting_t *setting, struct cfg_node *node)
{
	const char *name = config_setting_name(setting);
	node->name = name ? arena_strdup(b->arena, name) : NULL;
	node->origin = cfg_source_origin(b->source, config_setting_source_line(setting));
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		node->type = TYPE_INTEGER;
		node->integer = config_setting_get_int64(setting);
		node->number = (double)node->integer;
		return;
	case CONFIG_TYPE_FLOAT:
		node->type = TYPE_FLOAT;
		node->number = config_setting_get_float(setting);
		if (!isfinite(node->number))
			diag_error(b->diag, node->origin, "%s is too large (write a finite number)",
				   name ? name : "an element");
		return;
	case CONFIG_TYPE_BOOL:
		node->type = TYPE_BOOL;
		node->flag = config_setting_get_bool(setting);
		return;
	case CONFIG_TYPE_STRING:
		node->type = TYPE_TEXT;
		if (!config_setting_get_string(setting))
			arena_out_of_memory();
		node->text = arena_strdup(b->arena, config_setting_get_string(setting));
		return;
	default:
		node->type = config_setting_is_group(setting) ? TYPE_GROUP : TYPE_LIST;
		node->count = (size_t)config_setting_length(setting);
	}
}

static void build(struct building *b, const config_setting_t *setting, struct cfg_node *node)
{
	build_value(b, setting, node);
	note(b, node);
	node->children = ARENA_ARRAY(b->arena, node->count, struct cfg_node);
	for (size_t i = 0; i < node->count; i++) {
		build(b, config_setting_get_elem(setting, (unsigned)i), &node->children[i]);
		if (node->type == TYPE_GROUP && !node->children[i].name)
			arena_out_of_memory(); /* libconfig does not check its copies of names */
	}
}

/* Returns the given line of text from its first word on, at most 60 bytes, with control characters
 * replaced. */
static const char *line_text(struct arena *scratch, const char *text, unsigned line)
{
	while (line > 1 && text) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
		line--;
	}
	if (!text)
		return "";
	text += strspn(text, " \t\r");
	size_t length = strcspn(text, "\r\n");
	if (length > 60)
		for (length = 60; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--; /* do not cut a UTF-8 character */
	char *shown = arena_printf(scratch, "%.*s", (int)length, text);
	for (char *c = shown; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	return shown;
}

static void report(struct arena *scratch, struct diag *diag, const struct cfg_source_text *source,
		   const config_t *config)
{
	const char *what = config_error_text(config);
	int line = config_error_line(config);
	struct origin origin = cfg_source_origin(source, line > 0 ? (unsigned)line : 0);
	if (what && strstr(what, "mismatched")) {
		diag_error(diag, origin,
			   "the elements of an array [ ... ] must have the same type (write ( ... "
			   ") for different types)");
		return;
	}
	const char *near = line_text(scratch, source->text.items, line > 0 ? (unsigned)line : 1);
	diag_error(
		diag, origin,
		"syntax error at or before %s%s%s (write name = value; for settings, { ... } for "
		"groups, ( a, b ) for lists)",
		*near ? "`" : "the end of the file", near, *near ? "`" : "");
}

static const struct cfg_node *parse(struct arena *arena, struct arena *scratch, struct diag *diag,
				    const struct cfg_source_text *source)
{
	config_t config;
	config_init(&config);
	struct cfg_node *root = NULL;
	if (config_read_string(&config, source->text.items) == CONFIG_TRUE) {
		size_t errors_before = diag_count(diag);
		struct building building = {arena, diag, source};
		root = ARENA_NEW(arena, struct cfg_node);
		build(&building, config_root_setting(&config), root);
		root->origin = cfg_source_origin(source, 0);
		if (diag_count(diag) != errors_before)
			root = NULL;
	} else {
		report(scratch, diag, source, &config);
	}
	config_destroy(&config);
	return root;
}

/* Reads the tree from the text `given`, or from the file if given is NULL. */
static const struct cfg_node *read_tree(struct arena *arena, struct diag *diag, const char *path,
					const char *given)
{
	struct arena *scratch = arena_new();
	struct cfg_source_text source = {0};
	const struct cfg_node *root = NULL;
	if (cfg_source_expand(scratch, arena, diag, path, given, &source))
		root = parse(arena, scratch, diag, &source);
	arena_free(scratch);
	return root;
}

const struct cfg_node *cfg_read(struct arena *arena, struct diag *diag, const char *path)
{
	return read_tree(arena, diag, path, NULL);
}

const struct cfg_node *cfg_read_text(struct arena *arena, struct diag *diag, const char *path,
				     const char *text)
{
	FW_ASSERT(text);
	return read_tree(arena, diag, path, text);
}

/* ---- reading a node ---- */

const char *cfg_name(const struct cfg_node *node)
{
	return node ? node->name : NULL;
}

struct origin cfg_origin(const struct cfg_node *node)
{
	return node ? node->origin : (struct origin){NULL, 0};
}

bool cfg_is_group(const struct cfg_node *node)
{
	return node && node->type == TYPE_GROUP;
}

bool cfg_is_list(const struct cfg_node *node)
{
	return node && node->type == TYPE_LIST;
}

size_t cfg_count(const struct cfg_node *node)
{
	return node ? node->count : 0;
}

const struct cfg_node *cfg_at(const struct cfg_node *node, size_t index)
{
	FW_ASSERT(index < cfg_count(node));
	return &node->children[index];
}

const struct cfg_node *cfg_child(const struct cfg_node *node, const char *name)
{
	if (cfg_is_group(node))
		for (size_t i = 0; i < node->count; i++)
			if (strcmp(node->children[i].name, name) == 0)
				return &node->children[i];
	return NULL;
}

const char *cfg_text(const struct cfg_node *node)
{
	return node && node->type == TYPE_TEXT ? node->text : NULL;
}

bool cfg_number(const struct cfg_node *node, double *value)
{
	if (!node || (node->type != TYPE_INTEGER && node->type != TYPE_FLOAT))
		return false;
	*value = node->number;
	return true;
}

bool cfg_bool(const struct cfg_node *node, bool *value)
{
	if (!node || node->type != TYPE_BOOL)
		return false;
	*value = node->flag;
	return true;
}

/* Returns the shortest decimal number that reads back as the same double. */
static const char *shortest(struct arena *arena, double number)
{
	double read;
	for (int digits = 15; digits < 17; digits++) {
		const char *text = number_format(arena, digits, number);
		if (number_parse(text, &read) && read == number)
			return text;
	}
	return number_format(arena, 17, number);
}

const char *cfg_scalar_text(struct arena *arena, const struct cfg_node *node)
{
	if (!node)
		return NULL;
	switch (node->type) {
	case TYPE_TEXT:
		return node->text;
	case TYPE_BOOL:
		return node->flag ? "true" : "false";
	case TYPE_INTEGER:
		return arena_printf(arena, "%lld", node->integer);
	case TYPE_FLOAT:
		return shortest(arena, node->number);
	case TYPE_GROUP:
	case TYPE_LIST:
		break;
	}
	return NULL;
}

void cfg_only(struct diag *diag, const struct cfg_node *node, const char *const *known,
	      size_t count)
{
	for (size_t i = 0; cfg_is_group(node) && i < node->count; i++)
		cfg_known_name(diag, &node->children[i], "", known, count);
}
