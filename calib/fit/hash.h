/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fingerprint of a recording (SHA-256, FIPS 180-4): a profile names it, so
 * that nobody has to wonder which file it came from. The one door to nettle. */
#ifndef FARWIRE_CALIB_FIT_HASH_H
#define FARWIRE_CALIB_FIT_HASH_H

#include <stdio.h>

enum { HASH_TEXT_B = 65 }; /* 64 digits and a zero byte */

/* Of the rest of the file; -1 with errno set where it cannot be read. */
int hash_file(FILE *in, char text[HASH_TEXT_B]);

#endif
