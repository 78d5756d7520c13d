/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads cases of one job whose programs are simulated call by call on several GPUs: GPUs behind
 * a remoting runtime, ranks of a plan, and ranks that replay a recording. */
#include "sim/scenario/case.h"

static bool sets(const char *text, const char *group)
{
	size_t length = strlen(group);
	return text && strncmp(text, group, length) == 0 && text[length] == '.';
}

bool case_find_keys(const struct reader *c, const char *group, struct origin *origin)
{
	const struct cfg_node *list = cfg_child(c->group, "settings");
	const struct cfg_node *node = cfg_child(c->file, group);
	const struct setting *setting = NULL;
	for (size_t i = 0; i < c->request->setting_count && !setting; i++)
		if (sets(c->request->settings[i].text, group))
			setting = &c->request->settings[i];
	for (size_t i = cfg_count(list); i-- > 0;)
		if (sets(cfg_text(cfg_at(list, i)), group))
			node = cfg_at(list, i);
	if (origin)
		*origin = setting ? setting->origin : cfg_origin(node);
	return setting || node;
}

bool case_has_plan(const struct reader *c)
{
	return case_find_keys(c, "plan", NULL);
}

bool case_has_ranks(const struct reader *c)
{
	const struct case_params *params = c->params;
	bool called = strcmp(params->runtime, "none") != 0 || params->calls[0] || case_has_plan(c);
	return params->gpus_count > 0 && called && !params->collective[0] &&
	       !cfg_child(c->group, "jobs");
}

static void refuse(struct reader *c, const char *key, bool given, const char *why)
{
	if (given)
		case_error(c, key, "%s %s", key, why);
}

static void plan_fits(struct reader *c, size_t programs)
{
	const struct case_params *params = c->params;
	refuse(c, "case.batch", case_gives(c, "case.batch"),
	       "has no effect on a plan (write plan.micro_batch and plan.global_batch)");
	refuse(c, "stack.xla_clusters", c->stack && c->stack->xla_clusters_count > 0,
	       "has no effect on a plan, because XLA fuses ops across layers (choose another "
	       "case.stack)");
	refuse(c, "case.calls", params->calls[0],
	       "cannot be combined with a plan, because a recording cannot be split (leave one of "
	       "them out)");
	refuse(c, "case.programs", (double)programs < params->gpus_count,
	       "must equal case.gpus with a plan, because each GPU is a rank");
}

/* Says why a setting of data-parallel jobs has no effect. */
static const char *no_use_words(const struct reader *c)
{
	return case_has_plan(c)      ? "has no effect on a plan (leave it out)"
	       : c->params->calls[0] ? "has no effect on a recording (leave it out)"
				     : "cannot be combined with a remoting runtime "
				       "(leave one of them out)";
}

/* Reports an error for each setting that these jobs do not use. `programs` is their number of
 * ranks. */
static bool settings_fit(struct reader *c, size_t programs)
{
	enum { SYMMETRY, STRAGGLER, STEPS }; /* a plan uses these */
	static const char *const others[] = {"case.symmetry", "case.straggler", "case.job_steps",
					     "case.guest", "case.collective_size"};
	const struct case_params *params = c->params;
	size_t before = diag_count(c->diag);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		refuse(c, others[i],
		       case_gives(c, others[i]) && !(i <= STEPS && case_has_plan(c)) &&
			       !(i == SYMMETRY && params->calls[0]),
		       no_use_words(c));
	refuse(c, "case.copies", params->copies_count != 1,
	       "must be 1 with case.gpus, because one job uses all the GPUs");
	refuse(c, "case.fraction", params->fraction_ratio != 1,
	       "must be 1 with case.gpus, because each rank uses its whole GPU");
	refuse(c, "case.gpu", params->gpu[0] != 0,
	       "cannot be combined with case.gpus, because the job takes the topology's first GPUs "
	       "(leave it out)");
	refuse(c, "case.server", params->server[0] != 0,
	       "cannot be combined with case.gpus, because the first guest of each GPU's host "
	       "serves it (leave it out)");
	const struct cfg_node *clients = cfg_child(c->group, "clients");
	if (clients)
		diag_error(c->diag, cfg_origin(clients),
			   "case: clients cannot be combined with case.gpus (write a separate case "
			   "for each client)");
	refuse(c, "case.programs", (double)programs < params->gpus_count && params->calls[0],
	       "must equal case.gpus with a recording, whose program uses one GPU");
	if (case_has_plan(c))
		plan_fits(c, programs);
	size_t nearest = programs;
	while ((size_t)params->gpus_count % nearest)
		nearest--;
	if (nearest < programs)
		case_error(c, "case.programs",
			   "case.programs: %g GPUs cannot be divided evenly into %zu parts (write "
			   "case.programs=%zu)",
			   params->gpus_count, programs, nearest);
	return diag_count(c->diag) == before;
}

void case_plan_want(struct reader *c)
{
	struct plan_params *params = ARENA_NEW(c->arena, struct plan_params);
	if (!reader_params(c, cfg_child(c->file, "plan"), "plan", "plan", &plan_table, params))
		return;
	c->plan_params = params;
	c->group_sizes[0] = (size_t)params->ep_count;
	if (strncmp(params->order, "tp", 2) == 0)
		c->group_sizes[1] = (size_t)params->tp_count;
	if (strncmp(params->order, "tp-cp", 5) == 0)
		c->group_sizes[2] = (size_t)(params->tp_count * params->cp_count);
}

/* Sets gpus[count] to the topology's first GPUs, of each machine as many as jobs use. Returns false
 * if there are too few. */
static bool take_gpus(const struct reader *c, size_t count, size_t *gpus)
{
	const struct topology *topology = &c->scenario->topology;
	size_t taken = 0, use = 0, found = 0;
	for (size_t i = 0; i < topology->gpu_count && found < count; i++) {
		if (i == 0 || topology->gpus[i].host != topology->gpus[i - 1].host) {
			size_t end = i;
			while (end < topology->gpu_count &&
			       topology->gpus[end].host == topology->gpus[i].host)
				end++;
			use = reader_gpus_used(c, end - i);
			taken = 0;
		}
		if (taken++ < use)
			gpus[found++] = i;
	}
	return found == count;
}

static bool place_ranks(struct reader *c, struct job_entry *entry, size_t programs)
{
	const struct topology *topology = &c->scenario->topology;
	size_t all = (size_t)c->params->gpus_count, each = all / programs;
	size_t count = topology->fold ? topology->fold->simulated_count : all;
	size_t *places = ARENA_ARRAY(c->arena, 3 * count, size_t);
	if (topology->gpu_count < count)
		return case_error(
			c, "case.gpus",
			"case.gpus is %zu, but topology '%s' has %zu GPUs%s (write case.gpus=%zu)",
			count, topology->name, topology->gpu_count, case_failed_words(c),
			topology->gpu_count);
	if (!take_gpus(c, count, places)) {
		if (c->gpus_per_machine_wanted)
			return case_error(
				c, "case.gpus_per_machine",
				"case.gpus_per_machine is %zu, with which topology '%s' has fewer "
				"than the %zu GPUs of case.gpus (write a larger number, or fewer "
				"GPUs)",
				c->gpus_per_machine_wanted, topology->name, count);
		for (size_t i = 0; i < count; i++)
			places[i] = i;
	}
	entry->rank_count = all;
	entry->simulated_count = count;
	entry->program_count = programs;
	entry->gpus = &places[0];
	entry->servers = &places[count];
	entry->guests = &places[2 * count];
	for (size_t i = 0; i < count; i++) {
		places[count + i] = case_place_server(c, case_origin_of(c, "case.server"), "",
						      &topology->gpus[places[i]]);
		if (places[count + i] == SIZE_MAX)
			return false;
		size_t first = count + i / each * each; /* the program's first GPU */
		places[2 * count + i] =
			case_place_program(c, case_origin_of(c, "case.program"), c->params->program,
					   places[first], i / each);
		if (places[2 * count + i] == SIZE_MAX)
			return false;
	}
	return true;
}

static bool fill_spread(struct reader *c, struct job_entry *entry)
{
	struct spread_params *spread = ARENA_NEW(c->arena, struct spread_params);
	const struct library_params *library = entry->library;
	bool servers = library_has_servers(library);
	if (servers && (!library->server_on_cpu || entry->program_count > 1))
		return case_error(
			c, "case.exchange",
			"exchange '%s' keeps variables on servers; programs that are simulated "
			"call by call support that only on the host of a single program (write "
			"case.programs=1 and library.server_on_cpu=true, or choose another "
			"exchange)",
			c->params->exchange);
	*spread = (struct spread_params){
		.device_count = entry->rank_count / entry->program_count,
		.exchange = entry->exchange,
		.element_B = entry->stack->fp16_gradients ? 2 : 4,
		.on_cpu = servers,
		.cpu_Bps = library->cpu_reduce_Bps * library->cpu_reduce_threads_count,
	};
	entry->spread = spread;
	return true;
}

const char *case_plan_too_large(const struct reader *c, const struct training_plan *plan,
				size_t simulated_count)
{
	static const double least = 1e8; /* a smaller limit ends the run */
	const struct training_plan shorter = plan_shorter(plan, 0);
	return plan_too_large(c->arena, &shorter, simulated_count,
			      fmax(least, (double)c->scenario->events_max));
}

void case_plan_refused(struct reader *c, const char *why)
{
	struct origin origin;
	bool given = case_find_keys(c, "plan", &origin);
	diag_error(c->diag, given ? origin : case_origin(c), "plan: %s", why);
}

size_t job_machine_gpus(const struct scenario *scenario, const struct job_entry *entry)
{
	size_t machines = scenario->topology.host_count;
	return (entry->simulated_count + machines - 1) / machines;
}

/* Adds the nearest possible plan to the reasons why one is impossible. */
static const char *with_nearest(struct reader *c, const struct job_entry *entry,
				const struct plan_params *params, const char *why)
{
	const struct near_request request = {
		.network = entry->network,
		.stack = entry->stack,
		.params = params,
		.rank_count = entry->rank_count,
		.tensor_most = job_machine_gpus(c->scenario, entry),
		.memory_most_B = INFINITY,
	};
	const char *changes = plan_near(c->arena, &request);
	return changes ? arena_printf(c->arena, "%s; the nearest possible plan: --plan %s", why,
				      changes)
		       : why;
}

static bool fill_plan(struct reader *c, struct job_entry *entry)
{
	const struct plan_params *params = c->plan_params;
	const char *why;
	entry->plan = plan_new(c->arena, entry->network, params, entry->rank_count, &why);
	if (!entry->plan)
		why = with_nearest(c, entry, params, why);
	else
		why = case_plan_too_large(c, entry->plan, entry->simulated_count);
	if (why) {
		case_plan_refused(c, why);
		return false;
	}
	entry->batch_count = plan_batch(entry->plan) / (double)entry->rank_count;
	return true;
}

/* Completes a plan, a recording's ranks, or the exchange of other programs. Returns false after an
 * error. */
static bool fill_programs(struct reader *c, struct job_entry *entry)
{
	bool plan = case_has_plan(c);
	if ((plan || entry->recorded) && library_has_servers(entry->library))
		return case_error(c, "case.exchange",
				  "exchange '%s' keeps variables on servers, which a %s does not "
				  "use (write an exchange without servers, for example nccl-2.18)",
				  c->params->exchange, plan ? "plan" : "recording");
	if (plan)
		return fill_plan(c, entry);
	if (entry->recorded && !recorded_calls_peers(entry->recorded->calls))
		return case_error(
			c, "case.calls",
			"case.calls: the recording contains no collective whose size is known, so "
			"its ranks would not communicate (leave case.gpus out, or record a rank "
			"of a job)");
	return entry->recorded || fill_spread(c, entry);
}

/* Gives the first rank's GPU the part of its rate with which it computes as long as a straggler. */
static void slow_straggler(struct reader *c, struct job_entry *entry)
{
	struct topology *t = &c->scenario->topology;
	entry->straggler_ratio = c->params->straggler_ratio;
	if (!entry->plan || !(entry->straggler_ratio > 1))
		return;
	struct gpu_entry *gpus = ARENA_ARRAY(c->arena, t->gpu_count, struct gpu_entry);
	memcpy(gpus, t->gpus, t->gpu_count * sizeof *gpus);
	struct gpu_entry *slow = &gpus[entry->gpus[0]];
	slow->lost_ratio = 1 - (1 - slow->lost_ratio) / entry->straggler_ratio;
	t->gpus = gpus;
}

bool case_has_run(const struct reader *c)
{
	return case_has_ranks(c) && case_has_plan(c) &&
	       (c->params->tokens_count > 0 || c->params->job_steps_count > 0);
}

/* Reads how the whole run of a plan fails and continues, if the case says how long it is. */
static void read_run(struct reader *c, struct job_entry *entry)
{
	struct longrun_params *run = ARENA_NEW(c->arena, struct longrun_params);
	if (!case_has_run(c) ||
	    !reader_params(c, cfg_child(c->file, "run"), "run", "run", &longrun_table, run))
		return;
	c->scenario->run = run;
	entry->checkpoint = case_storage(c, case_origin_of(c, "run.checkpoint_storage"),
					 run->checkpoint_storage, "checkpoint_storage");
}

void case_read_ranks(struct reader *c)
{
	struct job_entry *entry = ARENA_NEW(c->arena, struct job_entry);
	size_t programs = (size_t)c->params->programs_count;
	if (programs == 0)
		programs = (size_t)c->params->gpus_count;
	*entry = (struct job_entry){.name = "job",
				    .origin = case_origin(c),
				    .batch_count = c->params->batch_count,
				    .fraction_ratio = 1,
				    .runtime = c->runtime,
				    .model = c->params->model,
				    .stack = c->stack};
	c->scenario->jobs = entry;
	c->scenario->job_count = 1;
	if (!settings_fit(c, programs) || !place_ranks(c, entry, programs))
		return;
	if (c->recorded)
		case_calls_client(c, entry, 0, "");
	else
		case_read_model(c, 0, entry);
	case_find_exchange(c, 0, entry);
	if (diag_count(c->diag) > 0)
		return;
	entry->transport = c->transport;
	entry->transport_params = c->transport_params;
	if (!fill_programs(c, entry))
		return;
	slow_straggler(c, entry);
	read_run(c, entry);
}
