/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first lines of tables. */
#include "sim/analysis/dataset.h"
#include "tests/own_folder.h"

/* A byte order mark belongs to the first line only. A header needs rows. */
static void tables_begin_with_a_header_and_have_rows(void)
{
	write_file("table.tsv", "\xef\xbb\xbf"
				"a\tb\n\xef\xbb\xbfx\t1\n");
	diag = diag_new(arena);
	const struct tsv *tsv = tsv_read(arena, diag, path_of("table.tsv"));
	if (CHECK(tsv && tsv->row_count == 1)) {
		CHECK_TEXT(tsv->columns[0], "a");
		CHECK_TEXT(tsv->cells[0], "\xef\xbb\xbfx");
	}
	static const char *const empty[] = {"a\tb\n", "# a comment\n", ""};
	for (size_t i = 0; i < 3; i++) {
		write_file("table.tsv", empty[i]);
		diag = diag_new(arena);
		CHECK(tsv_read(arena, diag, path_of("table.tsv")) == NULL);
		CHECK_PART(diag_at(diag, 0), "has no rows");
	}
	remove(path_of("table.tsv"));
}

static const struct test tests[] = {
	TEST(tables_begin_with_a_header_and_have_rows),
};

int main(void)
{
	int code = folder_begin() ? TEST_MAIN(tests) : 1;
	folder_end();
	return code;
}
