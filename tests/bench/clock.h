/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions by which a benchmark reads the machine, in C and C++ alike. */
#ifndef FARWIRE_TESTS_BENCH_CLOCK_H
#define FARWIRE_TESTS_BENCH_CLOCK_H

#include <sys/resource.h>
#include <time.h>

/* This process on its core: on a machine that others use as well, the time that
 * they take does not count. */
static inline double clock_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Most memory that it has had. */
static inline double clock_peak_B(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return 1024.0 * (double)usage.ru_maxrss;
}

#endif
