/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording: what a probe measured, read from its file.
 *
 * A probe measures POINTS: a test ("copy"), words that say which variant
 * ("direction=h2d"), numbers that say where ("size_B"). It goes through all of
 * them in PASSES, in a new order each time, and keeps every sample. docs/formats.md
 * has the fields of the file, JSON Lines of version 1.
 *
 * What is read here is what fits see: of each point and pass the median of the
 * samples, in seconds or as a ratio. A median does not care for the few samples
 * in which the machine did something else; those beyond 10 x 1.4826 median
 * absolute deviations are counted, none is dropped.
 *
 * A file is believed or not as a whole. What no probe can have written (a
 * negative time, a sample that is no number, a point measured twice in a pass, a
 * line over 1 MiB, another version) is an error with its line. One thing is no
 * error: a file without its last line, with that torn, or with one that says the
 * time was over, is what an unfinished run leaves; what it measured counts, and
 * `ended` is false.
 */
#ifndef FARWIRE_CALIB_FIT_RECORDING_H
#define FARWIRE_CALIB_FIT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

#include "calib/fit/hash.h"
#include "calib/sample/record.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"

enum {
	RECORDING_WORDS = 8,
	RECORDING_NUMBERS = 8,
	RECORDING_PASSES_MAX = 1000,
	RECORDING_SAMPLES_MAX = 65536, /* of a line */
	RECORDING_LINE_MAX_B = 1 << 20,
	RECORDING_POINTS_MAX = 65536,
};
/* Beyond these a number is broken: nothing of a computer takes a femtosecond, no recording
 * lasts 11 days, no buffer has an exabyte. */
#define RECORDING_TIME_MIN_S 1e-15
#define RECORDING_TIME_MAX_S 1e6
#define RECORDING_NUMBER_MAX 1e18

struct recording_word {
	const char *key, *value;
};
struct recording_number {
	const char *key;
	double value;
};

struct recording_pass {
	size_t pass, sample_count;
	double median;    /* s, or a ratio; rates are turned into times of size_B */
	double low, high; /* 95 % interval of the median by order statistics */
};

struct recording_point {
	const char *test;
	struct recording_word is[RECORDING_WORDS];
	size_t word_count;
	struct recording_number x[RECORDING_NUMBERS];
	size_t number_count;
	bool held_out;
	VEC(struct recording_pass) passes;
	double value; /* what the passes' medians agree on: passes_mean() */
	size_t outlier_count, sample_count;
	int line;    /* where it stands first */
	size_t next; /* in a bucket of the reader, plus 1 */
};

struct recording_waived {
	const char *test, *why;
};

struct recording {
	const char *path, *tool, *date, *mode;
	char hash[HASH_TEXT_B];
	double seed_count;
	size_t pass_count; /* of which there are samples */
	const char *cpu, *kernel, *hypervisor;
	double cores_count;
	const char *gpu; /* its name; NULL: a recording without a GPU */
	const char *driver, *cuda;
	const char *storage_path; /* "direct", "cached"; NULL: not told */
	double memory_B, pcie_generation_count, pcie_width_count; /* 0: not known */
	VEC(struct recording_point) points;
	VEC(struct recording_waived) waived;
	bool ended;
	double drift_most_ratio; /* over a sitting, of any anchor; see RECORD_DRIFT_MOST */
	size_t sample_count, outlier_count;
};

/* NULL after errors, which are in diag. */
const struct recording *recording_read(struct arena *arena, struct diag *diag, const char *path);

/* The points of a test whose words hold every one of `words`, "key=value"
 * between blanks, in the order of the file. Returns how many; *found is in arena. */
size_t recording_find(const struct recording *recording, struct arena *arena, const char *test,
		      const char *words, const struct recording_point *const **found);
/* NULL: it has no such word. */
const char *recording_point_word(const struct recording_point *point, const char *key);
double recording_point_number(const struct recording_point *point, const char *key,
			      double fallback);

#endif
