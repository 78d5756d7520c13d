/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refusing names that nobody reads: a slip in a key must not pass unseen. */
#ifndef FARWIRE_CFG_NAMES_H
#define FARWIRE_CFG_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct cfg_node;
struct diag;

/* Whether node's name is among known[count]; else an error at its origin that
 * begins with about ("link 'wire': ", or "") and suggests a known name. */
bool cfg_known_name(struct diag *diag, const struct cfg_node *node, const char *about,
		    const char *const *known, size_t count);

/* "did you mean 'x'?" where a word is near, else "known: a, b, c", for the end
 * of a message. */
const char *cfg_suggestion(struct arena *arena, const char *word, const char *const *known,
			   size_t count);

/* "a, b, c", at most 12 words and then "...". */
const char *cfg_list(struct arena *arena, const char *const *words, size_t count);

#endif
