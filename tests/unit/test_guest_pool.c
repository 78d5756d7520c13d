/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools of cores: who shares them, who has cores of its own, what a thread gets. */
#include "tests/net.h"

/* Two guests on a host of four cores at 4.8 GHz, twice the reference clock, with
 * memory and copies that never bind; switching costs nothing. */
static struct net *pool_net(void)
{
	struct net *net = net_new();
	net->one_node = true;
	net->host_params.cores_count = 4;
	net->host_params.clock_Hz = 4.8e9;
	net->host_params.dram_bandwidth_Bps = 1e13;
	net->host_params.oversubscription_cost_ratio = 0;
	return net;
}

static void work(struct net *net, int guest, double work_s, double threads_count, uint64_t arg)
{
	struct flow_spec flow = {.done = net_delivered, .ctx = net, .arg = arg};
	guest_work_flow(net->guest[guest], work_s, threads_count, &flow);
	fabric_flow_start(net->fabric, &flow);
}

/* 8 core-seconds at the reference clock are 4 of these cores: one thread takes 4 s,
 * four take 1 s, and so do as many as can run. */
static void threads(void)
{
	static const double counts[] = {1, 2, 4, 100, 0}, seconds[] = {4, 2, 1, 1, 1};
	for (size_t i = 0; i < 5; i++) {
		struct net *net = pool_net();
		net_build(net);
		CHECK(guest_threads_count(net->guest[0]) == 4);
		work(net, 0, 8, counts[i], 0);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0], seconds[i], 1e-9);
		CHECK_NEAR(fabric_carried(net->fabric, guest_pool(net->guest[0])), 8, 1e-9);
		net_free(net);
	}
}

/* Four threads each of two guests: shared, each has two cores, twice the time. Both
 * pinned to two cores of their own, too. But one thread of a neighbour takes a fifth
 * of the pool from four (3.2 cores left: 4 / 3.2 s) and nothing from who is pinned. */
static void sharing(void)
{
	struct net *net = pool_net();
	net_build(net);
	work(net, 0, 8, 4, 0);
	work(net, 1, 8, 4, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 2, 1e-9);
	CHECK_NEAR(net->delivered_s[1], 2, 1e-9);
	net_free(net);

	net = pool_net();
	net_build(net);
	work(net, 0, 8, 4, 0);
	work(net, 1, 80, 1, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 1.25, 1e-9);
	net_free(net);
}

static double pinned_s(bool pinned, double neighbour_threads)
{
	struct net *net = pool_net();
	for (int i = 0; i < 2; i++) {
		net->guest_params[i].pinned = pinned;
		net->guest_params[i].vcpus_count = 2;
	}
	net->guest_params[1].vcpus_count = pinned ? 2 : 0;
	net_build(net);
	work(net, 0, 8, 0, 0);
	if (neighbour_threads > 0)
		work(net, 1, 80, neighbour_threads, 1);
	net_run(net);
	double seconds = net->delivered_s[0];
	net_free(net);
	return seconds;
}

/* Two virtual CPUs: 4 core-seconds take 2 s. A neighbour of four threads leaves two
 * of six shares of four cores, 4/3 of a core: 3 s; nothing changes for who is pinned. */
static void pinning(void)
{
	CHECK_NEAR(pinned_s(false, 0), 2, 1e-9);
	CHECK_NEAR(pinned_s(false, 4), 3, 1e-9);
	CHECK_NEAR(pinned_s(true, 0), 2, 1e-9);
	CHECK_NEAR(pinned_s(true, 4), 2, 1e-9);
}

/* A pinned guest's cores are taken out of the others' pool at its first use, and the others'
 * threads are bound elsewhere. A guest that finds too few left shares. */
static void reserved(void)
{
	struct net *net = pool_net();
	net->guest_params[1].pinned = true;
	net->guest_params[1].vcpus_count = 3;
	net_build(net);
	CHECK(guest_pool(net->guest[0]) != guest_pool(net->guest[1]));
	CHECK(guest_threads_count(net->guest[0]) == 1);
	CHECK(guest_threads_count(net->guest[1]) == 3);
	/* net_build bound one core of the bare guest before; its next one is that again,
	 * as no other is left. */
	struct cpu *core = guest_core(net->guest[0]);
	CHECK(core == net->core[0]);
	for (int i = 0; i < 3; i++)
		CHECK(guest_core(net->guest[1]) != core);
	struct guest_params late = net->guest_params[1];
	late.vcpus_count = 2;
	struct guest *guest = guest_new(net->host[0], "late", guest_node(net->guest[0]), &late);
	CHECK(guest_pool(guest) == guest_pool(net->guest[0]));
	CHECK(guest_threads_count(guest) == 1);
	net_free(net);
}

/* 25 % more work while six threads want four cores; none for four. Two threads that
 * never end make 1 s of four threads on half of the pool... : of 4 cores they get
 * 4/6 each: 4 threads have 8/3 cores, 4 / (8/3) x 1.25 = 1.875 s. */
static void oversubscribed(void)
{
	struct net *net = pool_net();
	net->host_params.oversubscription_cost_ratio = 0.25;
	net_build(net);
	double four = guest_threads_begin(net->guest[0], 4);
	CHECK(four == 4);
	CHECK_NEAR(fabric_capacity(net->fabric, guest_pool(net->guest[0])), 8, 1e-12);
	double two = guest_threads_begin(net->guest[1], 2);
	CHECK_NEAR(fabric_capacity(net->fabric, guest_pool(net->guest[0])), 6.4, 1e-12);
	work(net, 0, 8, 4, 0);
	work(net, 1, 80, 2, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 1.875, 1e-9);
	guest_threads_end(net->guest[0], four);
	CHECK_NEAR(fabric_capacity(net->fabric, guest_pool(net->guest[0])), 8, 1e-12);
	guest_threads_end(net->guest[1], two);
	net_free(net);
}

/* Half a thread more than cores costs half of switching. A guest's threads crowd the guests
 * that share its cores, and none if it is pinned. */
static void crowded(void)
{
	struct net *net = pool_net();
	net->host_params.oversubscription_cost_ratio = 0.25;
	net->guest_params[1].vcpus_count = 1;
	net->guest_params[1].pinned = true;
	net_build(net);
	int pool = guest_pool(net->guest[0]), own = guest_pool(net->guest[1]);
	double three = guest_threads_begin(net->guest[0], 3);
	double one = guest_threads_begin(net->guest[1], 1);
	CHECK(pool != own && !guest_is_crowded(net->guest[0]) && !guest_is_crowded(net->guest[1]));
	double half = guest_threads_begin(net->guest[0], 0.5);
	CHECK(guest_is_crowded(net->guest[0]) && !guest_is_crowded(net->guest[1]));
	CHECK_NEAR(fabric_capacity(net->fabric, pool), 3 * 2 / 1.125, 1e-12);
	CHECK_NEAR(fabric_capacity(net->fabric, own), 2, 1e-12);
	guest_threads_end(net->guest[0], half);
	guest_threads_end(net->guest[0], three);
	guest_threads_end(net->guest[1], one);
	CHECK_NEAR(fabric_capacity(net->fabric, pool), 6, 1e-12);
	CHECK_NEAR(guest_alone_s(net->guest[0], 1), 0.5, 1e-12);
	net_free(net);
}

/* A virtual machine's work costs more; a container's does not. */
static void virtual_machine(void)
{
	static const int kinds[] = {GUEST_BARE, GUEST_CONTAINER, GUEST_VM};
	static const double seconds[] = {1, 1, 1.5};
	for (int i = 0; i < 3; i++) {
		struct net *net = pool_net();
		net->guest_params[0].kind = kinds[i];
		net->guest_params[0].work_cost_ratio = 0.5;
		net->guest_params[0].interrupt_s = 3e-6;
		net_build(net);
		work(net, 0, 8, 4, 0);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0], seconds[i], 1e-9);
		CHECK(guest_interrupt_s(net->guest[0]) == (kinds[i] == GUEST_VM ? 3e-6 : 0));
		net_free(net);
	}
}

/* A thread that copies on a core weighs as much as one of four others: with five
 * threads on four cores each has 0.8 of one. The copy of 6 GB/s at the reference
 * clock runs at 12 GB/s alone, 9.6 beside them. */
static void copying_thread(void)
{
	struct net *net = pool_net();
	net->host_params.copy_rate_Bps = 6e9;
	net_build(net);
	struct cpu *core = net->core[0];
	CHECK(cpu_pool(core) == guest_pool(net->guest[0]));
	struct flow_spec copy = {
		.size = 12e9,
		.uses = {{cpu_resource(core), cpu_slowdown(core) / 6e9}, {cpu_pool(core), 1 / 6e9}},
		.use_count = 2,
		.done = net_delivered,
		.ctx = net,
		.arg = 0,
	};
	fabric_flow_start(net->fabric, &copy);
	work(net, 1, 80, 4, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 1.25, 1e-9);
	net_free(net);
}

/* A guest has two of four cores: two works of two threads each share them, though two more
 * cores are free. */
static void a_guest_has_no_more_than_its_virtual_cpus(void)
{
	struct net *net = pool_net();
	net->guest_params[0].vcpus_count = 2;
	net_build(net);
	work(net, 0, 8, 2, 0);
	work(net, 0, 8, 2, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 4, 1e-9);
	CHECK_NEAR(net->delivered_s[1], 4, 1e-9);
	net_free(net);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(a_guest_has_no_more_than_its_virtual_cpus),
		TEST(threads),
		TEST(sharing),
		TEST(pinning),
		TEST(reserved),
		TEST(oversubscribed),
		TEST(crowded),
		TEST(virtual_machine),
		TEST(copying_thread),
	};
	num_init();
	return TEST_MAIN(tests);
}
