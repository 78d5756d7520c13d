/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random flows, compared with bounds that need no solution of the rates:
 *   - one flow, and flows that share a link, end at the time of a closed form;
 *   - messages wait for others and for latencies. They end no earlier than their longest chain
 *     without other traffic, no earlier than the busiest link can carry its bytes, and no later
 *     than all messages one after the other. */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/fabric.h"
#include "tests/test.h"

enum { LINKS = 6, MESSAGES = 40, AFTER_MAX = 3, ROUNDS = 200 };

struct message {
	struct flow_spec flow;
	size_t after[AFTER_MAX], after_count; /* it starts when these have ended */
	int64_t latency_ps;                   /* from the last byte to the end */
	size_t missing;
	double over_s;
};

struct run {
	struct engine *engine;
	struct fabric *fabric;
	double capacity[LINKS];
	struct message messages[MESSAGES];
	size_t over_count;
};

static double draw(struct rng *rng, double low, double high)
{
	return low * pow(high / low, rng_uniform(rng));
}

static void start(struct run *run, size_t index);

static void over(void *ctx, uint64_t index)
{
	struct run *run = ctx;
	run->messages[index].over_s = s_from_ps(engine_now_ps(run->engine));
	run->over_count++;
	for (size_t i = index + 1; i < MESSAGES; i++)
		for (size_t k = 0; k < run->messages[i].after_count; k++)
			if (run->messages[i].after[k] == index && --run->messages[i].missing == 0)
				start(run, i);
}

static void left(void *ctx, uint64_t index)
{
	struct run *run = ctx;
	engine_after(run->engine, run->messages[index].latency_ps, over, run, index);
}

static void start(struct run *run, size_t index)
{
	struct message *message = &run->messages[index];
	message->flow.done = left;
	message->flow.ctx = run;
	message->flow.arg = index;
	fabric_flow_start(run->fabric, &message->flow);
}

static void draw_run(struct run *run, struct rng *rng)
{
	for (size_t i = 0; i < LINKS; i++)
		run->capacity[i] = draw(rng, 1e8, 1e10);
	for (size_t i = 0; i < MESSAGES; i++) {
		struct message *message = &run->messages[i];
		*message = (struct message){.flow = {.size = draw(rng, 1e3, 1e8)},
					    .latency_ps = ps_from_s(draw(rng, 1e-6, 1e-2))};
		size_t first = rng_below(rng, LINKS), count = 1 + rng_below(rng, 3);
		for (size_t k = 0; k < count; k++)
			message->flow.uses[message->flow.use_count++] =
				(struct flow_use){(int)((first + k) % LINKS), draw(rng, 1, 1.1)};
		if (rng_below(rng, 4) == 0)
			message->flow.cap = draw(rng, 1e8, 1e10);
		size_t after_count = rng_below(rng, AFTER_MAX + 1);
		for (size_t k = 0; i > 0 && k < after_count; k++)
			message->after[message->after_count++] = rng_below(rng, i);
	}
}

static double play(struct run *run, struct arena *arena)
{
	run->engine = engine_new(arena, NULL);
	run->fabric = fabric_new(arena, run->engine);
	run->over_count = 0;
	for (size_t i = 0; i < LINKS; i++)
		fabric_resource_add(run->fabric, arena_printf(arena, "link%zu", i),
				    run->capacity[i]);
	for (size_t i = 0; i < MESSAGES; i++)
		run->messages[i].missing = run->messages[i].after_count;
	for (size_t i = 0; i < MESSAGES; i++)
		if (run->messages[i].after_count == 0)
			start(run, i);
	CHECK(engine_run(run->engine) == ENGINE_DRAINED);
	fabric_account(run->fabric);
	CHECK(engine_failure(run->engine) == NULL);
	CHECK(run->over_count == MESSAGES);
	return s_from_ps(engine_now_ps(run->engine));
}

static double alone_s(const struct run *run, const struct message *message)
{
	double rate = message->flow.cap > 0 ? message->flow.cap : INFINITY;
	for (size_t u = 0; u < message->flow.use_count; u++)
		rate = fmin(rate, run->capacity[message->flow.uses[u].resource] /
					  message->flow.uses[u].per_unit);
	return message->flow.size / rate + s_from_ps(message->latency_ps);
}

static void check_bounds(const struct run *run, double took_s)
{
	double chain_s[MESSAGES], load_s[LINKS] = {0}, sum_s = 0;
	for (size_t i = 0; i < MESSAGES; i++) {
		const struct message *message = &run->messages[i];
		double before_s = 0;
		for (size_t k = 0; k < message->after_count; k++)
			before_s = fmax(before_s, chain_s[message->after[k]]);
		chain_s[i] = before_s + alone_s(run, message);
		sum_s += alone_s(run, message);
		CHECK(message->over_s >= chain_s[i] * (1 - 1e-9));
		for (size_t u = 0; u < message->flow.use_count; u++)
			load_s[message->flow.uses[u].resource] +=
				message->flow.size * message->flow.uses[u].per_unit /
				run->capacity[message->flow.uses[u].resource];
	}
	for (size_t i = 0; i < LINKS; i++)
		CHECK(took_s >= load_s[i] * (1 - 1e-9));
	CHECK(took_s <= sum_s * (1 + 1e-9));
}

static void messages_end_within_their_bounds(void)
{
	struct run run;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct arena *arena = arena_new();
		struct rng rng = rng_named(round, "bounds");
		draw_run(&run, &rng);
		check_bounds(&run, play(&run, arena));
		arena_free(arena);
	}
}

/* The messages of a chain share nothing, so the chain ends after the sum of their times, each
 * rounded to a picosecond. */
static void chain_of_messages_takes_the_sum_of_its_times(void)
{
	struct run run;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct arena *arena = arena_new();
		struct rng rng = rng_named(round, "chain");
		double sum_s = 0;
		draw_run(&run, &rng);
		for (size_t i = 0; i < MESSAGES; i++) {
			run.messages[i].after_count = i > 0;
			run.messages[i].after[0] = i - 1;
			sum_s += alone_s(&run, &run.messages[i]);
		}
		CHECK(fabs(play(&run, arena) - sum_s) <= 1e-12 * MESSAGES + 1e-12 * sum_s);
		arena_free(arena);
	}
}

/* All flows start at time 0 on one link, smallest first. When the k-th of n ends, each of the n - k
 * + 1 flows that were left has moved as much as it since the previous end (processor sharing). */
static void flows_on_one_link_end_at_the_times_of_processor_sharing(void)
{
	struct run run;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct arena *arena = arena_new();
		struct rng rng = rng_named(round, "one link");
		double sizes[MESSAGES], end_s = 0, before = 0;
		draw_run(&run, &rng);
		for (size_t i = 0; i < MESSAGES; i++) {
			struct message *message = &run.messages[i];
			*message = (struct message){.flow = message->flow};
			message->flow.cap = 0;
			message->flow.uses[0] = (struct flow_use){0, 1};
			message->flow.use_count = 1;
			sizes[i] = message->flow.size;
		}
		play(&run, arena);
		for (size_t left_count = MESSAGES; left_count > 0; left_count--) {
			size_t least = 0;
			for (size_t i = 1; i < MESSAGES; i++)
				if (sizes[i] < sizes[least])
					least = i;
			end_s += (sizes[least] - before) * (double)left_count / run.capacity[0];
			before = sizes[least];
			sizes[least] = INFINITY;
			CHECK(fabs(run.messages[least].over_s - end_s) <= 1e-10 + 1e-12 * end_s);
		}
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(messages_end_within_their_bounds),
	TEST(chain_of_messages_takes_the_sum_of_its_times),
	TEST(flows_on_one_link_end_at_the_times_of_processor_sharing),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
