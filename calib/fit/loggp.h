/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LogGP parameters of a connection, by the method of Netgauge (Hoefler et al. 2007).
 *
 * PRTT(n, d, s) is the time from the start of the first of n messages of s bytes, sent at distance
 * d, until the answer to the last one. With the sender's overhead o, the gap g between messages,
 * the gap G per byte, and R = PRTT(1, 0, s):
 *
 *   PRTT(n, 0, s) = R + (n - 1) (g + (s - 1) G)      d = 0: limited by the wire
 *   PRTT(n, d, s) = R + (n - 1) (o + d)              large d: limited by the sender
 *
 * So gap and overhead can be separated, which a ping-pong test cannot do.
 */
#pragma once

/* Return g + (s - 1) G, and o; n > 1. */
double loggp_gap_s(double train_s, double single_s, double n);
double loggp_overhead_s(double train_s, double single_s, double n, double delay_s);
