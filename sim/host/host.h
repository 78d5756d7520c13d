/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hosts, their guests, and how a message enters a guest.
 *
 * A host is a machine: cores with a clock, C-states and a power policy, memory, and a physical NIC
 * with interrupt moderation. A guest is the place where programs run: the bare machine, a
 * container, or a VM with a virtual NIC. Each tuning option of the latency guides acts through its
 * own mechanism:
 *
 *   power policy, turbo      set the clock of the cores
 *   C-states                 add an exit latency after idle time (cpu.h)
 *   NIC moderation           limits the interrupts per second of a physical NIC:
 *                            a packet waits for the next interrupt
 *   interrupt coalescing     does the same on the virtual NIC (VMXNET3)
 *   latency sensitivity      schedules a halted vCPU again without delay and turns
 *                            coalescing off (VMware documents both)
 *   firewall                 adds work to each packet
 *   SELinux                  adds work to each socket call
 *
 * Work of many threads (decoding images, summing gradients, reading files) is a flow on a pool of
 * cores, in core-seconds at the reference clock. The guests of a host share its pool. A pinned
 * guest has vcpus_count cores of its own. They leave the shared pool when the guest is first used,
 * so that no other threads run there. A guest that is not pinned is limited to its number of
 * virtual CPUs if it has fewer than the host has cores. When a pool has more runnable threads than
 * cores, the cost of switching between threads slows down all its work.
 */
#pragma once

#include "sim/base/param.h"
#include "sim/fabric/fabric.h"
#include "sim/host/cpu.h"

struct host_params {
	double cores_count, clock_Hz, turbo_clock_Hz;
	bool turbo;
	int power_policy; /* enum power_policy */
	double balanced_clock_ratio;
	bool c_states;
	double c1e_exit_s, c1e_residency_s, c6_exit_s, c6_residency_s, dram_bandwidth_Bps;
	double copy_rate_Bps;
	bool nic_moderation;
	double nic_moderation_rate_Hz, oversubscription_cost_ratio, virtual_disk_Bps;
	double peer_root_ratio, peer_socket_ratio;
};
enum power_policy { POWER_BALANCED, POWER_MAX_PERFORMANCE };
extern const struct param_table host_table;

struct guest_params {
	int kind; /* enum guest_kind */
	int vnic; /* enum vnic_kind */
	double vcpus_count;
	bool pinned;
	int latency_sensitivity; /* enum latency_sensitivity */
	double vcpu_wake_s;
	bool coalescing;
	double coalescing_rate_Hz, vnic_packet_s, vnic_thread_packet_s, vnic_latency_s;
	bool firewall;
	double firewall_packet_s;
	bool selinux;
	double selinux_call_s, send_s, receive_s, read_s, packet_s, byte_spB, thread_wake_s,
		slice_s;
	double cache_B, cached_ratio, page_s;
	bool offload;
	double work_cost_ratio, interrupt_s, disk_ratio, disk_request_s;
};
enum guest_kind { GUEST_BARE, GUEST_VM, GUEST_CONTAINER };
enum vnic_kind { VNIC_NONE, VNIC_PASSTHROUGH, VNIC_PVRDMA, VNIC_VMXNET3, VNIC_VIRTIO };
enum latency_sensitivity { SENSITIVITY_NORMAL, SENSITIVITY_HIGH };
extern const struct param_table guest_table;

struct host;
struct guest;

/* Creates a host. Its name is also the name of its fabric node, which is added if it does not
 * exist, and the prefix of its resources. The resource "<name>.dram" is the host's memory and
 * "<name>.pool" its pool of cores. "<guest>.vcpus" is the limit of a guest with fewer virtual CPUs
 * than cores. The parameters are borrowed. */
struct host *host_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		      const char *name, const struct host_params *params);
struct guest *guest_new(struct host *host, const char *name, int node,
			const struct guest_params *params);
const struct host_params *host_params(const struct host *host);
const char *host_name(const struct host *host);
int host_dram(const struct host *host); /* a resource */
double host_clock_Hz(const struct host *host);

const struct guest_params *guest_params(const struct guest *guest);
const char *guest_name(const struct guest *guest);
struct host *guest_host(struct guest *guest);
int guest_node(const struct guest *guest);
/* Returns a core for a new thread. The guest's virtual CPUs take turns. A virtual CPU is bound on
 * first use to the host's core with the fewest bound ones, so guests share a core only when more
 * virtual CPUs than cores are used. */
struct cpu *guest_core(struct guest *guest);
/* Returns true if the guest's virtual NIC carries no RDMA (VMXNET3, virtio). */
bool guest_vnic_is_socket_only(const struct guest *guest);
/* Returns the core of the process that relays packets between the guest and an overlay. It is
 * chosen on first use, like that of any other thread of the guest. */
struct cpu *guest_relay_core(struct guest *guest);
/* Returns the core on which the host's network thread of a virtio NIC runs (vhost), or NULL. One
 * thread serves both directions. It is chosen on first use among the host's cores. */
struct cpu *guest_thread_core(struct guest *guest);
/* Returns the work of that thread for payload_B in `packets` packets, at the reference clock:
 * each packet, and a copy of its bytes between the guest and the host. Returns 0 without such a
 * thread. */
double guest_thread_work_s(const struct guest *guest, double packets, double payload_B);
/* Returns the latency that the virtual NIC adds to a message in one direction. It is 0 without a
 * virtual NIC and for passthrough. */
double guest_vnic_latency_s(const struct guest *guest);

/* Returns the size of the packets that the guest's CPU handles when packets of wire_B payload bytes
 * cross the wire. With offload (TSO when sending; LRO or GRO when receiving) it is up to
 * OFFLOAD_PACKET_B. A VMXNET3 at high latency sensitivity has no LRO. */
#define OFFLOAD_PACKET_B 65536.0
double guest_packet_B(const struct guest *guest, bool receiving, double wire_B);

/* Returns the work of sending one message of payload_B in `packets` packets (as the CPU sees
 * them) with one socket call, at the reference clock. It is the sum of send, SELinux, firewall
 * and vNIC for each packet, packet_s for each packet after the first, and the cost per byte. It
 * excludes thread_wake_s, because only the caller can tell whether the reading thread sleeps. */
double guest_send_work_s(const struct guest *guest, double packets, double payload_B);
double guest_receive_work_s(const struct guest *guest, double packets, double payload_B);
/* Returns the part of guest_receive_work_s that messages share, at the reference clock: interrupt,
 * protocol, and waking the socket. A message that arrives while the reader has earlier ones does
 * not have it. */
double guest_arrival_s(const struct guest *guest);
/* Returns the part of a message's work that a bulk flow of size_B bytes has per byte, for packets
 * of packet_B payload bytes: core-seconds per byte at the reference clock. */
double guest_flow_spB(const struct guest *guest, double packet_B, double size_B);
/* Returns what a byte of a copy of size_B bytes costs, relative to a copy far beyond the caches.
 * The part of it that fits into the core's cache costs cached_ratio. */
double guest_cached_ratio(const struct guest *guest, double size_B);

/* Receives a message whose last packet is at the guest's NIC. It waits for the interrupt, wakes the
 * core, works work_s and then calls fn. The interrupt is delayed by the moderation of the physical
 * NIC (if the message came through one) and by the coalescing of the virtual NIC. An interrupt
 * fires at max(arrival, last interrupt + 1/rate). Each guest has its own queue on the physical NIC.
 * Messages that arrive while an interrupt is pending share it. If `yields`, the sender has woken
 * the reader on its own core, and goes on until it waits (cpu_serve_woken). */
void guest_receive(struct guest *guest, struct cpu *core, bool physical_nic, bool yields,
		   double work_s, event_fn *fn, void *ctx, uint64_t arg);

/* ---- work of many threads ---- */
/* The guest's pool: a resource in core-seconds at the reference clock per second. */

/* exported: tests check the load of a guest's cores */
int guest_pool(struct guest *guest);
/* Number of the guest's threads that can run at once. */
/* exported: tests derive it by hand */
double guest_threads_count(struct guest *guest);
/* Returns the ratio of CPU work in this guest to the same work on the bare machine. */
double guest_work_ratio(const struct guest *guest);
/* Returns the resource of the disk of a virtual machine, in bytes per second; -1: it has no
 * limit of its own. */
int guest_disk(const struct guest *guest);
/* Returns the extra cost of an interrupt of a passed-through device, compared with the bare
 * machine. */
double guest_interrupt_s(const struct guest *guest);
/* Fills size, cap, weight and uses of a flow that does work_s > 0 seconds of work with
 * threads_count threads. The work is given at the reference clock on the bare machine; 0 threads
 * mean as many as can run. One unit of the flow is the number of bytes that one core copies in the
 * same time. So a working thread has the same weight as a copying thread. */
void guest_work_flow(struct guest *guest, double work_s, double threads_count,
		     struct flow_spec *flow);
/* Declares that threads_count more threads want to run (0: as many as can run). With more threads
 * than cores, all work of the pool costs more. Pass the returned value to guest_threads_end when
 * they stop. */
double guest_threads_begin(struct guest *guest, double threads_count);
void guest_threads_end(struct guest *guest, double begun_count);
/* Takes cores from the guest's pool for threads that poll without pause. The pool keeps at least
 * one core. */
void guest_cores_take(struct guest *guest, double cores_count);
/* Returns true if more threads of the guest or its pool want to run than there are cores. */
bool guest_is_crowded(struct guest *guest);
/* Returns true if there is a core for one more thread of the guest. */
bool guest_has_core(struct guest *guest);
/* Returns the time that work_s (at the reference clock, on the bare machine) takes one thread of
 * the guest with a core of its own. */
double guest_alone_s(struct guest *guest, double work_s);
/* Adds work_s seconds of work to each unit of a flow with another measure, done by at most
 * threads_count threads: sets its uses and its cap. */
void guest_work_add(struct guest *guest, double work_s, double threads_count,
		    struct flow_spec *flow);

/* The slot in which transport/dma stores the state of copies that read or write this host's memory.
 * It is NULL at first. */
struct dma_pool;
struct dma_pool **host_dma_pool(struct host *host);

/* The same for the thread that serves all clients of the guest (sim/remoting). */
struct server_turn;
struct server_turn **guest_server_turn(struct guest *guest);
