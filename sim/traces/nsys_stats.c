/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/readers.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/traces/words.h"

#define WRITE_THESE                                                                                \
	"(write nsys stats --report cuda_api_trace,cuda_gpu_trace,nvtx_pushpop_trace --format "    \
	"csv --output - REPORT)"

enum table { TABLE_NONE, RUNTIME, KERNEL, MEMCPY, MEMSET, NVTX, TABLE_COUNT };
static const char *const table_names[TABLE_COUNT] = {
	[RUNTIME] = "CUPTI_ACTIVITY_KIND_RUNTIME",
	[KERNEL] = "CUPTI_ACTIVITY_KIND_KERNEL",
	[MEMCPY] = "CUPTI_ACTIVITY_KIND_MEMCPY",
	[MEMSET] = "CUPTI_ACTIVITY_KIND_MEMSET",
	[NVTX] = "NVTX_EVENTS",
};

enum { START, LASTS, END, CORRELATION, NAME, PID, TID, STREAM, DEVICE, SIZE, FROM, TO, FIELDS };
static const char *const titles[FIELDS] = {"Start",  "Duration", "End",      "CorrID",
					   "Name",   "Pid",      "Tid",      "Strm",
					   "Device", "Bytes",    "SrcMemKd", "DstMemKd"};

struct stats {
	struct words words;
	sqlite3_stmt *inserts[TABLE_COUNT], *gpu;
	enum table table;     /* KERNEL stands for all work of the GPU */
	size_t cell_count;    /* of the present table */
	size_t cells[FIELDS]; /* the cell of each field, plus 1; 0: none */
	double units[FIELDS]; /* ns or bytes */
	double pid;
	bool any[TABLE_COUNT];
};

/* Divides a line at its commas. In quotes, commas belong to the cell, and "" is one quote. */
static bool split(struct words *words)
{
	char *from = words->text, *to = from;
	bool quoted = false;
	words->count = 0;
	words->text[strcspn(words->text, "\r\n")] = 0;
	words->at[words->count++] = to;
	for (; *from; from++) {
		if (*from == '"' && quoted && from[1] == '"')
			*to++ = *from++;
		else if (*from == '"')
			quoted = !quoted;
		else if (*from != ',' || quoted)
			*to++ = *from;
		else if (words->count == WORDS_MAX)
			return words_fail(words, "the line has more than 64 cells");
		else {
			*to++ = 0;
			words->at[words->count++] = to;
		}
	}
	*to = 0;
	return true;
}

static double unit_of(const char *title)
{
	static const struct {
		const char *name;
		double unit;
	} units[] = {{"(us)", 1e3}, {"(ms)", 1e6}, {"(s)", 1e9},
		     {"(KB)", 1e3}, {"(MB)", 1e6}, {"(GB)", 1e9}};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strstr(title, units[i].name))
			return units[i].unit;
	return 1;
}

/* Takes the line with the titles of a table. */
static bool take_titles(struct stats *s)
{
	struct words *words = &s->words;
	memset(s->cells, 0, sizeof s->cells);
	s->cell_count = words->count;
	for (size_t cell = 0; cell < words->count; cell++)
		for (size_t i = 0; i < FIELDS; i++) {
			size_t length = strcspn(words->at[cell], " (");
			if (length != strlen(titles[i]) ||
			    strncasecmp(words->at[cell], titles[i], length) != 0)
				continue;
			s->cells[i] = cell + 1;
			s->units[i] = unit_of(words->at[cell]);
		}
	s->table = s->cells[STREAM]                 ? KERNEL
		   : s->cells[CORRELATION]          ? RUNTIME
		   : s->cells[END] && s->cells[TID] ? NVTX
						    : TABLE_NONE;
	bool joined = s->table == NVTX || (s->cells[CORRELATION] && s->cells[LASTS]);
	return (s->table != TABLE_NONE && s->cells[START] && s->cells[NAME] && joined &&
		(s->table != RUNTIME || s->cells[TID])) ||
	       words_fail(words, "the table has sums, or lacks correlation numbers " WRITE_THESE);
}

static const char *cell_of(const struct stats *s, size_t field)
{
	return s->cells[field] ? s->words.at[s->cells[field] - 1] : "";
}

/* Gives a cell's number in ns or bytes, or NAN for an empty one. */
static bool number_of(struct stats *s, size_t field, double *value)
{
	const char *text = cell_of(s, field);
	char *end;
	*value = NAN;
	if (!*text)
		return true;
	*value = strtod(text, &end) * s->units[field];
	return (end != text && !*end && fabs(*value) <= 1e18) ||
	       diag_error(s->words.diag, s->words.origin, "'%.80s' must be a number (%s)", text,
			  titles[field]);
}

/* Returns the number of nsys for the direction of a copy: "[CUDA memcpy HtoD]", in newer versions
 * "[CUDA memcpy Host-to-Device]". */
static int copy_kind(const char *name)
{
	static const struct {
		const char *old, *now;
		int kind;
	} kinds[] = {{"HtoD", "Host-to-Device", 1},
		     {"DtoH", "Device-to-Host", 2},
		     {"HtoH", "Host-to-Host", 9},
		     {"PtoP", "Peer-to-Peer", 10}};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strstr(name, kinds[i].old) || strstr(name, kinds[i].now))
			return kinds[i].kind;
	return 8;
}

static void bind_memory(const struct stats *s, sqlite3_stmt *row, int place, size_t field)
{
	const char *kind = cell_of(s, field);
	if (strcasecmp(kind, "Pageable") == 0 || strcasecmp(kind, "Pinned") == 0)
		sqlite3_bind_int(row, place, strcasecmp(kind, "Pinned") == 0);
}

static bool insert(struct stats *s, enum table table, const double *numbers)
{
	sqlite3_stmt *row = s->inserts[table];
	const char *name = cell_of(s, NAME), *device = strrchr(cell_of(s, DEVICE), '(');
	double end = s->table == NVTX ? numbers[END] : numbers[START] + numbers[LASTS];
	sqlite3_reset(row);
	sqlite3_clear_bindings(row);
	sqlite3_bind_int64(row, 1, llrint(numbers[START]));
	sqlite3_bind_int64(row, 2, llrint(end));
	if (!isnan(numbers[CORRELATION]))
		sqlite3_bind_int64(row, 3, llrint(numbers[CORRELATION]));
	sqlite3_bind_text(row, 4, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(row, 5, cell_of(s, TID), -1, SQLITE_STATIC);
	if (!isnan(numbers[STREAM]))
		sqlite3_bind_int64(row, 6, llrint(numbers[STREAM]));
	sqlite3_bind_int64(row, 7, device ? strtol(device + 1, NULL, 10) : 0);
	if (!isnan(numbers[SIZE]))
		sqlite3_bind_int64(row, 8, llrint(numbers[SIZE]));
	sqlite3_bind_int(row, 9, copy_kind(name));
	bind_memory(s, row, 10, FROM);
	bind_memory(s, row, 11, TO);
	if (table == KERNEL && !s->any[KERNEL] && device) {
		const char *gpu = cell_of(s, DEVICE);
		int length = (int)(device - gpu);
		sqlite3_bind_text(s->gpu, 1, gpu, length > 0 ? length - 1 : 0, SQLITE_STATIC);
		sqlite3_step(s->gpu);
	}
	s->any[table] = true;
	return sqlite3_step(row) == SQLITE_DONE ||
	       words_fail(&s->words, "the rows need too much space for temporary files");
}

static bool take_row(struct stats *s)
{
	static const size_t fields[] = {START, LASTS, END, CORRELATION, STREAM, SIZE, PID};
	double numbers[FIELDS];
	const char *name = cell_of(s, NAME);
	if (s->words.count != s->cell_count)
		return diag_error(s->words.diag, s->words.origin,
				  "the line has %zu cells, and the titles of its table %zu",
				  s->words.count, s->cell_count);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (!number_of(s, fields[i], &numbers[fields[i]]))
			return false;
	if (isnan(numbers[START]) || isnan(numbers[s->table == NVTX ? END : LASTS]))
		return words_fail(&s->words, "the line has no begin or no duration");
	if (isnan(numbers[PID]))
		numbers[PID] = 0;
	if (s->table == RUNTIME && s->any[RUNTIME] && numbers[PID] != s->pid)
		return words_fail(&s->words,
				  "the calls are of several processes, and the table of kernels "
				  "does not say of which (write nsys export --type sqlite REPORT)");
	if (s->table == RUNTIME)
		s->pid = numbers[PID];
	enum table table = s->table != KERNEL             ? s->table
			   : strstr(name, "[CUDA memcpy") ? MEMCPY
			   : strstr(name, "[CUDA memset") ? MEMSET
							  : KERNEL;
	return insert(s, table, numbers);
}

static bool take_line(struct stats *s)
{
	const char *text = s->words.text;
	if (text[strspn(text, "\r\n")] == 0) {
		s->table = TABLE_NONE;
		return true;
	}
	bool titled = (strncasecmp(text, "Start", 5) == 0 || strncasecmp(text, "Time", 4) == 0) &&
		      strchr(text, ',');
	if (!titled && s->table == TABLE_NONE)
		return true; /* what nsys says of its own work */
	return split(&s->words) && (titled ? take_titles(s) : take_row(s));
}

static bool prepare(struct stats *s, sqlite3 *db)
{
	bool good = sqlite3_exec(db, "BEGIN; CREATE TABLE TARGET_INFO_GPU(name)", NULL, NULL,
				 NULL) == SQLITE_OK;
	good = good && sqlite3_prepare_v2(db, "INSERT INTO TARGET_INFO_GPU VALUES(?)", -1, &s->gpu,
					  NULL) == SQLITE_OK;
	for (size_t i = TABLE_NONE + 1; good && i < TABLE_COUNT; i++) {
		char text[256];
		snprintf(text, sizeof text,
			 "CREATE TABLE %s(start, \"end\", correlationId, text, globalTid, "
			 "streamId, deviceId, bytes, copyKind, srcKind, dstKind)",
			 table_names[i]);
		good = sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK;
		snprintf(text, sizeof text, "INSERT INTO %s VALUES(?,?,?,?,?,?,?,?,?,?,?)",
			 table_names[i]);
		good = good && sqlite3_prepare_v2(db, text, -1, &s->inserts[i], NULL) == SQLITE_OK;
	}
	return good || words_fail(&s->words, sqlite3_errmsg(db));
}

bool nsys_stats_read(struct diag *diag, FILE *in, const char *path, sqlite3 *db)
{
	struct stats s = {.words = {.in = in, .diag = diag, .origin = {path, 0}, .separators = ""}};
	bool good = prepare(&s, db);
	while (good && words_line(&s.words))
		good = take_line(&s);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		sqlite3_finalize(s.inserts[i]);
	sqlite3_finalize(s.gpu);
	good = good && diag_count(diag) == 0 &&
	       sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
	if (good && !(s.any[RUNTIME] && s.any[KERNEL]))
		return diag_error(diag, (struct origin){path, s.words.origin.line},
				  "the file is not a database of SQLite, and has no table of "
				  "%s " WRITE_THESE,
				  s.any[RUNTIME] ? "kernels" : "calls");
	return good;
}
