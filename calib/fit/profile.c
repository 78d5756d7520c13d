/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a fitted profile. */
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

/* freedom, correlated, follows: what there is of them. */
static void write_spread(FILE *out, const struct fit_result *result,
			 const struct fit_stage_result *stage, size_t index)
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
	for (size_t k = 0; k < p->follow_count; k++, lead = ",\n\t\t")
		fprintf(out, "%s{ path = \"%s\"; by = %.3g; }", lead, p->follows[k].path,
			p->follows[k].ratio);
	fputs(p->follow_count ? " );" : "", out);
}

static void write_stage(FILE *out, struct arena *arena, const struct fit_result *result,
			const struct fit_stage_result *stage, bool *first)
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
		write_spread(out, result, stage, i);
		fprintf(out, "\n\t    origin = \"fitted\"; note = \"%s\"; }; }", p->note);
	}
	*first = false;
}

void fit_profile_write(FILE *out, struct arena *arena, const struct fit_result *result,
		       const char *profile, const char *fit_name)
{
	fprintf(out,
		"# Written by `farwire fit %s`; not for editing. Fitted on rows of role fit "
		"alone.\n",
		fit_name);
	fputs("parameters = (\n", out);
	bool first = true;
	for (size_t i = 0; i < result->stage_count; i++)
		for (size_t k = 0; k < result->stages[i].profile_count; k++)
			if (strcmp(result->stages[i].profiles[k], profile) == 0)
				write_stage(out, arena, result, &result->stages[i], &first);
	fputs("\n);\n", out);
}
