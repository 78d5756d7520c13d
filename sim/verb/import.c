/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import: converts recordings and logs of other tools to farwire's formats. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calib/fit/import.h"
#include "sim/base/diag.h"
#include "sim/verb/verbs.h"

/* Returns whether the file begins with the two bytes of gzip. JSON never begins with them. */
static bool is_compressed(FILE *in)
{
	int first = getc(in), second = first == 0x1f ? getc(in) : EOF;
	if (first != 0x1f && first != EOF)
		ungetc(first, in);
	return second == 0x8b;
}

static int write_imported(const struct command *command, const struct imported *imported)
{
	int code = command_write(command, imported->write, imported->ctx, NULL);
	if (code == EXIT_DONE && !command->quiet)
		fprintf(stderr, "%s\n", imported->said);
	return code;
}

static int import(const struct command *command, const struct importer *importer, FILE *in,
		  const char *path)
{
	struct diag *diag = diag_new(command->arena);
	struct imported imported;
	if (!import_read(command->arena, diag, importer, in, path, &imported))
		return command_failed(diag, NULL);
	return write_imported(command, &imported);
}

static int import_files(const struct command *command, const struct importer *importer)
{
	struct diag *diag = diag_new(command->arena);
	struct imported imported;
	if (!importer->files(command->arena, diag, command->words + 1, command->word_count - 1,
			     &imported))
		return command_failed(diag, NULL);
	return write_imported(command, &imported);
}

static int run(const struct command *command)
{
	const char *kind = command->words[0];
	const struct importer *importer = importer_find(kind);
	if (!importer)
		return command_stop(
			EXIT_USAGE, "import: %s",
			registry_unknown(command->arena, &importer_registry, kind, NULL));
	if (importer->files)
		return import_files(command, importer);
	if (command->word_count != 2)
		return command_stop(
			EXIT_USAGE,
			"import: there must be one file, not %zu (write one command for "
			"each file)",
			command->word_count - 1);
	const char *path = command->words[1];
	bool from_stdin = strcmp(path, "-") == 0;
	FILE *in = from_stdin ? stdin : fopen(path, "rb");
	if (!in)
		return command_stop(EXIT_USAGE, "cannot read '%s': %s", path, strerror(errno));
	int code = EXIT_USAGE;
	if (is_compressed(in))
		fprintf(stderr,
			"farwire: '%s' is compressed (write gunzip -c %s | farwire import %s - -o "
			"...)\n",
			path, path, kind);
	else if (ferror(in))
		fprintf(stderr, "farwire: cannot read '%s': %s\n", path, strerror(errno));
	else
		code = import(command, importer, in, from_stdin ? "standard input" : path);
	if (!from_stdin)
		fclose(in);
	return code;
}

const struct verb verb_import = {
	.name = "import",
	.words = "KIND FILE...",
	.help = "converts recordings and logs of other tools to farwire's formats",
	.examples = "  farwire import kineto trace.json -o calls.jsonl\n"
		    "  gunzip -c trace.json.gz | farwire import kineto - -o calls.jsonl\n"
		    "  farwire import log all_reduce.log -o x.jsonl   # nccl-tests, OSU, MLPerf, "
		    "iperf3 ...\n"
		    "  farwire import model config.json -o net.cfg\n"
		    "  farwire import plan train.sh -o case.cfg\n"
		    "  farwire import topology topo.txt -o machine.cfg  # nvidia-smi topo -m\n"
		    "  farwire fit x.jsonl -o x.cfg\n"
		    "  farwire run --calls calls.jsonl --topology t320-same-esxi\n",
	.options = "output quiet",
	.words_min = 2,
	.run = run,
};
