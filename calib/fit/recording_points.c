/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "calib/fit/recording_parts.h"
#include "calib/sample/stats.h"

static const double MAD_TO_SIGMA = 1.4826, OUTLIER_SIGMAS = 10;
/* The cost of reading the clock is subtracted, so small samples can be slightly negative. */
static const double LOOK_S = -1e-7;

static size_t bucket_of(const struct recording_point *point)
{
	unsigned long long hash = 0xcbf29ce484222325u;
	const char *texts[1 + 2 * RECORDING_WORDS];
	size_t count = 0;
	texts[count++] = point->test;
	for (size_t i = 0; i < point->word_count; i++)
		texts[count++] = point->is[i].value;
	for (size_t i = 0; i < count; i++)
		for (const char *c = texts[i]; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
	for (size_t i = 0; i < point->number_count; i++)
		hash = (hash ^ (unsigned long long)(fmin(point->x[i].value, 1e15) * 4096)) *
		       0x100000001b3u;
	return (size_t)(hash >> 20) % RECORDING_BUCKETS;
}

static bool same_point(const struct recording_point *a, const struct recording_point *b)
{
	if (strcmp(a->test, b->test) != 0 || a->word_count != b->word_count ||
	    a->number_count != b->number_count)
		return false;
	for (size_t i = 0; i < a->word_count; i++)
		if (strcmp(a->is[i].key, b->is[i].key) != 0 ||
		    strcmp(a->is[i].value, b->is[i].value) != 0)
			return false;
	for (size_t i = 0; i < a->number_count; i++)
		if (strcmp(a->x[i].key, b->x[i].key) != 0 || a->x[i].value < b->x[i].value ||
		    a->x[i].value > b->x[i].value)
			return false;
	return true;
}

static struct recording_point *find_or_add(struct reading *r, const struct recording_point *like)
{
	struct recording *to = r->recording;
	size_t *bucket = &r->buckets[bucket_of(like)];
	for (size_t i = *bucket; i > 0; i = to->points.items[i - 1].next)
		if (same_point(&to->points.items[i - 1], like))
			return &to->points.items[i - 1];
	if (to->points.count == RECORDING_POINTS_MAX) {
		reading_fail(r,
			     "the recording has more than %d points (divide it into several files)",
			     RECORDING_POINTS_MAX);
		return NULL;
	}
	struct recording_point *point = VEC_PUSH(r->arena, &to->points);
	*point = *like;
	point->line = r->line;
	point->next = *bucket;
	*bucket = to->points.count;
	return point;
}

/* Summarises r->samples, which then contain the distances from their median. */
static void summarise(struct reading *r, struct recording_point *point, struct recording_pass *pass)
{
	size_t n = r->sample_count;
	stats_sort(r->samples, n);
	struct stats_interval interval = stats_median_interval(r->samples, n);
	pass->sample_count = n;
	pass->median = stats_median_sorted(r->samples, n);
	pass->low = interval.low;
	pass->high = interval.high;
	double limit = OUTLIER_SIGMAS * MAD_TO_SIGMA * stats_mad(r->samples, n, pass->median);
	for (size_t i = 0; i < n; i++)
		point->outlier_count += limit > 0 && r->samples[i] > limit;
	point->sample_count += n;
}

/* Tests that subtract two clocks or two times, where noise can give negative values. */
static bool is_difference(const char *test)
{
	return strcmp(test, "timer") == 0 || strcmp(test, "kernel") == 0 ||
	       strcmp(test, "sync") == 0;
}

/* Converts rates to times of the point's size, so that all fits use times. */
static bool to_times(struct reading *r, const struct line_fields *fields)
{
	const struct recording_point *point = &fields->point;
	double size_B = recording_point_number(point, "size_B", 0);
	bool rate = fields->unit && strcmp(fields->unit, "B/s") == 0;
	if (!fields->unit ||
	    (!rate && strcmp(fields->unit, "s") != 0 && strcmp(fields->unit, "1") != 0))
		return reading_fail(r, "unit must be \"s\", \"1\" or \"B/s\"");
	if (rate && !(size_B > 0))
		return reading_fail(r,
				    "a point with the unit B/s needs a size above 0 (write \"x\": "
				    "{\"size_B\": 1024})");
	bool any_sign = is_difference(point->test);
	for (size_t i = 0; i < r->sample_count; i++) {
		if (r->samples[i] < LOOK_S && !any_sign)
			return reading_fail(r, "sample %zu of '%s' must not be negative (got %g)",
					    i + 1, point->test, r->samples[i]);
		if (rate && !(r->samples[i] > 0))
			return reading_fail(r, "sample %zu of '%s' must be above 0 B/s", i + 1,
					    point->test);
		if (rate)
			r->samples[i] = size_B / r->samples[i];
		double size = fabs(r->samples[i]);
		if (size > RECORDING_TIME_MAX_S || (size > 0 && size < RECORDING_TIME_MIN_S))
			return reading_fail(
				r,
				"sample %zu of '%s' gives %g %s, which is impossible (record "
				"again)",
				i + 1, point->test, r->samples[i], rate ? "s" : fields->unit);
	}
	return true;
}

void reading_take_point(struct reading *r, const struct line_fields *fields)
{
	struct recording *to = r->recording;
	if (!fields->pass_seen || !fields->samples_seen) {
		reading_fail(r, "the point needs the key %s",
			     fields->samples_seen ? "\"pass\"" : "\"samples\"");
		return;
	}
	if (fields->pass < 0 || fields->pass >= RECORDING_PASSES_MAX ||
	    fields->pass > floor(fields->pass)) {
		reading_fail(r, "pass must be a whole number from 0 to %d",
			     RECORDING_PASSES_MAX - 1);
		return;
	}
	if (r->sample_count == 0 || !to_times(r, fields))
		return; /* no sample was taken in time: treat the point as not tried */
	struct recording_point *point = find_or_add(r, &fields->point);
	if (!point)
		return;
	size_t pass = (size_t)fields->pass;
	for (size_t i = 0; i < point->passes.count; i++)
		if (point->passes.items[i].pass == pass) {
			reading_fail(r,
				     "line %d already has this point and pass of '%s' (remove one "
				     "of the two lines)",
				     point->line, point->test);
			return;
		}
	struct recording_pass *summary = VEC_PUSH(r->arena, &point->passes);
	summary->pass = pass;
	summarise(r, point, summary);
	/* drift anchors do not count as passes, because they are measured at any time */
	if (strcmp(point->test, "drift") != 0 && pass + 1 > to->pass_count)
		to->pass_count = pass + 1;
}
