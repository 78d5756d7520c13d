/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts programs that the probe ran through its forwarder (the test `stream`,
 * docs/calibration.md) from the fitted parameters. No fit uses these programs, so their errors
 * judge the whole calibration. The simulated system is two bare hosts and a link with the
 * latency and bandwidth that the forwarder added. */
#pragma once

#include "calib/fit/calibration.h"
#include "sim/predict/predict.h"

/* One measured point of the test, and its prediction. */
struct stream {
	const char *program, *mode;
	double kernel_s, latency_s, rate_Bps, copied_B;
	double measured_s, error_ratio;
	struct estimate predicted;
};
struct streams {
	struct stream *items;            /* by program, kernel, latency, rate and mode */
	size_t count;                    /* 0: the recording has none */
	double median_ratio, most_ratio; /* absolute errors */
};

/* Predicts all points of the test. A program that cannot be predicted is left out, with an error
 * in diag. */
struct streams streams_predict(struct arena *arena, struct diag *diag,
			       const struct calibration *calibration, const char *data_root,
			       uint64_t seed);
