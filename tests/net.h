/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small world for tests of hosts and transports: two hosts with one guest each, connected by one
 * link. Every cost is zero until a test sets it, so that answers can be computed by hand. */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/base/param.h"
#include "sim/engine/engine.h"
#include "sim/fabric/link.h"
#include "sim/host/host.h"
#include "sim/transport/transport.h"
#include "tests/test.h"

/* Fills params with the defaults of the table's rows. */
static inline void net_presets(struct arena *arena, const struct param_table *table, void *params)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct param_row *row = &table->rows[i];
		char *field = (char *)params + row->offset;
		double number = 0;
		int choice = 0;
		switch (row->kind) {
		case PARAM_KIND_NUMBER:
			FW_ASSERT(!quantity_parse(arena, row->quantity, row->preset, &number));
			FW_ASSERT(number >= row->min && number <= row->max);
			FW_ASSERT(row->source && row->source[0]);
			memcpy(field, &number, sizeof number);
			break;
		case PARAM_KIND_BOOL:
			*(bool *)field = strcmp(row->preset, "true") == 0;
			break;
		case PARAM_KIND_CHOICE:
			while (strcmp(param_choices(arena, row)[choice], row->preset) != 0)
				choice++;
			memcpy(field, &choice, sizeof choice);
			break;
		case PARAM_KIND_TEXT:
			memcpy(field, &row->preset, sizeof row->preset);
			break;
		}
	}
}

enum { NET_LOG = 4096 };

struct net {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct host_params host_params;
	const struct host_params *second_params; /* of the second host; NULL: host_params */
	struct guest_params guest_params[2];
	struct link_traits link;
	const char *link_kind;
	bool one_node; /* both guests are on one node of one host, without a link */
	struct host *host[2];
	struct guest *guest[2];
	struct cpu *core[2];
	struct connection *connection;
	char tcp[TRANSPORT_PARAMS_SIZE_MAX] __attribute__((aligned(16)));
	const char *reason; /* reason of a failure */
	double failed_s;
	double opened_s; /* -1: not opened */
	/* times of messages, by their arg */
	double accepted_s[NET_LOG], delivered_s[NET_LOG]; /* -1: it did not happen */
	uint64_t order[NET_LOG];
	size_t delivered_count;
};

static inline double net_now_s(const struct net *net)
{
	return s_from_ps(engine_now_ps(net->engine));
}

/* Creates a world with free work, cores that never sleep, unlimited interrupts, and a wire of 1
 * GB/s without framing. */
static inline struct net *net_new(void)
{
	struct arena *arena = arena_new();
	struct net *net = ARENA_NEW(arena, struct net);
	net->arena = arena;
	net->engine = engine_new(arena, &(struct engine_limits){0});
	net->fabric = fabric_new(arena, net->engine);
	net_presets(arena, &host_table, &net->host_params);
	net->host_params.c_states = false;
	net->host_params.nic_moderation = false;
	for (int i = 0; i < 2; i++) {
		struct guest_params *guest = &net->guest_params[i];
		net_presets(arena, &guest_table, guest);
		guest->vcpu_wake_s = guest->vnic_packet_s = guest->vnic_latency_s = 0;
		guest->firewall_packet_s = guest->selinux_call_s = 0;
		guest->send_s = guest->receive_s = guest->read_s = guest->packet_s = 0;
		guest->byte_spB = guest->thread_wake_s = 0;
	}
	net->link.capacity_Bps[0] = net->link.capacity_Bps[1] = 1e9;
	net->link_kind = "ethernet";
	net->opened_s = -1;
	for (int i = 0; i < NET_LOG; i++)
		net->accepted_s[i] = net->delivered_s[i] = -1;
	return net;
}

/* Builds hosts, guests and link from the current parameters. */
static inline void net_build(struct net *net)
{
	for (int i = 0; i < 2; i++) {
		static const char *const names[] = {"alpha", "beta"};
		static const char *const nodes[] = {"a", "b"};
		bool second = i == 1 && net->one_node;
		net->host[i] = second ? net->host[0]
				      : host_new(net->arena, net->engine, net->fabric, names[i],
						 i == 1 && net->second_params ? net->second_params
									      : &net->host_params);
		int node =
			second ? guest_node(net->guest[0]) : fabric_node_add(net->fabric, nodes[i]);
		net->guest[i] = guest_new(net->host[i], nodes[i], node, &net->guest_params[i]);
		net->core[i] = guest_core(net->guest[i]);
	}
	if (!net->one_node)
		fabric_link_add(net->fabric, "wire", link_kind_find(net->link_kind),
				guest_node(net->guest[0]), guest_node(net->guest[1]), &net->link);
}

static inline void net_failed(void *ctx, const char *reason)
{
	struct net *net = ctx;
	net->reason = reason;
	net->failed_s = net_now_s(net);
}

static inline void net_opened(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	net->opened_s = net_now_s(net);
}

static inline void net_connect(struct net *net, const char *kind, const void *params)
{
	struct connection_spec spec = {
		.engine = net->engine,
		.fabric = net->fabric,
		.arena = net->arena,
		.name = "a>b",
		.params = params,
		.ends = {{.guest = net->guest[0], .core = net->core[0]},
			 {.guest = net->guest[1], .core = net->core[1]}},
		.seed = 1,
		.failed = net_failed,
		.failed_ctx = net,
	};
	net->connection = connection_new(transport_kind_find(kind), &spec);
	if (net->connection)
		connection_open(net->connection, net_opened, net, 0);
}

static inline void net_accepted(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	net->accepted_s[arg] = net_now_s(net);
}

static inline void net_delivered(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	net->delivered_s[arg] = net_now_s(net);
	net->order[net->delivered_count++] = arg;
}

static inline void net_send(struct net *net, int from, double size_B, uint64_t arg)
{
	struct message message = {size_B, net_accepted, net_delivered, net, arg, "message"};
	connection_send(net->connection, from, &message);
}

/* Answers message arg of end 0 with a message of size 1 and number arg + 1 from end 1. */
static inline void net_echo(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	net_delivered(ctx, arg);
	net_send(net, 1, 1, arg + 1);
}

static inline enum engine_end net_run(struct net *net)
{
	enum engine_end end = engine_run(net->engine);
	CHECK(end == ENGINE_DRAINED);
	return end;
}

static inline void net_free(struct net *net)
{
	arena_free(net->arena);
}
