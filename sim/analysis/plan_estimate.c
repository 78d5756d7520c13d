/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/plan_estimate.h"
#include "sim/base/diag.h"

struct pass_case pass_case_of(const struct training_plan *plan)
{
	size_t ranks = plan->sizes[AXIS_TENSOR] * plan->sizes[AXIS_CONTEXT];
	return (struct pass_case){ranks * plan->expert_count,
				  plan->micro_batch * plan->expert_count};
}

static struct pass_time step_of(const struct analysis_input *input, const struct setting *settings,
				size_t count, const struct pass_case *pass, size_t micro_batches)
{
	static const char *const fixed[] = {
		"plan.pp=1",          "plan.dp=0",        "plan.chunks=1", "plan.schedule=auto",
		"plan.sharding=none", "plan.anyway=true", "case.steps=1",  "case.steps_warmup=0"};
	enum { FIXED = sizeof fixed / sizeof fixed[0] };
	struct arena *arena = arena_new();
	struct setting more[FIXED + 2];
	for (size_t i = 0; i < FIXED; i++)
		more[i] = (struct setting){fixed[i], {"farwire plan", 0}};
	more[FIXED] = (struct setting){arena_printf(arena, "case.gpus=%zu", pass->gpu_count),
				       {"farwire plan", 0}};
	more[FIXED + 1] = (struct setting){
		arena_printf(arena, "plan.global_batch=%zu", pass->batch_count * micro_batches),
		{"farwire plan", 0}};
	struct case_request request = request_with(arena, &input->request, settings, count);
	request = request_with(arena, &request, more, FIXED + 2);
	struct predict_options options = {.seed = input->options.seed, .jobs = 1};
	const char *broken = NULL;
	const struct prediction *p =
		predict_case(arena, diag_new(arena), &request, &options, &broken);
	struct pass_time time = {p && p->ok ? p->step_s.value : 0, 0};
	for (size_t i = 0; p && p->ok && i < p->breakdown_count; i++)
		if (strcmp(p->breakdown[i].name, PART_ISSUE) == 0)
			time.host_s += p->breakdown[i].seconds;
	arena_free(arena);
	return time;
}

struct pass_time pass_case_time(const struct analysis_input *input, const struct setting *settings,
				size_t count, const struct pass_case *pass)
{
	struct pass_time one = step_of(input, settings, count, pass, 1);
	struct pass_time two = step_of(input, settings, count, pass, one.all_s > 0 ? 2 : 1);
	return (struct pass_time){fmax(0, two.all_s - one.all_s), fmax(0, two.host_s - one.host_s)};
}

double units_pass_s(const struct unit_least *units, size_t count)
{
	double sum_s = 0;
	for (size_t i = 0; i < count; i++)
		sum_s += units[i].forward_s + units[i].backward_s + units[i].weights_s;
	return sum_s;
}

const struct unit_least *units_scaled(struct arena *arena, const struct unit_least *units,
				      size_t count, double ratio)
{
	struct unit_least *scaled = ARENA_ARRAY(arena, count, struct unit_least);
	for (size_t i = 0; i < count; i++) {
		scaled[i] = units[i];
		scaled[i].forward_s *= ratio;
		scaled[i].backward_s *= ratio;
		scaled[i].weights_s *= ratio;
	}
	return scaled;
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
	size_t length = strcspn(first, ".") + 1; /* of a cluster, the machine's name and a point */
	bool cluster = first[length - 1] == '.';
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
