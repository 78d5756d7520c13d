/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/users.h"
#include "sim/analysis/points.h"
#include "sim/analysis/sweep.h"

enum { HOURS = 24, USERS_MOST = 100000, GPUS_MOST = 1000000 };

/* ---- waits in a pool ---- */

/* Returns the speeds of m programs together. */
static double total_of(const struct users_curve *curve, size_t m)
{
	return curve->total[m < curve->known ? m : curve->known];
}

/* How n users at work are spread over the GPUs. */
struct users_spread {
	size_t each, more; /* `more` GPUs have one user more than `each` */
	size_t queued;     /* users for whom no GPU has a place */
};
static struct users_spread spread_of(const struct users_curve *curve, size_t gpus, size_t n)
{
	if (curve->limit && n > gpus * curve->known)
		return (struct users_spread){curve->known, 0, n - gpus * curve->known};
	return (struct users_spread){n / gpus, n % gpus, 0};
}

struct users_waits users_wait(struct arena *arena, const struct users_curve *curve,
			      const struct users_pool *pool)
{
	size_t most = pool->users / pool->gpus + 2, gpus = pool->gpus;
	double *log_p = ARENA_ARRAY(arena, pool->users + 1, double);
	double *working = ARENA_ARRAY(arena, most + 1, double); /* by users of a GPU */
	double *rates = ARENA_ARRAY(arena, pool->users + 1, double);
	double odds = pool->active_ratio / (1 - pool->active_ratio), highest = 0;
	for (size_t n = 1; n <= pool->users; n++) {
		struct users_spread s = spread_of(curve, gpus, n);
		rates[n] = (double)s.more * total_of(curve, s.each + 1) +
			   (double)(gpus - s.more) * total_of(curve, s.each);
		log_p[n] = log_p[n - 1] + log((double)(pool->users - n + 1) * odds / rates[n]);
		highest = fmax(highest, log_p[n]);
	}
	double sum = 0, users = 0, speeds = 0, queued = 0;
	for (size_t n = 0; n <= pool->users; n++) {
		struct users_spread s = spread_of(curve, gpus, n);
		double p = exp(log_p[n] - highest);
		sum += p;
		users += p * (double)n;
		speeds += p * rates[n];
		queued += p * (double)s.queued;
		working[s.each + 1] += p * (double)(s.more * (s.each + 1));
		working[s.each] += p * (double)((gpus - s.more) * s.each);
	}
	struct users_waits waits = {users / sum, users / speeds - 1, INFINITY};
	double below = 0;
	for (size_t m = 1; m <= most && isinf(waits.wait); m++) {
		below += working[m];
		if (below >= pool->quantile * users * (1 - 1e-12))
			waits.wait = fmax(0, (double)m / total_of(curve, m) - 1);
	}
	FW_ASSERT(queued > 0 || isfinite(waits.wait));
	return waits;
}

/* ---- reading the question ---- */

struct users_question {
	struct arena *arena;
	struct diag *diag;
	const struct users_request *request;
	const struct scenario *scenario;
	struct analysis_input input;
	struct users *users;
	struct users_row hours[HOURS];
	size_t hour_count;
	struct sweep_axis gpus; /* count 0: the least number */
	struct target target;   /* of model servers */
	struct users_curve curve;
	size_t replica_gpus;
	const char *broken;
};

/* Reads one of "40", "8:40", "8-17:40". */
static bool read_hours(struct users_question *a, const char *text)
{
	struct users_row *row = &a->hours[a->hour_count];
	int next = a->hour_count ? row[-1].to_hour + 1 : 0, used = 0;
	*row = (struct users_row){.from_hour = next, .to_hour = next};
	const char *colon = strchr(text, ':');
	bool good = true;
	if (colon && sscanf(text, " %d - %d %n", &row->from_hour, &row->to_hour, &used) < 2) {
		good = sscanf(text, " %d %n", &row->from_hour, &used) == 1;
		row->to_hour = row->from_hour;
	}
	good = good && (!colon || text + used == colon);
	const char *count = colon ? colon + 1 : text;
	const char *wrong = quantity_parse(a->arena, QUANTITY_COUNT, count, &row->users);
	if (!good || wrong || row->users < 0 || row->users > USERS_MOST ||
	    row->users != floor(row->users) || row->from_hour < next ||
	    row->to_hour < row->from_hour || row->to_hour >= HOURS)
		return diag_error(
			a->diag, a->request->users.origin,
			"'%s' is not a number of users of some hours. Write whole numbers up to "
			"%d for hours 0, 1 and so on. Or write them for rising hours from 0 to "
			"23, such as 0-7:5,8-17:40.",
			text, USERS_MOST);
	a->hour_count++;
	return true;
}

static bool read_users(struct users_question *a)
{
	const char *rest = a->request->users.text;
	for (size_t length; rest; rest = rest[length] ? rest + length + 1 : NULL) {
		length = strcspn(rest, ",");
		if (a->hour_count == HOURS)
			return diag_error(a->diag, a->request->users.origin,
					  "a day has only 24 hours (write fewer numbers)");
		if (!read_hours(a, arena_printf(a->arena, "%.*s", (int)length, rest)))
			return false;
	}
	if (a->hour_count == 1 && !strchr(a->request->users.text, ':'))
		a->hours[0].to_hour = -1;
	return true;
}

/* Reads "wait_p95<=10 %" or "wait<=10 %", the mean. */
static bool read_wait(struct users_question *a)
{
	const char *text = a->request->target.text;
	int percent = 0, used = 0;
	const char *value = strstr(text, "<=");
	if (sscanf(text, " wait_p%d %n", &percent, &used) != 1 || percent < 1 || percent > 99 ||
	    text + used != value)
		return diag_error(a->diag, a->request->target.origin,
				  "'%s' is not a target of a pool (write 'wait_p95<=10 %%': the "
				  "quantile from wait_p1 to wait_p99 of the time that other users "
				  "add to a user's work)",
				  text);
	value += 2 + strspn(value + 2, " ");
	const char *wrong = quantity_parse(a->arena, QUANTITY_RATIO, value, &a->users->limit);
	if (wrong || a->users->limit < 0)
		return diag_error(a->diag, a->request->target.origin, "the limit of '%s' %s", text,
				  wrong ? wrong : "must not be negative");
	a->users->quantile = percent / 100.0;
	a->users->target = arena_printf(a->arena, "wait p%d <= %g", percent, a->users->limit);
	return true;
}

static bool read_active(struct users_question *a)
{
	const struct setting *active = &a->request->active;
	const char *wrong =
		quantity_parse(a->arena, QUANTITY_RATIO, active->text, &a->users->active);
	bool served = a->users->served;
	if (wrong || a->users->active <= 0 || (!served && a->users->active >= 1))
		return diag_error(a->diag, active->origin, "'%s' %s", active->text,
				  wrong    ? wrong
				  : served ? "is not a rate of requests (write more than 0)"
					   : "is not a part of the time (write more than 0 and "
					     "less than 100 %)");
	return true;
}

/* Returns why the case has no users; NULL: it has. */
static const char *refuse(const struct scenario *scenario)
{
	const struct case_params *params = scenario->params;
	if (scenario->style != JOBS_PROGRAMS || params->gpus_count > 0)
		return "the case is one job on its GPUs (write a case with clients or a model "
		       "server, without --gpus in the case)";
	if (scenario->job_count != (size_t)params->copies_count)
		return "the case lists several clients (write one kind of client, and "
		       "case.gpu=spread for all GPUs)";
	return NULL;
}

/* Reports an error if the requests of a model server do not come at serve.rate. */
static bool rate_counts(struct users_question *a)
{
	const struct serve_params *params = a->scenario->services[0].params;
	const char *key = params->concurrency_count > 0 ? "concurrency"
			  : params->stages[0]           ? "stages"
			  : params->list[0]             ? "list"
							: NULL;
	if (key)
		diag_error(a->diag, a->scenario->jobs[0].origin,
			   "%s: users send requests at a rate, which serve.%s replaces (remove "
			   "serve.%s)",
			   a->scenario->name, key, key);
	return !key;
}

static bool read_question(struct users_question *a)
{
	const struct users_request *request = a->request;
	struct users *users = a->users;
	users->name = a->scenario->name;
	users->served = a->scenario->service_count > 0;
	const char *wrong = users->served ? NULL : refuse(a->scenario);
	if (wrong)
		return diag_error(a->diag, a->scenario->jobs[0].origin, "%s", wrong);
	if (!read_users(a) || !read_active(a))
		return false;
	if (users->served && !rate_counts(a))
		return false;
	if (users->served &&
	    !target_read(a->arena, a->diag, request->target.origin,
			 reporting_of(a->arena, a->scenario), request->target.text, &a->target))
		return false;
	if (users->served) {
		users->reported = a->target.reported;
		users->target = a->target.text;
		users->limit = a->target.value;
		users->at_least = a->target.at_least;
		a->replica_gpus = a->scenario->jobs[0].rank_count;
	} else if (!read_wait(a)) {
		return false;
	}
	users->given_gpus = request->gpus.text;
	if (!request->gpus.text)
		return true;
	if (!sweep_axis_read(a->arena, a->diag, request->gpus.origin.file,
			     arena_printf(a->arena, "case.gpus=%s", request->gpus.text), &a->gpus))
		return false;
	for (size_t i = 0; i < a->gpus.count; i++)
		if (!(a->gpus.values[i] >= 1 && a->gpus.values[i] <= GPUS_MOST) ||
		    fmod(a->gpus.values[i], (double)a->replica_gpus) > 0)
			return diag_error(a->diag, request->gpus.origin,
					  "%g is not a number of GPUs of this case (write a "
					  "multiple of %zu up to %d)",
					  a->gpus.values[i], a->replica_gpus, GPUS_MOST);
	return true;
}

/* ---- simulations ---- */

static struct setting *settings_of(struct users_question *a, size_t copies, double rate)
{
	struct setting *settings = ARENA_ARRAY(a->arena, 2, struct setting);
	settings[0] = (struct setting){arena_printf(a->arena, "case.copies=%zu", copies),
				       a->request->users.origin};
	settings[1] = (struct setting){
		arena_printf(a->arena, "serve.rate=%s", number_format(a->arena, 12, rate)),
		a->request->users.origin};
	return settings;
}

/* Simulates 1 to USERS_SHARING programs on each GPU of the case. */
static bool simulate_curve(struct users_question *a, size_t users_most)
{
	struct case_point points[USERS_SHARING];
	struct case_answer answers[USERS_SHARING];
	const struct scenario *s = a->scenario;
	size_t gpus = strcmp(s->params->gpu, "spread") == 0 ? s->topology.gpu_count : 1;
	size_t count = users_most < USERS_SHARING ? users_most : USERS_SHARING;
	struct points asked = {a->input, reported_find(a->arena, a->diag, (struct origin){0},
						       reporting_of(a->arena, s), "ratio")};
	asked.input.options.draws_count = 0;
	for (size_t m = 1; m <= count; m++)
		points[m - 1] = (struct case_point){.settings = settings_of(a, m * gpus, 1),
						    .setting_count = 1};
	if (!points_answer(a->arena, &asked, points, count, answers, &a->broken))
		return false;
	for (size_t m = 1; m <= count; m++) {
		double ratio = answers[m - 1].number.value;
		if (!(ratio > 0) && m == 1)
			return diag_error(a->diag, s->jobs[0].origin, "%s fails: %s", s->name,
					  answers[0].reason ? answers[0].reason : "no ratio");
		if (!(ratio > 0)) {
			a->curve.limit = answers[m - 1].reason;
			break;
		}
		a->curve.total[m] = (double)m * ratio / answers[0].number.value;
		a->curve.known = m;
	}
	a->users->limit_text = a->curve.limit;
	a->users->places = a->curve.known;
	return true;
}

static bool meets(const struct users *users, double value)
{
	return users->at_least ? value >= users->limit : value <= users->limit;
}

/* Answers the row's hours on row->gpus GPUs. Returns false after a broken invariant. */
static bool answer(struct users_question *a, struct users_row *row)
{
	const struct users *users = a->users;
	size_t gpus = (size_t)row->gpus;
	row->failed = NULL;
	if (!users->served && row->users > 0) {
		const struct users_pool pool = {(size_t)row->users, gpus, users->active,
						users->quantile};
		row->waits = users_wait(a->arena, &a->curve, &pool);
		row->answer = estimate_exact(row->waits.wait);
	} else if (users->served && row->users > 0) {
		const struct points points = {a->input, users->reported};
		struct case_point point = {.settings = settings_of(a, gpus / a->replica_gpus,
								   row->users * users->active),
					   .setting_count = 2,
					   .rate_per_s = row->users * users->active};
		struct case_answer got;
		if (!points_answer(a->arena, &points, &point, 1, &got, &a->broken))
			return false;
		row->answer = got.number;
		row->failed = got.reason ? got.reason : got.load_refused;
	}
	row->met = row->users == 0 || (!row->failed && meets(users, row->answer.value));
	return true;
}

/* Finds the least number of GPUs on which the row's users meet the target: the number is doubled
 * until it is enough, and then bisected. If no number is, the row has the largest one. No users
 * need no GPU. */
static bool search(struct users_question *a, struct users_row *row)
{
	size_t step = a->replica_gpus, low = 0, high = 1;
	size_t most = a->users->served ? a->scenario->topology.gpu_count / step
				       : (size_t)fmax(1, row->users);
	struct users_row best;
	if (row->users == 0)
		return answer(a, row);
	for (;; high = 2 * high < most ? 2 * high : most) {
		row->gpus = (double)(high * step);
		if (!answer(a, row))
			return false;
		best = *row;
		if (row->met || high == most)
			break;
		low = high;
	}
	while (best.met && high - low > 1) {
		size_t middle = low + (high - low) / 2;
		row->gpus = (double)(middle * step);
		if (!answer(a, row))
			return false;
		if (row->met)
			best = *row;
		*(row->met ? &high : &low) = middle;
	}
	*row = best;
	return true;
}

/* Returns an earlier row with the same users and GPUs, or, if the number of GPUs is searched, with
 * the same users; NULL: there is none. */
static const struct users_row *like(const struct users_question *a, const struct users_row *rows,
				    size_t count, const struct users_row *row)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].users == row->users && (!a->gpus.count || rows[i].gpus == row->gpus))
			return &rows[i];
	return NULL;
}

const struct users *users_run(struct arena *arena, struct diag *diag,
			      const struct users_request *request, const char **broken)
{
	struct users_question *a = ARENA_NEW(arena, struct users_question);
	*a = (struct users_question){
		.arena = arena, .diag = diag, .request = request, .replica_gpus = 1};
	a->scenario = case_read(arena, diag, &request->input.request);
	a->users = ARENA_NEW(arena, struct users);
	*broken = NULL;
	if (!a->scenario || !read_question(a))
		return NULL;
	a->input = analysis_with_calls(request->input, a->scenario);
	double most = 1;
	for (size_t i = 0; i < a->hour_count; i++)
		most = fmax(most, a->hours[i].users);
	bool good = a->users->served || simulate_curve(a, (size_t)most);
	size_t each = a->gpus.count ? a->gpus.count : 1;
	struct users_row *rows = ARENA_ARRAY(arena, a->hour_count * each, struct users_row);
	a->users->rows = rows;
	a->input.watch.tell = NULL;
	for (size_t i = 0; good && i < a->hour_count * each; i++) {
		struct users_row *row = &rows[i], hours = a->hours[i / each];
		*row = hours;
		row->gpus = a->gpus.count ? a->gpus.values[i % each] : 0;
		const struct users_row *same = like(a, rows, i, row);
		if (same) {
			*row = *same;
			row->from_hour = hours.from_hour;
			row->to_hour = hours.to_hour;
		} else {
			good = a->gpus.count ? answer(a, row) : search(a, row);
		}
		a->users->row_count = i + 1;
	}
	*broken = a->broken;
	return good ? a->users : NULL;
}
