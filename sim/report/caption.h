/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caption of a figure: version, case, seed, draws and settings, so that it can be repeated. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena;

struct caption {
	const char *subject;  /* the case or dataset; NULL for several */
	const char *settings; /* ", key=value" for each setting */
	uint64_t seed;
	size_t draws;
};
/* Returns for example "farwire 0.1.0, ddl-host, seed 1, 90 % intervals from 24 draws,
 * case.batch=8". */
const char *caption_text(struct arena *arena, const struct caption *caption);
