/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing HTML, element by element, straight to a file.
 *
 * Everything that comes from outside passes html_text, which escapes it, so a
 * file name or a label can hold anything. Pictures are data URIs in <img>, never
 * markup of the page: no style or id of one reaches the other, and a reader draws
 * only those that are in sight. A page refers to nothing outside itself and runs
 * nothing.
 */
#ifndef FARWIRE_REPORT_HTML_H
#define FARWIRE_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

/* & < > " ' as entities; control characters but tab and line end become U+FFFD. */
void html_text(FILE *out, const char *text);
/* <tag attributes>text</tag> and a line end; attributes is written as it is
 * (" class=\"x\"", or ""). */
void html_element(FILE *out, const char *tag, const char *attributes, const char *text);
/* <img> of a picture, width_px wide (less on a narrow page). */
void html_image(FILE *out, const char *media_type, const void *bytes, size_t size, double width_px,
		const char *alt);
/* RFC 4648, padded, on one line. */
/* From the doctype to <body>, with farwire's style sheet; and the rest. */
void html_begin(FILE *out, const char *title);
void html_end(FILE *out);

#endif
