/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One direction between two ends: properties that every transport needs. */
#pragma once

#include "sim/engine/trace.h"
#include "sim/fabric/fabric.h"
#include "sim/transport/loss.h"
#include "sim/transport/transport.h"

/* A CPU's copy reads and writes memory: bytes of memory traffic per byte copied. */
#define DRAM_PER_COPY 2.0
/* A NIC or an engine reads or writes each byte once. */
#define DRAM_PER_DMA 1.0

struct path {
	const struct route *route;
	struct connection_end from, to;
	double latency_s; /* latency of the links and both virtual NICs */
	int64_t latency_ps;
	double least_spB; /* seconds per payload byte on its slowest link */
	uint64_t key;     /* of its flows in the network (flow_spec.key) */
	const char *name; /* of its track in the trace */
	uint32_t track;
	bool track_known;
};

/* Finds the path from end `from` to the other end. Returns false if there is none over links that
 * carry the traffic. */
bool path_find(const struct connection_spec *spec, int from, unsigned traffic, struct path *path);

void path_latency_set(struct path *path, double latency_s);

/* Counts a message of size_B as delivered over the path of direction `index`; it was given to the
 * transport at sent_ps. Calls engine_fail if it was never sent, or arrives earlier than latency and
 * bandwidth allow. */
void path_delivered(const struct connection_spec *spec, const struct path *path, int index,
		    double size_B, int64_t sent_ps, struct connection_counters *counters);

/* Makes what selects the lost packets of direction `index`, and decides whether long messages fail.
 */
void path_losses(const struct connection_spec *spec, const struct path *path, int index,
		 struct loss *loss, struct loss *fate);

/* Sends a packet that opens a connection. Returns true if it is lost, which is counted. */
bool control_lost(struct loss *loss, struct connection *connection);

/* Records a message on the path's track, from start_ps until now. label may be NULL. */
void path_trace(struct path *path, struct engine *engine, enum span_kind kind, const char *label,
		int64_t start_ps);

/* Calls fn, the arrival, one latency after the last byte has left: at once if `last` says that
 * nothing else leaves and no other event comes before (engine_pass). */
static inline void path_arrive(const struct path *path, struct engine *engine, bool last,
			       event_fn *fn, void *ctx)
{
	int64_t there_ps = engine_now_ps(engine) + path->latency_ps;
	if (last && engine_pass(engine, there_ps))
		fn(ctx, 0);
	else
		engine_do_at(engine, there_ps, fn, ctx, 0);
}

/* Starts the flow. A flow without uses takes no time: then done is called by an event of the
 * current time, and {0} is returned. */
struct flow_id flow_start(struct engine *engine, struct fabric *fabric,
			  const struct flow_spec *flow);
/* Replaces flow_start as the last action of an event. Returns true if the flow has ended already
 * (fabric_flow_pass). */
static inline bool flow_pass(struct engine *engine, struct fabric *fabric, struct flow_spec *flow)
{
	if (flow->use_count > 0 || flow->cap > 0)
		return fabric_flow_pass(fabric, flow);
	return engine_pass(engine, engine_now_ps(engine));
}

/* Messages have few different sizes, and their costs follow from the size. So computed costs are
 * kept until another size needs the same place. */
enum { KEPT = 16 };
static inline size_t kept_place(double size_B) /* < KEPT */
{
	uint64_t bits;
	memcpy(&bits, &size_B, sizeof bits);
	return bits * 0x9E3779B97F4A7C15u >> 32 & (KEPT - 1);
}

/* Flows kept in this way: the resources that a message uses per byte follow from its packets. */
struct kept_flows {
	struct flow_spec *flows[KEPT]; /* NULL until used */
};
/* Returns the place for flows of that size. If the stored flow has another size (0 at first), the
 * caller must fill it. */
static inline struct flow_spec *kept_flow(struct arena *arena, struct kept_flows *kept,
					  double size_B)
{
	struct flow_spec **place = &kept->flows[kept_place(size_B)];
	if (!*place)
		*place = ARENA_NEW(arena, struct flow_spec);
	return *place;
}
