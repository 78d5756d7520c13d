/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the long run of a plan. */
#include "sim/result/write.h"

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
