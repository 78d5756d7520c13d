/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/units.h"

#include <locale.h>

#include "sim/base/arena.h"
#include "sim/base/param.h"
#include "tests/test.h"

static double parsed(enum quantity quantity, const char *text)
{
	struct arena *arena = arena_new();
	double value = NAN;
	const char *wrong = quantity_parse(arena, quantity, text, &value);
	if (!CHECK(wrong == NULL))
		printf("    \"%s\" %s\n", text, wrong);
	arena_free(arena);
	return value;
}

/* The results must equal the literals exactly, because there is only one rounding. */
static void every_unit_is_read_exactly(void)
{
	CHECK(parsed(QUANTITY_COUNT, "8") == 8);
	CHECK(parsed(QUANTITY_COUNT, "-1e3") == -1000);
	CHECK(parsed(QUANTITY_RATIO, "0.3") == 0.3);
	CHECK(parsed(QUANTITY_RATIO, "3 %") == 0.03);
	CHECK(parsed(QUANTITY_TIME, "4.5 us") == 4.5e-6);
	CHECK(parsed(QUANTITY_TIME, "4.5 \xc2\xb5s") == 4.5e-6);
	CHECK(parsed(QUANTITY_TIME, "7ps") == 7e-12);
	CHECK(parsed(QUANTITY_TIME, "  200 ms ") == 0.2);
	CHECK(parsed(QUANTITY_TIME, "2 min") == 120);
	CHECK(parsed(QUANTITY_TIME, "1.5 h") == 5400);
	CHECK(parsed(QUANTITY_BYTES, "64 MiB") == 67108864);
	CHECK(parsed(QUANTITY_BYTES, "64 kB") == 64000);
	CHECK(parsed(QUANTITY_BYTES, "1 TiB") == 1099511627776.0);
	CHECK(parsed(QUANTITY_BYTES, "8 kbit") == 1000);
	CHECK(parsed(QUANTITY_RATE, "25 Gbit/s") == 3.125e9);
	CHECK(parsed(QUANTITY_RATE, "25 Gb/s") == 3.125e9);
	CHECK(parsed(QUANTITY_RATE, "1 GiB/s") == 1073741824);
	CHECK(parsed(QUANTITY_RATE, "8 Mbps") == 1e6);
	CHECK(parsed(QUANTITY_RATE, "16 Kibit/s") == 2048);
	CHECK(parsed(QUANTITY_RATE, "8 Tb/s") == 1e12);
	CHECK(parsed(QUANTITY_BYTES, "2 PiB") == 0x1p51);
	CHECK(parsed(QUANTITY_BYTES, "3 EB") == 3e18);
	CHECK(parsed(QUANTITY_BYTES, "2 PB") == 2e15);
	CHECK(parsed(QUANTITY_TIME, "3 \xce\xbcs") == 3e-6);
	CHECK(parsed(QUANTITY_TIME, "3 ns") == 3e-9);
	CHECK(parsed(QUANTITY_FREQUENCY, "5 k/s") == 5000);
	CHECK(parsed(QUANTITY_FLOP, "2 TFLOP") == 2e12);
	CHECK(parsed(QUANTITY_FLOP_RATE, "3 Gflop/s") == 3e9);
	CHECK(parsed(QUANTITY_RATE, "12 GB/s") == 12e9);
	CHECK(parsed(QUANTITY_FREQUENCY, "2.4 GHz") == 2.4e9);
	CHECK(parsed(QUANTITY_FREQUENCY, "1000 1/s") == 1000);
	CHECK(parsed(QUANTITY_FLOP_RATE, "9.5 TFLOPS") == 9.5e12);
	CHECK(parsed(QUANTITY_FLOP_RATE, "9.5 TFLOP/s") == 9.5e12);
	CHECK(parsed(QUANTITY_FLOP, "7.7 Gflop") == 7.7e9);
	CHECK_NEAR(parsed(QUANTITY_TIME_PER_BYTE, "0.4 ns/B"), 0.4e-9, 1e-15);
	CHECK_NEAR(parsed(QUANTITY_TIME_PER_BYTE, "2 us/KiB"), 2e-6 / 1024, 1e-15);
	CHECK_NEAR(parsed(QUANTITY_TIME_PER_BYTE, "2 us/MB"), 2e-12, 1e-15);
	CHECK_NEAR(parsed(QUANTITY_TIME_PER_BYTE, "0.5 ns/bit"), 4e-9, 1e-15);
}

static const char *wrong(struct arena *arena, enum quantity quantity, const char *text)
{
	double value = 42;
	const char *what = quantity_parse(arena, quantity, text, &value);
	CHECK(value == 42);
	return what;
}

static void wrong_quantities_get_specific_messages(void)
{
	struct arena *arena = arena_new();
	CHECK_TEXT(wrong(arena, QUANTITY_TIME, "4.5"),
		   "has no unit (write a time such as \"4.5 us\")");
	CHECK_TEXT(wrong(arena, QUANTITY_RATE, "3 us"),
		   "is a time, not a bandwidth (write for example \"25 Gbit/s\")");
	CHECK_TEXT(wrong(arena, QUANTITY_COUNT, "3 %"),
		   "is a ratio, not a plain number (write for example \"8\")");
	CHECK_TEXT(wrong(arena, QUANTITY_BYTES, "many"),
		   "is not a size (write for example \"64 MiB\")");
	CHECK_TEXT(wrong(arena, QUANTITY_BYTES, "64 KB"),
		   "has the unit 'KB' (k is 1000 and Ki is 1024: write kB or KiB)");
	CHECK_TEXT(wrong(arena, QUANTITY_RATE, "64 KB/s"),
		   "has the unit 'KB/s' (k is 1000 and Ki is 1024: write kB/s or KiB/s)");
	CHECK_TEXT(wrong(arena, QUANTITY_RATE, "64 Kbit/s"),
		   "has the unit 'Kbit/s' (k is 1000 and Ki is 1024: write kbit/s or Kibit/s)");
	CHECK_TEXT(wrong(arena, QUANTITY_RATE, "25 gbit/s"),
		   "has an unknown unit 'gbit/s' (write for example \"25 Gbit/s\")");
	CHECK(wrong(arena, QUANTITY_TIME, "1e999 s") != NULL);
	CHECK(wrong(arena, QUANTITY_TIME, "inf s") != NULL);
	CHECK(wrong(arena, QUANTITY_TIME, "") != NULL);
	CHECK(wrong(arena, QUANTITY_TIME, "s/s/s/s/s/s/s/s/s/s/s/s/s/s/s/s/s/s/s") != NULL);
	/* a prefix "milli" is invalid for bytes */
	CHECK(wrong(arena, QUANTITY_BYTES, "3 mB") != NULL);
	arena_free(arena);
}

static void quantities_are_written_with_four_digits(void)
{
	static const struct {
		enum quantity quantity;
		double value;
		const char *text;
	} cases[] = {
		{QUANTITY_TIME, 0, "0 s"},
		{QUANTITY_TIME, 250e-6, "250 us"},
		{QUANTITY_TIME, 4.5e-6, "4.5 us"},
		{QUANTITY_TIME, 999.96e-6, "1 ms"}, /* rounding changes the prefix */
		{QUANTITY_TIME, 1.23456, "1.235 s"},
		{QUANTITY_TIME, 7200, "7200 s"},
		{QUANTITY_TIME, 9999, "9999 s"},
		{QUANTITY_TIME, 36000, "10 h"},
		{QUANTITY_BYTES, 2048, "2 KiB"},
		{QUANTITY_BYTES, 0x1p40, "1 TiB"},
		{QUANTITY_BYTES, 0x1p33 + 1, "8.59 GB"},
		{QUANTITY_RATE, 999.94e3, "999.9 kB/s"},
		{QUANTITY_FLOP_RATE, 2e15, "2 PFLOP/s"},
		{QUANTITY_FLOP_RATE, 2e18, "2 EFLOP/s"},
		{QUANTITY_COUNT, 1e16, "1e+16"},
		{QUANTITY_TIME, 5e-12, "5 ps"},
		{QUANTITY_TIME_PER_BYTE, 0, "0 s/B"},
		{QUANTITY_TIME, -2e-9, "-2 ns"},
		{QUANTITY_RATE, 1.25e9, "1.25 GB/s"},
		{QUANTITY_BYTES, 67108864, "64 MiB"},
		{QUANTITY_BYTES, 64000, "64 kB"},
		{QUANTITY_BYTES, 128000, "128 kB"}, /* not 125 KiB */
		{QUANTITY_BYTES, 102.2e6, "102.2 MB"},
		{QUANTITY_BYTES, 17, "17 B"},
		{QUANTITY_COUNT, 8192, "8192"},
		{QUANTITY_COUNT, 123456789, "123456789"},
		{QUANTITY_COUNT, 2.5, "2.5"},
		{QUANTITY_RATIO, 0.05, "0.05"},
		{QUANTITY_FREQUENCY, 2.4e9, "2.4 GHz"},
		{QUANTITY_FLOP_RATE, 9.5e12, "9.5 TFLOP/s"},
		{QUANTITY_FLOP, 7.7e9, "7.7 Gflop"},
		{QUANTITY_TIME_PER_BYTE, 0.4e-9, "400 ps/B"},
	};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *text = quantity_format(arena, cases[i].quantity, cases[i].value);
		CHECK_TEXT(text, cases[i].text);
		CHECK_NEAR(parsed(cases[i].quantity, text), cases[i].value, 1e-3);
	}
	arena_free(arena);
}

static void examples_of_quantities_can_be_read(void)
{
	for (int quantity = QUANTITY_COUNT; quantity <= QUANTITY_TIME_PER_BYTE; quantity++)
		CHECK(parsed((enum quantity)quantity, quantity_example((enum quantity)quantity)) >
		      0);
}

static void number_parse_refuses_other_text(void)
{
	double value = 42;
	CHECK(!number_parse("", &value));
	CHECK(!number_parse(".", &value));
	CHECK(!number_parse("nan", &value));
	CHECK(!number_parse("0x10", &value));
	CHECK(!number_parse("1,5", &value));
	CHECK(!number_parse("1 2", &value));
	CHECK(!number_parse("1e", &value));
	CHECK(!number_parse("1e999", &value));
	CHECK(value == 42);
	CHECK(number_parse(" .5e1 ", &value) && value == 5);
}

/* Skipped only if no locale with a decimal comma is installed. */
static void decimal_comma_locale_changes_nothing(void)
{
	static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
					      "fr_FR"};
	for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++)
		if (setlocale(LC_NUMERIC, locales[i]))
			break;
	struct arena *arena = arena_new();
	double value = 0;
	CHECK(number_parse("1.5", &value) && value == 1.5);
	CHECK(parsed(QUANTITY_TIME, "1.5 us") == 1.5e-6);
	CHECK_TEXT(quantity_format(arena, QUANTITY_TIME, 1.5e-6), "1.5 us");
	CHECK_TEXT(number_format(arena, 17, 0.5), "0.5");
	arena_free(arena);
	setlocale(LC_NUMERIC, "C");
}

struct sample {
	double wait_s, link_bandwidth_Bps, rows_count, s, chunk;
	double queue_depth;
	bool keep_count;
};

static void param_key_removes_the_unit(void)
{
	static const struct param_row rows[] = {
		PARAM_NUMBER(struct sample, wait_s, QUANTITY_TIME, 0, 1, "1 s", ""),
		PARAM_NUMBER(struct sample, link_bandwidth_Bps, QUANTITY_RATE, 0, 1, "1 B/s", ""),
		PARAM_NUMBER(struct sample, rows_count, QUANTITY_COUNT, 0, 1, "1", ""),
		PARAM_NUMBER(struct sample, s, QUANTITY_TIME, 0, 1, "1 s", ""),
		PARAM_NUMBER(struct sample, chunk, QUANTITY_COUNT, 0, 1, "1", ""),
		PARAM_NUMBER(struct sample, queue_depth, QUANTITY_COUNT, 0, 1, "1", ""),
		PARAM_BOOL(struct sample, keep_count, "false", ""),
	};
	static const char *const keys[] = {"wait",  "link_bandwidth", "rows",      "s",
					   "chunk", "queue_depth",    "keep_count"};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char key[32];
		param_key(&rows[i], key, sizeof key);
		CHECK_TEXT(key, keys[i]);
	}
}

static const struct test tests[] = {
	TEST(every_unit_is_read_exactly),
	TEST(wrong_quantities_get_specific_messages),
	TEST(quantities_are_written_with_four_digits),
	TEST(examples_of_quantities_can_be_read),
	TEST(number_parse_refuses_other_text),
	TEST(decimal_comma_locale_changes_nothing),
	TEST(param_key_removes_the_unit),
};

int main(void)
{
	return TEST_MAIN(tests);
}
