/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nccl-tests (all_reduce_perf and the others): a comment for each rank, then rows
 *
 *   #       size         count      type   redop    root     time   algbw   busbw #wrong     time
 * ... #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)
 * ... 1024           256     float     sum      -1    20.50    0.05    0.09      0    20.11 ...
 *
 * whose first columns depend on the release and the collective (no root before
 * 2.13, no redop for all_gather); the last eight are always time, algorithm and bus
 * bandwidth and errors, out of place and in place. The two become two passes: each
 * is a measurement of its own. Releases from 2.17 on say which collective it is;
 * for others the ratio of the two bandwidths says it, which for n ranks is
 * 2 (n - 1) / n of an all-reduce and (n - 1) / n of all_gather and reduce_scatter. */
#include <math.h>
#include <string.h>

#include "calib/fit/import.h"
#include "sim/base/arena.h"

static const double MICRO = 1e-6;
enum { WORDS_MAX = 24, WORDS_LEAST = 11, RESULTS = 8 };

struct state {
	double ranks;
	const char *collective; /* NULL: to be told from the bandwidths */
	bool table;             /* the header was seen */
};

static void take_comment(struct importing *importing, const char *line, struct state *state)
{
	static const char starting[] = "Collective test starting: ";
	const char *found = strstr(line, starting);
	double rank;
	const char *words[WORDS_MAX];
	size_t count = import_words(importing, line + 1, words, WORDS_MAX);
	if (found) {
		const char *name = found + sizeof starting - 1;
		size_t length = strcspn(name, " ");
		if (length > 5 && strncmp(name + length - 5, "_perf", 5) == 0)
			length -= 5;
		state->collective = arena_printf(importing->arena, "%.*s", (int)length, name);
	} else if (count > 2 && strcmp(words[0], "Rank") == 0) {
		if (import_number(importing, words[1], &rank) || strcmp(words[1], "0") == 0)
			state->ranks++;
		/* "... device  0 [0x07] NVIDIA A100-SXM4-80GB" */
		const char *bracket = strchr(line, ']');
		if (bracket && bracket[1] && !importing->gpu)
			importing->gpu = arena_strdup(importing->arena,
						      bracket + 1 + strspn(bracket + 1, " "));
	} else if (count > 2 && strcmp(words[0], "size") == 0 && strcmp(words[1], "count") == 0) {
		state->table = true;
	}
}

/* By bus bandwidth over algorithm bandwidth, and whether it reduces. */
static const char *collective_of(const struct state *state, double ratio, bool reduces)
{
	double n = state->ranks, part = (n - 1) / n;
	if (fabs(ratio - 2 * part) < 0.06 * part && n > 2)
		return "all_reduce";
	if (n <= 2 && reduces && fabs(ratio - 1) < 0.06)
		return "all_reduce"; /* 2 (n - 1) / n is 1, reduce's too */
	if (fabs(ratio - part) < 0.04 * part)
		return reduces ? "reduce_scatter" : "all_gather";
	return NULL;
}

static void take_row(struct importing *importing, const char *line, struct state *state)
{
	const char *words[WORDS_MAX];
	double size_B, algorithm, bus;
	size_t count = import_words(importing, line, words, WORDS_MAX);
	if (count < WORDS_LEAST || count == WORDS_MAX) {
		import_error(importing, "%zu columns: no row of nccl-tests", count);
		return;
	}
	if (!import_number(importing, words[0], &size_B))
		return; /* 0 bytes: nothing to learn */
	if (!state->collective && import_number(importing, words[count - 7], &algorithm) &&
	    import_number(importing, words[count - 6], &bus) && bus >= 1)
		state->collective =
			collective_of(state, bus / algorithm, strcmp(words[3], "none") != 0);
	for (size_t pass = 0; pass < 2; pass++) {
		double time_us;
		if (!import_number(importing, words[count - RESULTS + 4 * pass], &time_us))
			continue;
		/* the collective is filled in when it is known for sure */
		struct import_point *point = import_point(importing, "collective", NULL, pass);
		import_at(point, "size_B", size_B);
		import_at(point, "ranks", state->ranks);
		import_sample(importing, point, time_us * MICRO);
	}
}

static void read_log(struct importing *importing)
{
	struct state state = {0};
	const char *line;
	while (diag_count(importing->diag) == 0 && (line = import_line(importing))) {
		line += strspn(line, " \t");
		if (*line == '#')
			take_comment(importing, line, &state);
		else if (state.table && *line >= '0' && *line <= '9')
			take_row(importing, line, &state);
	}
	if (importing->points.count == 0 || diag_count(importing->diag))
		return;
	importing->line = 0;
	if (state.ranks < 2)
		import_error(importing, "%s: a collective has two or more (lines '#  Rank  0 ...')",
			     state.ranks > 0 ? "one rank only" : "no ranks are listed");
	else if (!state.collective)
		import_error(importing, "the log does not tell which collective it is (nccl-tests "
					"2.17 writes '# Collective test starting: ...')");
	for (size_t i = 0; i < importing->points.count && state.collective; i++)
		importing->points.items[i].words = arena_printf(
			importing->arena, "collective=%s library=nccl", state.collective);
}

const struct import_log import_nccl_tests = {
	"nccl-tests",
	"expected the table that all_reduce_perf and its like print",
	read_log,
};
