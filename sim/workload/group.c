/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/group.h"

#include "sim/base/arena.h"
#include "sim/base/diag.h"

struct line;

/* The callback of one rank for an operation. */
struct turn {
	event_fn *done;
	void *ctx;
	uint64_t arg;
};

/* One collective or message. */
struct operation {
	struct line *line;
	uint64_t ticket;     /* operations of a line are counted from 0 */
	uint64_t number;     /* number of the communicator's collective */
	enum call_kind kind; /* kind of call of the first rank */
	double size_B;       /* size in the call of the first rank */
	size_t first_rank;   /* rank that called first */
	size_t over_count;   /* ranks whose part has ended */
	struct turn *turns;  /* by rank */
	struct operation *next;
};

/* A communicator of all members or of two, and the operations that its ranks have called. */
struct line {
	struct group *group;
	struct communicator *comm;
	size_t rank_count;
	uint64_t *joined_counts; /* by rank: number of calls, which is also the next ticket */
	struct operation *open;  /* operations that have not ended */
	struct operation *free;
};

struct group {
	struct cuda_peers peers; /* must be first, because functions cast it to this struct */
	struct group_spec spec;
	size_t member_count;
	struct line all;
	struct line **pairs; /* line of each pair, [from * member_count + to]; NULL: no messages */
	event_fn *opened;
	void *opened_ctx;
	uint64_t opened_arg;
	size_t opening; /* index of the line that is opened next (line_at) */
};

/* ---- operations ---- */

static void rank_done(void *ctx, uint64_t arg, size_t rank)
{
	struct operation *operation = ctx;
	struct line *line = operation->line;
	struct turn turn = operation->turns[rank];
	(void)arg;
	if (++operation->over_count == line->rank_count) {
		struct operation **link = &line->open;
		while (*link != operation)
			link = &(*link)->next;
		*link = operation->next;
		operation->next = line->free;
		line->free = operation;
	}
	turn.done(turn.ctx, turn.arg);
}

static struct operation *operation_begin(struct line *line, const struct cuda_call *call,
					 size_t rank)
{
	struct arena *arena = line->group->spec.comm.arena;
	struct operation *operation = line->free, **end = &line->open;
	struct turn *turns;
	if (operation) {
		line->free = operation->next;
		turns = operation->turns;
	} else {
		operation = ARENA_NEW(arena, struct operation);
		turns = ARENA_ARRAY(arena, line->rank_count, struct turn);
	}
	*operation = (struct operation){
		.line = line,
		.ticket = line->joined_counts[rank],
		.kind = call->kind,
		.size_B = call->payload_B,
		.first_rank = rank,
		.turns = turns,
	};
	const struct collective_request request = {
		.collective = call->kind == CALL_ALL_REDUCE ? COLLECTIVE_ALL_REDUCE
							    : COLLECTIVE_BROADCAST,
		.size_B = call->payload_B,
		.label = call->label,
		.rank_done = rank_done,
		.ctx = operation,
	};
	operation->number = communicator_begin(line->comm, &request);
	while (*end)
		end = &(*end)->next;
	*end = operation;
	return operation;
}

static struct operation *operation_find(const struct line *line, uint64_t ticket)
{
	struct operation *operation = line->open;
	while (operation && operation->ticket != ticket)
		operation = operation->next;
	return operation;
}

/* ---- lines ---- */

static struct line *line_of(struct group *group, size_t member, const struct cuda_call *call)
{
	if (call->kind == CALL_ALL_REDUCE)
		return &group->all;
	size_t from = call->kind == CALL_SEND ? member : call->peer;
	size_t to = call->kind == CALL_SEND ? call->peer : member;
	return group->pairs[from * group->member_count + to];
}

static size_t rank_of(size_t member, const struct cuda_call *call)
{
	if (call->kind == CALL_ALL_REDUCE)
		return member;
	return call->kind == CALL_SEND ? 0 : 1;
}

static void differs(struct group *group, const struct operation *operation, size_t member,
		    const struct cuda_call *call)
{
	const struct communicator_spec *spec = &group->spec.comm;
	if (!spec->failed)
		return;
	spec->failed(
		spec->failed_ctx,
		arena_printf(spec->arena,
			     "GPU %zu of the job calls %s of %.0f B, but its peer called %s of "
			     "%.0f B",
			     member, call_kind_name(call->kind), call->payload_B,
			     call_kind_name(operation->kind), operation->size_B));
}

static uint64_t join(struct cuda_peers *peers, size_t member, const struct cuda_call *call)
{
	struct group *group = (struct group *)peers;
	struct line *line = line_of(group, member, call);
	size_t rank = rank_of(member, call);
	uint64_t ticket = line->joined_counts[rank];
	const struct operation *operation = operation_find(line, ticket);
	if (!operation)
		(void)operation_begin(line, call, rank);
	else if (operation->size_B < call->payload_B || operation->size_B > call->payload_B)
		differs(group, operation, member, call);
	line->joined_counts[rank]++;
	return ticket;
}

static void begin(struct cuda_peers *peers, size_t member, uint64_t ticket,
		  const struct cuda_call *call, event_fn *done, void *ctx, uint64_t arg)
{
	struct group *group = (struct group *)peers;
	struct line *line = line_of(group, member, call);
	struct operation *operation = operation_find(line, ticket);
	size_t rank = rank_of(member, call);
	operation->turns[rank] = (struct turn){done, ctx, arg};
	communicator_arrive(line->comm, operation->number, rank);
}

/* ---- building ---- */

static bool line_init(struct line *line, struct group *group, const struct communicator_spec *spec)
{
	*line = (struct line){
		.group = group,
		.comm = communicator_new(spec),
		.rank_count = spec->rank_count,
		.joined_counts = ARENA_ARRAY(spec->arena, spec->rank_count, uint64_t),
	};
	return line->comm != NULL;
}

static bool pair_init(struct group *group, size_t from, size_t to)
{
	struct line **pair = &group->pairs[from * group->member_count + to];
	struct communicator_spec spec = group->spec.comm;
	struct comm_rank *ranks = ARENA_ARRAY(spec.arena, 2, struct comm_rank);
	if (*pair)
		return true;
	ranks[0] = spec.ranks[from];
	ranks[1] = spec.ranks[to];
	spec.name = arena_printf(spec.arena, "%s %zu to %zu", spec.name, from, to);
	spec.ranks = ranks;
	spec.rank_count = 2;
	*pair = ARENA_NEW(spec.arena, struct line);
	return line_init(*pair, group, &spec);
}

/* Creates a line for each pair of members between which the program has messages. */
static bool find_pairs(struct group *group, const struct program *program, size_t first_member)
{
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++) {
			const struct item *item = &program->threads[t].items[i];
			size_t own = first_member + item->call.device, peer = item->call.peer;
			bool sends = item->call.kind == CALL_SEND;
			if (item->kind != ITEM_CALL || (!sends && item->call.kind != CALL_RECEIVE))
				continue;
			FW_ASSERT(peer < group->member_count && peer != own);
			if (!pair_init(group, sends ? own : peer, sends ? peer : own))
				return false;
		}
	return true;
}

struct group *group_new(const struct group_spec *spec)
{
	struct group *group = ARENA_NEW(spec->comm.arena, struct group);
	size_t count = spec->comm.rank_count;
	group->peers = (struct cuda_peers){join, begin};
	group->spec = *spec;
	group->member_count = count;
	group->pairs = ARENA_ARRAY(spec->comm.arena, count * count, struct line *);
	if (!line_init(&group->all, group, &spec->comm))
		return NULL;
	for (size_t i = 0; i < spec->program_count; i++)
		if (!find_pairs(group, spec->programs[i], spec->first_members[i]))
			return NULL;
	return group;
}

struct cuda_peers *group_peers(struct group *group)
{
	return &group->peers;
}

/* Returns line i. Line 0 is that of all members. The others are those of pairs, or NULL if the
 * pair has no messages. */
static struct line *line_at(const struct group *group, size_t i)
{
	return i == 0 ? (struct line *)&group->all : group->pairs[i - 1];
}

static size_t line_count(const struct group *group)
{
	return 1 + group->member_count * group->member_count;
}

static void open_next(void *ctx, uint64_t arg)
{
	struct group *group = ctx;
	(void)arg;
	while (group->opening < line_count(group)) {
		struct line *line = line_at(group, group->opening++);
		if (line) {
			communicator_open(line->comm, open_next, group, 0);
			return;
		}
	}
	group->opened(group->opened_ctx, group->opened_arg);
}

void group_open(struct group *group, event_fn *fn, void *ctx, uint64_t arg)
{
	group->opened = fn;
	group->opened_ctx = ctx;
	group->opened_arg = arg;
	open_next(group, 0);
}

/* ---- reading ---- */

struct communicator_counters group_counters(const struct group *group)
{
	struct communicator_counters sum = {0};
	for (size_t i = 0; i < line_count(group); i++) {
		const struct line *line = line_at(group, i);
		if (!line)
			continue;
		const struct communicator_counters *counters = communicator_counters(line->comm);
		sum.collectives_count += counters->collectives_count;
		sum.sends_count += counters->sends_count;
		sum.sent_B += counters->sent_B;
		sum.delivered_B += counters->delivered_B;
		sum.network_B += counters->network_B;
	}
	return sum;
}

const char *group_choice_text(struct group *group, double size_B)
{
	return size_B > 0 ? communicator_choice_text(group->all.comm, COLLECTIVE_ALL_REDUCE, size_B)
			  : NULL;
}

void group_account(const struct group *group)
{
	for (size_t i = 0; i < line_count(group); i++)
		if (line_at(group, i))
			communicator_account(line_at(group, i)->comm);
}

const char *group_waiting(const struct group *group, struct arena *arena)
{
	for (size_t i = 1; i < line_count(group); i++)
		if (line_at(group, i) && line_at(group, i)->open)
			return communicator_waiting(line_at(group, i)->comm, arena);
	return communicator_waiting(group->all.comm, arena);
}
