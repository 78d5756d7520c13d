/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of a plan's rank against the formulas of Korthikanti et al. (arXiv:2205.05198),
 * against ZeRO's, and against what Transformer Engine keeps. */
#include "sim/engine/trace.h"
#include "tests/test.h"
#include "tests/tiny_plan.h"

enum { S = 64, H = 32, A = 4, V = 16 }; /* tokens, features, heads, vocabulary */

static const struct network *gpt(struct arena *arena, int blocks)
{
	const char *text = arena_printf(
		arena,
		"network = { name = \"gpt\"; sequence = %d; vocabulary = %d; source = \"test\"; "
		"layers = (\n"
		"{ name = \"e\"; op = \"embedding\"; out = %d; },\n"
		"{ name = \"b\"; repeat = %d; layers = (\n"
		"{ name = \"n1\"; op = \"layer_norm\"; },\n"
		"{ name = \"a\"; op = \"attention\"; heads = %d; causal = true; dropout = true; "
		"},\n"
		"{ name = \"d1\"; op = \"dropout\"; },\n"
		"{ name = \"s1\"; op = \"add\"; from = [\"b\", \"d1\"]; },\n"
		"{ name = \"n2\"; op = \"layer_norm\"; },\n"
		"{ name = \"m\"; op = \"mlp\"; hidden = %d; activation = \"gelu\"; },\n"
		"{ name = \"d2\"; op = \"dropout\"; },\n"
		"{ name = \"s2\"; op = \"add\"; from = [\"s1\", \"d2\"]; } ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = %d; }, { name = \"x\"; op = "
		"\"cross_entropy\"; } ); };",
		S, V, H, blocks, A, 4 * H, V);
	struct diag *diag = diag_new(arena);
	return network_read(arena, diag, cfg_read_text(arena, diag, "gpt.cfg", text), 0);
}

static const struct stack_params eager = {.precision = PRECISION_BF16, .optimiser_copies_count = 2};
static const struct stack_params fp8 = {.precision = PRECISION_FP8,
					.optimiser_copies_count = 2,
					.fusion = FUSION_LAYER,
					.fused_attention = true};

static double memory_B(const struct plan_params *params, const struct stack_params *stack,
		       int blocks, size_t stage)
{
	struct arena *arena = arena_new();
	const char *why = NULL;
	size_t ranks = (size_t)(params->tp_count * params->pp_count);
	const struct training_plan *plan =
		plan_new(arena, gpt(arena, blocks), params, params->dp_count > 0 ? 8 : ranks, &why);
	double size_B = CHECK(plan) ? plan_memory_B(plan, stack, stage) : 0;
	arena_free(arena);
	return size_B;
}

/* Returns the memory of one more block. */
static double block_B(const struct plan_params *params, const struct stack_params *stack)
{
	return memory_B(params, stack, 3, 0) - memory_B(params, stack, 2, 0);
}

/* Parameters of a block on each of t GPUs: matrices are split, norms of 2 H are whole. */
static double block_count(double t)
{
	return 12.0 * H * H / t + 4 * H;
}

/* Equations 1 to 6 of the paper, and 8 bytes for mean and deviation of each token and norm. Other
 * memory of a parameter: 2 bytes of it, 4 of its gradient, 12 of the optimizer. */
static void activations_match_the_equations_of_korthikanti(void)
{
	const double sh = (double)S * H, scores = 5.0 * A * S / H, norms = 16.0 * S;
	const struct {
		double tp;
		bool sequence;
		int recompute;
		double kept_B;
	} rows[] = {
		{1, true, RECOMPUTE_NONE, sh * (34 + scores) + norms},
		{2, false, RECOMPUTE_NONE, sh * (10 + 24.0 / 2 + scores / 2) + norms},
		{2, true, RECOMPUTE_NONE, sh / 2 * (34 + scores) + norms / 2},
		{4, true, RECOMPUTE_SELECTIVE, sh / 4 * 34 + norms / 4},
		{2, false, RECOMPUTE_SELECTIVE, sh * (10 + 24.0 / 2) + norms},
		{4, false, RECOMPUTE_FULL, sh * 2},
		{4, true, RECOMPUTE_FULL, sh * 2 / 4},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct plan_params params = one_gpu;
		params.tp_count = rows[i].tp;
		params.sequence_parallel = rows[i].sequence;
		params.recompute = rows[i].recompute;
		CHECK_NEAR(block_B(&params, &eager), rows[i].kept_B + 18 * block_count(rows[i].tp),
			   1e-12);
	}
}

/* The inputs of both products behind the norms of a block are not kept: 2 x 2 bytes of S x H
 * elements. */
static void norms_that_are_computed_again_are_not_kept(void)
{
	struct plan_params params = one_gpu;
	double whole_B = block_B(&params, &eager);
	params.recompute = RECOMPUTE_SELECTIVE;
	params.recompute_modules = "layernorm";
	CHECK_NEAR(whole_B - block_B(&params, &eager), 2 * 2 * (double)S * H + 16 * S, 1e-12);
}

/* Full recomputation of two blocks keeps their inputs of 2 B and the activations of one block. It
 * changes nothing at embedding and loss. */
static void full_recomputation_keeps_one_block_and_all_inputs(void)
{
	struct plan_params params = one_gpu;
	double whole_B = memory_B(&params, &eager, 2, 0);
	params.recompute = RECOMPUTE_FULL;
	double kept_B = S * H * (34 + 5.0 * A * S / H) + 16 * S;
	CHECK_NEAR(whole_B - memory_B(&params, &eager, 2, 0), kept_B - 2 * 2 * S * H, 1e-12);
}

/* Transformer Engine keeps the inputs of the four products in FP8: h + h + h + 4 h bytes of a
 * token. It keeps in two bytes the inputs of the norms (2 h), query, key and value (3 h),
 * attention's output (h) and the input of GELU (4 h). Dropout keeps two masks, and each head 4
 * bytes. */
static void products_keep_their_inputs_in_fp8(void)
{
	const double token_B = 7 * H + 2 * (2 + 3 + 1 + 4) * H + 2 * H + 4 * A + 16;
	/* matrices also have an FP8 copy and its transpose; gathered in FP8 they have no other */
	const double states_B = 18 * block_count(2), copies_B = 2 * 12.0 * H * H / 2;
	struct plan_params params = one_gpu;
	params.tp_count = 2;
	CHECK_NEAR(block_B(&params, &fp8), S * token_B / 2 + states_B + copies_B, 1e-12);
	params.parameter_element_B = 1;
	CHECK_NEAR(block_B(&params, &fp8), S * token_B / 2 + states_B, 1e-12);
	params.parameter_element_B = 2;
	CHECK_NEAR(block_B(&params, &fp8), S * token_B / 2 + states_B + copies_B, 1e-12);
	params.sharding = SHARDING_PARAMETERS; /* casts what it gathers */
	CHECK_NEAR(block_B(&params, &fp8), S * token_B / 2 + 16 * block_count(2), 1e-12);
}

/* ZeRO (arXiv:1910.02054) with Adam in mixed precision: 16 bytes of a parameter, or
 * 4 + 12 / n, 2 + 14 / n, 16 / n. Gradients have 2 bytes as in the paper. FSDP adds two gathered
 * blocks with their gradients, but keeps no copy in 2 bytes, because it casts what it gathers. */
static void sharding_matches_the_formulas_of_zero(void)
{
	const double count = block_count(1), n = 8;
	const double states_B[] = {16, 4 + 12 / n, 2 + 14 / n, 2 / n + 12 / n};
	struct plan_params params = one_gpu;
	params.gradient_element_B = 2;
	double kept_B = block_B(&params, &eager) - 16 * count;
	params.dp_count = n;
	params.global_batch_count = n;
	for (int i = 0; i < 4; i++) {
		params.sharding = i;
		CHECK_NEAR(block_B(&params, &eager), kept_B + states_B[i] * count, 1e-12);
	}
}

static const char experts_text[] =
	"network = { name = \"m\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
	"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
	"{ name = \"b\"; repeat = 1; layers = (\n"
	"  { name = \"x\"; op = \"experts\"; experts = 4; top = 2; hidden = 6; } ); },\n"
	"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
	"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";

/* Four GPUs with tensor and expert groups of two. Two GPUs have the same experts: these are twice
 * the data-parallel ranks for a tensor group of two, divided by two expert parts. So both kinds of
 * parameters share the optimizer's 12 bytes between two. */
static void experts_share_the_optimizer_with_tensor_groups(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *whole =
		network_read(arena, diag, cfg_read_text(arena, diag, "m.cfg", experts_text), 0);
	const char *why = NULL;
	struct plan_params params = one_gpu;
	params.tp_count = params.ep_count = 2;
	double shared_B[2] = {0}, count = 0;
	for (int shares = 0; shares < 2; shares++) {
		params.sharding = shares ? SHARDING_OPTIMIZER : SHARDING_NONE;
		const struct training_plan *plan = plan_new(arena, whole, &params, 4, &why);
		if (!CHECK(plan))
			continue;
		shared_B[shares] = plan_memory_B(plan, &eager, 0);
		count = plan->shard->network->parameters_count;
	}
	CHECK(count > 0);
	CHECK_NEAR(shared_B[0] - shared_B[1], count * 12 / 2, 1e-9);
	arena_free(arena);
}

/* Eight GPUs with tensor groups of two and expert groups of four. The four data-parallel ranks
 * share the 12 bytes of other parameters, but only two GPUs have the same expert. */
static void experts_and_other_parameters_are_shared_by_different_numbers_of_ranks(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *whole =
		network_read(arena, diag, cfg_read_text(arena, diag, "m.cfg", experts_text), 0);
	const char *why = NULL;
	struct plan_params params = one_gpu;
	params.tp_count = 2;
	params.ep_count = 4;
	double shared_B[2] = {0}, all = 0, experts = 0;
	for (int shares = 0; shares < 2; shares++) {
		params.sharding = shares ? SHARDING_OPTIMIZER : SHARDING_NONE;
		const struct training_plan *plan = plan_new(arena, whole, &params, 8, &why);
		if (!CHECK(plan))
			continue;
		shared_B[shares] = plan_memory_B(plan, &eager, 0);
		const struct network *part = plan->shard->network;
		all = part->parameters_count;
		experts = 0;
		for (size_t i = 0; i < part->layer_count; i++)
			for (size_t t = 0;
			     part->layers[i].experts && t < part->layers[i].tensor_count; t++)
				experts += part->layers[i].tensors[t];
	}
	CHECK(experts >= 2 * 8 * 6 && experts < all); /* at least two matrices of one expert */
	CHECK_NEAR(shared_B[0] - shared_B[1], 12 * (experts / 2 + (all - experts) * 3 / 4), 1e-9);
	arena_free(arena);
}

/* A stage sends S x H values of 2 B. In a tensor group each GPU sends a part of them if activations
 * are divided, or if the receivers gather them. */
static void tensor_groups_divide_the_messages_between_stages(void)
{
	static const struct {
		bool sequence, gathers;
		double parts;
	} rows[] = {{false, false, 1}, {true, false, 2}, {false, true, 2}};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < 3; i++) {
		const char *why = NULL;
		struct plan_params params = one_gpu;
		params.tp_count = params.pp_count = 2;
		params.sequence_parallel = rows[i].sequence;
		params.scatter_gather = rows[i].gathers;
		const struct training_plan *plan = plan_new(arena, gpt(arena, 2), &params, 4, &why);
		if (CHECK(plan))
			CHECK_NEAR(plan_message_B(plan, &eager, 0), 2.0 * S * H / rows[i].parts,
				   1e-12);
	}
	arena_free(arena);
}

/* Four heads share two heads of keys and values, which four GPUs cannot divide. */
static void tensor_groups_divide_heads_of_keys_and_values(void)
{
	static const char text[] =
		"network = { name = \"k\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"a\"; op = \"attention\"; heads = 4; kv_heads = 2; causal = true; },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *whole =
		network_read(arena, diag, cfg_read_text(arena, diag, "k.cfg", text), 0);
	const char *why = NULL;
	struct plan_params params = one_gpu;
	params.tp_count = 2;
	CHECK(plan_new(arena, whole, &params, 4, &why));
	params.tp_count = 4;
	CHECK(!plan_new(arena, whole, &params, 4, &why));
	CHECK_TEXT(why, "2 heads of keys and values are not divisible by tp (4): write plan.tp=2");
	arena_free(arena);
}

/* Sharing the optimizer's state costs less than computing activations again. So the nearest plan
 * takes it where both are enough. */
static void nearest_plan_shares_the_optimizer_before_it_recomputes(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu, again = one_gpu, shared = one_gpu;
	again.recompute = RECOMPUTE_FULL;
	shared.sharding = SHARDING_OPTIMIZER;
	again.dp_count = shared.dp_count = again.global_batch_count = shared.global_batch_count = 8;
	const struct near_request request = {
		.network = gpt(arena, 2),
		.stack = &eager,
		.params = &params,
		.rank_count = 8,
		.tensor_most = 1,
		.memory_most_B =
			fmax(memory_B(&again, &eager, 2, 0), memory_B(&shared, &eager, 2, 0))};
	CHECK(memory_B(&params, &eager, 2, 0) > request.memory_most_B);
	const char *near = plan_near(arena, &request);
	CHECK(near != NULL);
	CHECK_TEXT(near, "sharding=optimizer");
	arena_free(arena);
}

/* FSDP on 4 and on 8 GPUs: a GPU keeps 1/4 or 1/8 of 2 bytes of each frozen parameter, and of 16
 * bytes of each trained one. */
static void fsdp_also_shares_frozen_parameters(void)
{
	static const char text[] =
		"network = { name = \"a\"; sequence = 16; vocabulary = 12; frozen = true;\n"
		"source = \"by hand\"; layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 2; layers = (\n"
		"  { name = \"n\"; op = \"layer_norm\"; bias = false; },\n"
		"  { name = \"a\"; op = \"attention\"; heads = 4; causal = true; lora = 2; } ); "
		"},\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *network =
		network_read(arena, diag, cfg_read_text(arena, diag, "a.cfg", text), 0);
	const double trained = 2 * (8 * 2 + 2 * 24 + 8 * 2 + 2 * 8);
	struct plan_params params = one_gpu;
	const char *why = NULL;
	double kept_B[2] = {0};
	params.sharding = SHARDING_PARAMETERS;
	for (size_t i = 0; i < 2; i++) {
		const struct training_plan *plan =
			plan_new(arena, network, &params, (size_t)4 << i, &why);
		if (CHECK(plan))
			kept_B[i] = plan_memory_B(plan, &eager, 0);
	}
	CHECK_NEAR(network->frozen_count, network->parameters_count - trained, 0);
	CHECK_NEAR(kept_B[0] - kept_B[1], (network->frozen_count * 2 + trained * 16) / 8, 1e-9);
	arena_free(arena);
}

/* FSDP keeps no copy in 2 bytes of all parameters: two blocks, and V x H numbers before and behind
 * them. It gathers two blocks, the largest units, with gradients of 2 bytes. In fp32 there is no
 * copy. */
static void fsdp_gathers_two_blocks_with_their_gradients(void)
{
	struct plan_params params = one_gpu;
	params.gradient_element_B = 2;
	params.dp_count = params.global_batch_count = 8;
	params.sharding = SHARDING_GRADIENTS;
	double before_B = memory_B(&params, &eager, 2, 0);
	params.sharding = SHARDING_PARAMETERS;
	CHECK_NEAR(memory_B(&params, &eager, 2, 0) - before_B,
		   2 * block_count(1) * (2 + 2) - 2 * (2 * block_count(1) + 2 * V * H), 1e-12);
	struct stack_params fp32 = eager;
	fp32.precision = PRECISION_FP32;
	double shared_B = memory_B(&params, &fp32, 2, 0);
	params.sharding = SHARDING_GRADIENTS;
	CHECK_NEAR(shared_B - memory_B(&params, &fp32, 2, 0), 2 * block_count(1) * (4 + 2), 1e-12);
}

/* Two stages of two chunks, four micro-batches. The first stage keeps five passes at most: before
 * its second backward pass these are four through its first chunk and one through its second. The
 * last stage keeps three. Only the first chunk of the first stage has the embedding, and only the
 * last chunk of the last stage has logits. */
static void each_chunk_keeps_its_own_activations(void)
{
	const double chunk_B = S * H * (34 + 5.0 * A * S / H) + 16 * S;
	const double states_B = 18 * (2 * block_count(1) + V * H);
	struct plan_params params = one_gpu;
	params.pp_count = 2;
	params.chunks_count = 2;
	params.global_batch_count = 4;
	CHECK_NEAR(memory_B(&params, &eager, 4, 0),
		   states_B + 5 * chunk_B + 4 * (2 * S * H + 8 * S), 1e-12);
	CHECK_NEAR(memory_B(&params, &eager, 4, 1), states_B + 3 * chunk_B + 4 * S * V, 1e-12);
}

/* 1F1B keeps the activations of one of four micro-batches on the last of two stages. zb-h1 delays
 * gradients of weights by a micro-batch, so it keeps two, and GPipe keeps all four. */
static void schedules_keep_activations_until_their_backward_passes(void)
{
	const double one_B = S * H * (34 + 5.0 * A * S / H) + 16 * S + 4 * S * V;
	struct plan_params params = one_gpu;
	params.pp_count = 2;
	params.global_batch_count = 4;
	double before_B = memory_B(&params, &eager, 2, 1);
	params.schedule = "zb-h1";
	CHECK_NEAR(memory_B(&params, &eager, 2, 1) - before_B, one_B, 1e-12);
	params.schedule = "gpipe";
	CHECK_NEAR(memory_B(&params, &eager, 2, 1) - before_B, 3 * one_B, 1e-12);
}

/* The least time of a block on two GPUs whose memory is infinitely fast. Backward has two products
 * for each one of forward. Each pass adds up S x H numbers of 2 B twice, of which a GPU receives
 * half. Data groups gather 2 B of each parameter and reduce 4 B. Sums that overlap with products
 * are not in the least time. */
static void least_time_has_kernels_and_blocking_bytes(void)
{
	static const struct gpu_params gpu = {.generation = GENERATION_VOLTA,
					      .fp32_flops = 1e12,
					      .fp16_flops = 1e12,
					      .memory_bandwidth_Bps = 1e30,
					      .memory_efficiency_ratio = 1,
					      .multiprocessors_count = 1};
	static const struct kernel_params kernels = {.product_fp32_ratio = 1,
						     .product_half_ratio = 1,
						     .attention_ratio = 1,
						     .operand_ratio = 1,
						     .reduction_ratio = 1,
						     .sustained_ratio = 1,
						     .load_Bps = 1e30};
	static const struct efficiency_params by_law = {.law_ratio = 1, .kernels = &kernels};
	struct plan_params params = one_gpu;
	params.tp_count = 2;
	params.sequence_parallel = false;
	struct arena *arena = arena_new();
	const char *why = NULL;
	const struct plan_step step = {.plan = plan_new(arena, gpt(arena, 2), &params, 2, &why),
				       .stack = &eager,
				       .gpu = &gpu,
				       .efficiency = &by_law};
	size_t count = 0, slow_count = 0;
	const struct unit_least *fast = plan_units_least(arena, &step, 1e30, &count);
	const struct unit_least *slow = plan_units_least(arena, &step, 1e9, &slow_count);
	if (CHECK(count == 4 && slow_count == 4)) { /* embedding, two blocks, logits */
		CHECK(fast[1].first > 0 && fast[1].forward_s > 0 && fast[1].weights_s == 0);
		CHECK(fast[1].forward_s == fast[2].forward_s);
		CHECK(fast[1].backward_s > 1.5 * fast[1].forward_s &&
		      fast[1].backward_s < 2.5 * fast[1].forward_s);
		double sums_s = 2 * S * H * 2.0 * 0.5 / 1e9;
		CHECK_NEAR(slow[1].forward_s - fast[1].forward_s, sums_s, 1e-6);
		CHECK_NEAR(slow[1].backward_s - fast[1].backward_s, sums_s, 1e-6);
		CHECK_NEAR(fast[1].gathered_B, 2 * block_count(2), 1e-12);
		CHECK_NEAR(fast[1].reduced_B, 4 * block_count(2), 1e-12);
		params.parameter_element_B = 1;
		fast = plan_units_least(arena, &step, 1e30, &count);
		CHECK_NEAR(fast[1].gathered_B, block_count(2), 1e-12);
	}
	params.overlap_tensor = OVERLAP_BACKWARD;
	const struct plan_step beside = {.plan = plan_new(arena, gpt(arena, 2), &params, 2, &why),
					 .stack = &eager,
					 .gpu = &gpu,
					 .efficiency = &by_law};
	slow = plan_units_least(arena, &beside, 1e9, &slow_count);
	if (CHECK(count == 4 && slow_count == 4))
		CHECK_NEAR(slow[1].backward_s, fast[1].backward_s, 1e-12);
	arena_free(arena);
}

/* A machine has all 8 ranks with an index on data, 4, and the lower two of 4 on context. In each of
 * two replicas a data group has 2 x 4 ranks, of which 4 are on this machine. So the machine has two
 * groups, and sends half a byte for each byte of a group: together one. FSDP gathers 300 B twice
 * and reduces 400 B. A GPU receives 7 / 8 of each byte, because it has its own part. */
static void least_time_has_the_bytes_of_data_groups_on_the_links_of_machines_and_gpus(void)
{
	static const struct plan_links machine = {8, 1e9, 1e12}, gpu = {8, 1e12, 1e9};
	static const struct unit_least unit = {.gathered_B = 300, .reduced_B = 400};
	struct plan_params params = one_gpu;
	params.order = "dp-cp-tp-pp";
	params.cp_count = 4;
	params.replicas_count = 2;
	params.sharding = SHARDING_PARAMETERS;
	struct arena *arena = arena_new();
	const char *why = NULL;
	const struct training_plan *plan = plan_new(arena, gpt(arena, 1), &params, 16, &why);
	if (CHECK(plan)) {
		CHECK_NEAR(plan_least_s(plan, &unit, 1, &machine), (2 * 300 + 400) / 1e9, 1e-12);
		CHECK_NEAR(plan_least_s(plan, &unit, 1, &gpu), (2 * 300 + 400) / 1e9 * 7 / 8,
			   1e-12);
	}
	arena_free(arena);
}

/* Two stages on four machines with a GPU each: a stage has two units and two ranks. Forward,
 * backward and gradients of weights of a unit take 1 s each, so two micro-batches take 2 x 6 s on
 * the first stage. Its last backward pass begins 4 s before the end, because it includes gradients
 * of weights. Then each machine sends half of 10 B of gradients twice, at 1 B/s. So the step takes
 * 12 - 4 + 10 s. On fast links it takes as long as the second stage, which begins at 2 s.
 * In the timetable, both stages compute their last gradients of weights from 12 to 14 s. Those of
 * the first unit are complete at 13 s. If the optimizer is shared, half of the bytes are sent once,
 * and then half of the 2 x 4 B of updated parameters, unless these are sent in the next step. */
static void gradients_of_weights_are_computed_beside_the_last_data(void)
{
	static const struct plan_links slow = {1, 1, 1e12}, fast = {1, 1e12, 1e12};
	struct plan_params params = one_gpu;
	params.pp_count = 2;
	params.global_batch_count = 4;
	params.schedule = "zb-h1";
	struct arena *arena = arena_new();
	const char *why = NULL;
	const struct training_plan *plan = plan_new(arena, gpt(arena, 2), &params, 4, &why);
	if (CHECK(plan)) {
		struct unit_least units[4] = {0};
		for (size_t i = 0, first = 0; i < 4; i++, first = plan_unit_end(plan, first))
			units[i] = (struct unit_least){.first = first,
						       .forward_s = 1,
						       .backward_s = 1,
						       .weights_s = 1,
						       .gathered_B = 4,
						       .reduced_B = 5};
		CHECK_NEAR(plan_least_s(plan, units, 4, &slow), 12 + 10 - 4, 1e-12);
		CHECK_NEAR(plan_least_s(plan, units, 4, &fast), 2 + 12, 1e-9);
		CHECK_NEAR(plan_timetable_s(arena, plan, units, 4, &slow, 0), 13 + 2 * 5, 1e-12);
		CHECK_NEAR(plan_timetable_s(arena, plan, units, 4, &fast, 0), 2 + 12, 1e-9);
		for (int i = SHARDING_OPTIMIZER; i <= SHARDING_GRADIENTS; i++) {
			params.sharding = i;
			params.overlap_parameters = false;
			CHECK_NEAR(plan_timetable_s(arena, plan, units, 4, &slow, 0), 13 + 5 + 4,
				   1e-9);
			CHECK_NEAR(plan_least_s(plan, units, 4, &slow), 12 - 4 + 5 + 4, 1e-9);
			params.overlap_parameters = true;
			CHECK_NEAR(plan_timetable_s(arena, plan, units, 4, &slow, 0), 13 + 5, 1e-9);
			CHECK_NEAR(plan_least_s(plan, units, 4, &slow), 2 + 12, 1e-9);
		}
	}
	arena_free(arena);
}

/* Four GPUs in a context group leave no GPU for four copies of the network. Two in a group are the
 * smallest change: two copies then fill the GPUs. */
static void nearest_plan_fills_the_gpus_with_data_groups(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	params.cp_count = 4;
	params.dp_count = 4;
	struct near_request request = {.network = gpt(arena, 2),
				       .stack = &eager,
				       .params = &params,
				       .rank_count = 4,
				       .tensor_most = 1,
				       .memory_most_B = INFINITY};
	const char *near = plan_near(arena, &request);
	CHECK(near != NULL);
	CHECK_TEXT(near, "cp=2");
	/* 100 samples divide a batch of 100, too, but numbers up to 64 are tried */
	params.cp_count = params.dp_count = 1;
	request.rank_count = 1;
	params.global_batch_count = 100;
	params.micro_batch_count = 200;
	CHECK_TEXT(plan_near(arena, &request), "micro_batch=50");
	arena_free(arena);
}

/* Stage 0 of two plays F1, F2, B1, F3, B2 and B3. It keeps the activations of two micro-batches
 * from the begin of F2 to the end of B1, and from that of F3 to that of B2. F2 has two kernels
 * here, with another one between them. The step is played twice, 100 ps apart. */
static void memory_over_time_counts_the_micro_batches_that_are_alive(void)
{
	static const char *const names[] = {"F1", "F2", "other", "F2",    "B1",
					    "F3", "B2", "B3",    "update"};
	static const struct {
		int64_t time_ps;
		double alive;
	} expected[] = {{0, 1}, {10, 2}, {48, 1}, {50, 2}, {68, 1}, {78, 0}};
	struct arena *arena = arena_new();
	struct trace *trace = trace_new(arena);
	struct plan_params params = one_gpu;
	const char *why = NULL;
	params.pp_count = 2;
	params.global_batch_count = 3;
	params.fragmentation_ratio = 1.25;
	params.reserve_B = 1000;
	const struct training_plan *plan = plan_new(arena, gpt(arena, 2), &params, 2, &why);
	uint32_t kernels = trace_track(trace, "gpu", "job.0/stream 0");
	trace_track(trace, "gpu", "rank 0, stage 0");
	trace_span(trace, kernels, SPAN_KERNEL, "start", 0, 0);
	for (int64_t i = 0; i < 18; i++)
		trace_span(trace, kernels, SPAN_KERNEL, names[i % 9], i / 9 * 100 + i % 9 * 10,
			   i / 9 * 100 + i % 9 * 10 + 8);
	plan_memory_trace(trace, plan, &eager);
	double most_B = 0, two_B = trace_counter_at(trace, 2)->values[MEMORY_ACTIVATIONS];
	CHECK(trace_counter_count(trace) == 13);
	for (size_t i = 0; i < trace_counter_count(trace); i++) {
		const struct counter *counter = trace_counter_at(trace, i);
		double alive = i > 0 ? expected[(i - 1) % 6].alive : 0, all_B = 0;
		int64_t time_ps = i > 0 ? expected[(i - 1) % 6].time_ps : 0;
		CHECK(counter->time_ps == time_ps + (i > 6 ? 100 : 0));
		CHECK_NEAR(counter->values[MEMORY_ACTIVATIONS], alive / 2 * two_B, 1e-12);
		CHECK_NEAR(counter->values[MEMORY_OTHER], 1000, 0);
		for (int part = 0; part < MEMORY_PARTS; part++)
			all_B += counter->values[part];
		most_B = fmax(most_B, all_B);
	}
	CHECK_NEAR(most_B, plan_memory_B(plan, &eager, 0), 1e-12);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(memory_over_time_counts_the_micro_batches_that_are_alive),
	TEST(least_time_has_the_bytes_of_data_groups_on_the_links_of_machines_and_gpus),
	TEST(activations_match_the_equations_of_korthikanti),
	TEST(full_recomputation_keeps_one_block_and_all_inputs),
	TEST(norms_that_are_computed_again_are_not_kept),
	TEST(products_keep_their_inputs_in_fp8),
	TEST(sharding_matches_the_formulas_of_zero),
	TEST(fsdp_gathers_two_blocks_with_their_gradients),
	TEST(each_chunk_keeps_its_own_activations),
	TEST(least_time_has_kernels_and_blocking_bytes),
	TEST(schedules_keep_activations_until_their_backward_passes),
	TEST(experts_share_the_optimizer_with_tensor_groups),
	TEST(experts_and_other_parameters_are_shared_by_different_numbers_of_ranks),
	TEST(tensor_groups_divide_the_messages_between_stages),
	TEST(tensor_groups_divide_heads_of_keys_and_values),
	TEST(fsdp_also_shares_frozen_parameters),
	TEST(nearest_plan_shares_the_optimizer_before_it_recomputes),
	TEST(gradients_of_weights_are_computed_beside_the_last_data),
	TEST(nearest_plan_fills_the_gpus_with_data_groups),
};
int main(void)
{
	return TEST_MAIN(tests);
}
