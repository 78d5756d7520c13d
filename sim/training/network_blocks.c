/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forms of the parts of a transformer: attention, recurrent layers, MLPs and experts. */
#include "sim/training/network_expansion.h"

/* Returns the heads that the line describes. Without kv_heads there are as many as heads.
 * Without head_size a head is an equal part of the features. */
static struct attention_shape heads_of(struct expansion *x)
{
	const struct line_keys *keys = &x->keys;
	struct attention_shape shape = {.heads = keys->heads,
					.kv_heads = keys->kv_heads ? keys->kv_heads : keys->heads,
					.head_size = keys->head_size,
					.window = keys->window,
					.causal = keys->causal,
					.mask = keys->mask,
					.dropout = keys->dropout};
	size_t features = expansion_features(x);
	if (shape.head_size == 0 && features % shape.heads != 0)
		expansion_complain(x, "heads",
				   "heads is %zu, which does not divide the %zu features (write "
				   "another number, or head_size = 64)",
				   shape.heads, features);
	if (shape.heads % shape.kv_heads != 0)
		expansion_complain(x, "kv_heads",
				   "kv_heads is %zu, but must be a divisor of heads, which is %zu",
				   shape.kv_heads, shape.heads);
	if (shape.window > 0 && !shape.causal)
		expansion_complain(x, "window",
				   "a window needs causal attention (write causal = true)");
	if (shape.head_size == 0)
		shape.head_size = features / shape.heads;
	shape.value_size = keys->value_size ? keys->value_size : shape.head_size;
	return shape;
}

/* Adds a low-rank adapter beside the product that was appended last (LoRA, Hu et al.,
 * arXiv:2106.09685). */
static void adapt(struct expansion *x, const char *what, size_t input)
{
	struct arena *arena = x->reader->arena;
	size_t product = x->last;
	if (!x->good || x->keys.lora == 0)
		return;
	size_t out = x->reader->layers.items[product].channels;
	x->spec.adapter = true;
	x->last = input;
	expansion_push_linear(x, arena_printf(arena, "%s_down", what), x->keys.lora, 1, false);
	expansion_push_linear(x, arena_printf(arena, "%s_up", what), out, 1, false);
	expansion_push(
		x, arena_printf(arena, "%s_add", what),
		(struct layer){.op = LAYER_ADD, .input_count = 2, .inputs = {product, x->last}});
	x->spec.adapter = false;
}

void form_attention(struct expansion *x)
{
	struct attention_shape shape = heads_of(x);
	size_t q = shape.heads * shape.head_size, kv = shape.kv_heads * shape.head_size;
	struct layer qkv = {.op = LAYER_LINEAR, .part_count = 1, .parts = {q + 2 * kv}};
	if (x->keys.separate) {
		qkv.part_count = 3;
		qkv.parts[0] = q;
		qkv.parts[1] = qkv.parts[2] = kv;
	}
	qkv.parts[0] += x->keys.gate ? q : 0; /* factors of the output */
	x->spec.bias = x->keys.bias || x->keys.qkv_bias;
	expansion_push(x, "qkv", qkv);
	adapt(x, "qkv", x->inputs[0]);
	if (x->keys.qk_norm)
		expansion_push(x, "qk_norm",
			       (struct layer){.op = LAYER_QK_NORM, .attention = shape});
	if (x->keys.rotary)
		expansion_push(x, "rotary", (struct layer){.op = LAYER_ROTARY, .attention = shape});
	x->spec.rows = x->keys.sinks ? shape.heads : 0;
	expansion_push(x, "core", (struct layer){.op = LAYER_ATTENTION, .attention = shape});
	size_t core = x->last;
	expansion_push_linear(x, "out", expansion_features(x), 1, x->keys.bias);
	adapt(x, "out", core);
}

/* Appends an RMS norm of the first features of a layer, and a product behind it. */
static void push_up(struct expansion *x, const char *what, size_t from, size_t rank, size_t out)
{
	struct arena *arena = x->reader->arena;
	x->spec.rows = rank;
	expansion_push(x, arena_printf(arena, "%s_norm", what),
		       (struct layer){.op = LAYER_RMS_NORM, .input_count = 1, .inputs = {from}});
	x->spec.rows = 0;
	expansion_push_linear(x, arena_printf(arena, "%s_up", what), out, 1, false);
}

/* Latent attention (DeepSeek-V2, arXiv:2405.04434): one product compresses queries, keys and
 * values, and products behind norms expand them. A rotary key of all heads stays as it is. Engines
 * cache the compressed numbers. */
void form_latent_attention(struct expansion *x)
{
	const struct line_keys *keys = &x->keys;
	struct attention_shape shape = heads_of(x), rotary = shape;
	shape.latent = keys->kv_rank + keys->rope;
	shape.latent_value = keys->kv_rank;
	rotary.head_size = keys->rope;
	if (keys->rope >= shape.head_size)
		expansion_complain(x, "rope",
				   "rope is %zu, but must be below head_size, which is %zu",
				   keys->rope, shape.head_size);
	struct layer down = {.op = LAYER_LINEAR, .part_count = 1, .parts = {shape.latent}};
	struct layer core = {.op = LAYER_ATTENTION, .attention = shape, .input_count = 3};
	if (keys->q_rank) {
		down.part_count = 2;
		down.parts[0] = keys->q_rank;
		down.parts[1] = shape.latent;
	}
	expansion_push(x, "down", down);
	core.inputs[2] = x->last;
	if (keys->q_rank) {
		push_up(x, "q", core.inputs[2], keys->q_rank, shape.heads * shape.head_size);
	} else {
		x->last = x->inputs[0];
		expansion_push_linear(x, "q", shape.heads * shape.head_size, 1, false);
	}
	if (keys->rope)
		expansion_push(x, "rotary",
			       (struct layer){.op = LAYER_ROTARY, .attention = rotary});
	core.inputs[0] = x->last;
	push_up(x, "kv", core.inputs[2], keys->kv_rank,
		shape.heads * (shape.head_size - keys->rope + shape.value_size));
	core.inputs[1] = x->last;
	expansion_push(x, "core", core);
	expansion_push_linear(x, "out", expansion_features(x), 1, false);
}

/* State-space models, linear attention and gated convolutions: a product, a state of each feature
 * with its weights, and a product back. */
void form_recurrent(struct expansion *x)
{
	expansion_push_linear(x, "in", x->keys.in, 1, x->keys.bias);
	expansion_push(x, "core", (struct layer){.op = LAYER_RECURRENT});
	expansion_push_linear(x, "out", expansion_features(x), 1, x->keys.bias);
}

void form_mlp(struct expansion *x)
{
	expansion_push_linear(x, "up", x->keys.hidden, 1, x->keys.bias);
	expansion_push_activation(x, "");
	expansion_push_linear(x, "down", expansion_features(x), 1, x->keys.bias);
}

static void push_gated(struct expansion *x, const char *prefix, size_t hidden, bool bias)
{
	struct arena *arena = x->reader->arena;
	expansion_push_linear(x, arena_printf(arena, "%sgate_up", prefix), 2 * hidden, 2, bias);
	expansion_push(x, arena_printf(arena, "%sgate", prefix), (struct layer){.op = LAYER_GATE});
	expansion_push_linear(x, arena_printf(arena, "%sdown", prefix), expansion_features(x), 1,
			      bias);
}

void form_gated_mlp(struct expansion *x)
{
	push_gated(x, "", x->keys.hidden, x->keys.bias);
}

void form_experts(struct expansion *x)
{
	size_t count = x->keys.experts, top = x->keys.top, route, combined;
	struct layer layer = {.expert_top = top, .experts = count};
	struct layer product = {.op = LAYER_LINEAR, .part_count = 1, .experts = count};
	if (top > count) {
		expansion_complain(x, "top",
				   "top is %zu, but there are only %zu experts (write a smaller "
				   "number)",
				   top, count);
		return;
	}
	expansion_push_linear(x, "router", count, 1, x->keys.bias);
	layer.op = LAYER_ROUTE;
	expansion_push(x, "route", layer);
	route = x->last;
	layer.op = LAYER_DISPATCH;
	layer.input_count = 2;
	layer.inputs[0] = x->inputs[0];
	layer.inputs[1] = route;
	expansion_push(x, "dispatch", layer);
	x->spec.bias = x->keys.bias;
	product.parts[0] = (x->keys.activation ? 1 : 2) * x->keys.hidden;
	expansion_push(x, x->keys.activation ? "up" : "gate_up", product);
	if (x->keys.activation)
		expansion_push_activation(x, "");
	else
		expansion_push(x, "gate",
			       (struct layer){.op = LAYER_GATE, .clamps = x->keys.clamp});
	product.parts[0] = expansion_features(x);
	expansion_push(x, "down", product);
	layer.op = LAYER_COMBINE;
	layer.inputs[0] = x->last;
	expansion_push(x, "combine", layer);
	if (x->keys.shared == 0)
		return;
	combined = x->last;
	x->last = x->inputs[0];
	if (x->keys.activation) {
		expansion_push_linear(x, "shared_up", x->keys.shared, 1, x->keys.bias);
		expansion_push_activation(x, "shared_");
		expansion_push_linear(x, "shared_down", expansion_features(x), 1, x->keys.bias);
	} else {
		push_gated(x, "shared_", x->keys.shared, x->keys.bias);
	}
	expansion_push(
		x, "add",
		(struct layer){.op = LAYER_ADD, .input_count = 2, .inputs = {combined, x->last}});
}
