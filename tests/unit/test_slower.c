/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reasons why a better system is slower, for predictions written by hand. */
#include "tests/slower.h"
#include "tests/test.h"

static struct prediction step_of(double step_s)
{
	return (struct prediction){.ok = true,
				   .step_s = {step_s, step_s, step_s},
				   .choice = "ring, Simple, 2 channels",
				   .collectives_count = 10};
}

static void wait_add(struct prediction *p, const char *name, double seconds)
{
	static struct breakdown_part all[64];
	static size_t used;
	struct breakdown_part *waits = all + used;
	for (size_t i = 0; i < p->wait_count; i++)
		waits[i] = p->waits[i];
	waits[p->wait_count++] = (struct breakdown_part){name, seconds};
	used += p->wait_count;
	p->waits = waits;
}

static void half_a_percent_is_not_slower(void)
{
	struct prediction plain = step_of(1), better = step_of(1.005), slow = step_of(1.006);
	CHECK(!(slower_than(&plain, &better).ratio > 0));
	CHECK_NEAR(slower_than(&plain, &slow).ratio, 0.006, 1e-9);
	CHECK(!slower_than(&plain, &slow).mechanism);
	slow.ok = false;
	CHECK(!(slower_than(&plain, &slow).ratio > 0));
}

static void another_choice_is_the_first_reason(void)
{
	struct prediction plain = step_of(1), better = step_of(1.1);
	better.choice = "tree, Simple, 2 channels";
	wait_add(&better, WAIT_NAME_CORE, 0.1);
	CHECK_TEXT(slower_than(&plain, &better).mechanism, "algorithm");
}

/* The step is 0.1 s longer. Only waits that grow by at least half of that count. */
static void wait_that_grew_most_is_the_reason(void)
{
	struct prediction plain = step_of(1), better = step_of(1.1);
	wait_add(&plain, WAIT_NAME_INTERRUPT, 0.14);
	wait_add(&better, WAIT_NAME_CORE, 0.049);
	CHECK(!slower_than(&plain, &better).mechanism);
	wait_add(&better, WAIT_NAME_INTERRUPT, 0.191);
	CHECK_TEXT(slower_than(&plain, &better).mechanism, WAIT_NAME_INTERRUPT);
	wait_add(&better, WAIT_NAME_IDLE_STATE, 0.052);
	CHECK_TEXT(slower_than(&plain, &better).mechanism, WAIT_NAME_IDLE_STATE);
}

/* Waits for timers of at least 0.2 s can contain a difference of 0.1 s. Work on a core cannot. */
static void wait_of_twice_the_difference_is_a_reason(void)
{
	struct prediction plain = step_of(1), better = step_of(1.1);
	wait_add(&plain, WAIT_NAME_POLL, 0.19);
	wait_add(&better, WAIT_NAME_POLL, 0.19);
	wait_add(&plain, WAIT_NAME_CORE, 5);
	wait_add(&better, WAIT_NAME_CORE, 5);
	CHECK(!slower_than(&plain, &better).mechanism);
	wait_add(&plain, WAIT_NAME_SHARED, 3);
	wait_add(&better, WAIT_NAME_SHARED, 3);
	CHECK_TEXT(slower_than(&plain, &better).mechanism, WAIT_NAME_SHARED);
	const struct breakdown_part longer[] = {
		{WAIT_NAME_POLL, 0.21}, {WAIT_NAME_CORE, 5}, {WAIT_NAME_SHARED, 3}};
	plain.waits = better.waits = longer;
	CHECK_TEXT(slower_than(&plain, &better).mechanism, WAIT_NAME_POLL);
}

/* 10 % longer steps with 6 % fewer collectives, or 4 % more. */
static void other_bundles_are_a_reason_only_with_cycles(void)
{
	struct prediction plain = step_of(1), better = step_of(1.1);
	better.collectives_count = 9.4;
	CHECK(!slower_than(&plain, &better).mechanism);
	wait_add(&plain, WAIT_NAME_CYCLE, 0.01);
	CHECK_TEXT(slower_than(&plain, &better).mechanism, WAIT_NAME_CYCLE);
	better.collectives_count = 10.4;
	CHECK(!slower_than(&plain, &better).mechanism);
}

/* The latency of a model server's requests is 0.1 s longer. */
static void queues_that_grew_are_the_reason_of_model_servers(void)
{
	struct prediction plain = step_of(1), better = step_of(1.1);
	struct breakdown_part before = {PART_QUEUE, 0.3}, after = {PART_QUEUE, 0.349};
	plain.breakdown = &before, better.breakdown = &after;
	plain.breakdown_count = better.breakdown_count = 1;
	CHECK(!slower_than(&plain, &better).mechanism);
	after.seconds = 0.351;
	CHECK_TEXT(slower_than(&plain, &better).mechanism, "batches of requests");
}

/* Their kernels are 0.049 s and 0.051 s longer. */
static void kernels_of_other_batches_are_the_reason_of_model_servers(void)
{
	struct prediction plain = step_of(1), better = step_of(1.1);
	struct breakdown_part before[] = {{PART_KERNEL, 0.3}, {PART_QUEUE, 0.1}};
	struct breakdown_part after[] = {{PART_KERNEL, 0.351}, {PART_QUEUE, 0.1}};
	plain.breakdown = before, better.breakdown = after;
	plain.breakdown_count = better.breakdown_count = 1;
	CHECK(!slower_than(&plain, &better).mechanism);
	better.breakdown_count = 2;
	CHECK_TEXT(slower_than(&plain, &better).mechanism, "batches of requests");
	after[0].seconds = 0.349;
	plain.breakdown_count = 2;
	CHECK(!slower_than(&plain, &better).mechanism);
}

static const struct test tests[] = {
	TEST(half_a_percent_is_not_slower),
	TEST(another_choice_is_the_first_reason),
	TEST(wait_that_grew_most_is_the_reason),
	TEST(wait_of_twice_the_difference_is_a_reason),
	TEST(other_bundles_are_a_reason_only_with_cycles),
	TEST(queues_that_grew_are_the_reason_of_model_servers),
	TEST(kernels_of_other_batches_are_the_reason_of_model_servers),
};

int main(void)
{
	return TEST_MAIN(tests);
}
