/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a case of every combination of dimensions. */
#include "sim/analysis/dataset_read.h"

/* Reads a value without a group: it is a value of the dimension's setting. */
static struct grid_value plain_value(struct dataset_reader *r, const struct cfg_node *node,
				     const char *key)
{
	const char *text = cfg_text(node);
	if (!text)
		diag_error(r->diag, cfg_origin(node),
			   "dataset: the values of a dimension with a setting must be texts (write "
			   "[\"1\", \"2\"])");
	struct setting *setting = ARENA_NEW(r->arena, struct setting);
	*setting = (struct setting){arena_printf(r->arena, "%s=%s", key, text ? text : ""),
				    cfg_origin(node)};
	return (struct grid_value){
		.name = text ? text : "", .judged = true, .settings = setting, .setting_count = 1};
}

static struct grid_value read_value(struct dataset_reader *r, const struct cfg_node *node)
{
	static const char *const known[] = {"is", "settings", "judged", "case"};
	settings_vec settings = {0};
	cfg_only(r->diag, node, known, 4);
	dataset_add_settings(r, &settings, cfg_child(node, "settings"));
	struct grid_value value = {.name = dataset_need(r, node, "is"),
				   .case_path = dataset_case(r, node),
				   .judged = true,
				   .settings = settings.items,
				   .setting_count = settings.count};
	cfg_bool(cfg_child(node, "judged"), &value.judged);
	return value;
}

static void read_dimensions(struct dataset_reader *r, const struct cfg_node *list)
{
	size_t count = cfg_count(list);
	if (count > DIMENSIONS_OF_GRID_MAX) {
		diag_error(r->diag, cfg_origin(list),
			   "dataset: there are more than %d dimensions (remove some)",
			   DIMENSIONS_OF_GRID_MAX);
		count = DIMENSIONS_OF_GRID_MAX;
	}
	struct grid_dimension *dimensions = ARENA_ARRAY(r->arena, count + 1, struct grid_dimension);
	for (size_t i = 0; i < count; i++) {
		const struct cfg_node *values = cfg_child(cfg_at(list, i), "values");
		const char *key = dataset_text(cfg_at(list, i), "setting");
		size_t value_count = values ? cfg_count(values) : 0;
		struct grid_value *out = ARENA_ARRAY(r->arena, value_count + 1, struct grid_value);
		for (size_t k = 0; k < value_count; k++)
			out[k] = key ? plain_value(r, cfg_at(values, k), key)
				     : read_value(r, cfg_at(values, k));
		dimensions[i] = (struct grid_dimension){dataset_need(r, cfg_at(list, i), "name"),
							out, value_count};
		if (value_count == 0)
			diag_error(r->diag, cfg_origin(cfg_at(list, i)),
				   "dataset: this dimension has no values (write values = ( { is = "
				   "\"few\"; settings = [\"case.gpus=2\"]; } ))");
	}
	r->dataset->dimensions = dimensions;
	r->dataset->dimension_count = count;
}

/* ---- names ---- */

size_t dataset_find_dimension(struct dataset_reader *r, const struct cfg_node *at, const char *name)
{
	for (size_t i = 0; i < r->dataset->dimension_count; i++)
		if (strcmp(r->dataset->dimensions[i].name, name) == 0)
			return i;
	diag_error(r->diag, cfg_origin(at),
		   "dataset: no dimension is called '%s' (write a name of the list dimensions)",
		   name);
	return SIZE_MAX;
}

size_t dataset_find_value(struct dataset_reader *r, const struct cfg_node *at, size_t dimension,
			  const char *name)
{
	if (dimension == SIZE_MAX)
		return 0;
	const struct grid_dimension *d = &r->dataset->dimensions[dimension];
	for (size_t i = 0; i < d->value_count; i++)
		if (strcmp(d->values[i].name, name) == 0)
			return i;
	diag_error(r->diag, cfg_origin(at),
		   "dataset: dimension '%s' has no value '%s' (write one of its `is`)", d->name,
		   name);
	return 0;
}

void dataset_read_place(struct dataset_reader *r, const struct cfg_node *group, size_t *at)
{
	for (size_t i = 0; i < DIMENSIONS_OF_GRID_MAX; i++)
		at[i] = SIZE_MAX;
	for (size_t i = 0; group && i < cfg_count(group); i++) {
		const struct cfg_node *child = cfg_at(group, i);
		const char *dimension = cfg_name(child), *value = cfg_text(child);
		size_t d = dataset_find_dimension(r, group, dimension ? dimension : "?");
		if (d != SIZE_MAX)
			at[d] = dataset_find_value(r, group, d, value ? value : "?");
	}
}

/* ---- rows ---- */

/* Returns true if the row has the values that the group names. */
static bool lies_at(struct dataset_reader *r, const struct cfg_node *group,
		    const struct dataset_row *row)
{
	size_t at[DIMENSIONS_OF_GRID_MAX];
	dataset_read_place(r, group, at);
	for (size_t d = 0; d < r->dataset->dimension_count; d++)
		if (at[d] != SIZE_MAX && at[d] != row->at[d])
			return false;
	return true;
}

static bool is_skipped(struct dataset_reader *r, const struct dataset_row *row)
{
	const struct cfg_node *list = cfg_child(r->node, "skip");
	for (size_t i = 0; list && i < cfg_count(list); i++)
		if (lies_at(r, cfg_at(list, i), row))
			return true;
	return false;
}

/* Adds label, settings and case file of the row's values, in the order of the dimensions. */
static void add_values(struct dataset_reader *r, struct dataset_row *row, settings_vec *settings)
{
	for (size_t d = 0; d < r->dataset->dimension_count; d++) {
		const struct grid_value *value = &r->dataset->dimensions[d].values[row->at[d]];
		row->judged = row->judged && value->judged;
		row->case_path = value->case_path ? value->case_path : row->case_path;
		row->label = d == 0 ? value->name
				    : arena_printf(r->arena, "%s %s=%s", row->label,
						   r->dataset->dimensions[d].name, value->name);
		for (size_t k = 0; k < value->setting_count; k++)
			*VEC_PUSH(r->arena, settings) = value->settings[k];
	}
}

/* Adds the settings of `also` entries that match this row. */
static void add_also(struct dataset_reader *r, struct dataset_row *row, settings_vec *settings)
{
	static const char *const known[] = {"where", "settings", "case"};
	const struct cfg_node *list = cfg_child(r->node, "also");
	for (size_t i = 0; list && i < cfg_count(list); i++) {
		const struct cfg_node *node = cfg_at(list, i);
		cfg_only(r->diag, node, known, 3);
		if (!lies_at(r, cfg_child(node, "where"), row))
			continue;
		const char *path = dataset_case(r, node);
		row->case_path = path ? path : row->case_path;
		dataset_add_settings(r, settings, cfg_child(node, "settings"));
	}
}

static struct dataset_row grid_row(struct dataset_reader *r, size_t number, enum measure measure)
{
	settings_vec settings = {0};
	struct dataset_row row = {.role = ROLE_TEST,
				  .measure = measure,
				  .measured = NAN,
				  .linear = NAN,
				  .utilization_max = NAN,
				  .judged = true,
				  .label = "",
				  .case_path = dataset_case(r, r->node),
				  .judge = dataset_text(r->node, "judge"),
				  .origin = cfg_origin(r->node)};
	for (size_t d = r->dataset->dimension_count; d-- > 0;
	     number /= r->dataset->dimensions[d].value_count)
		row.at[d] = number % r->dataset->dimensions[d].value_count;
	dataset_add_settings(r, &settings, cfg_child(r->node, "settings"));
	add_values(r, &row, &settings);
	add_also(r, &row, &settings);
	dataset_add_extra(r, &settings);
	if (!row.judged || r->dataset->what_if)
		row.role = ROLE_REPORT;
	row.settings = settings.items;
	row.setting_count = settings.count;
	return row;
}

void dataset_read_grid(struct dataset_reader *r, const struct cfg_node *dimensions)
{
	enum measure measure = dataset_measure(
		r, r->node, "quantity", r->dataset->what_if ? MEASURE_THROUGHPUT : MEASURE_RATIO);
	read_dimensions(r, dimensions);
	if (diag_count(r->diag))
		return;
	size_t combinations = 1, count = 0;
	for (size_t d = 0; d < r->dataset->dimension_count; d++) {
		combinations *= r->dataset->dimensions[d].value_count;
		if (combinations > DATASET_ROWS_MAX) {
			diag_error(r->diag, cfg_origin(dimensions),
				   "dataset: there are more than %d combinations (remove "
				   "dimensions or values)",
				   DATASET_ROWS_MAX);
			return;
		}
	}
	struct dataset_row *rows = ARENA_ARRAY(r->arena, combinations + 1, struct dataset_row);
	for (size_t i = 0; i < combinations && diag_count(r->diag) == 0; i++) {
		rows[count] = grid_row(r, i, measure);
		if (!is_skipped(r, &rows[count]))
			count++;
	}
	r->dataset->rows = rows;
	r->dataset->row_count = count;
	if (measure == MEASURE_GAIN)
		diag_error(r->diag, cfg_origin(r->node),
			   "dataset: dimensions cannot be used with the quantity gain (write a "
			   "claim with `over` instead)");
	dataset_read_claims(r, NULL, 0);
	if (diag_count(r->diag) == 0)
		dataset_read_observations(r);
}
