/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call files are refused with a line, or give a program that can be played and written again. */
#include "tests/fuzz/recorded_calls.h"

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const char *path = fuzz_file(arena, "calls.jsonl", data, size_B);
	const struct recorded_calls *recorded = call_file_read(arena, diag, path);
	FUZZ_CHECK_ANSWER(recorded, diag);
	if (recorded)
		check_recorded(arena, recorded);
	arena_free(arena);
}
