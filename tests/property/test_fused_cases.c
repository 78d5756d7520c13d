/* SPDX-License-Identifier: GPL-3.0-or-later */
/* 24 cases of all frameworks, exchanges, pipelines and plans take the same time within 0.1 %,
 * whether runs of kernels are fused (sim/cuda/fuse.h) or each kernel is simulated. Data parallelism
 * takes the same time as a job of ranks and as a plan. */
#include "tests/case_points.h"

#define NETWORK(model_, batch_, stack_)                                                            \
	"case.model=" model_, "case.batch=" batch_, "case.stack=" stack_
#define H100 "case.topology=dgx-h100"
/* kernels are the limit */
#define FAST_HOST "stack.dispatch=5 us", "stack.autograd=1"
#define V100      "case.topology=dgx1-v100"
#define P100      "case.topology=c10-p100"
#define ON_GPUS   "case.exchange=nccl-2.18", "case.gpus=8"

static const struct settings cases[] = {
	{{H100, NETWORK("resnet50", "1", "pytorch-amp")}},
	{{H100, NETWORK("resnet50", "64", "pytorch-amp")}},
	{{H100, NETWORK("vgg16", "8", "pytorch-amp")}},
	{{H100, NETWORK("bert-base", "1", "pytorch-amp")}},
	{{H100, NETWORK("gpt2", "2", "pytorch-amp")}},
	{{H100, NETWORK("gpt2", "16", "jax")}},
	{{V100, NETWORK("resnet50", "16", "tf-1.12")}},
	{{V100, NETWORK("inception3", "32", "tf-1.12"), "stack.real_input=true"}},
	{{V100, NETWORK("resnet50", "64", "pytorch"), "stack.real_input=true"}},
	{{P100, NETWORK("resnet50", "16", "tf-1.12")}},
	{{P100, NETWORK("vgg16", "32", "pytorch")}},
	{{P100, NETWORK("inception3", "16", "jax")}},
	{{P100, NETWORK("resnet50", "32", "pytorch"), "case.gpus=2", "plan.pp=2",
	  "plan.schedule=gpipe", "plan.micro_batch=8", "plan.global_batch=32"}},
	{{H100, NETWORK("gpt2", "8", "pytorch-amp"), "case.gpus=4", "plan.pp=4",
	  "plan.schedule=gpipe", "plan.global_batch=8"}},
	{{H100, NETWORK("bert-base", "8", "pytorch-amp"), "case.gpus=4", "plan.pp=4",
	  "plan.schedule=gpipe", "plan.global_batch=8"}},
	{{H100, NETWORK("gpt2", "2", "megatron-bf16"), ON_GPUS, "plan.dp=8"}},
	{{H100, NETWORK("gpt2", "2", "pytorch-fsdp-bf16"), ON_GPUS, "plan.dp=8"}},
	{{H100, NETWORK("gpt2", "2", "megatron-bf16"), ON_GPUS, "plan.tp=2", "plan.pp=2",
	  "plan.global_batch=16"}},
	{{H100, NETWORK("gpt2", "2", "megatron-bf16"), ON_GPUS, "plan.pp=4", "plan.schedule=gpipe",
	  "plan.global_batch=32"}},
	{{H100, NETWORK("gpt2", "2", "pytorch-fsdp-bf16"), ON_GPUS, "plan.sharding=parameters",
	  "plan.global_batch=16"}},
	{{H100, NETWORK("bert-base", "8", "pytorch-amp"), ON_GPUS, "plan.dp=8"}},
	{{V100, NETWORK("resnet50", "64", "tf-1.12"), "case.gpus=8", "case.exchange=horovod-0.19",
	  "exchange.noise=0"}},
	{{V100, NETWORK("resnet50", "64", "pytorch"), "case.gpus=8", "case.exchange=ddp",
	  "exchange.noise=0"}},
	{{V100, NETWORK("vgg16", "32", "tf-1.12"), "case.gpus=4",
	  "case.exchange=tf-replicated-nccl1", "exchange.noise=0"}},
};

static void cases_take_the_same_time(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		double fused_s = STEP_S(cases[i], "case.steps=0");
		double each_s = STEP_S(cases[i], "case.fusing=off");
		if (!CHECK_NEAR(fused_s, each_s, 1e-3))
			printf("  case %zu: %.9g s, %.9g s one by one\n", i, fused_s, each_s);
	}
}

/* Data parallelism is a plan, too. A plan waits for the GPU at the end of each step, so the host
 * issues the first kernels of a step without work that hides it: up to 2 % of these steps. */
static void data_parallel_plans_take_the_same_time(void)
{
	static const struct {
		struct settings network;
		const char *batch;
	} jobs[] = {
		{{{"case.model=resnet50", "case.stack=pytorch-amp"}}, "32"},
		{{{"case.model=vgg16", "case.stack=pytorch-amp"}}, "32"},
		{{{"case.model=bert-base", "case.stack=pytorch-amp"}}, "8"},
	};
	static const char *const policies[] = {"ddp", "ddl"};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < 2 * sizeof jobs / sizeof jobs[0]; i++) {
		const char *batch = arena_printf(arena, "case.batch=%s", jobs[i / 2].batch);
		const char *micro = arena_printf(arena, "plan.micro_batch=%s", jobs[i / 2].batch);
		const char *exchange = arena_printf(arena, "case.exchange=%s", policies[i % 2]);
		double ranks_s = STEP_S(jobs[i / 2].network, H100, "case.gpus=4", FAST_HOST, batch,
					exchange, "exchange.noise=0");
		double plan_s = STEP_S(jobs[i / 2].network, H100, "case.gpus=4", FAST_HOST, micro,
				       exchange, "plan.dp=4", "plan.buckets=policy");
		CHECK_NEAR(plan_s, ranks_s, 0.02);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(cases_take_the_same_time),
	TEST(data_parallel_plans_take_the_same_time),
};

int main(void)
{
	return TEST_MAIN(tests);
}
