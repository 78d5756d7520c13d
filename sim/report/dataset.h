/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a dataset. dataset.c makes its tables, what_if.c the table of a
 * what-if, and dataset_figures.c the figures. */
#pragma once

#include "sim/report/part.h"

struct part {
	struct report *report;
	struct arena *arena;
	const struct dataset_outcome *outcome;
	const struct dataset *dataset;
};

/* Returns the set of enum prediction_kind of the rows. */
unsigned part_kinds(const struct part *part);

/* Adds charts of predicted against measured values, and curves with measurements. */
void part_figures(const struct part *part);
/* Adds the parts of the step times, a timeline of one step, and the topologies. */
void part_scenes(const struct part *part);
