/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report on a dataset: dataset.c has its tables, what_if.c those of a what-if,
 * and dataset_figures.c its figures. */
#ifndef FARWIRE_REPORT_DATASET_H
#define FARWIRE_REPORT_DATASET_H

#include "sim/report/part.h"

struct part {
	struct report *report;
	struct arena *arena;
	const struct dataset_outcome *outcome;
	const struct dataset *dataset;
};

/* The set of enum prediction_kind among its rows. */
unsigned part_kinds(const struct part *part);

/* low and high: the least and largest prediction of the rows that count with a value of the
 * first dimension; low > high: none of them runs. */
struct estimate part_range(const struct part *part, size_t value);

/* The answer of a what-if and its combinations. */
void report_what_if(const struct part *part);

/* Ratios to the local GPU as bars, where the rows have one. */
void part_bars(const struct part *part, const struct row_outcome *rows, const char *title);
/* Predicted against measured, and measured curves. */
void part_figures(const struct part *part);
/* Where steps go, one step in time, the topologies. */
void part_scenes(const struct part *part);

#endif
