/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/serve_command.h"

/* Appends an option of the group. In its text, {} is the value. {part} is another form of it: a
 * limit for each of the groups over which requests are spread, or the GPUs of a stage. */
static const char *append(struct arena *arena, const char *line, const struct cfg_node *group,
			  const char *key, const char *value, const char *part)
{
	static const char *const marks[] = {"{}", "{part}"};
	const char *text = cfg_text(cfg_child(group, key)), *values[] = {value, part};
	if (!text)
		return line;
	line = line[0] ? arena_printf(arena, "%s ", line) : line;
	while (text[0]) {
		size_t length = 1 + strcspn(text + 1, "{"), i = 0;
		while (i < 2 && strncmp(text, marks[i], strlen(marks[i])) != 0)
			i++;
		line = i < 2 ? arena_printf(arena, "%s%s", line, values[i])
			     : arena_printf(arena, "%s%.*s", line, (int)length, text);
		text += i < 2 ? strlen(marks[i]) : length;
	}
	return line;
}

static const char *append_number(struct arena *arena, const char *line,
				 const struct cfg_node *group, const char *key, double value,
				 double parts)
{
	return append(arena, line, group, key, arena_printf(arena, "%.15g", value),
		      arena_printf(arena, "%.15g", ceil(value / parts)));
}

/* Some engines have requests of their own only for single GPUs. */
static const char *data_key(const struct cfg_node *group)
{
	return cfg_child(group, "data_of_one") ? "data_of_one" : "data";
}

static const char *command_of(struct arena *arena, const struct scenario *scenario,
			      const struct serve_layout *layout, const struct cfg_node *group)
{
	static const char *const types[] = {[SERVE_FP8] = "fp8",
					    [SERVE_INT8] = "int8",
					    [SERVE_FP4] = "fp4",
					    [SERVE_INT4] = "int4",
					    [SERVE_MXFP4] = NULL}; /* the checkpoint has it */
	const struct serve_params *params = scenario->services[0].params;
	const double *sizes = layout->sizes;
	double data = isnan(sizes[LAYOUT_DATA]) ? 1 : sizes[LAYOUT_DATA];
	double stage = data * sizes[LAYOUT_TENSOR];
	const char *line = append(arena, "", group, "run", scenario->jobs[0].model, "");
	const char *tensor = cfg_text(cfg_child(group, "tensor"));
	if ((tensor && strstr(tensor, "{part}") ? stage : sizes[LAYOUT_TENSOR]) > 1)
		line = append_number(arena, line, group, "tensor", sizes[LAYOUT_TENSOR], 1 / data);
	if (sizes[LAYOUT_PIPELINE] > 1)
		line = append_number(arena, line, group, "pipeline", sizes[LAYOUT_PIPELINE],
				     sizes[LAYOUT_PIPELINE] / (sizes[LAYOUT_PIPELINE] - 1));
	if (data > 1)
		line = append_number(arena, line, group,
				     sizes[LAYOUT_TENSOR] > 1 ? "data" : data_key(group), data, 1);
	if (sizes[LAYOUT_EXPERT] > 1)
		line = append_number(arena, line, group, "expert", sizes[LAYOUT_EXPERT], 1);
	line = append_number(arena, line, group, "batch", sizes[LAYOUT_BATCH], data);
	line = append_number(arena, line, group, "tokens", sizes[LAYOUT_TOKENS], data);
	line = append_number(arena, line, group, "memory", params->memory_ratio, 1);
	if (types[params->weights])
		line = append(arena, line, group, "weights", types[params->weights], "");
	if (types[params->kv])
		line = append(arena, line, group, "kv", types[params->kv], "");
	if (!params->prefix_cache)
		line = append(arena, line, group, "no_prefix_cache", "", "");
	return line;
}

const char *serve_command(struct arena *arena, const struct scenario *scenario,
			  const struct serve_layout *layout)
{
	const struct cfg_node *group = cfg_child(scenario->engine, "command");
	double prefill = layout->sizes[LAYOUT_PREFILL], copies = layout->sizes[LAYOUT_COPIES];
	bool groups = layout->sizes[LAYOUT_DATA] > 1 && layout->sizes[LAYOUT_TENSOR] > 1;
	if (!cfg_text(cfg_child(group, "run")) || (groups && !cfg_child(group, "data")))
		return NULL;
	const char *line = command_of(arena, scenario, layout, group);
	if (!(prefill > 0))
		return arena_printf(arena, "%g x %s", copies, line);
	return arena_printf(arena, "%g x %s\n%g x %s", prefill,
			    append(arena, line, group, "prefill", "", ""), copies - prefill,
			    append(arena, line, group, "decode", "", ""));
}
