/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What verbs say and draw of a calibration. */
#ifndef FARWIRE_VERB_CALIBRATION_H
#define FARWIRE_VERB_CALIBRATION_H

#include "calib/fit/calibration.h"
#include "sim/verb/verb.h"

/* Whether a word of `fit` is a recording, not the name of a fit. */
bool is_recording(const char *word);
/* `farwire fit FILE.jsonl...`: one profile of them all, or in a folder one of each. */
int fit_recordings(const struct command *command);

/* Its lines and rooflines, one drawing each; returns how many. */
size_t calibration_drawings(struct arena *arena, const struct calibration *calibration,
			    const struct drawing *const **drawings);
/* Parameters with their intervals; gates; what was left out. */
/* "pinned copies to the GPU: 25 GB/s from 4 MiB up": what a person asks first.
 * Sentences in arena; returns how many. */
size_t calibration_sentences(struct arena *arena, const struct calibration *calibration,
			     const char *const **sentences);
/* Reads and fits one recording; NULL: *exit_code is set, all is said. */
const struct calibration *calibration_of(const struct command *command, const char *path,
					 int *exit_code);
/* EXIT_BOUND after a gate that failed, having said which. */
int calibration_gates(const struct calibration *calibration);
/* Writes the profile of them all to `path`. */
int calibration_save(const struct command *command, const struct calibration *const *calibrations,
		     size_t count, const char *path);

/* Predicts the forwarded programs of the recording and sets them beside what was
 * measured, in the report: a figure and a table. */
struct report;
struct streams_error {
	size_t count; /* 0: there are none */
	double median_ratio, most_ratio;
};
struct streams_error calibration_streams(const struct command *command,
					 const struct calibration *calibration,
					 struct report *report);

#endif
