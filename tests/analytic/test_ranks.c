/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of programs on several GPUs, whose steps can be computed by hand.
 *
 * Two GPUs are connected to a switch by 1 GB/s in each direction without latency, and to their
 * host by PCIe of 2 GB/s. Calls, launches and the library cost nothing. So an all-reduce of S
 * bytes by two ranks takes S / (1 GB/s), and so does a message of S bytes.
 */
#include "sim/base/arena.h"
#include "sim/engine/trace.h"
#include "sim/workload/program_job.h"
#include "tests/comm_world.h"
#include "tests/test.h"

#define MS 1e-3
#define MB 1e6

enum { GPUS = 3, ITEMS_MAX = 64, WARM = 2, STEPS = 4 };

struct ranks_world {
	struct comm_world *w;
	struct driver_params driver;
	struct dma_params dma;
	struct item items[GPUS][ITEMS_MAX];
	struct call_thread threads[GPUS];
	struct program programs[GPUS];
	size_t program_count, gpu_count;
	struct workload workload;
	struct job_run run;
};

static struct item *add(struct ranks_world *r, size_t program, enum item_kind kind)
{
	struct item *item = &r->items[program][r->threads[program].count++];
	FW_ASSERT(r->threads[program].count <= ITEMS_MAX);
	*item = (struct item){.kind = kind};
	return item;
}

static struct cuda_call *call(struct ranks_world *r, size_t program, enum call_kind kind)
{
	struct cuda_call *added = &add(r, program, ITEM_CALL)->call;
	added->kind = kind;
	return added;
}

static void kernel(struct ranks_world *r, size_t program, double duration_s)
{
	call(r, program, CALL_LAUNCH)->duration_s = duration_s;
}

/* A collective or message on the compute stream. */
static void peers(struct ranks_world *r, size_t program, enum call_kind kind, double size_B)
{
	struct cuda_call *added = call(r, program, kind);
	added->payload_B = size_B;
	if (kind == CALL_SEND || kind == CALL_RECEIVE)
		added->peer = (uint32_t)(1 - program);
}

static struct ranks_world *ranks_world_new(size_t program_count)
{
	struct comm_world *w = comm_world_new();
	struct ranks_world *r = ARENA_NEW(w->arena, struct ranks_world);
	r->w = w;
	r->dma = (struct dma_params){.chunk_B = 1e9, .efficiency_ratio = 1};
	r->program_count = program_count;
	r->gpu_count = program_count > 2 ? program_count : 2;
	w->gpu_params.queue_depth_count = 4096;
	comm_star(w, r->gpu_count, 1e9, 0);
	for (size_t i = 0; i < r->gpu_count; i++)
		comm_link(w, "pcie", "h0", gpu_name(w->gpus[i]), 2e9, 0);
	for (size_t i = 0; i < program_count; i++) {
		r->threads[i] = (struct call_thread){.name = "main", .items = r->items[i]};
		r->programs[i] =
			(struct program){.threads = &r->threads[i],
					 .thread_count = 1,
					 .device_count = (uint16_t)(r->gpu_count / program_count),
					 .stream_count = 2,
					 .event_count = 8,
					 .signal_count = 4};
	}
	return r;
}

static void window_opened(void *ctx)
{
}

static struct program_gpu place(struct ranks_world *r, size_t gpu)
{
	struct comm_world *w = r->w;
	int host = fabric_node_find(w->fabric, "h0"), node = gpu_node(w->gpus[gpu]);
	return (struct program_gpu){
		.gpu = w->gpus[gpu],
		.server = w->guests[0],
		.to_device = fabric_route(w->fabric, host, node, TRAFFIC_COPIES),
		.to_host = fabric_route(w->fabric, node, host, TRAFFIC_COPIES),
	};
}

/* Runs the programs as one job, until the engine ends. */
static enum engine_end run_job(struct ranks_world *r)
{
	struct comm_world *w = r->w;
	struct program_gpu gpus[GPUS];
	struct program_rank ranks[GPUS];
	for (size_t i = 0; i < r->gpu_count; i++)
		gpus[i] = place(r, i);
	for (size_t i = 0; i < r->program_count; i++)
		ranks[i] =
			(struct program_rank){.guest = w->guests[0],
					      .program = &r->programs[i],
					      .gpus = &gpus[i * r->gpu_count / r->program_count]};
	r->workload = (struct workload){.arena = w->arena,
					.engine = w->engine,
					.seed = 1,
					.warmup_count = WARM,
					.limits = {STEPS, 1},
					.window_opened = window_opened};
	workload_init(&r->workload);
	const struct program_job_spec spec = {.comm = {.arena = w->arena,
						       .engine = w->engine,
						       .fabric = w->fabric,
						       .name = "job",
						       .library = &w->library},
					      .what = "programs",
					      .fraction_ratio = 1,
					      .driver = &r->driver,
					      .dma = &r->dma,
					      .ranks = ranks,
					      .rank_count = r->program_count};
	r->workload.jobs[0] = program_job_new(&r->workload, &r->run, &spec);
	return engine_run(w->engine);
}

/* Time of a steady step; 0 after a failure. */
static double run_step_s(struct ranks_world *r)
{
	CHECK(run_job(r) == ENGINE_STOPPED);
	workload_account(&r->workload);
	fabric_account(r->w->fabric); /* all carried bytes were delivered */
	CHECK(engine_failure(r->w->engine) == NULL);
	workload_read(&r->workload, NULL);
	if (!CHECK(!r->run.failed))
		return 0;
	return job_run_step_s(&r->run);
}

static const struct step_record *last_step(const struct ranks_world *r)
{
	return &r->run.steps[r->run.step_count - 1];
}

static void release(struct ranks_world *r)
{
	arena_free(r->w->arena);
}

/* 10 ms of kernels, 8 MB in 8 ms, 1 ms of update: all of the exchange is exposed. */
static void all_reduce_after_a_kernel_is_exposed(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		kernel(r, i, 10 * MS);
		peers(r, i, CALL_ALL_REDUCE, 8 * MB);
		kernel(r, i, 1 * MS);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), 19 * MS, 1e-9);
	CHECK_NEAR(last_step(r)->gpu_busy_s, 11 * MS, 1e-9);
	CHECK_NEAR(last_step(r)->exposed_s, 8 * MS, 1e-9);
	release(r);
}

/* A GPU issues 40 all-reduces of 1 MB at once, and the other one begins them after a kernel of 50
 * ms: they take 40 ms more. */
static void many_collectives_wait_for_a_late_rank(void)
{
	enum { COUNT = 40 };
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		if (i == 1)
			kernel(r, i, 50 * MS);
		for (int k = 0; k < COUNT; k++)
			peers(r, i, CALL_ALL_REDUCE, 1 * MB);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), (50 + COUNT) * MS, 1e-9);
	release(r);
}

/* The all-reduce of 8 ms runs on a second stream, after the first kernel of 10 ms. It overlaps with
 * the second kernel of 5 ms, so 3 ms are exposed. The update of 1 ms waits for it. */
static void all_reduce_on_another_stream_overlaps_with_a_kernel(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		kernel(r, i, 10 * MS);
		call(r, i, CALL_EVENT_RECORD)->event = 0;
		struct cuda_call *wait = call(r, i, CALL_STREAM_WAIT_EVENT);
		wait->event = 0;
		wait->stream = 1;
		peers(r, i, CALL_ALL_REDUCE, 8 * MB);
		r->items[i][r->threads[i].count - 1].call.stream = 1;
		struct cuda_call *over = call(r, i, CALL_EVENT_RECORD);
		over->event = 1;
		over->stream = 1;
		kernel(r, i, 5 * MS);
		call(r, i, CALL_STREAM_WAIT_EVENT)->event = 1;
		kernel(r, i, 1 * MS);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), 19 * MS, 1e-9);
	CHECK_NEAR(last_step(r)->exposed_s, 3 * MS, 1e-9);
	CHECK_NEAR(last_step(r)->gpu_busy_s, 16 * MS, 1e-9);
	release(r);
}

/* The kernels of the slower rank take 14 ms. The other rank waits 4 ms longer in the all-reduce. */
static void slowest_rank_sets_the_step_time_of_programs(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		kernel(r, i, i ? 14 * MS : 10 * MS);
		peers(r, i, CALL_ALL_REDUCE, 8 * MB);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), 22 * MS, 1e-9);
	CHECK_NEAR(last_step(r)->exposed_s, (12 + 8) / 2.0 * MS, 1e-9);
	release(r);
}

/* The GPU of the faster rank waits 4 ms for the straggler and 8 ms for the data, in each step. */
static void gpus_tell_stragglers_from_data(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		kernel(r, i, i ? 14 * MS : 10 * MS);
		peers(r, i, CALL_ALL_REDUCE, 8 * MB);
		r->items[i][r->threads[i].count - 1].call.exposed = GPU_DATA;
		r->programs[i].role = "a rank";
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), 22 * MS, 1e-9);
	const struct rank_times *times = r->run.rank_times;
	for (size_t i = 0; times && i < 2; i++) {
		double steps = (double)r->run.steady_count;
		CHECK_NEAR(s_from_ps(times[i].ps[GPU_COMPUTES]), steps * (i ? 14 : 10) * MS, 1e-9);
		CHECK_NEAR(s_from_ps(times[i].ps[GPU_DATA]), steps * 8 * MS, 1e-9);
		CHECK_NEAR(s_from_ps(times[i].ps[GPU_STRAGGLER]), steps * (i ? 0 : 4) * MS, 1e-9);
	}
	CHECK(times != NULL);
	release(r);
}

/* One program holds both GPUs, and its thread launches on each in turn. Kernels of different GPUs
 * run at the same time. */
static void kernels_on_two_gpus_of_one_program_overlap(void)
{
	struct ranks_world *r = ranks_world_new(1);
	for (uint16_t device = 0; device < 2; device++) {
		struct cuda_call *launch = call(r, 0, CALL_LAUNCH);
		launch->duration_s = 10 * MS;
		launch->device = device;
		struct cuda_call *reduce = call(r, 0, CALL_ALL_REDUCE);
		reduce->payload_B = 8 * MB;
		reduce->device = device;
	}
	for (uint16_t device = 0; device < 2; device++)
		call(r, 0, CALL_DEVICE_SYNCHRONIZE)->device = device;
	CHECK_NEAR(run_step_s(r), 18 * MS, 1e-9);
	CHECK_NEAR(last_step(r)->gpu_busy_s, 10 * MS, 1e-9);
	CHECK_NEAR(last_step(r)->exposed_s, 8 * MS, 1e-9);
	release(r);
}

/* Two stages: each forward of a micro-batch takes 3 ms, each backward 5 ms. A message of 1 MB
 * takes 1 ms on the stream that computes. GPipe with four micro-batches:
 *
 *   stage 0 computes and sends micro-batch m from 4 m to 4 m + 4 ms, the last until 16 ms;
 *   stage 1 receives it at 4 m + 4 and computes until 4 m + 7 ms, the last until 19 ms;
 *   then backwards of 5 ms and sends of 1 ms follow each other on stage 1, 6 ms for each
 *   micro-batch: until 19 + 4 * 6 = 43 ms;
 *   stage 0 needs 5 ms more for its last backward: 48 ms.
 *
 * Stage 1 sends on the same stream, so its next backward begins after the send. */
static void pipeline_of_two_stages_fills_and_drains(void)
{
	enum { MICRO_BATCHES = 4 };
	struct ranks_world *r = ranks_world_new(2);
	for (size_t m = 0; m < MICRO_BATCHES; m++) {
		kernel(r, 0, 3 * MS);
		peers(r, 0, CALL_SEND, 1 * MB);
		peers(r, 1, CALL_RECEIVE, 1 * MB);
		kernel(r, 1, 3 * MS);
	}
	for (size_t m = 0; m < MICRO_BATCHES; m++) {
		kernel(r, 1, 5 * MS);
		peers(r, 1, CALL_SEND, 1 * MB);
		peers(r, 0, CALL_RECEIVE, 1 * MB);
		kernel(r, 0, 5 * MS);
	}
	for (size_t i = 0; i < 2; i++)
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	run_step_s(r);
	/* The test checks the first step. A later step of a stage begins when its previous one has
	 * ended, so stage 1 waits longer and its step ends earlier relative to that of stage 0. */
	const struct step_record *first = &r->run.steps[0];
	CHECK_NEAR(s_from_ps(first->end_ps - first->start_ps), (48 + 43) / 2.0 * MS, 1e-9);
	CHECK_NEAR(first->gpu_busy_s, MICRO_BATCHES * 8 * MS, 1e-9);
	release(r);
}

/* In steady state the steps of both stages take the time that one micro-batch needs for its way
 * forward and back. */
static void pipeline_stages_have_the_same_steady_step_time(void)
{
	struct ranks_world *r = ranks_world_new(2);
	kernel(r, 0, 3 * MS);
	peers(r, 0, CALL_SEND, 1 * MB);
	peers(r, 0, CALL_RECEIVE, 1 * MB);
	kernel(r, 0, 5 * MS);
	peers(r, 1, CALL_RECEIVE, 1 * MB);
	kernel(r, 1, 8 * MS);
	peers(r, 1, CALL_SEND, 1 * MB);
	for (size_t i = 0; i < 2; i++)
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	/* forward 3, send 1, forward and backward of stage 1 8, send 1, backward 5 */
	CHECK_NEAR(run_step_s(r), 18 * MS, 1e-9);
	release(r);
}

/* NCCL demands that the n-th calls of two ranks have the same size. Otherwise the job fails. */
static void collectives_of_different_sizes_fail_the_job(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		peers(r, i, CALL_ALL_REDUCE, i ? 8 * MB : 4 * MB);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	run_job(r);
	CHECK(r->run.failed);
	CHECK_PART(r->run.reason, "calls ncclAllReduce of 8000000 B, but its peer called "
				  "ncclAllReduce of 4000000 B");
	release(r);
}

static void collectives_of_different_kinds_fail_the_job(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		peers(r, i, i ? CALL_ALL_GATHER : CALL_ALL_REDUCE, 4 * MB);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	run_job(r);
	CHECK(r->run.failed);
	CHECK_PART(r->run.reason, "calls ncclAllGather of 4000000 B, but its peer called "
				  "ncclAllReduce of 4000000 B");
	release(r);
}

/* GPU 0 sends 2 MB to GPU 1, which calls its receive at 1 ms, and then 4 MB to GPU 2. In the other
 * case one program has both GPUs, and sends 6 MB from the first to the second one. */
static void messages_go_to_the_gpu_that_they_name(void)
{
	struct ranks_world *r = ranks_world_new(3);
	kernel(r, 1, 1 * MS);
	call(r, 1, CALL_DEVICE_SYNCHRONIZE);
	for (size_t i = 1; i < 3; i++) {
		struct cuda_call *sent = call(r, 0, CALL_SEND);
		struct cuda_call *received = call(r, i, CALL_RECEIVE);
		sent->peer = (uint32_t)i;
		sent->payload_B = received->payload_B = (double)i * 2 * MB;
	}
	for (size_t i = 0; i < 3; i++)
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	CHECK_NEAR(run_step_s(r), 6 * MS, 1e-9);
	release(r);
	r = ranks_world_new(1);
	for (uint16_t i = 0; i < 2; i++) {
		struct cuda_call *message = call(r, 0, i ? CALL_RECEIVE : CALL_SEND);
		message->device = i;
		message->peer = 1U - i;
		message->payload_B = 6 * MB;
	}
	call(r, 0, CALL_DEVICE_SYNCHRONIZE);
	call(r, 0, CALL_DEVICE_SYNCHRONIZE)->device = 1;
	CHECK_NEAR(run_step_s(r), 6 * MS, 1e-9);
	release(r);
}

/* Ranks can send unequal parts in an all-to-all, but not in an all-gather. */
static void parts_of_an_all_to_all_may_differ(void)
{
	for (size_t gather = 0; gather < 2; gather++) {
		struct ranks_world *r = ranks_world_new(2);
		for (size_t i = 0; i < 2; i++) {
			peers(r, i, gather ? CALL_ALL_GATHER : CALL_ALL_TO_ALL,
			      i ? 8 * MB : 4 * MB);
			call(r, i, CALL_DEVICE_SYNCHRONIZE);
		}
		run_job(r);
		CHECK(r->run.failed == (gather == 1));
		release(r);
	}
}

/* Two messages on two streams, which the receiver calls in the other order, match by their tags.
 * They share the link, so 6 MB take 6 ms after a kernel of 1 ms. */
static void tags_tell_which_messages_match(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		kernel(r, i, 1 * MS);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
		for (uint8_t k = 0; k < 2; k++) {
			bool large = (i == 0) == (k == 0);
			peers(r, i, i ? CALL_RECEIVE : CALL_SEND, large ? 4 * MB : 2 * MB);
			struct cuda_call *message = &r->items[i][r->threads[i].count - 1].call;
			message->stream = k;
			message->tag = large ? 200 : 100;
		}
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), 7 * MS, 1e-9);
	release(r);
}

/* Returns how many sends or receives of the trace have the number of span `at`. */
static size_t ends_of(const struct trace *trace, size_t at, bool sends)
{
	size_t count = 0;
	for (size_t i = 0; i < trace_span_count(trace); i++)
		count += trace_span_at(trace, i)->message == trace_span_at(trace, at)->message &&
			 trace_span_at(trace, i)->sends == sends;
	return count;
}

/* Two messages with different tags go to the other GPU, and one comes back. In each step both ends
 * of each have the same number in the trace, which no other message has. */
static void both_ends_of_a_message_have_its_number(void)
{
	struct ranks_world *r = ranks_world_new(2);
	size_t messages = 0;
	engine_trace_set(r->w->engine, trace_new(r->w->arena));
	for (size_t i = 0; i < 2; i++) {
		for (uint8_t tag = 1; tag <= 2; tag++) {
			peers(r, i, i ? CALL_RECEIVE : CALL_SEND, 1 * MB);
			r->items[i][r->threads[i].count - 1].call.tag = tag;
		}
		peers(r, i, i ? CALL_SEND : CALL_RECEIVE, 1 * MB);
		r->items[i][r->threads[i].count - 1].call.tag = 1;
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), 3 * MS, 1e-9);
	const struct trace *trace = engine_trace(r->w->engine);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		if (trace_span_at(trace, i)->message == 0)
			continue;
		CHECK(ends_of(trace, i, true) == 1 && ends_of(trace, i, false) == 1);
		messages++;
	}
	CHECK(messages == 2 * 3 * r->run.step_count);
	release(r);
}

/* A message holds as much of a GPU with any tag, so the kernel on the other stream is as fast. */
static void tags_do_not_change_what_a_message_holds(void)
{
	double times_s[2];
	for (size_t k = 0; k < 2; k++) {
		struct ranks_world *r = ranks_world_new(2);
		r->w->gpu_params.multiprocessors_count = 80;
		r->w->library.block_share_ratio = 1;
		for (size_t i = 0; i < 2; i++) {
			peers(r, i, i ? CALL_RECEIVE : CALL_SEND, 8 * MB);
			r->items[i][0].call.stream = 1;
			r->items[i][0].call.tag = k ? 70 : 1;
			kernel(r, i, 8 * MS);
			call(r, i, CALL_DEVICE_SYNCHRONIZE);
		}
		times_s[k] = run_step_s(r);
		release(r);
	}
	CHECK_NEAR(times_s[1], times_s[0], 1e-12);
}

/* In each step both GPUs send two messages of 4 MB for an all-reduce of 8 MB, and the first one a
 * message of 0.5 MB on a communicator of its own. */
static void counters_of_all_communicators_add_up(void)
{
	struct ranks_world *r = ranks_world_new(2);
	for (size_t i = 0; i < 2; i++) {
		peers(r, i, CALL_ALL_REDUCE, 8 * MB);
		peers(r, i, i ? CALL_RECEIVE : CALL_SEND, 0.5 * MB);
		call(r, i, CALL_DEVICE_SYNCHRONIZE);
	}
	CHECK_NEAR(run_step_s(r), 8.5 * MS, 1e-9);
	const struct communicator_counters *counters = &r->run.comm;
	double steps = (double)r->run.step_count;
	CHECK_NEAR((double)counters->collectives_count, 2 * steps, 0);
	CHECK_NEAR((double)counters->sends_count, 5 * steps, 0);
	CHECK_NEAR(counters->sent_B, 16.5 * MB * steps, 1e-12);
	CHECK_NEAR(counters->delivered_B, 16.5 * MB * steps, 1e-12);
	release(r);
}

/* An all-reduce of 8 ms holds one of 80 multiprocessors, or the 5 that its call says. So a kernel
 * of 8 ms beside it has 0.1 or 0.5 ms left. */
static void collectives_hold_the_blocks_that_their_call_says(void)
{
	for (int given = 0; given < 2; given++) {
		struct ranks_world *r = ranks_world_new(2);
		r->w->gpu_params.multiprocessors_count = 80;
		r->w->library.block_share_ratio = 1;
		for (size_t i = 0; i < 2; i++) {
			peers(r, i, CALL_ALL_REDUCE, 8 * MB);
			r->items[i][0].call.stream = 1;
			r->items[i][0].call.tag = given ? 5 : 0;
			kernel(r, i, 8 * MS);
			call(r, i, CALL_DEVICE_SYNCHRONIZE);
		}
		CHECK_NEAR(run_step_s(r), (given ? 8.5 : 8.1) * MS, 1e-9);
		release(r);
	}
}

/* A message of 8 ms holds one of 80 multiprocessors if the library has one channel, otherwise two.
 * So a kernel of 8 ms beside it has 0.1 or 0.2 ms left. */
static void message_holds_at_most_two_blocks(void)
{
	for (size_t channels = 1; channels <= 4; channels++) {
		struct ranks_world *r = ranks_world_new(2);
		r->w->gpu_params.multiprocessors_count = 80;
		r->w->library.block_share_ratio = 1;
		r->w->library.channels_count = (double)channels;
		for (size_t i = 0; i < 2; i++) {
			peers(r, i, i ? CALL_RECEIVE : CALL_SEND, 8 * MB);
			r->items[i][0].call.stream = 1;
			kernel(r, i, 8 * MS);
			call(r, i, CALL_DEVICE_SYNCHRONIZE);
		}
		CHECK_NEAR(run_step_s(r), (channels == 1 ? 8.1 : 8.2) * MS, 1e-9);
		release(r);
	}
}

/* Both GPUs have ended a message and an all-reduce. Then one of them calls another all-reduce, or
 * waits for a message, and the other one waits for a signal that never comes. The job names the
 * second operation, and not the first one of the other kind, which has ended. */
static void a_stuck_job_names_the_operation_without_its_peer(void)
{
	for (int message = 0; message < 2; message++) {
		struct ranks_world *r = ranks_world_new(2);
		for (size_t i = 0; i < 2; i++) {
			peers(r, i, i ? CALL_RECEIVE : CALL_SEND, 1 * MB);
			peers(r, i, CALL_ALL_REDUCE, 1 * MB);
		}
		peers(r, (size_t)message, message ? CALL_RECEIVE : CALL_ALL_REDUCE, 1 * MB);
		add(r, (size_t)!message, ITEM_AWAIT)->count = 1;
		for (size_t i = 0; i < 2; i++)
			call(r, i, CALL_DEVICE_SYNCHRONIZE);
		CHECK(run_job(r) == ENGINE_DRAINED);
		const struct job *job = r->workload.jobs[0];
		const char *wanted = arena_printf(
			r->w->arena, "%s 1: 1 of 2 ranks arrived",
			collective_name(message ? COLLECTIVE_BROADCAST : COLLECTIVE_ALL_REDUCE));
		CHECK(strstr(job->kind->waiting(job, r->w->arena), wanted) != NULL);
		release(r);
	}
}

static const struct test tests[] = {
	TEST(collectives_of_different_kinds_fail_the_job),
	TEST(messages_go_to_the_gpu_that_they_name),
	TEST(collectives_hold_the_blocks_that_their_call_says),
	TEST(parts_of_an_all_to_all_may_differ),
	TEST(tags_tell_which_messages_match),
	TEST(tags_do_not_change_what_a_message_holds),
	TEST(both_ends_of_a_message_have_its_number),
	TEST(all_reduce_after_a_kernel_is_exposed),
	TEST(many_collectives_wait_for_a_late_rank),
	TEST(all_reduce_on_another_stream_overlaps_with_a_kernel),
	TEST(slowest_rank_sets_the_step_time_of_programs),
	TEST(gpus_tell_stragglers_from_data),
	TEST(kernels_on_two_gpus_of_one_program_overlap),
	TEST(pipeline_of_two_stages_fills_and_drains),
	TEST(pipeline_stages_have_the_same_steady_step_time),
	TEST(collectives_of_different_sizes_fail_the_job),
	TEST(counters_of_all_communicators_add_up),
	TEST(message_holds_at_most_two_blocks),
	TEST(a_stuck_job_names_the_operation_without_its_peer),
};

int main(void)
{
	return TEST_MAIN(tests);
}
