/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fields of a result, one row each.
 *
 * A row says where a field lies in its struct, its key in JSON, its column in CSV, its unit and
 * which predictions have it. The writers of JSON and CSV, the reader, prediction_copy() and the
 * tables of docs/formats.md follow the rows of fields.c. A new field is a member of a struct in
 * result.h and one row; tests/unit/test_fields.c prints the line that docs/formats.md needs. */
#pragma once

#include "sim/result/result.h"

enum field_type {
	FIELD_TEXT,
	FIELD_VERDICT, /* a bool: "ok" or "fail" */
	FIELD_COUNT,
	FIELD_NUMBER,
	FIELD_ESTIMATE,
	FIELD_PARTS, /* a list of struct breakdown_part: an object with a number for each */
	FIELD_LIST,  /* a list of other structs: an array */
	/* The writers and the reader have separate code for these fields. */
	FIELD_VERSION,
	FIELD_PARAMETERS,
};

enum field_when { ALWAYS, IF_OK, IF_FAILED }; /* the verdict with which the field has a value */

struct fields;
struct list { /* the items to which a struct points in a FIELD_PARTS or FIELD_LIST */
	const struct fields *fields; /* of each item */
	size_t item_B, most;         /* most: of items; 0: any number */
};

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
	const struct list *list; /* NULL: the field is not a list */
	size_t count_offset;     /* of the length of a list */
};

struct fields {
	const struct field *rows;
	size_t count;
};
extern const struct fields prediction_fields, job_fields, link_fields, call_fields, stage_fields,
	error_fields;

/* A struct whose fields are written. */
struct record_place {
	const void *at;
	bool ok;
	unsigned kind;  /* enum prediction_kind */
	bool sequences; /* the samples of training are sequences */
	bool steps;     /* throughput counts steps */
	bool priced;    /* the prediction has prices */
};
/* Returns true if results of these kinds leave the field out, because it is about requests or
 * costs. */
bool field_is_absent(const struct field *field, unsigned kinds);
bool field_is_filled(const struct field *field, const struct record_place *record);

/* Read the member at the row's offset. field_number() returns NaN and field_text() returns NULL
 * if the field has no value. */
const char *field_text(const struct field *field, const struct record_place *record);
double field_number(const struct field *field, const struct record_place *record);
struct estimate field_estimate(const struct field *field, const struct record_place *record);
uint64_t field_count(const struct field *field, const struct record_place *record);
const char *field_unit(const struct field *field, const struct record_place *record);
/* Returns the items of a list, and sets *count. */
const void *field_items(const struct field *field, const void *record, size_t *count);
