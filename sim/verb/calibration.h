/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations of recordings, for `fit`, `calibrate` and `report`. */
#ifndef FARWIRE_VERB_CALIBRATION_H
#define FARWIRE_VERB_CALIBRATION_H

#include "sim/report/calibration.h"
#include "sim/verb/verb.h"

/* Whether a word of `fit` is a recording, not the name of a fit. */
bool is_recording(const char *word);
/* `farwire fit FILE.jsonl...`: one profile of them all, or in a folder one of each. */
int fit_recordings(const struct command *command);

/* Reads and fits one recording; NULL: *exit_code is set, all is said. */
const struct calibration *calibration_of(const struct command *command, const char *path,
					 int *exit_code);
/* EXIT_BOUND after a gate that failed, having said which. */
int calibration_gates(const struct calibration *calibration);
/* Writes the profile of them all to `path`. */
int calibration_save(const struct command *command, const struct calibration *const *calibrations,
		     size_t count, const char *path);

#endif
