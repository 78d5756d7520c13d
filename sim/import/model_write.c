/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the network of a configuration. */
#include "sim/import/model.h"

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

static void write_values(struct model *m)
{
	const char *family = model_has(m, FIELD_TYPE) ? "" : "assumed from its keys: ";
	reading_line(m->reading, "#   family %s%s", family, m->name);
	says(m, "layers", m->layers, FIELD_LAYERS, "");
	says(m, "features", m->hidden, FIELD_HIDDEN, "");
	says(m, "heads", m->heads, FIELD_HEADS, "");
	says(m, "kv_heads", m->kv_heads, FIELD_KV_HEADS, "as many as heads");
	says(m, "head_size", m->head_size, m->kv_rank > 0 ? FIELD_PLAIN_SIZE : FIELD_HEAD_SIZE,
	     m->kv_rank > 0 ? "128, and the rotary part" : "features / heads");
	if (m->experts > 0) {
		says(m, "experts", m->experts, FIELD_EXPERTS, "usual for the family");
		says(m, "top", m->top, FIELD_TOP, "usual for the family");
		says(m, "hidden", m->expert_mlp,
		     model_has(m, FIELD_EXPERT_MLP) ? FIELD_EXPERT_MLP : FIELD_MLP, "4 x features");
		if (m->shared > 0)
			says(m, "shared", m->shared,
			     model_has(m, FIELD_SHARED_COUNT) ? FIELD_SHARED_COUNT
							      : FIELD_SHARED_MLP,
			     "one expert");
	} else {
		says(m, "hidden", m->mlp, model_has(m, FIELD_MLP) ? FIELD_MLP : FIELD_EXPANSION,
		     "4 x features");
	}
	says(m, "vocabulary", m->vocabulary, FIELD_VOCABULARY,
	     "that of the family's usual tokenizer");
	says(m, "sequence", m->sequence,
	     model_has(m, FIELD_SEQUENCE)            ? FIELD_SEQUENCE
	     : model_has(m, FIELD_TRAINED_POSITIONS) ? FIELD_TRAINED_POSITIONS
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
		    model_has(m, FIELD_POSITION_KIND) ? FIELD_POSITION_KIND : FIELD_ROTARY);
	read_choice(m, m->is.plain_mlp ? "MLP of two products" : "gated MLP",
		    model_has(m, FIELD_SWIGLU) ? FIELD_SWIGLU : FIELD_ACTIVATION);
	read_choice(m,
		    m->is.attention_bias ? "biases"
		    : m->is.qkv_bias     ? "biases of q, k, v"
					 : "no biases",
		    model_has(m, FIELD_ATTENTION_BIAS) ? FIELD_ATTENTION_BIAS
		    : model_has(m, FIELD_NO_BIAS)      ? FIELD_NO_BIAS
						       : FIELD_BIAS);
	read_choice(m, m->is.tied ? "tied head" : "head of its own",
		    model_has(m, FIELD_TIED) ? FIELD_TIED : FIELD_UNTIED);
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

static void write_latent(struct model *m, double window)
{
	struct arena *arena = m->reading->arena;
	reading_line(m->reading,
		     "\t\t\t{ name = \"attn\"; op = \"latent_attention\"; heads = %.15g; head_size "
		     "= %.15g; kv_rank = %.15g;%s%s value_size = %.15g;%s causal = true; },",
		     m->heads, m->head_size, m->kv_rank,
		     m->q_rank > 0 ? arena_printf(arena, " q_rank = %.15g;", m->q_rank) : "",
		     m->rope > 0 ? arena_printf(arena, " rope = %.15g;", m->rope) : "",
		     m->value_size,
		     window > 0 ? arena_printf(arena, " window = %.15g;", window) : "");
}

static void write_attention(struct model *m, double window)
{
	struct arena *arena = m->reading->arena;
	const char *more = m->kv_heads < m->heads
				   ? arena_printf(arena, " kv_heads = %.15g;", m->kv_heads)
				   : "";
	if (window > 0)
		more = arena_printf(arena, "%s window = %.15g;", more, window);
	if (m->kv_rank > 0) {
		write_latent(m, window);
		return;
	}
	reading_line(m->reading,
		     "\t\t\t{ name = \"attn\"; op = \"attention\"; heads = %.15g; head_size = "
		     "%.15g;%s%s%s%s%s%s%s%s%s%s },",
		     m->heads, m->head_size, more, m->is.bidirectional ? "" : " causal = true;",
		     m->is.attention_bias ? " bias = true;" : "",
		     m->is.qkv_bias && !m->is.attention_bias ? " qkv_bias = true;" : "",
		     m->is.fused_qkv ? "" : " separate = true;",
		     is_rotary(m) ? " rotary = true;" : "", m->is.qk_norm ? " qk_norm = true;" : "",
		     m->is.sinks ? " sinks = true;" : "", m->is.gate ? " gate = true;" : "",
		     m->attention_dropout ? " dropout = true;" : "");
}

static void write_recurrent(struct model *m, const char *from)
{
	reading_line(
		m->reading,
		"\t\t\t{ name = \"state\"; op = \"recurrent\"; in = %.15g; hidden = %.15g; state = "
		"%.15g; weights = %.15g;%s },",
		m->in, m->recurrent_hidden, m->recurrent_state, m->recurrent_weights,
		from ? arena_printf(m->reading->arena, " from = \"%s\";", from) : "");
}

static void write_mlp(struct model *m, bool experts, const char *from)
{
	struct arena *arena = m->reading->arena;
	const char *bias = m->is.mlp_bias ? " bias = true;" : "";
	const char *activation = m->is.activation ? m->is.activation : "gelu";
	const char *plain =
		!m->is.plain_mlp ? "" : arena_printf(arena, " activation = \"%s\";", activation);
	if (experts)
		reading_line(
			m->reading,
			"\t\t\t{ name = \"mlp\"; op = \"experts\"; experts = %.15g; top = "
			"%.15g; hidden = %.15g;%s%s%s%s%s },",
			m->experts, m->top, m->expert_mlp, m->is.expert_bias ? " bias = true;" : "",
			m->is.clamp ? " clamp = true;" : "",
			m->shared > 0 ? arena_printf(arena, " shared = %.15g;", m->shared) : "",
			plain, from);
	else
		reading_line(m->reading,
			     "\t\t\t{ name = \"mlp\"; op = \"%s\"; hidden = %.15g;%s%s%s },",
			     m->is.plain_mlp ? "mlp" : "gated_mlp", m->mlp, bias, plain, from);
}

static const char *write_dropout(struct model *m, const char *part)
{
	if (m->is.dropout)
		reading_line(m->reading, "\t\t\t{ name = \"%s_drop\"; op = \"dropout\"; },", part);
	return m->is.dropout ? "_drop" : "";
}

/* Writes attention, a recurrent layer, or both beside each other. Returns their outputs. */
static const char *write_mixer(struct model *m, enum mixer mixer)
{
	struct reading *r = m->reading;
	if (mixer == MIXER_RECURRENT) {
		write_recurrent(m, NULL);
		return "state";
	}
	write_attention(m, mixer == MIXER_WINDOW ? m->window : 0);
	if (mixer == MIXER_BOTH) {
		write_recurrent(m, "norm1");
		return "attn\", \"state";
	}
	return arena_printf(r->arena, "attn%s", write_dropout(m, "attn"));
}

/* Writes a norm behind a part of a layer. Returns the name of its output. */
static const char *write_norm_behind(struct model *m, const char *part)
{
	if (!m->is.norms_both && !m->is.norms_last)
		return part;
	reading_line(m->reading, "\t\t\t{ name = \"%s_norm\"; %s },", part, norm_of(m));
	return arena_printf(m->reading->arena, "%s_norm", part);
}

static void write_add(struct model *m, const char *name, const char *from, const char *part,
		      bool last)
{
	reading_line(m->reading,
		     "\t\t\t{ name = \"%s\"; op = \"add\"; from = [\"%s\", \"%s\"]; }%s", name,
		     from, part, last ? "" : ",");
}

static void write_layer(struct model *m, const char *from, const struct model_layer *kind)
{
	struct reading *r = m->reading;
	const char *mixed = NULL;
	bool beside = m->is.parallel || m->is.one_norm;
	if (kind->mixer != MIXER_NONE) {
		if (!m->is.norms_last)
			reading_line(r, "\t\t\t{ name = \"norm1\"; %s },", norm_of(m));
		mixed = write_norm_behind(m, write_mixer(m, kind->mixer));
		if (!beside) {
			write_add(m, "add1", from, mixed, kind->mlp == MLP_NONE);
			from = "add1";
		}
	}
	if (kind->mlp == MLP_NONE)
		return;
	if (m->is.parallel)
		reading_line(r, "\t\t\t{ name = \"norm2\"; %s from = \"%s\"; },", norm_of(m), from);
	else if (!m->is.one_norm && !m->is.norms_last)
		reading_line(r, "\t\t\t{ name = \"norm2\"; %s },", norm_of(m));
	write_mlp(m, kind->mlp == MLP_EXPERTS, m->is.one_norm ? " from = \"norm1\";" : "");
	const char *part = arena_printf(r->arena, "mlp%s", write_dropout(m, "mlp"));
	part = write_norm_behind(m, part);
	if (beside)
		from = arena_printf(r->arena, "%s\", \"%s", from, mixed);
	write_add(m, "add2", from, part, true);
}

static bool same_kind(const struct model_layer *a, const struct model_layer *b)
{
	return a->mixer == b->mixer && a->mlp == b->mlp;
}

/* Returns how often the `period` layers from `at` follow each other. */
static size_t times_of(const struct model *m, size_t at, size_t period)
{
	size_t same = 0, left = (size_t)m->layers - at;
	while (same + period < left &&
	       same_kind(&m->kinds[at + same], &m->kinds[at + same + period]))
		same++;
	return 1 + same / period;
}

/* Writes the equal layers from `at` on, before `end`, as a group. A group within another one has no
 * separator behind its last one. Returns how many they are. */
static size_t write_run(struct model *m, const char *name, size_t at, size_t end, bool inner)
{
	size_t count = 1;
	while (at + count < end && same_kind(&m->kinds[at], &m->kinds[at + count]))
		count++;
	reading_line(m->reading, "\t\t{ name = \"%s\"; repeat = %zu; layers = (", name, count);
	write_layer(m, name, &m->kinds[at]);
	reading_line(m->reading, "\t\t); }%s", inner && at + count == end ? "" : ",");
	return count;
}

/* Writes the layers as groups of runs of equal ones, each group with the period that covers most
 * of the layers behind it. */
static void write_layers(struct model *m)
{
	struct arena *arena = m->reading->arena;
	size_t count = (size_t)m->layers, number = 0;
	for (size_t at = 0; at < count; number++) {
		size_t period = 1, times = times_of(m, at, 1), run = 1;
		for (size_t p = 2; p <= (count - at) / 2; p++) {
			size_t found = times_of(m, at, p);
			if (found > 1 && found * p > times * period) {
				period = p;
				times = found;
			}
		}
		const char *name = number ? arena_printf(arena, "block%zu", number + 1) : "block";
		if (period == 1) {
			at += write_run(m, name, at, at + times, false);
			continue;
		}
		reading_line(m->reading, "\t\t{ name = \"%s\"; repeat = %zu; layers = (", name,
			     times);
		for (size_t i = at; i < at + period; run++)
			i += write_run(m, arena_printf(arena, "part%zu", run), i, at + period,
				       true);
		reading_line(m->reading, "\t\t); },");
		at += times * period;
	}
}

static void write_decoder(struct model *m)
{
	struct reading *r = m->reading;
	write_layers(m);
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
	write_attention(m, 0);
	const char *drop = write_dropout(m, "attn");
	reading_line(r, "\t\t\t{ name = \"add1\"; op = \"add\"; from = [\"block\", \"attn%s\"]; },",
		     drop);
	reading_line(r, "\t\t\t{ name = \"norm1\"; op = \"layer_norm\"; },");
	write_mlp(m, false, "");
	write_dropout(m, "mlp");
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

void model_write(struct model *m)
{
	struct reading *r = m->reading;
	reading_line(r, "# SPDX-License-Identifier: GPL-3.0-or-later\n"
			"# Written by farwire import model. Values and their places:");
	write_values(m);
	reading_line(r,
		     "network = {\n\tname = \"%s\";\n\tsequence = %.15g;\n\tvocabulary = %.15g;\n%s"
		     "\tsource = \"imported configuration\";\n\tlayers = (",
		     network_name(m), m->sequence, m->vocabulary,
		     m->weights ? arena_printf(r->arena, "\tweights = \"%s\";\n", m->weights) : "");
	const char *positions =
		!m->is.learned ? "" : arena_printf(r->arena, " positions = %.15g;", m->positions);
	reading_line(r, "\t\t{ name = \"embed\"; op = \"embedding\"; out = %.15g;%s%s },",
		     m->hidden, positions, m->is.bidirectional ? " segments = 2;" : "");
	if (m->is.bidirectional || m->is.embed_norm)
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
