/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row declares a parameter.
 *
 * A module with parameters has a struct of plain fields and a table of rows,
 * one a field: key, kind, quantity, offset, bounds, default, help, source. The
 * configuration reader, --set, `farwire explain`, docs/parameters.md and the
 * bounds of fits all read these rows; there is no second place.
 *
 *   struct tcp_params { double rto_min_s; bool nagle; const char *name; };
 *   static const struct param_row tcp_rows[] = {
 *     PARAM_NUMBER(struct tcp_params, rto_min_s, QUANTITY_TIME, 0, 3600,
 *                  "200 ms", "least retransmission timeout",
 *                  "Linux, TCP_RTO_MIN"),
 *     PARAM_BOOL(struct tcp_params, nagle, "false", "Nagle's algorithm", ""),
 *   };
 *   const struct param_table tcp_table = PARAM_TABLE("tcp", struct tcp_params,
 *                                                    tcp_rows);
 *
 * The key in a file is the field's name without the unit suffix: rto_min.
 * param_key derives it.
 *
 * A number is a SETTING or a COST. A setting was chosen by somebody (a batch, a buffer,
 * a protocol's constant, the peak that an efficiency is a part of) and is exact. A cost
 * is nature's (a latency, what a call takes, a rate that is reached), and however
 * good the source, another machine has another: its row names the class of the prior
 * from which the draws of an interval take it. PARAM_NUMBER declares a setting,
 * COST_PRINTED, COST_SOURCED and COST_ASSUMED a cost whose number is in a data sheet,
 * was published of another system, or is an assumption (docs/models/intervals.md).
 */
#ifndef FARWIRE_BASE_PARAM_H
#define FARWIRE_BASE_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/registry.h"
#include "sim/base/units.h"

enum param_kind {
	PARAM_KIND_NUMBER, /* double */
	PARAM_KIND_BOOL,   /* bool */
	PARAM_KIND_TEXT,   /* const char *, in the parameters' arena */
	PARAM_KIND_CHOICE, /* int, an index into choices */
};

enum prior {
	PRIOR_NONE, /* a setting: exact */
	PRIOR_DATASHEET,
	PRIOR_PUBLISHED, /* measured, of other hardware or another version */
	PRIOR_ASSUMED,
};
const char *prior_name(enum prior prior); /* "assumed" */
/* By what the ends of its 90 % interval are above and below the value. */
double prior_factor(enum prior prior);

struct param_row {
	const char *field; /* C name, with the unit as its last word */
	enum param_kind kind;
	enum quantity quantity; /* of numbers */
	size_t offset;
	double min, max;            /* SI, inclusive; of numbers */
	bool whole;                 /* no fractions; of counts */
	enum prior prior;           /* of costs */
	const char *preset;         /* default as text; NULL: must be given */
	const char *const *choices; /* NULL-terminated, of choices; NULL: names of kinds */
	const struct registry *kinds;
	const char *help;
	const char *source; /* where the default comes from; "assumption: ..." */
};

struct param_table {
	const char *name; /* of the thing it describes: "tcp", "gpu" */
	size_t size;      /* sizeof the struct */
	const struct param_row *rows;
	size_t count;
};

#define PARAM_PRIOR(prior_, type, field_, quantity_, min_, max_, preset_, help_, source_)          \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_NUMBER, .quantity = quantity_,                \
		.offset = offsetof(type, field_), .min = min_, .max = max_, .prior = prior_,       \
		.preset = preset_, .help = help_, .source = source_                                \
	}
#define PARAM_NUMBER(...) PARAM_PRIOR(PRIOR_NONE, __VA_ARGS__)
#define COST_PRINTED(...) PARAM_PRIOR(PRIOR_DATASHEET, __VA_ARGS__)
#define COST_SOURCED(...) PARAM_PRIOR(PRIOR_PUBLISHED, __VA_ARGS__)
#define COST_ASSUMED(...) PARAM_PRIOR(PRIOR_ASSUMED, __VA_ARGS__)
/* A count of things that do not come in parts: cores, images, retries. */
#define PARAM_WHOLE(type, field_, min_, max_, preset_, help_, source_)                             \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_NUMBER, .quantity = QUANTITY_COUNT,           \
		.offset = offsetof(type, field_), .min = min_, .max = max_, .whole = true,         \
		.preset = preset_, .help = help_, .source = source_                                \
	}
#define PARAM_BOOL(type, field_, preset_, help_, source_)                                          \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_BOOL, .offset = offsetof(type, field_),       \
		.preset = preset_, .help = help_, .source = source_                                \
	}
#define PARAM_TEXT(type, field_, preset_, help_, source_)                                          \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_TEXT, .offset = offsetof(type, field_),       \
		.preset = preset_, .help = help_, .source = source_                                \
	}
#define PARAM_CHOICE(type, field_, choices_, preset_, help_, source_)                              \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_CHOICE, .offset = offsetof(type, field_),     \
		.choices = choices_, .preset = preset_, .help = help_, .source = source_           \
	}
/* A choice among the names of a registry's kinds. */
#define PARAM_NAMED(type, field_, kinds_, preset_, help_, source_)                                 \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_CHOICE, .offset = offsetof(type, field_),     \
		.kinds = kinds_, .preset = preset_, .help = help_, .source = source_               \
	}
#define PARAM_TABLE(name_, type, rows_)                                                            \
	{                                                                                          \
		.name = name_, .size = sizeof(type), .rows = rows_,                                \
		.count = sizeof(rows_) / sizeof((rows_)[0])                                        \
	}

/* Writes the row's key into key[size]: the field without its unit suffix
 * (_s _B _Bps _flop _flops _Hz _ratio _count _spB). */
void param_key(const struct param_row *row, char *key, size_t size);
/* Names of a choice, then NULL. */
const char *const *param_choices(struct arena *arena, const struct param_row *row);

/* Uncertain numbers are moved on a scale on which they cannot leave their bounds: the
 * logarithm, of ratios that end at 1 that of the odds (value / (1 - value)).
 * param_moved is value, moved by `by` on that scale, within the row's bounds and whole
 * where the row says so; param_distance how far `to` is from `from`. What has no place on
 * it (zero, or one of a ratio that ends there) stays, and its distance is infinite. */
double param_moved(const struct param_row *row, double value, double by);
double param_distance(const struct param_row *row, double from, double to);

#endif
