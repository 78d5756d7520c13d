/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fingerprint of a recording (SHA-256, FIPS 180-4). A profile contains the fingerprint of the
 * file that it was made from. This is the only module that uses nettle. */
#pragma once

#include "sim/base/base.h"

enum { HASH_TEXT_B = 65 }; /* 64 digits and a zero byte */

/* Hashes the rest of the file. Returns -1, with errno set, if it cannot be read. */
int hash_file(FILE *in, char text[HASH_TEXT_B]);
