/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/rdma.h"

static const struct param_row rdma_rows[] = {
	COST_ASSUMED(struct rdma_params, post_s, QUANTITY_TIME, 0, 1e-3, "0.3 us",
		     "time to post a work request, at 2.4 GHz",
		     "assumption: descriptor, doorbell, and the NIC's read of it"),
	COST_ASSUMED(struct rdma_params, completion_s, QUANTITY_TIME, 0, 1e-3, "0.4 us",
		     "time to find and handle a completion, at 2.4 GHz",
		     "assumption: with post and a switch it gives the 1.5 to 2 us in one direction "
		     "that vendors state"),
	PARAM_BOOL(struct rdma_params, interrupts, "false",
		   "whether completions raise an interrupt; if not, a thread polls",
		   "assumption: RPC over RDMA polls"),
	PARAM_NUMBER(struct rdma_params, eager_B, QUANTITY_BYTES, 0, 1e9, "8 KiB",
		     "size above which messages use a rendezvous",
		     "assumption: MPI and UCX switch between a few KiB and tens of KiB"),
	PARAM_WHOLE(struct rdma_params, queue_count, 1, 65536, "128",
		    "maximum number of outstanding work requests",
		    "assumption: a common queue depth"),
	COST_ASSUMED(struct rdma_params, message_rate_Hz, QUANTITY_FREQUENCY, 1, 1e12, "10 MHz",
		     "maximum messages per second of one connection",
		     "assumption: one queue pair of a NIC of 2015 to 2019"),
	PARAM_NUMBER(struct rdma_params, timeout_s, QUANTITY_TIME, 0, 3600, "67.1 ms",
		     "acknowledgement timeout of the NIC",
		     "InfiniBand specification: 4.096 us x 2^14, as perftest sets it"),
	PARAM_WHOLE(struct rdma_params, retries_count, 0, 7, "7",
		    "number of retries before the connection fails",
		    "InfiniBand specification: retry_cnt, 3 bits"),
	PARAM_NUMBER(struct rdma_params, connect_retry_s, QUANTITY_TIME, 1e-6, 3600, "4.3 s",
		     "time after which an unanswered connection request is repeated",
		     "librdmacm: CMA_CM_RESPONSE_TIMEOUT 20, 4.096 us x 2^20"),
	PARAM_WHOLE(struct rdma_params, connect_retries_count, 0, 15, "15",
		    "maximum repetitions of a connection request", "librdmacm: CMA_MAX_CM_RETRIES"),
};
const struct param_table rdma_table = PARAM_TABLE("rdma", struct rdma_params, rdma_rows);
