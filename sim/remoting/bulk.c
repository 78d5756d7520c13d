/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies between the memory of the program and the GPU.
 *
 * Copies to the device: the client sends chunk after chunk and releases the connection in between.
 * The server passes each chunk to the driver as a separate copy, so that wire, staging and PCIe
 * overlap. Synchronous copies to the host: the server has two staging buffers; the driver fills one
 * while the other is sent. Asynchronous copies to the host: the driver makes one copy in the
 * stream, and the bytes are sent back chunk after chunk when the stream reaches it.
 *
 * With zero_copy the bytes of a chunk are already in the GPU's memory (or come from it) when its
 * message ends. The driver then only keeps the order of the stream, with a marker of no duration or
 * a wait.
 */
#include "sim/remoting/parts.h"

/* Largest relative error of a sum of chunk sizes. */
static const double slack_ratio = 1e-9;

bool is_upload(const struct remote_call *call)
{
	enum call_kind kind = call->call.kind;
	return call->class == CLASS_BULK &&
	       (kind == CALL_MEMCPY_H2D || kind == CALL_MEMCPY_H2D_ASYNC);
}

bool is_download(const struct remote_call *call)
{
	return call->class == CLASS_BULK && !is_upload(call);
}

static const struct runtime_params *params_of(const struct remote_call *call)
{
	return call->channel->client->params;
}

static double chunk_size_B(const struct remote_call *call, double left_B)
{
	double chunk_B = params_of(call)->chunk_B;
	return left_B < chunk_B ? left_B : chunk_B;
}

void chunk_come(struct remote_call *call, const struct packet *packet)
{
	double payload_B = call->call.payload_B;
	call->come_B += packet->payload_B;
	if (packet->last && fabs(call->come_B - payload_B) > slack_ratio * payload_B)
		engine_fail(call->channel->client->engine,
			    "%s: a copy of %.17g bytes delivered %.17g bytes", call->channel->name,
			    payload_B, call->come_B);
}

static void driver_copy(struct remote_call *call, enum call_kind kind, double size_B,
			call_done_fn *done, void *ctx)
{
	struct channel *channel = call->channel;
	struct cuda_call copy = call->call;
	copy.kind = kind;
	copy.payload_B = size_B;
	copy.duration_s = 0;
	copy.pageable = !params_of(call)->pinned_staging;
	driver_call(channel->client->spec.process, channel->server_core, &copy, done, ctx, 0);
}

/* ---- to the device, client ---- */

void chunk_ready(void *ctx, uint64_t arg)
{
	struct remote_call *call = ctx;
	if (!params_of(call)->pipelined || credit_take(call))
		chunk_send(call);
}

void chunk_send(struct remote_call *call)
{
	struct packet *packet = channel_packet(call->channel, PACKET_CHUNK);
	packet->call = call;
	packet->first = call->unsent_B >= call->call.payload_B;
	packet->payload_B = chunk_size_B(call, call->unsent_B);
	call->unsent_B -= packet->payload_B;
	packet->last = call->unsent_B <= 0;
	/* The answer may arrive before the last chunk counts as accepted. */
	packet->waiter = packet->last && call->answered ? NULL : call;
	double body_B = packet->payload_B + (packet->first ? call->body_B : 0);
	packet->size_B += wire_B(call->channel->client, body_B, (double)call->call.compressibility);
	channel_post(packet);
}

/* Does the work that precedes the thread's next chunk. */
static void chunk_next(struct remote_call *call, double work_s)
{
	const struct runtime_params *params = params_of(call);
	call_timeout_arm(call);
	work_s += params->marshal_s + pack_s(call, chunk_size_B(call, call->unsent_B));
	cpu_serve(call->core, work_s, "marshal", chunk_ready, call, 0);
}

void chunk_accepted(struct remote_call *call, bool last)
{
	if (last)
		call_return(call, 0);
	else if (params_of(call)->pipelined)
		chunk_next(call, 0);
}

/* ---- stop-and-go, client ---- */

static void data_ack_post(void *ctx, uint64_t arg)
{
	struct remote_call *call = ctx;
	struct packet *packet = packet_take(call->channel, PACKET_DATA_ACK);
	packet->size_B = params_of(call)->request_header_B;
	packet->call = call;
	channel_post(packet);
}

void chunk_acknowledged(struct remote_call *call)
{
	double work_s = params_of(call)->reply_s;
	if (is_upload(call)) {
		chunk_next(call, work_s);
		return;
	}
	call_timeout_arm(call);
	if (!params_of(call)->pipelined)
		cpu_serve(call->core, work_s + params_of(call)->marshal_s, "reply", data_ack_post,
			  call, 0);
}

/* ---- to the device, server ---- */

static void served(struct remote_call *call)
{
	call->served_ps = engine_now_ps(call->channel->client->engine) - call->channel->taken_ps;
}

static void chunk_staged(void *ctx, uint64_t arg, enum call_result result)
{
	struct channel *channel = ctx;
	struct packet *packet = channel->serving;
	struct remote_call *call = packet->call;
	chunk_come(call, packet);
	if (params_of(call)->pipelined)
		server_executed(channel);
	if (packet->last && call->answered) {
		served(call);
		call->result = result;
		server_reply(call); /* acceptance of the answer continues the copy */
		return;
	}
	if (packet->last) {
		call_drop(call);
	} else if (!params_of(call)->pipelined) {
		struct packet *ack = packet_take(channel, PACKET_CHUNK_ACK);
		ack->call = call;
		server_post(ack);
	}
	server_next(channel);
}

void chunk_stage(struct channel *channel)
{
	const struct packet *packet = channel->serving;
	struct remote_call *call = packet->call;
	const struct runtime_params *params = params_of(call);
	bool waits = call->call.kind == CALL_MEMCPY_H2D && (packet->last || !params->pipelined);
	if (params->zero_copy && !packet->last) {
		chunk_staged(channel, 0, CALL_OK);
		return;
	}
	enum call_kind kind = waits ? CALL_MEMCPY_H2D : CALL_MEMCPY_H2D_ASYNC;
	if (params->zero_copy)
		kind = waits ? CALL_STREAM_SYNCHRONIZE : CALL_MEMSET_ASYNC;
	driver_copy(call, kind, packet->payload_B, chunk_staged, channel);
}

/* ---- to the host, server ---- */

static void fetch_pump(struct remote_call *call);

static void fetch_copied(void *ctx, uint64_t arg, enum call_result result)
{
	struct remote_call *call = ctx;
	call->copying = false;
	if (call->copied_B <= 0)
		served(call);
	double left_B = call->call.payload_B - call->copied_B;
	call->copied_B +=
		params_of(call)->zero_copy || !call->answered ? left_B : chunk_size_B(call, left_B);
	fetch_pump(call);
}

static void data_compressed(void *ctx, uint64_t arg)
{
	server_post(ctx);
}

static void fetch_send(struct remote_call *call)
{
	struct packet *packet = packet_take(call->channel, PACKET_DATA);
	packet->call = call;
	packet->payload_B = chunk_size_B(call, call->call.payload_B - call->sent_B);
	call->sent_B += packet->payload_B;
	packet->last = call->sent_B >= call->call.payload_B;
	call->sending = true;
	double work_s = pack_s(call, packet->payload_B);
	if (work_s > 0)
		cpu_serve(call->channel->server_core, work_s, "compress", data_compressed, packet,
			  0);
	else
		server_post(packet);
}

/* Fills the free buffer and sends the full one. */
static void fetch_pump(struct remote_call *call)
{
	const struct runtime_params *params = params_of(call);
	double payload_B = call->call.payload_B;
	double occupied_B = call->copied_B - call->released_B;
	bool room = params->pipelined ? occupied_B <= params->chunk_B : occupied_B <= 0;
	if (!call->copying && call->copied_B < payload_B && room) {
		call->copying = true;
		driver_copy(call, params->zero_copy ? CALL_STREAM_SYNCHRONIZE : CALL_MEMCPY_D2H,
			    chunk_size_B(call, payload_B - call->copied_B), fetch_copied, call);
	}
	bool acknowledged =
		params->pipelined || !call->answered || call->released_B >= call->sent_B;
	if (!call->sending && acknowledged && call->copied_B > call->sent_B)
		fetch_send(call);
}

void data_accepted(struct remote_call *call)
{
	struct channel *channel = call->channel;
	call->sending = false;
	if (params_of(call)->pipelined || !call->answered)
		call->released_B = call->sent_B;
	if (call->sent_B < call->call.payload_B) {
		if (call->answered && !params_of(call)->pipelined)
			server_read(channel); /* the acknowledgement */
		fetch_pump(call);
		return;
	}
	bool answered = call->answered;
	call_drop(call);
	if (answered)
		server_next(channel);
}

void data_acknowledged(struct remote_call *call)
{
	call->released_B = call->sent_B;
	fetch_pump(call);
}

/* Called when the copy is in its stream. Sending its bytes waits for it there. */
static void fetch_submitted(void *ctx, uint64_t arg, enum call_result result)
{
	struct remote_call *call = ctx;
	struct channel *channel = call->channel;
	driver_copy(call, CALL_STREAM_SYNCHRONIZE, 0, fetch_copied, call);
	server_executed(channel);
	server_next(channel);
}

void fetch_serve(struct remote_call *call)
{
	if (call->answered)
		fetch_pump(call);
	else if (params_of(call)->zero_copy)
		fetch_submitted(call, 0, CALL_OK);
	else
		driver_copy(call, CALL_MEMCPY_D2H_ASYNC, call->call.payload_B, fetch_submitted,
			    call);
}
