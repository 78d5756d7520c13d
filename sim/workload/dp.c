/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/dp.h"
#include "sim/engine/trace.h"
#include "sim/workload/dp_internal.h"

/* ---- where the time goes ---- */

static enum time_part part_of(const struct rank *rank)
{
	const struct dp *job = rank->job;
	size_t tensor_count = job->spec.host.gradients->tensor_count;
	if (gpu_context_computes(rank->spec->context))
		return PART_KERNEL;
	if (rank->waits_for_input)
		return PART_INPUT;
	if (rank->computed_count < job->spec.host.gradients->hand_over_count ||
	    rank->reduced_count == tensor_count || rank->first_open >= rank->handed_count)
		return PART_OTHER;
	return job->gathered_count[rank->first_open] >= rank->begun_count ? PART_EXPOSED
									  : PART_STRAGGLER;
}

static void count_part(struct rank *rank, int64_t now_ps)
{
	rank->spent_ps[rank->part] += now_ps - rank->counted_ps;
	rank->counted_ps = now_ps;
}

void rank_note(struct rank *rank)
{
	static const char *const waits[PART_COUNT] = {
		[PART_EXPOSED] = "exposed communication",
		[PART_INPUT] = "input wait",
		[PART_STRAGGLER] = "straggler wait",
	};
	struct trace *trace = engine_trace(rank->job->spec.host.engine);
	int64_t now_ps = engine_now_ps(rank->job->spec.host.engine);
	enum time_part part = part_of(rank);
	if (part == rank->part)
		return;
	if (trace && waits[rank->part] && now_ps > rank->part_since_ps)
		trace_span(trace, rank->track, SPAN_WAIT, waits[rank->part], rank->part_since_ps,
			   now_ps);
	count_part(rank, now_ps);
	rank->part = part;
	rank->part_since_ps = now_ps;
}

/* If a rank waits for another rank whose input came later, this wait counts as input wait: at most
 * the time by which the other rank waited longer for its input. */
static void count_late_input(struct dp *job)
{
	int64_t longest_ps = 0;
	for (size_t i = 0; i < job->spec.host.rank_count; i++)
		if (job->ranks[i].spent_ps[PART_INPUT] > longest_ps)
			longest_ps = job->ranks[i].spent_ps[PART_INPUT];
	for (size_t i = 0; i < job->spec.host.rank_count; i++) {
		int64_t *spent_ps = job->ranks[i].spent_ps;
		int64_t late_ps = longest_ps - spent_ps[PART_INPUT];
		if (late_ps > spent_ps[PART_STRAGGLER])
			late_ps = spent_ps[PART_STRAGGLER];
		spent_ps[PART_INPUT] += late_ps;
		spent_ps[PART_STRAGGLER] -= late_ps;
	}
}

/* Fails the run if the parts of the rank's time do not add up to the step, to the picosecond. */
static void check_parts(const struct rank *rank, int64_t step_ps)
{
	const struct dp_spec *spec = &rank->job->spec;
	int64_t parts_ps = 0;
	for (int k = 0; k < PART_COUNT; k++)
		parts_ps += rank->spent_ps[k];
	if (parts_ps != step_ps)
		engine_fail(spec->host.engine,
			    "%s rank %zu: step %zu takes %.12f s, but its parts add up to %.12f s",
			    spec->name, rank->index, rank->job->step_count, s_from_ps(step_ps),
			    s_from_ps(parts_ps));
}

/* The sum of times of many ranks. Picoseconds are not enough: 100,000 ranks of 93 s each have more
 * than 2^63 ps. */
struct rank_time {
	int64_t whole_s, rest_ps;
};

static void rank_time_add(struct rank_time *sum, int64_t time_ps, uint32_t copies)
{
	sum->whole_s += time_ps / PS_PER_S * copies;
	sum->rest_ps += time_ps % PS_PER_S * copies;
}

static double rank_time_s(const struct rank_time *sum)
{
	const int64_t exact_s = INT64_MAX / PS_PER_S / 2;
	return sum->whole_s < exact_s ? s_from_ps(sum->whole_s * PS_PER_S + sum->rest_ps)
				      : (double)sum->whole_s + s_from_ps(sum->rest_ps);
}

/* Returns the record of a step that all ranks have ended. */
static struct step_record record(struct dp *job)
{
	int64_t now_ps = engine_now_ps(job->spec.host.engine);
	struct rank_time sums[PART_COUNT] = {{0, 0}};
	double busy_s = 0, n = (double)job->spec.host.all_count;
	for (size_t i = 0; i < job->spec.host.rank_count; i++)
		count_part(&job->ranks[i], now_ps);
	count_late_input(job);
	for (size_t i = 0; i < job->spec.host.rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		check_parts(rank, now_ps - job->recorded_ps);
		double rank_busy_s = s_from_ps(gpu_context_busy_ps(rank->spec->context));
		uint32_t copies = job->spec.host.copies ? job->spec.host.copies[i] : 1;
		for (int k = 0; k < PART_COUNT; k++)
			rank_time_add(&sums[k], rank->spent_ps[k], copies);
		memset(rank->spent_ps, 0, sizeof rank->spent_ps);
		busy_s += (rank_busy_s - rank->busy_before_s) * copies;
		rank->busy_before_s = rank_busy_s;
	}
	int64_t collective_ps = job->exchange ? exchange_collective_ps(job->exchange) : 0;
	const struct step_record step = {
		.start_ps = job->recorded_ps,
		.end_ps = now_ps,
		.collective_s = s_from_ps(collective_ps - job->collective_before_ps),
		.gpu_busy_s = busy_s / n,
		.kernel_s = rank_time_s(&sums[PART_KERNEL]) / n,
		.exposed_s = rank_time_s(&sums[PART_EXPOSED]) / n,
		.input_s = rank_time_s(&sums[PART_INPUT]) / n,
		.straggler_s = rank_time_s(&sums[PART_STRAGGLER]) / n,
		.other_s = rank_time_s(&sums[PART_OTHER]) / n,
	};
	job->recorded_ps = now_ps;
	job->collective_before_ps = collective_ps;
	job->step_count++;
	return step;
}

bool dp_rank_ended(struct rank *rank)
{
	struct dp *job = rank->job;
	if (++job->ended_count == job->spec.host.rank_count) {
		job->ended_count = 0;
		const struct step_record step = record(job);
		job->stopped = !job->spec.step_done(job->spec.ctx, &step);
	}
	return !job->stopped;
}

/* ---- callbacks of the exchange ---- */

static void reduced(void *ctx, size_t index, size_t first, size_t count)
{
	struct dp *job = ctx;
	rank_reduced(&job->ranks[index], first, count);
}

static void gathered(void *ctx, size_t first, size_t count)
{
	struct dp *job = ctx;
	for (size_t t = first; t < first + count; t++)
		job->gathered_count[t]++;
	for (size_t i = 0; i < job->spec.host.rank_count; i++)
		rank_note(&job->ranks[i]);
}

static void copy(void *ctx, size_t index, double size_B, event_fn *fn, void *fn_ctx,
		 uint64_t fn_arg)
{
	struct dp *job = ctx;
	rank_copy(&job->ranks[index], size_B, fn, fn_ctx, fn_arg);
}

/* ---- building ---- */

bool dp_held_back(const struct exchange_params *exchange, size_t rank_count)
{
	return rank_count == 1 || !exchange->overlap ||
	       exchange_policy_at((size_t)exchange->policy)->whole;
}

bool dp_updates_in_stream(const struct exchange_params *exchange, size_t rank_count)
{
	return exchange_policy_at((size_t)exchange->policy)->updates_in_stream ||
	       (rank_count == 1 && exchange->announce == ANNOUNCE_ISSUED);
}

struct dp *dp_new(const struct dp_spec *spec)
{
	struct dp *job = ARENA_NEW(spec->host.arena, struct dp);
	struct dp_rank *ranks =
		ARENA_ARRAY(spec->host.arena, spec->host.rank_count, struct dp_rank);
	bool issued = spec->host.params->announce == ANNOUNCE_ISSUED;
	FW_ASSERT(spec->host.rank_count > 0);
	job->peers = (struct cuda_peers){dp_join, dp_begin};
	memcpy(ranks, spec->ranks, spec->host.rank_count * sizeof *ranks);
	job->spec = *spec;
	job->spec.ranks = ranks;
	job->spec.host.copy = copy;
	job->spec.host.gathered = gathered;
	job->spec.host.reduced = reduced;
	job->spec.host.ctx = job;
	job->spec.name = arena_strdup(spec->host.arena, spec->name);
	job->announces = issued && !dp_held_back(spec->host.params, spec->host.all_count);
	job->issued_updates = !dp_updates_in_stream(spec->host.params, spec->host.all_count);
	/* A host that waits for reduced gradients cannot issue a step ahead. The exception is
	 * announce = computed: there, an engine issues each op when its inputs are ready. */
	job->ahead =
		spec->ahead && !spec->host.params->host_waits && !(job->issued_updates && issued);
	job->gathered_count =
		ARENA_ARRAY(spec->host.arena, spec->host.gradients->tensor_count + 1, size_t);
	job->ranks = ARENA_ARRAY(spec->host.arena, spec->host.rank_count, struct rank);
	if (job->announces && spec->host.params->waits_for_issued)
		job->issued_count = ARENA_ARRAY(spec->host.arena,
						spec->host.gradients->hand_over_count + 1, size_t);
	for (size_t i = 0; i < spec->host.rank_count; i++)
		rank_init(&job->ranks[i], job, i);
	processes_find(job);
	return job;
}

static void start(void *ctx, uint64_t arg)
{
	struct dp *job = ctx;
	job->recorded_ps = engine_now_ps(job->spec.host.engine);
	if (job->spec.host.all_count > 1) {
		FW_ASSERT(job->spec.host.comm && job->spec.host.gradients->tensor_count > 0);
		job->exchange = exchange_new(&job->spec.host);
	}
	for (size_t i = 0; i < job->spec.host.rank_count; i++) {
		struct rank *rank = &job->ranks[i];
		rank->part_since_ps = rank->counted_ps = job->recorded_ps;
		rank->busy_before_s = s_from_ps(gpu_context_busy_ps(rank->spec->context));
		if (job->spec.across_machines &&
		    (i == 0 || rank->spec->guest != rank[-1].spec->guest))
			guest_cores_take(rank->spec->guest,
					 job->spec.host.params->network_threads_count);
		if (job->spec.poller_ratio > 0)
			guest_threads_begin(rank->spec->guest, job->spec.poller_ratio);
		rank_step_begin(rank);
		player_start(rank->player);
		rank_note(rank);
	}
}

void dp_start(struct dp *job)
{
	engine_after(job->spec.host.engine, 0, start, job, 0);
}

const char *dp_waiting(const struct dp *job, struct arena *arena)
{
	const struct rank *last = &job->ranks[0];
	for (size_t i = 1; i < job->spec.host.rank_count; i++)
		if (job->ranks[i].begun_count < last->begun_count ||
		    (job->ranks[i].begun_count == last->begun_count &&
		     job->ranks[i].computed_count < last->computed_count))
			last = &job->ranks[i];
	return arena_printf(
		arena,
		"step %zu: rank %zu%s has handed over %zu of %zu gradients, %zu of them are "
		"reduced; %s; %s",
		job->step_count, last->index,
		last->waits_for_input ? ", which waits for input," : "", last->handed_count,
		job->spec.host.gradients->tensor_count, last->reduced_count,
		player_waiting(last->player, arena),
		job->spec.host.comm ? communicator_waiting(job->spec.host.comm, arena)
				    : "there are no other ranks");
}
