/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of the model error, one for each mechanism (docs/models/intervals.md). */
#include <unistd.h>

#include "sim/base/hash.h"
#include "sim/gpu/models.h"
#include "sim/scenario/case.h"
#include "sim/traces/rescale.h"

/* Scatter of a recorded step from run to run: an assumption, the same as for rows of fits
 * (calib/fit/fit.c). */
static const double RUN_TO_RUN_RATIO = 0.005;

struct error_params {
	double local_ratio, forwarded_ratio, training_ratio, exposed_ratio, wire_ratio, tcp_ratio,
		message_ratio, token_ratio, prompt_ratio;
};
#define ERROR_ROW(field_, what_)                                                                   \
	PARAM_NUMBER(struct error_params, field_, QUANTITY_RATIO, 0, 3, "5 %",                     \
		     "standard deviation of the relative model error of " what_,                   \
		     "assumption: used until a fit sets it (calib/profiles/model-error.cfg)")
static const struct param_row error_rows[MECHANISM_COUNT] = {
	[MECHANISM_LOCAL] = ERROR_ROW(local_ratio, "the time of one GPU with the local driver"),
	[MECHANISM_FORWARDED] = ERROR_ROW(forwarded_ratio, "the time that forwarding adds"),
	[MECHANISM_TRAINING] = ERROR_ROW(training_ratio, "a whole step of several GPUs"),
	[MECHANISM_EXPOSED] = ERROR_ROW(exposed_ratio, "the time that several GPUs add to a step"),
	[MECHANISM_WIRE] = ERROR_ROW(wire_ratio, "a collective's bytes on NVLink, PCIe or RDMA"),
	[MECHANISM_TCP] = ERROR_ROW(tcp_ratio, "a collective's bytes over TCP"),
	[MECHANISM_MESSAGE] = ERROR_ROW(message_ratio, "the time of a collective of a few bytes"),
	[MECHANISM_TOKEN] =
		ERROR_ROW(token_ratio, "a model server's iterations that only generate tokens"),
	[MECHANISM_PROMPT] =
		ERROR_ROW(prompt_ratio, "a model server's iterations that process prompts"),
};

const char *mechanism_path(enum mechanism mechanism)
{
	static const char *const paths[MECHANISM_COUNT] = {
		"error.local", "error.forwarded", "error.training", "error.exposed", "error.wire",
		"error.tcp",   "error.message",   "error.token",    "error.prompt"};
	return paths[mechanism];
}

static bool plays_recorded_times(const struct scenario *scenario)
{
	const struct job_entry *job = &scenario->jobs[0];
	const char *profile = scenario->topology.gpus[job->gpus[0]].profile;
	return job->recorded &&
	       (!job->recorded->gpu || strcmp(job->recorded->profile, profile) == 0);
}

enum mechanism scenario_mechanism(const struct scenario *scenario, enum case_part part)
{
	static const enum mechanism mechanisms[CASE_KIND_COUNT][CASE_PART_COUNT] = {
		[CASE_LOCAL] = {MECHANISM_LOCAL, MECHANISM_COUNT, MECHANISM_COUNT},
		[CASE_FORWARDED] = {MECHANISM_LOCAL, MECHANISM_COUNT, MECHANISM_FORWARDED},
		[CASE_TRAINING] = {MECHANISM_LOCAL, MECHANISM_TRAINING, MECHANISM_EXPOSED},
		[CASE_COLLECTIVE] = {MECHANISM_COUNT, MECHANISM_WIRE, MECHANISM_MESSAGE},
		[CASE_SERVING] = {MECHANISM_TOKEN, MECHANISM_PROMPT, MECHANISM_COUNT},
	};
	bool serves = scenario->style == JOBS_SERVING && part != PART_ADDED;
	enum mechanism mechanism =
		mechanisms[serves ? CASE_SERVING : scenario_kind(scenario)][part];
	if (part == PART_ONE_GPU && plays_recorded_times(scenario))
		return MECHANISM_COUNT;
	bool sockets = scenario_transport(scenario) && scenario->jobs[0].transport->sockets;
	return mechanism == MECHANISM_WIRE && sockets ? MECHANISM_TCP : mechanism;
}

enum case_kind scenario_kind(const struct scenario *scenario)
{
	if (scenario->style == JOBS_COLLECTIVE)
		return CASE_COLLECTIVE;
	bool serves = scenario->style == JOBS_SERVING;
	for (size_t i = 0; i < scenario->job_count && !serves; i++)
		if (scenario->jobs[i].rank_count > 1)
			return CASE_TRAINING;
	for (size_t i = 0; i < scenario->job_count; i++)
		if (scenario->jobs[i].runtime)
			return CASE_FORWARDED;
	return serves ? CASE_SERVING : CASE_LOCAL;
}

bool scenario_has_gpus(const struct scenario *scenario)
{
	if (scenario->style == JOBS_SERVING)
		return false;
	bool several = scenario->style != JOBS_PROGRAMS || scenario->params->gpus_count > 0;
	for (size_t i = 0; i < scenario->job_count; i++)
		several = several || scenario->jobs[i].rank_count > 1;
	return several;
}

bool case_kind_has_parts(enum case_kind kind)
{
	return kind == CASE_FORWARDED || kind == CASE_TRAINING;
}

struct model_error model_error_sum(struct model_error a, struct model_error b)
{
	double squares_a = a.ratio * a.ratio, squares_b = b.ratio * b.ratio,
	       squares = squares_a + squares_b, spread = 0;
	if (a.freedom_count > 0)
		spread += squares_a * squares_a / a.freedom_count;
	if (b.freedom_count > 0)
		spread += squares_b * squares_b / b.freedom_count;
	return (struct model_error){sqrt(squares), spread > 0 ? squares * squares / spread : 0};
}

/* ---- words ---- */

const char *distance_name(enum distance distance)
{
	static const char *const names[DISTANCE_COUNT] = {"same system", "same kind of machine",
							  "new machine", "new library"};
	return names[distance];
}

static const char *words_of(enum distance distance, enum case_part part)
{
	static const char *const words[DISTANCE_COUNT] = {
		"this system was measured, and parameters are fitted to it",
		"machines of this kind were measured, but not this system",
		"no machine of this kind was measured", "nothing with this library was measured"};
	if (distance == DISTANCE_NEW_LIBRARY && part == PART_ONE_GPU)
		return "nothing with this framework was measured";
	return words[distance];
}

static const char *measured_words(struct arena *arena, const struct scenario *scenario)
{
	enum case_kind kind = scenario_kind(scenario);
	const enum distance *d = scenario->distances;
	if (!case_kind_has_parts(kind))
		return words_of(d[PART_OWN], kind == CASE_COLLECTIVE ? PART_OWN : PART_ONE_GPU);
	if (d[PART_ONE_GPU] == d[PART_OWN] && d[PART_OWN] < DISTANCE_NEW_LIBRARY)
		return words_of(d[PART_OWN], PART_OWN);
	return arena_printf(arena, "for one GPU, %s; for %s, %s",
			    words_of(d[PART_ONE_GPU], PART_ONE_GPU),
			    kind == CASE_TRAINING ? "several GPUs" : "forwarding",
			    words_of(d[PART_OWN], PART_OWN));
}

static bool is_timed(const struct recorded_calls *recorded)
{
	for (size_t i = 0; i < recorded->call_count; i++)
		if (recorded->calls[i].gpu_start_s >= 0)
			return true;
	return false;
}

/* Compares the step with the recorded one, whose time is the mean of all ranks. */
static const char *recorded_words(struct arena *arena, const struct recorded_program *program,
				  double step_s)
{
	size_t count = program->job ? program->job->rank_count : 1;
	const struct replay_step *steps = program->job ? program->steps : &program->step;
	double recorded_s = 0;
	for (size_t i = 0; i < count; i++)
		recorded_s += (steps[i].end_s - steps[i].start_s) / (double)count;
	bool alone = !program->job && recorded_calls_peers(program->calls);
	const char *words = arena_printf(
		arena, "the recorded step took %s, so the simulated one differs by %+.1f %%%s",
		quantity_format(arena, QUANTITY_TIME, recorded_s), 100 * (step_s / recorded_s - 1),
		alone ? " (only the computation is simulated: collectives take their "
			"recorded time, unless case.gpus is given)"
		      : "");
	if (!(recorded_s > 0) || !is_timed(program->calls))
		words = "the recording does not say when the GPU worked, so it has no step time";
	if (program->calls->thread_count < 2)
		return words;
	return arena_printf(arena,
			    "%s; the recording has %u threads and does not state which ones wait "
			    "for each other, so this follows from the gaps between their calls",
			    words, (unsigned)program->calls->thread_count);
}

/* Says how kernel times come from the GPU of the recording to that of the case; "" if it is the
 * same. */
static const char *moved_words(struct arena *arena, const struct scenario *scenario,
			       const struct recorded_program *program)
{
	const struct gpu_entry *gpu = &scenario->topology.gpus[scenario->jobs[0].gpus[0]];
	const char *lacking, *named = program->calls->gpu;
	if (!program->gpu)
		return arena_printf(
			arena,
			"; kernel times are those of the recorded GPU, which %s%s%s, so "
			"they are not scaled to %s (write its profile, for example "
			"--set calls.gpu=%s)",
			named[0] ? "has no profile (" : "the recording does not name", named,
			named[0] ? ")" : "", gpu->profile,
			named[0] ? gpu_model_nearest(named) : gpu->profile);
	if (strcmp(program->profile, gpu->profile) == 0)
		return "";
	struct rescaling rescaling = {
		program->gpu, &gpu->params, false, program->params->arithmetic_ratio, {0}};
	return arena_printf(
		arena, "; from %s to %s, %s", program->profile, gpu->profile,
		rescale_words(arena, program->calls, &program->step, &rescaling, &lacking));
}

const char *scenario_distance_words(struct arena *arena, const struct scenario *scenario,
				    double step_s)
{
	const char *words = measured_words(arena, scenario);
	const struct recorded_program *program = scenario->jobs[0].recorded;
	if (!program || !(step_s > 0))
		return words;
	return arena_printf(arena, "%s; %s%s", words, recorded_words(arena, program, step_s),
			    moved_words(arena, scenario, program));
}

/* ---- reading ---- */

void case_note_evidence(struct reader *c, const struct cfg_node *file)
{
	const struct evidence *list;
	size_t count =
		evidence_read(c->arena, cfg_child(file, "fitted_on"), c->request->without, &list);
	for (size_t i = 0; i < count; i++)
		*VEC_PUSH(c->arena, &c->evidence) = list[i];
}

static bool states_rate(const struct reader *c)
{
	const struct job_entry *job = &c->scenario->jobs[0];
	const struct gpu_entry *gpu = &c->scenario->topology.gpus[job->gpus[0]];
	const char *path = arena_printf(c->arena, "efficiency.%s.%s.peak", gpu->like, job->model);
	const struct cfg_param *peak = cfg_param_find(c->resolution, path);
	return peak && peak->value > 0 && peak->source >= CFG_SOURCE_SET;
}

static enum distance distance_of(const struct reader *c, enum case_part part,
				 const struct cfg_node *file)
{
	const struct evidence own = evidence_of(c->arena, c->scenario), *all;
	size_t count =
		evidence_read(c->arena, cfg_child(file, "fitted_on"), c->request->without, &all);
	if (!c->params->gpu_profiles)
		count = evidence_of_other_generations(c->arena, &own, all, count, &all);
	enum distance d =
		evidence_distance(&own, part, c->evidence.items, c->evidence.count, all, count);
	bool local = part == PART_ONE_GPU || scenario_kind(c->scenario) == CASE_LOCAL;
	if (local && states_rate(c))
		return DISTANCE_SAME_SYSTEM;
	/* A user's calibration does not say on what it was measured. */
	return c->own_profile && d > DISTANCE_SAME_KIND ? DISTANCE_SAME_KIND : d;
}

/* Returns the value group of the error, or NULL. */
static const struct cfg_node *find_error(const struct cfg_node *file, enum mechanism mechanism,
					 enum distance distance)
{
	const struct cfg_node *list = cfg_child(file, "parameters");
	for (size_t i = 0; i < cfg_count(list); i++) {
		const char *of = cfg_text(cfg_child(cfg_at(list, i), "path")),
			   *at = cfg_text(cfg_child(cfg_at(list, i), "distance"));
		if (of && at && strcmp(of, mechanism_path(mechanism)) == 0 &&
		    strcmp(at, distance_name(distance)) == 0)
			return cfg_child(cfg_at(list, i), "fit");
	}
	return NULL;
}

struct model_error case_error_at(const struct cfg_node *file, enum mechanism mechanism,
				 enum distance distance)
{
	const struct cfg_node *fit = find_error(file, mechanism, distance);
	const char *value = cfg_text(cfg_child(fit, "value"));
	struct model_error error = {0};
	if (value && cfg_number(cfg_child(fit, "freedom"), &error.freedom_count))
		error.ratio = strtod(value, NULL);
	return error;
}

static struct model_error read_error(struct reader *c, enum mechanism mechanism,
				     enum distance distance, const struct cfg_node *file)
{
	const struct param_table table = {.name = "error",
					  .size = sizeof(struct error_params),
					  .rows = &error_rows[mechanism],
					  .count = 1};
	const char *path = mechanism_path(mechanism);
	const struct cfg_node *fit = find_error(file, mechanism, distance);
	if (fit)
		cfg_override_node(c->resolution, path, fit);
	struct error_params params;
	reader_params(c, NULL, "error", "error", &table, &params);
	const struct cfg_param *param = cfg_param_find(c->resolution, path);
	if (c->request->without)
		return (struct model_error){0};
	return (struct model_error){param->value, param->freedom_count};
}

static uint64_t one_gpu_hash(const struct reader *c)
{
	static const enum evidence_word words[] = {EVIDENCE_GPU, EVIDENCE_STACK, EVIDENCE_NUMBERS,
						   EVIDENCE_MODEL};
	const struct evidence evidence = evidence_of(c->arena, c->scenario);
	double batch_count = c->scenario->jobs[0].batch_count;
	uint64_t hash = hash_bytes(HASH_START, &batch_count, sizeof batch_count);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		hash = hash_text(hash, evidence.words[words[i]]);
	return hash >> 32 | 1; /* a whole number that JSON keeps, and not 0 */
}

void case_read_error(struct reader *c)
{
	struct scenario *scenario = c->scenario;
	const char *path = arena_printf(c->arena, "%s/calib/profiles/" MODEL_ERROR ".cfg", c->root);
	const struct cfg_node *file =
		access(path, R_OK) == 0 ? cfg_read(c->arena, c->diag, path) : NULL;
	enum case_kind kind = scenario_kind(scenario);
	if (diag_count(c->diag) > 0)
		return;
	struct model_error *errors = scenario->errors;
	for (enum case_part part = 0; part < CASE_PART_COUNT; part++) {
		bool apart = case_kind_has_parts(kind), serves = scenario->style == JOBS_SERVING;
		bool one_gpu = apart && (serves ? part != PART_ADDED : part == PART_ONE_GPU);
		enum mechanism mechanism =
			one_gpu && !serves ? MECHANISM_LOCAL : scenario_mechanism(scenario, part);
		scenario->distances[part] = distance_of(c, one_gpu ? PART_ONE_GPU : PART_OWN, file);
		if (mechanism < MECHANISM_COUNT)
			errors[part] = read_error(c, mechanism, scenario->distances[part], file);
	}
	if (plays_recorded_times(scenario) && errors[PART_ONE_GPU].ratio > 0)
		errors[PART_ONE_GPU] = (struct model_error){.ratio = RUN_TO_RUN_RATIO};
	scenario->one_gpu_hash = one_gpu_hash(c);
}
