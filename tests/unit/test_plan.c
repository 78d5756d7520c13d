/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans: schedules have the bubbles of their papers, shards and groups are those that can be
 * counted by hand, impossible plans are refused. */
#include <stdlib.h>

#include "tests/test.h"
#include "tests/tiny_plan.h"

/* ---- schedules: time of all stages if messages take no time ---- */

enum { STAGES_MAX = 8, MICRO_MAX = 64, CHUNKS_MAX = 4, PASSES = 3 };

struct played { /* end of each pass; 0: not yet */
	int end[PASSES][MICRO_MAX][STAGES_MAX * CHUNKS_MAX];
};

/* Returns when the pass of virtual stage `part` may begin, or -1 if an earlier pass is missing. */
static int ready(const struct played *p, const struct slot *slot, size_t part, size_t parts)
{
	int own = p->end[SLOT_FORWARD][slot->micro][part];
	if (slot->kind == SLOT_FORWARD)
		return part == 0 ? 0
		       : p->end[SLOT_FORWARD][slot->micro][part - 1] == 0
			       ? -1
			       : p->end[SLOT_FORWARD][slot->micro][part - 1];
	if (slot->kind == SLOT_WEIGHTS)
		own = p->end[SLOT_BACKWARD][slot->micro][part];
	else if (part + 1 < parts)
		own = p->end[SLOT_BACKWARD][slot->micro][part + 1];
	return own == 0 ? -1 : own;
}

/* Returns the time of a step in which a forward pass through a chunk takes 1, gradients of
 * activations 1 and gradients of weights 1. -1: the schedule waits for itself. */
static int makespan(const char *name, size_t stages, size_t chunks, size_t micro)
{
	const struct pipeline_schedule *schedule = pipeline_schedule_find(name);
	const struct pipeline_shape shape = {stages, chunks, micro};
	struct arena *arena = arena_new();
	struct played *played = ARENA_NEW(arena, struct played);
	struct slots slots[STAGES_MAX] = {0};
	size_t next[STAGES_MAX] = {0}, left = 0;
	int free[STAGES_MAX] = {0}, last = 0;
	bool moved = true;
	for (size_t s = 0; s < stages; s++) {
		schedule->write(schedule, arena, &shape, s, &slots[s]);
		left += slots[s].count;
	}
	CHECK(left == stages * chunks * micro * (schedule->splits_backward ? 3 : 2));
	while (moved) {
		moved = false;
		for (size_t s = 0; s < stages; s++) {
			while (next[s] < slots[s].count) {
				const struct slot *slot = &slots[s].items[next[s]];
				size_t part = slot->chunk * stages + s;
				int begin = ready(played, slot, part, stages * chunks);
				if (begin < 0)
					break;
				if (begin < free[s])
					begin = free[s];
				bool both =
					slot->kind == SLOT_BACKWARD && !schedule->splits_backward;
				free[s] = begin + (both ? 2 : 1);
				played->end[slot->kind][slot->micro][part] = free[s];
				last = free[s] > last ? free[s] : last;
				next[s]++;
				left--;
				moved = true;
			}
		}
	}
	arena_free(arena);
	return left == 0 ? last : -1;
}

/* Each stage works for 3 m; the bubble is (p - 1) forward and backward passes. */
static void gpipe_and_1f1b_have_a_bubble_of_p_minus_1_passes(void)
{
	for (int p = 1; p <= STAGES_MAX; p++)
		for (int m = 1; m <= 16; m++) {
			CHECK(makespan("gpipe", (size_t)p, 1, (size_t)m) == 3 * (m + p - 1));
			CHECK(makespan("1f1b", (size_t)p, 1, (size_t)m) == 3 * (m + p - 1));
		}
}

/* A pass through a chunk takes 1 and the bubble is (p - 1) of them, while the work is v times as
 * much: the bubble is (p - 1) / (v m) of the work. */
static void interleaving_divides_the_bubble_by_the_chunks(void)
{
	for (int p = 2; p <= STAGES_MAX; p++)
		for (int v = 2; v <= CHUNKS_MAX; v++)
			for (int rounds = 1; rounds <= 3; rounds++)
				CHECK(makespan("interleaved", (size_t)p, (size_t)v,
					       (size_t)(p * rounds)) ==
				      3 * (p * rounds * v + p - 1));
}

/* Qi et al., table 2: the bubble of ZB-H1 is (p - 1) (TF + TB - TW), that of 1F1B
 * (p - 1) (TF + TB + TW). */
static void zb_h1_fills_two_thirds_of_the_bubble(void)
{
	for (int p = 2; p <= STAGES_MAX; p++)
		for (int m = 2 * p; m <= 20; m++)
			CHECK(makespan("zb-h1", (size_t)p, 1, (size_t)m) == 3 * m + p - 1);
}

/* Megatron-LM runs all forward passes first if there are as many micro-batches as stages. */
static void interleaving_warms_up_with_all_passes_of_a_single_round(void)
{
	struct arena *arena = arena_new();
	const struct pipeline_schedule *schedule = pipeline_schedule_find("interleaved");
	const struct pipeline_shape shape = {2, 2, 2};
	for (size_t stage = 0; stage < 2; stage++) {
		struct slots slots = {0};
		schedule->write(schedule, arena, &shape, stage, &slots);
		if (CHECK(slots.count == 8))
			for (size_t i = 0; i < 8; i++)
				CHECK(slots.items[i].kind ==
				      (i < 4 ? SLOT_FORWARD : SLOT_BACKWARD));
	}
	arena_free(arena);
}

static void schedules_refuse_impossible_shapes(void)
{
	struct arena *arena = arena_new();
	const struct pipeline_shape two = {4, 2, 8}, uneven = {4, 2, 6}, one = {4, 1, 8};
	CHECK(pipeline_schedule_find("1f1b")->refuse(arena, &two) != NULL);
	CHECK(pipeline_schedule_find("gpipe")->refuse(arena, &two) != NULL);
	CHECK(pipeline_schedule_find("zb-h1")->refuse(arena, &two) != NULL);
	CHECK(pipeline_schedule_find("interleaved")->refuse(arena, &two) == NULL);
	CHECK(pipeline_schedule_find("interleaved")->refuse(arena, &uneven) != NULL);
	CHECK(pipeline_schedule_find("interleaved")->refuse(arena, &one) != NULL);
	arena_free(arena);
}

/* ---- plans ---- */

/* The embedding and the logits are matrices of 12 x 8. A block has matrices of 8 x 24, 8 x 8,
 * 8 x 32 and 32 x 8. All are split in two. The norm of 8 is whole. */
static void tensor_parallelism_splits_matrices_but_not_norms(void)
{
	struct arena *arena = arena_new();
	const char *why;
	const struct shard_params two = {2, 1, 1, false, OVERLAP_NONE, 1, NULL, 0, false};
	const struct shard *shard = shard_new(arena, read_tiny(arena), &two, &why);
	double matrices = 2 * 12 * 8 + 2 * (8 * 24 + 8 * 8 + 2 * 8 * 32);
	CHECK_NEAR(shard->network->parameters_count, matrices / 2 + 2 * 8, 0);
	arena_free(arena);
}

/* Attention has products of 8 x 24, by columns, and 8 x 8, by rows, with adapters of rank 2. The
 * first matrix of the first adapter, 8 x 2, feeds its second one, so it is whole, and the second
 * one of 2 x 24 is split for the heads. The other adapter reads split heads, so its first matrix is
 * split by rows, and the norm behind needs its second one whole. */
static void tensor_parallelism_leaves_the_first_matrix_of_an_adapter_whole(void)
{
	static const char text[] =
		"network = { name = \"a\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"a\"; op = \"attention\"; heads = 4; causal = true; bias = false;\n"
		"  lora = 2; },\n"
		"{ name = \"n\"; op = \"layer_norm\"; bias = false; },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; bias = false; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *whole =
		network_read(arena, diag, cfg_read_text(arena, diag, "a.cfg", text), 0);
	const char *why;
	const struct shard_params two = {2, 1, 1, false, OVERLAP_NONE, 1, NULL, 0, false};
	CHECK_NEAR(shard_new(arena, whole, &two, &why)->network->parameters_count,
		   (12 * 8 + 8 * 24 + 8 * 8 + 8 * 12) / 2 + 8 /* norm */ + (8 * 2 + 2 * 24 / 2) +
			   (8 * 2 / 2 + 2 * 8),
		   0);
	arena_free(arena);
}

/* Returns the elements of a kind of collective on the group, in both passes. */
static double exchanged(const struct shard *shard, enum shard_group group,
			enum collective collective)
{
	double sum = 0;
	for (size_t i = 0; i < shard->exchange_count; i++)
		if (shard->exchanges[i].group == group &&
		    shard->exchanges[i].collective == collective)
			sum += shard->exchanges[i].elements_count;
	return sum;
}

/* Each block reduces 16 x 8 elements twice forward and twice backward, the embedding once forward,
 * the logits once backward, and the loss three fp32 numbers of each token. */
static void tensor_parallelism_reduces_four_times_in_each_block(void)
{
	struct arena *arena = arena_new();
	const char *why;
	const struct shard_params plain = {2, 1, 1, false, OVERLAP_ALL, 1, NULL, 0, false},
				  split = {2, 1, 1, true, OVERLAP_ALL, 1, NULL, 0, false};
	const struct shard *a = shard_new(arena, read_tiny(arena), &plain, &why);
	const struct shard *b = shard_new(arena, read_tiny(arena), &split, &why);
	double size = 16 * 8, loss = 3 * 2 * 16;
	CHECK_NEAR(exchanged(a, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE), (2 * 4 + 2) * size + loss, 0);
	/* a reduce-scatter for each all-reduce, and a gather; backward gathers inputs again */
	CHECK_NEAR(exchanged(b, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE), loss, 0);
	CHECK_NEAR(exchanged(b, SHARD_TENSOR, COLLECTIVE_REDUCE_SCATTER), (2 * 4 + 2) * size, 0);
	CHECK_NEAR(exchanged(b, SHARD_TENSOR, COLLECTIVE_ALL_GATHER),
		   (2 * 4 + 2) * size + (2 * 2 + 1) * size, 0);
	arena_free(arena);
}

/* Context parallelism gathers the keys and values of all tokens in each of two blocks, forward and
 * backward, and scatters their gradients. */
static void context_parallelism_gathers_keys_and_values(void)
{
	struct arena *arena = arena_new();
	const char *why;
	const struct shard_params four = {1, 4, 1, true, OVERLAP_ALL, 1, NULL, 0, false};
	const struct network *whole = read_tiny(arena);
	const struct shard *shard = shard_new(arena, whole, &four, &why);
	double kv = 2 * 16 * 8;
	for (size_t i = 0; i < shard->exchange_count; i++) /* all run beside the attention */
		CHECK(shard->exchanges[i].beside);
	CHECK_NEAR(exchanged(shard, SHARD_CONTEXT, COLLECTIVE_ALL_GATHER), 2 * 2 * kv, 0);
	CHECK_NEAR(exchanged(shard, SHARD_CONTEXT, COLLECTIVE_REDUCE_SCATTER), 2 * kv, 0);
	CHECK_NEAR(shard->network->macs_count, whole->macs_count / 4, 1e-12);
	CHECK_NEAR(shard->network->parameters_count, whole->parameters_count, 0);
	arena_free(arena);
}

/* Two context groups have 8 of 16 tokens each, so the two GPUs of a tensor group add up half of the
 * elements. Each of these GPUs has half of the heads, and gathers their keys and values of all
 * tokens. */
static void tensor_and_context_groups_divide_features_and_tokens(void)
{
	struct arena *arena = arena_new();
	const char *why;
	const struct shard_params both = {2, 2, 1, false, OVERLAP_ALL, 1, NULL, 0, false};
	const struct network *whole = read_tiny(arena);
	const struct shard *shard = shard_new(arena, whole, &both, &why);
	double size = 8 * 8, loss = 3 * 2 * 8, kv = 2 * 16 * 8 / 2;
	CHECK_NEAR(exchanged(shard, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE), (2 * 4 + 2) * size + loss,
		   0);
	CHECK_NEAR(exchanged(shard, SHARD_CONTEXT, COLLECTIVE_ALL_GATHER), 2 * 2 * kv, 0);
	CHECK_NEAR(exchanged(shard, SHARD_CONTEXT, COLLECTIVE_REDUCE_SCATTER), 2 * kv, 0);
	CHECK_NEAR(shard->network->macs_count, whole->macs_count / 4, 1e-12);
	arena_free(arena);
}

/* 16 tokens that each use 2 of 4 experts are 32 rows of 8 features. Forward sends them to their
 * experts and back, backward does so with their gradients. Each of 2 GPUs holds 2 experts. Each GPU
 * of a tensor group of 2 sends the rows of half of the tokens. */
static void experts_exchange_their_rows_four_times(void)
{
	static const char text[] =
		"network = { name = \"m\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 1; layers = (\n"
		"  { name = \"x\"; op = \"experts\"; experts = 4; top = 2; hidden = 6; } ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *whole =
		network_read(arena, diag, cfg_read_text(arena, diag, "m.cfg", text), 0);
	const char *why = NULL;
	const struct shard_params two = {1, 1, 2, false, OVERLAP_NONE, 1, NULL, 0, false};
	const struct shard_params split = {2, 1, 2, true, OVERLAP_NONE, 1, NULL, 0, false};
	const struct shard_params three = {1, 1, 3, false, OVERLAP_NONE, 1, NULL, 0, false};
	const struct shard *shard = shard_new(arena, whole, &two, &why);
	CHECK_NEAR(exchanged(shard, SHARD_EXPERT, COLLECTIVE_ALL_TO_ALL), 4 * 16 * 2 * 8, 0);
	shard = shard_new(arena, whole, &split, &why);
	CHECK_NEAR(exchanged(shard, SHARD_EXPERT, COLLECTIVE_ALL_TO_ALL), 4 * 16 * 2 * 8 / 2, 0);
	CHECK(!shard_new(arena, whole, &three, &why));
	CHECK_TEXT(why, "4 experts are not divisible by ep (3): write plan.ep=2");
	arena_free(arena);
}

static void groups_of_experts_need_experts(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why = NULL;
	params.ep_count = 2;
	CHECK(!plan_new(arena, read_tiny(arena), &params, 8, &why));
	CHECK_TEXT(why, "plan.ep splits experts, but network 'tiny' has none (write plan.ep=1)");
	arena_free(arena);
}

/* 8 GPUs, tp 2, pp 2, so dp 2, in the order tp-cp-dp-pp: ranks 0 to 3 are the first stage. */
static void ranks_and_groups_follow_the_order(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why;
	params.tp_count = params.pp_count = 2;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), &params, 8, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	CHECK(plan_index(plan, 5, AXIS_TENSOR) == 1 && plan_index(plan, 5, AXIS_DATA) == 0 &&
	      plan_index(plan, 5, AXIS_PIPELINE) == 1);
	CHECK(plan_neighbour(plan, 5, AXIS_DATA, 1) == 7);
	CHECK(groups.count == 4 + 4); /* tensor and data */
	const struct program_group *tensor = &groups.groups[groups.of[PLAN_TENSOR][6] - 1];
	const struct program_group *data = &groups.groups[groups.of[PLAN_DATA][6] - 1];
	CHECK(tensor->count == 2 && tensor->members[0] == 6 && tensor->members[1] == 7);
	CHECK(data->count == 2 && data->members[0] == 4 && data->members[1] == 6);
	CHECK(groups.of[PLAN_CONTEXT][0] == 0 && groups.of[PLAN_EXPERT][0] == 0);
	params.order = "dp-tp-cp-pp";
	plan = plan_new(arena, read_tiny(arena), &params, 8, &why);
	CHECK(plan_index(plan, 5, AXIS_TENSOR) == 0 && plan_index(plan, 5, AXIS_DATA) == 1);
	arena_free(arena);
}

/* Two replicas of 8 data-parallel ranks: ranks 0 to 3 and 4 to 7 share out, and rank 5 adds its
 * gradients to those of rank 1. */
static void replicas_divide_a_data_parallel_group(void)
{
	struct arena *arena = arena_new();
	struct plan_params params = one_gpu;
	const char *why;
	params.replicas_count = 2;
	CHECK(!plan_new(arena, read_tiny(arena), &params, 8, &why));
	CHECK(strstr(why, "share nothing (write plan.sharding=parameters"));
	params.sharding = SHARDING_PARAMETERS;
	const struct training_plan *plan = plan_new(arena, read_tiny(arena), &params, 8, &why);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	CHECK(plan_sharers(plan) == 4 && groups.count == 2 + 4);
	const struct program_group *data = &groups.groups[groups.of[PLAN_DATA][5] - 1];
	const struct program_group *replicas = &groups.groups[groups.of[PLAN_REPLICAS][5] - 1];
	CHECK(data->count == 4 && data->members[0] == 4 && data->members[3] == 7);
	CHECK(replicas->count == 2 && replicas->members[0] == 1 && replicas->members[1] == 5);
	params.replicas_count = 3;
	CHECK(!plan_new(arena, read_tiny(arena), &params, 8, &why));
	CHECK_TEXT(why, "8 data-parallel ranks are not divisible by replicas (3): write "
			"plan.replicas=2");
	arena_free(arena);
}

/* Each impossible plan is refused with the reason and the nearest number that is possible. */
static void impossible_plans_are_refused_with_a_possible_number(void)
{
	static const struct {
		double tp, pp, chunks, batch, gpus;
		const char *why;
	} rows[] = {
		{3, 1, 1, 0, 8,
		 "8 GPUs are not divisible by tp (3): write plan.tp=2; "
		 "16 tokens of a GPU are not divisible by tp (3): write plan.tp=2"},
		{8, 1, 1, 0, 8, "4 heads are not divisible by tp (8): write plan.tp=4"},
		{1, 4, 1, 0, 8,
		 "2 blocks of the network are not divisible by pp (4): write plan.pp=2; "
		 "embedding and loss can take the places of the two missing blocks: write "
		 "plan.embedding_as_block=true and plan.loss_as_block=true"},
		{1, 1, 3, 0, 8,
		 "2 blocks of a stage are not divisible by chunks (3): write "
		 "plan.chunks=2; the loss can take the place of the missing block: write "
		 "plan.loss_as_block=true"},
		{1, 1, 1, 12, 8,
		 "a batch of 12 samples is not divisible by dp (8) x micro_batch (1): "
		 "write plan.global_batch=8"},
		{1, 1, 1, 4, 8,
		 "a batch of 4 samples is not divisible by dp (8) x micro_batch (1): "
		 "write plan.global_batch=8"},
	};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct plan_params params = one_gpu;
		const char *why = NULL;
		params.tp_count = rows[i].tp;
		params.pp_count = rows[i].pp;
		params.chunks_count = rows[i].chunks;
		params.global_batch_count = rows[i].batch;
		CHECK(!plan_new(arena, read_tiny(arena), &params, (size_t)rows[i].gpus, &why));
		CHECK_TEXT(why, rows[i].why);
	}
	/* The loss has its place already, so it cannot take that of a missing block. */
	struct plan_params params = one_gpu;
	const char *why = NULL;
	params.pp_count = 5;
	params.loss_as_block = true;
	CHECK(!plan_new(arena, read_tiny(arena), &params, 5, &why));
	CHECK_TEXT(why, "3 blocks of the network are not divisible by pp (5): write plan.pp=3");
	arena_free(arena);
}

/* On 8 GPUs a ring of a group has 7 rounds. FSDP gathers four units (two blocks, the embedding and
 * the logits) twice and reduces them, ZeRO 1 and 2 gather one chunk and reduce one bucket. Each GPU
 * sends a message in each round, which leaves and arrives. */
static void plans_with_too_many_messages_are_refused(void)
{
	static const double rounds[] = {0, 2 * 7, 2 * 7, 4 * 3 * 7};
	struct arena *arena = arena_new();
	for (int sharding = 0; sharding < 4; sharding++) {
		struct plan_params params = one_gpu;
		const char *why;
		params.sharding = sharding;
		const struct training_plan *plan =
			plan_new(arena, read_tiny(arena), &params, 8, &why);
		double events = 8 * rounds[sharding] * 2;
		CHECK(!plan_too_large(arena, plan, 8, events));
		if (sharding > 0)
			CHECK_PART(plan_too_large(arena, plan, 8, events - 1),
				   arena_printf(arena, "send %.3g messages", events / 2));
	}
	arena_free(arena);
}

/* 13 words on two GPUs are padded to 14. The bias of a product that is split by columns is split,
 * and that of one split by rows is whole: 24 and 8 behind attention, 32 and 8 behind the MLP. */
static void vocabularies_are_padded_and_biases_of_sums_are_whole(void)
{
	static const char text[] =
		"network = { name = \"o\"; sequence = 16; vocabulary = 13; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 1; layers = (\n"
		"  { name = \"n\"; op = \"rms_norm\"; },\n"
		"  { name = \"a\"; op = \"attention\"; heads = 4; causal = true; bias = true; },\n"
		"  { name = \"s\"; op = \"add\"; from = [\"b\", \"a\"]; },\n"
		"  { name = \"m\"; op = \"mlp\"; hidden = 32; activation = \"gelu\"; bias = true; "
		"} ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = 13; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct network *whole =
		network_read(arena, diag, cfg_read_text(arena, diag, "o.cfg", text), 0);
	const char *why;
	const struct shard_params two = {2, 1, 1, false, OVERLAP_NONE, 1, NULL, 0, false};
	const struct network *part = shard_new(arena, whole, &two, &why)->network;
	const struct layer *logits = &part->layers[part->layer_count - 2];
	CHECK(logits->op == LAYER_LINEAR && logits->parts[0] == 7 && logits->channels == 7);
	double matrices = 2 * 13 * 8 + 8 * 24 + 8 * 8 + 2 * 8 * 32;
	CHECK_NEAR(part->parameters_count, matrices / 2 + 8 + (24 + 32) / 2 + 8 + 8, 0);
	arena_free(arena);
}

/* Without activations that count, memory is that of parameters: on 8 GPUs ZeRO 1 shares the
 * optimizer's 12 B of each parameter, ZeRO 2 the 4 B of gradients, too. */
static void sharding_divides_what_it_says(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_tiny(arena);
	struct plan_params params = one_gpu;
	const struct stack_params stack = {
		.optimiser_copies_count = 2, .precision = PRECISION_BF16, .fused_attention = true};
	double memory_B[3], count = network->parameters_count;
	for (int i = 0; i < 3; i++) {
		const char *why;
		params.sharding = i;
		memory_B[i] = plan_memory_B(plan_new(arena, network, &params, 8, &why), &stack, 0);
	}
	CHECK_NEAR(memory_B[0] - memory_B[1], count * 12 * 7 / 8, 1e-12);
	CHECK_NEAR(memory_B[1] - memory_B[2], count * 4 * 7 / 8, 1e-12);
	const char *why;
	params.sharding = SHARDING_OPTIMIZER;
	params.replicas_count = 2; /* shared by 4 in place of 8 */
	double copied_B = plan_memory_B(plan_new(arena, network, &params, 8, &why), &stack, 0);
	CHECK_NEAR(copied_B - memory_B[1], count * 12 / 8, 1e-12);
	arena_free(arena);
}

/* Each token multiplies matrices of 8 x 24, 8 x 8, 8 x 32 and 32 x 8 in each of two blocks, and one
 * of 8 x 12. Each block multiplies 16 x 16 pairs of tokens by 8 features twice, although the mask
 * excludes half of them. */
static void model_flop_is_three_forward_passes_with_whole_attention(void)
{
	struct arena *arena = arena_new();
	double block = 16 * (8 * 24 + 8 * 8 + 2 * 8 * 32), attention = 2 * 16 * 16 * 8;
	CHECK_NEAR(network_model_flop(read_tiny(arena), false),
		   3 * 2 * (2 * (block + attention) + 16 * 8 * 12), 0);
	arena_free(arena);
}

/* Full recomputation repeats the blocks. With an early end it leaves out their last product, whose
 * output no backward pass reads. Selective recomputation repeats attention. */
static void recomputed_flop_is_that_of_the_repeated_layers(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_tiny(arena);
	const struct stack_params stack = {.precision = PRECISION_BF16};
	struct plan_params params = one_gpu;
	double attention = 2 * 16 * 16 * 8, last = 16 * 32 * 8;
	double block = 16 * (8 * 24 + 8 * 8 + 2 * 8 * 32) + attention;
	const char *why;
	const struct training_plan *plan = plan_new(arena, network, &params, 1, &why);
	CHECK_NEAR(plan_recomputed_flop(plan, network, &stack), 0, 0);
	params.recompute = RECOMPUTE_FULL;
	CHECK_NEAR(plan_recomputed_flop(plan, network, &stack), 2 * 2 * block, 0);
	params.early_stop = true;
	CHECK_NEAR(plan_recomputed_flop(plan, network, &stack), 2 * 2 * (block - last), 0);
	params.recompute = RECOMPUTE_SELECTIVE;
	CHECK_NEAR(plan_recomputed_flop(plan, network, &stack), 2 * 2 * attention, 0);
	/* one kernel keeps no scores that could be computed again */
	const struct stack_params fused = {.precision = PRECISION_BF16, .fused_attention = true};
	CHECK_NEAR(plan_recomputed_flop(plan, network, &fused), 0, 0);
	arena_free(arena);
}

/* The names are Megatron-LM's. Each of the two blocks has one norm. */
static void modules_name_what_is_computed_again(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_tiny(arena);
	const struct stack_params fused = {.precision = PRECISION_BF16, .fused_attention = true};
	struct plan_params params = one_gpu;
	size_t norms = 0;
	const char *why;
	params.recompute = RECOMPUTE_SELECTIVE;
	params.recompute_modules = "layernorm+moe_act";
	const struct training_plan *plan = plan_new(arena, network, &params, 1, &why);
	for (size_t i = 0; i < network->layer_count; i++) {
		bool again = plan_recomputes(plan, network, &fused, i);
		enum layer_op op = network->layers[i].op;
		CHECK(!again || (op == LAYER_LAYER_NORM && network->layers[i].block > 0));
		norms += again;
	}
	CHECK(norms == 2);
	params.recompute_modules = "layernorm+mlp";
	CHECK(!plan_new(arena, network, &params, 1, &why) && strstr(why, "'mlp' is unknown"));
	params.recompute_modules = "layer";
	CHECK(!plan_new(arena, network, &params, 1, &why) && strstr(why, "'layer' is unknown"));
	arena_free(arena);
}

/* With embedding and loss as a block each, 2 blocks fill 4 parts: each part has one of them. */
static void embedding_and_loss_take_the_place_of_blocks(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_tiny(arena);
	struct plan_params params = one_gpu;
	const char *why;
	params.pp_count = 2;
	params.chunks_count = 2;
	CHECK(!plan_new(arena, network, &params, 2, &why));
	params.embedding_as_block = params.loss_as_block = true;
	const struct training_plan *plan = plan_new(arena, network, &params, 2, &why);
	CHECK(plan != NULL);
	for (size_t i = 1; plan && i < network->layer_count; i++) {
		size_t part = network->layers[i].block > 0 ? 1 : 0;
		part += part > 0 && network->layers[i].block != network->layers[2].block;
		if (network->layers[i].op == LAYER_LINEAR && network->layers[i].block == 0)
			part = 3;
		if (network->layers[i].op == LAYER_CROSS_ENTROPY)
			part = 3;
		CHECK(plan->parts[i] == part);
	}
	arena_free(arena);
}

/* User buffers send a quarter of the sums of a product behind it, and the rest beside it. */
static void user_buffers_leave_a_quarter_of_sums_behind_the_product(void)
{
	struct arena *arena = arena_new();
	const char *why;
	const struct shard_params split = {2, 1, 1, true, OVERLAP_ALL, 1, NULL, 0, false};
	const struct shard *shard = shard_new(arena, read_tiny(arena), &split, &why);
	double beside = 0, behind = 0;
	for (size_t i = 0; i < shard->exchange_count; i++)
		if (shard->exchanges[i].collective == COLLECTIVE_REDUCE_SCATTER &&
		    shard->exchanges[i].pass == PASS_FORWARD &&
		    shard->network->layers[shard->exchanges[i].layer].op == LAYER_LINEAR)
			*(shard->exchanges[i].beside ? &beside : &behind) +=
				shard->exchanges[i].elements_count;
	CHECK_NEAR(beside, 2 * 2 * 16 * 8 * 0.75, 0);
	CHECK_NEAR(behind, 2 * 2 * 16 * 8 * 0.25, 0);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(gpipe_and_1f1b_have_a_bubble_of_p_minus_1_passes),
	TEST(interleaving_divides_the_bubble_by_the_chunks),
	TEST(zb_h1_fills_two_thirds_of_the_bubble),
	TEST(schedules_refuse_impossible_shapes),
	TEST(tensor_parallelism_splits_matrices_but_not_norms),
	TEST(tensor_parallelism_leaves_the_first_matrix_of_an_adapter_whole),
	TEST(tensor_parallelism_reduces_four_times_in_each_block),
	TEST(context_parallelism_gathers_keys_and_values),
	TEST(tensor_and_context_groups_divide_features_and_tokens),
	TEST(experts_exchange_their_rows_four_times),
	TEST(groups_of_experts_need_experts),
	TEST(ranks_and_groups_follow_the_order),
	TEST(replicas_divide_a_data_parallel_group),
	TEST(impossible_plans_are_refused_with_a_possible_number),
	TEST(plans_with_too_many_messages_are_refused),
	TEST(vocabularies_are_padded_and_biases_of_sums_are_whole),
	TEST(sharding_divides_what_it_says),
	TEST(embedding_and_loss_take_the_place_of_blocks),
	TEST(user_buffers_leave_a_quarter_of_sums_behind_the_product),
	TEST(model_flop_is_three_forward_passes_with_whole_attention),
	TEST(recomputed_flop_is_that_of_the_repeated_layers),
	TEST(modules_name_what_is_computed_again),
	TEST(interleaving_warms_up_with_all_passes_of_a_single_round),
};

int main(void)
{
	return TEST_MAIN(tests);
}
