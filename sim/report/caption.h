/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caption of a figure: version, case, seed, draws, settings, profiles and the hash of the
 * configuration, so that it can be repeated. */
#pragma once

#include "sim/base/base.h"

struct arena;
struct cfg_resolution;

struct caption {
	const char *subject;  /* the case or dataset; NULL for several */
	const char *settings; /* ", key=value" for each setting */
	uint64_t seed;
	size_t draws;
	const char *configuration; /* from caption_configuration; NULL: unknown */
};
/* Returns for example "farwire 0.2.0, ddl-host, seed 1, 90 % intervals from 24 draws,
 * case.batch=8, configuration 1f0a...". */
const char *caption_text(struct arena *arena, const struct caption *caption);
/* Returns a hash of all resolved parameters of these cases as text. `farwire explain` prints that
 * of one case, too. */
const char *caption_hash(struct arena *arena, const struct cfg_resolution *const *cases,
			 size_t count);
/* Returns the fitted profiles that set parameters, and the hash: "profiles pascal, nccl-v100,
 * configuration 1f0a5b3c". */
const char *caption_configuration(struct arena *arena, const struct cfg_resolution *const *cases,
				  size_t count);
