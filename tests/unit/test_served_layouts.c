/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of one GPU of a model server whose experts are shared by groups of GPUs. The expected
 * numbers are derived by hand from the shapes of Mixtral: 8 experts of 4,096 x 14,336 numbers in
 * three matrices, of which a token uses 2; 32 heads and 8 heads of keys and values of 128 numbers.
 * The test must run from the root folder. */
#include "tests/served_model.h"

static const double EXPERT = 3 * 4096.0 * 14336;

static const struct shard *shard_of(struct shard_params params)
{
	const char *why = NULL;
	params.context_count = 1;
	params.imbalance_ratio = 1;
	params.tensor_key = "case.tensor";
	const struct shard *shard = shard_new(arena, network_of("mixtral-8x7b", 1), &params, &why);
	CHECK(shard && !why);
	return shard;
}

/* Returns the numbers of the experts of a layer. */
static double experts_of(const struct shard *shard)
{
	double sum = 0;
	for (size_t i = 0; i < shard->network->layer_count; i++) {
		const struct layer *layer = &shard->network->layers[i];
		for (size_t k = 0;
		     layer->op == LAYER_LINEAR && layer->experts > 0 && k < layer->tensor_count;
		     k++)
			sum += layer->tensors[k] / 32;
	}
	return sum;
}

static const struct layer *first_of(const struct shard *shard, enum layer_op op)
{
	const struct layer *layer = shard->network->layers;
	while (layer->op != op)
		layer++;
	return layer;
}

/* Returns the elements of all forward collectives of this kind in a group, and their number. */
static double exchanged(const struct shard *shard, enum shard_group group,
			enum collective collective, size_t *count)
{
	double sum = 0;
	*count = 0;
	for (size_t i = 0; i < shard->exchange_count; i++) {
		const struct shard_exchange *own = &shard->exchanges[i];
		if (own->pass != PASS_FORWARD || own->group != group ||
		    own->collective != collective)
			continue;
		sum += own->elements_count;
		++*count;
	}
	return sum;
}

/* Two groups of two GPUs have two experts each. Each GPU gets the rows of both groups, 2 x 2 rows
 * of experts for a token of each, of which its two experts have a quarter. The two groups gather 2
 * x 4,096 numbers in each of 32 layers, scatter as many, and each group then gathers its 4,096. */
static void groups_gather_all_rows_and_scatter_the_sums(void)
{
	size_t count;
	const struct shard *shard = shard_of((struct shard_params){
		.tensor_count = 2, .expert_count = 4, .data_count = 2, .gathers = true});
	CHECK_NEAR(experts_of(shard), 2 * EXPERT, 1e-12);
	CHECK_NEAR(tokens_of(first_of(shard, LAYER_DISPATCH)), 1, 1e-12);
	CHECK_NEAR(tokens_of(first_of(shard, LAYER_COMBINE)), 2, 1e-12);
	CHECK_NEAR(exchanged(shard, SHARD_EXPERT, COLLECTIVE_ALL_GATHER, &count), 32 * 8192.0, 0);
	CHECK(count == 32);
	CHECK_NEAR(exchanged(shard, SHARD_EXPERT, COLLECTIVE_REDUCE_SCATTER, &count), 32 * 8192.0,
		   0);
	CHECK_NEAR(exchanged(shard, SHARD_TENSOR, COLLECTIVE_ALL_GATHER, &count), 32 * 4096.0, 0);
	/* behind the embedding and behind attention; the logits and the loss come later */
	exchanged(shard, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE, &count);
	CHECK(count >= 33 && count < 64);
}

/* The same GPUs with two parts of the experts: each GPU has half of the features of four experts,
 * which is as much. They have half of the rows. */
static void parts_of_experts_are_split_by_features(void)
{
	const struct shard *shard = shard_of((struct shard_params){
		.tensor_count = 2, .expert_count = 2, .data_count = 2, .gathers = true});
	CHECK_NEAR(experts_of(shard), 2 * EXPERT, 1e-12);
	CHECK_NEAR(tokens_of(first_of(shard, LAYER_DISPATCH)), 2, 1e-12);
	const struct layer *gate_up = first_of(shard, LAYER_DISPATCH) + 1;
	CHECK(gate_up->experts == 4 && gate_up->channels == 14336);
}

/* One group of four GPUs: experts are whole, all rows are there, and the sums are added up. */
static void one_group_adds_up_the_sums_of_whole_experts(void)
{
	size_t whole, split;
	const struct shard *shard =
		shard_of((struct shard_params){.tensor_count = 4, .expert_count = 4});
	const struct shard *other =
		shard_of((struct shard_params){.tensor_count = 4, .expert_count = 1});
	CHECK_NEAR(experts_of(shard), 2 * EXPERT, 1e-12);
	CHECK_NEAR(experts_of(other), 2 * EXPERT, 1e-12);
	CHECK_NEAR(tokens_of(first_of(shard, LAYER_DISPATCH)), 0.5, 1e-12);
	CHECK_NEAR(tokens_of(first_of(other, LAYER_DISPATCH)), 2, 1e-12);
	CHECK(exchanged(shard, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE, &whole) ==
	      exchanged(other, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE, &split));
	CHECK(whole == split && whole > 64);
	exchanged(shard, SHARD_EXPERT, COLLECTIVE_ALL_TO_ALL, &whole);
	CHECK(whole == 0);
}

/* With all-to-alls each GPU of a group of two sends half of the two rows of a token. */
static void each_gpu_of_a_group_sends_its_part_of_the_rows(void)
{
	size_t count;
	const struct shard *shard = shard_of(
		(struct shard_params){.tensor_count = 2, .expert_count = 4, .data_count = 2});
	CHECK_NEAR(exchanged(shard, SHARD_EXPERT, COLLECTIVE_ALL_TO_ALL, &count), 64 * 4096.0, 0);
	CHECK(count == 64);
	CHECK_NEAR(exchanged(shard, SHARD_TENSOR, COLLECTIVE_ALL_GATHER, &count), 32 * 4096.0, 0);
}

/* Sixteen GPUs share 8 heads of keys and values, so each has one, and two of 32 heads of queries:
 * (2 + 1 + 1) x 128 features. */
static void heads_of_keys_are_copied_for_more_gpus(void)
{
	const struct shard *shard =
		shard_of((struct shard_params){.tensor_count = 16, .expert_count = 1});
	const struct layer *attention = first_of(shard, LAYER_ATTENTION);
	CHECK(attention->attention.heads == 2 && attention->attention.kv_heads == 1);
	const struct layer *product = first_of(shard, LAYER_LINEAR);
	CHECK(product->parts[0] == 256 && product->parts[1] == 128 && product->parts[2] == 128);
	CHECK(product->channels == 512);
	CHECK_NEAR(product->tensors[0] + product->tensors[1] + product->tensors[2], 4096 * 512.0,
		   1e-12);
}

/* Each of four groups of one GPU has a row, and each GPU two of eight experts. Eight rows of
 * experts, two on each GPU, already read both of them, so more rows of a group read only
 * activations. */
static void a_gpu_reads_no_more_experts_than_it_has(void)
{
	const struct shard *shard = shard_of((struct shard_params){
		.tensor_count = 1, .expert_count = 4, .data_count = 4, .gathers = true});
	struct serving_model_spec spec = {.network = network_of("mixtral-8x7b", 64),
					  .one_token = shard->network,
					  .stack = &stack,
					  .gpu = &gpu,
					  .efficiency = &by_law,
					  .rows_max = 64,
					  .sequences_max = 8,
					  .time_ratios = {1, 1}};
	struct serving_model *model = serving_model_new(arena, &spec);
	static const struct overhead none;
	serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
	double one_B = iteration_B(model, (struct iteration){.rows = 1});
	double four_B = iteration_B(model, (struct iteration){.rows = 4});
	double experts_B = 2 * 32 * 2 * EXPERT;
	CHECK(one_B > experts_B && one_B < 1.15 * experts_B);
	CHECK(four_B > one_B && four_B < 1.01 * one_B);
}

static const struct test tests[] = {
	TEST(groups_gather_all_rows_and_scatter_the_sums),
	TEST(parts_of_experts_are_split_by_features),
	TEST(one_group_adds_up_the_sums_of_whole_experts),
	TEST(each_gpu_of_a_group_sends_its_part_of_the_rows),
	TEST(heads_of_keys_are_copied_for_more_gpus),
	TEST(a_gpu_reads_no_more_experts_than_it_has),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
