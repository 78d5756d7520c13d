/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/loggp.h"

double loggp_gap_s(double train_s, double single_s, double n)
{
	return (train_s - single_s) / (n - 1);
}

double loggp_overhead_s(double train_s, double single_s, double n, double delay_s)
{
	return (train_s - single_s) / (n - 1) - delay_s;
}
