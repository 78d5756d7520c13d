/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step of one rank: its threads, its GPU, its copies. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/trace.h"
#include "sim/workload/fused_internal.h"

#define LEAST_FACTOR 0.5 /* smallest random factor of a rank's compute time */

/* Maximum number of updates that the host issues as one piece of work. The GPU can run one piece
 * while the host issues the next. */
enum { UPDATES_PIECE = 16 };

/* ---- streams ---- */

static void stream_over(void *ctx, uint64_t arg)
{
	struct rank_stream *own = ctx;
	own->busy = false;
	own->rank->running_count--;
	own->then(own->rank);
	rank_note(own->rank);
}

static void stream_submit(void *ctx, uint64_t arg)
{
	struct rank_stream *own = ctx;
	if (gpu_has_room(own->rank->spec->context))
		gpu_submit(own->stream, &own->op);
	else
		gpu_when_room(own->rank->spec->context, stream_submit, own, 0);
}

static void stream_run(struct rank_stream *own, double duration_s, const char *label)
{
	FW_ASSERT(!own->busy);
	own->busy = true;
	own->rank->running_count++;
	own->op = (struct gpu_op){.kind = GPU_OP_KERNEL,
				  .label = label,
				  .duration_s = duration_s,
				  .continued = true,
				  .done = stream_over,
				  .ctx = own};
	stream_submit(own, 0);
}

static void stream_init(struct rank_stream *own, struct rank *rank, const char *name,
			void (*then)(struct rank *rank))
{
	*own = (struct rank_stream){
		.rank = rank, .stream = gpu_stream_new(rank->spec->context, name), .then = then};
}

/* ---- the step's end ---- */

static void step_end(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	rank->ending = false;
	if (fused_rank_ended(rank))
		rank_step_begin(rank);
	rank_note(rank);
}

static void try_end(struct rank *rank)
{
	struct fused *job = rank->job;
	size_t tensor_count = job->spec.profile->tensor_count;
	if (rank->next_stretch < job->stretch_count || rank->reduced_count < tensor_count ||
	    (job->issued_updates && rank->updated_count < tensor_count) || rank->compute.busy ||
	    rank->update_due_s > 0 || rank->ending)
		return;
	rank->ending = true;
	if (job->exchange && job->spec.exchange->gather_s > 0 &&
	    (job->spec.across_machines || job->spec.exchange->gather_inside))
		engine_after(job->spec.engine, ps_from_s(job->spec.exchange->gather_s), step_end,
			     rank, 0);
	else
		step_end(rank, 0);
}

/* ---- the compute stream ---- */

static void compute(struct rank *rank);

/* Returns the number of stretches of this step that have been issued. */
static size_t issued_count(const struct rank *rank)
{
	if (rank->issue_count != rank->begun_count)
		return rank->issue_count > rank->begun_count ? rank->job->stretch_count : 0;
	return rank->issue_next;
}

static bool issue_is_open(const struct rank *rank)
{
	return rank->issue_count > rank->begun_count ||
	       (rank->issue_count == rank->begun_count && rank->issue_open);
}

static void hand_over(struct rank *rank, size_t count);

/* Hands over the gradients of stretches that have run, if everything has run for which their
 * collectives wait. */
static void hand_over_computed(struct rank *rank)
{
	const struct fused *job = rank->job;
	while (rank->next_handed < rank->next_stretch && rank->next_handed < job->computed_count) {
		size_t count = job->stretches[rank->next_handed].tensor_count;
		size_t fence = count > 0 && job->issued_count ? rank->fences[rank->next_handed] : 1;
		if (fence == 0 || rank->next_stretch < fence)
			return;
		rank->next_handed++;
		if (count > 0)
			hand_over(rank, count);
	}
}

/* Called when the kernel on the compute stream has ended. It ran all stretches up to run_end, or
 * all of a stretch except its last kernel. */
static void ran(struct rank *rank)
{
	struct fused *job = rank->job;
	bool body = rank->run_end == rank->next_stretch;
	rank->body_over = body;
	rank->next_stretch = rank->run_end;
	if (job->stopped)
		return;
	if (rank->next_stretch >= job->computed_count)
		rank->computed = true;
	compute(rank);
	hand_over_computed(rank);
	try_end(rank);
}

/* Returns the number of stretches that may run. Updates may run only when all gradients are
 * reduced. */
static size_t allowed_count(const struct rank *rank)
{
	const struct fused *job = rank->job;
	return rank->reduced_count == job->spec.profile->tensor_count ? job->stretch_count
								      : job->computed_count;
}

/* Runs all issued stretches up to the next gradients. If none is issued, runs the stretch that is
 * being issued except its last kernel. Returns false if nothing can run now. */
static bool run_stretches(struct rank *rank)
{
	const struct fused *job = rank->job;
	size_t next = rank->next_stretch, end = next, most = allowed_count(rank);
	size_t issued = issued_count(rank);
	double duration_s = 0;
	if (rank->waits_for_input || next >= most || !issue_is_open(rank))
		return false;
	while (end < issued && end < most) {
		const struct stretch *stretch = &job->stretches[end++];
		duration_s +=
			rank->body_over && end == next + 1 ? stretch->last_s : stretch->compute_s;
		if (stretch->tensor_count > 0)
			break;
	}
	if (end == next) {
		if (rank->body_over)
			return false;
		duration_s = job->stretches[next].compute_s - job->stretches[next].last_s;
	}
	rank->run_end = end;
	if (duration_s > 0)
		stream_run(&rank->compute, duration_s * rank->factor,
			   job->stretches[end > next ? end - 1 : next].label);
	else
		ran(rank);
	return true;
}

static void updates_ran(struct rank *rank)
{
	compute(rank);
	try_end(rank);
}

static void compute_over(struct rank *rank)
{
	if (rank->runs_updates)
		updates_ran(rank);
	else
		ran(rank);
}

/* Runs the next stretches or the due updates if the compute stream is free. */
static void compute(struct rank *rank)
{
	if (rank->compute.busy)
		return;
	rank->runs_updates = false;
	if (run_stretches(rank) || rank->update_due_s <= 0)
		return;
	double due_s = rank->update_due_s;
	rank->update_due_s = 0;
	rank->runs_updates = true;
	stream_run(&rank->compute, due_s, "update");
}

/* ---- issuing ---- */

static void announce_stretch(struct rank *rank, size_t stretch)
{
	size_t count = rank->job->stretches[stretch].tensor_count, first = rank->announced_count;
	rank->announced_count += count;
	exchange_announced(rank->job->exchange, rank->index, first, count);
}

/* Called when a rank has issued the stretch. When all ranks have, each rank announces its
 * gradients, and the collective waits on each GPU for everything that was issued there. */
static void gather_issued(struct fused *job, size_t stretch)
{
	if (++job->issued_count[stretch] < job->spec.rank_count)
		return;
	job->issued_count[stretch] = 0;
	for (size_t i = 0; i < job->spec.rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		size_t issued = issued_count(rank);
		rank->fences[stretch] = issued < job->computed_count ? issued : job->computed_count;
		announce_stretch(rank, stretch);
		hand_over_computed(rank);
		rank_note(rank);
	}
}

/* Announces the gradients of this step that have been issued since the last call. */
static void announce(struct rank *rank)
{
	struct fused *job = rank->job;
	size_t issued = issued_count(rank);
	if (!job->announces || !job->exchange || rank->issue_count < rank->begun_count)
		return;
	while (rank->announced_next < issued) {
		size_t stretch = rank->announced_next++;
		if (job->stretches[stretch].tensor_count == 0)
			continue;
		if (job->issued_count)
			gather_issued(job, stretch);
		else
			announce_stretch(rank, stretch);
	}
}

static void issue_steps(struct rank *rank);

static void issue_over(struct rank *rank)
{
	struct trace *trace = engine_trace(rank->job->spec.engine);
	int64_t now_ps = engine_now_ps(rank->job->spec.engine);
	worker_rest(&rank->issuer);
	if (trace && now_ps > rank->issue_since_ps)
		trace_span(trace, rank->issue_track, SPAN_CPU, "issue", rank->issue_since_ps,
			   now_ps);
}

static void stretch_issued(void *ctx, uint64_t arg);

/* Issues the stretch issue_next, or ends issuing after the last one. */
static void issue(struct rank *rank)
{
	const struct fused *job = rank->job;
	while (rank->issue_next < job->stretch_count &&
	       job->stretches[rank->issue_next].host_s <= 0)
		rank->issue_next++;
	if (rank->issue_next < job->stretch_count)
		worker_do(&rank->issuer, job->stretches[rank->issue_next].host_s, stretch_issued,
			  rank, 0);
	else
		issue_over(rank);
	announce(rank);
}

static void stretch_issued(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	rank->issue_next++;
	issue(rank);
	issue_steps(rank);
	compute(rank);
	rank_note(rank);
}

static void issue_opened(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	rank->issue_open = true;
	issue(rank);
	issue_steps(rank);
	compute(rank);
	rank_note(rank);
}

static void issue_begin(struct rank *rank)
{
	double begin_host_s = rank->job->spec.profile->begin_host_s;
	rank->issue_open = begin_host_s <= 0;
	rank->issue_since_ps = engine_now_ps(rank->job->spec.engine);
	worker_wake(&rank->issuer);
	if (rank->issue_open)
		issue(rank);
	else
		worker_do(&rank->issuer, begin_host_s, issue_opened, rank, 0);
}

void rank_started(struct rank *rank)
{
	issue_begin(rank);
	issue_steps(rank);
	compute(rank);
	rank_note(rank);
}

/* Returns the number of steps that the rank may begin to issue. With lockstep input these are
 * the steps whose batch has been delivered. Otherwise these are the begun steps, and one more if
 * the rank issues ahead. */
static size_t issuable_count(const struct rank *rank)
{
	if (rank->spec->input && input_is_lockstep(rank->spec->input))
		return rank->begun_count - rank->waits_for_input;
	return rank->begun_count + rank->job->ahead;
}

/* Begins to issue the next step if the thread is free and the step may be issued. */
static void issue_steps(struct rank *rank)
{
	const struct fused *job = rank->job;
	while (!job->stopped && rank->issue_next == job->stretch_count &&
	       rank->issue_count < issuable_count(rank)) {
		rank->issue_count++;
		rank->issue_next = 0;
		rank->issue_open = false;
		if (rank->process)
			process_ask(rank->process);
		else
			issue_begin(rank);
	}
}

/* ---- gradients ---- */

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
	struct fused *job = rank->job;
	if (!job->exchange) {
		size_t first = rank->handed_count;
		rank->handed_count += count;
		rank_reduced(rank, first, count);
		return;
	}
	int64_t now_ps = engine_now_ps(job->spec.engine), *free_ps = &rank->framework_free_ps;
	*free_ps = (*free_ps > now_ps ? *free_ps : now_ps) +
		   ps_from_s(job->spec.exchange->tensor_s * (double)count);
	if (*free_ps > now_ps)
		engine_at(job->spec.engine, *free_ps, handed, rank, count);
	else
		handed(rank, count);
}

/* ---- updates that the host issues ---- */

static void issue_updates(struct rank *rank);

static void updates_issued(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	const struct step_tensor *tensors = rank->job->spec.profile->tensors;
	for (size_t i = 0; i < rank->updating_count; i++)
		rank->update_due_s +=
			tensors[rank->reduced_order[rank->updated_count++]].update_s * rank->factor;
	rank->updating_count = 0;
	compute(rank);
	issue_updates(rank);
	try_end(rank);
	rank_note(rank);
}

static void issue_updates(struct rank *rank)
{
	const struct step_tensor *tensors = rank->job->spec.profile->tensors;
	size_t left = rank->heard_count - rank->updated_count;
	double host_s = 0;
	if (rank->updating_count > 0)
		return;
	if (left == 0) {
		worker_rest(&rank->updater);
		return;
	}
	rank->updating_count = left < UPDATES_PIECE ? left : UPDATES_PIECE;
	for (size_t i = 0; i < rank->updating_count; i++)
		host_s += tensors[rank->reduced_order[rank->updated_count + i]].update_host_s;
	if (host_s > 0) {
		worker_wake(&rank->updater);
		worker_do(&rank->updater, host_s, updates_issued, rank, 0);
	} else {
		updates_issued(rank, 0);
	}
}

static void heard(void *ctx, uint64_t count)
{
	struct rank *rank = ctx;
	rank->heard_count += (size_t)count;
	issue_updates(rank);
}

void rank_reduced(struct rank *rank, size_t first, size_t count)
{
	struct fused *job = rank->job;
	for (size_t t = first; t < first + count; t++) {
		FW_ASSERT(!rank->reduced[t]);
		rank->reduced[t] = true;
		rank->reduced_order[rank->reduced_count++] = (uint32_t)t;
	}
	while (rank->first_open < job->spec.profile->tensor_count &&
	       rank->reduced[rank->first_open])
		rank->first_open++;
	if (!job->issued_updates)
		compute(rank);
	else if (job->spec.exchange->callback_s > 0)
		engine_after(job->spec.engine, ps_from_s(job->spec.exchange->callback_s), heard,
			     rank, count);
	else
		heard(rank, count);
	try_end(rank);
	rank_note(rank);
}

/* ---- copies ---- */

static void copy_next(struct rank *rank)
{
	struct copy *copy = rank->copy_first;
	if (!copy || rank->copies.busy)
		return;
	stream_run(&rank->copies, copy->duration_s, "fusion buffer");
}

static void copy_over(struct rank *rank)
{
	struct copy *copy = rank->copy_first, over = *copy;
	rank->copy_first = copy->next;
	copy->next = rank->job->free_copies;
	rank->job->free_copies = copy;
	over.fn(over.ctx, over.arg);
	copy_next(rank);
}

void rank_copy(struct rank *rank, double size_B, event_fn *fn, void *ctx, uint64_t arg)
{
	struct fused *job = rank->job;
	double duration_s =
		job->spec.exchange->fusion_copy_ratio * gpu_traffic_s(rank->spec->gpu, size_B);
	if (duration_s <= 0 && !rank->copy_first) {
		fn(ctx, arg);
		return;
	}
	struct copy *copy = job->free_copies;
	if (copy)
		job->free_copies = copy->next;
	else
		copy = ARENA_NEW(job->spec.arena, struct copy);
	*copy = (struct copy){.duration_s = duration_s, .fn = fn, .ctx = ctx, .arg = arg};
	if (rank->copy_first)
		rank->copy_last->next = copy;
	else
		rank->copy_first = copy;
	rank->copy_last = copy;
	copy_next(rank);
	rank_note(rank);
}

/* ---- the step's begin ---- */

static void input_there(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	rank->waits_for_input = false;
	issue_steps(rank);
	compute(rank);
	rank_note(rank);
}

void rank_step_begin(struct rank *rank)
{
	const struct fused_spec *spec = &rank->job->spec;
	double noise_ratio = spec->exchange->noise_ratio, noise = 1;
	/* The largest of n uniform numbers is distributed as the n-th root of one of them. */
	double copies = spec->copies ? spec->copies[rank->index] : 1;
	if (noise_ratio > 0)
		noise +=
			noise_ratio * num_normal_quantile(pow(rng_uniform(&rank->rng), 1 / copies));
	rank->factor = fmax(noise, LEAST_FACTOR) * rank->spec->slowdown_ratio;
	rank->begun_count++;
	rank->next_stretch = rank->next_handed = 0;
	if (spec->exchange->waits_for_issued)
		memset(rank->fences, 0, rank->job->stretch_count * sizeof *rank->fences);
	rank->computed = false;
	rank->handed_count = rank->reduced_count = rank->first_open = 0;
	memset(rank->reduced, 0, spec->profile->tensor_count * sizeof *rank->reduced);
	rank->announced_next = rank->announced_count = 0;
	rank->heard_count = rank->updated_count = 0;
	rank->waits_for_input = rank->spec->input != NULL;
	issue_steps(rank);
	announce(rank);
	if (rank->spec->input)
		input_take(rank->spec->input, input_there, rank, 0);
	else
		compute(rank);
}

void rank_init(struct rank *rank, struct fused *job, size_t index)
{
	const struct fused_spec *spec = &job->spec;
	const char *name = arena_printf(spec->arena, "%s rank %zu", spec->name, index);
	struct worker thread = {spec->engine, spec->fabric, spec->ranks[index].guest, 0};
	struct trace *trace = engine_trace(spec->engine);
	*rank = (struct rank){
		.job = job,
		.index = index,
		.spec = &spec->ranks[index],
		.rng = rng_named(spec->seed, name),
		.issuer = thread,
		.updater = thread,
		.issue_next = job->stretch_count,
		.part = PART_OTHER,
	};
	rank->reduced = ARENA_ARRAY(spec->arena, spec->profile->tensor_count + 1, bool);
	rank->reduced_order = ARENA_ARRAY(spec->arena, spec->profile->tensor_count + 1, uint32_t);
	if (spec->exchange->waits_for_issued)
		rank->fences = ARENA_ARRAY(spec->arena, job->stretch_count, size_t);
	stream_init(&rank->compute, rank, "compute", compute_over);
	stream_init(&rank->copies, rank, "fusion", copy_over);
	if (trace) {
		rank->track = trace_track(trace, spec->name,
					  arena_printf(spec->arena, "rank %zu", index));
		rank->issue_track = trace_track(trace, spec->name,
						arena_printf(spec->arena, "rank %zu host", index));
	}
}
