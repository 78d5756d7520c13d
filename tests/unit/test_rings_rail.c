/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings of machines in which GPUs lack an adapter, if messages take the receiver's rail. */
#include "sim/collective/level.h"
#include "tests/ring_site.h"

/* Adds a machine of four GPUs at an NVSwitch. Each has a PCIe switch with an adapter, except the
 * GPUs whose bits are set in `lacks`. */
static void add_switched(struct site *site, int crossbar, unsigned lacks)
{
	int host = node(site, "host"), nvswitch = node(site, "nvswitch");
	for (size_t g = 0; g < 4; g++) {
		int plx = node(site, "plx"), gpu = node(site, "gpu"), nic = node(site, "nic");
		join(site, "pcie", host, plx, 12e9);
		join(site, "pcie", plx, gpu, 12e9);
		join(site, "pcie", plx, nic, 12e9);
		join(site, "nvlink", gpu, nvswitch, 100e9);
		if (!(lacks >> g & 1))
			join(site, "infiniband", nic, crossbar, 12e9);
		add_rank(site, gpu, host);
		site->ranks[site->rank_count - 1].by_rail = true;
	}
}

/* Counts the adapters through which the rings enter machine m. */
static size_t entry_count(const struct rings *rings, size_t m)
{
	size_t count = 0;
	for (size_t a = 0; a < rings->shape.ring_count; a++) {
		bool seen = false;
		const uint32_t *order = rings->order + 4 * m;
		for (size_t b = 0; b < a; b++)
			seen |= rings->adapter_of[order[8 * a]] == rings->adapter_of[order[8 * b]];
		count += !seen;
	}
	return count;
}

/* The GPU without an adapter is one end of a ring, but no ring lacks an adapter for that. */
static void rings_by_rail_enter_through_different_adapters(void)
{
	for (size_t without = 0; without < 3; without++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		add_switched(&site, crossbar, (1U << without) - 1);
		add_switched(&site, crossbar, (1U << without) - 1);
		struct rings rings = found(&site);
		CHECK(rings.shape.ring_count == 4 - without);
		for (size_t m = 0; m < 2; m++)
			CHECK(entry_count(&rings, m) == 4 - without);
		arena_free(site.arena);
	}
}

/* One machine lacks an adapter: three rings use three adapters of each. */
static void the_machine_with_the_fewest_adapters_sets_the_rings(void)
{
	for (size_t poor = 0; poor < 2; poor++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		add_switched(&site, crossbar, poor == 0);
		add_switched(&site, crossbar, poor == 1);
		struct rings rings = found(&site);
		CHECK(rings.shape.ring_count == 3);
		CHECK(entry_count(&rings, 0) == 3 && entry_count(&rings, 1) == 3);
		arena_free(site.arena);
	}
}

/* The machines lack any of their adapters, not always the same ones. Each ring uses an adapter of
 * its own in each machine, because NCCL numbers the adapters that a machine has. */
static void machines_that_lack_different_adapters_use_all_others(void)
{
	for (unsigned lacks = 0; lacks < 256; lacks++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		unsigned a = lacks & 15, b = lacks >> 4;
		size_t left[] = {4, 4};
		for (unsigned g = 0; g < 4; g++) {
			left[0] -= a >> g & 1;
			left[1] -= b >> g & 1;
		}
		size_t rings_most = left[0] < left[1] ? left[0] : left[1];
		add_switched(&site, crossbar, a);
		add_switched(&site, crossbar, b);
		struct rings rings = found(&site);
		if (rings_most > 0) {
			CHECK(rings.shape.ring_count == rings_most);
			CHECK(entry_count(&rings, 0) == rings_most);
			CHECK(entry_count(&rings, 1) == rings_most);
		}
		arena_free(site.arena);
	}
}

/* GPUs 0 and 2 of each machine have adapters. Without PXN, both rings also leave next to an
 * adapter, although GPUs 3 and 1 are in front of 0 and 2 in the order of the ranks. */
static void rings_without_rails_leave_next_to_an_adapter(void)
{
	struct site site;
	site_open(&site);
	int crossbar = node(&site, "switch");
	add_switched(&site, crossbar, 10);
	add_switched(&site, crossbar, 10);
	for (size_t r = 0; r < 8; r++)
		site.ranks[r].by_rail = false;
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 2);
	for (size_t i = 0; i < 16; i += 4)
		CHECK(rings.order[i] % 2 == 0 && rings.order[i + 3] % 2 == 0);
	arena_free(site.arena);
}

/* The links of a processor with two switches have the processor as their first or as their second
 * end. Two GPUs are at the first switch, and one is at the second. The last one is at a third
 * switch behind the second. */
static void levels_do_not_depend_on_the_order_of_ends(void)
{
	for (int second = 0; second < 2; second++) {
		struct site site;
		site_open(&site);
		int host = node(&site, "host"), plx[3], gpus[4];
		for (size_t i = 0; i < 3; i++)
			plx[i] = node(&site, "plx");
		for (size_t i = 0; i < 4; i++) {
			gpus[i] = node(&site, "gpu");
			join(&site, "pcie", plx[i < 2 ? 0 : i - 1], gpus[i], 12e9);
		}
		for (size_t i = 0; i < 2; i++)
			join(&site, "pcie", second ? plx[i] : host, second ? host : plx[i], 12e9);
		join(&site, "pcie", plx[1], plx[2], 12e9);
		static const enum path_level expected[] = {PATH_PIX, PATH_PHB, PATH_PHB};
		for (size_t i = 1; i < 4; i++) {
			const struct route *route =
				fabric_route(site.fabric, gpus[0], gpus[i], TRAFFIC_ANY);
			CHECK(path_level(site.fabric, route, host) == expected[i - 1]);
		}
		const struct route *route =
			fabric_route(site.fabric, gpus[2], gpus[3], TRAFFIC_ANY);
		CHECK(path_level(site.fabric, route, host) == PATH_PXB);
		CHECK(root_of(site.fabric, gpus[3], host) == host);
		arena_free(site.arena);
	}
}

static const struct test tests[] = {
	TEST(levels_do_not_depend_on_the_order_of_ends),
	TEST(rings_by_rail_enter_through_different_adapters),
	TEST(the_machine_with_the_fewest_adapters_sets_the_rings),
	TEST(machines_that_lack_different_adapters_use_all_others),
	TEST(rings_without_rails_leave_next_to_an_adapter),
};

int main(void)
{
	return TEST_MAIN(tests);
}
