/* SPDX-License-Identifier: Apache-2.0 */
/* Probe A5: the GPU's time for a graph of n empty kernels. */
#include "calib/probe/probe.h"

#define GRAPHS_COUNT 4

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const short nodes[] = {1, 2, 5, 10, 20, 30, 50, 100, 150, 200};
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		plan_add(plan, &(struct plan_point){
				       .is = {{"what", "run"}},
				       .x = {{"nodes", nodes[i]}},
				       .held_out = nodes[i] == 30 || nodes[i] == 150,
			       });
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	size_t nodes = (size_t)plan_point_number(point, "nodes", 1);
	int code = bench_finish(bench);
	if (code != GPU_OK)
		return code;
	return bench_code(bench, bench->gpu, bench->gpu->api->graph_make(bench->gpu, nodes));
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	return bench_span(bench, &(struct gpu_call){.kind = GPU_GRAPH}, GRAPHS_COUNT, value);
}

const struct probe probe_graph = {
	.id = "A5",
	.test = "graph",
	.help = "run time of graphs of n empty kernels",
	.add = add,
	.begin = begin,
	.sample = sample,
};
