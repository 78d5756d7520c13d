/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A network while an importer turns a configuration into it: what is usual in its family, its
 * sizes, and the kind of each layer. */
#pragma once

#include "sim/import/settings.h"

/* Recurrent layers of a family; model_layers.c has their sizes. */
enum recurrent_kind {
	RECURRENT_NONE,
	RECURRENT_MAMBA,     /* arXiv:2312.00752 */
	RECURRENT_MAMBA2,    /* arXiv:2405.21060 */
	RECURRENT_DELTA,     /* gated delta rule with few keys, as in Qwen3-Next */
	RECURRENT_KIMI,      /* the same with a gate for each feature (arXiv:2510.26692) */
	RECURRENT_LIGHTNING, /* linear attention of MiniMax (arXiv:2501.08313) */
	RECURRENT_CONV,      /* short gated convolutions of LFM2 */
	RECURRENT_LRU,       /* real-gated linear unit of Griffin (arXiv:2402.19427) */
};

struct family {
	const char *names; /* of model_type */
	bool layer_norm, plain_mlp, learned, rotary, attention_bias, qkv_bias, mlp_bias, fused_qkv,
		qk_norm, tied, parallel, bidirectional, sinks, expert_bias, clamp, norm_bias,
		dropout;
	bool one_norm;   /* attention and MLP read one norm, at the same time */
	bool norms_both; /* norms are before and behind attention and MLP */
	bool norms_last; /* norms are behind attention and MLP only */
	bool embed_norm; /* behind the embedding */
	bool gate;       /* queries bring factors of attention's output */
	bool bare;       /* a layer has either attention, or a recurrence, or an MLP */
	const char *activation;
	enum recurrent_kind recurrent;
	/* defaults of the family; 0: there is none */
	double vocabulary_count, expert_count, top_count, heads_count, kv_heads_count, head_size;
	double full_every; /* each such layer sees all tokens, and the others a window */
};

enum mixer { MIXER_FULL, MIXER_WINDOW, MIXER_RECURRENT, MIXER_BOTH, MIXER_NONE };
enum mlp_kind { MLP_DENSE, MLP_EXPERTS, MLP_NONE };
struct model_layer {
	enum mixer mixer;
	enum mlp_kind mlp;
};

struct model {
	struct settings *settings;
	struct reading *reading;
	struct family is; /* the family, changed by the settings */
	const char *name;
	const char *weights; /* number type of the checkpoint's weights; NULL: that of the stack */
	double layers, hidden, heads, kv_heads, head_size, mlp, vocabulary, sequence, positions;
	double experts, top, expert_mlp, shared, window;
	double q_rank, kv_rank, rope, value_size;                        /* of latent attention */
	double in, recurrent_hidden, recurrent_state, recurrent_weights; /* of a line "recurrent" */
	bool attention_dropout;
	struct model_layer *kinds; /* of each layer */
};

/* Returns whether the configuration has the field. */
bool model_has(struct model *model, enum settings_field field);
/* Reports an error at the field's setting, if there is one. */
void model_refuse(struct model *model, enum settings_field field, const char *why);

/* Fills kinds, and the sizes of recurrent layers. Reports errors. */
void model_read_layers(struct model *model);
/* Writes the file of the network into the reading. */
void model_write(struct model *model);
