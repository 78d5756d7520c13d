/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/param.h"
#include "sim/base/table.h"
#include "sim/result/write.h"

struct result_table *result_table_new(struct arena *arena, const char *name, const char *title)
{
	struct result_table *table = ARENA_NEW(arena, struct result_table);
	*table = (struct result_table){.arena = arena, .name = name, .title = title};
	return table;
}

void result_column(struct result_table *table, struct result_column column)
{
	size_t count = table->column_count++;
	struct result_column *own = ARENA_ARRAY(table->arena, count + 1, struct result_column);
	if (count)
		memcpy(own, table->columns, count * sizeof *own);
	own[count] = column;
	table->columns = own;
}

/* Returns the text up to the separator, and moves *rest behind it; NULL there: no text is left. */
static char *cut(char **rest, char separator)
{
	char *text = *rest, *end = strchr(text, separator);
	if (end)
		*end = '\0';
	*rest = end ? end + 1 : NULL;
	return text;
}

void result_columns(struct result_table *table, const char *format, ...)
{
	static const struct {
		const char *name;
		enum quantity quantity;
	} kinds[] = {{"ratio", QUANTITY_RATIO},
		     {"time", QUANTITY_TIME},
		     {"bytes", QUANTITY_BYTES},
		     {"rate", QUANTITY_RATE}};
	va_list args;
	va_start(args, format);
	char *next = arena_vprintf(table->arena, format, args);
	va_end(args);
	while (next) {
		char *word = cut(&next, '|');
		const char *name = cut(&word, ':'), *kind = word ? cut(&word, ':') : "";
		struct result_column column = {.name = *name ? name : NULL,
					       .text = strncmp(kind, "text", 4) == 0,
					       .interval = strchr(kind, '~'),
					       .heading = word};
		for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
			if (strncmp(kind, kinds[i].name, strlen(kinds[i].name)) == 0)
				column.quantity = kinds[i].quantity;
		result_column(table, column);
	}
}

void result_row(struct result_table *table)
{
	size_t width = table->column_count, count = table->row_count++;
	table->filled = 0;
	if (count < table->room)
		return;
	table->room = 2 * (count + 1);
	struct result_cell *cells =
		ARENA_ARRAY(table->arena, table->room * width, struct result_cell);
	if (count)
		memcpy(cells, table->cells, count * width * sizeof *cells);
	table->cells = cells;
}

void result_cell(struct result_table *table, struct result_cell cell)
{
	FW_ASSERT(table->filled < table->column_count);
	table->cells[(table->row_count - 1) * table->column_count + table->filled++] = cell;
}

void result_text(struct result_table *table, const char *text)
{
	result_cell(table, (struct result_cell){text, ESTIMATE_NONE});
}

void result_number(struct result_table *table, double value)
{
	result_estimate(table, estimate_exact(value));
}

void result_estimate(struct result_table *table, struct estimate estimate)
{
	result_cell(table, (struct result_cell){NULL, estimate});
}

static const struct result_cell *row_of(const struct result_table *table, size_t row)
{
	return &table->cells[row * table->column_count];
}

/* Returns true if only files have the column. */
static bool is_data(const struct result_column *column)
{
	return column->heading && !column->heading[0];
}

static const char *heading_of(struct arena *arena, const struct result_column *column)
{
	char key[128];
	if (column->heading)
		return column->heading;
	const struct param_row row = {.field = column->name, .kind = PARAM_KIND_NUMBER};
	param_key(&row, key, sizeof key);
	char *text = arena_strdup(arena, column->text ? column->name : key);
	for (char *at = text; *at; at++)
		if (*at == '_')
			*at = ' ';
	return text;
}

/* Returns the largest number of a column, whose unit all its numbers can have without many zeros.
 * NaN: they differ too much, or each has its own unit. */
static double common_unit(const struct result_table *table, size_t column)
{
	enum quantity quantity = table->columns[column].quantity;
	double least = INFINITY, most = 0;
	for (size_t i = 0; i < table->row_count; i++) {
		double value = fabs(row_of(table, i)[column].number.value);
		if (!isfinite(value) || value == 0)
			continue;
		least = fmin(least, value);
		most = fmax(most, value);
	}
	bool sized = quantity == QUANTITY_COUNT || quantity == QUANTITY_BYTES;
	return sized || most > 1000 * least ? NAN : most;
}

struct table *result_table_shown(struct arena *arena, const struct result_table *table)
{
	struct table *shown = table_new(arena, "", 0);
	double *likes = ARENA_ARRAY(arena, table->column_count, double);
	for (size_t k = 0; k < table->column_count; k++) {
		if (is_data(&table->columns[k]))
			continue;
		likes[k] = table->columns[k].text ? NAN : common_unit(table, k);
		table_column(shown, heading_of(arena, &table->columns[k]), !table->columns[k].text);
	}
	for (size_t i = 0; i < table->row_count; i++) {
		table_row(shown);
		for (size_t k = 0; k < table->column_count; k++) {
			const struct result_column *column = &table->columns[k];
			const struct result_cell *cell = &row_of(table, i)[k];
			struct estimate number = cell->number;
			if (is_data(column))
				continue;
			if (!column->interval)
				number.low = number.high = number.value;
			const char *text = column->text
						   ? cell->text
						   : estimate_text_like(arena, column->quantity,
									number, likes[k]);
			bool verdict = column->text && column->name &&
				       strcmp(column->name, "verdict") == 0;
			if (verdict && text && strcmp(text, "ok") != 0) {
				table_cell_failed(shown, text);
				table_tone(shown, TONE_ALARM);
			} else {
				table_cell(shown, "%s", text ? text : "-");
			}
		}
	}
	return shown;
}

void result_table_print(FILE *out, const struct result_table *table, size_t line_width)
{
	struct arena *scratch = arena_new();
	struct table *shown = result_table_shown(scratch, table);
	table_line_width(shown, line_width);
	const char *head = table->title;
	if (table->setup)
		head = arena_printf(scratch, "%s\nsetup: %s", head, table->setup);
	if (table->draws)
		head = arena_printf(scratch, "%s\n%s", head, table->draws);
	for (const char *line = head, *end; line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		int length = (int)(end ? end - line : (ptrdiff_t)strlen(line));
		fprintf(out, "%s\n",
			text_visible(scratch, arena_printf(scratch, "%.*s", length, line)));
	}
	fputs(table->title ? "\n" : "", out);
	table_print(shown, out);
	if (table->without_effect)
		fprintf(out, "\nchanges nothing here: %s\n",
			text_visible(scratch, table->without_effect));
	arena_free(scratch);
}

/* CSV as in RFC 4180: fields with commas or quotes are quoted, and lines end with CR LF. Line ends
 * and invisible characters in a field are written as in tables (text_visible). */
struct csv {
	FILE *out;
	bool filled; /* the current line has at least one field */
};

/* Spreadsheets run a field that begins so as a formula, unless ' comes before it. */
static bool is_formula(const char *text)
{
	char *end;
	if (!strchr("=+-@", text[0]) || !text[0] || !text[1])
		return false;
	strtod(text, &end);
	return *end != '\0';
}

/* Writes a cell; NULL: an empty one. */
static void csv_field(struct csv *csv, const char *text)
{
	if (csv->filled)
		fputc(',', csv->out);
	csv->filled = true;
	if (!text)
		return;
	struct arena *scratch = arena_new();
	text = text_visible(scratch, text);
	bool quoted = strpbrk(text, ",\"") != NULL;
	if (quoted)
		fputc('"', csv->out);
	if (is_formula(text))
		fputc('\'', csv->out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', csv->out);
		fputc(*text, csv->out);
	}
	if (quoted)
		fputc('"', csv->out);
	arena_free(scratch);
}

/* Writes an empty cell for NaN. */
static void csv_number(struct csv *csv, double value)
{
	csv_field(csv, NULL);
	if (isfinite(value))
		jw_number(csv->out, value);
}

static void csv_line(struct csv *csv)
{
	fputs("\r\n", csv->out);
	csv->filled = false;
}

static void write_csv(FILE *out, const struct result_table *table)
{
	struct arena *scratch = arena_new();
	struct csv csv = {.out = out};
	for (size_t k = 0; k < table->column_count; k++) {
		const struct result_column *column = &table->columns[k];
		if (!column->name)
			continue;
		csv_field(&csv, column->name);
		if (!column->text && column->interval) {
			csv_field(&csv, arena_printf(scratch, "%s_low", column->name));
			csv_field(&csv, arena_printf(scratch, "%s_high", column->name));
		}
	}
	csv_line(&csv);
	for (size_t i = 0; i < table->row_count; i++) {
		for (size_t k = 0; k < table->column_count; k++) {
			const struct result_column *column = &table->columns[k];
			const struct result_cell *cell = &row_of(table, i)[k];
			struct estimate shown = estimate_output(cell->number);
			if (!column->name)
				continue;
			if (column->text) {
				csv_field(&csv, cell->text);
				continue;
			}
			if (cell->text && isnan(cell->number.value))
				csv_field(&csv, cell->text);
			else
				csv_number(&csv, cell->number.value);
			if (column->interval) {
				csv_number(&csv, shown.low);
				csv_number(&csv, shown.high);
			}
		}
		csv_line(&csv);
	}
	arena_free(scratch);
}

void jw_open_estimate(struct json_writer *json, const char *key, struct estimate estimate)
{
	struct estimate shown = estimate_output(estimate);
	jw_open_flat(json, key, '{');
	jw_real(json, "value", shown.value);
	jw_real(json, "low", shown.low);
	jw_real(json, "high", shown.high);
}

static void row_json(struct json_writer *json, const struct result_table *table, size_t row)
{
	jw_open_flat(json, NULL, '{');
	for (size_t k = 0; k < table->column_count; k++) {
		const struct result_column *column = &table->columns[k];
		const struct result_cell *cell = &row_of(table, row)[k];
		if (!column->name)
			continue;
		if (column->text) {
			jw_text(json, column->name, cell->text);
		} else if (!column->interval) {
			jw_real(json, column->name, cell->number.value);
		} else {
			jw_open_estimate(json, column->name, cell->number);
			jw_close(json);
		}
	}
	jw_close(json);
}

static void write_json(FILE *out, const struct result_table *table)
{
	struct json_writer json = jw_begin(out, JSON_PRETTY);
	jw_open(&json, NULL, '{');
	jw_text(&json, "name", table->name);
	jw_text(&json, "title", table->title);
	jw_text(&json, "setup", table->setup);
	jw_text(&json, "draws", table->draws);
	jw_open(&json, "columns", '[');
	for (size_t k = 0; k < table->column_count; k++) {
		const struct result_column *column = &table->columns[k];
		if (!column->name)
			continue;
		jw_open_flat(&json, NULL, '{');
		jw_text(&json, "name", column->name);
		jw_text(&json, "unit", column->text ? NULL : quantity_unit(column->quantity));
		jw_close(&json);
	}
	jw_close(&json);
	jw_open(&json, "rows", '[');
	for (size_t i = 0; i < table->row_count; i++)
		row_json(&json, table, i);
	jw_close(&json);
	jw_text(&json, "without_effect", table->without_effect);
	jw_text(&json, "version", FARWIRE_VERSION);
	jw_close(&json);
	jw_end(&json);
}

void result_table_write(FILE *out, enum output_format format, const struct result_table *table)
{
	switch (format) {
	case FORMAT_TABLE:
		result_table_print(out, table, 0);
		break;
	case FORMAT_CSV:
		write_csv(out, table);
		break;
	case FORMAT_JSON:
		write_json(out, table);
		break;
	case FORMAT_JSONL:
		for (size_t i = 0; i < table->row_count; i++) {
			struct json_writer json = jw_begin(out, JSON_LINE);
			row_json(&json, table, i);
			jw_end(&json);
		}
		break;
	}
}
