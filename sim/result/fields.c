/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cfg/resolution.h"
#include "sim/engine/names.h"
#include "sim/result/field.h"

enum {
	ALL = PREDICTION_PROGRAMS | PREDICTION_TRAINING | PREDICTION_COLLECTIVE |
	      PREDICTION_SERVING,
	COLLECTIVE = PREDICTION_COLLECTIVE,
	JOB = PREDICTION_TRAINING | PREDICTION_COLLECTIVE,
	NO_COLLECTIVE = PREDICTION_PROGRAMS | PREDICTION_TRAINING | PREDICTION_SERVING,
	SERVING = PREDICTION_SERVING,
	PRICED = PREDICTION_PRICED,
};

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "FIELD_COUNT reads both as uint64_t");

/* The type of a row follows from the type of its member. */
#define TYPE_OF(member)                                                                            \
	_Generic(((struct RECORD *)0)->member,                                               \
		 const char *: FIELD_TEXT,                                                         \
		 bool: FIELD_VERDICT,                                                              \
		 double: FIELD_NUMBER,                                                             \
		 struct estimate: FIELD_ESTIMATE,                                                  \
		 struct breakdown_part *: FIELD_PARTS,                                             \
		 const struct breakdown_part *: FIELD_PARTS,                                       \
		 const struct cfg_resolution *: FIELD_PARAMETERS,                                  \
		 struct job_prediction *: FIELD_LIST,                                              \
		 struct link_prediction *: FIELD_LIST,                                             \
		 struct call_prediction *: FIELD_LIST,                                             \
		 struct stage_prediction *: FIELD_LIST,                                            \
		 struct error_part *: FIELD_LIST,                                                  \
		 default: FIELD_COUNT)
#define FIELD(member, json, csv, kinds, when, needed, help, ...)                                   \
	{json,                                                                                     \
	 csv,                                                                                      \
	 TYPE_OF(member),                                                                          \
	 offsetof(struct RECORD, member),                                                          \
	 kinds,                                                                                    \
	 when,                                                                                     \
	 needed,                                                                                   \
	 help,                                                                                     \
	 {__VA_ARGS__},                                                                            \
	 NULL,                                                                                     \
	 0},
#define QUANTILE(member, percent, key, help)                                                       \
	FIELD(member, key "_p" #percent, key "_p" #percent "_s", SERVING, IF_OK, false,            \
	      help ", quantile of " #percent " %", "s")
#define QUANTILES(member, key, help)                                                               \
	QUANTILE(member[0], 50, key, help)                                                         \
	QUANTILE(member[1], 90, key, help)                                                         \
	QUANTILE(member[2], 95, key, help)                                                         \
	QUANTILE(member[3], 99, key, help)
#define FIELD_OF_VERSION(json, csv, help)                                                          \
	{json, csv, FIELD_VERSION, 0, ALL, ALWAYS, false, help, {NULL}, NULL, 0},
#define LIST_OF(member)                                                                            \
	_Generic(((struct RECORD *)0)->member,                                                     \
		 struct breakdown_part *: &lists[PARTS],                                           \
		 const struct breakdown_part *: &lists[SHARES],                                    \
		 struct job_prediction *: &lists[JOBS],                                            \
		 struct link_prediction *: &lists[LINKS],                                          \
		 struct call_prediction *: &lists[CALLS],                                          \
		 struct stage_prediction *: &lists[STAGES],                                        \
		 struct error_part *: &lists[ERRORS])
#define LIST(member, count, json, kinds, when, help, unit)                                         \
	{json, NULL,   TYPE_OF(member), offsetof(struct RECORD, member), kinds, when, false,       \
	 help, {unit}, LIST_OF(member), offsetof(struct RECORD, count)},

enum { PARTS, SHARES, JOBS, LINKS, CALLS, STAGES, ERRORS };
static const struct fields part_fields;
static const struct list lists[] = {
	[PARTS] = {&part_fields, sizeof(struct breakdown_part), BREAKDOWN_MAX},
	[SHARES] = {&part_fields, sizeof(struct breakdown_part), 0},
	[JOBS] = {&job_fields, sizeof(struct job_prediction), 0},
	[LINKS] = {&link_fields, sizeof(struct link_prediction), 0},
	[CALLS] = {&call_fields, sizeof(struct call_prediction), 0},
	[STAGES] = {&stage_fields, sizeof(struct stage_prediction), 0},
	[ERRORS] = {&error_fields, sizeof(struct error_part), 0},
};

static const struct field of_part[] = {
#define RECORD breakdown_part
	FIELD(name, NULL, NULL, ALL, ALWAYS, true, "", NULL)
#undef RECORD
};
static const struct field of_prediction[] = {
#define RECORD prediction
#include "sim/result/prediction.def"
#undef RECORD
};
static const struct field of_job[] = {
#define RECORD job_prediction
#include "sim/result/job_prediction.def"
#undef RECORD
};
static const struct field of_link[] = {
#define RECORD link_prediction
#include "sim/result/link_prediction.def"
#undef RECORD
};
static const struct field of_call[] = {
#define RECORD call_prediction
#include "sim/result/call_prediction.def"
#undef RECORD
};
static const struct field of_stage[] = {
#define RECORD stage_prediction
#include "sim/result/stage_prediction.def"
#undef RECORD
};

static const struct field of_error[] = {
#define RECORD error_part
#include "sim/result/error_part.def"
#undef RECORD
};

#define ROWS(rows)                                                                                 \
	{                                                                                          \
		rows, sizeof rows / sizeof rows[0]                                                 \
	}
const struct fields prediction_fields = ROWS(of_prediction), job_fields = ROWS(of_job),
		    link_fields = ROWS(of_link), call_fields = ROWS(of_call),
		    stage_fields = ROWS(of_stage), error_fields = ROWS(of_error);
static const struct fields part_fields = ROWS(of_part);

static const void *at(const struct field *field, const void *record)
{
	return (const char *)record + field->offset;
}

bool field_is_filled(const struct field *field, const struct record_place *record)
{
	return ((field->kinds & record->kind) || (record->priced && field->kinds == PRICED)) &&
	       (field->when == ALWAYS || (field->when == IF_OK) == record->ok);
}

bool field_is_absent(const struct field *field, unsigned kinds)
{
	return (field->kinds == SERVING || field->kinds == PRICED) && !(kinds & field->kinds);
}

const char *field_text(const struct field *field, const struct record_place *record)
{
	return field_is_filled(field, record) ? *(const char *const *)at(field, record->at) : NULL;
}

uint64_t field_count(const struct field *field, const struct record_place *record)
{
	return *(const uint64_t *)at(field, record->at);
}

double field_number(const struct field *field, const struct record_place *record)
{
	return field_is_filled(field, record) ? *(const double *)at(field, record->at) : NAN;
}

struct estimate field_estimate(const struct field *field, const struct record_place *record)
{
	return field_is_filled(field, record) ? *(const struct estimate *)at(field, record->at)
					      : ESTIMATE_NONE;
}

const void *field_items(const struct field *field, const void *record, size_t *count)
{
	*count = *(const size_t *)(const void *)((const char *)record + field->count_offset);
	return *(const void *const *)at(field, record);
}

const char *field_unit(const struct field *field, const struct record_place *record)
{
	size_t of = record->kind == PREDICTION_COLLECTIVE ? 1
		    : record->kind == PREDICTION_SERVING  ? 2
		    : record->sequences                   ? 3
		    : record->steps                       ? 4
							  : 0;
	return field->unit[field->unit[of] ? of : 0];
}

bool numbers_equal(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool same_estimate(struct estimate a, struct estimate b)
{
	return numbers_equal(a.value, b.value) && numbers_equal(a.low, b.low) &&
	       numbers_equal(a.high, b.high);
}

bool predictions_equal(const struct prediction *a, const struct prediction *b)
{
	const struct record_place one = {.at = a, .ok = a->ok, .kind = ~0U},
				  other = {.at = b, .ok = b->ok, .kind = ~0U};
	bool same = a->ok == b->ok;
	for (size_t i = 0; same && i < prediction_fields.count; i++) {
		const struct field *field = &prediction_fields.rows[i];
		if (field->type == FIELD_COUNT)
			same = field_count(field, &one) == field_count(field, &other);
		else if (field->type == FIELD_NUMBER)
			same = numbers_equal(field_number(field, &one),
					     field_number(field, &other));
		else if (field->type == FIELD_ESTIMATE)
			same = same_estimate(field_estimate(field, &one),
					     field_estimate(field, &other));
	}
	return same;
}

/* ---- copies ---- */

struct copier {
	struct arena *arena;
	struct names *texts; /* NULL if each text has its own copy */
};

static const char *copy_text(const struct copier *copier, const char *text)
{
	if (!text || !copier->texts)
		return text ? arena_strdup(copier->arena, text) : NULL;
	return names_at(copier->texts, (size_t)names_add(copier->texts, text));
}

static void *copy_array(const struct copier *copier, const void *items, size_t size_B)
{
	return size_B ? memcpy(arena_alloc(copier->arena, size_B), items, size_B) : NULL;
}

static void copy_fields(const struct copier *copier, const struct fields *fields, void *record)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->rows[i];
		void *member = (char *)record + field->offset;
		if (field->type == FIELD_TEXT)
			*(const char **)member = copy_text(copier, *(const char **)member);
		if (!field->list)
			continue;
		size_t count, item_B = field->list->item_B;
		const void *items = field_items(field, record, &count);
		char *own = *(void **)member = copy_array(copier, items, count * item_B);
		for (size_t k = 0; k < count; k++)
			copy_fields(copier, field->list->fields, own + k * item_B);
	}
}

const struct prediction *prediction_copy(struct arena *arena, struct names *texts,
					 const struct prediction *prediction)
{
	const struct copier copier = {arena, texts};
	struct prediction *p = copy_array(&copier, prediction, sizeof *prediction);
	copy_fields(&copier, &prediction_fields, p);
	if (p->resolution)
		p->resolution = cfg_resolution_copy(arena, p->resolution);
	return p;
}
