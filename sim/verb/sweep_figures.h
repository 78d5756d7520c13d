/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep drawn: curves over one axis, a map over two. */
#ifndef FARWIRE_VERB_SWEEP_FIGURES_H
#define FARWIRE_VERB_SWEEP_FIGURES_H

#include "sim/verb/verb.h"

/* Draws to command->plot; an exit code, having said why. */
int sweep_draw(const struct command *command, const struct sweep *sweep);

#endif
