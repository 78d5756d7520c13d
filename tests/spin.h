/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "calib/sample/clock.h"

/* Keeps the processor busy until time_s. */
static inline void clock_spin_until(double time_s)
{
	while (clock_now_s() < time_s)
		;
}
