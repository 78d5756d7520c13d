/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import model: writes the network that a configuration describes.
 *
 * A family is a model_type of Hugging Face, or a framework whose configuration has none. It gives
 * what the configuration does not say: kinds of norms, biases and positions. The sources are the
 * modelling files of Hugging Face transformers, Megatron-LM's arguments and GPT-NeoX's. */
#include "sim/import/settings.h"

struct family {
	const char *names; /* of model_type */
	bool layer_norm, plain_mlp, learned, rotary, attention_bias, qkv_bias, mlp_bias, fused_qkv,
		qk_norm, tied, parallel, bidirectional, sinks, expert_bias, norm_bias, alternates,
		dropout;
	/* defaults of the family; 0: there is none */
	double vocabulary_count, expert_count, top_count;
};

/* Networks before Llama. */
#define CLASSIC                                                                                    \
	.layer_norm = true, .norm_bias = true, .plain_mlp = true, .attention_bias = true,          \
	.mlp_bias = true

static const struct family families[] = {
	{.names = "llama llama_v3 llama3 mistral phi3"},
	{"llama_v2 llama2", .vocabulary_count = 32000},
	{"mixtral", .vocabulary_count = 32000, .expert_count = 8, .top_count = 2},
	{"qwen2 qwen2_moe", .qkv_bias = true},
	{"qwen3 qwen3_moe", .qk_norm = true},
	{"gpt_oss", .attention_bias = true, .expert_bias = true, .sinks = true, .alternates = true},
	{"dbrx", .layer_norm = true, .fused_qkv = true},
	{"gpt2", CLASSIC, .learned = true, .fused_qkv = true, .tied = true, .dropout = true,
	 .vocabulary_count = 50257},
	{"gpt_neox", CLASSIC, .rotary = true, .fused_qkv = true, .parallel = true,
	 .vocabulary_count = 50432},
	{"mpt", CLASSIC, .learned = true, .fused_qkv = true, .tied = true},
	{"bert", CLASSIC, .learned = true, .tied = true, .bidirectional = true, .dropout = true,
	 .vocabulary_count = 30522},
	{"megatron", CLASSIC, .learned = true, .fused_qkv = true, .tied = true, .dropout = true,
	 .vocabulary_count = 50257},
	{"neox", CLASSIC, .learned = true, .fused_qkv = true, .tied = true,
	 .vocabulary_count = 50257},
};

struct model {
	struct settings *settings;
	struct reading *reading;
	struct family is; /* the family, changed by the settings */
	const char *name;
	double layers, hidden, heads, kv_heads, head_size, mlp, vocabulary, sequence, positions;
	double experts, top, expert_mlp, shared, window;
	bool attention_dropout;
};

static void refuse(struct model *m, enum settings_field field, const char *why)
{
	const struct setting_read *item = settings_find(m->settings, field);
	if (item)
		diag_error(m->reading->diag, item->origin, "%s = %s: %s",
			   reading_quote(m->reading, item->path),
			   reading_quote(m->reading, item->value), why);
}

static void refuse_latent(struct model *m)
{
	refuse(m, FIELD_LATENT,
	       "latent attention is not modelled (remove the ranks, and write a similar "
	       "model_type, "
	       "for a similar network with plain attention)");
}

/* Writes where a value comes from, for the head of the file. */
static void says(struct model *m, const char *what, double value, enum settings_field field,
		 const char *assumption)
{
	const char *place = settings_place(m->settings, field);
	char text[64];
	snprintf(text, sizeof text, "%s = %.15g", what, value);
	reading_line(m->reading, "#   %-24s %s%s", text,
		     place ? "" : "assumed: ", place ? place : assumption);
}

/* Writes where a choice comes from. */
static void read_choice(struct model *m, const char *what, enum settings_field field)
{
	const char *place = settings_place(m->settings, field);
	reading_line(m->reading, "#   %-24s %s%s", what, place ? "" : "assumed: ",
		     place ? place : arena_printf(m->reading->arena, "usual for %s", m->name));
}

/* ---- reading ---- */

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = words; (at = strstr(at, word)); at++)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return length > 0;
	return false;
}

static bool has(struct model *m, enum settings_field field)
{
	return settings_place(m->settings, field) != NULL;
}

static bool is_neox(const struct model *m)
{
	return strcmp(m->name, "neox") == 0;
}

/* Returns the family without the words of a model of several parts: the language model of
 * "qwen3_vl_moe_text" is one of the family "qwen3_moe" (modeling_qwen3_vl.py of transformers). */
static const char *family_of_text(struct arena *arena, const char *type)
{
	static const char *const parts[] = {"_vl", "_text"};
	char *name = arena_strdup(arena, type);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		size_t length = strlen(parts[i]);
		char *at = strstr(name, parts[i]);
		if (at && (at[length] == '_' || !at[length]))
			memmove(at, at + length, strlen(at + length) + 1);
	}
	return name;
}

static void read_family(struct model *m)
{
	const struct setting_read *type = settings_find(m->settings, FIELD_TYPE);
	const char *wanted = type ? family_of_text(m->reading->arena, type->value) : m->name;
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		if (has_word(families[i].names, wanted)) {
			m->is = families[i];
			m->name = reading_quote(m->reading, wanted);
			return;
		}
	const struct setting_read *latent = settings_find(m->settings, FIELD_LATENT);
	if (latent)
		refuse_latent(m);
	else if (type)
		refuse(m, FIELD_TYPE,
		       "this family is unknown (write a similar one of: llama, mistral, mixtral, "
		       "qwen2, qwen2_moe, qwen3, qwen3_moe, gpt_oss, dbrx, gpt2, gpt_neox, mpt, "
		       "bert)");
}

static void read_dropout(struct model *m)
{
	const struct setting_read *dropout = settings_find(m->settings, FIELD_DROPOUT);
	const struct setting_read *attention = settings_find(m->settings, FIELD_ATTENTION_DROPOUT);
	double value;
	m->attention_dropout = m->is.dropout;
	if (dropout && number_parse(dropout->value, &value))
		m->is.dropout = value > 0;
	if (attention && number_parse(attention->value, &value))
		m->attention_dropout = value > 0;
}

/* Applies settings that change what is usual in the family. */
static void read_choices(struct model *m)
{
	struct settings *s = m->settings;
	const struct setting_read *norm = settings_find(s, FIELD_NORM);
	const struct setting_read *kind = settings_find(s, FIELD_POSITION_KIND);
	const struct setting_read *activation = settings_find(s, FIELD_ACTIVATION);
	bool flag;
	if (settings_flag(s, FIELD_TIED, &flag))
		m->is.tied = flag;
	if (settings_flag(s, FIELD_UNTIED, &flag))
		m->is.tied = !flag;
	if (settings_flag(s, FIELD_BIAS, &flag))
		m->is.attention_bias = m->is.mlp_bias = flag;
	if (settings_flag(s, FIELD_NO_BIAS, &flag))
		m->is.attention_bias = m->is.mlp_bias = m->is.norm_bias = !flag;
	if (settings_flag(s, FIELD_ATTENTION_BIAS, &flag))
		m->is.attention_bias = flag;
	if (settings_flag(s, FIELD_QKV_BIAS, &flag))
		m->is.qkv_bias = flag;
	if (settings_flag(s, FIELD_QK_NORM, &flag))
		m->is.qk_norm = flag;
	if (settings_flag(s, FIELD_PARALLEL, &flag))
		m->is.parallel = flag;
	if (settings_flag(s, FIELD_MLP_BIAS, &flag))
		m->is.mlp_bias = flag;
	if (settings_flag(s, FIELD_SWIGLU, &flag))
		m->is.plain_mlp = !flag;
	if (activation && (strstr(activation->value, "glu")))
		m->is.plain_mlp = false;
	/* GPT-NeoX: LLaMAParallelMLP has no biases */
	if (!m->is.plain_mlp && is_neox(m) && !has(m, FIELD_MLP_BIAS))
		m->is.mlp_bias = false;
	if (norm)
		m->is.layer_norm =
			strncmp(norm->value, "rms", 3) != 0 && strncmp(norm->value, "RMS", 3) != 0;
	if (settings_flag(s, FIELD_LEARNED, &flag))
		m->is.learned = flag;
	if (settings_flag(s, FIELD_ALIBI, &flag) && flag)
		m->is.learned = false;
	if (kind) {
		m->is.rotary =
			strcmp(kind->value, "rotary") == 0 || strcmp(kind->value, "rope") == 0;
		m->is.learned = strncmp(kind->value, "learned", 7) == 0 ||
				strcmp(kind->value, "absolute") == 0;
	}
	read_dropout(m);
	if (settings_flag(s, FIELD_ROTARY, &flag) && flag) {
		m->is.rotary = true;
		m->is.learned = false;
	}
}

/* Checks the kinds of attention by layer. */
static void read_layer_types(struct model *m)
{
	for (size_t i = 0; i < m->settings->items.count; i++) {
		struct setting_read *item = &m->settings->items.items[i];
		if (strncmp(item->path, "layer_types.", 12) != 0)
			continue;
		item->used = true;
		if (!m->is.alternates && strcmp(item->value, "full_attention") != 0)
			diag_error(m->reading->diag, item->origin,
				   "layers of type %s cannot be mixed with others (write "
				   "full_attention for a similar network)",
				   reading_quote(m->reading, item->value));
	}
}

static void read_sizes(struct model *m)
{
	struct settings *s = m->settings;
	double ratio = 4, before = 0;
	settings_need(s, FIELD_LAYERS, &m->layers);
	settings_need(s, FIELD_HIDDEN, &m->hidden);
	settings_need(s, FIELD_HEADS, &m->heads);
	m->kv_heads = m->heads;
	settings_count(s, FIELD_KV_HEADS, 1, &m->kv_heads);
	if (diag_count(m->reading->diag))
		return;
	m->head_size = m->hidden / m->heads;
	if (!settings_count(s, FIELD_HEAD_SIZE, 1, &m->head_size) &&
	    m->head_size > floor(m->head_size))
		refuse(m, FIELD_HEADS, "heads must divide the features (correct one of them)");
	if (m->hidden > 1e6)
		refuse(m, FIELD_HIDDEN, "a token has at most 1e6 features (correct the number)");
	settings_count(s, FIELD_EXPANSION, 1, &ratio);
	ratio = fmin(ratio, 1000);
	m->mlp = ratio * m->hidden;
	if (m->is.plain_mlp || has(m, FIELD_EXPERT_MLP))
		settings_count(s, FIELD_MLP, 1, &m->mlp);
	else
		settings_need(s, FIELD_MLP, &m->mlp);
	/* GPT-NeoX: transformer.py divides the size by 3 and multiplies it by 2, and this is the
	 * size of both parts of a gated MLP. */
	if (!m->is.plain_mlp && is_neox(m))
		m->mlp /= 3;
	bool window = true;
	settings_flag(s, FIELD_USE_WINDOW, &window);
	if (window)
		settings_window(s, &m->window);
	m->experts = m->is.expert_count;
	m->top = m->is.top_count;
	settings_count(s, FIELD_EXPERTS, 0, &m->experts);
	m->experts = m->experts > 1 ? m->experts : 0;
	if (m->experts > 0 && m->top > 0)
		settings_count(s, FIELD_TOP, 1, &m->top);
	else if (m->experts > 0)
		settings_need(s, FIELD_TOP, &m->top);
	settings_count(s, FIELD_SHARED_MLP, 0, &m->shared);
	m->expert_mlp = m->mlp;
	settings_count(s, FIELD_EXPERT_MLP, 1, &m->expert_mlp);
	read_layer_types(m);
	if (m->is.alternates && m->layers / 2 > (double)(size_t)(m->layers / 2))
		refuse(m, FIELD_LAYERS, "every second layer has a window (write an even number)");
	if (settings_count(s, FIELD_DENSE_FIRST, 0, &before) && before > 0)
		refuse(m, FIELD_DENSE_FIRST,
		       "layers with and without experts cannot be mixed (write 0 for a similar "
		       "network)");
	if (settings_count(s, FIELD_EXPERT_STEP, 1, &before) && before > 1)
		refuse(m, FIELD_EXPERT_STEP,
		       "each layer must have experts (write 1 for a similar network)");
	refuse_latent(m);
}

static void read_tokens(struct model *m)
{
	struct settings *s = m->settings;
	double multiple = 1, tp = 1;
	m->vocabulary = m->is.vocabulary_count;
	if (m->vocabulary > 0)
		settings_count(s, FIELD_VOCABULARY, 2, &m->vocabulary);
	else
		settings_need(s, FIELD_VOCABULARY, &m->vocabulary);
	if (strcmp(m->name, "megatron") == 0 || is_neox(m)) {
		const struct setting_read *padded = settings_find(s, FIELD_VOCABULARY);
		multiple = 128;
		settings_count(s, FIELD_VOCABULARY_MULTIPLE, 1, &multiple);
		settings_count(s, FIELD_TP, 1, &tp);
		if (padded && strstr(padded->path, "padded"))
			multiple = tp = 1;
	}
	multiple = fmin(multiple * tp, 1e6);
	size_t parts = (size_t)((m->vocabulary + multiple - 1) / multiple);
	m->vocabulary = (double)parts * multiple;
	settings_count(s, FIELD_POSITIONS, 1, &m->positions);
	m->sequence = m->positions > 0 && m->positions < 8192 ? m->positions : 8192;
	settings_count(s, FIELD_TRAINED_POSITIONS, 1, &m->sequence);
	settings_count(s, FIELD_SEQUENCE, 1, &m->sequence);
	if (m->is.learned && m->positions < m->sequence)
		m->positions = m->sequence;
}

/* ---- writing ---- */

static void write_values(struct model *m)
{
	const char *family = has(m, FIELD_TYPE) ? "" : "assumed from its keys: ";
	reading_line(m->reading, "#   family %s%s", family, m->name);
	says(m, "layers", m->layers, FIELD_LAYERS, "");
	says(m, "features", m->hidden, FIELD_HIDDEN, "");
	says(m, "heads", m->heads, FIELD_HEADS, "");
	says(m, "kv_heads", m->kv_heads, FIELD_KV_HEADS, "as many as heads");
	says(m, "head_size", m->head_size, FIELD_HEAD_SIZE, "features / heads");
	if (m->experts > 0) {
		says(m, "experts", m->experts, FIELD_EXPERTS, "usual for the family");
		says(m, "top", m->top, FIELD_TOP, "usual for the family");
		says(m, "hidden", m->expert_mlp,
		     has(m, FIELD_EXPERT_MLP) ? FIELD_EXPERT_MLP : FIELD_MLP, "4 x features");
		if (m->shared > 0)
			says(m, "shared", m->shared, FIELD_SHARED_MLP, "");
	} else {
		says(m, "hidden", m->mlp, has(m, FIELD_MLP) ? FIELD_MLP : FIELD_EXPANSION,
		     "4 x features");
	}
	says(m, "vocabulary", m->vocabulary, FIELD_VOCABULARY,
	     "that of the family's usual tokenizer");
	says(m, "sequence", m->sequence,
	     has(m, FIELD_SEQUENCE)            ? FIELD_SEQUENCE
	     : has(m, FIELD_TRAINED_POSITIONS) ? FIELD_TRAINED_POSITIONS
					       : FIELD_COUNT,
	     m->positions > 8192 ? "8192 of the positions; case.sequence sets another length"
				 : "as many tokens as positions, at most 8192");
	if (m->window > 0)
		says(m, "window", m->window, FIELD_WINDOW, "");
	read_choice(m, m->is.layer_norm ? "layer norms" : "RMS norms", FIELD_NORM);
	read_choice(m,
		    m->is.learned                                           ? "learned positions"
		    : m->is.rotary || !m->is.layer_norm || !m->is.plain_mlp ? "rotary positions"
									    : "no positions",
		    has(m, FIELD_POSITION_KIND) ? FIELD_POSITION_KIND : FIELD_ROTARY);
	read_choice(m, m->is.plain_mlp ? "MLP of two products" : "gated MLP",
		    has(m, FIELD_SWIGLU) ? FIELD_SWIGLU : FIELD_ACTIVATION);
	read_choice(m,
		    m->is.attention_bias ? "biases"
		    : m->is.qkv_bias     ? "biases of q, k, v"
					 : "no biases",
		    has(m, FIELD_ATTENTION_BIAS) ? FIELD_ATTENTION_BIAS
		    : has(m, FIELD_NO_BIAS)      ? FIELD_NO_BIAS
						 : FIELD_BIAS);
	read_choice(m, m->is.tied ? "tied head" : "head of its own",
		    has(m, FIELD_TIED) ? FIELD_TIED : FIELD_UNTIED);
}

static const char *norm_of(const struct model *m)
{
	return !m->is.layer_norm ? "op = \"rms_norm\";"
	       : m->is.norm_bias ? "op = \"layer_norm\";"
				 : "op = \"layer_norm\"; bias = false;";
}

static bool is_rotary(const struct model *m)
{
	return !m->is.learned && (m->is.rotary || !m->is.plain_mlp);
}

static void write_attention(struct model *m, const char *prefix, double window)
{
	struct arena *arena = m->reading->arena;
	const char *more = m->kv_heads < m->heads
				   ? arena_printf(arena, " kv_heads = %.15g;", m->kv_heads)
				   : "";
	if (window > 0)
		more = arena_printf(arena, "%s window = %.15g;", more, window);
	reading_line(
		m->reading,
		"\t\t\t{ name = \"%sattn\"; op = \"attention\"; heads = %.15g; head_size = "
		"%.15g;%s%s%s%s%s%s%s%s%s },",
		prefix, m->heads, m->head_size, more, m->is.bidirectional ? "" : " causal = true;",
		m->is.attention_bias ? " bias = true;" : "",
		m->is.qkv_bias && !m->is.attention_bias ? " qkv_bias = true;" : "",
		m->is.fused_qkv ? "" : " separate = true;", is_rotary(m) ? " rotary = true;" : "",
		m->is.qk_norm ? " qk_norm = true;" : "", m->is.sinks ? " sinks = true;" : "",
		m->attention_dropout ? " dropout = true;" : "");
}

static void write_mlp(struct model *m, const char *prefix)
{
	const char *bias = m->is.mlp_bias ? " bias = true;" : "";
	if (m->experts > 0)
		reading_line(m->reading,
			     "\t\t\t{ name = \"%smlp\"; op = \"experts\"; experts = %.15g; top = "
			     "%.15g; hidden = %.15g;%s%s },",
			     prefix, m->experts, m->top, m->expert_mlp,
			     m->is.expert_bias ? " bias = true;" : "",
			     m->shared > 0 ? arena_printf(m->reading->arena, " shared = %.15g;",
							  m->shared)
					   : "");
	else if (m->is.plain_mlp)
		reading_line(m->reading,
			     "\t\t\t{ name = \"%smlp\"; op = \"mlp\"; hidden = %.15g;%s activation "
			     "= \"gelu\"; },",
			     prefix, m->mlp, bias);
	else
		reading_line(m->reading,
			     "\t\t\t{ name = \"%smlp\"; op = \"gated_mlp\"; hidden = %.15g;%s },",
			     prefix, m->mlp, bias);
}

/* Writes the dropout behind a part of a layer. Returns the suffix of the name of its output. */
static const char *write_dropout(struct model *m, const char *prefix, const char *part)
{
	if (m->is.dropout)
		reading_line(m->reading, "\t\t\t{ name = \"%s%s_drop\"; op = \"dropout\"; },",
			     prefix, part);
	return m->is.dropout ? "_drop" : "";
}

/* Writes a layer that normalises first. Its input is `from`. */
static void write_layer(struct model *m, const char *prefix, const char *from, double window,
			bool last)
{
	struct reading *r = m->reading;
	const char *middle = arena_printf(r->arena, "%sadd1", prefix);
	reading_line(r, "\t\t\t{ name = \"%snorm1\"; %s },", prefix, norm_of(m));
	write_attention(m, prefix, window);
	const char *drop = write_dropout(m, prefix, "attn");
	if (m->is.parallel)
		reading_line(r, "\t\t\t{ name = \"%snorm2\"; %s from = \"%s\"; },", prefix,
			     norm_of(m), from);
	else {
		reading_line(
			r, "\t\t\t{ name = \"%s\"; op = \"add\"; from = [\"%s\", \"%sattn%s\"]; },",
			middle, from, prefix, drop);
		reading_line(r, "\t\t\t{ name = \"%snorm2\"; %s },", prefix, norm_of(m));
	}
	write_mlp(m, prefix);
	write_dropout(m, prefix, "mlp");
	if (m->is.parallel)
		middle = arena_printf(r->arena, "%s\", \"%sattn%s", from, prefix, drop);
	reading_line(r,
		     "\t\t\t{ name = \"%sadd2\"; op = \"add\"; from = [\"%s\", \"%smlp%s\"]; }%s",
		     prefix, middle, prefix, drop, last ? "" : ",");
}

static void write_decoder(struct model *m)
{
	struct reading *r = m->reading;
	bool alternates = m->is.alternates && m->window > 0;
	reading_line(r, "\t\t{ name = \"block\"; repeat = %.15g; layers = (",
		     alternates ? m->layers / 2 : m->layers);
	write_layer(m, alternates ? "near_" : "", "block", m->window, !alternates);
	if (alternates)
		write_layer(m, "far_", "near_add2", 0, true);
	reading_line(r, "\t\t); },");
	reading_line(r, "\t\t{ name = \"norm\"; %s },", norm_of(m));
	if (m->is.tied)
		reading_line(r, "\t\t{ name = \"logits\"; op = \"linear\"; tied = \"embed\"; },");
	else
		reading_line(r, "\t\t{ name = \"logits\"; op = \"linear\"; out = %.15g; },",
			     m->vocabulary);
	reading_line(r, "\t\t{ name = \"loss\"; op = \"cross_entropy\"; }");
}

/* Writes blocks that normalise last, and both heads of BERT's pre-training. */
static void write_encoder(struct model *m)
{
	static const char *const heads[] = {
		"masked\"; op = \"select\"; share = 0.15; },",
		"transform\"; op = \"linear\"; out = %s; bias = true; activation = \"gelu\"; },",
		"transform_norm\"; op = \"layer_norm\"; },",
		"words\"; op = \"linear\"; tied = \"embed\"; bias = true; },",
		"word_loss\"; op = \"cross_entropy\"; },",
		"first\"; op = \"select\"; tokens = 1; from = \"block\"; },",
		"pooler\"; op = \"linear\"; out = %s; bias = true; activation = \"tanh\"; },",
		"follows\"; op = \"linear\"; out = 2; bias = true; },",
		"follows_loss\"; op = \"cross_entropy\"; },",
		"loss\"; op = \"losses\"; from = [\"word_loss\", \"follows_loss\"]; }",
	};
	struct reading *r = m->reading;
	const char *out = arena_printf(r->arena, "%.15g", m->hidden);
	reading_line(r, "\t\t{ name = \"block\"; repeat = %.15g; layers = (", m->layers);
	write_attention(m, "", 0);
	const char *drop = write_dropout(m, "", "attn");
	reading_line(r, "\t\t\t{ name = \"add1\"; op = \"add\"; from = [\"block\", \"attn%s\"]; },",
		     drop);
	reading_line(r, "\t\t\t{ name = \"norm1\"; op = \"layer_norm\"; },");
	write_mlp(m, "");
	write_dropout(m, "", "mlp");
	reading_line(r, "\t\t\t{ name = \"add2\"; op = \"add\"; from = [\"norm1\", \"mlp%s\"]; },",
		     drop);
	reading_line(r, "\t\t\t{ name = \"norm2\"; op = \"layer_norm\"; }");
	reading_line(r, "\t\t); },");
	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		const char *hole = strstr(heads[i], "%s");
		if (hole)
			reading_line(r, "\t\t{ name = \"%.*s%s%s", (int)(hole - heads[i]), heads[i],
				     out, hole + 2);
		else
			reading_line(r, "\t\t{ name = \"%s", heads[i]);
	}
}

/* Returns a name for the network: that of the first file, in the characters of a name. */
static const char *network_name(struct model *m)
{
	const char *path = m->reading->paths[0], *slash = strrchr(path, '/');
	char *name = arena_strdup(m->reading->arena, slash ? slash + 1 : path);
	char *dot = strrchr(name, '.');
	if (dot && dot > name)
		*dot = '\0';
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *c))
			*c = '-';
	return name[0] ? name : "imported";
}

static void write_network(struct model *m)
{
	struct reading *r = m->reading;
	reading_line(r, "# SPDX-License-Identifier: GPL-3.0-or-later");
	reading_line(r, "# Written by farwire import model. Values and their places:");
	write_values(m);
	reading_line(r, "network = {");
	reading_line(r, "\tname = \"%s\";", network_name(m));
	reading_line(r, "\tsequence = %.15g;", m->sequence);
	reading_line(r, "\tvocabulary = %.15g;", m->vocabulary);
	reading_line(r, "\tsource = \"imported configuration\";");
	reading_line(r, "\tlayers = (");
	const char *positions =
		!m->is.learned ? "" : arena_printf(r->arena, " positions = %.15g;", m->positions);
	reading_line(r, "\t\t{ name = \"embed\"; op = \"embedding\"; out = %.15g;%s%s },",
		     m->hidden, positions, m->is.bidirectional ? " segments = 2;" : "");
	if (m->is.bidirectional)
		reading_line(r, "\t\t{ name = \"embed_norm\"; op = \"layer_norm\"; },");
	if (m->is.dropout)
		reading_line(r, "\t\t{ name = \"embed_drop\"; op = \"dropout\"; },");
	if (m->is.bidirectional)
		write_encoder(m);
	else
		write_decoder(m);
	reading_line(r, "\t);");
	reading_line(r, "};");
}

static bool read_model(struct arena *arena, struct diag *diag, const char *const *paths,
		       size_t count, struct imported *imported)
{
	struct reading *reading = ARENA_NEW(arena, struct reading);
	*reading =
		(struct reading){.arena = arena, .diag = diag, .paths = paths, .path_count = count};
	struct settings settings = {.reading = reading};
	settings_read(&settings);
	if (diag_count(diag))
		return false;
	struct model m = {.settings = &settings, .reading = reading, .name = "megatron"};
	for (size_t i = 0; i < settings.items.count; i++)
		if (strcmp(settings.items.items[i].path, "pipe_parallel_size") == 0 ||
		    strcmp(settings.items.items[i].path, "pos_emb") == 0)
			m.name = "neox";
	read_family(&m);
	if (diag_count(diag) == 0)
		read_choices(&m);
	if (diag_count(diag) == 0)
		read_sizes(&m);
	if (diag_count(diag) == 0)
		read_tokens(&m);
	if (diag_count(diag))
		return false;
	write_network(&m);
	if (m.is.layer_norm && m.is.plain_mlp && !m.is.learned && !m.is.rotary)
		reading_note(reading, "positions have no kernels in this network");
	settings_account(&settings, FIELD_TP, FIELD_FLAVOR, "plan");
	return reading_done(reading, "settings", imported);
}

const struct importer import_model = {
	.name = "model",
	.help = "network of a config.json, Megatron-LM's arguments, NeMo or GPT-NeoX YAML",
	.files = read_model,
};
