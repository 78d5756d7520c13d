/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads mbw: copies in host memory by one thread. `mbw -t0 -n 20 SIZE` prints a line for each copy
 * of SIZE MiB, and a line with the average:
 *
 *   0	Method: MEMCPY	Elapsed: 0.00068	MiB: 8.00000	Copy: 11764.706 MiB/s
 *   AVG	Method: MEMCPY	Elapsed: 0.00066	MiB: 8.00000	Copy: 12108.981 MiB/s
 *
 * Outputs of several sizes can be joined. The time of a copy follows from its rate, which has more
 * digits. Other methods than MEMCPY copy by loops that no runtime uses. */
#include "sim/import/importer.h"

static const double MEBI = 1048576;

static void read_log(struct importing *importing)
{
	const char *line;
	struct import_point *point = NULL;
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		unsigned number;
		char method[16];
		double size, rate; /* in MiB, and MiB/s */
		const char *result = strstr(line, "MiB: ");
		if (sscanf(line, "%u Method: %15s", &number, method) != 2)
			continue;
		if (strcmp(method, "MEMCPY") != 0) {
			import_skip(importing, "a method other than MEMCPY (mbw -t0)");
			continue;
		}
		if (!result || sscanf(result, "MiB: %lf Copy: %lf", &size, &rate) != 2) {
			import_error(importing, "the line has no size and rate (import the "
						"unchanged output of mbw)");
			return;
		}
		if (number == 0 || !point) {
			point = import_point(importing, "memcpy", "");
			import_at(importing, point, "size_B", size * MEBI);
			import_at(importing, point, "threads", 1);
		}
		import_sample(importing, point, size / rate);
	}
}

const struct importer import_mbw = {
	.name = "mbw",
	.help = "output of mbw -t0",
	.marks = {"Method: MEMCPY"},
	.expected = "expected lines of `mbw -t0`, 'Method: MEMCPY  Elapsed: ...'",
	.log = read_log,
};
