/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/fit.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/base/vec.h"

/* Run-to-run spread of a throughput that a source does not state. */
static const double SPREAD_RATIO = 0.005;
/* A step of a job can be tied to a cycle, and then answers in stairs: where the
 * narrow difference finds them flat, the wide one is taken. */
static const double WIDE_DIFFERENCE = 0.3, FLAT = 1e-3;
static const double DIFFERENCE = 0.02, NORMAL_95 = 1.6448536269514722, TOLERANCE = 2e-4;
/* Of offered parameters: one that moves no row by more is not felt. */
static const double FELT = 0.01;
enum { EVALUATIONS_MAX = 160, SCAN = 3 /* doublings each way */ };

struct fitting {
	struct arena *arena;
	struct diag *diag;
	const char *data_root;
	uint64_t seed;
	FILE *progress;
	const char *broken;
	struct fit_result *result;
	const struct fit_stage_result *stage; /* at work */
	const struct cfg_node *with;          /* further profiles that it sees; NULL: none */
	size_t first, count;                  /* the stage's parameters */
	const struct dataset_row *rows[FIT_ROWS_MAX];
	size_t row_count;
	double felt[FIT_PARAMETERS_MAX]; /* by the row that feels most of it, at the answer */
	bool failed;
};

static bool holds(const struct fit_stage_result *stage, const char *profile)
{
	for (size_t i = 0; i < stage->profile_count; i++)
		if (strcmp(stage->profiles[i], profile) == 0)
			return true;
	return false;
}

/* The profile that the row names before fits take it away; "" if none. */
static const char *profile_of(const struct dataset_row *row)
{
	static const char key[] = "case.profile=";
	const char *profile = "";
	for (size_t i = 0; i + 1 < row->setting_count; i++)
		if (strncmp(row->settings[i].text, key, sizeof key - 1) == 0)
			profile = row->settings[i].text + sizeof key - 1;
	return profile;
}

/* Whether the row is to see what an earlier stage found. */
static bool sees(const struct fitting *f, const struct dataset_row *row,
		 const struct fit_stage_result *earlier)
{
	const char *profile = profile_of(row);
	for (size_t k = 0; f->with && k < cfg_count(f->with); k++)
		if (cfg_text(cfg_at(f->with, k)) && holds(earlier, cfg_text(cfg_at(f->with, k))))
			return true;
	if (profile[0] && holds(f->stage, profile))
		return holds(earlier, profile);
	for (size_t k = 0; k < f->stage->profile_count; k++)
		if (holds(earlier, f->stage->profiles[k]))
			return true;
	return false;
}

/* The parameters that a row sees, the stage's own last, at their values. */
static size_t current_values(const struct fitting *f, const struct dataset_row *row,
			     struct draw_value *draws)
{
	const struct fit_result *result = f->result;
	size_t count = 0;
	for (const struct fit_stage_result *stage = result->stages; stage < f->stage; stage++)
		for (size_t i = 0; sees(f, row, stage) && i < stage->count; i++)
			draws[count++] =
				(struct draw_value){result->parameters[stage->first + i].path,
						    result->parameters[stage->first + i].value};
	for (size_t i = f->first; i < f->first + f->count; i++)
		draws[count++] = (struct draw_value){result->parameters[i].path,
						     result->parameters[i].value};
	return count;
}

/* ln(predicted / measured) of each row with the parameters' current values. */
static void residuals(struct fitting *f, double *out)
{
	struct draw_value draws[FIT_TOTAL_MAX];
	for (size_t i = 0; i < f->row_count; i++) {
		struct arena *scratch = arena_new();
		struct diag *diag = diag_new(scratch);
		const char *broken = NULL;
		size_t draw_count = current_values(f, f->rows[i], draws);
		double value = dataset_point(scratch, diag, f->rows[i], f->data_root, draws,
					     draw_count, f->seed, &broken);
		if (broken && !f->broken)
			f->broken = arena_strdup(f->arena, broken);
		/* a failure is far from any measurement */
		out[i] = isfinite(value) && value > 0 ? log(value / f->rows[i]->measured) : 5;
		if (diag_count(diag) && !f->failed) {
			f->failed = true;
			for (size_t k = 0; k < diag_count(diag) && k < 20; k++)
				diag_error(f->diag, (struct origin){0}, "%s", diag_at(diag, k));
		}
		arena_free(scratch);
	}
}

static double scale_of(const struct dataset_row *row)
{
	return sqrt(SPREAD_RATIO * SPREAD_RATIO + row->rounding_ratio * row->rounding_ratio / 3);
}

static void set_values(struct fitting *f, const double *x)
{
	for (size_t i = 0; i < f->count; i++)
		f->result->parameters[f->first + i].value = exp(x[i]);
}

static double chi_squared(const double *x, void *ctx)
{
	struct fitting *f = ctx;
	double out[FIT_ROWS_MAX], sum = 0;
	set_values(f, x);
	residuals(f, out);
	for (size_t i = 0; i < f->row_count; i++)
		sum += pow(out[i] / scale_of(f->rows[i]), 2);
	if (f->progress) {
		fputc('.', f->progress);
		fflush(f->progress);
	}
	return sum;
}

/* Inverts the symmetric matrix a[n * n] in place by Gauss-Jordan; false if singular. */
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

/* d ln(predicted) / d ln(parameter) of each row, over +-difference; whether any is
 * more than next to nothing. */
static bool slopes(struct fitting *f, const double *x, size_t parameter, double difference,
		   double *out)
{
	double moved[FIT_PARAMETERS_MAX], up[FIT_ROWS_MAX], down[FIT_ROWS_MAX], most = 0;
	const struct fitted_parameter *p = &f->result->parameters[f->first + parameter];
	double above = fmin(difference, log(p->max) - x[parameter]); /* a share ends at 1 */
	double below = fmin(difference, x[parameter] - log(p->min));
	memcpy(moved, x, f->count * sizeof *moved);
	moved[parameter] = x[parameter] + above;
	set_values(f, moved);
	residuals(f, up);
	moved[parameter] = x[parameter] - below;
	set_values(f, moved);
	residuals(f, down);
	for (size_t i = 0; i < f->row_count; i++) {
		out[i] = (up[i] - down[i]) / (above + below);
		most = fmax(most, fabs(out[i]));
	}
	return most > FLAT;
}

/* Sets low and high of the stage's parameters around x. */
static void set_intervals(struct fitting *f, const double *x, double chi2)
{
	double jacobian[FIT_PARAMETERS_MAX][FIT_ROWS_MAX];
	double normal[FIT_PARAMETERS_MAX * FIT_PARAMETERS_MAX];
	size_t n = f->count;
	for (size_t p = 0; p < n; p++) {
		if (!slopes(f, x, p, DIFFERENCE, jacobian[p]))
			slopes(f, x, p, WIDE_DIFFERENCE, jacobian[p]);
		f->felt[p] = 0;
		for (size_t i = 0; i < f->row_count; i++) {
			f->felt[p] = fmax(f->felt[p], fabs(jacobian[p][i]));
			jacobian[p][i] /= scale_of(f->rows[i]);
		}
	}
	set_values(f, x);
	for (size_t p = 0; p < n; p++)
		for (size_t q = 0; q < n; q++) {
			normal[p * n + q] = 0;
			for (size_t i = 0; i < f->row_count; i++)
				normal[p * n + q] += jacobian[p][i] * jacobian[q][i];
		}
	double inflation = f->row_count > n ? fmax(1, chi2 / (double)(f->row_count - n)) : 1;
	bool known = invert(normal, n);
	for (size_t p = 0; p < n; p++) {
		struct fitted_parameter *parameter = &f->result->parameters[f->first + p];
		double deviation =
			known ? sqrt(fmax(0, normal[p * n + p]) * inflation) * NORMAL_95 : INFINITY;
		parameter->low = fmax(parameter->min, parameter->value * exp(-deviation));
		parameter->high = fmin(parameter->max, parameter->value * exp(deviation));
	}
}

/* From the start, or, for one parameter alone, from the best of starts around it: chi^2
 * may be a staircase. */
static double search(struct fitting *f, double *x)
{
	double step[FIT_PARAMETERS_MAX], low[FIT_PARAMETERS_MAX], high[FIT_PARAMETERS_MAX];
	for (size_t i = 0; i < f->count; i++) {
		const struct fitted_parameter *parameter = &f->result->parameters[f->first + i];
		x[i] = log(parameter->start);
		step[i] = 0.25;
		low[i] = log(parameter->min);
		high[i] = log(parameter->max);
	}
	double least = INFINITY, start = x[0];
	for (int k = -SCAN; f->count == 1 && k <= SCAN; k++) {
		double at = start + k * log(2);
		double here = at > low[0] && at < high[0] ? chi_squared(&at, f) : INFINITY;
		if (here < least) {
			least = here;
			x[0] = at;
		}
	}
	return num_minimise(chi_squared, f, f->count, x, step, low, high, TOLERANCE,
			    EVALUATIONS_MAX);
}

static bool minimise(struct fitting *f, struct fit_stage_result *stage)
{
	double x[FIT_PARAMETERS_MAX], out[FIT_ROWS_MAX], squares = 0;
	double chi2 = search(f, x);
	set_values(f, x);
	residuals(f, out);
	for (size_t i = 0; i < f->row_count; i++)
		squares += out[i] * out[i];
	stage->rms_ratio = sqrt(squares / (double)f->row_count);
	set_intervals(f, x, chi2);
	if (f->progress)
		fputc('\n', f->progress);
	return !f->failed && !f->broken;
}

/* ---- reading the fit file ---- */

static const char *need(struct fitting *f, const struct cfg_node *group, const char *key)
{
	const char *text = cfg_text(cfg_child(group, key));
	if (!text)
		diag_error(f->diag, cfg_origin(group),
			   "fit: %s is missing here (write %s = \"...\")", key, key);
	return text ? text : "";
}

/* A bound or start as text, in the parameter's quantity. */
static double need_value(struct fitting *f, const struct cfg_node *group, const char *key,
			 const struct param_row *row)
{
	double value = 1;
	const char *wrong = quantity_parse(f->arena, row->quantity, need(f, group, key), &value);
	if (wrong)
		diag_error(f->diag, cfg_origin(group), "fit: %s %s", key, wrong);
	else if (!(value > 0))
		diag_error(f->diag, cfg_origin(group),
			   "fit: %s must be above zero (parameters are fitted on a log scale)",
			   key);
	return value;
}

static const struct param_row *find_row(struct fitting *f, const struct cfg_node *group,
					const char *path)
{
	struct diag *quiet = diag_new(f->arena);
	const struct case_request request = dataset_request(f->rows[0], f->data_root);
	const struct scenario *scenario = case_read(f->arena, quiet, &request);
	const struct cfg_param *param =
		scenario ? cfg_param_find(scenario->resolution, path) : NULL;
	if (!scenario)
		for (size_t i = 0; i < diag_count(quiet) && i < 20; i++)
			diag_error(f->diag, cfg_origin(group), "%s", diag_at(quiet, i));
	else if (!param || param->row->kind != PARAM_KIND_NUMBER)
		diag_error(f->diag, cfg_origin(group),
			   "fit: the rows' cases have no number '%s' (see farwire explain)", path);
	return param && param->row->kind == PARAM_KIND_NUMBER ? param->row : NULL;
}

static void read_parameters(struct fitting *f, const struct cfg_node *stage)
{
	const struct cfg_node *list = cfg_child(stage, "parameters");
	size_t count = list ? cfg_count(list) : 0;
	f->first = f->result->count;
	f->count = 0;
	if (count == 0 || count > FIT_PARAMETERS_MAX || f->first + count > FIT_TOTAL_MAX) {
		diag_error(f->diag, cfg_origin(stage), "fit: a stage has 1 to %d parameters",
			   FIT_PARAMETERS_MAX);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct cfg_node *group = cfg_at(list, i);
		struct fitted_parameter *parameter = &f->result->parameters[f->first + i];
		parameter->path = need(f, group, "path");
		parameter->row = find_row(f, group, parameter->path);
		if (!parameter->row)
			return;
		parameter->start = need_value(f, group, "start", parameter->row);
		parameter->min = need_value(f, group, "low", parameter->row);
		parameter->max = need_value(f, group, "high", parameter->row);
		parameter->value = parameter->start;
		parameter->note = need(f, stage, "note");
		f->count++;
	}
	f->result->count += f->count;
}

static bool label_has_all(const struct cfg_node *texts, const char *label)
{
	for (size_t i = 0; texts && i < cfg_count(texts); i++)
		if (!cfg_text(cfg_at(texts, i)) || !label_has(label, cfg_text(cfg_at(texts, i))))
			return false;
	return true;
}

static void read_rows(struct fitting *f, const struct cfg_node *stage)
{
	/* Profiles are what comes out of fits: none goes in. */
	static const struct setting no_profile = {"case.profile=", {"fit", 0}};
	f->row_count = 0;
	const struct dataset *dataset = dataset_read(f->arena, f->diag, f->data_root,
						     need(f, stage, "dataset"), &no_profile, 1);
	for (size_t i = 0; dataset && i < dataset->row_count && f->row_count < FIT_ROWS_MAX; i++)
		if (dataset->rows[i].role == ROLE_FIT && isfinite(dataset->rows[i].measured) &&
		    label_has_all(cfg_child(stage, "rows"), dataset->rows[i].label))
			f->rows[f->row_count++] = &dataset->rows[i];
	if (dataset && f->row_count == 0)
		diag_error(f->diag, cfg_origin(stage),
			   "fit: no row of role fit has these texts in its label");
}

static const char *add_profile(struct fitting *f, const char *name)
{
	struct fit_result *result = f->result;
	for (size_t i = 0; i < result->profile_count; i++)
		if (strcmp(result->profiles[i], name) == 0)
			return result->profiles[i];
	return result->profiles[result->profile_count++] = name;
}

/* `profile` is a name, or a list of names that all hold what the stage finds. */
static void read_profiles(struct fitting *f, const struct cfg_node *node,
			  struct fit_stage_result *stage)
{
	const struct cfg_node *list = cfg_child(node, "profile");
	bool several = list && cfg_is_list(list);
	size_t count = several ? cfg_count(list) : 1;
	stage->profiles = ARENA_ARRAY(f->arena, count + 1, const char *);
	for (size_t i = 0; i < count; i++) {
		const char *name = several ? cfg_text(cfg_at(list, i)) : need(f, node, "profile");
		if (!name || f->result->profile_count == FIT_PROFILES_MAX) {
			diag_error(f->diag, cfg_origin(list),
				   "fit: profile is a name or a list of names, %d in all",
				   FIT_PROFILES_MAX);
			return;
		}
		stage->profiles[stage->profile_count++] = add_profile(f, name);
	}
}

static void run_stage(struct fitting *f, const struct cfg_node *node,
		      struct fit_stage_result *stage)
{
	static const char *const known[] = {"profile", "with", "dataset",
					    "rows",    "note", "parameters"};
	*stage = (struct fit_stage_result){0};
	cfg_only(f->diag, node, known, sizeof known / sizeof known[0]);
	f->stage = stage;
	f->with = cfg_child(node, "with");
	read_profiles(f, node, stage);
	read_rows(f, node);
	if (diag_count(f->diag) == 0)
		read_parameters(f, node);
	if (diag_count(f->diag))
		return;
	stage->first = f->first;
	stage->count = f->count;
	stage->row_count = f->row_count;
	const char **labels = ARENA_ARRAY(f->arena, f->row_count, const char *);
	for (size_t i = 0; i < f->row_count; i++)
		labels[i] = f->rows[i]->label;
	stage->row_labels = labels;
	if (f->progress)
		fprintf(f->progress, "%s: %zu parameters, %zu rows ", stage->profiles[0], f->count,
			f->row_count);
	minimise(f, stage);
}

const struct fit_result *fit_run(struct arena *arena, struct diag *diag, const char *data_root,
				 const char *name, uint64_t seed, FILE *progress,
				 const char **broken)
{
	*broken = NULL;
	const char *path = data_path(arena, diag, (struct origin){0}, data_root, "calib/fit", "fit",
				     name, NULL);
	const struct cfg_node *file = path ? cfg_read(arena, diag, path) : NULL;
	const struct cfg_node *stages = cfg_child(cfg_child(file, "fit"), "stages");
	if (file && !stages)
		diag_error(diag, cfg_origin(file),
			   "no list of stages in a group `fit = { stages = ( ... ); }`");
	if (!stages)
		return NULL;
	struct fitting f = {.arena = arena,
			    .diag = diag,
			    .data_root = data_root,
			    .seed = seed,
			    .progress = progress};
	f.result = ARENA_NEW(arena, struct fit_result);
	f.result->stages = ARENA_ARRAY(arena, cfg_count(stages), struct fit_stage_result);
	for (size_t i = 0; i < cfg_count(stages) && diag_count(diag) == 0 && !f.broken; i++)
		run_stage(&f, cfg_at(stages, i), &f.result->stages[f.result->stage_count++]);
	*broken = f.broken;
	return diag_count(diag) || f.broken ? NULL : f.result;
}

/* ---- rows that are there already ---- */

/* The most that a row feels of the parameter alone; 0: the rows' cases have none such. */
static double felt(struct fitting *f, const struct scenario *scenario,
		   const struct fit_offer *offer)
{
	const struct cfg_param *param = cfg_param_find(scenario->resolution, offer->path);
	if (!param || param->row->kind != PARAM_KIND_NUMBER)
		return 0;
	double x = log(offer->start), out[FIT_ROWS_MAX], most = 0;
	f->first = f->result->count;
	f->count = 1;
	f->result->parameters[f->first] = (struct fitted_parameter){.path = offer->path,
								    .row = param->row,
								    .start = offer->start,
								    .min = offer->low,
								    .max = offer->high,
								    .value = offer->start};
	slopes(f, &x, 0, WIDE_DIFFERENCE, out);
	for (size_t i = 0; i < f->row_count; i++)
		most = fmax(most, fabs(out[i]));
	return most;
}

/* Sets the stage's parameters: the most felt ones, in the order of the offers. */
static void choose(struct fitting *f, const struct fit_rows_request *request,
		   const struct scenario *scenario)
{
	double most[FIT_TOTAL_MAX], limit = FELT;
	size_t room = request->row_count / 2;
	room = room < FIT_PARAMETERS_MAX ? room : FIT_PARAMETERS_MAX;
	for (size_t i = 0; i < request->offer_count; i++)
		most[i] = felt(f, scenario, &request->offers[i]);
	f->first = f->count = 0;
	for (size_t turn = 0; turn < request->offer_count; turn++) {
		size_t above = 0;
		for (size_t i = 0; i < request->offer_count; i++)
			above += most[i] >= limit;
		if (above <= room)
			break;
		double least = INFINITY; /* of those still in: it goes */
		for (size_t i = 0; i < request->offer_count; i++)
			if (most[i] >= limit)
				least = fmin(least, most[i]);
		limit = nextafter(least, INFINITY);
	}
	for (size_t i = 0; i < request->offer_count && f->count < room; i++) {
		const struct fit_offer *offer = &request->offers[i];
		if (most[i] < limit)
			continue;
		f->result->parameters[f->count++] = (struct fitted_parameter){
			.path = offer->path,
			.row = cfg_param_find(scenario->resolution, offer->path)->row,
			.start = offer->start,
			.min = offer->low,
			.max = offer->high,
			.value = offer->start,
			.note = request->note};
	}
	f->result->count = f->count;
}

/* Takes out the least felt parameter of those of which the rows told nothing; the others
 * start from what was found. */
static bool drop_untold(struct fitting *f)
{
	struct fitted_parameter *parameters = f->result->parameters;
	size_t worst = f->count;
	for (size_t i = 0; i < f->count; i++) {
		parameters[i].start = parameters[i].value;
		if (parameters[i].low <= parameters[i].min &&
		    parameters[i].high >= parameters[i].max &&
		    (worst == f->count || f->felt[i] < f->felt[worst]))
			worst = i;
	}
	if (worst == f->count || f->count == 1)
		return false;
	memmove(&parameters[worst], &parameters[worst + 1],
		(f->count - worst - 1) * sizeof *parameters);
	f->result->count = --f->count;
	return true;
}

const struct fit_result *fit_rows(struct arena *arena, struct diag *diag, const char *data_root,
				  const struct fit_rows_request *request, uint64_t seed,
				  FILE *progress, const char **broken)
{
	FW_ASSERT(request->row_count <= FIT_ROWS_MAX && request->offer_count <= FIT_TOTAL_MAX);
	*broken = NULL;
	const struct case_request first = dataset_request(request->rows[0], data_root);
	const struct scenario *scenario = case_read(arena, diag, &first);
	if (!scenario)
		return NULL;
	struct fitting f = {.arena = arena,
			    .diag = diag,
			    .data_root = data_root,
			    .seed = seed,
			    .progress = progress};
	f.result = ARENA_NEW(arena, struct fit_result);
	struct fit_stage_result *stage = f.result->stages =
		ARENA_NEW(arena, struct fit_stage_result);
	f.stage = stage;
	f.row_count = request->row_count;
	memcpy(f.rows, request->rows, f.row_count * sizeof *f.rows);
	choose(&f, request, scenario);
	if (f.count == 0 && !f.failed)
		diag_error(diag, (struct origin){0},
			   "the measured times move with none of the parameters that there are");
	*broken = f.broken;
	if (f.count == 0 || f.failed || f.broken)
		return NULL;
	stage->profiles = ARENA_ARRAY(arena, 1, const char *);
	stage->profiles[stage->profile_count++] = add_profile(&f, request->profile);
	stage->row_count = f.row_count;
	const char **labels = ARENA_ARRAY(arena, f.row_count, const char *);
	for (size_t i = 0; i < f.row_count; i++)
		labels[i] = f.rows[i]->label;
	stage->row_labels = labels;
	f.result->stage_count = 1;
	bool found = minimise(&f, stage);
	while (found && drop_untold(&f))
		found = minimise(&f, stage);
	stage->count = f.count;
	*broken = f.broken;
	return found ? f.result : NULL;
}
