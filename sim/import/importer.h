/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads files of other tools.
 *
 * An importer reads a file of one tool and can then write its content in a format of farwire. Most
 * importers read logs of benchmarks as recordings; they have `log`. Importers of traces have
 * `calls`. Importers of configurations read several files together; they have `files`.
 *
 * An existing measurement is as useful as one of farwire-probe. A log of nccl-tests gives points of
 * the test "collective", one of nvbandwidth of "copy", and one of perftest of "rdma". Those of
 * iperf, qperf, ping and sockperf give points of "tcp", one of fio of "storage", and one of mbw of
 * "memcpy" (docs/formats.md). A reader recognises the lines of its tool and adds points;
 * import_read() has them written in the format of a probe. It is an error if a log has no
 * recognised row, a row of another tool, or an incomplete row, because partly read numbers would be
 * worse than none. A repeated point counts as another pass, so that logs of several runs can be
 * joined into one file.
 */
#pragma once

#include "sim/base/lines.h"
#include "sim/base/registry.h"
#include "sim/json/document.h"
#include "sim/traces/readers.h"

enum { IMPORT_NUMBERS = 8, IMPORT_WORDS_MAX = 512, IMPORT_MARKS = 4 };

/* Statements of a log about its link, for `import log --link`, in addition to the samples. A number
 * is 0 if the log does not have it. */
struct import_link {
	bool back;        /* the bytes flow from the server to the client */
	bool loaded;      /* round trips were measured while other messages were queued */
	bool both;        /* both directions were measured at once */
	bool roce;        /* RDMA over Ethernet */
	bool counts;      /* retransmits_count is stated */
	double total_Bps; /* goodput over the whole test */
	double moved_B, retransmits_count;
	double rtt_s; /* TCP's round trip */
	double mtu_B;
	double middle_s;               /* median, if the log has only a summary */
	double sent_count, lost_count; /* packets of ping */
};

struct import_point {
	const char *test, *words; /* for example "collective=all_reduce library=nccl" */
	struct {
		const char *key;
		double value;
	} x[IMPORT_NUMBERS];
	const char *unit; /* "s" or "B/s" */
	size_t pass;      /* number of earlier occurrences, set by import_read() */
	int line;
	bool held_out; /* judges the fit */
	const char *path;
	struct import_link link;
	VEC(double) samples;
};

struct import_skip { /* results that were not used, for one reason */
	const char *why, *path;
	int line; /* of the first */
	size_t count;
};

struct importing {
	struct arena *arena;
	struct diag *diag;
	struct lines lines;
	const char *words[IMPORT_WORDS_MAX]; /* see import_words() */
	size_t word_count;
	struct jp_reader *json; /* NULL before the first value */
	struct arena *value;    /* memory of the present JSON value */
	int lines_before;       /* lines before the JSON */
	const char *tool, *gpu; /* gpu is NULL if the log has none */
	const char *only_gpu;   /* --gpu; NULL: not given */
	const char *link;       /* --link; NULL: not given */
	size_t pass_count;
	VEC(struct import_point) points;
	VEC(struct import_skip) skips;
	size_t used_count, skipped_count; /* results */
};

struct imported {
	void (*write)(FILE *out, const void *ctx);
	const void *ctx;
	const char *summary; /* summary of the content, for the user */
	/* Set by the caller before the first file: --gpu and --link, or NULL. */
	const char *only_gpu, *link;
	struct importing *log; /* of earlier files, which the next one joins; at first NULL */
	/* Set by the caller: is told how much of a large file has been read; may be NULL. */
	void (*tell)(void *ctx, size_t before, size_t done, size_t count);
	void *tell_ctx;
};

struct importer {
	const char *name, *help;
	/* For logs: a line with one of these texts tells `import log` which tool wrote the file. */
	const char *marks[IMPORT_MARKS];
	/* For logs: `expected` describes the content for errors; `log` adds points, or errors to
	 * diag. */
	const char *expected;
	bool joins; /* several files become one recording, and --gpu chooses rows */
	void (*log)(struct importing *importing);
	/* For traces, which become call files. `steps` says how a user gets marks of
	 * steps in them, or is NULL. */
	trace_reader *calls;
	const char *steps;
	/* For configurations, which can be in several files; otherwise NULL. */
	bool (*files)(struct arena *arena, struct diag *diag, const char *const *paths,
		      size_t count, struct imported *imported);
};
REGISTRY_OF(struct importer, importer);

#define IMPORTER(name) extern const struct importer name;
#include "sim/import/import.def"
#undef IMPORTER

/* Returns false after errors, which are in diag. Messages call the file path. The ctx of an
 * imported log is a struct importing. */
bool import_read(struct arena *arena, struct diag *diag, const struct importer *importer, FILE *in,
		 const char *path, struct imported *imported);

/* The same for importers with `calls`. */
bool import_calls(struct arena *arena, struct diag *diag, const struct importer *importer, FILE *in,
		  const char *path, struct imported *imported);

/* Writes a profile with the parameters of the link that importing->link names, as the points show
 * it. Returns false after errors, which are in diag. */
bool import_link_done(struct importing *importing, struct imported *imported);

/* ---- for the readers ---- */

/* Adds an error at the present line. */
#define import_error(importing, ...)                                                               \
	diag_error((importing)->diag, (importing)->lines.origin, __VA_ARGS__)
/* Divides a line at blanks into importing->words, allocated in arena. Returns their number. */
size_t import_words(struct importing *importing, const char *line);
/* Returns whether there are as many words as the heading of the table has; otherwise an error. */
bool import_fits(struct importing *importing, size_t columns, const char *tool);
/* Reads a number above zero. Returns false for "N/A" and zero; other texts are errors. */
bool import_number(struct importing *importing, const char *word, double *value);
struct import_point *import_point(struct importing *importing, const char *test, const char *words);
/* Counts a result that is not used. `why` completes "3 skipped: ". */
void import_skip(struct importing *importing, const char *why);
/* Skips the prefixes of mpirun --tag-output and srun --label, and blanks. */
const char *import_untagged(const char *line);
/* Adds a number above zero and below 1e18, for example a size, to a point; other numbers are
 * errors. */
void import_at(struct importing *importing, struct import_point *point, const char *key,
	       double value);
/* Adds a time, or a bandwidth at which the point's size_B (set before) was moved. A sample from an
 * incomplete row is an error. */
void import_sample(struct importing *importing, struct import_point *point, double value);
/* Returns true if the log is JSON, judging by its first visible character after a byte order mark.
 */
bool import_is_json(struct importing *importing);
/* Returns the next JSON value of the log and sets the line to where it begins. The value is valid
 * until the next call. Returns NULL at the end and after an error, which is reported. */
const struct json *import_json(struct importing *importing);
/* Sets the line to where a value begins, for errors and skips. */
void import_json_at(struct importing *importing, const struct json *value);
/* Returns a value that must be an object. Returns NULL if it is missing or null, and after an error
 * for other values. */
const struct json *import_json_object(struct importing *importing, const struct json *value);
/* Reads the number of a key, if the object has the key. Other values than numbers are errors. */
bool import_json_number(struct importing *importing, const struct json *object, const char *key,
			double *number);
