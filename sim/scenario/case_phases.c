/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of training jobs around their steps, and where their checkpoints go. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/scenario/case.h"

/* Returns the storage with that name from which a job reads, or else a storage of its own. */
static const struct storage_params *find_storage(struct case_reader *c,
						 const struct job_entry *jobs, const char *name)
{
	struct reader *reader = &c->reader;
	for (size_t i = 0; i < c->job_count; i++)
		if (jobs[i].storage && strcmp(jobs[i].input->source, name) == 0)
			return jobs[i].storage;
	const struct cfg_node *file;
	const struct cfg_node *node =
		case_group(c, case_said(c, "phases.checkpoint_storage"), "models/storages",
			   "storage", name, "storage", &file);
	struct storage_params *storage = ARENA_NEW(reader->arena, struct storage_params);
	if (!node || !reader_params(reader, node, "checkpoint_storage",
				    arena_printf(reader->arena, "storage '%s'", name),
				    &storage_table, storage))
		return NULL;
	return storage;
}

void case_read_phases(struct case_reader *c, struct job_entry *jobs)
{
	struct reader *reader = &c->reader;
	const struct case_params *params = c->params;
	bool asked = params->job_steps_count > 0 || params->epochs_count > 0;
	if (!asked || c->scenario->style != JOBS_FUSED)
		return;
	if (params->job_steps_count > 0 && params->epochs_count > 0)
		diag_error(c->reader.diag, case_said(c, "case.job_steps"),
			   "case: case.job_steps and case.epochs both say how long the job is "
			   "(leave one of them out)");
	struct phases_params *phases = ARENA_NEW(reader->arena, struct phases_params);
	if (!reader_params(reader, c->stack_phases, "phases",
			   arena_printf(reader->arena, "phases of stack '%s'", params->stack),
			   &phases_table, phases))
		return;
	c->scenario->phases = phases;
	if (!phases_has_checkpoints(phases))
		return;
	const struct storage_params *storage = find_storage(c, jobs, phases->checkpoint_storage);
	for (size_t i = 0; i < c->job_count; i++)
		jobs[i].checkpoint = storage;
}
