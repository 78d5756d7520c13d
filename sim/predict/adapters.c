/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/adapters.h"

#include "sim/base/arena.h"
#include "sim/engine/names.h"
#include "sim/fabric/link.h"
#include "sim/transport/transport.h"

/* Returns the names of the nodes that links inside the host connect with it. */
static struct names *nodes_of(struct arena *arena, const struct topology *t, const char *host)
{
	struct names *nodes = names_new(arena);
	names_add(nodes, host);
	for (size_t before = 0; before < names_count(nodes);) {
		before = names_count(nodes);
		for (size_t i = 0; i < t->link_count; i++) {
			const char *const *ends = t->links[i].ends;
			if (t->links[i].kind->inside_host &&
			    (names_find(nodes, ends[0]) >= 0 || names_find(nodes, ends[1]) >= 0)) {
				names_add(nodes, ends[0]);
				names_add(nodes, ends[1]);
			}
		}
	}
	return nodes;
}

const char *idle_adapters(struct arena *arena, const struct scenario *scenario,
			  const struct world_outcome *outcome)
{
	const struct topology *t = &scenario->topology;
	const struct job_entry *job = &scenario->jobs[0];
	if (!scenario_transport(scenario) || !job->transport ||
	    outcome->link_count != 2 * t->link_count)
		return NULL;
	const char *host = t->hosts[t->guests[job->guests[0]].host].name;
	struct arena *scratch = arena_new();
	const struct names *nodes = nodes_of(scratch, t, host);
	size_t idle = 0, count = 0;
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_entry *link = &t->links[i];
		if (link->kind->inside_host ||
		    (names_find(nodes, link->ends[0]) < 0 && names_find(nodes, link->ends[1]) < 0))
			continue;
		count++;
		idle += outcome->links[2 * i].carried_B <= 0 &&
			outcome->links[2 * i + 1].carried_B <= 0;
	}
	arena_free(scratch);
	if (idle == 0 || idle == count)
		return NULL;
	return arena_printf(
		arena, "%zu of %zu adapters of %s carry nothing, because %s", idle, count, host,
		job->transport->sockets
			? "all connections of a machine use one adapter (a library that opens "
			  "sockets on all of them, as NCCL does, can be several times faster)"
			: "each GPU uses the nearest one");
}
