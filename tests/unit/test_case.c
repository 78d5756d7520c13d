/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases: precedence when a parameter is set twice, clients and their places, refused input with its
 * messages, and verdicts. */
#include <string.h>

#include "sim/predict/predict.h"
#include "sim/scenario/system.h"
#include "tests/own_folder.h"

static const struct scenario *read_with(const char *path, const char *const *settings,
					const struct draw_value *draws, size_t draw_count)
{
	enum { SETTINGS_MAX = 16 };
	struct setting list[SETTINGS_MAX];
	struct case_request request = {.path = path,
				       .settings = list,
				       .draws = draws,
				       .draw_count = draw_count,
				       .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	for (; *settings; settings++)
		list[request.setting_count++] = (struct setting){*settings, {"--set", 0}};
	return case_read(arena, diag, &request);
}

/* Reads a case that consists only of settings. */
#define READ(...) read_with(NULL, (const char *const[]){__VA_ARGS__, NULL}, NULL, 0)

/* Reads a case file with the first text, and the other texts as settings. */
static const struct scenario *read_text(const char *const *texts)
{
	write_file("own.cfg", texts[0]);
	const struct scenario *scenario = read_with(path_of("own.cfg"), texts + 1, NULL, 0);
	remove(path_of("own.cfg"));
	return scenario;
}
#define READ_TEXT(...) read_text((const char *const[]){__VA_ARGS__, NULL})

static const struct scenario *good(const struct scenario *scenario)
{
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	return scenario;
}

/* Checks that the case was refused with that first error. */
static void check_refused(const struct scenario *scenario, const char *message)
{
	CHECK(scenario == NULL && diag_count(diag) > 0);
	if (diag_count(diag) > 0)
		CHECK_TEXT(diag_at(diag, 0), message);
}

/* The same for "own.cfg:LINE: message". */
static void check_refused_at(const struct scenario *scenario, int line, const char *message)
{
	check_refused(scenario,
		      arena_printf(arena, "%s:%d: %s", path_of("own.cfg"), line, message));
}

static const struct cfg_param *param_of(const struct scenario *scenario, const char *path)
{
	const struct cfg_param *param =
		scenario ? cfg_param_find(scenario->resolution, path) : NULL;
	if (!param)
		printf("  no parameter %s\n", path);
	return param;
}

/* ---- precedence ---- */

#define FLEXDIRECT                                                                                 \
	"case.topology=t320-same-esxi", "case.runtime=flexdirect-1.11", "case.program=client",     \
		"case.server=server"

/* handoff is 60 us by default, 0 s in the runtime's file, and a fitted number in the profile. */
static void the_later_setting_wins(void)
{
	const struct draw_value draw = {"runtime.handoff", 33e-6};
	const struct scenario *file = good(READ(FLEXDIRECT));
	const struct scenario *profile = good(READ(FLEXDIRECT, "case.profile=flexdirect-1050ti"));
	const struct scenario *set =
		good(READ("runtime.handoff=11 us", FLEXDIRECT, "case.profile=flexdirect-1050ti"));
	const struct scenario *last =
		good(READ(FLEXDIRECT, "runtime.handoff=11 us", "runtime.handoff=22 us"));
	const struct scenario *drawn =
		good(read_with(NULL,
			       (const char *const[]){FLEXDIRECT, "case.profile=flexdirect-1050ti",
						     "runtime.handoff=11 us", NULL},
			       &draw, 1));
	if (!file || !profile || !set || !last || !drawn)
		return;
	const struct cfg_param *fitted = param_of(profile, "runtime.handoff");
	CHECK(file->jobs[0].runtime->handoff_s == 0);
	CHECK(param_of(file, "runtime.handoff")->source == CFG_SOURCE_DEFAULT);
	CHECK(profile->jobs[0].runtime->handoff_s > 1e-6);
	CHECK(fitted->low < fitted->value && fitted->value < fitted->high);
	CHECK_TEXT(fitted->status, "fitted");
	CHECK_NEAR(set->jobs[0].runtime->handoff_s, 11e-6, 1e-12);
	CHECK(param_of(set, "runtime.handoff")->source == CFG_SOURCE_SET);
	CHECK_NEAR(last->jobs[0].runtime->handoff_s, 22e-6, 1e-12);
	CHECK_NEAR(drawn->jobs[0].runtime->handoff_s, 33e-6, 1e-12);
	CHECK(param_of(drawn, "runtime.handoff")->source == CFG_SOURCE_DRAW);
	/* not set anywhere */
	CHECK(param_of(file, "runtime.keep_alive")->source == CFG_SOURCE_DEFAULT);
}

static void command_line_overrides_settings_of_the_case(void)
{
	static const char text[] =
		"case = { topology = \"gpu-pool\"; batch = 8; model = \"alexnet\";\n"
		"settings = [\"host.rack1.cores=3\", \"case.batch=16\"]; };";
	const struct scenario *own = good(READ_TEXT(text));
	const struct scenario *over = good(READ_TEXT(text, "host.rack1.cores=5", "case.batch=64"));
	if (!own || !over)
		return;
	CHECK(own->topology.hosts[0].params.cores_count == 3);
	CHECK(own->jobs[0].batch_count == 16);
	CHECK(over->topology.hosts[0].params.cores_count == 5);
	CHECK(over->jobs[0].batch_count == 64);
	CHECK_TEXT(over->jobs[0].network->name, "alexnet");
	CHECK(param_of(own, "host.rack1.cores")->origin.line == 2);
}

/* A part "*" matches any name. It matches exactly one part of a path. */
static void star_in_a_path_matches_any_name(void)
{
	const struct scenario *all = good(READ("case.topology=gpu-pool", "host.*.cores=4"));
	const struct scenario *but_one =
		good(READ("case.topology=gpu-pool", "host.*.cores=4", "host.rack2.cores=6"));
	if (!all || !but_one)
		return;
	CHECK(all->topology.host_count == 10);
	for (size_t i = 0; i < all->topology.host_count; i++) {
		bool second = strcmp(all->topology.hosts[i].name, "rack2") == 0;
		CHECK(all->topology.hosts[i].params.cores_count == 4);
		CHECK(but_one->topology.hosts[i].params.cores_count == (second ? 6 : 4));
	}
	CHECK(READ("case.topology=gpu-pool", "*.cores=4") == NULL);
	CHECK(READ("case.topology=gpu-pool", "host.rack*.cores=4") == NULL);
	CHECK(READ("case.topology=gpu-pool", "host.*.latency=4 us") == NULL);
}

/* Fitted numbers of a GPU apply wherever the GPU is used, without naming a profile. */
static void gpu_uses_its_fitted_profile_by_default(void)
{
	const struct scenario *known = good(READ("case.topology=gpu-pool", "case.stack=pytorch"));
	const struct scenario *other =
		good(READ("case.topology=gpu-pool", "case.stack=pytorch", "case.model=vgg16"));
	if (!known || !other)
		return;
	CHECK_TEXT(param_of(known, "efficiency.v100-sxm2.resnet50.peak")->status, "fitted");
	CHECK(known->jobs[0].efficiency->peak_ratio != other->jobs[0].efficiency->peak_ratio);
	CHECK(param_of(other, "efficiency.v100-sxm2.vgg16.peak")->source == CFG_SOURCE_DEFAULT);
}

/* A GTX 1080 has no numbers of its own; its file names the GPU whose numbers it uses. */
static void gpu_like_another_uses_its_efficiency(void)
{
#define GTX_1080 "case.topology=closer2018-gtx1080", "case.gpus=1", "case.model=alexnet_tf"
	const struct scenario *like = good(READ(GTX_1080));
	const struct scenario *own = good(READ(GTX_1080, "gpu.gtx-1080.like=gtx-1080"));
	const struct scenario *same =
		good(READ("case.topology=dgx1-p100", "case.gpus=1", "case.model=alexnet_tf"));
	if (!like || !own || !same)
		return;
	const char *path = "efficiency.p100-sxm2.alexnet_tf.peak";
	CHECK_TEXT(param_of(like, path)->status, "fitted");
	CHECK(like->jobs[0].efficiency->peak_ratio == same->jobs[0].efficiency->peak_ratio);
	CHECK(like->topology.gpus[0].params.fp32_flops != same->topology.gpus[0].params.fp32_flops);
	CHECK(param_of(own, "efficiency.gtx-1080.alexnet_tf.peak")->source == CFG_SOURCE_DEFAULT);
	CHECK(own->jobs[0].efficiency->peak_ratio != like->jobs[0].efficiency->peak_ratio);
}

/* ---- clients ---- */

static void clients_have_memory_and_stacks_of_their_own(void)
{
	const struct scenario *s = good(READ_TEXT(
		"case = { topology = \"gpu-pool\"; runtime = \"asynchronous\"; fraction = 0.25;\n"
		"memory_fraction = 0.5; stack = \"pytorch-amp\"; clients = ( { name = \"a\"; },\n"
		"{ name = \"b\"; stack = \"pytorch-inference\"; fraction = 0.5; memory_fraction = "
		"0.125; } ); };"));
	if (!s || !CHECK(s->job_count == 2))
		return;
	CHECK(s->jobs[0].fraction_ratio == 0.25 && s->jobs[0].memory_ratio == 0.5);
	CHECK(s->jobs[1].fraction_ratio == 0.5 && s->jobs[1].memory_ratio == 0.125);
	CHECK(!s->jobs[0].stack->forward_only && s->jobs[1].stack->forward_only);
	CHECK_TEXT(s->jobs[1].stack_name, "pytorch-inference");
	/* without a part of the memory, a client has its own part of the GPU of it */
	s = good(
		READ_TEXT("case = { topology = \"gpu-pool\"; runtime = \"asynchronous\"; clients = "
			  "( { name = \"a\"; fraction = 0.25; }, { name = \"b\"; fraction = 0.5; } "
			  "); };"));
	if (s && CHECK(s->job_count == 2))
		CHECK(s->jobs[0].memory_ratio == 0.25 && s->jobs[1].memory_ratio == 0.5);
}

static void clients_override_values_of_the_case(void)
{
	const struct scenario *s = good(READ_TEXT("case = { topology = \"gpu-pool\"; runtime = "
						  "\"asynchronous\"; batch = 48; fraction = 0.5;\n"
						  "program = \"spread\"; gpu = \"spread\";\n"
						  "clients = ( { name = \"a\"; batch = 8; }, { gpu "
						  "= \"gpu4\"; model = \"alexnet\"; },\n"
						  "{ name = \"c\"; program = \"server1\"; gpu = "
						  "\"gpu2\"; fraction = 1.0; }, { } ); };"));
	if (!s || !CHECK(s->job_count == 4))
		return;
	const struct job_entry *c = s->jobs;
	CHECK_TEXT(c[0].name, "a");
	CHECK_TEXT(c[1].name, "client1");
	CHECK(c[0].batch_count == 8 && c[1].batch_count == 48);
	CHECK(c[0].fraction_ratio == 0.5 && c[2].fraction_ratio == 1);
	CHECK_TEXT(c[1].network->name, "alexnet");
	CHECK_TEXT(c[3].network->name, "resnet50");
	CHECK(c[0].network == c[3].network && c[0].efficiency == c[3].efficiency);
	CHECK(c[0].gpus[0] == 0 && c[1].gpus[0] == 3 && c[2].gpus[0] == 1 && c[3].gpus[0] == 3);
	/* server1 serves gpu1 and gpu2, server2 the others */
	CHECK(c[0].servers[0] == 0 && c[1].servers[0] == 1 && c[2].servers[0] == 0 &&
	      c[3].servers[0] == 1);
	/* of guests 2 to 9, which have no GPU, the clients get the first, second and fourth */
	CHECK(c[0].guests[0] == 2 && c[1].guests[0] == 3 && c[2].guests[0] == 0 &&
	      c[3].guests[0] == 5);
	CHECK(c[0].origin.line == 3 && c[2].origin.line == 4);
}

static void copies_are_spread_over_gpus_and_guests_in_turn(void)
{
	const struct scenario *s =
		good(READ("case.topology=gpu-pool", "case.runtime=asynchronous", "case.copies=10",
			  "case.program=spread", "case.gpu=spread"));
	if (!s || !CHECK(s->job_count == 10))
		return;
	for (size_t i = 0; i < 10; i++) {
		CHECK(s->jobs[i].gpus[0] == i % 4);
		CHECK(s->jobs[i].servers[0] == (i % 4) / 2);
		CHECK(s->jobs[i].guests[0] == 2 + i % 8);
		CHECK_TEXT(s->jobs[i].name, arena_printf(arena, "client%zu", i));
	}
}

/* Two copies of a list of two clients get numbered names and share everything else. */
static void copies_of_a_list_get_numbered_names(void)
{
	const struct scenario *s = good(READ_TEXT(
		"case = { topology = \"gpu-pool\"; copies = 2;\n"
		"clients = ( { name = \"a\"; batch = 8; }, { name = \"b\"; gpu = \"gpu3\"; } ); };",
		"client.b.1.batch=4"));
	if (!s || !CHECK(s->job_count == 4))
		return;
	CHECK_TEXT(s->jobs[0].name, "a.0");
	CHECK_TEXT(s->jobs[3].name, "b.1");
	CHECK(s->jobs[2].batch_count == 8 && s->jobs[1].batch_count == 32);
	CHECK(s->jobs[3].batch_count == 4 && s->jobs[3].gpus[0] == 2);
}

/* The guest that serves the GPU is not a place for clients. */
static void spread_never_uses_the_serving_guest(void)
{
	const struct scenario *s =
		good(READ("case.topology=t320-same-esxi", "case.runtime=asynchronous",
			  "case.program=spread", "case.server=server", "case.copies=2"));
	if (!s)
		return;
	for (size_t i = 0; i < 2; i++) {
		CHECK_TEXT(s->topology.guests[s->jobs[i].servers[0]].name, "server");
		CHECK_TEXT(s->topology.guests[s->jobs[i].guests[0]].name, "client");
	}
}

/* One network on two kinds of GPU is read once, and the efficiency of each pair once, in any order.
 */
static void each_kind_of_gpu_has_its_own_efficiency(void)
{
	const struct scenario *s =
		good(READ_TEXT("case = { topology = \"gpu-pool\";\n"
			       "clients = ( { gpu = \"gpu1\"; }, { gpu = \"gpu2\"; }, { gpu = "
			       "\"gpu3\"; }, { gpu = \"gpu2\"; } ); };",
			       "gpu.gpu2.profile=p100-sxm2"));
	if (!s)
		return;
	const struct job_entry *c = s->jobs;
	CHECK(c[0].network == c[1].network && c[1].network == c[3].network);
	CHECK(c[0].efficiency == c[2].efficiency && c[1].efficiency == c[3].efficiency);
	CHECK(c[0].efficiency->peak_ratio != c[1].efficiency->peak_ratio);
	size_t peaks = 0;
	for (size_t i = 0; i < cfg_param_count(s->resolution); i++)
		peaks += strcmp(cfg_param_at(s->resolution, i)->path,
				"efficiency.p100-sxm2.resnet50.peak") == 0;
	CHECK(peaks == 1);
}

/* ---- a user's own files ---- */

#define OWN_TOPOLOGY                                                                               \
	"topology = { name = \"own\"; hosts = ( { name = \"h\"; } ); guests = ( { name = \"g\"; "  \
	"host = "                                                                                  \
	"\"h\"; } );\n gpus = ( { name = \"x\"; host = \"h\"; profile = \"gpu.cfg\"; } ); links "  \
	"= ( { "                                                                                   \
	"name = \"slot\"; kind = \"pcie\"; ends = [\"h\", \"x\"]; } ); };"

/* Names that end in .cfg are searched next to the file that gives them: the case's topology and
 * runtime next to the case, the GPU next to the topology. */
static void own_files_are_found_next_to_the_file_that_names_them(void)
{
	write_file("world.cfg", OWN_TOPOLOGY);
	write_file("gpu.cfg",
		   "gpu = { fp32 = \"1 TFLOPS\"; memory_bandwidth = \"100 GB/s\"; memory = "
		   "\"7 GB\"; };");
	write_file("rpc.cfg", "runtime = { policy = \"synchronous\"; unmarshal = \"9 us\"; };");
	const struct scenario *s =
		good(READ_TEXT("case = { topology = \"world.cfg\"; runtime = \"rpc.cfg\"; };"));
	if (s) {
		CHECK_TEXT(s->topology.name, "own");
		CHECK_TEXT(s->topology.path, path_of("world.cfg"));
		CHECK_NEAR(s->topology.gpus[0].params.memory_B, 7e9, 1e-12);
		CHECK_NEAR(s->jobs[0].runtime->unmarshal_s, 9e-6, 1e-12);
	}
	check_refused(READ("case.topology=nowhere.cfg"),
		      "nowhere.cfg: cannot be read: No such file or directory");
	remove(path_of("world.cfg"));
	remove(path_of("gpu.cfg"));
	remove(path_of("rpc.cfg"));
}

/* ---- refused input ---- */

static void unknown_names_are_refused_with_a_suggestion(void)
{
	check_refused(
		READ("case.topology=gpu-pol"),
		"--set: there is no topology 'gpu-pol' (did you mean 'gpu-pool'? The name of your "
		"own file must end in .cfg)");
	check_refused(
		READ("case.topology=gpu-pool", "case.model=resnet5"),
		"--set: there is no model 'resnet5' (did you mean 'resnet50'? The name of your own "
		"file must end in .cfg)");
	check_refused(
		READ("case.topology=dgx2", "case.gpus=1", "gpu.v100-sxm3-32.like=v100-sxm"),
		arena_printf(arena,
			     "%s/topologies/gpus/v100-sxm3-32.cfg:6: there is no GPU profile "
			     "'v100-sxm' (did you mean 'v100-sxm2'? The name of your own file "
			     "must end in .cfg)",
			     data_root_find(arena)));
	check_refused(READ("case.topology=gpu-pool", "case.gpu=gpu9"),
		      "--set: there is no GPU 'gpu9' (did you mean 'gpu1'?)");
	check_refused(
		READ("case.topology=gpu-pool", "case.runtime=asynchronous", "case.program=nobody"),
		"--set: there is no program's guest 'nobody' (the first of 10 is 'server1')");
	check_refused(
		READ("case.topology=gpu-pool", "case.runtime=asynchronous", "case.transport=udp"),
		"--set: case: no transport is called 'udp' (there are tcp, rdma, shm, auto; "
		"`farwire list transports` shows them)");
	check_refused_at(READ_TEXT("case = {\n topology = \"gpu-pool\";\n batsh = 8;\n};"), 3,
			 "case: unknown key 'batsh' (did you mean 'batch'?)");
	check_refused_at(READ_TEXT("case = {\n topology = \"gpu-pool\";\n gpu = \"gpu9\";\n};"), 3,
			 "there is no GPU 'gpu9' (did you mean 'gpu1'?)");
	check_refused(READ_TEXT("cases = { };"),
		      arena_printf(arena, "%s: the file has no group `case = { ... }`",
				   path_of("own.cfg")));
}

static void impossible_places_are_refused(void)
{
	check_refused(READ("case.topology=gpu-pool", "case.gpu=gpu1", "case.server=server2"),
		      "--set: guest 'server2' is not on the host of GPU 'gpu1' (write a guest of "
		      "host 'rack1')");
	check_refused(READ("case.topology=gpu-pool", "case.program=client1"),
		      "--set: the program runs in guest 'client1', but guest 'server1' serves its "
		      "GPU, and no runtime forwards the calls (write runtime = \"...\")");
	check_refused_at(
		READ_TEXT("case = { topology = \"gpu-pool\"; clients = (\n"
			  "{ gpu = \"gpu1\"; },\n{ gpu = \"gpu3\"; server = \"server1\"; } ); };"),
		3,
		"guest 'server1' is not on the host of GPU 'gpu3' (write a guest of host 'rack2')");
	write_file("bare.cfg",
		   "topology = { hosts = ( { name = \"h\"; } ); guests = ( { name = \"g\"; "
		   "host = \"h\"; } ); };");
	check_refused_at(READ_TEXT("case = { topology = \"bare.cfg\"; };"), 1,
			 arena_printf(arena,
				      "topology '%s' has no GPU (write gpus = ( { name = ...; "
				      "profile = ...; host = ...; } ) into it)",
				      path_of("bare.cfg")));
	remove(path_of("bare.cfg"));
}

static void malformed_clients_are_refused(void)
{
	check_refused_at(
		READ_TEXT("case = { topology = \"gpu-pool\";\nclients = ( ); };"), 2,
		"case: clients must be a list of groups (write clients = ( { batch = 64; } ))");
	check_refused_at(
		READ_TEXT("case = { topology = \"gpu-pool\";\nclients = { batch = 8; }; };"), 2,
		"case: clients must be a list of groups (write clients = ( { batch = 64; } ))");
	check_refused_at(
		READ_TEXT("case = { topology = \"gpu-pool\"; clients = (\n{ name = \"a\"; },\n"
			  "{ name = \"a\"; } ); };"),
		3, "client 'a': another client has this name (choose a unique name)");
	check_refused_at(
		READ_TEXT("case = { topology = \"gpu-pool\";\nclients = ( { bach = 8; } ); };"), 2,
		"client 'client': unknown key 'bach' (did you mean 'batch'?)");
	check_refused(
		READ("case.topology=gpu-pool", "case.fraction=1.5"),
		"--set: case.fraction = \"1.5\" is out of range (write a ratio from 0.001 to 1)");
}

/* ---- verdicts ---- */

static void check_verdict(const struct scenario *scenario, const char *reason)
{
	if (!good(scenario))
		return;
	struct point point = predict_point(arena, scenario, 1, true, NULL, NULL);
	CHECK(point.failed && point.broken == NULL);
	CHECK_TEXT(point.reason, reason);
	CHECK(isnan(point.throughput) && isnan(point.ratio));
}

static void impossible_systems_give_a_verdict_not_an_error(void)
{
	check_verdict(READ(FLEXDIRECT, "case.transport=rdma"),
		      "no route from 'client' to 'server' for rdma");
	/* a VMXNET3 has no RDMA */
	check_verdict(READ("case.topology=vm-p100-roce", "case.transport=rdma",
			   "case.runtime=asynchronous", "case.program=client",
			   "guest.server.vnic=vmxnet3"),
		      "no route from 'client' to 'server' for rdma");
	check_verdict(READ("case.topology=dgx1-v100", "case.gpus=16", "case.transport=rdma",
			   "guest.os.vnic=vmxnet3"),
		      "no route from 'n0.gpu1' to 'n1.gpu0' over rdma");
	check_verdict(
		READ("case.topology=t320-same-esxi", "case.stack=tf-1.12", "case.server=server",
		     "case.batch=512"),
		"out of GPU memory: resnet50 at batch 512 needs 59.02 GB, GPU 'gpu0' has 4.29 "
		"GB: write --batch 34 or less, or take a GPU with more memory");
	/* a quarter of 17.18 GB */
	check_verdict(READ("case.topology=gpu-pool", "case.stack=tf-1.12", "case.batch=64",
			   "case.fraction=0.25"),
		      "out of GPU memory: resnet50 at batch 64 needs 7.67 GB, GPU 'gpu1' has 4.29 "
		      "GB: write --batch 34 or less, or take a GPU with more memory");
}

/* Three clients of 7.67 GB do not fit into 17.18 GB. The third is refused and the others run; the
 * pool as a whole has failed. */
static void client_without_gpu_memory_fails_and_others_run(void)
{
	const struct scenario *s =
		good(READ("case.topology=gpu-pool", "case.stack=tf-1.12", "case.batch=64",
			  "case.copies=3", "stack.poller=false"));
	if (!s)
		return;
	struct point point = predict_point(arena, s, 1, true, NULL, NULL);
	CHECK(point.failed && isnan(point.throughput));
	CHECK(!point.jobs[0].failed && !point.jobs[1].failed && point.jobs[2].failed);
	CHECK(point.jobs[0].throughput > 0);
	CHECK_TEXT(point.reason,
		   "job 'client2': out of GPU memory: resnet50 at batch 64 needs 7.67 "
		   "GB, GPU 'gpu1' has 17.18 GB for it and its neighbours");
}

/* Forwarded calls use TCP on any wire, gradients use RDMA if there is any; inside a machine no
 * transport is used. */
static void transport_auto_selects_tcp_or_rdma(void)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{"case.topology=vm-p100-roce case.program=client case.runtime=asynchronous", "tcp"},
		{"case.topology=vm-p100-roce case.program=client case.runtime=asynchronous "
		 "case.transport=rdma",
		 "rdma"},
		{"case.topology=vm-p100-roce", NULL},
		{"case.topology=dgx-a100 case.gpus=16", "rdma"},
		{"case.topology=dgx-a100 case.gpus=16 case.transport=tcp", "tcp"},
		{"case.topology=dgx1-v100-ethernet case.gpus=16", "tcp"},
		{"case.topology=dgx-a100 case.gpus=8", NULL},
		/* one simulated machine represents both */
		{"case.topology=dgx2 case.gpus=32 case.collective=all_reduce "
		 "case.exchange=nccl-2.8 library.algorithm=ring case.symmetry=on",
		 "rdma"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *settings[8] = {NULL};
		char *text = arena_strdup(arena, cases[i].text);
		size_t count = 0;
		for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
			settings[count++] = word;
		const struct scenario *scenario = good(read_with(NULL, settings, NULL, 0));
		const char *name = scenario ? scenario_transport(scenario) : NULL;
		CHECK(cases[i].name ? name && strcmp(name, cases[i].name) == 0 : !name);
	}
}

/* One of two equal machines represents the other, also with noise, unless one has a straggler. */
static void equal_machines_are_folded_unless_they_differ(void)
{
	static const struct {
		const char *setting;
		size_t class_count; /* 0: no rank represents another */
	} cases[] = {
		{"exchange.noise=0", 1}, {"case.straggler=1.5", 0}, {"exchange.noise=0.01", 1}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *settings[] = {
			"case.topology=dgx2", "case.gpus=32",           "case.model=resnet50",
			"case.batch=32",      "library.algorithm=ring", "case.symmetry=on",
			"exchange.noise=0",   cases[i].setting,         NULL};
		const struct scenario *scenario = good(read_with(NULL, settings, NULL, 0));
		const struct fold *fold = scenario ? scenario->topology.fold : NULL;
		CHECK((fold ? fold->class_count : 0) == cases[i].class_count);
	}
}

/* "lan-port" goes from the switch to the server. A NIC without moderation loses more packets there,
 * but not at the other end. */
static void receiver_without_moderation_loses_more_packets(void)
{
	for (int receiver = 0; receiver < 2; receiver++) {
		const char *settings[] = {"case.topology=t320-same-lan",
					  "case.model=resnet50",
					  "case.runtime=asynchronous",
					  "case.program=client",
					  "link.*.unmoderated_loss=0.5",
					  receiver ? "host.esxi2.nic_moderation=false"
						   : "host.esxi1.nic_moderation=false",
					  NULL};
		const struct scenario *scenario = good(read_with(NULL, settings, NULL, 0));
		struct system system;
		if (!scenario)
			return;
		system_build(&system, arena, scenario, NULL);
		for (int link = 0; (size_t)link < fabric_link_count(system.fabric); link++) {
			const char *name = fabric_link_name(system.fabric, link);
			bool loses = receiver && strcmp(name, "lan-port") == 0;
			const struct link_traits *traits = fabric_link_traits(system.fabric, link);
			CHECK_NEAR(1 - traits->loss_ratio[0], loses ? 0.5 : 1, 1e-12);
			CHECK_NEAR(1 - traits->loss_ratio[1], 1, 1e-12);
		}
	}
}

/* The factor holds for both directions of the named link, and for no other link. */
static void degraded_link_loses_bandwidth_in_both_directions(void)
{
	const struct scenario *whole = good(READ("case.topology=t320-different-lan")),
			      *part = good(READ("case.topology=t320-different-lan",
						"case.degrade=client-port=0.25"));
	size_t found = 0;
	for (size_t i = 0; whole && part && i < whole->topology.link_count; i++) {
		const struct link_entry *a = &whole->topology.links[i],
					*b = &part->topology.links[i];
		double factor = strcmp(a->name, "client-port") == 0 ? 0.25 : 1;
		found += factor < 1;
		for (int way = 0; way < 2; way++)
			CHECK_NEAR(b->traits.capacity_Bps[way],
				   factor * a->traits.capacity_Bps[way], 1e-12);
	}
	CHECK(found == 1);
}

static const struct test tests[] = {
	TEST(degraded_link_loses_bandwidth_in_both_directions),
	TEST(equal_machines_are_folded_unless_they_differ),
	TEST(receiver_without_moderation_loses_more_packets),
	TEST(the_later_setting_wins),
	TEST(command_line_overrides_settings_of_the_case),
	TEST(star_in_a_path_matches_any_name),
	TEST(gpu_uses_its_fitted_profile_by_default),
	TEST(gpu_like_another_uses_its_efficiency),
	TEST(clients_have_memory_and_stacks_of_their_own),
	TEST(clients_override_values_of_the_case),
	TEST(copies_are_spread_over_gpus_and_guests_in_turn),
	TEST(copies_of_a_list_get_numbered_names),
	TEST(spread_never_uses_the_serving_guest),
	TEST(each_kind_of_gpu_has_its_own_efficiency),
	TEST(own_files_are_found_next_to_the_file_that_names_them),
	TEST(unknown_names_are_refused_with_a_suggestion),
	TEST(impossible_places_are_refused),
	TEST(malformed_clients_are_refused),
	TEST(impossible_systems_give_a_verdict_not_an_error),
	TEST(client_without_gpu_memory_fails_and_others_run),
	TEST(transport_auto_selects_tcp_or_rdma),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int code = TEST_MAIN(tests);
	folder_end();
	return code;
}
