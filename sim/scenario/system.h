/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated system of a topology: engine, fabric, hosts, guests, GPUs, and counters that are
 * read at the end of a run. world.c adds the jobs. */
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/workload/program_job.h"

struct system {
	struct arena *arena;
	const struct topology *topology;
	struct engine *engine;
	struct fabric *fabric;
	struct host **hosts;
	struct guest **guests;
	struct gpu **gpus;
	bool lossy;        /* at least one link loses packets */
	size_t link_count; /* number of link directions */
	/* By resource: the number of resources that it represents. NULL: the topology is not
	 * folded. */
	double *copies;
	int top_node; /* the topmost switch of the network, in folded topologies */
	/* The window in which results are measured. */
	bool open;
	int64_t opened_ps;
	double *gpu_before_s, *link_before_B; /* counters at the start of the window */
	int64_t waits_before_ps[WAIT_COUNT];
};

/* Builds the engine and everything in the topology. trace may be NULL. */
void system_build(struct system *system, struct arena *arena, const struct scenario *scenario,
		  struct trace *trace);
/* Returns the sum of the link latencies, in seconds, from a node of the first machine to a node
 * of the last machine, or of the machine that represents it. -1: there is no route. */
double system_latency_s(struct system *system, int first, int last);
/* Returns the description of a communicator with the library and transport of the entry, without
 * ranks. */
struct communicator_spec system_communicator(const struct system *system,
					     const struct job_entry *entry);
/* Returns a GPU of the job, its server, and the routes between the GPU and its host. */
struct program_gpu system_place(const struct system *system, const struct job_entry *entry,
				size_t index);
void system_window_open(struct system *system);
/* Fills the fields of the outcome that do not depend on jobs. */
void system_read(struct system *system, struct world_outcome *outcome);
/* Checks the invariants of a run after system_read and sets outcome->broken. `waiting` describes
 * an object that is still waiting; NULL: all jobs have ended. */
void system_check(struct system *system, enum engine_end end, const char *waiting,
		  struct world_outcome *outcome);
/* Returns the verdict's reason for a run that ended at a limit. */
const char *system_no_end(struct system *system, const char *waiting);
