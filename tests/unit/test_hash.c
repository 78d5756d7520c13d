/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares hashes with published values. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/hash.h"
#include "tests/test.h"

/* Test vectors of Fowler, Noll and Vo. */
static void hash_bytes_matches_fnv_vectors(void)
{
	CHECK(hash_bytes(HASH_START, "", 0) == UINT64_C(0xcbf29ce484222325));
	CHECK(hash_bytes(HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	CHECK(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
	uint64_t half = hash_bytes(HASH_START, "foo", 3);
	CHECK(hash_bytes(half, "bar", 3) == UINT64_C(0x85944171f73967e8));
	CHECK(hash_text(hash_text(HASH_START, "ab"), "c") !=
	      hash_text(hash_text(HASH_START, "a"), "bc"));
	for (int shift = 8; shift < 64; shift += 8) /* each byte counts */
		CHECK(hash_count(HASH_START, 'a') !=
		      hash_count(HASH_START, UINT64_C(1) << shift | 'a'));
}

static void diag_read_depends_on_all_input_read(void)
{
	struct arena *arena = arena_new();
	struct diag *one = diag_new(arena), *two = diag_new(arena), *none = diag_new(arena);
	diag_reads(one, "a file", 6);
	diag_reads(one, "and another", 11);
	diag_reads(two, "a file", 6);
	CHECK(diag_read(one) != diag_read(two));
	diag_reads(two, "and another", 11);
	CHECK(diag_read(one) == diag_read(two));
	CHECK(diag_read(none) != diag_read(one));
	arena_free(arena);
}

static const struct test tests[] = {TEST(hash_bytes_matches_fnv_vectors),
				    TEST(diag_read_depends_on_all_input_read)};

int main(void)
{
	return TEST_MAIN(tests);
}
