/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impossible plans are refused with what is wrong and what to write. */
#include "tests/test.h"
#include "tests/tiny_plan.h"

static struct arena *arena;

/* Returns why the plan is refused, or "" if it is possible. */
static const char *refusal(const struct network *network, const struct plan_params *params,
			   size_t ranks)
{
	const char *why = NULL;
	const struct training_plan *plan = plan_new(arena, network, params, ranks, &why);
	CHECK(!plan == !!why);
	return why ? why : "";
}

static void orders_name_each_axis_once(void)
{
	static const char *const orders[] = {
		"tp-cp-dp-ep", "tp-cp-dp-tp",    "tp-cp-dp", "tp-cp-dp-",
		"tp cp-dp-pp", "tp-cp-dp-pp-ep", ""};
	struct plan_params params = one_gpu;
	for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
		params.order = orders[i];
		CHECK_TEXT(refusal(read_tiny(arena), &params, 1),
			   arena_printf(arena,
					"plan.order is '%s' (write each of tp, cp, dp and pp once, "
					"as in \"tp-cp-dp-pp\")",
					orders[i]));
	}
	params.order = "pp-dp-cp-tp";
	CHECK_TEXT(refusal(read_tiny(arena), &params, 1), "");
}

static void sizes_of_groups_multiply_to_the_gpus(void)
{
	struct plan_params params = one_gpu;
	params.tp_count = params.pp_count = 2;
	params.dp_count = 3;
	CHECK_TEXT(refusal(read_tiny(arena), &params, 8),
		   "tp x cp x pp x dp is 12, but the job has 8 GPUs (write plan.dp=2, or leave it "
		   "out)");
	params.dp_count = 2;
	CHECK_TEXT(refusal(read_tiny(arena), &params, 8), "");
}

static void replicas_need_something_that_is_shared(void)
{
	struct plan_params params = one_gpu;
	params.replicas_count = 2;
	CHECK_TEXT(refusal(read_tiny(arena), &params, 4),
		   "plan.replicas copies what ranks share out, and they share nothing (write "
		   "plan.sharding=parameters, or plan.replicas=1)");
	params.sharding = SHARDING_OPTIMIZER;
	CHECK_TEXT(refusal(read_tiny(arena), &params, 4), "");
	params.replicas_count = 3;
	CHECK_TEXT(refusal(read_tiny(arena), &params, 4),
		   "4 data-parallel ranks are not divisible by replicas (3): write "
		   "plan.replicas=2");
}

static const struct network *experts(void)
{
	static const char text[] =
		"network = { name = \"m\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"b\"; repeat = 1; layers = (\n"
		"  { name = \"x\"; op = \"experts\"; experts = 4; top = 2; hidden = 6; } ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct diag *diag = diag_new(arena);
	return network_read(arena, diag, cfg_read_text(arena, diag, "m.cfg", text), 0);
}

static void groups_of_experts_have_no_replicas_and_no_bundles(void)
{
	struct plan_params params = one_gpu;
	params.ep_count = 2;
	params.sharding = SHARDING_OPTIMIZER;
	CHECK_TEXT(refusal(experts(), &params, 4), "");
	params.replicas_count = 2;
	CHECK_TEXT(refusal(experts(), &params, 4),
		   "plan.replicas is not modelled for experts (write plan.ep=1, or "
		   "plan.replicas=1)");
	params.ep_count = 1;
	CHECK_TEXT(refusal(experts(), &params, 4), "");
}

static void bundles_of_the_policy_need_gradients_that_wait(void)
{
	static const char why[] =
		"plan.buckets=policy has no effect on experts, nor with plan.sharding=parameters, "
		"which reduces each block's gradients behind it (leave plan.buckets out)";
	struct plan_params params = one_gpu;
	params.buckets = BUCKETS_POLICY;
	CHECK_TEXT(refusal(experts(), &params, 4), "");
	params.ep_count = 2;
	CHECK_TEXT(refusal(experts(), &params, 4), why);
	params.ep_count = 1;
	params.sharding = SHARDING_PARAMETERS;
	CHECK_TEXT(refusal(experts(), &params, 4), why);
	params.buckets = BUCKETS_MEGATRON;
	CHECK_TEXT(refusal(experts(), &params, 4), "");
}

/* A chain of products has no repeated blocks. Two of its layers are places for a cut. */
static void networks_without_blocks_are_cut_at_few_places(void)
{
	static const char text[] =
		"network = { name = \"c\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	static const char superfluous[] =
		"network 'c' has no repeated blocks, so plan.embedding_as_block, "
		"plan.loss_as_block and plan.recompute have no effect (leave them out)";
	struct diag *diag = diag_new(arena);
	const struct network *chain =
		network_read(arena, diag, cfg_read_text(arena, diag, "c.cfg", text), 0);
	struct plan_params params = one_gpu;
	size_t most = 1;
	CHECK_TEXT(refusal(chain, &params, 1), "");
	for (params.pp_count = 2; !*refusal(chain, &params, (size_t)params.pp_count);)
		most = (size_t)params.pp_count++;
	CHECK(most == 3);
	CHECK_TEXT(refusal(chain, &params, most + 1),
		   "network 'c' cannot be cut into 4 parts, because it has too few places at which "
		   "only one activation passes to the next layer (write a smaller plan.pp)");
	for (int i = 0; i < 3; i++) {
		params = one_gpu;
		params.embedding_as_block = i == 0;
		params.loss_as_block = i == 1;
		params.recompute = i == 2 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
		CHECK_TEXT(refusal(chain, &params, 1), superfluous);
	}
}

static void a_count_in_a_layout_is_a_number(void)
{
	struct plan_params params = one_gpu;
	params.layout = "Et*L";
	CHECK_TEXT(refusal(read_tiny(arena), &params, 1),
		   "plan.layout: a number behind * is not from 1 to 4096 (write for example "
		   "Et*3|(tt|)*29L for 61 blocks in 31 parts)");
	params.layout = "E(t|)*4096L";
	CHECK_TEXT(refusal(read_tiny(arena), &params, 1),
		   "plan.layout: it has 4097 parts and 4096 blocks, but the plan has 1 (pp times "
		   "chunks) and the network 2 (write for example Et*3|(tt|)*29L for 61 blocks in "
		   "31 parts)");
	params.layout = "E(|||||||||||||||||)*4096L";
	CHECK(strstr(refusal(read_tiny(arena), &params, 1), "there are more than 65536 parts"));
}

static const struct test tests[] = {
	TEST(orders_name_each_axis_once),
	TEST(sizes_of_groups_multiply_to_the_gpus),
	TEST(replicas_need_something_that_is_shared),
	TEST(groups_of_experts_have_no_replicas_and_no_bundles),
	TEST(bundles_of_the_policy_need_gradients_that_wait),
	TEST(networks_without_blocks_are_cut_at_few_places),
	TEST(a_count_in_a_layout_is_a_number),
};

int main(void)
{
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
