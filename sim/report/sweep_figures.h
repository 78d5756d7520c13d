/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What comes of a sweep: its table, and its drawing: curves over one axis, a map over two. */
#ifndef FARWIRE_REPORT_SWEEP_FIGURES_H
#define FARWIRE_REPORT_SWEEP_FIGURES_H

#include "sim/verb/verb.h"

/* A line for each point: its values of the axes, then its answers. */
const struct result_table *sweep_table(struct arena *arena, const struct sweep *sweep);
struct drawing *sweep_chart(const struct command *command, const struct sweep *sweep);
/* Draws to command->plot; an exit code, having said why. */
int sweep_draw(const struct command *command, const struct sweep *sweep);

#endif
