/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test of the whole calibration: programs that the probe ran through its forwarder, and
 * that no fit has seen (the test `stream`, docs/calibration.md), predicted from the
 * parameters that were fitted. Two bare hosts and a wire with the latency and rate that the
 * forwarder added stand for the loopback.
 */
#ifndef FARWIRE_FIT_STREAMS_H
#define FARWIRE_FIT_STREAMS_H

#include "calib/fit/calibration.h"
#include "sim/predict/predict.h"

/* A point of the test, as measured and as predicted. */
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

/* Programs that cannot be predicted are left out, with errors in diag. */
struct streams streams_predict(struct arena *arena, struct diag *diag,
			       const struct calibration *calibration, const char *data_root,
			       uint64_t seed);

#endif
