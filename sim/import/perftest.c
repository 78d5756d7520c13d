/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads perftest (ib_write_bw, ib_send_lat and the others): a title
 *
 *                       RDMA_Write BW Test
 *
 * and rows under one of the headings
 *
 *    #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 *    #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec] ...
 *
 * The columns depend on the release and the options (service levels, ports, CPU time). The name of
 * a column contains its unit in brackets. perftest's MB, called MiB in newer releases, are 2^20
 * bytes; with --report_gbits the unit is Gb/sec. A latency is half a round trip, except for reads,
 * where it is a whole one. */
#include "sim/import/importer.h"

static const double MICROS = 1e6 /* microseconds per second */, MEBI = 1048576, GIGABIT_B = 125e6;

/* A heading of a table: its result column and, for rates, the value of 1 in B/s. */
struct perftest_table {
	size_t columns, result; /* columns 0: no heading */
	bool latency;
	double mtu_B; /* of the packets; 0: not stated */
	bool roce;
	bool loose; /* a line of dashes followed: the table ended, or the server's began */
	double scale;
};

static const struct {
	const char *name;
	bool latency;
	double scale;
} results[] = {{"t_typical[usec]", true, 0},
	       {"t_avg[usec]", true, 0}, /* tests of a given duration (-D) have only this one */
	       {"average[MB/sec]", false, MEBI},
	       {"average[MiB/sec]", false, MEBI},
	       {"average[Gb/sec]", false, GIGABIT_B}};
enum { RESULTS = sizeof results / sizeof results[0] };

static void take_heading(struct importing *importing, const char *line,
			 struct perftest_table *table)
{
	size_t count = import_words(importing, line), best = RESULTS;
	const char *const *words = importing->words;
	*table = (struct perftest_table){.mtu_B = table->mtu_B, .roce = table->roce};
	for (size_t i = 0; i < count; i++) {
		if (words[i][0] != '#' && !strchr(words[i], '[') && strcmp(words[i], "tps") != 0)
			continue;
		for (size_t k = 0; k < best; k++)
			if (strcmp(words[i], results[k].name) == 0) {
				best = k;
				table->result = table->columns;
			}
		table->columns++;
	}
	if (best == RESULTS) {
		import_error(importing,
			     "the heading has no t_typical[usec], t_avg[usec] or BW average[...] "
			     "(import the output of a program of perftest, such as ib_send_lat)");
		return;
	}
	table->latency = results[best].latency;
	table->scale = results[best].scale;
}

static const char *verb_of(const char *line)
{
	static const struct {
		const char *title, *verb;
	} verbs[] = {{"RDMA_Write ", "write"},
		     {"RDMA_Read ", "read"},
		     {"Send ", "send"},
		     {"Atomic ", "atomic"}};
	if (!strstr(line, " Test"))
		return NULL;
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (strncmp(line, verbs[i].title, strlen(verbs[i].title)) == 0)
			return verbs[i].verb;
	return NULL;
}

static void take_row(struct importing *importing, const char *line,
		     const struct perftest_table *table, const char *verb)
{
	double size_B, value;
	if (import_words(importing, line) != table->columns && table->loose) {
		import_skip(importing, "a row of another table (client and server in one file)");
		return;
	}
	if (!import_fits(importing, table->columns, "perftest"))
		return;
	if (!import_number(importing, importing->words[0], &size_B) ||
	    !import_number(importing, importing->words[table->result], &value)) {
		import_skip(importing, "no result was measured");
		return;
	}
	struct import_point *point =
		import_point(importing, "rdma",
			     arena_printf(importing->arena, "what=%s verb=%s",
					  table->latency ? "latency" : "rate", verb));
	point->unit = table->latency ? "s" : "B/s";
	point->link = (struct import_link){.mtu_B = table->mtu_B, .roce = table->roce};
	import_at(importing, point, "size_B", size_B);
	import_sample(importing, point, table->latency ? value / MICROS : value * table->scale);
}

static void read_log(struct importing *importing)
{
	const char *line, *verb = "unknown", *found;
	struct perftest_table table = {0};
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		line += strspn(line, " \t");
		if ((found = verb_of(line)))
			verb = found;
		if (found && strstr(line, "Bidirectional"))
			import_error(importing,
				     "the log has the sum of both directions (measure without -b)");
		else if (strncmp(line, "Link type", 9) == 0)
			table.roce = strstr(line, "Ethernet");
		else if (sscanf(line, "Mtu : %lf", &table.mtu_B) == 1)
			continue;
		else if (strncmp(line, "#bytes", 6) == 0)
			take_heading(importing, line, &table);
		else if (table.columns && *line >= '0' && *line <= '9')
			take_row(importing, line, &table, verb);
		else if (strncmp(line, "---", 3) == 0 && importing->points.count > 0)
			table.loose = true;
	}
}

const struct importer import_perftest = {
	.name = "perftest",
	.help = "output of perftest (ib_write_bw, ib_send_lat ...)",
	.marks = {"#bytes"},
	.expected = "expected a table of ib_write_bw, ib_send_lat or a similar program, '#bytes "
		    "#iterations ...'",
	.log = read_log,
};
