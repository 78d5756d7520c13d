/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks the rows of a table by cost under a limit, or by speed under a limit of the cost. */
#include "sim/report/answers.h"

struct cost_ranking {
	const struct prediction *const *predictions;
	const struct target *target;
	const struct reported *cost; /* the smallest is the best; NULL: the highest throughput is */
};

bool reported_is_cost(const struct reported *row)
{
	return row >= answer_at(ANSWER_COST_HOUR) && row <= answer_at(ANSWER_ENERGY_RUN);
}

/* Returns the cost that all working predictions have; NULL: they have none. */
static const struct reported *cost_of(const struct prediction *const *predictions, size_t count)
{
	static const enum answer costs[] = {ANSWER_COST_RUN, ANSWER_COST_SAMPLE};
	for (size_t k = 0; k < sizeof costs / sizeof costs[0]; k++) {
		size_t known = 0, working = 0;
		for (size_t i = 0; i < count; i++) {
			working += predictions[i]->ok;
			known += isfinite(reported_of(answer_at(costs[k]), predictions[i]).value)
					 ? 1U
					 : 0U;
		}
		if (known == working)
			return answer_at(costs[k]);
	}
	return NULL;
}

static bool meets(const struct target *target, double value)
{
	return target->at_least ? value >= target->value : value <= target->value;
}

static bool is_met(const struct cost_ranking *r, size_t row)
{
	return meets(r->target, reported_of(r->target->reported, r->predictions[row]).value);
}

/* Returns true if row a is better than row b. */
static bool is_better(const struct cost_ranking *r, size_t a, size_t b)
{
	const struct prediction *x = r->predictions[a], *y = r->predictions[b];
	if (is_met(r, a) != is_met(r, b))
		return is_met(r, a);
	if (x->ok != y->ok)
		return x->ok;
	return r->cost ? reported_of(r->cost, x).value < reported_of(r->cost, y).value
		       : x->throughput.value > y->throughput.value;
}

/* Returns what stands in the first cells of a row: "case.gpus=8", or a name. */
static const char *row_words(struct arena *arena, const struct result_table *table, size_t row,
			     size_t lead)
{
	const char *words = "";
	for (size_t k = 0; k < lead; k++) {
		const struct result_column *column = &table->columns[k];
		const struct result_cell *cell = &table->cells[row * table->column_count + k];
		const char *own =
			cell->text ? cell->text
				   : quantity_format(arena, column->quantity, cell->number.value);
		if (!column->text || strchr(column->name, '.')) /* the key of an axis */
			own = arena_printf(arena, "%s=%s", column->name, own);
		words = arena_printf(arena, "%s%s%s", words, k ? ", " : "", own);
	}
	return words;
}

/* Says why the rows are not ranked by cost, although some have one. */
static const char *why_unpriced(struct arena *arena, const struct cost_ranking *r,
				const struct result_table *table, size_t lead)
{
	size_t i = 0;
	while (i + 1 < table->row_count &&
	       (!r->predictions[i]->ok || isfinite(r->predictions[i]->cost_sample.value)))
		i++;
	return arena_printf(arena,
			    ", not ranked by cost, because %s has no price (write --set "
			    "gpu_cost.GPU.hour_price=2.5 with the GPU's name)",
			    row_words(arena, table, i, lead));
}

/* Says which row is the best, and how likely it is better than the next one. */
static const char *decision(struct arena *arena, const struct cost_ranking *r,
			    const struct result_table *table, size_t lead, const size_t *order)
{
	const struct prediction *best = r->predictions[order[0]], *next = NULL;
	const struct reported *row = r->target->reported;
	if (!is_met(r, order[0]))
		return arena_printf(arena, "no row meets %s", r->target->text);
	struct estimate own = reported_of(row, best);
	bool sure = meets(r->target, own.low) && meets(r->target, own.high);
	const char *cost = "";
	if (r->cost)
		cost = arena_printf(arena, ", %s %s", r->cost->spoken,
				    reported_interval(arena, r->cost, reported_of(r->cost, best)));
	else if (!reported_is_cost(row) && costs_are_known(r->predictions, table->row_count))
		cost = why_unpriced(arena, r, table, lead);
	const char *text = arena_printf(
		arena, "%s with %s: %s%s%s", r->cost ? "cheapest" : "fastest", r->target->text,
		row_words(arena, table, order[0], lead), cost,
		has_interval(own) && !sure ? " (a part of its interval misses the limit)" : "");
	if (table->row_count > 1 && is_met(r, order[1]))
		next = r->predictions[order[1]];
	if (!next)
		return text;
	double chance = r->cost ? 1 - cost_quotient(best, next).above_one
				: throughput_quotient(best, next).above_one;
	if (isnan(chance))
		return text;
	return arena_printf(arena, "%s; %s than %s with a probability of %.0f %%", text,
			    r->cost ? "cheaper" : "faster", row_words(arena, table, order[1], lead),
			    100 * chance);
}

const struct result_table *ranked_table(struct arena *arena, const struct result_table *table,
					const struct prediction *const *predictions, size_t lead,
					const struct target *target)
{
	size_t count = table->row_count, width = table->column_count;
	const struct cost_ranking r = {
		predictions, target,
		reported_is_cost(target->reported) ? NULL : cost_of(predictions, count)};
	size_t *order = ARENA_ARRAY(arena, count + 1, size_t);
	struct result_table *ranked = ARENA_NEW(arena, struct result_table);
	*ranked = *table;
	ranked->cells = ARENA_ARRAY(arena, count * width + 1, struct result_cell);
	for (size_t i = 0; i < count; i++) {
		size_t at = i;
		for (; at > 0 && is_better(&r, i, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (size_t i = 0; i < count; i++)
		memcpy(&ranked->cells[i * width], &table->cells[order[i] * width],
		       width * sizeof *table->cells);
	ranked->title = arena_printf(arena, "%s\n%s", table->title,
				     decision(arena, &r, table, lead, order));
	return ranked;
}

bool costs_are_known(const struct prediction *const *predictions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (predictions[i]->ok && isfinite(predictions[i]->cost_sample.value))
			return true;
	return false;
}

struct drawing *cost_chart(struct arena *arena, struct chart_text text,
			   const struct result_table *table, size_t lead,
			   const struct prediction *const *predictions, const struct target *target)
{
	size_t count = table->row_count;
	const struct cost_ranking r = {predictions, target, NULL};
	const struct reported *cost = cost_of(predictions, count);
	cost = cost ? cost : answer_at(ANSWER_COST_SAMPLE);
	struct plan_mark *marks = ARENA_ARRAY(arena, count + 1, struct plan_mark);
	const char *currency = "";
	size_t shown = 0;
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		double own = reported_of(cost, p).value;
		bool front = !target || is_met(&r, i);
		for (size_t k = 0; k < count; k++)
			front &= !((!target || is_met(&r, k)) &&
				   reported_of(cost, predictions[k]).value < own &&
				   predictions[k]->throughput.value > p->throughput.value);
		currency = p->currency ? p->currency : currency;
		if (isfinite(own)) /* a case that fails has no cost */
			marks[shown++] = (struct plan_mark){own, p->throughput, front,
							    row_words(arena, table, i, lead)};
	}
	const char *unit = prediction_kinds(predictions, count) == PREDICTION_COLLECTIVE
				   ? "bus bandwidth (B/s)"
				   : throughput_unit(predictions, count);
	struct plan_axes axes = {
		arena_printf(arena, "%s (%s)", cost->heading, currency), unit, {NULL}, NAN, NULL};
	if (shown > 4) {
		axes.names[0] = "another one is cheaper and faster";
		axes.names[1] = "no other one is cheaper and faster";
	}
	if (shown > 4 && target) {
		axes.names[0] =
			arena_printf(arena, "misses %s, or %s", target->text, axes.names[0]);
		axes.names[1] = arena_printf(arena, "of those that meet it, %s", axes.names[1]);
	}
	return chart_plans(arena, text, &axes, marks, shown);
}
