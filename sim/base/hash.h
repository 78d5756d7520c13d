/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two small hashes.
 *
 * hash_bytes tells inputs apart. It is FNV-1a with 64 bits: two different inputs collide by chance
 * with a probability of about 10^-19. It does not resist deliberate collisions.
 *
 * hash_spread maps each 64-bit number to a different one, and every bit of the result depends on
 * all bits of x. It is the finaliser of splitmix64 (Steele, Lea and Flood 2014).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Continues from hash, which is HASH_START or the result of an earlier call. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size_B);
/* Hashes a text with its terminator, so that "ab", "c" and "a", "bc" differ. */
uint64_t hash_text(uint64_t hash, const char *text);
uint64_t hash_count(uint64_t hash, uint64_t count);

static inline uint64_t hash_spread(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}
