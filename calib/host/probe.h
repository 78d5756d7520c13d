/* SPDX-License-Identifier: Apache-2.0 */
/* A host probe measures one thing of a machine without its GPU: the network's
 * software, memory, storage, the operating system's noise; the table of all is
 * probes.def. It adds points to the plan and takes one sample of a point at a
 * time; how often is the sampler's business (calib/sample), in which order the
 * plan's.
 *
 * The bench is what probes work on: their server, the folder for files, and what
 * a probe keeps of the point under way. Functions give a host_code; after one that
 * is not HOST_OK bench->why tells the reason.
 */
#ifndef FARWIRE_CALIB_HOST_PROBE_H
#define FARWIRE_CALIB_HOST_PROBE_H

#include "calib/host/peer.h"
#include "calib/sample/plan.h"

enum host_code {
	HOST_OK = 0,
	HOST_WAIVED, /* cannot be measured here */
	HOST_FAILED,
	HOST_STOPPED, /* by the user */
};

/* The file that is read; see probe_storage.c. */
struct host_file {
	int fd;      /* -1: there is none, and why tells the reason */
	bool direct; /* past the kernel's cache */
	double size_B;
	char why[SOCK_WHY];
};

struct host_bench {
	bool full;
	struct peer peer;    /* control < 0: none, and the network probes are not asked for */
	const char *scratch; /* folder for the file that is read, or the file itself */
	struct host_file file;
	double clock_cost_s; /* of looking at the clock, taken off what is timed */
	size_t core_count;
	void *own; /* of the probe under way */
	char why[SOCK_WHY];
};

struct host_probe {
	const char *test, *help;
	bool network;
	void (*add)(const struct host_probe *probe, const struct host_bench *bench,
		    struct plan *plan, struct plan_random *random);
	int (*begin)(struct host_bench *bench, const struct plan_point *point);
	int (*sample)(struct host_bench *bench, const struct plan_point *point, double *value);
	void (*end)(struct host_bench *bench); /* also after a failed begin */
};
extern const struct host_probe *const host_probes[]; /* ends with NULL */

/* ---- for the probes ---- */

struct plan_point host_point(const struct host_probe *probe);
/* Sizes from least to most, each `step` times the one before, and `random_count`
 * in between, drawn evenly over the octaves, which are held out from fits. */
struct host_sizes {
	double size_B[64];
	bool held_out[64];
	size_t count;
};
struct host_sizes host_sizes(double least_B, double most_B, double step, size_t random_count,
			     struct plan_random *random);
/* The bench's code for a socket's, with the reason. */
int host_code_of(struct host_bench *bench, enum sock_code code);
int host_fail(struct host_bench *bench, int code, const char *why);
void host_spin_until(double time_s);
/* Opens or makes bench->file; HOST_STOPPED: the user stops it. */
int host_file_open(struct host_bench *bench);
/* What a look at the clock costs. */
double host_clock_cost_s(void);

#endif
