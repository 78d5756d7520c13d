/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameter server (Li et al. 2014): each server keeps a shard of the buffer. Workers send their
 * values to all servers; a server adds them and, when all have arrived, answers all workers.
 * Servers are the ranks after the workers and have no values of their own. The first value is
 * stored, the others are added in sequence, beginning with the worker whose number is the shard's.
 * (All workers are ready at about the same time, so the order matters little.) A shard is divided
 * into pipeline_count consecutive pieces. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

struct shard {
	struct schedule_builder *builder;
	size_t worker_count, server, channel, chunk;
	uint32_t *sends; /* by worker */
};

/* Adds the steps of one piece of a shard: sends, additions, answers. */
static void serve(const struct shard *shard)
{
	size_t n = shard->worker_count, rank = n + shard->server;
	for (size_t worker = 0; worker < n; worker++)
		shard->sends[worker] = schedule_send(shard->builder, worker, rank, shard->chunk,
						     shard->channel, NULL, 0);
	uint32_t last = NO_STEP;
	for (size_t i = 0; i < n; i++)
		last = (i ? schedule_reduce
			  : schedule_copy)(shard->builder, rank, shard->chunk, shard->channel,
					   shard->sends[(shard->server + i) % n], &last, 1);
	for (size_t worker = 0; worker < n; worker++) {
		uint32_t answer = schedule_send(shard->builder, rank, worker, shard->chunk,
						shard->channel, &last, 1);
		schedule_copy(shard->builder, worker, shard->chunk, shard->channel, answer,
			      &shard->sends[worker], 1);
	}
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, shards = spec->server_count, p = spec->pipeline_count;
	size_t chunk_count = spec->channel_count * shards * p;
	struct schedule_builder *builder = pattern_begin(
		algorithm, arena, spec, spec->channel_count, chunk_count, 4 * n * chunk_count);
	struct shard shard = {
		.builder = builder, .worker_count = n, .sends = ARENA_ARRAY(arena, n, uint32_t)};
	/* The loop runs over pieces first, so that a worker begins with the first piece of all
	 * shards. */
	for (shard.channel = 0; shard.channel < spec->channel_count; shard.channel++)
		for (size_t piece = 0; piece < p; piece++)
			for (shard.server = 0; shard.server < shards; shard.server++) {
				shard.chunk = (shard.channel * shards + shard.server) * p + piece;
				serve(&shard);
			}
	return schedule_finish(builder);
}

const struct algorithm algorithm_parameter_server = {
	.name = "parameter_server",
	.help = "all-reduce by servers that add the workers' data and send the result to all",
	.servers = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.refuse = pattern_no_servers,
	.build = build,
};
