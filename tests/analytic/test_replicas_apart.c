/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two replicas of a model server on unlike places get requests in turn, one at a time. So the mean
 * parts of a request are halfway between those of each replica alone. */
#include "sim/serving/serving.h"
#include "tests/case_points.h"
#include "tests/own_folder.h"

struct place {
	const char *what, *settings;
	const char *first, *second;  /* members of the clients */
	const char *host_c, *gpu_b1; /* members of a host, profile of a GPU */
	const char *port_d;          /* rate and latency of a port */
};

/* Four machines with two GPUs each on one switch. */
static void write_topology(const struct place *p)
{
	const char *text = "topology = { name = \"four\"; switches = [\"sw\"];\nhosts = ( ";
	for (char m = 'a'; m <= 'd'; m++)
		text = arena_printf(arena, "%s{ name = \"%c\"; %s }%s", text, m,
				    m == 'c' && p->host_c ? p->host_c : "",
				    m == 'd' ? " );\nguests = ( " : ", ");
	for (char m = 'a'; m <= 'd'; m++)
		text = arena_printf(arena, "%s{ name = \"on-%c\"; host = \"%c\"; }%s", text, m, m,
				    m == 'd' ? " );\ngpus = ( " : ", ");
	for (char m = 'a'; m <= 'd'; m++)
		for (int i = 0; i < 2; i++)
			text = arena_printf(
				arena, "%s{ name = \"%c%d\"; host = \"%c\"; profile = \"%s\"; }%s",
				text, m, i, m,
				m == 'b' && i == 1 && p->gpu_b1 ? p->gpu_b1 : "v100-sxm2",
				m == 'd' && i == 1 ? " );\nlinks = ( " : ",\n");
	for (char m = 'a'; m <= 'd'; m++) {
		for (int i = 0; i < 2; i++)
			text = arena_printf(arena,
					    "%s{ name = \"slot-%c%d\"; kind = \"pcie\"; ends = "
					    "[\"%c\", \"%c%d\"]; },\n",
					    text, m, i, m, m, i);
		const char *own = m == 'd' ? p->port_d : NULL;
		text = arena_printf(arena,
				    "%s{ name = \"port-%c\"; kind = \"ethernet\"; ends = "
				    "[\"on-%c\", \"sw\"]; %s }%s",
				    text, m, m,
				    own ? own : "bandwidth = \"10 Gbit/s\"; latency = \"1 us\";",
				    m == 'd' ? " ); };\n" : ",\n");
	}
	write_file("four.cfg", text);
}

/* Runs the written case. */
static struct serving_answers answers(void)
{
	diag = diag_new(arena);
	const struct case_request request = {.path = path_of("case.cfg"),
					     .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	struct point point = {.failed = true};
	diag_print(diag, stdout);
	if (CHECK(scenario != NULL))
		point = predict_point(arena, scenario, 1, false, NULL, NULL);
	return CHECK(!point.failed && !point.broken) ? point.serving : (struct serving_answers){0};
}

/* Returns the parts of a request at these clients. */
static struct serving_answers answers_of(const struct place *p, const char *clients, int requests)
{
	write_file(
		"case.cfg",
		arena_printf(arena,
			     "case = { topology = \"four.cfg\"; model = \"gpt2\"; %s clients = ( "
			     "%s ); };\n"
			     "serve = { router = \"round-robin\"; spread = 0.0; output_spread = "
			     "0.0; warmup = 0.0; requests = %d; rate = 0.01; prompt = 100; "
			     "output = 20; };\n",
			     p->settings ? p->settings : "", clients, requests));
	return answers();
}

/* Compares the parts of requests at both replicas with those at each alone. `before` are clients of
 * all three cases. */
static void check_halfway(const struct place *p, const char *before)
{
	write_topology(p);
	const char *a = arena_printf(arena, "%s{ name = \"one\"; %s }", before, p->first);
	const char *b = arena_printf(arena, "{ name = \"two\"; %s }", p->second);
	const struct serving_answers first = answers_of(p, a, 2);
	const struct serving_answers second =
		answers_of(p, arena_printf(arena, "%s%s", before, b), 2);
	const struct serving_answers both = answers_of(p, arena_printf(arena, "%s, %s", a, b), 4);
	double unlike_s = 0;
	for (size_t part = 0; part < SERVE_PART_COUNT; part++) {
		double mean_s = (first.parts_s[part] + second.parts_s[part]) / 2;
		unlike_s += fabs(first.parts_s[part] - second.parts_s[part]);
		if (!CHECK(fabs(both.parts_s[part] - mean_s) < 1e-8))
			printf("  part %zu, different %s\n", part, p->what);
	}
	CHECK(unlike_s > 1e-5);
	unlink(path_of("four.cfg"));
	unlink(path_of("case.cfg"));
}

#define SPLIT     "tensor = 2; transport = \"tcp\";"
#define STAGES    "pipeline = 2; transport = \"tcp\"; settings = [\"serve.pipeline=rpc\"];"
#define FORWARDED "runtime = \"synchronous\"; transport = \"tcp\";"

static void unlike_replicas_have_their_own_iterations(void)
{
	static const struct place places[] = {
		{.what = "hosts",
		 .first = "gpu = \"a0\";",
		 .second = "gpu = \"c0\";",
		 .host_c = "clock = \"1.2 GHz\";"},
		{.what = "GPUs",
		 .first = "gpu = \"a0\";",
		 .second = "gpu = \"b1\";",
		 .gpu_b1 = "v100-sxm3-32"},
		{.what = "GPUs of stages on two machines",
		 .settings = STAGES,
		 .first = "gpu = \"b1\";",
		 .second = "gpu = \"c1\";",
		 .gpu_b1 = "p100-sxm2"},
		{.what = "GPUs of stages on one machine",
		 .settings = STAGES,
		 .first = "gpu = \"a0\";",
		 .second = "gpu = \"b0\";",
		 .gpu_b1 = "p100-sxm2"},
		{.what = "wires between their machines",
		 .settings = SPLIT,
		 .first = "gpu = \"a1\";",
		 .second = "gpu = \"c1\";",
		 .port_d = "bandwidth = \"1 Gbit/s\"; latency = \"1 us\";"},
		{.what = "wires of one of them",
		 .settings = SPLIT,
		 .first = "gpu = \"a0\";",
		 .second = "gpu = \"c1\";"},
		{.what = "machines of their programs",
		 .settings = FORWARDED,
		 .first = "gpu = \"a0\"; program = \"on-b\";",
		 .second = "gpu = \"a1\"; program = \"on-c\";",
		 .host_c = "clock = \"1.2 GHz\";"},
		{.what = "servers of their GPUs",
		 .settings = FORWARDED,
		 .first = "gpu = \"a0\"; program = \"on-b\";",
		 .second = "gpu = \"d0\"; program = \"on-b\";",
		 .port_d = "bandwidth = \"10 Gbit/s\"; latency = \"100 us\";"},
	};
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		check_halfway(&places[i], "");
}

/* A machine with a slower port is one of two that process prompts, or that generate tokens. Each of
 * the two GPUs of a replica sends its keys and values to one of the other replica. */
static void keys_and_values_travel_between_the_replicas_of_their_request(void)
{
	static const struct place places[] = {
		{.what = "replicas that generate",
		 .settings = SPLIT,
		 .first = "gpu = \"b0\"; role = \"decode\";",
		 .second = "gpu = \"d0\"; role = \"decode\";",
		 .port_d = "bandwidth = \"1 Gbit/s\"; latency = \"1 us\";"},
		{.what = "replicas that process prompts",
		 .settings = SPLIT,
		 .first = "gpu = \"b0\"; role = \"prefill\";",
		 .second = "gpu = \"d0\"; role = \"prefill\";",
		 .port_d = "bandwidth = \"1 Gbit/s\"; latency = \"1 us\";"},
	};
	check_halfway(&places[0], "{ name = \"other\"; gpu = \"a0\"; role = \"prefill\"; }, ");
	check_halfway(&places[1], "{ name = \"other\"; gpu = \"a0\"; role = \"decode\"; }, ");
}

/* The second GPU of a replica is in machine d, whose port is slow. 100 tokens of GPT-2 have 12
 * layers x 2 x 768 features x 2 B, half of which are on each GPU: 1.84 MB, which take 14.7 ms at 1
 * Gb/s. The first GPU's part arrives earlier. So does all of a replica with fast ports. */
static void a_request_waits_for_the_keys_and_values_of_each_gpu(void)
{
	const struct place place = {.settings = SPLIT,
				    .port_d = "bandwidth = \"1 Gbit/s\"; latency = \"1 us\";"};
	const double slow_s = 100 * 12 * 768 * 2 * 8 / 1e9;
	static const char *const clients[] = {
		"{ name = \"from\"; gpu = \"a1\"; role = \"prefill\"; }, { name = \"to\"; gpu = "
		"\"b1\"; role = \"decode\"; }",
		"{ name = \"from\"; gpu = \"c1\"; role = \"prefill\"; }, { name = \"to\"; gpu = "
		"\"a0\"; role = \"decode\"; }"};
	for (size_t i = 0; i < 2; i++) {
		write_topology(&place);
		double took_s = answers_of(&place, clients[i], 2).parts_s[SERVE_TRANSFER];
		CHECK(i == 0 ? took_s > 0 && took_s < slow_s : took_s > slow_s);
	}
	unlink(path_of("four.cfg"));
	unlink(path_of("case.cfg"));
}

/* Two thirds of the layers are on V100, and one on a P100 with as much memory. The slowest of three
 * GPUs has a slightly lower clock than one GPU. */
static void stages_over_rpc_take_the_times_of_their_gpus(void)
{
	static const struct place whole = {.gpu_b1 = "p100-sxm2"},
				  split = {.settings =
						   "pipeline = 3; transport = \"tcp\"; settings = "
						   "[\"serve.pipeline=rpc\"];",
					   .gpu_b1 = "p100-sxm2"};
	write_topology(&whole);
	double v100_s = answers_of(&whole, "{ gpu = \"b0\"; }", 2).parts_s[SERVE_KERNEL];
	double p100_s = answers_of(&whole, "{ gpu = \"b1\"; }", 2).parts_s[SERVE_KERNEL];
	double both_s = answers_of(&split, "{ gpu = \"a1\"; }", 2).parts_s[SERVE_KERNEL];
	CHECK(p100_s > 1.1 * v100_s);
	CHECK_NEAR(both_s, (2 * v100_s + p100_s) / 3, 1e-3);
	unlink(path_of("four.cfg"));
	unlink(path_of("case.cfg"));
}

/* Stages are on b, c, c and d. Each of 20 iterations sends to d and back, so 1 ms more latency of
 * its port adds 40 ms, and a little more for the packets of the prompt. */
static void messages_over_rpc_reach_the_machine_of_their_stage(void)
{
	double took_s[2];
	for (size_t i = 0; i < 2; i++) {
		const struct place place = {
			.settings = "pipeline = 4; transport = \"tcp\"; settings = "
				    "[\"serve.pipeline=rpc\"];",
			.port_d = i ? "bandwidth = \"10 Gbit/s\"; latency = \"1001 us\";"
				    : "bandwidth = \"10 Gbit/s\"; latency = \"1 us\";"};
		write_topology(&place);
		took_s[i] = answers_of(&place, "{ gpu = \"b1\"; }", 2).parts_s[SERVE_EXCHANGE];
	}
	CHECK_NEAR(took_s[1] - took_s[0], 20 * 2e-3, 0.05);
	unlink(path_of("four.cfg"));
	unlink(path_of("case.cfg"));
}

/* Three stages are on a, b and b, so only the first one sends its outputs over the network. */
static void outputs_of_stages_pass_their_own_links(void)
{
	double took_s[3];
	for (size_t i = 0; i < 3; i++) {
		const struct place place = {
			.settings =
				arena_printf(arena, "pipeline = %zu; transport = \"tcp\";", i + 1)};
		write_topology(&place);
		took_s[i] = answers_of(&place, "{ gpu = \"a1\"; }", 2).parts_s[SERVE_EXCHANGE];
	}
	CHECK(took_s[0] == 0 && took_s[1] > 0);
	CHECK(took_s[2] > 1.01 * took_s[1] && took_s[2] < 1.7 * took_s[1]);
	unlink(path_of("four.cfg"));
	unlink(path_of("case.cfg"));
}

/* The cache of the GPUs holds one of two prefixes, so the last request gets the first one again
 * from the host of the store, a. Each GPU gets half of the 18,432 B x 2 of a token. 512 tokens
 * take 75.5 ms over the 1 Gb/s of d, and a tenth of that over the port of c. The request waits for
 * both. */
static void each_gpu_gets_its_part_from_the_store(void)
{
	static const double rates_Gbps[] = {10, 1};
	for (size_t i = 0; i < 2; i++) {
		const struct place place = {
			.port_d = arena_printf(arena,
					       "bandwidth = \"%g Gbit/s\"; latency = \"1 us\";",
					       rates_Gbps[i])};
		write_topology(&place);
		write_file("list.tsv", "0 520 8 1 512\n10 520 8 2 512\n20 520 8 1 512\n");
		write_file("case.cfg",
			   "case = { topology = \"four.cfg\"; model = \"gpt2\"; engine = \"vllm\"; "
			   "tensor = 2; transport = \"tcp\"; gpu = \"c1\"; };\n"
			   "serve = { list = \"list.tsv\"; host_cache = \"10 GB\"; warmup = 0.7; "
			   "cache_blocks = 40; cache_host = \"on-a\"; };\n");
		double took_s = answers().parts_s[SERVE_TRANSFER];
		double part_B = 512 * 18432;
		double wire_s = fmax(2 * part_B * 8 / 10e9, part_B * 8 / (rates_Gbps[i] * 1e9));
		CHECK(took_s > wire_s && took_s < wire_s + 6e-3);
	}
	unlink(path_of("four.cfg"));
	unlink(path_of("case.cfg"));
	unlink(path_of("list.tsv"));
}

static const struct test tests[] = {
	TEST(each_gpu_gets_its_part_from_the_store),
	TEST(stages_over_rpc_take_the_times_of_their_gpus),
	TEST(messages_over_rpc_reach_the_machine_of_their_stage),
	TEST(outputs_of_stages_pass_their_own_links),
	TEST(a_request_waits_for_the_keys_and_values_of_each_gpu),
	TEST(unlike_replicas_have_their_own_iterations),
	TEST(keys_and_values_travel_between_the_replicas_of_their_request),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int result = TEST_MAIN(tests);
	folder_end();
	return result;
}
