/* SPDX-License-Identifier: Apache-2.0 */
/* A recording: a file in JSON Lines format, which only grows and is never rewritten.
 *
 * Line 1 describes the machine and the settings. Then follows a line for each point and pass with
 * all its samples. Each test that could not run has a line with the reason. A last line ends the
 * run or one sitting. docs/formats.md lists the fields. Each line is written by one write() to a
 * file opened for appending. So an interruption leaves complete lines and at most one incomplete
 * line, which record_continue() removes.
 *
 * Functions with an int result return 0, or -1 with the reason in record->why.
 */
#pragma once

#include "calib/sample/plan.h"
#include "sim/json/write.h"

/* Limits and result of a measurement that is repeated during the run. */
#define RECORD_DRIFT_MOST  0.03 /* a larger drift makes all measurements unreliable */
#define RECORD_DRIFTS_MOST 8
struct record_drift {
	const char *anchor;
	double ratio; /* change of its median over the whole run, see stats_change() */
};

struct record {
	int file;
	bool to_stdout;
	size_t lines; /* lines written in all sittings */
	FILE *memory; /* the line that json writes */
	char *line;
	size_t line_B;
	struct json_writer json;
	char why[256];
	/* The next fields are used only for a continued recording. */
	char *old;         /* bytes of the earlier recording, divided into lines */
	const char **done; /* the lines of the points and passes that are done, sorted */
	size_t done_count;
	/* the recording is complete and cannot be continued */
	bool ended;
	struct record_drift drift[RECORD_DRIFTS_MOST]; /* drift in earlier sittings */
	size_t drift_count;
};

struct record_start {
	const char *tool, *mode;
	uint64_t seed; /* below 2^53 */
	size_t passes;
	/* writes further fields of line 1; or NULL */
	void (*more)(struct json_writer *json, void *context);
	void *context;
};

/* Creates a file, which must not exist; NULL stands for standard output. */
int record_create(struct record *record, const char *path, const struct record_start *start);

/* Continues a file. The settings are read from its line 1; words that are too long are cut. */
struct record_found {
	char tool[32], mode[16], device[128];
	uint64_t seed;
	size_t passes;
};
int record_continue(struct record *record, const char *path, struct record_found *found);
bool record_has(struct record *record, const struct plan_point *point, size_t pass);

struct record_samples {
	const struct plan_point *point;
	size_t pass;
	double t_s; /* time since the start of this sitting */
	const char *unit, *stop;
	const double *values;
	size_t count;
};
int record_samples(struct record *record, const struct record_samples *samples);
int record_waived(struct record *record, const char *test, const char *why);

/* Writes the last line of a sitting. whole = true completes the recording, false leaves it
 * unfinished. */
struct record_end {
	bool whole;
	double elapsed_s;
	const struct record_drift *drift;
	size_t count;
};
int record_end(struct record *record, const struct record_end *end);
/* Frees everything. Returns -1 if the last bytes could not be written. */
int record_close(struct record *record);
