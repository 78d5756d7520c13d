/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TCP simulated by messages, not by packets; docs/models/tcp.md describes the model.
 *
 * Private to the tcp_*.c files, except struct tcp_params, TCP_HEADER_B and tcp_loss_rate, which the
 * importer of links uses. The files are:
 *   tcp.c        parameters, creating a connection, sending, delivery, failure
 *   tcp_open.c   SYN and SYN-ACK
 *   tcp_flow.c   the queue of writes of one direction: when the next one starts,
 *                how fast it is, when a writer may continue
 *   tcp_rate.c   windows: slow start, acknowledged bytes, the limit under loss
 *   tcp_loss.c   lost packets: fast retransmit, retransmission timeouts
 *   tcp_nagle.c  small writes that wait for acknowledgements, and when those are sent
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/transport/loss.h"
#include "sim/transport/path.h"
#include "sim/transport/transport.h"

struct tcp_params {
	double initial_window_count, send_buffer_B, receive_buffer_B, streams_count, inline_B;
	double encapsulation_B, encapsulation_packet_s;
	bool relay;
	double relay_packet_s, writes_per_message_count, receive_byte_spB;
	double first_write_B;
	bool nagle;
	double interactive_answers_count, delayed_ack_s, rto_min_s, rto_max_s, retries_count,
		syn_rto_s, syn_retries_count;
	double connect_timeout_s;
};

/* The data of one socket call. A message consists of one or more writes; the last one has its
 * callbacks. */
struct tcp_write {
	struct tcp_write *next; /* next write in the queue, in flight, or in the free list */
	struct tcp_direction *direction;
	struct message message;
	struct message_arrival arrival;
	double size_B; /* >= 1 */
	double packets;
	double receive_s; /* CPU time of the receiver */
	int64_t sent_ps;  /* time at which the program sent the message */
	bool last;        /* the write is the last one of its message */
	bool bulk;        /* the write was larger than the window when it started */
	bool accepted;
	double end_B;     /* position of its last byte in the direction's stream */
	double drained_B; /* bytes that have left */
	int64_t started_ps, left_ps;
	/* The rest is valid on a path with losses only. */
	bool arrived; /* the write is at the receiver's TCP, except for lost packets */
	int64_t arrived_ps;
	uint64_t lost;       /* lost packets that are not repaired yet */
	uint64_t after_lost; /* packets of the write that arrived after its first lost packet */
	uint64_t repaired;   /* lost packets that are being sent again */
};

struct tcp_ack { /* bytes whose arrival is known at that time */
	int64_t at_ps;
	double size_B;
};

struct tcp_cost { /* cost of a write */
	double size_B, packets, send_s, receive_s;
};

struct tcp_direction {
	struct tcp_connection *connection;
	int index;
	struct path path;
	double header_B, mss_B, piece_B;
	double send_packet_B, receive_packet_B; /* packet sizes as seen by the CPUs */

	struct tcp_cost costs[KEPT];

	/* ---- queue ---- */
	QUEUE(struct tcp_write) queue;
	struct tcp_write *unaccepted; /* first write in the queue that is not accepted */
	double written_B, drained_B;
	bool draining;
	struct flow_id flow;
	struct kept_flows plain_flows; /* flows for whole writes, not limited by windows or cores */
	size_t receiving_count;        /* writes that have arrived but are not delivered yet */
	double closed_B;               /* receive window that unread packets close */

	/* ---- windows, for each stream ---- */
	double cwnd_B, ssthresh_B, window_max_B;
	bool limited; /* the window has delayed a write */
	bool sent;
	int64_t last_sent_ps;
	VEC(struct tcp_ack) acks; /* those from ack_first on are expected; empty if none is */
	size_t ack_first;
	double inflight_B;
	bool pump_due, growth_due;

	/* ---- losses ---- */
	struct loss loss;
	struct loss fate;            /* decides whether a bulk write fails */
	QUEUE(struct tcp_write) air; /* writes that have left but were not passed on, in order */
	uint64_t missing;            /* lost packets among those arrived */
	uint64_t duplicates;         /* packets that arrived after the first hole */
	bool repairing;
	bool given_up;      /* a long write can never be completed */
	uint64_t retries;   /* successive timeouts of the same packet */
	int64_t stalled_ps; /* waits up to this time are counted */
	struct event_id rto_event;
	struct flow_id repair_flow;

	/* ---- Nagle ---- */
	double received_B;      /* bytes received in order by the receiver's TCP */
	double answered_B;      /* bytes acknowledged by the receiver */
	double acked_B;         /* acknowledged bytes known to the sender */
	double release_B;       /* position up to which bytes may leave without waiting */
	double small_end_B;     /* end of the last segment that was not full */
	int64_t received_ps;    /* time at which the receiver's TCP got data last */
	uint64_t quick_acks;    /* segments that the receiver still acknowledges at once */
	uint64_t answers_count; /* answers of the receiver since it stopped being interactive */
	struct event_id delayed_ack;
};

/* Maximum number of cores for the streams of a connection. */
enum { TCP_CORES_MAX = 8 };

struct tcp_connection {
	struct connection connection;
	struct connection_spec spec;
	struct cpu *cores[2][TCP_CORES_MAX]; /* by end: cores of the streams, in turn (RSS) */
	size_t core_count;
	double streams_count;
	struct cpu *relays[2]; /* by end: core of the process that relays packets; NULL: none */
	const struct tcp_params *params;
	struct tcp_direction directions[2];
	double rtt_s, rto_s;
	int64_t rtt_ps, rto_ps;
	int parts_count; /* writes per message */
	struct tcp_write *free;
	bool established, failed;
	/* ---- opening ---- */
	event_fn *opened;
	void *opened_ctx;
	uint64_t opened_arg;
	uint64_t syn_count;
	struct event_id syn_event, connect_event;
};

/* ---- tcp.c ---- */
void tcp_fail(struct tcp_connection *connection, const char *reason);
/* Called when the write is complete and in order at the receiver's TCP. */
void tcp_pass_on(struct tcp_write *write);
static inline struct engine *tcp_engine(const struct tcp_direction *direction)
{
	return direction->connection->spec.engine;
}
static inline int64_t tcp_now_ps(const struct tcp_direction *direction)
{
	return engine_now_ps(tcp_engine(direction));
}

/* ---- tcp_open.c ---- */
void tcp_open(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg);

/* ---- tcp_flow.c ---- */
void tcp_written(void *ctx, uint64_t arg); /* ctx is a write whose socket call is done */
/* Starts all writes that may leave. It must be the last action of an event. */
void tcp_pump(struct tcp_direction *direction);

/* Bytes of headers: IPv4 20, TCP 20, TCP timestamps 12. */
#define TCP_HEADER_B 52.0

/* ---- tcp_rate.c ---- */
void tcp_window_init(struct tcp_direction *direction);
/* Returns true if the window lets the write start; otherwise it pumps when it may. Decides whether
 * the write is bulk. */
bool tcp_window_admits(struct tcp_direction *direction, struct tcp_write *write);
/* Returns the cap of the write's flow; 0: unlimited. */
double tcp_cap(const struct tcp_direction *direction, const struct tcp_write *write);
/* Lets the window grow while this flow runs. */
void tcp_growth_start(struct tcp_direction *direction);
void tcp_window_sent(struct tcp_direction *direction, const struct tcp_write *write);
void tcp_window_fast_retransmit(struct tcp_direction *direction);
void tcp_window_timeout(struct tcp_direction *direction);
/* Returns the bandwidth of one stream at loss p: Mathis et al. 1997, and Padhye et al. 1998 for
 * timeouts, which follow the loss of a retransmission. */
double tcp_loss_rate(double mss_B, double rtt_s, double rto_s, double p);

/* ---- tcp_loss.c ---- */
/* For longer writes only the last packets are drawn individually; the other losses are in the rate.
 */
#define TCP_DRAWN_PACKETS 64.0
#define TCP_TAIL_PACKETS  3.0
void tcp_left(struct tcp_write *write); /* called when its last byte has left */

/* ---- tcp_nagle.c ---- */
bool tcp_nagle_admits(struct tcp_direction *direction);
void tcp_nagle_sent(struct tcp_direction *direction); /* tells the Nagle state that an
							 acknowledgement travels with data */
void tcp_nagle_arrived(struct tcp_direction *direction, double size_B);
void tcp_nagle_read(struct tcp_direction *direction); /* called when a program has read a write */
