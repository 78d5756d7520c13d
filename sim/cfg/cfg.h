/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one door to libconfig: text -> settings with origin -> typed parameters.
 *
 * A file is libconfig syntax. `@include "other.cfg"` is resolved by farwire
 * itself, relative to the including file, with loops and depth (16) refused.
 * Every value keeps the file and line where it was written, through includes.
 *
 * Values: "4.5 us" (quantities are quoted, with a unit), 8 (counts), 0.3 or
 * "3 %" (ratios), true, "name", or, for a number that somebody measured or
 * fitted, a group with its interval and history:
 *
 *   handoff = { value = "71 us"; low = "66 us"; high = "77 us";
 *                    origin = "fitted"; note = "same_esxi rows of ..."; };
 *
 * origin is one of "published", "derived", "measured", "fitted", "assumption". Fits
 * say more: freedom = 3 where three rows to spare say how wide the interval is (its ends are
 * then Student's), correlated = ( { path = "stack.dispatch"; by = -0.9; } ), and follows, a
 * list of the same kind: what the fit took as given, and by how much the value would move if that
 * did.
 *
 * A cost that comes without an interval has the prior of its row's class (sim/base/param.h);
 * origin = "assumption" makes that class the widest. interval = 0 says that there is
 * none. What cfg_override sets is exact.
 *
 * A typed parameter has a path, "<prefix>.<key>" (runtime.handoff), by
 * which --set, draws and `explain` name it. Reading a group into a struct
 * (cfg_params) records each of its parameters in the resolution, so that after
 * reading there are no string look-ups and nothing is read twice.
 */
#ifndef FARWIRE_CFG_CFG_H
#define FARWIRE_CFG_CFG_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/diag.h"
#include "sim/base/param.h"

struct arena;
struct cfg_node; /* one setting; borrowed from the tree */

/* ---- text -> tree ---- */

/* Reads a file. NULL after errors, which are in diag (syntax errors with
 * their place, a missing file, a directory, loops of includes). The tree lives
 * as long as arena. */
const struct cfg_node *cfg_read(struct arena *arena, struct diag *diag, const char *path);
/* The same from text, named path in messages. */
/* exported: tests need no files */
const struct cfg_node *cfg_read_text(struct arena *arena, struct diag *diag, const char *path,
				     const char *text);

const char *cfg_name(const struct cfg_node *node); /* NULL in a list */
struct origin cfg_origin(const struct cfg_node *node);
bool cfg_is_group(const struct cfg_node *node);
bool cfg_is_list(const struct cfg_node *node); /* list or array */
size_t cfg_count(const struct cfg_node *node); /* children */
const struct cfg_node *cfg_at(const struct cfg_node *node, size_t index);
/* The child of that name or NULL. node may be NULL. */
const struct cfg_node *cfg_child(const struct cfg_node *node, const char *name);
/* The text of a string setting; NULL if it is none. */
const char *cfg_text(const struct cfg_node *node);
/* A plain number (int or float); false if it is none. */
bool cfg_number(const struct cfg_node *node, double *value);
bool cfg_bool(const struct cfg_node *node, bool *value);
/* A scalar of any type as the text a user would write; NULL for aggregates. */
const char *cfg_scalar_text(struct arena *arena, const struct cfg_node *node);

/* Refuses children of a group whose names are not among known[count], each
 * with a suggestion. */
void cfg_only(struct diag *diag, const struct cfg_node *node, const char *const *known,
	      size_t count);

/* ---- tree -> typed parameters ---- */

enum cfg_source { /* who says so, weakest first */
		  CFG_SOURCE_DEFAULT,
		  CFG_SOURCE_FILE,
		  CFG_SOURCE_SET,  /* --set, or a dataset's or sweep's setting */
		  CFG_SOURCE_DRAW, /* a draw of an interval */
};

struct cfg_correlation {
	const char *path; /* of the other parameter */
	double ratio;     /* correlation, or move for move, on their scales (param_moved) */
};

/* A resolved parameter, for explain, results and draws. */
struct cfg_param {
	const char *path; /* "runtime.handoff" */
	const struct param_row *row;
	enum cfg_source source;
	struct origin origin; /* where written; file NULL for defaults */
	double value;         /* SI; of numbers, and 0/1 of bools, index of choices */
	const char *text;     /* of texts and choices, else NULL */
	double low, high;     /* 90 % interval; equal to value where none */
	enum prior prior;     /* the class whose interval that is; PRIOR_NONE: its own */
	double freedom_count; /* degrees of freedom behind it; 0: its width is known */
	const struct cfg_correlation *correlations; /* with others of the same fit */
	size_t correlation_count;
	const struct cfg_correlation *follows; /* what it was fitted beside */
	size_t follow_count;
	const char *status; /* "published" "derived" "measured" "fitted"
			       "assumption" "default" "given" */
	const char *note;   /* of the group; of a default its source; never NULL */
};
/* A number with an interval, its own or its class's: what draws vary. */
bool cfg_param_varies(const struct cfg_param *param);

/* Overrides and the record of what was resolved: one for each reading of a
 * case. */
struct cfg_resolution;

struct cfg_resolution *cfg_resolution_new(struct arena *arena);
/* "key=value" as --set gives it; complains in diag when there is no '='. A
 * later override of the same path wins. A part "*" of the key stands for any:
 * "host.*.turbo=true". origin is where it was said. */
void cfg_override(struct cfg_resolution *resolution, struct diag *diag, struct origin origin,
		  const char *assignment);
/* A value from a file other than the one that declares the path (a fitted
 * profile): a scalar or a value group. It stands in for what the declaring file
 * says and gives way to cfg_override, whichever was said first. Unlike those it
 * is no error if nothing uses it. */
void cfg_override_node(struct cfg_resolution *resolution, const char *path,
		       const struct cfg_node *value);
/* A number in SI, which replaces the value and keeps interval and status; no
 * error either if nothing uses it. */
void cfg_override_draw(struct cfg_resolution *resolution, const char *path, double value);

/* Fills *params (table->size bytes) from node (NULL: defaults only) and the
 * overrides of "<prefix>.<key>". Unknown keys of node are errors with a
 * suggestion, except the names in also[also_count], which the caller reads. A
 * row without default that is not given is an error at node's origin. thing
 * names it in messages ("link 'wire'"). Records every row. Returns false if
 * anything was wrong. */
bool cfg_params(struct cfg_resolution *resolution, struct arena *arena, struct diag *diag,
		const struct cfg_node *node, const char *prefix, const char *thing,
		const struct param_table *table, const char *const *also, size_t also_count,
		void *params);

/* The text override of a path that is no row (case.batch and such live in
 * rows too; this is for names that choose files, as "case.topology"), marking
 * it used; NULL if there is none. */
const char *cfg_override_text(struct cfg_resolution *resolution, const char *path);

/* After all is read: overrides that nothing used are errors, with the nearest
 * known path as a suggestion. */
void cfg_resolution_finish(struct cfg_resolution *resolution, struct diag *diag);

/* The record alone, in arena: to outlive the files that it came from. */
const struct cfg_resolution *cfg_resolution_copy(struct arena *arena,
						 const struct cfg_resolution *resolution);

size_t cfg_param_count(const struct cfg_resolution *resolution);
const struct cfg_param *cfg_param_at(const struct cfg_resolution *resolution, size_t index);
const struct cfg_param *cfg_param_find(const struct cfg_resolution *resolution, const char *path);

#endif
