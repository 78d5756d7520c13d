/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LogGP of a connection, by the method of Netgauge (Hoefler et al. 2007).
 *
 * PRTT(n, d, s) is the time from the first of n messages of s bytes, sent d
 * apart, until the answer to the last one: with the sender's overhead o, the gap
 * g between messages, G for each byte, and R = PRTT(1, 0, s),
 *
 *   PRTT(n, 0, s) = R + (n - 1) (g + (s - 1) G)      d = 0: the wire sets the pace
 *   PRTT(n, d, s) = R + (n - 1) (o + d)              d large: the sender does
 *
 * so gap and overhead come apart, which no ping-pong alone can do.
 */
#ifndef FARWIRE_CALIB_FIT_LOGGP_H
#define FARWIRE_CALIB_FIT_LOGGP_H

/* g + (s - 1) G; o. n > 1. */
double loggp_gap_s(double train_s, double single_s, double n);
double loggp_overhead_s(double train_s, double single_s, double n, double delay_s);

#endif
