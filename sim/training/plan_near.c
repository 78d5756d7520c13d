/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nearest possible plan, and the nearest one that fits into the GPUs' memory. */
#include "sim/training/plan.h"

enum { CHANGES_MOST = 3, NUMBER_MOST = 64 };

struct near_search {
	const struct near_request *request;
	struct arena *arena;
	const char *best; /* the changes; NULL: none found */
	double best_cost;
};

enum { KEY_TP, KEY_PP, KEY_CP, KEY_EP, KEY_CHUNKS, KEY_MICRO, KEY_RECOMPUTE, KEY_SHARDING, KEYS };
static const char *const names[KEYS] = {"tp",     "pp",          "cp",        "ep",
					"chunks", "micro_batch", "recompute", "sharding"};

/* The number of a key before KEY_RECOMPUTE. */
static double *number_of(struct plan_params *params, size_t key)
{
	double *const numbers[KEY_RECOMPUTE] = {&params->tp_count,     &params->pp_count,
						&params->cp_count,     &params->ep_count,
						&params->chunks_count, &params->micro_batch_count};
	return numbers[key];
}

/* Returns the number of values to try for a key. Only sizes of groups that split the network can
 * become larger. Sharding and recomputation only save memory. */
static size_t values_of(const struct near_search *n, struct plan_params params, size_t key)
{
	bool saves = isfinite(n->request->memory_most_B);
	if (key == KEY_RECOMPUTE)
		return saves ? RECOMPUTE_FULL : 0;
	if (key == KEY_SHARDING)
		return saves ? SHARDING_PARAMETERS : 0;
	size_t most = (size_t)*number_of(&params, key);
	if (key == KEY_TP)
		most = n->request->tensor_most;
	if (key == KEY_PP)
		most = n->request->rank_count;
	return most < NUMBER_MOST ? most : NUMBER_MOST;
}

/* Sets the key. Returns the cost of the change and its value in words; 0: no change. */
static double change(const struct near_search *n, struct plan_params *params, size_t key, size_t v,
		     const char **word)
{
	int *choice = key == KEY_RECOMPUTE ? &params->recompute : &params->sharding;
	if (key >= KEY_RECOMPUTE) {
		static const char *const shardings[] = {"none", "optimizer", "gradients",
							"parameters"};
		if ((int)v <= *choice || (key == KEY_RECOMPUTE && v != RECOMPUTE_FULL))
			return 0;
		*choice = (int)v;
		*word = key == KEY_RECOMPUTE ? "full" : shardings[v];
		return key == KEY_RECOMPUTE ? 1.5 : 0.5 * (double)v;
	}
	double *number = number_of(params, key), was = *number;
	if ((double)v == was || (key <= KEY_EP && n->request->rank_count % v != 0))
		return 0;
	*number = (double)v;
	if (key <= KEY_CP)
		params->dp_count = 0;
	*word = arena_printf(n->arena, "%zu", v);
	return 1 + fabs(log2((double)v / was));
}

static bool is_good(const struct near_search *n, const struct plan_params *params,
		    struct arena *scratch)
{
	const struct near_request *request = n->request;
	const char *why;
	const struct training_plan *plan =
		plan_new(scratch, request->network, params, request->rank_count, &why);
	return plan && plan_most_memory_B(plan, request->stack) <= request->memory_most_B;
}

/* Tries up to `most` changes of the keys from `key` on, in addition to `changes`. */
static void try_changes(struct near_search *n, const struct plan_params *params,
			const char *changes, double cost, size_t key, size_t most)
{
	if (n->best && cost >= n->best_cost)
		return;
	if (*changes) {
		struct arena *scratch = arena_new();
		if (is_good(n, params, scratch)) {
			n->best = changes;
			n->best_cost = cost;
		}
		arena_free(scratch);
	}
	for (; most > 0 && key < KEYS; key++)
		for (size_t v = 1; v <= values_of(n, *params, key); v++) {
			struct plan_params other = *params;
			const char *word = "";
			double more = change(n, &other, key, v, &word);
			if (more > 0)
				try_changes(n, &other,
					    arena_printf(n->arena, "%s%s%s=%s", changes,
							 *changes ? "," : "", names[key], word),
					    cost + more, key + 1, most - 1);
		}
}

const char *plan_near(struct arena *arena, const struct near_request *request)
{
	struct near_search n = {.request = request, .arena = arena_new()};
	for (size_t most = 1; most <= CHANGES_MOST && !n.best; most++)
		try_changes(&n, request->params, "", 0, 0, most);
	const char *best = n.best ? arena_strdup(arena, n.best) : NULL;
	arena_free(n.arena);
	return best;
}
