/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of Nsight Systems are refused, or give programs as in a call file. */
#include "sim/traces/readers.h"
#include "tests/fuzz/recorded_calls.h"

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct profile_counts counts = {0};
	const char *path = fuzz_file(arena, "report.sqlite", data, size_B);
	const struct recorded_calls *recorded = nsys_read(arena, diag, NULL, path, NULL, &counts);
	FUZZ_CHECK_ANSWER(recorded, diag);
	for (; recorded; recorded = recorded->next)
		check_recorded(arena, recorded);
	FUZZ_CHECK(arena_used_B(arena) < (size_t)1 << 28);
	arena_free(arena);
}
