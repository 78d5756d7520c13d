/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads case files and settings into a struct scenario. */
#include "sim/base/lines.h"
#include "sim/scenario/case.h"
#include "sim/scenario/fold.h"

static const char *const local_choices[] = {"client", "server", NULL};
static const char *const symmetry_choices[] = {"auto", "on", "off", NULL};
static const char *const fusing_choices[] = {"auto", "off", NULL};
static const struct param_row case_rows[] = {
	PARAM_TEXT(struct case_params, topology, NULL,
		   "machines and their network: name of a file of topologies/"),
	PARAM_TEXT(struct case_params, model, "resnet50",
		   "neural network: name of a file of models/networks/"),
	PARAM_TEXT(struct case_params, calls, "",
		   "file with recorded CUDA calls, which replaces model and stack; empty: none"),
	PARAM_TEXT(struct case_params, stack, "auto",
		   "framework and benchmark code: name of a file of models/stacks/; auto means "
		   "PyTorch with the number type of today that the GPUs have (case_stack.c)",
		   "assumption: PyTorch trains images with automatic mixed precision, and language "
		   "models in bf16 with AdamW"),
	PARAM_TEXT(struct case_params, engine, "",
		   "model server: name of a file of models/engines/; empty: the values of serve"),
	PARAM_TEXT(struct case_params, runtime, "none",
		   "remoting runtime: name of a file of models/runtimes/; none: the local driver"),
	PARAM_TEXT(struct case_params, transport, "auto",
		   "transport, for calls, gradients, keys and values between hosts (`farwire list "
		   "transports`); auto means tcp, but rdma for all but calls on InfiniBand or RoCE",
		   "assumption: runtimes forward calls by sockets unless told otherwise, and "
		   "collective libraries take RDMA where they find it"),
	PARAM_TEXT(struct case_params, profile, "",
		   "profile of fitted parameters: name of a file of calib/profiles/; empty: none"),
	PARAM_TEXT(struct case_params, fail, "",
		   "failed links, GPUs, adapters or machines, separated by commas: n0.nv0 of one "
		   "machine, or nv0 of each; empty means none"),
	PARAM_TEXT(struct case_params, degrade, "",
		   "slower links, GPUs, adapters or machines, with the part of their rate that is "
		   "left, for example n0.nic0=0.5, separated by commas; empty means none"),
	PARAM_TEXT(struct case_params, devices, "",
		   "GPUs of each machine that programs see, by index or name and in the order of "
		   "ranks, as in CUDA_VISIBLE_DEVICES: 0,2 or gpu2,gpu0; empty means all"),
	PARAM_TEXT(struct case_params, adapters, "",
		   "adapters of each machine that programs use, as in NCCL_IB_HCA: mlx5_0,mlx5_1 "
		   "are begins of names, =mlx5_1 a whole name, ^mlx5_0 all others; empty means "
		   "all"),
	PARAM_BOOL(struct case_params, gpu_profiles, "true",
		   "whether fitted profiles named like a GPU or its generation apply; false "
		   "predicts GPUs from their data sheets only"),
	PARAM_TEXT(struct case_params, gpu_profiles_without, "",
		   "names of profiles of GPUs, generations or runtimes that do not apply, with "
		   "blanks between; a fit leaves out those that it writes"),
	PARAM_TEXT(struct case_params, program, "",
		   "guest in which the program runs; empty means the guest that serves its GPU; "
		   "spread means the guests without a GPU in turn"),
	PARAM_TEXT(struct case_params, server, "",
		   "guest that serves the GPU; empty means the first guest of the GPU's host"),
	PARAM_TEXT(struct case_params, gpu, "",
		   "GPU that the program uses; empty means the topology's first GPU; spread means "
		   "all GPUs in turn"),
	PARAM_WHOLE(struct case_params, batch_count, 1, 1e6, "32",
		    "batch size: samples of a step on each GPU"),
	PARAM_WHOLE(struct case_params, sequence_count, 0, 10000000, "0",
		    "tokens of each sequence; 0 means as in the file of the network"),
	PARAM_NUMBER(struct case_params, fraction_ratio, QUANTITY_RATIO, 0.001, 1, "1",
		     "GPU fraction: largest share of its GPU that a client may use"),
	PARAM_NUMBER(struct case_params, memory_fraction_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "largest share of its GPU's memory for a client; 0: case.fraction"),
	PARAM_WHOLE(struct case_params, copies_count, 1, 4096, "1",
		    "number of copies of each client"),
	PARAM_WHOLE(struct case_params, tensor_count, 1, 1024, "1",
		    "GPUs that split each layer of a replica but its experts (tensor parallelism)"),
	PARAM_WHOLE(struct case_params, data_count, 0, 1024, "0",
		    "groups of case.tensor GPUs that share a replica's experts and have their own "
		    "requests (attention data parallelism); 0 means as many as case.expert needs"),
	PARAM_WHOLE(struct case_params, expert_count, 1, 1024, "1",
		    "parts of a replica's experts (expert parallelism); more GPUs split the "
		    "experts of a part by their features"),
	PARAM_WHOLE(struct case_params, pipeline_count, 1, 64, "1",
		    "number of stages of a replica's layers (pipeline parallelism of a server)"),
	PARAM_WHOLE(
		struct case_params, prefill_count, 0, 4095, "0",
		"replicas that process prompts only; the others generate tokens; 0: all do both"),
	PARAM_TEXT(struct case_params, prices, "",
		   "prices and power of machines: name of a file of models/prices/; empty: none"),
	PARAM_WHOLE(struct case_params, steps_warmup_count, 0, 1000, "1",
		    "number of warm-up steps, which are not measured"),
	PARAM_WHOLE(struct case_params, steps_count, 0, 100000, "0",
		    "largest number of measured steps of the slowest program; a run ends earlier "
		    "when steps repeat; 0 means 16 (several programs: 128, or 20 million events)"),
	PARAM_WHOLE(struct case_params, micro_batches_count, 0, 1000000, "128",
		    "micro-batches from which a step is extended; fewer: right within 0.1 %"),
	PARAM_WHOLE(struct case_params, gpus_count, 0, 131072, "0",
		    "number of GPUs of a job; 0 means no job, each program uses one GPU"),
	PARAM_WHOLE(struct case_params, gpus_per_machine_count, 0, 1024, "0",
		    "number of GPUs that a job uses in each machine; 0 means all; for a plan it "
		    "means the most with which no tensor, context or expert group straddles "
		    "machines"),
	PARAM_CHOICE(
		struct case_params, local, local_choices, "client",
		"machine whose CPU runs the program with a local GPU, to which forwarded calls "
		"are compared (ratio): the client's, with the same GPU in it, or the server's"),
	PARAM_WHOLE(struct case_params, programs_count, 0, 131072, "0",
		    "number of processes that share the GPUs of a job with a remoting runtime; 0 "
		    "means one for each GPU"),
	PARAM_TEXT(struct case_params, exchange, "ddp",
		   "exchange of gradients in a job: name of a file of models/exchanges/",
		   "assumption: PyTorch's DistributedDataParallel over NCCL"),
	PARAM_TEXT(
		struct case_params, guest, "",
		"guest of each machine in which a job runs; empty means the machine's first guest"),
	PARAM_WHOLE(struct case_params, slowest_of_count, 0, 1e7, "0",
		    "number of GPUs whose slowest clock counts; 0 takes the GPUs of the case"),
	PARAM_NUMBER(struct case_params, straggler_ratio, QUANTITY_RATIO, 1, 1000, "1",
		     "compute time of a job's first rank divided by that of the other ranks"),
	PARAM_WHOLE(struct case_params, epochs_count, 0, 1e6, "0",
		    "number of epochs: passes over the training set; 0 means that no training time "
		    "is printed"),
	PARAM_WHOLE(struct case_params, tokens_count, 0, 1e18, "0",
		    "number of tokens of a whole training, for example 15e12; 0 means that no "
		    "training time is printed"),
	PARAM_WHOLE(struct case_params, job_steps_count, 0, 1e12, "0",
		    "number of steps of a training job from launch to end, warm-up included; 0 "
		    "means as many as case.epochs needs"),
	PARAM_WHOLE(struct case_params, images_count, 1, 1e12, "1281167",
		    "number of samples in the training set", "ImageNet 2012's training set"),
	PARAM_CHOICE(struct case_params, symmetry, symmetry_choices, "auto",
		     "whether one machine represents all equal machines; auto means in jobs of "
		     "1024 GPUs or more and plans of 64, which are approximate on more than 32 "
		     "machines; on keeps the results"),
	PARAM_CHOICE(
		struct case_params, fusing, fusing_choices, "auto",
		"whether the kernels that a local program launches without other calls in "
		"between are simulated as one; off simulates each, which gives the same times"),
	PARAM_WHOLE(struct case_params, events_count, 0, 1e15, "0",
		    "most events of a run, or it has failed; 0: 10^8, and 2 x 10^9 for a plan"),
	PARAM_TEXT(
		struct case_params, collective, "",
		"collective to repeat without training, as nccl-tests does; empty means training"),
	PARAM_NUMBER(struct case_params, collective_size_B, QUANTITY_BYTES, 1, 1e15, "64 MiB",
		     "message size: size of the collective's buffer, as nccl-tests defines it"),
};
const struct param_table case_table = PARAM_TABLE("case", struct case_params, case_rows);
struct origin case_origin(const struct reader *c)
{
	return c->group ? cfg_origin(c->group) : (struct origin){"command line", 0};
}

struct origin case_origin_of(const struct reader *c, const char *path)
{
	return case_gives(c, path) ? cfg_param_find(c->resolution, path)->origin : case_origin(c);
}

const struct cfg_node *case_group(struct reader *c, struct origin origin, const char *folder,
				  const char *what, const char *name, const char *group,
				  const struct cfg_node **file)
{
	const char *path =
		data_path(c->arena, c->diag, origin, c->root, folder, what, name, c->request->path);
	*file = path ? cfg_read(c->arena, c->diag, path) : NULL;
	const struct cfg_node *node = *file ? cfg_child(*file, group) : NULL;
	if (*file && !node)
		diag_error(c->diag, cfg_origin(*file), "%s '%s': its file has no group `%s = ...`",
			   what, name, group);
	return node;
}

static bool is_left_out(const struct reader *c, const struct cfg_node *systems)
{
	bool left_out = false;
	for (size_t i = 0; c->request->without && i < cfg_count(systems); i++)
		left_out = left_out ||
			   evidence_is_left_out(c->request->without, cfg_text(cfg_at(systems, i)));
	return left_out;
}

/* Profiles are applied in two passes. An efficiency acts only on the number type for which it was
 * fitted. The stack has this type, and other parameters of a profile can change the stack. */
enum profile_pass { PASS_ALL_BUT_EFFICIENCIES, PASS_EFFICIENCIES };

/* Returns true if `path` is an efficiency that was fitted to programs with other number types than
 * the case's only. A share of the fp32 peak is not one of the peak of tensor cores. */
static bool is_of_other_numbers(const struct reader *c, const struct cfg_node *fitted_on,
				const char *path)
{
	const struct topology *topology = &c->scenario->topology;
	bool found = false, equal = false;
	for (size_t i = 0; c->stack && i < cfg_count(fitted_on); i++) {
		const struct cfg_node *row = cfg_at(fitted_on, i);
		const char *gpu = cfg_text(cfg_child(row, "gpu"));
		const char *model = cfg_text(cfg_child(row, "model"));
		const char *numbers = cfg_text(cfg_child(row, "numbers"));
		if (!gpu || !model || !numbers)
			continue;
		const char *begin = arena_printf(c->arena, "efficiency.%s.%s.", gpu, model);
		if (strncmp(path, begin, strlen(begin)) != 0)
			continue;
		for (size_t k = 0; k < topology->gpu_count; k++)
			if (strcmp(topology->gpus[k].like, gpu) == 0) {
				found = true;
				equal |= strcmp(number_type_name(stack_product_type(
							c->stack, &topology->gpus[k].params, true)),
						numbers) == 0;
				break;
			}
	}
	return found && !equal;
}

/* Applies a fitted profile: a list `parameters` of groups with `path` and `fit`. The values
 * override those of files, and settings override them. */
static void apply_parameters(struct reader *c, const struct cfg_node *file, const char *profile,
			     enum profile_pass pass)
{
	const struct cfg_node *list = cfg_child(file, "parameters");
	for (size_t i = 0; i < cfg_count(list); i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *path = cfg_text(cfg_child(group, "path"));
		bool efficiency = path && strncmp(path, "efficiency.", 11) == 0;
		if (efficiency != (pass == PASS_EFFICIENCIES) ||
		    is_left_out(c, cfg_child(group, "systems")) ||
		    (efficiency && is_of_other_numbers(c, cfg_child(file, "fitted_on"), path)))
			continue;
		if (path && cfg_child(group, "fit"))
			cfg_override_node(c->resolution, path, cfg_child(group, "fit"));
		else
			diag_error(c->diag, cfg_origin(group),
				   "profile '%s': an entry needs path and fit (write { path = "
				   "\"runtime.x\"; fit = { value = ... }; })",
				   profile);
	}
	if (pass == PASS_ALL_BUT_EFFICIENCIES)
		case_note_evidence(c, file);
}

/* Applies the file that a parameter of the case names, and returns it; NULL: there is none. */
static const struct cfg_node *apply_named(struct reader *c, const char *folder, const char *what,
					  const char *key, const char *name, enum profile_pass pass)
{
	const struct cfg_node *file = NULL;
	if (name[0] &&
	    case_group(c, case_origin_of(c, key), folder, what, name, "parameters", &file))
		apply_parameters(c, file, name, pass);
	return file;
}

static void apply_profile(struct reader *c, enum profile_pass pass)
{
	const struct cfg_node *file = apply_named(c, "calib/profiles", "profile", "case.profile",
						  c->params->profile, pass);
	c->own_profile |= file && !cfg_child(file, "fitted_on");
}

/* A profile may be of the GPU, of its generation, or of a library on these: nccl-2.8-ampere. */
static bool is_profile_of(const char *exchange, const struct gpu_entry *gpu, const char *name)
{
	const char *const prefixes[] = {"collectives", exchange};
	const char *generation = gpu_generation_name((enum gpu_generation)gpu->params.generation);
	if (strcmp(name, gpu->profile) == 0 || strcmp(name, gpu->like) == 0)
		return true;
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
		size_t length = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], length) == 0 && name[length] == '-')
			return strcmp(name + length + 1, generation) == 0;
	}
	return strcmp(name, generation) == 0;
}

/* Returns true if the profile is for the runtime, the engine or a GPU. */
static bool is_profile_here(const struct reader *c, const char *name)
{
	const struct topology *topology = &c->scenario->topology;
	size_t gpu_count = c->params->gpu_profiles ? topology->gpu_count : 0;
	bool here = !strcmp(name, c->params->runtime) || !strcmp(name, c->params->engine);
	for (size_t gpu = 0; gpu < gpu_count && !here; gpu++)
		here = is_profile_of(c->params->exchange, &topology->gpus[gpu], name);
	return here;
}

/* Applies the profiles that are named like the runtime, a GPU of the topology or its generation. */
static void apply_named_profiles(struct reader *c, enum profile_pass pass)
{
	const char *const *names;
	size_t count = data_names(c->arena, c->root, "calib/profiles", &names);
	for (size_t i = 0; i < count; i++) {
		if (!is_profile_here(c, names[i]) ||
		    has_word(c->params->gpu_profiles_without, names[i]))
			continue;
		const struct cfg_node *file = cfg_read(
			c->arena, c->diag,
			arena_printf(c->arena, "%s/calib/profiles/%s.cfg", c->root, names[i]));
		apply_parameters(c, file, names[i], pass);
	}
}

static void apply_profiles(struct reader *c, enum profile_pass pass)
{
	apply_named_profiles(c, pass);
	apply_profile(c, pass); /* after the named profiles, which it overrides */
}

/* `auto` selects the first kind. For jobs and replicas it prefers a direct kind with a network. */
static const struct transport_kind *find_transport(const struct reader *c)
{
	if (strcmp(c->params->transport, "auto") != 0)
		return transport_kind_find(c->params->transport);
	bool forwards = strcmp(c->params->runtime, "none") != 0;
	bool job = case_is_job(c) || (case_has_ranks(c) && !forwards);
	bool apart = case_serves(c) && !forwards && !case_serves_rpc(c); /* keys and values */
	for (size_t i = 0; (job || apart) && i < transport_kind_count(); i++) {
		const struct transport_kind *kind = transport_kind_at(i);
		if (kind->direct && topology_has_network(&c->scenario->topology, kind->traffic))
			return kind;
	}
	return transport_kind_at(0);
}

static bool travels(const struct scenario *scenario, const struct job_entry *job)
{
	const struct topology *topology = &scenario->topology;
	bool across = job->runtime || (topology->fold && topology->fold->machine_count > 1);
	for (size_t r = 1; r < job->simulated_count; r++)
		across |= topology->gpus[job->gpus[r]].host != topology->gpus[job->gpus[0]].host;
	return across;
}

const char *scenario_transport(const struct scenario *scenario)
{
	for (size_t i = 0; i < scenario->job_count; i++)
		if (travels(scenario, &scenario->jobs[i]))
			return scenario->jobs[i].transport->name;
	return NULL;
}

void case_transport(struct reader *c, const struct cfg_node *file)
{
	c->transport = find_transport(c);
	if (!c->transport) {
		case_error(c, "case.transport", "case: %s",
			   registry_unknown(c->arena, &transport_kind_registry,
					    c->params->transport, "auto"));
		return;
	}
	void *params = arena_alloc(c->arena, TRANSPORT_PARAMS_SIZE_MAX);
	reader_params(c, cfg_child(file, c->transport->name), c->transport->name,
		      c->transport->name, c->transport->table, params);
	c->transport_params = params;
}

static void read_runtime(struct reader *c)
{
	if (strcmp(c->params->runtime, "none") == 0)
		return;
	const struct cfg_node *file;
	const struct cfg_node *node =
		case_group(c, case_origin_of(c, "case.runtime"), "models/runtimes", "runtime",
			   c->params->runtime, "runtime", &file);
	if (!node)
		return;
	struct runtime_params *runtime = ARENA_NEW(c->arena, struct runtime_params);
	reader_params(c, node, "runtime",
		      arena_printf(c->arena, "runtime '%s'", c->params->runtime), &runtime_table,
		      runtime);
	case_transport(c, file);
	c->runtime = runtime;
}

/* Applies the list `settings` of the case file. Settings of the command line override it. */
static void apply_settings(struct reader *c)
{
	const struct cfg_node *list = cfg_child(c->group, "settings");
	for (size_t i = 0; i < cfg_count(list); i++) {
		const char *text = cfg_text(cfg_at(list, i));
		if (text)
			cfg_override(c->resolution, c->diag, cfg_origin(cfg_at(list, i)), text);
		else
			diag_error(c->diag, cfg_origin(cfg_at(list, i)),
				   "case: settings must hold texts (write settings = "
				   "[\"host.server.turbo=true\"])");
	}
	for (size_t i = 0; i < c->request->setting_count; i++)
		cfg_override(c->resolution, c->diag, c->request->settings[i].origin,
			     c->request->settings[i].text);
	for (size_t i = 0; i < c->request->draw_count; i++)
		cfg_override_draw(c->resolution, c->request->draws[i].path,
				  c->request->draws[i].value);
}

static bool read_file(struct reader *c)
{
	if (!c->request->path)
		return true;
	c->file = cfg_read(c->arena, c->diag, c->request->path);
	if (!c->file)
		return false;
	c->group = cfg_child(c->file, "case");
	if (!c->group)
		diag_error(c->diag, cfg_origin(c->file), "the file has no group `case = { ... }`");
	return c->group != NULL;
}

static void read_world(struct reader *c)
{
	const char *path =
		data_path(c->arena, c->diag, case_origin_of(c, "case.topology"), c->root,
			  "topologies", "topology", c->params->topology, c->request->path);
	const struct cfg_node *file = path ? cfg_read(c->arena, c->diag, path) : NULL;
	if (!file)
		return;
	apply_profile(c, PASS_ALL_BUT_EFFICIENCIES);
	case_check_prices(c, apply_named(c, "models/prices", "file of prices", "case.prices",
					 c->params->prices, PASS_ALL_BUT_EFFICIENCIES));
	if (case_serves(c))
		case_serve_want(c);
	if (case_is_job(c) || case_has_ranks(c)) {
		case_jobs_want(c);
		if (case_has_ranks(c) && case_has_plan(c))
			case_plan_want(c);
		bool alike = case_has_ranks(c) && (case_has_plan(c) || c->params->calls[0]);
		c->may_fold &= (alike || !case_has_ranks(c)) &&
			       fold_is_wanted(c->params, c->job_count, c->gpus_wanted, alike);
	}
	c->may_fold &= !case_has_faults(c);
	c->devices = choice_new(c, "case.devices", c->params->devices, false,
				case_origin_of(c, "case.devices"));
	c->adapters = choice_new(c, "case.adapters", c->params->adapters, true,
				 case_origin_of(c, "case.adapters"));
	read_topology(c, file, path, &c->scenario->topology);
	case_faults(c);
	bool kernel = case_has_kernel(c);
	const struct cfg_node *stack = c->params->calls[0] || kernel ? NULL : case_find_stack(c);
	apply_profiles(c, PASS_ALL_BUT_EFFICIENCIES);
	if (c->params->calls[0])
		case_read_calls(c);
	else if (!kernel)
		case_read_stack(c, stack);
	apply_profiles(c, PASS_EFFICIENCIES);
	if (!case_is_job(c))
		read_runtime(c);
	case_refuse_unused(c);
	case_refuse_layout(c);
	reader_params(c, cfg_child(c->file, "driver"), "driver", "driver", &driver_table,
		      &c->scenario->driver);
	reader_params(c, cfg_child(c->file, "dma"), "dma", "dma", &dma_table, &c->scenario->dma);
	if (diag_count(c->diag) > 0)
		return;
	if (case_is_job(c))
		case_read_jobs(c);
	else if (case_has_ranks(c))
		case_read_ranks(c);
	else
		case_read_clients(c);
	if (case_serves(c) && diag_count(c->diag) == 0)
		case_read_services(c);
	case_read_error(c);
	case_read_costs(c);
}

static void check_tokens(struct reader *c)
{
	const struct case_params *params = c->params;
	if (!(params->tokens_count > 0) || diag_count(c->diag) > 0)
		return;
	if (params->epochs_count + params->job_steps_count > 0)
		case_error(c, "case.tokens",
			   "case.tokens cannot be combined with case.epochs or case.job_steps "
			   "(leave one of them out)");
	if (isnan(scenario_token_rate(c->scenario, RATE_TOKENS)))
		case_error(c, "case.tokens",
			   "case.tokens needs networks with sequences of equal length (choose "
			   "another case.model, or write case.epochs)");
}

/* Returns the networks of all programs, jobs or services of the case, each one once. */
static const char *models_of(const struct reader *c)
{
	const struct job_entry *jobs = c->scenario->jobs;
	const char *models = jobs[0].model_given;
	for (size_t i = 1; i < c->scenario->job_count; i++) {
		size_t k = 0;
		while (strcmp(jobs[k].model_given, jobs[i].model_given) != 0)
			k++;
		if (k == i)
			models = arena_printf(c->arena, "%s, %s", models, jobs[i].model_given);
	}
	return models;
}

static const char *batches_of(const struct reader *c)
{
	double least = INFINITY, most = 0;
	for (size_t i = 0; i < c->scenario->job_count; i++) {
		least = fmin(least, c->scenario->jobs[i].batch_count);
		most = fmax(most, c->scenario->jobs[i].batch_count);
	}
	return least < most ? arena_printf(c->arena, "batches of %g to %g", least, most)
			    : arena_printf(c->arena, "batch %g", most);
}

/* Networks and batches of all programs must be read before. */
static const char *case_name(const struct reader *c)
{
	const char *name = cfg_text(cfg_child(c->group, "name"));
	const struct case_params *params = c->params;
	if (name)
		return name;
	if (params->calls[0])
		return arena_printf(c->arena, "%s on %s", params->calls, params->topology);
	if (params->collective[0])
		return arena_printf(
			c->arena, "%s of %s on %s", params->collective,
			quantity_format(c->arena, QUANTITY_BYTES, params->collective_size_B),
			params->topology);
	if (case_has_kernel(c))
		return arena_printf(c->arena, "%s on %s", models_of(c), params->topology);
	if (case_serves(c))
		return arena_printf(c->arena, "%s served on %s", models_of(c), params->topology);
	if (case_has_plan(c) && case_has_ranks(c))
		return arena_printf(c->arena, "%s on %g GPUs of %s", params->model,
				    params->gpus_count, params->topology);
	return arena_printf(c->arena, "%s on %s, %s", models_of(c), params->topology,
			    batches_of(c));
}

/* Returns the limit of events. A plan has a larger one, because a step of hundreds of micro-batches
 * on a hundred GPUs has ten times as many as other jobs: up to ten minutes on one core. */
static uint64_t events_most(const struct reader *c)
{
	static const uint64_t usual = 100000000, of_plan = 2000000000;
	if (c->request->events_max)
		return c->request->events_max;
	if (c->params->events_count > 0)
		return (uint64_t)c->params->events_count;
	return case_has_plan(c) && case_has_ranks(c) ? of_plan : usual;
}

/* Reads the whole case. c->may_fold and c->fold must be set before. */
static const struct scenario *read_all(struct reader *c)
{
	c->resolution = cfg_resolution_new(c->arena);
	c->scenario = ARENA_NEW(c->arena, struct scenario);
	c->params = ARENA_NEW(c->arena, struct case_params);
	if (!read_file(c))
		return NULL;
	if (c->file)
		cfg_only(c->diag, c->file,
			 CFG_KEYS("case", "driver", "dma", "input", "calls", "plan", "run", "serve",
				  "kernel", "cost"));
	if (c->request->left_out.text)
		cfg_leave_out(c->resolution, c->request->left_out.text,
			      c->request->left_out.origin);
	apply_settings(c);
	if (!cfg_params(c->resolution, c->arena, c->diag, c->group, "case", "case", &case_table,
			CFG_KEYS("name", "clients", "jobs", "settings"), c->params))
		return NULL;
	c->scenario->named = cfg_child(c->group, "name") != NULL;
	c->scenario->path = c->request->path;
	c->scenario->params = c->params;
	c->scenario->resolution = c->resolution;
	c->scenario->steps_warmup_count = c->params->steps_warmup_count;
	c->scenario->steps_count = c->params->steps_count;
	c->scenario->watch = c->request->watch;
	c->scenario->drawn = c->request->draw_count > 0;
	c->scenario->events_max = events_most(c);
	read_world(c);
	check_tokens(c);
	if (diag_count(c->diag) == 0) {
		case_allow_prices(c);
		cfg_resolution_finish(c->resolution, c->diag);
		c->scenario->name = case_name(c);
	}
	return diag_count(c->diag) ? NULL : c->scenario;
}

const struct scenario *case_read(struct arena *arena, struct diag *diag,
				 const struct case_request *request)
{
	const struct reader start = {.arena = arena, .diag = diag, .root = request->data_root};
	struct reader look = start, c = start;
	look.request = request;
	look.may_fold = true;
	const struct scenario *scenario = read_all(&look);
	if (!scenario || !look.fold)
		return scenario;
	struct case_request again = *request;
	c.request = &again;
	const char *why, *not_folded = NULL;
	c.fold = fold_machines(arena, scenario, look.fold, &not_folded);
	const struct job_entry *entry = &scenario->jobs[0];
	if (entry->recorded)
		again.calls = entry->recorded->calls;
	why = entry->plan && !c.fold ? case_plan_too_large(&look, entry->plan, entry->rank_count)
				     : NULL;
	if (why) /* before all machines are read */
		case_plan_refused(&look, why);
	if (why || !read_all(&c))
		return NULL;
	c.scenario->not_folded = not_folded;
	return c.scenario;
}
