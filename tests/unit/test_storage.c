/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of reading from storage, computed by hand. */
#include "sim/host/storage.h"
#include "tests/net.h"

/* The disk has 100 MB/s, 10 ms, and requests of 1 MB, one at a time. Copies and memory cost almost
 * nothing. */
struct disk {
	struct net *net;
	struct storage_params params;
	struct storage *storage;
};

static struct disk disk_new(void)
{
	struct disk disk = {.net = net_new()};
	net_presets(disk.net->arena, &storage_table, &disk.params);
	disk.net->host_params.copy_rate_Bps = 1e12;
	disk.net->host_params.dram_bandwidth_Bps = 1e14;
	disk.params.bandwidth_Bps = 100e6;
	disk.params.latency_s = 10e-3;
	disk.params.request_B = 1e6;
	disk.params.parallel_requests_count = 1;
	return disk;
}

static void disk_build(struct disk *disk)
{
	struct net *net = disk->net;
	net_build(net);
	disk->storage = storage_new(net->arena, net->engine, net->fabric, "disk", &disk->params);
}

static void read_by(struct disk *disk, unsigned reader, double size_B, uint64_t arg)
{
	CHECK(storage_read(disk->storage, disk->net->guest[0], reader, size_B, net_delivered,
			   disk->net, arg));
}

/* Returns the time of the n-th read when all are requested at once by one reader. */
static double last_s(const struct disk *made, size_t count, double size_B)
{
	struct disk disk = *made;
	disk_build(&disk);
	for (size_t i = 0; i < count; i++)
		read_by(&disk, 0, size_B, i);
	net_run(disk.net);
	double seconds = disk.net->delivered_s[count - 1];
	net_free(disk.net);
	return seconds;
}

/* One request of 1 MB: 10 + 10 ms. Ten in sequence: 200 ms. Ten at a time: one wait, then the disk
 * limits: 10 + 100 ms. Four at a time give 4 MB in 20 ms, so the disk still limits. Half a request:
 * 10 + 5 ms. */
static void one_read_takes_wait_and_transfer(void)
{
	struct disk disk = disk_new();
	CHECK_NEAR(last_s(&disk, 1, 1e6), 20e-3, 1e-9);
	disk = disk_new();
	CHECK_NEAR(last_s(&disk, 1, 10e6), 200e-3, 1e-9);
	disk = disk_new();
	disk.params.parallel_requests_count = 10;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 110e-3, 1e-9);
	disk = disk_new();
	disk.params.parallel_requests_count = 4;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 110e-3, 1e-9);
	disk = disk_new();
	disk.params.parallel_requests_count = 4;
	CHECK_NEAR(last_s(&disk, 1, 0.5e6), 15e-3, 1e-9);
}

/* Memory of 300 MB/s is the bottleneck. A byte passes it three times: from the device, and twice in
 * the copy. Cached bytes are only copied. A write is as a read. The client's work of 20 ns for each
 * byte of a write takes twice as long as its memory. */
static void memory_carries_each_byte_three_times(void)
{
	static const struct {
		double cached, client_spB, read_s, write_s;
	} cases[] = {{0, 0, 100e-3, 100e-3}, {1, 0, 200e-3 / 3, 100e-3}, {1, 20e-9, 0, 200e-3}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (int write = 0; write < 2; write++) {
			struct disk disk = disk_new();
			disk.params.bandwidth_Bps = 1e12;
			disk.params.latency_s = 0;
			disk.params.cache_ratio = cases[i].cached;
			disk.params.client_spB = cases[i].client_spB;
			disk.net->host_params.dram_bandwidth_Bps = 300e6;
			disk_build(&disk);
			const struct storage_write order = {.guest = disk.net->guest[0],
							    .size_B = 10e6,
							    .done = net_delivered,
							    .ctx = disk.net};
			if (write)
				CHECK(storage_write(disk.storage, &order));
			else
				read_by(&disk, 0, 10e6, 0);
			net_run(disk.net);
			double wanted_s = write ? cases[i].write_s : cases[i].read_s;
			if (wanted_s > 0)
				CHECK_NEAR(disk.net->delivered_s[0], wanted_s, 1e-4);
			net_free(disk.net);
		}
}

static void read_later(void *ctx, uint64_t arg)
{
	read_by(ctx, 0, 1e6, arg);
}

/* Consecutive reads continue as one stream: with one request at a time 20 ms per MB, with many at
 * the disk's bandwidth after the first wait. */
static void consecutive_reads_form_a_stream(void)
{
	struct disk disk = disk_new();
	CHECK_NEAR(last_s(&disk, 5, 10e6), 5 * 200e-3, 1e-9);
	disk = disk_new();
	disk.params.parallel_requests_count = 10;
	CHECK_NEAR(last_s(&disk, 5, 10e6), 10e-3 + 5 * 100e-3, 1e-9);
	disk = disk_new(); /* after a pause a read waits again */
	disk.params.parallel_requests_count = 10;
	disk_build(&disk);
	read_by(&disk, 0, 1e6, 0);
	engine_at(disk.net->engine, ps_from_s(50e-3), read_later, &disk, 1);
	net_run(disk.net);
	CHECK_NEAR(disk.net->delivered_s[0], 20e-3, 1e-9);
	CHECK_NEAR(disk.net->delivered_s[1], 70e-3, 1e-9);
	net_free(disk.net);
}

/* Requests of 20 + 10 ms limit a reader to 33 MB/s: two do not disturb each other, four share the
 * disk: 4 x 10 MB at 100 MB/s, after the wait. */
static void readers_share_the_device(void)
{
	for (unsigned count = 2; count <= 4; count += 2) {
		struct disk disk = disk_new();
		disk.params.latency_s = 20e-3;
		disk_build(&disk);
		for (unsigned i = 0; i < count; i++)
			read_by(&disk, i, 10e6, i);
		net_run(disk.net);
		CHECK_NEAR(disk.net->delivered_s[count - 1], count == 2 ? 300e-3 : 420e-3, 1e-9);
		net_free(disk.net);
	}
}

/* With half of the data in memory, half of the waits and of the disk's time remain. With all of it
 * only the copy remains, 10 MB at 1 GB/s. */
static void cached_part_needs_no_requests(void)
{
	struct disk disk = disk_new();
	disk.params.cache_ratio = 0.5;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 100e-3, 1e-9);
	disk = disk_new();
	disk.params.cache_ratio = 1;
	disk.net->host_params.copy_rate_Bps = 1e9;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 10e-3, 1e-9);
}

/* A virtual disk at half the bandwidth with 5 ms per request: 10 + 5 + 20 ms. A container and a
 * service shared by all machines are not affected. */
static double virtual_s(int kind, bool shared)
{
	struct disk disk = disk_new();
	disk.params.shared = shared;
	disk.net->guest_params[0].kind = kind;
	disk.net->guest_params[0].disk_ratio = 0.5;
	disk.net->guest_params[0].disk_request_s = 5e-3;
	return last_s(&disk, 1, 1e6);
}

static void virtual_disk_is_slower_in_a_vm_only(void)
{
	CHECK_NEAR(virtual_s(GUEST_VM, false), 35e-3, 1e-9);
	CHECK_NEAR(virtual_s(GUEST_CONTAINER, false), 20e-3, 1e-9);
	CHECK_NEAR(virtual_s(GUEST_VM, true), 20e-3, 1e-9);
	/* A cached byte needs no request: a copy at 100 MB/s takes 10 ms. */
	struct disk disk = disk_new();
	disk.params.cache_ratio = 1;
	disk.net->guest_params[0].kind = GUEST_VM;
	disk.net->guest_params[0].work_cost_ratio = 0;
	disk.net->guest_params[0].disk_request_s = 50e-3;
	disk.net->host_params.copy_rate_Bps = 100e6;
	CHECK_NEAR(last_s(&disk, 1, 1e6), 10e-3, 1e-6);
}

/* The work per byte on the reader's cores is the bottleneck: 20 ns on one thread are 50 MB/s, so a
 * request takes 10 + 20 ms. With two threads, or one for each of two requests, the 10 ms of the
 * disk are the bottleneck again. */
static void client_work_can_limit_reading(void)
{
	struct disk disk = disk_new();
	disk.params.client_spB = 20e-9;
	disk.params.client_threads_count = 1;
	CHECK_NEAR(last_s(&disk, 1, 1e6), 30e-3, 1e-4);
	disk = disk_new();
	disk.params.client_spB = 20e-9;
	disk.params.client_threads_count = 2;
	CHECK_NEAR(last_s(&disk, 1, 1e6), 20e-3, 1e-4);
	disk = disk_new();
	disk.params.client_spB = 20e-9;
	disk.params.parallel_requests_count = 2;
	CHECK_NEAR(last_s(&disk, 1, 1e6), 20e-3, 1e-4);
}

/* A file server behind a wire of 1 GB/s and 1 ms: the request travels both ways, and 10 MB arrive
 * at 1 GB/s: 2 + 10 + 10 ms. */
static struct disk server_new(void)
{
	struct disk disk = disk_new();
	disk.params.node = "b";
	disk.params.bandwidth_Bps = 10e9;
	disk.params.parallel_requests_count = 100;
	disk.net->link.latency_s = 1e-3;
	return disk;
}

static void file_server_adds_the_network(void)
{
	struct disk disk = server_new();
	CHECK(storage_is_shared(&disk.params));
	CHECK_NEAR(last_s(&disk, 1, 10e6), 22e-3, 1e-4); /* plus 52 B of headers per request */
	/* The virtual NIC delays the request and its answer by 1 ms each. */
	disk = server_new();
	disk.net->guest_params[0].vnic = VNIC_VIRTIO;
	disk.net->guest_params[0].vnic_latency_s = 1e-3;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 24e-3, 1e-4);
	/* On the guest's own node there is no network: 10 ms, and 10 MB at 10 GB/s. */
	disk = server_new();
	disk.params.node = "a";
	disk.net->guest_params[0].vnic = VNIC_VIRTIO;
	disk.net->guest_params[0].vnic_latency_s = 1e-3;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 11e-3, 1e-4);
	/* 0.1 us per byte on one receiving thread give 10 MB/s. */
	disk = server_new();
	disk.net->guest_params[0].byte_spB = 0.1e-6;
	disk.params.client_threads_count = 1;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 12e-3 + 1, 1e-4);
	/* Cached bytes are not received: the thread copies them at 1 GB/s. */
	disk = server_new();
	disk.net->guest_params[0].byte_spB = 0.1e-6;
	disk.net->host_params.copy_rate_Bps = 1e9;
	disk.params.client_threads_count = 1;
	disk.params.cache_ratio = 1;
	CHECK_NEAR(last_s(&disk, 1, 10e6), 10e-3, 1e-4);
}

/* Without offloads, the receiving thread works 0.1 us for each of the 1,448 B in a packet: 100 ms
 * for 1 MB. The rest is 12 ms of waits. */
static void file_server_is_received_in_packets(void)
{
	struct disk disk = server_new();
	disk.net->link.packet_payload_B = 1500;
	disk.net->guest_params[0].offload = false;
	disk.net->guest_params[0].packet_s = 1448 * 0.1e-6;
	disk.params.client_threads_count = 1;
	CHECK_NEAR(last_s(&disk, 1, 1e6), 12e-3 + 100e-3, 1e-4);
}

/* The guest at the server's node waits for 10 ms and reads 10 MB at 10 GB/s. The other one gets
 * them over the network, 10 ms of waits and 10 ms of bytes later, although both are readers number
 * 0. */
static void guests_read_over_their_own_routes(void)
{
	struct disk disk = server_new();
	disk_build(&disk);
	struct net *net = disk.net;
	for (uint64_t i = 0; i < 2; i++)
		CHECK(storage_read(disk.storage, net->guest[i], 0, 10e6, net_delivered, net, i));
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 22e-3, 1e-4);
	CHECK_NEAR(net->delivered_s[1], 11e-3, 1e-4);
	net_free(net);
}

/* It shares the wire equally with another flow, so 10 MB of both take 20 ms. */
static void file_server_shares_its_link(void)
{
	struct disk disk = server_new();
	disk.net->link.latency_s = 0;
	disk.params.latency_s = 0;
	disk_build(&disk);
	struct net *net = disk.net;
	const struct route *route = fabric_route(net->fabric, guest_node(net->guest[1]),
						 guest_node(net->guest[0]), TRAFFIC_ANY);
	struct flow_spec other = {.size = 10e6, .done = net_delivered, .ctx = net, .arg = 1};
	route_uses(net->fabric, route, 0, 10e6, &other);
	fabric_flow_start(net->fabric, &other);
	read_by(&disk, 0, 10e6, 0);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 20e-3, 1e-4);
	CHECK_NEAR(net->delivered_s[1], 20e-3, 1e-4);
	net_free(net);
}

static void unreachable_storage_refuses_reads(void)
{
	struct disk disk = disk_new();
	disk.params.node = "nowhere";
	disk_build(&disk);
	CHECK(!storage_reaches(disk.storage, disk.net->guest[0]));
	CHECK(!storage_read(disk.storage, disk.net->guest[0], 0, 1e6, net_delivered, disk.net, 0));
	net_run(disk.net);
	CHECK(disk.net->delivered_count == 0);
	net_free(disk.net);
}

/* Writes 10 MB with work_spB of one thread for a byte. Returns the time. */
static double written_s(const struct disk *made, double work_spB)
{
	struct disk disk = *made;
	disk_build(&disk);
	const struct storage_write write = {.guest = disk.net->guest[0],
					    .size_B = 10e6,
					    .work_spB = work_spB,
					    .done = net_delivered,
					    .ctx = disk.net};
	CHECK(storage_write(disk.storage, &write));
	net_run(disk.net);
	double seconds = disk.net->delivered_s[0];
	net_free(disk.net);
	return seconds;
}

/* The disk takes 100 MB/s. A thread that works 20 ns for a byte delivers 50 MB/s. */
static void write_takes_the_slower_of_disk_and_thread(void)
{
	struct disk disk = disk_new();
	CHECK_NEAR(written_s(&disk, 0), 100e-3, 1e-6);
	disk = disk_new();
	CHECK_NEAR(written_s(&disk, 5e-9), 100e-3, 1e-6);
	disk = disk_new();
	CHECK_NEAR(written_s(&disk, 20e-9), 200e-3, 1e-3);
	/* with a copy at 100 MB/s: 30 ns */
	disk = disk_new();
	disk.net->host_params.copy_rate_Bps = 100e6;
	CHECK_NEAR(written_s(&disk, 20e-9), 300e-3, 1e-6);
}

/* Each virtual machine's disk has 25 MB/s of the device's 100 MB/s. Two of them do not slow each
 * other, and bare metal has no such limit. */
static void virtual_disk_has_a_bandwidth_of_its_own(void)
{
	for (int kind = GUEST_BARE; kind <= GUEST_VM; kind++) {
		struct disk disk = disk_new();
		disk.net->host_params.virtual_disk_Bps = 25e6;
		disk.params.latency_s = 0;
		disk.params.parallel_requests_count = 10;
		for (int i = 0; i < 2; i++) {
			disk.net->guest_params[i].kind = kind;
			disk.net->guest_params[i].disk_request_s = 0;
		}
		disk_build(&disk);
		for (unsigned i = 0; i < 2; i++)
			CHECK(storage_read(disk.storage, disk.net->guest[i], i, 10e6, net_delivered,
					   disk.net, i));
		net_run(disk.net);
		CHECK_NEAR(disk.net->delivered_s[0], kind == GUEST_VM ? 0.4 : 0.2, 1e-6);
		CHECK_NEAR(disk.net->delivered_s[1], kind == GUEST_VM ? 0.4 : 0.2, 1e-6);
		net_free(disk.net);
	}
}

static void unreachable_storage_refuses_writes(void)
{
	struct disk disk = disk_new();
	disk.params.node = "nowhere";
	disk_build(&disk);
	const struct storage_write write = {
		.guest = disk.net->guest[0], .size_B = 1e6, .done = net_delivered, .ctx = disk.net};
	CHECK(!storage_write(disk.storage, &write));
	net_free(disk.net);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(one_read_takes_wait_and_transfer),
		TEST(memory_carries_each_byte_three_times),
		TEST(consecutive_reads_form_a_stream),
		TEST(readers_share_the_device),
		TEST(cached_part_needs_no_requests),
		TEST(virtual_disk_is_slower_in_a_vm_only),
		TEST(client_work_can_limit_reading),
		TEST(file_server_adds_the_network),
		TEST(file_server_shares_its_link),
		TEST(file_server_is_received_in_packets),
		TEST(guests_read_over_their_own_routes),
		TEST(unreachable_storage_refuses_reads),
		TEST(write_takes_the_slower_of_disk_and_thread),
		TEST(virtual_disk_has_a_bandwidth_of_its_own),
		TEST(unreachable_storage_refuses_writes),
	};
	num_init();
	return TEST_MAIN(tests);
}
