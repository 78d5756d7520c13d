/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares a parameter with one row of a table.
 *
 * A module with parameters has a struct of plain fields and a table with one row for each field:
 * key, kind, quantity, offset, bounds, default, help and source. These rows are the only place that
 * describes a parameter. The configuration reader, --set, `farwire explain` and the bounds of fits
 * all read them.
 *
 *   struct tcp_params { double rto_min_s; bool nagle; const char *name; };
 *   static const struct param_row tcp_rows[] = {
 *     PARAM_NUMBER(struct tcp_params, rto_min_s, QUANTITY_TIME, 0, 3600,
 *                  "200 ms", "minimum retransmission timeout",
 *                  "Linux, TCP_RTO_MIN"),
 *     PARAM_BOOL(struct tcp_params, nagle, "false", "Nagle's algorithm"),
 *   };
 *   const struct param_table tcp_table = PARAM_TABLE("tcp", struct tcp_params,
 *                                                    tcp_rows);
 *
 * The key in a file is the name of the field without its unit suffix: rto_min. param_key derives
 * it.
 *
 * A number is either a setting or a cost. A setting was chosen by a designer or a user and is
 * exact: a batch size, a buffer size, a constant of a protocol, a peak rate that an efficiency is
 * multiplied with. A cost is a physical property, for example a latency, the time of a call or a
 * reached bandwidth. It differs between machines even when its source is good. Therefore a cost's
 * row names the class of its prior distribution, and prediction intervals draw the cost from that
 * distribution.
 *
 * PARAM_NUMBER declares a setting. The other macros declare a cost (docs/models/intervals.md):
 * COST_PRINTED when its number is in a data sheet, COST_SOURCED when it was published for another
 * system, COST_ASSUMED when it is an assumption. COST_REACHED and COST_GENERATION are for constants
 * that were fitted to other GPU generations: parts of a peak rate that kernels reach, and others.
 * COST_UNSEEN is an assumption whose default is 0, because nothing was measured. Its draws are
 * |N(0, scale)|, unless a file or --set states a value, which may be 0.
 */
#pragma once

#include "sim/base/registry.h"
#include "sim/base/units.h"

enum param_kind {
	PARAM_KIND_NUMBER, /* double */
	PARAM_KIND_BOOL,   /* bool */
	PARAM_KIND_TEXT,   /* const char *, allocated in the parameters' arena */
	PARAM_KIND_CHOICE, /* int, an index of choices */
};

enum prior {
	PRIOR_NONE, /* a setting, which is exact */
	PRIOR_DATASHEET,
	PRIOR_PUBLISHED, /* measured on other hardware or another version */
	PRIOR_ASSUMED,
	PRIOR_TUNED,      /* as rates of kernels that makers tune for each GPU generation differ */
	PRIOR_REACHED,    /* as the parts of their peaks that GPU generations reach differ */
	PRIOR_GENERATION, /* as other constants of GPU generations differ */
	PRIOR_UNSEEN,     /* half-normal: the default is 0 because nothing was measured */
};
const char *prior_name(enum prior prior); /* for example "assumed" */
/* Returns the factor between the value and each end of its 90 % prior interval: the interval is
 * [value / factor, value * factor]. */
double prior_factor(enum prior prior);

struct param_row {
	const char *field; /* name of the field in C, with the unit as its last word */
	enum param_kind kind;
	enum quantity quantity; /* numbers only */
	size_t offset;
	double min, max;              /* numbers only: SI units, inclusive */
	bool whole;                   /* counts only: fractions are refused */
	enum prior prior;             /* costs only */
	double scale;                 /* of the half-normal prior of a default of 0; 0: none */
	const char *preset;           /* default as text; NULL if the user must give a value */
	const char *const *choices;   /* choices only: names, terminated by NULL */
	const struct registry *kinds; /* for a choice without choices: the kinds to choose from */
	const char *help;
	/* where the default comes from, or "assumption: ..." with the reason; rows of settings
	 * whose default needs no reason leave it out */
	const char *source;
};

struct param_table {
	const char *name; /* name of the described thing: "tcp", "gpu" */
	size_t size;      /* sizeof the struct */
	const struct param_row *rows;
	size_t count;
};

#define PARAM_PRIOR(prior_, type, field_, quantity_, min_, max_, preset_, help_, ...)              \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_NUMBER, .quantity = quantity_,                \
		.offset = offsetof(type, field_), .min = min_, .max = max_, .prior = prior_,       \
		.preset = preset_, .help = help_, .source = "" __VA_ARGS__                         \
	}
#define PARAM_NUMBER(...)    PARAM_PRIOR(PRIOR_NONE, __VA_ARGS__)
#define COST_PRINTED(...)    PARAM_PRIOR(PRIOR_DATASHEET, __VA_ARGS__)
#define COST_SOURCED(...)    PARAM_PRIOR(PRIOR_PUBLISHED, __VA_ARGS__)
#define COST_ASSUMED(...)    PARAM_PRIOR(PRIOR_ASSUMED, __VA_ARGS__)
#define COST_TUNED(...)      PARAM_PRIOR(PRIOR_TUNED, __VA_ARGS__)
#define COST_REACHED(...)    PARAM_PRIOR(PRIOR_REACHED, __VA_ARGS__)
#define COST_GENERATION(...) PARAM_PRIOR(PRIOR_GENERATION, __VA_ARGS__)
#define COST_UNSEEN(scale_, type, field_, quantity_, min_, max_, preset_, help_, ...)              \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_NUMBER, .quantity = quantity_,                \
		.offset = offsetof(type, field_), .min = min_, .max = max_,                        \
		.prior = PRIOR_ASSUMED, .scale = scale_, .preset = preset_, .help = help_,         \
		.source = "" __VA_ARGS__                                                           \
	}
/* Declares a count of indivisible things: cores, images, retries. */
#define PARAM_WHOLE(type, field_, min_, max_, preset_, help_, ...)                                 \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_NUMBER, .quantity = QUANTITY_COUNT,           \
		.offset = offsetof(type, field_), .min = min_, .max = max_, .whole = true,         \
		.preset = preset_, .help = help_, .source = "" __VA_ARGS__                         \
	}
#define PARAM_BOOL(type, field_, preset_, help_, ...)                                              \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_BOOL, .offset = offsetof(type, field_),       \
		.preset = preset_, .help = help_, .source = "" __VA_ARGS__                         \
	}
#define PARAM_TEXT(type, field_, preset_, help_, ...)                                              \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_TEXT, .offset = offsetof(type, field_),       \
		.preset = preset_, .help = help_, .source = "" __VA_ARGS__                         \
	}
#define PARAM_CHOICE(type, field_, choices_, preset_, help_, ...)                                  \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_CHOICE, .offset = offsetof(type, field_),     \
		.choices = choices_, .preset = preset_, .help = help_, .source = "" __VA_ARGS__    \
	}
/* Declares a choice among the names of a registry's kinds. */
#define PARAM_NAMED(type, field_, kinds_, preset_, help_, ...)                                     \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_CHOICE, .offset = offsetof(type, field_),     \
		.kinds = kinds_, .preset = preset_, .help = help_, .source = "" __VA_ARGS__        \
	}
#define PARAM_TABLE(name_, type, rows_)                                                            \
	{                                                                                          \
		.name = name_, .size = sizeof(type), .rows = rows_,                                \
		.count = sizeof(rows_) / sizeof((rows_)[0])                                        \
	}
/* The address of a table, for the struct of a kind. */
#define PARAM_TABLE_OF(...) (&(const struct param_table)PARAM_TABLE(__VA_ARGS__))

/* Writes the row's key into key[size]. The key is the field's name without its unit suffix (_s _B
 * _Bps _flop _flops _Hz _ratio _count _spB). */
void param_key(const struct param_row *row, char *key, size_t size);
/* Returns the row with that key, or NULL. */
const struct param_row *param_find(const struct param_table *table, const char *key);
/* Returns the names of a choice, then NULL. */
const char *const *param_choices(struct arena *arena, const struct param_row *row);

/* Uncertain numbers are varied on a scale on which they cannot leave their bounds. The scale is the
 * logarithm of the value. For a ratio with the upper bound 1 it is the logarithm of the odds, value
 * / (1 - value).
 *
 * param_moved returns value moved by `by` on that scale, clamped to the row's bounds and rounded if
 * the row is whole. param_distance returns the distance between `from` and `to` on that scale. A
 * value without a place on the scale (zero, or 1 for such a ratio) does not move, and its distance
 * is infinite. */
double param_moved(const struct param_row *row, double value, double by);
double param_distance(const struct param_row *row, double from, double to);
