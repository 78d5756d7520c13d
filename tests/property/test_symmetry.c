/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation of one machine for each class equals that of all machines, to the picosecond. The
 * tests draw machines, networks, sizes and algorithms, and what can break the symmetry: leaves and
 * pods that are not full, machines that use fewer GPUs, machines of another kind. `test_symmetry N`
 * tries N cases of each sort. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/case_points.h"

static size_t tries = 5;

struct draw {
	const char *topology; /* text of the topology */
	size_t gpus, per_machine;
	const char *collective, *algorithm;
	double size_B;
	const char *exchange, *input; /* of training, for which collective is "" */
	double straggler_ratio;
	const char *plan, *model, *gpu; /* of a transformer; NULL: no plan */
	const char *symmetry;           /* of the folded run; NULL: "on" */
	const char *setting;            /* one more; NULL: none */
	double near_ratio;              /* largest error of its time; 0: every result is equal */
};

static const char *const algorithms[] = {"ring",        "hierarchical", "binary_tree",
					 "double_tree", "multi_ring",   "auto"};
static const char *const others[] = {"all_gather", "reduce_scatter", "broadcast", "all_to_all"};

static const char *draw_network(struct arena *arena, struct rng *rng)
{
	static const char link[] = "link = { kind = \"infiniband\"; bandwidth = \"100 Gbit/s\"; };";
	unsigned ports = 2u << rng_below(rng, 3);
	double over = 1 + (double)rng_below(rng, 4);
	switch (rng_below(rng, 4)) {
	case 0:
		return arena_printf(arena, "kind = \"switch\"; %s", link);
	case 1:
		return arena_printf(arena,
				    "kind = \"rail_optimised\"; ports_per_leaf = %u; "
				    "oversubscription = %g; %s",
				    ports, over, link);
	case 2:
		return arena_printf(arena,
				    "kind = \"fat_tree\"; ports_per_leaf = %u; "
				    "oversubscription = %g; %s",
				    ports, over, link);
	default:
		return arena_printf(arena,
				    "kind = \"fat_tree\"; ports_per_leaf = %u; leaves_per_pod = 2; "
				    "oversubscription = %g; core_oversubscription = 2; %s",
				    ports, over, link);
	}
}

static struct draw draw_case(struct arena *arena, struct rng *rng, bool mixed)
{
	static const char *const machines[] = {"dgx1-v100", "c4140-m", "dgx-h100"};
	static const size_t has[] = {8, 4, 8};
	size_t kind = (size_t)rng_below(rng, 3);
	size_t per = (size_t)1 << rng_below(rng, 4), count = 2 + (size_t)rng_below(rng, 7);
	struct draw d = {.per_machine = per < has[kind] ? per : has[kind],
			 .input = "gpu",
			 .straggler_ratio = 1};
	d.gpus = count * d.per_machine - (rng_below(rng, 4) == 0 && d.per_machine > 1 ? 1 : 0);
	bool plain = rng_below(rng, 4) > 0;
	d.collective = plain ? "all_reduce" : others[rng_below(rng, 4)];
	d.algorithm = plain ? algorithms[rng_below(rng, 6)] : "auto";
	d.size_B = exp2(8 + 18 * rng_uniform(rng));
	/* With and without adapters that are connected to GPUs. */
	d.exchange = rng_below(rng, 3) == 0 ? "ddl" : "nccl-2.18";
	const char *ports = kind == 1 ? "" : "ports = 2;";
	const char *network = draw_network(arena, rng);
	const char *of = arena_printf(arena, "machine = \"%s\"; %s", machines[kind], ports);
	size_t first = count / 2;
	/* The same GPU in two machines, one of which has a faster route to its network. */
	if (mixed && kind < 2 && first > 0)
		of = arena_printf(arena,
				  "machines = ( { name = \"a\"; machine = \"dgx1-v100\"; count = "
				  "%zu; ports = 1; }, { name = \"b\"; machine = \"c4140-m\"; count "
				  "= %zu; } );",
				  first, count - first);
	if (mixed && d.per_machine > 4)
		d.per_machine = 4;
	d.topology = arena_printf(
		arena,
		"topology = { name = \"drawn\"; cluster = { %s network = { %s }; servers = "
		"[\"file-server\"]; }; };\n",
		of, network);
	if (mixed)
		d.gpus = count * d.per_machine;
	return d;
}

/* Draws training instead of the collective. */
static void draw_training(struct rng *rng, struct draw *d)
{
	static const char *const exchanges[] = {"ddp", "horovod-0.19", "horovod-2018", "mxnet-nccl",
						"ddl"};
	static const char *const plays[] = {"ring", "hierarchical", "binary_tree", "auto"};
	d->collective = "";
	d->exchange = exchanges[rng_below(rng, 5)];
	d->algorithm = plays[rng_below(rng, 4)];
	d->input = rng_below(rng, 3) == 0 ? "host" : "gpu";
	d->straggler_ratio = rng_below(rng, 4) == 0 ? 1.1 : 1;
}

/* Draws a plan on 64 GPUs, of which a divisor can be in each group. */
static struct draw draw_plan(struct arena *arena, struct rng *rng)
{
	static const char *const orders[] = {"tp-cp-dp-pp", "tp-pp-dp-cp", "dp-tp-cp-pp",
					     "cp-tp-pp-dp"};
	static const char *const shardings[] = {"none", "optimizer", "gradients", "parameters"};
	static const char *const machines[] = {"dgx-h100", "dgx-a100-80"};
	static const char *const gpus[] = {"h100-sxm5", "a100-sxm4-80"};
	size_t machine = (size_t)rng_below(rng, 2);
	static const char *const schedules[] = {"gpipe", "1f1b", "zb-h1"};
	unsigned tp = 1u << rng_below(rng, 4), cp = 1u << rng_below(rng, 2);
	unsigned pp = 1u << rng_below(rng, 3), chunks = 1;
	const char *schedule = schedules[rng_below(rng, 3)];
	bool experts = rng_below(rng, 3) == 0;
	if (pp > 1 && rng_below(rng, 2) == 0) {
		chunks = 2;
		schedule = "interleaved";
	}
	unsigned ep = experts ? 2u << rng_below(rng, 3) : 1;
	struct draw d = {.gpus = 64, .model = experts ? "mixtral-8x7b" : "llama2-7b"};
	const char *network = draw_network(arena, rng);
	d.topology = arena_printf(arena,
				  "topology = { name = \"drawn\"; cluster = { machine = \"%s\"; %s "
				  "network = { %s }; }; "
				  "};\n",
				  machines[machine],
				  strstr(network, "fat_tree") ? "ports = 2;" : "", network);
	d.gpu = gpus[machine];
	d.plan = arena_printf(
		arena, "tp=%u cp=%u pp=%u chunks=%u ep=%u order=%s sharding=%s schedule=%s", tp, cp,
		pp, chunks, ep, orders[rng_below(rng, 4)], shardings[rng_below(rng, 4)], schedule);
	return d;
}

static const struct scenario *read_plan(struct arena *arena, const struct draw *d, const char *path,
					const char *symmetry)
{
	enum { KEYS_MAX = 20 };
	const char *texts[KEYS_MAX] = {
		arena_printf(arena, "case.topology=%s", path),
		arena_printf(arena, "case.gpus=%zu", d->gpus),
		arena_printf(arena, "case.model=%s", d->model),
		arena_printf(arena, "case.symmetry=%s", symmetry),
		"case.exchange=nccl-2.18",
		"case.stack=pytorch-fsdp-bf16",
		"case.steps=2",
		arena_printf(arena, "gpu.%s.memory=900 GB", d->gpu),
	};
	size_t count = 8;
	char *words = arena_strdup(arena, d->plan), *rest = NULL;
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		texts[count++] = arena_printf(arena, "plan.%s", word);
	return scenario_of(arena, &(struct settings){0}, texts);
}

static const struct scenario *read_case(struct arena *arena, const struct draw *d, const char *path,
					const char *symmetry)
{
	if (d->plan)
		return read_plan(arena, d, path, symmetry);
	const char *texts[] = {
		arena_printf(arena, "case.topology=%s", path),
		arena_printf(arena, "case.gpus=%zu", d->gpus),
		arena_printf(arena, "case.gpus_per_machine=%zu", d->per_machine),
		arena_printf(arena, "case.collective=%s", d->collective),
		arena_printf(arena, "case.collective_size=%.0f B", d->size_B),
		arena_printf(arena, "library.algorithm=%s", d->algorithm),
		arena_printf(arena, "case.exchange=%s", d->exchange),
		arena_printf(arena, "case.straggler=%g", d->straggler_ratio),
		"exchange.noise=0",
		arena_printf(arena, "input.source=%s", d->input),
		"case.steps=4",
		"case.transport=rdma",
		arena_printf(arena, "case.symmetry=%s", symmetry),
		d->setting,
		NULL,
	};
	return scenario_of(arena, &(struct settings){0}, texts);
}

static const struct link_use *link_of(const struct world_outcome *outcome, const char *name)
{
	for (size_t i = 0; i < outcome->link_count; i++)
		if (strcmp(outcome->links[i].link, name) == 0)
			return &outcome->links[i];
	return NULL;
}

static void compare(const struct world_outcome *whole, const struct world_outcome *folded)
{
	const struct job_run *a = &whole->jobs[0], *b = &folded->jobs[0];
	CHECK(!whole->broken && !folded->broken);
	CHECK(a->failed == b->failed);
	CHECK(a->step_count == b->step_count);
	for (size_t i = 0; i < a->step_count && i < b->step_count; i++) {
		CHECK(a->steps[i].start_ps == b->steps[i].start_ps);
		CHECK(a->steps[i].end_ps == b->steps[i].end_ps);
	}
	for (size_t i = 0; i < a->step_count && i < b->step_count; i++) {
		const struct step_record *x = &a->steps[i], *y = &b->steps[i];
		CHECK_NEAR(y->collective_s, x->collective_s, 1e-12);
		CHECK_NEAR(y->gpu_busy_s, x->gpu_busy_s, 1e-9);
		CHECK_NEAR(y->kernel_s, x->kernel_s, 1e-12);
		CHECK_NEAR(y->exposed_s, x->exposed_s, 1e-12);
		CHECK_NEAR(y->input_s, x->input_s, 1e-12);
		CHECK_NEAR(y->straggler_s, x->straggler_s, 1e-12);
		CHECK_NEAR(y->other_s, x->other_s, 1e-12);
		CHECK(y->calls_count == x->calls_count && y->polls_count == x->polls_count);
		CHECK_NEAR(y->work_ps, x->work_ps, 1e-9);
		for (int k = 0; k < TIME_KIND_COUNT; k++) {
			CHECK_NEAR(y->thread_s[k] + 1, x->thread_s[k] + 1, 1e-12);
			CHECK_NEAR(y->gpu_idle_s[k] + 1, x->gpu_idle_s[k] + 1, 1e-12);
		}
	}
	CHECK((a->rank_times != NULL) == (b->rank_times != NULL));
	size_t ranks = a->rank_times && b->rank_times ? a->entry->rank_count : 0;
	for (size_t i = 0; i < ranks; i++)
		CHECK(memcmp(&a->rank_times[i], &b->rank_times[i], sizeof *a->rank_times) == 0);
	CHECK(a->comm.sends_count == b->comm.sends_count);
	CHECK_NEAR(b->comm.sent_B, a->comm.sent_B, 1e-9);
	CHECK_NEAR(b->comm.delivered_B, a->comm.delivered_B, 1e-9);
	CHECK_NEAR(b->comm.network_B, a->comm.network_B, 1e-9);
	for (size_t i = 0; i < folded->link_count; i++) {
		const struct link_use *own = &folded->links[i];
		const struct link_use *same = link_of(whole, own->link);
		if (!CHECK(same != NULL))
			continue;
		CHECK_NEAR(own->carried_B, same->carried_B, 1e-9);
		CHECK_NEAR(own->window_B, same->window_B, 1e-9);
		CHECK_NEAR(own->busy_s, same->busy_s, 1e-9);
	}
}

/* Returns the number of machines that were not simulated. */
static size_t try(const struct draw *d)
{
	struct arena *arena = arena_new();
	char folder[] = "/tmp/farwire-symmetry-XXXXXX";
	CHECK(mkdtemp(folder) != NULL);
	const char *path = arena_printf(arena, "%s/drawn.cfg", folder);
	FILE *out = fopen(path, "w");
	int failures = test_failures;
	size_t spared = 0;
	if (CHECK(out != NULL)) {
		fputs(d->topology, out);
		fclose(out);
		const struct scenario *whole = read_case(arena, d, path, "off");
		const struct scenario *folded =
			read_case(arena, d, path, d->symmetry ? d->symmetry : "on");
		if (whole && folded) {
			struct world_outcome a = world_run(arena, whole, 1, NULL);
			struct world_outcome b = world_run(arena, folded, 1, NULL);
			if (d->near_ratio > 0)
				CHECK_NEAR((double)b.jobs[0].steps[0].end_ps,
					   (double)a.jobs[0].steps[0].end_ps, d->near_ratio);
			else
				compare(&a, &b);
			CHECK(!whole->topology.fold);
			if (!b.jobs[0].failed)
				spared = whole->topology.host_count - folded->topology.host_count;
		}
		unlink(path);
		rmdir(folder);
	}
	if (test_failures > failures)
		printf("  %s  %s %s %zu GPUs, %zu a machine, %s by %s of %.0f B; %s, input %s, "
		       "straggler %g\n",
		       d->topology, d->plan ? d->model : "", d->plan ? d->plan : "", d->gpus,
		       d->per_machine, d->collective, d->algorithm, d->size_B, d->exchange,
		       d->input, d->straggler_ratio);
	arena_free(arena);
	return spared;
}

/* Returns the number of drawn cases with machines that were not simulated. */
static size_t try_some(uint64_t seed, bool mixed, bool training)
{
	struct rng rng = rng_named(seed, "symmetry");
	size_t folded = 0;
	for (size_t i = 0; i < tries; i++) {
		struct arena *arena = arena_new();
		struct draw d = draw_case(arena, &rng, mixed);
		if (training)
			draw_training(&rng, &d);
		folded += try(&d) > 0;
		arena_free(arena);
	}
	return folded;
}

static void folded_machines_give_the_result_of_all(void)
{
	CHECK(try_some(1, false, false) > 0);
}

/* In a ring the border between two kinds of machines makes all machines different, in a tree only a
 * few. */
static void folding_is_exact_with_two_kinds_of_machines(void)
{
	try_some(2, true, false);
}

static void folding_is_exact_for_training(void)
{
	CHECK(try_some(3, false, true) > 0);
}

static void folding_is_exact_for_plans(void)
{
	struct rng rng = rng_named(4, "plans");
	size_t folded = 0;
	for (size_t i = 0; i < tries; i++) {
		struct arena *arena = arena_new();
		struct draw d = draw_plan(arena, &rng);
		folded += try(&d) > 0;
		arena_free(arena);
	}
	CHECK(folded >= tries / 3);
}

static const struct draw star = {
	.topology = "topology = { name = \"star\"; cluster = { machine = \"dgx-h100\"; ports = 1; "
		    "network = { "
		    "kind = \"switch\"; link = { kind = \"infiniband\"; bandwidth = \"100 "
		    "Gbit/s\"; }; }; }; };\n",
	.gpus = 256,
	.per_machine = 8,
	.collective = "all_reduce",
	.algorithm = "hierarchical",
	.size_B = 1e7,
	.exchange = "nccl-2.18",
	.input = "gpu",
	.straggler_ratio = 1,
};

/* On a star one machine represents all 32, both for the hierarchical algorithm and for rings. */
static void one_machine_represents_all_machines_of_a_star(void)
{
	CHECK(try(&star) == 31);
	struct draw d = star;
	d.gpus = 64;
	d.per_machine = 1;
	d.algorithm = "ring";
	CHECK(try(&d) == 63);
	d.collective = "all_gather";
	d.algorithm = "auto";
	CHECK(try(&d) == 63);
}

/* A binary tree of 127 machines has as many classes as levels. With one more machine, the 8 on
 * the path from it to the root have their own classes, and so has each level below the branches
 * of this path: 6 + 5 + ... + 1. */
static void binary_tree_has_one_class_of_machines_per_level(void)
{
	struct draw d = star;
	d.gpus = 127;
	d.per_machine = 1;
	d.algorithm = "binary_tree";
	CHECK(try(&d) == 127 - 7);
	d.gpus = 128;
	CHECK(try(&d) == 128 - (8 + 21));
}

/* With an even number of machines, the second tree is the mirror image of the first one, so a
 * machine does in one tree what its image does in the other one. An odd number has no images. */
static void double_tree_folds_a_machine_with_its_image(void)
{
	struct draw d = star;
	d.gpus = 16;
	d.per_machine = 1;
	d.algorithm = "double_tree";
	CHECK(try(&d) == 16 / 2);
	d.gpus = 15;
	CHECK(try(&d) == 0);
	d.per_machine = 8;
	d.gpus = 2 * 8;
	CHECK(try(&d) == 2 / 2);
	d.algorithm = "nvls_tree";
	CHECK(try(&d) == 2 / 2);
	d.gpus = 6 * 8;
	CHECK(try(&d) == 6 / 2);
}

/* Half of the 128 machines, the odd ones, are leaves of the first tree. In the second tree they
 * have heights 1 to 6, or are the root. The even ones are their images, where it is the other way
 * round. So there are 7 classes. The times are still equal. */
static void nearly_alike_machines_of_a_double_tree_have_its_heights(void)
{
	struct draw d = star;
	d.gpus = 1024;
	d.algorithm = "double_tree";
	d.symmetry = "auto";
	d.size_B = 1e5;
	CHECK(try(&d) == 128 - 7);
	d.size_B = 1e8;
	d.near_ratio = 1e-4; /* messages wait for each other in another order */
	CHECK(try(&d) == 128 - 7);
}

/* Behind leaves, and with other numbers of machines, the times are nearly equal. */
static void nearly_alike_machines_give_nearly_the_result_of_all(void)
{
	struct rng rng = rng_named(5, "near");
	for (size_t i = 0; i < (tries + 1) / 2; i++) {
		struct arena *arena = arena_new();
		struct draw d = star;
		d.topology = arena_printf(
			arena,
			"topology = { name = \"drawn\"; cluster = { machine = \"dgx-h100\"; "
			"ports = %d; network = { kind = \"%s\"; ports_per_leaf = %d; link = { "
			"kind = \"infiniband\"; bandwidth = \"100 Gbit/s\"; }; }; }; };\n",
			1 << rng_below(&rng, 4), i % 2 ? "rail_optimised" : "fat_tree",
			16 << rng_below(&rng, 2));
		d.gpus = 8 * (128 + (size_t)rng_below(&rng, 32));
		d.algorithm = rng_below(&rng, 2) ? "double_tree" : "nvls_tree";
		d.size_B = exp2(10 + 18 * rng_uniform(&rng));
		d.symmetry = "auto";
		d.near_ratio = 0.015;
		CHECK(try(&d) > 128 / 2);
		arena_free(arena);
	}
}

/* Returns the time of the first step of a plan on 40 machines behind leaves of 8. */
static double large_plan_s(struct arena *arena, const char *plan, const char *symmetry,
			   size_t *machines)
{
	const char *texts[] = {
		"case.topology=dgx-h100",
		"wiring.ports_per_leaf=8",
		"case.gpus=320",
		"case.model=llama2-7b",
		"case.exchange=nccl-2.18",
		"case.stack=pytorch-fsdp-bf16",
		"case.steps=1",
		"case.steps_warmup=0",
		"gpu.h100-sxm5.memory=900 GB",
		arena_printf(arena, "case.symmetry=%s", symmetry),
		"plan.sharding=parameters",
		arena_printf(arena, "plan.tp=%c", plan[0]),
		arena_printf(arena, "plan.pp=%c", plan[1]),
		NULL,
	};
	const struct scenario *scenario = scenario_of(arena, &(struct settings){0}, texts);
	if (!CHECK(scenario != NULL))
		return 0;
	struct world_outcome outcome = world_run(arena, scenario, 1, NULL);
	CHECK(!outcome.broken && !outcome.jobs[0].failed);
	*machines = scenario->topology.host_count;
	return s_from_ps(outcome.jobs[0].steps[0].end_ps - outcome.jobs[0].steps[0].start_ps);
}

/* Two plans: rings of 40 machines, and pipelines of two stages of 20 machines. */
static void large_plans_are_near_the_exact_result(void)
{
	static const char *const plans[] = {"81", "42"};
	for (size_t i = 0; i < 2; i++) {
		struct arena *arena = arena_new();
		size_t exact = 0, near = 0;
		double exact_s = large_plan_s(arena, plans[i], "on", &exact);
		CHECK_NEAR(large_plan_s(arena, plans[i], "auto", &near), exact_s, 0.005);
		CHECK(near < exact && near <= 3);
		arena_free(arena);
	}
}

/* Without GPUDirect over the bridge of a GPU and its adapter, messages between machines are staged
 * in host memory. The folded job has one machine, and the library still knows it. */
static void one_machine_knows_that_messages_to_others_are_staged(void)
{
	struct draw d = star;
	d.gpus = 64;
	d.algorithm = "ring";
	d.size_B = 1e6;
	d.setting = "library.net_gdr_level=loc";
	CHECK(try(&d) == 64 / 8 - 1);
	d.setting = "library.host_memory=true"; /* cores of hosts add and copy */
	CHECK(try(&d) == 64 / 8 - 1);
}

/* The groups of these plans have members in several of 48 to 66 small machines, whose classes are
 * found by level: tensor groups of four GPUs in machines of two, and data groups of as many
 * machines as no leaf has. The classes of the last one are too many to fold it. */
static void groups_across_small_machines_are_near_the_exact_result(void)
{
	static const struct small {
		size_t gpus;
		const char *plan;
	} plans[] = {
		{96, "tp=4 pp=2 micro_batch=2 global_batch=24 sharding=optimizer schedule=gpipe "
		     "overlap_gradients=false order=pp-tp-cp-dp"},
		{132, "tp=4 micro_batch=2 global_batch=198 overlap_gradients=false "
		      "order=pp-tp-cp-dp"},
		{128, "tp=4 pp=4 cp=2 micro_batch=2 global_batch=16 sharding=optimizer replicas=2 "
		      "recompute=full order=pp-dp-cp-tp"},
	};
	for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
		struct draw d = {.gpus = plans[i].gpus,
				 .plan = plans[i].plan,
				 .model = "gpt2",
				 .gpu = "rtx-4090",
				 .symmetry = "auto",
				 .near_ratio = 0.01};
		d.topology =
			"topology = { name = \"small\"; cluster = { machine = \"workstation-2\"; "
			"network = { kind = \"fat_tree\"; link = { kind = \"infiniband\"; "
			"bandwidth = \"100 Gbit/s\"; }; }; }; };\n";
		try(&d);
	}
}

/* Machines 0 and 1 are below one leaf, and machine 2 is below another leaf of the pod. */
static void nearly_alike_machines_are_only_inside_or_outside(void)
{
	uint32_t leaf_of[] = {0, 0, 1}, pod_of[] = {0, 0};
	struct fold fold = {.leaf_of = leaf_of, .pod_of = pod_of};
	CHECK(fold_distance(&fold, 0, 1) == FOLD_LEAF && fold_distance(&fold, 0, 2) == FOLD_POD);
	fold.near = true;
	CHECK(fold_distance(&fold, 0, 1) == FOLD_TOP && fold_distance(&fold, 0, 2) == FOLD_TOP);
	CHECK(fold_distance(&fold, 1, 1) == FOLD_INSIDE);
}

/* Machines 0 to 3 are of one kind and 4 and 5 of another, each below a leaf of its own, two leaves
 * to a pod. The first machine of a kind represents all, and its leaf and pod that part of the
 * leaves and pods. By level, one leaf and one pod represent all. */
static void representatives_of_each_kind_have_their_part_of_the_leaves(void)
{
	static const uint32_t leaves[2][6] = {{4, 0, 0, 0, 2, 0}, {6, 0, 0, 0, 0, 0}};
	static const uint32_t pods[2][3] = {{2, 0, 1}, {3, 0, 0}};
	uint32_t number_of[] = {0, 1, 2, 3, 4, 5, 6}, pod_of[] = {0, 0, 1, 1, 2, 2};
	uint32_t kind_of[] = {0, 0, 0, 0, 1, 1};
	for (int by_level = 0; by_level < 2; by_level++) {
		struct arena *arena = arena_new();
		struct fold fold = {.rank_count = 6,
				    .machine_count = 6,
				    .leaf_count = 6,
				    .pod_count = 3,
				    .machine_of = number_of,
				    .first_rank = number_of,
				    .leaf_of = number_of,
				    .pod_of = pod_of,
				    .kind_of = kind_of,
				    .near = true,
				    .by_level = by_level};
		fold_by_kind(arena, &fold);
		CHECK(fold.class_count == 2 && fold.count_of[0] == 4 && fold.count_of[4] == 2);
		for (size_t i = 0; i < 6; i++) {
			CHECK(fold.like[i] == (i < 4 ? 0 : 4));
			CHECK(fold.leaf_count_of[i] == leaves[by_level][i]);
			CHECK(fold.pod_count_of[i / 2] == pods[by_level][i / 2]);
		}
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(representatives_of_each_kind_have_their_part_of_the_leaves),
	TEST(one_machine_knows_that_messages_to_others_are_staged),
	TEST(groups_across_small_machines_are_near_the_exact_result),
	TEST(large_plans_are_near_the_exact_result),
	TEST(one_machine_represents_all_machines_of_a_star),
	TEST(binary_tree_has_one_class_of_machines_per_level),
	TEST(double_tree_folds_a_machine_with_its_image),
	TEST(nearly_alike_machines_of_a_double_tree_have_its_heights),
	TEST(nearly_alike_machines_are_only_inside_or_outside),
	TEST(nearly_alike_machines_give_nearly_the_result_of_all),
	TEST(folded_machines_give_the_result_of_all),
	TEST(folding_is_exact_with_two_kinds_of_machines),
	TEST(folding_is_exact_for_training),
	TEST(folding_is_exact_for_plans),
};

int main(int argc, char **argv)
{
	num_init();
	if (argc > 1)
		tries = (size_t)strtoul(argv[1], NULL, 10);
	return TEST_MAIN(tests);
}
