/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each parameter of a case has its own key. */
#include <string.h>

#include "tests/case_points.h"

static void no_parameter_key_occurs_twice(void)
{
	struct arena *arena = arena_new();
	const struct scenario *scenario =
		scenario_of(arena, &same_lan, (const char *const[]){NULL});
	size_t count = scenario ? cfg_param_count(scenario->resolution) : 0;
	CHECK(count > 100);
	for (size_t i = 0; i < count; i++) {
		const char *path = cfg_param_at(scenario->resolution, i)->path;
		for (size_t k = 0; k < i; k++)
			test_check(strcmp(path, cfg_param_at(scenario->resolution, k)->path) != 0,
				   path, __FILE__, __LINE__);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(no_parameter_key_occurs_twice),
};

int main(void)
{
	return TEST_MAIN(tests);
}
