/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single kernels and jobs that cannot be simulated: the place and the whole text of the first error
 * of each. Rows without an error are next to a limit. */
#include "tests/case_errors.h"

#define LLAMA    "topology = \"dgx-h100\"; model = \"llama3-8b\";"
#define RESNET   "topology = \"dgx-h100\"; model = \"resnet50\";"
#define ALEXNET  "topology = \"dgx1-v100\"; model = \"alexnet\";"
#define POOL     "topology = \"gpu-pool\"; model = \"alexnet\";"
#define H100     "topology = \"dgx-h100\";"
#define RECORDED "topology = \"dgx1-v100\"; calls = \"null-call\";"
#define OWN      "topology = \"top.cfg\";"

static const struct row kernels_have_possible_shapes_and_types_rows[] = {
	{LLAMA, "kernel.m=8", NULL,
	 "case.cfg:2: case: case.model has no effect on a single kernel "
	 "(leave it out, or the keys of the group kernel)"},
	{H100, "kernel.form=experts kernel.top=9", NULL,
	 "case.cfg:5: kernel.top: a token cannot choose 9 of 8 experts "
	 "(write at most kernel.experts)"},
	{H100, "kernel.form=experts kernel.expert_parallel=3", NULL,
	 "case.cfg:5: kernel.expert_parallel: 3 GPUs cannot hold equal "
	 "parts of 8 experts (write a divisor of kernel.experts)"},
	{H100, "kernel.form=experts kernel.tensor_parallel=3", NULL,
	 "case.cfg:5: kernel.tensor_parallel: 3 GPUs cannot hold equal "
	 "parts of 14336 features (write a divisor of kernel.inner)"},
	{H100, "kernel.form=experts kernel.exponent=1", NULL,
	 "case.cfg:5: kernel.exponent must not be 1 (write for example 1.01)"},
	{H100, "kernel.form=product kernel.type=fp4", NULL,
	 "case.cfg:5: kernel.type: GPU 'h100-sxm5' does not have fp4 (write "
	 "one of fp32, tf32, fp16, bf16, fp8, int8)"},
	{H100, "kernel.form=attention kernel.cache_type=fp4", NULL,
	 "case.cfg:5: kernel.cache_type: GPU 'h100-sxm5' does not have fp4 "
	 "(write one of fp32, tf32, fp16, bf16, fp8, int8)"},
	{H100, "kernel.type=bf16 kernel.quantise=true", NULL,
	 "case.cfg:5: kernel.quantise: a product in bf16 has no quantised "
	 "matrix (write kernel.type=fp8, int8 or fp4, or leave it out)"},
	{H100, "kernel.form=attention kernel.kv_heads=3", NULL,
	 "case.cfg:5: kernel.kv_heads: 32 heads cannot share 3 heads of "
	 "keys (write a divisor of kernel.heads)"},
	{H100, "kernel.form=attention kernel.queries=20 kernel.keys=19", NULL,
	 "case.cfg:6: kernel.keys: 19 tokens do not contain 20 new ones "
	 "(write at least kernel.queries)"},
	{H100, "kernel.form=attention kernel.latent=true kernel.value_size=129", NULL,
	 "case.cfg:6: kernel.value_size: 129 features of a value are not "
	 "part of 128 features of its key (write at most kernel.head_size, "
	 "or kernel.latent=false)"},
	{H100, "kernel.type=fp8 kernel.weights=int4", NULL,
	 "case.cfg:5: kernel.weights: weights of 4 bits are expanded to 16 "
	 "bits, not to fp8 (write kernel.type=bf16)"},
	{H100, "kernel.type=bf16 kernel.blocks=true", NULL,
	 "case.cfg:5: kernel.blocks: blocks of weights have scales in FP8, "
	 "not in bf16 (write kernel.type=fp8)"},
	{H100, "kernel.form=attention kernel.m=8", NULL,
	 "case.cfg:5: kernel.m has no effect on kernel.form=attention "
	 "(leave it out, or write a kernel that has it: product)"},
	{H100, "kernel.form=attention kernel.queries=20 kernel.keys=20", NULL, NULL},
	{H100, "kernel.form=attention kernel.latent=true kernel.value_size=128", NULL, NULL},
	{H100, "kernel.form=experts kernel.top=8", NULL, NULL},
	{"topology = \"cpu-ethernet\";", "kernel.m=8", NULL,
	 "case.cfg:4: kernel: the machines of topology 'cpu-ethernet' have "
	 "no GPU (write a topology that has, for example --topology "
	 "dgx-h100)"},
	{H100 " gpus = 2;", "kernel.m=8", NULL,
	 "case.cfg:4: kernel: a single kernel runs on one GPU (leave out "
	 "the keys of the group kernel, or case.gpus, case.collective, "
	 "case.calls and serve)"},
	{H100, "kernel.m=8 serve.rate=1", NULL,
	 "case.cfg:4: kernel: a single kernel runs on one GPU (leave out "
	 "the keys of the group kernel, or case.gpus, case.collective, "
	 "case.calls and serve)"},
	{H100 " calls = \"null-call\";", "kernel.m=8", NULL,
	 "case.cfg:4: kernel: a single kernel runs on one GPU (leave out "
	 "the keys of the group kernel, or case.gpus, case.collective, "
	 "case.calls and serve)"},
	{H100 " gpus = 2;", "kernel.m=8 plan.pp=2", NULL,
	 "case.cfg:4: kernel: a single kernel runs on one GPU (leave out "
	 "the keys of the group kernel, or case.gpus, case.collective, "
	 "case.calls and serve)"},
};
static void kernels_have_possible_shapes_and_types(void)
{
	check_rows(kernels_have_possible_shapes_and_types_rows,
		   sizeof kernels_have_possible_shapes_and_types_rows /
			   sizeof kernels_have_possible_shapes_and_types_rows[0]);
}

static const struct row jobs_fit_their_gpus_and_what_is_beside_them_rows[] = {
	{ALEXNET "\njobs = ( { gpus = 2; },\n{ name = \"late\"; gpus = 2; first_gpu = "
		 "1; } );",
	 "case.epochs=1", NULL,
	 "case.cfg:4: job 'late' begins at GPU 1, but job 'job0' holds that "
	 "GPU (write another first_gpu)"},
	{ALEXNET "\njobs = ( { gpus = 2; },\n{ name = \"late\"; gpus = 2; first_gpu = "
		 "2; } );",
	 "case.epochs=1", NULL, NULL},
	{ALEXNET, "case.gpus=9 case.transport=shm", NULL,
	 "case.cfg:5: job 'job0' uses several machines, which shared memory "
	 "cannot connect (write transport = \"auto\")"},
	{ALEXNET, "case.gpus=8 case.transport=shm", NULL, NULL},
	{ALEXNET, "case.gpus=2 case.epochs=1 case.job_steps=5", NULL,
	 "case.cfg:6: case: case.job_steps and case.epochs both say how "
	 "long the job is (leave one of them out)"},
	{"topology = \"dgx1-v100\";\njobs = ( { gpus = 2; }, { gpus = 2; } );",
	 "case.steps=4 case.collective=all_reduce", NULL,
	 "case.cfg:6: case: a collective benchmark must have one job, not 2 "
	 "(leave out jobs)"},
	{ALEXNET, "case.gpus=2 case.tokens=1e9 case.epochs=1", NULL,
	 "case.cfg:5: case.tokens cannot be combined with case.epochs or "
	 "case.job_steps (leave one of them out)"},
	{ALEXNET, "case.gpus=2 case.tokens=1e9", NULL,
	 "case.cfg:5: case.tokens needs networks with sequences of equal "
	 "length (choose another case.model, or write case.epochs)"},
	{H100 " model = \"gpt2\";", "case.gpus=2 case.tokens=1e9", NULL, NULL},
	{H100 " model = \"gpt2\";", "case.gpus=2 case.job_steps=5 case.tokens=1e9", NULL,
	 "case.cfg:6: case.tokens cannot be combined with case.epochs or "
	 "case.job_steps (leave one of them out)"},
	{ALEXNET, "case.gpus=2 stack.forward_only=true", NULL,
	 "case.cfg:4: stack.forward_only is a forward pass on one GPU "
	 "(write case.gpus=1, or several clients)"},
	{ALEXNET, "case.gpus=2 case.stack=tensorrt", NULL,
	 "case.cfg:5: stack.fusion is inference, which cannot train (write "
	 "all, or add a group serve to the case or stack.forward_only=true)"},
	{ALEXNET, "stack.context=5", NULL,
	 "case.cfg:4: stack.context is the cache of one forward pass with "
	 "fused attention (write --stack pytorch-decode, or leave out "
	 "stack.context)"},
	{H100 " model = \"gpt2\";", "serve.rate=1 stack.context=5", NULL,
	 "case.cfg:5: stack.context is the cache of one forward pass with "
	 "fused attention (write --stack pytorch-decode, or leave out "
	 "stack.context)"},
	{ALEXNET, "case.gpus=2 stack.cold=true", NULL,
	 "case.cfg:5: stack.cold is a process with one GPU (write "
	 "case.gpus=1, or leave out the group serve)"},
	{ALEXNET, "case.stack=tensorrt", NULL,
	 "case.cfg:4: stack.fusion is inference, which cannot train (write "
	 "all, or add a group serve to the case or stack.forward_only=true)"},
	{ALEXNET, "case.batch=8 stack.framework=onnxruntime", NULL,
	 "case.cfg:5: stack.framework is onnxruntime, which cannot train "
	 "(write pytorch, or add a group serve to the case or "
	 "stack.forward_only=true)"},
	{ALEXNET, "case.batch=8 stack.fusion=session", NULL,
	 "case.cfg:5: stack.fusion is session, which cannot train (write "
	 "all, or add a group serve to the case or stack.forward_only=true)"},
	{ALEXNET, "serve.rate=1 stack.cold=true", NULL,
	 "case.cfg:5: stack.cold is a process with one GPU (write "
	 "case.gpus=1, or leave out the group serve)"},
	{ALEXNET, "case.stack=tf-1.12 stack.cold=true", NULL,
	 "case.cfg:5: stack.cold is known for PyTorch only (write --stack "
	 "pytorch-inference, or another stack of PyTorch)"},
	{ALEXNET, "case.gpus=2 stack.precision=fp8", NULL,
	 "case.cfg:5: stack 'pytorch-amp' computes in fp8, but GPU "
	 "'v100-sxm2' (volta) has only fp32, fp16 (write "
	 "stack.precision=fp16, or another case.stack)"},
	{RESNET, "case.gpus=2 stack.precision=fp8", NULL,
	 "case.cfg:5: stack 'pytorch-amp' computes in fp8, but network "
	 "'resnet50' has no linear layers in repeated blocks, and only "
	 "those are quantised (write stack.precision=fp16 or bf16, or "
	 "another case.stack)"},
	{ALEXNET, "case.gpus=2 run.mtbf=1h", NULL,
	 "case.cfg:5: run: these keys describe the long run of a plan "
	 "(write --plan, and case.tokens or case.job_steps, or leave them "
	 "out)"},
	{ALEXNET, "plan.pp=2", NULL,
	 "case.cfg:4: plan: a plan splits a job over several GPUs (write "
	 "case.gpus, or --gpus, too)"},
	{ALEXNET, "case.gpus=2 case.fraction=0.5", NULL,
	 "case.cfg:5: case: case.fraction has no effect on collectives and "
	 "jobs of fused steps (leave it out)"},
};
static void jobs_fit_their_gpus_and_what_is_beside_them(void)
{
	check_rows(jobs_fit_their_gpus_and_what_is_beside_them_rows,
		   sizeof jobs_fit_their_gpus_and_what_is_beside_them_rows /
			   sizeof jobs_fit_their_gpus_and_what_is_beside_them_rows[0]);
}

static const struct row settings_that_a_job_of_programs_does_not_use_are_refused_rows[] = {
	{POOL " gpus = 4; runtime = \"asynchronous\";", "case.steps=4 case.symmetry=on", NULL,
	 "case.cfg:5: case.symmetry cannot be combined with a remoting "
	 "runtime (leave one of them out)"},
	{POOL " gpus = 4; runtime = \"asynchronous\";", "case.steps=4 case.job_steps=5", NULL,
	 "case.cfg:5: case.job_steps cannot be combined with a remoting "
	 "runtime (leave one of them out)"},
	{POOL " gpus = 4; runtime = \"asynchronous\";", "case.steps=4 case.guest=server1", NULL,
	 "case.cfg:5: case.guest cannot be combined with a remoting runtime "
	 "(leave one of them out)"},
	{POOL " gpus = 4; runtime = \"asynchronous\";", "case.steps=4 case.fraction=0.5", NULL,
	 "case.cfg:5: case.fraction must be 1 with case.gpus, because each "
	 "rank uses its whole GPU"},
	{POOL " gpus = 4; runtime = \"asynchronous\";", "case.steps=4 case.server=server1", NULL,
	 "case.cfg:5: case.server cannot be combined with case.gpus, "
	 "because the first guest of each GPU's host serves it (leave it "
	 "out)"},
	{POOL " gpus = 4; runtime = \"asynchronous\";\nclients = ( { } );", "case.steps=4", NULL,
	 "case.cfg:3: case: clients cannot be combined with case.gpus "
	 "(write a separate case for each client)"},
	{POOL " gpus = 4; runtime = \"asynchronous\";", "case.steps=4 case.gpus_per_machine=1",
	 NULL,
	 "case.cfg:5: case.gpus_per_machine is 1, with which topology "
	 "'gpu-pool' has fewer than the 4 GPUs of case.gpus (write a larger "
	 "number, or fewer GPUs)"},
	{POOL " gpus = 4; runtime = \"asynchronous\";",
	 "case.steps=4 case.exchange=tf-parameter-server case.programs=1 "
	 "library.server_on_cpu=false",
	 NULL,
	 "case.cfg:5: exchange 'tf-parameter-server' keeps variables on "
	 "servers; programs that are simulated call by call support that "
	 "only on the host of a single program (write case.programs=1 and "
	 "library.server_on_cpu=true, or choose another exchange)"},
	{POOL " gpus = 4; runtime = \"asynchronous\";",
	 "case.steps=4 case.exchange=tf-parameter-server case.programs=2", NULL,
	 "case.cfg:5: exchange 'tf-parameter-server' keeps variables on "
	 "servers; programs that are simulated call by call support that "
	 "only on the host of a single program (write case.programs=1 and "
	 "library.server_on_cpu=true, or choose another exchange)"},
	{H100 " model = \"gpt2\"; gpus = 2;", "plan.pp=2 case.guest=os", NULL,
	 "case.cfg:5: case.guest has no effect on a plan (leave it out)"},
	{H100 " model = \"gpt2\"; gpus = 2;",
	 "plan.pp=2 case.symmetry=on case.straggler=2 case.job_steps=9", NULL, NULL},
	{H100 " gpus = 2;", "plan.pp=2 case.calls=null-call", NULL,
	 "case.cfg:5: case.calls cannot be combined with a plan, because a "
	 "recording cannot be split (leave one of them out)"},
	{"topology = \"dgx1-v100\"; model = \"gpt2\"; gpus = 2;",
	 "plan.pp=2 case.exchange=tf-parameter-server", NULL,
	 "case.cfg:5: exchange 'tf-parameter-server' keeps variables on "
	 "servers, which a plan does not use (write an exchange without "
	 "servers, for example nccl-2.18)"},
	{"topology = \"dgx1-v100\"; gpus = 2; calls = \"null-call\";", "case.straggler=2", NULL,
	 "case.cfg:4: case.straggler has no effect on a recording (leave it "
	 "out)"},
	{"topology = \"dgx1-v100\"; gpus = 2; calls = \"null-call\";", "case.programs=1", NULL,
	 "case.cfg:4: case.programs must equal case.gpus with a recording, "
	 "whose program uses one GPU"},
	{"topology = \"dgx1-v100\"; gpus = 2; calls = \"null-call\";", "case.symmetry=on", NULL,
	 "case.cfg:2: case.calls: the recording contains no collective "
	 "whose size is known, so its ranks would not communicate (leave "
	 "case.gpus out, or record a rank of a job)"},
	{RECORDED, "case.steps=4 case.model=gpt2", NULL,
	 "case.cfg:5: case: calls cannot be combined with model, because a "
	 "recording contains its own kernels (leave one of them out)"},
	{RECORDED, "case.collective=all_reduce", NULL,
	 "case.cfg:2: case.calls: a recording cannot be combined with "
	 "case.jobs or case.collective (leave them out)"},
	{RECORDED "\njobs = ( { gpus = 2; } );", "case.steps=4", NULL,
	 "case.cfg:2: case.calls: a recording cannot be combined with "
	 "case.jobs or case.collective (leave them out)"},
	{RECORDED "\nclients = ( { name = \"a\"; },\n{ name = \"b\"; model = \"gpt2\"; } );",
	 "case.steps=4", NULL,
	 "case.cfg:4: client 'b': calls cannot be combined with model, "
	 "because a recording contains its own kernels (leave out the "
	 "client's model)"},
	{ALEXNET "\nclients = ( { name = \"a*\"; } );", "case.steps=4", NULL,
	 "case.cfg:3: client 'a*': a name must not be empty or contain '*', "
	 "'=' or ',' (write name = \"a0\", for example)"},
	{ALEXNET, "gpu.*.sharing=mig case.fraction=0.5", NULL,
	 "case.cfg:4: GPU 'n0.gpu0' (v100-sxm2) cannot be split by MIG, "
	 "which A30, A100 and GPUs from Hopper on have (write "
	 "gpu.*.sharing=mps or time_slices)"},
	{H100 " model = \"alexnet\"; copies = 3;", "gpu.*.sharing=mig case.fraction=0.5", NULL,
	 "case.cfg:5: GPU 'n0.gpu0' is split by MIG, but its clients "
	 "together have 1.5 of its SMs and 1.5 of its memory (write a "
	 "smaller case.fraction and case.memory_fraction)"},
	{H100 " model = \"alexnet\"; copies = 2;", "gpu.*.sharing=mig case.fraction=0.5", NULL,
	 NULL},
	{H100 " model = \"alexnet\"; copies = 2;",
	 "gpu.*.sharing=mig case.fraction=0.5 case.memory_fraction=0.75", NULL,
	 "case.cfg:5: GPU 'n0.gpu0' is split by MIG, but its clients "
	 "together have 1 of its SMs and 1.5 of its memory (write a smaller "
	 "case.fraction and case.memory_fraction)"},
	{OWN " model = \"alexnet\";", "case.steps=4 gpu.*.sharing=mig",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } ); guests = ( "
	 "{ name = \"g\"; host = \"h\"; } ); gpus = ( { name = \"x\"; host = \"h\"; "
	 "profile = \"a10\"; } ); links = ( { name = \"l\"; kind = \"pcie\"; ends "
	 "= [\"h\", \"x\"]; } ); };",
	 "case.cfg:5: GPU 'x' (a10) cannot be split by MIG, which A30, A100 "
	 "and GPUs from Hopper on have (write gpu.*.sharing=mps or "
	 "time_slices)"},
	{OWN " model = \"alexnet\";", "case.steps=4 gpu.*.sharing=mig",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } ); guests = ( "
	 "{ name = \"g\"; host = \"h\"; } ); gpus = ( { name = \"x\"; host = \"h\"; "
	 "profile = \"a30\"; } ); links = ( { name = \"l\"; kind = \"pcie\"; ends "
	 "= [\"h\", \"x\"]; } ); };",
	 NULL},
	{OWN " model = \"alexnet\";", "case.steps=4 gpu.*.sharing=mig",
	 "topology = { name = \"t\"; hosts = ( { name = \"h\"; } ); guests = ( "
	 "{ name = \"g\"; host = \"h\"; } ); gpus = ( { name = \"x\"; host = \"h\"; "
	 "profile = \"l4\"; } ); links = ( { name = \"l\"; kind = \"pcie\"; ends "
	 "= [\"h\", \"x\"]; } ); };",
	 "case.cfg:5: GPU 'x' (l4) cannot be split by MIG, which A30, A100 "
	 "and GPUs from Hopper on have (write gpu.*.sharing=mps or "
	 "time_slices)"},
};
static void settings_that_a_job_of_programs_does_not_use_are_refused(void)
{
	check_rows(settings_that_a_job_of_programs_does_not_use_are_refused_rows,
		   sizeof settings_that_a_job_of_programs_does_not_use_are_refused_rows /
			   sizeof settings_that_a_job_of_programs_does_not_use_are_refused_rows[0]);
}

static const struct test tests[] = {
	TEST(kernels_have_possible_shapes_and_types),
	TEST(jobs_fit_their_gpus_and_what_is_beside_them),
	TEST(settings_that_a_job_of_programs_does_not_use_are_refused),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
