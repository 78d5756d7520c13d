/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of results in all formats. */
#include "tests/test.h"

#include <stdlib.h>

#include "sim/result/result.h"

/* Returns what is written; the next call frees it. */
static const char *written(enum output_format format, const struct result_table *table)
{
	static char *text;
	size_t size_B;
	free(text);
	FILE *file = open_memstream(&text, &size_B);
	result_table_write(file, format, table);
	fclose(file);
	return text;
}

static void result_table_writes_csv_json_and_text(void)
{
	static const struct result_column columns[] = {
		{.name = "rtt_s", .quantity = QUANTITY_TIME},
		{.name = "ratio", .quantity = QUANTITY_RATIO, .interval = true},
		{.name = "verdict", .text = true}};
	struct result_cell cells[] = {
		{.number = {2e-5, NAN, NAN}}, {.number = {0.5, 0.25, 0.75}}, {.text = "ok"},
		{.number = {0.5, NAN, NAN}},  {.number = {NAN, NAN, NAN}},   {.text = NULL}};
	const struct result_table table = {"rtt", "Ratio over RTT", columns, 3, cells, 2};
	CHECK_TEXT(written(FORMAT_CSV, &table), "rtt_s,ratio,ratio_low,ratio_high,verdict\r\n"
						"2e-05,0.5,0.25,0.75,ok\r\n"
						"0.5,,,,\r\n");
	CHECK_TEXT(written(FORMAT_JSONL, &table),
		   "{\"rtt_s\": 2e-05, \"ratio\": {\"value\": 0.5, \"low\": 0.25, \"high\": 0.75}, "
		   "\"verdict\": \"ok\"}\n"
		   "{\"rtt_s\": 0.5, \"ratio\": {\"value\": null, \"low\": null, \"high\": null}, "
		   "\"verdict\": null}\n");
	const char *text = written(FORMAT_JSON, &table);
	CHECK(strstr(text, "\"columns\": [\n    {\"name\": \"rtt_s\", \"unit\": \"s\"},\n") !=
	      NULL);
	text = written(FORMAT_TABLE, &table);
	CHECK(strstr(text, "20 us") != NULL);
	CHECK(strstr(text, "0.5 (0.25..0.75)") != NULL);
	CHECK(strstr(text, "rtt_s") == NULL);
}

/* 862 s are 0.2395 h, like the 13.7 h above. 1 s and 20 us differ by more than a factor of 1000, so
 * that each has its own unit. */
static void numbers_of_a_column_share_a_unit(void)
{
	static const struct result_column columns[] = {
		{.name = "training_s", .quantity = QUANTITY_TIME, .interval = true},
		{.name = "rtt_s", .quantity = QUANTITY_TIME}};
	struct result_cell cells[] = {{.number = {49320, 36000, 50400}},
				      {.number = {1, NAN, NAN}},
				      {.number = {862.2, NAN, NAN}},
				      {.number = {2e-5, NAN, NAN}}};
	const struct result_table table = {"times", "Times", columns, 2, cells, 2};
	const char *text = written(FORMAT_TABLE, &table);
	CHECK(strstr(text, "13.7 h (10 h..14 h)") && strstr(text, "0.2395 h"));
	CHECK(strstr(text, " 20 us\n") != NULL);
}

static const struct test tests[] = {
	TEST(result_table_writes_csv_json_and_text),
	TEST(numbers_of_a_column_share_a_unit),
};

int main(void)
{
	return TEST_MAIN(tests);
}
