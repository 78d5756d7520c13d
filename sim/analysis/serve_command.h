/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line with which a model server runs a layout. The group `command` of the engine's
 * file in models/engines/ has the options; serve_command.c lists its keys. */
#pragma once

#include "sim/analysis/serve_search.h"

/* Returns the commands of a replica, those for prompts and for tokens on two lines; NULL: the case
 * has no engine, or its file has no command `run`. */
const char *serve_command(struct arena *arena, const struct scenario *scenario,
			  const struct serve_layout *layout);
