/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/path.h"
#include "sim/base/hash.h"

/* Tolerances: sums are rounded, and each duration on the way is rounded to a picosecond. */
static const double slack_ratio = 1e-9, slack_s = 1e-11;

void path_latency_set(struct path *path, double latency_s)
{
	path->latency_s = latency_s;
	path->latency_ps = ps_from_s(latency_s);
}

bool path_find(const struct connection_spec *spec, int from, unsigned traffic, struct path *path)
{
	struct connection_end a = spec->ends[from], b = spec->ends[1 - from];
	int nodes[] = {guest_node(a.guest), 0, 0, guest_node(b.guest)};
	const struct route *route = NULL;
	if (spec->adapters) {
		nodes[1] = spec->adapters[from];
		nodes[2] = spec->adapters[1 - from];
		route = fabric_route_through(spec->fabric, nodes, traffic);
	}
	if (!route)
		route = fabric_route(spec->fabric, nodes[0], nodes[3], traffic);
	if (!route)
		return false;
	double latency_s = route->latency_s;
	if (route->count > 0)
		latency_s += guest_vnic_latency_s(a.guest) + guest_vnic_latency_s(b.guest);
	*path = (struct path){.route = route, .from = a, .to = b};
	if (b.reader)
		path->to.core = b.reader;
	path->name = arena_printf(spec->arena, "%s: %s > %s", spec->name, guest_name(a.guest),
				  guest_name(b.guest));
	path_latency_set(path, latency_s);
	path->key = hash_count(hash_text(HASH_START, path->name), spec->seed);
	path->least_spB = route_least_spB(spec->fabric, route);
	return true;
}

void path_delivered(const struct connection_spec *spec, const struct path *path, int index,
		    double size_B, int64_t sent_ps, struct connection_counters *counters)
{
	int64_t taken_ps = engine_now_ps(spec->engine) - sent_ps;
	double least_s = path->latency_s + size_B * path->least_spB;
	counters->payload_delivered_B[index] += size_B;
	counters->delivered_count[index]++;
	if ((double)taken_ps < (least_s * (1 - slack_ratio) - slack_s) * (double)PS_PER_S)
		engine_fail(spec->engine,
			    "%s: a message of %.17g bytes arrived after %.12f s, but its way takes "
			    "at least %.12f s",
			    spec->name, size_B, s_from_ps(taken_ps), least_s);
	if (counters->delivered_count[index] > counters->messages_count[index] ||
	    counters->payload_delivered_B[index] >
		    counters->payload_sent_B[index] * (1 + slack_ratio))
		engine_fail(spec->engine,
			    "%s: %llu messages of %.17g bytes were delivered, but %llu of %.17g "
			    "bytes were sent",
			    spec->name, (unsigned long long)counters->delivered_count[index],
			    counters->payload_delivered_B[index],
			    (unsigned long long)counters->messages_count[index],
			    counters->payload_sent_B[index]);
}

void path_losses(const struct connection_spec *spec, const struct path *path, int index,
		 struct loss *loss, struct loss *fate)
{
	*loss = loss_new(path->route->loss_ratio, spec->seed,
			 arena_printf(spec->arena, "%s/loss %d", spec->name, index));
	*fate = loss_new(0, spec->seed, arena_printf(spec->arena, "%s/fate %d", spec->name, index));
}

bool control_lost(struct loss *loss, struct connection *connection)
{
	uint64_t first, lost = loss_take(loss, 1, &first);
	connection->counters.losses_count += lost;
	return lost > 0;
}

void path_trace(struct path *path, struct engine *engine, enum span_kind kind, const char *label,
		int64_t start_ps)
{
	struct trace *trace = engine_trace(engine);
	if (!trace)
		return;
	if (!path->track_known) {
		path->track = trace_track(trace, "wire", path->name);
		path->track_known = true;
	}
	trace_span(trace, path->track, kind, label ? label : "message", start_ps,
		   engine_now_ps(engine));
}

struct flow_id flow_start(struct engine *engine, struct fabric *fabric,
			  const struct flow_spec *flow)
{
	if (flow->use_count > 0 || flow->cap > 0)
		return fabric_flow_start(fabric, flow);
	engine_do_after(engine, 0, flow->done, flow->ctx, flow->arg);
	return (struct flow_id){0, 0};
}
