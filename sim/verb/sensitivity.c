/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire sensitivity: which parameters an answer hangs on. */
#include "sim/analysis/sensitivity.h"

#include <math.h>
#include <stdio.h>

#include "plots/charts.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/report/chart_data.h"
#include "sim/report/measures.h"
#include "sim/verb/verbs.h"

struct asked {
	const char *name; /* of the case */
	const struct scenario *scenario;
	const struct reported *reported;
	const struct command *command;
	const struct sensitivity *found;
};

static const struct cfg_param *first_of(const struct swing *swing)
{
	return swing->knob->members[0];
}

static const char *value_text(struct arena *arena, const struct swing *swing, double value)
{
	return quantity_format(arena, first_of(swing)->row->quantity, value);
}

static bool is_elastic(const struct asked *a)
{
	return a->command->vary_all_ratio > 0;
}

/* ---- words ---- */

static const char *end_text(struct arena *arena, const struct asked *a,
			    const struct case_answer *answer)
{
	if (answer->refused)
		return "refused";
	return isnan(answer->number.value)
		       ? "fails"
		       : reported_text(arena, a->reported, answer->number.value);
}

static const char *now_text(struct arena *arena, const struct asked *a)
{
	const struct estimate *now = &a->found->now.number;
	struct reported bare = *a->reported;
	bare.unit = NULL;
	if (!(now->low < now->high))
		return reported_text(arena, a->reported, now->value);
	return arena_printf(arena, "%s (%s to %s)", reported_text(arena, a->reported, now->value),
			    reported_text(arena, &bare, now->low),
			    reported_text(arena, &bare, now->high));
}

static const char *signed_text(struct arena *arena, double value)
{
	return arena_printf(arena, "%s%s", value > 0 ? "+" : "", number_format(arena, 3, value));
}

static const char *first_text(struct arena *arena, const struct asked *a, const struct swing *swing)
{
	if (is_elastic(a) && isfinite(swing->elasticity))
		return arena_printf(arena, "%s: 1 %% more of it makes %s %%", swing->knob->name,
				    signed_text(arena, swing->elasticity));
	return arena_printf(arena, "%s: at %s it is %s, at %s %s", swing->knob->name,
			    value_text(arena, swing, swing->low_x), end_text(arena, a, &swing->low),
			    value_text(arena, swing, swing->high_x),
			    end_text(arena, a, &swing->high));
}

/* What knowing the leading unknown would bring, and how to know it. */
static const char *advice_text(struct arena *arena, const struct asked *a)
{
	const struct swing *leader = &a->found->swings[0];
	if (is_elastic(a))
		return "";
	for (size_t i = 1; i < a->found->indexed_count; i++)
		if (a->found->swings[i].index.first.value > leader->index.first.value)
			leader = &a->found->swings[i];
	const char *share = "", *how = measure_of(leader->knob->name);
	if (leader->indexed && leader->index.first.value > 0)
		share = arena_printf(arena,
				     ", which makes %.0f %% (%.0f to %.0f) of the variance "
				     "that parameters make",
				     100 * fmin(leader->index.first.value, 1),
				     100 * fmax(leader->index.first.low, 0),
				     100 * fmin(leader->index.first.high, 1));
	return arena_printf(
		arena, "\nKnowing %s%s, would narrow it most: %s.%s", leader->knob->name, share,
		how ? how : "nothing that ships measures it",
		model_error_words(arena, a->scenario, a->reported, a->found->now.number));
}

static const char *effort_text(struct arena *arena, const struct asked *a)
{
	const struct sensitivity *found = a->found;
	const char *indices = "", *failed = "";
	if (found->failed_samples)
		failed = arena_printf(arena,
				      ", of which %zu were left out because the case fails there",
				      found->failed_samples);
	if (found->indexed_count)
		indices = arena_printf(arena, " Indices of the first %zu, from %zu samples%s.%s",
				       found->indexed_count, a->command->sample_count, failed,
				       found->moving_count > found->indexed_count
					       ? " The others were screened out."
					       : "");
	return arena_printf(arena, "%zu of %zu %s move it; %zu runs.%s", found->moving_count,
			    found->swing_count, is_elastic(a) ? "numbers" : "uncertain parameters",
			    found->runs, indices);
}

static const char *words(struct arena *arena, const struct asked *a)
{
	const struct sensitivity *found = a->found;
	const char *how = is_elastic(a) ? arena_printf(arena, "each number %g %% less and more",
						       100 * a->command->vary_all_ratio)
					: "each uncertain parameter at its 5 and 95 % point";
	if (!found->moving_count)
		return arena_printf(arena, "The %s of %s is %s; nothing moves it (%s).\n%s",
				    a->reported->spoken, a->name, now_text(arena, a), how,
				    effort_text(arena, a));
	return arena_printf(arena, "The %s of %s is %s. It hangs most on %s (%s).%s\n%s",
			    a->reported->spoken, a->name, now_text(arena, a),
			    first_text(arena, a, &found->swings[0]), how, advice_text(arena, a),
			    effort_text(arena, a));
}

/* ---- table ---- */

enum { PARAMETER, VALUE, LOW, HIGH, AT_LOW, AT_HIGH, FIRST, TOTAL, MEASURE, COLUMNS_MAX };

static struct estimate exactly(double value)
{
	return (struct estimate){value, value, value};
}

static void fill_row(struct arena *arena, const struct asked *a, const struct swing *swing,
		     struct result_cell *cells)
{
	const struct index_estimate *index = &swing->index;
	cells[PARAMETER].text = swing->knob->name;
	cells[VALUE].text = value_text(arena, swing, first_of(swing)->value);
	cells[LOW].text = value_text(arena, swing, swing->low_x);
	cells[HIGH].text = value_text(arena, swing, swing->high_x);
	cells[AT_LOW].number = exactly(swing->low.number.value);
	cells[AT_HIGH].number = exactly(swing->high.number.value);
	if (is_elastic(a)) {
		cells[FIRST].number = exactly(swing->elasticity);
		return;
	}
	const char *how = measure_of(swing->knob->name);
	cells[FIRST].number = swing->indexed ? index->first : exactly(NAN);
	cells[TOTAL].number = swing->indexed ? index->total : exactly(NAN);
	cells[MEASURE].text = how ? how : "-";
}

static const struct result_table *tabulate(struct arena *arena, const struct asked *a)
{
	const struct reported *r = a->reported;
	size_t rows = a->found->moving_count ? a->found->moving_count : a->found->swing_count;
	size_t count = is_elastic(a) ? FIRST + 1 : COLUMNS_MAX;
	struct result_column *columns = ARENA_ARRAY(arena, COLUMNS_MAX, struct result_column);
	columns[PARAMETER] = (struct result_column){"parameter", QUANTITY_COUNT, true, false};
	columns[VALUE] = (struct result_column){"value", QUANTITY_COUNT, true, false};
	columns[LOW] = (struct result_column){"low", QUANTITY_COUNT, true, false};
	columns[HIGH] = (struct result_column){"high", QUANTITY_COUNT, true, false};
	columns[AT_LOW] = (struct result_column){arena_printf(arena, "at_low_%s", r->name),
						 r->quantity, false, false};
	columns[AT_HIGH] = (struct result_column){arena_printf(arena, "at_high_%s", r->name),
						  r->quantity, false, false};
	columns[FIRST] =
		is_elastic(a) ? (struct result_column){"elasticity", QUANTITY_COUNT, false, false}
			      : (struct result_column){"first_order", QUANTITY_RATIO, false, true};
	columns[TOTAL] = (struct result_column){"total", QUANTITY_RATIO, false, true};
	columns[MEASURE] = (struct result_column){"measured_by", QUANTITY_COUNT, true, false};
	struct result_table *table = ARENA_NEW(arena, struct result_table);
	*table = (struct result_table){
		.name = "sensitivity",
		.title = words(arena, a),
		.columns = columns,
		.column_count = count,
		.cells = ARENA_ARRAY(arena, rows * count + 1, struct result_cell),
		.row_count = rows};
	struct result_cell cells[COLUMNS_MAX];
	for (size_t i = 0; i < rows; i++) {
		fill_row(arena, a, &a->found->swings[i], cells);
		for (size_t k = 0; k < count; k++)
			table->cells[i * count + k] = cells[k];
	}
	return table;
}

/* ---- chart ---- */

static int draw(const struct asked *a)
{
	const struct command *command = a->command;
	struct arena *arena = command->arena;
	const struct chart_text text = {
		command->title ? command->title
			       : arena_printf(arena, "What the %s of %s hangs on",
					      a->reported->spoken, a->name),
		arena_printf(arena, "%s; %s", command_caption(command),
			     is_elastic(a)
				     ? arena_printf(arena, "each number %g %% less and more",
						    100 * command->vary_all_ratio)
				     : "each parameter at its 5 and 95 % point, the others at "
				       "their values")};
	const struct drawing *drawing = chart_swings(arena, text, a->reported, a->found);
	return command_draw(command, command->plot, &drawing, 1);
}

/* ---- the verb ---- */

/* Nothing to vary. */
static int refuse(const struct asked *a)
{
	const struct command *command = a->command;
	if (command->keys.count)
		fprintf(stderr,
			"farwire: no %s of %s has '%s' in its name (see farwire explain CASE%s)\n",
			is_elastic(a) ? "number" : "uncertain parameter", a->name,
			command->keys.items[0],
			is_elastic(a) ? ""
				      : "; --vary-all 10% moves those without an interval, too");
	else
		fprintf(stderr,
			"farwire: no parameter of %s has an interval; which numbers it hangs on "
			"all the same says --vary-all 10%%\n",
			a->name);
	return EXIT_USAGE;
}

static int run(const struct command *command)
{
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct progress progress = progress_new("points", NULL, command->quiet);
	const struct sensitivity_request request = {.input = command_input(command, 0, &progress),
						    .number = {command->of, {"--of", 0}},
						    .vary_ratio = command->vary_all_ratio,
						    .keys = command->keys.items,
						    .key_count = command->keys.count,
						    .sample_count = command->sample_count};
	struct diag *diag = diag_new(command->arena);
	const char *broken;
	const struct sensitivity *found = sensitivity_find(command->arena, diag, &request, &broken);
	progress_end(&progress);
	if (!found)
		return command_failed(diag, broken);
	const struct asked asked = {.name = found->scenario->name,
				    .scenario = found->scenario,
				    .reported = found->reported,
				    .command = command,
				    .found = found};
	if (!found->swing_count)
		return refuse(&asked);
	if (isnan(found->now.number.value)) {
		fprintf(stderr, "farwire: %s has no %s%s%s\n", asked.name, asked.reported->spoken,
			found->now.reason ? ": " : "", found->now.reason ? found->now.reason : "");
		return EXIT_USAGE;
	}
	int code = command_table(command, tabulate(command->arena, &asked));
	return code == EXIT_DONE && command->plot ? draw(&asked) : code;
}

const struct verb verb_sensitivity = {
	.name = "sensitivity",
	.words = "CASE",
	.help = "which parameters an answer hangs on, and what would narrow it most",
	.examples = "  farwire sensitivity case.cfg --plot tornado.svg\n"
		    "  farwire sensitivity case.cfg --of step --samples 512\n"
		    "  farwire sensitivity ddl-host --vary-all 10% --for link. --for guest.\n",
	.options = "set of for samples vary-all format output plot title seed draws jobs color "
		   "quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
