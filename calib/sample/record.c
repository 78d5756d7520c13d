/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/sample/record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calib/sample/machine.h"

#define OLD_MOST_B (4ull << 30) /* a recording has about 10 MB */

static int fail(struct record *record, const char *what, const char *why)
{
	snprintf(record->why, sizeof(record->why), "%.150s: %.90s", what, why);
	return -1;
}

static struct json_writer *begin_line(struct record *record)
{
	rewind(record->memory);
	record->json = jw_begin(record->memory, JSON_DENSE);
	jw_open(&record->json, NULL, '{');
	return &record->json;
}

static int open_memory(struct record *record)
{
	record->memory = open_memstream(&record->line, &record->line_B);
	return record->memory ? 0 : fail(record, "recording", "out of memory");
}

/* Ends the line in memory, and writes it to the file at once. */
static int write_line(struct record *record)
{
	jw_close(&record->json);
	jw_end(&record->json);
	size_t left = (size_t)ftell(record->memory);
	if (fflush(record->memory) != 0 || ferror(record->memory))
		return fail(record, "recording", "out of memory");
	const char *text = record->line;
	while (left > 0) {
		ssize_t written = write(record->file, text, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return fail(record, "recording", strerror(errno));
		text += written;
		left -= (size_t)written;
	}
	record->lines++;
	return 0;
}

int record_create(struct record *record, const char *path, const struct record_start *start)
{
	*record = (struct record){.file = STDOUT_FILENO, .to_stdout = !path};
	if (path) {
		record->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
		if (record->file < 0)
			return fail(record, path,
				    errno == EEXIST ? "the file exists already (choose another "
						      "name, or continue it with --continue)"
						    : strerror(errno));
	}
	if (open_memory(record) != 0)
		return -1;
	struct json_writer *json = begin_line(record);
	jw_text(json, "format", "farwire-samples");
	jw_real(json, "version", 1);
	jw_text(json, "tool", start->tool);
	char text[32] = "";
	time_t now = time(NULL);
	struct tm parts;
	if (gmtime_r(&now, &parts))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	jw_text(json, "date", text);
	jw_real(json, "seed", (double)start->seed);
	jw_text(json, "mode", start->mode);
	jw_real(json, "passes", (double)start->passes);
	machine_write(json, "host");
	if (start->more)
		start->more(json, start->context);
	return write_line(record);
}

/* Writes the part of a line that identifies its point and pass: from the start to "t_s". */
static struct json_writer *put_point(struct record *record, const struct plan_point *point,
				     size_t pass)
{
	struct json_writer *json = begin_line(record);
	jw_text(json, "test", point->test);
	jw_open(json, "is", '{');
	for (size_t i = 0; i < PLAN_WORDS && point->is[i].key; i++)
		jw_text(json, point->is[i].key, point->is[i].value);
	jw_close(json);
	jw_open(json, "x", '{');
	for (size_t i = 0; i < PLAN_NUMBERS && point->x[i].key; i++)
		jw_real(json, point->x[i].key, point->x[i].value);
	jw_close(json);
	jw_real(json, "pass", (double)pass);
	return json;
}

int record_samples(struct record *record, const struct record_samples *samples)
{
	struct json_writer *json = put_point(record, samples->point, samples->pass);
	jw_real(json, "t_s", samples->t_s);
	jw_text(json, "unit", samples->unit);
	jw_open(json, "samples", '[');
	for (size_t i = 0; i < samples->count; i++)
		jw_real(json, NULL, samples->values[i]);
	jw_close(json);
	jw_text(json, "stop", samples->stop);
	jw_flag(json, "held_out", samples->point->held_out);
	return write_line(record);
}

int record_waived(struct record *record, const char *test, const char *why)
{
	struct json_writer *json = begin_line(record);
	jw_text(json, "waived", test);
	jw_text(json, "why", why);
	return write_line(record);
}

int record_end(struct record *record, const struct record_end *end)
{
	struct json_writer *json = begin_line(record);
	jw_flag(json, "end", end->whole);
	jw_real(json, "lines", (double)(record->lines + 1));
	jw_real(json, "elapsed_s", end->elapsed_s);
	jw_open(json, "drift", '{');
	for (size_t i = 0; i < end->count; i++)
		jw_real(json, end->drift[i].anchor, end->drift[i].ratio);
	jw_close(json);
	return write_line(record);
}

/* ---- continuing a recording ---- */

static int compare(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int read_old(struct record *record, const char *path, size_t *size)
{
	struct stat about;
	record->file = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	if (record->file < 0 || fstat(record->file, &about) != 0)
		return fail(record, path, strerror(errno));
	if (!S_ISREG(about.st_mode) || (unsigned long long)about.st_size > OLD_MOST_B)
		return fail(record, path,
			    "the file is not a recording (name the file of an earlier run)");
	size_t most = (size_t)about.st_size;
	record->old = malloc(most + 1);
	record->done = malloc((most / 16 + 1) * sizeof(*record->done));
	if (!record->old || !record->done)
		return fail(record, path, "out of memory");
	*size = 0;
	while (*size < most) {
		ssize_t got = read(record->file, record->old + *size, most - *size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return fail(record, path, strerror(got < 0 ? errno : EIO));
		*size += (size_t)got;
	}
	record->old[most] = '\0';
	return 0;
}

/* Returns the text after "key" in line 1, where its own keys precede those of nested objects. */
static const char *field(const char *line, const char *key)
{
	char quoted[40];
	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	const char *found = strstr(line, quoted);
	return found ? found + strlen(quoted) : "";
}

static void field_word(const char *line, const char *key, char *word, size_t room)
{
	const char *value = field(line, key);
	size_t length = *value == '"' ? strcspn(++value, "\"") : 0;
	snprintf(word, room, "%.*s", (int)(length < room ? length : room - 1), value);
}

static bool field_whole(const char *line, const char *key, unsigned long long *value)
{
	const char *text = field(line, key);
	char *end;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && (*end == ',' || *end == '}') && errno == 0;
}

/* One recording must not contain points of two machines, because its profile would describe
 * neither. */
static int same_machine(struct record *record, const char *path, const char *line)
{
	char here[128], there[128];
	const char *host = strstr(line, "\"host\":{");
	machine_cpu(here, sizeof(here));
	field_word(host ? host : "", "cpu", there, sizeof(there));
	if (!there[0] || strcmp(here, there) == 0)
		return 0;
	snprintf(record->why, sizeof(record->why),
		 "%.80s: the recording was made on \"%.50s\", but this machine is \"%.50s\"", path,
		 there, here);
	return -1;
}

static int read_header(struct record *record, const char *path, const char *line,
		       struct record_found *found)
{
	static const char start[] = "{\"format\":\"farwire-samples\",";
	if (strncmp(line, start, sizeof(start) - 1) != 0)
		return fail(record, path,
			    "line 1 is not the header of a recording (the format must be "
			    "farwire-samples)");
	if (strtoul(field(line, "version"), NULL, 10) != 1)
		return fail(record, path,
			    "the version of the recording must be 1 (record it again)");
	field_word(line, "tool", found->tool, sizeof(found->tool));
	field_word(line, "mode", found->mode, sizeof(found->mode));
	const char *gpu = strstr(line, "\"gpu\":{");
	field_word(gpu ? gpu : "", "name", found->device, sizeof(found->device));
	unsigned long long passes = 0, seed = 0;
	if (!field_whole(line, "passes", &passes) || passes == 0 || passes > 1000)
		return fail(record, path,
			    "line 1 of the recording states no valid number of passes (record it "
			    "again)");
	if (!field_whole(line, "seed", &seed))
		return fail(record, path,
			    "line 1 of the recording states no seed (record it again)");
	found->seed = seed;
	found->passes = (size_t)passes;
	return same_machine(record, path, line);
}

/* Reads the drift from the last line of a sitting: {"end":true,...,"drift":{"gemm":0.01}}. Modifies
 * the line. */
static void read_drift(struct record *record, char *line)
{
	char *at = strstr(line, "\"drift\":{");
	at = at ? strchr(at, '{') + 1 : line + strlen(line);
	while (*at == '"' && record->drift_count < RECORD_DRIFTS_MOST) {
		char *name_end = strchr(at + 1, '"');
		if (!name_end || name_end[1] != ':')
			return;
		char *after = name_end + 2;
		double ratio = strtod(after, &after);
		*name_end = '\0';
		record->drift[record->drift_count++] = (struct record_drift){at + 1, ratio};
		at = after + (*after == ',');
	}
}

static int read_lines(struct record *record, const char *path, size_t size,
		      struct record_found *found)
{
	char *line = record->old, *end = record->old + size;
	char number[80];
	while (line < end) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			break; /* the last line is incomplete */
		*newline = '\0';
		if (newline - line < 16 || strlen(line) != (size_t)(newline - line) ||
		    line[0] != '{' || newline[-1] != '}') {
			snprintf(number, sizeof(number), "line %zu is damaged (record again)",
				 record->lines + 1);
			return fail(record, path, number);
		}
		record->ended = strncmp(line, "{\"end\":true", 11) == 0;
		if (record->lines == 0 && read_header(record, path, line, found) != 0)
			return -1;
		char *cut = strstr(line, ",\"t_s\":");
		if (record->lines > 0 && cut && strncmp(line, "{\"test\":", 8) == 0) {
			*cut = '\0';
			record->done[record->done_count++] = line;
		} else if (strncmp(line, "{\"end\":", 7) == 0) {
			read_drift(record, line);
		}
		record->lines++;
		line = newline + 1;
	}
	if (record->lines == 0)
		return fail(record, path,
			    "the file has no complete header, so it has no samples (start "
			    "again without --continue)");
	if (ftruncate(record->file, (off_t)(line - record->old)) != 0)
		return fail(record, path, strerror(errno));
	qsort(record->done, record->done_count, sizeof(*record->done), compare);
	return 0;
}

int record_continue(struct record *record, const char *path, struct record_found *found)
{
	size_t size = 0;
	*record = (struct record){.file = -1};
	*found = (struct record_found){0};
	if (open_memory(record) != 0 || read_old(record, path, &size) != 0)
		return -1;
	return read_lines(record, path, size, found);
}

bool record_has(struct record *record, const struct plan_point *point, size_t pass)
{
	if (record->done_count == 0)
		return false;
	put_point(record, point, pass);
	fputc('\0', record->memory);
	bool whole = fflush(record->memory) == 0 && !ferror(record->memory);
	const char *key = record->line;
	return whole && bsearch(&key, record->done, record->done_count, sizeof(*record->done),
				compare) != NULL;
}

int record_close(struct record *record)
{
	int code = 0;
	if (record->file >= 0 && !record->to_stdout)
		code = close(record->file);
	record->file = -1;
	free(record->old);
	free(record->done);
	record->old = NULL;
	record->done = NULL;
	if (record->memory)
		fclose(record->memory);
	free(record->line);
	record->memory = NULL;
	record->line = NULL;
	return code;
}
