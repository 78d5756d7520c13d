/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads iperf3 and iperf 2: the goodput of TCP streams, with a sample for each interval. The text
 * is
 *
 *   [  5]   1.00-2.00   sec  1.09 GBytes  9.41 Gbits/sec    0   1.55 MBytes
 *
 * With several streams the lines [SUM] are used. With JSON (-J), intervals[] contain a sum. Rates
 * are decimal: Gbits are 1e9. The size of a point is the block size, 128 KiB for TCP unless the log
 * has another. UDP runs at a given rate. Both directions at once (--bidir) share the hosts, so they
 * do not measure a stream's bandwidth; only `import log --link` reads them.
 *
 * iperf 2 has the same lines with other decimals. It marks the result of the whole test by nothing
 * but its interval, which begins at 0 again:
 *
 *   [  1] 2.0000-3.0000 sec  11.6 MBytes  97.5 Mbits/sec
 *   [  1] 0.0000-3.1520 sec  35.4 MBytes  94.1 Mbits/sec */
#include "sim/import/importer.h"

static const double BLOCK_B = 131072, BITS = 8, MICROS = 1e6;
/* Headers of IPv4 and TCP, without and with timestamps. */
static const double HEADER_B = 40, TIMESTAMPS_B = 12;

struct iperf_way {              /* one direction */
	VEC(double) alone, sum; /* B/s: goodput of single streams, and of all streams together */
	double total_alone_Bps, total_sum_Bps; /* text: receiver's or else sender's whole test */
	double streams, first_end_s;
	char first[16]; /* name of the first stream: "5]" */
	struct import_link link;
};

struct iperf3_state {
	struct iperf_way ways[2]; /* from the client to the server, and back */
	bool second;              /* the log is one of iperf 2 */
	bool back;                /* the server sends (-R) */
	bool both;                /* both directions at once (--bidir) */
	bool client;              /* iperf 2: this is the log of a client */
	double block_B, mtu_B, rtt_s;
	const char *failure; /* iperf3's error message */
};

/* The segment size does not contain the option of timestamps, if TCP uses it. */
static double mtu_of(double mss_B)
{
	bool plain = mss_B + HEADER_B == 1500 || mss_B + HEADER_B == 9000;
	return mss_B > 0 ? mss_B + HEADER_B + (plain ? 0 : TIMESTAMPS_B) : 0;
}

/* ---- text ---- */

/* Units of moved bytes: "MBytes" are 2^20. */
static double unit_bytes(const char *unit)
{
	static const char *const units[] = {"Bytes", "KBytes", "MBytes", "GBytes", "TBytes"};
	double bytes = 1;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++, bytes *= 1024)
		if (strcmp(units[i], unit) == 0)
			return bytes;
	return 0;
}

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

static void add(struct importing *importing, struct iperf_way *way, bool sum, double rate_Bps)
{
	double *slot = sum ? VEC_PUSH(importing->arena, &way->sum)
			   : VEC_PUSH(importing->arena, &way->alone);
	*slot = rate_Bps;
}

/* Takes a line about a connection or the direction. Returns false for other lines. */
static bool take_head(struct importing *importing, const char *line, struct iperf3_state *state)
{
	const char *mss = strstr(line, "icwnd/mss/irtt=");
	double mss_B, rtt_us;
	bool client = strstr(line, "Client connecting to"),
	     server = strstr(line, "Server listening on") && strstr(line, " port ");
	if (!state->second && (client || server || strstr(line, " connected with ")))
		import_error(importing, "this is a log of iperf 2 (write farwire import iperf2)");
	if (state->second && server && state->client)
		import_error(importing, "the log has both directions (measure each one by itself, "
					"the other one with -R)");
	if (mss && sscanf(mss, "icwnd/mss/irtt=%*d/%lf/%lf", &mss_B, &rtt_us) == 2) {
		state->mtu_B = mtu_of(mss_B);
		state->rtt_s = rtt_us / MICROS;
	}
	state->client = state->client || client;
	if (strncmp(line, "Connecting to host", 18) == 0)
		state->back = false;
	if (strncmp(line, "Reverse mode", 12) == 0 || strstr(line, "(reverse)"))
		state->back = true;
	return line[0] != '[' || strstr(line, " connected ");
}

/* Returns whether a line is the result of the whole test, and takes it. */
static bool take_whole(struct importing *importing, struct iperf_way *way, bool sum, size_t at,
		       double rate_Bps, bool second)
{
	const char *const *words = importing->words, *last = words[importing->word_count - 1];
	double *total = sum ? &way->total_sum_Bps : &way->total_alone_Bps, begin = 0, end = 0;
	bool sender = strcmp(last, "sender") == 0, whole = sender || strcmp(last, "receiver") == 0;
	if (second && (sscanf(words[1], "%lf-%lf", &begin, &end) == 2 ||
		       sscanf(words[2], "%lf", &end) == 1)) {
		way->first_end_s = way->first_end_s > 0 ? way->first_end_s : end;
		whole = begin <= 0 && end > 1.5 * way->first_end_s;
	}
	if (whole)
		*total = rate_Bps; /* the receiver's line follows that of the sender */
	if (sender && at + 3 == importing->word_count &&
	    number_parse(words[at + 1], &way->link.retransmits_count))
		way->link.counts = true;
	if (sender && number_parse(words[at - 3], &way->link.moved_B))
		way->link.moved_B *= unit_bytes(words[at - 2]);
	return whole;
}

static void take_line(struct importing *importing, const char *line, struct iperf3_state *state)
{
	double rate;
	size_t count = import_words(importing, line + 1), at = 0;
	const char *const *words = importing->words;
	while (at < count && unit_bits(words[at]) <= 0)
		at++;
	const char *role = strstr(line, "[TX");
	role = role ? role : strstr(line, "[RX");
	if (role && !importing->link)
		import_error(importing,
			     "the log has both directions together (measure without --bidir)");
	else if (strstr(line, "Datagrams") || strchr(line, '%'))
		import_error(importing,
			     "this is a UDP test, which sends at a given rate (measure TCP)");
	if (diag_count(importing->diag) || at == count || at < 4 ||
	    (strchr(line, '(') && !state->second))
		return; /* for example "(omitted)" */
	state->both = state->both || role;
	bool back = role ? strncmp(role, "[TX-C", 5) != 0 && strncmp(role, "[RX-S", 5) != 0
			 : state->back;
	struct iperf_way *way = &state->ways[back];
	bool sum = strncmp(words[0], "SUM", 3) == 0;
	if (!import_number(importing, words[at - 1], &rate))
		return;
	rate = rate * unit_bits(words[at]) / BITS;
	if (take_whole(importing, way, sum, at, rate, state->second))
		return;
	if (!sum && !way->first[0])
		snprintf(way->first, sizeof way->first, "%s", words[0]);
	if (!sum && strcmp(words[0], way->first) != 0)
		way->streams = way->streams < 2 ? 2 : way->streams;
	add(importing, way, sum, rate);
}

/* ---- JSON ---- */

static void take_sum(struct importing *importing, const struct json *sum, struct iperf_way *way)
{
	const struct json *bits = json_member(sum, "bits_per_second");
	double rate = json_is(bits, JP_NUMBER) ? bits->number : 0;
	if (!json_is(json_member(sum, "omitted"), JP_TRUE) && rate > 0)
		add(importing, way, true, rate / BITS);
	else
		import_skip(importing, "an omitted interval, or one in which nothing arrived");
}

static void take_interval(struct importing *importing, const struct json *interval,
			  struct iperf3_state *state)
{
	const struct json *other = json_member(interval, "sum_bidir_reverse");
	import_json_at(importing, interval);
	if (other && !importing->link)
		import_error(importing,
			     "the log has both directions together (measure without --bidir)");
	take_sum(importing, json_member(interval, "sum"), &state->ways[state->back]);
	state->both = state->both || other;
	if (other)
		take_sum(importing, other, &state->ways[1]);
}

static void take_start(struct importing *importing, const struct json *start,
		       struct iperf3_state *state)
{
	const struct json *test = json_member(start, "test_start");
	const struct json *protocol = json_member(test, "protocol");
	double mss_B = 0, reverse = 0, streams = state->ways[0].streams;
	import_json_number(importing, test, "num_streams", &streams);
	state->ways[0].streams = state->ways[1].streams = streams;
	import_json_number(importing, test, "blksize", &state->block_B);
	import_json_number(importing, start, "tcp_mss_default", &mss_B);
	import_json_number(importing, test, "reverse", &reverse);
	state->back = state->back || reverse > 0;
	state->mtu_B = mss_B > 0 ? mtu_of(mss_B) : state->mtu_B;
	if (json_text_of(protocol) && strcmp(protocol->text, "TCP") != 0) {
		import_json_at(importing, protocol);
		import_error(importing,
			     "this is a %s test, which sends at a given rate (measure TCP)",
			     protocol->text);
	}
}

/* Reads what the receiver, or else the sender, counted over the whole test. */
static void take_total(const struct json *received, const struct json *sent, struct iperf_way *way)
{
	const struct json *sums[] = {received, sent};
	for (size_t i = 0; i < 2 && way->link.total_Bps <= 0; i++) {
		double rate = 0;
		json_number_of(json_member(sums[i], "bits_per_second"), &rate);
		way->link.total_Bps = rate / BITS;
	}
	json_number_of(json_member(sent, "bytes"), &way->link.moved_B);
	way->link.counts =
		json_number_of(json_member(sent, "retransmits"), &way->link.retransmits_count);
}

/* The sender of a stream knows its round trip. A receiver prints 0, or a number of its own few
 * segments. */
static void take_end(const struct json *end, struct iperf3_state *state)
{
	const struct json *streams = json_member(end, "streams");
	take_total(json_member(end, "sum_received"), json_member(end, "sum_sent"),
		   &state->ways[state->back]);
	if (json_member(end, "sum_received_bidir_reverse"))
		take_total(json_member(end, "sum_received_bidir_reverse"),
			   json_member(end, "sum_sent_bidir_reverse"), &state->ways[1]);
	for (size_t i = 0; i < json_size(streams); i++) {
		const struct json *sender = json_member(json_at(streams, i), "sender");
		double rtt_us = 0;
		json_number_of(json_member(sender, "min_rtt"), &rtt_us);
		if (rtt_us > 0 && !json_is(json_member(sender, "sender"), JP_FALSE) &&
		    (state->rtt_s <= 0 || rtt_us / MICROS < state->rtt_s))
			state->rtt_s = rtt_us / MICROS;
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

static void write_way(struct importing *importing, struct iperf3_state *state, bool back)
{
	struct iperf_way *way = &state->ways[back];
	if (way->link.total_Bps <= 0)
		way->link.total_Bps = way->sum.count ? way->total_sum_Bps : way->total_alone_Bps;
	if (way->sum.count == 0 && way->alone.count == 0 && way->link.total_Bps > 0)
		add(importing, way, true, way->link.total_Bps); /* no intervals were kept */
	size_t count = way->sum.count ? way->sum.count : way->alone.count;
	const double *rates = way->sum.count ? way->sum.items : way->alone.items;
	if (count == 0)
		return;
	if (!way->sum.count && way->streams > 1) {
		import_error(importing,
			     "the log has several streams, but no lines with [SUM] "
			     "(import the whole output of %s)",
			     state->second ? "iperf" : "iperf3");
		return;
	}
	if (way->sum.count && way->alone.count) { /* each interval has one line per stream */
		size_t lines = way->alone.count / way->sum.count;
		way->streams = (double)lines;
	}
	for (size_t i = 0; way->sum.count && i < way->alone.count; i++)
		import_skip(importing, "one stream, because lines with [SUM] have all of them");
	struct import_point *point = import_point(importing, "tcp", "what=stream nagle=on");
	point->unit = "B/s";
	point->link = way->link;
	point->link.back = back;
	point->link.mtu_B = state->mtu_B;
	point->link.rtt_s = state->rtt_s;
	point->link.loaded = !state->second; /* iperf 2 prints that of the connection's opening */
	point->link.both = state->both;
	import_at(importing, point, "size_B", state->block_B);
	import_at(importing, point, "streams", way->streams);
	for (size_t i = 0; i < count; i++)
		import_sample(importing, point, rates[i]);
}

static void read_both(struct importing *importing, bool second)
{
	struct iperf3_state state = {.second = second, .block_B = BLOCK_B};
	state.ways[0].streams = state.ways[1].streams = 1;
	const char *line;
	if (import_is_json(importing))
		read_json(importing, &state);
	else
		while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines)))
			if (!take_head(importing, line, &state))
				take_line(importing, line, &state);
	size_t before = importing->points.count;
	for (int back = 0; back < 2 && diag_count(importing->diag) == 0; back++)
		write_way(importing, &state, back);
	if (importing->points.count == before && state.failure && diag_count(importing->diag) == 0)
		import_error(importing, "iperf3 failed: %s", state.failure);
}

static void read_log(struct importing *importing)
{
	read_both(importing, false);
}

static void read_second(struct importing *importing)
{
	read_both(importing, true);
}

const struct importer import_iperf3 = {
	.name = "iperf3",
	.help = "output of iperf3, text or JSON",
	.marks = {"\"test_start\"", "Connecting to host", "bits/sec", "Bytes/sec"},
	.expected = "expected iperf3's intervals, '[  5]   0.00-1.00   sec ...', or its JSON",
	.log = read_log,
};

const struct importer import_iperf2 = {
	.name = "iperf2",
	.help = "output of iperf 2, text",
	.marks = {"Client connecting to", "Server listening on TCP", " connected with "},
	.expected = "expected iperf's intervals, '[  1] 0.0000-1.0000 sec ...'",
	.log = read_second,
};
