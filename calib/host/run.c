/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/host/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/sample/record.h"
#include "calib/sample/run.h"

#define TOOL       "farwire probe host"
#define DEADLINE_S 10.0 /* time a point may take beyond twice its share */

_Static_assert((int)HOST_WAIVED == RUN_WAIVED && (int)HOST_FAILED == RUN_FAILED &&
		       (int)HOST_STOPPED == RUN_STOPPED,
	       "the codes of host probes are those of a run");

struct host {
	const struct host_run_options *options;
	struct host_bench bench;
	struct plan plan;
	struct record record;
	size_t passes;
	struct sock_facts network;
	char address[96];
};

static int say(const char *what, const char *why)
{
	fprintf(stderr, "farwire: %s%s%s\n", what, *what ? ": " : "", why);
	return 1;
}

/* ---- choosing the points ---- */

/* Reads the next pattern of a comma-separated list. Returns false at the end. */
static bool next_pattern(const char **list, char *pattern, size_t room)
{
	if (!*list)
		return false;
	size_t length = strcspn(*list, ",");
	snprintf(pattern, room, "%.*s", (int)length, *list);
	*list = (*list)[length] ? *list + length + 1 : NULL;
	return true;
}

/* Compares a pattern with the test, or with the test and its first words: "tcp", "tcp.roundtrip",
 * "*.off". */
static bool matches(const char *pattern, const struct plan_point *point)
{
	char name[256];
	size_t length = strlen(pattern);
	plan_point_variant(point, name, sizeof(name));
	return plan_matches(pattern, name) ||
	       (strncmp(pattern, name, length) == 0 && (!name[length] || name[length] == '.'));
}

static bool wanted(const char *only, const struct plan_point *point)
{
	char pattern[128];
	if (!only)
		return true;
	while (next_pattern(&only, pattern, sizeof(pattern)))
		if (matches(pattern, point))
			return true;
	return false;
}

/* Returns 0, or 2 if a pattern of --only matches nothing. */
static int check_only(const char *only, const struct plan *plan)
{
	char pattern[128];
	while (next_pattern(&only, pattern, sizeof(pattern))) {
		bool known = false;
		for (size_t i = 0; i < plan->count; i++)
			known |= matches(pattern, &plan->points[i]);
		if (known)
			continue;
		fprintf(stderr, "farwire: --only: '%s' matches no test of", pattern);
		for (size_t i = 0; host_probes[i]; i++)
			fprintf(stderr, "%s %s", i ? "," : "", host_probes[i]->test);
		fputs("; write one of them, or a variant such as tcp.roundtrip or '*.off'\n",
		      stderr);
		return 2;
	}
	return 0;
}

/* Makes the plan of all points first, so that random sizes do not depend on --only. */
static int make_plan(struct host *host, uint64_t seed)
{
	struct plan all = {.seed = seed};
	struct plan_random random = {seed};
	const char *only = host->options->only;
	host->plan = (struct plan){.seed = seed};
	for (size_t i = 0; host_probes[i]; i++) {
		all.owner = host_probes[i];
		all.test = host_probes[i]->test;
		host_probes[i]->add(&host->bench, &all, &random);
	}
	for (size_t i = 0; i < all.count; i++)
		if (wanted(only, &all.points[i]))
			plan_add(&host->plan, &all.points[i]);
	bool failed = all.failed || host->plan.failed;
	int code = failed ? say("", "out of memory") : check_only(only, &all);
	plan_free(&all);
	return code;
}

/* Returns true if a point of the test, or any network point, will be measured. */
static bool wants(const struct host *host, const char *test)
{
	for (size_t i = 0; i < host->plan.count; i++) {
		const struct host_probe *probe = host->plan.points[i].owner;
		if (test ? strcmp(probe->test, test) == 0 : probe->network)
			return true;
	}
	return false;
}

/* ---- preparing the bench ---- */

/* Runs a few rounds, after which TCP's facts on the connection are available. */
static int look_at_network(struct host *host)
{
	char byte = 0, *why = host->bench.why;
	const struct peer_order order = {.count = 1, .size_B = 1, .reply_B = 1};
	int fd = peer_open(&host->bench.peer, false, &order, why);
	if (fd < 0)
		return -1;
	for (int i = 0; i < 20; i++)
		if (sock_send(fd, &byte, 1, PEER_WAIT_S) != SOCK_OK ||
		    sock_receive(fd, &byte, 1, PEER_WAIT_S) != SOCK_OK)
			break;
	host->network = sock_facts(fd);
	close(fd);
	sock_name(&host->bench.peer.address, host->address, sizeof(host->address));
	return 0;
}

static int open_network(struct host *host)
{
	struct sock_address address;
	const char *connect = host->options->connect;
	char *why = host->bench.why;
	if (!wants(host, NULL))
		return 0;
	if (connect && !sock_parse(connect, PEER_PORT, &address, why))
		return say("--connect", why) + 1;
	int code = connect ? peer_connect(&host->bench.peer, &address, why)
			   : peer_start(&host->bench.peer, why);
	if (code == 0)
		code = look_at_network(host);
	return code == 0 ? 0 : say(connect ? connect : "the server", why);
}

static int open_bench(struct host *host)
{
	struct host_bench *bench = &host->bench;
	const char *temporary = getenv("TMPDIR");
	bench->scratch = host->options->scratch      ? host->options->scratch
			 : temporary && temporary[0] ? temporary
						     : "/tmp";
	int code = open_network(host); /* first, because a local server is a fork of this process */
	bench->clock_cost_s = host_clock_cost_s();
	if (code == 0 && wants(host, "storage") && host_file_open(bench) != HOST_OK)
		code = say("", "interrupted");
	return code;
}

/* ---- starting the recording ---- */

static const char *server_of(const struct host *host)
{
	return host->options->connect ? host->options->connect : "own";
}

static void put_more(struct json_writer *json, void *context)
{
	const struct host *host = context;
	const struct sock_facts *network = &host->network;
	if (host->address[0]) {
		jw_open(json, "network", '{');
		jw_text(json, "server", server_of(host));
		jw_text(json, "address", host->address);
		jw_text(json, "congestion", network->congestion);
		jw_real(json, "mss_B", network->mss_B);
		jw_real(json, "rtt_s", network->rtt_s);
		jw_real(json, "send_buffer_B", network->send_buffer_B);
		jw_real(json, "receive_buffer_B", network->receive_buffer_B);
		jw_flag(json, "cores_apart", host->bench.peer.apart);
		jw_close(json);
	}
	if (host->bench.file.fd >= 0) {
		jw_open(json, "storage", '{');
		jw_text(json, "path", host->bench.file.direct ? "direct" : "cached");
		jw_real(json, "file_B", host->bench.file.size_B);
		jw_close(json);
	}
}

static int create(struct host *host, uint64_t seed)
{
	const struct record_start start = {
		.tool = TOOL,
		.mode = host->bench.full ? "full" : "quick",
		.seed = seed,
		.passes = host->passes,
		.more = put_more,
		.context = host,
	};
	if (record_create(&host->record, host->options->output, &start) == 0)
		return 0;
	return say("", host->record.why);
}

/* Continues a recording. The settings in its line 1 override the command line. */
static int resume(struct host *host, uint64_t *seed)
{
	struct record_found found;
	if (record_continue(&host->record, host->options->resume, &found) != 0)
		return say("", host->record.why) + 1;
	if (strcmp(found.tool, TOOL) != 0)
		return say(host->options->resume, "the file was not recorded by `farwire probe "
						  "host` (name one of its recordings)") +
		       1;
	char server[SOCK_WHY];
	snprintf(server, sizeof(server), "\"network\":{\"server\":\"%.100s\"", server_of(host));
	if (strstr(host->record.old, "\"network\":{") && !strstr(host->record.old, server))
		return say(host->options->resume, "the recording was measured with another "
						  "--connect (write the same one)") +
		       1;
	*seed = found.seed;
	host->passes = found.passes;
	host->bench.full = strcmp(found.mode, "full") == 0;
	return 0;
}

/* ---- the whole run ---- */

static double now(void *context)
{
	return clock_now_s();
}

static bool stopped(void *context)
{
	return stop_asked();
}

static int begin_point(void *context, const struct plan_point *point, double deadline_s)
{
	struct host_bench *bench = &((struct host *)context)->bench;
	const struct host_probe *probe = point->owner;
	bench->own = calloc(1, probe->own_B);
	return bench->own ? probe->begin(bench, point)
			  : host_fail(bench, HOST_FAILED, "out of memory");
}

static int sample_point(void *context, const struct plan_point *point, double *value)
{
	struct host *host = context;
	return ((const struct host_probe *)point->owner)->sample(&host->bench, point, value);
}

static void end_point(void *context, const struct plan_point *point)
{
	struct host_bench *bench = &((struct host *)context)->bench;
	const struct host_probe *probe = point->owner;
	if (bench->own && probe->end)
		probe->end(bench);
	free(bench->own);
	bench->own = NULL;
}

/* Writes how to continue this run. */
static void put_go_on(const struct host_run_options *options, char *text, size_t room)
{
	const char *file = options->resume ? options->resume : options->output;
	if (file)
		snprintf(text, room, "continue with `farwire probe host%s%s%s%s --continue %s`",
			 options->only ? " --only " : "", options->only ? options->only : "",
			 options->connect ? " --connect " : "",
			 options->connect ? options->connect : "", file);
	else
		snprintf(text, room, "use -o FILE to be able to continue a run");
}

static int run_opened(struct host *host)
{
	const struct host_run_options *options = host->options;
	char go_on[5000];
	const struct run_prober prober = {
		.context = host,
		.now_s = now,
		.stopped = stopped,
		.begin = begin_point,
		.sample = sample_point,
		.end = end_point,
		.why = host->bench.why,
		.deadline_s = DEADLINE_S,
	};
	struct run run = {
		.prober = &prober,
		.plan = &host->plan,
		.record = &host->record,
		.program = "farwire",
		.go_on = go_on,
	};
	uint64_t seed = options->seed;
	int code = options->resume ? resume(host, &seed) : 0;
	run.quiet = options->quiet;
	if (code == 0 && host->record.ended)
		return run_ended(&run, options->resume);
	if (code == 0)
		code = make_plan(host, seed);
	if (code == 0)
		code = open_bench(host);
	if (code == 0 && !options->resume)
		code = create(host, seed);
	run.passes = host->passes;
	run.budget_s = options->budget_s > 0 ? options->budget_s
		       : host->bench.full    ? HOST_FULL_S
					     : HOST_QUICK_S;
	put_go_on(options, go_on, sizeof(go_on));
	return code == 0 ? run_passes(&run) : code;
}

int host_run(const struct host_run_options *options)
{
	struct host host = {
		.options = options,
		.record.file = -1,
		.bench = {.full = options->full, .peer.control = -1, .file.fd = -1},
		.passes = options->full ? HOST_FULL_PASSES : HOST_QUICK_PASSES,
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	host.bench.core_count = cores > 0 ? (size_t)cores : 1;
	stop_catch();
	int code = run_opened(&host);
	peer_stop(&host.bench.peer);
	if (host.bench.file.fd >= 0)
		close(host.bench.file.fd);
	plan_free(&host.plan);
	if (record_close(&host.record) != 0 && code == 0)
		code = say("", "the last bytes of the recording could not be written");
	stop_release();
	return code;
}

int host_serve(const char *text, bool quiet)
{
	char why[SOCK_WHY], name[96];
	struct sock_address address;
	if (!sock_parse(text, PEER_PORT, &address, why))
		return say("--server", why) + 1;
	stop_catch();
	int listener = sock_listen(&address, why);
	if (listener < 0)
		return say("", why);
	sock_name(&address, name, sizeof(name));
	if (!quiet)
		fprintf(stderr,
			"farwire: waiting for one peer; on the other machine, start `farwire probe "
			"host --connect %s`\n",
			name);
	int code = peer_serve(listener, -1, why) == 0 ? 0 : say("", why);
	stop_release();
	return code;
}
