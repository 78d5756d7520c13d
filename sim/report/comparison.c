/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of a page about several cases. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/report/answers.h"
#include "sim/report/part.h"

void report_comparison(struct report *report)
{
	const struct prediction *const *predictions = report->predictions.items;
	size_t count = report->predictions.count;
	struct arena *arena = report->arena;
	const struct prediction *best = NULL;
	const char *others = "", *failed = "";
	bool alike = true;
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		if (p->ok && (!best || throughput_quotient(p, best).value > 1))
			best = p;
		if (!p->ok)
			failed =
				arena_printf(arena, "%s %s fails: %s.", failed, p->name, p->reason);
	}
	if (!best) {
		report_answer(report, true, "None of the %zu cases works.%s", count, failed);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct estimate times = throughput_quotient(best, predictions[i]);
		alike &= !predictions[i]->ok || isfinite(times.value);
		if (predictions[i] == best || !isfinite(times.value))
			continue;
		others = arena_printf(arena, "%s%s%s times the throughput of %s%s", others,
				      *others ? ", " : ": ", figures(arena, times.value, 3),
				      predictions[i]->name, interval_words(arena, times, 1, 3));
	}
	if (!alike) {
		report_answer(report, *failed,
			      "The cases count samples, requests and bytes, so that none is the "
			      "fastest.%s",
			      failed);
		return;
	}
	report_answer(report, *failed, "%s is the fastest of %zu cases, with %s%s.%s", best->name,
		      count, throughput_words(arena, best, 3), others, failed);
}
