/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the fake device, which fake_forward.c drives, too: a forwarded
 * fake is a fake whose calls come late. */
#ifndef FARWIRE_CALIB_PROBE_FAKE_H
#define FARWIRE_CALIB_PROBE_FAKE_H

#include "calib/probe/gpu.h"
#include "calib/probe/planted.h"
#include "calib/sample/plan.h"

enum fake_kind { FAKE_KERNEL, FAKE_COPY, FAKE_BLOCK, FAKE_RECORD, FAKE_WAIT };

struct fake_operation {
	enum fake_kind kind;
	int stream, event, slot, engine; /* slot, engine: -1 for none */
	double spin_s;                   /* exact, as kernels that wait for a timer are */
	double submitted_s, duration_s, end_s;
	size_t argument_B;
	bool known;
};

struct fake_stream {
	double end_s;      /* of its last operation whose time is known */
	bool gap_follows;  /* the next kernel starts a gap later */
	size_t open_count; /* operations whose time is not known yet */
};

struct fake {
	struct gpu gpu;
	struct planted planted;
	struct plan_random random;
	bool real;     /* the host's real clock; times pass by spinning */
	double zero_s; /* of the real clock */
	double clock_s;
	size_t calls_count;
	enum gpu_wait wait;
	struct fake_operation *operations; /* in the order of submission */
	size_t count, room, first;
	size_t argument_B; /* of those from the first on */
	struct fake_stream streams[GPU_STREAMS];
	struct {
		double time_s;
		bool open; /* recorded by an operation whose time is not known yet */
	} events[GPU_EVENTS];
	struct {
		double begin_s, end_s;
	} stamps[GPU_SLOTS];
	double engines_s[2];    /* copy engines are busy until */
	double kernels_s[1024]; /* when each place for a kernel gets free */
	double compute_s;       /* the last kernel's end */
	bool blocked;
	double blocked_from_s, block_timeout_s, released_s; /* < 0: not released */
	size_t nodes_count, first_launches_count;
	struct gpu_work work;
};

int fake_new(const struct gpu_options *options, bool real, struct fake **fake, char *why);
double fake_now_s(struct fake *fake);
void fake_advance_to(struct fake *fake, double time_s);
/* The host is busy for about so long: with noise, outliers and drift. */
void fake_spend(struct fake *fake, double time_s);
double fake_noisy(struct fake *fake, double time_s);
double fake_real_s(void);

/* An operation enters its stream, if need be after the host waited for room. */
int fake_submit(struct fake *fake, struct fake_operation operation);
/* The host waits for a stream, after the call's own cost. */
void fake_wait_stream(struct fake *fake, int index);
/* Finds the times of all operations that follow from what is known. */
void fake_know_all(struct fake *fake);
/* What a blocker does whose host waits for what is behind it. */
void fake_give_up_block(struct fake *fake);
void fake_drop_done(struct fake *fake);

#endif
