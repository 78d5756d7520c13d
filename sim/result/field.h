/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fields of a result, one row each.
 *
 * A row says where a field lies in its struct, its key in JSON, its column in CSV, its unit and
 * which predictions have it. The writers of JSON and CSV, the reader, prediction_copy() and the
 * tables of docs/formats.md follow the rows of fields.c. A new field is a member of a struct in
 * result.h and one row; tests/unit/test_fields.c prints the line that docs/formats.md needs.
 */
#pragma once

#include "sim/result/result.h"

enum field_type {
	FIELD_TEXT,
	FIELD_VERDICT, /* a bool: "ok" or "fail" */
	FIELD_COUNT,
	FIELD_NUMBER,
	FIELD_ESTIMATE,
	/* The writers and the reader have separate code for these fields. */
	FIELD_VERSION,
	FIELD_BREAKDOWN, /* array of BREAKDOWN_MAX parts */
	FIELD_SHARES,    /* pointer to latency_cdf_count parts */
	FIELD_PARAMETERS,
	FIELD_JOBS,
	FIELD_LINKS,
	FIELD_STAGES,
};

enum field_when { ALWAYS, IF_OK, IF_FAILED }; /* the verdict with which the field has a value */

struct field {
	const char *json; /* the key; NULL: not in JSON */
	const char *csv;  /* the column; NULL: not in CSV */
	enum field_type type;
	size_t offset;
	unsigned kinds; /* kinds of predictions that have the field; it is null in others */
	enum field_when when;
	bool needed;      /* the reader refuses a result without this field */
	const char *help; /* description in docs/formats.md */
	/* [1] is for collective benchmarks, [2] for served requests, [3] for networks of sequences,
	 * [4] for steps of recordings, if they differ; NULL: no unit */
	const char *unit[5];
};

struct fields {
	const struct field *rows;
	size_t count;
};
extern const struct fields prediction_fields, job_fields, link_fields, stage_fields;

/* A struct whose fields are written. */
struct record {
	const void *at;
	bool ok;
	unsigned kind;  /* enum prediction_kind */
	bool sequences; /* the samples of training are sequences */
	bool steps;     /* throughput counts steps */
};
/* Returns true if results of these kinds leave the field out, because it is about requests. */
bool field_is_absent(const struct field *field, unsigned kinds);
bool field_is_filled(const struct field *field, const struct record *record);

/* Read the member at the row's offset. field_number() returns NaN and field_text() returns NULL
 * if the field has no value. */
const char *field_text(const struct field *field, const struct record *record);
double field_number(const struct field *field, const struct record *record);
struct estimate field_estimate(const struct field *field, const struct record *record);
uint64_t field_count(const struct field *field, const struct record *record);
const char *field_unit(const struct field *field, const struct record *record);
