/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of datasets as JSON and CSV. */
#include "sim/report/validation.h"

#include "sim/json/write.h"
#include "sim/result/write.h"

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

/* The JSON name of throughput is its unit. */
static void json_measure(struct json_writer *json, const struct dataset_row *row)
{
	jw_text(json, "quantity",
		row->measure == MEASURE_THROUGHPUT ? "images/s" : measures[row->measure].name);
	jw_text(json, "unit", measures[row->measure].unit);
}

static const char *const predictor_keys[PREDICTOR_COUNT] = {"farwire", "formula", "with_costs"};

static void json_errors(struct json_writer *json, const char *key, const double *errors)
{
	jw_open_flat(json, key, '{');
	for (enum predictor by = 0; by < PREDICTOR_COUNT; by++)
		jw_real(json, predictor_keys[by], errors[by]);
	jw_close(json);
}

static void json_pencil(struct json_writer *json, const struct pencil *pencil)
{
	jw_open(json, "pencil", '{');
	jw_real(json, "local_s", pencil->local_s);
	jw_real(json, "answered_calls", pencil->step.answered_count);
	jw_real(json, "sent_calls", pencil->step.sent_count);
	jw_real(json, "moved_B", pencil->step.moved_B);
	jw_real(json, "round_trip_s", pencil->step.round_trip_s);
	jw_real(json, "byte_s", pencil->step.byte_spB);
	json_errors(json, "predicted", pencil->predicted);
	json_errors(json, "error", pencil->error);
	json_errors(json, "added_error", pencil->added_error);
	jw_close(json);
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
		jw_open_estimate(json, "predicted", row->predicted);
		jw_close(json);
		jw_real(json, "error", row->error);
		if (outcome->dataset->pencil.asked)
			json_pencil(json, &row->pencil);
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

static void json_pencils(struct json_writer *json, const struct dataset_outcome *outcome)
{
	if (outcome->pencil_count == 0)
		return;
	jw_open(json, "pencil", '[');
	for (size_t i = 0; i < outcome->pencil_count; i++) {
		const struct pencil_summary *sum = &outcome->pencils[i];
		jw_open_flat(json, NULL, '{');
		jw_text(json, "group", sum->group);
		jw_text(json, "role", row_role_name(sum->role));
		for (enum predictor by = 0; by < PREDICTOR_COUNT; by++) {
			jw_open(json, predictor_keys[by], '{');
			json_summary(json, "error", &sum->error[by]);
			json_summary(json, "added_error", &sum->added[by]);
			jw_close(json);
		}
		jw_close(json);
	}
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
			jw_open_estimate(json, "predicted", row->predicted);
			jw_close(json);
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

void validation_json(FILE *out, const struct validation *v, bool pretty)
{
	struct json_writer json = jw_begin(out, pretty ? JSON_PRETTY : JSON_LINE);
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
		json_pencils(&json, outcome);
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
		const struct error_summary all =
			datasets_summary(v->arena, v->outcomes, v->count, k ? ROLE_FIT : ROLE_TEST);
		json_summary(&json, k ? "fit" : "test", &all);
	}
	jw_close(&json);
	jw_close(&json);
	jw_end(&json);
}

void validation_csv(FILE *out, const struct validation *v)
{
	struct result_table *table = result_table_new(v->arena, "validation", "Validation");
	result_columns(table, "dataset:text|row:text|role:text|measured|predicted:~|error|"
			      "verdict:text|quantity:text|unit:text|formula_error|"
			      "with_costs_error");
	for (size_t i = 0; i < v->count; i++)
		for (size_t k = 0; k < v->outcomes[i]->dataset->row_count; k++) {
			const struct row_outcome *row = &v->outcomes[i]->rows[k];
			const struct dataset_row *own = row->row;
			bool pencil = v->outcomes[i]->dataset->pencil.asked;
			result_row(table);
			result_text(table, v->outcomes[i]->dataset->name);
			result_text(table, own->label);
			result_text(table, row_role_name(own->role));
			result_cell(table, (struct result_cell){own->failure ? own->failure
									     : own->measured_text,
								estimate_exact(own->measured)});
			result_estimate(table, row->predicted);
			result_number(table, row->error);
			result_text(table, row->prediction->ok ? "ok" : row->prediction->reason);
			result_text(table, measures[own->measure].name);
			result_text(table, measures[own->measure].unit);
			result_number(table, pencil ? row->pencil.error[BY_PENCIL] : NAN);
			result_number(table, pencil ? row->pencil.error[BY_PENCIL_COSTS] : NAN);
		}
	result_table_write(out, FORMAT_CSV, table);
}
