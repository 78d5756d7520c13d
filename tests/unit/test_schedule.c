/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules made by hand, messages about wrong ones, and shapes of algorithms that can be written
 * down. */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/collective/algorithm.h"
#include "tests/schedule_meaning.h"
#include "tests/test.h"

static void collectives_have_names_and_bus_ratios(void)
{
	CHECK_TEXT(collective_name(COLLECTIVE_ALL_REDUCE), "all_reduce");
	CHECK_TEXT(collective_name(COLLECTIVE_ALL_TO_ALL), "all_to_all");
	/* nccl-tests, doc/PERFORMANCE.md: 2 (n - 1)/n; (n - 1)/n; 1 */
	CHECK_NEAR(collective_bus_ratio(COLLECTIVE_ALL_REDUCE, 8), 1.75, 1e-15);
	CHECK_NEAR(collective_bus_ratio(COLLECTIVE_ALL_GATHER, 8), 0.875, 1e-15);
	CHECK_NEAR(collective_bus_ratio(COLLECTIVE_REDUCE_SCATTER, 4), 0.75, 1e-15);
	CHECK_NEAR(collective_bus_ratio(COLLECTIVE_ALL_TO_ALL, 2), 0.5, 1e-15);
	CHECK_NEAR(collective_bus_ratio(COLLECTIVE_BROADCAST, 8), 1, 0);
	CHECK(collective_bus_ratio(COLLECTIVE_ALL_REDUCE, 1) == 0);
}

static void algorithms_are_found_by_name(void)
{
	for (size_t i = 0; i < algorithm_count(); i++) {
		const struct algorithm *algorithm = algorithm_at(i);
		CHECK(algorithm_find(algorithm->name) == algorithm);
		CHECK(algorithm->help && algorithm->help[0]);
	}
	CHECK(algorithm_find("ring")->collective == COLLECTIVE_ALL_REDUCE);
	CHECK(algorithm_find("double_tree") && algorithm_find("parameter_server"));
	CHECK(!algorithm_find("rings"));
}

static void algorithms_refuse_invalid_specifications(void)
{
	static const uint32_t unequal[] = {0, 0, 0, 1}, equal[] = {1, 0, 1, 0};
	struct algorithm_spec spec = {.rank_count = 4,
				      .size_B = 4,
				      .channel_count = 1,
				      .pipeline_count = 1,
				      .node_of = unequal,
				      .node_count = 2};
	CHECK_TEXT(algorithm_find("hierarchical")->refuse(&spec),
		   "the nodes must have equal numbers of ranks");
	CHECK(algorithm_find("multi_ring")->refuse(&spec) != NULL);
	CHECK(!algorithm_find("double_tree")->refuse);
	spec.node_of = equal;
	CHECK(!algorithm_find("hierarchical")->refuse(&spec));
	CHECK_TEXT(algorithm_find("parameter_server")->refuse(&spec),
		   "a parameter server needs at least one server");
	spec.server_count = 2;
	CHECK(!algorithm_find("parameter_server")->refuse(&spec));
	CHECK(!algorithm_find("broadcast")->refuse(&spec));
	spec.root = 4;
	CHECK_TEXT(algorithm_find("broadcast")->refuse(&spec), "the root must be one of the ranks");
	CHECK(algorithm_find("linear_broadcast")->refuse(&spec) != NULL);
	CHECK(!algorithm_find("ring")->refuse(&spec));
	/* two channels of a ring of four ranks have 2 x 4 x 3 messages in a lap */
	spec.channel_count = 2;
	spec.steps_most = 24;
	CHECK(!algorithm_find("ring")->refuse(&spec));
	spec.steps_most = 23;
	CHECK(algorithm_find("ring")->refuse(&spec) != NULL);
}

/* ---- by hand ---- */

/* Two ranks send each other their value and add both. */
static struct schedule_builder *two_ranks(struct arena *arena, uint32_t *sends)
{
	static const double chunk_B[] = {3};
	struct schedule_builder *builder =
		schedule_builder_new(arena, COLLECTIVE_ALL_REDUCE, 2, 1, 1, chunk_B);
	sends[0] = schedule_send(builder, 0, 1, 0, 0, NULL, 0);
	sends[1] = schedule_send(builder, 1, 0, 0, 0, NULL, 0);
	return builder;
}

static void exchange_of_two_ranks_is_correct(void)
{
	struct arena *arena = arena_new();
	uint32_t sends[2];
	struct schedule_builder *builder = two_ranks(arena, sends);
	schedule_reduce(builder, 1, 0, 0, sends[0], (uint32_t[]){NO_STEP, sends[1]}, 2);
	schedule_reduce(builder, 0, 0, 0, sends[1], sends, 1);
	const struct schedule *schedule = schedule_finish(builder);
	CHECK(schedule->step_count == 4 && schedule->steps[2].after_count == 1);
	CHECK(schedule->after[schedule->steps[3].after_first] == sends[0]);
	CHECK(schedule_meaning(arena, schedule, 2, NULL, NULL) == NULL);
	CHECK(schedule_sent_B(schedule, 0) == 3 && schedule_received_B(schedule, 0) == 3);
	arena_free(arena);
}

static void wrong_schedules_are_described(void)
{
	struct arena *arena = arena_new();
	uint32_t sends[2];
	struct schedule_builder *builder = two_ranks(arena, sends);
	schedule_reduce(builder, 1, 0, 0, sends[0], NULL, 0);
	CHECK_TEXT(schedule_meaning(arena, schedule_finish(builder), 2, NULL, NULL),
		   "step 1 (rank 1, send of chunk 0): no step receives it");
	schedule_copy(builder, 0, 0, 0, sends[1], NULL, 0);
	CHECK_TEXT(schedule_meaning(arena, schedule_finish(builder), 2, NULL, NULL),
		   "rank 0 ends with chunk 0 in which rank 0's contribution is 0 times, not 1");
	builder = two_ranks(arena, sends);
	schedule_reduce(builder, 0, 0, 0, sends[0], NULL, 0);
	CHECK_TEXT(
		schedule_meaning(arena, schedule_finish(builder), 2, NULL, NULL),
		"step 2 (rank 0, reduce of chunk 0): has a source that was not sent to its rank");
	builder = two_ranks(arena, sends);
	schedule_reduce(builder, 1, 0, 0, sends[0], NULL, 0);
	schedule_reduce(builder, 0, 0, 0, sends[1], (uint32_t[]){2}, 1);
	CHECK_TEXT(schedule_meaning(arena, schedule_finish(builder), 2, NULL, NULL),
		   "step 3 (rank 0, reduce of chunk 0): depends on a step of another rank");
	arena_free(arena);
}

/* Invalid schedules that no builder makes: a correct exchange with one replaced step. */
static void invalid_steps_are_described(void)
{
	static const uint32_t later[] = {3};
	static const struct {
		size_t index;
		struct schedule_step step;
		const char *said;
	} broken[] = {
		{2,
		 {STEP_REDUCE, false, 0, 2, 0, 0, 0, 0, 0},
		 "step 2 (rank 2, reduce of chunk 0): is out of range"},
		{2,
		 {STEP_REDUCE, false, 0, 1, 0, 1, 0, 0, 0},
		 "step 2 (rank 1, reduce of chunk 1): is out of range"},
		{2,
		 {STEP_REDUCE, false, 1, 1, 0, 0, 0, 0, 0},
		 "step 2 (rank 1, reduce of chunk 0): is out of range"},
		{2,
		 {STEP_COPY + 1, false, 0, 1, 0, 0, 0, 0, 0},
		 "step 2 (rank 1, ? of chunk 0): is out of range"},
		{2,
		 {STEP_REDUCE, false, 0, 1, 0, 0, 0, 0, 1},
		 "step 2 (rank 1, reduce of chunk 0): depends on a later step"},
		{2,
		 {STEP_REDUCE, false, 0, 1, 0, 0, 3, 0, 0},
		 "step 2 (rank 1, reduce of chunk 0): comes before its source"},
		{2,
		 {STEP_REDUCE, false, 0, 1, 0, 0, NO_STEP, 0, 0},
		 "step 2 (rank 1, reduce of chunk 0): has no source"},
		{0,
		 {STEP_SEND, false, 0, 0, 0, 0, 0, 0, 0},
		 "step 0 (rank 0, send of chunk 0): has no other rank as receiver"},
		{0,
		 {STEP_SEND, false, 0, 0, 2, 0, 0, 0, 0},
		 "step 0 (rank 0, send of chunk 0): has no other rank as receiver"},
	};
	struct arena *arena = arena_new();
	uint32_t sends[2];
	struct schedule_builder *builder = two_ranks(arena, sends);
	schedule_reduce(builder, 1, 0, 0, sends[0], NULL, 0);
	schedule_reduce(builder, 0, 0, 0, sends[1], NULL, 0);
	struct schedule schedule = *schedule_finish(builder);
	CHECK(schedule.step_count == 4 && !schedule_meaning(arena, &schedule, 2, NULL, NULL));
	struct schedule_step good[4], steps[4];
	memcpy(good, schedule.steps, sizeof good);
	schedule.steps = steps;
	schedule.after = later;
	for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
		memcpy(steps, good, sizeof good);
		steps[broken[i].index] = broken[i].step;
		CHECK_TEXT(schedule_meaning(arena, &schedule, 2, NULL, NULL), broken[i].said);
	}
	arena_free(arena);
}

static void rank_without_data_cannot_send(void)
{
	struct arena *arena = arena_new();
	static const double chunk_B[] = {1};
	static const uint32_t root[] = {0};
	struct schedule_builder *builder =
		schedule_builder_new(arena, COLLECTIVE_BROADCAST, 3, 1, 1, chunk_B);
	schedule_copy(builder, 1, 0, 0, schedule_send(builder, 0, 1, 0, 0, NULL, 0), NULL, 0);
	CHECK_TEXT(schedule_meaning(arena, schedule_finish(builder), 3, root, NULL),
		   "rank 2 ends without chunk 0");
	schedule_copy(builder, 2, 0, 0, schedule_send(builder, 1, 2, 0, 0, NULL, 0), NULL, 0);
	CHECK(!schedule_meaning(arena, schedule_finish(builder), 3, root, NULL));
	builder = schedule_builder_new(arena, COLLECTIVE_BROADCAST, 3, 1, 1, chunk_B);
	schedule_copy(builder, 2, 0, 0, schedule_send(builder, 1, 2, 0, 0, NULL, 0), NULL, 0);
	CHECK_TEXT(schedule_meaning(arena, schedule_finish(builder), 3, root, NULL),
		   "step 0 (rank 1, send of chunk 0): the rank does not have the chunk");
	arena_free(arena);
}

/* ---- shapes ---- */

/* Bytes from one rank to another, on one channel or on all (-1). */
static double between_B(const struct schedule *schedule, size_t from, size_t to, int channel)
{
	double sum_B = 0;
	for (size_t i = 0; i < schedule->step_count; i++) {
		const struct schedule_step *step = &schedule->steps[i];
		if (step->kind == STEP_SEND && step->rank == from && step->peer == to &&
		    (channel < 0 || step->channel == channel))
			sum_B += schedule->chunk_B[step->chunk];
	}
	return sum_B;
}

static const struct schedule *build(struct arena *arena, const char *name,
				    const struct algorithm_spec *spec)
{
	const struct algorithm *algorithm = algorithm_find(name);
	return algorithm->build(algorithm, arena, spec);
}

static void ring_follows_its_order(void)
{
	static const uint32_t order[] = {0, 2, 1, 3};
	struct arena *arena = arena_new();
	const struct algorithm_spec spec = {.rank_count = 4,
					    .size_B = 400,
					    .channel_count = 1,
					    .pipeline_count = 1,
					    .order = order};
	const struct schedule *schedule = build(arena, "ring", &spec);
	/* 2 * 3 messages of 100 B to the next rank, none to others */
	CHECK(between_B(schedule, 0, 2, -1) == 600 && between_B(schedule, 2, 1, -1) == 600);
	CHECK(between_B(schedule, 3, 0, -1) == 600 && between_B(schedule, 0, 1, -1) == 0);
	arena_free(arena);
}

/* There are 6 ranks: 0 and 2 are folded into 1 and 3, which act as 0 and 1; 4 and 5 act as 2 and 3.
 * Halves go to the partner at distance 1, quarters at distance 2. */
static void halving_doubling_sends_halves_then_quarters(void)
{
	struct arena *arena = arena_new();
	const struct algorithm_spec spec = {
		.rank_count = 6, .size_B = 400, .channel_count = 1, .pipeline_count = 1};
	const struct schedule *schedule = build(arena, "halving_doubling", &spec);
	CHECK(between_B(schedule, 0, 1, -1) == 400 && between_B(schedule, 1, 0, -1) == 400);
	CHECK(between_B(schedule, 2, 3, -1) == 400);
	CHECK(between_B(schedule, 1, 3, -1) == 2 * 200);
	CHECK(between_B(schedule, 1, 4, -1) == 2 * 100);
	CHECK(between_B(schedule, 5, 4, -1) == 2 * 200 && between_B(schedule, 5, 3, -1) == 200);
	CHECK(between_B(schedule, 1, 5, -1) == 0);
	arena_free(arena);
}

/* Parents of four and five nodes with one rank each, derived from the drawings in NCCL's comments:
 * four: 0 - 2 - {1, 3} and mirrored 3 - 1 - {2, 0}; five: 0 - 4 - 2 - {1, 3} and shifted 1 - 0 - 3
 * - {2, 4}. */
static void double_trees_match_nccls_drawings(void)
{
	static const uint32_t nodes[] = {0, 1, 2, 3, 4};
	static const int parents[][2][5] = {{{-1, 2, 0, 2}, {1, 3, 1, -1}},
					    {{-1, 2, 4, 2, 0}, {1, -1, 3, 0, 3}}};
	for (size_t n = 4; n <= 5; n++) {
		struct arena *arena = arena_new();
		const struct algorithm_spec spec = {.rank_count = n,
						    .size_B = 100,
						    .channel_count = 1,
						    .pipeline_count = 1,
						    .node_of = nodes,
						    .node_count = n};
		const struct schedule *schedule = build(arena, "double_tree", &spec);
		CHECK(schedule->channel_count == 2);
		for (int tree = 0; tree < 2; tree++)
			for (size_t a = 0; a < n; a++)
				for (size_t b = 0; b < n; b++) {
					const int *parent = parents[n - 4][tree];
					bool edge = parent[a] == (int)b || parent[b] == (int)a;
					CHECK(between_B(schedule, a, b, tree) == (edge ? 50 : 0));
				}
		arena_free(arena);
	}
}

/* Three nodes with two ranks: the ranks of a node together send 2 (m - 1)/m of S over the network;
 * with a leader, it sends the same alone. */
static void hierarchical_algorithms_send_minimal_bytes_over_the_network(void)
{
	static const uint32_t nodes[] = {0, 0, 1, 1, 2, 2};
	struct arena *arena = arena_new();
	const struct algorithm_spec spec = {.rank_count = 6,
					    .size_B = 600,
					    .channel_count = 1,
					    .pipeline_count = 1,
					    .node_of = nodes,
					    .node_count = 3};
	const struct schedule *schedule = build(arena, "hierarchical", &spec);
	CHECK(between_B(schedule, 0, 2, -1) == 400 && between_B(schedule, 1, 3, -1) == 400);
	CHECK(between_B(schedule, 0, 3, -1) == 0 && between_B(schedule, 4, 0, -1) == 400);
	CHECK(between_B(schedule, 0, 1, -1) == 600); /* half in each direction */
	arena_free(arena);
}

/* Two nodes with three ranks each. In a chain, ranks send the whole buffer to the one before, and
 * the first ranks exchange it: half of it is added in each node. Directly, each rank is the head of
 * a third, of which each node adds a half. */
static void collnet_heads_add_for_their_machines(void)
{
	static const uint32_t nodes[] = {0, 0, 0, 1, 1, 1};
	struct arena *arena = arena_new();
	const struct algorithm_spec spec = {.rank_count = 6,
					    .size_B = 600,
					    .channel_count = 1,
					    .pipeline_count = 1,
					    .node_of = nodes,
					    .node_count = 2};
	const struct schedule *chain = build(arena, "collnet_chain", &spec);
	CHECK(between_B(chain, 2, 1, -1) == 600 && between_B(chain, 1, 0, -1) == 600);
	CHECK(between_B(chain, 2, 0, -1) == 0 && between_B(chain, 0, 1, -1) == 600);
	CHECK(between_B(chain, 0, 3, -1) == 600 && between_B(chain, 1, 4, -1) == 0);
	const struct schedule *direct = build(arena, "collnet_direct", &spec);
	for (size_t i = 0; i < 3; i++) {
		CHECK(between_B(direct, i, (i + 1) % 3, -1) == 2 * 200);
		CHECK(between_B(direct, i, i + 3, -1) == 200 &&
		      between_B(direct, i + 3, i, -1) == 200);
		CHECK(between_B(direct, i, (i + 1) % 3 + 3, -1) == 0);
	}
	arena_free(arena);
}

/* In each node as many ranks as parts are the heads of one part each. Messages between nodes join
 * heads of the same part, on the channels of that part only. `trees` channels have one part: the
 * two trees over the nodes (nvls_tree), or a tree for each node that adds (collnet_direct). Each
 * channel has an equal part of 1200 B, and each node but the root sends it up once. */
static void heads_of_a_part_have_their_own_channels(void)
{
	static const uint32_t node_of[] = {0, 0, 1, 1, 2, 2, 0, 1, 2}; /* three parts */
	static const size_t place[] = {0, 1, 0, 1, 0, 1, 2, 2, 2};
	for (size_t k = 0; k < 2; k++) {
		struct arena *arena = arena_new();
		const struct algorithm_spec spec = {.rank_count = 9,
						    .size_B = 1200,
						    .channel_count = 2,
						    .pipeline_count = 1,
						    .node_of = node_of,
						    .node_count = 3};
		const struct schedule *schedule =
			build(arena, k ? "collnet_direct" : "nvls_tree", &spec);
		size_t trees = k ? 3 : 2, channels = 2 * 3 * trees, sends[18] = {0};
		CHECK(schedule->channel_count == channels);
		for (size_t i = 0; i < schedule->step_count; i++) {
			const struct schedule_step *step = &schedule->steps[i];
			CHECK_NEAR(schedule->chunk_B[step->chunk], 1200.0 / (double)channels,
				   1e-12);
			if (step->kind != STEP_SEND || node_of[step->rank] == node_of[step->peer])
				continue;
			CHECK(place[step->rank] == step->channel / trees % 3);
			CHECK(place[step->peer] == step->channel / trees % 3);
			sends[step->channel]++;
		}
		for (size_t c = 0; c < channels; c++)
			CHECK(sends[c] == 2 * 2); /* up and down two edges */
		arena_free(arena);
	}
}

static void parameter_servers_hold_equal_shards(void)
{
	struct arena *arena = arena_new();
	const struct algorithm_spec spec = {.rank_count = 3,
					    .size_B = 600,
					    .channel_count = 1,
					    .pipeline_count = 2,
					    .server_count = 2};
	const struct schedule *schedule = build(arena, "parameter_server", &spec);
	CHECK(schedule->rank_count == 5);
	for (size_t worker = 0; worker < 3; worker++) {
		CHECK(between_B(schedule, worker, 3, -1) == 300);
		CHECK(between_B(schedule, 4, worker, -1) == 300);
		CHECK(schedule_sent_B(schedule, worker) == 600);
	}
	CHECK(schedule_received_B(schedule, 3) == 900);
	/* the first value that server k stores is that of worker k */
	for (uint32_t server = 0; server < 2; server++)
		for (size_t i = 0, chunks = 0; i < schedule->step_count && chunks < 2; i++) {
			const struct schedule_step *step = &schedule->steps[i];
			if (step->rank != 3 + server || step->kind != STEP_COPY)
				continue;
			CHECK(schedule->steps[step->source].rank == server);
			chunks++;
		}
	arena_free(arena);
}

/* Two machines with two GPUs each, two servers (ranks 4 and 5) and a process for each machine
 * (ranks 6 and 7). Tensor 3 is on the second server, and the second GPU of each machine adds. */
static void two_level_servers_take_one_copy_from_each_machine(void)
{
	struct arena *arena = arena_new();
	const uint32_t node_of[] = {0, 0, 1, 1};
	struct algorithm_spec spec = {.rank_count = 4,
				      .size_B = 600,
				      .channel_count = 1,
				      .pipeline_count = 1,
				      .server_count = 2,
				      .turn = 3,
				      .whole = true,
				      .node_of = node_of,
				      .node_count = 2};
	const struct schedule *schedule = build(arena, "two_level_server", &spec);
	CHECK(schedule->rank_count == 8);
	CHECK(between_B(schedule, 0, 1, -1) == 600 && between_B(schedule, 1, 6, -1) == 600);
	CHECK(between_B(schedule, 2, 3, -1) == 600 && between_B(schedule, 3, 7, -1) == 600);
	CHECK(between_B(schedule, 6, 5, -1) == 600 && between_B(schedule, 5, 7, -1) == 600);
	CHECK(between_B(schedule, 6, 0, -1) == 600 && between_B(schedule, 6, 1, -1) == 600);
	CHECK(schedule_received_B(schedule, 4) == 0 && schedule_received_B(schedule, 5) == 1200);
	spec.whole = false;
	spec.local_on_cpu = true;
	schedule = build(arena, "two_level_server", &spec);
	CHECK(between_B(schedule, 0, 6, -1) == 600 && between_B(schedule, 0, 1, -1) == 0);
	CHECK(schedule_received_B(schedule, 4) == 600 && schedule_received_B(schedule, 5) == 600);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(collectives_have_names_and_bus_ratios),
	TEST(algorithms_are_found_by_name),
	TEST(algorithms_refuse_invalid_specifications),
	TEST(exchange_of_two_ranks_is_correct),
	TEST(wrong_schedules_are_described),
	TEST(invalid_steps_are_described),
	TEST(rank_without_data_cannot_send),
	TEST(ring_follows_its_order),
	TEST(halving_doubling_sends_halves_then_quarters),
	TEST(double_trees_match_nccls_drawings),
	TEST(hierarchical_algorithms_send_minimal_bytes_over_the_network),
	TEST(collnet_heads_add_for_their_machines),
	TEST(heads_of_a_part_have_their_own_channels),
	TEST(parameter_servers_hold_equal_shards),
	TEST(two_level_servers_take_one_copy_from_each_machine),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
