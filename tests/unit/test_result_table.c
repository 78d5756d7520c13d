/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of results in all formats, and the digits and quotes of predictions in them. */
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

static const char *predicted(enum output_format format, const struct prediction *prediction)
{
	static char *text;
	size_t size_B;
	free(text);
	FILE *file = open_memstream(&text, &size_B);
	predictions_write(file, format, &prediction, 1);
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
	const struct result_table table = {.name = "rtt",
					   .title = "Ratio over RTT",
					   .columns = columns,
					   .column_count = 3,
					   .cells = cells,
					   .row_count = 2};
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
	const struct result_table table = {.name = "times",
					   .title = "Times",
					   .columns = columns,
					   .column_count = 2,
					   .cells = cells,
					   .row_count = 2,
					   .draws = "24 draws"};
	const char *text = written(FORMAT_TABLE, &table);
	CHECK_PART(text, "Times\n24 draws\n\n");
	CHECK(strstr(text, "13.7 h (10 h..14 h)") && strstr(text, "0.2395 h"));
	CHECK(strstr(text, " 20 us\n") != NULL);
	cells[3].number.value = 1e-3; /* a factor of 1000 is not too much */
	CHECK_PART(written(FORMAT_TABLE, &table), " 0.001 s\n");
	CHECK_PART(written(FORMAT_JSON, &table), "\"draws\": \"24 draws\"");
}

/* Throughputs have four digits from 1 on. Durations of trainings have the largest unit of which
 * they are at least 2 days, 1 hour or 2 minutes. */
static void throughputs_and_durations_have_digits_for_their_size(void)
{
	static const struct {
		double value;
		const char *throughput, *training;
	} rows[] = {{0.5, ": 0.5000 ", ": 500 ms"},      {1, ": 1.000 ", ": 1 s"},
		    {10, ": 10.00 ", ": 10 s"},          {100, ": 100.0 ", ": 100 s"},
		    {119, ": 119.0 ", ": 119 s"},        {120, ": 120.0 ", ": 2.0 min"},
		    {1000, ": 1000 ", ": 16.7 min"},     {3600, ": 3600 ", ": 1.00 h"},
		    {86400, ": 86400 ", ": 24.00 h"},    {172800, ": 172800 ", ": 2.00 days"},
		    {259200, ": 259200 ", ": 3.00 days"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct prediction p = {.name = "job",
				       .ok = true,
				       .gpu_count = 8,
				       .token_throughput = ESTIMATE_NONE,
				       .elapsed_s = ESTIMATE_NONE};
		p.throughput = p.training_s =
			(struct estimate){rows[i].value, rows[i].value, rows[i].value};
		const char *text = predicted(FORMAT_TABLE, &p);
		CHECK_PART(text, rows[i].throughput);
		if (!CHECK(strstr(strstr(text, "training time"), rows[i].training)))
			printf("  %g: no '%s'\n", rows[i].value, rows[i].training);
	}
}

static void large_counts_are_whole(void)
{
	static const struct result_column column = {.name = "events"};
	struct result_cell cell = {.number = {12345.6, NAN, NAN}};
	const struct result_table table = {.name = "events",
					   .columns = &column,
					   .column_count = 1,
					   .cells = &cell,
					   .row_count = 1};
	CHECK_PART(written(FORMAT_TABLE, &table), "12346\n");
}

/* A text is quoted if it has a comma or a quote, and only then. */
static void csv_quotes_what_it_must(void)
{
	static const char *const texts[][2] = {{"plain text", "plain text,"},
					       {"a,b", "\"a,b\","},
					       {"5\" wide", "\"5\"\" wide\","},
					       {"", ","}};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const struct prediction p = {.name = texts[i][0], .ok = true};
		const char *row = strstr(predicted(FORMAT_CSV, &p), "\r\n") + 2;
		CHECK(strncmp(row, texts[i][1], strlen(texts[i][1])) == 0);
	}
}

static const struct test tests[] = {
	TEST(throughputs_and_durations_have_digits_for_their_size),
	TEST(csv_quotes_what_it_must),
	TEST(large_counts_are_whole),
	TEST(result_table_writes_csv_json_and_text),
	TEST(numbers_of_a_column_share_a_unit),
};

int main(void)
{
	return TEST_MAIN(tests);
}
