/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a measurement of TCP, and their samples. Functions return a run_code; the bench
 * has the reason for a failure. */
#pragma once

#include "calib/sample/run.h"
#include "tests/tcp_probe/peer.h"

struct tcp_bench {
	bool full;
	struct peer peer;
	double clock_cost_s; /* cost of reading the clock, subtracted from sends */
	void *own;           /* state of the present point */
	char why[SOCK_WHY];
};

void tcp_plan(const struct tcp_bench *bench, struct plan *plan, struct plan_random *random);
int tcp_begin(struct tcp_bench *bench, const struct plan_point *point);
int tcp_sample(struct tcp_bench *bench, const struct plan_point *point, double *value);
void tcp_end(struct tcp_bench *bench); /* called also after tcp_begin() failed */
