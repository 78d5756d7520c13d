/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a log of calls, one line each: a table with a heading, or lines such as
 *
 *   0.001250 cudaLaunchKernel 960 7
 *   0.001300 cuMemcpyHtoDAsync_v2 602112 7
 *   0.002000 step 2
 *
 * with the time in seconds, the function, the bytes and the stream, of which the last two may be
 * missing. The heading of a table names the columns of struct log_column in any order; its cells
 * are divided by commas, tabs or semicolons. Bytes are those of a copy, an allocation or a
 * collective, and the size of the arguments of any other call.
 *
 * A log without the end of a call does not say how long it lasted. A call that waits is taken to
 * last until the next one of its thread, and any other call CALL_S.
 *
 * A log without times of kernels says little about the GPU. If a call waits, the GPU was busy when
 * the wait began. So the kernels that were launched since the wait before share the time from the
 * first launch until the wait ends. Kernels behind which no call waits take no time. */
#include "sim/base/lines.h"
#include "sim/engine/names.h"
#include "sim/traces/call_file.h"
#include "sim/traces/functions.h"
#include "sim/traces/readers.h"

/* assumption: about the time of a call that does not wait */
static const double CALL_S = 1e-6;
/* A wait that lasts longer has waited for kernels. */
static const double WAITED_S = 20e-6;
/* assumption: a copy at PCIe 3.0 x16, which a wait for a copy also contains */
static const double COPY_Bps = 12e9;
static const double TIME_MAX_S = 1e9, SIZE_MAX_B = 1e15;

enum log_column { TIME, NAME, BYTES, STREAM, DURATION, END, THREAD, DIRECTION, KERNEL, COLUMNS };
enum { CELLS_MAX = 64, NO_CELL = CELLS_MAX, CELL_MAX_B = 64 };

static const char *const names[COLUMNS] = {
	[TIME] = "time start timestamp ts t begin",
	[NAME] = "name function call api",
	[BYTES] = "bytes size nbytes",
	[STREAM] = "stream",
	[DURATION] = "duration dur elapsed latency",
	[END] = "end",
	[THREAD] = "thread tid",
	[DIRECTION] = "direction copy",
	[KERNEL] = "kernel gpu",
};

struct api_log {
	struct arena *arena;
	struct diag *diag;
	struct lines lines;
	struct names *functions, *threads, *streams;
	char separator;          /* ' ': words */
	bool begun;              /* the columns are known */
	size_t columns[COLUMNS]; /* index of the cell, or NO_CELL */
	double units_s[COLUMNS];
	const char *cells[CELLS_MAX];
	size_t cell_count;
	double first_s; /* time of the first line */
	VEC(struct recorded_call) calls;
	VEC(struct recorded_mark) marks;
	size_t unknown_count; /* lines of functions that are none of CUDA */
	const char *unknown;
};

#define fail(log, ...) diag_error((log)->diag, (log)->lines.origin, __VA_ARGS__)

/* ---- cells ---- */

static void split(struct api_log *log, char *line)
{
	log->cell_count = log->separator == ' '
				  ? lines_words(line, " \t", log->cells, CELLS_MAX)
				  : lines_cells(line, log->separator, log->cells, CELLS_MAX);
}

static const char *cell(const struct api_log *log, enum log_column column)
{
	size_t at = log->columns[column];
	const char *text = at < log->cell_count ? log->cells[at] : "";
	return text[0] && strcmp(text, "-") != 0 ? text : NULL;
}

/* Takes the unit from the end of a heading, such as "start_ns" or "Start (ns)", and removes it.
 * Without a unit, a time is in seconds. */
static double take_unit(char *heading)
{
	static const struct {
		const char *text;
		double unit_s;
	} units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"b", 1}};
	size_t end = strcspn(heading, "([");
	double unit_s = 1;
	if (!heading[end]) {
		const char *last = strrchr(heading, '_');
		end = last ? (size_t)(last - heading) : strlen(heading);
	}
	const char *text = heading + end + strspn(heading + end, "_([");
	size_t length = strcspn(text, ")]");
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (length == strlen(units[i].text) && strncmp(text, units[i].text, length) == 0)
			unit_s = units[i].unit_s;
	while (end > 0 && heading[end - 1] == ' ')
		end--;
	heading[end] = '\0';
	return unit_s;
}

static bool take_heading(struct api_log *log)
{
	for (size_t column = 0; column < COLUMNS; column++)
		log->columns[column] = NO_CELL;
	for (size_t i = 0; i < log->cell_count; i++) {
		char heading[CELL_MAX_B];
		snprintf(heading, sizeof heading, "%s", log->cells[i]);
		for (char *c = heading; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		double unit_s = take_unit(heading);
		for (size_t column = 0; column < COLUMNS; column++)
			if (log->columns[column] == NO_CELL && has_word(names[column], heading)) {
				log->columns[column] = i;
				log->units_s[column] = unit_s;
			}
	}
	return log->columns[NAME] != NO_CELL && log->columns[TIME] != NO_CELL;
}

/* Finds out from the first line how the cells are divided, and what they are. Returns true if it is
 * a heading, or if the file has another format. */
static bool begin(struct api_log *log, const char *line)
{
	const char *separators = ",\t;";
	if (strchr("{[<", line[0])) {
		fail(log,
		     "this is not a log of calls, because it begins with '%c' (write 'time "
		     "function bytes stream', or a heading with time and name)",
		     line[0]);
		return true;
	}
	while (*separators && !strchr(line, *separators))
		separators++;
	log->separator = *separators ? *separators : ' ';
	log->begun = true;
	split(log, arena_strdup(log->arena, line));
	if (take_heading(log))
		return true;
	for (size_t column = 0; column < COLUMNS; column++) {
		log->columns[column] = column <= STREAM ? column : NO_CELL;
		log->units_s[column] = 1;
	}
	return false;
}

/* Reads a number in the column's unit, a time with its unit, or one of day such as 10:00:01.25. */
static bool take_time(struct api_log *log, enum log_column column, double *time_s)
{
	const char *text = cell(log, column);
	unsigned hours, minutes;
	double seconds;
	if (!text || number_parse(text, time_s)) {
		*time_s = text ? *time_s * log->units_s[column] : -1;
		return true;
	}
	if (sscanf(text, "%2u:%2u:%lf", &hours, &minutes, &seconds) == 3 && isfinite(seconds)) {
		*time_s = hours * 3600.0 + minutes * 60.0 + seconds;
		return true;
	}
	const char *wrong = quantity_parse(log->arena, QUANTITY_TIME, text, time_s);
	return !wrong || fail(log, "the time '%.*s' %s", CELL_MAX_B, text, wrong);
}

/* Reads a whole number of bytes; -1 if there is none. */
static bool take_bytes(struct api_log *log, double *size_B)
{
	const char *text = cell(log, BYTES);
	*size_B = -1;
	if (!text)
		return true;
	if (number_parse(text, size_B) && *size_B >= 0 && *size_B <= SIZE_MAX_B &&
	    !(*size_B > floor(*size_B)))
		return true;
	return fail(log, "bytes is '%.*s', but must be a whole number (correct it, or write -)",
		    CELL_MAX_B, text);
}

/* ---- lines ---- */

/* Returns the direction of a copy, from the name or from its own column. */
static enum recorded_copy direction_of(const struct api_log *log, const char *function)
{
	enum recorded_copy copy = recorded_direction(function);
	const char *direction = cell(log, DIRECTION);
	return copy || !direction ? copy : recorded_direction(direction);
}

/* Takes a line "step 3", whose number is in the column of bytes or behind the name. */
static bool take_mark(struct api_log *log, double start_s)
{
	const char *name = cell(log, NAME), *number = cell(log, BYTES);
	if (strncmp(name, "step", strlen("step")) != 0)
		return false;
	double step = (double)log->marks.count + 1;
	const char *text = name[4] ? name + 4 + strspn(name + 4, " #") : number;
	if (text)
		(void)number_parse(text, &step); /* without a number, steps count from 1 */
	*VEC_PUSH(log->arena, &log->marks) =
		(struct recorded_mark){.t_s = start_s, .step = (uint32_t)fmin(fmax(step, 0), 1e9)};
	return true;
}

static bool take_call(struct api_log *log, double start_s)
{
	double lasts_s, end_s, kernel_s, size_B;
	const char *function = function_without_version(log->arena, cell(log, NAME));
	const char *thread = cell(log, THREAD), *stream = cell(log, STREAM);
	function = names_at(log->functions, (size_t)names_add(log->functions, function));
	bool is_copy = strstr(function, "Memcpy") != NULL;
	enum recorded_copy copy = is_copy ? direction_of(log, function) : COPY_NONE;
	if (!take_time(log, DURATION, &lasts_s) || !take_time(log, END, &end_s) ||
	    !take_time(log, KERNEL, &kernel_s) || !take_bytes(log, &size_B))
		return false;
	if (lasts_s >= 0)
		end_s = start_s + lasts_s;
	else if (end_s >= 0)
		end_s = fmax(end_s - log->first_s, start_s);
	if (is_copy && copy == COPY_NONE)
		return fail(log,
			    "the copy has no direction (write cuMemcpyHtoD and so on, or a column "
			    "direction with h2d, d2h or d2d)");
	if (is_copy && size_B < 0)
		return fail(log, "the copy has no bytes (write their number behind the function)");
	if (end_s > TIME_MAX_S || kernel_s > TIME_MAX_S)
		return fail(log, "a time is larger than 30 years (name the unit in the heading, "
				 "for example time_us)");
	struct recorded_call call = {
		.start_s = start_s,
		.end_s = end_s,
		.gpu_start_s = -1,
		.gpu_s = kernel_s,
		.function = function,
		.stream = stream ? names_add(log->streams, stream) : -1,
		.event = -1,
		.thread = (uint32_t)names_add(log->threads, thread ? thread : ""),
		.copy = (uint8_t)copy,
		.group = {0, 0, 1}};
	enum call_kind kind = function_use(&call).kind;
	bool has_size = is_copy || kind == CALL_MALLOC || call_has_peers(kind);
	if (has_size && size_B > 0)
		call.size_B = size_B;
	else if (!has_size && size_B > 0)
		call.arguments_B = (float)fmin(size_B, 1e9);
	*VEC_PUSH(log->arena, &log->calls) = call;
	return names_count(log->threads) <= RECORDED_THREADS_MAX ||
	       fail(log, "the log has more than %d threads (divide it)", RECORDED_THREADS_MAX);
}

static bool take_line(struct api_log *log, struct profile_counts *counts)
{
	double time_s;
	const char *name = cell(log, NAME);
	counts->events++;
	if (!name || !cell(log, TIME))
		return fail(log, "the line has no time or no function (write 'time function bytes "
				 "stream', or a heading with time and name)");
	bool known = function_is_known(name);
	if (!known && counts->used == 0 && strncmp(name, "step", strlen("step")) != 0)
		return fail(log,
			    "'%.*s' is not a function of CUDA or of its libraries (write 'time "
			    "function bytes stream', or a heading with time and name)",
			    CELL_MAX_B, name);
	if (!take_time(log, TIME, &time_s))
		return false;
	if (counts->events == 1)
		log->first_s = time_s;
	time_s -= log->first_s;
	if (time_s < 0 || time_s > TIME_MAX_S)
		return fail(log,
			    "the time is %g s after the first one (sort the log, or name the unit "
			    "in the heading, for example time_us)",
			    time_s);
	if (take_mark(log, time_s))
		return true;
	if (!known) {
		log->unknown = log->unknown ? log->unknown : arena_strdup(log->arena, name);
		log->unknown_count++;
		return true;
	}
	counts->used++;
	return take_call(log, time_s);
}

/* ---- times that the log lacks ---- */

static int by_thread_and_start(const void *a, const void *b)
{
	const struct recorded_call *x = a, *y = b;
	return ORDER_THEN(x->thread, y->thread, ORDER(x->start_s, y->start_s));
}

static bool is_wait(const struct recorded_call *call)
{
	switch (function_use(call).kind) {
	case CALL_EVENT_SYNCHRONIZE:
	case CALL_STREAM_SYNCHRONIZE:
	case CALL_DEVICE_SYNCHRONIZE:
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_D2H:
		return true;
	default:
		return false;
	}
}

/* A wait lasts until the next call of its thread, or until the next step. */
static void fill_ends(struct api_log *log)
{
	struct recorded_call *calls = log->calls.items;
	for (size_t i = 0, mark = 0; i < log->calls.count; i++) {
		bool last = i + 1 == log->calls.count || calls[i + 1].thread != calls[i].thread;
		double next_s = last ? calls[i].start_s + CALL_S : calls[i + 1].start_s;
		while (mark < log->marks.count && log->marks.items[mark].t_s <= calls[i].start_s)
			mark++;
		if (mark < log->marks.count)
			next_s = fmin(next_s, log->marks.items[mark].t_s);
		if (last)
			mark = 0;
		if (calls[i].end_s >= 0)
			continue;
		calls[i].end_s =
			is_wait(&calls[i]) ? next_s : fmin(next_s, calls[i].start_s + CALL_S);
	}
}

/* Gives the kernels since the wait before an equal share of the time until this wait ended. If the
 * log has times of kernels, those without one take none. */
static void fill_kernels(struct api_log *log, bool timed)
{
	struct recorded_call *calls = log->calls.items;
	for (size_t i = 0, first = 0; i < log->calls.count; i++) {
		size_t count = 0, begin = i;
		if (i > 0 && calls[i].thread != calls[i - 1].thread)
			first = i;
		enum call_kind kind = function_use(&calls[i]).kind;
		if (calls[i].gpu_s < 0 && (kind == CALL_LAUNCH || kind == CALL_MEMSET_ASYNC))
			calls[i].gpu_s = 0;
		if (timed || !is_wait(&calls[i]))
			continue;
		for (size_t k = i; k-- > first;)
			if (function_use(&calls[k]).kind == CALL_LAUNCH) {
				begin = k;
				count++;
			}
		double busy_s = calls[i].end_s - calls[begin].start_s - calls[i].size_B / COPY_Bps;
		bool waited = calls[i].end_s - calls[i].start_s >= WAITED_S && busy_s > 0;
		for (size_t k = first; k < i && waited; k++)
			if (function_use(&calls[k]).kind == CALL_LAUNCH)
				calls[k].gpu_s = busy_s / (double)count;
		first = i + 1;
	}
}

static const char *note_of(const struct api_log *log, bool timed)
{
	const char *note =
		timed ? ""
		      : "kernels share the time until the next wait, because the log does "
			"not say how long each one took";
	if (log->unknown_count == 0)
		return note;
	return arena_printf(log->arena,
			    "%s%s%zu lines of other functions were left out, the first of %.*s",
			    note, *note ? "\n" : "", log->unknown_count, CELL_MAX_B, log->unknown);
}

const struct recorded_calls *api_log_read(struct arena *arena, struct diag *diag, FILE *in,
					  const char *path, const struct profile_watch *watch,
					  struct profile_counts *counts)
{
	(void)watch;
	struct api_log *log = ARENA_NEW(arena, struct api_log);
	char *line;
	log->arena = arena;
	log->diag = log->lines.diag = diag;
	log->lines.in = in;
	log->lines.origin.file = path;
	log->lines.too_long = "this is not a log of calls, because a line is longer than 64 KiB";
	log->lines.not_text = "this is not a log of calls, because it contains a zero byte";
	log->functions = names_new(arena);
	log->threads = names_new(arena);
	log->streams = names_new(arena);
	*counts = (struct profile_counts){0};
	while (diag_count(diag) == 0 && (line = lines_next(&log->lines))) {
		line += strspn(line, " \t");
		if (!*line || *line == '#' || (!log->begun && begin(log, line)))
			continue;
		split(log, line);
		if (arena_used_B(arena) > RECORDED_MEMORY_MAX_B)
			fail(log, RECORDED_TOO_LARGE);
		else
			take_line(log, counts);
	}
	if (diag_count(diag) == 0 && log->calls.count == 0)
		diag_error(diag, (struct origin){path, 0},
			   "the log has no call (write one a line: 'time function bytes stream')");
	if (diag_count(diag) > 0)
		return NULL;
	bool timed = log->columns[KERNEL] != NO_CELL;
	recorded_sort(log->calls.items, log->calls.count, sizeof *log->calls.items,
		      by_thread_and_start);
	fill_ends(log);
	fill_kernels(log, timed);
	counts->used += log->marks.count;
	counts->note = note_of(log, timed);
	struct recorded_calls *recorded = ARENA_NEW(arena, struct recorded_calls);
	*recorded = (struct recorded_calls){.tool = "api-log",
					    .gpu = "",
					    .calls = log->calls.items,
					    .call_count = log->calls.count,
					    .marks = log->marks.items,
					    .mark_count = log->marks.count};
	recorded_calls_settle(arena, recorded);
	return recorded;
}
