/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small hashes: one that tells inputs apart, one that spreads numbers, one that finds torn
 * lines.
 *
 * hash_bytes is FNV-1a with 64 bits: two different inputs have the same one by
 * chance once in 10^19 times. It does not resist anybody who wants them to.
 * hash_spread answers each number with another one of its own, in which each bit hangs
 * on all of x: the finaliser of splitmix64 (Steele, Lea and Flood 2014).
 * crc32c is the checksum of iSCSI and ext4: any burst of errors up to 32 bits
 * shows, all else but once in 4 * 10^9.
 */
#ifndef FARWIRE_BASE_HASH_H
#define FARWIRE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Goes on from hash: HASH_START, or what an earlier call gave. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size_B);
/* A text with its end, so that "ab", "c" and "a", "bc" differ. */
uint64_t hash_text(uint64_t hash, const char *text);
uint64_t hash_count(uint64_t hash, uint64_t count);

static inline uint64_t hash_spread(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint32_t crc32c(const void *bytes, size_t size_B);

#endif
