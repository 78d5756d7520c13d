/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools of cores: shared cores, pinned cores, and the part of a thread. */
#include "sim/host/internal.h"
#include "tests/net.h"

/* Two guests on a host of four cores at 4.8 GHz, twice the reference clock. Memory and copies never
 * limit, and switching costs nothing. */
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

/* 8 core-seconds at the reference clock are 4 of these cores: one thread takes 4 s, four threads
 * take 1 s, and so does the maximum number of threads. */
static void work_uses_as_many_cores_as_threads(void)
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

/* Two guests with four threads each share four cores, so both take twice the time. The same holds
 * if both are pinned to two cores. One thread of a neighbour takes a fifth of the pool from four
 * threads (3.2 cores are left: 4 / 3.2 s), but nothing from a pinned guest. */
static void guests_share_the_pool_by_threads(void)
{
	struct net *net = pool_net();
	net_build(net);
	work(net, 0, 8, 4, 0);
	work(net, 1, 8, 100, 1); /* a guest runs at most as many threads as virtual CPUs */
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

/* With two virtual CPUs, 4 core-seconds take 2 s. A neighbour with four threads leaves two of six
 * shares of four cores, 4/3 of a core: 3 s. A pinned guest is not affected. */
static void pinned_guest_is_not_slowed_by_neighbours(void)
{
	CHECK_NEAR(pinned_s(false, 0), 2, 1e-9);
	CHECK_NEAR(pinned_s(false, 4), 3, 1e-9);
	CHECK_NEAR(pinned_s(true, 0), 2, 1e-9);
	CHECK_NEAR(pinned_s(true, 4), 2, 1e-9);
}

/* The cores of a pinned guest leave the shared pool when it is first used, and other threads are
 * bound elsewhere. A guest that finds too few free cores uses the shared pool. */
static void pinned_cores_leave_the_shared_pool(void)
{
	struct net *net = pool_net();
	net->guest_params[1].pinned = true;
	net->guest_params[1].vcpus_count = 3;
	net_build(net);
	CHECK(guest_pool(net->guest[0]) != guest_pool(net->guest[1]));
	CHECK(guest_threads_count(net->guest[0]) == 1);
	CHECK(guest_threads_count(net->guest[1]) == 3);
	/* net_build bound one core of the bare guest before; its next core is the same, because no
	 * other is left. */
	struct cpu *core = guest_core(net->guest[0]);
	CHECK(core == net->core[0]);
	for (int i = 0; i < 3; i++)
		CHECK(guest_core(net->guest[1]) != core);
	for (int i = 0; i < 3; i++)
		CHECK(host_core_bind(net->host[0]) == core);
	struct guest_params late = net->guest_params[1];
	late.vcpus_count = 2;
	struct guest *guest = guest_new(net->host[0], "late", guest_node(net->guest[0]), &late);
	CHECK(guest_pool(guest) == guest_pool(net->guest[0]));
	CHECK(guest_threads_count(guest) == 1);
	late.vcpus_count = 1; /* as many as are free */
	guest = guest_new(net->host[0], "fits", guest_node(net->guest[0]), &late);
	CHECK(guest_pool(guest) != guest_pool(net->guest[0]));
	CHECK(guest_threads_count(net->guest[0]) == 1); /* no core is free, and one is shared */
	net_free(net);
}

/* There is 25 % more work while six threads share four cores, and none for four threads. Two
 * threads that never end leave each thread 4/6 of a core: 4 threads have 8/3 cores, so they take 4
 * / (8/3) x 1.25 = 1.875 s. */
static void more_threads_than_cores_add_work(void)
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

/* Half a thread more than cores costs half of the switching. A guest's threads crowd only guests on
 * the same cores. */
static void extra_work_grows_with_the_excess_of_threads(void)
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

/* Work in a virtual machine costs more, in a container it does not. */
static void virtual_machine_adds_work(void)
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

/* A copying thread has the same weight as each of four others: with five threads on four cores each
 * has 0.8 of one. A copy of 6 GB/s at the reference clock reaches 12 GB/s on an idle host and 9.6
 * GB/s with these threads. */
static void copying_thread_weighs_as_much_as_others(void)
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

/* A guest has two of four cores. Two works with two threads each share these two, although two
 * other cores are idle. */
static void guest_is_limited_to_its_virtual_cpus(void)
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

/* 8 core-seconds are 4 of these cores. Three of four cores poll, so four threads share the last
 * one. The pool keeps this core also if more threads poll than there are cores. */
static void polling_threads_leave_fewer_cores(void)
{
	static const double polling_count[] = {0, 3, 9}, expected_s[] = {1, 4, 4};
	for (size_t i = 0; i < 3; i++) {
		struct net *net = pool_net();
		net_build(net);
		guest_cores_take(net->guest[0], polling_count[i]);
		work(net, 0, 8, 4, 0);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0], expected_s[i], 1e-9);
		net_free(net);
	}
}

/* Four cores of twice the reference clock do 8 s of work in a second, so a unit of 1 ms has at most
 * 8000 a second. A lower limit of the flow stays. */
static void work_keeps_a_lower_limit_of_its_flow(void)
{
	static const double given[] = {0, 100, 1e6}, wanted[] = {8000, 100, 8000};
	struct net *net = pool_net();
	net_build(net);
	for (size_t i = 0; i < 3; i++) {
		struct flow_spec flow = {.size = 1, .cap = given[i]};
		guest_work_add(net->guest[0], 1e-3, 0, &flow);
		CHECK_NEAR(flow.cap, wanted[i], 1e-9);
	}
	net_free(net);
}

/* Four threads of a neighbour take all four cores of the pool, but a guest is crowded only by more
 * threads than the pool has cores, or than it has virtual CPUs. */
static void neighbours_take_the_cores_of_the_pool(void)
{
	struct net *net = pool_net();
	net_build(net);
	double three_count = guest_threads_begin(net->guest[0], 3);
	CHECK(guest_has_core(net->guest[1]) && !guest_is_crowded(net->guest[1]));
	double one_count = guest_threads_begin(net->guest[0], 1);
	CHECK(!guest_has_core(net->guest[1]) && !guest_is_crowded(net->guest[1]));
	double own_count = guest_threads_begin(net->guest[1], 1);
	CHECK(guest_is_crowded(net->guest[1]) && guest_is_crowded(net->guest[0]));
	guest_threads_end(net->guest[1], own_count);
	guest_threads_end(net->guest[0], one_count);
	guest_threads_end(net->guest[0], three_count);
	net_free(net);
}

/* A guest with two of four cores is crowded by a third thread, but not by threads that have ended.
 */
static void threads_that_have_ended_do_not_crowd_a_guest(void)
{
	struct net *net = pool_net();
	net->guest_params[0].vcpus_count = 2;
	net_build(net);
	struct guest *guest = net->guest[0];
	for (int turn = 0; turn < 3; turn++) {
		double one_count = guest_threads_begin(guest, 1);
		CHECK(guest_has_core(guest)); /* for one more */
		guest_threads_end(guest, one_count);
		double two_count = guest_threads_begin(guest, 2);
		CHECK(!guest_is_crowded(guest) && !guest_has_core(guest));
		double more_count = guest_threads_begin(guest, 1);
		CHECK(guest_is_crowded(guest));
		guest_threads_end(guest, more_count);
		guest_threads_end(guest, two_count);
		double all_count = guest_threads_begin(guest, 0);
		CHECK_NEAR(all_count, 2, 1e-12);
		CHECK(!guest_is_crowded(guest) && !guest_has_core(guest));
		guest_threads_end(guest, all_count);
	}
	net_free(net);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(guest_is_limited_to_its_virtual_cpus),
		TEST(work_uses_as_many_cores_as_threads),
		TEST(guests_share_the_pool_by_threads),
		TEST(pinned_guest_is_not_slowed_by_neighbours),
		TEST(pinned_cores_leave_the_shared_pool),
		TEST(more_threads_than_cores_add_work),
		TEST(extra_work_grows_with_the_excess_of_threads),
		TEST(virtual_machine_adds_work),
		TEST(copying_thread_weighs_as_much_as_others),
		TEST(polling_threads_leave_fewer_cores),
		TEST(work_keeps_a_lower_limit_of_its_flow),
		TEST(threads_that_have_ended_do_not_crowd_a_guest),
		TEST(neighbours_take_the_cores_of_the_pool),
	};
	num_init();
	return TEST_MAIN(tests);
}
