/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the parts of a calibration. Private to calib/fit. */
#pragma once

#include "calib/fit/calibration.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"
#include "sim/host/host.h"

struct calibrating {
	struct arena *arena;
	const char *data_root;
	const struct recording *recording;
	uint64_t seed;
	double confidence; /* probability of the intervals */
	struct calibration *result;
	/* A shipped file gives the GPU, and profiles the constants of its generation. If there is
	 * no such file, generation is NULL, gpu has no rates, and kernels are those of Volta. */
	const char *generation;
	struct gpu_params gpu;
	struct kernel_params kernels;
	double sm_count; /* from the recording, else from the GPU file; 0: unknown */
	/* from the recording, else from the GPU file */
	double pcie_generation_count, pcie_width_count;
};

/* Each function fits one part: GPU calls and kernels, copies, arithmetic, hosts. */
void calibrate_calls(struct calibrating *c);
void calibrate_copies(struct calibrating *c);
void calibrate_compute(struct calibrating *c);
void calibrate_host(struct calibrating *c);

/* Determines the GPU's name in paths and its published peak rates. */
void calibrate_gpu_name(struct calibrating *c);

/* ---- measured values ---- */

/* Finds the points of a test that have the words and numbers; returns how many. A point without a
 * number of that name has each value. */
size_t calibrating_find(struct calibrating *c, const char *test, const char *words,
			const struct recording_number *numbers, size_t number_count,
			const struct recording_point *const **found);
/* Stores the mean over the matching points; returns false if there are none. */
bool calibrating_value(struct calibrating *c, const char *test, const char *words,
		       struct estimate *value);
/* Returns the value of one point between the ends of the intervals of its passes. */
struct estimate calibrating_point(const struct recording_point *point);
/* The values of points in each pass, for estimates over draws of passes. */
struct pass_values {
	size_t point_count, pass_count;
	/* for each point its values in ascending order, with their passes; fewer than pass_count if
	 * it was not measured in all passes */
	const struct pass_entry {
		double value;
		size_t pass;
	} *const *entries;
	const size_t *counts;
	const double *means;
};
struct pass_values pass_values_of(struct arena *arena, const struct recording_point *const *points,
				  size_t count, size_t pass_count);
/* Stores the values of all points. A point that was not measured in these passes gets its overall
 * value. Returns false if that affects more than half of the points. */
bool pass_values_draw(const struct pass_values *values, const struct pass_draw *draw, double *out);

/* Returns what intervals over draws of passes need besides the estimate. */
struct interval_spec calibrating_spec(const struct calibrating *c, const char *name);
/* Fits a piecewise line over x with at most `most` pieces. On failure it returns NULL and records
 * the reason as left out, unless no such point was measured. The second function takes given points
 * instead of searching them by words. */
const struct calibration_series *calibrating_series(struct calibrating *c, const char *test,
						    const char *words, const char *x_name,
						    size_t most, double limit_ratio);
const struct calibration_series *calibrating_series_of(struct calibrating *c,
						       const struct recording_point *const *points,
						       size_t count, const char *label,
						       const char *x_name, size_t most,
						       double limit_ratio);
/* Sets held_out_ratio, rough_ratio and holds. Only kernels need to call it. */
void calibrating_gate(struct calibrating *c, struct calibration_series *series);
/* Widens an interval to at least this part of its value on both sides. */
void calibrating_widen(struct estimate *interval, double ratio);
/* Return true if the first or last segment of a line passed its gate; false for NULL. A parameter
 * depends only on the segment that determines it. */
bool calibrating_first_holds(const struct calibration_series *series);
bool calibrating_last_holds(const struct calibration_series *series);
const char *calibrating_label(struct calibrating *c, const char *test, const char *words);

/* Cost per byte of a flow in sim/host in addition to `byte`: the cost of a packet divided by its
 * size. */
#define CALIBRATING_PACKETS_spB (0.4e-6 / OFFLOAD_PACKET_B)

/* Defaults of sim/host for the parts of a message. */
#define CALIBRATING_SEND_S    3e-6
#define CALIBRATING_RECEIVE_S 5e-6
#define CALIBRATING_WAKE_S    4e-6
#define CALIBRATING_WAY_S     (CALIBRATING_SEND_S + CALIBRATING_RECEIVE_S + CALIBRATING_WAKE_S)

/* ---- results ---- */

/* Adds the parts of a message that takes `way`: the send, the receiver's work, which has its part
 * of the defaults but takes at most receive_most_s, and the rest, in which a sleeping thread wakes.
 */
void calibrating_message(struct calibrating *c, struct estimate way, struct estimate send,
			 double receive_most_s, const char *send_note, const char *note);

/* Adds a parameter. In "gpu.*.x" the star is replaced by the GPU's name. A value that is not
 * positive and finite is left out, with a note. */
void calibrating_found(struct calibrating *c, const char *path, enum quantity quantity,
		       struct estimate value, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void calibrating_left_out(struct calibrating *c, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns for example "held-out error 0.4 % of 12 points, rms 0.3 %", for notes. */
const char *calibrating_quality(struct calibrating *c, const struct calibration_series *series);
