/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulates what benchmarks of one path measure: a copy between host and GPU (nvbandwidth),
 * messages over RDMA (perftest), and TCP streams (iperf3). Nothing else uses the machines
 * meanwhile. */
#pragma once

#include "sim/scenario/scenario.h"

enum transfer_kind {
	TRANSFER_TO_DEVICE,  /* copy from pinned host memory to a GPU */
	TRANSFER_TO_HOST,    /* copy from a GPU to pinned host memory */
	TRANSFER_PEER,       /* copy from a GPU to another one of the same machine */
	TRANSFER_MESSAGES,   /* messages from one machine to another, which follow each other */
	TRANSFER_ROUND_TRIP, /* one message at a time, forth and back: half of a round trip counts
			      */
};

struct transfer {
	enum transfer_kind kind;
	size_t from, to;      /* GPUs of the topology, for copies: TO_HOST has only `from` */
	double size_B;        /* of a copy or a message */
	double streams_count; /* TCP streams; 0: as the case has it */
	bool back;            /* messages flow from the second machine to the first one */
};

/* Returns the time of size_B in s, or NaN if there is no route or the connection fails. Messages
 * flow between the guests of the scenario's first job, over its transport: those of its first and
 * last GPU, or the client and its server. Adds to carried_B[link], unless it is NULL, the bytes
 * that each link of the topology carries in the direction that carries more. */
double transfer_run(struct arena *arena, const struct scenario *scenario,
		    const struct transfer *transfer, uint64_t seed, double *carried_B);
