/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case: files and settings -> struct scenario. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/scenario/case.h"
#include "sim/scenario/fold.h"

static const char *const symmetry_choices[] = {"auto", "on", "off", NULL};
static const struct param_row case_rows[] = {
	PARAM_TEXT(struct case_params, topology, NULL, "machines and wires: a file of topologies/",
		   ""),
	PARAM_TEXT(struct case_params, model, "resnet50", "network: a file of models/networks/",
		   ""),
	PARAM_TEXT(struct case_params, calls, "",
		   "a recorded program in place of model and stack: a call file; empty: none", ""),
	PARAM_TEXT(struct case_params, stack, "tf-1.12",
		   "framework and benchmark code: a file of models/stacks/", ""),
	PARAM_TEXT(struct case_params, runtime, "none",
		   "remoting runtime: a file of models/runtimes/; none: the local driver", ""),
	PARAM_TEXT(
		struct case_params, transport, "auto",
		"transport of calls and gradients between hosts (`farwire list transports`); auto: "
		"tcp, or rdma for the gradients of jobs on InfiniBand or RoCE",
		"assumption: runtimes forward calls by sockets unless told otherwise, and "
		"collective libraries take RDMA where they find it"),
	PARAM_TEXT(struct case_params, profile, "",
		   "fitted parameters: a file of calib/profiles/; empty: none", ""),
	PARAM_TEXT(struct case_params, program, "",
		   "guest where the program runs; empty: in front of its GPU; spread: over the "
		   "guests without a GPU",
		   ""),
	PARAM_TEXT(struct case_params, server, "",
		   "guest in front of the GPU; empty: the first one on its host", ""),
	PARAM_TEXT(struct case_params, gpu, "",
		   "GPU; empty: the first one; spread: over all of them in turn", ""),
	PARAM_WHOLE(struct case_params, batch_count, 1, 1e6, "32", "images of a step, per client",
		    ""),
	PARAM_NUMBER(struct case_params, fraction_ratio, QUANTITY_RATIO, 0.001, 1, "1",
		     "share of its GPU that a client may use", ""),
	PARAM_WHOLE(struct case_params, copies_count, 1, 4096, "1", "how many such clients", ""),
	PARAM_WHOLE(struct case_params, steps_warmup_count, 0, 1000, "1", "steps left out", ""),
	PARAM_WHOLE(
		struct case_params, steps_count, 0, 100000, "0",
		"most steps to measure, of several programs the slowest one's; fewer when they "
		"repeat or settle; 0: 16, of several programs 128 or what 20 million events bring",
		""),
	PARAM_WHOLE(struct case_params, gpus_count, 0, 131072, "0",
		    "GPUs of a data-parallel training job; 0: programs that use one GPU each", ""),
	PARAM_WHOLE(struct case_params, gpus_per_machine_count, 0, 1024, "0",
		    "GPUs that a job uses in each machine; 0: all", ""),
	PARAM_TEXT(struct case_params, exchange, "horovod-0.19",
		   "how a job exchanges gradients: a file of models/exchanges/", ""),
	PARAM_TEXT(struct case_params, guest, "",
		   "guest of each machine in which a job runs; empty: the first one", ""),
	PARAM_NUMBER(struct case_params, straggler_ratio, QUANTITY_RATIO, 1, 1000, "1",
		     "the first rank's compute time over that of the others", ""),
	PARAM_WHOLE(struct case_params, epochs_count, 0, 1e6, "0",
		    "passes over the images, for the time of a whole training", ""),
	PARAM_WHOLE(struct case_params, images_count, 1, 1e12, "1281167", "images of a pass",
		    "ImageNet 2012's training set"),
	PARAM_CHOICE(struct case_params, symmetry, symmetry_choices, "auto",
		     "machines that are alike are simulated once: auto, in jobs of 1024 GPUs or "
		     "more; on, off. What comes out is the same",
		     ""),
	PARAM_TEXT(struct case_params, collective, "",
		   "a collective alone, repeated as nccl-tests does; empty: training", ""),
	PARAM_NUMBER(struct case_params, collective_size_B, QUANTITY_BYTES, 1, 1e15, "64 MiB",
		     "its whole buffer", ""),
};
const struct param_table case_table = PARAM_TABLE("case", struct case_params, case_rows);

/* What one client of a list may say of itself; "" and 0: as the case says. */
struct client_params {
	const char *program, *server, *gpu, *model;
	double batch_count, fraction_ratio;
};
static const struct param_row client_rows[] = {
	PARAM_TEXT(struct client_params, program, "", "guest where it runs", ""),
	PARAM_TEXT(struct client_params, server, "", "guest in front of its GPU", ""),
	PARAM_TEXT(struct client_params, gpu, "", "its GPU", ""),
	PARAM_TEXT(struct client_params, model, "", "its network", ""),
	PARAM_WHOLE(struct client_params, batch_count, 0, 1e6, "0", "images of a step", ""),
	PARAM_NUMBER(struct client_params, fraction_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "share of its GPU", ""),
};
static const struct param_table client_table =
	PARAM_TABLE("client", struct client_params, client_rows);

struct origin case_origin(const struct case_reader *c)
{
	return c->group ? cfg_origin(c->group) : (struct origin){"command line", 0};
}

struct origin case_said(const struct case_reader *c, const char *path)
{
	const struct cfg_param *param = cfg_param_find(c->reader.resolution, path);
	return param && param->origin.file ? param->origin : case_origin(c);
}

const struct cfg_node *case_group(struct case_reader *c, struct origin origin, const char *folder,
				  const char *what, const char *name, const char *group,
				  const struct cfg_node **file)
{
	struct reader *reader = &c->reader;
	const char *path = data_path(reader->arena, reader->diag, origin, reader->root, folder,
				     what, name, c->request->path);
	*file = path ? cfg_read(reader->arena, reader->diag, path) : NULL;
	const struct cfg_node *node = *file ? cfg_child(*file, group) : NULL;
	if (*file && !node)
		diag_error(reader->diag, cfg_origin(*file), "%s '%s': there is no `%s = ...` in it",
			   what, name, group);
	return node;
}

/* A fitted profile: a list `parameters` of groups with a path and a value. They
 * stand in for what files say, and give way to settings. */
void case_apply_parameters(struct case_reader *c, const struct cfg_node *list, const char *profile)
{
	for (size_t i = 0; list && i < cfg_count(list); i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *path = cfg_text(cfg_child(group, "path"));
		if (path && cfg_child(group, "fit"))
			cfg_override_node(c->reader.resolution, path, cfg_child(group, "fit"));
		else
			diag_error(c->reader.diag, cfg_origin(group),
				   "profile '%s': an entry needs path and fit (write { path = "
				   "\"runtime.x\"; fit = { "
				   "value = ... }; })",
				   profile);
	}
}

static void apply_profile(struct case_reader *c)
{
	const struct cfg_node *file;
	if (c->params->profile[0])
		case_apply_parameters(c,
				      case_group(c, case_said(c, "case.profile"), "calib/profiles",
						 "profile", c->params->profile, "parameters",
						 &file),
				      c->params->profile);
}

/* What was fitted of a GPU lies in a profile of its name, if there is one. */
static void apply_gpu_profiles(struct case_reader *c)
{
	struct reader *reader = &c->reader;
	const struct topology *topology = &c->scenario->topology;
	const char *const *names;
	size_t count = data_names(reader->arena, reader->root, "calib/profiles", &names);
	for (size_t i = 0; i < count; i++)
		for (size_t gpu = 0; gpu < topology->gpu_count; gpu++)
			if (strcmp(names[i], topology->gpus[gpu].profile) == 0 ||
			    strcmp(names[i], topology->gpus[gpu].like) == 0) {
				const struct cfg_node *file = cfg_read(
					reader->arena, reader->diag,
					arena_printf(reader->arena, "%s/calib/profiles/%s.cfg",
						     reader->root, names[i]));
				case_apply_parameters(c, cfg_child(file, "parameters"), names[i]);
				break;
			}
}

/* The default is the first of the list, and for jobs a direct one where it has a network. */
static const struct transport_kind *find_transport(const struct case_reader *c)
{
	if (strcmp(c->params->transport, "auto") != 0)
		return transport_kind_find(c->params->transport);
	for (size_t i = 0; case_is_job(c) && i < transport_kind_count(); i++) {
		const struct transport_kind *kind = transport_kind_at(i);
		if (kind->direct && topology_has_network(&c->scenario->topology, kind->traffic))
			return kind;
	}
	return transport_kind_at(0);
}

/* Something of the job passes between machines. */
static bool travels(const struct scenario *scenario, const struct job_entry *job)
{
	const struct topology *topology = &scenario->topology;
	if (scenario->style == JOBS_PROGRAMS)
		return job->runtime != NULL;
	bool across = topology->fold && topology->fold->machine_count > 1;
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

void case_transport(struct case_reader *c, const struct cfg_node *file)
{
	struct reader *reader = &c->reader;
	c->transport = find_transport(c);
	if (!c->transport) {
		diag_error(reader->diag, case_said(c, "case.transport"), "case: %s",
			   registry_unknown(reader->arena, &transport_kind_registry,
					    c->params->transport, "auto"));
		return;
	}
	void *params = arena_alloc(reader->arena, TRANSPORT_PARAMS_SIZE_MAX);
	cfg_params(reader->resolution, reader->arena, reader->diag,
		   cfg_child(file, c->transport->name), c->transport->name, c->transport->name,
		   c->transport->table, NULL, 0, params);
	c->transport_params = params;
}

static void read_runtime(struct case_reader *c)
{
	struct reader *reader = &c->reader;
	if (strcmp(c->params->runtime, "none") == 0)
		return;
	const struct cfg_node *file;
	const struct cfg_node *node = case_group(c, case_said(c, "case.runtime"), "models/runtimes",
						 "runtime", c->params->runtime, "runtime", &file);
	if (!node)
		return;
	struct runtime_params *runtime = ARENA_NEW(reader->arena, struct runtime_params);
	cfg_params(reader->resolution, reader->arena, reader->diag, node, "runtime",
		   arena_printf(reader->arena, "runtime '%s'", c->params->runtime), &runtime_table,
		   NULL, 0, runtime);
	case_transport(c, file);
	c->runtime = runtime;
}

const struct network *case_network(struct case_reader *c, struct origin origin, const char *name)
{
	const struct cfg_node *file;
	if (!case_group(c, origin, "models/networks", "model", name, "network", &file))
		return NULL;
	return network_read(c->reader.arena, c->reader.diag, file);
}

/* Two numbers for each network on each GPU, fitted or the defaults. */
const struct efficiency_params *case_efficiency(struct case_reader *c, const char *gpu,
						const char *model)
{
	struct reader *reader = &c->reader;
	struct efficiency_params *efficiency = ARENA_NEW(reader->arena, struct efficiency_params);
	const char *prefix = arena_printf(reader->arena, "efficiency.%s.%s", gpu, model);
	cfg_params(reader->resolution, reader->arena, reader->diag, NULL, prefix, prefix,
		   &efficiency_table, NULL, 0, efficiency);
	return efficiency;
}

/* server: in front of the GPUs on its host; the first guest of other hosts. */
static bool fronts_a_gpu(const struct topology *topology, size_t guest, size_t server)
{
	for (size_t i = 0; i < topology->gpu_count; i++) {
		size_t host = topology->gpus[i].host;
		bool same = topology->guests[server].host == host;
		if (guest == (same ? server : topology->hosts[host].first_guest))
			return true;
	}
	return false;
}

/* The copy-th guest without a GPU, in turn; SIZE_MAX if there is none. */
static size_t spread_guest(const struct topology *topology, size_t server, size_t copy)
{
	size_t free_count = 0;
	for (size_t i = 0; i < topology->guest_count; i++)
		free_count += !fronts_a_gpu(topology, i, server);
	if (free_count == 0)
		return SIZE_MAX;
	size_t wanted = copy % free_count;
	for (size_t i = 0; i < topology->guest_count; i++)
		if (!fronts_a_gpu(topology, i, server) && wanted-- == 0)
			return i;
	return SIZE_MAX;
}

static size_t find_guest(struct case_reader *c, struct origin origin, const char *what,
			 const char *name)
{
	const struct topology *topology = &c->scenario->topology;
	return reader_find(&c->reader, origin, what, name, topology->guests, topology->guest_count,
			   sizeof *topology->guests);
}

static size_t place_gpu(struct case_reader *c, struct origin origin, const char *name, size_t copy)
{
	const struct topology *topology = &c->scenario->topology;
	if (topology->gpu_count == 0) {
		diag_error(c->reader.diag, origin, "topology '%s' has no GPU", topology->name);
		return SIZE_MAX;
	}
	if (!name[0])
		return 0;
	if (strcmp(name, "spread") == 0)
		return copy % topology->gpu_count;
	return reader_find(&c->reader, origin, "GPU", name, topology->gpus, topology->gpu_count,
			   sizeof *topology->gpus);
}

/* The guest in front of a program's GPU; SIZE_MAX after an error. */
static size_t place_server(struct case_reader *c, struct origin origin, const char *name,
			   const struct gpu_entry *gpu)
{
	const struct topology *topology = &c->scenario->topology;
	const struct host_entry *host = &topology->hosts[gpu->host];
	if (!name[0] && host->first_guest == SIZE_MAX)
		diag_error(c->reader.diag, origin,
			   "no guest runs on the host of GPU '%s' (write guests = ( { name "
			   "= ...; host = \"%s\"; } ) into the topology)",
			   gpu->name, host->name);
	if (!name[0])
		return host->first_guest;
	size_t server = find_guest(c, origin, "server guest", name);
	if (server == SIZE_MAX || topology->guests[server].host == gpu->host)
		return server;
	diag_error(c->reader.diag, origin, "guest '%s' is not on the host of GPU '%s' ('%s')",
		   topology->guests[server].name, gpu->name, host->name);
	return SIZE_MAX;
}

/* The guest in which a program runs; SIZE_MAX after an error. */
static size_t place_program(struct case_reader *c, struct origin origin, const char *name,
			    size_t server, size_t copy)
{
	const struct topology *topology = &c->scenario->topology;
	if (!name[0])
		return server;
	bool spread = strcmp(name, "spread") == 0;
	size_t guest = spread ? spread_guest(topology, server, copy)
			      : find_guest(c, origin, "program's guest", name);
	if (guest == SIZE_MAX && spread)
		diag_error(
			c->reader.diag, origin,
			"program = \"spread\": every guest has a GPU (write the name of a guest)");
	if (guest != SIZE_MAX && guest != server && !c->runtime)
		diag_error(c->reader.diag, origin,
			   "the program runs in guest '%s' and its GPU is behind '%s', "
			   "but there is no runtime to forward its calls (write runtime = \"...\")",
			   topology->guests[guest].name, topology->guests[server].name);
	return guest;
}

/* Where the job's program runs, its GPU and the guest in front of it. */
static bool place(struct case_reader *c, struct job_entry *entry, const struct client_params *own,
		  size_t copy)
{
	const struct case_params *params = c->params;
	size_t *places = ARENA_ARRAY(c->reader.arena, 3, size_t);
	entry->rank_count = entry->simulated_count = 1;
	entry->gpus = &places[0];
	entry->servers = &places[1];
	entry->guests = &places[2];
	places[0] = place_gpu(c, own->gpu[0] ? entry->origin : case_said(c, "case.gpu"),
			      own->gpu[0] ? own->gpu : params->gpu, copy);
	if (places[0] == SIZE_MAX)
		return false;
	places[1] = place_server(c, own->server[0] ? entry->origin : case_said(c, "case.server"),
				 own->server[0] ? own->server : params->server,
				 &c->scenario->topology.gpus[places[0]]);
	if (places[1] == SIZE_MAX)
		return false;
	places[2] =
		place_program(c, own->program[0] ? entry->origin : case_said(c, "case.program"),
			      own->program[0] ? own->program : params->program, places[1], copy);
	return places[2] != SIZE_MAX;
}

static void fill_client(struct case_reader *c, struct job_entry *client,
			const struct client_params *own, size_t copy)
{
	if (!place(c, client, own, copy))
		return;
	const char *model = own->model[0] ? own->model : c->params->model;
	client->batch_count = own->batch_count > 0 ? own->batch_count : c->params->batch_count;
	client->fraction_ratio =
		own->fraction_ratio > 0 ? own->fraction_ratio : c->params->fraction_ratio;
	client->runtime = c->runtime;
	client->transport = c->transport;
	client->transport_params = c->transport_params;
	if (c->recorded) {
		case_calls_client(c, client, own->batch_count, own->model);
		return;
	}
	/* each file is read, and each parameter recorded, once */
	for (const struct job_entry *other = c->scenario->jobs; other != client; other++)
		if (other->model && strcmp(other->model, model) == 0) {
			client->network = other->network;
			if (strcmp(c->scenario->topology.gpus[other->gpus[0]].like,
				   c->scenario->topology.gpus[client->gpus[0]].like) == 0)
				client->efficiency = other->efficiency;
		}
	client->model = model;
	if (!client->network)
		client->network = case_network(
			c, own->model[0] ? client->origin : case_said(c, "case.model"), model);
	if (!client->efficiency)
		client->efficiency =
			case_efficiency(c, c->scenario->topology.gpus[client->gpus[0]].like, model);
	client->stack = c->stack;
}

static bool name_is_free(struct case_reader *c, const struct job_entry *client)
{
	const struct job_entry *other = c->scenario->jobs;
	while (other != client && strcmp(other->name, client->name) != 0)
		other++;
	if (other != client)
		diag_error(c->reader.diag, client->origin,
			   "client '%s': the name is taken (names of clients are unique)",
			   client->name);
	return other == client;
}

static void read_clients(struct case_reader *c)
{
	static const char *const also[] = {"name"};
	struct reader *reader = &c->reader;
	const struct cfg_node *list = cfg_child(c->group, "clients");
	size_t listed = list ? cfg_count(list) : 1, copies = (size_t)c->params->copies_count;
	if (list && (!cfg_is_list(list) || listed == 0)) {
		diag_error(reader->diag, cfg_origin(list),
			   "case: clients must be a list of groups (write clients = ( { batch = "
			   "64; } ))");
		return;
	}
	size_t count = listed * copies;
	if (count > CLIENTS_MAX) {
		diag_error(reader->diag, case_said(c, "case.copies"), "case: over %d clients",
			   CLIENTS_MAX);
		return;
	}
	struct job_entry *clients = ARENA_ARRAY(reader->arena, count + 1, struct job_entry);
	c->scenario->jobs = clients;
	for (size_t i = 0; i < count; i++) {
		const struct cfg_node *group = list ? cfg_at(list, i % listed) : NULL;
		struct client_params own = {.program = "", .server = "", .gpu = "", .model = ""};
		const char *name = cfg_text(cfg_child(group, "name"));
		if (!name)
			name = count > 1 ? arena_printf(reader->arena, "client%zu", i) : "client";
		else if (copies > 1)
			name = arena_printf(reader->arena, "%s.%zu", name, i / listed);
		clients[i].name = name;
		clients[i].origin = group ? cfg_origin(group) : case_origin(c);
		if (!name_is_free(c, &clients[i]))
			continue;
		if (!group || cfg_params(reader->resolution, reader->arena, reader->diag, group,
					 arena_printf(reader->arena, "client.%s", name),
					 arena_printf(reader->arena, "client '%s'", name),
					 &client_table, also, 1, &own))
			fill_client(c, &clients[i], &own, i);
	}
	c->scenario->job_count = count;
}

/* The case's own list of settings: below those of the command line. */
static void apply_settings(struct case_reader *c)
{
	struct reader *reader = &c->reader;
	const struct cfg_node *list = cfg_child(c->group, "settings");
	for (size_t i = 0; list && i < cfg_count(list); i++) {
		const char *text = cfg_text(cfg_at(list, i));
		if (text)
			cfg_override(reader->resolution, reader->diag, cfg_origin(cfg_at(list, i)),
				     text);
		else
			diag_error(reader->diag, cfg_origin(cfg_at(list, i)),
				   "case: settings holds texts (write settings = "
				   "[\"host.server.turbo=true\"])");
	}
	for (size_t i = 0; i < c->request->setting_count; i++)
		cfg_override(reader->resolution, reader->diag, c->request->settings[i].origin,
			     c->request->settings[i].text);
	for (size_t i = 0; i < c->request->draw_count; i++)
		cfg_override_draw(reader->resolution, c->request->draws[i].path,
				  c->request->draws[i].value);
}

static bool read_file(struct case_reader *c)
{
	if (!c->request->path)
		return true;
	c->file = cfg_read(c->reader.arena, c->reader.diag, c->request->path);
	if (!c->file)
		return false;
	c->group = cfg_child(c->file, "case");
	if (!c->group)
		diag_error(c->reader.diag, cfg_origin(c->file), "no group `case = { ... }`");
	return c->group != NULL;
}

static void read_world(struct case_reader *c)
{
	struct reader *reader = &c->reader;
	const char *path =
		data_path(reader->arena, reader->diag, case_said(c, "case.topology"), reader->root,
			  "topologies", "topology", c->params->topology, c->request->path);
	const struct cfg_node *file = path ? cfg_read(reader->arena, reader->diag, path) : NULL;
	if (!file)
		return;
	case_apply_error_profile(c);
	apply_profile(c);
	if (case_is_job(c)) {
		case_jobs_want(c);
		reader->may_fold &= fold_is_wanted(c->params, c->job_count, reader->gpus_wanted);
	}
	read_topology(reader, file, path, &c->scenario->topology);
	const struct cfg_node *stack = c->params->calls[0] ? NULL : case_find_stack(c);
	apply_gpu_profiles(c);
	apply_profile(c); /* the last word: it outranks what is known of a GPU in general */
	if (c->params->calls[0])
		case_read_calls(c);
	else
		case_read_stack(c, stack);
	if (!case_is_job(c)) {
		read_runtime(c);
		case_refuse_training(c);
	}
	cfg_params(reader->resolution, reader->arena, reader->diag, cfg_child(c->file, "driver"),
		   "driver", "driver", &driver_table, NULL, 0, &c->scenario->driver);
	cfg_params(reader->resolution, reader->arena, reader->diag, cfg_child(c->file, "dma"),
		   "dma", "dma", &dma_table, NULL, 0, &c->scenario->dma);
	if (diag_count(reader->diag) > 0)
		return;
	if (case_is_job(c))
		case_read_jobs(c);
	else
		read_clients(c);
	case_read_error(c);
}

static const char *case_name(const struct case_reader *c)
{
	const char *name = cfg_text(cfg_child(c->group, "name"));
	const struct case_params *params = c->params;
	if (name)
		return name;
	if (params->calls[0])
		return arena_printf(c->reader.arena, "%s on %s", params->calls, params->topology);
	if (params->collective[0])
		return arena_printf(
			c->reader.arena, "%s of %s on %s", params->collective,
			quantity_format(c->reader.arena, QUANTITY_BYTES, params->collective_size_B),
			params->topology);
	return arena_printf(c->reader.arena, "%s on %s, batch %g", params->model, params->topology,
			    params->batch_count);
}

/* Reads it all; of the reader, whether and how machines are folded is given. */
static const struct scenario *read_all(struct case_reader *c)
{
	static const char *const also[] = {"name", "clients", "jobs", "settings"};
	static const char *const sections[] = {"case", "driver", "dma", "input", "calls"};
	struct arena *arena = c->reader.arena;
	struct diag *diag = c->reader.diag;
	c->reader.resolution = cfg_resolution_new(arena);
	c->scenario = ARENA_NEW(arena, struct scenario);
	c->params = ARENA_NEW(arena, struct case_params);
	if (!read_file(c))
		return NULL;
	if (c->file)
		cfg_only(diag, c->file, sections, sizeof sections / sizeof sections[0]);
	apply_settings(c);
	if (!cfg_params(c->reader.resolution, arena, diag, c->group, "case", "case", &case_table,
			also, sizeof also / sizeof also[0], c->params))
		return NULL;
	c->scenario->name = case_name(c);
	c->scenario->path = c->request->path;
	c->scenario->params = c->params;
	c->scenario->resolution = c->reader.resolution;
	c->scenario->steps_warmup_count = c->params->steps_warmup_count;
	c->scenario->steps_count = c->params->steps_count;
	c->scenario->events_max = c->request->events_max ? c->request->events_max : RUN_EVENTS_MAX;
	read_world(c);
	if (diag_count(diag) == 0)
		cfg_resolution_finish(c->reader.resolution, diag);
	c->scenario->error =
		cfg_param_find(c->reader.resolution, case_kind_path(scenario_kind(c->scenario)));
	return diag_count(diag) ? NULL : c->scenario;
}

const struct scenario *case_read(struct arena *arena, struct diag *diag,
				 const struct case_request *request)
{
	const struct reader reader = {.arena = arena, .diag = diag, .root = request->data_root};
	struct case_reader look = {.reader = reader, .request = request};
	look.reader.may_fold = true;
	const struct scenario *scenario = read_all(&look);
	if (!scenario || !look.reader.fold)
		return scenario;
	struct case_reader c = {.reader = reader, .request = request};
	c.reader.fold = fold_machines(arena, scenario, look.reader.fold);
	return read_all(&c);
}
