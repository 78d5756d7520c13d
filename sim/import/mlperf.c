/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads logs of MLPerf training, whose events are lines in any other text:
 *
 *   :::MLLOG {"time_ms": 1682635179301, "key": "run_start", "metadata": {...}, ...}
 *
 * A run lasts from run_start to run_stop with the status "success". Epochs (or blocks between two
 * evaluations) are samples of their own. A run without its end gives no time. The number of GPUs is
 * not in the log. */
#include <string.h>

#include "sim/import/importer.h"
#include "sim/base/arena.h"
#include "sim/json/document.h"

static const double MILLIS = 1e3;
static const char *const intervals[] = {"run", "epoch", "block"};
enum { INTERVALS = sizeof intervals / sizeof intervals[0] };

struct state {
	struct importing *importing;
	size_t first;
	double start_ms[INTERVALS]; /* 0: not started */
	double batch;
	const char *benchmark;
};

/* Keeps letters, digits, '_' and '-' of a name, because a point's words are divided at blanks. */
static const char *word(struct arena *arena, const char *name)
{
	char *copy = arena_printf(arena, "%.40s", name);
	for (char *c = copy; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *c))
			*c = '_';
	return copy;
}

/* Counts the event as used. */
static void start(struct state *state, size_t i, double time_ms)
{
	state->start_ms[i] = time_ms;
	state->importing->used_count++;
}

static void end_interval(struct state *state, size_t i, double time_ms, const char *status)
{
	struct importing *importing = state->importing;
	double start_ms = state->start_ms[i];
	state->start_ms[i] = 0;
	if (start_ms <= 0 || time_ms <= start_ms) {
		import_skip(importing, "an end without a start");
	} else if (i == 0 && (!status || strcmp(status, "success") != 0)) {
		import_skip(importing, "run_stop without the status success");
	} else if (state->batch < 1) {
		import_skip(importing, "an interval before global_batch_size");
	} else {
		const char *words =
			arena_printf(importing->arena, "what=%s benchmark=%s", intervals[i],
				     state->benchmark ? state->benchmark : "unknown");
		struct import_point *point = import_series(importing, state->first, "training",
							   words, "global_batch", state->batch, 0);
		import_sample(importing, point, (time_ms - start_ms) / MILLIS);
	}
}

/* Takes an event. Returns true, so that a reader of several values goes on. */
static bool take_event(void *ctx, const struct json *event, struct origin origin)
{
	struct state *state = ctx;
	const char *key = json_text_of(json_member(event, "key"));
	const struct json *value = json_member(event, "value");
	double time_ms;
	if (!key || !json_number_of(json_member(event, "time_ms"), &time_ms) || time_ms <= 0) {
		import_skip(state->importing, "an event without a key or time_ms");
		return true;
	}
	for (size_t i = 0; i < INTERVALS; i++) {
		size_t length = strlen(intervals[i]);
		if (strncmp(key, intervals[i], length) != 0)
			continue;
		if (strcmp(key + length, "_start") == 0 && state->start_ms[i] <= 0)
			start(state, i, time_ms);
		else if (strcmp(key + length, "_stop") == 0)
			end_interval(state, i, time_ms,
				     json_text_of(json_member(json_member(event, "metadata"),
							      "status")));
		else
			continue;
		return true;
	}
	if (strcmp(key, "submission_benchmark") == 0 && json_text_of(value)) {
		state->benchmark = word(state->importing->arena, json_text_of(value));
		state->importing->used_count++;
		return true;
	}
	if (strcmp(key, "global_batch_size") == 0 && json_number_of(value, &state->batch))
		state->importing->used_count++;
	else
		import_skip(state->importing, "an event that gives no time of training");
	return true;
}

static void read_log(struct importing *importing)
{
	static const char mark[] = ":::MLLOG";
	struct state state = {.importing = importing, .first = importing->points.count};
	const char *line;
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines)))
		for (const char *at = strstr(line, mark); at;) {
			const char *text = at + sizeof mark - 1, *next = strstr(text, mark);
			size_t size_B = next ? (size_t)(next - text) : strlen(text);
			while (size_B > 0 && text[size_B - 1] != '}')
				size_B--;
			if (!json_text_read(text, size_B, take_event, &state))
				import_skip(importing, "an event that is not JSON");
			at = next;
		}
	if (diag_count(importing->diag) || state.start_ms[0] <= 0)
		return;
	importing->used_count--;
	import_skip(importing, "run_start without run_stop: the run is not complete");
}

const struct importer import_mlperf = {
	.name = "mlperf",
	.help = "logs of MLPerf training (lines with :::MLLOG)",
	.marks = {":::MLLOG"},
	.expected = "expected lines with :::MLLOG, and an epoch, a block or a run with its end",
	.log = read_log,
};
