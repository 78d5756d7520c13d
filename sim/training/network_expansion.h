/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One line of a network file while it becomes layers. Only the forms of lines include this file. */
#pragma once

#include "sim/training/network_forms.h"

struct expansion {
	struct network_reader *reader;
	const struct cfg_node *node;
	struct line_keys keys;
	struct layer_spec spec;
	const struct form *form;
	size_t index; /* index of the line */
	const size_t *inputs;
	size_t input_count;
	size_t last; /* the layer appended last; before the first one, the first input */
	bool good;
};

/* Reports an error at a key of the line. */
__attribute__((format(printf, 3, 4))) void expansion_complain(struct expansion *x, const char *key,
							      const char *format, ...);
/* Appends a layer "LINE/what". Its input is the last layer, or it has inputs of its own. */
void expansion_push(struct expansion *x, const char *what, struct layer layer);
/* Appends a matrix product with one weight for each part. */
void expansion_push_linear(struct expansion *x, const char *what, size_t out, size_t part_count,
			   bool bias);
/* Appends the activation of the line, if it has one. */
void expansion_push_activation(struct expansion *x, const char *prefix);
/* Returns the features of the line's input. */
size_t expansion_features(const struct expansion *x);

/* The forms of attention, recurrent layers, MLPs and experts (network_blocks.c). */
void form_attention(struct expansion *x);
void form_latent_attention(struct expansion *x);
void form_recurrent(struct expansion *x);
void form_mlp(struct expansion *x);
void form_gated_mlp(struct expansion *x);
void form_experts(struct expansion *x);
