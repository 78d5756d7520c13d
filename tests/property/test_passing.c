/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event can continue in place of the next one (engine_pass) or run separately. Both ways give
 * equal results: each span of the timeline, each step and each counter, to the bit. The tests use
 * programs that forward calls in each way, and random cases (tests/random_case.h). */
#include "sim/engine/trace.h"
#include "tests/random_case.h"

enum { SETTINGS_MOST = 12, CASES = 8, EVENTS_MOST = 200000 };

static bool same_traces(const struct trace *a, const struct trace *b)
{
	if (trace_span_count(a) != trace_span_count(b) || trace_span_count(a) == 0)
		return false;
	for (size_t i = 0; i < trace_span_count(a); i++) {
		const struct span *x = trace_span_at(a, i), *y = trace_span_at(b, i);
		if (x->start_ps == y->start_ps && x->end_ps == y->end_ps && x->track == y->track &&
		    x->kind == y->kind && strcmp(x->name, y->name) == 0)
			continue;
		printf("  span %zu: '%s' at %lld, '%s' at %lld ps\n", i, x->name,
		       (long long)x->start_ps, y->name, (long long)y->start_ps);
		return false;
	}
	return true;
}

/* Compares fields, because a struct can have padding. */
static bool same_client(const struct job_run *a, const struct job_run *b)
{
	bool same = a->failed == b->failed && a->step_count == b->step_count &&
		    memcmp(&a->remote, &b->remote, sizeof a->remote) == 0;
	return same && memcmp(a->steps, b->steps, a->step_count * sizeof *a->steps) == 0;
}

static bool same_links(const struct world_outcome *a, const struct world_outcome *b)
{
	bool same = a->link_count == b->link_count;
	for (size_t i = 0; same && i < a->link_count; i++)
		same = a->links[i].carried_B == b->links[i].carried_B &&
		       a->links[i].busy_s == b->links[i].busy_s;
	return same;
}

static bool same_jobs(const struct job_run *a, const struct job_run *b)
{
	bool same = a->failed == b->failed && a->step_count == b->step_count;
	for (size_t i = 0; same && i < a->step_count; i++)
		same = a->steps[i].start_ps == b->steps[i].start_ps &&
		       a->steps[i].end_ps == b->steps[i].end_ps;
	return same;
}

static bool same_both_ways(const struct scenario *scenario)
{
	struct arena *arena = arena_new();
	struct scenario passing = *scenario, plain = *scenario;
	struct trace *traces[] = {trace_new(arena), trace_new(arena)};
	passing.events_max = plain.events_max = EVENTS_MOST;
	plain.no_passing = true;
	struct world_outcome a = world_run(arena, &passing, 1, traces[0]);
	struct world_outcome b = world_run(arena, &plain, 1, traces[1]);
	bool same = !a.broken && !b.broken && a.events_count == b.events_count &&
		    a.end_s == b.end_s && same_links(&a, &b) && same_traces(traces[0], traces[1]);
	for (size_t i = 0; same && i < a.job_count; i++)
		same = same_client(&a.jobs[i], &b.jobs[i]);
	for (size_t i = 0; same && i < a.job_count; i++)
		same = same_jobs(&a.jobs[i], &b.jobs[i]);
	arena_free(arena);
	return same;
}

static bool same_case(const char *const *texts)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct setting settings[SETTINGS_MOST] = {0};
	struct case_request request = {.settings = settings, .data_root = data_root_find(arena)};
	for (; texts[request.setting_count]; request.setting_count++)
		settings[request.setting_count].text = texts[request.setting_count];
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	bool same = scenario && same_both_ways(scenario);
	arena_free(arena);
	return same;
}

static void passing_does_not_change_forwarded_programs(void)
{
	static const char *const wires[][4] = {
		{"case.topology=vm-p100-vmxnet3", "case.transport=tcp", "case.program=client",
		 NULL},
		{"case.topology=vm-p100-vmxnet3", "case.transport=tcp", "case.program=client",
		 "tcp.nagle=true"},
		{"case.topology=vm-p100-vmxnet3", "case.transport=tcp", "case.program=client",
		 "link.client-port.loss=0.1 %"},
		{"case.topology=vm-p100-roce", "case.transport=rdma", "case.program=client", NULL},
		{"case.topology=vm-p100-roce", "case.transport=rdma", "case.program=client",
		 "rdma.interrupts=true"},
		{"case.topology=vm-p100-vmxnet3", "case.transport=shm", "case.program=server",
		 NULL},
	};
	static const char *const stacks[] = {"case.stack=tf-1.13-2019", "case.stack=pytorch"};
	static const char *const runtimes[] = {"case.runtime=synchronous",
					       "case.runtime=asynchronous", "case.runtime=batched"};
	for (size_t w = 0; w < sizeof wires / sizeof *wires; w++) {
		for (size_t s = 0; s < 2; s++) {
			for (size_t r = 0; r < 3; r++) {
				const char *const texts[SETTINGS_MOST] = {wires[w][0],
									  wires[w][1],
									  wires[w][2],
									  "case.server=server",
									  "case.model=alexnet",
									  "case.batch=8",
									  stacks[s],
									  runtimes[r],
									  wires[w][3]};
				if (!CHECK(same_case(texts)))
					printf("  %s %s %s\n", wires[w][1], stacks[s], runtimes[r]);
			}
		}
	}
}

static void passing_does_not_change_random_cases(void)
{
	for (uint64_t seed = seeds_first(); seed < seeds_first() + seeds_count(CASES); seed++) {
		struct arena *arena = arena_new();
		struct random_case c = random_case(arena, seed);
		const struct scenario *scenario = random_case_read(&c, NULL, 0);
		if (!CHECK(scenario && same_both_ways(scenario)))
			random_case_print(&c, seed);
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(passing_does_not_change_forwarded_programs),
	TEST(passing_does_not_change_random_cases),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
