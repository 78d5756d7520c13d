/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of RDMA; docs/models/rdma.md describes the model. The packets of an InfiniBand or
 * RoCE link count only data; headers are in their overhead. */
#pragma once

#include <stdbool.h>

#include "sim/base/param.h"

struct rdma_params {
	double post_s;       /* time to post a work request */
	double completion_s; /* time to find a completion, by polling or after an interrupt */
	bool interrupts;     /* completions wake a thread; false: a thread polls */
	double eager_B;      /* larger messages use a rendezvous and are not copied */
	double queue_count;  /* maximum number of outstanding work requests */
	double message_rate_Hz;
	double timeout_s; /* the NIC's timeout for a lost tail */
	double retries_count;
	double connect_retry_s, connect_retries_count;
};

/* Returns the goodput of go-back-N relative to that without loss, for loss p and `window` packets
 * in flight: each loss costs the packets sent since. */
double rdma_go_back_n_ratio(double p, double window);

extern const struct param_table rdma_table;
