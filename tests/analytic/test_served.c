/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model servers as complete cases: their requests, their memory and their share of a GPU. The
 * numbers follow from the sizes of the networks and the settings. */
#include "sim/scenario/scenario.h"
#include "sim/serving/serving.h"
#include "tests/case_points.h"
#include "tests/own_folder.h"

/* Requests that arrive one by one. */
#define APART                                                                                      \
	"serve.spread=0", "serve.output_spread=0", "serve.warmup=0", "serve.requests=4",           \
		"serve.rate=0.01", "serve.prompt=100", "serve.output=100"
static const struct settings gpt2 = {{"case.topology=l40s-8gpu", "case.model=gpt2", APART}};
static const struct settings llama = {{"case.topology=l40s-8gpu", "case.model=llama2-7b", APART}};

static const struct prediction *predicted(const struct settings *base, const char *const *more,
					  size_t draws)
{
	struct setting settings[160];
	size_t count = 0;
	for (size_t i = 0; base->texts[i]; i++)
		settings[count++] = (struct setting){.text = base->texts[i]};
	for (; *more; more++)
		settings[count++] = (struct setting){.text = *more};
	diag = diag_new(arena);
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	const struct predict_options options = {.seed = 1, .draws_count = draws, .jobs = 1};
	const char *broken;
	const struct prediction *p = predict_case(arena, diag, &request, &options, &broken);
	diag_print(diag, stdout);
	CHECK(p != NULL);
	return p;
}
#define PREDICTED(base, draws, ...)                                                                \
	predicted(&(base), (const char *const[]){__VA_ARGS__, NULL}, draws)

static struct point point_of_text(const char *text)
{
	struct point point = {.failed = true};
	write_file("served.cfg", text);
	diag = diag_new(arena);
	const struct case_request request = {.path = path_of("served.cfg"),
					     .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	if (CHECK(scenario != NULL))
		point = predict_point(arena, scenario, 1, false, NULL, NULL);
	remove(path_of("served.cfg"));
	CHECK(!point.failed && !point.broken);
	return point;
}

/* A service asks for 100 requests at 4/s, which arrive in 25 s. The other one asks for 20 at 2/s,
 * but draws as many as arrive in 25 s. The order of the two has no influence. */
static void services_draw_requests_for_the_same_time(void)
{
	static const char *const clients[] = {
		"{ name = \"a\"; model = \"gpt2\"; }, { name = \"b\"; model = \"gpt2-medium\"; }",
		"{ name = \"b\"; model = \"gpt2-medium\"; }, { name = \"a\"; model = \"gpt2\"; }"};
	for (size_t i = 0; i < 2; i++) {
		struct point point = point_of_text(arena_printf(
			arena,
			"case = { topology = \"l40s-8gpu\"; clients = ( %s ); };\n"
			"serve = ( { model = \"gpt2\"; rate = 4; requests = 100; warmup = 0.0; },\n"
			"{ model = \"gpt2-medium\"; rate = 2; requests = 20; warmup = 0.0; } );\n",
			clients[i]));
		if (point.failed)
			return;
		CHECK(point.outcome.jobs[i].serving->service->requests_count == 100);
		CHECK(point.outcome.jobs[1 - i].serving->service->requests_count == 50);
		CHECK(point.serving.requests_count == 150);
	}
}

/* Requests of the second service have no objective, and those of the first one meet theirs. */
static void services_with_and_without_objectives_have_one_attainment(void)
{
	struct point point =
		point_of_text("case = { topology = \"l40s-8gpu\"; clients = ( { name = \"a\"; "
			      "model = \"gpt2\"; },"
			      "{ name = \"b\"; model = \"gpt2-medium\"; } ); };\n"
			      "serve = ( { model = \"gpt2\"; rate = 4; requests = 20; latency_slo "
			      "= \"1000 s\"; },\n"
			      "{ model = \"gpt2-medium\"; rate = 4; requests = 20; } );\n");
	if (point.failed)
		return;
	CHECK_NEAR(point.serving.attainment_ratio, 1, 1e-12);
	CHECK(isnan(point.outcome.jobs[1].serving->service->attainment_ratio));
}

/* Kernels of a replica with half of a GPU take twice the time, also if it has no neighbour. */
static void kernels_take_the_replicas_share_of_the_gpu(void)
{
	struct point whole = POINT(arena, gpt2, "case.fraction=1");
	struct point half = POINT(arena, gpt2, "case.fraction=0.5");
	CHECK(whole.serving.parts_s[SERVE_KERNEL] > 0);
	CHECK_NEAR(half.serving.parts_s[SERVE_KERNEL], 2 * whole.serving.parts_s[SERVE_KERNEL],
		   1e-6);
	CHECK_NEAR(half.serving.parts_s[SERVE_OVERHEAD], whole.serving.parts_s[SERVE_OVERHEAD],
		   1e-6);
}

/* A replica may use 90 % of its share of the 48 GiB of an L40S: at most its fraction, and at most
 * an equal part. Llama 2 7B does not fit into 11.6 GB. */
static void memory_of_a_replica_is_its_share_of_the_gpu(void)
{
	static const struct {
		const char *fraction, *copies;
		double share;
	} rows[] = {{"case.fraction=0.25", "case.copies=1", 0.25},
		    {"case.fraction=1", "case.copies=4", 0.25},
		    {"case.fraction=0.25", "case.copies=2", 0.25},
		    {"case.fraction=0.2", "case.copies=4", 0.2}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct prediction *p =
			PREDICTED(llama, 0, "case.gpu=n0.gpu0", rows[i].fraction, rows[i].copies);
		CHECK(p && !p->ok);
		CHECK_PART(p ? p->reason : NULL,
			   arena_printf(arena, "may use %.2f GB",
					0.9 * 48 * 1073741824 * rows[i].share / 1e9));
	}
}

/* The weights of Llama 2 7B are 6,738,415,616 of 2 B, and the workspace is 1 GiB. The largest
 * activation of a token has 2 x 11,008 elements of 2 B and exists twice. Each of 256 sequences has
 * 32,000 logits of 8 B. An iteration has at most 256 rows if prompts are cut, else a whole request
 * of 4,096 tokens; a batch of whole prompts has 256 x 4,000. */
static void memory_of_activations_follows_from_the_largest_iteration(void)
{
	static const struct {
		const char *batching, *chunked;
		double rows;
	} rows[] = {{"serve.batching=continuous", "serve.chunked_prefill=true", 256},
		    {"serve.batching=continuous", "serve.chunked_prefill=false", 4096},
		    {"serve.batching=dynamic", "serve.chunked_prefill=true", 256 * 4000},
		    {"serve.batching=fixed", "serve.chunked_prefill=true", 256 * 4000}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct prediction *p = PREDICTED(
			llama, 0, "gpu.l40s.memory=10 GB", "serve.tokens=16", "serve.batch=256",
			"serve.prompt=4000", "serve.output=96", rows[i].batching, rows[i].chunked);
		double needed_B = 2 * 6738415616.0 + 1073741824.0 + rows[i].rows * 2 * 22016 * 2 +
				  8 * 256.0 * 32000;
		CHECK(p && !p->ok);
		CHECK_PART(p ? p->reason : NULL,
			   arena_printf(arena, "needs %.2f GB", needed_B / 1e9));
	}
}

/* Keys and values of a token of Llama 2 7B have 2 x 32 layers x 32 heads x 128 elements of 2 B. A
 * request of 200 tokens may fill the cache, but not exceed it. */
static void a_request_may_fill_the_cache_exactly(void)
{
	const double token_B = 2 * 32 * 32 * 128 * 2;
	/* half a token more than the cache of 200, so that rounding does not matter */
	const double needed_B = 2 * 6738415616.0 + 1073741824.0 + 8192 * 2.0 * 22016 * 2 +
				8 * 256.0 * 32000 + 200.5 * token_B;
	for (int missing = 0; missing < 2; missing++) {
		const struct prediction *p =
			PREDICTED(llama, 0, "serve.block=1",
				  arena_printf(arena, "gpu.l40s.memory=%.17g B",
					       (needed_B - missing * token_B) / 0.9));
		CHECK(p && p->ok == !missing);
		if (missing)
			CHECK_PART(p ? p->reason : NULL, "a request of 200 tokens does not fit the "
							 "KV cache of 199 tokens");
	}
}

/* One request runs, one waits, and all that are measured are refused. */
static void a_service_that_refuses_all_measured_requests_fails(void)
{
	const struct prediction *p =
		PREDICTED(gpt2, 0, "serve.requests=20", "serve.rate=1e6", "serve.queue=1",
			  "serve.batch=1", "serve.warmup=0.5");
	CHECK(p && !p->ok);
	CHECK_PART(p ? p->reason : NULL, "all measured requests were refused");
	p = PREDICTED(gpt2, 0, "serve.requests=20", "serve.rate=1e6", "serve.queue=1",
		      "serve.batch=1", "serve.warmup=0");
	CHECK(p && p->ok && p->refused_count == 18 && p->requests_count == 20);
}

/* Labels have two decimals, and three only where two are not enough. */
static void shares_of_requests_have_the_decimals_that_they_need(void)
{
	static const char *const last[] = {"0.95",  "0.97",  "0.98", "0.99",
					   "0.995", "0.999", "1.00"};
	enum { COUNT = sizeof last / sizeof last[0] };
	const struct prediction *p = PREDICTED(gpt2, 0, "serve.prompt=10");
	if (!p || !CHECK(p->latency_cdf_count == SERVE_CDF_POINTS))
		return;
	CHECK_TEXT(p->latency_cdf[0].name, "0.00");
	for (size_t i = 0; i < COUNT; i++)
		CHECK_TEXT(p->latency_cdf[SERVE_CDF_POINTS - COUNT + i].name, last[i]);
}

/* Requests of one token that never wait have only iterations with prompts, and a model error of
 * 10 %. One draw has its median, 1. Two draws have its quantiles at 1/4 and 3/4,
 * exp(-+0.6745 x 0.1). Without generated tokens, their model error has no effect. */
static void draws_divide_the_model_error_into_equal_parts(void)
{
	for (size_t draws = 1; draws <= 2; draws++) {
		const char *exact[140] = {"error.prompt=0.1", "error.token=0.5", "serve.output=1"};
		const struct prediction *p = PREDICTED(gpt2, 0, exact[0], exact[1], exact[2]);
		size_t count = 3;
		for (size_t i = 0; p && i < cfg_param_count(p->resolution); i++) {
			const struct cfg_param *param = cfg_param_at(p->resolution, i);
			if (cfg_param_varies(param) && CHECK(count < 130))
				exact[count++] = arena_printf(arena, "%s=%.17g %s", param->path,
							      param->value,
							      quantity_unit(param->row->quantity));
		}
		p = predicted(&gpt2, exact, draws);
		double factor = draws == 1 ? 1 : exp(0.067449);
		if (!p || !CHECK(p->ok && p->draws_count == draws))
			return;
		CHECK_NEAR(p->latency_s[0].high, p->latency_s[0].value * factor, 1e-4);
		CHECK_NEAR(p->latency_s[0].low, p->latency_s[0].value / factor, 1e-4);
	}
}

/* The first token takes one iteration with the prompt, and each other one an iteration without. */
static void factors_scale_iterations_with_and_without_prompts(void)
{
	const struct prediction *p = PREDICTED(gpt2, 0, "serve.output=2");
	const struct prediction *prompt =
		PREDICTED(gpt2, 0, "serve.output=2", "serve.prompt_time=3");
	const struct prediction *token = PREDICTED(gpt2, 0, "serve.output=2", "serve.token_time=3");
	if (!CHECK(p && prompt && token))
		return;
	double first_s = p->first_token_mean_s.value, token_s = p->token_s.value;
	CHECK_NEAR(prompt->first_token_mean_s.value, 3 * first_s, 1e-4);
	CHECK_NEAR(prompt->token_s.value, token_s, 1e-4);
	CHECK_NEAR(token->first_token_mean_s.value, first_s, 1e-4);
	CHECK_NEAR(token->token_s.value, 3 * token_s, 1e-4);
}

/* Returns the time of collectives in an iteration with a prompt of that many tokens, and nothing
 * else, on two GPUs. */
static double exchange_s(const char *prompt, const char *topology, const char *more)
{
	const struct settings base = {{topology, "case.model=llama2-7b", "serve.spread=0",
				       "serve.output_spread=0", "serve.warmup=0",
				       "serve.requests=4", "serve.rate=0.01", "serve.output=1",
				       "case.tensor=2"}};
	struct point point = POINT(arena, base, prompt, more);
	return point.serving.parts_s[SERVE_EXCHANGE];
}

/* A token of Llama 2 7B has 4,096 features of 2 B. So sums of 2 and 4 tokens have powers of two as
 * sizes, and those of 3 tokens are halfway between them. */
static void sums_of_split_products_are_linear_between_powers_of_two(void)
{
	static const char *const prompts[] = {"serve.prompt=2", "serve.prompt=3", "serve.prompt=4"};
	double sums_s[3];
	for (size_t i = 0; i < 3; i++)
		sums_s[i] = exchange_s(prompts[i], "case.topology=pcie-8gpu", "case.copies=1");
	CHECK(sums_s[2] > sums_s[0]);
	CHECK_NEAR(sums_s[1] - sums_s[0], sums_s[2] - sums_s[1], 1e-6);
}

/* Only the second pair of GPUs has a slow link. */
static void replicas_in_other_places_have_their_own_collectives(void)
{
	const char *dgx1 = "case.topology=dgx1-v100", *prompt = "serve.prompt=1000";
	double one_s = exchange_s(prompt, dgx1, "case.copies=1");
	double two_s = exchange_s(prompt, dgx1, "case.copies=2");
	CHECK(one_s > 0);
	CHECK(fabs(two_s / one_s - 1) > 0.1);
}

/* Kernels of prompts are launched one by one, also if those of generated tokens are in graphs. */
static void prompts_are_not_in_graphs(void)
{
	static const struct settings prompts = {{"case.topology=l40s-8gpu", "case.model=gpt2",
						 "serve.spread=0", "serve.warmup=0",
						 "serve.output_spread=0", "serve.requests=4",
						 "serve.rate=0.01", "serve.prompt=10"}};
	double overheads_s[2][2]; /* of one token and of 20, without and with graphs */
	for (size_t i = 0; i < 4; i++)
		overheads_s[i / 2][i % 2] =
			POINT(arena, prompts, "stack.dispatch=20 us",
			      i / 2 ? "serve.output=20" : "serve.output=1",
			      i % 2 ? "stack.cuda_graph=true" : "stack.cuda_graph=false")
				.serving.parts_s[SERVE_OVERHEAD];
	CHECK(overheads_s[0][0] > 0);
	CHECK_NEAR(overheads_s[0][1], overheads_s[0][0], 1e-9);
	CHECK(overheads_s[1][1] < 0.9 * overheads_s[1][0]);
}

/* Synchronous calls of an iteration of Llama 2 7B take 25 ms, on a remote L40S whose kernels take
 * 20 ms for one row and 22.5 ms for 64. So both take the time of the calls, because the kernels of
 * one call end before the next one arrives. */
static void calls_that_take_longer_than_kernels_decide_the_time_of_an_iteration(void)
{
	static const struct settings remote = {
		{"case.topology=gpu-pool", "case.model=llama2-7b", "case.runtime=synchronous",
		 "case.transport=tcp", "case.program=client1", "case.gpu=gpu1",
		 "gpu.*.profile=l40s", "stack.cuda_graph=false", "serve.spread=0",
		 "serve.output_spread=0", "serve.warmup=0", "serve.rate=1e6", "serve.prompt=1",
		 "serve.output=20", "serve.batching=fixed"}};
	struct point one = POINT(arena, remote, "serve.batch=1", "serve.requests=1");
	struct point many = POINT(arena, remote, "serve.batch=64", "serve.requests=64");
	double one_s = one.serving.token_mean_s, many_s = many.serving.token_mean_s;
	printf("  %.2f ms with one row, %.2f ms with 64\n", 1e3 * one_s, 1e3 * many_s);
	CHECK(one.serving.parts_s[SERVE_KERNEL] < 0.85 * 20 * one_s);
	CHECK_NEAR(many_s / one_s, 1, 0.01);
}

/* Two requests of a table; a third one of 1,025 tokens would be longer than a sequence of GPT-2. */
static void a_table_replaces_drawn_requests(void)
{
	write_file("list.tsv", "0 100 10\n1 200 10\n");
	const char *list = arena_printf(arena, "serve.list=%s", path_of("list.tsv"));
	const struct prediction *p = PREDICTED(gpt2, 0, list);
	CHECK(p && p->ok && p->requests_count == 2);
	if (p)
		CHECK_NEAR(p->token_throughput.value / p->throughput.value, 10, 1e-9);
	write_file("list.tsv", "0 100 10\n1 200 10\n2 1000 25\n");
	struct setting settings[3] = {
		{.text = "case.topology=l40s-8gpu"}, {.text = "case.model=gpt2"}, {.text = list}};
	diag = diag_new(arena);
	const struct case_request request = {
		.settings = settings, .setting_count = 3, .data_root = data_root_find(arena)};
	CHECK(!case_read(arena, diag, &request));
	CHECK_PART(diag_count(diag) ? diag_at(diag, 0) : NULL, "a request has 1025 tokens");
	remove(path_of("list.tsv"));
}

/* Requests of a table and those in stages arrive at their own times, so only the service that draws
 * its requests says for how long: 40 at 4/s. */
static void only_drawn_requests_say_how_long_services_draw(void)
{
	static const double counts[] = {40, 2, 30, 20};
	write_file("list.tsv", "0 100 10\n1 200 10\n");
	struct point point = point_of_text(
		"case = { topology = \"l40s-8gpu\"; gpu = \"spread\"; clients = ( { model = "
		"\"gpt2\"; }, { model = \"gpt2-medium\"; }, { model = \"gpt2-large\"; }, { model "
		"= \"gpt2-xl\"; } ); };\n"
		"serve = ( { model = \"gpt2\"; rate = 4; requests = 40; warmup = 0.0; },\n"
		"{ model = \"gpt2-medium\"; list = \"list.tsv\"; rate = 1; requests = 900; warmup "
		"= "
		"0.0; },\n"
		"{ model = \"gpt2-large\"; stages = \"0:5,60:20\"; rate = 0.1; requests = 30; "
		"warmup "
		"= 0.0; },\n"
		"{ model = \"gpt2-xl\"; rate = 2; requests = 4; warmup = 0.0; } );\n");
	remove(path_of("list.tsv"));
	for (size_t i = 0; i < 4 && !point.failed; i++)
		CHECK(point.outcome.jobs[i].serving->service->requests_count == counts[i]);
}

/* Eight GPUs with requests of their own have the experts of a layer. NCCL gathers all rows on all
 * of them, and DeepEP sends each row to its experts, unless the service says otherwise. Parts of
 * experts on two GPUs need all rows. */
static void deepep_sends_rows_and_nccl_gathers_them(void)
{
#define ROWS(exchange, dispatch, parts)                                                            \
	POINT(arena, experts, "case.exchange=" exchange, "serve.dispatch=" dispatch,               \
	      "case.expert=" parts)                                                                \
		.serving.parts_s[SERVE_EXCHANGE]
	static const struct settings experts = {
		{"case.topology=dgx-h100", "case.model=qwen3-30b-a3b", "case.data=8",
		 "serve.spread=0", "serve.output_spread=0", "serve.warmup=0", "serve.requests=2",
		 "serve.rate=0.01", "serve.output=1", "serve.prompt=1024"}};
	double gathered_s = ROWS("nccl-2.18", "gather", "8");
	double sent_s = ROWS("deepep", "all-to-all", "8");
	CHECK(sent_s > 0 && sent_s < 0.9 * gathered_s);
	CHECK_NEAR(ROWS("nccl-2.18", "auto", "8"), gathered_s, 1e-12);
	CHECK_NEAR(ROWS("deepep", "auto", "8"), sent_s, 1e-12);
	CHECK(ROWS("nccl-2.18", "all-to-all", "8") < 0.9 * gathered_s);
	double halves_s = ROWS("deepep", "gather", "4");
	CHECK(halves_s > 1.1 * sent_s);
	CHECK_NEAR(ROWS("deepep", "auto", "4"), halves_s, 1e-12);
}

/* A token of gpt-oss-20b has 4 experts, and one of Qwen3 30B has 8. On two GPUs of its own, each
 * service takes the time for its rows that it takes without the other one. */
static void services_send_rows_to_the_experts_of_their_network(void)
{
	static const char *const models[] = {"gpt-oss-20b", "qwen3-30b-a3b"};
	double alone_s[2];
	const char *clients = "", *groups = "";
	for (size_t i = 0; i < 3; i++) {
		const char *client = arena_printf(arena, "{ model = \"%s\"; gpu = \"n0.gpu%zu\"; }",
						  models[i % 2], 2 * (i % 2));
		const char *group = arena_printf(arena,
						 "{ model = \"%s\"; rate = 0.01; requests = 2; "
						 "warmup = 0.0; spread = 0.0; prompt = 1024; "
						 "output = 1; output_spread = 0.0; }",
						 models[i % 2]);
		clients = i < 2 ? client : arena_printf(arena, "%s, %s", client, clients);
		groups = i < 2 ? group : arena_printf(arena, "%s, %s", group, groups);
		struct point point = point_of_text(arena_printf(
			arena,
			"case = { topology = \"dgx-h100\"; data = 2; expert = 2; exchange = "
			"\"deepep\"; clients = ( %s ); };\nserve = ( %s );\n",
			clients, groups));
		if (point.failed)
			return;
		const struct job_run *jobs = point.outcome.jobs;
		if (i < 2)
			alone_s[i] = jobs[0].serving->service->parts_s[SERVE_EXCHANGE];
		for (size_t k = 0; k < 2 && i == 2; k++)
			CHECK_NEAR(jobs[k].serving->service->parts_s[SERVE_EXCHANGE], alone_s[k],
				   1e-9);
	}
	CHECK(alone_s[0] > 0 && fabs(alone_s[1] / alone_s[0] - 1) > 0.01);
}

static const struct test tests[] = {
	TEST(services_send_rows_to_the_experts_of_their_network),
	TEST(only_drawn_requests_say_how_long_services_draw),
	TEST(deepep_sends_rows_and_nccl_gathers_them),
	TEST(sums_of_split_products_are_linear_between_powers_of_two),
	TEST(replicas_in_other_places_have_their_own_collectives),
	TEST(prompts_are_not_in_graphs),
	TEST(calls_that_take_longer_than_kernels_decide_the_time_of_an_iteration),
	TEST(a_table_replaces_drawn_requests),
	TEST(services_draw_requests_for_the_same_time),
	TEST(services_with_and_without_objectives_have_one_attainment),
	TEST(kernels_take_the_replicas_share_of_the_gpu),
	TEST(memory_of_a_replica_is_its_share_of_the_gpu),
	TEST(memory_of_activations_follows_from_the_largest_iteration),
	TEST(a_request_may_fill_the_cache_exactly),
	TEST(a_service_that_refuses_all_measured_requests_fails),
	TEST(shares_of_requests_have_the_decimals_that_they_need),
	TEST(draws_divide_the_model_error_into_equal_parts),
	TEST(factors_scale_iterations_with_and_without_prompts),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
