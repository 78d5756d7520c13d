/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/fitting.h"

/* Assumed run-to-run spread of a throughput, if the source gives none. */
static const double SPREAD_RATIO = 0.005;
static const double TOLERANCE = 2e-4;
/* An offered parameter is used if it moves a row by more than this. */
static const double FELT = 0.01;
/* Largest deviation of a kernel that counts. */
static const double KERNEL_MOST = 0.4;
enum { EVALUATIONS_MAX = 160, SCAN = 3 /* doublings in each direction */ };

bool fit_stage_holds(const struct fit_stage_result *stage, const char *profile)
{
	for (size_t i = 0; i < stage->profile_count; i++)
		if (strcmp(stage->profiles[i], profile) == 0)
			return true;
	return false;
}

/* Returns the profile that the row names, before fits remove it, or "". */
static const char *profile_of(const struct dataset_row *row)
{
	static const char key[] = "case.profile=";
	const char *profile = "";
	for (size_t i = 0; i + 2 < row->setting_count; i++) /* read_rows adds two */
		if (strncmp(row->settings[i].text, key, sizeof key - 1) == 0)
			profile = row->settings[i].text + sizeof key - 1;
	return profile;
}

/* Returns true if the row sees the results of an earlier stage. */
static bool sees(const struct fitting *f, const struct dataset_row *row,
		 const struct fit_stage_result *earlier)
{
	const char *profile = profile_of(row);
	for (size_t k = 0; f->with && k < cfg_count(f->with); k++)
		if (cfg_text(cfg_at(f->with, k)) &&
		    fit_stage_holds(earlier, cfg_text(cfg_at(f->with, k))))
			return true;
	if (fit_stage_holds(f->stage, profile))
		return fit_stage_holds(earlier, profile);
	for (size_t k = 0; k < f->stage->profile_count; k++)
		if (fit_stage_holds(earlier, f->stage->profiles[k]))
			return true;
	return false;
}

size_t fitting_values(const struct fitting *f, const struct dataset_row *row,
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

/* Returns ln(value / measured); for a row that is a range the distance to it, 0 inside. */
static double distance(const struct dataset_row *row, double value)
{
	if (!row->relative)
		return log(value / row->measured);
	return log(value / fmin(fmax(value, row->low), row->high));
}

/* Returns the time of a single kernel with the values that the fit gives to its generation. */
static double kernel_s(const struct fitting *f, const struct fitting_kernel *kernel,
		       const struct draw_value *draws, size_t count)
{
	struct kernel_params kernels = kernel->kernels;
	const struct efficiency_params law = {.law_ratio = 1, .kernels = &kernels, .alone = true};
	const char *generation = gpu_generation_name((enum gpu_generation)kernel->gpu.generation);
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		while (k < f->result->count &&
		       strcmp(f->result->parameters[k].path, draws[i].path) != 0)
			k++;
		if (k < f->result->count && strncmp(draws[i].path, "kernels.", 8) == 0 &&
		    strncmp(draws[i].path + 8, generation, strlen(generation)) == 0)
			memcpy((char *)&kernels + f->result->parameters[k].row->offset,
			       &draws[i].value, sizeof draws[i].value);
	}
	return single_kernel_s(&kernel->run, &kernel->gpu, &law);
}

double fitting_residual(struct fitting *f, size_t row, const struct draw_value *more,
			size_t more_count)
{
	struct arena *scratch = arena_new();
	struct diag *diag = diag_new(scratch);
	const char *broken = NULL;
	struct draw_value *draws =
		ARENA_ARRAY(scratch, FIT_TOTAL_MAX + more_count, struct draw_value);
	size_t count = fitting_values(f, f->rows[row], draws);
	if (more_count)
		memcpy(&draws[count], more, more_count * sizeof *more);
	double value = f->kernels[row]
			       ? kernel_s(f, f->kernels[row], draws, count + more_count)
			       : dataset_point(scratch, diag, f->rows[row], f->data_root, draws,
					       count + more_count, f->seed, f->baselines, &broken);
	if (broken && !f->broken)
		f->broken = arena_strdup(f->arena, broken);
	if (diag_count(diag) && !f->failed) {
		f->failed = true;
		for (size_t k = 0; k < diag_count(diag) && k < 20; k++)
			diag_error(f->diag, (struct origin){0}, "%s", diag_at(diag, k));
	}
	arena_free(scratch);
	/* a failure counts as a large deviation */
	double by = isfinite(value) && value > 0 ? distance(f->rows[row], value) : 5;
	return f->kernels[row] ? fmax(-KERNEL_MOST, fmin(by, KERNEL_MOST)) : by;
}

void fitting_residuals(struct fitting *f, double *out)
{
	for (size_t i = 0; i < f->row_count; i++)
		out[i] = fitting_residual(f, i, NULL, 0);
}

double fitting_scale(const struct dataset_row *row)
{
	return sqrt(SPREAD_RATIO * SPREAD_RATIO + row->rounding_ratio * row->rounding_ratio / 3);
}

void fitting_set(struct fitting *f, const double *x)
{
	for (size_t i = 0; i < f->count; i++)
		f->result->parameters[f->first + i].value = exp(x[i]);
}

static double chi_squared(const double *x, void *ctx)
{
	struct fitting *f = ctx;
	double out[FIT_ROWS_MAX], sum = 0;
	fitting_set(f, x);
	fitting_residuals(f, out);
	for (size_t i = 0; i < f->row_count; i++)
		sum += pow(out[i] / fitting_scale(f->rows[i]), 2);
	if (f->progress) {
		fputc('.', f->progress);
		fflush(f->progress);
	}
	return sum;
}

/* Searches from the start, or for a single parameter from the best of several starts around it,
 * because chi^2 may be a staircase. */
static void search(struct fitting *f, double *x)
{
	double step[FIT_PARAMETERS_MAX], low[FIT_PARAMETERS_MAX], high[FIT_PARAMETERS_MAX];
	FW_ASSERT(f->count > 0);
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
	num_minimise(chi_squared, f, f->count, x, step, low, high, TOLERANCE, EVALUATIONS_MAX);
}

/* Finds the stage's parameters, their intervals and the remaining error. Returns false after
 * errors. */
static bool minimise(struct fitting *f, struct fit_stage_result *stage)
{
	double x[FIT_PARAMETERS_MAX], out[FIT_ROWS_MAX], squares = 0;
	search(f, x);
	fitting_set(f, x);
	fitting_residuals(f, out);
	for (size_t i = 0; i < f->row_count; i++)
		squares += out[i] * out[i];
	stage->rms_ratio = sqrt(squares / (double)f->row_count);
	spread_set(f, x);
	if (f->progress)
		fputc('\n', f->progress);
	return !f->failed && !f->broken;
}

/* ---- reading the fit file ---- */

static const char *need(struct fitting *f, const struct cfg_node *group, const char *key)
{
	const char *text = cfg_text(cfg_child(group, key));
	if (!text)
		diag_error(f->diag, cfg_origin(group), "fit: %s is missing (write %s = \"...\")",
			   key, key);
	return text ? text : "";
}

/* Reads a bound or start in the parameter's quantity. */
static double need_value(struct fitting *f, const struct cfg_node *group, const char *key,
			 const struct param_row *row)
{
	double value = 1;
	const char *wrong = quantity_parse(f->arena, row->quantity, need(f, group, key), &value);
	if (wrong)
		diag_error(f->diag, cfg_origin(group), "fit: %s %s", key, wrong);
	else if (!(value > 0))
		diag_error(
			f->diag, cfg_origin(group),
			"fit: %s must be above zero, because parameters are fitted on a log scale",
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
			   "fit: the cases of the rows have no numeric parameter '%s' (`farwire "
			   "explain CASE` lists their parameters)",
			   path);
	return param && param->row->kind == PARAM_KIND_NUMBER ? param->row : NULL;
}

static void read_parameters(struct fitting *f, const struct cfg_node *stage)
{
	const struct cfg_node *list = cfg_child(stage, "parameters");
	size_t count = list ? cfg_count(list) : 0;
	f->first = f->result->count;
	f->count = 0;
	if (count == 0 || count > FIT_PARAMETERS_MAX || f->first + count > FIT_TOTAL_MAX) {
		diag_error(f->diag, cfg_origin(stage),
			   "fit: a stage must have 1 to %d parameters, and all stages %d",
			   FIT_PARAMETERS_MAX, FIT_TOTAL_MAX);
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

static bool label_has_any(const struct cfg_node *texts, const char *label)
{
	bool found = cfg_text(texts) && label_has(label, cfg_text(texts));
	for (size_t i = 0; !cfg_text(texts) && !found && i < cfg_count(texts); i++)
		found = label_has_any(cfg_at(texts, i), label);
	return found;
}

static bool label_has_all(const struct cfg_node *texts, const char *label)
{
	for (size_t i = 0; texts && i < cfg_count(texts); i++)
		if (!label_has_any(cfg_at(texts, i), label))
			return false;
	return true;
}

static void add_rows(struct fitting *f, const struct dataset_row *rows, size_t count,
		     const struct cfg_node *texts)
{
	size_t found = 0, first = f->row_count;
	bool *fits = ARENA_ARRAY(f->arena, count + 1, bool);
	for (size_t i = 0; i < count; i++)
		found += fits[i] = rows[i].role == ROLE_FIT && isfinite(rows[i].measured) &&
				   label_has_all(texts, rows[i].label);
	size_t every = found / (FIT_ROWS_MAX - first) + 1, seen = 0;
	for (size_t i = 0; i < count; i++)
		if (fits[i] && seen++ % every == 0)
			f->rows[f->row_count++] = &rows[i];
}

static void read_rows(struct fitting *f, const struct cfg_node *stage)
{
	/* Profiles are results of fits, so fits do not use them. A stage does not see what an
	 * earlier fit wrote into its profiles, or into those of the stages before, either. */
	const char *without = "case.gpu_profiles_without=";
	for (size_t i = 0; i < f->stage->profile_count; i++)
		without = arena_printf(f->arena, "%s%s%s", without, i ? " " : "",
				       f->stage->profiles[i]);
	for (size_t i = 0; i < f->result->profile_count; i++)
		without = arena_printf(f->arena, "%s %s", without, f->result->profiles[i]);
	const struct setting settings[] = {{"case.profile=", {"fit", 0}}, {without, {"fit", 0}}};
	f->row_count = 0;
	const struct dataset *dataset = dataset_read(f->arena, f->diag, f->data_root,
						     need(f, stage, "dataset"), settings, 2);
	const struct cfg_node *texts = cfg_child(stage, "rows");
	f->slow = dataset && dataset->slow;
	if (dataset) {
		add_rows(f, dataset->rows, dataset->row_count, texts);
		add_rows(f, dataset->observations, dataset->observation_count, texts);
	}
	if (dataset && f->row_count == 0)
		diag_error(f->diag, cfg_origin(stage),
			   "fit: no row of role fit has a label with all these texts (write other "
			   "rows = [ ... ])");
}

/* Returns the result's copy of a profile's name and adds it if it is new. */
static const char *add_profile(struct fitting *f, const char *name)
{
	struct fit_result *result = f->result;
	for (size_t i = 0; i < result->profile_count; i++)
		if (strcmp(result->profiles[i], name) == 0)
			return result->profiles[i];
	return result->profiles[result->profile_count++] = name;
}

/* `profile` is a name, or a list of names that all receive the results. */
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
				   "fit: profile must be one name, or a list of at most %d names",
				   FIT_PROFILES_MAX);
			return;
		}
		stage->profiles[stage->profile_count++] = add_profile(f, name);
	}
}

/* Returns what the row's kernel needs; NULL: the row is a program. Kernels of a GPU share their
 * evidence. */
static const struct fitting_kernel *kernel_of(struct fitting *f, size_t row)
{
	struct arena *scratch = arena_new();
	const struct case_request request = dataset_request(f->rows[row], f->data_root);
	const struct scenario *scenario = case_read(scratch, diag_new(scratch), &request);
	const struct job_entry *job = scenario ? &scenario->jobs[0] : NULL;
	struct fitting_kernel *kernel = NULL;
	if (job && job->kernel) {
		kernel = ARENA_NEW(f->arena, struct fitting_kernel);
		kernel->gpu = scenario->topology.gpus[job->gpus[0]].params;
		kernel->kernels = *job->efficiency->kernels;
		kernel->run = *job->kernel;
	}
	arena_free(scratch);
	return kernel;
}

/* Takes the current rows, with what they were measured on, as those of the stage. */
static void keep_rows(struct fitting *f, struct fit_stage_result *stage)
{
	stage->row_count = f->row_count;
	const char **labels = ARENA_ARRAY(f->arena, f->row_count, const char *);
	struct evidence *evidence = ARENA_ARRAY(f->arena, f->row_count, struct evidence);
	for (size_t i = 0; i < f->row_count; i++) {
		const struct case_request request = dataset_request(f->rows[i], f->data_root);
		labels[i] = f->rows[i]->label;
		f->kernels[i] = kernel_of(f, i);
		bool known = i > 0 && f->kernels[i] && f->kernels[i - 1] &&
			     memcmp(&f->kernels[i]->gpu, &f->kernels[i - 1]->gpu,
				    sizeof f->kernels[i]->gpu) == 0;
		const struct scenario *scenario =
			known ? NULL : case_read(f->arena, diag_new(f->arena), &request);
		if (known)
			evidence[i] = evidence[i - 1];
		else if (scenario)
			evidence[i] = dataset_evidence(f->arena, f->rows[i], scenario);
	}
	stage->row_labels = labels;
	stage->evidence = evidence;
	stage->rows = ARENA_ARRAY(f->arena, f->row_count, const struct dataset_row *);
	memcpy(stage->rows, f->rows, f->row_count * sizeof *stage->rows);
	stage->leverage = ARENA_ARRAY(f->arena, f->row_count, double);
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
	keep_rows(f, stage);
	struct fit_stage_result *stages = f->result->stages;
	size_t index = (size_t)(stage - stages);
	stage->seen = ARENA_ARRAY(f->arena, index + 1, bool);
	for (size_t k = index; k-- > 0;) {
		for (size_t i = 0; i < f->row_count; i++)
			stage->seen[k] = stage->seen[k] || sees(f, f->rows[i], &stages[k]);
		for (size_t i = 0; stage->seen[k] && i < k; i++)
			stage->seen[i] = stage->seen[i] || stages[k].seen[i];
	}
	if (f->progress)
		fprintf(f->progress, "%s: %zu parameters, %zu rows ", stage->profiles[0], f->count,
			f->row_count);
	if (!range_fit(f, stage))
		minimise(f, stage);
}

const struct fit_result *fit_run(struct arena *arena, struct diag *diag, const char *data_root,
				 const char *name, uint64_t seed, FILE *progress,
				 const char **broken)
{
	*broken = NULL;
	const char *path = data_path(arena, diag, (struct origin){0}, data_root, "calib/fits",
				     "fit", name, NULL);
	const struct cfg_node *file = path ? cfg_read(arena, diag, path) : NULL;
	const struct cfg_node *stages = cfg_child(cfg_child(file, "fit"), "stages");
	if (file && !stages)
		diag_error(diag, cfg_origin(file),
			   "the file has no list of stages (write fit = { stages = ( ... ); };)");
	if (!stages)
		return NULL;
	struct fitting f = {.arena = arena,
			    .diag = diag,
			    .data_root = data_root,
			    .seed = seed,
			    .progress = progress,
			    .baselines = baselines_new()};
	f.result = ARENA_NEW(arena, struct fit_result);
	f.result->stages = ARENA_ARRAY(arena, cfg_count(stages), struct fit_stage_result);
	for (size_t i = 0; i < cfg_count(stages) && diag_count(diag) == 0 && !f.broken; i++)
		run_stage(&f, cfg_at(stages, i), &f.result->stages[f.result->stage_count++]);
	baselines_free(f.baselines);
	*broken = f.broken;
	return diag_count(diag) || f.broken ? NULL : f.result;
}

/* ---- given rows ---- */

static struct fitted_parameter offered(const struct fit_offer *offer, const struct param_row *row)
{
	return (struct fitted_parameter){.path = offer->path,
					 .row = row,
					 .start = offer->start,
					 .min = offer->low,
					 .max = offer->high,
					 .value = offer->start};
}

/* Returns the largest sensitivity of a row to the parameter; 0: the rows' cases do not have it. */
static double felt(struct fitting *f, const struct scenario *scenario,
		   const struct fit_offer *offer)
{
	const struct cfg_param *param = cfg_param_find(scenario->resolution, offer->path);
	if (!param || param->row->kind != PARAM_KIND_NUMBER)
		return 0;
	double x = log(offer->start);
	f->first = f->result->count;
	f->count = 1;
	f->result->parameters[f->first] = offered(offer, param->row);
	return spread_felt(f, &x, 0);
}

/* Sets the stage's parameters: those with the largest sensitivity, in the order of the offers. */
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
		double least = INFINITY; /* smallest remaining one, which is removed */
		for (size_t i = 0; i < request->offer_count; i++)
			if (most[i] >= limit)
				least = fmin(least, most[i]);
		limit = nextafter(least, INFINITY);
	}
	for (size_t i = 0; i < request->offer_count && f->count < room; i++) {
		const struct fit_offer *offer = &request->offers[i];
		if (most[i] < limit)
			continue;
		struct fitted_parameter *parameter = &f->result->parameters[f->count++];
		*parameter = offered(offer, cfg_param_find(scenario->resolution, offer->path)->row);
		parameter->note = request->note;
	}
	f->result->count = f->count;
}

/* Removes the least sensitive of the parameters that the rows do not determine. The others continue
 * from their results. */
static bool drop_undetermined(struct fitting *f)
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
			    .progress = progress,
			    .alone = true,
			    .baselines = baselines_new()};
	f.result = ARENA_NEW(arena, struct fit_result);
	struct fit_stage_result *stage = f.result->stages =
		ARENA_NEW(arena, struct fit_stage_result);
	f.stage = stage;
	f.row_count = request->row_count;
	memcpy(f.rows, request->rows, f.row_count * sizeof *f.rows);
	choose(&f, request, scenario);
	if (f.count == 0 && !f.failed)
		diag_error(diag, (struct origin){0},
			   "no parameter of the fit influences the measured times (measure smaller "
			   "and larger sizes)");
	*broken = f.broken;
	if (f.count == 0 || f.failed || f.broken) {
		baselines_free(f.baselines);
		return NULL;
	}
	stage->profiles = ARENA_ARRAY(arena, 1, const char *);
	stage->profiles[stage->profile_count++] = add_profile(&f, request->profile);
	keep_rows(&f, stage);
	f.result->stage_count = 1;
	bool found = minimise(&f, stage);
	while (found && drop_undetermined(&f))
		found = minimise(&f, stage);
	baselines_free(f.baselines);
	stage->count = f.count;
	*broken = f.broken;
	return found ? f.result : NULL;
}
