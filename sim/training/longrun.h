/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A LONG RUN is a training job with its failures, checkpoints and restarts
 * (docs/models/goodput.md).
 *
 * Failures of GPUs, hosts, links and software are Poisson processes. A failure is detected, a spare
 * machine replaces a broken one, all processes start again and read the last complete checkpoint.
 * Then the job repeats its steps since that checkpoint. longrun_mean simulates this event by event,
 * with the times of a step and of a checkpoint as inputs. Another part,
 * sim/scenario/checkpoint.c, simulates how a checkpoint is copied, written and read.
 */
#pragma once

#include "sim/base/base.h"
#include "sim/base/param.h"

enum failure_cause {
	FAILURE_GPU,
	FAILURE_HOST,
	FAILURE_LINK,
	FAILURE_SOFTWARE,
	FAILURE_CAUSE_COUNT
};
const char *failure_cause_name(enum failure_cause cause); /* "GPUs" */

/* The rows in longrun.c describe each field. */
struct longrun_params {
	double gpu_mtbf_s, gpu_failures_count, host_mtbf_s, host_failures_count, link_mtbf_s,
		link_failures_count, software_mtbf_s, software_failures_count;
	double hang_ratio, detect_s, watchdog_s, schedule_s, start_s, connect_s, spare_ratio,
		repair_s;
	double checkpoint_interval_s;
	double checkpoint_plan_s;
	bool checkpoint_asynchronous, checkpoint_sharded;
	const char *checkpoint_storage;
	double checkpoint_work_spB;
};
extern const struct param_table longrun_table;

struct longrun {
	double work_s;     /* time of all steps without a failure, > 0 */
	double interval_s; /* work from one checkpoint to the next, > 0 */
	double pause_s;    /* time for which a checkpoint stops the steps */
	double behind_s;   /* time after that until the checkpoint is complete */
	double launch_s;   /* from the job's submission to its first step */
	double restart_s;  /* the same after a failure, with the loading of the checkpoint */
	double detect_s, watchdog_s, hang_ratio, repair_s;
	double rates_Hz[FAILURE_CAUSE_COUNT]; /* failures of the whole job in a second */
	size_t spares_count;
};

enum longrun_part {
	LONGRUN_LAUNCH,
	LONGRUN_STEPS,       /* steps that count */
	LONGRUN_CHECKPOINTS, /* pauses for checkpoints */
	LONGRUN_LOST,        /* steps that are repeated */
	LONGRUN_DETECTION,
	LONGRUN_REPAIR, /* waits for a machine */
	LONGRUN_RESTART,
	LONGRUN_PART_COUNT,
};
const char *longrun_part_name(enum longrun_part part); /* "lost work" */

struct longrun_outcome {
	double elapsed_s, failures_count;
	double parts_s[LONGRUN_PART_COUNT];   /* add up to elapsed_s */
	double causes_s[FAILURE_CAUSE_COUNT]; /* lost work, detection, repair and restart */
};

/* Plays the run with random failures of seeds [seed, seed + count), and returns the means. A run
 * that hardly ever reaches a checkpoint takes INFINITY. */
struct longrun_outcome longrun_mean(const struct longrun *run, uint64_t seed, size_t count);

/* Returns the mean time between failures of the job; INFINITY: it has none. */
double longrun_mtbf_s(const struct longrun *run);
/* Return the optimum interval: Young's sqrt(2 C M) (CACM 17, 9, 1974), and Daly's higher-order
 * estimate (FGCS 22, 2006, equation 37). C is the pause, and M the mean time between failures. */
double longrun_young_s(const struct longrun *run);
double longrun_daly_s(const struct longrun *run);
/* Returns Daly's expected time of a run whose failures are detected at once and wait for no repair
 * (equation 20): M e^(R/M) (e^((interval + C)/M) - 1) work / interval. R is the restart. */
double longrun_expected_s(const struct longrun *run);
/* Returns the interval with which simulated runs take the least time, between `least_s` and the
 * whole work. All intervals meet the same failures. */
double longrun_best_s(const struct longrun *run, double least_s, uint64_t seed, size_t count);
