/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The port of a program beside its GPU: every call goes to the driver. */
#include "sim/base/arena.h"
#include "sim/cuda/cuda.h"

struct local_port {
	struct cuda_port port; /* first: ports are cast back */
	struct cuda_process *process;
};

static void local_call(struct cuda_port *port, unsigned thread, struct cpu *core,
		       const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg)
{
	struct local_port *local = (struct local_port *)port;

	(void)thread;
	driver_call(local->process, core, call, done, ctx, arg);
}

struct cuda_port *local_port_new(struct arena *arena, struct cuda_process *process)
{
	struct local_port *local = ARENA_NEW(arena, struct local_port);

	local->port.call = local_call;
	local->process = process;
	return &local->port;
}
