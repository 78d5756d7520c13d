/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The document: adding blocks, and numbers as people write them. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/report/report.h"

struct report *report_new(struct arena *arena, const char *title, const char *by)
{
	struct report *report = ARENA_NEW(arena, struct report);
	*report = (struct report){.arena = arena, .title = title, .by = by};
	return report;
}

void report_to_front(struct report *report, size_t first)
{
	size_t count = report->blocks.count - first;
	struct block *blocks = report->blocks.items;
	struct block *moved = ARENA_ARRAY(report->arena, count + 1, struct block);
	memcpy(moved, blocks + first, count * sizeof *moved);
	memmove(blocks + count, blocks, first * sizeof *blocks);
	memcpy(blocks, moved, count * sizeof *moved);
}

static struct block *add(struct report *report, enum block_kind kind, const char *text)
{
	struct block *block = VEC_PUSH(report->arena, &report->blocks);
	*block = (struct block){.kind = kind, .text = text};
	return block;
}

void report_add(struct report *report, enum block_kind kind, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add(report, kind, arena_vprintf(report->arena, format, args));
	va_end(args);
}

void report_answer(struct report *report, bool alarm, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add(report, BLOCK_ANSWER, arena_vprintf(report->arena, format, args))->alarm = alarm;
	va_end(args);
}

void report_figure(struct report *report, struct drawing *drawing, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add(report, BLOCK_FIGURE, arena_vprintf(report->arena, format, args))->drawing = drawing;
	va_end(args);
}

struct report_table *report_table(struct report *report, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	struct block *block = add(report, BLOCK_TABLE, arena_vprintf(report->arena, format, args));
	va_end(args);
	block->table = ARENA_NEW(report->arena, struct report_table);
	block->table->arena = report->arena;
	return block->table;
}

void report_column(struct report_table *table, const char *title, enum column_kind kind)
{
	*VEC_PUSH(table->arena, &table->columns) = (struct report_column){title, kind};
}

void report_row(struct report_table *table, enum row_tone tone)
{
	*VEC_PUSH(table->arena, &table->rows) = (struct report_row){.tone = tone};
}

void report_cell(struct report_table *table, const char *format, ...)
{
	struct report_row *row = &table->rows.items[table->rows.count - 1];
	va_list args;
	va_start(args, format);
	*VEC_PUSH(table->arena, &row->cells) = arena_vprintf(table->arena, format, args);
	va_end(args);
}

void report_estimate(struct report_table *table, struct estimate estimate, double scale, int digits)
{
	struct arena *arena = table->arena;
	report_cell(table, "%s", figures(arena, estimate.value * scale, digits));
	if (has_interval(estimate))
		report_cell(table, "%s to %s", figures(arena, estimate.low * scale, digits),
			    figures(arena, estimate.high * scale, digits));
	else
		report_cell(table, "%s", "");
}

struct report_table *report_quantities(struct report *report, const struct prediction *prediction)
{
	const char *draws =
		prediction->draws_count
			? arena_printf(
				  report->arena, "with 90 %% intervals from %zu draws (seed %llu)",
				  prediction->draws_count, (unsigned long long)prediction->seed)
			: "without intervals (--draws 0)";
	struct report_table *table = report_table(report, "The prediction, %s.", draws);
	report_column(table, "quantity", COLUMN_TEXT);
	report_column(table, "value", COLUMN_NUMBER);
	report_column(table, "90 % interval", COLUMN_NUMBER);
	report_column(table, "unit", COLUMN_TEXT);
	return table;
}

void report_quantity(struct report_table *table, const char *what, struct estimate estimate,
		     double scale, const char *unit)
{
	report_row(table, TONE_PLAIN);
	report_cell(table, "%s", what);
	report_estimate(table, estimate, scale, 4);
	report_cell(table, "%s", unit);
}

void report_count(struct report_table *table, const char *what, double count, int decimals,
		  const char *unit)
{
	report_row(table, TONE_PLAIN);
	report_cell(table, "%s", what);
	report_cell(table, "%.*f", decimals, count);
	report_cell(table, "%s", "");
	report_cell(table, "%s", unit);
}

const struct block *report_answer_of(const struct report *report, size_t part)
{
	for (size_t i = part + 1; i < report->blocks.count; i++) {
		const struct block *block = &report->blocks.items[i];
		if (block->kind == BLOCK_PART)
			return NULL;
		if (block->kind == BLOCK_ANSWER)
			return block;
	}
	return NULL;
}

const char *report_images(struct report *report)
{
	for (size_t i = 0; i < report->blocks.count; i++) {
		struct block *block = &report->blocks.items[i];
		const struct drawing *drawing = block->drawing;
		const char *message;
		if (block->kind != BLOCK_FIGURE)
			continue;
		block->image = image_render(report->arena, IMAGE_SVG, &drawing, 1,
					    &block->image_size, &message);
		if (!block->image)
			return message;
	}
	return NULL;
}

/* ---- numbers ---- */

const char *figures(struct arena *arena, double value, int digits)
{
	if (!isfinite(value))
		return "–";
	int exponent = value == 0 ? 0 : (int)floor(log10(fabs(value)));
	if (fabs(value) >= pow(10, exponent + 1) - 0.5 * pow(10, exponent + 1 - digits))
		exponent++; /* 9.996 to three digits is 10.0 */
	int decimals = digits - 1 - exponent > 0 ? digits - 1 - exponent : 0;
	bool minus = value < -0.5 * pow(10, -decimals);
	return arena_printf(arena, "%s%.*f", minus ? "−" : "", decimals, fabs(value));
}

bool has_interval(struct estimate estimate)
{
	return isfinite(estimate.low) && isfinite(estimate.high) && estimate.low < estimate.high;
}

const char *interval_words(struct arena *arena, struct estimate estimate, double scale, int digits)
{
	if (!has_interval(estimate))
		return "";
	return arena_printf(arena, " (%s to %s)", figures(arena, estimate.low * scale, digits),
			    figures(arena, estimate.high * scale, digits));
}

const char *percent_words(struct arena *arena, struct estimate ratio)
{
	return arena_printf(arena, "%s" NBSP "%%%s", figures(arena, 100 * ratio.value, 3),
			    interval_words(arena, ratio, 100, 3));
}

const char *one_or(size_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}
