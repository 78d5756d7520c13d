/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of answers, of predictions and errors that are made up. */
#include "sim/base/arena.h"
#include "sim/report/answers.h"
#include "sim/report/validation.h"
#include "sim/result/answer.h"
#include "tests/drawing_print.h"
#include "tests/test.h"

static struct arena *arena;

/* Returns the table as text, with one blank between its cells. */
static const char *printed(const struct table *table)
{
	FILE *file = tmpfile();
	table_print(table, file);
	char *text = arena_alloc(arena, (size_t)ftell(file) + 1), *to = text;
	rewind(file);
	for (int c; (c = fgetc(file)) != EOF;)
		if (c != ' ' || (to > text && to[-1] != ' '))
			*to++ = (char)c;
	*to = '\0';
	fclose(file);
	return text;
}

static struct error_summary geomean(double ratio, double median)
{
	return (struct error_summary){.count = 2, .geomean_abs = ratio, .median_abs = median};
}

/* The least error is the smallest geometric mean, also if its median is larger. A group without
 * errors of the added time has empty cells. */
static void the_least_error_is_that_with_the_smallest_geometric_mean(void)
{
	struct pencil_summary sums[] = {
		{.group = "near",
		 .role = ROLE_TEST,
		 .error = {geomean(0.12, 0.3), geomean(0.2, 0.1), geomean(0.15, 0.2)}},
		{.role = ROLE_FIT,
		 .error = {geomean(0.4, 0.3), geomean(0.3, 0.4), geomean(0.2, 0.5)},
		 .added = {geomean(0.01, 0), geomean(0.02, 0), geomean(0.03, 0)}}};
	const struct dataset_outcome outcome = {.pencils = sums, .pencil_count = 2};
	struct table *table = table_new(arena, pencil_heads, 0);
	pencil_lines(arena, table, &outcome);
	const char *text = printed(table);
	CHECK_PART(text, "near test 2 12.0 % 20.0 % 15.0 % farwire\n");
	CHECK_PART(text, "all fit 2 40.0 % 30.0 % 20.0 % with costs 1.0 % 2.0 % 3.0 %");
}

/* Rows of a dataset of several quantities, with formulas. */
static void rows_have_their_measure_and_the_errors_of_formulas(void)
{
	const struct dataset dataset = {.mixed = true, .pencil.asked = true};
	struct prediction good = {.ok = true, .bottleneck = "kernel-bound"},
			  bad = {.reason = "no route"};
	struct dataset_row rows[] = {
		{.label = "a", .role = ROLE_TEST, .measure = MEASURE_TIME, .measured = 2e-3},
		{.label = "b",
		 .role = ROLE_FIT,
		 .measure = MEASURE_THROUGHPUT,
		 .failure = "FAIL:timeout"}};
	const struct row_outcome outcomes[] = {{.row = &rows[0],
						.prediction = &good,
						.predicted = {2.5e-3, 2e-3, 3e-3},
						.error = 0.25,
						.pencil.error = {0.25, -0.5, 0.1}},
					       {.row = &rows[1],
						.prediction = &bad,
						.predicted = {NAN, NAN, NAN},
						.error = NAN,
						.pencil.error = {NAN, NAN, NAN}}};
	struct table *table = table_new(arena, validation_heads(arena, &dataset), 0);
	for (size_t i = 0; i < 2; i++)
		validation_row(arena, table, &dataset, &outcomes[i]);
	const char *text = printed(table);
	CHECK_PART(text, "row role quantity measured predicted 90 % interval error formula with "
			 "costs bottleneck");
	CHECK_PART(text,
		   "a test time 2 ms 2.5 ms 2 ms .. 3 ms +25.0 % -50.0 % +10.0 % kernel-bound");
	CHECK_PART(text, "b fit throughput FAIL:timeout FAIL failed: no route");
}

/* ---- ranks ---- */

/* A long run is compared by the cost of all of it, and another case by that of a sample. */
static void costs_are_divided_for_each_draw(void)
{
	struct breakdown_part rising[] = {{"1", 1}, {"2", 3}, {"3", 5}, {"4", 7}},
			      two[] = {{"1", 2}, {"2", 2}, {"3", 2}, {"4", 2}};
	struct prediction a = {.drawn_count = 4, .drawn = two, .drawn_costs = rising}, b = a;
	b.drawn_costs = two;
	a.cost_sample.value = b.cost_run.value = 4;
	b.cost_sample.value = a.cost_run.value = 2;
	struct quotient q = draws_cost_quotient(&a, &b);
	CHECK(q.estimate.value == 0.5 && q.estimate.high == 3.5 && q.above_one == 0.75);
	a.goodput_ratio.value = b.goodput_ratio.value = NAN;
	CHECK(draws_cost_quotient(&a, &b).estimate.value == 2);
}

enum { ROWS = 4, DRAWS = 4 };
struct ranked {
	struct prediction predictions[ROWS];
	const struct prediction *list[ROWS];
	struct breakdown_part speeds[ROWS][DRAWS], costs[ROWS][DRAWS];
	struct result_table *table;
};

/* Sets a row with these throughputs and costs of its draws, of which the first are the values. */
static void row(struct ranked *r, size_t i, const char *name, const double speeds[DRAWS],
		const double costs[DRAWS])
{
	struct prediction *p = &r->predictions[i];
	*p = (struct prediction){.name = name,
				 .ok = true,
				 .gpu_count = 1,
				 .throughput = {speeds[0], speeds[0] / 2, speeds[0] * 2},
				 .cost_sample = {costs[0], costs[0], costs[0]},
				 .currency = "USD",
				 .drawn = r->speeds[i],
				 .drawn_count = DRAWS,
				 .drawn_costs = r->costs[i],
				 .drawn_cost_count = DRAWS};
	p->cost_run = p->goodput_ratio = ESTIMATE_NONE;
	for (size_t k = 0; k < DRAWS; k++) {
		r->speeds[i][k] = (struct breakdown_part){"", speeds[k]};
		r->costs[i][k] = (struct breakdown_part){"", costs[k]};
	}
	r->list[i] = p;
	result_row(r->table);
	result_text(r->table, name);
}

static struct ranked four_rows(void)
{
	struct ranked r = {.table = result_table_new(arena, "rows", "Rows")};
	result_columns(r.table, "name:text");
	return r;
}

static const char *order_of(const struct result_table *table)
{
	const char *text = "";
	for (size_t i = 0; i < table->row_count; i++)
		text = arena_printf(arena, "%s%s ", text, table->cells[i].text);
	return text;
}

/* Three rows meet the target. The cheapest of them is `b`, which is cheaper than `c` in three of
 * four draws. Without a target of speed, and under a limit of the cost, the fastest row is the
 * best. */
static void rows_are_ranked_by_cost_under_a_limit_of_speed_and_the_other_way_round(void)
{
	static struct ranked r;
	r = four_rows();
	row(&r, 0, "a", (double[]){10, 10, 10, 10}, (double[]){9, 9, 9, 9});
	row(&r, 1, "b", (double[]){8, 8, 8, 8}, (double[]){3, 3, 3, 3});
	row(&r, 2, "c", (double[]){9, 7, 7, 9}, (double[]){4, 4, 4, 2});
	row(&r, 3, "d", (double[]){5, 5, 5, 5}, (double[]){1, 1, 1, 1});
	struct target target = {answer_at(ANSWER_THROUGHPUT), true, 8, "throughput >= 8"};
	const struct result_table *found = ranked_table(arena, r.table, r.list, 1, &target);
	CHECK_TEXT(order_of(found), "b c a d ");
	CHECK_PART(found->title, "\ncheapest with throughput >= 8: b, ");
	CHECK_PART(found->title, " (a part of its interval misses the limit)");
	CHECK_PART(found->title, "; cheaper than c with a probability of 75 %");
	target = (struct target){answer_at(ANSWER_COST_SAMPLE), false, 4, "cost <= 4"};
	found = ranked_table(arena, r.table, r.list, 1, &target);
	CHECK_TEXT(order_of(found), "c b d a ");
	CHECK_PART(found->title,
		   "\nfastest with cost <= 4: c; faster than b with a probability of 50 %");
	target.value = 0.5;
	CHECK_PART(ranked_table(arena, r.table, r.list, 1, &target)->title,
		   "\nno row meets cost <= 4");
}

static void costs_are_the_answers_from_an_hour_to_the_energy_of_a_run(void)
{
	CHECK(reported_is_cost(answer_at(ANSWER_COST_HOUR)));
	CHECK(reported_is_cost(answer_at(ANSWER_ENERGY_RUN)));
	CHECK(!reported_is_cost(answer_at(ANSWER_CHEAPER)));
	CHECK(!reported_is_cost(answer_at(ANSWER_EXPOSED)));
}

/* A row that fails comes after all others, also if no row meets the limit. An axis is named by its
 * key, and a row by what stands in its first cells. */
static void failed_rows_are_the_last_ones(void)
{
	static struct ranked r;
	r = (struct ranked){.table = result_table_new(arena, "rows", "Rows")};
	result_columns(r.table, "model:text|case.exchange:text|case.gpus|other");
	const double two[] = {2, 2, 2, 2}, nine[] = {9, 9, 9, 9};
	static const char *const names[] = {"bad", "slow", "fast"};
	for (size_t i = 0; i < 3; i++) {
		row(&r, i, names[i], i < 2 ? two : nine, i < 2 ? two : nine);
		result_text(r.table, "ddp");
		result_number(r.table, (double)(8 * i));
		result_number(r.table, 5);
	}
	r.predictions[0].ok = false;
	r.predictions[0].cost_sample = ESTIMATE_NONE;
	r.predictions[1].cost_sample = ESTIMATE_NONE;
	struct target target = {answer_at(ANSWER_THROUGHPUT), true, 10, "throughput >= 10"};
	const struct result_table *found = ranked_table(arena, r.table, r.list, 3, &target);
	CHECK_TEXT(found->cells[0].text, "fast");
	CHECK_TEXT(found->cells[4].text, "slow");
	CHECK_TEXT(found->cells[8].text, "bad");
	CHECK_TEXT(found->title, "Rows\nno row meets throughput >= 10");
	/* the highest throughput wins, because a working row has no price */
	target.value = 2;
	found = ranked_table(arena, r.table, r.list, 3, &target);
	CHECK_TEXT(
		found->title,
		"Rows\nfastest with throughput >= 10: fast, case.exchange=ddp, case.gpus=16, not "
		"ranked by cost, because slow, case.exchange=ddp, case.gpus=8 has no price (write "
		"--set gpu_cost.GPU.hour_price=2.5 with the GPU's name); faster than slow, "
		"case.exchange=ddp, case.gpus=8 with a probability of 100 %");
	/* only one row meets the limit, and its whole interval of 4.5 to 18 does */
	target.value = 4.5;
	r.predictions[2].cost_sample = ESTIMATE_NONE;
	CHECK_TEXT(ranked_table(arena, r.table, r.list, 1, &target)->title,
		   "Rows\nfastest with throughput >= 10: fast");
	/* an upper limit of 17 is missed by a part of the interval */
	target = (struct target){answer_at(ANSWER_THROUGHPUT), false, 17, "throughput <= 17"};
	CHECK_TEXT(ranked_table(arena, r.table, r.list, 1, &target)->title,
		   "Rows\nfastest with throughput <= 17: fast (a part of its interval misses the "
		   "limit); faster than slow with a probability of 100 %");
	r.table->row_count = 1;
	r.predictions[0].ok = true;
	CHECK_TEXT(ranked_table(arena, r.table, r.list, 1, &target)->title,
		   "Rows\nfastest with throughput <= 17: bad");
}

/* ---- charts of costs ---- */

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

/* Returns the shapes of a chart with these costs and speeds, of which `best` are the front. */
static const char *chart_of(const char *x_label, const char *const names[2],
			    const double (*rows)[2], const char *const *hints, const bool *best,
			    size_t count)
{
	struct plan_mark marks[8];
	for (size_t i = 0; i < count; i++)
		marks[i] = (struct plan_mark){rows[i][0],
					      {rows[i][1], rows[i][1] / 2, rows[i][1] * 2},
					      best[i],
					      hints[i]};
	const struct plan_axes axes = {x_label, "images/s", {names[0], names[1]}, NAN, NULL};
	return shapes_of(chart_plans(arena, (struct chart_text){"t", "c"}, &axes, marks, count));
}

enum { COUNT = 7 };
static const double numbers[COUNT][2] = {{1, 10}, {1, 12}, {2, 12},  {3, 11},
					 {2, 20}, {9, 30}, {0.5, 99}};
static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};

/* Sets predictions with these costs and speeds, of which the last one fails, and returns a table
 * with their names. */
static struct result_table *price(struct prediction *list, const struct prediction **predictions)
{
	static struct ranked r;
	struct result_table *table = result_table_new(arena, "rows", "Rows");
	result_columns(table, "name:text");
	r = four_rows();
	for (size_t i = 0; i < COUNT; i++) {
		const double speed = numbers[i][1], cost = numbers[i][0];
		row(&r, 0, names[i], (double[]){speed, speed, speed, speed},
		    (double[]){cost, cost, cost, cost});
		list[i] = r.predictions[0];
		predictions[i] = &list[i];
		result_row(table);
		result_text(table, names[i]);
	}
	list[6].ok = false;
	list[6].currency = NULL;
	return table;
}

/* A row is not in front if another one that meets the target is cheaper and faster. An equal cost
 * or an equal speed is not enough, and neither is a row that fails. */
static void front_of_costs_has_no_row_that_is_cheaper_and_faster(void)
{
	struct prediction list[COUNT];
	const struct prediction *predictions[COUNT];
	struct result_table *table = price(list, predictions);
	const struct chart_text text = {"t", "c"};
	static const char *const all[] = {"another one is cheaper and faster",
					  "no other one is cheaper and faster"};
	const char *label = arena_printf(arena, "%s (USD)", answer_at(ANSWER_COST_SAMPLE)->heading);
	CHECK_TEXT(shapes_of(cost_chart(arena, text, table, 1, predictions, NULL)),
		   chart_of(label, all, numbers, names,
			    (bool[]){true, true, true, false, true, true}, 6));
	/* at least 12: a, d, and the failed g miss it */
	const struct target target = {answer_at(ANSWER_THROUGHPUT), true, 12, "throughput >= 12"};
	static const char *const some[] = {
		"misses throughput >= 12, or another one is cheaper and faster",
		"of those that meet it, no other one is cheaper and faster"};
	CHECK_TEXT(shapes_of(cost_chart(arena, text, table, 1, predictions, &target)),
		   chart_of(label, some, numbers, names,
			    (bool[]){false, true, true, false, true, true}, 6));
	/* rows that miss a limit of the step do not stand before the others */
	for (size_t i = 0; i < COUNT; i++)
		list[i].step_s = estimate_exact(i == 1 || i == 2 || i == 4 ? 2 : 1);
	const struct target quick = {answer_at(ANSWER_STEP), false, 1, "step time <= 1 s"};
	static const char *const limited[] = {
		"misses step time <= 1 s, or another one is cheaper and faster",
		"of those that meet it, no other one is cheaper and faster"};
	CHECK_TEXT(shapes_of(cost_chart(arena, text, table, 1, predictions, &quick)),
		   chart_of(label, limited, numbers, names,
			    (bool[]){true, false, false, true, false, true}, 6));
	/* up to four rows are named by their hints, and a cost that one row lacks is not shown */
	static const char *const none[2] = {NULL, NULL};
	list[0].cost_sample = ESTIMATE_NONE;
	table->row_count = 5;
	CHECK_TEXT(shapes_of(cost_chart(arena, text, table, 1, predictions, NULL)),
		   chart_of(label, none, &numbers[1], &names[1], (bool[]){true, true, false, true},
			    4));
	CHECK_TEXT(shapes_of(cost_chart(arena, text, table, 1, predictions, &target)),
		   chart_of(label, none, &numbers[1], &names[1], (bool[]){true, true, false, true},
			    4));
	/* all rows have the cost of a whole run */
	for (size_t i = 0; i < COUNT; i++)
		list[i].cost_run = estimate_exact(numbers[i][0]);
	label = arena_printf(arena, "%s (USD)", answer_at(ANSWER_COST_RUN)->heading);
	table->row_count = 3;
	CHECK_TEXT(shapes_of(cost_chart(arena, text, table, 1, predictions, NULL)),
		   chart_of(label, none, numbers, names, (bool[]){true, true, true}, 3));
}

/* ---- layouts of model servers ---- */

static const struct result_cell *cell_at(const struct result_table *table, size_t row,
					 const char *name)
{
	for (size_t k = 0; k < table->column_count; k++)
		if (strcmp(table->columns[k].name, name) == 0)
			return &table->cells[row * table->column_count + k];
	return NULL;
}

/* Two layouts carry a load, and a third one has no room. None has a size of the key 3. */
static void lay_out(struct prediction p[2], struct serve_layout layouts[3])
{
	for (size_t i = 0; i < 2; i++) {
		p[i] = (struct prediction){.ok = true,
					   .token_throughput = estimate_exact(400 + 40 * (double)i),
					   .user_token_throughput = estimate_exact(30),
					   .cost_token = estimate_exact(2e-6)};
		for (size_t q = 0; q < QUANTILE_COUNT; q++) {
			p[i].first_token_s[q] = estimate_exact(0.1 + (double)q);
			p[i].token_quantile_s[q] = estimate_exact(0.2 + (double)q);
			p[i].between_tokens_s[q] = estimate_exact(9);
		}
		layouts[i] = (struct serve_layout){.gpus_count = 4,
						   .load = 8 + (double)i,
						   .load_per_gpu = 2,
						   .name = i ? "second" : "first",
						   .command = i ? NULL : "vllm serve",
						   .prediction = &p[i]};
	}
	layouts[2] = (struct serve_layout){
		.gpus_count = 4, .load = 5, .name = "third", .reason = "no room"};
	for (size_t i = 0; i < 3; i++)
		for (size_t key = 0; key < LAYOUT_KEYS; key++)
			layouts[i].sizes[key] = key == 3 ? NAN : (double)(10 * i + key);
}

/* The search shows the quantile of its objectives, here that of 95 %, and tokens/s of one of four
 * GPUs. */
static void layouts_have_the_quantile_of_the_objectives(void)
{
	struct prediction p[2];
	struct serve_layout layouts[3];
	lay_out(p, layouts);
	struct serve_search search = {.name = "case",
				      .gpus_count = 4,
				      .quantile_ratio = 0.95,
				      .layouts = layouts,
				      .layout_count = 3,
				      .best_count = 2,
				      .load = {8, 7, 9},
				      .simulation_count = 25};
	const struct result_table *table = serve_search_table(arena, &search);
	CHECK_TEXT(table->title,
		   "Best layouts of case on 4 GPUs: 2 carry a load, 1 do not, 25 simulations\n"
		   "load of the first: 8 (7 to 9) requests/s\nvllm serve");
	CHECK(!cell_at(table, 0, "expert") && cell_at(table, 1, "data")->number.value == 12);
	CHECK(cell_at(table, 0, "load_per_s")->number.low == 7);
	CHECK(cell_at(table, 1, "load_per_s")->number.value == 9);
	CHECK(isnan(cell_at(table, 2, "load_per_s")->number.value));
	CHECK(cell_at(table, 0, "requests_per_s_gpu")->number.value == 2);
	CHECK(cell_at(table, 1, "tokens_per_s_gpu")->number.value == 110);
	CHECK(cell_at(table, 1, "tokens_per_s_user")->number.value == 30);
	CHECK(cell_at(table, 0, "first_token_p95_s")->number.value == 2.1);
	CHECK(cell_at(table, 0, "token_p95_s")->number.value == 2.2);
	CHECK(cell_at(table, 0, "cost_per_million_tokens")->number.value == 2);
	CHECK_TEXT(cell_at(table, 2, "verdict")->text, "no room");
	CHECK_TEXT(cell_at(table, 0, "verdict")->text, "ok");
	search.closed = true;
	search.quantile_ratio = 0.91; /* the first that is not below it */
	p[0].cost_token = ESTIMATE_NONE;
	table = serve_search_table(arena, &search);
	CHECK_PART(table->title, "load of the first: 8 (7 to 9) clients");
	CHECK(cell_at(table, 0, "first_token_p95_s") &&
	      cell_at(table, 1, "clients")->number.value == 9);
	CHECK(!cell_at(table, 0, "cost_per_million_tokens"));
	search.quantile_ratio = 0.999;
	CHECK(cell_at(serve_search_table(arena, &search), 0, "token_p99_s")->number.value == 3.2);
	search.best_count = 0;
	CHECK_TEXT(serve_search_table(arena, &search)->title,
		   "Best layouts of case on 4 GPUs: 0 carry a load, 3 do not, 25 simulations\nno "
		   "layout "
		   "meets the objectives");
}

/* A load is in front unless another one has more tokens/s of both. Equal ones do not count. */
static void front_of_loads_has_no_load_with_more_of_both(void)
{
	static const struct serve_mark loads[] = {{10, 5, true, "a"},
						  {10, 7, true, "b"},
						  {8, 7, true, "c"},
						  {7, 6, true, "d"},
						  {3, 9, true, "e"}};
	static const bool best[] = {true, true, true, false, true};
	struct prediction p = {.user_token_throughput = estimate_exact(9)};
	struct serve_layout layout = {.prediction = &p};
	const struct serve_search search = {.layouts = &layout, .marks = loads, .mark_count = 5};
	struct plan_mark marks[5];
	for (size_t i = 0; i < 5; i++)
		marks[i] = (struct plan_mark){loads[i].user_tokens_per_s,
					      estimate_exact(loads[i].gpu_tokens_per_s), best[i],
					      loads[i].name};
	const struct plan_axes axes = {"tokens/s of a user",
				       "tokens/s of a GPU",
				       {"other simulated loads", "no other load has more of both"},
				       9,
				       "the first layout at its load"};
	const struct chart_text text = {"t", "c"};
	CHECK_TEXT(shapes_of(serve_search_chart(arena, text, &search)),
		   shapes_of(chart_plans(arena, text, &axes, marks, 5)));
}

static const struct test tests[] = {
	TEST(front_of_costs_has_no_row_that_is_cheaper_and_faster),
	TEST(layouts_have_the_quantile_of_the_objectives),
	TEST(front_of_loads_has_no_load_with_more_of_both),
	TEST(the_least_error_is_that_with_the_smallest_geometric_mean),
	TEST(rows_have_their_measure_and_the_errors_of_formulas),
	TEST(costs_are_divided_for_each_draw),
	TEST(rows_are_ranked_by_cost_under_a_limit_of_speed_and_the_other_way_round),
	TEST(costs_are_the_answers_from_an_hour_to_the_energy_of_a_run),
	TEST(failed_rows_are_the_last_ones),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
