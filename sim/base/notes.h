/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Footnotes of a table. The cell of a failed case has a short phrase and the number of a note, and
 * the note below the table has the whole reason. Reasons that differ only in numbers and in the
 * text between parentheses share a note. */
#pragma once

#include "sim/base/vec.h"

struct arena;

struct note {
	const char *reason; /* of the first case that has the note */
	size_t count;       /* number of different reasons that share it */
};
struct notes {
	VEC(struct note) list;
};

/* Returns for example "failed: out of GPU memory [1]". */
const char *notes_cell(struct arena *arena, struct notes *notes, const char *reason);
/* Returns the text of note number `index`, which counts from 0: "[1] out of GPU memory: ...". */
const char *notes_text(struct arena *arena, const struct notes *notes, size_t index);
