/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of profilers, as recorded calls. */
#include <sys/stat.h>

#include "sim/import/importer.h"
#include "sim/traces/call_file.h"
#include "sim/traces/readers.h"

struct calls {
	struct arena *arena;
	const struct recorded_calls *recorded;
};

static void write_calls(FILE *out, const void *ctx)
{
	const struct calls *calls = ctx;
	for (const struct recorded_calls *rank = calls->recorded; rank; rank = rank->next)
		call_file_write(out, calls->arena, rank, NULL);
}

/* Says what was converted. steps says how a user gets marks of steps, or is NULL. */
static const char *say(struct arena *arena, const struct recorded_calls *recorded,
		       const struct profile_counts *counts, const char *steps)
{
	size_t calls = 0, threads = 0, marks = 0, ranks = 0;
	for (const struct recorded_calls *rank = recorded; rank; rank = rank->next, ranks++) {
		calls += rank->call_count;
		threads += rank->thread_count;
		marks += rank->mark_count;
	}
	const char *summary = arena_printf(
		arena,
		"converted %zu calls of %zu threads with %zu step marks%s; %zu events read, %zu "
		"used, %zu skipped",
		calls, threads, marks, marks || !steps ? "" : steps, counts->events, counts->used,
		counts->events - counts->used);
	if (counts->orphans > 0)
		summary = arena_printf(arena,
				       "%s\n%zu kernels and copies were left out because the trace "
				       "does not contain their calls",
				       summary, counts->orphans);
	if (counts->note && counts->note[0])
		summary = arena_printf(arena, "%s\n%s", summary, counts->note);
	if (counts->collectives + counts->unknown_collectives == 0)
		return summary;
	const char *whose = recorded->world_count == 0 ? "one rank of several"
			    : ranks > 1
				    ? arena_printf(arena, "%zu ranks", ranks)
				    : arena_printf(arena, "rank %u of %u", (unsigned)recorded->rank,
						   (unsigned)recorded->world_count);
	return arena_printf(arena,
			    "%s\n%s: %zu collectives with bytes and group; %zu without, which take "
			    "their recorded time",
			    summary, whose, counts->collectives, counts->unknown_collectives);
}

static bool finish(struct arena *arena, const struct recorded_calls *recorded,
		   const struct profile_counts *counts, const char *steps,
		   struct imported *imported)
{
	if (!recorded)
		return false;
	struct calls *calls = ARENA_NEW(arena, struct calls);
	*calls = (struct calls){arena, recorded};
	*imported = (struct imported){
		.write = write_calls, .ctx = calls, .summary = say(arena, recorded, counts, steps)};
	return true;
}

/* Returns the watch, or NULL if no progress is shown or the size of the file is unknown. */
static const struct profile_watch *watch_file(const struct imported *imported, FILE *in,
					      struct profile_watch *watch)
{
	struct stat file;
	bool sized = imported->tell && fstat(fileno(in), &file) == 0 && S_ISREG(file.st_mode);
	*watch = (struct profile_watch){imported->tell, imported->tell_ctx,
					sized ? (size_t)file.st_size : 0};
	return sized ? watch : NULL;
}

/* Returns the rank in a name such as allreduce.3.et, or the place of the file. */
static uint32_t rank_of(const char *path, size_t place)
{
	const char *slash = strrchr(path, '/'), *end = strstr(slash ? slash : path, ".et");
	const char *digits = end;
	while (digits && digits > path && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	return digits && digits < end ? (uint32_t)(strtoul(digits, NULL, 10) % RECORDED_RANKS_MAX)
				      : (uint32_t)place;
}

static bool read_chakra(struct arena *arena, struct diag *diag, const char *const *paths,
			size_t count, struct imported *imported)
{
	struct profile_counts counts = {0}, sum = {0};
	const struct recorded_calls *first = NULL, **next = &first;
	for (size_t i = 0; i < count; i++) {
		FILE *in = file_open(diag, (struct origin){paths[i], 0}, paths[i]);
		if (!in)
			return false;
		struct recorded_calls *rank = chakra_read(arena, diag, in, paths[i],
							  count > 1 ? (uint32_t)count : 0, &counts);
		fclose(in);
		if (!rank)
			return false;
		rank->rank = count > 1 ? rank_of(paths[i], i) : 0;
		bool fits = rank->rank < count;
		for (const struct recorded_calls *other = first; other; other = other->next)
			fits &= other->rank != rank->rank;
		if (!fits)
			return diag_error(diag, (struct origin){paths[i], 0},
					  "the file is that of rank %u, but the ranks of %zu files "
					  "are 0 to %zu, and each has one file (rename it)",
					  (unsigned)rank->rank, count, count - 1);
		*next = rank;
		next = &rank->next;
		sum.events += counts.events;
		sum.used += counts.used;
		sum.collectives += counts.collectives;
		sum.unknown_collectives += counts.unknown_collectives;
	}
	return finish(arena, first, &sum, NULL, imported);
}

bool import_calls(struct arena *arena, struct diag *diag, const struct importer *importer, FILE *in,
		  const char *path, struct imported *imported)
{
	struct profile_counts counts = {0};
	struct profile_watch room;
	const struct profile_watch *watch = watch_file(imported, in, &room);
	return finish(arena, importer->calls(arena, diag, in, path, watch, &counts), &counts,
		      importer->steps, imported);
}

const struct importer import_kineto = {
	.name = "kineto",
	.help = "traces of PyTorch's profiler, one file a rank, converted to a call file",
	.calls = kineto_read,
	.steps = " (to get marks, profile with a schedule and call prof.step())",
};

const struct importer import_nsys = {
	.name = "nsys",
	.help = "reports of Nsight Systems, exported to SQLite, converted to a call file",
	.calls = nsys_read,
	.steps = " (to get marks, call nvtxRangePush(\"step 3\") in each step)",
};

const struct importer import_api_log = {
	.name = "api-log",
	.help = "logs of CUDA calls with times and bytes, one call a line, converted to a call "
		"file",
	.calls = api_log_read,
	.steps = " (to get marks, write lines such as '0.25 step 3')",
};

const struct importer import_chakra = {
	.name = "chakra",
	.help = "execution traces of Chakra (.et), one file a rank, converted to a call file",
	.files = read_chakra,
};
