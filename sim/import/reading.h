/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared parts of the importers that write configuration files: models, plans and topologies.
 *
 * A reader turns a file into records, each with its line. A writer takes the records that farwire
 * has a parameter for, and writes a .cfg file. Each value in it is followed by a comment with the
 * place that it came from, or with the reason why it was assumed. All records are counted, so that
 * nothing is lost silently: records that were not used are listed if their names suggest that they
 * change the time of a step.
 */
#pragma once

#include "sim/import/importer.h"

struct reading {
	struct arena *arena;
	struct diag *diag;
	const char *const *paths;
	size_t path_count;
	size_t used_count, skipped_count; /* records */
	VEC(const char *) notes;          /* what was skipped or assumed, for the user */
	VEC(const char *) lines;          /* of the file to write */
};

/* Returns the whole file, which ends with a zero byte. Returns NULL after an error, which is in
 * diag: the file cannot be read, is larger than 16 MiB, or contains a zero byte. */
char *reading_file(struct reading *reading, const char *path, size_t *size_B);
/* Returns a reader of the lines of a text. */
struct lines *reading_lines(struct reading *reading, const char *path, const char *text);
/* Returns a text of a file as it can stand in a comment: one line, at most 80 bytes. */
const char *reading_quote(struct reading *reading, const char *text);
/* Adds a line to the file, or a note for the user. */
#define reading_line(reading, ...)                                                                 \
	((void)(*VEC_PUSH((reading)->arena, &(reading)->lines) =                                   \
			arena_printf((reading)->arena, __VA_ARGS__)))
#define reading_note(reading, ...)                                                                 \
	((void)(*VEC_PUSH((reading)->arena, &(reading)->notes) =                                   \
			arena_printf((reading)->arena, __VA_ARGS__)))
/* Completes `imported`. Returns false if there were errors. `records` names the records in the
 * plural. */
bool reading_done(struct reading *reading, const char *records, struct imported *imported);
