/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs on a made-up step whose every time can be worked out by hand:
 *
 *   forward 10 ms, backward 4 ms (then tensor 0: 4 MB, update 1 ms) and 6 ms (then
 *   tensor 1: 8 MB, update 0.5 ms)
 *
 * Two GPUs on a switch, 1 GB/s each way, no latency: a ring of two ranks takes
 * 2 (n - 1) / n S / B = S / B, so 4 ms and 8 ms, 12 ms together. All times in ms.
 */
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/cfg/cfg.h"
#include "sim/engine/trace.h"
#include "sim/training/job.h"
#include "tests/net.h"

#define MS 1e-3

enum { RANKS_MAX = 8, STEPS = 3, JOBS_MAX = 2 };
/* A kernel, a message and a delay each round to the picosecond. */
static const int64_t SLACK_PS = 40;

static const struct step_segment segments[] = {
	{.name = "forward", .compute_s = 10 * MS},
	{.name = "b", .compute_s = 4 * MS, .tensor_first = 0, .tensor_count = 1},
	{.name = "a", .compute_s = 6 * MS, .tensor_first = 1, .tensor_count = 1},
};
static const struct step_tensor tensors[] = {
	{.name = "b", .elements_count = 1e6, .update_s = 1 * MS},
	{.name = "a", .elements_count = 2e6, .update_s = 0.5 * MS},
};
static const struct step_profile hand_made = {
	.segments = segments,
	.segment_count = 3,
	.forward_count = 1,
	.tensors = tensors,
	.tensor_count = 2,
	.step_s = 21.5 * MS,
	.images_count = 32,
	.element_B = 4,
};

struct bench {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct host_params host_params;
	struct guest_params guest_params;
	struct gpu_params gpu_params;
	struct library_params library;
	struct exchange_params exchange;
	const struct step_profile *profile;
	size_t rank_count, job_count, step_count;
	double round_trip_s, slowdown_ratio; /* of the first rank */
	uint64_t seed;
	bool traced;
	bool shared_wire; /* even and odd GPUs on a switch each, one link between */
	struct gpu *gpus[RANKS_MAX * JOBS_MAX];
	struct communicator *comm[JOBS_MAX];
	struct job *job[JOBS_MAX];
};

static size_t policy_of(const char *name)
{
	for (size_t i = 0; i < exchange_policy_count(); i++)
		if (strcmp(exchange_policy_at(i)->name, name) == 0)
			return i;
	CHECK_TEXT("no such policy", name);
	return 0;
}

/* A library without latency or loss, whose kernels take nothing from others. */
static void free_library(struct bench *b)
{
	net_presets(b->arena, &library_table, &b->library);
	b->library.algorithm = "ring";
	b->library.protocol = CHOOSE_SIMPLE;
	b->library.channels_count = 1;
	b->library.ring_search = false;
	b->library.latency_scale_ratio = 1e-30;
	b->library.nvlink_efficiency_ratio = 1;
	b->library.channel_bandwidth_Bps = 1e13;
	b->library.multiprocessor_ratio = b->library.memory_traffic_ratio = 0;
}

static void setup(struct bench *b, const char *policy)
{
	*b = (struct bench){.arena = arena_new(),
			    .profile = &hand_made,
			    .rank_count = 2,
			    .job_count = 1,
			    .step_count = STEPS,
			    .slowdown_ratio = 1,
			    .seed = 1};
	net_presets(b->arena, &host_table, &b->host_params);
	net_presets(b->arena, &guest_table, &b->guest_params);
	b->gpu_params = (struct gpu_params){.fp32_flops = 1e12,
					    .memory_bandwidth_Bps = 100e9,
					    .memory_B = 16e9,
					    .memory_efficiency_ratio = 0.8,
					    .kernel_gap_s = 1e-6,
					    .launch_latency_s = 4e-6,
					    .copy_engines_count = 2,
					    .queue_depth_count = 1024,
					    .concurrent_kernels_count = 128,
					    .slice_s = 2e-3};
	free_library(b);
	net_presets(b->arena, &exchange_table, &b->exchange);
	b->exchange.policy = (int)policy_of(policy);
	b->exchange.noise_ratio = b->exchange.launch_s = b->exchange.fusion_copy_ratio = 0;
	b->exchange.negotiation_s = b->exchange.cached_negotiation_s = 0;
}

static void comm_failed(void *ctx, const char *reason)
{
	(void)ctx;
	CHECK_TEXT(reason, "no failure");
}

static bool step_done(void *ctx, struct job *job, const struct job_step *step)
{
	const struct bench *b = ctx;
	double parts_s = step->kernel_s + step->exposed_s + step->input_s + step->straggler_s +
			 step->other_s;
	CHECK_NEAR(parts_s, s_from_ps(step->end_ps - step->start_ps), 1e-12);
	CHECK(step->gpu_busy_s <= step->kernel_s * (1 + 1e-12));
	return job_step_count(job) < b->step_count;
}

static void build_wires(struct bench *b)
{
	const struct link_traits wire = {.capacity_Bps = {1e9, 1e9}};
	const struct link_traits wide = {.capacity_Bps = {1e15, 1e15}};
	int even = fabric_node_add(b->fabric, "even"), odd = even;
	if (b->shared_wire) {
		odd = fabric_node_add(b->fabric, "odd");
		fabric_link_add(b->fabric, "between", "nvlink", even, odd, &wire);
	}
	for (size_t i = 0; i < b->rank_count * b->job_count; i++) {
		const char *name = arena_printf(b->arena, "gpu%zu", i);
		int node = fabric_node_add(b->fabric, name);
		fabric_link_add(b->fabric, arena_printf(b->arena, "port%zu", i), "nvlink", node,
				i % 2 ? odd : even, b->shared_wire ? &wide : &wire);
		b->gpus[i] = gpu_new(b->arena, b->engine, b->fabric, name, node, &b->gpu_params);
	}
}

static void build_job(struct bench *b, size_t index, struct guest *guest)
{
	const char *name = arena_printf(b->arena, "job%zu", index);
	struct comm_rank places[RANKS_MAX] = {0};
	struct job_rank ranks[RANKS_MAX] = {0};
	for (size_t i = 0; i < b->rank_count; i++) {
		struct gpu *gpu = b->gpus[index * b->rank_count + i];
		places[i] = (struct comm_rank){.gpu = gpu, .guest = guest};
		ranks[i] = (struct job_rank){.context = gpu_context_new(gpu, name, 1),
					     .gpu = gpu,
					     .guest = guest,
					     .slowdown_ratio = i ? 1 : b->slowdown_ratio};
	}
	const struct communicator_spec comm = {.arena = b->arena,
					       .engine = b->engine,
					       .fabric = b->fabric,
					       .name = name,
					       .library = &b->library,
					       .ranks = places,
					       .rank_count = b->rank_count,
					       .seed = b->seed,
					       .failed = comm_failed};
	b->comm[index] = b->rank_count > 1 ? communicator_new(&comm) : NULL;
	const struct job_spec spec = {.arena = b->arena,
				      .engine = b->engine,
				      .fabric = b->fabric,
				      .name = name,
				      .profile = b->profile,
				      .exchange = &b->exchange,
				      .comm = b->comm[index],
				      .ranks = ranks,
				      .rank_count = b->rank_count,
				      .network_round_trip_s = b->round_trip_s,
				      .seed = b->seed,
				      .step_done = step_done,
				      .ctx = b};
	b->job[index] = job_new(&spec);
	job_start(b->job[index]);
}

static void run(struct bench *b)
{
	b->engine = engine_new(b->arena, &(struct engine_limits){0});
	if (b->traced)
		engine_trace_set(b->engine, trace_new(b->arena));
	b->fabric = fabric_new(b->arena, b->engine);
	struct host *host = host_new(b->arena, b->engine, b->fabric, "host", &b->host_params);
	struct guest *guest =
		guest_new(host, "os", fabric_node_find(b->fabric, "host"), &b->guest_params);
	build_wires(b);
	for (size_t i = 0; i < b->job_count; i++)
		build_job(b, i, guest);
	CHECK(engine_run(b->engine) == ENGINE_DRAINED);
	for (size_t i = 0; i < b->job_count; i++)
		CHECK(job_step_count(b->job[i]) == b->step_count);
}

static void release(struct bench *b)
{
	arena_free(b->arena);
}

static const struct job_step *step_of(const struct bench *b, size_t index)
{
	return job_step_at(b->job[0], index);
}

static double step_ms(const struct bench *b, size_t index)
{
	return s_from_ps(step_of(b, index)->end_ps - step_of(b, index)->start_ps) / MS;
}

static void check_step(const struct bench *b, size_t index, double ms)
{
	const struct job_step *step = step_of(b, index);
	double off_ps = (double)(step->end_ps - step->start_ps) - ms * 1e9;
	if (!CHECK(fabs(off_ps) <= (double)SLACK_PS))
		printf("    step %zu took %.12g ms, not %.12g\n", index, step_ms(b, index), ms);
}

/* ---- computing and exchange ---- */

static void one_rank_is_the_gpu_alone(void)
{
	struct bench b;
	setup(&b, "horovod");
	b.rank_count = 1;
	b.exchange.tensor_s = b.exchange.gather_s = 1; /* of no concern */
	run(&b);
	for (size_t i = 0; i < STEPS; i++) {
		check_step(&b, i, 21.5);
		CHECK_NEAR(step_of(&b, i)->gpu_busy_s, 21.5 * MS, 1e-9);
		CHECK_NEAR(step_of(&b, i)->collective_s, 0, 0);
	}
	release(&b);
}

/* 20 of compute, 12 of ring, 1.5 of updates. */
static void without_overlap_all_adds_up(void)
{
	struct bench b;
	setup(&b, "after_backward");
	run(&b);
	for (size_t i = 0; i < STEPS; i++) {
		check_step(&b, i, 20 + 12 + 1.5);
		CHECK_NEAR(step_of(&b, i)->kernel_s, 21.5 * MS, 1e-9);
		CHECK_NEAR(step_of(&b, i)->exposed_s, 12 * MS, 1e-9);
		CHECK_NEAR(step_of(&b, i)->collective_s, 12 * MS, 1e-9);
	}
	CHECK(communicator_counters(b.comm[0])->collectives_count == STEPS);
	release(&b);
}

/* n ranks: 2 (n - 1) / n x 12. */
static void ring_of_more_ranks(void)
{
	for (size_t n = 2; n <= RANKS_MAX; n *= 2) {
		struct bench b;
		setup(&b, "after_backward");
		b.rank_count = n;
		run(&b);
		check_step(&b, 1, 21.5 + 2.0 * (double)(n - 1) / (double)n * 12);
		release(&b);
	}
}

/* Tensor 0 is ready at 14 and reduced at 18; its update shares the GPU with
 * backward until 20; backward, 1 late, ends at 21; tensor 1 until 29; 0.5 more. */
static void overlap_hides_what_backward_covers(void)
{
	struct bench b;
	setup(&b, "per_tensor");
	run(&b);
	for (size_t i = 0; i < STEPS; i++) {
		check_step(&b, i, 29.5);
		CHECK_NEAR(step_of(&b, i)->exposed_s, 8 * MS, 1e-9);
		CHECK_NEAR(step_of(&b, i)->collective_s, 12 * MS, 1e-9);
	}
	CHECK(communicator_counters(b.comm[0])->collectives_count == 2 * STEPS);
	release(&b);
}

static void overlap_can_be_turned_off(void)
{
	static const char *const policies[] = {"per_tensor", "ddp"};
	for (int i = 0; i < 2; i++) {
		struct bench b;
		setup(&b, policies[i]);
		b.exchange.overlap = false;
		run(&b);
		/* Two collectives; the first update hides behind the second. */
		check_step(&b, 1, 20 + 12 + 0.5);
		release(&b);
	}
}

/* Buckets: the first is full with 4 MB, so as per tensor; or with more than both. */
static void ddp_buckets(void)
{
	static const struct {
		double first_B, next_B, ms;
		uint64_t collectives;
	} rows[] = {{1e6, 25e6, 29.5, 2}, {4e6, 1, 29.5, 2}, {4e6 + 1, 1, 33.5, 1}};
	for (size_t i = 0; i < 3; i++) {
		struct bench b;
		setup(&b, "ddp");
		b.exchange.first_bucket_B = rows[i].first_B;
		b.exchange.bucket_B = rows[i].next_B;
		run(&b);
		check_step(&b, 1, rows[i].ms);
		CHECK(communicator_counters(b.comm[0])->collectives_count ==
		      STEPS * rows[i].collectives);
		release(&b);
	}
}

/* Half the bytes: 6 of ring. */
static void compression_halves_the_bytes(void)
{
	struct bench b;
	setup(&b, "after_backward");
	b.exchange.gradient_element_B = 2;
	run(&b);
	check_step(&b, 1, 20 + 6 + 1.5);
	CHECK_NEAR(communicator_counters(b.comm[0])->sent_B, STEPS * 2 * 6e6, 1e-9);
	release(&b);
}

/* A buffer of 12 MB, at 2 B of traffic for each byte and 80 GB/s: 0.3 in, 0.3
 * out. A gradient alone needs no buffer. */
static void fused_gradients_are_copied(void)
{
	struct bench b;
	setup(&b, "after_backward");
	b.exchange.fusion_copy_ratio = 2;
	run(&b);
	check_step(&b, 1, 20 + 0.3 + 12 + 0.3 + 1.5);
	CHECK_NEAR(step_of(&b, 1)->kernel_s, (21.5 + 0.6) * MS, 1e-9);
	release(&b);
	setup(&b, "per_tensor");
	b.exchange.fusion_copy_ratio = 2;
	run(&b);
	check_step(&b, 1, 29.5);
	release(&b);
}

/* 0.25 for each launch: tensor 0 starts at 14.25 and is there at 18.25, when
 * backward has 1.75 left; backward then ends at 21 all the same. */
static void launching_delays(void)
{
	struct bench b;
	setup(&b, "per_tensor");
	b.exchange.launch_s = 0.25 * MS;
	run(&b);
	check_step(&b, 1, 29.5 + 0.25);
	release(&b);
}

/* Handing over takes 1 for each of two tensors, then the collective; 3 at the end. */
static void framework_work_is_on_the_path(void)
{
	struct bench b;
	setup(&b, "after_backward");
	b.exchange.tensor_s = 1 * MS;
	b.exchange.gather_s = 3 * MS;
	run(&b);
	check_step(&b, 1, 33.5 + 2 + 3);
	CHECK_NEAR(step_of(&b, 1)->other_s, 5 * MS, 1e-9);
	release(&b);
}

/* ---- Horovod ---- */

/* Cycles every 5 from the start. Step 1: tensor 0 is ready at 14, sent from 15 to
 * 19; its update takes 2 beside backward, which ends at 21; tensor 1 waits until
 * 25, is there at 33. Step 2 begins at 33.5: ready at 47.5, sent from 50 to 54;
 * tensor 1 ready at 53.5, sent from 55 to 63. */
static void horovod_waits_for_a_cycle(void)
{
	struct bench b;
	setup(&b, "horovod");
	run(&b);
	check_step(&b, 0, 33.5);
	check_step(&b, 1, 30);
	CHECK_NEAR(step_of(&b, 0)->exposed_s, 12 * MS, 1e-9);
	release(&b);
}

/* Without a cache: a round trip of 0.5 and 0.1 for each of two ranks' requests;
 * then 0.3 to launch. Cycles begin at 14.7 (tensor 0: sent from 15.7 to 19.7, when
 * 0.3 of backward is left: both share the GPU until 20.3), 19.6 and 24.5 (tensor 1:
 * sent from 25.5 to 33.5). */
static void horovod_negotiates(void)
{
	struct bench b;
	setup(&b, "horovod");
	b.exchange.response_cache = false;
	b.exchange.negotiation_s = 0.1 * MS;
	b.exchange.launch_s = 0.3 * MS;
	b.round_trip_s = 0.5 * MS;
	b.exchange.cycle_s = 4.9 * MS;
	run(&b);
	check_step(&b, 0, 24.5 + 1 + 8 + 0.5);
	release(&b);
}

/* Cycles without requests exchange their messages, too: with a round trip of 6
 * they begin every 6, not every 5. Tensor 0: 18, sent from 24; tensor 1, ready at
 * 20: at 24, sent from 30 to 38. */
static void a_far_coordinator_sets_the_cycle(void)
{
	struct bench b;
	setup(&b, "horovod");
	b.round_trip_s = 6 * MS;
	b.exchange.response_cache = false;
	run(&b);
	check_step(&b, 0, 38.5);
	release(&b);
}

/* In the first step tensors are unknown: 0.5 + 0.2 for the cache's bits, and the
 * above once more, 0.5 + 0.2; later only the first. */
static void horovod_remembers(void)
{
	struct bench b;
	setup(&b, "horovod");
	b.exchange.overlap = false; /* both tensors at 20, one cycle */
	b.exchange.negotiation_s = 0.05 * MS;
	b.exchange.cached_negotiation_s = 0.1 * MS;
	b.round_trip_s = 0.5 * MS;
	b.exchange.cycle_s = 10.5 * MS; /* at 21 */
	run(&b);
	check_step(&b, 0, 21 + 0.7 + 0.7 + 12 + 1.5); /* 35.9 */
	/* ready at 55.9, cycle at 63, 0.7 */
	check_step(&b, 1, 63 + 0.7 + 12 + 1.5 - 35.9);
	release(&b);
}

/* 3 for each of two requests: the cycle that begins at 15 works until 21, so the
 * next one begins then, not at 20; tensor 1 goes from 27 to 35. */
static void a_long_cycle_delays_the_next(void)
{
	struct bench b;
	setup(&b, "horovod");
	b.exchange.response_cache = false;
	b.exchange.negotiation_s = 3 * MS;
	run(&b);
	check_step(&b, 0, 35.5);
	release(&b);
}

/* Both tensors in one cycle: one collective, or two if the buffer is too small. */
static void horovod_fuses(void)
{
	for (int small = 0; small < 2; small++) {
		struct bench b;
		setup(&b, "horovod");
		b.exchange.cycle_s = 22 * MS;
		b.exchange.fusion_B = small ? 11.9e6 : 12e6;
		run(&b);
		CHECK(communicator_counters(b.comm[0])->collectives_count ==
		      (small ? 2 * STEPS : STEPS));
		check_step(&b, 0, 22 + 12 + (small ? 0.5 : 1.5));
		release(&b);
	}
}

/* ---- unequal ranks ---- */

/* The slow rank: 30 + 12 + 1.5 x 1.5. The other waits 10 for it, then is 0.75
 * ahead and spends that on its next step. */
static void a_straggler_sets_the_pace(void)
{
	struct bench b;
	setup(&b, "after_backward");
	b.slowdown_ratio = 1.5;
	run(&b);
	check_step(&b, 0, 44.25);
	CHECK_NEAR(step_of(&b, 0)->straggler_s, 10.0 / 2 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->exposed_s, 12 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->kernel_s, (32.25 + 21.5 + 0.75) / 2 * MS, 1e-9);
	check_step(&b, 1, 44.25);
	CHECK_NEAR(step_of(&b, 1)->straggler_s, 10.75 / 2 * MS, 1e-9);
	release(&b);
}

/* The mean of the largest of n standard normal values: 0.5642 (2), 1.4236 (8). */
static void noise_costs_the_mean_of_the_largest(void)
{
	static const struct step_segment one[] = {
		{.name = "a", .compute_s = 20 * MS, .tensor_count = 1}};
	static const struct step_tensor tiny[] = {{.name = "a", .elements_count = 8}};
	static const struct {
		size_t n;
		double mean;
	} rows[] = {{2, 0.5642}, {8, 1.4236}};
	struct step_profile profile = hand_made;
	profile.segments = one;
	profile.tensors = tiny;
	profile.segment_count = profile.tensor_count = 1;
	profile.forward_count = 0;
	for (int i = 0; i < 2; i++) {
		struct bench b;
		setup(&b, "after_backward");
		b.profile = &profile;
		b.rank_count = rows[i].n;
		b.step_count = 500;
		b.exchange.noise_ratio = 0.02;
		run(&b);
		double mean_ms = s_from_ps(step_of(&b, 499)->end_ps) / MS / 500;
		/* Of 500 steps, whose largest scatter by some 0.8 or less: 0.036. */
		CHECK(fabs((mean_ms / 20 - 1) / 0.02 - rows[i].mean) < 3 * 0.036);
		release(&b);
	}
}

static void noise_repeats_by_seed(void)
{
	int64_t ends_ps[3];
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct bench b;
		setup(&b, "horovod");
		b.rank_count = 4;
		b.exchange.noise_ratio = 0.01;
		b.seed = seed / 2; /* 0 0 1 */
		run(&b);
		ends_ps[seed] = step_of(&b, STEPS - 1)->end_ps;
		release(&b);
	}
	CHECK(ends_ps[0] == ends_ps[1]);
	CHECK(ends_ps[0] != ends_ps[2]);
}

/* ---- sharing ---- */

/* A fifth of the multiprocessors while tensor 0 is under way, 4 long: backward is
 * 0.8 later than in overlap_hides_what_backward_covers. */
static void library_kernels_slow_backward(void)
{
	struct bench b;
	setup(&b, "per_tensor");
	b.library.multiprocessor_ratio = 0.2;
	run(&b);
	check_step(&b, 1, 29.5 + 0.8);
	release(&b);
}

/* Two jobs in phase over one wire: 24 of ring each. */
static void jobs_share_a_wire(void)
{
	for (size_t jobs = 1; jobs <= JOBS_MAX; jobs++) {
		struct bench b;
		setup(&b, "after_backward");
		b.shared_wire = true;
		b.job_count = jobs;
		run(&b);
		check_step(&b, 1, 21.5 + 12.0 * (double)jobs);
		release(&b);
	}
}

/* A launch queue of one operation is enough. */
static void a_short_launch_queue_loses_nothing(void)
{
	struct bench b;
	setup(&b, "after_backward");
	b.gpu_params.queue_depth_count = 1;
	run(&b);
	check_step(&b, 1, 33.5);
	release(&b);
}

/* A timeline shows what a rank waits for. */
static void waits_are_traced(void)
{
	struct bench b;
	size_t gradients = 0, others = 0;
	setup(&b, "after_backward");
	b.slowdown_ratio = 1.5;
	b.traced = true;
	run(&b);
	struct trace *trace = engine_trace(b.engine);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		bool gradient = strcmp(span->name, "wait for gradients") == 0;
		bool other = strcmp(span->name, "wait for other ranks") == 0;
		gradients += gradient;
		others += other;
		if (gradient)
			CHECK_NEAR(s_from_ps(span->end_ps - span->start_ps), 12 * MS, 1e-9);
		if (other)
			CHECK_TEXT(trace_track_name(trace, span->track), "rank 1");
	}
	CHECK(gradients == 2 * STEPS && others == STEPS);
	release(&b);
}

static const struct step_profile *resnet50(struct bench *b, double clusters)
{
	static const struct efficiency_params efficiency = {.peak_ratio = 0.6};
	struct diag *diag = diag_new(b->arena);
	const struct cfg_node *file = cfg_read(b->arena, diag, "models/networks/resnet50.cfg");
	const struct network *network = network_read(b->arena, diag, file);
	struct stack_params stack = {.l2_loss = L2_LOSS_NO_BATCH_NORM,
				     .xla_clusters_count = clusters};
	return step_profile_new(b->arena, network, 32, &stack, &b->gpu_params, &efficiency,
				200 * MS);
}

/* The same step time, but gradients heard of at the end of backward. */
static void xla_loses_overlap(void)
{
	double exposed_s[3];
	static const double clusters[] = {0, 4, 1};
	for (int i = 0; i < 3; i++) {
		struct bench b;
		setup(&b, "horovod");
		b.profile = resnet50(&b, clusters[i]);
		run(&b);
		exposed_s[i] = step_of(&b, 1)->exposed_s;
		release(&b);
	}
	CHECK(exposed_s[0] < 0.5 * exposed_s[2]);
	CHECK(exposed_s[0] <= exposed_s[1] && exposed_s[1] < exposed_s[2]);
	/* 102 MB at 1 GB/s and nothing hidden. */
	CHECK(exposed_s[2] > 0.1 && exposed_s[2] < 0.11);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(one_rank_is_the_gpu_alone),
		TEST(without_overlap_all_adds_up),
		TEST(ring_of_more_ranks),
		TEST(overlap_hides_what_backward_covers),
		TEST(overlap_can_be_turned_off),
		TEST(ddp_buckets),
		TEST(compression_halves_the_bytes),
		TEST(fused_gradients_are_copied),
		TEST(launching_delays),
		TEST(framework_work_is_on_the_path),
		TEST(horovod_waits_for_a_cycle),
		TEST(horovod_negotiates),
		TEST(a_far_coordinator_sets_the_cycle),
		TEST(horovod_remembers),
		TEST(a_long_cycle_delays_the_next),
		TEST(horovod_fuses),
		TEST(a_straggler_sets_the_pace),
		TEST(noise_costs_the_mean_of_the_largest),
		TEST(noise_repeats_by_seed),
		TEST(library_kernels_slow_backward),
		TEST(jobs_share_a_wire),
		TEST(a_short_launch_queue_loses_nothing),
		TEST(waits_are_traced),
		TEST(xla_loses_overlap),
	};
	num_init();
	return TEST_MAIN(tests);
}
