/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A calibration in sentences, tables and charts. */
#include "sim/report/calibration.h"
#include "sim/collective/schedule.h"
#include "sim/report/part.h"

/* ---- lines ---- */

static const char *with_interval(struct arena *arena, enum quantity quantity, struct estimate value,
				 const char *to)
{
	const char *text = quantity_format(arena, quantity, value.value);
	return isnan(value.low) || isnan(value.high)
		       ? text
		       : arena_printf(arena, "%s (%s %s %s)", text,
				      quantity_format(arena, quantity, value.low), to,
				      quantity_format(arena, quantity, value.high));
}

/* Returns the bytes that a ring carries over each link per byte of the buffer, from the number of
 * ranks in the label; 0 if the series is not a collective. */
static double bus_factor(const char *label)
{
	double ranks = 0;
	const char *comma = strrchr(label, ',');
	if (!comma || !strstr(comma, " ranks") || sscanf(comma, ", %lf", &ranks) != 1 || ranks < 2)
		return 0;
	for (size_t i = 0; i < collective_kind_count(); i++)
		if (strstr(label, collective_kind_at(i)->measured))
			return collective_bus_ratio(collective_kind_at(i)->collective,
						    (size_t)ranks);
	return 1;
}

/* A piece of a line is flat if all its bytes take less than this part of the start time. */
static const double FLAT_RATIO = 2e-3;

static const char *piece_text(struct arena *arena, const struct calibration_series *series,
			      size_t k)
{
	const char *from = quantity_format(arena, QUANTITY_BYTES, series->segments.from[k]);
	const char *start = with_interval(arena, QUANTITY_TIME, series->start_s[k], "..");
	double factor = bus_factor(series->label);
	struct estimate slope = series->slope[k];
	/* the largest size of the piece */
	double last = k + 1 < series->segments.count ? series->segments.from[k + 1]
						     : series->points[series->count - 1].x;
	if (!(slope.value * last > FLAT_RATIO * series->start_s[k].value))
		return arena_printf(arena, "%s from %s up: %s for any size", series->label, from,
				    start);
	double scale = factor > 0 ? factor : 1;
	struct estimate rate = {scale / slope.value, scale / slope.high,
				slope.low > 0 ? scale / slope.low : NAN};
	return arena_printf(arena, "%s from %s up: %s, plus bytes at %s%s", series->label, from,
			    start, with_interval(arena, QUANTITY_RATE, rate, ".."),
			    factor > 0 ? " of bus bandwidth" : "");
}

size_t calibration_sentences(struct arena *arena, const struct calibration *calibration,
			     const char *const **sentences)
{
	VEC(const char *) list = {0};
	for (size_t i = 0; i < calibration->remarks.count; i++)
		*VEC_PUSH(arena, &list) = calibration->remarks.items[i];
	for (size_t i = 0; i < calibration->series.count; i++) {
		const struct calibration_series *series = &calibration->series.items[i];
		const char **slot;
		for (size_t k = 0; k < series->segments.count; k++) {
			if (strcmp(series->x_name, "size_B") != 0)
				continue;
			slot = VEC_PUSH(arena, &list);
			*slot = piece_text(arena, series, k);
		}
		if (series->held_out_count == 0)
			continue;
		slot = VEC_PUSH(arena, &list);
		*slot = arena_printf(
			arena,
			"%s: median error of %.2f %% on %zu held-out points (allowed: %.0f %%)%s",
			series->label, 100 * series->held_out_ratio, series->held_out_count,
			100 * series->limit_ratio, series->holds ? "" : ": gate FAILED");
		if (isnan(series->geomean_ratio))
			continue;
		*slot = arena_printf(arena, "%s; in the geometric mean %.2f %%", *slot,
				     100 * series->geomean_ratio);
		if (!isnan(series->default_ratio))
			*slot = arena_printf(arena, "%s, and %.2f %% with the default constants",
					     *slot, 100 * series->default_ratio);
	}
	*sentences = list.items;
	return list.count;
}

/* An axis over more than this ratio is logarithmic. */
static const double DECADES_MOST = 100;

/* Returns the label of an axis: "size (B)" for "size_B". */
static const char *x_label(struct arena *arena, const char *x_name)
{
	char *words = arena_strdup(arena, x_name);
	bool bytes = ends_in(words, "_B");
	if (bytes)
		words[strlen(words) - 2] = '\0';
	for (char *at = words; *at; at++)
		if (*at == '_')
			*at = ' ';
	return arena_printf(arena, "%s%s", words, bytes ? " (B)" : "");
}

static const char *caption_of(struct arena *arena, const struct calibration *calibration)
{
	const struct recording *recording = calibration->recording;
	return arena_printf(arena,
			    "%s, %s, %s: %zu passes; whiskers: 95 %% intervals of the passes' "
			    "medians; test rows are held out from the fit; recording %.12s",
			    recording->gpu ? recording->gpu : recording->cpu, recording->tool,
			    recording->date, recording->pass_count, recording->hash);
}

/* Draws the fitted line and the measured points. */
static struct drawing *draw_series(struct arena *arena, const struct calibration *calibration,
				   const struct calibration_series *series)
{
	size_t count = series->count;
	struct estimate *y = ARENA_ARRAY(arena, count, struct estimate);
	struct estimate *measured = ARENA_ARRAY(arena, count, struct estimate);
	double *x = ARENA_ARRAY(arena, count, double);
	bool *test = ARENA_ARRAY(arena, count, bool);
	for (size_t i = 0; i < count; i++) {
		const struct calibration_point *p = &series->points[i];
		x[i] = p->x;
		test[i] = p->held_out;
		y[i] = estimate_exact(1e6 * p->predicted);
		measured[i] = (struct estimate){1e6 * p->y, 1e6 * p->low, 1e6 * p->high};
	}
	const struct chart_text text = {series->label, caption_of(arena, calibration)};
	bool log = count > 0 && x[0] > 0 && x[count - 1] > DECADES_MOST * x[0];
	const struct chart_axes axes = {.x_label = x_label(arena, series->x_name),
					.y_label = "time (us)",
					.x_log = log,
					.y_log = true,
					.x_sizes = log && strcmp(series->x_name, "size_B") == 0,
					.intervals_label = "95 % interval of medians"};
	const struct curve curve = {"fit", x, y, count, measured, test};
	return chart_curves(arena, text, axes, &curve, 1);
}

static const char *kernels_title(const struct calibration_series *series)
{
	return strcmp(series->x_name, "flop") == 0 ? "Matrix products, measured and by the law"
						   : "Attention, measured and by the law";
}

/* Draws the kernels of this and the following series of the same sort, products or attention. */
static struct drawing *draw_kernels(struct arena *arena, const struct calibration *calibration,
				    const struct calibration_series *first)
{
	const struct calibration_series *all = calibration->series.items;
	VEC(struct parity_group) groups = {0};
	for (const struct calibration_series *s = first; s < all + calibration->series.count; s++) {
		struct parity_point *points = ARENA_ARRAY(arena, s->count + 1, struct parity_point);
		for (size_t i = 0; i < s->count; i++)
			points[i] = (struct parity_point){
				quantity_format(arena, QUANTITY_COUNT, s->points[i].x),
				1e6 * s->points[i].y, estimate_exact(1e6 * s->points[i].predicted),
				s->points[i].held_out};
		if (s->segments.count == 0 && strcmp(s->x_name, first->x_name) == 0)
			*VEC_PUSH(arena, &groups) =
				(struct parity_group){s->label, points, s->count};
	}
	const struct chart_text text = {kernels_title(first), caption_of(arena, calibration)};
	return chart_parity_groups(arena, text, "us", groups.items, groups.count);
}

/* Returns true if an earlier series has the drawing of this one, because both are kernels of one
 * sort. */
static bool is_drawn(const struct calibration *calibration, size_t index)
{
	const struct calibration_series *all = calibration->series.items;
	for (size_t i = 0; i < index && all[index].segments.count == 0; i++)
		if (all[i].segments.count == 0 && strcmp(all[i].x_name, all[index].x_name) == 0)
			return true;
	return false;
}

size_t calibration_drawings(struct arena *arena, const struct calibration *calibration,
			    const struct calibration_drawing **drawings)
{
	struct calibration_drawing *list =
		ARENA_ARRAY(arena, calibration->series.count + 1, struct calibration_drawing);
	size_t count = 0;
	for (size_t i = 0; i < calibration->series.count; i++) {
		const struct calibration_series *series = &calibration->series.items[i];
		struct calibration_drawing *to = &list[count];
		bool kernels = series->segments.count == 0;
		if (is_drawn(calibration, i))
			continue;
		count++;
		to->drawing = kernels ? draw_kernels(arena, calibration, series)
				      : draw_series(arena, calibration, series);
		to->caption = kernels ? kernels_title(series)
				      : arena_printf(arena, "%s: measurements and the fitted line",
						     series->label);
	}
	*drawings = list;
	return count;
}

const struct result_table *
calibration_points(struct arena *arena, const struct calibration *const *calibrations, size_t count)
{
	struct result_table *table = result_table_new(arena, "fit", NULL);
	result_columns(table, "series:text|x_name:text|x|measured_s:time~|predicted_s:time|"
			      "held_out:text");
	for (size_t c = 0; c < count; c++)
		for (size_t s = 0; s < calibrations[c]->series.count; s++) {
			const struct calibration_series *series = &calibrations[c]->series.items[s];
			for (size_t i = 0; i < series->count; i++) {
				const struct calibration_point *p = &series->points[i];
				result_row(table);
				result_text(table, series->label);
				result_text(table, series->x_name);
				result_number(table, p->x);
				result_estimate(table, (struct estimate){p->y, p->low, p->high});
				result_number(table, p->predicted);
				result_text(table, p->held_out ? "yes" : "no");
			}
		}
	return table;
}

/* ---- the answer ---- */

static const struct calibrated *parameter_of(const struct calibration *calibration,
					     const char *path)
{
	for (size_t i = 0; i < calibration->parameters.count; i++)
		if (strcmp(calibration->parameters.items[i].path, path) == 0)
			return &calibration->parameters.items[i];
	return NULL;
}

const char *calibration_words(struct arena *arena, const struct calibration *calibration)
{
	static const struct {
		const char *path, *words;
	} parameters[] = {{"driver.launch", "launching a kernel takes"},
			  {"driver.sync_wake", "waiting for a kernel adds"},
			  {"guest.*.send", "a small TCP send takes"},
			  {"guest.*.receive", "a small TCP receive takes"},
			  {"host.*.copy_rate", "one core copies memory at"},
			  {"storage.bandwidth", "storage reads at"},
			  {"storage.latency", "a storage request waits for"}};
	static const struct {
		const char *label, *words;
	} copies[] = {{"copy h2d pinned async rate", "pinned copies to the GPU reach"},
		      {"copy d2h pinned async rate", "pinned copies from the GPU reach"},
		      {"copy h2d pageable sync rate", "pageable copies to the GPU reach"}};
	const char *text = "";
	for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
		const struct calibrated *p = parameter_of(calibration, parameters[i].path);
		if (p)
			text = arena_printf(arena, "%s%s%s %s", text, *text ? "; " : "",
					    parameters[i].words,
					    with_interval(arena, p->quantity, p->value, "to"));
	}
	for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
		for (size_t k = 0; k < calibration->series.count; k++) {
			const struct calibration_series *series = &calibration->series.items[k];
			size_t last = series->segments.count - 1;
			if (strcmp(series->label, copies[i].label) != 0 ||
			    !series->piece_holds[last] || !(series->slope[last].value > 0))
				continue;
			text = arena_printf(arena, "%s%s%s %s from %s up", text, *text ? "; " : "",
					    copies[i].words,
					    quantity_format(arena, QUANTITY_RATE,
							    1 / series->slope[last].value),
					    quantity_format(arena, QUANTITY_BYTES,
							    series->segments.from[last]));
		}
	return text;
}

/* ---- the part ---- */

static void add_parameters(struct report *report, const struct calibration *calibration)
{
	struct arena *arena = report->arena;
	struct table *table =
		report_table(report, "parameter|value>|5 % point>|95 % point>|source",
			     "Parameters of the profile, with their 90 %% intervals.");
	for (size_t i = 0; i < calibration->parameters.count; i++) {
		const struct calibrated *p = &calibration->parameters.items[i];
		bool known = !isnan(p->value.low);
		table_cells(table,
			    CELLS(p->path, quantity_format(arena, p->quantity, p->value.value),
				  known ? quantity_format(arena, p->quantity, p->value.low) : "–",
				  known ? quantity_format(arena, p->quantity, p->value.high) : "–",
				  p->note));
	}
}

void report_calibration(struct report *report, const struct calibration *calibration)
{
	const struct recording *recording = calibration->recording;
	const struct calibration_drawing *drawings;
	const char *const *sentences;
	const char *answer = calibration_words(report->arena, calibration);
	const char *drift = recording->gpu /* only recordings of GPUs have anchors */
				    ? arena_printf(report->arena, "; largest drift %.1f %%",
						   100 * recording->drift_most_ratio)
				    : "";
	report_add(report, BLOCK_PART, "%s", recording->gpu ? recording->gpu : recording->cpu);
	const char *unfitted = calibration_unfitted(report->arena, calibration);
	report_answer(report, calibration->gate_failed, "This machine: %s.%s",
		      *answer ? answer : "the tables below have its parameters",
		      *unfitted ? arena_printf(report->arena,
					       " Nothing was fitted of: %s. Predictions use the "
					       "simulator's defaults there.",
					       unfitted)
				: "");
	report_add(
		report, BLOCK_TEXT,
		"%zu samples in %zu passes on %s, %zu of them outliers (kept)%s; recording %.16s.",
		recording->sample_count, recording->pass_count, recording->date,
		recording->outlier_count, drift, recording->hash);
	add_parameters(report, calibration);
	for (size_t i = 0; i < calibration->left_out.count; i++)
		report_add(report, BLOCK_TEXT, "Not fitted: %s: %s.",
			   calibration->left_out.items[i].what, calibration->left_out.items[i].why);
	for (size_t i = 0; i < recording->waived.count; i++)
		report_add(report, BLOCK_TEXT, "Not measured: %s: %s.",
			   recording->waived.items[i].test, recording->waived.items[i].why);
	size_t count = calibration_sentences(report->arena, calibration, &sentences);
	report_add(report, BLOCK_FOLD, "Fitted lines and their gates");
	for (size_t i = 0; i < count; i++)
		report_add(report, BLOCK_TEXT, "%s.", sentences[i]);
	report_add(report, BLOCK_UNFOLD, "%s", "");
	count = calibration_drawings(report->arena, calibration, &drawings);
	for (size_t i = 0; i < count; i++)
		report_figure(report, drawings[i].drawing, "%s.", drawings[i].caption);
}
