/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a recording: the measurements of a probe.
 *
 * A probe measures points. A point has a test ("copy"), words for its variant ("direction=h2d"),
 * and numbers for its conditions ("size_B"). The probe measures all points in passes, each in a new
 * order, and keeps every sample. docs/formats.md lists the fields of the file (JSON Lines, version
 * 1).
 *
 * This module gives fits the median of the samples of each point and pass, in seconds or as a
 * ratio. A median is robust against the few samples during which the machine did other work.
 * Samples beyond 10 x 1.4826 median absolute deviations are counted as outliers, but not removed.
 *
 * A file is accepted or refused as a whole. Content that no probe writes is an error with its line:
 * a negative time, a sample that is not a number, a point measured twice in a pass, a line over 1
 * MiB, another version. An unfinished run is not an error: the last line may be missing,
 * incomplete, or say that the time limit was reached. Then its measurements count, and `ended` is
 * false.
 */
#pragma once

#include "calib/sample/record.h"
#include "sim/base/base.h"

enum {
	HASH_TEXT_B = 65, /* 64 digits and a zero byte */
	RECORDING_WORDS = 8,
	RECORDING_NUMBERS = 8,
	RECORDING_PASSES_MAX = 1000,
	RECORDING_SAMPLES_MAX = 65536, /* in one line */
	RECORDING_LINE_MAX_B = 1 << 20,
	RECORDING_POINTS_MAX = 65536,
};
/* A number outside these bounds is invalid: no computer needs only a femtosecond for anything, no
 * recording lasts 11 days, and no buffer has an exabyte. */
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
	double median;    /* s or a ratio; rates are converted to times of size_B */
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
	double value; /* combined medians of the passes: passes_mean() */
	size_t outlier_count, sample_count;
	int line;    /* line of its first occurrence */
	size_t next; /* next point in the reader's hash bucket, plus 1 */
};

struct recording_waived {
	const char *test, *why;
};

struct recording {
	const char *path, *tool, *date, *mode;
	char hash[HASH_TEXT_B]; /* fingerprint of the file (SHA-256, FIPS 180-4), also in profiles
				 */
	double seed_count;
	size_t pass_count; /* number of passes with samples */
	const char *cpu, *kernel, *hypervisor;
	double cores_count;
	const char *gpu; /* name of the GPU; NULL: recorded without one */
	const char *driver, *cuda;
	const char *storage_path; /* "direct" or "cached"; NULL: unknown */
	/* 0: unknown */
	double memory_B, sm_count, pcie_generation_count, pcie_width_count;
	VEC(struct recording_point) points;
	VEC(struct recording_waived) waived;
	bool ended;
	/* largest certain change of an anchor, see stats_change() and RECORD_DRIFT_MOST */
	double drift_most_ratio;
	size_t sample_count, outlier_count;
};

/* Returns NULL after errors, which are in diag. */
/* recording_read_from closes `in`, a stream with the content of the file or NULL. */
const struct recording *recording_read_from(struct arena *arena, struct diag *diag, FILE *in,
					    const char *path);
const struct recording *recording_read(struct arena *arena, struct diag *diag, const char *path);

/* Finds the points of a test that contain all of `words` ("key=value", separated by blanks), in the
 * order of the file. Returns their number; *found is in arena. */
size_t recording_find(const struct recording *recording, struct arena *arena, const char *test,
		      const char *words, const struct recording_point *const **found);
/* Returns NULL if the point has no such word. */
const char *recording_point_word(const struct recording_point *point, const char *key);
double recording_point_number(const struct recording_point *point, const char *key,
			      double fallback);
