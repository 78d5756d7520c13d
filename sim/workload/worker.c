/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/worker.h"

#include "sim/base/diag.h"

void worker_wake(struct worker *worker)
{
	if (worker->begun_count <= 0)
		worker->begun_count = guest_threads_begin(worker->guest, 1);
}

void worker_rest(struct worker *worker)
{
	if (worker->begun_count > 0)
		guest_threads_end(worker->guest, worker->begun_count);
	worker->begun_count = 0;
}

void worker_do(struct worker *worker, double work_s, event_fn *fn, void *ctx, uint64_t arg)
{
	FW_ASSERT(work_s > 0 && worker->begun_count > 0);
	if (!guest_is_crowded(worker->guest)) {
		engine_after(worker->engine, ps_from_s(guest_alone_s(worker->guest, work_s)), fn,
			     ctx, arg);
		return;
	}
	struct flow_spec flow = {.done = fn, .ctx = ctx, .arg = arg};
	guest_work_flow(worker->guest, work_s, 1, &flow);
	fabric_flow_start(worker->fabric, &flow);
}
