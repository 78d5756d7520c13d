/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads programs of one GPU each (clients): GPU, guest of the program, guest that serves the
 * GPU. */
#include "sim/scenario/case.h"

/* Settings of one client in a list. "" and 0 mean the setting of the case. */
struct client_params {
	const char *program, *server, *gpu, *model, *stack;
	double batch_count, fraction_ratio, memory_fraction_ratio;
	int role; /* enum serve_role */
};
static const char *const role_names[] = {"both", "prefill", "decode", NULL};
static const struct param_row client_rows[] = {
	PARAM_TEXT(struct client_params, program, "",
		   "guest in which this client's program runs; empty means case.program"),
	PARAM_TEXT(struct client_params, server, "",
		   "guest that serves this client's GPU; empty means case.server"),
	PARAM_TEXT(struct client_params, gpu, "",
		   "GPU that this client uses; empty means case.gpu"),
	PARAM_TEXT(struct client_params, model, "",
		   "neural network of this client; empty means case.model"),
	PARAM_TEXT(struct client_params, stack, "",
		   "stack of this client, for example pytorch-inference beside training programs; "
		   "empty means case.stack"),
	PARAM_WHOLE(struct client_params, batch_count, 0, 1e6, "0",
		    "batch size of this client: samples of a step; 0 means case.batch"),
	PARAM_NUMBER(struct client_params, fraction_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "largest share of the GPU that this client may use; 0 means case.fraction"),
	PARAM_NUMBER(struct client_params, memory_fraction_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "largest share of the GPU's memory that this client may use; 0 means "
		     "case.memory_fraction, or else its fraction"),
	PARAM_CHOICE(struct client_params, role, role_names, "both",
		     "role of this client as a model server: it processes prompts, generates "
		     "tokens, or does both"),
};
static const struct param_table client_table =
	PARAM_TABLE("client", struct client_params, client_rows);

/* Returns true if `guest` serves a GPU: on the host of `server` that is `server`, on other hosts
 * the first guest. */
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

/* Returns a guest that serves no GPU; `copy` selects it by turns. Returns SIZE_MAX if every
 * guest serves one. */
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

static size_t find_guest(struct reader *c, struct origin origin, const char *what, const char *name)
{
	const struct topology *topology = &c->scenario->topology;
	return reader_find(c, origin, what, name, topology->guests, topology->guest_count,
			   sizeof *topology->guests);
}

static size_t place_gpu(struct reader *c, struct origin origin, const char *name, size_t copy)
{
	const struct topology *topology = &c->scenario->topology;
	if (topology->gpu_count == 0) {
		bool failed = c->params->fail[0] != 0;
		diag_error(c->diag, failed ? case_origin_of(c, "case.fail") : origin,
			   "topology '%s' has no GPU%s (%s)", topology->name, case_failed_words(c),
			   failed ? "leave one of them out"
				  : "write gpus = ( { name = ...; profile = ...; "
				    "host = ...; } ) into it");
		return SIZE_MAX;
	}
	if (!name[0])
		return 0;
	if (strcmp(name, "spread") == 0)
		return copy % topology->gpu_count;
	return reader_find(c, origin, "GPU", name, topology->gpus, topology->gpu_count,
			   sizeof *topology->gpus);
}

size_t case_place_server(struct reader *c, struct origin origin, const char *name,
			 const struct gpu_entry *gpu)
{
	const struct topology *topology = &c->scenario->topology;
	const struct host_entry *host = &topology->hosts[gpu->host];
	if (!name[0] && host->first_guest == SIZE_MAX)
		diag_error(c->diag, origin,
			   "no guest runs on the host of GPU '%s' (write guests = ( { name = ...; "
			   "host = \"%s\"; } ) into the topology)",
			   gpu->name, host->name);
	if (!name[0])
		return host->first_guest;
	size_t server = find_guest(c, origin, "server guest", name);
	if (server == SIZE_MAX || topology->guests[server].host == gpu->host)
		return server;
	diag_error(c->diag, origin,
		   "guest '%s' is not on the host of GPU '%s' (write a guest of host '%s')",
		   topology->guests[server].name, gpu->name, host->name);
	return SIZE_MAX;
}

size_t case_place_program(struct reader *c, struct origin origin, const char *name, size_t server,
			  size_t copy)
{
	const struct topology *topology = &c->scenario->topology;
	if (!name[0])
		return server;
	bool spread = strcmp(name, "spread") == 0;
	size_t guest = spread ? spread_guest(topology, server, copy)
			      : find_guest(c, origin, "program's guest", name);
	if (guest == SIZE_MAX && spread)
		diag_error(c->diag, origin,
			   "program = \"spread\" needs a guest that serves no GPU, but every guest "
			   "serves one (write the name of a guest)");
	if (guest != SIZE_MAX && guest != server && !c->runtime)
		diag_error(c->diag, origin,
			   "the program runs in guest '%s', but guest '%s' serves its GPU, and no "
			   "runtime forwards the calls (write runtime = \"...\")",
			   topology->guests[guest].name, topology->guests[server].name);
	return guest;
}

/* Finds the client's GPUs, which follow each other in the topology, the guests that serve them, and
 * the guest of the program. Returns false after an error. */
static bool place(struct reader *c, struct job_entry *entry, const struct client_params *own,
		  size_t copy)
{
	const struct case_params *params = c->params;
	const struct topology *topology = &c->scenario->topology;
	size_t count = (size_t)case_replica_gpus(params);
	size_t *places = ARENA_ARRAY(c->arena, 3 * count, size_t);
	entry->rank_count = entry->simulated_count = count;
	entry->gpus = &places[0];
	entry->servers = &places[count];
	entry->guests = &places[2 * count];
	struct origin origin = own->gpu[0] ? entry->origin : case_origin_of(c, "case.gpu");
	places[0] = place_gpu(c, origin, own->gpu[0] ? own->gpu : params->gpu, copy * count);
	for (size_t i = 0; i < count; i++) {
		if (places[0] == SIZE_MAX)
			return false;
		places[i] = places[0] + i;
		if (places[i] >= topology->gpu_count)
			return diag_error(
				c->diag, origin,
				"%s: %zu GPUs from '%s' on are needed, but topology '%s' has only "
				"%zu (write a smaller number)",
				case_replica_key(params), count, topology->gpus[places[0]].name,
				topology->name, topology->gpu_count - places[0]);
		places[count + i] = case_place_server(
			c, own->server[0] ? entry->origin : case_origin_of(c, "case.server"),
			own->server[0] ? own->server : params->server, &topology->gpus[places[i]]);
		if (places[count + i] == SIZE_MAX)
			return false;
		places[2 * count + i] = case_place_program(
			c, own->program[0] ? entry->origin : case_origin_of(c, "case.program"),
			own->program[0] ? own->program : params->program, places[count + i], copy);
		if (places[2 * count + i] == SIZE_MAX)
			return false;
	}
	return true;
}

static void fill_client(struct reader *c, struct job_entry *client, const struct client_params *own,
			size_t copy)
{
	if (!place(c, client, own, copy))
		return;
	const char *model = own->model[0] ? own->model : c->params->model;
	client->batch_count = own->batch_count > 0 ? own->batch_count : c->params->batch_count;
	client->fraction_ratio =
		own->fraction_ratio > 0 ? own->fraction_ratio : c->params->fraction_ratio;
	client->memory_ratio = own->memory_fraction_ratio > 0 ? own->memory_fraction_ratio
			       : c->params->memory_fraction_ratio > 0
				       ? c->params->memory_fraction_ratio
				       : client->fraction_ratio;
	client->role = own->role;
	if (c->params->prefill_count > 0)
		client->role = (double)copy < c->params->prefill_count ? ROLE_PREFILL : ROLE_DECODE;
	client->runtime = c->runtime;
	client->transport = c->transport;
	client->transport_params = c->transport_params;
	if (c->recorded) {
		case_calls_client(c, client, own->batch_count, own->model);
		return;
	}
	if (case_has_kernel(c)) {
		case_kernel_client(c, client);
		return;
	}
	/* The checks of the network are those of the client's stack. */
	const struct stack_params *stack = c->stack;
	const char *stack_name = c->params->stack;
	if (own->stack[0]) {
		c->stack = case_client_stack(c, client, own->stack);
		c->params->stack = own->stack;
	}
	client->stack = c->stack;
	client->stack_name = c->params->stack;
	case_model(c, client, own->model[0] ? client->origin : case_origin_of(c, "case.model"),
		   model);
	c->stack = stack;
	c->params->stack = stack_name;
}

static bool name_is_free(struct reader *c, const struct job_entry *client)
{
	const struct job_entry *other = c->scenario->jobs;
	while (other != client && strcmp(other->name, client->name) != 0)
		other++;
	if (other != client)
		diag_error(c->diag, client->origin,
			   "client '%s': another client has this name (choose a unique name)",
			   client->name);
	return other == client;
}

/* Returns true if the GPU can be split by MIG ("Supported GPUs" of the MIG User Guide): A100, A30
 * and the Hopper and Blackwell generations, but not Ada, nor GPUs of Ampere with GDDR memory. */
static bool has_instances(const struct gpu_params *gpu)
{
	enum { HBM_BITS = 1024 }; /* of one stack */
	bool gddr = gpu->memory_bus_count > 0 && gpu->memory_bus_count < HBM_BITS;
	return gpu->generation == GENERATION_AMPERE ? !gddr : gpu->generation >= GENERATION_HOPPER;
}

static void check_instances(struct reader *c)
{
	const struct topology *topology = &c->scenario->topology;
	for (size_t g = 0; g < topology->gpu_count; g++) {
		double compute = 0, memory = 0;
		for (size_t i = 0; i < c->scenario->job_count; i++) {
			const struct job_entry *client = &c->scenario->jobs[i];
			bool here = client->rank_count > 0 && client->gpus[0] == g;
			compute += here ? client->fraction_ratio : 0;
			memory += here ? client->memory_ratio : 0;
		}
		const struct gpu_entry *gpu = &topology->gpus[g];
		if (compute == 0 || gpu->params.sharing != SHARING_MIG)
			continue;
		if (!has_instances(&gpu->params))
			case_error(c,
				   case_setting_or(
					   c,
					   arena_printf(c->arena, "gpu.%s.sharing", gpu->profile),
					   "case.gpu"),
				   "GPU '%s' (%s) cannot be split by MIG, which A30, A100 and "
				   "GPUs from Hopper on have (write gpu.*.sharing=mps or "
				   "time_slices)",
				   gpu->name, gpu->profile);
		else if (fmax(compute, memory) > 1 + 1e-9)
			case_error(c, "case.fraction",
				   "GPU '%s' is split by MIG, but its clients together have %g of "
				   "its SMs and %g of its memory (write a smaller case.fraction "
				   "and case.memory_fraction)",
				   gpu->name, compute, memory);
	}
}

void case_read_clients(struct reader *c)
{
	const struct cfg_node *list = cfg_child(c->group, "clients");
	size_t listed = list ? cfg_count(list) : 1, copies = (size_t)c->params->copies_count;
	if (list && (!cfg_is_list(list) || listed == 0)) {
		diag_error(c->diag, cfg_origin(list),
			   "case: clients must be a list of groups (write clients = ( { batch = "
			   "64; } ))");
		return;
	}
	size_t count = listed * copies;
	if (count > CLIENTS_MAX) {
		case_error(c, "case.copies",
			   "case: there are more than %d clients (reduce case.copies or the list "
			   "clients)",
			   CLIENTS_MAX);
		return;
	}
	struct job_entry *clients = ARENA_ARRAY(c->arena, count + 1, struct job_entry);
	c->scenario->jobs = clients;
	for (size_t i = 0; i < count; i++) {
		const struct cfg_node *group = list ? cfg_at(list, i % listed) : NULL;
		struct client_params own = {
			.program = "", .server = "", .gpu = "", .model = "", .stack = ""};
		const char *name = cfg_text(cfg_child(group, "name"));
		if (!name)
			name = count > 1 ? arena_printf(c->arena, "client%zu", i) : "client";
		else if (copies > 1)
			name = arena_printf(c->arena, "%s.%zu", name, i / listed);
		clients[i].name = name;
		clients[i].origin = group ? cfg_origin(group) : case_origin(c);
		if (!reader_name(c, clients[i].origin, "client", name) ||
		    !name_is_free(c, &clients[i]))
			continue;
		if (!group || reader_item(c, group, "client", name, name, &client_table,
					  CFG_KEYS("name"), &own))
			fill_client(c, &clients[i], &own, i);
	}
	c->scenario->job_count = count;
	check_instances(c);
}
