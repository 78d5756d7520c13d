/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PyTorch's traces are refused, or give a program as in a call file. */
#include "sim/traces/readers.h"
#include "tests/fuzz/recorded_calls.h"

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct profile_counts counts = {0};
	FILE *in = fuzz_open(data, size_B);
	const struct recorded_calls *recorded =
		kineto_read(arena, diag, in, "trace", NULL, &counts);
	fclose(in);
	FUZZ_CHECK_ANSWER(recorded, diag);
	if (recorded)
		check_recorded(arena, recorded);
	arena_free(arena);
}
