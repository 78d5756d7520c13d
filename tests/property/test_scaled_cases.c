/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shipped cases at half the speed (tests/scaled_case.h): tenants of GPUs, a storage, jobs with
 * sockets, with RDMA and with NVLink. Each result is twice as long, except for rounding to a
 * picosecond. */
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "tests/scaled_case.h"

static const struct scenario *read_case(struct arena *arena, const char *name,
					const struct draw_value *draws, size_t draw_count)
{
	const char *root = data_root_find(arena);
	struct diag *diag = diag_new(arena);
	const struct case_request request = {
		.path = arena_printf(arena, "%s/topologies/cases/%s.cfg", root, name),
		.draws = draws,
		.draw_count = draw_count,
		.data_root = root};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	return scenario;
}

static void check_case(const char *name)
{
	struct arena *arena = arena_new();
	size_t draw_count;
	const struct scenario *scenario = read_case(arena, name, NULL, 0);
	const struct draw_value *draws =
		scenario ? scaled_draws(arena, scenario, &draw_count) : NULL;
	const struct scenario *slow = draws ? read_case(arena, name, draws, draw_count) : NULL;
	if (slow) {
		scale_tables(slow);
		if (!CHECK(is_scaled(arena, scenario, slow, 1e-6, 1)))
			printf("  of %s\n", name);
	}
	arena_free(arena);
}

static void jobs_at_half_speed_take_twice_as_long(void)
{
	check_case("c4140-infiniband");
	check_case("c4140-tcp-10");
	check_case("closer2018-two-jobs");
	check_case("ddl-s3fs");
	check_case("dgx1-scaling");
}

static void tenants_at_half_speed_take_twice_as_long(void)
{
	check_case("quarter-gpu");
	check_case("vgpu-8-on-4");
}

static const struct test tests[] = {
	TEST(jobs_at_half_speed_take_twice_as_long),
	TEST(tenants_at_half_speed_take_twice_as_long),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
