/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage that a guest reads from: a local disk, a file server (NFS), an object
 * store through a file system in user space (s3fs).
 *
 * A READER (a process) has at most parallel_requests_count requests of request_B
 * under way, each waiting latency_s before its bytes come, so alone it gets at most
 *   parallel * request_B / (latency_s + request_B / rate) B/s,
 * rate being what the way would give it (bandwidth_Bps, links, cores), and all
 * readers of a storage together at most bandwidth_Bps. Its reads are answered in
 * order. A read that follows the one before at once was asked for meanwhile (read-
 * ahead): its bytes come without a wait; after a pause the first request's
 * latency shows.
 *
 * What comes over the network (from a node of the topology: the file server, the
 * gateway) also uses the links of its route, with TCP's framing, and costs the
 * reader's cores the work of receiving. The part cache_ratio of what is read lies in
 * the host's memory already (page cache): it costs a copy in memory alone.
 * In a virtual machine a local disk is a virtual one: work and a wait for each
 * request (guest.disk_request), and a part of the rate (guest.disk_ratio).
 */
#ifndef FARWIRE_HOST_STORAGE_H
#define FARWIRE_HOST_STORAGE_H

#include "sim/base/param.h"
#include "sim/host/host.h"

struct storage_params {
	double bandwidth_Bps; /* of the device or service, all readers together */
	double latency_s;     /* of a request */
	double request_B;
	double parallel_requests_count; /* of each reader (a process) */
	double cache_ratio;
	const char *node;            /* of the topology it is reached at; "": over no link of it */
	bool shared;                 /* one for all machines; with a node it always is */
	double client_spB;           /* work a byte that the client side spends (FUSE's copies) */
	double client_threads_count; /* that do it and receive; 0: one for each request */
};
extern const struct param_table storage_table;

/* One storage for all machines, not one for each. */
bool storage_is_shared(const struct storage_params *params);

struct storage;
/* name: its resource is "<name>.storage". The parameters are borrowed. */
struct storage *storage_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
			    const char *name, const struct storage_params *params);
/* Whether guest has a route to it. */
bool storage_reaches(struct storage *storage, const struct guest *guest);
/* Reads size_B > 0 for guest by one of its readers (reader: any number that stays with
 * the process), then calls fn. false, and nothing is begun, if there is no route. */
bool storage_read(struct storage *storage, struct guest *guest, unsigned reader, double size_B,
		  event_fn *fn, void *ctx, uint64_t arg);

#endif
