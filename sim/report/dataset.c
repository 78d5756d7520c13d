/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a dataset: the errors of predictions for its measured rows, or whether
 * the claims of the source hold. */
#include "sim/report/answers.h"
#include "sim/report/dataset_charts.h"
#include "sim/report/part.h"
#include "sim/report/validation.h"

struct dataset_part {
	struct report *report;
	struct arena *arena;
	const struct dataset_outcome *outcome;
	const struct dataset *dataset;
};

static bool part_is_grid(const struct dataset_part *part)
{
	return part->dataset->dimension_count > 0;
}

/* Returns the set of enum prediction_kind of the rows. */
static unsigned part_kinds(const struct dataset_part *part)
{
	unsigned kinds = 0;
	for (size_t i = 0; i < part->dataset->row_count; i++)
		kinds |= (unsigned)prediction_kind(part->outcome->rows[i].prediction);
	return kinds;
}

/* ---- the answer ---- */

static const char *error_words(const struct dataset_part *part, const struct error_summary *errors,
			       const char *rows)
{
	return arena_printf(part->arena, "%s" NBSP "%% (largest %s" NBSP "%%) on %zu %s %s",
			    figures(part->arena, 100 * errors->median_abs, 2),
			    figures(part->arena, 100 * errors->max_abs, 2), errors->count, rows,
			    one_or(errors->count, "row", "rows"));
}

/* Returns the median errors of test rows and of fit rows in one sentence; "": there are none. */
static const char *errors_words(const struct dataset_part *part)
{
	const struct error_summary *test = &part->outcome->test, *fit = &part->outcome->fit;
	if (test->count + fit->count == 0)
		return "";
	return arena_printf(part->arena, "The median error is %s%s%s. ",
			    test->count ? error_words(part, test, "test") : "",
			    test->count && fit->count ? ", and " : "",
			    fit->count ? error_words(part, fit, "fit") : "");
}

static const char *claims_words(const struct dataset_part *part)
{
	const struct dataset_outcome *outcome = part->outcome;
	size_t count = part->dataset->claim_count, held = 0;
	const char *broken = "";
	for (size_t i = 0; i < count; i++) {
		held += outcome->claims[i].holds;
		if (!outcome->claims[i].holds)
			broken = arena_printf(part->arena, "%s%s%s", broken, *broken ? "; " : "",
					      part->dataset->claims[i].text);
	}
	if (held == count && count == 1)
		return arena_printf(part->arena, "The bound holds: %s.",
				    part->dataset->claims[0].text);
	if (held == count)
		return arena_printf(part->arena, "All %zu claims of the source hold.", count);
	return arena_printf(part->arena, "%zu of %zu %s hold%s; broken: %s.", held, count,
			    one_or(count, "claim", "claims"), held == 1 ? "s" : "", broken);
}

/* Returns in low and high the smallest and largest prediction of the judged rows with this value of
 * the first dimension. low > high means that all of them fail. */
static struct estimate range_of(const struct dataset_part *part, size_t value)
{
	struct estimate range = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		const struct row_outcome *row = &part->outcome->rows[i];
		bool counts = row->row->judged || part->dataset->what_if;
		if (row->row->at[0] != value || !counts || !row->prediction->ok)
			continue;
		range.low = fmin(range.low, row->predicted.value);
		range.high = fmax(range.high, row->predicted.value);
	}
	return range;
}

/* Returns the predictions for each value of the first dimension, from the lowest to the highest:
 * "Predicted throughput: pods on Calico 220 to 1067; ... ." */
static const char *part_ranges(const struct dataset_part *part)
{
	const struct grid_dimension *first = &part->dataset->dimensions[0];
	struct arena *arena = part->arena;
	const char *text = "";
	for (size_t v = 0; v < first->value_count; v++) {
		const struct estimate range = range_of(part, v);
		const char *low = figures(arena, range.low, 4),
			   *high = figures(arena, range.high, 4);
		bool one = range.high - range.low < 0.0005 * range.high;
		text = arena_printf(arena, "%s%s%s ", text, v ? "; " : "", first->values[v].name);
		text = range.low > range.high
			       ? arena_printf(arena, "%sfails", text)
			       : arena_printf(arena, "%s%s%s%s", text, one ? "" : low,
					      one ? "" : " to ", high);
	}
	return arena_printf(arena, "Predicted %s: %s. ", measures[part->dataset->measure].words,
			    text);
}

static void answer(const struct dataset_part *part)
{
	const struct dataset_outcome *o = part->outcome;
	const char *text = part_is_grid(part) ? part_ranges(part) : errors_words(part);
	if (o->verdict_count)
		text = arena_printf(part->arena, "%s%zu of %zu measured failures are predicted. ",
				    text, o->verdict_agree_count, o->verdict_count);
	if (part->dataset->claim_count)
		text = arena_printf(part->arena, "%s%s", text, claims_words(part));
	report_answer(part->report, !o->bounds_hold || o->verdict_agree_count < o->verdict_count,
		      "%s", text);
}

/* ---- rows ---- */

static void rows_of_table(const struct dataset_part *part)
{
	const struct dataset *dataset = part->dataset;
	struct table *table = report_table(
		part->report, validation_heads(part->arena, dataset),
		"Measured and predicted %s of each row. Source: %s.",
		dataset->mixed ? "numbers" : measures[dataset->measure].words, dataset->source);
	for (size_t i = 0; i < dataset->row_count; i++) {
		const struct row_outcome *row = &part->outcome->rows[i];
		bool wrong = row->row->failure ? !row->agrees : !row->prediction->ok;
		validation_row(part->arena, table, dataset, row);
		table_tone(table, wrong ? TONE_ALARM : TONE_PLAIN);
	}
}

static void pencil(const struct dataset_part *part)
{
	if (part->outcome->pencil_count > 0)
		pencil_lines(part->arena, report_table(part->report, pencil_heads, PENCIL_CAPTION),
			     part->outcome);
}

static bool has_intervals(const struct dataset_part *part)
{
	for (size_t i = 0; i < part->dataset->row_count; i++)
		if (has_interval(part->outcome->rows[i].predicted))
			return true;
	return false;
}

static void rows_of_grid(const struct dataset_part *part, const char *caption)
{
	report_results(part->report, grid_table(part->arena, part->outcome), has_intervals(part),
		       NULL, caption);
}

/* Adds the answer and the table of a what-if, which has no measurements. */
static void report_what_if(const struct dataset_part *part)
{
	report_answer(part->report, false, "There are no measurements of these combinations. %s",
		      part_ranges(part));
	rows_of_grid(part, part_kinds(part) == PREDICTION_TRAINING
				   ? "The prediction for every combination. Scaling efficiency is "
				     "relative to ideal linear scaling. Exposed communication and "
				     "input wait are parts of the step time"
				   : "The prediction for every combination");
}

/* ---- claims ---- */

static void claims(const struct dataset_part *part)
{
	struct table *table =
		report_table(part->report, "verdict|claim|predicted",
			     "Claims of the source, and the predicted numbers that decide them.");
	for (size_t i = 0; i < part->dataset->claim_count; i++) {
		const struct claim_outcome *claim = &part->outcome->claims[i];
		table_cells(table, CELLS(claim->holds ? "holds" : "BROKEN", claim->claim->text));
		table_tone(table, claim->holds ? TONE_GOOD : TONE_ALARM);
		const char *values = "";
		for (size_t k = 0; k < claim->value_count; k++)
			values = arena_printf(part->arena, "%s%s%s", values, k ? ", " : "",
					      figures(part->arena, claim->values[k], 3));
		table_cell(table, "%s%s%s", values, claim->broken_at ? "; first broken at " : "",
			   claim->broken_at ? claim->broken_at : "");
	}
}

/* ---- figures ---- */

/* Adds charts of predicted against measured values, and curves with measurements. */
static void part_figures(const struct dataset_part *part)
{
	const char *caption = part->report->caption;
	const struct dataset_chart *charts;
	size_t count = dataset_charts(part->arena, caption, part->outcome, &charts);
	for (size_t i = 0; i < count; i++)
		report_figure(part->report, charts[i].drawing, "%s", charts[i].caption);
	for (enum measure measure = 0; measure < MEASURE_COUNT; measure++) {
		struct drawing *drawing =
			dataset_parity(part->arena, NULL, caption, &part->outcome, 1, measure);
		if (drawing)
			report_figure(part->report, drawing,
				      "Prediction of each row over its measurement. Points on the "
				      "diagonal have no error; the other lines mark errors of 5 "
				      "and 10 %%. The numbers are in the table above.");
	}
}

/* ---- causes ---- */

/* The most rows whose step times are drawn. If there are more, only rows with the most GPUs are
 * drawn. */
enum { STEPS_MOST = 48 };

static bool is_step_shown(const struct dataset_part *part, const struct row_outcome *row)
{
	size_t most = 0, with_parts = 0;
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		const struct prediction *p = part->outcome->rows[i].prediction;
		most = p->gpu_count > most ? p->gpu_count : most;
		with_parts += p->breakdown_count > 0 || !p->ok;
	}
	if (row->prediction->ok && row->prediction->breakdown_count == 0)
		return false;
	return with_parts <= STEPS_MOST || row->prediction->gpu_count == most;
}

static void breakdown(const struct dataset_part *part)
{
	size_t count = 0;
	const struct prediction **list =
		ARENA_ARRAY(part->arena, part->dataset->row_count + 1, const struct prediction *);
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		struct prediction *named = ARENA_NEW(part->arena, struct prediction);
		*named = *part->outcome->rows[i].prediction;
		named->name = part->outcome->rows[i].row->label;
		if (is_step_shown(part, &part->outcome->rows[i]))
			list[count++] = named;
	}
	if (part_kinds(part) != PREDICTION_COLLECTIVE && count)
		report_breakdown(part->report, list, count);
}

/* Returns true if data crosses a link between GPUs or between program and GPU. */
static bool is_remote(const struct scenario *scenario)
{
	const struct job_entry *job = &scenario->jobs[0];
	return job->rank_count > 1 || (job->runtime && job->guests[0] != job->servers[0]);
}

static size_t gpus_of(const struct dataset_part *part, size_t row)
{
	return part->outcome->rows[row].prediction->gpu_count;
}

/* Returns the row whose step is drawn: the first remote row that works, if possible a fit row.
 * SIZE_MAX means none. */
static size_t timeline_row(const struct dataset_part *part, const struct scenario *const *all)
{
	size_t shown = SIZE_MAX;
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		const struct row_outcome *row = &part->outcome->rows[i];
		if (!is_remote(all[i]) || !row->prediction->ok)
			continue;
		bool better = shown != SIZE_MAX && row->row->role == ROLE_FIT &&
			      part->outcome->rows[shown].row->role != ROLE_FIT;
		if (shown == SIZE_MAX || better)
			shown = i;
	}
	return shown;
}

/* Returns the row whose links are drawn for the topology of row i: its remote row with the most
 * GPUs. SIZE_MAX means that an earlier row has shown this topology. */
static size_t topology_row(const struct dataset_part *part, const struct scenario *const *all,
			   size_t i)
{
	size_t chosen = SIZE_MAX;
	for (size_t k = 0; k < part->dataset->row_count; k++) {
		if (strcmp(all[k]->topology.name, all[i]->topology.name) != 0)
			continue;
		if (k < i)
			return SIZE_MAX;
		if (is_remote(all[k]) &&
		    (chosen == SIZE_MAX || gpus_of(part, k) > gpus_of(part, chosen)))
			chosen = k;
	}
	return chosen == SIZE_MAX ? i : chosen;
}

/* Adds the parts of the step times, a timeline of one step, and the topologies. */
static void part_scenes(const struct dataset_part *part)
{
	size_t count = part->dataset->row_count;
	const struct scenario **all = ARENA_ARRAY(part->arena, count + 1, const struct scenario *);
	for (size_t i = 0; i < count; i++) {
		const struct case_request request =
			dataset_request(&part->dataset->rows[i], part->report->request->data_root);
		/* the row was read before without errors */
		all[i] = case_read(part->arena, diag_new(part->arena), &request);
	}
	breakdown(part);
	size_t shown = timeline_row(part, all);
	if (shown != SIZE_MAX)
		report_timeline(part->report, all[shown], part->outcome->rows[shown].row->label);
	for (size_t i = 0; i < count; i++) {
		size_t chosen = topology_row(part, all, i);
		if (chosen != SIZE_MAX)
			report_topology(part->report, all[chosen],
					part->outcome->rows[chosen].prediction,
					part->outcome->rows[chosen].row->label);
	}
}

/* ---- the part ---- */

void report_dataset(struct report *report, const struct dataset_outcome *outcome,
		    const char *subject)
{
	struct dataset_part part = {report, report->arena, outcome, outcome->dataset};
	struct caption caption = report->request->caption;
	const char *before = report->caption;
	caption.subject = subject;
	caption.draws = outcome->draws_count;
	caption.configuration = dataset_configuration(report->arena, &outcome, 1);
	report->caption = caption_text(report->arena, &caption);
	report_add(report, BLOCK_PART, "%s", part.dataset->title);
	if (part.dataset->what_if) {
		report_what_if(&part);
	} else {
		*VEC_PUSH(report->arena, &report->outcomes) = outcome;
		answer(&part);
		if (part_is_grid(&part))
			rows_of_grid(
				&part,
				arena_printf(report->arena,
					     "%s for every combination. Source of the claims: %s",
					     part.dataset->ratio
						     ? "Throughput relative to the local GPU"
						     : "Predictions",
					     part.dataset->source));
		else
			rows_of_table(&part);
		pencil(&part);
	}
	if (caption.draws < report->request->caption.draws)
		report_add(report, BLOCK_TEXT, "%s",
			   caption.draws == 0
				   ? "There are no intervals, because these rows take long; "
				     "--draws adds them."
				   : arena_printf(report->arena,
						  "Intervals are from only %zu draws, because "
						  "these rows take long; --draws sets the number.",
						  caption.draws));
	if (part.dataset->claim_count)
		claims(&part);
	part_figures(&part);
	report_add(report, BLOCK_HEADING, "Causes");
	part_scenes(&part);
	report->caption = before;
	report->bound_broken |= !outcome->bounds_hold;
}
