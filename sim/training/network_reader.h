/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the network reader: the lines of a network file while they are read.
 *
 * A group { name = "block"; repeat = 12; layers = ( ... ); } stands for its lines, 12 times.
 * The lines of repetition 3 are called "block3/...". Inside the group its own name means what
 * comes into the repetition. Behind the group it means the last layer of the last repetition.
 */
#ifndef FARWIRE_TRAINING_NETWORK_READER_H
#define FARWIRE_TRAINING_NETWORK_READER_H

#include "sim/base/vec.h"
#include "sim/training/network_shapes.h"

struct line {
	const char *name; /* NULL: has none */
	const struct cfg_node *node;
	struct origin origin;
	size_t scope;  /* the repetition to which it belongs; 0: none */
	size_t last;   /* the layer that stands for the name: its last */
	bool broken;   /* has an error: lines that take from it are not checked */
	bool consumed; /* a later line takes from it */
};

/* One repetition of a group; [0] is the file itself. */
struct scope {
	const char *name;   /* of the group, with those around it */
	const char *prefix; /* of the names in it */
	size_t parent;
	size_t entry; /* the line that comes into it */
	size_t last;  /* its last line; 0: not yet known */
	bool again;   /* not the first repetition: its errors have been reported */
};

struct reader {
	struct arena *arena;
	struct diag *diag;
	size_t errors_before; /* in diag, when the network was begun */
	const struct network *network;
	struct line *lines; /* [0] is the input */
	size_t line_count;
	VEC(struct scope) scopes;
	VEC(struct layer) layers;
};

#define NO_LINE SIZE_MAX

/* ---- network_lines.c ---- */

/* More lines than any network has: groups in groups can stand for very many. */
enum { LINES_MAX = 100000 };

/* The number of lines when all groups are written out, at most LINES_MAX + 1. */
size_t lines_count(const struct cfg_node *list);
/* Appends the lines of list to reader->lines, with their names. */
void lines_collect(struct reader *reader, const struct cfg_node *list);
/* The line that `text` means in a `from` of line `index`; NO_LINE: none. */
size_t lines_find(const struct reader *reader, size_t index, const char *text);

/* ---- network.c ---- */

bool read_size(struct reader *reader, const struct cfg_node *node, const char *thing,
	       const char *name, size_t *value);
bool read_flag(struct reader *reader, const struct cfg_node *layer, const char *key,
	       const char *name, bool *value);
/* Appends `layer`, whose name, op, inputs and own fields are set, and derives the rest.
 * Returns false after an error. */
bool append_layer(struct reader *reader, const struct layer_spec *spec, struct layer *layer);

#endif
