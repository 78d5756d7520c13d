/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario holds all parameters of a case. A world is built from it and simulated.
 *
 *   case_read    reads files and settings into a struct scenario, which is const afterwards
 *   world_run    builds hosts, links, GPUs and jobs, and runs them until each job has measured
 *                its steps or has failed
 */
#pragma once

#include "sim/traces/replay.h"
#include "sim/cfg/cfg.h"
#include "sim/engine/trace.h"
#include "sim/fabric/link.h"
#include "sim/remoting/remoting.h"
#include "sim/serving/serving.h"
#include "sim/workload/job.h"
#include "sim/training/exchange.h"
#include "sim/training/input.h"
#include "sim/training/longrun.h"
#include "sim/training/phases.h"
#include "sim/training/plan.h"
#include "sim/training/gradients.h"
#include "sim/scenario/cost.h"
#include "sim/transport/dma.h"

/* Whether equal machines are folded, so that one machine of each class is simulated
 * (sim/collective/fold.h). SYMMETRY_AUTO folds jobs of 1024 GPUs or more, and plans. The results
 * are the same, except for plans on many machines (fold->near). */
/* The machine in which the program of a baseline runs. */
enum local { LOCAL_CLIENT, LOCAL_SERVER };
/* Whether runs of kernels of local programs are simulated as one (sim/cuda/fuse.h). */
enum fusing { FUSING_AUTO, FUSING_OFF };
enum symmetry { SYMMETRY_AUTO, SYMMETRY_ON, SYMMETRY_OFF };

/* The group `case` of a case file, or the matching flags. Texts are names. An empty text selects
 * the default that the parameter's help describes. */
struct case_params {
	const char *topology, *model, *calls, *stack, *engine, *runtime, *transport, *profile,
		*fail;
	const char *degrade, *devices, *adapters;
	bool gpu_profiles;
	const char *gpu_profiles_without, *program, *server, *gpu;
	double batch_count, sequence_count, fraction_ratio, memory_fraction_ratio, copies_count;
	double tensor_count, data_count, expert_count, pipeline_count, prefill_count;
	const char *prices;
	double steps_warmup_count, steps_count, micro_batches_count;
	double gpus_count, gpus_per_machine_count;
	double programs_count;
	const char *exchange, *guest;
	double straggler_ratio, slowest_of_count, epochs_count, images_count, tokens_count,
		job_steps_count;
	int symmetry; /* enum symmetry */
	int fusing;   /* enum fusing */
	int local;    /* enum local */
	double events_count;
	const char *collective;
	double collective_size_B;
};
extern const struct param_table case_table;

struct host_entry {
	const char *name;
	const char *machine; /* name of its template, or its own name if it has none */
	struct origin origin;
	size_t first_guest; /* first guest of this host; SIZE_MAX: none */
	struct host_params params;
};

struct guest_entry {
	const char *name;
	struct origin origin;
	size_t host;
	size_t next_guest; /* next guest of the same host; SIZE_MAX: this one is the last */
	struct guest_params params;
};

struct gpu_entry {
	const char *name;
	struct origin origin;
	const char *profile; /* "gtx-1050ti" */
	const char *like; /* the GPU profile whose fitted efficiencies this GPU uses; by default its
			     own profile */
	const char *board; /* the board with which this GPU shares power; NULL: the GPU has its own
			      power */
	size_t host;
	double lost_ratio; /* part of its rate that a fault takes (case.degrade) */
	struct gpu_params params;
};

struct link_entry {
	const char *name;
	struct origin origin;
	double copies_count; /* links that this one represents (topology.fold); 0: only itself */
	const struct link_kind *kind;
	const char *ends[2]; /* node names */
	struct link_traits traits;
};

struct alias_entry { /* another name of a node, for example of an adapter in the operating system */
	const char *name, *node;
};

struct topology {
	const char *name, *help, *path;
	const struct host_entry *hosts;
	size_t host_count;
	const struct guest_entry *guests;
	size_t guest_count;
	const struct gpu_entry *gpus;
	size_t gpu_count;
	const char *const *switches; /* nodes that are neither host, guest nor GPU */
	size_t switch_count;
	const struct link_entry *links;
	size_t link_count;
	const struct alias_entry *aliases;
	size_t alias_count;
	/* NULL: the topology holds all machines. Otherwise hosts holds one machine of each
	 * class, in the order of the cluster, and top is the topmost switch of the network. */
	const struct fold *fold;
	const char *top;
};

/* Returns the first alias of a node, without its machine; NULL: the node has none. */
const char *topology_alias(const struct topology *topology, const char *node);

/* A kernel by itself, with equal kernels before it that quantise its operand. */
struct single_kernel {
	struct kernel_work work, before;
	double before_count;
};
/* A product of matrices, and fused attention (its element_B is that of keys and values). quantise:
 * the first matrix is quantised from 16 bits; plain: see kernel.h. */
struct single_kernel single_product(enum number_type type, struct kernel_product product,
				    bool quantise, bool plain);
struct single_kernel single_attention(enum number_type type, struct kernel_attention attention);
/* Returns the time of both on the GPU in s. */
double single_kernel_s(const struct single_kernel *run, const struct gpu_params *gpu,
		       const struct efficiency_params *efficiency);

/* A recorded program and the step of it that is replayed (sim/traces). */
struct recorded_program {
	const struct recorded_calls *calls;
	const struct calls_params *params;
	const struct gpu_params *gpu;    /* of the recording; NULL: unknown */
	const char *profile;             /* its profile, or NULL */
	const struct recorded_job *job;  /* NULL: the program is played on one GPU */
	struct replay_step step, *steps; /* of one GPU; by rank of the job */
};

/* How the jobs of a case are simulated. */
enum job_style {
	JOBS_PROGRAMS,   /* calls are simulated one by one (sim/workload/program_job.h) */
	JOBS_RANKS,      /* data-parallel training (sim/workload/dp.h) */
	JOBS_COLLECTIVE, /* a collective without training, repeated */
	JOBS_SERVING,    /* replicas of model servers (sim/serving/serving.h) */
};

/* Ranks that step together. A program with forwarded calls is a job too. */
struct job_entry {
	const char *name;
	struct origin origin;
	size_t rank_count; /* GPUs */
	/* These three arrays have one element for each simulated GPU. They hold indices into the
	 * topology: the GPU, the guest in which the rank's program runs, and the guest that
	 * serves the GPU. With the local driver the two guests are the same. Fused ranks run in
	 * the guest of their GPU. */
	const size_t *gpus, *guests, *servers;
	size_t simulated_count; /* equals rank_count unless the topology is folded */
	double batch_count;     /* samples of a step, on each GPU */
	const char *model;
	const char *model_given;       /* name or file of the network, as the case has it */
	const struct network *network; /* a recorded program has a network with only a name */
	const struct recorded_program
		*recorded; /* NULL: stack, efficiency and network describe the program */
	const struct stack_params *stack;
	const struct efficiency_params *efficiency;
	const struct transport_kind *transport; /* transport of forwarded calls or of gradients */
	const void *transport_params;
	/* For jobs that are played call by call. */
	size_t program_count;               /* each program holds rank_count / program_count GPUs */
	const struct spread_params *spread; /* exchange of gradients; NULL: no exchange */
	const struct training_plan *plan;   /* how GPUs split the network; NULL: they do not */
	double fraction_ratio;              /* largest share of the GPU that the program may use */
	double memory_ratio;                /* share of its memory; 0: fraction_ratio */
	const char *stack_name;             /* of a client; NULL: that of the case */
	const struct runtime_params *runtime; /* NULL: the local driver */
	bool guest_work;                      /* true: work of calls is slowed down by the guest */
	/* For data-parallel jobs and collectives. */
	const char *exchange_name; /* of a file of models/exchanges/ */
	const struct exchange_params *exchange;
	const struct library_params *library;
	const struct input_params *input;
	const struct storage_params *storage;    /* NULL: the input is synthetic */
	const struct storage_params *checkpoint; /* NULL: the job writes no checkpoints */
	double straggler_ratio;
	double solo_step_s; /* job_run_step_s of one GPU without the others; 0: a separate run finds
			       it */
	/* For replicas of model servers. */
	size_t service; /* index of the scenario's services */
	int role;       /* enum serve_role */
	/* The program of an iteration or of a single kernel, which replaces stack and network;
	 * NULL: none */
	const struct program *program;
	/* A single kernel, whose step time is that of the kernel on the GPU; NULL: a program */
	const struct single_kernel *kernel;
};

/* A network that is served, with its requests. */
struct service_entry {
	const char *prefix; /* of its parameters: "serve", or "serve.MODEL" */
	const struct serve_params *params;
	struct request_list list; /* read from a file; empty: requests are drawn */
	const struct network *network;
	const struct network *one_token;           /* NULL: the network generates no tokens */
	const struct network *draft, *draft_token; /* the same of serve.draft; NULL: it is empty */
	/* The part of one_token on each GPU of a replica; NULL: a replica has one GPU. */
	const struct shard *shard;
	double data;   /* tensor groups of a stage, with requests of their own; at least 1 */
	double spread; /* parts of a replica over which its requests are spread; at least 1 */
	double stages; /* of its pipeline */
	size_t store;  /* guest that has keys and values of all replicas; SIZE_MAX: none */
	/* By GPU of the topology, for stages on different GPUs; NULL: they are equal. A GPU of the
	 * kind of its replica's first one has none. */
	const struct efficiency_params **efficiencies;
};

struct scenario;
/* Returns the number of requests of a service, warm-up included: those of its list, or the number
 * that it draws. Services that draw run for the same time, which is the longest of those that they
 * ask for. */
double service_requests_count(const struct scenario *scenario, const struct service_entry *service);
/* Returns serve.weights, or else the type of the network's checkpoint. */
enum served_type service_weights(const struct service_entry *service);

/* Kinds of cases. */
enum case_kind {
	CASE_LOCAL,     /* one GPU with the local driver */
	CASE_FORWARDED, /* calls forwarded over a network */
	CASE_TRAINING,  /* a job on several GPUs */
	CASE_COLLECTIVE,
	CASE_SERVING, /* model servers without forwarded calls */
	CASE_KIND_COUNT,
};

/* How far a case is from the measurements that set parameters (evidence.h). */
enum distance {
	DISTANCE_SAME_SYSTEM, /* a profile is used that was fitted to this system */
	DISTANCE_SAME_KIND,   /* machines of this kind had fit rows */
	DISTANCE_NEW_MACHINE, /* only the library or framework had fit rows */
	DISTANCE_NEW_LIBRARY,
	DISTANCE_COUNT,
};
/* Parts of a prediction with errors of their own. The first two act on the main part of its time,
 * and the last on the rest (docs/models/intervals.md). In model servers, the first two act on
 * iterations that only generate tokens, and on those that process prompts. */
enum case_part {
	PART_ONE_GPU, /* the time of one GPU with the local driver */
	PART_OWN,     /* steps of several GPUs; the bytes of a collective */
	PART_ADDED,   /* the time that forwarding or several GPUs add; the start of a collective */
	CASE_PART_COUNT,
};
/* Each part of the model error belongs to one of these. */
enum mechanism {
	MECHANISM_LOCAL,
	MECHANISM_FORWARDED,
	MECHANISM_TRAINING,
	MECHANISM_EXPOSED,
	MECHANISM_WIRE,
	MECHANISM_TCP,
	MECHANISM_MESSAGE,
	MECHANISM_TOKEN,
	MECHANISM_PROMPT,
	MECHANISM_COUNT, /* no mechanism */
};
struct model_error {
	double ratio, freedom_count; /* of Student's t; 0: normal. ratio 0: no error */
};

struct scenario {
	const char *name, *path;
	bool named; /* the case gives its name */
	struct topology topology;
	const char *not_folded; /* why all machines are simulated although equal ones could be
				   folded; NULL: nothing to say */
	enum job_style style;   /* all jobs have the same style */
	const struct job_entry *jobs;
	size_t job_count;
	const struct service_entry *services; /* of replicas */
	size_t service_count;
	const struct cfg_node *engine; /* file of the model server; NULL: none */
	struct serving_memo *memo;     /* times of iterations in earlier simulations; NULL: none */
	bool verdict_only;             /* of case_request */
	bool whole_gpus; /* GPUs have their whole rate, for steps on one GPU (lost_ratio) */
	enum collective collective; /* collective of a collective benchmark */
	double collective_size_B;
	struct driver_params driver;
	struct dma_params dma;
	double steps_warmup_count,
		steps_count; /* steps to leave out, and the most steps to measure */
	/* Phases of its jobs around their steps; NULL: the case does not ask for elapsed time. */
	const struct phases_params *phases;
	const struct longrun_params
		*run;        /* of a plan; NULL: the case does not say how long it is */
	bool drawn;          /* uncertain parameters have drawn values */
	bool launch;         /* the run begins with the launch of the jobs (sim/workload/life.h) */
	uint64_t events_max; /* maximum events of a run: jobs that have not ended by then have
				failed */
	const struct engine_watch *watch;
	bool no_passing; /* true: the engine handles each event by itself. This changes only the run
			    time. */
	const struct case_params *params;
	const struct costs *costs;               /* NULL: the case asks for none */
	const struct cfg_resolution *resolution; /* all parameters with value and origin */
	/* Model errors of the parts; 0: the kind of case has no such part. one_gpu_hash tells
	 * programs on one GPU apart: the error of one GPU is the same number in all cases with the
	 * same program. */
	struct model_error errors[CASE_PART_COUNT];
	uint64_t one_gpu_hash;
	enum distance distances[CASE_PART_COUNT]; /* equal, unless the case has two parts */
};

/* Returns the folder with the shipped data: topologies/, models/, calib/. That is $FARWIRE_DATA
 * if it is set. Otherwise the function searches upwards from the program, in the source tree and
 * in PREFIX/share/farwire. Returns NULL if there is no such folder. */
const char *data_root_find(struct arena *arena);
/* Returns the path of a file. A name that ends in ".cfg" is a file of the user, next to the file
 * `beside` if there is one; `beside` may be NULL. If there is no such file, it is a file below
 * <root>/calib/measured, as in shipped datasets. Other names mean <root>/<folder>/<name>.cfg.
 * If that file does not exist, the function reports an error that suggests the nearest name, and
 * returns NULL. */
const char *data_path(struct arena *arena, struct diag *diag, struct origin origin,
		      const char *root, const char *folder, const char *what, const char *name,
		      const char *beside);
/* Sets *names to the sorted names of the .cfg files in a folder under root, without ".cfg".
 * Returns their number. */
size_t data_names(struct arena *arena, const char *root, const char *folder,
		  const char *const **names);

struct setting { /* "key=value", and the file or option that contains it */
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
	/* The recording that case.calls names, if the caller has read it before; NULL: case_read
	 * reads it. */
	const struct recorded_calls *calls;
	/* A value of the case file that counts as not written, by path and place; text NULL: none
	 */
	struct setting left_out;
	uint64_t events_max;              /* limit of events in each run; 0: case.events */
	const struct engine_watch *watch; /* of each run; NULL: none */
	/* A search has one: its cases differ only in layouts and loads; NULL: none. */
	struct serving_memo *memo;
	/* The case is one of several, so the price of a GPU or machine that it lacks is not an
	 * error (scenario_note_prices). */
	bool beside;
	/* A run of model servers ends as soon as at most a share below serve.slo_quantile of the
	 * requests can meet all objectives. Its attainment is then only below this share,
	 * and its other answers are those of the requests that had ended. */
	bool verdict_only;
	/* A system whose measurements set no parameter (evidence.h); NULL: none. The model error,
	 * which is estimated from such predictions, is 0. */
	const char *without;
};
/* A run that reaches case.events (10^8: half a minute to two minutes; training on 64 V100 takes
 * 10^6) or RUN_TIME_MAX_S of simulated time ends with a failed verdict that gives the reason. */
enum { RUN_TIME_MAX_S = 2000000 };
/* Returns the name of the transport between hosts, for forwarded calls or gradients, after
 * `auto` was resolved. Returns NULL if nothing crosses the network. */
const char *scenario_transport(const struct scenario *scenario);
/* Returns NULL after errors, which are in diag. */
const struct scenario *case_read(struct arena *arena, struct diag *diag,
				 const struct case_request *request);
/* Sets known[i] for each setting of the request that is not the price of one kind of GPU or
 * machine, or that is the price of one that the scenario has (NULL: it has none). Other elements do
 * not change. */
void scenario_note_prices(const struct case_request *request, const struct scenario *scenario,
			  bool *known);
/* Reports the settings that no case of a request with `beside` knows. Returns false if there are
 * any. */
bool scenario_check_prices(struct diag *diag, const struct case_request *request,
			   const bool *known);

enum case_kind scenario_kind(const struct scenario *scenario);
/* Numbers that are proportional to the throughput of training on sequences. */
enum token_rate {
	RATE_TOKENS,      /* tokens/s */
	RATE_TOKENS_GPU,  /* tokens/s on each GPU */
	RATE_MODEL_FLOPS, /* model FLOP/s on each GPU (network_model_flop) */
	RATE_MFU,         /* model FLOP/s over the peak rate of the stack's data type */
	RATE_HFU,         /* the same, with the operations that a plan computes again */
};
/* Returns the number at a throughput of 1 sample/s. Returns NaN if samples are not sequences, if
 * jobs differ, if clients share GPUs (except for RATE_TOKENS), or for model servers, whose requests
 * are not samples of a training. */
double scenario_token_rate(const struct scenario *scenario, enum token_rate rate);
/* Returns true if results are those of jobs with several GPUs, and not of programs with one GPU
 * each. */
bool scenario_has_gpus(const struct scenario *scenario);
/* The path of the model error's parameter, for example "error.training". Every case reads the
 * profile MODEL_ERROR, which sets these parameters for each distance. */
#define MODEL_ERROR "model-error"
const char *mechanism_path(enum mechanism mechanism);
/* Returns the mechanism of a part; MECHANISM_COUNT: the case has no such part. */
enum mechanism scenario_mechanism(const struct scenario *scenario, enum case_part part);
/* Returns the error in the profile MODEL_ERROR; 0: the profile has none. */
struct model_error case_error_at(const struct cfg_node *file, enum mechanism mechanism,
				 enum distance distance);
/* Returns true if the case has a part of its own besides that of one GPU. */
bool case_kind_has_parts(enum case_kind kind);
const char *distance_name(enum distance distance); /* "new machine" */
/* Returns a sentence without its full stop that says what was measured on such systems. The step
 * time is compared with that of a recording. */
const char *scenario_distance_words(struct arena *arena, const struct scenario *scenario,
				    double step_s);
/* Combines independent errors; the degrees of freedom follow Welch and Satterthwaite. */
struct model_error model_error_sum(struct model_error a, struct model_error b);

struct link_use {
	const char *link;                       /* name of the resource */
	double carried_B, capacity_Bps, busy_s; /* totals over the whole run */
	double window_B;
};
/* sim/workload/job.h describes the window and the steps of a run. */
struct world_outcome {
	struct job_run *jobs;
	size_t job_count;
	double end_s;
	double window_s;    /* duration of the window, which begins when all jobs have ended their
			       warm-up */
	double *gpu_busy_s; /* by GPU of the topology, inside the window */
	double waits_s[WAIT_COUNT]; /* waits for timers inside the window */
	struct link_use *links;
	size_t link_count;
	uint64_t events_count;
	const char *broken; /* message about a broken invariant; NULL: all invariants hold */
};
/* Returns the guest in which the baseline of a program runs (case.local). */
size_t scenario_local_guest(const struct scenario *scenario, const struct job_entry *entry);
/* Returns the job's efficiency at the clock of its slowest GPU, because its GPUs wait for each
 * other: 1 - spread x (mean of the largest of n normal values), after Blom (1958). */
const struct efficiency_params *scenario_at_slowest(struct arena *arena,
						    const struct scenario *scenario,
						    const struct job_entry *entry);
/* Returns the scenario of the job's baseline, on one GPU without other jobs. A program gets the
 * local driver and the whole GPU, as if this GPU were in the machine of scenario_local_guest. A
 * data-parallel job gets its first GPU. All other values are shared with `scenario`. */
const struct scenario *scenario_baseline(struct arena *arena, const struct scenario *scenario,
					 size_t job);
/* Returns the scenario whose jobs have the step times solo_s[job] on one GPU. With `launch` its run
 * begins with the launch of the jobs. */
const struct scenario *scenario_with_solo(struct arena *arena, const struct scenario *scenario,
					  const double *solo_s, bool launch);
/* Returns the number of steps of a job from launch to end. */
double scenario_job_steps(const struct scenario *scenario, const struct job_entry *entry);
/* Maximum number of steps that a launch run simulates. */
enum { LAUNCH_STEPS = 4 };
/* Builds the world in arena, runs it and reads the counters. trace may be NULL. */
struct world_outcome world_run(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			       struct trace *trace);

/* Returns the GPUs of the job in a machine. */
size_t job_machine_gpus(const struct scenario *scenario, const struct job_entry *entry);
