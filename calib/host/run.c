/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/host/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/sample/record.h"
#include "calib/sample/sampler.h"

#define TOOL        "farwire probe host"
#define DEADLINE_S  10.0 /* of a point, beyond twice its share */
#define WAIVED_MOST 16

struct run {
	const struct host_run_options *options;
	struct host_bench bench;
	struct plan plan;
	struct record record;
	size_t passes, pass, done;
	double start_s, budget_s, shown_s;
	bool terminal;
	struct sock_facts network;
	char address[96];
	bool *waived; /* for each point */
	struct {
		const char *test;
		char why[SOCK_WHY];
	} told[WAIVED_MOST];
	size_t told_count;
};

static int say(const char *what, const char *why)
{
	fprintf(stderr, "farwire: %s%s%s\n", what, *what ? ": " : "", why);
	return 1;
}

/* ---- what to measure ---- */

/* The next pattern of a list between commas; false: there is no more. */
static bool next_pattern(const char **list, char *pattern, size_t room)
{
	if (!*list)
		return false;
	size_t length = strcspn(*list, ",");
	snprintf(pattern, room, "%.*s", (int)length, *list);
	*list = (*list)[length] ? *list + length + 1 : NULL;
	return true;
}

/* By its test, or by that and its first words: "tcp", "tcp.roundtrip", "*.off". */
static bool matches(const char *pattern, const struct plan_point *point)
{
	char name[256];
	snprintf(name, sizeof(name), "%s", point->test);
	for (size_t i = 0; i < PLAN_WORDS && point->is[i].key; i++) {
		size_t used = strlen(name);
		snprintf(name + used, sizeof(name) - used, ".%s", point->is[i].value);
	}
	size_t length = strlen(pattern);
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

/* 0, or 2 if a pattern of --only is nothing's. */
static int check_only(const char *only, const struct plan *plan)
{
	char pattern[128];
	while (next_pattern(&only, pattern, sizeof(pattern))) {
		bool known = false;
		for (size_t i = 0; i < plan->count; i++)
			known |= matches(pattern, &plan->points[i]);
		if (known)
			continue;
		fprintf(stderr, "farwire: --only: '%s' is none of", pattern);
		for (size_t i = 0; host_probes[i]; i++)
			fprintf(stderr, "%s %s", i ? "," : "", host_probes[i]->test);
		fputs(", nor a variant as tcp.roundtrip or '*.off'\n", stderr);
		return 2;
	}
	return 0;
}

/* First everything, so that the random sizes do not depend on what is wanted. */
static int make_plan(struct run *run, uint64_t seed)
{
	struct plan all = {.seed = seed};
	struct plan_random random = {seed};
	const char *only = run->options->only;
	run->plan = (struct plan){.seed = seed};
	for (size_t i = 0; host_probes[i]; i++)
		host_probes[i]->add(host_probes[i], &run->bench, &all, &random);
	for (size_t i = 0; i < all.count; i++)
		if (wanted(only, &all.points[i]))
			plan_add(&run->plan, &all.points[i]);
	bool failed = all.failed || run->plan.failed;
	int code = failed ? say("", "out of memory") : check_only(only, &all);
	plan_free(&all);
	if (code == 0 && !(run->waived = calloc(run->plan.count, sizeof(*run->waived))))
		code = say("", "out of memory");
	return code;
}

/* Whether something of a test, or of the network's, is to be measured. */
static bool wants(const struct run *run, const char *test)
{
	for (size_t i = 0; i < run->plan.count; i++) {
		const struct host_probe *probe = run->plan.points[i].owner;
		if (test ? strcmp(probe->test, test) == 0 : probe->network)
			return true;
	}
	return false;
}

/* ---- what is measured with ---- */

/* A few rounds, for what TCP then says of the connection. */
static int look_at_network(struct run *run)
{
	char byte = 0, *why = run->bench.why;
	const struct peer_order order = {.count = 1, .size_B = 1, .reply_B = 1};
	int fd = peer_open(&run->bench.peer, false, &order, why);
	if (fd < 0)
		return -1;
	for (int i = 0; i < 20; i++)
		if (sock_send(fd, &byte, 1, PEER_WAIT_S) != SOCK_OK ||
		    sock_receive(fd, &byte, 1, PEER_WAIT_S) != SOCK_OK)
			break;
	run->network = sock_facts(fd);
	close(fd);
	sock_name(&run->bench.peer.address, run->address, sizeof(run->address));
	return 0;
}

static int open_network(struct run *run)
{
	struct sock_address address;
	const char *connect = run->options->connect;
	char *why = run->bench.why;
	if (!wants(run, NULL))
		return 0;
	if (connect && !sock_parse(connect, PEER_PORT, &address, why))
		return say("--connect", why) + 1;
	int code = connect ? peer_connect(&run->bench.peer, &address, why)
			   : peer_start(&run->bench.peer, why);
	if (code == 0)
		code = look_at_network(run);
	return code == 0 ? 0 : say(connect ? connect : "the server", why);
}

static int open_bench(struct run *run)
{
	struct host_bench *bench = &run->bench;
	const char *temporary = getenv("TMPDIR");
	bench->scratch = run->options->scratch       ? run->options->scratch
			 : temporary && temporary[0] ? temporary
						     : "/tmp";
	int code = open_network(run); /* first: a server of our own is a copy of all this */
	bench->clock_cost_s = host_clock_cost_s();
	if (code == 0 && wants(run, "storage") && host_file_open(bench) != HOST_OK)
		code = say("", "interrupted");
	return code;
}

/* ---- the recording's start ---- */

static const char *server_of(const struct run *run)
{
	return run->options->connect ? run->options->connect : "own";
}

static void put_more(struct json *json, void *context)
{
	const struct run *run = context;
	const struct sock_facts *network = &run->network;
	if (run->address[0]) {
		json_object(json, "network");
		json_word(json, "server", server_of(run));
		json_word(json, "address", run->address);
		json_word(json, "congestion", network->congestion);
		json_number(json, "mss_B", network->mss_B);
		json_number(json, "rtt_s", network->rtt_s);
		json_number(json, "send_buffer_B", network->send_buffer_B);
		json_number(json, "receive_buffer_B", network->receive_buffer_B);
		json_truth(json, "cores_apart", run->bench.peer.apart);
		json_close(json);
	}
	if (run->bench.file.fd >= 0) {
		json_object(json, "storage");
		json_word(json, "path", run->bench.file.direct ? "direct" : "cached");
		json_number(json, "file_B", run->bench.file.size_B);
		json_close(json);
	}
}

static int create(struct run *run, uint64_t seed)
{
	const struct record_start start = {
		.tool = TOOL,
		.mode = run->bench.full ? "full" : "quick",
		.seed = seed,
		.passes = run->passes,
		.more = put_more,
		.context = run,
	};
	if (record_create(&run->record, run->options->output, &start) == 0)
		return 0;
	return say("", run->record.why);
}

/* What line 1 says overrides the words: it is the same run. */
static int resume(struct run *run, uint64_t *seed)
{
	struct record_found found;
	if (record_continue(&run->record, run->options->resume, &found) != 0)
		return say("", run->record.why) + 1;
	if (strcmp(found.tool, TOOL) != 0)
		return say(run->options->resume, "was not recorded by `farwire probe host`") + 1;
	char server[SOCK_WHY];
	snprintf(server, sizeof(server), "\"network\":{\"server\":\"%.100s\"", server_of(run));
	if (strstr(run->record.old, "\"network\":{") && !strstr(run->record.old, server))
		return say(run->options->resume, "was measured to another server: give the same "
						 "--connect, or none") +
		       1;
	*seed = found.seed;
	run->passes = found.passes;
	run->bench.full = strcmp(found.mode, "full") == 0;
	return 0;
}

/* ---- progress ---- */

static void show(struct run *run, double now_s)
{
	size_t count = run->plan.count * run->passes;
	double spent_s = now_s - run->start_s, left_s = run->budget_s - spent_s;
	if (run->options->quiet || now_s - run->shown_s < (run->terminal ? 0.2 : 10.0))
		return;
	run->shown_s = now_s;
	if (run->done > 0)
		left_s = fmin(left_s, spent_s * (double)(count - run->done) / (double)run->done);
	fprintf(stderr, "%sfarwire: pass %zu of %zu, %.0f %% of %zu points, %.0f s left%s",
		run->terminal ? "\r\033[K" : "", run->pass + 1, run->passes,
		100.0 * (double)run->done / (double)count, count, fmax(left_s, 0),
		run->terminal ? "" : "\n");
	fflush(stderr);
}

/* ---- one point ---- */

struct one {
	struct host_bench *bench;
	const struct host_probe *probe;
	const struct plan_point *point;
};

static int sample_one(void *context, double *value)
{
	const struct one *one = context;
	if (stop_asked())
		return HOST_STOPPED;
	return one->probe->sample(one->bench, one->point, value);
}

static double now_one(void *context)
{
	(void)context;
	return sock_now_s();
}

static int measure(struct run *run, const struct plan_point *point, double share_s,
		   struct sampler_result *result)
{
	struct one one = {&run->bench, point->owner, point};
	const struct sampler sampler = {
		.interval_ratio = point->interval_ratio > 0 ? point->interval_ratio : SAMPLER_RATIO,
		.least = point->most > 0 ? point->most : SAMPLER_LEAST,
		.most = point->most > 0 ? point->most : SAMPLER_MOST,
		.warm_up_most = point->most > 0 ? 0 : SAMPLER_MOST / 5,
		.share_s = share_s,
		.deadline_s = 2 * share_s + DEADLINE_S,
		.context = &one,
		.sample = sample_one,
		.now_s = now_one,
	};
	int code = one.probe->begin(&run->bench, point);
	if (code == HOST_OK && sampler_run(&sampler, result) != 0)
		code = host_fail(&run->bench, HOST_FAILED, "out of memory");
	if (code == HOST_OK && result->stop == SAMPLER_FAILED)
		code = result->code;
	one.probe->end(&run->bench);
	if (code == HOST_OK && result->count == 0)
		code = host_fail(&run->bench, HOST_WAIVED,
				 result->stop == SAMPLER_DEADLINE ? "no sample before its deadline"
								  : "nothing was seen");
	return stop_asked() ? HOST_STOPPED : code;
}

static int waive(struct run *run, const char *test, const char *why)
{
	for (size_t i = 0; i < run->told_count; i++)
		if (strcmp(run->told[i].test, test) == 0 && strcmp(run->told[i].why, why) == 0)
			return 0;
	if (run->told_count < WAIVED_MOST) {
		run->told[run->told_count].test = test;
		snprintf(run->told[run->told_count++].why, SOCK_WHY, "%s", why);
	}
	return record_waived(&run->record, test, why);
}

static int complain(const struct run *run, const struct plan_point *point, const char *why)
{
	char name[256];
	plan_point_name(point, name, sizeof(name));
	if (run->terminal && !run->options->quiet)
		fputs("\r\033[K", stderr);
	return say(name, why);
}

static int interrupted(const struct run *run)
{
	const struct host_run_options *options = run->options;
	const char *file = options->resume ? options->resume : options->output;
	if (run->terminal && !run->options->quiet)
		fputs("\r\033[K", stderr);
	if (file)
		fprintf(stderr,
			"farwire: interrupted; go on with `farwire probe host%s%s%s%s --continue "
			"%s`\n",
			options->only ? " --only " : "", options->only ? options->only : "",
			options->connect ? " --connect " : "",
			options->connect ? options->connect : "", file);
	else
		fputs("farwire: interrupted; written with -o FILE, it could go on\n", stderr);
	return 1;
}

static int do_point(struct run *run, size_t index, size_t pass, double share_s)
{
	const struct plan_point *point = &run->plan.points[index];
	struct sampler_result result = {0};
	double t_s = sock_now_s() - run->start_s;
	int written = 0, code = measure(run, point, share_s, &result);
	if (code == HOST_WAIVED) {
		run->waived[index] = true;
		written = waive(run, point->test, run->bench.why);
	} else if (code == HOST_OK) {
		written = record_samples(&run->record,
					 &(struct record_samples){
						 .point = point,
						 .pass = pass,
						 .t_s = t_s,
						 .unit = point->unit ? point->unit : "s",
						 .stop = sampler_stop_name(result.stop),
						 .values = result.values,
						 .count = result.count,
					 });
	}
	free(result.values);
	if (code == HOST_STOPPED)
		return interrupted(run);
	if (code == HOST_FAILED)
		return complain(run, point, run->bench.why);
	return written == 0 ? 0 : complain(run, point, run->record.why);
}

/* ---- the whole ---- */

static int do_pass(struct run *run, size_t pass, size_t *order)
{
	size_t count = run->plan.count * run->passes;
	run->pass = pass;
	plan_shuffle(&run->plan, pass, order);
	for (size_t i = 0; i < run->plan.count; i++, run->done++) {
		double now_s = sock_now_s();
		show(run, now_s);
		if (run->waived[order[i]] ||
		    record_has(&run->record, &run->plan.points[order[i]], pass))
			continue;
		double left_s = run->budget_s - (now_s - run->start_s);
		if (left_s <= 0 && pass > 0) /* each point once, in any case */
			return 0;
		int code = do_point(run, order[i], pass, plan_share_s(left_s, count - run->done));
		if (code != 0)
			return code;
	}
	return 0;
}

static int do_passes(struct run *run)
{
	size_t *order = malloc(run->plan.count * sizeof(*order));
	int code = order ? 0 : say("", "out of memory");
	run->start_s = run->shown_s = sock_now_s();
	run->terminal = isatty(STDERR_FILENO) == 1;
	for (size_t pass = 0; pass < run->passes && code == 0; pass++)
		code = do_pass(run, pass, order);
	free(order);
	if (code != 0)
		return code;
	if (run->terminal && !run->options->quiet)
		fputs("\r\033[K", stderr);
	if (record_end(&run->record, sock_now_s() - run->start_s, NULL, 0) != 0)
		return say("", run->record.why);
	return 0;
}

static int run_opened(struct run *run)
{
	uint64_t seed = run->options->seed;
	int code = run->options->resume ? resume(run, &seed) : 0;
	if (code == 0 && run->record.ended)
		return run->options->quiet ? 0 : say(run->options->resume, "is whole already") - 1;
	run->budget_s = run->options->budget_s > 0 ? run->options->budget_s
			: run->bench.full          ? HOST_FULL_S
						   : HOST_QUICK_S;
	if (code == 0)
		code = make_plan(run, seed);
	if (code == 0)
		code = open_bench(run);
	if (code == 0 && !run->options->resume)
		code = create(run, seed);
	return code == 0 ? do_passes(run) : code;
}

int host_run(const struct host_run_options *options)
{
	struct run run = {
		.options = options,
		.record.file = -1,
		.bench = {.full = options->full, .peer.control = -1, .file.fd = -1},
		.passes = options->full ? HOST_FULL_PASSES : HOST_QUICK_PASSES,
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	run.bench.core_count = cores > 0 ? (size_t)cores : 1;
	stop_catch();
	int code = run_opened(&run);
	peer_stop(&run.bench.peer);
	if (run.bench.file.fd >= 0)
		close(run.bench.file.fd);
	plan_free(&run.plan);
	free(run.waived);
	if (record_close(&run.record) != 0 && code == 0)
		code = say("", "the recording's last bytes could not be written");
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
			"farwire: serves one peer: `farwire probe host --connect %s` there\n",
			name);
	return peer_serve(listener, -1, why) == 0 ? 0 : say("", why);
}
