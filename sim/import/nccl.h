/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the readers of nccl-tests' text and JSON.
 */
#pragma once

#include "sim/import/importer.h"

/* Returns "all_reduce" for "build/all_reduce_perf -b 8", or NULL for an unknown program. */
const char *import_nccl_program(struct importing *importing, const char *program);
/* Adds a point without name and ranks. import_nccl_name() later sets them for all points from
 * `first` on. */
void import_nccl_time(struct importing *importing, double size_B, double time_us);
void import_nccl_name(struct importing *importing, size_t first, const char *collective,
		      double ranks);
void import_nccl_json(struct importing *importing);
