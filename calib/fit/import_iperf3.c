/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads iperf3: the goodput of TCP streams, with a sample for each interval. The text is
 *
 *   [  5]   1.00-2.00   sec  1.09 GBytes  9.41 Gbits/sec    0   1.55 MBytes
 *
 * With several streams the lines [SUM] are used. With JSON (-J), intervals[] contain a sum. Rates
 * are decimal: Gbits are 1e9. The size of a point is the block size, 128 KiB for TCP unless the log
 * has another. UDP runs at a given rate, and both directions at once (--bidir) share the hosts, so
 * neither measures a stream's bandwidth. */
#include <string.h>

#include "calib/fit/import.h"
#include "sim/base/arena.h"
#include "sim/json/pull.h"

static const double BLOCK_B = 131072, BITS = 8;
enum { WORDS_MAX = 24 };

struct state {
	VEC(double) alone, sum; /* B/s: goodput of single streams, and of all streams together */
	double streams, block_B;
	double total_Bps;    /* JSON: over the whole test; 0: unknown */
	char first[16];      /* name of the first stream: "5]" */
	int line;            /* JSON: line at which the last interval ends */
	const char *failure; /* iperf3's error message */
};

/* ---- text ---- */

static double unit_bits(const char *unit)
{
	static const struct {
		const char *name;
		double bits;
	} units[] = {{"bits/sec", 1},         {"Kbits/sec", 1e3},        {"Mbits/sec", 1e6},
		     {"Gbits/sec", 1e9},      {"Tbits/sec", 1e12},       {"KBytes/sec", 8192},
		     {"MBytes/sec", 8388608}, {"GBytes/sec", 8589934592}};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(units[i].name, unit) == 0)
			return units[i].bits;
	return 0;
}

static void add(struct importing *importing, struct state *state, bool sum, double rate_Bps)
{
	double *slot = sum ? VEC_PUSH(importing->arena, &state->sum)
			   : VEC_PUSH(importing->arena, &state->alone);
	*slot = rate_Bps;
}

static void take_line(struct importing *importing, const char *line, struct state *state)
{
	const char *words[WORDS_MAX];
	double rate;
	size_t count = import_words(importing, line + 1, words, WORDS_MAX), at = 0;
	bool sum = count > 0 && strncmp(words[0], "SUM]", 4) == 0;
	while (at < count && unit_bits(words[at]) <= 0)
		at++;
	if (count > 1 && (strncmp(words[1], "[TX", 3) == 0 || strncmp(words[1], "[RX", 3) == 0 ||
			  strstr(words[0], "][TX") || strstr(words[0], "][RX")))
		import_error(importing,
			     "the log has both directions together (measure without --bidir)");
	else if (strstr(line, "Datagrams") || strchr(line, '%'))
		import_error(importing,
			     "this is a UDP test, which sends at a given rate (measure TCP)");
	if (diag_count(importing->diag))
		return;
	bool whole = count > 0 && (strcmp(words[count - 1], "sender") == 0 ||
				   strcmp(words[count - 1], "receiver") == 0);
	if (at == count || at == 0 || whole || strchr(line, '(')) /* for example "(omitted)" */
		return;
	if (!sum && !state->first[0])
		snprintf(state->first, sizeof state->first, "%s", words[0]);
	if (!sum && strcmp(words[0], state->first) != 0)
		state->streams = state->streams < 2 ? 2 : state->streams;
	if (import_number(importing, words[at - 1], &rate))
		add(importing, state, sum, rate * unit_bits(words[at]) / BITS);
}

/* ---- JSON ---- */

/* Reads the sum's rate of one element of intervals[]. */
static void take_interval(struct importing *importing, struct jp_reader *in, struct state *state)
{
	bool omitted = false;
	double rate = 0;
	while (!in->error && jp_next(in) == JP_KEY) {
		if (strcmp(in->text, "sum_bidir_reverse") == 0)
			in->error =
				"the log has both directions together (measure without --bidir)";
		if (strcmp(in->text, "sum") != 0 || jp_next(in) != JP_OBJECT) {
			if (strcmp(in->text, "sum") != 0)
				jp_skip(in);
			continue;
		}
		while (!in->error && jp_next(in) == JP_KEY) {
			bool bits = strcmp(in->text, "bits_per_second") == 0;
			bool omit = strcmp(in->text, "omitted") == 0;
			if (!bits && !omit) {
				jp_skip(in);
				continue;
			}
			enum jp_token token = jp_next(in);
			omitted |= omit && token == JP_TRUE;
			rate = bits && token == JP_NUMBER ? in->number : rate;
		}
	}
	state->line = in->line;
	importing->line = in->line;
	if (!omitted && rate > 0)
		add(importing, state, true, rate / BITS);
	else
		import_skip(importing, "an omitted interval, or one in which nothing arrived");
}

static void take_intervals(struct importing *importing, struct jp_reader *in, struct state *state)
{
	enum jp_token token;
	if (jp_next(in) != JP_ARRAY)
		return;
	while ((token = jp_next(in)) != JP_ARRAY_END && token != JP_ERROR && token != JP_END)
		if (token == JP_OBJECT)
			take_interval(importing, in, state);
}

static void take_test(struct importing *importing, struct jp_reader *in, struct state *state)
{
	if (jp_next(in) != JP_OBJECT)
		return;
	while (!in->error && jp_next(in) == JP_KEY) {
		double *to = strcmp(in->text, "num_streams") == 0 ? &state->streams
			     : strcmp(in->text, "blksize") == 0   ? &state->block_B
								  : NULL;
		if (strcmp(in->text, "protocol") == 0) {
			if (jp_next(in) == JP_TEXT && strcmp(in->text, "TCP") != 0)
				in->error = arena_printf(importing->arena,
							 "this is a %s test, which sends at a "
							 "given rate (measure TCP)",
							 in->text);
		} else if (!to) {
			jp_skip(in);
		} else if (jp_next(in) == JP_NUMBER) {
			*to = in->number;
		} else if (!in->error) {
			in->error = "a number is expected here";
		}
	}
}

static void take_start(struct importing *importing, struct jp_reader *in, struct state *state)
{
	if (jp_next(in) != JP_OBJECT)
		return;
	while (!in->error && jp_next(in) == JP_KEY)
		if (strcmp(in->text, "test_start") == 0)
			take_test(importing, in, state);
		else
			jp_skip(in);
}

/* Reads what the receiver, or else the sender, counted over the whole test. */
static void take_end(struct jp_reader *in, struct state *state)
{
	if (jp_next(in) != JP_OBJECT)
		return;
	while (!in->error && jp_next(in) == JP_KEY) {
		bool received = strcmp(in->text, "sum_received") == 0;
		if (!received && strcmp(in->text, "sum_sent") != 0) {
			jp_skip(in);
			continue;
		}
		if (jp_next(in) != JP_OBJECT)
			continue;
		while (!in->error && jp_next(in) == JP_KEY)
			if (strcmp(in->text, "bits_per_second") != 0)
				jp_skip(in);
			else if (jp_next(in) == JP_NUMBER && in->number > 0 &&
				 (received || state->total_Bps <= 0))
				state->total_Bps = in->number / BITS;
	}
}

/* Reads {"event":"interval","data":{...}} of --json-stream, behind the key "event". */
static void take_event(struct importing *importing, struct jp_reader *in, struct state *state)
{
	char event[16] = "";
	if (jp_next(in) == JP_TEXT)
		snprintf(event, sizeof event, "%s", in->text);
	if (in->error || jp_next(in) != JP_KEY || strcmp(in->text, "data") != 0)
		in->error = in->error ? in->error : "the key \"data\" is expected here";
	else if (strcmp(event, "start") == 0)
		take_start(importing, in, state);
	else if (strcmp(event, "interval") == 0 && jp_next(in) == JP_OBJECT)
		take_interval(importing, in, state);
	else if (strcmp(event, "end") == 0)
		take_end(in, state);
	else if (strcmp(event, "error") == 0 && jp_next(in) == JP_TEXT)
		state->failure = arena_strdup(importing->arena, in->text);
	else if (strcmp(event, "interval") != 0)
		jp_skip(in);
}

static void read_json(struct importing *importing, struct state *state)
{
	struct jp_reader *in = jp_open(importing->arena, importing->in);
	bool stream = false;
	jp_next(in);
	while (!in->error && (jp_next(in) == JP_KEY || (stream && jp_next(in) == JP_KEY)))
		if (strcmp(in->text, "event") == 0) {
			take_event(importing, in, state);
			stream = true;
			if (!in->error && !jp_leave(in))
				break;
		} else if (strcmp(in->text, "intervals") == 0)
			take_intervals(importing, in, state);
		else if (strcmp(in->text, "end") == 0)
			take_end(in, state);
		else if (strcmp(in->text, "start") == 0)
			take_start(importing, in, state);
		else if (strcmp(in->text, "error") != 0)
			jp_skip(in);
		else if (jp_next(in) == JP_TEXT)
			state->failure = arena_strdup(importing->arena, in->text);
	if (!in->error && !stream && jp_next(in) != JP_END)
		in->error = "the file has more than one result (import each result separately)";
	import_json_end(importing, in);
	importing->line = state->line;
}

/* ---- text and JSON ---- */

static void read_log(struct importing *importing)
{
	struct state state = {.streams = 1, .block_B = BLOCK_B};
	const char *line;
	if (import_is_json(importing))
		read_json(importing, &state);
	else
		while (diag_count(importing->diag) == 0 && (line = import_line(importing)))
			if (line[0] == '[')
				take_line(importing, line, &state);
	if (state.sum.count == 0 && state.alone.count == 0 && state.total_Bps > 0)
		add(importing, &state, true, state.total_Bps); /* no intervals were kept */
	size_t count = state.sum.count ? state.sum.count : state.alone.count;
	const double *rates = state.sum.count ? state.sum.items : state.alone.items;
	if (count == 0 && state.failure && diag_count(importing->diag) == 0)
		import_error(importing, "iperf3 failed: %s", state.failure);
	if (count == 0 || diag_count(importing->diag))
		return;
	if (!state.sum.count && state.streams > 1) {
		import_error(importing, "the log has several streams, but no lines with [SUM] "
					"(import the whole output of iperf3)");
		return;
	}
	if (state.sum.count && state.alone.count) { /* each interval has one line per stream */
		size_t lines = state.alone.count / state.sum.count;
		state.streams = (double)lines;
	}
	for (size_t i = 0; state.sum.count && i < state.alone.count; i++)
		import_skip(importing, "one stream, because lines with [SUM] have all of them");
	struct import_point *point = import_point(importing, "tcp", "what=stream nagle=on");
	point->unit = "B/s";
	import_at(importing, point, "size_B", state.block_B);
	import_at(importing, point, "streams", state.streams);
	for (size_t i = 0; i < count; i++)
		import_sample(importing, point, rates[i]);
}

const struct importer import_iperf3 = {
	.name = "iperf3",
	.help = "output of iperf3, text or JSON",
	.marks = {"\"test_start\"", "Connecting to host", "bits/sec", "Bytes/sec"},
	.expected = "expected iperf3's intervals, '[  5]   0.00-1.00   sec ...', or its JSON",
	.log = read_log,
};
