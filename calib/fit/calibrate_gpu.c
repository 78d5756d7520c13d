/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls, kernels and copies of a GPU. */
#include "calib/fit/calibrating.h"
#include "sim/gpu/kernel.h"
#include "sim/gpu/models.h"
#include "sim/scenario/scenario.h"

static const double CALLS_LIMIT = 0.05, LINKS_LIMIT = 0.03;
/* A launch that waits for room lasts as long as the blocker in front. Two copies or kernels that
 * take turns take twice as long, with some spread. */
static const double BLOCKED_TIMES = 10, TURNS_TIMES = 1.5;
/* Values of sim/fabric's PCIe link: latency in one direction, and bytes of a packet besides its
 * data. */
static const double PCIE_LATENCY_S = 300e-9, PCIE_PAYLOAD_B = 256, PCIE_OVERHEAD_B = 24;
static const double LARGE_B = 1 << 20;
static const double INLINE_B = 65536; /* drivers use other methods for smaller copies */

/* ---- the GPU's name ---- */

/* Reads the parameters of a GPU by the name of its file, and the constants of its generation. */
static bool read_gpu(struct calibrating *c, const char *profile)
{
	const char *text = arena_printf(c->arena, "gpu.*.profile=%s", profile);
	const struct setting settings[] = {{"case.topology=pcie-8gpu", {"fit", 0}},
					   {text, {"fit", 0}},
					   {"kernel.type=fp32", {"fit", 0}}};
	const struct case_request request = {.settings = settings,
					     .setting_count = sizeof settings / sizeof settings[0],
					     .data_root = c->data_root};
	const struct scenario *scenario = case_read(c->arena, diag_new(c->arena), &request);
	if (!scenario)
		return false;
	c->gpu = scenario->topology.gpus[scenario->jobs[0].gpus[0]].params;
	c->kernels = *scenario->jobs[0].efficiency->kernels;
	return true;
}

/* Converts "NVIDIA GeForce RTX 4090" to "geforce-rtx-4090". */
static const char *name_for_paths(struct arena *arena, const char *name)
{
	char *text = arena_strdup(arena, strncmp(name, "NVIDIA ", 7) == 0 ? name + 7 : name);
	size_t length = 0;
	for (const char *from = text; *from; from++) {
		if (isalnum((unsigned char)*from))
			text[length++] = (char)tolower((unsigned char)*from);
		else if (length > 0 && text[length - 1] != '-')
			text[length++] = '-';
	}
	while (length > 0 && text[length - 1] == '-')
		length--;
	text[length] = '\0';
	return length > 0 ? text : "gpu";
}

void calibrate_gpu_name(struct calibrating *c)
{
	const char *name = c->recording->gpu;
	if (!name)
		return;
	c->result->gpu = name_for_paths(c->arena, name);
	c->sm_count = c->recording->sm_count;
	c->pcie_generation_count = c->recording->pcie_generation_count;
	c->pcie_width_count = c->recording->pcie_width_count;
	const struct gpu_model *model = gpu_model_by_name(name);
	if (model && !(c->pcie_width_count > 0)) {
		c->pcie_generation_count = model->pcie_generation;
		c->pcie_width_count = model->pcie_lanes;
	}
	if (model)
		c->result->gpu = model->profile;
	if (model && read_gpu(c, model->profile)) {
		c->generation = gpu_generation_name((enum gpu_generation)c->gpu.generation);
		if (!(c->sm_count > 0))
			c->sm_count = c->gpu.multiprocessors_count;
	} else if (read_gpu(c, "v100-sxm2")) {
		c->gpu = (struct gpu_params){.generation = GENERATION_VOLTA};
	}
}

/* ---- calls and kernels ---- */

static void scalars(struct calibrating *c)
{
	static const struct {
		const char *path, *test, *words, *other;
	} rows[] = {
#define SCALAR(path, test, words, other) {path, test, words, other},
#include "calib/fit/scalars.def"
#undef SCALAR
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct estimate value;
		const char *words = rows[i].words;
		if (!calibrating_value(c, rows[i].test, words, &value)) {
			words = rows[i].other;
			if (!calibrating_value(c, rows[i].test, words, &value))
				continue;
		}
		calibrating_found(c, rows[i].path, QUANTITY_TIME, value, "median of %s",
				  calibrating_label(c, rows[i].test, words));
	}
}

static void launch(struct calibrating *c)
{
	const struct recording_point *const *points;
	const char *words = "call=launch stream=blocked";
	if (recording_find(c->recording, c->arena, "call", words, &points) == 0)
		words = "call=launch stream=idle";
	const struct calibration_series *series =
		calibrating_series(c, "call", words, "argument_B", 1, CALLS_LIMIT);
	if (calibrating_first_holds(series))
		calibrating_found(c, "driver.launch", QUANTITY_TIME, series->start_s[0],
				  "%s; %.3g ns more per byte of arguments",
				  calibrating_quality(c, series), 1e9 * series->slope[0].value);
}

/* Collects x and values in ascending x, without held-out points. */
static size_t steps_of(struct calibrating *c, const char *test, const char *words,
		       const char *x_name, struct xy *steps)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, test, words, &points), n = 0;
	for (size_t i = 0; i < count && n < SEGMENTS_POINTS_MAX; i++) {
		struct xy step = {recording_point_number(points[i], x_name, 0), points[i]->value};
		size_t k = n++;
		for (; k > 0 && steps[k - 1].x > step.x; k--)
			steps[k] = steps[k - 1];
		steps[k] = step;
	}
	return n;
}

/* Determines the depth of the launch queue. It lies between two sizes of the measured grid,
 * which are the ends of its interval. */
static void queue_depth(struct calibrating *c)
{
	struct xy steps[SEGMENTS_POINTS_MAX];
	size_t count = steps_of(c, "queue", "", "depth", steps);
	size_t at = change_point(steps, count, BLOCKED_TIMES);
	if (count == 0)
		return;
	if (at == count || at == 0) {
		calibrating_left_out(
			c, "gpu.*.queue_depth",
			"no launch waited for room with up to %.0f operations in flight",
			steps[count - 1].x);
		return;
	}
	struct estimate depth = {steps[at].x, steps[at - 1].x + 1, steps[at].x};
	calibrating_found(c, "gpu.*.queue_depth", QUANTITY_COUNT, depth,
			  "a launch took %.3g s with %.0f in flight, and %.3g s with %.0f",
			  steps[at].y, steps[at].x, steps[at - 1].y, steps[at - 1].x);
}

static void concurrent_kernels(struct calibrating *c)
{
	struct xy steps[SEGMENTS_POINTS_MAX];
	size_t count = steps_of(c, "kernel", "what=concurrent", "kernels", steps), at = 0;
	while (at < count && steps[at].y < TURNS_TIMES)
		at++;
	if (count == 0 || at == 0)
		return;
	double most = at < count ? steps[at].x - 1 : steps[at - 1].x;
	struct estimate kernels = {steps[at - 1].x, steps[at - 1].x, most};
	calibrating_found(
		c, "gpu.*.concurrent_kernels", QUANTITY_COUNT, kernels,
		at < count ? "%.0f kernels took %.3g times as long as one; twice as many took turns"
			   : "%.0f kernels took %.3g times as long as one; more were not measured",
		steps[at - 1].x, steps[at - 1].y);
}

void calibrate_calls(struct calibrating *c)
{
	launch(c);
	scalars(c);
	queue_depth(c);
	concurrent_kernels(c);
}

/* ---- copies ---- */

static double pcie_Bps(const struct calibrating *c)
{
	static const double transfers_Hz[] = {2.5e9, 5e9, 8e9, 16e9, 32e9};
	int generation = (int)c->pcie_generation_count;
	if (generation < 1 || generation > 5 || !(c->pcie_width_count > 0))
		return 0;
	double coding_ratio = generation <= 2 ? 8.0 / 10 : 128.0 / 130;
	return transfers_Hz[generation - 1] * coding_ratio / 8 * c->pcie_width_count *
	       PCIE_PAYLOAD_B / (PCIE_PAYLOAD_B + PCIE_OVERHEAD_B);
}

/* Returns the bandwidth of large copies: that of the last line, or of a single large size if there
 * is no line. Returns false if neither is known. */
static bool large_rate(struct calibrating *c, const struct calibration_series *series,
		       const char *words, struct estimate *rate)
{
	const struct recording_point *const *points;
	struct estimate time;
	if (series) {
		*rate = interval_under(1, series->slope[series->segments.count - 1]);
		return calibrating_last_holds(series) && isfinite(rate->value);
	}
	size_t count = recording_find(c->recording, c->arena, "copy", words, &points);
	double size_B = count == 1 ? recording_point_number(points[0], "size_B", 0) : 0;
	if (size_B < LARGE_B || !calibrating_value(c, "copy", words, &time))
		return false;
	*rate = interval_under(size_B, time);
	return true;
}

static void efficiency(struct calibrating *c, const struct estimate rates[2], const bool known[2])
{
	double wire_Bps = pcie_Bps(c);
	struct estimate rate = known[0] && known[1] ? interval_mean(rates[0], rates[1])
			       : known[0]           ? rates[0]
						    : rates[1];
	const char *ways[] = {"unknown", "unknown"};
	for (size_t i = 0; i < 2; i++)
		if (known[i])
			ways[i] = arena_printf(c->arena, "%.4g GB/s", 1e-9 * rates[i].value);
	const char *text = arena_printf(c->arena, "large pinned copies: %s to the GPU, %s from it",
					ways[0], ways[1]);
	const char *link = arena_printf(
		c->arena, "PCIe gen%.0f x%.0f%s", c->pcie_generation_count, c->pcie_width_count,
		c->recording->pcie_width_count > 0 ? "" : ", which the recording does not contain");
	if (!(wire_Bps > 0))
		calibrating_left_out(
			c, "dma.efficiency",
			"the recording does not contain the PCIe link's generation and width (%s)",
			text);
	else if (rate.value > wire_Bps)
		calibrating_left_out(c, "dma.efficiency", "%s: this exceeds the bandwidth of %s",
				     text, link);
	else
		calibrating_found(c, "dma.efficiency", QUANTITY_RATIO,
				  estimate_scaled(rate, 1 / wire_Bps), "%s, of %s", text, link);
}

static void pinned(struct calibrating *c, const struct calibration_series *const series[2],
		   const char *const *words)
{
	struct estimate rates[2], starts[2];
	bool known[2];
	const char *quality = NULL;
	size_t n = 0;
	for (size_t i = 0; i < 2; i++) {
		known[i] = large_rate(c, series[i], words[i], &rates[i]);
		if (!calibrating_first_holds(series[i]))
			continue;
		starts[n++] = series[i]->start_s[0];
		quality = calibrating_quality(c, series[i]);
	}
	if (n > 0)
		calibrating_found(
			c, "dma.setup", QUANTITY_TIME,
			interval_plus(interval_mean(starts[0], starts[n - 1]), -PCIE_LATENCY_S),
			"small pinned copies, minus %.0f ns of PCIe latency; %s",
			1e9 * PCIE_LATENCY_S, quality);
	if (known[0] || known[1])
		efficiency(c, rates, known);
}

/* Determines the costs of pageable copies. Up to one chunk, the copies of the core and of the
 * engine follow each other. Beyond it they overlap, so a byte costs less. The chunk is where the
 * slope decreases. */
static void pageable(struct calibrating *c, const struct calibration_series *series)
{
	const struct segments *s = &series->segments;
	for (size_t k = 1; k < s->count; k++) {
		if (!series->piece_holds[k - 1] || !series->piece_holds[k] ||
		    s->from[k] < INLINE_B || s->lines[k].slope >= 0.95 * s->lines[k - 1].slope)
			continue;
		size_t below = 0;
		while (below + 1 < series->count && series->points[below + 1].x < s->from[k])
			below++;
		struct estimate chunk = {s->from[k], series->points[below].x, s->from[k]};
		calibrating_found(c, "dma.chunk", QUANTITY_BYTES, chunk,
				  "pageable copies cost less per byte from this size on; %s",
				  calibrating_quality(c, series));
		calibrating_found(c, "dma.chunk_start", QUANTITY_TIME,
				  interval_plus(series->start_s[k - 1], -PCIE_LATENCY_S),
				  "start of pageable copies of one chunk; %s",
				  calibrating_quality(c, series));
		return;
	}
	calibrating_left_out(c, "dma.chunk",
			     "no size was found from which a byte of a pageable copy costs less");
}

void calibrate_copies(struct calibrating *c)
{
	static const char *const words[] = {
		"direction=h2d memory=pinned call=async measure=rate",
		"direction=d2h memory=pinned call=async measure=rate",
		"direction=h2d memory=pageable call=sync measure=rate",
		"direction=d2h memory=pageable call=sync measure=rate",
	};
	const struct calibration_series *series[4];
	struct estimate share;
	for (size_t i = 0; i < 4; i++)
		series[i] = calibrating_series(c, "copy", words[i], "size_B", SEGMENTS_MAX,
					       LINKS_LIMIT);
	pinned(c, series, words);
	if (series[2])
		pageable(c, series[2]);
	if (calibrating_value(c, "share", "with=d2h of=h2d", &share)) {
		double engines = share.value < TURNS_TIMES ? 2 : 1;
		calibrating_found(
			c, "gpu.*.copy_engines", QUANTITY_COUNT,
			(struct estimate){engines, engines, engines},
			"a copy to the GPU takes %.2f times as long beside a copy from it",
			share.value);
	}
}
