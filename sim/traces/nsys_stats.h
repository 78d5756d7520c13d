/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables that `nsys stats --format csv` writes, as the database that `nsys export` writes.
 *
 * The reports cuda_api_trace and cuda_gpu_trace list single calls, kernels and copies with
 * correlation numbers. nvtx_pushpop_trace lists ranges. All are in one file, in any order, with
 * other lines between them. Times are in ns unless the title of their column names another unit.
 * nsys rounds the bytes of copies to 1 kB. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct diag;
struct sqlite3;

/* Copies the tables to a new database, with the columns that nsys_read (nsys.h) uses. Returns false
 * after an error, which is in diag. */
bool nsys_stats_read(struct diag *diag, FILE *in, const char *path, struct sqlite3 *db);
