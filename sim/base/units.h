/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities with units, as people write them.
 *
 * A configured quantity is a quoted string with its unit: "25 Gbit/s",
 * "4.5 us", "64 MiB". Inside the program it is a double in SI base units and
 * its name ends in the unit: _s, _B, _Bps, _flop, _Hz, _ratio, _count.
 * Decimal prefixes are powers of ten (GB = 1e9 B), binary ones of two
 * (GiB = 2^30 B); b is a bit, B a byte; rates are per second. A missing unit
 * is an error; plain numbers are for counts and ratios only.
 *
 * Reading does not depend on the locale.
 */
#ifndef FARWIRE_BASE_UNITS_H
#define FARWIRE_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

enum quantity {
	QUANTITY_COUNT,         /* plain number */
	QUANTITY_RATIO,         /* plain number, or "3 %" */
	QUANTITY_TIME,          /* s: "ps" "ns" "us" "ms" "s" "min" "h" */
	QUANTITY_BYTES,         /* B: "B" "kB" "KiB" ... "TiB" */
	QUANTITY_RATE,          /* B/s: "GB/s", "GiB/s", "Gbit/s" or "Gb/s" ... */
	QUANTITY_FREQUENCY,     /* Hz: "Hz" "kHz" "MHz" "GHz", "1/s" */
	QUANTITY_FLOP_RATE,     /* flop/s: "GFLOPS" "TFLOPS" "TFLOP/s" */
	QUANTITY_FLOP,          /* flop: "kflop" "Mflop" "Gflop" "Tflop" */
	QUANTITY_TIME_PER_BYTE, /* s/B: "ns/B", "us/KiB", "us/MB" */
};

/* Reads text as a quantity into *value (SI). Returns NULL, or what is wrong
 * and what to write instead, e.g. "has no unit (write a time such as
 * \"4.5 us\")"; the message lives in arena. *value is untouched on error. */
const char *quantity_parse(struct arena *arena, enum quantity quantity, const char *text,
			   double *value);

/* "63 us", "1.25 GB/s", "64 MiB": about 4 significant digits with a fitting
 * prefix; counts up to 1e15 in full. Reads back by quantity_parse. */
char *quantity_format(struct arena *arena, enum quantity quantity, double value);

/* The SI unit's symbol: "s", "B", "B/s", "" ... */
const char *quantity_unit(enum quantity quantity);
/* An example of how to write one: "4.5 us". */
const char *quantity_example(enum quantity quantity);

/* "a time", "a rate": for messages. */
const char *quantity_noun(enum quantity quantity);

/* printf's %.<digits>g in the C locale, whatever the process locale. */
char *number_format(struct arena *arena, int digits, double value);

/* strtod in the C locale, whatever the process locale; whole text must be a
 * number. Accepts no inf, nan or hex. */
bool number_parse(const char *text, double *value);

#endif
