/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire users: finds the number of GPUs that users need who come and go. */
#include "sim/analysis/users.h"
#include "sim/verb/verbs.h"

/* Returns for example "8-17", or "all" for a row that holds at any time. */
static const char *hours_text(struct arena *arena, const struct users_row *row)
{
	if (row->to_hour < 0)
		return "all";
	return row->to_hour > row->from_hour
		       ? arena_printf(arena, "%d-%d", row->from_hour, row->to_hour)
		       : arena_printf(arena, "%d", row->from_hour);
}

/* Returns for example "40 users in hours 8-17". */
static const char *users_text(struct arena *arena, const struct users_row *row)
{
	const char *users =
		arena_printf(arena, "%g user%s", row->users, row->users == 1 ? "" : "s");
	return row->to_hour < 0 ? users
				: arena_printf(arena, "%s in hour%s %s", users,
					       row->to_hour > row->from_hour ? "s" : "",
					       hours_text(arena, row));
}

static double hours_of(const struct users_row *row)
{
	return row->to_hour < 0 ? 1 : row->to_hour - row->from_hour + 1;
}

/* Returns the answer of a search as a sentence. */
static const char *search_words(struct arena *arena, const struct users *users)
{
	const struct users_row *peak = &users->rows[0];
	double gpu_hours = 0, hours = 0;
	for (size_t i = 0; i < users->row_count; i++) {
		const struct users_row *row = &users->rows[i];
		if ((!row->met && peak->met) || (row->met == peak->met && row->gpus > peak->gpus))
			peak = row;
		gpu_hours += hours_of(row) * row->gpus;
		hours += hours_of(row);
	}
	const char *who = arena_printf(arena, "%s: %s", users->name, users_text(arena, peak));
	if (!peak->met)
		return arena_printf(arena, "%s miss the target %s with all %g GPUs.", who,
				    users->target, peak->gpus);
	const char *mean =
		users->row_count > 1
			? arena_printf(arena, " The mean of all given hours is %.1f GPUs.",
				       gpu_hours / hours)
			: "";
	return arena_printf(arena, "%s need%s %g GPU%s for the target %s.%s", who,
			    peak->users == 1 ? "s" : "", peak->gpus, peak->gpus == 1 ? "" : "s",
			    users->target, mean);
}

/* Returns in which rows the target is missed as a sentence. */
static const char *missed_words(struct arena *arena, const struct users *users)
{
	const char *list = "";
	size_t missed = 0;
	for (size_t i = 0; i < users->row_count; i++) {
		const struct users_row *row = &users->rows[i];
		if (row->met)
			continue;
		missed++;
		list = arena_printf(arena, "%s%s%s on %g GPU%s", list, missed > 1 ? "; " : "",
				    users_text(arena, row), row->gpus, row->gpus > 1 ? "s" : "");
	}
	return missed ? arena_printf(arena, "%s misses the target %s in %zu of %zu rows (%s).",
				     users->name, users->target, missed, users->row_count, list)
		      : arena_printf(arena, "%s meets the target %s in all rows.", users->name,
				     users->target);
}

static const struct result_table *users_table(struct arena *arena, const struct users *users)
{
	bool served = users->served;
	const char *title =
		users->given_gpus ? missed_words(arena, users) : search_words(arena, users);
	if (users->limit_text)
		title = arena_printf(arena, "%s A GPU has room for %zu program%s only (%s).", title,
				     users->places, users->places > 1 ? "s" : "",
				     users->limit_text);
	struct result_table *table = result_table_new(arena, "users", title);
	result_columns(table, "hours:text|users::users|gpus::GPUs|%s|mean_wait:ratio:%s",
		       served ? "sent_per_s::sent requests/s" : "users_at_work::users at work",
		       served ? "" : "mean wait");
	if (served)
		result_column(table, (struct result_column){users->reported->name,
							    users->reported->quantity, false, true,
							    users->reported->heading});
	else
		result_columns(table, "wait_p%.0f:ratio:wait p%.0f", 100 * users->quantile,
			       100 * users->quantile);
	result_columns(table, "target:text");
	for (size_t i = 0; i < users->row_count; i++) {
		const struct users_row *row = &users->rows[i];
		result_row(table);
		result_text(table, hours_text(arena, row));
		result_number(table, row->users);
		result_number(table, row->gpus);
		result_number(table, served ? row->users * users->active : row->waits.working);
		result_number(table, served ? NAN : row->waits.mean);
		result_estimate(table, row->answer);
		result_text(table, row->met ? "met" : row->failed ? row->failed : "missed");
	}
	return table;
}

/* The numbers of a row that curves show. */
static struct estimate people_of(const struct users *users, const struct users_row *row)
{
	return estimate_exact(row->users);
}

static struct estimate gpus_of(const struct users *users, const struct users_row *row)
{
	return estimate_exact(row->gpus);
}

static struct estimate answer_of(const struct users *users, const struct users_row *row)
{
	return isinf(row->answer.value) ? ESTIMATE_NONE
					: estimate_scaled(row->answer, users->served ? 1 : 100);
}

/* Returns a curve of the rows first, first + step and so on: over their hours, or over the GPUs. */
static struct curve curve_of(struct arena *arena, const struct users *users, size_t first,
			     size_t step, const char *label,
			     struct estimate (*number)(const struct users *users,
						       const struct users_row *row))
{
	double *x = ARENA_ARRAY(arena, 2 * users->row_count, double);
	struct estimate *y = ARENA_ARRAY(arena, 2 * users->row_count, struct estimate);
	size_t count = 0;
	for (size_t i = first; i < users->row_count; i += step) {
		const struct users_row *row = &users->rows[i];
		bool by_hour = row->to_hour >= 0;
		for (int end = 0; end <= by_hour; end++) {
			x[count] = by_hour ? row->from_hour + end * hours_of(row) : row->gpus;
			y[count++] = number(users, row);
		}
	}
	return (struct curve){label, x, y, count, NULL, NULL};
}

/* Draws users, GPUs and the answer over the hours; with several numbers of GPUs, a curve of the
 * answer for each; without hours, the answer over the GPUs. */
static const struct drawing *draw(const struct command *command, const struct users *users)
{
	struct arena *arena = command->arena;
	bool by_hour = users->rows[0].to_hour >= 0;
	size_t each = 1; /* rows of an hour */
	while (each < users->row_count && users->rows[each].from_hour == users->rows[0].from_hour)
		each++;
	bool whole = by_hour && each == 1; /* one number of GPUs in each hour */
	size_t curves = by_hour ? each : 1;
	struct curve *answers = ARENA_ARRAY(arena, curves, struct curve);
	for (size_t i = 0; i < curves; i++)
		answers[i] = curve_of(
			arena, users, i, curves,
			curves > 1 ? arena_printf(arena, "%g GPUs", users->rows[i].gpus) : "",
			answer_of);
	const struct curve people[] = {curve_of(arena, users, 0, curves, "users", people_of),
				       curve_of(arena, users, 0, curves, "GPUs", gpus_of)};
	const char *x_label = by_hour ? "hour of the day" : "GPUs";
	const char *wait = arena_printf(arena, "wait p%.0f in %%", 100 * users->quantile);
	const struct curve_panel panels[] = {
		{{.x_label = x_label, .y_label = "users, GPUs"}, people, 2},
		{{.x_label = x_label,
		  .y_label = users->served ? users->reported->spoken : wait,
		  .goal = users->limit * (users->served ? 1 : 100),
		  .goal_label = users->target},
		 answers,
		 curves}};
	const char *title = arena_printf(arena, "Users of %s", users->name);
	return chart_panels(arena, command_chart_text(command, title), whole ? panels : &panels[1],
			    whole ? 2 : 1);
}

static int run(const struct command *command)
{
	if (!command->users || !command->active)
		return command_stop(
			EXIT_USAGE, "`farwire users` needs %s",
			command->users
				? "--active, for example --active '25 %' of the time, or of a "
				  "model server 0.02 requests/s of each user"
				: "--users, for example --users 40 or --users 0-7:5,8-17:40");
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct progress progress = progress_new("points", NULL, command->quiet);
	struct users_request request = {
		.input = command_input(command, &progress),
		.users = {command->users, {"--users", 0}},
		.active = {command->active, {"--active", 0}},
		.target = {command->target ? command->target : "wait_p95<=10 %", {"--target", 0}},
		.gpus = {command->gpus, {"--gpus", 0}}};
	struct diag *diag = diag_new(command->arena);
	const char *broken;
	const struct users *users = users_run(command->arena, diag, &request, &broken);
	progress_end(&progress);
	if (!users)
		return command_failed(diag, broken);
	return command_answer(command, users_table(command->arena, users),
			      command->plot ? draw(command, users) : NULL, NULL);
}

const struct verb verb_users = {
	.name = "users",
	.words = "CASE",
	.help = "finds the number of GPUs that users of a pool or a model server need, in each "
		"hour of a day, so that a quantile of their waits meets a target",
	.examples =
		"  farwire users pool-8-on-4 --users 40 --active '25 %' --target 'wait_p95<=10 %'\n"
		"  farwire users pool-8-on-4 --users 0-7:5,8-17:40,18-23:15 --active '25 %' "
		"--gpus 8 --plot day.svg\n"
		"  farwire users serve-llama3-h100 --users 0-7:50,8-17:900 --active 0.02 "
		"--target 'latency_p99<=5 s' --draws 0\n",
	.options = CASE_OPTIONS ANSWER_OPTIONS "users active gpus target",
	.run = run,
};
