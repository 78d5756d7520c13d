/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/recording.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calib/fit/interval.h"
#include "calib/fit/recording_parts.h"
#include "calib/sample/stats.h"
#include "sim/base/arena.h"

static const size_t MEMORY_MAX_B = (size_t)8 << 30;

/* ---- line 1 ---- */

static void read_machine(struct reading *r, char object)
{
	struct recording *to = r->recording;
	const struct {
		char object;
		const char *key, **text;
		double *number;
	} fields[] = {
		{'h', "cpu", &to->cpu, NULL},
		{'h', "kernel", &to->kernel, NULL},
		{'h', "hypervisor", &to->hypervisor, NULL},
		{'h', "cores", NULL, &to->cores_count},
		{'g', "name", &to->gpu, NULL},
		{'g', "driver", &to->driver, NULL},
		{'g', "cuda", &to->cuda, NULL},
		{'g', "memory_B", NULL, &to->memory_B},
		{'g', "multiprocessors", NULL, &to->sm_count},
		{'g', "pcie_generation", NULL, &to->pcie_generation_count},
		{'g', "pcie_width", NULL, &to->pcie_width_count},
		{'s', "path", &to->storage_path, NULL},
	};
	const size_t count = sizeof fields / sizeof fields[0];
	FW_ASSERT(to);
	if (!reading_opens(r, JP_OBJECT, "the description of the machine in line 1"))
		return;
	while (reading_next(r) == JP_KEY) {
		size_t i = 0;
		while (i < count &&
		       (fields[i].object != object || strcmp(fields[i].key, r->in->text) != 0))
			i++;
		if (i == count)
			reading_skip(r);
		else if (fields[i].text)
			*fields[i].text = reading_text(r, fields[i].key);
		else
			*fields[i].number = reading_number(r, fields[i].key);
	}
}

static void read_header(struct reading *r)
{
	struct recording *to = r->recording;
	const char *format = "";
	double version = 0;
	FW_ASSERT(to);
	while (!r->failed && reading_next(r) == JP_KEY) {
		const char *key = arena_strdup(r->arena, r->in->text);
		const char **text = strcmp(key, "format") == 0 ? &format
				    : strcmp(key, "tool") == 0 ? &to->tool
				    : strcmp(key, "date") == 0 ? &to->date
				    : strcmp(key, "mode") == 0 ? &to->mode
							       : NULL;
		if (text)
			*text = reading_text(r, key);
		else if (strcmp(key, "version") == 0)
			version = reading_number(r, key);
		else if (strcmp(key, "seed") == 0)
			to->seed_count = reading_number(r, key);
		else if (strcmp(key, "host") == 0 || strcmp(key, "gpu") == 0 ||
			 strcmp(key, "storage") == 0)
			read_machine(r, key[0]);
		else
			reading_skip(r);
	}
	if (r->failed || r->in->error)
		return;
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

static void read_words(struct reading *r, struct recording_point *point)
{
	if (!reading_opens(r, JP_OBJECT, "is"))
		return;
	while (reading_next(r) == JP_KEY) {
		if (point->word_count == RECORDING_WORDS) {
			reading_fail(r, "\"is\" has more than %d words (write fewer)",
				     RECORDING_WORDS);
			return;
		}
		struct recording_word *word = &point->is[point->word_count++];
		word->key = arena_strdup(r->arena, r->in->text);
		word->value = reading_text(r, word->key);
	}
}

static void read_numbers(struct reading *r, struct recording_point *point)
{
	if (!reading_opens(r, JP_OBJECT, "x"))
		return;
	while (reading_next(r) == JP_KEY) {
		if (point->number_count == RECORDING_NUMBERS) {
			reading_fail(r, "\"x\" has more than %d numbers (write fewer)",
				     RECORDING_NUMBERS);
			return;
		}
		struct recording_number *number = &point->x[point->number_count++];
		number->key = arena_strdup(r->arena, r->in->text);
		number->value = reading_number(r, number->key);
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

static void read_samples(struct reading *r)
{
	enum jp_token token;
	if (!reading_opens(r, JP_ARRAY, "samples"))
		return;
	r->sample_count = 0;
	while ((token = reading_next(r)) != JP_ARRAY_END && !r->failed) {
		if (token == JP_ERROR)
			return;
		if (token != JP_NUMBER || !isfinite(r->in->number))
			reading_fail(r, "sample %zu must be a finite number", r->sample_count + 1);
		else if (r->sample_count == RECORDING_SAMPLES_MAX)
			reading_fail(r,
				     "the point has more than %d samples (divide them into several "
				     "passes)",
				     RECORDING_SAMPLES_MAX);
		else
			r->samples[r->sample_count++] = r->in->number;
	}
}

static void read_drift(struct reading *r)
{
	if (!reading_opens(r, JP_OBJECT, "drift"))
		return;
	while (reading_next(r) == JP_KEY) {
		double ratio = fabs(reading_number(r, "drift"));
		r->recording->drift_most_ratio = fmax(r->recording->drift_most_ratio, ratio);
	}
}

static void read_fields(struct reading *r, struct line_fields *fields)
{
	while (!r->failed && reading_next(r) == JP_KEY) {
		const char *key = arena_strdup(r->arena, r->in->text);
		if (arena_used_B(r->arena) > MEMORY_MAX_B)
			reading_fail(r, "the recording needs more than 8 GiB of memory (divide it "
					"into several files)");
		else if (strcmp(key, "test") == 0)
			fields->point.test = reading_text(r, key);
		else if (strcmp(key, "is") == 0)
			read_words(r, &fields->point);
		else if (strcmp(key, "x") == 0)
			read_numbers(r, &fields->point);
		else if (strcmp(key, "pass") == 0) {
			fields->pass = reading_number(r, key);
			fields->pass_seen = true;
		} else if (strcmp(key, "unit") == 0)
			fields->unit = reading_text(r, key);
		else if (strcmp(key, "samples") == 0) {
			read_samples(r);
			fields->samples_seen = true;
		} else if (strcmp(key, "held_out") == 0)
			fields->point.held_out = reading_flag(r, key);
		else if (strcmp(key, "waived") == 0)
			fields->waived = reading_text(r, key);
		else if (strcmp(key, "why") == 0)
			fields->why = reading_text(r, key);
		else if (strcmp(key, "end") == 0) {
			fields->end_seen = true;
			fields->end = reading_flag(r, key);
		} else if (strcmp(key, "drift") == 0)
			read_drift(r);
		else
			reading_skip(r);
	}
}

static void read_line(struct reading *r)
{
	struct line_fields fields = {0};
	read_fields(r, &fields);
	if (r->failed || r->in->error)
		return;
	if (r->recording->ended) {
		reading_fail(r, "there is a line after the end line of the recording (remove it)");
	} else if (fields.end_seen) { /* fields.end is false if the time limit ended the sitting */
		r->recording->ended = fields.end;
	} else if (fields.waived) {
		struct recording_waived *waived = VEC_PUSH(r->arena, &r->recording->waived);
		*waived = (struct recording_waived){fields.waived, fields.why ? fields.why : ""};
	} else if (fields.point.test) {
		reading_take_point(r, &fields);
	} else {
		reading_fail(r,
			     "the line must have one of the keys \"test\", \"waived\" and \"end\"");
	}
}

/* A file that ends inside a line was interrupted; other incomplete content is an error. */
static void torn_or_wrong(struct reading *r)
{
	if (!r->failed && !(r->in->torn && r->header_seen))
		reading_fail(r, "%s%s", r->in->error ? r->in->error : "the line is not JSON",
			     r->header_seen ? "" : " (the first line of a recording is missing)");
}

static void read_all(struct reading *r)
{
	enum jp_token token;
	while (!r->failed && (token = jp_next(r->in)) != JP_END) {
		r->line = r->in->line;
		r->start_B = r->in->from_B;
		if (token == JP_OBJECT && r->header_seen)
			read_line(r);
		else if (token == JP_OBJECT)
			read_header(r);
		else if (token != JP_ERROR && r->header_seen)
			reading_fail(r, "a line must be one object, {...}");
		if (r->in->error || !r->header_seen)
			torn_or_wrong(r);
		if (r->in->error)
			return;
	}
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
		stats_sort(medians, point->passes.count);
		point->value = passes_mean(medians, point->passes.count);
		to->sample_count += point->sample_count;
		to->outlier_count += point->outlier_count;
		measured += strcmp(point->test, "drift") != 0;
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
	r->in = jp_open(arena, in);
	read_all(r);
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
