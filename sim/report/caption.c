/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/caption.h"
#include "sim/base/hash.h"
#include "sim/result/result.h"
#include "sim/scenario/scenario.h"

const char *caption_text(struct arena *arena, const struct caption *caption)
{
	const char *draws = caption->draws ? arena_printf(arena, "90 %% intervals from %zu draws",
							  caption->draws)
					   : "no intervals";
	return arena_printf(arena, "farwire %s%s%s, seed %llu, %s%s%s%s", FARWIRE_VERSION,
			    caption->subject ? ", " : "", caption->subject ? caption->subject : "",
			    (unsigned long long)caption->seed, draws, caption->settings,
			    caption->configuration ? ", " : "",
			    caption->configuration ? caption->configuration : "");
}

const char *caption_hash(struct arena *arena, const struct cfg_resolution *const *cases,
			 size_t count)
{
	uint64_t hash = HASH_START;
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < cfg_param_count(cases[k]); i++) {
			const struct cfg_param *param = cfg_param_at(cases[k], i);
			const double numbers[] = {param->value, param->low, param->high};
			hash = hash_text(hash, param->path);
			if (param->row->kind == PARAM_KIND_TEXT)
				hash = hash_text(hash, param->text ? param->text : "");
			else
				hash = hash_bytes(hash, numbers, sizeof numbers);
		}
	return arena_printf(arena, "%08x", (unsigned)(hash ^ hash >> 32));
}

/* Returns the name of the profile that set the parameter, or NULL. The profile of the model error
 * applies to every case, so it does not count. */
static const char *profile_of(struct arena *arena, const struct cfg_param *param)
{
	static const char folder[] = "calib/profiles/";
	const char *file = param->origin.file ? strstr(param->origin.file, folder) : NULL;
	const char *name = file ? file + sizeof folder - 1 : "";
	const char *end = strstr(name, ".cfg");
	size_t length = end ? (size_t)(end - name) : 0;
	return length && strncmp(name, "model-error.cfg", length + 1) != 0
		       ? arena_printf(arena, "%.*s", (int)length, name)
		       : NULL;
}

const char *caption_configuration(struct arena *arena, const struct cfg_resolution *const *cases,
				  size_t count)
{
	const char *names = "";
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < cfg_param_count(cases[k]); i++) {
			const char *name = profile_of(arena, cfg_param_at(cases[k], i));
			const char *listed = name ? arena_printf(arena, " %s,", name) : NULL;
			if (listed && !strstr(names, listed))
				names = arena_printf(arena, "%s%s", names, listed);
		}
	return arena_printf(arena, "%s%s%sconfiguration %s", *names ? "profiles" : "", names,
			    *names ? " " : "", caption_hash(arena, cases, count));
}
