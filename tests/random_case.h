/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random cases, as text that a user can run. A seed determines a few machines around a switch and
 * either forwarded programs, model servers, a training job, the plan of a transformer or a
 * collective, with parameters drawn from usual ranges. A second seed shuffles the lists of a case
 * (hosts, guests, GPUs, links, clients). Shuffling may change only the order of the output.
 *
 * FARWIRE_SEEDS sets how many seeds a test uses instead of its default, FARWIRE_SEED the first one.
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/predict/predict.h"
#include "tests/test.h"

enum { LIST_MAX = 32 };

struct text_list {
	const char *items[LIST_MAX];
	size_t count;
};

struct random_case {
	struct arena *arena;
	struct rng rng;
	struct text_list hosts, guests, gpus, links, clients, settings;
	/* number of hosts of each kind, and GPUs of a server */
	size_t server_count, client_count, gpu_count;
	const char *profile; /* profile of the last machine's GPUs */
	bool rdma, job, collective, plan, serves, moderated;
};

static inline size_t seeds_count(size_t usual)
{
	const char *given = getenv("FARWIRE_SEEDS");
	return given ? strtoul(given, NULL, 10) : usual;
}

static inline uint64_t seeds_first(void)
{
	const char *given = getenv("FARWIRE_SEED");
	return given ? strtoull(given, NULL, 10) : 1;
}

static inline bool chance(struct random_case *c, double ratio)
{
	return rng_uniform(&c->rng) < ratio;
}

/* Returns a value between low and high, uniform on a logarithmic scale. */
static inline double spread(struct random_case *c, double low, double high)
{
	return low * pow(high / low, rng_uniform(&c->rng));
}

#define ONE_OF(c, list)   (list)[rng_below(&(c)->rng, sizeof(list) / sizeof(list)[0])]
#define ADD(c, list, ...) ((list)->items[(list)->count++] = arena_printf((c)->arena, __VA_ARGS__))

static const char *const random_gpus[] = {"gtx-1050ti", "gtx-1080", "v100-sxm2",
					  "p100-pcie",  "l40s",     "a100-pcie-40"};

static inline void add_machine(struct random_case *c, const char *kind, size_t number, size_t gpus)
{
	if (!c->job || !c->profile) /* all GPUs of a job are of one kind */
		c->profile = ONE_OF(c, random_gpus);
	ADD(c, &c->hosts,
	    "{ name = \"%s%zu\"; cores = %d; clock = \"%.1f GHz\"; dram_bandwidth = \"%.0f GB/s\"; "
	    "}",
	    kind, number, 4 + (int)rng_below(&c->rng, 29), 2 + 0.1 * (double)rng_below(&c->rng, 20),
	    spread(c, 20, 250));
	ADD(c, &c->guests, "{ name = \"%s%zu-os\"; host = \"%s%zu\"; kind = \"bare\"; }", kind,
	    number, kind, number);
	ADD(c, &c->links,
	    "{ name = \"%s%zu-port\"; kind = \"%s\"; ends = [\"%s%zu-os\", \"tor\"]; bandwidth = "
	    "\"%.3g Gbit/s\"; latency = \"%.3g us\"; }",
	    kind, number, c->rdma ? "roce" : "ethernet", kind, number, spread(c, 1, 100),
	    spread(c, 1, 100));
	for (size_t g = 0; g < gpus; g++) {
		ADD(c, &c->gpus, "{ name = \"%s%zu-gpu%zu\"; host = \"%s%zu\"; profile = \"%s\"; }",
		    kind, number, g, kind, number, c->profile);
		ADD(c, &c->links,
		    "{ name = \"%s%zu-slot%zu\"; kind = \"pcie\"; ends = [\"%s%zu\", "
		    "\"%s%zu-gpu%zu\"]; generation = 3; lanes = %d; }",
		    kind, number, g, kind, number, kind, number, g, 4 << rng_below(&c->rng, 3));
	}
}

static const char *const random_models[] = {"alexnet_tf", "googlenet", "resnet50", "alexnet"};

static inline void add_clients(struct random_case *c)
{
	static const char *const runtimes[] = {"asynchronous", "batched", "flexdirect-1.11",
					       "synchronous"};
	ADD(c, &c->settings, "case.runtime=%s", ONE_OF(c, runtimes));
	ADD(c, &c->settings, "case.transport=%s", c->rdma ? "rdma" : "tcp");
	ADD(c, &c->settings, "stack.real_input=%s", chance(c, 0.5) ? "true" : "false");
	ADD(c, &c->settings, "runtime.connections=%d", 1 << rng_below(&c->rng, 3));
	if (chance(c, 0.3))
		ADD(c, &c->settings, "runtime.outstanding=%d", 1 + (int)rng_below(&c->rng, 64));
	for (size_t i = 0; i < c->client_count; i++)
		ADD(c, &c->clients,
		    "{ name = \"program%zu\"; program = \"desk%zu-os\"; gpu = \"rack%zu-gpu%zu\"; "
		    "model = \"%s\"; batch = %d; }",
		    i, i, (size_t)rng_below(&c->rng, c->server_count),
		    (size_t)rng_below(&c->rng, c->gpu_count), ONE_OF(c, random_models),
		    1 << rng_below(&c->rng, 5));
}

/* Local or remote replicas of a network, one on each of the first GPUs. */
static inline void add_servers(struct random_case *c)
{
	static const char *const spreads[] = {"0", "1", "2"};
	static const char *const batchings[] = {"auto", "fixed", "dynamic"};
	bool remote = chance(c, 0.5), tokens = chance(c, 0.5);
	size_t gpus = c->server_count * c->gpu_count;
	ADD(c, &c->settings, "case.model=%s", tokens ? "gpt2" : "resnet50");
	if (remote) {
		ADD(c, &c->settings, "case.runtime=asynchronous");
		ADD(c, &c->settings, "case.transport=%s", c->rdma ? "rdma" : "tcp");
	}
	ADD(c, &c->settings, "serve.rate=%.3g", spread(c, 0.5, 300));
	ADD(c, &c->settings, "serve.spread=%s", ONE_OF(c, spreads));
	ADD(c, &c->settings, "serve.requests=%d", 20 + (int)rng_below(&c->rng, 80));
	ADD(c, &c->settings, "serve.batch=%d", 1 << rng_below(&c->rng, 6));
	ADD(c, &c->settings, "serve.delay=%.3g ms", spread(c, 0.1, 20));
	ADD(c, &c->settings, "serve.batching=%s", ONE_OF(c, batchings));
	if (tokens) {
		ADD(c, &c->settings, "serve.prompt=%d", 1 + (int)rng_below(&c->rng, 500));
		ADD(c, &c->settings, "serve.output=%d", 1 + (int)rng_below(&c->rng, 30));
		ADD(c, &c->settings, "serve.tokens=%d", 256 << rng_below(&c->rng, 5));
		ADD(c, &c->settings, "serve.reserve_prompt=%s", chance(c, 0.5) ? "true" : "false");
	}
	for (size_t i = 0; i < c->client_count && i < gpus; i++)
		ADD(c, &c->clients, "{ name = \"server%zu\"; %sgpu = \"rack%zu-gpu%zu\"; }", i,
		    remote ? arena_printf(c->arena, "program = \"desk%zu-os\"; ", i) : "",
		    i % c->server_count, i / c->server_count);
}

/* Each machine is a tensor group. Machines are stages of a pipeline, or copies of the network. */
static inline void add_plan(struct random_case *c)
{
	static const char *const shardings[] = {"none", "optimizer", "gradients", "parameters"};
	size_t pp = c->server_count != 3 && chance(c, 0.5) ? c->server_count : 1;
	size_t dp = c->server_count / pp;
	ADD(c, &c->settings, "case.gpus=%zu", c->server_count * c->gpu_count);
	ADD(c, &c->settings, "case.transport=%s", c->rdma ? "rdma" : "tcp");
	ADD(c, &c->settings, "case.model=gpt2");
	ADD(c, &c->settings, "case.stack=pytorch");
	ADD(c, &c->settings, "case.exchange=nccl-2.8");
	ADD(c, &c->settings, "case.sequence=%d", 64 << rng_below(&c->rng, 3));
	ADD(c, &c->settings, "plan.tp=%zu", c->gpu_count);
	ADD(c, &c->settings, "plan.pp=%zu", pp);
	ADD(c, &c->settings, "plan.sharding=%s", ONE_OF(c, shardings));
	ADD(c, &c->settings, "plan.global_batch=%zu", dp << rng_below(&c->rng, 3));
	ADD(c, &c->settings, "plan.overlap_gradients=%s", chance(c, 0.5) ? "true" : "false");
}

static inline void add_job(struct random_case *c)
{
	static const char *const exchanges[] = {"ddl", "ddp", "horovod-0.19", "mxnet-nccl",
						"ddp-gloo"};
	static const char *const algorithms[] = {"auto", "ring", "double_tree", "halving_doubling"};
	static const char *const libraries[] = {"nccl-2.8", "nccl-2.18", "ddp-gloo", "openmpi-4.1"};
	static const char *const collectives[] = {"all_reduce", "all_gather", "reduce_scatter",
						  "broadcast", "all_to_all"};
	ADD(c, &c->settings, "case.gpus=%zu", c->server_count * c->gpu_count);
	ADD(c, &c->settings, "case.transport=%s", c->rdma ? "rdma" : "tcp");
	ADD(c, &c->settings, "case.model=%s", ONE_OF(c, random_models));
	ADD(c, &c->settings, "case.batch=%d", 1 << rng_below(&c->rng, 6));
	ADD(c, &c->settings, "exchange.noise=%s", chance(c, 0.5) ? "0" : "0.005");
	if (c->collective) {
		ADD(c, &c->settings, "case.exchange=%s", ONE_OF(c, libraries));
		ADD(c, &c->settings, "case.collective=%s", ONE_OF(c, collectives));
		ADD(c, &c->settings, "case.collective_size=%.0f B", spread(c, 1, 1e8));
		return;
	}
	ADD(c, &c->settings, "case.exchange=%s", ONE_OF(c, exchanges));
	if (chance(c, 0.5))
		ADD(c, &c->settings, "library.algorithm=%s", ONE_OF(c, algorithms));
	if (chance(c, 0.3))
		ADD(c, &c->settings, "case.straggler=%.3g", spread(c, 1, 2));
}

/* The order of interrupts and of a program's calls at the same time depends on a picosecond. */
static inline void add_moderation(struct random_case *c)
{
	c->moderated = chance(c, 0.5);
	ADD(c, &c->settings, "host.*.nic_moderation=%s", c->moderated ? "true" : "false");
}

static inline struct random_case random_case(struct arena *arena, uint64_t seed)
{
	struct random_case c = {.arena = arena, .rng = rng_named(seed, "case")};
	c.job = chance(&c, 0.5);
	c.collective = c.job && chance(&c, 0.4);
	c.plan = c.job && !c.collective && chance(&c, 0.4);
	c.serves = !c.job && seed % 3 == 0;
	c.rdma = chance(&c, 0.4);
	c.server_count = 1 + rng_below(&c.rng, c.job ? 4 : 2);
	c.gpu_count = 1 + rng_below(&c.rng, 2);
	c.client_count = c.job ? 0 : 1 + rng_below(&c.rng, 3);
	if (c.collective && c.server_count == 1)
		c.server_count = 2;
	for (size_t i = 0; i < c.server_count; i++)
		add_machine(&c, "rack", i, c.gpu_count);
	for (size_t i = 0; i < c.client_count; i++)
		add_machine(&c, "desk", i, 0);
	if (c.plan)
		add_plan(&c);
	else if (c.job)
		add_job(&c);
	else if (c.serves)
		add_servers(&c);
	else
		add_clients(&c);
	add_moderation(&c);
	return c;
}

static inline void shuffle(struct text_list *list, struct rng *rng)
{
	for (size_t i = list->count; i > 1; i--) {
		size_t k = rng_below(rng, i);
		const char *item = list->items[k];
		list->items[k] = list->items[i - 1];
		list->items[i - 1] = item;
	}
}

/* The order of hosts and GPUs numbers the ranks, so it is kept in a case with a job. The order of
 * clients numbers the replicas among which a router chooses. */
static inline void random_case_shuffle(struct random_case *c, uint64_t seed)
{
	struct rng rng = rng_named(seed, "order");
	if (!c->job) {
		shuffle(&c->hosts, &rng);
		shuffle(&c->gpus, &rng);
	}
	shuffle(&c->guests, &rng);
	shuffle(&c->links, &rng);
	if (!c->serves)
		shuffle(&c->clients, &rng);
	shuffle(&c->settings, &rng);
}

static inline const char *list_text(struct arena *arena, const char *name,
				    const struct text_list *list)
{
	const char *text = arena_printf(arena, "\t%s = (", name);
	for (size_t i = 0; i < list->count; i++)
		text = arena_printf(arena, "%s%s\n\t\t%s", text, i > 0 ? "," : "", list->items[i]);
	return arena_printf(arena, "%s\n\t);\n", text);
}

static inline const char *random_topology_text(const struct random_case *c)
{
	struct arena *a = c->arena;
	return arena_printf(a,
			    "topology = {\n\tname = \"random\";\n%s%s%s\tswitches = "
			    "[\"tor\"];\n%s};\n",
			    list_text(a, "hosts", &c->hosts), list_text(a, "guests", &c->guests),
			    list_text(a, "gpus", &c->gpus), list_text(a, "links", &c->links));
}

static inline const char *random_case_text(const struct random_case *c)
{
	struct arena *a = c->arena;
	const char *settings = "";
	for (size_t i = 0; i < c->settings.count; i++)
		settings = arena_printf(a, "%s%s\"%s\"", settings, i > 0 ? ", " : "",
					c->settings.items[i]);
	return arena_printf(
		a, "case = {\n\ttopology = \"machines.cfg\";\n\tsettings = [%s];\n%s};\n%s",
		settings, c->job ? "" : list_text(a, "clients", &c->clients),
		c->serves ? "serve = { };\n" : "");
}

static inline void write_text(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	if (!CHECK(out != NULL))
		return;
	fputs(text, out);
	fclose(out);
}

/* The files of a case in a folder of their own. */
struct random_files {
	char folder[32];
	const char *path, *machines;
};

static inline struct random_files random_files_write(const struct random_case *c)
{
	struct random_files files = {.folder = "/tmp/farwire-random-XXXXXX"};
	CHECK(mkdtemp(files.folder) != NULL);
	files.path = arena_printf(c->arena, "%s/random.cfg", files.folder);
	files.machines = arena_printf(c->arena, "%s/machines.cfg", files.folder);
	write_text(files.machines, random_topology_text(c));
	write_text(files.path, random_case_text(c));
	return files;
}

static inline void random_files_remove(const struct random_files *files)
{
	remove(files->path);
	remove(files->machines);
	rmdir(files->folder);
}

/* Reads the case with the draws. After errors the check fails, and it returns NULL. */
static inline const struct scenario *
random_case_read(const struct random_case *c, const struct draw_value *draws, size_t draw_count)
{
	const struct random_files files = random_files_write(c);
	struct diag *diag = diag_new(c->arena);
	const struct case_request request = {.path = files.path,
					     .draws = draws,
					     .draw_count = draw_count,
					     .data_root = data_root_find(c->arena)};
	const struct scenario *scenario = case_read(c->arena, diag, &request);
	random_files_remove(&files);
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	return scenario;
}

/* Prints the case of a seed whose test has failed, so that a user can run it. */
static inline void random_case_print(const struct random_case *c, uint64_t seed)
{
	printf("  seed %llu: farwire run random.cfg --seed 1 --draws 0, with\nmachines.cfg:\n%s"
	       "random.cfg:\n%s",
	       (unsigned long long)seed, random_topology_text(c), random_case_text(c));
}
