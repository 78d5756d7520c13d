/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads tab-separated tables with comments. */
#include "sim/base/lines.h"
#include "sim/analysis/dataset.h"

enum { FILE_MAX_B = 64 << 20 };

struct tsv_reader {
	struct arena *arena;
	struct diag *diag;
	struct tsv *tsv;
	VEC(const char *) cells;
	VEC(const char *) columns;
	VEC(int) lines;
	size_t read_B;
};

/* Returns the next cell of *text and cuts the text there; NULL at the end of the line. */
static char *next_cell(char **text)
{
	char *cell = *text;
	if (!cell)
		return NULL;
	char *tab = strchr(cell, '\t');
	if (tab)
		*tab = '\0';
	*text = tab ? tab + 1 : NULL;
	return cell;
}

static void take_line(struct tsv_reader *r, char *line, int number)
{
	bool header = r->columns.count == 0;
	size_t cells = 0;
	for (char *cell; (cell = next_cell(&line)); cells++) {
		const char **slot =
			header ? VEC_PUSH(r->arena, &r->columns) : VEC_PUSH(r->arena, &r->cells);
		*slot = arena_strdup(r->arena, cell);
	}
	if (header)
		return;
	*VEC_PUSH(r->arena, &r->lines) = number;
	if (cells != r->columns.count)
		diag_error(r->diag, (struct origin){r->tsv->path, number},
			   "the row has %zu cells, but the header names %zu columns (separate "
			   "cells by single tabs)",
			   cells, r->columns.count);
}

/* Returns NULL if there were errors, or no rows. */
static const struct tsv *finished(const struct tsv_reader *r, struct origin origin, size_t before)
{
	if (r->lines.count == 0 && diag_count(r->diag) == before)
		diag_error(r->diag, origin,
			   "the %s no rows (write a header line with the names of columns, "
			   "then rows)",
			   origin.line ? "lines have" : "file has");
	if (diag_count(r->diag) != before)
		return NULL;
	r->tsv->columns = r->columns.items;
	r->tsv->column_count = r->columns.count;
	r->tsv->cells = r->cells.items;
	r->tsv->lines = r->lines.items;
	r->tsv->row_count = r->lines.count;
	return r->tsv;
}

const struct tsv *tsv_of(struct arena *arena, struct diag *diag, const struct cfg_node *list)
{
	struct tsv_reader r = {.arena = arena, .diag = diag, .tsv = ARENA_NEW(arena, struct tsv)};
	size_t before = diag_count(diag);
	r.tsv->path = cfg_origin(list).file;
	for (size_t i = 0; i < cfg_count(list) && diag_count(diag) == before; i++) {
		const char *line = cfg_text(cfg_at(list, i));
		take_line(&r, arena_strdup(arena, line ? line : ""),
			  cfg_origin(cfg_at(list, i)).line);
	}
	return finished(&r, cfg_origin(list), before);
}

const struct tsv *tsv_read(struct arena *arena, struct diag *diag, const char *path)
{
	struct tsv_reader r = {.arena = arena, .diag = diag, .tsv = ARENA_NEW(arena, struct tsv)};
	size_t before = diag_count(diag);
	r.tsv->path = arena_strdup(arena, path);
	FILE *file = file_open(diag, (struct origin){path, 0}, path);
	if (!file)
		return NULL;
	struct lines *lines = ARENA_NEW(arena, struct lines);
	*lines = (struct lines){
		.in = file,
		.diag = diag,
		.origin = {r.tsv->path, 0},
		.too_long = "the line is longer than 64 KiB (write shorter cells)",
		.not_text = "the file contains a zero byte (write it as plain text in UTF-8)"};
	char *line;
	while (diag_count(diag) == before && (line = lines_next(lines))) {
		r.read_B += strlen(line) + 1;
		if (r.read_B > FILE_MAX_B)
			diag_error(diag, lines->origin,
				   "the file is larger than 64 MiB (divide the table)");
		else if (line[0] && line[0] != '#')
			take_line(&r, line, lines->origin.line);
	}
	if (ferror(file))
		diag_error(diag, (struct origin){path, 0}, "the file cannot be read: %s",
			   strerror(errno));
	fclose(file);
	return finished(&r, (struct origin){path, 0}, before);
}

size_t tsv_column(const struct tsv *tsv, const char *name)
{
	for (size_t i = 0; i < tsv->column_count; i++)
		if (strcmp(tsv->columns[i], name) == 0)
			return i;
	return SIZE_MAX;
}
