/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both forms of nccl-tests' results share: its text, and its JSON.
 */
#ifndef FARWIRE_CALIB_FIT_IMPORT_NCCL_H
#define FARWIRE_CALIB_FIT_IMPORT_NCCL_H

#include "calib/fit/import.h"

/* "build/all_reduce_perf -b 8" is all_reduce; NULL: nothing. */
const char *import_nccl_program(struct importing *importing, const char *program);
/* A point without name and ranks; import_nccl_name() gives them to those from first on. */
void import_nccl_time(struct importing *importing, double size_B, double time_us);
void import_nccl_name(struct importing *importing, size_t first, const char *collective,
		      double ranks);
void import_nccl_json(struct importing *importing);

#endif
