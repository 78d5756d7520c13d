/* SPDX-License-Identifier: GPL-3.0-or-later */
/* journal FROM TO COUNT: writes the journal of a sweep of COUNT points, all of which are done. They
 * are copies of the first point in the journal FROM of the same sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	static const char begin[] = "{\"point\":";
	char *line = NULL;
	size_t room = 0;
	FILE *from = argc == 4 ? fopen(argv[1], "r") : NULL;
	FILE *to = from ? fopen(argv[2], "w") : NULL;
	if (!to || getline(&line, &room, from) < 0 || fputs(line, to) < 0 ||
	    getline(&line, &room, from) < 0 || strncmp(line, begin, sizeof begin - 1) != 0)
		return 1;
	const char *rest = strchr(line, ',');
	for (unsigned long i = 0, count = strtoul(argv[3], NULL, 10); i < count; i++)
		fprintf(to, "%s%lu%s", begin, i, rest);
	free(line);
	return fclose(to) != 0;
}
