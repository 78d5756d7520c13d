/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared resources, and the flows that use them.
 *
 * A resource has a capacity. Examples are a direction of a link (bytes/s), a host's memory
 * (bytes/s), a core (core-seconds/s, capacity 1) and a GPU's compute engine (GPU-seconds/s,
 * capacity 1). A flow moves `size` units and uses several resources at once, with the amount a(f,
 * r) of resource r per unit. For example, a byte of TCP payload takes 1538/1448 bytes of the wire
 * and some core-seconds at both ends.
 *
 * Concurrent flows share by weighted max-min fairness, with an optional cap for each flow. The
 * rates x(f) satisfy sum over f of a(f, r) x(f) <= C(r). No rate can be increased without
 * decreasing one whose x/weight is no larger.
 *
 * A flow ends when its last unit has entered. The caller adds latency. End times are rounded up to
 * the next picosecond.
 *
 * Rates change only when a flow starts, ends or changes its cap, or when a capacity changes. Only
 * flows that are connected with the change through shared resources are solved again (the affected
 * component). Changes at the same time are solved together.
 *
 * Nodes and links form the topology. A link connects two nodes and consists of two directed
 * resources, one for each direction. A route is the list of directed links of a shortest path:
 * least latency, then fewest hops. Paths that are equal in both are spread over pairs of nodes
 * (route.c). So the order of the configuration has no influence.
 */
#pragma once

#include "sim/engine/engine.h"

struct fabric;
struct link_kind;

struct fabric *fabric_new(struct arena *arena, struct engine *engine);

/* ---- resources ---- */

/* Adds a resource with a unique name and a capacity > 0 in units/s. Returns its index. */
int fabric_resource_add(struct fabric *fabric, const char *name, double capacity);
void fabric_capacity_set(struct fabric *fabric, int resource, double capacity);
double fabric_capacity(const struct fabric *fabric, int resource);
size_t fabric_resource_count(const struct fabric *fabric);
const char *fabric_resource_name(const struct fabric *fabric, int resource);
/* Returns the units that have passed so far. */
double fabric_carried(struct fabric *fabric, int resource);
/* Returns the same in less time, or -1 if a flow uses the resource. */
double fabric_carried_unused(const struct fabric *fabric, int resource);
/* Returns the seconds so far in which at least one flow used the resource. */
double fabric_busy_s(struct fabric *fabric, int resource);
size_t fabric_flows_on(const struct fabric *fabric, int resource);

/* ---- flows ---- */

/* A flow uses the links of a route, and at its two ends up to 28 cores, pools and memories. */
enum { FLOW_USES_MAX = 64, ROUTE_LINKS_MAX = 32 };

struct flow_use {
	int resource;
	double per_unit; /* a(f, r) > 0 */
};

struct flow_spec {
	double size;                         /* units > 0, for example payload bytes */
	double cap;                          /* units/s; 0: unlimited */
	double weight;                       /* 0 means 1 */
	struct flow_use uses[FLOW_USES_MAX]; /* each resource at most once */
	size_t use_count;                    /* may be 0 if cap > 0 */
	uint64_t key;     /* identity for ECMP; 0: the flow uses all cables of a trunk evenly */
	size_t key_count; /* flows of ECMP into which it is divided evenly; 0 means 1 */
	uint32_t target;  /* port at which it leaves the network; 0: unknown */
	event_fn *done;   /* called once, when the last unit has entered */
	void *ctx;
	uint64_t arg;
	/* Cache of fabric_flow_pass: duration and rate without competitors, and the number of
	 * capacity changes for which they were computed. */
	int64_t alone_ps;
	double alone_rate;
	uint64_t alone_changes; /* 0: not computed yet */
};

/* Adds per_unit of a resource to the flow's uses, or to an existing use of it. */
void flow_use_add(struct flow_spec *flow, int resource, double per_unit);

struct flow_id { /* {0} is never the id of an active flow */
	uint32_t slot;
	uint32_t serial;
};

struct flow_id fabric_flow_start(struct fabric *fabric, const struct flow_spec *spec);
/* Returns the rate of the flow without competitors; INFINITY: it uses no resource. */
double fabric_flow_alone(const struct fabric *fabric, const struct flow_spec *spec);
/* Replaces fabric_flow_start as the last action of an event. If the flow shares nothing and no
 * other event is due before its end, advances the clock to its end and returns true instead of
 * calling done (see engine_pass). Otherwise returns false. */
bool fabric_flow_pass(struct fabric *fabric, struct flow_spec *spec);
/* Changes the cap of an active flow (0: unlimited). Returns false if the flow has ended. */
bool fabric_flow_cap_set(struct fabric *fabric, struct flow_id id, double cap);
/* Ends the flow without calling done. Returns false if it has ended already. */
bool fabric_flow_cancel(struct fabric *fabric, struct flow_id id);
double fabric_flow_rate(struct fabric *fabric, struct flow_id id); /* 0: the flow has ended */
/* exported: tests count the flows that are left */
size_t fabric_flow_count(const struct fabric *fabric); /* number of active flows */

/* ---- topology ---- */

/* How switches choose one of several equal cables for a flow (cables.c). */
enum cable_choice {
	CABLES_SPRAY,    /* each packet takes another cable, so the trunk is one wide link */
	CABLES_ECMP,     /* a hash of the flow chooses */
	CABLES_ADAPTIVE, /* the cable with the fewest flows when the flow starts */
	CABLES_STATIC,   /* the port at which the flow leaves the network chooses */
};

/* The effect of a full egress port of a switch on the flows that meet there (pause.c). */
enum congestion {
	CONGESTION_FAIR,  /* they share it max-min at once */
	CONGESTION_DCQCN, /* the same, but the shared port reaches only a part of its bandwidth */
	CONGESTION_PFC,   /* the port pauses its upstream ports with all of their flows */
};

/* The properties of a link that matter for traffic, computed from its parameters by its kind. Index
 * [0] is from a to b, [1] is back. */
struct link_traits {
	double capacity_Bps[2]; /* raw bandwidth, including framing */
	double latency_s;       /* in one direction, including the switch at its far end */
	/* maximum bytes in a packet (IP MTU, TLP payload); 0: no packets */
	double packet_payload_B;
	double packet_overhead_B; /* further bytes on the wire per packet */
	double loss_ratio[2];     /* probability that a packet is lost */
	/* loss_ratio if the receiving NIC interrupts for every packet; 0: the same as loss_ratio */
	double unmoderated_loss_ratio[2];
	bool physical_nic; /* the receiver has a physical NIC */
	/* The link divides all traffic into packets of its own (PCIe TLPs, NVLink flits, cache
	 * lines), invisible to the ends. It has no influence on a route's MTU. */
	bool own_packets;
	double flow_Bps;       /* largest bandwidth of one TCP stream; 0: unlimited */
	int provider;          /* enum link_provider */
	int efa_generation;    /* of Amazon's EFA; 0: another kind of link */
	bool host_memory_only; /* the adapter does not access GPU memory */
	bool half_duplex;      /* both directions share the capacity of [0] */
	bool adds;             /* its switches add the values of collectives (SHARP) */
	/* True for a link between two routers of a torus. Their coordinates differ in one
	 * dimension. From a to b the coordinate grows by one, or wraps around. */
	bool in_torus;
	int router[2][3];
	uint32_t cable_count; /* equal cables of the trunk; 0 or 1: one */
	enum cable_choice cable_choice;
	uint32_t port; /* number of the network's port at end a; 0: the link is not a port's */
	enum congestion congestion;
	double shared_ratio; /* with DCQCN: part of the bandwidth of a port that flows share */
};

/* Clouds whose adapters a library recognises by their vendor. */
enum link_provider { PROVIDER_NONE, PROVIDER_AWS, PROVIDER_GOOGLE, PROVIDER_COUNT };

struct link_kind; /* sim/fabric/link.h */

/* Kinds of traffic, one bit each. Each link of a route must carry at least one of the requested
 * kinds. */
enum traffic {
	TRAFFIC_ANY = 0,     /* for routes: any links */
	TRAFFIC_COPIES = 1,  /* reads and writes of the memory of a host and its devices */
	TRAFFIC_PEERS = 2,   /* reads and writes of other GPUs' memory over the GPUs' own links */
	TRAFFIC_SOCKETS = 4, /* TCP/IP */
	TRAFFIC_RDMA = 8,
	TRAFFIC_SHARED = 16, /* messages in memory that two guests of a host share */
	/* For routes, together with other bits: only links between hosts. */
	TRAFFIC_BETWEEN_HOSTS = 32,
};

int fabric_node_add(struct fabric *fabric, const char *name);        /* the name must be unique */
int fabric_node_find(const struct fabric *fabric, const char *name); /* -1 if not found */
size_t fabric_node_count(const struct fabric *fabric);
const char *fabric_node_name(const struct fabric *fabric, int node);
int fabric_link_add(struct fabric *fabric, const char *name, const struct link_kind *kind,
		    int node_a, int node_b, const struct link_traits *traits);
size_t fabric_link_count(const struct fabric *fabric);
const char *fabric_link_name(const struct fabric *fabric, int link);
const struct link_kind *fabric_link_kind(const struct fabric *fabric, int link);
const struct link_traits *fabric_link_traits(const struct fabric *fabric, int link);
void fabric_link_nodes(const struct fabric *fabric, int link, int *node_a, int *node_b);
/* Returns the resource of a link's direction (0: from a to b). */
int fabric_link_resource(const struct fabric *fabric, int link, int direction);

struct hop {
	int link;
	int direction; /* 0: a to b, 1: b to a */
};

struct route {
	const struct hop *hops; /* `count` items, borrowed from the fabric */
	size_t count;
	double latency_s; /* sum over the hops */
	/* smallest packet_payload_B > 0 of the hops without own_packets; 0: none */
	double mtu_B;
	double loss_ratio; /* 1 - product of (1 - loss) */
	double flow_Bps;   /* smallest flow_Bps > 0 of the hops; 0: none */
	uint32_t target;   /* port at which it leaves the network; 0: none */
	bool physical_nic; /* true if any hop has one */
};

/* Returns the route over links that carry the traffic (enum traffic), or NULL if there is none of
 * up to ROUTE_LINKS_MAX links. It is computed once and kept. from == to gives an empty route. The
 * route from `to` to `from` uses the same links, except on a torus. */
const struct route *fabric_route(struct fabric *fabric, int from, int to, unsigned traffic);
/* Returns a new route from nodes[0] to nodes[3] that leaves its host at the adapter nodes[1] and
 * enters the other one at nodes[2], or NULL if there is none. */
const struct route *fabric_route_through(struct fabric *fabric, const int nodes[4],
					 unsigned traffic);
/* Returns a hint for the user if some route had too many links, otherwise "". */
const char *fabric_route_hint(const struct fabric *fabric);

/* Returns the bytes on a link for payload_B bytes of a message. The message travels in packets of
 * at most mtu_B bytes (0: the link's own maximum), with header_B bytes of headers inside each
 * packet (TCP/IP: 52, more for a tunnel):
 *   packets = ceil(payload / (mtu - header)), at least 1;
 *   wire = payload + packets (header + overhead).
 * A link with own_packets divides the bytes of the packets again:
 *   crossing = payload + packets header;
 *   wire = crossing + ceil(crossing / its packet_payload) overhead. */
/* exported: tests derive it by hand */
double link_wire_B(const struct link_traits *traits, double mtu_B, double header_B,
		   double payload_B);
/* Returns the seconds per payload byte on the route's slowest link, without headers; 0 for an empty
 * route. */
double route_least_spB(const struct fabric *fabric, const struct route *route);

/* Adds the hops of route to spec->uses, with their framing. */
void route_uses(const struct fabric *fabric, const struct route *route, double header_B,
		double payload_B, struct flow_spec *spec);

/* ---- checks ---- */

/* Reports that messages of size_B over the route were delivered; fabric_account checks that each of
 * its links has carried them. copies[r] is the number of resources that r represents, each with its
 * share; NULL means 1. */
void fabric_delivered(struct fabric *fabric, const struct route *route, double size_B,
		      const double *copies);

/* Checks invariants that hold at any time of every run, and calls engine_fail for a violation. It
 * visits all resources and active flows, so call it at the ends of windows and runs:
 *   - no resource has carried more than its capacity in the time it was in use, nor was in
 *     use for longer than the elapsed time;
 *   - links have carried everything that was delivered over them;
 *   - each started flow has ended or will end.
 * Each flow is also checked when it ends: it has moved its size, at no more than its cap, and no
 * faster than any of its resources allows. */
void fabric_account(struct fabric *fabric);
/* Describes active flows, for example "3 flows, the first over 'wire a>b', 'h.dram'", in arena.
 * Returns NULL if there are none. */
const char *fabric_unfinished(const struct fabric *fabric, struct arena *arena);
