/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the network reader: the lines of a network file while they are read.
 *
 * A group { name = "block"; repeat = 12; layers = ( ... ); } stands for 12 copies of its lines.
 * The lines of repetition 3 are called "block3/...". Inside the group, the name "block" means
 * the input of the repetition. After the group, it means the last layer of the last repetition. */
#pragma once

#include "sim/training/network_shapes.h"

struct layer_line {
	const char *name; /* NULL: the line has no name */
	const struct cfg_node *node;
	struct origin origin;
	size_t scope;  /* the repetition to which it belongs; 0: none */
	size_t last;   /* the last layer of the line, to which its name refers */
	bool broken;   /* the line has an error, so lines that use it are not checked */
	bool consumed; /* a later line uses the line */
};

/* One repetition of a group; [0] is the file itself. */
struct scope {
	const char *name;   /* name of the group, with the names of the groups around it */
	const char *prefix; /* prefix of the names in the group */
	size_t parent;
	size_t entry; /* the line that is the group's input */
	size_t last;  /* the group's last line; 0: not yet known */
	bool again;   /* a repetition after the first one, whose errors have been reported */
};

struct network_reader {
	struct arena *arena;
	struct diag *diag;
	size_t errors_before; /* number of errors in diag before the network */
	const struct network *network;
	struct layer_line *lines; /* [0] is the input of the network */
	size_t line_count;
	VEC(struct scope) scopes;
	size_t block; /* the innermost scope of the line that is read; 0: none */
	VEC(struct layer) layers;
};

#define NO_LINE SIZE_MAX

/* ---- network_lines.c ---- */

/* More lines than any network has: groups in groups can stand for very many. */
enum { LINES_MAX = 100000 };

/* Returns the number of lines when all groups are written out, at most LINES_MAX + 1. */
size_t lines_count(const struct cfg_node *list);
/* Appends the lines of list to reader->lines, with their names. */
void lines_collect(struct network_reader *reader, const struct cfg_node *list);
/* Returns the line that `text` means in a `from` of line `index`; NO_LINE: none. */
size_t lines_find(const struct network_reader *reader, size_t index, const char *text);

/* ---- network.c ---- */

bool read_size(struct network_reader *reader, const struct cfg_node *node, const char *thing,
	       const char *name, size_t *value);
/* Reads [height, width], [depth, height, width] of a volume, or one number for all sides, into
 * height, width, depth. Without the key, sides keep their values. */
bool read_sides(struct network_reader *reader, const struct cfg_node *layer, const char *key,
		const char *thing, const char *name, size_t sides[SIDES]);
bool read_flag(struct network_reader *reader, const struct cfg_node *layer, const char *key,
	       const char *name, bool *value);
/* Appends `layer`, whose name, op, inputs and own fields are set, and derives the rest.
 * Returns false after an error. */
bool append_layer(struct network_reader *reader, const struct layer_spec *spec,
		  struct layer *layer);
