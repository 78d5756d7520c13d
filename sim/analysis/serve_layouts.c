/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/serve_layouts.h"

const char *const layout_keys[LAYOUT_KEYS] = {"case.tensor", "case.pipeline", "case.data",
					      "case.expert", "case.copies",   "case.prefill",
					      "serve.batch", "serve.tokens"};

enum { VALUES_MAX = 64, CANDIDATES_MAX = 10000 };

/* Refuses too many values, and values that are not sizes. */
static void check_axis(struct layout_search *s, enum layout_key key)
{
	const struct sweep_axis *axis = &s->axes[key];
	double least = key == LAYOUT_PREFILL ? 0 : 1;
	const struct origin from = {axis->from, 0};
	if (axis->count > VALUES_MAX)
		diag_error(s->diag, from, "%s has %zu values (write at most %d)", axis->key,
			   axis->count, VALUES_MAX);
	for (size_t i = 0; i < axis->count; i++)
		if (axis->words || !(axis->values[i] >= least) || fmod(axis->values[i], 1) > 0)
			diag_error(s->diag, from,
				   "'%s' must be a whole number from %g on (write %s=%g)",
				   axis->texts[i], least, axis->key, least);
}

bool layouts_read(struct layout_search *s)
{
	for (size_t i = 0; i < s->request->axis_count; i++) {
		const struct sweep_axis *axis = &s->request->axes[i];
		size_t key = 0;
		while (key < LAYOUT_KEYS && strcmp(axis->key, layout_keys[key]) != 0)
			key++;
		if (key < LAYOUT_KEYS)
			s->axes[key] = *axis;
		else
			diag_error(s->diag, (struct origin){axis->from, 0},
				   "'%s' is not a key of a layout (write case.tensor, "
				   "case.pipeline, case.data, case.expert, case.copies, "
				   "case.prefill, serve.batch or serve.tokens)",
				   axis->key);
	}
	for (enum layout_key key = 0; key < LAYOUT_KEYS; key++) {
		const struct setting *fixed = request_setting(&s->base, layout_keys[key]);
		if (fixed && s->axes[key].count == 0)
			sweep_axis_read(s->arena, s->diag, fixed->origin.file, fixed->text,
					&s->axes[key]);
		check_axis(s, key);
	}
	return diag_count(s->diag) == 0;
}

static size_t powers(double most, double *values)
{
	size_t count = 0;
	for (double n = 1; n <= fmax(1, most) && count < VALUES_MAX; n *= 2)
		values[count++] = n;
	return count;
}

static double stage_gpus(const double *sizes)
{
	return sizes[LAYOUT_TENSOR] * (isnan(sizes[LAYOUT_DATA]) ? 1 : sizes[LAYOUT_DATA]);
}

static double replica_gpus(const double *sizes)
{
	return stage_gpus(sizes) * sizes[LAYOUT_PIPELINE];
}

/* Returns the number of values for a key behind the sizes of the keys before it. */
static size_t values_of(const struct layout_search *s, enum layout_key key, const double *sizes,
			double values[VALUES_MAX])
{
	const struct sweep_axis *axis = &s->axes[key];
	bool generates = s->service->one_token;
	double copies = sizes[LAYOUT_COPIES];
	size_t count = 0;
	/* given values are sorted, because the first limits decide which loads others try */
	for (size_t k; count < axis->count; values[k] = axis->values[count++])
		for (k = count; k > 0 && values[k - 1] > axis->values[count]; k--)
			values[k] = values[k - 1];
	if (count > 0)
		return count;
	switch (key) {
	case LAYOUT_TENSOR:
		return powers(generates ? fmin(s->gpus, s->machine_gpus) : 1, values);
	case LAYOUT_PIPELINE:
		return powers(generates ? s->gpus / sizes[LAYOUT_TENSOR] : 1, values);
	case LAYOUT_DATA:
		values[0] = NAN;
		return s->experts > 0
			       ? powers(s->gpus / sizes[LAYOUT_TENSOR] / sizes[LAYOUT_PIPELINE],
					values)
			       : 1;
	case LAYOUT_EXPERT: /* engines have whole experts; one group may split them */
		if (!(sizes[LAYOUT_DATA] > 1))
			values[count++] = 1;
		if (s->experts > 0 && stage_gpus(sizes) > 1)
			values[count++] = stage_gpus(sizes);
		return count;
	case LAYOUT_COPIES:
		values[0] = floor(s->gpus / replica_gpus(sizes));
		return values[0] >= 1;
	case LAYOUT_PREFILL:
		values[count++] = 0;
		for (double part = 0.25; generates && !(sizes[LAYOUT_DATA] > 1) && part < 1;
		     part += 0.25) {
			double prefill = round(part * copies);
			if (prefill > values[count - 1] && prefill < copies)
				values[count++] = prefill;
		}
		return count;
	case LAYOUT_BATCH:
		memcpy(values, (const double[]){256, 64, 1024}, 3 * sizeof *values);
		return 3;
	default:
		memcpy(values, (const double[]){8192, 2048}, 2 * sizeof *values);
		return generates ? 2 : 1;
	}
}

static void keep(struct layout_search *s, const double *sizes)
{
	struct layout_try new = {.layout = s->layout_count - 1,
				 .number = s->candidates.count,
				 .missed = INFINITY,
				 .found.gpus_count = replica_gpus(sizes) * sizes[LAYOUT_COPIES],
				 .found.name = ""};
	memcpy(new.found.sizes, sizes, sizeof new.found.sizes);
	for (enum layout_key key = 0; key < LAYOUT_KEYS; key++)
		if (!isnan(sizes[key]))
			new.found.name = arena_printf(s->arena, "%s%s%s=%.15g", new.found.name,
						      key ? " " : "", layout_keys[key], sizes[key]);
	*VEC_PUSH(s->arena, &s->candidates) = new;
}

/* Keeps all layouts with limits that have these sizes of the keys before `key`. */
static void enumerate(struct layout_search *s, double *sizes, enum layout_key key)
{
	double values[VALUES_MAX];
	if (key == LAYOUT_KEYS) {
		keep(s, sizes);
		return;
	}
	if (key == LAYOUT_BATCH) {
		if (replica_gpus(sizes) * sizes[LAYOUT_COPIES] > s->gpus ||
		    fmod(stage_gpus(sizes), sizes[LAYOUT_EXPERT]) > 0)
			return;
		s->layout_count++;
	}
	size_t count = values_of(s, key, sizes, values);
	for (size_t i = 0; i < count && s->candidates.count < CANDIDATES_MAX; i++) {
		sizes[key] = values[i];
		enumerate(s, sizes, key + 1);
	}
}

bool layouts_find(struct layout_search *s)
{
	double sizes[LAYOUT_KEYS] = {0};
	enumerate(s, sizes, 0);
	if (s->candidates.count == 0)
		return diag_error(s->diag, (struct origin){0},
				  "farwire: `farwire plan`: no layout has at most %g GPUs (write "
				  "more --gpus, or smaller values of case.tensor, case.data and "
				  "case.copies)",
				  s->gpus);
	if (s->candidates.count == CANDIDATES_MAX)
		return diag_error(s->diag, (struct origin){0},
				  "farwire: `farwire plan`: there are %d layouts or more (fix some "
				  "keys, for example with --set case.tensor=8)",
				  CANDIDATES_MAX);
	return true;
}
