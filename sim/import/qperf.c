/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the tests tcp_lat and tcp_bw of qperf:
 *
 *   tcp_lat:
 *       latency  =  54.2 us
 *   tcp_bw:
 *       bw  =  11.9 MB/sec
 *
 * A latency is half of a round trip of one byte. Units are decimal. */
#include "sim/import/importer.h"

enum test { TEST_NONE, TEST_LATENCY, TEST_BANDWIDTH };

static double unit_of(const char *unit)
{
	static const struct {
		const char *name;
		double value; /* s, or B/s */
	} units[] = {{"ns", 1e-9},        {"us", 1e-6},       {"ms", 1e-3},    {"sec", 1},
		     {"KB/sec", 1e3},     {"MB/sec", 1e6},    {"GB/sec", 1e9}, {"Kb/sec", 1e3 / 8},
		     {"Mb/sec", 1e6 / 8}, {"Gb/sec", 1e9 / 8}};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(units[i].name, unit) == 0)
			return units[i].value;
	return 0;
}

static void take_result(struct importing *importing, enum test test, double value)
{
	const double message_B = 65536; /* qperf's default for tcp_bw */
	bool latency = test == TEST_LATENCY;
	struct import_point *point = import_point(
		importing, "tcp", latency ? "what=roundtrip nagle=off" : "what=stream nagle=on");
	point->unit = latency ? "s" : "B/s";
	import_at(importing, point, "size_B", latency ? 1 : message_B);
	if (!latency)
		import_at(importing, point, "streams", 1);
	import_sample(importing, point, latency ? 2 * value : value);
}

static void read_log(struct importing *importing)
{
	const char *line;
	enum test test = TEST_NONE;
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		double value;
		size_t count = import_words(importing, line);
		const char *const *words = importing->words;
		if (count == 1 && words[0][strlen(words[0]) - 1] == ':')
			test = strcmp(words[0], "tcp_lat:") == 0  ? TEST_LATENCY
			       : strcmp(words[0], "tcp_bw:") == 0 ? TEST_BANDWIDTH
								  : TEST_NONE;
		else if (test && count == 4 && strcmp(words[1], "=") == 0 &&
			 strcmp(words[0], test == TEST_LATENCY ? "latency" : "bw") == 0 &&
			 import_number(importing, words[2], &value))
			take_result(importing, test, value * unit_of(words[3]));
		else if (count > 1)
			import_skip(importing, "a result of another test than tcp_lat and tcp_bw");
	}
}

const struct importer import_qperf = {
	.name = "qperf",
	.help = "output of qperf, tests tcp_lat and tcp_bw",
	.marks = {"tcp_lat:", "tcp_bw:"},
	.expected = "expected 'tcp_lat:' and 'latency  =  54.2 us', or 'tcp_bw:' and 'bw  =  ...'",
	.log = read_log,
};
