/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/names.h"
#include "sim/traces/graph.h"
#include "sim/traces/workloads.h"

enum { WORDS_MAX = 16, CPUS_MAX = 1024, FIRST_MESSAGE = CPUS_MAX + 1 };

struct sent { /* a message that waits for its other half, or lacks it at the end */
	uint32_t from, to;
	double size_B, tag;
	int line;
};

struct goal {
	struct arena *arena;
	struct diag *diag;
	FILE *in;
	struct origin origin;
	char text[GRAPH_LINE_MAX_B];
	char *words[WORDS_MAX];
	size_t word_count;
	uint32_t rank_count, rank; /* rank_count 0: not known yet */
	bool inside;               /* of a rank's braces */
	struct recorded_calls **ranks;
	struct graph graph; /* of the present rank */
	struct names *labels;
	VEC(size_t) nodes; /* index of the node of each label, plus 1; 0: none yet */
	VEC(struct sent) sends, receives;
	struct profile_counts *counts;
};

static bool fail(struct goal *g, const char *why)
{
	return diag_error(g->diag, g->origin, "%s", why);
}

/* Divides the next line into words; a colon ends one, a brace is one. Returns false at the end or
 * after an error. */
static bool take_line(struct goal *g)
{
	char line[GRAPH_LINE_MAX_B / 2];
	size_t length = 0;
	if (!fgets(line, sizeof line, g->in))
		return false;
	g->origin.line++;
	if (!strchr(line, '\n') && !feof(g->in))
		return fail(g, "the line is too long or contains a zero byte");
	for (const char *c = line; *c && length + 4 < sizeof g->text; c++) {
		bool brace = *c == '{' || *c == '}';
		if (brace)
			g->text[length++] = ' ';
		g->text[length++] = *c == ':' ? ' ' : *c;
		if (brace)
			g->text[length++] = ' ';
	}
	g->text[length] = '\0';
	char *rest = NULL;
	g->word_count = 0;
	for (char *word = strtok_r(g->text, " \t\r\n,;", &rest); word && word[0] != '#';
	     word = strtok_r(NULL, " \t\r\n,;", &rest)) {
		if (g->word_count == WORDS_MAX)
			return fail(g, "the line has more than 16 words");
		g->words[g->word_count++] = word;
	}
	return true;
}

static bool take_number(struct goal *g, size_t word, double most, double *value)
{
	char *end = NULL;
	if (word < g->word_count) {
		*value = strtod(g->words[word], &end);
		if (end != g->words[word] && (!*end || strcmp(end, "b") == 0) && *value >= 0 &&
		    *value <= most)
			return true;
	}
	return diag_error(g->diag, g->origin, "%s%.80s must be a number from 0 to %.0f",
			  word < g->word_count ? "" : "after the last word ",
			  g->words[word < g->word_count ? word : g->word_count - 1], most);
}

static bool is(const struct goal *g, size_t word, const char *text)
{
	return word < g->word_count && strcmp(g->words[word], text) == 0;
}

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
	if (!take_number(g, 2, GRAPH_SIZE_MAX_B, &node->size_B))
		return false;
	if (!is(g, 3, sends ? "to" : "from"))
		return fail(g, sends ? "write 'LABEL: send BYTESb to RANK tag TAG'"
				     : "write 'LABEL: recv BYTESb from RANK tag TAG'");
	if (!take_number(g, 4, g->rank_count - 1, &peer))
		return false;
	if (peer == g->rank)
		return fail(g, "a rank cannot exchange a message with itself");
	for (size_t i = 5; i + 1 < g->word_count; i += 2)
		if (is(g, i, "tag") && !take_number(g, i + 1, 1e15, &tag))
			return false;
	node->peer = (uint32_t)peer;
	node->size_B = fmax(1, node->size_B);
	node->stream = FIRST_MESSAGE + 2 * (int)peer + sends;
	node->function = sends ? "ncclSend" : "ncclRecv";
	struct sent message = {sends ? g->rank : (uint32_t)peer, sends ? (uint32_t)peer : g->rank,
			       node->size_B, tag, g->origin.line};
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
	if (!take_number(g, 2, 1e9 * GRAPH_DURATION_MAX_S, &cost))
		return false;
	for (size_t i = 3; i + 1 < g->word_count; i += 2)
		if (is(g, i, "cpu") && !take_number(g, i + 1, CPUS_MAX - 1, &cpu))
			return false;
	node->lasts_s = cost * 1e-9;
	node->stream = 1 + (int)cpu;
	return true;
}

/* "a requires b": after b has ended. "a irequires b": after b has begun, which is when the nodes
 * that b requires have ended. */
static bool take_order(struct goal *g)
{
	size_t after = label_number(g, g->words[0]), before = label_number(g, g->words[2]);
	size_t node = g->nodes.items[after], other = g->nodes.items[before];
	if (node == 0 || other == 0)
		return diag_error(g->diag, g->origin,
				  "the rank has no operation '%.80s' above this line",
				  g->words[node == 0 ? 0 : 2]);
	if (is(g, 1, "requires")) {
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
	bool sends = is(g, 1, "send");
	if (g->word_count == 3 && (is(g, 1, "requires") || is(g, 1, "irequires")))
		return take_order(g);
	if (!sends && !is(g, 1, "recv") && !is(g, 1, "calc"))
		return fail(g, "the line is not an operation (write 'LABEL: send ...', 'LABEL: "
			       "recv ...', 'LABEL: calc NANOSECONDS' or 'LABEL requires LABEL')");
	size_t number = label_number(g, g->words[0]);
	if (g->nodes.items[number] > 0)
		return diag_error(g->diag, g->origin, "the label '%.80s' occurs twice in the rank",
				  g->words[0]);
	struct graph_node *node = graph_add(&g->graph, number);
	g->nodes.items[number] = g->graph.nodes.count;
	g->counts->events++;
	g->counts->used++;
	return is(g, 1, "calc") ? take_calc(g, node) : take_message(g, node, sends);
}

/* ---- ranks ---- */

static bool begin_rank(struct goal *g)
{
	double rank;
	if (g->rank_count == 0 || !is(g, 2, "{"))
		return fail(g, g->rank_count == 0 ? "num_ranks must come before the first rank"
						  : "write 'rank NUMBER {'");
	if (!take_number(g, 1, g->rank_count - 1, &rank))
		return false;
	g->rank = (uint32_t)rank;
	if (g->ranks[g->rank])
		return fail(g, "the file has this rank twice");
	g->inside = true;
	g->graph = (struct graph){.arena = g->arena};
	g->labels = names_new(g->arena);
	g->nodes.count = 0;
	return true;
}

static bool end_rank(struct goal *g)
{
	struct recorded_calls *rank = graph_program(&g->graph, "goal", g->rank_count);
	if (!rank)
		return fail(g, "some operations of the rank require each other");
	rank->rank = g->rank;
	g->ranks[g->rank] = rank;
	g->inside = false;
	return true;
}

static bool take_ranks(struct goal *g)
{
	double count;
	if (!is(g, 0, "num_ranks") || g->ranks)
		return fail(g, "write 'num_ranks NUMBER' in the first line, and operations inside "
			       "'rank NUMBER {' and '}'");
	if (!take_number(g, 1, RECORDED_RANKS_MAX, &count))
		return false;
	if (count < 2)
		return fail(g, "num_ranks must be at least 2");
	g->rank_count = (uint32_t)count;
	g->ranks = ARENA_ARRAY(g->arena, g->rank_count, struct recorded_calls *);
	return true;
}

static bool take_file(struct goal *g)
{
	while (take_line(g)) {
		if (arena_used_B(g->arena) > RECORDED_MEMORY_MAX_B)
			return fail(g, "the schedule " RECORDED_TOO_LARGE);
		if (g->word_count == 0)
			continue;
		bool good = is(g, 0, "}") && g->inside ? end_rank(g)
			    : g->inside                ? take_operation(g)
			    : is(g, 0, "rank")         ? begin_rank(g)
						       : take_ranks(g);
		if (!good)
			return false;
	}
	if (diag_count(g->diag) > 0)
		return false;
	if (g->inside || !g->ranks)
		return fail(g, g->inside ? "the last rank has no '}'"
					 : "the file has no line 'num_ranks NUMBER'");
	return true;
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
		g->origin.line = first->line;
		return diag_error(
			g->diag, g->origin,
			"the message from rank %u to rank %u has no send or receive of the "
			"same bytes and tag in this order (messages between two ranks must "
			"be received in the order in which they are sent)",
			(unsigned)first->from, (unsigned)first->to);
	}
	return true;
}

struct recorded_calls *goal_read(struct arena *arena, struct diag *diag, FILE *in, const char *path,
				 struct workload_counts *counts)
{
	struct goal *g = ARENA_NEW(arena, struct goal);
	*g = (struct goal){.arena = arena,
			   .diag = diag,
			   .in = in,
			   .origin = {path, 0},
			   .counts = &counts->counts};
	*counts = (struct workload_counts){.skipped = ""};
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
