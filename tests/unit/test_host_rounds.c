/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host probes measure rounds with a server whose answers take a known time, copies, reads of a
 * file that changes, and interruptions of a known length. Sockets, teams and cores keep their
 * promises. */
#define _GNU_SOURCE /* for CPU_COUNT() */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "calib/host/core.h"
#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/host/team.h"
#include "tests/test.h"

static void sleep_s(double time_s)
{
	const struct timespec time = {(time_t)time_s, (long)(fmod(time_s, 1) * 1e9)};
	nanosleep(&time, NULL);
}

/* ---- a server that works for EACH_S on each message ---- */

static const double EACH_S = 0.01;
enum { ORDERS_MOST = 4, MESSAGE_MOST_B = 4096 };

struct slow_server {
	int listener;
	struct peer_order orders[ORDERS_MOST]; /* in the order of the connections */
	size_t count;
};

static struct slow_server server;

static void *serve(void *context)
{
	int fd = *(int *)context;
	char text[PEER_ORDER_B];
	unsigned char bytes[MESSAGE_MOST_B] = {0};
	struct peer_order order = {0};
	free(context);
	sock_prepare(fd, false);
	if (sock_receive(fd, text, sizeof text, 5) == SOCK_OK && peer_order_read(text, &order)) {
		server.orders[server.count++ % ORDERS_MOST] = order;
		sock_send(fd, text, sizeof text, 5);
	}
	for (bool good = order.count > 0; good;) {
		for (size_t i = 0; i < order.count && good; i++) {
			good = sock_receive(fd, bytes, order.size_B, 5) == SOCK_OK;
			sleep_s(EACH_S);
		}
		good = good && sock_send(fd, bytes, order.reply_B, 5) == SOCK_OK;
	}
	close(fd);
	return NULL;
}

static void *accept_all(void *context)
{
	for (int fd; (fd = accept(server.listener, NULL, NULL)) >= 0;) {
		int *own = malloc(sizeof *own);
		pthread_t thread;
		*own = fd;
		if (pthread_create(&thread, NULL, serve, own) == 0)
			pthread_detach(thread);
	}
	return NULL;
}

static struct host_bench slow_bench(void)
{
	static struct sock_address address = {.length = sizeof(struct sockaddr_in)};
	static bool started;
	char why[SOCK_WHY];
	pthread_t thread;
	if (!started) {
		const struct sockaddr_in local = {.sin_family = AF_INET,
						  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		memcpy(&address.address, &local, sizeof local);
		server.listener = sock_listen(&address, why);
		CHECK(server.listener >= 0);
		CHECK(pthread_create(&thread, NULL, accept_all, NULL) == 0);
		started = true;
	}
	server.count = 0;
	return (struct host_bench){.peer = {.address = address, .control = -1}, .core_count = 2};
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

/* The time of a round without other work is EACH_S for each message. The cost of the clock is set
 * to -EACH_S, so it adds this time where it is subtracted. The gap is (16 - 1) EACH_S / 15. */
static void tcp_tests_time_rounds_sends_receives_and_gaps(void)
{
	static const struct {
		const char *what, *nagle;
		size_t n, streams;
		struct peer_order order;
		double least_s, most_s; /* what the test measures */
	} rows[] = {
		{"roundtrip", "on", 1, 1, {1, 100, 100, true}, 1, 1.9},
		{"roundtrip", "off", 4, 1, {4, 100, 100, false}, 4, 6},
		{"gap", "off", 16, 1, {16, 100, 100, false}, 0.965, 1.9},
		{"overhead", "off", 4, 1, {4, 100, 1, false}, 1, 1.5},
		{"receive", "off", 1, 1, {1, 1, 100, false}, 1, 1.5},
		{"stream", "off", 1, 2, {1, 100, 1, false}, 1, 1.9},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct host_bench bench = slow_bench();
		const struct plan_point point = {
			.is = {{"what", rows[i].what}, {"nagle", rows[i].nagle}},
			.x = {{"size_B", 100},
			      {"n", (double)rows[i].n},
			      {"delay_s", 0},
			      {"streams", (double)rows[i].streams}}};
		bench.clock_cost_s = -EACH_S;
		double value =
			least_of(&bench, &host_probe_tcp, &point, 100, rows[i].most_s * EACH_S) /
			EACH_S;
		if (!CHECK(value >= rows[i].least_s && value <= rows[i].most_s))
			printf("  %s: %g\n", rows[i].what, value);
		bool gap = strcmp(rows[i].what, "gap") == 0;
		CHECK(server.count == (gap ? 2 : rows[i].streams));
		for (size_t k = 0; k < (gap ? 1 : server.count); k++) {
			const struct peer_order *order = &server.orders[k];
			CHECK(order->count == rows[i].order.count);
			CHECK(order->size_B == rows[i].order.size_B);
			CHECK(order->reply_B == rows[i].order.reply_B);
			CHECK(order->nagle == rows[i].order.nagle);
		}
		if (gap) /* the second connection measures one message */
			CHECK(server.orders[1].count == 1 && server.orders[1].reply_B == 100);
	}
}

/* Times below zero, after a cost of the clock that is too large, become zero. */
static void negative_times_become_zero(void)
{
	struct host_bench bench = slow_bench();
	const struct plan_point point = {.is = {{"what", "receive"}, {"nagle", "off"}},
					 .x = {{"size_B", 100}}};
	bench.clock_cost_s = 1;
	double value = least_of(&bench, &host_probe_tcp, &point, 2, -1);
	CHECK(value >= 0 && value <= 0);
}

static void calls_send_and_receive_their_sizes(void)
{
	struct host_bench bench = slow_bench();
	struct plan_point point = {.is = {{"transport", "tcp"}},
				   .x = {{"size_B", 300}, {"reply_B", 70}}};
	double value = least_of(&bench, &host_probe_rpc, &point, 100, 1.9 * EACH_S) / EACH_S;
	CHECK(value >= 1 && value <= 1.9);
	CHECK(server.count == 1 && server.orders[0].count == 1);
	CHECK(server.orders[0].size_B == 300 && server.orders[0].reply_B == 70);
	point.is[0].value = "unix"; /* the server is not a child of this process */
	CHECK(least_of(&bench, &host_probe_rpc, &point, 1, -1) < 0);
	CHECK_PART(bench.why, "cannot reach another machine");
}

/* The plan has calls with a small answer and calls with a small request. */
static void plan_of_calls_varies_one_size_at_a_time(void)
{
	struct host_bench bench = {0};
	struct plan plan = {.test = "rpc"};
	struct plan_random random = {1};
	size_t requests = 0, answers = 0;
	host_probe_rpc.add(&bench, &plan, &random);
	for (size_t i = 0; i < plan.count; i++) {
		double size_B = plan_point_number(&plan.points[i], "size_B", 0);
		double reply_B = plan_point_number(&plan.points[i], "reply_B", 0);
		CHECK(size_B == 64 || reply_B == 64);
		requests += size_B > 64;
		answers += reply_B > 64;
	}
	CHECK(requests > answers && answers >= 2 * 4);
	plan_free(&plan);
}

/* ---- memory and storage ---- */

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

static int sample_storage(struct host_bench *bench, const struct plan_point *point, int rounds)
{
	double value;
	int code = HOST_OK;
	for (int i = 0; i < rounds && code == HOST_OK; i++)
		code = host_probe_storage.sample(bench, point, &value);
	return code;
}

/* A round of one reader reads 8 blocks of 4 KiB. The file loses blocks behind the first 8 after the
 * probe has learnt its size of 16. A reader in order fails in its second round, a random one
 * sooner or later; a file of 8 blocks begins again. */
static void readers_in_order_read_block_after_block(void)
{
	static const struct {
		const char *what;
		off_t blocks;
		int rounds;
		bool first_works, later_work;
	} rows[] = {{"sequential", 16, 1, true, false},
		    {"sequential", 8, 8, true, true},
		    {"random", 16, 50, false, false},
		    {"random", 8, 8, true, true}};
	char path[] = "/tmp/farwire-test-XXXXXX";
	int fd = mkstemp(path);
	unlink(path);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct host_bench bench = {
			.file = {.fd = fd, .size_B = 4096 * (double)rows[i].blocks}};
		const struct plan_point point = {.is = {{"what", rows[i].what}},
						 .x = {{"size_B", 4096}, {"parallel", 1}}};
		CHECK(ftruncate(fd, 4096 * 8) == 0);
		bench.own = calloc(1, host_probe_storage.own_B);
		CHECK(host_probe_storage.begin(&bench, &point) == HOST_OK);
		int code = sample_storage(&bench, &point, rows[i].rounds);
		CHECK(code == (rows[i].first_works ? HOST_OK : HOST_FAILED));
		code = sample_storage(&bench, &point, 1);
		CHECK(!rows[i].first_works || code == (rows[i].later_work ? HOST_OK : HOST_FAILED));
		host_probe_storage.end(&bench);
		free(bench.own);
	}
	close(fd);
}

/* A reader reads 8 blocks of 128 KiB in a round, or one of 1 MiB. A large block takes longer. */
static void reads_are_timed_one_by_one(void)
{
	char path[] = "/tmp/farwire-test-XXXXXX";
	int fd = mkstemp(path);
	unlink(path);
	CHECK(ftruncate(fd, 1 << 20) == 0);
	struct host_bench bench = {.file = {.fd = fd, .direct = true, .size_B = 1 << 20}};
	double times_s[2];
	for (int i = 0; i < 2; i++) {
		const struct plan_point point = {
			.is = {{"what", "sequential"}},
			.x = {{"size_B", i ? 1 << 20 : 1 << 17}, {"parallel", 1}}};
		times_s[i] = least_of(&bench, &host_probe_storage, &point, 50, -1);
	}
	CHECK(times_s[0] > 0 && times_s[1] > 2.5 * times_s[0]);
	close(fd);
}

/* ---- noise ---- */

static void interrupt_for_4_ms(int number)
{
	double end_s = clock_now_s() + 0.004;
	while (clock_now_s() < end_s)
		;
}

/* An interruption takes 4 of each 8 ms. */
static void noise_is_the_lost_part_of_the_time(void)
{
	struct host_bench bench = {0};
	struct sigaction action = {.sa_handler = interrupt_for_4_ms}, before;
	const struct itimerval each = {{0, 8000}, {0, 8000}}, none = {{0, 0}, {0, 0}};
	const struct plan_point lost = {.is = {{"what", "lost"}}, .x = {{"period_s", 0.01}}},
				detour = {.is = {{"what", "detour"}}, .x = {{"period_s", 10}}};
	double parts[15], longest_s = 0;
	bench.own = calloc(1, host_probe_noise.own_B);
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &each, NULL);
	for (size_t i = 0; i < 15; i++)
		CHECK(host_probe_noise.sample(&bench, &lost, &parts[i]) == HOST_OK);
	CHECK(host_probe_noise.begin(&bench, &detour) == HOST_OK);
	for (size_t i = 0; i < 200 && longest_s < 0.004; i++) {
		double value = 0;
		CHECK(host_probe_noise.sample(&bench, &detour, &value) == HOST_OK && value > 1e-6);
		longest_s = fmax(longest_s, value);
	}
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
	CHECK(longest_s >= 0.004);
	for (size_t i = 0; i < 15; i++) /* a period ends during an interruption */
		CHECK(parts[i] > 0.2 && parts[i] <= 1);
	free(bench.own);
}

/* The cost of reading the clock is that of 10,000 readings, divided by their number. */
static void cost_of_the_clock_is_that_of_one_reading(void)
{
	double least_s = INFINITY, own_s = INFINITY;
	for (int k = 0; k < 20; k++) {
		double start_s = clock_now_s();
		for (int i = 0; i < 10000; i++)
			clock_now_s();
		own_s = fmin(own_s, (clock_now_s() - start_s) / 10000);
		least_s = fmin(least_s, host_clock_cost_s());
	}
	CHECK(least_s > own_s / 3 && least_s < own_s * 3);
}

/* ---- sockets, teams and cores ---- */

static void sockets_tell_an_end_from_a_cut_message(void)
{
	int pair[2], value = 0;
	socklen_t length = sizeof value;
	char bytes[8] = "";
	for (int sent = 0; sent <= 3; sent += 3) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
		CHECK(sock_send(pair[0], bytes, (size_t)sent, 1) == SOCK_OK);
		close(pair[0]);
		CHECK(sock_receive(pair[1], bytes, 5, 1) == (sent ? SOCK_FAILED : SOCK_ENDED));
		close(pair[1]);
	}
	struct host_bench bench = slow_bench();
	int fd = sock_connect(&bench.peer.address, 1, bench.why);
	for (int nagle = 0; nagle < 2; nagle++) {
		sock_prepare(fd, nagle == 1);
		CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0);
		CHECK((value != 0) == (nagle == 0));
	}
	const struct sock_facts facts =
		sock_facts(fd); /* a round trip to itself takes less than 10 ms */
	CHECK(facts.rtt_s > 0 && facts.rtt_s < 0.01 && facts.mss_B >= 536);
	CHECK(facts.send_buffer_B > 0 && facts.receive_buffer_B > 0);
	close(fd);
}

/* While it has a peer on one host, a server closes connections from others. */
static void *serve_one(void *context)
{
	char why[SOCK_WHY];
	peer_serve(*(int *)context, -1, why);
	return NULL;
}

static int connect_from(const char *source, const struct sock_address *to)
{
	char why[SOCK_WHY];
	struct sock_address from;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(sock_parse(source, 0, &from, why));
	CHECK(bind(fd, (const struct sockaddr *)&from.address, from.length) == 0);
	CHECK(connect(fd, (const struct sockaddr *)&to->address, to->length) == 0);
	return fd;
}

static void server_refuses_other_hosts_than_its_peer(void)
{
	char why[SOCK_WHY], text[PEER_ORDER_B + 1];
	struct sock_address address;
	struct peer peer;
	pthread_t thread;
	CHECK(sock_parse("127.0.0.1", 0, &address, why));
	int listener = sock_listen(&address, why);
	CHECK(listener >= 0 && pthread_create(&thread, NULL, serve_one, &listener) == 0);
	CHECK(peer_connect(&peer, &address, why) == 0);
	snprintf(text, sizeof text, "%-*s", PEER_ORDER_B, "farwire-peer 1 serve 1 1 1 0");
	for (int own = 0; own < 2; own++) {
		int fd = connect_from(own ? "127.0.0.1" : "127.0.0.2", &address);
		char answer[PEER_ORDER_B];
		sock_prepare(fd, false);
		sock_send(fd, text, PEER_ORDER_B, 1);
		CHECK((sock_receive(fd, answer, sizeof answer, 5) == SOCK_OK) == (own == 1));
		close(fd);
	}
	peer_stop(&peer);
	pthread_join(thread, NULL);
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

/* The prober keeps the first core, and the server all others. */
static void prober_and_server_share_no_core(void)
{
	struct core_set saved;
	cpu_set_t all, own, others, both;
	CHECK(core_save(&saved));
	CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
	if (CPU_COUNT(&all) < 2) {
		CHECK(!core_keep(&saved, true));
		return;
	}
	size_t first = 0;
	while (!CPU_ISSET(first, &all))
		first++;
	CHECK(core_keep(&saved, true) && sched_getaffinity(0, sizeof own, &own) == 0);
	CHECK(CPU_COUNT(&own) == 1 && CPU_ISSET(first, &own));
	CHECK(core_keep(&saved, false) && sched_getaffinity(0, sizeof others, &others) == 0);
	CPU_OR(&both, &own, &others);
	CHECK(CPU_COUNT(&others) == CPU_COUNT(&all) - 1 && CPU_EQUAL(&both, &all));
	core_restore(&saved);
	CHECK(sched_getaffinity(0, sizeof both, &both) == 0 && CPU_EQUAL(&both, &all));
}

static const struct test tests[] = {
	TEST(tcp_tests_time_rounds_sends_receives_and_gaps),
	TEST(negative_times_become_zero),
	TEST(calls_send_and_receive_their_sizes),
	TEST(plan_of_calls_varies_one_size_at_a_time),
	TEST(copies_are_timed_one_by_one),
	TEST(readers_in_order_read_block_after_block),
	TEST(reads_are_timed_one_by_one),
	TEST(noise_is_the_lost_part_of_the_time),
	TEST(cost_of_the_clock_is_that_of_one_reading),
	TEST(sockets_tell_an_end_from_a_cut_message),
	TEST(server_refuses_other_hosts_than_its_peer),
	TEST(time_of_a_round_is_that_of_the_last_member),
	TEST(prober_and_server_share_no_core),
};

int main(void)
{
	stop_catch();
	return TEST_MAIN(tests);
}
