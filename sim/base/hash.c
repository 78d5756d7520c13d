/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/hash.h"
#include "sim/base/base.h"

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size_B)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < size_B; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text) + 1);
}

uint64_t hash_count(uint64_t hash, uint64_t count)
{
	for (int shift = 0; shift < 64; shift += 8) { /* independent of the byte order */
		const unsigned char byte = (unsigned char)(count >> shift);
		hash = hash_bytes(hash, &byte, 1);
	}
	return hash;
}
