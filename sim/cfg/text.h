/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expands files into one text for libconfig.
 *
 * libconfig resolves includes against one fixed folder, reports only "syntax error", and reads an
 * integer of more than 31 bits as 0. Therefore farwire scans the text first. The scan inserts
 * included files and keeps the file and line of each line of the result. It also refuses text that
 * libconfig would misread or explain badly: open strings, brackets and comments, texts and
 * quantities without quotes, repeated names, trailing commas, long integers. libconfig parses the
 * result.
 */
#pragma once

#include "sim/base/base.h"

struct cfg_source_text {
	VEC(char) text;           /* ends in NUL, which count includes */
	VEC(struct origin) lines; /* item i is the origin of line i + 1 of the text */
};

/* Expands path, with the text `given`, or from the file if given is NULL. Allocates the result in
 * scratch and file names in keep. Returns false after errors, which are in diag. */
bool cfg_source_expand(struct arena *scratch, struct arena *keep, struct diag *diag,
		       const char *path, const char *given, struct cfg_source_text *source);

/* Returns the place where a line (from 1) of the expanded text was written; line 0 gives the root
 * file. */
struct origin cfg_source_origin(const struct cfg_source_text *source, unsigned line);

/* Reads a file of at most 16 MiB into scratch and stores its identity, which finds loops of
 * includes. On an error it returns NULL and sets *wrong to the reason ("is a directory"). */
struct cfg_file_identity {
	unsigned long long device, node;
};
const char *cfg_file_load(struct arena *scratch, const char *path,
			  struct cfg_file_identity *identity, const char **wrong);
