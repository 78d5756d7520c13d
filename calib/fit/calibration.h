/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derives parameters of the simulator from a recording.
 *
 * Each test of a probe determines a few parameters (docs/models/calibration_fits.md has the
 * formulas). Measurements over sizes become a series, which is a piecewise line or a group of
 * kernels; a single number is used directly. Each result has a 90 % interval over the passes
 * (interval.h), from which the simulator draws.
 *
 * A gate stands between each segment of a series and the parameters that it determines. Points that
 * were measured but held out from the fit must be predicted with a median error of at most 3 %
 * (links), 5 % (calls) or 10 % (kernels). The same applies to each fitted point if the line
 * is fitted without it, so that the whole range is judged. The root mean square of the residuals
 * may be four times as large. A parameter that fails its gate, or that this recording cannot
 * determine, is left out with the reason. The simulator's default, which is marked as one, is
 * better than a wrong number.
 */
#pragma once

#include "calib/fit/interval.h"
#include "calib/fit/recording.h"
#include "calib/fit/segments.h"

struct calibrated {
	const char *path; /* for example "driver.launch" */
	enum quantity quantity;
	struct estimate value; /* low and high are NaN after a single pass */
	const char *note;      /* source and quality of the fit */
};

struct calibration_left_out {
	const char *what, *why;
	bool gate; /* the value failed a gate */
};

struct calibration_point {
	double x, y, low, high; /* widest 95 % interval of the medians of the passes */
	double predicted;
	bool held_out;
};

struct calibration_series {
	const char *label;  /* for example "copy h2d pinned async rate" */
	const char *x_name; /* for example "size_B" */
	const struct calibration_point *points;
	size_t count, held_out_count;
	struct segments segments; /* count is 0 for kernels */
	struct estimate start_s[SEGMENTS_MAX], slope[SEGMENTS_MAX];
	/* median absolute error and its limit; NaN: nothing is held out */
	double held_out_ratio, limit_ratio;
	/* Kernels: error of the held-out points in the geometric mean, and the same with the
	 * constants that apply without this fit; NaN: unknown */
	double geomean_ratio, default_ratio;
	double rough_ratio; /* largest median error of a rough piece; 0: none is rough */
	bool piece_holds[SEGMENTS_MAX]; /* of each segment, or half of the products */
	bool holds;                     /* all of them */
};

struct calibration {
	const struct recording *recording;
	const char *gpu; /* name in topologies/gpus/ and in paths; NULL: no GPU */
	double pcie_generation_count, pcie_width_count; /* the GPU's slot; 0: unknown */
	VEC(struct calibrated) parameters;
	VEC(struct calibration_left_out) left_out;
	VEC(struct calibration_series) series;
	VEC(const char *)
	remarks; /* sentences on rough lines, and on results that set no parameter */
	bool gate_failed;
};

/* Returns NULL after errors, which are in diag. It is an error if the recording determines no
 * parameter and no line. */
const struct calibration *calibration_run(struct arena *arena, struct diag *diag,
					  const char *data_root, const struct recording *recording,
					  uint64_t seed);

/* Returns the parts of the machine of which no parameter was fitted, for example "forwarded calls,
 * matrix products"; "" if there is none. */
const char *calibration_unfitted(struct arena *arena, const struct calibration *calibration);

/* Writes one profile from several calibrations, for example of a GPU and of a host. If two contain
 * the same parameter, the later one is used. */
void calibration_write(FILE *out, struct arena *arena,
		       const struct calibration *const *calibrations, size_t count);
/* Returns the name of a profile of this recording: "h100-sxm5" or "host". */
const char *calibration_name(const struct calibration *calibration);
