/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program of a rank of a plan.
 *
 * Streams: kernels and the collectives that block them run on COMPUTE. Messages between stages have
 * a stream for each direction and side. Collectives of context groups run beside attention. Those
 * of data groups run on GATHER (parameters) and REDUCE (gradients).
 */
#include "sim/training/exchange.h"
#include "sim/training/issue.h"
#include "sim/training/plan_units.h"

enum plan_stream {
	COMPUTE,
	DOWN_IN,
	DOWN_OUT,
	UP_IN,
	UP_OUT,
	BESIDE,
	GATHER,
	REDUCE,
	COPY_IN, /* into and out of the buffers of bundles */
	COPY_OUT,
	STREAM_COUNT
};
enum message_tag { TAG_DOWN, TAG_UP };

/* SMs that Transformer Engine's user buffers take for a collective: 1 to 24, on the average of the
 * ten of a layer (NVIDIA's submission to MLPerf Training 3.1, tp_overlap/h100tp4pp8mbs1.yaml). */
static const uint8_t user_buffer_blocks = 5;
/* Ranks of a data-parallel group for each of which a bucket holds a million parameters. */
static const double bucket_rank_count = 1e6;

/* ---- calls ---- */

/* Makes later calls on stream `behind` wait for earlier calls on `stream`. A stream reaches its
 * records in order, so one event for each stream is enough. */
static void order(struct writer *w, uint16_t stream, uint16_t behind)
{
	issue_call(&w->issuer, CALL_EVENT_RECORD, stream)->event = stream;
	issue_call(&w->issuer, CALL_STREAM_WAIT_EVENT, behind)->event = stream;
}

/* Issues a collective, unless the group has one rank. */
static struct cuda_call *collective(struct writer *w, enum collective kind, enum plan_group group,
				    double size_B, uint16_t stream, const char *label)
{
	static const enum call_kind calls[] = {
		[COLLECTIVE_ALL_REDUCE] = CALL_ALL_REDUCE,
		[COLLECTIVE_ALL_GATHER] = CALL_ALL_GATHER,
		[COLLECTIVE_REDUCE_SCATTER] = CALL_REDUCE_SCATTER,
		[COLLECTIVE_ALL_TO_ALL] = CALL_ALL_TO_ALL,
	};
	static const enum gpu_time kinds[PLAN_GROUP_COUNT] = {
		[PLAN_TENSOR] = GPU_TENSOR,     [PLAN_CONTEXT] = GPU_CONTEXT,
		[PLAN_EXPERT] = GPU_EXPERT,     [PLAN_DATA] = GPU_DATA,
		[PLAN_REPLICAS] = GPU_DATA,     [PLAN_EXPERT_DATA] = GPU_DATA,
		[PLAN_EMBEDDING] = GPU_PIPELINE};
	uint32_t communicator = w->step->groups->of[group][w->rank];
	if (communicator == 0 || !(size_B > 0))
		return NULL;
	struct cuda_call *call = issue_call(&w->issuer, calls[kind], stream);
	call->payload_B = size_B;
	call->peer = communicator;
	call->exposed = (uint8_t)kinds[group];
	call->label = label;
	return call;
}

/* Sends or receives the activation that `part` of the network computes, or its gradient. */
static void message(struct writer *w, enum call_kind kind, uint16_t stream, enum message_tag tag,
		    size_t stage, size_t part)
{
	struct cuda_call *call;
	double size_B = plan_message_B(w->plan, w->step->stack, part);
	/* Stages with one chunk post a receive when they have nothing else to do; with several
	 * chunks they post it before they compute (Megatron-LM, overlap_p2p_comm). */
	if (kind == CALL_SEND || w->plan->chunk_count == 1)
		order(w, COMPUTE, stream);
	call = issue_call(&w->issuer, kind, stream);
	call->payload_B = size_B;
	call->peer = (uint32_t)plan_neighbour(w->plan, w->rank, AXIS_PIPELINE, stage);
	call->tag = (uint8_t)tag;
	call->exposed = GPU_PIPELINE;
	call->label = kind == CALL_SEND ? "send" : "receive";
	if (kind == CALL_SEND)
		return;
	order(w, stream, COMPUTE);
	if (w->scatters)
		collective(w, COLLECTIVE_ALL_GATHER, PLAN_TENSOR,
			   size_B * (double)w->plan->sizes[AXIS_TENSOR], COMPUTE, "tp");
}

/* Returns the bytes of an element of a collective. With FP8, the input of a product is converted
 * before it is gathered (Transformer Engine). */
static double exchange_element_B(const struct writer *w, const struct shard_exchange *exchange)
{
	const struct layer *layer = &w->plan->shard->network->layers[exchange->layer];
	return exchange->group == SHARD_TENSOR && exchange->collective == COLLECTIVE_ALL_GATHER &&
			       layer->block > 0
		       ? stack_factor_B(w->step->stack)
		       : stack_element_B(w->step->stack);
}

static void play_exchange(struct writer *w, const struct shard_exchange *exchange, uint16_t stream)
{
	static const enum plan_group groups[SHARD_GROUP_COUNT] = {
		[SHARD_TENSOR] = PLAN_TENSOR,
		[SHARD_CONTEXT] = PLAN_CONTEXT,
		[SHARD_EXPERT] = PLAN_EXPERT,
	};
	static const char *const labels[SHARD_GROUP_COUNT] = {"tp", "cp", "ep"};
	double size_B = exchange->elements_count * (double)w->plan->micro_batch *
			exchange_element_B(w, exchange);
	struct cuda_call *call = collective(w, exchange->collective, groups[exchange->group],
					    size_B, stream, labels[exchange->group]);
	if (call && exchange->group == SHARD_TENSOR &&
	    w->plan->params->overlap_tensor == OVERLAP_ALL)
		call->tag = user_buffer_blocks;
}

static void play_calls(struct writer *w, const struct piece *piece, bool beside)
{
	const struct call_thread *calls = beside ? &piece->beside : &piece->fused;
	for (size_t i = 0; i < calls->count; i++) {
		struct item *item = issue_item(&w->issuer, calls->items[i].kind);
		*item = calls->items[i];
		if (w->pass && item->call.kind == CALL_LAUNCH)
			item->call.label = w->pass;
	}
}

/* Collectives that run beside a layer's kernels begin with the kernels, and the layer ends when
 * both have ended. */
static void play(struct writer *w, const struct pieces *pieces)
{
	bool beside = false;
	for (size_t i = 0; i < pieces->list.count; i++) {
		const struct piece *piece = &pieces->list.items[i];
		if (piece->exchange && piece->exchange->beside) {
			if (!beside)
				order(w, COMPUTE, BESIDE);
			play_exchange(w, piece->exchange, BESIDE);
			beside = true;
		} else if (piece->exchange) {
			play_exchange(w, piece->exchange, COMPUTE);
		} else {
			play_calls(w, piece, beside || w->beside);
			if (beside)
				order(w, BESIDE, COMPUTE);
			beside = false;
		}
	}
}

/* ---- data parallelism ---- */

static bool shards_parameters(const struct writer *w)
{
	return w->plan->params->sharding == SHARDING_PARAMETERS;
}

/* Gathers that many parameters. */
static void gather_parameters(struct writer *w, double count, double expert_count, uint16_t stream)
{
	double element_B = w->plan->params->parameter_element_B;
	/* without expert groups, experts are like other parameters */
	bool apart = w->plan->expert_count > 1;
	if (!(element_B > 0))
		element_B = stack_element_B(w->step->stack);
	collective(w, COLLECTIVE_ALL_GATHER, PLAN_DATA,
		   (count + (apart ? 0 : expert_count)) * element_B, stream, "parameters");
	if (apart)
		collective(w, COLLECTIVE_ALL_GATHER, PLAN_EXPERT_DATA, expert_count * element_B,
			   stream, "parameters");
}

/* Returns the event that is recorded when the parameters of a unit are here. */
static uint16_t gathered(const struct writer *w, const struct unit *unit)
{
	return (uint16_t)(STREAM_COUNT + (unit - w->units));
}

/* Gathers the parameters of a unit for the next pass through it. At most two units are gathered
 * ahead: the next one is gathered while one computes (PyTorch, FSDP's limit_all_gathers). */
static void gather_unit(struct writer *w, struct unit *unit)
{
	order(w, COMPUTE, GATHER);
	gather_parameters(w, unit->parameters_count, unit->expert_parameters_count, GATHER);
	issue_call(&w->issuer, CALL_EVENT_RECORD, GATHER)->event = gathered(w, unit);
}

/* Returns true if parameters are gathered once in a step, because each rank updates a part. */
static bool gathers_updated(const struct writer *w)
{
	int sharding = w->plan->params->sharding;
	return sharding == SHARDING_OPTIMIZER || sharding == SHARDING_GRADIENTS;
}

static void gather_chunk(struct writer *w, size_t chunk, uint16_t stream)
{
	double count = 0, expert_count = 0;
	for (size_t i = w->chunk_first[chunk]; i < w->chunk_first[chunk + 1]; i++) {
		count += w->units[i].trained_count;
		expert_count += w->units[i].expert_trained_count;
	}
	gather_parameters(w, count, expert_count, stream);
}

/* Gathers the parameters that the step before updated, beside the first passes. */
static void gather_updated(struct writer *w)
{
	for (size_t c = 0; c < w->plan->chunk_count; c++) {
		gather_chunk(w, c, GATHER);
		issue_call(&w->issuer, CALL_EVENT_RECORD, GATHER)->event =
			gathered(w, &w->units[w->chunk_first[c]]);
	}
}

static void reduce_gradients(struct writer *w, double size_B, double expert_B)
{
	enum collective kind = w->plan->params->sharding == SHARDING_NONE
				       ? COLLECTIVE_ALL_REDUCE
				       : COLLECTIVE_REDUCE_SCATTER;
	/* without expert groups, experts are like other parameters */
	bool apart = w->plan->expert_count > 1;
	collective(w, kind, PLAN_DATA, size_B + (apart ? 0 : expert_B), REDUCE, "gradients");
	collective(w, COLLECTIVE_ALL_REDUCE, PLAN_REPLICAS,
		   (size_B + expert_B) / (double)plan_sharers(w->plan), REDUCE, "gradients");
	if (apart)
		collective(w, kind, PLAN_EXPERT_DATA, expert_B, REDUCE, "gradients");
}

static void reduce_parameters(struct writer *w, double count, double expert_count)
{
	double element_B = w->plan->params->gradient_element_B;
	order(w, COMPUTE, REDUCE);
	reduce_gradients(w, count * element_B, expert_count * element_B);
}

static void reduce_open(struct writer *w)
{
	if (w->open_count + w->open_expert_count > 0)
		reduce_parameters(w, w->open_count, w->open_expert_count);
	w->open_count = w->open_expert_count = 0;
}

/* ---- bundles of the exchange policy ---- */

/* Appends the sizes of the unit's gradients in the order in which backward computes them. */
static void add_sizes(const struct writer *w, const struct unit *unit, double *sizes_B,
		      size_t *count)
{
	const struct layer *layers = w->plan->shard->network->layers;
	for (size_t l = unit->last + 1; l-- > unit->first;)
		for (size_t t = 0; t < layers[l].tensor_count && !layers[l].frozen; t++)
			sizes_B[(*count)++] =
				exchange_gradient_B(w->step->exchange, layers[l].tensors[t],
						    w->plan->params->gradient_element_B);
}

static void find_bundles(struct writer *w)
{
	const struct exchange_params *exchange = w->step->exchange;
	size_t count = 0;
	for (size_t i = 0; i < w->unit_count; i++)
		count += w->units[i].tensor_count;
	double *sizes_B = ARENA_ARRAY(w->issuer.arena, count + 1, double);
	count = 0;
	for (size_t c = w->plan->chunk_count; c-- > 0;)
		for (size_t i = w->chunk_first[c + 1]; i-- > w->chunk_first[c];)
			add_sizes(w, &w->units[i], sizes_B, &count);
	w->bundles = exchange_divide(w->issuer.arena, exchange, sizes_B, count, &w->bundle_count);
}

static void reduce_bundle(struct writer *w, const struct exchange_bundle *bundle)
{
	double size_B = bundle->size_B;
	bool copies = bundle->end - bundle->first > 1;
	order(w, COMPUTE, copies ? COPY_IN : REDUCE);
	if (copies) {
		issue_bundle_copy(&w->issuer, w->step->exchange, size_B, COPY_IN);
		order(w, COPY_IN, REDUCE);
	}
	reduce_gradients(w, size_B, 0);
	if (copies) {
		order(w, REDUCE, COPY_OUT);
		issue_bundle_copy(&w->issuer, w->step->exchange, size_B, COPY_OUT);
	}
}

/* Reduces the next bundles whose gradients are all ready. */
static void reduce_bundles(struct writer *w)
{
	for (; w->reduced_count < w->bundle_count &&
	       w->bundles[w->reduced_count].end <= w->ready_count;
	     w->reduced_count++)
		reduce_bundle(w, &w->bundles[w->reduced_count]);
}

/* Adds the gradients of a unit to the open bucket, which is reduced when it is full. */
static void add_gradients(struct writer *w, const struct unit *unit)
{
	const struct plan_params *params = w->plan->params;
	if (params->buckets == BUCKETS_POLICY) {
		w->ready_count += unit->tensor_count;
		if (params->overlap_gradients)
			reduce_bundles(w);
		return;
	}
	double ranks = (double)(w->plan->sizes[AXIS_DATA] * w->plan->sizes[AXIS_CONTEXT]);
	double full = params->bucket_count;
	if (full < bucket_rank_count * ranks)
		full = bucket_rank_count * ranks;
	w->open_count += unit->trained_count;
	w->open_expert_count += unit->expert_trained_count;
	if (params->overlap_gradients && w->open_count + w->open_expert_count >= full)
		reduce_open(w);
}

/* ---- passes ---- */

/* Waits for the parameters of unit `index`, and gathers those of the unit behind it in this pass.
 */
static void enter_unit(struct writer *w, size_t chunk, size_t index, bool forward)
{
	size_t first = w->chunk_first[chunk], end = w->chunk_first[chunk + 1];
	if (!shards_parameters(w))
		return;
	if (index == (forward ? first : end - 1))
		gather_unit(w, &w->units[index]);
	if (forward ? index + 1 < end : index > first)
		gather_unit(w, &w->units[forward ? index + 1 : index - 1]);
	issue_call(&w->issuer, CALL_STREAM_WAIT_EVENT, COMPUTE)->event =
		gathered(w, &w->units[index]);
}

static void forward(struct writer *w, size_t chunk, bool first)
{
	w->beside = shards_parameters(w) ||
		    (first && gathers_updated(w) && w->plan->params->overlap_parameters);
	if (first && gathers_updated(w) && w->plan->params->overlap_parameters)
		issue_call(&w->issuer, CALL_STREAM_WAIT_EVENT, COMPUTE)->event =
			gathered(w, &w->units[w->chunk_first[chunk]]);
	for (size_t i = w->chunk_first[chunk]; i < w->chunk_first[chunk + 1]; i++) {
		enter_unit(w, chunk, i, true);
		play(w, &w->units[i].parts[PART_FORWARD]);
	}
}

static void leave_unit(struct writer *w, const struct unit *unit, bool last)
{
	if (shards_parameters(w))
		reduce_parameters(w, unit->trained_count, unit->expert_trained_count);
	else if (last)
		add_gradients(w, unit);
}

/* Returns true if gradients are reduced beside the pass. */
static bool reduces_beside(const struct writer *w, bool last)
{
	size_t ranks = w->plan->sizes[AXIS_DATA] * w->plan->sizes[AXIS_CONTEXT];
	return shards_parameters(w) || (last && w->plan->params->overlap_gradients && ranks > 1);
}

static void backward(struct writer *w, size_t chunk, bool last)
{
	bool splits = w->plan->schedule->splits_backward;
	w->beside = reduces_beside(w, last);
	for (size_t i = w->chunk_first[chunk + 1]; i-- > w->chunk_first[chunk];) {
		struct unit *unit = &w->units[i];
		enter_unit(w, chunk, i, false);
		play(w, &unit->parts[PART_AGAIN]);
		play(w, &unit->parts[PART_BACKWARD]);
		if (!splits)
			leave_unit(w, unit, last);
	}
}

static void weights(struct writer *w, size_t chunk, bool last)
{
	w->beside = reduces_beside(w, last);
	for (size_t i = w->chunk_first[chunk + 1]; i-- > w->chunk_first[chunk];) {
		play(w, &w->units[i].parts[PART_WEIGHTS]);
		leave_unit(w, &w->units[i], last);
	}
}

static void play_slot(struct writer *w, const struct slot *slot)
{
	size_t stages = w->plan->sizes[AXIS_PIPELINE];
	size_t part = slot->chunk * stages + w->stage, parts = stages * w->plan->chunk_count;
	size_t next = (w->stage + 1) % stages, before = (w->stage + stages - 1) % stages;
	bool last = slot->micro + 1 == w->plan->played_count;
	w->pass = slot_name(w->issuer.arena, slot, w->plan->chunk_count);
	if (slot->kind == SLOT_FORWARD) {
		if (part > 0)
			message(w, CALL_RECEIVE, DOWN_IN, TAG_DOWN, before, part - 1);
		forward(w, slot->chunk, slot->micro == 0);
		if (part + 1 < parts)
			message(w, CALL_SEND, DOWN_OUT, TAG_DOWN, next, part);
	} else if (slot->kind == SLOT_BACKWARD) {
		if (part + 1 < parts)
			message(w, CALL_RECEIVE, UP_IN, TAG_UP, next, part);
		backward(w, slot->chunk, last);
		if (part > 0)
			message(w, CALL_SEND, UP_OUT, TAG_UP, before, part - 1);
	} else {
		weights(w, slot->chunk, last);
	}
	w->pass = NULL;
}

/* ---- the end of the step ---- */

static double tied_count(const struct writer *w)
{
	const struct network *network = w->plan->shard->network;
	for (size_t i = 0; i < network->layer_count; i++)
		if (network->layers[i].tied_to > 0)
			return network->layers[network->layers[i].tied_to].tensors[0];
	return 0;
}

static void update(struct writer *w)
{
	const struct plan_params *params = w->plan->params;
	reduce_open(w);
	reduce_bundles(w);
	order(w, REDUCE, COMPUTE);
	if (w->bundle_count > 0)
		order(w, COPY_OUT, COMPUTE);
	collective(w, COLLECTIVE_ALL_REDUCE, PLAN_EMBEDDING,
		   tied_count(w) * params->gradient_element_B, COMPUTE, "embedding");
	w->pass = "update";
	for (size_t i = 0; i < w->unit_count; i++)
		play_calls(w, &w->units[i].update, false);
	w->pass = NULL;
	for (size_t c = 0;
	     gathers_updated(w) && !params->overlap_parameters && c < w->plan->chunk_count; c++)
		gather_chunk(w, c, COMPUTE);
}

static const char *role_of(struct arena *arena, const struct training_plan *plan, size_t rank)
{
	return arena_printf(arena, "rank %zu, stage %zu", rank,
			    plan_index(plan, rank, AXIS_PIPELINE));
}

const struct program *plan_program(struct arena *arena, const struct plan_step *step, size_t rank)
{
	const struct training_plan *plan = step->plan;
	struct op_graph graph = op_graph_new(arena, plan->shard->network, plan->micro_batch,
					     step->stack, step->gpu);
	uint16_t calls_event = (uint16_t)(STREAM_COUNT + plan->unit_count);
	struct writer w = {
		.issuer = {.arena = arena,
			   .stack = step->stack,
			   .gpu = step->gpu,
			   .efficiency = step->efficiency,
			   .calls_event = calls_event},
		.step = step,
		.plan = plan,
		.graph = &graph,
		.rank = rank,
		.stage = plan_index(plan, rank, AXIS_PIPELINE),
		.scatters = plan->params->scatter_gather && !plan->params->sequence_parallel,
	};
	const struct pipeline_shape shape = {plan->sizes[AXIS_PIPELINE], plan->chunk_count,
					     plan->played_count};
	struct slots slots = {0};
	w.ops = w.issuer;
	plan_units_build(&w);
	if (plan->params->buckets == BUCKETS_POLICY)
		find_bundles(&w);
	plan->schedule->write(plan->schedule, arena, &shape, w.stage, &slots);
	issue_item(&w.issuer, ITEM_THINK)->work_s = step->stack->session_s;
	if (gathers_updated(&w) && plan->params->overlap_parameters)
		gather_updated(&w);
	for (size_t i = 0; i < slots.count; i++)
		play_slot(&w, &slots.items[i]);
	update(&w);
	issue_call(&w.issuer, CALL_DEVICE_SYNCHRONIZE, COMPUTE);
	struct call_thread *thread = ARENA_NEW(arena, struct call_thread);
	*thread = (struct call_thread){"main", w.issuer.items.items, w.issuer.items.count};
	struct program *program = ARENA_NEW(arena, struct program);
	*program = (struct program){
		.threads = thread,
		.thread_count = 1,
		.stream_count = STREAM_COUNT,
		.event_count = (uint16_t)(calls_event + 1),
		.role = role_of(arena, plan, rank),
		.memory_B = plan->params->anyway ? 0 : plan_memory_B(plan, step->stack, w.stage),
		.images_count = plan_batch(plan) / (double)plan->rank_count,
	};
	return program;
}

const struct program *plan_program_like(struct arena *arena, const struct plan_step *step,
					const struct program *program, size_t like, size_t rank)
{
	const struct training_plan *plan = step->plan;
	const struct plan_groups *groups = step->groups;
	uint32_t *communicators = ARENA_ARRAY(arena, groups->count + 1, uint32_t);
	uint32_t *members = ARENA_ARRAY(arena, plan->rank_count, uint32_t);
	struct cuda_renames *renames = ARENA_NEW(arena, struct cuda_renames);
	struct program *own = ARENA_NEW(arena, struct program);
	for (size_t kind = 0; kind < PLAN_GROUP_COUNT; kind++)
		communicators[groups->of[kind][like]] = groups->of[kind][rank];
	for (size_t stage = 0; stage < plan->sizes[AXIS_PIPELINE]; stage++)
		members[plan_neighbour(plan, like, AXIS_PIPELINE, stage)] =
			(uint32_t)plan_neighbour(plan, rank, AXIS_PIPELINE, stage);
	*renames = (struct cuda_renames){communicators, members};
	*own = *program;
	own->renames = renames;
	own->role = role_of(arena, plan, rank);
	return own;
}
