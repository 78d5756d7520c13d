/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two training jobs on two machines without a network share nothing. So each takes the steps that
 * it takes without the other one, whatever distinguishes the two. */
#include "sim/scenario/system.h"
#include "tests/own_folder.h"

struct pair {
	const char *what;
	const char *settings;     /* of the case */
	const char *first;        /* members of the first job */
	const char *second;       /* and of the second one */
	const char *host, *guest; /* of the second machine */
	const char *gpu;          /* profile of its two GPUs */
};

static void write_topology(const struct pair *pair)
{
	write_file("pair.cfg",
		   arena_printf(arena,
				"topology = { name = \"pair\"; hosts = ( { name = \"a\"; }, { name "
				"= \"b\"; %s } );\n"
				"guests = ( { name = \"on-a\"; host = \"a\"; }, { name = \"on-b\"; "
				"host = \"b\"; %s } );\n"
				"gpus = ( { name = \"a0\"; host = \"a\"; profile = \"v100-sxm2\"; "
				"}, { name = \"a1\"; host = \"a\"; profile = \"v100-sxm2\"; },\n"
				"{ name = \"b0\"; host = \"b\"; profile = \"%s\"; }, { name = "
				"\"b1\"; host = \"b\"; profile = \"%s\"; } );\n"
				"links = ( { name = \"s0\"; kind = \"pcie\"; ends = [\"a\", "
				"\"a0\"]; }, { name = \"s1\"; kind = \"pcie\"; ends = [\"a\", "
				"\"a1\"]; },\n"
				"{ name = \"s2\"; kind = \"pcie\"; ends = [\"b\", \"b0\"]; }, { "
				"name = \"s3\"; kind = \"pcie\"; ends = [\"b\", \"b1\"]; } ); };\n",
				pair->host ? pair->host : "", pair->guest ? pair->guest : "",
				pair->gpu ? pair->gpu : "v100-sxm2",
				pair->gpu ? pair->gpu : "v100-sxm2"));
}

/* Runs the case with these jobs. Returns the number of jobs and their results. */
static struct world_outcome outcome_of(const struct pair *pair, const char *jobs)
{
	write_file(
		"case.cfg",
		arena_printf(arena,
			     "case = { topology = \"pair.cfg\"; model = \"alexnet\"; "
			     "batch = 16; %s jobs = ( %s ); };\n",
			     pair->settings ? pair->settings : "settings = [\"exchange.noise=0\"];",
			     jobs));
	diag = diag_new(arena);
	const struct case_request request = {.path = path_of("case.cfg"),
					     .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	return CHECK(scenario != NULL) ? world_run(arena, scenario, 1, NULL)
				       : (struct world_outcome){.job_count = 0};
}

/* Returns true if the two take the same time but for the rounding of events to a picosecond. */
static bool same(double a_s, double b_s)
{
	return fabs(a_s - b_s) < 1e-9;
}

static bool has_steps_of(const struct job_run *run, const struct job_run *alone)
{
	return CHECK(!run->failed && !alone->failed) &&
	       CHECK(same(run->solo_step_s, alone->solo_step_s)) &&
	       CHECK(same(job_run_step_s(run), job_run_step_s(alone))) &&
	       CHECK(same(run->steps[1].kernel_s, alone->steps[1].kernel_s));
}

static void jobs_without_a_shared_part_take_the_steps_of_each_alone(void)
{
#define ON_A          "name = \"first\"; first_gpu = 0;"
#define OWN_EXCHANGES "exchange = \"ddl\"; settings = [\"exchange.*.noise=0\"];"
#define ON_B          "name = \"second\"; first_gpu = 2;"
	static const struct pair pairs[] = {
		{.what = "equal jobs", .first = "gpus = 2;", .second = "gpus = 2;"},
		{.what = "networks",
		 .first = "gpus = 1;",
		 .second = "gpus = 1; model = \"vgg16\";"},
		{.what = "batches", .first = "gpus = 1;", .second = "gpus = 1; batch = 24;"},
		{.what = "numbers of GPUs", .first = "gpus = 1;", .second = "gpus = 2;"},
		{.what = "times at which gradients are handed over",
		 .settings = OWN_EXCHANGES,
		 .first = "gpus = 2; exchange = \"ddp\";",
		 .second = "gpus = 2; exchange = \"apex-delayed\";"},
		{.what = "places of updates",
		 .settings = "exchange = \"ddl\"; settings = [\"exchange.*.noise=0\", "
			     "\"exchange.*.overlap=false\"];",
		 .first = "gpus = 2; exchange = \"ddp\";",
		 .second = "gpus = 2; exchange = \"tf2-mirrored\";"},
		{.what = "input",
		 .settings = "settings = [\"exchange.noise=0\", \"stack.real_input=true\", "
			     "\"link.*.lanes=1\", \"link.*.generation=1\"];",
		 .first = "gpus = 1;",
		 .second = "gpus = 1; input = \"host\";"},
		{.what = "hosts",
		 .first = "gpus = 1;",
		 .second = "gpus = 1;",
		 .host = "clock = \"1.2 GHz\";"},
		{.what = "guests",
		 .first = "gpus = 1;",
		 .second = "gpus = 1;",
		 .guest = "kind = \"vm\"; work_cost = 1.0;"},
		{.what = "GPUs of one efficiency",
		 .first = "gpus = 1;",
		 .second = "gpus = 1;",
		 .gpu = "v100-sxm3-32"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		const struct pair *p = &pairs[i];
		write_topology(p);
		const char *a = arena_printf(arena, "{ " ON_A " %s }", p->first);
		const char *b = arena_printf(arena, "{ " ON_B " %s }", p->second);
		struct world_outcome both = outcome_of(p, arena_printf(arena, "%s, %s", a, b));
		struct world_outcome first = outcome_of(p, a), second = outcome_of(p, b);
		if (!CHECK(both.job_count == 2 && first.job_count == 1 && second.job_count == 1))
			return;
		if (!has_steps_of(&both.jobs[0], &first.jobs[0]) ||
		    !has_steps_of(&both.jobs[1], &second.jobs[0]))
			printf("  different %s\n", p->what);
		CHECK((i == 0) ==
		      same(first.jobs[0].steps[1].kernel_s + job_run_step_s(&first.jobs[0]),
			   second.jobs[0].steps[1].kernel_s + job_run_step_s(&second.jobs[0])));
	}
	unlink(path_of("pair.cfg"));
	unlink(path_of("case.cfg"));
}

static const struct test tests[] = {
	TEST(jobs_without_a_shared_part_take_the_steps_of_each_alone),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int result = TEST_MAIN(tests);
	folder_end();
	return result;
}
