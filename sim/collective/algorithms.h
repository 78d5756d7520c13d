/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares the algorithms, for the registry in algorithm.c. */
#pragma once

#include "sim/collective/algorithm.h"

#define ALGORITHM(name) extern const struct algorithm algorithm_##name;
#include "sim/collective/algorithms.def"
#undef ALGORITHM
