/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/host/host.h"
#include "sim/host/internal.h"

static const char *const guest_kinds[] = {"bare", "vm", "container", NULL};
static const char *const vnic_kinds[] = {"none",    "passthrough", "pvrdma",
					 "vmxnet3", "virtio",      NULL};
static const char *const sensitivities[] = {"normal", "high", NULL};

static const struct param_row guest_rows[] = {
	PARAM_CHOICE(struct guest_params, kind, guest_kinds, "bare",
		     "place where programs run: bare machine, virtual machine or container",
		     "assumption: no virtualisation unless a case sets it"),
	PARAM_CHOICE(struct guest_params, vnic, vnic_kinds, "none", "kind of the virtual NIC",
		     "assumption: none unless a case sets it"),
	PARAM_WHOLE(struct guest_params, vcpus_count, 0, 1024, "0",
		    "number of virtual CPUs; 0 means as many as the host has cores",
		    "assumption: guests are not smaller than the host"),
	PARAM_BOOL(struct guest_params, pinned, "false",
		   "whether the guest has physical cores of its own, one for each virtual CPU",
		   "defaults of Linux, Docker (no --cpuset-cpus) and KVM (no vcpupin): threads "
		   "run on any core"),
	PARAM_CHOICE(struct guest_params, latency_sensitivity, sensitivities, "normal",
		     "latency sensitivity setting of the virtual machine",
		     "VMware: the default is Normal"),
	COST_SOURCED(struct guest_params, vcpu_wake_s, QUANTITY_TIME, 0, 1, "14 us",
		     "time to schedule a halted virtual CPU again, at normal sensitivity",
		     "VMware vSphere 5.5 latency-sensitive workloads paper: ping medians 34 us by "
		     "default, 20 us with latency sensitivity and passthrough"),
	PARAM_BOOL(struct guest_params, coalescing, "true",
		   "interrupt coalescing of the VMXNET3; high latency sensitivity turns it off",
		   "VMware vSphere networking: on by default, turned off automatically"),
	PARAM_NUMBER(struct guest_params, coalescing_rate_Hz, QUANTITY_FREQUENCY, 100, 1e5, "4 kHz",
		     "maximum interrupts per second of the VMXNET3",
		     "VMware vSphere networking: ethernetX.coalescingParams, rbc, default 4000"),
	COST_ASSUMED(struct guest_params, vnic_packet_s, QUANTITY_TIME, 0, 1e-3, "0.5 us",
		     "work of the hypervisor per packet of a VMXNET3, in the guest's time",
		     "assumption: one exit or descriptor of about 1000 cycles"),
	COST_ASSUMED(
		struct guest_params, vnic_thread_packet_s, QUANTITY_TIME, 0, 1e-3, "2 us",
		"work of the host's network thread (vhost) for each packet of a virtio NIC, at "
		"2.4 GHz, on top of a copy of its bytes",
		"assumption: vhost-net forwards about half a million packets per second"),
	COST_ASSUMED(struct guest_params, vnic_latency_s, QUANTITY_TIME, 0, 1e-2, "1.25 us",
		     "latency that a VMXNET3 or PVRDMA adds at each end, in one direction "
		     "(VMXNET3: in the virtual switch)",
		     "assumption: 2.5 us for both ends together, the middle of 1 to 4 us for "
		     "PVRDMA over DirectPath; no source was found"),
	PARAM_BOOL(struct guest_params, firewall, "false",
		   "whether a packet filter runs in the guest",
		   "assumption: off unless a case sets it"),
	COST_ASSUMED(struct guest_params, firewall_packet_s, QUANTITY_TIME, 0, 1e-3, "1 us",
		     "time of the packet filter's rules per packet",
		     "assumption: a few tens of iptables rules"),
	PARAM_BOOL(struct guest_params, selinux, "false", "whether SELinux is enforcing",
		   "assumption: off unless a case sets it"),
	COST_ASSUMED(struct guest_params, selinux_call_s, QUANTITY_TIME, 0, 1e-3, "0.3 us",
		     "time of SELinux's access check for one socket call",
		     "assumption: an access vector cache hit with labelling"),
	COST_ASSUMED(struct guest_params, send_s, QUANTITY_TIME, 0, 1e-2, "3 us",
		     "time to send a short message through a socket, at 2.4 GHz",
		     "assumption: two sends and two receives are 16 of the 18 us of a native ping "
		     "(VMware 5.5 latency paper)"),
	COST_ASSUMED(struct guest_params, receive_s, QUANTITY_TIME, 0, 1e-2, "5 us",
		     "time to receive a short message (interrupt, protocol, socket), at 2.4 GHz",
		     "assumption: see send"),
	COST_ASSUMED(
		struct guest_params, read_s, QUANTITY_TIME, 0, 1e-2, "1 us",
		"part of the time to receive a short message that is left when the message "
		"shares the interrupt of an earlier one, at 2.4 GHz",
		"assumption: a system call and the lock of the socket, about 2400 cycles; the "
		"server of a remoting runtime worked 0.9 us for each launch and 3.9 us for each "
		"packet"),
	COST_ASSUMED(struct guest_params, packet_s, QUANTITY_TIME, 0, 1e-3, "0.4 us",
		     "time per further packet of a long message, on either side, at 2.4 GHz",
		     "assumption: about 1000 cycles of protocol processing per packet"),
	COST_SOURCED(struct guest_params, byte_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-6, "0.25 ns/B",
		     "time per byte to copy and checksum on either side, at 2.4 GHz",
		     "derived: Cai et al., SIGCOMM 2021: one core receives 25 to 42 Gb/s, limited "
		     "by the copy"),
	COST_ASSUMED(struct guest_params, thread_wake_s, QUANTITY_TIME, 0, 1e-2, "4 us",
		     "time to wake a blocked thread, at 2.4 GHz",
		     "assumption: futex wake-up and a context switch"),
	PARAM_NUMBER(struct guest_params, slice_s, QUANTITY_TIME, 0, 1, "3 ms",
		     "time for which a thread goes on after it has woken another one on its core, "
		     "unless it waits earlier",
		     "Linux kernel/sched/fair.c: base slice of 0.7 to 0.75 ms, x 4 with eight "
		     "cores or more"),
	PARAM_NUMBER(struct guest_params, cache_B, QUANTITY_BYTES, 0, 1e12, "0 B",
		     "bytes of a message or copy that stay in the core's cache, at cached_ratio",
		     "assumption: 0 B, because costs of a byte are those of large copies"),
	PARAM_NUMBER(struct guest_params, cached_ratio, QUANTITY_RATIO, 0.01, 1, "30 %",
		     "cost of a byte in the cache, divided by that of a byte beyond it",
		     "own measurement: a TCP stream and a memcpy on one core of an EPYC take 0.14 "
		     "to 0.17 ns a byte for 64 KiB and 0.54 for 128 MiB"),
	COST_ASSUMED(struct guest_params, page_s, QUANTITY_TIME, 0, 1e-3, "0.5 us",
		     "time to touch a page of 4 KiB of new memory first, at 2.4 GHz",
		     "assumption: a fault of about 600 cycles, and the kernel clears the page at "
		     "16 GB/s"),
	PARAM_BOOL(struct guest_params, offload, "true",
		   "segmentation and receive offload: the CPU handles packets of 64 KiB",
		   "Linux default (TSO, GRO)"),
	COST_SOURCED(struct guest_params, work_cost_ratio, QUANTITY_RATIO, 0, 10, "12 %",
		     "additional CPU work in a virtual machine (nested paging, exits)",
		     "derived: Felter et al., IBM RC25482 (2014), KVM with pinned CPUs: 2 % in "
		     "Linpack, 22 % in PXZ compression; the middle"),
	COST_ASSUMED(struct guest_params, interrupt_s, QUANTITY_TIME, 0, 1e-3, "2 us",
		     "additional work of each device interrupt in a virtual machine",
		     "assumption: two exits (delivery, end of interrupt) of about 2000 cycles "
		     "each; Gordon et al., ASPLOS 2012, explain why"),
	COST_SOURCED(struct guest_params, disk_ratio, QUANTITY_RATIO, 0.01, 1, "100 %",
		     "virtual disk efficiency: part of a local disk's bandwidth that a virtual "
		     "machine's disk reaches",
		     "Felter et al., IBM RC25482 (2014): sequential reads of a KVM guest on a raw "
		     "device are as fast as native ones"),
	COST_ASSUMED(struct guest_params, disk_request_s, QUANTITY_TIME, 0, 1e-2, "20 us",
		     "time per request to a virtual disk: work and waiting time",
		     "assumption: an exit, waking the I/O thread, its system calls, an interrupt; "
		     "Felter et al. (2014) measure half the native requests per second"),
};
const struct param_table guest_table = PARAM_TABLE("guest", struct guest_params, guest_rows);

struct reception {              /* a message on its way from the NIC to the core */
	struct reception *next; /* in the free list */
	struct guest *guest;
	struct cpu *core;
	bool yields;
	double work_s;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

static int64_t period_of(bool limited, double rate_Hz)
{
	return limited ? ps_from_s(1 / rate_Hz) : 0;
}

struct guest *guest_new(struct host *host, const char *name, int node,
			const struct guest_params *params)
{
	struct guest *guest = ARENA_NEW(host->arena, struct guest);
	guest->host = host;
	guest->name = arena_strdup(host->arena, name);
	guest->node = node;
	guest->params = params;
	guest->vcpu_count = host->core_count;
	if (params->vcpus_count >= 1 && params->vcpus_count < (double)host->core_count)
		guest->vcpu_count = (size_t)params->vcpus_count;
	guest->vcpus = ARENA_ARRAY(host->arena, guest->vcpu_count, struct cpu *);
	guest->quota = -1;
	guest->disk = -1;
	if (params->kind == GUEST_VM && host->params->virtual_disk_Bps > 0)
		guest->disk = fabric_resource_add(host->fabric,
						  arena_printf(host->arena, "%s.disk", name),
						  host->params->virtual_disk_Bps);
	/* A paravirtual RDMA device signals completions by polling or by its own events. */
	guest->physical.period_ps =
		period_of(host->params->nic_moderation && params->vnic != VNIC_PVRDMA,
			  host->params->nic_moderation_rate_Hz);
	guest->own.period_ps = period_of(params->vnic == VNIC_VMXNET3 && params->coalescing &&
						 params->latency_sensitivity == SENSITIVITY_NORMAL,
					 params->coalescing_rate_Hz);
	return guest;
}

struct server_turn **guest_server_turn(struct guest *guest)
{
	return &guest->server_turn;
}

const struct guest_params *guest_params(const struct guest *guest)
{
	return guest->params;
}

const char *guest_name(const struct guest *guest)
{
	return guest->name;
}

struct host *guest_host(struct guest *guest)
{
	return guest->host;
}

int guest_node(const struct guest *guest)
{
	return guest->node;
}

struct cpu *guest_core(struct guest *guest)
{
	guest_settle(guest);
	size_t index = guest->vcpu_next;
	guest->vcpu_next = (index + 1) % guest->vcpu_count;
	if (!guest->vcpus[index])
		guest->vcpus[index] = host_core_bind(guest->host);
	const struct guest_params *params = guest->params;
	if (params->kind == GUEST_VM && params->latency_sensitivity == SENSITIVITY_NORMAL)
		cpu_wake_raise(guest->vcpus[index], params->vcpu_wake_s);
	return guest->vcpus[index];
}

int guest_disk(const struct guest *guest)
{
	return guest->disk;
}

bool guest_vnic_is_socket_only(const struct guest *guest)
{
	return guest->params->vnic == VNIC_VMXNET3 || guest->params->vnic == VNIC_VIRTIO;
}

struct cpu *guest_relay_core(struct guest *guest)
{
	if (!guest->relay)
		guest->relay = guest_core(guest);
	return guest->relay;
}

struct cpu *guest_thread_core(struct guest *guest)
{
	if (guest->params->vnic != VNIC_VIRTIO)
		return NULL;
	if (!guest->network_thread)
		guest->network_thread = host_core_bind(guest->host);
	return guest->network_thread;
}

double guest_thread_work_s(const struct guest *guest, double packets, double payload_B)
{
	if (guest->params->vnic != VNIC_VIRTIO)
		return 0;
	return packets * guest->params->vnic_thread_packet_s +
	       payload_B / guest->host->params->copy_rate_Bps;
}

double guest_vnic_latency_s(const struct guest *guest)
{
	const struct guest_params *params = guest->params;
	bool switched = params->vnic == VNIC_VMXNET3 || params->vnic == VNIC_PVRDMA ||
			params->vnic == VNIC_VIRTIO;
	return switched ? params->vnic_latency_s : 0;
}

double guest_packet_B(const struct guest *guest, bool receiving, double wire_B)
{
	const struct guest_params *params = guest->params;
	bool lro_off = receiving && params->vnic == VNIC_VMXNET3 &&
		       params->latency_sensitivity == SENSITIVITY_HIGH;
	if (!params->offload || lro_off)
		return wire_B;
	return fmax(wire_B, OFFLOAD_PACKET_B);
}

/* Returns the cost per packet in addition to the protocol's own work. */
static double filters_packet_s(const struct guest_params *params)
{
	double firewall_s = params->firewall ? params->firewall_packet_s : 0;
	bool exits = params->vnic == VNIC_VMXNET3 || params->vnic == VNIC_VIRTIO;
	double vnic_s = exits ? params->vnic_packet_s : 0;
	return firewall_s + vnic_s;
}

static double cached_ratio(const struct guest_params *params, double size_B)
{
	double part = size_B > 0 ? fmin(params->cache_B / size_B, 1) : 0;
	return 1 - part * (1 - params->cached_ratio);
}

double guest_cached_ratio(const struct guest *guest, double size_B)
{
	return cached_ratio(guest->params, size_B);
}

static double message_work_s(const struct guest_params *params, double fixed_s, double packets,
			     double payload_B)
{
	double selinux_s = params->selinux ? params->selinux_call_s : 0;
	double further = packets > 1 ? packets - 1 : 0;
	return fixed_s + selinux_s + packets * filters_packet_s(params) +
	       further * params->packet_s +
	       payload_B * params->byte_spB * cached_ratio(params, payload_B);
}

double guest_send_work_s(const struct guest *guest, double packets, double payload_B)
{
	return message_work_s(guest->params, guest->params->send_s, packets, payload_B);
}

double guest_receive_work_s(const struct guest *guest, double packets, double payload_B)
{
	return message_work_s(guest->params, guest->params->receive_s, packets, payload_B);
}

double guest_arrival_s(const struct guest *guest)
{
	return fmax(guest->params->receive_s - guest->params->read_s, 0);
}

double guest_flow_spB(const struct guest *guest, double packet_B, double size_B)
{
	const struct guest_params *params = guest->params;
	FW_ASSERT(packet_B > 0);
	return params->byte_spB * cached_ratio(params, size_B) +
	       (params->packet_s + filters_packet_s(params)) / packet_B;
}

/* Returns the time of the line's interrupt for an arrival at now_ps. Sets *held if the message must
 * pass through an event of that time: the interrupt is later, or earlier messages may still wait
 * for it. */
static int64_t line_raise(struct interrupt_line *line, int64_t now_ps, uint64_t *count, bool *held)
{
	*held = true;
	if (line->raised && line->last_ps >= now_ps)
		return line->last_ps;
	int64_t fires_ps = now_ps;
	if (line->raised && line->last_ps + line->period_ps > now_ps)
		fires_ps = line->last_ps + line->period_ps;
	line->last_ps = fires_ps;
	line->raised = true;
	if (count)
		(*count)++;
	*held = fires_ps > now_ps;
	return fires_ps;
}

static void receive(struct guest *guest, struct cpu *core, bool yields, double work_s, event_fn *fn,
		    void *ctx, uint64_t arg)
{
	if (yields)
		cpu_serve_woken(core, guest->params->slice_s, work_s, "receive", fn, ctx, arg);
	else
		cpu_serve(core, work_s, "receive", fn, ctx, arg);
}

/* Called when the guest's interrupt has fired: the core continues. */
static void reception_work(void *ctx, uint64_t arg)
{
	struct reception *reception = ctx;
	struct guest *guest = reception->guest;
	POOL_GIVE(reception, guest->free);
	receive(guest, reception->core, reception->yields, reception->work_s, reception->fn,
		reception->ctx, reception->arg);
}

static int64_t own_raise(struct guest *guest, int64_t now_ps, bool *held)
{
	return line_raise(&guest->own, now_ps, &guest->interrupts_count, held);
}

/* Called when the message has reached the device that raises the guest's interrupt. */
static void reception_raise(void *ctx, uint64_t arg)
{
	struct reception *reception = ctx;
	struct engine *engine = reception->guest->host->engine;
	bool held;
	int64_t fires_ps = own_raise(reception->guest, engine_now_ps(engine), &held);
	engine_wait_add(engine, WAIT_INTERRUPT, fires_ps - engine_now_ps(engine));
	if (held)
		engine_do_at(engine, fires_ps, reception_work, reception, 0);
	else
		reception_work(reception, 0);
}

void guest_receive(struct guest *guest, struct cpu *core, bool physical_nic, bool yields,
		   double work_s, event_fn *fn, void *ctx, uint64_t arg)
{
	struct engine *engine = guest->host->engine;
	int64_t now_ps = engine_now_ps(engine), fires_ps = now_ps;
	event_fn *next = reception_raise;
	bool held = false;
	if (physical_nic)
		fires_ps = line_raise(&guest->physical, now_ps, NULL, &held);
	if (!held) {
		next = reception_work;
		fires_ps = own_raise(guest, now_ps, &held);
	}
	if (!held) {
		receive(guest, core, yields, work_s, fn, ctx, arg);
		return;
	}
	struct reception *reception;
	POOL_TAKE(guest->host->arena, reception, guest->free);
	*reception = (struct reception){NULL, guest, core, yields, work_s, fn, ctx, arg};
	engine_wait_add(engine, WAIT_INTERRUPT, fires_ps - now_ps);
	engine_do_at(engine, fires_ps, next, reception, 0);
}
