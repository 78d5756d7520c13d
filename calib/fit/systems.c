/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/systems.h"
#include "calib/fit/errors.h"
#include "sim/predict/baselines.h"

/* Most rows of a role that are predicted of a system, at even distances, and draws of each. They
 * bound the time of all systems. */
enum { ROWS_MAX = 10, DRAWS = 8 };
/* Step 4: the weight of the prior, in systems. */
enum { PRIOR_SYSTEMS = 3 };
/* Step 2: errors count up to that multiple of their median. */
static const double LARGEST = 2;
static const double LEAST = 1e-3;

struct planned_row {
	const struct dataset_row *row;
	const char *system;
	unsigned class;
	bool named;
	size_t turn; /* number of earlier rows of its system, role and class */
};

struct leaving {
	struct arena *arena;
	struct diag *diag;
	const char *data_root;
	const struct left_out_tests *tests;
	bool named; /* tests has the current dataset */
	uint64_t seed;
	unsigned jobs;
	const char **broken;
	VEC(const char *) systems;
	VEC(struct planned_row) rows;
	VEC(struct left_out_row) done;
	struct baselines *baselines;
};

/* ---- rows and their systems ---- */

static const char *system_of(struct leaving *l, const char *name)
{
	for (size_t i = 0; i < l->systems.count; i++)
		if (strcmp(l->systems.items[i], name) == 0)
			return l->systems.items[i];
	return *VEC_PUSH(l->arena, &l->systems) = arena_strdup(l->arena, name);
}

/* Several datasets may have the same row of a table. */
static bool is_known(struct leaving *l, const struct dataset_row *row)
{
	for (size_t i = 0; i < l->rows.count; i++) {
		const struct dataset_row *other = l->rows.items[i].row;
		if (strcmp(other->origin.file, row->origin.file) == 0 &&
		    other->origin.line == row->origin.line && other->measured == row->measured) {
			l->rows.items[i].named |= l->named;
			return true;
		}
	}
	return false;
}

static bool is_alike(const struct planned_row *a, const struct planned_row *b)
{
	return a->system == b->system && a->row->role == b->row->role && a->class == b->class;
}

static unsigned class_of(const struct scenario *scenario)
{
	return scenario->style == JOBS_SERVING ? CASE_SERVING : scenario_kind(scenario);
}

static bool has_parts(unsigned class)
{
	return class < CASE_KIND_COUNT && case_kind_has_parts(class);
}

static void add_row(struct leaving *l, const struct dataset_row *row)
{
	bool wanted = row->role == ROLE_FIT || (row->role == ROLE_TEST && l->tests);
	if (!wanted || !isfinite(row->measured) || is_known(l, row))
		return;
	struct arena *scratch = arena_new();
	const struct case_request request = dataset_request(row, l->data_root);
	const struct scenario *scenario = case_read(scratch, l->diag, &request);
	if (scenario) {
		const struct evidence evidence = dataset_evidence(scratch, row, scenario);
		struct planned_row added = {.row = row,
					    .system = system_of(l, evidence.words[EVIDENCE_SYSTEM]),
					    .class = class_of(scenario),
					    .named = l->named};
		for (size_t i = 0; i < l->rows.count; i++)
			added.turn += is_alike(&l->rows.items[i], &added);
		*VEC_PUSH(l->arena, &l->rows) = added;
	}
	arena_free(scratch);
}

static bool has_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool systems_include(struct diag *diag, const struct dataset *dataset, const char *data_root)
{
	if (!dataset->slow || dataset->row_count == 0)
		return !dataset->slow;
	struct arena *scratch = arena_new();
	const struct case_request request = dataset_request(dataset->rows, data_root);
	const struct scenario *scenario = case_read(scratch, diag, &request);
	bool serves = scenario && scenario->style == JOBS_SERVING;
	arena_free(scratch);
	return serves;
}

static void add_datasets(struct leaving *l)
{
	const struct left_out_tests *tests = l->tests;
	const char *const *names;
	size_t count = data_names(l->arena, l->data_root, "calib/measured", &names);
	for (size_t i = 0; i < count; i++) {
		const struct dataset *dataset =
			dataset_read(l->arena, l->diag, l->data_root, names[i], NULL, 0);
		l->named = tests &&
			   (tests->count == 0 || has_name(tests->names, tests->count, names[i]));
		bool used = dataset && systems_include(l->diag, dataset, l->data_root);
		for (size_t k = 0; used && k < dataset->row_count; k++)
			add_row(l, &dataset->rows[k]);
	}
	for (size_t i = 0; tests && i < tests->count; i++)
		if (!has_name(names, count, tests->names[i])) /* which is an error in diag */
			dataset_read(l->arena, l->diag, l->data_root, tests->names[i], NULL, 0);
}

/* Returns true for at most ROWS_MAX rows of a system, role and class, at even distances. */
static bool is_chosen(const struct leaving *l, const struct planned_row *row)
{
	size_t count = 1; /* the row itself */
	for (size_t i = 0; i < l->rows.count; i++)
		count += &l->rows.items[i] != row && is_alike(&l->rows.items[i], row);
	size_t wanted = count < ROWS_MAX ? count : ROWS_MAX;
	return (row->turn + 1) * wanted / count > row->turn * wanted / count;
}

/* ---- predictions ---- */

static void predict_row(struct leaving *l, const struct planned_row *planned, bool one_gpu_known)
{
	struct arena *scratch = arena_new();
	const struct dataset_row *row = planned->row;
	struct case_request request = dataset_request(row, l->data_root);
	request.without = one_gpu_known
				  ? arena_printf(scratch, "%s" EVIDENCE_BEYOND, planned->system)
				  : planned->system;
	const struct predict_options options = {
		.seed = l->seed, .draws_count = DRAWS, .jobs = l->jobs, .baselines = l->baselines};
	const struct scenario *scenario = case_read(scratch, l->diag, &request);
	struct row_outcome outcome;
	if (scenario &&
	    dataset_predict_row(scratch, l->diag, row, l->data_root, request.without, &options,
				l->broken, &outcome) &&
	    isfinite(outcome.error)) {
		const struct estimate p = outcome.predicted;
		/* the ends are the smallest and the largest of the draws; a draw may fail */
		struct error_part *parts = outcome.prediction->errors;
		if (scenario->style == JOBS_SERVING)
			fit_serving_parts(scratch, l->diag, row, l->data_root, l->seed, parts);
		double width = p.low > 0 ? log(p.high / p.low) : 2 * log(p.high / p.value);
		struct left_out_row *done = VEC_PUSH(l->arena, &l->done);
		*done = (struct left_out_row){
			.row = row,
			.system = planned->system,
			.class = planned->class,
			.one_gpu_known = one_gpu_known,
			.named = planned->named,
			.measured = row->measured,
			.predicted = p.value,
			.spread_ratio = width / (2 * num_normal_quantile(1 - 0.5 / DRAWS))};
		done->error = fit_error_row(row, p.value, parts);
		memcpy(done->distances, scenario->distances, sizeof done->distances);
	}
	arena_free(scratch);
}

static void predict_system(struct leaving *l, const char *system)
{
	for (size_t i = 0; i < l->rows.count && !*l->broken && diag_count(l->diag) == 0; i++) {
		const struct planned_row *row = &l->rows.items[i];
		if (row->system != system || !is_chosen(l, row) ||
		    (row->row->role == ROLE_TEST && !row->named))
			continue;
		bool parts = has_parts(row->class);
		if (!parts || l->tests)
			predict_row(l, row, false);
		if (parts && row->row->role == ROLE_FIT)
			predict_row(l, row, true);
	}
}

const struct left_out *systems_leave_out(struct arena *arena, struct diag *diag,
					 const char *data_root, const struct left_out_tests *tests,
					 uint64_t seed, unsigned jobs, const char **broken)
{
	struct leaving l = {.arena = arena,
			    .diag = diag,
			    .data_root = data_root,
			    .tests = tests,
			    .seed = seed,
			    .jobs = jobs,
			    .broken = broken};
	*broken = NULL;
	add_datasets(&l);
	for (size_t i = 0; i < l.systems.count; i++) {
		l.baselines = baselines_new();
		predict_system(&l, l.systems.items[i]);
		baselines_free(l.baselines);
	}
	if (diag_count(diag) || *broken)
		return NULL;
	struct left_out *left = ARENA_NEW(arena, struct left_out);
	*left = (struct left_out){l.done.items, l.done.count};
	return left;
}

/* ---- the estimate ---- */

static double error_of(const struct left_out_row *row)
{
	return log(row->predicted / row->measured);
}

static bool is_used(const struct left_out_row *row, const char *without, enum distance distance)
{
	return row->row->role == ROLE_FIT && row->system != without &&
	       row->one_gpu_known == has_parts(row->class) && row->distances[PART_OWN] == distance;
}

/* Adds the rows of the system that begins at `first` (steps 1 and 2). */
static size_t add_system(struct arena *arena, const struct left_out *left, size_t first,
			 const char *without, enum distance distance, struct model_error one_gpu,
			 struct error_row *added)
{
	double *errors = ARENA_ARRAY(arena, left->count, double);
	size_t count = 0;
	for (size_t i = first; i < left->count && left->rows[i].system == left->rows[first].system;
	     i++) {
		const struct left_out_row *row = &left->rows[i];
		if (!is_used(row, without, distance))
			continue;
		struct error_row *error = &added[count];
		*error = row->error;
		error->known_variance = pow(row->spread_ratio, 2);
		if (row->one_gpu_known) {
			double share = error->shares[MECHANISM_LOCAL];
			error->known_variance += pow(share * one_gpu.ratio, 2);
			error->shares[MECHANISM_LOCAL] = 0;
		}
		errors[count++] = sqrt(error->square);
	}
	double largest = count ? pow(LARGEST * num_quantile(errors, count, 0.5), 2) : 0;
	for (size_t i = 0; i < count; i++) {
		added[i].square = fmin(added[i].square, largest);
		added[i].weight = 1 / (double)count;
	}
	return count;
}

/* Finds the factor of all errors but those of forwarding for which their rows have the expected
 * squares (step 3). */
static double growth_of(const struct error_row *rows, size_t count,
			const struct model_error same[MECHANISM_COUNT], double before)
{
	const int steps = 40;
	const double most = 100;
	double low = log(before), high = log(most);
	for (int k = 0; k < steps; k++) {
		double growth = exp((low + high) / 2);
		double excess = pow(before / growth, 2) - 1;
		for (size_t i = 0; i < count; i++) {
			const struct error_row *row = &rows[i];
			double own = components_variance(row, same);
			if (own > 0 && row->shares[MECHANISM_FORWARDED] == 0)
				excess += row->weight * (row->square / (row->known_variance +
									pow(growth, 2) * own) -
							 1);
		}
		if (excess > 0)
			low = log(growth);
		else
			high = log(growth);
	}
	return exp((low + high) / 2);
}

void systems_errors(const struct left_out *left, const char *without,
		    const struct model_error same[MECHANISM_COUNT], struct distance_errors *errors)
{
	struct arena *scratch = arena_new();
	struct error_row *rows = ARENA_ARRAY(scratch, left->count + 1, struct error_row);
	for (size_t m = 0; m < MECHANISM_COUNT; m++)
		errors->of[m][DISTANCE_SAME_SYSTEM] = (struct distance_error){.error = same[m]};
	errors->growth[DISTANCE_SAME_SYSTEM] = 1;
	for (enum distance d = DISTANCE_SAME_KIND; d < DISTANCE_COUNT; d++) {
		size_t count = 0;
		for (size_t i = 0; i < left->count; i++)
			if (i == 0 || left->rows[i].system != left->rows[i - 1].system)
				count += add_system(scratch, left, i, without, d,
						    same[MECHANISM_LOCAL], &rows[count]);
		struct model_error priors[MECHANISM_COUNT], found[MECHANISM_COUNT];
		errors->growth[d] = growth_of(rows, count, same, errors->growth[d - 1]);
		for (size_t m = 0; m < MECHANISM_COUNT; m++)
			priors[m] = (struct model_error){same[m].ratio * errors->growth[d],
							 PRIOR_SYSTEMS};
		components_estimate(rows, count, priors, found);
		for (size_t m = 0; m < MECHANISM_COUNT; m++) {
			struct distance_error *e = &errors->of[m][d];
			*e = (struct distance_error){.error = found[m]};
			e->error.ratio = fmax(found[m].ratio, errors->of[m][d - 1].error.ratio);
			double systems = 0;
			for (size_t i = 0; i < count; i++) {
				e->row_count += rows[i].shares[m] > 0;
				systems += rows[i].shares[m] > 0 ? rows[i].weight : 0;
			}
			e->system_count = (size_t)ceil(systems - LEAST);
		}
	}
	arena_free(scratch);
}

/* ---- how honest it is ---- */

/* Ends of the row's 90 % interval, as logarithms of a longer and of a shorter time. */
struct ends {
	double slower, faster;
};

/* As in draws.h, the error of an added part is a factor of that part only. */
static struct ends ends_of(const struct left_out_row *row, const struct distance_errors *errors)
{
	struct model_error error = {row->spread_ratio, 0};
	double share = 0, added = 0;
	for (size_t m = 0; m < MECHANISM_COUNT; m++) {
		bool one_gpu = m == MECHANISM_LOCAL && has_parts(row->class);
		enum distance d = row->distances[one_gpu ? PART_ONE_GPU : PART_OWN];
		struct model_error own = errors->of[m][d].error;
		if ((m == MECHANISM_FORWARDED || m == MECHANISM_EXPOSED ||
		     m == MECHANISM_MESSAGE) &&
		    row->error.shares[m] > 0) {
			share = fmin(row->error.shares[m], 1);
			added = own.ratio;
		}
		own.ratio *= row->error.shares[m];
		error = model_error_sum(error, own);
	}
	double deviations = num_student_quantile(0.95, error.freedom_count);
	double main = deviations * sqrt(fmax(0, pow(error.ratio, 2) - pow(share * added, 2)));
	return (struct ends){hypot(main, log1p(share * expm1(deviations * added))),
			     hypot(main, log1p(share * expm1(-deviations * added)))};
}

/* Returns by how much the measured time is longer than predicted, as a logarithm. */
static double longer_by(const struct left_out_row *row)
{
	return measure_is_time(row->row->measure) ? -error_of(row) : error_of(row);
}

static double end_of(const struct left_out_row *row, struct ends ends)
{
	return longer_by(row) > 0 ? ends.slower : ends.faster;
}

static bool is_judged(const struct left_out_row *row, const char *system, enum row_role role)
{
	return !row->one_gpu_known && row->row->role == role && (!system || row->system == system);
}

/* Returns the half-width that covers 90 % of the other systems' fit rows. */
static double constant_width(struct arena *arena, const struct left_out *left, const char *without)
{
	double *errors = ARENA_ARRAY(arena, left->count + 1, double);
	size_t count = 0;
	for (size_t i = 0; i < left->count; i++)
		if (is_judged(&left->rows[i], NULL, ROLE_FIT) && left->rows[i].system != without &&
		    left->rows[i].class != CASE_SERVING)
			errors[count++] = fabs(error_of(&left->rows[i]));
	return count ? num_quantile(errors, count, 0.9) : 0;
}

/* Returns the interval score of the logarithm (Gneiting and Raftery 2007). */
static double score_of(const struct left_out_row *row, struct ends ends)
{
	const double alpha = 0.1;
	return ends.slower + ends.faster +
	       2 / alpha * fmax(0, fabs(error_of(row)) - end_of(row, ends));
}

struct widths { /* by row */
	struct ends *own;
	double *constant;
};

static struct left_out_summary summarize(struct arena *arena, const struct left_out *left,
					 const struct widths *widths, const char *system,
					 unsigned class, enum row_role role)
{
	struct left_out_summary s = {.system = system, .class = class, .role = role};
	double *halves = ARENA_ARRAY(arena, left->count + 1, double);
	for (size_t i = 0; i < left->count; i++) {
		const struct left_out_row *row = &left->rows[i];
		bool in_all = system || row->class != CASE_SERVING;
		if (!is_judged(row, system, role) ||
		    (class == ROW_CLASS_ALL ? !in_all : row->class != class))
			continue;
		struct ends own = widths->own[i];
		struct ends constant = {widths->constant[i], widths->constant[i]};
		bool time = measure_is_time(row->row->measure);
		s.named |= row->named;
		halves[s.count++] = (exp(time ? own.slower : own.faster) -
				     exp(time ? -own.faster : -own.slower)) /
				    2;
		s.coverage += fabs(error_of(row)) <= end_of(row, own);
		s.geomean_abs += fabs(error_of(row));
		s.score += score_of(row, own);
		s.constant_score += score_of(row, constant);
	}
	double n = (double)s.count;
	s.coverage /= n;
	s.geomean_abs = expm1(s.geomean_abs / n);
	s.score /= n;
	s.constant_score /= n;
	s.median_half_width = s.count ? num_quantile(halves, s.count, 0.5) : NAN;
	return s;
}

struct left_out_summary *systems_summaries(struct arena *arena, const struct left_out *left,
					   const struct model_error same[MECHANISM_COUNT],
					   size_t *count)
{
	const struct widths widths = {ARENA_ARRAY(arena, left->count + 1, struct ends),
				      ARENA_ARRAY(arena, left->count + 1, double)};
	struct left_out_summary *list = ARENA_ARRAY(arena, 2 * (left->count + ROW_CLASS_COUNT) + 1,
						    struct left_out_summary);
	struct distance_errors errors;
	*count = 0;
	for (size_t i = 0; i < left->count; i++) {
		const char *system = left->rows[i].system;
		bool first = i == 0 || system != left->rows[i - 1].system;
		if (first)
			systems_errors(left, system, same, &errors);
		widths.own[i] = ends_of(&left->rows[i], &errors);
		widths.constant[i] =
			first ? constant_width(arena, left, system) : widths.constant[i - 1];
	}
	const enum row_role roles[] = {ROLE_FIT, ROLE_TEST};
	for (size_t i = 0; i < left->count; i++)
		for (size_t r = 0; r < 2; r++) {
			const char *system = left->rows[i].system;
			if (i > 0 && system == left->rows[i - 1].system)
				continue;
			list[*count] =
				summarize(arena, left, &widths, system, ROW_CLASS_ALL, roles[r]);
			*count += list[*count].count > 0;
		}
	for (unsigned class = 0; class < ROW_CLASS_COUNT; class ++)
		for (size_t r = 0; r < 2; r++) {
			list[*count] = summarize(arena, left, &widths, NULL, class, roles[r]);
			*count += list[*count].count > 0;
		}
	return list;
}
