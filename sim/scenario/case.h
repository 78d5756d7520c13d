/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What case.c (files) and the readers of its jobs share: case_clients.c, case_ranks.c,
 * case_job.c. */
#ifndef FARWIRE_SCENARIO_CASE_H
#define FARWIRE_SCENARIO_CASE_H

#include "sim/scenario/read.h"

enum { CLIENTS_MAX = 10000 };

struct case_reader {
	struct reader reader;
	const struct case_request *request;
	const struct cfg_node *file;  /* of the case, or NULL */
	const struct cfg_node *group; /* `case` of it, or NULL */
	struct case_params *params;
	struct scenario *scenario;
	/* chosen once a case */
	const struct stack_params *stack;
	const struct runtime_params *runtime;
	const struct transport_kind *transport;
	const void *transport_params;
	const struct recorded_program *recorded; /* NULL: a modelled one */
	const struct network *calls_network;     /* its name, for those who ask */
	const struct cfg_node *stack_phases;     /* group `phases` of the stack's file, or NULL */
	struct job_said *jobs;                   /* what the case says of each job */
	size_t job_count;
};

struct origin case_origin(const struct case_reader *c);
/* Where the case got its value of path ("case.model") from. */
struct origin case_said(const struct case_reader *c, const char *path);
/* Reads `folder`/name, said at origin, and returns its group called `group`; NULL
 * after errors. */
const struct cfg_node *case_group(struct case_reader *c, struct origin origin, const char *folder,
				  const char *what, const char *name, const char *group,
				  const struct cfg_node **file);
void case_transport(struct case_reader *c, const struct cfg_node *file);
const struct network *case_network(struct case_reader *c, struct origin origin, const char *name);
const struct efficiency_params *case_efficiency(struct case_reader *c, const char *gpu,
						const char *model);

/* The group `stack` of its file, whose group `input` is heeded from then on (case_stack.c);
 * NULL: there is none, which has been said. */
const struct cfg_node *case_find_stack(struct case_reader *c);
void case_read_stack(struct case_reader *c, const struct cfg_node *node);

/* A recorded program in place of network and stack (case_calls.c). */
void case_read_calls(struct case_reader *c);
/* batch_count, model: what the client says of itself; 0, "": nothing. */
void case_calls_client(struct case_reader *c, struct job_entry *client, double batch_count,
		       const char *model);

/* Its clients: programs of one GPU each (case_clients.c). */
void case_read_clients(struct case_reader *c);
/* The case is one job of programs on several GPUs (case_ranks.c). */
bool case_has_ranks(const struct case_reader *c);
void case_read_ranks(struct case_reader *c);
/* The guest in front of a GPU: name, or the first one of its host; the guest in which the
 * copy-th program runs: name, "spread" or in front of its GPU. SIZE_MAX after an error. */
size_t case_place_server(struct case_reader *c, struct origin origin, const char *name,
			 const struct gpu_entry *gpu);
size_t case_place_program(struct case_reader *c, struct origin origin, const char *name,
			  size_t server, size_t copy);
/* Network, exchange and library of a job (case_job.c). */
void case_read_model(struct case_reader *c, size_t index, struct job_entry *entry);
void case_find_exchange(struct case_reader *c, size_t index, struct job_entry *entry);

/* Whether the case is a training job, several, or a collective. */
bool case_is_job(const struct case_reader *c);
/* Before the topology is read: what the case says of its jobs, and how many GPUs
 * they need. */
void case_jobs_want(struct case_reader *c);
void case_read_jobs(struct case_reader *c);
/* What jobs do around their steps, if the case asks for their time from launch to end
 * (case_phases.c). */
void case_read_phases(struct case_reader *c, struct job_entry *jobs);
/* Of other cases: what they say that only a job heeds is an error. */
void case_refuse_training(struct case_reader *c);

/* Sets what a profile's list of parameters says. */
void case_apply_parameters(struct case_reader *c, const struct cfg_node *list, const char *profile);
/* The model's own error: what fits found, and, when all is read, the parameter. */
void case_apply_error_profile(struct case_reader *c);
void case_read_error(struct case_reader *c);

#endif
