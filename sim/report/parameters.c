/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters with value, interval, status and where they come from. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/report/report.h"

const char *shown_path(const struct command *command, const char *path)
{
	size_t length = strlen(command->data_root);
	if (strncmp(path, command->data_root, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

static const char *value_text(struct arena *arena, const struct cfg_param *param, double value)
{
	switch (param->row->kind) {
	case PARAM_KIND_NUMBER:
		return quantity_format(arena, param->row->quantity, value);
	case PARAM_KIND_BOOL:
		return value != 0 ? "true" : "false";
	case PARAM_KIND_TEXT:
	case PARAM_KIND_CHOICE:
		break;
	}
	return param->text ? param->text : "";
}

static const char *origin_text(const struct command *command, const struct cfg_param *param)
{
	if (!param->origin.file)
		return "built in";
	const char *path = shown_path(command, param->origin.file);
	return param->origin.line ? arena_printf(command->arena, "%s:%d", path, param->origin.line)
				  : path;
}

struct report_table *report_parameters(struct report *report, const char *caption)
{
	struct report_table *table = report_table(report, "%s", caption);
	report_column(table, "parameter", COLUMN_TEXT);
	report_column(table, "value", COLUMN_NUMBER);
	report_column(table, "90 % interval", COLUMN_NUMBER);
	report_column(table, "status", COLUMN_TEXT);
	report_column(table, "where", COLUMN_TEXT);
	report_column(table, "who says so", COLUMN_TEXT);
	return table;
}

void report_parameter_add(struct report_table *table, const struct command *command,
			  const struct cfg_param *param)
{
	struct arena *arena = table->arena;
	bool interval = cfg_param_varies(param);
	report_row(table, TONE_PLAIN);
	report_cell(table, "%s", param->path);
	report_cell(table, "%s", value_text(arena, param, param->value));
	report_cell(table, "%s",
		    interval ? arena_printf(arena, "%s to %s", value_text(arena, param, param->low),
					    value_text(arena, param, param->high))
			     : "");
	report_cell(table, "%s%s%s", param->status, param->prior ? "; prior: " : "",
		    param->prior ? prior_name(param->prior) : "");
	report_cell(table, "%s", origin_text(command, param));
	report_cell(table, "%s", param->note);
}

/* ---- those of a case ---- */

static bool is_uncertain(const struct cfg_param *param)
{
	return cfg_param_varies(param) && param->prior == PRIOR_NONE;
}

/* Whether the input crosses the wire decides more than most, chosen or not. */
static bool is_chosen(const struct cfg_param *param)
{
	bool empty = param->text && !param->text[0];
	return (strncmp(param->path, "case.", 5) == 0 && !empty) ||
	       param->source == CFG_SOURCE_SET || strcmp(param->path, "stack.real_input") == 0;
}

void report_rests_on(struct report *report, const struct command *command,
		     const struct cfg_resolution *resolution)
{
	size_t count = cfg_param_count(resolution), uncertain = 0;
	for (size_t i = 0; i < count; i++)
		uncertain += is_uncertain(cfg_param_at(resolution, i));
	report_add(report, BLOCK_HEADING, "What the answer rests on");
	struct report_table *table = report_parameters(report, "What this case chooses.");
	for (size_t i = 0; i < count; i++)
		if (is_chosen(cfg_param_at(resolution, i)))
			report_parameter_add(table, command, cfg_param_at(resolution, i));
	if (uncertain)
		table = report_parameters(
			report,
			"Parameters with an interval of their own. The draws vary them, and "
			"those below with a prior.");
	for (size_t i = 0; i < count; i++)
		if (is_uncertain(cfg_param_at(resolution, i)))
			report_parameter_add(table, command, cfg_param_at(resolution, i));
	report_add(report, BLOCK_FOLD, "All %zu parameters", count);
	table = report_parameters(report, "Every parameter of the case.");
	for (size_t i = 0; i < count; i++)
		report_parameter_add(table, command, cfg_param_at(resolution, i));
	report_add(report, BLOCK_UNFOLD, "%s", "");
}
