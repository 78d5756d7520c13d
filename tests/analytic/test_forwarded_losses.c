/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses of the messages of forwarded calls, counted over several GPUs and connections.
 *
 * Three machines with one GPU each are connected to a switch. A program uses two of the GPUs, and
 * only the port of one machine loses packets. The two GPUs are exchanged, because neither of them
 * may hide what the other one counts. */
#include "sim/remoting/policies.h"
#include "sim/workload/program_job.h"
#include "tests/comm_world.h"

enum { MACHINES = 3, DEVICES = 2, COPIES = 18, ITEMS = DEVICES * (COPIES + 1) + 1, STEPS = 30 };

struct losses_world {
	struct comm_world *w;
	struct driver_params driver;
	struct dma_params dma;
	struct runtime_params runtime;
	struct item items[ITEMS];
	struct call_thread thread;
	struct program program;
	struct program_gpu gpus[DEVICES];
	struct program_rank rank;
	struct workload workload;
	struct job_run run;
	struct job *job;
};

static void window_opened(void *ctx)
{
}

/* lossy: the machine whose port loses 5 % of the packets; MACHINES: none. */
static void build_machines(struct losses_world *l, size_t lossy)
{
	struct comm_world *w = l->w;
	fabric_node_add(w->fabric, "switch");
	for (size_t i = 0; i < MACHINES; i++) {
		double loss_ratio = i == lossy ? 0.05 : 0;
		const struct link_traits port = {.capacity_Bps = {1e9, 1e9},
						 .latency_s = 5e-6,
						 .packet_payload_B = 1500,
						 .loss_ratio = {loss_ratio, loss_ratio}};
		size_t host = comm_host(w), gpu = comm_gpu(w, host);
		comm_link(w, "pcie", gpu_name(w->gpus[gpu]), guest_name(w->guests[host]), 1e10, 0);
		fabric_link_add(w->fabric, arena_printf(w->arena, "port %zu", i),
				link_kind_find("ethernet"), guest_node(w->guests[host]),
				fabric_node_find(w->fabric, "switch"), &port);
	}
}

static struct program_gpu place(struct losses_world *l, size_t machine)
{
	struct comm_world *w = l->w;
	int guest = guest_node(w->guests[machine]), gpu = gpu_node(w->gpus[machine]);
	return (struct program_gpu){
		.gpu = w->gpus[machine],
		.server = w->guests[machine],
		.to_device = fabric_route(w->fabric, guest, gpu, TRAFFIC_COPIES),
		.to_host = fabric_route(w->fabric, gpu, guest, TRAFFIC_COPIES),
	};
}

/* Creates a program in the guest of machine `client`. A step copies 18 times to the GPUs of two
 * machines in turn, launches a kernel on each, which needs no answer, and waits for the first GPU.
 */
static struct losses_world *program_new(size_t client, size_t first, size_t second, size_t lossy)
{
	struct comm_world *w = comm_world_new();
	struct losses_world *l = ARENA_NEW(w->arena, struct losses_world);
	l->w = w;
	l->dma = (struct dma_params){.chunk_B = 1e9, .efficiency_ratio = 1};
	net_presets(w->arena, &runtime_table, &l->runtime);
	net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
	l->runtime.connections_count = 2;
	while (strcmp(policy_at((size_t)l->runtime.policy)->name, "asynchronous") != 0)
		l->runtime.policy++;
	l->driver.synchronize_s = 20e-6;
	build_machines(l, lossy);
	for (size_t i = 0; i < ITEMS; i++)
		l->items[i] =
			(struct item){.kind = ITEM_CALL,
				      .call = {.kind = i < DEVICES * COPIES ? CALL_MEMCPY_H2D
						       : i + 1 < ITEMS      ? CALL_LAUNCH
								       : CALL_DEVICE_SYNCHRONIZE,
					       .device = (uint16_t)(i % DEVICES),
					       .payload_B = i < DEVICES * COPIES ? 1000 : 0}};
	l->thread = (struct call_thread){"main", l->items, ITEMS};
	l->program = (struct program){.threads = &l->thread,
				      .thread_count = 1,
				      .device_count = DEVICES,
				      .stream_count = 1};
	l->gpus[0] = place(l, first);
	l->gpus[1] = place(l, second);
	l->rank = (struct program_rank){
		.guest = w->guests[client], .program = &l->program, .gpus = l->gpus};
	l->workload.lossy = lossy < MACHINES;
	return l;
}

static enum engine_end run_job(struct losses_world *l)
{
	struct comm_world *w = l->w;
	l->workload = (struct workload){.arena = w->arena,
					.engine = w->engine,
					.seed = 1,
					.lossy = l->workload.lossy,
					.warmup_count = STEPS / 3,
					.limits = {STEPS, 1},
					.window_opened = window_opened};
	workload_init(&l->workload);
	const struct program_job_spec spec = {.comm = {.arena = w->arena,
						       .engine = w->engine,
						       .fabric = w->fabric,
						       .name = "job",
						       .transport = transport_kind_find("tcp"),
						       .transport_params = w->transport_params},
					      .what = "programs",
					      .fraction_ratio = 1,
					      .driver = &l->driver,
					      .dma = &l->dma,
					      .runtime = &l->runtime,
					      .ranks = &l->rank,
					      .rank_count = 1};
	l->job = l->workload.jobs[0] = program_job_new(&l->workload, &l->run, &spec);
	return engine_run(w->engine);
}

static struct losses_world *run_losses(size_t client, size_t first, size_t second, size_t lossy)
{
	struct losses_world *l = program_new(client, first, second, lossy);
	CHECK(run_job(l) == ENGINE_STOPPED);
	workload_account(&l->workload);
	workload_read(&l->workload, NULL);
	CHECK(!l->run.failed);
	return l;
}

/* About 2000 packets each way to and from each GPU, of which 5 % are lost: 200, with a deviation of
 * 14. A third of the steps is before the window. */
static void losses_of_each_gpu_count(void)
{
	for (size_t lossy = 1; lossy <= 3; lossy++) {
		struct losses_world *l = run_losses(0, 1, 2, lossy);
		const struct remote_counters *remote = &l->run.remote;
		bool loses = lossy < MACHINES;
		CHECK((remote->losses_count > 0) == loses && (remote->timeouts_count > 0) == loses);
		CHECK((remote->stalled_s > 0) == loses && (l->run.window_stalled_s > 0) == loses);
		CHECK(l->job->kind->varies(l->job) == loses);
		if (loses) {
			CHECK(l->run.window_timeouts_count > 0);
			CHECK(l->run.window_timeouts_count < remote->timeouts_count);
			CHECK(l->run.window_stalled_s < remote->stalled_s);
		}
		arena_free(l->w->arena);
	}
}

/* A GPU in the program's own guest needs no message, and the other one does, whichever of the two
 * is the first. */
static void one_remote_gpu_makes_the_steps_vary(void)
{
	for (size_t near = 0; near < DEVICES; near++) {
		struct losses_world *l = run_losses(0, near ? 1 : 0, near ? 0 : 1, 1);
		CHECK(l->run.remote.losses_count > 0);
		CHECK(l->job->kind->varies(l->job));
		arena_free(l->w->arena);
	}
}

/* Without losses, each step makes the same calls. An answered call has two messages, a launch has
 * one. The wait takes 20 us of the driver, after the work of the server's thread. */
static void calls_of_all_gpus_add_up(void)
{
	struct losses_world *l = run_losses(0, 1, 2, MACHINES);
	const struct remote_counters *remote = &l->run.remote;
	double steps = (double)l->run.step_count, window = (double)l->run.steady_count;
	CHECK(steps > window && window > 0);
	CHECK_NEAR((double)remote->answered_count, steps * (DEVICES * COPIES + 1), 0);
	CHECK_NEAR((double)remote->sent_count, steps * DEVICES, 0);
	CHECK_NEAR((double)remote->messages_count, steps * (DEVICES * (2 * COPIES + 1) + 2), 0);
	CHECK_NEAR((double)remote->calls_count[CLASS_BULK], steps * DEVICES * COPIES, 0);
	CHECK_NEAR((double)remote->calls_count[CLASS_ASYNC], steps * DEVICES, 0);
	CHECK_NEAR((double)remote->calls_count[CLASS_DRAINING], steps, 0);
	const struct kind_counters *copies = &l->run.window_kinds[CALL_MEMCPY_H2D];
	const struct kind_counters *waits = &l->run.window_kinds[CALL_DEVICE_SYNCHRONIZE];
	CHECK_NEAR((double)copies->calls_count, window * DEVICES * COPIES, 0);
	CHECK_NEAR((double)waits->calls_count, window, 0);
	CHECK_NEAR(waits->served_s,
		   window * (l->runtime.unmarshal_s + l->runtime.handoff_s + 20e-6), 1e-9);
	CHECK_NEAR(remote->waited_s / steps, waits->waited_s / window, 0.01);
	arena_free(l->w->arena);
}

/* One call for the first GPU and two for the second wait in batches without a limit, and the
 * program waits for a signal that never comes. */
static void batches_of_all_gpus_wait_forever(void)
{
	struct losses_world *l = program_new(0, 1, 2, MACHINES);
	l->runtime.batch_count = l->runtime.batch_wait_s = 0;
	for (size_t i = 0; i < 3; i++)
		l->items[i] = (struct item){.kind = ITEM_CALL,
					    .call = {.kind = CALL_LAUNCH, .device = i > 0}};
	l->items[3] = (struct item){.kind = ITEM_AWAIT, .count = 1};
	l->thread.count = 4;
	l->program.signal_count = 1;
	CHECK(run_job(l) == ENGINE_DRAINED);
	static const char wanted[] = "3 calls wait forever in a batch";
	CHECK(l->job->kind->drained(l->job) && strstr(l->run.reason, wanted) == l->run.reason);
	arena_free(l->w->arena);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(calls_of_all_gpus_add_up),
		TEST(losses_of_each_gpu_count),
		TEST(batches_of_all_gpus_wait_forever),
		TEST(one_remote_gpu_makes_the_steps_vary),
	};
	return TEST_MAIN(tests);
}
