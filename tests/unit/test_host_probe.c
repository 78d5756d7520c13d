/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the host probes: orders to a server, its limits, rounds over TCP and over Unix sockets,
 * teams of threads, plans. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "calib/host/peer.h"
#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/host/team.h"
#include "tests/test.h"

static void orders_are_read_as_written(void)
{
	char text[PEER_ORDER_B + 1];
	struct peer_order read;
	snprintf(text, sizeof text, "%-*s", PEER_ORDER_B, "farwire-peer 1 serve 16 67108864 1 1");
	CHECK(peer_order_read(text, &read));
	CHECK(read.count == 16 && read.size_B == PEER_SIZE_MOST_B && read.reply_B == 1);
	CHECK(read.nagle);
}

static void malformed_orders_are_refused(void)
{
	static const char *const wrong[] = {
		"",
		"GET / HTTP/1.1",
		"farwire-peer 2 serve 1 1 1 0 ",
		"farwire-peer 1 serve 0 1 1 0 ",
		"farwire-peer 1 serve 1 0 1 0 ",
		"farwire-peer 1 serve 1 1 0 0 ",
		"farwire-peer 1 serve 1 1 1 2 ",
		"farwire-peer 1 serve 1 1 1 ",
		"farwire-peer 1 serve -1 1 1 0 ",
		"farwire-peer 1 serve 1 67108865 1 0 ",
		"farwire-peer 1 serve 65537 1 1 0 ",
		"farwire-peer 1 serve 1 18446744073709551617 1 0 ",
		"farwire-peer 1 serve 1 1x 1 0 ",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[PEER_ORDER_B];
		struct peer_order order;
		memset(text, ' ', sizeof(text));
		memcpy(text, wrong[i], strlen(wrong[i]));
		if (!CHECK(!peer_order_read(text, &order)))
			printf("  '%s'\n", wrong[i]);
		CHECK(!peer_is_hello(text));
	}
}

/* `count` messages of size_B get one answer of reply_B, several times. */
static void rounds_over(bool over_unix)
{
	char why[SOCK_WHY] = "";
	struct peer peer;
	unsigned char bytes[5000];
	const struct peer_order order = {.count = 3, .size_B = 1000, .reply_B = 4000};
	memset(bytes, 7, sizeof(bytes));
	CHECK(peer_start(&peer, why) == 0);
	int fd = peer_open(&peer, over_unix, &order, why);
	if (!CHECK(fd >= 0))
		printf("  %s\n", why);
	for (int round = 0; round < 3 && fd >= 0; round++) {
		for (int i = 0; i < 3; i++) {
			ssize_t early = recv(fd, bytes, 1, MSG_DONTWAIT);
			CHECK(early < 0); /* no answer before the last */
			CHECK(sock_send(fd, bytes, 1000, 5) == SOCK_OK);
		}
		CHECK(sock_receive(fd, bytes, 4000, 5) == SOCK_OK);
	}
	/* nothing else: the wait ends without a byte */
	CHECK(sock_receive(fd, bytes, 1, 0.01) == SOCK_LATE);
	CHECK((sock_facts(fd).mss_B > 0) == !over_unix);
	close(fd);
	peer_stop(&peer);
	CHECK(peer_open(&peer, false, &order, why) < 0); /* it has gone */
}

static void server_answers_rounds_over_tcp(void)
{
	rounds_over(false);
}

static void server_answers_rounds_over_unix_sockets(void)
{
	rounds_over(true);
}

/* Invalid data, and orders beyond the limits, end only their own connection. */
static void server_survives_invalid_connections(void)
{
	char why[SOCK_WHY] = "", text[PEER_ORDER_B];
	struct peer peer;
	const struct peer_order order = {.count = 1, .size_B = 1, .reply_B = 1};
	const struct peer_order huge = {.count = 1, .size_B = PEER_SIZE_MOST_B + 1, .reply_B = 1};
	CHECK(peer_start(&peer, why) == 0);
	for (int i = 0; i < 20; i++) {
		int fd = sock_connect(&peer.address, 5, why);
		CHECK(fd >= 0);
		sock_prepare(fd, false);
		memset(text, i, sizeof(text));
		CHECK(sock_send(fd, text, sizeof(text), 5) == SOCK_OK);
		CHECK(sock_receive(fd, text, 1, 5) == SOCK_ENDED);
		close(fd);
	}
	CHECK(peer_open(&peer, false, &huge, why) < 0);
	CHECK(strstr(why, "refused") != NULL);
	int fd = peer_open(&peer, false, &order, why);
	CHECK(fd >= 0);
	CHECK(sock_send(fd, text, 1, 5) == SOCK_OK);
	CHECK(sock_receive(fd, text, 1, 5) == SOCK_OK);
	close(fd);
	peer_stop(&peer);
}

static void addresses_are_parsed_and_named(void)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{"127.0.0.1", "127.0.0.1:24842"},
		{"127.0.0.1:80", "127.0.0.1:80"},
		{"[::1]:80", "[::1]:80"},
		{"::1", "[::1]:24842"},
		{"", NULL},
		{":80", NULL},
		{"127.0.0.1:65536", NULL},
		{"127.0.0.1:8x", NULL},
		{"[::1", NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sock_address address;
		char why[SOCK_WHY] = "", name[96] = "";
		bool good = sock_parse(rows[i].text, PEER_PORT, &address, why);
		CHECK(good == (rows[i].name != NULL));
		CHECK((why[0] == '\0') == good);
		if (!good || !rows[i].name)
			continue;
		sock_name(&address, name, sizeof(name));
		CHECK_TEXT(name, rows[i].name);
	}
}

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
		CHECK(plans[0].count == plans[1].count && plans[0].count > 100);
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

static void storage_holds_out_sizes_of_four_readers(void)
{
	const struct host_bench bench = {.full = true};
	struct plan_random random = {1};
	struct plan plan = {.test = "storage"};
	size_t held_out = 0;
	host_probe_storage.add(&bench, &plan, &random);
	for (size_t i = 0; i < plan.count; i++) {
		held_out += plan.points[i].held_out;
		CHECK(!plan.points[i].held_out ||
		      plan_point_number(&plan.points[i], "parallel", 0) == 4);
	}
	CHECK(held_out > 0);
	plan_free(&plan);
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

static void late_and_closed_connections_have_their_messages(void)
{
	struct host_bench bench = {0};
	CHECK(host_code_of(&bench, SOCK_OK) == HOST_OK && bench.why[0] == '\0');
	CHECK(host_code_of(&bench, SOCK_LATE) == HOST_FAILED);
	CHECK(strstr(bench.why, "did not answer in time") != NULL);
	CHECK(host_code_of(&bench, SOCK_ENDED) == HOST_FAILED);
	CHECK(strstr(bench.why, "ended the connection") != NULL);
}

static const struct test tests[] = {
	TEST(either_signal_asks_to_stop),
	TEST(late_and_closed_connections_have_their_messages),
	TEST(orders_are_read_as_written),
	TEST(malformed_orders_are_refused),
	TEST(server_answers_rounds_over_tcp),
	TEST(server_answers_rounds_over_unix_sockets),
	TEST(server_survives_invalid_connections),
	TEST(addresses_are_parsed_and_named),
	TEST(team_runs_rounds_on_all_members),
	TEST(plans_repeat_and_hold_out_some_sizes),
	TEST(storage_holds_out_sizes_of_four_readers),
};

int main(void)
{
	stop_catch(); /* if the server has ended, the write returns an error */
	return TEST_MAIN(tests);
}
