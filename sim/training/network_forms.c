/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/network_expansion.h"

#include <stdarg.h>

enum key_type { KEY_SIZE, KEY_SIDES, KEY_FLAG, KEY_PAD, KEY_SHARE, KEY_TEXT, KEY_POSITIONS };

static const struct key_row {
	const char *name;
	enum key_type type;
	size_t offset;
	const char *example;
} key_rows[] = {
#define KEY(type, name, example)                                                                   \
	{                                                                                          \
#name, type, offsetof(struct line_keys, name), example                             \
	}
	KEY(KEY_SIDES, kernel, "[3, 3]"),  KEY(KEY_SIDES, stride, "2"),
	KEY(KEY_PAD, pad, "\"same\""),     KEY(KEY_FLAG, batch_norm, "true"),
	KEY(KEY_FLAG, scale, "false"),     KEY(KEY_FLAG, relu, "true"),
	KEY(KEY_SIZE, out, "768"),         KEY(KEY_SIZE, heads, "12"),
	KEY(KEY_SIZE, kv_heads, "8"),      KEY(KEY_SIZE, head_size, "64"),
	KEY(KEY_SIZE, window, "128"),      KEY(KEY_SIZE, hidden, "3072"),
	KEY(KEY_SIZE, experts, "8"),       KEY(KEY_SIZE, top, "2"),
	KEY(KEY_SIZE, shared, "2048"),     KEY(KEY_SIZE, tokens, "1"),
	KEY(KEY_SIZE, segments, "2"),      KEY(KEY_POSITIONS, positions, "1024"),
	KEY(KEY_SIZE, lora, "16"),         KEY(KEY_FLAG, bias, "true"),
	KEY(KEY_FLAG, qkv_bias, "true"),   KEY(KEY_FLAG, causal, "true"),
	KEY(KEY_FLAG, mask, "true"),       KEY(KEY_FLAG, separate, "true"),
	KEY(KEY_FLAG, rotary, "true"),     KEY(KEY_FLAG, qk_norm, "true"),
	KEY(KEY_FLAG, sinks, "true"),      KEY(KEY_FLAG, dropout, "true"),
	KEY(KEY_SHARE, share, "0.15"),     KEY(KEY_TEXT, activation, "\"gelu\""),
	KEY(KEY_TEXT, tied, "\"embed\""),  KEY(KEY_SIZE, groups, "32"),
	KEY(KEY_SIZE, factor, "2"),        KEY(KEY_FLAG, instance_norm, "true"),
	KEY(KEY_SIDES, sides, "[24, 24]"), KEY(KEY_FLAG, flat, "true"),
	KEY(KEY_SIZE, q_rank, "1536"),     KEY(KEY_SIZE, kv_rank, "512"),
	KEY(KEY_SIZE, rope, "64"),         KEY(KEY_SIZE, value_size, "128"),
	KEY(KEY_SIZE, in, "12288"),        KEY(KEY_SIZE, state, "128"),
	KEY(KEY_SIZE, weights, "10"),      KEY(KEY_FLAG, gate, "true"),
	KEY(KEY_FLAG, clamp, "true"),
#undef KEY
};
enum { KEY_COUNT = sizeof key_rows / sizeof key_rows[0] };

void expansion_complain(struct expansion *x, const char *key, const char *format, ...)
{
	const struct cfg_node *child = cfg_child(x->node, key);
	va_list args;
	va_start(args, format);
	diag_error(x->reader->diag, cfg_origin(child ? child : x->node), "layer '%s': %s",
		   x->spec.name, arena_vprintf(x->reader->arena, format, args));
	va_end(args);
	x->good = false;
}

/* ---- layers ---- */

void expansion_push(struct expansion *x, const char *what, struct layer layer)
{
	if (!x->good)
		return;
	layer.name =
		*what ? arena_printf(x->reader->arena, "%s/%s", x->spec.name, what) : x->spec.name;
	if (layer.input_count == 0)
		layer.inputs[layer.input_count++] = x->last;
	x->spec.op = layer.op;
	x->good = append_layer(x->reader, &x->spec, &layer);
	x->last = x->reader->layers.count - 1;
}

size_t expansion_features(const struct expansion *x)
{
	return x->reader->layers.items[x->inputs[0]].channels;
}

void expansion_push_linear(struct expansion *x, const char *what, size_t out, size_t part_count,
			   bool bias)
{
	struct layer layer = {.op = LAYER_LINEAR, .part_count = part_count};
	for (size_t i = 0; i < part_count; i++)
		layer.parts[i] = out / part_count;
	x->spec.bias = bias;
	expansion_push(x, what, layer);
}

void expansion_push_activation(struct expansion *x, const char *prefix)
{
	static const struct {
		const char *name;
		enum layer_op op;
	} rows[] = {{"gelu", LAYER_GELU}, {"gelu_new", LAYER_GELU_NEW}, {"silu", LAYER_SILU},
		    {"tanh", LAYER_TANH}, {"sigmoid", LAYER_SIGMOID},   {"relu", LAYER_RELU}};
	const char *text = x->keys.activation;
	if (text == NULL)
		return;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(text, rows[i].name) == 0) {
			expansion_push(x, arena_printf(x->reader->arena, "%s%s", prefix, text),
				       (struct layer){.op = rows[i].op});
			return;
		}
	expansion_complain(x, "activation",
			   "activation is '%s' (write \"gelu\", \"gelu_new\", \"silu\", \"tanh\", "
			   "\"sigmoid\" or \"relu\")",
			   text);
}

/* Returns the earlier layer with that op whose weights the line shares; 0 after an error. */
static size_t tied_layer(struct expansion *x, enum layer_op op)
{
	const struct network_reader *reader = x->reader;
	const char *kind = layer_kind(op)->name;
	size_t line = lines_find(reader, x->index, x->keys.tied);
	if (line != NO_LINE && !reader->lines[line].broken)
		for (size_t i = reader->lines[line].last; i > 0; i--)
			if (strcmp(reader->layers.items[i].name, reader->lines[line].name) == 0 &&
			    reader->layers.items[i].op == op)
				return i;
	expansion_complain(
		x, "tied",
		"tied '%s' is not an earlier %s (write the name of a layer with op = \"%s\")",
		x->keys.tied, kind, kind);
	return 0;
}

/* Appends the form's own layer, which has all inputs of the line, and the layers that the line
 * adds behind it. */
static void plain(struct expansion *x)
{
	struct layer layer = {.op = x->form->layer, .input_count = x->input_count};
	memcpy(layer.inputs, x->inputs, x->input_count * sizeof *x->inputs);
	if (x->keys.tied != NULL)
		layer.tied_to = tied_layer(x, LAYER_CONV);
	expansion_push(x, "", layer);
	if (x->keys.batch_norm)
		expansion_push(x, "batch_norm", (struct layer){.op = LAYER_BATCH_NORM});
	if (x->keys.instance_norm)
		expansion_push(x, "instance_norm", (struct layer){.op = LAYER_INSTANCE_NORM});
	if (x->keys.bias)
		expansion_push(x, "bias",
			       (struct layer){.op = LAYER_BIAS, .tied_to = layer.tied_to});
	if (x->keys.relu)
		expansion_push(x, "relu", (struct layer){.op = LAYER_RELU});
	expansion_push_activation(x, "");
}

/* Appends a fully connected layer with biases. */
static void push_fc(struct expansion *x, const char *what, size_t out)
{
	x->keys.out = out;
	expansion_push(x, what, (struct layer){.op = LAYER_FC});
	expansion_push(x, arena_printf(x->reader->arena, "%s_bias", what),
		       (struct layer){.op = LAYER_BIAS});
}

/* Scales the channels by numbers that two fully connected layers compute from their means (Hu et
 * al., arXiv:1709.01507). */
static void squeeze_excite(struct expansion *x)
{
	size_t input = x->inputs[0], channels = expansion_features(x);
	x->spec.global = true;
	expansion_push(x, "pool", (struct layer){.op = LAYER_AVG_POOL});
	push_fc(x, "squeeze", x->keys.hidden);
	expansion_push_activation(x, "");
	push_fc(x, "excite", channels);
	expansion_push(x, "sigmoid", (struct layer){.op = LAYER_SIGMOID});
	expansion_push(
		x, "",
		(struct layer){.op = LAYER_SCALE, .input_count = 2, .inputs = {input, x->last}});
}

static void embedding(struct expansion *x)
{
	size_t sequence = x->reader->network->sequence;
	if (sequence == 0 || x->inputs[0] != 0) {
		expansion_complain(
			x, "op",
			"an embedding takes tokens (write sequence = 1024 and vocabulary = 50257 "
			"in the network, and from = \"input\")");
		return;
	}
	x->spec.rows = x->reader->network->vocabulary;
	expansion_push(x, "", (struct layer){.op = LAYER_EMBEDDING});
	x->spec.rows = x->keys.own_positions ? sequence : x->keys.positions;
	if (x->spec.rows > 0 && x->spec.rows < sequence)
		expansion_complain(x, "positions",
				   "it has %zu positions, but the sequences have %zu tokens "
				   "(write a shorter sequence, or more positions)",
				   x->spec.rows, sequence);
	if (x->spec.rows > 0)
		expansion_push(x, "positions", (struct layer){.op = LAYER_POSITIONS});
	x->spec.rows = x->keys.segments;
	if (x->spec.rows > 0)
		expansion_push(x, "segments", (struct layer){.op = LAYER_POSITIONS});
}

static void class_token(struct expansion *x)
{
	expansion_push(x, "", (struct layer){.op = LAYER_CLASS_TOKEN});
	if (x->good && x->keys.own_positions) {
		x->spec.rows = x->reader->layers.items[x->last].height;
		expansion_push(x, "positions", (struct layer){.op = LAYER_POSITIONS});
	}
}

static void select_tokens(struct expansion *x)
{
	const struct layer *input = &x->reader->layers.items[x->inputs[0]];
	size_t all = input->height * input->width;
	if ((x->keys.tokens > 0) == (x->keys.share > 0)) {
		expansion_complain(
			x, "op", "select needs tokens or share (write tokens = 1 or share = 0.15)");
		return;
	}
	x->spec.rows = x->keys.tokens ? x->keys.tokens : (size_t)ceil(x->keys.share * (double)all);
	if (x->spec.rows > all)
		expansion_complain(x, "tokens",
				   "it selects %zu of only %zu tokens (write a smaller number)",
				   x->spec.rows, all);
	expansion_push(x, "", (struct layer){.op = LAYER_SELECT});
}

static void linear(struct expansion *x)
{
	struct layer layer = {.op = LAYER_LINEAR, .part_count = 1, .parts = {x->keys.out}};
	if ((x->keys.out > 0) == (x->keys.tied != NULL)) {
		expansion_complain(
			x, "op", "linear needs out or tied (write out = 768 or tied = \"embed\")");
		return;
	}
	if (x->keys.tied != NULL) {
		layer.tied_to = tied_layer(x, LAYER_EMBEDDING);
		layer.parts[0] = x->reader->network->vocabulary;
		if (x->good &&
		    x->reader->layers.items[layer.tied_to].channels != expansion_features(x))
			expansion_complain(x, "tied",
					   "it takes %zu features, but the embedding has %zu "
					   "(make them the same)",
					   expansion_features(x),
					   x->reader->layers.items[layer.tied_to].channels);
	}
	x->spec.bias = x->keys.bias;
	expansion_push(x, "", layer);
	expansion_push_activation(x, "");
}

static void layer_norm(struct expansion *x)
{
	x->spec.bias = cfg_child(x->node, "bias") == NULL || x->keys.bias;
	expansion_push(x, "", (struct layer){.op = LAYER_LAYER_NORM});
}

/* ---- keys ---- */

/* the keys that a form needs, and those that it allows */
#define NEEDS(...) .required = {__VA_ARGS__}
#define KEYS(...)  .keys = {__VA_ARGS__}
static const struct form forms[] = {
	{"conv", plain, LAYER_CONV, NEEDS("kernel", "out"),
	 KEYS("stride", "pad", "groups", "batch_norm", "instance_norm", "scale", "bias", "relu",
	      "activation", "tied")},
	{"transposed_conv", plain, LAYER_TRANSPOSED_CONV, NEEDS("kernel", "out", "stride"),
	 KEYS("batch_norm", "instance_norm", "scale", "bias", "relu", "activation")},
	{"fc", plain, LAYER_FC, NEEDS("out"),
	 KEYS("batch_norm", "scale", "bias", "relu", "activation")},
	{"batch_norm", plain, LAYER_BATCH_NORM, KEYS("scale", "relu", "activation")},
	{"relu", plain, LAYER_RELU, KEYS(NULL)},
	{"squeeze_excite", squeeze_excite, LAYER_SCALE, NEEDS("hidden"), KEYS("activation")},
	{"upsample", plain, LAYER_UPSAMPLE, NEEDS("factor")},
	{"pixels", plain, LAYER_PIXELS, NEEDS("sides")},
	{"regression", plain, LAYER_REGRESSION, KEYS(NULL)},
	{"max_pool", plain, LAYER_MAX_POOL, NEEDS("kernel", "stride"), KEYS("pad")},
	{"avg_pool", plain, LAYER_AVG_POOL, NEEDS("kernel", "stride"), KEYS("pad")},
	{"global_pool", plain, LAYER_AVG_POOL, KEYS(NULL)},
	{"add", plain, LAYER_ADD, .joins = true, KEYS("relu")},
	{"concat", plain, LAYER_CONCAT, .joins = true, KEYS("flat")},
	{"lrn", plain, LAYER_LRN, KEYS(NULL)},
	{"dropout", plain, LAYER_DROPOUT, KEYS(NULL)},
	{"softmax", plain, LAYER_SOFTMAX, KEYS(NULL)},
	{"embedding", embedding, LAYER_EMBEDDING, NEEDS("out"), KEYS("positions", "segments")},
	{"class_token", class_token, LAYER_CLASS_TOKEN, KEYS("positions")},
	{"select", select_tokens, LAYER_SELECT, KEYS("tokens", "share")},
	{"linear", linear, LAYER_LINEAR, KEYS("out", "tied", "bias", "activation")},
	{"layer_norm", layer_norm, LAYER_LAYER_NORM, KEYS("bias")},
	{"rms_norm", plain, LAYER_RMS_NORM, KEYS(NULL)},
	{"attention", form_attention, LAYER_ATTENTION, NEEDS("heads"),
	 KEYS("kv_heads", "head_size", "window", "causal", "mask", "bias", "qkv_bias", "separate",
	      "rotary", "qk_norm", "sinks", "dropout", "lora", "gate")},
	{"latent_attention", form_latent_attention, LAYER_ATTENTION,
	 NEEDS("heads", "head_size", "kv_rank"),
	 KEYS("q_rank", "rope", "value_size", "causal", "window")},
	{"recurrent", form_recurrent, LAYER_RECURRENT, NEEDS("in", "hidden", "state"),
	 KEYS("weights", "bias")},
	{"mlp", form_mlp, LAYER_LINEAR, NEEDS("hidden"), KEYS("bias", "activation")},
	{"gated_mlp", form_gated_mlp, LAYER_GATE, NEEDS("hidden"), KEYS("bias")},
	{"experts", form_experts, LAYER_COMBINE, NEEDS("experts", "top", "hidden"),
	 KEYS("bias", "shared", "activation", "clamp")},
	{"cross_entropy", plain, LAYER_CROSS_ENTROPY, KEYS(NULL)},
	{"losses", plain, LAYER_LOSSES, .joins = true},
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

const struct form *form_read(struct network_reader *reader, const struct cfg_node *node,
			     const char *name)
{
	const struct cfg_node *op = cfg_child(node, "op");
	const char *text = cfg_text(op), *names[FORM_COUNT], *near, *all = "";
	for (size_t i = 0; i < FORM_COUNT; i++) {
		if (text != NULL && strcmp(text, forms[i].op) == 0)
			return &forms[i];
		names[i] = forms[i].op;
		all = arena_printf(reader->arena, "%s%s%s", all, i ? ", " : "", forms[i].op);
	}
	if (text == NULL) {
		diag_error(reader->diag, op ? cfg_origin(op) : cfg_origin(node),
			   "layer '%s' has no op (write op = \"conv\" or another)", name);
		return NULL;
	}
	near = diag_nearest(text, names, FORM_COUNT);
	diag_error(reader->diag, cfg_origin(op),
		   "layer '%s': op '%s' is unknown (%s%s%swrite one of %s)", name, text,
		   near ? "did you mean '" : "", near ? near : "", near ? "'? " : "", all);
	return NULL;
}

static bool is_among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count && names[i] != NULL; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void read_key(struct expansion *x, const struct key_row *row, const struct cfg_node *child)
{
	void *field = (char *)&x->keys + row->offset;
	const char *text = cfg_text(child);
	bool whole = false;
	switch (row->type) {
	case KEY_SIZE:
		x->good &= read_size(x->reader, child, "layer", x->spec.name, field);
		return;
	case KEY_SIDES:
		x->good &= read_sides(x->reader, x->node, row->name, "layer", x->spec.name, field);
		return;
	case KEY_PAD:
		x->keys.pad = text != NULL && strcmp(text, "same") == 0;
		if (!x->keys.pad && (text == NULL || strcmp(text, "valid") != 0))
			expansion_complain(x, "pad", "pad is '%s' (write \"same\" or \"valid\")",
					   text ? text : "not a string");
		return;
	case KEY_FLAG:
		x->good &= read_flag(x->reader, x->node, row->name, x->spec.name, field);
		return;
	case KEY_POSITIONS:
		if (cfg_bool(child, &whole))
			x->keys.own_positions = whole;
		else
			x->good &= read_size(x->reader, child, "layer", x->spec.name, field);
		return;
	case KEY_SHARE:
		if (!cfg_number(child, field) || x->keys.share <= 0 || x->keys.share > 1)
			expansion_complain(x, row->name,
					   "%s must be above 0 and at most 1 (write %s)", row->name,
					   row->example);
		return;
	case KEY_TEXT:
		*(const char **)field = text;
		if (text == NULL)
			expansion_complain(x, row->name, "%s is not a text (write %s = %s)",
					   row->name, row->name, row->example);
		return;
	}
}

static void read_keys(struct expansion *x)
{
	const char *known[KEY_COUNT + 3] = {"name", "op", "from"};
	const struct form *form = x->form;
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key_row *row = &key_rows[i];
		const struct cfg_node *child = cfg_child(x->node, row->name);
		bool required = is_among(form->required, FORM_REQUIRED_MAX, row->name);
		known[3 + i] = row->name;
		if (child != NULL && !required && !is_among(form->keys, FORM_KEYS_MAX, row->name))
			expansion_complain(x, row->name, "%s has no %s (leave it out)", form->op,
					   row->name);
		else if (child != NULL)
			read_key(x, row, child);
		else if (required)
			expansion_complain(x, "op", "%s needs %s (write %s = %s)", form->op,
					   row->name, row->name, row->example);
	}
	cfg_only(x->reader->diag, x->node, known, sizeof known / sizeof known[0]);
}

/* Checks keys that exclude each other. */
static void check_norm(struct expansion *x)
{
	const struct cfg_node *bias = cfg_child(x->node, "bias");
	const struct cfg_node *scale = cfg_child(x->node, "scale");
	if (x->good && x->keys.batch_norm && x->keys.instance_norm)
		expansion_complain(
			x, "instance_norm",
			"a layer has batch_norm or instance_norm, not both (leave one out)");
	if (x->good && (x->keys.batch_norm || x->keys.instance_norm) && x->keys.bias)
		x->good = diag_error(
			x->reader->diag, cfg_origin(bias),
			"layer '%s' has bias and batch_norm, but batch_norm includes a bias "
			"(leave bias out)",
			x->spec.name);
	if (x->good && scale != NULL && !x->keys.batch_norm && !x->keys.instance_norm &&
	    x->form->layer != LAYER_BATCH_NORM)
		x->good = diag_error(
			x->reader->diag, cfg_origin(scale),
			"layer '%s' has scale but not batch_norm (write batch_norm = true or "
			"leave scale out)",
			x->spec.name);
}

struct expansion *expansion_new(struct network_reader *reader, size_t index,
				const struct form *form)
{
	const struct layer_line *line = &reader->lines[index];
	struct expansion *x = ARENA_NEW(reader->arena, struct expansion);
	*x = (struct expansion){
		.reader = reader,
		.node = line->node,
		.keys = {{1, 1, 1}, {1, 1, 1}, .pad = true, .scale = true, .groups = 1},
		.spec = {.name = line->name, .origin = line->origin, .keys = &x->keys},
		.form = form,
		.index = index,
		.good = true};
	read_keys(x);
	check_norm(x);
	x->spec.global = form->layer == LAYER_AVG_POOL && form->required[0] == NULL;
	return x->good ? x : NULL;
}

bool expansion_append(struct expansion *x, const size_t *inputs, size_t count)
{
	x->inputs = inputs;
	x->input_count = count;
	x->last = inputs[0];
	x->form->expand(x);
	return x->good;
}
