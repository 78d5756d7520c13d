/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import: what other tools recorded, in farwire's own formats. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/calls/call_file.h"
#include "sim/calls/kineto.h"
#include "sim/verb/verbs.h"

struct calls_writing {
	struct arena *arena;
	const struct recorded_calls *recorded;
};

static void write_calls(FILE *out, const void *ctx)
{
	const struct calls_writing *w = ctx;
	call_file_write(out, w->arena, w->recorded, NULL);
}

/* Compressed files begin with these two bytes, JSON never does. */
static bool is_compressed(FILE *in)
{
	int first = getc(in), second = first == 0x1f ? getc(in) : EOF;
	if (first != 0x1f && first != EOF)
		ungetc(first, in);
	return second == 0x8b;
}

static int import_kineto(const struct command *command, FILE *in, const char *path)
{
	struct diag *diag = diag_new(command->arena);
	struct kineto_counts counts = {0};
	const struct recorded_calls *recorded =
		kineto_read(command->arena, diag, in, path, &counts);
	if (!recorded)
		return command_failed(diag, NULL);
	const struct calls_writing w = {command->arena, recorded};
	int code = command_write(command, write_calls, &w);
	if (code != EXIT_DONE || command->quiet)
		return code;
	fprintf(stderr, "%zu calls of %zu events, %u threads, %zu step marks%s\n",
		recorded->call_count, counts.events, (unsigned)recorded->thread_count,
		recorded->mark_count,
		recorded->mark_count ? "" : " (profile with a schedule, and prof.step())");
	if (counts.orphans > 0)
		fprintf(stderr,
			"%zu kernels and copies have no call in the trace, and are left out\n",
			counts.orphans);
	return EXIT_DONE;
}

static const struct {
	const char *name;
	int (*import)(const struct command *command, FILE *in, const char *path);
} kinds[] = {
	{"kineto", import_kineto},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static int unknown_kind(const char *kind)
{
	const char *names[KIND_COUNT];
	for (size_t i = 0; i < KIND_COUNT; i++)
		names[i] = kinds[i].name;
	const char *near = diag_nearest(kind, names, KIND_COUNT);
	fprintf(stderr, "farwire: import: no kind is called '%s' (%s%s%s", kind,
		near ? "did you mean '" : "", near ? near : "", near ? "'?; " : "");
	for (size_t i = 0; i < KIND_COUNT; i++)
		fprintf(stderr, "%s%s", i ? ", " : "there is ", kinds[i].name);
	fprintf(stderr, ")\n");
	return EXIT_USAGE;
}

static int run(const struct command *command)
{
	size_t kind = 0;
	while (kind < KIND_COUNT && strcmp(kinds[kind].name, command->words[0]) != 0)
		kind++;
	if (kind == KIND_COUNT)
		return unknown_kind(command->words[0]);
	if (command->word_count != 2) {
		fprintf(stderr, "farwire: import: one file at a time\n");
		return EXIT_USAGE;
	}
	const char *path = command->words[1];
	bool from_stdin = strcmp(path, "-") == 0;
	FILE *in = from_stdin ? stdin : fopen(path, "rb");
	if (!in) {
		fprintf(stderr, "farwire: cannot read '%s': %s\n", path, strerror(errno));
		return EXIT_USAGE;
	}
	int code = EXIT_USAGE;
	if (is_compressed(in))
		fprintf(stderr,
			"farwire: '%s' is compressed (write gunzip -c %s | farwire import %s - -o "
			"...)\n",
			path, path, kinds[kind].name);
	else
		code = kinds[kind].import(command, in, from_stdin ? "standard input" : path);
	if (!from_stdin)
		fclose(in);
	return code;
}

const struct verb verb_import = {
	.name = "import",
	.words = "KIND FILE...",
	.help = "turns other tools' recordings into farwire's: kineto (torch.profiler)",
	.examples = "  farwire import kineto trace.json -o calls.jsonl\n"
		    "  gunzip -c trace.json.gz | farwire import kineto - -o calls.jsonl\n"
		    "  farwire run --calls calls.jsonl --topology t320-same-esxi\n",
	.options = "output quiet",
	.words_min = 2,
	.run = run,
};
