/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a case looks like: its step's parts, its topology, one step of it in
 * time. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/verb/report.h"

static struct chart_text chart_text(const struct command *command, const char *title)
{
	return (struct chart_text){title, command_caption(command)};
}

/* ---- breakdown ---- */

void report_breakdown(struct report *report, const struct command *command,
		      const struct prediction *const *predictions, size_t count)
{
	report_figure(
		report,
		chart_breakdown(report->arena, chart_text(command, "Where the time of a step goes"),
				predictions, count),
		"The time of one step: the GPU's kernels, and the GPU's idle time by what kept "
		"it waiting.");
	const struct prediction *most = predictions[0];
	for (size_t i = 1; i < count; i++)
		if (predictions[i]->breakdown_count > most->breakdown_count)
			most = predictions[i];
	report_add(report, BLOCK_FOLD, "The numbers of this figure");
	struct report_table *table = report_table(report, "Milliseconds of a step, by cause.");
	report_column(table, "case", COLUMN_NAME);
	report_column(table, "step", COLUMN_NUMBER);
	for (size_t k = 0; k < most->breakdown_count; k++)
		report_column(table, most->breakdown[k].name, COLUMN_NUMBER);
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		report_row(table, p->ok ? TONE_PLAIN : TONE_SOFT);
		report_cell(table, "%s", p->name);
		if (!p->ok) {
			report_cell(table, "FAIL: %s", p->reason);
			continue;
		}
		report_cell(table, "%.2f", 1e3 * p->step_s.value);
		for (size_t k = 0; k < p->breakdown_count; k++) /* 0: not -0.00 */
			report_cell(table, "%.2f", fmax(0, 1e3 * p->breakdown[k].seconds));
	}
	report_add(report, BLOCK_UNFOLD, "%s", "");
}

/* ---- topology ---- */

static const char *host_detail(struct arena *arena, const struct host_params *host)
{
	double clock_Hz = host->turbo && host->turbo_clock_Hz > host->clock_Hz
				  ? host->turbo_clock_Hz
				  : host->clock_Hz;
	return arena_printf(arena, "%.0f cores, %s", host->cores_count,
			    quantity_format(arena, QUANTITY_FREQUENCY, clock_Hz));
}

static const char *guest_detail(const struct guest_params *guest)
{
	static const char *const kinds[] = {
		[GUEST_BARE] = "bare metal",
		[GUEST_VM] = "VM",
		[GUEST_CONTAINER] = "container",
	};
	static const char *const vnics[] = {
		[VNIC_NONE] = "VM",
		[VNIC_PASSTHROUGH] = "VM, NIC passed through",
		[VNIC_PVRDMA] = "VM, PVRDMA",
		[VNIC_VMXNET3] = "VM, VMXNET3",
	};
	return guest->kind == GUEST_VM ? vnics[guest->vnic] : kinds[guest->kind];
}

/* What runs where: "the program", "in front of the GPU". */
static const char *guest_role(const struct scenario *scenario, size_t guest)
{
	size_t programs = 0, servers = 0;
	for (size_t i = 0; i < scenario->client_count; i++) {
		programs += scenario->clients[i].guest == guest;
		servers += scenario->clients[i].runtime && scenario->clients[i].server == guest;
	}
	return programs && servers ? ": program, server"
	       : programs          ? ": program"
	       : servers           ? ": server"
				   : "";
}

static struct diagram_node *diagram_nodes(struct arena *arena, const struct scenario *scenario,
					  size_t *count)
{
	const struct topology *t = &scenario->topology;
	struct diagram_node *nodes = ARENA_ARRAY(
		arena, t->host_count + t->guest_count + t->gpu_count + t->switch_count + 1,
		struct diagram_node);
	size_t n = 0;
	for (size_t i = 0; i < t->host_count; i++)
		nodes[n++] = (struct diagram_node){t->hosts[i].name, "host", NULL,
						   host_detail(arena, &t->hosts[i].params)};
	for (size_t i = 0; i < t->guest_count; i++)
		nodes[n++] = (struct diagram_node){
			t->guests[i].name, "guest", t->hosts[t->guests[i].host].name,
			arena_printf(arena, "%s%s", guest_detail(&t->guests[i].params),
				     guest_role(scenario, i))};
	for (size_t i = 0; i < t->gpu_count; i++)
		nodes[n++] = (struct diagram_node){
			t->gpus[i].name, "gpu", t->hosts[t->gpus[i].host].name, t->gpus[i].profile};
	for (size_t i = 0; i < t->switch_count; i++)
		nodes[n++] = (struct diagram_node){t->switches[i], "switch", NULL, NULL};
	*count = n;
	return nodes;
}

/* As networks are spoken of: bits for them, bytes inside a machine. */
static const char *rate_text(struct arena *arena, const struct link_entry *link, int direction)
{
	static const char *const inside[] = {"pcie", "nvlink", "socket", "dram", "shm"};
	double rate_Bps = link->traits.capacity_Bps[direction];
	for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
		if (strcmp(link->kind->name, inside[i]) == 0)
			return quantity_format(arena, QUANTITY_RATE, rate_Bps);
	return arena_printf(arena, "%s Gbit/s", number_format(arena, 4, 8e-9 * rate_Bps));
}

static const char *link_detail(struct arena *arena, const struct link_entry *link)
{
	const char *there = rate_text(arena, link, 0), *back = rate_text(arena, link, 1);
	const char *latency = quantity_format(arena, QUANTITY_TIME, link->traits.latency_s);
	if (strcmp(there, back) == 0)
		return arena_printf(arena, "%s, %s", there, latency);
	return arena_printf(arena, "%s, back %s, %s", there, back, latency);
}

/* Of direction 0 or 1 of a link; NaN where it was not simulated. */
static double use_of(const struct scenario *scenario, const struct prediction *prediction,
		     size_t link, size_t direction)
{
	bool known = prediction->link_count == 2 * scenario->topology.link_count;
	return known ? prediction->links[2 * link + direction].utilization : NAN;
}

static void links_table(struct report *report, const struct scenario *scenario,
			const struct prediction *prediction)
{
	const struct topology *t = &scenario->topology;
	bool known = prediction->link_count == 2 * t->link_count;
	report_add(report, BLOCK_FOLD, "The links in numbers");
	struct report_table *table = report_table(report, "Links of topology %s.", t->name);
	report_column(table, "link", COLUMN_TEXT);
	report_column(table, "from", COLUMN_TEXT);
	report_column(table, "to", COLUMN_TEXT);
	report_column(table, "kind", COLUMN_TEXT);
	report_column(table, "rate", COLUMN_NUMBER);
	report_column(table, "latency", COLUMN_NUMBER);
	report_column(table, "loss", COLUMN_NUMBER);
	report_column(table, "carried", COLUMN_NUMBER);
	report_column(table, "busy (%)", COLUMN_NUMBER);
	for (size_t i = 0; i < t->link_count; i++)
		for (int way = 0; way < 2; way++) {
			const struct link_entry *link = &t->links[i];
			const struct link_prediction *use = &prediction->links[2 * i + (size_t)way];
			struct arena *arena = report->arena;
			report_row(table, TONE_PLAIN);
			report_cell(table, "%s", link->name);
			report_cell(table, "%s", link->ends[way]);
			report_cell(table, "%s", link->ends[1 - way]);
			report_cell(table, "%s", link->kind->name);
			report_cell(table, "%s", rate_text(arena, link, way));
			report_cell(table, "%s",
				    quantity_format(arena, QUANTITY_TIME, link->traits.latency_s));
			report_cell(table, "%s",
				    number_format(arena, 3, link->traits.loss_ratio[way]));
			report_cell(table, "%s",
				    known ? quantity_format(arena, QUANTITY_BYTES, use->carried_B)
					  : "");
			report_cell(table, "%s",
				    known ? arena_printf(arena, "%.3f", 100 * use->utilization)
					  : "");
		}
	report_add(report, BLOCK_UNFOLD, "%s", "");
}

void report_topology(struct report *report, const struct command *command,
		     const struct scenario *scenario, const struct prediction *prediction,
		     const char *label)
{
	const struct topology *t = &scenario->topology;
	struct arena *arena = report->arena;
	size_t node_count;
	struct diagram_node *nodes = diagram_nodes(arena, scenario, &node_count);
	struct diagram_link *links = ARENA_ARRAY(arena, t->link_count + 1, struct diagram_link);
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_entry *link = &t->links[i];
		links[i] =
			(struct diagram_link){.name = link->name,
					      .kind = link->kind->name,
					      .ends = {link->ends[0], link->ends[1]},
					      .detail = link_detail(arena, link),
					      .utilization = {use_of(scenario, prediction, i, 0),
							      use_of(scenario, prediction, i, 1)}};
	}
	const char *title = arena_printf(arena, "Machines and wires: %s", t->name);
	report_figure(report,
		      chart_topology(arena, chart_text(command, title), nodes, node_count, links,
				     t->link_count),
		      "%s%s%s. Links with their rate, latency and share of time in use, in %s%s.",
		      t->name, t->help ? ": " : "", t->help ? t->help : "", label,
		      prediction->ok ? "" : " (a run that failed)");
	links_table(report, scenario, prediction);
}

/* ---- timeline ---- */

static void tracks_table(struct report *report, const struct trace *trace, int64_t from_ps,
			 int64_t to_ps)
{
	size_t count = trace_track_count(trace);
	double(*busy_s)[SPAN_KIND_COUNT] = arena_array(report->arena, count + 1, sizeof *busy_s);
	size_t(*spans)[SPAN_KIND_COUNT] = arena_array(report->arena, count + 1, sizeof *spans);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		int64_t start = span->start_ps > from_ps ? span->start_ps : from_ps;
		int64_t end = span->end_ps < to_ps ? span->end_ps : to_ps;
		if (end < start)
			continue;
		busy_s[span->track][span->kind] += (double)(end - start) * 1e-12;
		spans[span->track][span->kind]++;
	}
	report_add(report, BLOCK_FOLD, "The step in numbers");
	struct report_table *table =
		report_table(report, "What each track did in the %s ms shown.",
			     figures(report->arena, (double)(to_ps - from_ps) * 1e-9, 4));
	report_column(table, "where", COLUMN_TEXT);
	report_column(table, "track", COLUMN_TEXT);
	report_column(table, "what", COLUMN_TEXT);
	report_column(table, "count", COLUMN_NUMBER);
	report_column(table, "time (ms)", COLUMN_NUMBER);
	for (size_t i = 0; i < count; i++)
		for (int kind = 0; kind < SPAN_KIND_COUNT; kind++) {
			if (spans[i][kind] == 0)
				continue;
			report_row(table, TONE_PLAIN);
			report_cell(table, "%s", trace_track_group(trace, i));
			report_cell(table, "%s", trace_track_name(trace, i));
			report_cell(table, "%s", span_kind_name((enum span_kind)kind));
			report_cell(table, "%zu", spans[i][kind]);
			report_cell(table, "%s", figures(report->arena, 1e3 * busy_s[i][kind], 4));
		}
	report_add(report, BLOCK_UNFOLD, "%s", "");
}

static void step_figure(struct report *report, const struct command *command,
			const struct trace *trace, const struct step_record *step, size_t number,
			const char *label)
{
	const char *title = arena_printf(report->arena, "One steady step of %s", label);
	report_figure(
		report,
		chart_timeline(report->arena, chart_text(command, title), trace, step->start_ps,
			       step->end_ps),
		"Step %zu from its first call to its last answer: the program's threads, the "
		"wires, the server's threads and the GPU's streams. Where many short spans meet, "
		"the shade says how much of the time they cover.",
		number);
}

/* The track of a client's threads with the most calls in the step; SIZE_MAX:
 * none has any. */
static size_t busiest_thread(struct arena *arena, const struct trace *trace,
			     const struct step_record *step, const char *client)
{
	size_t tracks = trace_track_count(trace), best = SIZE_MAX;
	size_t *calls = ARENA_ARRAY(arena, tracks + 1, size_t);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		if (span->kind == SPAN_CALL && span->start_ps >= step->start_ps &&
		    span->end_ps <= step->end_ps &&
		    strcmp(trace_track_group(trace, span->track), client) == 0)
			calls[span->track]++;
	}
	for (size_t i = 0; i < tracks; i++)
		if (calls[i] && (best == SIZE_MAX || calls[i] > calls[best]))
			best = i;
	return best;
}

enum { CALLS_SHOWN = 20 };

/* So near that single calls are seen: some of that thread, a quarter into what it
 * calls in the step. False if there are too few to be worth it. */
static bool calls_window(struct arena *arena, const struct trace *trace,
			 const struct step_record *step, const char *client, int64_t *from_ps,
			 int64_t *to_ps)
{
	size_t thread = busiest_thread(arena, trace, step, client);
	VEC(const struct span *) calls = {0};
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		if (span->kind == SPAN_CALL && span->track == thread &&
		    span->start_ps >= step->start_ps && span->end_ps <= step->end_ps)
			*VEC_PUSH(arena, &calls) = span;
	}
	if (calls.count < 3 * CALLS_SHOWN)
		return false;
	/* a thread's calls end one after another, which is the order of the trace */
	*from_ps = calls.items[calls.count / 4]->start_ps;
	*to_ps = calls.items[calls.count / 4 + CALLS_SHOWN - 1]->end_ps;
	return *to_ps > *from_ps;
}

static void calls_figure(struct report *report, const struct command *command,
			 const struct trace *trace, const struct step_record *step,
			 const char *client, const char *label)
{
	int64_t from_ps, to_ps;
	if (!calls_window(report->arena, trace, step, client, &from_ps, &to_ps))
		return;
	const char *title =
		arena_printf(report->arena, "%d calls of that step of %s", CALLS_SHOWN, label);
	report_figure(
		report,
		chart_timeline(report->arena, chart_text(command, title), trace, from_ps, to_ps),
		"The same step, %s ms of it: %d calls of its busiest thread, one by one.",
		figures(report->arena, (double)(to_ps - from_ps) * 1e-9, 2), CALLS_SHOWN);
}

static bool is_word_part(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* The name stands in text as a word: "client1" in "serves client1 0", not in
 * "client12". */
static bool names(const char *text, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
		if ((at == text || !is_word_part(at[-1])) && !is_word_part(at[length]))
			return true;
	return false;
}

/* Of a pool: what belongs to its first client, and all that its GPU does. */
static const struct trace *first_client(struct arena *arena, const struct scenario *scenario,
					const struct trace *trace)
{
	const struct client_entry *client = &scenario->clients[0];
	const char *gpu = scenario->topology.gpus[client->gpu].name;
	if (scenario->client_count == 1)
		return trace;
	struct trace *kept = trace_new(arena);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		const char *group = trace_track_group(trace, span->track);
		const char *name = trace_track_name(trace, span->track);
		if (strcmp(group, gpu) == 0 || strcmp(group, client->name) == 0 ||
		    names(name, client->name))
			trace_span(kept, trace_track(kept, group, name), span->kind, span->name,
				   span->start_ps, span->end_ps);
	}
	return kept;
}

void report_timeline(struct report *report, const struct command *command,
		     const struct scenario *scenario, const char *label)
{
	struct scenario brief = *scenario;
	brief.steps_count = 1; /* behind the warm-up */
	struct arena *scratch = arena_new();
	struct trace *trace = trace_new(scratch);
	struct world_outcome outcome = world_run(scratch, &brief, command->seed, trace);
	const struct client_run *run = &outcome.clients[0];
	if (run->failed || outcome.broken || run->step_count == 0) {
		report_add(report, BLOCK_TEXT, "There is no step to show of %s: %s.", label,
			   run->reason ? run->reason : "none was finished");
		arena_free(scratch);
		return;
	}
	const struct step_record *step = &run->steps[run->step_count - 1];
	const struct trace *shown = first_client(scratch, scenario, trace);
	step_figure(report, command, shown, step, run->step_count, label);
	tracks_table(report, shown, step->start_ps, step->end_ps);
	calls_figure(report, command, shown, step, scenario->clients[0].name, label);
	arena_free(scratch);
}
