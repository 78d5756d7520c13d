/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the data-parallel jobs of a case: their GPUs, guests, exchange and input. */
#include "sim/collective/constants.h"
#include "sim/collective/msccl.h"
#include "sim/scenario/case.h"

/* Settings of one job in a list. "" and 0 mean the setting of the case. */
struct job_params {
	const char *model, *guest, *exchange, *input;
	double batch_count, gpus_count, first_gpu_count, gpus_per_machine_count;
};
static const struct param_row job_rows[] = {
	PARAM_TEXT(struct job_params, model, "",
		   "neural network of this job; empty means case.model"),
	PARAM_TEXT(struct job_params, guest, "",
		   "guest of each machine in which this job runs; empty means case.guest"),
	PARAM_TEXT(struct job_params, exchange, "",
		   "exchange of gradients in this job; empty means case.exchange"),
	PARAM_TEXT(struct job_params, input, "",
		   "source of this job's input data, as in input.source; empty means input.source"),
	PARAM_WHOLE(struct job_params, batch_count, 0, 1e6, "0",
		    "batch size of this job: samples of a step on each GPU; 0 means case.batch"),
	PARAM_WHOLE(struct job_params, gpus_count, 0, 131072, "0",
		    "number of GPUs of this job; 0 means case.gpus"),
	PARAM_WHOLE(struct job_params, first_gpu_count, -1, 131071, "-1",
		    "index of the job's first GPU in the topology, from 0; -1 means the GPU after "
		    "the previous job's"),
	PARAM_WHOLE(
		struct job_params, gpus_per_machine_count, 0, 1024, "0",
		"number of GPUs that this job uses in each machine; 0 means case.gpus_per_machine"),
};
static const struct param_table job_table = PARAM_TABLE("job", struct job_params, job_rows);

struct job_request {
	const char *name;
	struct origin origin;
	struct job_params own;
	size_t first_gpu, gpu_count, per_machine;
};

bool case_is_job(const struct reader *c)
{
	if (case_has_ranks(c))
		return false;
	return c->params->gpus_count > 0 || c->params->collective[0] ||
	       cfg_child(c->group, "jobs") != NULL;
}

static bool read_job(struct reader *c, const struct cfg_node *group, size_t index,
		     struct job_request *job)
{
	const char *name = cfg_text(cfg_child(group, "name"));
	*job = (struct job_request){.name = name ? name : arena_printf(c->arena, "job%zu", index),
				    .origin = group ? cfg_origin(group) : case_origin(c),
				    .own = {.model = "",
					    .guest = "",
					    .exchange = "",
					    .input = "",
					    .first_gpu_count = -1}};
	if (!reader_name(c, job->origin, "job", job->name))
		return false;
	for (size_t i = 0; i < index; i++)
		if (strcmp(c->jobs[i].name, job->name) == 0)
			return diag_error(
				c->diag, job->origin,
				"job '%s': another job has this name (choose a unique name)",
				job->name);
	return !group || reader_item(c, group, "job", job->name, job->name, &job_table,
				     CFG_KEYS("name"), &job->own);
}

void case_jobs_want(struct reader *c)
{
	const struct cfg_node *list = cfg_child(c->group, "jobs");
	if (list && (!cfg_is_list(list) || cfg_count(list) == 0)) {
		diag_error(c->diag, cfg_origin(list),
			   "case: jobs must be a list of groups (write jobs = ( { gpus = 4; } ))");
		return;
	}
	c->job_count = list ? cfg_count(list) : 1;
	c->jobs = ARENA_ARRAY(c->arena, c->job_count, struct job_request);
	size_t next = 0;
	bool unused = list != NULL; /* case.gpus is */
	for (size_t i = 0; i < c->job_count; i++) {
		struct job_request *job = &c->jobs[i];
		if (!read_job(c, list ? cfg_at(list, i) : NULL, i, job))
			continue;
		const struct job_params *own = &job->own;
		unused &= own->gpus_count > 0;
		double gpus = own->gpus_count > 0 ? own->gpus_count : c->params->gpus_count;
		job->gpu_count = gpus > 1 ? (size_t)gpus : 1;
		job->per_machine = (size_t)(own->gpus_per_machine_count > 0
						    ? own->gpus_per_machine_count
						    : c->params->gpus_per_machine_count);
		bool given = own->first_gpu_count >= 0;
		job->first_gpu = given ? (size_t)own->first_gpu_count : 0;
		c->may_fold &= job->first_gpu == 0;
		next = (given ? job->first_gpu : next) + job->gpu_count;
		if (next > c->gpus_wanted)
			c->gpus_wanted = next;
		if (job->per_machine &&
		    (!c->gpus_per_machine_wanted || job->per_machine < c->gpus_per_machine_wanted))
			c->gpus_per_machine_wanted = job->per_machine;
	}
	if (unused && c->params->gpus_count > 0)
		diag_error(c->diag, case_origin_of(c, "case.gpus"),
			   "case.gpus has no effect, because each job states its own number (write "
			   "--set job.%s.gpus=%g)",
			   c->jobs[0].name, c->params->gpus_count);
}

bool case_job_shares(const struct reader *c)
{
	bool several = c->params->gpus_count > 1 || case_has_plan(c);
	for (size_t i = 0; i < c->job_count; i++)
		several |= c->jobs[i].gpu_count > 1;
	return several;
}

/* ---- places ---- */

/* Returns the guest of that host whose name is `name`, or in a cluster ends in ".name". With ""
 * it returns the host's first guest. Returns SIZE_MAX if there is none. */
static size_t guest_on(const struct topology *topology, size_t host, const char *name)
{
	size_t i = topology->hosts[host].first_guest;
	for (; name[0] && i != SIZE_MAX; i = topology->guests[i].next_guest) {
		const char *own = topology->guests[i].name, *dot = strchr(own, '.');
		if (strcmp(own, name) == 0 || (dot && strcmp(dot + 1, name) == 0))
			break;
	}
	return i;
}

/* Returns the job before `end` that holds that GPU; NULL: the GPU is free. */
static const struct job_entry *holder(const struct reader *c, const struct job_entry *end,
				      size_t gpu)
{
	for (const struct job_entry *entry = c->scenario->jobs; entry != end; entry++) {
		/* the job's GPUs are in ascending order */
		size_t from = 0, to = entry->simulated_count;
		while (from < to) {
			size_t middle = from + (to - from) / 2;
			if (entry->gpus[middle] < gpu)
				from = middle + 1;
			else
				to = middle;
		}
		if (from < entry->simulated_count && entry->gpus[from] == gpu)
			return entry;
	}
	return NULL;
}

static void no_guest(struct reader *c, struct origin origin, const struct job_request *job,
		     const struct host_entry *host, const char *guest)
{
	if (host->first_guest == SIZE_MAX)
		diag_error(c->diag, origin,
			   "job '%s': machine '%s' has no guest (write guests = ( { name = ...; "
			   "host = \"%s\"; } ) into the topology)",
			   job->name, host->name, host->name);
	else
		diag_error(c->diag, origin,
			   "job '%s': machine '%s' has no guest '%s' (write guest = \"%s\")",
			   job->name, host->name, guest,
			   c->scenario->topology.guests[host->first_guest].name);
}

/* Takes the free GPUs from the job's first one on, at most per_machine on each machine. Jobs
 * that use a part of each machine therefore share the machines. */
static bool place(struct reader *c, const struct job_request *job, struct job_entry *entry)
{
	const struct topology *topology = &c->scenario->topology;
	const char *guest = job->own.guest[0] ? job->own.guest : c->params->guest;
	struct origin origin = job->own.guest[0] ? job->origin : case_origin_of(c, "case.guest");
	const struct fold *fold =
		topology->fold; /* with a fold there is only one job, which uses all machines */
	size_t wanted = fold ? fold->simulated_count : job->gpu_count;
	size_t *gpus = ARENA_ARRAY(c->arena, wanted, size_t);
	size_t *guests = ARENA_ARRAY(c->arena, wanted, size_t);
	size_t count = 0, taken = 0;
	for (size_t i = job->first_gpu; i < topology->gpu_count && count < wanted; i++) {
		size_t host = topology->gpus[i].host;
		if (i > job->first_gpu && host != topology->gpus[i - 1].host)
			taken = 0;
		if (job->per_machine && taken == job->per_machine)
			continue;
		const struct job_entry *other = holder(c, entry, i);
		if (other && i == job->first_gpu && job->own.first_gpu_count >= 0)
			return diag_error(
				c->diag, job->origin,
				"job '%s' begins at GPU %zu, but job '%s' holds that GPU (write "
				"another first_gpu)",
				job->name, i, other->name);
		if (other)
			continue;
		gpus[count] = i;
		guests[count] = guest_on(topology, host, guest);
		if (guests[count] == SIZE_MAX) {
			no_guest(c, origin, job, &topology->hosts[host], guest);
			return false;
		}
		taken++;
		count++;
	}
	if (count < wanted)
		return diag_error(
			c->diag, job->origin,
			"job '%s' needs %zu GPUs from index %zu on, but topology '%s' has %zu "
			"GPUs%s, of which the job can use %zu (write %s%zu%s)",
			job->name, job->gpu_count, job->first_gpu, topology->name,
			topology->gpu_count, case_failed_words(c), count,
			count ? "gpus=" : "a topology with more GPUs than ", count,
			job->per_machine ? " or a larger gpus_per_machine" : "");
	entry->gpus = gpus;
	entry->guests = entry->servers = guests;
	entry->rank_count = job->gpu_count;
	entry->simulated_count = count;
	return true;
}

/* ---- exchange and input ---- */

/* Returns the path of a job's group: "exchange", or "exchange.<job>" if the job names its own
 * file. */
static const char *prefix(struct reader *c, const char *what, const struct job_request *job,
			  bool own)
{
	return own ? arena_printf(c->arena, "%s.%s", what, job->name) : what;
}

/* Checks that the library has the algorithm `name` and that it does an all-reduce, or the
 * collective of the benchmark. Returns false after an error. */
static bool algorithm_fits(struct reader *c, struct origin origin, const char *name)
{
	const struct algorithm *algorithm = algorithm_find(name);
	enum collective chosen = c->scenario->collective;
	if (strcmp(name, "auto") == 0)
		return true;
	if (algorithm &&
	    (algorithm->collective == COLLECTIVE_ALL_REDUCE || algorithm->collective == chosen))
		return true;
	if (algorithm)
		return diag_error(
			c->diag, origin,
			"library.algorithm: '%s' cannot do the collective %s (`farwire list "
			"algorithms` shows which algorithms can)",
			name, collective_name(chosen));
	return diag_error(c->diag, origin, "library: %s",
			  registry_unknown(c->arena, &algorithm_registry, name, "auto"));
}

/* Reads library.msccl, which must fit the job's ranks, and checks that library.protocol is allowed
 * by library.ll128. The groups of a plan differ in size: those of another size do not use the file.
 * `path` is the group's path. */
static bool library_fits(struct reader *c, const char *path, size_t rank_count,
			 struct library_params *library)
{
	struct arena *arena = c->arena;
	if (!algorithm_fits(c, case_origin_of(c, arena_printf(arena, "%s.algorithm", path)),
			    library->algorithm))
		return false;
	struct origin file = case_origin_of(c, arena_printf(arena, "%s.msccl", path));
	if (library->msccl[0]) {
		library->script =
			msccl_read(arena, c->diag, file, case_file_path(c, file, library->msccl));
		if (!library->script)
			return false;
		if (c->params->collective[0] &&
		    library->script->collective != c->scenario->collective)
			return diag_error(c->diag, file,
					  "%s.msccl: the file has an algorithm of %s, not of %s "
					  "(write case.collective=%s)",
					  path, collective_name(library->script->collective),
					  collective_name(c->scenario->collective),
					  collective_name(library->script->collective));
		size_t script_ranks = library->script->schedule->rank_count;
		if (script_ranks != rank_count && !case_has_plan(c))
			return diag_error(c->diag, file,
					  "%s.msccl: '%s' has the steps of %zu GPUs, but the job "
					  "has %zu (write case.gpus=%zu, or another file)",
					  path, library->msccl, script_ranks, rank_count,
					  script_ranks);
	}
	if (library->protocol != CHOOSE_LL128 || library->ll128)
		return true;
	return case_error(
		c, arena_printf(arena, "%s.protocol", path),
		"%s.protocol is ll128, but %s.ll128 is false (write %s.ll128=true, or another "
		"protocol: auto, ll, simple)",
		path, path, path);
}

/* Reads the constants of collectives for the generations of all GPUs, because jobs share an
 * exchange. They are read once in a case. There are none before Ampere. */
static void read_constants(struct reader *c, struct library_params *library)
{
	const struct topology *topology = &c->scenario->topology;
	for (size_t i = 0; i < topology->gpu_count; i++) {
		int generation = topology->gpus[i].params.generation;
		const struct collective_constants **known = &c->collectives[generation];
		if (generation < GENERATION_AMPERE || !library->by_generation)
			continue;
		if (!*known) {
			struct collective_constants *constants =
				ARENA_NEW(c->arena, struct collective_constants);
			const char *prefix =
				arena_printf(c->arena, "collectives.%s",
					     gpu_generation_name((enum gpu_generation)generation));
			reader_params(c, NULL, prefix, prefix, &collective_table, constants);
			*known = constants;
		}
		library->constants[generation] = *known;
	}
}

const struct library_params *case_library_experts(struct reader *c, const char *path,
						  const struct library_params *library,
						  const struct network *network)
{
	const char *top = arena_printf(c->arena, "%s.experts_top", path);
	if (!network || network_expert_top(network) == 0 ||
	    cfg_param_find(c->resolution, top)->source != CFG_SOURCE_DEFAULT)
		return library;
	struct library_params *own = ARENA_NEW(c->arena, struct library_params);
	*own = *library;
	own->experts_top_count = (double)network_expert_top(network);
	return own;
}

static bool read_exchange(struct reader *c, const struct job_request *job, struct job_entry *entry,
			  const char *name, bool own)
{
	const struct cfg_node *file;
	const struct cfg_node *node =
		case_group(c, own ? job->origin : case_origin_of(c, "case.exchange"),
			   "models/exchanges", "exchange", name, "exchange", &file);
	if (!node && exchange_policy_find(name))
		return diag_error(c->diag, case_origin_of(c, "case.exchange"),
				  "'%s' is a policy of exchanges (write --set exchange.policy=%s)",
				  name, name);
	if (!node)
		return false;
	const char **known = ARENA_ARRAY(c->arena, 2 + transport_kind_count(), const char *);
	size_t known_count = 0;
	known[known_count++] = "exchange";
	known[known_count++] = "library";
	for (size_t i = 0; i < transport_kind_count(); i++)
		if (!transport_kind_at(i)->one_host)
			known[known_count++] = transport_kind_at(i)->name;
	cfg_only(c->diag, file, known, known_count);
	struct exchange_params *exchange = ARENA_NEW(c->arena, struct exchange_params);
	struct library_params *library = ARENA_NEW(c->arena, struct library_params);
	const char *thing = arena_printf(c->arena, "exchange '%s'", name);
	bool fine = reader_params(c, node, prefix(c, "exchange", job, own), thing, &exchange_table,
				  exchange);
	const char *path = prefix(c, "library", job, own);
	fine &= reader_params(c, cfg_child(file, "library"), path,
			      arena_printf(c->arena, "library of exchange '%s'", name),
			      &library_table, library);
	if (fine && library->rules == RULES_NCCL)
		read_constants(c, library);
	fine = fine && library_fits(c, path, entry->rank_count, library);
	if (!c->transport)
		case_transport(c, file);
	entry->exchange = exchange;
	entry->library = case_library_experts(c, path, library, entry->network);
	return fine;
}

static bool read_input(struct reader *c, const struct job_request *job, struct job_entry *entry,
		       bool own)
{
	struct input_params *input = ARENA_NEW(c->arena, struct input_params);
	if (!reader_params(c, cfg_child(c->file, "input"), prefix(c, "input", job, own), "input",
			   &input_table, input))
		return false;
	if (own)
		input->source = job->own.input;
	entry->input = input;
	return true;
}

const struct storage_params *case_storage(struct reader *c, struct origin origin, const char *name,
					  const char *prefix)
{
	const struct cfg_node *file;
	const struct cfg_node *node =
		case_group(c, origin, "models/storages", "storage", name, "storage", &file);
	struct storage_params *storage = ARENA_NEW(c->arena, struct storage_params);
	if (!node)
		return NULL;
	reader_params(c, node, prefix, arena_printf(c->arena, "storage '%s'", name), &storage_table,
		      storage);
	return storage;
}

static void read_storage(struct reader *c, const struct job_request *job, struct job_entry *entry,
			 bool own)
{
	const char *source = entry->input->source;
	if (strcmp(source, "gpu") != 0 && strcmp(source, "host") != 0)
		entry->storage =
			case_storage(c, own ? job->origin : case_origin_of(c, "input.source"),
				     source, prefix(c, "storage", job, own));
}

void case_read_model(struct reader *c, size_t index, struct job_entry *entry)
{
	const struct job_request *job = &c->jobs[index];
	const struct topology *topology = &c->scenario->topology;
	const char *profile = topology->gpus[entry->gpus[0]].profile;
	for (size_t i = 1; i < entry->simulated_count; i++)
		if (strcmp(topology->gpus[entry->gpus[i]].profile, profile) != 0) {
			diag_error(c->diag, job->origin,
				   "job '%s': its GPUs have two profiles, '%s' and '%s', but all "
				   "must have the same (choose another first_gpu or fewer gpus)",
				   job->name, profile, topology->gpus[entry->gpus[i]].profile);
			return;
		}
	case_model(c, entry, job->own.model[0] ? job->origin : case_origin_of(c, "case.model"),
		   entry->model);
}

/* ---- the whole job ---- */

static const char *exchange_name(const struct reader *c, size_t job)
{
	const char *own = c->jobs[job].own.exchange;
	return own[0] ? own : c->params->exchange;
}

/* Jobs with the same exchange share it: each file is read, and each parameter recorded, once. */
void case_find_exchange(struct reader *c, size_t index, struct job_entry *entry)
{
	const char *name = exchange_name(c, index);
	entry->exchange_name = name;
	for (size_t i = 0; i < index; i++) {
		const struct job_entry *other = &c->scenario->jobs[i];
		if (other->exchange && strcmp(exchange_name(c, i), name) == 0) {
			entry->exchange = other->exchange;
			entry->library = other->library;
			return;
		}
	}
	read_exchange(c, &c->jobs[index], entry, name, strcmp(name, c->params->exchange) != 0);
}

/* Jobs with the same input source share the storage and compete for it, even if their other
 * input settings differ. */
static void find_input(struct reader *c, size_t index, struct job_entry *entry)
{
	bool own = c->jobs[index].own.input[0];
	for (size_t i = 0; i < index && !own && !entry->input; i++)
		if (!c->jobs[i].own.input[0]) {
			entry->input = c->scenario->jobs[i].input;
			entry->storage = c->scenario->jobs[i].storage;
		}
	if (entry->input || !read_input(c, &c->jobs[index], entry, own))
		return;
	for (size_t i = 0; i < index && !entry->storage; i++) {
		const struct job_entry *other = &c->scenario->jobs[i];
		if (other->storage && strcmp(other->input->source, entry->input->source) == 0)
			entry->storage = other->storage;
	}
	if (!entry->storage)
		read_storage(c, &c->jobs[index], entry, own);
}

static void check_transport(struct reader *c, const struct job_entry *entry)
{
	const struct topology *topology = &c->scenario->topology;
	size_t first = topology->gpus[entry->gpus[0]].host;
	size_t last = topology->gpus[entry->gpus[entry->simulated_count - 1]].host;
	if (c->transport && first != last && c->transport->one_host)
		case_error(c, "case.transport",
			   "job '%s' uses several machines, which shared memory cannot connect "
			   "(write transport = \"auto\")",
			   entry->name);
}

static void fill_job(struct reader *c, size_t index, struct job_entry *entry)
{
	const struct job_request *job = &c->jobs[index];
	const struct job_params *own = &job->own;
	*entry = (struct job_entry){.name = job->name, .origin = job->origin};
	if (!place(c, job, entry))
		return;
	entry->batch_count = own->batch_count > 0 ? own->batch_count : c->params->batch_count;
	entry->model = own->model[0] ? own->model : c->params->model;
	entry->stack = c->stack;
	entry->straggler_ratio = c->params->straggler_ratio;
	case_read_model(c, index, entry);
	case_find_exchange(c, index, entry);
	check_transport(c, entry);
	entry->transport = c->transport;
	entry->transport_params = c->transport_params;
	find_input(c, index, entry);
}

/* ---- phases around the steps ---- */

/* Returns the storage of checkpoints: the one with that name from which a job reads, or else a
 * storage of its own. */
static const struct storage_params *
checkpoint_storage(struct reader *c, const struct job_entry *jobs, const char *name)
{
	for (size_t i = 0; i < c->job_count; i++)
		if (jobs[i].storage && strcmp(jobs[i].input->source, name) == 0)
			return jobs[i].storage;
	return case_storage(c, case_origin_of(c, "phases.checkpoint_storage"), name,
			    "checkpoint_storage");
}

/* Reads the phases of jobs around their steps, if the case asks for the time from launch to end. */
static void read_phases(struct reader *c, struct job_entry *jobs)
{
	const struct case_params *params = c->params;
	bool long_run = params->job_steps_count > 0 || params->epochs_count > 0;
	if (!long_run || c->scenario->style != JOBS_RANKS)
		return;
	if (params->job_steps_count > 0 && params->epochs_count > 0)
		case_error(c, "case.job_steps",
			   "case: case.job_steps and case.epochs both say how long the job is "
			   "(leave one of them out)");
	struct phases_params *phases = ARENA_NEW(c->arena, struct phases_params);
	if (!reader_params(c, c->stack_phases, "phases",
			   arena_printf(c->arena, "phases of stack '%s'", params->stack),
			   &phases_table, phases))
		return;
	c->scenario->phases = phases;
	if (!phases_has_checkpoints(phases))
		return;
	const struct storage_params *storage =
		checkpoint_storage(c, jobs, phases->checkpoint_storage);
	for (size_t i = 0; i < c->job_count; i++)
		jobs[i].checkpoint = storage;
}

/* ---- all jobs ---- */

/* Training uses an all-reduce of its gradients. */
static enum collective find_collective(struct reader *c)
{
	const char *name = c->params->collective;
	if (!name[0])
		return COLLECTIVE_ALL_REDUCE;
	const struct collective_kind *kind = collective_kind_find(name);
	if (kind)
		return kind->collective;
	case_error(c, "case.collective", "case: %s",
		   registry_unknown(c->arena, &collective_kind_registry, name, NULL));
	return COLLECTIVE_ALL_REDUCE;
}

/* Each pair of ranks has a route of about 3 kB, so this number of ranks needs about 3.5 GB. */
enum { ALL_TO_ALL_MOST = 1024 };

static void check_all_to_all(struct reader *c, const struct job_entry *job)
{
	if (c->scenario->style == JOBS_COLLECTIVE &&
	    c->scenario->collective == COLLECTIVE_ALL_TO_ALL && job->rank_count > ALL_TO_ALL_MOST)
		case_error(c, "case.collective",
			   "case: an all_to_all of %zu ranks has more pairs of ranks than can be "
			   "simulated (write at most %d GPUs)",
			   job->rank_count, ALL_TO_ALL_MOST);
}

void case_read_jobs(struct reader *c)
{
	struct job_entry *jobs = ARENA_ARRAY(c->arena, c->job_count + 1, struct job_entry);
	c->scenario->jobs = jobs;
	c->scenario->style = c->params->collective[0] ? JOBS_COLLECTIVE : JOBS_RANKS;
	c->scenario->collective = find_collective(c);
	c->scenario->collective_size_B = c->params->collective_size_B;
	for (size_t i = 0; i < c->job_count; i++)
		fill_job(c, i, &jobs[i]);
	check_all_to_all(c, &jobs[0]);
	c->scenario->job_count = c->job_count;
	read_phases(c, jobs);
	if (c->scenario->style == JOBS_COLLECTIVE && c->job_count > 1)
		case_error(
			c, "case.collective",
			"case: a collective benchmark must have one job, not %zu (leave out jobs)",
			c->job_count);
	if (cfg_child(c->group, "clients"))
		diag_error(c->diag, cfg_origin(cfg_child(c->group, "clients")),
			   "case: training jobs cannot be combined with clients (write a separate "
			   "case for each)");
}
