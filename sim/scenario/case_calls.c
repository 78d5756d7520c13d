/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case whose program was recorded: no network, no framework, but a call file. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/call_file.h"
#include "sim/scenario/case.h"

/* A file that the case file names lies beside it. */
static const char *calls_path(const struct case_reader *c, struct origin said)
{
	const char *name = c->params->calls, *own = c->request->path;
	const char *slash = own ? strrchr(own, '/') : NULL;
	bool beside = said.file && own && strcmp(said.file, own) == 0;
	if (name[0] == '/' || !slash || !beside)
		return name;
	return arena_printf(c->reader.arena, "%.*s/%s", (int)(slash - own), own, name);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

void case_read_calls(struct case_reader *c)
{
	struct reader *reader = &c->reader;
	struct origin said = case_said(c, "case.calls");
	const struct cfg_param *model = cfg_param_find(reader->resolution, "case.model");
	struct calls_params *params = ARENA_NEW(reader->arena, struct calls_params);
	if (!cfg_params(reader->resolution, reader->arena, reader->diag,
			cfg_child(c->file, "calls"), "calls", "calls", &calls_table, NULL, 0,
			params))
		return;
	if (case_is_job(c))
		diag_error(reader->diag, said,
			   "case: a recorded program uses one GPU (leave gpus, jobs and collective "
			   "out)");
	else if (model && model->origin.file)
		diag_error(reader->diag, model->origin,
			   "case: either calls or model, not both: a recorded program has its own "
			   "kernels");
	if (diag_count(reader->diag) > 0)
		return;
	struct recorded_program *program = ARENA_NEW(reader->arena, struct recorded_program);
	struct network *network = ARENA_NEW(reader->arena, struct network);
	program->params = params;
	program->calls = c->request->calls;
	if (!program->calls)
		program->calls = call_file_read(reader->arena, reader->diag, calls_path(c, said));
	network->name = file_name(c->params->calls);
	c->calls_network = network;
	if (program->calls &&
	    replay_step_find(reader->diag, said, program->calls, params, &program->step))
		c->recorded = program;
}

/* A step is one thing where nobody said how many images it is. */
static double batch_of(const struct case_reader *c)
{
	const struct cfg_param *batch = cfg_param_find(c->reader.resolution, "case.batch");
	return batch && batch->origin.file ? c->params->batch_count : 1;
}

void case_calls_client(struct case_reader *c, struct job_entry *client, double batch_count,
		       const char *model)
{
	if (model[0])
		diag_error(c->reader.diag, client->origin,
			   "client '%s': either calls or model, not both", client->name);
	client->recorded = c->recorded;
	client->network = c->calls_network;
	client->model = c->calls_network->name;
	client->batch_count = batch_count > 0 ? batch_count : batch_of(c);
}
