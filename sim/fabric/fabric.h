/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared things and the flows that use them.
 *
 * A RESOURCE has a capacity: a direction of a link (bytes/s), a host's memory
 * (bytes/s), a core (core-seconds/s, capacity 1), a GPU's compute engine
 * (GPU-seconds/s, capacity 1). A FLOW moves `size` units and uses
 * several resources at once, a(f, r) of resource r for each unit: a byte of
 * TCP payload costs 1538/1448 bytes of the wire and some core-seconds at both
 * ends. Concurrent flows share by weighted max-min fairness with a cap for
 * each: the rates x(f) satisfy sum over f of a(f, r) x(f) <= C(r), and no rate
 * can be raised without lowering one whose x/weight is no larger.
 *
 * A flow ends when its last unit has entered; latency is added by whoever
 * knows what the flow means. End times are rounded up to the next picosecond.
 *
 * Rates change only when a flow starts, ends, or changes its cap, or a
 * capacity changes; only the flows connected with the change through shared
 * resources are solved again (the affected component). Changes at one instant
 * are solved together, once.
 *
 * NODES and LINKS give the topology: a link joins two nodes and is two
 * directed resources (one for each direction); a route is the list of
 * directed links of a shortest path (least latency, then fewest hops, then
 * canonical names), so the order of the configuration changes nothing.
 */
#ifndef FARWIRE_FABRIC_FABRIC_H
#define FARWIRE_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine/engine.h"

struct arena;
struct fabric;
struct link_kind;

struct fabric *fabric_new(struct arena *arena, struct engine *engine);

/* ---- resources ---- */

/* Names are unique; capacity > 0 in units/s. Returns the resource's index. */
int fabric_resource_add(struct fabric *fabric, const char *name, double capacity);
void fabric_capacity_set(struct fabric *fabric, int resource, double capacity);
double fabric_capacity(const struct fabric *fabric, int resource);
size_t fabric_resource_count(const struct fabric *fabric);
const char *fabric_resource_name(const struct fabric *fabric, int resource);
/* Units that have passed since the start (integrated up to now). */
double fabric_carried(struct fabric *fabric, int resource);
/* Seconds since the start in which at least one flow used it. */
double fabric_busy_s(struct fabric *fabric, int resource);
size_t fabric_flows_on(const struct fabric *fabric, int resource);

/* ---- flows ---- */

enum { FLOW_USES_MAX = 32 };

struct flow_use {
	int resource;
	double per_unit; /* a(f, r) > 0 */
};

struct flow_spec {
	double size;                         /* units > 0, e.g. payload bytes */
	double cap;                          /* units/s; 0: none */
	double weight;                       /* 0: 1 */
	struct flow_use uses[FLOW_USES_MAX]; /* no resource twice */
	size_t use_count;                    /* may be 0 if cap > 0 */
	event_fn *done;                      /* called once, when the last unit has entered */
	void *ctx;
	uint64_t arg;
	/* Of fabric_flow_pass: what it takes alone, after so many changes of capacities. */
	int64_t alone_ps;
	uint64_t alone_changes; /* 0: not known */
};

struct flow_id { /* {0} is never an active flow */
	uint32_t slot;
	uint32_t serial;
};

struct flow_id fabric_flow_start(struct fabric *fabric, const struct flow_spec *spec);
/* In place of that, as the last thing that an event does: if the flow meets nobody and
 * nothing else is to happen until it ends, it is over now, at its end, and true is
 * returned in place of a call of done (engine_pass). */
bool fabric_flow_pass(struct fabric *fabric, struct flow_spec *spec);
/* Changes the cap of an active flow (0: none); false if it has ended. */
bool fabric_flow_cap_set(struct fabric *fabric, struct flow_id id, double cap);
/* Ends it without calling done; false if it has ended. */
bool fabric_flow_cancel(struct fabric *fabric, struct flow_id id);
double fabric_flow_rate(struct fabric *fabric, struct flow_id id); /* 0: ended */
/* exported: tests count the flows that are left */
size_t fabric_flow_count(const struct fabric *fabric); /* active */

/* ---- topology ---- */

/* What a link does to whatever crosses it, worked out from its parameters by
 * its kind. [0]: from a to b, [1]: back. */
struct link_traits {
	double capacity_Bps[2];   /* raw, framing included */
	double latency_s;         /* one way, switching at its far end included */
	double packet_payload_B;  /* most bytes in a packet (IP MTU, TLP payload); 0: no packets */
	double packet_overhead_B; /* bytes on the wire beyond that, a packet */
	double loss_ratio[2];     /* chance that a packet is lost */
	double unmoderated_loss_ratio[2]; /* ... when the receiving NIC interrupts
					     for every packet; 0: the same */
	bool physical_nic;                /* receiving from it goes through a physical NIC */
	/* It cuts whatever crosses it into packets of its own (PCIe TLPs, NVLink
	 * flits, cache lines), unseen by the ends: no part in a route's MTU. */
	bool own_packets;
};

struct link_kind; /* sim/fabric/link.h */

/* What may cross a link, a bit each. Of a route: its links each carry one of them. */
enum traffic {
	TRAFFIC_ANY = 0,     /* of a route: over whatever links there are */
	TRAFFIC_COPIES = 1,  /* reads and writes of a host's and its devices' memory */
	TRAFFIC_PEERS = 2,   /* ... of other GPUs' memory, over links of the GPUs' own */
	TRAFFIC_SOCKETS = 4, /* TCP/IP */
	TRAFFIC_RDMA = 8,
	TRAFFIC_SHARED = 16, /* messages in memory that two guests of a host share */
	/* With others, of a route: only links that leave hosts. */
	TRAFFIC_BETWEEN_HOSTS = 32,
};

int fabric_node_add(struct fabric *fabric, const char *name);        /* unique */
int fabric_node_find(const struct fabric *fabric, const char *name); /* or -1 */
size_t fabric_node_count(const struct fabric *fabric);
const char *fabric_node_name(const struct fabric *fabric, int node);
int fabric_link_add(struct fabric *fabric, const char *name, const struct link_kind *kind,
		    int node_a, int node_b, const struct link_traits *traits);
size_t fabric_link_count(const struct fabric *fabric);
const char *fabric_link_name(const struct fabric *fabric, int link);
const struct link_kind *fabric_link_kind(const struct fabric *fabric, int link);
const struct link_traits *fabric_link_traits(const struct fabric *fabric, int link);
void fabric_link_nodes(const struct fabric *fabric, int link, int *node_a, int *node_b);
/* The resource of a link's direction (0: a to b). */
int fabric_link_resource(const struct fabric *fabric, int link, int direction);

struct hop {
	int link;
	int direction; /* 0: a to b, 1: b to a */
};

struct route {
	const struct hop *hops; /* count of them, borrowed from the fabric */
	size_t count;
	double latency_s;  /* sum over the hops */
	double mtu_B;      /* least packet_payload_B > 0 of the hops without
			      own_packets; 0: none */
	double loss_ratio; /* 1 - product of (1 - loss) */
	bool physical_nic; /* of any hop */
};

/* The route, found once and kept; NULL if there is none. from == to gives an
 * empty route. Only links that carry some of the traffic (enum traffic) are taken.
 * Back from `to` to `from` goes over the same links. */
const struct route *fabric_route(struct fabric *fabric, int from, int to, unsigned traffic);

/* Bytes on link for `payload_B` bytes of a message that travels in packets
 * with header_B bytes of headers of their own inside each packet (TCP/IP: 52,
 * a tunnel: more) and at most mtu_B bytes (0: the link's own) in one:
 *   packets = ceil(payload / (mtu - header)), at least 1;
 *   wire = payload + packets (header + overhead).
 * A link with own_packets cuts the packets' bytes again:
 *   crossing = payload + packets header;
 *   wire = crossing + ceil(crossing / its packet_payload) overhead.     */
double link_wire_B(const struct link_traits *traits, double mtu_B, double header_B,
		   double payload_B);
/* Seconds for a byte of payload alone on the route's slowest link, headers apart; 0: none. */
double route_least_spB(const struct fabric *fabric, const struct route *route);

/* Adds the hops of route to spec->uses with their framing. */
void route_uses(const struct fabric *fabric, const struct route *route, double header_B,
		double payload_B, struct flow_spec *spec);

/* ---- checks ---- */

/* Messages of size_B were delivered that had crossed the route: each of its links must
 * have carried that (fabric_account). copies[r]: resources for which r stands, of which each
 * has carried its part; NULL: 1. */
void fabric_delivered(struct fabric *fabric, const struct route *route, double size_B,
		      const double *copies);

/* What must hold at any time of every run, else engine_fail; a pass over resources and
 * active flows, for the ends of windows and runs:
 *   - no resource has carried more than its capacity in the time it was in use, nor been
 *     in use for longer than there was time;
 *   - links have carried all that was delivered over them;
 *   - each flow that was started is over, or will be: none is forgotten.
 * What can be told when a flow ends is checked then: it has moved its size, at no more
 * than its cap, and not faster than any of its resources could have alone. */
void fabric_account(struct fabric *fabric);
/* "3 flows, the first over 'wire a>b', 'h.dram'" in arena; NULL: none is active. */
const char *fabric_unfinished(const struct fabric *fabric, struct arena *arena);

#endif
