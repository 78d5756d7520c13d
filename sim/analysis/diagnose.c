/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/analysis/points.h"
#include "sim/analysis/suspects.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"

/* half_interval: half of a 90 % interval in standard deviations. common_share: share of the
 * prediction's variance that all sizes have in common. apart_ratio: ratio of two sizes whose other
 * errors are correlated by 1/e. prior: probability of no fault before the measurement. */
static const double half_interval = 1.645, common_share = 0.9, apart_ratio = 32, prior = 0.9;

struct work {
	struct arena *arena;
	const struct diagnose_request *request;
	struct diagnosis *d;
	double *root; /* Cholesky factor of the errors' covariance */
};

/* ---- predictions ---- */

/* Predicts the points without a fault, with intervals in d->expected_s. */
static bool predict_healthy(struct work *w, const struct reported *step, struct sweep_fault *fault)
{
	struct diagnosis *d = w->d;
	struct case_point *list = ARENA_ARRAY(w->arena, d->count, struct case_point);
	struct case_answer *answers = ARENA_ARRAY(w->arena, d->count, struct case_answer);
	const struct points points = {w->request->input, step};
	for (size_t i = 0; i < d->count; i++)
		list[i] = (struct case_point){.settings = d->rows[i]->settings,
					      .setting_count = d->rows[i]->setting_count};
	if (!points_answer(w->arena, &points, list, d->count, answers, &fault->broken))
		return false;
	d->suspects[0].time_s = ARENA_ARRAY(w->arena, d->count, double);
	for (size_t i = 0; i < d->count; i++) {
		d->expected_s[i] = answers[i].number;
		d->suspects[0].time_s[i] = answers[i].number.value;
	}
	return true;
}

/* Predicts all points with each fault. The journal keeps them. */
static bool predict_faults(struct work *w, struct diag *diag, const struct reported *step,
			   struct sweep_fault *fault)
{
	struct diagnosis *d = w->d;
	size_t n = d->count, count = n * d->simulated_count, most = 0;
	const struct setting **settings = ARENA_ARRAY(w->arena, count, const struct setting *);
	for (size_t i = 0; i < n; i++)
		most = d->rows[i]->setting_count > most ? d->rows[i]->setting_count : most;
	for (size_t i = 0; i < count; i++) {
		const struct dataset_row *row = d->rows[i % n];
		const struct setting own = {d->suspects[1 + i / n].setting, {"a suspect", 0}};
		struct setting *all = ARENA_ARRAY(w->arena, most + 1, struct setting);
		for (size_t k = 0; k <= most; k++)
			all[k] = k < row->setting_count ? row->settings[k] : own;
		settings[i] = all;
	}
	const struct sweep_list list = {.settings = settings,
					.setting_count = most + 1,
					.point_count = count,
					.refused = ARENA_ARRAY(w->arena, count, const char *)};
	struct sweep_request request = {
		.input = w->request->input, .list = &list, .journal = w->request->journal};
	request.input.options.draws_count = 0;
	const struct sweep *sweep = count > 0 ? sweep_run(w->arena, diag, &request, fault) : NULL;
	for (size_t i = 0; i < count && sweep; i++) {
		struct suspect *suspect = &d->suspects[1 + i / n];
		const struct prediction *p = sweep->points[i];
		if (i % n == 0)
			suspect->time_s = ARENA_ARRAY(w->arena, n, double);
		suspect->time_s[i % n] = p ? reported_of(step, p).value : NAN;
	}
	return count == 0 || sweep;
}

/* ---- likelihoods ---- */

/* Factors the covariance of the logarithms' errors. */
static void factor(struct work *w)
{
	struct diagnosis *d = w->d;
	size_t n = d->count;
	double *root = w->root = ARENA_ARRAY(w->arena, n * n, double);
	double *sigma = ARENA_ARRAY(w->arena, n, double);
	for (size_t i = 0; i < n; i++)
		sigma[i] = log(d->expected_s[i].high / d->expected_s[i].low) / 2 / half_interval;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++) {
			double apart = fabs(log(d->size_B[i] / d->size_B[j])) / log(apart_ratio);
			double noise = i == j ? w->request->noise_ratio : 0;
			double sum = sigma[i] * sigma[j] *
					     (common_share + (1 - common_share) * exp(-apart)) +
				     noise * noise;
			for (size_t k = 0; k < j; k++)
				sum -= root[i * n + k] * root[j * n + k];
			root[i * n + j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / root[j * n + j];
		}
}

/* Returns the squared distance of the measured curve from a suspect's. */
static double distance_of(const struct work *w, const struct suspect *suspect)
{
	const struct diagnosis *d = w->d;
	size_t n = d->count;
	double *solved = ARENA_ARRAY(w->arena, n, double), sum = 0;
	for (size_t i = 0; i < n; i++) {
		double rest = log(d->rows[i]->measured / suspect->time_s[i]);
		for (size_t k = 0; k < i; k++)
			rest -= w->root[i * n + k] * solved[k];
		solved[i] = rest / w->root[i * n + i];
		sum += solved[i] * solved[i];
	}
	return sum;
}

/* Returns true if the curves differ by less than the noise at each size. */
static bool are_alike(const struct work *w, const struct suspect *a, const struct suspect *b)
{
	for (size_t i = 0; i < w->d->count; i++)
		if (!(fabs(log(a->time_s[i] / b->time_s[i])) <= w->request->noise_ratio))
			return false;
	return true;
}

static int by_distance(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	return (x->distance > y->distance) - (x->distance < y->distance);
}

static int by_probability(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	return (x->probability < y->probability) - (x->probability > y->probability);
}

/* Drops suspects that no size shows, that have the curve of the same fault elsewhere, or with which
 * the collective does not run. Joins the others to classes. */
static void classify(struct work *w)
{
	struct diagnosis *d = w->d;
	const struct suspect none = d->suspects[0];
	struct suspect before = none;
	size_t visible = 0, classes = 0;
	double total = 0;
	for (size_t i = 0; i < d->suspect_count; i++) {
		struct suspect *s = &d->suspects[i];
		s->distance = distance_of(w, s);
		bool hidden = i > 0 && are_alike(w, s, &none);
		bool known = s->again && are_alike(w, s, &before);
		before = *s;
		d->hidden_count += hidden;
		if (!hidden && !known && isfinite(s->distance))
			d->suspects[visible++] = *s;
	}
	qsort(d->suspects, visible, sizeof *d->suspects, by_distance);
	for (size_t i = 0; i < visible; i++) {
		struct suspect s = d->suspects[i];
		double own = s.setting[0] ? (1 - prior) / (double)visible : prior;
		size_t k = 0;
		s.probability = own * exp(-(s.distance - d->suspects[0].distance) / 2);
		total += s.probability;
		while (k < classes && !are_alike(w, &s, &d->suspects[k]))
			k++;
		struct suspect *first = &d->suspects[k];
		if (k == classes) {
			d->suspects[classes++] = s;
			continue;
		}
		first->probability += s.probability;
		first->alike = first->alike_count++
				       ? arena_printf(w->arena, "%s; %s", first->alike, s.what)
				       : s.what;
	}
	d->suspect_count = classes;
	for (size_t i = 0; i < classes; i++)
		d->suspects[i].probability /= total;
	qsort(d->suspects, classes, sizeof *d->suspects, by_probability);
	double n = (double)d->count;
	d->explained = d->suspects[0].distance < n + 3 * sqrt(2 * n);
}

/* ---- ranges of sizes ---- */

/* Sizes with up to twice the shortest time depend on latency, and those with 70 % of the highest
 * bandwidth on bandwidth. */
static size_t range_of(const struct diagnosis *d, size_t i, double least_s, double most_Bps)
{
	double time_s = d->expected_s[i].value;
	return time_s <= 2 * least_s ? 0 : d->size_B[i] / time_s >= 0.7 * most_Bps ? 2 : 1;
}

static void judge_ranges(struct work *w)
{
	static const char *const names[DIAGNOSE_RANGES] = {"small", "middle", "large"};
	struct diagnosis *d = w->d;
	double *ratios = ARENA_ARRAY(w->arena, d->count, double), least_s = INFINITY, most_Bps = 0;
	for (size_t i = 0; i < d->count; i++) {
		least_s = fmin(least_s, d->expected_s[i].value);
		most_Bps = fmax(most_Bps, d->size_B[i] / d->expected_s[i].value);
	}
	for (size_t k = 0; k < DIAGNOSE_RANGES; k++) {
		struct size_range *range = &d->ranges[k];
		*range = (struct size_range){.name = names[k], .from_B = INFINITY, .ratio = NAN};
		for (size_t i = 0; i < d->count; i++) {
			const struct estimate *e = &d->expected_s[i];
			double measured = d->rows[i]->measured;
			if (range_of(d, i, least_s, most_Bps) != k)
				continue;
			ratios[range->count++] = measured / e->value;
			range->from_B = fmin(range->from_B, d->size_B[i]);
			range->to_B = fmax(range->to_B, d->size_B[i]);
			range->outside_count += measured < e->low * (1 - w->request->noise_ratio) ||
						measured > e->high * (1 + w->request->noise_ratio);
		}
		if (range->count)
			range->ratio = num_quantile(ratios, range->count, 0.5);
	}
}

/* ---- the whole ---- */

/* Takes at most DIAGNOSE_POINTS_MOST rows, evenly. */
static void take_rows(struct work *w)
{
	const struct dataset *dataset = w->request->dataset;
	struct diagnosis *d = w->d;
	size_t count = dataset->row_count;
	d->count = count < DIAGNOSE_POINTS_MOST ? count : DIAGNOSE_POINTS_MOST;
	const struct dataset_row **rows =
		ARENA_ARRAY(w->arena, d->count, const struct dataset_row *);
	d->size_B = ARENA_ARRAY(w->arena, d->count, double);
	d->expected_s = ARENA_ARRAY(w->arena, d->count, struct estimate);
	for (size_t i = 0; i < d->count; i++)
		rows[i] = &dataset->rows[d->count > 1 ? i * (count - 1) / (d->count - 1) : 0];
	d->rows = rows;
}

/* Returns the scenario of row i, and sets its size. */
static const struct scenario *read_row(struct work *w, struct diag *diag, size_t i)
{
	const struct case_request request =
		dataset_request(w->d->rows[i], w->request->input.request.data_root);
	const struct scenario *scenario = case_read(w->arena, diag, &request);
	if (scenario)
		w->d->size_B[i] = scenario->collective_size_B;
	return scenario;
}

const struct diagnosis *diagnose(struct arena *arena, struct diag *diag,
				 const struct diagnose_request *request, struct sweep_fault *fault)
{
	struct work w = {arena, request, ARENA_NEW(arena, struct diagnosis), NULL};
	struct diagnosis *d = w.d;
	const struct origin origin = {request->dataset->path, 0};
	const struct scenario *scenario = NULL;
	*fault = (struct sweep_fault){0};
	take_rows(&w);
	const struct cfg_resolution **cases =
		ARENA_ARRAY(arena, d->count, const struct cfg_resolution *);
	for (size_t i = 0; i < d->count; i++) {
		scenario = read_row(&w, diag, i);
		if (!scenario)
			return NULL;
		cases[i] = scenario->resolution;
	}
	FW_ASSERT(scenario); /* a dataset has rows */
	d->cases = cases;
	size_t ranks = scenario->jobs[0].rank_count, gpus = scenario->topology.gpu_count;
	if (ranks != gpus && !(scenario->params->gpus_per_machine_count > 0)) {
		diag_error(diag, origin,
			   "the log has %zu ranks, but topology '%s' has %zu GPUs (write --set "
			   "case.gpus_per_machine=N if N GPUs of each machine were used)",
			   ranks, scenario->topology.name, gpus);
		return NULL;
	}
	d->suspects = suspects_of(arena, scenario, request->input.options.seed, &d->suspect_count);
	d->simulated_count = d->suspect_count - 1;
	const struct reported *step =
		reported_find(arena, diag, origin, PREDICTION_COLLECTIVE, "step");
	if (!step || !predict_healthy(&w, step, fault) || !predict_faults(&w, diag, step, fault))
		return NULL;
	for (size_t i = 0; i < d->count; i++)
		if (isnan(d->expected_s[i].value)) {
			diag_error(diag, origin, "the topology cannot run '%s' (see farwire run)",
				   d->rows[i]->label);
			return NULL;
		}
	factor(&w);
	judge_ranges(&w);
	classify(&w);
	return d;
}
