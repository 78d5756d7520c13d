/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events that order collectives and kernels, in a recording without the numbers of events.
 *
 * PyTorch orders streams with two pairs of calls for each collective. Before the launch it records
 * an event on the stream of the kernels, and NCCL's stream waits for it. After the launch it
 * records an event on NCCL's stream. When the program needs the result, the stream of the kernels
 * waits for this event. Profilers record these calls, but by default not their events and streams.
 *
 * They follow from the order of the calls of a thread. A record that is directly followed by a
 * wait, with a collective as next launch, is the first pair. The first record after a collective is
 * its end. All other waits are for these ends, in the order of the collectives. */
#pragma once

#include "sim/traces/recorded.h"

/* Numbers the events of settled calls if none of their waits has a number. */
void stream_order_find(struct arena *arena, struct recorded_calls *recorded);
