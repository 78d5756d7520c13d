/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pipeline schedules, each in its own file, and what they share. */
#pragma once

#include "sim/training/plan.h"

extern const struct pipeline_schedule schedule_gpipe, schedule_1f1b, schedule_interleaved,
	schedule_zb_h1;

/* Refuses stages with several chunks. */
const char *schedule_of_one_chunk(struct arena *arena, const struct pipeline_shape *shape);
