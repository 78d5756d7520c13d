/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/answers.h"
#include "sim/predict/draws.h"
#include "sim/result/answer.h"

#define SERVING_ANSWERS                                                                            \
	ANSWER_REQUESTS, ANSWER_SERVED_TOKENS, ANSWER_LATENCY_P50, ANSWER_LATENCY_P99,             \
		ANSWER_FIRST_P99, ANSWER_BETWEEN_P99, ANSWER_ATTAINMENT

#define COST_ANSWERS                                                                               \
	ANSWER_COST_HOUR, ANSWER_COST_SAMPLE, ANSWER_COST_TOKEN, ANSWER_COST_RUN, ANSWER_CHEAPER,  \
		ANSWER_POWER

/* Returns a kind of which the throughput is: samples, requests or bytes per second. */
static enum prediction_kind counted(const struct prediction *p)
{
	enum prediction_kind kind = prediction_kind(p);
	return kind == PREDICTION_PROGRAMS ? PREDICTION_TRAINING : kind;
}

struct quotient throughput_quotient(const struct prediction *a, const struct prediction *b)
{
	if (!a->ok || !b->ok || counted(a) != counted(b))
		return (struct quotient){ESTIMATE_NONE, NAN};
	return a == b ? (struct quotient){estimate_exact(1), NAN} : draws_quotient(a, b);
}

struct quotient cost_quotient(const struct prediction *a, const struct prediction *b)
{
	if (!a->ok || !b->ok || counted(a) != counted(b) || !isfinite(a->cost_sample.value) ||
	    !isfinite(b->cost_sample.value))
		return (struct quotient){ESTIMATE_NONE, NAN};
	return a == b ? (struct quotient){estimate_exact(1), NAN} : draws_cost_quotient(a, b);
}

static struct result_cell cell_of(const struct prediction *p, enum answer answer,
				  const struct prediction *first)
{
	const struct reported *row = answer_at(answer);
	if (!(row->kinds & (unsigned)prediction_kind(p)))
		return (struct result_cell){NULL, ESTIMATE_NONE};
	if (row->text)
		return (struct result_cell){reported_text_of(row, p), ESTIMATE_NONE};
	if (answer == ANSWER_FASTER || answer == ANSWER_CHEAPER) {
		double chance = answer == ANSWER_FASTER ? throughput_quotient(p, first).above_one
							: 1 - cost_quotient(p, first).above_one;
		return (struct result_cell){NULL, estimate_exact(round(1000 * chance) / 1000)};
	}
	return (struct result_cell){NULL, answer == ANSWER_TO_FIRST
						  ? throughput_quotient(p, first).estimate
						  : reported_of(row, p)};
}

/* The predictions of a table, and what fills the cells before their answers. */
struct answer_lines {
	const struct prediction *const *predictions;
	size_t count;
	void (*lead)(struct result_table *table, const void *ctx, size_t line); /* NULL: none */
	const void *ctx;
};

static bool is_shown(const struct answer_lines *lines, enum answer answer)
{
	const struct reported *row = answer_at(answer);
	bool any = !row->optional;
	for (size_t i = 0; i < lines->count && !any; i++) {
		struct result_cell cell =
			cell_of(lines->predictions[i], answer, lines->predictions[0]);
		any = cell.text || isfinite(cell.number.value);
	}
	return any && (row->kinds & prediction_kinds(lines->predictions, lines->count));
}

/* The list of answers and its length, as two arguments. */
#define COLUMNS(list) list, sizeof list / sizeof list[0]

/* Answers at the beginning of a list that compare each line with the first, and the list without
 * them if there are no intervals. */
#define DECISION ANSWER_TO_FIRST, ANSWER_FASTER
enum { DECISION_COUNT = sizeof((int[]){DECISION}) / sizeof(int) };
#define DECISION_COLUMNS(list, first)                                                              \
	&(list)[(first)->drawn_count ? 0 : DECISION_COUNT],                                        \
		sizeof list / sizeof list[0] - ((first)->drawn_count ? 0 : DECISION_COUNT)

/* Says how many draws are behind the intervals of the lines; NULL: there are no intervals. */
static const char *draws_words(struct arena *arena, const struct answer_lines *lines)
{
	size_t most = 0, drawn = 0, working = 0;
	for (size_t i = 0; i < lines->count; i++) {
		const struct prediction *p = lines->predictions[i];
		working += p->ok;
		drawn += p->ok && p->draws_count > 0;
		most = p->draws_count > most ? p->draws_count : most;
	}
	const char *some = drawn == working
				   ? ""
				   : arena_printf(arena,
						  "; only the first and the fastest of %zu rows "
						  "have them, because draws of all rows would take "
						  "long (--draws %zu)",
						  working, most);
	return most ? arena_printf(arena, "intervals: 90 %%, from %zu draws of a row%s", most, some)
		    : NULL;
}

/* Adds the columns of the answers, and a row for each prediction. */
static struct result_table *tabulate(struct result_table *table, const enum answer *answers,
				     size_t answer_count, struct answer_lines lines)
{
	struct arena *arena = table->arena;
	enum answer *shown = ARENA_ARRAY(arena, answer_count, enum answer);
	size_t count = 0;
	bool training = false; /* it is the same time as elapsed, except in a long run */
	bool is_long = is_shown(&lines, ANSWER_RUN_GOODPUT);
	for (size_t k = 0; k < answer_count; k++) {
		const struct reported *row = answer_at(answers[k]);
		struct result_column column = {row->name, row->quantity, row->text, row->interval,
					       row->heading};
		if (!is_shown(&lines, answers[k]) ||
		    (training && !is_long && answers[k] == ANSWER_ELAPSED))
			continue;
		training |= answers[k] == ANSWER_TRAINING;
		if (answers[k] == ANSWER_THROUGHPUT) {
			column.heading = throughput_unit(lines.predictions, lines.count);
			if (strcmp(column.heading, "steps/s") == 0)
				column.name = "steps_per_s";
		}
		result_column(table, column);
		shown[count++] = answers[k];
	}
	table->setup = predictions_setup(arena, lines.predictions, lines.count);
	table->draws = draws_words(arena, &lines);
	table->without_effect = predictions_without_effect(arena, lines.predictions, lines.count);
	for (size_t i = 0; i < lines.count; i++) {
		result_row(table);
		if (lines.lead)
			lines.lead(table, lines.ctx, i);
		for (size_t k = 0; k < count; k++)
			result_cell(table,
				    cell_of(lines.predictions[i], shown[k], lines.predictions[0]));
	}
	return table;
}

const struct result_table *
comparison_table(struct arena *arena, const struct prediction *const *predictions, size_t count)
{
	static const enum answer columns[] = {ANSWER_NAME,
					      ANSWER_GPUS,
					      ANSWER_THROUGHPUT,
					      ANSWER_TOKENS_GPU,
					      ANSWER_MFU,
					      ANSWER_BANDWIDTH,
					      ANSWER_TO_FIRST,
					      ANSWER_FASTER,
					      ANSWER_TO_LOCAL,
					      ANSWER_EFFICIENCY,
					      ANSWER_STEP,
					      ANSWER_TIME,
					      ANSWER_TRAINING,
					      ANSWER_ELAPSED,
					      ANSWER_RUN_GOODPUT,
					      ANSWER_GPU_HOURS,
					      COST_ANSWERS,
					      ANSWER_EXPOSED,
					      ANSWER_BUBBLE,
					      ANSWER_INPUT,
					      ANSWER_CHOICE,
					      SERVING_ANSWERS,
					      ANSWER_UTILIZATION_VALUE,
					      ANSWER_VERDICT};
	return tabulate(result_table_new(arena, "comparison", "Cases compared"), COLUMNS(columns),
			(struct answer_lines){.predictions = predictions, .count = count});
}

const struct result_table *scaling_table(struct arena *arena, const struct scaling *scaling)
{
	static const enum answer columns[] = {
		ANSWER_GPUS,        ANSWER_THROUGHPUT, ANSWER_TOKENS_GPU, ANSWER_MFU,
		ANSWER_BANDWIDTH,   ANSWER_SPEEDUP,    ANSWER_FASTER,     ANSWER_EFFICIENCY,
		ANSWER_STEP,        ANSWER_TIME,       ANSWER_EXPOSED,    ANSWER_BUBBLE,
		ANSWER_STRAGGLER,   ANSWER_INPUT,      ANSWER_TRAINING,   ANSWER_ELAPSED,
		ANSWER_RUN_GOODPUT, ANSWER_GPU_HOURS,  COST_ANSWERS,      ANSWER_CHOICE_OF_JOB,
		SERVING_ANSWERS,    ANSWER_BOTTLENECK, ANSWER_VERDICT};
	const char *title = arena_printf(arena, "Scaling of %s", scaling->name);
	return tabulate(result_table_new(arena, "scaling", title), COLUMNS(columns),
			(struct answer_lines){.predictions = scaling->predictions,
					      .count = scaling->count});
}

const char *sweep_words(struct arena *arena, const struct sweep *sweep)
{
	const char *text = sweep->words[0];
	for (size_t a = 1; a < sweep->axis_count; a++)
		text = arena_printf(arena, "%s%s%s", text,
				    a + 1 < sweep->axis_count ? ", " : " and ", sweep->words[a]);
	return text;
}

/* The name of the case is left out if an axis changes it. */
static const char *sweep_title(struct arena *arena, const struct sweep *sweep)
{
	const char *name = sweep->points[0]->name, *words = sweep_words(arena, sweep);
	bool same = true;
	for (size_t i = 1; i < sweep->point_count; i++)
		same &= strcmp(sweep->points[i]->name, name) == 0;
	return same ? arena_printf(arena, "Sweep of %s over %s", name, words)
		    : arena_printf(arena, "Sweep over %s", words);
}

/* Returns true if some points work, and each of them is equal to the point with the first value of
 * the axis. */
static bool has_no_effect(const struct sweep *sweep, size_t axis)
{
	size_t stride = 1;
	bool any = false;
	for (size_t a = axis + 1; a < sweep->axis_count; a++)
		stride *= sweep->axes[a].count;
	for (size_t i = 0; i < sweep->point_count; i++) {
		size_t first = i - sweep_axis_index(sweep, i, axis) * stride;
		any |= sweep->points[i]->ok;
		if (!predictions_equal(sweep->points[i], sweep->points[first]))
			return false;
	}
	return any && sweep->axes[axis].count > 1;
}

static const char *axes_without_effect(struct arena *arena, const struct sweep *sweep)
{
	const char *found = NULL;
	for (size_t a = 0; a < sweep->axis_count; a++)
		if (has_no_effect(sweep, a))
			found = arena_printf(arena, "%s%s%s", found ? found : "", found ? ", " : "",
					     sweep->axes[a].key);
	return found;
}

#define GRID_ANSWERS                                                                               \
	DECISION, ANSWER_THROUGHPUT, ANSWER_TOKENS_GPU, ANSWER_MFU, ANSWER_BANDWIDTH,              \
		ANSWER_RATIO, ANSWER_SPEEDUP, ANSWER_EFFICIENCY, ANSWER_STEP, ANSWER_TIME,         \
		ANSWER_EXPOSED, ANSWER_BUBBLE, ANSWER_INPUT, ANSWER_TRAINING, ANSWER_ELAPSED,      \
		ANSWER_RUN_GOODPUT, ANSWER_GPU_HOURS, COST_ANSWERS, SERVING_ANSWERS

static void lead_point(struct result_table *table, const void *ctx, size_t line)
{
	const struct sweep *sweep = ctx;
	for (size_t a = 0; a < sweep->axis_count; a++) {
		const struct sweep_axis *axis = &sweep->axes[a];
		size_t index = sweep_axis_index(sweep, line, a);
		result_cell(table, (struct result_cell){axis->texts[index] + strlen(axis->key) + 1,
							estimate_exact(axis->values[index])});
	}
}

const struct result_table *sweep_table(struct arena *arena, const struct sweep *sweep)
{
	static const enum answer columns[] = {GRID_ANSWERS, ANSWER_UTILIZATION, ANSWER_CHOICE,
					      ANSWER_BOTTLENECK, ANSWER_VERDICT};
	struct result_table *table = result_table_new(arena, "sweep", sweep_title(arena, sweep));
	for (size_t a = 0; a < sweep->axis_count; a++)
		result_column(table,
			      (struct result_column){sweep->axes[a].key, sweep->axes[a].quantity,
						     sweep->axes[a].words, false, sweep->words[a]});
	tabulate(table, DECISION_COLUMNS(columns, sweep->points[0]),
		 (struct answer_lines){sweep->points, sweep->point_count, lead_point, sweep});
	table->without_effect = axes_without_effect(arena, sweep);
	return table;
}

static void lead_combination(struct result_table *table, const void *ctx, size_t line)
{
	const struct dataset *dataset = ctx;
	for (size_t d = 0; d < dataset->dimension_count; d++)
		result_text(table, dataset->dimensions[d].values[dataset->rows[line].at[d]].name);
}

const struct result_table *grid_table(struct arena *arena, const struct dataset_outcome *outcome)
{
	static const enum answer columns[] = {GRID_ANSWERS, ANSWER_BOTTLENECK, ANSWER_VERDICT};
	const struct dataset *dataset = outcome->dataset;
	const struct prediction **predictions =
		ARENA_ARRAY(arena, dataset->row_count, const struct prediction *);
	struct result_table *table = result_table_new(arena, "what_if", dataset->title);
	for (size_t d = 0; d < dataset->dimension_count; d++)
		result_column(table, (struct result_column){.name = dataset->dimensions[d].name,
							    .text = true});
	for (size_t i = 0; i < dataset->row_count; i++)
		predictions[i] = outcome->rows[i].prediction;
	return tabulate(
		table, DECISION_COLUMNS(columns, predictions[0]),
		(struct answer_lines){predictions, dataset->row_count, lead_combination, dataset});
}

static void lead_plan(struct result_table *table, const void *ctx, size_t line)
{
	const struct found_plan *plan = &((const struct plan_search *)ctx)->plans[line];
	result_text(table, plan->name);
	result_number(table, plan->memory_B);
	result_number(table, plan->least_s > 0 ? plan->least_s : NAN);
}

const struct result_table *plan_search_table(struct arena *arena, const struct plan_search *search)
{
	static const enum answer columns[] = {
		DECISION,     ANSWER_THROUGHPUT, ANSWER_TOKENS_GPU, ANSWER_MFU,
		ANSWER_STEP,  ANSWER_EXPOSED,    ANSWER_BUBBLE,     ANSWER_STRAGGLER,
		COST_ANSWERS, ANSWER_BOTTLENECK, ANSWER_VERDICT};
	static const struct prediction none = {.ok = false};
	size_t count = search->best_count;
	const struct prediction **predictions =
		ARENA_ARRAY(arena, count, const struct prediction *);
	for (size_t i = 0; i < count; i++)
		predictions[i] = search->plans[i].prediction;
	const char *title = arena_printf(
		arena, "Best plans of %s: %zu are possible, %zu fit, the search needs %zu",
		search->name, search->possible_count, search->fitting_count, search->needed_count);
	if (search->first_count > 0)
		title = arena_printf(arena, "%s; %zu of these rows show a first step", title,
				     search->first_count);
	if (search->fitting_count == 0)
		title = arena_printf(arena,
				     "No plan of %s fits into the memory of a GPU: %zu are "
				     "possible, and these need least",
				     search->name, search->possible_count);
	if (search->refused)
		title = arena_printf(arena, "%s, %zu of these cannot be simulated (%s)", title,
				     search->refused_count, search->refused);
	struct result_table *table = result_table_new(arena, "plan", title);
	result_columns(table, "plan:text|memory_B:bytes:memory|least_step_s:time:least step");
	return tabulate(table, DECISION_COLUMNS(columns, count ? predictions[0] : &none),
			(struct answer_lines){predictions, count, lead_plan, search});
}

/* ---- plans of several systems ---- */

struct system_row {
	const char *system;
	const struct found_plan *plan;
	double fastest, cheapest; /* chances; NaN: they are not known */
};

static int by_speed(const void *a, const void *b)
{
	const struct prediction *x = ((const struct system_row *)a)->plan->prediction;
	const struct prediction *y = ((const struct system_row *)b)->plan->prediction;
	double own = x->ok ? x->throughput.value : 0, other = y->ok ? y->throughput.value : 0;
	return (own < other) - (own > other);
}

/* Says which row is the best. chance is NaN if it is not known. */
static const char *best_words(struct arena *arena, const char *what, const struct system_row *row,
			      double chance)
{
	const char *text =
		arena_printf(arena, "%s: %s with %s", what, row->system, row->plan->name);
	return isnan(chance) ? text
			     : arena_printf(arena, "%s (with a probability of %.0f %%)", text,
					    100 * chance);
}

static const char *systems_title(struct arena *arena, const struct system_row *rows, size_t count)
{
	const struct system_row *least = NULL;
	if (!rows[0].plan->prediction->ok)
		return "Best plans of several systems: none of them works";
	const char *title = arena_printf(arena, "Best plans of several systems\n%s",
					 best_words(arena, "fastest", &rows[0], rows[0].fastest));
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = rows[i].plan->prediction;
		if (p->ok && isfinite(p->cost_sample.value) &&
		    (!least || p->cost_sample.value < least->plan->prediction->cost_sample.value))
			least = &rows[i];
	}
	return least ? arena_printf(
			       arena, "%s\n%s", title,
			       best_words(arena, "cheapest for a sample", least, least->cheapest))
		     : title;
}

/* Only known chances have a column. */
static void lead_system(struct result_table *table, const void *ctx, size_t line)
{
	const struct system_row *rows = ctx, *row = &rows[line];
	result_text(table, row->system);
	result_text(table, row->plan->name);
	result_number(table, row->plan->memory_B);
	if (!isnan(rows[0].fastest))
		result_number(table, round(1000 * row->fastest) / 1000);
	if (!isnan(rows[0].fastest) && !isnan(rows[0].cheapest))
		result_number(table, round(1000 * row->cheapest) / 1000);
}

const struct result_table *systems_table(struct arena *arena, const char *const *names,
					 const struct plan_search *const *searches, size_t count,
					 const struct prediction *const **predictions)
{
	static const enum answer columns[] = {
		ANSWER_TO_FIRST,   ANSWER_THROUGHPUT, ANSWER_TOKENS_GPU, ANSWER_MFU,
		ANSWER_STEP,       ANSWER_TRAINING,   ANSWER_ELAPSED,    ANSWER_RUN_GOODPUT,
		ANSWER_GPU_HOURS,  COST_ANSWERS,      ANSWER_EXPOSED,    ANSWER_BUBBLE,
		ANSWER_BOTTLENECK, ANSWER_VERDICT};
	size_t row_count = 0;
	for (size_t i = 0; i < count; i++)
		row_count += searches[i]->best_count;
	struct system_row *rows = ARENA_ARRAY(arena, row_count, struct system_row), *row = rows;
	const struct prediction **own = ARENA_ARRAY(arena, row_count, const struct prediction *);
	double *fastest = ARENA_ARRAY(arena, row_count, double);
	double *cheapest = ARENA_ARRAY(arena, row_count, double);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < searches[i]->best_count; k++)
			*row++ = (struct system_row){names[i], &searches[i]->plans[k], NAN, NAN};
	qsort(rows, row_count, sizeof *rows, by_speed);
	for (size_t i = 0; i < row_count; i++)
		own[i] = rows[i].plan->prediction;
	draws_chances(own, row_count, false, fastest);
	draws_chances(own, row_count, true, cheapest);
	for (size_t i = 0; i < row_count; i++) {
		rows[i].fastest = fastest[i];
		rows[i].cheapest = cheapest[i];
	}
	struct result_table *table =
		result_table_new(arena, "systems", systems_title(arena, rows, row_count));
	result_columns(table, "topology:text|plan:text|memory_B:bytes:memory%s%s",
		       isnan(fastest[0]) ? "" : "|fastest:ratio:chance to be fastest",
		       isnan(fastest[0]) || isnan(cheapest[0])
			       ? ""
			       : "|cheapest:ratio:chance to be cheapest");
	*predictions = own;
	return tabulate(table, COLUMNS(columns),
			(struct answer_lines){own, row_count, lead_system, rows});
}
