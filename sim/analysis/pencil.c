/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/pencil.h"
#include "sim/analysis/dataset_read.h"

/* ---- reading ---- */

/* Reads a quantity of the group into *value. Returns true if the group has it. */
static bool read_cost(struct dataset_reader *r, const char *key, enum quantity quantity,
		      double *value)
{
	const struct cfg_node *group = cfg_child(r->node, "pencil");
	const char *text = dataset_text(group, key);
	const char *wrong = text ? quantity_parse(r->arena, quantity, text, value) : NULL;
	if (wrong)
		diag_error(r->diag, cfg_origin(cfg_child(group, key)), "dataset: pencil.%s %s", key,
			   wrong);
	return text != NULL;
}

void pencil_read_costs(struct dataset_reader *r)
{
	static const char *const known[] = {"round_trip", "answered", "sent", "byte"};
	const struct cfg_node *group = cfg_child(r->node, "pencil");
	struct pencil_costs *costs = &r->dataset->pencil;
	costs->asked = group != NULL;
	if (!group)
		return;
	cfg_only(r->diag, group, known, sizeof known / sizeof known[0]);
	costs->given = read_cost(r, "answered", QUANTITY_TIME, &costs->answered_s);
	costs->given |= read_cost(r, "sent", QUANTITY_TIME, &costs->sent_s);
	costs->given |= read_cost(r, "byte", QUANTITY_TIME_PER_BYTE, &costs->byte_spB);
}

/* Returns the row's cell in the column that the key of the group names; NULL: the group does not
 * have the key, or the cell is NA. */
static const char *cell_at(struct dataset_reader *r, const struct cfg_node *group, const char *key,
			   size_t line)
{
	const char *column = dataset_text(group, key);
	size_t index = column ? tsv_column(r->tsv, column) : SIZE_MAX;
	if (column && index == SIZE_MAX)
		diag_error(r->diag, cfg_origin(cfg_child(group, key)),
			   "dataset: the table %s has no column '%s' (write another name)",
			   r->tsv->path, column);
	if (index == SIZE_MAX)
		return NULL;
	const char *cell = r->tsv->cells[line * r->tsv->column_count + index];
	return strcmp(cell, "NA") == 0 ? NULL : cell;
}

void pencil_read_row(struct dataset_reader *r, size_t line, double scale, struct dataset_row *row)
{
	struct origin origin = {r->tsv->path, r->tsv->lines[line]};
	const char *local = cell_at(r, r->node, "native", line);
	const char *trip = cell_at(r, cfg_child(r->node, "pencil"), "round_trip", line);
	row->native = row->round_trip_s = NAN;
	if (local && (!number_parse(local, &row->native) || !(row->native > 0)))
		diag_error(r->diag, origin,
			   "dataset: '%s' is not a local measurement (write a positive number or "
			   "NA)",
			   local);
	row->native *= scale;
	const char *wrong =
		trip ? quantity_parse(r->arena, QUANTITY_TIME, trip, &row->round_trip_s) : NULL;
	if (wrong)
		diag_error(r->diag, origin, "dataset: the round trip '%s' %s", trip, wrong);
}

/* ---- the formulas ---- */

/* Returns what the last step of the row's case forwards. It is zero if the case has several jobs or
 * no runtime. */
static struct forwarded_step forwarded(const struct dataset_row *row, const char *data_root,
				       uint64_t seed)
{
	struct arena *arena = arena_new();
	struct forwarded_step step = {0};
	const struct case_request request = dataset_request(row, data_root);
	/* the row was predicted before without errors */
	const struct scenario *scenario = case_read(arena, diag_new(arena), &request);
	if (scenario && scenario->job_count == 1 && scenario->jobs[0].runtime)
		step = predict_point(arena, scenario, seed, false, NULL, NULL)
			       .outcome.jobs[0]
			       .forwarded;
	arena_free(arena);
	return step;
}

/* Returns the time of a step for which the measure's number is value, except for a factor. */
static double as_time(enum measure measure, double value)
{
	return measure_is_time(measure) ? value : 1 / value;
}

/* Measurements of one step, a local and a forwarded one, differ by about this part of it without
 * any forwarding (assumption: the medians of repeated runs in these datasets differ by 1 to 3 %).
 */
static const double noise_ratio = 0.02;

/* Returns the time that forwarding adds, as far as it is above the noise. */
static double added(double time, double local)
{
	return time - local < noise_ratio * local ? noise_ratio * local : time - local;
}

/* Returns the error of a predicted added time; NaN if no local measurement is known. */
static double added_error(const struct row_outcome *row, double value)
{
	enum measure measure = row->row->measure;
	double local = as_time(measure, measure == MEASURE_RATIO ? 1 : row->row->native);
	double own = as_time(measure, row->predicted.value) * row->prediction->ratio.value;
	return added(as_time(measure, value), own) /
		       added(as_time(measure, row->row->measured), local) -
	       1;
}

void pencil_row(const struct pencil_costs *costs, const char *data_root, uint64_t seed,
		struct row_outcome *outcome)
{
	const struct dataset_row *row = outcome->row;
	const struct prediction *p = outcome->prediction;
	struct pencil *pencil = &outcome->pencil;
	for (int i = 0; i < PREDICTOR_COUNT; i++)
		pencil->predicted[i] = pencil->error[i] = pencil->added_error[i] = NAN;
	if (!costs->asked || !p->ok || !isfinite(row->measured))
		return;
	const struct forwarded_step step = forwarded(row, data_root, seed);
	if (!(step.answered_count + step.sent_count > 0))
		return;
	double trip_s = isfinite(row->round_trip_s) ? row->round_trip_s : step.round_trip_s;
	pencil->step = step;
	pencil->step.round_trip_s = trip_s;
	pencil->local_s = outcome->step_s * p->ratio.value;
	double formula_s =
		pencil->local_s + step.answered_count * trip_s + step.moved_B * step.byte_spB;
	double costs_s = step.answered_count * costs->answered_s + step.sent_count * costs->sent_s +
			 step.moved_B * costs->byte_spB;
	const double steps_s[PREDICTOR_COUNT] = {
		[BY_FARWIRE] = outcome->step_s,
		[BY_PENCIL] = formula_s,
		[BY_PENCIL_COSTS] = costs->given ? formula_s + costs_s : NAN,
	};
	for (int i = 0; i < PREDICTOR_COUNT; i++) {
		double longer = steps_s[i] / outcome->step_s;
		double value = outcome->predicted.value *
			       (measure_is_time(row->measure) ? longer : 1 / longer);
		pencil->predicted[i] = value;
		pencil->error[i] = value / row->measured - 1;
		pencil->added_error[i] = added_error(outcome, value);
	}
}
