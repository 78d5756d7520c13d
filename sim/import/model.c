/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import model: writes the network that a configuration describes.
 *
 * A family is a model_type of Hugging Face, or a framework whose configuration has none. It gives
 * what the configuration does not say: kinds of norms, biases and positions. The sources are the
 * modelling files of Hugging Face transformers, Megatron-LM's arguments and GPT-NeoX's. */
#include "sim/import/model.h"

/* Networks before Llama. */
#define CLASSIC                                                                                    \
	.layer_norm = true, .norm_bias = true, .plain_mlp = true, .attention_bias = true,          \
	.mlp_bias = true
#define GEMMA .tied = true, .head_size = 256

static const struct family families[] = {
	{.names = "llama llama_v3 llama3 mistral ministral ministral3 phi3 internlm2 "
		  "internlm3 baichuan smollm3 yi xverse deepseek deepseek_v2 deepseek_v3 kimi_k2 "
		  "glm4_moe_lite youtu"},
	{.names = "deepseek_v32 glm_moe_dsa"},
	{"llama_v2 llama2", .vocabulary_count = 32000},
	{"mixtral", .vocabulary_count = 32000, .expert_count = 8, .top_count = 2},
	{"phimoe", .layer_norm = true, .norm_bias = true, .attention_bias = true},
	{"qwen2 qwen2_5 qwen2_moe qwen chatglm glm glm4v seed_oss mimo", .qkv_bias = true},
	{"glm4", .qkv_bias = true, .norms_both = true},
	{"glm4_moe glm4v_moe", .qkv_bias = true},
	{"qwen3 qwen3_moe minimax_m2 hunyuan_v1_dense hunyuan_v1_moe hunyuan bailing_moe "
	 "bailing_moe_v2 dots1 olmoe qwen3_omni_moe",
	 .qk_norm = true},
	{"qwen3_next qwen3_5 qwen3_5_moe", .qk_norm = true, .gate = true,
	 .recurrent = RECURRENT_DELTA, .full_every = 4},
	{"olmo", .layer_norm = true},
	{"olmo2", .qk_norm = true, .norms_last = true},
	{"olmo3 exaone4", .qk_norm = true, .norms_last = true, .full_every = 4},
	{"gemma", GEMMA},
	{"gemma2", GEMMA, .norms_both = true, .full_every = 2},
	{"gemma3", GEMMA, .norms_both = true, .full_every = 6, .qk_norm = true, .heads_count = 8,
	 .kv_heads_count = 4, .vocabulary_count = 262208},
	{"cohere", .layer_norm = true, .one_norm = true, .tied = true},
	{"cohere2", .layer_norm = true, .one_norm = true, .tied = true, .full_every = 4},
	{"stablelm", .layer_norm = true, .norm_bias = true},
	{"granite granitemoe granitemoeshared ernie4_5 ernie4_5_moe ernie4_5_moe_vl exaone "
	 "minicpm minicpm3",
	 .tied = true},
	{"granitemoehybrid bamba", .tied = true, .recurrent = RECURRENT_MAMBA2},
	{"falcon_h1", .recurrent = RECURRENT_MAMBA2},
	{"nemotron_h", .recurrent = RECURRENT_MAMBA2, .plain_mlp = true, .bare = true,
	 .activation = "relu"},
	{"mamba2", .recurrent = RECURRENT_MAMBA2, .bare = true, .heads_count = 1, .tied = true},
	{"mamba falcon_mamba", .recurrent = RECURRENT_MAMBA, .bare = true, .heads_count = 1,
	 .tied = true},
	{"jamba", .recurrent = RECURRENT_MAMBA},
	{"kimi_linear", .recurrent = RECURRENT_KIMI},
	{"minimax minimax_m1 minimax_01", .recurrent = RECURRENT_LIGHTNING},
	{"lfm2 lfm2_moe", .recurrent = RECURRENT_CONV, .qk_norm = true, .tied = true},
	{"recurrent_gemma", GEMMA, .recurrent = RECURRENT_LRU},
	{"llama4", .full_every = 4},
	{"nemotron", .layer_norm = true, .norm_bias = true, .plain_mlp = true, .rotary = true,
	 .activation = "relu"},
	{"arcee", .plain_mlp = true, .rotary = true, .activation = "relu"},
	{"apertus", .plain_mlp = true, .rotary = true, .qk_norm = true},
	{"starcoder2", CLASSIC, .rotary = true, .tied = true},
	{"gpt_oss", .attention_bias = true, .expert_bias = true, .clamp = true, .sinks = true,
	 .full_every = 2},
	{"dbrx", .layer_norm = true, .fused_qkv = true},
	{"gpt2 gpt_bigcode", CLASSIC, .learned = true, .fused_qkv = true, .tied = true,
	 .dropout = true, .vocabulary_count = 50257},
	{"gpt_neox", CLASSIC, .rotary = true, .fused_qkv = true, .parallel = true,
	 .vocabulary_count = 50432},
	{"gptj codegen", .layer_norm = true, .norm_bias = true, .plain_mlp = true, .mlp_bias = true,
	 .rotary = true, .one_norm = true},
	{"gpt_neo", CLASSIC, .learned = true, .tied = true, .dropout = true, .full_every = 2},
	{"phi persimmon", CLASSIC, .rotary = true, .one_norm = true},
	{"opt", CLASSIC, .learned = true, .tied = true, .activation = "relu"},
	{"bloom", CLASSIC, .fused_qkv = true, .tied = true, .embed_norm = true},
	{"falcon", .layer_norm = true, .norm_bias = true, .plain_mlp = true, .rotary = true,
	 .fused_qkv = true, .tied = true, .one_norm = true},
	{"mpt", CLASSIC, .learned = true, .fused_qkv = true, .tied = true},
	{"bert roberta xlm_roberta camembert", CLASSIC, .learned = true, .tied = true,
	 .bidirectional = true, .dropout = true, .vocabulary_count = 30522},
	{"megatron", CLASSIC, .learned = true, .fused_qkv = true, .tied = true, .dropout = true,
	 .vocabulary_count = 50257},
	{"neox", CLASSIC, .learned = true, .fused_qkv = true, .tied = true,
	 .vocabulary_count = 50257},
};

static const struct {
	const char *names, *why;
} refused[] = {
	{"t5 mt5 umt5 longt5 switch_transformers bart mbart pegasus marian m2m_100 nllb whisper "
	 "t5gemma "
	 "blenderbot",
	 "a decoder's attention to an encoder is not modelled (write a model with only a decoder)"},
	{"mllama mllama_model",
	 "attention to the tokens of images is not modelled (write llama and leave the "
	 "layers with cross-attention out)"},
	{"gemma3n", "embeddings of each layer and layers that are left out for a token are not "
		    "modelled (write gemma3 for a similar network)"},
	{"gemma4",
	 "embeddings of each layer, and heads of different sizes, are not modelled (write "
	 "gemma3 for a similar network)"},
	{"zamba zamba2 albert", "layers that share their weights are not modelled (write bamba or "
				"bert for a network without sharing)"},
	{"rwkv rwkv5 rwkv6 rwkv7 xlstm retnet",
	 "this recurrence is not modelled (write mamba2 for a "
	 "similar network)"},
	{"nemotron_nas deci",
	 "its layers have different sizes (write llama with the mean sizes of the layers)"},
	{"longcat_flash", "layers with two attentions and with experts that do not compute are not "
			  "modelled (write deepseek_v3 for a similar network)"},
	{"step3 step3p5", "attention that multiplies factors of queries is not modelled (write "
			  "deepseek_v3 for a similar network)"},
	{"deberta deberta_v2 xlnet distilbert electra modernbert",
	 "this encoder is not modelled (write bert for a similar network)"},
	{"clip siglip vit dinov2", "it is not a language model (write the layers of the network in "
				   "a file; docs/models/networks.md)"},
};

void model_refuse(struct model *m, enum settings_field field, const char *why)
{
	const struct setting_read *item = settings_find(m->settings, field);
	if (item)
		diag_error(m->reading->diag, item->origin, "%s = %s: %s",
			   reading_quote(m->reading, item->path),
			   reading_quote(m->reading, item->value), why);
}

/* ---- reading ---- */

bool model_has(struct model *m, enum settings_field field)
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
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
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
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (has_word(refused[i].names, wanted)) {
			model_refuse(m, FIELD_TYPE, refused[i].why);
			return;
		}
	model_refuse(m, FIELD_TYPE,
		     "this family is unknown (write a similar one, for example llama, qwen3, "
		     "qwen3_moe, deepseek_v3, gemma3, gpt2, gpt_neox or bert)");
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

static void read_choices(struct model *m)
{
	struct settings *s = m->settings;
	const struct setting_read *norm = settings_find(s, FIELD_NORM);
	const struct setting_read *kind = settings_find(s, FIELD_POSITION_KIND);
	const struct setting_read *activation = settings_find(s, FIELD_ACTIVATION);
	bool flag;
	settings_flag(s, FIELD_TIED, &m->is.tied);
	if (settings_flag(s, FIELD_UNTIED, &flag))
		m->is.tied = !flag;
	if (settings_flag(s, FIELD_BIAS, &flag))
		m->is.attention_bias = m->is.mlp_bias = flag;
	if (settings_flag(s, FIELD_NO_BIAS, &flag))
		m->is.attention_bias = m->is.mlp_bias = m->is.norm_bias = !flag;
	settings_flag(s, FIELD_ATTENTION_BIAS, &m->is.attention_bias);
	settings_flag(s, FIELD_QKV_BIAS, &m->is.qkv_bias);
	settings_flag(s, FIELD_QK_NORM, &m->is.qk_norm);
	if (settings_flag(s, FIELD_PARALLEL, &flag)) {
		bool one = m->is.one_norm || strcmp(m->name, "stablelm") == 0;
		m->is.parallel = flag && !one;
		m->is.one_norm = flag && one;
	}
	/* Falcon: two norms with groups of heads (modeling_falcon.py, new_decoder_architecture) */
	if (settings_is_true(s, FIELD_TWO_NORMS)) {
		m->is.parallel = true;
		m->is.one_norm = false;
	}
	settings_flag(s, FIELD_MLP_BIAS, &m->is.mlp_bias);
	if (settings_flag(s, FIELD_SWIGLU, &flag))
		m->is.plain_mlp = !flag;
	if (activation && strstr(activation->value, "glu"))
		m->is.plain_mlp = false;
	/* GPT-NeoX: LLaMAParallelMLP has no biases */
	if (!m->is.plain_mlp && is_neox(m) && !model_has(m, FIELD_MLP_BIAS))
		m->is.mlp_bias = false;
	if (norm)
		m->is.layer_norm =
			strncmp(norm->value, "rms", 3) != 0 && strncmp(norm->value, "RMS", 3) != 0;
	settings_flag(s, FIELD_LEARNED, &m->is.learned);
	if (settings_is_true(s, FIELD_ALIBI))
		m->is.learned = false;
	if (kind) {
		m->is.rotary = strncmp(kind->value, "rotary", 6) == 0 ||
			       strncmp(kind->value, "rope", 4) == 0;
		m->is.learned = strncmp(kind->value, "learned", 7) == 0 ||
				strcmp(kind->value, "absolute") == 0;
	}
	read_dropout(m);
	if (settings_is_true(s, FIELD_ROTARY)) {
		m->is.rotary = true;
		m->is.learned = false;
	}
}

/* Latent attention compresses queries, keys and values (DeepSeek-V2, arXiv:2405.04434). */
static void read_latent(struct model *m)
{
	struct settings *s = m->settings;
	double plain = 128;
	if (!settings_count(s, FIELD_LATENT, 1, &m->kv_rank))
		return;
	m->rope = 64;
	settings_count(s, FIELD_Q_RANK, 1, &m->q_rank);
	settings_count(s, FIELD_PLAIN_SIZE, 1, &plain);
	settings_count(s, FIELD_ROPE_SIZE, 0, &m->rope);
	m->value_size = plain;
	settings_count(s, FIELD_VALUE_SIZE, 1, &m->value_size);
	m->head_size = plain + m->rope;
	m->kv_heads = m->heads;
	m->window = 0;
	if (settings_count(s, FIELD_SPARSE_KEYS, 1, &m->window))
		reading_note(m->reading,
			     "each token reads the last %g keys, in place of those that an "
			     "indexer chooses; the indexer is left out",
			     m->window);
}

static void read_experts(struct model *m)
{
	struct settings *s = m->settings;
	double shared = 0;
	m->experts = m->is.expert_count;
	m->top = m->is.top_count;
	settings_count(s, FIELD_EXPERTS, 0, &m->experts);
	m->experts = m->experts > 1 ? m->experts : 0;
	if (m->experts > 0)
		settings_preset(s, FIELD_TOP, &m->top);
	m->expert_mlp = m->mlp;
	settings_count(s, FIELD_EXPERT_MLP, 1, &m->expert_mlp);
	if (m->experts > 0 && settings_count(s, FIELD_SHARED_COUNT, 0, &shared))
		m->shared = shared * m->expert_mlp;
	settings_count(s, FIELD_SHARED_MLP, 0, &m->shared);
	if (strcmp(m->name, "llama4") == 0) /* modeling_llama4.py: Llama4TextMoe.shared_expert */
		m->shared = m->expert_mlp;
	/* Granite: without experts, the shared one is the MLP (GraniteMoeHybridDecoderLayer) */
	if (m->experts <= 0 && m->shared > 0)
		m->mlp = m->shared;
	settings_count(s, FIELD_DENSE_MLP, 1, &m->mlp);
}

static void read_heads(struct model *m)
{
	struct settings *s = m->settings;
	m->heads = m->is.heads_count;
	m->kv_heads = m->is.kv_heads_count;
	settings_preset(s, FIELD_HEADS, &m->heads);
	if (!settings_count(s, FIELD_KV_HEADS, 1, &m->kv_heads) && m->kv_heads <= 0)
		m->kv_heads = m->heads;
	if (settings_is_true(s, FIELD_ONE_KV_HEAD) && !m->is.parallel)
		m->kv_heads = 1;
	m->head_size = m->is.head_size;
	settings_count(s, FIELD_HEAD_SIZE, 1, &m->head_size);
	if (diag_count(m->reading->diag) == 0 && m->head_size <= 0)
		m->head_size = m->hidden / m->heads;
}

static void read_sizes(struct model *m)
{
	struct settings *s = m->settings;
	double ratio = 4;
	settings_need(s, FIELD_LAYERS, &m->layers);
	settings_need(s, FIELD_HIDDEN, &m->hidden);
	read_heads(m);
	if (diag_count(m->reading->diag))
		return;
	if (m->hidden > 1e6)
		model_refuse(m, FIELD_HIDDEN,
			     "a token has at most 1e6 features (correct the number)");
	settings_count(s, FIELD_EXPANSION, 1, &ratio);
	ratio = fmin(ratio, 1000);
	m->mlp = ratio * m->hidden;
	if (m->is.plain_mlp || m->is.bare || model_has(m, FIELD_EXPERT_MLP))
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
	read_latent(m);
	if (m->head_size > floor(m->head_size))
		model_refuse(m, FIELD_HEADS,
			     "heads must divide the features (correct one of them)");
	read_experts(m);
	if (settings_is_true(s, FIELD_SHARED_KEYS))
		model_refuse(
			m, FIELD_SHARED_KEYS,
			"layers that use the keys and values of another layer are not modelled "
			"(write false for a similar network)");
	/* LFM2: two thirds of the size (modeling_lfm2.py, Lfm2MLP) */
	if (settings_is_true(s, FIELD_TWO_THIRDS))
		m->mlp = 256 * ceil(m->mlp * 2 / 3 / 256);
	if (m->is.recurrent == RECURRENT_LRU) /* both halves (modeling_recurrent_gemma.py) */
		m->mlp /= 2;
	if (diag_count(m->reading->diag) == 0)
		model_read_layers(m);
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

/* Returns the number type of a checkpoint's weights, as serve.weights names it; NULL: there is
 * none. Sources: Hugging Face transformers (utils/quantization_config.py), compressed-tensors
 * (quant_args.py: type and num_bits), ModelOpt (quant_algo). */
static const char *weights_named(const char *method, double bits, bool blocks)
{
	static const struct {
		const char *method;
		double bits; /* 0: any */
		const char *weights;
	} known[] = {{"fp8", 0, "fp8"},   {"FP8", 0, "fp8"},   {"NVFP4", 0, "fp4"},
		     {"float", 8, "fp8"}, {"float", 4, "fp4"}, {"mxfp4", 0, "mxfp4"},
		     {"int", 4, "int4"},  {"int", 8, "int8"},  {"awq", 4, "int4"},
		     {"gptq", 4, "int4"}};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(method, known[i].method) == 0 &&
		    (known[i].bits == 0 || known[i].bits == bits))
			return blocks && strcmp(known[i].weights, "fp8") == 0 ? "fp8_block"
									      : known[i].weights;
	return NULL;
}

static void read_weights(struct model *m)
{
	const struct setting_read *method = settings_find(m->settings, FIELD_QUANTISED);
	const struct setting_read *as = settings_find(m->settings, FIELD_QUANTISED_AS);
	double bits = 4;
	settings_count(m->settings, FIELD_QUANTISED_BITS, 1, &bits);
	bool blocks = settings_item(m->settings, "quantization_config.weight_block_size", 0);
	settings_item(m->settings, "quantization_config.weight_block_size", 1);
	if (!method)
		return;
	m->weights = weights_named((as ? as : method)->value, bits, blocks);
	if (!m->weights)
		reading_note(
			m->reading,
			"%s:%d: servers keep weights in the type of the stack, because "
			"quantisation by %s has no number type here (write --serve weights=fp8, "
			"for example)",
			reading_quote(m->reading, method->origin.file), method->origin.line,
			reading_quote(m->reading, method->value));
}

/* ---- the whole ---- */

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
	read_weights(&m);
	if (diag_count(diag))
		return false;
	model_write(&m);
	if (m.is.layer_norm && m.is.plain_mlp && !m.is.learned && !m.is.rotary)
		reading_note(reading, "positions have no kernels in this network");
	settings_account(&settings, FIELD_TP, FIELD_WRAPPED, "plan");
	return reading_done(reading, "settings", imported);
}

const struct importer import_model = {
	.name = "model",
	.help = "network of a config.json, Megatron-LM's arguments, NeMo or GPT-NeoX YAML",
	.files = read_model,
};
