/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/reproduce.h"
#include "sim/result/result.h"

/* Quotes text for a shell. A quote inside it is written as '\''. */
static const char *quoted(struct arena *arena, const char *text)
{
	const char *quote = strchr(text, '\'');
	if (!quote)
		return arena_printf(arena, "'%s'", text);
	return arena_printf(arena, "'%.*s'\\''%s", (int)(quote - text), text,
			    quoted(arena, quote + 1) + 1);
}

/* Returns for example "0.00025 s", with all digits that the value needs. */
static const char *exact(struct arena *arena, const struct scenario *scenario,
			 const struct draw_value *draw)
{
	const struct cfg_param *param = cfg_param_find(scenario->resolution, draw->path);
	const char *unit = param ? quantity_unit(param->row->quantity) : "";
	return arena_printf(arena, "%s%s%s", number_format(arena, 17, draw->value),
			    unit[0] ? " " : "", unit);
}

const char *reproducible(struct arena *arena, const struct case_request *request,
			 const struct scenario *scenario, uint64_t seed, const char *what)
{
	const char *command = "farwire run";
	if (request->path)
		command = arena_printf(arena, "%s %s", command, quoted(arena, request->path));
	command =
		arena_printf(arena, "%s --seed %llu --draws 0", command, (unsigned long long)seed);
	for (size_t i = 0; i < request->setting_count; i++)
		command = arena_printf(arena, "%s --set %s", command,
				       quoted(arena, request->settings[i].text));
	for (size_t i = 0; i < request->draw_count; i++)
		command = arena_printf(arena, "%s --set '%s=%s'", command, request->draws[i].path,
				       exact(arena, scenario, &request->draws[i]));
	return arena_printf(arena, "%s (farwire %s: %s)", what, FARWIRE_VERSION, command);
}
