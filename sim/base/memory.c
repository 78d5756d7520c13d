/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libconfig does not check whether its allocations succeed. The Makefile links it statically with
 * the linker's option --wrap, which sends all calls of these functions in farwire and in libconfig
 * here. Without memory the program then ends with a message, as arenas do. */
#include "sim/base/arena.h"

/* the linker's names */
void *__real_malloc(size_t size_B);
void *__real_calloc(size_t count, size_t size_B);
void *__real_realloc(void *memory, size_t size_B);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size_B);
void *__wrap_calloc(size_t count, size_t size_B);
void *__wrap_realloc(void *memory, size_t size_B);
char *__wrap_strdup(const char *text);

static void *checked(void *memory, size_t size_B)
{
	if (!memory && size_B > 0)
		arena_out_of_memory();
	return memory;
}

void *__wrap_malloc(size_t size_B)
{
	return checked(__real_malloc(size_B), size_B);
}

void *__wrap_calloc(size_t count, size_t size_B)
{
	return checked(__real_calloc(count, size_B), count ? size_B : 0);
}

void *__wrap_realloc(void *memory, size_t size_B)
{
	return checked(__real_realloc(memory, size_B), size_B);
}

char *__wrap_strdup(const char *text)
{
	return checked(__real_strdup(text), 1);
}
