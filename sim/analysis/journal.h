/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal of a sweep: finished points, kept at once.
 *
 * A text file beside the output, one JSON object a line, each with the CRC-32C
 * of what follows it in its line:
 *
 *   {"crc":"5d2c90a1","format":"farwire-sweep","version":1,"points":10000,"program":"...", ...}
 *   {"crc":"0b7f3e11","point":17,"prediction":{...}}
 *
 * The first line has a hash of each thing that decides the result. A journal of
 * another sweep is refused. Lines are appended whole; a kill can
 * tear only the last one, which is cut off at the next opening, and a line
 * whose checksum is wrong is as good as none: its point is computed again. A
 * lock keeps a second process out.
 */
#ifndef FARWIRE_ANALYSIS_JOURNAL_H
#define FARWIRE_ANALYSIS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct diag;
struct journal;

struct journal_part {     /* of what decides the result */
	const char *name; /* the key in the first line: a word */
	const char *what; /* for messages: "the axes" */
	uint64_t hash;
};
struct journal_head {
	size_t point_count;
	const struct journal_part *parts;
	size_t part_count;
};

/* A whole line around body, an object's members: {"crc":"...",body} and the end of
 * the line. */
char *journal_line(struct arena *arena, const char *body, size_t *size_B);
/* The body of such a line (with or without its end), or NULL if it is torn. */
const char *journal_body(const char *line, size_t size_B, size_t *body_B);

struct journal_reader {
	void (*take)(void *ctx, const char *line, size_t size_B); /* its checksum is right */
	void *ctx;
};
/* Opens path, makes it where it is not there, gives the lines it holds to reader.
 * NULL after errors in diag; *refused: it is there and no journal of this sweep. */
struct journal *journal_open(struct arena *arena, struct diag *diag, const char *path,
			     const struct journal_head *head, struct journal_reader reader,
			     bool *refused);
/* Appends a line; 0, or -1 with errno. The line survives the end of the process at
 * once, and that of the machine after a few seconds. */
int journal_add(struct journal *journal, const char *line, size_t size_B);
/* 0, or -1 with errno if not all of it reached the disk. */
int journal_close(struct journal *journal);

#endif
