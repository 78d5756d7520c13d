/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the cost and the energy of a prediction, and the long run of a plan. */
#include "sim/result/write.h"

static const double MILLION = 1e6;

/* Formats an energy in J, kWh or MWh. */
static const char *energy_text(struct arena *arena, struct estimate energy_J)
{
	const double KWH_J = 3.6e6, MWH_J = 3.6e9;
	double unit_J = energy_J.value >= 10 * MWH_J    ? MWH_J
			: energy_J.value >= 0.1 * KWH_J ? KWH_J
							: 1;
	return arena_printf(arena, "%s %s", rate_text(arena, estimate_scaled(energy_J, 1 / unit_J)),
			    unit_J == MWH_J   ? "MWh"
			    : unit_J == KWH_J ? "kWh"
					      : "J");
}

/* Returns the words for a million of the things that a prediction counts: "10^6 images". */
static const char *samples_text(struct arena *arena, const struct prediction *p)
{
	const char *unit = throughput_unit(&p, 1);
	return prediction_kind(p) == PREDICTION_COLLECTIVE
		       ? "10^6 collectives"
		       : arena_printf(arena, "10^6 %.*s", (int)strcspn(unit, "/"), unit);
}

void costs_print(FILE *out, struct arena *scratch, const struct prediction *p)
{
	const char *samples = samples_text(scratch, p);
	if (!p->currency || !p->ok)
		return;
	if (p->cost_unknown)
		fprintf(out, "cost: unknown, because %s\n", p->cost_unknown);
	else
		fprintf(out, "cost: %s %s an hour, %s a year; %s for %s",
			rate_text(scratch, p->cost_hour), p->currency,
			rate_text(scratch, p->cost_year),
			rate_text(scratch, estimate_scaled(p->cost_sample, MILLION)), samples);
	if (isfinite(p->cost_token.value))
		fprintf(out, "; %s for 10^6 tokens",
			rate_text(scratch, estimate_scaled(p->cost_token, MILLION)));
	if (isfinite(p->cost_run.value))
		fprintf(out, "; %s for the training", rate_text(scratch, p->cost_run));
	if (!p->cost_unknown)
		fputc('\n', out);
	if (isnan(p->power_W.value)) {
		fputs("energy: unknown, because nothing states the power limit of a GPU (write for "
		      "example --set 'gpu.*.power=300 W')\n",
		      out);
		return;
	}
	fprintf(out, "energy: %s, %s a year; %s for %s",
		estimate_text_like(scratch, QUANTITY_POWER, p->power_W, NAN),
		energy_text(scratch, p->energy_year_J),
		energy_text(scratch, estimate_scaled(p->energy_sample_J, MILLION)), samples);
	if (isfinite(p->energy_run_J.value))
		fprintf(out, "; %s for the training", energy_text(scratch, p->energy_run_J));
	fputc('\n', out);
}

/* ---- the long run of a plan ---- */

static void times(FILE *out, struct arena *scratch, const struct breakdown_part *parts,
		  size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s %s %s", i ? "," : "", parts[i].name,
			duration_text(scratch, estimate_exact(parts[i].seconds)));
	fputc('\n', out);
}

void prediction_long_run(FILE *out, struct arena *scratch, const struct prediction *p)
{
	fprintf(out, "goodput: %s; GPU-hours: %s (spare machines: %g)\nfailures: %s, which take:",
		fixed_text(scratch, p->goodput_ratio, 1, 100, " %"),
		fixed_text(scratch, p->gpu_hours, 0, 1, ""), p->spares_count,
		fixed_text(scratch, p->failures_count, 1, 1, ""));
	times(out, scratch, p->causes, p->cause_count);
	fputs("checkpoints:", out);
	times(out, scratch, p->checkpoint, p->checkpoint_count);
}
