/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fake_gpu/planted.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *key;
	size_t offset;
	double preset;
} rows[] = {
#define PLANT(key, field, preset) {key, offsetof(struct planted, field), preset},
#include "tests/fake_gpu/planted.def"
#undef PLANT
};

static const struct {
	const char *key, *preset;
} copy_rows[PLANTED_COPIES] = {
	[PLANTED_H2D] = {"copy.h2d.pinned", "0:1.2e-6:0 4096:1.1e-6:4.2e-11"},
	[PLANTED_D2H] = {"copy.d2h.pinned", "0:1.3e-6:0 4096:1.2e-6:4e-11"},
	[PLANTED_H2D_PAGEABLE] = {"copy.h2d.pageable",
				  "0:2e-6:1e-11 65536:6e-6:9e-11 4194304:2e-5:1.2e-10"},
	[PLANTED_D2H_PAGEABLE] = {"copy.d2h.pageable", "0:6e-6:1.1e-10"},
	[PLANTED_MEMSET] = {"copy.memset", "0:1.4e-6:8e-13"},
};

static bool parse_line(const char *text, struct planted_line *line)
{
	int used;
	line->count = 0;
	for (; *(text += strspn(text, " \t")); text += used) {
		if (line->count == PLANTED_SEGMENTS ||
		    sscanf(text, "%lf:%lf:%lf%n", &line->segments[line->count].from_B,
			   &line->segments[line->count].start_s,
			   &line->segments[line->count].byte_spB, &used) != 3)
			return false;
		line->count++;
	}
	return line->count > 0;
}

static bool set(struct planted *planted, const char *key, const char *value)
{
	char *end;
	for (size_t i = 0; i < PLANTED_COPIES; i++)
		if (strcmp(copy_rows[i].key, key) == 0)
			return parse_line(value, &planted->copies[i]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].key, key) == 0) {
			double number = strtod(value, &end);
			memcpy((char *)planted + rows[i].offset, &number, sizeof(number));
			return end != value && end[strspn(end, " \t")] == '\0' && number >= 0 &&
			       number < 1e300;
		}
	return false;
}

static int read_file(struct planted *planted, FILE *file, const char *path, char *why, size_t room)
{
	char line[512], key[64];
	for (int number = 1; fgets(line, sizeof(line), file); number++) {
		int value = 0;
		line[strcspn(line, "#\n")] = '\0';
		if (line[strspn(line, " \t")] == '\0')
			continue;
		if (sscanf(line, " %63[a-z0-9_.] = %n", key, &value) != 1 || value == 0 ||
		    !set(planted, key, line + value)) {
			snprintf(why, room, "%.120s:%d: not a planted parameter: %.40s", path,
				 number, line);
			return -1;
		}
	}
	return 0;
}

int planted_read(struct planted *planted, const char *path, char *why, size_t room)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		memcpy((char *)planted + rows[i].offset, &rows[i].preset, sizeof(double));
	for (size_t i = 0; i < PLANTED_COPIES; i++)
		parse_line(copy_rows[i].preset, &planted->copies[i]);
	if (!path)
		return 0;
	FILE *file = fopen(path, "re");
	if (!file) {
		snprintf(why, room, "%.120s: %s", path, strerror(errno));
		return -1;
	}
	int code = read_file(planted, file, path, why, room);
	fclose(file);
	return code;
}

double planted_copy_s(const struct planted *planted, enum planted_copy copy, double size_B)
{
	const struct planted_line *line = &planted->copies[copy];
	size_t i = line->count - 1;
	while (i > 0 && line->segments[i].from_B > size_B)
		i--;
	return line->segments[i].start_s + line->segments[i].byte_spB * size_B;
}
