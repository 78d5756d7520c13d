/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory and the kernel times of model servers. The expected numbers are derived by hand from
 * the published shapes of the networks. On a GPU whose arithmetic takes no time an iteration takes
 * the time of its bytes. The test must run from the root folder. */
#include "tests/served_model.h"

/* Returns Mixtral with this number of experts, below 10. */
static const struct network *with_experts(int experts, size_t tokens)
{
	struct diag *diag = diag_new(arena);
	char text[4096] = "";
	FILE *in = fopen(path_of("mixtral-8x7b"), "r");
	CHECK(in && fread(text, 1, sizeof text - 1, in) > 0);
	fclose(in);
	strstr(text, "experts = 8")[10] = (char)('0' + experts);
	return network_from(cfg_read_text(arena, diag, "few.cfg", text), diag, tokens);
}

static struct serving_model *model_from(const struct network *network,
					const struct network *one_token)
{
	struct serving_model_spec spec = {.network = network,
					  .one_token = one_token,
					  .stack = &stack,
					  .gpu = &gpu,
					  .efficiency = &by_law,
					  .rows_max = 64,
					  .sequences_max = 8,
					  .time_ratios = {1, 1}};
	struct serving_model *model = serving_model_new(arena, &spec);
	static const struct overhead none;
	serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
	return model;
}

static struct serving_model *model_of(const char *name)
{
	return model_from(network_of(name, 64), network_of(name, 1));
}

static struct serving_model *model_with_experts(int experts)
{
	return model_from(with_experts(experts, 64), with_experts(experts, 1));
}

/* Returns Llama 3 8B with the draft, the adapters or the spread of the spec. */
static struct serving_model *llama_with(struct serving_model_spec spec)
{
	static const struct overhead none;
	spec.network = network_of("llama3-8b", 64);
	spec.one_token = network_of("llama3-8b", 1);
	spec.stack = &stack;
	spec.gpu = &gpu;
	spec.efficiency = &by_law;
	spec.rows_max = 64;
	spec.sequences_max = 8;
	spec.time_ratios[0] = spec.time_ratios[1] = 1;
	struct serving_model *model = serving_model_new(arena, &spec);
	serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
	return model;
}

/* With requests spread over four GPUs, an iteration takes the time of a quarter of its rows,
 * rounded up, of its sequences and of its keys. */
static void an_iteration_is_spread_over_the_gpus_of_a_replica(void)
{
	struct serving_model *spread = llama_with((struct serving_model_spec){.spread = 4});
	struct iteration all = {.rows = 21,
				.sequences = 6,
				.decode_rows = 4,
				.decode_keys = {400, 400},
				.prompt_rows = 17,
				.prompt_keys = {17, 17},
				.prompt_pairs = {153, 153}};
	struct iteration part = {.rows = 6,
				 .sequences = 2,
				 .decode_rows = 1,
				 .decode_keys = {100, 100},
				 .prompt_rows = 4.25,
				 .prompt_keys = {4.25, 4.25},
				 .prompt_pairs = {38.25, 38.25}};
	CHECK_NEAR(iteration_B(spread, all), iteration_B(model_of("llama3-8b"), part), 1e-12);
	/* two requests are on two of the GPUs, with 3 drafted tokens each */
	all = (struct iteration){.rows = 8,
				 .sequences = 8,
				 .decode_rows = 2,
				 .drafted = 6,
				 .decode_keys = {200, 200}};
	part = (struct iteration){.rows = 2,
				  .sequences = 2,
				  .decode_rows = 1,
				  .drafted = 3,
				  .decode_keys = {100, 100}};
	CHECK_NEAR(iteration_B(spread, all), iteration_B(model_of("llama3-8b"), part), 1e-12);
}

/* The draft network processes the prompt once. Then it has an iteration for each of 3 drafted
 * tokens, with a row for each of the two requests that check them. */
static void a_draft_network_runs_once_for_each_drafted_token(void)
{
	struct serving_model *draft = model_of("mixtral-8x7b");
	struct serving_model *both =
		llama_with((struct serving_model_spec){.draft = draft, .draft_count = 3});
	const struct iteration all = {.rows = 13,
				      .sequences = 8,
				      .decode_rows = 2,
				      .drafted = 6,
				      .decode_keys = {200, 200},
				      .prompt_rows = 5,
				      .prompt_keys = {5, 5},
				      .prompt_pairs = {15, 15}};
	const struct iteration prompt = {
		.rows = 5, .prompt_rows = 5, .prompt_keys = {5, 5}, .prompt_pairs = {15, 15}};
	const struct iteration token = {
		.rows = 2, .sequences = 2, .decode_rows = 2, .decode_keys = {200, 200}};
	CHECK_NEAR(iteration_B(both, all),
		   iteration_B(model_of("llama3-8b"), all) + iteration_B(draft, prompt) +
			   3 * iteration_B(draft, token),
		   1e-12);
}

/* The four products of each of 32 blocks have 4,096 + 4,096 + 4,096 + 14,336 inputs and 6,144 +
 * 4,096 + 28,672 + 4,096 outputs. Two adapters of rank 8 have 8 numbers of 2 B for each input and
 * output. Two requests use 2 (1 - 1 / 4) = 1.5 of them on average. Each has 4 rows, 3 of them
 * drafted. A row is read, becomes 8 numbers, which are read again, and is added to the output. */
static void adapters_read_their_ranks_and_the_rows(void)
{
	const double in = 32 * (3 * 4096.0 + 14336), out = 32 * (2 * 4096.0 + 6144 + 28672);
	const struct iteration it = {.rows = 8,
				     .sequences = 8,
				     .decode_rows = 2,
				     .drafted = 6,
				     .decode_keys = {200, 200}};
	struct serving_model *plain = model_of("llama3-8b");
	struct serving_model *adapted =
		llama_with((struct serving_model_spec){.adapters = 2, .lora = 8});
	CHECK_NEAR(serving_model_memory_B(adapted) - serving_model_memory_B(plain),
		   2 * 2 * 8 * (in + out), 1e-9);
	CHECK_NEAR(iteration_B(adapted, it) - iteration_B(plain, it),
		   2 * (8 * (in + 2 * out + 2 * 128 * 8) + 1.5 * 8 * (in + out)), 1e-9);
}

/* Two layers of latent attention with ranks of 512 and 64 have 2 x 576 x 2 B, on one GPU and on
 * each of four. A recurrent layer has no bytes of a token, but 256 x 16 x 2 B of each of 8
 * sequences, and reads and writes its state for each generated token. */
static void cache_of_latent_attention_is_not_split(void)
{
	static const char format[] =
		"network = { name = \"small\"; sequence = 64; vocabulary = 100; source = "
		"\"made\";\n"
		"layers = ({ name = \"embed\"; op = \"embedding\"; out = 256; },\n"
		"{ name = \"block\"; repeat = 2; layers = ({ name = \"attn\"; op = "
		"\"latent_attention\";"
		"heads = 8; head_size = 192; kv_rank = 512; rope = 64; value_size = 128; causal = "
		"true; });"
		"},\n%s{ name = \"logits\"; op = \"linear\"; out = 100; },\n"
		"{ name = \"loss\"; op = \"cross_entropy\"; });};";
	static const char state[] =
		"{ name = \"state\"; op = \"recurrent\"; in = 512; hidden = 256; "
		"state = 16; weights = 5; },\n";
	const struct network *networks[2], *one[2];
	struct serving_model *models[2];
	for (int i = 0; i < 2; i++) {
		struct diag *diag = diag_new(arena);
		const struct cfg_node *file = cfg_read_text(
			arena, diag, "small.cfg", arena_printf(arena, format, i ? state : ""));
		networks[i] = network_from(file, diag, 64);
		one[i] = network_from(file, diag, 1);
		models[i] = model_from(networks[i], one[i]);
		CHECK_NEAR(serving_model_token_B(models[i]), 2 * 576 * 2, 1e-12);
	}
	const char *why;
	const struct shard_params params = {4, 1,    1, false, OVERLAP_NONE, 1, "case.tensor",
					    0, false};
	const struct shard *shard = shard_new(arena, one[0], &params, &why);
	CHECK(shard &&
	      serving_model_token_B(model_from(networks[0], shard->network)) == 2 * 576 * 2);
	/* weights of `in`, the core and `out`; and in memory the state of 8 sequences */
	double weights = 256 * 512 + 256 * 5 + 256 * 256;
	CHECK_NEAR(serving_model_memory_B(models[1]) - serving_model_memory_B(models[0]),
		   2 * weights + 8 * 256 * 16 * 2, 1e-12);
	const struct iteration token = {
		.rows = 1, .sequences = 1, .decode_rows = 1, .decode_keys = {10, 10}};
	double state_B = 2 * 2 * 256 * 16, passed_B = 2 * (256 + 512 + 512 + 256 + 256 + 256);
	CHECK_NEAR(iteration_B(models[1], token) - iteration_B(models[0], token),
		   2 * weights + state_B + passed_B, 1e-9);
	/* the token has queries and outputs of 8 x (576 + 512), and reads 10 x 576 cached numbers
	 */
	const struct iteration later = {
		.rows = 1, .sequences = 1, .decode_rows = 1, .decode_keys = {15, 15}};
	CHECK_NEAR(iteration_B(models[0], later) - iteration_B(models[0], token), 2 * 5 * 576 * 2,
		   1e-9);
}

/* Keys and values of 2 B: Llama 3 8B has 32 layers with 8 heads of 128, as Mixtral; gpt-oss 20B has
 * 24 layers with 8 heads of 64, half of them with a window of 128 tokens. */
static void cache_of_a_token_has_keys_and_values_of_all_layers(void)
{
	CHECK(serving_model_token_B(model_of("llama3-8b")) == 2 * 32 * 8 * 128 * 2);
	CHECK(serving_model_token_B(model_of("mixtral-8x7b")) == 2 * 32 * 8 * 128 * 2);
	CHECK(serving_model_token_B(model_of("gpt-oss-20b")) == 2 * 24 * 8 * 64 * 2);
	CHECK(serving_model_window(model_of("llama3-8b")) == 0);
	CHECK(serving_model_window(model_of("gpt-oss-20b")) == 128);
}

/* BERT has logits of its vocabulary, too, but its attention sees the tokens behind. */
static void only_causal_networks_with_logits_generate(void)
{
	CHECK(network_generates(network_of("llama3-8b", 64)));
	CHECK(network_generates(network_of("gpt2", 64)));
	CHECK(!network_generates(network_of("bert-base-all-logits", 64)));
	CHECK(!network_generates(network_of("resnet50", 0)));
}

/* Weights of 8.03e9 x 2 B, input and output of the widest layer (2 x 14,336 numbers of 64 rows),
 * and logits of 8 sequences as numbers and as probabilities in fp32. */
static void memory_is_weights_activations_and_logits(void)
{
	const double weights_count =
		2 * 128256.0 * 4096 +
		32 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3 * 4096.0 * 14336 + 2 * 4096) +
		4096;
	CHECK_NEAR(serving_model_memory_B(model_of("llama3-8b")),
		   2 * weights_count + 2 * 64 * (2 * 14336.0) * 2 + 8 * 8 * 128256.0 + 1e6, 1e-12);
}

/* Products in the 32 blocks of Llama 3 8B have 32 x 218,103,808 weights. In FP8 each takes 1 B in
 * place of 2 B, and in int4 0.5 B with its part of a scale. Keys and values in FP8 take half of the
 * bytes. */
static void weights_and_keys_have_types_of_their_own(void)
{
	const struct network *network = network_of("llama3-8b", 0);
	const struct network *one_token = network_of("llama3-8b", 1);
	const double weights = 32 * 218103808.0;
	struct serving_model_spec spec = {.network = network,
					  .one_token = one_token,
					  .stack = &stack,
					  .gpu = &gpu,
					  .efficiency = &by_law,
					  .rows_max = 64,
					  .sequences_max = 8,
					  .time_ratios = {1, 1}};
	const struct serving_model *wide = serving_model_new(arena, &spec);
	double wide_B = serving_model_memory_B(wide);
	spec.weights = SERVE_FP8;
	spec.kv = SERVE_FP8;
	const struct serving_model *eight = serving_model_new(arena, &spec);
	CHECK_NEAR(wide_B - serving_model_memory_B(eight), weights, 1e-6 * weights);
	CHECK_NEAR(serving_model_token_B(eight), serving_model_token_B(wide) / 2, 0);
	spec.weights = SERVE_INT4;
	const struct serving_model *four = serving_model_new(arena, &spec);
	CHECK_NEAR(wide_B - serving_model_memory_B(four), weights * (2 - number_type_B(NUMBER_FP4)),
		   1e-6 * weights);
	CHECK_NEAR(serving_model_token_B(four), serving_model_token_B(wide) / 2, 0);
}

/* One token reads all weights but the embedding's table, of which it needs a row; activations add
 * less than 1 %. A sequence reads the head's matrix, and a token without a sequence does not. */
static void a_token_reads_the_weights_once(void)
{
	const double blocks_B =
		2 * 32 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3 * 4096.0 * 14336);
	const double head_B = 2 * 128256.0 * 4096;
	struct serving_model *model = model_of("llama3-8b");
	double body_B = iteration_B(model, (struct iteration){.rows = 1});
	CHECK(body_B > blocks_B && body_B < 1.01 * blocks_B);
	double both_B = iteration_B(model, (struct iteration){.rows = 1, .sequences = 1});
	/* input and logits in 2 B, and four passes that read and write logits in 4 B */
	CHECK_NEAR(both_B - body_B, head_B + 2 * (4096 + 128256.0) + 4 * 8 * 128256.0, 1e-6);
}

/* A generated token reads keys and values of its context in 32 layers, and its query and result of
 * 32 heads of 128. Its own keys and values are read in 4 B each and written in 2 B. */
static void attention_reads_the_context(void)
{
	struct serving_model *model = model_of("llama3-8b");
	double without_B = iteration_B(model, (struct iteration){.rows = 1});
	struct iteration it = {.rows = 1, .decode_rows = 1, .decode_keys = {1000, 1000}};
	CHECK_NEAR(iteration_B(model, it) - without_B,
		   (1000 + 3) * serving_model_token_B(model) + 32 * 2 * 32 * 128 * 2.0, 1e-6);
	struct iteration prompt = {.rows = 1,
				   .prompt_rows = 10,
				   .prompt_keys = {500, 500},
				   .prompt_pairs = {4000, 4000}};
	CHECK_NEAR(iteration_B(model, prompt) - without_B,
		   (500 + 30) * serving_model_token_B(model) + 10 * 32 * 2 * 32 * 128 * 2.0, 1e-6);
}

/* Layers with a window read fewer keys: 12 of 24 layers of gpt-oss 20B read 128, the others
 * 1,000, and all write their own. */
static void layers_with_a_window_read_only_it(void)
{
	struct serving_model *model = model_of("gpt-oss-20b");
	double without_B = iteration_B(model, (struct iteration){.rows = 1});
	struct iteration it = {.rows = 1, .decode_rows = 1, .decode_keys = {1000, 128}};
	CHECK_NEAR(iteration_B(model, it) - without_B,
		   (1000 + 128 + 6) * serving_model_token_B(model) / 2 + 24 * 2 * 64 * 64 * 2.0,
		   1e-6);
}

/* Mixtral's token needs 2 of 8 experts of 3 x 4,096 x 14,336 numbers in each of 32 layers. An
 * expert is unused by 4 tokens with the probability (3/4)^4 = 0.316, and by 16 with 0.01. */
static void few_tokens_read_few_experts(void)
{
	const double expert_B = 2 * 32 * 3 * 4096.0 * 14336;
	const double other_B = 2 * 32 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096);
	struct serving_model *model = model_of("mixtral-8x7b");
	double one_B = iteration_B(model, (struct iteration){.rows = 1});
	double four_B = iteration_B(model, (struct iteration){.rows = 4});
	double more_B = iteration_B(model, (struct iteration){.rows = 16});
	CHECK(one_B > 2 * expert_B + other_B && one_B < 1.01 * (2 * expert_B + other_B));
	const double four = 8 * (1 - 0.75 * 0.75 * 0.75 * 0.75) * expert_B + other_B;
	CHECK(four_B > four && four_B < 1.01 * four);
	const double more = 8 * (1 - 0.0100226) * expert_B + other_B;
	CHECK(more_B > more && more_B < 1.03 * more);
}

/* With 4 or 5 experts, two tokens that choose two each at random need 3 or 3.2. Sixteen need all of
 * them, and read each one once. */
static void many_tokens_read_each_expert_once(void)
{
	const double expert_B = 2 * 32 * 3 * 4096.0 * 14336;
	const double other_B = 2 * 32 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096);
	for (int experts = 4; experts <= 5; experts++) {
		struct serving_model *model = model_with_experts(experts);
		double one_B = iteration_B(model, (struct iteration){.rows = 1});
		double two_B = iteration_B(model, (struct iteration){.rows = 2});
		double many_B = iteration_B(model, (struct iteration){.rows = 16});
		double all_B = experts * expert_B + other_B;
		CHECK(one_B > 2 * expert_B + other_B && one_B < 1.01 * (2 * expert_B + other_B));
		double two = (4 - 4.0 / experts) * expert_B + other_B;
		CHECK(two_B > two && two_B < 1.01 * two);
		CHECK(many_B > 0.999 * all_B && many_B < 1.03 * all_B);
	}
}

/* Batches of 1 and 2 requests have a CUDA graph, and powers of two up to 8. Others take the
 * overhead of iterations without a graph, which is 1 ms more here. */
static void batches_of_other_sizes_have_no_cuda_graph(void)
{
	static const struct overhead graph = {.at = {1}, .overhead_s = {0}, .count = 1};
	static const struct overhead calls = {.at = {1}, .overhead_s = {1e-3}, .count = 1};
	static const bool has[17] = {[1] = true, [2] = true, [4] = true, [8] = true};
	struct serving_model_spec spec = {.network = network_of("llama3-8b", 64),
					  .one_token = network_of("llama3-8b", 1),
					  .stack = &stack,
					  .gpu = &gpu,
					  .efficiency = &by_law,
					  .rows_max = 64,
					  .sequences_max = 64,
					  .graph_sizes = 2,
					  .graph_most = 8,
					  .time_ratios = {1, 1}};
	struct serving_model *model = serving_model_new(arena, &spec);
	serving_model_overhead_set(model, (const struct overhead *[]){&graph, &calls});
	for (int n = 1; n <= 16; n++) {
		struct iteration it = {.rows = n,
				       .sequences = n,
				       .decode_rows = n,
				       .decode_keys = {100 * n, 100 * n}};
		CHECK(serving_model_time(model, &it).overhead_s == (has[n] ? 0 : 1e-3));
	}
}

static double one_ms(void *ctx, enum shard_group group, enum collective collective, double size_B)
{
	double *sums = ctx;
	sums[collective == COLLECTIVE_ALL_GATHER] += size_B;
	return 1e-3;
}

/* Two GPUs with Llama 3 8B add up 3 rows of 4,096 numbers of 2 B behind the embedding, and twice in
 * each of 32 layers. Then they gather the logits of one sequence. The overhead is interpolated at
 * the time of kernels and sums: with prompts it is here twice that time, and otherwise as long. */
static void two_gpus_add_up_and_gather(void)
{
	double sums_B[2] = {0};
	const char *why = NULL;
	const struct shard_params params = {.tensor_count = 2,
					    .context_count = 1,
					    .expert_count = 1,
					    .imbalance_ratio = 1,
					    .tensor_key = "case.tensor"};
	const struct shard *shard = shard_new(arena, network_of("llama3-8b", 1), &params, &why);
	if (!CHECK(shard != NULL))
		return;
	const struct serving_model_spec spec = {.network = network_of("llama3-8b", 64),
						.one_token = shard->network,
						.stack = &stack,
						.gpu = &gpu,
						.efficiency = &by_law,
						.rows_max = 8,
						.sequences_max = 8,
						.time_ratios = {1, 1},
						.shard = shard,
						.collective_s = one_ms,
						.ctx = sums_B};
	struct serving_model *model = serving_model_new(arena, &spec);
	static const struct overhead once = {{0, 10}, {0, 10}, 2}, twice = {{0, 10}, {0, 20}, 2};
	serving_model_overhead_set(model, (const struct overhead *[]){&once, &twice});
	struct iteration it = {.rows = 3, .sequences = 1};
	struct iteration_time time = serving_model_time(model, &it);
	CHECK_NEAR(time.exchange_s, 66e-3, 1e-12);
	CHECK(sums_B[0] == 65 * 3 * 4096 * 2 && sums_B[1] == 128256 * 2);
	CHECK_NEAR(time.overhead_s, time.kernel_s + time.exchange_s, 1e-9);
	it.prompt_rows = 2;
	time = serving_model_time(model, &it);
	CHECK_NEAR(time.overhead_s, 2 * (time.kernel_s + time.exchange_s), 1e-9);
	CHECK(serving_model_token_B(model) == 2 * 32 * 4 * 128 * 2);
}

/* The model error scales all times of an iteration. Overhead of a batch depends on its rows: it is
 * constant before the first and behind the last known batch, and linear between. */
static void times_have_the_factor_of_the_model_error(void)
{
	static const struct overhead table = {{2, 4, 8}, {1, 3, 5}, 3};
	static const double rows[] = {1, 2, 3, 4, 6, 8, 9}, overheads[] = {1, 1, 2, 3, 4, 5, 5};
	struct iteration_time times[2];
	for (int twice = 0; twice < 2; twice++) {
		struct serving_model_spec spec = {.network = network_of("resnet50", 0),
						  .stack = &stack,
						  .gpu = &gpu,
						  .efficiency = &by_law,
						  .rows_max = 9,
						  .time_ratios = {1 + twice, 1 + twice}};
		struct serving_model *model = serving_model_new(arena, &spec);
		serving_model_overhead_set(model, (const struct overhead *[]){&table, &table});
		for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			struct iteration it = {.rows = rows[i]};
			times[twice] = serving_model_time(model, &it);
			CHECK_NEAR(times[twice].overhead_s, (1 + twice) * overheads[i], 1e-12);
		}
	}
	CHECK_NEAR(times[1].kernel_s, 2 * times[0].kernel_s, 1e-12);
}

/* Attention of 4,000 pairs of tokens does 4 operations for each pair in each of 128 features of 32
 * heads in 32 layers. It computes in 16 bits, also if products compute in 8. */
static void attention_computes_in_16_bits(void)
{
	for (int fp8 = 0; fp8 < 2; fp8++) {
		struct gpu_params fast = gpu;
		struct stack_params own = stack;
		fast.memory_bandwidth_Bps = 1e30;
		fast.bf16_flops = 1e15;
		fast.fp8_flops = 2e15;
		own.precision = fp8 ? PRECISION_FP8 : PRECISION_BF16;
		const struct serving_model_spec spec = {.network = network_of("llama3-8b", 64),
							.one_token = network_of("llama3-8b", 1),
							.stack = &own,
							.gpu = &fast,
							.efficiency = &by_law,
							.rows_max = 8,
							.sequences_max = 8,
							.time_ratios = {1, 1}};
		struct serving_model *model = serving_model_new(arena, &spec);
		static const struct overhead none;
		serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
		struct iteration it = {.rows = 1};
		double without_s = serving_model_time(model, &it).kernel_s;
		it.prompt_rows = 10;
		it.prompt_pairs[0] = 4000;
		CHECK_NEAR(serving_model_time(model, &it).kernel_s - without_s,
			   4 * 4000 * 128 * 32 * 32.0 / 1e15, 1e-6);
	}
}

static const struct network *tiny(const char *dropout, size_t tokens)
{
	struct diag *diag = diag_new(arena);
	const char *text =
		arena_printf(arena,
			     "network = { name = \"tiny\"; sequence = 64; vocabulary = 100; source "
			     "= \"a test\"; "
			     "layers = ( { name = \"embed\"; op = \"embedding\"; out = 64; }, %s"
			     "{ name = \"attn\"; op = \"attention\"; heads = 2; causal = true; }, "
			     "{ name = \"logits\"; op = \"linear\"; tied = \"embed\"; }, "
			     "{ name = \"loss\"; op = \"cross_entropy\"; } ); };",
			     dropout);
	return network_from(cfg_read_text(arena, diag, "tiny.cfg", text), diag, tokens);
}

static void a_server_drops_no_features(void)
{
	static const char *const texts[] = {"", "{ name = \"drop\"; op = \"dropout\"; }, "};
	double bytes_B[2];
	for (size_t i = 0; i < 2; i++)
		bytes_B[i] = iteration_B(model_from(tiny(texts[i], 64), tiny(texts[i], 1)),
					 (struct iteration){.rows = 8, .sequences = 1});
	CHECK(bytes_B[0] > 0 && bytes_B[1] == bytes_B[0]);
}

/* Returns the memory that a GPU does not need if there are several stages. */
static double freed_B(const char *name, int stages)
{
	double sizes_B[2];
	for (int split = 0; split < 2; split++) {
		const struct serving_model_spec spec = {.network = network_of(name, 64),
							.one_token = network_of(name, 1),
							.stack = &stack,
							.gpu = &gpu,
							.efficiency = &by_law,
							.stages = split ? stages : 1};
		sizes_B[split] = serving_model_memory_B(serving_model_new(arena, &spec));
	}
	return sizes_B[0] - sizes_B[1];
}

/* The largest of 2 or 5 stages has 6 or 3 of 12 blocks and the head, which is also the embedding of
 * GPT-2. Llama 3 has its embedding of 128,256 x 4,096 numbers on the other stage. */
static void a_stage_lacks_blocks_and_an_embedding_apart_from_the_head(void)
{
	for (int own = 3; own <= 6; own += 3)
		CHECK_NEAR(freed_B("gpt2", own == 3 ? 5 : 2), 2 * (12 - own) * 7087872.0, 1e-9);
	CHECK_NEAR(freed_B("llama3-8b", 2),
		   2 * 4096.0 * (16 * (2 * 4096 + 2 * 1024 + 3 * 14336 + 2) + 128256), 1e-9);
}

/* Returns the bytes that a recurrent layer adds to an iteration of prompts with this number of
 * tokens in all. The product into it and out of it have one row in each of these iterations. */
static double recurrent_B(double tokens, double prompts)
{
	static const char *const texts[] = {"", "{ name = \"scan\"; op = \"recurrent\"; in = 128; "
						"hidden = 32; state = 16; weights = 4; }, "};
	const struct iteration it = {
		.rows = 1,
		.prompt_rows = tokens,
		.prompt_keys = {tokens, tokens},
		.prompt_pairs = {tokens * tokens / prompts / 2, tokens * tokens / prompts / 2}};
	return iteration_B(model_from(tiny(texts[1], 64), tiny(texts[1], 1)), it) -
	       iteration_B(model_from(tiny(texts[0], 64), tiny(texts[0], 1)), it);
}

/* A token moves 128 + 32 numbers of 2 B. Each prompt, and each 128 tokens, read and write the state
 * of 32 x 16 numbers. */
static void a_scan_moves_its_state_for_each_prompt_and_each_128_tokens(void)
{
	const double state_B = 2 * 2 * 32 * 16.0;
	CHECK_NEAR(recurrent_B(256, 1) - recurrent_B(128, 1), 128 * 160 * 2.0 + state_B, 1e-6);
	CHECK_NEAR(recurrent_B(256, 2) - recurrent_B(256, 1), state_B, 1e-6);
}

static const struct test tests[] = {
	TEST(a_scan_moves_its_state_for_each_prompt_and_each_128_tokens),
	TEST(a_stage_lacks_blocks_and_an_embedding_apart_from_the_head),
	TEST(an_iteration_is_spread_over_the_gpus_of_a_replica),
	TEST(a_draft_network_runs_once_for_each_drafted_token),
	TEST(adapters_read_their_ranks_and_the_rows),
	TEST(attention_computes_in_16_bits),
	TEST(a_server_drops_no_features),
	TEST(times_have_the_factor_of_the_model_error),
	TEST(cache_of_a_token_has_keys_and_values_of_all_layers),
	TEST(cache_of_latent_attention_is_not_split),
	TEST(only_causal_networks_with_logits_generate),
	TEST(memory_is_weights_activations_and_logits),
	TEST(weights_and_keys_have_types_of_their_own),
	TEST(a_token_reads_the_weights_once),
	TEST(attention_reads_the_context),
	TEST(layers_with_a_window_read_only_it),
	TEST(few_tokens_read_few_experts),
	TEST(many_tokens_read_each_expert_once),
	TEST(batches_of_other_sizes_have_no_cuda_graph),
	TEST(two_gpus_add_up_and_gather),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
