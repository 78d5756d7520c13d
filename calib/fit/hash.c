/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/hash.h"

#include <nettle/sha2.h>

int hash_file(FILE *in, char text[HASH_TEXT_B])
{
	struct sha256_ctx hash;
	uint8_t block[4096], digest[SHA256_DIGEST_SIZE];
	size_t got;
	sha256_init(&hash);
	while ((got = fread(block, 1, sizeof block, in)) > 0)
		sha256_update(&hash, got, block);
	if (ferror(in))
		return -1;
	sha256_digest(&hash, sizeof digest, digest);
	for (size_t i = 0; i < sizeof digest; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return 0;
}
