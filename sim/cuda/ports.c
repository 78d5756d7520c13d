/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The port of a program with several GPUs gives each call to the port of its device. */
#include "sim/cuda/cuda.h"

/* Thread t of the program is thread t / device_count of the port of device t % device_count. */
struct device_ports {
	struct cuda_port port; /* must be first, because functions cast a port to this struct */
	struct cuda_port *const *ports;
	size_t device_count;
};

static struct cpu *device_core(struct cuda_port *port, unsigned thread)
{
	const struct device_ports *joined = (const struct device_ports *)port;
	size_t count = joined->device_count;
	struct cuda_port *device = joined->ports[thread % count];

	return device->core ? device->core(device, (unsigned)(thread / count)) : NULL;
}

static void device_call(struct cuda_port *port, unsigned thread, struct cpu *core,
			const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg)
{
	const struct device_ports *joined = (const struct device_ports *)port;
	size_t count = joined->device_count;
	struct cuda_port *device = joined->ports[call->device];

	FW_ASSERT(call->device < count);
	device->call(device, (unsigned)(thread / count), core, call, done, ctx, arg);
}

struct cuda_port *device_ports_join(struct arena *arena, struct cuda_port *const *ports,
				    size_t device_count)
{
	struct device_ports *joined;

	if (device_count == 1)
		return ports[0];
	joined = ARENA_NEW(arena, struct device_ports);
	joined->port.call = device_call;
	joined->port.core = device_core;
	joined->ports = ports;
	joined->device_count = device_count;
	return &joined->port;
}
