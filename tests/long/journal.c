/* SPDX-License-Identifier: GPL-3.0-or-later */
/* journal FROM TO COUNT: writes the journal of a sweep of COUNT points, all of which are done. They
 * are copies of the first point in the journal FROM of the same sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/analysis/journal.h"
#include "sim/base/arena.h"

int main(int argc, char **argv)
{
	static const char begin[] = "\"point\":";
	char *line = NULL;
	size_t room = 0, body_B = 0, size_B = 0;
	FILE *from = argc == 4 ? fopen(argv[1], "r") : NULL;
	FILE *to = from ? fopen(argv[2], "w") : NULL;
	struct arena *arena = arena_new();
	if (!to || getline(&line, &room, from) < 0 || fputs(line, to) < 0 ||
	    getline(&line, &room, from) < 0)
		return 1;
	const char *body = journal_body(line, strlen(line), &body_B);
	if (!body || memcmp(body, begin, sizeof begin - 1) != 0)
		return 1;
	const char *rest = strchr(body, ',');
	int rest_B = (int)(body + body_B - rest);
	for (unsigned long i = 0, count = strtoul(argv[3], NULL, 10); i < count; i++) {
		struct arena *scratch = arena_new();
		const char *text = arena_printf(scratch, "%s%lu%.*s", begin, i, rest_B, rest);
		fputs(journal_line(scratch, text, &size_B), to);
		arena_free(scratch);
	}
	free(line);
	arena_free(arena);
	return fclose(to) != 0;
}
