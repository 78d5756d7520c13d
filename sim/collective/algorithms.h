/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares the algorithms, for the registry in algorithm.c. */
#ifndef FARWIRE_COLLECTIVE_ALGORITHMS_H
#define FARWIRE_COLLECTIVE_ALGORITHMS_H

#include "sim/collective/algorithm.h"

#define ALGORITHM(name) extern const struct algorithm algorithm_##name;
#include "sim/collective/algorithms.def"
#undef ALGORITHM

#endif
