/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case predicted again and again with other values of what is not known.
 *
 * Draws run on several threads; which thread runs which changes nothing, for each has
 * its own point and its own noise (the seed and its number). A draw may fail, as when
 * a network comes out so lossy that a connection breaks: it counts as nothing coming
 * through, so that the low end of a throughput is 0 where 1 in 20 fails.
 */
#ifndef FARWIRE_PREDICT_DRAWS_H
#define FARWIRE_PREDICT_DRAWS_H

#include "sim/predict/predict.h"
#include "sim/predict/unknowns.h"

struct draw_answers {
	struct job_point all, *jobs; /* NaN where it failed */
	bool failed;
	const char *broken; /* an invariant; NULL: none */
};

struct draws {
	size_t count; /* 0: no intervals */
	size_t failed_count;
	const char *broken; /* that of the first draw that has one */
	struct draw_answers *answers;
	const struct cfg_param *error; /* the model's own; NULL: none */
	bool ratio_is_one;             /* whatever the model errs by */
};

/* As many as the options say, of a case whose point did not fail. */
struct draws draws_run(struct arena *arena, const struct case_request *request,
		       const struct predict_options *options, const struct scenario *scenario,
		       const struct point *point);

/* value with its 5 and 95 % points; of the field at offset in struct job_point, of a
 * client or (client < 0) of the whole case. The model's own error is a factor whose
 * logarithm is Student's: around each draw lies its distribution, and the points are those of
 * their mean. Of utilisations 1 is the most. */
struct estimate draws_interval(struct arena *arena, const struct draws *draws, double value,
			       long client, size_t offset);

/* What the model's own error alone makes of a value: its 5 and 95 % points. The value itself
 * where there is none (NULL). */
struct estimate error_alone(const struct cfg_param *error, double value);

/* a's throughput over b's: the quotients draw by draw, since cases draw alike what they have in
 * common (unknowns.h), of the draws in which b ran. The models' own errors are two, unless a
 * and b are the same case. Without draws of both, as many and from one seed, as if the two
 * intervals had nothing in common. */
struct estimate draws_quotient(const struct prediction *a, const struct prediction *b);

#endif
