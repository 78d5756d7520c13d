/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/host/internal.h"
#include "tests/net.h"

static struct cpu *core_of(struct net *net, const struct cpu_spec *spec)
{
	return cpu_new(net->arena, net->engine, net->fabric, "host", "core", spec);
}

static const struct cpu_spec plain = {.clock_Hz = REFERENCE_CLOCK_HZ};

/* Items of 3 us and 2 us end at 3 and 5 us, and at half the clock at 6 and 10 us. */
static void service_runs_in_order_at_the_cores_clock(void)
{
	for (int slow = 0; slow < 2; slow++) {
		struct net *net = net_new();
		struct cpu_spec spec = plain;
		if (slow)
			spec.clock_Hz /= 2;
		struct cpu *core = core_of(net, &spec);
		cpu_serve(core, 3e-6, NULL, net_delivered, net, 0);
		cpu_serve(core, 2e-6, NULL, net_delivered, net, 1);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0], slow ? 6e-6 : 3e-6, 1e-9);
		CHECK_NEAR(net->delivered_s[1], slow ? 10e-6 : 5e-6, 1e-9);
		CHECK_NEAR(cpu_busy_s(core), slow ? 10e-6 : 5e-6, 1e-9);
		/* the second item waits for the first */
		CHECK_NEAR(s_from_ps(engine_wait_ps(net->engine, WAIT_CORE)), slow ? 6e-6 : 3e-6,
			   1e-9);
		CHECK_NEAR(cpu_slowdown(core), slow ? 2 : 1, 1e-12);
		net_free(net);
	}
}

/* More items than the initial room of the ring buffer stay in order. */
static void long_service_queue_stays_in_order(void)
{
	struct net *net = net_new();
	struct cpu *core = core_of(net, &plain);
	for (uint64_t i = 0; i < 100; i++)
		cpu_serve(core, 1e-6, NULL, net_delivered, net, i);
	net_run(net);
	for (uint64_t i = 0; i < 100; i++)
		CHECK(net->order[i] == i);
	CHECK_NEAR(net->delivered_s[99], 100e-6, 1e-9);
	net_free(net);
}

struct later {
	struct net *net;
	struct cpu *core;
};

static void serve_later(void *ctx, uint64_t arg)
{
	struct later *later = ctx;
	cpu_serve(later->core, 10e-6, NULL, net_delivered, later->net, arg);
}

/* A flow needs 100 us of the core. 10 us of service at 20 us take 20 us, in which the flow gets 10.
 * So the service ends at 40. The same at 60 us ends at 80, and the flow at 100 + 10 + 10 = 120. */
static void service_and_flow_share_the_core_equally(void)
{
	struct net *net = net_new();
	struct cpu *core = core_of(net, &plain);
	struct flow_spec flow = {.size = 100, .done = net_delivered, .ctx = net, .arg = 0};
	flow.uses[0] = (struct flow_use){cpu_resource(core), 1e-6};
	flow.use_count = 1;
	fabric_flow_start(net->fabric, &flow);
	struct later later = {net, core};
	engine_at(net->engine, ps_from_s(20e-6), serve_later, &later, 1);
	engine_at(net->engine, ps_from_s(60e-6), serve_later, &later, 2);
	net_run(net);
	CHECK_NEAR(net->delivered_s[1], 40e-6, 1e-6);
	CHECK_NEAR(net->delivered_s[2], 80e-6, 1e-6);
	CHECK_NEAR(net->delivered_s[0], 120e-6, 1e-6);
	CHECK_NEAR(cpu_busy_s(core), 20e-6, 1e-9);
	CHECK_NEAR(fabric_carried(net->fabric, cpu_resource(core)), 100e-6, 1e-9);
	net_free(net);
}

/* Returns the end of 10 us of service at 20 us, beside a flow that needs work_s of the core and
 * gets at most the part `cap` of it. */
static double served_beside(double work_s, double cap)
{
	struct net *net = net_new();
	struct cpu *core = core_of(net, &plain);
	struct flow_spec flow = {
		.size = work_s * 1e6, .cap = cap * 1e6, .done = net_delivered, .ctx = net};
	flow.uses[0] = (struct flow_use){cpu_resource(core), 1e-6};
	flow.use_count = 1;
	fabric_flow_start(net->fabric, &flow);
	struct later later = {net, core};
	engine_at(net->engine, ps_from_s(20e-6), serve_later, &later, 1);
	net_run(net);
	double end_s = net->delivered_s[1];
	net_free(net);
	return end_s;
}

/* A flow that gets a fifth of the core leaves four fifths for the service: 20 + 10 / 0.8 us. One
 * that needs the core until 24 us has two of these 4 us, and the service the rest: 20 + 10 + 2 us.
 */
static void service_loses_only_the_time_that_flows_use(void)
{
	CHECK_NEAR(served_beside(100e-6, 0.2), 32.5e-6, 1e-6);
	CHECK_NEAR(served_beside(22e-6, 1), 32e-6, 1e-6);
}

static void poll_later(void *ctx, uint64_t arg)
{
	cpu_polled(ctx);
}

static double served_after(double idle_s, bool spinning, double wake_s)
{
	struct net *net = net_new();
	struct cpu_spec spec = {
		.clock_Hz = REFERENCE_CLOCK_HZ,
		.wake_s = wake_s,
		.idle = {{80e-6, 10e-6}, {300e-6, 82e-6}},
		.idle_count = 2,
	};
	struct later later = {net, core_of(net, &spec)};
	if (spinning)
		cpu_spin(later.core);
	engine_at(net->engine, ps_from_s(idle_s), serve_later, &later, 0);
	net_run(net);
	double taken_s = net->delivered_s[0] - idle_s;
	net_free(net);
	return taken_s;
}

/* 10 us of work take the exit latency of the idle state in addition. It grows from 0 after 80 us to
 * the 10 us of C1E after 160 us, and from there to the 82 us of C6 between 300 and 600 us. */
static void idle_core_adds_its_exit_latency(void)
{
	CHECK_NEAR(served_after(0, false, 14e-6), 10e-6, 1e-9);
	CHECK_NEAR(served_after(50e-6, false, 0), 10e-6, 1e-6);
	CHECK_NEAR(served_after(50e-6, false, 14e-6), 24e-6, 1e-6);
	CHECK_NEAR(served_after(80e-6, false, 0), 10e-6, 1e-4);
	CHECK_NEAR(served_after(120e-6, false, 0), 15e-6, 1e-4);
	CHECK_NEAR(served_after(160e-6, false, 0), 20e-6, 1e-4);
	CHECK_NEAR(served_after(300e-6, false, 14e-6), 34e-6, 1e-4);
	CHECK_NEAR(served_after(450e-6, false, 14e-6), 70e-6, 1e-4);
	CHECK_NEAR(served_after(600e-6, false, 14e-6), 106e-6, 1e-4);
	CHECK_NEAR(served_after(1, true, 14e-6), 10e-6, 1e-4);
}

/* A thread that polls until the work comes keeps the core awake, here for 0.6 ms. One that has
 * stopped 50 us before has left it idle for 50 us, so only the virtual CPU's wake-up is added. */
static void core_of_a_polling_thread_does_not_sleep(void)
{
	for (int stops = 0; stops < 2; stops++) {
		struct net *net = net_new();
		struct cpu_spec spec = {.clock_Hz = REFERENCE_CLOCK_HZ,
					.wake_s = 14e-6,
					.idle = {{80e-6, 10e-6}},
					.idle_count = 1};
		struct later later = {net, core_of(net, &spec)};
		engine_at(net->engine, ps_from_s(stops ? 550e-6 : 600e-6), poll_later, later.core,
			  0);
		engine_at(net->engine, ps_from_s(600e-6), serve_later, &later, 0);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0] - 600e-6, stops ? 24e-6 : 10e-6, 1e-4);
		net_free(net);
	}
}

static void start_small_flow(void *ctx, uint64_t arg)
{
	struct later *later = ctx;
	struct flow_spec flow = {
		.size = 2000, .cap = 0.2e6, .done = net_delivered, .ctx = later->net, .arg = arg};
	flow.uses[0] = (struct flow_use){cpu_resource(later->core), 1e-6};
	flow.use_count = 1;
	fabric_flow_start(later->net->fabric, &flow);
}

/* A flow that uses a fifth of a core has woken it, so 10 us of service take 10 / 0.8 us and need no
 * wake-up. */
static void small_flow_wakes_its_core(void)
{
	struct net *net = net_new();
	const struct cpu_spec spec = {.clock_Hz = REFERENCE_CLOCK_HZ, .wake_s = 14e-6};
	struct later later = {net, core_of(net, &spec)};
	engine_at(net->engine, ps_from_s(0.5e-3), start_small_flow, &later, 0);
	engine_at(net->engine, ps_from_s(1e-3), serve_later, &later, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[1], 1012.5e-6, 1e-9);
	net_free(net);
}

/* Three guests on a core raise its wake-up to 14, 20 and 17 us: the longest one counts. */
static void the_longest_wake_up_of_a_core_counts(void)
{
	struct net *net = net_new();
	const struct cpu_spec spec = {.clock_Hz = REFERENCE_CLOCK_HZ};
	struct later later = {net, core_of(net, &spec)};
	cpu_wake_raise(later.core, 14e-6);
	cpu_wake_raise(later.core, 20e-6);
	cpu_wake_raise(later.core, 17e-6);
	engine_at(net->engine, ps_from_s(1e-3), serve_later, &later, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[1], 1000e-6 + 20e-6 + 10e-6, 1e-9);
	net_free(net);
}

/* Two wake-ups: the second idle time counts from the end of the first item, 600 + 82 + 10 = 692 us.
 * So the next work at 812 finds 120 us of idle time and waits for 5 us. */
static void idle_time_counts_from_the_last_service(void)
{
	struct net *net = net_new();
	net->host_params.c_states = true;
	net_build(net);
	struct later later = {net, net->core[0]};
	engine_at(net->engine, ps_from_s(600e-6), serve_later, &later, 0);
	engine_at(net->engine, ps_from_s(812e-6), serve_later, &later, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 692e-6, 1e-6);
	CHECK_NEAR(net->delivered_s[1], 827e-6, 1e-6);
	CHECK_NEAR(s_from_ps(engine_wait_ps(net->engine, WAIT_IDLE_STATE)), 87e-6, 1e-6);
	net_free(net);
}

static double clock_with(int policy, bool turbo, double turbo_clock_Hz)
{
	struct net *net = net_new();
	net->host_params.clock_Hz = 1.9e9;
	net->host_params.turbo_clock_Hz = turbo_clock_Hz;
	net->host_params.balanced_clock_ratio = 0.9;
	net->host_params.power_policy = policy;
	net->host_params.turbo = turbo;
	net_build(net);
	double clock_Hz = host_clock_Hz(net->host[0]);
	CHECK_NEAR(cpu_slowdown(net->core[0]), 2.4e9 / clock_Hz, 1e-12);
	net_free(net);
	return clock_Hz;
}

static void power_policy_and_turbo_set_the_clock(void)
{
	CHECK_NEAR(clock_with(POWER_BALANCED, true, 2.4e9), 1.71e9, 1e-12);
	CHECK_NEAR(clock_with(POWER_MAX_PERFORMANCE, false, 2.4e9), 1.9e9, 1e-12);
	CHECK_NEAR(clock_with(POWER_MAX_PERFORMANCE, true, 2.4e9), 2.4e9, 1e-12);
	/* 0 Hz: the data sheet states none */
	CHECK_NEAR(clock_with(POWER_MAX_PERFORMANCE, true, 0), 1.9e9, 1e-12);
}

/* Two guests with 2 virtual CPUs each run on 3 cores, so the fourth virtual CPU shares the first
 * core. */
static void virtual_cpus_spread_over_the_cores(void)
{
	struct net *net = net_new();
	net->host_params.cores_count = 3;
	net_presets(net->arena, &guest_table, &net->guest_params[0]);
	net->guest_params[0].vcpus_count = 2;
	struct host *host =
		host_new(net->arena, net->engine, net->fabric, "host", &net->host_params);
	struct guest *one = guest_new(host, "one", 0, &net->guest_params[0]);
	struct guest *two = guest_new(host, "two", 0, &net->guest_params[0]);
	struct cpu *a = guest_core(one), *b = guest_core(two);
	struct cpu *c = guest_core(one), *d = guest_core(two);
	CHECK(a != b && b != c && a != c && d == a);
	CHECK(guest_core(one) == a && guest_core(two) == b && guest_core(one) == c);
	net_free(net);
}

/* Two of three cores are reserved, so all other threads run on the third. If all are reserved, they
 * share the one with the fewest threads. A guest relays all its messages on one core. */
static void reserved_cores_are_shared_only_if_no_other_is_left(void)
{
	struct net *net = net_new();
	net->host_params.cores_count = 3;
	net_presets(net->arena, &guest_table, &net->guest_params[0]);
	struct host *host =
		host_new(net->arena, net->engine, net->fabric, "host", &net->host_params);
	struct cpu *a = host_core_reserve(host), *b = host_core_reserve(host);
	struct cpu *c = host_core_bind(host);
	CHECK(a != b && c != a && c != b && host_core_bind(host) == c);
	CHECK(host_core_reserve(host) == c);
	CHECK(host_core_bind(host) == a && host_core_bind(host) == b);
	net->guest_params[0].vcpus_count = 3;
	struct host *other =
		host_new(net->arena, net->engine, net->fabric, "other", &net->host_params);
	struct guest *guest = guest_new(other, "guest", 0, &net->guest_params[0]);
	struct cpu *relay = guest_relay_core(guest);
	CHECK(guest_core(guest) != relay && guest_relay_core(guest) == relay);
	net_free(net);
}

/* send 3 + SELinux 0.3 + 2 packets x (firewall 1 + vNIC 0.5) + packet 0.4 + 1000 B x 0.25 ns = 6.95
 * us; without the options 3.65 us. */
static void message_work_sums_each_option(void)
{
	struct net *net = net_new();
	struct guest_params *params = &net->guest_params[0];
	net_presets(net->arena, &guest_table, params);
	params->kind = GUEST_VM;
	params->vnic = VNIC_VMXNET3;
	params->firewall = params->selinux = true;
	net_build(net);
	CHECK_NEAR(guest_send_work_s(net->guest[0], 2, 1000), 6.95e-6, 1e-9);
	CHECK_NEAR(guest_receive_work_s(net->guest[0], 2, 1000), 8.95e-6, 1e-9);
	CHECK_NEAR(guest_flow_spB(net->guest[0], 1000, INFINITY), 0.25e-9 + 1.9e-9, 1e-9);
	params->firewall = params->selinux = false;
	params->vnic = VNIC_PASSTHROUGH;
	CHECK_NEAR(guest_send_work_s(net->guest[0], 2, 1000), 3.65e-6, 1e-9);
	CHECK_NEAR(guest_flow_spB(net->guest[0], 1000, INFINITY), 0.65e-9, 1e-9);
	net_free(net);
}

/* A core's cache of 1000 B holds all of 500 B, and a quarter of 4000 B: 0.25 x 0.2 + 0.75. Messages
 * and flows cost accordingly less. */
static void bytes_in_the_cache_cost_less(void)
{
	struct net *net = net_new();
	struct guest_params *params = &net->guest_params[0];
	net_presets(net->arena, &guest_table, params);
	params->cached_ratio = 0.2;
	net_build(net);
	CHECK_NEAR(guest_cached_ratio(net->guest[0], 500), 1, 1e-12);
	params->cache_B = 1000;
	CHECK_NEAR(guest_cached_ratio(net->guest[0], 500), 0.2, 1e-12);
	CHECK_NEAR(guest_cached_ratio(net->guest[0], 4000), 0.8, 1e-12);
	CHECK_NEAR(guest_send_work_s(net->guest[0], 1, 500), 3e-6 + 500 * 0.05e-9, 1e-12);
	CHECK_NEAR(guest_flow_spB(net->guest[0], 1000, 4000), 0.2e-9 + 0.4e-9, 1e-12);
	net_free(net);
}

static void offload_enlarges_packets_and_vnics_add_latency(void)
{
	struct net *net = net_new();
	struct guest_params *params = &net->guest_params[0];
	net_presets(net->arena, &guest_table, params);
	net_build(net);
	struct guest *guest = net->guest[0];
	CHECK(guest_packet_B(guest, true, 1448) == 65536);
	CHECK(guest_vnic_latency_s(guest) == 0);
	params->vnic = VNIC_VMXNET3;
	CHECK(guest_vnic_latency_s(guest) == params->vnic_latency_s);
	CHECK(guest_packet_B(guest, true, 1448) == 65536);
	params->latency_sensitivity = SENSITIVITY_HIGH;
	CHECK(guest_packet_B(guest, true, 1448) == 1448);
	CHECK(guest_packet_B(guest, false, 1448) == 65536);
	params->offload = false;
	CHECK(guest_packet_B(guest, false, 1448) == 1448);
	params->vnic = VNIC_PASSTHROUGH;
	CHECK(guest_vnic_latency_s(guest) == 0);
	net_free(net);
}

struct arrivals {
	struct net *net;
	bool physical;
	double work_s;
};

static void arrive(void *ctx, uint64_t arg)
{
	struct arrivals *arrivals = ctx;
	struct net *net = arrivals->net;
	guest_receive(net->guest[0], net->core[0], arrivals->physical, false, arrivals->work_s,
		      net_delivered, net, arg);
}

/* Sends messages at 1000, 1010, 1020, 1400 and 2000 us. Returns the number of interrupts. */
static uint64_t receive_five(struct net *net, bool physical)
{
	static const double at_us[] = {1000, 1010, 1020, 1400, 2000};
	net_build(net);
	struct arrivals arrivals = {net, physical, 0};
	for (uint64_t i = 0; i < 5; i++)
		engine_at(net->engine, ps_from_s(at_us[i] * 1e-6), arrive, &arrivals, i);
	net_run(net);
	return net->guest[0]->interrupts_count;
}

/* There is at most one interrupt in 250 us: at 1000, for the next two messages at 1250, for the one
 * of 1400 at 1500, and at 2000. */
static void coalescing_delays_to_the_next_interrupt(void)
{
	struct net *net = net_new();
	net->guest_params[0].kind = GUEST_VM;
	net->guest_params[0].vnic = VNIC_VMXNET3;
	CHECK(receive_five(net, false) == 4);
	CHECK_NEAR(net->delivered_s[0], 1000e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[1], 1250e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[2], 1250e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[3], 1500e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[4], 2000e-6, 1e-9);
	CHECK_NEAR(s_from_ps(engine_wait_ps(net->engine, WAIT_INTERRUPT)), (240 + 230 + 100) * 1e-6,
		   1e-9);
	net_free(net);
}

/* High latency sensitivity turns coalescing off, and so do its own setting and every other virtual
 * NIC. Then there are five interrupts and no waits. */
static void sensitivity_turns_coalescing_off(void)
{
	static const struct {
		int vnic, sensitivity;
		bool coalescing;
	} cases[] = {{VNIC_VMXNET3, SENSITIVITY_HIGH, true},
		     {VNIC_VMXNET3, SENSITIVITY_NORMAL, false},
		     {VNIC_VIRTIO, SENSITIVITY_NORMAL, true},
		     {VNIC_PVRDMA, SENSITIVITY_NORMAL, true},
		     {VNIC_PASSTHROUGH, SENSITIVITY_NORMAL, true}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct net *net = net_new();
		net->guest_params[0].kind = GUEST_VM;
		net->guest_params[0].vnic = cases[i].vnic;
		net->guest_params[0].latency_sensitivity = cases[i].sensitivity;
		net->guest_params[0].coalescing = cases[i].coalescing;
		CHECK(receive_five(net, false) == 5);
		CHECK_NEAR(net->delivered_s[2], 1020e-6, 1e-9);
		net_free(net);
	}
}

/* Only VMXNET3, PVRDMA and virtio pass a virtual switch, only VMXNET3 and virtio leave the guest
 * for each packet, and only virtio has a thread: 2 us a packet and a copy of 6 kB at 6 GB/s. */
static void virtual_nics_differ_in_latency_and_work(void)
{
	static const struct {
		int vnic;
		bool switched, exits, thread, sockets;
	} cases[] = {{VNIC_NONE, false, false, false, false},
		     {VNIC_PASSTHROUGH, false, false, false, false},
		     {VNIC_PVRDMA, true, false, false, false},
		     {VNIC_VMXNET3, true, true, false, true},
		     {VNIC_VIRTIO, true, true, true, true}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct net *net = net_new();
		net_presets(net->arena, &guest_table, &net->guest_params[0]);
		net->guest_params[0].vnic = cases[i].vnic;
		net_build(net);
		struct guest *guest = net->guest[0];
		CHECK_NEAR(guest_vnic_latency_s(guest), cases[i].switched ? 1.25e-6 : 0, 1e-12);
		CHECK_NEAR(guest_send_work_s(guest, 1, 0), 3e-6 + (cases[i].exits ? 0.5e-6 : 0),
			   1e-9);
		CHECK_NEAR(guest_thread_work_s(guest, 3, 6000), cases[i].thread ? 7e-6 : 0, 1e-9);
		CHECK((guest_thread_core(guest) != NULL) == cases[i].thread);
		CHECK(guest_vnic_is_socket_only(guest) == cases[i].sockets);
		net_free(net);
	}
}

/* A message that arrives in the same picosecond as an interrupt is processed after those that
 * waited for the interrupt. Each takes 3 us of the reference clock. */
static void delayed_messages_stay_in_order(void)
{
	static const double fires_us[] = {1250, 1125};
	for (int physical = 0; physical < 2; physical++) {
		struct net *net = net_new();
		if (physical) {
			net->host_params.nic_moderation = true;
		} else {
			net->guest_params[0].kind = GUEST_VM;
			net->guest_params[0].vnic = VNIC_VMXNET3;
		}
		const double at_us[] = {1000, 1010, 1020, fires_us[physical]};
		net_build(net);
		struct arrivals arrivals = {net, physical, 3e-6};
		for (uint64_t i = 0; i < 4; i++)
			engine_at(net->engine, ps_from_s(at_us[i] * 1e-6), arrive, &arrivals, i);
		net_run(net);
		CHECK(net->delivered_s[1] < net->delivered_s[2]);
		CHECK(net->delivered_s[2] < net->delivered_s[3]);
		CHECK(net->delivered_s[3] - net->delivered_s[1] >= 5.9e-6);
		net_free(net);
	}
}

/* With 8000 interrupts per second there is one at 1000 and one at 1125 for two messages. The 250 us
 * of the virtual NIC are added. */
static void moderation_applies_to_physical_nics_only(void)
{
	struct net *net = net_new();
	net->host_params.nic_moderation = true;
	CHECK(receive_five(net, true) == 4);
	CHECK_NEAR(net->delivered_s[1], 1125e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[2], 1125e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[3], 1400e-6, 1e-9);
	net_free(net);

	net = net_new();
	net->host_params.nic_moderation = true;
	CHECK(receive_five(net, false) == 5); /* inside one host */
	CHECK_NEAR(net->delivered_s[1], 1010e-6, 1e-9);
	net_free(net);

	net = net_new();
	net->host_params.nic_moderation = true;
	net->guest_params[0].vnic = VNIC_VMXNET3;
	CHECK(receive_five(net, true) == 4);
	CHECK_NEAR(net->delivered_s[1], 1250e-6, 1e-9); /* at 1125 from the NIC */
	CHECK_NEAR(s_from_ps(engine_wait_ps(net->engine, WAIT_INTERRUPT)),
		   (115 + 105 + 125 + 125 + 100) * 1e-6, 1e-9);
	net_free(net);

	net = net_new(); /* completions of paravirtual RDMA are not moderated */
	net->host_params.nic_moderation = true;
	net->guest_params[0].vnic = VNIC_PVRDMA;
	CHECK(receive_five(net, true) == 5);
	CHECK_NEAR(net->delivered_s[1], 1010e-6, 1e-9);
	net_free(net);
}

/* A halted virtual CPU adds 14 us, but not at high sensitivity and not in a container. */
static void halted_virtual_cpu_adds_its_wake_up(void)
{
	for (int which = 0; which < 3; which++) {
		struct net *net = net_new();
		net->guest_params[0].vcpu_wake_s = 14e-6;
		net->guest_params[0].kind = which == 2 ? GUEST_CONTAINER : GUEST_VM;
		net->guest_params[0].latency_sensitivity =
			which == 1 ? SENSITIVITY_HIGH : SENSITIVITY_NORMAL;
		receive_five(net, false);
		CHECK_NEAR(net->delivered_s[0], which == 0 ? 1014e-6 : 1000e-6, 1e-9);
		net_free(net);
	}
}

/* A flow that uses a core keeps it awake: it ends at 100 us, so at 110 the core has been idle
 * for 10, not 110, and the state of 80 us is not reached. From 120 to 290 us it sleeps. */
static void flow_keeps_its_core_awake(void)
{
	struct net *net = net_new();
	const struct cpu_spec spec = {
		.clock_Hz = REFERENCE_CLOCK_HZ, .idle = {{80e-6, 50e-6}}, .idle_count = 1};
	struct later later = {net, core_of(net, &spec)};
	struct flow_spec flow = {.size = 100, .done = net_delivered, .ctx = net, .arg = 0};
	flow.uses[0] = (struct flow_use){cpu_resource(later.core), 1e-6};
	flow.use_count = 1;
	fabric_flow_start(net->fabric, &flow);
	engine_at(net->engine, ps_from_s(110e-6), serve_later, &later, 1);
	engine_at(net->engine, ps_from_s(290e-6), serve_later, &later, 2);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0], 100e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[1], 120e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[2], 350e-6, 1e-9);
	net_free(net);
}

static const struct test tests[] = {
	TEST(service_runs_in_order_at_the_cores_clock),
	TEST(long_service_queue_stays_in_order),
	TEST(service_and_flow_share_the_core_equally),
	TEST(service_loses_only_the_time_that_flows_use),
	TEST(idle_core_adds_its_exit_latency),
	TEST(core_of_a_polling_thread_does_not_sleep),
	TEST(idle_time_counts_from_the_last_service),
	TEST(power_policy_and_turbo_set_the_clock),
	TEST(virtual_cpus_spread_over_the_cores),
	TEST(reserved_cores_are_shared_only_if_no_other_is_left),
	TEST(message_work_sums_each_option),
	TEST(offload_enlarges_packets_and_vnics_add_latency),
	TEST(coalescing_delays_to_the_next_interrupt),
	TEST(sensitivity_turns_coalescing_off),
	TEST(virtual_nics_differ_in_latency_and_work),
	TEST(delayed_messages_stay_in_order),
	TEST(moderation_applies_to_physical_nics_only),
	TEST(halted_virtual_cpu_adds_its_wake_up),
	TEST(flow_keeps_its_core_awake),
	TEST(the_longest_wake_up_of_a_core_counts),
	TEST(small_flow_wakes_its_core),
	TEST(bytes_in_the_cache_cost_less),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
