/* SPDX-License-Identifier: Apache-2.0 */
/* A recording: JSON Lines, appended to a line at a time and never rewritten.
 *
 * Line 1 tells the machine and the settings, then comes a line for each point
 * and pass with all its samples, a line for each test that could not run and
 * why, and a line that says the run, or a sitting of it, came to its end;
 * docs/formats.md has the fields. A line is written by one write() to a file opened for appending,
 * so whatever stops the run leaves whole lines and at most one torn one, which record_continue()
 * cuts off.
 *
 * Functions that give an int: 0, or -1 with the reason in record->why.
 */
#ifndef FARWIRE_CALIB_RECORD_H
#define FARWIRE_CALIB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calib/sample/plan.h"
#include "sim/json/write.h"

/* How much the median of something that is measured again and again changed. */
#define RECORD_DRIFT_MOST  0.03 /* more: nothing that was measured can be relied on */
#define RECORD_DRIFTS_MOST 8
struct record_drift {
	const char *anchor;
	double ratio; /* of its median, over the whole run */
};

struct record {
	int file;
	bool to_stdout;
	size_t lines; /* written, over all sittings */
	FILE *memory; /* the line that json writes */
	char *line;
	size_t line_B;
	struct json_writer json;
	char why[256];
	/* Of a recording that goes on: */
	char *old;         /* its bytes, lines cut apart */
	const char **done; /* where each point and pass stands, sorted */
	size_t done_count;
	bool ended;                                    /* there is nothing to go on with */
	struct record_drift drift[RECORD_DRIFTS_MOST]; /* of the sittings before */
	size_t drift_count;
};

struct record_start {
	const char *tool, *mode;
	uint64_t seed; /* below 2^53 */
	size_t passes;
	void (*more)(struct json_writer *json,
		     void *context); /* further fields of line 1, or NULL */
	void *context;
};

/* A new file, which must not exist yet; NULL: standard output. */
int record_create(struct record *record, const char *path, const struct record_start *start);

/* Goes on with a file. The settings of its line 1 are read, not written. Words
 * longer than theirs are cut. */
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
	double t_s; /* since the start of this sitting */
	const char *unit, *stop;
	const double *values;
	size_t count;
};
int record_samples(struct record *record, const struct record_samples *samples);
int record_waived(struct record *record, const char *test, const char *why);

/* The last line of a sitting: true ends the recording, false leaves it unfinished. */
struct record_end {
	bool whole;
	double elapsed_s;
	const struct record_drift *drift;
	size_t count;
};
int record_end(struct record *record, const struct record_end *end);
/* Frees everything; -1 if the file's last bytes could not be written. */
int record_close(struct record *record);

#endif
