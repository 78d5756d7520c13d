/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/rescale.h"

enum kernel_limit { KERNELS_COMMUNICATION, KERNELS_PRODUCT, KERNELS_PASS };

static const struct kernel_class {
	enum kernel_limit limit;
	const char *words;
	double share; /* that follows the rate of arithmetic */
	const char *patterns;
} classes[] = {
#define KERNEL_CLASS(limit, words, share, patterns) {KERNELS_##limit, words, share, patterns},
#include "sim/traces/kernel_classes.def"
#undef KERNEL_CLASS
};
enum { CLASS_COUNT = sizeof classes / sizeof classes[0] };

/* Returns true if the name contains one of the patterns, which blanks divide. Without patterns it
 * is true. */
static bool has_any(const char *name, const char *patterns)
{
	for (const char *at = patterns; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		for (const char *c = name; *c; c++)
			if (strncmp(c, at, length) == 0)
				return true;
		at += length;
	}
	return !*patterns;
}

static const struct kernel_class *class_of(const char *name)
{
	size_t i = 0;
	while (!has_any(name, classes[i].patterns))
		i++;
	return &classes[i];
}

/* Names of cuBLAS and cuDNN have the type in several spellings. s1688 without a type is TF32, and
 * s16816 without one is fp16, because these are the shapes of their instructions. */
enum number_type kernel_number_type(const char *name)
{
	static const struct {
		enum number_type type;
		const char *patterns;
	} rows[] = {
		{NUMBER_FP8, "e4m3 e5m2 fp8"},
		{NUMBER_BF16, "bf16 bfloat16 BFloat16"},
		{NUMBER_TF32, "tf32"},
		{NUMBER_FP16, "fp16 f16 half Half h884 h1688 h16816 hgemm"},
		{NUMBER_TF32, "s1688"},
		{NUMBER_FP16, "s884 s16816"},
		{NUMBER_FP32, ""},
	};
	size_t i = 0;
	while (!has_any(name, rows[i].patterns))
		i++;
	return rows[i].type;
}

const char *recorded_kernel_name(const struct recorded_call *call)
{
	return call->label ? call->label : call->function;
}

static const struct kernel_moved *look_up(struct arena *arena, struct rescaling *r,
					  const char *name)
{
	for (size_t i = 0; i < r->kernels.count; i++)
		if (r->kernels.items[i].name == name)
			return &r->kernels.items[i];
	struct kernel_moved *kernel = VEC_PUSH(arena, &r->kernels);
	*kernel = (struct kernel_moved){name, class_of(name), kernel_number_type(name), 1, 1, 1};
	if (kernel->class->limit == KERNELS_COMMUNICATION)
		return kernel;
	if (kernel->class->limit == KERNELS_PASS)
		kernel->type = NUMBER_FP32;
	kernel->arithmetic_ratio =
		gpu_peak_flops(r->from, kernel->type) / gpu_peak_flops(r->to, kernel->type);
	kernel->memory_ratio = r->from->memory_bandwidth_Bps / r->to->memory_bandwidth_Bps;
	if (!r->same_model)
		kernel->memory_ratio *=
			r->from->memory_efficiency_ratio / r->to->memory_efficiency_ratio;
	double share = kernel->class->share;
	double odds = share / (1 - share) * r->arithmetic_ratio;
	share = odds / (1 + odds);
	kernel->ratio = pow(kernel->arithmetic_ratio, share) * pow(kernel->memory_ratio, 1 - share);
	return kernel;
}

static double scaled_s(const struct rescaling *r, double time_s, double ratio)
{
	double floor_s = fmin(time_s, r->from->kernel_floor_s);
	return floor_s + (time_s - floor_s) * ratio;
}

double rescale_s(struct arena *arena, struct rescaling *r, const char *name, double time_s)
{
	return scaled_s(r, time_s, look_up(arena, r, name)->ratio);
}

struct class_sum {
	double from_s, to_s, low_s, high_s;
};

/* Adds a kernel to the sum of its class, which is at the first row with the class's words. */
static void add(struct class_sum sums[CLASS_COUNT], const struct rescaling *r,
		const struct kernel_moved *kernel, double time_s)
{
	double least = fmin(kernel->memory_ratio, kernel->arithmetic_ratio);
	double most = fmax(kernel->memory_ratio, kernel->arithmetic_ratio);
	size_t i = 0;
	while (strcmp(classes[i].words, kernel->class->words) != 0)
		i++;
	sums[i].from_s += time_s;
	sums[i].to_s += scaled_s(r, time_s, kernel->ratio);
	sums[i].low_s += scaled_s(r, time_s, least);
	sums[i].high_s += scaled_s(r, time_s, most);
}

const char *rescale_words(struct arena *arena, const struct recorded_calls *recorded,
			  const struct replay_step *step, struct rescaling *r, const char **lacking)
{
	struct class_sum sums[CLASS_COUNT] = {0}, all = {0};
	const char *words = "";
	*lacking = NULL;
	for (size_t i = 0; i < recorded->call_count; i++) {
		const struct recorded_call *call = &recorded->calls[i];
		if (!(call->gpu_s > 0) || call->copy != COPY_NONE ||
		    call->start_s < step->start_s || call->start_s > step->end_s)
			continue;
		const struct kernel_moved *kernel = look_up(arena, r, recorded_kernel_name(call));
		add(sums, r, kernel, call->gpu_s);
		if (kernel->type != NUMBER_TF32 && !gpu_has(r->to, kernel->type))
			*lacking = kernel->name;
	}
	for (size_t i = 0; i < CLASS_COUNT; i++) {
		all.from_s += sums[i].from_s;
		all.to_s += sums[i].to_s;
		all.low_s += sums[i].low_s;
		all.high_s += sums[i].high_s;
	}
	if (!(all.from_s > 0))
		return "the recording has no kernels to scale";
	for (size_t i = 0; i < CLASS_COUNT; i++)
		if (sums[i].from_s > 0)
			words = arena_printf(arena, "%s%s %s %.0f %% by %.3g", words,
					     *words ? "," : "", classes[i].words,
					     100 * sums[i].from_s / all.from_s,
					     sums[i].to_s / sums[i].from_s);
	return arena_printf(arena,
			    "kernel times are scaled by %.3g in all (by between %.3g and %.3g, if "
			    "memory or arithmetic limited each kernel):%s",
			    all.to_s / all.from_s, all.low_s / all.from_s, all.high_s / all.from_s,
			    words);
}
