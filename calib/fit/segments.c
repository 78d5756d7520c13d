/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/segments.h"

/* Huber (1964): 95 % of the efficiency of least squares for normal errors. */
static const double HUBER = 1.345, MAD_TO_SIGMA = 1.4826;
/* The error of a held-out point next to a boundary shows that there is a boundary, but not its
 * size, so it is limited. */
static const double LEFT_OUT_MOST = 0.25;
/* Another segment must improve held-out points by at least this. */
static const double WORTH_RATIO = 1e-3, NOTHING = 1e-9;
enum { ROUNDS = 12 };

double line_at(const struct fitted_line *line, double x)
{
	return line->start + line->slope * x;
}

/* ---- one line ---- */

/* Sums of w, w x, w x^2, w y, w x y, w y^2, with w = weight / y^2. */
struct sums {
	double w, x, xx, y, xy, yy;
};

static void add(struct sums *sums, const struct xy *point, double weight)
{
	double w = weight / (point->y * point->y);
	sums->w += w;
	sums->x += w * point->x;
	sums->xx += w * point->x * point->x;
	sums->y += w * point->y;
	sums->xy += w * point->x * point->y;
	sums->yy += weight;
}

static double squares(const struct sums *s, const struct fitted_line *line)
{
	double a = line->start, b = line->slope;
	return fmax(0, s->yy + a * a * s->w + b * b * s->xx - 2 * a * s->y - 2 * b * s->xy +
			       2 * a * b * s->x);
}

/* Returns the minimum with neither part negative: inside the region, or on the better of its two
 * edges. */
static struct fitted_line solve(const struct sums *s)
{
	struct fitted_line flat = {s->y / s->w, 0};
	struct fitted_line steep = {0, s->xx > 0 ? s->xy / s->xx : 0};
	double determinant = s->w * s->xx - s->x * s->x;
	if (determinant > 1e-12 * s->w * s->xx) {
		struct fitted_line line = {(s->y * s->xx - s->x * s->xy) / determinant,
					   (s->w * s->xy - s->x * s->y) / determinant};
		if (line.start >= 0 && line.slope >= 0)
			return line;
	} else {
		return flat;
	}
	return squares(s, &flat) <= squares(s, &steep) ? flat : steep;
}

struct fitted_line line_fit(const struct xy *points, size_t count)
{
	struct sums sums = {0};
	for (size_t i = 0; i < count; i++)
		add(&sums, &points[i], 1);
	return solve(&sums);
}

static double scale_of(const struct xy *points, size_t count, const struct fitted_line *line)
{
	double errors[SEGMENTS_POINTS_MAX];
	for (size_t i = 0; i < count; i++)
		errors[i] = fabs(line_at(line, points[i].x) / points[i].y - 1);
	return MAD_TO_SIGMA * num_quantile(errors, count, 0.5);
}

struct fitted_line line_robust(const struct xy *points, size_t count)
{
	struct fitted_line line = line_fit(points, count);
	FW_ASSERT(count <= SEGMENTS_POINTS_MAX);
	for (int round = 0; round < ROUNDS; round++) {
		struct sums sums = {0};
		double limit = HUBER * scale_of(points, count, &line);
		for (size_t i = 0; i < count; i++) {
			double error = fabs(line_at(&line, points[i].x) / points[i].y - 1);
			add(&sums, &points[i], error > limit && limit > 0 ? limit / error : 1);
		}
		struct fitted_line next = solve(&sums);
		bool settled = fabs(next.start - line.start) <= NOTHING * line.start &&
			       fabs(next.slope - line.slope) <= NOTHING * line.slope;
		line = next;
		if (settled)
			break;
	}
	return line;
}

/* ---- boundaries ---- */

/* Fills cost[i * count + j] with the cost of one line through the points i .. j. */
static void costs(const struct xy *points, size_t count, double *cost)
{
	for (size_t i = 0; i < count; i++) {
		struct sums sums = {0};
		for (size_t j = i; j < count; j++) {
			add(&sums, &points[j], 1);
			struct fitted_line line = solve(&sums);
			bool too_few = j - i + 1 < SEGMENT_POINTS_MIN && j - i + 1 < count;
			cost[i * count + j] = too_few ? INFINITY : squares(&sums, &line);
		}
	}
}

struct cutting {
	double *cost, *best; /* best[k * count + j]: cost of the points 0 .. j in k + 1 segments */
	size_t *from;        /* first point of the last of these segments */
};

static struct cutting cutting_new(struct arena *arena, size_t count)
{
	return (struct cutting){ARENA_ARRAY(arena, count * count, double),
				ARENA_ARRAY(arena, SEGMENTS_MAX * count, double),
				ARENA_ARRAY(arena, SEGMENTS_MAX * count, size_t)};
}

static void cut(struct cutting *c, const struct xy *points, size_t count, size_t most)
{
	costs(points, count, c->cost);
	for (size_t j = 0; j < count; j++) {
		c->best[j] = c->cost[j];
		c->from[j] = 0;
	}
	for (size_t k = 1; k < most; k++)
		for (size_t j = 0; j < count; j++) {
			double least = INFINITY;
			size_t from = 0;
			for (size_t i = 1; i <= j; i++) {
				double sum =
					c->best[(k - 1) * count + i - 1] + c->cost[i * count + j];
				if (sum < least) {
					least = sum;
					from = i;
				}
			}
			c->best[k * count + j] = least;
			c->from[k * count + j] = from;
		}
}

/* Reads the division into `wanted` segments; returns false if there are too few points. */
static bool cut_read(const struct cutting *c, const struct xy *points, size_t count, size_t wanted,
		     struct segments *segments)
{
	size_t end = count;
	if (!isfinite(c->best[(wanted - 1) * count + count - 1]))
		return false;
	segments->count = wanted;
	for (size_t k = wanted; k-- > 0;) {
		size_t from = c->from[k * count + end - 1];
		segments->from[k] = points[from].x;
		segments->lines[k] = line_fit(points + from, end - from);
		end = from;
	}
	return true;
}

static size_t segment_of(const struct segments *segments, double x)
{
	size_t k = 0;
	while (k + 1 < segments->count && x >= segments->from[k + 1])
		k++;
	return k;
}

double segments_at(const struct segments *segments, double x)
{
	return line_at(&segments->lines[segment_of(segments, x)], x);
}

/* ---- number of segments ---- */

/* Computes the mean absolute error of the points of each fold when it was held out. */
static void leave_out(struct arena *arena, const struct xy *points, size_t count, size_t most,
		      double errors[SEGMENTS_MAX][SEGMENTS_FOLDS])
{
	struct xy *kept = ARENA_ARRAY(arena, count, struct xy);
	struct cutting cutting = cutting_new(arena, count);
	for (size_t fold = 0; fold < SEGMENTS_FOLDS; fold++) {
		size_t kept_count = 0;
		for (size_t i = 0; i < count; i++)
			if (i % SEGMENTS_FOLDS != fold)
				kept[kept_count++] = points[i];
		cut(&cutting, kept, kept_count, most);
		for (size_t k = 0; k < most; k++) {
			struct segments segments = {0};
			double sum = 0;
			size_t out = 0;
			errors[k][fold] = NAN;
			if (!cut_read(&cutting, kept, kept_count, k + 1, &segments))
				continue;
			for (size_t i = fold; i < count; i += SEGMENTS_FOLDS, out++)
				sum += fmin(
					fabs(segments_at(&segments, points[i].x) / points[i].y - 1),
					LEFT_OUT_MOST);
			errors[k][fold] = out ? sum / (double)out : NAN;
		}
	}
}

static size_t choose(struct arena *arena, const struct xy *points, size_t count, size_t most,
		     struct segments *segments)
{
	double errors[SEGMENTS_MAX][SEGMENTS_FOLDS];
	size_t best = 0;
	leave_out(arena, points, count, most, errors);
	for (size_t k = 0; k < SEGMENTS_MAX; k++) {
		double sum = 0, square = 0, n = SEGMENTS_FOLDS;
		segments->left_out_ratio[k] = segments->left_out_error_ratio[k] = NAN;
		if (k >= most)
			continue;
		for (size_t fold = 0; fold < SEGMENTS_FOLDS; fold++) {
			sum += errors[k][fold];
			square += errors[k][fold] * errors[k][fold];
		}
		double variance = fmax(0, square - sum * sum / n) / (n - 1);
		segments->left_out_ratio[k] = sum / n;
		segments->left_out_error_ratio[k] = sqrt(variance / n);
		if (segments->left_out_ratio[k] < segments->left_out_ratio[best])
			best = k;
	}
	for (size_t k = 0; k < best; k++)
		if (segments->left_out_ratio[k] <= segments->left_out_ratio[best] +
							   segments->left_out_error_ratio[best] +
							   WORTH_RATIO)
			return k + 1;
	return best + 1;
}

/* ---- the whole fit ---- */

void segments_refit(const struct xy *points, size_t count, struct segments *segments)
{
	double sum = 0;
	for (size_t k = 0, from = 0; k < segments->count; k++) {
		size_t end = from;
		while (end < count && segment_of(segments, points[end].x) == k)
			end++;
		if (end > from)
			segments->lines[k] = line_robust(points + from, end - from);
		from = end;
	}
	for (size_t i = 0; i < count; i++)
		sum += pow(segments_at(segments, points[i].x) / points[i].y - 1, 2);
	segments->rms_ratio = sqrt(sum / (double)count);
}

bool segments_fit(const struct xy *points, size_t count, size_t most, struct segments *segments)
{
	*segments = (struct segments){0};
	FW_ASSERT(count <= SEGMENTS_POINTS_MAX && most >= 1 && most <= SEGMENTS_MAX);
	if (count < LINE_POINTS_MIN || !(points[count - 1].x > points[0].x))
		return false;
	struct arena *scratch = arena_new();
	size_t wanted =
		count >= 2 * SEGMENTS_FOLDS ? choose(scratch, points, count, most, segments) : 1;
	struct cutting cutting = cutting_new(scratch, count);
	cut(&cutting, points, count, wanted);
	cut_read(&cutting, points, count, wanted, segments);
	segments_refit(points, count, segments);
	arena_free(scratch);
	return true;
}

size_t change_point(const struct xy *points, size_t count, double ratio)
{
	double before[SEGMENTS_POINTS_MAX];
	FW_ASSERT(count <= SEGMENTS_POINTS_MAX);
	for (size_t i = 1; i < count; i++) {
		for (size_t k = 0; k < i; k++)
			before[k] = points[k].y;
		double limit = ratio * num_quantile(before, i, 0.5);
		size_t above = i;
		while (above < count && points[above].y > limit)
			above++;
		if (above == count)
			return i;
	}
	return count;
}
