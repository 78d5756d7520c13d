/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a point that is about training jobs and collectives. */
#ifndef FARWIRE_PREDICT_JOB_POINT_H
#define FARWIRE_PREDICT_JOB_POINT_H

#include "sim/predict/predict.h"

/* world_run, but for a step of one GPU alone that baselines may know; NULL: none are kept. */
struct world_outcome job_run_known(struct arena *arena, const struct scenario *scenario,
				   uint64_t seed, struct baselines *baselines, struct trace *trace);
/* Throughput (of a collective: bus bandwidth, B/s), step and utilisation of a
 * job's steady steps; its ratio is NaN. */
struct client_point job_steady(const struct scenario *scenario, const struct world_outcome *outcome,
			       const struct job_run *run);
/* Each job's scaling efficiency: throughput over ranks times the job on its first
 * GPU alone; of a collective none. */
void job_add_ratios(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		    struct point *point);
void job_add_utilization(const struct scenario *scenario, struct point *point);
/* Where a step goes, in the mean over the jobs and their ranks: fills breakdown,
 * bottleneck and what is said of jobs alone. */
void job_summarize(struct arena *arena, const struct scenario *scenario, const struct point *point,
		   struct prediction *prediction);

#endif
