/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One direction between two ends: what every transport needs to know of it. */
#ifndef FARWIRE_TRANSPORT_PATH_H
#define FARWIRE_TRANSPORT_PATH_H

#include <stdbool.h>

#include "sim/fabric/fabric.h"
#include "sim/transport/transport.h"

/* A CPU's copy reads and writes memory: bytes of DRAM for each byte copied. */
#define DRAM_PER_COPY 2.0
/* A NIC or an engine reads or writes each byte once. */
#define DRAM_PER_DMA 1.0

struct path {
	const struct route *route;
	struct connection_end from, to;
	double latency_s; /* the links' and both virtual NICs' */
	int64_t latency_ps;
	double least_spB; /* a byte of payload on its slowest link */
};

/* The way from end `from` to the other; false if there is none over links that carry the
 * traffic. */
bool path_find(const struct connection_spec *spec, int from, unsigned traffic, struct path *path);

void path_latency_set(struct path *path, double latency_s);

/* Counts a message of size_B, given to the transport at sent_ps, as delivered over the path
 * of direction `index`. What must hold of it, else engine_fail: it was sent, and before
 * latency and bandwidth allow it is not there. */
void path_delivered(const struct connection_spec *spec, const struct path *path, int index,
		    double size_B, int64_t sent_ps, struct connection_counters *counters);

/* Adds per_unit of resource to the flow's uses, to the use that it may already
 * have of it. */
void flow_use_add(struct flow_spec *flow, int resource, double per_unit);
/* The rate that the flow would have alone. */
double flow_alone(const struct fabric *fabric, const struct flow_spec *flow);
/* Starts it, or, when it uses nothing and so takes no time, calls done by an
 * event at once and returns {0}. */
struct flow_id flow_start(struct engine *engine, struct fabric *fabric,
			  const struct flow_spec *flow);
/* In place of that, as the last thing that an event does: true if it is over at once
 * (fabric_flow_pass). */
bool flow_pass(struct engine *engine, struct fabric *fabric, struct flow_spec *flow);

/* Messages of a few sizes come again and again, and what they cost follows from their
 * sizes: what was worked out for one is kept until another size needs its place. */
enum { KEPT = 16 };
size_t kept_place(double size_B); /* < KEPT */

/* Flows that are kept like this: what a message takes of each link for a byte follows
 * from its packets. */
struct kept_flows {
	struct flow_spec *flows[KEPT]; /* NULL until used */
};
/* The place of flows of that size, which is the caller's to fill if what lies there is
 * of another size (0 at first). */
struct flow_spec *kept_flow(struct arena *arena, struct kept_flows *kept, double size_B);

#endif
