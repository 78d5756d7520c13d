/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals and quotients from draws (sim/predict/draws.h). */
#include "sim/predict/draws.h"

#include "sim/predict/effects.h"

double draws_main_share(const struct draws *draws, const struct job_point *answer)
{
	if (draws->start_share > 0)
		return 1 - draws->start_share;
	return isfinite(answer->ratio) ? answer->ratio : answer->gpu_utilization;
}

void draws_set_errors(struct draws *draws, const struct scenario *scenario, double share)
{
	const struct model_error *errors = scenario->errors;
	draws->error = model_error_sum(errors[PART_ONE_GPU], errors[PART_OWN]);
	draws->ratio_error = errors[PART_OWN];
	draws->added_error = errors[PART_ADDED];
	for (enum case_part i = 0; i < CASE_PART_COUNT; i++) {
		enum mechanism mechanism = scenario_mechanism(scenario, i);
		bool used = mechanism < MECHANISM_COUNT;
		draws->errors[i] =
			(struct error_part){used ? mechanism_path(mechanism) : "", errors[i].ratio,
					    errors[i].freedom_count,
					    !used             ? 0
					    : i == PART_ADDED ? fabs(1 - share)
							      : fmin(share, 1),
					    used && i == PART_ONE_GPU ? scenario->one_gpu_hash : 0};
	}
}

/* Estimates the value below which another draw falls with probability q (Hyndman and Fan 1996,
 * type 6). With few draws this is the smallest or largest value. */
static double quantile(double *values, size_t count, double q)
{
	double n = (double)count;
	double at = count > 1 ? ((n + 1) * q - 1) / (n - 1) : 0;
	return num_quantile(values, count, fmin(fmax(at, 0), 1));
}

/* ---- model error ---- */

struct error_spread { /* the errors of both parts of the time */
	struct model_error main, added;
	bool time; /* the values are times */
};

struct mixture {
	const double *values; /* number of each draw; 0: the draw failed, which the model error does
				 not change */
	size_t count;
	struct model_error error;
};

/* Returns the share of the distribution below this logarithm. A draw at the place itself counts
 * half. */
static double share_below(const struct mixture *m, double logarithm)
{
	double sum = 0;
	for (size_t i = 0; i < m->count; i++) {
		double above = logarithm - log(m->values[i]);
		if (m->error.ratio > 0 && m->values[i] > 0)
			sum += num_student(above / m->error.ratio, m->error.freedom_count);
		else
			sum += m->values[i] > 0 ? (double)((above > 0) + (above >= 0)) / 2 : 1;
	}
	return sum / (double)m->count;
}

/* Finds the quantile by bisection to a relative error of 1e-6. */
static double mixture_quantile(const struct mixture *m, double q)
{
	const double far = 40,
		     near = 1e-6; /* far: in standard deviations; near: of the logarithm */
	double low = INFINITY, high = -INFINITY, zeros = 0;
	for (size_t i = 0; i < m->count; i++) {
		zeros += m->values[i] <= 0;
		if (m->values[i] > 0) {
			low = fmin(low, log(m->values[i]));
			high = fmax(high, log(m->values[i]));
		}
	}
	if (zeros >= q * (double)m->count)
		return 0;
	low -= far * m->error.ratio;
	high += far * m->error.ratio;
	while (high - low > near) {
		double middle = (low + high) / 2;
		if (share_below(m, middle) < q)
			low = middle;
		else
			high = middle;
	}
	return exp((low + high) / 2);
}

/* Returns the quantile of the values, or with a model error that of the mixture of distributions
 * around them. */
static double end_of(const struct mixture *m, double *values, double q)
{
	return m->error.ratio > 0 ? mixture_quantile(m, q) : quantile(values, m->count, q);
}

static struct estimate interval_of(double value, double *values, const struct mixture *m)
{
	return (struct estimate){value, fmin(value, end_of(m, values, 0.05)),
				 fmax(value, end_of(m, values, 0.95))};
}

/* ---- the error of the added time ---- */

enum { SPREAD_POINTS = 128 }; /* of the two errors around each draw */

/* Returns the speed relative to that without errors. The time has a main part and an added one;
 * main and added are the factors of both. A program that is faster than local (share > 1) has
 * gained time, and the error scales its gain. */
static double speed_with(double share, double main, double added)
{
	return share <= 1 ? 1 / (share * main + (1 - share) * added)
			  : (1 + (share - 1) * added) / (share * main);
}

/* Returns the quantile of values that are the middles of parts of equal probability (Hyndman and
 * Fan 1996, type 5). */
static double middle_quantile(double *values, size_t count, double q)
{
	double n = (double)count;
	return num_quantile(values, count, (n * q - 0.5) / (n - 1));
}

/* Replaces each value by SPREAD_POINTS values, with factors at even steps of both distributions
 * (Hammersley's points), and returns their quantiles around `value`. shares has those of the
 * main part. */
static struct estimate spread_interval(struct arena *arena, const struct error_spread *spread,
				       double value, const double *values, const double *shares,
				       size_t count)
{
	size_t total = 0;
	double *all = ARENA_ARRAY(arena, count * SPREAD_POINTS, double);
	for (uint32_t k = 0; k < SPREAD_POINTS; k++) {
		double reversed = 0.5 / SPREAD_POINTS;
		for (uint32_t bit = 1; bit < SPREAD_POINTS; bit *= 2)
			reversed += k & bit ? 0.5 / bit : 0;
		double main = exp(spread->main.ratio *
				  num_student_quantile(reversed, spread->main.freedom_count));
		double added = exp(spread->added.ratio *
				   num_student_quantile((k + 0.5) / SPREAD_POINTS,
							spread->added.freedom_count));
		for (size_t i = 0; i < count; i++) {
			double speed = speed_with(shares[i], main, added);
			all[total++] = spread->time ? values[i] / speed : values[i] * speed;
		}
	}
	double low = middle_quantile(all, total, 0.05);
	double high = middle_quantile(all, total, 0.95);
	return (struct estimate){value, fmin(value, low), fmax(value, high)};
}

struct estimate error_alone(const struct scenario *scenario, bool is_ratio, double value)
{
	struct draws draws = {0};
	draws_set_errors(&draws, scenario, 1);
	struct model_error error = draws.error;
	if (draws.added_error.ratio > 0 && is_ratio) {
		const struct error_spread spread = {draws.ratio_error, draws.added_error, false};
		struct arena *scratch = arena_new();
		struct estimate e = spread_interval(scratch, &spread, value, &value, &value, 1);
		arena_free(scratch);
		return e;
	}
	if (!(error.ratio > 0))
		return (struct estimate){value, value, value};
	double factor = exp(num_student_quantile(0.95, error.freedom_count) * error.ratio);
	return (struct estimate){value, value / factor, value * factor};
}

struct estimate draws_interval(struct arena *arena, const struct draws *draws, double value,
			       long client, size_t offset)
{
	struct estimate estimate = {value, value, value};
	double *values = ARENA_ARRAY(arena, draws->count + 1, double);
	double *shares = ARENA_ARRAY(arena, draws->count + 1, double);
	size_t count = 0;
	double largest = 0;
	/* A failed draw counts as 0 throughput, but it has no time. */
	size_t serving = offsetof(struct job_point, serving);
	bool share = offset == offsetof(struct job_point, gpu_utilization) ||
		     offset == serving + offsetof(struct serving_answers, attainment_ratio);
	bool rate = offset >= serving + offsetof(struct serving_answers, requests_per_s) &&
		    offset <= serving + offsetof(struct serving_answers, goodput_per_s);
	bool time = offset == offsetof(struct job_point, step_s) ||
		    offset == offsetof(struct job_point, elapsed_s) ||
		    offset == offsetof(struct job_point, energy_J) ||
		    offset == offsetof(struct job_point, sample_cost) ||
		    offset == offsetof(struct job_point, run_cost) ||
		    offset == offsetof(struct job_point, run_J) ||
		    (offset >= serving && !share && !rate);
	/* what an hour costs does not depend on the speed */
	bool steady = offset == offsetof(struct job_point, power_W) ||
		      offset == offsetof(struct job_point, hour_cost);
	for (size_t i = 0; i < draws->count; i++) {
		const struct job_point *answer =
			client < 0 ? &draws->answers[i].all : &draws->answers[i].jobs[client];
		double drawn = *(const double *)(const void *)((const char *)answer + offset);
		shares[count] = answer->failed ? 0 : draws_main_share(draws, answer);
		if (isfinite(drawn) || !(time || steady))
			values[count++] = isfinite(drawn) ? drawn : 0;
		largest = count ? fmax(largest, values[count - 1]) : largest;
	}
	if (count == 0 || !isfinite(value))
		return estimate;
	/* the model error changes the times of a long run, but hardly its failures */
	if (offset == offsetof(struct job_point, goodput_ratio) ||
	    offset == offsetof(struct job_point, failures_count)) {
		const struct mixture exact = {.values = values, .count = count};
		return interval_of(value, values, &exact);
	}
	bool is_ratio = offset == offsetof(struct job_point, ratio);
	const struct model_error added = draws->added_error;
	bool relative = is_ratio || (share && added.ratio > 0);
	struct mixture m = {.values = values,
			    .count = count,
			    .error = relative ? draws->ratio_error : draws->error};
	if (steady)
		m.error.ratio = 0;
	const struct error_spread spread = {m.error, added, time};
	estimate = added.ratio > 0 && !steady
			   ? spread_interval(arena, &spread, value, values, shares, count)
			   : interval_of(value, values, &m);
	if (share || (m.error.ratio > 0 && is_ratio))
		estimate.high = fmax(value, fmin(fmax(1, largest), estimate.high));
	return estimate;
}

/* ---- quotients ---- */

struct quotient quotient_apart(struct estimate a, struct estimate b)
{
	double value = a.value / b.value;
	double below = hypot(log(a.value / a.low), log(b.high / b.value));
	double above = hypot(log(a.high / a.value), log(b.value / b.low));
	double towards_one = value > 1 ? below : above;
	double deviations = log(value) / towards_one * num_normal_quantile(0.95);
	return (struct quotient){{value, value * exp(-below), value * exp(above)},
				 towards_one > 0 ? num_normal(deviations) : NAN};
}

/* Returns the error that one part adds to the logarithm of the quotient. An error that is the same
 * number in both cases acts on the difference of the two shares of time. */
static struct model_error part_error(const struct error_part *a, const struct error_part *b)
{
	struct model_error error_a = {a->ratio * a->share, a->freedom_count},
			   error_b = {b->ratio * b->share, b->freedom_count};
	if (a->about == 0 || a->about != b->about)
		return model_error_sum(error_a, error_b);
	error_a.ratio = fmax(a->ratio, b->ratio) * fabs(a->share - b->share);
	return error_a;
}

/* Returns the cost by which cases are compared: that of a whole long run, or that of a sample. */
static struct estimate compared_cost(const struct prediction *p)
{
	return isfinite(p->goodput_ratio.value) ? p->cost_run : p->cost_sample;
}

/* Divides the costs or the throughputs of a and b. The model errors act on both alike. */
static struct quotient quotient_of(const struct prediction *a, const struct prediction *b,
				   bool cost)
{
	const struct breakdown_part *dividends = cost ? a->drawn_costs : a->drawn;
	const struct breakdown_part *divisors = cost ? b->drawn_costs : b->drawn;
	const struct estimate x = cost ? compared_cost(a) : a->throughput;
	const struct estimate y = cost ? compared_cost(b) : b->throughput;
	double value = x.value / y.value;
	if ((a->drawn_count == 0) != (b->drawn_count == 0))
		return (struct quotient){estimate_exact(value), NAN};
	if (a->drawn_count == 0 || a->seed != b->seed || a->drawn_count != b->drawn_count)
		return quotient_apart(x, y);
	struct arena *scratch = arena_new();
	double *values = ARENA_ARRAY(scratch, a->drawn_count, double);
	struct mixture m = {.values = values};
	bool same = true; /* the same work on the same system */
	for (size_t i = 0; i < a->drawn_count; i++) {
		same &= a->drawn[i].seconds == b->drawn[i].seconds;
		if (divisors[i].seconds > 0)
			values[m.count++] = dividends[i].seconds / divisors[i].seconds;
	}
	for (size_t i = 0; i < a->error_count && i < b->error_count && !same; i++)
		m.error = model_error_sum(m.error, part_error(&a->errors[i], &b->errors[i]));
	struct quotient quotient = {estimate_exact(value), NAN};
	if (m.count > 0)
		quotient =
			(struct quotient){interval_of(value, values, &m), 1 - share_below(&m, 0)};
	arena_free(scratch);
	return quotient;
}

struct quotient draws_quotient(const struct prediction *a, const struct prediction *b)
{
	return quotient_of(a, b, false);
}

struct quotient draws_cost_quotient(const struct prediction *a, const struct prediction *b)
{
	return quotient_of(a, b, true);
}

/* ---- the best of several ---- */

enum { ERROR_DRAWS = 256 }; /* of the model errors around each draw */

/* Returns the drawn logarithm of the error of one part. A name and a seed of its own make it the
 * same number in all predictions that have this error in common. */
static double drawn_error(const struct error_part *part, size_t prediction, size_t index,
			  uint64_t number)
{
	char name[64];
	if (!(part->ratio > 0))
		return 0;
	if (part->about)
		snprintf(name, sizeof name, "about %016llx", (unsigned long long)part->about);
	else
		snprintf(name, sizeof name, "part %zu of %zu", index, prediction);
	struct rng rng = rng_named(number, name);
	double q = rng_uniform(&rng);
	return part->ratio * part->share * num_student_quantile(q, part->freedom_count);
}

/* Returns the logarithm of what is to be high, with model errors: a slower part costs more, too. */
static double drawn_merit(const struct prediction *p, size_t prediction, bool cost, size_t draw,
			  uint64_t number)
{
	double value = cost ? p->drawn_costs[draw].seconds : p->drawn[draw].seconds;
	double merit = value > 0 ? (cost ? -log(value) : log(value)) : -INFINITY;
	for (size_t i = 0; i < p->error_count; i++)
		merit -= drawn_error(&p->errors[i], prediction, i, number);
	return merit;
}

void draws_chances(const struct prediction *const *predictions, size_t count, bool cost,
		   double *chances)
{
	size_t draws = 0, trials = 0;
	const struct prediction *first = NULL;
	bool alike = true;
	for (size_t k = 0; k < count; k++) {
		const struct prediction *p = predictions[k];
		first = !first && p->ok ? p : first;
		chances[k] = p->ok ? 0 : NAN;
		alike &=
			!p->ok || (p->seed == first->seed && p->drawn_count == first->drawn_count &&
				   (!cost || p->drawn_cost_count == first->drawn_count));
	}
	draws = first && alike ? first->drawn_count : 0;
	for (size_t i = 0; i < draws * ERROR_DRAWS; i++) {
		size_t best = count;
		double most = -INFINITY;
		for (size_t k = 0; k < count; k++) {
			const struct prediction *p = predictions[k];
			double merit =
				p->ok ? drawn_merit(p, k, cost, i / ERROR_DRAWS, i) : -INFINITY;
			if (merit > most) {
				most = merit;
				best = k;
			}
		}
		if (best < count)
			chances[best]++;
		trials++;
	}
	for (size_t k = 0; k < count; k++)
		chances[k] = trials > 0 ? chances[k] / (double)trials : NAN;
}
