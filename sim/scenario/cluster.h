/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clusters: many machines after one template, joined by a wiring.
 *
 *   cluster = { machine = "dgx1-v100"; count = 0; network = "infiniband-edr"; };
 *
 * The template (a file of topologies/machines/, group `machine`) is a topology
 * of one host, called "host" there. Its copies are n0, n1 ...: host "n0", guest
 * "n0.os", GPU "n0.gpu0", link "n0.slot0". Its parameters are read once, as
 * host.node.*, guest.os.*, link.slot0.*, and hold for all copies. A guest at
 * which no link of the template ends is joined to its host by a link as fast as
 * the host's memory, so that its messages share the machine's PCIe with the
 * GPUs' copies. `ports` names the nodes to which the network's cables go.
 *
 * The network is a file of topologies/networks/ or a group in place: a kind of
 * WIRING (wiring.h) with its parameters as wiring.*, and one kind of cable,
 * link.network.*. With count = 0 there are as many machines as the case's jobs
 * need.
 */
#ifndef FARWIRE_SCENARIO_CLUSTER_H
#define FARWIRE_SCENARIO_CLUSTER_H

#include "sim/scenario/topology.h"

struct machine { /* a template */
	const char *name;
	const struct topology_build *build; /* of one host, called "host" */
	VEC(const char *) ports;            /* names of its nodes */
};

/* The template of that name, said at origin. path: "host.<path>.*"; tag: before
 * the names of guests and links in paths. NULL after errors. */
const struct machine *machine_read(struct topology_build *build, struct origin origin,
				   const char *name, const char *path, const char *tag);
/* The name in a copy of what the template calls name. */
const char *machine_node(struct topology_build *build, const char *copy, const char *name);
/* Adds a copy called name, that stands for so many. */
void machine_add(struct topology_build *build, const struct machine *machine, struct origin origin,
		 const char *name, double copies);

/* Adds what the group `cluster` of a topology says. */
void cluster_read(struct topology_build *build, const struct cfg_node *cluster);

#endif
