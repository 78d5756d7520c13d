/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire users: finds the number of GPUs that users need who come and go. */
#include "sim/analysis/users.h"
#include "sim/verb/verbs.h"

/* Returns for example "hours 8-17", or "" for a row that holds at any time. */
static const char *hours_text(struct arena *arena, const struct users_row *row)
{
	if (row->to_hour < 0)
		return "";
	return row->to_hour > row->from_hour
		       ? arena_printf(arena, "%d-%d", row->from_hour, row->to_hour)
		       : arena_printf(arena, "%d", row->from_hour);
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
	const char *when = hours_text(arena, peak);
	const char *who = arena_printf(arena, "%s: %g users%s%s", users->name, peak->users,
				       *when ? " in hours " : "", when);
	if (!peak->met)
		return arena_printf(arena, "%s miss the target %s with all %g GPUs.", who,
				    users->target, peak->gpus);
	const char *mean =
		users->row_count > 1
			? arena_printf(arena, " The mean of all given hours is %.1f GPUs.",
				       gpu_hours / hours)
			: "";
	return arena_printf(arena, "%s need %g GPU%s for the target %s.%s", who, peak->gpus,
			    peak->gpus == 1 ? "" : "s", users->target, mean);
}

/* Returns in which rows the target is missed as a sentence. */
static const char *missed_words(struct arena *arena, const struct users *users)
{
	const char *list = "";
	size_t missed = 0;
	for (size_t i = 0; i < users->row_count; i++) {
		const struct users_row *row = &users->rows[i];
		const char *hours = hours_text(arena, row);
		if (row->met)
			continue;
		missed++;
		list = arena_printf(arena, "%s%s%s%g users on %g GPU%s", list,
				    missed > 1 ? "; " : "",
				    *hours ? arena_printf(arena, "hour %s: ", hours) : "",
				    row->users, row->gpus, row->gpus > 1 ? "s" : "");
	}
	return missed ? arena_printf(arena, "%s misses the target %s in %zu of %zu rows (%s).",
				     users->name, users->target, missed, users->row_count, list)
		      : arena_printf(arena, "%s meets the target %s in all rows.", users->name,
				     users->target);
}

enum { COL_HOURS, COL_USERS, COL_GPUS, COL_ASKED, COL_MEAN, COL_ANSWER, COL_TARGET, COLUMNS };

static const struct result_table *users_table(struct arena *arena, const struct users *users)
{
	bool served = users->served;
	const char *wait = arena_printf(arena, "wait_p%.0f", 100 * users->quantile);
	const struct result_column columns[COLUMNS] = {
		[COL_HOURS] = {.name = "hours", .text = true},
		[COL_USERS] = {"users", QUANTITY_COUNT, false, false, "users"},
		[COL_GPUS] = {"gpus", QUANTITY_COUNT, false, false, "GPUs"},
		[COL_ASKED] = {served ? "requests_per_s" : "users_at_work", QUANTITY_COUNT, false,
			       false, served ? "requests/s" : "users at work"},
		[COL_MEAN] = {"mean_wait", QUANTITY_RATIO, false, false, served ? "" : "mean wait"},
		[COL_ANSWER] = {served ? users->reported->name : wait,
				served ? users->reported->quantity : QUANTITY_RATIO, false, served,
				served ? users->reported->heading
				       : arena_printf(arena, "wait p%.0f", 100 * users->quantile)},
		[COL_TARGET] = {.name = "target", .text = true}};
	const char *title =
		users->given_gpus ? missed_words(arena, users) : search_words(arena, users);
	if (users->limit_text)
		title = arena_printf(arena, "%s A GPU has room for %zu program%s only (%s).", title,
				     users->places, users->places > 1 ? "s" : "",
				     users->limit_text);
	struct result_table *table = result_table_new(arena, "users", title, columns, COLUMNS);
	for (size_t i = 0; i < users->row_count; i++) {
		const struct users_row *row = &users->rows[i];
		struct result_cell *cells = result_table_row(arena, table);
		cells[COL_HOURS].text = row->to_hour < 0 ? "all" : hours_text(arena, row);
		cells[COL_USERS].number = estimate_exact(row->users);
		cells[COL_GPUS].number = estimate_exact(row->gpus);
		cells[COL_ASKED].number =
			estimate_exact(served ? row->users * users->active : row->waits.working);
		cells[COL_MEAN].number = estimate_exact(served ? NAN : row->waits.mean);
		cells[COL_ANSWER].number = row->answer;
		cells[COL_TARGET].text = row->met ? "met" : row->failed ? row->failed : "missed";
	}
	return table;
}

/* Returns a curve over the hours of the rows first, first + step and so on. */
static struct curve day_curve(struct arena *arena, const struct users *users, size_t first,
			      size_t step, const char *label, bool gpus)
{
	double *x = ARENA_ARRAY(arena, 2 * users->row_count, double);
	struct estimate *y = ARENA_ARRAY(arena, 2 * users->row_count, struct estimate);
	size_t count = 0;
	for (size_t i = first; i < users->row_count; i += step)
		for (int end = 0; end < 2; end++) {
			const struct users_row *row = &users->rows[i];
			x[count] = row->from_hour + end * hours_of(row);
			y[count++] = estimate_exact(gpus ? row->gpus : row->users);
		}
	return (struct curve){label, x, y, count, NULL, NULL};
}

/* Replaces the numbers of a day's curve, or of all rows, by the answers. */
static struct curve answers_of(struct arena *arena, const struct users *users, struct curve curve,
			       size_t first, size_t step)
{
	size_t each = curve.x ? 2 : 1;
	double *x = ARENA_ARRAY(arena, users->row_count + 1, double);
	struct estimate *y = ARENA_ARRAY(arena, 2 * users->row_count, struct estimate);
	size_t count = 0;
	for (size_t i = first; i < users->row_count; i += step)
		for (size_t end = 0; end < each; end++) {
			const struct estimate answer = users->rows[i].answer;
			if (each == 1)
				x[count] = users->rows[i].gpus;
			y[count++] = isinf(answer.value)
					     ? ESTIMATE_NONE
					     : estimate_scaled(answer, users->served ? 1 : 100);
		}
	return (struct curve){curve.label, curve.x ? curve.x : x, y, count, NULL, NULL};
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
	size_t curves = by_hour ? each : 1, step = curves;
	struct curve *answers = ARENA_ARRAY(arena, curves, struct curve);
	for (size_t i = 0; i < curves; i++) {
		const char *label = arena_printf(arena, "%g GPUs", users->rows[i].gpus);
		struct curve day = {.label = ""};
		if (by_hour)
			day = day_curve(arena, users, i, step, each > 1 ? label : "", false);
		answers[i] = answers_of(arena, users, day, i, step);
	}
	const struct curve people[] = {day_curve(arena, users, 0, step, "users", false),
				       day_curve(arena, users, 0, step, "GPUs", true)};
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
	.options = "set plan serve users active gpus target wide format output plot no-data title "
		   "seed "
		   "draws jobs color quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
