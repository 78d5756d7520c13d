/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of recorded requests (serve.list): what they may contain. */
#include "sim/serving/requests.h"
#include "tests/own_folder.h"

static void tables_of_requests_have_limits(void)
{
	static const struct {
		const char *text, *error; /* NULL: one request of 3 and 4 tokens */
	} rows[] = {
		{"time prompt output\n0.5\t3\t4\n", NULL},
		{"# a comment\n\n0.5 3 4\r\n", NULL},
		{"999999.9 3 4\n", NULL},
		{"1e6 3 4\n", ":1: a request needs a time from 0 to 1e6 s"},
		{"-1 3 4\n", ":1: a request needs a time"},
		{"0 3 4\nnan 3 4\n", ":2: a request needs a time"},
		{"nan 3 4\n0 3 4\n", ":1: a request needs a time"},
		{"inf\t3\t4\n0 3 4\n", ":1: a request needs a time"},
		{"inference 3 4\n0 3 4\n", NULL},
		{"0 3.5 4\n", ":1: a request needs a time from 0 to 1e6 s and two whole numbers"},
		{"0 3 4.000001\n", ":1: a request needs a time"},
		{"0 0 4\n", ":1: a request needs a time"},
		{"0 3 0.5\n", ":1: a request needs a time"},
		{"0 3 1e300\n", ":1: a request needs a time"},
		{"0 1e300 4\n", ":1: a request needs a time"},
		{"0 3 4 1.5 2\n", ":1: a request needs a time"},
		{"0 3 4 1 1.5\n", ":1: a request needs a time"},
		{"0 3 4 1 -1\n", ":1: a request needs a time"},
		{"0 3 4 -1 1\n", ":1: a request needs a time"},
		{"0 3 4 1e300 1\n", ":1: a request needs a time"},
		{"0 3 4 1 1 1\n", ":1: a request needs a time"},
		{"0 3 4 1 3\n", NULL},
		{"5\n0 3 4\n", ":1: a request needs a time"},
		{"0 3 4 5\n", ":1: a request needs a time"},
		{"0.5 3 4\ntime prompt output\n", ":2: a request needs a time"},
		{"1 3 4\n0.5 3 4\n", ":2: the request arrives before the request above it"},
		{"# nothing\n", ":1: the table of requests is empty"},
		{"", ":1: the table of requests is empty"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *path = path_of("requests.tsv");
		diag = diag_new(arena);
		write_file("requests.tsv", rows[i].text);
		struct request_list list =
			requests_read(arena, diag, (struct origin){"case.cfg", 1}, path, 0);
		if (rows[i].error) {
			if (CHECK(list.count == 0 && diag_count(diag) > 0))
				CHECK_PART(diag_at(diag, 0), rows[i].error);
		} else if (CHECK(list.count == 1 && diag_count(diag) == 0)) {
			CHECK(list.items[0].prompt == 3 && list.items[0].output == 4);
		}
		remove(path);
	}
}

static void the_shortest_request_has_a_token_each_way(void)
{
	diag = diag_new(arena);
	write_file("one.tsv", "0 1 1\n");
	struct request_list list =
		requests_read(arena, diag, (struct origin){"case.cfg", 1}, path_of("one.tsv"), 0);
	if (CHECK(list.count == 1 && diag_count(diag) == 0))
		CHECK(list.items[0].prompt == 1 && list.items[0].output == 1);
	remove(path_of("one.tsv"));
}

/* A NUL byte does not hide the rest of a line, and a folder is not an empty table. */
static void tables_of_requests_are_text(void)
{
	static const char nul[] = "0.5 3 4\0 5\n0.5 3 4\0";
	const char *path = path_of("nul.tsv");
	FILE *out = fopen(path, "w");
	if (!CHECK(out != NULL))
		return;
	fwrite(nul, 1, sizeof nul, out);
	fclose(out);
	diag = diag_new(arena);
	struct origin origin = {"case.cfg", 1};
	CHECK(requests_read(arena, diag, origin, path, 0).count == 0 && diag_count(diag) == 1);
	CHECK_PART(diag_at(diag, 0), ":1: the line contains a NUL byte");
	remove(path);
	diag = diag_new(arena);
	CHECK(requests_read(arena, diag, origin, path_of(""), 0).count == 0);
	if (CHECK(diag_count(diag) > 0))
		CHECK_PART(diag_at(diag, 0), "cannot be read");
}

/* The first request begins with 2 tokens of group 7. The second one states no group, so it begins
 * with the tokens of serve.prefix. */
static void requests_have_groups_with_shared_tokens(void)
{
	diag = diag_new(arena);
	write_file("groups.tsv", "0 3 4 7 2\n1 9 1\n");
	struct request_list list = requests_read(arena, diag, (struct origin){"case.cfg", 1},
						 path_of("groups.tsv"), 5);
	if (CHECK(list.count == 2 && diag_count(diag) == 0)) {
		CHECK(list.items[0].group == 7 && list.items[0].shared == 2);
		CHECK(list.items[1].group == 0 && list.items[1].shared == 5);
	}
	write_file("groups.tsv", "0 3 4 7 4\n");
	list = requests_read(arena, diag, (struct origin){"case.cfg", 1}, path_of("groups.tsv"), 0);
	CHECK(list.count == 0 && diag_count(diag) == 1);
	remove(path_of("groups.tsv"));
}

/* A table with errors in all lines is not read to its end. */
static void ten_errors_of_a_table_are_enough(void)
{
	char text[20 * 8] = "";
	for (int i = 0; i < 20; i++)
		strcat(text, "0 0 0\n");
	diag = diag_new(arena);
	write_file("bad.tsv", text);
	CHECK(requests_read(arena, diag, (struct origin){"case.cfg", 1}, path_of("bad.tsv"), 0)
		      .count == 0);
	CHECK(diag_count(diag) == 10);
	remove(path_of("bad.tsv"));
}

static const struct test tests[] = {
	TEST(ten_errors_of_a_table_are_enough), TEST(requests_have_groups_with_shared_tokens),
	TEST(tables_of_requests_have_limits),   TEST(the_shortest_request_has_a_token_each_way),
	TEST(tables_of_requests_are_text),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
