/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage that a guest reads from: a local disk, a file server (NFS), an object
 * store through a file system in user space (s3fs).
 *
 * A reader has at most `parallel_requests` requests of request_B under way, each
 * waiting latency_s before its bytes come, so alone it gets at most
 *   parallel * request_B / (latency_s + request_B / bandwidth_Bps) B/s,
 * and all readers of a storage together at most bandwidth_Bps; what comes over
 * the network also uses the links of its route, with TCP's framing and work on
 * the reader's core (from a node of the topology: the file server, the gateway).
 * The part cache_ratio of what is read lies in the host's memory already
 * (page cache, read-ahead on a local disk) and costs only memory bandwidth.
 * A virtual disk costs the guest core-seconds for each request (guest.disk_request)
 * and reaches a part of the rate (guest.disk_ratio).
 */
#ifndef FARWIRE_HOST_STORAGE_H
#define FARWIRE_HOST_STORAGE_H

#include "sim/base/param.h"
#include "sim/host/host.h"

struct storage_params {
	double bandwidth_Bps;  /* of the device or service, all readers together */
	double latency_s;      /* of a request */
	double request_B;
	double parallel_requests_count; /* of each reader (a process) */
	double cache_ratio;
	const char *node;      /* of the topology it is reached at; "": local */
	double client_spB;     /* core-seconds a byte that the client side spends (FUSE copies) */
};
extern const struct param_table storage_table;

struct storage;
/* name: its resource is "<name>.storage". One for each host if it is local. */
struct storage *storage_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
			    const char *name, const struct storage_params *params);
/* Reads size_B for guest by one of its readers (reader: any number that stays with
 * the process), then calls fn. false, and nothing is begun, if there is no route. */
bool storage_read(struct storage *storage, struct guest *guest, unsigned reader, double size_B,
		  event_fn *fn, void *ctx, uint64_t arg);
double storage_read_B(const struct storage *storage);

#endif
