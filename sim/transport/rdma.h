/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of RDMA; docs/models/rdma.md describes the model. The packets of an InfiniBand or
 * RoCE link count only data; headers are in their overhead. */
#pragma once

#include "sim/base/base.h"
#include "sim/base/param.h"

struct rdma_params {
	double post_s, completion_s;
	bool interrupts;
	double eager_B, queue_count, message_rate_Hz, timeout_s, retries_count, connect_retry_s;
	double connect_retries_count;
};

/* Returns the goodput of go-back-N relative to that without loss, for loss p and `window` packets
 * in flight: each loss costs the packets sent since. */
double rdma_go_back_n_ratio(double p, double window);

extern const struct param_table rdma_table;
