/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Titles and tables of `solve`, `plan` and `sweep`, from answers that are made up. */
#include "sim/base/arena.h"
#include "sim/report/answers.h"
#include "sim/report/chart_data.h"
#include "sim/result/answer.h"
#include "tests/drawing_print.h"
#include "tests/test.h"

static struct arena *arena;

/* Returns the list of shapes of a drawing as text. */
static const char *shapes_of(const struct drawing *drawing)
{
	FILE *file = tmpfile();
	drawing_print(drawing, file);
	size_t size = (size_t)ftell(file);
	char *text = arena_alloc(arena, size + 1);
	rewind(file);
	text[fread(text, 1, size, file)] = '\0';
	fclose(file);
	return text;
}

static const struct result_cell *cell_at(const struct result_table *table, size_t row,
					 const char *name)
{
	for (size_t k = 0; k < table->column_count; k++)
		if (strcmp(table->columns[k].name, name) == 0)
			return &table->cells[row * table->column_count + k];
	return NULL;
}

/* ---- solve ---- */

static struct solve_point at(double x, double y)
{
	struct solve_point point = {.x = x, .answer.y = estimate_exact(y)};
	if (isnan(y))
		point.answer.reason = "timeout";
	return point;
}

/* The ratio of a case over the latency of its wire. The latency may be from 1 us to 100 us. */
struct solved {
	struct param_row row;
	struct cfg_param param;
	struct solution solution;
	struct solving solving;
};

static struct solved *solved(const struct solve_point *points, size_t count)
{
	struct solved *s = ARENA_NEW(arena, struct solved);
	s->row = (struct param_row){.kind = PARAM_KIND_NUMBER,
				    .quantity = QUANTITY_TIME,
				    .min = 1e-6,
				    .max = 100e-6,
				    .help = "one-way latency"};
	s->param = (struct cfg_param){.path = "link.wire.latency", .row = &s->row, .value = 10e-6};
	s->solution = (struct solution){.points = points,
					.point_count = count,
					.evaluations = 20,
					.interval_evaluations = 7};
	s->solving = (struct solving){
		.name = "case",
		.key = "link.wire.latency",
		.param = &s->param,
		.least = 10e-6,
		.most = 10e-6,
		.target = {answer_at(ANSWER_RATIO), true, 0.5, "ratio to local >= 0.5"},
		.range = {.low = 1e-6, .high = 100e-6, .log = true},
		.solution = &s->solution};
	return s;
}

static const char *title_of(const struct solved *s)
{
	return solving_table(arena, &s->solving)->title;
}

static void one_bound_has_its_interval_and_the_certain_value(void)
{
	const struct solve_point points[] = {at(1e-6, 0.9), at(10e-6, 0.7), at(100e-6, 0.2)};
	const struct solve_bound bound = {true, {38e-6, 34e-6, 44e-6}, 35e-6, {0.51, 0.45, 0.55}};
	struct solved *s = solved(points, 3);
	s->solution.bounds = &bound;
	s->solution.bound_count = 1;
	s->solution.refused = "too long";
	s->solution.refused_low = 200e-6;
	s->solution.refused_high = 300e-6;
	CHECK_TEXT(title_of(s),
		   "case meets the target ratio to local >= 0.5 with the one-way latency of wire "
		   "up to 38 us (34 us to 44 us). 35 us meets the target with 95 % certainty.\n"
		   "The case has 10 us, which gives 0.7. Searched: 1 us to 100 us (logarithmic "
		   "steps), 3 values, then refined to 0.1 %; 20 runs and 7 intervals. Not "
		   "searched: 200 us to 300 us (too long).");
	const struct result_table *table = solving_table(arena, &s->solving);
	CHECK_TEXT(cell_at(table, 0, "holds")->text, "up to");
	const struct estimate x = cell_at(table, 0, "link.wire.latency")->number;
	CHECK(x.value == 38e-6 && x.low == 34e-6 && x.high == 44e-6);
	CHECK(cell_at(table, 0, "certain")->number.value == 35e-6);
	CHECK(cell_at(table, 0, "ratio")->number.value == 0.51);
	CHECK(cell_at(table, 0, "searched_from")->number.value == 1e-6);
	CHECK(cell_at(table, 0, "searched_to")->number.value == 100e-6);
}

/* Each of three bounds has an end of its own kind: outside of the searched range, at a limit of the
 * parameter, and none. In the first region, one end is nowhere certain. */
static void regions_name_the_ends_of_their_intervals(void)
{
	const struct solve_point points[] = {at(1e-6, 0.4), at(10e-6, 0.7), at(50e-6, 0.2),
					     at(100e-6, NAN)};
	const struct solve_bound bounds[] = {
		{false, {2e-6, -INFINITY, 3e-6}, 3e-6, estimate_exact(0.5)},
		{true, {38e-6, 36e-6, INFINITY}, NAN, estimate_exact(0.5)},
		{false, estimate_exact(60e-6), 62e-6, estimate_exact(0.5)}};
	const struct solve_point holes[] = {at(20e-6, 0.3), at(25e-6, 0.31), at(30e-6, 0.32)};
	struct solved *s = solved(points, 4);
	s->solution.bounds = bounds;
	s->solution.bound_count = 3;
	s->solution.holes = holes;
	s->solution.hole_count = 3;
	s->param.value = 11e-6; /* no value of the search */
	s->solving.range.log = false;
	CHECK_TEXT(
		title_of(s),
		"case meets the target ratio to local >= 0.5 with the one-way latency of wire "
		"from 2 us (1 us to 3 us) to 38 us (36 us to 100 us), and from 60 us on. With 95 % "
		"certainty it meets the target from 62 us on. The result is not monotone. Among "
		"the tried values, 20 us, 25 us and 30 us miss the target: 0.3 at 20 us. At 100 us "
		"it fails: timeout.\n"
		"Searched: 1 us to 100 us (linear steps), 4 values, then refined to 0.1 %; 20 runs "
		"and 7 intervals.");
	/* with wider limits of the parameter, the interval leaves the searched range */
	s->row.min = 0;
	s->row.max = 1;
	CHECK_PART(title_of(s),
		   " from 2 us (below 1 us to 3 us) to 38 us (36 us to over 100 us), ");
	const struct result_table *table = solving_table(arena, &s->solving);
	CHECK(isnan(cell_at(table, 0, "link.wire.latency")->number.low));
	CHECK(cell_at(table, 0, "link.wire.latency")->number.high == 3e-6);
	CHECK(table->row_count == 3);
	CHECK_TEXT(cell_at(table, 2, "holds")->text, "from");
	/* one hole, which fails */
	const struct solve_point failed = at(20e-6, NAN);
	s->solution.holes = &failed;
	s->solution.hole_count = 1;
	s->row.whole = s->solving.range.whole = true;
	CHECK_PART(title_of(s), " Among the tried values, 20 us fails: timeout. At 100 us");
	CHECK_PART(title_of(s),
		   "Searched: 1 us to 100 us, 4 values, then refined to the whole number;");
	const struct solve_point both[] = {failed, at(25e-6, NAN)};
	s->solution.holes = both;
	s->solution.hole_count = 2;
	CHECK_PART(title_of(s), " values, 20 us and 25 us fail: timeout. At");
	s->solution.hole_count = 1;
	const struct solve_point missed[] = {at(20e-6, 0.3), at(25e-6, 0.2)};
	s->solution.holes = missed;
	CHECK_PART(title_of(s), " values, 20 us misses the target: 0.3 at 20 us.");
	s->solution.hole_count = 2;
	CHECK_PART(title_of(s), " values, 20 us and 25 us miss the target: 0.3 at 20 us.");
	/* no value is certain */
	s->solution.bound_count = 2;
	CHECK_PART(title_of(s), " No searched value meets the target with 95 % certainty. The");
}

/* If no bound was found, the worst or the best value says how certain the answer is. The end of its
 * interval that counts depends on the direction of the target. An end that equals the target
 * meets it. */
static void answer_without_a_bound_says_how_certain_it_is(void)
{
	static const struct {
		bool at_least, met;
		struct estimate y;
		const char *end;
	} rows[] = {{true, true, {0.55, 0.5, 0.7}, ", with 95 % certainty."},
		    {true, true, {0.55, 0.49, 0.7}, ", but not with 95 % certainty."},
		    {true,
		     false,
		     {0.45, 0.4, 0.5},
		     ", but a better value is possible within the interval."},
		    {true, false, {0.45, 0.4, 0.49}, ", with 95 % certainty."},
		    {false, true, {0.45, 0.4, 0.5}, ", with 95 % certainty."},
		    {false, true, {0.45, 0.4, 0.51}, ", but not with 95 % certainty."},
		    {false,
		     false,
		     {0.55, 0.5, 0.6},
		     ", but a better value is possible within the interval."},
		    {false, false, {0.55, 0.51, 0.6}, ", with 95 % certainty."},
		    {false, false, {0.55, 0.55, 0.55}, "."}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct solve_point points[] = {at(1e-6, 0.6), at(10e-6, 0.6)};
		struct solved *s = solved(points, 2);
		size_t shown = rows[i].met ? 1 : 0;
		points[shown].answer.y = rows[i].y;
		points[shown].with = true;
		s->solution.met = rows[i].met;
		s->solution.worst = 1;
		s->solving.target.at_least = rows[i].at_least;
		CHECK_PART(title_of(s), arena_printf(arena, ", at %s%s\n", shown ? "10 us" : "1 us",
						     rows[i].end));
		CHECK_TEXT(cell_at(solving_table(arena, &s->solving), 0, "holds")->text,
			   rows[i].met ? "everywhere" : "nowhere");
		CHECK(cell_at(solving_table(arena, &s->solving), 0, "ratio")->number.value ==
		      rows[i].y.value);
		const struct solve_point hole = at(5e-6, 0.1);
		s->solution.holes = &hole;
		s->solution.hole_count = 1;
		if (rows[i].met)
			CHECK_PART(title_of(s), "ratio to local >= 0.5 from 1 us to 10 us (");
	}
}

/* A target of at most the upper end of the 90 % interval is met with 95 %. */
static void present_value_meets_its_target_with_a_probability(void)
{
	struct solve_point points[] = {at(1e-6, 0.9), at(10e-6, 0.5)};
	struct solved *s = solved(points, 2);
	points[1].answer.y = (struct estimate){0.5, 0.4, 0.625};
	s->solution.met = true;
	s->solving.target.value = 0.625;
	CHECK_PART(title_of(s),
		   "The case has 10 us, which gives 0.5 (0.4 to 0.625), so that it meets "
		   "the target with a probability of 5 %. Searched");
	s->solving.target.at_least = false;
	CHECK_PART(title_of(s), "the target with a probability of 95 %. Searched");
}

/* The chart has a point for each bound at the height of the target. */
static void curve_passes_through_the_bounds(void)
{
	const struct solve_point points[] = {at(1e-6, 0.9), at(10e-6, 0.7), at(100e-6, 0.2)};
	const struct solve_bound bounds[] = {
		{false, estimate_exact(5e-6), 5e-6, estimate_exact(0.8)},
		{true, {38e-6, 34e-6, 44e-6}, 34e-6, estimate_exact(0.51)}};
	struct solved *s = solved(points, 3);
	s->solution.bounds = bounds;
	s->solution.bound_count = 2;
	const struct chart_text text = {"t", "c"};
	const char *shapes = shapes_of(solving_chart(arena, text, &s->solving));
	CHECK_PART(shapes, "from 5 us");
	CHECK_PART(shapes, "up to 38 us (34 us to 44 us)");
	CHECK_PART(shapes, "one-way latency of wire (us)");
	static const char *const hints[] = {"1: 0.9",   "5: 0.8", "10: 0.7", "38: 0.51",
					    "100: 0.2", "5: 0.5", "38: 0.5"};
	const char *next = shapes;
	for (size_t i = 0; i < sizeof hints / sizeof hints[0] && next; i++) {
		const char *found = strstr(next, hints[i]);
		CHECK(found != NULL);
		next = found ? found + 1 : NULL;
	}
}

/* ---- plans ---- */

static struct prediction step(const char *name, double throughput, double cost)
{
	return (struct prediction){.name = name,
				   .ok = true,
				   .gpu_count = 1,
				   .throughput = estimate_exact(throughput),
				   .cost_sample = estimate_exact(cost),
				   .speedup = estimate_exact(1),
				   .bottleneck = "kernel-bound",
				   .cost_hour = ESTIMATE_NONE,
				   .cost_run = ESTIMATE_NONE,
				   .goodput_ratio = ESTIMATE_NONE};
}

/* The fastest plan is on the second system, and the cheapest is the third row, on the first system.
 * Plans that fail are the last rows, whatever throughput they have. */
static void systems_name_the_fastest_and_the_cheapest_plan(void)
{
	struct prediction a[] = {step("a0", 50, 3), step("a1", 40, 1), step("a2", 998, 0.5)},
			  b[] = {step("b0", 90, 2), step("b1", 999, 0.5)};
	b[1].ok = a[2].ok = false;
	b[1].reason = a[2].reason = "no memory";
	const struct found_plan plans_a[] = {{"tp=4", 1e9, 0.1, 0.1, &a[2]},
					     {"tp=1", 1e9, 0.1, 0.1, &a[0]},
					     {"tp=2", 2e9, 0.1, 0.1, &a[1]}},
				plans_b[] = {{"pp=1", 3e9, 0.1, 0.1, &b[0]},
					     {"pp=2", 4e9, 0.1, 0.1, &b[1]}};
	const struct plan_search one = {.plans = plans_a, .plan_count = 3, .best_count = 3},
				 two = {.plans = plans_b, .plan_count = 2, .best_count = 2};
	const struct plan_search *searches[] = {&one, &two};
	const char *const names[] = {"old", "new"};
	const struct prediction *const *predictions;
	const struct result_table *table = systems_table(arena, names, searches, 2, &predictions);
	CHECK_TEXT(table->title, "Best plans of several systems\nfastest: new with pp=1\n"
				 "cheapest for a sample: old with tp=2");
	CHECK(table->row_count == 5 && predictions[0] == &b[0]);
	CHECK(predictions[1] == &a[0] && predictions[2] == &a[1]);
	CHECK_TEXT(cell_at(table, 1, "topology")->text, "old");
	CHECK_TEXT(cell_at(table, 1, "plan")->text, "tp=1");
	CHECK(cell_at(table, 2, "memory_B")->number.value == 2e9);
	CHECK(!cell_at(table, 0, "fastest"));
	b[0].ok = a[0].ok = a[1].ok = false;
	CHECK_TEXT(systems_table(arena, names, searches, 2, &predictions)->title,
		   "Best plans of several systems: none of them works");
}

/* With draws, two plans have chances. The first is faster in 2 of 3 draws and cheaper in 1 of 3. */
static void chances_of_systems_are_of_speed_and_of_cost(void)
{
	struct breakdown_part speeds[2][3] = {{{"1", 9}, {"2", 9}, {"3", 1}},
					      {{"1", 5}, {"2", 5}, {"3", 5}}};
	struct breakdown_part costs[2][3] = {{{"1", 2}, {"2", 4}, {"3", 4}},
					     {{"1", 3}, {"2", 3}, {"3", 3}}};
	struct prediction list[] = {step("x", 9, 4), step("y", 5, 3)};
	struct found_plan plans[2];
	for (size_t i = 0; i < 2; i++) {
		list[i].drawn = speeds[i];
		list[i].drawn_costs = costs[i];
		list[i].drawn_count = list[i].drawn_cost_count = list[i].draws_count = 3;
		plans[i] = (struct found_plan){i ? "dp=2" : "tp=2", 1e9, 0.1, 0.1, &list[i]};
	}
	const struct plan_search search = {.name = "case",
					   .plans = plans,
					   .plan_count = 2,
					   .best_count = 2},
				 *searches[] = {&search};
	const struct result_table *own = plan_search_table(arena, &search);
	CHECK(isnan(cell_at(own, 0, "faster")->number.value));
	CHECK(cell_at(own, 1, "faster")->number.value == 0.333);
	CHECK(cell_at(own, 1, "cheaper")->number.value == 0.667);
	const char *const names[] = {"box"};
	const struct prediction *const *predictions;
	const struct result_table *table = systems_table(arena, names, searches, 1, &predictions);
	CHECK_TEXT(
		table->title,
		"Best plans of several systems\nfastest: box with tp=2 (with a probability of 67 "
		"%)\ncheapest for a sample: box with dp=2 (with a probability of 67 %)");
	CHECK(cell_at(table, 0, "fastest")->number.value == 0.667);
	CHECK(cell_at(table, 0, "cheapest")->number.value == 0.333);
	CHECK(cell_at(table, 1, "fastest")->number.value == 0.333);
	CHECK(cell_at(table, 1, "cheapest")->number.value == 0.667);
	CHECK_TEXT(table->draws, "intervals: 90 %, from 3 draws of a row");
	/* a row that works without intervals is counted, but one that fails needs none */
	struct prediction third = step("z", 1, 9);
	third.ok = false;
	third.reason = "timeout";
	struct found_plan more[] = {plans[0], plans[1], {"ep=2", 1e9, 0.1, 0.1, &third}};
	const struct plan_search larger = {.plans = more, .plan_count = 3, .best_count = 3};
	searches[0] = &larger;
	list[1].draws_count = 0;
	table = systems_table(arena, names, searches, 1, &predictions);
	CHECK_TEXT(table->draws,
		   "intervals: 90 %, from 3 draws of a row; only the first and the "
		   "fastest of 2 rows have them, because draws of all rows would take "
		   "long (--draws 3)");
	list[1].ok = false;
	table = systems_table(arena, names, searches, 1, &predictions);
	CHECK_TEXT(table->draws, "intervals: 90 %, from 3 draws of a row");
}

static void title_of_a_search_counts_its_plans(void)
{
	struct prediction p = step("p", 50, 3);
	const struct found_plan plans[] = {{"tp=1", 1e9, 0, 0.1, &p}, {"tp=2", 2e9, 0.25, 0.1, &p}};
	struct plan_search search = {.name = "case",
				     .possible_count = 12,
				     .fitting_count = 9,
				     .needed_count = 7,
				     .plans = plans,
				     .plan_count = 2,
				     .best_count = 2};
	const struct result_table *table = plan_search_table(arena, &search);
	CHECK_TEXT(table->title, "Best plans of case: 12 are possible, 9 fit, the search needs 7");
	CHECK(isnan(cell_at(table, 0, "least_step_s")->number.value));
	CHECK(cell_at(table, 1, "least_step_s")->number.value == 0.25);
	search.first_count = 1;
	search.refused = "tp=8: no";
	search.refused_count = 3;
	CHECK_TEXT(
		plan_search_table(arena, &search)->title,
		"Best plans of case: 12 are possible, 9 fit, the search needs 7; 1 of these rows "
		"show a first step, 3 of these cannot be simulated (tp=8: no)");
	search.fitting_count = 0;
	search.refused = NULL;
	CHECK_TEXT(plan_search_table(arena, &search)->title,
		   "No plan of case fits into the memory of a GPU: 12 are possible, and these need "
		   "least");
}

/* ---- sweeps ---- */

/* Two of three axes change nothing: all points of one batch are equal. Failed points alone do not
 * say that an axis has no effect. */
static void axes_without_effect_are_listed(void)
{
	static const char *const texts[][2] = {
		{"a.x=1", "a.x=2"}, {"case.batch=8", "case.batch=16"}, {"b.y=3", "b.y=4"}};
	static const char *const keys[] = {"a.x", "case.batch", "b.y"}, *const words[] = {
										"x of a",
										"batch size",
										"y of b"};
	static const double values[] = {1, 2};
	struct sweep_axis axes[3];
	struct prediction points[8];
	const struct prediction *list[8];
	for (size_t a = 0; a < 3; a++)
		axes[a] = (struct sweep_axis){
			.key = keys[a], .texts = texts[a], .values = values, .count = 2};
	for (size_t i = 0; i < 8; i++) {
		points[i] = step("case", i & 2 ? 60 : 50, 1);
		list[i] = &points[i];
	}
	const struct sweep sweep = {axes, words, 3, list, 8};
	const struct result_table *table = sweep_table(arena, &sweep);
	CHECK_TEXT(table->title, "Sweep of case over x of a, batch size and y of b");
	CHECK_TEXT(table->without_effect, "a.x, b.y");
	CHECK_TEXT(cell_at(table, 3, "case.batch")->text, "16");
	CHECK_TEXT(cell_at(table, 3, "b.y")->text, "4");
	CHECK(cell_at(table, 3, "a.x")->number.value == 1);
	axes[0].count = 1; /* an axis with one value compares nothing */
	const struct sweep half = {axes, words, 3, list, 4};
	CHECK_TEXT(sweep_table(arena, &half)->without_effect, "b.y");
	axes[0].count = 2;
	points[5].throughput = estimate_exact(51); /* x = 2, batch 8, y = 4 */
	points[7].name = "other";
	table = sweep_table(arena, &sweep);
	CHECK(!table->without_effect);
	CHECK_TEXT(table->title, "Sweep over x of a, batch size and y of b");
	for (size_t i = 0; i < 8; i++) {
		points[i] = step("case", NAN, NAN);
		points[i].ok = false;
		points[i].reason = "timeout";
	}
	CHECK(!sweep_table(arena, &sweep)->without_effect);
}

static const struct test tests[] = {
	TEST(one_bound_has_its_interval_and_the_certain_value),
	TEST(regions_name_the_ends_of_their_intervals),
	TEST(answer_without_a_bound_says_how_certain_it_is),
	TEST(present_value_meets_its_target_with_a_probability),
	TEST(curve_passes_through_the_bounds),
	TEST(systems_name_the_fastest_and_the_cheapest_plan),
	TEST(chances_of_systems_are_of_speed_and_of_cost),
	TEST(title_of_a_search_counts_its_plans),
	TEST(axes_without_effect_are_listed),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
