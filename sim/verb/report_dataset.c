/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report on a dataset: how near predictions come to what was
 * measured, or whether the source's claims hold. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/verb/report.h"
#include "sim/verb/validation.h"

struct part {
	struct report *report;
	const struct command *command;
	struct arena *arena;
	const struct dataset_outcome *outcome;
	const struct dataset *dataset;
};

static bool is_grid(const struct part *part)
{
	return part->dataset->dimension_count > 0;
}

static const char *quantity_of(const struct part *part)
{
	return part->dataset->ratio ? "ratio to the local GPU" : "images/s";
}

static const char *percents(struct arena *arena, double ratio)
{
	return isfinite(ratio) ? arena_printf(arena, "%s%.*f", ratio < 0 ? "−" : "+",
					      fabs(ratio) < 0.0995 ? 2 : 1, 100 * fabs(ratio))
			       : "";
}

/* ---- the answer ---- */

/* Of the row of that role with the largest error. */
static const char *worst_label(const struct dataset_outcome *outcome, enum row_role role)
{
	const struct row_outcome *worst = NULL;
	for (size_t i = 0; i < outcome->dataset->row_count; i++) {
		const struct row_outcome *row = &outcome->rows[i];
		if (row->row->role == role && isfinite(row->error) &&
		    (!worst || fabs(row->error) > fabs(worst->error)))
			worst = row;
	}
	return worst ? worst->row->label : "";
}

static const char *errors_words(const struct part *part, enum row_role role)
{
	bool test = role == ROLE_TEST;
	const struct error_summary *summary = test ? &part->outcome->test : &part->outcome->fit;
	struct arena *arena = part->arena;
	if (summary->count == 0)
		return "";
	const char *median = figures(arena, 100 * summary->median_abs, 2);
	const char *most = figures(arena, 100 * summary->max_abs, 2);
	const char *worst = worst_label(part->outcome, role);
	if (!test)
		return arena_printf(arena,
				    "On %zu fit rows, which set parameters: %s" NBSP
				    "%% and %s" NBSP "%% (%s). ",
				    summary->count, median, most, worst);
	return arena_printf(
		arena,
		"On %zu test rows, which set no parameter, predictions are off by %s" NBSP
		"%% in the median and %s" NBSP "%% at most (%s); %.0f of these %zu "
		"measured values lie in their 90" NBSP "%% interval. ",
		summary->count, median, most, worst, summary->coverage * (double)summary->count,
		summary->count);
}

/* "vmxnet3 keeps 87.7 to 93.5 %, ...": each value of the first dimension. */
static const char *kept_words(const struct part *part)
{
	const struct grid_dimension *first = &part->dataset->dimensions[0];
	const char *text = "Of the local GPU's throughput,";
	for (size_t v = 0; v < first->value_count; v++) {
		double low = INFINITY, high = -INFINITY;
		for (size_t i = 0; i < part->dataset->row_count; i++) {
			const struct row_outcome *row = &part->outcome->rows[i];
			if (row->row->at[0] != v || !row->row->judged || !row->prediction->ok)
				continue;
			low = fmin(low, row->predicted.value);
			high = fmax(high, row->predicted.value);
		}
		text = arena_printf(part->arena, "%s%s %s", text, v ? "," : "",
				    first->values[v].name);
		text = low > high ? arena_printf(part->arena, "%s does not run", text)
				  : arena_printf(part->arena, "%s keeps %s to %s" NBSP "%%", text,
						 figures(part->arena, 100 * low, 3),
						 figures(part->arena, 100 * high, 3));
	}
	return arena_printf(part->arena, "%s. ", text);
}

static size_t held_count(const struct dataset_outcome *outcome)
{
	size_t count = 0;
	for (size_t i = 0; i < outcome->dataset->claim_count; i++)
		count += outcome->claims[i].holds;
	return count;
}

static const char *broken_claims(const struct part *part)
{
	const char *text = "";
	for (size_t i = 0; i < part->dataset->claim_count; i++)
		if (!part->outcome->claims[i].holds)
			text = arena_printf(part->arena, "%s%s%s", text, *text ? "; " : "",
					    part->dataset->claims[i].text);
	return text;
}

static const char *claims_words(const struct part *part)
{
	size_t count = part->dataset->claim_count, held = held_count(part->outcome);
	if (held == count && count == 1)
		return arena_printf(part->arena, "The bound holds: %s.",
				    part->dataset->claims[0].text);
	if (held == count)
		return arena_printf(part->arena, "All %zu claims of the source hold.", count);
	return arena_printf(part->arena, "%zu of %zu %s hold%s; broken: %s.", held, count,
			    one_or(count, "claim", "claims"), held == 1 ? "s" : "",
			    broken_claims(part));
}

static void answer(const struct part *part)
{
	const struct dataset_outcome *o = part->outcome;
	const char *text =
		is_grid(part) ? kept_words(part)
			      : arena_printf(part->arena, "%s%s", errors_words(part, ROLE_TEST),
					     errors_words(part, ROLE_FIT));
	if (o->verdict_count)
		text = arena_printf(part->arena, "%s%zu of %zu measured failures are predicted. ",
				    text, o->verdict_agree_count, o->verdict_count);
	if (part->dataset->claim_count)
		text = arena_printf(part->arena, "%s%s", text, claims_words(part));
	report_answer(part->report, !o->bounds_hold || o->verdict_agree_count < o->verdict_count,
		      "%s", text);
}

/* ---- rows of a table ---- */

static void table_heads(struct report_table *table, const struct part *part)
{
	report_column(table, "row", COLUMN_NAME);
	report_column(table, "measured", COLUMN_NUMBER);
	report_column(table, "predicted", COLUMN_NUMBER);
	report_column(table, "90 % interval", COLUMN_NUMBER);
	report_column(table, "error (%)", COLUMN_NUMBER);
	report_column(table, "GPU busy (%)", COLUMN_NUMBER);
	if (!part->dataset->ratio)
		report_column(table, "ratio to local (%)", COLUMN_NUMBER);
	report_column(table, "what binds", COLUMN_TEXT);
}

static void table_row_of(struct report_table *table, const struct part *part,
			 const struct row_outcome *row)
{
	struct arena *arena = part->arena;
	const struct prediction *p = row->prediction;
	bool wrong = row->row->failure ? !row->agrees : !p->ok;
	report_row(table, wrong ? TONE_ALARM : TONE_PLAIN);
	report_cell(table, "%s", row->row->label);
	report_cell(table, "%s",
		    row->row->failure ? "FAIL" : figures(arena, row->row->measured, 4));
	if (!p->ok) {
		report_cell(table, "FAIL, %s: %s",
			    row->row->failure ? "as measured" : "unlike the measurement",
			    p->reason);
		return;
	}
	report_estimate(table, row->predicted, 1, 4);
	report_cell(table, "%s", row->row->failure ? "did not fail" : percents(arena, row->error));
	report_cell(table, "%s", figures(arena, 100 * p->gpu_utilization.value, 3));
	if (!part->dataset->ratio)
		report_cell(table, "%s", figures(arena, 100 * p->ratio.value, 3));
	report_cell(table, "%s", p->bottleneck);
}

static void sum_row(struct report_table *table, struct arena *arena,
		    const struct error_summary *summary)
{
	if (summary->count == 0)
		return;
	report_row(table, TONE_SUM);
	report_cell(table,
		    "%zu with numbers: |error| median %s %%, largest %s %%, geometric mean %s %%; "
		    "90 %% intervals cover %.0f %%",
		    summary->count, figures(arena, 100 * summary->median_abs, 2),
		    figures(arena, 100 * summary->max_abs, 2),
		    figures(arena, 100 * summary->geomean_abs, 2), 100 * summary->coverage);
}

static void rows_of_table(const struct part *part)
{
	static const struct {
		enum row_role role;
		const char *title;
	} groups[] = {{ROLE_TEST, "Test rows: never used to set a parameter"},
		      {ROLE_FIT, "Fit rows: parameters were fitted to them"},
		      {ROLE_REPORT, "Reported only"}};
	const struct dataset_outcome *o = part->outcome;
	struct report_table *table =
		report_table(part->report, "Measured and predicted %s of every row. Source: %s.",
			     quantity_of(part), part->dataset->source);
	table_heads(table, part);
	for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
		bool begun = false;
		for (size_t i = 0; i < part->dataset->row_count; i++) {
			if (o->rows[i].row->role != groups[g].role)
				continue;
			if (!begun) {
				report_row(table, TONE_GROUP);
				report_cell(table, "%s", groups[g].title);
				begun = true;
			}
			table_row_of(table, part, &o->rows[i]);
		}
		if (groups[g].role != ROLE_REPORT)
			sum_row(table, part->arena,
				groups[g].role == ROLE_TEST ? &o->test : &o->fit);
	}
}

/* ---- rows of a grid ---- */

static void grid_heads(struct report_table *table, const struct part *part, const char *compared)
{
	for (size_t d = 0; d < part->dataset->dimension_count; d++)
		report_column(table, part->dataset->dimensions[d].name, COLUMN_NAME);
	report_column(table, "ratio (%)", COLUMN_NUMBER);
	report_column(table, "90 % interval", COLUMN_NUMBER);
	if (compared)
		report_column(table, compared, COLUMN_NUMBER);
	report_column(table, "images/s", COLUMN_NUMBER);
	report_column(table, "GPU busy (%)", COLUMN_NUMBER);
	report_column(table, "what binds", COLUMN_TEXT);
}

static void grid_row_of(struct report_table *table, const struct part *part,
			const struct row_outcome *row, const struct row_outcome *compared)
{
	struct arena *arena = part->arena;
	const struct prediction *p = row->prediction;
	report_row(table, !p->ok                         ? TONE_ALARM
			  : row->row->judged || compared ? TONE_PLAIN
							 : TONE_SOFT);
	for (size_t d = 0; d < part->dataset->dimension_count; d++)
		report_cell(table, "%s", part->dataset->dimensions[d].values[row->row->at[d]].name);
	if (!p->ok) {
		report_cell(table, "FAIL: %s", p->reason);
		return;
	}
	report_estimate(table, row->predicted, 100, 3);
	if (compared)
		report_cell(table, "%s", figures(arena, 100 * compared->predicted.value, 3));
	report_cell(table, "%s", figures(arena, p->throughput.value, 3));
	report_cell(table, "%s", figures(arena, 100 * p->gpu_utilization.value, 3));
	report_cell(table, "%s%s", p->bottleneck,
		    row->row->judged || compared ? "" : " (not judged)");
}

static void rows_of_grid(const struct part *part)
{
	struct report_table *table =
		report_table(part->report,
			     "Throughput as a ratio to the same GPU used locally, for every "
			     "combination. Source of the claims: %s.",
			     part->dataset->source);
	grid_heads(table, part, NULL);
	for (size_t i = 0; i < part->dataset->row_count; i++)
		grid_row_of(table, part, &part->outcome->rows[i], NULL);
}

/* ---- claims, fitted parameters ---- */

static void claims(const struct part *part)
{
	struct report_table *table = report_table(
		part->report, "What the source claims, and the numbers that decide it.");
	report_column(table, "verdict", COLUMN_TEXT);
	report_column(table, "claim", COLUMN_TEXT);
	report_column(table, "deciding numbers", COLUMN_TEXT);
	for (size_t i = 0; i < part->dataset->claim_count; i++) {
		const struct claim_outcome *claim = &part->outcome->claims[i];
		const char *values = "";
		for (size_t k = 0; k < claim->value_count; k++)
			values = arena_printf(part->arena, "%s%s%s", values, k ? ", " : "",
					      figures(part->arena, claim->values[k], 3));
		report_row(table, claim->holds ? TONE_GOOD : TONE_ALARM);
		report_cell(table, "%s", claim->holds ? "holds" : "BROKEN");
		report_cell(table, "%s", claim->claim->text);
		report_cell(table, "%s", values);
	}
}

static void fitted(const struct part *part)
{
	const struct dataset_outcome *o = part->outcome;
	report_add(part->report, BLOCK_HEADING, "What was fitted");
	if (o->fitted_count == 0) {
		report_add(part->report, BLOCK_TEXT, "These predictions use no fitted parameter.");
		return;
	}
	report_add(
		part->report, BLOCK_TEXT,
		"%zu fitted %s, %zu fit %s in this dataset. Everything else is a constant with a "
		"source, or an assumption that says so: `farwire explain` lists all.",
		o->fitted_count, one_or(o->fitted_count, "parameter", "parameters"),
		o->fit_row_count, one_or(o->fit_row_count, "row", "rows"));
	struct report_table *table =
		report_parameters(part->report, "Fitted parameters, and the rows they come from.");
	for (size_t i = 0; i < o->fitted_count; i++)
		report_parameter_add(table, part->command, o->fitted[i]);
}

/* ---- figures ---- */

static const struct cfg_param *param_of(const struct row_outcome *row, const char *path)
{
	return cfg_param_find(row->prediction->resolution, path);
}

/* Two rows train the same network with the same batch. */
static bool same_work(const struct row_outcome *a, const struct row_outcome *b)
{
	const struct cfg_param *batch_a = param_of(a, "case.batch"),
			       *batch_b = param_of(b, "case.batch");
	const struct cfg_param *model_a = param_of(a, "case.model"),
			       *model_b = param_of(b, "case.model");
	return batch_a && batch_b && model_a && model_b && batch_a->value == batch_b->value &&
	       strcmp(model_a->text, model_b->text) == 0;
}

/* What was measured, over what was measured of the local GPU: rows whose label
 * begins with "baseline"; NaN where there is none. */
static double measured_ratio(const struct part *part, const struct row_outcome *row)
{
	if (part->dataset->ratio)
		return row->row->measured;
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		const struct row_outcome *other = &part->outcome->rows[i];
		if (strncmp(other->row->label, "baseline", 8) == 0 && same_work(row, other))
			return row->row->measured / other->row->measured;
	}
	return NAN;
}

static void bars_table(const struct part *part, const struct ratio_bar *bars)
{
	report_add(part->report, BLOCK_FOLD, "The numbers of this figure");
	struct report_table *table = report_table(part->report, "Ratios to the local GPU.");
	report_column(table, "row", COLUMN_NAME);
	report_column(table, "predicted", COLUMN_NUMBER);
	report_column(table, "90 % interval", COLUMN_NUMBER);
	report_column(table, "measured", COLUMN_NUMBER);
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		report_row(table, bars[i].failed ? TONE_SOFT : TONE_PLAIN);
		report_cell(table, "%s", bars[i].label);
		if (bars[i].failed) {
			report_cell(table, "FAIL: %s", bars[i].failed);
			continue;
		}
		report_estimate(table, bars[i].ratio, 1, 3);
		report_cell(table, "%s",
			    isfinite(bars[i].measured) ? figures(part->arena, bars[i].measured, 3)
						       : "");
	}
	report_add(part->report, BLOCK_UNFOLD, "%s", "");
}

static void bars(const struct part *part, const struct row_outcome *rows, const char *title)
{
	size_t count = part->dataset->row_count;
	struct ratio_bar *list = ARENA_ARRAY(part->arena, count + 1, struct ratio_bar);
	bool measured = false;
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = rows[i].prediction;
		list[i] = (struct ratio_bar){.label = rows[i].row->label,
					     .ratio = p->ratio,
					     .measured = measured_ratio(part, &rows[i]),
					     .failed = p->ok ? NULL : p->reason};
		measured = measured || isfinite(list[i].measured);
	}
	struct chart_text text = {title, command_caption(part->command)};
	report_figure(part->report, chart_ratio_bars(part->arena, text, list, count),
		      "Throughput of each row as a ratio to the local GPU at the same batch%s. The "
		      "dashed line is 95 %%.",
		      measured ? "; diamonds are what was measured, over the measured baseline"
			       : "");
	bars_table(part, list);
}

static void parity(const struct part *part)
{
	struct chart_text text = {
		arena_printf(part->arena, "Predicted against measured %s", quantity_of(part)),
		command_caption(part->command)};
	/* the report owns the drawing, which its PDF puts on a page of its own */
	struct drawing *drawing = validation_parity(part->arena, text, &part->outcome, 1);
	if (drawing)
		report_figure(part->report, drawing,
			      "Each row's prediction over its measurement: on the diagonal they "
			      "agree; the guides are 5 and 10 %% off. The numbers are in the table "
			      "above.");
}

static void breakdown(const struct part *part)
{
	size_t count = part->dataset->row_count;
	const struct prediction **list =
		ARENA_ARRAY(part->arena, count + 1, const struct prediction *);
	for (size_t i = 0; i < count; i++) {
		struct prediction *named = ARENA_NEW(part->arena, struct prediction);
		*named = *part->outcome->rows[i].prediction;
		named->name = part->outcome->rows[i].row->label;
		list[i] = named;
	}
	report_breakdown(part->report, part->command, list, count);
}

static const struct scenario *scenario_of(const struct part *part, size_t row)
{
	const struct dataset_row *r = &part->dataset->rows[row];
	const struct case_request request = {.settings = r->settings,
					     .setting_count = r->setting_count,
					     .data_root = part->command->data_root};
	/* it was read before, so there are no errors to tell */
	return case_read(part->arena, diag_new(part->arena), &request);
}

static bool is_remote(const struct scenario *scenario)
{
	const struct client_entry *client = &scenario->clients[0];
	return client->runtime && client->guest != client->server;
}

/* One step of the first remote row that runs, a fit row if there is one, and
 * each topology once, with the links' use in its first remote row. */
static void scenes(const struct part *part)
{
	size_t count = part->dataset->row_count, shown = SIZE_MAX;
	const struct scenario **all = ARENA_ARRAY(part->arena, count + 1, const struct scenario *);
	for (size_t i = 0; i < count; i++) {
		all[i] = scenario_of(part, i);
		const struct row_outcome *row = &part->outcome->rows[i];
		if (!is_remote(all[i]) || !row->prediction->ok)
			continue;
		bool better = shown != SIZE_MAX && row->row->role == ROLE_FIT &&
			      part->outcome->rows[shown].row->role != ROLE_FIT;
		if (shown == SIZE_MAX || better)
			shown = i;
	}
	if (shown != SIZE_MAX)
		report_timeline(part->report, part->command, all[shown],
				part->outcome->rows[shown].row->label);
	for (size_t i = 0; i < count; i++) {
		size_t chosen = SIZE_MAX;
		bool first = true;
		for (size_t k = 0; k < count; k++) {
			if (strcmp(all[k]->topology.name, all[i]->topology.name) != 0)
				continue;
			first = first && k >= i;
			if (chosen == SIZE_MAX && is_remote(all[k]))
				chosen = k;
		}
		chosen = chosen == SIZE_MAX ? i : chosen;
		if (first)
			report_topology(part->report, part->command, all[chosen],
					part->outcome->rows[chosen].prediction,
					part->outcome->rows[chosen].row->label);
	}
}

static void besides(const struct part *part)
{
	for (size_t b = 0; b < part->dataset->beside_count; b++) {
		const struct row_outcome *rows = part->outcome->beside[b];
		const char *title = part->dataset->beside[b].title;
		report_add(part->report, BLOCK_HEADING, "Beside it, not judged: %s", title);
		struct report_table *table = report_table(
			part->report, "For comparison: no claim is judged by these rows.");
		if (is_grid(part))
			grid_heads(table, part, "judged above (%)");
		else
			table_heads(table, part);
		for (size_t i = 0; i < part->dataset->row_count; i++)
			if (is_grid(part))
				grid_row_of(table, part, &rows[i], &part->outcome->rows[i]);
			else
				table_row_of(table, part, &rows[i]);
		bars(part, rows, arena_printf(part->arena, "For comparison: %s", title));
	}
}

int report_dataset(struct report *report, const struct command *command, const char *name)
{
	size_t count;
	int code = EXIT_DONE;
	struct command one = *command;
	one.words = &name;
	one.word_count = 1;
	const struct dataset_outcome **outcomes = command_validate(&one, &count, &code);
	if (!outcomes)
		return code;
	struct part part = {report, command, report->arena, outcomes[0], outcomes[0]->dataset};
	report_add(report, BLOCK_PART, "%s", part.dataset->title);
	answer(&part);
	if (is_grid(&part))
		rows_of_grid(&part);
	else
		rows_of_table(&part);
	if (part.dataset->claim_count)
		claims(&part);
	bars(&part, part.outcome->rows, "What is kept of the local GPU's throughput");
	parity(&part);
	fitted(&part);
	report_add(report, BLOCK_HEADING, "How it comes about");
	breakdown(&part);
	scenes(&part);
	besides(&part);
	if (!command->quiet && strcmp(command->output, "-") != 0) {
		validation_print(stdout, report->arena, part.outcome, command->color);
		putchar('\n');
	}
	if (!part.outcome->bounds_hold)
		report->bound_broken = true;
	return EXIT_DONE;
}
