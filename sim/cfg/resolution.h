/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of a resolution: overrides to come, parameters already read. */
#ifndef FARWIRE_CFG_RESOLUTION_H
#define FARWIRE_CFG_RESOLUTION_H

#include "sim/cfg/cfg.h"

/* The last --set of path, and the last draw of it; NULL if there is none.
 * Marks all of that path as used. */
struct cfg_setting {
	const char *text;
	struct origin origin;
};
const struct cfg_setting *cfg_resolution_setting(struct cfg_resolution *resolution,
						 const char *path);
const struct cfg_node *cfg_resolution_node(struct cfg_resolution *resolution, const char *path);
const double *cfg_resolution_draw(struct cfg_resolution *resolution, const char *path);

void cfg_resolution_record(struct cfg_resolution *resolution, const struct cfg_param *param);
/* For what lives as long as the record. */
struct arena *cfg_resolution_arena(struct cfg_resolution *resolution);

#endif
