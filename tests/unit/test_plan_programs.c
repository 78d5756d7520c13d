/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of plans for a network of experts, and which of their kernels are fused into runs. Two
 * blocks have 4 experts of 2 matrices of the gate and one behind it. The part behind the blocks is
 * larger than the one before them, because it has a norm. */
#include "sim/training/exchange.h"
#include "tests/test.h"
#include "tests/tiny_plan.h"

static const char experts[] =
	"network = { name = \"m\"; sequence = 16; vocabulary = 12; source = \"by hand\";\n"
	"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
	"{ name = \"b\"; repeat = 2; layers = (\n"
	"  { name = \"n\"; op = \"layer_norm\"; bias = false; },\n"
	"  { name = \"x\"; op = \"experts\"; experts = 4; top = 2; hidden = 6; } ); },\n"
	"{ name = \"o\"; op = \"layer_norm\"; bias = false; },\n"
	"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
	"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";

/* Only adapters are trained: 4 tensors in each block. */
static const char adapters[] =
	"network = { name = \"a\"; sequence = 16; vocabulary = 12; frozen = true;\n"
	"source = \"by hand\"; layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
	"{ name = \"b\"; repeat = 2; layers = (\n"
	"  { name = \"n\"; op = \"layer_norm\"; bias = false; },\n"
	"  { name = \"a\"; op = \"attention\"; heads = 4; causal = true; lora = 2; } ); },\n"
	"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
	"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";

static const struct stack_params bf16 = {.l2_loss = L2_LOSS_NONE,
					 .optimiser_copies_count = 2,
					 .precision = PRECISION_BF16,
					 .fused_attention = true,
					 .dispatch_s = 1e-6};
static const struct gpu_params some_gpu = {.bf16_flops = 1e12,
					   .fp32_flops = 1e12,
					   .memory_bandwidth_Bps = 1e11,
					   .memory_efficiency_ratio = 1};
static const struct efficiency_params at_peak = {.peak_ratio = 1};

static struct arena *arena;

static const struct network *read(const char *text)
{
	struct diag *diag = diag_new(arena);
	return network_read(arena, diag, cfg_read_text(arena, diag, "m.cfg", text), 0);
}

/* The plan, its groups and the program of a rank. */
struct written {
	const struct training_plan *plan;
	struct plan_groups groups;
	const struct call_thread *calls;
	const struct program *program;
	size_t rank;
};

static struct written write(const struct network *network, const struct plan_params *params,
			    size_t ranks, size_t rank, const struct fuse_params *fuse,
			    const struct exchange_params *exchange)
{
	const char *why = NULL;
	struct written w = {.plan = plan_new(arena, network, params, ranks, &why), .rank = rank};
	FW_ASSERT(w.plan);
	w.groups = plan_groups(arena, w.plan, false);
	const struct plan_step step = {w.plan,   &w.groups, &bf16,   &some_gpu,
				       &at_peak, fuse,      exchange};
	w.program = plan_program(arena, &step, rank);
	w.calls = w.program->threads;
	return w;
}

/* Returns the bytes of the rank's calls of that kind in its group of a kind. */
static double called_B(const struct written *w, enum call_kind kind, enum plan_group group)
{
	double sum_B = 0;
	uint32_t number = w->groups.of[group][w->rank];
	for (size_t i = 0; i < w->calls->count; i++) {
		const struct cuda_call *call = &w->calls->items[i].call;
		if (w->calls->items[i].kind != ITEM_CALL || call->kind != kind || number == 0 ||
		    call->peer != number)
			continue;
		sum_B += call->payload_B;
		CHECK(call->exposed == (group == PLAN_EXPERT ? GPU_EXPERT : GPU_DATA));
	}
	return sum_B;
}

/* Returns the parameters of experts on a GPU, or all others. */
static double parameters(const struct training_plan *plan, bool of_experts)
{
	const struct network *network = plan->shard->network;
	double count = 0;
	for (size_t i = 0; i < network->layer_count; i++)
		for (size_t t = 0; t < network->layers[i].tensor_count; t++)
			if ((network->layers[i].experts > 0) == of_experts)
				count += network->layers[i].tensors[t];
	return count;
}

/* Two of four GPUs share 4 experts. All four add the gradients of other parameters, and the two
 * with the same experts add theirs: 2 blocks x 2 experts x 3 matrices of 8 x 6. Ranks that share
 * out the optimizer gather the same parameters in bf16. */
static void experts_have_data_groups_of_their_own(void)
{
	struct plan_params params = one_gpu;
	params.ep_count = 2;
	for (int sharding = SHARDING_NONE; sharding <= SHARDING_OPTIMIZER; sharding++) {
		params.sharding = sharding;
		const struct written w = write(read(experts), &params, 4, 3, NULL, NULL);
		double count = 2 * 2 * 3 * 8 * 6, others = parameters(w.plan, false);
		enum call_kind reduce = sharding ? CALL_REDUCE_SCATTER : CALL_ALL_REDUCE;
		CHECK_NEAR(parameters(w.plan, true), count, 0);
		CHECK(others > 2 * 8 * 4 && w.groups.of[PLAN_DATA][3] > 0);
		CHECK_NEAR(called_B(&w, reduce, PLAN_DATA), others * 4, 1e-12);
		CHECK_NEAR(called_B(&w, reduce, PLAN_EXPERT_DATA), count * 4, 1e-12);
		CHECK_NEAR(called_B(&w, CALL_ALL_GATHER, PLAN_DATA), sharding ? others * 2 : 0,
			   1e-12);
		CHECK_NEAR(called_B(&w, CALL_ALL_GATHER, PLAN_EXPERT_DATA),
			   sharding ? count * 2 : 0, 1e-12);
		CHECK(called_B(&w, CALL_ALL_TO_ALL, PLAN_EXPERT) > 0);
	}
}

/* FSDP gathers all parameters before each pass, whether a unit is the first or the last of the
 * pass. Without expert groups, experts are like other parameters, and each of 4 ranks of a replica
 * adds its part of all gradients to the other replica's. */
static void each_pass_gathers_every_unit(void)
{
	struct plan_params params = one_gpu;
	params.sharding = SHARDING_PARAMETERS;
	params.replicas_count = 2;
	const struct written w = write(read(experts), &params, 8, 5, NULL, NULL);
	double all = w.plan->shard->network->parameters_count;
	CHECK_NEAR(called_B(&w, CALL_ALL_GATHER, PLAN_DATA), 2 * all * 2, 1e-12);
	CHECK_NEAR(called_B(&w, CALL_REDUCE_SCATTER, PLAN_DATA), all * 4, 1e-12);
	CHECK_NEAR(called_B(&w, CALL_ALL_REDUCE, PLAN_REPLICAS), all * 4 / 4, 1e-12);
}

/* Each program needs the memory of its own stage. */
static void ranks_need_the_memory_of_their_stage(void)
{
	struct plan_params params = one_gpu;
	params.pp_count = 2;
	double needed_B[2];
	for (size_t rank = 0; rank < 2; rank++) {
		const struct written w = write(read(experts), &params, 2, rank, NULL, NULL);
		needed_B[rank] = plan_memory_B(w.plan, &bf16, rank);
		CHECK_NEAR(w.program->memory_B, needed_B[rank], 0);
	}
	CHECK(needed_B[0] < needed_B[1] || needed_B[0] > needed_B[1]);
}

/* A shared optimizer gathers only what is trained, in bf16. */
static void frozen_parameters_are_not_gathered(void)
{
	struct plan_params params = one_gpu;
	params.sharding = SHARDING_OPTIMIZER;
	const struct written w = write(read(adapters), &params, 2, 1, NULL, NULL);
	double trained = 2 * (8 * 2 + 2 * 24 + 8 * 2 + 2 * 8);
	CHECK_NEAR(called_B(&w, CALL_ALL_GATHER, PLAN_DATA), trained * 2, 1e-12);
	CHECK_NEAR(called_B(&w, CALL_REDUCE_SCATTER, PLAN_DATA), trained * 4, 1e-12);
}

/* One all-reduce for each tensor: the four of the second block follow each other, and the kernels
 * of the first block come before its own four. Frozen tensors are not counted as ready. */
static void gradients_of_a_block_are_reduced_behind_it(void)
{
	struct plan_params params = one_gpu;
	struct exchange_params exchange = {0};
	size_t reduced = 0, kernels[9] = {0}; /* by number of all-reduces before them */
	params.buckets = BUCKETS_POLICY;
	params.overlap_gradients = true;
	for (size_t i = 0; i < exchange_policy_count(); i++)
		if (strcmp(exchange_policy_at(i)->name, "per_tensor") == 0)
			exchange.policy = (int)i;
	const struct written w = write(read(adapters), &params, 2, 0, NULL, &exchange);
	for (size_t i = 0; i < w.calls->count; i++) {
		const struct cuda_call *call = &w.calls->items[i].call;
		if (w.calls->items[i].kind != ITEM_CALL)
			continue;
		reduced += call->kind == CALL_ALL_REDUCE;
		bool backward = call->label && strcmp(call->label, "B1") == 0;
		if (CHECK(reduced < 9))
			kernels[reduced] += call->kind == CALL_LAUNCH && backward;
	}
	CHECK(reduced == 8 && kernels[0] > 0 && kernels[4] > 0);
	CHECK(kernels[1] + kernels[2] + kernels[3] == 0);
	CHECK(kernels[5] + kernels[6] + kernels[7] == 0);
}

/* Without sharding, each rank updates all parameters, however many ranks there are. */
static void only_sharding_divides_updates(void)
{
	struct plan_params params = one_gpu;
	double updates_s[2][2] = {{0}}; /* by sharding and ranks */
	for (int sharding = 0; sharding < 2; sharding++)
		for (size_t ranks = 1; ranks <= 2; ranks++) {
			params.sharding = sharding ? SHARDING_OPTIMIZER : SHARDING_NONE;
			const struct written w =
				write(read(experts), &params, ranks, 0, NULL, NULL);
			for (size_t i = 0; i < w.calls->count; i++) {
				const struct cuda_call *call = &w.calls->items[i].call;
				if (w.calls->items[i].kind == ITEM_CALL && call->label &&
				    strcmp(call->label, "update") == 0)
					updates_s[sharding][ranks - 1] += call->duration_s;
			}
		}
	CHECK(updates_s[0][0] > 0);
	CHECK_NEAR(updates_s[0][1], updates_s[0][0], 1e-12);
	CHECK_NEAR(updates_s[1][0], updates_s[0][0], 1e-12);
	CHECK_NEAR(updates_s[1][1], updates_s[0][0] / 2, 1e-12);
}

/* Returns the runs of a pass of rank 0, each of which stands for several kernels. */
static size_t runs(const struct plan_params *params, size_t ranks, const char *pass)
{
	static const struct driver_params driver;
	static const struct fuse_params fuse = {&driver, &some_gpu, 1};
	const struct written w = write(read_tiny(arena), params, ranks, 0, &fuse, NULL);
	size_t count = 0;
	for (size_t i = 0; i < w.calls->count; i++) {
		const struct cuda_call *call = &w.calls->items[i].call;
		count += w.calls->items[i].kind == ITEM_CALL && call->run && call->label &&
			 strcmp(call->label, pass) == 0;
	}
	return count;
}

/* Kernels beside collectives are not fused, because both slow down each other. These are kernels of
 * the last backward pass if several ranks add its gradients then. They are those of the first
 * forward pass if updated parameters are gathered beside it, and with FSDP those of all passes. */
static void kernels_beside_collectives_are_not_fused(void)
{
	struct plan_params params = one_gpu;
	params.overlap_gradients = true;
	params.global_batch_count = 2;
	CHECK(runs(&params, 1, "F1") > 0 && runs(&params, 1, "B1") > 0 &&
	      runs(&params, 1, "B2") > 0);
	params.global_batch_count = 4;
	CHECK(runs(&params, 2, "F1") > 0 && runs(&params, 2, "B1") > 0);
	CHECK(runs(&params, 2, "B2") == 0);
	params.overlap_gradients = false;
	CHECK(runs(&params, 2, "B2") > 0);
	for (int overlap = 0; overlap < 2; overlap++) {
		params.sharding = SHARDING_OPTIMIZER;
		params.overlap_parameters = overlap;
		CHECK((runs(&params, 2, "F1") > 0) == !overlap && runs(&params, 2, "F2") > 0);
	}
	params.sharding = SHARDING_PARAMETERS;
	CHECK(runs(&params, 2, "F1") == 0 && runs(&params, 2, "F2") == 0);
	CHECK(runs(&params, 2, "B1") == 0 && runs(&params, 2, "B2") == 0);
	/* two ranks of a context group add gradients, too */
	params = one_gpu;
	params.cp_count = params.global_batch_count = 2;
	params.overlap_gradients = true;
	CHECK(runs(&params, 2, "B1") > 0 && runs(&params, 2, "B2") == 0);
	/* gradients of weights, in passes of their own */
	params.cp_count = 1;
	params.global_batch_count = 4;
	params.schedule = "zb-h1";
	CHECK(runs(&params, 2, "W1") > 0 && runs(&params, 2, "W2") == 0);
}

/* Modules of selective recomputation: norms of blocks, or activations of experts, and only these.
 * The norm behind the blocks and the activation of a plain MLP are kept. */
static void modules_are_those_of_blocks_and_experts(void)
{
	static const struct {
		const char *modules;
		size_t norms, gates;
	} rows[] = {{"layernorm", 2, 0}, {"moe_act", 0, 2}, {"core_attn", 0, 0}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct plan_params params = one_gpu;
		const char *why = NULL;
		params.recompute = RECOMPUTE_SELECTIVE;
		params.recompute_modules = rows[i].modules;
		const struct network *network = read(experts), *tiny = read_tiny(arena);
		const struct training_plan *plan = plan_new(arena, network, &params, 1, &why);
		size_t norms = 0, gates = 0;
		for (size_t l = 0; l < network->layer_count; l++) {
			bool again = plan_recomputes(plan, network, &bf16, l);
			norms += again && network->layers[l].op == LAYER_LAYER_NORM;
			gates += again && network->layers[l].op == LAYER_GATE;
		}
		CHECK(norms == rows[i].norms && gates == rows[i].gates);
		plan = plan_new(arena, tiny, &params, 1, &why);
		for (size_t l = 0; l < tiny->layer_count; l++)
			CHECK(tiny->layers[l].op != LAYER_GELU ||
			      !plan_recomputes(plan, tiny, &bf16, l));
	}
}

static const struct test tests[] = {
	TEST(experts_have_data_groups_of_their_own),
	TEST(each_pass_gathers_every_unit),
	TEST(ranks_need_the_memory_of_their_stage),
	TEST(frozen_parameters_are_not_gathered),
	TEST(gradients_of_a_block_are_reduced_behind_it),
	TEST(only_sharding_divides_updates),
	TEST(kernels_beside_collectives_are_not_fused),
	TEST(modules_are_those_of_blocks_and_experts),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
