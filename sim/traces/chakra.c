/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/readers.h"
#include "sim/engine/names.h"

/* ---- the graph ---- */

/* The work of one rank as a graph: kernels, collectives and messages, each of which begins when the
 * nodes that it depends on have ended. It becomes a recorded program.
 *
 * A host thread makes the calls for all nodes, in the order in which they were added, but not
 * before the nodes that they depend on. Nodes of the CPU are the thread's own work. Nodes of one
 * stream follow each other. Dependencies between streams become events. A send ends for its rank
 * when it begins, as in ASTRA-sim, because the library buffers it. */
enum { GRAPH_CPU = -1 };

struct graph_node {
	double lasts_s, size_B; /* size_B: the larger buffer of a collective, or the message */
	const char *function;   /* "ncclSend" and so on */
	const char *label;
	size_t number;        /* of its id, below graph.id_count */
	size_t dep;           /* index of its last dependency in deps, plus 1; 0: none */
	int stream;           /* or GRAPH_CPU */
	uint32_t peer;        /* other rank of a message */
	bool awaited, played; /* awaited: a node of another stream depends on it */
};

struct graph_dep {
	size_t number;   /* of the id of a node; the graph may lack the node */
	size_t previous; /* further dependency of the same node, as in graph_node.dep */
};

struct graph {
	struct arena *arena;
	VEC(struct graph_node) nodes;
	VEC(struct graph_dep) deps;
	size_t id_count;
	VEC(struct recorded_call) calls;
	struct graph_node **by_id;
	double t_s;
};

static struct graph_node *graph_add(struct graph *graph, size_t number)
{
	struct graph_node *node = VEC_PUSH(graph->arena, &graph->nodes);
	*node = (struct graph_node){.number = number, .label = "", .function = "cudaLaunchKernel"};
	if (number >= graph->id_count)
		graph->id_count = number + 1;
	return node;
}

static void graph_depend(struct graph *graph, struct graph_node *node, size_t number)
{
	*VEC_PUSH(graph->arena, &graph->deps) = (struct graph_dep){number, node->dep};
	node->dep = graph->deps.count;
	if (number >= graph->id_count)
		graph->id_count = number + 1;
}

static struct recorded_call *add_call(struct graph *graph, const char *function, int stream,
				      int64_t event)
{
	struct recorded_call *call = VEC_PUSH(graph->arena, &graph->calls);
	*call = (struct recorded_call){.start_s = graph->t_s,
				       .end_s = graph->t_s,
				       .gpu_start_s = -1,
				       .gpu_s = -1,
				       .function = function,
				       .stream = stream,
				       .event = event};
	return call;
}

/* Returns the node of the dependency *dep and goes to the next; NULL: the graph lacks the node. */
static struct graph_node *take_dep(const struct graph *graph, size_t *dep)
{
	const struct graph_dep *taken = &graph->deps.items[*dep - 1];
	*dep = taken->previous;
	return graph->by_id[taken->number];
}

static void play(struct graph *graph, struct graph_node *node)
{
	for (size_t dep = node->dep; dep;) {
		const struct graph_node *before = take_dep(graph, &dep);
		if (before && before->stream != GRAPH_CPU && before->stream != node->stream)
			add_call(graph,
				 node->stream == GRAPH_CPU ? "cudaEventSynchronize"
							   : "cudaStreamWaitEvent",
				 node->stream, (int64_t)before->number);
	}
	node->played = true;
	if (node->stream == GRAPH_CPU) {
		graph->t_s += node->lasts_s;
		return;
	}
	bool sends = strcmp(node->function, "ncclSend") == 0;
	if (node->awaited && sends)
		add_call(graph, "cudaEventRecord", node->stream, (int64_t)node->number);
	struct recorded_call *call = add_call(graph, node->function, node->stream, -1);
	call->gpu_s = node->lasts_s;
	call->label = node->label;
	call->peer = node->peer;
	call->size_B = node->size_B;
	if (node->awaited && !sends)
		add_call(graph, "cudaEventRecord", node->stream, (int64_t)node->number);
}

static bool is_ready(const struct graph *graph, const struct graph_node *node)
{
	for (size_t dep = node->dep; dep;) {
		const struct graph_node *before = take_dep(graph, &dep);
		if (before && !before->played)
			return false;
	}
	return true;
}

/* Plays the nodes in their order. A node that depends on a later one is played in a further pass.
 * Returns false if some depend on each other, or PASSES_MAX is exceeded. */
static bool play_all(struct graph *graph)
{
	enum { PASSES_MAX = 1000 }; /* real files need few */
	size_t played = 0, count = graph->nodes.count;
	graph->by_id = ARENA_ARRAY(graph->arena, graph->id_count + 1, struct graph_node *);
	for (size_t i = 0; i < count; i++)
		graph->by_id[graph->nodes.items[i].number] = &graph->nodes.items[i];
	for (size_t i = 0; i < count; i++)
		for (size_t dep = graph->nodes.items[i].dep; dep;) {
			struct graph_node *before = take_dep(graph, &dep);
			if (before)
				before->awaited |= before->stream != graph->nodes.items[i].stream;
		}
	for (int pass = 0; played < count && pass < PASSES_MAX; pass++)
		for (size_t i = 0; i < count; i++) {
			struct graph_node *node = &graph->nodes.items[i];
			if (node->played || !is_ready(graph, node))
				continue;
			play(graph, node);
			played++;
		}
	return played == count;
}

/* Returns the program, or NULL if nodes depend on each other. */
static struct recorded_calls *graph_program(struct graph *graph, uint32_t world_count)
{
	add_call(graph, "cudaGetDevice", GRAPH_CPU, -1); /* the begin */
	if (!play_all(graph))
		return NULL;
	add_call(graph, "cudaDeviceSynchronize", GRAPH_CPU, -1);
	struct recorded_calls *recorded = ARENA_NEW(graph->arena, struct recorded_calls);
	*recorded = (struct recorded_calls){.tool = "chakra",
					    .gpu = "",
					    .calls = graph->calls.items,
					    .call_count = graph->calls.count,
					    .world_count = world_count};
	recorded_calls_settle(graph->arena, recorded);
	return recorded;
}

/* ---- nodes of Chakra ---- */

enum node_type { NODE_COMPUTE = 4, NODE_SEND, NODE_RECEIVE, NODE_COLLECTIVE, NODE_TYPE_COUNT };
/* The number of a stream is that of its type of nodes. */
enum { MESSAGE_MAX_B = 1 << 24 };
static const double SIZE_MAX_B = 1e15, DURATION_MAX_S = 1e6;

struct attributes {
	uint64_t type, comm, peer;
};

struct protobuf {
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

static uint64_t take_varint(struct protobuf *b)
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
static uint64_t take_field(struct protobuf *b, uint64_t *value, struct protobuf *part)
{
	*part = (struct protobuf){0};
	if (b->at >= b->end)
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
		*part = (struct protobuf){b->at, b->at + length, false};
	b->at += length;
	return key >> 3;
}

static bool is(const struct protobuf *name, const char *text)
{
	size_t length = (size_t)(name->end - name->at);
	return length == strlen(text) && memcmp(name->at, text, length) == 0;
}

/* Takes an attribute. Each writer uses another type of number, so any of them is read. */
static void take_attribute(struct attributes *attributes, struct graph_node *node,
			   struct protobuf *message)
{
	struct protobuf part, name = {0};
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
	bool known = strcmp(node->function, "cudaLaunchKernel") != 0;
	c->counts->collectives += known;
	c->counts->unknown_collectives += node->stream > NODE_COMPUTE && !known;
}

static bool take_node(struct chakra *c, struct protobuf *message)
{
	struct graph_node *node = graph_add(&c->graph, 0);
	struct attributes attributes = {0};
	struct protobuf part;
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
		if (field == 5 && !part.at)
			graph_depend(&c->graph, node, number_of(c, value));
		while (field == 5 && part.at < part.end)
			graph_depend(&c->graph, node, number_of(c, take_varint(&part)));
		message->bad |= part.bad;
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
static bool take_message(struct chakra *c, FILE *in, struct protobuf *message)
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
	*message = (struct protobuf){c->buffer, c->buffer + length, false};
	return true;
}

static bool take_nodes(struct chakra *c, FILE *in)
{
	struct protobuf message;
	for (; take_message(c, in, &message); c->counts->events++) {
		if (arena_used_B(c->arena) > RECORDED_MEMORY_MAX_B)
			return fail(c, RECORDED_TOO_LARGE);
		bool empty = message.at == message.end; /* nodes have a name and a type */
		if (c->counts->events > 0 && (empty || !take_node(c, &message)))
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
	struct recorded_calls *recorded = graph_program(&c.graph, world_count);
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
