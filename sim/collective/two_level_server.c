/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two-level parameter server: the GPUs of a machine first add their values, so that each machine
 * sends only one copy to the servers and receives one. TensorFlow's distributed_replicated
 * (tf_cnn_benchmarks, variable_mgr.py) and MXNet's dist_device_sync (kvstore_dist.h) do this.
 *
 * Ranks after the servers are the machines' processes in host memory, one for each node. A value
 * travels in up to five hops:
 *   1. each GPU of a node to one of them, which adds (with local_on_cpu to the node's process)
 *   2. this GPU to the node's process
 *   3. the process to the server; the server stores the first value and adds the others
 *   4. the server to the processes of all nodes
 *   5. the process to each GPU of its node
 * A buffer is divided over all servers. With `whole` one server has it, which is chosen by `turn`.
 * `turn` also chooses the GPU of each node that adds. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

struct machines {
	struct schedule_builder *builder;
	const struct algorithm_spec *spec;
	struct pattern_nodes nodes;
	const uint32_t *own; /* by node: its process */
	uint32_t *pushes;    /* by node: the send to the server */
	uint32_t *sends;     /* by rank: its own send, NO_STEP: none */
};

/* Adds the values of a node's GPUs and sends the sum to the server. */
static void push(struct machines *m, size_t node, size_t server, size_t chunk, size_t channel)
{
	const uint32_t *ranks = m->nodes.ranks + m->nodes.first[node];
	size_t count = m->nodes.first[node + 1] - m->nodes.first[node];
	size_t adder = m->spec->turn % count, own = m->own[node];
	uint32_t last = NO_STEP;
	bool on_cpu = m->spec->local_on_cpu;
	for (size_t i = 0; i < count; i++) {
		size_t to = on_cpu ? own : ranks[adder];
		if (on_cpu || i != adder)
			m->sends[ranks[i]] =
				schedule_send(m->builder, ranks[i], to, chunk, channel, NULL, 0);
	}
	for (size_t i = 0; i < count && !on_cpu; i++)
		if (i != adder)
			last = schedule_reduce(m->builder, ranks[adder], chunk, channel,
					       m->sends[ranks[i]], &last, 1);
	if (!on_cpu) {
		last = schedule_send(m->builder, ranks[adder], own, chunk, channel, &last, 1);
		m->sends[ranks[adder]] = last;
		last = schedule_copy(m->builder, own, chunk, channel, last, NULL, 0);
	}
	for (size_t i = 0; i < count && on_cpu; i++)
		last = (i ? schedule_reduce : schedule_copy)(m->builder, own, chunk, channel,
							     m->sends[ranks[i]], &last, 1);
	m->pushes[node] = schedule_send(m->builder, own, server, chunk, channel, &last, 1);
}

/* Sends the server's value to all GPUs of a node. */
static void pull(struct machines *m, size_t node, uint32_t answer, size_t chunk, size_t channel)
{
	uint32_t there = schedule_copy(m->builder, m->own[node], chunk, channel, answer,
				       &m->pushes[node], 1);
	for (size_t i = m->nodes.first[node]; i < m->nodes.first[node + 1]; i++) {
		uint32_t rank = m->nodes.ranks[i];
		uint32_t send =
			schedule_send(m->builder, m->own[node], rank, chunk, channel, &there, 1);
		schedule_copy(m->builder, rank, chunk, channel, send, &m->sends[rank], 1);
	}
}

static void serve(struct machines *m, size_t shard, size_t chunk, size_t channel)
{
	const struct algorithm_spec *spec = m->spec;
	size_t at = (shard + spec->turn) % spec->server_count, server = spec->rank_count + at;
	uint32_t last = NO_STEP;
	for (size_t node = 0; node < m->nodes.count; node++)
		push(m, node, server, chunk, channel);
	for (size_t node = 0; node < m->nodes.count; node++)
		last = (node ? schedule_reduce : schedule_copy)(m->builder, server, chunk, channel,
								m->pushes[node], &last, 1);
	for (size_t node = 0; node < m->nodes.count; node++)
		pull(m, node,
		     schedule_send(m->builder, server, m->own[node], chunk, channel, &last, 1),
		     chunk, channel);
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, shards = spec->whole ? 1 : spec->server_count;
	struct machines m = {.spec = spec, .nodes = pattern_nodes(arena, spec, 0)};
	uint32_t *own = ARENA_ARRAY(arena, m.nodes.count, uint32_t);
	for (size_t k = 0; k < m.nodes.count; k++) {
		size_t first = m.nodes.ranks[m.nodes.first[k]];
		own[k] = (uint32_t)(n + spec->server_count +
				    (spec->node_of ? spec->node_of[first] : 0));
	}
	m.own = own;
	m.pushes = ARENA_ARRAY(arena, m.nodes.count, uint32_t);
	m.sends = pattern_last(arena, n);
	m.builder = pattern_begin(algorithm, arena, spec, spec->channel_count,
				  spec->channel_count * shards, 0);
	for (size_t channel = 0; channel < spec->channel_count; channel++)
		for (size_t shard = 0; shard < shards; shard++)
			serve(&m, shard, channel * shards + shard, channel);
	return schedule_finish(m.builder);
}

const struct algorithm algorithm_two_level_server = {
	.name = "two_level_server",
	.help = "all-reduce inside each machine, then by servers with one copy for each machine",
	.servers = true,
	.machines = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.refuse = pattern_no_servers,
	.build = build,
};
