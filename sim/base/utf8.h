/* SPDX-License-Identifier: Apache-2.0 */
/* Texts come from files and command lines and may hold any bytes; what is written as
 * JSON, SVG or HTML must be UTF-8. */
#ifndef FARWIRE_BASE_UTF8_H
#define FARWIRE_BASE_UTF8_H

#include <stddef.h>

/* Stands for what is no character: U+FFFD. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Bytes of the character at text, or 0 if it is none (a stray byte, an overlong form, a
 * surrogate, past U+10FFFF). */
size_t utf8_length(const unsigned char *text);

#endif
