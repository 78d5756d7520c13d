/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text tables for people: columns aligned, numbers to the right, UTF-8 safe. */
#ifndef FARWIRE_BASE_TABLE_H
#define FARWIRE_BASE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct arena;
struct table;

struct table *table_new(struct arena *arena);
/* A column; right: numbers. Call before the first row. */
void table_column(struct table *table, const char *title, bool right);
/* Cells are taken from left to right; table_row starts the next row. A row
 * shorter than the columns is filled with blanks. Text is copied. */
void table_row(struct table *table);
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines are to have so many characters at most: a last column of text is broken
 * between words and goes on below its beginning. Not called: nothing is broken. */
void table_line_width(struct table *table, size_t width);
void table_print(const struct table *table, FILE *out);

#endif
