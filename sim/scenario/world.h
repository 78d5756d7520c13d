/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A world under construction. world.c shares it with the files that build the jobs from the
 * scenario's entries. */
#pragma once

#include "sim/scenario/system.h"

/* ---- job_inputs.c: the input pipelines of ranks, with storages, which jobs may share, readers and
 * copying threads ---- */

struct storage_place;

/* The reader of a rank. Ranks of one process share it and its copying threads. */
struct rank_reader {
	size_t host;
	struct storage *storage; /* NULL: no storage */
	struct input_process *process;
	unsigned number;
};

struct job_inputs {
	struct system *system;
	VEC(struct storage_place) storages;
	unsigned reader_count;
};

/* Returns the reader of a rank on that host. `before` is the reader of the previous rank; NULL:
 * it is the first rank. */
struct rank_reader job_inputs_reader(struct job_inputs *inputs, const struct job_entry *entry,
				     size_t host, const struct rank_reader *before);
/* Returns the storage of that name in the machine `host`, or the one that all machines share. */
struct storage *job_inputs_storage(struct job_inputs *inputs, const struct storage_params *params,
				   const char *name, size_t host);
/* Returns true if the ranks of these numbers are in one process. */
bool job_inputs_joined(const struct job_inputs *inputs, const struct job_entry *entry, size_t a,
		       size_t b);
/* Builds the input pipeline of a rank. batch_B is the number of bytes that a step copies to the
 * GPU. */
struct input *job_inputs_build(struct job_inputs *inputs, const struct scenario *scenario,
			       const struct job_entry *entry, size_t rank,
			       const struct rank_reader *reader, struct cpu *core, double batch_B);

/* ---- a world ---- */

struct world {
	struct workload workload;
	const struct scenario *scenario;
	struct system system;
	struct job_inputs inputs;  /* inputs of data-parallel jobs only */
	struct step_use *profiles; /* by job of the scenario; only world_dp.c uses it */
	struct servers *servers;   /* only world_serving.c uses it */
};

/* Runs `entry` as the only job of `alone`, with the seed of the world. Returns its step time. If it
 * fails, the function returns a negative number and sets *why. A broken invariant also fails the
 * world's run, whose message calls the part `what`. */
double world_run_alone(struct world *world, struct scenario alone, struct job_entry entry,
		       const char *what, const char **why);
/* Each function builds the job of `entry` and begins it. If a part is missing, the job fails. */
struct job *world_programs(struct world *world, const struct job_entry *entry, struct job_run *run);
struct job *world_dp(struct world *world, const struct job_entry *entry, struct job_run *run);
struct job *world_replica(struct world *world, const struct job_entry *entry, struct job_run *run);
/* The times of collectives among the GPUs of a replica (world_tensor.c). */
struct tensor_group;
/* The replica's GPUs are those of that many stages of a pipeline, each of which has tensor groups
 * of that size. Returns NULL if no route connects the GPUs; then *why says so. */
struct tensor_group *world_tensor_group(struct world *world, const struct job_entry *entry,
					size_t stages, size_t tensor, const char **why);
/* Returns the time of a collective of a tensor group, or of all GPUs of a stage. A group of one GPU
 * has none. If it fails, so do all replicas. ctx is a struct tensor_group. */
double world_tensor_s(void *ctx, enum shard_group group, enum collective collective, double size_B);
/* Returns the time in which the outputs of all stages but the last one, of that size each, are sent
 * to the next stages, one after the other. The GPUs of a stage send a part each. */
double world_passed_s(void *ctx, double size_B);
/* The stages of a replica on other machines than its first GPU (world_rpc.c). Returns NULL if there
 * are none. If one cannot be reached, *why says so. */
struct rpc_stage;
struct rpc_stage *world_rpc(struct world *world, const struct job_entry *entry, const char **why);
/* Sets spec->stages to the layers of all stages, as a multiple of those of the first one. Layers
 * are split in proportion to the memory of the GPUs, as by llama.cpp (src/llama-model.cpp,
 * load_tensors: free memory of each device). If the GPUs differ, spec->rpc_parts has a model for
 * each kind. */
void world_rpc_split(struct world *world, const struct job_entry *entry,
		     struct serving_model_spec *spec);
/* Returns the time in which each stage gets inputs of in_B bytes and then returns out_B bytes. ctx
 * is a struct rpc_stage. */
double world_rpc_s(void *ctx, double in_B, double out_B);
/* Ends all replicas with a failed verdict. */
void world_servers_failed(struct world *world, const char *reason);
/* Begins the requests of all replicas. */
void world_serving_begin(struct world *world);
/* Returns true if a step on the first GPU of b takes the same time as on the first GPU of a,
 * without other ranks. */
bool world_alike(const struct topology *topology, const struct job_entry *a,
		 const struct job_entry *b);
struct job *world_collective(struct world *world, const struct job_entry *entry,
			     struct job_run *run);
