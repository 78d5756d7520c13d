/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/host/storage.h"
#include "sim/base/list.h"

static const struct param_row storage_rows[] = {
	COST_PRINTED(struct storage_params, bandwidth_Bps, QUANTITY_RATE, 1e3, 1e14, "540 MB/s",
		     "bandwidth of the device or service, for all readers together",
		     "Samsung SSD 860 EVO data sheet: 550 MB/s sequential read (SATA 6 Gb/s)"),
	COST_SOURCED(
		struct storage_params, latency_s, QUANTITY_TIME, 0, 10, "100 us",
		"waiting time until the first byte of a request",
		"Samsung SSD 860 EVO data sheet: 10,000 random reads a second at queue depth 1"),
	PARAM_NUMBER(struct storage_params, request_B, QUANTITY_BYTES, 512, 1e12, "128 KiB",
		     "size of a request",
		     "Linux: read-ahead of a block device, read_ahead_kb, 128"),
	PARAM_WHOLE(struct storage_params, parallel_requests_count, 1, 1e6, "4",
		    "maximum number of requests in progress for one reader",
		    "assumption: a few files read at once, each with read-ahead"),
	PARAM_NUMBER(struct storage_params, cache_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "part of the data that is already in the host's memory",
		     "assumption: the data set is larger than memory"),
	PARAM_TEXT(struct storage_params, node, "",
		   "node of the topology that holds the storage; an empty name means that it uses "
		   "no link",
		   "assumption: a local disk, or a separate storage network"),
	PARAM_BOOL(struct storage_params, shared, "false",
		   "whether all machines share one storage; a storage with a node is always shared",
		   "assumption: a local disk"),
	COST_UNSEEN(0.1e-9, struct storage_params, client_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-6,
		    "0 ns/B",
		    "work of the storage's client per byte at 2.4 GHz, in addition to the copy "
		    "out of the page cache",
		    "assumption: none for a file system in the kernel; draws go up to 0.2 ns/B (95 "
		    "%), a "
		    "checksum or copy at 5 GB/s"),
	PARAM_WHOLE(struct storage_params, client_threads_count, 0, 1024, "0",
		    "number of threads that do the client's work; 0 means one for each request",
		    "assumption: each file is read by its own thread"),
};
const struct param_table storage_table =
	PARAM_TABLE("storage", struct storage_params, storage_rows);

/* bytes of the headers of IPv4 and TCP with timestamps */
static const double TCP_HEADER_B = 52;
/* The device writes each byte to memory once; the copy into the program's buffer reads and writes
 * it. */
static const double DRAM_OF_DEVICE = 1, DRAM_OF_COPY = 2;

struct read_order { /* a read that a program has requested */
	struct read_order *next;
	struct storage_reader *reader;
	double size_B;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

struct storage_reader {
	struct storage_reader *next;
	struct storage *storage;
	struct guest *guest;
	unsigned number;
	const struct route *route; /* route from the storage; NULL: uses no link */
	bool busy;                 /* the first order is in progress */
	QUEUE(struct read_order) orders;
	int64_t ended_ps; /* end of the previous order; -1: none */
};

struct storage {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const struct storage_params *params;
	int node; /* -1: uses no link */
	int resource;
	struct storage_reader *readers;
	struct read_order *free;
};

bool storage_is_shared(const struct storage_params *params)
{
	return params->shared || params->node[0];
}

struct storage *storage_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
			    const char *name, const struct storage_params *params)
{
	struct storage *storage = ARENA_NEW(arena, struct storage);
	*storage = (struct storage){
		.arena = arena, .engine = engine, .fabric = fabric, .params = params, .node = -1};
	if (params->node[0])
		storage->node = fabric_node_find(fabric, params->node);
	storage->resource = fabric_resource_add(fabric, arena_printf(arena, "%s.storage", name),
						params->bandwidth_Bps);
	return storage;
}

static const struct route *route_to(const struct storage *storage, const struct guest *guest)
{
	if (storage->node < 0)
		return NULL;
	return fabric_route(storage->fabric, storage->node, guest_node(guest), TRAFFIC_ANY);
}

bool storage_reaches(struct storage *storage, const struct guest *guest)
{
	return !storage->params->node[0] || route_to(storage, guest);
}

static bool is_networked(const struct storage_reader *reader)
{
	return reader->route && reader->route->count > 0;
}

static bool has_virtual_disk(const struct storage_reader *reader)
{
	return !storage_is_shared(reader->storage->params) &&
	       guest_params(reader->guest)->kind == GUEST_VM;
}

/* Returns the time of a request to the storage and back, plus the wait at the device. */
static double request_latency_s(const struct storage_reader *reader)
{
	double latency_s = reader->storage->params->latency_s;
	if (is_networked(reader))
		latency_s += 2 * (reader->route->latency_s + guest_vnic_latency_s(reader->guest));
	if (has_virtual_disk(reader))
		latency_s += guest_params(reader->guest)->disk_request_s;
	return latency_s;
}

/* All bytes are finally copied out of the page cache. */
static double client_work_spB(const struct storage_reader *reader)
{
	const struct storage_params *params = reader->storage->params;
	const struct guest *guest = reader->guest;
	double missing = 1 - params->cache_ratio;
	double work_spB =
		params->client_spB + 1 / host_params(guest_host(reader->guest))->copy_rate_Bps;
	if (is_networked(reader)) {
		double mtu_B = reader->route->mtu_B > TCP_HEADER_B ? reader->route->mtu_B
								   : OFFLOAD_PACKET_B;
		double packet_B = guest_packet_B(guest, true, mtu_B - TCP_HEADER_B);
		work_spB += missing * guest_flow_spB(guest, packet_B, INFINITY);
	}
	if (has_virtual_disk(reader))
		work_spB += missing * guest_params(guest)->disk_request_s / params->request_B;
	return work_spB;
}

/* Sets the resources of device and network that a byte uses. */
static void device_uses(const struct storage_reader *reader, struct flow_spec *flow)
{
	const struct storage *storage = reader->storage;
	bool virtual_disk = has_virtual_disk(reader);
	double rate = virtual_disk ? guest_params(reader->guest)->disk_ratio : 1;
	int own = virtual_disk ? guest_disk(reader->guest) : -1;
	flow_use_add(flow, storage->resource, 1 / rate);
	if (own >= 0)
		flow_use_add(flow, own, 1);
	if (is_networked(reader))
		route_uses(storage->fabric, reader->route, TCP_HEADER_B, storage->params->request_B,
			   flow);
}

/* Sets the resources that a read uses per byte. The waits are not included. */
static void reading_uses(const struct storage_reader *reader, struct flow_spec *flow)
{
	const struct storage *storage = reader->storage;
	const struct storage_params *params = storage->params;
	double missing = 1 - params->cache_ratio;
	if (missing > 0) {
		device_uses(reader, flow);
		for (size_t i = 0; i < flow->use_count; i++)
			flow->uses[i].per_unit *= missing;
	}
	flow_use_add(flow, host_dram(guest_host(reader->guest)),
		     DRAM_OF_DEVICE * missing + DRAM_OF_COPY);
	guest_work_add(reader->guest, client_work_spB(reader),
		       params->client_threads_count > 0 ? params->client_threads_count
							: params->parallel_requests_count,
		       flow);
}

bool storage_write(struct storage *storage, const struct storage_write *write)
{
	FW_ASSERT(write->size_B > 0 && write->done != NULL);
	const struct storage_params *params = storage->params;
	struct guest *guest = write->guest;
	const struct route *route = NULL;
	struct flow_spec flow = {
		.size = write->size_B, .done = write->done, .ctx = write->ctx, .arg = write->arg};
	if (storage->node >= 0)
		route = fabric_route(storage->fabric, guest_node(guest), storage->node,
				     TRAFFIC_ANY);
	if (params->node[0] && !route)
		return false;
	const struct storage_reader writer = {.storage = storage, .guest = guest, .route = route};
	device_uses(&writer, &flow);
	flow_use_add(&flow, host_dram(guest_host(guest)), DRAM_OF_DEVICE + DRAM_OF_COPY);
	double copy_spB = 1 / host_params(guest_host(guest))->copy_rate_Bps;
	guest_work_add(guest, copy_spB + params->client_spB + write->work_spB, 1, &flow);
	fabric_flow_start(storage->fabric, &flow);
	return true;
}

/* Returns the bandwidth of `requests` concurrent requests of request_B, with latency_s for each
 * and `rate` for its bytes. Only the part `missing` of the bytes needs requests. */
static double requests_rate(double requests, double request_B, double latency_s, double missing,
			    double rate)
{
	return requests * request_B / (missing * latency_s + request_B / rate);
}

static void order_done(void *ctx, uint64_t arg);

/* Starts the transfer of the reader's first order, waited_s after it was requested. Even after a
 * long wait, it cannot end before its requests, which run a limited number at a time. */
static void bytes_start(struct storage_reader *reader, double waited_s)
{
	const struct storage *storage = reader->storage;
	const struct storage_params *params = storage->params;
	double size_B = reader->orders.head->size_B, missing = 1 - params->cache_ratio;
	double latency_s = request_latency_s(reader);
	struct flow_spec flow = {.size = size_B, .done = order_done, .ctx = reader};
	reading_uses(reader, &flow);
	double alone = fabric_flow_alone(storage->fabric, &flow);
	if (waited_s > 0) {
		double request_B = fmin(params->request_B, size_B * missing);
		double rate = requests_rate(params->parallel_requests_count, request_B, latency_s,
					    missing, alone);
		double left_s = fmax(size_B / alone, size_B / rate - waited_s);
		flow.cap = size_B / left_s;
	} else if (missing > 0) {
		flow.cap = fmin(alone, requests_rate(params->parallel_requests_count,
						     params->request_B, latency_s, missing, alone));
	}
	fabric_flow_start(storage->fabric, &flow);
}

static void waited(void *ctx, uint64_t arg)
{
	struct storage_reader *reader = ctx;
	bytes_start(reader, request_latency_s(reader));
}

static void order_start(struct storage_reader *reader)
{
	struct engine *engine = reader->storage->engine;
	double latency_s = request_latency_s(reader);
	bool follows = reader->ended_ps == engine_now_ps(engine);
	reader->busy = true;
	if (follows || latency_s <= 0 || reader->storage->params->cache_ratio >= 1)
		bytes_start(reader, 0);
	else
		engine_after(engine, ps_from_s(latency_s), waited, reader, 0);
}

static void order_done(void *ctx, uint64_t arg)
{
	struct storage_reader *reader = ctx;
	struct storage *storage = reader->storage;
	struct read_order *order = reader->orders.head, done = *order;
	reader->orders.head = order->next;
	POOL_GIVE(order, storage->free);
	reader->busy = false;
	reader->ended_ps = engine_now_ps(storage->engine);
	if (reader->orders.head)
		order_start(reader);
	done.fn(done.ctx, done.arg);
}

static struct storage_reader *reader_of(struct storage *storage, struct guest *guest,
					unsigned number)
{
	struct storage_reader *reader = storage->readers;
	while (reader && !(reader->guest == guest && reader->number == number))
		reader = reader->next;
	if (reader)
		return reader;
	reader = ARENA_NEW(storage->arena, struct storage_reader);
	*reader = (struct storage_reader){.next = storage->readers,
					  .storage = storage,
					  .guest = guest,
					  .number = number,
					  .route = route_to(storage, guest),
					  .ended_ps = -1};
	storage->readers = reader;
	return reader;
}

bool storage_read(struct storage *storage, struct guest *guest, unsigned reader_number,
		  double size_B, event_fn *fn, void *ctx, uint64_t arg)
{
	FW_ASSERT(size_B > 0 && fn != NULL);
	struct storage_reader *reader = reader_of(storage, guest, reader_number);
	if (storage->params->node[0] && !reader->route)
		return false;
	struct read_order *order;
	POOL_TAKE(storage->arena, order, storage->free);
	*order = (struct read_order){NULL, reader, size_B, fn, ctx, arg};
	QUEUE_PUSH(&reader->orders, order, next);
	if (!reader->busy)
		order_start(reader);
	return true;
}
