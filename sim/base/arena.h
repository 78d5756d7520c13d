/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An arena: memory that lives and dies together.
 *
 * farwire knows four lifetimes: the text that was read, the parameters made of
 * it, one run, and scratch. Each is an arena; nothing inside one is freed
 * alone. Memory comes zeroed. Running out of memory ends the program (the only
 * place besides main that does): no caller could do better.
 */
#ifndef FARWIRE_BASE_ARENA_H
#define FARWIRE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena); /* NULL is fine */
/* Zeroed, aligned for any object. size 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size with an overflow check. */
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Bytes handed out so far, for memory bounds in tests. */
size_t arena_used_B(const struct arena *arena);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, count, type)                                                            \
	((type *)arena_array((arena), (size_t)(count), sizeof(type)))

#endif
