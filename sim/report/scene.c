/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of a case: the parts of its step time, its topology, and the timeline of one step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/report/part.h"

/* ---- breakdown ---- */

void report_breakdown(struct report *report, const struct prediction *const *predictions,
		      size_t count)
{
	bool serving = prediction_kinds(predictions, count) == PREDICTION_SERVING;
	const char *whole = serving ? "mean latency" : "step time";
	const char *title = arena_printf(report->arena, "Parts of the %s", whole);
	report_figure(
		report,
		chart_breakdown(report->arena, report_text(report, title), predictions, count),
		"%s",
		serving ? "The mean time from the arrival of a request to its last token, by "
			  "cause."
			: "The time of one step: kernels on the GPU, and the GPU's idle time "
			  "by its cause.");
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
		[VNIC_NONE] = "VM",           [VNIC_PASSTHROUGH] = "VM, NIC passed through",
		[VNIC_PVRDMA] = "VM, PVRDMA", [VNIC_VMXNET3] = "VM, VMXNET3",
		[VNIC_VIRTIO] = "VM, virtio",
	};
	return guest->kind == GUEST_VM ? vnics[guest->vnic] : kinds[guest->kind];
}

/* Returns what runs in a guest: "program", "server", "ranks"; NULL if nothing does. */
static const char *guest_role(const struct scenario *scenario, size_t guest)
{
	size_t programs = 0, servers = 0;
	for (size_t i = 0; i < scenario->job_count; i++) {
		const struct job_entry *job = &scenario->jobs[i];
		for (size_t k = 0; k < job->simulated_count; k++) {
			programs += job->guests[k] == guest;
			servers += job->runtime && job->servers[k] == guest;
		}
	}
	if (programs && scenario->style != JOBS_PROGRAMS)
		return scenario->style == JOBS_SERVING ? "model server" : "ranks";
	return programs && servers ? "program, server"
	       : programs          ? "program"
	       : servers           ? "server"
				   : NULL;
}

/* Returns the host that stands for its only guest, which is bare metal; NULL: the guest is a box.
 */
static const struct host_entry *host_of(const struct topology *t, size_t guest)
{
	const struct guest_entry *own = &t->guests[guest];
	const struct host_entry *host = &t->hosts[own->host];
	bool only = host->first_guest == guest && own->next_guest == SIZE_MAX;
	return only && own->params.kind == GUEST_BARE ? host : NULL;
}

/* Returns the name of the box of a node. */
static const char *box_of(const struct topology *t, const char *name)
{
	for (size_t i = 0; i < t->guest_count; i++)
		if (strcmp(t->guests[i].name, name) == 0)
			return host_of(t, i) ? host_of(t, i)->name : name;
	return name;
}

static bool is_switch(const struct topology *t, const char *name)
{
	for (size_t i = 0; i < t->switch_count; i++)
		if (strcmp(t->switches[i], name) == 0)
			return true;
	return false;
}

/* Returns whether a node is a server that a network lists, such as a file server: it has one link,
 * to a switch of a network ("fabric.leaf0") to which it does not belong by its name. */
static bool is_server(const struct topology *t, const char *name)
{
	const char *other = NULL;
	for (size_t i = 0; i < t->link_count && !strchr(name, '.'); i++)
		for (int end = 0; end < 2; end++)
			if (strcmp(t->links[i].ends[end], name) == 0) {
				if (other)
					return false;
				other = t->links[i].ends[1 - end];
			}
	size_t prefix = other ? strcspn(other, ".") : 0;
	return other && is_switch(t, other) && other[prefix] == '.' &&
	       strncmp(other, name, prefix + 1) != 0;
}

static struct diagram_node *diagram_nodes(struct arena *arena, const struct scenario *scenario,
					  size_t *count)
{
	const struct topology *t = &scenario->topology;
	struct diagram_node *nodes = ARENA_ARRAY(
		arena, t->host_count + t->guest_count + t->gpu_count + t->switch_count + 1,
		struct diagram_node);
	size_t n = t->host_count;
	for (size_t i = 0; i < t->host_count; i++)
		nodes[i] = (struct diagram_node){t->hosts[i].name, "host", NULL,
						 host_detail(arena, &t->hosts[i].params), NULL};
	for (size_t i = 0; i < t->guest_count; i++) {
		const char *role = guest_role(scenario, i);
		if (host_of(t, i))
			nodes[t->guests[i].host].role = role;
		else
			nodes[n++] = (struct diagram_node){
				t->guests[i].name, "guest", t->hosts[t->guests[i].host].name,
				guest_detail(&t->guests[i].params), role};
	}
	for (size_t i = 0; i < t->gpu_count; i++)
		nodes[n++] = (struct diagram_node){t->gpus[i].name, "gpu",
						   t->hosts[t->gpus[i].host].name,
						   t->gpus[i].profile, NULL};
	for (size_t i = 0; i < t->switch_count; i++) {
		bool end = is_server(t, t->switches[i]);
		nodes[n++] = (struct diagram_node){t->switches[i], end ? "storage" : "switch", NULL,
						   NULL, end ? "storage" : NULL};
	}
	*count = n;
	return nodes;
}

/* ---- links ---- */

/* Formats a bandwidth in bits for networks and in bytes inside a machine. */
static const char *bandwidth_text(struct arena *arena, const struct link_entry *link, int direction)
{
	double rate_Bps = link->traits.capacity_Bps[direction];
	if (link->kind->inside_host)
		return quantity_format(arena, QUANTITY_RATE, rate_Bps);
	bool many = rate_Bps >= 1e12 / 8 * 10; /* 10 Tbit/s */
	return arena_printf(arena, "%s %cbit/s",
			    number_format(arena, 4, (many ? 8e-12 : 8e-9) * rate_Bps),
			    many ? 'T' : 'G');
}

static const char *link_detail(struct arena *arena, const struct link_entry *link)
{
	const char *there = bandwidth_text(arena, link, 0), *back = bandwidth_text(arena, link, 1);
	const char *latency = quantity_format(arena, QUANTITY_TIME, link->traits.latency_s);
	if (strcmp(there, back) == 0)
		return arena_printf(arena, "%s, %s", there, latency);
	return arena_printf(arena, "%s, back %s, %s", there, back, latency);
}

/* Returns the utilisation of a link in direction 0 or 1, or NaN if the run did not simulate it. */
static double use_of(const struct scenario *scenario, const struct prediction *prediction,
		     size_t link, size_t direction)
{
	bool known = prediction->link_count == 2 * scenario->topology.link_count;
	return known ? prediction->links[2 * link + direction].utilization : NAN;
}

void report_topology(struct report *report, const struct scenario *scenario,
		     const struct prediction *prediction, const char *label)
{
	const struct topology *t = &scenario->topology;
	struct arena *arena = report->arena;
	size_t node_count;
	struct diagram_node *nodes = diagram_nodes(arena, scenario, &node_count);
	struct diagram_link *links = ARENA_ARRAY(arena, t->link_count + 1, struct diagram_link);
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_entry *link = &t->links[i];
		links[i] = (struct diagram_link){
			.kind = link->kind->name,
			.ends = {box_of(t, link->ends[0]), box_of(t, link->ends[1])},
			.detail = link_detail(arena, link),
			.utilization = {use_of(scenario, prediction, i, 0),
					use_of(scenario, prediction, i, 1)},
			.network = !link->kind->inside_host,
			.copies = link->copies_count};
	}
	const char *title = arena_printf(arena, "Topology: %s", t->name);
	report_figure(report,
		      chart_topology(arena, report_text(report, title), nodes, node_count, links,
				     t->link_count),
		      "%s%s%s. Links with bandwidth, one-way latency and highest utilisation in "
		      "%s%s.",
		      t->name, t->help ? ": " : "", t->help ? t->help : "", label,
		      prediction->ok ? "" : " (a failed run)");
}

/* ---- timeline ---- */

static bool is_word_part(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* Returns true if text has the name as a whole word: "client1" is in "serves client1 0", but not in
 * "client12". */
static bool names(const char *text, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
		if ((at == text || !is_word_part(at[-1])) && !is_word_part(at[length]))
			return true;
	return false;
}

enum { RANKS_SHOWN = 8 };

/* Returns whether a track belongs to the first client of a pool, or to its GPU. */
static bool is_of_first_client(const struct scenario *scenario, const char *group, const char *name)
{
	const struct job_entry *client = &scenario->jobs[0];
	return strcmp(group, scenario->topology.gpus[client->gpus[0]].name) == 0 ||
	       strcmp(group, client->name) == 0 || names(name, client->name);
}

/* Returns whether a track belongs to the first RANKS_SHOWN ranks of a job, or to their GPUs. */
static bool is_of_first_ranks(const struct scenario *scenario, const char *group, const char *name)
{
	const struct job_entry *job = &scenario->jobs[0];
	bool of_job = strcmp(group, job->name) == 0;
	for (int k = 0; k < RANKS_SHOWN; k++) {
		char rank[32];
		snprintf(rank, sizeof rank, "rank %d", k);
		if (strcmp(group, scenario->topology.gpus[job->gpus[k]].name) == 0 ||
		    (of_job && strcmp(name, rank) == 0))
			return true;
	}
	return false;
}

/* Keeps the spans of the shown tracks of a pool, or of a job with many ranks. */
static const struct trace *shown_part(struct arena *arena, const struct scenario *scenario,
				      const struct trace *trace)
{
	bool pool = scenario->style == JOBS_PROGRAMS;
	if (pool ? scenario->job_count == 1 : scenario->jobs[0].simulated_count <= RANKS_SHOWN)
		return trace;
	struct trace *kept = trace_new(arena);
	for (int k = 0; k < RANKS_SHOWN && !pool; k++) /* the ranks come before their GPUs */
		trace_track(kept, scenario->jobs[0].name, arena_printf(arena, "rank %d", k));
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		const char *group = trace_track_group(trace, span->track);
		const char *name = trace_track_name(trace, span->track);
		if ((pool ? is_of_first_client : is_of_first_ranks)(scenario, group, name))
			trace_span(kept, trace_track(kept, group, name), span->kind, span->name,
				   span->start_ps, span->end_ps);
	}
	return kept;
}

/* Draws the last step of the first job: threads of a program, or ranks of a job. */
static void last_step(struct report *report, const struct scenario *scenario,
		      const struct job_run *run, const struct trace *trace, const char *label)
{
	struct arena *arena = report->arena;
	bool collective = scenario->style == JOBS_COLLECTIVE;
	bool program = scenario->style == JOBS_PROGRAMS;
	bool serving = scenario->style == JOBS_SERVING;
	size_t ranks = run->entry->rank_count;
	if (run->failed || run->step_count == 0) {
		report_add(report, BLOCK_TEXT, "There is no timeline of %s: %s.", label,
			   run->reason ? run->reason : "it finished no step");
		return;
	}
	const struct step_record *step = &run->steps[run->step_count - 1];
	const char *caption =
		collective ? "The collective from the start of the first rank to the end of the "
			     "last rank."
			   : "A step from its first kernel to the last update: waits and "
			     "collectives of each rank, and its GPU.";
	if (serving)
		caption = "The iterations of the replicas, and requests from arrival to end.";
	else if (program)
		caption = arena_printf(
			arena,
			"Step %zu from its first call to its last answer: threads of the program, "
			"links, threads of the server and streams of the GPU.",
			run->step_count);
	else if (ranks > RANKS_SHOWN)
		caption = arena_printf(arena, "%s The figure shows %d of %zu ranks.", caption,
				       RANKS_SHOWN, ranks);
	const struct chart_text text =
		report_text(report, arena_printf(arena, "%s of %s",
						 serving      ? "Iterations and requests"
						 : collective ? "One steady repetition"
							      : "One steady step",
						 label));
	report_figure(
		report, chart_timeline(arena, text, trace, step->start_ps, step->end_ps),
		"%s Where spans are too short to be seen, colours share the height as the spans "
		"share the time.",
		caption);
}

void report_timeline(struct report *report, const struct scenario *scenario, const char *label)
{
	struct scenario brief = *scenario;
	brief.steps_count = 1; /* steps to show after the warm-up */
	struct arena *scratch = arena_new();
	struct trace *trace = trace_new(scratch);
	struct world_outcome outcome =
		world_run(scratch, &brief, report->request->options.seed, trace);
	if (outcome.broken)
		report_add(report, BLOCK_TEXT, "There is no timeline of %s: %s.", label,
			   outcome.broken);
	else if (scenario->jobs[0].plan)
		report_figure(
			report,
			chart_pipeline(report->arena, report_text(report, "One step of the plan"),
				       trace, false),
			"Passes, communication and bubble of one rank of each stage over time.");
	else
		last_step(report, scenario, &outcome.jobs[0], shown_part(scratch, scenario, trace),
			  label);
	arena_free(scratch);
}
