/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import: converts recordings and logs of other tools to farwire's formats. */
#include "sim/import/importer.h"
#include "sim/base/lines.h"
#include "sim/base/gunzip.h"
#include "sim/verb/progress.h"
#include "sim/verb/verbs.h"

struct results { /* what several files of one importer become, one after the other */
	struct imported *items;
	size_t count;
};

static void write_results(FILE *out, const void *ctx)
{
	const struct results *results = ctx;
	for (size_t i = 0; i < results->count; i++)
		results->items[i].write(out, results->items[i].ctx);
}

static int write_imported(const struct command *command, const struct results *results)
{
	int code = command_write(command, write_results, results, NULL);
	for (size_t i = 0; i < results->count && code == EXIT_DONE && !command->quiet; i++)
		fprintf(stderr, "%s\n", results->items[i].summary);
	return code;
}

static int import(const struct command *command, const struct importer *importer, const char *path,
		  struct imported *imported)
{
	struct diag *diag = diag_new(command->arena);
	bool from_stdin = strcmp(path, "-") == 0;
	struct progress *progress = ARENA_NEW(command->arena, struct progress);
	*progress = progress_new("MB", NULL, command->quiet);
	imported->tell = progress_tell;
	imported->tell_ctx = progress;
	const char *why = "";
	FILE *in = from_stdin ? stdin : file_once(path, &why);
	if (!in)
		return command_stop(EXIT_USAGE, "cannot read '%s': %s", path, why);
	int code = EXIT_USAGE;
	if (!(in = gunzip_open(diag, (struct origin){path, 0}, in)))
		return command_failed(diag, NULL);
	if (ferror(in))
		command_stop(EXIT_USAGE, "cannot read '%s': %s", path, strerror(errno));
	else if (import_read(command->arena, diag, importer, in,
			     from_stdin ? "standard input" : path, imported))
		code = EXIT_DONE;
	else
		code = command_failed(diag, NULL);
	progress_end(progress);
	if (in != stdin)
		fclose(in);
	return code;
}

static int run(const struct command *command)
{
	const char *kind = command->words[0];
	const struct importer *importer = importer_find(kind);
	if (!importer)
		return command_stop(
			EXIT_USAGE, "import: %s",
			registry_unknown(command->arena, &importer_registry, kind, NULL));
	if (command->link && importer != &import_log)
		return command_stop(EXIT_USAGE,
				    "import: --link belongs to `import log` (write import log "
				    "FILE... --link %s)",
				    command->link);
	if (importer->files) {
		struct diag *diag = diag_new(command->arena);
		struct imported imported = {.link = command->link};
		if (!importer->files(command->arena, diag, command->words + 1,
				     command->word_count - 1, &imported))
			return command_failed(diag, NULL);
		return write_imported(command, &(struct results){&imported, 1});
	}
	if (command->gpu && !importer->joins)
		return command_stop(
			EXIT_USAGE,
			"import: --gpu chooses rows of `import kernels` only (remove it)");
	if (command->word_count != 2 && !importer->calls && !importer->joins)
		return command_stop(
			EXIT_USAGE,
			"import: there must be one file, not %zu (write one command for each file)",
			command->word_count - 1);
	struct results results = {ARENA_ARRAY(command->arena, command->word_count, struct imported),
				  0};
	results.items[0].only_gpu = command->gpu;
	for (size_t i = 1; i < command->word_count; i++) {
		if (results.count == 0 || !importer->joins)
			results.count++;
		int code = import(command, importer, command->words[i],
				  &results.items[results.count - 1]);
		if (code != EXIT_DONE)
			return code;
	}
	return write_imported(command, &results);
}

const struct verb verb_import = {
	.name = "import",
	.words = "KIND FILE...",
	.help = "converts recordings and logs of other tools to farwire's formats",
	.examples =
		"  farwire import kineto trace.json -o calls.jsonl\n"
		"  farwire import kineto trace.json.gz -o calls.jsonl\n"
		"  farwire import kineto rank0.json rank1.json -o job.jsonl  # one file a rank\n"
		"  farwire import log all_reduce.log -o x.jsonl   # nccl-tests, iperf3 ...\n"
		"  farwire import log iperf.json ping.txt --link wire -o link.cfg  # a profile\n"
		"  farwire import bench result.json -o lab.cfg  # of vllm bench serve\n"
		"  farwire import model config.json -o net.cfg\n"
		"  farwire import plan train.sh -o case.cfg\n"
		"  farwire import topology topo.txt -o machine.cfg  # nvidia-smi topo -m\n"
		"  farwire import kernels gemm.csv attention.tsv --gpu h100-sxm5 -o x.jsonl\n"
		"  farwire fit x.jsonl -o x.cfg\n"
		"  farwire run --calls calls.jsonl --topology t320-same-esxi\n",
	.options = "gpu link output quiet",
	.run = run,
};
