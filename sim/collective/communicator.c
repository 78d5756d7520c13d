/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/communicator.h"
#include "sim/collective/level.h"
#include "sim/collective/msccl.h"
#include "sim/collective/wire.h"
#include "sim/engine/trace.h"

enum { OPERATION_ROOM_FIRST = 16 };
/* The flow of an addition has no room for more cores, and more threads do not add bandwidth. */
enum { REDUCE_CORES_MAX = 16 };
/* communicator_open opens the connections for an all-reduce of this size; other connections are
 * opened on first use. */
static const double OPENING_B = 67108864;

void comm_fail(void *ctx, const char *reason)
{
	struct communicator *comm = ctx;
	if (comm->failed)
		return;
	comm->failed = true;
	if (comm->spec.failed)
		comm->spec.failed(comm->spec.failed_ctx, reason);
}

/* ---- creation ---- */

/* Threads that wait for messages poll in NCCL (proxy.cc, ncclProxyProgress) and in Open MPI
 * (opal_progress, unless mpi_yield_when_idle is set). Gloo, gRPC and ps-lite sleep in epoll_wait.
 */
static bool polls(const struct library_params *library)
{
	return library->rules != RULES_GLOO && !library_has_servers(library);
}

/* Returns the first GPU rank of the guest. first has the first rank on each node of the fabric,
 * plus 1, which spares most searches. */
static size_t first_of_guest(const struct communicator_spec *spec, size_t index, int node,
			     size_t *first)
{
	if (first[node] == 0)
		first[node] = index + 1;
	size_t at = first[node] - 1;
	while (spec->ranks[at].guest != spec->ranks[index].guest)
		at++;
	return at;
}

static void rank_init(struct communicator *comm, size_t index, size_t *first)
{
	const struct communicator_spec *spec = &comm->spec;
	struct rank_state *rank = &comm->ranks[index];
	struct guest *guest = spec->ranks[index].guest;
	rank->place = spec->ranks[index];
	rank->server = index >= comm->rank_count;
	rank->real = spec->fold ? spec->fold->rank_of[index] : index;
	rank->count = spec->fold ? fold_count(spec->fold, index) : 1;
	rank->gpu_node = rank->place.gpu ? gpu_node(rank->place.gpu) : -1;
	rank->host_node = fabric_node_find(spec->fabric, host_name(guest_host(guest)));
	rank->root_node = rank->host_node;
	if (rank->place.gpu)
		rank->root_node = root_of(spec->fabric, rank->gpu_node, rank->host_node);
	rank->process = index;
	if (rank->place.gpu)
		rank->process = first_of_guest(spec, index, rank->host_node, first);
	if (comm->socket || !rank->place.gpu)
		rank->core = guest_core(guest);
	if (comm->socket && polls(comm->library))
		cpu_spin(rank->core);
}

/* Gives the rank of a server its cores for sums. Each rank has its network thread's core before, so
 * that these threads share no core as long as there are enough. */
static void reduce_cores_init(struct communicator *comm, struct rank_state *rank)
{
	struct guest *guest = rank->place.guest;
	if (rank->place.gpu)
		return;
	double threads = fmin(comm->library->cpu_reduce_threads_count, REDUCE_CORES_MAX);
	rank->reduce_core_count = threads > 1 ? (size_t)threads : 1;
	size_t count = rank->reduce_core_count * (size_t)comm->library->at_once_count;
	rank->reduce_cores = ARENA_ARRAY(comm->spec.arena, count, struct cpu *);
	for (size_t i = 0; i < count; i++)
		rank->reduce_cores[i] = i == 0 ? rank->core : guest_core(guest);
}

static int oldest_generation(const struct communicator *comm)
{
	int oldest = GENERATION_COUNT;
	for (size_t i = 0; i < comm->rank_count; i++) {
		const struct gpu *gpu = comm->ranks[i].place.gpu;
		int generation = gpu ? gpu_params(gpu)->generation : 0;
		oldest = generation < oldest ? generation : oldest;
	}
	return oldest;
}

/* Returns a node to which messages to other machines travel: the topmost switch of a folded job, of
 * which only one machine may be simulated, or a GPU. -1: all ranks are in one machine. */
static int far_node(const struct communicator *comm, const struct rank_state *a)
{
	if (comm->spec.fold)
		return comm->rings.shape.node_count > 1 ? comm->spec.top_node : -1;
	for (size_t i = 0; i < comm->rank_count; i++)
		if (comm->ranks[i].machine != a->machine)
			return comm->ranks[i].gpu_node;
	return -1;
}

/* Returns the level of the path between the rank's GPU and the adapter for messages to another
 * machine. Without a path that carries RDMA it is beyond all levels. */
static int adapter_level(const struct communicator *comm, const struct rank_state *a)
{
	int to = far_node(comm, a);
	if (to < 0)
		return PATH_LOC;
	const struct route *route = fabric_route(comm->spec.fabric, a->gpu_node, to, TRAFFIC_RDMA);
	return route ? (int)path_level(comm->spec.fabric, route, a->root_node) : PATH_SYS + 1;
}

/* Returns true if the messages of the first rank to another machine are staged in host memory. */
static bool is_staged(const struct communicator *comm)
{
	const struct rank_state *a = &comm->ranks[0];
	if (!comm->library->gpudirect || comm->rings.shape.host_memory_only)
		return true;
	return a->place.gpu && adapter_level(comm, a) > comm->library->net_gdr_level;
}

/* Returns true if in some machine no GPU reaches its adapter through PCIe switches only. NCCL takes
 * the farthest path of all machines (src/init.cc, typeInter). */
static bool is_far(const struct communicator *comm)
{
	struct arena *arena = arena_new();
	bool *near = ARENA_ARRAY(arena, comm->rings.shape.node_count, bool), far = false;
	for (size_t i = 0; i < comm->rank_count; i++) {
		const struct rank_state *a = &comm->ranks[i];
		if (a->place.gpu && !near[a->machine])
			near[a->machine] = adapter_level(comm, a) <= PATH_PXB;
	}
	for (size_t i = 0; i < comm->rank_count; i++)
		far |= comm->ranks[i].place.gpu && !near[comm->ranks[i].machine];
	arena_free(arena);
	return far;
}

/* Returns true if the drivers let all GPUs access each other's memory, over NVLink or PCIe. */
static bool have_access(const struct communicator *comm)
{
	bool all = comm->library->p2p_level == PATH_SYS;
	for (size_t i = 0; i < comm->rank_count; i++)
		all &= comm->ranks[i].place.gpu &&
		       gpu_params(comm->ranks[i].place.gpu)->peer_access;
	return all;
}

bool binds_sockets(const struct library_params *library)
{
	return library->own_sockets && library->rules == RULES_NCCL && !library->host_memory &&
	       library->ring_search && !library_has_servers(library);
}

static void find_rings(struct communicator *comm)
{
	struct ring_place *places =
		ARENA_ARRAY(comm->spec.arena, comm->rank_count, struct ring_place);
	bool by_rail = comm->library->pxn && comm->library->gpudirect && !comm->socket &&
		       comm->library->cross_nic_count != 1;
	for (size_t i = 0; i < comm->rank_count; i++)
		places[i] = (struct ring_place){comm->ranks[i].gpu_node, comm->ranks[i].host_node,
						comm->library->p2p_level < PATH_NVL, by_rail};
	unsigned traffic = comm->socket ? TRAFFIC_SOCKETS : TRAFFIC_RDMA;
	comm->rings = rings_find(comm->spec.arena, comm->spec.fabric, places, comm->rank_count,
				 traffic, comm->spec.fold, comm->library->ring_search,
				 binds_sockets(comm->library));
	comm->rings.shape.socket = comm->socket;
	comm->rings.shape.generation = oldest_generation(comm);
	comm->rings.shape.peer_access = have_access(comm);
	for (size_t i = 0; i < comm->rank_count; i++)
		comm->ranks[i].machine = comm->rings.node_of[comm->ranks[i].real];
	comm->rings.shape.staged = !comm->socket && is_staged(comm);
	comm->rings.shape.far_adapter = !comm->socket && is_far(comm);
}

/* Finds the ways between neighbours on the first ring, and to and from servers. Other ways are
 * found when a schedule needs them. */
static bool ways_are_there(struct communicator *comm)
{
	const struct fold *fold = comm->spec.fold;
	size_t count = comm->rank_count, all = comm->all_count;
	for (size_t i = 0; i < all && all > 1; i++) {
		size_t from = comm->rings.order[i], to = comm->rings.order[(i + 1) % all];
		if (fold && !fold_is_simulated(fold, from))
			continue;
		if (!way_find(comm, fold ? fold_stand_in(fold, from) : from, to))
			return false;
	}
	for (size_t s = count; s < comm->total_count; s++)
		for (size_t i = 0; i < count; i++)
			if (!way_find(comm, i, s) || !way_find(comm, s, i))
				return false;
	return true;
}

struct communicator *communicator_new(const struct communicator_spec *spec)
{
	struct communicator *comm = ARENA_NEW(spec->arena, struct communicator);
	FW_ASSERT(spec->rank_count > 0 && spec->library);
	comm->spec = *spec;
	comm->spec.name = arena_strdup(spec->arena, spec->name);
	comm->library = spec->library;
	comm->rank_count = spec->rank_count;
	comm->total_count = spec->rank_count + spec->server_count + spec->machine_count;
	comm->all_count = spec->fold ? spec->fold->rank_count : spec->rank_count;
	comm->socket = spec->transport && spec->transport->sockets;
	comm->ranks = ARENA_ARRAY(spec->arena, comm->total_count, struct rank_state);
	struct arena *scratch = arena_new();
	size_t *first = ARENA_ARRAY(scratch, fabric_node_count(spec->fabric), size_t);
	for (size_t i = 0; i < comm->total_count; i++)
		rank_init(comm, i, first);
	arena_free(scratch);
	for (size_t i = 0; i < comm->total_count; i++)
		reduce_cores_init(comm, &comm->ranks[i]);
	comm->operation_room = OPERATION_ROOM_FIRST;
	comm->operations = ARENA_ARRAY(spec->arena, comm->operation_room, struct operation *);
	find_rings(comm);
	return ways_are_there(comm) ? comm : NULL;
}

static bool has_steps(const struct communicator *comm)
{
	return comm->all_count + comm->spec.server_count > 1;
}

void communicator_open(struct communicator *comm, event_fn *fn, void *ctx, uint64_t arg)
{
	if (comm->socket && has_steps(comm)) {
		struct collective_choice choice = library_choose(comm->library, &comm->rings.shape,
								 COLLECTIVE_ALL_REDUCE, OPENING_B);
		if (!plan_find(comm, &choice))
			return;
	}
	sockets_open(comm, fn, ctx, arg);
}

/* ---- the queue of collectives ---- */

static struct operation **operation_at(const struct communicator *comm, uint64_t number)
{
	return &comm->operations[number & (comm->operation_room - 1)];
}

static void operations_grow(struct communicator *comm)
{
	struct operation **before = comm->operations;
	size_t room = comm->operation_room;
	comm->operation_room = 2 * room;
	comm->operations = ARENA_ARRAY(comm->spec.arena, comm->operation_room, struct operation *);
	for (uint64_t n = comm->first_number; n < comm->next_number; n++)
		*operation_at(comm, n) = before[n & (room - 1)];
}

static struct operation *operation_take(struct communicator *comm)
{
	struct operation *operation = comm->free_operations;
	if (operation) {
		const struct operation used = *operation;
		comm->free_operations = used.next;
		memset(used.arrived, 0, comm->total_count * sizeof *used.arrived);
		*operation = (struct operation){.arrived = used.arrived,
						.steps_left = used.steps_left,
						.started_ps = used.started_ps};
	} else {
		operation = ARENA_NEW(comm->spec.arena, struct operation);
		operation->arrived = ARENA_ARRAY(comm->spec.arena, comm->total_count, bool);
		operation->steps_left = ARENA_ARRAY(comm->spec.arena, comm->total_count, size_t);
		operation->started_ps = ARENA_ARRAY(comm->spec.arena, comm->total_count, int64_t);
	}
	operation->comm = comm;
	if (comm->next_number - comm->first_number == comm->operation_room)
		operations_grow(comm);
	operation->number = comm->next_number++;
	*operation_at(comm, operation->number) = operation;
	return operation;
}

static const char *choice_text(struct communicator *comm, const struct collective_choice *choice)
{
	size_t channels = choice->block_count > 0 ? choice->block_count : choice->channel_count;
	const struct algorithm *wanted = algorithm_find(comm->library->algorithm);
	bool other = wanted && wanted != choice->algorithm && !comm->library->script &&
		     wanted->collective == choice->algorithm->collective;
	return arena_printf(comm->spec.arena, "%s%s%s%s, %s, %zu channel%s",
			    choice->algorithm->name, other ? " (these ranks cannot use " : "",
			    other ? wanted->name : "", other ? ")" : "",
			    protocol_name(choice->protocol), channels, channels == 1 ? "" : "s");
}

const char *communicator_choice_text(struct communicator *comm, enum collective collective,
				     double size_B)
{
	struct collective_choice choice =
		library_choose(comm->library, &comm->rings.shape, collective, size_B);
	return choice_text(comm, &choice);
}

const struct communicator_counters *communicator_counters(const struct communicator *comm)
{
	return &comm->counters;
}

const char *communicator_waiting(const struct communicator *comm, struct arena *arena)
{
	if (comm->opening_count > 0)
		return arena_printf(arena, "%zu connections are not open yet", comm->opening_count);
	if (comm->first_number == comm->next_number)
		return "no collective in progress";
	const struct operation *operation = *operation_at(comm, comm->first_number);
	size_t there = 0;
	for (size_t i = 0; i < comm->rank_count; i++)
		there += operation->arrived[i];
	return arena_printf(
		arena,
		"%s %llu: %zu of %zu ranks arrived, %zu done, %llu of %llu messages delivered",
		collective_name(operation->request.collective),
		(unsigned long long)operation->number, there, comm->rank_count,
		operation->over_count, (unsigned long long)operation->deliveries_count,
		(unsigned long long)operation->sends_count);
}

/* ---- a rank's collectives ---- */

static void rank_started(void *ctx, uint64_t rank)
{
	struct operation *operation = ctx;
	struct communicator *comm = operation->comm;
	if (!operation->plan || !operation->plan->schedule->together) {
		executor_start(comm, operation, (size_t)rank);
		return;
	}
	if (++operation->begun_count < comm->total_count)
		return;
	if (operation->plan->schedule->merged_count > 1)
		operation->merged_latency_ps = wire_merged_latency_ps(comm, operation);
	for (size_t i = 0; i < comm->total_count; i++)
		executor_start(comm, operation, i);
}

/* Returns the part of the rank's GPU that the kernel of a collective uses. */
static double hold_ratio(const struct communicator *comm, const struct rank_state *rank,
			 const struct operation *operation)
{
	const struct library_params *library = comm->library;
	double blocks = (double)operation->choice.block_count;
	if (rank->server || !rank->place.gpu)
		return 0;
	if (operation->request.message)
		blocks = fmin(blocks, MESSAGE_BLOCKS);
	if (operation->request.block_count > 0)
		blocks = (double)operation->request.block_count;
	return gpu_blocks_ratio(rank->place.gpu, library->block_share_ratio * blocks) +
	       library->kernel_loss_ratio;
}

/* One kernel runs at a time, from its start (also while it waits for others) to its end. */
static void rank_hold(struct rank_state *rank, double ratio)
{
	if (ratio <= rank->held_ratio && ratio >= rank->held_ratio)
		return;
	gpu_reserve_add(rank->place.gpu, ratio - rank->held_ratio);
	rank->held_ratio = ratio;
}

static void rank_begin(struct communicator *comm, size_t index, struct operation *operation)
{
	struct rank_state *rank = &comm->ranks[index];
	rank->number++;
	rank->running_count++;
	rank_hold(rank, hold_ratio(comm, rank, operation));
	operation->started_ps[index] = engine_now_ps(comm->spec.engine);
	rank->last_B = 0;
	if (operation->plan && !operation->execution)
		operation->execution = execution_take(comm, operation);
	double start_s = operation->choice.start_s + comm->library->stagger_s * (double)rank->real;
	engine_after(comm->spec.engine, rank->server ? 0 : ps_from_s(start_s), rank_started,
		     operation, index);
}

/* Begins the next collectives at which the rank has arrived, up to the number that may run at once.
 */
static void rank_advance(struct communicator *comm, size_t index)
{
	struct rank_state *rank = &comm->ranks[index];
	size_t most = (size_t)comm->library->at_once_count;
	while (!comm->failed && rank->running_count < most && rank->number < comm->next_number) {
		struct operation *operation = *operation_at(comm, rank->number);
		if (!operation->arrived[index])
			return;
		rank_begin(comm, index, operation);
	}
}

/* Chooses the servers and GPUs of a tensor. They repeat after as many tensors as there are pairs of
 * a server and a GPU of a machine. */
static void place(const struct communicator *comm, const struct collective_request *request,
		  struct collective_choice *choice)
{
	choice->whole = request->size_B < comm->library->shard_least_B;
	choice->turn = request->turn % (comm->spec.server_count * comm->rings.shape.rank_most);
}

uint64_t communicator_begin(struct communicator *comm, const struct collective_request *request)
{
	struct operation *operation = operation_take(comm);
	FW_ASSERT(request->size_B > 0);
	operation->request = *request;
	operation->choice = library_choose(comm->library, &comm->rings.shape, request->collective,
					   request->size_B);
	if (operation->choice.algorithm->machines)
		place(comm, request, &operation->choice);
	operation->scale_ratio = request->size_B / PLAN_SIZE_B;
	operation->train_count = trains_make(comm, &operation->choice);
	if (has_steps(comm) && !comm->failed)
		operation->plan = plan_find(comm, &operation->choice);
	if (engine_trace(comm->spec.engine))
		operation->label = arena_printf(
			comm->spec.arena, "%s, %s",
			request->label ? request->label : collective_name(request->collective),
			choice_text(comm, &operation->choice));
	comm->counters.collectives_count++;
	uint64_t number = operation->number;
	for (size_t i = comm->rank_count; i < comm->total_count; i++) {
		operation->arrived[i] = true;
		rank_advance(comm, i);
	}
	return number;
}

void *communicator_request_ctx(const struct communicator *comm, uint64_t number)
{
	FW_ASSERT(number >= comm->first_number);
	return number < comm->next_number ? (*operation_at(comm, number))->request.ctx : NULL;
}

void communicator_arrive(struct communicator *comm, uint64_t number, size_t rank)
{
	FW_ASSERT(number >= comm->first_number && number < comm->next_number);
	struct operation *operation = *operation_at(comm, number);
	FW_ASSERT(rank < comm->rank_count && !operation->arrived[rank]);
	operation->arrived[rank] = true;
	operation->arrived_count++;
	rank_advance(comm, rank);
}

static void rank_trace(struct communicator *comm, size_t index, const struct operation *operation)
{
	struct rank_state *rank = &comm->ranks[index];
	struct trace *trace = engine_trace(comm->spec.engine);
	if (!trace)
		return;
	if (!rank->has_track) {
		const char *name = rank->server
					   ? arena_printf(comm->spec.arena, "server %zu",
							  index - comm->rank_count)
					   : arena_printf(comm->spec.arena, "rank %zu", rank->real);
		rank->track = trace_track(trace, comm->spec.name, name);
		rank->has_track = true;
	}
	trace_span(trace, rank->track, SPAN_WIRE, operation->label, operation->started_ps[index],
		   engine_now_ps(comm->spec.engine));
}

/* Checks that the rank does not end before the ranks whose data it needs have arrived. A file of
 * MSCCL can have steps that need no other rank. */
static void check_arrived(struct communicator *comm, const struct operation *operation, size_t rank)
{
	bool broadcast = operation->request.collective == COLLECTIVE_BROADCAST;
	bool scripted = operation->choice.algorithm == &algorithm_msccl;
	size_t needed = broadcast || scripted ? 0 : comm->rank_count;
	if (!operation->arrived[rank] || (broadcast && !operation->arrived[0]) ||
	    operation->arrived_count < needed)
		engine_fail(comm->spec.engine,
			    "%s: rank %zu ends %s %llu after only %zu of %zu ranks have arrived",
			    comm->spec.name, comm->ranks[rank].real,
			    collective_name(operation->request.collective),
			    (unsigned long long)operation->number, operation->arrived_count,
			    comm->rank_count);
}

/* Checks that every sent byte was delivered. */
static void check_delivered(struct communicator *comm, const struct operation *operation)
{
	double slack_B = 1e-9 * operation->sent_B; /* the two sums add in different orders */
	if (operation->sends_count != operation->deliveries_count ||
	    fabs(operation->sent_B - operation->delivered_B) > slack_B)
		engine_fail(comm->spec.engine,
			    "%s: %.17g bytes of %llu messages sent, %.17g of %llu delivered",
			    comm->spec.name, operation->sent_B,
			    (unsigned long long)operation->sends_count, operation->delivered_B,
			    (unsigned long long)operation->deliveries_count);
}

static void operation_over(struct communicator *comm, struct operation *operation)
{
	check_delivered(comm, operation);
	if (operation->execution)
		execution_give(operation->plan, operation->execution);
	while (comm->first_number < comm->next_number) {
		struct operation *first = *operation_at(comm, comm->first_number);
		if (first->over_count < comm->total_count)
			return;
		comm->first_number++;
		first->next = comm->free_operations;
		comm->free_operations = first;
	}
}

void comm_rank_over(struct operation *operation, size_t index)
{
	struct communicator *comm = operation->comm;
	struct rank_state *rank = &comm->ranks[index];
	if (comm->failed)
		return;
	const struct collective_request request = operation->request;
	if (!rank->server)
		check_arrived(comm, operation, index);
	rank_trace(comm, index, operation);
	rank->running_count--;
	bool last = ++operation->over_count == comm->total_count;
	if (last)
		operation_over(comm, operation);
	rank_advance(comm, index);
	if (rank->running_count == 0)
		rank_hold(rank, 0);
	if (request.rank_done && !rank->server)
		request.rank_done(request.ctx, request.arg, index);
	if (last && request.done)
		request.done(request.ctx, request.arg);
}
