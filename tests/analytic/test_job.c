/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs: overlap, stragglers, shared wires. All times in comments are in ms and refer to
 * the step in tests/job_world.h. Runs from the root. */
#include "sim/base/diag.h"
#include "sim/cfg/cfg.h"
#include "sim/workload/dp_internal.h"
#include "tests/job_world.h"

/* ---- computing and exchange ---- */

static void one_rank_needs_no_exchange(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.rank_count = 1;
	b.exchange.tensor_s = b.exchange.gather_s = 1; /* unused with one rank */
	run(&b);
	for (size_t i = 0; i < STEPS; i++) {
		check_step(&b, i, 21.5);
		CHECK_NEAR(step_of(&b, i)->gpu_busy_s, 21.5 * MS, 1e-9);
		CHECK_NEAR(step_of(&b, i)->collective_s, 0, 0);
	}
	release(&b);
}

/* A single rank has its updates in the program, unless its engine issues each when the gradient is
 * there. Then the host learns of gradients 3 after the end of backward, and updates run until 24.5.
 */
static void an_engine_issues_updates_of_a_single_rank(void)
{
	for (int computed = 0; computed < 2; computed++) {
		struct job_world b;
		setup(&b, "horovod");
		b.rank_count = 1;
		b.exchange.announce = computed ? ANNOUNCE_COMPUTED : ANNOUNCE_ISSUED;
		b.exchange.callback_s = 3 * MS;
		run(&b);
		check_step(&b, 1, computed ? 24.5 : 21.5);
		release(&b);
	}
}

/* One rank stands for 100,000, whose 93 s of kernels are together more than 2^63 ps. */
static void times_of_many_ranks_are_added_up(void)
{
	static const struct step_segment minutes[] = {
		{.name = "forward", .compute_s = 60},
		{.name = "backward", .compute_s = 33, .tensor_first = 0, .tensor_count = 2},
	};
	struct step_profile profile = hand_made;
	struct job_world b;
	setup(&b, "after_backward");
	profile.segments = minutes;
	profile.segment_count = 2;
	b.profile = &profile;
	b.copies = 100000;
	run(&b);
	check_step(&b, 1, 93000 + 12 + 1.5);
	CHECK_NEAR(step_of(&b, 1)->kernel_s, 93 + 1.5 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 1)->exposed_s, 12 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 1)->gpu_busy_s, 93 + 1.5 * MS, 1e-9);
	release(&b);
}

/* 20 of compute, 12 of the ring, 1.5 of updates. */
static void step_without_overlap_is_the_sum_of_its_parts(void)
{
	struct job_world b;
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

/* The ring of n ranks takes 2 (n - 1) / n x 12. */
static void ring_time_grows_with_the_number_of_ranks(void)
{
	for (size_t n = 2; n <= RANKS_MAX; n *= 2) {
		struct job_world b;
		setup(&b, "after_backward");
		b.rank_count = n;
		run(&b);
		check_step(&b, 1, 21.5 + 2.0 * (double)(n - 1) / (double)n * 12);
		release(&b);
	}
}

/* Tensor 0 is ready at 14 and reduced at 18. Its update waits for backward, which was issued
 * before, and runs from 20 to 21. Tensor 1 is reduced at 28, and its update takes 0.5. */
static void exchange_overlaps_with_backward(void)
{
	struct job_world b;
	setup(&b, "per_tensor");
	run(&b);
	for (size_t i = 0; i < STEPS; i++) {
		check_step(&b, i, 28.5);
		CHECK_NEAR(step_of(&b, i)->exposed_s, 7 * MS, 1e-9);
		CHECK_NEAR(step_of(&b, i)->collective_s, 12 * MS, 1e-9);
	}
	CHECK(communicator_counters(b.comm[0])->collectives_count == 2 * STEPS);
	release(&b);
}

static void without_overlap_gradients_are_exchanged_after_backward(void)
{
	static const char *const policies[] = {"per_tensor", "ddp"};
	for (int i = 0; i < 2; i++) {
		struct job_world b;
		setup(&b, policies[i]);
		b.exchange.overlap = false;
		run(&b);
		/* There are two collectives. The first update hides behind the second collective,
		 * unless the optimiser waits for all gradients. */
		check_step(&b, 1, 20 + 12 + (i ? 1.5 : 0.5));
		release(&b);
	}
}

/* With buckets of 4 MB the first tensor fills one, so the exchange is as per tensor, but all
 * updates come at the end. One larger bucket holds both tensors. */
static void ddp_buckets_are_exchanged_when_full(void)
{
	static const struct {
		double first_B, next_B, ms;
		uint64_t collectives;
		double tensors_count;
	} rows[] = {{1e6, 25e6, 29.5, 2, 0},
		    {4e6, 1, 29.5, 2, 0},
		    {4e6 + 1, 1, 33.5, 1, 0},
		    {4e6 + 1, 1, 33.5, 1, 2},
		    {4e6 + 1, 1, 29.5, 2, 1}};
	for (size_t i = 0; i < 5; i++) {
		struct job_world b;
		setup(&b, "ddp");
		b.exchange.first_bucket_B = rows[i].first_B;
		b.exchange.bucket_B = rows[i].next_B;
		b.exchange.bucket_tensors_count = rows[i].tensors_count;
		run(&b);
		check_step(&b, 1, rows[i].ms);
		CHECK(communicator_counters(b.comm[0])->collectives_count ==
		      STEPS * rows[i].collectives);
		release(&b);
	}
}

/* A bucket of at most two gradients begins to count anew. */
static void each_ddp_bucket_counts_its_own_gradients(void)
{
	const double five_B[5] = {4};
	const struct exchange_params params = {
		.bucket_B = 1e9, .first_bucket_B = 1e9, .bucket_tensors_count = 2};
	struct exchange_bundle bundles[5] = {{0}};
	size_t i = 0;
	while (strcmp(exchange_policy_at(i)->name, "ddp") != 0)
		i++;
	CHECK(exchange_policy_at(i)->divide(&params, five_B, 5, bundles) == 3);
	CHECK(bundles[0].first == 0 && bundles[1].first == 2 && bundles[2].first == 4);
	CHECK(bundles[0].end == 2 && bundles[1].end == 4 && bundles[2].end == 5);
}

/* The ring carries half of the bytes in 6. */
static void compression_halves_the_ring_time(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.exchange.gradient_element_B = 2;
	run(&b);
	check_step(&b, 1, 20 + 6 + 1.5);
	CHECK_NEAR(communicator_counters(b.comm[0])->sent_B, STEPS * 2 * 6e6, 1e-9);
	release(&b);
}

/* A buffer of 12 MB needs 2 B of memory traffic for each byte at 80 GB/s: 0.3 in and 0.3 out. A
 * single gradient needs no buffer. */
static void copies_of_fused_gradients_add_memory_traffic(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.exchange.fusion_copy_ratio = 2;
	run(&b);
	check_step(&b, 1, 20 + 0.3 + 12 + 0.3 + 1.5);
	CHECK_NEAR(step_of(&b, 1)->kernel_s, (21.5 + 0.6) * MS, 1e-9);
	release(&b);
	setup(&b, "per_tensor");
	b.exchange.fusion_copy_ratio = 2;
	b.traced = true;
	run(&b);
	check_step(&b, 1, 28.5);
	const struct trace *trace = engine_trace(b.engine);
	for (size_t i = 0; i < trace_span_count(trace); i++)
		CHECK(strcmp(trace_span_at(trace, i)->name, "fusion buffer") != 0);
	release(&b);
}

/* Each launch takes 0.25, so tensor 1 starts at 20.25. */
static void launch_cost_delays_each_collective(void)
{
	struct job_world b;
	setup(&b, "per_tensor");
	b.exchange.launch_s = 0.25 * MS;
	run(&b);
	check_step(&b, 1, 28.5 + 0.25);
	release(&b);
}

/* Handing over a gradient takes 8. Tensor 0 is ready at 14, handed over at 22 and reduced at 26.
 * Tensor 1 is ready at 20, but its hand-over begins at 22 and ends at 30. It is reduced at 38, and
 * the update takes 0.5. A launch that takes 8 gives the same times. */
/* The first rank has its gradients at 10 and launches until 13. The other one has them at 20, and
 * the collective begins when it has launched, at 23. */
static void each_rank_launches_its_own_part(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.slowdown_ratio = 0.5;
	b.exchange.launch_s = 3 * MS;
	run(&b);
	check_step(&b, 1, 20 + 3 + 12 + 1.5);
	release(&b);
}

static void gradients_wait_while_the_exchange_is_busy(void)
{
	for (int launches = 0; launches < 2; launches++) {
		struct job_world b;
		setup(&b, "per_tensor");
		*(launches ? &b.exchange.launch_s : &b.exchange.tensor_s) = 8 * MS;
		run(&b);
		check_step(&b, 1, 38.5);
		release(&b);
	}
}

/* Handing over takes 1 for each of two tensors before the collective, and the framework takes 3
 * after it. */
static void framework_work_adds_to_the_exchange(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.exchange.tensor_s = 1 * MS;
	b.exchange.gather_s = 3 * MS;
	b.exchange.gather_inside = true;
	run(&b);
	check_step(&b, 1, 33.5 + 2 + 3);
	CHECK_NEAR(step_of(&b, 1)->other_s, 5 * MS, 1e-9);
	release(&b);
}

/* ---- unequal ranks ---- */

/* The slow rank takes 30 + 12 + 1.5 x 1.5. The other rank waits 10 for it, ends its update 0.75
 * earlier and begins the next step earlier by that time. */
static void slowest_rank_sets_the_step_time(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.slowdown_ratio = 1.5;
	run(&b);
	check_step(&b, 0, 44.25);
	CHECK_NEAR(step_of(&b, 0)->straggler_s, 10.0 / 2 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->exposed_s, 12 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->collective_s, 12 * MS, 1e-9); /* not while it waits */
	CHECK_NEAR(step_of(&b, 0)->kernel_s, (32.25 + 21.5 + 0.75) / 2 * MS, 1e-9);
	check_step(&b, 1, 44.25);
	CHECK_NEAR(step_of(&b, 1)->straggler_s, 10.75 / 2 * MS, 1e-9);
	release(&b);
}

/* As above, but the slow rank stands for three of four. Means over ranks count it three times. */
static void means_count_each_rank_as_often_as_it_stands_for_others(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.slowdown_ratio = 1.5;
	b.copies = 1;
	b.first_more = 2;
	run(&b);
	check_step(&b, 0, 44.25);
	CHECK_NEAR(step_of(&b, 0)->straggler_s, 10.0 / 4 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->exposed_s, 12 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->kernel_s, (3 * 32.25 + 21.5 + 0.75) / 4 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->gpu_busy_s, (3 * 32.25 + 21.5 + 0.75) / 4 * MS, 1e-9);
	release(&b);
}

/* A rank may be four times as fast as the program says: only noise has a least factor. */
static void fast_rank_keeps_its_ratio(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.rank_count = 1;
	b.slowdown_ratio = 0.25;
	run(&b);
	check_step(&b, 1, (20 + 1.5) / 4);
	release(&b);
}

/* The expected maximum of n standard normal values is 0.5642 for n = 2 and 1.4236 for n = 8. Two
 * ranks that represent four each are like eight. */
static void noise_adds_the_expected_maximum_of_the_ranks(void)
{
	static const struct step_segment one[] = {
		{.name = "a", .compute_s = 20 * MS, .tensor_count = 1}};
	static const struct gradient tiny[] = {{.name = "a", .elements_count = 8}};
	static const struct {
		size_t n;
		uint32_t copies;
		double mean;
	} rows[] = {{2, 0, 0.5642}, {8, 0, 1.4236}, {2, 4, 1.4236}};
	struct step_profile profile = hand_made;
	profile.segments = one;
	profile.tensors = tiny;
	profile.segment_count = profile.tensor_count = 1;
	for (int i = 0; i < 3; i++) {
		struct job_world b;
		setup(&b, "after_backward");
		b.profile = &profile;
		b.rank_count = rows[i].n;
		b.copies = rows[i].copies;
		b.step_count = 500;
		b.exchange.noise_ratio = 0.02;
		run(&b);
		double mean_ms = s_from_ps(step_of(&b, 499)->end_ps) / MS / 500;
		/* The maxima of 500 steps have a standard deviation of at most about 0.8: 0.8 /
		 * sqrt(500) = 0.036. */
		CHECK(fabs((mean_ms / 20 - 1) / 0.02 - rows[i].mean) < 3 * 0.036);
		release(&b);
	}
}

static void noise_depends_only_on_the_seed(void)
{
	int64_t ends_ps[3];
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct job_world b;
		setup(&b, "horovod");
		b.rank_count = 4;
		b.exchange.noise_ratio = 0.01;
		b.seed = seed / 2; /* seeds 0, 0 and 1 */
		run(&b);
		ends_ps[seed] = step_of(&b, STEPS - 1)->end_ps;
		release(&b);
	}
	CHECK(ends_ps[0] == ends_ps[1]);
	CHECK(ends_ps[0] != ends_ps[2]);
}

/* ---- sharing ---- */

/* One block occupies one of five multiprocessors while tensor 0 is sent, for 4. So backward ends
 * 0.8 later than without library kernels. */
static void library_kernels_slow_backward(void)
{
	struct job_world b;
	setup(&b, "per_tensor");
	b.library.block_share_ratio = 1;
	run(&b);
	check_step(&b, 1, 28.5 + 0.8);
	release(&b);
}

/* Two jobs run in phase over one wire, so each ring takes 24. */
static void jobs_on_one_wire_share_its_bandwidth(void)
{
	for (size_t jobs = 1; jobs <= JOBS_MAX; jobs++) {
		struct job_world b;
		setup(&b, "after_backward");
		b.shared_wire = true;
		b.job_count = jobs;
		run(&b);
		check_step(&b, 1, 21.5 + 12.0 * (double)jobs);
		release(&b);
	}
}

/* A batch of 100 MB takes 50 to arrive, longer than the step, so input is the bottleneck. A batch
 * of 40 MB takes 20 and is hidden, except for the first one. */
static void input_is_hidden_unless_slower_than_the_step(void)
{
	for (int large = 0; large < 2; large++) {
		struct job_world b;
		setup(&b, "after_backward");
		b.input_B = large ? 100e6 : 40e6;
		b.step_count = 8;
		run(&b);
		check_step(&b, 0, (large ? 50 : 20) + 33.5);
		check_step(&b, 7, large ? 50 : 33.5);
		CHECK_NEAR(step_of(&b, 7)->input_s + 1, (large ? 16.5 * MS : 0) + 1, 1e-9);
		release(&b);
	}
}

/* The batches of the ranks arrive after 20 and 10 ms. Their kernels take 20 ms, or those of rank 0
 * 15 or 30 ms, so rank 1 waits 10, 5 or 20 ms for rank 0. At most 10 ms of that are a wait for the
 * input of rank 0. Both ranks then exchange for 12 ms. */
static void wait_for_the_input_of_another_rank_is_input_wait(void)
{
	static const struct {
		double slowdown_ratio, input_ms, straggler_ms;
	} cases[] = {{1, 20 + 20, 0}, {0.75, 20 + 15, 0}, {1.5, 20 + 20, 10}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct job_world b;
		setup(&b, "after_backward");
		b.input_B = 20e6;
		b.first_input_ratio = 2;
		b.slowdown_ratio = cases[i].slowdown_ratio;
		run(&b);
		CHECK_NEAR(step_of(&b, 0)->input_s, cases[i].input_ms / 2 * MS, 1e-9);
		CHECK_NEAR(step_of(&b, 0)->straggler_s + 1, cases[i].straggler_ms / 2 * MS + 1,
			   1e-9);
		CHECK_NEAR(step_of(&b, 0)->exposed_s, 12 * MS, 1e-9);
		release(&b);
	}
}

/* Three of eight cores at the reference clock belong to the threads of the network, however many
 * ranks of the job the guest has. Each of two guests has such threads. A job inside one machine has
 * none. */
static void network_threads_take_their_cores_once_for_each_guest(void)
{
	for (int across = 0; across < 2; across++)
		for (size_t ranks = 1; ranks <= 4; ranks *= 2) {
			struct job_world b;
			setup(&b, "after_backward");
			b.host_params.cores_count = 8;
			b.host_params.clock_Hz = REFERENCE_CLOCK_HZ;
			b.exchange.network_threads_count = 3;
			b.across_machines = across;
			b.rank_count = ranks;
			b.guest_count = ranks == 4 ? 2 : 1;
			run(&b);
			int pool = 0;
			while (strcmp(fabric_resource_name(b.fabric, pool), "host.pool") != 0)
				pool++;
			double taken = across ? 3 * (double)b.guest_count : 0;
			CHECK_NEAR(fabric_capacity(b.fabric, pool), 8 - taken, 1e-12);
			release(&b);
		}
}

static void launch_queue_of_one_costs_a_fused_job_nothing(void)
{
	struct job_world b;
	setup(&b, "after_backward");
	b.gpu_params.queue_depth_count = 1;
	run(&b);
	check_step(&b, 1, 33.5);
	release(&b);
}

/* The trace has a span for each wait of a rank. */
static void waits_for_gradients_and_ranks_are_traced(void)
{
	struct job_world b;
	size_t gradients = 0, others = 0;
	setup(&b, "after_backward");
	b.slowdown_ratio = 1.5;
	b.traced = true;
	run(&b);
	struct trace *trace = engine_trace(b.engine);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		bool gradient = strcmp(span->name, "exposed communication") == 0;
		bool other = strcmp(span->name, "straggler wait") == 0;
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

/* Sets the program of ResNet-50 by a framework. Its calls cost nothing. */
static void take_resnet50(struct job_world *b, double clusters)
{
	static const struct efficiency_params efficiency = {.peak_ratio = 0.6};
	struct diag *diag = diag_new(b->arena);
	const struct cfg_node *file = cfg_read(b->arena, diag, "models/networks/resnet50.cfg");
	const struct stack_params stack = {.calls_per_launch_count = 1,
					   .l2_loss = L2_LOSS_NO_BATCH_NORM,
					   .sync_on_finish = true,
					   .xla_clusters_count = clusters};
	const struct gradients_params params = {.driver = &b->driver};
	struct gradient_writer *writer = gradient_writer_new(b->arena, &params);
	const struct step_spec spec = {.network = network_read(b->arena, diag, file, 0),
				       .batch = 32,
				       .stack = &stack,
				       .gpu = &b->gpu_params,
				       .efficiency = &efficiency,
				       .gradients = writer};
	b->program = framework_at(0)->program(b->arena, &spec);
	b->gradients = gradient_writer_read(writer);
}

/* The step time is the same, but XLA announces gradients at the end of backward. */
static void xla_clusters_prevent_overlap(void)
{
	double exposed_s[3];
	static const double clusters[] = {0, 4, 1};
	for (int i = 0; i < 3; i++) {
		struct job_world b;
		setup(&b, "horovod");
		take_resnet50(&b, clusters[i]);
		run(&b);
		exposed_s[i] = step_of(&b, 1)->exposed_s;
		release(&b);
	}
	CHECK(exposed_s[0] < 0.5 * exposed_s[2]);
	CHECK(exposed_s[0] <= exposed_s[1] && exposed_s[1] < exposed_s[2]);
	/* 102 MB take 102 ms at 1 GB/s, without any overlap. */
	CHECK(exposed_s[2] > 0.1 && exposed_s[2] < 0.11);
}

/* ---- invariants ---- */

static void plant_part(void *ctx, uint64_t arg)
{
	struct job_world *b = ctx;
	b->job[0]->ranks[1].spent_ps[PART_KERNEL] += (int64_t)arg;
}

static bool goes_on(void *ctx, const struct step_record *step)
{
	return step->kernel_s > 0;
}

/* The test adds a picosecond to a part of the second step of rank 1. */
static void step_part_with_a_picosecond_too_much_stops_the_run(void)
{
	struct job_world b;
	setup(&b, "ddp");
	b.engine = engine_new(b.arena, NULL);
	b.fabric = fabric_new(b.arena, b.engine);
	struct host *host = host_new(b.arena, b.engine, b.fabric, "host", &b.host_params);
	struct guest *guest =
		guest_new(host, "os", fabric_node_find(b.fabric, "host"), &b.guest_params);
	build_wires(&b);
	build_job(&b, 0, &guest);
	b.job[0]->spec.step_done = goes_on;
	engine_at(b.engine, 40000000000, plant_part, &b, 1);
	CHECK(engine_run(b.engine) == ENGINE_FAILED);
	CHECK_PART(engine_failure(b.engine), "job0 rank 1: step 1 takes ");
	CHECK(b.job[0]->step_count == 2);
	release(&b);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(one_rank_needs_no_exchange),
		TEST(an_engine_issues_updates_of_a_single_rank),
		TEST(means_count_each_rank_as_often_as_it_stands_for_others),
		TEST(times_of_many_ranks_are_added_up),
		TEST(step_without_overlap_is_the_sum_of_its_parts),
		TEST(ring_time_grows_with_the_number_of_ranks),
		TEST(exchange_overlaps_with_backward),
		TEST(without_overlap_gradients_are_exchanged_after_backward),
		TEST(ddp_buckets_are_exchanged_when_full),
		TEST(compression_halves_the_ring_time),
		TEST(copies_of_fused_gradients_add_memory_traffic),
		TEST(launch_cost_delays_each_collective),
		TEST(each_rank_launches_its_own_part),
		TEST(framework_work_adds_to_the_exchange),
		TEST(gradients_wait_while_the_exchange_is_busy),
		TEST(slowest_rank_sets_the_step_time),
		TEST(fast_rank_keeps_its_ratio),
		TEST(noise_adds_the_expected_maximum_of_the_ranks),
		TEST(noise_depends_only_on_the_seed),
		TEST(library_kernels_slow_backward),
		TEST(jobs_on_one_wire_share_its_bandwidth),
		TEST(input_is_hidden_unless_slower_than_the_step),
		TEST(wait_for_the_input_of_another_rank_is_input_wait),
		TEST(network_threads_take_their_cores_once_for_each_guest),
		TEST(launch_queue_of_one_costs_a_fused_job_nothing),
		TEST(waits_for_gradients_and_ranks_are_traced),
		TEST(xla_clusters_prevent_overlap),
		TEST(step_part_with_a_picosecond_too_much_stops_the_run),
		TEST(each_ddp_bucket_counts_its_own_gradients),
	};
	num_init();
	return TEST_MAIN(tests);
}
