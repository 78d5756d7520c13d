/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From files to one text that libconfig can parse.
 *
 * libconfig resolves an include against one fixed folder, says "syntax error"
 * and nothing more, and reads an integer past 31 bits as 0. So farwire looks
 * first: it splices included files in, remembers for every line of the result
 * which file and line it came from, and refuses what libconfig would misread
 * or explain badly (open strings, brackets and comments, text and quantities
 * without quotes, repeated names, trailing commas, long integers). What is
 * left goes to libconfig.
 */
#ifndef FARWIRE_CFG_TEXT_H
#define FARWIRE_CFG_TEXT_H

#include <stdbool.h>

#include "sim/base/diag.h"
#include "sim/base/vec.h"

struct arena;

struct cfg_source_text {
	VEC(char) text;           /* ends in NUL, which is counted */
	VEC(struct origin) lines; /* of line i + 1 of the text */
};

/* Expands path (given: its text, or NULL to read the file). The result is in
 * scratch, file names in keep. False after errors, which are in diag. */
bool cfg_source_expand(struct arena *scratch, struct arena *keep, struct diag *diag,
		       const char *path, const char *given, struct cfg_source_text *source);

/* Where line (from 1) of the expanded text was written; line 0: the root. */
struct origin cfg_source_origin(const struct cfg_source_text *source, unsigned line);

/* ---- shared by the two files that do this ---- */

/* Reads a whole file of at most 16 MiB into scratch. NULL: then *wrong says
 * why ("is a directory"). Reports the file's identity for finding loops. */
struct cfg_file_identity {
	unsigned long long device, node;
};
const char *cfg_file_load(struct arena *scratch, const char *path,
			  struct cfg_file_identity *identity, const char **wrong);

#endif
