/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job on two machines, a and b, with two GPUs each. */
#include "sim/scenario/system.h"
#include "tests/own_folder.h"

/* Members of host b. */
static const char *host_b = "";
static const char topology[] =
	"topology = { name = \"two\"; hosts = ( { name = \"a\"; }, { name = \"b\"; %s } );\n"
	"guests = ( { name = \"on-a\"; host = \"a\"; }, { name = \"on-b\"; host = \"b\"; } );\n"
	"gpus = ( { name = \"a0\"; host = \"a\"; profile = \"v100-sxm2\"; },\n"
	"{ name = \"a1\"; host = \"a\"; profile = \"v100-sxm2\"; },\n"
	"{ name = \"b0\"; host = \"b\"; profile = \"v100-sxm2\"; },\n"
	"{ name = \"b1\"; host = \"b\"; profile = \"v100-sxm2\"; } );\n"
	"links = ( { name = \"s0\"; kind = \"pcie\"; ends = [\"a\", \"a0\"]; },\n"
	"{ name = \"s1\"; kind = \"pcie\"; ends = [\"a\", \"a1\"]; },\n"
	"{ name = \"s2\"; kind = \"pcie\"; ends = [\"b\", \"b0\"]; },\n"
	"{ name = \"s3\"; kind = \"pcie\"; ends = [\"b\", \"b1\"]; },\n"
	"{ name = \"wire\"; kind = \"infiniband\"; ends = [\"on-a\", \"on-b\"];\n"
	"bandwidth = \"100 Gbit/s\"; } ); };\n";

#define RUN(...) run_of((const char *const[]){__VA_ARGS__, NULL})
static struct world_outcome run_of(const char *const *texts)
{
	enum { SETTINGS_MAX = 24 };
	struct setting settings[SETTINGS_MAX] = {{.text = "case.model=alexnet"},
						 {.text = "case.batch=16"},
						 {.text = "exchange.noise=0"},
						 {.text = "case.transport=rdma"}};
	size_t count = 4;
	write_file("two.cfg", arena_printf(arena, topology, host_b));
	settings[count++].text = arena_printf(arena, "case.topology=%s", path_of("two.cfg"));
	for (; *texts; texts++)
		settings[count++].text = *texts;
	diag = diag_new(arena);
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	unlink(path_of("two.cfg"));
	struct world_outcome outcome = {.job_count = 0};
	if (CHECK(scenario != NULL))
		outcome = world_run(arena, scenario, 1, NULL);
	CHECK(outcome.job_count == 1 && !outcome.broken && !outcome.jobs[0].failed);
	return outcome;
}
#define STEP_S(...) job_run_step_s(RUN(__VA_ARGS__).jobs)

/* Horovod's coordinator waits for a round trip before it begins the only cycle with gradients. On
 * the way there the first machine sends, the last one receives and wakes a thread; the way back
 * takes as long. Work of 5 ms more on one of these takes 10 ms. */
static void a_cycle_of_horovod_waits_for_the_last_machine(void)
{
#define CYCLES                                                                                     \
	"case.gpus=3", "case.exchange=horovod-0.19", "exchange.response_cache=false",              \
		"exchange.cycle=1 us", "exchange.negotiation=0 s"
	static const struct {
		const char *key;
		double ways;
	} works[] = {{"on-a.send", 2}, {"on-a.receive", 0}, {"on-a.thread_wake", 0},
		     {"on-b.send", 0}, {"on-b.receive", 2}, {"on-b.thread_wake", 2}};
	for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
		double step_s[2];
		for (int k = 0; k < 2; k++)
			step_s[k] = STEP_S(CYCLES, arena_printf(arena, "guest.%s=%d ms",
								works[i].key, 5 * (k + 1)));
		CHECK(fabs(step_s[1] - step_s[0] - works[i].ways * 5e-3) < 1e-4);
	}
	double first_s = STEP_S(CYCLES, "guest.on-a.vnic=pvrdma", "guest.on-a.vnic_latency=1 ms");
	double last_s = STEP_S(CYCLES, "guest.on-b.vnic=pvrdma", "guest.on-b.vnic_latency=1 ms");
	CHECK_NEAR(first_s, last_s, 1e-9);
}

/* A gather of 7 ms before the end of a step is needed between machines only, unless the exchange
 * does it inside, too. */
static void a_gather_between_machines_ends_the_step_later(void)
{
	static const struct {
		const char *gpus, *inside;
		double gather_s;
	} rows[] = {{"case.gpus=3", "false", 7e-3},
		    {"case.gpus=2", "false", 0},
		    {"case.gpus=2", "true", 7e-3}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *inside =
			arena_printf(arena, "exchange.gather_inside=%s", rows[i].inside);
		double with_s = STEP_S(rows[i].gpus, inside, "exchange.gather=7 ms");
		double without_s = STEP_S(rows[i].gpus, inside, "exchange.gather=0 s");
		CHECK(fabs(with_s - without_s - rows[i].gather_s) < 1e-9);
	}
}

/* Returns the bytes that a link carries in a step and direction, divided by the gradients S of
 * AlexNet's 61,100,840 parameters. */
static double carried_S(const struct world_outcome *outcome, const char *link)
{
	for (size_t i = 0; i < outcome->link_count; i++)
		if (strcmp(outcome->links[i].link, link) == 0)
			return outcome->links[i].carried_B / (4 * 61100840.0) /
			       (double)outcome->jobs[0].step_count;
	return NAN; /* there is no such link, so every comparison fails */
}

/* Six servers on the GPUs hold S/6 each. They take turns on the machines and then on a machine's
 * GPUs, so the first GPU of each machine has two. Each of the two workers in a machine sends S/2 to
 * the other machine. The three servers of a machine send S/6 to each of the two workers in the
 * other one. So 2 S cross the wire in each direction. */
static void servers_take_turns_on_machines_and_then_on_their_gpus(void)
{
	const struct world_outcome outcome =
		RUN("case.gpus=4", "case.exchange=ddl", "library.servers=6",
		    "library.algorithm=parameter_server", "library.server_on_cpu=false");
	static const char *const ways[][5] = {
		{"s0 a>a0", "s1 a>a1", "s2 b>b0", "s3 b>b1", "wire on-a>on-b"},
		{"s0 a0>a", "s1 a1>a", "s2 b0>b", "s3 b1>b", "wire on-b>on-a"}};
	for (size_t way = 0; way < 2; way++) {
		double carried[5];
		for (size_t i = 0; i < 5; i++)
			carried[i] = carried_S(&outcome, ways[way][i]);
		CHECK_NEAR(carried[2], carried[0], 1e-3);
		CHECK_NEAR(carried[3], carried[1], 1e-3);
		CHECK(carried[0] > 1.1 * carried[1]);
		CHECK(carried[4] > 2 && carried[4] < 2 * 1.02);
	}
}

/* A ring of two GPUs sends half of the gradients twice. */
static void gradients_in_fp16_have_half_the_bytes(void)
{
#define RING "case.gpus=3", "case.exchange=ddl", "library.algorithm=ring", "case.stack=pytorch-amp"
	const struct world_outcome full = RUN(RING, "stack.fp16_gradients=false");
	const struct world_outcome half = RUN(RING, "stack.fp16_gradients=true");
	CHECK_NEAR(carried_S(&half, "wire on-a>on-b") / carried_S(&full, "wire on-a>on-b"), 0.5,
		   1e-3);
}

/* Runs of kernels are simulated as one without a change of their times, also if ranks of a stage
 * have machines of different speed. The slower ones decide. */
static void ranks_of_a_stage_are_fused_for_their_own_machine(void)
{
#define REPLICAS                                                                                   \
	"case.gpus=4", "case.exchange=nccl-2.18", "plan.dp=4", "plan.global_batch=64",             \
		"case.stack=pytorch-amp", "case.model=resnet50"
	static const char *const hosts[] = {"", "clock = \"0.6 GHz\";", "clock = \"9 GHz\";"};
	double step_s[3];
	for (size_t i = 0; i < 3; i++) {
		host_b = hosts[i];
		step_s[i] = STEP_S(REPLICAS);
		CHECK(fabs(STEP_S(REPLICAS, "case.fusing=off") - step_s[i]) < 1e-9);
	}
	CHECK(step_s[1] > 2 * step_s[0] && step_s[2] <= step_s[0]);
	host_b = "";
}

static const struct test tests[] = {
	TEST(gradients_in_fp16_have_half_the_bytes),
	TEST(ranks_of_a_stage_are_fused_for_their_own_machine),
	TEST(a_cycle_of_horovod_waits_for_the_last_machine),
	TEST(a_gather_between_machines_ends_the_step_later),
	TEST(servers_take_turns_on_machines_and_then_on_their_gpus),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int result = TEST_MAIN(tests);
	folder_end();
	return result;
}
