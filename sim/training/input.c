/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/input.h"
#include "sim/engine/trace.h"

static const struct param_row input_rows[] = {
	PARAM_TEXT(struct input_params, source, "gpu",
		   "source of input: gpu (synthetic on the GPU, no pipeline), host (synthetic in "
		   "host memory, copied), or the name of a storage of models/storages/",
		   "tf_cnn_benchmarks without --data_dir: synthetic images on the GPU"),
	PARAM_NUMBER(struct input_params, image_B, QUANTITY_BYTES, 1, 1e12, "115 kB",
		     "mean size of an encoded image",
		     "derived: ILSVRC2012_img_train.tar, 147,897,477,120 B of 1,281,167 images"),
	COST_ASSUMED(struct input_params, decode_s, QUANTITY_TIME, 0, 10, "4 ms",
		     "core time to prepare an image (decode, crop, resize) at 2.4 GHz",
		     "assumption: tf.image decodes 689 ImageNet JPEGs per second on a core of a "
		     "Xeon 8581C (arXiv 2605.08731), so 2.4 ms at 2.4 GHz; the rest is for "
		     "cropping, resizing and an older core"),
	PARAM_BOOL(struct input_params, distortions, "false",
		   "whether brightness, saturation, hue and contrast of images are distorted",
		   "benchmarks turn distortions off where the CPU would limit them "
		   "(tf_cnn_benchmarks --nodistortions)"),
	COST_ASSUMED(struct input_params, distort_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-3, "6.6 ns/B",
		     "work of distortions per byte of fp32 pixels, on one core at 2.4 GHz",
		     "assumption: as much as decoding, 4 ms for an image of 224 x 224 x 3"),
	PARAM_WHOLE(struct input_params, decode_threads_count, 0, 1024, "0",
		    "number of threads that decode for a rank; 0 means one for each core that the "
		    "rank may use",
		    "TensorFlow: intra- and inter-op threads default to the number of cores"),
	PARAM_WHOLE(struct input_params, prefetch_count, 1, 1e6, "1",
		    "number of batches in host memory that are being decoded or wait for the GPU",
		    "tf_cnn_benchmarks: datasets_prefetch_buffer_size, 1"),
	PARAM_NUMBER(struct input_params, element_B, QUANTITY_BYTES, 0.5, 16, "4 B",
		     "bytes of one channel of a decoded pixel when it is copied to the GPU",
		     "tf_cnn_benchmarks of 2017 and 2018: fp32"),
	PARAM_BOOL(struct input_params, staged, "true",
		   "whether the next batch is copied while the GPU computes",
		   "tf_cnn_benchmarks: a StagingArea on each GPU"),
	PARAM_BOOL(struct input_params, pinned, "true", "whether batches are in pinned memory",
		   "tf_cnn_benchmarks: force_gpu_compatible"),
	PARAM_WHOLE(
		struct input_params, copy_threads_count, 0, 1024, "0",
		"number of threads of a process that copy to its GPUs; 0 means one for each GPU",
		"assumption: each GPU has its own copy engine and stream"),
	PARAM_BOOL(struct input_params, one_process, "false",
		   "whether all GPUs of a machine have one process; otherwise each GPU has its own",
		   "Horovod: one process for each GPU; TensorFlow's own replication: one for each "
		   "machine"),
	COST_ASSUMED(struct input_params, feed_s, QUANTITY_TIME, 0, 1, "100 us",
		     "host work to pass a batch to the framework, at 2.4 GHz",
		     "assumption: a few ops of the framework, about 10 us each"),
	PARAM_BOOL(struct input_params, lockstep, "false",
		   "whether decoding, copying and computing are ops of one framework call, so that "
		   "they begin and end together on all GPUs of a process",
		   "input pipelines run in the background: tf.data, PyTorch's workers, DALI"),
	COST_ASSUMED(
		struct input_params, session_s, QUANTITY_TIME, 0, 1, "0 us",
		"work of one thread for each image of the process before each framework call "
		"(with lockstep), at 2.4 GHz",
		"assumption: the size of a step's graph does not depend on the batch; 0 is exact, "
		"because there is no call for an image"),
};
const struct param_table input_table = PARAM_TABLE("input", struct input_params, input_rows);

/* Maximum number of batches that are being read, or are read and not yet being decoded. */
enum { READ_AHEAD = 2 };
/* The decoder reads what it decodes once from memory and writes each pixel once. */
static const double DRAM_OF_DECODING = 1;
static const double FP32_B = 4;

struct input_process {
	size_t threads_count;       /* copying threads; 0: one for each rank */
	size_t copying_count;       /* ranks that copy now */
	struct input *first, *last; /* ranks that wait for a copying thread */
	struct input *members;      /* the process's ranks, newest first */
	/* Only with lockstep. */
	bool preparing;         /* a thread prepares the next session */
	size_t under_way_count; /* stages of this session that have not ended, on all ranks */
};

enum stage { READ, DECODE, COPY, STAGE_COUNT };

struct stage_work {              /* of one stage */
	uint64_t started, ended; /* numbers of batches; started - ended is 0 or 1 */
	int64_t since_ps;        /* time at which the last batch started */
};

struct input {
	struct input_spec spec;
	struct input_process *process;
	struct input *next;        /* the next rank that waits for a copying thread */
	struct input *next_member; /* the next rank of the process */
	struct stage_work stages[STAGE_COUNT];
	uint64_t requested, taken; /* batches that input_take requested, and batches delivered */
	struct callback take;      /* of the last input_take */
	double threads_begun;
	struct input_counters counters;
	struct callback first; /* called when the first batch is ready */
};

static void advance(struct input *input);

struct input_process *input_process_new(struct arena *arena, const struct input_params *params)
{
	struct input_process *process = ARENA_NEW(arena, struct input_process);
	*process = (struct input_process){.threads_count = (size_t)params->copy_threads_count};
	return process;
}

static bool is_idle(const struct input *input, enum stage stage)
{
	return input->stages[stage].started == input->stages[stage].ended;
}

/* Records the time from which the stage is busy. */
static void stage_begin(struct input *input, enum stage stage)
{
	input->stages[stage].since_ps = engine_now_ps(input->spec.engine);
}

static void stage_end(struct input *input, enum stage stage, double *busy_s)
{
	static const char *const names[] = {"read", "decode", "copy"};
	static const enum span_kind kinds[] = {SPAN_WIRE, SPAN_CPU, SPAN_COPY};
	struct stage_work *work = &input->stages[stage];
	int64_t now_ps = engine_now_ps(input->spec.engine);
	struct trace *trace = engine_trace(input->spec.engine);
	if (trace)
		trace_span(trace, trace_track(trace, input->spec.name, names[stage]), kinds[stage],
			   "batch", work->since_ps, now_ps);
	work->ended++;
	*busy_s += s_from_ps(now_ps - work->since_ps);
	if (input->spec.params->lockstep && stage != READ)
		input->process->under_way_count--;
}

/* ---- read ---- */

/* The first batch comes out of a full shuffle buffer. */
static double read_B(const struct input *input)
{
	double extra = input->stages[READ].ended == 0 ? input->spec.shuffle_count : 0;
	return (input->spec.batch_count + extra) * input->spec.params->image_B;
}

static void read_done(void *ctx, uint64_t arg)
{
	struct input *input = ctx;
	input->counters.read_B += read_B(input);
	stage_end(input, READ, &input->counters.read_busy_s);
	advance(input);
}

static void read_start(struct input *input)
{
	const struct input_spec *spec = &input->spec;
	stage_begin(input, READ);
	input->stages[READ].started++;
	bool begun = storage_read(spec->storage, spec->guest, spec->reader, read_B(input),
				  read_done, input, 0);
	FW_ASSERT(begun);
}

/* ---- decode ---- */

static void decode_done(void *ctx, uint64_t arg)
{
	struct input *input = ctx;
	if (input->threads_begun > 0)
		guest_threads_end(input->spec.guest, input->threads_begun);
	input->counters.decoded_count += input->spec.batch_count;
	stage_end(input, DECODE, &input->counters.decode_busy_s);
	advance(input);
}

/* Returns the work of decoding a batch, at the reference clock. */
static double decode_work_s(const struct input_spec *spec)
{
	const struct input_params *params = spec->params;
	double fp32_B = spec->batch_B * FP32_B / params->element_B;
	return spec->batch_count * params->decode_s +
	       (params->distortions ? fp32_B * params->distort_spB : 0);
}

static void decode_start(struct input *input)
{
	const struct input_spec *spec = &input->spec;
	const struct input_params *params = spec->params;
	stage_begin(input, DECODE);
	input->stages[DECODE].started++;
	double work_s = decode_work_s(spec);
	if (work_s <= 0) {
		engine_after(spec->engine, 0, decode_done, input, 0);
		return;
	}
	struct flow_spec flow = {.done = decode_done, .ctx = input};
	guest_work_flow(spec->guest, work_s, params->decode_threads_count, &flow);
	double memory_B = DRAM_OF_DECODING * (spec->batch_count * params->image_B + spec->batch_B);
	flow.uses[flow.use_count++] =
		(struct flow_use){host_dram(guest_host(spec->guest)), memory_B / flow.size};
	input->threads_begun = guest_threads_begin(spec->guest, params->decode_threads_count);
	fabric_flow_start(spec->fabric, &flow);
}

/* ---- copy ---- */

static void copy_begin(struct input *input);

static void copy_done(void *ctx, uint64_t arg)
{
	struct input *input = ctx;
	struct input_process *process = input->process;
	input->counters.copied_B += input->spec.batch_B;
	stage_end(input, COPY, &input->counters.copy_busy_s);
	process->copying_count--;
	struct input *next = process->first;
	if (next) {
		process->first = next->next;
		copy_begin(next);
	}
	advance(input);
}

static void copy_move(void *ctx, uint64_t arg)
{
	struct input *input = ctx;
	const struct input_spec *spec = &input->spec;
	struct dma_copy copy = {
		.engine = spec->engine,
		.fabric = spec->fabric,
		.arena = spec->arena,
		.params = spec->dma,
		.route = spec->to_device,
		.host = guest_host(spec->guest),
		.core = spec->core,
		.to_device = true,
		.pageable = !spec->params->pinned,
		.size_B = spec->batch_B,
		.done = copy_done,
		.ctx = input,
	};
	dma_start(&copy);
}

/* Called when one of the process's copying threads is free. It hands the batch over, then copies
 * it. */
static void copy_begin(struct input *input)
{
	const struct input_spec *spec = &input->spec;
	input->process->copying_count++;
	stage_begin(input, COPY);
	double work_s = spec->params->feed_s * guest_work_ratio(spec->guest) +
			guest_interrupt_s(spec->guest);
	if (work_s > 0)
		cpu_serve(spec->core, work_s, "feed", copy_move, input, 0);
	else
		copy_move(input, 0);
}

static void copy_start(struct input *input)
{
	struct input_process *process = input->process;
	input->stages[COPY].started++;
	if (process->threads_count == 0 || process->copying_count < process->threads_count) {
		copy_begin(input);
		return;
	}
	input->next = NULL;
	if (process->first)
		process->last->next = input;
	else
		process->first = input;
	process->last = input;
}

/* ---- the pipeline ---- */

/* Calls the callback of input_take if it waits and a batch is in GPU memory. */
static void deliver(struct input *input)
{
	if (input->requested == input->taken || input->stages[COPY].ended == input->taken)
		return;
	input->taken++;
	engine_after(input->spec.engine, 0, input->take.fn, input->take.ctx, input->take.arg);
}

static bool may_copy(const struct input *input)
{
	const struct stage_work *copy = &input->stages[COPY];
	bool ready = !input->spec.storage || input->stages[DECODE].ended > copy->started;
	/* With `staged`, GPU memory holds one batch more than the one that the GPU computes. */
	uint64_t most = input->spec.params->staged ? input->taken + 1 : input->requested;
	return is_idle(input, COPY) && ready && copy->started < most;
}

static bool may_decode(const struct input *input)
{
	const struct stage_work *decode = &input->stages[DECODE];
	uint64_t most = input->stages[COPY].started + (uint64_t)input->spec.params->prefetch_count;
	return is_idle(input, DECODE) && input->stages[READ].ended > decode->started &&
	       decode->started < most;
}

static bool may_read(const struct input *input)
{
	return input->spec.storage && is_idle(input, READ) &&
	       input->stages[READ].started < input->stages[DECODE].started + READ_AHEAD;
}

/* ---- in lockstep ---- */

/* Returns true if the next session must wait for this rank: it has a batch on the GPU but still
 * computes the one before, or it has no batch to decode. */
static bool holds_up(const struct input *input)
{
	const struct stage_work *stages = input->stages;
	bool computes = stages[COPY].ended > input->taken && input->requested == input->taken;
	return computes || (input->spec.storage && stages[READ].ended == stages[DECODE].started);
}

static void session_begin(void *ctx, uint64_t arg)
{
	struct input_process *process = ctx;
	process->preparing = false;
	for (struct input *input = process->members; input; input = input->next_member) {
		bool reads = input->spec.storage != NULL;
		bool copies = !reads || input->stages[DECODE].ended > input->stages[COPY].started;
		deliver(input);
		process->under_way_count += (size_t)reads + (size_t)copies;
		if (copies)
			copy_start(input);
		if (reads)
			decode_start(input);
		if (may_read(input))
			read_start(input);
	}
}

/* Prepares the next session when all stages of the last one have ended on all ranks. */
static void session_try(struct input_process *process)
{
	double images_count = 0;
	FW_ASSERT(process->members);
	if (process->preparing || process->under_way_count > 0)
		return;
	for (const struct input *input = process->members; input; input = input->next_member) {
		if (holds_up(input))
			return;
		images_count += input->spec.batch_count;
	}
	const struct input_spec *spec = &process->members->spec;
	double work_s = spec->params->session_s * images_count * guest_work_ratio(spec->guest);
	process->preparing = true;
	if (work_s > 0)
		cpu_serve(spec->core, work_s, "session", session_begin, process, 0);
	else
		engine_after(spec->engine, 0, session_begin, process, 0);
}

/* Calls `first` when the first batch is on the GPU, or waits for a step that copies it. */
static void report_first(struct input *input)
{
	const struct input_spec *spec = &input->spec;
	const struct stage_work *stages = input->stages;
	bool early = spec->params->staged || spec->params->lockstep;
	bool ready = early ? stages[COPY].ended > 0 : !spec->storage || stages[DECODE].ended > 0;
	if (!input->first.fn || !ready)
		return;
	engine_after(spec->engine, 0, input->first.fn, input->first.ctx, input->first.arg);
	input->first.fn = NULL;
}

/* Starts each stage that can start. It goes from the last stage to the first, because a stage
 * makes room for the one before it. */
static void advance(struct input *input)
{
	report_first(input);
	if (input->spec.params->lockstep) {
		if (may_read(input))
			read_start(input);
		session_try(input->process);
		return;
	}
	deliver(input);
	if (may_copy(input))
		copy_start(input);
	if (may_decode(input))
		decode_start(input);
	if (may_read(input))
		read_start(input);
}

static void begin(void *ctx, uint64_t arg)
{
	advance(ctx);
}

struct input *input_new(const struct input_spec *spec)
{
	FW_ASSERT(spec->batch_count > 0 && spec->batch_B > 0);
	struct input *input = ARENA_NEW(spec->arena, struct input);
	input->spec = *spec;
	input->spec.name = arena_strdup(spec->arena, spec->name);
	input->spec.batch_B = spec->batch_B * spec->params->element_B / FP32_B;
	input->process =
		spec->process ? spec->process : input_process_new(spec->arena, spec->params);
	input->next_member = input->process->members;
	input->process->members = input;
	if (!spec->held)
		engine_after(spec->engine, 0, begin, input, 0);
	return input;
}

void input_start(struct input *input, event_fn *fn, void *ctx, uint64_t arg)
{
	input->first = (struct callback){fn, ctx, arg};
	engine_after(input->spec.engine, 0, begin, input, 0);
}

void input_take(struct input *input, event_fn *fn, void *ctx, uint64_t arg)
{
	FW_ASSERT(input->requested == input->taken && fn != NULL);
	input->requested++;
	input->take = (struct callback){fn, ctx, arg};
	advance(input);
}

const struct input_counters *input_counters(const struct input *input)
{
	return &input->counters;
}

double input_batch_s(const struct input *input)
{
	const struct input_counters *c = &input->counters;
	const struct stage_work *stages = input->stages;
	double batch_B = input->spec.batch_count * input->spec.params->image_B, longest_s = 0;
	if (stages[READ].ended > 0)
		longest_s = c->read_busy_s * batch_B / c->read_B;
	if (stages[DECODE].ended > 0)
		longest_s = fmax(longest_s, c->decode_busy_s / (double)stages[DECODE].ended);
	if (stages[COPY].ended > 0)
		longest_s = fmax(longest_s, c->copy_busy_s / (double)stages[COPY].ended);
	return longest_s;
}

bool input_is_lockstep(const struct input *input)
{
	return input->spec.params->lockstep;
}
