/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hosts, the guests on them, and how a message gets into one.
 *
 * A HOST is a machine: cores with a clock, C-states and a power policy, memory,
 * a physical NIC with interrupt moderation. A GUEST is where programs run: the
 * bare machine, a container, or a VM with a virtual NIC. Each tuning option of
 * the latency guides acts through its own mechanism:
 *
 *   power policy, turbo      the clock of the cores
 *   C-states                 exit latency after idleness (cpu.h)
 *   NIC moderation           a physical NIC raises at most so many interrupts
 *                            a second: a packet waits for the next slot
 *   interrupt coalescing     the same on the virtual NIC (VMXNET3)
 *   latency sensitivity      a halted vCPU is scheduled again without delay,
 *                            and coalescing is off (VMware documents both)
 *   firewall                 work for each packet
 *   SELinux                  work for each socket call
 *
 * WORK OF MANY THREADS (decoding images, summing gradients, reading files) is a
 * flow on a POOL of cores, in core-seconds at the reference clock. The guests of a
 * host share its pool; a PINNED guest has vcpus_count cores of its own, taken out
 * of the pool when it is first used, so that nobody else's threads run there. A
 * guest that is not pinned, but has fewer virtual CPUs than the host has cores, is
 * held to those. In a pool with more runnable threads than cores all work slows
 * down by what switching between them costs.
 */
#ifndef FARWIRE_HOST_HOST_H
#define FARWIRE_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/param.h"
#include "sim/fabric/fabric.h"
#include "sim/host/cpu.h"

struct arena;

struct host_params {
	double cores_count;
	double clock_Hz;
	double turbo_clock_Hz; /* under load with turbo; 0: no more than clock */
	bool turbo;
	int power_policy;            /* enum power_policy */
	double balanced_clock_ratio; /* of clock, under POWER_BALANCED */
	bool c_states;
	double c1e_exit_s, c1e_residency_s, c6_exit_s, c6_residency_s;
	double dram_bandwidth_Bps;
	double copy_rate_Bps; /* one core's memcpy at the reference clock */
	bool nic_moderation;
	double nic_moderation_rate_Hz;      /* most interrupts a second */
	double oversubscription_cost_ratio; /* further work with more threads than cores */
};
enum power_policy { POWER_BALANCED, POWER_MAX_PERFORMANCE };
extern const struct param_table host_table;

struct guest_params {
	int kind;                /* enum guest_kind */
	int vnic;                /* enum vnic_kind */
	double vcpus_count;      /* 0: all of the host's cores */
	bool pinned;             /* to cores that nobody else uses */
	int latency_sensitivity; /* enum latency_sensitivity */
	double vcpu_wake_s;      /* scheduling a halted vCPU, sensitivity normal */
	bool coalescing;
	double coalescing_rate_Hz;
	double vnic_packet_s;  /* the hypervisor's work for a packet, in the guest's time */
	double vnic_latency_s; /* added one way (the virtual switch, PVRDMA's proxy) */
	bool firewall;
	double firewall_packet_s;
	bool selinux;
	double selinux_call_s;
	double send_s;        /* socket send of a short message, at reference clock */
	double receive_s;     /* interrupt, protocol and socket receive, ditto */
	double packet_s;      /* each further packet of a long message, either side */
	double byte_spB;      /* copying and checksumming, either side */
	double thread_wake_s; /* waking a blocked thread */
	bool offload;         /* segmentation offload: packets of 64 KiB for the CPU */
	/* Of a virtual machine alone. */
	double work_cost_ratio; /* further CPU work (nested paging, exits) */
	double interrupt_s;     /* further work of a device's interrupt */
	double disk_ratio;      /* part of a local disk's rate that its virtual disk reaches */
	double disk_request_s;  /* work, and wait, of each request to the virtual disk */
};
enum guest_kind { GUEST_BARE, GUEST_VM, GUEST_CONTAINER };
enum vnic_kind { VNIC_NONE, VNIC_PASSTHROUGH, VNIC_PVRDMA, VNIC_VMXNET3 };
enum latency_sensitivity { SENSITIVITY_NORMAL, SENSITIVITY_HIGH };
extern const struct param_table guest_table;

struct host;
struct guest;

/* name: also the fabric node (added if it is not there yet) and the prefix of
 * its resources. The host's memory is the resource "<name>.dram", its pool of
 * cores "<name>.pool", the virtual CPUs of a guest that has fewer than the host
 * cores "<guest>.vcpus". The parameters are borrowed. */
struct host *host_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		      const char *name, const struct host_params *params);
struct guest *guest_new(struct host *host, const char *name, int node,
			const struct guest_params *params);
const struct host_params *host_params(const struct host *host);
const char *host_name(const struct host *host);
int host_dram(const struct host *host); /* resource */
double host_clock_Hz(const struct host *host);

const struct guest_params *guest_params(const struct guest *guest);
const char *guest_name(const struct guest *guest);
struct host *guest_host(struct guest *guest);
int guest_node(const struct guest *guest);
/* A core for a new thread: the guest's virtual CPUs in turn. Each is bound,
 * when first used, to the core of the host with the fewest of them, so guests
 * meet on a core only when there are more virtual CPUs in use than cores. */
struct cpu *guest_core(struct guest *guest);
/* What the virtual NIC adds to a message one way; 0 without one and for
 * passthrough. */
double guest_vnic_latency_s(const struct guest *guest);

/* The packet that the guest's CPU handles at a time when packets of wire_B
 * payload bytes cross the wire: with offload (TSO; LRO or GRO when receiving)
 * up to OFFLOAD_PACKET_B. LRO of a VMXNET3 is off at high latency sensitivity. */
#define OFFLOAD_PACKET_B 65536.0
double guest_packet_B(const struct guest *guest, bool receiving, double wire_B);

/* Work of sending one message of payload_B in `packets` packets (as the CPU
 * sees them) with one socket call, at the reference clock: send + SELinux +
 * per packet (firewall, vNIC, from the second one packet_s) + per byte.
 * Waking the thread that reads (thread_wake_s) is not in it: only who knows
 * whether it sleeps can add that. */
double guest_send_work_s(const struct guest *guest, double packets, double payload_B);
double guest_receive_work_s(const struct guest *guest, double packets, double payload_B);
/* The part of it that a bulk flow pays as it goes: core-seconds a byte at the
 * reference clock, for packets of packet_B payload bytes. */
double guest_flow_spB(const struct guest *guest, double packet_B);

/* A message's last packet has arrived at the guest's NIC: waits for the
 * interrupt (moderation of a physical NIC if it came through one, coalescing
 * of the virtual NIC), then works work_s on core (waking it), then calls fn.
 * An interrupt fires at max(arrival, last one + 1/rate), each guest having a
 * queue of its own on the physical NIC; messages that arrive while one is due
 * share it. */
void guest_receive(struct guest *guest, struct cpu *core, bool physical_nic, double work_s,
		   event_fn *fn, void *ctx, uint64_t arg);

/* ---- work of many threads ---- */

/* Its pool, a resource: core-seconds at the reference clock a second. */
/* exported: tests check the load of a guest's cores */
int guest_pool(struct guest *guest);
/* Threads of it that can run at once. */
/* exported: tests derive it by hand */
double guest_threads_count(struct guest *guest);
/* CPU work in this guest over the same work on the bare machine. */
double guest_work_ratio(const struct guest *guest);
/* What an interrupt of a passed-through device costs beyond the bare machine's. */
double guest_interrupt_s(const struct guest *guest);
/* Fills size, cap, weight and uses of a flow that does work_s > 0 seconds of work
 * (at the reference clock, as on the bare machine) by that many threads (0: as
 * many as can run). A unit of the flow is what one core copies in the time, so
 * that every thread weighs as much as one that copies. */
void guest_work_flow(struct guest *guest, double work_s, double threads_count,
		     struct flow_spec *flow);
/* Threads (0: as many as can run) want to run from now on: with more of them than
 * cores, all work of the pool costs more. Returns what guest_threads_end takes when
 * they no longer do. */
double guest_threads_begin(struct guest *guest, double threads_count);
void guest_threads_end(struct guest *guest, double begun_count);
/* More of its threads, or of its pool's, want to run than there are cores for. */
bool guest_is_crowded(struct guest *guest);
/* What work_s (at the reference clock, as on the bare machine) takes one of its
 * threads that has a core to itself. */
double guest_alone_s(struct guest *guest, double work_s);
/* Adds work_s seconds of work for each unit of a flow that has another measure,
 * done by at most so many threads: its uses, and its cap. */
void guest_work_add(struct guest *guest, double work_s, double threads_count,
		    struct flow_spec *flow);

/* A place where transport/dma keeps the states of copies that read or write
 * this host's memory; NULL at first. */
struct dma_pool;
struct dma_pool **host_dma_pool(struct host *host);

#endif
