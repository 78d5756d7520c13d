/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads sockperf: round trips of TCP messages, with a sample for each. `sockperf ping-pong --tcp
 * --msg-size=S --full-log FILE` writes
 *
 *   test was performed using the following parameters: ... --reply-every=1 --msg-size=64 --time=1
 *   packet, txTime(sec), rxTime(sec), latency(usec)
 *   0, 2.411650440, 2.411664321, 6.941
 *
 * Files of several sizes can be joined. Only the first SAMPLES_MOST messages of a file are used,
 * because more do not make a median more certain. sockperf turns Nagle's algorithm off. */
#include "sim/import/importer.h"

static const char PARAMETERS[] = "test was performed using the following parameters:";
enum { SAMPLES_MOST = 1000 };

/* Begins the point of a file. Every message must be answered, before the next is sent. */
static struct import_point *take_parameters(struct importing *importing, const char *line)
{
	const char *size = strstr(line, "--msg-size=");
	if (!size || !strstr(line, "--burst=1 ") || !strstr(line, "--reply-every=1 "))
		return diag_null(importing->diag, importing->lines.origin,
				 "this is not a test in which each message is answered "
				 "(measure with `sockperf ping-pong --tcp --full-log FILE`)");
	struct import_point *point = import_point(importing, "tcp", "what=roundtrip nagle=off");
	point->unit = "s";
	import_at(importing, point, "size_B", strtod(size + strlen("--msg-size="), NULL));
	return point;
}

/* Reads the summary that the program prints, half round trips in microseconds, for `import log
 * --link`. Only the minimum of a test under load is free of queueing. */
static void take_printed(struct importing *importing, const char *line, bool *loaded, double *half)
{
	double sent, received, least;
	const char *found = strstr(line, "SentMessages=");
	if (found && sscanf(found, "SentMessages=%lf; ReceivedMessages=%lf", &sent, &received) == 2)
		*loaded = sent > 2 * received;
	if ((found = strstr(line, "percentile 50.000 =")))
		sscanf(found, "percentile 50.000 = %lf", half);
	found = strstr(line, "<MIN> observation =");
	if (!found || sscanf(found, "<MIN> observation = %lf", &least) != 1)
		return;
	struct import_point *point = import_point(importing, "tcp", "what=roundtrip nagle=off");
	import_sample(importing, point, 2 * least / 1e6);
	point->link.loaded = *loaded;
	point->link.middle_s = 2 * *half / 1e6;
}

static void read_log(struct importing *importing)
{
	const char *line;
	struct import_point *point = NULL;
	bool loaded = false, full = false;
	double half = 0;
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		double sent_s, received_s;
		full = full || strstr(line, PARAMETERS);
		if (importing->link && !full)
			take_printed(importing, line, &loaded, &half);
		if (strstr(line, PARAMETERS))
			point = take_parameters(importing, line);
		else if (!point || sscanf(line, "%*u, %lf, %lf,", &sent_s, &received_s) != 2)
			continue;
		else if (point->samples.count < SAMPLES_MOST)
			import_sample(importing, point, received_s - sent_s);
		else
			import_skip(importing, "a message after the first 1000 of its file");
	}
}

const struct importer import_sockperf = {
	.name = "sockperf",
	.help = "full log of sockperf ping-pong over TCP",
	.marks = {"test was performed using the following parameters", "sockperf: "},
	.expected = "expected the file of `sockperf ping-pong --tcp --full-log FILE`, with "
		    "'test was performed using ...' and 'packet, txTime(sec), ...'",
	.log = read_log,
};
