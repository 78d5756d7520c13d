/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/sensitivity.h"

/* A swing below this share of the answer counts as zero. */
static const double MOVING_RATIO = 1e-6;

struct sensitivity_finder {
	struct arena *arena;
	const struct sensitivity_request *request;
	struct analysis_input input; /* input of the request, with the recorded program */
	struct sensitivity *result;
	struct knobs knobs;
	struct swing *swings;
	const char *broken;
};

static bool matches(const char *key, const struct knob *knob)
{
	bool found = strstr(knob->name, key) != NULL;
	for (size_t m = 0; m < knob->count && !found; m++)
		found = strstr(knob->members[m]->path, key) ||
			paths_match(key, knob->members[m]->path);
	return found;
}

static bool wanted(const struct sensitivity_request *request, const struct knob *knob)
{
	bool found = request->key_count == 0;
	for (size_t k = 0; k < request->key_count && !found; k++)
		found = matches(request->keys[k], knob);
	return found;
}

static const char *find_unmatched(const struct sensitivity_finder *f)
{
	for (size_t k = 0; k < f->request->key_count; k++) {
		bool found = false;
		for (size_t i = 0; i < f->knobs.count && !found; i++)
			found = matches(f->request->keys[k], &f->knobs.items[i]);
		if (!found)
			return f->request->keys[k];
	}
	return NULL;
}

static void collect(struct sensitivity_finder *f)
{
	const struct sensitivity_request *request = f->request;
	f->knobs = request->vary_ratio > 0 ? knobs_scalable(f->arena, f->result->scenario)
					   : knobs_uncertain(f->arena, f->result->scenario);
	f->swings = ARENA_ARRAY(f->arena, f->knobs.count + 1, struct swing);
	f->result->unmatched = find_unmatched(f);
	for (size_t i = 0; i < f->knobs.count && !f->result->unmatched; i++)
		if (wanted(request, &f->knobs.items[i]))
			f->swings[f->result->swing_count++].knob = &f->knobs.items[i];
	f->result->swings = f->swings;
}

/* Returns a point at which the swing's knob is at its quantile u and all others are at their
 * present values. */
static struct case_point drawn(struct sensitivity_finder *f, const struct swing *swing, double u)
{
	double *all = ARENA_ARRAY(f->arena, f->knobs.count + 1, double);
	struct draw_value *draws =
		ARENA_ARRAY(f->arena, f->knobs.member_count + 1, struct draw_value);
	for (size_t k = 0; k < f->knobs.count; k++)
		all[k] = 0.5;
	all[swing->knob - f->knobs.items] = u;
	unknowns_draw(f->arena, f->knobs.unknowns, all, draws);
	return (struct case_point){.draws = draws, .draw_count = f->knobs.member_count};
}

static struct case_point scaled(struct sensitivity_finder *f, const struct swing *swing,
				double factor)
{
	size_t count = swing->knob->count;
	struct draw_value *draws = ARENA_ARRAY(f->arena, count, struct draw_value);
	for (size_t m = 0; m < count; m++)
		draws[m] = (struct draw_value){swing->knob->members[m]->path,
					       knob_scaled(swing->knob->members[m], factor)};
	return (struct case_point){.draws = draws, .draw_count = count};
}

/* Returns a point with the swing's knob at its low or high end. *x is the value of its first
 * member. */
static struct case_point end_of(struct sensitivity_finder *f, const struct swing *swing, bool up,
				double *x)
{
	double part = f->request->vary_ratio;
	struct case_point point = part > 0 ? scaled(f, swing, up ? 1 + part : 1 - part)
					   : drawn(f, swing, up ? 0.95 : 0.05);
	for (size_t i = 0; i < point.draw_count; i++)
		if (strcmp(point.draws[i].path, swing->knob->members[0]->path) == 0)
			*x = point.draws[i].value;
	return point;
}

static bool swing_all(struct sensitivity_finder *f)
{
	size_t count = f->result->swing_count;
	struct case_point *list = ARENA_ARRAY(f->arena, 2 * count + 1, struct case_point);
	struct case_answer *answers = ARENA_ARRAY(f->arena, 2 * count + 1, struct case_answer);
	for (size_t i = 0; i < 2 * count; i++) {
		struct swing *swing = &f->swings[i / 2];
		bool up = i % 2;
		list[i] = end_of(f, swing, up, up ? &swing->high_x : &swing->low_x);
	}
	struct points points = {f->input, f->result->reported};
	points.input.options.draws_count = 0;
	f->result->runs = 2 * count;
	if (!points_answer(f->arena, &points, list, 2 * count, answers, &f->broken))
		return false;
	double squares = 0;
	for (size_t i = 0; i < count; i++) {
		struct swing *swing = &f->swings[i];
		swing->low = answers[2 * i];
		swing->high = answers[2 * i + 1];
		double low = swing->low.number.value, high = swing->high.number.value;
		bool refused = swing->low.refused || swing->high.refused;
		swing->size = isfinite(high - low) ? fabs(high - low) : refused ? 0 : INFINITY;
		swing->elasticity = swing->low_x != swing->high_x
					    ? log(high / low) / log(swing->high_x / swing->low_x)
					    : NAN;
		squares += swing->size * swing->size;
	}
	for (size_t i = 0; i < count; i++)
		f->swings[i].share = f->swings[i].size * f->swings[i].size / squares;
	return true;
}

/* Sorts by size, largest first. Equal swings keep their order. */
static void sort(struct sensitivity_finder *f)
{
	double least = MOVING_RATIO * fabs(f->result->now.number.value);
	for (size_t i = 1; i < f->result->swing_count; i++) {
		struct swing swing = f->swings[i];
		size_t at = i;
		for (; at > 0 && f->swings[at - 1].size < swing.size; at--)
			f->swings[at] = f->swings[at - 1];
		f->swings[at] = swing;
	}
	while (f->result->moving_count < f->result->swing_count &&
	       f->swings[f->result->moving_count].size > least)
		f->result->moving_count++;
}

/* Reads the case and finds the answer. Returns false after errors. */
static bool read_request(struct sensitivity_finder *f, struct diag *diag)
{
	const struct setting *number = &f->request->number;
	const struct scenario *scenario = case_read(f->arena, diag, &f->request->input.request);
	if (!scenario)
		return false;
	struct reporting reporting = reporting_of(f->arena, scenario);
	f->input = analysis_with_calls(f->request->input, scenario);
	f->result->scenario = scenario;
	/* plans have no scaling efficiency, and no runtime acts on a single kernel */
	const struct job_entry *job = &scenario->jobs[0];
	const char *preset = job->plan     ? "throughput"
			     : job->kernel ? "step_s"
					   : reported_main(reporting.kind);
	f->result->reported = reported_find(f->arena, diag, number->origin, reporting,
					    number->text ? number->text : preset);
	return f->result->reported;
}

const struct sensitivity *sensitivity_find(struct arena *arena, struct diag *diag,
					   const struct sensitivity_request *request,
					   const char **broken)
{
	struct sensitivity_finder f = {
		.arena = arena, .request = request, .result = ARENA_NEW(arena, struct sensitivity)};
	const struct case_point as_it_is = {0};
	f.result->vary_ratio = request->vary_ratio;
	*broken = NULL;
	if (!read_request(&f, diag))
		return NULL;
	struct points now = {f.input, f.result->reported};
	now.input.watch.tell = NULL;
	collect(&f);
	bool good = points_answer(arena, &now, &as_it_is, 1, &f.result->now, &f.broken) &&
		    swing_all(&f);
	if (good)
		sort(&f);
	*broken = f.broken;
	return good ? f.result : NULL;
}
