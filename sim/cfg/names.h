/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refuses unknown names, so that a typing error in a key is always reported. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct cfg_node;
struct diag;

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
