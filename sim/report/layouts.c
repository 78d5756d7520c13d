/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/answers.h"
#include "plots/style.h"
#include "sim/serving/serving.h"

/* The quantiles of struct prediction, and the one that a search shows: the first that is not below
 * its own. */
static const double quantiles[QUANTILE_COUNT] = {0.5, 0.9, 0.95, 0.99};
static size_t shown_quantile(const struct serve_search *search)
{
	size_t k = 0;
	while (k + 1 < QUANTILE_COUNT && quantiles[k] < search->quantile_ratio - 1e-9)
		k++;
	return k;
}

static const char *title_of(struct arena *arena, const struct serve_search *search)
{
	const struct serve_layout *best = &search->layouts[0];
	const char *title = arena_printf(
		arena,
		"Best layouts of %s on %g GPUs: %zu carry a load, %zu do not, %zu simulations",
		search->name, search->gpus_count, search->best_count,
		search->layout_count - search->best_count, search->simulation_count);
	if (search->best_count == 0)
		return arena_printf(arena, "%s\nno layout meets the objectives", title);
	const char *unit = search->closed ? "clients" : "requests/s";
	title = arena_printf(arena, "%s\nload of the first: %s %s", title,
			     interval_text(arena, &search->load), unit);
	return best->command ? arena_printf(arena, "%s\n%s", title, best->command) : title;
}

static void add_row(struct result_table *table, const struct serve_search *search, size_t row,
		    bool priced)
{
	const struct serve_layout *layout = &search->layouts[row];
	const struct prediction *p = layout->prediction;
	size_t q = shown_quantile(search);
	double none = p ? 1 : NAN;
	result_row(table);
	for (size_t key = 0; key < LAYOUT_KEYS; key++)
		if (!isnan(search->layouts[0].sizes[key]))
			result_number(table, layout->sizes[key]);
	result_estimate(table, row == 0 && p ? search->load : estimate_exact(none * layout->load));
	result_number(table, none * layout->load_per_gpu);
	result_number(table, p ? p->token_throughput.value / layout->gpus_count : NAN);
	result_number(table, p ? p->user_token_throughput.value : NAN);
	result_number(table, p ? p->first_token_s[q].value : NAN);
	result_number(table, p ? p->token_quantile_s[q].value : NAN);
	if (priced)
		result_number(table, p ? 1e6 * p->cost_token.value : NAN);
	result_text(table, layout->name);
	result_text(table, p ? layout->command : NULL);
	result_text(table, p ? "ok" : layout->reason);
}

const struct result_table *serve_search_table(struct arena *arena,
					      const struct serve_search *search)
{
	static const char *const sizes[LAYOUT_KEYS] = {"tensor",   "pipeline",
						       "data",     "expert",
						       "replicas", "prefill_replicas::prefill",
						       "batch",    "batch_tokens::batch tokens"};
	int percent = (int)round(100 * quantiles[shown_quantile(search)]);
	const struct prediction *best = search->layouts[0].prediction;
	bool priced = best && isfinite(best->cost_token.value);
	struct result_table *table = result_table_new(arena, "layouts", title_of(arena, search));
	for (size_t key = 0; key < LAYOUT_KEYS; key++)
		if (!isnan(search->layouts[0].sizes[key]))
			result_columns(table, "%s", sizes[key]);
	result_columns(table,
		       "%s|requests_per_s_gpu::requests/s/GPU|tokens_per_s_gpu::tokens/s/GPU|"
		       "tokens_per_s_user::tokens/s/user|first_token_p%d_s:time:first token p%d|"
		       "token_p%d_s:time:per token p%d%s|settings:text:|command:text:|verdict:text",
		       search->closed ? "clients:~:clients" : "load_per_s:~:requests/s", percent,
		       percent, percent, percent,
		       priced ? "|cost_per_million_tokens::cost of 10^6 tokens" : "");
	table->setup = search->setup;
	for (size_t i = 0; i < search->layout_count; i++)
		add_row(table, search, i, priced);
	return table;
}

struct drawing *serve_search_chart(struct arena *arena, struct chart_text text,
				   const struct serve_search *search)
{
	struct plan_mark *marks = ARENA_ARRAY(arena, search->mark_count + 1, struct plan_mark);
	for (size_t i = 0; i < search->mark_count; i++) {
		const struct serve_mark *own = &search->marks[i];
		bool front = true;
		for (size_t k = 0; k < search->mark_count && front; k++) {
			const struct serve_mark *other = &search->marks[k];
			front = !(other->user_tokens_per_s > own->user_tokens_per_s &&
				  other->gpu_tokens_per_s > own->gpu_tokens_per_s);
		}
		marks[i] =
			(struct plan_mark){own->user_tokens_per_s,
					   estimate_exact(own->gpu_tokens_per_s), front, own->name};
	}
	const struct plan_axes axes = {
		"tokens/s of a user",
		"tokens/s of a GPU",
		{"other simulated loads", "no other load has more of both"},
		search->layouts[0].prediction
			? search->layouts[0].prediction->user_token_throughput.value
			: NAN,
		"the first layout at its load"};
	return chart_plans(arena, text, &axes, marks, search->mark_count);
}
