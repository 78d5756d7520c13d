/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives over their size: a start time and a time per byte in each regime, because a library
 * changes algorithm and protocol with the size. The bus bandwidth of a regime is defined as in
 * nccl-tests: the bandwidth of a ring over its links. The library's own parameters also depend on
 * the machine's links. farwire fits them to rows of a dataset with a topology
 * (docs/models/fits.md). */
#include <string.h>

#include "calib/fit/calibrating.h"
#include "sim/base/arena.h"

static const double LIMIT = 0.05;

/* Fits the points of one collective, library and number of ranks. */
static void one(struct calibrating *c, const struct recording_point *const *points, size_t count,
		const struct recording_point *like, double ranks)
{
	const struct recording_point **same =
		ARENA_ARRAY(c->arena, count, const struct recording_point *);
	const char *collective = recording_point_word(like, "collective");
	const char *library = recording_point_word(like, "library");
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		const char *other = recording_point_word(points[i], "collective");
		double difference = recording_point_number(points[i], "ranks", 0) - ranks;
		if (other && strcmp(other, collective) == 0 && difference >= 0 && difference <= 0)
			same[n++] = points[i];
	}
	calibrating_series_of(c, same, n,
			      arena_printf(c->arena, "%s %s, %.0f ranks",
					   library ? library : "library", collective, ranks),
			      "size_B", SEGMENTS_MAX, LIMIT);
}

void calibrate_collectives(struct calibrating *c)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, "collective", "", &points);
	for (size_t i = 0; i < count; i++) {
		const char *collective = recording_point_word(points[i], "collective");
		double ranks = recording_point_number(points[i], "ranks", 0);
		bool first = collective != NULL;
		for (size_t k = 0; k < i && first; k++) {
			const char *other = recording_point_word(points[k], "collective");
			double difference = recording_point_number(points[k], "ranks", 0) - ranks;
			first = !other || strcmp(other, collective) != 0 || difference < 0 ||
				difference > 0;
		}
		if (first)
			one(c, points, count, points[i], ranks);
	}
}
