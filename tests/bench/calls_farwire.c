/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calls_farwire REPEATS SETTING...: reads the case of these settings once and runs its world
 * REPEATS times, without its baseline. Prints the median seconds of a run, its forwarded calls (and
 * polls), the seconds of its steady step, and peak memory. The last three numbers are its steps,
 * its events, and the seconds of reading. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/scenario/scenario.h"
#include "tests/bench/clock.h"

static uint64_t forwarded_count(const struct job_run *run)
{
	uint64_t count = 0;
	for (int class = 0; class < CLASS_COUNT; class ++)
		if (class != CLASS_LOCAL)
			count += run->remote.calls_count[class];
	return count;
}

static const struct scenario *read_case(struct arena *arena, char **texts, size_t count)
{
	struct setting *settings = ARENA_ARRAY(arena, count, struct setting);
	for (size_t i = 0; i < count; i++)
		settings[i].text = texts[i];
	struct diag *diag = diag_new(arena);
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stderr);
	return scenario;
}

int main(int argc, char **argv)
{
	size_t repeats = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	if (repeats == 0)
		return 2;
	num_init();
	arena_keep_freed();
	struct arena *arena = arena_new();
	double before_s = clock_s();
	const struct scenario *scenario = read_case(arena, argv + 2, (size_t)argc - 2);
	double read_s = clock_s() - before_s;
	if (!scenario)
		return 1;
	double *seconds = ARENA_ARRAY(arena, repeats, double);
	for (size_t i = 0; i < repeats; i++) {
		struct arena *world = arena_new();
		before_s = clock_s();
		struct world_outcome outcome = world_run(world, scenario, 1, NULL);
		seconds[i] = clock_s() - before_s;
		const struct job_run *run = &outcome.jobs[0];
		if (outcome.broken || run->failed) {
			fprintf(stderr, "%s\n", outcome.broken ? outcome.broken : run->reason);
			return 1;
		}
		if (i + 1 == repeats)
			printf("%.6g %" PRIu64 " %.12g %.0f %zu %" PRIu64 " %.4g\n",
			       num_quantile(seconds, repeats, 0.5), forwarded_count(run),
			       job_run_step_s(run), clock_peak_B(), run->step_count,
			       outcome.events_count, read_s);
		arena_free(world);
	}
	arena_free(arena);
	return 0;
}
