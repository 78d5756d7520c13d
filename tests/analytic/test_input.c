/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input pipelines against their slowest stage, by hand. */
#include "sim/fabric/link.h"
#include "sim/training/input.h"
#include "tests/net.h"

/* A machine of four cores at the reference clock whose GPUs lie each on 10 GB/s, with a
 * disk of 100 MB/s that answers at once. A batch is 100 images of 10 kB (1 MB: read in
 * 10 ms), each 0.4 ms of one core (40 ms of work: 10 ms on four), and 100 MB decoded
 * (copied in 10 ms). Copies out of the page cache cost next to nothing: some 1e-8 of
 * the cores. */
enum { RANKS_MAX = 4, STEPS = 12 };

struct rank {
	struct box *box;
	struct input *input;
	double step_s;     /* the GPU's */
	double odd_step_s; /* ... every other one */
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
	double shared_Bps; /* of a link that all GPUs lie behind; 0: none */
	int root;
	struct rank ranks[RANKS_MAX];
	size_t rank_count;
	double step_s, odd_step_s; /* 0: as the others */
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
	(void)arg;
	struct rank *rank = ctx;
	struct engine *engine = rank->box->net->engine;
	rank->began_s[rank->steps++] = net_now_s(rank->box->net);
	if (rank->steps < STEPS)
		engine_after(engine, ps_from_s(rank->steps % 2 ? rank->odd_step_s : rank->step_s),
			     take, rank, 0);
}

static void take(void *ctx, uint64_t arg)
{
	(void)arg;
	struct rank *rank = ctx;
	input_take(rank->input, began, rank, 0);
}

/* Runs STEPS steps on every rank; guests[rank] runs it. */
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

/* The time between the last two steps of rank 0. */
static double step_of(struct box *box)
{
	box_run_in(box, NULL);
	const struct rank *rank = &box->ranks[0];
	double seconds = rank->began_s[STEPS - 1] - rank->began_s[STEPS - 2];
	net_free(box->net);
	return seconds;
}

/* Each stage in turn takes 40 ms, the others 10: steps come every 40 ms from the
 * second on, whatever lies between them, and the first after the sum. */
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

/* Threads that have finished decoding crowd no other thread: four of four cores every 40 ms.
 * Crowding would cost all the work of a core. */
static void decoding_threads_end(void)
{
	struct box *box = box_new();
	box->net->host_params.oversubscription_cost_ratio = 1;
	box->params.decode_s *= 4;
	CHECK_NEAR(step_of(box), 40e-3, 1e-7);
}

/* A GPU that needs longer than each stage never waits, to the picosecond: steps of
 * 10.001 ms beside stages of 10 ms each. */
static void hidden(void)
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

/* Not staged, the copy of 10 ms adds itself to each step of the GPU; the stages before
 * it overlap all the same. */
static void not_staged(void)
{
	struct box *box = box_new();
	box->params.staged = false;
	box->step_s = 30e-3;
	CHECK_NEAR(step_of(box), 40e-3, 1e-9);
	box = box_new();
	box->step_s = 30e-3;
	CHECK_NEAR(step_of(box), 30e-3, 1e-9);
}

/* Synthetic in host memory: nothing is read or decoded. */
static void from_host(void)
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

/* A byte for each element in place of four: a quarter of the bytes, 2.5 ms a copy; two
 * bytes, 5 ms. */
static void smaller_elements(void)
{
	for (int element_B = 1; element_B <= 2; element_B++) {
		struct box *box = box_new();
		box->params.source = "host";
		box->params.element_B = element_B;
		CHECK_NEAR(step_of(box), element_B * 2.5e-3, 1e-9);
	}
}

/* Handing over takes 5 ms of a core before each copy of 10; not, where it hides. */
static void feeding(void)
{
	struct box *box = box_new();
	box->params.feed_s = 5e-3;
	CHECK_NEAR(step_of(box), 15e-3, 1e-9);
	box = box_new();
	box->params.feed_s = 5e-3;
	box->step_s = 16e-3;
	CHECK_NEAR(step_of(box), 16e-3, 1e-9);
}

/* Four ranks on links of their own copy side by side, in 10 ms. With one copying
 * thread for their process they take turns: 40 ms; with two, 20. Processes of their own
 * have a thread each. */
static double copying_s(bool one_process, double threads_count)
{
	struct box *box = box_new();
	box->params.source = "host";
	box->params.one_process = one_process;
	box->params.copy_threads_count = threads_count;
	box->rank_count = 4;
	return step_of(box);
}

static void copy_threads(void)
{
	CHECK_NEAR(copying_s(true, 0), 10e-3, 1e-9);
	CHECK_NEAR(copying_s(true, 1), 40e-3, 1e-9);
	CHECK_NEAR(copying_s(true, 2), 20e-3, 1e-9);
	CHECK_NEAR(copying_s(false, 1), 10e-3, 1e-9);
}

/* Two GPUs behind one PCIe root of 10 GB/s copy in 20 ms. */
static void shared_root(void)
{
	struct box *box = box_new();
	box->params.source = "host";
	box->rank_count = 2;
	box->shared_Bps = 10e9;
	CHECK_NEAR(step_of(box), 20e-3, 1e-9);
}

/* Pageable copies move 3 B of memory a byte: staging reads and writes it, the engine
 * reads it. With 20 GB/s of memory one takes 100 MB x 3 / 20 GB/s = 15 ms, and two
 * 30, but for the first and last of a hundred chunks. */
static void shared_memory(void)
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

/* The second guest is a neighbour's: it decodes just as much. Its rank and this one
 * share four cores, so decoding is the bottleneck at 20 ms; with two pinned cores each it is,
 * too, but then alone it does not get more. */
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

static void shared_cores(void)
{
	CHECK_NEAR(beside_s(false, false), 10e-3, 1e-7);
	CHECK_NEAR(beside_s(false, true), 20e-3, 1e-7);
	CHECK_NEAR(beside_s(true, false), 20e-3, 1e-7);
	CHECK_NEAR(beside_s(true, true), 20e-3, 1e-7);
}

/* One thread decodes 100 images in 40 ms; a virtual machine needs 1.25 times that. */
static void decode_threads(void)
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

/* A longer queue lets a rank outlive a stretch in which nothing is decoded: with the
 * default of one batch a GPU of 40 ms finds nothing sooner than the first does. */
static void prefetch_fills(void)
{
	for (int deep = 0; deep < 2; deep++) {
		struct box *box = box_new();
		box->params.prefetch_count = deep ? 6 : 1;
		box->step_s = 1;
		box_run_in(box, NULL);
		/* Taken 12, on the GPU 1 more, decoded as many as the queue holds. */
		double decoded = input_counters(box->ranks[0].input)->decoded_count;
		CHECK(decoded == 100.0 * (STEPS + 1 + (deep ? 6 : 1)));
		net_free(box->net);
	}
}

/* Decoding takes 40 ms, the GPU's steps 10 and 50 in turn. A pipeline never stops
 * decoding: two steps in 80 ms. In lockstep nothing is made up for: 40 and 50; a longer
 * queue is of no use. */
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

static void lockstep_makes_up_for_nothing(void)
{
	CHECK_NEAR(two_steps_s(false, 6), 80e-3, 1e-6);
	CHECK_NEAR(two_steps_s(true, 6), 90e-3, 1e-6);
	CHECK_NEAR(two_steps_s(true, 1), 90e-3, 1e-6);
}

/* The first batch is read and decoded in one session, copied in the next, taken in the
 * third: 10, then 10 for each. */
static void lockstep_fills(void)
{
	struct box *box = box_new();
	box->params.lockstep = true;
	box_run_in(box, NULL);
	CHECK_NEAR(box->ranks[0].began_s[0], 30e-3, 1e-7);
	CHECK_NEAR(box->ranks[0].began_s[1], 40e-3, 1e-7);
	net_free(box->net);
}

/* 0.1 ms for each of 100 images of a rank, by one thread, before the GPUs' 30 ms: 10 for
 * one rank, 20 for two of one process, 10 each for processes of their own. */
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

static void sessions_are_prepared(void)
{
	CHECK_NEAR(prepared_s(1, true, 0), 30e-3, 1e-7);
	CHECK_NEAR(prepared_s(1, true, 0.1e-3), 40e-3, 1e-7);
	CHECK_NEAR(prepared_s(2, true, 0.1e-3), 50e-3, 1e-7);
	CHECK_NEAR(prepared_s(2, false, 0.1e-3), 40e-3, 1e-6);
}

/* Without storage a session is only the copy, at the same time as the step of the GPU. */
static void lockstep_from_host(void)
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
		TEST(decoding_threads_end),
		TEST(hidden),
		TEST(not_staged),
		TEST(from_host),
		TEST(feeding),
		TEST(copy_threads),
		TEST(shared_root),
		TEST(shared_memory),
		TEST(shared_cores),
		TEST(decode_threads),
		TEST(prefetch_fills),
		TEST(smaller_elements),
		TEST(lockstep_makes_up_for_nothing),
		TEST(lockstep_fills),
		TEST(sessions_are_prepared),
		TEST(lockstep_from_host),
	};
	num_init();
	return TEST_MAIN(tests);
}
