/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TCP by messages, not by packets: docs/models/tcp.md tells the model.
 *
 * Private to the tcp_*.c files, except struct tcp_params. Who does what:
 *   tcp.c        parameters, a connection's making, sending, delivery, the end
 *   tcp_open.c   SYN and SYN-ACK
 *   tcp_flow.c   the queue of writes of one direction: when the next may
 *                start, how fast it goes, when a writer may go on
 *   tcp_rate.c   windows: slow start, acknowledged bytes, the bound under loss
 *   tcp_loss.c   lost packets: fast retransmit, retransmission timeouts
 *   tcp_nagle.c  small writes that wait for acknowledgements
 */
#ifndef FARWIRE_TRANSPORT_TCP_H
#define FARWIRE_TRANSPORT_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine/engine.h"
#include "sim/transport/loss.h"
#include "sim/transport/path.h"
#include "sim/transport/transport.h"

struct tcp_params {
	double initial_window_count;            /* segments */
	double send_buffer_B, receive_buffer_B; /* of each stream */
	double streams_count;            /* parallel TCP streams that carry this connection */
	double inline_B;                 /* larger messages pay the CPU as they flow */
	double encapsulation_B;          /* of an overlay, each packet */
	double encapsulation_packet_s;   /* CPU, each packet, either side */
	double writes_per_message_count; /* socket calls, equal parts */
	bool nagle;
	double delayed_ack_s;
	double rto_min_s, rto_max_s;
	double retries_count; /* retransmissions of one packet before giving up */
	double syn_rto_s, syn_retries_count;
	double connect_timeout_s; /* the program's own; 0: none */
};

/* What one socket call handed over. A message is one or more writes; the last
 * carries its callbacks. */
struct tcp_write {
	struct tcp_write *next; /* in the queue, in the air, or free */
	struct tcp_direction *direction;
	struct message message;
	bool last;        /* of its message */
	double size_B;    /* >= 1 */
	double end_B;     /* its last byte's place in the direction's stream */
	double drained_B; /* have left */
	double packets;
	double receive_s; /* work of the receiver */
	bool bulk;        /* larger than the window when it started */
	bool accepted;
	int64_t sent_ps; /* its message, by the program */
	int64_t started_ps, left_ps, arrived_ps;
	bool arrived;        /* at the receiver's TCP, apart from lost packets */
	uint64_t lost;       /* packets lost and not repaired yet */
	uint64_t after_lost; /* packets of it that arrived after its first lost one */
	uint64_t repaired;   /* of lost: on their way again */
};

struct tcp_ack { /* bytes that will be known to have arrived at that time */
	int64_t at_ps;
	double size_B;
};

struct tcp_cost { /* of a write */
	double size_B, packets, send_s, receive_s;
};

struct tcp_writes { /* a FIFO */
	struct tcp_write *head, *tail;
};

struct tcp_direction {
	struct tcp_connection *connection;
	int index;
	struct path path;
	double header_B, mss_B, piece_B;
	double send_packet_B, receive_packet_B; /* as the CPUs see packets */

	struct tcp_cost costs[KEPT];

	/* queue */
	struct tcp_writes queue;
	struct tcp_write *unaccepted; /* first in the queue */
	double written_B, drained_B;
	bool draining;
	struct flow_id flow;
	struct kept_flows plain_flows; /* of whole writes, not slowed by windows or cores */
	size_t receiving_count;        /* arrived, not delivered yet */

	/* windows, of each stream */
	double cwnd_B, ssthresh_B, window_max_B;
	bool limited; /* the window has held something back */
	bool sent;
	int64_t last_sent_ps;
	struct tcp_ack *acks; /* a ring: room is a power of two */
	size_t ack_room, ack_first, ack_count;
	double inflight_B;
	bool pump_due, growth_due;

	/* losses */
	struct loss loss;
	struct loss fate;      /* draws whether a bulk write is given up */
	struct tcp_writes air; /* left and not passed on, in order */
	uint64_t missing;      /* packets lost among those arrived */
	uint64_t duplicates;   /* packets arrived above the first hole */
	bool repairing;
	bool given_up;      /* a long write will never be complete */
	uint64_t retries;   /* timeouts of the same packet so far */
	int64_t stalled_ps; /* up to then waits are in the counter */
	struct event_id rto_event;
	struct flow_id repair_flow;

	/* Nagle */
	double received_B; /* by the receiver's TCP, in order */
	double answered_B; /* acknowledged by the receiver */
	double acked_B;    /* known to the sender */
	double release_B;  /* what may leave without waiting */
	struct event_id delayed_ack;

	uint32_t track;
	bool track_known;
	const char *track_name;
};

/* Cores that the streams of a connection are spread over, at most. */
enum { TCP_CORES_MAX = 8 };

struct tcp_connection {
	struct connection connection;
	struct connection_spec spec;
	struct cpu *cores[2][TCP_CORES_MAX]; /* by end: of the streams, in turn (RSS) */
	size_t core_count;
	const struct tcp_params *params;
	struct tcp_direction directions[2];
	struct connection_counters counters;
	double rtt_s, rto_s;
	int64_t rtt_ps, rto_ps;
	int parts_count; /* writes of a message */
	struct tcp_write *free;
	bool established, failed;
	/* open */
	event_fn *opened;
	void *opened_ctx;
	uint64_t opened_arg;
	uint64_t syn_count;
	struct event_id syn_event, connect_event;
};

/* tcp.c */
void tcp_fail(struct tcp_connection *connection, const char *reason);
void tcp_pass_on(struct tcp_write *write); /* complete and in order at the receiver's TCP */
void tcp_push(struct tcp_writes *writes, struct tcp_write *write);
struct tcp_write *tcp_pop(struct tcp_writes *writes);
void tcp_trace(struct tcp_direction *direction, int kind, const char *label, int64_t start_ps,
	       int64_t end_ps);
static inline struct engine *tcp_engine(const struct tcp_direction *direction)
{
	return direction->connection->spec.engine;
}
static inline int64_t tcp_now_ps(const struct tcp_direction *direction)
{
	return engine_now_ps(tcp_engine(direction));
}

/* tcp_open.c */
void tcp_open(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg);

/* tcp_flow.c */
void tcp_written(void *ctx, uint64_t arg); /* ctx: a write whose socket call is done */
/* Starts what may leave: the last thing that an event does. */
void tcp_pump(struct tcp_direction *direction);

/* tcp_rate.c */
void tcp_window_init(struct tcp_direction *direction);
/* Whether the window lets the write start; if not, pumps when it may. Decides
 * whether it is bulk. */
bool tcp_window_admits(struct tcp_direction *direction, struct tcp_write *write);
/* The cap of the write's flow; 0: none. */
double tcp_cap(const struct tcp_direction *direction, const struct tcp_write *write);
/* The window may grow while this flow runs. */
void tcp_growth_start(struct tcp_direction *direction);
void tcp_window_sent(struct tcp_direction *direction, const struct tcp_write *write);
void tcp_window_fast_retransmit(struct tcp_direction *direction);
void tcp_window_timeout(struct tcp_direction *direction);
/* B/s of one stream at loss p (Padhye et al. 1998, Mathis et al. 1997 below). */
/* exported: tests derive it by hand */
double tcp_loss_rate(double mss_B, double rtt_s, double rto_s, double p);

/* tcp_loss.c */
/* Longer writes have only their last packets drawn; the rest is in the rate. */
#define TCP_DRAWN_PACKETS 64.0
#define TCP_TAIL_PACKETS  3.0
void tcp_left(struct tcp_write *write); /* its last byte has left */

/* tcp_nagle.c */
bool tcp_nagle_admits(struct tcp_direction *direction);
void tcp_nagle_sent(struct tcp_direction *direction); /* an acknowledgement rides on it */
void tcp_nagle_arrived(struct tcp_direction *direction, double size_B);

#endif
