/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters with value, interval, status and where they come from. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/verb/report.h"

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
