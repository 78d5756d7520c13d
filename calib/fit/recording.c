/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/recording.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calib/fit/interval.h"
#include "calib/fit/recording_parts.h"
#include "calib/sample/stats.h"
#include "sim/base/arena.h"

static const size_t MEMORY_MAX_B = (size_t)8 << 30;

bool reading_fail(struct reading *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (!r->failed)
		diag_error(r->diag, (struct origin){r->recording->path, r->line}, "%s",
			   arena_vprintf(r->arena, format, args));
	va_end(args);
	r->failed = true;
	return false;
}

/* ---- members of objects; each stays as it is if the object lacks the key ---- */

static bool take_text(struct reading *r, const struct json *object, const char *key,
		      const char **text)
{
	const struct json *value = json_member(object, key);
	if (value && !json_text_of(value))
		return reading_fail(r, "%s must be a text", key);
	if (value)
		*text = arena_strdup(r->arena, value->text);
	return value;
}

static bool take_number(struct reading *r, const struct json *object, const char *key,
			double *number)
{
	const struct json *value = json_member(object, key);
	if (value && !json_number_of(value, number))
		return reading_fail(r, "%s must be a finite number", key);
	return value;
}

static bool take_flag(struct reading *r, const struct json *object, const char *key, bool *flag)
{
	const struct json *value = json_member(object, key);
	if (value && !json_is(value, JP_TRUE) && !json_is(value, JP_FALSE))
		return reading_fail(r, "%s must be true or false", key);
	*flag = json_is(value, JP_TRUE);
	return value;
}

/* Returns an object or a list; NULL if it is missing. */
static const struct json *part_of(struct reading *r, const struct json *object, const char *key,
				  enum jp_token kind)
{
	const struct json *value = json_member(object, key);
	if (value && !json_is(value, kind))
		reading_fail(r, "%s must be %s", key, kind == JP_OBJECT ? "an object" : "an array");
	return json_is(value, kind) ? value : NULL;
}

/* ---- line 1 ---- */

static void read_header(struct reading *r, const struct json *header)
{
	struct recording *to = r->recording;
	const char *format = "";
	double version = 0;
	const struct {
		const char *part, *key, **text;
		double *number;
	} fields[] = {
		{NULL, "format", &format, NULL},
		{NULL, "tool", &to->tool, NULL},
		{NULL, "date", &to->date, NULL},
		{NULL, "mode", &to->mode, NULL},
		{NULL, "version", NULL, &version},
		{NULL, "seed", NULL, &to->seed_count},
		{"host", "cpu", &to->cpu, NULL},
		{"host", "kernel", &to->kernel, NULL},
		{"host", "hypervisor", &to->hypervisor, NULL},
		{"host", "cores", NULL, &to->cores_count},
		{"gpu", "name", &to->gpu, NULL},
		{"gpu", "driver", &to->driver, NULL},
		{"gpu", "cuda", &to->cuda, NULL},
		{"gpu", "memory_B", NULL, &to->memory_B},
		{"gpu", "multiprocessors", NULL, &to->sm_count},
		{"gpu", "pcie_generation", NULL, &to->pcie_generation_count},
		{"gpu", "pcie_width", NULL, &to->pcie_width_count},
		{"storage", "path", &to->storage_path, NULL},
	};
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		const struct json *of =
			fields[i].part ? part_of(r, header, fields[i].part, JP_OBJECT) : header;
		if (fields[i].text)
			take_text(r, of, fields[i].key, fields[i].text);
		else
			take_number(r, of, fields[i].key, fields[i].number);
	}
	if (strcmp(format, "farwire-samples") != 0)
		reading_fail(r, "this is not a recording of a probe (its first line must be "
				"{\"format\":\"farwire-samples\",\"version\":1,...})");
	else if (version < 1 || version > 1)
		reading_fail(r,
			     "the recording has version %g, but this program reads version 1 "
			     "(record again)",
			     version);
	r->header_seen = true;
}

/* ---- further lines ---- */

static void read_words(struct reading *r, const struct json *words, struct recording_point *point)
{
	if (json_size(words) > RECORDING_WORDS)
		reading_fail(r, "\"is\" has more than %d words (write fewer)", RECORDING_WORDS);
	for (size_t i = 0; i < json_size(words) && !r->failed; i++) {
		struct recording_word *word = &point->is[point->word_count++];
		word->key = arena_strdup(r->arena, words->items[i].key);
		take_text(r, words, word->key, &word->value);
	}
}

static void read_numbers(struct reading *r, const struct json *numbers,
			 struct recording_point *point)
{
	if (json_size(numbers) > RECORDING_NUMBERS)
		reading_fail(r, "\"x\" has more than %d numbers (write fewer)", RECORDING_NUMBERS);
	for (size_t i = 0; i < json_size(numbers) && !r->failed; i++) {
		struct recording_number *number = &point->x[point->number_count++];
		number->key = arena_strdup(r->arena, numbers->items[i].key);
		take_number(r, numbers, number->key, &number->value);
		if (number->value < 0)
			reading_fail(r, "%s must not be negative", number->key);
		else if (number->value > RECORDING_NUMBER_MAX)
			reading_fail(r, "%s is %g, which is impossible (record again)", number->key,
				     number->value);
		else if (strcmp(number->key, "size_B") == 0 && number->value > floor(number->value))
			reading_fail(r, "size_B must be a whole number of bytes, not %g",
				     number->value);
	}
}

static void read_samples(struct reading *r, const struct json *samples)
{
	if (json_size(samples) > RECORDING_SAMPLES_MAX)
		reading_fail(r,
			     "the point has more than %d samples (divide them into several passes)",
			     RECORDING_SAMPLES_MAX);
	for (r->sample_count = 0; r->sample_count < json_size(samples) && !r->failed;
	     r->sample_count++)
		if (!json_number_of(&samples->items[r->sample_count], &r->samples[r->sample_count]))
			reading_fail(r, "sample %zu must be a finite number", r->sample_count + 1);
}

static void read_point(struct reading *r, const struct json *line)
{
	struct line_fields fields = {0};
	const struct json *samples = part_of(r, line, "samples", JP_ARRAY);
	take_text(r, line, "test", &fields.point.test);
	read_words(r, part_of(r, line, "is", JP_OBJECT), &fields.point);
	read_numbers(r, part_of(r, line, "x", JP_OBJECT), &fields.point);
	fields.pass_seen = take_number(r, line, "pass", &fields.pass);
	take_text(r, line, "unit", &fields.unit);
	read_samples(r, samples);
	fields.samples_seen = samples;
	take_flag(r, line, "held_out", &fields.point.held_out);
	if (!r->failed)
		reading_take_point(r, &fields);
}

static void read_end(struct reading *r, const struct json *line)
{
	/* the flag is false if the time limit ended the sitting */
	take_flag(r, line, "end", &r->recording->ended);
}

static void read_line(struct reading *r, const struct json *line)
{
	struct recording_waived waived = {.why = ""};
	if (arena_used_B(r->arena) > MEMORY_MAX_B)
		reading_fail(r, "the recording needs more than 8 GiB of memory (divide it into "
				"several files)");
	else if (r->recording->ended)
		reading_fail(r, "there is a line after the end line of the recording (remove it)");
	else if (json_member(line, "end"))
		read_end(r, line);
	else if (take_text(r, line, "waived", &waived.test)) {
		take_text(r, line, "why", &waived.why);
		*VEC_PUSH(r->arena, &r->recording->waived) = waived;
	} else if (json_member(line, "test"))
		read_point(r, line);
	else
		reading_fail(r,
			     "the line must have one of the keys \"test\", \"waived\" and \"end\"");
}

/* Reads the next line. Returns false at the end. A file that ends inside a line was interrupted;
 * its other lines count. */
static bool read_next(struct reading *r, struct jp_reader *in)
{
	uint64_t before_B = in->read_B;
	struct arena *scratch = arena_new();
	const struct json *line = json_next(scratch, in, RECORDING_LINE_MAX_B);
	r->line = line ? line->line : in->line;
	if (in->read_B - before_B > RECORDING_LINE_MAX_B)
		reading_fail(r, "the line is longer than 1 MiB, so this is not a recording (name a "
				"file of a probe)");
	else if (in->error && !(in->torn && r->header_seen))
		reading_fail(r, "%s%s", in->error,
			     r->header_seen ? "" : " (the first line of a recording is missing)");
	else if (line && !json_is(line, JP_OBJECT))
		reading_fail(r, r->header_seen ? "a line must be one object, {...}"
					       : "the first line of a recording is missing");
	else if (line && r->header_seen)
		read_line(r, line);
	else if (line)
		read_header(r, line);
	arena_free(scratch);
	return line && !r->failed;
}

static void finish(struct reading *r)
{
	struct recording *to = r->recording;
	size_t measured = 0;
	double medians[RECORDING_PASSES_MAX];
	for (size_t i = 0; i < to->points.count; i++) {
		struct recording_point *point = &to->points.items[i];
		for (size_t k = 0; k < point->passes.count; k++)
			medians[k] = point->passes.items[k].median;
		if (strcmp(point->test, "drift") == 0)
			to->drift_most_ratio =
				fmax(to->drift_most_ratio,
				     fabs(stats_change(medians, point->passes.count)));
		else
			measured++;
		stats_sort(medians, point->passes.count);
		point->value = passes_mean(medians, point->passes.count);
		to->sample_count += point->sample_count;
		to->outlier_count += point->outlier_count;
	}
	r->line = 0;
	if (!r->failed && !r->header_seen)
		reading_fail(r, "the file is empty (record again)");
	else if (!r->failed && measured == 0)
		reading_fail(r, "the file has no samples (record again)");
}

const struct recording *recording_read(struct arena *arena, struct diag *diag, const char *path)
{
	return recording_read_from(arena, diag, fopen(path, "rb"), path);
}

const struct recording *recording_read_from(struct arena *arena, struct diag *diag, FILE *in,
					    const char *path)
{
	struct recording *recording = ARENA_NEW(arena, struct recording);
	struct reading *r = ARENA_NEW(arena, struct reading);
	/* ftell fails for a pipe, which cannot be read twice, and the first pass computes the
	 * fingerprint */
	if (!in || hash_file(in, recording->hash) != 0 || fseek(in, 0, SEEK_SET) != 0) {
		diag_error(diag, (struct origin){path, 0}, "the file cannot be read: %s",
			   errno == ESPIPE ? "it is a pipe, which cannot be read twice (write the "
					     "recording into a file)"
					   : strerror(errno));
		if (in)
			fclose(in);
		return NULL;
	}
	*r = (struct reading){.arena = arena, .diag = diag, .recording = recording, .line = 1};
	recording->path = arena_strdup(arena, path);
	recording->tool = recording->date = recording->mode = recording->cpu = recording->kernel =
		recording->hypervisor = recording->driver = recording->cuda = "unknown";
	r->samples = ARENA_ARRAY(arena, RECORDING_SAMPLES_MAX, double);
	struct jp_reader *json = jp_open(arena, in);
	while (read_next(r, json))
		;
	finish(r);
	fclose(in);
	return r->failed ? NULL : recording;
}

/* ---- looking up ---- */

const char *recording_point_word(const struct recording_point *point, const char *key)
{
	for (size_t i = 0; i < point->word_count; i++)
		if (strcmp(point->is[i].key, key) == 0)
			return point->is[i].value;
	return NULL;
}

double recording_point_number(const struct recording_point *point, const char *key, double fallback)
{
	for (size_t i = 0; i < point->number_count; i++)
		if (strcmp(point->x[i].key, key) == 0)
			return point->x[i].value;
	return fallback;
}

static bool has_words(const struct recording_point *point, const char *words)
{
	while (*(words += strspn(words, " "))) {
		size_t length = strcspn(words, " ");
		bool found = false;
		for (size_t i = 0; i < point->word_count && !found; i++) {
			size_t key = strlen(point->is[i].key);
			found = key < length && words[key] == '=' &&
				strncmp(words, point->is[i].key, key) == 0 &&
				strlen(point->is[i].value) == length - key - 1 &&
				strncmp(words + key + 1, point->is[i].value, length - key - 1) == 0;
		}
		if (!found)
			return false;
		words += length;
	}
	return true;
}

size_t recording_find(const struct recording *recording, struct arena *arena, const char *test,
		      const char *words, const struct recording_point *const **found)
{
	VEC(const struct recording_point *) list = {0};
	for (size_t i = 0; i < recording->points.count; i++) {
		const struct recording_point *point = &recording->points.items[i];
		if (strcmp(point->test, test) != 0 || !has_words(point, words))
			continue;
		const struct recording_point **slot = VEC_PUSH(arena, &list);
		*slot = point;
	}
	*found = list.items;
	return list.count;
}
