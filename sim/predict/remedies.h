/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out by trials which changes of a case help against its bottleneck.
 *
 * Each bottleneck (breakdown.c) has a few remedies (remedies.def), which change a setting or
 * multiply parameters. Advice without a trial can be wrong, because the next bottleneck may be
 * close. So the case runs once more with each remedy, without draws. A remedy is named with its
 * gain if that is at least 2 %, at most six for forwarded programs and three for others. If no
 * remedy gains as much, the text says what was tried. */
#pragma once

#include "sim/predict/predict.h"

/* Longer runs are not repeated for advice, because each remedy needs a run of its own. */
enum { REMEDIES_EVENTS_MAX = 5000000 };

/* Returns for example "a runtime that batches calls (+95 %, ratio 0.997 in place of 0.510)". Gains
 * are of the throughput, and for model servers of the mean latency. If messages of keys and values
 * limit a server, the text also names the busiest link. Returns NULL if nothing could be tried or
 * the run was too long. */
const char *remedies_tried(struct arena *arena, const struct prediction *prediction,
			   const struct case_request *request, const struct scenario *scenario,
			   const struct point *point, const struct predict_options *options);
