/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads files that gzip has compressed. Only gunzip.c uses zlib. */
#pragma once

#include "sim/base/diag.h"

/* Returns the file itself if its first two bytes are not those of gzip. Otherwise returns a
 * temporary file with the unpacked content, and closes the file. Returns NULL after an error, which
 * is in diag; the file is closed then, too. */
FILE *gunzip_open(struct diag *diag, struct origin origin, FILE *in);
