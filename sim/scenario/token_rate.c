/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/scenario.h"

/* Returns the sum of the peak rates of the job's GPUs. */
static double peak_flops(const struct topology *topology, const struct job_entry *job)
{
	double sum = 0;
	for (size_t i = 0; i < job->simulated_count; i++) {
		const struct gpu_params *gpu = &topology->gpus[job->gpus[i]].params;
		double count = topology->fold ? (double)fold_count(topology->fold, i) : 1;
		sum += count * gpu_peak_flops(gpu, stack_product_type(job->stack, gpu, false));
	}
	return sum;
}

static double job_rate(const struct topology *topology, const struct job_entry *job,
		       enum token_rate rate)
{
	if (job->network->sequence == 0)
		return NAN;
	double flop = network_model_flop(job->network, job->stack->forward_only);
	switch (rate) {
	case RATE_TOKENS:
		return (double)job->network->sequence;
	case RATE_TOKENS_GPU:
		return (double)job->network->sequence / (double)job->rank_count;
	case RATE_MODEL_FLOPS:
		return flop / (double)job->rank_count;
	case RATE_HFU:
		flop += job->plan ? plan_recomputed_flop(job->plan, job->network, job->stack) : 0;
		break;
	default:
		break;
	}
	return flop / peak_flops(topology, job);
}

double scenario_token_rate(const struct scenario *scenario, enum token_rate rate)
{
	size_t count = scenario->job_count;
	if (scenario->style == JOBS_SERVING)
		return NAN;
	double first = job_rate(&scenario->topology, &scenario->jobs[0], rate);
	for (size_t i = 1; i < count; i++)
		if (job_rate(&scenario->topology, &scenario->jobs[i], rate) != first)
			return NAN;
	if (rate == RATE_TOKENS || count <= 1)
		return first;
	/* the throughput is a sum over jobs of equal size */
	return scenario_has_gpus(scenario) ? first / (double)count : NAN;
}
