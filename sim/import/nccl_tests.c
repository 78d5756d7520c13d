/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads nccl-tests (all_reduce_perf and the others): a comment for each rank, then rows
 *
 *   #    size    count    type  redop  root   time  algbw  busbw  #wrong    time ...
 *   #     (B)  (elem.)                        (us) (GB/s) (GB/s)            (us) ...
 *        1024      256   float    sum    -1  20.50   0.05   0.09       0   20.11 ...
 *
 * The columns depend on the release, the collective and the options (no root before 2.13, no redop
 * for all_gather; with -T a time stamp of two words). The heading gives the columns of the two
 * times, out of place and in place. These become two passes, because they are separate
 * measurements. Releases from 2.17 on name the collective. For older ones the ratio of the two
 * bandwidths identifies it: for n ranks it is 2 (n - 1) / n of an all-reduce, and (n - 1) / n of
 * all_gather and reduce_scatter. A file may contain several runs, each with
 * its own line '# nThread ...'. */
#include "sim/import/importer.h"
#include "sim/collective/schedule.h"

static const double MICROS = 1e6; /* microseconds per second */
enum { TIMES = 2 };

/* The state of one run. */
struct nccl_tests_state {
	double ranks;
	const char *collective; /* NULL: to be identified by the bandwidths */
	bool named;             /* the line before '# nThread' named the collective */
	bool given;             /* the log names it, here or before */
	bool derived;           /* the ranks follow from the bandwidths */
	bool operation;         /* the heading has the column of the operation */
	bool blank;             /* its cells are empty */
	double bus;             /* bus bandwidth by which the collective was identified */
	size_t first;           /* first point of the run */
	size_t columns;         /* number of columns of a row; 0: no heading yet */
	size_t times[TIMES], time_count;
};

static void give_names(struct importing *importing, size_t first, const char *collective,
		       double ranks)
{
	for (size_t i = first; i < importing->points.count; i++) {
		struct import_point *point = &importing->points.items[i];
		point->words =
			arena_printf(importing->arena, "collective=%s library=nccl", collective);
		import_at(importing, point, "ranks", ranks);
	}
}

static void end_run(struct importing *importing, struct nccl_tests_state *state)
{
	size_t count = importing->points.count - state->first;
	if (count > 0 && diag_count(importing->diag) == 0 && state->ranks < 2)
		import_error(importing,
			     "%s, but a collective needs two or more (keep the lines '#  Rank  0 "
			     "...' of the log)",
			     state->ranks > 0 ? "there is one rank" : "no rank is listed");
	else if (count > 0 && diag_count(importing->diag) == 0 && !state->collective)
		import_error(importing,
			     "the log does not name the collective (nccl-tests 2.17 writes '# "
			     "Collective test starting: ...': add such a line above)");
	if (diag_count(importing->diag) == 0)
		give_names(importing, state->first, state->collective, state->ranks);
	*state = (struct nccl_tests_state){.first = importing->points.count};
}

/* Returns "all_reduce" for "build/all_reduce_perf -b 8", or NULL for an unknown program. */
static const char *program_name(struct importing *importing, const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	size_t length = strcspn(name, " ");
	if (length > 5 && strncmp(name + length - 5, "_perf", 5) == 0)
		length -= 5;
	return length ? arena_printf(importing->arena, "%.*s", (int)length, name) : NULL;
}

/* Adds a point without name and ranks, which give_names() sets later. */
static void add_time(struct importing *importing, double size_B, double time_us)
{
	struct import_point *point = import_point(importing, "collective", NULL);
	import_at(importing, point, "size_B", size_B);
	import_sample(importing, point, time_us / MICROS);
}

/* Reads "#  Rank  0 Group  0 Pid ... device  0 [0x07] NVIDIA A100-SXM4-80GB". */
static void take_rank(struct importing *importing, const char *line, const char *const *words,
		      struct nccl_tests_state *state)
{
	double rank = 0;
	const char *bracket = strchr(line, ']');
	import_number(importing, words[1], &rank);
	if (strcmp(words[2], "Group") == 0 && strcmp(words[3], "0") != 0)
		import_error(
			importing,
			"the log has several groups of ranks (measure without NCCL_TESTS_SPLIT)");
	if (rank <= 0 && state->ranks > 0)
		end_run(importing, state);
	state->ranks = fmax(state->ranks, rank + 1);
	if (bracket && bracket[1] && !importing->gpu)
		importing->gpu =
			arena_strdup(importing->arena, bracket + 1 + strspn(bracket + 1, " "));
}

static void take_heading(struct importing *importing, const char *const *words, size_t count,
			 struct nccl_tests_state *state)
{
	state->time_count = 0;
	state->columns = count;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i], "time") == 0 && state->time_count < TIMES)
			state->times[state->time_count++] = i;
		if (strcmp(words[i], "cputime") == 0)
			import_error(importing, "these are CPU times, not times of the collective "
						"(measure without -C)");
		state->columns += strcmp(words[i], "timestamp") == 0;
		state->operation |= i == 3 && strcmp(words[i], "redop") == 0;
	}
	if (state->time_count == 0 && diag_count(importing->diag) == 0)
		import_error(
			importing,
			"the heading has no column 'time' (import the whole output of nccl-tests)");
}

static void take_comment(struct importing *importing, const char *line,
			 struct nccl_tests_state *state)
{
	static const char starting[] = "Collective test starting: ";
	const char *found = strstr(line, starting);
	size_t count = import_words(importing, line + 1);
	const char *const *words = importing->words;
	if (found) {
		end_run(importing, state);
		state->collective = program_name(importing, found + sizeof starting - 1);
		state->named = state->given = true;
	} else if (count > 0 && strcmp(words[0], "nThread") == 0) {
		if (!state->named)
			end_run(importing, state);
		state->named = false;
	} else if (count > 4 && strcmp(words[0], "Rank") == 0) {
		take_rank(importing, line, words, state);
	} else if (count > 2 && strcmp(words[0], "size") == 0 && strcmp(words[1], "count") == 0) {
		take_heading(importing, words, count, state);
	}
}

/* Identifies the collective by the ratio of bus bandwidth to algorithm bandwidth, whether it
 * reduces, and whether it has a root. `exchange` is the answer for (n - 1) / n without a reduction:
 * "all_gather", "alltoall", or NULL if the columns fit both. */
static const char *collective_of(double ranks, double ratio, bool reduces, bool rooted,
				 const char *exchange)
{
	double part = (ranks - 1) / ranks;
	if (rooted) /* gather and scatter have (n - 1) / n */
		return fabs(ratio - 1) * ranks > 0.25 ? NULL : reduces ? "reduce" : "broadcast";
	if (reduces && fabs(ratio - 2 * part) < 0.06 * part)
		return "all_reduce";
	if (fabs(ratio - part) < 0.04 * part)
		return reduces ? "reduce_scatter" : exchange;
	return NULL;
}

/* Tells an alltoall from an all_gather. Old releases have an empty cell for the operation of the
 * first and no column for that of the second. New ones do not check the first in place. */
static const char *exchange_of(const char *const *words, size_t count,
			       const struct nccl_tests_state *state)
{
	size_t first = state->times[0] + 3, second = state->times[1] + 3;
	if (!state->operation)
		return "all_gather";
	if (state->blank)
		return "alltoall";
	if (state->time_count < TIMES || second >= count || strcmp(words[first], "N/A") == 0)
		return NULL;
	return strcmp(words[second], "N/A") == 0 ? "alltoall" : "all_gather";
}

/* Derives the number of ranks of an all-reduce from the ratio 2 (n - 1) / n. Returns 0 if the
 * rounding to 0.01 GB/s allows more than one number. */
static double ranks_of(double algorithm, double bus)
{
	double low = (bus - 0.005) / (algorithm + 0.005),
	       high = (bus + 0.005) / (algorithm - 0.005);
	double least = ceil(2 / (2 - low)), most = floor(2 / (2 - high));
	return low > 1 && high < 2 && least >= most && least <= most ? least : 0;
}

static void identify(struct importing *importing, const char *const *words, size_t count,
		     struct nccl_tests_state *state)
{
	const double bus_min = 0.2; /* two digits of smaller ones are too few */
	const char *const *time = words + state->times[0];
	double algorithm, bus, root = -1;
	if (state->times[0] + 3 >= count || !import_number(importing, time[1], &algorithm) ||
	    !import_number(importing, time[2], &bus) || bus < bus_min || bus < state->bus)
		return;
	state->bus = bus;
	bool operation = state->times[0] > 3;
	bool reduces = operation && strcmp(words[3], "none") != 0;
	if (state->ranks <= 0 || state->derived) {
		state->derived = true;
		state->ranks = reduces ? ranks_of(algorithm, bus) : 0;
	}
	bool rooted = state->times[0] > 4 && number_parse(words[4], &root) && root >= 0;
	if (!state->given)
		state->collective = collective_of(state->ranks, bus / algorithm, reduces, rooted,
						  exchange_of(words, count, state));
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void take_row(struct importing *importing, const char *line, struct nccl_tests_state *state)
{
	double size_B, time_us;
	size_t count = import_words(importing, line);
	const char **words = importing->words;
	/* an empty cell of the operation, as old releases have for an alltoall */
	if (count > 3 && count < IMPORT_WORDS_MAX && count + 1 == state->columns &&
	    state->operation && is_digit(words[1][0]) && !is_digit(words[2][0]) &&
	    is_digit(words[3][0])) {
		memmove(words + 4, words + 3, (count - 3) * sizeof words[0]);
		importing->word_count = ++count;
		words[3] = "none";
		state->blank = true;
	}
	if (!import_fits(importing, state->columns, "nccl-tests"))
		return;
	bool some = import_number(importing, words[0], &size_B);
	if (some)
		identify(importing, words, count, state);
	for (size_t i = 0; i < state->time_count && diag_count(importing->diag) == 0; i++)
		if (!some)
			import_skip(importing, "a size of 0 bytes gives no information");
		else if (import_number(importing, words[state->times[i]], &time_us))
			add_time(importing, size_B, time_us);
		else
			import_skip(importing, "no time was measured");
}

/* Takes the program from a command that the log contains: "srun ... alltoall_perf_mpi -b 2K". */
static void take_program(struct importing *importing, const char *line, const char *end,
			 struct nccl_tests_state *state)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
	const char *begin = end;
	if (*line == '#' || state->collective)
		return;
	while (begin > line && strchr(letters, begin[-1]))
		begin--;
	const char *name = arena_printf(importing->arena, "%.*s", (int)(end - begin), begin);
	for (size_t i = 0; i < collective_kind_count(); i++) {
		const char *known = collective_kind_at(i)->measured;
		if (!known || strcmp(known, name) != 0)
			continue;
		end_run(importing, state);
		state->collective = known;
		state->named = state->given = true;
		return;
	}
}

/* ---- JSON ---- */

static void take_result(struct importing *importing, const struct json *result)
{
	static const char *const places[] = {"out_of_place", "in_place"};
	double size_B = 0, time_us;
	import_json_at(importing, result);
	if (!import_json_object(importing, result))
		return;
	import_json_number(importing, result, "size", &size_B);
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		const struct json *place =
			import_json_object(importing, json_member(result, places[i]));
		if (json_member(place, "cpu_time"))
			import_error(importing, "these are CPU times, not times of the collective "
						"(measure without -C)");
		else if (import_json_number(importing, place, "time", &time_us) && size_B > 0)
			add_time(importing, size_B, time_us);
	}
}

/* Reads JSON (-J FILE, from 2.17 on; src/util.cu of nccl-tests):
 *
 *   {"version":2, "args":["./all_reduce_perf",...],
 *    "config":{"nthreads":1,"ngpus":1,...,"devices":[{"rank":0,...,"device_info":"..."}]},
 *    "results":[{"size":1024,...,"out_of_place":{"time":20.5,...},"in_place":{...}}]}
 *
 * devices[] has an element for each process, so the number of ranks is its length times nthreads
 * times ngpus. Times are in us. */
static void read_json(struct importing *importing)
{
	size_t first = importing->points.count;
	const struct json *root = import_json(importing);
	const struct json *config = import_json_object(importing, json_member(root, "config")),
			  *results = json_member(root, "results"),
			  *devices = json_member(config, "devices");
	const char *program = json_text_of(json_at(json_member(root, "args"), 0)),
		   *collective = program ? program_name(importing, program) : NULL;
	double threads = 0, gpus = 0;
	import_json_number(importing, config, "nthreads", &threads);
	import_json_number(importing, config, "ngpus", &gpus);
	for (size_t i = 0; i < json_size(devices) && !importing->gpu; i++) {
		const struct json *device = import_json_object(importing, json_at(devices, i));
		const char *gpu = json_text_of(json_member(device, "device_info"));
		importing->gpu = gpu ? arena_strdup(importing->arena, gpu) : NULL;
	}
	for (size_t i = 0; i < json_size(results) && diag_count(importing->diag) == 0; i++)
		take_result(importing, json_at(results, i));
	double ranks = (double)json_size(devices) * threads * gpus;
	if (diag_count(importing->diag) || importing->points.count == first)
		return;
	if (ranks < 2 || !collective)
		import_error(
			importing,
			ranks < 2
				? "there is one rank, but a collective needs two or more (measure "
				  "with more GPUs; \"config\" states nthreads, ngpus and devices)"
				: "the log does not name the collective (the first word of "
				  "\"args\" must be the program, for example all_reduce_perf)");
	else
		give_names(importing, first, collective, ranks);
}

static void read_log(struct importing *importing)
{
	struct nccl_tests_state state = {.first = importing->points.count};
	const char *line, *program;
	if (import_is_json(importing)) {
		read_json(importing);
		return;
	}
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		line = import_untagged(line);
		if ((program = strstr(line, "_perf")))
			take_program(importing, line, program, &state);
		if (*line == '#')
			take_comment(importing, line, &state);
		else if (is_digit(*line) && state.columns)
			take_row(importing, line, &state);
	}
	end_run(importing, &state);
}

const struct importer import_nccl_tests = {
	.name = "nccl-tests",
	.help = "output of nccl-tests (all_reduce_perf ...), text or JSON",
	.marks = {"# nThread", " redop ", "type     time   algbw", "\"out_of_place\""},
	.expected = "expected the table of all_reduce_perf or a similar program, or its JSON",
	.log = read_log,
};
