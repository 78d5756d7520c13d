/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a dataset file. */
#include "sim/predict/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/vec.h"

struct dataset_reader {
	struct arena *arena;
	struct diag *diag;
	const struct cfg_node *node; /* the group `dataset` */
	struct dataset *dataset;
	const struct tsv *tsv;
	const struct setting *extra;
	size_t extra_count;
};

typedef VEC(struct setting) settings_vec;

const char *row_role_name(enum row_role role)
{
	static const char *const names[] = {"fit", "test", "report"};
	return names[role];
}

static const char *text_of(const struct cfg_node *group, const char *key)
{
	return cfg_text(cfg_child(group, key));
}

static const char *need_text(struct dataset_reader *r, const struct cfg_node *group,
			     const char *key)
{
	const char *text = text_of(group, key);
	if (!text)
		diag_error(r->diag, cfg_origin(group),
			   "dataset: %s is missing here (write %s = \"...\")", key, key);
	return text ? text : "";
}

static void add_settings(struct dataset_reader *r, settings_vec *settings,
			 const struct cfg_node *list)
{
	for (size_t i = 0; list && i < cfg_count(list); i++) {
		const char *text = cfg_text(cfg_at(list, i));
		if (!text)
			diag_error(r->diag, cfg_origin(list),
				   "dataset: settings are texts (write [\"case.batch=32\"])");
		struct setting *setting = VEC_PUSH(r->arena, settings);
		*setting = (struct setting){text ? text : "", cfg_origin(cfg_at(list, i))};
	}
}

static void add_extra(struct dataset_reader *r, settings_vec *settings)
{
	for (size_t i = 0; i < r->extra_count; i++) {
		struct setting *setting = VEC_PUSH(r->arena, settings);
		*setting = r->extra[i];
	}
}

/* ---- tables ---- */

static const char *cell_of(struct dataset_reader *r, struct origin origin, size_t row,
			   const char *column)
{
	size_t index = tsv_column(r->tsv, column);
	if (index != SIZE_MAX)
		return r->tsv->cells[row * r->tsv->column_count + index];
	const char *near = diag_nearest(column, r->tsv->columns, r->tsv->column_count);
	diag_error(r->diag, origin, "dataset: %s has no column '%s'%s%s%s", r->tsv->path, column,
		   near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
	return NULL;
}

/* The settings that the words of a row stand for. */
static void column_settings(struct dataset_reader *r, size_t row, settings_vec *settings)
{
	const struct cfg_node *columns = cfg_child(r->node, "columns");
	for (size_t i = 0; columns && i < cfg_count(columns); i++) {
		const struct cfg_node *column = cfg_at(columns, i);
		const char *name = need_text(r, column, "column"),
			   *path = text_of(column, "setting");
		const char *cell = cell_of(r, cfg_origin(column), row, name);
		const struct cfg_node *values = cfg_child(column, "values"), *match = NULL;
		if (!cell)
			return;
		if (path) {
			struct setting *setting = VEC_PUSH(r->arena, settings);
			*setting = (struct setting){arena_printf(r->arena, "%s=%s", path, cell),
						    {r->tsv->path, r->tsv->lines[row]}};
		}
		for (size_t k = 0; values && k < cfg_count(values); k++)
			if (strcmp(need_text(r, cfg_at(values, k), "is"), cell) == 0)
				match = cfg_at(values, k);
		if (match)
			add_settings(r, settings, cfg_child(match, "settings"));
		else if (!path)
			diag_error(r->diag, (struct origin){r->tsv->path, r->tsv->lines[row]},
				   "dataset: column '%s' says '%s', which %s does not explain (add "
				   "{ is = \"%s\"; settings "
				   "= [...]; })",
				   name, cell, r->dataset->path, cell);
	}
}

static bool is_wanted(struct dataset_reader *r, size_t row)
{
	const struct cfg_node *where = cfg_child(r->node, "where");
	for (size_t i = 0; where && i < cfg_count(where); i++) {
		const char *cell = cell_of(r, cfg_origin(where), row,
					   need_text(r, cfg_at(where, i), "column"));
		if (!cell || strcmp(cell, need_text(r, cfg_at(where, i), "is")) != 0)
			return false;
	}
	return true;
}

static const char *row_label(struct dataset_reader *r, size_t row)
{
	const struct cfg_node *label = cfg_child(r->node, "label");
	const char *text = "";
	for (size_t i = 0; label && i < cfg_count(label); i++) {
		const char *column = cfg_text(cfg_at(label, i));
		const char *cell = column ? cell_of(r, cfg_origin(label), row, column) : NULL;
		if (!cell)
			return text;
		text = i == 0 ? cell : arena_printf(r->arena, "%s %s=%s", text, column, cell);
	}
	return text;
}

static enum row_role role_of(struct dataset_reader *r, size_t row)
{
	const char *column = text_of(r->node, "role_column");
	const char *role = column ? cell_of(r, cfg_origin(r->node), row, column)
				  : need_text(r, r->node, "role");
	for (int i = 0; role && i < 3; i++)
		if (strcmp(role, row_role_name((enum row_role)i)) == 0)
			return (enum row_role)i;
	if (role)
		diag_error(r->diag, (struct origin){r->tsv->path, r->tsv->lines[row]},
			   "dataset: role '%s' is none of fit, test, report", role);
	return ROLE_REPORT;
}

/* Half a unit of the last printed digit, relative: "2.9" is 0.05 / 2.9. */
static double rounding(const char *text, double value)
{
	const char *point = strchr(text, '.');
	return 0.5 * pow(10, point ? -(double)strlen(point + 1) : 0) / value;
}

static void read_value(struct dataset_reader *r, size_t row, struct dataset_row *out)
{
	struct origin origin = {r->tsv->path, r->tsv->lines[row]};
	const char *cell = cell_of(r, cfg_origin(r->node), row, need_text(r, r->node, "value"));
	out->measured = NAN;
	if (!cell)
		return;
	if (strncmp(cell, "FAIL", 4) == 0)
		out->failure = cell;
	else if (!number_parse(cell, &out->measured) || out->measured <= 0)
		diag_error(r->diag, origin,
			   "dataset: '%s' is no positive number and no FAIL:reason", cell);
	else
		out->rounding_ratio = rounding(cell, out->measured);
	const char *column = text_of(r->node, "utilization");
	const char *bound = column ? cell_of(r, cfg_origin(r->node), row, column) : NULL;
	out->utilization_max = NAN;
	if (bound && strcmp(bound, "NA") != 0 && !number_parse(bound, &out->utilization_max))
		diag_error(r->diag, origin, "dataset: '%s' is no utilisation (a number or NA)",
			   bound);
}

static void read_table(struct dataset_reader *r, const char *table)
{
	const char *slash = strrchr(r->dataset->path, '/');
	int folder = slash ? (int)(slash - r->dataset->path) + 1 : 0;
	const char *path =
		table[0] == '/' ? table
				: arena_printf(r->arena, "%.*s%s", folder, r->dataset->path, table);
	r->tsv = tsv_read(r->arena, r->diag, path);
	if (!r->tsv)
		return;
	struct dataset_row *rows = ARENA_ARRAY(r->arena, r->tsv->row_count + 1, struct dataset_row);
	size_t count = 0;
	for (size_t row = 0; row < r->tsv->row_count; row++) {
		if (!is_wanted(r, row))
			continue;
		struct dataset_row *out = &rows[count++];
		settings_vec settings = {0};
		add_settings(r, &settings, cfg_child(r->node, "settings"));
		column_settings(r, row, &settings);
		add_extra(r, &settings);
		*out = (struct dataset_row){.label = row_label(r, row),
					    .role = role_of(r, row),
					    .judged = true,
					    .origin = {r->tsv->path, r->tsv->lines[row]},
					    .settings = settings.items,
					    .setting_count = settings.count};
		read_value(r, row, out);
	}
	r->dataset->rows = rows;
	r->dataset->row_count = count;
	double slack;
	if (text_of(r->node, "utilization") &&
	    cfg_number(cfg_child(r->node, "utilization_slack"), &slack)) {
		struct claim *claim = ARENA_NEW(r->arena, struct claim);
		*claim = (struct claim){
			.kind = CLAIM_UTILIZATION,
			.slack = slack,
			.text = "mean GPU utilisation not above the highest one seen"};
		r->dataset->claims = claim;
		r->dataset->claim_count = 1;
	}
}

/* ---- grids ---- */

static void read_dimensions(struct dataset_reader *r, const struct cfg_node *list)
{
	size_t count = cfg_count(list);
	if (count > DIMENSIONS_OF_GRID_MAX) {
		diag_error(r->diag, cfg_origin(list), "dataset: more than %d dimensions",
			   DIMENSIONS_OF_GRID_MAX);
		count = DIMENSIONS_OF_GRID_MAX;
	}
	struct grid_dimension *dimensions = ARENA_ARRAY(r->arena, count + 1, struct grid_dimension);
	for (size_t i = 0; i < count; i++) {
		const struct cfg_node *values = cfg_child(cfg_at(list, i), "values");
		size_t value_count = values ? cfg_count(values) : 0;
		struct grid_value *out = ARENA_ARRAY(r->arena, value_count + 1, struct grid_value);
		for (size_t k = 0; k < value_count; k++) {
			const struct cfg_node *value = cfg_at(values, k);
			settings_vec settings = {0};
			add_settings(r, &settings, cfg_child(value, "settings"));
			out[k] = (struct grid_value){need_text(r, value, "is"), true,
						     settings.items, settings.count};
			cfg_bool(cfg_child(value, "judged"), &out[k].judged);
		}
		dimensions[i] = (struct grid_dimension){need_text(r, cfg_at(list, i), "name"), out,
							value_count};
		if (value_count == 0)
			diag_error(r->diag, cfg_origin(cfg_at(list, i)),
				   "dataset: a dimension needs values");
	}
	r->dataset->dimensions = dimensions;
	r->dataset->dimension_count = count;
}

static void grid_row(struct dataset_reader *r, size_t number, struct dataset_row *row)
{
	settings_vec settings = {0};
	add_settings(r, &settings, cfg_child(r->node, "settings"));
	*row = (struct dataset_row){.role = ROLE_TEST,
				    .measured = NAN,
				    .utilization_max = NAN,
				    .judged = true,
				    .label = "",
				    .origin = cfg_origin(r->node)};
	for (size_t d = r->dataset->dimension_count; d-- > 0;
	     number /= r->dataset->dimensions[d].value_count)
		row->at[d] = number % r->dataset->dimensions[d].value_count;
	for (size_t d = 0; d < r->dataset->dimension_count; d++) {
		const struct grid_value *value = &r->dataset->dimensions[d].values[row->at[d]];
		row->judged = row->judged && value->judged;
		row->label = d == 0 ? value->name
				    : arena_printf(r->arena, "%s %s=%s", row->label,
						   r->dataset->dimensions[d].name, value->name);
		for (size_t k = 0; k < value->setting_count; k++) {
			struct setting *setting = VEC_PUSH(r->arena, &settings);
			*setting = value->settings[k];
		}
	}
	add_extra(r, &settings);
	if (!row->judged)
		row->role = ROLE_REPORT;
	row->settings = settings.items;
	row->setting_count = settings.count;
}

static size_t find_dimension(struct dataset_reader *r, const struct cfg_node *at, const char *name)
{
	for (size_t i = 0; i < r->dataset->dimension_count; i++)
		if (strcmp(r->dataset->dimensions[i].name, name) == 0)
			return i;
	diag_error(r->diag, cfg_origin(at), "dataset: no dimension is called '%s'", name);
	return 0;
}

static size_t find_value(struct dataset_reader *r, const struct cfg_node *at, size_t dimension,
			 const char *name)
{
	const struct grid_dimension *d = &r->dataset->dimensions[dimension];
	for (size_t i = 0; i < d->value_count; i++)
		if (strcmp(d->values[i].name, name) == 0)
			return i;
	diag_error(r->diag, cfg_origin(at), "dataset: dimension '%s' has no value '%s'", d->name,
		   name);
	return 0;
}

static struct claim read_claim(struct dataset_reader *r, const struct cfg_node *node)
{
	static const char *const kinds[] = {"range", "first", "last", "greater", "rises"};
	struct claim claim = {
		.text = need_text(r, node, "claim"), .low = -INFINITY, .high = INFINITY};
	const char *kind = need_text(r, node, "kind"), *dimension = text_of(node, "dimension");
	size_t index = 0;
	while (index < 5 && strcmp(kinds[index], kind) != 0)
		index++;
	if (index == 5)
		diag_error(r->diag, cfg_origin(node),
			   "dataset: no kind of claim is called '%s' (range, first, last, greater, "
			   "rises)",
			   kind);
	claim.kind = (enum claim_kind)index;
	cfg_number(cfg_child(node, "low"), &claim.low);
	cfg_number(cfg_child(node, "high"), &claim.high);
	for (size_t i = 0; i < DIMENSIONS_OF_GRID_MAX; i++)
		claim.where_at[i] = SIZE_MAX;
	const struct cfg_node *where = cfg_child(node, "where");
	for (size_t i = 0; where && i < cfg_count(where); i++) {
		const struct cfg_node *child = cfg_at(where, i);
		size_t d = find_dimension(r, where, cfg_name(child));
		claim.where_at[d] =
			find_value(r, where, d, cfg_text(child) ? cfg_text(child) : "?");
	}
	if (dimension && r->dataset->dimension_count) {
		claim.dimension = find_dimension(r, node, dimension);
		if (text_of(node, "value"))
			claim.value = find_value(r, node, claim.dimension, text_of(node, "value"));
		if (text_of(node, "than"))
			claim.than = find_value(r, node, claim.dimension, text_of(node, "than"));
	} else if (claim.kind != CLAIM_RANGE) {
		diag_error(r->diag, cfg_origin(node), "dataset: this claim needs a dimension");
	}
	return claim;
}

static void read_grid(struct dataset_reader *r, const struct cfg_node *dimensions)
{
	read_dimensions(r, dimensions);
	if (diag_count(r->diag))
		return;
	size_t count = 1;
	for (size_t d = 0; d < r->dataset->dimension_count; d++)
		count *= r->dataset->dimensions[d].value_count;
	struct dataset_row *rows = ARENA_ARRAY(r->arena, count + 1, struct dataset_row);
	for (size_t i = 0; i < count; i++)
		grid_row(r, i, &rows[i]);
	const struct cfg_node *list = cfg_child(r->node, "claims");
	size_t claim_count = list ? cfg_count(list) : 0;
	struct claim *claims = ARENA_ARRAY(r->arena, claim_count + 1, struct claim);
	for (size_t i = 0; i < claim_count; i++)
		claims[i] = read_claim(r, cfg_at(list, i));
	r->dataset->rows = rows;
	r->dataset->row_count = count;
	r->dataset->claims = claims;
	r->dataset->claim_count = claim_count;
	r->dataset->ratio = true;
}

/* ---- beside ---- */

/* The settings of beside come behind the row's own, before those of the command
 * line, which every row ends with. */
static void beside_row(struct dataset_reader *r, const struct cfg_node *list,
		       struct dataset_row *row)
{
	settings_vec settings = {0};
	for (size_t i = 0; i + r->extra_count < row->setting_count; i++) {
		struct setting *setting = VEC_PUSH(r->arena, &settings);
		*setting = row->settings[i];
	}
	add_settings(r, &settings, list);
	add_extra(r, &settings);
	row->settings = settings.items;
	row->setting_count = settings.count;
	row->role = ROLE_REPORT;
	row->judged = false;
}

static void read_beside(struct dataset_reader *r, const struct cfg_node *list)
{
	static const char *const known[] = {"title", "settings"};
	struct dataset *dataset = r->dataset;
	size_t count = list ? cfg_count(list) : 0;
	struct beside *beside = ARENA_ARRAY(r->arena, count + 1, struct beside);
	for (size_t i = 0; i < count; i++) {
		const struct cfg_node *node = cfg_at(list, i);
		struct dataset_row *rows =
			ARENA_ARRAY(r->arena, dataset->row_count + 1, struct dataset_row);
		cfg_only(r->diag, node, known, 2);
		for (size_t k = 0; k < dataset->row_count; k++) {
			rows[k] = dataset->rows[k];
			beside_row(r, cfg_child(node, "settings"), &rows[k]);
		}
		beside[i] = (struct beside){need_text(r, node, "title"), rows};
	}
	dataset->beside = beside;
	dataset->beside_count = count;
}

const struct dataset *dataset_read(struct arena *arena, struct diag *diag, const char *data_root,
				   const char *name, const struct setting *extra,
				   size_t extra_count)
{
	static const char *const known[] = {"name",        "title",
					    "source",      "table",
					    "value",       "quantity",
					    "label",       "role",
					    "role_column", "where",
					    "settings",    "columns",
					    "utilization", "utilization_slack",
					    "dimensions",  "claims",
					    "beside"};
	const char *path = data_path(arena, diag, (struct origin){0}, data_root, "calib/measured",
				     "dataset", name, NULL);
	const struct cfg_node *file = path ? cfg_read(arena, diag, path) : NULL;
	if (!file)
		return NULL;
	struct dataset_reader r = {.arena = arena,
				   .diag = diag,
				   .node = cfg_child(file, "dataset"),
				   .dataset = ARENA_NEW(arena, struct dataset),
				   .extra = extra,
				   .extra_count = extra_count};
	if (!r.node) {
		diag_error(diag, cfg_origin(file), "no group `dataset = { ... }`");
		return NULL;
	}
	cfg_only(diag, r.node, known, sizeof known / sizeof known[0]);
	r.dataset->path = path;
	r.dataset->name = need_text(&r, r.node, "name");
	r.dataset->title = need_text(&r, r.node, "title");
	r.dataset->source = need_text(&r, r.node, "source");
	const char *quantity = text_of(r.node, "quantity");
	r.dataset->ratio = quantity && strcmp(quantity, "ratio") == 0;
	const char *table = text_of(r.node, "table");
	const struct cfg_node *dimensions = cfg_child(r.node, "dimensions");
	if (table)
		read_table(&r, table);
	else if (dimensions)
		read_grid(&r, dimensions);
	else
		diag_error(diag, cfg_origin(r.node), "dataset: it needs a table or dimensions");
	read_beside(&r, cfg_child(r.node, "beside"));
	return diag_count(diag) ? NULL : r.dataset;
}
