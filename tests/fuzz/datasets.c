/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dataset file and, after a line "---", the table that it can name, table.tsv. */
#include "sim/analysis/dataset.h"
#include "tests/fuzz/tiny_root.h"

#include <math.h>

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	char *text = fuzz_text(arena, data, size_B), *file = fuzz_part(&text);
	const char *root = tiny_root(arena), *path = fuzz_file(arena, "x.cfg", file, strlen(file));
	fuzz_file(arena, "table.tsv", text, strlen(text));
	const struct dataset *dataset = dataset_read(arena, diag, root, path, NULL, 0);
	FUZZ_CHECK_ANSWER(dataset, diag);
	for (size_t i = 0; dataset && i < dataset->row_count; i++) {
		const struct dataset_row *row = &dataset->rows[i];
		FUZZ_CHECK(row->label && !(row->measured <= 0) && !isinf(row->measured));
		FUZZ_CHECK(!isinf(row->linear));
		for (size_t k = 0; k < row->setting_count; k++)
			FUZZ_CHECK(row->settings[k].text != NULL);
	}
	arena_free(arena);
}
