/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Axes: positions of values, choice of ticks, and drawing. */
#include "plots/shapes.h"
#include "plots/style.h"

/* Returns the smallest of 1, 2 or 5 times a power of ten that is at least `least`. */
static double nice_step(double least)
{
	double power = pow(10, floor(log10(least) + 1e-9));
	double ratio = least / power * (1 - 1e-9);
	return (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10) * power;
}

size_t nice_ticks(double low, double high, size_t max, double *ticks)
{
	if (max < 3 || !isfinite(low) || !isfinite(high))
		return 0;
	if (!(high > low)) {
		double margin = low == 0 ? 1 : fabs(low) * 0.1;
		high = low + margin;
		low -= margin;
	}
	double step = nice_step((high - low) / (double)(max - 1));
	double first = floor(low / step + 1e-9), last = ceil(high / step - 1e-9);
	/* terminates, because three ticks always suffice */
	while (last - first + 1 > (double)max) {
		step = nice_step(step * 1.5);
		first = floor(low / step + 1e-9);
		last = ceil(high / step - 1e-9);
	}
	size_t count = 0;
	for (double k = first; k <= last; k++)
		ticks[count++] = k == 0 ? 0 : k * step;
	return count;
}

double axis_at(const struct axis *axis, double value)
{
	double share = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
				 : (value - axis->low) / (axis->high - axis->low);
	return axis->from + share * (axis->to - axis->from);
}

static size_t keep_inside(const struct axis *axis, double *ticks, size_t count)
{
	double slack = 1e-9 * fmax(fabs(axis->low), fabs(axis->high));
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (ticks[i] >= axis->low - slack && ticks[i] <= axis->high + slack)
			ticks[kept++] = ticks[i];
	return kept;
}

static size_t log_ticks(const struct axis *axis, size_t wanted, double ticks[TICKS_MAX])
{
	static const double mantissas[3][3] = {{1, 2, 5}, {1, 3, 0}, {1, 0, 0}};
	int first = (int)floor(log10(axis->low)), last = (int)ceil(log10(axis->high));
	size_t decades = (size_t)(last - first);
	int choice = decades * 3 <= wanted ? 0 : decades * 2 <= wanted ? 1 : 2;
	int stride = choice < 2 ? 1 : (int)(decades / wanted) + 1;
	size_t count = 0;
	for (int exponent = first; exponent <= last; exponent += stride) {
		for (int i = 0; i < 3 && mantissas[choice][i] > 0 && count < TICKS_MAX; i++)
			ticks[count++] = mantissas[choice][i] * pow(10, exponent);
	}
	return keep_inside(axis, ticks, count);
}

size_t axis_ticks(const struct axis *axis, size_t wanted, double ticks[TICKS_MAX])
{
	if (wanted > TICKS_MAX - 2)
		wanted = TICKS_MAX - 2;
	if (axis->log && axis->high / axis->low >= 12)
		return log_ticks(axis, wanted, ticks);
	return keep_inside(axis, ticks, nice_ticks(axis->low, axis->high, wanted + 2, ticks));
}

void range_include(struct range *range, double value)
{
	range->low = fmin(range->low, value);
	range->high = fmax(range->high, value);
}

void axis_cover(struct axis *axis, double low, double high)
{
	if (axis->log) {
		double margin = pow(high / low, 0.05);
		margin = fmax(margin, 1.04);
		axis->low = low / margin;
		axis->high = high * margin;
		return;
	}
	double span = high > low ? high - low : fmax(fabs(high), 1e-9);
	bool from_zero = low >= 0 && low < 0.4 * high;
	axis->low = from_zero ? 0 : low - 0.06 * span;
	axis->high = high + 0.06 * span;
}

void axis_along(struct axis *axis, struct area area)
{
	axis->from = area.x;
	axis->to = area.x + area.width;
}

void axis_up(struct axis *axis, struct area area)
{
	axis->from = area.y + area.height;
	axis->to = area.y;
}

/* Formats with as many decimals as distinguish neighbouring ticks. */
static const char *tick_text(struct arena *arena, const struct axis *axis, const double *ticks,
			     size_t count, size_t index)
{
	double value = ticks[index];
	double size = fmax(fabs(ticks[0]), fabs(ticks[count - 1]));
	if (axis->log && axis->high / axis->low >= 12)
		return axis->high >= 1e6 && value > 999 ? power_text(arena, value)
							: number_text(arena, value, 1);
	if (count < 2 || size >= 1e6 || size < 1e-4)
		return number_text(arena, value, 3);
	double step = ticks[1] - ticks[0];
	int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
	return arena_printf(arena, "%s%.*f", value < 0 ? "−" : "", decimals, fabs(value));
}

void draw_axis_x(struct drawing *drawing, const struct axis *axis, struct area area,
		 const char *label, bool grid)
{
	double ticks[TICKS_MAX];
	const char *texts[TICKS_MAX];
	size_t count = axis_ticks(axis, (size_t)(area.width / 55) + 2, ticks);
	for (size_t i = 0; i < count; i++)
		texts[i] = tick_text(drawing->arena, axis, ticks, count, i);
	draw_axis_x_at(drawing, axis, area, label, grid, ticks, texts, count);
}

void draw_axis_x_at(struct drawing *drawing, const struct axis *axis, struct area area,
		    const char *label, bool grid, const double *ticks, const char *const *texts,
		    size_t count)
{
	double bottom = area.y + area.height;
	double free_from = -1e9;
	for (size_t i = 0; i < count; i++) {
		double x = axis_at(axis, ticks[i]);
		const char *text = texts[i];
		double half = text_width(text, FONT_TEXT, false) / 2;
		if (grid)
			draw_line(drawing, x, area.y, x, bottom, ink_grid, 0.6, DASH_SOLID);
		draw_line(drawing, x, bottom, x, bottom + 3, ink, 0.8, DASH_SOLID);
		if (x - half < free_from + 4)
			continue;
		free_from = x + half;
		draw_text(drawing, x, bottom + 13, FONT_TEXT, ANCHOR_MIDDLE, ink, false, text);
	}
	draw_line(drawing, area.x, bottom, area.x + area.width, bottom, ink, 0.8, DASH_SOLID);
	draw_text(drawing, area.x + area.width / 2, bottom + 27, FONT_TEXT, ANCHOR_MIDDLE, ink,
		  false, label);
}

void draw_axis_x_sizes(struct drawing *drawing, const struct axis *axis, struct area area,
		       const char *label)
{
	double ticks[64];
	const char *texts[64];
	size_t count = 0;
	int first = (int)fmax(0, ceil(log2(axis->low) - 1e-9));
	int last = (int)fmin(59, floor(log2(axis->high) + 1e-9));
	int stride = 1 + (last - first) / (int)fmax(1, area.width / 48);
	for (int power = first; power <= last; power++) {
		if (power % stride)
			continue;
		ticks[count] = ldexp(1, power);
		static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
		texts[count++] =
			arena_printf(drawing->arena, "%d %s", 1 << power % 10, units[power / 10]);
	}
	draw_axis_x_at(drawing, axis, area, label, true, ticks, texts, count);
}

void draw_axis_y(struct drawing *drawing, const struct axis *axis, struct area area,
		 const char *label, bool grid)
{
	double ticks[TICKS_MAX];
	size_t count = axis_ticks(axis, (size_t)(area.height / 38) + 2, ticks);
	double widest = 0;
	for (size_t i = 0; i < count; i++) {
		double y = axis_at(axis, ticks[i]);
		const char *text = tick_text(drawing->arena, axis, ticks, count, i);
		widest = fmax(widest, text_width(text, FONT_TEXT, false));
		if (grid)
			draw_line(drawing, area.x, y, area.x + area.width, y, ink_grid, 0.6,
				  DASH_SOLID);
		draw_text(drawing, area.x - 6, y + 3, FONT_TEXT, ANCHOR_END, ink, false, text);
	}
	draw_text_up(drawing, area.x - widest - 13, area.y + area.height / 2, FONT_TEXT,
		     ANCHOR_MIDDLE, ink, label);
}
