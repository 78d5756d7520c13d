/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/nsys.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/call_file.h"
#include "sim/traces/functions.h"
#include "sim/engine/names.h"

/* Limits for databases that somebody else made: memory of SQLite, steps of its virtual machine for
 * one query (about a minute), times (30 years), and numbers of devices and streams. */
static const sqlite3_int64 CACHE_MAX_B = 1 << 28, TIME_MAX_NS = 1000000000000000000;
enum { STEPS_EACH = 1 << 20, STEPS_MAX = 8192, DEVICES_MAX = 1024, STREAMS_MAX = 1 << 20 };

struct nsys {
	struct diag *diag;
	const char *path;
	sqlite3 *db;
	struct names *names, *threads;
	struct profile *p;
	const char *process; /* condition of the rows of the process; "1": all */
	size_t steps_count;
	bool failed;
};

static bool fail(struct nsys *n, const char *what)
{
	if (!n->failed)
		diag_error(n->diag, (struct origin){n->path, 0}, "%s", what);
	n->failed = true;
	return false;
}

/* Ends a query that a malicious schema makes endless. */
static int watch(void *ctx)
{
	struct nsys *n = ctx;
	return ++n->steps_count > STEPS_MAX;
}

/* Returns a column of a table, or "NULL" if it does not exist. Views do not count as tables. */
static const char *column(struct nsys *n, const char *table, const char *name)
{
	sqlite3_stmt *query = NULL;
	const char *found = "NULL";
	const char *text = "SELECT 1 FROM sqlite_master m, pragma_table_info(m.name) c "
			   "WHERE m.type = 'table' AND m.name = ? AND c.name = ?";
	if (sqlite3_prepare_v2(n->db, text, -1, &query, NULL) == SQLITE_OK) {
		sqlite3_bind_text(query, 1, table, -1, SQLITE_STATIC);
		sqlite3_bind_text(query, 2, name, -1, SQLITE_STATIC);
		if (sqlite3_step(query) == SQLITE_ROW)
			found = arena_printf(n->p->arena, "t.\"%s\"", name);
	}
	sqlite3_finalize(query);
	return found;
}

static bool has(struct nsys *n, const char *table, const char *name)
{
	return strcmp(column(n, table, name), "NULL") != 0;
}

typedef bool row_fn(struct nsys *n, sqlite3_stmt *row);

/* Calls fn with each row of a query. Returns false after an error, which names the table. */
static bool each_row(struct nsys *n, const char *table, const char *text, row_fn *fn)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(n->db, text, -1, &query, NULL);
	bool fine = true;
	n->steps_count = 0;
	while (code == SQLITE_OK && fine) {
		if (sqlite3_step(query) != SQLITE_ROW)
			break;
		n->p->counts.events++;
		fine = arena_used_B(n->p->arena) <= RECORDED_MEMORY_MAX_B
			       ? fn(n, query)
			       : fail(n, RECORDED_TOO_LARGE);
	}
	code = sqlite3_finalize(query);
	if (fine && code != SQLITE_OK && code != SQLITE_DONE)
		fine = fail(n, arena_printf(n->p->arena,
					    "table %s cannot be read: %s (export the report again "
					    "with nsys export --type sqlite)",
					    table, sqlite3_errmsg(n->db)));
	return fine;
}

/* ---- rows: start, end, correlation, name, and what follows ---- */

static const char *text_at(sqlite3_stmt *row, int index)
{
	const char *text = (const char *)sqlite3_column_text(row, index);
	return text ? text : "";
}

static const char *kept(struct nsys *n, const char *text)
{
	return names_at(n->names, (size_t)names_add(n->names, text));
}

static int64_t number_at(sqlite3_stmt *row, int index)
{
	return sqlite3_column_type(row, index) == SQLITE_INTEGER ? sqlite3_column_int64(row, index)
								 : -1;
}

/* Reads the two times. Returns false if the row has none, so it is skipped. */
static bool times_at(sqlite3_stmt *row, int64_t *start_ns, int64_t *lasts_ns)
{
	sqlite3_int64 start = sqlite3_column_int64(row, 0), end = sqlite3_column_int64(row, 1);
	if (sqlite3_column_type(row, 0) == SQLITE_NULL || start < -TIME_MAX_NS ||
	    start > TIME_MAX_NS || end > TIME_MAX_NS)
		return false;
	*start_ns = start;
	*lasts_ns = end > start ? end - start : 0;
	return true;
}

static bool take_call(struct nsys *n, sqlite3_stmt *row)
{
	struct profile_call call = {
		.call = {.gpu_start_s = -1, .gpu_s = -1, .stream = -1, .event = -1},
		.correlation = number_at(row, 2)};
	const char *name = text_at(row, 3), *version = strstr(name, "_v");
	if (!times_at(row, &call.start_ns, &call.lasts_ns) || !function_is_cuda(name))
		return true;
	call.call.function = kept(
		n, arena_printf(n->p->arena, "%.*s", (int)(version ? version - name : 256), name));
	call.call.thread = (uint32_t)names_add(n->threads, text_at(row, 4));
	*VEC_PUSH(n->p->arena, &n->p->calls) = call;
	return true;
}

static bool take_work(struct nsys *n, sqlite3_stmt *row, enum category category)
{
	struct profile_work work = {.correlation = number_at(row, 2),
				    .stream = number_at(row, 4),
				    .awaited = -1,
				    .recorded_on = -1,
				    .label = kept(n, text_at(row, 3)),
				    .category = category};
	int64_t device = number_at(row, 5), size_B = number_at(row, 6);
	if (!times_at(row, &work.start_ns, &work.lasts_ns))
		return true;
	if (work.stream >= 0 && device >= 0)
		work.stream = work.stream % STREAMS_MAX + device % DEVICES_MAX * STREAMS_MAX;
	work.size_B = size_B > 0 ? (double)(size_B % 1000000000000000) : 0;
	if (category == CATEGORY_EVENT)
		work.awaited = size_B >= 0 ? size_B % (1 << 30) : -1;
	*VEC_PUSH(n->p->arena, &n->p->works) = work;
	return true;
}

static bool take_kernel(struct nsys *n, sqlite3_stmt *row)
{
	return take_work(n, row, CATEGORY_KERNEL);
}

static bool take_copy(struct nsys *n, sqlite3_stmt *row)
{
	return take_work(n, row, CATEGORY_COPY);
}

static bool take_memset(struct nsys *n, sqlite3_stmt *row)
{
	return take_work(n, row, CATEGORY_MEMSET);
}

static bool take_event(struct nsys *n, sqlite3_stmt *row)
{
	bool stream_only = number_at(row, 6) < 0;
	return take_work(n, row, stream_only ? CATEGORY_SYNC : CATEGORY_EVENT);
}

/* Takes texts such as "step 3", "iteration 3" and "ProfilerStep#3". */
static bool take_mark(struct nsys *n, sqlite3_stmt *row)
{
	static const char *const begins[] = {"step ", "iteration ", "ProfilerStep#"};
	const char *text = text_at(row, 3);
	struct profile_mark mark = {0};
	int64_t lasts_ns;
	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
		const char *digits = text + strlen(begins[i]);
		if (strncasecmp(text, begins[i], strlen(begins[i])) != 0 || *digits < '0' ||
		    *digits > '9' || !times_at(row, &mark.start_ns, &lasts_ns))
			continue;
		mark.end_ns = mark.start_ns + lasts_ns;
		mark.step = (uint32_t)(strtoul(digits, NULL, 10) % (1ul << 30));
		mark.thread = (uint32_t)names_add(n->threads, text_at(row, 4));
		*VEC_PUSH(n->p->arena, &n->p->marks) = mark;
	}
	return true;
}

/* ---- tables ---- */

/* Reads the activities of one table. `name` is the expression of the row's text, `size` the column
 * of its bytes or event. */
static bool read_activities(struct nsys *n, const char *table, const char *name, const char *size,
			    row_fn *fn)
{
	if (!has(n, table, "start"))
		return true;
	bool calls = fn == take_call;
	const char *process =
		strcmp(n->process, "1") == 0 ? "1"
		: has(n, table, "globalPid")
			? arena_printf(n->p->arena, "t.globalPid = %s", n->process)
		: has(n, table, "globalTid")
			? arena_printf(n->p->arena, "(t.globalTid & -16777216) = %s", n->process)
			: "1";
	const char *text = arena_printf(
		n->p->arena, "SELECT t.start, %s, %s, %s, %s, %s, %s FROM \"%s\" t WHERE %s",
		column(n, table, "end"), column(n, table, "correlationId"), name,
		column(n, table, calls || fn == take_mark ? "globalTid" : "streamId"),
		column(n, table, "deviceId"), column(n, table, size), table, process);
	return each_row(n, table, text, fn);
}

static const char *looked_up(struct nsys *n, const char *table, const char *name, const char *other)
{
	const char *id = column(n, table, has(n, table, name) ? name : other);
	return has(n, "StringIds", "value")
		       ? arena_printf(n->p->arena, "(SELECT value FROM StringIds WHERE id = %s)",
				      id)
		       : "NULL";
}

static bool read_process(struct nsys *n)
{
	static const char copy[] = "CUPTI_ACTIVITY_KIND_MEMCPY", nvtx[] = "NVTX_EVENTS",
			  kernel[] = "CUPTI_ACTIVITY_KIND_KERNEL",
			  sync[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
			  event[] = "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
			  runtime[] = "CUPTI_ACTIVITY_KIND_RUNTIME";
	/* The words that kineto writes, which profile_join knows. Kind 0 of memory is pageable. */
	const char *direction = arena_printf(
		n->p->arena,
		"(CASE %s WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 9 THEN 'HtoH' WHEN 10 THEN "
		"'PtoP' ELSE 'DtoD' END || CASE WHEN 0 IN (%s, %s) THEN ' Pageable' WHEN 1 IN (%s, "
		"%s) THEN ' Pinned' ELSE '' END)",
		column(n, copy, "copyKind"), column(n, copy, "srcKind"), column(n, copy, "dstKind"),
		column(n, copy, "srcKind"), column(n, copy, "dstKind"));
	const char *marked = arena_printf(n->p->arena, "coalesce(%s, %s)", column(n, nvtx, "text"),
					  looked_up(n, nvtx, "textId", "textId"));
	return read_activities(n, runtime, looked_up(n, runtime, "nameId", "nameId"), "",
			       take_call) &&
	       read_activities(n, kernel, looked_up(n, kernel, "demangledName", "shortName"), "",
			       take_kernel) &&
	       read_activities(n, copy, direction, "bytes", take_copy) &&
	       read_activities(n, "CUPTI_ACTIVITY_KIND_MEMSET", "'Memset'", "bytes", take_memset) &&
	       read_activities(n, sync, "''", "eventId", take_event) &&
	       read_activities(n, event, "''", "eventId", take_event) &&
	       read_activities(n, nvtx, marked, "", take_mark);
}

static bool take_text(struct nsys *n, sqlite3_stmt *row)
{
	n->p->gpu = n->p->gpu[0] ? n->p->gpu : arena_strdup(n->p->arena, text_at(row, 0));
	return true;
}

static struct recorded_calls *read_rank(struct nsys *n, struct profile_counts *counts)
{
	struct arena *arena = n->p->arena;
	struct profile profile = {
		.arena = arena, .tool = "nsys", .gpu = n->p->gpu, .rank = -1, .counts = *counts};
	n->p = &profile;
	n->threads = names_new(arena);
	bool fine = read_process(n);
	if (fine && profile.works.count == 0)
		fail(n, "the report contains no work of the GPU, in the tables "
			"CUPTI_ACTIVITY_KIND_KERNEL and _MEMCPY (profile with nsys profile "
			"--trace=cuda,nvtx)");
	else if (fine && names_count(n->threads) > RECORDED_THREADS_MAX)
		fail(n, arena_printf(arena,
				     "the report has more than %d threads (profile fewer of them)",
				     RECORDED_THREADS_MAX));
	struct recorded_calls *recorded = n->failed ? NULL : profile_join(&profile);
	*counts = profile.counts;
	return recorded;
}

struct processes {
	VEC(const char *) list;
};

/* Returns the numbers of the processes with kernels, or the one entry "1". */
static struct processes find_processes(struct nsys *n)
{
	struct processes processes = {0};
	sqlite3_stmt *query = NULL;
	const char *text = "SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1";
	if (has(n, "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid") &&
	    sqlite3_prepare_v2(n->db, text, -1, &query, NULL) == SQLITE_OK)
		while (sqlite3_step(query) == SQLITE_ROW &&
		       processes.list.count < RECORDED_RANKS_MAX)
			*VEC_PUSH(n->p->arena, &processes.list) = arena_printf(
				n->p->arena, "%lld", (long long)sqlite3_column_int64(query, 0));
	sqlite3_finalize(query);
	if (processes.list.count == 0)
		*VEC_PUSH(n->p->arena, &processes.list) = "1";
	return processes;
}

static const struct recorded_calls *read_all(struct nsys *n, struct profile_counts *counts)
{
	struct recorded_calls *first = NULL, *last = NULL;
	struct profile *profile = n->p;
	if (has(n, "TARGET_INFO_GPU", "name") &&
	    !each_row(n, "TARGET_INFO_GPU", "SELECT name FROM TARGET_INFO_GPU", take_text))
		return NULL;
	const struct processes processes = find_processes(n);
	for (size_t i = 0; i < processes.list.count; i++) {
		n->process = processes.list.items[i];
		n->p = profile;
		struct recorded_calls *rank = read_rank(n, counts);
		if (!rank)
			return NULL;
		if (processes.list.count > 1) {
			rank->rank = (uint32_t)i;
			rank->world_count = (uint32_t)processes.list.count;
		}
		if (last)
			last->next = rank;
		first = first ? first : rank;
		last = rank;
	}
	return first;
}

const struct recorded_calls *nsys_read(struct arena *arena, struct diag *diag, const char *path,
				       struct profile_counts *counts)
{
	struct profile profile = {.arena = arena, .gpu = ""};
	struct nsys n = {.diag = diag, .path = path, .p = &profile, .names = names_new(arena)};
	const struct recorded_calls *recorded = NULL;
	*counts = (struct profile_counts){0};
	sqlite3_soft_heap_limit64(CACHE_MAX_B);
	if (sqlite3_open_v2(path, &n.db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
		sqlite3_db_config(n.db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		sqlite3_db_config(n.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_progress_handler(n.db, STEPS_EACH, watch, &n);
		recorded = read_all(&n, counts);
	} else {
		fail(&n, arena_printf(arena, "the database cannot be opened: %s",
				      sqlite3_errmsg(n.db)));
	}
	sqlite3_close(n.db);
	return recorded;
}
