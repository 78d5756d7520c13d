/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names to small numbers: a set of texts numbered 0, 1, 2 ... as they come,
 * with look-up by hashing. Numbers depend only on the order of adding. */
#ifndef FARWIRE_ENGINE_NAMES_H
#define FARWIRE_ENGINE_NAMES_H

#include <stddef.h>

struct arena;
struct names;

struct names *names_new(struct arena *arena);
int names_find(const struct names *names, const char *name); /* or -1 */
/* The name's number, new or old; a new name is copied. */
int names_add(struct names *names, const char *name);
size_t names_count(const struct names *names);
const char *names_at(const struct names *names, size_t index);

#endif
