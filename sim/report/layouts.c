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

static struct result_cell number_cell(double value)
{
	return (struct result_cell){NULL, isfinite(value) ? estimate_exact(value) : ESTIMATE_NONE};
}

static void fill(const struct serve_search *search, size_t row, struct result_cell *cells,
		 bool priced)
{
	const struct serve_layout *layout = &search->layouts[row];
	const struct prediction *p = layout->prediction;
	size_t k = 0, q = shown_quantile(search);
	double none = p ? 1 : NAN;
	for (size_t key = 0; key < LAYOUT_KEYS; key++)
		if (!isnan(search->layouts[0].sizes[key]))
			cells[k++] = number_cell(layout->sizes[key]);
	cells[k++] = (struct result_cell){
		NULL, row == 0 && p ? search->load : estimate_exact(none * layout->load)};
	cells[k++] = number_cell(none * layout->load_per_gpu);
	cells[k++] = number_cell(p ? p->token_throughput.value / layout->gpus_count : NAN);
	cells[k++] = number_cell(p ? p->user_token_throughput.value : NAN);
	cells[k++] = number_cell(p ? p->first_token_s[q].value : NAN);
	cells[k++] = number_cell(p ? p->token_quantile_s[q].value : NAN);
	if (priced)
		cells[k++] = number_cell(p ? 1e6 * p->cost_token.value : NAN);
	cells[k++] = (struct result_cell){layout->name, ESTIMATE_NONE};
	cells[k++] = (struct result_cell){p ? layout->command : NULL, ESTIMATE_NONE};
	cells[k++] = (struct result_cell){p ? "ok" : layout->reason, ESTIMATE_NONE};
}

const struct result_table *serve_search_table(struct arena *arena,
					      const struct serve_search *search)
{
	static const struct result_column sizes[LAYOUT_KEYS] = {
		{"tensor", QUANTITY_COUNT, false, false, NULL},
		{"pipeline", QUANTITY_COUNT, false, false, NULL},
		{"data", QUANTITY_COUNT, false, false, NULL},
		{"expert", QUANTITY_COUNT, false, false, NULL},
		{"replicas", QUANTITY_COUNT, false, false, NULL},
		{"prefill_replicas", QUANTITY_COUNT, false, false, "prefill"},
		{"batch", QUANTITY_COUNT, false, false, NULL},
		{"batch_tokens", QUANTITY_COUNT, false, false, "batch tokens"},
	};
	enum { MORE = 10 };
	struct result_column columns[LAYOUT_KEYS + MORE];
	size_t k = 0, q = shown_quantile(search);
	int percent = (int)round(100 * quantiles[q]);
	const struct prediction *best = search->layouts[0].prediction;
	bool priced = best && isfinite(best->cost_token.value);
	for (size_t key = 0; key < LAYOUT_KEYS; key++)
		if (!isnan(search->layouts[0].sizes[key]))
			columns[k++] = sizes[key];
	columns[k++] =
		(struct result_column){search->closed ? "clients" : "load_per_s", QUANTITY_COUNT,
				       false, true, search->closed ? "clients" : "requests/s"};
	columns[k++] = (struct result_column){"requests_per_s_gpu", QUANTITY_COUNT, false, false,
					      "requests/s/GPU"};
	columns[k++] = (struct result_column){"tokens_per_s_gpu", QUANTITY_COUNT, false, false,
					      "tokens/s/GPU"};
	columns[k++] = (struct result_column){"tokens_per_s_user", QUANTITY_COUNT, false, false,
					      "tokens/s/user"};
	columns[k++] = (struct result_column){arena_printf(arena, "first_token_p%d_s", percent),
					      QUANTITY_TIME, false, false,
					      arena_printf(arena, "first token p%d", percent)};
	columns[k++] =
		(struct result_column){arena_printf(arena, "token_p%d_s", percent), QUANTITY_TIME,
				       false, false, arena_printf(arena, "per token p%d", percent)};
	if (priced)
		columns[k++] = (struct result_column){"cost_per_million_tokens", QUANTITY_COUNT,
						      false, false, "cost of 10^6 tokens"};
	columns[k++] = (struct result_column){"settings", QUANTITY_COUNT, true, false, ""};
	columns[k++] = (struct result_column){"command", QUANTITY_COUNT, true, false, ""};
	columns[k++] = (struct result_column){"verdict", QUANTITY_COUNT, true, false, NULL};
	struct result_table *table =
		result_table_new(arena, "layouts", title_of(arena, search), columns, k);
	table->setup = search->setup;
	for (size_t i = 0; i < search->layout_count; i++)
		fill(search, i, result_table_row(arena, table), priced);
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
