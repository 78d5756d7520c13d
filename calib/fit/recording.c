/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/recording.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/fit/interval.h"
#include "sim/base/arena.h"
#include "sim/calls/json_pull.h"

static const double MAD_TO_SIGMA = 1.4826, OUTLIER_SIGMAS = 10;
/* A look at the clock is taken off: that may leave less than nothing. */
static const double LOOK_S = -1e-7;
enum { BUCKETS = 4096 };

struct reading {
	struct arena *arena;
	struct diag *diag;
	struct jp_reader *in;
	struct recording *recording;
	size_t buckets[BUCKETS]; /* first point of each, plus 1 */
	double *samples;         /* of the line that is read */
	size_t sample_count;
	int line; /* where it begins */
	long start_B;
	bool failed, header_seen;
};

/* A line as it comes: any of the kinds. */
struct line_fields {
	struct recording_point point;
	const char *unit, *waived, *why;
	double pass, lines;
	bool pass_seen, end, samples_seen;
};

static void fail(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct reading *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (!r->failed)
		diag_error(r->diag, (struct origin){r->recording->path, r->line}, "%s",
			   arena_vprintf(r->arena, format, args));
	va_end(args);
	r->failed = true;
}

/* ---- pieces ---- */

static enum jp_token next(struct reading *r)
{
	enum jp_token token = jp_next(r->in);
	if (ftell(r->in->in) - r->start_B > RECORDING_LINE_MAX_B)
		fail(r, "the line is longer than 1 MiB: no recording");
	return r->failed ? JP_ERROR : token;
}

static const char *read_text(struct reading *r, const char *what)
{
	if (next(r) == JP_TEXT)
		return arena_strdup(r->arena, r->in->text);
	if (!r->in->error)
		fail(r, "%s is not a text", what);
	return "";
}

static double read_number(struct reading *r, const char *what)
{
	if (next(r) == JP_NUMBER && isfinite(r->in->number))
		return r->in->number;
	if (!r->in->error)
		fail(r, "%s is not a finite number", what);
	return 0;
}

static bool read_flag(struct reading *r, const char *what)
{
	enum jp_token token = next(r);
	if (token != JP_TRUE && token != JP_FALSE && !r->in->error)
		fail(r, "%s is neither true nor false", what);
	return token == JP_TRUE;
}

static bool skip(struct reading *r)
{
	bool fine = jp_skip(r->in);
	if (ftell(r->in->in) - r->start_B > RECORDING_LINE_MAX_B)
		fail(r, "the line is longer than 1 MiB: no recording");
	return fine && !r->failed;
}

/* After a key: whether an object begins. */
static bool opens(struct reading *r, enum jp_token bracket, const char *what)
{
	if (next(r) == bracket)
		return true;
	if (!r->in->error)
		fail(r, "%s is not %s", what, bracket == JP_OBJECT ? "an object" : "an array");
	return false;
}

static void read_words(struct reading *r, struct recording_point *point)
{
	if (!opens(r, JP_OBJECT, "is"))
		return;
	while (next(r) == JP_KEY) {
		if (point->word_count == RECORDING_WORDS) {
			fail(r, "a point has at most %d words", RECORDING_WORDS);
			return;
		}
		struct recording_word *word = &point->is[point->word_count++];
		word->key = arena_strdup(r->arena, r->in->text);
		word->value = read_text(r, word->key);
	}
}

static void read_numbers(struct reading *r, struct recording_point *point)
{
	if (!opens(r, JP_OBJECT, "x"))
		return;
	while (next(r) == JP_KEY) {
		if (point->number_count == RECORDING_NUMBERS) {
			fail(r, "a point has at most %d numbers", RECORDING_NUMBERS);
			return;
		}
		struct recording_number *number = &point->x[point->number_count++];
		number->key = arena_strdup(r->arena, r->in->text);
		number->value = read_number(r, number->key);
		if (number->value < 0)
			fail(r, "%s is negative", number->key);
	}
}

static void read_samples(struct reading *r)
{
	enum jp_token token;
	if (!opens(r, JP_ARRAY, "samples"))
		return;
	r->sample_count = 0;
	while ((token = next(r)) != JP_ARRAY_END && !r->failed) {
		if (token == JP_ERROR)
			return;
		if (token != JP_NUMBER || !isfinite(r->in->number))
			fail(r, "sample %zu is not a finite number", r->sample_count + 1);
		else if (r->sample_count == RECORDING_SAMPLES_MAX)
			fail(r, "more than %d samples", RECORDING_SAMPLES_MAX);
		else
			r->samples[r->sample_count++] = r->in->number;
	}
}

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
		{'g', "pcie_generation", NULL, &to->pcie_generation_count},
		{'g', "pcie_width", NULL, &to->pcie_width_count},
		{'s', "path", &to->storage_path, NULL},
	};
	const size_t count = sizeof fields / sizeof fields[0];
	if (!opens(r, JP_OBJECT, "what line 1 says of the machine"))
		return;
	while (next(r) == JP_KEY) {
		size_t i = 0;
		while (i < count &&
		       (fields[i].object != object || strcmp(fields[i].key, r->in->text) != 0))
			i++;
		if (i == count)
			skip(r);
		else if (fields[i].text)
			*fields[i].text = read_text(r, fields[i].key);
		else
			*fields[i].number = read_number(r, fields[i].key);
	}
}

static void read_header(struct reading *r)
{
	struct recording *to = r->recording;
	const char *format = "";
	double version = 0;
	if (next(r) != JP_OBJECT)
		return;
	while (!r->failed && next(r) == JP_KEY) {
		const char *key = arena_strdup(r->arena, r->in->text);
		const char **text = strcmp(key, "format") == 0 ? &format
				    : strcmp(key, "tool") == 0 ? &to->tool
				    : strcmp(key, "date") == 0 ? &to->date
				    : strcmp(key, "mode") == 0 ? &to->mode
							       : NULL;
		if (text)
			*text = read_text(r, key);
		else if (strcmp(key, "version") == 0)
			version = read_number(r, key);
		else if (strcmp(key, "seed") == 0)
			to->seed_count = read_number(r, key);
		else if (strcmp(key, "host") == 0 || strcmp(key, "gpu") == 0 ||
			 strcmp(key, "storage") == 0)
			read_machine(r, key[0]);
		else
			skip(r);
	}
	if (r->failed || r->in->error)
		return;
	if (strcmp(format, "farwire-samples") != 0)
		fail(r, "no recording of a probe (its first line says {\"format\":\"farwire-"
			"samples\",\"version\":1,...})");
	else if (version < 1 || version > 1)
		fail(r, "a recording of version %g; this program reads version 1", version);
	r->header_seen = true;
}

/* ---- points ---- */

static size_t bucket_of(const struct recording_point *point)
{
	unsigned long long hash = 0xcbf29ce484222325u;
	const char *texts[1 + 2 * RECORDING_WORDS];
	size_t count = 0;
	texts[count++] = point->test;
	for (size_t i = 0; i < point->word_count; i++)
		texts[count++] = point->is[i].value;
	for (size_t i = 0; i < count; i++)
		for (const char *c = texts[i]; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
	for (size_t i = 0; i < point->number_count; i++)
		hash = (hash ^ (unsigned long long)(fmin(point->x[i].value, 1e15) * 4096)) *
		       0x100000001b3u;
	return (size_t)(hash >> 20) % BUCKETS;
}

static bool same_point(const struct recording_point *a, const struct recording_point *b)
{
	if (strcmp(a->test, b->test) != 0 || a->word_count != b->word_count ||
	    a->number_count != b->number_count)
		return false;
	for (size_t i = 0; i < a->word_count; i++)
		if (strcmp(a->is[i].key, b->is[i].key) != 0 ||
		    strcmp(a->is[i].value, b->is[i].value) != 0)
			return false;
	for (size_t i = 0; i < a->number_count; i++)
		if (strcmp(a->x[i].key, b->x[i].key) != 0 || a->x[i].value < b->x[i].value ||
		    a->x[i].value > b->x[i].value)
			return false;
	return true;
}

static struct recording_point *find_or_add(struct reading *r, const struct recording_point *like)
{
	struct recording *to = r->recording;
	size_t *bucket = &r->buckets[bucket_of(like)];
	for (size_t i = *bucket; i > 0; i = to->points.items[i - 1].next)
		if (same_point(&to->points.items[i - 1], like))
			return &to->points.items[i - 1];
	if (to->points.count == RECORDING_POINTS_MAX) {
		fail(r, "more than %d points", RECORDING_POINTS_MAX);
		return NULL;
	}
	struct recording_point *point = VEC_PUSH(r->arena, &to->points);
	*point = *like;
	point->line = r->line;
	point->next = *bucket;
	*bucket = to->points.count;
	return point;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* The ranks between which the median of n independent samples lies with 95 %:
 * the sum of binomial(n, 1/2) outside of them, by its normal approximation with
 * continuity, which is exact to a rank for n >= 6. */
static void median_interval(const double *sorted, size_t count, struct recording_pass *pass)
{
	double n = (double)count;
	double below = floor(n / 2 - 0.5 - 0.5 * 1.959963984540054 * sqrt(n));
	size_t low = count >= 6 && below > 0 ? (size_t)below : 0;
	pass->low = sorted[low];
	pass->high = sorted[count - 1 - low];
}

/* Of r->samples, which are sorted here. */
static void summarise(struct reading *r, struct recording_point *point, struct recording_pass *pass)
{
	size_t n = r->sample_count;
	double *samples = r->samples;
	qsort(samples, n, sizeof *samples, ascending);
	pass->sample_count = n;
	pass->median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
	median_interval(samples, n, pass);
	double *distances = samples + RECORDING_SAMPLES_MAX;
	for (size_t i = 0; i < n; i++)
		distances[i] = fabs(samples[i] - pass->median);
	memcpy(distances + n, distances, n * sizeof *distances);
	qsort(distances + n, n, sizeof *distances, ascending);
	double limit = OUTLIER_SIGMAS * MAD_TO_SIGMA *
		       (n % 2 ? distances[n + n / 2]
			      : (distances[n + n / 2 - 1] + distances[n + n / 2]) / 2);
	for (size_t i = 0; i < n; i++)
		point->outlier_count += limit > 0 && distances[i] > limit;
	point->sample_count += n;
}

/* Tests of two clocks, or of a whole less a part: noise may take those below zero. */
static bool is_difference(const char *test)
{
	return strcmp(test, "timer") == 0 || strcmp(test, "kernel") == 0 ||
	       strcmp(test, "sync") == 0;
}

/* Rates become the time of the point's size, so that all fits see times. */
static bool to_times(struct reading *r, const struct line_fields *fields)
{
	const struct recording_point *point = &fields->point;
	double size_B = recording_point_number(point, "size_B", 0);
	bool rate = fields->unit && strcmp(fields->unit, "B/s") == 0;
	if (!fields->unit ||
	    (!rate && strcmp(fields->unit, "s") != 0 && strcmp(fields->unit, "1") != 0)) {
		fail(r, "unit is none of \"s\", \"1\", \"B/s\"");
		return false;
	}
	if (rate && !(size_B > 0)) {
		fail(r, "a rate needs the size in x: \"size_B\"");
		return false;
	}
	bool any_sign = is_difference(point->test);
	for (size_t i = 0; i < r->sample_count; i++) {
		if (r->samples[i] < LOOK_S && !any_sign) {
			fail(r, "sample %zu of '%s' is negative (%g)", i + 1, point->test,
			     r->samples[i]);
			return false;
		}
		if (rate && !(r->samples[i] > 0)) {
			fail(r, "sample %zu of '%s' is a rate of zero", i + 1, point->test);
			return false;
		}
		if (rate)
			r->samples[i] = size_B / r->samples[i];
	}
	return true;
}

static void take_point(struct reading *r, const struct line_fields *fields)
{
	struct recording *to = r->recording;
	if (!fields->pass_seen || !fields->samples_seen) {
		fail(r, "a point without %s", fields->samples_seen ? "\"pass\"" : "\"samples\"");
		return;
	}
	if (fields->pass < 0 || fields->pass >= RECORDING_PASSES_MAX ||
	    fields->pass > floor(fields->pass)) {
		fail(r, "pass is no whole number below %d", RECORDING_PASSES_MAX);
		return;
	}
	if (r->sample_count == 0 || !to_times(r, fields))
		return; /* none in its time: as if it had not been tried */
	struct recording_point *point = find_or_add(r, &fields->point);
	if (!point)
		return;
	size_t pass = (size_t)fields->pass;
	for (size_t i = 0; i < point->passes.count; i++)
		if (point->passes.items[i].pass == pass) {
			fail(r,
			     "'%s': this point and pass were there before (line %d is its first)",
			     point->test, point->line);
			return;
		}
	struct recording_pass *summary = VEC_PUSH(r->arena, &point->passes);
	summary->pass = pass;
	summarise(r, point, summary);
	/* drift anchors are counted apart: they are measured whenever it is time */
	if (strcmp(point->test, "drift") != 0 && pass + 1 > to->pass_count)
		to->pass_count = pass + 1;
}

/* ---- any line but the first ---- */

static void read_drift(struct reading *r)
{
	if (!opens(r, JP_OBJECT, "drift"))
		return;
	while (next(r) == JP_KEY) {
		double ratio = fabs(read_number(r, "drift"));
		r->recording->drift_most_ratio = fmax(r->recording->drift_most_ratio, ratio);
	}
}

static void read_fields(struct reading *r, struct line_fields *fields)
{
	while (!r->failed && next(r) == JP_KEY) {
		const char *key = arena_strdup(r->arena, r->in->text);
		if (strcmp(key, "test") == 0)
			fields->point.test = read_text(r, key);
		else if (strcmp(key, "is") == 0)
			read_words(r, &fields->point);
		else if (strcmp(key, "x") == 0)
			read_numbers(r, &fields->point);
		else if (strcmp(key, "pass") == 0) {
			fields->pass = read_number(r, key);
			fields->pass_seen = true;
		} else if (strcmp(key, "unit") == 0)
			fields->unit = read_text(r, key);
		else if (strcmp(key, "samples") == 0) {
			read_samples(r);
			fields->samples_seen = true;
		} else if (strcmp(key, "held_out") == 0)
			fields->point.held_out = read_flag(r, key);
		else if (strcmp(key, "waived") == 0)
			fields->waived = read_text(r, key);
		else if (strcmp(key, "why") == 0)
			fields->why = read_text(r, key);
		else if (strcmp(key, "end") == 0)
			fields->end = read_flag(r, key);
		else if (strcmp(key, "drift") == 0)
			read_drift(r);
		else
			skip(r);
	}
}

static void read_line(struct reading *r)
{
	struct line_fields fields = {0};
	read_fields(r, &fields);
	if (r->failed || r->in->error)
		return;
	if (r->recording->ended) {
		fail(r, "something follows the line that ends the recording");
	} else if (fields.end) {
		r->recording->ended = true;
	} else if (fields.waived) {
		struct recording_waived *waived = VEC_PUSH(r->arena, &r->recording->waived);
		*waived = (struct recording_waived){fields.waived, fields.why ? fields.why : ""};
	} else if (fields.point.test) {
		take_point(r, &fields);
	} else {
		fail(r,
		     "a line that is neither of a point (\"test\"), nor \"waived\", nor \"end\"");
	}
}

static bool begins_line(struct reading *r)
{
	int c;
	while ((c = getc(r->in->in)) == '\n' || c == '\r' || c == ' ' || c == '\t')
		r->in->line += c == '\n';
	if (c == EOF)
		return false;
	ungetc(c, r->in->in);
	r->line = r->in->line;
	r->start_B = ftell(r->in->in);
	return true;
}

/* A file that stops inside a line was interrupted; anything else is an error. */
static void torn_or_wrong(struct reading *r)
{
	if (!r->failed && !(feof(r->in->in) && r->header_seen))
		fail(r, "%s%s", r->in->error ? r->in->error : "is no JSON",
		     r->header_seen ? "" : " (the first line of a recording is missing)");
}

static void read_all(struct reading *r)
{
	while (!r->failed && begins_line(r)) {
		if (!r->header_seen) {
			read_header(r);
			if (!r->failed && !r->header_seen)
				torn_or_wrong(r);
			continue;
		}
		if (next(r) == JP_OBJECT)
			read_line(r);
		else if (!r->in->error)
			fail(r, "a line is one object, {...}");
		if (r->in->error) {
			torn_or_wrong(r);
			return;
		}
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
		qsort(medians, point->passes.count, sizeof *medians, ascending);
		point->value = passes_mean(medians, point->passes.count);
		to->sample_count += point->sample_count;
		to->outlier_count += point->outlier_count;
		measured += strcmp(point->test, "drift") != 0;
	}
	r->line = 0;
	if (!r->failed && !r->header_seen)
		fail(r, "is empty: nothing was recorded");
	else if (!r->failed && measured == 0)
		fail(r, "has no samples: nothing was measured");
}

const struct recording *recording_read(struct arena *arena, struct diag *diag, const char *path)
{
	FILE *in = fopen(path, "rb");
	struct recording *recording = ARENA_NEW(arena, struct recording);
	struct reading *r = ARENA_NEW(arena, struct reading);
	/* ftell: a pipe cannot be read twice, once for the fingerprint */
	if (!in || hash_file(in, recording->hash) != 0 || fseek(in, 0, SEEK_SET) != 0) {
		diag_error(diag, (struct origin){path, 0}, "cannot be read: %s", strerror(errno));
		if (in)
			fclose(in);
		return NULL;
	}
	*r = (struct reading){.arena = arena, .diag = diag, .recording = recording, .line = 1};
	recording->path = arena_strdup(arena, path);
	recording->tool = recording->date = recording->mode = recording->cpu = recording->kernel =
		recording->hypervisor = recording->driver = recording->cuda = "unknown";
	r->samples = ARENA_ARRAY(arena, 3 * RECORDING_SAMPLES_MAX, double);
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
