/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which calibration would narrow a parameter: measures.def, by path. */
#ifndef FARWIRE_VERB_MEASURES_H
#define FARWIRE_VERB_MEASURES_H

#include <stdbool.h>
#include <stddef.h>

struct measure_row {
	const char *path, *words;
};
size_t measure_count(void);
const struct measure_row *measure_at(size_t index);
/* NULL: nothing that ships measures it. */
const char *measure_of(const char *path);

#endif
