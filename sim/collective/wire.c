/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/wire.h"
#include "sim/base/hash.h"
#include "sim/transport/path.h"

/* Tolerances: sums are rounded, and each duration on the way is rounded to a picosecond. */
static const double slack_ratio = 1e-9, slack_s = 1e-11;

/* ---- legs ---- */

/* A leg may use two memories and a core in addition to its links. */
static bool fits_a_flow(const struct way *way)
{
	for (size_t i = 0; i < way->leg_count; i++) {
		size_t uses = LEG_HOSTS_MAX + 1;
		for (size_t k = 0; k < way->legs[i].route_count; k++)
			uses += way->legs[i].routes[k]->count;
		if (uses > FLOW_USES_MAX)
			return false;
	}
	return true;
}

static bool loses_all(const struct way *way)
{
	for (size_t i = 0; i < way->leg_count; i++)
		if (way->legs[i].rate_ratio <= 0)
			return true;
	return false;
}

/* Adds what the flow uses at one end. */
static void add_end(const struct communicator *comm, const struct leg *leg, double ratio, bool far,
		    struct flow_spec *flow)
{
	for (size_t i = 0; i < leg->route_count; i++)
		if (leg->far_routes[i] == far)
			route_uses(comm->spec.fabric, leg->routes[i], 0, flow->size, flow);
	for (size_t i = 0; i < leg->host_count; i++)
		if (leg->far_hosts[i] == far)
			flow_use_add(flow, host_dram(leg->hosts[i]), leg->dram_per_B[i]);
	if (leg->core && !far)
		flow_use_add(flow, cpu_resource(leg->core), leg->core_spB);
	for (size_t i = 0; i < flow->use_count; i++)
		flow->uses[i].per_unit /= ratio;
}

/* Returns the number of real messages that one message stands for at the sender's end. */
static double near_count(const struct communicator *comm, const struct collective_plan *plan,
			 size_t step)
{
	bool twin = plan->schedule->steps[step].twin;
	return twin ? 0 : comm->ranks[plan->wires[step]->way->from].count;
}

/* Returns the number of real messages that one message stands for at the receiver's end. The sender
 * may stand for machines that send to several classes, and the receiver for machines that receive
 * from several. */
static double far_count(const struct communicator *comm, const struct operation *operation,
			size_t step)
{
	const struct collective_plan *plan = operation->plan;
	const struct way *way = plan->wires[step]->way;
	if (plan->received && way->meets != FOLD_INSIDE)
		return plan->received[step] * comm->ranks[way->to].count;
	return near_count(comm, plan, step);
}

/* NCCL's buffers of a channel for LL and LL128, in bytes of data: 8 steps of 512 threads with 8
 * lines of 8 B, and of 640 threads with 120 elements of 8 B, of which 15 of 16 are data
 * (src/init.cc, src/include/device.h). */
static const double LL_BUFFER_B = 8.0 * 512 * 8 * 8, LL128_BUFFER_B = 8.0 * 640 * 120 * 8 * 15 / 16;

/* Returns the number of NCCL's channels in one of the schedule, each with connections of its own.
 */
static double connection_count(const struct collective_choice *choice)
{
	double count = (double)choice->block_count / (double)choice->channel_count;
	return fmax(1, choice->algorithm->paired ? count / 2 : count);
}

/* Returns the bandwidth of a channel: at most what its blocks copy, and across machines over rdma
 * at most its buffer in each round trip. 0: no limit. */
static double channel_Bps(const struct communicator *comm, const struct collective_choice *choice,
			  const struct way *way, const struct leg *leg)
{
	const struct library_params *library = comm->library;
	double cap_Bps = choice->channel_cap_Bps[way->class], buffer_B = library->buffer_B;
	if (way->class != HOP_NET || way->socket || library->rules != RULES_NCCL || buffer_B <= 0 ||
	    leg->latency_s <= 0)
		return cap_Bps;
	if (choice->protocol != PROTOCOL_SIMPLE)
		buffer_B = choice->protocol == PROTOCOL_LL ? LL_BUFFER_B : LL128_BUFFER_B;
	double window_Bps = connection_count(choice) * buffer_B / (2 * leg->latency_s);
	return cap_Bps > 0 ? fmin(cap_Bps, window_Bps) : window_Bps;
}

/* Computes the flow of a step's message of size_B. */
static void leg_prepare(const struct communicator *comm, const struct operation *operation,
			size_t step, struct leg *leg, double size_B)
{
	const struct way *way = operation->plan->wires[step]->way;
	const double *copies = comm->spec.fold ? comm->spec.copies : NULL;
	struct flow_spec *flow = &leg->flow;
	double goodput_ratio = operation->choice.goodput_ratio[way->class];
	double cap_Bps = channel_Bps(comm, &operation->choice, way, leg);
	double ratio = goodput_ratio * leg->rate_ratio;
	double sent = near_count(comm, operation->plan, step);
	double received = far_count(comm, operation, step);
	if (leg->flow_B == size_B && leg->flow_ratio == goodput_ratio &&
	    leg->flow_cap_Bps == cap_Bps && leg->counts[0] == sent && leg->counts[1] == received)
		return;
	leg->flow_B = size_B;
	leg->flow_ratio = goodput_ratio;
	leg->flow_cap_Bps = cap_Bps;
	leg->counts[0] = sent;
	leg->counts[1] = received;
	*flow = (struct flow_spec){.size = size_B, .cap = cap_Bps};
	if (leg->cap_Bps > 0 && (cap_Bps <= 0 || leg->cap_Bps < cap_Bps))
		flow->cap = leg->cap_Bps;
	leg->alone_Bps = fabric_flow_alone(comm->spec.fabric, flow);
	for (int far = 0; far < 2; far++) {
		struct flow_spec end = {.size = size_B, .cap = flow->cap};
		add_end(comm, leg, ratio, far, &end);
		leg->alone_Bps = fmin(leg->alone_Bps, fabric_flow_alone(comm->spec.fabric, &end));
		flow->target = end.target > 0 ? end.target : flow->target;
		/* One resource represents all equal ones, so each carries several messages. There
		 * are as many equal cores as machines. */
		for (size_t i = 0; i < end.use_count; i++) {
			int resource = end.uses[i].resource;
			bool core = leg->core && resource == cpu_resource(leg->core);
			double count = !copies ? 1
				       : core  ? leg->counts[far] / comm->ranks[way->from].count
					       : leg->counts[far] / copies[resource];
			flow_use_add(flow, resource, end.uses[i].per_unit * count);
		}
	}
}

/* ---- ways and wires ---- */

static void way_bound(const struct communicator *comm, struct way *way)
{
	for (size_t i = 0; i < way->leg_count; i++) {
		const struct leg *leg = &way->legs[i];
		way->least_s += leg->latency_s;
		for (size_t k = 0; k < leg->route_count; k++)
			way->least_spB = fmax(way->least_spB,
					      route_least_spB(comm->spec.fabric, leg->routes[k]));
	}
}

static const char *rank_name(const struct rank_state *rank)
{
	return rank->place.gpu ? gpu_name(rank->place.gpu) : guest_name(rank->place.guest);
}

/* Returns what is to be done if no route joins the adapters of two ranks, or an empty text. */
static const char *adapters_hint(struct communicator *comm, const struct way *way)
{
	const int *adapter_of = comm->rings.adapter_of;
	struct leg leg = {0};
	if (way->from >= comm->rank_count || way->to >= comm->rank_count ||
	    adapter_of[way->from] < 0 || adapter_of[way->to] < 0 ||
	    leg_across(comm, &leg, way, adapter_of[way->from], adapter_of[way->to],
		       TRAFFIC_RDMA | TRAFFIC_BETWEEN_HOSTS))
		return "";
	return arena_printf(comm->spec.arena,
			    ", because no switch joins their adapters '%s' and '%s' (write "
			    "library.pxn = true or wiring.rail_only = false, and let all "
			    "machines use the same adapters)",
			    fabric_node_name(comm->spec.fabric, adapter_of[way->from]),
			    fabric_node_name(comm->spec.fabric, adapter_of[way->to]));
}

struct way *way_find(struct communicator *comm, size_t from, size_t to)
{
	const struct fold *fold = comm->spec.fold;
	size_t stand_in = fold ? fold_stand_in(fold, to) : to;
	const struct rank_state *a = &comm->ranks[from], *b = &comm->ranks[stand_in];
	void **place = pairs_at(comm->spec.arena, &comm->ways, from, to, 0);
	if (*place)
		return *place;
	struct way *way = ARENA_NEW(comm->spec.arena, struct way);
	*way = (struct way){.from = from, .to = stand_in, .hop_count = 1};
	if (fold)
		way->meets = fold_level(fold, a->machine, fold->machine_of[to]);
	for (size_t i = 0; i < WAY_LEGS_MAX; i++)
		way->legs[i].rate_ratio = 1;
	bool inside = fold ? way->meets == FOLD_INSIDE : a->host_node == b->host_node;
	/* two processes in host memory talk over the loopback device */
	bool loopback = inside && comm->socket && !a->place.gpu && !b->place.gpu;
	bool found = false;
	const struct way empty = *way;
	bool network = !inside || loopback;
	if (!network)
		found = way_inside(comm, way);
	/* Without shared memory, GPUs that do not reach each other use the network. */
	if (!network && !found && !comm->library->shm) {
		network = true;
		*way = empty;
	}
	if (network && comm->socket)
		found = way_socket(comm, way);
	else if (network && comm->spec.transport)
		found = way_rdma(comm, way);
	const char *wrong = !found              ? "no route"
			    : !fits_a_flow(way) ? "too many links"
			    : loses_all(way)    ? "every packet is lost on the route"
						: NULL;
	if (wrong) {
		const char *over = inside || !comm->spec.transport ? "PCIe or NVLink"
								   : comm->spec.transport->name;
		comm_fail(comm, arena_printf(comm->spec.arena, "%s from '%s' to '%s' over %s%s%s",
					     wrong, rank_name(a), rank_name(b), over,
					     found ? "" : fabric_route_hint(comm->spec.fabric),
					     found || !network || comm->socket
						     ? ""
						     : adapters_hint(comm, way)));
		return NULL;
	}
	way_bound(comm, way);
	way->before = comm->last_way;
	comm->last_way = way;
	*place = way;
	return way;
}

void communicator_account(const struct communicator *comm)
{
	for (const struct way *way = comm->last_way; way; way = way->before)
		for (size_t i = 0; i < way->leg_count; i++) {
			const struct leg *leg = &way->legs[i];
			for (size_t k = 0; k < leg->route_count; k++)
				fabric_delivered(comm->spec.fabric, leg->routes[k],
						 way->delivered_B[leg->far_routes[k]],
						 comm->spec.copies);
		}
	for (const struct socket *socket = comm->first_socket; socket; socket = socket->next)
		connection_account(socket->connection, comm->spec.fabric);
}

struct wire *wire_find(struct communicator *comm, size_t from, size_t to, size_t channel)
{
	void **place = pairs_at(comm->spec.arena, &comm->wires, from, to, channel);
	if (*place)
		return *place;
	struct way *way = way_find(comm, from, to);
	if (!way)
		return NULL;
	struct wire *wire = ARENA_NEW(comm->spec.arena, struct wire);
	wire->way = way;
	const uint64_t place_of[] = {comm->spec.seed, from, to, channel};
	wire->key = hash_bytes(hash_text(HASH_START, comm->spec.name), place_of, sizeof place_of);
	if (way->socket) {
		bool single = comm->library->rules != RULES_NCCL; /* btl_tcp_links is 1 */
		wire->socket = socket_find(comm, from, to, single ? 0 : channel);
		if (!wire->socket)
			return NULL;
		wire->end = comm->ranks[from].process == wire->socket->first ? 0 : 1;
		wire->next = wire->socket->wires;
		wire->socket->wires = wire;
		wire->next_of_rank = comm->ranks[from].wires;
		comm->ranks[from].wires = wire;
	}
	*place = wire;
	return wire;
}

/* ---- a message ---- */

enum { PART_LEAVES = 1, PART_ARRIVES = 2 };

struct message_state *message_take(struct communicator *comm)
{
	struct message_state *message = comm->free_messages;
	if (!message)
		return ARENA_NEW(comm->spec.arena, struct message_state);
	comm->free_messages = message->next;
	*message = (struct message_state){0};
	return message;
}

void message_give(struct communicator *comm, struct message_state *message)
{
	message->next = comm->free_messages;
	comm->free_messages = message;
}

/* Checks that a message does not arrive earlier than its links allow. */
static void check_message(const struct communicator *comm, const struct message_state *message)
{
	struct way *way = message->wire->way;
	/* A switch that adds or multiplies messages carries fewer bytes than it delivers, and so do
	 * links on which the tokens of several experts travel once. */
	double carried_ratio = fmax(1, message->operation->choice.goodput_ratio[way->class]);
	double size_B = message->size_B / carried_ratio;
	way->delivered_B[0] += size_B * near_count(comm, message->operation->plan, message->step);
	way->delivered_B[1] += size_B * far_count(comm, message->operation, message->step);
	double taken_s = s_from_ps(engine_now_ps(comm->spec.engine) - message->started_ps);
	double least_s = size_B * way->least_spB;
	if (message->operation->merged_latency_ps == 0)
		least_s += way->least_s;
	if (taken_s < least_s * (1 - slack_ratio) - slack_s)
		engine_fail(comm->spec.engine,
			    "%s: %.17g bytes from rank %zu to %zu arrived after %.12f s, but the "
			    "way takes at least %.12f s",
			    comm->spec.name, message->size_B, way->from, way->to, taken_s, least_s);
}

static void delivered(void *ctx, uint64_t arg)
{
	struct communicator *comm = ctx;
	struct message_state *message = (struct message_state *)(uintptr_t)arg;
	struct operation *operation = message->operation;
	uint32_t step = message->step;
	check_message(comm, message);
	if (message->head.serial != 0 && engine_cancel(comm->spec.engine, message->head))
		executor_head_over(comm, operation, step);
	comm->ranks[message->wire->way->to].last_B =
		message->size_B / operation->train_count / operation->plan->schedule->merged_count;
	comm->counters.delivered_B +=
		message->size_B * near_count(comm, operation->plan, message->step);
	operation->delivered_B += message->size_B;
	operation->deliveries_count++;
	struct wire *wire = message->wire;
	message_give(comm, message);
	executor_step_over(comm, operation, step);
	if (wire->flying_count > 0)
		rendezvous_over(comm, wire);
}

/* Returns the time per byte by which copies through host memory delay the last slice. The slices of
 * a message follow each other through the copies and the network part, which work at the same time.
 * The slowest of these stages sets the rate of the message. Its last slice then also passes the
 * other ones. The connection of a socket is taken as its slowest stage. */
static double staged_spB(const struct collective_choice *choice, const struct way *way,
			 const struct leg *leg)
{
	double ratio = choice->goodput_ratio[way->class],
	       cap_Bps = choice->channel_cap_Bps[way->class];
	double network_spB = leg->network_spB / ratio;
	double sum_spB = network_spB, slowest_spB = network_spB;
	if (leg->copy_count == 0)
		return 0;
	for (size_t i = 0; i < leg->copy_count; i++) {
		double spB = leg->copy_spB[i] / ratio;
		if (cap_Bps > 0)
			spB = fmax(spB, 1 / cap_Bps);
		sum_spB += spB;
		slowest_spB = fmax(slowest_spB, spB);
	}
	return way->socket ? sum_spB : sum_spB - slowest_spB;
}

/* Returns the time from the last byte of a piece leaving until it can be used. */
static int64_t way_latency_ps(const struct communicator *comm, const struct operation *operation,
			      const struct way *way, double piece_B)
{
	double latency_s = operation->choice.hop_s[way->class] * way->hop_count;
	for (size_t i = 0; i < way->leg_count; i++) {
		const struct leg *leg = &way->legs[i];
		double slice_B = fmin(comm->library->slice_B, piece_B);
		latency_s += leg->latency_s + slice_B * staged_spB(&operation->choice, way, leg);
	}
	return ps_from_s(latency_s);
}

static int64_t latency_ps(const struct communicator *comm, const struct message_state *message)
{
	const struct operation *operation = message->operation;
	if (operation->merged_latency_ps > 0)
		return operation->merged_latency_ps;
	return way_latency_ps(comm, operation, message->wire->way,
			      message->size_B / operation->train_count);
}

int64_t wire_merged_latency_ps(const struct communicator *comm, const struct operation *operation)
{
	const struct schedule *schedule = operation->plan->schedule;
	double sum_ps = 0, count = 0;
	for (size_t s = 0; s < schedule->step_count; s++) {
		const struct schedule_step *step = &schedule->steps[s];
		if (step->kind != STEP_SEND)
			continue;
		struct way *way = operation->plan->wires[s]->way;
		double size_B = schedule->chunk_B[step->chunk] * operation->scale_ratio;
		for (size_t i = 0; i < way->leg_count; i++)
			leg_prepare(comm, operation, s, &way->legs[i], size_B);
		sum_ps += comm->ranks[step->rank].count *
			  (double)way_latency_ps(comm, operation, way,
						 size_B / schedule->merged_count);
		count += comm->ranks[step->rank].count;
	}
	return (int64_t)(sum_ps / count * schedule->merged_count);
}

static void part_over(struct communicator *comm, struct message_state *message, unsigned parts)
{
	struct wire *wire = message->wire;
	struct engine *engine = comm->spec.engine;
	if (parts & PART_LEAVES && --message->leaving == 0) {
		wire->busy = false;
		wire_pump(comm, wire);
	}
	if (parts & PART_ARRIVES && --message->arriving == 0)
		engine_after(engine, latency_ps(comm, message), delivered, comm,
			     (uint64_t)(uintptr_t)message);
}

static void flow_left(void *ctx, uint64_t arg)
{
	part_over(ctx, (struct message_state *)(uintptr_t)arg, PART_LEAVES | PART_ARRIVES);
}

/* ---- trains ---- */

static void head_arrived(void *ctx, uint64_t arg)
{
	struct message_state *train = (struct message_state *)(uintptr_t)arg;
	train->head = (struct event_id){0};
	executor_head_over(ctx, train->operation, train->step);
}

/* Called when the flow has ended and the last piece is complete, which may still be leaving. */
static void train_leave(struct communicator *comm, struct message_state *train)
{
	int64_t tail_ps = train->fed_ps + train->piece_ps;
	if (tail_ps > engine_now_ps(comm->spec.engine))
		engine_at(comm->spec.engine, tail_ps, flow_left, comm, (uint64_t)(uintptr_t)train);
	else
		flow_left(comm, (uint64_t)(uintptr_t)train);
}

static void train_flowed(void *ctx, uint64_t arg)
{
	struct message_state *train = (struct message_state *)(uintptr_t)arg;
	train->flowed = true;
	if (train->fed)
		train_leave(ctx, train);
}

void wire_feed(struct communicator *comm, struct message_state *train)
{
	train->fed = true;
	train->fed_ps = engine_now_ps(comm->spec.engine);
	if (train->flowed)
		train_leave(comm, train);
}

/* ---- a message's parts ---- */

static void arrived(void *ctx, uint64_t arg)
{
	part_over(ctx, (struct message_state *)(uintptr_t)arg, PART_ARRIVES);
}

static void socket_accepted(void *ctx, uint64_t arg)
{
	part_over(ctx, (struct message_state *)(uintptr_t)arg, PART_LEAVES);
}

/* A kernel can use all of a GPU's memory bandwidth. A transfer that can use a part p of it gets a
 * proportional share, p / (1 + p), so it takes 1 + p times as long. */
static double slowed_ratio(const struct communicator *comm, const struct way *way, double alone_Bps)
{
	double ratio = 1;
	const size_t ends[] = {way->from, way->to};
	for (size_t i = 0; i < 2; i++) {
		const struct gpu *gpu = comm->ranks[ends[i]].place.gpu;
		if (!gpu || !gpu_is_computing(gpu))
			continue;
		double traffic_Bps = comm->library->memory_traffic_ratio * alone_Bps;
		ratio = fmax(ratio, 1 + gpu_traffic_s(gpu, traffic_Bps));
	}
	return ratio;
}

static void leg_start(struct communicator *comm, struct message_state *message, size_t index)
{
	const struct way *way = message->wire->way;
	struct leg *leg = &message->wire->way->legs[index];
	leg_prepare(comm, message->operation, message->step, leg, message->size_B);
	struct flow_spec *flow = &leg->flow, slowed;
	flow->key = message->wire->key;
	flow->key_count = (size_t)(comm->library->queue_pairs_count *
				   round(connection_count(&message->operation->choice)));
	double ratio = comm->library->memory_traffic_ratio > 0
			       ? slowed_ratio(comm, way, leg->alone_Bps)
			       : 1;
	if (ratio > 1) {
		slowed = leg->flow;
		flow = &slowed;
		flow->cap /= ratio;
		for (size_t i = 0; i < flow->use_count; i++)
			flow->uses[i].per_unit *= ratio;
	}
	flow->done = leg->leaves ? flow_left : arrived;
	if (message->operation->train_count > 1) {
		FW_ASSERT(way->leg_count == 1 && leg->leaves && !way->socket);
		flow->done = train_flowed;
		double piece_B = message->size_B / message->operation->train_count;
		message->piece_ps = ps_from_s(piece_B / leg->alone_Bps);
		message->head = engine_after(comm->spec.engine,
					     message->piece_ps + latency_ps(comm, message),
					     head_arrived, comm, (uint64_t)(uintptr_t)message);
	}
	flow->ctx = comm;
	flow->arg = (uint64_t)(uintptr_t)message;
	message->leaving += leg->leaves;
	message->arriving++;
	flow_start(comm->spec.engine, comm->spec.fabric, flow);
}

static void message_start(struct communicator *comm, struct message_state *message)
{
	struct wire *wire = message->wire;
	const struct way *way = wire->way;
	struct gpu *gpu = comm->ranks[way->from].place.gpu;
	message->started_ps = engine_now_ps(comm->spec.engine);
	for (size_t i = 0; i < way->leg_count; i++)
		leg_start(comm, message, i);
	if (gpu && comm->library->memory_traffic_ratio > 0)
		gpu_traffic_add(gpu, message->size_B * comm->library->memory_traffic_ratio);
	if (!wire->socket)
		return;
	if (comm->library->eager_B > 0)
		rendezvous_flies(comm, wire, message->size_B);
	message->leaving++;
	message->arriving++;
	const struct collective_choice *choice = &message->operation->choice;
	connection_send(wire->socket->connection, wire->end,
			&(struct message){
				.size_B = message->size_B / choice->goodput_ratio[HOP_NET],
				.accepted = socket_accepted,
				.delivered = arrived,
				.ctx = comm,
				.arg = (uint64_t)(uintptr_t)message,
				.label = message->operation->label,
			});
}

void wire_pump(struct communicator *comm, struct wire *wire)
{
	struct message_state *message = wire->head;
	if (wire->busy || !message || comm->failed || (wire->socket && !wire->socket->open))
		return;
	if (wire->socket && comm->library->eager_B > 0 &&
	    (wire->collecting || !rendezvous_allows(comm, wire)))
		return;
	wire->head = message->next;
	wire->busy = true;
	message_start(comm, message);
}

/* Called when all messages of one instant are in the wire, which for a rendezvous are one. */
static void collected(void *ctx, uint64_t arg)
{
	struct wire *wire = ctx;
	wire->collecting = false;
	wire_pump(wire->socket->comm, wire);
}

struct message_state *wire_send(struct communicator *comm, struct operation *operation,
				uint32_t step)
{
	const struct schedule *schedule = operation->plan->schedule;
	struct wire *wire = operation->plan->wires[step];
	struct message_state *message = message_take(comm);
	message->operation = operation;
	message->wire = wire;
	message->step = step;
	message->size_B = schedule->chunk_B[schedule->steps[step].chunk] * operation->scale_ratio;
	operation->sends_count++;
	operation->sent_B += message->size_B;
	double count = near_count(comm, operation->plan, step);
	comm->counters.sends_count += (uint64_t)count;
	comm->counters.sent_B += message->size_B * count;
	if (wire->way->class == HOP_NET)
		comm->counters.network_B += message->size_B * count;
	if (wire->head)
		wire->tail->next = message;
	else
		wire->head = message;
	wire->tail = message;
	if (wire->socket && comm->library->eager_B > 0 && !wire->collecting) {
		wire->collecting = true;
		engine_after(comm->spec.engine, 0, collected, wire, 0);
	} else {
		wire_pump(comm, wire);
	}
	return message;
}
