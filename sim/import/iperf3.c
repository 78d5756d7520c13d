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

#include "sim/import/importer.h"
#include "sim/base/arena.h"

static const double BLOCK_B = 131072, BITS = 8;

struct iperf3_state {
	VEC(double) alone, sum; /* B/s: goodput of single streams, and of all streams together */
	double streams, block_B;
	double total_Bps;    /* JSON: over the whole test; 0: unknown */
	char first[16];      /* name of the first stream: "5]" */
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

static void add(struct importing *importing, struct iperf3_state *state, bool sum, double rate_Bps)
{
	double *slot = sum ? VEC_PUSH(importing->arena, &state->sum)
			   : VEC_PUSH(importing->arena, &state->alone);
	*slot = rate_Bps;
}

static void take_line(struct importing *importing, const char *line, struct iperf3_state *state)
{
	double rate;
	size_t count = import_words(importing, line + 1), at = 0;
	const char *const *words = importing->words;
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

static void take_interval(struct importing *importing, const struct json *interval,
			  struct iperf3_state *state)
{
	const struct json *sum = json_member(interval, "sum"),
			  *bits = json_member(sum, "bits_per_second");
	double rate = json_is(bits, JP_NUMBER) ? bits->number : 0;
	import_json_at(importing, interval);
	if (json_member(interval, "sum_bidir_reverse"))
		import_error(importing,
			     "the log has both directions together (measure without --bidir)");
	if (!json_is(json_member(sum, "omitted"), JP_TRUE) && rate > 0)
		add(importing, state, true, rate / BITS);
	else
		import_skip(importing, "an omitted interval, or one in which nothing arrived");
}

static void take_start(struct importing *importing, const struct json *start,
		       struct iperf3_state *state)
{
	const struct json *test = json_member(start, "test_start");
	const struct json *protocol = json_member(test, "protocol");
	import_json_number(importing, test, "num_streams", &state->streams);
	import_json_number(importing, test, "blksize", &state->block_B);
	if (json_text_of(protocol) && strcmp(protocol->text, "TCP") != 0) {
		import_json_at(importing, protocol);
		import_error(importing,
			     "this is a %s test, which sends at a given rate (measure TCP)",
			     protocol->text);
	}
}

/* Reads what the receiver, or else the sender, counted over the whole test. */
static void take_end(const struct json *end, struct iperf3_state *state)
{
	static const char *const sums[] = {"sum_received", "sum_sent"};
	for (size_t i = 0; i < sizeof sums / sizeof sums[0] && state->total_Bps <= 0; i++) {
		double rate = 0;
		json_number_of(json_member(json_member(end, sums[i]), "bits_per_second"), &rate);
		state->total_Bps = rate / BITS;
	}
}

/* Returns a part of the result. With --json-stream, each value has one part:
 * {"event":"interval","data":{...}}. */
static const struct json *part_of(const struct json *root, const char *name)
{
	const char *event = json_text_of(json_member(root, "event"));
	if (!event)
		return json_member(root, name);
	return strcmp(event, name) == 0 ? json_member(root, "data") : NULL;
}

static void read_json(struct importing *importing, struct iperf3_state *state)
{
	const struct json *root;
	int line = 0; /* of the last value */
	for (size_t i = 0; json_is(root = import_json(importing), JP_OBJECT); i++) {
		const struct json *list = json_member(root, "intervals"),
				  *one = part_of(root, "interval");
		const char *failure = json_text_of(part_of(root, "error"));
		bool stream = json_member(root, "event");
		if (stream && !json_member(root, "data"))
			import_error(importing, "the key \"data\" is expected here");
		else if (!stream && i > 0)
			import_error(importing, "the file has more than one result (import each "
						"result separately)");
		take_start(importing, part_of(root, "start"), state);
		if (stream && one)
			take_interval(importing, one, state);
		for (size_t k = 0; k < json_size(list) && diag_count(importing->diag) == 0; k++)
			take_interval(importing, json_at(list, k), state);
		if (part_of(root, "end"))
			take_end(part_of(root, "end"), state);
		if (failure)
			state->failure = arena_strdup(importing->arena, failure);
		line = importing->lines.origin.line;
	}
	importing->lines.origin.line = line;
}

/* ---- text and JSON ---- */

static void read_log(struct importing *importing)
{
	struct iperf3_state state = {.streams = 1, .block_B = BLOCK_B};
	const char *line;
	if (import_is_json(importing))
		read_json(importing, &state);
	else
		while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines)))
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
