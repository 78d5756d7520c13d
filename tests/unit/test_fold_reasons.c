/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case that is not folded says why. 32 GPUs in four equal machines are folded otherwise. */
#include "tests/case_points.h"

static void a_case_that_is_not_folded_says_why(void)
{
	static const struct settings jobs = {{"case.topology=dgx1-v100", "case.gpus=32",
					      "case.model=alexnet", "case.symmetry=on",
					      "library.algorithm=ring"}};
	static const char *const rows[][2] = {
		{"case.batch=16", NULL},
		{"case.topology=dgx1-v100-torus",
		 "its network is not a switch, fat_tree or rail_optimised with fabric.routing "
		 "spray and fabric.congestion fair"},
		{"case.transport=tcp", "its bytes do not travel by rdma"},
		{"input.source=s3fs", "machines share a storage"},
		{"input.source=nvme", NULL},
		{"library.algorithm=parameter_server",
		 "its exchange has servers or staggered starts"},
		{"library.stagger=1 us", "its exchange has servers or staggered starts"},
		{"link.network.loss=1e-6", "links lose packets"},
		{"case.straggler=1.5", "too few of them are alike"},
	};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *more[] = {rows[i][0], NULL};
		const struct scenario *s = scenario_of(arena, &jobs, more);
		if (!s)
			continue;
		CHECK((s->topology.fold == NULL) == (rows[i][1] != NULL));
		if (rows[i][1])
			CHECK_TEXT(s->not_folded ? s->not_folded : "", rows[i][1]);
		else
			CHECK(!s->not_folded);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(a_case_that_is_not_folded_says_why),
};

int main(void)
{
	return TEST_MAIN(tests);
}
