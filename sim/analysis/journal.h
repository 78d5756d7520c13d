/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal of a sweep stores finished points as soon as they are computed.
 *
 * It is a text file next to the output, with one JSON object on each line. Each line contains
 * the CRC-32C of the part that follows:
 *
 *   {"crc":"5d2c90a1","format":"farwire-sweep","version":1,"points":10000,"program":"...", ...}
 *   {"crc":"0b7f3e11","point":17,"prediction":{...}}
 *
 * The first line has a hash of each part that determines the results. A journal of another
 * sweep is refused. Lines are appended in one piece. If the process is killed, only the last
 * line can be incomplete, and the next opening cuts it off. A point whose line has a wrong
 * checksum is computed again. A lock excludes a second process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct diag;
struct journal;

struct journal_part {     /* a part of the request that determines the results */
	const char *name; /* key in the first line: one word */
	const char *what; /* for messages: "the axes" */
	uint64_t hash;
};
struct journal_head {
	size_t point_count;
	const struct journal_part *parts;
	size_t part_count;
};

/* Returns a complete line with the members `body` of an object: {"crc":"...",body} and a line
 * end. */
char *journal_line(struct arena *arena, const char *body, size_t *size_B);
/* Returns the body of a line with or without its line end; NULL if the line is damaged. */
const char *journal_body(const char *line, size_t size_B, size_t *body_B);

struct journal_reader {
	void (*take)(void *ctx, const char *line,
		     size_t size_B); /* called for each line with a correct checksum */
	void *ctx;
};
/* Opens or creates the journal and passes its lines to the reader. Returns NULL after errors in
 * diag. *refused is set if the file exists and is not a journal of this sweep. */
struct journal *journal_open(struct arena *arena, struct diag *diag, const char *path,
			     const struct journal_head *head, struct journal_reader reader,
			     bool *refused);
/* Appends a line. Returns 0, or -1 with errno set. The line survives the end of the process
 * immediately, and a crash of the machine after a few seconds. */
int journal_add(struct journal *journal, const char *line, size_t size_B);
/* Returns 0, or -1 with errno set if some lines did not reach the disk. */
int journal_close(struct journal *journal);
