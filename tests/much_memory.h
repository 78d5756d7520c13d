/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An arena that has handed out the maximum memory of a reader, for tests of that limit. The pages
 * are never touched, so the machine does not need that much memory. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "sim/base/arena.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define MUCH_IS_TOUCHED
#endif
#endif
#ifdef __SANITIZE_ADDRESS__ /* the sanitizer touches an eighth of it when it is freed */
#define MUCH_IS_TOUCHED
#endif

/* Returns false if not even the address space is available. */
static inline bool much_memory_used(struct arena *arena, size_t size_B)
{
#ifdef MUCH_IS_TOUCHED
	(void)arena, (void)size_B;
	return false;
#else
	void *room = calloc(1, size_B + 4096);
	free(room);
	if (room)
		arena_alloc(arena, size_B);
	return room != NULL;
#endif
}
