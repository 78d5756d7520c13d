/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/readers.h"
#include "sim/base/lines.h"

#include <sqlite3.h>
#include <strings.h>
#include <sys/stat.h>

#include "sim/traces/call_file.h"
#include "sim/traces/functions.h"
#include "sim/engine/names.h"

/* Limits for a database of unknown origin: SQLite's memory, times (30 years), and numbers of
 * devices, streams and events. */
enum { CACHE_MAX_B = 1 << 28 };
/* SQLite's machine runs STEPS_EACH steps in about 10 ms. A query may take two seconds, and four
 * steps for each byte of the file. */
enum { STEPS_EACH = 1 << 20, STEPS_LEAST = 128, STEPS_UNIT_B = STEPS_EACH / 4 };
enum { TELL_EACH = 1 << 16, JOIN_EACH = 1 << 16 }; /* rows */
enum { ROW_LEAST_B = 8 };                          /* of a row with a start and an end */
enum { DEVICES_MAX = 1024, STREAMS_MAX = 1 << 20, EVENTS_MAX = 1 << 30 };
static const sqlite3_int64 TIME_MAX_NS = 1000000000000000000, SIZE_MAX_B = 1000000000000000;

struct nsys {
	struct diag *diag;
	const char *path;
	sqlite3 *db;
	struct names *names, *threads;
	struct profile *p;
	const struct profile_watch *watch; /* or NULL */
	size_t rows_read, row_count;       /* row_count: of all tables */
	size_t size_B;                     /* of the file */
	size_t steps_count, steps_most;    /* of the present query, in units of STEPS_EACH */
	bool failed;
};

/* A table, and the columns that are read besides start, end and correlationId. Calls and marks come
 * first, so that the works can be joined to them while they are read. */
static const struct source {
	const char *table, *name, *where, *size;
	enum category category; /* CATEGORY_OTHER: a mark */
} sources[] = {
	{"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", "globalTid", "", CATEGORY_CALL},
	{"CUBLAS_EVENTS", "nameId", "globalTid", "", CATEGORY_LIBRARY},
	{"CUDNN_EVENTS", "nameId", "globalTid", "", CATEGORY_LIBRARY},
	{"NVTX_EVENTS", "textId", "globalTid", "", CATEGORY_OTHER},
	{"CUPTI_ACTIVITY_KIND_KERNEL", "shortName", "streamId", "", CATEGORY_KERNEL},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", "", "streamId", "bytes", CATEGORY_COPY},
	{"CUPTI_ACTIVITY_KIND_MEMSET", "", "streamId", "bytes", CATEGORY_MEMSET},
	{"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "", "streamId", "eventId", CATEGORY_EVENT},
	{"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "", "streamId", "eventId", CATEGORY_EVENT},
};
enum { START, END, CORRELATION, NAME, WHERE, SIZE, DEVICE, COPY, FROM, TO }; /* of a row */

static bool fail(struct nsys *n, const char *what)
{
	if (!n->failed)
		diag_error(n->diag, (struct origin){n->path, 0}, "%s", what);
	n->failed = true;
	return false;
}

/* Ends a query that a malicious schema makes endless. */
static int end_endless(void *ctx)
{
	struct nsys *n = ctx;
	return ++n->steps_count > n->steps_most;
}

static bool has(struct nsys *n, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(n->db, "main", table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

/* Returns a column of a table, or NULL in the words of SQL if this version of nsys lacks it. */
static const char *column(struct nsys *n, const char *table, const char *name)
{
	return has(n, table, name) ? arena_printf(n->p->arena, "t.\"%s\"", name) : "NULL";
}

/* ---- rows ---- */

static const char *text_at(sqlite3_stmt *row, int index)
{
	const char *text = (const char *)sqlite3_column_text(row, index);
	return text ? text : "";
}

/* Returns -1 if the value is not a number from 0 to max. */
static int64_t number_at(sqlite3_stmt *row, int index, sqlite3_int64 max)
{
	sqlite3_int64 value = sqlite3_column_int64(row, index);
	bool whole = sqlite3_column_type(row, index) == SQLITE_INTEGER;
	return whole && value >= 0 && value <= max ? value : -1;
}

static void take_call(struct nsys *n, sqlite3_stmt *row, enum category category, int64_t start_ns,
		      int64_t lasts_ns)
{
	const char *name = text_at(row, NAME), *version = strstr(name, "_v");
	char function[256];
	if (category == CATEGORY_CALL ? !function_is_cuda(name) : !name[0])
		return;
	snprintf(function, sizeof function, "%.*s", (int)(version ? version - name : 255), name);
	*VEC_PUSH(n->p->arena, &n->p->calls) = (struct profile_call){
		.call = {.gpu_start_s = -1,
			 .gpu_s = -1,
			 .function = names_at(n->names, (size_t)names_add(n->names, function)),
			 .stream = -1,
			 .event = -1,
			 .thread = (uint32_t)names_add(n->threads, text_at(row, WHERE))},
		.start_ns = start_ns,
		.lasts_ns = lasts_ns,
		.correlation = number_at(row, CORRELATION, TIME_MAX_NS),
	};
}

/* Returns the words that PyTorch's profiler writes for a copy. */
static const char *copy_label(sqlite3_stmt *row)
{
	static const char *const labels[11][3] = {
		[1] = {"HtoD", "HtoD (Pageable)", "HtoD (Pinned)"},
		[2] = {"DtoH", "DtoH (Pageable)", "DtoH (Pinned)"},
		[9] = {"HtoH", "HtoH", "HtoH"},
		[10] = {"PtoP", "PtoP", "PtoP"},
	};
	int64_t kind = number_at(row, COPY, 10);
	int64_t memory = number_at(row, kind == 1 ? FROM : TO, 1); /* 0: pageable, 1: pinned */
	const char *label = kind >= 0 ? labels[kind][memory + 1] : NULL;
	return label ? label : "DtoD";
}

static void take_work(struct nsys *n, sqlite3_stmt *row, enum category category, int64_t start_ns,
		      int64_t lasts_ns)
{
	int64_t stream = number_at(row, WHERE, STREAMS_MAX - 1);
	int64_t device = number_at(row, DEVICE, DEVICES_MAX),
		size_B = number_at(row, SIZE, SIZE_MAX_B);
	bool event = category == CATEGORY_EVENT;
	const char *label = category == CATEGORY_COPY ? copy_label(row) : text_at(row, NAME);
	if (n->p->works.count == JOIN_EACH)
		profile_join_works(n->p);
	*VEC_PUSH(n->p->arena, &n->p->works) = (struct profile_work){
		.correlation = number_at(row, CORRELATION, TIME_MAX_NS),
		.start_ns = start_ns,
		.lasts_ns = lasts_ns,
		.stream = stream >= 0 && device > 0 ? stream + device * STREAMS_MAX : stream,
		.awaited = event ? number_at(row, SIZE, EVENTS_MAX) : -1,
		.recorded_on = -1,
		.size_B = size_B > 0 ? (double)size_B : 0,
		.label = names_at(n->names, (size_t)names_add(n->names, label)),
		.category = event && size_B < 0 ? CATEGORY_SYNC : category,
	};
}

/* Takes texts such as "step 3", "iteration 3" and "ProfilerStep#3". */
static void take_mark(struct nsys *n, sqlite3_stmt *row, int64_t start_ns, int64_t lasts_ns)
{
	static const char *const begins[] = {"step ", "iteration ", "ProfilerStep#"};
	const char *text = text_at(row, NAME);
	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
		size_t length = strlen(begins[i]);
		if (strncasecmp(text, begins[i], length) != 0 || text[length] < '0' ||
		    text[length] > '9')
			continue;
		*VEC_PUSH(n->p->arena, &n->p->marks) = (struct profile_mark){
			start_ns, start_ns + lasts_ns,
			(uint32_t)(strtoul(text + length, NULL, 10) % EVENTS_MAX),
			(uint32_t)names_add(n->threads, text_at(row, WHERE))};
	}
}

static bool take_row(struct nsys *n, sqlite3_stmt *row, enum category category)
{
	sqlite3_int64 start = sqlite3_column_int64(row, START),
		      end = sqlite3_column_int64(row, END);
	n->p->counts.events++;
	if (n->watch && ++n->rows_read % TELL_EACH == 0 && n->rows_read < n->row_count) {
		double size = (double)n->watch->size_B / 1e6;
		n->watch->tell(n->watch->ctx, 0,
			       (size_t)(size * (double)n->rows_read / (double)n->row_count),
			       (size_t)size);
	}
	if (arena_used_B(n->p->arena) > RECORDED_MEMORY_MAX_B)
		return fail(n, RECORDED_TOO_LARGE);
	if (sqlite3_column_type(row, START) == SQLITE_NULL || start < -TIME_MAX_NS ||
	    start > TIME_MAX_NS || end > TIME_MAX_NS)
		return true;
	int64_t lasts_ns = end > start ? end - start : 0;
	if (category == CATEGORY_CALL || category == CATEGORY_LIBRARY)
		take_call(n, row, category, start, lasts_ns);
	else if (category == CATEGORY_OTHER)
		take_mark(n, row, start, lasts_ns);
	else
		take_work(n, row, category, start, lasts_ns);
	return true;
}

/* ---- tables ---- */

/* Returns about how many rows a table has, from its largest row number. Counting them would read
 * the whole table. */
static size_t row_count(struct nsys *n, const struct source *source)
{
	sqlite3_stmt *query = NULL;
	const char *text =
		arena_printf(n->p->arena, "SELECT max(rowid) FROM \"%s\"", source->table);
	size_t count = 0;
	if (sqlite3_prepare_v2(n->db, text, -1, &query, NULL) == SQLITE_OK &&
	    sqlite3_step(query) == SQLITE_ROW && sqlite3_column_int64(query, 0) > 0)
		count = (size_t)sqlite3_column_int64(query, 0);
	sqlite3_finalize(query);
	return count < n->size_B / ROW_LEAST_B ? count : n->size_B / ROW_LEAST_B;
}

/* Makes room for the calls, because a list that grows takes twice as much memory. */
static void reserve(struct nsys *n, const struct source *source)
{
	size_t count = source->category == CATEGORY_CALL ? row_count(n, source) : 0;
	if (count > 0) {
		n->p->calls.items = ARENA_ARRAY(n->p->arena, count + 1, struct profile_call);
		n->p->calls.room = count + 1;
	}
}

/* Reads the rows of a table that belong to a process. */
static bool read_table(struct nsys *n, const struct source *source, const char *process)
{
	struct arena *arena = n->p->arena;
	const char *table = source->table, *name = column(n, table, source->name);
	sqlite3_stmt *query = NULL;
	if (!has(n, table, "start"))
		return true;
	if (!process)
		reserve(n, source);
	if (has(n, "StringIds", "value"))
		name = arena_printf(arena, "(SELECT value FROM StringIds WHERE id = %s)", name);
	if (has(n, table, "text"))
		name = arena_printf(arena, "coalesce(t.text, %s)", name);
	const char *of = !process                     ? "1"
			 : has(n, table, "globalPid") ? "t.globalPid"
						      : "(t.globalTid & -16777216)";
	const char *text = arena_printf(
		arena,
		"SELECT t.start, %s, %s, %s, %s, %s, %s, %s, %s, %s FROM \"%s\" t WHERE %s = %s",
		column(n, table, "end"), column(n, table, "correlationId"), name,
		column(n, table, source->where), column(n, table, source->size),
		column(n, table, "deviceId"), column(n, table, "copyKind"),
		column(n, table, "srcKind"), column(n, table, "dstKind"), table, of,
		process ? process : "1");
	n->steps_count = 0;
	if (sqlite3_prepare_v2(n->db, text, -1, &query, NULL) == SQLITE_OK)
		while (!n->failed && sqlite3_step(query) == SQLITE_ROW)
			take_row(n, query, source->category);
	int code = sqlite3_errcode(n->db);
	bool fine = code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW;
	if (!fine)
		fail(n, arena_printf(arena,
				     "table %s cannot be read: %s (export the report again with "
				     "nsys export --type sqlite)",
				     table, sqlite3_errmsg(n->db)));
	sqlite3_finalize(query);
	return !n->failed;
}

static struct recorded_calls *read_rank(struct nsys *n, const char *process,
					struct profile_counts *counts)
{
	struct profile *profile = ARENA_NEW(n->p->arena, struct profile);
	bool fine = true;
	*profile = (struct profile){.arena = n->p->arena,
				    .tool = "nsys",
				    .gpu = n->p->gpu,
				    .rank = -1,
				    .counts = *counts};
	n->p = profile;
	n->threads = names_new(profile->arena);
	for (size_t i = 0; fine && i < sizeof sources / sizeof sources[0]; i++)
		fine = read_table(n, &sources[i], process);
	if (fine && (profile->works.count == 0 || profile->calls.count == 0))
		fail(n, arena_printf(profile->arena,
				     "the table CUPTI_ACTIVITY_KIND_%s has no usable row (profile "
				     "with nsys profile --trace=cuda,nvtx)",
				     profile->calls.count ? "KERNEL" : "RUNTIME"));
	else if (fine && names_count(n->threads) > RECORDED_THREADS_MAX)
		fail(n, "the report has more than 4096 threads (profile fewer of them)");
	struct recorded_calls *recorded = n->failed ? NULL : profile_join(profile);
	*counts = profile->counts;
	return recorded;
}

/* Returns the texts in the first column of a query. */
static struct text_list {
	VEC(const char *) list;
} texts_of(struct nsys *n, const char *text)
{
	struct text_list texts = {0};
	sqlite3_stmt *query = NULL;
	if (sqlite3_prepare_v2(n->db, text, -1, &query, NULL) == SQLITE_OK)
		while (sqlite3_step(query) == SQLITE_ROW && texts.list.count < RECORDED_RANKS_MAX)
			*VEC_PUSH(n->p->arena, &texts.list) =
				arena_strdup(n->p->arena, text_at(query, 0));
	sqlite3_finalize(query);
	return texts;
}

static struct recorded_calls *read_ranks(struct nsys *n, struct profile_counts *counts)
{
	struct recorded_calls *first = NULL, **next = &first;
	struct profile *profile = n->p;
	const struct text_list gpus = texts_of(n, "SELECT name FROM TARGET_INFO_GPU LIMIT 1");
	const struct text_list processes = texts_of(
		n, "SELECT DISTINCT CAST(globalPid AS INTEGER) FROM CUPTI_ACTIVITY_KIND_KERNEL "
		   "ORDER BY 1");
	size_t count = processes.list.count > 1 ? processes.list.count : 1;
	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
		n->row_count += row_count(n, &sources[i]);
	profile->gpu = gpus.list.count > 0 ? gpus.list.items[0] : "";
	for (size_t i = 0; i < count && !n->failed; i++) {
		n->p = profile;
		*next = read_rank(n, count > 1 ? processes.list.items[i] : NULL, counts);
		if (*next && count > 1) {
			(*next)->rank = (uint32_t)i;
			(*next)->world_count = (uint32_t)count;
		}
		if (*next)
			next = (struct recorded_calls **)&(*next)->next;
	}
	return n->failed ? NULL : first;
}

static bool is_database(const char *path)
{
	char begin[7] = "";
	const char *why;
	FILE *file = file_once(path, &why);
	if (file) {
		begin[fread(begin, 1, 6, file)] = 0;
		fclose(file);
	}
	return strcmp(begin, "SQLite") == 0;
}

const struct recorded_calls *nsys_read(struct arena *arena, struct diag *diag, FILE *in,
				       const char *path, const struct profile_watch *watch,
				       struct profile_counts *counts)
{
	struct profile profile = {.arena = arena, .gpu = ""};
	struct nsys n = {.diag = diag,
			 .watch = watch,
			 .path = path,
			 .p = &profile,
			 .steps_most = STEPS_LEAST,
			 .names = names_new(arena)};
	struct stat about;
	const struct recorded_calls *recorded = NULL;
	*counts = (struct profile_counts){0};
	if (stat(path, &about) == 0)
		n.size_B = (size_t)about.st_size;
	n.steps_most += n.size_B / STEPS_UNIT_B;
	sqlite3_soft_heap_limit64(CACHE_MAX_B);
	if (!is_database(path)) {
		fail(&n, "this is not a database of SQLite (name the file that nsys export --type "
			 "sqlite REPORT writes, not a pipe or the text of nsys stats)");
	} else if (sqlite3_open_v2(path, &n.db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ==
		   SQLITE_OK) {
		sqlite3_db_config(n.db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		sqlite3_db_config(n.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_progress_handler(n.db, STEPS_EACH, end_endless, &n);
		recorded = read_ranks(&n, counts);
	} else {
		fail(&n, arena_printf(arena, "the database cannot be opened: %s",
				      sqlite3_errmsg(n.db)));
	}
	sqlite3_close(n.db);
	return recorded;
}
