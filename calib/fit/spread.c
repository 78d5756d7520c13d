/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Uncertainty of a fit: intervals, correlations, and the influence of what it took as given. */
#include "calib/fit/fitting.h"

/* The step of a job can be locked to a cycle and then changes in stairs. If the narrow difference
 * finds no slope, the wide one is used. */
static const double DIFFERENCE = 0.02, WIDE_DIFFERENCE = 0.3, FLAT = 1e-3;
/* A parameter follows a given cost if it moves by at least this per standard deviation of the cost.
 */
static const double WORTH_RATIO = 1e-3;

struct fit_spread {
	double slopes[FIT_PARAMETERS_MAX][FIT_ROWS_MAX]; /* divided by each row's scale */
	double inverse[FIT_PARAMETERS_MAX * FIT_PARAMETERS_MAX];
	double residuals[FIT_ROWS_MAX];
	bool moved[FIT_ROWS_MAX]; /* at least one parameter changes the row */
	bool known;               /* the inverse matrix exists */
};

/* Inverts the symmetric matrix a[n * n] in place by Gauss-Jordan. Returns false if it is singular.
 */
static bool invert(double *a, size_t n)
{
	double inverse[FIT_PARAMETERS_MAX * FIT_PARAMETERS_MAX] = {0};
	for (size_t i = 0; i < n; i++)
		inverse[i * n + i] = 1;
	for (size_t i = 0; i < n; i++) {
		double pivot = a[i * n + i];
		if (!(fabs(pivot) > 1e-12))
			return false;
		for (size_t k = 0; k < n; k++) {
			a[i * n + k] /= pivot;
			inverse[i * n + k] /= pivot;
		}
		for (size_t row = 0; row < n; row++) {
			double factor = a[row * n + i];
			for (size_t k = 0; k < n && row != i; k++) {
				a[row * n + k] -= factor * a[i * n + k];
				inverse[row * n + k] -= factor * inverse[i * n + k];
			}
		}
	}
	memcpy(a, inverse, n * n * sizeof *a);
	return true;
}

/* Computes d ln(predicted) / d ln(parameter) of each row over +-difference. Marks the rows that
 * move noticeably and returns true if there are any. */
static bool slopes(struct fitting *f, const double *x, size_t parameter, double difference,
		   double *out, bool *moved_rows)
{
	double moved[FIT_PARAMETERS_MAX], up[FIT_ROWS_MAX], down[FIT_ROWS_MAX];
	bool any = false;
	memcpy(moved, x, f->count * sizeof *moved);
	const struct fitted_parameter *p = &f->result->parameters[f->first + parameter];
	double above = fmin(x[parameter] + difference, log(p->max));
	double below = fmax(x[parameter] - difference, log(p->min));
	moved[parameter] = above;
	fitting_set(f, moved);
	fitting_residuals(f, up);
	moved[parameter] = below;
	fitting_set(f, moved);
	fitting_residuals(f, down);
	for (size_t i = 0; i < f->row_count; i++) {
		out[i] = (up[i] - down[i]) / (above - below);
		moved_rows[i] = moved_rows[i] || fabs(out[i]) > FLAT;
		any = any || fabs(out[i]) > FLAT;
	}
	fitting_set(f, x);
	return any;
}

double spread_felt(struct fitting *f, const double *x, size_t parameter)
{
	double out[FIT_ROWS_MAX], most = 0;
	bool moved[FIT_ROWS_MAX] = {false};
	slopes(f, x, parameter, WIDE_DIFFERENCE, out, moved);
	for (size_t i = 0; i < f->row_count; i++)
		most = fmax(most, fabs(out[i]));
	return most;
}

static void linearise(struct fitting *f, const double *x, struct fit_spread *spread)
{
	size_t n = f->count;
	fitting_set(f, x);
	fitting_residuals(f, spread->residuals);
	for (size_t p = 0; p < n; p++) {
		double wide[FIT_ROWS_MAX];
		bool narrow = slopes(f, x, p, DIFFERENCE, spread->slopes[p], spread->moved);
		slopes(f, x, p, WIDE_DIFFERENCE, wide, spread->moved);
		if (!narrow)
			memcpy(spread->slopes[p], wide, f->row_count * sizeof *wide);
		f->felt[p] = 0;
		for (size_t i = 0; i < f->row_count; i++) {
			f->felt[p] = fmax(f->felt[p], fabs(spread->slopes[p][i]));
			spread->slopes[p][i] /= fitting_scale(f->rows[i]);
		}
	}
	for (size_t p = 0; p < n; p++)
		for (size_t q = 0; q < n; q++) {
			spread->inverse[p * n + q] = 0;
			for (size_t i = 0; i < f->row_count; i++)
				spread->inverse[p * n + q] +=
					spread->slopes[p][i] * spread->slopes[q][i];
		}
	spread->known = invert(spread->inverse, n);
	/* rounding can make a singular matrix look regular, with variances below 0 */
	for (size_t p = 0; p < n; p++)
		spread->known = spread->known && spread->inverse[p * n + p] > 0;
}

/* For a fit of its own or of single kernels, returns chi^2 over the degrees of freedom if rows
 * deviate more than they scatter, and sets *freedom; otherwise *freedom is 0. The deviations of
 * shipped fits belong to the model's own error (errors.h) and are not counted here again. */
static double inflation_of(const struct fitting *f, const struct fit_spread *spread,
			   double *freedom)
{
	double chi2 = 0, rows = 0;
	*freedom = 0;
	if (!f->alone && !f->kernels[0])
		return 1;
	for (size_t i = 0; i < f->row_count; i++)
		if (spread->moved[i]) {
			chi2 += pow(spread->residuals[i] / fitting_scale(f->rows[i]), 2);
			rows++;
		}
	double spare = rows - (double)f->count;
	*freedom = spare > 0 && chi2 > spare ? spare : 0;
	return *freedom > 0 ? chi2 / spare : 1;
}

static void set_intervals(struct fitting *f, const struct fit_spread *spread)
{
	size_t n = f->count;
	double freedom, inflation = inflation_of(f, spread, &freedom);
	double ends = freedom > 0 ? num_student_quantile(0.95, freedom) : num_normal_quantile(0.95);
	const double *inverse = spread->inverse;
	for (size_t p = 0; p < n; p++) {
		struct fitted_parameter *parameter = &f->result->parameters[f->first + p];
		double *correlations = ARENA_ARRAY(f->arena, p + 1, double);
		double deviation = spread->known
					   ? sqrt(fmax(0, inverse[p * n + p]) * inflation) * ends
					   : INFINITY;
		parameter->low = fmax(parameter->min, parameter->value * exp(-deviation));
		parameter->high = fmin(parameter->max, parameter->value * exp(deviation));
		parameter->freedom_count = spread->known ? freedom : 0;
		for (size_t q = 0; q < p; q++)
			correlations[q] = spread->known
						  ? inverse[p * n + q] / sqrt(inverse[p * n + p] *
									      inverse[q * n + q])
						  : 0;
		parameter->correlations = correlations;
	}
}

static void set_leverages(struct fitting *f, const struct fit_spread *spread)
{
	size_t n = f->count;
	for (size_t i = 0; i < f->row_count; i++) {
		double sum = spread->known ? 0 : 1;
		for (size_t p = 0; p < n && spread->known; p++)
			for (size_t q = 0; q < n; q++)
				sum += spread->slopes[p][i] * spread->inverse[p * n + q] *
				       spread->slopes[q][i];
		f->stage->leverage[i] = fmin(fmax(sum, 0), 1);
	}
}

/* ---- given costs ---- */

/* A cost in the rows' cases that the fit did not change: one with a prior, or the result of an
 * earlier stage. */
struct given {
	const char *path;
	double by; /* one standard deviation, on the parameter's scale */
	const struct param_row *row;
	double value;   /* value, if the parameter is the result of an earlier stage */
	size_t earlier; /* index of that result; SIZE_MAX: not from an earlier stage */
};
struct givens {
	VEC(struct given) all;
	struct unknowns of_row[FIT_ROWS_MAX];
};

static bool is_listed(const struct givens *givens, const char *path, size_t earlier)
{
	for (size_t i = 0; i < givens->all.count; i++)
		if (givens->all.items[i].earlier == earlier &&
		    strcmp(givens->all.items[i].path, path) == 0)
			return true;
	return false;
}

/* Returns the value at which the row sees the parameter; NaN: no fit has set it. */
static double current(const struct fitting *f, const struct dataset_row *row, const char *path)
{
	struct draw_value draws[FIT_TOTAL_MAX];
	size_t count = fitting_values(f, row, draws);
	for (size_t i = 0; i < count; i++)
		if (strcmp(draws[i].path, path) == 0)
			return draws[i].value;
	return NAN;
}

static void list_fitted(struct fitting *f, struct givens *givens, size_t row)
{
	struct draw_value draws[FIT_TOTAL_MAX];
	size_t count = fitting_values(f, f->rows[row], draws) - f->count;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < f->first; k++) {
			const struct fitted_parameter *p = &f->result->parameters[k];
			if (strcmp(p->path, draws[i].path) != 0 || p->value != draws[i].value ||
			    is_listed(givens, p->path, k))
				continue;
			double by = param_distance(p->row, p->value, p->high);
			double ends = p->freedom_count > 0
					      ? num_student_quantile(0.95, p->freedom_count)
					      : num_normal_quantile(0.95);
			if (isfinite(by) && by > 0)
				*VEC_PUSH(f->arena, &givens->all) =
					(struct given){p->path, by / ends, p->row, p->value, k};
		}
}

/* Removes parameters that the fit itself sets, even if they share a default with others. */
static void leave_out_current(const struct fitting *f, const struct dataset_row *row,
			      struct unknown *unknown)
{
	size_t kept = 0;
	for (size_t k = 0; k < unknown->count; k++)
		if (isnan(current(f, row, unknown->params[k]->path)))
			unknown->params[kept++] = unknown->params[k];
	unknown->count = kept;
}

static void list_unknown(struct fitting *f, struct givens *givens, size_t row)
{
	const struct case_request request = dataset_request(f->rows[row], f->data_root);
	struct diag *quiet = diag_new(f->arena);
	const struct scenario *scenario = case_read(f->arena, quiet, &request);
	if (!scenario)
		return; /* the predictions have reported the errors */
	givens->of_row[row] = unknowns_of(f->arena, scenario);
	for (size_t i = 0; i < givens->of_row[row].count; i++) {
		struct unknown *unknown = &givens->of_row[row].items[i];
		double by = unknown_deviation(unknown);
		leave_out_current(f, f->rows[row], unknown);
		const struct cfg_param *param = unknown->count ? unknown->params[0] : NULL;
		if (by > 0 && param && !is_listed(givens, param->path, SIZE_MAX))
			*VEC_PUSH(f->arena, &givens->all) =
				(struct given){param->path, by, param->row, param->value, SIZE_MAX};
	}
}

/* Returns the change of ln(predicted) of a row when the given cost is larger by one standard
 * deviation. */
static double response(struct fitting *f, const struct givens *givens, const struct given *given,
		       size_t row, double residual)
{
	const struct unknowns *unknowns = &givens->of_row[row];
	if (given->earlier != SIZE_MAX) {
		/* other stages may have fitted another parameter of that name */
		if (current(f, f->rows[row], given->path) != given->value)
			return 0;
		const struct draw_value more = {given->path,
						param_moved(given->row, given->value, given->by)};
		return fitting_residual(f, row, &more, 1) - residual;
	}
	for (size_t i = 0; i < unknowns->count; i++) {
		const struct unknown *unknown = &unknowns->items[i];
		if (unknown->count == 0 || strcmp(unknown->params[0]->path, given->path) != 0)
			continue;
		struct draw_value *more = ARENA_ARRAY(f->arena, unknown->count, struct draw_value);
		for (size_t k = 0; k < unknown->count; k++)
			more[k] = (struct draw_value){
				unknown->params[k]->path,
				param_moved(given->row, unknown->params[k]->value, given->by)};
		return fitting_residual(f, row, more, unknown->count) - residual;
	}
	return 0;
}

/* Computes how far the parameters would move if the given cost were different: by[p] on their
 * scales. */
static void follow(struct fitting *f, const struct fit_spread *spread, const struct givens *givens,
		   const struct given *given, double by[FIT_PARAMETERS_MAX])
{
	double pull[FIT_PARAMETERS_MAX] = {0};
	size_t n = f->count;
	for (size_t i = 0; i < f->row_count; i++) {
		if (!spread->moved[i])
			continue;
		double moves = response(f, givens, given, i, spread->residuals[i]) /
			       fitting_scale(f->rows[i]);
		for (size_t p = 0; p < n; p++)
			pull[p] += spread->slopes[p][i] * moves;
	}
	for (size_t p = 0; p < n; p++) {
		const struct fitted_parameter *parameter = &f->result->parameters[f->first + p];
		double logarithm = 0;
		for (size_t q = 0; q < n; q++)
			logarithm -= spread->inverse[p * n + q] * pull[q];
		double to = parameter->value * exp(logarithm);
		double distance = param_distance(parameter->row, parameter->value,
						 fmin(fmax(to, parameter->min), parameter->max));
		by[p] = isfinite(distance) ? copysign(distance, logarithm) / given->by : 0;
	}
}

static void set_follows(struct fitting *f, const struct fit_spread *spread)
{
	VEC(struct fitted_follow) follows[FIT_PARAMETERS_MAX] = {0};
	struct givens givens = {0};
	double by[FIT_PARAMETERS_MAX];
	for (size_t i = 0; i < f->row_count; i++)
		if (spread->moved[i]) {
			list_fitted(f, &givens, i);
			list_unknown(f, &givens, i);
		}
	for (size_t g = 0; g < givens.all.count; g++) {
		const struct given *given = &givens.all.items[g];
		follow(f, spread, &givens, given, by);
		for (size_t p = 0; p < f->count; p++)
			if (fabs(by[p] * given->by) >= WORTH_RATIO)
				*VEC_PUSH(f->arena, &follows[p]) =
					(struct fitted_follow){given->path, by[p], given->earlier};
	}
	for (size_t p = 0; p < f->count; p++) {
		f->result->parameters[f->first + p].follows = follows[p].items;
		f->result->parameters[f->first + p].follow_count = follows[p].count;
	}
}

void spread_set(struct fitting *f, const double *x)
{
	struct fit_spread spread = {0};
	linearise(f, x, &spread);
	set_intervals(f, &spread);
	set_leverages(f, &spread);
	if (spread.known && !f->alone && !f->slow)
		set_follows(f, &spread);
}
