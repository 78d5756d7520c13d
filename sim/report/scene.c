/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of a case: the parts of its step time, its topology, and the timeline of one step. */
#include "sim/report/part.h"

/* ---- breakdown ---- */

void report_breakdown(struct report *report, const struct prediction *const *predictions,
		      size_t count)
{
	bool serving = prediction_kinds(predictions, count) == PREDICTION_SERVING;
	const char *whole = serving ? "mean latency" : "step time";
	const char *title = arena_printf(report->arena, "Parts of the %s", whole);
	report_figure(
		report,
		chart_breakdown(report->arena, report_text(report, title), predictions, count),
		"%s",
		serving ? "The mean time from the arrival of a request to its last token, by cause."
			: "The time of one step: kernels on the GPU, and the GPU's idle time by "
			  "its cause.");
}

/* ---- topology ---- */

/* Returns what runs in a guest: "program", "server", "ranks"; NULL if nothing does. */
static const char *guest_role(const struct scenario *scenario, size_t guest)
{
	size_t programs = 0, servers = 0;
	for (size_t i = 0; i < scenario->job_count; i++) {
		const struct job_entry *job = &scenario->jobs[i];
		for (size_t k = 0; k < job->simulated_count; k++) {
			programs += job->guests[k] == guest;
			servers += job->runtime && job->servers[k] == guest;
		}
	}
	if (programs && scenario->style != JOBS_PROGRAMS)
		return scenario->style == JOBS_SERVING ? "model server" : "ranks";
	return programs && servers ? "program, server"
	       : programs          ? "program"
	       : servers           ? "server"
				   : NULL;
}

/* Formats a bandwidth in bits for networks and in bytes inside a machine. */
static const char *bandwidth_text(struct arena *arena, const struct link_entry *link, int direction)
{
	double rate_Bps = link->traits.capacity_Bps[direction];
	if (link->kind->inside_host)
		return quantity_format(arena, QUANTITY_RATE, rate_Bps);
	bool many = rate_Bps >= 1e12 / 8 * 10; /* 10 Tbit/s */
	return arena_printf(arena, "%s %cbit/s",
			    number_format(arena, 4, (many ? 8e-12 : 8e-9) * rate_Bps),
			    many ? 'T' : 'G');
}

static const char *link_detail(struct arena *arena, const struct link_entry *link)
{
	const char *there = bandwidth_text(arena, link, 0), *back = bandwidth_text(arena, link, 1);
	const char *latency = quantity_format(arena, QUANTITY_TIME, link->traits.latency_s);
	if (strcmp(there, back) == 0)
		return arena_printf(arena, "%s, %s", there, latency);
	return arena_printf(arena, "%s, back %s, %s", there, back, latency);
}

/* Returns the utilisation of a link in direction 0 or 1, or NaN if the run did not simulate it. */
static double use_of(const struct scenario *scenario, const struct prediction *prediction,
		     size_t link, size_t direction)
{
	bool known = prediction->link_count == 2 * scenario->topology.link_count;
	return known ? prediction->links[2 * link + direction].utilization : NAN;
}

/* Returns the name without its numbers: "n0.gpu12" becomes "n*.gpu*". */
static const char *pattern(struct arena *arena, const char *name)
{
	char *text = arena_strdup(arena, name), *to = text;
	for (const char *from = name; *from;) {
		size_t digits = strspn(from, "0123456789");
		*to++ = digits ? '*' : *from;
		from += digits ? digits : 1;
	}
	*to = '\0';
	return text;
}

/* Returns what is at a link's end: the GPU's profile, what runs there, or "". */
static const char *part_at(struct arena *arena, const struct scenario *scenario, const char *name)
{
	const struct topology *t = &scenario->topology;
	const char *part = NULL;
	for (size_t i = 0; i < t->gpu_count && !part; i++)
		if (strcmp(t->gpus[i].name, name) == 0)
			part = t->gpus[i].profile;
	for (size_t i = 0; i < t->guest_count && !part; i++) {
		const struct guest_entry *guest = &t->guests[i];
		bool bare = guest->params.kind == GUEST_BARE;
		if (strcmp(guest->name, name) == 0 ||
		    (bare && strcmp(t->hosts[guest->host].name, name) == 0))
			part = guest_role(scenario, i);
	}
	return part ? arena_printf(arena, " (%s)", part) : "";
}

/* Links that are one row of the table, because they differ only in the numbers of their ends. */
struct link_row {
	const struct link_entry *link; /* the first of them */
	const char *patterns[2], *parts[2], *detail;
	double count, use; /* use: highest utilisation; NaN: not simulated */
};
struct link_rows {
	struct arena *arena;
	VEC(struct link_row) rows;
};

static bool same_end(const struct link_row *a, const struct link_row *b, int end)
{
	return strcmp(a->patterns[end], b->patterns[end]) == 0 &&
	       strcmp(a->parts[end], b->parts[end]) == 0;
}

/* Adds a link to its row, or a new row. */
static void add_link_row(struct link_rows *list, const struct scenario *scenario,
			 const struct link_entry *link, double use)
{
	struct link_row one = {.link = link, .detail = link_detail(list->arena, link)};
	for (int end = 0; end < 2; end++) {
		one.patterns[end] = pattern(list->arena, link->ends[end]);
		one.parts[end] = part_at(list->arena, scenario, link->ends[end]);
	}
	size_t i = 0;
	while (i < list->rows.count && (list->rows.items[i].link->kind != link->kind ||
					strcmp(list->rows.items[i].detail, one.detail) != 0 ||
					!same_end(&list->rows.items[i], &one, 0) ||
					!same_end(&list->rows.items[i], &one, 1)))
		i++;
	if (i == list->rows.count)
		*VEC_PUSH(list->arena, &list->rows) = one;
	list->rows.items[i].count += fmax(link->copies_count, 1);
	list->rows.items[i].use = fmax(list->rows.items[i].use, use);
}

static void fill_link_row(struct table *table, const struct link_row *row)
{
	table_row(table);
	for (int end = 0; end < 2; end++)
		table_cell(table, "%s%s",
			   row->count > 1 ? row->patterns[end] : row->link->ends[end],
			   row->parts[end]);
	table_cell(table, "%.0f", row->count);
	table_cell(table, "%s", row->link->kind->name);
	table_cell(table, "%s", row->detail);
	table_cell(table, "%s",
		   row->use > 0 ? arena_printf(table->arena, "%.*g" NBSP "%%",
					       row->use < 0.995 ? 2 : 3, 100 * row->use)
				: "–");
}

void report_topology(struct report *report, const struct scenario *scenario,
		     const struct prediction *prediction, const char *label)
{
	const struct topology *t = &scenario->topology;
	struct link_rows list = {.arena = report->arena};
	for (int network = 0; network < 2; network++) /* links in machines come first */
		for (size_t i = 0; i < t->link_count; i++)
			if (t->links[i].kind->inside_host != network)
				add_link_row(&list, scenario, &t->links[i],
					     fmax(use_of(scenario, prediction, i, 0),
						  use_of(scenario, prediction, i, 1)));
	struct table *table = report_table(
		report, "from|to|links>|kind|bandwidth, one-way latency|highest utilisation>",
		"Links of %s%s%s; a * stands for numbers. The last column is the highest "
		"utilisation in %s%s.",
		t->name, t->help ? ": " : "", t->help ? t->help : "", label,
		prediction->ok ? "" : " (a failed run)");
	for (size_t i = 0; i < list.rows.count; i++)
		fill_link_row(table, &list.rows.items[i]);
}

/* ---- timeline ---- */

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
	const char *caption = collective ? "The collective from the start of the first rank to the "
					   "end of the last rank."
					 : "A step from its first kernel to the last update: waits "
					   "and collectives of each rank, and its GPU.";
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
	report_figure(report, chart_timeline(arena, text, trace, step->start_ps, step->end_ps),
		      "%s Where spans are too short to be seen, colours share the height as the "
		      "spans share the time.",
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
