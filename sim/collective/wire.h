/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How bytes travel from one rank to another.
 *
 * A way connects two ranks. It consists of one or two legs of links and host memory, each of which
 * a message crosses as one flow, and possibly a socket. A wire is a way and a channel. Its messages
 * leave one after the other: the next one when the last byte of the previous one has left.
 */
#pragma once

#include "sim/collective/internal.h"

enum { LEG_ROUTES_MAX = 8, LEG_HOSTS_MAX = 2, LEG_COPIES_MAX = 2, WAY_LEGS_MAX = 2 };

struct leg {
	const struct route *routes[LEG_ROUTES_MAX];
	size_t route_count;
	struct host *hosts[LEG_HOSTS_MAX]; /* hosts whose memory it crosses */
	double dram_per_B[LEG_HOSTS_MAX];
	size_t host_count;
	/* For a receiver whose machine is represented by another one. far_routes and far_hosts mark
	 * routes and hosts on the receiver's side; `far` is the mark of those added next. */
	bool far, far_routes[LEG_ROUTES_MAX], far_hosts[LEG_HOSTS_MAX];
	struct cpu *core; /* core that copies; NULL: none */
	double core_spB;
	double cap_Bps;    /* limit of a copy inside one GPU's memory; 0: none */
	double rate_ratio; /* part of the bandwidth that packet loss leaves; 1 without loss */
	double latency_s;  /* latency of links and virtual NICs */
	/* Copies between a GPU and its host's memory, which delay the last slice (leg_copy):
	 * seconds per byte of each, and of the network part between them. */
	double copy_spB[LEG_COPIES_MAX], network_spB;
	size_t copy_count;
	bool leaves; /* the sender's buffer is free only after this leg */
	/* The flow of the last requested size and choice. */
	double flow_B, flow_ratio, flow_cap_Bps;
	double counts[2]; /* number of real messages at the sender's and receiver's end */
	struct flow_spec flow;
	double alone_Bps;
};

struct way {
	struct way *before;    /* previous way of the communicator, in the order of creation */
	double delivered_B[2]; /* total bytes at the sender's and receiver's end */
	size_t from, to;       /* simulated ranks */
	/* level where the represented ranks meet; FOLD_INSIDE: all of them meet there */
	enum fold_level meets;
	enum hop_class class;
	double hop_count; /* number of the library's hops; 2 through an intermediate buffer */
	struct leg legs[WAY_LEGS_MAX];
	size_t leg_count;
	/* lower bound of a message's time: latency and slowest link of its legs */
	double least_s, least_spB;
	bool socket; /* the wire also uses a connection */
};

struct socket {
	struct communicator *comm;
	struct socket *next; /* next socket of the communicator */
	struct connection *connection;
	size_t first; /* process at end 0 */
	bool open;
	struct wire *wires; /* wires of the socket, linked by next; they start when it opens */
	bool busy;          /* a wire asked for a turn, or has it (rendezvous.c) */
};

/* Whether a wire has asked for the consent of the receiver, and has it (rendezvous.c). */
enum turn { TURN_NONE, TURN_ASKED, TURN_HELD };

struct wire {
	struct way *way;
	struct socket *socket; /* NULL: no socket */
	int end;               /* the sending end of the socket */
	struct message_state *head, *tail;
	bool busy;
	uint64_t key;      /* of its flows in the network (flow_spec.key) */
	struct wire *next; /* next wire of the socket */
	/* Only if library.eager is set. */
	struct wire *next_of_rank; /* next wire of the sender */
	enum turn turn;
	bool collecting;       /* its messages of this instant are not complete */
	uint32_t flying_count; /* messages that have begun and have not arrived */
	double flying_B;       /* their bytes, since flying_ps */
	int64_t flying_ps;
};

/* Finds the way from a simulated rank to any rank, which can be a represented one. Returns NULL
 * after it has failed the communicator, if there is no way. */
struct way *way_find(struct communicator *comm, size_t from, size_t to);
struct wire *wire_find(struct communicator *comm, size_t from, size_t to, size_t channel);
/* Puts the message of a step into its wire. */
struct message_state *wire_send(struct communicator *comm, struct operation *operation,
				uint32_t step);
/* Returns the latency of a message that stands for several rounds of rings: the sum over as many
 * wires, on average over all wires of the rings. */
int64_t wire_merged_latency_ps(const struct communicator *comm, const struct operation *operation);
/* Reports that the sender of a train has all of it. */
void wire_feed(struct communicator *comm, struct message_state *train);
/* Starts the wire's next message if it may start. */
void wire_pump(struct communicator *comm, struct wire *wire);

/* ---- for the files of ways; these functions return false if there is no route ---- */

bool leg_route(struct communicator *comm, struct leg *leg, int from, int to, unsigned traffic);
bool leg_nvlink(struct communicator *comm, struct leg *leg, int from, int to);
void leg_memory(struct leg *leg, struct host *host, double dram_per_B);
/* Returns the seconds per byte of the leg's routes from index `first` on. */
double leg_spB(const struct communicator *comm, const struct leg *leg, size_t first);
/* Marks the leg's routes from index `first` on as a copy through host memory. */
void leg_copy(const struct communicator *comm, struct leg *leg, size_t first);
/* Adds the route from a rank's GPU to its host, or back. */
bool leg_host(struct communicator *comm, struct leg *leg, const struct rank_state *rank, bool back);

/* Adds the route over the network. If the machines represent others, it goes through the switch at
 * which the routes of the real machines meet. */
bool leg_across(struct communicator *comm, struct leg *leg, const struct way *way, int from, int to,
		unsigned traffic);

/* Returns true if traffic between the rank's GPU and other devices passes the root complex. */
bool way_redirects(const struct communicator *comm, const struct rank_state *rank);
bool way_inside(struct communicator *comm, struct way *way); /* wire_device.c */
bool way_rdma(struct communicator *comm, struct way *way);   /* wire_rdma.c */
bool way_socket(struct communicator *comm, struct way *way); /* wire_socket.c */

/* ---- rendezvous.c, only for sockets and if library.eager is set ---- */
/* Returns true if the wire's first message may begin. Otherwise it asks the receiver, and the
 * wire is pumped later. */
bool rendezvous_allows(struct communicator *comm, struct wire *wire);
/* Report the beginning and the delivery of a message. */
void rendezvous_flies(struct communicator *comm, struct wire *wire, double size_B);
void rendezvous_over(struct communicator *comm, struct wire *wire);

/* ---- wire_socket.c ---- */
/* Returns the socket of two guests and a channel, or NULL after a failure. */
struct socket *socket_find(struct communicator *comm, size_t from, size_t to, size_t channel);
/* Opens all sockets, then calls fn. Sockets that are created later open at once. */
void sockets_open(struct communicator *comm, event_fn *fn, void *ctx, uint64_t arg);
