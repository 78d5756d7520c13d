/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities and numbers that are accepted are finite, and written ones read back. */
#include "sim/base/units.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

/* Numbers are shown with four digits. */
static const double SHOWN = 6e-4;

static void reads_back(struct arena *arena, enum quantity quantity, double value)
{
	double again = NAN;
	const char *text = quantity_format(arena, quantity, value);
	const char *wrong = quantity_parse(arena, quantity, text, &again);
	/* rounding up can exceed the range of a double */
	FUZZ_CHECK(!wrong || fabs(value) > 1.797e308);
	FUZZ_CHECK(wrong || fabs(again - value) <= SHOWN * fabs(value) || fabs(value) < 1e-290);
}

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	const char *text = fuzz_text(arena, data, size_B);
	double value = NAN;
	if (number_parse(text, &value))
		FUZZ_CHECK(isfinite(value));
	for (int q = QUANTITY_COUNT; q <= QUANTITY_TIME_PER_BYTE; q++) {
		double read = NAN;
		const char *wrong = quantity_parse(arena, (enum quantity)q, text, &read);
		FUZZ_CHECK(wrong ? *wrong && isnan(read) : isfinite(read));
		if (!wrong)
			reads_back(arena, (enum quantity)q, read);
	}
	arena_free(arena);
}
