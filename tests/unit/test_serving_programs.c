/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The programs of a model server's iterations: their copies, launches and graphs. The test must run
 * from the root folder. */
#include "tests/served_model.h"

/* Returns the calls of an iteration, whose kernels take scale times as long. */
static const struct program *iteration_of(bool cuda_graph, bool graph, double scale,
					  double *kernels_s)
{
	struct stack_params *own = ARENA_NEW(arena, struct stack_params);
	struct gpu_params *gaps = ARENA_NEW(arena, struct gpu_params);
	*own = stack;
	own->cuda_graph = cuda_graph;
	*gaps = gpu;
	gaps->kernel_gap_s = 1e-6;
	const struct serving_model_spec spec = {.network = network_of("llama3-8b", 64),
						.one_token = network_of("llama3-8b", 1),
						.stack = own,
						.gpu = gaps,
						.efficiency = &by_law,
						.rows_max = 8,
						.sequences_max = 8,
						.time_ratios = {1, 1}};
	return serving_model_program(arena, serving_model_new(arena, &spec), 3, scale, graph,
				     kernels_s);
}

static double durations_s(const struct program *program)
{
	const struct call_thread *thread = &program->threads[0];
	double sum_s = 0;
	for (size_t i = 0; i < thread->count; i++)
		if (thread->items[i].kind == ITEM_CALL)
			sum_s += thread->items[i].call.duration_s;
	return sum_s;
}

/* A token travels as a number of 8 B, and the answer has one for each row. Two scales double the
 * kernels' times. */
static void a_program_copies_tokens_in_and_out(void)
{
	double kernels_s;
	const struct program *program = iteration_of(false, false, 2, &kernels_s);
	const struct call_thread *thread = &program->threads[0];
	const struct cuda_call *last = &thread->items[thread->count - 1].call;
	CHECK(program->images_count == 3);
	CHECK_TEXT(last->label, "result");
	CHECK(last->payload_B == 3 * 8);
	CHECK_NEAR(durations_s(program), kernels_s, 1e-9);
	CHECK(kernels_s > 2 * 2 * 7.5e9 / MEMORY_Bps);
}

/* Images have 224 x 224 x 3 numbers of 4 B, and the answer has 1,001 of 4 B for each. */
static void a_program_copies_images_in_and_classes_out(void)
{
	struct serving_model_spec spec = {.network = network_of("resnet50", 0),
					  .stack = &stack,
					  .gpu = &gpu,
					  .efficiency = &by_law,
					  .rows_max = 8,
					  .time_ratios = {1, 1}};
	double kernels_s;
	const struct program *program = serving_model_program(
		arena, serving_model_new(arena, &spec), 8, 1, false, &kernels_s);
	const struct call_thread *thread = &program->threads[0];
	const struct cuda_call *first = NULL;
	for (size_t i = 0; i < thread->count && !first; i++)
		if (thread->items[i].kind == ITEM_CALL)
			first = &thread->items[i].call;
	CHECK_TEXT(first->label, "input");
	CHECK(first->payload_B == 8 * 224 * 224 * 3 * 4);
	CHECK(thread->items[thread->count - 1].call.payload_B == 8 * 1001 * 4);
}

static size_t calls_of(bool cuda_graph, bool graph)
{
	double kernels_s;
	const struct program *program = iteration_of(cuda_graph, graph, 1, &kernels_s);
	size_t count = 0;
	for (size_t i = 0; i < program->threads[0].count; i++)
		count += program->threads[0].items[i].kind == ITEM_CALL;
	return count;
}

/* An iteration without prompts is one graph, if the stack has graphs. */
static void only_iterations_without_prompts_are_graphs(void)
{
	CHECK(calls_of(true, true) < 10);
	CHECK(calls_of(false, true) > 100);
	CHECK(calls_of(true, false) == calls_of(false, true));
}

/* The kernels behind the first one have a gap of 1 us each. The gaps are overhead of the iteration:
 * they are not in the time of kernels, and do not grow with it. */
static void gaps_of_a_graph_are_not_kernel_time(void)
{
	double plain_s, kernels_s, launches = 0;
	const struct program *plain = iteration_of(false, false, 1, &plain_s);
	for (size_t i = 0; i < plain->threads[0].count; i++)
		launches += plain->threads[0].items[i].kind == ITEM_CALL &&
			    plain->threads[0].items[i].call.kind == CALL_LAUNCH;
	CHECK(launches > 100);
	for (double scale = 0.5; scale < 5; scale *= 2) {
		const struct program *program = iteration_of(true, true, scale, &kernels_s);
		CHECK_NEAR(kernels_s, scale * plain_s, 1e-9);
		CHECK_NEAR(durations_s(program) - kernels_s, (launches - 1) * 1e-6, 1e-9);
	}
}

static const struct test tests[] = {
	TEST(a_program_copies_tokens_in_and_out),
	TEST(a_program_copies_images_in_and_classes_out),
	TEST(gaps_of_a_graph_are_not_kernel_time),
	TEST(only_iterations_without_prompts_are_graphs),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
