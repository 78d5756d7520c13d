/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "sim/base/diag.h"
#include "sim/base/vec.h"

enum { BLOCK_FIRST_B = 16 * 1024, BLOCK_MAX_B = 1024 * 1024 };

struct arena_block {
	struct arena_block *before;
	size_t used_B, size_B;
	alignas(max_align_t) unsigned char bytes[];
};

struct arena {
	struct arena_block *last; /* the block that is being filled */
	size_t next_B;            /* size of the next block */
	size_t used_B;
};

_Noreturn void arena_out_of_memory(void)
{
	dprintf(STDERR_FILENO, "farwire: out of memory\n"); /* sim/verb/command.c replaces stderr */
	exit(EXIT_FAILURE);
}

void arena_keep_freed(void)
{
#ifdef __GLIBC__
	enum { MAPPED_MIN_B = 32 << 20, KEPT_MOST_B = 256 << 20 };
	mallopt(M_MMAP_THRESHOLD, MAPPED_MIN_B);
	mallopt(M_TRIM_THRESHOLD, KEPT_MOST_B);
#endif
}

struct arena *arena_new(void)
{
	struct arena *arena = calloc(1, sizeof *arena);
	if (!arena)
		arena_out_of_memory();
	arena->next_B = BLOCK_FIRST_B;
	return arena;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct arena_block *block = arena->last; block;) {
		struct arena_block *before = block->before;
		free(block);
		block = before;
	}
	free(arena);
}

static struct arena_block *block_new(size_t size_B)
{
	if (size_B > SIZE_MAX - sizeof(struct arena_block))
		arena_out_of_memory();
	struct arena_block *block = calloc(1, sizeof *block + size_B);
	if (!block)
		arena_out_of_memory();
	block->size_B = size_B;
	return block;
}

/* A large object gets its own block, placed behind the block that is being filled. */
static void *alloc_alone(struct arena *arena, size_t size)
{
	struct arena_block *block = block_new(size);
	block->used_B = size;
	if (arena->last) {
		block->before = arena->last->before;
		arena->last->before = block;
	} else {
		arena->last = block;
	}
	return block->bytes;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	const size_t align = alignof(max_align_t);
	if (size == 0)
		size = 1;
	if (size > SIZE_MAX - align)
		arena_out_of_memory();
	size = (size + align - 1) / align * align;
	arena->used_B += size;
	if (size > BLOCK_FIRST_B / 2)
		return alloc_alone(arena, size);
	struct arena_block *block = arena->last;
	if (!block || block->size_B - block->used_B < size) {
		block = block_new(arena->next_B);
		block->before = arena->last;
		arena->last = block;
		if (arena->next_B < BLOCK_MAX_B)
			arena->next_B *= 2;
	}
	void *bytes = block->bytes + block->used_B;
	block->used_B += size;
	return bytes;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		arena_out_of_memory();
	return arena_alloc(arena, count * size);
}

char *arena_strdup(struct arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;
	return memcpy(arena_alloc(arena, size), text, size);
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
	FW_ASSERT(format);
	va_list again;
	va_copy(again, args);
	/* Format directly into the current block. A second pass is needed only if the text does not
	 * fit. */
	struct arena_block *block = arena->last;
	size_t room = block ? block->size_B - block->used_B : 0;
	char *text = room ? (char *)block->bytes + block->used_B : NULL;
	int length = vsnprintf(text, room, format, args);
	if (length < 0)
		/* the C library ran out of memory, or the text is longer than INT_MAX */
		arena_out_of_memory();
	size_t size = (size_t)length + 1;
	char *kept = arena_alloc(arena, size);
	if (kept != text) {
		if (room)
			memset(text, 0, size < room ? size : room);
		vsnprintf(kept, size, format, again);
	}
	va_end(again);
	return kept;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = arena_vprintf(arena, format, args);
	va_end(args);
	return text;
}

size_t arena_used_B(const struct arena *arena)
{
	return arena->used_B;
}

void *vec_grow(struct arena *arena, void *items, size_t count, size_t *room, size_t item_size)
{
	if (count < *room)
		return items;
	size_t room_new = *room ? *room * 2 : 8;
	void *moved = arena_array(arena, room_new, item_size);
	if (count)
		memcpy(moved, items, count * item_size);
	*room = room_new;
	return moved;
}
