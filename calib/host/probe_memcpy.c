/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in memory, by one thread and by two at once. Each thread copies size_B between two blocks
 * of its own. A round has as many copies as take about 200 us. */
#include <stdlib.h>
#include <string.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/host/team.h"

#define THREADS_MOST 2
#define LEAST_B      1024.0
#define QUICK_MOST_B ((double)(64 << 20))
#define FULL_MOST_B  ((double)(256 << 20))
#define ROUND_B      ((size_t)2 << 20)

struct copying {
	size_t size_B, repeats;
	unsigned char *from[THREADS_MOST], *to[THREADS_MOST];
	struct team *team;
};

static void add(const struct host_bench *bench, struct plan *plan, struct plan_random *random)
{
	bool full = bench->full;
	struct host_sizes sizes = host_sizes(LEAST_B, full ? FULL_MOST_B : QUICK_MOST_B,
					     full ? 2 : 4, full ? 8 : 4, random);
	size_t most = bench->core_count < THREADS_MOST ? bench->core_count : THREADS_MOST;
	for (size_t threads = 1; threads <= most; threads++)
		for (size_t i = 0; i < sizes.count; i++) {
			plan_add(plan, &(struct plan_point){
					       .x = {{"size_B", sizes.size_B[i]},
						     {"threads", (double)threads}},
					       .held_out = sizes.held_out[i],
				       });
		}
}

/* A call that the compiler cannot analyse, so that it removes no copy. */
static int copy(void *context, size_t member)
{
	const struct copying *copying = context;
	void *(*volatile do_copy)(void *, const void *, size_t) = memcpy;
	for (size_t i = 0; i < copying->repeats; i++)
		do_copy(copying->to[member], copying->from[member], copying->size_B);
	return HOST_OK;
}

static int begin(struct host_bench *bench, const struct plan_point *point)
{
	struct copying *copying = bench->own;
	size_t threads = (size_t)plan_point_number(point, "threads", 1);
	copying->size_B = (size_t)plan_point_number(point, "size_B", LEAST_B);
	copying->repeats = copying->size_B < ROUND_B ? ROUND_B / copying->size_B : 1;
	for (size_t i = 0; i < threads; i++) {
		copying->from[i] = malloc(copying->size_B);
		copying->to[i] = malloc(copying->size_B);
		if (!copying->from[i] || !copying->to[i])
			return host_fail(bench, HOST_WAIVED,
					 "the machine has not enough free memory");
		memset(copying->from[i], 1, copying->size_B);
		memset(copying->to[i], 2, copying->size_B);
	}
	copying->team = team_new(threads, copy, copying);
	return copying->team ? HOST_OK : host_fail(bench, HOST_FAILED, "cannot start threads");
}

static int sample(struct host_bench *bench, const struct plan_point *point, double *value)
{
	struct copying *copying = bench->own;
	double span_s = 0;
	if (stop_asked())
		return HOST_STOPPED;
	int code = team_round(copying->team, &span_s);
	*value = span_s / (double)copying->repeats;
	return code;
}

static void end(struct host_bench *bench)
{
	struct copying *copying = bench->own;
	team_free(copying->team);
	for (size_t i = 0; i < THREADS_MOST; i++) {
		free(copying->from[i]);
		free(copying->to[i]);
	}
}

const struct host_probe host_probe_memcpy = {
	.test = "memcpy",
	.help = "copies in memory, by one thread and by two at once",
	.own_B = sizeof(struct copying),
	.add = add,
	.begin = begin,
	.sample = sample,
	.end = end,
};
