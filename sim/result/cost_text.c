/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the cost and the energy of a prediction. */
#include "sim/result/write.h"

/* Formats an energy in kWh or MWh if it is large. */
static const char *energy_text(struct arena *arena, struct estimate energy_J)
{
	const double KWH_J = 3.6e6;
	bool mega = energy_J.value >= 1e4 * KWH_J;
	return energy_J.value < KWH_J / 10
		       ? arena_printf(arena, "%s J", rate_text(arena, energy_J))
		       : arena_printf(arena, "%s %s",
				      rate_text(arena, estimate_scaled(energy_J,
								       (mega ? 1e-3 : 1) / KWH_J)),
				      mega ? "MWh" : "kWh");
}

/* Returns the words for that many of the things that a prediction counts, for example "10^6
 * images", and sets *factor to their number. */
static const char *samples_text(struct arena *arena, const struct prediction *p, double *factor)
{
	enum prediction_kind kind = prediction_kind(p);
	const char *unit = throughput_unit(&p, 1);
	*factor = 1e6;
	if (kind == PREDICTION_COLLECTIVE)
		return "10^6 collectives";
	return arena_printf(arena, "10^6 %.*s", (int)strcspn(unit, "/"), unit);
}

void costs_print(FILE *out, struct arena *scratch, const struct prediction *p)
{
	double factor;
	const char *samples = samples_text(scratch, p, &factor);
	if (!p->currency || !p->ok)
		return;
	if (p->cost_unknown)
		fprintf(out, "cost: unknown, because %s\n", p->cost_unknown);
	else
		fprintf(out, "cost: %s %s an hour, %s a year; %s for %s",
			rate_text(scratch, p->cost_hour), p->currency,
			rate_text(scratch, p->cost_year),
			rate_text(scratch, estimate_scaled(p->cost_sample, factor)), samples);
	if (isfinite(p->cost_token.value))
		fprintf(out, "; %s for 10^6 tokens",
			rate_text(scratch, estimate_scaled(p->cost_token, factor)));
	if (isfinite(p->cost_run.value))
		fprintf(out, "; %s for the training", rate_text(scratch, p->cost_run));
	fprintf(out, "%senergy: %s, %s a year; %s for %s", p->cost_unknown ? "" : "\n",
		estimate_text_like(scratch, QUANTITY_POWER, p->power_W, NAN),
		energy_text(scratch, p->energy_year_J),
		energy_text(scratch, estimate_scaled(p->energy_sample_J, factor)), samples);
	if (isfinite(p->energy_run_J.value))
		fprintf(out, "; %s for the training", energy_text(scratch, p->energy_run_J));
	fputc('\n', out);
}
