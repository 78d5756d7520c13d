/* SPDX-License-Identifier: GPL-3.0-or-later */
/* case.devices and case.adapters choose GPUs, in the order of ranks, and adapters of each machine.
 */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/scenario/scenario.h"
#include "tests/test.h"

enum { SETTINGS_MAX = 6 };

static const struct scenario *read(struct arena *arena, const char *const *settings)
{
	struct setting items[SETTINGS_MAX];
	size_t count = 0;
	for (; settings[count]; count++)
		items[count] = (struct setting){settings[count], {"test", 0}};
	const struct case_request request = {
		.settings = items, .setting_count = count, .data_root = data_root_find(arena)};
	return case_read(arena, diag_new(arena), &request);
}

/* Checks the GPUs of the first job, rank by rank: "n0.gpu2 n0.gpu0". */
static void gpus_are(const char *const *settings, const char *wanted)
{
	struct arena *arena = arena_new();
	const struct scenario *scenario = read(arena, settings);
	const char *names = "";
	for (size_t r = 0; scenario && r < scenario->jobs[0].simulated_count; r++)
		names = arena_printf(arena, "%s%s%s", names, r ? " " : "",
				     scenario->topology.gpus[scenario->jobs[0].gpus[r]].name);
	if (!CHECK(strcmp(names, wanted) == 0))
		printf("  %s, not %s\n", names, wanted);
	arena_free(arena);
}

/* The same choice holds on each machine, and the ranks of a machine have its order. */
static void ranks_have_the_order_of_the_choice(void)
{
	gpus_are((const char *[]){"case.topology=dgx1-v100", "case.gpus=4", "case.devices=2,0",
				  NULL},
		 "n0.gpu2 n0.gpu0 n1.gpu2 n1.gpu0");
	gpus_are((const char *[]){"case.topology=dgx1-v100", "case.gpus=3",
				  "case.devices=gpu7,gpu1,3", NULL},
		 "n0.gpu7 n0.gpu1 n0.gpu3");
	gpus_are((const char *[]){"case.topology=dgx-h100", "case.gpus=4", "case.devices=5,4",
				  "plan.tp=2", "case.model=llama3-8b", NULL},
		 "n0.gpu5 n0.gpu4 n1.gpu5 n1.gpu4");
	gpus_are((const char *[]){"case.topology=dgx1-v100", "case.gpus=2", "case.devices=6,2,3",
				  "case.gpus_per_machine=1", NULL},
		 "n0.gpu6 n1.gpu6");
}

/* The server of a forwarded program has gpu1 to gpu4, and a second one gpu5 to gpu8. */
static void programs_take_the_chosen_gpu_of_their_server(void)
{
	gpus_are((const char *[]){"case.topology=remote-8", "case.program=client",
				  "case.runtime=asynchronous", "case.devices=2", NULL},
		 "gpu3");
	gpus_are((const char *[]){"case.topology=remote-8", "case.program=client",
				  "case.runtime=asynchronous", "case.gpus=4", "case.devices=gpu6,3",
				  NULL},
		 ""); /* three GPUs are left */
	gpus_are((const char *[]){"case.topology=remote-8", "case.program=client",
				  "case.runtime=asynchronous", "case.gpus=3", "case.devices=gpu6,3",
				  NULL},
		 "gpu4 gpu6 gpu8");
}

/* Counts the adapters of n0 that links inside the machine reach. */
static size_t adapters_of(const char *choice)
{
	struct arena *arena = arena_new();
	const char *settings[] = {"case.topology=dgx-h100", "case.gpus=16",
				  arena_printf(arena, "case.adapters=%s", choice), NULL};
	const struct scenario *scenario = read(arena, settings);
	size_t count = 0, cables = 0;
	for (size_t i = 0; scenario && i < scenario->topology.link_count; i++) {
		const struct link_entry *link = &scenario->topology.links[i];
		for (size_t end = 0; end < 2; end++) {
			bool adapter = strncmp(link->ends[end], "n0.nic", 6) == 0;
			count += adapter && link->kind->inside_host;
			cables += adapter && !link->kind->inside_host;
		}
	}
	CHECK(!scenario || cables == 8); /* hidden adapters stay cabled */
	arena_free(arena);
	return count;
}

static void adapters_are_chosen_as_in_nccl_ib_hca(void)
{
	CHECK(adapters_of("nic") == 8);
	CHECK(adapters_of("nic0,nic1") == 2);
	CHECK(adapters_of("0,7") == 2);
	CHECK(adapters_of("=nic3:1,nic4") == 2);
	CHECK(adapters_of("^nic3") == 7);
	CHECK(adapters_of("^=nic3,nic4,nic5") == 5);
	CHECK(adapters_of("=nic") == 0); /* refused: no adapter has this whole name */
	CHECK(adapters_of("^nic") == 0); /* refused: no adapter is left */
}

static const struct test tests[] = {
	TEST(ranks_have_the_order_of_the_choice),
	TEST(programs_take_the_chosen_gpu_of_their_server),
	TEST(adapters_are_chosen_as_in_nccl_ib_hca),
};

int main(void)
{
	return TEST_MAIN(tests);
}
