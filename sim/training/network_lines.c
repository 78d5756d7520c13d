/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a network file and their names, with repeated groups written out. */
#include "sim/training/network_reader.h"

enum { REPEAT_MAX = 1000 };

static bool is_repeat(const struct cfg_node *node)
{
	return cfg_is_group(node) && cfg_child(node, "repeat") != NULL;
}

/* Returns the number of repetitions of a group, or 0 if the group gives no usable number. */
static size_t repeat_of(const struct cfg_node *node)
{
	double number;
	if (!cfg_number(cfg_child(node, "repeat"), &number) || number < 1 || number > REPEAT_MAX)
		return 0;
	return number == (double)(size_t)number ? (size_t)number : 0;
}

size_t lines_count(const struct cfg_node *list)
{
	size_t count = 0;
	for (size_t i = 0; i < cfg_count(list); i++) {
		const struct cfg_node *node = cfg_at(list, i);
		const struct cfg_node *inner = cfg_child(node, "layers");
		if (!is_repeat(node))
			count++;
		else if (inner != NULL && cfg_is_list(inner))
			count += repeat_of(node) * lines_count(inner);
		if (count > LINES_MAX)
			return LINES_MAX + 1;
	}
	return count;
}

/* ---- names ---- */

/* Returns the line or group with that full name, or NO_LINE. */
static size_t find_name(const struct network_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->line_count; i++)
		if (reader->lines[i].name != NULL && strcmp(reader->lines[i].name, name) == 0)
			return i;
	for (size_t i = reader->scopes.count; i-- > 1;)
		if (strcmp(reader->scopes.items[i].name, name) == 0)
			return reader->scopes.items[i].last;
	return NO_LINE;
}

size_t lines_find(const struct network_reader *reader, size_t index, const char *text)
{
	for (size_t s = reader->lines[index].scope;; s = reader->scopes.items[s].parent) {
		const struct scope *scope = &reader->scopes.items[s];
		const char *outer = reader->scopes.items[scope->parent].prefix;
		size_t found;
		if (s > 0 && strcmp(scope->name + strlen(outer), text) == 0)
			return scope->entry;
		found = find_name(reader, arena_printf(reader->arena, "%s%s", scope->prefix, text));
		if (found != NO_LINE || s == 0)
			return found;
	}
}

/* Returns the full name of a line or group in the scope, which must be new; NULL after an error. */
static const char *new_name(struct network_reader *reader, const struct cfg_node *node,
			    size_t number, size_t scope)
{
	const struct scope *outer = &reader->scopes.items[scope];
	const char *name = cfg_is_group(node) ? cfg_text(cfg_child(node, "name")) : NULL;
	const char *full = name ? arena_printf(reader->arena, "%s%s", outer->prefix, name) : NULL;
	if (name == NULL || *name == '\0') {
		if (!outer->again)
			diag_error(reader->diag, cfg_origin(node),
				   "layer %zu has no name (write { name = \"conv1\"; op = ...; })",
				   number);
		return NULL;
	}
	if (find_name(reader, full) == NO_LINE)
		return full;
	if (!outer->again)
		diag_error(reader->diag, cfg_origin(node),
			   "layer '%s': another layer has this name (write a unique name%s)", full,
			   strcmp(full, "input") == 0 ? "; 'input' is reserved for the image" : "");
	return NULL;
}

/* ---- groups ---- */

static bool check_group(struct network_reader *reader, const struct cfg_node *node,
			const char *name)
{
	static const char *const known[] = {"name", "repeat", "layers"};
	const struct cfg_node *inner = cfg_child(node, "layers");
	size_t before = diag_count(reader->diag);
	cfg_only(reader->diag, node, known, sizeof known / sizeof known[0]);
	if (repeat_of(node) == 0)
		diag_error(reader->diag, cfg_origin(cfg_child(node, "repeat")),
			   "layers '%s': repeat must be a whole number from 1 to %d (write repeat "
			   "= 12)",
			   name, REPEAT_MAX);
	if (inner == NULL || !cfg_is_list(inner) || cfg_count(inner) == 0)
		diag_error(reader->diag, cfg_origin(inner ? inner : node),
			   "layers '%s': there is nothing to repeat (write layers = ( { name = "
			   "\"norm\"; op = \"layer_norm\"; }, ... ))",
			   name);
	return diag_count(reader->diag) == before;
}

static void collect(struct network_reader *reader, const struct cfg_node *list, size_t scope);

static void collect_group(struct network_reader *reader, const struct cfg_node *node,
			  const char *name, size_t scope)
{
	size_t times = repeat_of(node);
	if (!reader->scopes.items[scope].again && !check_group(reader, node, name))
		return;
	for (size_t i = 1; i <= times; i++) {
		size_t index = reader->scopes.count;
		*VEC_PUSH(reader->arena, &reader->scopes) = (struct scope){
			.name = name,
			.prefix = arena_printf(reader->arena, "%s%zu/", name, i),
			.parent = scope,
			.entry = reader->line_count - 1,
			.again = i > 1 || reader->scopes.items[scope].again,
		};
		collect(reader, cfg_child(node, "layers"), index);
		reader->scopes.items[index].last = reader->line_count - 1;
	}
}

static void collect(struct network_reader *reader, const struct cfg_node *list, size_t scope)
{
	for (size_t i = 0; i < cfg_count(list); i++) {
		const struct cfg_node *node = cfg_at(list, i);
		const char *name = new_name(reader, node, i + 1, scope);
		if (is_repeat(node)) {
			if (name != NULL)
				collect_group(reader, node, name, scope);
			continue;
		}
		reader->lines[reader->line_count++] = (struct layer_line){
			.name = name, .node = node, .origin = cfg_origin(node), .scope = scope};
	}
}

void lines_collect(struct network_reader *reader, const struct cfg_node *list)
{
	*VEC_PUSH(reader->arena, &reader->scopes) = (struct scope){.name = "", .prefix = ""};
	collect(reader, list, 0);
}
