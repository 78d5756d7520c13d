/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that case.c shares with the readers of jobs: case_clients.c, case_ranks.c and
 * case_job.c. */
#pragma once

#include "sim/scenario/read.h"

enum { CLIENTS_MAX = 10000 };

struct origin case_origin(const struct reader *c);
/* Apply the faults of the case, whose machines are then not folded (faults.c). */
bool case_has_faults(const struct reader *c);
void case_faults(struct reader *c);
/* Returns " with --devices 0,1 left after --fail gpu3", or the part of it that the case states. */
const char *case_failed_words(const struct reader *c);
/* Returns the file or option that set the parameter `path` ("case.model"), or the case's origin. */
struct origin case_origin_of(const struct reader *c, const char *path);
/* Returns true if a file or an option set the parameter. */
bool case_gives(const struct reader *c, const char *path);
/* Returns the parameter `path` if a setting set it, and otherwise the parameter `file`, which chose
 * the file that has it. */
const char *case_setting_or(const struct reader *c, const char *path, const char *file);
/* Reports an error at the place that set a parameter, for example "case.model". Is false. */
#define case_error(c, path, ...) diag_error((c)->diag, case_origin_of((c), (path)), __VA_ARGS__)
/* Reads the file `folder`/name and returns its group called `group`. Errors are reported at
 * origin; NULL after an error. */
const struct cfg_node *case_group(struct reader *c, struct origin origin, const char *folder,
				  const char *what, const char *name, const char *group,
				  const struct cfg_node **file);
void case_transport(struct reader *c, const struct cfg_node *file);
/* Gives an entry, whose GPUs are set, its network and the network's efficiencies on its first GPU
 * (case_model.c). Errors are reported at origin. */
void case_model(struct reader *c, struct job_entry *entry, struct origin origin, const char *name);

/* Reports an error if the GPU cannot compute in the number type of the stack. */
void case_check_numbers(struct reader *c, const struct gpu_entry *gpu);
/* Returns the parameters of the times of the network's kernels on the GPU. */
const struct efficiency_params *case_efficiency(struct reader *reader, const struct gpu_entry *gpu,
						const char *model);
/* Returns the law of kernel times with the constants of the GPU's generation. */
const struct efficiency_params *case_kernel_law(struct reader *c, const struct gpu_entry *gpu);

/* Returns true if the case is a single kernel, which replaces network and stack. case_kernel_client
 * fills a client, whose GPUs are set, with it (case_kernel.c). */
bool case_has_kernel(const struct reader *c);
void case_kernel_client(struct reader *c, struct job_entry *client);

/* Finds the group `stack` of the stack's file (case_stack.c). The file's group `input` sets
 * input parameters from then on. Returns NULL after an error. */
const struct cfg_node *case_find_stack(struct reader *c);
/* Returns true if the GPUs of a job exchange gradients or have stages of a network. */
bool case_job_shares(const struct reader *c);
void case_read_stack(struct reader *c, const struct cfg_node *node);
/* Returns the stack of a client that has another one than the case. */
const struct stack_params *case_client_stack(struct reader *c, const struct job_entry *client,
					     const char *name);

/* Returns the path of a file that a key names. In the case file it is relative to the folder of
 * that file. */
const char *case_file_path(const struct reader *c, struct origin origin, const char *name);
/* Reads a recorded program, which replaces network and stack (case_calls.c). */
void case_read_calls(struct reader *c);
/* Fills a client with the recorded program. batch_count 0: the client sets no batch. model must
 * be "", otherwise an error is reported. */
void case_calls_client(struct reader *c, struct job_entry *client, double batch_count,
		       const char *model);

/* Reads the clients: programs of one GPU each (case_clients.c). */
void case_read_clients(struct reader *c);
/* Returns true if the case sets a key of that group: in the file, or by a setting. *origin is then
 * one of these places; origin may be NULL. */
bool case_find_keys(const struct reader *c, const char *group, struct origin *origin);
bool case_has_plan(const struct reader *c);
/* Returns true if the case is a plan that says how long its run is. */
bool case_has_run(const struct reader *c);
/* Reads the parameters of the plan, and the groups that should not straddle machines. */
void case_plan_want(struct reader *c);
/* Returns true if the case is one job whose programs are played call by call on several GPUs
 * (case_ranks.c). */
bool case_has_ranks(const struct reader *c);
/* Returns NULL, or says why that number of simulated ranks of the plan is too large. */
const char *case_plan_too_large(const struct reader *c, const struct training_plan *plan,
				size_t simulated_count);
/* Reports why the plan is impossible. */
void case_plan_refused(struct reader *c, const char *why);
void case_read_ranks(struct reader *c);
/* case_place_server returns the guest that serves a GPU: the guest `name`, or with "" the first
 * guest of the GPU's host. case_place_program returns the guest in which a program runs: the
 * guest `name`, with "spread" one of the guests without a GPU, by turns of `copy`, and with ""
 * the guest `server`. Both return SIZE_MAX after an error. */
size_t case_place_server(struct reader *c, struct origin origin, const char *name,
			 const struct gpu_entry *gpu);
size_t case_place_program(struct reader *c, struct origin origin, const char *name, size_t server,
			  size_t copy);
/* Reads a file of models/storages/; its parameters begin with the prefix (case_job.c). Returns NULL
 * after an error, which is reported at origin. */
const struct storage_params *case_storage(struct reader *c, struct origin origin, const char *name,
					  const char *prefix);
/* Read the network, and the exchange and library, of a job (case_job.c). */
void case_read_model(struct reader *c, size_t index, struct job_entry *entry);
void case_find_exchange(struct reader *c, size_t index, struct job_entry *entry);
/* Returns the library, whose parameters are path.KEY, for a network that has experts: unless a
 * value is given, a token has as many as in that network. */
const struct library_params *case_library_experts(struct reader *c, const char *path,
						  const struct library_params *library,
						  const struct network *network);

/* Returns true if the case serves requests. (case_serve.c) */
bool case_serves(const struct reader *c);
/* Returns true if layers of a service are on RPC servers. */
bool case_serves_rpc(const struct reader *c);
/* Returns the GPUs of a replica of a model server. */
double case_replica_gpus(const struct case_params *params);
/* Refuses replicas of several GPUs, or for prompts only, in a case that does not serve. */
void case_refuse_layout(struct reader *c);
/* Returns the first parameter that gives it several. */
const char *case_replica_key(const struct case_params *params);
/* Sets the defaults of such a case, and the number of GPUs that it needs. */
void case_serve_want(struct reader *c);
/* Applies the file of case.engine: its groups set parameters that the case does not set. */
void case_read_engine(struct reader *c);
/* Lets a group of a file set the parameters NAME.* of a table that the case does not set. */
void case_defaults(struct reader *c, const struct cfg_node *group, const char *name,
		   const struct param_table *table);
/* Turns the clients, which were read, into replicas of services. */
void case_read_services(struct reader *c);

/* Returns true if the case has data-parallel jobs or a collective. */
bool case_is_job(const struct reader *c);
/* Reads the settings of the case's jobs before the topology is read, and counts the GPUs that
 * they need. */
void case_jobs_want(struct reader *c);
void case_read_jobs(struct reader *c);
/* Reports an error for each key that the case sets and that has no effect in it. */
void case_refuse_unused(struct reader *c);

/* Notes on which measurements the parameters of a profile were fitted. */
void case_note_evidence(struct reader *c, const struct cfg_node *file);
/* Reports parameters of a file of prices that are unknown or set twice (case_cost.c). NULL: none.
 */
void case_check_prices(struct reader *c, const struct cfg_node *file);
/* Reads prices and power, if the case asks for them (case_cost.c). */
void case_read_costs(struct reader *c);
/* Accepts prices of GPUs and machines that the case lacks, if the request is one of several. */
void case_allow_prices(struct reader *c);
/* Reads the parameters of the model error, after everything else. */
void case_read_error(struct reader *c);
