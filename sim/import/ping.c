/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads ping of Linux, macOS, BusyBox and Windows: round trips that both kernels answer, with a
 * sample for each reply.
 *
 *   64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.049 ms
 *   60 packets transmitted, 60 received, 0% packet loss, time 1460ms
 *   rtt min/avg/max/mdev = 0.043/0.051/0.143/0.015 ms
 *
 * Windows prints "time=1ms" or "time<1ms", and "Packets: Sent = 4, Received = 4". Without replies
 * (-q) the summary's minimum and mean are two samples. */
#include "sim/import/importer.h"

static const double MILLIS = 1e3 /* milliseconds per second */;

static void take_reply(struct importing *importing, struct import_point *point, const char *time)
{
	double ms;
	if (sscanf(time, "time=%lf", &ms) == 1 && ms > 0)
		import_sample(importing, point, ms / MILLIS);
	else
		import_skip(importing, "a round trip below the step of ping's clock");
}

/* Takes the summary's minimum and mean, if no reply was printed. */
static void take_summary(struct importing *importing, struct import_point *point, const char *line)
{
	double least, mean;
	const char *numbers = strchr(line, '=');
	bool windows = strstr(line, "Minimum = ");
	bool read = numbers && (windows ? sscanf(numbers, "= %lfms, Maximum = %*fms, Average = %lf",
						 &least, &mean) == 2
					: sscanf(numbers, "= %lf/%lf", &least, &mean) == 2);
	if (!read || least <= 0 || point->samples.count > 0)
		return;
	import_sample(importing, point, least / MILLIS);
	import_sample(importing, point, mean / MILLIS);
}

static void take_counts(struct import_point *point, const char *line)
{
	double sent = 0, received = 0;
	const char *windows = strstr(line, "Sent = ");
	if ((windows && sscanf(windows, "Sent = %lf, Received = %lf", &sent, &received) == 2) ||
	    sscanf(line, "%lf packets transmitted, %lf", &sent, &received) == 2) {
		point->link.sent_count += sent;
		point->link.lost_count += sent > received ? sent - received : 0;
	}
}

static void read_log(struct importing *importing)
{
	struct import_point *point = import_point(importing, "tcp", "what=ping");
	const char *line, *time;
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		line += strspn(line, " \t");
		if ((time = strstr(line, "time=")) || (time = strstr(line, "time<")))
			take_reply(importing, point, time);
		else if (strstr(line, "min/avg/max") || strstr(line, "Minimum = "))
			take_summary(importing, point, line);
		else
			take_counts(point, line);
	}
	if (point->samples.count == 0)
		importing->points.count--; /* nothing was answered */
}

const struct importer import_ping = {
	.name = "ping",
	.help = "output of ping (Linux, macOS, BusyBox, Windows)",
	.marks = {"bytes from", "min/avg/max", "Pinging ", "PING "},
	.expected = "expected replies of ping, '64 bytes from ...: time=0.049 ms'; "
		    "no reply was measured",
	.log = read_log,
};
