/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nvbandwidth: for each test a heading, a matrix and a sum,
 *
 *   Running host_to_device_memcpy_ce.
 *   memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
 *              0         1
 *    0     55.63     55.57
 *
 *   SUM host_to_device_memcpy_ce 111.20
 *
 * Each cell is a sample; GB are 1e9 bytes. The size is the tool's preset, 512 MiB
 * (--bufferSize changes it, which the text does not tell). */
#include <string.h>

#include "calib/fit/import.h"
#include "sim/base/arena.h"

static const double SIZE_B = 512.0 * 1024 * 1024, GIGA = 1e9;
enum { WORDS_MAX = 80 };

static const struct {
	const char *test, *words;
} tests[] = {
	{"host_to_device_memcpy_ce", "direction=h2d memory=pinned call=async measure=rate"},
	{"device_to_host_memcpy_ce", "direction=d2h memory=pinned call=async measure=rate"},
	{"device_to_device_memcpy_read_ce", "direction=peer memory=device call=async measure=rate"},
};
enum { TESTS = sizeof tests / sizeof tests[0] };

static void take_row(struct importing *importing, const char *line, size_t test, bool *fresh)
{
	const char *words[WORDS_MAX];
	size_t count = import_words(importing, line, words, WORDS_MAX);
	if (count < 2)
		return;
	if (*fresh) {
		struct import_point *point = import_point(importing, "copy", tests[test].words, 0);
		point->unit = "B/s";
		import_at(point, "size_B", SIZE_B);
	}
	*fresh = false;
	for (size_t i = 1; i < count; i++) {
		double rate;
		struct import_point *point = &importing->points.items[importing->points.count - 1];
		if (import_number(importing, words[i], &rate))
			import_sample(importing, point, rate * GIGA);
	}
}

static void read_log(struct importing *importing)
{
	const char *line;
	size_t test = TESTS;
	int header_lines = 0; /* of the matrix that are still to come */
	bool fresh = false;
	while (diag_count(importing->diag) == 0 && (line = import_line(importing))) {
		line += strspn(line, " \t");
		const char *colon = strchr(line, ':');
		if (strncmp(line, "Device ", 7) == 0 && colon && !importing->gpu) {
			const char *name = colon + 1 + strspn(colon + 1, " ");
			size_t length = strcspn(name, "(");
			while (length > 0 && name[length - 1] == ' ')
				length--;
			importing->gpu = arena_printf(importing->arena, "%.*s", (int)length, name);
		} else if (strncmp(line, "Running ", 8) == 0) {
			size_t length = strcspn(line + 8, " ");
			length -= length > 0 && line[7 + length] == '.';
			for (test = 0; test < TESTS; test++)
				if (strlen(tests[test].test) == length &&
				    strncmp(line + 8, tests[test].test, length) == 0)
					break;
			header_lines = 2;
			fresh = true;
		} else if (!*line || strncmp(line, "SUM ", 4) == 0) {
			test = header_lines > 0 ? test : TESTS;
		} else if (test < TESTS && header_lines > 0) {
			header_lines--;
		} else if (test < TESTS) {
			take_row(importing, line, test, &fresh);
		}
	}
	if (!importing->gpu)
		importing->gpu = "unknown GPU";
}

const struct import_log import_nvbandwidth = {
	"nvbandwidth",
	"expected its text with 'Running host_to_device_memcpy_ce.' and a matrix",
	read_log,
};
