/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/tcp.h"
#include "sim/transport/transport.h"

/* Memory of a received packet: 2048 and the struct sk_buff (Linux sock.h: TCP_SKB_MIN_TRUESIZE). */
#define PACKET_MEMORY_B 2304.0
/* Linux's loopback device, also used for routes without packets. */
#define LOOPBACK_MTU_B 65536.0

static const struct param_row tcp_rows[] = {
	PARAM_WHOLE(struct tcp_params, initial_window_count, 1, 1e6, "10",
		    "initial congestion window in segments", "RFC 6928; Linux TCP_INIT_CWND"),
	PARAM_NUMBER(struct tcp_params, send_buffer_B, QUANTITY_BYTES, 1024, 1e12, "4 MiB",
		     "send buffer of each stream", "Linux net.ipv4.tcp_wmem, maximum 4194304"),
	PARAM_NUMBER(struct tcp_params, receive_buffer_B, QUANTITY_BYTES, 1024, 1e12, "3 MiB",
		     "maximum receive window of each stream",
		     "Linux net.ipv4.tcp_rmem, maximum 6291456, of which tcp_adv_win_scale = 1 "
		     "keeps half for the bookkeeping of packets"),
	PARAM_WHOLE(struct tcp_params, streams_count, 1, 4096, "1",
		    "number of parallel TCP streams of a connection",
		    "assumption: one socket per connection"),
	PARAM_NUMBER(
		struct tcp_params, inline_B, QUANTITY_BYTES, 0, 1e12, "16 KiB",
		"size above which a message shares the cores with other flows; shorter messages "
		"wait in a queue",
		"assumption: a modelling choice; smaller messages are a few microseconds of work"),
	PARAM_NUMBER(struct tcp_params, encapsulation_B, QUANTITY_BYTES, 0, 1000, "0 B",
		     "header of an overlay in each packet (VXLAN 50 B, IPIP 20 B)",
		     "RFC 7348 and RFC 2003; Calico and flannel MTU documentation"),
	COST_ASSUMED(struct tcp_params, encapsulation_packet_s, QUANTITY_TIME, 0, 1e-3, "0.5 us",
		     "work of an overlay per packet at either end, at 2.4 GHz",
		     "assumption: a second pass through the network stack, bridge and filter"),
	PARAM_BOOL(struct tcp_params, relay, "false",
		   "whether a user-space process relays each packet of an overlay, with one thread "
		   "for both directions (flannel's udp back end)",
		   "assumption: the kernel forwards the packets of an overlay (VXLAN, IPIP)"),
	COST_ASSUMED(struct tcp_params, relay_packet_s, QUANTITY_TIME, 0, 1e-2, "15 us",
		     "work of the relay process per packet at either end, at 2.4 GHz",
		     "assumption: two system calls, two copies and a wake-up; flannel in virtual "
		     "machines once reached 28.7 MB/s with udp, 50 us a packet (kubernetes pull "
		     "request 17877)"),
	PARAM_WHOLE(struct tcp_params, writes_per_message_count, 1, 64, "1",
		    "number of socket calls per message, in equal parts (2: header and body "
		    "separately)",
		    "assumption: a runtime that sends header and body together"),
	PARAM_NUMBER(struct tcp_params, first_write_B, QUANTITY_BYTES, 0, 1e12, "0 B",
		     "size of the first of several writes per message, its header; 0 B means "
		     "equal parts",
		     "assumption: equal parts unless a runtime states its header"),
	COST_UNSEEN(
		0.05e-9, struct tcp_params, receive_byte_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-6,
		"0 ns/B",
		"work of the program for each received byte, at 2.4 GHz (decoding, further "
		"copies), on the thread that reads the connection",
		"assumption: the program receives into the buffer that it uses; draws go up to 0.1 "
		"ns/B (95 %), one copy at 10 GB/s"),
	PARAM_BOOL(struct tcp_params, nagle, "false",
		   "whether Nagle's algorithm makes small writes wait for acknowledgements",
		   "assumption: RPC libraries set TCP_NODELAY"),
	PARAM_WHOLE(struct tcp_params, interactive_answers_count, 1, 255, "1",
		    "number of answers within the delay after which a receiver waits for its next "
		    "answer to acknowledge with",
		    "assumption: Linux before 5.1 or from 6.0 on; 3 in 5.1 to 5.18 (Linux "
		    "TCP_PINGPONG_THRESH; net.ipv4.tcp_pingpong_thresh since 6.7)"),
	PARAM_NUMBER(struct tcp_params, delayed_ack_s, QUANTITY_TIME, 0, 1, "40 ms",
		     "maximum delay of an acknowledgement", "Linux TCP_DELACK_MIN, HZ/25"),
	PARAM_NUMBER(struct tcp_params, rto_min_s, QUANTITY_TIME, 0, 3600, "200 ms",
		     "minimum retransmission timeout, in addition to the round trip",
		     "Linux TCP_RTO_MIN, HZ/5"),
	PARAM_NUMBER(struct tcp_params, rto_max_s, QUANTITY_TIME, 1e-3, 86400, "120 s",
		     "maximum retransmission timeout", "Linux TCP_RTO_MAX, 120 HZ"),
	PARAM_WHOLE(struct tcp_params, retries_count, 0, 100, "15",
		    "number of retransmissions of a packet before the connection fails",
		    "Linux net.ipv4.tcp_retries2"),
	PARAM_NUMBER(struct tcp_params, syn_rto_s, QUANTITY_TIME, 1e-6, 3600, "1 s",
		     "time until the first retransmission of a SYN, which then doubles",
		     "RFC 6298, section 2.1"),
	PARAM_WHOLE(struct tcp_params, syn_retries_count, 0, 100, "6",
		    "maximum retransmissions of a SYN", "Linux net.ipv4.tcp_syn_retries"),
	PARAM_NUMBER(struct tcp_params, connect_timeout_s, QUANTITY_TIME, 0, 86400, "0 s",
		     "time after which the program stops connecting; 0 s means that only the "
		     "kernel does",
		     "assumption: none unless the runtime sets one"),
};

/* ---- creation ---- */

static void direction_init(struct tcp_connection *connection, int index)
{
	struct tcp_direction *direction = &connection->directions[index];
	const struct connection_spec *spec = &connection->spec;
	const struct tcp_params *params = connection->params;
	const struct path *path = &direction->path;
	direction->connection = connection;
	direction->index = index;
	direction->header_B = TCP_HEADER_B + params->encapsulation_B;
	double mtu_B = path->route->mtu_B > 0 ? path->route->mtu_B : LOOPBACK_MTU_B;
	direction->mss_B = fmax(mtu_B - direction->header_B, 1);
	direction->piece_B =
		fmax(floor(params->send_buffer_B / 4 / direction->mss_B), 1) * direction->mss_B;
	/* an overlay disables offload */
	bool overlay = params->encapsulation_B > 0 || connection->relays[0];
	double wire_B = direction->mss_B;
	direction->send_packet_B =
		overlay ? wire_B : guest_packet_B(path->from.guest, false, wire_B);
	direction->receive_packet_B =
		overlay ? wire_B : guest_packet_B(path->to.guest, true, wire_B);
	path_losses(spec, path, index, &direction->loss, &direction->fate);
}

/* Returns the protocol work before an acknowledgement leaves, and before it takes effect. */
static double ack_s(const struct connection_end *end)
{
	return guest_params(end->guest)->receive_s * cpu_slowdown(end->core);
}

/* The end's own core handles the first stream, and the guest's next cores handle one further stream
 * each. Receiving NICs distribute connections over cores by a hash of their addresses (RSS);
 * senders work on the cores of their threads. */
static void spread_streams(struct tcp_connection *connection)
{
	const struct connection_spec *spec = &connection->spec;
	double streams = connection->params->streams_count, threads = streams;
	if (streams <= 1 && spec->stream_count > 0) {
		streams = (double)spec->stream_count;
		threads = (double)spec->thread_count;
	}
	connection->streams_count = streams;
	connection->core_count = (size_t)fmin(fmax(1, threads), TCP_CORES_MAX);
	for (int i = 0; i < 2; i++) {
		connection->cores[i][0] = connection->spec.ends[i].core;
		for (size_t k = 1; k < connection->core_count; k++)
			connection->cores[i][k] = guest_core(connection->spec.ends[i].guest);
	}
}

/* Packets inside a machine do not pass the overlay's process. */
static void find_relays(struct tcp_connection *connection)
{
	const struct connection_end *ends = connection->spec.ends;
	if (!connection->params->relay || guest_host(ends[0].guest) == guest_host(ends[1].guest))
		return;
	for (int i = 0; i < 2; i++)
		connection->relays[i] = guest_relay_core(ends[i].guest);
}

static struct connection *tcp_new(const struct connection_spec *spec)
{
	struct tcp_connection *connection = ARENA_NEW(spec->arena, struct tcp_connection);
	connection->spec = *spec;
	connection->params = spec->params;
	for (int i = 0; i < 2; i++) {
		if (!path_find(spec, i, TRAFFIC_SOCKETS, &connection->directions[i].path))
			return NULL;
		connection->connection.routes[i] = connection->directions[i].path.route;
	}
	connection->rtt_s = connection->directions[0].path.latency_s +
			    connection->directions[1].path.latency_s + ack_s(&spec->ends[0]) +
			    ack_s(&spec->ends[1]);
	/* Linux: smoothed round trip plus at least rto_min for its variance. */
	connection->rto_s = fmin(connection->rtt_s + connection->params->rto_min_s,
				 connection->params->rto_max_s);
	connection->rtt_ps = ps_from_s(connection->rtt_s);
	connection->rto_ps = ps_from_s(connection->rto_s);
	connection->parts_count = (int)connection->params->writes_per_message_count;
	spread_streams(connection);
	find_relays(connection);
	for (int i = 0; i < 2; i++) {
		direction_init(connection, i);
		tcp_window_init(&connection->directions[i]);
	}
	return &connection->connection;
}

/* ---- sending ---- */

/* Sets all fields except its message and place in the stream. */
static struct tcp_write *write_take(struct tcp_direction *direction)
{
	struct tcp_connection *connection = direction->connection;
	struct tcp_write *write;
	POOL_TAKE(connection->spec.arena, write, connection->free);
	write->direction = direction;
	write->drained_B = 0;
	write->bulk = write->accepted = false;
	return write;
}

/* Returns the work of overlays and network threads for a short message, which waits for it. */
static double overlay_s(const struct tcp_direction *direction, int end, double packets,
			double size_B)
{
	const struct tcp_connection *connection = direction->connection;
	const struct tcp_params *params = connection->params;
	double work_s = params->encapsulation_B > 0 ? packets * params->encapsulation_packet_s : 0;
	if (connection->relays[end])
		work_s += packets * params->relay_packet_s;
	if (direction->path.route->count > 0)
		work_s += guest_thread_work_s(connection->spec.ends[end].guest, packets, size_B);
	return work_s;
}

/* Returns the work of an end (0 or 1) for a write of that size. */
static double end_work_s(const struct tcp_direction *direction, int end, double size_B)
{
	const struct tcp_params *params = direction->connection->params;
	const struct guest *guest = direction->connection->spec.ends[end].guest;
	bool sends = end == direction->index;
	double (*work_s)(const struct guest *, double, double) =
		sends ? guest_send_work_s : guest_receive_work_s;
	double packet_B = sends ? direction->send_packet_B : direction->receive_packet_B;
	if (size_B > params->inline_B)
		return work_s(guest, 1, 0); /* the flow already contains the cost of its bytes */
	double packets = fmax(ceil(size_B / packet_B), 1);
	return work_s(guest, packets, size_B) + (sends ? 0 : size_B * params->receive_byte_spB) +
	       overlay_s(direction, end, packets, size_B);
}

/* Returns the cost of a write of that size, from the last writes if they had the same size. */
static const struct tcp_cost *cost_of(struct tcp_direction *direction, double size_B)
{
	struct tcp_cost *cost = &direction->costs[kept_place(size_B)];
	if (cost->size_B != size_B)
		*cost = (struct tcp_cost){
			.size_B = size_B,
			.packets = fmax(ceil(size_B / direction->mss_B), 1),
			.send_s = end_work_s(direction, direction->index, size_B),
			.receive_s = end_work_s(direction, 1 - direction->index, size_B),
		};
	return cost;
}

static void tcp_send(struct connection *base, int from, const struct message *message)
{
	struct tcp_connection *connection = (struct tcp_connection *)base;
	if (connection->failed)
		return;
	FW_ASSERT(connection->established);
	struct tcp_direction *direction = &connection->directions[from];
	double first_B = connection->params->first_write_B;
	int parts = first_B > 0 && message->size_B <= first_B ? 1 : connection->parts_count;
	static const struct message part = {0};
	for (int i = 0; i < parts; i++) {
		double part_B = message->size_B / parts;
		if (parts > 1 && first_B > 0)
			part_B = i == 0 ? first_B : (message->size_B - first_B) / (parts - 1);
		part_B = part_B > 1 ? part_B : 1;
		const struct tcp_cost *cost = cost_of(direction, part_B);
		struct tcp_write *write = write_take(direction);
		write->last = i == parts - 1;
		message_copy(&write->message, write->last ? message : &part);
		write->sent_ps = tcp_now_ps(direction);
		write->size_B = part_B;
		write->packets = cost->packets;
		write->receive_s = cost->receive_s;
		cpu_serve(direction->path.from.core, cost->send_s, "send", tcp_written, write, 0);
	}
}

/* ---- delivery ---- */

static void delivered(void *ctx, uint64_t arg)
{
	struct tcp_write *write = ctx;
	struct tcp_direction *direction = write->direction;
	struct tcp_connection *connection = direction->connection;
	const struct message *message = &write->message;
	direction->receiving_count--;
	if (connection->params->nagle)
		tcp_nagle_read(direction);
	POOL_GIVE(write, connection->free);
	if (connection->failed)
		return;
	if (!write->last) { /* the reader waits for the rest of the message */
		int end = 1 - direction->index;
		if (connection->connection.readers[end].on_demand)
			connection_read(&connection->connection, end);
		return;
	}
	path_delivered(&connection->spec, &direction->path, direction->index, message->size_B,
		       write->sent_ps, &connection->connection.counters);
	if (message->delivered)
		message->delivered(message->ctx, message->arg);
}

/* Tells the sender, one latency later, that the receive window is open again. */
static void window_opened(void *ctx, uint64_t arg)
{
	tcp_pump(ctx);
}

/* Returns by how much an unread write closes the receive window. Half of the socket's free memory
 * is window (tcp_adv_win_scale = 1). Each packet takes at least PACKET_MEMORY_B of it. */
static double closes_B(const struct tcp_write *write)
{
	return fmax(write->size_B, write->packets * PACKET_MEMORY_B) / 2;
}

static void receive(void *ctx, uint64_t arg)
{
	struct tcp_write *write = ctx;
	struct tcp_direction *direction = write->direction;
	struct tcp_connection *connection = direction->connection;
	const struct connection_end *to = &direction->path.to;
	double work_s = write->receive_s;
	if (arg) { /* the reader finds the bytes in the socket, without an interrupt */
		bool closed = direction->queue.head && !direction->draining;
		direction->closed_B -= closes_B(write);
		direction->receiving_count++;
		work_s -= guest_arrival_s(to->guest);
		if (closed)
			engine_after(tcp_engine(direction),
				     connection->directions[1 - direction->index].path.latency_ps,
				     window_opened, direction, 0);
		__builtin_prefetch(write->message.ctx); /* read when the work is done */
		cpu_serve(to->core, work_s, "receive", delivered, write, 0);
		return;
	}
	/* The reader sleeps only if it has nothing left to read. Otherwise the message shares the
	 * interrupt of an earlier one. */
	if (direction->receiving_count++ == 0)
		work_s += connection->spec.polls ? 0 : guest_params(to->guest)->thread_wake_s;
	else
		work_s -= guest_arrival_s(to->guest);
	guest_receive(to->guest, to->core, direction->path.route->physical_nic,
		      to->core == direction->path.from.core, work_s, delivered, write, 0);
}

void tcp_pass_on(struct tcp_write *write)
{
	struct tcp_direction *direction = write->direction;
	if (direction->connection->params->nagle)
		tcp_nagle_arrived(direction, write->size_B);
	if (!connection_arrived(&direction->connection->connection, 1 - direction->index,
				&write->arrival, write))
		direction->closed_B += closes_B(write);
}

/* ---- failure ---- */

void tcp_fail(struct tcp_connection *connection, const char *reason)
{
	if (connection->failed)
		return;
	connection->failed = true;
	struct engine *engine = connection->spec.engine;
	for (int i = 0; i < 2; i++) {
		struct tcp_direction *direction = &connection->directions[i];
		fabric_flow_cancel(connection->spec.fabric, direction->flow);
		fabric_flow_cancel(connection->spec.fabric, direction->repair_flow);
		engine_cancel(engine, direction->rto_event);
		engine_cancel(engine, direction->delayed_ack);
	}
	engine_cancel(engine, connection->syn_event);
	engine_cancel(engine, connection->connect_event);
	connection->spec.failed(connection->spec.failed_ctx, reason);
}

static bool tcp_wakes(const void *params)
{
	return true;
}

const struct transport_kind transport_tcp = {
	.name = "tcp",
	.help = "TCP/IP, with or without an overlay",
	.table = PARAM_TABLE_OF("tcp", struct tcp_params, tcp_rows),
	.wakes = tcp_wakes,
	.traffic = TRAFFIC_SOCKETS,
	.sockets = true,
	.new = tcp_new,
	.open = tcp_open,
	.send = tcp_send,
	.receive = receive,
};
