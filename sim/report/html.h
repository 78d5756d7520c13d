/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes HTML directly to a file, element by element.
 *
 * html_text escapes all text, so file names and labels can contain any character. Figures are data
 * URIs in <img> elements. Their styles and ids therefore cannot affect the page, and a browser
 * draws only the visible figures. A page has no scripts and no references to other files.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Writes & < > " ' as entities, and control characters except tab and line end as U+FFFD. */
void html_text(FILE *out, const char *text);
/* Writes <tag attributes>text</tag> and a line end. The attributes are not escaped; they begin with
 * a space (" class=\"x\"") or are "". */
void html_element(FILE *out, const char *tag, const char *attributes, const char *text);
/* Writes a figure as <img> with a width of width_px, or less on a narrow page. The base64 text has
 * padding and is on one line (RFC 4648). */
void html_image(FILE *out, const char *media_type, const void *bytes, size_t size, double width_px,
		const char *alt);
/* html_begin writes everything from the doctype to <body>, with the style sheet; html_end closes
 * it. */
void html_begin(FILE *out, const char *title);
void html_end(FILE *out);
