/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/plan_units.h"

/* Appends the calls of an op. */
static void issue_piece(struct writer *w, struct piece *piece, const struct op *op)
{
	if (piece->items.count == 0)
		w->ops.graph_begun = false; /* a piece is a CUDA graph */
	w->ops.items = piece->items;
	issue_op(&w->ops, op, 0);
	piece->items = w->ops.items;
}

static void add_op(struct writer *w, struct pieces *pieces, const struct op *op)
{
	size_t count = pieces->list.count;
	if (count == 0 || pieces->list.items[count - 1].exchange ||
	    pieces->list.items[count - 1].closed)
		*VEC_PUSH(w->issuer.arena, &pieces->list) = (struct piece){0};
	issue_piece(w, &pieces->list.items[pieces->list.count - 1], op);
}

static void fuse_piece(struct writer *w, struct piece *piece)
{
	const struct call_thread each = {NULL, piece->items.items, piece->items.count};
	const struct fuse_params *fuse = w->step->fuse;
	piece->fused = fuse ? thread_fuse(w->issuer.arena, &each, fuse, FUSE_RUNS) : each;
	piece->beside = fuse ? thread_fuse(w->issuer.arena, &each, fuse, FUSE_HOST) : each;
}

static void fuse_unit(struct writer *w, struct unit *unit)
{
	for (int part = 0; part < PART_COUNT; part++)
		for (size_t i = 0; i < unit->parts[part].list.count; i++)
			fuse_piece(w, &unit->parts[part].list.items[i]);
	fuse_piece(w, &unit->update);
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
	const struct network *network = w->plan->shard->network;
	const struct stack_params *stack = w->step->stack;
	struct pieces *again = &unit->parts[PART_AGAIN];
	size_t last = unit->last;
	while (last > unit->first && !plan_recomputes(w->plan, network, stack, last))
		last--;
	if (w->plan->params->recompute == RECOMPUTE_FULL) {
		if (plan_recomputes(w->plan, network, stack, unit->first))
			build_pass(w, again, again, PASS_FORWARD, unit->first, last);
		return;
	}
	for (size_t i = unit->first; i <= last; i++)
		if (plan_recomputes(w->plan, network, stack, i))
			build_pass(w, again, again, PASS_FORWARD, i, i);
}

/* Each rank of a group that shares out the optimizer's state updates a part. */
static void build_update(struct writer *w, struct unit *unit)
{
	bool shared = w->plan->params->sharding != SHARDING_NONE;
	double ratio = shared ? 1 / (double)plan_sharers(w->plan) : 1;
	for (size_t i = 0; i < w->graph->count; i++) {
		const struct op *op = &w->graph->ops[i];
		if (op->pass == PASS_UPDATE && op->layer >= unit->first && op->layer <= unit->last)
			issue_piece(w, &unit->update, op);
	}
	for (size_t i = 0; i < unit->update.items.count; i++)
		unit->update.items.items[i].call.duration_s *= ratio;
}

static void build_unit(struct writer *w, struct unit *unit, size_t first, size_t last)
{
	const struct layer *layers = w->plan->shard->network->layers;
	unit->first = first;
	unit->last = last;
	for (size_t i = first; i <= last; i++)
		for (size_t t = 0; t < layers[i].tensor_count; t++) {
			double count = layers[i].tensors[t], trained = layers[i].frozen ? 0 : count;
			bool expert = layers[i].experts > 0;
			*(expert ? &unit->expert_parameters_count : &unit->parameters_count) +=
				count;
			*(expert ? &unit->expert_trained_count : &unit->trained_count) += trained;
			unit->tensor_count += !layers[i].frozen;
		}
	struct pieces *parts = unit->parts;
	build_pass(w, &parts[PART_FORWARD], &parts[PART_FORWARD], PASS_FORWARD, first, last);
	build_pass(w, &parts[PART_BACKWARD],
		   &parts[w->plan->schedule->splits_backward ? PART_WEIGHTS : PART_BACKWARD],
		   PASS_BACKWARD, first, last);
	build_again(w, unit);
	build_update(w, unit);
	fuse_unit(w, unit);
}

void plan_units_build(struct writer *w)
{
	const struct network *network = w->plan->shard->network;
	const size_t *parts = w->plan->parts;
	size_t stages = w->plan->sizes[AXIS_PIPELINE], first = 0;
	w->units = ARENA_ARRAY(w->issuer.arena, w->plan->unit_count, struct unit);
	w->chunk_first = ARENA_ARRAY(w->issuer.arena, w->plan->chunk_count + 1, size_t);
	for (size_t end; first < network->layer_count; first = end) {
		end = plan_unit_end(w->plan, first);
		if (parts[first] % stages != w->stage)
			continue;
		build_unit(w, &w->units[w->unit_count++], first, end - 1);
		w->chunk_first[parts[first] / stages + 1] = w->unit_count;
	}
}
