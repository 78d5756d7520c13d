/* SPDX-License-Identifier: Apache-2.0 */
/* A fake device with given ("planted") parameters and its own clock. It tests that the probes find
 * the planted parameters. The same device on the real clock is called "spin": its kernels are waits
 * of the CPU, so that forwarding can be measured on a machine without a GPU. A forwarded fake
 * device is a fake device whose calls arrive later. */
#pragma once

#include "calib/probe/gpu.h"
#include "tests/fake_gpu/planted.h"
#include "calib/sample/clock.h"
#include "calib/sample/plan.h"

enum fake_kind { FAKE_KERNEL, FAKE_COPY, FAKE_BLOCK, FAKE_RECORD, FAKE_WAIT };

struct fake_operation {
	enum fake_kind kind;
	int stream, event, slot, engine; /* slot and engine: -1 for none */
	/* exact, without noise, like a kernel that waits for a timer */
	double spin_s;
	double submitted_s, duration_s, end_s;
	size_t argument_B;
	bool known;
};

struct fake_stream {
	double end_s;      /* end of its last operation with a known time */
	bool gap_follows;  /* the next kernel starts after a gap */
	size_t open_count; /* number of operations without a known time */
};

struct fake {
	struct probe_gpu gpu;
	struct planted planted;
	struct plan_random random;
	bool real;     /* uses the real clock of the host; time passes by spinning */
	double zero_s; /* origin of the real clock */
	double clock_s;
	size_t calls_count;
	struct fake_operation *operations; /* in order of submission */
	size_t count, room, first;
	size_t argument_B; /* sum over operations from `first` on */
	struct fake_stream streams[GPU_STREAMS];
	struct {
		double time_s;
		bool open; /* recorded by an operation without a known time */
	} events[GPU_EVENTS];
	struct {
		double begin_s, end_s;
	} stamps[GPU_SLOTS];
	double engines_s[2];    /* end of the copy engines' work */
	double kernels_s[1024]; /* time at which each slot for a kernel becomes free */
	double compute_s;       /* end of the last kernel */
	bool blocked;
	double blocked_from_s, block_timeout_s, released_s; /* < 0: not released */
	size_t nodes_count;
	struct gpu_work work;
};

/* Environment variable with the name of the file of planted parameters. */
#define FAKE_PLANT "FARWIRE_FAKE_PLANT"

extern const struct gpu_api gpu_fake, gpu_spin;

struct forward_options;
int fake_new(bool real, struct fake **fake, char *why);
int fake_forward_open(struct probe_gpu *local, const struct forward_options *options,
		      struct probe_gpu **far, char *why);
double fake_now_s(struct fake *fake);
void fake_advance_to(struct fake *fake, double time_s);
/* Advances the host's clock by about time_s, with noise, outliers and drift. */
void fake_spend(struct fake *fake, double time_s);
double fake_noisy(struct fake *fake, double time_s);

/* Adds an operation to its stream; the host first waits for room if necessary. */
int fake_submit(struct fake *fake, struct fake_operation operation);
/* Makes the host wait for a stream, after the cost of the call. */
void fake_wait_stream(struct fake *fake, int index);
/* Computes the times of all operations that follow from known times. */
void fake_know_all(struct fake *fake);
/* Ends a blocker by its timeout, because the host waits for work behind it. */
void fake_give_up_block(struct fake *fake);
void fake_drop_done(struct fake *fake);
