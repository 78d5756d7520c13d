/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/functions.h"

#include <fnmatch.h>

static const struct {
	const char *pattern;
	struct function_use use;
} rows[] = {
#define FUNCTION(pattern, kind, host) {pattern, {CALL_##kind, host}},
#include "sim/traces/functions.def"
#undef FUNCTION
};

/* Returns the name without "cuda" or "cu", or "hip" of AMD's runtime. Names such as
 * __cudaRegisterFatBinary begin with underscores. */
static const char *stem(const char *name)
{
	if (strncmp(name, "__cuda", strlen("__cuda")) == 0)
		name += strlen("__");
	if (strncmp(name, "hip", 3) == 0)
		return name + 3;
	if (strncmp(name, "cuda", 4) == 0)
		return name + 4;
	return strncmp(name, "cu", 2) == 0 ? name + 2 : name;
}

bool function_is_cuda(const char *name)
{
	const char *rest = stem(name);
	return rest != name && rest[0] >= 'A' && rest[0] <= 'Z';
}

void function_mark_library(const char *name, struct cuda_call *launch)
{
	static const char *const norms[] = {"dnnBatchNormalization*", "dnnNormalization*",
					    "dnnPooling*"};
	const char *rest = stem(name);
	launch->product = strncmp(rest, "blas", strlen("blas")) == 0;
	launch->by_library = launch->product || strncmp(rest, "dnn", strlen("dnn")) == 0;
	for (size_t i = 0; launch->by_library && i < sizeof norms / sizeof norms[0]; i++)
		launch->norm = launch->norm || fnmatch(norms[i], rest, 0) == 0;
}

const char *function_without_version(struct arena *arena, const char *name)
{
	char *function = arena_strdup(arena, name);
	for (char *c = function; (c = strstr(c, "_v")); c++)
		if (c[2] >= '0' && c[2] <= '9') {
			*c = '\0';
			break;
		}
	return function;
}

enum recorded_copy function_copy(const char *name)
{
	bool copies = strncmp(stem(name), "Memcpy", strlen("Memcpy")) == 0;
	enum recorded_copy copy = copies ? recorded_direction(name) : COPY_NONE;
	return copy <= COPY_D2D ? copy : COPY_NONE;
}

bool function_is_foreign_collective(const char *name)
{
	static const char *const names[] = {"ncclReduce", "ncclGather", "ncclScatter"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Returns the first row that matches the name. The last one matches every name. */
static size_t row_of(const char *name)
{
	size_t row = 0;
	while (fnmatch(rows[row].pattern, stem(name), 0) != 0)
		row++;
	return row;
}

bool function_is_known(const char *name)
{
	return function_is_cuda(name) || row_of(name) + 1 < sizeof rows / sizeof rows[0];
}

/* A copy within a GPU or between GPUs is simulated as a memset, whose GPU time is the recorded one.
 */
static enum call_kind copy_kind(const struct recorded_call *call)
{
	bool async = strstr(call->function, "Async") != NULL;
	switch (call->copy) {
	case COPY_H2D:
		return async ? CALL_MEMCPY_H2D_ASYNC : CALL_MEMCPY_H2D;
	case COPY_D2H:
		return async ? CALL_MEMCPY_D2H_ASYNC : CALL_MEMCPY_D2H;
	default:
		return CALL_MEMSET_ASYNC;
	}
}

struct function_use function_use(const struct recorded_call *call)
{
	if (call->copy != COPY_NONE)
		return (struct function_use){copy_kind(call), HOST_ROW};
	return rows[row_of(call->function)].use;
}
