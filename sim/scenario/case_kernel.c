/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a single kernel, which replaces the program of a case (case.kernel). Its program launches
 * the kernel and waits, and its step time is the time of the kernel on the GPU alone
 * (sim/predict/point.c). */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/scenario/case.h"

/* A product that quantises its first operand from 16 bits reads and writes it in two kernels: one
 * finds the largest element, the other converts. */
enum { QUANTISE_KERNELS = 2 };
static const double QUANTISE_B = 2 + 2 + 1;

struct kernel_case {
	int form, type; /* enum kernel_case_form, enum number_type */
	double m_count, n_count, k_count, products_count;
	bool quantise, plain;
	double sequences_count, queries_count, keys_count;
	double heads_count, kv_heads_count, head_size_count, window_count;
	int cache_type;
	bool causal;
	double size_B;
};

enum kernel_case_form { FORM_PRODUCT, FORM_ATTENTION, FORM_PASS };
static const char *const forms[] = {"product", "attention", "pass", NULL};
static const char *const types[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};

#define COUNT(field, preset, help) PARAM_WHOLE(struct kernel_case, field, 1, 1e9, preset, help)
static const struct param_row kernel_rows[] = {
	PARAM_CHOICE(struct kernel_case, form, forms, "product",
		     "kernel: a product of matrices, fused attention, or a pass over memory"),
	PARAM_CHOICE(struct kernel_case, type, types, "bf16",
		     "type of the numbers that the kernel multiplies"),
	COUNT(m_count, "4096", "product: rows of the first matrix and of the result"),
	COUNT(n_count, "4096", "product: columns of the second matrix and of the result"),
	COUNT(k_count, "4096", "product: columns of the first matrix"),
	COUNT(products_count, "1", "product: number of equal products in one kernel"),
	PARAM_BOOL(struct kernel_case, quantise, "false",
		   "product: whether kernels before it quantise the first matrix from 16 bits"),
	PARAM_BOOL(struct kernel_case, plain, "false",
		   "product: whether the library has CUTLASS's usual tiles only and never splits "
		   "k, as vLLM's FP8 kernels"),
	COUNT(sequences_count, "1", "attention: sequences"),
	COUNT(queries_count, "1024", "attention: new tokens of each sequence"),
	PARAM_WHOLE(struct kernel_case, keys_count, 0, 1e9, "0",
		    "attention: tokens of each sequence with keys and values, the new ones "
		    "included; 0 means as many as queries"),
	COUNT(heads_count, "32", "attention: heads"),
	PARAM_WHOLE(struct kernel_case, kv_heads_count, 0, 1e6, "0",
		    "attention: heads of keys and values; 0 means as many as heads"),
	COUNT(head_size_count, "128", "attention: features of a head"),
	PARAM_WHOLE(struct kernel_case, window_count, 0, 1e9, "0",
		    "attention: tokens that each token sees, itself included; 0 means all"),
	PARAM_CHOICE(struct kernel_case, cache_type, types, "bf16",
		     "attention: type of keys and values"),
	PARAM_BOOL(struct kernel_case, causal, "true",
		   "attention: whether a token does not see later ones"),
	PARAM_NUMBER(struct kernel_case, size_B, QUANTITY_BYTES, 1, 1e13, "256 MiB",
		     "pass: bytes read and written"),
};
static const struct param_table kernel_case_table =
	PARAM_TABLE("kernel", struct kernel_case, kernel_rows);

static double size_of(int type)
{
	return type == NUMBER_FP8 ? 1 : type == NUMBER_FP16 || type == NUMBER_BF16 ? 2 : 4;
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
		run.before_count = QUANTISE_KERNELS;
		run.before.bytes_B = QUANTISE_B * p.m * p.k * p.count / QUANTISE_KERNELS;
	}
	return run;
}

struct single_kernel single_attention(enum number_type type, struct kernel_attention a)
{
	double kept = a.window > 0 ? fmin(a.keys, a.window + a.queries) : a.keys;
	double values_B = size_of((int)type) * 2 * a.heads * a.queries;
	return (struct single_kernel){
		.work = {.bytes_B = a.sequences * a.head_size *
				    (values_B + 2 * a.element_B * a.kv_heads * kept),
			 .form = KERNEL_ATTENTION,
			 .type = type,
			 .attention = a}};
}

static struct single_kernel run_of(const struct kernel_case *k)
{
	enum number_type type = (enum number_type)k->type;
	if (k->form == FORM_PASS)
		return (struct single_kernel){.work = {.bytes_B = k->size_B}};
	if (k->form == FORM_PRODUCT)
		return single_product(type,
				      (struct kernel_product){k->m_count, k->n_count, k->k_count,
							      k->products_count},
				      k->quantise, k->plain);
	const struct kernel_attention a = {
		.sequences = k->sequences_count,
		.queries = k->queries_count,
		.keys = k->keys_count > 0 ? k->keys_count : k->queries_count,
		.heads = k->heads_count,
		.kv_heads = k->kv_heads_count > 0 ? k->kv_heads_count : k->heads_count,
		.head_size = k->head_size_count,
		.window = k->window_count,
		.element_B = size_of(k->cache_type),
		.causal = k->causal};
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
	return arena_printf(arena, "product %g x %g x %g", k->m_count, k->n_count, k->k_count);
}

static void check(struct reader *c, const struct kernel_case *k, const struct gpu_entry *gpu)
{
	enum number_type type = (enum number_type)k->type;
	if (k->form != FORM_PASS && !gpu_has(&gpu->params, type))
		case_error(c, "kernel.type",
			   "kernel.type: GPU '%s' does not have %s (write another number type)",
			   gpu->profile, number_type_name(type));
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
	struct origin origin;
	return case_find_keys(c, "kernel", &origin);
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
	check(c, k, gpu);
	if (diag_count(c->diag) > 0)
		return;
	struct single_kernel *run = ARENA_NEW(c->arena, struct single_kernel);
	*run = run_of(k);
	client->efficiency = case_kernel_law(c, gpu);
	client->kernel = run;
	network->name = kernel_words(c->arena, k);
	client->network = network;
	client->model = client->model_given = network->name;
	client->batch_count = 1;
	client->program = program_of(c->arena, network->name,
				     single_kernel_s(run, &gpu->params, client->efficiency));
}
