/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of a plan's calls: which collectives run beside which passes. */
#include "sim/training/exchange.h"
#include "tests/test.h"
#include "tests/tiny_plan.h"

static const struct stack_params bf16 = {
	.optimiser_copies_count = 2, .precision = PRECISION_BF16, .fused_attention = true};
static const struct gpu_params some_gpu = {.bf16_flops = 1e12,
					   .fp32_flops = 1e12,
					   .memory_bandwidth_Bps = 1e11,
					   .memory_efficiency_ratio = 1};
static const struct efficiency_params at_peak = {.peak_ratio = 1};

static struct arena *arena;

/* The calls of rank 0. */
struct calls {
	struct cuda_call *items;
	size_t count;
};

static struct calls calls_of(const struct network *network, const struct plan_params *params,
			     size_t ranks, const struct exchange_params *exchange)
{
	const char *why = NULL;
	const struct training_plan *plan = plan_new(arena, network, params, ranks, &why);
	struct calls calls = {0};
	FW_ASSERT(plan);
	const struct plan_groups groups = plan_groups(arena, plan, false);
	const struct plan_step step = {plan, &groups, &bf16, &some_gpu, &at_peak, NULL, exchange};
	const struct call_thread *thread = plan_program(arena, &step, 0)->threads;
	calls.items = ARENA_ARRAY(arena, thread->count, struct cuda_call);
	for (size_t i = 0; i < thread->count; i++)
		if (thread->items[i].kind == ITEM_CALL)
			calls.items[calls.count++] = thread->items[i].call;
	return calls;
}

static bool is_launch(const struct cuda_call *call, const char *label)
{
	return call->kind == CALL_LAUNCH && call->label && strcmp(call->label, label) == 0;
}

/* Returns the index of the first kernel with that label, or of the last one. */
static size_t kernel_at(const struct calls *calls, const char *label, bool last)
{
	size_t at = SIZE_MAX;
	for (size_t i = 0; i < calls->count && (last || at == SIZE_MAX); i++)
		if (is_launch(&calls->items[i], label))
			at = i;
	CHECK(at != SIZE_MAX);
	return at;
}

/* Collectives of one kind. */
struct carried {
	size_t count, first, last; /* indices of calls */
	double sum_B;
};

static struct carried carried(const struct calls *calls, enum call_kind kind)
{
	struct carried c = {.first = SIZE_MAX};
	for (size_t i = 0; i < calls->count; i++) {
		if (calls->items[i].kind != kind)
			continue;
		c.first = c.count == 0 ? i : c.first;
		c.last = i;
		c.count++;
		c.sum_B += calls->items[i].payload_B;
	}
	return c;
}

/* Returns the waits of the kernels' stream for an event that the stream of call `at` records
 * directly behind it. */
static size_t waits_for(const struct calls *calls, size_t at)
{
	const struct cuda_call *record = &calls->items[at + 1];
	size_t count = 0;
	if (record->kind != CALL_EVENT_RECORD || record->stream != calls->items[at].stream)
		return 0;
	for (size_t i = at + 2; i < calls->count; i++)
		count += calls->items[i].kind == CALL_STREAM_WAIT_EVENT &&
			 calls->items[i].stream == 0 && calls->items[i].event == record->event;
	return count;
}

/* Two ranks share out the optimizer's state and gather all parameters in bf16, or in the size that
 * the plan gives. They do so behind the update on the stream of the kernels. Beside the first
 * forward passes, another stream gathers each chunk, and the first pass through a chunk waits for
 * it. With two chunks, the first of two stages has the embedding of 12 x 8 and a block: a norm of
 * 8, and matrices of 8 x 24, 8 x 8 and twice 8 x 32. */
static void updated_parameters_are_gathered_once(void)
{
	const struct network *network = read_tiny(arena);
	for (int sharding = SHARDING_OPTIMIZER; sharding <= SHARDING_GRADIENTS; sharding++)
		for (int overlap = 0; overlap < 2; overlap++)
			for (int chunks = 1; chunks <= 2; chunks++) {
				struct plan_params params = one_gpu;
				params.sharding = sharding;
				params.overlap_parameters = overlap;
				params.parameter_element_B = overlap ? 1 : 0;
				params.chunks_count = params.pp_count = chunks;
				params.embedding_as_block = params.loss_as_block = chunks > 1;
				params.global_batch_count = 4;
				const struct calls calls =
					calls_of(network, &params, 2 * (size_t)chunks, NULL);
				double count = chunks == 1 ? network->parameters_count
							   : 12 * 8 + 8 + 8 * (24 + 8 + 2 * 32);
				struct carried c = carried(&calls, CALL_ALL_GATHER);
				double element_B = overlap ? 1 : 2;
				CHECK(c.count == (size_t)chunks);
				CHECK_NEAR(c.sum_B, count * element_B, 1e-12);
				size_t update = kernel_at(&calls, "update", true);
				size_t pass = kernel_at(&calls, chunks > 1 ? "F1.1" : "F1", false);
				CHECK(overlap ? c.last < pass : c.first > update);
				CHECK((calls.items[c.first].stream == 0) == !overlap);
				CHECK(waits_for(&calls, c.first) == (size_t)overlap);
				CHECK(waits_for(&calls, c.last) == (size_t)overlap);
			}
}

/* Without a shared state there is nothing to gather, and FSDP gathers for each pass, whether the
 * plan overlaps updated parameters or not. */
static void only_a_shared_optimizer_gathers_updated_parameters(void)
{
	const struct network *network = read_tiny(arena);
	for (int overlap = 0; overlap < 2; overlap++) {
		struct plan_params params = one_gpu;
		params.overlap_parameters = overlap;
		struct calls calls = calls_of(network, &params, 2, NULL);
		CHECK(carried(&calls, CALL_ALL_GATHER).count == 0);
		params.sharding = SHARDING_PARAMETERS;
		params.parameter_element_B = 4;
		calls = calls_of(network, &params, 2, NULL);
		struct carried c = carried(&calls, CALL_ALL_GATHER);
		CHECK_NEAR(c.sum_B, 2 * network->parameters_count * 4, 1e-12);
		CHECK(c.last < kernel_at(&calls, "update", false));
	}
}

/* The policy of the exchange reduces each gradient on its own, or all of them together. Single
 * gradients need no copies. They are reduced beside the last backward pass, or behind it. */
static void bundles_of_the_policy_are_reduced_when_they_are_ready(void)
{
	const struct network *network = read_tiny(arena);
	size_t tensors = 0;
	for (size_t i = 0; i < network->layer_count; i++)
		tensors += network->layers[i].tensor_count;
	for (int whole = 0; whole < 2; whole++)
		for (int overlap = 0; overlap < 2; overlap++) {
			struct plan_params params = one_gpu;
			struct exchange_params exchange = {.fusion_copy_ratio = 2};
			params.buckets = BUCKETS_POLICY;
			params.overlap_gradients = overlap;
			params.global_batch_count = 4; /* two micro-batches */
			for (size_t i = 0; i < exchange_policy_count(); i++)
				if (strcmp(exchange_policy_at(i)->name,
					   whole ? "after_backward" : "per_tensor") == 0)
					exchange.policy = (int)i;
			const struct calls calls = calls_of(network, &params, 2, &exchange);
			struct carried c = carried(&calls, CALL_ALL_REDUCE);
			size_t first = kernel_at(&calls, "B2", false);
			size_t last = kernel_at(&calls, "B2", true);
			CHECK(c.count == (whole ? 1 : tensors));
			CHECK_NEAR(c.sum_B, network->parameters_count * 4, 1e-12);
			CHECK(c.first > first && c.last > last);
			CHECK((c.first < last) == (overlap && !whole));
			double copied_B = 0;
			for (size_t i = c.first; i-- > 0 && !is_launch(&calls.items[i], "B2");)
				copied_B += calls.items[i].kind == CALL_LAUNCH;
			CHECK_NEAR(copied_B, whole, 0);
			size_t behind = kernel_at(&calls, "update", false);
			while (calls.items[--behind].kind != CALL_LAUNCH)
				;
			if (!whole)
				continue;
			/* updates wait for the copy out of the buffer */
			size_t record = behind;
			while (calls.items[record].kind != CALL_EVENT_RECORD ||
			       calls.items[record].stream != calls.items[behind].stream)
				record++;
			CHECK(behind > c.last && calls.items[behind].stream > 0);
			CHECK(calls.items[record + 1].kind == CALL_STREAM_WAIT_EVENT);
			CHECK(calls.items[record + 1].stream == 0);
			CHECK(calls.items[record + 1].event == calls.items[record].event);
			CHECK(record < kernel_at(&calls, "update", false));
		}
}

/* Gradients are the last backward pass's, in buckets of at least a million parameters for each
 * rank. The step of the tiny network has one bucket, whether it overlaps or not. */
static void a_bucket_that_is_not_full_is_reduced_behind_backward(void)
{
	for (int overlap = 0; overlap < 2; overlap++) {
		struct plan_params params = one_gpu;
		params.overlap_gradients = overlap;
		const struct calls calls = calls_of(read_tiny(arena), &params, 2, NULL);
		struct carried c = carried(&calls, CALL_ALL_REDUCE);
		CHECK(c.count == 1);
		CHECK(c.first > kernel_at(&calls, "B1", true));
		CHECK(c.first < kernel_at(&calls, "update", false));
	}
}

/* A stage whose parameters are all frozen reduces nothing, whatever the policy. */
static void a_stage_without_gradients_has_no_bundles(void)
{
	for (size_t i = 0; i < exchange_policy_count(); i++) {
		const struct exchange_params exchange = {.policy = (int)i, .bucket_B = 1e6};
		size_t count = 7;
		(void)exchange_divide(arena, &exchange, NULL, 0, &count);
		CHECK(count == 0);
	}
}

static const struct test tests[] = {
	TEST(a_stage_without_gradients_has_no_bundles),
	TEST(updated_parameters_are_gathered_once),
	TEST(only_a_shared_optimizer_gathers_updated_parameters),
	TEST(bundles_of_the_policy_are_reduced_when_they_are_ready),
	TEST(a_bucket_that_is_not_full_is_reduced_behind_backward),
};

int main(void)
{
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
