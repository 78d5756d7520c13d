/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rank has three LANES on its GPU, each a stream with at most one kernel:
 * compute (a step's stretches one after the other), updates (all that are due, in
 * one), and copies for the exchange. Where its time goes is one PART at any
 * moment, so that the parts add up to the picosecond. */
#include "sim/training/job.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/base/vec.h"
#include "sim/engine/trace.h"

#define LEAST_FACTOR 0.5 /* of a rank's compute time, however the noise falls */

enum part { PART_KERNEL, PART_EXPOSED, PART_INPUT, PART_STRAGGLER, PART_OTHER, PART_COUNT };

/* Segments up to the next gradients, as one kernel. */
struct stretch {
	const char *label;
	double compute_s;
	double issue_s; /* host work up to its end, from the step's begin */
	size_t tensor_count;
};

struct rank;

struct lane {
	struct rank *rank;
	struct gpu_stream *stream;
	struct gpu_op op;
	bool busy;
	void (*then)(struct rank *rank);
};

struct copy { /* waits for its turn on the copies' lane */
	double duration_s;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	struct copy *next;
};

struct rank {
	struct job *job;
	size_t index;
	const struct job_rank *spec;
	struct rng rng;
	double factor;      /* of this step's compute time */
	size_t begun_count; /* steps */
	size_t place;       /* among the ranks of its machine */
	int64_t stagger_ps; /* it begins a step that much later than the first of them */
	size_t next_stretch, next_handed;
	bool waits_for_input, computed, ending;
	size_t handed_count, reduced_count; /* tensors, this step */
	bool *reduced;                      /* by tensor */
	size_t first_open;                  /* tensor that is not reduced */
	double update_due_s;
	int64_t framework_free_ps; /* its thread that hands over gradients */
	struct lane compute, update, copies;
	struct copy *copy_first, *copy_last;
	size_t running_count; /* kernels */
	enum part part;
	int64_t part_since_ps, counted_ps; /* begun; counted in spent_ps up to */
	int64_t spent_ps[PART_COUNT];      /* since the last record */
	double busy_before_s;
	uint32_t track;
};

struct job {
	struct job_spec spec;
	struct stretch *stretches;
	size_t stretch_count;
	size_t last_place;         /* of any rank */
	struct exchange *exchange; /* NULL: one rank */
	struct rank *ranks;
	size_t *gathered_count; /* by tensor: steps in which all ranks had handed it over */
	size_t ended_count;     /* ranks that have ended the step */
	bool stopped;
	int64_t recorded_ps, collective_before_ps;
	struct copy *free_copies;
	VEC(struct job_step) steps;
};

/* ---- where the time goes ---- */

static enum part part_of(const struct rank *rank)
{
	const struct job *job = rank->job;
	size_t tensor_count = job->spec.profile->tensor_count;
	if (rank->running_count > 0)
		return PART_KERNEL;
	if (rank->waits_for_input)
		return PART_INPUT;
	if (!rank->computed || rank->reduced_count == tensor_count ||
	    rank->first_open >= rank->handed_count)
		return PART_OTHER;
	return job->gathered_count[rank->first_open] >= rank->begun_count ? PART_EXPOSED
									  : PART_STRAGGLER;
}

static void count_part(struct rank *rank, int64_t now_ps)
{
	rank->spent_ps[rank->part] += now_ps - rank->counted_ps;
	rank->counted_ps = now_ps;
}

static void note(struct rank *rank)
{
	static const char *const waits[PART_COUNT] = {
		[PART_EXPOSED] = "wait for gradients",
		[PART_INPUT] = "wait for input",
		[PART_STRAGGLER] = "wait for other ranks",
	};
	struct trace *trace = engine_trace(rank->job->spec.engine);
	int64_t now_ps = engine_now_ps(rank->job->spec.engine);
	enum part part = part_of(rank);
	if (part == rank->part)
		return;
	if (trace && waits[rank->part] && now_ps > rank->part_since_ps)
		trace_span(trace, rank->track, SPAN_WAIT, waits[rank->part], rank->part_since_ps,
			   now_ps);
	count_part(rank, now_ps);
	rank->part = part;
	rank->part_since_ps = now_ps;
}

/* A rank that waits for others because one of them got its input later waits for
 * input too: up to what that one waited longer. */
static void count_late_input(struct job *job)
{
	int64_t longest_ps = 0;
	for (size_t i = 0; i < job->spec.rank_count; i++)
		if (job->ranks[i].spent_ps[PART_INPUT] > longest_ps)
			longest_ps = job->ranks[i].spent_ps[PART_INPUT];
	for (size_t i = 0; i < job->spec.rank_count; i++) {
		int64_t *spent_ps = job->ranks[i].spent_ps;
		int64_t late_ps = longest_ps - spent_ps[PART_INPUT];
		if (late_ps > spent_ps[PART_STRAGGLER])
			late_ps = spent_ps[PART_STRAGGLER];
		spent_ps[PART_INPUT] += late_ps;
		spent_ps[PART_STRAGGLER] -= late_ps;
	}
}

/* All ranks have ended a step. */
static void record(struct job *job)
{
	int64_t now_ps = engine_now_ps(job->spec.engine), sums_ps[PART_COUNT] = {0};
	double busy_s = 0, n = (double)job->spec.rank_count;
	for (size_t i = 0; i < job->spec.rank_count; i++)
		count_part(&job->ranks[i], now_ps);
	count_late_input(job);
	for (size_t i = 0; i < job->spec.rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		double rank_busy_s = gpu_context_busy_s(rank->spec->context);
		for (int k = 0; k < PART_COUNT; k++)
			sums_ps[k] += rank->spent_ps[k];
		memset(rank->spent_ps, 0, sizeof rank->spent_ps);
		busy_s += rank_busy_s - rank->busy_before_s;
		rank->busy_before_s = rank_busy_s;
	}
	int64_t collective_ps = job->exchange ? exchange_collective_ps(job->exchange) : 0;
	struct job_step *step = VEC_PUSH(job->spec.arena, &job->steps);
	*step = (struct job_step){
		.start_ps = job->recorded_ps,
		.end_ps = now_ps,
		.collective_s = s_from_ps(collective_ps - job->collective_before_ps),
		.gpu_busy_s = busy_s / n,
		.kernel_s = s_from_ps(sums_ps[PART_KERNEL]) / n,
		.exposed_s = s_from_ps(sums_ps[PART_EXPOSED]) / n,
		.input_s = s_from_ps(sums_ps[PART_INPUT]) / n,
		.straggler_s = s_from_ps(sums_ps[PART_STRAGGLER]) / n,
		.other_s = s_from_ps(sums_ps[PART_OTHER]) / n,
	};
	job->recorded_ps = now_ps;
	job->collective_before_ps = collective_ps;
}

/* ---- lanes ---- */

static void lane_over(void *ctx, uint64_t arg)
{
	struct lane *lane = ctx;
	(void)arg;
	lane->busy = false;
	lane->rank->running_count--;
	lane->then(lane->rank);
	note(lane->rank);
}

static void lane_submit(void *ctx, uint64_t arg)
{
	struct lane *lane = ctx;
	(void)arg;
	if (gpu_has_room(lane->rank->spec->context))
		gpu_submit(lane->stream, &lane->op);
	else
		gpu_when_room(lane->rank->spec->context, lane_submit, lane, 0);
}

static void lane_run(struct lane *lane, double duration_s, const char *label)
{
	FW_ASSERT(!lane->busy);
	lane->busy = true;
	lane->rank->running_count++;
	lane->op = (struct gpu_op){.kind = GPU_OP_KERNEL,
				   .label = label,
				   .duration_s = duration_s,
				   .continued = true,
				   .done = lane_over,
				   .ctx = lane};
	lane_submit(lane, 0);
}

static void lane_init(struct lane *lane, struct rank *rank, const char *name,
		      void (*then)(struct rank *rank))
{
	*lane = (struct lane){
		.rank = rank, .stream = gpu_stream_new(rank->spec->context, name), .then = then};
}

/* ---- a step's end ---- */

static void step_begin(struct rank *rank);

static void step_end(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	struct job *job = rank->job;
	(void)arg;
	rank->ending = false;
	if (++job->ended_count == job->spec.rank_count) {
		job->ended_count = 0;
		record(job);
		if (!job->spec.step_done(job->spec.ctx, job,
					 &job->steps.items[job->steps.count - 1]))
			job->stopped = true;
	}
	if (!job->stopped)
		step_begin(rank);
	note(rank);
}

static void try_end(struct rank *rank)
{
	struct job *job = rank->job;
	if (!rank->computed || rank->reduced_count < job->spec.profile->tensor_count ||
	    rank->update.busy || rank->update_due_s > 0 || rank->ending)
		return;
	rank->ending = true;
	if (job->exchange && job->spec.exchange->gather_s > 0)
		engine_after(job->spec.engine, ps_from_s(job->spec.exchange->gather_s), step_end,
			     rank, 0);
	else
		step_end(rank, 0);
}

static void update(struct rank *rank)
{
	double due_s = rank->update_due_s;
	if (!rank->update.busy && due_s > 0) {
		rank->update_due_s = 0;
		lane_run(&rank->update, due_s, "update");
	}
	try_end(rank);
}

/* ---- what the exchange asks for ---- */

static void reduced(void *ctx, size_t index, size_t first, size_t count)
{
	struct job *job = ctx;
	struct rank *rank = &job->ranks[index];
	size_t tensor_count = job->spec.profile->tensor_count;
	for (size_t t = first; t < first + count; t++) {
		FW_ASSERT(!rank->reduced[t]);
		rank->reduced[t] = true;
		rank->update_due_s += job->spec.profile->tensors[t].update_s * rank->factor;
	}
	rank->reduced_count += count;
	while (rank->first_open < tensor_count && rank->reduced[rank->first_open])
		rank->first_open++;
	update(rank);
	note(rank);
}

static void gathered(void *ctx, size_t first, size_t count)
{
	struct job *job = ctx;
	for (size_t t = first; t < first + count; t++)
		job->gathered_count[t]++;
	for (size_t i = 0; i < job->spec.rank_count; i++)
		note(&job->ranks[i]);
}

static void copy_next(struct rank *rank)
{
	struct copy *copy = rank->copy_first;
	if (!copy || rank->copies.busy)
		return;
	lane_run(&rank->copies, copy->duration_s, "fusion buffer");
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

static void copy_in_turn(void *ctx, size_t index, double size_B, event_fn *fn, void *fn_ctx,
			 uint64_t fn_arg)
{
	struct job *job = ctx;
	struct rank *rank = &job->ranks[index];
	double duration_s =
		job->spec.exchange->fusion_copy_ratio * gpu_traffic_s(rank->spec->gpu, size_B);
	if (duration_s <= 0 && !rank->copy_first) {
		fn(fn_ctx, fn_arg);
		return;
	}
	struct copy *copy = job->free_copies;
	if (copy)
		job->free_copies = copy->next;
	else
		copy = ARENA_NEW(job->spec.arena, struct copy);
	*copy = (struct copy){.duration_s = duration_s, .fn = fn, .ctx = fn_ctx, .arg = fn_arg};
	if (rank->copy_first)
		rank->copy_last->next = copy;
	else
		rank->copy_first = copy;
	rank->copy_last = copy;
	copy_next(rank);
	note(rank);
}

/* ---- computing ---- */

static void handed(void *ctx, uint64_t count)
{
	struct rank *rank = ctx;
	size_t first = rank->handed_count;
	rank->handed_count += (size_t)count;
	exchange_ready(rank->job->exchange, rank->index, first, (size_t)count);
	note(rank);
}

static void hand_over(struct rank *rank, size_t count)
{
	struct job *job = rank->job;
	if (!job->exchange) {
		reduced(job, rank->index, rank->handed_count, count);
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

static void compute(struct rank *rank)
{
	const struct stretch *stretch = &rank->job->stretches[rank->next_stretch];
	lane_run(&rank->compute, stretch->compute_s * rank->factor, stretch->label);
}

/* The host work of a step by which the machine's last rank is behind this one. */
static double lead_s(const struct rank *rank)
{
	const struct job_spec *spec = &rank->job->spec;
	return (double)(rank->job->last_place - rank->place) * spec->exchange->stagger_s *
	       spec->profile->ops_count;
}

/* Whether the GPU has done what a collective of that stretch's gradients waits for:
 * with waits_for_issued all that the rank was issued when the last one was issued the
 * gradients. */
static bool behind(const struct rank *rank, size_t stretch)
{
	const struct stretch *stretches = rank->job->stretches;
	size_t done = rank->next_stretch;
	if (done <= stretch)
		return false;
	return !rank->job->spec.exchange->waits_for_issued || done == rank->job->stretch_count ||
	       stretches[done].issue_s > stretches[stretch].issue_s + lead_s(rank);
}

static void computed(struct rank *rank)
{
	struct job *job = rank->job;
	rank->next_stretch++;
	if (job->stopped)
		return;
	if (rank->next_stretch < job->stretch_count)
		compute(rank);
	else
		rank->computed = true;
	while (rank->next_handed < job->stretch_count && behind(rank, rank->next_handed)) {
		size_t count = job->stretches[rank->next_handed++].tensor_count;
		if (count > 0)
			hand_over(rank, count);
	}
	try_end(rank);
}

static void issued(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	(void)arg;
	compute(rank);
	note(rank);
}

static void compute_begin(struct rank *rank)
{
	if (rank->stagger_ps > 0)
		engine_after(rank->job->spec.engine, rank->stagger_ps, issued, rank, 0);
	else
		compute(rank);
}

static void input_there(void *ctx, uint64_t arg)
{
	struct rank *rank = ctx;
	(void)arg;
	rank->waits_for_input = false;
	compute_begin(rank);
	note(rank);
}

static void step_begin(struct rank *rank)
{
	const struct job_spec *spec = &rank->job->spec;
	double noise_ratio = spec->exchange->noise_ratio, noise = 1;
	if (noise_ratio > 0)
		noise += noise_ratio * num_normal_quantile(rng_uniform(&rank->rng));
	rank->factor = fmax(noise, LEAST_FACTOR) * rank->spec->slowdown_ratio;
	rank->begun_count++;
	rank->next_stretch = rank->next_handed = 0;
	rank->computed = false;
	rank->handed_count = rank->reduced_count = rank->first_open = 0;
	memset(rank->reduced, 0, spec->profile->tensor_count * sizeof *rank->reduced);
	rank->waits_for_input = rank->spec->input != NULL;
	if (rank->spec->input)
		input_take(rank->spec->input, input_there, rank, 0);
	else
		compute_begin(rank);
}

/* ---- building ---- */

static bool held_back(const struct job_spec *spec)
{
	return spec->rank_count == 1 || !spec->exchange->overlap ||
	       exchange_policy_at((size_t)spec->exchange->policy)->whole;
}

static void find_stretches(struct job *job)
{
	const struct step_profile *profile = job->spec.profile;
	bool held = held_back(&job->spec);
	struct stretch open = {0};
	job->stretches = ARENA_ARRAY(job->spec.arena, profile->segment_count, struct stretch);
	for (size_t i = 0; i < profile->segment_count; i++) {
		const struct step_segment *segment = &profile->segments[i];
		open.label = segment->name;
		open.compute_s += segment->compute_s;
		open.issue_s += segment->issue_s;
		open.tensor_count += segment->tensor_count;
		if (i + 1 < profile->segment_count && (held || segment->tensor_count == 0))
			continue;
		job->stretches[job->stretch_count++] = open;
		open = (struct stretch){.issue_s = open.issue_s};
	}
}

/* Ranks of a machine begin one after the other. */
static void find_places(struct job *job)
{
	const struct job_spec *spec = &job->spec;
	double work_s = spec->exchange->stagger_s * spec->profile->ops_count;
	for (size_t i = 0; work_s > 0 && i < spec->rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		struct guest *guest = spec->ranks[i].guest;
		for (size_t k = 0; k < i; k++)
			rank->place += guest_host(spec->ranks[k].guest) == guest_host(guest);
		if (rank->place > job->last_place)
			job->last_place = rank->place;
		if (rank->place > 0)
			rank->stagger_ps =
				ps_from_s((double)rank->place * work_s * guest_work_ratio(guest) *
					  cpu_slowdown(spec->ranks[i].core));
	}
}

static void build_rank(struct job *job, size_t index)
{
	const struct job_spec *spec = &job->spec;
	struct rank *rank = &job->ranks[index];
	const char *name = arena_printf(spec->arena, "%s rank %zu", spec->name, index);
	*rank = (struct rank){
		.job = job,
		.index = index,
		.spec = &spec->ranks[index],
		.rng = rng_named(spec->seed, name),
		.reduced = ARENA_ARRAY(spec->arena, spec->profile->tensor_count + 1, bool),
		.part = PART_OTHER,
	};
	lane_init(&rank->compute, rank, "compute", computed);
	lane_init(&rank->update, rank, "update", update);
	lane_init(&rank->copies, rank, "fusion", copy_over);
	if (engine_trace(spec->engine))
		rank->track = trace_track(engine_trace(spec->engine), spec->name,
					  arena_printf(spec->arena, "rank %zu", index));
}

static void build_exchange(struct job *job)
{
	const struct job_spec *spec = &job->spec;
	const struct exchange_host host = {
		.arena = spec->arena,
		.engine = spec->engine,
		.params = spec->exchange,
		.profile = spec->profile,
		.comm = spec->comm,
		.rank_count = spec->rank_count,
		.network_round_trip_s = spec->network_round_trip_s,
		.copy = copy_in_turn,
		.gathered = gathered,
		.reduced = reduced,
		.ctx = job,
	};
	FW_ASSERT(spec->comm && spec->profile->tensor_count > 0);
	job->exchange = exchange_policy_at((size_t)spec->exchange->policy)->new (&host);
}

struct job *job_new(const struct job_spec *spec)
{
	struct job *job = ARENA_NEW(spec->arena, struct job);
	struct job_rank *ranks = ARENA_ARRAY(spec->arena, spec->rank_count, struct job_rank);
	FW_ASSERT(spec->rank_count > 0 && spec->profile->segment_count > 0);
	memcpy(ranks, spec->ranks, spec->rank_count * sizeof *ranks);
	job->spec = *spec;
	job->spec.ranks = ranks;
	job->spec.name = arena_strdup(spec->arena, spec->name);
	job->gathered_count = ARENA_ARRAY(spec->arena, spec->profile->tensor_count + 1, size_t);
	job->ranks = ARENA_ARRAY(spec->arena, spec->rank_count, struct rank);
	find_stretches(job);
	for (size_t i = 0; i < spec->rank_count; i++)
		build_rank(job, i);
	find_places(job);
	return job;
}

static void start(void *ctx, uint64_t arg)
{
	struct job *job = ctx;
	(void)arg;
	job->recorded_ps = engine_now_ps(job->spec.engine);
	if (job->spec.rank_count > 1)
		build_exchange(job);
	for (size_t i = 0; i < job->spec.rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		rank->part_since_ps = rank->counted_ps = job->recorded_ps;
		rank->busy_before_s = gpu_context_busy_s(rank->spec->context);
		step_begin(rank);
		note(rank);
	}
}

void job_start(struct job *job)
{
	engine_after(job->spec.engine, 0, start, job, 0);
}

size_t job_step_count(const struct job *job)
{
	return job->steps.count;
}

const struct job_step *job_step_at(const struct job *job, size_t index)
{
	return &job->steps.items[index];
}
