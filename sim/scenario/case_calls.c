/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the recorded program of a case, which replaces network and framework. */
#include <unistd.h>

#include "sim/gpu/models.h"
#include "sim/traces/call_file.h"
#include "sim/traces/rescale.h"
#include "sim/scenario/case.h"

/* A path in the case file is relative to the folder of that file. Other paths are relative to the
 * working directory or, as in shipped datasets, to the folder of the shipped measurements. */
const char *case_file_path(const struct reader *c, struct origin origin, const char *name)
{
	const char *own = c->request->path;
	const char *slash = own ? strrchr(own, '/') : NULL;
	bool beside = origin.file && own && strcmp(origin.file, own) == 0;
	if (name[0] == '/')
		return name;
	if (!slash || !beside) {
		const char *shipped =
			arena_printf(c->arena, "%s/calib/measured/%s", c->request->data_root, name);
		return access(name, R_OK) != 0 && access(shipped, R_OK) == 0 ? shipped : name;
	}
	return arena_printf(c->arena, "%.*s/%s", (int)(slash - own), own, name);
}

/* Returns the path of the case's recording: a shipped program if the name is that of none of the
 * user's files. NULL after an error. */
static const char *call_path(struct reader *c, struct origin origin)
{
	const char *name = c->params->calls, *path = case_file_path(c, origin, name);
	if (strpbrk(name, "./") || access(path, R_OK) == 0)
		return path;
	const struct cfg_node *file;
	const struct cfg_node *program =
		case_group(c, origin, "models/programs", "program", name, "program", &file);
	const char *calls = program ? cfg_text(cfg_child(program, "calls")) : NULL;
	return calls ? arena_printf(c->arena, "%s/models/programs/%s", c->request->data_root, calls)
		     : NULL;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Finds what each rank of the job plays. Returns false after an error. */
static bool read_ranks(struct reader *c, struct origin origin, struct recorded_program *program)
{
	size_t count = (size_t)c->params->gpus_count;
	program->job = recorded_job_new(c->arena, c->diag, origin, program->calls, count);
	program->steps = ARENA_ARRAY(c->arena, count, struct replay_step);
	for (size_t i = 0; program->job && i < count; i++)
		if (!replay_step_like(c->diag, origin, program->job->ranks[i], &program->step,
				      &program->steps[i]))
			return false;
	return program->job != NULL;
}

/* Reads the data sheet of the GPU on which the program was recorded, if it is known. */
static void read_recorded_gpu(struct reader *c, struct recorded_program *program)
{
	const struct gpu_model *model = gpu_model_by_name(program->calls->gpu);
	const char *name = program->params->gpu;
	const struct cfg_node *file;
	program->profile = name[0] ? name : model ? model->profile : NULL;
	if (!program->profile)
		return;
	const struct cfg_node *node =
		case_group(c, case_origin_of(c, "calls.gpu"), "topologies/gpus", "GPU profile",
			   program->profile, "gpu", &file);
	struct gpu_params *gpu = ARENA_NEW(c->arena, struct gpu_params);
	if (node && cfg_params(cfg_resolution_new(c->arena), c->arena, c->diag, node, "gpu", "gpu",
			       &gpu_table, CFG_KEYS("like"), gpu))
		program->gpu = gpu;
}

void case_read_calls(struct reader *c)
{
	struct origin origin = case_origin_of(c, "case.calls");
	struct calls_params *params = ARENA_NEW(c->arena, struct calls_params);
	if (!reader_params(c, cfg_child(c->file, "calls"), "calls", "calls", &calls_table, params))
		return;
	if (case_is_job(c))
		diag_error(c->diag, origin,
			   "case.calls: a recording cannot be combined with case.jobs or "
			   "case.collective (leave them out)");
	else if (case_gives(c, "case.model"))
		case_error(c, "case.model",
			   "case: calls cannot be combined with model, because a recording "
			   "contains its own kernels (leave one of them out)");
	if (diag_count(c->diag) > 0)
		return;
	struct recorded_program *program = ARENA_NEW(c->arena, struct recorded_program);
	struct network *network = ARENA_NEW(c->arena, struct network);
	program->params = params;
	program->calls = c->request->calls;
	const char *path = program->calls ? NULL : call_path(c, origin);
	if (path)
		program->calls = call_file_read(c->arena, c->diag, path);
	if (program->calls)
		read_recorded_gpu(c, program);
	network->name = file_name(c->params->calls);
	c->calls_network = network;
	if (program->calls &&
	    replay_step_find(c->diag, origin, program->calls, params, &program->step) &&
	    (!case_has_ranks(c) || read_ranks(c, origin, program)))
		c->recorded = program;
}

/* Without a batch size in the case, one step counts as one sample. */
static double batch_of(const struct reader *c)
{
	return case_gives(c, "case.batch") ? c->params->batch_count : 1;
}

void case_calls_client(struct reader *c, struct job_entry *client, double batch_count,
		       const char *model)
{
	if (model[0])
		diag_error(c->diag, client->origin,
			   "client '%s': calls cannot be combined with model, because a recording "
			   "contains its own kernels (leave out the client's model)",
			   client->name);
	const struct recorded_program *program = c->recorded;
	const struct gpu_entry *gpu = &c->scenario->topology.gpus[client->gpus[0]];
	const char *lacking = NULL;
	struct rescaling rescaling = {program->gpu, &gpu->params, false, 1, {0}};
	if (program->gpu)
		rescale_words(c->arena, program->calls, &program->step, &rescaling, &lacking);
	if (lacking)
		case_error(c, "case.calls",
			   "case.calls: the kernel '%.80s' multiplies %s, which GPU '%s' does not "
			   "have (choose a GPU that has it, or record the program with numbers "
			   "that this one has)",
			   lacking, number_type_name(kernel_number_type(lacking)), gpu->profile);
	client->recorded = program;
	client->network = c->calls_network;
	client->model = c->calls_network->name;
	client->batch_count = batch_count > 0 ? batch_count : batch_of(c);
}
