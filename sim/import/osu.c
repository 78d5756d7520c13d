/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the OSU micro-benchmarks: a title, a heading and rows
 *
 *   # OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v7.5
 *   # Size       Avg Latency(us)        Validation
 *   1048576               519.85              Pass
 *
 * MB are 1e6 bytes. The size of a collective is that of one rank's message to one other; here it is
 * that of the larger buffer, as in nccl-tests. The number of ranks is in the launcher's command or
 * in the lines of Intel MPI, because the benchmarks do not print it. The result
 * of a non-blocking collective is the column without computation. */
#include <math.h>
#include <string.h>

#include "sim/import/importer.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double MICROS = 1e6, MEGA = 1e6;

static const struct {
	const char *title, *words;
	double growth; /* size of the buffer / size in the log: 1, or 0 for the number of ranks */
} tests[] = {
	{"Multiple Bandwidth", "what=rate_of_pairs", 1},
	{"Bi-Directional Bandwidth", "what=rate_both", 1},
	{"Bandwidth Test", "what=rate", 1},
	{"Allreduce", "collective=all_reduce", 1},
	{"Allgather", "collective=all_gather", 0},
	{"All-to-All", "collective=alltoall", 0},
	{"Alltoall", "collective=alltoall", 0},
	{"Reduce_scatter", "collective=reduce_scatter", 1},
	{"Broadcast", "collective=broadcast", 1},
	{"Reduce", "collective=reduce", 1},
	{"Barrier", "what=barrier", 1},
	{"MPI Latency Test", "what=latency", 1},
	{"MPI-CUDA Latency Test", "what=latency", 1},
};
enum { TESTS = sizeof tests / sizeof tests[0] };

struct state {
	size_t test, column; /* TESTS: no table */
	double ranks;
	bool rate, sized;
	const char *library;
};

/* Takes the ranks from "srun -N2 --ntasks-per-node=4 osu_bw" or "mpirun -np 8 osu_bw". */
static void take_command(struct importing *importing, const char *line, struct state *state)
{
	size_t count = import_words(importing, line);
	const char *const *words = importing->words;
	double nodes = 1, each = 1, all = 0, value;
	for (size_t i = 0; i < count; i++) {
		size_t name = strcspn(words[i], "=0123456789");
		const char *text = words[i] + name + (words[i][name] == '=');
		text = !*text && i + 1 < count ? words[i + 1] : text;
		if (words[i][0] != '-' || name < 2 || !number_parse(text, &value))
			continue;
		if (strncmp(words[i], "-N", name) == 0 || strncmp(words[i], "--nodes", name) == 0)
			nodes = value;
		else if (strncmp(words[i], "--ntasks-per-node", name) == 0)
			each = value;
		else if (strncmp(words[i], "-np", name) == 0 ||
			 strncmp(words[i], "--ntasks", name) == 0)
			all = value;
	}
	state->ranks = all > 0 ? all : nodes * each;
}

static void take_title(const char *line, struct state *state)
{
	state->column = 0;
	for (state->test = 0; state->test < TESTS; state->test++)
		if (strstr(line, tests[state->test].title))
			break;
	state->library = strstr(line, "Non-blocking") ? "mpi-nonblocking"
			 : strstr(line, "CUDA")       ? "mpi-cuda"
						      : "mpi";
}

/* Finds the column of the result; two or more blanks separate the names. */
static void take_heading(struct importing *importing, const char *line, struct state *state)
{
	bool best = false;
	size_t column = 0;
	state->sized = strncmp(line + 1 + strspn(line + 1, " "), "Size", 4) == 0;
	for (const char *at = line + 1; *(at += strspn(at, " ")); column++) {
		const char *end = strstr(at, "  ");
		size_t length = end ? (size_t)(end - at) : strlen(at);
		bool pure = strncmp(at, "Pure", 4) == 0;
		if (!best &&
		    (pure || strncmp(at, "Avg", 3) == 0 || strncmp(at, "Latency", 7) == 0 ||
		     strncmp(at, "Bandwidth", 9) == 0 || strncmp(at, "MB/s", 4) == 0)) {
			best = true;
			state->column = column + 1;
			state->rate = strncmp(at, "Bandwidth", 9) == 0 || *at == 'M';
		}
		at += length;
	}
	bool barrier = strcmp(tests[state->test].words, "what=barrier") == 0;
	if (!state->sized && (!barrier || state->rate))
		import_error(importing, "the table needs 'Size' as the first column (import the "
					"unchanged output of the benchmark)");
}

static void take_row(struct importing *importing, const char *line, struct state *state)
{
	double size_B = 1, value;
	size_t count = import_words(importing, line);
	const char *const *words = importing->words;
	const char *what = tests[state->test].words;
	bool collective = *what == 'c';
	if (count < state->column) {
		import_error(importing, "the row has fewer columns than the heading (import the "
					"unchanged output of the benchmark)");
	} else if (count > 0 && strcmp(words[count - 1], "Fail") == 0) {
		import_skip(importing, "the validation of the result failed");
	} else if ((state->sized && !import_number(importing, words[0], &size_B)) ||
		   !import_number(importing, words[state->column - 1], &value)) {
		import_skip(importing, "no result was measured");
	} else if (collective && state->ranks < 2) {
		import_error(importing,
			     "the log does not contain the number of ranks (write the "
			     "command above it, for example '$ mpirun -np 8 osu_alltoall')");
	} else {
		struct import_point *point = import_point(
			importing, collective ? "collective" : "mpi",
			arena_printf(importing->arena, "%s library=%s", what, state->library));
		point->unit = state->rate ? "B/s" : "s";
		if (state->sized)
			import_at(importing, point, "size_B",
				  tests[state->test].growth > 0 ? size_B : size_B * state->ranks);
		if (collective)
			import_at(importing, point, "ranks", state->ranks);
		import_sample(importing, point, state->rate ? value * MEGA : value / MICROS);
	}
}

static void read_log(struct importing *importing)
{
	static const char startup[] = "MPI startup(): ";
	struct state state = {.test = TESTS};
	const char *line, *found;
	double rank;
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		line = import_untagged(line);
		if (strncmp(line, "# OSU ", 6) == 0) {
			take_title(line, &state);
			if (state.test == TESTS)
				import_skip(importing, "a benchmark that farwire does not know");
		} else if ((found = strstr(line, startup))) {
			if (import_words(importing, found + sizeof startup - 1) > 1 &&
			    number_parse(importing->words[0], &rank) && rank >= 0)
				state.ranks = fmax(state.ranks, rank + 1);
		} else if (*line != '#' && strstr(line, "osu_") && strstr(line, "run ")) {
			take_command(importing, line, &state);
		} else if (*line == '#' && state.test < TESTS &&
			   (strstr(line, "(us)") || strstr(line, "MB/s"))) {
			take_heading(importing, line, &state);
		} else if (*line >= '0' && *line <= '9' && state.test < TESTS && state.column) {
			take_row(importing, line, &state);
		}
	}
}

const struct importer import_osu = {
	.name = "osu",
	.help = "output of the OSU micro-benchmarks (osu_bw, osu_allreduce ...)",
	.marks = {"# OSU MPI"},
	.expected = "expected '# OSU MPI ... Test', a heading and rows; the run may have crashed",
	.log = read_log,
};
