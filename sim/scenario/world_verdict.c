/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts that the runs of a search share. A layout is tried with several limits of batches at the
 * same load, and most runs never reach a limit. So if one of them misses its objectives, all runs
 * with higher limits than it used miss them, too. */
#include "sim/scenario/world_serving.h"

static struct memo_load load_of(const struct world *w)
{
	const struct case_params *layout = w->scenario->params;
	const struct serve_params *serve = w->scenario->services[0].params;
	return (struct memo_load){{layout->tensor_count, layout->pipeline_count,
				   layout->expert_count, layout->data_count, layout->copies_count,
				   layout->prefill_count, serve->rate_count,
				   serve->concurrency_count, serve->requests_count}};
}

bool world_verdict_known(const struct world *w)
{
	const struct scenario *scenario = w->scenario;
	const struct serve_params *params = scenario->services[0].params;
	struct serving_use limits = {params->batch_count, params->tokens_count, INFINITY};
	const struct memo_load load = load_of(w);
	for (size_t i = 0; i < scenario->job_count; i++)
		limits.blocks = fmin(limits.blocks, (double)w->servers->replicas[i].block_count);
	return scenario->memo && scenario->verdict_only &&
	       serving_memo_missed(scenario->memo, &load, &limits);
}

void world_verdict_keep(const struct world *w)
{
	struct serving_use use;
	const struct memo_load load = load_of(w);
	if (w->scenario->memo && w->scenario->verdict_only &&
	    serving_missed(w->servers->serving, &use))
		serving_memo_miss(w->scenario->memo, &load, &use);
}
