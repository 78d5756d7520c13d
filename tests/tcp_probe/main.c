/* SPDX-License-Identifier: Apache-2.0 */
/* farwire-tcp measures TCP between two addresses for the benches tests/bench/live and
 * tests/bench/tcp_namespaces:
 *
 *   farwire-tcp --server ADDRESS[:PORT]
 *   farwire-tcp --connect ADDRESS[:PORT] -o FILE|--continue FILE [--full] [--budget S]
 *               [--only PATTERN,...]
 *
 * The recording has the format of farwire's probes (docs/formats.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tcp_probe/stop.h"
#include "calib/sample/clock.h"
#include "calib/sample/run.h"
#include "tests/tcp_probe/rounds.h"

#define TOOL    "farwire-tcp"
#define QUICK_S 60.0
#define FULL_S  600.0

struct options {
	const char *server, *connect, *output, *resume, *only;
	double budget_s;
	bool full;
};

struct measuring {
	struct tcp_bench bench;
	struct sock_facts network;
};

static int say(const char *why)
{
	fprintf(stderr, "farwire-tcp: %s\n", why);
	return 1;
}

static bool take_words(int count, char **words, struct options *options)
{
	const struct {
		const char *name, **value;
	} texts[] = {{"--server", &options->server},
		     {"--connect", &options->connect},
		     {"-o", &options->output},
		     {"--continue", &options->resume},
		     {"--only", &options->only}};
	for (int i = 1; i < count; i++) {
		const char **value = NULL;
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
			if (strcmp(words[i], texts[k].name) == 0)
				value = texts[k].value;
		if (strcmp(words[i], "--full") == 0)
			options->full = true;
		else if (i + 1 == count)
			return false;
		else if (value)
			*value = words[++i];
		else if (strcmp(words[i], "--budget") == 0)
			options->budget_s = strtod(words[++i], NULL);
		else
			return false;
	}
	return options->server || (options->connect && (options->output || options->resume));
}

static int serve(const char *text)
{
	char why[SOCK_WHY];
	struct sock_address address;
	int listener = sock_parse(text, PEER_PORT, &address, why) ? sock_listen(&address, why) : -1;
	return listener < 0 || peer_serve(listener, why) != 0 ? say(why) : 0;
}

/* ---- measuring ---- */

/* Measures the cost of reading the clock. */
static double clock_cost_s(void)
{
	double start_s = clock_now_s(), now_s = start_s;
	for (int i = 0; i < 10000; i++)
		now_s = clock_now_s();
	return (now_s - start_s) / 10000;
}

static double now(void *context)
{
	return clock_now_s();
}

static bool stopped(void *context)
{
	return stop_asked();
}

static int begin(void *context, const struct plan_point *point, double deadline_s)
{
	return tcp_begin(&((struct measuring *)context)->bench, point);
}

static int sample(void *context, const struct plan_point *point, double *value)
{
	return tcp_sample(&((struct measuring *)context)->bench, point, value);
}

static void end(void *context, const struct plan_point *point)
{
	tcp_end(&((struct measuring *)context)->bench);
}

/* Returns whether the name of a point begins with one of the patterns between commas. */
static bool wanted(const char *only, const struct plan_point *point)
{
	char name[256];
	plan_point_variant(point, name, sizeof(name));
	for (; only; only = strchr(only, ',') ? strchr(only, ',') + 1 : NULL)
		if (strncmp(name, only, strcspn(only, ",")) == 0)
			return true;
	return false;
}

static void make_plan(const struct tcp_bench *bench, const char *only, struct plan *plan)
{
	struct plan all = {.seed = plan->seed, .test = "tcp"};
	struct plan_random random = {plan->seed};
	tcp_plan(bench, &all, &random);
	for (size_t i = 0; i < all.count; i++)
		if (wanted(only ? only : "tcp", &all.points[i]))
			plan_add(plan, &all.points[i]);
	plan_free(&all);
}

/* Runs a few rounds, after which TCP's facts on the connection are available. */
static int look_at_network(struct measuring *m)
{
	char byte = 0;
	const struct peer_order order = {.count = 1, .size_B = 1, .reply_B = 1};
	int fd = peer_open(&m->bench.peer, &order, m->bench.why);
	if (fd < 0)
		return -1;
	for (int i = 0; i < 20; i++)
		if (sock_send(fd, &byte, 1, PEER_WAIT_S) != SOCK_OK ||
		    sock_receive(fd, &byte, 1, PEER_WAIT_S) != SOCK_OK)
			break;
	m->network = sock_facts(fd);
	close(fd);
	return 0;
}

static void put_network(struct json_writer *json, void *context)
{
	const struct measuring *m = context;
	char address[96];
	sock_name(&m->bench.peer.address, address, sizeof(address));
	jw_open(json, "network", '{');
	jw_text(json, "address", address);
	jw_text(json, "congestion", m->network.congestion);
	jw_real(json, "mss_B", m->network.mss_B);
	jw_real(json, "rtt_s", m->network.rtt_s);
	jw_real(json, "send_buffer_B", m->network.send_buffer_B);
	jw_real(json, "receive_buffer_B", m->network.receive_buffer_B);
	jw_close(json);
}

static int open_record(struct measuring *m, const struct options *options, struct record *record,
		       size_t *passes)
{
	struct record_found found;
	const struct record_start start = {.tool = TOOL,
					   .mode = m->bench.full ? "full" : "quick",
					   .seed = 1,
					   .passes = *passes,
					   .more = put_network,
					   .context = m};
	if (!options->resume)
		return record_create(record, options->output, &start);
	if (record_continue(record, options->resume, &found) != 0)
		return -1;
	*passes = found.passes;
	m->bench.full = strcmp(found.mode, "full") == 0;
	return 0;
}

static int measure(const struct options *options)
{
	struct measuring m = {.bench = {.full = options->full}};
	struct record record = {.file = -1};
	struct plan plan = {.seed = 1};
	struct sock_address address;
	size_t passes = options->full ? 10 : 3;
	if (!sock_parse(options->connect, PEER_PORT, &address, m.bench.why) ||
	    peer_connect(&m.bench.peer, &address, m.bench.why) != 0 || look_at_network(&m) != 0)
		return say(m.bench.why);
	m.bench.clock_cost_s = clock_cost_s();
	if (open_record(&m, options, &record, &passes) != 0)
		return say(record.why);
	const struct run_prober prober = {.context = &m,
					  .now_s = now,
					  .stopped = stopped,
					  .begin = begin,
					  .sample = sample,
					  .end = end,
					  .why = m.bench.why,
					  .deadline_s = 10};
	const struct run run = {.prober = &prober,
				.plan = &plan,
				.record = &record,
				.program = TOOL,
				.go_on = "continue with --continue FILE",
				.passes = passes,
				.budget_s = options->budget_s > 0 ? options->budget_s
					    : m.bench.full        ? FULL_S
								  : QUICK_S,
				.quiet = true};
	make_plan(&m.bench, options->only, &plan);
	int code = record.ended ? run_ended(&run, options->resume) : run_passes(&run);
	plan_free(&plan);
	if (record_close(&record) != 0 && code == 0)
		code = say("the last bytes of the recording could not be written");
	close(m.bench.peer.control);
	return code;
}

int main(int count, char **words)
{
	struct options options = {0};
	if (!take_words(count, words, &options)) {
		say("usage: --server ADDRESS, or --connect ADDRESS -o FILE|--continue FILE");
		return 2;
	}
	stop_catch();
	int code = options.server ? serve(options.server) : measure(&options);
	stop_release();
	return code;
}
