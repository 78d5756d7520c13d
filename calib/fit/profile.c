/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a fitted profile. */
#include "calib/fit/fit.h"

static const char *value_text(struct arena *arena, const struct fitted_parameter *parameter,
			      double value)
{
	const char *unit = quantity_unit(parameter->row->quantity);
	return unit[0] ? arena_printf(arena, "\"%.6g %s\"", value, unit)
		       : arena_printf(arena, "\"%.6g\"", value);
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
			if (!fit_stage_holds(stage, profile) ||
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

/* Returns the list of the systems on which the stage's parameters depend. A system whose rows
 * include more than one local GPU stands there twice (sim/scenario/evidence.h). */
static const char *systems_of(struct arena *arena, const struct fit_result *result,
			      const struct fit_stage_result *stage)
{
	const char *list = "[";
	size_t index = (size_t)(stage - result->stages);
	for (size_t k = 0; k <= index; k++) {
		const struct fit_stage_result *s = &result->stages[k];
		for (size_t i = 0; (k == index || stage->seen[k]) && i < s->row_count; i++) {
			const struct evidence *e = &s->evidence[i];
			const char *name = arena_printf(
				arena, "\"%s%s\"", e->words[EVIDENCE_SYSTEM],
				strcmp(e->words[EVIDENCE_KIND], "local") == 0 ? ""
									      : EVIDENCE_BEYOND);
			if (!strstr(list, name))
				list = arena_printf(arena, "%s%s%s", list, list[1] ? ", " : "",
						    name);
		}
	}
	return arena_printf(arena, "%s]", list);
}

/* A stage of single kernels has hundreds of rows. */
enum { LABELS_MOST = 3 };

static void write_stage(FILE *out, struct arena *arena, const struct fit_result *result,
			const struct fit_stage_result *stage, const char *profile, bool *first)
{
	fprintf(out, "%s\t# %zu parameters on %zu rows, rms error %.2f %%:", *first ? "" : ",\n",
		stage->count, stage->row_count, 100 * stage->rms_ratio);
	for (size_t i = 0; i < stage->row_count && i < LABELS_MOST; i++)
		fprintf(out, "%s %s", i ? ";" : "", stage->row_labels[i]);
	if (stage->row_count > LABELS_MOST)
		fprintf(out, "; and %zu more", stage->row_count - LABELS_MOST);
	fputs("\n", out);
	const char *systems = systems_of(arena, result, stage);
	for (size_t i = 0; i < stage->count; i++) {
		const struct fitted_parameter *p = &result->parameters[stage->first + i];
		fprintf(out,
			"%s\t{ path = \"%s\";\n\t  systems = %s;\n\t  fit = { value = %s; low = "
			"%s; high = %s;",
			i ? ",\n" : "", p->path, systems, value_text(arena, p, p->value),
			value_text(arena, p, p->low), value_text(arena, p, p->high));
		write_spread(out, result, stage, i, profile);
		fprintf(out, "\n\t    origin = \"fitted\"; note = \"%s\"; }; }", p->note);
	}
	*first = false;
}

void fit_evidence_add(struct arena *arena, struct evidences *evidences, struct evidence added)
{
	for (size_t i = 0; i < evidences->list.count; i++)
		if (evidence_is_equal(&evidences->list.items[i], &added))
			return;
	*VEC_PUSH(arena, &evidences->list) = added;
}

void fit_evidence(struct arena *arena, const struct fit_result *result, const char *profile,
		  struct evidences *evidences)
{
	for (size_t i = 0; i < result->stage_count; i++) {
		const struct fit_stage_result *stage = &result->stages[i];
		if (profile && !fit_stage_holds(stage, profile))
			continue;
		for (size_t k = 0; k < stage->row_count && stage->count > 0; k++)
			fit_evidence_add(arena, evidences, stage->evidence[k]);
	}
}

void fit_evidence_write(FILE *out, const struct evidences *evidences)
{
	fputs("# What the fit rows were measured on (docs/models/intervals.md).\nfitted_on = (",
	      out);
	for (size_t i = 0; i < evidences->list.count; i++) {
		fputs(i ? ",\n\t{" : "\n\t{", out);
		for (enum evidence_word word = 0; word < EVIDENCE_WORD_COUNT; word++)
			if (evidences->list.items[i].words[word][0])
				fprintf(out, " %s = \"%s\";", evidence_key(word),
					evidences->list.items[i].words[word]);
		fputs(" }", out);
	}
	fputs("\n);\n", out);
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
		if (fit_stage_holds(&result->stages[i], profile))
			write_stage(out, arena, result, &result->stages[i], profile, &first);
	fputs("\n);\n", out);
	struct evidences evidences = {0};
	fit_evidence(arena, result, profile, &evidences);
	fit_evidence_write(out, &evidences);
}
