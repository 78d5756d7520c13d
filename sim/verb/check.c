/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire check: reads configuration files and recordings, and lists their errors. */
#include "calib/fit/fit.h"
#include "sim/base/lines.h"
#include "calib/fit/recording.h"
#include "sim/cfg/cfg.h"
#include "sim/gpu/gpu.h"
#include "sim/traces/call_file.h"
#include "sim/verb/verbs.h"

/* Compares the values of a GPU's file with each other. `farwire check` reports values that no GPU
 * of that generation has: mostly typing errors, peaks with sparsity, and peaks of another data
 * type. Other verbs accept them, because a user may describe a GPU that does not exist. */

/* Memory buses with at least this width are HBM. */
static const double HBM_BITS = 1024;
/* Data sheets round their values, and some use a lower clock. */
static const double ROUNDING_RATIO = 0.06;

struct check {
	struct arena *arena;
	struct diag *diag;
	const struct cfg_node *group;
	const struct gpu_params *gpu;
	const struct gpu_generation_facts *generation;
};

static struct origin origin_of(const struct check *check, const char *key)
{
	const struct cfg_node *node = cfg_child(check->group, key);
	return cfg_origin(node ? node : check->group);
}

static const char *flops(const struct check *check, double value_flops)
{
	return quantity_format(check->arena, QUANTITY_FLOP_RATE, value_flops);
}

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= ROUNDING_RATIO * wanted;
}

/* Requires generation and multiprocessors, because their defaults are those of another GPU. */
static void check_given(const struct check *check)
{
	static const char *const keys[] = {"generation", "multiprocessors"};
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!cfg_child(check->group, keys[i]))
			diag_error(
				check->diag, cfg_origin(check->group),
				"gpu: %s is missing, and the default is that of a V100 (write %s)",
				keys[i],
				i == 0 ? "for example generation = \"ada\"" : "the number of SMs");
	if (check->gpu->multiprocessors_count > 512)
		diag_error(check->diag, origin_of(check, "multiprocessors"),
			   "gpu: multiprocessors = %.0f is more than any GPU has (write the number "
			   "of SMs, not of CUDA cores)",
			   check->gpu->multiprocessors_count);
}

/* Checks that fp32 = SMs x lanes x 2 x clock. */
static void check_fp32(const struct check *check)
{
	const struct gpu_params *gpu = check->gpu;
	const double *lanes = check->generation->lanes;
	if (gpu->boost_clock_Hz <= 0)
		return;
	if (gpu->boost_clock_Hz < 0.5e9 || gpu->boost_clock_Hz > 3.5e9) {
		diag_error(check->diag, origin_of(check, "boost_clock"),
			   "gpu: boost_clock = %s is not the clock of a GPU (write for example "
			   "\"1.7 GHz\")",
			   quantity_format(check->arena, QUANTITY_FREQUENCY, gpu->boost_clock_Hz));
		return;
	}
	double lane_flops = gpu->multiprocessors_count * 2 * gpu->boost_clock_Hz;
	if (near(gpu->fp32_flops, lane_flops * lanes[0]) ||
	    (lanes[1] > 0 && near(gpu->fp32_flops, lane_flops * lanes[1])))
		return;
	const char *other = lanes[1] > 0 ? arena_printf(check->arena, " or %.0f", lanes[1]) : "";
	diag_error(check->diag, origin_of(check, "fp32"),
		   "gpu: fp32 = %s does not fit %.0f SMs of %.0f%s lanes (%s) at %s: write %s%s%s, "
		   "which is SMs x lanes x 2 x boost_clock, or correct these values",
		   flops(check, gpu->fp32_flops), gpu->multiprocessors_count, lanes[0], other,
		   check->generation->name,
		   quantity_format(check->arena, QUANTITY_FREQUENCY, gpu->boost_clock_Hz),
		   flops(check, lane_flops * lanes[0]), lanes[1] > 0 ? " or " : "",
		   lanes[1] > 0 ? flops(check, lane_flops * lanes[1]) : "");
}

/* Dense peaks of tensor cores for several data types are fixed multiples of fp16's. */
static const struct multiple {
	const char *key;
	enum number_type type;
	double ratio; /* ratio to the fp16 peak */
	const char *words;
} tf32_multiple = {"tf32", NUMBER_TF32, 0.5, "half of"},
  bf16_multiple = {"bf16", NUMBER_BF16, 1, "the same as"},
  fp8_multiple = {"fp8", NUMBER_FP8, 2, "twice"};

static void check_multiple(const struct check *check, const struct multiple *multiple,
			   double value_flops)
{
	bool has = gpu_generation_has(check->gpu->generation, multiple->type);
	const char *key = multiple->key, *name = check->generation->name;
	const char *fp16 = flops(check, check->gpu->fp16_flops);
	double wanted_flops = check->gpu->fp16_flops * multiple->ratio;
	struct origin origin = origin_of(check, key);
	if (!has && value_flops > 0)
		diag_error(check->diag, origin, "gpu: %s = %s, but %s GPUs have no %s (remove it)",
			   key, flops(check, value_flops), name, key);
	if (!has || wanted_flops <= 0)
		return;
	if (!cfg_child(check->group, key))
		diag_error(
			check->diag, origin,
			"gpu: %s is missing, although %s GPUs have it (write %s = \"%s\", %s fp16)",
			key, name, key, flops(check, wanted_flops), multiple->words);
	else if (value_flops > 0 && !near(value_flops, wanted_flops))
		diag_error(check->diag, origin,
			   "gpu: %s = %s is not %s fp16 = %s (write the dense peak with sums in "
			   "fp32, for example %s)",
			   key, flops(check, value_flops), multiple->words, fp16,
			   flops(check, wanted_flops));
}

static void check_tensor(const struct check *check)
{
	const struct gpu_params *gpu = check->gpu;
	const struct gpu_generation_facts *generation = check->generation;
	double most_flops = gpu->fp32_flops * generation->tensor_ratio;
	if (gpu->fp16_flops > most_flops * (1 + ROUNDING_RATIO)) {
		diag_error(check->diag, origin_of(check, "fp16"),
			   "gpu: fp16 = %s is %.1f times fp32; %s GPUs have at most %g times "
			   "(write the dense peak, without sparsity)",
			   flops(check, gpu->fp16_flops), gpu->fp16_flops / gpu->fp32_flops,
			   generation->name, generation->tensor_ratio);
		return; /* the other peaks are compared with it */
	}
	if (gpu->fp16_flops > 0 && gpu->fp16_flops < gpu->fp32_flops * (1 - ROUNDING_RATIO))
		diag_error(check->diag, origin_of(check, "fp16"),
			   "gpu: fp16 = %s is less than fp32 = %s (write the peak of the tensor "
			   "cores, or remove it)",
			   flops(check, gpu->fp16_flops), flops(check, gpu->fp32_flops));
	check_multiple(check, &tf32_multiple, gpu->tf32_flops);
	check_multiple(check, &bf16_multiple, gpu->bf16_flops);
	check_multiple(check, &fp8_multiple, gpu->fp8_flops);
}

static void check_memory(const struct check *check)
{
	const struct gpu_params *gpu = check->gpu;
	const struct gpu_generation_facts *generation = check->generation;
	double bits = gpu->memory_bus_count;
	if (bits <= 0)
		return;
	bool hbm = bits >= HBM_BITS;
	/* 32 bits of GDDR hold from one chip of 128 MiB to two chips of 3 GiB; 1024 bits of HBM are
	 * a stack. */
	double most_B = hbm ? bits / 1024 * 48 * 0x1p30 : bits / 32 * 6 * 0x1p30;
	double least_B = hbm ? bits / 1024 * 0x1p30 : bits / 32 * 0x1p27;
	double pin_bps = gpu->memory_bandwidth_Bps * 8 / bits;
	double most_bps = generation->pin_bps[hbm];
	const char *bus =
		arena_printf(check->arena, "a bus of %.0f bits (%s)", bits, hbm ? "HBM" : "GDDR");
	if (most_bps == 0)
		diag_error(
			check->diag, origin_of(check, "memory_bus"),
			"gpu: memory_bus = %.0f, but %s GPUs have no HBM (write the width in bits)",
			bits, generation->name);
	else if (pin_bps > most_bps || pin_bps < most_bps / 10)
		diag_error(check->diag, origin_of(check, "memory_bandwidth"),
			   "gpu: memory_bandwidth = %s is %.3g Gbit/s per pin of %s; %s GPUs have "
			   "up to %.3g (write at most %s, or correct memory_bus)",
			   quantity_format(check->arena, QUANTITY_RATE, gpu->memory_bandwidth_Bps),
			   pin_bps / 1e9, bus, generation->name, most_bps / 1e9,
			   quantity_format(check->arena, QUANTITY_RATE, most_bps * bits / 8));
	if (gpu->memory_B > most_B || gpu->memory_B < least_B)
		diag_error(check->diag, origin_of(check, "memory"),
			   "gpu: memory = %s does not fit %s, which has %s to %s (write the size "
			   "of the whole memory, or correct memory_bus)",
			   quantity_format(check->arena, QUANTITY_BYTES, gpu->memory_B), bus,
			   quantity_format(check->arena, QUANTITY_BYTES, least_B),
			   quantity_format(check->arena, QUANTITY_BYTES, most_B));
}

/* group is the group `gpu` of the file, which was read without errors. */
static void check_gpu(struct arena *arena, struct diag *diag, const struct cfg_node *group)
{
	static const char *const also[] = {"like"};
	struct gpu_params gpu;
	if (!cfg_params(cfg_resolution_new(arena), arena, diag, group, "gpu", "gpu", &gpu_table,
			also, 1, &gpu))
		return;
	const struct check check = {arena, diag, group, &gpu, gpu_generation_facts(gpu.generation)};
	check_given(&check);
	check_fp32(&check);
	check_tensor(&check);
	check_memory(&check);
}

static void check_case(const struct command *command, struct diag *diag, const char *path,
		       const struct setting *settings, size_t count)
{
	const struct case_request request = {.path = path,
					     .settings = settings,
					     .setting_count = count,
					     .data_root = command->data_root};
	case_read(command->arena, diag, &request);
}

/* Reads a call file, and describes it by its calls and the time of its median step. */
static const char *check_calls(const struct command *command, struct diag *diag, const char *path)
{
	const struct calls_params params = {.kernel_ratio = 1, .think_ratio = 1};
	const struct recorded_calls *recorded = call_file_read(command->arena, diag, path);
	struct replay_step step;
	if (!recorded ||
	    !replay_step_find(diag, (struct origin){path, 0}, recorded, &params, &step))
		return "recording";
	size_t ranks = 0;
	for (const struct recorded_calls *rank = recorded; rank; rank = rank->next)
		ranks++;
	return arena_printf(
		command->arena, "recording%s: %zu calls by %u threads%s%s; %zu marked steps, %s %s",
		ranks > 1 ? arena_printf(command->arena, " of %zu ranks, the first", ranks) : "",
		recorded->call_count, (unsigned)recorded->thread_count,
		recorded->gpu[0] ? " on " : "", recorded->gpu,
		recorded->mark_count ? recorded->mark_count - 1 : 0,
		step.marked ? "the median one" : "all of it",
		quantity_format(command->arena, QUANTITY_TIME, step.end_s - step.start_s));
}

/* Returns true if the first line of a file names the format of recordings of probes. */
static bool is_of_a_probe(const char *path)
{
	char text[64] = "";
	const char *why;
	FILE *file = file_once(path, &why);
	if (!file)
		return false;
	(void)!fgets(text, sizeof text, file);
	fclose(file);
	return strstr(text, "\"farwire-samples\"") != NULL;
}

/* Reads a dataset, and the case of each row until one has errors. */
static const char *check_dataset(const struct command *command, struct diag *diag, const char *path)
{
	const struct dataset *dataset =
		dataset_read(command->arena, diag, command->data_root, path, NULL, 0);
	for (size_t i = 0; dataset && i < dataset->row_count && diag_count(diag) == 0; i++) {
		const struct case_request request =
			dataset_request(&dataset->rows[i], command->data_root);
		(void)case_read(command->arena, diag, &request);
	}
	return dataset && dataset->what_if ? "what-if" : "dataset";
}

/* Checks a file as the kind of file that its group names. Parts of a case, such as a stack, are
 * checked in a small shipped case. Returns the word for the kind. */
static const char *check_file(const struct command *command, struct diag *diag, const char *path)
{
	if (ends_in(path, ".jsonl") && is_of_a_probe(path)) {
		const struct recording *recording = recording_read(command->arena, diag, path);
		return arena_printf(command->arena, "recording of %zu points",
				    recording ? recording->points.count : 0);
	}
	if (ends_in(path, ".jsonl") || ends_in(path, ".jsonl.gz"))
		return check_calls(command, diag, path);
	const struct cfg_node *file = cfg_read(command->arena, diag, path);
	if (!file)
		return "file";
	if (cfg_child(file, "case")) {
		check_case(command, diag, path, command->settings, command->setting_count);
		return "case";
	}
	static const struct {
		const char *group, *what, *topology, *key, *further[2];
	} parts[] = {
		{"topology", "topology", "t320-same-esxi", "case.topology", {"case.gpu="}},
		{"network", "model", "t320-same-esxi", "case.model", {"case.gpu="}},
		{"engine", "engine", "dgx-h100", "case.engine", {"serve.rate=1"}},
		{"stack", "stack", "dgx-h100", "case.stack", {"case.gpu="}},
		{"gpu", "GPU", "workstation-2", "gpu.*.profile", {"case.gpus=2"}},
		{"machine", "machine", "dgx1-v100-torus", "cluster.machine", {"cluster.count=2"}},
		{"wiring", "network", "dgx1-v100-torus", "cluster.network", {"cluster.count=2"}},
		{"exchange", "exchange", "c10-p100", "case.exchange", {"case.gpus=4"}},
		{"storage", "storage", "c10-p100", "input.source", {"case.gpus=2"}},
		{"runtime",
		 "runtime",
		 "t320-same-esxi",
		 "case.runtime",
		 {"case.program=client", "case.server=server"}},
	};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (!cfg_child(file, parts[i].group))
			continue;
		const struct setting settings[] = {
			{arena_printf(command->arena, "case.topology=%s", parts[i].topology),
			 {"check", 0}},
			{arena_printf(command->arena, "%s=%s", parts[i].key, path), {"check", 0}},
			{parts[i].further[0], {"check", 0}},
			{parts[i].further[1], {"check", 0}}};
		check_case(command, diag, NULL, settings, parts[i].further[1] ? 4 : 3);
		if (strcmp(parts[i].group, "gpu") == 0 && diag_count(diag) == 0)
			check_gpu(command->arena, diag, cfg_child(file, "gpu"));
		return parts[i].what;
	}
	if (cfg_child(file, "dataset"))
		return check_dataset(command, diag, path);
	if (!cfg_child(file, "parameters") && !cfg_child(file, "fit"))
		diag_error(diag, cfg_origin(file),
			   "the file has none of the groups case, topology, machine, wiring, "
			   "network, stack, exchange, storage, runtime, gpu, parameters, dataset, "
			   "fit (write one of them as NAME = { ... })");
	return "file";
}

static int run(const struct command *command)
{
	int code = EXIT_DONE;
	for (size_t i = 0; i < command->word_count; i++) {
		struct diag *diag = diag_new(command->arena);
		const char *what = check_file(command, diag, command->words[i]);
		diag_print(diag, stderr);
		if (diag_count(diag))
			code = EXIT_USAGE;
		else if (!command->quiet)
			printf("%s: no errors in this %s\n", command->words[i], what);
	}
	return code;
}

const struct verb verb_check = {
	.name = "check",
	.words = "FILE...",
	.help = "reads configuration files and recordings, and lists their errors",
	.examples = "  farwire check case.cfg my-topology.cfg\n"
		    "  farwire check calls.jsonl   # also prints the step time of the recording\n",
	.options = "set quiet color",
	.run = run,
};
