/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/life.h"
#include "sim/engine/trace.h"
#include "sim/workload/dp_job.h"

struct life_process {
	struct life *life;
	struct guest *guest;
	size_t rank_count;
	double begun_count; /* threads that want to run */
};

struct life {
	struct job *job;
	struct life_spec spec;
	struct life_process *processes;
	size_t process_count;
	enum job_phase phase;
	size_t pending_count; /* processes or ranks that have not ended the phase */
	int64_t since_ps;     /* begin of the phase */
};

static void phase_begin(struct life *life, enum job_phase phase);

const char *job_phase_name(enum job_phase phase)
{
	static const char *const names[] = {
		[PHASE_PROCESS] = "process start", [PHASE_CONTEXT] = "CUDA contexts",
		[PHASE_GRAPH] = "graph",           [PHASE_INPUT] = "first batch",
		[PHASE_AUTOTUNE] = "autotuning",   [PHASE_STEPS] = "steps",
		[PHASE_CHECKPOINT] = "checkpoint", [PHASE_END] = "end"};
	return names[phase];
}

static struct engine *engine_of(const struct life *life)
{
	return life->job->workload->engine;
}

/* ---- a phase ends when its last process or rank has ended it ---- */

static void phase_end(struct life *life)
{
	int64_t now_ps = engine_now_ps(engine_of(life));
	struct trace *trace = engine_trace(engine_of(life));
	if (trace)
		trace_span(trace, trace_track(trace, life->job->name, "phases"), SPAN_CPU,
			   job_phase_name(life->phase), life->since_ps, now_ps);
	life->job->run->phase_s[life->phase] = s_from_ps(now_ps - life->since_ps);
	if (life->phase == PHASE_END)
		job_end(life->job);
	else
		phase_begin(life, life->phase + 1);
}

static void part_over(void *ctx, uint64_t arg)
{
	struct life *life = ctx;
	FW_ASSERT(life->pending_count > 0);
	if (--life->pending_count == 0)
		phase_end(life);
}

/* ---- host work of one thread of each process ---- */

static void work_over(void *ctx, uint64_t arg)
{
	struct life_process *process = ctx;
	guest_threads_end(process->guest, process->begun_count);
	part_over(process->life, arg);
}

/* Makes each process do work_s, and again for each of its GPUs if each_gpu is true. */
static void work(struct life *life, double work_s, bool each_gpu)
{
	life->pending_count = life->process_count;
	for (size_t i = 0; i < life->process_count; i++) {
		struct life_process *process = &life->processes[i];
		double own_s = work_s * (each_gpu ? (double)process->rank_count : 1);
		if (own_s <= 0) {
			engine_after(engine_of(life), 0, part_over, life, 0);
			continue;
		}
		struct flow_spec flow = {.done = work_over, .ctx = process};
		guest_work_flow(process->guest, own_s, 1, &flow);
		process->begun_count = guest_threads_begin(process->guest, 1);
		fabric_flow_start(life->spec.steps.fabric, &flow);
	}
}

/* ---- other phases ---- */

static void inputs_fill(struct life *life)
{
	life->pending_count = life->spec.steps.host.rank_count;
	for (size_t i = 0; i < life->spec.steps.host.rank_count; i++) {
		struct input *input = life->spec.steps.ranks[i].input;
		if (input)
			input_start(input, part_over, life, 0);
		else
			engine_after(engine_of(life), 0, part_over, life, 0);
	}
}

static void trials(struct life *life)
{
	life->pending_count = life->spec.steps.host.rank_count;
	double duration_s =
		life->spec.params->autotune_ratio * life->spec.steps.host.gradients->compute_s;
	for (size_t i = 0; i < life->spec.steps.host.rank_count; i++) {
		if (duration_s <= 0) {
			engine_after(engine_of(life), 0, part_over, life, 0);
			continue;
		}
		const struct gpu_op op = {.kind = GPU_OP_KERNEL,
					  .label = "autotuning",
					  .duration_s = duration_s,
					  .done = part_over,
					  .ctx = life};
		gpu_submit(gpu_stream_new(life->spec.steps.ranks[i].context, "autotuning"), &op);
	}
}

static void checkpoint(struct life *life)
{
	const struct life_spec *spec = &life->spec;
	life->pending_count = 1;
	if (!spec->storage) {
		engine_after(engine_of(life), 0, part_over, life, 0);
		return;
	}
	const struct storage_write write = {.guest = spec->steps.ranks[0].guest,
					    .size_B = spec->checkpoint_B,
					    .work_spB = spec->params->checkpoint_spB,
					    .done = part_over,
					    .ctx = life};
	if (!storage_write(spec->storage, &write))
		job_failed(life->job, "there is no route to the storage of its checkpoints");
}

static void steps_begin(void *ctx, uint64_t arg)
{
	struct life *life = ctx;
	dp_job_begin(life->job, &life->spec.steps, 0);
}

static void phase_begin(struct life *life, enum job_phase phase)
{
	const struct phases_params *params = life->spec.params;
	life->phase = phase;
	life->since_ps = engine_now_ps(engine_of(life));
	switch (phase) {
	case PHASE_PROCESS:
		work(life, params->process_s, false);
		break;
	case PHASE_CONTEXT:
		work(life, params->context_s, true);
		break;
	case PHASE_GRAPH:
		work(life, params->graph_op_s * life->spec.steps.host.gradients->ops_count, true);
		break;
	case PHASE_INPUT:
		inputs_fill(life);
		break;
	case PHASE_AUTOTUNE:
		trials(life);
		break;
	case PHASE_STEPS:
		engine_after(engine_of(life), 0, steps_begin, life, 0);
		break;
	case PHASE_CHECKPOINT:
		checkpoint(life);
		break;
	case PHASE_END:
		work(life, params->end_s, false);
		break;
	case PHASE_COUNT:
		FW_ASSERT(false);
	}
}

static void steps_over(void *ctx, uint64_t arg)
{
	struct life *life = ctx;
	struct job_run *run = life->job->run;
	for (size_t i = 0; i < life->spec.steps.host.rank_count; i++)
		if (life->spec.steps.ranks[i].input)
			run->input_batch_s = fmax(run->input_batch_s,
						  input_batch_s(life->spec.steps.ranks[i].input));
	phase_end(life);
}

bool life_step_over(struct life *life)
{
	if (life->job->steps.count < life->spec.steps_count)
		return true;
	engine_after(engine_of(life), 0, steps_over, life, 0);
	return false;
}

const char *life_waiting(const struct life *life, struct arena *arena)
{
	if (life->phase == PHASE_STEPS)
		return NULL;
	return arena_printf(arena, "phase '%s' has not ended in %zu places",
			    job_phase_name(life->phase), life->pending_count);
}

static void begin(void *ctx, uint64_t arg)
{
	phase_begin(ctx, PHASE_PROCESS);
}

void life_begin(struct job *job, const struct life_spec *spec)
{
	FW_ASSERT(spec->steps_count > 0 && spec->steps.host.rank_count > 0);
	struct arena *arena = job->workload->arena;
	struct life *life = ARENA_NEW(arena, struct life);
	*life = (struct life){.job = job, .spec = *spec};
	life->processes = ARENA_ARRAY(arena, spec->steps.host.rank_count, struct life_process);
	for (size_t i = 0; i < spec->steps.host.rank_count; i++) {
		const struct dp_rank *rank = &spec->steps.ranks[i];
		if (i == 0 || rank->process != spec->steps.ranks[i - 1].process)
			life->processes[life->process_count++] =
				(struct life_process){.life = life, .guest = rank->guest};
		life->processes[life->process_count - 1].rank_count++;
	}
	job->life = life;
	engine_after(engine_of(life), 0, begin, life, 0);
}
