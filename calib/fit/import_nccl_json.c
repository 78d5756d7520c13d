/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads nccl-tests' JSON (-J FILE, from 2.17 on; src/util.cu of nccl-tests):
 *
 *   {"version":2, "args":["./all_reduce_perf",...],
 *    "config":{"nthreads":1,"ngpus":1,...,"devices":[{"rank":0,...,"device_info":"..."}]},
 *    "results":[{"size":1024,...,"out_of_place":{"time":20.5,...},"in_place":{...}}]}
 *
 * devices[] has an element for each process, so the number of ranks is its length times nthreads
 * times ngpus. Times are in us. */
#include <math.h>
#include <string.h>

#include "calib/fit/import_nccl.h"
#include "sim/base/arena.h"
#include "sim/json/pull.h"

struct state {
	const char *collective;
	double threads, gpus, processes;
};

static bool is(const struct jp_reader *in, const char *key)
{
	return strcmp(in->text, key) == 0;
}

static void take_number(struct jp_reader *in, double *number)
{
	if (jp_next(in) == JP_NUMBER && isfinite(in->number))
		*number = in->number;
	else if (!in->error)
		in->error = "a number is expected here";
}

/* Returns true if an object begins: the next element of an array, or the value of a key. */
static bool next_object(struct jp_reader *in)
{
	enum jp_token token = jp_next(in);
	if (token != JP_OBJECT && token != JP_ARRAY_END && token != JP_NULL && !in->error)
		in->error = "an object is expected here";
	return token == JP_OBJECT;
}

static void take_devices(struct importing *importing, struct jp_reader *in, struct state *state)
{
	if (jp_next(in) != JP_ARRAY)
		return;
	while (next_object(in)) {
		state->processes++;
		while (!in->error && jp_next(in) == JP_KEY)
			if (!is(in, "device_info"))
				jp_skip(in);
			else if (jp_next(in) == JP_TEXT && !importing->gpu)
				importing->gpu = arena_strdup(importing->arena, in->text);
	}
}

static void take_config(struct importing *importing, struct jp_reader *in, struct state *state)
{
	if (!next_object(in))
		return;
	while (!in->error && jp_next(in) == JP_KEY)
		if (is(in, "nthreads"))
			take_number(in, &state->threads);
		else if (is(in, "ngpus"))
			take_number(in, &state->gpus);
		else if (is(in, "devices"))
			take_devices(importing, in, state);
		else
			jp_skip(in);
}

static void take_program(struct importing *importing, struct jp_reader *in, struct state *state)
{
	if (jp_next(in) != JP_ARRAY)
		return;
	if (jp_next(in) == JP_TEXT) {
		state->collective = import_nccl_program(importing, in->text);
		jp_leave(in);
	}
}

/* Returns the time of out_of_place or in_place; NaN for null or a missing time. */
static double place_us(struct jp_reader *in)
{
	double time_us = NAN;
	if (!next_object(in))
		return NAN;
	while (!in->error && jp_next(in) == JP_KEY)
		if (is(in, "time"))
			take_number(in, &time_us);
		else if (is(in, "cpu_time"))
			in->error = "these are CPU times, not times of the collective (measure "
				    "without -C)";
		else
			jp_skip(in);
	return time_us;
}

static void take_results(struct importing *importing, struct jp_reader *in)
{
	if (jp_next(in) != JP_ARRAY)
		return;
	while (next_object(in)) {
		double size_B = 0, times_us[2] = {NAN, NAN};
		while (!in->error && jp_next(in) == JP_KEY)
			if (is(in, "size"))
				take_number(in, &size_B);
			else if (is(in, "out_of_place"))
				times_us[0] = place_us(in);
			else if (is(in, "in_place"))
				times_us[1] = place_us(in);
			else
				jp_skip(in);
		importing->line = in->line;
		for (size_t i = 0; i < 2 && !in->error && size_B > 0; i++)
			if (!isnan(times_us[i]))
				import_nccl_time(importing, size_B, times_us[i]);
	}
	importing->line = 0;
}

void import_nccl_json(struct importing *importing)
{
	struct state state = {0};
	size_t first = importing->points.count;
	struct jp_reader *in = jp_open(importing->arena, importing->in);
	jp_next(in);
	while (!in->error && diag_count(importing->diag) == 0 && jp_next(in) == JP_KEY)
		if (is(in, "args"))
			take_program(importing, in, &state);
		else if (is(in, "config"))
			take_config(importing, in, &state);
		else if (is(in, "results"))
			take_results(importing, in);
		else
			jp_skip(in);
	import_json_end(importing, in);
	double ranks = state.processes * state.threads * state.gpus;
	if (diag_count(importing->diag) || importing->points.count == first)
		return;
	if (ranks < 2 || !state.collective)
		import_error(
			importing,
			ranks < 2
				? "there is one rank, but a collective needs two or more (measure "
				  "with more GPUs; \"config\" states nthreads, ngpus and devices)"
				: "the log does not name the collective (the first word of "
				  "\"args\" must be the program, for example all_reduce_perf)");
	else
		import_nccl_name(importing, first, state.collective, ranks);
}
