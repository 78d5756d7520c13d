/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/plan_estimate.h"
#include "sim/base/diag.h"
#include "sim/base/parallel.h"

/* With fewer micro-batches, a step is hardly longer than the simulation of three. */
enum { GATHERS_LEAST = 4 };

static size_t ranks_of(const struct training_plan *plan)
{
	return plan->sizes[AXIS_TENSOR] * plan->sizes[AXIS_CONTEXT];
}

static void step_of(const struct plan_passes *p, const struct known_pass *pass,
		    size_t micro_batches, double *all_s, double *host_s)
{
	static const char *const fixed[] = {
		"plan.pp=1",          "plan.dp=0",        "plan.chunks=1", "plan.schedule=auto",
		"plan.sharding=none", "plan.anyway=true", "case.steps=1",  "case.steps_warmup=0"};
	enum { FIXED = sizeof fixed / sizeof fixed[0], SHARDING = 4 };
	struct arena *arena = arena_new();
	struct setting more[FIXED + 2];
	for (size_t i = 0; i < FIXED; i++)
		more[i] = (struct setting){fixed[i], {"farwire plan", 0}};
	if (pass->gathers)
		more[SHARDING].text = "plan.sharding=parameters";
	more[FIXED] = (struct setting){arena_printf(arena, "case.gpus=%zu", pass->gpu_count),
				       {"farwire plan", 0}};
	more[FIXED + 1] = (struct setting){
		arena_printf(arena, "plan.global_batch=%zu", pass->batch_count * micro_batches),
		{"farwire plan", 0}};
	struct case_request request =
		request_with(arena, &p->input->request, pass->settings, p->setting_count);
	request = request_with(arena, &request, more, FIXED + 2);
	struct predict_options options = {.seed = p->input->options.seed, .jobs = 1};
	const char *broken = NULL;
	const struct prediction *step =
		predict_case(arena, diag_new(arena), &request, &options, &broken);
	*all_s = step && step->ok ? step->step_s.value : 0;
	*host_s = 0;
	for (size_t i = 0; step && step->ok && i < step->breakdown_count; i++)
		if (strcmp(step->breakdown[i].name, PART_ISSUE) == 0)
			*host_s += step->breakdown[i].seconds;
	arena_free(arena);
}

/* Simulates steps of one and of two micro-batches. The difference has no start and no end of a
 * step. */
static void measure(void *ctx, size_t index)
{
	struct plan_passes *p = ctx;
	struct known_pass *pass = &p->passes.items[p->measured_count + index];
	double one_s, two_s, one_host_s, two_host_s;
	step_of(p, pass, 1, &one_s, &one_host_s);
	step_of(p, pass, one_s > 0 ? 2 : 1, &two_s, &two_host_s);
	pass->all_s = fmax(0, two_s - one_s);
	pass->host_s = fmax(0, two_host_s - one_host_s);
}

void plan_passes_measure(struct plan_passes *p)
{
	parallel_each(p->input->options.jobs, p->passes.count - p->measured_count, measure, p);
	p->measured_count = p->passes.count;
}

bool plan_passes_gathers(const struct training_plan *plan)
{
	return plan->params->sharding == SHARDING_PARAMETERS && plan_sharers(plan) > 1 &&
	       plan->micro_batch_count >= GATHERS_LEAST;
}

/* Returns the key of the micro-batch of plans that share it. */
static const char *pass_key(struct arena *arena, const struct training_plan *plan, bool gathers)
{
	const struct plan_params *params = plan->params;
	return arena_printf(arena, "%zu %zu %zu %zu %d %d %d %d %zu", plan->sizes[AXIS_TENSOR],
			    plan->sizes[AXIS_CONTEXT], plan->expert_count, plan->micro_batch,
			    params->recompute, params->early_stop, params->overlap_tensor,
			    params->sequence_parallel, gathers ? plan->sizes[AXIS_DATA] : 0);
}

static struct known_pass *pass_find(const struct plan_passes *p, const char *key)
{
	for (size_t i = 0; i < p->passes.count; i++)
		if (strcmp(p->passes.items[i].key, key) == 0)
			return &p->passes.items[i];
	return NULL;
}

void plan_passes_want(struct plan_passes *p, const struct training_plan *plan,
		      const struct setting *settings, bool gathers)
{
	const char *key = pass_key(p->arena, plan, gathers);
	size_t replicas = gathers ? plan->sizes[AXIS_DATA] : plan->expert_count;
	if (pass_find(p, key))
		return;
	*VEC_PUSH(p->arena, &p->passes) =
		(struct known_pass){.key = key,
				    .settings = settings,
				    .gpu_count = ranks_of(plan) * replicas,
				    .batch_count = plan->micro_batch * replicas,
				    .gathers = gathers};
}

static const struct known_units *units_of(struct plan_passes *p, struct arena *scratch,
					  const struct training_plan *plan)
{
	const char *key = arena_printf(scratch, "%s %d", pass_key(scratch, plan, false),
				       plan->schedule->splits_backward);
	for (size_t i = 0; i < p->units.count; i++)
		if (strcmp(p->units.items[i].key, key) == 0)
			return &p->units.items[i];
	const struct job_entry *job = &p->scenario->jobs[0];
	const struct plan_step step = {
		.plan = plan,
		.stack = job->stack,
		.gpu = &p->scenario->topology.gpus[job->gpus[0]].params,
		.efficiency = job->efficiency,
	};
	struct known_units *known = VEC_PUSH(p->arena, &p->units);
	*known = (struct known_units){.key = arena_strdup(p->arena, key)};
	const struct unit_least *units =
		plan_units_least(scratch, &step, p->links.gpu_Bps, &known->count);
	struct unit_least *copy = ARENA_ARRAY(p->arena, known->count, struct unit_least);
	memcpy(copy, units, known->count * sizeof *copy);
	known->units = copy;
	return known;
}

double plan_passes_least_s(struct plan_passes *p, struct arena *scratch,
			   const struct training_plan *plan)
{
	const struct known_units *known = units_of(p, scratch, plan);
	return plan_least_s(plan, known->units, known->count, &p->links);
}

/* Returns the time of a micro-batch in all units. */
static double units_pass_s(const struct unit_least *units, size_t count)
{
	double sum_s = 0;
	for (size_t i = 0; i < count; i++)
		sum_s += units[i].forward_s + units[i].backward_s + units[i].weights_s;
	return sum_s;
}

/* Returns the units with their times multiplied by the ratio. */
static const struct unit_least *units_scaled(struct arena *arena, const struct known_units *known,
					     double ratio)
{
	struct unit_least *scaled = ARENA_ARRAY(arena, known->count, struct unit_least);
	for (size_t i = 0; i < known->count; i++) {
		scaled[i] = known->units[i];
		scaled[i].forward_s *= ratio;
		scaled[i].backward_s *= ratio;
		scaled[i].weights_s *= ratio;
	}
	return scaled;
}

/* Returns the time of the bytes of a message between stages over the links of a machine, of which
 * each GPU has an equal part, or over those of a GPU. */
static double message_s(const struct plan_passes *p, const struct training_plan *plan)
{
	size_t next = plan_neighbour(plan, 0, AXIS_PIPELINE, 1 % plan->sizes[AXIS_PIPELINE]);
	double own_Bps = p->links.machine_Bps / (double)p->links.machine_gpus;
	return plan_message_B(plan, p->scenario->jobs[0].stack, 0) /
	       (next < p->links.machine_gpus ? p->links.gpu_Bps : own_Bps);
}

/* Returns the factor of all passes for the blocks of messages: stages with several chunks post
 * their two receives before they compute, and a message that waits holds its blocks. */
static double held_ratio(const struct plan_passes *p, const struct training_plan *plan)
{
	const struct job_entry *job = &p->scenario->jobs[0];
	double all = p->scenario->topology.gpus[job->gpus[0]].params.multiprocessors_count;
	return plan->chunk_count > 1 ? all / (all - 2 * MESSAGE_BLOCKS) : 1;
}

/* While a stage waits for others, its host calls ahead, so that calls do not make a bubble longer.
 * Gathers go on in a bubble, so that only the busiest stage needs their time. */
double plan_passes_estimate_s(struct plan_passes *p, struct arena *scratch,
			      const struct training_plan *plan, bool gathers)
{
	const struct known_units *known = units_of(p, scratch, plan);
	const struct known_pass *pass = pass_find(p, pass_key(scratch, plan, gathers));
	double units_s = units_pass_s(known->units, known->count), held = held_ratio(p, plan);
	double busiest_s = fmax(1, held * pass->all_s / units_s) *
			   plan_busiest_s(plan, known->units, known->count);
	if (gathers)
		return busiest_s;
	const struct unit_least *units = units_scaled(
		scratch, known, fmax(1, held * (pass->all_s - pass->host_s) / units_s));
	double played_s =
		plan_timetable_s(scratch, plan, units, known->count, &p->links, message_s(p, plan));
	return fmax(plan_least_s(plan, units, known->count, &p->links), fmax(played_s, busiest_s));
}

/* Returns the bandwidth of the links of which exactly one end has a name with this beginning;
 * INFINITY: there is none. */
static double links_Bps(const struct topology *topology, const char *name, size_t length,
			bool networks_only)
{
	double sum_Bps = 0;
	for (size_t i = 0; i < topology->link_count; i++) {
		const struct link_entry *link = &topology->links[i];
		bool ends[2] = {strncmp(link->ends[0], name, length) == 0,
				strncmp(link->ends[1], name, length) == 0};
		if (ends[0] != ends[1] && !(networks_only && link->kind->inside_host))
			sum_Bps += fmax(link->traits.capacity_Bps[0], link->traits.capacity_Bps[1]);
	}
	return sum_Bps > 0 ? sum_Bps : INFINITY;
}

struct plan_links plan_links_of(const struct topology *topology, const struct job_entry *job)
{
	const char *first = topology->gpus[job->gpus[0]].name;
	size_t length = strcspn(first, ".");
	bool cluster = first[length] == '.';
	length = cluster ? length + 1
			 : 0; /* the machine's name and a point; else all GPUs share it */
	struct plan_links links = {.machine_Bps = cluster ? links_Bps(topology, first, length, true)
							  : INFINITY};
	for (size_t i = 0; i < job->simulated_count; i++) {
		const char *name = topology->gpus[job->gpus[i]].name;
		links.machine_gpus += strncmp(name, first, length) == 0;
		links.gpu_Bps =
			fmax(links.gpu_Bps, links_Bps(topology, name, strlen(name) + 1, false));
	}
	return links;
}
