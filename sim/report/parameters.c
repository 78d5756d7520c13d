/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of parameters with value, interval, status and origin. */
#include <string.h>

#include "sim/report/part.h"

const char *shown_path(const struct report *report, const char *path)
{
	const char *root = report->request->data_root;
	size_t length = strlen(root);
	if (strncmp(path, root, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

static const char *origin_text(const struct report *report, const struct cfg_param *param)
{
	if (!param->origin.file)
		return "built in";
	const char *path = shown_path(report, param->origin.file);
	return param->origin.line ? arena_printf(report->arena, "%s:%d", path, param->origin.line)
				  : path;
}

static void add_parameters(struct report *report, const char *summary, const char *caption,
			   const struct cfg_param *const *params, size_t count)
{
	static const char columns[] = "parameter|key|value>|90 % interval>|status|origin|note";
	struct arena *arena = report->arena;
	struct table *table = table_new(arena);
	table_columns(table, columns);
	report_show(report, summary, table, caption);
	for (size_t i = 0; i < count; i++) {
		const struct cfg_param *p = params[i];
		const char *interval =
			cfg_param_varies(p)
				? arena_printf(arena, "%s to %s", cfg_param_text(arena, p, p->low),
					       cfg_param_text(arena, p, p->high))
				: "";
		const char *status = p->prior ? arena_printf(arena, "%s; prior: %s", p->status,
							     prior_name(p->prior))
					      : p->status;
		table_cells(table, CELLS(cfg_param_words(arena, p->path, p->row), p->path,
					 cfg_param_text(arena, p, p->value), interval, status,
					 origin_text(report, p), p->note));
	}
}

/* ---- the parameters of a case ---- */

/* A report always shows stack.real_input, because input that crosses the network has a large
 * effect. */
static bool is_chosen(const struct cfg_param *param)
{
	bool empty = param->text && !param->text[0];
	return (strncmp(param->path, "case.", 5) == 0 && !empty) ||
	       param->source == CFG_SOURCE_SET || strcmp(param->path, "stack.real_input") == 0;
}

static bool is_any(const struct cfg_param *param)
{
	return param != NULL;
}

static const struct cfg_param **select(struct arena *arena, const struct cfg_resolution *resolution,
				       bool (*wanted)(const struct cfg_param *param), size_t *count)
{
	size_t all = cfg_param_count(resolution);
	const struct cfg_param **list = ARENA_ARRAY(arena, all + 1, const struct cfg_param *);
	*count = 0;
	for (size_t i = 0; i < all; i++)
		if (wanted(cfg_param_at(resolution, i)))
			list[(*count)++] = cfg_param_at(resolution, i);
	return list;
}

void report_resolution(struct report *report, const struct cfg_resolution *resolution)
{
	struct arena *arena = report->arena;
	size_t count;
	const struct cfg_param **list = select(arena, resolution, is_chosen, &count);
	report_add(report, BLOCK_HEADING, "Parameters behind the prediction");
	add_parameters(report, NULL, "The settings of this case.", list, count);
	list = select(arena, resolution, is_any, &count);
	add_parameters(report, arena_printf(arena, "All %zu parameters", count),
		       "Every parameter of the case.", list, count);
}
