/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The programs of a plan's ranks: their calls carry the bytes that can be counted by hand. */
#include "tests/test.h"
#include "tests/tiny_plan.h"

static const struct stack_params bf16 = {
	.optimiser_copies_count = 2, .precision = PRECISION_BF16, .fused_attention = true};
static const struct gpu_params some_gpu = {.bf16_flops = 1e12,
					   .fp32_flops = 1e12,
					   .memory_bandwidth_Bps = 1e11,
					   .memory_efficiency_ratio = 1};
static const struct efficiency_params at_peak = {.peak_ratio = 1};

/* Returns the bytes that the calls of that kind carry in a step of the rank. */
static double called_B(struct arena *arena, const struct plan_step *step, size_t rank,
		       enum call_kind kind)
{
	const struct program *program = plan_program(arena, step, rank);
	double sum_B = 0;
	for (size_t i = 0; i < program->threads[0].count; i++) {
		const struct item *item = &program->threads[0].items[i];
		if (item->kind == ITEM_CALL && item->call.kind == kind)
			sum_B += item->call.payload_B;
	}
	return sum_B;
}

/* Returns the durations of the rank's kernels with that label. */
static double launched_s(struct arena *arena, const struct plan_step *step, size_t rank,
			 const char *label)
{
	const struct call_thread *thread = plan_program(arena, step, rank)->threads;
	double sum_s = 0;
	for (size_t i = 0; i < thread->count; i++)
		if (thread->items[i].kind == ITEM_CALL &&
		    thread->items[i].call.kind == CALL_LAUNCH && thread->items[i].call.label &&
		    strcmp(thread->items[i].call.label, label) == 0)
			sum_s += thread->items[i].call.duration_s;
	return sum_s;
}

/* tp 2, pp 2, dp 2; a step has 2 micro-batches of a sample, in bf16. A GPU of the first stage sends
 * half of 16 x 8 elements for each, and has fp32 gradients of a block and the embedding:
 * half of their matrices, and a norm of 8. Without sequence parallelism it gathers the gradients
 * that it receives; with it, it gathers for four products in a block, twice for the two that split
 * features, and once for the embedding. */
static void a_step_carries_the_bytes_of_the_formulas(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why;
	params.tp_count = params.pp_count = 2;
	params.global_batch_count = 4;
	params.scatter_gather = true;
	for (int sequence = 0; sequence < 2; sequence++) {
		params.sequence_parallel = sequence;
		const struct training_plan *plan =
			plan_new(arena, read_tiny(arena), &params, 8, &why);
		const struct plan_groups groups = plan_groups(arena, plan, false);
		const struct plan_step step = {plan,     &groups, &bf16, &some_gpu,
					       &at_peak, NULL,    NULL};
		double matrices = 8 * 24 + 8 * 8 + 2 * 8 * 32 + 12 * 8;
		double sums_B = sequence ? 0 : 2 * (4 + 1) * 16 * 8 * 2;
		CHECK_NEAR(plan_program(arena, &step, 0)->images_count, 4 / 8.0, 0);
		CHECK_NEAR(called_B(arena, &step, 0, CALL_SEND), 2 * 16 * 8 * 2 / 2.0, 0);
		CHECK_NEAR(called_B(arena, &step, 0, CALL_RECEIVE), 2 * 16 * 8 * 2 / 2.0, 0);
		CHECK_NEAR(called_B(arena, &step, 0, CALL_ALL_REDUCE),
			   sums_B + (matrices / 2 + 8) * 4, 0);
		CHECK_NEAR(called_B(arena, &step, 0, CALL_REDUCE_SCATTER),
			   sequence ? 2 * (4 + 1) * 16 * 8 * 2 : 0, 0);
		CHECK_NEAR(called_B(arena, &step, 0, CALL_ALL_GATHER),
			   2 * (sequence ? 2 * 2 + 2 + 1 : 1) * 16 * 8 * 2, 0);
		/* FP8 gathers one byte for the block of the last stage, and two for the logits. */
		struct stack_params fp8 = bf16;
		fp8.precision = PRECISION_FP8;
		const struct plan_step small = {plan,     &groups, &fp8, &some_gpu,
						&at_peak, NULL,    NULL};
		CHECK_NEAR(called_B(arena, &small, 4, CALL_ALL_GATHER),
			   2 * (sequence ? (2 * 2 + 2) * 1 + 2 * 2 : 2) * 16 * 8, 0);
	}
	/* hybrid sharding: gradients of 4 B, of which each of 4 ranks adds its part to the copy */
	params.tp_count = params.pp_count = 1;
	params.global_batch_count = 8;
	params.sharding = SHARDING_PARAMETERS;
	params.replicas_count = 2;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), &params, 8, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &bf16, &some_gpu, &at_peak, NULL, NULL};
	double all = read_tiny(arena)->parameters_count;
	CHECK_NEAR(called_B(arena, &step, 0, CALL_REDUCE_SCATTER), all * 4, 1e-12);
	CHECK_NEAR(called_B(arena, &step, 0, CALL_ALL_REDUCE), all * 4 / 4, 1e-12);
	/* 2 B of all parameters are gathered forward, and again backward */
	CHECK_NEAR(called_B(arena, &step, 0, CALL_ALL_GATHER), 2 * all * 2, 1e-12);
	CHECK_NEAR(plan_program(arena, &step, 0)->images_count, 8 / 8.0, 0);
	arena_free(arena);
}

/* The first and the last of two stages of GPT-2 add up their fp32 gradients of the matrix of 50257
 * words that embedding and logits share. */
static void stages_add_gradients_of_a_tied_matrix(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *gpt2 =
		network_read(arena, diag, cfg_read(arena, diag, "models/networks/gpt2.cfg"), 0);
	struct plan_params params = one_gpu;
	const char *why;
	params.pp_count = 2;
	const struct training_plan *plan = plan_new(arena, gpt2, &params, 2, &why);
	const struct plan_groups groups = plan_groups(arena, plan, true);
	const struct plan_step step = {plan, &groups, &bf16, &some_gpu, &at_peak, NULL, NULL};
	for (size_t rank = 0; rank < 2; rank++)
		CHECK_NEAR(called_B(arena, &step, rank, CALL_ALL_REDUCE), 50257.0 * 768 * 4, 0);
	arena_free(arena);
}

/* Layers have a million parameters before the blocks, two millions in each of two blocks, and one
 * million behind them. A bucket of three millions is full with the last layer and the second block.
 * The first block and the embedding fill another. Buckets have at least a million parameters for
 * each rank that adds gradients: four millions for two on data times two on context. The first
 * block then fills a bucket with five millions. */
static void a_bucket_with_as_many_gradients_as_its_size_is_full(void)
{
	static const char text[] =
		"network = { name = \"w\"; sequence = 2; vocabulary = 1000; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 1000; },\n"
		"{ name = \"b\"; repeat = 2; layers = (\n"
		"  { name = \"p\"; op = \"linear\"; out = 1000; bias = false; },\n"
		"  { name = \"q\"; op = \"linear\"; out = 1000; bias = false; } ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = 1000; bias = false; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct plan_params params = one_gpu;
	const char *why;
	params.overlap_gradients = true;
	params.bucket_count = 3e6;
	for (int context = 1; context <= 2; context++) {
		const double wanted[2] = {context == 1 ? 3e6 : 5e6, context == 1 ? 3e6 : 1e6};
		params.cp_count = context;
		const struct training_plan *plan = plan_new(
			arena, network_read(arena, diag, cfg_read_text(arena, diag, "w", text), 0),
			&params, 2 * (size_t)context, &why);
		const struct plan_groups groups = plan_groups(arena, plan, false);
		const struct plan_step step = {plan,     &groups, &bf16, &some_gpu,
					       &at_peak, NULL,    NULL};
		const struct program *program = plan_program(arena, &step, 0);
		size_t count = 0;
		for (size_t i = 0; i < program->threads[0].count; i++) {
			const struct item *item = &program->threads[0].items[i];
			if (item->kind != ITEM_CALL || item->call.kind != CALL_ALL_REDUCE)
				continue;
			if (CHECK(count < 2))
				CHECK_NEAR(item->call.payload_B, wanted[count] * 4, 0);
			count++;
		}
		CHECK(count == 2);
	}
	arena_free(arena);
}

/* Only adapters of rank 2 beside products of 8 x 24 and 8 x 8 are trained. */
static void only_trained_parameters_have_gradients(void)
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
	struct plan_params params = one_gpu;
	const char *why;
	const struct network *network =
		network_read(arena, diag, cfg_read_text(arena, diag, "a.cfg", text), 0);
	const struct training_plan *plan = plan_new(arena, network, &params, 2, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &bf16, &some_gpu, &at_peak, NULL, NULL};
	CHECK_NEAR(called_B(arena, &step, 0, CALL_ALL_REDUCE),
		   2 * (8 * 2 + 2 * 24 + 8 * 2 + 2 * 8) * 4, 0);
	arena_free(arena);
}

static size_t library_calls(struct arena *arena, const struct plan_step *step)
{
	const struct call_thread *thread = plan_program(arena, step, 0)->threads;
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++)
		count += thread->items[i].kind == ITEM_CALL &&
			 thread->items[i].call.kind == CALL_LIBRARY;
	return count;
}

/* Each of four products and the attention of two blocks, and the logits, are calls of a library in
 * forward. Backward has two products for each one, and the attention once. */
static void ops_of_libraries_make_their_calls(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	struct stack_params stack = bf16;
	const char *why;
	const size_t ops = (2 * 5 + 1) + (2 * (4 * 2 + 1) + 2);
	stack.calls_per_library_op_count = 2;
	stack.calls_per_launch_count = 1;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), &params, 1, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &stack, &some_gpu, &at_peak, NULL, NULL};
	CHECK(library_calls(arena, &step) == 2 * ops);
	arena_free(arena);
}

/* The program of a rank is the same if it is written from that of another rank of its stage. */
static void programs_of_a_stage_differ_in_communicators_and_peers(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why;
	params.tp_count = params.pp_count = 2;
	params.global_batch_count = 4;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), &params, 8, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &bf16, &some_gpu, &at_peak, NULL, NULL};
	for (size_t rank = 0; rank < 8; rank++) {
		size_t like = rank < 4 ? 0 : 4; /* the first rank of the stage */
		const struct program *first = plan_program(arena, &step, like);
		const struct program *copied = plan_program_like(arena, &step, first, like, rank);
		const struct call_thread *a = copied->threads,
					 *b = plan_program(arena, &step, rank)->threads;
		if (!CHECK(a->count == b->count))
			break;
		for (size_t i = 0; i < a->count; i++) {
			if (!CHECK(a->items[i].kind == b->items[i].kind) ||
			    a->items[i].kind != ITEM_CALL)
				continue;
			CHECK(a->items[i].call.kind == b->items[i].call.kind);
			CHECK(cuda_renamed(copied->renames, &a->items[i].call) ==
			      b->items[i].call.peer);
			CHECK_NEAR(a->items[i].call.payload_B, b->items[i].call.payload_B, 0);
		}
	}
	arena_free(arena);
}

/* User buffers take 5 blocks of the GPU for collectives of tensor groups, and of no other group. */
static void only_tensor_groups_have_user_buffers(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why;
	size_t tensor_count = 0, data_count = 0;
	params.tp_count = 2;
	params.overlap_tensor = OVERLAP_ALL;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), &params, 4, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &bf16, &some_gpu, &at_peak, NULL, NULL};
	const struct call_thread *thread = plan_program(arena, &step, 0)->threads;
	for (size_t i = 0; i < thread->count; i++) {
		const struct cuda_call *call = &thread->items[i].call;
		if (thread->items[i].kind != ITEM_CALL || call->kind < CALL_ALL_REDUCE ||
		    call->kind > CALL_ALL_TO_ALL)
			continue;
		bool tensor = call->peer == groups.of[PLAN_TENSOR][0];
		CHECK(call->tag == (tensor ? 5 : 0));
		*(tensor ? &tensor_count : &data_count) += 1;
	}
	CHECK(tensor_count > 0 && data_count > 0);
	arena_free(arena);
}

/* An update reads the parameter, its gradient and two numbers of the optimiser, and writes all but
 * the gradient: 7 x 2 B at 100 GB/s for each parameter of the stage. Four ranks that share the
 * optimizer's state, two for data and two for context, update a quarter each. */
static void stages_update_each_parameter_once(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const struct network *network = read_tiny(arena);
	struct stack_params adam = bf16;
	const char *why;
	adam.l2_loss = L2_LOSS_NONE;
	params.pp_count = params.micro_batch_count = 2;
	const struct training_plan *plan = plan_new(arena, network, &params, 2, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &adam, &some_gpu, &at_peak, NULL, NULL};
	double sum_s = 0;
	for (size_t rank = 0; rank < 2; rank++)
		sum_s += launched_s(arena, &step, rank, "update");
	CHECK_NEAR(sum_s, 7 * 2 * network->parameters_count / 1e11, 1e-9);
	params.pp_count = params.micro_batch_count = 1;
	params.cp_count = 2;
	params.sharding = SHARDING_OPTIMIZER;
	const struct training_plan *shared = plan_new(arena, network, &params, 4, &why);
	const struct plan_groups four = plan_groups(arena, shared, false);
	const struct plan_step quarter = {shared, &four, &adam, &some_gpu, &at_peak, NULL, NULL};
	CHECK_NEAR(launched_s(arena, &quarter, 0, "update"),
		   7 * 2 * network->parameters_count / 4 / 1e11, 1e-9);
	arena_free(arena);
}

/* Embedding, two blocks and the loss are stages of their own. Full recomputation repeats the
 * forward passes of the blocks only: backward of micro-batch 1 takes longer by its forward pass
 * there. */
static void full_recomputation_repeats_only_blocks(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why;
	double backward_s[2][4], forward_s[4];
	params.pp_count = 4;
	params.embedding_as_block = params.loss_as_block = true;
	for (int full = 0; full < 2; full++) {
		params.recompute = full ? RECOMPUTE_FULL : RECOMPUTE_NONE;
		const struct training_plan *plan =
			plan_new(arena, read_tiny(arena), &params, 4, &why);
		const struct plan_groups groups = plan_groups(arena, plan, false);
		const struct plan_step step = {plan,     &groups, &bf16, &some_gpu,
					       &at_peak, NULL,    NULL};
		for (size_t rank = 0; rank < 4; rank++) {
			forward_s[rank] = launched_s(arena, &step, rank, "F1");
			backward_s[full][rank] = launched_s(arena, &step, rank, "B1");
		}
	}
	for (size_t rank = 0; rank < 4; rank++) {
		bool block = rank == 1 || rank == 2;
		CHECK(forward_s[rank] > 0);
		CHECK_NEAR(backward_s[1][rank], backward_s[0][rank] + (block ? forward_s[rank] : 0),
			   1e-12);
	}
	arena_free(arena);
}

/* A receive of a stage with one chunk waits for the kernels before it. With several chunks it is
 * posted before them. */
static void stages_with_several_chunks_post_receives_early(void)
{
	struct arena *arena = arena_new();
	for (size_t chunks = 1; chunks <= 2; chunks++) {
		struct plan_params params = one_gpu;
		const char *why;
		size_t receives = 0;
		params.pp_count = 2;
		params.chunks_count = (double)chunks;
		params.embedding_as_block = params.loss_as_block = true;
		const struct training_plan *plan =
			plan_new(arena, read_tiny(arena), &params, 2, &why);
		const struct plan_groups groups = plan_groups(arena, plan, false);
		const struct plan_step step = {plan,     &groups, &bf16, &some_gpu,
					       &at_peak, NULL,    NULL};
		const struct call_thread *thread = plan_program(arena, &step, 1)->threads;
		for (size_t i = 1; i < thread->count; i++) {
			const struct cuda_call *call = &thread->items[i].call;
			if (thread->items[i].kind != ITEM_CALL || call->kind != CALL_RECEIVE)
				continue;
			bool waits = call[0].stream == thread->items[i - 1].call.stream &&
				     thread->items[i - 1].call.kind == CALL_STREAM_WAIT_EVENT;
			CHECK(waits == (chunks == 1));
			receives++;
		}
		CHECK(receives >= 2);
	}
	arena_free(arena);
}

/* Stages 0 and 1 of four GPUs with two parts each: GPU 1 sends to GPU 3 and receives from it, in
 * both directions, for each of two micro-batches. Its two parts have three borders with those of
 * GPU 3. */
static void messages_go_round_from_the_last_stage_to_the_first(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why;
	params.pp_count = params.chunks_count = 2;
	params.embedding_as_block = params.loss_as_block = true;
	params.global_batch_count = 4;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), &params, 4, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &bf16, &some_gpu, &at_peak, NULL, NULL};
	for (size_t rank = 1; rank < 4; rank += 2) {
		const struct call_thread *thread = plan_program(arena, &step, rank)->threads;
		size_t counts[2][2] = {{0}};
		for (size_t i = 0; i < thread->count; i++) {
			const struct cuda_call *call = &thread->items[i].call;
			if (thread->items[i].kind != ITEM_CALL ||
			    (call->kind != CALL_SEND && call->kind != CALL_RECEIVE))
				continue;
			CHECK(call->peer == 4 - rank);
			counts[call->kind == CALL_SEND][call->tag]++;
		}
		/* down the parts the first GPU sends twice, and up once */
		CHECK(counts[rank == 1][0] == 2 * 2 && counts[rank != 1][0] == 2);
		CHECK(counts[rank != 1][1] == 2 * 2 && counts[rank == 1][1] == 2);
	}
	arena_free(arena);
}

/* Two GPUs of a tensor group divide queries with keys and values, the attention, both sides of the
 * activation, the logits and their loss. All other layers have all features on each GPU. */
static void tensor_groups_halve_features(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const struct network *network = read_tiny(arena);
	const char *why;
	size_t halved = 0;
	params.tp_count = 2;
	const struct training_plan *plan = plan_new(arena, network, &params, 2, &why);
	for (size_t i = 0; i < network->layer_count; i++) {
		size_t whole = network->layers[i].channels;
		size_t part = plan->shard->network->layers[i].channels;
		CHECK(part == whole || 2 * part == whole);
		halved += 2 * part == whole && whole > 0;
	}
	CHECK(halved == 2 * 4 + 2);
	arena_free(arena);
}

/* Five layers split features: two in each of two blocks, and the logits. Backward gathers the input
 * and scatters its gradient beside the products of each, unless nothing overlaps. */
static void collectives_of_gradients_overlap_by_default(void)
{
	struct arena *arena = arena_new();
	for (int overlap = OVERLAP_NONE; overlap <= OVERLAP_BACKWARD; overlap++) {
		const struct shard_params params = {2, 1,    1, true, (enum tensor_overlap)overlap,
						    1, NULL, 0, false};
		const char *why;
		const struct shard *shard = shard_new(arena, read_tiny(arena), &params, &why);
		size_t beside = 0;
		for (size_t i = 0; i < shard->exchange_count; i++) {
			beside += shard->exchanges[i].beside;
			CHECK(!shard->exchanges[i].beside ||
			      shard->exchanges[i].pass == PASS_BACKWARD);
		}
		CHECK(beside == (overlap == OVERLAP_NONE ? 0 : 5 * 2));
	}
	arena_free(arena);
}

/* The tiny network has two blocks. A layout gives each part its own number of them, and the first
 * and the last part can have none. Others are refused with the reason. */
static void a_layout_gives_each_part_its_blocks(void)
{
	static const struct {
		const char *layout;
		size_t stages, first, second; /* the parts of the blocks */
		const char *why;
	} rows[] = {
		{"E,t*2,L", 1, 0, 0, NULL},
		{"E|t|tL", 3, 1, 2, NULL},
		{"E(t|)*2L", 3, 0, 1, NULL},
		{"Ett|L", 2, 0, 0, NULL},
		{"E|(t)*2L", 2, 1, 1, NULL},
		{"EttL", 2, 0, 0, "it has 1 parts and 2 blocks, but the plan has 2"},
		{"Et|L", 2, 0, 0, "it has 2 parts and 1 blocks, but the plan has 2"},
		{"E||ttL", 3, 0, 0, "a part is empty"},
		{"tt|L", 2, 0, 0, "E, the embedding, must come first"},
		{"EtEtL", 1, 0, 0, "E, the embedding, must come first"},
		{"EtLt", 1, 0, 0, "L, logits and loss, must come last"},
		{"Ett", 1, 0, 0, "does not end with L"},
		{"EttmL", 1, 0, 0, "(m) are not simulated"},
		{"EtxL", 1, 0, 0, "not one of E, t, L and |"},
		{"E(tt", 1, 0, 0, "a parenthesis is not closed"},
		{"Et*0L", 1, 0, 0, "not from 1 to 4096"},
		{"E(t*4096)*4096L", 1, 0, 0, "more than 65536 parts"},
	};
	struct arena *arena = arena_new();
	const struct network *network = read_tiny(arena);
	size_t last = network->layer_count - 1, block = 0;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct plan_params params = one_gpu;
		const char *why = NULL;
		params.pp_count = (double)rows[i].stages;
		params.layout = rows[i].layout;
		const struct training_plan *plan =
			plan_new(arena, network, &params, rows[i].stages, &why);
		CHECK(!plan == !!rows[i].why);
		CHECK(!rows[i].why || (why && strstr(why, rows[i].why)));
		for (size_t k = 1; plan && k <= last; k++) {
			block = network->layers[k].block;
			if (block > 0)
				CHECK(plan->parts[k] == (block == network->layers[2].block
								 ? rows[i].first
								 : rows[i].second));
		}
		CHECK(!plan || (plan->parts[0] == 0 && plan->parts[last] == rows[i].stages - 1));
	}
	struct plan_params params = one_gpu;
	const char *why = NULL;
	params.layout = "EttL";
	params.loss_as_block = true;
	CHECK(!plan_new(arena, network, &params, 1, &why));
	CHECK(strstr(why, "leave out plan.embedding_as_block"));
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(messages_go_round_from_the_last_stage_to_the_first),
	TEST(a_step_carries_the_bytes_of_the_formulas),
	TEST(a_bucket_with_as_many_gradients_as_its_size_is_full),
	TEST(only_trained_parameters_have_gradients),
	TEST(ops_of_libraries_make_their_calls),
	TEST(stages_update_each_parameter_once),
	TEST(tensor_groups_halve_features),
	TEST(only_tensor_groups_have_user_buffers),
	TEST(programs_of_a_stage_differ_in_communicators_and_peers),
	TEST(full_recomputation_repeats_only_blocks),
	TEST(stages_with_several_chunks_post_receives_early),
	TEST(stages_add_gradients_of_a_tied_matrix),
	TEST(collectives_of_gradients_overlap_by_default),
	TEST(a_layout_gives_each_part_its_blocks),
};

int main(void)
{
	return TEST_MAIN(tests);
}
