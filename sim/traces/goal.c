/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/names.h"
#include "sim/traces/graph.h"
#include "sim/traces/words.h"
#include "sim/traces/readers.h"

enum { CPUS_MAX = 1024, FIRST_MESSAGE = CPUS_MAX + 1 };

struct sent { /* a message that waits for its other half, or lacks it at the end */
	uint32_t from, to;
	double size_B, tag;
	int line;
};

struct goal {
	struct arena *arena;
	struct words words;
	uint32_t rank_count, rank; /* rank_count 0: not known yet */
	struct recorded_calls **ranks;
	struct graph graph;   /* of the present rank */
	struct names *labels; /* of the present rank; NULL: before the first */
	VEC(size_t) nodes;    /* index of the node of each label, plus 1; 0: none yet */
	VEC(struct sent) sends, receives;
	struct profile_counts *counts;
};

/* Returns the number of a label of the present rank. */
static size_t label_number(struct goal *g, const char *label)
{
	size_t number = (size_t)names_add(g->labels, label);
	while (g->nodes.count <= number)
		*VEC_PUSH(g->arena, &g->nodes) = 0;
	return number;
}

/* ---- operations ---- */

static bool take_message(struct goal *g, struct graph_node *node, bool sends)
{
	double peer, tag = 0;
	if (!words_number(&g->words, 2, GRAPH_SIZE_MAX_B, &node->size_B))
		return false;
	if (!words_is(&g->words, 3, sends ? "to" : "from"))
		return words_fail(&g->words,
				  sends ? "write 'LABEL: send BYTESb to RANK tag TAG'"
					: "write 'LABEL: recv BYTESb from RANK tag TAG'");
	if (!words_number(&g->words, 4, g->rank_count - 1, &peer))
		return false;
	if (peer == g->rank)
		return words_fail(&g->words, "a rank cannot exchange a message with itself");
	for (size_t i = 5; i + 1 < g->words.count; i += 2)
		if (words_is(&g->words, i, "tag") && !words_number(&g->words, i + 1, 1e15, &tag))
			return false;
	node->peer = (uint32_t)peer;
	node->size_B = fmax(1, node->size_B);
	node->stream = FIRST_MESSAGE + 2 * (int)peer + sends;
	node->function = sends ? "ncclSend" : "ncclRecv";
	struct sent message = {sends ? g->rank : (uint32_t)peer, sends ? (uint32_t)peer : g->rank,
			       node->size_B, tag, g->words.lines.origin.line};
	if (sends)
		*VEC_PUSH(g->arena, &g->sends) = message;
	else
		*VEC_PUSH(g->arena, &g->receives) = message;
	g->counts->collectives++;
	return true;
}

static bool take_calc(struct goal *g, struct graph_node *node)
{
	double cost, cpu = 0;
	if (!words_number(&g->words, 2, 1e9 * GRAPH_DURATION_MAX_S, &cost))
		return false;
	for (size_t i = 3; i + 1 < g->words.count; i += 2)
		if (words_is(&g->words, i, "cpu") &&
		    !words_number(&g->words, i + 1, CPUS_MAX - 1, &cpu))
			return false;
	node->lasts_s = cost * 1e-9;
	node->stream = 1 + (int)cpu;
	return true;
}

/* "a requires b": after b has ended. "a irequires b": after b has begun, which is when the nodes
 * that b requires have ended. */
static bool take_order(struct goal *g)
{
	size_t after = label_number(g, g->words.at[0]), before = label_number(g, g->words.at[2]);
	size_t node = g->nodes.items[after], other = g->nodes.items[before];
	if (node == 0 || other == 0)
		return diag_error(g->words.lines.diag, g->words.lines.origin,
				  "the rank has no operation '%.80s' above this line",
				  g->words.at[node == 0 ? 0 : 2]);
	if (words_is(&g->words, 1, "requires")) {
		graph_depend(&g->graph, &g->graph.nodes.items[node - 1], before);
		return true;
	}
	for (size_t dep = g->graph.nodes.items[other - 1].dep; dep;) {
		struct graph_dep taken = g->graph.deps.items[dep - 1];
		graph_depend(&g->graph, &g->graph.nodes.items[node - 1], taken.number);
		dep = taken.previous;
	}
	return true;
}

static bool take_operation(struct goal *g)
{
	bool sends = words_is(&g->words, 1, "send");
	if (g->words.count == 3 &&
	    (words_is(&g->words, 1, "requires") || words_is(&g->words, 1, "irequires")))
		return take_order(g);
	if (!sends && !words_is(&g->words, 1, "recv") && !words_is(&g->words, 1, "calc"))
		return words_fail(
			&g->words,
			"the line is not an operation (write 'LABEL: send ...', 'LABEL: "
			"recv ...', 'LABEL: calc NANOSECONDS' or 'LABEL requires LABEL')");
	size_t number = label_number(g, g->words.at[0]);
	if (g->nodes.items[number] > 0)
		return diag_error(g->words.lines.diag, g->words.lines.origin,
				  "the label '%.80s' occurs twice in the rank", g->words.at[0]);
	struct graph_node *node = graph_add(&g->graph, number);
	g->nodes.items[number] = g->graph.nodes.count;
	g->counts->events++;
	g->counts->used++;
	return words_is(&g->words, 1, "calc") ? take_calc(g, node) : take_message(g, node, sends);
}

/* ---- ranks ---- */

/* A rank ends where the next one begins, and at the end of the file. */
static bool end_rank(struct goal *g)
{
	if (!g->labels)
		return true;
	struct recorded_calls *rank = graph_program(&g->graph, "goal", g->rank_count);
	if (!rank)
		return words_fail(&g->words, "some operations above this line require each other");
	rank->rank = g->rank;
	g->ranks[g->rank] = rank;
	return true;
}

static bool begin_rank(struct goal *g)
{
	double rank;
	if (!g->ranks || g->words.count != 2)
		return words_fail(&g->words, g->ranks
						     ? "write 'rank NUMBER {' in a line of its own"
						     : "num_ranks must come before the first rank");
	if (!end_rank(g) || !words_number(&g->words, 1, g->rank_count - 1, &rank))
		return false;
	g->rank = (uint32_t)rank;
	if (g->ranks[g->rank])
		return words_fail(&g->words, "the file has this rank twice");
	g->graph = (struct graph){.arena = g->arena};
	g->labels = names_new(g->arena);
	g->nodes.count = 0;
	return true;
}

static bool take_ranks(struct goal *g)
{
	double count;
	if (!words_is(&g->words, 0, "num_ranks") || g->ranks)
		return words_fail(
			&g->words,
			"write 'num_ranks NUMBER' in the first line, and operations inside "
			"'rank NUMBER {' and '}'");
	if (!words_number(&g->words, 1, RECORDED_RANKS_MAX, &count))
		return false;
	if (count < 2)
		return words_fail(&g->words, "num_ranks must be at least 2");
	g->rank_count = (uint32_t)count;
	g->ranks = ARENA_ARRAY(g->arena, g->rank_count, struct recorded_calls *);
	return true;
}

static bool take_file(struct goal *g)
{
	while (words_line(&g->words)) {
		if (arena_used_B(g->arena) > RECORDED_MEMORY_MAX_B)
			return words_fail(&g->words, "the schedule " RECORDED_TOO_LARGE);
		if (g->words.count == 0)
			continue;
		bool good = words_is(&g->words, 0, "rank") ? begin_rank(g)
			    : g->labels                    ? take_operation(g)
							   : take_ranks(g);
		if (!good)
			return false;
	}
	if (diag_count(g->words.lines.diag) > 0)
		return false;
	return g->labels ? end_rank(g)
			 : words_fail(&g->words, "the file has no line 'rank NUMBER {'");
}

/* ---- messages ---- */

/* By ranks, then in the order of the file. */
static int by_ranks(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* The messages from one rank to another arrive in their order, so both must have the same. */
static bool match(struct goal *g)
{
	if (g->sends.count > 0)
		qsort(g->sends.items, g->sends.count, sizeof *g->sends.items, by_ranks);
	if (g->receives.count > 0)
		qsort(g->receives.items, g->receives.count, sizeof *g->receives.items, by_ranks);
	for (size_t i = 0; i < g->sends.count || i < g->receives.count; i++) {
		const struct sent *send = i < g->sends.count ? &g->sends.items[i] : NULL;
		const struct sent *receive = i < g->receives.count ? &g->receives.items[i] : NULL;
		if (send && receive && send->from == receive->from && send->to == receive->to &&
		    send->tag == receive->tag && send->size_B == receive->size_B)
			continue;
		const struct sent *first = !receive                       ? send
					   : !send                        ? receive
					   : by_ranks(send, receive) <= 0 ? send
									  : receive;
		g->words.lines.origin.line = first->line;
		return diag_error(g->words.lines.diag, g->words.lines.origin,
				  "the message from rank %u to rank %u has no other half with the "
				  "same bytes and tag (write sends and receives between two ranks "
				  "in the same order)",
				  (unsigned)first->from, (unsigned)first->to);
	}
	return true;
}

const struct recorded_calls *goal_read(struct arena *arena, struct diag *diag, FILE *in,
				       const char *path, const struct profile_watch *watch,
				       struct profile_counts *counts)
{
	struct goal *g = ARENA_NEW(arena, struct goal);
	*g = (struct goal){.arena = arena,
			   .words = words_begin(diag, in, path, " \t\r,;:{}"),
			   .counts = counts};
	*counts = (struct profile_counts){0};
	if (!take_file(g) || !match(g))
		return NULL;
	for (uint32_t i = g->rank_count; i-- > 0;) {
		if (!g->ranks[i]) { /* it has no operations */
			g->graph = (struct graph){.arena = arena};
			g->ranks[i] = graph_program(&g->graph, "goal", g->rank_count);
			g->ranks[i]->rank = i;
		}
		g->ranks[i]->next = i + 1 < g->rank_count ? g->ranks[i + 1] : NULL;
	}
	return g->ranks[0];
}
