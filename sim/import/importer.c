/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/import/importer.h"
#include "calib/fit/recording.h"
#include "sim/json/write.h"

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";

enum { SKIPS_MAX = 64 };

static const struct registry_row rows[] = {
#define IMPORTER(name) REGISTRY_ROW(name),
#include "sim/import/import.def"
#undef IMPORTER
};
const struct registry importer_registry = REGISTRY("importer", "importers", rows);

/* ---- used by the readers ---- */

bool import_is_json(struct importing *importing)
{
	int c = getc(importing->lines.in);
	for (size_t i = 0; i < 3 && c == (unsigned char)BYTE_ORDER_MARK[i]; i++)
		c = getc(importing->lines.in);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
		importing->lines.origin.line += c == '\n';
		c = getc(importing->lines.in);
	}
	ungetc(c, importing->lines.in);
	return c == '{';
}

const struct json *import_json(struct importing *importing)
{
	arena_free(importing->value);
	importing->value = NULL;
	if (diag_count(importing->diag))
		return NULL;
	importing->value = arena_new();
	if (!importing->json) {
		importing->json = jp_open(importing->arena, importing->lines.in);
		importing->lines_before = importing->lines.origin.line;
		/* iperf3 --bidir prints sizes of buffers twice */
		importing->json->keeps_twins = importing->link;
	}
	const struct json *value = json_next(importing->value, importing->json, JSON_MAX_B);
	importing->lines.origin.line =
		importing->lines_before + (value ? value->line : importing->json->line);
	if (importing->json->error)
		import_error(importing, "%s", importing->json->error);
	return value;
}

void import_json_at(struct importing *importing, const struct json *value)
{
	importing->lines.origin.line = importing->lines_before + value->line;
}

const struct json *import_json_object(struct importing *importing, const struct json *value)
{
	if (json_is(value, JP_OBJECT))
		return value;
	if (!json_is_nothing(value)) {
		import_json_at(importing, value);
		import_error(importing, "an object is expected here");
	}
	return NULL;
}

bool import_json_number(struct importing *importing, const struct json *object, const char *key,
			double *number)
{
	const struct json *value = json_member(object, key);
	if (value && !json_number_of(value, number)) {
		import_json_at(importing, value);
		import_error(importing, "a number is expected here");
	}
	return value && diag_count(importing->diag) == 0;
}

size_t import_words(struct importing *importing, const char *line)
{
	importing->word_count = lines_words(arena_strdup(importing->arena, line), " \t",
					    importing->words, IMPORT_WORDS_MAX);
	return importing->word_count;
}

bool import_fits(struct importing *importing, size_t columns, const char *tool)
{
	if (importing->word_count != columns)
		import_error(importing,
			     "the row has %zu columns, but the heading has %zu (import the "
			     "unchanged output of %s)",
			     importing->word_count, columns, tool);
	return importing->word_count == columns;
}

bool import_number(struct importing *importing, const char *word, double *value)
{
	if (strcmp(word, "N/A") == 0)
		return false;
	if (!number_parse(word, value) || *value < 0)
		return import_error(
			importing,
			"the table needs a number here, not '%s' (import the unchanged output "
			"of the tool)",
			word);
	return *value > 0;
}

struct import_point *import_point(struct importing *importing, const char *test, const char *words)
{
	if (importing->points.count == RECORDING_POINTS_MAX && diag_count(importing->diag) == 0)
		import_error(importing,
			     "the log has more than %d points (divide it into several files)",
			     RECORDING_POINTS_MAX);
	struct import_point *point = VEC_PUSH(importing->arena, &importing->points);
	*point = (struct import_point){.test = test,
				       .words = words,
				       .unit = "s",
				       .line = importing->lines.origin.line,
				       .path = importing->lines.origin.file};
	return point;
}

void import_at(struct importing *importing, struct import_point *point, const char *key,
	       double value)
{
	size_t i = 0;
	while (point->x[i].key)
		i++;
	FW_ASSERT(i < IMPORT_NUMBERS);
	point->x[i].key = key;
	point->x[i].value = value;
	if (diag_count(importing->diag))
		return;
	if (!(value >= 1 && value <= RECORDING_NUMBER_MAX))
		import_error(
			importing,
			"%s is %g, which is impossible (import the unchanged output of the tool)",
			key, value);
	else if (strcmp(key, "size_B") == 0 && value > floor(value))
		import_error(importing,
			     "size_B is %g, but must be a whole number of bytes (import the "
			     "unchanged output of the tool)",
			     value);
}

void import_sample(struct importing *importing, struct import_point *point, double value)
{
	double *slot = VEC_PUSH(importing->arena, &point->samples);
	bool rate = strcmp(point->unit, "B/s") == 0;
	*slot = value;
	importing->used_count++;
	if (diag_count(importing->diag))
		return;
	FW_ASSERT(!rate || strcmp(point->x[0].key, "size_B") == 0);
	double time_s = rate ? point->x[0].value / value : value;
	if (!isfinite(value))
		import_error(importing, "a result is not a finite number (measure again)");
	else if (value <= 0 || time_s < 1e-12 || time_s > RECORDING_TIME_MAX_S)
		import_error(importing, "a result of %g %s is impossible (measure again)", value,
			     point->unit);
	else if (point->samples.count > RECORDING_SAMPLES_MAX)
		import_error(importing,
			     "a point has more than %d results (divide the log into several files)",
			     RECORDING_SAMPLES_MAX);
	else if (importing->lines.torn)
		import_error(importing, "the log ends in the middle of this row (measure again, or "
					"add a newline if the row is complete)");
}

void import_skip(struct importing *importing, const char *why)
{
	size_t i = 0;
	while (i < importing->skips.count &&
	       (strcmp(importing->skips.items[i].path, importing->lines.origin.file) != 0 ||
		strcmp(importing->skips.items[i].why, why) != 0))
		i++;
	if (i == importing->skips.count && i < SKIPS_MAX)
		*VEC_PUSH(importing->arena, &importing->skips) = (struct import_skip){
			why, importing->lines.origin.file, importing->lines.origin.line, 0};
	importing->skips.items[i < SKIPS_MAX ? i : SKIPS_MAX - 1].count++;
	importing->skipped_count++;
}

const char *import_untagged(const char *line)
{
	line += strspn(line, " \t");
	size_t digits = strspn(line, "0123456789");
	const char *tag = line[0] == '[' ? strstr(line, "]<stdout>:") : NULL;
	if (tag)
		line = tag + strlen("]<stdout>:");
	else if (digits > 0 && line[digits] == ':')
		line += digits + 1;
	return line + strspn(line, " \t");
}

static int compare_points(const struct import_point *x, const struct import_point *y)
{
	int order = strcmp(x->test, y->test);
	order = order ? order : strcmp(x->words, y->words);
	for (size_t i = 0; i < IMPORT_NUMBERS && !order; i++) {
		order = strcmp(x->x[i].key ? x->x[i].key : "", y->x[i].key ? y->x[i].key : "");
		if (!order)
			order = ORDER(x->x[i].value, y->x[i].value);
	}
	return order;
}

static int by_point(const void *a, const void *b)
{
	const struct import_point *x = *(struct import_point *const *)a;
	const struct import_point *y = *(struct import_point *const *)b;
	int order = compare_points(x, y);
	/* in the order of arrival, because they are in one array */
	return order ? order : (x > y) - (x < y);
}

static void number_passes(struct importing *importing)
{
	size_t count = importing->points.count;
	struct import_point **sorted =
		ARENA_ARRAY(importing->arena, count + 1, struct import_point *);
	for (size_t i = 0; i < count; i++)
		sorted[i] = &importing->points.items[i];
	qsort(sorted, count, sizeof(struct import_point *), by_point);
	for (size_t i = 0; i < count && diag_count(importing->diag) == 0; i++) {
		bool again = i > 0 && compare_points(sorted[i], sorted[i - 1]) == 0;
		size_t pass = again ? sorted[i - 1]->pass + 1 : 0;
		sorted[i]->pass = pass;
		if (pass + 1 > importing->pass_count)
			importing->pass_count = pass + 1;
		importing->lines.origin.line = sorted[i]->line;
		if (pass == RECORDING_PASSES_MAX)
			import_error(importing,
				     "the same point occurs more than %d times (divide the log "
				     "into several files)",
				     RECORDING_PASSES_MAX);
	}
}

static void read_log(struct importing *importing, const struct importer *importer, FILE *in,
		     const char *path)
{
	size_t before = importing->points.count, skips = importing->skips.count;
	importing->lines.in = in;
	importing->lines.origin = (struct origin){path, 0};
	importing->json = NULL;
	bool another = importing->tool && strcmp(importing->tool, importer->name) != 0;
	importing->tool = another ? "log" : importer->name;
	importer->log(importing);
	arena_free(importing->value);
	importing->value = NULL;
	if (diag_count(importing->diag) == 0 && ferror(in))
		import_error(importing, "the file cannot be read any further");
	if (diag_count(importing->diag) || importing->points.count > before)
		return;
	const char *why = importer->expected;
	if (importing->skips.count > skips) {
		why = importing->skips.items[skips].why;
		importing->lines.origin.line = importing->skips.items[skips].line;
	}
	import_error(importing, "no results of %s were found (%s)", importer->name, why);
}

static struct importing *begin(struct arena *arena, struct diag *diag)
{
	struct importing *importing = ARENA_NEW(arena, struct importing);
	importing->arena = arena;
	importing->diag = importing->lines.diag = diag;
	importing->lines.too_long = "this file is not a log, because a line is longer than 64 KiB "
				    "(name the text that the tool printed)";
	importing->lines.not_text = "this file is not a log, because it contains a zero byte "
				    "(convert UTF-16 with iconv -f UTF-16 -t UTF-8)";
	return importing;
}

/* ---- writing ---- */

static void write_head(FILE *out, const struct importing *importing)
{
	struct json_writer json = jw_begin(out, JSON_LINE);
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
	struct json_writer json = jw_begin(out, JSON_LINE);
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
	jw_flag(&json, "held_out", point->held_out);
	jw_close(&json);
	jw_end(&json);
}

static void write_log(FILE *out, const void *ctx)
{
	const struct importing *importing = ctx;
	write_head(out, importing);
	for (size_t i = 0; i < importing->points.count; i++)
		write_point(out, &importing->points.items[i]);
	struct json_writer json = jw_begin(out, JSON_DENSE);
	jw_open(&json, NULL, '{');
	jw_flag(&json, "end", true);
	jw_count(&json, "lines", importing->points.count + 2);
	jw_count(&json, "elapsed_s", 0);
	jw_open(&json, "drift", '{');
	jw_close(&json);
	jw_close(&json);
	jw_end(&json);
}

static bool done(struct importing *importing, struct imported *imported)
{
	if (diag_count(importing->diag) == 0)
		number_passes(importing);
	if (diag_count(importing->diag))
		return false;
	const char *summary = arena_printf(
		importing->arena, "%zu points of %s: %zu results read, %zu used, %zu skipped",
		importing->points.count, importing->tool,
		importing->used_count + importing->skipped_count, importing->used_count,
		importing->skipped_count);
	for (size_t i = 0; i < importing->skips.count; i++) {
		const struct import_skip *skip = &importing->skips.items[i];
		summary = arena_printf(importing->arena, "%s\n%zu skipped: %s (%s:%d)", summary,
				       skip->count, skip->why, skip->path, skip->line);
	}
	imported->write = write_log;
	imported->ctx = imported->log = importing;
	imported->summary = summary;
	return true;
}

bool import_read(struct arena *arena, struct diag *diag, const struct importer *importer, FILE *in,
		 const char *path, struct imported *imported)
{
	if (importer->calls)
		return import_calls(arena, diag, importer, in, path, imported);
	struct importing *importing = imported->log ? imported->log : begin(arena, diag);
	importing->diag = importing->lines.diag = diag;
	importing->only_gpu = imported->only_gpu;
	read_log(importing, importer, in, path);
	return done(importing, imported);
}

/* ---- logs of any tools ---- */

static bool has_mark(const struct importer *importer, const char *line)
{
	for (size_t i = 0; i < IMPORT_MARKS && importer->marks[i]; i++)
		if (strstr(line, importer->marks[i]))
			return true;
	return false;
}

/* Returns the importer that has the first mark of the file, or NULL. A line that begins with a zero
 * byte ends the search, because it may be one of /dev/zero. */
static const struct importer *recognise(struct importing *importing, FILE *in)
{
	while (fgets(importing->lines.text, sizeof importing->lines.text, in) &&
	       importing->lines.text[0])
		for (size_t i = 0; i < importer_count(); i++)
			if (has_mark(importer_at(i), importing->lines.text))
				return importer_at(i);
	return NULL;
}

static bool import_log_files(struct arena *arena, struct diag *diag, const char *const *paths,
			     size_t count, struct imported *imported)
{
	struct importing *importing = begin(arena, diag);
	importing->link = imported->link;
	for (size_t i = 0; i < count && diag_count(diag) == 0; i++) {
		FILE *in = file_open(diag, (struct origin){paths[i], 0}, paths[i]);
		if (!in)
			break;
		const struct importer *importer = recognise(importing, in);
		rewind(in);
		if (!importer)
			diag_error(diag, (struct origin){paths[i], 1},
				   "neither this nor a later line is that of a known tool "
				   "(name the kind, for example farwire import nccl-tests FILE)");
		else
			read_log(importing, importer, in, paths[i]);
		fclose(in);
	}
	return importing->link && diag_count(diag) == 0 ? import_link_done(importing, imported)
							: done(importing, imported);
}

const struct importer import_log = {
	.name = "log",
	.help = "logs of the tools below, recognised by their content; several files are joined",
	.files = import_log_files,
};
