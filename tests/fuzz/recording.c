/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of probes are read for a fit and for a continuation. */
#include "calib/fit/recording.h"
#include "calib/sample/record.h"

#include <math.h>

#include "tests/fuzz/fuzz.h"

static void check_recording(struct arena *arena, const struct recording *recording)
{
	const struct recording_point *const *found;
	FUZZ_CHECK(recording->points.count > 0 && recording->sample_count > 0);
	for (size_t i = 0; i < recording->points.count; i++) {
		const struct recording_point *point = &recording->points.items[i];
		FUZZ_CHECK(isfinite(point->value) && point->passes.count > 0);
		for (size_t k = 0; k < point->passes.count; k++)
			FUZZ_CHECK(point->passes.items[k].low <= point->passes.items[k].high);
		if (i < 4)
			FUZZ_CHECK(recording_find(recording, arena, point->test, "", &found) > 0);
	}
}

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const char *path = fuzz_file(arena, "x.jsonl", data, size_B);
	const struct recording *recording = recording_read(arena, diag, path);
	FUZZ_CHECK_ANSWER(recording, diag);
	if (recording)
		check_recording(arena, recording);
	struct record record;
	struct record_found known;
	int answer = record_continue(&record, path, &known);
	FUZZ_CHECK((answer == 0) == !record.why[0]);
	record_close(&record);
	arena_free(arena);
}
