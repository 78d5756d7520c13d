/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file with one number becomes a recording of one sample. */
#include "calib/fit/import.h"

static void read_log(struct importing *importing)
{
	const char *words[1], *line = import_line(importing);
	double value;
	if (line && import_words(importing, line, words, 1) == 1 &&
	    import_number(importing, words[0], &value)) {
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
