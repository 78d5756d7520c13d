/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two formulas that a user could compute without a simulator, as baselines for the errors of
 * datasets of forwarded calls:
 *
 *   formula   = local step + answered calls * round trip + bytes / bandwidth
 *   with costs = formula + answered calls * answered + sent calls * sent + bytes * byte
 *
 * The calls of a step are counted in the simulated run, which knows from the policy of the runtime
 * which of them wait. Bytes are the payload of all messages in both directions. The round trip is
 * that of the dataset's column, or of the links. The costs are the dataset's. */
#pragma once

#include "sim/workload/job.h"

struct dataset_reader;
struct dataset_row;
struct row_outcome;

/* A predictor of rows: farwire, or a formula. The errors of ideal scaling are only summed up. */
enum predictor {
	BY_FARWIRE,
	BY_PENCIL,
	BY_PENCIL_COSTS,
	PREDICTOR_COUNT,
	BY_LINEAR = PREDICTOR_COUNT,
};

/* The group `pencil` of a dataset. */
struct pencil_costs {
	bool asked, given; /* the dataset has the group, and the group has a cost */
	double answered_s, sent_s, byte_spB;
};

/* The numbers of the formulas for a row, and what they predict. The arrays are NaN if the row has
 * no measured number or its case forwards no calls. */
struct pencil {
	struct forwarded_step step;
	double local_s;                      /* step of the same program with the local driver */
	double predicted[PREDICTOR_COUNT];   /* the measured quantity */
	double error[PREDICTOR_COUNT];       /* predicted / measured - 1 */
	double added_error[PREDICTOR_COUNT]; /* of the time that is added to the local step; NaN
						if the local time is not known */
};

void pencil_read_costs(struct dataset_reader *r);
/* Reads the row's local measurement, which is multiplied by scale, and its round trip. They are NaN
 * if the dataset has no columns for them, or the cell is NA. */
void pencil_read_row(struct dataset_reader *r, size_t line, double scale, struct dataset_row *row);

/* Computes outcome->pencil. The row has been predicted with this seed. */
void pencil_row(const struct pencil_costs *costs, const char *data_root, uint64_t seed,
		struct row_outcome *outcome);
