/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step of one rank: the gates of its program, its gradients, its updates and copies. */
#include "sim/engine/trace.h"
#include "sim/workload/dp_internal.h"

#define LEAST_FACTOR 0.5 /* smallest random factor of a rank's compute time */

/* Maximum number of updates that the host issues as one piece of work. The GPU can run one piece
 * while the host issues the next. */
enum { UPDATES_PIECE = 16 };

static void call_at_once(const struct rank *rank, struct callback *callback)
{
	engine_after(rank->job->spec.host.engine, 0, callback->fn, callback->ctx, callback->arg);
	callback->fn = NULL;
}

/* ---- the step's end ---- */

static void step_end(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	rank->ending = false;
	if (dp_rank_ended(rank))
		rank_step_begin(rank);
	rank_note(rank);
}

static void try_end(struct rank *rank)
{
	struct dp *job = rank->job;
	size_t tensor_count = job->spec.host.gradients->tensor_count;
	if (!rank->ran || rank->reduced_count < tensor_count ||
	    (job->issued_updates && rank->updated_count < tensor_count) ||
	    rank->updates_running > 0 || rank->ending)
		return;
	rank->ending = true;
	if (job->exchange && job->spec.host.params->gather_s > 0 &&
	    (job->spec.across_machines || job->spec.host.params->gather_inside))
		engine_after(job->spec.host.engine, ps_from_s(job->spec.host.params->gather_s),
			     step_end, rank, 0);
	else
		engine_after(job->spec.host.engine, 0, step_end, rank, 0);
}

/* ---- starting ---- */

/* Returns the number of steps that the rank may begin to issue. With lockstep input these are
 * the steps whose batch has been delivered. Otherwise these are the begun steps, and one more if
 * the rank issues ahead. */
static size_t issuable_count(const struct rank *rank)
{
	if (rank->spec->input && input_is_lockstep(rank->spec->input))
		return rank->begun_count - rank->waits_for_input;
	return rank->begun_count + rank->job->ahead;
}

static void draw_factor(struct rank *rank)
{
	const struct dp_spec *spec = &rank->job->spec;
	double noise_ratio = spec->host.params->noise_ratio, noise = 1;
	/* The largest of n uniform numbers is distributed as the n-th root of one of them. */
	double copies = spec->host.copies ? spec->host.copies[rank->index] : 1;
	if (noise_ratio > 0)
		noise +=
			noise_ratio * num_normal_quantile(pow(rng_uniform(&rank->rng), 1 / copies));
	rank->factor = fmax(noise, LEAST_FACTOR) * rank->spec->slowdown_ratio;
}

static void rank_started(struct rank *rank)
{
	call_at_once(rank, &rank->gate);
}

/* ---- processes of several ranks ---- */

/* One framework call makes a step of all ranks of a process, and one thread starts the ranks in
 * order. */
static void start_next(void *ctx, uint64_t arg)
{
	struct process *process = ctx;
	struct rank *rank = process->starting;
	process->starting = rank->next_of_process;
	if (process->starting)
		cpu_serve(process->starter, process->work_s, "start of a rank", start_next, process,
			  0);
	rank_started(rank);
}

/* Called when one rank of the process may begin to issue its next step. */
static void process_ask(struct process *process)
{
	if (++process->asking_count < process->rank_count)
		return;
	process->asking_count = 0;
	process->starting = process->first;
	engine_after(process->first->job->spec.host.engine, 0, start_next, process, 0);
}

static struct process *process_new(struct dp *job, struct guest *guest, double work_s)
{
	struct process *process = ARENA_NEW(job->spec.host.arena, struct process);
	*process = (struct process){.starter = cpu_shared_new(guest), .work_s = work_s};
	return process;
}

void processes_find(struct dp *job)
{
	const struct dp_spec *spec = &job->spec;
	double work_s = spec->host.params->stagger_s * spec->host.gradients->ops_count;
	if (work_s <= 0)
		return;
	/* From the last rank to the first, because each rank is put at the front of its list. */
	for (size_t i = spec->host.rank_count; i-- > 0;) {
		struct rank *rank = &job->ranks[i];
		for (size_t k = i + 1; !rank->process && k < spec->host.rank_count; k++)
			if (spec->ranks[k].guest == spec->ranks[i].guest)
				rank->process = job->ranks[k].process;
		if (!rank->process)
			rank->process = process_new(job, spec->ranks[i].guest, work_s);
		rank->next_of_process = rank->process->first;
		rank->process->first = rank;
		rank->process->rank_count++;
	}
}

/* ---- issuing ---- */

/* Lets the thread issue the next step if it is at the gate and may do so. */
static void issue_steps(struct rank *rank)
{
	if (rank->job->stopped || !rank->gate.fn || rank->requested ||
	    rank->issue_count >= issuable_count(rank))
		return;
	rank->issue_count++;
	draw_factor(rank);
	rank->requested = rank->process != NULL;
	if (rank->process)
		process_ask(rank->process);
	else
		rank_started(rank);
}

static void at_gate(void *ctx, event_fn *fn, void *fn_ctx, uint64_t fn_arg)
{
	struct rank *rank = ctx;
	rank->gate = (struct callback){fn, fn_ctx, fn_arg};
	rank->requested = false;
	issue_steps(rank);
}

/* ---- gradients ---- */

static void hand_over_computed(struct rank *rank);

static void announce(struct rank *rank, size_t hand_over)
{
	const struct hand_over *tensors = &rank->job->spec.host.gradients->hand_overs[hand_over];
	exchange_announced(rank->job->exchange, rank->index, tensors->first, tensors->count);
}

/* Called when a rank has issued the gradients. When all ranks have, each rank announces them, and
 * the collective waits on each GPU for all gradients that were issued there, and for the kernels
 * before them. */
static void gather_issued(struct dp *job, size_t hand_over)
{
	if (++job->issued_count[hand_over] < job->spec.host.rank_count)
		return;
	job->issued_count[hand_over] = 0;
	for (size_t i = 0; i < job->spec.host.rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		size_t count = job->spec.host.gradients->hand_over_count;
		size_t issued = rank->issued_total - (rank->begun_count - 1) * count;
		rank->fences[hand_over] = issued < count ? issued : count;
		announce(rank, hand_over);
		hand_over_computed(rank);
		rank_note(rank);
	}
}

/* Announces the gradients of the begun step that have been issued since the last call. */
static void announce_issued(struct rank *rank)
{
	struct dp *job = rank->job;
	size_t count = job->spec.host.gradients->hand_over_count;
	if (!job->announces || !job->exchange)
		return;
	while (rank->announced_total < rank->issued_total &&
	       rank->announced_total / count < rank->begun_count) {
		size_t hand_over = rank->announced_total++ % count;
		if (job->issued_count)
			gather_issued(job, hand_over);
		else
			announce(rank, hand_over);
	}
}

static void handed(void *ctx, uint64_t count)
{
	struct rank *rank = ctx;
	struct exchange *exchange = rank->job->exchange;
	size_t first = rank->handed_count;
	rank->handed_count += (size_t)count;
	if (!rank->job->announces)
		exchange_announced(exchange, rank->index, first, (size_t)count);
	exchange_ready(exchange, rank->index, first, (size_t)count);
	rank_note(rank);
}

static void hand_over(struct rank *rank, size_t count)
{
	struct dp *job = rank->job;
	if (!job->exchange) {
		size_t first = rank->handed_count;
		rank->handed_count += count;
		rank_reduced(rank, first, count);
		return;
	}
	int64_t now_ps = engine_now_ps(job->spec.host.engine), *free_ps = &rank->framework_free_ps;
	*free_ps = (*free_ps > now_ps ? *free_ps : now_ps) +
		   ps_from_s(job->spec.host.params->tensor_s * (double)count);
	if (*free_ps > now_ps)
		engine_at(job->spec.host.engine, *free_ps, handed, rank, count);
	else
		handed(rank, count);
}

/* Hands over the gradients that the GPU has computed, if everything has run for which their
 * collectives wait. */
static void hand_over_computed(struct rank *rank)
{
	const struct dp *job = rank->job;
	while (rank->next_handed < rank->computed_count) {
		size_t fence = job->issued_count ? rank->fences[rank->next_handed] : 1;
		if (fence == 0 || rank->computed_count < fence)
			return;
		hand_over(rank, job->spec.host.gradients->hand_overs[rank->next_handed++].count);
	}
}

/* ---- updates that the host issues ---- */

static void issue_updates(struct rank *rank);

static void updates_ran(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	rank->updates_running--;
	try_end(rank);
	rank_note(rank);
}

static void submit_updates(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	/* a step that is issued ahead can fill the queue, and waits for the updates */
	if (!rank->job->ahead && !gpu_has_room(rank->spec->context)) {
		gpu_when_room(rank->spec->context, submit_updates, rank, 0);
		return;
	}
	const struct gpu_op op = {.kind = GPU_OP_KERNEL,
				  .label = "update",
				  .duration_s = rank->update_due_s,
				  .continued = true,
				  .launched = rank->job->ahead,
				  .done = updates_ran,
				  .ctx = rank};
	rank->update_due_s = 0;
	gpu_submit(rank->updates, &op);
}

static void updates_issued(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	const struct gradient *tensors = rank->job->spec.host.gradients->tensors;
	bool waits = rank->update_due_s > 0; /* for room in the launch queue */
	for (size_t i = 0; i < rank->updating_count; i++)
		rank->update_due_s +=
			tensors[rank->reduced_order[rank->updated_count++]].update_s * rank->factor;
	rank->updating_count = 0;
	if (rank->update_due_s > 0 && !waits) {
		rank->updates_running++;
		submit_updates(rank, 0);
	}
	issue_updates(rank);
	try_end(rank);
	rank_note(rank);
}

static void issue_updates(struct rank *rank)
{
	const struct gradient *tensors = rank->job->spec.host.gradients->tensors;
	size_t left = rank->notified_count - rank->updated_count;
	double host_s = 0;
	if (rank->updating_count > 0)
		return;
	if (left == 0)
		return;
	rank->updating_count = left < UPDATES_PIECE ? left : UPDATES_PIECE;
	for (size_t i = 0; i < rank->updating_count; i++)
		host_s += tensors[rank->reduced_order[rank->updated_count + i]].update_host_s;
	if (host_s > 0)
		cpu_serve(rank->updater, host_s, "updates", updates_issued, rank, 0);
	else
		updates_issued(rank, 0);
}

static void notified(void *ctx, uint64_t count)
{
	struct rank *rank = ctx;
	rank->notified_count += (size_t)count;
	issue_updates(rank);
}

static void open_reduced(struct rank *rank)
{
	if (rank->reduced_mark.fn &&
	    rank->reduced_count == rank->job->spec.host.gradients->tensor_count)
		call_at_once(rank, &rank->reduced_mark);
}

void rank_reduced(struct rank *rank, size_t first, size_t count)
{
	struct dp *job = rank->job;
	for (size_t t = first; t < first + count; t++) {
		FW_ASSERT(!rank->reduced[t]);
		rank->reduced[t] = true;
		rank->reduced_order[rank->reduced_count++] = (uint32_t)t;
	}
	while (rank->first_open < job->spec.host.gradients->tensor_count &&
	       rank->reduced[rank->first_open])
		rank->first_open++;
	open_reduced(rank);
	if (job->issued_updates && job->spec.host.params->callback_s > 0)
		engine_after(job->spec.host.engine, ps_from_s(job->spec.host.params->callback_s),
			     notified, rank, count);
	else if (job->issued_updates)
		notified(rank, count);
	try_end(rank);
	rank_note(rank);
}

/* ---- copies ---- */

void rank_copy(struct rank *rank, double size_B, event_fn *fn, void *ctx, uint64_t arg)
{
	const struct gpu_op op = {.kind = GPU_OP_KERNEL,
				  .label = "fusion buffer",
				  .duration_s = rank->job->spec.host.params->fusion_copy_ratio *
						gpu_traffic_s(rank->spec->gpu, size_B),
				  .continued = true,
				  .launched = true,
				  .done = fn,
				  .ctx = ctx,
				  .arg = arg};
	if (op.duration_s <= 0 && gpu_stream_idle(rank->copies)) {
		fn(ctx, arg);
		return;
	}
	gpu_submit(rank->copies, &op);
	rank_note(rank);
}

/* ---- marks of the program ---- */

static void open_begin(struct rank *rank)
{
	if (!rank->begin_mark.fn || rank->passed_count >= rank->begun_count ||
	    rank->waits_for_input)
		return;
	rank->passed_count++;
	call_at_once(rank, &rank->begin_mark);
}

uint64_t dp_join(struct cuda_peers *peers, size_t member, const struct cuda_call *call)
{
	struct rank *rank = &((struct dp *)peers)->ranks[member];
	if (call->kind == CALL_GRADIENTS && !rank->job->stopped) {
		rank->issued_total++;
		announce_issued(rank);
	}
	return 0;
}

const int64_t *dp_begin(struct cuda_peers *peers, size_t member, uint64_t ticket,
			const struct cuda_call *call, event_fn *done, void *ctx, uint64_t arg)
{
	struct rank *rank = &((struct dp *)peers)->ranks[member];
	struct callback over = {done, ctx, arg};
	if (rank->job->stopped)
		return NULL;
	switch (call->kind) {
	case CALL_STEP_BEGIN:
		rank->begin_mark = over;
		open_begin(rank);
		break;
	case CALL_REDUCED:
		rank->reduced_mark = over;
		open_reduced(rank);
		break;
	case CALL_GRADIENTS:
		rank->computed_count = call->peer + 1;
		hand_over_computed(rank);
		break;
	default:
		rank->ran = true;
		try_end(rank);
		break;
	}
	rank_note(rank);
	return NULL;
}

/* ---- the step's begin ---- */

static void input_there(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	rank->waits_for_input = false;
	issue_steps(rank);
	open_begin(rank);
	rank_note(rank);
}

void rank_step_begin(struct rank *rank)
{
	const struct dp_spec *spec = &rank->job->spec;
	rank->begun_count++;
	rank->computed_count = rank->next_handed = 0;
	if (rank->job->issued_count)
		memset(rank->fences, 0,
		       spec->host.gradients->hand_over_count * sizeof *rank->fences);
	rank->ran = false;
	rank->handed_count = rank->reduced_count = rank->first_open = 0;
	memset(rank->reduced, 0, spec->host.gradients->tensor_count * sizeof *rank->reduced);
	rank->notified_count = rank->updated_count = 0;
	rank->waits_for_input = rank->spec->input != NULL;
	issue_steps(rank);
	announce_issued(rank);
	if (rank->spec->input)
		input_take(rank->spec->input, input_there, rank, 0);
	else
		open_begin(rank);
}

static void gpu_changed(void *ctx, uint64_t arg)
{
	rank_note(ctx);
}

static void player_init(struct rank *rank)
{
	const struct dp_spec *spec = &rank->job->spec;
	const struct cuda_process_spec process = {
		.arena = spec->host.arena,
		.engine = spec->host.engine,
		.fabric = spec->fabric,
		.context = rank->spec->context,
		.guest = rank->spec->guest,
		.driver = spec->driver,
		.dma = spec->dma,
		.stream_count = spec->program->stream_count,
		.event_count = spec->program->event_count,
		.to_device = rank->spec->to_device,
		.to_host = rank->spec->to_host,
		.peers = &rank->job->peers,
		.member = rank->index,
		.kernel_ratio = &rank->factor,
	};
	rank->gpu_process = cuda_process_new(&process);
	const struct player_spec player = {
		.arena = spec->host.arena,
		.engine = spec->host.engine,
		.name = spec->name,
		.track = arena_printf(spec->host.arena, "rank %zu host", rank->index),
		.program = spec->program,
		.port = cuda_process_port(rank->gpu_process),
		.guest = rank->spec->guest,
		.shares_cores = true,
		.untimed = true,
		.processes = &rank->gpu_process,
		.device_count = 1,
		.gate = at_gate,
		.gate_ctx = rank,
	};
	rank->player = player_new(&player);
}

void rank_init(struct rank *rank, struct dp *job, size_t index)
{
	const struct dp_spec *spec = &job->spec;
	const char *name = arena_printf(spec->host.arena, "%s rank %zu", spec->name, index);
	struct trace *trace = engine_trace(spec->host.engine);
	*rank = (struct rank){
		.job = job,
		.index = index,
		.spec = &spec->ranks[index],
		.rng = rng_named(spec->seed, name),
		.factor = 1,
		.part = PART_OTHER,
	};
	rank->reduced = ARENA_ARRAY(spec->host.arena, spec->host.gradients->tensor_count + 1, bool);
	rank->reduced_order =
		ARENA_ARRAY(spec->host.arena, spec->host.gradients->tensor_count + 1, uint32_t);
	if (job->issued_count)
		rank->fences = ARENA_ARRAY(spec->host.arena, spec->host.gradients->hand_over_count,
					   size_t);
	player_init(rank);
	if (job->issued_updates)
		rank->updater = cpu_shared_new(rank->spec->guest);
	rank->copies = gpu_stream_new(rank->spec->context, "fusion");
	/* Behind the begin of a step that is issued ahead, updates would wait for themselves. */
	rank->updates = job->ahead ? gpu_stream_new(rank->spec->context, "updates")
				   : cuda_process_stream(rank->gpu_process, 0);
	gpu_context_watch(rank->spec->context, gpu_changed, rank);
	if (trace)
		rank->track = trace_track(trace, spec->name,
					  arena_printf(spec->host.arena, "rank %zu", index));
}
