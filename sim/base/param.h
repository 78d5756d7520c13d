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
 */
#ifndef FARWIRE_BASE_PARAM_H
#define FARWIRE_BASE_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/units.h"

enum param_kind {
	PARAM_KIND_NUMBER, /* double */
	PARAM_KIND_BOOL,   /* bool */
	PARAM_KIND_TEXT,   /* const char *, in the parameters' arena */
	PARAM_KIND_CHOICE, /* int, an index into choices */
};

struct param_row {
	const char *field; /* C name, with the unit as its last word */
	enum param_kind kind;
	enum quantity quantity; /* of numbers */
	size_t offset;
	double min, max;            /* SI, inclusive; of numbers */
	bool whole;                 /* no fractions; of counts */
	const char *preset;         /* default as text; NULL: must be given */
	const char *const *choices; /* NULL-terminated, of choices */
	const char *help;
	const char *source; /* where the default comes from; "assumption: ..." */
};

struct param_table {
	const char *name; /* of the thing it describes: "tcp", "gpu" */
	size_t size;      /* sizeof the struct */
	const struct param_row *rows;
	size_t count;
};

#define PARAM_NUMBER(type, field_, quantity_, min_, max_, preset_, help_, source_)                 \
	{                                                                                          \
		.field = #field_, .kind = PARAM_KIND_NUMBER, .quantity = quantity_,                \
		.offset = offsetof(type, field_), .min = min_, .max = max_, .preset = preset_,     \
		.help = help_, .source = source_                                                   \
	}
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
#define PARAM_TABLE(name_, type, rows_)                                                            \
	{                                                                                          \
		.name = name_, .size = sizeof(type), .rows = rows_,                                \
		.count = sizeof(rows_) / sizeof((rows_)[0])                                        \
	}

/* Writes the row's key into key[size]: the field without its unit suffix
 * (_s _B _Bps _flop _flops _Hz _ratio _count _spB). */
void param_key(const struct param_row *row, char *key, size_t size);

#endif
