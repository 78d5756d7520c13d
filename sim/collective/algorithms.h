/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares the algorithms, for the registry in algorithm.c. */
#pragma once

#include "sim/collective/algorithm.h"

#define ALGORITHM(name) extern const struct algorithm algorithm_##name;
#include "sim/collective/algorithms.def"
#undef ALGORITHM

/* Returns the parent of a node in the first or second of the two trees over count nodes, or count
 * for the root. */
size_t double_tree_parent(size_t node, size_t count, bool second);
