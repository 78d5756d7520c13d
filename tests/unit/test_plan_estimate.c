/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans share micro-batches in a search, and their steps follow from the time of a micro-batch. */
#include "sim/analysis/plan_estimate.h"
#include "tests/test.h"
#include "tests/tiny_plan.h"

static struct arena *arena;

static const struct training_plan *plan_of(struct plan_params params, size_t ranks)
{
	const char *why = NULL;
	struct plan_params *own = ARENA_NEW(arena, struct plan_params);
	*own = params;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), own, ranks, &why);
	CHECK(plan && !why);
	return plan;
}

/* Only FSDP with several ranks gathers parameters, and it needs four micro-batches to count. */
static void gathers_count_from_four_micro_batches_on(void)
{
	struct plan_params params = one_gpu;
	params.sharding = SHARDING_PARAMETERS;
	params.global_batch_count = 2 * 4;
	CHECK(plan_passes_gathers(plan_of(params, 2)));
	CHECK(!plan_passes_gathers(plan_of(params, 1)));
	params.global_batch_count = 2 * 3;
	CHECK(!plan_passes_gathers(plan_of(params, 2)));
	params.global_batch_count = 2 * 4;
	params.sharding = SHARDING_OPTIMIZER;
	CHECK(!plan_passes_gathers(plan_of(params, 2)));
}

/* Two and four copies of a tensor group of two share a micro-batch of that group. With gathers each
 * has its own, on all copies. Two GPUs with halves of the experts need both of them. */
static void plans_share_a_micro_batch_unless_they_gather(void)
{
	struct plan_passes p = {.arena = arena};
	struct plan_params params = one_gpu;
	params.tp_count = 2;
	params.micro_batch_count = 3;
	params.sharding = SHARDING_PARAMETERS;
	const struct training_plan *two = plan_of(params, 4), *four = plan_of(params, 8);
	for (int gathers = 0; gathers < 2; gathers++) {
		plan_passes_want(&p, two, NULL, gathers);
		plan_passes_want(&p, four, NULL, gathers);
	}
	if (CHECK(p.passes.count == 3)) {
		const struct known_pass *passes = p.passes.items;
		CHECK(passes[0].gpu_count == 2 && passes[0].batch_count == 3 && !passes[0].gathers);
		CHECK(passes[1].gpu_count == 4 && passes[1].batch_count == 6 && passes[1].gathers);
		CHECK(passes[2].gpu_count == 8 && passes[2].batch_count == 12 && passes[2].gathers);
	}
	struct training_plan experts = *plan_of(one_gpu, 4);
	experts.expert_count = 2;
	plan_passes_want(&p, &experts, NULL, false);
	if (CHECK(p.passes.count == 4))
		CHECK(p.passes.items[3].gpu_count == 2 && p.passes.items[3].batch_count == 2);
}

/* Returns the units of a network of two blocks on two stages: embedding, blocks and logits. */
static struct known_units units_of(const struct training_plan *plan, const char *key,
				   double forward_s)
{
	struct unit_least *units = ARENA_ARRAY(arena, 4, struct unit_least);
	for (size_t i = 0, first = 0; i < 4; i++, first = plan_unit_end(plan, first))
		units[i] = (struct unit_least){
			.first = first, .forward_s = forward_s, .backward_s = 2 * forward_s};
	return (struct known_units){key, units, 4};
}

/* Each stage has two units, which take 1 s forward and 2 s backward. So a micro-batch takes 12 s of
 * kernels, and 24 s as simulated, of which the GPU waits 6 s for its host. Kernels are 1.5 times as
 * long as without gaps. The second stage begins after 2 x 1.5 s, takes 2 x 2 x 4.5 s for two
 * micro-batches, and the first stage needs another 2 x 3 s: 27 s. That is more than the 2 x 2 x 3 x
 * 2 s of a busy stage with its calls. */
static void a_bubble_has_no_time_of_the_host(void)
{
	static const size_t first_gpu;
	static const struct stack_params stack;
	static const struct job_entry job = {.stack = &stack, .gpus = &first_gpu};
	static const struct gpu_entry gpu;
	const struct scenario scenario = {.jobs = &job, .topology.gpus = &gpu};
	struct plan_passes p = {
		.arena = arena, .links = {1, INFINITY, INFINITY}, .scenario = &scenario};
	struct plan_params params = one_gpu;
	params.pp_count = 2;
	params.global_batch_count = 2;
	const struct training_plan *plan = plan_of(params, 2);
	plan_passes_want(&p, plan, NULL, false);
	struct known_pass *pass = &p.passes.items[0];
	*VEC_PUSH(arena, &p.units) = units_of(plan, arena_printf(arena, "%s 0", pass->key), 1);
	pass->all_s = 24;
	pass->host_s = 6;
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, plan, false), 27, 1e-9);
	/* A message takes 0.5 s. The second stage waits for its first one, and, behind the first
	 * backward pass, for its second one; then the first stage waits for the last gradient. */
	p.links.machine_Bps = plan_message_B(plan, &stack, 0) / 0.5;
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, plan, false), 27 + 3 * 0.5, 1e-9);
	/* the same over the links of a GPU if both stages are in one machine */
	p.links = (struct plan_links){2, INFINITY, plan_message_B(plan, &stack, 0) / 0.5};
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, plan, false), 27 + 3 * 0.5, 1e-9);
	/* The two GPUs of a machine are both ranks of the first stage, so they share its links. */
	params.global_batch_count = 4;
	const struct training_plan *wide = plan_of(params, 4);
	p.links = (struct plan_links){2, plan_message_B(wide, &stack, 0) / 0.25, INFINITY};
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, wide, false), 27 + 3 * 0.5, 1e-9);
	p.links = (struct plan_links){1, INFINITY, INFINITY};
	pass->host_s = 12; /* no time between kernels: 2 + 2 x 6 + 4 s are less than a busy stage */
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, plan, false), 24, 1e-9);
}

/* Kernels are twice as long as in the units. With several chunks two messages hold half of all
 * blocks, which makes them twice as long again. Gathers have a time of their own: four times as
 * long. */
static void messages_of_several_chunks_hold_blocks(void)
{
	static const size_t first_gpu;
	static const struct stack_params stack;
	static const struct job_entry job = {.stack = &stack, .gpus = &first_gpu};
	static const struct gpu_entry gpu = {.params.multiprocessors_count = 4 * MESSAGE_BLOCKS};
	const struct scenario scenario = {.jobs = &job, .topology.gpus = &gpu};
	struct plan_passes p = {
		.arena = arena, .links = {1, INFINITY, INFINITY}, .scenario = &scenario};
	struct plan_params params = one_gpu;
	params.global_batch_count = 2;
	struct training_plan plan = *plan_of(params, 1);
	for (int gathers = 0; gathers < 2; gathers++)
		plan_passes_want(&p, &plan, NULL, gathers);
	if (!CHECK(p.passes.count == 2))
		return;
	const struct known_units units =
		units_of(&plan, arena_printf(arena, "%s 0", p.passes.items[0].key), 1);
	*VEC_PUSH(arena, &p.units) = units;
	p.passes.items[0].all_s = 24;
	p.passes.items[1].all_s = 48;
	double busiest_s = plan_busiest_s(&plan, units.units, units.count);
	CHECK_NEAR(busiest_s, 2 * 4 * 3, 1e-9);
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, &plan, true), 4 * busiest_s, 1e-9);
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, &plan, false), 2 * busiest_s, 1e-9);
	plan.chunk_count = 2;
	busiest_s = plan_busiest_s(&plan, units.units, units.count);
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, &plan, true), 8 * busiest_s, 1e-9);
}

/* 1F1B and a schedule that delays gradients of weights have units of their own. */
static void schedules_that_split_backward_have_their_own_units(void)
{
	struct plan_passes p = {.arena = arena, .links = {1, 1e12, 1e12}};
	struct plan_params params = one_gpu;
	params.pp_count = 2;
	params.global_batch_count = 2;
	const struct training_plan *whole = plan_of(params, 2);
	params.schedule = "zb-h1";
	const struct training_plan *split = plan_of(params, 2);
	plan_passes_want(&p, whole, NULL, false);
	plan_passes_want(&p, split, NULL, false);
	if (!CHECK(p.passes.count == 1))
		return;
	const char *key = p.passes.items[0].key;
	*VEC_PUSH(arena, &p.units) = units_of(whole, arena_printf(arena, "%s 0", key), 1);
	*VEC_PUSH(arena, &p.units) = units_of(split, arena_printf(arena, "%s 1", key), 10);
	CHECK_NEAR(plan_passes_least_s(&p, arena, whole), 2 + 2 * 6 + 4, 1e-9);
	CHECK_NEAR(plan_passes_least_s(&p, arena, split), 20 + 2 * 60, 1e-9);
}

/* Each of the four units takes 1 s forward, 2 s backward and 1 s for its weights. If a micro-batch
 * takes twice these 16 s, all passes take twice as long. */
static void passes_for_weights_are_extended_like_the_others(void)
{
	static const size_t first_gpu;
	static const struct stack_params stack;
	static const struct job_entry job = {.stack = &stack, .gpus = &first_gpu};
	static const struct gpu_entry gpu;
	const struct scenario scenario = {.jobs = &job, .topology.gpus = &gpu};
	struct plan_passes p = {
		.arena = arena, .links = {1, INFINITY, INFINITY}, .scenario = &scenario};
	struct plan_params params = one_gpu;
	params.pp_count = 2;
	params.global_batch_count = 3;
	params.schedule = "zb-h1";
	const struct training_plan *plan = plan_of(params, 2);
	plan_passes_want(&p, plan, NULL, false);
	struct known_pass *pass = &p.passes.items[0];
	struct known_units known = units_of(plan, arena_printf(arena, "%s 1", pass->key), 1);
	struct unit_least *units = ARENA_ARRAY(arena, 4, struct unit_least);
	memcpy(units, known.units, 4 * sizeof *units);
	for (size_t i = 0; i < 4; i++)
		units[i].weights_s = 1;
	known.units = units;
	*VEC_PUSH(arena, &p.units) = known;
	double played_s = plan_timetable_s(arena, plan, units, 4, &p.links, 0);
	CHECK(played_s > plan_busiest_s(plan, units, 4));
	pass->all_s = 16;
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, plan, false), played_s, 1e-9);
	pass->all_s = 32;
	CHECK_NEAR(plan_passes_estimate_s(&p, arena, plan, false), 2 * played_s, 1e-9);
}

/* Returns the end of a step of two stages with two units each. Forward of a unit takes 1 s,
 * backward 2 s. A machine has one GPU. */
static double timetable_s(struct plan_params params, double batch, double reduced_B,
			  const struct plan_links *links, double message_s)
{
	params.pp_count = 2;
	params.global_batch_count = 2 * batch;
	const struct training_plan *plan = plan_of(params, 4);
	struct unit_least units[4] = {0};
	for (size_t i = 0, first = 0; i < 4; i++, first = plan_unit_end(plan, first))
		units[i] = (struct unit_least){.first = first,
					       .forward_s = 1,
					       .backward_s = 2,
					       .gathered_B = 1.5,
					       .reduced_B = reduced_B};
	return plan_timetable_s(arena, plan, units, 4, links, message_s);
}

/* Three micro-batches pass two stages with 1F1B, so a step takes (3 + 1) x (2 + 4) s. The two ranks
 * of a stage send half of each byte at 0.5 B/s: 1 s for a byte that is gathered or reduced. The
 * last backward pass of the first stage is from 20 to 24 s, and a unit has its gradients at 22 s.
 * All-reduces take 2 s for each byte of both units, so they end at 24 + 2 x 1 or 22 + 2 x 2 x 5 s.
 * FSDP gathers 3 B in each pass: forward takes 3 s and backward 4 s, so passes end at 4 x 7 s. With
 * 1 B of each unit, the last reduction begins then. With 5 B, they begin behind the first unit of
 * the first backward pass, at 12 s, and never wait: 12 + 3 x 2 x 5 s. */
static void timetable_gathers_in_each_pass_and_reduces_beside_them(void)
{
	static const struct plan_links machine = {1, 0.5, 1e12}, gpu = {1, 1e12, 0.5};
	struct plan_params params = one_gpu;
	CHECK_NEAR(timetable_s(params, 3, 0, &machine, 0), 24, 1e-9);
	CHECK_NEAR(timetable_s(params, 3, 1, &machine, 0), 26, 1e-9);
	CHECK_NEAR(timetable_s(params, 3, 5, &machine, 0), 42, 1e-9);
	CHECK_NEAR(timetable_s(params, 3, 5, &gpu, 0), 22 + 2 * 5, 1e-9);
	/* 10,001 micro-batches are extended from periods of 2 */
	CHECK_NEAR(timetable_s(params, 10001, 0, &machine, 0), 10002 * 6.0, 1e-9);
	params.sharding = SHARDING_PARAMETERS;
	CHECK_NEAR(timetable_s(params, 3, 1, &machine, 0), 28 + 1, 1e-9);
	CHECK_NEAR(timetable_s(params, 3, 5, &machine, 0), 42, 1e-9);
	CHECK_NEAR(timetable_s(params, 3, 1, &gpu, 0), 28 + 1, 1e-9);
}

/* Unequal units of two stages: the embedding and a block, a block and the logits. With a layout of
 * four parts each stage has two of them, and the stages take them in turn. */
static const struct unit_least unequal[4] = {
	{0, 1, 10, 5, 1, 1}, {0, 2, 20, 7, 2, 2}, {0, 4, 1, 11, 50, 3}, {0, 8, 2, 13, 60, 4}};

/* Returns the end of a step of two micro-batches. The two ranks of a data group send a byte in 1 s
 * through a gather or a reduction, and in 2 s through an all-reduce. */
static double unequal_s(struct plan_params params, double message_s)
{
	static const struct plan_links links = {1, 0.5, 1e12};
	struct unit_least units[4];
	params.pp_count = 2;
	params.global_batch_count = 4;
	const struct training_plan *plan = plan_of(params, 4);
	for (size_t i = 0, first = 0; i < 4; i++, first = plan_unit_end(plan, first)) {
		units[i] = unequal[i];
		units[i].first = first;
		if (!plan->schedule->splits_backward)
			units[i].weights_s = 0;
	}
	return plan_timetable_s(arena, plan, units, 4, &links, message_s);
}

/* Passes take 3 and 30 s in the first stage, 12 and 3 s in the second. So the second stage works
 * from 3 to 33 s, and the first one goes back from 18 to 78 s. Its last pass has the gradients of
 * the block at 68 s and of the embedding at 78 s. All-reduces end at 80 s. Each rank that updates a
 * part reduces until 79 s and then gathers 3 B. The second stage reduces until 39 s and then
 * gathers 110 B. FSDP gathers that in each pass, so the second stage ends its passes at 3 + 4 x 110
 * s. The last pass of the first stage begins then. It has the gradients of the block at 463 s, and
 * those of the embedding at 473 s. */
static void unequal_stages_end_with_their_own_collectives(void)
{
	struct plan_params params = one_gpu;
	CHECK_NEAR(unequal_s(params, 0), 78 + 2, 1e-9);
	for (int sharding = SHARDING_OPTIMIZER; sharding <= SHARDING_GRADIENTS; sharding++) {
		params.sharding = sharding;
		params.overlap_parameters = false;
		CHECK_NEAR(unequal_s(params, 0), 39 + 110, 1e-9);
		params.overlap_parameters = true;
		CHECK_NEAR(unequal_s(params, 0), 78 + 1, 1e-9);
	}
	params.sharding = SHARDING_PARAMETERS;
	CHECK_NEAR(unequal_s(params, 0), 443 + 30 + 1, 1e-9);
}

/* Gradients of weights take 12 s in the first stage and 24 s in the second. The first stage does
 * them from 48 and from 90 to 102 s, so the embedding's all-reduce ends at 104 s. The second one
 * delays its first ones by a micro-batch: from 33 to 81 s. With FSDP these passes do not gather.
 * The second stage then ends at 443 + 48 s and reduces 3 B behind that. */
static void gradients_of_weights_are_reduced_behind_their_own_passes(void)
{
	struct plan_params params = one_gpu;
	params.schedule = "zb-h1";
	CHECK_NEAR(unequal_s(params, 0), 102 + 2, 1e-9);
	params.sharding = SHARDING_PARAMETERS;
	CHECK_NEAR(unequal_s(params, 0), 443 + 48 + 3, 1e-9);
}

/* Forward passes through the parts end at 1 and 2, 3 and 5, 7 and 11, 15 and 23 s. Backward passes
 * end at 25 and 27, 26 and 28, 47 and 67, 57 and 77 s. The last part has its receive posted, so
 * only stages that wait are later with messages of 0.5 s. The second part begins at 1.5, the last
 * one at 8.5 s. Backward passes of the last part then end at 26.5 and 28.5 s, those of the second
 * part at 48.5 and 68.5 s. That of the first part begins 0.5 s later. Each rank of the second stage
 * reduces 2 B of its block behind its last pass at 67 s, and then gathers 62 B of both parts. */
static void stages_take_their_parts_in_turn(void)
{
	struct plan_params params = one_gpu;
	params.chunks_count = 2;
	params.layout = "E|t|t|L";
	CHECK_NEAR(unequal_s(params, 0), 77 + 2, 1e-9);
	CHECK_NEAR(unequal_s(params, 0.5), 68.5 + 0.5 + 10 + 2, 1e-9);
	params.sharding = SHARDING_OPTIMIZER;
	CHECK_NEAR(unequal_s(params, 0), 67 + 2 + 62, 1e-9);
}

/* Three stages: the embedding, a block, and a block with the logits. A micro-batch takes 4, 6 and
 * 220 s in them. The last one begins 1 + 2 s later, works for two micro-batches, and gradients pass
 * the other two in 3 + 4 s. Behind that, the first stage reduces 10 B in 20 s, beside its last pass
 * of 3 s. With gradients of weights apart, nothing waits behind the last stage, which then needs 2
 * x 24 s more, and the first stage ends before. */
static void least_time_begins_and_ends_with_the_other_stages(void)
{
	static const struct plan_links links = {1, 0.5, 1e12};
	struct unit_least units[4] = {{0, 1, 3, 0, 0, 10},
				      {0, 2, 4, 0, 0, 0},
				      {0, 40, 60, 0, 0, 0},
				      {0, 50, 70, 0, 0, 0}};
	struct plan_params params = one_gpu;
	params.pp_count = 3;
	params.global_batch_count = 4;
	params.embedding_as_block = true;
	const struct training_plan *plan = plan_of(params, 6);
	for (size_t i = 0, first = 0; i < 4; i++, first = plan_unit_end(plan, first))
		units[i].first = first;
	CHECK_NEAR(plan_least_s(plan, units, 4, &links), 3 + 2 * 220 + 7 + 20 - 3, 1e-9);
	CHECK_NEAR(plan_busiest_s(plan, units, 4), 2 * 220, 1e-9);
	params.schedule = "zb-h1";
	for (size_t i = 0; i < 4; i++)
		units[i].weights_s = unequal[i].weights_s;
	CHECK_NEAR(plan_least_s(plan_of(params, 6), units, 4, &links), 3 + 2 * (220 + 24), 1e-9);
}

/* Two stages with two parts each take 16 and 32 s for a micro-batch. The second one begins 1 s
 * later, and gradients need 10 s through the first part behind it. FSDP gathers 62 B of the second
 * stage twice for each micro-batch, and reduces 6 B. */
static void least_time_counts_all_parts_of_a_stage(void)
{
	static const struct plan_links links = {1, 0.5, 1e12};
	struct unit_least units[4];
	struct plan_params params = one_gpu;
	params.pp_count = params.chunks_count = 2;
	params.layout = "E|t|t|L";
	params.global_batch_count = 4;
	const struct training_plan *plan = plan_of(params, 4);
	for (size_t i = 0, first = 0; i < 4; i++, first = plan_unit_end(plan, first)) {
		units[i] = unequal[i];
		units[i].first = first;
		units[i].weights_s = 0;
	}
	CHECK_NEAR(plan_least_s(plan, units, 4, &links), 1 + 2 * 32 + 10, 1e-9);
	CHECK_NEAR(plan_busiest_s(plan, units, 4), 2 * 32, 1e-9);
	params.sharding = SHARDING_PARAMETERS;
	CHECK_NEAR(plan_least_s(plan_of(params, 4), units, 4, &links), 2 * (2 * 62 + 6), 1e-9);
	params = one_gpu;
	params.pp_count = 2;
	params.global_batch_count = 4;
	/* with one part each, the first stage is busier */
	CHECK_NEAR(plan_busiest_s(plan_of(params, 4), units, 4), 2 * 33, 1e-9);
}

/* A stage with one chunk receives a message only when it waits for it. So the second stage begins
 * 0.5 s later, and both wait for 0.5 s before each further pair of passes that the stages take in
 * turn: backward of the first micro-batch of the first stage goes from 9 to 13 s, that of the third
 * one from 22 to 26 s. */
static void messages_delay_stages_that_wait_for_them(void)
{
	static const struct plan_links links = {1, 1e12, 1e12};
	CHECK_NEAR(timetable_s(one_gpu, 3, 0, &links, 0.5), 24 + 4 * 0.5, 1e-9);
}

/* Four ranks of a data group in two machines send 3/4 of a byte to others in a ring, where the
 * least time has one half. In double trees of four machines with one GPU each, a machine sends a
 * byte up and a byte down, where the least time has 3/4 of them. */
static void data_groups_send_over_rings_and_trees(void)
{
	static const struct plan_links two = {2, 1, 1e12}, one = {1, 1, 1e12};
	struct plan_params params = one_gpu;
	const struct training_plan *plan = plan_of(params, 4);
	CHECK_NEAR(plan_data_s_per_B(plan, &one, false), 0.75, 1e-12);
	CHECK_NEAR(plan_data_s_per_B(plan, &one, true), 1, 1e-12);
	CHECK_NEAR(plan_data_s_per_B(plan, &two, true), 0.5, 1e-12);
	params.sharding = SHARDING_OPTIMIZER;
	plan = plan_of(params, 4);
	CHECK_NEAR(plan_data_s_per_B(plan, &two, false), 0.5, 1e-12);
	CHECK_NEAR(plan_data_s_per_B(plan, &two, true), 0.75, 1e-12);
}

/* Only adapters of rank 2 beside products of 8 x 24 and 8 x 8 are gathered, in 4 B, and reduced in
 * 4 B. All other parameters of the two blocks are frozen. */
static void only_trained_parameters_are_gathered_and_reduced(void)
{
	static const char text[] =
		"network = { name = \"a\"; sequence = 16; vocabulary = 12; frozen = true;\n"
		"source = \"by hand\"; layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 2; layers = (\n"
		"  { name = \"a\"; op = \"attention\"; heads = 4; causal = true; lora = 2; } ); "
		"},\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	static const struct gpu_params gpu = {
		.fp32_flops = 1e12, .memory_bandwidth_Bps = 1e12, .memory_efficiency_ratio = 1};
	static const struct efficiency_params at_peak = {.peak_ratio = 1};
	static const struct stack_params fp32;
	struct diag *diag = diag_new(arena);
	struct plan_params params = one_gpu;
	const char *why = NULL;
	size_t count;
	const struct network *network =
		network_read(arena, diag, cfg_read_text(arena, diag, "a.cfg", text), 0);
	const struct plan_step step = {.plan = plan_new(arena, network, &params, 2, &why),
				       .stack = &fp32,
				       .gpu = &gpu,
				       .efficiency = &at_peak};
	const struct unit_least *units = plan_units_least(arena, &step, 1e12, &count);
	if (!CHECK(count == 4))
		return;
	for (size_t i = 0; i < count; i++) {
		double trained = i == 1 || i == 2 ? 8 * 2 + 2 * 24 + 8 * 2 + 2 * 8 : 0;
		CHECK_NEAR(units[i].gathered_B, 4 * trained, 0);
		CHECK_NEAR(units[i].reduced_B, 4 * trained, 0);
	}
}

/* Each of two GPUs holds 2 of 4 experts. Only the router of 8 x 4 is gathered and reduced with the
 * other parameters. The rows of 2 x 16 x 2 experts of 8 features go to the experts and back, 4 B
 * each, half of them to the other GPU. Gradients of weights are apart only in schedules that delay
 * them. */
static void experts_exchange_rows_and_keep_their_parameters(void)
{
	static const char text[] =
		"network = { name = \"m\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 1; layers = (\n"
		"  { name = \"x\"; op = \"experts\"; experts = 4; top = 2; hidden = 6; } ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	static const struct gpu_params gpu = {
		.fp32_flops = 1e9, .memory_bandwidth_Bps = 1e9, .memory_efficiency_ratio = 1};
	static const struct efficiency_params at_peak = {.peak_ratio = 1};
	static const struct stack_params fp32;
	struct diag *diag = diag_new(arena);
	struct unit_least block[3]; /* fast links, slow links, gradients of weights apart */
	for (size_t i = 0; i < 3; i++) {
		struct plan_params params = one_gpu;
		const char *why = NULL;
		size_t count;
		params.ep_count = params.micro_batch_count = 2;
		params.schedule = i == 2 ? "zb-h1" : "1f1b";
		const struct network *network =
			network_read(arena, diag, cfg_read_text(arena, diag, "m.cfg", text), 0);
		const struct plan_step step = {.plan = plan_new(arena, network, &params, 2, &why),
					       .stack = &fp32,
					       .gpu = &gpu,
					       .efficiency = &at_peak};
		block[i] = plan_units_least(arena, &step, i == 1 ? 1e3 : 1e30, &count)[1];
	}
	CHECK_NEAR(block[0].gathered_B, 4 * 8 * 4, 0);
	CHECK_NEAR(block[0].reduced_B, 4 * 8 * 4, 0);
	double rows_s = 2 * (2 * 16 * 2 * 8 * 4) / 2.0 / 1e3;
	CHECK_NEAR(block[1].forward_s - block[0].forward_s, rows_s, 1e-9);
	CHECK_NEAR(block[1].backward_s - block[0].backward_s, rows_s, 1e-9);
	CHECK_NEAR(block[0].weights_s, 0, 0);
	CHECK(block[2].weights_s > 0 && block[2].backward_s > block[2].weights_s);
	CHECK_NEAR(block[2].backward_s + block[2].weights_s, block[0].backward_s, 1e-9);
}

static const struct test tests[] = {
	TEST(least_time_begins_and_ends_with_the_other_stages),
	TEST(least_time_counts_all_parts_of_a_stage),
	TEST(experts_exchange_rows_and_keep_their_parameters),
	TEST(unequal_stages_end_with_their_own_collectives),
	TEST(gradients_of_weights_are_reduced_behind_their_own_passes),
	TEST(stages_take_their_parts_in_turn),
	TEST(only_trained_parameters_are_gathered_and_reduced),
	TEST(messages_delay_stages_that_wait_for_them),
	TEST(data_groups_send_over_rings_and_trees),
	TEST(timetable_gathers_in_each_pass_and_reduces_beside_them),
	TEST(gathers_count_from_four_micro_batches_on),
	TEST(plans_share_a_micro_batch_unless_they_gather),
	TEST(a_bubble_has_no_time_of_the_host),
	TEST(messages_of_several_chunks_hold_blocks),
	TEST(passes_for_weights_are_extended_like_the_others),
	TEST(schedules_that_split_backward_have_their_own_units),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
