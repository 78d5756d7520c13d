/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage that a guest reads from: a local disk, a file server (NFS), or an object store through a
 * file system in user space (s3fs).
 *
 * A reader (a process) has at most parallel_requests_count requests of request_B in progress. Each
 * request waits latency_s before its bytes arrive. One reader without competitors reaches at most
 *   parallel * request_B / (latency_s + request_B / rate) B/s,
 * where rate is the bandwidth of the path (bandwidth_Bps, links, cores). All readers of a storage
 * together reach at most bandwidth_Bps. The reads of one reader are answered in order. A read that
 * directly follows the previous one was requested meanwhile by read-ahead, so its bytes arrive
 * without a wait. After a pause, the latency of the first request is visible.
 *
 * Storage at a node of the topology (a file server or gateway) also uses the links of the route,
 * with TCP's framing, and receiving costs work on the reader's cores. The part cache_ratio of the
 * data is already in the host's page cache and costs only a copy in memory. A local disk in a
 * virtual machine is a virtual disk. It adds work and a wait to each request (guest.disk_request)
 * and reaches a part of the bandwidth (guest.disk_ratio).
 */
#pragma once

#include "sim/base/param.h"
#include "sim/host/host.h"

struct storage_params {
	double bandwidth_Bps, latency_s, request_B, parallel_requests_count, cache_ratio;
	const char *node;
	bool shared;
	double client_spB, client_threads_count;
};
extern const struct param_table storage_table;

/* Returns true if all machines share one storage, false if each has its own. */
bool storage_is_shared(const struct storage_params *params);

struct storage;
/* Creates a storage; its resource is called "<name>.storage". The parameters are borrowed. */
struct storage *storage_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
			    const char *name, const struct storage_params *params);
/* Returns true if the guest has a route to the storage. */
bool storage_reaches(struct storage *storage, const struct guest *guest);
/* Reads size_B > 0 for one reader of guest and then calls fn. `reader` is any number that
 * identifies the process. Returns false, and starts nothing, if there is no route. */
bool storage_read(struct storage *storage, struct guest *guest, unsigned reader, double size_B,
		  event_fn *fn, void *ctx, uint64_t arg);

/* A write of one process. It uses the same resources as a read that misses the cache, and work_spB
 * of one thread per byte on top; the device's latency is small beside it and is left out. */
struct storage_write {
	struct guest *guest;
	double size_B, work_spB;
	event_fn *done;
	void *ctx;
	uint64_t arg;
};
/* Returns false, and starts nothing, if there is no route. */
bool storage_write(struct storage *storage, const struct storage_write *write);
