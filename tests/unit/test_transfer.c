/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies and messages as benchmarks of one path measure them: their times follow from the bandwidth
 * and the latency of the links on the path, and only these links carry bytes. */
#include "sim/analysis/transfer.h"
#include "tests/case_points.h"

/* Two machines with two GPUs each: slot1 and slot2, slot3 and slot4. */
static const struct settings pool = {
	{"case.topology=gpu-pool", "case.model=alexnet", "case.gpu=gpu1"}};
static const struct settings pair = {{"case.topology=lan-pair", "case.model=alexnet",
				      "case.program=client", "case.server=server",
				      "case.runtime=asynchronous", "case.transport=tcp"}};

static double time_of(const struct settings *base, const char *const *more,
		      struct transfer transfer, double *carried_B)
{
	struct arena *arena = arena_new();
	const struct scenario *scenario = scenario_of(arena, base, more);
	double time_s = scenario ? transfer_run(arena, scenario, &transfer, 1, carried_B) : NAN;
	arena_free(arena);
	return time_s;
}
#define TIME(base, transfer, ...)                                                                  \
	time_of(&(base), (const char *const[]){__VA_ARGS__, NULL}, (transfer), NULL)

static const double GB = 1e9;

static void copies_take_the_time_of_their_bytes_on_the_slot(void)
{
	for (enum transfer_kind kind = TRANSFER_TO_DEVICE; kind <= TRANSFER_PEER; kind++) {
		struct transfer one = {.kind = kind, .from = 2, .to = 3, .size_B = GB}, two = one;
		two.size_B = 2 * GB;
		double own_s = TIME(pool, two, NULL) - TIME(pool, one, NULL);
		double half_s = TIME(pool, two, "link.slot3.lanes=8") -
				TIME(pool, one, "link.slot3.lanes=8");
		CHECK_NEAR(half_s, 2 * own_s, 1e-3);
		double other_s = TIME(pool, two, "link.slot1.lanes=8") -
				 TIME(pool, one, "link.slot1.lanes=8");
		CHECK_NEAR(other_s, own_s, 1e-9);
		double both_s = TIME(pool, two, "link.slot4.lanes=4") -
				TIME(pool, one, "link.slot4.lanes=4");
		CHECK_NEAR(both_s, (kind == TRANSFER_PEER ? 4 : 1) * own_s, 1e-3);
	}
}

static void only_links_on_the_path_carry_bytes(void)
{
	static const char *const none[] = {NULL};
	struct transfer transfer = {.kind = TRANSFER_TO_HOST, .from = 2, .size_B = GB};
	double carried_B[64] = {0};
	CHECK(time_of(&pool, none, transfer, carried_B) > 0);
	CHECK(carried_B[2] >= GB && carried_B[2] < 1.3 * GB);
	for (size_t i = 0; i < 16; i++)
		CHECK(i == 2 || carried_B[i] < GB / 1000);
	transfer = (struct transfer){.kind = TRANSFER_PEER, .from = 0, .to = 1, .size_B = GB / 4};
	CHECK(time_of(&pool, none, transfer, carried_B) > 0);
	for (size_t i = 0; i < 2; i++)
		CHECK(carried_B[i] >= GB / 4 && carried_B[i] < GB / 3);
	CHECK(carried_B[2] >= GB && carried_B[3] < GB / 1000); /* the larger number remains */
}

/* There are four GPUs, and the first one has no path to the third one in another machine. */
static void copies_without_a_path_have_no_time(void)
{
	struct transfer transfer = {.kind = TRANSFER_PEER, .from = 0, .to = 4, .size_B = GB};
	CHECK(isnan(TIME(pool, transfer, NULL)));
	transfer.to = 2;
	CHECK(isnan(TIME(pool, transfer, NULL)));
	transfer = (struct transfer){.kind = TRANSFER_TO_DEVICE, .from = 4, .size_B = GB};
	CHECK(isnan(TIME(pool, transfer, NULL)));
}

/* A slow wire is the only limit. Blocks have 1 MiB at least, so a smaller one takes a part of this
 * time. */
static void messages_take_the_time_of_their_bytes_in_their_direction(void)
{
	struct transfer transfer = {.kind = TRANSFER_MESSAGES, .size_B = 1048576};
	double slow_s = TIME(pair, transfer, "link.wire.bandwidth=50 Mbit/s");
	double fast_s = TIME(pair, transfer, "link.wire.bandwidth=100 Mbit/s");
	CHECK(fast_s > 1048576 / 12.5e6 && fast_s < 1.1 * 1048576 / 12.5e6);
	CHECK_NEAR(slow_s, 2 * fast_s, 1e-3);
#define BOTH "link.wire.bandwidth=100 Mbit/s", "link.wire.reverse_bandwidth=50 Mbit/s"
	CHECK_NEAR(TIME(pair, transfer, BOTH), fast_s, 1e-2);
	transfer.back = true;
	CHECK_NEAR(TIME(pair, transfer, BOTH), slow_s, 1e-2);
#undef BOTH
	transfer = (struct transfer){.kind = TRANSFER_MESSAGES, .size_B = 1024};
	CHECK_NEAR(TIME(pair, transfer, "link.wire.bandwidth=100 Mbit/s"), fast_s / 1024, 1e-9);
}

static void half_of_a_round_trip_grows_with_the_latency(void)
{
	const struct transfer transfer = {.kind = TRANSFER_ROUND_TRIP, .size_B = 8};
	double near_s = TIME(pair, transfer, "link.wire.latency=5 us");
	double far_s = TIME(pair, transfer, "link.wire.latency=105 us");
	CHECK_NEAR(far_s - near_s, 100e-6, 1e-6);
	CHECK(near_s > 5e-6 && near_s < 100e-6);
}

static const struct test tests[] = {
	TEST(copies_take_the_time_of_their_bytes_on_the_slot),
	TEST(only_links_on_the_path_carry_bytes),
	TEST(copies_without_a_path_have_no_time),
	TEST(messages_take_the_time_of_their_bytes_in_their_direction),
	TEST(half_of_a_round_trip_grows_with_the_latency),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
