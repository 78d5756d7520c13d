/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/points.h"

#include <pthread.h>

#include "sim/base/parallel.h"

struct analysis_input analysis_with_calls(struct analysis_input input,
					  const struct scenario *scenario)
{
	if (scenario && scenario->jobs[0].recorded)
		input.request.calls = scenario->jobs[0].recorded->calls;
	return input;
}

struct answering {
	struct arena *arena; /* lock guards this field, done and broken */
	const struct points *points;
	const struct case_point *list;
	struct case_answer *answers;
	struct predict_options options;
	struct watch watch;
	size_t count, done;
	const char *broken;
	pthread_mutex_t lock;
};

static void answer_one(void *ctx, size_t index)
{
	struct answering *a = ctx;
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct case_point *point = &a->list[index];
	struct case_request request = request_with(arena, &a->points->input.request,
						   point->settings, point->setting_count);
	request.draws = point->draws;
	request.draw_count = point->draw_count;
	const char *broken;
	const struct prediction *p = predict_case(arena, diag, &request, &a->options, &broken);
	struct case_answer answer = {.number = ESTIMATE_NONE, .refused = !p};
	if (p) {
		answer.number = reported_of(a->points->reported, p);
		answer.load_refused = prediction_load_refused(p, point->rate_per_s);
	}
	const char *reason = p ? p->reason : diag_count(diag) ? diag_at(diag, 0) : NULL;
	pthread_mutex_lock(&a->lock);
	if (broken && !a->broken)
		a->broken = arena_strdup(a->arena, broken);
	answer.reason = reason ? arena_strdup(a->arena, reason) : NULL;
	a->answers[index] = answer;
	a->done++;
	if (a->watch.tell)
		a->watch.tell(a->watch.ctx, 0, a->done, a->count);
	pthread_mutex_unlock(&a->lock);
	arena_free(arena);
}

bool points_answer(struct arena *arena, const struct points *points, const struct case_point *list,
		   size_t count, struct case_answer *answers, const char **broken)
{
	unsigned jobs = points->input.options.jobs;
	struct answering a = {.arena = arena,
			      .points = points,
			      .list = list,
			      .answers = answers,
			      .options = points->input.options,
			      .watch = points->input.watch,
			      .count = count};
	a.options.trace = NULL;
	a.options.jobs =
		count > 1 ? 1
			  : jobs; /* a single point can use several threads only for its draws */
	pthread_mutex_init(&a.lock, NULL);
	parallel_each(jobs, count, answer_one, &a);
	pthread_mutex_destroy(&a.lock);
	*broken = a.broken;
	return !a.broken;
}
