/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts every row of a dataset and summarizes the errors. */
#include "sim/analysis/dataset.h"
#include "sim/analysis/sweep.h"
#include "sim/predict/draws.h"
#include "sim/predict/reproduce.h"

/* ---- errors ---- */

/* Selects the rows whose errors are summarized. */
struct selection {
	enum row_role role;
	const char *group; /* NULL: rows of all groups */
	enum predictor by; /* whose errors */
	bool pencil;       /* only rows that have formulas */
	bool added;        /* errors of the added time */
};

static double error_of(const struct row_outcome *row, const struct selection *selection)
{
	const struct dataset_row *r = row->row;
	if (r->role != selection->role ||
	    (selection->group && strcmp(selection->group, r->group) != 0))
		return NAN;
	if (selection->by == BY_LINEAR)
		return r->linear / r->measured - 1;
	if (selection->pencil)
		return (selection->added ? row->pencil.added_error
					 : row->pencil.error)[selection->by];
	return row->error;
}

/* Returns the interval score of a row, relative to the measured value: the width of the interval
 * plus 20 times the distance of the measured value from it. */
static double score_of(const struct row_outcome *row)
{
	const double alpha = 0.1;
	double x = row->row->measured, low = row->predicted.low, high = row->predicted.high;
	double missed = fmax(0, low - x) + fmax(0, x - high);
	return (high - low + 2 / alpha * missed) / x;
}

/* A summary under construction. Its arrays have room for all rows. */
struct summing {
	struct error_summary summary;
	double *errors, *half_widths;
	double logs, sum, covered, score, most;
	bool drawn; /* there are intervals */
};

static void add_row(struct summing *s, const struct row_outcome *row, double error)
{
	const struct estimate *p = &row->predicted;
	s->half_widths[s->summary.count] = (p->high - p->low) / 2 / p->value;
	s->errors[s->summary.count++] = fabs(error);
	s->sum += fabs(error);
	s->logs += fabs(log1p(error));
	s->drawn = s->drawn || row->prediction->draws_count > 0;
	s->covered += row->row->measured >= p->low && row->row->measured <= p->high;
	s->score += score_of(row);
	if (fabs(error) > s->most) {
		s->most = fabs(error);
		s->summary.worst = row->row->label;
	}
}

static struct error_summary summarize(struct arena *arena,
				      const struct dataset_outcome *const *outcomes, size_t count,
				      struct selection selection)
{
	size_t rows = 0;
	for (size_t i = 0; i < count; i++)
		rows += outcomes[i]->dataset->row_count;
	struct summing s = {.summary = {.median_abs = NAN,
					.mean_abs = NAN,
					.max_abs = NAN,
					.geomean_abs = NAN,
					.coverage = NAN,
					.median_half_width = NAN,
					.interval_score = NAN},
			    .errors = ARENA_ARRAY(arena, rows + 1, double),
			    .half_widths = ARENA_ARRAY(arena, rows + 1, double),
			    .most = -1};
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < outcomes[i]->dataset->row_count; k++) {
			double error = error_of(&outcomes[i]->rows[k], &selection);
			if (isfinite(error))
				add_row(&s, &outcomes[i]->rows[k], error);
		}
	if (s.summary.count == 0)
		return s.summary;
	double n = (double)s.summary.count;
	s.summary.median_abs = num_quantile(s.errors, s.summary.count, 0.5);
	s.summary.mean_abs = s.sum / n;
	s.summary.max_abs = s.most;
	s.summary.geomean_abs = expm1(s.logs / n);
	if (s.drawn && selection.by == BY_FARWIRE) {
		s.summary.coverage = s.covered / n;
		s.summary.median_half_width = num_quantile(s.half_widths, s.summary.count, 0.5);
		s.summary.interval_score = s.score / n;
	}
	return s.summary;
}

struct error_summary datasets_summary(struct arena *arena,
				      const struct dataset_outcome *const *outcomes, size_t count,
				      enum row_role role)
{
	return summarize(arena, outcomes, count, (struct selection){.role = role});
}

/* Summarizes test rows by group, in order of the groups' first rows. */
static void summarize_groups(struct arena *arena, struct dataset_outcome *outcome)
{
	const struct dataset_outcome *one = outcome;
	size_t count = outcome->dataset->row_count;
	outcome->groups = ARENA_ARRAY(arena, count + 1, struct group_summary);
	for (size_t i = 0; i < count; i++) {
		const struct dataset_row *row = outcome->rows[i].row;
		bool known = !row->group || row->role != ROLE_TEST;
		for (size_t k = 0; k < outcome->group_count && !known; k++)
			known = strcmp(outcome->groups[k].name, row->group) == 0;
		if (known)
			continue;
		struct group_summary *group = &outcome->groups[outcome->group_count++];
		group->name = row->group;
		group->test = summarize(arena, &one, 1,
					(struct selection){.role = ROLE_TEST, .group = row->group});
	}
}

/* Adds the errors of the formulas in the rows of a group and role, unless there are none or they
 * were added before. */
static void add_pencil(struct arena *arena, struct dataset_outcome *outcome, const char *group,
		       enum row_role role)
{
	const struct dataset_outcome *one = outcome;
	for (size_t i = 0; i < outcome->pencil_count; i++)
		if (outcome->pencils[i].role == role && group &&
		    strcmp(outcome->pencils[i].group, group) == 0)
			return;
	struct pencil_summary sum = {.group = group, .role = role};
	for (enum predictor by = 0; by < PREDICTOR_COUNT; by++) {
		struct selection selection = {role, group, by, true, false};
		sum.error[by] = summarize(arena, &one, 1, selection);
		selection.added = true;
		sum.added[by] = summarize(arena, &one, 1, selection);
	}
	if (sum.error[BY_PENCIL].count > 0)
		outcome->pencils[outcome->pencil_count++] = sum;
}

static void summarize_pencils(struct arena *arena, struct dataset_outcome *outcome)
{
	size_t count = outcome->dataset->row_count;
	if (!outcome->dataset->pencil.asked)
		return;
	outcome->pencils = ARENA_ARRAY(arena, count + 2, struct pencil_summary);
	for (size_t i = 0; i < count; i++) {
		const struct dataset_row *row = outcome->rows[i].row;
		if (row->group && row->role != ROLE_REPORT)
			add_pencil(arena, outcome, row->group, row->role);
	}
	add_pencil(arena, outcome, NULL, ROLE_FIT);
	add_pencil(arena, outcome, NULL, ROLE_TEST);
}

/* Returns true if two fitted parameters are the same number. Two profiles may have different
 * values for one parameter, which count as two numbers. */
static bool same_number(const struct cfg_param *a, const struct cfg_param *b)
{
	return strcmp(a->path, b->path) == 0 && a->value == b->value;
}

static const struct cfg_param **collect_fitted(struct arena *arena,
					       const struct dataset_outcome *outcome, size_t *count)
{
	VEC(const struct cfg_param *) fitted = {0};
	for (size_t i = 0; i < outcome->dataset->row_count; i++) {
		const struct cfg_resolution *resolution = outcome->rows[i].prediction->resolution;
		for (size_t k = 0; k < cfg_param_count(resolution); k++) {
			const struct cfg_param *param = cfg_param_at(resolution, k);
			bool known = strcmp(param->status, "fitted") != 0;
			for (size_t f = 0; f < fitted.count && !known; f++)
				known = same_number(fitted.items[f], param);
			if (!known)
				*VEC_PUSH(arena, &fitted) = param;
		}
	}
	*count = fitted.count;
	return fitted.items;
}

/* ---- the measured quantity of a row ---- */

struct case_request dataset_request(const struct dataset_row *row, const char *data_root)
{
	return (struct case_request){.path = row->case_path,
				     .settings = row->settings,
				     .setting_count = row->setting_count,
				     .data_root = data_root};
}

struct evidence dataset_evidence(struct arena *arena, const struct dataset_row *row,
				 const struct scenario *scenario)
{
	struct evidence evidence = evidence_of(arena, scenario);
	const char *slash = strrchr(row->origin.file, '/'),
		   *table = slash ? slash + 1 : row->origin.file;
	evidence.words[EVIDENCE_SYSTEM] = arena_printf(arena, "%.*s %s", (int)strcspn(table, "."),
						       table, evidence.words[EVIDENCE_GPU]);
	return evidence;
}

static void unknown_judge(struct diag *diag, const struct dataset_row *row, const char *first)
{
	diag_error(diag, row->origin,
		   "dataset: the case of row '%s' has no job or client '%s' (write judge = \"%s\")",
		   row->label, row->judge, first);
}

/* Sets *client to the job or client that the row judges; NULL: all together. Returns false after
 * an error if there is none of that name. */
static bool judged_client(struct diag *diag, const struct dataset_row *row,
			  const struct prediction *prediction, const struct job_prediction **client)
{
	*client = NULL;
	if (!row->judge || prediction->job_count < 2)
		return true;
	for (size_t i = 0; i < prediction->job_count; i++)
		if (strcmp(prediction->jobs[i].name, row->judge) == 0) {
			*client = &prediction->jobs[i];
			return true;
		}
	unknown_judge(diag, row, prediction->jobs[0].name);
	return false;
}

static const double TERA = 1e12;

/* Where results have a measure's estimate; 0: they have none. rate: the number that is proportional
 * to a throughput in tokens. */
static const struct evaluation_place {
	size_t of_prediction, of_job;
	enum token_rate rate;
} places[MEASURE_COUNT] = {
#define P(member) offsetof(struct prediction, member)
#define J(member) offsetof(struct job_prediction, member)
	[MEASURE_THROUGHPUT] = {P(throughput), J(throughput), 0},
	[MEASURE_RATIO] = {P(ratio), J(ratio), 0},
	[MEASURE_SPEEDUP] = {P(speedup), 0, 0},
	[MEASURE_TIME] = {P(step_s), J(step_s), 0},
	[MEASURE_ELAPSED] = {P(elapsed_s), J(elapsed_s), 0},
	[MEASURE_TOKENS] = {P(token_throughput), 0, RATE_TOKENS},
	[MEASURE_TOKENS_GPU] = {P(gpu_token_throughput), 0, RATE_TOKENS_GPU},
	[MEASURE_TFLOPS_GPU] = {P(model_flops), 0, RATE_MODEL_FLOPS},
	[MEASURE_MFU] = {P(mfu), 0, RATE_MFU},
	[MEASURE_HFU] = {P(hfu), 0, RATE_HFU},
#define SERVED(name, text, words, member, answer) [MEASURE_##name] = {P(member), 0, 0},
#include "sim/analysis/serving_measures.def"
#undef SERVED
#undef P
#undef J
};

static struct estimate in_tera(struct estimate rate)
{
	return (struct estimate){rate.value / TERA, rate.low / TERA, rate.high / TERA};
}

static struct estimate measured_by(const struct dataset_row *row, const struct prediction *p,
				   const struct job_prediction *client,
				   const struct prediction *reference)
{
	if (row->measure == MEASURE_GAIN)
		return p->ok && reference->ok ? draws_quotient(p, reference).estimate
					      : ESTIMATE_NONE;
	const struct evaluation_place *place = &places[row->measure];
	const char *record = client ? (const void *)client : (const void *)p;
	size_t offset = client ? place->of_job : place->of_prediction;
	if (offset == 0)
		return ESTIMATE_NONE;
	struct estimate found = *(const struct estimate *)(const void *)(record + offset);
	return row->measure == MEASURE_TFLOPS_GPU ? in_tera(found) : found;
}

static bool judge_row(struct diag *diag, const struct dataset_row *row,
		      const struct prediction *prediction, const struct prediction *reference,
		      struct row_outcome *outcome)
{
	const struct job_prediction *client;
	*outcome = (struct row_outcome){
		.row = row, .prediction = prediction, .reference = reference, .error = NAN};
	if (!judged_client(diag, row, prediction, &client))
		return false;
	outcome->predicted = measured_by(row, prediction, client, reference);
	outcome->step_s = client ? client->step_s.value : prediction->step_s.value;
	if (row->failure)
		outcome->agrees = !prediction->ok;
	else if (prediction->ok)
		outcome->error = outcome->predicted.value / row->measured - 1;
	return true;
}

/* ---- one point, for fits ---- */

/* Returns the row's number at a point, before it is divided by that of its reference. */
static double point_value(struct diag *diag, const struct dataset_row *row,
			  const struct scenario *scenario, const struct point *point)
{
	const char *judge = point->job_count > 1 ? row->judge : NULL;
	size_t judged = SIZE_MAX;
	for (size_t i = 0; judge && i < point->job_count; i++)
		if (strcmp(scenario->jobs[i].name, judge) == 0)
			judged = i;
	if (judge && judged == SIZE_MAX) {
		unknown_judge(diag, row, scenario->jobs[0].name);
		return NAN;
	}
	const struct job_point *job = judged < SIZE_MAX ? &point->jobs[judged] : NULL;
	double ratio = job ? job->ratio : point->ratio;
	switch (row->measure) {
	case MEASURE_RATIO:
		return ratio;
	case MEASURE_SPEEDUP:
		return ratio * (double)scenario->jobs[job ? judged : 0].rank_count;
	case MEASURE_TIME:
		return job ? job->step_s : point->step_s;
	case MEASURE_ELAPSED:
		return job ? job->elapsed_s : point->elapsed_s;
	case MEASURE_TOKENS:
		if (scenario->style == JOBS_SERVING)
			return point->serving.tokens_per_s;
		/* fall through */
	case MEASURE_TOKENS_GPU:
	case MEASURE_MFU:
	case MEASURE_HFU:
		return point->throughput * scenario_token_rate(scenario, places[row->measure].rate);
	case MEASURE_TFLOPS_GPU:
		return point->throughput * scenario_token_rate(scenario, RATE_MODEL_FLOPS) / TERA;
#define SERVED(name, text, words, member, answer)                                                  \
	case MEASURE_##name:                                                                       \
		return point->serving.answer;
#include "sim/analysis/serving_measures.def"
#undef SERVED
	default:
		return job ? job->throughput : point->throughput;
	}
}

static double point_of(struct arena *arena, struct diag *diag, const struct dataset_row *row,
		       const struct case_request *request, uint64_t seed,
		       struct baselines *baselines, const char **broken)
{
	const struct scenario *scenario = case_read(arena, diag, request);
	if (!scenario)
		return NAN;
	bool baseline = row->measure == MEASURE_RATIO || row->measure == MEASURE_SPEEDUP;
	struct point point = predict_point(arena, scenario, seed, baseline, baselines, NULL);
	if (point.broken && !*broken)
		*broken = reproducible(arena, request, scenario, seed, point.broken);
	return point.broken || point.failed ? NAN : point_value(diag, row, scenario, &point);
}

double dataset_point(struct arena *arena, struct diag *diag, const struct dataset_row *row,
		     const char *data_root, const struct draw_value *draws, size_t draw_count,
		     uint64_t seed, struct baselines *baselines, const char **broken)
{
	struct case_request request = dataset_request(row, data_root);
	request.draws = draws;
	request.draw_count = draw_count;
	double value = point_of(arena, diag, row, &request, seed, baselines, broken);
	if ((row->measure != MEASURE_GAIN && !row->relative) || !isfinite(value))
		return value;
	if (row->relative)
		request.path = row->reference_path;
	request.settings = row->reference;
	request.setting_count = row->reference_count;
	return value / point_of(arena, diag, row, &request, seed, baselines, broken);
}

/* ---- all rows ---- */

bool dataset_predict_row(struct arena *arena, struct diag *diag, const struct dataset_row *row,
			 const char *data_root, const char *without,
			 const struct predict_options *options, const char **broken,
			 struct row_outcome *outcome)
{
	struct case_request request = dataset_request(row, data_root);
	request.without = without;
	const struct prediction *prediction = predict_case(arena, diag, &request, options, broken);
	const struct prediction *reference = NULL;
	if (prediction && row->measure == MEASURE_GAIN) {
		request.settings = row->reference;
		request.setting_count = row->reference_count;
		reference = predict_case(arena, diag, &request, options, broken);
		prediction = reference ? prediction : NULL;
	}
	return prediction && judge_row(diag, row, prediction, reference, outcome);
}

/* Returns true if both rows are numbers of the same case. */
static bool same_case(const struct dataset_row *a, const struct dataset_row *b)
{
	bool same = a->setting_count == b->setting_count && a->measure != MEASURE_GAIN &&
		    b->measure != MEASURE_GAIN &&
		    strcmp(a->case_path ? a->case_path : "", b->case_path ? b->case_path : "") == 0;
	for (size_t i = 0; same && i < a->setting_count; i++)
		same = strcmp(a->settings[i].text, b->settings[i].text) == 0;
	return same;
}

/* Sets the prediction's parameters, which are not in the points of a sweep. */
static const struct prediction *with_parameters(struct arena *arena, struct diag *diag,
						const struct prediction *point,
						const struct case_request *request)
{
	struct arena *scratch = arena_new();
	struct prediction *prediction = ARENA_NEW(arena, struct prediction);
	const struct scenario *scenario = case_read(scratch, diag, request);
	*prediction = *point;
	if (scenario)
		prediction->resolution = cfg_resolution_copy(arena, scenario->resolution);
	arena_free(scratch);
	return scenario ? prediction : NULL;
}

/* Predicts the cases of all rows as the points of a sweep, so that threads and other ranks share
 * them and a journal keeps them. Returns false after an error. */
static bool predict_rows(struct arena *arena, struct diag *diag, const struct dataset *dataset,
			 const struct dataset_row *rows, const struct validation_input *input,
			 const char **broken, struct row_outcome *outcomes)
{
	size_t count = dataset->row_count, cases = 0;
	struct case_request *requests = ARENA_ARRAY(arena, 2 * count + 1, struct case_request);
	size_t *own = ARENA_ARRAY(arena, count + 1, size_t); /* by row: its case */
	for (size_t i = 0; i < count; i++) {
		own[i] = cases;
		if (i > 0 && same_case(&rows[i], &rows[i - 1]))
			own[i] = own[i - 1];
		else
			requests[cases++] = dataset_request(&rows[i], input->data_root);
		if (rows[i].measure != MEASURE_GAIN)
			continue;
		requests[cases] = requests[own[i]];
		requests[cases].settings = rows[i].reference;
		requests[cases++].setting_count = rows[i].reference_count;
	}
	const struct sweep_list list = {.requests = requests, .point_count = cases};
	struct sweep_request request = {
		.input = {.options = input->options}, .list = &list, .journal = input->journal};
	struct sweep_fault fault = {0};
	request.input.watch = input->options.watch;
	request.input.options.watch = (struct watch){0};
	const struct sweep *sweep = count > 0 ? sweep_run(arena, diag, &request, &fault)
					      : ARENA_NEW(arena, struct sweep);
	*broken = fault.broken;
	for (size_t i = 0; sweep && i < count; i++) {
		const struct prediction *prediction =
			i > 0 && own[i] == own[i - 1]
				? outcomes[i - 1].prediction
				: with_parameters(arena, diag, sweep->points[own[i]],
						  &requests[own[i]]);
		const struct prediction *reference =
			rows[i].measure == MEASURE_GAIN ? sweep->points[own[i] + 1] : NULL;
		if (!prediction || !judge_row(diag, &rows[i], prediction, reference, &outcomes[i]))
			return false;
	}
	return sweep;
}

static void sum_up(struct arena *arena, struct dataset_outcome *outcome, const char *data_root,
		   const struct predict_options *options)
{
	const struct dataset_outcome *one = outcome;
	const struct dataset *dataset = outcome->dataset;
	for (size_t i = 0; i < dataset->row_count; i++) {
		const struct dataset_row *row = &dataset->rows[i];
		outcome->fit_row_count += row->role == ROLE_FIT;
		/* a measured row that is predicted to fail has no error, but counts as a verdict */
		outcome->verdict_count += row->failure || (isfinite(row->measured) &&
							   !outcome->rows[i].prediction->ok);
		outcome->verdict_agree_count += row->failure && outcome->rows[i].agrees;
	}
	outcome->fit = summarize(arena, &one, 1, (struct selection){.role = ROLE_FIT});
	outcome->test = summarize(arena, &one, 1, (struct selection){.role = ROLE_TEST});
	outcome->linear =
		summarize(arena, &one, 1, (struct selection){.role = ROLE_TEST, .by = BY_LINEAR});
	summarize_groups(arena, outcome);
	for (size_t i = 0; i < dataset->row_count; i++)
		pencil_row(&dataset->pencil, data_root, options->seed, &outcome->rows[i]);
	summarize_pencils(arena, outcome);
	outcome->fitted = collect_fitted(arena, outcome, &outcome->fitted_count);
	claims_judge(arena, dataset, outcome->rows, outcome->claims);
	for (size_t i = 0; i < dataset->claim_count; i++)
		outcome->bounds_hold = outcome->bounds_hold && outcome->claims[i].holds;
}

const struct dataset_outcome *dataset_evaluate(struct arena *arena, struct diag *diag,
					       const struct dataset *dataset,
					       const struct validation_input *input,
					       const char **broken)
{
	struct dataset_outcome *outcome = ARENA_NEW(arena, struct dataset_outcome);
	outcome->dataset = dataset;
	outcome->rows = ARENA_ARRAY(arena, dataset->row_count + 1, struct row_outcome);
	outcome->beside = ARENA_ARRAY(arena, dataset->beside_count + 1, struct row_outcome *);
	outcome->claims = ARENA_ARRAY(arena, dataset->claim_count + 1, struct claim_outcome);
	outcome->draws_count = input->options.draws_count;
	outcome->bounds_hold = true;
	if (!predict_rows(arena, diag, dataset, dataset->rows, input, broken, outcome->rows))
		return NULL;
	struct validation_input points = *input;
	points.options.draws_count = 0; /* without intervals, because these rows are not judged */
	points.journal = NULL;
	for (size_t i = 0; i < dataset->beside_count; i++) {
		outcome->beside[i] = ARENA_ARRAY(arena, dataset->row_count + 1, struct row_outcome);
		if (!predict_rows(arena, diag, dataset, dataset->beside[i].rows, &points, broken,
				  outcome->beside[i]))
			return NULL;
	}
	sum_up(arena, outcome, input->data_root, &input->options);
	return outcome;
}

const struct dataset_outcome *dataset_validate(struct arena *arena, struct diag *diag,
					       const struct validation_request *request,
					       const char **broken)
{
	struct validation_input input = request->input;
	const struct dataset *dataset = dataset_read(arena, diag, input.data_root, request->name,
						     request->settings, request->setting_count);
	*broken = NULL;
	if (!dataset)
		return NULL;
	if (dataset->draws < input.options.draws_count && !request->draws_given)
		input.options.draws_count = dataset->draws;
	return dataset_evaluate(arena, diag, dataset, &input, broken);
}
