/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of a resolution: pending overrides and parameters already read. */
#pragma once

#include "sim/cfg/cfg.h"

/* Each of these three functions returns the last override of one kind for path, or NULL, and marks
 * all overrides of path as used. The kinds are --set, a profile's node and a draw. */
struct cfg_setting {
	const char *text;
	struct origin origin;
};
const struct cfg_setting *cfg_resolution_setting(struct cfg_resolution *resolution,
						 const char *path);
const struct cfg_node *cfg_resolution_node(struct cfg_resolution *resolution, const char *path);
const double *cfg_resolution_draw(struct cfg_resolution *resolution, const char *path);

void cfg_resolution_record(struct cfg_resolution *resolution, const struct cfg_param *param);
/* Returns the arena for data that lives as long as the record. */
struct arena *cfg_resolution_arena(struct cfg_resolution *resolution);
