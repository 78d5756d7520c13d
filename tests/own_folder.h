/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A test program whose tests write files: an arena, the errors of the last input, and a folder
 * in /tmp that is removed at the end. A test removes the files that it writes. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "tests/test.h"

static struct arena *arena;
static struct diag *diag;
static char folder[] = "/tmp/farwire-test-XXXXXX";

static inline const char *path_of(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static inline void write_file(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "w");
	if (!CHECK(out != NULL))
		return;
	fputs(text, out);
	fclose(out);
}

static inline bool folder_begin(void)
{
	num_init();
	arena = arena_new();
	return mkdtemp(folder) != NULL;
}

static inline void folder_end(void)
{
	rmdir(folder);
	arena_free(arena);
}
