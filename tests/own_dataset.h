/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A test program whose tests read datasets of their own. */
#pragma once

#include "sim/analysis/dataset.h"
#include "tests/own_folder.h"

/* Reads a dataset whose group has this text, next to a table.tsv with these lines. */
static inline const struct dataset *read_with(const char *table, const char *text,
					      const struct setting *extra, size_t extra_count)
{
	write_file("table.tsv", table);
	write_file(
		"own.cfg",
		arena_printf(arena,
			     "dataset = { name = \"own\"; title = \"t\"; source = \"s\";\n%s\n};\n",
			     text));
	diag = diag_new(arena);
	const struct dataset *dataset = dataset_read(arena, diag, data_root_find(arena),
						     path_of("own.cfg"), extra, extra_count);
	remove(path_of("table.tsv"));
	remove(path_of("own.cfg"));
	return dataset;
}

static inline const struct dataset *read_own(const char *table, const char *text)
{
	static const struct setting extra = {"case.seed_of_test=1", {"--set", 0}};
	return read_with(table, text, &extra, 1);
}

static inline const struct dataset *good(const struct dataset *dataset)
{
	diag_print(diag, stdout);
	CHECK(dataset != NULL);
	return dataset;
}

static inline void check_refused(const void *result, const char *part)
{
	CHECK(result == NULL && diag_count(diag) > 0);
	if (diag_count(diag) > 0 && !CHECK(strstr(diag_at(diag, 0), part) != NULL))
		printf("  said: %s\n", diag_at(diag, 0));
}

/* Six rows: bare, box and vm, each alone and beside. */
#define GRID                                                                                       \
	"quantity = \"throughput\"; dimensions = ("                                                \
	"{ name = \"place\"; values = ( { is = \"bare\"; }, { is = \"box\"; }, { is = \"vm\"; } "  \
	"); },"                                                                                    \
	"{ name = \"load\"; values = ( { is = \"alone\"; settings = [\"l=0\"]; }, { is = "         \
	"\"beside\"; } ); } );"
