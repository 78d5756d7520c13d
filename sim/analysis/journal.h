/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal of a sweep stores finished points as soon as they are computed.
 *
 * It is a text file next to the output, with one JSON object on each line:
 *
 *   {"format":"farwire-sweep","version":2,"points":10000,"program":"...", ...}
 *   {"point":17,"prediction":{...}}
 *
 * The first line has a hash of each part that determines the results. A journal of another
 * sweep is refused. Lines are appended in one piece. If the process is killed, only the last
 * line can be incomplete, and the next opening cuts it off. A point whose line cannot be read is
 * computed again. Journals of the same sweep may be joined into one file, because points and first
 * lines may repeat. A lock excludes a second process. */
#pragma once

#include "sim/base/base.h"

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

struct journal_reader {
	void (*take)(void *ctx, const char *line,
		     size_t size_B); /* called for each complete line */
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
