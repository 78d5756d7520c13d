/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the time of a process's GPU goes. */
#include "sim/cuda/driver_internal.h"

static void clock_span(const struct cuda_process *process, enum gpu_time kind, int64_t end_ps)
{
	static const char *const names[GPU_TIME_COUNT] = {
		[GPU_HOST] = "host",          [GPU_INPUT] = "input",
		[GPU_TENSOR] = "tensor",      [GPU_CONTEXT] = "context",
		[GPU_EXPERT] = "expert",      [GPU_DATA] = "data",
		[GPU_PIPELINE] = "pipeline",  [GPU_BUBBLE] = "bubble",
		[GPU_STRAGGLER] = "straggler"};
	if (names[kind] && process->spec.role)
		gpu_context_span(process->spec.context, process->spec.role, names[kind],
				 process->clock.since_ps, end_ps);
}

/* Counts the time since the last call. While ranks are missing, a pipeline's messages and
 * collectives between stages wait for another stage, and other collectives for a late rank. */
void clock_count(struct cuda_process *process)
{
	struct time_clock *clock = &process->clock;
	int64_t now_ps = engine_now_ps(process->spec.engine), late_ps = 0;
	if (clock->all_begun_ps) {
		int64_t begun_ps = *clock->all_begun_ps < 0 ? now_ps : *clock->all_begun_ps;
		enum gpu_time wait = clock->kind == GPU_PIPELINE ? GPU_BUBBLE : GPU_STRAGGLER;
		late_ps = begun_ps > clock->since_ps ? begun_ps - clock->since_ps : 0;
		clock->times_ps[wait] += late_ps;
		clock_span(process, wait, clock->since_ps + late_ps);
		clock->since_ps += late_ps;
	}
	clock_span(process, clock->kind, now_ps);
	clock->times_ps[clock->kind] += now_ps - clock->since_ps;
	clock->since_ps = now_ps;
}

/* Finds what the GPU does from now on. */
void clock_set(void *ctx, uint64_t arg)
{
	struct cuda_process *process = ctx;
	struct time_clock *clock = &process->clock;
	clock_count(process);
	clock->kind = GPU_COMPUTES;
	clock->all_begun_ps = NULL;
	if (gpu_context_computes(process->spec.context))
		return;
	const struct gpu_op *op =
		gpu_context_waits_for(process->spec.context, clock->waiting_count > 0);
	clock->kind = op && op->kind == GPU_OP_COPY ? GPU_INPUT : GPU_HOST;
	if (op && op->kind == GPU_OP_PEERS) {
		const struct peer_op *peers = op->start_ctx;
		clock->kind = (enum gpu_time)peers->call.exposed;
		clock->all_begun_ps = peers->all_begun_ps;
	}
}

void cuda_process_times(struct cuda_process *process, int64_t times_ps[GPU_TIME_COUNT])
{
	clock_count(process);
	for (int k = 0; k < GPU_TIME_COUNT; k++)
		times_ps[k] = process->clock.times_ps[k];
}

/* Notes that one more, or one less, thread waits for the GPU. */
void clock_wait(struct cuda_process *process, bool begins)
{
	if (begins)
		process->clock.waiting_count++;
	else
		process->clock.waiting_count--;
	if (process->spec.role)
		clock_set(process, 0);
}
