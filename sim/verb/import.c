/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import: what other tools recorded, in farwire's own formats. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calib/fit/import.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/call_file.h"
#include "sim/traces/kineto.h"
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

/* ---- logs of benchmarks (calib/fit/import.def) ---- */

static void write_samples(FILE *out, const void *ctx)
{
	import_write(out, ctx);
}

static int import_log(const struct command *command, const struct import_log *log, FILE *in,
		      const char *path)
{
	struct diag *diag = diag_new(command->arena);
	const struct importing *importing = import_read(command->arena, diag, log, in, path);
	if (!importing)
		return command_failed(diag, NULL);
	int code = command_write(command, write_samples, importing);
	if (code == EXIT_DONE && !command->quiet)
		fprintf(stderr, "%zu points of %s\n", importing->points.count, log->name);
	return code;
}

/* ---- the kinds ---- */

enum { KINDS_MAX = 16 };

/* Their names: kineto, then the logs. */
static size_t kind_names(const char *names[KINDS_MAX])
{
	size_t count = 0;
	names[count++] = "kineto";
	for (size_t i = 0; import_logs[i] && count < KINDS_MAX; i++)
		names[count++] = import_logs[i]->name;
	return count;
}

static int unknown_kind(const char *kind)
{
	const char *names[KINDS_MAX];
	size_t count = kind_names(names);
	const char *near = diag_nearest(kind, names, count);
	fprintf(stderr, "farwire: import: no kind is called '%s' (%s%s%s", kind,
		near ? "did you mean '" : "", near ? near : "", near ? "'?; " : "");
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "%s%s", i ? ", " : "there is ", names[i]);
	fprintf(stderr, ")\n");
	return EXIT_USAGE;
}

static int run(const struct command *command)
{
	const char *names[KINDS_MAX];
	size_t kind = 0, kind_count = kind_names(names);
	while (kind < kind_count && strcmp(names[kind], command->words[0]) != 0)
		kind++;
	if (kind == kind_count)
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
			path, path, names[kind]);
	else if (ferror(in))
		fprintf(stderr, "farwire: cannot read '%s': %s\n", path, strerror(errno));
	else if (kind == 0)
		code = import_kineto(command, in, from_stdin ? "standard input" : path);
	else
		code = import_log(command, import_logs[kind - 1], in,
				  from_stdin ? "standard input" : path);
	if (!from_stdin)
		fclose(in);
	return code;
}

const struct verb verb_import = {
	.name = "import",
	.words = "KIND FILE...",
	.help = "turns recordings and logs of other tools into farwire's",
	.examples = "  farwire import kineto trace.json -o calls.jsonl\n"
		    "  gunzip -c trace.json.gz | farwire import kineto - -o calls.jsonl\n"
		    "  farwire import nccl-tests all_reduce.log -o x.jsonl   # also nvbandwidth,\n"
		    "                                               # perftest, iperf3\n"
		    "  farwire fit x.jsonl -o x.cfg\n"
		    "  farwire run --calls calls.jsonl --topology t320-same-esxi\n",
	.options = "output quiet",
	.words_min = 2,
	.run = run,
};
