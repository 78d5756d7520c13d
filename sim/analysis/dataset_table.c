/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes cases of the rows of a table. */
#include "sim/analysis/dataset_read.h"

/* A row under construction: its line, its column and its variant. */
struct making {
	size_t line;
	const char *value;       /* column of the measured number */
	const char *wide_number; /* "8" in gpus_8; NULL: the table is not wide */
	size_t variant;          /* index into all combinations of `each` entries */
	settings_vec settings;
	const char *label, *case_path;
	const char *role;                /* role of a variant; NULL: that of the row */
	const struct cfg_node *fit_upto; /* that of a value; NULL: that of the group `wide` */
};

typedef VEC(struct dataset_row) rows_vec;

static struct origin line_origin(const struct dataset_reader *r, size_t line)
{
	return (struct origin){r->tsv->path, r->tsv->lines[line]};
}

static const char *cell_of(struct dataset_reader *r, struct origin origin, size_t line,
			   const char *column)
{
	size_t index = tsv_column(r->tsv, column);
	if (index != SIZE_MAX)
		return r->tsv->cells[line * r->tsv->column_count + index];
	const char *near = diag_nearest(column, r->tsv->columns, r->tsv->column_count);
	diag_error(r->diag, origin, "dataset: the table %s has no column '%s'%s%s%s", r->tsv->path,
		   column, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
	return NULL;
}

static bool is_absent(const char *cell)
{
	return strcmp(cell, "NA") == 0;
}

/* ---- columns to settings ---- */

/* Returns the words that an entry of `columns` matches: those of one column, or of several with
 * blanks between them. Returns NULL after an error. */
static const char *words_of(struct dataset_reader *r, const struct cfg_node *entry, size_t line)
{
	const struct cfg_node *list = cfg_child(entry, "columns");
	if (!list)
		return cell_of(r, cfg_origin(entry), line, dataset_need(r, entry, "column"));
	const char *words = "";
	for (size_t i = 0; i < cfg_count(list); i++) {
		const char *name = cfg_text(cfg_at(list, i));
		const char *cell = cell_of(r, cfg_origin(list), line, name ? name : "");
		if (!cell)
			return NULL;
		words = i ? arena_printf(r->arena, "%s %s", words, cell) : cell;
	}
	return words;
}

/* Returns the entry of `values` for these words; NULL if there is none. */
static const struct cfg_node *explained(struct dataset_reader *r, const struct cfg_node *entry,
					const char *words)
{
	static const char *const known[] = {"is", "settings", "case", "role", "each", "fit_upto"};
	const struct cfg_node *values = cfg_child(entry, "values"), *match = NULL;
	for (size_t i = 0; values && i < cfg_count(values); i++) {
		cfg_only(r->diag, cfg_at(values, i), known, sizeof known / sizeof known[0]);
		if (strcmp(dataset_need(r, cfg_at(values, i), "is"), words) == 0)
			match = cfg_at(values, i);
	}
	return match;
}

/* Returns the number of rows that a line becomes because of `each`; 0 if it is too large. */
static size_t variant_count(struct dataset_reader *r, size_t line)
{
	const struct cfg_node *columns = cfg_child(r->node, "columns");
	size_t count = 1;
	for (size_t i = 0; columns && i < cfg_count(columns); i++) {
		const char *words = words_of(r, cfg_at(columns, i), line);
		const struct cfg_node *match =
			words ? explained(r, cfg_at(columns, i), words) : NULL;
		const struct cfg_node *each = cfg_child(match, "each");
		count *= each && cfg_count(each) ? cfg_count(each) : 1;
		if (count > DATASET_ROWS_MAX)
			return 0;
	}
	return count;
}

/* Adds the settings, case file and role of a value or of one of its variants. */
static void add_meaning(struct dataset_reader *r, struct making *m, const struct cfg_node *value)
{
	dataset_add_settings(r, &m->settings, cfg_child(value, "settings"));
	const char *path = dataset_case(r, value);
	m->case_path = path ? path : m->case_path;
	if (dataset_text(value, "role"))
		m->role = dataset_text(value, "role");
	if (cfg_child(value, "fit_upto"))
		m->fit_upto = cfg_child(value, "fit_upto");
}

/* Adds "path=words", with the unit of the column. */
static void add_setting(struct dataset_reader *r, struct making *m, const struct cfg_node *entry,
			const char *words)
{
	const char *unit = dataset_text(entry, "unit");
	*VEC_PUSH(r->arena, &m->settings) = (struct setting){
		arena_printf(r->arena, "%s=%s%s%s", dataset_need(r, entry, "setting"), words,
			     unit ? " " : "", unit ? unit : ""),
		line_origin(r, m->line)};
}

static void add_column(struct dataset_reader *r, struct making *m, const struct cfg_node *entry,
		       size_t *variant)
{
	const char *words = words_of(r, entry, m->line);
	const struct cfg_node *match = words ? explained(r, entry, words) : NULL;
	const struct cfg_node *each = cfg_child(match, "each");
	const struct cfg_node *otherwise = cfg_child(entry, "otherwise");
	if (!words)
		return;
	if (match) {
		add_meaning(r, m, match);
	} else if (cfg_child(entry, "setting")) {
		add_setting(r, m, entry, words);
	} else if (otherwise) {
		dataset_add_settings(r, &m->settings, otherwise);
	} else {
		diag_error(r->diag, line_origin(r, m->line),
			   "dataset: column '%s' contains '%s', for which %s has no entry (add { "
			   "is = \"%s\"; settings = [...]; })",
			   dataset_text(entry, "column") ? dataset_text(entry, "column") : "...",
			   words, r->dataset->path, words);
	}
	if (each && cfg_count(each)) {
		const struct cfg_node *one = cfg_at(each, *variant % cfg_count(each));
		*variant /= cfg_count(each);
		add_meaning(r, m, one);
		m->label =
			arena_printf(r->arena, "%s (as %s)", m->label, dataset_need(r, one, "is"));
	}
}

static void add_columns(struct dataset_reader *r, struct making *m)
{
	const struct cfg_node *columns = cfg_child(r->node, "columns");
	size_t variant = m->variant;
	for (size_t i = 0; columns && i < cfg_count(columns); i++)
		add_column(r, m, cfg_at(columns, i), &variant);
	const struct cfg_node *wide = cfg_child(r->node, "wide");
	if (m->wide_number) {
		*VEC_PUSH(r->arena, &m->settings) = (struct setting){
			arena_printf(r->arena, "%s=%s", dataset_need(r, wide, "setting"),
				     m->wide_number),
			line_origin(r, m->line)};
	}
}

/* ---- selection, labels and roles of rows ---- */

static bool is_wanted(struct dataset_reader *r, size_t line)
{
	const struct cfg_node *where = cfg_child(r->node, "where");
	for (size_t i = 0; where && i < cfg_count(where); i++) {
		const char *cell = cell_of(r, cfg_origin(where), line,
					   dataset_need(r, cfg_at(where, i), "column"));
		if (!cell || strcmp(cell, dataset_need(r, cfg_at(where, i), "is")) != 0)
			return false;
	}
	return true;
}

static const char *label_of(struct dataset_reader *r, const struct making *m)
{
	const struct cfg_node *label = cfg_child(r->node, "label");
	const char *text = "";
	for (size_t i = 0; label && i < cfg_count(label); i++) {
		const char *column = cfg_text(cfg_at(label, i));
		const char *cell = column ? cell_of(r, cfg_origin(label), m->line, column) : NULL;
		if (!cell)
			return text;
		text = i == 0 ? cell : arena_printf(r->arena, "%s %s=%s", text, column, cell);
	}
	if (!m->wide_number)
		return text;
	size_t length = strlen(m->value) - strlen(m->wide_number);
	while (length && m->value[length - 1] == '_')
		length--;
	return arena_printf(r->arena, "%s %.*s=%s", text, (int)length, m->value, m->wide_number);
}

/* Reads fit_upto: a number of a value or of the group `wide`, or of the column that it names. */
static bool fit_upto(struct dataset_reader *r, const struct making *m, double *upto)
{
	size_t line = m->line;
	const struct cfg_node *wide = cfg_child(r->node, "wide");
	const char *column = dataset_text(wide, "fit_upto_column");
	const char *cell = column ? cell_of(r, cfg_origin(wide), line, column) : NULL;
	if (m->fit_upto)
		return cfg_number(m->fit_upto, upto);
	if (!column)
		return cfg_number(cfg_child(wide, "fit_upto"), upto);
	if (cell && number_parse(cell, upto))
		return true;
	return diag_error(r->diag, line_origin(r, line),
			  "dataset: the cell of column '%s' is not a number (write one)", column);
}

static enum row_role role_of(struct dataset_reader *r, const struct making *m)
{
	double upto, number;
	if (!m->role && m->wide_number && fit_upto(r, m, &upto) &&
	    number_parse(m->wide_number, &number))
		return number <= upto ? ROLE_FIT : ROLE_TEST;
	const char *column = dataset_text(r->node, "role_column");
	const char *role = m->role  ? m->role
			   : column ? cell_of(r, cfg_origin(r->node), m->line, column)
				    : dataset_need(r, r->node, "role");
	for (int i = 0; role && i < 3; i++)
		if (strcmp(role, row_role_name((enum row_role)i)) == 0)
			return (enum row_role)i;
	if (role)
		diag_error(r->diag, line_origin(r, m->line),
			   "dataset: there is no role '%s' (write fit, test or report)", role);
	return ROLE_REPORT;
}

/* ---- the measured number ---- */

/* Returns the group with the row's quantity: the dataset, or the entry of `quantities` for the
 * word in quantity_column. Returns NULL after an error. */
static const struct cfg_node *quantity_node(struct dataset_reader *r, size_t line)
{
	static const char *const known[] = {"is", "quantity", "scale", "reference"};
	const char *column = dataset_text(r->node, "quantity_column");
	const struct cfg_node *list = cfg_child(r->node, "quantities"), *match = NULL;
	const char *cell = column ? cell_of(r, cfg_origin(r->node), line, column) : NULL;
	if (!column)
		return r->node;
	for (size_t i = 0; cell && list && i < cfg_count(list); i++) {
		cfg_only(r->diag, cfg_at(list, i), known, sizeof known / sizeof known[0]);
		if (strcmp(dataset_need(r, cfg_at(list, i), "is"), cell) == 0)
			match = cfg_at(list, i);
	}
	if (cell && !match)
		diag_error(r->diag, line_origin(r, line),
			   "dataset: column '%s' contains '%s', for which `quantities` has no "
			   "entry (add { is = \"%s\"; quantity = \"...\"; })",
			   column, cell, cell);
	return match;
}

/* Returns the factor from a number of the table to SI units: value_unit times scale. */
static double scale_of(struct dataset_reader *r, const struct cfg_node *quantity,
		       enum measure measure)
{
	double scale = 1, unit = 1;
	cfg_number(cfg_child(quantity, "scale"), &scale);
	const char *name = dataset_text(r->node, "value_unit");
	if (name && measure_is_time(measure)) {
		const char *wrong = quantity_parse(r->arena, QUANTITY_TIME,
						   arena_printf(r->arena, "1 %s", name), &unit);
		if (wrong)
			diag_error(r->diag, cfg_origin(cfg_child(r->node, "value_unit")),
				   "dataset: value_unit %s", wrong);
	}
	return scale * unit;
}

/* Returns half a unit of the last printed digit, relative to value: for "2.9" it is 0.05 / 2.9. */
static double rounding(const char *text, double value)
{
	const char *point = strchr(text, '.');
	return 0.5 * pow(10, point ? -(double)strlen(point + 1) : 0) / value;
}

/* Returns true if the cell has the form "1.01..1.08". */
static bool is_range(struct arena *arena, const char *cell)
{
	double low, high;
	const char *dots = strstr(cell, "..");
	return dots && number_parse(arena_printf(arena, "%.*s", (int)(dots - cell), cell), &low) &&
	       number_parse(dots + 2, &high) && low <= high;
}

static void read_value(struct dataset_reader *r, const struct making *m, const char *cell,
		       struct dataset_row *out)
{
	struct origin origin = line_origin(r, m->line);
	const struct cfg_node *quantity = quantity_node(r, m->line);
	double value;
	out->measured = out->linear = NAN;
	if (!quantity)
		return;
	out->measure = dataset_measure(r, quantity, "quantity", MEASURE_THROUGHPUT);
	pencil_read_row(r, m->line, scale_of(r, quantity, out->measure), out);
	if (strncmp(cell, "FAIL", 4) == 0) {
		out->failure = cell;
	} else if (number_parse(cell, &value) && value > 0) {
		out->measured = value * scale_of(r, quantity, out->measure);
		out->rounding_ratio = rounding(cell, value);
		if (!(out->measured > 0 && isfinite(out->measured)))
			diag_error(r->diag, origin,
				   "dataset: '%s' multiplied by `scale` must be a positive finite "
				   "number (write another value or scale)",
				   cell);
	} else if (out->role == ROLE_REPORT && is_range(r->arena, cell)) {
		out->measured_text = cell;
	} else {
		diag_error(r->diag, origin,
			   "dataset: '%s' is neither a positive number nor a failure (write "
			   "FAIL:REASON for a failure)",
			   cell);
	}
	if (out->measure != MEASURE_GAIN)
		return;
	if (cfg_child(quantity, "reference"))
		dataset_set_reference(r, cfg_child(quantity, "reference"), out);
	else
		diag_error(r->diag, cfg_origin(quantity),
			   "dataset: the quantity gain needs a reference (write reference = [ ... "
			   "] with the settings of the other case)");
}

/* ---- rows ---- */

/* Returns the cell of the measured number: the number at the beginning of the cell in the column
 * `value_if_any`, or the cell in the column `value`. */
static const char *value_cell(struct dataset_reader *r, const struct making *m)
{
	const char *column = dataset_text(r->node, "value_if_any");
	const char *cell = column ? cell_of(r, cfg_origin(r->node), m->line, column) : NULL;
	size_t length = cell ? strspn(cell, "0123456789.") : 0;
	return length ? arena_printf(r->arena, "%.*s", (int)length, cell)
		      : cell_of(r, cfg_origin(r->node), m->line, m->value);
}

static void make_row(struct dataset_reader *r, struct making m, rows_vec *rows)
{
	const char *cell = value_cell(r, &m);
	if (!cell || is_absent(cell))
		return;
	const char *group = dataset_text(r->node, "group");
	const char *word = group ? cell_of(r, cfg_origin(r->node), m.line, group) : NULL;
	m.label = label_of(r, &m);
	m.case_path = dataset_case(r, r->node);
	dataset_add_settings(r, &m.settings, cfg_child(r->node, "settings"));
	add_columns(r, &m);
	dataset_add_extra(r, &m.settings);
	struct dataset_row *out = VEC_PUSH(r->arena, rows);
	*out = (struct dataset_row){.label = m.label,
				    .role = role_of(r, &m),
				    .judged = true,
				    .origin = line_origin(r, m.line),
				    .group = word ? arena_printf(r->arena, "%s=%s", group, word)
						  : NULL,
				    .case_path = m.case_path,
				    .judge = dataset_text(r->node, "judge"),
				    .settings = m.settings.items,
				    .setting_count = m.settings.count};
	read_value(r, &m, cell, out);
	const char *column = dataset_text(r->node, "utilization");
	const char *bound = column ? cell_of(r, cfg_origin(r->node), m.line, column) : NULL;
	out->utilization_max = NAN;
	if (bound && !is_absent(bound) && !number_parse(bound, &out->utilization_max))
		diag_error(r->diag, line_origin(r, m.line),
			   "dataset: '%s' is not a utilisation (write a number or NA)", bound);
}

static void make_variants(struct dataset_reader *r, struct making m, rows_vec *rows)
{
	size_t count = variant_count(r, m.line);
	if (count == 0 || rows->count + count > DATASET_ROWS_MAX) {
		diag_error(r->diag, line_origin(r, m.line),
			   "dataset: there are more than %d rows (divide the table)",
			   DATASET_ROWS_MAX);
		return;
	}
	size_t before = diag_count(r->diag); /* reports the errors of a line only once */
	for (m.variant = 0; m.variant < count && diag_count(r->diag) == before; m.variant++)
		make_row(r, m, rows);
}

/* Makes a row of each of the columns prefix1, prefix2 and so on. Ideal scaling starts from the
 * first of them. */
static void make_wide(struct dataset_reader *r, size_t line, rows_vec *rows)
{
	static const char *const known[] = {"prefix", "setting", "fit_upto", "fit_upto_column"};
	const struct cfg_node *wide = cfg_child(r->node, "wide");
	const char *prefix = dataset_need(r, wide, "prefix");
	size_t length = strlen(prefix), base = SIZE_MAX, found = 0;
	double number, base_number = 0;
	bool linear = false;
	cfg_bool(cfg_child(r->node, "linear"), &linear);
	cfg_only(r->diag, wide, known, sizeof known / sizeof known[0]);
	for (size_t c = 0; c < r->tsv->column_count; c++) {
		const char *column = r->tsv->columns[c];
		size_t before = rows->count;
		if (strncmp(column, prefix, length) != 0 ||
		    !number_parse(column + length, &number) || number <= 0)
			continue;
		found++;
		make_variants(r,
			      (struct making){.line = line,
					      .value = column,
					      .wide_number = column + length},
			      rows);
		if (base == SIZE_MAX && rows->count > before) {
			base = before;
			base_number = number;
		}
		for (size_t i = before; linear && base != SIZE_MAX && i < rows->count; i++)
			rows->items[i].linear = rows->items[base].measured * number / base_number;
	}
	if (!found)
		diag_error(r->diag, cfg_origin(wide),
			   "dataset: the table %s has no columns '%s1', '%s2' ... (write another "
			   "prefix)",
			   r->tsv->path, prefix, prefix);
}

static const char *table_path(struct dataset_reader *r, const char *table)
{
	const char *slash = strrchr(r->dataset->path, '/');
	int folder = slash ? (int)(slash - r->dataset->path) + 1 : 0;
	return table[0] == '/' ? table
			       : arena_printf(r->arena, "%.*s%s", folder, r->dataset->path, table);
}

void dataset_read_table(struct dataset_reader *r, const char *table)
{
	bool wide = cfg_child(r->node, "wide") != NULL;
	rows_vec rows = {0};
	const struct cfg_node *lines = cfg_child(r->node, "lines");
	r->tsv = lines ? tsv_of(r->arena, r->diag, lines)
		       : tsv_read(r->arena, r->diag, table_path(r, table));
	const char *value = wide ? NULL : dataset_need(r, r->node, "value");
	if (!r->tsv)
		return;
	static const char *const known[] = {"column", "columns", "setting",
					    "unit",   "values",  "otherwise"};
	const struct cfg_node *columns = cfg_child(r->node, "columns");
	for (size_t i = 0; columns && i < cfg_count(columns); i++)
		cfg_only(r->diag, cfg_at(columns, i), known, sizeof known / sizeof known[0]);
	for (size_t line = 0; line < r->tsv->row_count; line++) {
		if (!is_wanted(r, line))
			continue;
		if (wide)
			make_wide(r, line, &rows);
		else
			make_variants(r, (struct making){.line = line, .value = value}, &rows);
	}
	r->dataset->rows = rows.items;
	r->dataset->row_count = rows.count;
	struct claim busy = {.kind = CLAIM_UTILIZATION,
			     .text = "mean GPU utilisation not above the highest one seen"};
	bool bound = dataset_text(r->node, "utilization") &&
		     cfg_number(cfg_child(r->node, "utilization_slack"), &busy.slack);
	dataset_read_claims(r, &busy, bound);
}
