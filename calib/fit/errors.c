/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/errors.h"

/* Steps 2 and 4 of the rule. */
static const double SPARE_LEAST = 0.02, COMMON_ROWS = 3;

struct measurement {
	const char *table; /* name of the file that contains the row */
	double measured;
	enum case_kind kind;
	double squares; /* sum of the squared residuals of its rows */
	double weight;  /* sum of the squares of the shares on which the error acts (step 3) */
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

/* Determines the kind of the row's case; returns false after errors. */
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

double fit_error_of_share(const struct dataset_row *row, double predicted, double share)
{
	double longer = measure_is_time(row->measure) ? row->measured / predicted
						      : predicted / row->measured;
	if (!(share > 0))
		return 0;
	return share < 1 && longer > 1 ? log1p((longer - 1) / share) : log(longer) / share;
}

static double point_of(struct collecting *c, const struct dataset_row *row)
{
	struct arena *scratch = arena_new();
	struct diag *diag = diag_new(scratch);
	double value =
		dataset_point(scratch, diag, row, c->data_root, NULL, 0, c->seed, NULL, c->broken);
	take_errors(c, diag);
	arena_free(scratch);
	return value;
}

static void add_row(struct collecting *c, const struct dataset_row *row)
{
	enum case_kind kind;
	if (!kind_of(c, row, &kind))
		return;
	double value = point_of(c, row), share = 1;
	if (!isfinite(value) || !(value > 0))
		return; /* a verdict has no residual */
	if (kind == CASE_FORWARDED) {
		struct dataset_row ratio = *row;
		ratio.measure = MEASURE_RATIO;
		ratio.relative = false;
		share = fmin(fabs(1 - point_of(c, &ratio)), 1);
	}
	struct measurement *measurement = measurement_of(c, row, kind);
	measurement->squares += pow(share * fit_error_of_share(row, value, share), 2);
	measurement->weight += share * share;
	measurement->row_count++;
}

static void add_datasets(struct collecting *c)
{
	const char *const *names;
	size_t count = data_names(c->arena, c->data_root, "calib/measured", &names);
	for (size_t i = 0; i < count; i++) {
		const struct dataset *dataset =
			dataset_read(c->arena, c->diag, c->data_root, names[i], NULL, 0);
		for (size_t k = 0; dataset && !dataset->slow && k < dataset->row_count; k++)
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

static void sum_up(const struct collecting *c, struct model_errors *errors)
{
	double squares[CASE_KIND_COUNT] = {0}, all = 0, spare = 0;
	for (size_t i = 0; i < c->all.count; i++) {
		const struct measurement *m = &c->all.items[i];
		double left = 1 - m->leverage;
		if (left < SPARE_LEAST || m->row_count == 0)
			continue;
		errors->kinds[m->kind].measurement_count++;
		errors->kinds[m->kind].spare_count += left * m->weight / (double)m->row_count;
		squares[m->kind] += m->squares / (double)m->row_count / left;
	}
	for (size_t k = 0; k < CASE_KIND_COUNT; k++) {
		if (k == CASE_FORWARDED)
			continue; /* its error is that of a part of the time */
		all += squares[k];
		spare += errors->kinds[k].spare_count;
	}
	double common = spare > 0 ? all / spare : 0;
	for (size_t k = 0; k < CASE_KIND_COUNT; k++) {
		struct kind_error *kind = &errors->kinds[k];
		kind->freedom_count = kind->spare_count + COMMON_ROWS;
		kind->own_ratio = sqrt(squares[k] / kind->spare_count);
		kind->error_ratio = sqrt((squares[k] + COMMON_ROWS * common) / kind->freedom_count);
	}
}

struct model_errors *fit_errors(struct arena *arena, struct diag *diag, const char *data_root,
				const struct fit_result *const *results, size_t count,
				uint64_t seed, const char **broken)
{
	struct collecting c = {.arena = arena,
			       .diag = diag,
			       .data_root = data_root,
			       .seed = seed,
			       .broken = broken};
	struct model_errors *errors = ARENA_NEW(arena, struct model_errors);
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
	for (size_t k = 0; k < CASE_KIND_COUNT; k++)
		for (enum distance d = DISTANCE_SAME_KIND; d < DISTANCE_COUNT; d++)
			errors->far.of[k][d].error = (struct model_error){
				errors->kinds[k].error_ratio, errors->kinds[k].freedom_count};
	return errors;
}

bool fit_errors_far(struct arena *arena, struct diag *diag, const char *data_root,
		    struct model_errors *errors, uint64_t seed, unsigned jobs, const char **broken)
{
	struct model_error same[CASE_KIND_COUNT];
	for (size_t k = 0; k < CASE_KIND_COUNT; k++)
		same[k] = (struct model_error){errors->kinds[k].error_ratio,
					       errors->kinds[k].freedom_count};
	const struct left_out *left =
		systems_leave_out(arena, diag, data_root, NULL, seed, jobs, broken);
	if (left)
		systems_errors(left, NULL, same, &errors->far);
	return left != NULL;
}

void fit_errors_read(struct arena *arena, struct diag *diag, const char *data_root,
		     struct model_error same[CASE_KIND_COUNT])
{
	const char *path = arena_printf(arena, "%s/calib/profiles/" MODEL_ERROR ".cfg", data_root);
	const struct cfg_node *file = cfg_read(arena, diag, path);
	for (enum case_kind k = 0; k < CASE_KIND_COUNT; k++)
		same[k] = case_error_at(file, k, DISTANCE_SAME_SYSTEM);
}

static void write_error(FILE *out, enum case_kind kind, enum distance distance,
			struct model_error error, const char *note)
{
	fprintf(out,
		"\t{ path = \"%s\"; distance = \"%s\";\n\t  fit = { value = \"%.6g\"; freedom = "
		"%.4g; origin = \"derived\"; note = \"%s\"; }; }",
		case_kind_path(kind), distance_name(distance), error.ratio, error.freedom_count,
		note);
}

void fit_errors_write(FILE *out, const struct model_errors *errors)
{
	fputs("# Written by `farwire fit`; do not edit. Residuals of the fits on rows of role fit, "
	      "and errors of\n# these rows without the parameters of their system.\n"
	      "parameters = (\n",
	      out);
	for (enum case_kind k = 0; k < CASE_KIND_COUNT; k++) {
		const struct kind_error *kind = &errors->kinds[k];
		fprintf(out,
			"%s\t# %zu measurements, %.4g of them to spare, root mean square %.2f %%\n",
			k ? ",\n" : "", kind->measurement_count, kind->spare_count,
			kind->spare_count > 0 ? 100 * kind->own_ratio : 0.0);
		write_error(out, k, DISTANCE_SAME_SYSTEM,
			    (struct model_error){kind->error_ratio, kind->freedom_count},
			    "residuals of rows of role fit");
		for (enum distance d = DISTANCE_SAME_KIND; d < DISTANCE_COUNT; d++) {
			const struct distance_error *e = &errors->far.of[k][d];
			fprintf(out, ",\n\t# %zu measurements of %zu systems left out\n",
				e->row_count, e->system_count);
			write_error(out, k, d, e->error, "systems left out of the fits");
		}
	}
	fputs("\n);\n", out);
	fit_evidence_write(out, &errors->evidence);
}
