/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions by which a benchmark reads the machine, for C and C++. */
#pragma once

#include <sys/resource.h>
#include <time.h>

/* Processor time of this process. Other programs on the machine do not change it. */
static inline double clock_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Peak memory of this process. */
static inline double clock_peak_B(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return 1024.0 * (double)usage.ru_maxrss;
}
