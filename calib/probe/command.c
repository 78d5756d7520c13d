/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/probe.h"

#include <unistd.h>

#include "calib/sample/run.h"

#define ONLY_MOST 16
#define SKIPPED   77
/* Sizes of the largest copies, with and without --full. */
#define QUICK_B      ((size_t)1 << 28)
#define FULL_B       ((size_t)1 << 30)
#define QUICK_PASSES 3
#define QUICK_S      110
#define FULL_PASSES  10
#define FULL_S       1140

static const char usage[] =
	"usage: farwire-probe [--quick | --full] [--only GLOB]... [--budget SECONDS]\n"
	"                     [--passes N] [--seed N] [-o FILE | --continue FILE] [-q]\n"
	"                     [--gpu N]\n"
	"       farwire-probe --list | --help\n"
	"\n"
	"Measures this machine's GPU, driver and links. Writes every sample as a line of\n"
	"JSON to standard output or to FILE, which must not exist.\n"
	"\n"
	"  --quick         three passes in at most two minutes (default)\n"
	"  --full          ten passes with more sizes in at most twenty minutes\n"
	"  --only GLOB     run only matching tests: a name of --list, alone or with its\n"
	"                  variants, for example 'copy.h2d.pinned.*'\n"
	"  --budget S      time limit of the measurements in seconds\n"
	"  --passes N      number of passes over all points\n"
	"  --seed N        seed of the order of points and of the random sizes (1)\n"
	"  --continue FILE continue an interrupted run\n"
	"  --gpu N         index of the GPU if there are several (0)\n"
	"  -q              hide progress\n"
	"\n"
	"Exit status: 0; 1 after a failure, an interruption or a drift over 3 %; 2 for\n"
	"a wrong command line; 77 without a GPU.\n";

struct options {
	struct run_options run;
	const char *only[ONLY_MOST];
	const char *output, *resume;
	bool full, list, help;
	const struct gpu_api *device;
	struct gpu_options gpu;
};

/* ---- command line ---- */

static int wrong(const char *word, const char *why)
{
	fprintf(stderr, "farwire-probe: %s: %s (see --help)\n", word, why);
	return 2;
}

static int take_number(const char *option, const char *text, double least, double most, bool whole,
		       double *number)
{
	char *end;
	*number = strtod(text, &end);
	if (end == text || *end || !(*number >= least && *number <= most) ||
	    (whole && *number > (double)(uint64_t)*number)) {
		fprintf(stderr,
			"farwire-probe: %s must be a %snumber from %.9g to %.9g, not '%s'\n",
			option, whole ? "whole " : "", least, most, text);
		return 2;
	}
	return 0;
}

static int take_value(const char *option, const char *value, struct options *options)
{
	double number = 0;
	int code = 0;
	if (strcmp(option, "--only") == 0) {
		if (options->run.only_count == ONLY_MOST)
			return wrong(option, "is repeated too often");
		options->only[options->run.only_count++] = value;
	} else if (strcmp(option, "--budget") == 0) {
		code = take_number(option, value, 0.01, 1e6, false, &options->run.budget_s);
	} else if (strcmp(option, "--passes") == 0) {
		code = take_number(option, value, 1, 1000, true, &number);
		options->run.passes = (size_t)number;
	} else if (strcmp(option, "--seed") == 0) {
		code = take_number(option, value, 0, 9e15, true, &number);
		options->run.seed = (uint64_t)number;
	} else if (strcmp(option, "--gpu") == 0) {
		code = take_number(option, value, 0, 1000, true, &number);
		options->gpu.index = (int)number;
	} else if (strcmp(option, "-o") == 0) {
		options->output = value;
	} else if (strcmp(option, "--continue") == 0) {
		options->resume = value;
	} else {
		code = wrong(option, "is not an option of this program");
	}
	return code;
}

static int take_words(int count, char **words, struct options *options)
{
	for (int i = 1; i < count; i++) {
		const char *word = words[i];
		if (strcmp(word, "--quick") == 0) {
			options->full = false;
		} else if (strcmp(word, "--full") == 0) {
			options->full = true;
		} else if (strcmp(word, "--list") == 0) {
			options->list = true;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			options->help = true;
		} else if (strcmp(word, "-q") == 0 || strcmp(word, "--quiet") == 0) {
			options->run.quiet = true;
		} else if (word[0] != '-' || i + 1 == count) {
			return wrong(word, word[0] != '-'    ? "is not an argument of this program"
					   : word[1] == '\0' ? "is not an option of this program"
							     : "is unknown or lacks its value");
		} else {
			int code = take_value(word, words[++i], options);
			if (code != 0)
				return code;
		}
	}
	if (options->output && options->resume)
		return wrong("-o",
			     "cannot be combined with --continue, which already names the file");
	return 0;
}

/* ---- starting the recording ---- */

/* Writes the facts that influence CUDA's timing. */
static void put_gpu(struct json_writer *json, void *context)
{
	static const char *const variables[] = {"CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING",
						"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_AUTO_BOOST"};
	const struct gpu_facts *facts = context;
	jw_open(json, "gpu", '{');
	jw_text(json, "name", facts->name);
	jw_text(json, "driver", facts->driver);
	jw_text(json, "cuda", facts->cuda);
	jw_text(json, "compute", facts->compute);
	jw_real(json, "multiprocessors", facts->multiprocessors_count);
	jw_real(json, "memory_B", facts->memory_B);
	jw_real(json, "l2_B", facts->l2_B);
	if (facts->pcie_width > 0) {
		jw_real(json, "pcie_generation", facts->pcie_generation);
		jw_real(json, "pcie_width", facts->pcie_width);
	}
	jw_real(json, "clock_Hz", facts->clock_Hz);
	jw_real(json, "gpus", facts->gpus_count);
	jw_text(json, "throttle", facts->throttle);
	jw_open(json, "environment", '{');
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (getenv(variables[i]))
			jw_text(json, variables[i], getenv(variables[i]));
	jw_close(json);
	jw_close(json);
}

static int create(struct record *record, struct options *options, struct bench *bench)
{
	const struct record_start start = {
		.tool = "farwire-probe",
		.mode = options->full ? "full" : "quick",
		.seed = options->run.seed,
		.passes = options->run.passes,
		.more = put_gpu,
		.context = &bench->facts,
	};
	return record_create(record, options->output, &start);
}

/* Continues a recording. The settings in its line 1 override the command line. */
static int resume(struct record *record, struct options *options, const struct bench *bench)
{
	struct record_found found;
	if (record_continue(record, options->resume, &found) != 0)
		return -1;
	if (strcmp(found.tool, "farwire-probe") != 0 ||
	    strcmp(found.device, bench->facts.name) != 0) {
		snprintf(record->why, sizeof(record->why),
			 "%.60s: recorded by %.30s on \"%.60s\", but this machine "
			 "has \"%.50s\"",
			 options->resume, found.tool, found.device, bench->facts.name);
		return -1;
	}
	options->run.seed = found.seed;
	options->run.passes = found.passes;
	return 0;
}

/* ---- the whole run ---- */

static int probe_device(struct options *options, struct bench *bench)
{
	struct record record = {.file = -1};
	struct plan plan = {0};
	int code = 1;
	if ((options->resume ? resume(&record, options, bench) : 0) != 0) {
		fprintf(stderr, "farwire-probe: %s\n", record.why);
	} else if (record.ended) {
		const struct run over = {.record = &record, .program = "farwire-probe"};
		code = run_ended(&over, options->resume);
	} else if (run_plan(bench, &options->run, &plan) == 0) {
		if (plan.count == 0)
			code = wrong("--only",
				     "matches no test of --list; nccl-tests measures collectives");
		else if (!options->resume && create(&record, options, bench) != 0)
			fprintf(stderr, "farwire-probe: %s\n", record.why);
		else
			code = run_all(bench, &options->run, &plan, &record);
	}
	plan_free(&plan);
	if (record_close(&record) != 0 && code == 0)
		code = 1;
	return code;
}

static int open_device(struct options *options)
{
	struct bench bench = {.full = options->full};
	char why[GPU_WHY] = "";
	struct probe_gpu *gpu = NULL;
	for (size_t i = 0; probes[i]; i++)
		if (probes[i]->start)
			probes[i]->start(options->device, &options->gpu);
	int code = options->device->open(&options->gpu, &gpu, why);
	if (code != GPU_OK) {
		fprintf(stderr, "farwire-probe: %s\n", why);
		code = code == GPU_WAIVED ? SKIPPED : 1;
	} else {
		code = bench_open(&bench, gpu);
		if (code == GPU_OK)
			code = probe_device(options, &bench);
		else
			fprintf(stderr, "farwire-probe: %s\n", bench.why);
		gpu->api->close(gpu);
	}
	for (size_t i = 0; probes[i]; i++)
		if (probes[i]->stop)
			probes[i]->stop();
	return code;
}

/* Reads the mode of the recording to continue, because the mode determines the plan. */
static int find_mode(struct options *options)
{
	struct record record;
	struct record_found found;
	if (!options->resume)
		return 0;
	int code = record_continue(&record, options->resume, &found);
	if (code != 0)
		fprintf(stderr, "farwire-probe: %s\n", record.why);
	record_close(&record);
	options->full = strcmp(found.mode, "full") == 0;
	return code == 0 ? 0 : 2;
}

int probe_command(const struct gpu_api *device, int count, char **words)
{
	struct options options = {.device = device, .run = {.seed = 1}};
	options.run.only = options.only;
	int code = take_words(count, words, &options);
	if (code != 0)
		return code;
	if (options.help)
		return fputs(usage, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
	if (options.list) {
		for (size_t i = 0; probes[i]; i++)
			printf("%-3s %-11s %s\n", probes[i]->id, probes[i]->test, probes[i]->help);
		return fflush(stdout) == 0 ? 0 : 1;
	}
	if (find_mode(&options) != 0)
		return 2;
	if (options.run.passes == 0)
		options.run.passes = options.full ? FULL_PASSES : QUICK_PASSES;
	if (options.run.budget_s <= 0)
		options.run.budget_s = options.full ? FULL_S : QUICK_S;
	options.gpu.buffer_B = options.full ? FULL_B : QUICK_B;
	run_catch_signals();
	code = open_device(&options);
	run_end_by_signal();
	return code;
}
