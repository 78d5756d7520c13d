/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model servers that cannot be simulated: the place and the whole text of the first error of each.
 * Rows without an error are next to a limit. */
#include "tests/case_errors.h"

#define LLAMA   "topology = \"dgx-h100\"; model = \"llama3-8b\";"
#define MIXTRAL "topology = \"dgx-h100\"; model = \"mixtral-8x7b\";"
#define RESNET  "topology = \"dgx-h100\"; model = \"resnet50\";"
#define H100    "topology = \"dgx-h100\";"

/* Two hosts without a network, and GPUs of two kinds in the first one. */
static const char own[] =
	"topology = { name = \"own\"; hosts = ( { name = \"near\"; }, { name = \"far\"; } );\n"
	"guests = ( { name = \"guest\"; host = \"near\"; }, { name = \"other\"; host = \"far\"; } "
	");\n"
	"gpus = ( { name = \"gpu0\"; host = \"near\"; profile = \"h100-sxm5\"; },\n"
	"{ name = \"gpu1\"; host = \"near\"; profile = \"a100-sxm4-80\"; } );\n"
	"links = ( { name = \"slot0\"; kind = \"pcie\"; ends = [\"near\", \"gpu0\"]; },\n"
	"{ name = \"slot1\"; kind = \"pcie\"; ends = [\"near\", \"gpu1\"]; } ); };\n";

static const struct row layouts_of_model_servers_fit_their_gpus_rows[] = {
	{LLAMA, "case.batch=1 case.prefill=2", NULL,
	 "case.cfg:5: case.prefill counts replicas of model servers (write "
	 "a group serve, or case.prefill=0)"},
	{LLAMA, "case.batch=1 case.tensor=2", NULL,
	 "case.cfg:5: case.tensor, case.pipeline, case.data and case.expert "
	 "split model servers (write a group serve, or plan.tp and plan.ep "
	 "for training)"},
	{LLAMA, "case.batch=1 case.expert=2", NULL,
	 "case.cfg:5: case.tensor, case.pipeline, case.data and case.expert "
	 "split model servers (write a group serve, or plan.tp and plan.ep "
	 "for training)"},
	{LLAMA, "case.batch=1 case.data=2", NULL,
	 "case.cfg:5: case.tensor, case.pipeline, case.data and case.expert "
	 "split model servers (write a group serve, or plan.tp and plan.ep "
	 "for training)"},
	{LLAMA, "case.batch=1 case.pipeline=2", NULL,
	 "case.cfg:5: case.tensor, case.pipeline, case.data and case.expert "
	 "split model servers (write a group serve, or plan.tp and plan.ep "
	 "for training)"},
	{MIXTRAL, "serve.rate=1 case.tensor=2 case.expert=3", NULL,
	 "case.cfg:6: case.expert=3 parts of the experts need as many GPUs, "
	 "which are not whole groups of case.tensor=2 (write case.expert=4)"},
	{MIXTRAL, "serve.rate=1 case.tensor=2 case.data=1 case.expert=4", NULL,
	 "case.cfg:7: case.expert=4 parts of the experts need as many GPUs, "
	 "which are not case.data=1 groups of case.tensor=2 (write "
	 "case.data=0, or smaller case.expert)"},
	{MIXTRAL, "serve.rate=1 case.tensor=2 case.data=3 case.expert=4", NULL,
	 "case.cfg:7: the 6 GPUs of a stage (case.tensor x case.data) are "
	 "not divisible by case.expert=4 (write case.expert=1 or "
	 "case.expert=6)"},
	{MIXTRAL, "serve.rate=1 case.data=4 serve.dispatch=all-to-all case.expert=2", NULL,
	 "case.cfg:6: serve.dispatch=all-to-all sends rows to whole "
	 "experts, but 4 GPUs have 2 parts of the experts (write "
	 "case.expert=4, or gather)"},
	{RESNET, "serve.rate=1 serve.batching=dynamic case.pipeline=2", NULL,
	 "case.cfg:6: case.pipeline needs a network that generates tokens, "
	 "which 'resnet50' is not (write case.pipeline=1)"},
	{RESNET, "serve.rate=1 serve.batching=dynamic case.tensor=2", NULL,
	 "case.cfg:6: case.tensor: model 'resnet50': only networks that "
	 "generate tokens are split (write case.tensor=1)"},
	{LLAMA, "serve.rate=1 case.pipeline=2 serve.pipeline=rpc case.tensor=2", NULL,
	 "case.cfg:7: case.tensor: RPC servers have whole layers of all "
	 "requests (write case.tensor=1, case.data=1 and case.expert=1, or "
	 "serve.pipeline=groups)"},
	{LLAMA, "serve.rate=1 case.expert=2", NULL,
	 "case.cfg:5: case.expert: model 'llama3-8b': it has no experts "
	 "(write case.expert=1)"},
	{LLAMA, "serve.rate=1 case.data=2", NULL,
	 "case.cfg:5: case.data: model 'llama3-8b': it has no experts "
	 "(write case.data=1)"},
	{LLAMA " copies = 2; gpu = \"n0.gpu0\";", "serve.rate=1 case.tensor=2", NULL,
	 "case.cfg:1: client 'client1': a replica with several GPUs needs "
	 "whole ones of its own, but 'n0.gpu0' is shared (write fewer "
	 "case.copies, or another gpu)"},
	{LLAMA, "serve.rate=1 case.tensor=2", NULL, NULL},
	{LLAMA, "serve.rate=1 case.fraction=0.5 case.tensor=2", NULL,
	 "case.cfg:1: client 'client': a replica with several GPUs needs "
	 "whole ones of its own, but 'n0.gpu0' is shared (write fewer "
	 "case.copies, or another gpu)"},
	{LLAMA " gpu = \"n0.gpu6\";", "serve.rate=1 case.tensor=4", NULL,
	 "case.cfg:2: case.tensor: 4 GPUs from 'n0.gpu6' on are needed, but "
	 "topology 'dgx-h100' has only 2 (write a smaller number)"},
	{"topology = \"own.cfg\"; model = \"llama3-8b\";", "serve.rate=1 case.tensor=2", NULL,
	 "case.cfg:1: client 'client': the GPUs of a replica must be equal, "
	 "but 'gpu0' is h100-sxm5 and 'gpu1' is a100-sxm4-80 (write another "
	 "case.gpu, or serve.pipeline=rpc for stages on different GPUs)"},
	{LLAMA, "serve.rate=1 case.tensor=2 case.exchange=tf-parameter-server", NULL,
	 "case.cfg:6: exchange 'tf-parameter-server' exchanges gradients "
	 "over parameter servers, which carry no messages of model servers "
	 "(write case.exchange=nccl-2.18, for example)"},
};
static void layouts_of_model_servers_fit_their_gpus(void)
{
	check_rows(layouts_of_model_servers_fit_their_gpus_rows,
		   sizeof layouts_of_model_servers_fit_their_gpus_rows /
			   sizeof layouts_of_model_servers_fit_their_gpus_rows[0]);
}

static const struct row requests_fit_their_model_server_rows[] = {
	{LLAMA, "serve.rate=1 case.gpus=2", NULL,
	 "case.cfg:4: serve: requests cannot be combined with case.gpus, "
	 "case.jobs, case.collective or case.calls (write case.copies for "
	 "the number of replicas)"},
	{LLAMA " jobs = ( { gpus = 2; } );", "case.batch=1 serve.rate=1", NULL,
	 "case.cfg:5: serve: requests cannot be combined with case.gpus, "
	 "case.jobs, case.collective or case.calls (write case.copies for "
	 "the number of replicas)"},
	{LLAMA, "case.gpus=2 case.runtime=asynchronous serve.rate=1", NULL,
	 "case.cfg:6: serve: requests cannot be combined with case.gpus, "
	 "case.jobs, case.collective or case.calls (write case.copies for "
	 "the number of replicas)"},
	{H100, "case.calls=null-call serve.rate=1", NULL,
	 "case.cfg:5: serve: requests cannot be combined with case.gpus, "
	 "case.jobs, case.collective or case.calls (write case.copies for "
	 "the number of replicas)"},
	{LLAMA, "case.batch=1 case.engine=vllm", NULL,
	 "case.cfg:5: case.engine is a model server, but the case serves no "
	 "requests (add a group serve, or leave case.engine out)"},
	{LLAMA, "serve.rate=1 serve.output=1000 serve.prompt=7193", NULL,
	 "case.cfg:6: serve: a request has 8193 tokens in its prompt and "
	 "output, but sequences of llama3-8b have 8192 (write fewer tokens, "
	 "or a larger case.sequence)"},
	{LLAMA, "serve.rate=1 serve.requests=1000000 serve.off=40ms serve.on=40ms", NULL,
	 "case.cfg:7: serve.on and serve.off make more than 1e+07 phases "
	 "until all requests have arrived (write longer phases, or fewer "
	 "requests)"},
	{LLAMA,
	 "serve.rate=1 serve.batch=4 serve.concurrency=3 "
	 "serve.batching=fixed",
	 NULL,
	 "case.cfg:7: serve.batching=fixed waits for 4 requests at each "
	 "replica, more than 3 clients send (write dynamic, or a larger "
	 "serve.concurrency)"},
	{LLAMA,
	 "serve.rate=1 serve.batch=4 serve.concurrency=7 "
	 "serve.batching=fixed case.copies=2",
	 NULL,
	 "case.cfg:7: serve.batching=fixed waits for 4 requests at each "
	 "replica, more than 7 clients send (write dynamic, or a larger "
	 "serve.concurrency)"},
	{LLAMA, "serve.rate=1 serve.stages=5:5", NULL,
	 "case.cfg:5: serve.stages: '5:5' has no stages that begin at "
	 "rising times from 0 s on, at rates of 0 or 1e-6 to 1e9, and end "
	 "with a rate above 0 (write for example 0:5,60:20,120:5)"},
	{LLAMA, "serve.concurrency=2 serve.stages=0:5,60:20", NULL,
	 "case.cfg:5: serve.stages cannot be combined with "
	 "serve.concurrency, serve.list, or serve.on and serve.off (leave "
	 "either out)"},
	{LLAMA, "serve.list=own.txt serve.stages=0:5,60:20", NULL,
	 "case.cfg:5: serve.stages cannot be combined with "
	 "serve.concurrency, serve.list, or serve.on and serve.off (leave "
	 "either out)"},
	{LLAMA, "serve.on=1s serve.off=1s serve.stages=0:5,60:20", NULL,
	 "case.cfg:6: serve.stages cannot be combined with "
	 "serve.concurrency, serve.list, or serve.on and serve.off (leave "
	 "either out)"},
	{LLAMA, "serve.rate=1 serve.batching=dynamic serve.drafted=2", NULL,
	 "case.cfg:6: serve.drafted: tokens are drafted only in continuous "
	 "batching, for networks that generate tokens, without stages "
	 "(write serve.drafted=0)"},
	{LLAMA, "serve.rate=1 serve.batching=fixed serve.drafted=2", NULL,
	 "case.cfg:6: serve.drafted: tokens are drafted only in continuous "
	 "batching, for networks that generate tokens, without stages "
	 "(write serve.drafted=0)"},
	{LLAMA, "serve.rate=1 case.pipeline=2 serve.drafted=2", NULL,
	 "case.cfg:6: serve.drafted: tokens are drafted only in continuous "
	 "batching, for networks that generate tokens, without stages "
	 "(write serve.drafted=0)"},
	{RESNET, "serve.rate=1 serve.batching=dynamic serve.drafted=2", NULL,
	 "case.cfg:6: serve.drafted: tokens are drafted only in continuous "
	 "batching, for networks that generate tokens, without stages "
	 "(write serve.drafted=0)"},
	{LLAMA, "serve.rate=1 serve.drafted=2 serve.draft=gpt2", NULL,
	 "case.cfg:6: serve.draft: 'gpt2' does not generate tokens of the "
	 "vocabulary of 'llama3-8b' (write a network with the same "
	 "vocabulary)"},
	{LLAMA, "serve.rate=1 serve.drafted=2 serve.draft=resnet50", NULL,
	 "case.cfg:6: serve.draft: 'resnet50' does not generate tokens of "
	 "the vocabulary of 'llama3-8b' (write a network with the same "
	 "vocabulary)"},
	{LLAMA, "serve.rate=1 serve.drafted=2 serve.draft=llama3-9b", NULL,
	 "case.cfg:6: there is no model 'llama3-9b' (did you mean "
	 "'llama3-8b'? The name of your own file must end in .cfg)"},
	{LLAMA, "serve.rate=1 serve.cache_host=n0", NULL,
	 "case.cfg:5: serve.cache_host: 'n0' has no memory for keys and "
	 "values (write serve.host_cache, for example 100 GB)"},
	{LLAMA, "serve.rate=1 serve.host_cache=1GB serve.cache_host=n7", NULL,
	 "case.cfg:6: serve.cache_host: no host or guest of topology "
	 "'dgx-h100' is called 'n7' (write for example 'n0.os')"},
	{RESNET, "serve.rate=1 serve.batching=continuous", NULL,
	 "case.cfg:5: serve.batching is continuous, but 'resnet50' "
	 "generates no tokens (write dynamic or fixed)"},
	{LLAMA, "serve.rate=1 serve.output=1000 serve.prompt=7192 serve.draft=none", NULL, NULL},
	{LLAMA,
	 "serve.rate=1 serve.batch=4 serve.concurrency=8 "
	 "serve.batching=fixed case.copies=2",
	 NULL, NULL},
	{RESNET, "serve.rate=1 serve.stages=0:5,60:20 serve.on=1s", NULL, NULL},
	{LLAMA " clients = ( { }, { model = \"gpt2\"; } );", "case.gpu=spread",
	 "serve = ( { model = \"llama3-8b\"; rate = 1; } );",
	 "case.cfg:2: serve: no group describes the requests of model "
	 "'gpt2' (write serve = ( { model = \"gpt2\"; rate = ...; }, ... ))"},
	{LLAMA "\nclients = ( { role = \"prefill\"; },\n{ role = \"both\"; } );",
	 "serve.rate=1 case.gpu=spread", NULL,
	 "case.cfg:4: the clients of model 'llama3-8b' have 1 times the "
	 "role prefill, 0 times decode and 1 times both (write prefill and "
	 "decode, or only both)"},
	{LLAMA "\nclients = ( { role = \"decode\"; },\n{ role = \"decode\"; } );",
	 "serve.rate=1 case.gpu=spread", NULL,
	 "case.cfg:4: the clients of model 'llama3-8b' have 0 times the "
	 "role prefill, 2 times decode and 0 times both (write prefill and "
	 "decode, or only both)"},
	{RESNET "\nclients = ( { role = \"prefill\"; },\n{ role = \"decode\"; } );",
	 "serve.batching=dynamic case.gpu=spread", NULL,
	 "case.cfg:4: model 'resnet50' generates no tokens, so its clients "
	 "have no role (leave role out)"},
};
static void requests_fit_their_model_server(void)
{
	check_rows(requests_fit_their_model_server_rows,
		   sizeof requests_fit_their_model_server_rows /
			   sizeof requests_fit_their_model_server_rows[0]);
}

static const struct test tests[] = {
	TEST(layouts_of_model_servers_fit_their_gpus),
	TEST(requests_fit_their_model_server),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	write_file("own.cfg", own);
	int failed = TEST_MAIN(tests);
	remove(path_of("own.cfg"));
	folder_end();
	return failed;
}
