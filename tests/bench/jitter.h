/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Delay before a rank starts a step, 0 to 10 us: the same numbers for both sides of a comparison,
 * in C and C++. */
#pragma once

#include <stdint.h>

static inline int64_t jitter_ps(uint64_t rank, uint64_t step)
{
	uint64_t mixed = (rank << 32 | step) + 1; /* splitmix64 (Steele et al., 2014) */
	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return (int64_t)((mixed ^ mixed >> 31) % 10000000);
}
