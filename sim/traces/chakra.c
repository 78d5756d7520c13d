/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/readers.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/names.h"
#include "sim/traces/graph.h"

enum node_type { NODE_COMPUTE = 4, NODE_SEND, NODE_RECEIVE, NODE_COLLECTIVE, NODE_TYPE_COUNT };
/* The number of a stream is that of its type of nodes. */
enum { MESSAGE_MAX_B = 1 << 24 };
static const double SIZE_MAX_B = 1e15, DURATION_MAX_S = 1e6;

struct attributes {
	uint64_t type, comm, peer;
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
	struct graph graph;
	unsigned char *buffer; /* of the present message */
	size_t room;
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
static void take_attribute(struct attributes *attributes, struct graph_node *node,
			   struct bytes *message)
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
		node->stream = number ? GRAPH_CPU : 0;
	else if (is(&name, "comm_type"))
		attributes->comm = number;
	else if (is(&name, "comm_size"))
		node->size_B = (double)number;
	else if (is(&name, "comm_src") || is(&name, "comm_dst"))
		attributes->peer = number;
}

static size_t number_of(struct chakra *c, uint64_t id)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)id);
	return (size_t)names_add(c->ids, text);
}

/* ---- calls ---- */

static const char *function_of(const struct graph_node *node, uint64_t comm)
{
	static const char *const functions[] = {
		"ncclAllReduce", NULL,           "ncclAllGather",    NULL, NULL,
		"ncclBroadcast", "ncclAlltoAll", "ncclReduceScatter"};
	if (node->stream == NODE_SEND || node->stream == NODE_RECEIVE)
		return node->stream == NODE_SEND ? "ncclSend" : "ncclRecv";
	if (node->stream != NODE_COLLECTIVE)
		return "cudaLaunchKernel";
	const char *function =
		comm < sizeof functions / sizeof functions[0] ? functions[comm] : NULL;
	return function ? function : "cudaLaunchKernel";
}

static void settle_node(struct chakra *c, const struct attributes *from, struct graph_node *node)
{
	bool peers = from->type >= NODE_SEND && from->type < NODE_TYPE_COUNT && node->size_B > 0;
	if (node->stream != GRAPH_CPU)
		node->stream = peers ? (int)from->type : NODE_COMPUTE;
	node->function = function_of(node, from->comm);
	node->peer =
		(uint32_t)(from->peer < RECORDED_RANKS_MAX ? from->peer : RECORDED_RANKS_MAX - 1);
	if (strcmp(node->function, "ncclAllGather") == 0) { /* Chakra has the part of one rank */
		c->gathers = true;
		node->size_B *= c->world_count;
	}
	node->size_B = fmin(node->size_B, SIZE_MAX_B);
	c->counts->collectives += node->stream > NODE_COMPUTE;
}

static bool take_node(struct chakra *c, struct bytes *message)
{
	struct graph_node *node = graph_add(&c->graph, 0);
	struct attributes attributes = {0};
	struct bytes part;
	uint64_t value, id = 0;
	for (uint64_t field; (field = take_field(message, &value, &part)) != 0;) {
		if (field == 1)
			id = value;
		else if (field == 2 && part.at)
			node->label = arena_printf(
				c->arena, "%.*s",
				(int)(part.end - part.at < 256 ? part.end - part.at : 256),
				(const char *)part.at);
		else if (field == 3)
			attributes.type = value;
		else if (field == 7)
			node->lasts_s = fmin((double)value * 1e-6, DURATION_MAX_S);
		else if (field == 10)
			take_attribute(&attributes, node, &part);
		message->bad |= part.bad;
		if (field == 5 && !part.at)
			graph_depend(&c->graph, node, number_of(c, value));
		while (field == 5 && part.at < part.end && !part.bad)
			graph_depend(&c->graph, node, number_of(c, take_varint(&part)));
	}
	node->number = number_of(c, id);
	settle_node(c, &attributes, node);
	return !message->bad;
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
	return diag_count(c->diag) == 0 &&
	       (c->graph.nodes.count > 0 ||
		fail(c, ferror(in) ? "the file cannot be read" : "the file has no nodes"));
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
			   .graph = {.arena = arena},
			   .counts = counts};
	*counts = (struct profile_counts){0};
	if (!take_nodes(&c, in))
		return NULL;
	c.graph.id_count = names_count(c.ids);
	struct recorded_calls *recorded = graph_program(&c.graph, "chakra", world_count);
	if (!recorded)
		fail(&c, "some nodes depend on each other");
	else if (c.gathers && world_count == 0)
		fail(&c, "the size of an all-gather is that of one rank, so import the files of "
			 "all ranks together");
	if (diag_count(diag) > 0)
		return NULL;
	counts->used += c.graph.nodes.count;
	counts->events -= 1; /* the metadata */
	return recorded;
}
