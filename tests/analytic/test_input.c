/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input pipelines: the slowest stage sets the time between steps. */
#include "sim/fabric/link.h"
#include "sim/training/input.h"
#include "tests/net.h"

/* A machine has four cores at the reference clock. Each GPU has a link of 10 GB/s. A disk of 100
 * MB/s answers without delay. A batch is 100 images of 10 kB (1 MB, read in 10 ms). Each image
 * takes 0.4 ms of one core (the batch 10 ms on four cores), and the decoded batch has 100 MB
 * (copied in 10 ms). Copies out of the page cache take about 1e-8 of the cores. */
enum { RANKS_MAX = 4, STEPS = 12 };

struct rank {
	struct box *box;
	struct input *input;
	double step_s;     /* step time of the GPU */
	double odd_step_s; /* ... of every other step */
	double began_s[STEPS];
	size_t steps;
};

struct box {
	struct net *net;
	struct input_params params;
	struct storage_params disk;
	struct dma_params dma;
	struct storage *storage;
	struct input_process *process;
	double shared_Bps; /* of a link that all GPUs share; 0: no such link */
	int root;
	struct rank ranks[RANKS_MAX];
	size_t rank_count;
	double step_s, odd_step_s; /* 0: as step_s */
};

static struct box *box_new(void)
{
	struct net *net = net_new();
	struct box *box = ARENA_NEW(net->arena, struct box);
	box->net = net;
	net->one_node = true;
	net->host_params.cores_count = 4;
	net->host_params.clock_Hz = 2.4e9;
	net->host_params.copy_rate_Bps = 1e15;
	net->host_params.dram_bandwidth_Bps = 1e14;
	net->host_params.oversubscription_cost_ratio = 0;
	net_presets(net->arena, &input_table, &box->params);
	net_presets(net->arena, &storage_table, &box->disk);
	box->dma = (struct dma_params){
		.setup_s = 0, .chunk_B = 1e6, .chunk_start_s = 0, .efficiency_ratio = 1};
	box->disk.bandwidth_Bps = 100e6;
	box->disk.latency_s = 0;
	box->params.image_B = 10e3;
	box->params.decode_s = 0.4e-3;
	box->params.feed_s = 0;
	box->rank_count = 1;
	box->step_s = 1e-3;
	return box;
}

static const struct route *to_gpu(struct box *box, size_t rank)
{
	struct fabric *fabric = box->net->fabric;
	int host = fabric_node_find(fabric, "alpha");
	struct link_traits slot = {.capacity_Bps = {10e9, 10e9}, .own_packets = true};
	if (box->shared_Bps > 0 && rank == 0) {
		struct link_traits port = {.capacity_Bps = {box->shared_Bps, box->shared_Bps},
					   .own_packets = true};
		box->root = fabric_node_add(fabric, "root");
		fabric_link_add(fabric, "port", link_kind_find("pcie"), host, box->root, &port);
	}
	const char *name = arena_printf(box->net->arena, "gpu%zu", rank);
	int gpu = fabric_node_add(fabric, name);
	fabric_link_add(fabric, arena_printf(box->net->arena, "slot%zu", rank),
			link_kind_find("pcie"), box->shared_Bps > 0 ? box->root : host, gpu, &slot);
	return fabric_route(fabric, host, gpu, TRAFFIC_ANY);
}

static void take(void *ctx, uint64_t arg);

static void began(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	struct engine *engine = rank->box->net->engine;
	rank->began_s[rank->steps++] = net_now_s(rank->box->net);
	if (rank->steps < STEPS)
		engine_after(engine, ps_from_s(rank->steps % 2 ? rank->odd_step_s : rank->step_s),
			     take, rank, 0);
}

static void take(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	input_take(rank->input, began, rank, 0);
}

/* Runs STEPS steps on each rank. Rank i runs in guest guests[i]. */
static void box_run_in(struct box *box, const int *guests)
{
	struct net *net = box->net;
	net_build(net);
	box->storage = storage_new(net->arena, net->engine, net->fabric, "disk", &box->disk);
	if (box->params.one_process)
		box->process = input_process_new(net->arena, &box->params);
	bool on_host = strcmp(box->params.source, "host") == 0;
	for (size_t i = 0; i < box->rank_count; i++) {
		struct guest *guest = net->guest[guests ? guests[i] : 0];
		const struct input_spec spec = {
			.arena = net->arena,
			.engine = net->engine,
			.fabric = net->fabric,
			.name = "input",
			.params = &box->params,
			.process = box->process,
			.storage = on_host ? NULL : box->storage,
			.reader = box->params.one_process ? 0 : (unsigned)i,
			.guest = guest,
			.core = guest_core(guest),
			.dma = &box->dma,
			.to_device = to_gpu(box, i),
			.batch_count = 100,
			.batch_B = 100e6,
		};
		box->ranks[i] = (struct rank){
			.box = box,
			.input = input_new(&spec),
			.step_s = box->step_s,
			.odd_step_s = box->odd_step_s > 0 ? box->odd_step_s : box->step_s,
		};
		take(&box->ranks[i], 0);
	}
	net_run(net);
	for (size_t i = 0; i < box->rank_count; i++)
		CHECK(box->ranks[i].steps == STEPS);
}

/* Time between the last two steps of rank 0. */
static double step_of(struct box *box)
{
	box_run_in(box, NULL);
	const struct rank *rank = &box->ranks[0];
	double seconds = rank->began_s[STEPS - 1] - rank->began_s[STEPS - 2];
	net_free(box->net);
	return seconds;
}

/* Each stage in turn takes 40 ms, and the others 10 ms. Steps begin every 40 ms, the first one
 * after the sum of all stages. */
static void the_slowest_stage_sets_the_time_between_steps(void)
{
	for (int stage = 0; stage < 3; stage++) {
		struct box *box = box_new();
		if (stage == 0)
			box->disk.bandwidth_Bps /= 4;
		else if (stage == 1)
			box->params.decode_s *= 4;
		else
			box->dma.efficiency_ratio = 0.25;
		box_run_in(box, NULL);
		const struct rank *rank = &box->ranks[0];
		CHECK_NEAR(rank->began_s[0], 60e-3, 1e-7);
		for (size_t i = 1; i < STEPS; i++)
			CHECK_NEAR(rank->began_s[i] - rank->began_s[i - 1], 40e-3, 1e-7);
		const struct input_counters *counters = input_counters(rank->input);
		const double busy_s[] = {counters->read_busy_s, counters->decode_busy_s,
					 counters->copy_busy_s};
		for (int other = 0; other < 3; other++)
			CHECK(busy_s[stage] >= busy_s[other]);
		net_free(box->net);
	}
}

/* Threads that have finished decoding do not slow other threads: the four threads on four cores
 * take 40 ms. An excess of threads would cost the work of a whole core. */
static void finished_decoding_threads_leave_the_cores(void)
{
	struct box *box = box_new();
	box->net->host_params.oversubscription_cost_ratio = 1;
	box->params.decode_s *= 4;
	CHECK_NEAR(step_of(box), 40e-3, 1e-7);
}

/* A GPU with steps of 10.001 ms never waits for stages of 10 ms each, exact to the picosecond. */
static void input_hides_behind_a_slower_gpu(void)
{
	struct box *box = box_new();
	box->step_s = 10.001e-3;
	box_run_in(box, NULL);
	const struct rank *rank = &box->ranks[0];
	for (size_t i = 1; i < STEPS; i++)
		CHECK(ps_from_s(rank->began_s[i]) - ps_from_s(rank->began_s[i - 1]) == 10001000000);
	const struct input_counters *counters = input_counters(rank->input);
	CHECK(counters->copied_B >= STEPS * 100e6);
	CHECK_NEAR(counters->copy_busy_s, counters->copied_B / 10e9, 1e-9);
	CHECK_NEAR(counters->read_busy_s, counters->read_B / 100e6, 1e-9);
	CHECK(counters->decoded_count <= (STEPS + 3) * 100);
	net_free(box->net);
}

/* Without staging the copy of 10 ms adds to each step of the GPU. The stages before it still
 * overlap. */
static void copy_without_staging_adds_to_each_step(void)
{
	struct box *box = box_new();
	box->params.staged = false;
	box->step_s = 30e-3;
	CHECK_NEAR(step_of(box), 40e-3, 1e-9);
	box = box_new();
	box->step_s = 30e-3;
	CHECK_NEAR(step_of(box), 30e-3, 1e-9);
}

/* Synthetic data in host memory are neither read nor decoded. */
static void synthetic_data_in_host_memory_are_only_copied(void)
{
	struct box *box = box_new();
	box->params.source = "host";
	box->disk.bandwidth_Bps = 1e3;
	box_run_in(box, NULL);
	const struct rank *rank = &box->ranks[0];
	CHECK_NEAR(rank->began_s[STEPS - 1] - rank->began_s[STEPS - 2], 10e-3, 1e-9);
	CHECK(input_counters(rank->input)->read_B == 0);
	CHECK(input_counters(rank->input)->decoded_count == 0);
	net_free(box->net);
}

/* With 1 B for each element instead of 4, the copy takes a quarter of 10 ms; with 2 B half of it.
 */
static void copy_time_follows_the_element_size(void)
{
	for (int element_B = 1; element_B <= 2; element_B++) {
		struct box *box = box_new();
		box->params.source = "host";
		box->params.element_B = element_B;
		CHECK_NEAR(step_of(box), element_B * 2.5e-3, 1e-9);
	}
}

/* Feeding takes 5 ms of a core before each copy of 10 ms. Both hide behind a step of 16 ms. */
static void feeding_adds_before_each_copy_unless_hidden(void)
{
	struct box *box = box_new();
	box->params.feed_s = 5e-3;
	CHECK_NEAR(step_of(box), 15e-3, 1e-9);
	box = box_new();
	box->params.feed_s = 5e-3;
	box->step_s = 16e-3;
	CHECK_NEAR(step_of(box), 16e-3, 1e-9);
}

/* A virtual machine also handles an interrupt of 5 ms before each copy of 10 ms. */
static void virtual_machine_adds_an_interrupt_to_each_copy(void)
{
	struct box *box = box_new();
	box->params.source = "host";
	box->net->guest_params[0].kind = GUEST_VM;
	box->net->guest_params[0].interrupt_s = 5e-3;
	CHECK_NEAR(step_of(box), 15e-3, 1e-9);
}

/* Memory of 10 GB/s is the bottleneck, of which reading at 100 MB/s takes 0.3 GB/s. After a second,
 * decoding reads a batch of 100 MB and writes as much, and the copy reads it. */
static void decoding_reads_and_writes_memory(void)
{
	struct box *box = box_new();
	box->params.image_B = 1e6;
	box->params.decode_s = 1e-6;
	box->net->host_params.dram_bandwidth_Bps = 10e9;
	box_run_in(box, NULL);
	CHECK_NEAR(box->ranks[0].began_s[0], 1 + 200e6 / 9.7e9 + 100e6 / 9.7e9, 1e-6);
	net_free(box->net);
}

/* Four ranks have their own links and copy in parallel, in 10 ms. If their process has one copying
 * thread, the copies follow each other: 40 ms; with two threads 20 ms. Separate processes have a
 * thread each. */
static double copying_s(bool one_process, double threads_count)
{
	struct box *box = box_new();
	box->params.source = "host";
	box->params.one_process = one_process;
	box->params.copy_threads_count = threads_count;
	box->rank_count = 4;
	return step_of(box);
}

static void copying_threads_of_a_process_limit_parallel_copies(void)
{
	CHECK_NEAR(copying_s(true, 0), 10e-3, 1e-9);
	CHECK_NEAR(copying_s(true, 1), 40e-3, 1e-9);
	CHECK_NEAR(copying_s(true, 2), 20e-3, 1e-9);
	CHECK_NEAR(copying_s(false, 1), 10e-3, 1e-9);
}

/* Two GPUs behind one PCIe root of 10 GB/s copy in 20 ms. */
static void gpus_behind_one_pcie_root_share_its_bandwidth(void)
{
	struct box *box = box_new();
	box->params.source = "host";
	box->rank_count = 2;
	box->shared_Bps = 10e9;
	CHECK_NEAR(step_of(box), 20e-3, 1e-9);
}

/* A pageable copy moves 3 B of memory for each byte: staging reads and writes it, and the copy
 * engine reads it. With 20 GB/s of memory one copy takes 100 MB x 3 / 20 GB/s = 15 ms, and two take
 * 30 ms, except for the first and last of a hundred chunks. */
static void pageable_copies_share_memory_bandwidth(void)
{
	for (size_t ranks = 1; ranks <= 2; ranks++) {
		struct box *box = box_new();
		box->params.source = "host";
		box->params.pinned = false;
		box->net->host_params.dram_bandwidth_Bps = 20e9;
		box->rank_count = ranks;
		CHECK_NEAR(step_of(box), (double)ranks * 15e-3, 0.01);
	}
}

/* The second guest belongs to a neighbour who decodes as much. The two guests share four cores, so
 * decoding is the bottleneck at 20 ms. With two pinned cores each it takes 20 ms, too, also without
 * the neighbour. */
static double beside_s(bool pinned, bool neighbour)
{
	struct box *box = box_new();
	box->rank_count = neighbour ? 2 : 1;
	box->disk.bandwidth_Bps = 1e9;
	for (int i = 0; i < 2 && pinned; i++) {
		box->net->guest_params[i].pinned = true;
		box->net->guest_params[i].vcpus_count = 2;
	}
	box_run_in(box, (const int[]){0, 1});
	double seconds = box->ranks[0].began_s[STEPS - 1] - box->ranks[0].began_s[STEPS - 2];
	net_free(box->net);
	return seconds;
}

static void neighbour_slows_decoding_unless_cores_are_pinned(void)
{
	CHECK_NEAR(beside_s(false, false), 10e-3, 1e-7);
	CHECK_NEAR(beside_s(false, true), 20e-3, 1e-7);
	CHECK_NEAR(beside_s(true, false), 20e-3, 1e-7);
	CHECK_NEAR(beside_s(true, true), 20e-3, 1e-7);
}

/* One thread decodes 100 images in 40 ms. A virtual machine needs 1.25 times as long. */
static void one_decoding_thread_uses_one_core(void)
{
	struct box *box = box_new();
	box->params.decode_threads_count = 1;
	CHECK_NEAR(step_of(box), 40e-3, 1e-9);
	box = box_new();
	box->params.decode_threads_count = 1;
	box->net->guest_params[0].kind = GUEST_VM;
	box->net->guest_params[0].work_cost_ratio = 0.25;
	box->net->guest_params[0].interrupt_s = 0;
	CHECK_NEAR(step_of(box), 50e-3, 1e-9);
}

/* With steps of 1 s the GPU is slow, so the input decodes until its queue of one or six batches is
 * full, and reads two batches ahead of that. */
static void prefetch_decodes_until_its_queue_is_full(void)
{
	for (int deep = 0; deep < 2; deep++) {
		struct box *box = box_new();
		box->params.prefetch_count = deep ? 6 : 1;
		box->step_s = 1;
		box_run_in(box, NULL);
		/* The rank has taken STEPS batches, one is on the GPU, and the queue is full. */
		double decoded = input_counters(box->ranks[0].input)->decoded_count;
		CHECK(decoded == 100.0 * (STEPS + 1 + (deep ? 6 : 1)));
		CHECK_NEAR(input_counters(box->ranks[0].input)->read_B, (decoded + 200) * 10e3, 0);
		net_free(box->net);
	}
}

/* Two steps: decoding takes 40 ms, and the steps of the GPU take 10 and 50 ms in turn. A pipeline
 * decodes all the time: two steps in 80 ms. In lockstep they take 40 and 50 ms, and a longer queue
 * does not help. */
static double two_steps_s(bool lockstep, double prefetch_count)
{
	struct box *box = box_new();
	box->params.lockstep = lockstep;
	box->params.prefetch_count = prefetch_count;
	box->params.decode_s *= 4;
	box->step_s = 10e-3;
	box->odd_step_s = 50e-3;
	box_run_in(box, NULL);
	const struct rank *rank = &box->ranks[0];
	double seconds = rank->began_s[STEPS - 1] - rank->began_s[STEPS - 3];
	net_free(box->net);
	return seconds;
}

static void lockstep_input_does_not_average_uneven_steps(void)
{
	CHECK_NEAR(two_steps_s(false, 6), 80e-3, 1e-6);
	CHECK_NEAR(two_steps_s(true, 6), 90e-3, 1e-6);
	CHECK_NEAR(two_steps_s(true, 1), 90e-3, 1e-6);
}

/* The first batch is read and decoded in one session, copied in the next and used in the third.
 * Each session takes 10 ms. */
static void lockstep_input_delivers_the_first_batch_in_the_third_session(void)
{
	struct box *box = box_new();
	box->params.lockstep = true;
	box_run_in(box, NULL);
	CHECK_NEAR(box->ranks[0].began_s[0], 30e-3, 1e-7);
	CHECK_NEAR(box->ranks[0].began_s[1], 40e-3, 1e-7);
	net_free(box->net);
}

/* Step time if a session takes 0.1 ms to prepare for each of the rank's 100 images, before the 30
 * ms of the GPUs. One thread prepares them: 10 ms for one rank, 20 ms for two ranks of one process,
 * 10 ms each for separate processes. */
static double prepared_s(size_t rank_count, bool one_process, double session_s)
{
	struct box *box = box_new();
	box->params.lockstep = true;
	box->params.one_process = one_process;
	box->params.session_s = session_s;
	box->rank_count = rank_count;
	box->step_s = 30e-3;
	return step_of(box);
}

static void session_preparation_adds_for_each_rank_of_a_process(void)
{
	CHECK_NEAR(prepared_s(1, true, 0), 30e-3, 1e-7);
	CHECK_NEAR(prepared_s(1, true, 0.1e-3), 40e-3, 1e-7);
	CHECK_NEAR(prepared_s(2, true, 0.1e-3), 50e-3, 1e-7);
	CHECK_NEAR(prepared_s(2, false, 0.1e-3), 40e-3, 1e-6);
}

/* A virtual machine prepares the 10 ms of a session in 1.25 times as long. */
static void virtual_machine_prepares_sessions_more_slowly(void)
{
	struct box *box = box_new();
	box->params.lockstep = true;
	box->params.session_s = 0.1e-3;
	box->step_s = 30e-3;
	box->net->guest_params[0].kind = GUEST_VM;
	box->net->guest_params[0].work_cost_ratio = 0.25;
	box->net->guest_params[0].interrupt_s = box->net->guest_params[0].disk_request_s = 0;
	CHECK_NEAR(step_of(box), 42.5e-3, 1e-7);
}

/* Without storage a session only copies. The copy overlaps with the step of the GPU. */
static void lockstep_copy_of_synthetic_data_overlaps_the_step(void)
{
	struct box *box = box_new();
	box->params.source = "host";
	box->params.lockstep = true;
	box->step_s = 4e-3;
	CHECK_NEAR(step_of(box), 10e-3, 1e-9);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(the_slowest_stage_sets_the_time_between_steps),
		TEST(finished_decoding_threads_leave_the_cores),
		TEST(input_hides_behind_a_slower_gpu),
		TEST(copy_without_staging_adds_to_each_step),
		TEST(synthetic_data_in_host_memory_are_only_copied),
		TEST(feeding_adds_before_each_copy_unless_hidden),
		TEST(copying_threads_of_a_process_limit_parallel_copies),
		TEST(gpus_behind_one_pcie_root_share_its_bandwidth),
		TEST(pageable_copies_share_memory_bandwidth),
		TEST(neighbour_slows_decoding_unless_cores_are_pinned),
		TEST(one_decoding_thread_uses_one_core),
		TEST(prefetch_decodes_until_its_queue_is_full),
		TEST(copy_time_follows_the_element_size),
		TEST(lockstep_input_does_not_average_uneven_steps),
		TEST(lockstep_input_delivers_the_first_batch_in_the_third_session),
		TEST(session_preparation_adds_for_each_rank_of_a_process),
		TEST(lockstep_copy_of_synthetic_data_overlaps_the_step),
		TEST(virtual_machine_adds_an_interrupt_to_each_copy),
		TEST(decoding_reads_and_writes_memory),
		TEST(virtual_machine_prepares_sessions_more_slowly),
	};
	num_init();
	return TEST_MAIN(tests);
}
