/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Saved results that are accepted can be written in every format, and their JSON reads back. */
#include "sim/result/result.h"
#include "tests/fuzz/fuzz.h"

static void check_written(struct arena *arena, const struct prediction *const *predictions,
			  size_t count)
{
	for (int format = FORMAT_TABLE; format <= FORMAT_JSONL; format++) {
		size_t again_count = 0;
		FILE *out = fuzz_create(arena, "again");
		predictions_write(out, (enum output_format)format, predictions, count);
		FUZZ_CHECK(fclose(out) == 0);
		if (format == FORMAT_JSON || format == FORMAT_JSONL) {
			struct diag *diag = diag_new(arena);
			const char *path = fuzz_path(arena, "again");
			FUZZ_CHECK(predictions_read(arena, diag, path, &again_count) != NULL);
			FUZZ_CHECK(again_count == count);
		}
	}
}

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	size_t count = 0;
	const char *path = fuzz_file(arena, "result.json", data, size_B);
	const struct prediction *const *predictions = predictions_read(arena, diag, path, &count);
	FUZZ_CHECK_ANSWER(predictions, diag);
	if (predictions) {
		FUZZ_CHECK(count > 0);
		check_written(arena, predictions, count);
	}
	arena_free(arena);
}
