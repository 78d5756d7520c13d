/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of measurements, CLOCK_MONOTONIC, which is the same for all processes. */
#pragma once

#include <time.h>

static inline double clock_now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
