/* SPDX-License-Identifier: Apache-2.0 */
/* Noise of the operating system, measured by selfish detour (Beckman et al.: The Influence of
 * Operating Systems on the Performance of Collective Operations at Extreme Scale, 2006; Netgauge).
 * A thread only reads the clock in a loop. A gap between two readings means that other work had its
 * core.
 *
 *   detour  length of each gap over 1 us, in up to period_s of reading
 *   lost    part of period_s that these gaps took
 */
#include <string.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/sample/clock.h"
#include "calib/sample/sampler.h"

#define DETOUR_S      1e-6
#define QUICK_S       1.0
#define FULL_S        10.0
#define WINDOW_S      0.01
#define WINDOWS_COUNT 60
#define DETOURS_MOST  20000
#define LOOKS_COUNT   100000 /* readings between two checks whether to stop */

struct noise {
	double left_s; /* remaining time of reading */
};

static void add(const struct host_bench *bench, struct plan *plan, struct plan_random *random)
{
	plan_add(plan, &(struct plan_point){.is = {{"what", "detour"}},
					    .x = {{"period_s", bench->full ? FULL_S : QUICK_S}},
					    .most = DETOURS_MOST});
	plan_add(plan, &(struct plan_point){.is = {{"what", "lost"}},
					    .x = {{"period_s", WINDOW_S}},
					    .unit = "1",
					    .most = WINDOWS_COUNT});
}

static int begin(struct host_bench *bench, const struct plan_point *point)
{
	struct noise *noise = bench->own;
	noise->left_s = plan_point_number(point, "period_s", QUICK_S);
	return HOST_OK;
}

/* Returns the next gap within left_s, or 0 if there is none. Subtracts the elapsed time from
 * left_s. */
static double next_detour_s(double *left_s)
{
	double start_s = clock_now_s(), last_s = start_s;
	for (size_t looks = 1;; looks++) {
		double now_s = clock_now_s(), gap_s = now_s - last_s;
		last_s = now_s;
		bool over = now_s - start_s > *left_s;
		if (gap_s <= DETOUR_S && !over && (looks % LOOKS_COUNT != 0 || !stop_asked()))
			continue;
		*left_s -= now_s - start_s;
		return gap_s > DETOUR_S ? gap_s : 0;
	}
}

static int sample(struct host_bench *bench, const struct plan_point *point, double *value)
{
	struct noise *noise = bench->own;
	if (strcmp(plan_point_word(point, "what"), "detour") == 0) {
		*value = noise->left_s > 0 ? next_detour_s(&noise->left_s) : 0;
		if (stop_asked())
			return HOST_STOPPED;
		return *value > 0 ? HOST_OK : SAMPLER_NO_MORE;
	}
	double left_s = WINDOW_S, lost_s = 0;
	while (left_s > 0 && !stop_asked())
		lost_s += next_detour_s(&left_s);
	*value = lost_s / (WINDOW_S - left_s);
	return stop_asked() ? HOST_STOPPED : HOST_OK;
}

const struct host_probe host_probe_noise = {
	.test = "noise",
	.help = "part of a core's time that the operating system takes, and the length of its "
		"interruptions",
	.own_B = sizeof(struct noise),
	.add = add,
	.begin = begin,
	.sample = sample,
};
