/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/unknowns.h"

/* Smallest pivot. Fitted correlations of -1 and 1 are rounded to six digits. */
static const double PIVOT_LEAST = 1e-6;

/* ---- uncertain parameters ---- */

/* Returns true if two parameters are one uncertain parameter: the same row, value and interval,
 * from one file or both from defaults. The line in the file does not matter. The eight slots of
 * a machine, for example, are equal wherever they are written. If they were drawn separately,
 * all routes would use the slot with the smallest latency. */
static bool is_one(const struct cfg_param *a, const struct cfg_param *b)
{
	if (a->row != b->row || a->prior != b->prior || a->value != b->value || a->low != b->low ||
	    a->high != b->high || !a->origin.file != !b->origin.file)
		return false;
	return !a->origin.file || strcmp(a->origin.file, b->origin.file) == 0;
}

/* Adds the uncertain parameters: with own = true those with intervals of their own, otherwise
 * those with the prior of their class. */
static void add(struct arena *arena, struct unknowns *unknowns, const struct scenario *scenario,
		bool own)
{
	size_t count = cfg_param_count(scenario->resolution), first = unknowns->count;
	for (size_t i = 0; i < count; i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		if (!cfg_param_varies(param) || own != (param->prior == PRIOR_NONE))
			continue;
		size_t k = first;
		while (k < unknowns->count && !is_one(unknowns->items[k].params[0], param))
			k++;
		struct unknown *unknown = &unknowns->items[k];
		if (k == unknowns->count) {
			unknown->params = ARENA_ARRAY(arena, count - i, const struct cfg_param *);
			unknowns->count++;
		}
		unknown->params[unknown->count++] = param;
		unknowns->param_count++;
	}
}

/* Returns the index of the parameter among the first `count` unknowns; SIZE_MAX: none. */
static size_t find(const struct unknowns *unknowns, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < unknowns->items[i].count; k++)
			if (strcmp(unknowns->items[i].params[k]->path, path) == 0)
				return i;
	return SIZE_MAX;
}

static void correlate(struct arena *arena, struct unknowns *unknowns)
{
	size_t n = unknowns->own_count;
	unknowns->root = ARENA_ARRAY(arena, n * n + 1, double);
	for (size_t i = 0; i < n; i++) {
		const struct cfg_param *param = unknowns->items[i].params[0];
		unknowns->root[i * n + i] = 1;
		for (size_t k = 0; k < param->correlation_count; k++) {
			size_t j = find(unknowns, n, param->correlations[k].path);
			if (j == SIZE_MAX || j == i)
				continue;
			unknowns->root[i * n + j] = param->correlations[k].ratio;
			unknowns->root[j * n + i] = param->correlations[k].ratio;
		}
	}
	num_cholesky(unknowns->root, n, PIVOT_LEAST);
}

struct unknowns unknowns_of(struct arena *arena, const struct scenario *scenario)
{
	struct unknowns unknowns = {0};
	unknowns.items =
		ARENA_ARRAY(arena, cfg_param_count(scenario->resolution) + 1, struct unknown);
	add(arena, &unknowns, scenario, true);
	unknowns.own_count = unknowns.count;
	add(arena, &unknowns, scenario, false);
	correlate(arena, &unknowns);
	return unknowns;
}

/* ---- points ---- */

/* Returns a name made of the fields that is_one compares, with the file's name without folders.
 * An uncertain parameter of another case with the same name is the same one. */
static const char *name_of(struct arena *arena, const struct cfg_param *param)
{
	enum { KEY_SIZE = 80 };
	char key[KEY_SIZE];
	const char *file = param->origin.file ? param->origin.file : "";
	const char *slash = strrchr(file, '/');
	param_key(param->row, key, sizeof key);
	return arena_printf(arena, "%.*s.%s = %.17g (%.17g to %.17g, %d) %s",
			    (int)strcspn(param->path, "."), param->path, key, param->value,
			    param->low, param->high, (int)param->prior, slash ? slash + 1 : file);
}

/* Sets one point in each of `count` equal slices of (0, 1), in an order that depends on name and
 * seed. */
static void slices(struct arena *arena, const char *name, uint64_t seed, size_t count,
		   size_t stride, double *points)
{
	struct rng rng = rng_named(seed, arena_printf(arena, "draws of %s", name));
	for (size_t i = 0; i < count; i++) {
		size_t k = rng_below(&rng, i + 1);
		points[i * stride] = points[k * stride];
		points[k * stride] = (double)i;
	}
	for (size_t i = 0; i < count; i++)
		points[i * stride] = (points[i * stride] + rng_uniform(&rng)) / (double)count;
}

double *unknowns_points(struct arena *arena, const struct unknowns *unknowns, size_t draws_count,
			uint64_t seed)
{
	size_t all = unknowns->count;
	double *points = ARENA_ARRAY(arena, draws_count * all + 1, double);
	const char **names = ARENA_ARRAY(arena, all + 1, const char *);
	for (size_t d = 0; d < all; d++) {
		names[d] = name_of(arena, unknowns->items[d].params[0]);
		size_t before = 0; /* number of earlier parameters with that name, from files in
				      other folders */
		for (size_t i = 0; i < d; i++)
			before += strcmp(names[i], names[d]) == 0;
		slices(arena, arena_printf(arena, "%s %zu", names[d], before), seed, draws_count,
		       all, &points[d]);
	}
	return points;
}

/* ---- a draw ---- */

double unknown_deviation(const struct unknown *unknown)
{
	const struct cfg_param *param = unknown->params[0];
	double distance = param_distance(param->row, param->value, param->high);
	return isfinite(distance) ? distance / num_student_quantile(0.95, param->freedom_count) : 0;
}

enum draw_state { UNKNOWN, BEGUN, KNOWN };

/* State while one draw is computed. */
struct draw {
	const struct unknowns *unknowns;
	const double *parts; /* by uncertain parameter: distance from the value, as a part of that
				to the interval's end; -1 and 1 are the ends */
	double *moves; /* moves on the scale of the row, including moves of followed parameters */
	enum draw_state *states;
};

/* Returns the move of a parameter. Parameters that it follows move first; a circular dependency
 * is cut. */
static double move_of(struct draw *draw, size_t index)
{
	const struct cfg_param *param = draw->unknowns->items[index].params[0];
	if (draw->states[index] != UNKNOWN)
		return draw->states[index] == KNOWN ? draw->moves[index] : 0;
	draw->states[index] = BEGUN;
	double part = draw->parts[index];
	double distance =
		param_distance(param->row, param->value, part < 0 ? param->low : param->high);
	double move = isfinite(distance) ? part * distance : 0;
	for (size_t k = 0; k < param->follow_count; k++) {
		size_t other = find(draw->unknowns, draw->unknowns->count, param->follows[k].path);
		if (other != SIZE_MAX)
			move += param->follows[k].ratio * move_of(draw, other);
	}
	draw->moves[index] = move;
	draw->states[index] = KNOWN;
	return move;
}

/* If the row's scale has no place for an end, the value moves linearly towards that end. */
static double value_of(struct draw *draw, size_t index)
{
	const struct cfg_param *param = draw->unknowns->items[index].params[0];
	const struct param_row *row = param->row;
	double part = draw->parts[index], end = part < 0 ? param->low : param->high;
	if (param->prior == PRIOR_UNSEEN) { /* |N(0, scale)|, increasing with the point */
		double q = num_normal(part * num_normal_quantile(0.95));
		return fmin(num_normal_quantile((1 + q) / 2) * row->scale, row->max);
	}
	if (isfinite(param_distance(row, param->value, end)))
		return param_moved(row, param->value, move_of(draw, index));
	double value = param->value + fabs(part) * (end - param->value);
	return fmin(fmax(row->whole ? round(value) : value, row->min), row->max);
}

static double *parts_of(struct arena *arena, const struct unknowns *unknowns, const double *point)
{
	size_t n = unknowns->own_count;
	double *parts = ARENA_ARRAY(arena, unknowns->count + 1, double);
	double *normal = ARENA_ARRAY(arena, unknowns->count + 1, double);
	for (size_t i = 0; i < unknowns->count; i++)
		normal[i] = num_normal_quantile(point[i]);
	for (size_t i = 0; i < n; i++) {
		double freedom = unknowns->items[i].params[0]->freedom_count, z = 0;
		for (size_t k = 0; k <= i; k++)
			z += unknowns->root[i * n + k] * normal[k];
		parts[i] = freedom > 0 ? num_student_quantile(num_normal(z), freedom) /
						 num_student_quantile(0.95, freedom)
				       : z / num_normal_quantile(0.95);
	}
	for (size_t i = n; i < unknowns->count; i++)
		parts[i] = normal[i] / num_normal_quantile(0.95);
	return parts;
}

void unknowns_draw(struct arena *arena, const struct unknowns *unknowns, const double *point,
		   struct draw_value *values)
{
	size_t at = 0;
	struct draw draw = {.unknowns = unknowns,
			    .parts = parts_of(arena, unknowns, point),
			    .moves = ARENA_ARRAY(arena, unknowns->count + 1, double)};
	draw.states = ARENA_ARRAY(arena, unknowns->count + 1, enum draw_state);
	for (size_t i = 0; i < unknowns->count; i++) {
		double value = value_of(&draw, i);
		for (size_t k = 0; k < unknowns->items[i].count; k++)
			values[at++] =
				(struct draw_value){unknowns->items[i].params[k]->path, value};
	}
}
