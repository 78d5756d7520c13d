/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads nvbandwidth: for each test a heading, a matrix and a sum,
 *
 *   Running host_to_device_memcpy_ce.
 *   memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
 *              0         1
 *    0     55.63     55.57
 *
 *   SUM host_to_device_memcpy_ce 111.20
 *
 * or JSON (-j, from 0.5 on),
 *
 *   {"nvbandwidth": {"testcases": [{"name": "host_to_device_memcpy_ce",
 *    "bandwidth_matrix": [["55.63", "55.57"]], ...}], ...}}
 *
 * Each cell is a sample; GB are 1e9 bytes. The size is the tool's default, 512 MiB. --bufferSize
 * changes it, but the output does not contain it. */
#include "sim/import/importer.h"

static const double SIZE_B = 512.0 * 1024 * 1024, GIGA = 1e9;
enum { NAME_MAX_B = 80 };

static const struct {
	const char *test, *words;
} tests[] = {
	{"host_to_device_memcpy_ce", "direction=h2d memory=pinned call=async measure=rate"},
	{"device_to_host_memcpy_ce", "direction=d2h memory=pinned call=async measure=rate"},
	{"device_to_device_memcpy_read_ce", "direction=peer memory=direct call=async measure=rate"},
};
enum { TESTS = sizeof tests / sizeof tests[0] };

static size_t test_of(const char *name, size_t length)
{
	size_t test = 0;
	while (test < TESTS &&
	       (strlen(tests[test].test) != length || strncmp(name, tests[test].test, length) != 0))
		test++;
	return test;
}

static void skip_test(struct importing *importing, const char *name, size_t length)
{
	import_skip(importing,
		    arena_printf(importing->arena, "no test of a copy that can be fitted: %.*s",
				 (int)length, name));
}

/* Adds a cell of the matrix; the first cell of a test begins a point. */
static void take_cell(struct importing *importing, const char *word, size_t test, bool *fresh)
{
	double rate;
	if (!import_number(importing, word, &rate)) {
		import_skip(importing, "no bandwidth (N/A)");
		return;
	}
	if (*fresh) {
		struct import_point *point = import_point(importing, "copy", tests[test].words);
		point->unit = "B/s";
		import_at(importing, point, "size_B", SIZE_B);
	}
	*fresh = false;
	import_sample(importing, &importing->points.items[importing->points.count - 1],
		      rate * GIGA);
}

/* Takes "NVIDIA H100 80GB HBM3 (00000000:01:00)" without its address. */
static void take_gpu(struct importing *importing, const char *name)
{
	name += strspn(name, " ");
	size_t length = strcspn(name, "(");
	while (length > 0 && name[length - 1] == ' ')
		length--;
	if (!importing->gpu && length > 0)
		importing->gpu = arena_printf(importing->arena, "%.*s", (int)length, name);
}

/* ---- JSON ---- */

static void take_matrix(struct importing *importing, const struct json *value, size_t test,
			bool *fresh)
{
	if (value && value->text)
		take_cell(importing, value->text, test, fresh);
	for (size_t i = 0; i < json_size(value) && diag_count(importing->diag) == 0; i++)
		take_matrix(importing, json_at(value, i), test, fresh);
}

static void take_testcase(struct importing *importing, const struct json *testcase)
{
	const struct json *named = json_member(testcase, "name");
	const char *name = json_text_of(named);
	size_t test = name ? test_of(name, strlen(name)) : TESTS;
	bool fresh = true;
	import_json_at(importing, named ? named : testcase);
	if (test == TESTS)
		skip_test(importing, name ? name : "without a name", NAME_MAX_B);
	else
		take_matrix(importing, json_member(testcase, "bandwidth_matrix"), test, &fresh);
}

static void read_json(struct importing *importing)
{
	const struct json *root = import_json(importing), *inner = json_member(root, "nvbandwidth");
	const struct json *all = inner ? inner : root, *testcases = json_member(all, "testcases"),
			  *devices = json_member(all, "GPU Device list");
	/* "GPU Device list": ["0: NVIDIA H100 80GB HBM3 (00000000:01:00)"] */
	for (size_t i = 0; i < json_size(devices); i++) {
		const char *text = json_text_of(json_at(devices, i));
		const char *colon = text ? strchr(text, ':') : NULL;
		if (colon)
			take_gpu(importing, colon + 1);
	}
	for (size_t i = 0; i < json_size(testcases) && diag_count(importing->diag) == 0; i++)
		take_testcase(importing, json_at(testcases, i));
}

/* ---- text ---- */

static void take_row(struct importing *importing, const char *line, size_t test, bool *fresh)
{
	size_t count = import_words(importing, line);
	for (size_t i = 1; i < count; i++)
		take_cell(importing, importing->words[i], test, fresh);
}

static void read_text(struct importing *importing)
{
	const char *line;
	size_t test = TESTS;
	int header_lines = 0; /* remaining header lines of the matrix */
	bool fresh = false;
	while (diag_count(importing->diag) == 0) {
		int c = getc(importing->lines.in);
		ungetc(c, importing->lines.in);
		if (c == '{') { /* JSON after warnings */
			read_json(importing);
			return;
		}
		if (!(line = lines_next(&importing->lines)))
			return;
		line += strspn(line, " \t");
		/* "Device 0: ...", or with several hosts "Process 0 (host): device 0: ..." */
		const char *device = strncmp(line, "Device ", 7) == 0    ? line
				     : strncmp(line, "Process ", 8) == 0 ? strstr(line, ": device ")
									 : NULL;
		const char *colon = device ? strchr(device + 1, ':') : NULL;
		if (colon) {
			take_gpu(importing, colon + 1);
		} else if (strncmp(line, "Running ", 8) == 0) {
			size_t length = strcspn(line + 8, " ");
			length -= length > 0 && line[7 + length] == '.';
			test = test_of(line + 8, length);
			if (test == TESTS)
				skip_test(importing, line + 8, length);
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
}

static void read_log(struct importing *importing)
{
	if (import_is_json(importing))
		read_json(importing);
	else
		read_text(importing);
	if (!importing->gpu)
		importing->gpu = "unknown GPU";
}

const struct importer import_nvbandwidth = {
	.name = "nvbandwidth",
	.help = "output of nvbandwidth, text or JSON",
	.marks = {"nvbandwidth Version", "\"nvbandwidth\"", "_memcpy_"},
	.expected = "expected its text with 'Running host_to_device_memcpy_ce.' and a matrix, or "
		    "its JSON",
	.log = read_log,
};
