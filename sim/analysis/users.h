/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the number of GPUs that users need, who come and go, so that a quantile of their waits
 * meets a target: in each hour of a day, for a pool of GPUs or a model server.
 *
 * A pool: each user works with a GPU for a time, then pauses. A simulation says how fast a program
 * is beside m - 1 others on its GPU, for m = 1 to 8. Steps take milliseconds and sessions of work
 * minutes, so the number of users at work changes slowly, and the two time scales can be solved
 * apart (nearly decomposable systems: Courtois, Decomposability, 1977). The number of users at work
 * is then a birth-death process. A user begins to work with the rate 1 / pause, and the speeds of
 * all that work decide how soon one of them ends. With the speeds that this model has, each user
 * on a GPU the same, the probabilities depend only on the means of work and pause and not on their
 * distributions (processor sharing: Baskett, Chandy, Muntz and Palacios, JACM 22 (1975) 248).
 *
 * A model server: users send requests as a Poisson process, which the simulation of the server
 * receives directly. Its quantiles are those of requests. */
#pragma once

#include "sim/analysis/analysis.h"
#include "sim/analysis/reported.h"

/* Speeds of programs that share a GPU. */
enum { USERS_SHARING = 8 };
struct users_curve {
	double total[USERS_SHARING + 1]; /* speeds of m programs together; one alone has 1 */
	size_t known;                    /* m up to which they were simulated */
	const char *limit;               /* why no further program fits on the GPU; NULL: all fit */
};
struct users_pool {
	size_t users, gpus;
	double active_ratio; /* part of the time in which an undisturbed user works, below 1 */
	double quantile;     /* of wait, weighted with working time */
};
struct users_waits {
	double working; /* mean number of users at work */
	double mean;    /* time that work takes, over the time without others, minus 1 */
	double wait;    /* the quantile; infinite: for a GPU with a free place */
};
/* Users are spread evenly over the GPUs at each time. exported: tests solve it by hand */
struct users_waits users_wait(struct arena *arena, const struct users_curve *curve,
			      const struct users_pool *pool);

struct users_request {
	struct analysis_input input;
	struct setting users;  /* "40", "5,5,8", or "0-7:5,8-17:40" */
	struct setting active; /* "25 %"; of a model server, requests/s of each user */
	struct setting target; /* "wait_p95<=10 %"; of a model server any answer */
	struct setting gpus;   /* numbers of GPUs, as for sweep_axis_read; NULL: the least */
};
struct users_row {
	int from_hour, to_hour; /* to_hour < 0: at any time */
	double users, gpus;
	struct users_waits waits; /* pools */
	struct estimate answer;   /* of the target */
	const char *failed;       /* why the row has no answer; NULL: it has one */
	bool met;
};
struct users {
	const char *name;
	bool served, given_gpus;
	double active, quantile;
	const struct reported *reported; /* of model servers */
	const char *target;              /* "wait p95 <= 10 %" */
	double limit;
	bool at_least;
	const struct users_row *rows; /* by hours, then by GPUs */
	size_t row_count;
	const char *limit_text; /* why no more than `places` programs fit on a GPU; NULL: more do */
	size_t places;
};
/* Returns NULL after errors in diag, or after a broken invariant, which *broken describes. */
const struct users *users_run(struct arena *arena, struct diag *diag,
			      const struct users_request *request, const char **broken);
