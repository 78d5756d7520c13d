/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How bytes get from one rank to another.
 *
 * A WAY is what lies between two ranks: one or two LEGS of links and host
 * memory that a message crosses as one flow each, and maybe a socket. A WIRE is
 * a way and a channel: its messages leave one after the other, the next one when
 * the last byte of the one before has left.
 */
#ifndef FARWIRE_COLLECTIVE_WIRE_H
#define FARWIRE_COLLECTIVE_WIRE_H

#include "sim/collective/internal.h"

enum { LEG_ROUTES_MAX = 8, LEG_HOSTS_MAX = 2, WAY_LEGS_MAX = 2 };

struct leg {
	const struct route *routes[LEG_ROUTES_MAX];
	size_t route_count;
	struct host *hosts[LEG_HOSTS_MAX]; /* whose memory it crosses */
	double dram_per_B[LEG_HOSTS_MAX];
	size_t host_count;
	/* Where the receiver stands for another machine, which may be the sender's own stand-in:
	 * what is added from now on is the receiver's; what has been. */
	bool far, far_routes[LEG_ROUTES_MAX], far_hosts[LEG_HOSTS_MAX];
	struct cpu *core; /* that copies; NULL: none */
	double core_spB;
	double cap_Bps;      /* of a copy inside one GPU's memory; 0: none */
	double rate_ratio;   /* that lost packets leave; 1 */
	double latency_s;    /* of links and virtual NICs */
	double staged_count; /* intermediate copies, by which its last slice is late */
	bool leaves;         /* the sender's buffer is free only when it has ended */
	/* The flow of the last size and choice that were asked for. */
	double flow_B, flow_ratio, flow_cap_Bps;
	struct flow_spec flow;
	double alone_Bps;
};

struct way {
	struct way *before;    /* of the communicator, in the order of finding */
	double delivered_B;    /* all in all */
	size_t from, to;       /* simulated ranks */
	enum fold_level meets; /* where those for which both stand do; FOLD_INSIDE: they are all */
	enum hop_class class;
	double hop_count; /* of the library's hops: 2 through a buffer between */
	struct leg legs[WAY_LEGS_MAX];
	size_t leg_count;
	double least_s, least_spB; /* no message takes less: its legs' latency and slowest link */
	bool socket;               /* and a connection */
};

struct socket {
	struct communicator *comm;
	struct socket *next; /* of the communicator */
	struct connection *connection;
	struct guest *first; /* at end 0 */
	bool open;
	struct wire *wires; /* linked by next; pumped when it is open */
};

struct wire {
	struct way *way;
	struct socket *socket; /* NULL: none */
	int end;               /* of the socket, that sends */
	struct message_state *head, *tail;
	bool busy;
	struct wire *next; /* of the socket */
};

/* From a simulated rank to any, for which another may stand. NULL after a failure: there is
 * no way. */
struct way *way_find(struct communicator *comm, size_t from, size_t to);
struct wire *wire_find(struct communicator *comm, size_t from, size_t to, size_t channel);
/* Puts a step's message into its wire. */
struct message_state *wire_send(struct communicator *comm, struct operation *operation,
				uint32_t step);
/* The sender of a train has all of it. */
void wire_feed(struct communicator *comm, struct message_state *train);
/* Starts the wire's next message, if it may. */
void wire_pump(struct communicator *comm, struct wire *wire);

/* ---- for the files of ways: false if there is no route ---- */

bool leg_route(struct communicator *comm, struct leg *leg, int from, int to, unsigned traffic);
bool leg_nvlink(struct communicator *comm, struct leg *leg, int from, int to);
void leg_memory(struct leg *leg, struct host *host, double dram_per_B);
/* From a GPU rank up to its host, or down. */
bool leg_to_host(struct communicator *comm, struct leg *leg, const struct rank_state *rank);
bool leg_from_host(struct communicator *comm, struct leg *leg, const struct rank_state *rank);

/* Over the network, for machines that stand for others by the switch where the real ones'
 * ways meet. */
bool leg_across(struct communicator *comm, struct leg *leg, const struct way *way, int from, int to,
		unsigned traffic);

bool way_inside(struct communicator *comm, struct way *way); /* wire_device.c */
bool way_rdma(struct communicator *comm, struct way *way);   /* wire_rdma.c */
bool way_socket(struct communicator *comm, struct way *way); /* wire_socket.c */

/* wire_socket.c: a socket for each pair of guests and channel. NULL after a
 * failure. */
struct socket *socket_find(struct communicator *comm, size_t from, size_t to, size_t channel);
/* Opens all that there are, then fn; later ones open when they are made. */
void sockets_open(struct communicator *comm, event_fn *fn, void *ctx, uint64_t arg);

#endif
