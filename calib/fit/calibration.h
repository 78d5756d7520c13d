/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a recording to parameters of the simulator.
 *
 * Each test of a probe says something about a few parameters
 * (docs/models/calibration_fits.md has the formulas). What is measured over sizes
 * becomes a SERIES, a line in pieces or a roofline; what is one number is taken
 * as it is. All of it comes with a 90 % interval over the passes, as the simulator
 * draws from them (interval.h).
 *
 * A GATE stands between a series and its parameters: points that were measured,
 * but kept from the fit, must be met with a median error of at most 3 % (links),
 * 5 % (calls) or 10 % (matrix products). What fails, or cannot be told from this
 * recording, is LEFT OUT, with the reason: the simulator's default, which says
 * that it is one, is better than a wrong number.
 */
#ifndef FARWIRE_CALIB_FIT_CALIBRATION_H
#define FARWIRE_CALIB_FIT_CALIBRATION_H

#include <stdio.h>

#include "calib/fit/interval.h"
#include "calib/fit/recording.h"
#include "calib/fit/segments.h"
#include "sim/base/units.h"

struct calibrated {
	const char *path; /* "driver.launch" */
	enum quantity quantity;
	struct interval value; /* low and high NaN: one pass, no interval */
	const char *note;      /* what it comes from, and how well that was met */
};

struct calibration_left_out {
	const char *what, *why;
	bool gate; /* it failed one */
};

struct calibration_point {
	double x, y, low, high; /* 95 % of the median of a pass, the widest */
	double predicted;
	bool held_out;
};

struct calibration_series {
	const char *label;  /* "copy h2d pinned async rate" */
	const char *x_name; /* "size_B" */
	const struct calibration_point *points;
	size_t count, held_out_count;
	struct segments segments; /* count 0: a roofline */
	struct interval start_s[SEGMENTS_MAX], slope[SEGMENTS_MAX];
	double held_out_ratio, limit_ratio; /* median absolute error; NaN: none held out */
	bool holds;
};

struct calibration {
	const struct recording *recording;
	const char *gpu; /* as topologies/gpus/ and paths call it; NULL: none */
	double pcie_generation_count, pcie_width_count; /* of its slot; 0: not known */
	VEC(struct calibrated) parameters;
	VEC(struct calibration_left_out) left_out;
	VEC(struct calibration_series) series;
	VEC(const char *) remarks; /* sentences on what no parameter stands for */
	bool gate_failed;
};

/* NULL after errors, which are in diag: nothing of the recording says anything
 * about a parameter or a line. */
const struct calibration *calibration_run(struct arena *arena, struct diag *diag,
					  const char *data_root, const struct recording *recording,
					  uint64_t seed);

/* One profile of them all, a GPU's and a host's say; where two have one parameter, the later
 * one's holds. */
void calibration_write(FILE *out, struct arena *arena,
		       const struct calibration *const *calibrations, size_t count);
/* What `name` a profile of this recording would have: "h100-sxm5", "host". */
const char *calibration_name(const struct calibration *calibration);

#endif
