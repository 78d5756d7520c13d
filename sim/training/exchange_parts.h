/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts that exchange policies share: bundles of gradients that one collective reduces, and
 * PLANNED exchanges, whose bundles are the same in every step. */
#pragma once

#include "sim/training/exchange.h"

#define EXCHANGE(name) extern const struct exchange_policy name;
#include "sim/training/exchanges.def"
#undef EXCHANGE

struct bundle;

/* Takes gradients [first, first + count) of a rank. */
typedef void exchange_take_fn(struct exchange *exchange, size_t rank, size_t first, size_t count);

struct exchange {
	exchange_take_fn *announced, *ready; /* exchange_announced and exchange_ready call them */
	struct exchange_host host;
	int64_t launch_ps;
	int64_t copy_launch_ps;    /* 0: the host does not launch copies one by one */
	int64_t *launcher_free_ps; /* by rank: time at which the launching thread is free */
	bool one_stream;           /* copies and collectives of a rank run one after the other */
	size_t *launched_count, *over_count; /* by rank: launched and finished bundles, in order */
	size_t begun_count;
	struct bundle *last;    /* bundle that began last; NULL: its memory is in `free` */
	struct bundle *free;    /* finished bundles, whose memory is used again */
	size_t under_way_count; /* running collectives at which all ranks have arrived */
	int64_t under_way_since_ps, under_way_ps;
};

struct bundle { /* gradients that one collective reduces */
	struct exchange *exchange;
	size_t first, count; /* tensors of the bundle */
	double size_B;
	double copy_B;            /* bytes copied into the buffer, and again out of it */
	uint64_t number;          /* number of the communicator's collective */
	size_t index;             /* index among the bundles of the exchange, from 0 */
	struct bundle *following; /* the bundle begun after this one */
	size_t joined_count, arrived_count, over_count, reduced_count; /* numbers of ranks */
	struct bundle *next; /* next bundle in the list of free bundles */
};

void exchange_init(struct exchange *exchange, const struct exchange_host *host,
		   exchange_take_fn *announced, exchange_take_fn *ready);
/* Returns the bytes of a gradient on the network, at least 1. */
double exchange_tensor_B(const struct exchange_host *host, size_t tensor);

/* Begins a collective of tensors [first, first + count). Every rank must join bundles in the
 * order in which they were begun. */
struct bundle *bundle_begin(struct exchange *exchange, size_t first, size_t count);
/* Occupies the rank's launching thread with a collective of `count` gradients. It launches the
 * collective at launched_ps, then the copies out of the buffer until free_ps. */
struct launch {
	int64_t launched_ps, free_ps;
};
struct launch exchange_launch(struct exchange *exchange, size_t rank, size_t count);
/* Called when the rank has computed all gradients of the bundle. From launched_ps on, the rank
 * copies them into the buffer and arrives at the collective. When all ranks have the reduced
 * gradients, the bundle's memory is used again. */
void bundle_join(struct bundle *bundle, size_t rank, int64_t launched_ps);

/* Returns the exchange of a policy without a function `new` (exchange_planned.c). */
struct exchange *planned_new(const struct exchange_host *host);
