/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of RDMA; docs/models/rdma.md tells the model. The packets of
 * an infiniband or roce link count data only; headers are in their overhead. */
#ifndef FARWIRE_TRANSPORT_RDMA_H
#define FARWIRE_TRANSPORT_RDMA_H

#include <stdbool.h>

struct rdma_params {
	double post_s;       /* posting a work request */
	double completion_s; /* finding a completion, by polling or after an interrupt */
	bool interrupts;     /* completions wake a thread; false: it polls */
	double eager_B;      /* larger messages make a rendezvous and are not copied */
	double queue_count;  /* work requests that may be outstanding */
	double message_rate_Hz;
	double timeout_s; /* of the NIC, for a lost tail */
	double retries_count;
	double connect_retry_s, connect_retries_count;
};

/* Goodput of go-back-N as a part of the loss-free one, at loss p with window
 * packets on the way: each loss costs the packets sent since. */
double rdma_go_back_n_ratio(double p, double window);

#endif
