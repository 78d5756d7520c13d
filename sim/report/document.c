/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding blocks to a report, and numbers in text. */
#include "sim/report/document.h"

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
	if (count == 0)
		return;
	struct block *moved = ARENA_ARRAY(report->arena, count, struct block);
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

size_t report_part_count(const struct report *report)
{
	size_t count = 0;
	for (size_t i = 0; i < report->blocks.count; i++)
		count += report->blocks.items[i].kind == BLOCK_PART;
	return count;
}

/* Returns the first sentence: up to a full stop before a blank and a capital letter. */
static const char *first_sentence(struct arena *arena, const char *text)
{
	for (const char *at = strstr(text, ". "); at; at = strstr(at + 1, ". "))
		if (at[2] >= 'A' && at[2] <= 'Z')
			return arena_printf(arena, "%.*s.", (int)(at - text), text);
	return text;
}

const char *report_brief_of(const struct report *report, size_t part)
{
	for (size_t i = part + 1; i < report->blocks.count; i++) {
		const struct block *block = &report->blocks.items[i];
		if (block->kind == BLOCK_PART)
			break;
		if (block->kind == BLOCK_ANSWER)
			return first_sentence(report->arena, block->text);
	}
	return "";
}

/* ---- tables ---- */

void report_show(struct report *report, const char *summary, const struct table *table,
		 const char *caption)
{
	if (summary)
		add(report, BLOCK_FOLD, summary);
	add(report, BLOCK_TABLE, caption)->table = table;
	if (summary)
		add(report, BLOCK_UNFOLD, "");
}

struct table *report_table(struct report *report, const char *columns, const char *caption, ...)
{
	struct table *table = table_new(report->arena, columns, 0);
	va_list args;
	va_start(args, caption);
	report_show(report, NULL, table, arena_vprintf(report->arena, caption, args));
	va_end(args);
	return table;
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
	return arena_printf(arena, "%s%.*f", value < 0 ? "−" : "", decimals, fabs(value));
}

const char *interval_words(struct arena *arena, struct estimate estimate, double scale, int digits)
{
	if (!has_interval(estimate))
		return "";
	return arena_printf(arena, " (%s to %s)", figures(arena, estimate.low * scale, digits),
			    figures(arena, estimate.high * scale, digits));
}

const char *throughput_words(struct arena *arena, const struct prediction *p, int digits)
{
	bool bytes = prediction_kind(p) == PREDICTION_COLLECTIVE;
	double scale = bytes ? 1e-9 : 1;
	return arena_printf(arena, "%s%s%s%s", figures(arena, p->throughput.value * scale, digits),
			    bytes ? NBSP : " ", bytes ? "GB/s" : throughput_unit(&p, 1),
			    interval_words(arena, p->throughput, scale, digits));
}

const char *one_or(size_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}
