/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms of MSCCL: XML files that list the steps of each thread block of each GPU.
 *
 * A GPU (<gpu>) has thread blocks (<tb>), each with at most one peer to which it sends and one from
 * which it receives, on a channel. Its steps follow each other: s sends, r receives, c copies and
 * another r reduces, so that rrcs receives, reduces, copies and sends. cpy and re copy and reduce
 * inside the GPU. A step may also wait for a step of another thread block of its GPU, and nop does
 * nothing else. A chunk is the buffer divided by nchunksperloop. Receives take the sends of the
 * other rank's thread block on the same channel in their order.
 *
 * The buffer passes the steps once. MSCCL divides a large buffer into loops, each of which repeats
 * all steps and overlaps with the next one, so it can be faster than this. Reductions inside a GPU
 * have the time of a copy. Source: microsoft/msccl, src/misc/msccl/msccl_parser.cc. */
#pragma once

#include "sim/collective/library.h"

struct diag;
struct origin;

struct msccl {
	enum collective collective;
	enum protocol protocol;
	double least_B, most_B;          /* sizes for which the library uses the algorithm */
	size_t block_count;              /* thread blocks of the GPU with most of them */
	const struct schedule *schedule; /* for a buffer of 1 B */
};

/* Returns NULL after an error. `origin` is the setting that names the file. */
const struct msccl *msccl_read(struct arena *arena, struct diag *diag, struct origin origin,
			       const char *path);
/* Takes the steps of library.msccl; it is not in algorithms.def, because a name cannot choose it.
 */
extern const struct algorithm algorithm_msccl;
