/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throughput, quantiles and parts of the latency, from the requests that are measured.
 *
 * Latencies and times to the first token are exact quantiles. Times between tokens are
 * counted in bins of GAP_RATIO width, because there are many. */
#include "sim/serving/internal.h"

const double serve_cdf_shares[SERVE_CDF_POINTS] = {
	0,    0.05, 0.1,  0.15, 0.2,  0.25, 0.3,  0.35, 0.4,  0.45, 0.5,   0.55,  0.6,
	0.65, 0.7,  0.75, 0.8,  0.85, 0.9,  0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1};

static const double serve_quantiles[SERVE_QUANTILES] = {0.5, 0.9, 0.95, 0.99};

/* Bins from 1 us on; the last one ends after 4000 s. */
enum { GAP_BINS = 11000 };
static const double GAP_RATIO = 0.002, GAP_FIRST_PS = 1e6;

uint64_t *gaps_new(struct arena *arena)
{
	return ARENA_ARRAY(arena, GAP_BINS, uint64_t);
}

static void gaps_flush(struct service *service)
{
	double at = log(fmax(1, (double)service->gap_ps / GAP_FIRST_PS)) / GAP_RATIO;
	service->gaps[(size_t)fmin(at, GAP_BINS - 1)] += service->gap_count;
	service->gap_count = 0;
}

void gap_note(struct service *service, int64_t gap_ps)
{
	if (gap_ps != service->gap_ps && service->gap_count > 0)
		gaps_flush(service);
	service->gap_ps = gap_ps;
	service->gap_count++;
}

/* Sets the quantiles of the times between tokens, each in the middle of its bin. */
static void gap_quantiles(const uint64_t *gaps, double *quantiles_s)
{
	uint64_t all = 0, seen = 0;
	for (size_t i = 0; i < GAP_BINS; i++)
		all += gaps[i];
	for (size_t k = 0, i = 0; k < SERVE_QUANTILES; k++) {
		quantiles_s[k] = NAN;
		for (; i < GAP_BINS && all > 0; seen += gaps[i++])
			if ((double)(seen + gaps[i]) >= serve_quantiles[k] * (double)all)
				break;
		if (all > 0)
			quantiles_s[k] = 1e-12 * GAP_FIRST_PS * exp(GAP_RATIO * ((double)i + 0.5));
	}
}

struct answers_summing {
	struct serving_answers answers;
	double *latencies_s, *firsts_s; /* of ended requests */
	double *tokens_s;               /* of those with two tokens */
	size_t count;
	double left_count;    /* requests that the services could not carry */
	double met_count;     /* requests that meet objectives */
	size_t between_count; /* requests that have two tokens */
	size_t rated_count;   /* those of them whose tokens came in more than one message */
	bool has_objective;
	uint64_t *gaps;
};

/* Returns the mean time between tokens of a request that has ended; NaN: it has one token. */
static double between_of(const struct query *q)
{
	double tokens = q->request->output;
	return tokens > 1 ? s_from_ps(q->last_ps - q->first_ps) / (tokens - 1) : NAN;
}

bool query_meets(const struct query *q)
{
	const struct serve_params *params = q->replica->service->spec->params;
	double latency_s = s_from_ps(q->end_ps - q->arrival_ps), between_s = between_of(q);
	double first_s = s_from_ps(q->first_ps - q->arrival_ps);
	return (!(params->latency_slo_s > 0) || latency_s <= params->latency_slo_s) &&
	       (!(params->first_slo_s > 0) || first_s <= params->first_slo_s) &&
	       (!(params->between_slo_s > 0) || !(between_s > params->between_slo_s));
}

static void add_query(struct answers_summing *sums, const struct query *q)
{
	double latency_s = s_from_ps(q->end_ps - q->arrival_ps);
	double first_s = s_from_ps(q->first_ps - q->arrival_ps);
	double between_s = between_of(q), rest_s = latency_s;
	for (size_t i = 0; i < SERVE_OTHER; i++) {
		sums->answers.parts_s[i] += s_from_ps(q->parts_ps[i]);
		rest_s -= s_from_ps(q->parts_ps[i]);
	}
	sums->answers.parts_s[SERVE_OTHER] += fabs(rest_s) > 1e-9 * latency_s ? rest_s : 0;
	if (q->request->output > 1) {
		sums->answers.token_mean_s += between_s;
		if (between_s > 0) {
			sums->answers.user_tokens_per_s += 1 / between_s;
			sums->rated_count++;
		}
		sums->tokens_s[sums->between_count++] = between_s;
	}
	sums->answers.first_mean_s += first_s;
	sums->latencies_s[sums->count] = latency_s;
	sums->firsts_s[sums->count++] = first_s;
	sums->answers.mean_s += latency_s;
	sums->met_count += query_meets(q);
}

/* Returns the part of a span that is inside a window. */
static double part_inside(int64_t from_ps, int64_t to_ps, const int64_t window_ps[2])
{
	int64_t begin_ps = from_ps > window_ps[0] ? from_ps : window_ps[0];
	int64_t end_ps = to_ps < window_ps[1] ? to_ps : window_ps[1];
	if (from_ps == to_ps)
		return from_ps > window_ps[0] && to_ps <= window_ps[1];
	return end_ps > begin_ps ? (double)(end_ps - begin_ps) / (double)(to_ps - from_ps) : 0;
}

struct served_work {
	double requests, tokens;
};

/* Returns what the service did in a window, whether or not the requests are measured. A request
 * that is in service at the window's begin or end counts by the part of its time inside. */
static struct served_work work_inside(const struct service *service, const int64_t window_ps[2])
{
	struct served_work work = {0};
	for (size_t i = 0; i < service->spec->requests.count; i++) {
		const struct query *q = &service->queries[i];
		if (q->end_ps == 0)
			continue;
		double tokens = q->request->output;
		work.requests += part_inside(q->begun_ps, q->end_ps, window_ps);
		work.tokens += part_inside(q->first_ps, q->first_ps, window_ps);
		work.tokens += (tokens - 1) * part_inside(q->first_ps, q->last_ps, window_ps);
	}
	return work;
}

/* Returns the requests that the replicas of a service can have in service at the same time. */
static double running_most(const struct serving *serving, const struct service *service)
{
	double most = 0;
	for (size_t i = 0; i < serving->spec.replica_count; i++)
		if (serving->replicas[i].service == service)
			most += (double)serving->replicas[i].running_most;
	return most;
}

/* Returns the requests that a service could not carry after the warm-up: those that it refused, and
 * those by which the queues of its replicas and of its front end grew. A queue of batches that are
 * not full does not count. */
static double left_behind(const struct serving *serving, const struct service *service)
{
	double batches = service->continuous ? 0 : running_most(serving, service), refused = 0;
	for (size_t i = service->first_measured; i < service->spec->requests.count; i++)
		refused += service->queries[i].refused;
	double grown = (double)service->arrivals_end_waiting - (double)service->opened_waiting;
	return refused + fmax(0, grown - batches);
}

static int64_t later_ps(int64_t a_ps, int64_t b_ps)
{
	return a_ps > b_ps ? a_ps : b_ps;
}

struct service_span { /* what the requests of a service say about its steady state */
	int64_t last_begun_ps, last_ps; /* the last begin and the last end of a request */
	double ended, life_s;           /* requests that ended, and their mean time in service */
};

static struct service_span span_of(const struct service *service)
{
	struct service_span span = {.last_ps = service->opened_ps};
	double count = 0;
	for (size_t i = 0; i < service->spec->requests.count; i++) {
		const struct query *q = &service->queries[i];
		if (q->end_ps == 0)
			continue;
		count++;
		span.ended += q->measured;
		span.life_s += s_from_ps(q->end_ps - q->begun_ps);
		span.last_begun_ps = later_ps(q->begun_ps, span.last_begun_ps);
		span.last_ps = later_ps(q->end_ps, span.last_ps);
	}
	span.life_s /= fmax(1, count);
	return span;
}

/* Returns the number of requests from which on a service has a long steady state: a few times as
 * many as its replicas can have in service. */
static double requests_wanted(const struct serving *serving, const struct service *service)
{
	const double TIMES = 5;
	return TIMES * running_most(serving, service);
}

enum { BATCH_MEANS = 10 }; /* equal parts of a run */

/* Returns the half width of the 90 % interval of the mean of BATCH_MEANS equal parts (batch means;
 * Law, Simulation Modeling and Analysis, 9.5.3). */
static double half_width(const double *parts)
{
	const double STUDENT = 1.833; /* 95 % quantile with 9 degrees of freedom */
	double sum = 0, squares = 0;
	for (size_t i = 0; i < BATCH_MEANS; i++) {
		sum += parts[i];
		squares += parts[i] * parts[i];
	}
	double variance = fmax(0, squares - sum * sum / BATCH_MEANS) / (BATCH_MEANS - 1);
	return STUDENT * sqrt(variance / BATCH_MEANS);
}

/* Returns the half width of the 90 % interval of the requests in a window. */
static double work_error(const struct service *service, const int64_t window_ps[2])
{
	double parts[BATCH_MEANS];
	int64_t length_ps = (window_ps[1] - window_ps[0]) / BATCH_MEANS;
	for (int64_t i = 0; i < BATCH_MEANS; i++) {
		int64_t begin_ps = window_ps[0] + i * length_ps;
		parts[i] =
			work_inside(service, (int64_t[2]){begin_ps, begin_ps + length_ps}).requests;
	}
	return BATCH_MEANS * half_width(parts);
}

/* Returns the half width of the 90 % interval of the mean latency, divided by it. The latencies are
 * in the order of arrivals; NaN: they are too few. */
static double latency_error(const double *latencies_s, size_t count)
{
	double parts[BATCH_MEANS] = {0}, sum_s = 0;
	size_t length = count / BATCH_MEANS;
	if (length == 0)
		return NAN;
	for (size_t i = 0; i < BATCH_MEANS * length; i++) {
		parts[i / length] += latencies_s[i] / (double)length;
		sum_s += latencies_s[i];
	}
	return half_width(parts) / (sum_s / (double)(BATCH_MEANS * length));
}

/* The throughput is the work in a window in which the load does not change. The window opens when
 * the first measured request has arrived, and as many requests have ended as the warm-up has. It
 * closes when the last request leaves the queue, because until then new requests replace those that
 * end. If the window has too little of the work, because requests are few, the window is the whole
 * time from the first measured arrival to the last end. The same holds if an overloaded server has
 * a window of less than LIVES_LEAST times in service: the requests in service at its begin started
 * together, so their prompts were processed before it, and their tokens come at too high a rate. */
static void add_throughput(struct serving_answers *answers, const struct serving *serving,
			   const struct service *service, bool is_overloaded)
{
	const double LEAST = 0.25, LIVES_LEAST = 3;
	struct service_span span = span_of(service);
	int64_t opened_ps = service->opened_ps;
	int64_t window_ps[2] = {later_ps(opened_ps, service->warm_ps), span.last_begun_ps};
	struct served_work work = work_inside(service, window_ps);
	double window_s = s_from_ps(window_ps[1] - window_ps[0]);
	if (!(work.requests > LEAST * span.ended) ||
	    (is_overloaded && window_s < LIVES_LEAST * span.life_s)) {
		window_ps[0] = opened_ps;
		window_ps[1] = span.last_ps;
		work = work_inside(service, window_ps);
		window_s = s_from_ps(window_ps[1] - window_ps[0]);
		answers->wanted_count += requests_wanted(serving, service);
	}
	double error_per_s = work_error(service, window_ps) / window_s;
	answers->error_ratio = hypot(answers->error_ratio, error_per_s);
	answers->requests_per_s += work.requests / window_s;
	answers->tokens_per_s += work.tokens / window_s;
}

static void add_service(struct answers_summing *sums, const struct serving *serving,
			struct service *service)
{
	gaps_flush(service);
	double count = (double)(service->spec->requests.count - service->first_measured);
	double left = left_behind(serving, service);
	sums->left_count += left;
	add_throughput(&sums->answers, serving, service, left >= OVERLOAD_LEAST * count);
	for (size_t i = 0; i < GAP_BINS; i++)
		sums->gaps[i] += service->gaps[i];
	const struct serve_params *params = service->spec->params;
	sums->has_objective |=
		params->latency_slo_s > 0 || params->first_slo_s > 0 || params->between_slo_s > 0;
	double worked_s = s_from_ps(service->front_end_ps) / (double)service->process_count;
	double span_s = s_from_ps(serving_now_ps(serving));
	sums->answers.front_end_ratio =
		fmax(sums->answers.front_end_ratio, span_s > 0 ? worked_s / span_s : 0);
	sums->answers.preempted_count += (double)service->preempted_count;
	size_t before = sums->count;
	double before_s = sums->answers.mean_s;
	for (size_t i = service->first_measured; i < service->spec->requests.count; i++) {
		const struct query *q = &service->queries[i];
		sums->answers.requests_count++;
		sums->answers.refused_count += q->refused;
		if (q->end_ps > 0)
			add_query(sums, q);
	}
	double ratio = latency_error(&sums->latencies_s[before], sums->count - before);
	double error_s = ratio * (sums->answers.mean_s - before_s);
	sums->answers.latency_error_ratio = hypot(sums->answers.latency_error_ratio, error_s);
}

/* Sets the answers that follow from the replicas of these services: the tokens that fit into their
 * KV caches, and the causes of waits in their queues. */
static void add_replicas(struct serving_answers *answers, const struct serving *serving,
			 const struct service *services, size_t count)
{
	double sum_s = 0;
	for (size_t i = 0; i < serving->spec.replica_count; i++) {
		const struct replica *r = &serving->replicas[i];
		if (r->service < services || r->service >= services + count)
			continue;
		answers->cache_tokens_count +=
			(double)r->spec->block_count * r->service->spec->params->block_count;
		for (size_t k = 0; k < QUEUE_CAUSE_COUNT; k++) {
			answers->queue_ratios[k] += r->queue_sums_s[k];
			sum_s += r->queue_sums_s[k];
		}
	}
	for (size_t k = 0; k < QUEUE_CAUSE_COUNT && sum_s > 0; k++)
		answers->queue_ratios[k] /= sum_s;
}

/* Returns the answers of one service; SIZE_MAX: of all. */
static struct serving_answers answers_of(struct serving *serving, size_t index)
{
	size_t first = index == SIZE_MAX ? 0 : index, room = 0;
	size_t end = index == SIZE_MAX ? serving->spec.service_count : index + 1;
	for (size_t i = first; i < end; i++)
		room += serving->services[i].spec->requests.count;
	struct arena *scratch = arena_new();
	struct answers_summing sums = {.latencies_s = ARENA_ARRAY(scratch, room, double),
				       .firsts_s = ARENA_ARRAY(scratch, room, double),
				       .tokens_s = ARENA_ARRAY(scratch, room, double),
				       .gaps = gaps_new(scratch)};
	struct serving_answers *answers = &sums.answers;
	for (size_t i = first; i < end; i++)
		add_service(&sums, serving, &serving->services[i]);
	answers->overload_ratio = sums.left_count / answers->requests_count;
	answers->error_ratio /= answers->requests_per_s;
	answers->latency_error_ratio /= answers->mean_s;
	if (answers->overload_ratio >= OVERLOAD_LEAST)
		answers->latency_error_ratio = NAN;
	double count = (double)sums.count;
	answers->mean_s /= count;
	answers->first_mean_s /= count;
	answers->token_mean_s /= (double)sums.between_count;
	answers->user_tokens_per_s /= (double)sums.rated_count;
	add_replicas(answers, serving, &serving->services[first], end - first);
	for (size_t i = 0; i < SERVE_PART_COUNT; i++)
		answers->parts_s[i] /= count;
	answers->attainment_ratio =
		sums.has_objective ? sums.met_count / answers->requests_count : NAN;
	answers->goodput_per_s = answers->requests_per_s * answers->attainment_ratio;
	gap_quantiles(sums.gaps, answers->between_s);
	for (size_t k = 0; k < SERVE_QUANTILES; k++) {
		answers->token_s[k] = NAN;
		if (sums.between_count > 0)
			answers->token_s[k] =
				num_quantile(sums.tokens_s, sums.between_count, serve_quantiles[k]);
		answers->latency_s[k] = answers->first_s[k] = NAN;
		if (sums.count == 0)
			continue;
		answers->latency_s[k] =
			num_quantile(sums.latencies_s, sums.count, serve_quantiles[k]);
		answers->first_s[k] = num_quantile(sums.firsts_s, sums.count, serve_quantiles[k]);
	}
	for (size_t k = 0; k < SERVE_CDF_POINTS && sums.count > 0; k++)
		answers->cdf_s[k] = num_quantile(sums.latencies_s, sums.count, serve_cdf_shares[k]);
	arena_free(scratch);
	return sums.answers;
}

static double busy_ratio(const struct serving *serving, const struct replica *r)
{
	double busy_s = s_from_ps(r->kernel_sum_ps - r->kernel_opened_ps);
	double span_s = s_from_ps(serving_now_ps(serving) - serving->opened_ps);
	return span_s > 0 ? busy_s / span_s : 0;
}

void serving_read(struct serving *serving, struct replica_run *runs)
{
	struct arena *arena = serving->spec.arena;
	size_t services = serving->spec.service_count;
	struct serving_answers *all = ARENA_ARRAY(arena, services + 1, struct serving_answers);
	for (size_t i = 0; i < services; i++)
		all[i] = answers_of(serving, i);
	all[services] = services > 1 ? answers_of(serving, SIZE_MAX) : all[0];
	for (size_t i = 0; i < serving->spec.replica_count; i++) {
		const struct replica *r = &serving->replicas[i];
		const struct serving_answers *own = &all[r->service - serving->services];
		double share = (double)r->ended_count / (own->requests_count - own->refused_count);
		runs[i] = (struct replica_run){own, &all[services], busy_ratio(serving, r),
					       own->requests_per_s * share};
	}
}
