/* SPDX-License-Identifier: Apache-2.0 */
/* Checks UTF-8. Texts from files and command lines may contain any bytes, but JSON, SVG and HTML
 * output must be valid UTF-8. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Replaces each invalid byte (U+FFFD). */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Returns the number of bytes of the character at text. Returns 0 if the bytes are not a valid
 * character: a stray byte, an overlong form, a surrogate, or a code above U+10FFFF. */
size_t utf8_length(const unsigned char *text);
/* Returns the code of the character at text if readers would not see it: one of no width, or one
 * that changes the direction or the language of a text. These are the C1 controls, those of
 * category Cf, separators of lines, variation selectors and fillers of Unicode 15. Returns 0 for
 * others. Output shows such a character as "\u202e". */
uint32_t utf8_invisible(const unsigned char *text);
