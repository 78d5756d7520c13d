/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the settings of a command or a case file that change nothing in its result.
 *
 * A setting can be dropped in many places: a job style may not use a group of parameters, a file
 * may not fit the job, a link may carry nothing, or memory may be large enough anyway. No list of
 * such places would be complete. So each setting is tried: the case runs again without it, and
 * if every number is the same to the last bit, the setting had no effect. A setting that
 * repeats the value that the case would have anyway is not named. */
#pragma once

#include "sim/predict/predict.h"

/* Returns true if two readings of a case resolved the same parameters to the same values. */
bool resolutions_equal(const struct cfg_resolution *a, const struct cfg_resolution *b);
/* Returns the settings without effect on the prediction, which has no draws, separated by commas.
 * Those of the command line (their origin is an option) are as the user wrote them: "--transport
 * rdma, --set link.wire.latency=5us". Those of a case file that is not shipped have their place:
 * "case.transport=rdma (job.cfg:5)".
 * Returns NULL if there is none, if the prediction has failed, or if the run has more than
 * EFFECTS_EVENTS_MAX events, because each setting needs one more run. */
enum { EFFECTS_EVENTS_MAX = 1000000 };
const char *settings_without_effect(struct arena *arena, const struct case_request *request,
				    const struct prediction *prediction,
				    const struct predict_options *options);
