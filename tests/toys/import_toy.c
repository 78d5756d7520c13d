/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file with one number becomes a recording of one sample. */
#include "sim/import/importer.h"

static void read_log(struct importing *importing)
{
	const char *line = lines_next(&importing->lines);
	double value;
	if (line && import_words(importing, line) == 1 &&
	    import_number(importing, importing->words[0], &value)) {
		struct import_point *point = import_point(importing, "toy", "what=toy");
		import_at(importing, point, "size_B", 1);
		import_sample(importing, point, value);
	}
}

const struct importer import_toy = {
	.name = "toy",
	.help = "an importer of tests/toys",
	.expected = "expected a number",
	.log = read_log,
};
