/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kind of each layer of a configuration, and the sizes of recurrent layers. The sources are the
 * modelling files of Hugging Face transformers, and of the repositories of the models. */
#include "sim/import/model.h"

enum { LAYERS_MAX = 1000, LIST_MAX = 1000 };

/* ---- attention or recurrence ---- */

static const struct {
	const char *word;
	enum mixer mixer;
} words[] = {
	{"full_attention", MIXER_FULL},
	{"attention", MIXER_FULL},
	{"global", MIXER_FULL},
	{"1", MIXER_FULL},
	{"sliding_attention", MIXER_WINDOW},
	{"chunked_attention", MIXER_WINDOW},
	{"local", MIXER_WINDOW},
	{"linear_attention", MIXER_RECURRENT},
	{"mamba", MIXER_RECURRENT},
	{"mamba2", MIXER_RECURRENT},
	{"conv", MIXER_RECURRENT},
	{"recurrent", MIXER_RECURRENT},
	{"0", MIXER_RECURRENT},
};

static void read_word(struct model *m, const struct setting_read *item, enum mixer *mixer)
{
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(item->value, words[i].word) == 0) {
			*mixer = words[i].mixer;
			return;
		}
	diag_error(
		m->reading->diag, item->origin,
		"layers of type %s are not modelled (write full_attention for a similar network)",
		reading_quote(m->reading, item->value));
}

/* Returns whether a list of numbers of layers has this one; *there: whether there is the list. */
static bool is_listed(struct model *m, const char *list, double layer, bool *there)
{
	const struct setting_read *item;
	double value;
	bool found = false;
	*there = false;
	for (size_t i = 0; i < LIST_MAX && (item = settings_item(m->settings, list, i)); i++) {
		*there = true;
		found |= number_parse(item->value, &value) && !(value < layer) && !(value > layer);
	}
	return found;
}

/* Returns how many layers have the same place in a period. */
static double period_of(struct model *m, enum settings_field field, double usual)
{
	settings_count(m->settings, field, 1, &usual);
	return usual;
}

/* The families name the kinds in a list, name the layers with attention, or give a period. */
static enum mixer read_mixer(struct model *m, size_t i)
{
	static const char *const lists[] = {"layer_types", "layers_block_type", "attn_type_list",
					    "attention_layers"};
	static const char *const places[] = {"attn_layer_indices", "full_attn_idxs"};
	enum mixer mixer = m->window > 0 ? MIXER_WINDOW : MIXER_FULL;
	double layer = (double)i, offset = 0;
	bool there;
	for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
		const struct setting_read *item = settings_item(m->settings, lists[k], i);
		if (item) {
			read_word(m, item, &mixer);
			return mixer;
		}
	}
	for (size_t k = 0; k < 16; k++) { /* Griffin repeats a short list */
		const struct setting_read *item = settings_item(m->settings, "block_types", k);
		size_t next = k + 1;
		if (!item)
			break;
		while (settings_item(m->settings, "block_types", next))
			next++;
		if (i % next != k)
			continue;
		read_word(m, item, &mixer);
		return mixer == MIXER_FULL && m->window > 0 ? MIXER_WINDOW : mixer;
	}
	for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
		bool listed = is_listed(m, places[k], layer, &there);
		if (there)
			return listed ? MIXER_FULL : MIXER_RECURRENT;
	}
	bool listed = is_listed(m, "full_attn_layers", layer + 1, &there); /* counts from 1 */
	if (there)
		return listed ? MIXER_FULL : MIXER_RECURRENT;
	if (model_has(m, FIELD_ATTENTION_PERIOD)) {
		double period = period_of(m, FIELD_ATTENTION_PERIOD, 1);
		settings_count(m->settings, FIELD_ATTENTION_OFFSET, 0, &offset);
		return fmod(layer - offset, period) != 0 ? MIXER_RECURRENT : MIXER_FULL;
	}
	if (strcmp(m->name, "falcon_h1") == 0)
		return MIXER_BOTH;
	if (m->is.recurrent != RECURRENT_NONE && m->is.full_every <= 0)
		return MIXER_RECURRENT;
	if (m->is.full_every > 0) {
		double every = period_of(m, FIELD_FULL_EVERY, m->is.full_every);
		if (fmod(layer + 1, every) != 0)
			return m->is.recurrent ? MIXER_RECURRENT : MIXER_WINDOW;
		return MIXER_FULL;
	}
	return mixer;
}

/* ---- experts ---- */

static enum mlp_kind read_mlp(struct model *m, size_t i)
{
	double layer = (double)i, first = 0, last = m->layers, offset = 0, step = 1;
	bool there, listed = is_listed(m, "mlp_only_layers", layer, &there);
	const struct setting_read *own = settings_item(m->settings, "moe_layer_freq", i);
	settings_count(m->settings, FIELD_DENSE_FIRST, 0, &first);
	settings_count(m->settings, FIELD_LAST_EXPERTS, 0, &last);
	if (m->experts <= 0 || listed || layer < first || layer > last)
		return MLP_DENSE;
	if (own)
		return strcmp(own->value, "0") == 0 ? MLP_DENSE : MLP_EXPERTS;
	listed = is_listed(m, "moe_layers", layer, &there);
	if (there)
		return listed ? MLP_EXPERTS : MLP_DENSE;
	if (settings_count(m->settings, FIELD_EXPERT_PERIOD, 1, &step)) {
		settings_count(m->settings, FIELD_EXPERT_OFFSET, 0, &offset);
		return fmod(layer - offset, step) != 0 ? MLP_DENSE : MLP_EXPERTS;
	}
	settings_count(m->settings, FIELD_EXPERT_STEP, 1, &step);
	return fmod(layer + 1, step) != 0 ? MLP_DENSE : MLP_EXPERTS;
}

/* Nemotron-H: M is Mamba 2, * attention, - an MLP, E experts (configuration_nemotron_h.py). */
static void read_pattern(struct model *m, const struct setting_read *pattern)
{
	for (size_t i = 0; i < (size_t)m->layers; i++) {
		char kind = i < strlen(pattern->value) ? pattern->value[i] : '?';
		if (!strchr("M*-E", kind)) {
			model_refuse(
				m, FIELD_PATTERN,
				"it must have one of M, *, - and E for each layer (correct it, "
				"or the number of layers)");
			return;
		}
		m->kinds[i] = (struct model_layer){kind == 'M'   ? MIXER_RECURRENT
						   : kind == '*' ? MIXER_FULL
								 : MIXER_NONE,
						   kind == '-'   ? MLP_DENSE
						   : kind == 'E' ? MLP_EXPERTS
								 : MLP_NONE};
	}
}

/* ---- sizes of recurrent layers ---- */

/* Products: gate and values, B and C of each group, a step of each head. Further weights:
 * convolution with biases, three numbers of a head, and a norm. */
static void size_mamba2(struct model *m)
{
	struct settings *s = m->settings;
	double heads = m->heads, head = m->head_size, groups = 1, state = 128, width = 4;
	if (settings_count(s, FIELD_STATE_HEADS, 1, &heads)) {
		double expand = 2;
		settings_count(s, FIELD_EXPAND, 1, &expand);
		head = expand * m->hidden / heads;
		settings_count(s, FIELD_STATE_HEAD_SIZE, 1, &head);
	}
	settings_count(s, FIELD_STATE_GROUPS, 1, &groups);
	settings_count(s, FIELD_STATE, 1, &state);
	settings_count(s, FIELD_CONVOLUTION, 1, &width);
	double inner = heads * head, mixed = inner + 2 * groups * state;
	m->in = inner + mixed + heads;
	m->recurrent_hidden = inner;
	m->recurrent_state = state;
	m->recurrent_weights = round((mixed * (width + 1) + 3 * heads + inner) / inner);
}

/* Products: gate and values. Further weights: convolution with biases, the product to the step, B
 * and C, the product from the step's rank, A and D. */
static void size_mamba(struct model *m)
{
	struct settings *s = m->settings;
	double state = 16, width = 4, expand = 2, rank = ceil(m->hidden / 16);
	settings_count(s, FIELD_STATE, 1, &state);
	settings_count(s, FIELD_CONVOLUTION, 1, &width);
	settings_count(s, FIELD_EXPAND, 1, &expand);
	settings_count(s, FIELD_STATE_RANK, 1, &rank);
	m->recurrent_hidden = expand * m->hidden;
	if (m->is.bare)
		settings_count(s, FIELD_MLP, 1, &m->recurrent_hidden);
	m->in = 2 * m->recurrent_hidden;
	m->recurrent_state = state;
	m->recurrent_weights = width + 1 + rank + 2 * state + rank + 1 + state + 1;
}

/* The delta rule: queries, keys and values pass a convolution; two numbers of a head decide what is
 * forgotten and written. Qwen3-Next has a gate of the output; Kimi Linear computes gates of each
 * feature over a low rank, the size of a head. */
static void size_delta(struct model *m)
{
	struct settings *s = m->settings;
	double key_heads = 16, heads = 32, key = 128, value = 128, width = 4;
	bool kimi = m->is.recurrent == RECURRENT_KIMI;
	settings_count(s, kimi ? FIELD_KIMI_HEADS : FIELD_DELTA_HEADS, 1, &heads);
	settings_count(s, kimi ? FIELD_KIMI_HEADS : FIELD_DELTA_KEY_HEADS, 1, &key_heads);
	settings_count(s, kimi ? FIELD_KIMI_SIZE : FIELD_DELTA_KEY_SIZE, 1, &key);
	settings_count(s, kimi ? FIELD_KIMI_SIZE : FIELD_DELTA_SIZE, 1, &value);
	settings_count(s, FIELD_CONVOLUTION, 1, &width);
	double mixed = 2 * key_heads * key + heads * value;
	m->recurrent_hidden = heads * value;
	m->recurrent_state = key;
	m->in = mixed + (kimi ? 2 * key + heads : m->recurrent_hidden + 2 * heads);
	m->recurrent_weights =
		round(mixed * width / m->recurrent_hidden) + (kimi ? 2 * key + 1 : 0);
}

static void size_recurrent(struct model *m)
{
	double size = m->heads * m->head_size, width = 3;
	switch (m->is.recurrent) {
	case RECURRENT_MAMBA:
		size_mamba(m);
		return;
	case RECURRENT_MAMBA2:
		size_mamba2(m);
		return;
	case RECURRENT_DELTA:
	case RECURRENT_KIMI:
		size_delta(m);
		return;
	case RECURRENT_LIGHTNING: /* queries, keys, values and a gate; a norm */
		m->in = 4 * size;
		m->recurrent_hidden = size;
		m->recurrent_state = m->head_size;
		m->recurrent_weights = 1;
		return;
	case RECURRENT_CONV: /* two gates and a convolution */
		settings_count(m->settings, FIELD_CONVOLUTION, 1, &width);
		m->in = 3 * m->hidden;
		m->recurrent_hidden = m->hidden;
		m->recurrent_state = m->recurrent_weights = width;
		return;
	case RECURRENT_LRU: /* a gate; a convolution, two products within each head, and a decay */
		size = m->hidden;
		settings_count(m->settings, FIELD_LRU, 1, &size);
		m->in = 2 * size;
		m->recurrent_hidden = size;
		m->recurrent_state = 1;
		m->recurrent_weights = 5 + 2 * (round(size / m->heads) + 1) + 1;
		return;
	case RECURRENT_NONE:
		return;
	}
}

void model_read_layers(struct model *m)
{
	const struct setting_read *pattern = settings_find(m->settings, FIELD_PATTERN);
	if (m->layers > LAYERS_MAX) {
		model_refuse(m, FIELD_LAYERS, "a network has at most 1000 layers (correct it)");
		return;
	}
	m->kinds = ARENA_ARRAY(m->reading->arena, (size_t)m->layers, struct model_layer);
	if (pattern)
		read_pattern(m, pattern);
	for (size_t i = 0; i < (size_t)m->layers && !pattern; i++) {
		m->kinds[i] = (struct model_layer){read_mixer(m, i),
						   m->is.bare ? MLP_NONE : read_mlp(m, i)};
		if (m->kinds[i].mixer == MIXER_WINDOW && m->window <= 0)
			m->kinds[i].mixer = MIXER_FULL;
		if (m->kinds[i].mixer == MIXER_RECURRENT && m->is.recurrent == RECURRENT_NONE) {
			model_refuse(m, FIELD_TYPE,
				     "the recurrent layers of this family are unknown (write "
				     "qwen3_next, jamba or bamba for a similar network)");
			return;
		}
	}
	size_recurrent(m);
}
