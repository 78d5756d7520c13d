/* SPDX-License-Identifier: Apache-2.0 */
/* A device with planted parameters. It shares no code with the simulator, so that the recovery of
 * the planted parameters is a meaningful test.
 *
 * Host calls advance a clock by their costs. Operations stay in a list until their times follow
 * from their submission, their stream, events of other streams, and free engines. Operations behind
 * a blocker have no time until it is released. */
#include "tests/fake_gpu/fake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MULTIPROCESSORS 100

/* ---- calls ---- */

static int call_launch(struct fake *fake, const struct gpu_call *call)
{
	const struct planted *planted = &fake->planted;
	double cost_s = planted->launch_s + planted->launch_byte_spB * (double)call->argument_B;
	fake_spend(fake, cost_s);
	return fake_submit(fake, (struct fake_operation){
					 .kind = FAKE_KERNEL,
					 .stream = call->stream,
					 .slot = call->kind == GPU_STAMP ? call->slot : -1,
					 .engine = -1,
					 .spin_s = call->spin_s,
					 .duration_s = planted->floor_s,
					 .argument_B = call->argument_B,
				 });
}

static int call_copy(struct fake *fake, const struct gpu_call *call)
{
	const struct planted *planted = &fake->planted;
	static const struct {
		enum planted_copy pinned, pageable;
		int engine;
	} rules[] = {
		[GPU_H2D] = {PLANTED_H2D, PLANTED_H2D_PAGEABLE, 0},
		[GPU_D2H] = {PLANTED_D2H, PLANTED_D2H_PAGEABLE, 1},
	};
	const double costs_s[] = {planted->copy_h2d_s, planted->copy_d2h_s};
	enum planted_copy line =
		call->pageable ? rules[call->direction].pageable : rules[call->direction].pinned;
	fake_spend(fake, costs_s[call->direction]);
	int code = fake_submit(
		fake, (struct fake_operation){
			      .kind = FAKE_COPY,
			      .stream = call->stream,
			      .slot = -1,
			      .engine = rules[call->direction].engine,
			      .duration_s = planted_copy_s(planted, line, (double)call->size_B),
		      });
	if (code == GPU_OK && (call->pageable || !call->async))
		fake_wait_stream(fake, call->stream);
	return code;
}

/* Two activities at a time. */
static double both(double x, double y)
{
	return pow(pow(x, 4) + pow(y, 4), 0.25);
}

/* Time of an m x k by k x n product with one block for each tile on MULTIPROCESSORS, in waves. A
 * library takes the fastest tile and divides k into parts, whose results a further kernel adds. A
 * block loads a row and a column while it multiplies, and stores its tile. On CUDA cores, small
 * tiles need more loads into registers. Operands come from the cache, and parts go through memory.
 */
static double product_s(const struct planted *planted, const struct gpu_work *work, double peak)
{
	static const int sides[][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64},
				       {64, 128},  {64, 64},   {256, 64},  {64, 256},
				       {128, 32},  {32, 128},  {128, 16},  {16, 128},
				       {64, 32},   {32, 64},   {64, 16},   {16, 64}};
	static const int all_parts[] = {1, 2, 3, 4, 6, 8, 16, 32};
	double m = (double)work->m, n = (double)work->n, k = (double)work->k, best_s = INFINITY;
	bool half = strcmp(work->type, "fp16") == 0 || strcmp(work->type, "bf16") == 0;
	bool fp8 = strcmp(work->type, "fp8") == 0; /* its result is in bf16 */
	double size_B = fp8 ? 1 : half ? 2 : 4;
	double bytes_s = (size_B * (m * k + k * n) + (fp8 ? 2 : size_B) * m * n) / planted->l2_Bps;
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		double a = sides[i][0], b = sides[i][1], tiles = ceil(m / a) * ceil(n / b);
		double registers = strcmp(work->type, "fp32") == 0
					   ? (1 + 32 / a + 32 / b) / (1 + 32 / 64.0)
					   : 1;
		double row_s = both(registers * 2 * a * b * MULTIPROCESSORS / peak,
				    (a + b) * size_B / planted->load_Bps);
		for (size_t j = 0; j < sizeof all_parts / sizeof *all_parts; j++) {
			double parts = all_parts[j];
			if (parts > 1 && (k / parts < 64 || tiles > MULTIPROCESSORS))
				break;
			double block_s = row_s * fmax(64, k / parts) + planted->fill_s +
					 (parts > 1 ? 0 : a * b * size_B / planted->load_Bps);
			double add_s = parts > 1 ? planted->split_s + 4 * m * n * (parts + 1) /
									      planted->memory_Bps
						 : 0;
			double waves = ceil(tiles * parts / MULTIPROCESSORS);
			best_s = fmin(best_s, both(waves * block_s, bytes_s) + add_s);
		}
	}
	return best_s;
}

static double work_s(const struct fake *fake)
{
	const struct planted *planted = &fake->planted;
	const struct gpu_work *work = &fake->work;
	double one_s;
	if (work->kind == GPU_GEMM) {
		double peak = strcmp(work->type, "fp32") == 0   ? planted->fp32_flops
			      : strcmp(work->type, "tf32") == 0 ? planted->tf32_flops
			      : strcmp(work->type, "fp16") == 0 ? planted->fp16_flops
			      : strcmp(work->type, "fp8") == 0  ? 2 * planted->fp16_flops
								: planted->bf16_flops;
		one_s = product_s(planted, work, peak);
	} else {
		double rate = (double)work->bytes_B <= planted->l2_B ? planted->l2_Bps
								     : planted->memory_Bps;
		one_s = (double)work->bytes_B / rate;
	}
	double repeats = (double)work->repeats;
	return repeats * (one_s + planted->floor_s) +
	       (repeats - 1) * (work->as_graph ? planted->graph_gap_s : planted->gap_s);
}

static int call_graph(struct fake *fake, const struct gpu_call *call)
{
	const struct planted *planted = &fake->planted;
	bool graph = call->kind == GPU_GRAPH;
	double nodes = (double)fake->nodes_count;
	fake_spend(fake, graph ? planted->graph_launch_s + planted->graph_node_s * nodes
			       : planted->launch_s);
	return fake_submit(fake,
			   (struct fake_operation){
				   .kind = FAKE_KERNEL,
				   .stream = call->stream,
				   .slot = -1,
				   .engine = -1,
				   .duration_s = graph ? nodes * planted->floor_s +
								 (nodes - 1) * planted->graph_gap_s
						       : work_s(fake),
			   });
}

static int call_event(struct fake *fake, const struct gpu_call *call)
{
	bool record = call->kind == GPU_RECORD;
	fake_spend(fake, record ? fake->planted.record_s : fake->planted.wait_event_s);
	if (record)
		fake->events[call->event].open = true;
	return fake_submit(fake, (struct fake_operation){
					 .kind = record ? FAKE_RECORD : FAKE_WAIT,
					 .stream = call->stream,
					 .event = call->event,
					 .slot = -1,
					 .engine = -1,
				 });
}

/* Calls that cost host time and do nothing on the GPU. */
static int call_plain(struct fake *fake, const struct gpu_call *call)
{
	static const size_t offsets[GPU_CALL_KINDS] = {
		[GPU_GET] = offsetof(struct planted, get_s),
		[GPU_MALLOC] = offsetof(struct planted, malloc_s),
		[GPU_FREE] = offsetof(struct planted, free_s),
		[GPU_CREATE_EVENT] = offsetof(struct planted, create_event_s),
		[GPU_DESTROY_EVENT] = offsetof(struct planted, create_event_s),
	};
	double cost_s;
	memcpy(&cost_s, (const char *)&fake->planted + offsets[call->kind], sizeof(cost_s));
	fake_spend(fake, cost_s);
	return GPU_OK;
}

static int fake_call(struct probe_gpu *gpu, const struct gpu_call *call)
{
	struct fake *fake = (struct fake *)gpu;
	bool pending;
	fake->calls_count++;
	if (fake->planted.fail_after_count > 0 &&
	    (double)fake->calls_count > fake->planted.fail_after_count) {
		snprintf(gpu->why, GPU_WHY, "the planted failure occurred after %.0f calls",
			 fake->planted.fail_after_count);
		return GPU_FAILED;
	}
	switch (call->kind) {
	case GPU_LAUNCH:
	case GPU_STAMP:
		return call_launch(fake, call);
	case GPU_COPY:
		return call_copy(fake, call);
	case GPU_MEMSET:
		fake_spend(fake, fake->planted.memset_s);
		return fake_submit(
			fake, (struct fake_operation){
				      .kind = FAKE_COPY,
				      .stream = call->stream,
				      .slot = -1,
				      .engine = -1,
				      .duration_s = planted_copy_s(&fake->planted, PLANTED_MEMSET,
								   (double)call->size_B),
			      });
	case GPU_RECORD:
	case GPU_WAIT_EVENT:
		return call_event(fake, call);
	case GPU_QUERY:
		pending = fake->events[call->event].open ||
			  fake->events[call->event].time_s > fake_now_s(fake);
		fake_spend(fake,
			   pending ? fake->planted.query_pending_s : fake->planted.query_ready_s);
		return GPU_OK;
	case GPU_SYNC:
		fake_spend(fake, fake->planted.sync_s);
		fake_wait_stream(fake, call->stream);
		return GPU_OK;
	case GPU_GRAPH:
	case GPU_WORK:
		return call_graph(fake, call);
	default:
		return call_plain(fake, call);
	}
}

/* ---- other functions ---- */

static double fake_clock(struct probe_gpu *gpu)
{
	struct fake *fake = (struct fake *)gpu;
	if (!fake->real)
		fake_spend(fake, fake->planted.host_read_s);
	return fake_now_s(fake);
}

static int fake_block(struct probe_gpu *gpu, int stream, double timeout_s)
{
	struct fake *fake = (struct fake *)gpu;
	fake_spend(fake, fake->planted.launch_s);
	fake->blocked = true;
	fake->released_s = -1;
	fake->blocked_from_s = fake_now_s(fake) + fake->planted.launch_latency_s;
	fake->block_timeout_s = timeout_s;
	return fake_submit(fake,
			   (struct fake_operation){
				   .kind = FAKE_BLOCK, .stream = stream, .slot = -1, .engine = -1});
}

static int fake_release(struct probe_gpu *gpu)
{
	struct fake *fake = (struct fake *)gpu;
	if (fake->blocked && fake->released_s < 0) {
		fake->released_s = fake_now_s(fake);
		fake_know_all(fake);
	}
	fake->blocked = false;
	return GPU_OK;
}

static int fake_finish(struct probe_gpu *gpu)
{
	struct fake *fake = (struct fake *)gpu;
	fake_give_up_block(fake);
	for (size_t i = 0; i < GPU_STREAMS; i++)
		fake_advance_to(fake, fake->streams[i].end_s);
	fake_drop_done(fake);
	return GPU_OK;
}

static int fake_elapsed(struct probe_gpu *gpu, int from_event, int to_event, double *time_s)
{
	const struct fake *fake = (const struct fake *)gpu;
	*time_s = fake->events[to_event].time_s - fake->events[from_event].time_s;
	return GPU_OK;
}

static int fake_stamps(struct probe_gpu *gpu, int slot, double *begin_s, double *end_s)
{
	const struct fake *fake = (const struct fake *)gpu;
	*begin_s = fake->stamps[slot].begin_s;
	*end_s = fake->stamps[slot].end_s;
	return GPU_OK;
}

static int fake_sync_clocks(struct probe_gpu *gpu)
{
	fake_spend((struct fake *)gpu, 20e-6);
	return GPU_OK;
}

static int fake_graph_make(struct probe_gpu *gpu, size_t nodes_count)
{
	((struct fake *)gpu)->nodes_count = nodes_count;
	return GPU_OK;
}

static int fake_work_make(struct probe_gpu *gpu, const struct gpu_work *work)
{
	((struct fake *)gpu)->work = *work;
	return GPU_OK;
}

static void fake_describe(struct probe_gpu *gpu, struct gpu_facts *facts)
{
	const struct fake *fake = (const struct fake *)gpu;
	*facts = (struct gpu_facts){
		.name = "Fake GPU",
		.driver = "0",
		.cuda = "0.0",
		.compute = "0.0",
		.multiprocessors_count = MULTIPROCESSORS,
		.memory_B = fake->planted.memory_B,
		.l2_B = fake->planted.l2_B,
		.gpus_count = fake->planted.gpus_count,
		.pcie_generation = fake->planted.pcie_generation_count,
		.pcie_width = fake->planted.pcie_width_count,
	};
	if (fake->real)
		snprintf(facts->name, sizeof(facts->name), "Spinning CPU");
}

static void fake_close(struct probe_gpu *gpu)
{
	free(((struct fake *)gpu)->operations);
	free(gpu);
}

int fake_new(bool real, struct fake **fake, char *why)
{
	*fake = calloc(1, sizeof(**fake));
	if (!*fake)
		return gpu_fail(why, GPU_FAILED, "out of memory");
	if (planted_read(&(*fake)->planted, getenv(FAKE_PLANT), why, GPU_WHY) != 0) {
		free(*fake);
		return GPU_FAILED;
	}
	if ((*fake)->planted.absent_count > 0) {
		snprintf(why, GPU_WHY, "the planted parameters say that there is no GPU");
		free(*fake);
		return GPU_WAIVED;
	}
	(*fake)->real = real;
	(*fake)->zero_s = real ? clock_now_s() : 0;
	(*fake)->random.state = (uint64_t)(*fake)->planted.seed_count;
	(*fake)->released_s = -1;
	if (real) { /* the real host has its own noise */
		(*fake)->planted.sigma_ratio = 0;
		(*fake)->planted.outlier_rate_ratio = 0;
	}
	return GPU_OK;
}

static int open_with(const struct gpu_api *api, struct probe_gpu **gpu, char *why)
{
	struct fake *fake;
	int code = fake_new(api == &gpu_spin, &fake, why);
	if (code == GPU_OK) {
		fake->gpu.api = api;
		*gpu = &fake->gpu;
	}
	return code;
}

static int fake_open(const struct gpu_options *options, struct probe_gpu **gpu, char *why)
{
	return open_with(&gpu_fake, gpu, why);
}

static int spin_open(const struct gpu_options *options, struct probe_gpu **gpu, char *why)
{
	return open_with(&gpu_spin, gpu, why);
}

#define FAKE_FUNCTIONS                                                                             \
	.close = fake_close, .describe = fake_describe, .now_s = fake_clock, .call = fake_call,    \
	.block = fake_block, .release = fake_release, .finish = fake_finish,                       \
	.elapsed = fake_elapsed, .stamps = fake_stamps, .sync_clocks = fake_sync_clocks,           \
	.graph_make = fake_graph_make, .work_make = fake_work_make

const struct gpu_api gpu_fake = {
	.open = fake_open,
	FAKE_FUNCTIONS,
};
const struct gpu_api gpu_spin = {
	.open = spin_open,
	FAKE_FUNCTIONS,
};
