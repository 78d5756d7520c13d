/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host probes: plans, teams of threads, and copies. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/host/team.h"
#include "calib/sample/clock.h"
#include "tests/test.h"

static int work(void *context, size_t member)
{
	int *counts = context;
	counts[member]++;
	return member == 2 && counts[member] == 3 ? 77 : 0;
}

/* Each member works once in each round. Its code is the number of the round. */
static void team_runs_rounds_on_all_members(void)
{
	int counts[4] = {0};
	double span_s = -1;
	struct team *team = team_new(4, work, counts);
	CHECK(team_round(team, &span_s) == 0 && span_s >= 0);
	CHECK(team_round(team, &span_s) == 0);
	CHECK(team_round(team, &span_s) == 77);
	for (int i = 0; i < 4; i++)
		CHECK(counts[i] == 3);
	team_free(team);
}

/* The same seed gives the same plan. Each point occurs once. Some sizes are used only for
 * validation and do not occur among the others. */
static void plans_repeat_and_hold_out_some_sizes(void)
{
	struct plan plans[2] = {0};
	struct host_bench bench = {.core_count = 2};
	for (int full = 0; full < 2; full++) {
		bench.full = full == 1;
		for (int k = 0; k < 2; k++) {
			struct plan_random random = {5};
			plans[k].count = 0;
			for (size_t i = 0; host_probes[i]; i++) {
				plans[k].test = host_probes[i]->test;
				host_probes[i]->add(&bench, &plans[k], &random);
			}
		}
		size_t held_out = 0;
		CHECK(plans[0].count == plans[1].count && plans[0].count > 20);
		for (size_t i = 0; i < plans[0].count; i++) {
			char name[256], other[256];
			plan_point_name(&plans[0].points[i], name, sizeof(name));
			plan_point_name(&plans[1].points[i], other, sizeof(other));
			CHECK_TEXT(name, other);
			held_out += plans[0].points[i].held_out;
			for (size_t k = 0; k < i; k++) {
				plan_point_name(&plans[0].points[k], other, sizeof(other));
				if (!CHECK(strcmp(name, other) != 0))
					printf("  %s twice\n", name);
			}
		}
		CHECK(held_out > plans[0].count / 10 && held_out < plans[0].count / 2);
	}
	plan_free(&plans[0]);
	plan_free(&plans[1]);
}

/* Signals that stop_catch blocks stay pending until the test takes them. */
static void either_signal_asks_to_stop(void)
{
	static const int signals[] = {SIGINT, SIGTERM};
	CHECK(!stop_asked());
	for (size_t i = 0; i < 2; i++) {
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, signals[i]);
		raise(signals[i]);
		CHECK(stop_asked());
		CHECK(sigtimedwait(&set, NULL, &(struct timespec){1, 0}) == signals[i]);
		CHECK(!stop_asked());
	}
}

static void sleep_s(double time_s)
{
	const struct timespec time = {(time_t)time_s, (long)(fmod(time_s, 1) * 1e9)};
	nanosleep(&time, NULL);
}

/* Returns the least of at most `samples` samples of a point, or -1 after an error. A sample below
 * enough_s is the last: on a busy machine many are late. */
static double least_of(struct host_bench *bench, const struct host_probe *probe,
		       const struct plan_point *point, int samples, double enough_s)
{
	double least = INFINITY, value = -1;
	bench->own = calloc(1, probe->own_B);
	int code = probe->begin(bench, point);
	for (int i = 0; i < samples && code == HOST_OK && least > enough_s; i++) {
		code = probe->sample(bench, point, &value);
		least = fmin(least, value);
	}
	if (probe->end)
		probe->end(bench);
	free(bench->own);
	bench->own = NULL;
	return code == HOST_OK ? least : -1;
}

/* A round of copies of 1 KiB has 2048 of them, which take at least 2 MiB / (200 GB/s) = 10 us
 * together. Each takes less than that. */
static void copies_are_timed_one_by_one(void)
{
	struct host_bench bench = {0};
	for (size_t threads = 1; threads <= 2; threads++) {
		const struct plan_point point = {
			.x = {{"size_B", 1024}, {"threads", (double)threads}}};
		double value = least_of(&bench, &host_probe_memcpy, &point, 30, -1);
		CHECK(value > 1e-10 && value < 5e-6);
	}
}

static int sleep_member(void *context, size_t member)
{
	const double *times_s = context;
	sleep_s(times_s[member]);
	return 0;
}

static void time_of_a_round_is_that_of_the_last_member(void)
{
	static const double times_s[][2] = {{0.03, 0}, {0, 0.03}};
	for (size_t i = 0; i < 2; i++) {
		double span_s = 0;
		struct team *team = team_new(2, sleep_member, (void *)times_s[i]);
		CHECK(team_round(team, &span_s) == 0 && span_s >= 0.03 && span_s < 1);
		team_free(team);
	}
}

static const struct test tests[] = {
	TEST(either_signal_asks_to_stop),
	TEST(team_runs_rounds_on_all_members),
	TEST(plans_repeat_and_hold_out_some_sizes),
	TEST(copies_are_timed_one_by_one),
	TEST(time_of_a_round_is_that_of_the_last_member),
};

int main(void)
{
	stop_catch();
	return TEST_MAIN(tests);
}
