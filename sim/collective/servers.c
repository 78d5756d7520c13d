/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduces in which one rank adds the values of others and sends them the sum.
 *
 * Parameter server (Li et al. 2014): each server keeps a shard of the buffer. Workers send their
 * values to all servers; a server adds them and, when all have arrived, answers all workers.
 * Servers are the ranks after the workers and have no values of their own. The first value is
 * stored, the others are added in sequence, beginning with the worker whose number is the shard's.
 * (All workers are ready at about the same time, so the order matters little.) A shard is divided
 * into pipeline_count consecutive pieces.
 *
 * NVLink SHARP: each rank is the head of one part of the buffer, in p pieces: it gets the part's
 * values of all other ranks, adds them and sends the sum to all. The switch does both, so links
 * carry fewer bytes than these messages have (generation.c). Channel 2c has the values, channel
 * 2c + 1 the sums.
 *
 * Two-level parameter server: the GPUs of a machine first add their values, so that each machine
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
#include "sim/collective/pattern.h"

static const char *refuse_without_servers(const struct algorithm_spec *spec)
{
	return spec->server_count ? NULL : "a parameter server needs at least one server";
}

/* ---- parameter servers and NVLink SHARP ---- */

/* A rank that adds a chunk of `count` of the workers, from the worker `first` on, and answers. */
struct server_service {
	size_t head, count, first, chunk;
	size_t added_first; /* worker whose value is added first */
	size_t up, down;    /* channels of values and sums */
	bool stores;        /* the head has no value of its own */
};

static void serve(struct schedule_builder *builder, size_t worker_count,
		  const struct server_service *s, uint32_t *sends)
{
	uint32_t last = NO_STEP;
	for (size_t i = 0; i < s->count; i++) {
		size_t rank = (s->first + i) % worker_count;
		sends[rank] = schedule_send(builder, rank, s->head, s->chunk, s->up, NULL, 0);
	}
	for (size_t i = 0; i < s->count; i++)
		last = (i == 0 && s->stores ? schedule_copy : schedule_reduce)(
			builder, s->head, s->chunk, s->up,
			sends[(s->added_first + i) % worker_count], &last, 1);
	for (size_t i = 0; i < s->count; i++) {
		size_t rank = (s->first + i) % worker_count;
		uint32_t sum = schedule_send(builder, s->head, rank, s->chunk, s->down, &last, 1);
		schedule_copy(builder, rank, s->chunk, s->down, sum, &sends[rank], 1);
	}
}

/* The loop runs over pieces first, so that a worker begins with the first piece of all shards. */
static const struct schedule *build_servers(const struct algorithm *algorithm, struct arena *arena,
					    const struct algorithm_spec *spec)
{
	bool servers = algorithm->servers;
	size_t n = spec->rank_count, heads = servers ? spec->server_count : n;
	size_t p = spec->pipeline_count, chunk_count = spec->channel_count * heads * p;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, (servers ? 1 : 2) * spec->channel_count,
			      chunk_count, 4 * n * chunk_count);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t channel = 0; channel < spec->channel_count; channel++)
		for (size_t piece = 0; piece < p; piece++)
			for (size_t head = 0; head < heads; head++) {
				struct server_service s = {.head = head,
							   .count = n - 1,
							   .first = head + 1,
							   .chunk = (channel * heads + head) * p +
								    piece,
							   .added_first = head + 1,
							   .up = 2 * channel,
							   .down = 2 * channel + 1};
				if (servers) {
					s.head = n + head;
					s.count = n;
					s.first = 0;
					s.added_first = head;
					s.up = s.down = channel;
					s.stores = true;
				}
				serve(builder, n, &s, sends);
			}
	return schedule_finish(builder);
}

static const char *refuse_several_nodes(const struct algorithm_spec *spec)
{
	return spec->node_count > 1 ? "a switch adds only the values of one machine's GPUs" : NULL;
}

const struct algorithm algorithm_parameter_server = {
	.name = "parameter_server",
	.help = "all-reduce by servers that add the workers' data and send the result to all",
	.servers = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.refuse = refuse_without_servers,
	.build = build_servers,
};

const struct algorithm algorithm_nvls = {
	.name = "nvls",
	.help = "all-reduce in the NVSwitch of one machine, NVLink SHARP (NCCL's NVLS)",
	.automatic = true,
	.cost = COST_MULTICAST,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.refuse = refuse_several_nodes,
	.build = build_servers,
};

/* ---- two-level parameter servers ---- */

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

static void serve_machines(struct machines *m, size_t shard, size_t chunk, size_t channel)
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

static const struct schedule *build_two_levels(const struct algorithm *algorithm,
					       struct arena *arena,
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
			serve_machines(&m, shard, channel * shards + shard, channel);
	return schedule_finish(m.builder);
}

const struct algorithm algorithm_two_level_server = {
	.name = "two_level_server",
	.help = "all-reduce inside each machine, then by servers with one copy for each machine",
	.servers = true,
	.machines = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.refuse = refuse_without_servers,
	.build = build_two_levels,
};
