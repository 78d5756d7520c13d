/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one place that sees everything: a case's parameters, and the world made
 * of them.
 *
 *   case_read    files + settings -> struct scenario (const from then on)
 *   world_run    scenario + run arena -> a system with jobs, run until every job has its steps
 *                or has failed
 */
#ifndef FARWIRE_SCENARIO_SCENARIO_H
#define FARWIRE_SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/traces/replay.h"
#include "sim/cfg/cfg.h"
#include "sim/engine/trace.h"
#include "sim/fabric/link.h"
#include "sim/remoting/remoting.h"
#include "sim/workload/job.h"
#include "sim/training/exchange.h"
#include "sim/training/input.h"
#include "sim/training/phases.h"
#include "sim/training/spread.h"
#include "sim/transport/dma.h"

/* Whether machines that are alike are simulated once (sim/collective/fold.h): in large
 * jobs, wherever they are found, never. What comes out is the same. */
enum symmetry { SYMMETRY_AUTO, SYMMETRY_ON, SYMMETRY_OFF };

/* What a case says (group `case`, or flags). Texts are names; "" where the
 * default is worked out as the help says. */
struct case_params {
	const char *topology, *model, *calls, *stack, *runtime, *transport, *profile;
	const char *program, *server, *gpu;
	double batch_count, fraction_ratio, copies_count;
	double steps_warmup_count, steps_count;
	/* Data-parallel training: gpus_count > 0 makes the case a job on that many
	 * GPUs of the topology, machine after machine. */
	double gpus_count;
	double gpus_per_machine_count; /* 0: all that a machine has */
	double programs_count; /* of a job played call by call: processes that share its GPUs;
				  0: one for each */
	double stages_count, micro_batches_count; /* of a pipeline; 1: none */
	const char *exchange;                     /* a file of models/exchanges/ */
	const char *guest;                        /* kind of place on each machine: a guest's name
						     there; "": its first one */
	double straggler_ratio;                   /* the first rank computes that much slower: 1 */
	double epochs_count, images_count;        /* for the time of a whole training */
	double job_steps_count; /* of a job from launch to end; 0: as many as the epochs have */
	int symmetry;           /* enum symmetry */
	/* A collective alone, repeated, as nccl-tests does: "" or its name. */
	const char *collective;
	double collective_size_B;
};
extern const struct param_table case_table;

struct host_entry {
	const char *name;
	struct origin origin;
	size_t first_guest; /* on it; SIZE_MAX: none */
	struct host_params params;
};

struct guest_entry {
	const char *name;
	struct origin origin;
	size_t host;
	size_t next_guest; /* on its host; SIZE_MAX: it is the last */
	struct guest_params params;
};

struct gpu_entry {
	const char *name;
	struct origin origin;
	const char *profile; /* "gtx-1050ti" */
	const char *like;    /* whose fitted efficiencies its kernels have; profile by default */
	const char *board;   /* whose power it shares with other GPUs; NULL: none */
	size_t host;
	struct gpu_params params;
};

struct link_entry {
	const char *name;
	struct origin origin;
	double copies_count; /* links for which it stands (topology.fold); 0: itself */
	const struct link_kind *kind;
	const char *ends[2]; /* node names */
	struct link_traits traits;
};

struct topology {
	const char *name, *help, *path;
	const struct host_entry *hosts;
	size_t host_count;
	const struct guest_entry *guests;
	size_t guest_count;
	const struct gpu_entry *gpus;
	size_t gpu_count;
	const char *const *switches; /* further nodes */
	size_t switch_count;
	const struct link_entry *links;
	size_t link_count;
	/* With a fold, the hosts are those of the cluster's machines that stand for others, in
	 * their order, and top is the network's topmost switch. NULL: all machines are there. */
	const struct fold *fold;
	const char *top;
};

/* A program that was recorded (sim/calls). */
struct recorded_program {
	const struct recorded_calls *calls;
	const struct calls_params *params;
	struct replay_step step;
};

/* How the jobs of a case are played. */
enum job_style {
	JOBS_PROGRAMS,   /* call by call (sim/workload/program_job.h) */
	JOBS_FUSED,      /* data-parallel training (sim/workload/fused.h) */
	JOBS_COLLECTIVE, /* a collective alone, repeated */
};

/* Ranks that step together. A forwarded client is a job of one rank. */
struct job_entry {
	const char *name;
	struct origin origin;
	size_t rank_count; /* GPUs */
	/* By GPU that is simulated, numbers of the topology: the GPU; the guest where the rank's
	 * program runs; the guest in front of the GPU, which is the same with the local driver.
	 * Fused ranks run in front of their GPUs. */
	const size_t *gpus, *guests, *servers;
	size_t simulated_count; /* rank_count, unless some stand for others */
	double batch_count;     /* of each GPU */
	const char *model;
	const struct network *network;           /* of a recorded program only its name */
	const struct recorded_program *recorded; /* NULL: the two below and network model it */
	const struct stack_params *stack;
	const struct efficiency_params *efficiency;
	const struct transport_kind *transport; /* of forwarded calls, or of gradients */
	const void *transport_params;
	/* Of programs. */
	size_t program_count;                  /* which hold rank_count / program_count GPUs each */
	const struct spread_params *spread;    /* exchange of gradients; NULL: none */
	size_t stage_count, micro_batch_count; /* of a pipeline; stage_count 0 or 1: none */
	double fraction_ratio;                 /* of the GPU */
	const struct runtime_params *runtime;  /* NULL: local driver */
	bool guest_work; /* its calls cost what they do on the bare machine: guests add to it */
	/* Of fused jobs and collectives. */
	const struct exchange_params *exchange;
	const struct library_params *library;
	const struct input_params *input;
	const struct storage_params *storage;    /* NULL: its input is synthetic */
	const struct storage_params *checkpoint; /* NULL: the job writes no checkpoints */
	double straggler_ratio;
	double solo_step_s; /* what job_run says of an equal job; 0: found by a run of its own */
};

struct scenario {
	const char *name, *path;
	struct topology topology;
	enum job_style style; /* of all jobs */
	const struct job_entry *jobs;
	size_t job_count;
	enum collective collective; /* of a benchmark */
	double collective_size_B;
	struct driver_params driver;
	struct dma_params dma;
	double steps_warmup_count, steps_count; /* steps to leave out, most to measure */
	/* Phases of its jobs around their steps; NULL: the case does not ask for elapsed time. */
	const struct phases_params *phases;
	bool launch;         /* the run begins with the launch of the jobs (sim/workload/life.h) */
	uint64_t events_max; /* of a run: who is not done by then has failed */
	bool no_passing;     /* each event by itself, which changes nothing but the time it takes */
	const struct case_params *params;
	const struct cfg_resolution *resolution; /* every parameter */
	const struct cfg_param *error;           /* the model's own, of its kind of case */
};

/* Where shipped data lies: <root>/topologies, models, calib. The environment's
 * FARWIRE_DATA, else beside the program: the source tree above build/, or
 * PREFIX/share/farwire. NULL if none of them is there. */
const char *data_root_find(struct arena *arena);
/* The path of a shipped or own file: name itself if it ends in ".cfg" (beside
 * `beside`, a file, or NULL), else <root>/<folder>/<name>.cfg. NULL after an
 * error that lists what ships and the nearest name. */
const char *data_path(struct arena *arena, struct diag *diag, struct origin origin,
		      const char *root, const char *folder, const char *what, const char *name,
		      const char *beside);
/* Names of the .cfg files of a folder under root, sorted, without ending. */
size_t data_names(struct arena *arena, const char *root, const char *folder,
		  const char *const **names);

struct setting { /* "key=value" and who said it */
	const char *text;
	struct origin origin;
};
struct draw_value {
	const char *path;
	double value;
};
struct case_request {
	const char *path; /* a case file, or NULL: only settings */
	const struct setting *settings;
	size_t setting_count;
	const struct draw_value *draws;
	size_t draw_count;
	const char *data_root;
	/* What case.calls names, if it was read before; NULL: it is read now. */
	const struct recorded_calls *calls;
	uint64_t events_max; /* of each run; 0: RUN_EVENTS_MAX */
};
/* No honest case needs as many: 64 V100 training take 10^6. A run that reaches them (half
 * a minute), or RUN_TIME_MAX_S of simulated time, ends with a failed verdict that says so. */
enum { RUN_EVENTS_MAX = 100000000, RUN_TIME_MAX_S = 2000000 };
/* The name of the transport by which calls are forwarded, or gradients travel between
 * hosts: what `auto` became. NULL: nothing travels. */
const char *scenario_transport(const struct scenario *scenario);
/* NULL after errors (in diag). */
const struct scenario *case_read(struct arena *arena, struct diag *diag,
				 const struct case_request *request);

/* Kinds of cases, of which the model is wrong in ways of their own. */
enum case_kind {
	CASE_LOCAL,     /* one GPU, its program beside it */
	CASE_FORWARDED, /* calls over a network */
	CASE_TRAINING,  /* one program on several GPUs */
	CASE_COLLECTIVE,
	CASE_KIND_COUNT,
};
enum case_kind scenario_kind(const struct scenario *scenario);
/* Its answers are those of jobs that may have several GPUs, not of programs with one each. */
bool scenario_has_gpus(const struct scenario *scenario);
/* The parameter that says how wrong: "error.training", in the profile MODEL_ERROR, which
 * every case sees. */
#define MODEL_ERROR "model-error"
const char *case_kind_path(enum case_kind kind);

struct link_use {
	const char *link;                       /* resource name */
	double carried_B, capacity_Bps, busy_s; /* of the whole run */
	double window_B;
};
/* The window and the runs' steps: sim/workload/job.h. */
struct world_outcome {
	struct job_run *jobs;
	size_t job_count;
	double end_s;
	double window_s;    /* from the moment from which all jobs were warm */
	double *gpu_busy_s; /* by GPU of the topology, in the window */
	struct link_use *links;
	size_t link_count;
	uint64_t events_count;
	const char *broken; /* an invariant; NULL: none */
};
/* The job alone, to which its ratio is taken: a program beside its GPU with the local driver
 * and all of the GPU; a fused job on its first GPU. Shares everything else with scenario. */
const struct scenario *scenario_baseline(struct arena *arena, const struct scenario *scenario,
					 size_t job);
/* The program of a rank on the job's first GPU alone, its input apart: what a step does there. */
const struct scenario *scenario_solo(struct arena *arena, const struct scenario *scenario,
				     const struct job_entry *entry);
/* The scenario from the launch of its jobs on. solo_s: of each job, what its step takes on one GPU
 * alone. */
const struct scenario *scenario_launch(struct arena *arena, const struct scenario *scenario,
				       const double *solo_s);
/* Steps of a job from launch to end. */
double scenario_job_steps(const struct scenario *scenario, const struct job_entry *entry);
/* Steps that a launch run simulates, at most. */
enum { LAUNCH_STEPS = 8 };
/* Builds the world in arena, runs it, reads the counters. trace may be NULL. */
struct world_outcome world_run(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			       struct trace *trace);

#endif
