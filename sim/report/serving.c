/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a model server: its answer, and its times and limits in numbers. */
#include <math.h>

#include "sim/report/part.h"
#include "sim/serving/serving.h"

void report_serving_answer(struct report *report, const struct prediction *p)
{
	struct arena *arena = report->arena;
	const struct estimate *slow_s = &p->latency_s[QUANTILE_COUNT - 1];
	const char *tokens = "";
	if (!p->ok) {
		report_answer(report, true, "%s fails: %s.", p->name, p->reason);
		return;
	}
	if (isfinite(p->token_s.value))
		tokens = arena_printf(arena,
				      " The first token takes %s" NBSP
				      "ms in the mean, and each further one "
				      "%s" NBSP "ms.",
				      figures(arena, 1e3 * p->first_token_mean_s.value, 3),
				      figures(arena, 1e3 * p->token_s.value, 3));
	report_answer(report, false,
		      "%s serves %s, and 99" NBSP "%% of the requests take up to %s" NBSP
		      "s%s.%s Bottleneck: %s.",
		      p->name, throughput_words(arena, p, 3), figures(arena, slow_s->value, 3),
		      interval_words(arena, *slow_s, 1, 3), tokens, p->bottleneck);
}

/* Adds the mean, and the quantiles of 50, 95 and 99 %. */
static void add_times(struct report_table *table, const char *name, struct estimate mean,
		      const struct estimate quantiles[QUANTILE_COUNT], double scale,
		      const char *unit)
{
	static const struct {
		const char *name;
		size_t index;
	} shown[] = {{"median", 0}, {"95 %", 2}, {"99 %", 3}};
	if (isfinite(mean.value))
		report_quantity(table, arena_printf(table->arena, "%s, mean", name), mean, scale,
				unit);
	for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
		if (isfinite(quantiles[shown[k].index].value))
			report_quantity(table,
					arena_printf(table->arena, "%s, %s", name, shown[k].name),
					quantiles[shown[k].index], scale, unit);
}

/* Adds what bounds a service, and how often it did. */
static void add_limits(struct report_table *table, const struct service_entry *service, bool one)
{
	const struct serve_params *params = service->params;
	struct arena *arena = table->arena;
	const struct {
		const char *name;
		double count;
		const char *unit;
	} limits[] = {{"largest batch", params->batch_count, "requests"},
		      {"most tokens of an iteration", service->one_token ? params->tokens_count : 0,
		       "tokens"},
		      {"longest queue of a replica", params->queue_count, "requests"}};
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (limits[i].count > 0)
			report_count(table,
				     one ? limits[i].name
					 : arena_printf(arena, "%s (%s)", limits[i].name,
							service->prefix),
				     limits[i].count, 0, limits[i].unit);
}

void report_serving_quantities(struct report_table *table, const struct scenario *scenario,
			       const struct prediction *p)
{
	if (p->token_throughput.value > 0)
		report_quantity(table, "throughput in tokens", p->token_throughput, 1, "tokens/s");
	add_times(table, "time to first token", p->first_token_mean_s, p->first_token_s, 1e3, "ms");
	add_times(table, "time per token", p->token_s,
		  (const struct estimate[QUANTILE_COUNT]){ESTIMATE_NONE, ESTIMATE_NONE,
							  ESTIMATE_NONE, ESTIMATE_NONE},
		  1e3, "ms");
	add_times(table, "time between tokens", ESTIMATE_NONE, p->between_tokens_s, 1e3, "ms");
	add_times(table, "latency of a request", p->step_s, p->latency_s, 1, "s");
	if (isfinite(p->slo_attainment.value))
		report_quantity(table, "SLO attainment", p->slo_attainment, 100, "%");
	report_quantity(table, "GPU utilisation", p->gpu_utilization, 100, "%");
	for (size_t i = 0; i < scenario->service_count; i++)
		add_limits(table, &scenario->services[i], scenario->service_count == 1);
	if (p->cache_tokens_count > 0)
		report_count(table, "KV caches of all replicas", p->cache_tokens_count, 0,
			     "tokens");
	report_count(table, "preemptions because the KV cache is full", (double)p->preempted_count,
		     0, "");
	report_count(table, "requests that a full queue refuses", (double)p->refused_count, 0,
		     arena_printf(table->arena, "of %.0f", (double)p->requests_count));
}
