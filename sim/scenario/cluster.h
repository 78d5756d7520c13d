/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cluster consists of many copies of one or more machine templates, and a network between
 * them.
 *
 *   cluster = { machine = "dgx1-v100"; count = 0; network = "infiniband-edr"; };
 *
 * The template is a file of topologies/machines/ with a group `machine`. It is a topology of
 * one host, which is called "host" there. Its copies are called n0, n1 and so on: host "n0",
 * guest "n0.os", GPU "n0.gpu0", link "n0.slot0". Its parameters host.node.*, guest.os.* and
 * link.slot0.* are read once and hold for all copies. A guest without a link is connected to its
 * host by a link with the bandwidth of the host's memory. Its messages then share the machine's
 * PCIe links with the copies of the GPUs. The list `ports` names the nodes to which the
 * network's cables are connected.
 *
 * The network is a file of topologies/networks/ or a group in place. It has a kind of wiring
 * (wiring.h) with parameters wiring.*, and one kind of cable with parameters link.network.*.
 * With count = 0 the cluster has as many machines as the jobs of the case need. */
#pragma once

#include "sim/scenario/topology.h"

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
