/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels with the same measured axis. The left one has predicted over measured values, both
 * logarithmic, and shows whether the model gives the right magnitude. The right one has the error
 * of the same points in percent and shows the accuracy. */
#include "plots/figure.h"

/* Least range of the axis of errors, in percent. */
static const double WORST_LEAST = 12;
static const double side = 282, left = 46, top = 2;

static double percent(double predicted, double measured)
{
	return (predicted / measured - 1) * 100;
}

struct parity_rows { /* the usable points, in the units of both panels */
	double *measured;
	struct estimate *predicted, *error;
	const char **hints;
	bool *test;
	size_t count, role_counts[2];
	double worst; /* largest error with its interval, in percent */
};

static struct parity_rows rows_of(struct arena *arena, const struct parity_point *points,
				  size_t count)
{
	struct parity_rows rows = {ARENA_ARRAY(arena, count + 1, double),
				   ARENA_ARRAY(arena, count + 1, struct estimate),
				   ARENA_ARRAY(arena, count + 1, struct estimate),
				   ARENA_ARRAY(arena, count + 1, const char *),
				   ARENA_ARRAY(arena, count + 1, bool),
				   .worst = WORST_LEAST};
	for (size_t i = 0; i < count; i++) {
		struct estimate y = points[i].predicted;
		double x = points[i].measured;
		if (!(x > 0 && isfinite(x) && y.value > 0 && isfinite(y.value)))
			continue;
		if (!(y.low > 0)) /* a logarithmic axis has no place for it */
			y = estimate_exact(y.value);
		const struct estimate error = {percent(y.value, x), percent(y.low, x),
					       percent(y.high, x)};
		rows.worst = fmax(fmax(rows.worst, fabs(error.value)),
				  fmax(fabs(error.low), fabs(error.high)));
		rows.hints[rows.count] =
			arena_printf(arena, "%s: measured %s, predicted %s, error %+.1f %%",
				     points[i].label, number_format(arena, 6, x),
				     interval_text(arena, &points[i].predicted), error.value);
		rows.measured[rows.count] = x;
		rows.predicted[rows.count] = y;
		rows.error[rows.count] = error;
		rows.test[rows.count++] = points[i].test;
		rows.role_counts[points[i].test]++;
	}
	return rows;
}

/* Adds the points of a group to both panels, and what the axes cover. Returns the largest error. */
static double add_group(struct figure *figure, struct panel *const panels[2],
			const struct parity_rows *rows, const char *group, size_t index)
{
	struct look own[2] = {series_look(index), series_look(index)};
	const char *labels[2];
	if (own[0].marker == MARKER_PLUS) /* which is never hollow */
		own[0].marker = own[1].marker = MARKER_CIRCLE;
	own[0].hollow = true;
	for (int test = 0; test < 2; test++)
		labels[test] = arena_printf(figure->arena, "%s%s%s (%zu %s)", group ? group : "",
					    group ? " " : "", test ? "test" : "fit",
					    rows->role_counts[test],
					    rows->role_counts[test] == 1 ? "row" : "rows");
	figure->labelled[0] = figure->labelled[1] = false;
	for (int error = 0; error < 2; error++)
		figure_roles(figure, panels[error],
			     (struct series){rows->measured, error ? rows->error : rows->predicted,
					     rows->count, rows->hints},
			     rows->test, group ? own : role_looks, labels);
	for (size_t i = 0; i < rows->count; i++) { /* both axes have the same range */
		range_include(&panels[0]->x, fmin(rows->measured[i], rows->predicted[i].low));
		range_include(&panels[0]->x, fmax(rows->measured[i], rows->predicted[i].high));
	}
	return rows->worst;
}

struct drawing *chart_parity_groups(struct arena *arena, struct chart_text text, const char *unit,
				    const struct parity_group *groups, size_t count)
{
	static const struct {
		double ratio;
		struct look look;
		const char *label;
	} guides[] = {{0, {.paint = {0x222222, 1}}, "equal"},
		      {0.05, {.paint = {0x6A6A6A, 1}, .dash = DASH_SHORT}, "±5 %"},
		      {0.1, {.paint = {0x6A6A6A, 1}, .dash = DASH_DOT}, "±10 %"}};
	struct figure figure = {.arena = arena};
	const char *measured = arena_printf(arena, "measured (%s)", unit);
	double worst = WORST_LEAST;
	struct panel *parity = figure_panel(&figure, (struct area){left, top, side, side}, measured,
					    arena_printf(arena, "predicted (%s)", unit));
	struct panel *errors = figure_panel(
		&figure, (struct area){CHART_WIDTH - 2 * CHART_MARGIN - side - 6, top, side, side},
		measured, "error: predicted / measured − 1 (%)");
	parity->plane = (struct plane){{.log = true}, {.log = true}};
	struct panel *const panels[2] = {parity, errors};
	for (size_t i = 0; i < count; i++) {
		struct parity_rows rows = rows_of(arena, groups[i].points, groups[i].count);
		worst = fmax(worst, add_group(&figure, panels, &rows, groups[i].label, i));
	}
	errors->plane = (struct plane){{.log = true}, {.low = -1.08 * worst, .high = 1.08 * worst}};
	parity->y = errors->x = parity->x;
	for (size_t i = 0; i < sizeof guides / sizeof guides[0]; i++)
		for (int sign = 1; sign >= (guides[i].ratio > 0 ? -1 : 1); sign -= 2) {
			double ratio = sign * guides[i].ratio;
			figure_reference(&figure, parity, LAYER_RAY,
					 sign > 0 ? guides[i].label : NULL, guides[i].look,
					 1 + ratio);
			figure_reference(&figure, errors, LAYER_LEVEL, NULL, guides[i].look,
					 100 * ratio);
		}
	return figure_draw(&figure, text, "there are no measured values to compare with");
}

struct drawing *chart_parity(struct arena *arena, struct chart_text text, const char *unit,
			     const struct parity_point *points, size_t count)
{
	return chart_parity_groups(arena, text, unit, &(struct parity_group){NULL, points, count},
				   1);
}
