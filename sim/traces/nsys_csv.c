/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/call_file.h"
#include "sim/traces/nsys.h"
#include "sim/engine/names.h"

enum { LINE_MAX_B = 65536, CELLS_MAX = 64, COLUMN_COUNT = 6 };
enum column { COLUMN_START, COLUMN_LASTS, COLUMN_SIZE, COLUMN_DEVICE, COLUMN_STREAM, COLUMN_NAME };

struct table {
	struct arena *arena;
	struct diag *diag;
	const char *path;
	int line;
	int places[COLUMN_COUNT];   /* index of each column, or -1 */
	double units[COLUMN_COUNT]; /* nanoseconds or bytes of one unit */
	char *cells[CELLS_MAX];
	int cell_count;
};

static bool fail(struct table *t, const char *what)
{
	return diag_error(t->diag, (struct origin){t->path, t->line}, "%s", what);
}

/* Divides a line at commas outside of quotation marks, in place. */
static void divide(struct table *t, char *line)
{
	char *to = line;
	bool quoted = false;
	t->cell_count = 1;
	t->cells[0] = line;
	for (const char *from = line; *from && *from != '\n' && *from != '\r'; from++) {
		if (*from == '"' && quoted && from[1] == '"')
			*to++ = *from++;
		else if (*from == '"')
			quoted = !quoted;
		else if (*from != ',' || quoted)
			*to++ = *from;
		else if (t->cell_count < CELLS_MAX) {
			*to++ = '\0';
			t->cells[t->cell_count++] = to;
		}
	}
	*to = '\0';
}

/* Returns the factor of a header's unit, "Start (us)"; 0: it is unknown. */
static double unit_of(const char *title)
{
	static const struct {
		const char *unit;
		double factor;
	} rows[] = {{"(ns)", 1}, {"(us)", 1e3}, {"(ms)", 1e6}, {"(s)", 1e9}, {"(sec)", 1e9},
		    {"(B)", 1},  {"(KB)", 1e3}, {"(MB)", 1e6}, {"(GB)", 1e9}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strstr(title, rows[i].unit))
			return rows[i].factor;
	return 0;
}

static bool take_header(struct table *t)
{
	static const char *const titles[COLUMN_COUNT] = {"Start (", "Duration (", "Bytes (",
							 "Device",  "Strm",       "Name"};
	for (int c = 0; c < COLUMN_COUNT; c++) {
		t->places[c] = -1;
		for (int i = 0; i < t->cell_count; i++)
			if (strncmp(t->cells[i], titles[c], strlen(titles[c])) == 0) {
				t->places[c] = i;
				t->units[c] = unit_of(t->cells[i]);
			}
	}
	if (t->places[COLUMN_START] < 0 || t->places[COLUMN_LASTS] < 0 ||
	    t->places[COLUMN_STREAM] < 0 || t->places[COLUMN_NAME] < 0)
		return fail(t,
			    "this report lacks the columns Start, Duration, Strm and Name, so it "
			    "does not say when each kernel ran (write the report cuda_gpu_trace, "
			    "or nsys export --type sqlite)");
	return (t->units[COLUMN_START] > 0 && t->units[COLUMN_LASTS] > 0) ||
	       fail(t, "the unit of Start or Duration is unknown (export the report in "
		       "nanoseconds)");
}

/* Returns a number above or equal to zero in nanoseconds or bytes; -1: the cell has none. */
static double number_at(const struct table *t, enum column column)
{
	char *end;
	int place = t->places[column];
	if (place < 0 || place >= t->cell_count || !t->cells[place][0])
		return -1;
	double number = strtod(t->cells[place], &end) * fmax(t->units[column], 1);
	return *end == '\0' && number >= 0 && number < 1e18 ? number : -1;
}

static bool take_row(struct table *t, struct profile *p, struct names *names)
{
	double start = number_at(t, COLUMN_START), lasts = number_at(t, COLUMN_LASTS);
	double stream = number_at(t, COLUMN_STREAM), size_B = number_at(t, COLUMN_SIZE);
	if (t->cell_count <= t->places[COLUMN_NAME] || start < 0 || lasts < 0 || stream < 0 ||
	    stream > 1e6)
		return fail(t, "this row has no start, duration, stream or name (export the report "
			       "again)");
	const char *name = t->cells[t->places[COLUMN_NAME]];
	bool copy = strstr(name, "memcpy") != NULL;
	const char *words = strstr(name, "Host-to-Device")   ? "HtoD"
			    : strstr(name, "Device-to-Host") ? "DtoH"
							     : name;
	if (t->places[COLUMN_DEVICE] >= 0 && t->places[COLUMN_DEVICE] < t->cell_count && !p->gpu[0])
		p->gpu = arena_strdup(t->arena, t->cells[t->places[COLUMN_DEVICE]]);
	p->counts.events++;
	*VEC_PUSH(t->arena, &p->works) = (struct profile_work){
		.start_ns = (int64_t)start,
		.lasts_ns = (int64_t)lasts,
		.stream = (int64_t)stream,
		.awaited = -1,
		.recorded_on = -1,
		.size_B = floor(fmin(fmax(size_B, 0), 1e15)),
		.label = names_at(names, (size_t)names_add(names, copy ? words : name)),
		.category = copy                            ? CATEGORY_COPY
			    : strstr(name, "[CUDA memset]") ? CATEGORY_MEMSET
							    : CATEGORY_KERNEL,
	};
	return true;
}

const struct recorded_calls *nsys_csv_read(struct arena *arena, struct diag *diag, FILE *in,
					   const char *path, struct profile_counts *counts)
{
	struct table t = {.arena = arena, .diag = diag, .path = path};
	struct profile profile = {.arena = arena, .tool = "nsys", .gpu = "", .rank = -1};
	struct names *names = names_new(arena);
	char *line = ARENA_ARRAY(arena, LINE_MAX_B, char);
	bool header = false, fine = true;
	while (fine && fgets(line, LINE_MAX_B, in)) {
		t.line++;
		divide(&t, line);
		/* nsys writes lines such as "Processing [x.sqlite] with [...]" before the table. */
		if (t.cell_count < 3)
			continue;
		fine = header ? take_row(&t, &profile, names) : take_header(&t);
		header = true;
	}
	if (fine && profile.works.count == 0)
		fine = fail(&t, "the file has no row of the report cuda_gpu_trace (write it with "
				"nsys stats --report cuda_gpu_trace --format csv)");
	if (!fine)
		return NULL;
	const struct recorded_calls *recorded = profile_join(&profile);
	*counts = profile.counts;
	return recorded;
}
