/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/group.h"

struct group_communicator;

/* One collective or message. */
struct group_operation {
	struct group_communicator *line;
	enum call_kind kind;    /* kind of call of the first rank */
	double size_B;          /* size in the call of the first rank */
	size_t begun_count;     /* ranks that have begun */
	int64_t all_begun_ps;   /* when the last of them began; -1: not yet */
	size_t over_count;      /* ranks whose part has ended */
	struct callback *turns; /* by rank: called when its part has ended */
	struct group_operation *next;
};

/* A communicator, and the operations that its ranks have called. */
struct group_communicator {
	struct group *group;
	struct communicator *comm;
	size_t rank_count;
	const size_t *members; /* by rank; NULL: rank and member are the same */
	/* By rank: number of calls, which is also the number of its next collective. Calls have
	 * that number as their ticket. */
	uint64_t *joined_counts;
	size_t open_count; /* operations that have not ended */
	struct group_operation *free;
};

/* The line of messages from one member to another. */
struct message_pair {
	size_t to;
	uint8_t tag;
	struct group_communicator *line;
	struct message_pair *next;
};

struct group {
	struct cuda_peers peers; /* must be first, because functions cast it to this struct */
	struct group_spec spec;
	VEC(struct group_communicator *) lines; /* [i] is communicator i; then the lines of pairs */
	struct message_pair **pairs; /* by sending member: the members to which it sends */
	struct callback opened;
	size_t opening; /* index of the line that is opened next */
};

/* ---- operations ---- */

static void rank_done(void *ctx, uint64_t arg, size_t rank)
{
	struct group_operation *operation = ctx;
	struct group_communicator *line = operation->line;
	struct callback turn = operation->turns[rank];
	if (++operation->over_count == line->rank_count) {
		line->open_count--;
		operation->next = line->free;
		line->free = operation;
	}
	turn.fn(turn.ctx, turn.arg);
}

static bool is_message(const struct cuda_call *call)
{
	return call->kind == CALL_SEND || call->kind == CALL_RECEIVE;
}

bool group_collective(enum call_kind kind, enum collective *collective)
{
	static const struct {
		enum call_kind kind;
		enum collective collective;
	} known[] = {{CALL_ALL_REDUCE, COLLECTIVE_ALL_REDUCE},
		     {CALL_ALL_GATHER, COLLECTIVE_ALL_GATHER},
		     {CALL_REDUCE_SCATTER, COLLECTIVE_REDUCE_SCATTER},
		     {CALL_ALL_TO_ALL, COLLECTIVE_ALL_TO_ALL},
		     {CALL_BROADCAST, COLLECTIVE_BROADCAST}};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].kind == kind) {
			*collective = known[i].collective;
			return true;
		}
	return false;
}

static void operation_begin(struct group_communicator *line, const struct cuda_call *call,
			    size_t rank)
{
	struct arena *arena = line->group->spec.comm.arena;
	struct group_operation *operation = line->free;
	struct callback *turns;
	if (operation) {
		line->free = operation->next;
		turns = operation->turns;
	} else {
		operation = ARENA_NEW(arena, struct group_operation);
		turns = ARENA_ARRAY(arena, line->rank_count, struct callback);
	}
	*operation = (struct group_operation){
		.line = line,
		.kind = call->kind,
		.size_B = call->payload_B,
		.all_begun_ps = -1,
		.turns = turns,
	};
	struct collective_request request = {
		.collective = COLLECTIVE_BROADCAST,
		.size_B = call->payload_B,
		.message = is_message(call),
		.block_count = is_message(call) ? 0 : call->tag,
		.label = call->label,
		.rank_done = rank_done,
		.ctx = operation,
	};
	(void)group_collective(call->kind, &request.collective);
	uint64_t number = communicator_begin(line->comm, &request);
	FW_ASSERT(number == line->joined_counts[rank]);
	line->open_count++;
}

/* ---- lines ---- */

static struct group_communicator *pair_find(const struct group *group, size_t from, size_t to,
					    uint8_t tag)
{
	const struct message_pair *pair = group->pairs[from];
	while (pair && (pair->to != to || pair->tag != tag))
		pair = pair->next;
	return pair ? pair->line : NULL;
}

/* Returns the member that represents a rank. */
static size_t stand_in(const struct group *group, size_t rank)
{
	const struct fold *fold = group->spec.comm.fold;
	return fold ? fold_stand_in(fold, rank) : rank;
}

static struct group_communicator *line_of(struct group *group, size_t member,
					  const struct cuda_call *call)
{
	size_t peer = call->peer;
	if (!is_message(call)) {
		FW_ASSERT(call->peer <= group->spec.group_count);
		return group->lines.items[call->peer];
	}
	peer = stand_in(group, peer);
	return call->kind == CALL_SEND ? pair_find(group, member, peer, call->tag)
				       : pair_find(group, peer, member, call->tag);
}

static size_t rank_of(const struct group_communicator *line, size_t member,
		      const struct cuda_call *call)
{
	size_t from = 0, to = line->rank_count, at = 0;
	if (is_message(call))
		return call->kind == CALL_SEND ? 0 : 1;
	if (!line->members)
		return member;
	if (line->group->spec.comm.fold) { /* few members, in the order of their machines */
		while (line->members[at] != member)
			at++;
		return at;
	}
	while (to - from > 1) {
		size_t middle = from + (to - from) / 2;
		if (line->members[middle] <= member)
			from = middle;
		else
			to = middle;
	}
	FW_ASSERT(line->members[from] == member);
	return from;
}

static bool matches(const struct group_operation *operation, const struct cuda_call *call)
{
	bool alike = is_message(call) || operation->kind == call->kind;
	if (alike && call->kind == CALL_ALL_TO_ALL) /* ranks can have unequal parts */
		return true;
	return alike && operation->size_B >= call->payload_B &&
	       operation->size_B <= call->payload_B;
}

static void differs(struct group *group, const struct group_operation *operation, size_t member,
		    const struct cuda_call *call)
{
	const struct communicator_spec *spec = &group->spec.comm;
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
	struct group_communicator *line = line_of(group, member, call);
	size_t rank = rank_of(line, member, call);
	uint64_t ticket = line->joined_counts[rank];
	const struct group_operation *operation = communicator_request_ctx(line->comm, ticket);
	if (!operation)
		operation_begin(line, call, rank);
	else if (!matches(operation, call))
		differs(group, operation, member, call);
	line->joined_counts[rank]++;
	return ticket;
}

static const int64_t *begin(struct cuda_peers *peers, size_t member, uint64_t ticket,
			    const struct cuda_call *call, event_fn *done, void *ctx, uint64_t arg)
{
	struct group *group = (struct group *)peers;
	struct group_communicator *line = line_of(group, member, call);
	struct group_operation *operation = communicator_request_ctx(line->comm, ticket);
	size_t rank = rank_of(line, member, call);
	operation->turns[rank] = (struct callback){done, ctx, arg};
	if (++operation->begun_count == line->rank_count)
		operation->all_begun_ps = engine_now_ps(group->spec.comm.engine);
	communicator_arrive(line->comm, ticket, rank);
	return &operation->all_begun_ps;
}

/* ---- building ---- */

/* Replaces ranks by the members that are simulated. */
static size_t *fold_members(const struct group *group, const size_t *ranks, size_t count,
			    struct communicator_spec *spec)
{
	const struct fold *part = fold_part(spec->arena, group->spec.comm.fold, ranks, count);
	FW_ASSERT(part); /* found with the classes */
	size_t *members = ARENA_ARRAY(spec->arena, part->simulated_count, size_t);
	for (size_t i = 0; i < part->simulated_count; i++)
		members[i] = stand_in(group, ranks[part->rank_of[i]]);
	spec->fold = part;
	return members;
}

/* Creates the communicator of these ranks, NULL meaning all. Returns NULL if two of them have no
 * connection. */
static struct group_communicator *line_new(struct group *group, const char *name,
					   const size_t *members, size_t count)
{
	struct communicator_spec spec = group->spec.comm;
	struct group_communicator *line = ARENA_NEW(spec.arena, struct group_communicator);
	if (members && spec.fold) {
		members = fold_members(group, members, count, &spec);
		count = spec.fold->simulated_count;
	}
	if (members) {
		struct comm_rank *ranks = ARENA_ARRAY(spec.arena, count, struct comm_rank);
		for (size_t i = 0; i < count; i++)
			ranks[i] = group->spec.comm.ranks[members[i]];
		spec.ranks = ranks;
		spec.rank_count = count;
		spec.name = name;
	}
	*line = (struct group_communicator){
		.group = group,
		.comm = communicator_new(&spec),
		.rank_count = spec.rank_count,
		.members = members,
		.joined_counts = ARENA_ARRAY(spec.arena, spec.rank_count, uint64_t),
	};
	if (!line->comm)
		return NULL;
	*VEC_PUSH(spec.arena, &group->lines) = line;
	return line;
}

static bool pair_init(struct group *group, size_t from, size_t to, uint8_t tag)
{
	struct arena *arena = group->spec.comm.arena;
	size_t sender = stand_in(group, from), receiver = stand_in(group, to);
	if (pair_find(group, sender, receiver, tag))
		return true;
	struct message_pair *pair = ARENA_NEW(arena, struct message_pair);
	size_t *members = ARENA_ARRAY(arena, 2, size_t);
	members[0] = from;
	members[1] = to;
	*pair = (struct message_pair){
		.to = receiver,
		.tag = tag,
		.line = line_new(
			group,
			arena_printf(arena, "%s %zu to %zu", group->spec.comm.name, from, to),
			members, 2),
		.next = group->pairs[sender],
	};
	group->pairs[sender] = pair;
	return pair->line != NULL;
}

/* Creates a line for each pair of members between which the program has messages. */
static bool find_pairs(struct group *group, const struct program *program, size_t first_member)
{
	const struct fold *fold = group->spec.comm.fold;
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++) {
			const struct item *item = &program->threads[t].items[i];
			size_t own = first_member + item->call.device;
			bool sends = item->call.kind == CALL_SEND;
			if (item->kind != ITEM_CALL || !is_message(&item->call))
				continue;
			size_t peer = cuda_renamed(program->renames, &item->call);
			if (fold)
				own = fold->rank_of[own];
			FW_ASSERT(peer != own);
			if (!pair_init(group, sends ? own : peer, sends ? peer : own,
				       item->call.tag))
				return false;
		}
	return true;
}

struct group *group_new(const struct group_spec *spec)
{
	struct arena *arena = spec->comm.arena;
	struct group *group = ARENA_NEW(arena, struct group);
	group->peers = (struct cuda_peers){join, begin};
	group->spec = *spec;
	group->pairs = ARENA_ARRAY(arena, spec->comm.rank_count, struct message_pair *);
	if (!line_new(group, NULL, NULL, 0))
		return NULL;
	for (size_t i = 0; i < spec->group_count; i++)
		if (!line_new(group, arena_printf(arena, "%s group %zu", spec->comm.name, i + 1),
			      spec->groups[i].members, spec->groups[i].count))
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

static void open_next(void *ctx, uint64_t arg)
{
	struct group *group = ctx;
	if (group->opening < group->lines.count)
		communicator_open(group->lines.items[group->opening++]->comm, open_next, group, 0);
	else
		group->opened.fn(group->opened.ctx, group->opened.arg);
}

void group_open(struct group *group, event_fn *fn, void *ctx, uint64_t arg)
{
	group->opened = (struct callback){fn, ctx, arg};
	open_next(group, 0);
}

/* ---- reading ---- */

struct communicator_counters group_counters(const struct group *group)
{
	struct communicator_counters sum = {0};
	for (size_t i = 0; i < group->lines.count; i++) {
		const struct communicator_counters *counters =
			communicator_counters(group->lines.items[i]->comm);
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
	return size_B > 0 ? communicator_choice_text(group->lines.items[0]->comm,
						     COLLECTIVE_ALL_REDUCE, size_B)
			  : NULL;
}

void group_account(const struct group *group)
{
	for (size_t i = 0; i < group->lines.count; i++)
		communicator_account(group->lines.items[i]->comm);
}

const char *group_waiting(const struct group *group, struct arena *arena)
{
	for (size_t i = 1; i < group->lines.count; i++)
		if (group->lines.items[i]->open_count > 0)
			return communicator_waiting(group->lines.items[i]->comm, arena);
	return communicator_waiting(group->lines.items[0]->comm, arena);
}
