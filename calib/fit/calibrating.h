/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of a calibration share: private to calib/fit. */
#ifndef FARWIRE_CALIB_FIT_CALIBRATING_H
#define FARWIRE_CALIB_FIT_CALIBRATING_H

#include "calib/fit/calibration.h"
#include "sim/host/host.h"

struct calibrating {
	struct arena *arena;
	const char *data_root;
	const struct recording *recording;
	uint64_t seed;
	double confidence; /* of intervals */
	struct calibration *result;
	/* Published peaks of a GPU that ships; 0: not known. */
	double peak_flops, peak_half_flops, peak_memory_Bps;
	double pcie_generation_count, pcie_width_count; /* as recorded, else as published */
};

/* A part of the whole: GPU calls and kernels, copies, arithmetic, forwarding,
 * hosts, collectives. */
void calibrate_calls(struct calibrating *c);
void calibrate_copies(struct calibrating *c);
void calibrate_compute(struct calibrating *c);
void calibrate_forwarding(struct calibrating *c);
void calibrate_host(struct calibrating *c);
void calibrate_collectives(struct calibrating *c);

/* The GPU's name as paths have it, and its published peaks. */
void calibrate_gpu_name(struct calibrating *c);

/* ---- measured values ---- */

/* The mean over the points that are found; false where there are none. */
bool calibrating_value(struct calibrating *c, const char *test, const char *words,
		       struct interval *value);
/* Values of points by pass, for estimates over draws. */
struct pass_values {
	size_t point_count, pass_count;
	/* of each point by rising value, with their passes; count < pass_count: not
	 * measured in all */
	const struct pass_entry {
		double value;
		size_t pass;
	} *const *entries;
	const size_t *counts;
	const double *means;
};
struct pass_values pass_values_of(struct arena *arena, const struct recording_point *const *points,
				  size_t count, size_t pass_count);
/* NaN: not measured in any pass of the draw. */
/* All points' values; what was not measured in these passes is what it is over all. False
 * where that is more than half of the points. */
bool pass_values_draw(const struct pass_values *values, const struct pass_draw *draw, double *out);

/* A line in at most `most` pieces over x; NULL where there is none, and then the reason
 * is in *why (there is none if nothing of the kind was measured). The points are
 * not looked up by words. */
const struct calibration_series *calibrating_series(struct calibrating *c, const char *test,
						    const char *words, const char *x_name,
						    size_t most, double limit_ratio);
const struct calibration_series *calibrating_series_of(struct calibrating *c,
						       const struct recording_point *const *points,
						       size_t count, const char *label,
						       const char *x_name, size_t most,
						       double limit_ratio);
/* Sets held_out_ratio and holds; for rooflines, whose points are filled elsewhere. */
void calibrating_gate(struct calibrating *c, struct calibration_series *series);
const char *calibrating_label(struct calibrating *c, const char *test, const char *words);

/* What sim/host takes for a byte of a flow besides `byte`: packet over its size. */
#define CALIBRATING_PACKETS_spB (0.4e-6 / OFFLOAD_PACKET_B)

/* ---- results ---- */

/* Adds a parameter; "gpu.*.x" gets the GPU's name. Not above zero, not finite: left out. */
void calibrating_found(struct calibrating *c, const char *path, enum quantity quantity,
		       struct interval value, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void calibrating_left_out(struct calibrating *c, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "held-out error 0.4 % of 12 points, rms 0.3 %": for notes. */
const char *calibrating_quality(struct calibrating *c, const struct calibration_series *series);

/* f times an interval; f over it; with d added. */
struct interval interval_times(struct interval interval, double factor);
struct interval interval_under(double numerator, struct interval interval);
struct interval interval_plus(struct interval interval, double more);
/* a - b with independent errors. */
struct interval interval_less(struct interval a, struct interval b);
struct interval interval_mean(struct interval a, struct interval b);

#endif
