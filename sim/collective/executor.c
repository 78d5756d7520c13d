/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a schedule: a step begins when nothing is missing, and a step that ends lets others begin. A
 * GPU adds or stores data while it receives them, at no extra cost. This makes chains of steps that
 * end at once, so they are processed with a list instead of recursion. */
#include "sim/collective/msccl.h"
#include "sim/collective/wire.h"
#include "sim/transport/path.h"

/* Adding a gradient to another one reads two numbers and writes one. */
static const double DRAM_PER_REDUCE = 3;

/* ---- plans ---- */

/* Returns true if a step depends on no step of its own rank. Then it waits for the rank's start. */
static bool waits_for_start(const struct schedule *schedule, const struct schedule_step *step)
{
	for (uint32_t i = 0; i < step->after_count; i++)
		if (schedule->steps[schedule->after[step->after_first + i]].rank == step->rank)
			return false;
	return true;
}

/* Converts counts at [i + 1] to first indices of lists. */
static void counts_to_firsts(uint32_t *firsts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		firsts[i + 1] += firsts[i];
}

/* Either all steps of a schedule are repeated, or none is. */
static bool is_carried(const struct schedule *schedule, size_t step)
{
	return schedule->loops && schedule->loops[step].carried != NO_STEP;
}

static void plan_followers(struct collective_plan *plan, struct arena *arena)
{
	const struct schedule *schedule = plan->schedule;
	size_t count = schedule->step_count;
	uint32_t *firsts = ARENA_ARRAY(arena, count + 2, uint32_t);
	/* Indices are stored one entry too far, because filling the lists moves them back. */
	for (size_t s = 0; s < count; s++) {
		const struct schedule_step *step = &schedule->steps[s];
		for (uint32_t i = 0; i < step->after_count; i++)
			firsts[schedule->after[step->after_first + i] + 2]++;
		if (step->source != NO_STEP)
			firsts[step->source + 2]++;
		if (is_carried(schedule, s))
			firsts[schedule->loops[s].carried + 2]++;
	}
	counts_to_firsts(firsts + 1, count);
	plan->next_steps = ARENA_ARRAY(arena, firsts[count + 1] + 1, uint32_t);
	for (size_t s = 0; s < count; s++) {
		const struct schedule_step *step = &schedule->steps[s];
		for (uint32_t i = 0; i < step->after_count; i++) {
			uint32_t before = schedule->after[step->after_first + i];
			plan->next_steps[firsts[before + 1]++] = (uint32_t)s;
		}
		if (step->source != NO_STEP)
			plan->next_steps[firsts[step->source + 1]++] = (uint32_t)s;
		if (is_carried(schedule, s))
			plan->next_steps[firsts[schedule->loops[s].carried + 1]++] = (uint32_t)s;
	}
	plan->next_first = firsts;
}

static void plan_starts(struct collective_plan *plan, struct arena *arena, size_t rank_count)
{
	const struct schedule *schedule = plan->schedule;
	uint32_t *firsts = ARENA_ARRAY(arena, rank_count + 2, uint32_t);
	plan->missing = ARENA_ARRAY(arena, schedule->step_count + 1, uint32_t);
	plan->rank_steps_count = ARENA_ARRAY(arena, rank_count, uint32_t);
	for (size_t s = 0; s < schedule->step_count; s++) {
		const struct schedule_step *step = &schedule->steps[s];
		bool starts = waits_for_start(schedule, step);
		FW_ASSERT(step->rank < rank_count);
		plan->rank_steps_count[step->rank]++;
		bool sourced = step->source != NO_STEP && !schedule->loops;
		plan->missing[s] = step->after_count + sourced + starts;
		firsts[step->rank + 2] += starts;
	}
	counts_to_firsts(firsts + 1, rank_count);
	plan->first_steps = ARENA_ARRAY(arena, firsts[rank_count + 1] + 1, uint32_t);
	for (size_t s = 0; s < schedule->step_count; s++) {
		const struct schedule_step *step = &schedule->steps[s];
		if (waits_for_start(schedule, step))
			plan->first_steps[firsts[step->rank + 1]++] = (uint32_t)s;
	}
	plan->first_first = firsts;
}

static bool plan_wires(struct communicator *comm, struct collective_plan *plan)
{
	const struct schedule *schedule = plan->schedule;
	plan->wires = ARENA_ARRAY(comm->spec.arena, schedule->step_count + 1, struct wire *);
	for (size_t s = 0; s < schedule->step_count; s++) {
		const struct schedule_step *step = &schedule->steps[s];
		if (step->kind != STEP_SEND)
			continue;
		plan->wires[s] = wire_find(comm, step->rank, step->peer, step->channel);
		if (!plan->wires[s])
			return false;
	}
	return true;
}

static struct algorithm_spec plan_spec(const struct communicator *comm,
				       const struct collective_choice *choice)
{
	return (struct algorithm_spec){
		.rank_count = comm->all_count,
		.size_B = PLAN_SIZE_B,
		.channel_count = choice->channel_count,
		.pipeline_count = choice->pipeline_count,
		.server_count = comm->spec.server_count,
		.turn = choice->turn,
		.whole = choice->whole,
		.local_on_cpu = comm->library->local_sum_on_cpu,
		.script = comm->library->script ? comm->library->script->schedule : NULL,
		.node_of = comm->rings.node_of,
		.node_count = comm->rings.shape.node_count,
		.order = choice->channel_count <= comm->rings.shape.ring_count ? comm->rings.order
									       : NULL,
	};
}

const struct algorithm *communicator_plays(const struct communicator *comm,
					   enum collective collective, double size_B,
					   struct algorithm_spec *spec)
{
	struct collective_choice choice =
		library_choose(comm->library, &comm->rings.shape, collective, size_B);
	choice.pipeline_count = 1; /* one piece is enough, because all pieces do the same */
	*spec = plan_spec(comm, &choice);
	return choice.algorithm;
}

static struct collective_plan *plan_new(struct communicator *comm,
					const struct collective_choice *choice)
{
	struct arena *arena = comm->spec.arena;
	struct algorithm_spec spec = plan_spec(comm, choice);
	spec.fold = comm->spec.fold;
	if (spec.fold && !(spec.fold->algorithms & algorithm_bit(choice->algorithm))) {
		comm_fail(comm, arena_printf(arena,
					     "the library chose %s, for which the machines are not "
					     "all alike (write case.symmetry = \"off\")",
					     choice->algorithm->name));
		return NULL;
	}
	spec.steps_most = spec.fold ? 0 : (double)engine_events_max(comm->spec.engine);
	const char *refused = choice->algorithm->refuse ? choice->algorithm->refuse(&spec) : NULL;
	if (refused) {
		comm_fail(comm, arena_printf(arena, "%s: %s", choice->algorithm->name, refused));
		return NULL;
	}
	struct collective_plan *plan = ARENA_NEW(arena, struct collective_plan);
	plan->algorithm = choice->algorithm;
	plan->channel_count = choice->channel_count;
	plan->pipeline_count = choice->pipeline_count;
	plan->turn = choice->turn;
	plan->whole = choice->whole;
	plan->schedule = choice->algorithm->build(choice->algorithm, arena, &spec);
	plan_followers(plan, arena);
	plan_starts(plan, arena, comm->total_count);
	if (!plan_wires(comm, plan))
		return NULL;
	if (spec.fold && spec.fold->near) {
		const struct schedule *schedule = plan->schedule;
		plan->received = ARENA_ARRAY(comm->spec.arena, schedule->step_count + 1, uint32_t);
		for (size_t s = 0; s < schedule->step_count; s++) {
			uint32_t source = schedule->steps[s].source;
			if (source != NO_STEP &&
			    plan->wires[source]->way->to == schedule->steps[s].rank)
				plan->received[source]++;
		}
	}
	*VEC_PUSH(arena, &comm->plans) = plan;
	return plan;
}

struct collective_plan *plan_find(struct communicator *comm, const struct collective_choice *choice)
{
	for (size_t i = 0; i < comm->plans.count; i++) {
		struct collective_plan *plan = comm->plans.items[i];
		if (plan->algorithm == choice->algorithm &&
		    plan->channel_count == choice->channel_count &&
		    plan->pipeline_count == choice->pipeline_count && plan->turn == choice->turn &&
		    plan->whole == choice->whole)
			return plan;
	}
	return plan_new(comm, choice);
}

/* With more messages of one collective, or more pieces, pieces form trains. Collectives of a
 * training with at least LARGE messages in a piece have about TRAINING_MOST messages, in at least
 * two trains. */
static const double MESSAGES_MOST = 16384, PIECES_MOST = 64, LARGE = 2048, TRAINING_MOST = 4096;

double trains_make(const struct communicator *comm, struct collective_choice *choice)
{
	double pieces = (double)choice->pipeline_count;
	/* messages of one piece */
	double messages = 4 * (double)(comm->all_count * choice->channel_count);
	if (choice->algorithm->cost == COST_MULTICAST && choice->algorithm->paired)
		messages *= 2 * (double)comm->rings.shape.rank_most; /* two trees for each head */
	double most = fmin(PIECES_MOST, fmax(1, floor(MESSAGES_MOST / messages)));
	if (comm->spec.training && messages >= LARGE)
		most = fmin(most, fmax(2, floor(TRAINING_MOST / messages)));
	if (choice->algorithm->cost == COST_MULTICAST) /* a message between any two ranks */
		most = fmin(most, 8);
	/* cores process a socket's bytes as they arrive */
	if (!choice->algorithm->pipelined || comm->socket || pieces <= most)
		return 1;
	choice->pipeline_count = (size_t)most;
	return pieces / most;
}

/* A step that follows the same round of another step may begin its first round at once. */
static void loops_begin(const struct schedule *schedule, struct execution *execution,
			struct arena *arena)
{
	size_t count = schedule->step_count;
	if (!execution->loops)
		execution->loops = ARENA_ARRAY(arena, count + 1, struct loop_state);
	for (size_t s = 0; s < count; s++)
		execution->loops[s] = (struct loop_state){.due = is_carried(schedule, s)};
}

struct execution *execution_take(struct communicator *comm, const struct operation *operation)
{
	struct collective_plan *plan = operation->plan;
	struct execution *execution = plan->free;
	struct arena *arena = comm->spec.arena;
	size_t count = plan->schedule->step_count;
	if (execution) {
		plan->free = execution->next;
	} else {
		execution = ARENA_NEW(arena, struct execution);
		execution->missing = ARENA_ARRAY(arena, count + 1, uint32_t);
	}
	memcpy(execution->missing, plan->missing, count * sizeof *plan->missing);
	if (plan->schedule->loops)
		loops_begin(plan->schedule, execution, arena);
	if (operation->train_count <= 1)
		return execution;
	FW_ASSERT(!plan->schedule->loops); /* rings are not pipelined */
	if (!execution->trains) {
		execution->missing_tails = ARENA_ARRAY(arena, count + 1, uint32_t);
		execution->trains = ARENA_ARRAY(arena, count + 1, struct message_state *);
	}
	memcpy(execution->missing_tails, plan->missing, count * sizeof *plan->missing);
	return execution;
}

void execution_give(struct collective_plan *plan, struct execution *execution)
{
	execution->next = plan->free;
	plan->free = execution;
}

/* ---- steps ---- */

static void step_lets(struct communicator *comm, struct operation *operation, uint32_t step,
		      bool tail)
{
	struct execution *execution = operation->execution;
	uint32_t *missing = tail ? execution->missing_tails : execution->missing;
	if (--missing[step] == 0)
		*VEC_PUSH(comm->spec.arena, &comm->ready) =
			(struct ready_step){operation, step, tail};
}

/* Starts all rounds that may begin. */
static void loop_try(struct communicator *comm, struct operation *operation, uint32_t step)
{
	struct loop_state *loop = &operation->execution->loops[step];
	for (; operation->execution->missing[step] == 0 && loop->due > 0; loop->due--)
		*VEC_PUSH(comm->spec.arena, &comm->ready) =
			(struct ready_step){operation, step, false};
}

/* Handles the end of a round of a folded schedule's step; last is true for the last round and for
 * steps without a loop. */
static void followers_let_folded(struct communicator *comm, struct operation *operation,
				 uint32_t step, bool last)
{
	const struct collective_plan *plan = operation->plan;
	const struct schedule *schedule = plan->schedule;
	struct execution *execution = operation->execution;
	for (uint32_t i = plan->next_first[step]; i < plan->next_first[step + 1]; i++) {
		uint32_t next = plan->next_steps[i];
		bool carries = is_carried(schedule, next) && schedule->loops[next].carried == step;
		if (schedule->steps[next].source == step || (carries && !last))
			execution->loops[next].due++;
		else if (!carries && last)
			execution->missing[next]--;
		loop_try(comm, operation, next);
	}
}

static void followers_let(struct communicator *comm, struct operation *operation, uint32_t step,
			  bool tail)
{
	const struct collective_plan *plan = operation->plan;
	for (uint32_t i = plan->next_first[step]; i < plan->next_first[step + 1]; i++)
		step_lets(comm, operation, plan->next_steps[i], tail);
}

static void rank_over(void *operation, uint64_t rank)
{
	comm_rank_over(operation, (size_t)rank);
}

static void step_end(struct communicator *comm, struct operation *operation, uint32_t step)
{
	const struct collective_plan *plan = operation->plan;
	size_t index = plan->schedule->steps[step].rank;
	struct rank_state *rank = &comm->ranks[index];
	bool last = true;
	if (plan->schedule->loops) {
		last = ++operation->execution->loops[step].over ==
		       plan->schedule->loops[step].rounds;
		followers_let_folded(comm, operation, step, last);
	} else {
		followers_let(comm, operation, step, operation->train_count > 1);
	}
	if (!last || --operation->steps_left[index] > 0)
		return;
	double copy_s = rank->server ? 0 : operation->choice.copy_spB * rank->last_B;
	engine_after(comm->spec.engine, ps_from_s(copy_s), rank_over, operation, index);
}

static void work_over(void *ctx, uint64_t arg)
{
	struct communicator *comm = ctx;
	struct message_state *work = (struct message_state *)(uintptr_t)arg;
	struct operation *operation = work->operation;
	uint32_t step = work->step;
	message_give(comm, work);
	executor_step_over(comm, operation, step);
}

/* Returns the memory traffic of a server's CPU per byte that one worker adds. A pass over k of n
 * gradients reads k and writes one; further passes read the sum again. Traffic after the sum is
 * divided over the n - 1 additions. */
static double reduce_traffic_ratio(const struct communicator *comm)
{
	double n = (double)comm->rank_count;
	double passes = ceil((n - 1) / (comm->library->cpu_sum_inputs_count - 1));
	return (n - 1 + 2 * passes + comm->library->cpu_after_ratio) / (n - 1);
}

/* Starts an addition or a copy in a server's host memory. */
static void work_on_cores(struct communicator *comm, const struct operation *operation,
			  const struct schedule_step *step, struct flow_spec *flow)
{
	const struct library_params *library = comm->library;
	struct rank_state *rank = &comm->ranks[step->rank];
	struct host *host = guest_host(rank->place.guest);
	double core_Bps = host_params(host)->copy_rate_Bps, dram_ratio = DRAM_PER_COPY;
	if (step->kind == STEP_REDUCE) {
		dram_ratio = reduce_traffic_ratio(comm);
		core_Bps = library->cpu_reduce_Bps * DRAM_PER_REDUCE / dram_ratio;
	}
	core_Bps /= guest_work_ratio(rank->place.guest);
	size_t count = rank->reduce_core_count;
	struct cpu **cores =
		rank->reduce_cores + operation->number % (uint64_t)library->at_once_count * count;
	flow_use_add(flow, host_dram(host), dram_ratio);
	for (size_t i = 0; i < count; i++)
		flow_use_add(flow, cpu_resource(cores[i]),
			     cpu_slowdown(cores[i]) / core_Bps / (double)count);
	flow_use_add(flow, cpu_pool(cores[0]), 1 / core_Bps);
}

/* Starts an addition or a copy in host memory, or a copy in a GPU's memory. */
static void work_start(struct communicator *comm, struct operation *operation, uint32_t index)
{
	const struct schedule *schedule = operation->plan->schedule;
	const struct schedule_step *step = &schedule->steps[index];
	struct rank_state *rank = &comm->ranks[step->rank];
	struct message_state *work = message_take(comm);
	work->operation = operation;
	work->step = index;
	struct flow_spec flow = {
		.size = schedule->chunk_B[step->chunk] * operation->scale_ratio,
		.done = work_over,
		.ctx = comm,
		.arg = (uint64_t)(uintptr_t)work,
	};
	if (rank->place.gpu)
		flow.cap = 1 / gpu_traffic_s(rank->place.gpu, 2);
	else
		work_on_cores(comm, operation, step, &flow);
	fabric_flow_start(comm->spec.fabric, &flow);
}

static void step_begin(struct communicator *comm, struct operation *operation, uint32_t index)
{
	const struct schedule_step *step = &operation->plan->schedule->steps[index];
	bool host = !comm->ranks[step->rank].place.gpu;
	const struct schedule_loop *loops = operation->plan->schedule->loops;
	uint32_t span = loops ? loops[index].span : 1;
	if (step->kind == STEP_SEND)
		for (uint32_t i = 0; i < span; i++)
			wire_send(comm, operation, index);
	else if ((step->kind == STEP_REDUCE && host) || step->source == NO_STEP)
		work_start(comm, operation, index);
	else
		step_end(comm, operation, index);
}

/* Additions and copies of a train take no separate time. */
static void train_step_begin(struct communicator *comm, const struct ready_step *ready)
{
	struct operation *operation = ready->operation;
	struct message_state **train = &operation->execution->trains[ready->step];
	bool sends = operation->plan->schedule->steps[ready->step].kind == STEP_SEND;
	if (sends && ready->tail)
		wire_feed(comm, *train);
	else if (sends)
		*train = wire_send(comm, operation, ready->step);
	else if (ready->tail)
		step_end(comm, operation, ready->step);
	else
		followers_let(comm, operation, ready->step, false);
}

/* Processes the work list. No function that it calls may call it again. */
static void work_off(struct communicator *comm)
{
	for (size_t i = 0; i < comm->ready.count; i++) {
		struct ready_step ready = comm->ready.items[i];
		if (ready.operation->train_count > 1)
			train_step_begin(comm, &ready);
		else
			step_begin(comm, ready.operation, ready.step);
	}
	comm->ready.count = 0;
}

static void step_starts(struct communicator *comm, struct operation *operation, uint32_t step,
			bool tail)
{
	if (operation->plan->schedule->loops) {
		operation->execution->missing[step]--;
		loop_try(comm, operation, step);
	} else {
		step_lets(comm, operation, step, tail);
	}
}

void executor_start(struct communicator *comm, struct operation *operation, size_t rank)
{
	const struct collective_plan *plan = operation->plan;
	operation->steps_left[rank] = plan ? plan->rank_steps_count[rank] : 0;
	if (operation->steps_left[rank] == 0) {
		engine_after(comm->spec.engine, 0, rank_over, operation, rank);
		return;
	}
	for (int tail = 0; tail <= (operation->train_count > 1); tail++)
		for (uint32_t i = plan->first_first[rank]; i < plan->first_first[rank + 1]; i++)
			step_starts(comm, operation, plan->first_steps[i], tail);
	work_off(comm);
}

void executor_head_over(struct communicator *comm, struct operation *operation, uint32_t step)
{
	followers_let(comm, operation, step, false);
	work_off(comm);
}

void executor_step_over(struct communicator *comm, struct operation *operation, uint32_t step)
{
	const struct schedule *schedule = operation->plan->schedule;
	if (schedule->loops &&
	    ++operation->execution->loops[step].arrived % schedule->loops[step].span != 0)
		return;
	step_end(comm, operation, step);
	work_off(comm);
}
