/* SPDX-License-Identifier: GPL-3.0-or-later */
/* flows_farwire SEED: prints the end time of each flow of the set of this seed, by farwire's
 * fabric, one on each line. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/fabric/fabric.h"
#include "tests/bench/flow_set.h"

struct run {
	struct engine *engine;
	struct fabric *fabric;
	struct flow_set set;
	double end_s[SET_FLOWS];
};

static void ended(void *ctx, uint64_t index)
{
	struct run *run = ctx;
	run->end_s[index] = s_from_ps(engine_now_ps(run->engine));
}

static void start(void *ctx, uint64_t index)
{
	struct run *run = ctx;
	const struct set_flow *flow = &run->set.flows[index];
	struct flow_spec spec = {.size = flow->size_B,
				 .cap = flow->cap_Bps,
				 .done = ended,
				 .ctx = run,
				 .arg = index};
	for (size_t i = 0; i < flow->link_count; i++)
		spec.uses[spec.use_count++] = (struct flow_use){(int)flow->links[i], 1};
	fabric_flow_start(run->fabric, &spec);
}

int main(int argc, char **argv)
{
	static struct run run;
	struct arena *arena = arena_new();
	set_draw(&run.set, argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
	run.engine = engine_new(arena, NULL);
	run.fabric = fabric_new(arena, run.engine);
	for (size_t i = 0; i < 2 * SET_ENDS; i++)
		fabric_resource_add(run.fabric, arena_printf(arena, "link%zu", i),
				    run.set.capacity_Bps[i]);
	for (size_t i = 0; i < SET_FLOWS; i++)
		engine_at(run.engine, ps_from_s(run.set.flows[i].start_s), start, &run, i);
	engine_run(run.engine);
	fabric_account(run.fabric);
	if (engine_failure(run.engine)) {
		fprintf(stderr, "%s\n", engine_failure(run.engine));
		return 1;
	}
	for (size_t i = 0; i < SET_FLOWS; i++)
		printf("%.12f\n", run.end_s[i]);
	arena_free(arena);
	return 0;
}
