/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perftest (ib_write_bw, ib_send_lat and the others): a title
 *
 *                       RDMA_Write BW Test
 *
 * and rows under a heading, either of
 *
 *    #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 *    #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec] ...
 *
 * perftest's MB are 2^20 bytes; with --report_gbits the heading says Gb/sec. A
 * latency is half a round trip, or of a read the whole. */
#include <string.h>

#include "calib/fit/import.h"
#include "sim/base/arena.h"

static const double MICRO = 1e-6, MEBI = 1048576, GIGABIT_B = 125e6;
enum { WORDS_MAX = 16 };

enum table { TABLE_NONE, TABLE_RATE, TABLE_RATE_BITS, TABLE_LATENCY };

static const char *verb_of(const char *line)
{
	static const struct {
		const char *title, *verb;
	} verbs[] = {{"RDMA_Write ", "write"}, {"RDMA_Read ", "read"}, {"Send ", "send"}};
	if (!strstr(line, " Test"))
		return NULL;
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (strstr(line, verbs[i].title))
			return verbs[i].verb;
	return NULL;
}

static void take_row(struct importing *importing, const char *line, enum table table,
		     const char *verb)
{
	const char *words[WORDS_MAX];
	double size_B, value;
	size_t count = import_words(importing, line, words, WORDS_MAX);
	bool latency = table == TABLE_LATENCY;
	if (count < (latency ? 6u : 4u)) {
		import_error(importing, "%zu columns: no row of perftest", count);
		return;
	}
	if (!import_number(importing, words[0], &size_B) ||
	    !import_number(importing, words[latency ? 4 : 3], &value))
		return;
	struct import_point *point =
		import_point(importing, "rdma",
			     arena_printf(importing->arena, "what=%s verb=%s",
					  latency ? "latency" : "rate", verb ? verb : "unknown"),
			     0);
	import_at(point, "size_B", size_B);
	if (!latency)
		point->unit = "B/s";
	import_sample(importing, point,
		      value * (latency               ? MICRO
			       : table == TABLE_RATE ? MEBI
						     : GIGABIT_B));
}

static void read_log(struct importing *importing)
{
	const char *line, *verb = NULL, *found;
	enum table table = TABLE_NONE;
	while (diag_count(importing->diag) == 0 && (line = import_line(importing))) {
		line += strspn(line, " \t");
		if ((found = verb_of(line)))
			verb = found;
		if (strncmp(line, "#bytes", 6) == 0)
			table = strstr(line, "t_typical[usec]")      ? TABLE_LATENCY
				: strstr(line, "BW average[MB/sec]") ? TABLE_RATE
				: strstr(line, "BW average[Gb/sec]") ? TABLE_RATE_BITS
								     : TABLE_NONE;
		else if (table != TABLE_NONE && *line >= '0' && *line <= '9')
			take_row(importing, line, table, verb);
		else if (strncmp(line, "---", 3) == 0 && importing->points.count > 0)
			table = TABLE_NONE;
	}
}

const struct import_log import_perftest = {
	"perftest",
	"expected a table of ib_write_bw, ib_send_lat or their like, '#bytes #iterations ...'",
	read_log,
};
