/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the parts of a calibration. */
#include "calib/fit/calibrating.h"

/* ---- points ---- */

size_t calibrating_find(struct calibrating *c, const char *test, const char *words,
			const struct recording_number *numbers, size_t number_count,
			const struct recording_point *const **found)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, test, words, &points), n = 0;
	const struct recording_point **same =
		ARENA_ARRAY(c->arena, count + 1, const struct recording_point *);
	for (size_t i = 0; i < count; i++) {
		bool all = true;
		for (size_t k = 0; k < number_count; k++) {
			double value =
				recording_point_number(points[i], numbers[k].key, numbers[k].value);
			all &= value >= numbers[k].value && value <= numbers[k].value;
		}
		if (all)
			same[n++] = points[i];
	}
	*found = same;
	return n;
}

/* ---- values by pass ---- */

static int by_value(const void *a, const void *b)
{
	const struct pass_entry *left = a, *right = b;
	return ORDER_THEN(left->value, right->value, ORDER(left->pass, right->pass));
}

struct pass_values pass_values_of(struct arena *arena, const struct recording_point *const *points,
				  size_t count, size_t pass_count)
{
	const struct pass_entry **entries =
		ARENA_ARRAY(arena, count + 1, const struct pass_entry *);
	size_t *counts = ARENA_ARRAY(arena, count + 1, size_t);
	double *means = ARENA_ARRAY(arena, count + 1, double);
	for (size_t i = 0; i < count; i++) {
		counts[i] = points[i]->passes.count;
		struct pass_entry *own = ARENA_ARRAY(arena, counts[i] + 1, struct pass_entry);
		for (size_t k = 0; k < counts[i]; k++)
			own[k] = (struct pass_entry){points[i]->passes.items[k].median,
						     points[i]->passes.items[k].pass};
		qsort(own, counts[i], sizeof *own, by_value);
		entries[i] = own;
		means[i] = points[i]->value;
	}
	return (struct pass_values){count, pass_count, entries, counts, means};
}

static double pass_value(const struct pass_values *values, size_t point,
			 const struct pass_draw *draw)
{
	double drawn[RECORDING_PASSES_MAX];
	size_t count = 0;
	for (size_t k = 0; k < values->counts[point]; k++) {
		const struct pass_entry *entry = &values->entries[point][k];
		for (size_t i = 0; i < draw->times[entry->pass] && count < RECORDING_PASSES_MAX;
		     i++)
			drawn[count++] = entry->value;
	}
	return count > 0 ? passes_mean(drawn, count) : NAN;
}

bool pass_values_draw(const struct pass_values *values, const struct pass_draw *draw, double *out)
{
	size_t missing = 0;
	for (size_t i = 0; i < values->point_count; i++) {
		out[i] = pass_value(values, i, draw);
		if (isnan(out[i])) {
			out[i] = values->means[i];
			missing++;
		}
	}
	return 2 * missing <= values->point_count;
}

static bool estimate_mean(const struct pass_draw *draw, double *out, void *ctx)
{
	const struct pass_values *values = ctx;
	double sum = 0;
	for (size_t i = 0; i < values->point_count; i++)
		sum += pass_value(values, i, draw);
	*out = sum / (double)values->point_count;
	return !isnan(sum);
}

struct interval_spec calibrating_spec(const struct calibrating *c, const char *name)
{
	return (struct interval_spec){.pass_count = c->recording->pass_count,
				      .confidence = c->confidence,
				      .seed = c->seed,
				      .name = name};
}

/* Computes an interval from one pass, by the order of its samples. */
static void interval_of_samples(const struct recording_point *const *points, size_t count,
				struct estimate *value)
{
	double low = 0, high = 0;
	for (size_t i = 0; i < count; i++) {
		low += points[i]->passes.items[0].low;
		high += points[i]->passes.items[0].high;
		if (points[i]->passes.items[0].sample_count < 6)
			return;
	}
	value->low = low / (double)count;
	value->high = high / (double)count;
}

bool calibrating_value(struct calibrating *c, const char *test, const char *words,
		       struct estimate *value)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, test, words, &points);
	if (count == 0)
		return false;
	struct pass_values values =
		pass_values_of(c->arena, points, count, c->recording->pass_count);
	struct interval_spec spec = calibrating_spec(c, calibrating_label(c, test, words));
	spec.estimate = estimate_mean;
	spec.ctx = &values;
	spec.output_count = 1;
	interval_of_passes(&spec, value);
	if (isnan(value->low))
		interval_of_samples(points, count, value);
	return true;
}

struct estimate calibrating_point(const struct recording_point *point)
{
	struct estimate all = {point->value, INFINITY, 0};
	for (size_t k = 0; k < point->passes.count; k++) {
		all.low = fmin(all.low, point->passes.items[k].low);
		all.high = fmax(all.high, point->passes.items[k].high);
	}
	return all;
}

/* ---- series ---- */

struct series_estimate {
	struct pass_values values;
	struct xy *xy; /* points of the fit; every bootstrap draw replaces y and keeps x */
	double *drawn;
	struct segments segments;
};

static bool estimate_lines(const struct pass_draw *draw, double *out, void *ctx)
{
	struct series_estimate *e = ctx;
	if (!pass_values_draw(&e->values, draw, e->drawn))
		return false;
	for (size_t i = 0; i < e->values.point_count; i++)
		e->xy[i].y = e->drawn[i];
	struct segments segments = e->segments;
	segments_refit(e->xy, e->values.point_count, &segments);
	for (size_t k = 0; k < segments.count; k++) {
		out[2 * k] = segments.lines[k].start;
		out[2 * k + 1] = segments.lines[k].slope;
	}
	return true;
}

/* Computes intervals from one pass: the errors of the points around the line replace the
 * variation of passes. */
static void intervals_of_residuals(const struct calibrating *c, const struct series_estimate *e,
				   struct calibration_series *series)
{
	for (size_t k = 0; k < e->segments.count; k++) {
		double w = 0, x = 0, xx = 0, squares = 0, n = 0;
		for (size_t i = 0; i < e->values.point_count; i++) {
			const struct xy *at = &e->xy[i];
			if (at->x < e->segments.from[k] ||
			    (k + 1 < e->segments.count && at->x >= e->segments.from[k + 1]))
				continue;
			double weight = 1 / (at->y * at->y);
			w += weight;
			x += weight * at->x;
			xx += weight * at->x * at->x;
			squares += pow(line_at(&e->segments.lines[k], at->x) / at->y - 1, 2);
			n++;
		}
		double determinant = w * xx - x * x;
		if (n < 3 || !(determinant > 0))
			continue;
		double t = num_student_quantile(0.5 + c->confidence / 2, n - 2) *
			   sqrt(squares / (n - 2) / determinant);
		double start = t * sqrt(xx), slope = t * sqrt(w);
		series->start_s[k].low = series->start_s[k].value - start;
		series->start_s[k].high = series->start_s[k].value + start;
		series->slope[k].low = series->slope[k].value - slope;
		series->slope[k].high = series->slope[k].value + slope;
	}
}

static int by_x(const void *a, const void *b)
{
	const struct calibration_point *left = a, *right = b;
	return ORDER(left->x, right->x);
}

/* Largest root mean square of the residuals, in limits of the median error. */
static const double RESIDUAL_LIMITS = 4;
/* Largest median error of a rough line or of rough kernels, in limits. Defaults of hosts are often
 * off by more. */
static const double ROUGH_LIMITS = 4;
/* Points of a line, each of which is left out in turn. */
enum { LEFT_OUT_LEAST = 5 };

/* Errors of one segment. */
struct piece_errors {
	double held_out[SEGMENTS_POINTS_MAX], left_out[SEGMENTS_POINTS_MAX], squares;
	struct xy fitted[SEGMENTS_POINTS_MAX];
	size_t held_out_count, fitted_count;
};

static double median_of(double *values, size_t count)
{
	return count > 0 ? num_quantile(values, count, 0.5) : 0;
}

/* Fills the bounds of the segments. Matrix products have a small and a large half. */
static size_t divide(const struct calibration_series *series, double bounds[SEGMENTS_MAX + 1])
{
	double x[SEGMENTS_POINTS_MAX];
	size_t count = series->segments.count, n = 0;
	for (size_t k = 1; k < count; k++)
		bounds[k] = series->segments.from[k];
	if (count == 0) {
		for (; n < series->count && n < SEGMENTS_POINTS_MAX; n++)
			x[n] = series->points[n].x;
		bounds[1] = median_of(x, n);
		count = 2;
	}
	bounds[0] = -INFINITY;
	bounds[count] = INFINITY;
	return count;
}

static void collect_errors(const struct calibration_series *series, double from, double to,
			   struct piece_errors *e)
{
	e->held_out_count = e->fitted_count = 0;
	e->squares = 0;
	for (size_t i = 0; i < series->count; i++) {
		const struct calibration_point *point = &series->points[i];
		double error = fabs(point->predicted / point->y - 1);
		if (!(point->y > 0) || point->x < from || point->x >= to)
			continue;
		if (point->held_out && e->held_out_count < SEGMENTS_POINTS_MAX) {
			e->held_out[e->held_out_count++] = error;
		} else if (!point->held_out && e->fitted_count < SEGMENTS_POINTS_MAX) {
			e->left_out[e->fitted_count] = error;
			e->fitted[e->fitted_count++] = (struct xy){point->x, point->y};
			e->squares += error * error;
		}
	}
}

/* Replaces the errors of a line's fitted points by those of lines without them. */
static void leave_each_out(struct piece_errors *e)
{
	struct xy others[SEGMENTS_POINTS_MAX];
	for (size_t i = 0; i < e->fitted_count; i++) {
		size_t n = 0;
		for (size_t k = 0; k < e->fitted_count; k++)
			if (k != i)
				others[n++] = e->fitted[k];
		struct fitted_line line = line_robust(others, n);
		e->left_out[i] = fabs(line_at(&line, e->fitted[i].x) / e->fitted[i].y - 1);
	}
}

/* Returns the reason why a segment fails its gate, or NULL. Medians may be `rough` times the limit.
 * Sets the larger median. */
static const char *piece_fault(struct calibrating *c, const struct calibration_series *series,
			       const double bounds[2], double rough, double *error_ratio)
{
	struct piece_errors *e = ARENA_NEW(c->arena, struct piece_errors);
	collect_errors(series, bounds[0], bounds[1], e);
	if (series->segments.count > 0 && e->fitted_count >= LEFT_OUT_LEAST)
		leave_each_out(e);
	double n = (double)e->fitted_count, limit = series->limit_ratio;
	double held_out = median_of(e->held_out, e->held_out_count);
	double left_out = median_of(e->left_out, e->fitted_count);
	double rms = n > 0 ? sqrt(e->squares / n) : 0;
	const char *where = "";
	*error_ratio = fmax(held_out, left_out);
	if (isfinite(bounds[0]))
		where = arena_printf(c->arena, " from %s %s up", series->x_name,
				     number_format(c->arena, 6, bounds[0]));
	else if (isfinite(bounds[1]))
		where = arena_printf(c->arena, " below %s %s", series->x_name,
				     number_format(c->arena, 6, bounds[1]));
	if (held_out > rough * limit)
		return arena_printf(c->arena,
				    "held-out points%s have an error of %.1f %% (median of %zu; "
				    "limit %.0f %%)",
				    where, 100 * held_out, e->held_out_count, 100 * limit);
	if (left_out > rough * limit)
		return arena_printf(c->arena,
				    "points%s have an error of %.1f %% when the fit leaves them "
				    "out (median of %zu; limit %.0f %%)",
				    where, 100 * left_out, e->fitted_count, 100 * limit);
	/* libraries choose bad kernels for some shapes, so medians judge kernels */
	if (series->segments.count > 0 && rms > RESIDUAL_LIMITS * limit)
		return arena_printf(c->arena,
				    "fitted points%s deviate by %.1f %% (root mean square of "
				    "%zu; limit %.0f %%)",
				    where, 100 * rms, e->fitted_count,
				    100 * RESIDUAL_LIMITS * limit);
	return NULL;
}

void calibrating_widen(struct estimate *interval, double ratio)
{
	interval->low = fmin(interval->low, interval->value * (1 - ratio));
	interval->high = fmax(interval->high, interval->value * (1 + ratio));
}

void calibrating_gate(struct calibrating *c, struct calibration_series *series)
{
	double errors[SEGMENTS_POINTS_MAX];
	double bounds[SEGMENTS_MAX + 1];
	size_t count = 0, pieces = divide(series, bounds);
	for (size_t i = 0; i < series->count && count < SEGMENTS_POINTS_MAX; i++)
		if (series->points[i].held_out)
			errors[count++] =
				fabs(series->points[i].predicted / series->points[i].y - 1);
	series->held_out_count = count;
	series->rough_ratio = 0;
	series->held_out_ratio = count > 0 ? median_of(errors, count) : NAN;
	series->holds = true;
	for (size_t k = 0; k < pieces; k++) {
		double error_ratio;
		const char *fault = piece_fault(c, series, &bounds[k], 1, &error_ratio);
		const char *rough = fault;
		if (fault)
			fault = piece_fault(c, series, &bounds[k], ROUGH_LIMITS, &error_ratio);
		series->piece_holds[k] = !fault;
		if (rough && !fault) {
			calibrating_widen(&series->start_s[k], error_ratio);
			calibrating_widen(&series->slope[k], error_ratio);
			series->rough_ratio = fmax(series->rough_ratio, error_ratio);
			*VEC_PUSH(c->arena, &c->result->remarks) = arena_printf(
				c->arena, "rough: %s: %s, so its intervals are at least as wide",
				series->label, rough);
		}
		if (!fault)
			continue;
		series->holds = false;
		c->result->gate_failed = true;
		calibrating_left_out(c, series->label, "%s", fault);
		c->result->left_out.items[c->result->left_out.count - 1].gate = true;
	}
}

bool calibrating_first_holds(const struct calibration_series *series)
{
	return series && series->piece_holds[0];
}

bool calibrating_last_holds(const struct calibration_series *series)
{
	return series && series->piece_holds[series->segments.count - 1];
}

static void fit_series(struct calibrating *c, const struct recording_point *const *fitted,
		       size_t count, struct series_estimate *e, struct calibration_series *series)
{
	struct estimate intervals[2 * SEGMENTS_MAX];
	e->values = pass_values_of(c->arena, fitted, count, c->recording->pass_count);
	e->drawn = ARENA_ARRAY(c->arena, count, double);
	struct interval_spec spec = calibrating_spec(c, series->label);
	spec.estimate = estimate_lines;
	spec.ctx = e;
	spec.output_count = 2 * e->segments.count;
	interval_of_passes(&spec, intervals);
	for (size_t i = 0; i < count; i++)
		e->xy[i].y = fitted[i]->value;
	for (size_t k = 0; k < e->segments.count; k++) {
		series->start_s[k] = intervals[2 * k];
		series->slope[k] = intervals[2 * k + 1];
	}
	if (c->recording->pass_count == 1)
		intervals_of_residuals(c, e, series);
	for (size_t k = 0; k < e->segments.count; k++) {
		struct estimate *parts[] = {&series->start_s[k], &series->slope[k]};
		for (size_t i = 0; i < 2; i++) /* the fit keeps start and slope >= 0, too */
			parts[i]->low = parts[i]->low < 0 ? 0 : parts[i]->low;
	}
}

/* Collects the fitted points in ascending x by insertion (there are a few dozen); returns their
 * number. */
static size_t sort_points(const struct recording_point *const *points, size_t count,
			  const char *x_name, const struct recording_point **fitted)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		if (points[i]->held_out || !(points[i]->value > 0) || n == SEGMENTS_POINTS_MAX)
			continue;
		size_t k = n++;
		double x = recording_point_number(points[i], x_name, 0);
		for (; k > 0 && recording_point_number(fitted[k - 1], x_name, 0) > x; k--)
			fitted[k] = fitted[k - 1];
		fitted[k] = points[i];
	}
	return n;
}

static void fill_points(struct calibrating *c, const struct recording_point *const *points,
			size_t count, struct calibration_series *series)
{
	struct calibration_point *to = ARENA_ARRAY(c->arena, count, struct calibration_point);
	for (size_t i = 0; i < count; i++) {
		double x = recording_point_number(points[i], series->x_name, 0);
		struct estimate value = calibrating_point(points[i]);
		to[i] = (struct calibration_point){.x = x,
						   .y = value.value,
						   .low = value.low,
						   .high = value.high,
						   .predicted = segments_at(&series->segments, x),
						   .held_out = points[i]->held_out};
	}
	qsort(to, count, sizeof *to, by_x);
	series->points = to;
	series->count = count;
}

/* Describes a point that gives no line. */
static const char *lone_rate(struct calibrating *c, const struct xy *point, const char *x_name)
{
	return strcmp(x_name, "size_B") == 0 && point->y > 0
		       ? arena_printf(c->arena, ": %.4g GB/s at %.0f B", 1e-9 * point->x / point->y,
				      point->x)
		       : "";
}

const struct calibration_series *calibrating_series_of(struct calibrating *c,
						       const struct recording_point *const *points,
						       size_t count, const char *label,
						       const char *x_name, size_t most,
						       double limit_ratio)
{
	const struct recording_point **fitted =
		ARENA_ARRAY(c->arena, count + 1, const struct recording_point *);
	struct series_estimate e = {0};
	size_t n = sort_points(points, count, x_name, fitted);
	e.xy = ARENA_ARRAY(c->arena, n + 1, struct xy);
	for (size_t i = 0; i < n; i++)
		e.xy[i] =
			(struct xy){recording_point_number(fitted[i], x_name, 0), fitted[i]->value};
	if (!segments_fit(e.xy, n, most, &e.segments)) {
		if (count > 0)
			calibrating_left_out(c, label,
					     "%zu points of different %s and positive times are "
					     "too few for a line (it needs %d)%s",
					     n, x_name, LINE_POINTS_MIN,
					     n > 0 ? lone_rate(c, &e.xy[n - 1], x_name) : "");
		return NULL;
	}
	struct calibration_series *series = VEC_PUSH(c->arena, &c->result->series);
	*series = (struct calibration_series){.label = label,
					      .x_name = x_name,
					      .geomean_ratio = NAN,
					      .limit_ratio = limit_ratio,
					      .segments = e.segments};
	fit_series(c, fitted, n, &e, series);
	fill_points(c, points, count, series);
	calibrating_gate(c, series);
	return series;
}

const struct calibration_series *calibrating_series(struct calibrating *c, const char *test,
						    const char *words, const char *x_name,
						    size_t most, double limit_ratio)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, test, words, &points);
	return calibrating_series_of(c, points, count, calibrating_label(c, test, words), x_name,
				     most, limit_ratio);
}

/* ---- results ---- */

/* Returns the test and the words without their keys: "copy h2d pinned". */
const char *calibrating_label(struct calibrating *c, const char *test, const char *words)
{
	const char *label = test;
	while (*(words += strspn(words, " "))) {
		size_t length = strcspn(words, " ");
		const char *value = memchr(words, '=', length);
		value = value ? value + 1 : words;
		label = arena_printf(c->arena, "%s %.*s", label, (int)(words + length - value),
				     value);
		words += length;
	}
	return label;
}

void calibrating_found(struct calibrating *c, const char *path, enum quantity quantity,
		       struct estimate value, const char *format, ...)
{
	if (strncmp(path, "gpu.*.", 6) == 0)
		path = arena_printf(c->arena, "gpu.%s.%s", c->result->gpu, path + 6);
	if (!(value.value > 0) || !isfinite(value.value)) {
		calibrating_left_out(c, path, "the result is %.3g", value.value);
		return;
	}
	if (!isfinite(value.low) || !isfinite(value.high))
		value.low = value.high = NAN;
	value.low = isnan(value.low) ? NAN : fmax(value.low, 0);
	if (quantity == QUANTITY_RATIO && value.value <= 1)
		value.high = isnan(value.high) ? NAN : fmin(value.high, 1);
	va_list args;
	va_start(args, format);
	*VEC_PUSH(c->arena, &c->result->parameters) =
		(struct calibrated){path, quantity, value, arena_vprintf(c->arena, format, args)};
	va_end(args);
}

void calibrating_message(struct calibrating *c, struct estimate way, struct estimate send,
			 double receive_most_s, const char *send_note, const char *note)
{
	const double ratio = CALIBRATING_RECEIVE_S / (CALIBRATING_RECEIVE_S + CALIBRATING_WAKE_S);
	struct estimate rest = interval_less(way, send);
	struct estimate receive = interval_at_most(estimate_scaled(rest, ratio), receive_most_s);
	calibrating_found(c, "guest.*.send", QUANTITY_TIME, send, "%s", send_note);
	calibrating_found(c, "guest.*.receive", QUANTITY_TIME, receive, "%s", note);
	calibrating_found(c, "guest.*.thread_wake", QUANTITY_TIME, interval_less(rest, receive),
			  "%s", note);
}

void calibrating_left_out(struct calibrating *c, const char *what, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	*VEC_PUSH(c->arena, &c->result->left_out) =
		(struct calibration_left_out){what, arena_vprintf(c->arena, format, args), false};
	va_end(args);
}

const char *calibrating_quality(struct calibrating *c, const struct calibration_series *series)
{
	const char *fitted = arena_printf(c->arena, "%s: rms error %.2f %%", series->label,
					  100 * series->segments.rms_ratio);
	if (series->held_out_count && !isnan(series->geomean_ratio))
		fitted = arena_printf(c->arena, "%s, held out %.2f %% in the geometric mean",
				      fitted, 100 * series->geomean_ratio);
	return series->held_out_count
		       ? arena_printf(c->arena, "%s, held out %.2f %% of %zu points", fitted,
				      100 * series->held_out_ratio, series->held_out_count)
		       : fitted;
}
