/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/errors.h"

/* Steps 2 and 4 of the rule. */
static const double SPARE_LEAST = 0.02, COMMON_ROWS = 3;
/* Step 3. */
static const double LARGEST = 2, RUN_TO_RUN_RATIO = 0.005;

struct measurement {
	const char *table; /* name of the file that contains the row */
	double measured;
	enum case_kind kind;
	struct error_row sum; /* sums over its rows */
	size_t row_count;
	double leverage;
};

struct collecting {
	struct arena *arena;
	struct diag *diag;
	const char *data_root;
	uint64_t seed;
	const char **broken;
	VEC(struct measurement) all;
	struct evidences *evidence;
};

static struct measurement *measurement_of(struct collecting *c, const struct dataset_row *row,
					  enum case_kind kind)
{
	for (size_t i = 0; i < c->all.count; i++) {
		struct measurement *m = &c->all.items[i];
		if (m->kind == kind && m->measured == row->measured &&
		    strcmp(m->table, row->origin.file) == 0)
			return m;
	}
	struct measurement *added = VEC_PUSH(c->arena, &c->all);
	*added = (struct measurement){
		.table = row->origin.file, .measured = row->measured, .kind = kind};
	return added;
}

static void take_errors(struct collecting *c, const struct diag *diag)
{
	for (size_t i = 0; i < diag_count(diag) && i < DIAG_KEPT; i++)
		diag_error(c->diag, (struct origin){0}, "%s", diag_at(diag, i));
}

static bool kind_of(struct collecting *c, const struct dataset_row *row, enum case_kind *kind)
{
	struct arena *scratch = arena_new();
	struct diag *diag = diag_new(scratch);
	const struct case_request request = dataset_request(row, c->data_root);
	const struct scenario *scenario = case_read(scratch, diag, &request);
	if (scenario)
		*kind = scenario_kind(scenario);
	take_errors(c, diag);
	arena_free(scratch);
	return scenario != NULL;
}

/* Returns ln(measured / predicted) of a part of the row's time, which is the share of the predicted
 * time and the only wrong part. If the measured time is shorter than predicted, this is the
 * logarithm of the whole time divided by the share, because the part may then be below 0. */
static double error_of_share(const struct dataset_row *row, double predicted, double share)
{
	double longer = measure_is_time(row->measure) ? row->measured / predicted
						      : predicted / row->measured;
	return share < 1 && longer > 1 ? log1p((longer - 1) / share) : log(longer) / share;
}

struct error_row fit_error_row(const struct dataset_row *row, double predicted,
			       const struct error_part parts[CASE_PART_COUNT])
{
	struct error_row error = {.weight = 1};
	bool ratio = row->measure == MEASURE_RATIO || row->measure == MEASURE_SPEEDUP;
	double whole = 1; /* share of the time on which the error acts, as it is linearised */
	for (enum mechanism m = 0; m < MECHANISM_COUNT; m++)
		for (enum case_part i = 0; i < CASE_PART_COUNT; i++)
			if (strcmp(parts[i].mechanism, mechanism_path(m)) == 0 &&
			    !(ratio && m == MECHANISM_LOCAL))
				error.shares[m] = parts[i].share;
	if (error.shares[MECHANISM_FORWARDED] > 0)
		whole = fmin(error.shares[MECHANISM_FORWARDED], 1);
	error.square = pow(whole * error_of_share(row, predicted, whole), 2);
	return error;
}

void fit_serving_parts(struct arena *arena, struct diag *diag, const struct dataset_row *row,
		       const char *data_root, uint64_t seed,
		       struct error_part parts[CASE_PART_COUNT])
{
	static const struct {
		enum mechanism mechanism;
		const char *path;
	} factors[] = {{MECHANISM_TOKEN, "serve.token_time"},
		       {MECHANISM_PROMPT, "serve.prompt_time"}};
	const double step = 1.1;
	parts[PART_ADDED] = (struct error_part){.mechanism = ""};
	for (size_t i = 0; i < 2; i++) {
		double number[2];
		for (size_t up = 0; up < 2; up++) {
			const char *broken;
			const struct draw_value draw = {factors[i].path, up ? step : 1 / step};
			number[up] = dataset_point(arena, diag, row, data_root, &draw, 1, seed,
						   NULL, &broken);
		}
		double slope = log(number[1] / number[0]) / (2 * log(step));
		parts[i] = (struct error_part){.mechanism = mechanism_path(factors[i].mechanism),
					       .share = isfinite(slope) ? fabs(slope) : 1};
	}
}

/* No fit has rows of model servers, but they set errors, so that others can be near to them. */
static void add_evidence(struct collecting *c, const struct dataset_row *row)
{
	const struct case_request request = dataset_request(row, c->data_root);
	const struct scenario *scenario = case_read(c->arena, c->diag, &request);
	if (scenario)
		fit_evidence_add(c->arena, c->evidence, dataset_evidence(c->arena, row, scenario));
}

static void add_row(struct collecting *c, const struct dataset_row *row)
{
	struct arena *scratch = arena_new();
	struct diag *diag = diag_new(scratch);
	const struct predict_options options = {.seed = c->seed, .draws_count = 1, .jobs = 1};
	struct row_outcome outcome;
	enum case_kind kind;
	bool done = dataset_predict_row(scratch, diag, row, c->data_root, NULL, &options, c->broken,
					&outcome);
	take_errors(c, diag);
	/* a verdict has no residual */
	if (done && isfinite(outcome.error) && outcome.predicted.value > 0 &&
	    kind_of(c, row, &kind)) {
		struct measurement *m = measurement_of(c, row, kind);
		struct error_part *parts = outcome.prediction->errors;
		if (kind == CASE_SERVING) {
			add_evidence(c, row);
			fit_serving_parts(scratch, c->diag, row, c->data_root, c->seed, parts);
		}
		const struct error_row error = fit_error_row(row, outcome.predicted.value, parts);
		m->sum.square += error.square;
		for (size_t k = 0; k < MECHANISM_COUNT; k++)
			m->sum.shares[k] += error.shares[k];
		m->row_count++;
	}
	arena_free(scratch);
}

static void add_datasets(struct collecting *c)
{
	const char *const *names;
	size_t count = data_names(c->arena, c->data_root, "calib/measured", &names);
	for (size_t i = 0; i < count; i++) {
		const struct dataset *dataset =
			dataset_read(c->arena, c->diag, c->data_root, names[i], NULL, 0);
		bool used = dataset && systems_include(c->diag, dataset, c->data_root);
		for (size_t k = 0; used && k < dataset->row_count; k++)
			if (dataset->rows[k].role == ROLE_FIT &&
			    isfinite(dataset->rows[k].measured))
				add_row(c, &dataset->rows[k]);
	}
}

static void add_leverages(struct collecting *c, const struct fit_stage_result *stage)
{
	for (size_t i = 0; i < stage->row_count; i++) {
		enum case_kind kind;
		if (!kind_of(c, stage->rows[i], &kind))
			return;
		struct measurement *measurement = measurement_of(c, stage->rows[i], kind);
		measurement->leverage = fmin(1, measurement->leverage + stage->leverage[i]);
	}
}

/* Returns the largest error of an added time that counts: a multiple of the median. */
static double largest_added(struct collecting *c)
{
	double *errors = ARENA_ARRAY(c->arena, c->all.count + 1, double);
	size_t count = 0;
	for (size_t i = 0; i < c->all.count; i++) {
		const struct measurement *m = &c->all.items[i];
		double n = (double)m->row_count, share = m->sum.shares[MECHANISM_FORWARDED] / n;
		if (share > 0 && 1 - m->leverage >= SPARE_LEAST)
			errors[count++] = sqrt(m->sum.square / n) / share / (1 - m->leverage);
	}
	return count ? LARGEST * num_quantile(errors, count, 0.5) : 0;
}

static void sum_up(struct collecting *c, struct model_errors *errors)
{
	struct error_row *rows = ARENA_ARRAY(c->arena, c->all.count + 1, struct error_row);
	size_t count = 0;
	double squares = 0, spare = 0, largest = largest_added(c);
	for (size_t i = 0; i < c->all.count; i++) {
		const struct measurement *m = &c->all.items[i];
		double left = 1 - m->leverage, n = (double)m->row_count;
		if (left < SPARE_LEAST || m->row_count == 0)
			continue;
		struct error_row *row = &rows[count++];
		*row = (struct error_row){.square = m->sum.square / n / pow(left, 2),
					  .weight = left,
					  .known_variance = pow(RUN_TO_RUN_RATIO / left, 2)};
		for (size_t k = 0; k < MECHANISM_COUNT; k++) {
			row->shares[k] = m->sum.shares[k] / n;
			errors->rows_count[k] += row->shares[k] > 0;
		}
		if (m->kind == CASE_FORWARDED) {
			double most = largest * row->shares[MECHANISM_FORWARDED];
			row->square = fmin(row->square, most * most);
			continue; /* its error is that of a part of the time */
		}
		if (m->kind == CASE_SERVING)
			continue; /* many rows of one system must not set the prior of others */
		squares += left * row->square;
		spare += left;
	}
	struct model_error priors[MECHANISM_COUNT];
	for (size_t k = 0; k < MECHANISM_COUNT; k++)
		priors[k] =
			(struct model_error){spare > 0 ? sqrt(squares / spare) : 0, COMMON_ROWS};
	components_estimate(rows, count, priors, errors->same);
}

struct model_errors *fit_errors(struct arena *arena, struct diag *diag, const char *data_root,
				const struct fit_result *const *results, size_t count,
				uint64_t seed, const char **broken)
{
	struct model_errors *errors = ARENA_NEW(arena, struct model_errors);
	struct collecting c = {.arena = arena,
			       .diag = diag,
			       .data_root = data_root,
			       .seed = seed,
			       .broken = broken,
			       .evidence = &errors->evidence};
	*broken = NULL;
	add_datasets(&c);
	for (size_t i = 0; i < count && diag_count(diag) == 0; i++)
		for (size_t k = 0; k < results[i]->stage_count; k++)
			add_leverages(&c, &results[i]->stages[k]);
	for (size_t i = 0; i < count; i++)
		fit_evidence(arena, results[i], NULL, &errors->evidence);
	sum_up(&c, errors);
	if (diag_count(diag) || *broken)
		return NULL;
	for (size_t k = 0; k < MECHANISM_COUNT; k++)
		for (enum distance d = DISTANCE_SAME_KIND; d < DISTANCE_COUNT; d++)
			errors->far.of[k][d].error = errors->same[k];
	return errors;
}

bool fit_errors_far(struct arena *arena, struct diag *diag, const char *data_root,
		    struct model_errors *errors, uint64_t seed, unsigned jobs, const char **broken)
{
	const struct left_out *left =
		systems_leave_out(arena, diag, data_root, NULL, seed, jobs, broken);
	if (left)
		systems_errors(left, NULL, errors->same, &errors->far);
	return left != NULL;
}

void fit_errors_read(struct arena *arena, struct diag *diag, const char *data_root,
		     struct model_error same[MECHANISM_COUNT])
{
	const char *path = arena_printf(arena, "%s/calib/profiles/" MODEL_ERROR ".cfg", data_root);
	const struct cfg_node *file = cfg_read(arena, diag, path);
	for (enum mechanism k = 0; k < MECHANISM_COUNT; k++)
		same[k] = case_error_at(file, k, DISTANCE_SAME_SYSTEM);
}

static void write_error(FILE *out, enum mechanism mechanism, enum distance distance,
			struct model_error error, const char *note)
{
	fprintf(out,
		"\t{ path = \"%s\"; distance = \"%s\";\n\t  fit = { value = \"%.6g\"; freedom = "
		"%.4g; origin = \"derived\"; note = \"%s\"; }; }",
		mechanism_path(mechanism), distance_name(distance), error.ratio,
		error.freedom_count, note);
}

void fit_errors_write(FILE *out, const struct model_errors *errors)
{
	fputs("# Written by `farwire fit`; do not edit. Residuals of the fits on rows of role fit, "
	      "and errors of\n# these rows without the parameters of their system.\n"
	      "parameters = (\n",
	      out);
	for (enum mechanism k = 0; k < MECHANISM_COUNT; k++) {
		fprintf(out, "%s\t# %zu measurements\n", k ? ",\n" : "", errors->rows_count[k]);
		write_error(out, k, DISTANCE_SAME_SYSTEM, errors->same[k],
			    "residuals of rows of role fit");
		for (enum distance d = DISTANCE_SAME_KIND; d < DISTANCE_COUNT; d++) {
			const struct distance_error *e = &errors->far.of[k][d];
			fprintf(out, ",\n\t# %zu rows of %zu systems left out\n", e->row_count,
				e->system_count);
			write_error(out, k, d, e->error, "systems left out of the fits");
		}
	}
	fputs("\n);\n", out);
	fit_evidence_write(out, &errors->evidence);
}
