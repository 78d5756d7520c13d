/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads of other simulators are refused, or give a program as in a call file. */
#include "sim/traces/readers.h"
#include "tests/fuzz/recorded_calls.h"

FUZZ_TARGET(data, size_B)
{
	trace_reader *const readers[] = {simai_read, astrasim_read, goal_read};
	for (size_t kind = 0; kind < 3; kind++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		struct profile_counts counts;
		FILE *in = fuzz_open(data, size_B);
		const struct recorded_calls *recorded =
			readers[kind](arena, diag, in, "x.txt", NULL, &counts);
		fclose(in);
		FUZZ_CHECK_ANSWER(recorded, diag);
		for (; recorded; recorded = recorded->next)
			if (recorded->call_count < 10000)
				check_order(recorded);
		arena_free(arena);
	}
}
