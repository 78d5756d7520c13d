/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/import.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/units.h"
#include "sim/result/json.h"

const struct import_log *const import_logs[] = {
#define IMPORT_LOG(name) &name,
#include "calib/fit/import.def"
#undef IMPORT_LOG
	NULL,
};

/* ---- for the readers ---- */

const char *import_line(struct importing *importing)
{
	size_t length = 0;
	int c;
	while ((c = getc(importing->in)) != EOF && c != '\n') {
		if (c == '\0' || length + 1 == sizeof importing->text) {
			importing->line++;
			import_error(importing, "no log: %s",
				     c ? "a line of more than 64 KiB" : "a zero byte");
			return NULL;
		}
		importing->text[length++] = (char)c;
	}
	if (c == EOF && length == 0)
		return NULL;
	if (length > 0 && importing->text[length - 1] == '\r')
		length--;
	importing->text[length] = '\0';
	importing->line++;
	return importing->text;
}

void import_error(struct importing *importing, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	diag_error(importing->diag, (struct origin){importing->path, importing->line}, "%s",
		   arena_vprintf(importing->arena, format, args));
	va_end(args);
}

size_t import_words(struct importing *importing, const char *line, const char **words, size_t most)
{
	char *copy = arena_strdup(importing->arena, line);
	size_t count = 0;
	while (count < most && *(copy += strspn(copy, " \t"))) {
		words[count++] = copy;
		copy += strcspn(copy, " \t");
		if (*copy)
			*copy++ = '\0';
	}
	return count;
}

bool import_number(struct importing *importing, const char *word, double *value)
{
	if (strcmp(word, "N/A") == 0)
		return false;
	if (!number_parse(word, value) || *value < 0) {
		import_error(importing, "'%s' is no number of this table", word);
		return false;
	}
	return *value > 0;
}

struct import_point *import_point(struct importing *importing, const char *test, const char *words,
				  size_t pass)
{
	struct import_point *point = VEC_PUSH(importing->arena, &importing->points);
	*point = (struct import_point){.test = test, .words = words, .unit = "s", .pass = pass};
	if (pass + 1 > importing->pass_count)
		importing->pass_count = pass + 1;
	return point;
}

void import_at(struct import_point *point, const char *key, double value)
{
	size_t i = 0;
	while (point->x[i].key)
		i++;
	FW_ASSERT(i < IMPORT_NUMBERS);
	point->x[i].key = key;
	point->x[i].value = value;
}

void import_sample(struct importing *importing, struct import_point *point, double value)
{
	double *slot = VEC_PUSH(importing->arena, &point->samples);
	*slot = value;
	if (!isfinite(value) && diag_count(importing->diag) == 0)
		import_error(importing, "a result that is no finite number");
}

const struct importing *import_read(struct arena *arena, struct diag *diag,
				    const struct import_log *log, FILE *in, const char *path)
{
	struct importing *importing = ARENA_NEW(arena, struct importing);
	importing->arena = arena;
	importing->diag = diag;
	importing->in = in;
	importing->path = path;
	importing->tool = log->name;
	log->read(importing);
	if (diag_count(diag) == 0 && importing->points.count == 0) {
		importing->line = 0;
		import_error(importing, "no results of %s in it (%s)", log->name, log->help);
	}
	return diag_count(diag) ? NULL : importing;
}

/* ---- writing ---- */

static void write_head(FILE *out, const struct importing *importing)
{
	struct json_writer json = jw_begin(out, false);
	jw_open(&json, NULL, '{');
	jw_text(&json, "format", "farwire-samples");
	jw_count(&json, "version", 1);
	jw_text(&json, "tool", importing->tool);
	jw_text(&json, "date", "unknown");
	jw_count(&json, "seed", 0);
	jw_text(&json, "mode", "import");
	jw_count(&json, "passes", importing->pass_count);
	jw_open(&json, "host", '{');
	jw_text(&json, "cpu", "unknown");
	jw_text(&json, "kernel", "unknown");
	jw_text(&json, "hypervisor", "unknown");
	jw_close(&json);
	if (importing->gpu) {
		jw_open(&json, "gpu", '{');
		jw_text(&json, "name", importing->gpu);
		jw_close(&json);
	}
	jw_close(&json);
	jw_end(&json);
}

static void write_words(struct json_writer *json, const char *words)
{
	jw_open(json, "is", '{');
	while (*(words += strspn(words, " "))) {
		char key[64], value[64];
		size_t name = strcspn(words, "="), length = strcspn(words, " ");
		snprintf(key, sizeof key, "%.*s", (int)name, words);
		snprintf(value, sizeof value, "%.*s", (int)(length - name - 1), words + name + 1);
		jw_text(json, key, value);
		words += length;
	}
	jw_close(json);
}

static void write_point(FILE *out, const struct import_point *point)
{
	struct json_writer json = jw_begin(out, false);
	jw_open(&json, NULL, '{');
	jw_text(&json, "test", point->test);
	write_words(&json, point->words);
	jw_open(&json, "x", '{');
	for (size_t i = 0; i < IMPORT_NUMBERS && point->x[i].key; i++)
		jw_real(&json, point->x[i].key, point->x[i].value);
	jw_close(&json);
	jw_count(&json, "pass", point->pass);
	jw_text(&json, "unit", point->unit);
	jw_open(&json, "samples", '[');
	for (size_t i = 0; i < point->samples.count; i++)
		jw_real(&json, NULL, point->samples.items[i]);
	jw_close(&json);
	jw_text(&json, "stop", "count");
	jw_flag(&json, "held_out", false);
	jw_close(&json);
	jw_end(&json);
}

void import_write(FILE *out, const struct importing *importing)
{
	write_head(out, importing);
	for (size_t i = 0; i < importing->points.count; i++)
		write_point(out, &importing->points.items[i]);
	fprintf(out, "{\"end\":true,\"lines\":%zu,\"elapsed_s\":0,\"drift\":{}}\n",
		importing->points.count + 2);
}
