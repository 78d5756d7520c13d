/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations made of recordings, for the verbs `fit`, `calibrate` and `report`. */
#pragma once

#include "sim/report/calibration.h"
#include "sim/verb/verb.h"

/* Returns whether a word is the file name of a recording (.jsonl), not the name of a fit. */
bool is_recording(const char *word);
/* Runs `farwire fit FILE.jsonl...`. It writes one profile of all recordings, or one of each if the
 * output is a folder. Returns the exit code. */
int fit_recordings(const struct command *command);

/* Reads and fits one recording. After an error it prints the error, sets *exit_code and returns
 * NULL. */
const struct calibration *calibration_of(const struct command *command, const char *path,
					 int *exit_code);
/* Prints the gates that failed. Returns EXIT_BOUND if there are any, otherwise EXIT_DONE. */
int calibration_gates(const struct calibration *calibration);
/* Writes one profile of all calibrations to `path`. Returns the exit code. */
int calibration_save(const struct command *command, const struct calibration *const *calibrations,
		     size_t count, const char *path);
