/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What exchange policies have in common: bundles of gradients that are reduced
 * in one collective, and exchanges whose bundles are the same in every step. */
#ifndef FARWIRE_TRAINING_EXCHANGE_PARTS_H
#define FARWIRE_TRAINING_EXCHANGE_PARTS_H

#include "sim/training/exchange.h"

#define EXCHANGE(name) extern const struct exchange_policy name;
#include "sim/training/exchanges.def"
#undef EXCHANGE

struct bundle;

struct exchange {
	const struct exchange_policy *policy;
	struct exchange_host host;
	int64_t launch_ps,
		copy_launch_ps;    /* the second: 0 where copies are not launched one by one */
	int64_t *launcher_free_ps; /* by rank: the thread that launches */
	bool one_stream;           /* copies and collectives of a rank run one behind the other */
	size_t *launched_count, *over_count; /* by rank: bundles, all in their order */
	size_t begun_count;
	struct bundle *last, *free;
	size_t under_way_count; /* collectives at which all ranks have arrived */
	int64_t under_way_since_ps, under_way_ps;
};

struct bundle { /* gradients in one collective */
	struct exchange *exchange;
	size_t first, count; /* tensors */
	double size_B, copy_B;
	uint64_t number; /* of the communicator */
	size_t index;    /* of the exchange */
	struct bundle *following;
	size_t joined_count, arrived_count, over_count, reduced_count; /* ranks */
	struct bundle *next;
};

void exchange_init(struct exchange *exchange, const struct exchange_policy *policy,
		   const struct exchange_host *host);
double exchange_tensor_B(const struct exchange_host *host, size_t tensor);

/* Enqueues the collective; every rank must join, in the order of beginning. */
struct bundle *bundle_begin(struct exchange *exchange, size_t first, size_t count);
/* The rank's thread that launches is busy with a collective of so many gradients
 * until launched_ps, and with what follows until free_ps. */
struct launch {
	int64_t launched_ps, free_ps;
};
struct launch exchange_launch(struct exchange *exchange, size_t rank, size_t count);
/* The rank's gradients are all computed: copies when it has been launched, arrives. The
 * bundle is over and belongs to nobody when all ranks have them reduced. */
void bundle_join(struct bundle *bundle, size_t rank, int64_t launched_ps);

/* An exchange with the bundles that end before tensors ends[0], ends[1] ...
 * ends[count - 1] = all; a rank joins each when it is full. */
struct exchange *planned_new(const struct exchange_policy *policy, const struct exchange_host *host,
			     const size_t *ends, size_t count);
void planned_announced(struct exchange *exchange, size_t rank, size_t first, size_t count);
void planned_ready(struct exchange *exchange, size_t rank, size_t first, size_t count);

#endif
