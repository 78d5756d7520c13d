/* SPDX-License-Identifier: GPL-3.0-or-later */
/* case.devices and case.adapters choose GPUs, in the order of ranks, and adapters of each machine.
 */
#include <stdlib.h>
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

/* A number with further characters is a name, which no GPU has. */
static void numbers_are_whole_items(void)
{
	gpus_are(
		(const char *[]){"case.topology=dgx1-v100", "case.gpus=1", "case.devices=2x", NULL},
		"");
}

/* Only the first kind of machine has an adapter nic3. The other one is left without adapters. */
static void a_choice_may_leave_a_machine_without_adapters(void)
{
	char folder[] = "/tmp/farwire-kinds-XXXXXX";
	if (!CHECK(mkdtemp(folder) != NULL))
		return;
	struct arena *arena = arena_new();
	const char *path = arena_printf(arena, "%s/kinds.cfg", folder);
	FILE *out = fopen(path, "w");
	if (CHECK(out != NULL)) {
		fputs("topology = { name = \"kinds\"; cluster = { network = \"infiniband-edr\"; "
		      "machines = ( { name = \"a\"; machine = \"dgx1-v100\"; count = 1; ports = 1; "
		      "},\n{ name = \"b\"; machine = \"c4140-m\"; count = 1; ports = 1; } ); }; "
		      "};\n",
		      out);
		fclose(out);
	}
	gpus_are((const char *[]){arena_printf(arena, "case.topology=%s", path), "case.gpus=2",
				  "case.gpus_per_machine=1", "case.adapters=nic3", NULL},
		 "a0.gpu0 b0.gpu0");
	remove(path);
	remove(folder);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(numbers_are_whole_items),
	TEST(a_choice_may_leave_a_machine_without_adapters),
	TEST(ranks_have_the_order_of_the_choice),
	TEST(programs_take_the_chosen_gpu_of_their_server),
	TEST(adapters_are_chosen_as_in_nccl_ib_hca),
};

int main(void)
{
	return TEST_MAIN(tests);
}
