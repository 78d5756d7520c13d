/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes of several ranks. One framework call makes a step of all ranks of a process, and one
 * thread starts the ranks in order. */
#include "sim/base/arena.h"
#include "sim/workload/fused_internal.h"

static void start_next(void *ctx, uint64_t arg)
{
	struct process *process = ctx;
	struct rank *rank = process->starting;
	process->starting = rank->next_of_process;
	if (process->starting)
		worker_do(&process->starter, process->work_s, start_next, process, 0);
	else
		worker_rest(&process->starter);
	rank_started(rank);
}

void process_ask(struct process *process)
{
	if (++process->asking_count < process->rank_count)
		return;
	process->asking_count = 0;
	process->starting = process->first;
	worker_wake(&process->starter);
	engine_after(process->starter.engine, 0, start_next, process, 0);
}

static struct process *process_new(struct fused *job, double work_s)
{
	const struct fused_spec *spec = &job->spec;
	struct process *process = ARENA_NEW(spec->arena, struct process);
	*process = (struct process){.starter = {.engine = spec->engine, .fabric = spec->fabric},
				    .work_s = work_s};
	return process;
}

void processes_find(struct fused *job)
{
	const struct fused_spec *spec = &job->spec;
	double work_s = spec->exchange->stagger_s * spec->profile->ops_count;
	if (work_s <= 0)
		return;
	/* From the last rank to the first, because each rank is put at the front of its list. */
	for (size_t i = spec->rank_count; i-- > 0;) {
		struct rank *rank = &job->ranks[i];
		for (size_t k = i + 1; !rank->process && k < spec->rank_count; k++)
			if (spec->ranks[k].guest == spec->ranks[i].guest)
				rank->process = job->ranks[k].process;
		if (!rank->process)
			rank->process = process_new(job, work_s);
		rank->process->starter.guest = spec->ranks[i].guest;
		rank->next_of_process = rank->process->first;
		rank->process->first = rank;
		rank->process->rank_count++;
	}
}
