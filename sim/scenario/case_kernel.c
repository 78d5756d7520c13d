/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a single kernel, which replaces the program of a case (case.kernel). Its program launches
 * the kernel and waits, and its step time is the time of the kernel on the GPU alone
 * (sim/predict/point.c). */
#include "sim/scenario/case.h"

/* Bytes that are read and written for each element that is quantised from 16 bits, with a scale
 * that is known. */
static const double QUANTISE_B = 2 + 1;

/* The longest kernel of a case. A run ends at 2e6 s of simulated time. */
#define LONGEST_S 1e5

struct kernel_case {
	int form, type; /* enum kernel_choice, enum number_type */
	double m_count, n_count, k_count, products_count, copies_count;
	bool quantise, plain;
	double sequences_count, queries_count, keys_count;
	double heads_count, kv_heads_count, head_size_count, value_size_count, window_count;
	int cache_type;
	bool causal, latent;
	double size_B;
	double tokens_count, hidden_count, inner_count, top_count, experts_count;
	double expert_parallel_count, tensor_parallel_count, exponent_count;
	int distribution, library, weights; /* enum experts_distribution, library, weights_type */
	bool blocks;
};

enum kernel_choice { FORM_PRODUCT, FORM_ATTENTION, FORM_PASS, FORM_EXPERTS };
enum library { LIBRARY_VLLM, LIBRARY_VLLM_0_14 };
static const char *const forms[] = {"product", "attention", "pass", "experts", NULL};
static const char *const types[] = {"fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4", NULL};
static const char *const distributions[] = {"uniform", "power", "benchmark", "packed", NULL};
static const char *const libraries[] = {"vllm", "vllm-0.14", NULL};
static const char *const weights[] = {"same", "int4", "mxfp4", NULL};

#define COUNT(field, preset, help) PARAM_WHOLE(struct kernel_case, field, 1, 1e9, preset, help)
/* The parentheses at the end of a help name the kernels that have the key. */
static const struct param_row kernel_rows[] = {
	PARAM_CHOICE(struct kernel_case, form, forms, "product",
		     "kernel: a product of matrices, fused attention, a pass over memory, or all "
		     "kernels of a layer of fused experts"),
	PARAM_CHOICE(struct kernel_case, type, types, "bf16",
		     "type of the numbers that the kernel multiplies"),
	COUNT(m_count, "4096", "m, the rows of the first matrix and of the result (product)"),
	COUNT(n_count, "4096", "n, the columns of the second matrix and of the result (product)"),
	COUNT(k_count, "4096", "k, the columns of the first matrix (product)"),
	COUNT(products_count, "1", "number of equal products in one kernel (product)"),
	COUNT(copies_count, "1",
	      "second matrices that the benchmark uses in turn; what fits into the L2 cache "
	      "(gpu.*.cache) is read from there (product)"),
	PARAM_BOOL(struct kernel_case, quantise, "false",
		   "whether a kernel before it quantises the first matrix from 16 bits (product)"),
	PARAM_BOOL(struct kernel_case, plain, "false",
		   "whether the library has CUTLASS's usual tiles only and never splits k, as "
		   "vLLM's FP8 kernels (product)"),
	COUNT(sequences_count, "1", "number of sequences (attention)"),
	COUNT(queries_count, "1024", "new tokens of each sequence (attention)"),
	PARAM_WHOLE(struct kernel_case, keys_count, 0, 1e9, "0",
		    "tokens of each sequence with keys and values, the new ones included; 0 means "
		    "as many as queries (attention)"),
	COUNT(heads_count, "32", "number of heads (attention)"),
	PARAM_WHOLE(struct kernel_case, kv_heads_count, 0, 1e6, "0",
		    "number of heads of keys and values; 0 means as many as heads (attention)"),
	COUNT(head_size_count, "128", "features of a query and of a key of a head (attention)"),
	PARAM_WHOLE(struct kernel_case, value_size_count, 0, 1e9, "0",
		    "features of a value of a head; 0 means as many as of a key (attention)"),
	PARAM_WHOLE(struct kernel_case, window_count, 0, 1e9, "0",
		    "tokens that each token sees, itself included; 0 means all (attention)"),
	PARAM_CHOICE(struct kernel_case, cache_type, types, "bf16",
		     "type of keys and values (attention)"),
	PARAM_BOOL(struct kernel_case, causal, "true",
		   "whether a token does not see later ones (attention)"),
	PARAM_BOOL(struct kernel_case, latent, "false",
		   "whether a value is the first features of its key, so the cache has it once, as "
		   "in latent attention with absorbed projections (attention)"),
	COUNT(tokens_count, "1024", "number of tokens (experts)"),
	COUNT(hidden_count, "4096", "features of a token (experts)"),
	COUNT(inner_count, "14336", "inner features of an expert on all GPUs (experts)"),
	PARAM_WHOLE(struct kernel_case, top_count, 1, 64, "2", "experts of each token (experts)"),
	PARAM_WHOLE(struct kernel_case, experts_count, 1, 1024, "8", "number of experts (experts)"),
	PARAM_WHOLE(struct kernel_case, expert_parallel_count, 1, 1024, "1",
		    "GPUs among which the experts are distributed; this is the one with most rows "
		    "(experts)"),
	PARAM_WHOLE(struct kernel_case, tensor_parallel_count, 1, 1024, "1",
		    "GPUs that share each expert's inner features (experts)"),
	PARAM_CHOICE(struct kernel_case, distribution, distributions, "uniform",
		     "rows of the experts: equal, or by popularities from a power law; benchmark "
		     "draws them as vLLM's benchmarks, whose power law depends on the tokens; "
		     "packed is such a draw of few neighbouring experts (experts)"),
	PARAM_NUMBER(struct kernel_case, exponent_count, QUANTITY_COUNT, 0.1, 4, "1.2",
		     "exponent of the power law; not 1 (experts)"),
	PARAM_CHOICE(struct kernel_case, library, libraries, "vllm",
		     "program; vLLM before 0.17 has smaller tiles (experts)"),
	PARAM_CHOICE(struct kernel_case, weights, weights, "same",
		     "type of the weights; those of 4 bits are expanded to the 16 bits of "
		     "kernel.type (product, experts)"),
	PARAM_BOOL(struct kernel_case, blocks, "false",
		   "whether each block of 128 x 128 FP8 weights has a scale (product, experts)"),
	PARAM_NUMBER(struct kernel_case, size_B, QUANTITY_BYTES, 1, 1e13, "256 MiB",
		     "bytes read and written (pass)"),
};
static const struct param_table kernel_case_table =
	PARAM_TABLE("kernel", struct kernel_case, kernel_rows);

static double size_of(int type)
{
	return number_type_B((enum number_type)type);
}

struct single_kernel single_product(enum number_type type, struct kernel_product p, bool quantise,
				    bool plain)
{
	double result_B = fmax(2, size_of((int)type));
	struct single_kernel run = {
		.work = {.flop = 2 * p.m * p.n * p.k * p.count,
			 .bytes_B = p.count * (size_of((int)type) * (p.m * p.k + p.k * p.n) +
					       result_B * p.m * p.n),
			 .form = KERNEL_PRODUCT,
			 .type = type,
			 .plain = plain,
			 .product = p}};
	if (quantise) {
		run.before_count = 1;
		run.before.quantises = true;
		run.before.bytes_B = QUANTISE_B * p.m * p.k * p.count;
	}
	return run;
}

struct single_kernel single_attention(enum number_type type, struct kernel_attention a)
{
	double kept = a.window > 0 ? fmin(a.keys, a.window + a.queries) : a.keys;
	double rows_B = size_of((int)type) * a.heads * a.queries * attention_features(&a);
	double bytes_B = a.sequences *
			 (rows_B + a.element_B * a.kv_heads * kept * attention_cached_count(&a));
	return (struct single_kernel){.work = {.bytes_B = bytes_B,
					       .repeated_B = bytes_B,
					       .form = KERNEL_ATTENTION,
					       .type = type,
					       .attention = a}};
}

static struct single_kernel product_run(const struct kernel_case *k)
{
	enum number_type type = (enum number_type)k->type;
	const struct kernel_product p = {k->m_count, k->n_count, k->k_count, k->products_count};
	struct single_kernel run = single_product(type, p, k->quantise, k->plain);
	run.work.scaled_by_blocks = k->blocks;
	double same_B = p.count * p.k * p.n * size_of(k->type);
	double weights_B = p.count * p.k * p.n *
			   weight_element_B((enum weights_type)k->weights, size_of(k->type));
	run.work.repeated_B = run.work.bytes_B - same_B + k->copies_count * weights_B;
	run.work.bytes_B += weights_B - same_B;
	return run;
}

static struct kernel_work experts_work(const struct kernel_case *k)
{
	struct kernel_experts e = {.tokens = k->tokens_count,
				   .hidden = k->hidden_count,
				   .inner = k->inner_count / k->tensor_parallel_count,
				   .top = k->top_count,
				   .experts = k->experts_count,
				   .held = k->experts_count / k->expert_parallel_count,
				   .weights = (enum weights_type)k->weights,
				   .scaled_by_blocks = k->blocks,
				   .older = k->library == LIBRARY_VLLM_0_14};
	experts_spread(&e, (enum experts_distribution)k->distribution, k->exponent_count);
	return (struct kernel_work){
		.form = KERNEL_EXPERTS, .type = (enum number_type)k->type, .experts = e};
}

static struct single_kernel run_of(const struct kernel_case *k)
{
	enum number_type type = (enum number_type)k->type;
	if (k->form == FORM_PASS)
		return (struct single_kernel){.work = {.bytes_B = k->size_B}};
	if (k->form == FORM_PRODUCT)
		return product_run(k);
	if (k->form == FORM_EXPERTS)
		return (struct single_kernel){.work = experts_work(k)};
	const struct kernel_attention a = {
		.sequences = k->sequences_count,
		.queries = k->queries_count,
		.keys = k->keys_count > 0 ? k->keys_count : k->queries_count,
		.heads = k->heads_count,
		.kv_heads = k->kv_heads_count > 0 ? k->kv_heads_count : k->heads_count,
		.head_size = k->head_size_count,
		.value_size = k->value_size_count,
		.window = k->window_count,
		.element_B = size_of(k->cache_type),
		.causal = k->causal,
		.latent = k->latent};
	return single_attention(type, a);
}

/* Returns what a user calls the kernel. */
static const char *kernel_words(struct arena *arena, const struct kernel_case *k)
{
	if (k->form == FORM_PASS)
		return arena_printf(arena, "pass over %s",
				    quantity_format(arena, QUANTITY_BYTES, k->size_B));
	if (k->form == FORM_ATTENTION)
		return arena_printf(arena, "attention %g x %g", k->sequences_count,
				    k->queries_count);
	if (k->form == FORM_EXPERTS)
		return arena_printf(arena, "experts %g x %g of %g", k->tokens_count, k->top_count,
				    k->experts_count);
	return arena_printf(arena, "product %g x %g x %g", k->m_count, k->n_count, k->k_count);
}

static void check_experts(struct reader *c, const struct kernel_case *k)
{
	if (k->top_count > k->experts_count)
		case_error(c, "kernel.top",
			   "kernel.top: a token cannot choose %g of %g experts (write at most "
			   "kernel.experts)",
			   k->top_count, k->experts_count);
	if (fmod(k->experts_count, k->expert_parallel_count) != 0)
		case_error(c, "kernel.expert_parallel",
			   "kernel.expert_parallel: %g GPUs cannot hold equal parts of %g experts "
			   "(write a divisor of kernel.experts)",
			   k->expert_parallel_count, k->experts_count);
	if (fmod(k->inner_count, k->tensor_parallel_count) != 0)
		case_error(c, "kernel.tensor_parallel",
			   "kernel.tensor_parallel: %g GPUs cannot hold equal parts of %g features "
			   "(write a divisor of kernel.inner)",
			   k->tensor_parallel_count, k->inner_count);
	if (k->exponent_count == 1)
		case_error(c, "kernel.exponent",
			   "kernel.exponent must not be 1 (write for example 1.01)");
}

/* Returns the number types that the GPU has. */
static const char *types_of(struct arena *arena, const struct gpu_params *gpu)
{
	const char *text = "";
	for (int i = NUMBER_FP32; i <= NUMBER_FP4; i++)
		if (gpu_has(gpu, (enum number_type)i))
			text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "",
					    number_type_name((enum number_type)i));
	return text;
}

static void check_type(struct reader *c, const char *key, enum number_type type,
		       const struct gpu_entry *gpu)
{
	const char *name = number_type_name(type), *others = types_of(c->arena, &gpu->params);
	if (gpu_has(&gpu->params, type))
		return;
	if (gpu_generation_has(gpu->params.generation, type))
		case_error(c, key,
			   "%s: the file of GPU '%s' states no rate of %s (write one of %s, or set "
			   "gpu.%s.%s to its peak)",
			   key, gpu->profile, name, others, gpu->profile, name);
	else
		case_error(c, key, "%s: GPU '%s' does not have %s (write one of %s)", key,
			   gpu->profile, name, others);
}

static void check_product(struct reader *c, const struct kernel_case *k)
{
	if (k->quantise && size_of(k->type) >= 2)
		case_error(c, "kernel.quantise",
			   "kernel.quantise: a product in %s has no quantised matrix (write "
			   "kernel.type=fp8, int8 or fp4, or leave it out)",
			   number_type_name((enum number_type)k->type));
}

static void check_attention(struct reader *c, const struct kernel_case *k,
			    const struct gpu_entry *gpu)
{
	if (k->cache_type == NUMBER_FP4) /* others can be read on each GPU */
		check_type(c, "kernel.cache_type", (enum number_type)k->cache_type, gpu);
	if (k->kv_heads_count > 0 && fmod(k->heads_count, k->kv_heads_count) != 0)
		case_error(c, "kernel.kv_heads",
			   "kernel.kv_heads: %g heads cannot share %g heads of keys (write a "
			   "divisor of kernel.heads)",
			   k->heads_count, k->kv_heads_count);
	if (k->keys_count > 0 && k->keys_count < k->queries_count)
		case_error(c, "kernel.keys",
			   "kernel.keys: %g tokens do not contain %g new ones (write at least "
			   "kernel.queries)",
			   k->keys_count, k->queries_count);
	if (k->latent && k->value_size_count > k->head_size_count)
		case_error(
			c, "kernel.value_size",
			"kernel.value_size: %g features of a value are not part of %g features of "
			"its key (write at most kernel.head_size, or kernel.latent=false)",
			k->value_size_count, k->head_size_count);
}

static void check_keys(struct reader *c, const struct kernel_case *k)
{
	for (size_t i = 0; i < kernel_case_table.count; i++) {
		char key[64];
		const char *owners = strrchr(kernel_rows[i].help, '(');
		param_key(&kernel_rows[i], key, sizeof key);
		const char *path = arena_printf(c->arena, "kernel.%s", key);
		const struct cfg_param *param = cfg_param_find(c->resolution, path);
		if (owners && param->origin.file && !strstr(owners, forms[k->form]))
			diag_error(c->diag, param->origin,
				   "%s has no effect on kernel.form=%s (leave it out, or write a "
				   "kernel that has it: %.*s)",
				   path, forms[k->form], (int)strcspn(owners + 1, ")"), owners + 1);
	}
}

static void check(struct reader *c, const struct kernel_case *k, const struct gpu_entry *gpu)
{
	enum number_type type = (enum number_type)k->type;
	check_keys(c, k);
	if (k->form != FORM_PASS)
		check_type(c, "kernel.type", type, gpu);
	if (k->weights != WEIGHTS_SAME && size_of(k->type) != 2)
		case_error(c, "kernel.weights",
			   "kernel.weights: weights of 4 bits are expanded to 16 bits, not to %s "
			   "(write kernel.type=bf16)",
			   number_type_name(type));
	if (k->blocks && type != NUMBER_FP8)
		case_error(c, "kernel.blocks",
			   "kernel.blocks: blocks of weights have scales in FP8, not in %s (write "
			   "kernel.type=fp8)",
			   number_type_name(type));
	if (k->form == FORM_PRODUCT)
		check_product(c, k);
	if (k->form == FORM_ATTENTION)
		check_attention(c, k, gpu);
	if (k->form == FORM_EXPERTS)
		check_experts(c, k);
}

double single_kernel_s(const struct single_kernel *run, const struct gpu_params *gpu,
		       const struct efficiency_params *efficiency)
{
	double before_s =
		run->before_count > 0 ? kernel_duration_s(gpu, efficiency, &run->before) : 0;
	return run->before_count * before_s + kernel_duration_s(gpu, efficiency, &run->work);
}

bool case_has_kernel(const struct reader *c)
{
	return case_find_keys(c, "kernel", NULL);
}

static const struct program *program_of(struct arena *arena, const char *label, double duration_s)
{
	struct item *items = ARENA_ARRAY(arena, 2, struct item);
	struct call_thread *thread = ARENA_NEW(arena, struct call_thread);
	struct program *program = ARENA_NEW(arena, struct program);
	items[0] = (struct item){
		.kind = ITEM_CALL,
		.call = {.kind = CALL_LAUNCH, .duration_s = duration_s, .label = label}};
	items[1] = (struct item){.kind = ITEM_CALL, .call = {.kind = CALL_STREAM_SYNCHRONIZE}};
	*thread = (struct call_thread){"program", items, 2};
	*program = (struct program){
		.threads = thread, .thread_count = 1, .stream_count = 1, .images_count = 1};
	return program;
}

void case_kernel_client(struct reader *c, struct job_entry *client)
{
	const struct gpu_entry *gpu = &c->scenario->topology.gpus[client->gpus[0]];
	struct kernel_case *k = ARENA_NEW(c->arena, struct kernel_case);
	struct network *network = ARENA_NEW(c->arena, struct network);
	if (!reader_params(c, cfg_child(c->file, "kernel"), "kernel", "kernel", &kernel_case_table,
			   k))
		return;
	struct origin origin;
	case_find_keys(c, "kernel", &origin);
	if (strcmp(gpu->profile, "none") == 0)
		diag_error(c->diag, origin,
			   "kernel: the machines of topology '%s' have no GPU (write a topology "
			   "that has, for example --topology dgx-h100)",
			   c->params->topology);
	else
		check(c, k, gpu);
	if (diag_count(c->diag) > 0)
		return;
	struct single_kernel *run = ARENA_NEW(c->arena, struct single_kernel);
	*run = run_of(k);
	client->efficiency = case_kernel_law(c, gpu);
	client->kernel = run;
	double time_s = single_kernel_s(run, &gpu->params, client->efficiency);
	if (time_s > LONGEST_S)
		diag_error(c->diag, origin,
			   "kernel: it takes %.3g s, but one kernel may take %g s (write smaller "
			   "sides or counts)",
			   time_s, LONGEST_S);
	network->name = kernel_words(c->arena, k);
	client->network = network;
	client->model = client->model_given = network->name;
	client->batch_count = 1;
	client->program = program_of(c->arena, network->name, fmin(time_s, LONGEST_S));
}
