/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of PyTorch's profiler, as recorded calls. */
#include "calib/fit/import.h"
#include "sim/base/arena.h"
#include "sim/traces/call_file.h"
#include "sim/traces/kineto.h"

struct calls {
	struct arena *arena;
	const struct recorded_calls *recorded;
};

static void write_calls(FILE *out, const void *ctx)
{
	const struct calls *calls = ctx;
	call_file_write(out, calls->arena, calls->recorded, NULL);
}

static bool read_trace(struct arena *arena, struct diag *diag, FILE *in, const char *path,
		       struct imported *imported)
{
	struct profile_counts counts = {0};
	const struct recorded_calls *recorded = kineto_read(arena, diag, in, path, &counts);
	if (!recorded)
		return false;
	struct calls *calls = ARENA_NEW(arena, struct calls);
	*calls = (struct calls){arena, recorded};
	const char *said = arena_printf(
		arena, "converted %zu calls (of %zu events) of %u threads with %zu step marks%s",
		recorded->call_count, counts.events, (unsigned)recorded->thread_count,
		recorded->mark_count,
		recorded->mark_count
			? ""
			: " (to get marks, profile with a schedule and call prof.step())");
	if (counts.orphans > 0)
		said = arena_printf(arena,
				    "%s\n%zu kernels and copies were left out because the trace "
				    "does not contain their calls",
				    said, counts.orphans);
	if (counts.collectives + counts.unknown_collectives > 0)
		said = arena_printf(arena,
				    "%s\nrank %u of %u: %zu collectives with bytes and group, %zu "
				    "of unknown bytes or group (they take their recorded time; "
				    "profile with record_shapes=True)",
				    said, (unsigned)recorded->rank, (unsigned)recorded->world_count,
				    counts.collectives, counts.unknown_collectives);
	*imported = (struct imported){write_calls, calls, said};
	return true;
}

const struct importer import_kineto = {
	.name = "kineto",
	.help = "traces of PyTorch's profiler, converted to call files",
	.read = read_trace,
};
