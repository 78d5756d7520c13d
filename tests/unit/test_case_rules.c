/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of cases, each in a table: transports, profiles, places of jobs, what a case may combine.
 */
#include <string.h>

#include "sim/cuda/program.h"
#include "sim/predict/predict.h"
#include "sim/scenario/evidence.h"
#include "sim/traces/recorded_job.h"
#include "sim/traces/replay.h"
#include "sim/training/gradients.h"
#include "tests/own_folder.h"

/* Reads the text as a case file, if it is not NULL, with the settings, which blanks separate. */
static const struct scenario *read_case(const char *text, const char *settings)
{
	enum { SETTINGS_MAX = 24 };
	struct setting list[SETTINGS_MAX];
	struct case_request request = {.settings = list, .data_root = data_root_find(arena)};
	char *words = arena_strdup(arena, settings);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		list[request.setting_count++] = (struct setting){word, {"--set", 0}};
	if (text) {
		write_file("own.cfg", text);
		request.path = path_of("own.cfg");
	}
	diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, &request);
	if (text)
		remove(path_of("own.cfg"));
	return scenario;
}

static const struct scenario *good(const char *text, const char *settings)
{
	const struct scenario *scenario = read_case(text, settings);
	diag_print(diag, stdout);
	if (!CHECK(scenario != NULL))
		printf("  %s\n", settings);
	return scenario;
}

static double peak_of(const struct scenario *scenario)
{
	return scenario ? scenario->jobs[0].efficiency->peak_ratio : NAN;
}

/* Collectives and messages of ranks take RDMA where there is some, and forwarded calls do not. */
static void auto_selects_the_transport_by_what_travels(void)
{
	static const char *const rows[][2] = {
		{"case.topology=dgx-a100 case.gpus=16 case.model=gpt2 plan.tp=2", "rdma"},
		{"case.topology=dgx-a100 case.gpus=2 case.model=alexnet plan.pp=2", "rdma"},
		{"case.topology=dgx-a100 case.gpus=2 case.collective=all_reduce", "rdma"},
		{"case.topology=dgx-a100 case.gpus=2 case.model=alexnet", "rdma"},
		{"case.topology=dgx-a100 case.gpus=2 case.model=alexnet case.runtime=asynchronous",
		 "tcp"},
		{"case.topology=dgx1-v100-ethernet case.gpus=2 case.model=alexnet plan.pp=2",
		 "tcp"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s = good(NULL, rows[i][0]);
		if (s)
			CHECK_TEXT(s->jobs[0].transport->name, rows[i][1]);
	}
}

/* The efficiency of ResNet-50 on a V100 is fitted. A profile of the case overrides it, and settings
 * override both. Names of profiles that do not apply are whole words. */
static void profiles_apply_in_their_order(void)
{
	static const char gpu[] = "case.topology=gpu-pool case.model=resnet50 case.stack=pytorch";
	double fitted = peak_of(good(NULL, gpu));
	static const struct {
		const char *without;
		bool applies;
	} rows[] = {{"v100-sxm2", false},           {"v100-sxm2 x", false}, {"x v100-sxm2", false},
		    {"x v100-sxm2 y", false},       {"v100-sxm2x", true},   {"xv100-sxm2", true},
		    {"v100-sxm2x v100-sxm2", false}};
	write_file("mine.cfg",
		   "parameters = ( { path = \"efficiency.v100-sxm2.resnet50.peak\"; fit = "
		   "{ value = 0.123; }; } );");
	CHECK(fitted > 0.5);
	CHECK_NEAR(peak_of(good(NULL, arena_printf(arena, "%s case.profile=%s", gpu,
						   path_of("mine.cfg")))),
		   0.123, 1e-12);
	CHECK_NEAR(peak_of(good(NULL, arena_printf(arena,
						   "efficiency.v100-sxm2.resnet50.peak=0.4 %s "
						   "case.profile=%s",
						   gpu, path_of("mine.cfg")))),
		   0.4, 1e-12);
	remove(path_of("mine.cfg"));
	CHECK(peak_of(good(NULL, arena_printf(arena, "%s case.gpu_profiles=false", gpu))) == 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s =
			good(arena_printf(arena,
					  "case = { topology = \"gpu-pool\"; model = \"resnet50\"; "
					  "stack = \"pytorch\";\n"
					  "gpu_profiles_without = \"%s\"; };",
					  rows[i].without),
			     "");
		if (!CHECK(rows[i].applies ? peak_of(s) == fitted : peak_of(s) == 0))
			printf("  without %s\n", rows[i].without);
	}
}

/* A user's own file goes before a shipped one of the same name. */
static void own_files_go_before_shipped_ones(void)
{
	write_file("ddl_p100.cfg",
		   "topology = { name = \"own\"; hosts = ( { name = \"h\"; } );\n"
		   "guests = ( { name = \"g\"; host = \"h\"; } );\n"
		   "gpus = ( { name = \"x\"; host = \"h\"; profile = \"p100-pcie\"; } );\n"
		   "links = ( { name = \"slot\"; kind = \"pcie\"; ends = [\"h\", \"x\"]; } ); };");
	const struct scenario *s = good("case = { topology = \"ddl_p100.cfg\"; };", "");
	if (s)
		CHECK_TEXT(s->topology.name, "own");
	remove(path_of("ddl_p100.cfg"));
}

/* Machines have two GPUs. Jobs take the GPUs from first_gpu on, or those behind the previous job.
 */
static void jobs_get_the_machines_that_their_places_need(void)
{
	static const struct {
		const char *jobs;
		size_t gpus, first[2];
	} rows[] = {
		{"{ gpus = 2; }, { gpus = 2; }", 4, {0, 2}},
		{"{ gpus = 2; first_gpu = 4; }, { gpus = 2; }", 8, {4, 0}},
		{"{ gpus = 3; }, { gpus = 2; first_gpu = 6; }", 8, {0, 6}},
		{"{ gpus = 2; gpus_per_machine = 1; }, { gpus = 2; gpus_per_machine = 1; }",
		 8,
		 {0, 1}},
		{"{ gpus = 2; gpus_per_machine = 2; }, { gpus = 2; gpus_per_machine = 1; }",
		 8,
		 {0, 2}},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s =
			good(arena_printf(arena,
					  "case = { topology = \"c10-p100\"; model = \"alexnet\";\n"
					  "guest = \"os\"; jobs = ( %s ); };",
					  rows[i].jobs),
			     "");
		if (!s)
			continue;
		if (!CHECK(s->topology.gpu_count == rows[i].gpus))
			printf("  %s: %zu\n", rows[i].jobs, s->topology.gpu_count);
		for (size_t k = 0; k < 2; k++)
			if (!CHECK(s->jobs[k].gpus[0] == rows[i].first[k]))
				printf("  %s: job %zu at %zu\n", rows[i].jobs, k,
				       s->jobs[k].gpus[0]);
	}
}

/* Machines have eight GPUs. There are two of the first kind, and as many of the second one as the
 * job needs for the GPUs that it uses in each machine, but at least one. */
static void machines_without_a_count_add_the_gpus_that_a_job_uses(void)
{
	static const struct {
		const char *settings;
		size_t machines;
	} rows[] = {{"case.gpus=16", 3}, /* at least one of each kind */
		    {"case.gpus=17", 3},
		    {"case.gpus=25", 4},
		    {"case.gpus=8 case.gpus_per_machine=4", 3},
		    {"case.gpus=16 case.gpus_per_machine=4", 4},
		    {"case.gpus=17 case.gpus_per_machine=4", 5}};
	write_file(
		"mixed.cfg",
		"topology = { name = \"mixed\"; cluster = { network = \"infiniband-edr\";\n"
		"machines = ( { name = \"a\"; machine = \"dgx1-v100\"; count = 2; ports = 1; },\n"
		"{ name = \"b\"; machine = \"dgx1-v100\"; ports = 1; } ); }; };\n");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s =
			good(NULL, arena_printf(arena, "case.model=alexnet case.topology=%s %s",
						path_of("mixed.cfg"), rows[i].settings));
		if (!CHECK(s && s->topology.host_count == rows[i].machines))
			printf("  %s\n", rows[i].settings);
	}
	remove(path_of("mixed.cfg"));
}

/* One machine stands for all that a job of 1,024 GPUs fills, but not if it leaves out the first. */
static void jobs_that_begin_later_are_not_folded(void)
{
	for (size_t first = 0; first <= 8; first += 8) {
		const struct scenario *s = good(
			arena_printf(arena,
				     "case = { topology = \"dgx-h100\"; model = \"resnet50\";\n"
				     "jobs = ( { gpus = 1024; first_gpu = %zu; } ); };",
				     first),
			"");
		CHECK(s && (s->topology.fold != NULL) == (first == 0));
		CHECK(s && s->jobs[0].gpus[0] == first);
	}
}

static void folds_need_lossless_links_and_ranks_that_begin_together(void)
{
	static const char *const rows[][2] = {
		{"", "folded"},
		{"link.network.loss=1e-6", ""},
		{"library.stagger=1us", ""},
		/* builds all pairs, which is too much for many ranks */
		{"library.algorithm=recursive_doubling", ""},
		{"case.symmetry=on case.gpus=64 library.algorithm=recursive_doubling", "folded"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s =
			good(NULL, arena_printf(arena,
						"case.topology=dgx-h100 case.model=resnet50 "
						"case.symmetry=auto case.gpus=1024 %s",
						rows[i][0]));
		if (!CHECK(s && (s->topology.fold != NULL) == (rows[i][1][0] != 0)))
			printf("  %s\n", rows[i][0]);
	}
}

/* Three simulated GPUs on two machines are two on one of them. */
static void tensor_groups_fit_into_the_largest_machine(void)
{
	static const size_t rows[][3] = {{3, 2, 2}, {4, 2, 2}, {1, 2, 1}, {8, 1, 8}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario scenario = {.topology.host_count = rows[i][1]};
		const struct job_entry entry = {.simulated_count = rows[i][0]};
		CHECK(job_machine_gpus(&scenario, &entry) == rows[i][2]);
	}
}

/* Programs with variables on their host add gradients with all threads of the library. */
static void variables_on_the_host_use_all_threads(void)
{
	const struct scenario *s =
		good(NULL, "case.topology=gpu-pool case.runtime=asynchronous case.transport=tcp "
			   "case.program=client1 case.gpus=2 case.programs=1 case.model=alexnet "
			   "case.exchange=tf-parameter-server library.cpu_reduce=2GB/s "
			   "library.cpu_reduce_threads=5");
	if (s && CHECK(s->jobs[0].spread != NULL)) {
		CHECK(s->jobs[0].spread->on_cpu && s->jobs[0].spread->device_count == 2);
		CHECK_NEAR(s->jobs[0].spread->cpu_Bps, 10e9, 1e-12);
		CHECK_NEAR(s->jobs[0].spread->element_B, 4, 1e-12);
	}
}

static void programs_exchange_gradients_of_their_size(void)
{
	static const char *const settings[] = {"stack.fp16_gradients=false",
					       "stack.fp16_gradients=true"};
	for (size_t i = 0; i < 2; i++) {
		const struct scenario *s = good(
			NULL, arena_printf(arena,
					   "case.topology=gpu-pool case.runtime=asynchronous "
					   "case.transport=tcp case.program=client1 case.gpus=2 "
					   "case.model=alexnet case.exchange=nccl-2.18 %s",
					   settings[i]));
		if (s && CHECK(s->jobs[0].spread != NULL))
			CHECK(s->jobs[0].spread->element_B == (i ? 2 : 4));
	}
}

/* A GPU that keeps half of its rate twice has a quarter left. */
static void faults_of_one_gpu_multiply(void)
{
	static const struct {
		const char *degrade;
		double lost;
	} rows[] = {{"gpu0=0.5", 0.5}, {"gpu0=0.5,gpu0=0.5", 0.75}, {"gpu0=0.5,n0=0.4", 0.8}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s =
			good(NULL, arena_printf(arena,
						"case.topology=dgx1-v100 case.gpus=2 "
						"case.model=alexnet case.degrade=%s",
						rows[i].degrade));
		if (s)
			CHECK_NEAR(s->topology.gpus[0].lost_ratio, rows[i].lost, 1e-12);
	}
}

/* A recorded step of 10 ms, or of 10 and 30 ms on two ranks, and a simulated one of 15 ms. */
static void words_compare_the_step_with_the_recorded_one(void)
{
	struct recorded_call timed = {.function = ""},
			     untimed = {.function = "", .gpu_start_s = -1};
	struct replay_step steps[] = {{.start_s = 1, .end_s = 1.01}, {.start_s = 2, .end_s = 2.03}};
	const struct recorded_job two = {.rank_count = 2};
	static const char *const words[] = {
		"took 10 ms, so the simulated one differs by +50.0 %",
		"took 20 ms, so the simulated one differs by -25.0 %",
		"the recording does not say when the GPU worked, so it has no step time"};
	for (size_t i = 0; i < 3; i++) {
		const struct recorded_calls calls = {.gpu = "",
						     .calls = i < 2 ? &timed : &untimed,
						     .call_count = 1,
						     .thread_count = 1};
		const struct recorded_program program = {.calls = &calls,
							 .job = i == 1 ? &two : NULL,
							 .step = steps[0],
							 .steps = steps};
		static const size_t first_gpu = 0;
		const struct gpu_entry gpu = {.profile = "v100-sxm2"};
		const struct job_entry entry = {
			.rank_count = 1, .recorded = &program, .gpus = &first_gpu};
		const struct scenario scenario = {
			.jobs = &entry, .job_count = 1, .topology = {.gpus = &gpu, .gpu_count = 1}};
		CHECK_PART(scenario_distance_words(arena, &scenario, 15e-3), words[i]);
	}
}

/* A framework and a library without measurements are two statements. */
static void words_of_both_parts_are_joined_if_they_agree(void)
{
	static const struct {
		enum distance one_gpu, own;
		const char *words;
	} rows[] = {
		{DISTANCE_SAME_SYSTEM, DISTANCE_SAME_SYSTEM,
		 "this system was measured, and parameters are fitted to it"},
		{DISTANCE_NEW_MACHINE, DISTANCE_NEW_MACHINE,
		 "no machine of this kind was measured"},
		{DISTANCE_SAME_SYSTEM, DISTANCE_NEW_MACHINE,
		 "for one GPU, this system was measured, and parameters are fitted to it; for "
		 "several GPUs, "
		 "no machine of this kind was measured"},
		{DISTANCE_NEW_LIBRARY, DISTANCE_NEW_LIBRARY,
		 "for one GPU, nothing with this framework was measured; for several GPUs, "
		 "nothing with this library was measured"},
	};
	const struct job_entry entry = {.rank_count = 2};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct scenario scenario = {.jobs = &entry, .job_count = 1};
		scenario.distances[PART_ONE_GPU] = rows[i].one_gpu;
		scenario.distances[PART_OWN] = rows[i].own;
		CHECK_TEXT(scenario_distance_words(arena, &scenario, 0), rows[i].words);
	}
}

static const enum distance *distances_of(const char *settings)
{
	const struct scenario *s =
		good(NULL, arena_printf(arena, "case.topology=dgx1-v100 case.model=inception3 %s",
					settings));
	static const enum distance none[CASE_PART_COUNT];
	return s ? s->distances : none;
}

/* A user who states the rate of one GPU knows this GPU, but not how several of them work. Without
 * the GPUs' profiles, measurements of their generation do not count. */
static void stated_rates_and_left_out_profiles_change_the_distance(void)
{
	static const char peak[] = "efficiency.v100-sxm2.inception3.peak=0.4";
	enum distance own = distances_of("")[PART_OWN];
	CHECK(own > DISTANCE_SAME_SYSTEM);
	CHECK(distances_of("case.gpu_profiles=false")[PART_OWN] > own);
	CHECK(distances_of(peak)[PART_OWN] == DISTANCE_SAME_SYSTEM);
	own = distances_of("case.gpus=2")[PART_OWN];
	CHECK(own > DISTANCE_SAME_SYSTEM);
	const enum distance *two = distances_of(arena_printf(arena, "case.gpus=2 %s", peak));
	CHECK(two[PART_ONE_GPU] == DISTANCE_SAME_SYSTEM && two[PART_OWN] == own);
}

/* A model server's and a program's GPUs are not counted. */
static void rates_per_gpu_need_several_gpus(void)
{
	const struct case_params plain = {.gpus_count = 0}, said = {.gpus_count = 1};
	const struct job_entry one = {.rank_count = 1}, two = {.rank_count = 2};
	struct scenario s = {
		.jobs = &one, .job_count = 1, .params = &plain, .style = JOBS_PROGRAMS};
	CHECK(!scenario_has_gpus(&s));
	s.params = &said;
	CHECK(scenario_has_gpus(&s));
	s.params = &plain;
	s.jobs = &two;
	CHECK(scenario_has_gpus(&s));
	s.style = JOBS_SERVING;
	CHECK(!scenario_has_gpus(&s));
}

/* ---- what a case may combine ---- */

#define SERVED(serve)                                                                              \
	"case = { topology = \"l40s-8gpu\"; model = \"gpt2\"; };\nserve = { " serve " };"
#define ROLES(clients)                                                                             \
	"case = { topology = \"l40s-8gpu\"; model = \"gpt2\"; exchange = \"nccl-2.18\";\n"         \
	"clients = ( " clients " ); };\nserve = { rate = 1; };"
#define ALL_GATHER_FILE "library.msccl=tests/samples/workloads/msccl-allgather-8n.xml"
#define PREFILL         "{ role = \"prefill\"; }"
#define DECODE          "{ role = \"decode\"; }"

static void combinations_are_accepted_or_refused(void)
{
	static const struct {
		const char *text, *settings, *error; /* NULL: accepted */
	} rows[] = {
		/* GPT-2 has sequences of 1,024 tokens */
		{SERVED("prompt = 1000; output = 24;"), "", NULL},
		{SERVED("prompt = 1000; output = 25;"), "",
		 "has 1025 tokens in its prompt and output"},
		{ROLES(PREFILL ", " DECODE), "", NULL},
		{ROLES(PREFILL ", " DECODE ", { }"), "", "1 times decode and 1 times both"},
		{ROLES(PREFILL ", { }"), "", "0 times decode and 1 times both"},
		{ROLES(DECODE), "", "0 times the role prefill"},
		{NULL,
		 "case.topology=dgx1-v100 case.model=gpt2 case.stack=pytorch case.gpus=2 "
		 "case.tokens=1000000",
		 NULL},
		{NULL,
		 "case.topology=dgx1-v100 case.model=gpt2 case.stack=pytorch case.gpus=2 "
		 "case.tokens=1000000 case.epochs=1",
		 "case.tokens cannot be combined with case.epochs or case.job_steps"},
		{NULL,
		 "case.topology=dgx1-v100 case.model=gpt2 case.stack=pytorch case.gpus=2 "
		 "case.tokens=1000000 case.job_steps=9",
		 "case.tokens cannot be combined with case.epochs or case.job_steps"},
		{NULL, "case.topology=dgx1-v100 case.model=alexnet case.gpus=2 case.tokens=1000000",
		 "case.tokens needs networks with sequences"},
		{NULL,
		 "case.topology=dgx1-v100 case.model=alexnet case.gpus=2 case.epochs=1 "
		 "case.job_steps=9",
		 "both say how long the job is"},
		{NULL,
		 "case.topology=dgx-a100 case.gpus=8 case.collective=all_gather "
		 "library.algorithm=doubling_all_gather",
		 NULL},
		{NULL,
		 "case.topology=dgx-a100 case.gpus=8 case.collective=broadcast "
		 "library.algorithm=doubling_all_gather",
		 "cannot do the collective"},
		{NULL, "case.topology=dgx-a100 case.gpus=8 case.model=alexnet " ALL_GATHER_FILE,
		 NULL},
		{NULL,
		 "case.topology=dgx-a100 case.gpus=8 case.collective=all_reduce " ALL_GATHER_FILE,
		 "the file has an algorithm of all_gather"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s = read_case(rows[i].text, rows[i].settings);
		if (!CHECK((s != NULL) == !rows[i].error))
			printf("  row %zu\n", i);
		if (rows[i].error && diag_count(diag) > 0)
			CHECK_PART(diag_at(diag, 0), rows[i].error);
		else
			diag_print(diag, stdout);
	}
}

/* Copies of two GPUs each follow each other, the fifth one on a second machine. */
static void copies_of_tensor_groups_are_spread_over_gpus(void)
{
	const struct scenario *s =
		good(NULL,
		     "case.topology=l40s-8gpu case.model=gpt2 case.exchange=nccl-2.18 serve.rate=1 "
		     "case.tensor=2 case.copies=5 case.gpu=spread");
	if (!CHECK(s && s->job_count == 5))
		return;
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 2; k++)
			CHECK(s->jobs[i].gpus[k] == 2 * i + k);
	CHECK(!read_case(NULL, "case.topology=l40s-8gpu case.model=gpt2 case.exchange=nccl-2.18 "
			       "serve.rate=1 case.tensor=2 case.gpu=n0.gpu7"));
	if (CHECK(diag_count(diag) > 0))
		CHECK_PART(diag_at(diag, 0), "2 GPUs from 'n0.gpu7' on are needed");
}

/* A key is refused in the sorts of cases that would answer another question: one program (P), a
 * model server (S), ranks call by call (R), a job of fused steps (J), a collective (C). Other keys
 * without effect are only named (effects.sh). */
static void keys_of_other_sorts_of_cases_are_refused(void)
{
	static const struct {
		const char *setting, *refused_in;
	} rows[] = {
		{"case.gpus_per_machine=1", "PS"},
		{"case.exchange=nccl-2.18", ""},
		{"case.guest=os", "PS"},
		{"case.straggler=2", "PS"},
		{"case.epochs=1", "PSC"},
		{"case.tokens=1000000", "PSC"},
		{"case.symmetry=off", ""},
		{"case.job_steps=5", "PS"},
		{"case.programs=2", "PSJC"},
		{"case.program=n0.os", "JC"},
		{"case.server=n0.os", ""},
		{"case.gpu=n0.gpu0", "JC"},
		{"case.copies=2", "JC"},
		{"case.fraction=0.5", "JC"},
		{"case.batch=8", "SC"},
		{"case.steps=5", ""},
		{"case.collective_size=1KiB", "PSRJ"},
		{"case.transport=tcp", ""},
		{"case.images=5", ""},
		{"case.model=gpt2", "C"},
		{"case.sequence=512", ""},
	};
	static const struct {
		char sort;
		const char *settings;
	} sorts[] = {
		{'P', "case.topology=l40s-8gpu"},
		{'S', "case.topology=l40s-8gpu serve.rate=1 serve.prompt=100 serve.output=100"},
		{'R', "case.topology=l40s-8gpu case.gpus=2 plan.tp=2"},
		{'J', "case.topology=l40s-8gpu case.gpus=2 case.stack=pytorch-amp"},
		{'C', "case.topology=l40s-8gpu case.gpus=2 case.collective=all_reduce"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (size_t k = 0; k < sizeof sorts / sizeof sorts[0]; k++) {
			const char *model = sorts[k].sort == 'C' ? "" : " case.model=gpt2";
			(void)read_case(NULL, arena_printf(arena, "%s%s %s", sorts[k].settings,
							   model, rows[i].setting));
			size_t length = strcspn(rows[i].setting, "=");
			const char *start = arena_printf(arena, "case: %.*s has ", (int)length,
							 rows[i].setting);
			bool refused = false;
			for (size_t d = 0; d < diag_count(diag); d++)
				refused = refused || strstr(diag_at(diag, d), start);
			if (!CHECK(refused == (strchr(rows[i].refused_in, sorts[k].sort) != NULL)))
				printf("  %s in %c\n", rows[i].setting, sorts[k].sort);
		}
	/* A collective may replace the training of a case file. */
	CHECK(good("case = { topology = \"l40s-8gpu\"; gpus = 2; model = \"gpt2\"; batch = 8; };",
		   "case.collective=all_reduce") != NULL);
}

/* Links inside machines count as long as nothing passes between machines. */
static void evidence_names_the_links_that_traffic_passes(void)
{
	static const char *const rows[][2] = {
		{"case.topology=dgx1-v100 case.gpus=8 case.model=alexnet", "pcie nvlink socket"},
		{"case.topology=dgx1-v100 case.gpus=16 case.model=alexnet", "infiniband"},
		{"case.topology=dgx1-v100-ethernet case.gpus=16 case.model=alexnet", "ethernet"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct scenario *s = good(NULL, rows[i][0]);
		if (s)
			CHECK_TEXT(evidence_of(arena, s).words[EVIDENCE_LINKS], rows[i][1]);
	}
}

static void evidence_names_the_stack_and_the_exchange_of_the_first_program(void)
{
	const struct scenario *s = good(
		"case = { topology = \"dgx1-v100\"; stack = \"pytorch\"; model = \"resnet50\";\n"
		"clients = ( { stack = \"tf-1.4\"; } ); };",
		"");
	if (s)
		CHECK_TEXT(evidence_of(arena, s).words[EVIDENCE_STACK], "tf-1.4");
	s = good("case = { topology = \"dgx1-v100\"; model = \"resnet50\"; exchange = \"ddp\";\n"
		 "jobs = ( { gpus = 2; exchange = \"horovod-0.19\"; }, { gpus = 2; } ); };",
		 "");
	if (s)
		CHECK_TEXT(evidence_of(arena, s).words[EVIDENCE_FAMILY], "horovod");
}

/* A user's calibration does not name a machine, so the case counts as of the same kind. */
static void an_own_calibration_counts_as_the_same_kind_of_machine(void)
{
	static const char settings[] = "case.topology=l40s-8gpu case.model=gpt2 case.stack=jax";
	const struct scenario *without = good(NULL, settings);
	write_file("mine.cfg",
		   "parameters = ( { path = \"driver.launch\"; fit = { value = \"4 us\"; "
		   "}; } );");
	const struct scenario *with = good(
		NULL, arena_printf(arena, "%s case.profile=%s", settings, path_of("mine.cfg")));
	remove(path_of("mine.cfg"));
	CHECK(without && without->distances[PART_OWN] == DISTANCE_NEW_LIBRARY);
	CHECK(with && with->distances[PART_OWN] == DISTANCE_SAME_KIND);
}

static const struct test tests[] = {
	TEST(keys_of_other_sorts_of_cases_are_refused),
	TEST(words_compare_the_step_with_the_recorded_one),
	TEST(evidence_names_the_links_that_traffic_passes),
	TEST(evidence_names_the_stack_and_the_exchange_of_the_first_program),
	TEST(an_own_calibration_counts_as_the_same_kind_of_machine),
	TEST(auto_selects_the_transport_by_what_travels),
	TEST(profiles_apply_in_their_order),
	TEST(own_files_go_before_shipped_ones),
	TEST(jobs_get_the_machines_that_their_places_need),
	TEST(jobs_that_begin_later_are_not_folded),
	TEST(machines_without_a_count_add_the_gpus_that_a_job_uses),
	TEST(folds_need_lossless_links_and_ranks_that_begin_together),
	TEST(tensor_groups_fit_into_the_largest_machine),
	TEST(variables_on_the_host_use_all_threads),
	TEST(programs_exchange_gradients_of_their_size),
	TEST(faults_of_one_gpu_multiply),
	TEST(words_of_both_parts_are_joined_if_they_agree),
	TEST(stated_rates_and_left_out_profiles_change_the_distance),
	TEST(rates_per_gpu_need_several_gpus),
	TEST(combinations_are_accepted_or_refused),
	TEST(copies_of_tensor_groups_are_spread_over_gpus),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
