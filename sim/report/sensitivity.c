/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/answers.h"
#include "sim/analysis/knobs.h"
#include "sim/predict/draws.h"
#include "sim/report/chart_data.h"

static bool is_elastic(const struct sensitivity *found)
{
	return found->vary_ratio > 0;
}

static const struct cfg_param *first_of(const struct swing *swing)
{
	return swing->knob->members[0];
}

static const char *swing_words(struct arena *arena, const struct swing *swing)
{
	return cfg_param_words(arena, swing->knob->name, first_of(swing)->row);
}

/* Returns the words and the key that a user types: "one-way latency of wire
 * (link.wire.latency)". */
static const char *named(struct arena *arena, const struct swing *swing)
{
	return arena_printf(arena, "%s (%s)", swing_words(arena, swing), swing->knob->name);
}

static const char *swing_value(struct arena *arena, const struct swing *swing, double value)
{
	return quantity_format(arena, first_of(swing)->row->quantity, value);
}

/* ---- measurements ---- */

static const struct {
	const char *path, *words;
} measurements[] = {
#define MEASURE(path, words) {path, words},
#include "sim/report/measures.def"
#undef MEASURE
};

/* Returns the measurement that would narrow a parameter's interval (measures.def). Returns NULL if
 * no shipped tool measures it. */
static const char *measure_of(const char *path)
{
	for (size_t i = 0; i < sizeof measurements / sizeof measurements[0]; i++)
		if (paths_match(measurements[i].path, path))
			return measurements[i].words;
	return NULL;
}

/* Returns a sentence, after a space, with the interval that the model error alone gives to the
 * number. Returns "" if the model error does not affect it, or if there is no interval. */
static const char *model_error_words(struct arena *arena, const struct scenario *scenario,
				     const struct reported *reported, struct estimate now)
{
	struct estimate alone =
		error_alone(scenario, reported == answer_at(ANSWER_RATIO), now.value);
	struct reported bare = *reported;
	bare.unit = NULL;
	if (reported->part || !(now.low < now.high) || !(alone.low < alone.high))
		return "";
	return arena_printf(arena,
			    " The model error, which no such measurement narrows, gives %s to %s "
			    "even without uncertain parameters.",
			    reported_text(arena, &bare, alone.low),
			    reported_text(arena, reported, alone.high));
}

/* ---- words ---- */

static const char *swing_answer(struct arena *arena, const struct sensitivity *found,
				const struct case_answer *answer)
{
	if (answer->refused)
		return "refused";
	return isnan(answer->number.value)
		       ? "fails"
		       : reported_text(arena, found->reported, answer->number.value);
}

static const char *first_text(struct arena *arena, const struct sensitivity *found,
			      const struct swing *swing)
{
	if (is_elastic(found) && isfinite(swing->elasticity))
		return arena_printf(arena, "%s: 1 %% more of it changes the answer by %s %%",
				    named(arena, swing),
				    arena_printf(arena, "%s%s", swing->elasticity > 0 ? "+" : "",
						 number_format(arena, 3, swing->elasticity)));
	return arena_printf(
		arena, "%s: at %s the answer is %s, at %s it is %s", named(arena, swing),
		swing_value(arena, swing, swing->low_x), swing_answer(arena, found, &swing->low),
		swing_value(arena, swing, swing->high_x), swing_answer(arena, found, &swing->high));
}

/* Says how much of the variance the most influential parameter makes, and how to measure it. */
static const char *advice_text(struct arena *arena, const struct sensitivity *found)
{
	const struct swing *leader = &found->swings[0];
	if (is_elastic(found))
		return "";
	const char *share = "", *how = measure_of(leader->knob->name);
	if (isfinite(leader->share))
		share = arena_printf(
			arena, ", which causes about %.0f %% of the variance from parameters,",
			100 * leader->share);
	return arena_printf(
		arena, "\nA measurement of the %s%s would narrow the interval most: %s.%s",
		swing_words(arena, leader), share, how ? how : "no shipped tool measures it",
		model_error_words(arena, found->scenario, found->reported, found->now.number));
}

static const char *effort_text(struct arena *arena, const struct sensitivity *found)
{
	return arena_printf(arena, "%zu of %zu %s change it; %zu runs.", found->moving_count,
			    found->swing_count,
			    is_elastic(found) ? "numbers" : "uncertain parameters", found->runs);
}

static const char *change_words(struct arena *arena, const struct sensitivity *found)
{
	return arena_printf(arena, "each number changed by -%g %% and +%g %%",
			    100 * found->vary_ratio, 100 * found->vary_ratio);
}

static const char *words(struct arena *arena, const struct sensitivity *found)
{
	const char *how = is_elastic(found) ? change_words(arena, found)
					    : "each uncertain parameter at its 5 % and 95 % points";
	if (!found->moving_count)
		return arena_printf(arena, "The %s of %s is %s; no parameter changes it (%s).\n%s",
				    found->reported->spoken, found->scenario->name,
				    reported_interval(arena, found->reported, found->now.number),
				    how, effort_text(arena, found));
	return arena_printf(arena, "The %s of %s is %s. It depends most on the %s (%s).%s\n%s",
			    found->reported->spoken, found->scenario->name,
			    reported_interval(arena, found->reported, found->now.number),
			    first_text(arena, found, &found->swings[0]), how,
			    advice_text(arena, found), effort_text(arena, found));
}

/* ---- table ---- */

static void add_row(struct result_table *table, const struct sensitivity *found,
		    const struct swing *swing)
{
	struct arena *arena = table->arena;
	const char *how = measure_of(swing->knob->name);
	result_row(table);
	result_text(table, swing->knob->name);
	result_text(table, swing_words(arena, swing));
	result_text(table, swing_value(arena, swing, first_of(swing)->value));
	result_text(table, swing_value(arena, swing, swing->low_x));
	result_text(table, swing_value(arena, swing, swing->high_x));
	result_number(table, swing->low.number.value);
	result_number(table, swing->high.number.value);
	result_number(table, is_elastic(found) ? swing->elasticity : swing->share);
	if (!is_elastic(found))
		result_text(table, how ? how : "-");
}

const struct result_table *sensitivity_table(struct arena *arena, const struct sensitivity *found)
{
	const struct reported *r = found->reported;
	size_t rows = found->moving_count ? found->moving_count : found->swing_count;
	bool elastic = is_elastic(found);
	const char *ends[] = {elastic ? "less" : "5 % point", elastic ? "more" : "95 % point"};
	struct result_table *table = result_table_new(arena, "sensitivity", words(arena, found));
	result_columns(table,
		       "parameter:text:key|:text:parameter|value:text|low:text:%s|high:text:%s",
		       ends[0], ends[1]);
	for (int high = 0; high < 2; high++)
		result_column(table, (struct result_column){
					     .name = arena_printf(arena, "at_%s_%s",
								  high ? "high" : "low", r->name),
					     .quantity = r->quantity,
					     .heading = arena_printf(arena, "%s at %s", r->heading,
								     ends[high])});
	result_columns(table, elastic ? "elasticity"
				      : "share:ratio:share of variance|"
					"measured_by:text:measurement that would narrow it");
	const struct setup setup = scenario_setup(arena, found->scenario), *setups[] = {&setup};
	table->setup = setups_text(arena, setups, 1);
	for (size_t i = 0; i < rows; i++)
		add_row(table, found, &found->swings[i]);
	return table;
}

/* ---- chart ---- */

struct drawing *sensitivity_chart(struct arena *arena, const char *title, const char *caption,
				  const struct sensitivity *found)
{
	const struct reported *reported = found->reported;
	const struct chart_unit unit = chart_unit(reported->quantity, found->now.number.value);
	struct tornado_bar *bars = ARENA_ARRAY(arena, found->moving_count + 1, struct tornado_bar);
	for (size_t i = 0; i < found->moving_count; i++) {
		const struct swing *swing = &found->swings[i];
		bars[i] = (struct tornado_bar){swing_words(arena, swing),
					       swing_value(arena, swing, swing->low_x),
					       swing_value(arena, swing, swing->high_x),
					       swing->low.number.value * unit.factor,
					       swing->high.number.value * unit.factor};
	}
	const struct tornado_view view = {
		chart_label(arena, reported->spoken, reported->unit ? reported->unit : unit.name),
		found->now.number.value * unit.factor, bars, found->moving_count};
	const char *how = is_elastic(found) ? change_words(arena, found)
					    : "each parameter at its 5 % and 95 % points, the "
					      "others at their values";
	const struct chart_text text = {
		title ? title
		      : arena_printf(arena, "Influence of parameters on the %s of %s",
				     reported->spoken, found->scenario->name),
		arena_printf(arena, "%s; %s", caption, how)};
	return chart_tornado(arena, text, &view);
}
