/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which calibration would narrow a parameter: measures.def, by path; and what none narrows. */
#ifndef FARWIRE_REPORT_MEASURES_H
#define FARWIRE_REPORT_MEASURES_H

#include "sim/analysis/reported.h"

/* NULL: nothing that ships measures it. */
const char *measure_of(const char *path);
/* A sentence with a blank before it: how far apart the model's own error alone puts the ends of a
 * reported number. "" where it has no part in it, or there is no interval. */
const char *model_error_words(struct arena *arena, const struct scenario *scenario,
			      const struct reported *reported, struct estimate now);

#endif
