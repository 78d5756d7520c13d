/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/param.h"

#include <string.h>

#include "sim/base/diag.h"

static bool is_unit(const char *word)
{
	static const char *const units[] = {"s",  "B",     "Bps",   "flop", "flops",
					    "Hz", "ratio", "count", "spB"};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(word, units[i]) == 0)
			return true;
	return false;
}

void param_key(const struct param_row *row, char *key, size_t size)
{
	const char *last = strrchr(row->field, '_');
	size_t length = strlen(row->field);
	if (row->kind == PARAM_KIND_NUMBER && last && last > row->field && is_unit(last + 1))
		length = (size_t)(last - row->field);
	FW_ASSERT(length < size);
	memcpy(key, row->field, length);
	key[length] = '\0';
}
