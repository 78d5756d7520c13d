/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The setup of a case, which a result states, and the text of several setups. */
#include "sim/predict/predict.h"
#include "tests/case_points.h"

static struct setup setup_of(struct arena *arena, const struct settings *base,
			     const char *const *more)
{
	const struct scenario *scenario = scenario_of(arena, base, more);
	return scenario ? scenario_setup(arena, scenario) : (struct setup){0};
}
#define SETUP(arena, base, ...) setup_of((arena), &(base), (const char *const[]){__VA_ARGS__, NULL})

/* Programs in three machines have three local runs. Three programs in one machine have equal ones,
 * which count once. */
static void local_runs_in_different_machines_are_counted(void)
{
	static const struct settings pool = {{"case.topology=gpu-pool", "case.model=alexnet",
					      "case.stack=pytorch", "case.runtime=asynchronous",
					      "case.gpu=spread"}};
	struct arena *arena = arena_new();
	struct setup setup = SETUP(arena, pool, "case.copies=3", "case.program=spread");
	CHECK_TEXT(setup.local, "v100-sxm2 in host 'desk1' (and 2 more)");
	setup = SETUP(arena, pool, "case.copies=3", "case.program=client2");
	CHECK_TEXT(setup.local, "v100-sxm2 in host 'desk2'");
	CHECK_TEXT(setup.network, "alexnet");
	CHECK_TEXT(setup.stack, "pytorch");
	CHECK_TEXT(setup.precision, "fp32");
	CHECK_TEXT(setup.runtime, "asynchronous");
	CHECK(!setup.exchange && !setup.library && !setup.counted);
	setup = SETUP(arena, pool, "case.runtime=none", "case.server=server1");
	CHECK(!setup.local && !setup.runtime);
	arena_free(arena);
}

/* Weights of a model server have their own type, and networks of text count sequences. */
static void types_and_counted_things_follow_from_the_job(void)
{
	static const struct settings machine = {{"case.topology=dgx-h100"}};
	struct arena *arena = arena_new();
	struct setup setup = SETUP(arena, machine, "case.model=llama3-8b", "case.engine=vllm",
				   "serve.weights=fp8");
	CHECK_TEXT(setup.precision, "fp8");
	CHECK(!setup.counted);
	setup = SETUP(arena, machine, "case.model=llama3-8b", "case.engine=vllm", "serve.rate=1");
	CHECK_TEXT(setup.precision, "bf16");
	setup = SETUP(arena, machine, "case.model=gpt2", "case.stack=pytorch-bf16-adamw",
		      "case.gpus=2", "case.exchange=nccl-2.18");
	CHECK_TEXT(setup.counted, "sequences");
	CHECK_TEXT(setup.exchange, "nccl-2.18");
	CHECK_TEXT(setup.library, "NCCL");
	setup = SETUP(arena, machine, "kernel.m=4096", "kernel.n=4096", "kernel.k=4096");
	CHECK_TEXT(setup.counted, "steps");
	CHECK(!setup.stack);
	setup = SETUP(arena, machine, "case.gpus=2", "case.exchange=nccl-2.18",
		      "case.collective=all_reduce");
	CHECK(!setup.network && !setup.stack && !setup.counted);
	arena_free(arena);
}

/* Six different values are listed, and more are not. A missing value has words only if another
 * setup has one. */
static void values_in_which_setups_differ_are_listed(void)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
	struct arena *arena = arena_new();
	struct setup setups[9] = {0};
	const struct setup *list[9];
	for (size_t i = 0; i < 9; i++) {
		setups[i].network = names[i < 2 ? 0 : i - 2]; /* the first one three times */
		list[i] = &setups[i];
	}
	CHECK_TEXT(setups_text(arena, list, 3), "network a");
	CHECK_TEXT(setups_text(arena, list, 8), "network a / b / c / d / e / f");
	CHECK_TEXT(setups_text(arena, list, 9), "network a / b / c / d / e / f / ...");
	setups[0] = (struct setup){.network = "a", .stack = "s", .precision = "fp16"};
	setups[1] = (struct setup){.network = "a", .stack = "s", .precision = "fp32"};
	setups[2] = (struct setup){.network = "a", .runtime = "r"};
	CHECK_TEXT(setups_text(arena, list, 3), "network a; stack s (fp16) / s (fp32) / no stack; "
						"runtime the local driver / r");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(local_runs_in_different_machines_are_counted),
	TEST(types_and_counted_things_follow_from_the_job),
	TEST(values_in_which_setups_differ_are_listed),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
