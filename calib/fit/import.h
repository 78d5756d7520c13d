/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What other tools wrote, read as farwire's own formats.
 *
 * An importer reads a file of one tool, and what it read can then be written. Most read logs
 * of benchmarks, as recordings; these have `log` in place of `read`.
 * What people have measured already is worth as much as what farwire-probe would:
 * a log of nccl-tests is points of the test "collective", one of nvbandwidth of
 * "copy", perftest's of "rdma", iperf3's of "tcp" (docs/formats.md). A reader
 * takes the lines of its tool and adds points; import_log_write() writes them as any
 * probe would have. A log without a single row that it knows is an error, and
 * so is a row that is none of this tool's, or one that the log stops in: half-read
 * numbers would be worse than none. A point that is there again is a further pass,
 * so that logs of several runs can be one file.
 */
#ifndef FARWIRE_CALIB_FIT_IMPORT_H
#define FARWIRE_CALIB_FIT_IMPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/base/diag.h"
#include "sim/base/registry.h"
#include "sim/base/vec.h"

enum { IMPORT_NUMBERS = 4, IMPORT_LINE_MAX_B = 65536 };

struct import_point {
	const char *test, *words; /* "collective=all_reduce library=nccl" */
	struct {
		const char *key;
		double value;
	} x[IMPORT_NUMBERS];
	const char *unit; /* "s" or "B/s" */
	size_t pass;      /* how often it was there before: import_read() counts */
	int line;
	VEC(double) samples;
};

struct importing {
	struct arena *arena;
	struct diag *diag;
	FILE *in;
	const char *path;
	int line;
	bool torn; /* the last line has no end */
	char text[IMPORT_LINE_MAX_B];
	const char *tool, *gpu; /* gpu NULL: none named */
	size_t pass_count;
	VEC(struct import_point) points;
};

struct imported {
	void (*write)(FILE *out, const void *ctx);
	const void *ctx;
	const char *said; /* what was read, for a person */
};

struct importer {
	const char *name, *help;
	/* Of logs: what one holds, for errors; adds points, or errors to diag. */
	const char *expected;
	void (*log)(struct importing *importing);
	/* Of other files; NULL: it reads logs. */
	bool (*read)(struct arena *arena, struct diag *diag, FILE *in, const char *path,
		     struct imported *imported);
};
REGISTRY_OF(struct importer, importer);

#define IMPORTER(name) extern const struct importer name;
#include "calib/fit/import.def"
#undef IMPORTER

/* NULL after errors, which are in diag. path is for messages. */
const struct importing *import_log_read(struct arena *arena, struct diag *diag,
					const struct importer *importer, FILE *in,
					const char *path);
void import_log_write(FILE *out, const struct importing *importing);
/* false after errors, which are in diag. */
bool import_read(struct arena *arena, struct diag *diag, const struct importer *importer, FILE *in,
		 const char *path, struct imported *imported);

/* ---- for the readers ---- */

/* The next line without its end; NULL at the end of the file. An error for one that is
 * longer than IMPORT_LINE_MAX_B or holds a zero byte. */
const char *import_line(struct importing *importing);
void import_error(struct importing *importing, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Cuts a line at blanks, in place of a copy in arena; returns how many words, at most
 * `most`. */
size_t import_words(struct importing *importing, const char *line, const char **words, size_t most);
/* A number above zero; "N/A" and zero give false, anything else is an error. */
bool import_number(struct importing *importing, const char *word, double *value);
struct import_point *import_point(struct importing *importing, const char *test, const char *words);
/* A number above zero and below 1e18, such as a size; else an error. */
void import_at(struct importing *importing, struct import_point *point, const char *key,
	       double value);
/* A time, or a rate at which the point's size_B, told before, was moved. Another one, of which
 * the log stops in the middle, is an error. */
void import_sample(struct importing *importing, struct import_point *point, double value);
/* Whether the log is JSON: its first visible character, a byte order mark aside. */
bool import_is_json(struct importing *importing);
/* An error, in the reader's words, and where; once the reader is through. */
struct jp_reader;
void import_json_end(struct importing *importing, const struct jp_reader *in);

#endif
