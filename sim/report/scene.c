/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of a case: the parts of its step time, and its topology. */
#include <math.h>
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
	const struct prediction *most = predictions[0];
	for (size_t i = 1; i < count; i++)
		if (predictions[i]->breakdown_count > most->breakdown_count)
			most = predictions[i];
	struct report_table *table =
		report_folded(report, "The numbers of this figure",
			      arena_printf(report->arena, "case!|%s>", whole),
			      "Milliseconds of %s by cause.", serving ? "a request" : "a step");
	for (size_t k = 0; k < most->breakdown_count; k++)
		report_columns(table, arena_printf(report->arena, "%s>",
						   part_label(most->breakdown[k].name)));
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		report_row(table, p->ok ? TONE_PLAIN : TONE_SOFT, CELLS(p->name));
		if (report_failed(table, p->ok, p->reason))
			continue;
		report_cell(table, "%.2f", 1e3 * p->step_s.value);
		for (size_t k = 0; k < p->breakdown_count; k++) /* 0: not -0.00 */
			report_cell(table, "%.2f", fmax(0, 1e3 * p->breakdown[k].seconds));
	}
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

/* Says what runs in a guest: ": program", ": server", ": ranks"; "" if nothing does. */
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
		return ": ranks";
	return programs && servers ? ": program, server"
	       : programs          ? ": program"
	       : servers           ? ": server"
				   : "";
}

/* ---- the drawn part of a topology ---- */

/* A topology with more guests and GPUs than INNER_MOST is drawn in part, with INNER_SHOWN of them.
 */
enum { INNER_MOST = 20, INNER_SHOWN = 12 };

/* The drawn nodes of a topology and the links between them. */
struct view {
	const struct topology *topology;
	size_t host_count; /* the first hosts of the topology */
	bool *switches;    /* whether each switch is drawn */
	bool *links;
};

/* Returns how many hosts are drawn: all, or the first ones that fit. */
static size_t hosts_shown(struct arena *arena, const struct topology *t)
{
	size_t *inner = ARENA_ARRAY(arena, t->host_count + 1, size_t), sum = 0, count = 0;
	if (t->guest_count + t->gpu_count <= INNER_MOST)
		return t->host_count;
	for (size_t i = 0; i < t->guest_count; i++)
		inner[t->guests[i].host]++;
	for (size_t i = 0; i < t->gpu_count; i++)
		inner[t->gpus[i].host]++;
	while (count < t->host_count && (count == 0 || sum + inner[count] <= INNER_SHOWN))
		sum += inner[count++];
	return count;
}

static bool in_machine(const struct view *view, const char *name)
{
	const struct topology *t = view->topology;
	for (size_t i = 0; i < view->host_count; i++)
		if (strcmp(t->hosts[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < t->guest_count; i++)
		if (t->guests[i].host < view->host_count && strcmp(t->guests[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < t->gpu_count; i++)
		if (t->gpus[i].host < view->host_count && strcmp(t->gpus[i].name, name) == 0)
			return true;
	return false;
}

static bool in_view(const struct view *view, const char *name)
{
	for (size_t i = 0; i < view->topology->switch_count; i++)
		if (strcmp(view->topology->switches[i], name) == 0)
			return view->switches[i];
	return in_machine(view, name);
}

/* Marks the switches that have a link to a drawn machine. */
static void take_switches(const struct view *view)
{
	const struct topology *t = view->topology;
	for (size_t i = 0; i < t->link_count; i++)
		for (int end = 0; end < 2; end++) {
			const char *name = t->links[i].ends[end];
			size_t at = 0;
			while (at < t->switch_count && strcmp(t->switches[at], name) != 0)
				at++;
			if (at < t->switch_count && !view->switches[at])
				view->switches[at] = in_machine(view, t->links[i].ends[1 - end]);
		}
}

static struct view view_of(struct arena *arena, const struct topology *t)
{
	size_t hosts = hosts_shown(arena, t);
	bool whole = hosts == t->host_count;
	struct view view = {.topology = t,
			    .host_count = hosts,
			    .switches = ARENA_ARRAY(arena, t->switch_count + 1, bool),
			    .links = ARENA_ARRAY(arena, t->link_count + 1, bool)};
	memset(view.switches, whole, t->switch_count * sizeof *view.switches);
	memset(view.links, whole, t->link_count * sizeof *view.links);
	if (whole)
		return view;
	take_switches(&view);
	for (size_t i = 0; i < t->link_count; i++)
		view.links[i] =
			in_view(&view, t->links[i].ends[0]) && in_view(&view, t->links[i].ends[1]);
	return view;
}

static struct diagram_node *diagram_nodes(struct arena *arena, const struct scenario *scenario,
					  const struct view *view, size_t *count)
{
	const struct topology *t = &scenario->topology;
	struct diagram_node *nodes = ARENA_ARRAY(
		arena, t->host_count + t->guest_count + t->gpu_count + t->switch_count + 1,
		struct diagram_node);
	size_t n = 0;
	for (size_t i = 0; i < view->host_count; i++)
		nodes[n++] = (struct diagram_node){t->hosts[i].name, "host", NULL,
						   host_detail(arena, &t->hosts[i].params)};
	for (size_t i = 0; i < t->guest_count; i++)
		if (t->guests[i].host < view->host_count)
			nodes[n++] = (struct diagram_node){
				t->guests[i].name, "guest", t->hosts[t->guests[i].host].name,
				arena_printf(arena, "%s%s", guest_detail(&t->guests[i].params),
					     guest_role(scenario, i))};
	for (size_t i = 0; i < t->gpu_count; i++)
		if (t->gpus[i].host < view->host_count)
			nodes[n++] = (struct diagram_node){t->gpus[i].name, "gpu",
							   t->hosts[t->gpus[i].host].name,
							   t->gpus[i].profile};
	for (size_t i = 0; i < t->switch_count; i++)
		if (view->switches[i])
			nodes[n++] = (struct diagram_node){t->switches[i], "switch", NULL, NULL};
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
	return arena_printf(arena, "%s Gbit/s", number_format(arena, 4, 8e-9 * rate_Bps));
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

static void link_row(struct report_table *table, const struct link_entry *link, int way,
		     const struct link_prediction *use)
{
	struct arena *arena = table->arena;
	report_row(table, TONE_PLAIN,
		   CELLS(link->name, link->ends[way], link->ends[1 - way], link->kind->name,
			 bandwidth_text(arena, link, way),
			 quantity_format(arena, QUANTITY_TIME, link->traits.latency_s),
			 number_format(arena, 3, link->traits.loss_ratio[way])));
	report_cell(table, "%s", use ? quantity_format(arena, QUANTITY_BYTES, use->carried_B) : "");
	report_cell(table, "%s", use ? arena_printf(arena, "%.3f", 100 * use->utilization) : "");
}

static void links_table(struct report *report, const struct view *view,
			const struct prediction *prediction)
{
	const struct topology *t = view->topology;
	bool known = prediction->link_count == 2 * t->link_count;
	struct report_table *table = report_folded(
		report, "The links in numbers",
		"link|from|to|kind|bandwidth>|one-way latency>|packet loss>|bytes carried>|"
		"utilisation (%)>",
		"Links of topology %s.", t->name);
	for (size_t i = 0; i < t->link_count; i++)
		for (int way = 0; way < 2 && view->links[i]; way++)
			link_row(table, &t->links[i], way,
				 known ? &prediction->links[2 * i + (size_t)way] : NULL);
}

void report_topology(struct report *report, const struct scenario *scenario,
		     const struct prediction *prediction, const char *label)
{
	const struct topology *t = &scenario->topology;
	struct arena *arena = report->arena;
	const struct view view = view_of(arena, t);
	size_t node_count, link_count = 0;
	struct diagram_node *nodes = diagram_nodes(arena, scenario, &view, &node_count);
	struct diagram_link *links = ARENA_ARRAY(arena, t->link_count + 1, struct diagram_link);
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_entry *link = &t->links[i];
		if (view.links[i])
			links[link_count++] = (struct diagram_link){
				.name = link->name,
				.kind = link->kind->name,
				.ends = {link->ends[0], link->ends[1]},
				.detail = link_detail(arena, link),
				.utilization = {use_of(scenario, prediction, i, 0),
						use_of(scenario, prediction, i, 1)}};
	}
	const char *title = arena_printf(arena, "Topology: %s", t->name);
	const char *some =
		view.host_count == t->host_count
			? ""
			: arena_printf(arena, " The figure shows %zu of its %zu machines.",
				       view.host_count, t->host_count);
	report_figure(report,
		      chart_topology(arena, report_text(report, title), nodes, node_count, links,
				     link_count),
		      "%s%s%s.%s Links with bandwidth, one-way latency and utilisation in %s%s.",
		      t->name, t->help ? ": " : "", t->help ? t->help : "", some, label,
		      prediction->ok ? "" : " (a failed run)");
	links_table(report, &view, prediction);
}
