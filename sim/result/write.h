/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that the writers of this folder share. */
#pragma once

#include "sim/result/result.h"

void prediction_json(struct json_writer *json, const struct prediction *prediction);
void predictions_csv(FILE *out, const struct prediction *const *predictions, size_t count);

/* Writes CSV as in RFC 4180: fields with commas or quotes are quoted, and lines end with CR LF.
 * Line ends and invisible characters in a field are written as in tables (text_visible). A writer
 * calls csv_field or csv_number for each cell. NULL and NaN give an empty cell. */
struct csv {
	FILE *out;
	bool filled; /* the current line has at least one field */
};
void csv_field(struct csv *csv, const char *text);
void csv_number(struct csv *csv, double value);
void csv_line(struct csv *csv);

/* Formats "0.953 (0.947..0.961)"; one number if there is no interval; "-" for NaN. The numbers
 * have the unit that `like` would have (units.h); NaN: each has its own. */
const char *estimate_text_like(struct arena *arena, enum quantity quantity,
			       struct estimate estimate, double like);
