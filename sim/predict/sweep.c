/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/sweep.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/vec.h"

/* ---- axes ---- */

/* The quantity that text is one of, and its value; false for words. */
static bool any_quantity(struct arena *arena, const char *text, enum quantity *quantity,
			 double *value)
{
	static const enum quantity order[] = {
		QUANTITY_COUNT,     QUANTITY_RATIO, QUANTITY_TIME,
		QUANTITY_BYTES,     QUANTITY_RATE,  QUANTITY_FREQUENCY,
		QUANTITY_FLOP_RATE, QUANTITY_FLOP,  QUANTITY_TIME_PER_BYTE};
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		if (!quantity_parse(arena, order[i], text, value)) {
			*quantity = order[i];
			return true;
		}
	return false;
}

static void add_value(struct arena *arena, struct sweep_axis *axis, const char *value_text,
		      double value)
{
	const char **texts = (const char **)(void *)axis->texts;
	double *values = (double *)(void *)axis->values;
	texts[axis->count] = arena_printf(arena, "%s=%s", axis->key, value_text);
	values[axis->count++] = value;
}

static bool read_range(struct arena *arena, struct sweep_axis *axis, char *low_text)
{
	char *high_text = strchr(low_text, ':');
	*high_text++ = '\0';
	char *how = strchr(high_text, ':');
	if (!how)
		return false;
	*how++ = '\0';
	double low, high;
	enum quantity other;
	axis->log = strncmp(how, "log", 3) == 0;
	char *end = how;
	size_t count = strlen(how) > 3 ? strtoul(how + 3, &end, 10) : 0;
	if ((!axis->log && strncmp(how, "lin", 3) != 0) || *end || count < 2 ||
	    count > POINTS_MAX || !any_quantity(arena, low_text, &axis->quantity, &low) ||
	    !any_quantity(arena, high_text, &other, &high) || other != axis->quantity ||
	    (axis->log && (low <= 0 || high <= 0)))
		return false;
	axis->texts = ARENA_ARRAY(arena, count, const char *);
	axis->values = ARENA_ARRAY(arena, count, double);
	for (size_t i = 0; i < count; i++) {
		double t = (double)i / (double)(count - 1);
		double value = axis->log ? low * pow(high / low, t) : low + (high - low) * t;
		const char *unit = quantity_unit(axis->quantity);
		const char *text = arena_printf(arena, "%.9g", value);
		number_parse(text, &value); /* what is printed is what is set */
		add_value(arena, axis,
			  arena_printf(arena, "%s%s%s", text, unit[0] ? " " : "", unit), value);
	}
	return true;
}

static void read_list(struct arena *arena, struct sweep_axis *axis, char *text)
{
	size_t count = 1;
	for (const char *comma = text; (comma = strchr(comma, ',')); comma++)
		count++;
	axis->texts = ARENA_ARRAY(arena, count, const char *);
	axis->values = ARENA_ARRAY(arena, count, double);
	for (char *next = text; next;) {
		char *word = next;
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		while (*word == ' ')
			word++;
		double value;
		enum quantity quantity;
		bool number = any_quantity(arena, word, &quantity, &value);
		if (!number || (axis->count && quantity != axis->quantity))
			axis->words = true;
		else
			axis->quantity = quantity;
		add_value(arena, axis, word, number ? value : 0);
	}
	for (size_t i = 0; i < axis->count && axis->words; i++)
		((double *)(void *)axis->values)[i] = (double)i;
}

bool sweep_axis_read(struct arena *arena, struct diag *diag, const char *from, const char *text,
		     struct sweep_axis *axis)
{
	char *key = arena_strdup(arena, text), *value = strchr(key, '=');
	*axis = (struct sweep_axis){.key = key, .from = from};
	bool good = value && value != key && value[1];
	if (good) {
		*value++ = '\0';
		if (strchr(value, ':'))
			good = read_range(arena, axis, value);
		else
			read_list(arena, axis, value);
	}
	if (!good)
		diag_error(diag, (struct origin){from, 0},
			   "'%s' is no variation (write key=a,b,c or key=lo:hi:log20 or "
			   "key=lo:hi:lin20, values with their unit)",
			   text);
	return good;
}

/* ---- points ---- */

struct sweeping {
	struct arena *arena; /* guarded by lock, as are next, done and bad */
	const struct case_request *request;
	const struct predict_options *options;
	struct sweep *sweep;
	void (*progress)(size_t done, size_t count);
	size_t next, done, bad; /* bad: the first point with errors, or SIZE_MAX */
	const char **errors;    /* of the point bad */
	size_t error_count;
	const char *broken;
	pthread_mutex_t lock;
};

static const char *kept(struct sweeping *s, const char *text)
{
	return text ? arena_strdup(s->arena, text) : NULL;
}

static void keep_errors(struct sweeping *s, size_t index, const struct diag *diag,
			const char *broken)
{
	if (index >= s->bad)
		return;
	s->bad = index;
	s->broken = kept(s, broken);
	s->error_count = diag_count(diag) < 20 ? diag_count(diag) : 20;
	s->errors = ARENA_ARRAY(s->arena, s->error_count + 1, const char *);
	for (size_t i = 0; i < s->error_count; i++)
		s->errors[i] = kept(s, diag_at(diag, i));
}

static void keep_point(struct sweeping *s, size_t index, const struct prediction *p)
{
	struct prediction *point = ARENA_NEW(s->arena, struct prediction);
	*point = *p;
	point->name = kept(s, p->name);
	point->reason = kept(s, p->reason);
	point->bottleneck = kept(s, p->bottleneck);
	point->collective = kept(s, p->collective);
	point->choice = kept(s, p->choice);
	for (size_t i = 0; i < p->breakdown_count; i++)
		point->breakdown[i].name = kept(s, p->breakdown[i].name);
	point->clients = NULL;
	point->links = NULL;
	point->client_count = point->link_count = 0;
	point->resolution = NULL;
	s->sweep->points[index] = point;
}

static void predict_one(struct sweeping *s, size_t index)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct setting *settings =
		ARENA_ARRAY(arena, s->request->setting_count + AXES_MAX, struct setting);
	struct case_request request = *s->request;
	struct predict_options options = *s->options;
	if (request.setting_count)
		memcpy(settings, s->request->settings,
		       s->request->setting_count * sizeof *settings);
	size_t rest = index;
	for (size_t a = s->sweep->axis_count; a-- > 0; rest /= s->sweep->axes[a].count)
		settings[request.setting_count++] =
			(struct setting){s->sweep->axes[a].texts[rest % s->sweep->axes[a].count],
					 {s->sweep->axes[a].from, 0}};
	request.settings = settings;
	options.jobs = 1;
	options.trace = NULL;
	const char *broken;
	const struct prediction *prediction =
		predict_case(arena, diag, &request, &options, &broken);
	pthread_mutex_lock(&s->lock);
	if (prediction)
		keep_point(s, index, prediction);
	else
		keep_errors(s, index, diag, broken);
	s->done++;
	if (s->progress)
		s->progress(s->done, s->sweep->point_count);
	pthread_mutex_unlock(&s->lock);
	arena_free(arena);
}

static void *sweep_worker(void *ctx)
{
	struct sweeping *s = ctx;
	for (;;) {
		pthread_mutex_lock(&s->lock);
		size_t index = s->next++;
		pthread_mutex_unlock(&s->lock);
		if (index >= s->sweep->point_count)
			return NULL;
		predict_one(s, index);
	}
}

static void run_workers(struct arena *arena, struct sweeping *s)
{
	unsigned jobs = s->options->jobs ? s->options->jobs : 1, started = 0;
	pthread_t *threads = ARENA_ARRAY(arena, jobs, pthread_t);
	pthread_mutex_init(&s->lock, NULL);
	while (started + 1 < jobs && pthread_create(&threads[started], NULL, sweep_worker, s) == 0)
		started++;
	sweep_worker(s);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&s->lock);
}

const struct sweep *sweep_run(struct arena *arena, struct diag *diag,
			      const struct case_request *request, const struct sweep_axis *axes,
			      size_t axis_count, const struct predict_options *options,
			      void (*progress)(size_t done, size_t count), const char **broken)
{
	struct sweep *sweep = ARENA_NEW(arena, struct sweep);
	sweep->axes = axes;
	sweep->axis_count = axis_count;
	sweep->point_count = 1;
	*broken = NULL;
	for (size_t i = 0; i < axis_count; i++) {
		if (axes[i].count > POINTS_MAX / sweep->point_count) {
			diag_error(diag, (struct origin){axes[i].from, 0}, "more than %d points",
				   POINTS_MAX);
			return NULL;
		}
		sweep->point_count *= axes[i].count;
	}
	struct sweeping s = {.arena = arena,
			     .request = request,
			     .options = options,
			     .sweep = sweep,
			     .progress = progress,
			     .bad = SIZE_MAX};
	sweep->points = ARENA_ARRAY(arena, sweep->point_count, const struct prediction *);
	run_workers(arena, &s);
	for (size_t i = 0; i < s.error_count; i++)
		diag_error(diag, (struct origin){0}, "%s", s.errors[i]);
	*broken = s.broken;
	return s.bad == SIZE_MAX ? sweep : NULL;
}
