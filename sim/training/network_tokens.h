/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the network reader: shapes of layers of tokens, and what they keep for backward.
 *
 * Tokens are the pixels of a layer that is 1 wide: channels are the features of a token, height
 * is the number of tokens. Rows that a router has dispatched to experts count as tokens.
 */
#pragma once

#include "sim/training/network_shapes.h"

/* Does the work of derive_op (network_shapes.c) for the ops from LAYER_EMBEDDING on. Returns
 * false after an error. */
bool tokens_derive(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		   struct layer *layer, double *macs_per_output);
/* Fills kept_count and kept_B of all layers: the activations that backward needs. */
void tokens_keep(struct network *network, struct layer *layers);
