/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Journals of sweeps. If the first byte is odd, a correct first line is added. */
#include "sim/analysis/journal.h"

#include "sim/analysis/sweep_queue.h"
#include "tests/fuzz/fuzz.h"

enum { POINTS = 8 };

static const struct journal_part parts[] = {{"files", "the files", 1}, {"axes", "the axes", 2}};
static const char head[] = "{\"format\":\"farwire-sweep\",\"version\":2,\"points\":8,"
			   "\"files\":\"0000000000000001\",\"axes\":\"0000000000000002\"}\n";

static const char *journal_of(struct arena *arena, const uint8_t *data, size_t size_B)
{
	FILE *out = fuzz_create(arena, "journal");
	if (data[0] & 1)
		fputs(head, out);
	fwrite(data + 1, 1, size_B - 1, out);
	FUZZ_CHECK(fclose(out) == 0);
	return fuzz_path(arena, "journal");
}

static void take(void *ctx, const char *line, size_t size_B)
{
	queue_put(ctx, line, size_B, false);
}

FUZZ_TARGET(data, size_B)
{
	if (size_B == 0)
		return;
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct sweep_task task = {.point_count = POINTS};
	const struct prediction *points[POINTS] = {0};
	struct sweep_queue queue = {
		.arena = arena, .task = &task, .points = points, .bad = SIZE_MAX};
	pthread_mutex_init(&queue.lock, NULL);
	const struct journal_head expected = {POINTS, parts, 2};
	bool refused = false;
	struct journal *journal =
		journal_open(arena, diag, journal_of(arena, data, size_B), &expected,
			     (struct journal_reader){take, &queue}, &refused);
	FUZZ_CHECK_ANSWER(journal, diag);
	FUZZ_CHECK(journal ? !refused : refused);
	size_t kept = 0;
	for (size_t i = 0; i < POINTS; i++)
		kept += points[i] != NULL;
	FUZZ_CHECK(kept == queue.before);
	if (journal)
		FUZZ_CHECK(journal_close(journal) == 0);
	pthread_mutex_destroy(&queue.lock);
	arena_free(arena);
}
