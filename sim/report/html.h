/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes HTML directly to a file, element by element.
 *
 * html_text escapes all text, so file names and labels can contain any character. A page has no
 * scripts and no references to other files.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Writes & < > " ' as entities, and control characters except tab and line end as U+FFFD. */
void html_text(FILE *out, const char *text);
/* Writes <tag attributes>text</tag> and a line end. The attributes are not escaped; they begin with
 * a space (" class=\"x\"") or are "". */
void html_element(FILE *out, const char *tag, const char *attributes, const char *text);
/* html_begin writes everything from the doctype to <body>, with the style sheet; html_end closes
 * it. */
void html_begin(FILE *out, const char *title);
void html_end(FILE *out);
