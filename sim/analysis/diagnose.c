/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/diagnose.h"
#include "sim/analysis/points.h"
#include "sim/base/parallel.h"
#include "sim/collective/schedule.h"
#include "sim/predict/unknowns.h"

/* half_interval: half of a 90 % interval in standard deviations. common_share: share of the
 * prediction's variance that all sizes have in common. apart_ratio: ratio of two sizes whose other
 * errors are correlated by 1/e. prior: probability of no fault before the measurement. */
static const double half_interval = 1.645, common_share = 0.9, apart_ratio = 32, prior = 0.9;

/* The noise of each size by what is known of the machine. The numbers are the scatter of the errors
 * of fit rows around a straight line over the size, in logarithms (docs/diagnose.md). */
struct known_noise {
	double ratio;
	const char *why; /* completes "noise of each size: 5 %, because ..." */
};
static const struct known_noise own_fit = {
	0.05, "the profile was fitted to this machine: the scatter of predictions for four such "
	      "logs"};
static const struct known_noise noises[DISTANCE_COUNT] = {
	[DISTANCE_SAME_SYSTEM] =
		{0.10, "GPU, network and library of this machine were measured: the scatter of "
		       "predictions for 108 such curves"},
	[DISTANCE_SAME_KIND] = {0.12, "machines of this kind were measured, but not this one: the "
				      "scatter of predictions without a profile (a fit of its log "
				      "and --profile lower it)"},
	[DISTANCE_NEW_MACHINE] =
		{0.12, "only the library was measured, on other machines: the scatter of "
		       "predictions without a profile (a fit of its log and --profile lower it)"},
	[DISTANCE_NEW_LIBRARY] =
		{0.18, "nothing with this library was measured: the scatter of predictions for the "
		       "library that is known least, Open MPI (a fit of its log and --profile "
		       "lower it)"},
};
static const struct known_noise step_noise = {
	0.02, "the interval has the error of the prediction, and steps of a job differ by about as "
	      "much (assumption)"};
static const struct known_noise transfer_noise = {
	0.05, "links and copies are predicted from data sheets, which hardware meets within 5 % "
	      "(assumption)"};

struct diagnosing {
	struct arena *arena;
	const struct diagnose_request *request;
	struct diagnosis *d;
	const struct transfer **transfers; /* by point */
	double *root;                      /* Cholesky factor of the errors' covariance */
};

static const struct known_noise *noise_of(const struct diagnosis *d,
					  const struct scenario *scenario)
{
	enum distance distance = scenario->distances[PART_OWN];
	if (d->measured != MEASURED_COLLECTIVE)
		return d->measured == MEASURED_STEP ? &step_noise : &transfer_noise;
	return distance == DISTANCE_SAME_SYSTEM && scenario->params->profile[0] ? &own_fit
										: &noises[distance];
}

static void find_suspects(struct diagnosing *w, const struct scenario *scenario,
			  const double *carried_B)
{
	struct diagnosis *d = w->d;
	d->suspects = suspects_of(w->arena, scenario, d->measured, carried_B, &d->suspect_count);
	d->simulated_count = d->suspect_count - 1;
	for (size_t s = 0; s < d->suspect_count; s++)
		d->suspects[s].time_s = ARENA_ARRAY(w->arena, d->count, double);
}

/* ---- predictions of cases ---- */

/* Predicts the points without a fault, with intervals in d->expected_s. */
static bool predict_healthy(struct diagnosing *w, const struct reported *step,
			    struct sweep_fault *fault)
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
	for (size_t i = 0; i < d->count; i++)
		d->expected_s[i] = answers[i].number;
	return true;
}

/* Returns the points with each suspect: the settings of the row, then those of the suspect, the
 * last of which is repeated until all points have equally many. */
static struct sweep_list faults_of(struct diagnosing *w)
{
	struct diagnosis *d = w->d;
	size_t n = d->count, count = n * d->simulated_count, most = 0;
	const struct setting **settings = ARENA_ARRAY(w->arena, count, const struct setting *);
	for (size_t i = 0; i < n; i++)
		most = d->rows[i]->setting_count > most ? d->rows[i]->setting_count : most;
	most += SUSPECT_SETTINGS_MAX;
	for (size_t i = 0; i < count; i++) {
		const struct dataset_row *row = d->rows[i % n];
		struct setting own[SUSPECT_SETTINGS_MAX];
		size_t own_count = suspect_settings(w->arena, &d->suspects[1 + i / n], own);
		struct setting *all = ARENA_ARRAY(w->arena, most, struct setting);
		for (size_t k = 0; k < most; k++) {
			size_t at = k - row->setting_count;
			all[k] = k < row->setting_count ? row->settings[k]
				 : at < own_count       ? own[at]
							: own[own_count - 1];
		}
		settings[i] = all;
	}
	return (struct sweep_list){.settings = settings,
				   .setting_count = most,
				   .point_count = count,
				   .refused = ARENA_ARRAY(w->arena, count, const char *)};
}

/* Predicts all points with each fault. The journal keeps them. A fault of a part that a smaller job
 * does not have leaves that job's time as it is. */
static bool predict_faults(struct diagnosing *w, struct diag *diag, const struct reported *step,
			   struct sweep_fault *fault)
{
	struct diagnosis *d = w->d;
	const struct sweep_list list = faults_of(w);
	struct sweep_request request = {
		.input = w->request->input, .list = &list, .journal = w->request->journal};
	request.input.options.draws_count = 0;
	const struct sweep *sweep =
		list.point_count > 0 ? sweep_run(w->arena, diag, &request, fault) : NULL;
	for (size_t s = 0; s < d->simulated_count && sweep; s++) {
		double *time_s = d->suspects[1 + s].time_s;
		bool runs = false;
		for (size_t i = 0; i < d->count; i++) {
			const struct prediction *p = sweep->points[s * d->count + i];
			time_s[i] = p ? reported_of(step, p).value : NAN;
			runs = runs || isfinite(time_s[i]);
		}
		for (size_t i = 0; i < d->count && runs; i++)
			if (list.refused[s * d->count + i])
				time_s[i] = d->expected_s[i].value;
	}
	return list.point_count == 0 || sweep;
}

/* Predicts the points as cases: healthy ones, and with each fault. */
static bool predict_cases(struct diagnosing *w, struct diag *diag, const struct scenario *scenario,
			  struct sweep_fault *fault)
{
	const struct origin origin = {w->request->dataset->path, 0};
	uint64_t seed = w->request->input.options.seed;
	size_t link_count = scenario->topology.link_count;
	double *carried_B = ARENA_ARRAY(w->arena, link_count + 1, double);
	const struct point point = predict_point(w->arena, scenario, seed, false, NULL, NULL);
	for (size_t i = 0; i < link_count && point.outcome.links; i++)
		carried_B[i] = fmax(point.outcome.links[2 * i].carried_B,
				    point.outcome.links[2 * i + 1].carried_B);
	find_suspects(w, scenario, carried_B);
	const struct reported *step =
		reported_find(w->arena, diag, origin, reporting_of(w->arena, scenario), "step");
	return step && predict_healthy(w, step, fault) && predict_faults(w, diag, step, fault);
}

/* ---- predictions of transfers ---- */

struct transferring_points {
	struct diagnosing *w;
	struct case_request request;
	const struct unknowns *unknowns;
	const double *points;
	size_t draw_count;
	double **drawn_s; /* by draw and point */
};

static void transfer_all(struct diagnosing *w, struct arena *arena, const struct scenario *scenario,
			 double *carried_B, double *time_s)
{
	for (size_t i = 0; i < w->d->count; i++)
		time_s[i] = scenario ? transfer_run(arena, scenario, w->transfers[i],
						    w->request->input.options.seed, carried_B)
				     : NAN;
}

/* Transfers with a draw of the uncertain parameters, or behind all draws with a suspect. */
static void transfer_with(void *ctx, size_t index)
{
	struct transferring_points *t = ctx;
	struct diagnosis *d = t->w->d;
	struct arena *arena = arena_new();
	struct case_request request = t->request;
	struct setting own[SUSPECT_SETTINGS_MAX];
	double *time_s;
	if (index < t->draw_count) {
		struct draw_value *values =
			ARENA_ARRAY(arena, t->unknowns->param_count + 1, struct draw_value);
		unknowns_draw(arena, t->unknowns, &t->points[index * t->unknowns->count], values);
		request.draws = values;
		request.draw_count = t->unknowns->param_count;
		time_s = t->drawn_s[index];
	} else {
		const struct suspect *suspect = &d->suspects[1 + index - t->draw_count];
		request = request_with(arena, &request, own, suspect_settings(arena, suspect, own));
		time_s = suspect->time_s;
	}
	transfer_all(t->w, arena, case_read(arena, diag_new(arena), &request), NULL, time_s);
	arena_free(arena);
}

static void predict_transfers(struct diagnosing *w, const struct scenario *scenario)
{
	struct diagnosis *d = w->d;
	const struct predict_options *options = &w->request->input.options;
	const struct unknowns unknowns = unknowns_of(w->arena, scenario);
	double *carried_B = ARENA_ARRAY(w->arena, scenario->topology.link_count + 1, double);
	double *healthy_s = ARENA_ARRAY(w->arena, d->count, double);
	transfer_all(w, w->arena, scenario, carried_B, healthy_s);
	find_suspects(w, scenario, carried_B);
	struct transferring_points t = {
		w,
		request_with(w->arena, &w->request->input.request, d->rows[0]->settings,
			     d->rows[0]->setting_count),
		&unknowns,
		unknowns_points(w->arena, &unknowns, options->draws_count, options->seed),
		options->draws_count,
		ARENA_ARRAY(w->arena, options->draws_count + 1, double *)};
	for (size_t i = 0; i < t.draw_count; i++)
		t.drawn_s[i] = ARENA_ARRAY(w->arena, d->count, double);
	parallel_each(options->jobs, t.draw_count + d->simulated_count, transfer_with, &t);
	for (size_t i = 0; i < d->count; i++) {
		double *drawn_s = ARENA_ARRAY(w->arena, t.draw_count + 1, double);
		for (size_t k = 0; k < t.draw_count; k++)
			drawn_s[k] = t.drawn_s[k][i];
		d->expected_s[i] = estimate_exact(healthy_s[i]);
		if (t.draw_count == 0)
			continue;
		d->expected_s[i].low =
			fmin(healthy_s[i], num_quantile(drawn_s, t.draw_count, 0.05));
		d->expected_s[i].high =
			fmax(healthy_s[i], num_quantile(drawn_s, t.draw_count, 0.95));
	}
}

/* ---- likelihoods ---- */

/* Factors the covariance of the logarithms' errors. */
static void factor(struct diagnosing *w)
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
			double noise = i == j ? w->d->noise_ratio : 0;
			root[i * n + j] =
				sigma[i] * sigma[j] *
					(common_share + (1 - common_share) * exp(-apart)) +
				noise * noise;
		}
	num_cholesky(root, n, 1e-12);
}

/* Returns the squared distance of the measured curve from a suspect's. */
static double distance_of(const struct diagnosing *w, const struct suspect *suspect)
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
static bool are_alike(const struct diagnosing *w, const struct suspect *a, const struct suspect *b)
{
	for (size_t i = 0; i < w->d->count; i++)
		if (!(fabs(log(a->time_s[i] / b->time_s[i])) <= w->d->noise_ratio))
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
static void classify(struct diagnosing *w)
{
	struct diagnosis *d = w->d;
	const struct suspect none = d->suspects[0];
	struct suspect before = none;
	size_t visible = 0, classes = 0;
	double total = 0;
	bool one = d->measured == MEASURED_STEP; /* one time has no curve */
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
		while (k < classes && (one || !are_alike(w, &s, &d->suspects[k])))
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

double diagnosis_rate(const struct diagnosis *d, size_t point, double time_s)
{
	return d->size_B[point] * d->bus_ratio[point] / time_s;
}

/* Sizes with up to twice the shortest time of their curve depend on latency, and those with 70 % of
 * its highest bandwidth on bandwidth. If all points have one size, they are large. */
static size_t range_of(const struct diagnosis *d, size_t i)
{
	double time_s = d->expected_s[i].value, least_s = time_s, most_Bps = 0;
	bool sizes = false;
	for (size_t k = 0; k < d->count; k++) {
		sizes = sizes || d->size_B[k] > d->size_B[0];
		if (d->curve[k] != d->curve[i])
			continue;
		least_s = fmin(least_s, d->expected_s[k].value);
		most_Bps = fmax(most_Bps, diagnosis_rate(d, k, d->expected_s[k].value));
	}
	return sizes && time_s <= 2 * least_s                   ? 0
	       : diagnosis_rate(d, i, time_s) >= 0.7 * most_Bps ? 2
								: 1;
}

static void judge_ranges(struct diagnosing *w)
{
	static const char *const names[DIAGNOSE_RANGES] = {"small", "middle", "large"};
	struct diagnosis *d = w->d;
	double *ratios = ARENA_ARRAY(w->arena, d->count, double);
	for (size_t k = 0; k < DIAGNOSE_RANGES; k++) {
		struct size_range *range = &d->ranges[k];
		*range = (struct size_range){.name = names[k], .from_B = INFINITY, .ratio = NAN};
		for (size_t i = 0; i < d->count; i++) {
			const struct estimate *e = &d->expected_s[i];
			double measured = d->rows[i]->measured;
			if (range_of(d, i) != k)
				continue;
			ratios[range->count++] = measured / e->value;
			range->from_B = fmin(range->from_B, d->size_B[i]);
			range->to_B = fmax(range->to_B, d->size_B[i]);
			range->outside_count += measured < e->low * (1 - w->d->noise_ratio) ||
						measured > e->high * (1 + w->d->noise_ratio);
		}
		if (range->count)
			range->ratio = num_quantile(ratios, range->count, 0.5);
		if (2 * range->outside_count > range->count)
			range->deviation = range->ratio < 1 ? -1 : 1;
	}
}

/* ---- the whole ---- */

/* Judges whether the log is faster. This is so if some ranges are faster than their intervals and
 * none is slower. It is also so if no range is slower than predicted, and the log as a whole is
 * faster by more than the noise. */
static void judge_curve(struct diagnosing *w)
{
	struct diagnosis *d = w->d;
	double *ratios = ARENA_ARRAY(w->arena, d->count, double), most = 0;
	int fastest = 0, slowest = 0;
	for (size_t i = 0; i < d->count; i++)
		ratios[i] = d->rows[i]->measured / d->expected_s[i].value;
	d->ratio = num_quantile(ratios, d->count, 0.5);
	for (size_t k = 0; k < DIAGNOSE_RANGES; k++) {
		const struct size_range *range = &d->ranges[k];
		most = range->count ? fmax(most, range->ratio) : most;
		fastest = range->deviation < fastest ? range->deviation : fastest;
		slowest = range->deviation > slowest ? range->deviation : slowest;
	}
	d->faster = (fastest < 0 && slowest == 0) || (most <= 1 && d->ratio < 1 - d->noise_ratio);
}

/* Returns true if the rows differ only in their size: not in the group, the collective or the GPUs.
 */
static bool same_curve(const struct dataset_row *a, const struct dataset_row *b)
{
	static const char size[] = "case.collective_size=";
	bool same = a->setting_count == b->setting_count &&
		    (!a->group || strcmp(a->group, b->group) == 0);
	for (size_t i = 0; i < a->setting_count && same; i++)
		same = strncmp(a->settings[i].text, size, sizeof size - 1) == 0 ||
		       strcmp(a->settings[i].text, b->settings[i].text) == 0;
	return same;
}

/* Takes at most DIAGNOSE_POINTS_MOST rows: evenly those of each curve, with its first and last. */
static void take_rows(struct diagnosing *w)
{
	const struct dataset *dataset = w->request->dataset;
	struct diagnosis *d = w->d;
	size_t count = dataset->row_count, curves = 1, n = 0;
	size_t limit = w->request->transfers ? DIAGNOSE_TRANSFERS_MOST : DIAGNOSE_POINTS_MOST;
	for (size_t i = 1; i < count; i++)
		curves += !same_curve(&dataset->rows[i - 1], &dataset->rows[i]);
	const struct dataset_row **rows = ARENA_ARRAY(w->arena, limit, const struct dataset_row *);
	w->transfers = ARENA_ARRAY(w->arena, limit, const struct transfer *);
	d->curve = ARENA_ARRAY(w->arena, limit, size_t);
	size_t most = curves < limit / 2 ? limit / curves : 2;
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count;)
			if (!same_curve(&dataset->rows[first], &dataset->rows[end++])) {
				end--;
				break;
			}
		size_t have = end - first, take = have < most ? have : most;
		for (size_t i = 0; i < take && n < limit; i++) {
			size_t at = first + (take > 1 ? i * (have - 1) / (take - 1) : 0);
			rows[n] = &dataset->rows[at];
			w->transfers[n] = w->request->transfers ? &w->request->transfers[at] : NULL;
			d->curve[n++] = d->curve_count;
		}
		d->curve_count++;
	}
	d->count = n;
	d->rows = rows;
	d->size_B = ARENA_ARRAY(w->arena, n, double);
	d->bus_ratio = ARENA_ARRAY(w->arena, n, double);
	d->labels = ARENA_ARRAY(w->arena, n, const char *);
	d->expected_s = ARENA_ARRAY(w->arena, n, struct estimate);
}

/* Returns the scenario of row i, and sets what the point is about. */
static const struct scenario *read_row(struct diagnosing *w, struct diag *diag, size_t i)
{
	struct diagnosis *d = w->d;
	const struct case_request request =
		request_with(w->arena, &w->request->input.request, d->rows[i]->settings,
			     d->rows[i]->setting_count);
	const struct scenario *scenario = case_read(w->arena, diag, &request);
	d->labels[i] = d->rows[i]->label;
	d->bus_ratio[i] = d->size_B[i] = 1;
	if (w->transfers[i])
		d->size_B[i] = w->transfers[i]->size_B;
	if (!scenario || d->measured != MEASURED_COLLECTIVE)
		return scenario;
	size_t ranks = scenario->jobs[0].rank_count;
	d->size_B[i] = scenario->collective_size_B;
	d->bus_ratio[i] = collective_bus_ratio(scenario->collective, ranks);
	d->labels[i] = arena_printf(w->arena, "%s of %s on %zu GPUs",
				    collective_kind_at(scenario->collective)->name,
				    quantity_format(w->arena, QUANTITY_BYTES, d->size_B[i]), ranks);
	return scenario;
}

/* Reads all rows. Returns the scenario of the last one, whose job is the largest. */
static const struct scenario *read_rows(struct diagnosing *w, struct diag *diag)
{
	struct diagnosis *d = w->d;
	const struct scenario *scenario = NULL;
	const struct cfg_resolution **cases =
		ARENA_ARRAY(w->arena, d->count, const struct cfg_resolution *);
	for (size_t i = 0; i < d->count; i++) {
		scenario = read_row(w, diag, i);
		if (!scenario)
			return NULL;
		cases[i] = scenario->resolution;
	}
	FW_ASSERT(scenario); /* a dataset has rows */
	d->cases = cases;
	size_t ranks = scenario->jobs[0].rank_count, gpus = scenario->topology.gpu_count;
	if (d->measured == MEASURED_COLLECTIVE && ranks != gpus &&
	    !(scenario->params->gpus_per_machine_count > 0))
		return diag_null(diag, (struct origin){w->request->dataset->path, 0},
				 "the log has %zu ranks, but topology '%s' has %zu GPUs (write "
				 "--set case.gpus_per_machine=N if N GPUs of each machine were "
				 "used)",
				 ranks, scenario->topology.name, gpus);
	return scenario;
}

const struct diagnosis *diagnose(struct arena *arena, struct diag *diag,
				 const struct diagnose_request *request, struct sweep_fault *fault)
{
	struct diagnosis *d = ARENA_NEW(arena, struct diagnosis);
	struct diagnosing w = {.arena = arena, .request = request, .d = d};
	*fault = (struct sweep_fault){0};
	d->measured = request->measured;
	take_rows(&w);
	const struct scenario *scenario = read_rows(&w, diag);
	if (!scenario)
		return NULL;
	const struct known_noise *noise = noise_of(d, scenario);
	bool given = request->noise_ratio > 0;
	d->noise_ratio = given ? request->noise_ratio : noise->ratio;
	d->noise_why = given ? NULL : noise->why;
	if (d->measured & MEASURED_TRANSFER)
		predict_transfers(&w, scenario);
	else if (!predict_cases(&w, diag, scenario, fault))
		return NULL;
	for (size_t i = 0; i < d->count; i++) {
		d->suspects[0].time_s[i] = d->expected_s[i].value;
		if (isnan(d->expected_s[i].value))
			return diag_null(diag, (struct origin){request->dataset->path, 0},
					 "the topology cannot run '%s' (see farwire run)",
					 d->rows[i]->label);
	}
	factor(&w);
	judge_ranges(&w);
	judge_curve(&w);
	classify(&w);
	return d;
}
