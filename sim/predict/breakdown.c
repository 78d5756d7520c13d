/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Divides the step time into parts by cause and finds the bottleneck. */
#include "sim/predict/predict.h"

/* ROUNDING: relative error that sums of the parts may have. LITTLE: a cause with a smaller share
 * of the step is never the bottleneck. */
static const double ROUNDING = 1e-9, LITTLE = 0.1;

struct cause {
	const char *part, *bottleneck;
};

/* Returns the index of the bottleneck. It is the largest of the parts after the first, which are
 * the GPUs' kernels. If all of these parts are below LITTLE, the kernels are the bottleneck. */
static size_t bottleneck(const double *parts, size_t count, double span_s)
{
	size_t largest = 0;
	for (size_t i = 1; i < count; i++)
		if (parts[i] > LITTLE * span_s && (largest == 0 || parts[i] > parts[largest]))
			largest = i;
	return largest;
}

static struct breakdown_part *named_parts(struct arena *arena, const struct cause *causes,
					  const double *parts, size_t count)
{
	struct breakdown_part *named = ARENA_ARRAY(arena, count, struct breakdown_part);
	for (size_t i = 0; i < count; i++)
		named[i] = (struct breakdown_part){causes[i].part, parts[i]};
	return named;
}

static void put_parts(struct arena *arena, struct prediction *prediction,
		      const struct cause *causes, const double *parts, size_t count, double span_s)
{
	prediction->breakdown = named_parts(arena, causes, parts, count);
	prediction->breakdown_count = count;
	prediction->bottleneck = causes[bottleneck(parts, count, span_s)].bottleneck;
}

/* ---- programs, call by call ---- */

enum { WORK, ISSUE, NETWORK, LOST, SESSION, COPY, EXPOSED_BY_CALLS, REST, PROGRAM_PARTS };
static const struct cause program_causes[PROGRAM_PARTS] = {
	[WORK] = {PART_KERNEL, "kernel-bound"},
	[ISSUE] = {PART_ISSUE, "host launch-bound"},
	[NETWORK] = {PART_NETWORK, "network-bound"},
	[LOST] = {PART_LOST, "network-bound: packet loss"},
	[SESSION] = {PART_SESSION, "session-bound"},
	[COPY] = {PART_COPY, "copy-bound"},
	[EXPOSED_BY_CALLS] = {PART_EXPOSED, "exposed communication"},
	[REST] = {PART_OTHER, "other"},
};

/* Times of a job in the window, per step. */
struct step_time {
	double span, busy, exposed, idle[TIME_KIND_COUNT], lost;
};

static struct step_time step_time_of(const struct job_run *run)
{
	struct step_time time = {0};
	for (size_t i = run->steady_first; i < run->steady_first + run->steady_count; i++) {
		const struct step_record *step = &run->steps[i];
		time.busy += step->gpu_busy_s / run->steady_work;
		time.exposed += step->exposed_s / run->steady_work;
		time.span += s_from_ps(step->end_ps - step->start_ps) / run->steady_work;
		for (size_t k = 0; k < TIME_KIND_COUNT; k++)
			time.idle[k] += step->gpu_idle_s[k] / run->steady_work;
	}
	time.lost = fmin(run->window_stalled_s / run->steady_work,
			 time.idle[TIME_CALL] + time.idle[TIME_WAIT]);
	return time;
}

/* Returns how many steps the program issued in the window. A program that runs ahead of its GPU
 * issues more steps than the GPU ends. */
static double issued_steps(const struct job_run *run)
{
	double all = 0, ended = 0;
	for (size_t k = 0; k < CALL_KIND_COUNT; k++)
		all += (double)run->window_kinds[k].calls_count;
	for (size_t i = run->steady_first; i < run->steady_first + run->steady_count; i++)
		ended += (double)(run->steps[i].calls_count + run->steps[i].polls_count);
	return all * (double)run->steady_count / ended;
}

/* Returns the wait of a step for the session and the context of a remote program that makes one. */
static double session_s(const struct job_run *run)
{
	double waited_s = run->window_kinds[CALL_CREATE_CONTEXT].waited_s;
	return run->entry->runtime && waited_s > 0 ? waited_s / issued_steps(run) : 0;
}

/* Adds a job's times: GPUs at work, waiting for each other, and idle time by what the issuing
 * thread did. Stalls after packet loss, and sessions, are parts of their own. */
static void add_program(const struct job_run *run, double share, double parts[PROGRAM_PARTS],
			double *span_s)
{
	struct step_time time = step_time_of(run);
	bool remote = run->entry->runtime != NULL;
	double issue = time.idle[TIME_THINK] + (remote ? 0 : time.idle[TIME_CALL]);
	double wait = time.idle[TIME_WAIT] + (remote ? time.idle[TIME_CALL] : 0);
	double session = fmin(session_s(run), wait - time.lost);
	const double seconds[PROGRAM_PARTS] = {
		[WORK] = time.busy,
		[ISSUE] = issue,
		[NETWORK] = remote ? wait - time.lost - session : 0,
		[LOST] = time.lost,
		[SESSION] = session,
		[COPY] = remote ? 0 : wait,
		[EXPOSED_BY_CALLS] = time.exposed,
		[REST] = time.span - time.busy - issue - wait - time.exposed,
	};
	for (size_t k = 0; k < PROGRAM_PARTS; k++)
		parts[k] += share * seconds[k];
	*span_s += share * time.span;
}

/* The part for exposed communication is left out if no job has several GPUs. A single rank has it
 * if its program calls collectives. */
static void put_programs(struct arena *arena, struct prediction *prediction,
			 double parts[PROGRAM_PARTS], double span_s, bool several_gpus)
{
	struct cause causes[PROGRAM_PARTS];
	size_t count = 0;
	if (fabs(parts[REST]) < ROUNDING * span_s)
		parts[REST] = 0;
	for (size_t i = 0; i < PROGRAM_PARTS; i++) {
		if (!(parts[i] > 0) && (i == SESSION || (i == EXPOSED_BY_CALLS && !several_gpus)))
			continue;
		causes[count] = program_causes[i];
		parts[count++] = parts[i];
	}
	put_parts(arena, prediction, causes, parts, count, span_s);
}

/* Returns the kind of a call for counts: launches of libraries come behind all other kinds. */
static size_t counted_kind(const struct cuda_call *call)
{
	return call->by_library ? CALL_KIND_COUNT : call->kind;
}

/* Adds `weight` for each call to counts by kind, without marks and without kernels of a graph. */
static void count_program(const struct program *program, double weight,
			  double counts[CALL_KIND_COUNT + 1])
{
	for (size_t i = 0; program && i < program->thread_count; i++)
		for (size_t k = 0; k < program->threads[i].count; k++) {
			const struct item *item = &program->threads[i].items[k];
			if (item->kind == ITEM_CALL && !call_is_mark(item->call.kind) &&
			    !item->call.in_graph)
				counts[counted_kind(&item->call)] +=
					weight * (1 + item->call.repeats);
		}
}

static void count_calls(struct arena *arena, const struct job_run *run,
			struct prediction *prediction)
{
	double counts[CALL_KIND_COUNT + 1] = {0};
	count_program(run->program, 1, counts);
	count_program(run->longer_program, run->extended_ratio, counts);
	count_program(run->shorter_program, -run->extended_ratio, counts);
	struct breakdown_part *calls =
		ARENA_ARRAY(arena, CALL_KIND_COUNT + 1, struct breakdown_part);
	for (size_t kind = 0; kind <= CALL_KIND_COUNT; kind++)
		if (counts[kind] > 0)
			calls[prediction->call_kind_count++] = (struct breakdown_part){
				kind < CALL_KIND_COUNT ? call_kind_name((enum call_kind)kind)
						       : "by libraries",
				counts[kind]};
	prediction->calls = calls;
}

static int by_wait(const void *a, const void *b)
{
	const struct call_prediction *x = a, *y = b;
	int order = (x->waited_s < y->waited_s) - (x->waited_s > y->waited_s);
	return order ? order : strcmp(x->name, y->name);
}

static void put_calls(struct arena *arena, const struct job_run *run, double span_s,
		      struct prediction *prediction)
{
	double steps = issued_steps(run);
	prediction->waiting_calls = ARENA_ARRAY(arena, CALL_KIND_COUNT, struct call_prediction);
	for (enum call_kind k = 0; k < CALL_KIND_COUNT; k++) {
		const struct kind_counters *kind = &run->window_kinds[k];
		double count = (double)kind->calls_count;
		if (kind->calls_count == 0)
			continue;
		prediction->waiting_calls[prediction->waiting_call_count++] =
			(struct call_prediction){call_kind_name(k),
						 count / steps,
						 kind->waited_s / steps,
						 kind->waited_s / count,
						 kind->waited_s / steps / span_s,
						 kind->served_s / steps};
	}
	qsort(prediction->waiting_calls, prediction->waiting_call_count,
	      sizeof *prediction->waiting_calls, by_wait);
}

/* The breakdown is the mean over the jobs. Counts of calls and timeouts are those of the first
 * job. */
static void summarize_programs(struct arena *arena, const struct world_outcome *outcome,
			       struct prediction *prediction)
{
	const struct job_run *run = &outcome->jobs[0];
	const struct step_record *last = &run->steps[run->steady_first + run->steady_count - 1];
	double parts[PROGRAM_PARTS] = {0}, span_s = 0;
	bool several_gpus = false;
	for (size_t i = 0; i < outcome->job_count; i++) {
		several_gpus = several_gpus || outcome->jobs[i].entry->rank_count > 1;
		add_program(&outcome->jobs[i], 1 / (double)outcome->job_count, parts, &span_s);
	}
	if (run->entry->kernel) /* its step time leaves the host's time out */
		put_parts(arena, prediction, program_causes, parts, 1, parts[WORK]);
	else
		put_programs(arena, prediction, parts, span_s, several_gpus);
	if (run->entry->runtime)
		put_calls(arena, run, step_time_of(run).span, prediction);
	prediction->calls_count = last->calls_count;
	prediction->polls_count = last->polls_count;
	count_calls(arena, run, prediction);
	prediction->retransmission_timeouts = (double)run->window_timeouts_count / run->steady_work;
}

/* ---- data-parallel ranks ---- */

enum { RANK_PARTS = 5 };
static const struct cause rank_causes[RANK_PARTS] = {
	{PART_KERNEL, "kernel-bound"},           {PART_INPUT, "input-bound"},
	{PART_EXPOSED, "exposed communication"}, {PART_STRAGGLER, "straggler-bound"},
	{PART_OTHER, "host-bound: framework"},
};

static void add_ranks(const struct job_run *run, double share, double parts[RANK_PARTS])
{
	double count = (double)run->steady_count;
	for (size_t i = run->steady_first; i < run->steady_first + run->steady_count; i++) {
		const struct step_record *step = &run->steps[i];
		const double times_s[RANK_PARTS] = {step->kernel_s, step->input_s, step->exposed_s,
						    step->straggler_s, step->other_s};
		for (size_t k = 0; k < RANK_PARTS; k++)
			parts[k] += share * times_s[k] / count;
	}
}

static double communication_s(const struct world_outcome *outcome)
{
	double sum_s = 0;
	for (size_t i = 0; i < outcome->job_count; i++) {
		const struct job_run *run = &outcome->jobs[i];
		for (size_t k = run->steady_first; k < run->steady_first + run->steady_count; k++)
			sum_s += run->steps[k].collective_s / (double)run->steady_count;
	}
	return sum_s / (double)outcome->job_count;
}

static void summarize_ranks(struct arena *arena, const struct world_outcome *outcome,
			    struct prediction *prediction)
{
	double parts[RANK_PARTS] = {0}, span_s = 0;
	for (size_t i = 0; i < outcome->job_count; i++)
		add_ranks(&outcome->jobs[i], 1.0 / (double)outcome->job_count, parts);
	for (size_t i = 0; i < RANK_PARTS; i++)
		span_s += parts[i];
	put_parts(arena, prediction, rank_causes, parts, RANK_PARTS, span_s);
	double time_s = communication_s(outcome);
	prediction->communication_s = time_s > 0 ? time_s : NAN;
}

/* ---- model servers ---- */

static size_t largest_of(const double *values, size_t count)
{
	size_t largest = 0;
	for (size_t i = 1; i < count; i++)
		if (values[i] > values[largest])
			largest = i;
	return largest;
}

/* From this part of the time on in which a link or a front end works, it limits the server. */
static const double SATURATED = 0.8;

/* Returns the cause if messages with keys and values limit the server. It is the network if a link
 * is in use for most of the time, and latency or software of the transfers otherwise. */
static struct cause transfer_cause(const struct prediction *prediction)
{
	double most = 0;
	for (size_t i = 0; i < prediction->link_count; i++)
		most = fmax(most, prediction->links[i].utilization);
	return (struct cause){PART_TRANSFER,
			      most >= SATURATED ? "network-bound" : "KV transfer-bound"};
}

/* Returns the cause of the waits in queues. If the server cannot carry its load because of its
 * GPUs, it is the largest part of their iterations. */
static struct cause queue_cause(const struct serving_answers *answers, const struct cause *causes)
{
	static const struct cause others[QUEUE_CAUSE_COUNT] = {
		[QUEUE_FOR_GPU] = {PART_QUEUE, "queueing"},
		[QUEUE_FOR_MEMORY] = {PART_QUEUE, "KV memory-bound"},
		[QUEUE_FOR_LIMIT] = {PART_QUEUE, "batch limit"},
		[QUEUE_FOR_OTHERS] = {PART_QUEUE, "batching"},
	};
	size_t cause = largest_of(answers->queue_ratios, QUEUE_CAUSE_COUNT);
	if (answers->overload_ratio >= OVERLOAD_LEAST && answers->front_end_ratio >= SATURATED)
		return causes[SERVE_OVERHEAD];
	if (cause == QUEUE_FOR_TRANSFERS)
		return causes[SERVE_TRANSFER];
	if (cause == QUEUE_FOR_GPU && answers->overload_ratio >= OVERLOAD_LEAST)
		return causes[largest_of(answers->parts_s, SERVE_OVERHEAD + 1)];
	return others[cause];
}

/* The parts of the mean latency of a request, of which the largest is the bottleneck. If it is the
 * queue, or if queues grow, the resource for which requests wait is the bottleneck. */
static void summarize_serving(struct arena *arena, const struct serving_answers *answers,
			      const struct scenario *scenario, struct prediction *prediction)
{
	bool remote = false;
	for (size_t i = 0; i < scenario->job_count; i++)
		remote |= scenario->jobs[i].runtime != NULL;
	struct cause causes[SERVE_PART_COUNT] = {
		[SERVE_KERNEL] = {PART_KERNEL, "kernel-bound"},
		[SERVE_EXCHANGE] = {PART_TENSOR, "exposed tensor parallelism"},
		[SERVE_OVERHEAD] = {remote ? PART_NETWORK : PART_ISSUE,
				    remote ? "network-bound" : "host launch-bound"},
		[SERVE_TRANSFER] = transfer_cause(prediction),
		[SERVE_OTHER] = {PART_BATCH, "batching"},
	};
	if (answers->front_end_ratio >= SATURATED)
		causes[SERVE_OVERHEAD] = (struct cause){PART_ISSUE, "front end-bound"};
	causes[SERVE_QUEUE] = queue_cause(answers, causes);
	causes[SERVE_QUEUE].part = PART_QUEUE;
	bool overload = answers->overload_ratio >= OVERLOAD_LEAST;
	put_parts(arena, prediction, causes, answers->parts_s, SERVE_PART_COUNT, answers->mean_s);
	size_t largest = overload ? SERVE_QUEUE : largest_of(answers->parts_s, SERVE_PART_COUNT);
	prediction->bottleneck = causes[largest].bottleneck;
}

/* ---- plans ---- */

enum { PLAN_KINDS = GPU_TIME_COUNT };
static const struct cause plan_causes[PLAN_KINDS] = {
	[GPU_COMPUTES] = {PART_KERNEL, "kernel-bound"},
	[GPU_HOST] = {PART_ISSUE, "host launch-bound"},
	[GPU_INPUT] = {PART_INPUT, "input-bound"},
	[GPU_TENSOR] = {PART_TENSOR, "exposed tensor parallelism"},
	[GPU_CONTEXT] = {PART_CONTEXT, "exposed context parallelism"},
	[GPU_EXPERT] = {PART_EXPERT, "exposed expert parallelism"},
	[GPU_DATA] = {PART_DATA, "exposed data parallelism"},
	[GPU_PIPELINE] = {PART_PIPELINE, "exposed pipeline messages"},
	[GPU_BUBBLE] = {PART_BUBBLE, "pipeline bubble"},
	[GPU_STRAGGLER] = {PART_STRAGGLER, "straggler-bound"},
};

static void add_times(const struct job_run *run, size_t rank, double share,
		      double parts[PLAN_KINDS])
{
	for (size_t k = 0; k < PLAN_KINDS; k++)
		parts[k] += share * s_from_ps(run->rank_times[rank].ps[k]) / run->steady_work;
}

static void put_stages(struct arena *arena, const struct job_run *run,
		       struct prediction *prediction)
{
	const struct training_plan *plan = run->entry->plan;
	size_t count = plan->sizes[AXIS_PIPELINE], slowest = 0;
	size_t each = plan->rank_count / count;
	struct stage_prediction *stages = ARENA_ARRAY(arena, count + 1, struct stage_prediction);
	double(*parts)[PLAN_KINDS] = arena_array(arena, count + 1, sizeof *parts);
	for (size_t i = 0; i < plan->rank_count; i++) {
		size_t stage = plan_index(plan, i, AXIS_PIPELINE);
		add_times(run, i, 1 / (double)each, parts[stage]);
		if (run->rank_times[i].ps[GPU_COMPUTES] > run->rank_times[slowest].ps[GPU_COMPUTES])
			slowest = i;
	}
	for (size_t i = 0; i <= count; i++) {
		size_t stage = i < count ? i : plan_index(plan, slowest, AXIS_PIPELINE);
		stages[i].name = i < count ? arena_printf(arena, "stage %zu", i)
					   : arena_printf(arena, "rank %zu, which computes longest",
							  slowest);
		stages[i].rank_count = i < count ? each : 1;
		stages[i].memory_B = plan_memory_B(plan, run->entry->stack, stage);
	}
	add_times(run, slowest, 1, parts[count]);
	for (size_t i = 0; i <= count; i++) {
		stages[i].parts = named_parts(arena, plan_causes, parts[i], PLAN_KINDS);
		stages[i].part_count = PLAN_KINDS;
	}
	prediction->stages = stages;
	prediction->stage_count = count + 1;
}

void breakdown_summarize(struct arena *arena, const struct point *point,
			 const struct scenario *scenario, struct prediction *prediction)
{
	const struct job_run *run = &point->outcome.jobs[0];
	if (scenario->style == JOBS_PROGRAMS)
		summarize_programs(arena, &point->outcome, prediction);
	else if (scenario->style == JOBS_RANKS)
		summarize_ranks(arena, &point->outcome, prediction);
	else if (scenario->style == JOBS_SERVING)
		summarize_serving(arena, &point->serving, scenario, prediction);
	else
		prediction->bottleneck = "collective";
	if (run->entry->plan && run->rank_times) {
		size_t count = run->entry->plan->rank_count;
		double parts[PLAN_KINDS] = {0};
		for (size_t i = 0; i < count; i++)
			add_times(run, i, 1 / (double)count, parts);
		put_parts(arena, prediction, plan_causes, parts, PLAN_KINDS,
			  prediction->step_s.value);
		put_stages(arena, run, prediction);
	}
}
