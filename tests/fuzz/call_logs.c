/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of calls and compressed call files (first byte of gzip) are refused, or give a program as in
 * a call file. */
#include "sim/traces/readers.h"
#include "tests/fuzz/recorded_calls.h"

static const struct recorded_calls *read_any(struct arena *arena, struct diag *diag,
					     const uint8_t *data, size_t size_B)
{
	struct profile_counts counts = {0};
	const char *path = fuzz_file(arena, "calls.log", data, size_B);
	if (size_B > 0 && data[0] == 0x1f)
		return call_file_read(arena, diag, path);
	FILE *in = fuzz_open(data, size_B);
	const struct recorded_calls *recorded =
		api_log_read(arena, diag, in, "calls.log", NULL, &counts);
	fclose(in);
	return recorded;
}

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct recorded_calls *recorded = read_any(arena, diag, data, size_B);
	FUZZ_CHECK_ANSWER(recorded, diag);
	if (recorded)
		check_recorded(arena, recorded);
	arena_free(arena);
}
