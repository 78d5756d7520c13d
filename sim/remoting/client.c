/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/engine/trace.h"
#include "sim/remoting/parts.h"

/* ---- making and opening ---- */

static void connection_failed(void *ctx, const char *reason)
{
	remote_fail(ctx, reason);
}

/* Returns the cores of the threads between the first and the last of threads_count that a message
 * passes. */
static struct cpu **hops_new(struct remote_client *client, struct guest *guest,
			     double threads_count)
{
	if (threads_count <= 2)
		return NULL;
	size_t count = (size_t)threads_count - 2;
	struct cpu **hops = ARENA_ARRAY(client->arena, count, struct cpu *);
	for (size_t i = 0; i < count; i++)
		hops[i] = guest_core(guest);
	return hops;
}

static struct server_turn *turn_of(struct remote_client *client, struct guest *server)
{
	struct server_turn **turn = guest_server_turn(server);
	if (!*turn) {
		*turn = ARENA_NEW(client->arena, struct server_turn);
		(*turn)->core = guest_core(server);
	}
	return *turn;
}

static bool channel_open(struct remote_client *client, size_t index)
{
	const struct remote_spec *spec = &client->spec;
	struct channel *channel = &client->channels[index];
	channel->client = client;
	channel->name = arena_printf(client->arena, "%s>%s %zu", spec->name,
				     guest_name(spec->server), index);
	channel->client_core = guest_core(spec->client);
	const struct runtime_params *params = client->params;
	if (params->shared_thread)
		channel->turn = turn_of(client, spec->server);
	channel->server_core = channel->turn ? channel->turn->core : guest_core(spec->server);
	channel->idle = true;
	bool reads = params->server_threads_count > 1, answers = params->client_threads_count > 1;
	channel->server_hops = hops_new(client, spec->server, params->server_threads_count);
	channel->client_hops = hops_new(client, spec->client, params->client_threads_count);
	if (params->polls) {
		cpu_spin(channel->client_core);
		cpu_spin(channel->server_core);
	}
	channel->track = trace_track(
		engine_trace(client->engine), guest_name(spec->server),
		arena_printf(client->arena, "server of %s, connection %zu", spec->name, index));
	const struct connection_spec connection = {
		.engine = spec->engine,
		.fabric = spec->fabric,
		.arena = spec->arena,
		.name = channel->name,
		.params = spec->transport_params,
		.ends = {{spec->client, channel->client_core,
			  answers ? guest_core(spec->client) : NULL},
			 {spec->server, channel->server_core,
			  reads ? guest_core(spec->server) : NULL}},
		.polls = params->polls,
		.seed = spec->seed,
		.failed = connection_failed,
		.failed_ctx = client,
	};
	channel->connection = connection_new(spec->transport, &connection);
	if (!channel->connection)
		return false;
	server_read(channel);
	return true;
}

static const enum call_class rule_classes[] = {
	[RULE_POLICY] = CLASS_COUNT,
	[RULE_LOCAL] = CLASS_LOCAL,
	[RULE_SENT] = CLASS_ASYNC,
	[RULE_ANSWERED] = CLASS_SYNC,
};

static void classes_init(struct remote_client *client)
{
	for (size_t i = 0; i < CALL_KIND_COUNT; i++)
		client->classes[i] = CLASS_COUNT;
#define CALL_RULE(field, kind, rules, what)                                                        \
	client->classes[CALL_##kind] = rule_classes[client->params->field];
#include "sim/remoting/call_rules.def"
#undef CALL_RULE
}

static struct cpu *port_core(struct cuda_port *port, unsigned thread);
static void port_call(struct cuda_port *port, unsigned thread, struct cpu *core,
		      const struct cuda_call *cuda, call_done_fn *done, void *ctx, uint64_t arg);

struct remote_client *remote_client_new(const struct remote_spec *spec)
{
	struct remote_client *client = ARENA_NEW(spec->arena, struct remote_client);
	client->port.core = port_core;
	client->port.call = port_call;
	client->spec = *spec;
	client->params = spec->params;
	client->policy = policy_at((size_t)spec->params->policy);
	classes_init(client);
	client->woken = !spec->params->polls && spec->transport->wakes &&
			spec->transport->wakes(spec->transport_params);
	client->serialises = !spec->transport->direct;
	client->arena = spec->arena;
	client->engine = spec->engine;
	client->timeout_ps = ps_from_s(spec->params->call_timeout_s);
	client->channel_count = (size_t)spec->params->connections_count;
	FW_ASSERT(client->channel_count > 0);
	client->channels = ARENA_ARRAY(spec->arena, client->channel_count, struct channel);
	for (size_t i = 0; i < client->channel_count; i++) {
		if (!channel_open(client, i))
			return NULL;
	}
	return client;
}

struct cuda_port *remote_port(struct remote_client *client)
{
	return &client->port;
}

static void connect_timed_out(void *ctx, uint64_t arg)
{
	struct remote_client *client = ctx;
	const char *after =
		quantity_format(client->arena, QUANTITY_TIME, client->params->connect_timeout_s);
	remote_fail(client,
		    arena_printf(client->arena, "connection timeout: no connection to %s within %s",
				 guest_name(client->spec.server), after));
}

static void keep_alive_due(void *ctx, uint64_t arg);

static void keep_alive_arm(struct channel *channel, int64_t from_ps)
{
	struct remote_client *client = channel->client;
	if (client->params->keep_alive_s > 0)
		engine_do_at(client->engine, from_ps + ps_from_s(client->params->keep_alive_s),
			     keep_alive_due, channel, 0);
}

static void channel_opened(void *ctx, uint64_t arg)
{
	struct channel *channel = ctx;
	struct remote_client *client = channel->client;
	channel->active_ps = engine_now_ps(client->engine);
	keep_alive_arm(channel, channel->active_ps);
	if (++client->open_count < client->channel_count)
		return;
	engine_cancel(client->engine, client->connect_timeout);
	if (client->params->session_s > 0)
		engine_after(client->engine, ps_from_s(client->params->session_s),
			     client->connected, client->connected_ctx, client->connected_arg);
	else
		client->connected(client->connected_ctx, client->connected_arg);
}

void remote_connect(struct remote_client *client, event_fn *fn, void *ctx, uint64_t arg)
{
	client->connected = fn;
	client->connected_ctx = ctx;
	client->connected_arg = arg;
	if (client->params->connect_timeout_s > 0)
		client->connect_timeout =
			engine_after(client->engine, ps_from_s(client->params->connect_timeout_s),
				     connect_timed_out, client, 0);
	for (size_t i = 0; i < client->channel_count; i++)
		connection_open(client->channels[i].connection, channel_opened,
				&client->channels[i], 0);
}

static struct cpu *port_core(struct cuda_port *port, unsigned thread)
{
	const struct remote_client *client = (struct remote_client *)port;
	return thread < client->channel_count ? client->channels[thread].client_core : NULL;
}

/* ---- calls ---- */

/* Returns true if the interface that the runtime replaces never sees the call. */
static bool is_above(int level, enum call_kind kind)
{
	switch (kind) {
	case CALL_LIBRARY:
		return level != LEVEL_LIBRARY;
	case CALL_GET_DEVICE:
	case CALL_SET_DEVICE:
	case CALL_GET_LAST_ERROR:
		return level == LEVEL_DRIVER;
	default:
		return false;
	}
}

static bool is_known(struct remote_client *client, const struct cuda_call *call)
{
	if (call->kind == CALL_CREATE_CONTEXT)
		return client->params->warm_context;
	if (call->kind == CALL_GET_ATTRIBUTE)
		return client->params->query_cache && client->attributes_known;
	return call->kind == CALL_EVENT_QUERY && client->params->event_cache &&
	       event_state(client, call->event)->completed;
}

/* A launch that reaches the server as one call of the library which makes it. */
static bool is_library_call(const struct remote_client *client, const struct cuda_call *call)
{
	return call->by_library && call->kind == CALL_LAUNCH &&
	       client->params->level == LEVEL_LIBRARY;
}

/* Returns what the runtime states for a call of a library that starts kernels. */
static int library_rule(const struct remote_client *client, const struct cuda_call *call)
{
	if (!is_library_call(client, call))
		return RULE_POLICY;
	if (call->product)
		return client->params->product_call;
	return call->norm ? client->params->norm_call : RULE_POLICY;
}

/* Returns true if the call is a question that the client asks before a product. */
static bool is_question(const struct cuda_call *call)
{
	return call->product && call->kind == CALL_GET_VALUE;
}

static bool is_copy(enum call_kind kind)
{
	return kind >= CALL_MEMCPY_H2D && kind <= CALL_MEMCPY_D2H_ASYNC;
}

static enum call_class class_of(struct remote_client *client, const struct cuda_call *call)
{
	if (is_question(call))
		return CLASS_SYNC;
	if (is_known(client, call))
		return CLASS_LOCAL;
	if (library_rule(client, call) != RULE_POLICY)
		return rule_classes[library_rule(client, call)];
	enum call_class class = is_copy(call->kind) ? CLASS_COUNT : client->classes[call->kind];
	if (class == CLASS_COUNT && is_above(client->params->level, call->kind))
		class = CLASS_LOCAL;
	if (class == CLASS_COUNT)
		class = client->policy->classify(client->params, call);
	/* A copy of zero bytes is an ordinary call. */
	return class == CLASS_BULK && call->payload_B <= 0 ? CLASS_SYNC : class;
}

static bool is_answered(const struct remote_client *client, enum call_class class,
			enum call_kind kind)
{
	if (class == CLASS_BULK && client->classes[kind] != CLASS_COUNT)
		return client->classes[kind] == CLASS_SYNC;
	if (class == CLASS_BULK)
		return client->policy->blocking_copies || kind == CALL_MEMCPY_H2D ||
		       kind == CALL_MEMCPY_D2H;
	return class != CLASS_LOCAL && class != CLASS_ASYNC;
}

static void class_set(struct remote_call *call, enum call_class class, bool answered)
{
	call->class = class;
	call->answered = answered;
	if (answered) {
		call->holds_all_streams = false;
		call->held_stream = 0;
		call->held_fetch = 0;
	}
	if (class == CLASS_BULK) {
		call->unsent_B = call->call.payload_B;
		call->copied_B = call->sent_B = call->released_B = call->come_B = 0;
		call->copying = call->sending = false;
	}
}

/* Returns true if the call joins a batch without filling it. */
static bool joins_batch(const struct remote_call *call)
{
	const struct channel *channel = call->channel;
	double batch_count = channel->client->params->batch_count;
	return call->class == CLASS_ASYNC &&
	       (batch_count == 0 || (double)(channel->buffer_count + 1) < batch_count);
}

static void channel_unlock(struct channel *channel);

void call_return(void *ctx, uint64_t arg)
{
	struct remote_call *call = ctx;
	struct remote_client *client = call->channel->client;
	if (client->failed)
		return;
	if (client->params->exclusive && call->class != CLASS_LOCAL)
		channel_unlock(call->channel);
	double waited_s = s_from_ps(engine_now_ps(client->engine) - call->start_ps);
	if (call->class == CLASS_SYNC || call->class == CLASS_DRAINING || call->class == CLASS_POLL)
		client->counters.waited_s += waited_s;
	struct kind_counters *kind = &client->counters.kinds[call->call.kind];
	kind->calls_count += call->class == CLASS_LOCAL ? 1 + call->call.repeats : 1;
	kind->waited_s += waited_s;
	kind->served_s += call->answered ? s_from_ps(call->served_ps) : 0;
	if (call->call.kind == CALL_GET_ATTRIBUTE)
		client->attributes_known = true;
	call_done_fn *done = call->done;
	void *done_ctx = call->ctx;
	uint64_t done_arg = call->arg;
	enum call_result result = call->result;
	bool asked = is_question(&call->call) && call->call.repeats == 0;
	if (asked || (call->call.repeats > 0 && call->class != CLASS_LOCAL)) {
		struct cuda_call again = call->call;
		unsigned channel = (unsigned)(call->channel - client->channels);
		struct cpu *core = call->core;
		if (asked) {
			again.kind = CALL_LAUNCH;
			again.asked = true;
		} else {
			again.repeats = (again.repeats - 1U) & 63U;
		}
		call_drop(call);
		port_call(&client->port, channel, core, &again, done, done_ctx, done_arg);
		return;
	}
	call_drop(call);
	done(done_ctx, done_arg, result);
}

static void post_with(struct remote_call *call, bool waits)
{
	channel_put(call);
	struct packet *packet = channel_packet(call->channel, PACKET_CALLS);
	packet->waiter = waits ? call : NULL;
	channel_post(packet);
}

/* Forwards an asynchronous call or fetch that has its credit. */
static void forward(struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	if (call->class == CLASS_BULK) {
		call->fetch = ++client->fetch_count;
		call->next_fetch = client->fetches;
		client->fetches = call;
		post_with(call, true);
	} else if (joins_batch(call)) {
		struct channel *channel = call->channel;
		channel_put(call);
		call_return(call, 0);
		if (channel->creditless.head) /* send calls that this one may block */
			channel_flush(channel);
	} else {
		post_with(call, true);
	}
}

void call_credited(void *ctx, uint64_t arg)
{
	struct remote_call *call = ctx;
	if (is_upload(call))
		chunk_send(call);
	else
		forward(call);
}

void call_accepted(struct remote_call *call, const struct packet *packet)
{
	if (packet->kind == PACKET_CHUNK)
		chunk_accepted(call, packet->last);
	else
		call_return(call, 0);
}

static void async_marshalled(void *ctx, uint64_t arg)
{
	struct remote_call *call = ctx;
	if (credit_take(call))
		forward(call);
}

/* Called when the thread has finished its own work on the call. */
static void call_marshalled(void *ctx, uint64_t arg)
{
	struct remote_call *call = ctx;
	const struct runtime_params *params = call->channel->client->params;
	if (arg == 0 && call->call.kind == CALL_CREATE_CONTEXT && params->session_s > 0) {
		/* A process begins, so it sets up a session of its own. */
		engine_after(call->channel->client->engine, ps_from_s(params->session_s),
			     call_marshalled, call, 1);
	} else if (call->class == CLASS_LOCAL) {
		call_return(call, 0);
	} else if (call->class == CLASS_ASYNC && params->batch_count != 1 && !joins_batch(call)) {
		cpu_serve(call->core, params->marshal_s, "marshal", async_marshalled, call, 0);
	} else if (is_upload(call)) {
		note_order(call);
		chunk_ready(call, 0);
	} else if (!call->answered) {
		async_marshalled(call, 0);
	} else {
		post_with(call, false);
	}
}

/* Sets the size of the call in its message. Returns the caller's work before it. */
static double call_measure(struct remote_call *call)
{
	const struct runtime_params *params = call->channel->client->params;
	double payload_B = call->call.payload_B;
	double head_B = (double)call->call.arguments_B + params->call_header_B;
	if (call->call.kind == CALL_LAUNCH && !is_library_call(call->channel->client, &call->call))
		head_B += params->launch_header_B;
	bool batched = is_copy(call->call.kind) && call->class == CLASS_ASYNC;
	call->bulk_B = batched || (is_download(call) && params->echo_downloads) ? payload_B : 0;
	call->body_B = head_B + call->bulk_B;
	double first_B = is_upload(call) ? fmin(payload_B, params->chunk_B) : call->bulk_B;
	double work_s =
		params->intercept_s + params->marshal_byte_spB * head_B + pack_s(call, first_B);
	if (head_B >= params->compress_from_B)
		work_s += params->compress_byte_spB * head_B;
	bool alone = call->class != CLASS_ASYNC || params->batch_count == 1;
	return work_s + (alone ? params->marshal_s : 0);
}

static void call_begin(struct remote_call *call)
{
	call_timeout_arm(call);
	cpu_serve(call->core, call_measure(call), "marshal", call_marshalled, call, 0);
}

/* Gives the connection to the next call that waits for it. */
static void channel_unlock(struct channel *channel)
{
	struct remote_call *next = call_pop(&channel->locked_out);
	channel->locked = next != NULL;
	if (next)
		call_begin(next);
}

/* Returns the work of a call that the client answers. A call above the replaced interface costs
 * what it costs with a local GPU. */
static double local_work_s(const struct remote_client *client, const struct cuda_call *call)
{
	const struct runtime_params *params = client->params;
	if (!is_above(params->level, call->kind))
		return params->intercept_s * (1 + call->repeats);
	return call->in_dispatch ? 0 : cuda_process_work_s(client->spec.process, call);
}

static void port_call(struct cuda_port *port, unsigned thread, struct cpu *core,
		      const struct cuda_call *cuda, call_done_fn *done, void *ctx, uint64_t arg)
{
	struct remote_client *client = (struct remote_client *)port;
	FW_ASSERT(client->open_count == client->channel_count);
	const struct runtime_params *params = client->params;
	struct cuda_call question;
	if (is_library_call(client, cuda) && cuda->product && !cuda->asked &&
	    params->product_questions_count > 0) {
		question = *cuda;
		question.kind = CALL_GET_VALUE;
		question.repeats = ((unsigned)params->product_questions_count - 1U) & 63U;
		cuda = &question;
	}
	struct remote_call *call = call_take(client);
	call->channel = &client->channels[thread % client->channel_count];
	call->core = core;
	call->call = *cuda;
	enum call_class class = class_of(client, cuda);
	class_set(call, class, is_answered(client, class, cuda->kind));
	if (params->batch_copies && is_upload(call) && !call->answered) {
		call->class = CLASS_ASYNC;
		call->call.pageable = !params->pinned_staging;
	}
	call->done = done;
	call->ctx = ctx;
	call->arg = arg;
	call->start_ps = engine_now_ps(client->engine);
	if (call->class == CLASS_LOCAL) {
		client->counters.calls_count[CLASS_LOCAL] += 1 + cuda->repeats;
		call->holds = 1;
		cpu_serve(core, local_work_s(client, cuda), "intercept", call_marshalled, call, 0);
		return;
	}
	client->counters.calls_count[call->class]++;
	*(call->answered ? &client->counters.answered_count : &client->counters.sent_count) += 1;
	bool fetches = is_download(call) && !call->answered;
	call->holds = fetches ? 3 : 2; /* the caller, the server and the delivery of the bytes */
	if (call->answered)
		call->channel->waiting_count++;
	if (params->exclusive && call->channel->locked) {
		call_push(&call->channel->locked_out, call);
		return;
	}
	call->channel->locked = params->exclusive;
	call_begin(call);
}

/* ---- keep-alive ---- */

static void keep_alive_due(void *ctx, uint64_t arg)
{
	struct channel *channel = ctx;
	struct remote_client *client = channel->client;
	if (client->failed)
		return;
	int64_t now_ps = engine_now_ps(client->engine);
	bool idle = now_ps - channel->active_ps >= ps_from_s(client->params->keep_alive_s);
	keep_alive_arm(channel, idle || channel->waiting_count > 0 ? now_ps : channel->active_ps);
	if (!idle || channel->waiting_count > 0)
		return;
	struct remote_call *call = call_take(client);
	call->channel = channel;
	call->core = channel->client_core;
	call->call = (struct cuda_call){0};
	class_set(call, CLASS_POLL, true);
	call->probe = true;
	call->body_B = call->bulk_B = 0;
	call->holds = 2;
	channel->waiting_count++;
	call_timeout_arm(call);
	post_with(call, false);
}

/* ---- counters ---- */

void remote_account(const struct remote_client *client)
{
	for (size_t i = 0; i < client->channel_count; i++)
		connection_account(client->channels[i].connection, client->spec.fabric);
}

const char *remote_waiting(const struct remote_client *client, struct arena *arena)
{
	uint64_t sent = 0, delivered = 0;
	size_t waiting = 0;
	for (size_t i = 0; i < client->channel_count; i++) {
		const struct connection_counters *wire =
			connection_counters(client->channels[i].connection);
		waiting += client->channels[i].waiting_count;
		sent += wire->messages_count[0] + wire->messages_count[1];
		delivered += wire->delivered_count[0] + wire->delivered_count[1];
	}
	return arena_printf(
		arena, "%zu calls without an answer, %llu of %llu messages not delivered", waiting,
		(unsigned long long)(sent - delivered), (unsigned long long)sent);
}

size_t remote_batched_count(const struct remote_client *client)
{
	size_t batched_count = 0;
	for (size_t i = 0; i < client->channel_count; i++)
		batched_count += client->channels[i].buffer_count;
	return batched_count;
}

struct remote_counters remote_counters(const struct remote_client *client)
{
	struct remote_counters counters = client->counters;
	for (size_t i = 0; i < client->channel_count; i++) {
		const struct connection_counters *wire =
			connection_counters(client->channels[i].connection);
		counters.messages_count += wire->messages_count[0] + wire->messages_count[1];
		counters.sent_B += wire->payload_sent_B[0];
		counters.received_B += wire->payload_delivered_B[1];
		counters.losses_count += wire->losses_count;
		counters.timeouts_count += wire->timeouts_count;
		counters.stalled_s += wire->stalled_s;
	}
	return counters;
}
