/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/draws.h"

#include <pthread.h>

#include "sim/base/parallel.h"
#include "sim/predict/effects.h"
#include "sim/predict/reproduce.h"

struct draws_run {
	struct arena *arena;         /* lock guards this field */
	struct case_request request; /* with options->draw_settings and the recorded program */
	const struct predict_options *options;
	const struct scenario *scenario; /* without draws */
	struct unknowns unknowns;
	const double *points;
	struct draws *draws;
	struct job_point factors; /* from the answers of draws to those of the point's settings */
	size_t job_count, done;   /* lock guards done */
	double forwarding_share;  /* of a model server's iterations */
	pthread_mutex_t lock;
};

#define COPY(field)     .field = point->field,
#define SCALE(field)    answers->field *= factors->field;
#define ONE(field)      .field = 1,
#define QUOTIENT(field) .field = point->field / other.field,

static struct job_point whole(const struct point *point)
{
	return (struct job_point){.serving = point->serving, EACH_ANSWER(COPY)};
}

static void scale(struct job_point *answers, const struct job_point *factors)
{
	EACH_ANSWER(SCALE)
}

static void keep(const struct draws_run *d, const struct point *point, struct draw_answers *slot)
{
	slot->failed = point->failed;
	memcpy(slot->jobs, point->jobs, d->job_count * sizeof *slot->jobs);
	if (!point->failed)
		slot->all = whole(point);
	for (size_t i = 0; i < d->job_count; i++)
		scale(&slot->jobs[i], &d->factors);
	scale(&slot->all, &d->factors);
}

static void keep_broken(struct draws_run *d, const char *broken, struct draw_answers *slot)
{
	pthread_mutex_lock(&d->lock);
	slot->broken = arena_strdup(d->arena, broken);
	pthread_mutex_unlock(&d->lock);
}

/* Returns the part of a collective's time without its bytes, which is the time of the same
 * collective of 8 B for each rank. */
static double start_share(const struct scenario *scenario, uint64_t seed, double step_s)
{
	const double least_B = 8 * (double)scenario->jobs[0].rank_count;
	struct arena *scratch = arena_new();
	struct scenario small = *scenario;
	small.collective_size_B = fmin(scenario->collective_size_B, least_B);
	struct point point = predict_point(scratch, &small, seed, false, NULL, NULL);
	double share = point.failed || point.broken ? 0 : fmin(point.step_s / step_s, 1);
	arena_free(scratch);
	return share;
}

/* Returns the share of forwarding in the time of a model server's iterations. */
static double forwarding_share(const struct serving_answers *answers)
{
	double iterations_s = answers->parts_s[SERVE_KERNEL] + answers->parts_s[SERVE_EXCHANGE] +
			      answers->parts_s[SERVE_OVERHEAD];
	return iterations_s > 0 ? answers->parts_s[SERVE_OVERHEAD] / iterations_s : 0;
}

/* Returns the draw's factor of the time of a server's iterations, with the errors of one of its
 * parts and of its share of forwarding. The draws divide the distribution into parts of equal
 * probability, in random order. */
static double error_factor(struct arena *arena, const struct draws_run *d, enum case_part part,
			   size_t index)
{
	struct model_error error = d->scenario->errors[part],
			   added = d->scenario->errors[PART_ADDED];
	enum mechanism mechanism = scenario_mechanism(d->scenario, part);
	struct rng rng = rng_named(d->options->seed, mechanism_path(mechanism));
	size_t count = d->draws->count, *order = ARENA_ARRAY(arena, count, size_t);
	for (size_t i = 0; i < count; i++) {
		size_t k = (size_t)rng_below(&rng, i + 1);
		order[i] = order[k];
		order[k] = i;
	}
	added.ratio *= d->forwarding_share;
	error = model_error_sum(error, added);
	double q = ((double)order[index] + 0.5) / (double)count;
	return exp(error.ratio * num_student_quantile(q, error.freedom_count));
}

/* Requests wait for each other, so the model error of a model server does not scale its answers but
 * the times of its iterations. */
static size_t draw_errors(struct arena *arena, const struct draws_run *d, size_t index,
			  struct draw_value *values)
{
	const struct scenario *scenario = d->scenario;
	size_t count = 0;
	for (size_t i = 0; i < scenario->service_count; i++) {
		const struct service_entry *service = &scenario->services[i];
		values[count++] =
			(struct draw_value){arena_printf(arena, "%s.token_time", service->prefix),
					    service->params->token_time_ratio *
						    error_factor(arena, d, PART_ONE_GPU, index)};
		values[count++] =
			(struct draw_value){arena_printf(arena, "%s.prompt_time", service->prefix),
					    service->params->prompt_time_ratio *
						    error_factor(arena, d, PART_OWN, index)};
	}
	return count;
}

static void draw_one(void *ctx, size_t index)
{
	struct draws_run *d = ctx;
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	size_t count = d->unknowns.param_count;
	struct draw_value *values =
		ARENA_ARRAY(arena, count + 2 * d->scenario->service_count + 1, struct draw_value);
	unknowns_draw(arena, &d->unknowns, &d->points[index * d->unknowns.count], values);
	struct case_request request = d->request;
	request.draws = values;
	request.draw_count = count + draw_errors(arena, d, index, &values[count]);
	const struct scenario *scenario = case_read(arena, diag, &request);
	if (scenario) {
		uint64_t seed = d->options->seed + index + 1;
		struct point point =
			predict_point(arena, scenario, seed, true, d->options->baselines, NULL);
		if (point.broken)
			keep_broken(d, reproducible(arena, &request, scenario, seed, point.broken),
				    &d->draws->answers[index]);
		else
			keep(d, &point, &d->draws->answers[index]);
	}
	arena_free(arena);
	const struct watch *watch = &d->options->watch;
	pthread_mutex_lock(&d->lock);
	d->done++;
	if (watch->tell)
		watch->tell(watch->ctx, 0, d->done, d->draws->count);
	pthread_mutex_unlock(&d->lock);
}

/* Adds the settings of draws to the request, and finds the factors to the point without them. */
static void add_settings(struct arena *arena, struct draws_run *d, const struct point *point)
{
	const struct predict_options *options = d->options;
	d->request = request_with(arena, &d->request, options->draw_settings,
				  options->draw_setting_count);
	struct arena *scratch = arena_new();
	const struct scenario *scenario = case_read(scratch, diag_new(scratch), &d->request);
	struct point other = {.failed = true};
	if (scenario)
		other = predict_point(scratch, scenario, options->seed, true, options->baselines,
				      NULL);
	if (!other.failed && !other.broken)
		d->factors = (struct job_point){EACH_ANSWER(QUOTIENT)};
	arena_free(scratch);
}

/* ---- what the width consists of ---- */

/* Returns the square of the correlation between an unknown's normal scores and the values. */
static double explained(const struct draws_run *d, size_t unknown, const double *values,
			double mean)
{
	double sum = 0, squares = 0, all = 0;
	for (size_t i = 0; i < d->draws->count; i++) {
		double score = num_normal_quantile(d->points[i * d->unknowns.count + unknown]);
		sum += score * (values[i] - mean);
		squares += score * score;
		all += pow(values[i] - mean, 2);
	}
	return squares * all > 0 ? sum * sum / (squares * all) : 0;
}

/* Returns the variance of the logarithm of the throughput that the model error causes. Student's
 * distribution with few degrees of freedom counts as one with four. */
static double error_variance(const struct draws *draws)
{
	double variance = 0;
	for (size_t i = 0; i < ERROR_PARTS; i++) {
		const struct error_part *e = &draws->errors[i];
		double freedom = fmax(e->freedom_count, 4);
		variance += pow(e->ratio * e->share, 2) *
			    (e->freedom_count > 0 ? freedom / (freedom - 2) : 1);
	}
	return variance;
}

/* Returns the standard error of the ends of the throughput's interval, of the logarithm: that of
 * the jackknife which deletes a group of draws (Efron, Tibshirani 1993, chapter 11). */
static double end_error(struct arena *arena, const struct draws *draws, double throughput)
{
	enum { GROUPS = 6 };
	double ends[2][GROUPS], squares[2] = {0};
	for (size_t group = 0; group < GROUPS; group++) {
		struct draws less = *draws;
		less.count = 0;
		less.answers = ARENA_ARRAY(arena, draws->count, struct draw_answers);
		for (size_t i = 0; i < draws->count; i++)
			if (i % GROUPS != group)
				less.answers[less.count++] = draws->answers[i];
		struct estimate e = draws_interval(arena, &less, throughput, -1,
						   offsetof(struct job_point, throughput));
		ends[0][group] = log(e.low);
		ends[1][group] = log(e.high);
	}
	for (size_t k = 0; k < 2; k++) {
		double mean = 0;
		for (size_t group = 0; group < GROUPS; group++)
			mean += ends[k][group] / GROUPS;
		for (size_t group = 0; group < GROUPS; group++)
			squares[k] += pow(ends[k][group] - mean, 2);
	}
	return sqrt((GROUPS - 1) * fmax(squares[0], squares[1]) / GROUPS);
}

static const char *width_words(struct arena *arena, const struct draws_run *d, double throughput)
{
	/* With fewer draws, or a smaller square of a correlation, chance may name the parameter: of
	 * 50 unrelated ones the largest square in 24 draws is 0.3 on average. */
	enum { DRAWS_LEAST = 16 };
	const double least = 0.4;
	const struct draws *draws = d->draws;
	double *values = ARENA_ARRAY(arena, draws->count + 1, double);
	double mean = 0, variance = 0, largest = 0;
	size_t main = 0;
	if (draws->count < DRAWS_LEAST || draws->failed_count > 0)
		return NULL;
	for (size_t i = 0; i < draws->count; i++) {
		values[i] = log(draws->answers[i].all.throughput);
		mean += values[i] / (double)draws->count;
	}
	for (size_t i = 0; i < draws->count; i++)
		variance += pow(values[i] - mean, 2) / (double)(draws->count - 1);
	for (size_t k = 0; k < d->unknowns.count; k++) {
		double share = explained(d, k, values, mean);
		main = share > largest ? k : main;
		largest = fmax(largest, share);
	}
	const struct error_part *worst = draws->errors;
	for (size_t i = 1; i < ERROR_PARTS; i++)
		if (draws->errors[i].ratio * draws->errors[i].share > worst->ratio * worst->share)
			worst = &draws->errors[i];
	double error = error_variance(draws), all = error + variance;
	if (!(all > 0))
		return NULL;
	const char *path = largest < least ? NULL : d->unknowns.items[main].params[0]->path;
	const char *narrow = error > variance ? "a measured step of this system" : path;
	return arena_printf(arena,
			    "%.0f %% of its variance is model error%s%s, and %.0f %% comes "
			    "from uncertain parameters%s%s; %s would narrow it most; with %zu "
			    "draws, the ends have a standard error of %.1f %%",
			    100 * error / all, error > 0 ? ", above all " : "",
			    error > 0 ? worst->mechanism : "", 100 * variance / all,
			    path ? ", above all " : "", path ? path : "",
			    narrow ? narrow : "no single measurement", draws->count,
			    100 * expm1(end_error(arena, draws, throughput)));
}

struct draws draws_run(struct arena *arena, const struct case_request *request,
		       const struct predict_options *options, const struct scenario *scenario,
		       const struct point *point)
{
	const struct job_point failed = job_point_failed(NULL);
	struct draws draws = {.count = options->draws_count};
	const struct recorded_program *recorded = scenario->jobs[0].recorded;
	struct draws_run d = {.arena = arena,
			      .request = *request,
			      .options = options,
			      .scenario = scenario,
			      .factors = {EACH_ANSWER(ONE)},
			      .unknowns = unknowns_of(arena, scenario),
			      .draws = &draws,
			      .job_count = point->job_count};
	if (recorded)
		d.request.calls = recorded->calls;
	if (options->draw_setting_count)
		add_settings(arena, &d, point);
	const struct job_point all = whole(point);
	bool added = scenario_mechanism(scenario, PART_ADDED) < MECHANISM_COUNT;
	if (scenario->style == JOBS_COLLECTIVE)
		draws.start_share = start_share(scenario, options->seed, point->step_s);
	if (scenario->style == JOBS_SERVING)
		d.forwarding_share = forwarding_share(&point->serving);
	else
		draws_set_errors(&draws, scenario, added ? draws_main_share(&draws, &all) : 1);
	draws.answers = ARENA_ARRAY(arena, draws.count + 1, struct draw_answers);
	for (size_t i = 0; i < draws.count; i++) {
		draws.answers[i] = (struct draw_answers){.all = failed, .failed = true};
		draws.answers[i].jobs = ARENA_ARRAY(arena, d.job_count + 1, struct job_point);
		for (size_t k = 0; k < d.job_count; k++)
			draws.answers[i].jobs[k] = failed;
	}
	d.points = unknowns_points(arena, &d.unknowns, draws.count, options->seed);
	pthread_mutex_init(&d.lock, NULL);
	parallel_each(options->jobs, draws.count, draw_one, &d);
	pthread_mutex_destroy(&d.lock);
	for (size_t i = 0; i < draws.count; i++)
		draws.failed_count += draws.answers[i].failed;
	if (scenario->style != JOBS_SERVING)
		draws.width = width_words(arena, &d, point->throughput);
	for (size_t i = draws.count; i-- > 0;)
		draws.broken = draws.answers[i].broken ? draws.answers[i].broken : draws.broken;
	return draws;
}
