/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A checkpoint on its system, by hand. 32 ranks on four machines hold the weights of GPT-2: two
 * ranks of a tensor group in each of 16 replicas. The state has 14 B for each parameter. */
#include "sim/scenario/checkpoint.h"
#include "tests/case_points.h"

static struct arena *arena;
static const double state_B = 14.0 * 124439808;

#define PLAN                                                                                       \
	"case.topology=dgx-h100", "case.stack=pytorch-bf16-adamw", "case.exchange=nccl-2.18",      \
		"case.gpus=32", "case.model=gpt2", "plan.tp=2", "plan.dp=16",                      \
		"plan.global_batch=32", "case.job_steps=1000"
static const struct settings plan = {{PLAN, "run.checkpoint_work=0 ns/B"}};

#define TIMES(...) times_of((const char *const[]){__VA_ARGS__, NULL})
static struct checkpoint_times times_of(const char *const *more)
{
	const struct scenario *scenario = scenario_of(arena, &plan, more);
	struct checkpoint_times times = {.why = "no scenario"};
	if (scenario)
		times = checkpoint_simulate(scenario);
	CHECK(!times.why);
	return times;
}

#define SLOW  "checkpoint_storage.bandwidth=0.1 GB/s", "checkpoint_storage.latency=0 s"
#define WHOLE "run.checkpoint_sharded=false"
#define FOLD  "case.symmetry=on"
#define LOCAL "checkpoint_storage.shared=false"

/* All ranks together write the state to a storage of 0.1 GB/s. If the ranks of one replica write
 * it, each of the 16 replicas reads it again. One machine that represents all four says the same.
 */
static void ranks_of_all_machines_share_a_storage(void)
{
	CHECK_NEAR(TIMES(SLOW).size_B, state_B, 1e-12);
	CHECK_NEAR(TIMES(SLOW).write_s, state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW).read_s, state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, WHOLE).write_s, state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, WHOLE).read_s, 16 * state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, FOLD).write_s, state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, FOLD).read_s, state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, WHOLE, FOLD).write_s, state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, WHOLE, FOLD).read_s, 16 * state_B / 1e8, 1e-9);
}

/* Each machine writes a quarter of the state to a disk of its own. If one replica writes, then its
 * two ranks are in one machine, and each machine reads for its four replicas. */
static void machines_with_disks_write_at_the_same_time(void)
{
	CHECK_NEAR(TIMES(SLOW, LOCAL).write_s, state_B / 4 / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, LOCAL, WHOLE).write_s, state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, LOCAL).read_s, state_B / 4 / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, LOCAL, WHOLE).read_s, 4 * state_B / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, LOCAL, FOLD).write_s, state_B / 4 / 1e8, 1e-9);
	CHECK_NEAR(TIMES(SLOW, LOCAL, WHOLE, FOLD).write_s, state_B / 1e8, 1e-9);
}

/* A rank reads its part with one request at a time, each of which waits for 100 ms. The ranks of a
 * machine wait at the same time. */
static void each_rank_reads_by_itself(void)
{
	struct checkpoint_times times =
		TIMES("checkpoint_storage.bandwidth=10 TB/s", "checkpoint_storage.latency=100 ms",
		      "checkpoint_storage.parallel_requests=1", "checkpoint_storage.request=4 MiB");
	double waits_s = state_B / 32 / (4 << 20) * 0.1;
	CHECK(times.read_s > waits_s && times.read_s < waits_s + 0.05);
}

/* GPUs copy their parts at the same time, over links of their own, so a part of a sixteenth takes a
 * little more than a sixteenth of the time. */
static void gpus_copy_their_parts_side_by_side(void)
{
	double whole_s = TIMES(WHOLE).copy_s, part_s = TIMES(SLOW).copy_s;
	CHECK(part_s > whole_s / 16 && part_s < whole_s / 15.9);
	CHECK_NEAR(TIMES(FOLD).copy_s, part_s, 1e-9);
	CHECK_NEAR(TIMES(WHOLE, FOLD).copy_s, whole_s, 1e-9);
}

/* A thread at 3.8 GHz serialises the part of a rank, with work at 2.4 GHz. */
static void each_writing_rank_serialises_its_part(void)
{
#define FAST "checkpoint_storage.bandwidth=10 TB/s"
	double one_s = TIMES(FAST, "run.checkpoint_work=1 us/B").write_s;
	double two_s = TIMES(FAST, "run.checkpoint_work=2 us/B").write_s;
	CHECK_NEAR(two_s - one_s, state_B / 32 * 1e-6 * 2.4 / 3.8, 1e-6);
	double whole_s = TIMES(FAST, WHOLE, "run.checkpoint_work=1 us/B").write_s;
	CHECK_NEAR(whole_s, 16 * one_s, 1e-6);
}

/* Only the adapters of a network for LoRA are trained, so the checkpoint has no other weights. */
static void frozen_weights_are_not_written(void)
{
	const struct scenario *scenario =
		scenario_of(arena, &plan,
			    (const char *const[]){"case.model=llama3-8b-lora", "case.gpus=8",
						  "plan.tp=8", "plan.dp=1", NULL});
	if (!scenario)
		return;
	const struct network *network = scenario->jobs[0].network;
	double trained = network->parameters_count - network->frozen_count;
	CHECK(trained > 0 && trained < 0.01 * network->parameters_count);
	CHECK_NEAR(checkpoint_simulate(scenario).size_B, 14 * trained, 1e-12);
}

/* With one virtual CPU in each machine, its writing ranks take turns on it, and so do its readers.
 * Two of the replica's ranks write half of the state each, and eight ranks of each machine read. */
static void ranks_of_a_machine_share_its_cores(void)
{
#define ONE_CORE                                                                                   \
	"checkpoint_storage.bandwidth=10 TB/s", "checkpoint_storage.latency=0 s",                  \
		"guest.*.vcpus=1", "checkpoint_storage.client=100 ns/B"
	const double core_s = 100e-9 * 2.4 / 3.8;
	CHECK_NEAR(TIMES(ONE_CORE, WHOLE).write_s, state_B * core_s, 0.01);
	CHECK_NEAR(TIMES(ONE_CORE).write_s, state_B / 4 * core_s, 0.01);
	CHECK_NEAR(TIMES(ONE_CORE).read_s, state_B / 4 * core_s, 0.01);
}

/* Only the ranks that write copy their parts. They share the memory of their machine. */
static void copies_of_a_machine_share_its_memory(void)
{
#define MEMORY "host.*.dram_bandwidth=1 GB/s"
	CHECK_NEAR(TIMES(MEMORY, WHOLE).copy_s, state_B / 1e9, 0.001);
	CHECK_NEAR(TIMES(MEMORY).copy_s, state_B / 4 / 1e9, 0.001);
}

static const struct test tests[] = {
	TEST(ranks_of_a_machine_share_its_cores),
	TEST(copies_of_a_machine_share_its_memory),
	TEST(ranks_of_all_machines_share_a_storage),
	TEST(machines_with_disks_write_at_the_same_time),
	TEST(each_rank_reads_by_itself),
	TEST(gpus_copy_their_parts_side_by_side),
	TEST(each_writing_rank_serialises_its_part),
	TEST(frozen_weights_are_not_written),
};

int main(void)
{
	arena = arena_new();
	int result = TEST_MAIN(tests);
	arena_free(arena);
	return result;
}
