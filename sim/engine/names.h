/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps names to small numbers. Names are numbered 0, 1, 2 ... in the order of adding and are found
 * by hashing. */
#pragma once

#include "sim/base/base.h"

struct arena;
struct names;

struct names *names_new(struct arena *arena);
int names_find(const struct names *names, const char *name); /* -1 if not found */
/* Returns the number of a name and adds the name if it is new. The text is copied. */
int names_add(struct names *names, const char *name);
size_t names_count(const struct names *names);
const char *names_at(const struct names *names, size_t index);
