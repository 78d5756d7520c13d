/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/draws.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"

struct drawing {
	const struct case_request *request;
	const struct predict_options *options;
	const struct recorded_calls *calls; /* of a recorded program: read once */
	struct unknowns unknowns;
	const double *points;
	struct draws *draws;
	size_t client_count, next; /* guarded by lock */
	bool ratio_is_one;
	pthread_mutex_t lock;
};

/* The model's error makes everything faster or slower, its clients alike. */
static struct client_point off_by(const struct drawing *d, struct client_point point, double factor)
{
	point.throughput *= factor;
	point.step_s /= factor;
	if (!d->ratio_is_one)
		point.ratio *= factor;
	point.gpu_utilization = fmin(1, point.gpu_utilization * factor);
	return point;
}

static void keep(const struct drawing *d, const struct point *point, double factor,
		 struct draw_answers *slot)
{
	slot->failed = point->failed || point->broken;
	if (point->broken)
		return;
	for (size_t i = 0; i < d->client_count; i++)
		slot->clients[i] = off_by(d, point->clients[i], factor);
	if (!point->failed)
		slot->all = off_by(d,
				   (struct client_point){.throughput = point->throughput,
							 .step_s = point->step_s,
							 .ratio = point->ratio,
							 .gpu_utilization = point->gpu_utilization},
				   factor);
}

static void draw_one(struct drawing *d, size_t index)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct draw_value *values =
		ARENA_ARRAY(arena, d->unknowns.param_count + 1, struct draw_value);
	double factor = unknowns_draw(arena, &d->unknowns,
				      &d->points[index * (d->unknowns.count + 1)], values);
	struct case_request request = *d->request;
	request.draws = values;
	request.draw_count = d->unknowns.param_count;
	request.calls = d->calls;
	const struct scenario *scenario = case_read(arena, diag, &request);
	if (scenario) {
		struct point point =
			predict_point(arena, scenario, d->options->seed + index + 1, true, NULL);
		keep(d, &point, factor, &d->draws->answers[index]);
	}
	arena_free(arena);
}

static void *worker(void *ctx)
{
	struct drawing *d = ctx;
	for (;;) {
		pthread_mutex_lock(&d->lock);
		size_t index = d->next++;
		pthread_mutex_unlock(&d->lock);
		if (index >= d->draws->count)
			return NULL;
		draw_one(d, index);
	}
}

static void run_workers(struct arena *arena, struct drawing *d)
{
	unsigned jobs = d->options->jobs ? d->options->jobs : 1, started = 0;
	pthread_t *threads = ARENA_ARRAY(arena, jobs, pthread_t);
	pthread_mutex_init(&d->lock, NULL);
	while (started + 1 < jobs && pthread_create(&threads[started], NULL, worker, d) == 0)
		started++;
	worker(d);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&d->lock);
}

struct draws draws_run(struct arena *arena, const struct case_request *request,
		       const struct predict_options *options, const struct scenario *scenario,
		       const struct point *point)
{
	static const struct client_point failed = {.failed = true,
						   .throughput = NAN,
						   .step_s = NAN,
						   .ratio = NAN,
						   .gpu_utilization = NAN};
	struct draws draws = {.count = options->draws_count};
	const struct recorded_program *recorded =
		scenario->client_count > 0 ? scenario->clients[0].recorded : NULL;
	struct drawing d = {.request = request,
			    .options = options,
			    .calls = recorded ? recorded->calls : NULL,
			    .unknowns = unknowns_of(arena, scenario),
			    .draws = &draws,
			    .client_count = point->client_count,
			    .ratio_is_one = scenario_kind(scenario) == CASE_LOCAL};
	draws.answers = ARENA_ARRAY(arena, draws.count + 1, struct draw_answers);
	for (size_t i = 0; i < draws.count; i++) {
		draws.answers[i] = (struct draw_answers){.all = failed, .failed = true};
		draws.answers[i].clients =
			ARENA_ARRAY(arena, d.client_count + 1, struct client_point);
		for (size_t k = 0; k < d.client_count; k++)
			draws.answers[i].clients[k] = failed;
	}
	d.points = unknowns_points(arena, &d.unknowns, draws.count, options->seed);
	run_workers(arena, &d);
	for (size_t i = 0; i < draws.count; i++)
		draws.failed_count += draws.answers[i].failed;
	return draws;
}

/* The value below which a further draw falls with probability q (Hyndman, Fan 1996, type
 * 6); of few draws the first or last. */
static double quantile(double *values, size_t count, double q)
{
	double n = (double)count;
	double at = count > 1 ? ((n + 1) * q - 1) / (n - 1) : 0;
	return num_quantile(values, count, fmin(fmax(at, 0), 1));
}

struct estimate draws_interval(struct arena *arena, const struct draws *draws, double value,
			       long client, size_t offset)
{
	struct estimate estimate = {value, value, value};
	double *values = ARENA_ARRAY(arena, draws->count + 1, double);
	size_t count = 0;
	/* of a time nothing is known where the draw failed: only of those that ran */
	bool time = offset == offsetof(struct client_point, step_s);
	for (size_t i = 0; i < draws->count; i++) {
		const struct client_point *answer =
			client < 0 ? &draws->answers[i].all : &draws->answers[i].clients[client];
		double drawn = *(const double *)(const void *)((const char *)answer + offset);
		if (isfinite(drawn) || !time)
			values[count++] = isfinite(drawn) ? drawn : 0;
	}
	if (count == 0 || !isfinite(value))
		return estimate;
	estimate.low = fmin(value, quantile(values, count, 0.05));
	estimate.high = fmax(value, quantile(values, count, 0.95));
	return estimate;
}
