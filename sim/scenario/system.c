/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/system.h"

/* relative error of sums that checks tolerate */
static const double slack_ratio = 1e-9;

static void build_nodes(struct system *s, bool whole_gpus)
{
	const struct topology *t = s->topology;
	s->hosts = ARENA_ARRAY(s->arena, t->host_count + 1, struct host *);
	s->guests = ARENA_ARRAY(s->arena, t->guest_count + 1, struct guest *);
	s->gpus = ARENA_ARRAY(s->arena, t->gpu_count + 1, struct gpu *);
	for (size_t i = 0; i < t->host_count; i++) {
		fabric_node_add(s->fabric, t->hosts[i].name);
		s->hosts[i] = host_new(s->arena, s->engine, s->fabric, t->hosts[i].name,
				       &t->hosts[i].params);
	}
	for (size_t i = 0; i < t->guest_count; i++)
		s->guests[i] = guest_new(s->hosts[t->guests[i].host], t->guests[i].name,
					 fabric_node_add(s->fabric, t->guests[i].name),
					 &t->guests[i].params);
	for (size_t i = 0; i < t->gpu_count; i++) {
		s->gpus[i] =
			gpu_new(s->arena, s->engine, s->fabric, t->gpus[i].name,
				fabric_node_add(s->fabric, t->gpus[i].name), &t->gpus[i].params);
		if (!whole_gpus)
			gpu_reserve_add(s->gpus[i], t->gpus[i].lost_ratio);
	}
	for (size_t i = 0; i < t->switch_count; i++)
		fabric_node_add(s->fabric, t->switches[i]);
}

static bool same_board(const struct gpu_entry *a, const struct gpu_entry *b)
{
	return b->board && a->host == b->host && strcmp(a->board, b->board) == 0;
}

/* GPUs on one board share its power. It suffices for one GPU at full speed. When all of them
 * compute, each GPU runs at board_ratio of its speed. */
static void build_boards(struct system *s)
{
	const struct topology *t = s->topology;
	for (size_t i = 0; i < t->gpu_count; i++) {
		double power = t->gpus[i].params.board_ratio;
		bool first = t->gpus[i].board && power < 1;
		for (size_t j = 0; j < i && first; j++)
			first = !same_board(&t->gpus[i], &t->gpus[j]);
		if (!first)
			continue;
		for (size_t j = i + 1; j < t->gpu_count; j++)
			power += same_board(&t->gpus[i], &t->gpus[j])
					 ? t->gpus[j].params.board_ratio
					 : 0;
		int board = fabric_resource_add(s->fabric,
						arena_printf(s->arena, "%s.%s.power",
							     t->hosts[t->gpus[i].host].name,
							     t->gpus[i].board),
						power > 1 ? power : 1);
		for (size_t j = i; j < t->gpu_count; j++)
			if (j == i || same_board(&t->gpus[i], &t->gpus[j]))
				gpu_board_set(s->gpus[j], board);
	}
}

/* Returns the host whose NIC is at that end of a link; NULL for switches and GPUs. */
static const struct host_params *host_at(const struct topology *t, const char *node)
{
	for (size_t i = 0; i < t->host_count; i++)
		if (strcmp(t->hosts[i].name, node) == 0)
			return &t->hosts[i].params;
	for (size_t i = 0; i < t->guest_count; i++)
		if (strcmp(t->guests[i].name, node) == 0)
			return &t->hosts[t->guests[i].host].params;
	return NULL;
}

/* Applies the higher loss of links whose receiving NIC interrupts for every packet. */
static void unmoderated_loss(const struct topology *t, const struct link_entry *link,
			     struct link_traits *traits)
{
	for (size_t direction = 0; direction < 2; direction++) {
		if (traits->unmoderated_loss_ratio[direction] <= 0)
			continue;
		const struct host_params *receiver = host_at(t, link->ends[1 - direction]);
		if (receiver && !receiver->nic_moderation)
			traits->loss_ratio[direction] = traits->unmoderated_loss_ratio[direction];
	}
}

static void build_links(struct system *s)
{
	const struct topology *t = s->topology;
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_entry *link = &t->links[i];
		struct link_traits traits = link->traits;
		unmoderated_loss(t, link, &traits);
		s->lossy = s->lossy || traits.loss_ratio[0] > 0 || traits.loss_ratio[1] > 0;
		fabric_link_add(s->fabric, link->name, link->kind,
				fabric_node_find(s->fabric, link->ends[0]),
				fabric_node_find(s->fabric, link->ends[1]), &traits);
	}
}

static int link_resource(const struct system *s, size_t index)
{
	return fabric_link_resource(s->fabric, (int)(index / 2), (int)(index % 2));
}

/* With a fold, counts how many resources each resource represents. A resource that belongs
 * neither to the network nor to a machine, for example shared storage, represents only itself. */
static void count_copies(struct system *s)
{
	const struct topology *t = s->topology;
	size_t count = fabric_resource_count(s->fabric), host = 0;
	s->copies = ARENA_ARRAY(s->arena, count, double);
	s->top_node = fabric_node_find(s->fabric, t->top);
	for (size_t i = 0; i < count; i++)
		s->copies[i] = 1;
	for (size_t m = 0; m < t->fold->machine_count; m++)
		if (t->fold->count_of[m] > 0)
			s->copies[host_dram(s->hosts[host++])] = t->fold->count_of[m];
	for (size_t i = 0; i < t->link_count; i++)
		for (int direction = 0; direction < 2; direction++)
			s->copies[fabric_link_resource(s->fabric, (int)i, direction)] =
				t->links[i].copies_count;
}

void system_build(struct system *s, struct arena *arena, const struct scenario *scenario,
		  struct trace *trace)
{
	const struct topology *topology = &scenario->topology;
	const struct engine_limits limits = {.events_max = scenario->events_max,
					     .watch = scenario->watch,
					     .time_max_ps = RUN_TIME_MAX_S * PS_PER_S,
					     .no_passing = scenario->no_passing};
	*s = (struct system){.arena = arena, .topology = topology};
	s->engine = engine_new(arena, &limits);
	engine_trace_set(s->engine, trace);
	s->fabric = fabric_new(arena, s->engine);
	build_nodes(s, scenario->whole_gpus);
	build_boards(s);
	build_links(s);
	if (topology->fold)
		count_copies(s);
	s->link_count = 2 * fabric_link_count(s->fabric);
	s->gpu_before_s = ARENA_ARRAY(arena, topology->gpu_count + 1, double);
	s->link_before_B = ARENA_ARRAY(arena, s->link_count + 1, double);
}

double system_latency_s(struct system *s, int first, int last)
{
	const struct fold *fold = s->topology->fold;
	if (fold) {
		enum fold_level level = fold_level(fold, 0, fold->machine_count - 1);
		int at = fold_meeting(s->fabric, s->top_node, first, last, level, TRAFFIC_ANY);
		return at < 0 ? -1
			      : fabric_route(s->fabric, first, at, TRAFFIC_ANY)->latency_s +
					fabric_route(s->fabric, at, last, TRAFFIC_ANY)->latency_s;
	}
	const struct route *route = fabric_route(s->fabric, first, last, TRAFFIC_ANY);
	return route ? route->latency_s : -1;
}

struct communicator_spec system_communicator(const struct system *system,
					     const struct job_entry *entry)
{
	return (struct communicator_spec){
		.arena = system->arena,
		.engine = system->engine,
		.fabric = system->fabric,
		.name = entry->name,
		.library = entry->library,
		.rank_count = entry->simulated_count,
		.transport = entry->transport,
		.transport_params = entry->transport_params,
		.fold = system->topology->fold,
		.copies = system->copies,
		.top_node = system->top_node,
	};
}

struct program_gpu system_place(const struct system *system, const struct job_entry *entry,
				size_t index)
{
	const struct topology *t = system->topology;
	size_t gpu = entry->gpus[index];
	int host = fabric_node_find(system->fabric, t->hosts[t->gpus[gpu].host].name);
	int node = gpu_node(system->gpus[gpu]);
	return (struct program_gpu){
		.gpu = system->gpus[gpu],
		.server = system->guests[entry->servers[index]],
		.to_device =
			fabric_route(system->fabric, host, node, TRAFFIC_COPIES | TRAFFIC_PEERS),
		.to_host = fabric_route(system->fabric, node, host, TRAFFIC_COPIES | TRAFFIC_PEERS),
	};
}

void system_window_open(struct system *s)
{
	s->open = true;
	s->opened_ps = engine_now_ps(s->engine);
	for (enum wait_kind i = 0; i < WAIT_COUNT; i++)
		s->waits_before_ps[i] = engine_wait_ps(s->engine, i);
	for (size_t i = 0; i < s->topology->gpu_count; i++)
		s->gpu_before_s[i] = gpu_busy_s(s->gpus[i]);
	for (size_t i = 0; i < s->link_count; i++)
		s->link_before_B[i] = fabric_carried(s->fabric, link_resource(s, i));
}

void system_read(struct system *s, struct world_outcome *outcome)
{
	const struct topology *t = s->topology;
	outcome->end_s = s_from_ps(engine_now_ps(s->engine));
	outcome->events_count = engine_events_count(s->engine);
	outcome->gpu_busy_s = ARENA_ARRAY(s->arena, t->gpu_count + 1, double);
	for (size_t i = 0; i < t->gpu_count; i++)
		outcome->gpu_busy_s[i] = gpu_busy_s(s->gpus[i]) - s->gpu_before_s[i];
	outcome->window_s = s_from_ps(engine_now_ps(s->engine) - s->opened_ps);
	for (enum wait_kind i = 0; i < WAIT_COUNT; i++)
		outcome->waits_s[i] =
			s_from_ps(engine_wait_ps(s->engine, i) - s->waits_before_ps[i]);
	outcome->link_count = s->link_count;
	outcome->links = ARENA_ARRAY(s->arena, outcome->link_count + 1, struct link_use);
	for (size_t i = 0; i < outcome->link_count; i++) {
		int resource = link_resource(s, i);
		double carried_B = fabric_carried(s->fabric, resource);
		outcome->links[i] =
			(struct link_use){.link = fabric_resource_name(s->fabric, resource),
					  .carried_B = carried_B,
					  .window_B = carried_B - s->link_before_B[i],
					  .capacity_Bps = fabric_capacity(s->fabric, resource),
					  .busy_s = fabric_busy_s(s->fabric, resource)};
	}
}

/* Checks that no GPU was busy for longer than the window and no link carried more than its
 * capacity. The time of each event is rounded to a picosecond. */
static void check_utilisations(struct system *s, const struct world_outcome *outcome)
{
	double rounding_s = s_from_ps((int64_t)engine_events_count(s->engine));
	double most_s =
		outcome->window_s + slack_ratio * (outcome->window_s + outcome->end_s) + rounding_s;
	for (size_t i = 0; i < s->topology->gpu_count; i++)
		if (outcome->gpu_busy_s[i] < 0 || outcome->gpu_busy_s[i] > most_s)
			engine_fail(s->engine,
				    "GPU '%s' was busy for %.12f s in a window of %.12f s",
				    s->topology->gpus[i].name, outcome->gpu_busy_s[i],
				    outcome->window_s);
	for (size_t i = 0; i < outcome->link_count; i++) {
		const struct link_use *use = &outcome->links[i];
		double slack_B = slack_ratio * use->carried_B;
		if (use->window_B < -slack_B ||
		    use->window_B > use->capacity_Bps * most_s + slack_B)
			engine_fail(
				s->engine,
				"'%s' has a capacity of %.17g B/s, but carried %.17g B in %.12f s",
				use->link, use->capacity_Bps, use->window_B, outcome->window_s);
	}
}

void system_check(struct system *s, enum engine_end end, const char *waiting,
		  struct world_outcome *outcome)
{
	if (end == ENGINE_DRAINED && waiting) {
		const char *flows = fabric_unfinished(s->fabric, s->arena);
		engine_fail(s->engine, "no event is left, but %s%s%s", waiting, flows ? "; " : "",
			    flows ? flows : "");
	}
	fabric_account(s->fabric);
	check_utilisations(s, outcome);
	outcome->broken = engine_failure(s->engine);
}

const char *system_no_end(struct system *s, const char *waiting)
{
	bool late = engine_events_count(s->engine) < engine_events_max(s->engine);
	return arena_printf(
		s->arena,
		"the run stopped at its limit after %llu events and %.3g s of simulated time: %s "
		"(%s)",
		(unsigned long long)engine_events_count(s->engine),
		s_from_ps(engine_now_ps(s->engine)), waiting,
		late ? "the limit is a simulated time of 2e6 s: choose shorter steps, or serve "
		       "fewer requests at a higher rate"
		     : "allow more events with --events N; fewer GPUs, micro-batches or --set "
		       "case.steps=N need fewer");
}
