/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random cases (tests/random_case.h) end without a violated invariant, and
 *   - no faster than the work of their bottleneck and the way of one message allow;
 *   - in twice the time if each time is twice as long and each rate half as high
 *     (tests/scaled_case.h);
 *   - with the same bytes in any order in which a file lists hosts, guests, GPUs, links,
 *     clients and settings. */
#include "tests/random_case.h"
#include "tests/scaled_case.h"

enum { CASES = 8, SEEDS = 8 };
/* Ends are rounded to picoseconds. A picosecond can decide which of two events comes first, so
 * results differ by more if programs share something, or if interrupts or cycles of an exchange
 * occur. */
static const double scaled_alone = 1e-6, scaled_together = 0.05;

/* Time of all kernels of a step on a GPU without other work. */
static double work_s(struct arena *arena, const struct scenario *scenario,
		     const struct job_entry *client)
{
	const struct program *program =
		framework_at((size_t)client->stack->framework)
			->program(arena, &(struct step_spec){
						 client->network, (size_t)client->batch_count,
						 client->stack,
						 &scenario->topology.gpus[client->gpus[0]].params,
						 client->efficiency, NULL, NULL});
	double sum_s = 0;
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			if (program->threads[t].items[i].kind == ITEM_CALL)
				sum_s += program->threads[t].items[i].call.duration_s;
	return sum_s;
}

/* A GPU does at most a second of work in a second, for each client and for all of its clients
 * together. These are means over steps, and the window cuts the last step. */
static bool gpus_do_no_more_than_they_can(struct arena *arena, const struct scenario *scenario,
					  const struct point *point)
{
	static const double cut_ratio = 0.02;
	bool good = true;
	for (size_t gpu = 0; gpu < scenario->topology.gpu_count; gpu++) {
		double load = 0;
		for (size_t i = 0; i < scenario->job_count; i++) {
			const struct job_entry *client = &scenario->jobs[i];
			double least_s = work_s(arena, scenario, client);
			if (client->gpus[0] != gpu)
				continue;
			load += least_s / point->jobs[i].step_s;
			good = good && point->jobs[i].step_s >= least_s * (1 - 1e-9);
		}
		if (load > 1 + cut_ratio || !good)
			printf("  GPU %zu does %.6g s of work in a second\n", gpu, load);
		good = good && load <= 1 + cut_ratio;
	}
	return good;
}

/* Bytes that must cross the link of the slowest machine with each algorithm: all of its buffer
 * (all-reduce), the whole buffer in one direction (broadcast), or the parts of the n - 1 other
 * machines. The latency of the farthest machine is added once. */
static bool collectives_take_what_they_must(const struct random_case *c,
					    const struct scenario *scenario,
					    const struct point *point)
{
	double n = (double)c->server_count, rate_Bps = INFINITY, latency_s = 0;
	for (size_t i = 0; i < scenario->topology.link_count; i++) {
		const struct link_entry *link = &scenario->topology.links[i];
		if (strstr(link->name, "-port")) {
			rate_Bps = fmin(rate_Bps, link->traits.capacity_Bps[0]);
			latency_s = fmax(latency_s, link->traits.latency_s);
		}
	}
	bool parts = scenario->collective == COLLECTIVE_ALL_GATHER ||
		     scenario->collective == COLLECTIVE_REDUCE_SCATTER ||
		     scenario->collective == COLLECTIVE_ALL_TO_ALL;
	double part = parts ? (n - 1) / n : 1;
	double least_s = part * scenario->collective_size_B / rate_Bps + latency_s;
	if (point->jobs[0].step_s < least_s)
		printf("  it took %.9g s, and needs %.9g s\n", point->jobs[0].step_s, least_s);
	return point->jobs[0].step_s >= least_s;
}

/* The least time of the plan's step, without the bytes between GPUs. */
static bool plan_takes_what_it_must(struct arena *arena, const struct random_case *c,
				    const struct scenario *scenario, const struct point *point)
{
	const struct job_entry *job = &scenario->jobs[0];
	const struct plan_step step = {.plan = job->plan,
				       .stack = job->stack,
				       .gpu = &scenario->topology.gpus[job->gpus[0]].params,
				       .efficiency = job->efficiency};
	size_t count = 0;
	const struct unit_least *units = plan_units_least(arena, &step, 1e30, &count);
	const struct plan_links links = {c->gpu_count, 1e30, 1e30};
	double least_s = plan_least_s(job->plan, units, count, &links);
	if (point->step_s < least_s)
		printf("  it took %.9g s, and needs %.9g s\n", point->step_s, least_s);
	return least_s > 0 && point->step_s >= least_s;
}

/* A GPU works at most all the time. A request takes at least as long as the products of one image,
 * or of one token, at the greatest rate of the fastest GPU. */
static bool servers_do_no_more_than_they_can(const struct scenario *scenario,
					     const struct point *point)
{
	const struct service_entry *service = &scenario->services[0];
	const struct network *network = service->one_token ? service->one_token : service->network;
	double rate_flops = 0, least_s;
	for (size_t i = 0; i < scenario->topology.gpu_count; i++) {
		const struct gpu_params *gpu = &scenario->topology.gpus[i].params;
		rate_flops = fmax(rate_flops, fmax(gpu->fp32_flops, gpu->fp16_flops));
	}
	least_s = network_model_flop(network, true) / rate_flops;
	for (size_t i = 0; i < point->job_count; i++)
		if (point->jobs[i].gpu_utilization > 1 + 1e-9 || point->jobs[i].step_s < least_s)
			return false;
	return least_s > 0;
}

static bool runs_to_an_end(struct arena *arena, uint64_t seed)
{
	struct random_case c = random_case(arena, seed);
	const struct scenario *scenario = random_case_read(&c, NULL, 0);
	if (!scenario)
		return false;
	struct point point = predict_point(arena, scenario, 1, true, NULL, NULL);
	if (point.broken || point.failed)
		printf("  %s\n", point.broken ? point.broken : point.reason);
	if (point.broken || point.failed)
		return !point.broken;
	if (c.collective)
		return collectives_take_what_they_must(&c, scenario, &point);
	if (c.plan)
		return plan_takes_what_it_must(arena, &c, scenario, &point);
	if (c.serves)
		return servers_do_no_more_than_they_can(scenario, &point);
	/* The throughput of a job is at most that of separate GPUs, except for noise of 0.5 %. */
	return c.job ? point.ratio <= 1.02 : gpus_do_no_more_than_they_can(arena, scenario, &point);
}

static bool scales(struct arena *arena, uint64_t seed)
{
	struct random_case c = random_case(arena, seed);
	const struct scenario *scenario = random_case_read(&c, NULL, 0);
	if (!scenario)
		return false;
	size_t draw_count;
	const struct draw_value *draws = scaled_draws(arena, scenario, &draw_count);
	const struct scenario *slow = random_case_read(&c, draws, draw_count);
	if (!slow)
		return false;
	scale_tables(slow);
	bool alone = c.collective || (scenario->job_count == 1 && !c.moderated);
	return alone ? is_scaled(arena, scenario, slow, scaled_alone, 1)
		     : is_scaled(arena, scenario, slow, scaled_together, SEEDS);
}

/* Step time of the client or job with this name. */
static double step_s(const struct scenario *scenario, const struct point *point, const char *name)
{
	for (size_t i = 0; i < point->job_count; i++) {
		const char *its = scenario->jobs[i].name;
		if (strcmp(its, name) == 0)
			return point->jobs[i].step_s;
	}
	return NAN;
}

static bool order_does_not_matter(struct arena *arena, uint64_t seed)
{
	struct random_case c = random_case(arena, seed);
	const struct scenario *scenario = random_case_read(&c, NULL, 0);
	random_case_shuffle(&c, seed);
	const struct scenario *shuffled = random_case_read(&c, NULL, 0);
	if (!scenario || !shuffled)
		return false;
	struct point one = predict_point(arena, scenario, 1, false, NULL, NULL);
	struct point two = predict_point(arena, shuffled, 1, false, NULL, NULL);
	bool same = !one.broken && !two.broken && one.failed == two.failed;
	for (size_t i = 0; i < one.job_count; i++) {
		const char *name = scenario->jobs[i].name;
		double a = one.jobs[i].step_s, b = step_s(shuffled, &two, name);
		if (!one.failed && memcmp(&a, &b, sizeof a) != 0) {
			printf("  %s: %.17g s, in another order %.17g s\n", name, a, b);
			same = false;
		}
	}
	return same;
}

static void for_all(bool (*property)(struct arena *arena, uint64_t seed))
{
	for (uint64_t seed = seeds_first(); seed < seeds_first() + seeds_count(CASES); seed++) {
		struct arena *arena = arena_new();
		if (!CHECK(property(arena, seed))) {
			struct random_case c = random_case(arena, seed);
			random_case_print(&c, seed);
		}
		arena_free(arena);
	}
}

static void random_cases_end_within_their_bounds(void)
{
	for_all(runs_to_an_end);
}

static void random_cases_scale_with_their_times(void)
{
	for_all(scales);
}

static void order_of_lists_does_not_change_random_cases(void)
{
	for_all(order_does_not_matter);
}

static const struct test tests[] = {
	TEST(random_cases_end_within_their_bounds),
	TEST(random_cases_scale_with_their_times),
	TEST(order_of_lists_does_not_change_random_cases),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
