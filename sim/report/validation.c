/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables and summaries of datasets for people. */
#include "sim/report/validation.h"

static const char *percent(struct arena *arena, double ratio)
{
	return isfinite(ratio) ? arena_printf(arena, "%+.1f %%", 100 * ratio) : "";
}

/* Formats a number of a measure, with its unit if the title does not have it; "FAIL" for NaN. */
static const char *number(struct arena *arena, enum measure measure, double value)
{
	if (!isfinite(value))
		return "FAIL";
	return measure_is_time(measure) ? quantity_format(arena, QUANTITY_TIME, value)
					: arena_printf(arena, "%.4g", value);
}

static const char *interval(struct arena *arena, enum measure measure, const struct estimate *p)
{
	if (!has_interval(*p))
		return isfinite(p->value) ? "none" : "";
	return arena_printf(arena, "%s .. %s", number(arena, measure, p->low),
			    number(arena, measure, p->high));
}

static const char *measured(struct arena *arena, const struct dataset_row *row)
{
	if (row->failure)
		return row->failure;
	if (row->measured_text)
		return row->measured_text;
	return isfinite(row->measured) ? number(arena, row->measure, row->measured) : "";
}

static void bottleneck_cell(struct table *table, const struct prediction *p)
{
	if (p->ok)
		table_cell(table, "%s", p->bottleneck);
	else
		table_cell_failed(table, p->reason);
}

const char *validation_heads(struct arena *arena, const struct dataset *dataset)
{
	return arena_printf(arena,
			    "row|role|%smeasured>|predicted>|90 %% interval>|error>|%sbottleneck",
			    dataset->mixed ? "quantity|" : "",
			    dataset->pencil.asked ? "formula>|with costs>|" : "");
}

void validation_row(struct arena *arena, struct table *table, const struct dataset *dataset,
		    const struct row_outcome *row)
{
	const struct estimate *p = &row->predicted;
	enum measure measure = row->row->measure;
	table_cells(table, CELLS(row->row->label, row_role_name(row->row->role)));
	if (dataset->mixed)
		table_cell(table, "%s", measures[measure].name);
	table_cell(table, "%s", measured(arena, row->row));
	table_cell(table, "%s", number(arena, measure, p->value));
	table_cell(table, "%s", interval(arena, measure, p));
	table_cell(table, "%s", percent(arena, row->error));
	for (enum predictor by = BY_PENCIL; dataset->pencil.asked && by < PREDICTOR_COUNT; by++)
		table_cell(table, "%s", percent(arena, row->pencil.error[by]));
	bottleneck_cell(table, row->prediction);
}

static void summary_line(FILE *out, const char *what, const struct error_summary *summary)
{
	if (summary->count == 0)
		return;
	fprintf(out,
		"%s: %zu, absolute error: median %.2f %%, largest %.2f %%, mean %.2f %%, geometric "
		"mean %.2f %%",
		what, summary->count, 100 * summary->median_abs, 100 * summary->max_abs,
		100 * summary->mean_abs, 100 * summary->geomean_abs);
	if (isfinite(summary->coverage))
		fprintf(out,
			"; 90 %% intervals: coverage %.0f %%, median half-width %.1f %%, score "
			"%.3f",
			100 * summary->coverage, 100 * summary->median_half_width,
			summary->interval_score);
	fprintf(out, "\n");
}

static void summary_lines(FILE *out, struct arena *arena, const struct dataset_outcome *outcome)
{
	summary_line(out, "fit rows", &outcome->fit);
	summary_line(out, "test rows", &outcome->test);
	if (outcome->test.count > 1)
		fprintf(out, "  row with the largest error: %s\n",
			text_visible(arena, outcome->test.worst));
	for (size_t i = 0; i < outcome->group_count; i++)
		summary_line(
			out,
			text_visible(arena, arena_printf(arena, "  %s", outcome->groups[i].name)),
			&outcome->groups[i].test);
	summary_line(out, "ideal linear scaling on the same test rows", &outcome->linear);
	if (outcome->draws_count == 0)
		fprintf(out, "no intervals, because nothing was drawn (--draws 24 adds them)\n");
}

static const char *mean_error(struct arena *arena, const struct error_summary *summary)
{
	return summary->count ? arena_printf(arena, "%.1f %%", 100 * summary->geomean_abs) : "";
}

const char *const pencil_heads = "rows|role|count>|farwire>|formula>|with costs>|least|added time: "
				 "farwire>|formula>|with costs>";

static const char *const pencil_names[PREDICTOR_COUNT] = {"farwire", "formula", "with costs"};

void pencil_lines(struct arena *arena, struct table *table, const struct dataset_outcome *outcome)
{
	for (size_t i = 0; i < outcome->pencil_count; i++) {
		const struct pencil_summary *sum = &outcome->pencils[i];
		enum predictor least = BY_FARWIRE;
		table_cells(table,
			    CELLS(sum->group ? sum->group : "all", row_role_name(sum->role)));
		table_cell(table, "%zu", sum->error[BY_FARWIRE].count);
		for (enum predictor by = 0; by < PREDICTOR_COUNT; by++) {
			table_cell(table, "%s", mean_error(arena, &sum->error[by]));
			if (sum->error[by].geomean_abs < sum->error[least].geomean_abs)
				least = by;
		}
		table_cell(table, "%s", pencil_names[least]);
		for (enum predictor by = 0; by < PREDICTOR_COUNT; by++)
			table_cell(table, "%s", mean_error(arena, &sum->added[by]));
	}
}

/* Prints the errors of farwire beside those of the formulas. */
static void pencil_table(FILE *out, struct arena *arena, const struct dataset_outcome *outcome,
			 size_t line_width)
{
	if (outcome->pencil_count == 0)
		return;
	fprintf(out, "\n" PENCIL_CAPTION "\n");
	struct table *table = table_new(arena, pencil_heads, line_width);
	pencil_lines(arena, table, outcome);
	table_print(table, out);
}

static void claim_lines(FILE *out, struct arena *arena, const struct dataset_outcome *outcome,
			bool color)
{
	static const char *const words[2][2] = {{"BROKEN", "holds "},
						{"\033[31mBROKEN\033[0m", "\033[32mholds\033[0m "}};
	for (size_t i = 0; i < outcome->dataset->claim_count; i++) {
		const struct claim_outcome *claim = &outcome->claims[i];
		fprintf(out, "%s: %s (", words[color][claim->holds],
			text_visible(arena, claim->claim->text));
		for (size_t k = 0; k < claim->value_count; k++)
			fprintf(out, "%s%.3f", k ? ", " : "", claim->values[k]);
		fprintf(out, ")");
		if (claim->broken_at)
			fprintf(out, ", first at %s", text_visible(arena, claim->broken_at));
		fprintf(out, "\n");
	}
}

static void fitted_lines(FILE *out, struct arena *arena, const struct dataset_outcome *outcome)
{
	if (outcome->fitted_count == 0)
		return;
	fprintf(out, "%zu fitted parameter%s, %zu fit row%s in this dataset:\n",
		outcome->fitted_count, outcome->fitted_count == 1 ? "" : "s",
		outcome->fit_row_count, outcome->fit_row_count == 1 ? "" : "s");
	for (size_t i = 0; i < outcome->fitted_count; i++) {
		const struct cfg_param *p = outcome->fitted[i];
		fprintf(out, "  %s = %s (%s .. %s), %s\n", p->path,
			quantity_format(arena, p->row->quantity, p->value),
			quantity_format(arena, p->row->quantity, p->low),
			quantity_format(arena, p->row->quantity, p->high), p->note);
	}
}

/* Prints the same rows with other settings, for comparison. */
static void beside_tables(FILE *out, struct arena *arena, const struct dataset_outcome *outcome,
			  size_t line_width)
{
	for (size_t i = 0; i < outcome->dataset->beside_count; i++) {
		fprintf(out, "\nfor comparison, not judged: %s\n",
			text_visible(arena, outcome->dataset->beside[i].title));
		struct table *table =
			table_new(arena, "row|predicted>|90 % interval>|judged above>|bottleneck",
				  line_width);
		for (size_t k = 0; k < outcome->dataset->row_count; k++) {
			const struct row_outcome *row = &outcome->beside[i][k];
			const struct estimate *p = &row->predicted;
			double judged = outcome->rows[k].predicted.value;
			enum measure measure = row->row->measure;
			table_cells(table, CELLS(row->row->label, number(arena, measure, p->value),
						 interval(arena, measure, p),
						 number(arena, measure, judged)));
			bottleneck_cell(table, row->prediction);
		}
		table_print(table, out);
	}
}

void validation_print(FILE *out, struct arena *arena, const struct dataset_outcome *outcome,
		      bool color, size_t line_width)
{
	const struct dataset *dataset = outcome->dataset;
	fprintf(out, "%s: %s (%s)\n", text_visible(arena, dataset->name),
		text_visible(arena, dataset->title),
		dataset->mixed ? "several quantities" : measures[dataset->measure].words);
	struct table *table = table_new(arena, validation_heads(arena, dataset), line_width);
	for (size_t k = 0; k < dataset->row_count; k++)
		validation_row(arena, table, dataset, &outcome->rows[k]);
	table_print(table, out);
	summary_lines(out, arena, outcome);
	pencil_table(out, arena, outcome, line_width);
	if (outcome->verdict_count)
		fprintf(out, "verdicts: %zu of %zu agree\n", outcome->verdict_agree_count,
			outcome->verdict_count);
	claim_lines(out, arena, outcome, color);
	fitted_lines(out, arena, outcome);
	beside_tables(out, arena, outcome, line_width);
}

void validation_print_all(FILE *out, const struct validation *v, bool color, size_t line_width)
{
	for (size_t i = 0; i < v->count; i++) {
		fputs(i ? "\n" : "", out);
		validation_print(out, v->arena, v->outcomes[i], color, line_width);
	}
	if (v->count < 2)
		return;
	fprintf(out, "\nall %zu datasets\n", v->count);
	for (size_t k = 0; k < 2; k++) {
		const struct error_summary all =
			datasets_summary(v->arena, v->outcomes, v->count, k ? ROLE_TEST : ROLE_FIT);
		summary_line(out, k ? "test rows" : "fit rows", &all);
	}
}
