/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to sim/cfg: pending overrides, parameters already read, and unknown names. */
#pragma once

#include "sim/cfg/cfg.h"

struct cfg_setting {
	const char *text;
	struct origin origin;
};
enum override_kind { OVERRIDE_SETTING, OVERRIDE_NODE, OVERRIDE_DRAW };

struct override {
	enum override_kind kind;
	const char *path;
	bool pattern;                /* "*" in path matches any part between dots */
	struct cfg_setting setting;  /* OVERRIDE_SETTING only */
	const struct cfg_node *node; /* OVERRIDE_NODE only */
	double value;                /* OVERRIDE_DRAW only */
	bool used;
	size_t next; /* number of the override before it in its list, counted from 1; 0: none */
};

struct cfg_resolution {
	struct arena *arena;
	struct cfg_setting left_out; /* path and place of a value to ignore; NULL: none */
	VEC(struct override) overrides;
	size_t patterns; /* list of the overrides with patterns */
	size_t *lists;   /* lists of the other overrides, by the hash of the path */
	size_t list_count;
	VEC(struct cfg_param) params;
	VEC(const char *) requested; /* paths that were given to cfg_override_text */
};

/* Returns true if a value for path that is written at origin is to be ignored. */
bool cfg_is_left_out(const struct cfg_resolution *resolution, const char *path,
		     struct origin origin);
/* Returns the last override of one kind for path, or NULL, and marks all of them as used. The kinds
 * are --set, a profile's node and a draw. */
const struct override *cfg_override_take(struct cfg_resolution *resolution, const char *path,
					 enum override_kind kind);

/* ---- names.c: unknown names, so that a typing error in a key is always reported ---- */

/* Returns true if the name of node is in known[count]. Otherwise it reports an error at node's
 * origin. The error begins with about ("link 'wire': ", or "") and suggests a known name. */
bool cfg_known_name(struct diag *diag, const struct cfg_node *node, const char *about,
		    const char *const *known, size_t count);

/* Returns the end of a message: "did you mean 'x'?" if a known word is near, else "known: a, b, c".
 */
const char *cfg_suggestion(struct arena *arena, const char *word, const char *const *known,
			   size_t count);

/* Returns "a, b, c" with at most 12 words, followed by "..." if there are more. */
const char *cfg_list(struct arena *arena, const char *const *words, size_t count);
