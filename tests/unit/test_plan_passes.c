/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a micro-batch that plans share is measured in steps, and links are those of the job.
 */
#include "sim/analysis/plan_estimate.h"
#include "sim/fabric/link.h"
#include "tests/test.h"
#include "tests/tiny_plan.h"

static struct arena *arena;

/* Returns a first step of the tensor group of two, and the part in which its GPUs wait for calls.
 */
static double group_step_s(const char *batch, double *host_s)
{
	const struct setting all[] = {{"case.topology=dgx-h100", {"test", 0}},
				      {"case.model=gpt3-125m", {"test", 0}},
				      {"case.stack=pytorch-fsdp-bf16", {"test", 0}},
				      {"case.exchange=nccl-2.18", {"test", 0}},
				      {"case.gpus=2", {"test", 0}},
				      {"plan.tp=2", {"test", 0}},
				      {"case.steps=1", {"test", 0}},
				      {"case.steps_warmup=0", {"test", 0}},
				      {batch, {"test", 0}}};
	const struct case_request request = {
		.settings = all, .setting_count = 9, .data_root = data_root_find(arena)};
	const struct predict_options options = {.seed = 1, .jobs = 1};
	const char *broken;
	const struct prediction *p =
		predict_case(arena, diag_new(arena), &request, &options, &broken);
	*host_s = 0;
	if (!CHECK(p && p->ok))
		return 0;
	for (size_t i = 0; i < p->breakdown_count; i++)
		if (strcmp(p->breakdown[i].name, PART_ISSUE) == 0)
			*host_s += p->breakdown[i].seconds;
	return p->step_s.value;
}

/* Four tensor groups of two share a micro-batch of one sequence. Its time is what a step of two
 * sequences of one group takes beyond a step of one, with the time in which GPUs wait for calls. */
static void time_of_a_micro_batch_is_that_of_the_second_one_of_a_step(void)
{
	static const struct setting all[] = {{"case.topology=dgx-h100", {"test", 0}},
					     {"case.model=gpt3-125m", {"test", 0}},
					     {"case.stack=pytorch-fsdp-bf16", {"test", 0}},
					     {"case.exchange=nccl-2.18", {"test", 0}},
					     {"case.gpus=8", {"test", 0}},
					     {"plan.tp=2", {"test", 0}},
					     {"plan.micro_batch=1", {"test", 0}},
					     {"plan.global_batch=16", {"test", 0}}};
	const struct analysis_input input = {.request = {.settings = all,
							 .setting_count = 8,
							 .data_root = data_root_find(arena)},
					     .options = {.seed = 1, .jobs = 1}};
	struct diag *diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, &input.request);
	diag_print(diag, stdout);
	if (!CHECK(scenario && scenario->jobs[0].plan))
		return;
	struct plan_passes p = {.arena = arena, .input = &input, .scenario = scenario};
	double one_host_s, two_host_s, one_s = group_step_s("plan.global_batch=1", &one_host_s);
	double two_s = group_step_s("plan.global_batch=2", &two_host_s);
	plan_passes_want(&p, scenario->jobs[0].plan, NULL, false);
	plan_passes_measure(&p);
	const struct known_pass *pass = &p.passes.items[0];
	CHECK(pass->gpu_count == 2 && pass->batch_count == 1 && p.measured_count == 1);
	CHECK_NEAR(pass->all_s, two_s - one_s, 1e-9);
	CHECK_NEAR(pass->host_s, two_host_s - one_host_s, 1e-9);
	CHECK(pass->host_s > 0 && pass->host_s < pass->all_s);
	/* with gathers the same group has the bytes of its four copies, too */
	plan_passes_want(&p, scenario->jobs[0].plan, NULL, true);
	plan_passes_measure(&p);
	CHECK(p.passes.count == 2 && p.passes.items[1].gpu_count == 8);
	CHECK(p.passes.items[1].all_s > 1.005 * p.passes.items[0].all_s);
}

/* Two of the job's GPUs are in the first machine. Its network has 12 and 5 B/s: each link counts
 * with its faster direction, and if it leaves the machine. The first GPU has links of 300 and 50
 * B/s, the other ones of less. A GPU of another name and one that the job does not use have faster
 * ones. */
static void links_of_a_job_are_those_of_its_first_machine_and_of_its_gpus(void)
{
	static const struct link_kind outside = {.inside_host = false},
				      inside = {.inside_host = true};
#define LINK(k, a, b, there, back)                                                                 \
	{                                                                                          \
		.kind = &(k), .ends = {a, b}, .traits.capacity_Bps = { there, back }               \
	}
	static const struct link_entry cluster[] = {LINK(inside, "n0.gpu1", "n0.bus", 300, 200),
						    LINK(inside, "n0.bus", "n0.gpu2", 10, 20),
						    LINK(inside, "n0.gpu2", "n0.gpu1", 50, 50),
						    LINK(inside, "n0.gpu10", "n0.bus", 999, 999),
						    LINK(inside, "n0.bus", "shelf", 777, 777),
						    LINK(outside, "n0.nic", "spine", 10, 12),
						    LINK(outside, "spine", "n0.nic2", 5, 4),
						    LINK(outside, "n1.nic", "spine", 100, 100),
						    LINK(inside, "n1.gpu1", "n1.bus", 340, 340),
						    LINK(outside, "n0.nic", "n0.nic2", 88, 88)};
#undef LINK
	static const struct gpu_entry gpus[] = {{.name = "n0.gpu10"},
						{.name = "n0.gpu1"},
						{.name = "n0.gpu2"},
						{.name = "n1.gpu1"}};
	static const size_t used[] = {1, 2, 3};
	const struct job_entry job = {.gpus = used, .simulated_count = 3};
	struct topology topology = {.gpus = gpus, .links = cluster, .link_count = 10};
	const struct plan_links links = plan_links_of(&topology, &job);
	CHECK(links.machine_gpus == 2 && links.machine_Bps == 12 + 5 && links.gpu_Bps == 300 + 50);
	/* Without a cluster, all GPUs are in one machine, so no message leaves it. */
	static const struct link_entry own[] = {
		{.kind = &inside, .ends = {"gpu0", "bus"}, .traits.capacity_Bps = {7, 7}},
		{.kind = &outside, .ends = {"nic", "gpu1"}, .traits.capacity_Bps = {6, 8}}};
	static const struct gpu_entry two[] = {{.name = "gpu0"}, {.name = "gpu1"}};
	static const size_t both[] = {0, 1};
	const struct job_entry local = {.gpus = both, .simulated_count = 2};
	topology = (struct topology){.gpus = two, .links = own, .link_count = 2};
	const struct plan_links single = plan_links_of(&topology, &local);
	CHECK(single.machine_gpus == 2 && isinf(single.machine_Bps) && single.gpu_Bps == 8);
}

static const struct test tests[] = {
	TEST(time_of_a_micro_batch_is_that_of_the_second_one_of_a_step),
	TEST(links_of_a_job_are_those_of_its_first_machine_and_of_its_gpus),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
