/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads topologies. topology.c, machine.c and cluster.c share these declarations.
 *
 * A topology consists of the objects that its file lists (hosts, guests, gpus, switches, links)
 * and of the machines of a cluster. The same functions read a machine template as a topology of
 * one host. The template is read once and copied under new names, so that its parameters are
 * read and recorded once for all machines. */
#pragma once

#include "sim/engine/names.h"
#include "sim/scenario/read.h"

struct gpu_profile {
	const char *name, *like;
	struct gpu_params params;
};

/* GPU profiles that were read. Each profile is read once for the whole topology. */
struct gpu_profiles {
	VEC(struct gpu_profile) list;
};

struct topology_build {
	struct reader *reader;
	const char *path;    /* path of the topology file; files that it names may be next to it */
	const char *tag;     /* precedes names in parameter paths, link.<tag><name>; or "" */
	bool one_host;       /* a machine template: all guests and GPUs are on host 0 */
	struct names *nodes; /* names of hosts, guests, GPUs and switches */
	struct names *names; /* names of `nodes` and of links */
	struct gpu_profiles *profiles;
	VEC(struct host_entry) hosts;
	VEC(struct guest_entry) guests;
	VEC(struct gpu_entry) gpus;
	VEC(const char *) switches;
	VEC(struct link_entry) links;
	VEC(struct alias_entry) aliases;
};

struct topology_build *topology_build_new(struct reader *reader, const char *path,
					  struct gpu_profiles *profiles);

/* Returns the text of group.key. Returns NULL after an error, which names `thing`. */
const char *topology_text(struct reader *reader, const struct cfg_node *group, const char *key,
			  const char *thing);
/* Registers a name. Returns false after an error, if the name is in use or not allowed. */
bool topology_name(struct topology_build *build, struct origin origin, const char *what,
		   const char *name, bool is_node);
void topology_read_host(struct topology_build *build, const struct cfg_node *group,
			const char *name, const char *path);
/* Reads one list of node. A list must be read after those to which it refers, which precede it
 * here. */
enum topology_list { LIST_HOSTS, LIST_GUESTS, LIST_GPUS, LIST_SWITCHES, LIST_LINKS, LIST_ALIASES };
void topology_read_list(struct topology_build *build, const struct cfg_node *node,
			enum topology_list which);
/* Reads kind and traits of a link. Its parameters are link.<name>.*. Returns false after errors. */
bool topology_read_link(struct topology_build *build, const struct cfg_node *group,
			const char *name, const char *const *also, size_t also_count,
			struct link_entry *link);

/* Remove the GPUs and adapters of a machine template that the case does not choose. ports: the
 * nodes at which cables of the network end. */
void choose_of_machine(struct topology_build *build, const char *const *ports, size_t port_count);
/* The same for listed hosts, which have the first gpu_count GPUs and switch_count switches. */
void choose_of_lists(struct topology_build *build, size_t gpu_count, size_t switch_count);
/* Reports items that no machine has. choice may be NULL. */
void choice_check(struct reader *reader, const struct choice *choice, const char *topology);

/* ---- machine.c and cluster.c ---- */

/* A machine template. */
struct machine {
	const char *name;
	const struct topology_build *build; /* has one host, called "host" */
	VEC(const char *) ports;            /* names of the template's nodes that cables join */
};

/* Reads the template `name`; errors are reported at origin. Its host parameters are
 * host.<path>.*, and `tag` precedes names of guests and links in parameter paths. Returns NULL
 * after errors. */
const struct machine *machine_read(struct topology_build *build, struct origin origin,
				   const char *name, const char *path, const char *tag);
/* Returns the name that node `name` of a template has in a copy. */
const char *machine_node(struct topology_build *build, const char *copy, const char *name);
/* Adds a copy called `name` that represents `copies` machines. */
void machine_add(struct topology_build *build, const struct machine *machine, struct origin origin,
		 const char *name, double copies);

/* Adds the machines and the network of the group `cluster` to the topology. */
void cluster_read(struct topology_build *build, const struct cfg_node *cluster);
