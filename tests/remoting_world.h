/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program on its own host, which uses the GPU of cuda_world.h remotely, with numbers that are
 * easy to add by hand. All times are in microseconds.
 *
 * Runtime: intercept 0.25, marshal 1, unmarshal 2, call service 3, reply 0.5; a request has 100 B
 * of header, an answer 50; chunks have 1000 B. The wire is a transport of this test without host
 * work: a message waits for the previous one, is accepted after size / rate (1 GB/s: 1000 B take 1)
 * and delivered 10 later. So a request of 100 B is accepted 1.25 + 0.1 after the call and delivered
 * at 11.35. An answer of 50 B reaches the program 0.05 + 10 + 0.5 after it is sent.
 */
#pragma once

#include "sim/remoting/remoting.h"
#include "tests/cuda_world.h"

enum { LINE_LOG_MAX = 4096, SCRIPT_MAX = 256 };

/* ---- the wire ---- */

struct line_sent {
	int64_t sent_ps;
	int from;
	double size_B;
	const char *label;
};

struct line_params {
	double latency_s, rate_Bps;
	bool never_opens;
	size_t deaf_after_count; /* number of messages that the server receives; 0: all */
	double fails_at_s;       /* 0: it does not fail */
	bool no_route;
	double accept_delay_s; /* from the end of a request on the wire until it is accepted */
	bool polled;           /* its threads poll, so no message wakes them */
	struct line_sent *log; /* has LINE_LOG_MAX entries */
	size_t *log_count;
};

struct line_message {
	struct connection *connection;
	struct message message;
	int from;
};

struct line {
	struct connection connection;
	struct connection_spec spec;
	const struct line_params *params;
	int64_t free_ps[2];
	struct line_message messages[LINE_LOG_MAX];
	size_t count;
};

static inline void line_fail(void *ctx, uint64_t arg)
{
	struct line *line = ctx;
	line->spec.failed(line->spec.failed_ctx, "the wire is cut");
}

static inline struct connection *line_new(const struct connection_spec *spec)
{
	const struct line_params *params = spec->params;
	if (params->no_route)
		return NULL;
	struct line *line = ARENA_NEW(spec->arena, struct line);
	line->spec = *spec;
	line->params = params;
	if (params->fails_at_s > 0)
		engine_at(spec->engine, ps_from_s(params->fails_at_s), line_fail, line, 0);
	return &line->connection;
}

static inline void line_open(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg)
{
	struct line *line = (struct line *)connection;
	if (!line->params->never_opens)
		engine_after(line->spec.engine, 0, fn, ctx, arg);
}

static inline void line_accepted(void *ctx, uint64_t arg)
{
	struct line_message *sent = ctx;
	if (sent->message.accepted)
		sent->message.accepted(sent->message.ctx, sent->message.arg);
}

static inline void line_delivered(void *ctx, uint64_t arg)
{
	struct line_message *sent = ctx;
	struct line *line = (struct line *)sent->connection;
	line->connection.counters.payload_delivered_B[sent->from] += sent->message.size_B;
	sent->message.delivered(sent->message.ctx, sent->message.arg);
}

static inline void line_send(struct connection *connection, int from, const struct message *message)
{
	struct line *line = (struct line *)connection;
	const struct line_params *params = line->params;
	int64_t now_ps = engine_now_ps(line->spec.engine);
	int64_t start_ps = line->free_ps[from] > now_ps ? line->free_ps[from] : now_ps;
	struct line_message *sent = &line->messages[line->count++ % LINE_LOG_MAX];
	*sent = (struct line_message){connection, *message, from};
	line->free_ps[from] = start_ps + ps_from_s(message->size_B / params->rate_Bps);
	if (params->log && *params->log_count < LINE_LOG_MAX)
		params->log[(*params->log_count)++] =
			(struct line_sent){now_ps, from, message->size_B, message->label};
	double delay_s = from == 0 ? params->accept_delay_s : 0;
	engine_at(line->spec.engine, line->free_ps[from] + ps_from_s(delay_s), line_accepted, sent,
		  0);
	bool deaf = params->deaf_after_count > 0 && from == 0 &&
		    line->connection.counters.messages_count[0] > params->deaf_after_count;
	if (!deaf)
		engine_at(line->spec.engine, line->free_ps[from] + ps_from_s(params->latency_s),
			  line_delivered, sent, 0);
}

static const struct param_table line_table = {.name = "line", .size = sizeof(struct line_params)};
static bool line_wakes(const void *params)
{
	return !((const struct line_params *)params)->polled; /* the hand-off time is added then */
}

static const struct transport_kind line_kind = {
	.name = "line",
	.wakes = line_wakes,
	.table = &line_table,
	.new = line_new,
	.open = line_open,
	.send = line_send,
};

/* ---- a thread that makes one call after the other ---- */

struct script_call {
	double gap_us; /* after the return of the previous call */
	struct cuda_call call;
	int64_t issue_ps, complete_ps; /* complete_ps is 0 until the call returns */
	enum call_result result;
};

struct script {
	struct engine *engine;
	struct cuda_port *port;
	unsigned thread;
	struct cpu *core;
	struct script_call calls[SCRIPT_MAX];
	size_t count, next;
};

static inline void script_go_on(struct script *script);

static inline void script_returned(void *ctx, uint64_t arg, enum call_result result)
{
	struct script *script = ctx;
	script->calls[arg].complete_ps = engine_now_ps(script->engine);
	script->calls[arg].result = result;
	script_go_on(script);
}

static inline void script_call_now(void *ctx, uint64_t arg)
{
	struct script *script = ctx;
	script->calls[arg].issue_ps = engine_now_ps(script->engine);
	script->port->call(script->port, script->thread, script->core, &script->calls[arg].call,
			   script_returned, script, arg);
}

static inline void script_go_on(struct script *script)
{
	if (script->next < script->count)
		engine_after(script->engine, ps_from_s(script->calls[script->next].gap_us * US),
			     script_call_now, script, script->next);
	script->next++;
}

static inline void script_start(void *ctx, uint64_t arg)
{
	script_go_on(ctx);
}

/* Appends a call, which the caller may change. */
static inline struct cuda_call *script_add(struct script *script, double gap_us,
					   enum call_kind kind)
{
	struct script_call *entry = &script->calls[script->count++];
	entry->gap_us = gap_us;
	entry->call.kind = kind;
	return &entry->call;
}

/* ---- the world ---- */

struct remote_world {
	struct world world;
	struct runtime_params runtime;
	struct line_params line;
	struct line_sent log[LINE_LOG_MAX];
	size_t log_count;
	struct host *client_host;
	struct guest *client;
	struct cuda_process *process;
	struct remote_client *remote;
	struct arena *remote_arena;
	struct script scripts[3]; /* one for each of the threads 0, 1, 2 */
	const char *failure;      /* the first failure */
	size_t failures_count;
	int64_t failed_ps;
};

static inline int policy_index(const char *name)
{
	for (size_t i = 0; i < policy_count(); i++) {
		if (strcmp(policy_at(i)->name, name) == 0)
			return (int)i;
	}
	return -1;
}

static inline void remote_world_failed(void *ctx, const char *reason)
{
	struct remote_world *w = ctx;
	w->failures_count++;
	w->failure = reason;
	w->failed_ps = engine_now_ps(w->world.engine);
}

static inline void remote_world_presets(struct remote_world *w, const char *policy)
{
	*w = (struct remote_world){0};
	world_presets(&w->world);
	w->runtime = (struct runtime_params){
		.policy = policy_index(policy),
		.connections_count = 1,
		.batch_count = 1,
		.request_header_B = 100,
		.reply_header_B = 50,
		.intercept_s = 0.25 * US,
		.marshal_s = 1 * US,
		.unmarshal_s = 2 * US,
		.handoff_s = 3 * US,
		.reply_s = 0.5 * US,
		.chunk_B = 1000,
		.pipelined = true,
		.pinned_staging = true,
		.connect_timeout_s = 10,
		.call_timeout_s = 10,
	};
	w->line = (struct line_params){.latency_s = 10 * US, .rate_Bps = 1e9};
}

static inline void remote_world_client(struct remote_world *w)
{
	const struct remote_spec spec = {
		.arena = w->remote_arena,
		.engine = w->world.engine,
		.fabric = w->world.fabric,
		.name = "program",
		.params = &w->runtime,
		.transport = &line_kind,
		.transport_params = &w->line,
		.client = w->client,
		.server = w->world.guest,
		.process = w->process,
		.seed = 1,
		.failed = remote_world_failed,
		.failed_ctx = w,
	};
	w->remote = remote_client_new(&spec);
}

/* Builds the world from the current parameters. */
static inline void remote_world_build(struct remote_world *w)
{
	world_build(&w->world);
	w->line.log = w->log;
	w->line.log_count = &w->log_count;
	int node = fabric_node_add(w->world.fabric, "desk");
	w->client_host = host_new(w->world.arena, w->world.engine, w->world.fabric, "desk",
				  &w->world.host_params);
	w->client = guest_new(w->client_host, "desk", node, &w->world.guest_params);
	w->process = world_process(&w->world, 4, 8);
	w->remote_arena = arena_new();
	remote_world_client(w);
	for (unsigned i = 0; i < 3; i++) {
		struct script *script = &w->scripts[i];
		script->engine = w->world.engine;
		script->port = w->remote ? remote_port(w->remote) : NULL;
		script->thread = i;
		script->core = guest_core(w->client);
	}
}

static inline void remote_world_begin(void *ctx, uint64_t arg)
{
	struct remote_world *w = ctx;
	for (size_t i = 0; i < 3; i++)
		script_go_on(&w->scripts[i]);
}

/* Connects, runs the scripts, and returns when no event is left. */
static inline void remote_world_run(struct remote_world *w)
{
	remote_connect(w->remote, remote_world_begin, w, 0);
	world_run(&w->world);
}

static inline void remote_world_release(struct remote_world *w)
{
	arena_free(w->remote_arena);
	world_release(&w->world);
}

/* Returns the duration of call `index` of a thread. */
static inline int64_t script_took_ps(const struct remote_world *w, size_t thread, size_t index)
{
	const struct script_call *call = &w->scripts[thread].calls[index];
	return call->complete_ps - call->issue_ps;
}
