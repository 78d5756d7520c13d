/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program of a rank of a plan.
 *
 * A UNIT is a block of the network, or what is before the first or behind the last one. Its ops
 * between two collectives are one PIECE: one launch with the time of all its kernels and the host
 * work of all its calls. The host runs ahead of the GPU, so if it is faster, its work is hidden.
 *
 * Streams: kernels and the collectives that block them run on COMPUTE. Messages between stages have
 * a stream for each direction and side. Collectives of context groups run beside attention. Those
 * of data groups run on GATHER (parameters) and REDUCE (gradients).
 */
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/issue.h"
#include "sim/training/plan.h"

enum stream { COMPUTE, DOWN_IN, DOWN_OUT, UP_IN, UP_OUT, BESIDE, GATHER, REDUCE, STREAM_COUNT };
enum tag { TAG_DOWN, TAG_UP };
enum part { PART_FORWARD, PART_BACKWARD, PART_WEIGHTS, PART_AGAIN, PART_COUNT };

/* SMs that Transformer Engine's user buffers take for a collective: 1 to 24, on the average of the
 * ten of a layer (NVIDIA's submission to MLPerf Training 3.1, tp_overlap/h100tp4pp8mbs1.yaml). */
static const uint8_t user_buffer_blocks = 5;
/* Ranks of a data-parallel group for each of which a bucket holds a million parameters. */
static const double bucket_rank_count = 1e6;

struct piece {                                 /* kernels, or a collective */
	const struct shard_exchange *exchange; /* NULL: kernels */
	double gpu_s, host_s;
	uint32_t kernel_count;
	bool closed; /* kernels of later layers are another piece */
	const char *label;
};
struct pieces {
	VEC(struct piece) list;
};
struct unit {
	size_t first, last; /* layers */
	struct pieces parts[PART_COUNT];
	double parameters_count, expert_parameters_count;
	double update_s, update_host_s; /* of all its parameters */
};

struct writer {
	struct issuer issuer;
	const struct plan_step *step;
	const struct training_plan *plan;
	const struct op_graph *graph;
	size_t rank, stage;
	struct unit *units; /* of the rank, chunk by chunk */
	size_t unit_count;
	size_t *chunk_first; /* by chunk: its first unit; one more entry at the end */
	double open_count, open_expert_count; /* parameters whose gradients are not reduced */
	double message_B;                     /* of an activation between stages */
	bool scatters; /* each GPU of the tensor group sends a part of the activation */
};

/* ---- pieces ---- */

static struct piece *open_piece(struct writer *w, struct pieces *pieces)
{
	size_t count = pieces->list.count;
	if (count == 0 || pieces->list.items[count - 1].exchange ||
	    pieces->list.items[count - 1].closed)
		*VEC_PUSH(w->issuer.arena, &pieces->list) = (struct piece){0};
	return &pieces->list.items[pieces->list.count - 1];
}

/* Returns the host work to issue an op. */
static double host_s(const struct writer *w, const struct op *op)
{
	const struct stack_params *stack = w->step->stack;
	const struct driver_params *driver = w->step->driver;
	double launches = op->kernels;
	double library = launches * (stack->calls_per_launch_count - 1) +
			 (op->library ? stack->calls_per_library_op_count : 0);
	return stack->dispatch_s + launches * driver->launch_s + library * driver->library_s;
}

static double gpu_s(const struct writer *w, const struct op *op)
{
	return op->kernels * (kernel_duration_s(w->step->gpu, w->step->efficiency, &op->work) +
			      w->step->gpu->kernel_gap_s);
}

static void add_op(struct writer *w, struct pieces *pieces, const struct op *op)
{
	struct piece *piece = open_piece(w, pieces);
	piece->gpu_s += gpu_s(w, op);
	piece->host_s += host_s(w, op);
	piece->kernel_count += op->kernels;
	piece->label = op->name;
}

/* Adds the collectives before or behind a layer. Those that run beside it begin before it. Returns
 * true if there are such. */
static bool add_exchanges(struct writer *w, struct pieces *pieces, size_t layer, enum op_pass pass,
			  bool before)
{
	const struct shard *shard = w->plan->shard;
	bool beside = false;
	for (size_t i = 0; i < shard->exchange_count; i++) {
		const struct shard_exchange *exchange = &shard->exchanges[i];
		if (exchange->layer != layer || exchange->pass != pass ||
		    (exchange->before || exchange->beside) != before)
			continue;
		*VEC_PUSH(w->issuer.arena, &pieces->list) = (struct piece){.exchange = exchange};
		beside |= exchange->beside;
	}
	return beside;
}

/* Ends the piece of a layer. */
static void leave_layer(struct writer *w, struct pieces *pieces, size_t layer, enum op_pass pass,
			bool beside)
{
	if (layer == SIZE_MAX)
		return;
	if (beside)
		pieces->list.items[pieces->list.count - 1].closed = true;
	add_exchanges(w, pieces, layer, pass, false);
}

/* Adds the ops of layers [first, last] in that pass, with their collectives. The gradients of
 * weights may be a part of their own. */
static void build_pass(struct writer *w, struct pieces *pieces, struct pieces *weights,
		       enum op_pass pass, size_t first, size_t last)
{
	size_t layer = SIZE_MAX;
	bool beside = false;
	for (size_t i = 0; i < w->graph->count; i++) {
		const struct op *op = &w->graph->ops[i];
		if (op->pass != pass || op->layer < first || op->layer > last)
			continue;
		if (op->layer != layer) {
			leave_layer(w, pieces, layer, pass, beside);
			layer = op->layer;
			beside = add_exchanges(w, pieces, layer, pass, true);
		}
		add_op(w, op->weights ? weights : pieces, op);
	}
	leave_layer(w, pieces, layer, pass, beside);
}

/* Adds what backward computes again. */
static void build_again(struct writer *w, struct unit *unit)
{
	const struct layer *layers = w->plan->shard->network->layers;
	const struct plan_params *params = w->plan->params;
	struct pieces *again = &unit->parts[PART_AGAIN];
	if (params->recompute == RECOMPUTE_FULL && layers[unit->first].block > 0) {
		size_t last = unit->last;
		if (params->early_stop) /* the block's own output is kept for the next block */
			do
				last--;
			while (last > unit->first && !(layers[last].kept_count > 0));
		build_pass(w, again, again, PASS_FORWARD, unit->first, last);
	}
	for (size_t i = unit->first; i <= unit->last; i++)
		if (params->recompute == RECOMPUTE_SELECTIVE && layers[i].op == LAYER_ATTENTION &&
		    !w->step->stack->fused_attention)
			build_pass(w, again, again, PASS_FORWARD, i, i);
}

static void build_unit(struct writer *w, struct unit *unit, size_t first, size_t last)
{
	const struct layer *layers = w->plan->shard->network->layers;
	unit->first = first;
	unit->last = last;
	for (size_t i = first; i <= last; i++)
		for (size_t t = 0; t < layers[i].tensor_count; t++)
			*(layers[i].experts > 0 ? &unit->expert_parameters_count
						: &unit->parameters_count) += layers[i].tensors[t];
	struct pieces *parts = unit->parts;
	build_pass(w, &parts[PART_FORWARD], &parts[PART_FORWARD], PASS_FORWARD, first, last);
	build_pass(w, &parts[PART_BACKWARD],
		   &parts[w->plan->schedule->splits_backward ? PART_WEIGHTS : PART_BACKWARD],
		   PASS_BACKWARD, first, last);
	build_again(w, unit);
	for (size_t i = 0; i < w->graph->count; i++) {
		const struct op *op = &w->graph->ops[i];
		if (op->pass != PASS_UPDATE || op->layer < first || op->layer > last)
			continue;
		unit->update_s += gpu_s(w, op);
		unit->update_host_s += host_s(w, op);
	}
}

static void build_units(struct writer *w)
{
	const struct network *network = w->plan->shard->network;
	const size_t *parts = w->plan->parts;
	size_t stages = w->plan->sizes[AXIS_PIPELINE], first = 0;
	w->units = ARENA_ARRAY(w->issuer.arena, w->plan->block_count + 2, struct unit);
	w->chunk_first = ARENA_ARRAY(w->issuer.arena, w->plan->chunk_count + 1, size_t);
	for (size_t i = 1; i <= network->layer_count; i++) {
		if (i < network->layer_count &&
		    network->layers[i].block == network->layers[first].block)
			continue;
		if (parts[first] % stages == w->stage) {
			build_unit(w, &w->units[w->unit_count++], first, i - 1);
			w->chunk_first[parts[first] / stages + 1] = w->unit_count;
		}
		first = i;
	}
}

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
	uint32_t communicator = w->step->groups->of[group][w->rank];
	if (communicator == 0 || !(size_B > 0))
		return NULL;
	struct cuda_call *call = issue_call(&w->issuer, calls[kind], stream);
	call->payload_B = size_B;
	call->peer = communicator;
	call->label = label;
	return call;
}

static void message(struct writer *w, enum call_kind kind, uint16_t stream, enum tag tag,
		    size_t stage)
{
	struct cuda_call *call;
	/* Stages with one chunk post a receive when they have nothing else to do; with several
	 * chunks they post it before they compute (Megatron-LM, overlap_p2p_comm). */
	if (kind == CALL_SEND || w->plan->chunk_count == 1)
		order(w, COMPUTE, stream);
	call = issue_call(&w->issuer, kind, stream);
	call->payload_B = w->message_B;
	call->peer = (uint32_t)plan_neighbour(w->plan, w->rank, AXIS_PIPELINE, stage);
	call->tag = (uint8_t)tag;
	call->label = kind == CALL_SEND ? "send" : "receive";
	if (kind == CALL_SEND)
		return;
	order(w, stream, COMPUTE);
	if (w->scatters)
		collective(w, COLLECTIVE_ALL_GATHER, PLAN_TENSOR,
			   w->message_B * (double)w->plan->sizes[AXIS_TENSOR], COMPUTE, "tp");
}

/* Returns the bytes of an element of a collective. With FP8, the input of a product is converted
 * before it is gathered (Transformer Engine). */
static double exchange_element_B(const struct writer *w, const struct shard_exchange *exchange)
{
	const struct layer *layer = &w->plan->shard->network->layers[exchange->layer];
	return w->step->stack->precision == PRECISION_FP8 && exchange->group == SHARD_TENSOR &&
			       exchange->collective == COLLECTIVE_ALL_GATHER && layer->block > 0
		       ? 1
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

static void play_kernels(struct writer *w, double duration_s, double work_s, const char *label)
{
	if (!(duration_s > 0))
		return;
	struct cuda_call *launch = issue_call(&w->issuer, CALL_LAUNCH, COMPUTE);
	launch->duration_s = duration_s;
	launch->host_s = (float)work_s;
	launch->label = label;
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
			play_kernels(w, piece->gpu_s, piece->host_s, piece->label);
			if (beside)
				order(w, BESIDE, COMPUTE);
			beside = false;
		}
	}
	if (beside)
		order(w, BESIDE, COMPUTE);
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
		count += w->units[i].parameters_count;
		expert_count += w->units[i].expert_parameters_count;
	}
	gather_parameters(w, count, expert_count, stream);
}

/* Gathers the parameters that the step before updated, chunk by chunk, while the first passes
 * compute. */
static void gather_updated(struct writer *w)
{
	for (size_t c = 0; c < w->plan->chunk_count; c++) {
		gather_chunk(w, c, GATHER);
		issue_call(&w->issuer, CALL_EVENT_RECORD, GATHER)->event =
			gathered(w, &w->units[w->chunk_first[c]]);
	}
}

static void reduce_gradients(struct writer *w, double count, double expert_count)
{
	enum collective kind = w->plan->params->sharding == SHARDING_NONE
				       ? COLLECTIVE_ALL_REDUCE
				       : COLLECTIVE_REDUCE_SCATTER;
	double element_B = w->plan->params->gradient_element_B;
	/* without expert groups, experts are like other parameters */
	bool apart = w->plan->expert_count > 1;
	order(w, COMPUTE, REDUCE);
	collective(w, kind, PLAN_DATA, (count + (apart ? 0 : expert_count)) * element_B, REDUCE,
		   "gradients");
	if (apart)
		collective(w, kind, PLAN_EXPERT_DATA, expert_count * element_B, REDUCE,
			   "gradients");
}

static void reduce_open(struct writer *w)
{
	if (w->open_count + w->open_expert_count > 0)
		reduce_gradients(w, w->open_count, w->open_expert_count);
	w->open_count = w->open_expert_count = 0;
}

/* Adds the gradients of a unit to the open bucket, which is reduced when it is full. */
static void add_gradients(struct writer *w, const struct unit *unit)
{
	const struct plan_params *params = w->plan->params;
	double ranks = (double)(w->plan->sizes[AXIS_DATA] * w->plan->sizes[AXIS_CONTEXT]);
	double full = params->bucket_count;
	if (full < bucket_rank_count * ranks)
		full = bucket_rank_count * ranks;
	w->open_count += unit->parameters_count;
	w->open_expert_count += unit->expert_parameters_count;
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
		reduce_gradients(w, unit->parameters_count, unit->expert_parameters_count);
	else if (last)
		add_gradients(w, unit);
}

static void backward(struct writer *w, size_t chunk, bool last)
{
	bool splits = w->plan->schedule->splits_backward;
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
	bool last = slot->micro + 1 == w->plan->micro_batch_count;
	if (slot->kind == SLOT_FORWARD) {
		if (part > 0)
			message(w, CALL_RECEIVE, DOWN_IN, TAG_DOWN, before);
		forward(w, slot->chunk, slot->micro == 0);
		if (part + 1 < parts)
			message(w, CALL_SEND, DOWN_OUT, TAG_DOWN, next);
	} else if (slot->kind == SLOT_BACKWARD) {
		if (part + 1 < parts)
			message(w, CALL_RECEIVE, UP_IN, TAG_UP, next);
		backward(w, slot->chunk, last);
		if (part > 0)
			message(w, CALL_SEND, UP_OUT, TAG_UP, before);
	} else {
		weights(w, slot->chunk, last);
	}
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
	double update_s = 0, work_s = 0;
	double share =
		params->sharding == SHARDING_NONE
			? 1
			: 1 / (double)(w->plan->sizes[AXIS_DATA] * w->plan->sizes[AXIS_CONTEXT]);
	for (size_t i = 0; i < w->unit_count; i++) {
		update_s += w->units[i].update_s * share;
		work_s += w->units[i].update_host_s;
	}
	reduce_open(w);
	order(w, REDUCE, COMPUTE);
	collective(w, COLLECTIVE_ALL_REDUCE, PLAN_EMBEDDING,
		   tied_count(w) * params->gradient_element_B, COMPUTE, "embedding");
	play_kernels(w, update_s, work_s, "update");
	for (size_t c = 0;
	     gathers_updated(w) && !params->overlap_parameters && c < w->plan->chunk_count; c++)
		gather_chunk(w, c, COMPUTE);
}

/* Returns the bytes that a GPU sends for an activation between two stages. With sequence
 * parallelism it sends its tokens. */
static double message_B(const struct writer *w)
{
	const struct network *network = w->plan->shard->network;
	size_t i = 1;
	while (network->layers[i].block == 0)
		i++;
	double parts = w->scatters ? (double)w->plan->sizes[AXIS_TENSOR] : 1;
	return network->layers[network->layers[i].inputs[0]].output_count / parts *
	       (double)w->plan->micro_batch * stack_element_B(w->step->stack);
}

const struct program *plan_program(struct arena *arena, const struct plan_step *step, size_t rank)
{
	const struct training_plan *plan = step->plan;
	struct op_graph graph = op_graph_new(arena, plan->shard->network, plan->micro_batch,
					     step->stack, step->gpu);
	struct writer w = {
		.issuer = {.arena = arena,
			   .stack = step->stack,
			   .gpu = step->gpu,
			   .efficiency = step->efficiency},
		.step = step,
		.plan = plan,
		.graph = &graph,
		.rank = rank,
		.stage = plan_index(plan, rank, AXIS_PIPELINE),
		.scatters = plan->params->scatter_gather && !plan->sequence,
	};
	const struct pipeline_shape shape = {plan->sizes[AXIS_PIPELINE], plan->chunk_count,
					     plan->micro_batch_count};
	struct slots slots = {0};
	build_units(&w);
	w.message_B = message_B(&w);
	plan->schedule->write(arena, &shape, w.stage, &slots);
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
		.event_count = (uint16_t)(STREAM_COUNT + w.unit_count),
		.memory_B = plan_memory_B(plan, step->stack, w.stage),
		.images_count = plan_batch(plan) / (double)plan->rank_count,
	};
	return program;
}
