/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/plan.h"

/* Each pass takes about 1 kB. */
#define PASSES_MOST 2e6
/* A message leaves and arrives. */
#define EVENTS_PER_MESSAGE 2

static const struct registry_row schedule_rows[] = {
#define SCHEDULE(name) REGISTRY_ROW(name),
#include "sim/training/schedules.def"
#undef SCHEDULE
};
const struct registry pipeline_schedule_registry =
	REGISTRY("pipeline schedule", "schedules", schedule_rows);

static const char *const axis_names[AXIS_COUNT] = {"tp", "cp", "dp", "pp"};

/* ---- sizes ---- */

struct checker {
	struct arena *arena;
	struct training_plan *plan;
	const char *why;
};

static bool fails(struct checker *c, const char *why)
{
	c->why = c->why ? arena_printf(c->arena, "%s; %s", c->why, why) : why;
	return false;
}

static bool read_order(struct checker *c)
{
	const char *text = c->plan->params->order;
	bool used[AXIS_COUNT] = {false};
	for (size_t i = 0; i < AXIS_COUNT; i++) {
		size_t axis = 0;
		while (axis < AXIS_COUNT && strncmp(text, axis_names[axis], 2) != 0)
			axis++;
		if (axis == AXIS_COUNT || used[axis] || text[2] != (i + 1 < AXIS_COUNT ? '-' : 0))
			return fails(c, arena_printf(c->arena,
						     "plan.order is '%s' (write each of tp, cp, dp "
						     "and pp once, as in \"tp-cp-dp-pp\")",
						     c->plan->params->order));
		used[axis] = true;
		c->plan->order[i] = (enum plan_axis)axis;
		text += 3;
	}
	return true;
}

/* Checks that `all` things are divisible by the plan's number. Otherwise suggests the next smaller
 * number that divides them. */
static bool divides(struct checker *c, size_t all, const char *things, const char *key, size_t by)
{
	if (all % by == 0)
		return true;
	return fails(c, arena_printf(c->arena,
				     "%zu %s are not divisible by %s (%zu): write plan.%s=%zu", all,
				     things, key, by, key, divisor_below(all, by)));
}

static bool fill_ranks(struct checker *c)
{
	struct training_plan *plan = c->plan;
	const struct plan_params *params = plan->params;
	size_t tp = (size_t)params->tp_count, cp = (size_t)params->cp_count;
	size_t pp = (size_t)params->pp_count, dp = (size_t)params->dp_count;
	size_t all = plan->rank_count, ep = (size_t)params->ep_count;
	plan->sizes[AXIS_TENSOR] = tp;
	plan->sizes[AXIS_CONTEXT] = cp;
	plan->sizes[AXIS_PIPELINE] = pp;
	plan->expert_count = ep;
	if (!divides(c, all, "GPUs", "tp", tp) ||
	    !divides(c, all / tp, "tensor groups", "cp", cp) ||
	    !divides(c, all / tp / cp, "groups of tp x cp GPUs", "pp", pp) ||
	    !divides(c, all / pp, "GPUs of a stage", "ep", ep))
		return false;
	plan->sizes[AXIS_DATA] = all / (tp * cp * pp);
	if (dp == 0 || dp == plan->sizes[AXIS_DATA])
		return true;
	return fails(c, arena_printf(c->arena,
				     "tp x cp x pp x dp is %zu, but the job has %zu GPUs (write "
				     "plan.dp=%zu, or leave it out)",
				     tp * cp * pp * dp, all, plan->sizes[AXIS_DATA]));
}

/* Checks that the data-parallel group can be divided into replicas. */
static bool fill_replicas(struct checker *c)
{
	const struct plan_params *params = c->plan->params;
	size_t count = (size_t)params->replicas_count;
	if (count == 1)
		return true;
	if (params->sharding == SHARDING_NONE)
		return fails(c, "plan.replicas copies what ranks share out, and they share "
				"nothing (write plan.sharding=parameters, or plan.replicas=1)");
	if (params->ep_count > 1)
		return fails(c, "plan.replicas is not modelled for experts (write plan.ep=1, or "
				"plan.replicas=1)");
	return divides(c, c->plan->sizes[AXIS_DATA], "data-parallel ranks", "replicas", count);
}

static bool fill_buckets(struct checker *c)
{
	const struct plan_params *params = c->plan->params;
	if (params->buckets == BUCKETS_MEGATRON ||
	    (params->ep_count == 1 && params->sharding != SHARDING_PARAMETERS))
		return true;
	return fails(c, "plan.buckets=policy has no effect on experts, nor with "
			"plan.sharding=parameters, which reduces each block's gradients behind it "
			"(leave plan.buckets out)");
}

static bool fill_batch(struct checker *c)
{
	struct training_plan *plan = c->plan;
	size_t dp = plan->sizes[AXIS_DATA], batch = (size_t)plan->params->global_batch_count;
	plan->micro_batch = (size_t)plan->params->micro_batch_count;
	size_t each = dp * plan->micro_batch;
	if (batch == 0)
		batch = each * plan->sizes[AXIS_PIPELINE];
	if (batch % each != 0)
		return fails(c,
			     arena_printf(c->arena,
					  "a batch of %zu samples is not divisible by dp (%zu) x "
					  "micro_batch (%zu): write plan.global_batch=%zu",
					  batch, dp, plan->micro_batch,
					  batch > each ? batch / each * each : each));
	plan->micro_batch_count = plan->played_count = batch / each;
	return true;
}

static bool fill_schedule(struct checker *c)
{
	struct training_plan *plan = c->plan;
	const char *name = plan->params->schedule;
	const struct pipeline_shape shape = {plan->sizes[AXIS_PIPELINE], plan->chunk_count,
					     plan->micro_batch_count};
	if (strcmp(name, "auto") == 0)
		name = plan->chunk_count > 1 ? "interleaved" : "1f1b";
	plan->schedule = pipeline_schedule_find(name);
	if (!plan->schedule)
		return fails(c,
			     registry_unknown(c->arena, &pipeline_schedule_registry, name, "auto"));
	const char *why = plan->schedule->refuse(c->arena, &shape);
	return why ? fails(c, why) : true;
}

/* Embedding and loss can take the places of one or two blocks that are missing, and parts can have
 * different numbers of blocks. Returns false. */
static bool suggest_places(struct checker *c, size_t all, size_t parts)
{
	const struct plan_params *params = c->plan->params;
	size_t longer = all % parts, missing = parts - longer, each = all / parts;
	bool free = !params->embedding_as_block && !params->loss_as_block;
	if (free && missing == 2)
		fails(c, "embedding and loss can take the places of the two missing blocks: write "
			 "plan.embedding_as_block=true and plan.loss_as_block=true");
	else if (free && missing == 1)
		fails(c, "the loss can take the place of the missing block: write "
			 "plan.loss_as_block=true");
	if (free && each > 0 && missing > 1)
		fails(c, arena_printf(c->arena,
				      "for parts of %zu and %zu blocks write "
				      "plan.layout='E(t*%zu|)*%zu(t*%zu|)*%zut*%zuL'",
				      each + 1, each, each + 1, longer, each, missing - 1, each));
	else if (free && each > 0)
		fails(c, arena_printf(c->arena,
				      "for parts of %zu and %zu blocks write "
				      "plan.layout='E(t*%zu|)*%zut*%zuL'",
				      each + 1, each, each + 1, longer, each));
	return false;
}

/* Returns the number of blocks of each part, or NULL after an error. */
static const size_t *blocks_of_parts(struct checker *c, size_t blocks, size_t part_count)
{
	const struct plan_params *params = c->plan->params;
	size_t stages = c->plan->sizes[AXIS_PIPELINE];
	size_t all = blocks + params->embedding_as_block + params->loss_as_block;
	size_t *counts = ARENA_ARRAY(c->arena, part_count, size_t);
	if (*params->layout && all > blocks)
		return fails(c, "plan.layout says how many blocks each part has (leave out "
				"plan.embedding_as_block and plan.loss_as_block)"),
		       NULL;
	if (*params->layout) {
		const char *why;
		const size_t *read =
			plan_layout(c->arena, params->layout, part_count, blocks, &why);
		return read ? read : (fails(c, why), NULL);
	}
	if (!divides(c, all, "blocks of the network", "pp", stages) ||
	    !divides(c, all / stages, "blocks of a stage", "chunks", part_count / stages))
		return suggest_places(c, all, part_count), NULL;
	for (size_t i = 0; i < part_count; i++)
		counts[i] = all / part_count;
	counts[0] -= params->embedding_as_block;
	counts[part_count - 1] -= params->loss_as_block;
	return counts;
}

/* Sets parts and units of a network without repeated blocks. */
static bool fill_cuts(struct checker *c, const struct network *network, size_t *parts,
		      size_t *units)
{
	struct training_plan *plan = c->plan;
	const struct plan_params *params = plan->params;
	size_t part_count = plan->sizes[AXIS_PIPELINE] * plan->chunk_count;
	if (params->embedding_as_block || params->loss_as_block || params->recompute)
		return fails(c, arena_printf(c->arena,
					     "network '%s' has no repeated blocks, so "
					     "plan.embedding_as_block, plan.loss_as_block and "
					     "plan.recompute have no effect (leave them out)",
					     network->name));
	plan->unit_count = plan_cut(c->arena, network, part_count, parts, units);
	return plan->unit_count > 0 ||
	       fails(c, arena_printf(c->arena,
				     "network '%s' cannot be cut into %zu parts, because it has "
				     "too few places at which only one activation passes to the "
				     "next layer (write a smaller plan.pp)",
				     network->name, part_count));
}

/* Sets parts and units. */
static bool fill_blocks(struct checker *c, const struct network *network)
{
	struct training_plan *plan = c->plan;
	size_t part_count = plan->sizes[AXIS_PIPELINE] * plan->chunk_count, blocks = 0;
	const struct layer *layers = network->layers;
	size_t *parts = ARENA_ARRAY(c->arena, network->layer_count, size_t);
	size_t *units = ARENA_ARRAY(c->arena, network->layer_count, size_t);
	plan->parts = parts;
	plan->units = units;
	for (size_t i = 1; i < network->layer_count; i++) {
		blocks += layers[i].block > 0 && layers[i].block != layers[i - 1].block;
		units[i] = units[i - 1] + (layers[i].block != layers[i - 1].block);
	}
	if (blocks == 0)
		return fill_cuts(c, network, parts, units);
	plan->unit_count = units[network->layer_count - 1] + 1;
	const size_t *counts = blocks_of_parts(c, blocks, part_count);
	if (!counts)
		return false;
	for (size_t i = 1, part = 0, left = counts[0]; i < network->layer_count; i++) {
		if (layers[i].block > 0 && layers[i].block != layers[i - 1].block) {
			while (left == 0)
				left = counts[++part];
			left--;
		}
		parts[i] = part;
	}
	/* behind the last block */
	for (size_t i = network->layer_count; layers[i - 1].block == 0; i--)
		parts[i - 1] = part_count - 1;
	return true;
}

size_t plan_unit_end(const struct training_plan *plan, size_t first)
{
	size_t end = first;
	while (end < plan->shard->network->layer_count && plan->units[end] == plan->units[first])
		end++;
	return end;
}

static bool fill_shard(struct checker *c, const struct network *network)
{
	struct training_plan *plan = c->plan;
	const struct shard_params params = {
		.tensor_count = plan->sizes[AXIS_TENSOR],
		.context_count = plan->sizes[AXIS_CONTEXT],
		.expert_count = plan->expert_count,
		.sequence = plan->params->sequence_parallel,
		.overlap = (enum tensor_overlap)plan->params->overlap_tensor,
		.imbalance_ratio = plan->params->imbalance_ratio,
	};
	bool any = plan->expert_count == 1;
	for (size_t i = 0; i < network->layer_count; i++)
		any = any || network->layers[i].experts > 0;
	if (!any)
		return fails(c, arena_printf(c->arena,
					     "plan.ep splits experts, but network '%s' has none "
					     "(write plan.ep=1)",
					     network->name));
	const char *why;
	plan->shard = shard_new(c->arena, network, &params, &why);
	return plan->shard ? true : fails(c, why);
}

static bool fill_modules(struct checker *c)
{
	static const char *const names[] = {"core_attn", "layernorm", "moe_act"};
	const char *text = c->plan->params->recompute_modules;
	while (*text) {
		size_t length = strcspn(text, "+"), i = 0;
		while (i < sizeof names / sizeof names[0] &&
		       (strlen(names[i]) != length || strncmp(names[i], text, length) != 0))
			i++;
		if (i == sizeof names / sizeof names[0])
			return fails(c, arena_printf(c->arena,
						     "plan.recompute_modules: '%.*s' is unknown "
						     "(write core_attn, layernorm or moe_act, "
						     "joined by +)",
						     (int)fmin((double)length, 40), text));
		c->plan->modules |= 1u << i;
		text += length + (text[length] == '+');
	}
	return true;
}

const struct training_plan *plan_new(struct arena *arena, const struct network *network,
				     const struct plan_params *params, size_t rank_count,
				     const char **why)
{
	struct training_plan *plan = ARENA_NEW(arena, struct training_plan);
	struct checker c = {.arena = arena, .plan = plan};
	*plan = (struct training_plan){.params = params,
				       .rank_count = rank_count,
				       .chunk_count = (size_t)params->chunks_count};
	/* every reason is reported */
	bool ordered = read_order(&c), ranked = fill_ranks(&c), sharded = fill_shard(&c, network);
	bool good = ordered && ranked && fill_replicas(&c) && fill_buckets(&c) && fill_batch(&c) &&
		    fill_modules(&c) && sharded;
	good = fill_blocks(&c, network) && good && fill_schedule(&c);
	*why = c.why;
	return good ? plan : NULL;
}

/* Returns the rounds of the rings of a step that share out or gather parameters, at least. */
static double ring_rounds(const struct training_plan *plan)
{
	double others = (double)(plan_sharers(plan) - 1);
	double passes = (double)(plan->played_count * plan->unit_count) /
			(double)plan->sizes[AXIS_PIPELINE];
	switch (plan->params->sharding) {
	case SHARDING_NONE:
		return 0;
	case SHARDING_PARAMETERS: /* two gathers and a reduction for each block */
		return 3 * passes * others;
	default: /* gathers by chunk, and at least one bucket of gradients */
		return (double)(plan->chunk_count + 1) * others;
	}
}

/* Interleaved stages take pp micro-batches through each part in turn, and begin otherwise if there
 * are only pp of them. Stages of other schedules repeat after one or two micro-batches, when all
 * have one. */
struct training_plan plan_shorter(const struct training_plan *plan, size_t periods)
{
	struct training_plan shorter = *plan;
	size_t stages = plan->sizes[AXIS_PIPELINE], all = plan->micro_batch_count;
	size_t period = plan->chunk_count > 1 ? stages : 2;
	size_t first = stages + period + (all - stages) % period;
	if (all > first + periods * period)
		shorter.played_count = first + periods * period;
	return shorter;
}

const char *plan_too_large(struct arena *arena, const struct training_plan *plan,
			   size_t simulated_count, double events_most)
{
	double passes = (double)plan->played_count * (double)simulated_count *
			(double)plan->unit_count / (double)plan->sizes[AXIS_PIPELINE];
	double messages = ring_rounds(plan) * (double)simulated_count;
	if (passes > PASSES_MOST)
		return arena_printf(
			arena,
			"its %zu micro-batches pass %.3g times through blocks on the %zu of "
			"%zu GPUs that must be simulated, which is too much (write a smaller "
			"plan.global_batch, or fewer GPUs)",
			plan->played_count, passes, simulated_count, plan->rank_count);
	if (messages * EVENTS_PER_MESSAGE > events_most)
		return arena_printf(
			arena,
			"the rings of its data groups send %.3g messages in a step on the %zu of "
			"%zu GPUs that must be simulated: more than %.3g events (allow more "
			"with --events N, or write fewer GPUs, or as many as fill all leaves)",
			messages, simulated_count, plan->rank_count, events_most);
	return NULL;
}

size_t plan_sharers(const struct training_plan *plan)
{
	return plan->sizes[AXIS_DATA] * plan->sizes[AXIS_CONTEXT] /
	       (size_t)plan->params->replicas_count;
}

double plan_batch(const struct training_plan *plan)
{
	return (double)(plan->sizes[AXIS_DATA] * plan->micro_batch * plan->micro_batch_count);
}

/* ---- ranks and groups ---- */

static size_t stride_of(const struct training_plan *plan, enum plan_axis axis)
{
	size_t stride = 1;
	for (size_t i = 0; plan->order[i] != axis; i++)
		stride *= plan->sizes[plan->order[i]];
	return stride;
}

size_t plan_index(const struct training_plan *plan, size_t rank, enum plan_axis axis)
{
	return rank / stride_of(plan, axis) % plan->sizes[axis];
}

size_t plan_neighbour(const struct training_plan *plan, size_t rank, enum plan_axis axis,
		      size_t index)
{
	size_t stride = stride_of(plan, axis);
	return rank - rank / stride % plan->sizes[axis] * stride + index * stride;
}

/* Returns the rank's number among those of its stage. */
static size_t place_in_stage(const struct training_plan *plan, size_t rank)
{
	size_t stride = stride_of(plan, AXIS_PIPELINE);
	return rank % stride + rank / (stride * plan->sizes[AXIS_PIPELINE]) * stride;
}

/* Returns a number that is the same for the ranks of a group, and less than 2 rank_count. */
static size_t label_of(const struct training_plan *plan, enum plan_group kind, size_t rank)
{
	size_t stage = plan_index(plan, rank, AXIS_PIPELINE);
	size_t in_stage = place_in_stage(plan, rank);
	size_t per_stage = plan->rank_count / plan->sizes[AXIS_PIPELINE];
	size_t each = plan->sizes[AXIS_DATA] / (size_t)plan->params->replicas_count;
	size_t data = plan_index(plan, rank, AXIS_DATA);
	switch (kind) {
	case PLAN_TENSOR:
		return plan_neighbour(plan, rank, AXIS_TENSOR, 0);
	case PLAN_CONTEXT:
		return plan_neighbour(plan, rank, AXIS_CONTEXT, 0);
	case PLAN_DATA:
		return plan_neighbour(plan, plan_neighbour(plan, rank, AXIS_CONTEXT, 0), AXIS_DATA,
				      data / each * each);
	case PLAN_REPLICAS:
		return plan_neighbour(plan, rank, AXIS_DATA, data % each);
	case PLAN_EXPERT:
		return stage * per_stage + in_stage / plan->expert_count;
	case PLAN_EXPERT_DATA:
		return stage * per_stage + in_stage % plan->expert_count;
	default: /* the ranks of the stages between are alone */
		if (stage > 0 && stage + 1 < plan->sizes[AXIS_PIPELINE])
			return plan->rank_count + rank;
		return plan_neighbour(plan, rank, AXIS_PIPELINE, 0);
	}
}

struct grouping {
	struct arena *arena;
	const struct training_plan *plan;
	VEC(struct program_group) groups;
};

/* Makes a communicator of each group with several ranks. Returns its number by rank. */
static const uint32_t *gather(struct grouping *g, enum plan_group kind)
{
	size_t count = g->plan->rank_count;
	uint32_t *of = ARENA_ARRAY(g->arena, count, uint32_t);
	size_t *sizes = ARENA_ARRAY(g->arena, 2 * count, size_t);
	size_t **members = ARENA_ARRAY(g->arena, 2 * count, size_t *);
	uint32_t *numbers = ARENA_ARRAY(g->arena, 2 * count, uint32_t);
	for (size_t r = 0; r < count; r++)
		sizes[label_of(g->plan, kind, r)]++;
	for (size_t r = 0; r < count; r++) {
		size_t label = label_of(g->plan, kind, r), size = sizes[label];
		if (size < 2)
			continue;
		if (!members[label]) {
			members[label] = ARENA_ARRAY(g->arena, size, size_t);
			*VEC_PUSH(g->arena, &g->groups) =
				(struct program_group){.members = members[label]};
			numbers[label] = (uint32_t)g->groups.count;
		}
		FW_ASSERT(numbers[label] > 0 && numbers[label] <= g->groups.count);
		struct program_group *group = &g->groups.items[numbers[label] - 1];
		members[label][group->count++] = r;
		of[r] = numbers[label];
	}
	return of;
}

struct plan_groups plan_groups(struct arena *arena, const struct training_plan *plan, bool tied)
{
	struct grouping g = {.arena = arena, .plan = plan};
	struct plan_groups groups = {0};
	bool experts = plan->expert_count > 1;
	for (enum plan_group kind = 0; kind < PLAN_GROUP_COUNT; kind++) {
		bool wanted = kind == PLAN_EXPERT || kind == PLAN_EXPERT_DATA ? experts
			      : kind == PLAN_REPLICAS  ? plan->params->replicas_count > 1
			      : kind == PLAN_EMBEDDING ? tied && plan->sizes[AXIS_PIPELINE] > 1
						       : true;
		groups.of[kind] =
			wanted ? gather(&g, kind) : ARENA_ARRAY(arena, plan->rank_count, uint32_t);
	}
	groups.groups = g.groups.items;
	groups.count = g.groups.count;
	return groups;
}

/* ---- slots ---- */

const char *slot_name(struct arena *arena, const struct slot *slot, size_t chunk_count)
{
	const char *name = arena_printf(arena, "%c%u", "FBW"[slot->kind], slot -> micro + 1);
	return chunk_count > 1 ? arena_printf(arena, "%s.%u", name, slot->chunk + 1) : name;
}

void slot_add(struct arena *arena, struct slots *slots, enum slot_kind kind, size_t micro,
	      size_t chunk)
{
	slots->items =
		vec_grow(arena, slots->items, slots->count, &slots->room, sizeof *slots->items);
	slots->items[slots->count++] = (struct slot){kind, (uint32_t)micro, (uint32_t)chunk};
}
