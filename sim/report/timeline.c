/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timeline of one step of a case. */
#include <stdio.h>
#include <string.h>

#include "sim/report/part.h"

static bool is_word_part(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* Returns true if text has the name as a whole word: "client1" is in "serves client1 0", but not in
 * "client12". */
static bool names(const char *text, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
		if ((at == text || !is_word_part(at[-1])) && !is_word_part(at[length]))
			return true;
	return false;
}

enum { RANKS_SHOWN = 8 };

/* Returns whether a track belongs to the first client of a pool, or to its GPU. */
static bool is_of_first_client(const struct scenario *scenario, const char *group, const char *name)
{
	const struct job_entry *client = &scenario->jobs[0];
	return strcmp(group, scenario->topology.gpus[client->gpus[0]].name) == 0 ||
	       strcmp(group, client->name) == 0 || names(name, client->name);
}

/* Returns whether a track belongs to the first RANKS_SHOWN ranks of a job, or to their GPUs. */
static bool is_of_first_ranks(const struct scenario *scenario, const char *group, const char *name)
{
	const struct job_entry *job = &scenario->jobs[0];
	bool of_job = strcmp(group, job->name) == 0;
	for (int k = 0; k < RANKS_SHOWN; k++) {
		char rank[32];
		snprintf(rank, sizeof rank, "rank %d", k);
		if (strcmp(group, scenario->topology.gpus[job->gpus[k]].name) == 0 ||
		    (of_job && strcmp(name, rank) == 0))
			return true;
	}
	return false;
}

/* Keeps the spans of the shown tracks of a pool, or of a job with many ranks. */
static const struct trace *shown_part(struct arena *arena, const struct scenario *scenario,
				      const struct trace *trace)
{
	bool pool = scenario->style == JOBS_PROGRAMS;
	if (pool ? scenario->job_count == 1 : scenario->jobs[0].simulated_count <= RANKS_SHOWN)
		return trace;
	struct trace *kept = trace_new(arena);
	for (int k = 0; k < RANKS_SHOWN && !pool; k++) /* the ranks come before their GPUs */
		trace_track(kept, scenario->jobs[0].name, arena_printf(arena, "rank %d", k));
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		const char *group = trace_track_group(trace, span->track);
		const char *name = trace_track_name(trace, span->track);
		if ((pool ? is_of_first_client : is_of_first_ranks)(scenario, group, name))
			trace_span(kept, trace_track(kept, group, name), span->kind, span->name,
				   span->start_ps, span->end_ps);
	}
	return kept;
}

/* Draws the last step of the first job: threads of a program, or ranks of a job. */
static void last_step(struct report *report, const struct scenario *scenario,
		      const struct job_run *run, const struct trace *trace, const char *label)
{
	struct arena *arena = report->arena;
	bool collective = scenario->style == JOBS_COLLECTIVE;
	bool program = scenario->style == JOBS_PROGRAMS;
	bool serving = scenario->style == JOBS_SERVING;
	size_t ranks = run->entry->rank_count;
	if (run->failed || run->step_count == 0) {
		report_add(report, BLOCK_TEXT, "There is no timeline of %s: %s.", label,
			   run->reason ? run->reason : "it finished no step");
		return;
	}
	const struct step_record *step = &run->steps[run->step_count - 1];
	const char *caption =
		collective ? "The collective from the start of the first rank to the end of the "
			     "last rank."
			   : "A step from its first kernel to the last update: waits and "
			     "collectives of each rank, and its GPU.";
	if (serving)
		caption = "The iterations of the replicas, and requests from arrival to end.";
	else if (program)
		caption = arena_printf(
			arena,
			"Step %zu from its first call to its last answer: threads of the program, "
			"links, threads of the server and streams of the GPU.",
			run->step_count);
	else if (ranks > RANKS_SHOWN)
		caption = arena_printf(arena, "%s The figure shows %d of %zu ranks.", caption,
				       RANKS_SHOWN, ranks);
	const struct chart_text text =
		report_text(report, arena_printf(arena, "%s of %s",
						 serving      ? "Iterations and requests"
						 : collective ? "One steady repetition"
							      : "One steady step",
						 label));
	report_figure(
		report, chart_timeline(arena, text, trace, step->start_ps, step->end_ps),
		"%s Where spans are too short to be seen, colours share the height as the spans "
		"share the time.",
		caption);
}

void report_timeline(struct report *report, const struct scenario *scenario, const char *label)
{
	struct scenario brief = *scenario;
	brief.steps_count = 1; /* steps to show after the warm-up */
	struct arena *scratch = arena_new();
	struct trace *trace = trace_new(scratch);
	struct world_outcome outcome =
		world_run(scratch, &brief, report->request->options.seed, trace);
	if (outcome.broken)
		report_add(report, BLOCK_TEXT, "There is no timeline of %s: %s.", label,
			   outcome.broken);
	else if (scenario->jobs[0].plan)
		report_figure(
			report,
			chart_pipeline(report->arena, report_text(report, "One step of the plan"),
				       trace, false),
			"Passes, communication and bubble of one rank of each stage over time.");
	else
		last_step(report, scenario, &outcome.jobs[0], shown_part(scratch, scenario, trace),
			  label);
	arena_free(scratch);
}
