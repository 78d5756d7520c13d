/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/measures.h"

#include <string.h>

static const struct measure measures[] = {
#define MEASURE(path, words) {path, words},
#include "sim/verb/measures.def"
#undef MEASURE
};

size_t measure_count(void)
{
	return sizeof measures / sizeof measures[0];
}

const struct measure *measure_at(size_t index)
{
	return &measures[index];
}

/* "*" on either side stands for any part: an unknown of several guests has one, too. */
static bool matches(const char *pattern, const char *path)
{
	for (;;) {
		size_t wanted = strcspn(pattern, "."), given = strcspn(path, ".");
		bool any = (wanted == 1 && *pattern == '*') || (given == 1 && *path == '*');
		if (!any && (wanted != given || memcmp(pattern, path, given) != 0))
			return false;
		if (!pattern[wanted] || !path[given])
			return !pattern[wanted] && !path[given];
		pattern += wanted + 1;
		path += given + 1;
	}
}

const char *measure_of(const char *path)
{
	for (size_t i = 0; i < measure_count(); i++)
		if (matches(measures[i].path, path))
			return measures[i].words;
	return NULL;
}
