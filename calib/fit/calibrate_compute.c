/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic and memory bandwidth of a GPU. */
#include "calib/fit/calibrating.h"
#include "calib/fit/law.h"
#include "sim/base/param.h"

static const double KERNELS_LIMIT = 0.10, CALLS_LIMIT = 0.05;
/* The probe repeats a short product that many times in a graph. */
static const double GRAPH_NODES = 20;
/* A constant is unknown if the ends of its interval differ by more than this factor. */
static const double KNOWN_TIMES = 10;
/* Bandwidth where neither a file nor the recording has one. The fit changes it. */
static const double BANDWIDTH_BPS = 1e12;

/* ---- kernels ---- */

/* The groups of kernels: the products of each number type, and attention. */
enum { ATTENTION = LAW_TYPES, GROUPS };

struct fitted_kernels {
	struct law law;
	struct pass_values values;
	const struct recording_point *from[LAW_POINTS_MAX];
	struct law_point points[LAW_POINTS_MAX];
	size_t count;
	struct estimate constants[LAW_CONSTANTS];
};

static bool estimate_kernels(const struct pass_draw *draw, double *out, void *ctx)
{
	const struct fitted_kernels *p = ctx;
	double drawn[LAW_POINTS_MAX];
	if (!pass_values_draw(&p->values, draw, drawn))
		return false;
	law_step(&p->law, drawn, out);
	return true;
}

static bool says(const struct recording_point *point, const char *key, const char *value)
{
	const char *word = recording_point_word(point, key);
	return word && strcmp(word, value) == 0;
}

static bool kernel_of(const struct recording_point *point, size_t group, struct single_kernel *run)
{
	const struct kernel_product product = {recording_point_number(point, "m", 0),
					       recording_point_number(point, "n", 0),
					       recording_point_number(point, "k", 0), 1};
	double queries = recording_point_number(point, "queries", 0);
	double heads = recording_point_number(point, "heads", 0);
	const struct kernel_attention attention = {
		.sequences = recording_point_number(point, "sequences", 1),
		.queries = queries,
		.keys = recording_point_number(point, "keys", queries),
		.heads = heads,
		.kv_heads = recording_point_number(point, "kv_heads", heads),
		.head_size = recording_point_number(point, "head_size", 0),
		.window = recording_point_number(point, "window", 0),
		.element_B = says(point, "cache", "fp8") ? 1 : 2,
		.causal = !says(point, "causal", "false")};
	*run = group == ATTENTION
		       ? single_attention(says(point, "type", "fp16") ? NUMBER_FP16 : NUMBER_BF16,
					  attention)
		       : single_product((enum number_type)group, product,
					says(point, "quantise", "true"),
					says(point, "plain", "true"));
	const char *copies = recording_point_word(point, "copies");
	if (group != ATTENTION && copies)
		run->work.repeated_B =
			run->work.bytes_B + (atof(copies) - 1) * product.k * product.n *
						    number_type_B((enum number_type)group);
	return group == ATTENTION ? queries >= 1 && attention.keys >= queries && heads >= 1 &&
					    attention.head_size >= 1 && attention.sequences >= 1 &&
					    attention.kv_heads >= 1
				  : product.m >= 1 && product.n >= 1 && product.k >= 1;
}

static size_t kernels_of(struct calibrating *c, size_t group,
			 const struct recording_point *const **points)
{
	const char *words = group == ATTENTION
				    ? ""
				    : arena_printf(c->arena, "type=%s",
						   number_type_name((enum number_type)group));
	return recording_find(c->recording, c->arena, group == ATTENTION ? "attention" : "gemm",
			      words, points);
}

/* Collects points of these groups, evenly if they are many. */
static void collect(struct calibrating *c, const bool with[GROUPS], struct fitted_kernels *p)
{
	const struct recording_point *const *points;
	size_t all = 0, seen = 0;
	for (size_t group = 0; group < GROUPS; group++) {
		size_t count = with[group] ? kernels_of(c, group, &points) : 0;
		for (size_t i = 0; i < count; i++)
			all += !points[i]->held_out;
	}
	size_t every = all / LAW_POINTS_MAX + 1;
	p->count = 0;
	for (size_t group = 0; group < GROUPS; group++) {
		size_t count = with[group] ? kernels_of(c, group, &points) : 0;
		for (size_t i = 0; i < count; i++) {
			struct law_point *to = &p->points[p->count];
			if (points[i]->held_out || p->count == LAW_POINTS_MAX ||
			    !(points[i]->value > p->law.gpu.kernel_floor_s) ||
			    !kernel_of(points[i], group, &to->run) || seen++ % every != 0)
				continue;
			to->time_s = points[i]->value;
			p->from[p->count++] = points[i];
		}
	}
}

/* Fits the kernels of these groups. The passes give intervals, which are at least as wide as the
 * residuals require. */
static bool fit_kernels(struct calibrating *c, const bool with[GROUPS],
			const bool offered[LAW_CONSTANTS], struct fitted_kernels *p)
{
	collect(c, with, p);
	if (!law_fit(c->arena, p->points, p->count, offered, &p->law))
		return false;
	p->values = pass_values_of(c->arena, p->from, p->count, c->recording->pass_count);
	struct interval_spec spec = calibrating_spec(c, "gemm");
	spec.estimate = estimate_kernels;
	spec.ctx = p;
	spec.output_count = LAW_CONSTANTS;
	interval_of_passes(&spec, p->constants);
	double freedom_count = fmax(1, (double)p->count - LAW_CONSTANTS);
	double quantile = num_student_quantile(0.5 + c->confidence / 2, freedom_count);
	for (size_t k = 0; k < LAW_CONSTANTS; k++) {
		struct estimate *to = &p->constants[k];
		double times = exp(quantile * p->law.error_ratio[k]);
		to->low = fmin(to->value / times, isnan(to->low) ? INFINITY : to->low);
		to->high = fmax(to->value * times, isnan(to->high) ? 0 : to->high);
	}
	return true;
}

static bool is_determined(struct estimate value)
{
	return value.high <= KNOWN_TIMES * value.low;
}

/* The same, but a shared constant that the kernels do not determine keeps its value in `before`,
 * and the others are fitted again. */
static bool fit_determined(struct calibrating *c, const bool with[GROUPS],
			   const bool offered[LAW_CONSTANTS], const struct law *before,
			   struct fitted_kernels *p)
{
	bool left[LAW_CONSTANTS];
	memcpy(left, offered, sizeof left);
	for (;;) {
		size_t worst = LAW_CONSTANTS;
		p->law = *before;
		if (!fit_kernels(c, with, left, p)) {
			p->law = *before;
			return false;
		}
		for (size_t k = LAW_FILL; k < LAW_CONSTANTS; k++)
			if (isfinite(p->law.error_ratio[k]) && !is_determined(p->constants[k]) &&
			    (k != LAW_OPERAND || p->constants[k].value < 1) &&
			    (worst == LAW_CONSTANTS ||
			     p->law.error_ratio[k] > p->law.error_ratio[worst]))
				worst = k;
		if (worst == LAW_CONSTANTS)
			return true;
		left[worst] = false;
	}
}

/* Returns the geometric mean of how far the held-out kernels are from the law, as a part. */
static double geomean_of(const struct recording_point *const *points, size_t count, size_t group,
			 const struct law *law)
{
	double sum = 0, held_out_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct single_kernel run;
		if (!points[i]->held_out || !kernel_of(points[i], group, &run))
			continue;
		sum += fabs(log(law_at(law, &run) / points[i]->value));
		held_out_count++;
	}
	return exp(sum / held_out_count) - 1;
}

/* Adds the kernels of a group to the page, evenly if they are many, and judges them. `before` is
 * the law without this fit. */
static const struct calibration_series *show(struct calibrating *c, size_t group,
					     const struct law *law, const struct law *before)
{
	const struct recording_point *const *points;
	size_t count = kernels_of(c, group, &points), every = count / SEGMENTS_POINTS_MAX + 1;
	struct calibration_point *to = ARENA_ARRAY(c->arena, count + 1, struct calibration_point);
	struct calibration_series *series = VEC_PUSH(c->arena, &c->result->series);
	double squares = 0, fitted_count = 0;
	size_t shown = 0;
	for (size_t i = 0; i < count; i += every) {
		struct single_kernel run;
		if (!kernel_of(points[i], group, &run))
			continue;
		struct estimate value = calibrating_point(points[i]);
		const struct calibration_point *at = &to[shown];
		to[shown++] = (struct calibration_point){.x = group == ATTENTION ? run.work.bytes_B
										 : run.work.flop,
							 .y = value.value,
							 .low = value.low,
							 .high = value.high,
							 .predicted = law_at(law, &run),
							 .held_out = points[i]->held_out};
		fitted_count += !at->held_out;
		squares += at->held_out ? 0 : pow(at->predicted / at->y - 1, 2);
	}
	*series = (struct calibration_series){
		.label = group == ATTENTION
				 ? "attention"
				 : arena_printf(c->arena, "gemm %s",
						number_type_name((enum number_type)group)),
		.x_name = group == ATTENTION ? "bytes" : "flop",
		.limit_ratio = KERNELS_LIMIT,
		.points = to,
		.count = shown,
		.geomean_ratio = geomean_of(points, count, group, law),
		.default_ratio = c->generation ? geomean_of(points, count, group, before) : NAN};
	series->segments.rms_ratio = sqrt(squares / fitted_count);
	calibrating_gate(c, series);
	return series;
}

/* Returns the path of a constant of the GPU's generation. A GPU that no file describes can have any
 * generation. */
static const char *constant_path(struct calibrating *c, enum law_constant constant)
{
	return arena_printf(c->arena, "kernels.%s.%s", c->generation ? c->generation : "*",
			    law_key(constant));
}

/* Writes the rate of a type as a part of the published peak. Where that is not known, the rate
 * becomes the peak. */
static void rate_found(struct calibrating *c, enum number_type type, struct estimate rate,
		       const char *quality)
{
	const char *path = constant_path(c, (enum law_constant)type);
	double peak = gpu_peak_flops(&c->gpu, type);
	if (!c->generation) {
		calibrating_found(c, arena_printf(c->arena, "gpu.*.%s", number_type_name(type)),
				  QUANTITY_FLOP_RATE, rate,
				  "rate of large matrix products (the published peak is not known "
				  "here); %s",
				  quality);
		rate = (struct estimate){1, 1, 1};
		peak = 1;
	}
	struct estimate part = estimate_scaled(rate, 1 / peak);
	if (type == NUMBER_BF16) /* fp16 and bf16 share a constant */
		for (size_t i = 0; i < c->result->parameters.count; i++) {
			struct calibrated *half = &c->result->parameters.items[i];
			if (strcmp(half->path, path) != 0)
				continue;
			half->value = (struct estimate){(half->value.value + part.value) / 2,
							fmin(half->value.low, part.low),
							fmax(half->value.high, part.high)};
			half->note = arena_printf(c->arena, "%s; and %s", half->note, quality);
			return;
		}
	calibrating_found(c, path, QUANTITY_RATIO, part,
			  "part of the peak that large matrix products reach; %s", quality);
}

static const struct param_row *row_of(enum law_constant constant)
{
	char key[64];
	size_t i = 0;
	do
		param_key(&kernel_table.rows[i], key, sizeof key);
	while (strcmp(key, law_key(constant)) != 0 && ++i < kernel_table.count);
	FW_ASSERT(i < kernel_table.count);
	return &kernel_table.rows[i];
}

static void constants_found(struct calibrating *c, enum law_constant from, enum law_constant to,
			    const struct fitted_kernels *p, const char *words)
{
	for (enum law_constant k = from; k <= to; k++) {
		const char *path = constant_path(c, k);
		const struct param_row *row = row_of(k);
		struct estimate value = p->constants[k];
		if (!is_determined(value))
			calibrating_left_out(c, path, "the measured kernels do not determine it");
		else if (value.value < row->min || value.value > row->max)
			calibrating_left_out(c, path, "%.3g is not between %.3g and %.3g%s",
					     value.value, row->min, row->max,
					     k == LAW_OPERAND ? ", because repeated products find "
								"their operands in a cache"
							      : "");
		else
			calibrating_found(c, path, row->quantity, value,
					  "from %zu %s: rms error %.2f %%", p->law.count, words,
					  100 * p->law.rms_ratio);
	}
}

static void start(struct calibrating *c, double floor_s, double memory_Bps, struct law *law)
{
	law->gpu = c->gpu;
	law->kernels = c->kernels;
	law->gpu.multiprocessors_count = c->sm_count;
	if (floor_s > 0)
		law->gpu.kernel_floor_s = floor_s;
	if (!(memory_Bps > 0) && !c->generation)
		memory_Bps = BANDWIDTH_BPS;
	if (memory_Bps > 0) {
		law->gpu.memory_bandwidth_Bps = memory_Bps;
		law->gpu.memory_efficiency_ratio = 1;
	}
	law_reached(law);
}

static void products(struct calibrating *c, struct fitted_kernels *p)
{
	const struct recording_point *const *points;
	const struct calibration_series *series[LAW_TYPES] = {0};
	bool with[GROUPS] = {false}, dropped = false, any = false;
	bool offered[LAW_CONSTANTS] = {
		[LAW_FILL] = true, [LAW_LOAD] = true, [LAW_SPLIT] = true, [LAW_OPERAND] = true};
	for (int type = 0; type < LAW_TYPES; type++) {
		enum number_type as = (enum number_type)type;
		bool there = kernels_of(c, (size_t)type, &points) > 0;
		with[type] = offered[type] = there && (!c->generation || gpu_has(&c->gpu, as));
		any |= with[type];
		if (there && !with[type])
			calibrating_left_out(
				c, arena_printf(c->arena, "gemm %s", number_type_name(as)),
				"the GPU does not have this number type");
	}
	const struct law before = p->law;
	if (!any)
		return;
	if (!fit_determined(c, with, offered, &before, p)) {
		calibrating_left_out(c, "gemm", "there are too few products of different work");
		return;
	}
	for (int type = 0; type < LAW_TYPES; type++) {
		series[type] = with[type] ? show(c, (size_t)type, &p->law, &before) : NULL;
		dropped |= with[type] && !series[type]->holds;
		with[type] = offered[type] = with[type] && series[type]->holds;
	}
	/* a type that fails its gate does not influence the others */
	if (dropped && !fit_determined(c, with, offered, &before, p))
		return;
	for (int type = 0; type < LAW_TYPES; type++)
		if (with[type]) {
			calibrating_widen(&p->constants[type], series[type]->rough_ratio);
			rate_found(c, (enum number_type)type, p->constants[type],
				   calibrating_quality(c, series[type]));
		}
	constants_found(c, LAW_FILL, LAW_OPERAND, p, "matrix products of all types");
}

/* Fits attention after products, whose constants it shares. Its part is one of the published peak,
 * or of the rate of products. */
static void attention(struct calibrating *c, struct fitted_kernels *p)
{
	static const bool with[GROUPS] = {[ATTENTION] = true};
	static const bool offered[LAW_CONSTANTS] = {
		[LAW_ATTENTION] = true,       [LAW_ATTENTION_FILL] = true,
		[LAW_ATTENTION_FLOOR] = true, [LAW_ATTENTION_STORE] = true,
		[LAW_TOKEN_FILL] = true,      [LAW_TOKEN_FLOOR] = true,
		[LAW_TOKEN_LOAD] = true};
	const struct recording_point *const *points;
	const struct law before = {.gpu = c->gpu, .kernels = c->kernels};
	if (kernels_of(c, ATTENTION, &points) == 0)
		return;
	if (c->generation) {
		struct gpu_params gpu = c->gpu;
		gpu.kernel_floor_s = p->law.gpu.kernel_floor_s;
		gpu.memory_bandwidth_Bps = p->law.gpu.memory_bandwidth_Bps;
		gpu.memory_efficiency_ratio = p->law.gpu.memory_efficiency_ratio;
		gpu.multiprocessors_count = p->law.gpu.multiprocessors_count;
		p->law.gpu = gpu;
	}
	const struct param_row *operand = row_of(LAW_OPERAND);
	if (p->law.kernels.operand_ratio > operand->max ||
	    p->law.kernels.operand_ratio < operand->min)
		p->law.kernels.operand_ratio = c->kernels.operand_ratio;
	const struct law begin = p->law;
	if (!(gpu_peak_flops(&begin.gpu, NUMBER_BF16) > 0) ||
	    !fit_determined(c, with, offered, &begin, p)) {
		calibrating_left_out(c, "attention",
				     "there are too few shapes, or no rate of products is known");
		return;
	}
	const struct calibration_series *series = show(c, ATTENTION, &p->law, &before);
	calibrating_widen(&p->constants[LAW_ATTENTION], series->rough_ratio);
	if (series->holds)
		constants_found(c, LAW_ATTENTION, LAW_TOKEN_LOAD, p, "calls of attention");
}

/* ---- memory ---- */

struct streaming {
	struct pass_values values;
	const double *sizes_B;
	double floor_s;
};

static bool estimate_rate(const struct pass_draw *draw, double *out, void *ctx)
{
	const struct streaming *s = ctx;
	double sum = 0, drawn[SEGMENTS_POINTS_MAX];
	if (!pass_values_draw(&s->values, draw, drawn))
		return false;
	for (size_t i = 0; i < s->values.point_count; i++) {
		double time_s = drawn[i] - s->floor_s;
		if (!(time_s > 0))
			return false;
		sum += s->sizes_B[i] / time_s;
	}
	*out = sum / (double)s->values.point_count;
	return true;
}

/* Fits the bandwidth of kernels that only read and write memory beyond the caches. Returns it; 0:
 * it is not known. */
static double memory(struct calibrating *c, double floor_s)
{
	static const char *const kernels[] = {"kernel=copy level=hbm", "kernel=triad level=hbm"};
	const struct recording_point *all[SEGMENTS_POINTS_MAX];
	double sizes_B[SEGMENTS_POINTS_MAX];
	size_t n = 0;
	for (size_t kind = 0; kind < 2; kind++) {
		const struct recording_point *const *points;
		size_t count =
			recording_find(c->recording, c->arena, "memory", kernels[kind], &points);
		for (size_t i = 0; i < count && n < SEGMENTS_POINTS_MAX; i++) {
			if (points[i]->held_out)
				continue;
			sizes_B[n] = recording_point_number(points[i], "size_B", 0);
			all[n++] = points[i];
		}
	}
	if (n == 0)
		return 0;
	struct streaming s = {pass_values_of(c->arena, all, n, c->recording->pass_count), sizes_B,
			      floor_s};
	struct interval_spec spec = calibrating_spec(c, "memory");
	spec.estimate = estimate_rate;
	spec.ctx = &s;
	spec.output_count = 1;
	struct estimate rate;
	if (!interval_of_passes(&spec, &rate)) {
		calibrating_left_out(c, "gpu.*.memory_efficiency",
				     "streaming kernels are faster than an empty one");
		return 0;
	}
	const char *note =
		arena_printf(c->arena, "copy and triad of %zu sizes beyond the caches: %.4g GB/s",
			     n, 1e-9 * rate.value);
	if (c->generation) {
		calibrating_found(c, "gpu.*.memory_efficiency", QUANTITY_RATIO,
				  estimate_scaled(rate, 1 / c->gpu.memory_bandwidth_Bps), "%s",
				  note);
		return rate.value;
	}
	calibrating_found(c, "gpu.*.memory_bandwidth", QUANTITY_RATE, rate,
			  "%s (the published peak is not known here)", note);
	calibrating_found(c, "gpu.*.memory_efficiency", QUANTITY_RATIO, (struct estimate){1, 1, 1},
			  "memory_bandwidth is already the bandwidth of streaming kernels");
	return rate.value;
}

/* Returns the time of a kernel without its work when many follow each other: its floor and the
 * gap to the next one. In a graph it is the slope over the number of nodes, and a part of the
 * graph's own start. Returns 0 if it was not measured. */
static double between_s(struct calibrating *c, bool graph)
{
	struct estimate floor, gap;
	const struct recording_point *const *points;
	if (graph && recording_find(c->recording, c->arena, "graph", "what=run", &points) > 0) {
		const struct calibration_series *series =
			calibrating_series(c, "graph", "what=run", "nodes", 1, CALLS_LIMIT);
		if (series && series->holds)
			return series->slope[0].value + series->start_s[0].value / GRAPH_NODES;
	}
	if (!calibrating_value(c, "kernel", "what=floor", &floor))
		return 0;
	return calibrating_value(c, "kernel", "what=gap", &gap) ? floor.value + gap.value
								: floor.value;
}

void calibrate_compute(struct calibrating *c)
{
	const struct recording_point *const *points;
	double memory_Bps = memory(c, between_s(c, false));
	struct fitted_kernels *p = ARENA_NEW(c->arena, struct fitted_kernels);
	start(c, between_s(c, true), memory_Bps, &p->law);
	if (!(c->sm_count > 0)) {
		if (recording_find(c->recording, c->arena, "gemm", "", &points) > 0)
			calibrating_left_out(c, "gemm", "the number of SMs is not known");
		return;
	}
	products(c, p);
	attention(c, p);
}
