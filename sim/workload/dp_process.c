/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes of several ranks. One framework call makes a step of all ranks of a process, and one
 * thread starts the ranks in order. */
#include "sim/base/arena.h"
#include "sim/workload/dp_internal.h"

static void start_next(void *ctx, uint64_t arg)
{
	struct process *process = ctx;
	struct rank *rank = process->starting;
	process->starting = rank->next_of_process;
	if (process->starting)
		cpu_serve(process->starter, process->work_s, "start of a rank", start_next, process,
			  0);
	rank_started(rank);
}

void process_ask(struct process *process)
{
	if (++process->asking_count < process->rank_count)
		return;
	process->asking_count = 0;
	process->starting = process->first;
	engine_after(process->first->job->spec.engine, 0, start_next, process, 0);
}

static struct process *process_new(struct dp *job, struct guest *guest, double work_s)
{
	struct process *process = ARENA_NEW(job->spec.arena, struct process);
	*process = (struct process){.starter = cpu_shared_new(guest), .work_s = work_s};
	return process;
}

void processes_find(struct dp *job)
{
	const struct dp_spec *spec = &job->spec;
	double work_s = spec->exchange->stagger_s * spec->gradients->ops_count;
	if (work_s <= 0)
		return;
	/* From the last rank to the first, because each rank is put at the front of its list. */
	for (size_t i = spec->rank_count; i-- > 0;) {
		struct rank *rank = &job->ranks[i];
		for (size_t k = i + 1; !rank->process && k < spec->rank_count; k++)
			if (spec->ranks[k].guest == spec->ranks[i].guest)
				rank->process = job->ranks[k].process;
		if (!rank->process)
			rank->process = process_new(job, spec->ranks[i].guest, work_s);
		rank->next_of_process = rank->process->first;
		rank->process->first = rank;
		rank->process->rank_count++;
	}
}
