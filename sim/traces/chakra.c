/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/chakra.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/engine/names.h"

enum node_type { NODE_COMPUTE = 4, NODE_SEND, NODE_RECEIVE, NODE_COLLECTIVE, NODE_TYPE_COUNT };
/* The number of a stream is that of its type of nodes. CPU means the host thread. */
enum { CPU = -1, MESSAGE_MAX_B = 1 << 24 };
static const double SIZE_MAX_B = 1e15, DURATION_MAX_S = 1e6;

struct node {
	double lasts_s, size_B;
	const char *label;
	size_t number;               /* of its id, in ids */
	size_t first_dep, dep_count; /* in deps */
	uint64_t type, comm, peer;
	int stream;           /* type of the node, or CPU */
	bool awaited, played; /* awaited: a node of another stream depends on it */
};

struct bytes {
	const unsigned char *at, *end;
	bool bad;
};

struct chakra {
	struct arena *arena;
	struct diag *diag;
	const char *path;
	struct names *ids;
	uint32_t world_count;
	VEC(struct node) nodes;
	VEC(size_t) deps; /* numbers of ids */
	VEC(struct recorded_call) calls;
	struct node **by_id;   /* by number of the id; NULL: the file lacks the node */
	unsigned char *buffer; /* of the present message */
	size_t room;
	double t_s;
	bool gathers; /* a node is an all-gather */
	struct profile_counts *counts;
};

/* ---- protobuf ---- */

static uint64_t take_varint(struct bytes *b)
{
	uint64_t value = 0;
	for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
		value |= (uint64_t)(*b->at & 127) << shift;
		if (*b->at++ < 128)
			return value;
	}
	b->bad = true;
	return 0;
}

/* Takes a field. Its content is a number or, if it has a length, a part. Returns its number, or 0
 * at the end. */
static uint64_t take_field(struct bytes *b, uint64_t *value, struct bytes *part)
{
	*part = (struct bytes){0};
	if (b->at >= b->end || b->bad)
		return 0;
	uint64_t key = take_varint(b), length = 0;
	*value = 0;
	switch (key & 7) {
	case 0:
		*value = take_varint(b);
		return b->bad ? 0 : key >> 3;
	case 1:
		length = 8;
		break;
	case 2:
		length = take_varint(b);
		break;
	case 5:
		length = 4;
		break;
	default:
		b->bad = true;
	}
	b->bad |= length > (size_t)(b->end - b->at);
	if (b->bad)
		return 0;
	if ((key & 7) == 2)
		*part = (struct bytes){b->at, b->at + length, false};
	b->at += length;
	return key >> 3;
}

static bool is(const struct bytes *name, const char *text)
{
	size_t length = (size_t)(name->end - name->at);
	return length == strlen(text) && memcmp(name->at, text, length) == 0;
}

/* Takes an attribute. Each writer uses another type of number, so any of them is read. */
static void take_attribute(struct node *node, struct bytes *message)
{
	struct bytes part, name = {0};
	uint64_t value, number = 0;
	for (uint64_t field; (field = take_field(message, &value, &part)) != 0;) {
		if (field == 1)
			name = part;
		else if (!part.at)
			number = value;
	}
	if (!name.at)
		return;
	if (is(&name, "is_cpu_op"))
		node->stream = number ? CPU : 0;
	else if (is(&name, "comm_type"))
		node->comm = number;
	else if (is(&name, "comm_size"))
		node->size_B = (double)number;
	else if (is(&name, "comm_src") || is(&name, "comm_dst"))
		node->peer = number;
}

static size_t number_of(struct chakra *c, uint64_t id)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)id);
	return (size_t)names_add(c->ids, text);
}

static bool take_node(struct chakra *c, struct bytes *message)
{
	struct node node = {.first_dep = c->deps.count, .label = ""};
	struct bytes part;
	uint64_t value, id = 0;
	for (uint64_t field; (field = take_field(message, &value, &part)) != 0;) {
		if (field == 1)
			id = value;
		else if (field == 2 && part.at)
			node.label = arena_printf(
				c->arena, "%.*s",
				(int)(part.end - part.at < 256 ? part.end - part.at : 256),
				(const char *)part.at);
		else if (field == 3)
			node.type = value;
		else if (field == 7)
			node.lasts_s = fmin((double)value * 1e-6, DURATION_MAX_S);
		else if (field == 10)
			take_attribute(&node, &part);
		message->bad |= part.bad;
		if (field == 5 && !part.at)
			*VEC_PUSH(c->arena, &c->deps) = number_of(c, value);
		while (field == 5 && part.at < part.end && !part.bad)
			*VEC_PUSH(c->arena, &c->deps) = number_of(c, take_varint(&part));
	}
	node.number = number_of(c, id);
	node.dep_count = c->deps.count - node.first_dep;
	bool peers = node.type >= NODE_SEND && node.type < NODE_TYPE_COUNT && node.size_B > 0;
	if (node.stream != CPU)
		node.stream = peers ? (int)node.type : NODE_COMPUTE;
	*VEC_PUSH(c->arena, &c->nodes) = node;
	return !message->bad;
}

/* ---- calls ---- */

static struct recorded_call *add_call(struct chakra *c, const char *function, int stream,
				      int64_t event)
{
	struct recorded_call *call = VEC_PUSH(c->arena, &c->calls);
	*call = (struct recorded_call){.start_s = c->t_s,
				       .end_s = c->t_s,
				       .gpu_start_s = -1,
				       .gpu_s = -1,
				       .function = function,
				       .stream = stream,
				       .event = event};
	return call;
}

static const char *function_of(const struct node *node)
{
	static const char *const functions[] = {
		"ncclAllReduce", NULL,           "ncclAllGather",    NULL, NULL,
		"ncclBroadcast", "ncclAlltoAll", "ncclReduceScatter"};
	if (node->stream == NODE_SEND || node->stream == NODE_RECEIVE)
		return node->stream == NODE_SEND ? "ncclSend" : "ncclRecv";
	if (node->stream != NODE_COLLECTIVE)
		return "cudaLaunchKernel";
	const char *function =
		node->comm < sizeof functions / sizeof functions[0] ? functions[node->comm] : NULL;
	return function ? function : "cudaLaunchKernel";
}

static struct node *dep_at(const struct chakra *c, const struct node *node, size_t index)
{
	return c->by_id[c->deps.items[node->first_dep + index]];
}

/* Adds the calls for a node. */
static void play(struct chakra *c, struct node *node)
{
	for (size_t i = 0; i < node->dep_count; i++) {
		const struct node *dep = dep_at(c, node, i);
		if (dep && dep->stream != CPU && dep->stream != node->stream)
			add_call(c,
				 node->stream == CPU ? "cudaEventSynchronize"
						     : "cudaStreamWaitEvent",
				 node->stream, (int64_t)dep->number);
	}
	node->played = true;
	c->t_s += node->stream == CPU ? node->lasts_s : 0;
	if (node->stream == CPU)
		return;
	if (node->awaited && node->stream == NODE_SEND)
		add_call(c, "cudaEventRecord", node->stream, (int64_t)node->number);
	struct recorded_call *call = add_call(c, function_of(node), node->stream, -1);
	call->gpu_s = node->lasts_s;
	call->label = node->label;
	call->peer =
		(uint32_t)(node->peer < RECORDED_RANKS_MAX ? node->peer : RECORDED_RANKS_MAX - 1);
	call->size_B = fmin(node->size_B, SIZE_MAX_B);
	if (strcmp(call->function, "ncclAllGather") == 0) { /* Chakra has the part of one rank */
		c->gathers = true;
		call->size_B = fmin(node->size_B * c->world_count, SIZE_MAX_B);
	}
	c->counts->collectives += node->stream != NODE_COMPUTE;
	if (node->awaited && node->stream != NODE_SEND)
		add_call(c, "cudaEventRecord", node->stream, (int64_t)node->number);
}

static bool is_ready(const struct chakra *c, const struct node *node)
{
	for (size_t i = 0; i < node->dep_count; i++)
		if (dep_at(c, node, i) && !dep_at(c, node, i)->played)
			return false;
	return true;
}

/* Plays the nodes in the order of the file. A node that depends on a later one is played in a
 * further pass. Returns false if some depend on each other, or PASSES_MAX is exceeded. */
static bool play_all(struct chakra *c)
{
	enum { PASSES_MAX = 1000 }; /* real files need few */
	size_t played = 0;
	c->by_id = ARENA_ARRAY(c->arena, names_count(c->ids), struct node *);
	for (size_t i = 0; i < c->nodes.count; i++)
		c->by_id[c->nodes.items[i].number] = &c->nodes.items[i];
	for (size_t i = 0; i < c->nodes.count; i++)
		for (size_t k = 0; k < c->nodes.items[i].dep_count; k++) {
			struct node *dep = dep_at(c, &c->nodes.items[i], k);
			if (dep)
				dep->awaited |= dep->stream != c->nodes.items[i].stream;
		}
	for (int pass = 0; played < c->nodes.count && pass < PASSES_MAX; pass++)
		for (size_t i = 0; i < c->nodes.count; i++) {
			struct node *node = &c->nodes.items[i];
			if (node->played || !is_ready(c, node))
				continue;
			play(c, node);
			played++;
		}
	return played == c->nodes.count;
}

/* ---- the file ---- */

static bool fail(struct chakra *c, const char *what)
{
	return diag_error(
		c->diag, (struct origin){c->path, 0},
		"message %zu (0 is the metadata): %s (write an .et file of Chakra, schema "
		"0.0.4; PyTorch's JSON has no times of the GPU)",
		c->counts->events, what);
}

/* Reads the next message. Returns false at the end or after an error. */
static bool take_message(struct chakra *c, FILE *in, struct bytes *message)
{
	unsigned long length = 0;
	int byte = getc(in);
	if (byte == EOF)
		return false;
	for (unsigned shift = 0; byte != EOF && shift < 32; shift += 7, byte = getc(in)) {
		length |= (unsigned long)(byte & 127) << shift;
		if (byte < 128)
			break;
	}
	if (byte == EOF || length > MESSAGE_MAX_B)
		return fail(c, "it has no valid length");
	if (length >= c->room)
		c->buffer = ARENA_ARRAY(c->arena, c->room = 2 * length + 1, unsigned char);
	if (fread(c->buffer, 1, length, in) != length)
		return fail(c, "the file ends in it");
	*message = (struct bytes){c->buffer, c->buffer + length, false};
	return true;
}

static bool take_nodes(struct chakra *c, FILE *in)
{
	struct bytes message;
	for (; take_message(c, in, &message); c->counts->events++) {
		if (arena_used_B(c->arena) > RECORDED_MEMORY_MAX_B)
			return fail(c, RECORDED_TOO_LARGE);
		if (c->counts->events > 0 && !take_node(c, &message))
			return fail(c, "it is not a node");
	}
	return diag_count(c->diag) == 0 && (c->nodes.count > 0 || fail(c, "the file has no nodes"));
}

struct recorded_calls *chakra_read(struct arena *arena, struct diag *diag, FILE *in,
				   const char *path, uint32_t world_count,
				   struct profile_counts *counts)
{
	struct chakra c = {.arena = arena,
			   .diag = diag,
			   .path = path,
			   .ids = names_new(arena),
			   .world_count = world_count,
			   .counts = counts};
	*counts = (struct profile_counts){0};
	if (!take_nodes(&c, in))
		return NULL;
	add_call(&c, "cudaGetDevice", CPU, -1); /* the begin */
	if (!play_all(&c))
		fail(&c, "some nodes depend on each other");
	else if (c.gathers && world_count == 0)
		fail(&c, "the size of an all-gather is that of one rank, so import the files of "
			 "all ranks together");
	if (diag_count(diag) > 0)
		return NULL;
	add_call(&c, "cudaDeviceSynchronize", CPU, -1);
	struct recorded_calls *recorded = ARENA_NEW(arena, struct recorded_calls);
	*recorded = (struct recorded_calls){.tool = "chakra",
					    .gpu = "",
					    .calls = c.calls.items,
					    .call_count = c.calls.count,
					    .world_count = world_count};
	counts->used += c.nodes.count;
	counts->events -= 1; /* the metadata */
	recorded_calls_settle(arena, recorded);
	return recorded;
}
