/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a fitted profile. */
#include <stdio.h>
#include <string.h>

#include "calib/fit/fit.h"
#include "sim/base/arena.h"

static const char *value_text(struct arena *arena, const struct fitted_parameter *parameter,
			      double value)
{
	const char *unit = quantity_unit(parameter->row->quantity);
	return unit[0] ? arena_printf(arena, "\"%.6g %s\"", value, unit)
		       : arena_printf(arena, "\"%.6g\"", value);
}

static bool holds(const struct fit_stage_result *stage, const char *profile)
{
	for (size_t i = 0; i < stage->profile_count; i++)
		if (strcmp(stage->profiles[i], profile) == 0)
			return true;
	return false;
}

/* Returns true if a case with that profile sees the followed parameter, and not the profile's own
 * parameter of that name. */
static bool is_seen(const struct fit_result *result, const struct fitted_follow *follow,
		    const char *profile)
{
	bool own = false;
	for (size_t i = 0; i < result->stage_count; i++) {
		const struct fit_stage_result *stage = &result->stages[i];
		for (size_t k = stage->first; k < stage->first + stage->count; k++) {
			if (!holds(stage, profile) ||
			    strcmp(result->parameters[k].path, follow->path) != 0)
				continue;
			if (k == follow->earlier)
				return true;
			own = true;
		}
	}
	return !own;
}

/* Writes freedom, correlated and follows, as far as they exist. */
static void write_spread(FILE *out, const struct fit_result *result,
			 const struct fit_stage_result *stage, size_t index, const char *profile)
{
	const struct fitted_parameter *p = &result->parameters[stage->first + index];
	const char *lead = "\n\t    correlated = ( ";
	if (p->freedom_count > 0)
		fprintf(out, " freedom = %.6g;", p->freedom_count);
	for (size_t k = 0; k < index; k++, lead = ",\n\t\t")
		fprintf(out, "%s{ path = \"%s\"; by = %.6g; }", lead,
			result->parameters[stage->first + k].path, p->correlations[k]);
	fputs(index ? " );" : "", out);
	lead = "\n\t    follows = ( ";
	bool any = false;
	for (size_t k = 0; k < p->follow_count; k++) {
		const struct fitted_follow *follow = &p->follows[k];
		if (!is_seen(result, follow, profile))
			continue;
		fprintf(out, "%s{ path = \"%s\"; by = %.3g; }", lead, follow->path,
			follow->by_ratio);
		lead = ",\n\t\t";
		any = true;
	}
	fputs(any ? " );" : "", out);
}

static void write_stage(FILE *out, struct arena *arena, const struct fit_result *result,
			const struct fit_stage_result *stage, const char *profile, bool *first)
{
	fprintf(out, "%s\t# %zu parameters on %zu rows, rms error %.2f %%:", *first ? "" : ",\n",
		stage->count, stage->row_count, 100 * stage->rms_ratio);
	for (size_t i = 0; i < stage->row_count; i++)
		fprintf(out, "%s %s", i ? ";" : "", stage->row_labels[i]);
	fputs("\n", out);
	for (size_t i = 0; i < stage->count; i++) {
		const struct fitted_parameter *p = &result->parameters[stage->first + i];
		fprintf(out, "%s\t{ path = \"%s\";\n\t  fit = { value = %s; low = %s; high = %s;",
			i ? ",\n" : "", p->path, value_text(arena, p, p->value),
			value_text(arena, p, p->low), value_text(arena, p, p->high));
		write_spread(out, result, stage, i, profile);
		fprintf(out, "\n\t    origin = \"fitted\"; note = \"%s\"; }; }", p->note);
	}
	*first = false;
}

void fit_profile_write(FILE *out, struct arena *arena, const struct fit_result *result,
		       const char *profile, const char *fit_name)
{
	fprintf(out,
		"# Written by `farwire fit %s`; do not edit. Fitted only on rows of role fit.\n",
		fit_name);
	fputs("parameters = (\n", out);
	bool first = true;
	for (size_t i = 0; i < result->stage_count; i++)
		if (holds(&result->stages[i], profile))
			write_stage(out, arena, result, &result->stages[i], profile, &first);
	fputs("\n);\n", out);
}
