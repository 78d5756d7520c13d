/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The algorithms themselves, for the list in algorithm.c. */
#ifndef FARWIRE_COLLECTIVE_ALGORITHMS_H
#define FARWIRE_COLLECTIVE_ALGORITHMS_H

#include "sim/collective/algorithm.h"

#define ALGORITHM(name) extern const struct algorithm algorithm_##name;
#include "sim/collective/algorithms.def"
#undef ALGORITHM

#endif
