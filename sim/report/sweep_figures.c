/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/sweep_figures.h"
#include "sim/report/chart_data.h"

/* ---- charts ---- */

static const double *shown_values(struct arena *arena, const struct sweep *sweep, size_t a,
				  const char **label)
{
	const struct sweep_axis *axis = &sweep->axes[a];
	double largest = 0, *values = ARENA_ARRAY(arena, axis->count + 1, double);
	for (size_t i = 0; i < axis->count; i++)
		largest = fmax(largest, axis->values[i]);
	enum quantity quantity = axis->words ? QUANTITY_COUNT : axis->quantity;
	const struct chart_unit unit = chart_unit(quantity, largest);
	for (size_t i = 0; i < axis->count; i++)
		values[i] = axis->values[i] * unit.factor;
	*label = chart_label(arena, sweep->words[a], unit.name);
	return values;
}

const char *sweep_value_text(struct arena *arena, const struct sweep_axis *axis, size_t index)
{
	if (axis->words)
		return axis->texts[index] + strlen(axis->key) + 1;
	if (axis->quantity == QUANTITY_RATE) /* converts rates to the unit of the plots' axes */
		return arena_printf(arena, "%s Gbit/s",
				    number_format(arena, 4, 8e-9 * axis->values[index]));
	return quantity_format(arena, axis->quantity, axis->values[index]);
}

/* Labels of curves and of maps: the values of the axes that have no side in the chart. */
struct labels {
	const struct sweep *sweep;
	bool shown[AXES_MAX];
	bool words; /* labels name their axis; otherwise the caption does */
};
enum { WORDS_MOST = 26 };

static struct labels labels_beside(const struct sweep *sweep, size_t x, size_t y)
{
	struct labels labels = {.sweep = sweep};
	size_t length = 0;
	for (size_t a = 0; a < sweep->axis_count; a++) {
		labels.shown[a] = a != x && a != y;
		length += labels.shown[a] ? strlen(sweep->words[a]) : 0;
	}
	labels.words = length <= WORDS_MOST;
	return labels;
}

/* Returns "batch size = 16", or "16" if labels do not name their axis. */
static const char *label_at(struct arena *arena, const struct labels *labels, size_t point)
{
	const struct sweep *sweep = labels->sweep;
	const char *text = "";
	for (size_t a = 0; a < sweep->axis_count; a++)
		if (labels->shown[a])
			text = arena_printf(arena, "%s%s%s%s%s", text, *text ? ", " : "",
					    labels->words ? sweep->words[a] : "",
					    labels->words ? " = " : "",
					    sweep_value_text(arena, &sweep->axes[a],
							     sweep_axis_index(sweep, point, a)));
	return text;
}

const char *sweep_place(struct arena *arena, const struct sweep *sweep, size_t point)
{
	struct labels labels = labels_beside(sweep, SIZE_MAX, SIZE_MAX);
	labels.words = true;
	return label_at(arena, &labels, point);
}

/* Adds a title if there is none, and to the caption the words that labels leave out. */
static struct chart_text titled(struct arena *arena, struct chart_text text, const char *title,
				const struct labels *labels)
{
	const char *caption = text.caption, *comma = "; labels: ";
	for (size_t a = 0; a < labels->sweep->axis_count && !labels->words; a++)
		if (labels->shown[a]) {
			caption = arena_printf(arena, "%s%s%s", caption ? caption : "", comma,
					       labels->sweep->words[a]);
			comma = ", ";
		}
	return (struct chart_text){text.title ? text.title : title, caption};
}

/* Returns the points along the first axis at combination c of the other axes. */
static const struct prediction **line_of(struct arena *arena, const struct sweep *sweep, size_t c)
{
	size_t count = sweep->axes[0].count, lines = sweep->point_count / count;
	const struct prediction **line = ARENA_ARRAY(arena, count, const struct prediction *);
	for (size_t i = 0; i < count; i++)
		line[i] = sweep->points[i * lines + c];
	return line;
}

/* Draws a line for each combination of the other axes. The first axis is the number of GPUs of a
 * job, or the size of a collective. */
static struct drawing *draw_lines(struct arena *arena, struct chart_text text,
				  const struct sweep *sweep, bool bandwidth)
{
	size_t count = sweep->axes[0].count, line_count = sweep->point_count / count;
	struct prediction_line *lines = ARENA_ARRAY(arena, line_count, struct prediction_line);
	const struct labels labels = labels_beside(sweep, 0, 0);
	for (size_t c = 0; c < line_count; c++) {
		const char *label = label_at(arena, &labels, c);
		lines[c] = (struct prediction_line){.label = *label ? label : "predicted",
						    .predictions = line_of(arena, sweep, c),
						    .sizes_B = bandwidth ? sweep->axes[0].values
									 : NULL,
						    .count = count};
	}
	const char *title = bandwidth ? "Bus bandwidth over message size" : "Scaling";
	return chart_lines(arena, titled(arena, text, title, &labels), lines, line_count);
}

/* Returns the answer along the first axis at combination c of the other axes, times the factor. */
static struct estimate *values_of(struct arena *arena, const struct sweep *sweep, size_t c,
				  const struct reported *row, double factor)
{
	size_t count = sweep->axes[0].count;
	struct estimate *y = ARENA_ARRAY(arena, count, struct estimate);
	const struct prediction **line = line_of(arena, sweep, c);
	for (size_t i = 0; i < count; i++)
		y[i] = line[i]->ok ? estimate_scaled(reported_of(row, line[i]), factor)
				   : ESTIMATE_NONE;
	return y;
}

/* The answer that a chart shows, in the unit of its axis. */
struct shown {
	const struct reported *row;
	const struct target *target; /* or NULL */
	double factor;
	const char *label;
	bool share; /* a ratio, of which 95 % is worth a line */
};

const struct reported *sweep_main_answer(const struct sweep *sweep)
{
	unsigned kinds = prediction_kinds(sweep->points, sweep->point_count);
	if (kinds == PREDICTION_COLLECTIVE)
		return answer_at(ANSWER_BANDWIDTH);
	if (kinds == PREDICTION_SERVING)
		return answer_at(ANSWER_LATENCY_P99);
	for (size_t i = 0; i < sweep->point_count; i++)
		if (sweep->points[i]->ok && isfinite(sweep->points[i]->ratio.value))
			return answer_at(kinds == PREDICTION_TRAINING ? ANSWER_EFFICIENCY
								      : ANSWER_RATIO);
	return answer_at(ANSWER_THROUGHPUT);
}

/* Returns the answer of the target, or the main one. */
static struct shown shown_of(struct arena *arena, const struct sweep *sweep,
			     const struct target *target)
{
	struct shown shown = {.row = target ? target->reported : sweep_main_answer(sweep),
			      .target = target};
	double most = 0;
	for (size_t i = 0; i < sweep->point_count; i++)
		most = fmax(most, reported_of(shown.row, sweep->points[i]).value);
	struct chart_unit unit = chart_unit(shown.row->quantity, most);
	if (shown.row->quantity == QUANTITY_RATE) /* bus bandwidth is customary in bytes */
		unit = (struct chart_unit){1e-9, "GB/s"};
	shown.factor = unit.factor;
	shown.label = chart_label(arena,
				  shown.row == answer_at(ANSWER_THROUGHPUT)
					  ? throughput_unit(sweep->points, sweep->point_count)
					  : shown.row->heading,
				  unit.name);
	shown.share =
		shown.row->quantity == QUANTITY_RATIO && shown.row != answer_at(ANSWER_SPEEDUP);
	return shown;
}

/* Returns the title of a chart with this answer. */
static const char *shown_title(struct arena *arena, const struct sweep *sweep,
			       const struct shown *shown)
{
	bool ratio =
		shown->row == answer_at(ANSWER_RATIO) || shown->row == answer_at(ANSWER_EFFICIENCY);
	const char *words = shown->row->spoken ? shown->row->spoken : shown->row->heading;
	if (ratio)
		return chart_bars_title(sweep->points, sweep->point_count);
	return arena_printf(arena, "%c%s", (char)toupper((unsigned char)*words), words + 1);
}

static struct estimate shown_value(const struct shown *shown, const struct prediction *p)
{
	return p->ok ? estimate_scaled(reported_of(shown->row, p), shown->factor) : ESTIMATE_NONE;
}

/* Returns true if the axis is logarithmic. A list of values over more than about a decade is. */
static bool is_log(const struct sweep_axis *axis)
{
	double low = INFINITY, high = 0;
	for (size_t i = 0; i < axis->count; i++) {
		low = fmin(low, axis->values[i]);
		high = fmax(high, axis->values[i]);
	}
	return axis->log ||
	       (!axis->words && axis->count > 2 && low > 0 && high / low >= 16 && !axis->ranged);
}

enum { QUANTILES_SHOWN = 2, PANELS = 3 };

/* Sets a panel with the median and the quantile of 99 % of a time over the first axis. Returns
 * false if no point has it. */
static bool latency_panel(struct arena *arena, const struct sweep *sweep,
			  const struct labels *labels, size_t index, struct curve_panel *panel)
{
	static const struct {
		const char *y_label;
		enum answer answers[QUANTILES_SHOWN];
	} times[PANELS] = {{"first token", {ANSWER_FIRST_P50, ANSWER_FIRST_P99}},
			   {"between tokens", {ANSWER_BETWEEN_P50, ANSWER_BETWEEN_P99}},
			   {"latency of a request", {ANSWER_LATENCY_P50, ANSWER_LATENCY_P99}}};
	static const char *const names[QUANTILES_SHOWN] = {"median", "99 %"};
	const struct sweep_axis *x = &sweep->axes[0];
	size_t lines = sweep->point_count / x->count;
	struct curve *curves = ARENA_ARRAY(arena, QUANTILES_SHOWN * lines, struct curve);
	*panel = (struct curve_panel){
		{.x_log = is_log(x), .y_log = true}, curves, QUANTILES_SHOWN * lines};
	const double *values = shown_values(arena, sweep, 0, &panel->axes.x_label);
	double most = 0;
	for (size_t i = 0; i < sweep->point_count; i++)
		most = fmax(
			most,
			reported_of(answer_at(times[index].answers[1]), sweep->points[i]).value);
	const struct chart_unit unit = chart_unit(QUANTITY_TIME, most);
	panel->axes.y_label = chart_label(arena, times[index].y_label, unit.name);
	for (size_t c = 0; c < panel->count; c++) {
		size_t line = c / QUANTILES_SHOWN, q = c % QUANTILES_SHOWN;
		const char *label = label_at(arena, labels, line);
		label = arena_printf(arena, "%s%s%s", label, *label ? ", " : "", names[q]);
		curves[c] = (struct curve){.label = label,
					   .x = values,
					   .y = values_of(arena, sweep, line,
							  answer_at(times[index].answers[q]),
							  unit.factor),
					   .count = x->count};
	}
	return most > 0;
}

/* Draws the times of a model server below each other: to the first token, between tokens, and of a
 * request. */
static struct drawing *draw_latency(struct arena *arena, struct chart_text text,
				    const struct sweep *sweep)
{
	const struct labels labels = labels_beside(sweep, 0, 0);
	struct curve_panel panels[PANELS];
	size_t count = 0;
	for (size_t i = 0; i < PANELS; i++)
		count += latency_panel(arena, sweep, &labels, i, &panels[count]) || i + 1 == PANELS;
	return chart_panels(arena, titled(arena, text, "Times of requests", &labels), panels,
			    count);
}

/* Draws the answer over the first axis, with a curve for each combination of the other axes. */
static struct drawing *draw_curves(struct arena *arena, struct chart_text text,
				   const struct sweep *sweep, const struct shown *shown)
{
	const struct sweep_axis *x = &sweep->axes[0];
	size_t lines = sweep->point_count / x->count;
	struct curve *curves = ARENA_ARRAY(arena, lines, struct curve);
	const struct labels labels = labels_beside(sweep, 0, 0);
	struct chart_axes axes = {
		.y_label = shown->label, .x_log = is_log(x), .share = shown->share};
	const double *values = shown_values(arena, sweep, 0, &axes.x_label);
	if (shown->target) {
		axes.goal = shown->target->value * shown->factor;
		axes.goal_label = shown->target->text;
	}
	for (size_t c = 0; c < lines; c++)
		curves[c] =
			(struct curve){.label = label_at(arena, &labels, c),
				       .x = values,
				       .y = values_of(arena, sweep, c, shown->row, shown->factor),
				       .count = x->count};
	return chart_curves(arena, titled(arena, text, shown_title(arena, sweep, shown), &labels),
			    axes, curves, lines);
}

/* ---- maps ---- */

enum { MAP_VALUES_MIN = 4, MAPS_MAX = 12 }; /* an axis with fewer values becomes curves */

/* One side of a map: an axis in rising order. */
struct side {
	size_t axis;
	const char *label;
	const double *values;
	const size_t *order; /* the axis's indices by rising value */
	size_t count;
};

/* Returns false if the axis cannot be a side of a map: words, too few values, or equal values. */
static bool side_of(struct arena *arena, const struct sweep *sweep, size_t axis, struct side *side)
{
	const struct sweep_axis *a = &sweep->axes[axis];
	if (a->words || a->count < MAP_VALUES_MIN)
		return false;
	*side = (struct side){.axis = axis, .count = a->count};
	const double *given = shown_values(arena, sweep, axis, &side->label);
	double *values = ARENA_ARRAY(arena, a->count, double);
	const size_t *order = order_rising(arena, given, a->count);
	for (size_t i = 0; i < a->count; i++)
		values[i] = given[order[i]];
	for (size_t i = 1; i < a->count; i++)
		if (!(values[i] > values[i - 1]))
			return false; /* one value written twice, for example 1 ms and 1000 us */
	side->values = values;
	side->order = order;
	return true;
}

/* Takes the first two axes that can be sides. Each combination of the other axes makes a map.
 * Returns false if there are no two sides, or more than MAPS_MAX maps. */
static bool find_sides(struct arena *arena, const struct sweep *sweep, struct side sides[2])
{
	size_t found = 0;
	for (size_t a = 0; a < sweep->axis_count && found < 2; a++)
		found += side_of(arena, sweep, a, &sides[found]);
	return found == 2 && sweep->point_count / (sides[0].count * sides[1].count) <= MAPS_MAX;
}

/* Returns the point at combination c of the axes that are not sides, and at these indices of the
 * sides. */
static size_t map_point(const struct sweep *sweep, const struct side sides[2], size_t c,
			const size_t at[2])
{
	size_t index[AXES_MAX], point = 0;
	for (size_t a = sweep->axis_count; a-- > 0;) {
		bool side = a == sides[0].axis || a == sides[1].axis;
		index[a] = side ? at[a == sides[1].axis] : c % sweep->axes[a].count;
		c = side ? c : c / sweep->axes[a].count;
	}
	for (size_t a = 0; a < sweep->axis_count; a++)
		point = point * sweep->axes[a].count + index[a];
	return point;
}

static struct drawing *draw_maps(struct arena *arena, struct chart_text text,
				 const struct sweep *sweep, const struct side sides[2],
				 const struct shown *shown)
{
	const struct side *x = &sides[0], *y = &sides[1];
	size_t cells = x->count * y->count, count = sweep->point_count / cells;
	struct heat_map *maps = ARENA_ARRAY(arena, count, struct heat_map);
	const struct labels labels = labels_beside(sweep, x->axis, y->axis);
	struct heat_axes axes = {.x_label = x->label,
				 .y_label = y->label,
				 .z_label = shown->label,
				 .x_log = is_log(&sweep->axes[x->axis]),
				 .y_log = is_log(&sweep->axes[y->axis]),
				 .share = shown->share};
	if (shown->target) {
		axes.limit = shown->target->value * shown->factor;
		axes.limit_label = shown->target->text;
	}
	for (size_t c = 0; c < count; c++) {
		double *z = ARENA_ARRAY(arena, cells, double);
		size_t point = 0;
		for (size_t j = 0; j < y->count; j++)
			for (size_t i = 0; i < x->count; i++) {
				const size_t at[2] = {x->order[i], y->order[j]};
				point = map_point(sweep, sides, c, at);
				z[j * x->count + i] =
					shown_value(shown, sweep->points[point]).value;
			}
		maps[c] = (struct heat_map){label_at(arena, &labels, point),
					    x->values,
					    y->values,
					    x->count,
					    y->count,
					    z};
	}
	return chart_heat(arena, titled(arena, text, shown_title(arena, sweep, shown), &labels),
			  axes, maps, count);
}

/* Draws a bar for each point of a sweep over words, which have no place on an axis of numbers. */
static struct drawing *draw_bars(struct arena *arena, struct chart_text text,
				 const struct sweep *sweep)
{
	size_t count = sweep->point_count;
	const struct labels labels = labels_beside(sweep, SIZE_MAX, SIZE_MAX);
	struct ratio_bar *bars = chart_bars(arena, sweep->points, count);
	for (size_t i = 0; i < count; i++)
		bars[i].label = label_at(arena, &labels, i);
	return chart_ratio_bars(
		arena, titled(arena, text, chart_bars_title(sweep->points, count), &labels), bars,
		count);
}

/* Returns the sweep with its first axis of numbers before the others; NULL: all have words. */
static const struct sweep *numbers_first(struct arena *arena, const struct sweep *sweep)
{
	size_t first = 0, inner = 1;
	while (first < sweep->axis_count && sweep->axes[first].words)
		first++;
	if (first == 0 || first == sweep->axis_count)
		return first == 0 ? sweep : NULL;
	struct sweep *new = ARENA_NEW(arena, struct sweep);
	struct sweep_axis *axes = ARENA_ARRAY(arena, sweep->axis_count, struct sweep_axis);
	const char **words = ARENA_ARRAY(arena, sweep->axis_count, const char *);
	*new = *sweep;
	new->axes = axes;
	new->words = words;
	new->points = ARENA_ARRAY(arena, sweep->point_count, const struct prediction *);
	for (size_t a = 0; a < sweep->axis_count; a++) {
		size_t from = a == 0 ? first : a <= first ? a - 1 : a;
		axes[a] = sweep->axes[from];
		words[a] = sweep->words[from];
		inner *= a > first ? axes[a].count : 1;
	}
	size_t stride = sweep->point_count / axes[0].count;
	for (size_t i = 0; i < sweep->point_count; i++) {
		size_t x = i / inner % axes[0].count, outer = i / inner / axes[0].count;
		new->points[x * stride + outer * inner + i % inner] = sweep->points[i];
	}
	return new;
}

enum { BARS_MOST = 40 };

struct drawing *sweep_chart(struct arena *arena, struct chart_text text, const struct sweep *given,
			    const struct target *target)
{
	const struct sweep *sweep = numbers_first(arena, given);
	unsigned kinds = prediction_kinds(given->points, given->point_count);
	if (!sweep && kinds != PREDICTION_SERVING && given->point_count <= BARS_MOST)
		return draw_bars(arena, text, given);
	sweep = sweep ? sweep : given;
	const struct sweep_axis *x = &sweep->axes[0];
	const struct shown shown = shown_of(arena, sweep, target);
	struct side sides[2];
	if (find_sides(arena, sweep, sides))
		return draw_maps(arena, text, sweep, sides, &shown);
	if (target)
		return draw_curves(arena, text, sweep, &shown);
	if (kinds == PREDICTION_TRAINING && strcmp(x->key, "case.gpus") == 0)
		return draw_lines(arena, text, sweep, false);
	if (kinds == PREDICTION_COLLECTIVE && strcmp(x->key, "case.collective_size") == 0)
		return draw_lines(arena, text, sweep, true);
	if (kinds == PREDICTION_SERVING)
		return draw_latency(arena, text, sweep);
	return draw_curves(arena, text, sweep, &shown);
}

const struct scenario *sweep_base(struct arena *arena, const struct sweep_request *request)
{
	struct setting firsts[AXES_MAX];
	const struct case_request *given = &request->input.request;
	const struct scenario *scenario = case_read(arena, diag_new(arena), given);
	if (scenario)
		return scenario;
	for (size_t a = 0; a < request->axis_count; a++)
		firsts[a] = (struct setting){request->axes[a].texts[0], {"report", 0}};
	const struct case_request with = request_with(arena, given, firsts, request->axis_count);
	return case_read(arena, diag_new(arena), &with);
}

/* ---- scaling ---- */

struct drawing *scaling_chart(struct arena *arena, struct chart_text text,
			      const struct scaling *scaling)
{
	const char *collective = scaling->predictions[0]->collective;
	const struct prediction_line line = {.label = collective ? collective : scaling->name,
					     .predictions = scaling->predictions,
					     .count = scaling->count};
	return chart_lines(arena, text, &line, 1);
}

struct drawing *scaling_parts_chart(struct arena *arena, struct chart_text text,
				    const struct scaling *scaling)
{
	if (prediction_kinds(scaling->predictions, scaling->count) != PREDICTION_TRAINING)
		return NULL;
	struct prediction *named = ARENA_ARRAY(arena, scaling->count, struct prediction);
	const struct prediction **list =
		ARENA_ARRAY(arena, scaling->count, const struct prediction *);
	for (size_t i = 0; i < scaling->count; i++) {
		named[i] = *scaling->predictions[i];
		named[i].name = arena_printf(arena, "%zu %s", named[i].gpu_count,
					     named[i].gpu_count == 1 ? "GPU" : "GPUs");
		list[i] = &named[i];
	}
	return chart_breakdown(arena, text, list, scaling->count);
}
