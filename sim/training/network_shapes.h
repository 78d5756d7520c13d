/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the network reader: what a line of a network file says, and the
 * arithmetic that turns it into a layer.
 *
 * Shapes are channels x height x width of one image. With pad "same" an output
 * is ceil(input / stride) on a side, whatever the kernel; with "valid" it is
 * floor((input - kernel) / stride) + 1, and the kernel must fit. These are
 * TensorFlow's rules; the zeros that "same" puts around an input count as
 * multiplied, as in the published tables.
 */
#ifndef FARWIRE_TRAINING_NETWORK_SHAPES_H
#define FARWIRE_TRAINING_NETWORK_SHAPES_H

#include <stdbool.h>

#include "sim/base/diag.h"
#include "sim/training/network.h"

/* Sides and channels above this are slips of the keyboard. */
enum { LAYER_SIZE_MAX = 1000000 };

struct layer_spec {
	const char *name;
	struct origin origin;
	enum layer_op op;
	size_t kernel[2], stride[2];        /* height, width */
	bool same;                          /* padding; false: valid */
	bool global;                        /* a pool as large as its input */
	size_t out;                         /* channels of a conv, units of an fc */
	size_t rows;                        /* of an embedding's matrix; tokens to select */
	bool batch_norm, scale, bias, relu; /* layers that follow this one */
};

/* Fills everything of layer but name and inputs, which are set; its inputs are
 * in layers. Returns false after an error. */
bool layer_derive(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		  struct layer *layer);

/* Adds a trainable tensor. */
void layer_add_tensor(struct layer *layer, double elements_count);

/* Fills the network's totals from its layers, and what each of them keeps. */
void network_totals(struct network *network, struct layer *layers);

#endif
