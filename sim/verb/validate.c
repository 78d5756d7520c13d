/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire validate: predicts recorded measurements and prints the errors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plots/charts.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/table.h"
#include "sim/base/vec.h"
#include "sim/report/dataset_charts.h"
#include "sim/verb/validation.h"
#include "sim/verb/verbs.h"

const struct dataset_outcome *command_validate(const struct command *command, const char *name,
					       int *exit_code)
{
	struct diag *diag = diag_new(command->arena);
	const struct validation_request request = {
		.name = name,
		.input = {.request = {.settings = command->settings,
				      .setting_count = command->setting_count,
				      .data_root = command->data_root},
			  .options = command_predict(command)},
		.draws_given = command_gave(command, "draws")};
	const char *broken;
	if (!command->quiet)
		fprintf(stderr, "farwire: predicting %s\n", name);
	const struct dataset_outcome *outcome =
		dataset_validate(command->arena, diag, &request, &broken);
	if (!outcome)
		*exit_code = command_failed(diag, broken);
	return outcome;
}

/* ---- for people ---- */

static const char *percent(struct arena *arena, double ratio)
{
	return isfinite(ratio) ? arena_printf(arena, "%+.1f %%", 100 * ratio) : "";
}

/* A number of that measure, with its unit where the title does not say it. */
static const char *number(struct arena *arena, enum measure measure, double value)
{
	return measure == MEASURE_TIME ? quantity_format(arena, QUANTITY_TIME, value)
				       : arena_printf(arena, "%.4g", value);
}

static const char *interval(struct arena *arena, enum measure measure, const struct estimate *p)
{
	return p->low < p->high ? arena_printf(arena, "%s .. %s", number(arena, measure, p->low),
					       number(arena, measure, p->high))
				: "";
}

static const char *measured(struct arena *arena, const struct dataset_row *row)
{
	if (row->failure)
		return row->failure;
	if (row->measured_text)
		return row->measured_text;
	return isfinite(row->measured) ? number(arena, row->measure, row->measured) : "";
}

static void row_cells(struct arena *arena, struct table *table, const struct row_outcome *row,
		      bool mixed)
{
	const struct estimate *p = &row->predicted;
	enum measure measure = row->row->measure;
	table_row(table);
	table_cell(table, "%s", row->row->label);
	table_cell(table, "%s", row_role_name(row->row->role));
	if (mixed)
		table_cell(table, "%s", measure_name(measure));
	table_cell(table, "%s", measured(arena, row->row));
	table_cell(table, "%s", isfinite(p->value) ? number(arena, measure, p->value) : "FAIL");
	table_cell(table, "%s", interval(arena, measure, p));
	table_cell(table, "%s", percent(arena, row->error));
	table_cell(table, "%s",
		   row->prediction->ok ? row->prediction->bottleneck : row->prediction->reason);
}

static void summary_line(FILE *out, const char *what, const struct error_summary *summary)
{
	if (summary->count == 0)
		return;
	fprintf(out, "%s: %zu, median |error| %.2f %%, max %.2f %%, mean %.2f %%, geomean %.2f %%",
		what, summary->count, 100 * summary->median_abs, 100 * summary->max_abs,
		100 * summary->mean_abs, 100 * summary->geomean_abs);
	if (isfinite(summary->coverage))
		fprintf(out,
			", 90 %% intervals cover %.0f %%, median half-width %.1f %%, score %.3f",
			100 * summary->coverage, 100 * summary->median_half_width,
			summary->interval_score);
	fprintf(out, "\n");
}

static void summary_lines(FILE *out, struct arena *arena, const struct dataset_outcome *outcome)
{
	summary_line(out, "fit rows", &outcome->fit);
	summary_line(out, "test rows", &outcome->test);
	if (outcome->test.count > 1)
		fprintf(out, "  worst: %s\n", outcome->test.worst);
	for (size_t i = 0; i < outcome->group_count; i++)
		summary_line(out, arena_printf(arena, "  of these %s", outcome->groups[i].name),
			     &outcome->groups[i].test);
	summary_line(out, "ideal linear scaling, the same test rows", &outcome->linear);
}

static void claim_lines(FILE *out, const struct dataset_outcome *outcome, bool color)
{
	static const char *const words[2][2] = {{"BROKEN", "holds "},
						{"\033[31mBROKEN\033[0m", "\033[32mholds\033[0m "}};
	for (size_t i = 0; i < outcome->dataset->claim_count; i++) {
		const struct claim_outcome *claim = &outcome->claims[i];
		fprintf(out, "%s: %s (", words[color][claim->holds], claim->claim->text);
		for (size_t k = 0; k < claim->value_count; k++)
			fprintf(out, "%s%.3f", k ? ", " : "", claim->values[k]);
		fprintf(out, ")");
		if (claim->broken_at)
			fprintf(out, ", first at %s", claim->broken_at);
		fprintf(out, "\n");
	}
}

static void fitted_lines(FILE *out, struct arena *arena, const struct dataset_outcome *outcome)
{
	if (outcome->fitted_count == 0)
		return;
	fprintf(out, "%zu fitted parameters, %zu fit rows here:\n", outcome->fitted_count,
		outcome->fit_row_count);
	for (size_t i = 0; i < outcome->fitted_count; i++) {
		const struct cfg_param *p = outcome->fitted[i];
		fprintf(out, "  %s = %s (%s .. %s), %s\n", p->path,
			quantity_format(arena, p->row->quantity, p->value),
			quantity_format(arena, p->row->quantity, p->low),
			quantity_format(arena, p->row->quantity, p->high), p->note);
	}
}

/* The same rows under other settings: for comparison. */
static void beside_tables(FILE *out, struct arena *arena, const struct dataset_outcome *outcome)
{
	static const char *const titles[] = {"row", "predicted", "90 % interval", "judged above",
					     "what binds"};
	for (size_t i = 0; i < outcome->dataset->beside_count; i++) {
		fprintf(out, "\nbeside it, not judged: %s\n", outcome->dataset->beside[i].title);
		struct table *table = table_new(arena);
		for (size_t k = 0; k < 5; k++)
			table_column(table, titles[k], k >= 1 && k <= 3);
		for (size_t k = 0; k < outcome->dataset->row_count; k++) {
			const struct row_outcome *row = &outcome->beside[i][k];
			const struct estimate *p = &row->predicted;
			double judged = outcome->rows[k].predicted.value;
			enum measure measure = row->row->measure;
			table_row(table);
			table_cell(table, "%s", row->row->label);
			table_cell(table, "%s",
				   isfinite(p->value) ? number(arena, measure, p->value) : "FAIL");
			table_cell(table, "%s", interval(arena, measure, p));
			table_cell(table, "%s",
				   isfinite(judged) ? number(arena, measure, judged) : "FAIL");
			table_cell(table, "%s",
				   row->prediction->ok ? row->prediction->bottleneck
						       : row->prediction->reason);
		}
		table_print(table, out);
	}
}

struct validation {
	const struct command *command;
	const struct dataset_outcome *const *outcomes;
	size_t count;
};

void validation_print(FILE *out, struct arena *arena, const struct dataset_outcome *outcome,
		      bool color)
{
	static const char *const titles[] = {"measured", "predicted", "90 % interval", "error"};
	const struct dataset *dataset = outcome->dataset;
	fprintf(out, "%s: %s (%s)\n", dataset->name, dataset->title,
		dataset->mixed ? "what each row says" : measure_words(dataset->measure));
	struct table *table = table_new(arena);
	table_column(table, "row", false);
	table_column(table, "role", false);
	if (dataset->mixed)
		table_column(table, "quantity", false);
	for (size_t k = 0; k < 4; k++)
		table_column(table, titles[k], true);
	table_column(table, "what binds", false);
	for (size_t k = 0; k < dataset->row_count; k++)
		row_cells(arena, table, &outcome->rows[k], dataset->mixed);
	table_print(table, out);
	summary_lines(out, arena, outcome);
	if (outcome->verdict_count)
		fprintf(out, "verdicts: %zu of %zu agree\n", outcome->verdict_agree_count,
			outcome->verdict_count);
	claim_lines(out, outcome, color);
	fitted_lines(out, arena, outcome);
	beside_tables(out, arena, outcome);
}

static void write_table(FILE *out, const void *ctx)
{
	const struct validation *v = ctx;
	for (size_t i = 0; i < v->count; i++) {
		fputs(i ? "\n" : "", out);
		validation_print(out, v->command->arena, v->outcomes[i],
				 command_colors(v->command, strcmp(v->command->output, "-") == 0));
	}
	if (v->count < 2)
		return;
	fprintf(out, "\nall %zu datasets\n", v->count);
	for (size_t k = 0; k < 2; k++) {
		const struct error_summary all = datasets_summary(
			v->command->arena, v->outcomes, v->count, k ? ROLE_TEST : ROLE_FIT);
		summary_line(out, k ? "test rows" : "fit rows", &all);
	}
}

/* ---- JSON ---- */

static void json_estimate(struct json_writer *json, const char *key,
			  const struct estimate *estimate)
{
	jw_open_flat(json, key, '{');
	jw_real(json, "value", estimate->value);
	jw_real(json, "low", estimate->low);
	jw_real(json, "high", estimate->high);
	jw_close(json);
}

static void json_summary(struct json_writer *json, const char *key,
			 const struct error_summary *summary)
{
	jw_open_flat(json, key, '{');
	jw_count(json, "count", summary->count);
	jw_real(json, "median_abs_error", summary->median_abs);
	jw_real(json, "mean_abs_error", summary->mean_abs);
	jw_real(json, "max_abs_error", summary->max_abs);
	jw_real(json, "geomean_abs_error", summary->geomean_abs);
	jw_real(json, "coverage", summary->coverage);
	jw_real(json, "median_half_width", summary->median_half_width);
	jw_real(json, "interval_score", summary->interval_score);
	jw_text(json, "worst", summary->worst);
	jw_close(json);
}

/* Throughput has always been called by its unit here. */
static void json_measure(struct json_writer *json, const struct dataset_row *row)
{
	jw_text(json, "quantity",
		row->measure == MEASURE_THROUGHPUT ? "images/s" : measure_name(row->measure));
	jw_text(json, "unit", measure_unit(row->measure));
}

static void json_rows(struct json_writer *json, const struct dataset_outcome *outcome)
{
	jw_open(json, "rows", '[');
	for (size_t i = 0; i < outcome->dataset->row_count; i++) {
		const struct row_outcome *row = &outcome->rows[i];
		jw_open(json, NULL, '{');
		jw_text(json, "row", row->row->label);
		jw_text(json, "role", row_role_name(row->row->role));
		json_measure(json, row->row);
		if (row->row->failure || row->row->measured_text)
			jw_text(json, "measured",
				row->row->failure ? row->row->failure : row->row->measured_text);
		else
			jw_real(json, "measured", row->row->measured);
		json_estimate(json, "predicted", &row->predicted);
		jw_real(json, "error", row->error);
		if (row->row->failure)
			jw_flag(json, "agrees", row->agrees);
		jw_text(json, "verdict", row->prediction->ok ? "ok" : "fail");
		jw_text(json, "reason", row->prediction->reason);
		jw_real(json, "gpu_utilization", row->prediction->gpu_utilization.value);
		jw_close(json);
	}
	jw_close(json);
}

/* Errors of test rows by group, and those of ideal scaling. */
static void json_groups(struct json_writer *json, const struct dataset_outcome *outcome)
{
	if (outcome->linear.count)
		json_summary(json, "linear", &outcome->linear);
	if (outcome->group_count == 0)
		return;
	jw_open(json, "groups", '{');
	for (size_t i = 0; i < outcome->group_count; i++)
		json_summary(json, outcome->groups[i].name, &outcome->groups[i].test);
	jw_close(json);
}

static void json_bounds(struct json_writer *json, const struct dataset_outcome *outcome)
{
	jw_open(json, "bounds", '[');
	for (size_t i = 0; i < outcome->dataset->claim_count; i++) {
		const struct claim_outcome *claim = &outcome->claims[i];
		jw_open(json, NULL, '{');
		jw_text(json, "claim", claim->claim->text);
		jw_flag(json, "holds", claim->holds);
		jw_open_flat(json, "values", '[');
		for (size_t k = 0; k < claim->value_count; k++)
			jw_real(json, NULL, claim->values[k]);
		jw_close(json);
		jw_close(json);
	}
	jw_close(json);
}

static void json_fitted(struct json_writer *json, const struct dataset_outcome *outcome)
{
	jw_open(json, "fitted_parameters", '[');
	for (size_t i = 0; i < outcome->fitted_count; i++) {
		const struct cfg_param *p = outcome->fitted[i];
		jw_open_flat(json, NULL, '{');
		jw_text(json, "key", p->path);
		jw_real(json, "value", p->value);
		jw_real(json, "low", p->low);
		jw_real(json, "high", p->high);
		jw_text(json, "unit", quantity_unit(p->row->quantity));
		jw_close(json);
	}
	jw_close(json);
	jw_count(json, "fit_rows", outcome->fit_row_count);
}

static void json_beside(struct json_writer *json, const struct dataset_outcome *outcome)
{
	jw_open(json, "beside", '[');
	for (size_t i = 0; i < outcome->dataset->beside_count; i++) {
		jw_open(json, NULL, '{');
		jw_text(json, "title", outcome->dataset->beside[i].title);
		jw_open(json, "rows", '[');
		for (size_t k = 0; k < outcome->dataset->row_count; k++) {
			const struct row_outcome *row = &outcome->beside[i][k];
			jw_open(json, NULL, '{');
			jw_text(json, "row", row->row->label);
			json_measure(json, row->row);
			json_estimate(json, "predicted", &row->predicted);
			jw_text(json, "verdict", row->prediction->ok ? "ok" : "fail");
			jw_text(json, "reason",
				row->prediction->ok ? NULL : row->prediction->reason);
			jw_close(json);
		}
		jw_close(json);
		jw_close(json);
	}
	jw_close(json);
}

static void write_json(FILE *out, const void *ctx)
{
	const struct validation *v = ctx;
	struct json_writer json = jw_begin(out, v->command->format == FORMAT_JSON);
	jw_open(&json, NULL, '{');
	jw_open(&json, "datasets", '[');
	for (size_t i = 0; i < v->count; i++) {
		const struct dataset_outcome *outcome = v->outcomes[i];
		jw_open(&json, NULL, '{');
		jw_text(&json, "name", outcome->dataset->name);
		jw_text(&json, "source", outcome->dataset->source);
		json_rows(&json, outcome);
		json_bounds(&json, outcome);
		json_summary(&json, "test", &outcome->test);
		json_summary(&json, "fit", &outcome->fit);
		json_groups(&json, outcome);
		jw_open_flat(&json, "verdicts", '{');
		jw_count(&json, "count", outcome->verdict_count);
		jw_count(&json, "agree", outcome->verdict_agree_count);
		jw_close(&json);
		json_fitted(&json, outcome);
		json_beside(&json, outcome);
		jw_close(&json);
	}
	jw_close(&json);
	jw_open(&json, "all", '{');
	for (size_t k = 0; k < 2; k++) {
		const struct error_summary all = datasets_summary(
			v->command->arena, v->outcomes, v->count, k ? ROLE_FIT : ROLE_TEST);
		json_summary(&json, k ? "fit" : "test", &all);
	}
	jw_close(&json);
	jw_close(&json);
	jw_end(&json);
}

/* ---- CSV ---- */

static void write_csv(FILE *out, const void *ctx)
{
	static const struct result_column columns[] = {
		{"dataset", QUANTITY_COUNT, true, false},
		{"row", QUANTITY_COUNT, true, false},
		{"role", QUANTITY_COUNT, true, false},
		{"measured", QUANTITY_COUNT, false, false},
		{"predicted", QUANTITY_COUNT, false, true},
		{"error", QUANTITY_COUNT, false, false},
		{"verdict", QUANTITY_COUNT, true, false},
		{"quantity", QUANTITY_COUNT, true, false},
		{"unit", QUANTITY_COUNT, true, false},
	};
	enum { COLUMNS = sizeof columns / sizeof columns[0] };
	const struct validation *v = ctx;
	size_t rows = 0, at = 0;
	for (size_t i = 0; i < v->count; i++)
		rows += v->outcomes[i]->dataset->row_count;
	struct result_table table = {
		.name = "validation",
		.title = "Validation",
		.columns = columns,
		.column_count = COLUMNS,
		.row_count = rows,
		.cells = ARENA_ARRAY(v->command->arena, rows * COLUMNS, struct result_cell)};
	for (size_t i = 0; i < v->count; i++)
		for (size_t k = 0; k < v->outcomes[i]->dataset->row_count; k++) {
			const struct row_outcome *row = &v->outcomes[i]->rows[k];
			struct result_cell *cell = &table.cells[at++ * COLUMNS];
			cell[0].text = v->outcomes[i]->dataset->name;
			cell[1].text = row->row->label;
			cell[2].text = row_role_name(row->row->role);
			cell[3].text =
				row->row->failure ? row->row->failure : row->row->measured_text;
			cell[3].number = (struct estimate){row->row->measured, row->row->measured,
							   row->row->measured};
			cell[4].number = row->predicted;
			cell[5].number = (struct estimate){row->error, row->error, row->error};
			cell[6].text = row->prediction->ok ? "ok" : row->prediction->reason;
			cell[7].text = measure_name(row->row->measure);
			cell[8].text = measure_unit(row->row->measure);
		}
	result_table_write(out, FORMAT_CSV, &table);
}

/* ---- plots ---- */

/* Parity for each measure, then measured curves; one page but in a PDF. */
static int draw(const struct validation *v)
{
	struct arena *arena = v->command->arena;
	const char *caption = command_caption(v->command), *title = v->command->title;
	VEC(const struct drawing *) pages = {0};
	for (enum measure measure = 0; measure < MEASURE_COUNT; measure++) {
		const struct drawing *drawing =
			dataset_parity(arena, title, caption, v->outcomes, v->count, measure);
		if (drawing)
			*VEC_PUSH(arena, &pages) = drawing;
	}
	for (size_t i = 0; i < v->count; i++) {
		const struct dataset_chart *charts;
		size_t count = dataset_charts(arena, caption, v->outcomes[i], &charts);
		for (size_t k = 0; k < count; k++)
			*VEC_PUSH(arena, &pages) = charts[k].drawing;
	}
	enum image_format format;
	bool pdf = image_format_of(v->command->plot, &format) && format == IMAGE_PDF;
	if (pages.count == 0) {
		fprintf(stderr,
			"farwire: --plot: these datasets have no measured numbers to draw\n");
		return EXIT_USAGE;
	}
	if (pages.count > 1 && !pdf && !v->command->quiet)
		fprintf(stderr, "farwire: --plot: the first of %zu charts (a PDF has all)\n",
			pages.count);
	return command_draw(v->command, v->command->plot, pages.items, pdf ? pages.count : 1);
}

static int run(const struct command *command)
{
	if (!command_can_write(command))
		return EXIT_FAILED;
	int code = EXIT_DONE;
	const char *const *names = command->words;
	size_t count = command->word_count;
	if (count == 0)
		count = data_names(command->arena, command->data_root, "calib/measured", &names);
	const struct dataset_outcome **outcomes =
		ARENA_ARRAY(command->arena, count, const struct dataset_outcome *);
	for (size_t i = 0; i < count; i++) {
		outcomes[i] = command_validate(command, names[i], &code);
		if (!outcomes[i])
			return code;
	}
	const struct validation v = {command, outcomes, count};
	code = command_write(command,
			     command->format == FORMAT_TABLE ? write_table
			     : command->format == FORMAT_CSV ? write_csv
							     : write_json,
			     &v);
	if (code == EXIT_DONE && command->plot)
		code = draw(&v);
	for (size_t i = 0; i < v.count && code == EXIT_DONE; i++)
		if (!v.outcomes[i]->bounds_hold)
			code = EXIT_BOUND;
	return code;
}

const struct verb verb_validate = {
	.name = "validate",
	.words = "[DATASET...]",
	.help = "predicts recorded measurements: errors of fit and test rows, bounds",
	.examples = "  farwire validate flexdirect_1050ti --plot parity.svg\n"
		    "  farwire validate flexdirect_1050ti bitfusion_networks --format json\n",
	.options = "set format output plot title seed draws jobs color quiet",
	.words_min = 0,
	.run = run,
};
