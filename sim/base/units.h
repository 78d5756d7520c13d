/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities with units, in the form that people write.
 *
 * A quantity in a configuration file is a quoted string with its unit: "25 Gbit/s", "4.5 us", "64
 * MiB". Inside the program it is a double in SI base units, and its name ends in the unit: _s, _B,
 * _Bps, _flop, _Hz, _ratio, _count. Decimal prefixes are powers of ten (GB = 1e9 B); binary
 * prefixes are powers of two (GiB = 2^30 B). b is a bit, B is a byte; rates are per second. A
 * missing unit is an error, except for counts and ratios.
 *
 * Reading does not depend on the locale.
 */
#pragma once

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
	QUANTITY_POWER,         /* W: "W" "kW" */
	QUANTITY_TIME_PER_BYTE, /* s/B: "ns/B", "us/KiB", "us/MB" */
};

/* Reads text as a quantity into *value, in SI units. Returns NULL on success. On an error it
 * returns a message in arena with the reason and a correction, for example "has no unit (write a
 * time such as \"4.5 us\")", and leaves *value unchanged. */
const char *quantity_parse(struct arena *arena, enum quantity quantity, const char *text,
			   double *value);

/* Formats about 4 significant digits with a suitable prefix: "63 us", "1.25 GB/s", "64 MiB". Counts
 * up to 1e15 are written in full. quantity_parse reads the result back. */
char *quantity_format(struct arena *arena, enum quantity quantity, double value);
/* Formats a value with the unit and prefix that `like` would have, for columns with one unit.
 * Sizes keep their own prefix. */
char *quantity_format_like(struct arena *arena, enum quantity quantity, double value, double like);

/* Returns the symbol of the SI unit: "s", "B", "B/s" or "". */
const char *quantity_unit(enum quantity quantity);
/* Returns an example of the notation: "4.5 us". */
const char *quantity_example(enum quantity quantity);

/* Returns the noun for messages: "a time", "a size". */
const char *quantity_noun(enum quantity quantity);

/* Formats like printf's %.<digits>g in the C locale. The locale of the process has no influence. */
char *number_format(struct arena *arena, int digits, double value);

/* Reads like strtod in the C locale. The whole text must be a finite decimal number: inf, nan and
 * hexadecimal forms are refused. */
bool number_parse(const char *text, double *value);
