/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a topology, what its files share (topology.c, machine.c,
 * cluster.c).
 *
 * A topology is built from what its file lists (hosts, guests, gpus, switches,
 * links) and from machines of a cluster. A machine's template is read by the
 * same functions as a topology of one host, once, and then copied under new
 * names: its parameters are read and recorded once, however many machines there
 * are.
 */
#ifndef FARWIRE_SCENARIO_TOPOLOGY_H
#define FARWIRE_SCENARIO_TOPOLOGY_H

#include "sim/engine/names.h"
#include "sim/scenario/read.h"

struct gpu_profile {
	const char *name, *like;
	struct gpu_params params;
};

/* GPU profiles that were read: each once for the whole topology. */
struct gpu_profiles {
	VEC(struct gpu_profile) list;
};

struct topology_build {
	struct reader *reader;
	const char *path;    /* of the file, for files beside it */
	const char *tag;     /* in paths: link.<tag><name>; "" */
	bool one_host;       /* a machine: its guests and GPUs are on host 0 */
	struct names *nodes; /* hosts, guests, GPUs, switches */
	struct names *names; /* and links */
	struct gpu_profiles *profiles;
	VEC(struct host_entry) hosts;
	VEC(struct guest_entry) guests;
	VEC(struct gpu_entry) gpus;
	VEC(const char *) switches;
	VEC(struct link_entry) links;
};

struct topology_build *topology_build_new(struct reader *reader, const char *path,
					  struct gpu_profiles *profiles);

/* The text of group.key; NULL after an error that names the thing. */
const char *topology_text(struct reader *reader, const struct cfg_node *group, const char *key,
			  const char *thing);
/* Takes the name for itself; false after an error. */
bool topology_name(struct topology_build *build, struct origin origin, const char *what,
		   const char *name, bool is_node);
void topology_read_host(struct topology_build *build, const struct cfg_node *group,
			const char *name, const char *path);
/* Read the lists of those names in node, each of them after what it refers to. */
void topology_read_guests(struct topology_build *build, const struct cfg_node *node);
void topology_read_gpus(struct topology_build *build, const struct cfg_node *node);
void topology_read_switches(struct topology_build *build, const struct cfg_node *node);
void topology_read_links(struct topology_build *build, const struct cfg_node *node);
/* Kind and traits of a link from its group, recorded as link.<name>.*; false after
 * errors. */
bool topology_read_link(struct topology_build *build, const struct cfg_node *group,
			const char *name, const char *const *also, size_t also_count,
			struct link_entry *link);

#endif
