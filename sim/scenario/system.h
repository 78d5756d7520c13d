/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated system of a topology: engine, fabric, hosts, guests, GPUs, and the counters that
 * are read at the end of a run. world.c adds the jobs. */
#ifndef FARWIRE_SCENARIO_SYSTEM_H
#define FARWIRE_SCENARIO_SYSTEM_H

#include "sim/scenario/scenario.h"

struct system {
	struct arena *arena;
	const struct topology *topology;
	struct engine *engine;
	struct fabric *fabric;
	struct host **hosts;
	struct guest **guests;
	struct gpu **gpus;
	bool lossy;        /* some link loses packets */
	size_t link_count; /* directions */
	/* By resource that machines bring along: those for which it stands; NULL: itself. */
	double *copies;
	int top_node; /* the network's topmost switch, of folded topologies */
	/* The window over which everything is measured. */
	bool open;
	int64_t opened_ps;
	double *gpu_before_s, *link_before_B; /* before that */
};

/* trace may be NULL. */
void system_build(struct system *system, struct arena *arena, const struct scenario *scenario,
		  struct trace *trace);
/* Of links from a node of the first machine to one of the last, or of who stands for it; -1:
 * there is no way. */
double system_latency_s(struct system *system, int first, int last);
void system_window_open(struct system *system);
/* Fills the part of the outcome that does not depend on jobs. */
void system_read(struct system *system, struct world_outcome *outcome);
/* What must hold of every run, when it has been read: sets outcome->broken. waiting: what
 * somebody who has not ended waits for; NULL: all have. */
void system_check(struct system *system, enum engine_end end, const char *waiting,
		  struct world_outcome *outcome);
/* The reason to give when a run ends at a limit. */
const char *system_no_end(struct system *system, const char *waiting);

#endif
