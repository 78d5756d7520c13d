/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the statistics that Lupine writes at the end of a process (LUPINE_RPC_STATS=FILE): one line
 * for each function, with its number, its calls, and the nanoseconds that callers waited for
 * answers, divided by tabs (lupinemachines/lupine, rpc.cpp). The number is the CRC-32 of the
 * function's name without its highest bit (codegen/gen_rpc_ids.h, which lists all of them).
 *
 * Statistics have no order, no bytes and no times of kernels. The program that comes out is a mix
 * of all calls at equal distances, in the order in which they depend on each other where they meet:
 * handles, allocations and input come first, then setters and kernels, and output and waits last.
 * Each wait thus has as many kernels before it as any other. */
#include "sim/base/gunzip.h"
#include "sim/base/lines.h"
#include "sim/traces/functions.h"
#include "sim/traces/readers.h"

/* assumption: the host's time for a call; statistics contain only waits */
static const double CALL_S = 1e-6;
/* More calls are not written. Statistics with more become a part of the program. */
static const double CALLS_MOST = 1e6;
static const double COUNT_MAX = 1e12, WAIT_MAX_NS = 1e18;
static const char DEFINE[] = "#define RPC_";

struct lupine_id {
	uint32_t number;
	const char *name;
};

struct lupine_line {   /* of the statistics */
	double number; /* -1: the file names the function */
	const char *name;
	double count, wait_ns;
	struct origin origin;
};

struct lupine {
	struct arena *arena;
	struct diag *diag;
	struct lines lines;
	VEC(struct lupine_id) ids;
	VEC(struct lupine_line) stats;
};

#define fail(l, ...) diag_error((l)->diag, (l)->lines.origin, __VA_ARGS__)

/* ---- names ---- */

static uint32_t number_of(const char *name)
{
	uint32_t crc = ~UINT32_C(0);
	for (; *name; name++) {
		crc ^= (unsigned char)*name;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~crc & 0x7fffffff;
}

static void add_known_names(struct lupine *l)
{
	static const char known[] =
#include "sim/traces/lupine_functions.def"
		;
	enum { NAMES_MAX = 512 };
	const char *names[NAMES_MAX];
	size_t count = lines_words(arena_strdup(l->arena, known), " ", names, NAMES_MAX);
	for (size_t i = 0; i < count; i++)
		*VEC_PUSH(l->arena, &l->ids) = (struct lupine_id){number_of(names[i]), names[i]};
}

static int by_number(const void *a, const void *b)
{
	const struct lupine_id *x = a, *y = b;
	return ORDER(x->number, y->number);
}

/* Expects sorted ids. Returns NULL if the number is unknown. */
static const char *name_of(const struct lupine *l, double number)
{
	size_t low = 0, high = l->ids.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (l->ids.items[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < l->ids.count && !(l->ids.items[low].number > number);
	return found ? l->ids.items[low].name : NULL;
}

/* ---- lines ---- */

static void take_define(struct lupine *l, char *line)
{
	const char *words[3];
	double number;
	if (lines_words(line + sizeof DEFINE - 1, " \t", words, 3) != 2 ||
	    !number_parse(words[1], &number) || number < 0 || number > UINT32_MAX)
		fail(l, "the definition has no number (name the unchanged gen_rpc_ids.h)");
	else
		*VEC_PUSH(l->arena, &l->ids) =
			(struct lupine_id){(uint32_t)number, arena_strdup(l->arena, words[0])};
}

static void take_line(struct lupine *l, char *line)
{
	const char *words[4];
	struct lupine_line stat = {.origin = l->lines.origin, .number = -1};
	size_t count = lines_words(line, "\t ", words, 4);
	if (count != 3 || !number_parse(words[1], &stat.count) ||
	    !number_parse(words[2], &stat.wait_ns) || stat.count < 0 || stat.count > COUNT_MAX ||
	    stat.count > floor(stat.count) || stat.wait_ns < 0 || stat.wait_ns > WAIT_MAX_NS) {
		fail(l, "the line is not 'number calls nanoseconds' (name the file that "
			"LUPINE_RPC_STATS names, and gen_rpc_ids.h)");
		return;
	}
	if (!number_parse(words[0], &stat.number))
		stat.name = arena_strdup(l->arena, words[0]);
	if (stat.name && !function_is_known(stat.name))
		fail(l,
		     "'%.64s' is not a function of CUDA or of its libraries (name the file that "
		     "LUPINE_RPC_STATS names)",
		     stat.name);
	*VEC_PUSH(l->arena, &l->stats) = stat;
}

static void read_file(struct lupine *l, const char *path)
{
	FILE *in = file_open(l->diag, (struct origin){path, 0}, path);
	char *line;
	l->lines.origin = (struct origin){path, 0};
	if (!in)
		return;
	in = gunzip_open(l->diag, l->lines.origin, in);
	if (!in)
		return;
	l->lines.in = in;
	while (diag_count(l->diag) == 0 && (line = lines_next(&l->lines))) {
		if (strncmp(line, DEFINE, sizeof DEFINE - 1) == 0)
			take_define(l, line);
		else if (line[0] && line[0] != '#' && strncmp(line, "//", 2) != 0)
			take_line(l, line);
	}
	fclose(in);
}

/* ---- the program ---- */

struct lupine_call {
	double at; /* from 0 to 1 */
	unsigned place;
	const struct lupine_line *stat;
};

/* Calls of one time are in this order, because the end of some work comes before the begin of the
 * next. Up to PLACE_FREE the last call of a function ends the program. From PLACE_BEGIN on, the
 * first call begins it. */
enum { PLACE_EVENT, PLACE_WAIT_EVENT, PLACE_END, PLACE_FREE, PLACE_BEGIN, PLACE_INPUT, PLACE_WORK };

static unsigned place_of(enum call_kind kind)
{
	switch (kind) {
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_H2D_ASYNC:
		return PLACE_INPUT;
	case CALL_LAUNCH:
	case CALL_LIBRARY:
	case CALL_MEMSET_ASYNC:
	case CALL_GET_LAST_ERROR:
	case CALL_IS_CAPTURING:
		return PLACE_WORK;
	case CALL_EVENT_RECORD:
		return PLACE_EVENT;
	case CALL_STREAM_WAIT_EVENT:
		return PLACE_WAIT_EVENT;
	case CALL_MEMCPY_D2H:
	case CALL_MEMCPY_D2H_ASYNC:
	case CALL_EVENT_QUERY:
	case CALL_STREAM_QUERY:
	case CALL_EVENT_SYNCHRONIZE:
	case CALL_STREAM_SYNCHRONIZE:
	case CALL_DEVICE_SYNCHRONIZE:
		return PLACE_END;
	case CALL_FREE:
		return PLACE_FREE;
	default:
		return call_has_peers(kind) ? PLACE_WORK : PLACE_BEGIN;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct lupine_call *x = a, *y = b;
	return ORDER_THEN(x->at, y->at, ORDER_THEN(x->place, y->place, ORDER(x->stat, y->stat)));
}

static struct recorded_call call_of(const struct lupine_line *stat, size_t index)
{
	struct recorded_call call = {.start_s = (double)index * CALL_S,
				     .end_s = (double)(index + 1) * CALL_S,
				     .gpu_start_s = -1,
				     .gpu_s = -1,
				     .function = stat->name,
				     .event = 0,
				     .group = {0, 0, 1},
				     .copy = (uint8_t)function_copy(stat->name),
				     .ready = READY_YES};
	enum call_kind kind = function_use(&call).kind;
	if (kind == CALL_LAUNCH || kind == CALL_MEMSET_ASYNC)
		call.gpu_s = 0;
	if (kind != CALL_EVENT_QUERY && kind != CALL_STREAM_QUERY)
		call.ready = READY_UNKNOWN;
	if (place_of(kind) >= PLACE_FREE)
		call.event = -1;
	return call;
}

/* Returns the calls of one part of the program, which has `parts` equal ones, in their order. */
static struct recorded_calls *mix(struct lupine *l, double parts)
{
	VEC(struct lupine_call) mixed = {0};
	for (size_t i = 0; i < l->stats.count; i++) {
		const struct lupine_line *stat = &l->stats.items[i];
		const struct recorded_call call = call_of(stat, 0);
		unsigned place = place_of(function_use(&call).kind);
		double offset = place <= PLACE_FREE ? 1 : place < PLACE_WORK ? 0 : 0.5;
		/* A rare function is in each part, too. */
		size_t count = (size_t)fmax(floor(stat->count / parts + 0.5), stat->count > 0);
		for (size_t k = 0; k < count; k++)
			*VEC_PUSH(l->arena, &mixed) = (struct lupine_call){
				((double)k + offset) / (double)count, place, stat};
	}
	struct recorded_calls *recorded = ARENA_NEW(l->arena, struct recorded_calls);
	*recorded = (struct recorded_calls){
		.tool = "lupine",
		.gpu = "",
		.call_count = mixed.count,
		.calls = ARENA_ARRAY(l->arena, mixed.count + 1, struct recorded_call)};
	recorded_sort(mixed.items, mixed.count, sizeof *mixed.items, by_time);
	for (size_t i = 0; i < mixed.count; i++)
		recorded->calls[i] = call_of(mixed.items[i].stat, i);
	recorded_calls_settle(l->arena, recorded);
	return recorded;
}

/* Finds the name of each function. Returns false after an error. */
static bool find_names(struct lupine *l)
{
	recorded_sort(l->ids.items, l->ids.count, sizeof *l->ids.items, by_number);
	for (size_t i = 0; i < l->stats.count; i++) {
		struct lupine_line *stat = &l->stats.items[i];
		if (!stat->name)
			stat->name = name_of(l, stat->number);
		if (stat->name)
			stat->name = function_without_version(l->arena, stat->name);
		else
			return diag_error(l->diag, stat->origin,
					  "the function %.0f is unknown (also name the header "
					  "codegen/gen_rpc_ids.h of this version of Lupine)",
					  stat->number);
	}
	return true;
}

const struct recorded_calls *lupine_read(struct arena *arena, struct diag *diag,
					 const char *const *paths, size_t count,
					 struct profile_counts *counts)
{
	struct lupine *l = ARENA_NEW(arena, struct lupine);
	double calls = 0, waiting = 0, wait_s = 0;
	l->arena = arena;
	l->diag = l->lines.diag = diag;
	l->lines.too_long =
		"this is not a file of Lupine's statistics, because a line is longer than 64 KiB";
	l->lines.not_text =
		"this is not a file of Lupine's statistics, because it contains a zero byte";
	add_known_names(l);
	for (size_t i = 0; i < count && diag_count(diag) == 0; i++)
		read_file(l, paths[i]);
	if (diag_count(diag) > 0 || !find_names(l))
		return NULL;
	for (size_t i = 0; i < l->stats.count; i++) {
		const struct lupine_line *stat = &l->stats.items[i];
		calls += stat->count;
		waiting += stat->wait_ns > 0 ? stat->count : 0;
		wait_s += stat->wait_ns * 1e-9;
	}
	if (calls < 1)
		return diag_null(
			diag, (struct origin){paths[0], 0},
			"the statistics have no call (set LUPINE_RPC_STATS for the client)");
	double parts = ceil(calls / CALLS_MOST);
	counts->events = counts->used = l->stats.count;
	counts->note = arena_printf(
		arena,
		"the calls are a mix at equal distances, because statistics have no order, bytes "
		"and kernel times%s\nLupine's callers waited %s in all for %.0f of %.0f calls",
		parts > 1 ? arena_printf(arena, "; the file is one of %.0f equal parts", parts)
			  : "",
		quantity_format(arena, QUANTITY_TIME, wait_s), waiting, calls);
	return mix(l, parts);
}
