/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that the readers of a case share. */
#pragma once

#include "sim/scenario/evidence.h"

/* The GPUs or adapters of each machine that programs see (devices.c): a list of names or indices,
 * as in CUDA_VISIBLE_DEVICES and NCCL_IB_HCA. */
struct chosen {
	const char *name;
	bool is_index, used; /* used: some machine has it */
};
struct choice {
	const char *key;
	struct origin origin;
	bool adapters;
	bool excludes, exact; /* "^": all others; false: names begin like this */
	VEC(struct chosen) items;
	VEC(const char *) names; /* of the devices that were met */
};

struct reader {
	struct arena *arena;
	struct diag *diag;
	struct cfg_resolution *resolution;
	const char *root;
	/* Number of GPUs that the case's jobs need, in all and on each machine. Clusters with
	 * count = 0 use them. 0: one machine. */
	size_t gpus_wanted, gpus_per_machine_wanted;
	/* Sizes of groups of neighbouring ranks that should not straddle machines; 0: none. */
	size_t group_sizes[3];
	/* true: this is the first of two readings (sim/scenario/fold.h). A cluster is read with
	 * one machine of each kind, and the reading sets fold and top, the topmost switch.
	 * false: `fold` is given, and a cluster is read with one machine of each class; NULL:
	 * with all machines. */
	bool may_fold;
	struct fold *fold;
	const char *top;
	struct choice *devices, *adapters; /* NULL: all of each machine */

	/* ---- what only the case_*.c files use ---- */
	const struct case_request *request;
	const struct cfg_node *file;  /* the case file; NULL: none */
	const struct cfg_node *group; /* group `case` of the file; NULL: none */
	struct case_params *params;
	struct scenario *scenario;
	/* chosen once for the whole case */
	const struct stack_params *stack;
	const struct runtime_params *runtime;
	const struct transport_kind *transport;
	const void *transport_params;
	const struct recorded_program *recorded; /* NULL: the program is modelled */
	const struct network *calls_network;     /* a network with only the recording's name */
	const struct kernel_params *kernels[GENERATION_COUNT];            /* NULL: not read yet */
	const struct collective_constants *collectives[GENERATION_COUNT]; /* NULL: not read yet */
	const struct cfg_node *stack_phases;   /* group `phases` of the stack's file, or NULL */
	VEC(struct evidence) evidence;         /* what the profiles in use were fitted on */
	bool own_profile;                      /* the case's profile does not say this */
	const struct plan_params *plan_params; /* NULL: the case has no plan */
	struct job_request *jobs;              /* the settings of each job in the case */
	size_t job_count;
};

/* Returns how many of a machine's GPUs jobs use. Without gpus_per_machine_wanted it is the largest
 * number with which no group straddles machines, unless that leaves most GPUs out. */
size_t reader_gpus_used(const struct reader *reader, size_t has);

/* Returns the choice that the text states; NULL: the text is empty. Errors are reported at origin.
 */
struct choice *choice_new(struct reader *reader, const char *key, const char *text, bool adapters,
			  struct origin origin);

/* Fills *params as cfg_params does. All keys of the group are rows of the table. */
bool reader_params(struct reader *reader, const struct cfg_node *node, const char *prefix,
		   const char *thing, const struct param_table *table, void *params);
/* Returns false after an error, if the name of an object is not allowed: options such as
 * --set link.*.latency=X and --degrade a=0.5,b=0.5 use the names. */
bool reader_name(struct reader *reader, struct origin origin, const char *what, const char *name);
/* The same for an entry of a list of things of one kind. Its parameters are "<kind>.<path>.<key>",
 * and messages call it "kind 'name'". The caller reads the keys of also[also_count]. */
bool reader_item(struct reader *reader, const struct cfg_node *group, const char *kind,
		 const char *path, const char *name, const struct param_table *table,
		 const char *const *also, size_t also_count, void *params);
/* Fills *topology from the file. Errors are in diag. */
void read_topology(struct reader *reader, const struct cfg_node *file, const char *path,
		   struct topology *topology);
/* Returns true if the topology has a link between hosts that carries that traffic (enum
 * traffic). */
bool topology_has_network(const struct topology *topology, unsigned traffic);

/* Returns the index of the entry called `name` among `count` structs of `size` bytes, whose
 * first field is the name. Returns SIZE_MAX after an error with a suggestion. */
size_t reader_find(struct reader *reader, struct origin origin, const char *what, const char *name,
		   const void *entries, size_t count, size_t size);
