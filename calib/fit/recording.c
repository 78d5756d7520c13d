/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/recording.h"

#include <nettle/sha2.h>

#include "calib/fit/interval.h"
#include "calib/sample/stats.h"
#include "sim/base/hash.h"
#include "sim/base/lines.h"
#include "sim/json/document.h"

static const double MAD_TO_SIGMA = 1.4826, OUTLIER_SIGMAS = 10;
/* The cost of reading the clock is subtracted, so small samples can be slightly negative. */
static const double LOOK_S = -1e-7;
static const size_t MEMORY_MAX_B = (size_t)8 << 30;

enum { BUCKETS = 4096 };

struct recording_reading {
	struct arena *arena;
	struct diag *diag;
	struct recording *recording;
	size_t buckets[BUCKETS]; /* first point of each bucket, plus 1 */
	double *samples;         /* samples of the current line */
	size_t sample_count;
	int line; /* first line of the current record */
	bool failed, header_seen;
};

struct line_fields { /* of a line with a point */
	struct recording_point point;
	const char *unit;
	double pass;
	bool pass_seen, samples_seen;
};

/* Reports the first error. It is false. */
#define fail(r, ...)                                                                               \
	((r)->failed ? diag_false()                                                                \
		     : ((r)->failed = true,                                                        \
			diag_error((r)->diag, (struct origin){(r)->recording->path, (r)->line},    \
				   __VA_ARGS__)))

/* ---- points ---- */

static size_t bucket_of(const struct recording_point *point)
{
	uint64_t hash = hash_text(HASH_START, point->test);
	for (size_t i = 0; i < point->word_count; i++)
		hash = hash_text(hash, point->is[i].value);
	for (size_t i = 0; i < point->number_count; i++) {
		double number = point->x[i].value + 0; /* -0 equals 0 */
		hash = hash_bytes(hash, &number, sizeof number);
	}
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

static struct recording_point *find_or_add(struct recording_reading *r,
					   const struct recording_point *like)
{
	struct recording *to = r->recording;
	size_t *bucket = &r->buckets[bucket_of(like)];
	for (size_t i = *bucket; i > 0; i = to->points.items[i - 1].next)
		if (same_point(&to->points.items[i - 1], like))
			return &to->points.items[i - 1];
	if (to->points.count == RECORDING_POINTS_MAX) {
		fail(r, "the recording has more than %d points (divide it into several files)",
		     RECORDING_POINTS_MAX);
		return NULL;
	}
	struct recording_point *point = VEC_PUSH(r->arena, &to->points);
	*point = *like;
	point->line = r->line;
	point->next = *bucket;
	*bucket = to->points.count;
	return point;
}

/* Summarises r->samples, which then contain the distances from their median. */
static void summarise(struct recording_reading *r, struct recording_point *point,
		      struct recording_pass *pass)
{
	size_t n = r->sample_count;
	stats_sort(r->samples, n);
	struct stats_interval interval = stats_median_interval(r->samples, n);
	pass->sample_count = n;
	pass->median = stats_median_sorted(r->samples, n);
	pass->low = interval.low;
	pass->high = interval.high;
	double limit = OUTLIER_SIGMAS * MAD_TO_SIGMA * stats_mad(r->samples, n, pass->median);
	for (size_t i = 0; i < n; i++)
		point->outlier_count += limit > 0 && r->samples[i] > limit;
	point->sample_count += n;
}

/* Tests that subtract two clocks or two times, where noise can give negative values. */
static bool is_difference(const char *test)
{
	return strcmp(test, "timer") == 0 || strcmp(test, "kernel") == 0 ||
	       strcmp(test, "sync") == 0;
}

/* Converts rates to times of the point's size, so that all fits use times. */
static bool to_times(struct recording_reading *r, const struct line_fields *fields)
{
	const struct recording_point *point = &fields->point;
	double size_B = recording_point_number(point, "size_B", 0);
	bool rate = fields->unit && strcmp(fields->unit, "B/s") == 0;
	if (!fields->unit ||
	    (!rate && strcmp(fields->unit, "s") != 0 && strcmp(fields->unit, "1") != 0))
		return fail(r, "unit must be \"s\", \"1\" or \"B/s\"");
	if (rate && !(size_B > 0))
		return fail(r, "a point with the unit B/s needs a size above 0 (write \"x\": "
			       "{\"size_B\": 1024})");
	bool any_sign = is_difference(point->test);
	for (size_t i = 0; i < r->sample_count; i++) {
		if (r->samples[i] < LOOK_S && !any_sign)
			return fail(r, "sample %zu of '%s' must not be negative (got %g)", i + 1,
				    point->test, r->samples[i]);
		if (rate && !(r->samples[i] > 0))
			return fail(r, "sample %zu of '%s' must be above 0 B/s", i + 1,
				    point->test);
		if (rate)
			r->samples[i] = size_B / r->samples[i];
		double size = fabs(r->samples[i]);
		if (size > RECORDING_TIME_MAX_S || (size > 0 && size < RECORDING_TIME_MIN_S))
			return fail(r,
				    "sample %zu of '%s' gives %g %s, which is impossible (record "
				    "again)",
				    i + 1, point->test, r->samples[i], rate ? "s" : fields->unit);
	}
	return true;
}

static void take_point(struct recording_reading *r, const struct line_fields *fields)
{
	struct recording *to = r->recording;
	if (!fields->pass_seen || !fields->samples_seen) {
		fail(r, "the point needs the key %s",
		     fields->samples_seen ? "\"pass\"" : "\"samples\"");
		return;
	}
	if (fields->pass < 0 || fields->pass >= RECORDING_PASSES_MAX ||
	    fields->pass > floor(fields->pass)) {
		fail(r, "pass must be a whole number from 0 to %d", RECORDING_PASSES_MAX - 1);
		return;
	}
	if (r->sample_count == 0 || !to_times(r, fields))
		return; /* no sample was taken in time: treat the point as not tried */
	struct recording_point *point = find_or_add(r, &fields->point);
	if (!point)
		return;
	size_t pass = (size_t)fields->pass;
	for (size_t i = 0; i < point->passes.count; i++)
		if (point->passes.items[i].pass == pass) {
			fail(r,
			     "line %d already has this point and pass of '%s' (remove one "
			     "of the two lines)",
			     point->line, point->test);
			return;
		}
	struct recording_pass *summary = VEC_PUSH(r->arena, &point->passes);
	summary->pass = pass;
	summarise(r, point, summary);
	/* drift anchors do not count as passes, because they are measured at any time */
	if (strcmp(point->test, "drift") != 0 && pass + 1 > to->pass_count)
		to->pass_count = pass + 1;
}

/* ---- members of objects; each stays as it is if the object lacks the key ---- */

static bool take_text(struct recording_reading *r, const struct json *object, const char *key,
		      const char **text)
{
	const struct json *value = json_member(object, key);
	if (value && !json_text_of(value))
		return fail(r, "%s must be a text", key);
	if (value)
		*text = arena_strdup(r->arena, value->text);
	return value;
}

static bool take_number(struct recording_reading *r, const struct json *object, const char *key,
			double *number)
{
	const struct json *value = json_member(object, key);
	if (value && !json_number_of(value, number))
		return fail(r, "%s must be a finite number", key);
	return value;
}

static bool take_flag(struct recording_reading *r, const struct json *object, const char *key,
		      bool *flag)
{
	const struct json *value = json_member(object, key);
	if (value && !json_is(value, JP_TRUE) && !json_is(value, JP_FALSE))
		return fail(r, "%s must be true or false", key);
	*flag = json_is(value, JP_TRUE);
	return value;
}

/* Returns an object or a list; NULL if it is missing. */
static const struct json *part_of(struct recording_reading *r, const struct json *object,
				  const char *key, enum jp_token kind)
{
	const struct json *value = json_member(object, key);
	if (value && !json_is(value, kind))
		fail(r, "%s must be %s", key, kind == JP_OBJECT ? "an object" : "an array");
	return json_is(value, kind) ? value : NULL;
}

/* ---- line 1 ---- */

static void read_header(struct recording_reading *r, const struct json *header)
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
		fail(r, "this is not a recording of a probe (its first line must be "
			"{\"format\":\"farwire-samples\",\"version\":1,...})");
	else if (version < 1 || version > 1)
		fail(r,
		     "the recording has version %g, but this program reads version 1 "
		     "(record again)",
		     version);
	r->header_seen = true;
}

/* ---- further lines ---- */

static void read_words(struct recording_reading *r, const struct json *words,
		       struct recording_point *point)
{
	if (json_size(words) > RECORDING_WORDS)
		fail(r, "\"is\" has more than %d words (write fewer)", RECORDING_WORDS);
	for (size_t i = 0; i < json_size(words) && !r->failed; i++) {
		struct recording_word *word = &point->is[point->word_count++];
		word->key = arena_strdup(r->arena, words->items[i].key);
		take_text(r, words, word->key, &word->value);
	}
}

static void read_numbers(struct recording_reading *r, const struct json *numbers,
			 struct recording_point *point)
{
	if (json_size(numbers) > RECORDING_NUMBERS)
		fail(r, "\"x\" has more than %d numbers (write fewer)", RECORDING_NUMBERS);
	for (size_t i = 0; i < json_size(numbers) && !r->failed; i++) {
		struct recording_number *number = &point->x[point->number_count++];
		number->key = arena_strdup(r->arena, numbers->items[i].key);
		take_number(r, numbers, number->key, &number->value);
		if (number->value < 0)
			fail(r, "%s must not be negative", number->key);
		else if (number->value > RECORDING_NUMBER_MAX)
			fail(r, "%s is %g, which is impossible (record again)", number->key,
			     number->value);
		else if (strcmp(number->key, "size_B") == 0 && number->value > floor(number->value))
			fail(r, "size_B must be a whole number of bytes, not %g", number->value);
	}
}

static void read_samples(struct recording_reading *r, const struct json *samples)
{
	if (json_size(samples) > RECORDING_SAMPLES_MAX)
		fail(r, "the point has more than %d samples (divide them into several passes)",
		     RECORDING_SAMPLES_MAX);
	for (r->sample_count = 0; r->sample_count < json_size(samples) && !r->failed;
	     r->sample_count++)
		if (!json_number_of(&samples->items[r->sample_count], &r->samples[r->sample_count]))
			fail(r, "sample %zu must be a finite number", r->sample_count + 1);
}

static void read_point(struct recording_reading *r, const struct json *line)
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
		take_point(r, &fields);
}

static void read_end(struct recording_reading *r, const struct json *line)
{
	/* the flag is false if the time limit ended the sitting */
	take_flag(r, line, "end", &r->recording->ended);
}

static void read_line(struct recording_reading *r, const struct json *line)
{
	struct recording_waived waived = {.why = ""};
	if (arena_used_B(r->arena) > MEMORY_MAX_B)
		fail(r, "the recording needs more than 8 GiB of memory (divide it into "
			"several files)");
	else if (r->recording->ended)
		fail(r, "there is a line after the end line of the recording (remove it)");
	else if (json_member(line, "end"))
		read_end(r, line);
	else if (take_text(r, line, "waived", &waived.test)) {
		take_text(r, line, "why", &waived.why);
		*VEC_PUSH(r->arena, &r->recording->waived) = waived;
	} else if (json_member(line, "test"))
		read_point(r, line);
	else
		fail(r, "the line must have one of the keys \"test\", \"waived\" and \"end\"");
}

/* Reads the next line. Returns false at the end. A file that ends inside a line was interrupted;
 * its other lines count. */
static bool read_next(struct recording_reading *r, struct jp_reader *in)
{
	uint64_t before_B = in->read_B;
	struct arena *scratch = arena_new();
	const struct json *line = json_next(scratch, in, RECORDING_LINE_MAX_B);
	r->line = line ? line->line : in->line;
	if (in->read_B - before_B > RECORDING_LINE_MAX_B)
		fail(r, "the line is longer than 1 MiB, so this is not a recording (name a "
			"file of a probe)");
	else if (in->error && !(in->torn && r->header_seen))
		fail(r, "%s%s", in->error,
		     r->header_seen ? "" : " (the first line of a recording is missing)");
	else if (line && !json_is(line, JP_OBJECT))
		fail(r, r->header_seen ? "a line must be one object, {...}"
				       : "the first line of a recording is missing");
	else if (line && r->header_seen)
		read_line(r, line);
	else if (line)
		read_header(r, line);
	arena_free(scratch);
	return line && !r->failed;
}

static void finish(struct recording_reading *r)
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
		fail(r, "the file is empty (record again)");
	else if (!r->failed && measured == 0)
		fail(r, "the file has no samples (record again)");
}

/* Computes the fingerprint of the file. Returns -1, with errno set, if it cannot be read. */
static int hash_file(FILE *in, char text[HASH_TEXT_B])
{
	struct sha256_ctx hash;
	uint8_t block[4096], digest[SHA256_DIGEST_SIZE];
	size_t got;
	sha256_init(&hash);
	while ((got = fread(block, 1, sizeof block, in)) > 0)
		sha256_update(&hash, got, block);
	if (ferror(in))
		return -1;
	sha256_digest(&hash, sizeof digest, digest);
	for (size_t i = 0; i < sizeof digest; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

const struct recording *recording_read(struct arena *arena, struct diag *diag, const char *path)
{
	FILE *in = file_open(diag, (struct origin){path, 0}, path);
	return in ? recording_read_from(arena, diag, in, path) : NULL;
}

const struct recording *recording_read_from(struct arena *arena, struct diag *diag, FILE *in,
					    const char *path)
{
	struct recording *recording = ARENA_NEW(arena, struct recording);
	struct recording_reading *r = ARENA_NEW(arena, struct recording_reading);
	/* the first pass computes the fingerprint */
	if (!in || hash_file(in, recording->hash) != 0 || fseek(in, 0, SEEK_SET) != 0) {
		diag_error(diag, (struct origin){path, 0}, "the file cannot be read: %s",
			   strerror(errno));
		if (in)
			fclose(in);
		return NULL;
	}
	*r = (struct recording_reading){
		.arena = arena, .diag = diag, .recording = recording, .line = 1};
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
		*VEC_PUSH(arena, &list) = point;
	}
	*found = list.items;
	return list.count;
}
