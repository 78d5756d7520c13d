/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives among the GPUs of a replica of a model server, and messages between the stages of its
 * pipeline. Each stage has as many GPUs that follow each other. With attention data parallelism it
 * has several tensor groups, which have their collectives at the same time, each over GPUs that
 * follow each other. Those of the first group are simulated, without the others.
 *
 * An iteration of a large network has a hundred of them, so they are not events of the run. Each
 * collective is simulated by itself, over the links of the replica's GPUs, when a size first needs
 * it. The sizes are powers of two. Times between them are linear in the size. */
#include "sim/scenario/world.h"

enum { SIZES = 48 };

struct tensor_group { /* the GPUs of a stage */
	struct world *world;
	struct job_entry entry;
	double times_s[COLLECTIVE_COUNT][SIZES]; /* 0: not simulated yet */
	struct tensor_group *tensor;             /* the first tensor group; it may be itself */
	struct tensor_group *next;               /* a GPU of each stage and its successor */
};

/* Simulates a collective of 2^power bytes. Returns NULL, or why it failed. */
static const char *simulate(struct tensor_group *group, enum collective collective, int power)
{
	struct world *w = group->world;
	struct scenario alone = *w->scenario;
	const char *why = NULL;
	alone.style = JOBS_COLLECTIVE;
	alone.collective = collective;
	alone.collective_size_B = ldexp(1, power);
	alone.steps_count = 2;
	double time_s = world_run_alone(w, alone, group->entry, "a collective of a replica", &why);
	if (why)
		return arena_printf(w->workload.arena,
				    "a collective of the GPUs of '%s' failed: %s",
				    group->entry.name, why);
	group->times_s[collective][power] = time_s;
	return NULL;
}

static struct tensor_group *group_new(struct world *w, const struct job_entry *entry, size_t first,
				      size_t step, size_t count)
{
	struct tensor_group *group = ARENA_NEW(w->workload.arena, struct tensor_group);
	size_t *places = ARENA_ARRAY(w->workload.arena, 2 * count, size_t);
	*group = (struct tensor_group){.world = w, .entry = *entry};
	for (size_t i = 0; i < count; i++) {
		places[i] = entry->gpus[first + i * step];
		places[count + i] = entry->servers[first + i * step];
	}
	group->entry.gpus = places;
	group->entry.servers = group->entry.guests = &places[count];
	group->entry.rank_count = group->entry.simulated_count = count;
	group->entry.runtime = NULL;
	return group;
}

struct tensor_group *world_tensor_group(struct world *w, const struct job_entry *entry,
					size_t stages, size_t tensor, const char **why)
{
	size_t count = entry->rank_count / stages;
	struct tensor_group *group = group_new(w, entry, 0, 1, count), **last = &group->next;
	group->tensor = tensor < count ? group_new(w, entry, 0, 1, tensor) : group;
	*why = count > 1 ? simulate(group, COLLECTIVE_ALL_REDUCE, 0) : NULL;
	for (size_t i = 1; i < stages && !*why; i++, last = &(*last)->next) {
		*last = group_new(w, entry, (i - 1) * count, count, 2);
		*why = simulate(*last, COLLECTIVE_BROADCAST, 0);
	}
	return *why ? NULL : group;
}

static double time_s(struct tensor_group *group, enum collective collective, int power)
{
	double *known = &group->times_s[collective][power];
	const char *why = *known > 0 ? NULL : simulate(group, collective, power);
	if (why)
		world_servers_failed(group->world, why);
	return *known;
}

static double collective_s(struct tensor_group *group, enum collective collective, double size_B)
{
	int power = (int)fmin(fmax(floor(log2(size_B)), 0), SIZES - 2);
	double share = fmax(0, size_B / ldexp(1, power) - 1);
	double from_s = time_s(group, collective, power);
	return share > 0 ? from_s + share * (time_s(group, collective, power + 1) - from_s)
			 : from_s;
}

double world_tensor_s(void *ctx, enum shard_group group, enum collective collective, double size_B)
{
	struct tensor_group *stage = ctx;
	struct tensor_group *of = group == SHARD_TENSOR ? stage->tensor : stage;
	return of->entry.rank_count > 1 ? collective_s(of, collective, size_B) : 0;
}

double world_passed_s(void *ctx, double size_B)
{
	struct tensor_group *stage = ctx;
	double count = (double)stage->tensor->entry.rank_count, sum_s = 0;
	for (struct tensor_group *pair = stage->next; pair; pair = pair->next)
		sum_s += collective_s(pair, COLLECTIVE_BROADCAST, size_B / count) +
			 world_tensor_s(ctx, SHARD_TENSOR, COLLECTIVE_ALL_GATHER, size_B);
	return sum_s;
}
