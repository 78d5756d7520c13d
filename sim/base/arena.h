/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An arena is a pool of memory that is freed as a whole.
 *
 * The program uses four lifetimes: the text that was read, the parameters made from it, one run,
 * and scratch. Each lifetime has its own arena. Single objects inside an arena cannot be freed. New
 * memory is zeroed. When memory runs out, the arena ends the program, because no caller could
 * continue. Besides main, this is the only place that ends the program.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct arena;

/* Ends the program with exit code 1 and a message. */
_Noreturn void arena_out_of_memory(void);
/* Lets the C library keep freed memory for the next arena. Without this call, each run gets its
 * pages from the kernel again, and each page fault takes a microsecond or more. */
void arena_keep_freed(void);
struct arena *arena_new(void);
void arena_free(struct arena *arena); /* accepts NULL */
/* Returns zeroed memory that is aligned for any object. A size of 0 gives a valid, unique pointer.
 */
void *arena_alloc(struct arena *arena, size_t size);
/* Allocates count * size bytes and ends the program when the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Returns the number of bytes handed out so far. Tests use it to bound memory. */
size_t arena_used_B(const struct arena *arena);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
/* Sets item to the first of a list of free items, which their members `next` link, or to a new one.
 * A free item keeps its values. */
#define POOL_TAKE(arena, item, free)                                                               \
	((item) = (free), (item) ? (void)((free) = (item)->next)                                   \
				 : (void)((item) = arena_alloc((arena), sizeof *(item))))
#define POOL_GIVE(item, free) ((item)->next = (free), (free) = (item))
#define ARENA_ARRAY(arena, count, type)                                                            \
	((type *)arena_array((arena), (size_t)(count), sizeof(type)))
