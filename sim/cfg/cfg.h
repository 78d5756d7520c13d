/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads configuration: from text to settings with their origin, and from there to typed parameters.
 * This is the only folder that uses libconfig.
 *
 * A file has libconfig's syntax. farwire resolves `@include "other.cfg"` itself, relative to the
 * including file. Loops and more than 16 nested includes are refused. Every value keeps the file
 * and line where it was written, also through includes.
 *
 * A value is a quantity in quotes with a unit ("4.5 us"), a count (8), a ratio (0.3 or "3 %"), a
 * boolean (true) or a name ("ring"). A number that was measured or fitted may be a group with an
 * interval and a note on its origin:
 *
 *   handoff = { value = "71 us"; low = "66 us"; high = "77 us";
 *                    origin = "fitted"; note = "same_esxi rows of ..."; };
 *
 * origin is one of "published", "derived", "measured", "fitted", "assumption". A fitted profile has
 * three more keys. freedom = 3 is the number of degrees of freedom that the width of the interval
 * was estimated from; the interval then follows Student's t distribution. correlated = ( { path =
 * "stack.dispatch"; by = -0.9; } ) lists the correlations with other parameters of the same fit.
 * follows is a list of the same form: it names parameters that the fit took as given, and how far
 * this value moves when they move.
 *
 * A cost without an interval has the prior interval of its row's class (sim/base/param.h); origin =
 * "assumption" selects the widest class. interval = 0 declares that a value is exact. A value set
 * by cfg_override is exact as well.
 *
 * The path of a parameter is "<prefix>.<key>", for example runtime.handoff. --set, draws and
 * `explain` use it. cfg_params reads a group into a struct and records each parameter in the
 * resolution. Afterwards no name is looked up again.
 */
#pragma once

#include "sim/base/base.h"
#include "sim/base/param.h"

struct cfg_node; /* one setting, borrowed from the tree */

/* ---- text -> tree ---- */

/* Reads a file. Returns NULL after errors, which are in diag: syntax errors with their place, a
 * missing file, a directory, loops of includes. The tree lives as long as arena. */
const struct cfg_node *cfg_read(struct arena *arena, struct diag *diag, const char *path);
/* Reads a tree from a text instead of a file; messages use `path` as its name. */
/* exported: tests need no files */
const struct cfg_node *cfg_read_text(struct arena *arena, struct diag *diag, const char *path,
				     const char *text);

const char *cfg_name(const struct cfg_node *node); /* NULL for an element of a list */
struct origin cfg_origin(const struct cfg_node *node);
bool cfg_is_group(const struct cfg_node *node);
bool cfg_is_list(const struct cfg_node *node); /* list or array */
size_t cfg_count(const struct cfg_node *node); /* number of children */
const struct cfg_node *cfg_at(const struct cfg_node *node, size_t index);
/* Returns the child of that name, or NULL. node may be NULL. */
const struct cfg_node *cfg_child(const struct cfg_node *node, const char *name);
/* Returns the text of a string setting, or NULL for other types. */
const char *cfg_text(const struct cfg_node *node);
/* Reads a plain number (integer or float); returns false for other types. */
bool cfg_number(const struct cfg_node *node, double *value);
bool cfg_bool(const struct cfg_node *node, bool *value);
/* Returns a scalar of any type in the notation of a user, or NULL for groups and lists. */
const char *cfg_scalar_text(struct arena *arena, const struct cfg_node *node);

/* Refuses children of a group whose names are not in known[count], with a suggestion for each. */
void cfg_only(struct diag *diag, const struct cfg_node *node, const char *const *known,
	      size_t count);
/* The last two arguments of cfg_only, and `also` of cfg_params with its count. */
#define CFG_KEYS(...)                                                                              \
	(const char *const[]){__VA_ARGS__},                                                        \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

/* ---- tree -> typed parameters ---- */

enum cfg_source { /* where a value comes from, weakest source first */
		  CFG_SOURCE_DEFAULT,
		  CFG_SOURCE_FILE,
		  CFG_SOURCE_SET,  /* --set, or a setting of a dataset or a sweep */
		  CFG_SOURCE_DRAW, /* a draw from an interval */
};

struct cfg_correlation {
	const char *path; /* path of the other parameter */
	double ratio; /* correlation, or change of this parameter for a change of the other, on the
			 scales of param_moved */
};

/* A resolved parameter, for explain, results and draws. */
struct cfg_param {
	const char *path; /* for example "runtime.handoff" */
	const struct param_row *row;
	enum cfg_source source;
	struct origin origin; /* where it was written; file is NULL for a default */
	double value;         /* numbers: SI; booleans: 0 or 1; choices: the index */
	const char *text;     /* texts and choices only, else NULL */
	double low, high;     /* 90 % interval; both equal to value if there is none */
	enum prior prior;     /* class of the prior interval; PRIOR_NONE: the interval is its own */
	double freedom_count; /* degrees of freedom of the interval; 0: its width is known */
	/* correlations with parameters of the same fit */
	const struct cfg_correlation *correlations;
	size_t correlation_count;
	const struct cfg_correlation *follows; /* parameters that the fit took as given */
	size_t follow_count;
	const char *status; /* "published" "derived" "measured" "fitted"
			       "assumption" "default" "given" */
	const char *note;   /* note of the group, or the source of a default; never NULL */
};
/* Returns the words for a parameter in headings, plots and sentences, for example "one-way latency
 * of vswitch" for "link.vswitch.latency". They are the first phrase of the row's help, up to a
 * comma, colon, semicolon or bracket, and the object. A "*" in path means every object of the
 * group. Without a row (NULL) the words are made of the key. */
const char *cfg_param_words(struct arena *arena, const char *path, const struct param_row *row);
/* Returns true for a number with an interval, either its own or that of its class. Draws vary these
 * numbers. */
bool cfg_param_varies(const struct cfg_param *param);
/* Returns value, or the text of a parameter that is not a number, as users write it. */
const char *cfg_param_text(struct arena *arena, const struct cfg_param *param, double value);

/* A resolution holds the overrides and a record of the resolved parameters. Each reading of a case
 * uses a new one. */
struct cfg_resolution;

struct cfg_resolution *cfg_resolution_new(struct arena *arena);
/* Adds the override "key=value" of --set, written at origin; reports an error to diag if '=' is
 * missing. A later override of the same path replaces an earlier one. A part "*" of the key matches
 * any name: "host.*.turbo=true". */
void cfg_override(struct cfg_resolution *resolution, struct diag *diag, struct origin origin,
		  const char *assignment);
/* Adds a value for path from another file than the one that declares it, for example a fitted
 * profile. value is a scalar or a value group. It replaces the value of the declaring file, and
 * cfg_override replaces it, in whatever order they are called. An unused one is not an error. */
void cfg_override_node(struct cfg_resolution *resolution, const char *path,
		       const struct cfg_node *value);
/* Ignores the value for path that is written at origin, in a group or as an override. Call it
 * before other functions. */
void cfg_leave_out(struct cfg_resolution *resolution, const char *path, struct origin origin);
/* Replaces the value of path by a number in SI units and keeps its interval and status. An unused
 * one is not an error. */
void cfg_override_draw(struct cfg_resolution *resolution, const char *path, double value);

/* Fills *params (table->size bytes) from node and from the overrides of "<prefix>.<key>". A NULL
 * node gives the defaults. Unknown keys of node are errors with a suggestion, except the names in
 * also[also_count], which the caller reads. A missing value without a default is an error at node's
 * origin. Messages call the group `thing` ("link 'wire'"). Records every row. Returns false after
 * an error. */
bool cfg_params(struct cfg_resolution *resolution, struct arena *arena, struct diag *diag,
		const struct cfg_node *node, const char *prefix, const char *thing,
		const struct param_table *table, const char *const *also, size_t also_count,
		void *params);

/* Returns the override of a path that has no row, and marks it as used; NULL if there is none. The
 * path "case.topology", for example, names a file. */
const char *cfg_override_text(struct cfg_resolution *resolution, const char *path);

/* Reports overrides that were not used, each with the nearest known path. Call it after everything
 * was read. */
void cfg_resolution_finish(struct cfg_resolution *resolution, struct diag *diag);

/* Copies only the record into arena, so that it outlives the files it came from. */
const struct cfg_resolution *cfg_resolution_copy(struct arena *arena,
						 const struct cfg_resolution *resolution);

size_t cfg_param_count(const struct cfg_resolution *resolution);
const struct cfg_param *cfg_param_at(const struct cfg_resolution *resolution, size_t index);
/* Sets the text of a parameter for which the program has chosen one, and says so in its note. */
void cfg_param_choose(struct cfg_resolution *resolution, const char *path, const char *text,
		      const char *note);
const struct cfg_param *cfg_param_find(const struct cfg_resolution *resolution, const char *path);
/* Returns true if two paths can mean the same parameter. A word "*" in either path matches any
 * name, also one with dots: the name of a file, of a version ("tf-1.14") or of a copy ("client.3").
 */
bool paths_match(const char *a, const char *b);
