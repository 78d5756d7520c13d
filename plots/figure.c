/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/figure.h"

static const double strip_row = 10, strip_pad = 4, legend_gap = 8, caption_gap = 32;

const struct look role_looks[2] = {
	{.paint = {0x0072B2, 1}, .marker = MARKER_CIRCLE, .hollow = true},
	{.paint = {0xD55E00, 1}, .marker = MARKER_DIAMOND}};

/* ---- layers as data ---- */

struct panel *figure_panel(struct figure *figure, struct area area, const char *x_label,
			   const char *y_label)
{
	FW_ASSERT(figure->panel_count < PANELS_MAX);
	struct panel *panel = &figure->panels[figure->panel_count++];
	*panel = (struct panel){.area = area,
				.x_label = x_label,
				.y_label = y_label,
				.x = {INFINITY, -INFINITY},
				.y = {INFINITY, -INFINITY}};
	return panel;
}

struct figure_layer *figure_layer(struct figure *figure, struct panel *panel,
				  enum figure_layer_kind kind, const char *label, struct look look)
{
	struct figure_layer *layer = VEC_PUSH(figure->arena, &panel->layers);
	*layer = (struct figure_layer){.kind = kind, .label = label, .look = look};
	return layer;
}

void figure_reference(struct figure *figure, struct panel *panel, enum figure_layer_kind kind,
		      const char *label, struct look look, double value)
{
	figure_layer(figure, panel, kind, label, look)->value = value;
}

void figure_roles(struct figure *figure, struct panel *panel, struct series series,
		  const bool *test, const struct look looks[2], const char *const labels[2])
{
	for (int role = 0; role < 2; role++) {
		double *x = ARENA_ARRAY(figure->arena, series.count + 1, double);
		struct estimate *y = ARENA_ARRAY(figure->arena, series.count + 1, struct estimate);
		const char **hints = ARENA_ARRAY(figure->arena, series.count + 1, const char *);
		size_t count = 0;
		for (size_t i = 0; i < series.count; i++) {
			if (test[i] != role || !isfinite(series.y[i].value))
				continue;
			x[count] = series.x[i];
			y[count] = series.y[i];
			hints[count++] = series.hints[i];
		}
		if (count == 0)
			continue;
		figure_layer(figure, panel, LAYER_POINTS,
			     figure->labelled[role] ? NULL : labels[role], looks[role])
			->series = (struct series){x, y, count, hints};
		figure->labelled[role] = true;
	}
}

/* Returns true if a point can be shown as a value. It uses only the plane's kind of axes. */
static bool is_shown(const struct plane *plane, const struct series *series, size_t i)
{
	double x = series->x[i], y = series->y[i].value;
	return isfinite(x) && isfinite(y) && (!plane->x.log || x > 0) && (!plane->y.log || y > 0);
}

/* Returns true if the case fails there. */
static bool is_failed(const struct plane *plane, const struct series *series, size_t i)
{
	return isfinite(series->x[i]) && isnan(series->y[i].value) &&
	       (!plane->x.log || series->x[i] > 0);
}

static bool has_band(const struct plane *plane, const struct series *series, size_t i)
{
	return is_shown(plane, series, i) && has_interval(series->y[i]) &&
	       (!plane->y.log || series->y[i].low > 0);
}

static bool any_point(const struct panel *panel, const struct figure_layer *layer,
		      bool (*is)(const struct plane *plane, const struct series *series, size_t i))
{
	for (size_t i = 0; i < layer->series.count; i++)
		if (is(&panel->plane, &layer->series, i))
			return true;
	return false;
}

static bool fails(const struct panel *panel, const struct figure_layer *layer)
{
	return layer->kind == LAYER_LINE && any_point(panel, layer, is_failed);
}

/* ---- ranges and legend ---- */

/* Extends the ranges by everything that will be drawn. */
static void measure(struct panel *panel, const struct figure_layer *layer)
{
	const struct series *series = &layer->series;
	for (size_t i = 0; i < series->count; i++) {
		const struct estimate *y = &series->y[i];
		bool shown = is_shown(&panel->plane, series, i);
		if (shown || is_failed(&panel->plane, series, i))
			range_include(&panel->x, series->x[i]);
		if (shown)
			range_include(&panel->y, y->value);
		if (has_band(&panel->plane, series, i)) {
			range_include(&panel->y, y->low);
			range_include(&panel->y, y->high);
		}
	}
}

/* Chooses the axes' ranges. Returns false if the panel has no points. */
static bool cover(struct panel *panel)
{
	struct axis *x = &panel->plane.x, *y = &panel->plane.y;
	for (size_t i = 0; i < panel->layers.count; i++)
		measure(panel, &panel->layers.items[i]);
	if (panel->x.low > panel->x.high)
		return false;
	if (panel->y.low > panel->y.high) /* all points fail */
		panel->y = (struct range){y->log ? 0.1 : 0, 1};
	if (!(x->low < x->high))
		axis_cover(x, panel->x.low, panel->x.high);
	if (!(y->low < y->high))
		axis_cover(y, panel->y.low, panel->y.high);
	return true;
}

static bool is_on(const struct axis *axis, double value)
{
	return axis->low < value && value < axis->high;
}

static bool is_drawn(const struct panel *panel, const struct figure_layer *layer)
{
	return layer->kind == LAYER_LEVEL     ? is_on(&panel->plane.y, layer->value)
	       : layer->kind == LAYER_UPRIGHT ? is_on(&panel->plane.x, layer->value)
					      : true;
}

/* Adds an entry of each layer with a label, of intervals and of failures. */
static double draw_legend(const struct figure *figure, struct legend legend)
{
	bool band = false, whisker = false, failed = false;
	for (size_t k = 0; k < figure->panel_count; k++)
		for (size_t i = 0; i < figure->panels[k].layers.count; i++) {
			const struct panel *panel = &figure->panels[k];
			const struct figure_layer *layer = &panel->layers.items[i];
			bool interval = any_point(panel, layer, has_band);
			bool points = layer->kind == LAYER_POINTS;
			band |= interval && !points;
			whisker |= interval && points;
			failed |= k == 0 && fails(panel, layer);
			if (layer->label && *layer->label && is_drawn(panel, layer))
				legend_add(&legend, points ? LEGEND_MARKER : LEGEND_LINE,
					   layer->look, layer->label);
		}
	if (band || whisker)
		legend_add(&legend, band ? LEGEND_BAND : LEGEND_WHISKER,
			   (struct look){.paint = faint(ink_soft, 0.25)},
			   figure->intervals_label ? figure->intervals_label : "90 % interval");
	if (failed)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = ink_soft, .marker = MARKER_CROSS}, "case fails");
	return legend_end(&legend);
}

/* ---- drawing ---- */

static void draw_reference(struct drawing *drawing, const struct panel *panel,
			   const struct figure_layer *layer)
{
	const struct axis *x = &panel->plane.x, *y = &panel->plane.y;
	double value = layer->value, from_x = x->low, to_x = x->high, from_y = value, to_y = value;
	if (layer->kind == LAYER_UPRIGHT) {
		from_x = to_x = value;
		from_y = y->low;
		to_y = y->high;
	} else if (layer->kind == LAYER_RAY) { /* clipped to the frame */
		from_x = fmax(panel->x.low, y->low / value);
		to_x = fmin(panel->x.high, y->high / value);
		from_y = from_x * value;
		to_y = to_x * value;
	}
	draw_line(drawing, axis_at(x, from_x), axis_at(y, from_y), axis_at(x, to_x),
		  axis_at(y, to_y), layer->look.paint, 1, layer->look.dash);
}

/* Draws the intervals of a line as a band, and those of isolated points as whiskers. */
static void draw_band(const struct figure *figure, struct drawing *drawing,
		      const struct panel *panel, const struct figure_layer *layer)
{
	const struct plane *plane = &panel->plane;
	const struct series *series = &layer->series;
	double *points = ARENA_ARRAY(figure->arena, 4 * series->count + 1, double);
	for (size_t i = 0; i < series->count;) {
		size_t end = i;
		while (end < series->count && has_band(plane, series, end))
			end++;
		size_t run = end - i;
		for (size_t k = 0; k < run; k++) {
			size_t back = 2 * run - 1 - k;
			double x = axis_at(&plane->x, series->x[i + k]);
			points[2 * k] = points[2 * back] = x;
			points[2 * k + 1] = axis_at(&plane->y, series->y[i + k].high);
			points[2 * back + 1] = axis_at(&plane->y, series->y[i + k].low);
		}
		if (run >= 2)
			draw_polygon(drawing, points, 2 * run, faint(layer->look.paint, 0.16));
		else if (run == 1)
			draw_whisker_y(drawing, points[0], points[1], points[3]);
		i = end + 1;
	}
}

static void draw_mark(const struct figure *figure, struct drawing *drawing,
		      const struct series *series, size_t i, const double at[2], double width)
{
	draw_hint(drawing, at[0], at[1], width, 10, "%s",
		  series->hints ? series->hints[i]
				: arena_printf(figure->arena, "%s: %s",
					       number_format(figure->arena, 6, series->x[i]),
					       interval_text(figure->arena, &series->y[i])));
}

/* Draws a line, with markers if there is room for them. */
static void draw_curve(const struct figure *figure, struct drawing *drawing,
		       const struct panel *panel, const struct figure_layer *layer)
{
	const struct plane *plane = &panel->plane;
	const struct series *series = &layer->series;
	struct look look = layer->look;
	double *points = ARENA_ARRAY(figure->arena, 2 * series->count + 1, double);
	for (size_t i = 0; i < series->count;) {
		size_t run = 0;
		for (; i + run < series->count && is_shown(plane, series, i + run); run++) {
			points[2 * run] = axis_at(&plane->x, series->x[i + run]);
			points[2 * run + 1] = axis_at(&plane->y, series->y[i + run].value);
		}
		if (run >= 2)
			draw_polyline(drawing, points, run, look.paint, 1.7, look.dash);
		double space =
			run >= 2 ? (points[2 * run - 2] - points[0]) / (double)(run - 1) : 99;
		for (size_t k = 0; k < run; k++) {
			if (look.marker != MARKER_NONE &&
			    (space >= 8 || k % (size_t)ceil(12 / fmax(space, 0.1)) == 0))
				draw_point(drawing, look, points[2 * k], points[2 * k + 1], 6);
			draw_mark(figure, drawing, series, i + k, &points[2 * k], fmin(10, space));
		}
		i += run + 1;
	}
}

static void draw_points(const struct figure *figure, struct drawing *drawing,
			const struct panel *panel, const struct figure_layer *layer)
{
	const struct plane *plane = &panel->plane;
	const struct series *series = &layer->series;
	for (size_t i = 0; i < series->count; i++) {
		const struct estimate *y = &series->y[i];
		if (!is_shown(plane, series, i))
			continue;
		const double at[2] = {axis_at(&plane->x, series->x[i]),
				      axis_at(&plane->y, y->value)};
		if (has_band(plane, series, i))
			draw_whisker_y(drawing, at[0], axis_at(&plane->y, y->low),
				       axis_at(&plane->y, y->high));
		draw_point(drawing, layer->look, at[0], at[1], 7);
		draw_mark(figure, drawing, series, i, at, 10);
	}
}

static void draw_layers(const struct figure *figure, struct drawing *drawing,
			const struct panel *panel)
{
	for (size_t i = 0; i < panel->layers.count; i++)
		if (panel->layers.items[i].kind == LAYER_LINE)
			draw_band(figure, drawing, panel, &panel->layers.items[i]);
	for (enum figure_layer_kind kind = 0; kind <= LAYER_POINTS; kind++)
		for (size_t i = 0; i < panel->layers.count; i++) {
			const struct figure_layer *layer = &panel->layers.items[i];
			if (layer->kind != kind || !is_drawn(panel, layer))
				continue;
			if (kind == LAYER_LINE)
				draw_curve(figure, drawing, panel, layer);
			else if (kind == LAYER_POINTS)
				draw_points(figure, drawing, panel, layer);
			else
				draw_reference(drawing, panel, layer);
		}
}

/* Draws a strip below the first panel, with a row of crosses for each line that fails. */
static void draw_failures(struct drawing *drawing, const struct panel *panel, double height)
{
	const struct area *area = &panel->area;
	double top = area->y + area->height, right = area->x + area->width;
	double y = top + 2 + strip_row / 2;
	draw_rectangle(drawing, area->x, top, area->width, height, ink_panel);
	draw_line(drawing, area->x, top, right, top, ink_soft, 0.5, DASH_SHORT);
	draw_text(drawing, area->x - 6, fmax(top + height / 2 + 3, top + 12), FONT_TEXT, ANCHOR_END,
		  ink_alarm, false, "fail");
	for (size_t i = 0; i < panel->layers.count; i++) {
		const struct figure_layer *layer = &panel->layers.items[i];
		if (!fails(panel, layer))
			continue;
		for (size_t k = 0; k < layer->series.count; k++)
			if (is_failed(&panel->plane, &layer->series, k))
				draw_marker(drawing, MARKER_CROSS,
					    axis_at(&panel->plane.x, layer->series.x[k]), y, 6,
					    layer->look.paint);
		/* identifies the row's line by marker as well as colour */
		draw_point(drawing, layer->look, right - 8, y, 5);
		y += strip_row;
	}
}

/* Adds a value to the ascending ticks. Returns false if it is long, or if there are too many. */
static bool take_tick(double *ticks, size_t *count, double value)
{
	char text[32];
	size_t at = *count;
	for (size_t i = 0; i < *count; i++)
		if (ticks[i] == value)
			return true;
	snprintf(text, sizeof text, "%.4g", value);
	if (*count == TICKS_MAX || fabs(strtod(text, NULL) - value) > 1e-6 * fabs(value))
		return false;
	for (; at > 0 && ticks[at - 1] > value; at--)
		ticks[at] = ticks[at - 1];
	ticks[at] = value;
	++*count;
	return true;
}

/* Draws an x axis whose ticks are the values of the lines, if possible. */
static void draw_chosen_ticks(const struct figure *figure, struct drawing *drawing,
			      const struct panel *panel, struct area area)
{
	const struct axis *axis = &panel->plane.x;
	double ticks[TICKS_MAX];
	const char *texts[TICKS_MAX];
	size_t count = 0;
	bool few = true;
	for (size_t c = 0; c < panel->layers.count; c++) {
		const struct figure_layer *layer = &panel->layers.items[c];
		for (size_t i = 0; layer->kind == LAYER_LINE && i < layer->series.count && few; i++)
			few = take_tick(ticks, &count, layer->series.x[i]);
	}
	if (!few || count < 2)
		count = axis_ticks(axis, (size_t)(area.width / 55) + 2, ticks);
	for (size_t i = 0; i < count; i++)
		texts[i] = fabs(ticks[i]) >= 1e6 ? power_text(figure->arena, ticks[i])
						 : arena_printf(figure->arena, "%.4g", ticks[i]);
	draw_axis_x_at(drawing, axis, area, panel->x_label, true, ticks, texts, count);
}

static void draw_axes(const struct figure *figure, struct drawing *drawing,
		      const struct panel *panel, double strip)
{
	struct area area = panel->area;
	draw_axis_y(drawing, &panel->plane.y, area, panel->y_label, true);
	if (!panel->x_label) {
		draw_line(drawing, area.x, area.y + area.height, area.x + area.width,
			  area.y + area.height, ink, 0.8, DASH_SOLID);
		return;
	}
	area.height += strip;
	if (!figure->panels[0].x_label) { /* it is the axis of the panel above, too */
		area.height += area.y - figure->panels[0].area.y;
		area.y = figure->panels[0].area.y;
	}
	if (panel->ticks == TICKS_SIZES)
		draw_axis_x_sizes(drawing, &panel->plane.x, area, panel->x_label);
	else if (panel->ticks == TICKS_CHOSEN)
		draw_chosen_ticks(figure, drawing, panel, area);
	else
		draw_axis_x(drawing, &panel->plane.x, area, panel->x_label, true);
}

struct drawing *figure_draw(struct figure *figure, struct chart_text text, const char *empty)
{
	struct drawing *drawing;
	struct panel *first = &figure->panels[0];
	size_t failed = 0;
	double bottom = 0, first_bottom = first->area.y + first->area.height;
	for (size_t k = 0; k < figure->panel_count; k++)
		if (!cover(&figure->panels[k]) && k == 0)
			return chart_empty(figure->arena, text, empty);
	for (size_t i = 0; i < first->layers.count; i++)
		failed += fails(first, &first->layers.items[i]);
	double strip = failed ? strip_row * (double)failed + strip_pad : 0;
	double y = chart_begin(figure->arena, text, &drawing);
	y = draw_legend(figure, legend_begin(drawing, y)) + legend_gap;
	for (size_t k = 0; k < figure->panel_count; k++) {
		struct panel *panel = &figure->panels[k];
		bool below = panel->area.y >= first_bottom;
		double own_strip = k == 0 ? strip : 0;
		panel->area.x += CHART_MARGIN;
		panel->area.y += y + (below ? strip : 0);
		axis_along(&panel->plane.x, panel->area);
		axis_up(&panel->plane.y, panel->area);
		draw_axes(figure, drawing, panel, own_strip);
		if (own_strip > 0)
			draw_failures(drawing, panel, own_strip);
		bottom = fmax(bottom, panel->area.y + panel->area.height + own_strip);
	}
	for (size_t k = 0; k < figure->panel_count; k++)
		draw_layers(figure, drawing, &figure->panels[k]);
	return chart_end(drawing, text, bottom + caption_gap);
}
