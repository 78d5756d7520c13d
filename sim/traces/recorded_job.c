/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/recorded_job.h"
#include "sim/traces/functions.h"

struct job_building {
	struct arena *arena;
	size_t rank_count;
	VEC(struct recorded_shape) shapes;
	VEC(struct program_group) groups;
};

static bool is_message(enum call_kind kind)
{
	return kind == CALL_SEND || kind == CALL_RECEIVE;
}

bool recorded_has_peers(const struct recorded_call *call)
{
	return call_has_peers(function_use(call).kind) && call->size_B > 0;
}

bool recorded_has_messages(const struct recorded_calls *recorded)
{
	for (; recorded; recorded = recorded->next)
		for (size_t i = 0; i < recorded->call_count; i++)
			if (recorded_has_peers(&recorded->calls[i]) &&
			    is_message(function_use(&recorded->calls[i]).kind))
				return true;
	return false;
}

bool recorded_calls_peers(const struct recorded_calls *recorded)
{
	for (; recorded; recorded = recorded->next)
		for (size_t i = 0; i < recorded->call_count; i++)
			if (recorded_has_peers(&recorded->calls[i]))
				return true;
	return false;
}

/* Returns the shape of a group in a job of that many ranks. Its count is 0 if the job cannot be
 * divided into such groups. */
static struct recorded_shape shape_of(const struct recorded_calls *recorded,
				      const struct recorded_group *group, size_t rank_count)
{
	struct recorded_shape shape = {group->count, group->stride, 0};
	if (group->count == 0)
		return (struct recorded_shape){(uint32_t)rank_count, 1, 0};
	if ((uint64_t)group->count * group->stride == recorded->world_count)
		shape.count = (uint32_t)(rank_count / group->stride);
	if (rank_count % ((uint64_t)shape.stride * (shape.count ? shape.count : 1)) != 0)
		shape.count = 0;
	return shape;
}

/* Returns true if the recorded rank is in the group, and copies of the group cover the job. */
static bool tiles(const struct recorded_calls *recorded, const struct recorded_group *group)
{
	uint64_t span = (uint64_t)group->count * group->stride, rank = recorded->rank;
	return group->count == 0 || rank / span * span + rank % group->stride == group->first;
}

static const struct recorded_shape *shape_find(const struct recorded_shape *shapes, size_t count,
					       struct recorded_shape shape)
{
	for (size_t i = 0; i < count; i++)
		if (shapes[i].count == shape.count && shapes[i].stride == shape.stride)
			return &shapes[i];
	return NULL;
}

static void add_shape(struct job_building *b, struct recorded_shape shape)
{
	if (shape.count < b->rank_count) {
		shape.first_communicator = (uint32_t)b->groups.count + 1;
		for (size_t i = 0; i < b->rank_count / shape.count; i++) {
			size_t *members = ARENA_ARRAY(b->arena, shape.count, size_t);
			size_t first =
				i / shape.stride * shape.count * shape.stride + i % shape.stride;
			for (size_t k = 0; k < shape.count; k++)
				members[k] = first + k * shape.stride;
			*VEC_PUSH(b->arena, &b->groups) =
				(struct program_group){members, shape.count};
		}
	}
	*VEC_PUSH(b->arena, &b->shapes) = shape;
}

/* Adds the group of a call. Returns why the ranks cannot play the call, or NULL. */
static const char *add_call(struct job_building *b, const struct recorded_calls *recorded,
			    size_t recorded_count, const struct recorded_call *call)
{
	struct recorded_shape shape = shape_of(recorded, &call->group, b->rank_count);
	if (function_is_foreign_collective(call->function))
		return arena_printf(
			b->arena,
			"rank %u calls %s, which is not simulated between GPUs (play one "
			"rank without case.gpus, or record all-reduces)",
			(unsigned)recorded->rank, call->function);
	if (is_message(function_use(call).kind)) {
		if (recorded_count != b->rank_count)
			return arena_printf(b->arena,
					    "the recording sends messages between ranks, so it "
					    "needs the recording of each rank (it has %zu of %zu)",
					    recorded_count, b->rank_count);
		return call->peer < b->rank_count && call->peer != recorded->rank
			       ? NULL
			       : arena_printf(b->arena,
					      "a message of rank %u goes to rank %u, which is not "
					      "another rank of the job",
					      (unsigned)recorded->rank, (unsigned)call->peer);
	}
	if (!tiles(recorded, &call->group))
		return arena_printf(
			b->arena,
			"rank %u is in a group of %u ranks from rank %u with a distance "
			"of %u, and copies of this group do not cover the job",
			(unsigned)recorded->rank, (unsigned)call->group.count,
			(unsigned)call->group.first, (unsigned)call->group.stride);
	if (shape.count == 0)
		return arena_printf(b->arena,
				    "%zu ranks cannot be divided into groups of %u ranks with a "
				    "distance of %u (write a multiple of %llu in case.gpus)",
				    b->rank_count, (unsigned)call->group.count,
				    (unsigned)call->group.stride,
				    (unsigned long long)call->group.count * call->group.stride);
	if (!shape_find(b->shapes.items, b->shapes.count, shape) && shape.count > 1)
		add_shape(b, shape);
	return NULL;
}

const struct recorded_job *recorded_job_new(struct arena *arena, struct diag *diag,
					    struct origin origin,
					    const struct recorded_calls *recorded,
					    size_t rank_count)
{
	struct job_building b = {.arena = arena, .rank_count = rank_count};
	size_t recorded_count = 0;
	FW_ASSERT(recorded);
	for (const struct recorded_calls *own = recorded; own; own = own->next)
		recorded_count++;
	for (const struct recorded_calls *own = recorded; own; own = own->next)
		for (size_t i = 0; i < own->call_count; i++) {
			if (!recorded_has_peers(&own->calls[i]) &&
			    !function_is_foreign_collective(own->calls[i].function))
				continue;
			const char *why = add_call(&b, own, recorded_count, &own->calls[i]);
			if (why)
				return diag_null(diag, origin, "case.calls: %s", why);
		}
	struct recorded_job *job = ARENA_NEW(arena, struct recorded_job);
	*job = (struct recorded_job){
		.rank_count = rank_count,
		.ranks = ARENA_ARRAY(arena, rank_count, const struct recorded_calls *),
		.shapes = b.shapes.items,
		.shape_count = b.shapes.count,
		.groups = b.groups.items,
		.group_count = b.groups.count,
	};
	const struct recorded_calls *turn = recorded;
	for (const struct recorded_calls *own = recorded; own; own = own->next)
		if (own->rank < job->rank_count && recorded_count > 1)
			job->ranks[own->rank] = own;
	for (size_t i = 0; i < job->rank_count; i++, turn = turn->next ? turn->next : recorded)
		if (!job->ranks[i])
			job->ranks[i] = turn;
	return job;
}

uint32_t recorded_job_group(const struct recorded_job *job, const struct recorded_shape *shape,
			    size_t rank)
{
	size_t span = (size_t)shape->count * shape->stride;
	FW_ASSERT(span > 0);
	if (!shape->first_communicator)
		return 0;
	return job->of ? job->of[shape - job->shapes][rank]
		       : shape->first_communicator +
				 (uint32_t)(rank / span * shape->stride + rank % shape->stride);
}

bool recorded_job_peer(const struct recorded_job *job, size_t rank,
		       const struct recorded_call *call, uint32_t *peer)
{
	if (is_message(function_use(call).kind)) {
		*peer = call->peer;
		return true;
	}
	struct recorded_shape shape = shape_of(job->ranks[rank], &call->group, job->rank_count);
	const struct recorded_shape *found = shape_find(job->shapes, job->shape_count, shape);
	if (!found)
		return false;
	*peer = recorded_job_group(job, found, rank);
	return true;
}
