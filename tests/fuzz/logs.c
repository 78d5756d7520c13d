/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of other tools; the first byte selects the tool. An accepted log becomes a recording
 * that reads back. */
#include "sim/import/importer.h"
#include "calib/fit/recording.h"
#include "tests/fuzz/fuzz.h"

static void check_reads_back(struct arena *arena, const struct imported *imported)
{
	const struct importing *importing = imported->ctx;
	FILE *out = fuzz_create(arena, "x.jsonl");
	imported->write(out, imported->ctx);
	FUZZ_CHECK(fclose(out) == 0);
	struct diag *diag = diag_new(arena);
	const struct recording *recording =
		recording_read(arena, diag, fuzz_path(arena, "x.jsonl"));
	diag_print(diag, stdout);
	FUZZ_CHECK(recording && recording->ended);
	FUZZ_CHECK(recording->points.count <= importing->points.count);
}

FUZZ_TARGET(data, size_B)
{
	const struct importer *logs[64];
	size_t count = 0;
	for (size_t i = 0; i < importer_count(); i++)
		if (importer_at(i)->log)
			logs[count++] = importer_at(i);
	if (size_B == 0)
		return;
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	FILE *in = fuzz_open(data + 1, size_B - 1);
	struct imported imported = {0};
	bool read = import_read(arena, diag, logs[data[0] % count], in, "log", &imported);
	fclose(in);
	FUZZ_CHECK_ANSWER(read ? &imported : NULL, diag);
	if (read)
		check_reads_back(arena, &imported);
	arena_free(arena);
}
