/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws of uncertain parameters from a planted set. */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/predict/unknowns.h"
#include "tests/test.h"

enum { DRAWS = 4096 };

struct thing {
	double latency_s, floor_s, share_ratio, clusters_count, peak_ratio, batch_count;
};
static const struct param_row rows[] = {
	COST_ASSUMED(struct thing, latency_s, QUANTITY_TIME, 0, 10, "4 us", "", "assumption: x"),
	COST_SOURCED(struct thing, floor_s, QUANTITY_TIME, 0, 10, "0 s", "", "somebody"),
	COST_SOURCED(struct thing, share_ratio, QUANTITY_RATIO, 0, 1, "80 %", "", "somebody"),
	PARAM_WHOLE(struct thing, clusters_count, 0, 1000, "1", "", "a choice"),
	COST_ASSUMED(struct thing, peak_ratio, QUANTITY_RATIO, 0, 10, "0.6", "", "assumption: y"),
	PARAM_NUMBER(struct thing, batch_count, QUANTITY_COUNT, 1, 1e6, "32", "", "a choice"),
};
static const struct param_table table = PARAM_TABLE("thing", struct thing, rows);

struct fixture {
	struct arena *arena;
	struct diag *diag;
	struct cfg_resolution *resolution;
	struct scenario scenario;
	struct unknowns unknowns;
	struct draw_value *values; /* DRAWS times unknowns.param_count values */
};

static struct fixture begin(void)
{
	struct fixture f = {.arena = arena_new()};
	num_init();
	f.diag = diag_new(f.arena);
	f.resolution = cfg_resolution_new(f.arena);
	f.scenario.resolution = f.resolution;
	return f;
}

static void add_from(struct fixture *f, const char *prefix, const char *file, const char *text)
{
	struct thing thing;
	const struct cfg_node *node = text ? cfg_read_text(f->arena, f->diag, file, text) : NULL;
	CHECK(cfg_params(f->resolution, f->arena, f->diag, node, prefix, prefix, &table, NULL, 0,
			 &thing));
	diag_print(f->diag, stdout);
}

static void add(struct fixture *f, const char *prefix, const char *text)
{
	add_from(f, prefix, prefix, text);
}

static void draw(struct fixture *f)
{
	f->unknowns = unknowns_of(f->arena, &f->scenario);
	size_t all = f->unknowns.count;
	const double *points = unknowns_points(f->arena, &f->unknowns, DRAWS, 7);
	f->values = ARENA_ARRAY(f->arena, DRAWS * f->unknowns.param_count, struct draw_value);
	for (size_t i = 0; i < DRAWS; i++)
		unknowns_draw(f->arena, &f->unknowns, &points[i * all],
			      &f->values[i * f->unknowns.param_count]);
}

/* Returns the drawn values of a path; NULL if it is not drawn. */
static double *drawn(const struct fixture *f, const char *path)
{
	size_t n = f->unknowns.param_count, k = 0;
	while (k < n && strcmp(f->values[k].path, path) != 0)
		k++;
	double *values = k < n ? ARENA_ARRAY(f->arena, DRAWS, double) : NULL;
	for (size_t i = 0; values && i < DRAWS; i++)
		values[i] = f->values[i * n + k].value;
	return values;
}

static void check_points(const struct fixture *f, const char *path, double low, double middle,
			 double high)
{
	double *values = drawn(f, path);
	if (!CHECK(values != NULL))
		return;
	CHECK_NEAR(num_quantile(values, DRAWS, 0.05), low, 0.01);
	CHECK_NEAR(num_quantile(values, DRAWS, 0.5), middle, 0.01);
	CHECK_NEAR(num_quantile(values, DRAWS, 0.95), high, 0.01);
}

/* The prior of 4 us has the factor 1.7. A ratio of 80 % has odds of 4, and with the factor 1.25
 * odds of 3.2 and 5. */
static void prior_interval_has_the_factor_of_its_class(void)
{
	struct fixture f = begin();
	add(&f, "a", NULL);
	draw(&f);
	CHECK(f.unknowns.count == 3 && f.unknowns.own_count == 0);
	check_points(&f, "a.latency", 4e-6 / 1.7, 4e-6, 4e-6 * 1.7);
	check_points(&f, "a.share", 3.2 / 4.2, 0.8, 5.0 / 6);
	CHECK(drawn(&f, "a.floor") == NULL); /* zero stays zero */
	CHECK(drawn(&f, "a.batch") == NULL); /* a setting */
	arena_free(f.arena);
}

static double unseen_value(struct fixture *f, const char *prefix, const char *text)
{
	static const struct param_row unseen_rows[] = {
		COST_UNSEEN(2e-6, struct thing, floor_s, QUANTITY_TIME, 0, 10, "0 s", "",
			    "assumption: z"),
	};
	static const struct param_table unseen = PARAM_TABLE("unseen", struct thing, unseen_rows);
	struct thing thing = {.floor_s = -1};
	const struct cfg_node *node = text ? cfg_read_text(f->arena, f->diag, "file", text) : NULL;
	CHECK(cfg_params(f->resolution, f->arena, f->diag, node, prefix, prefix, &unseen, NULL, 0,
			 &thing));
	return thing.floor_s;
}

/* With the scale 2 us, the quantiles of |N(0, 2 us)| are 0.0627, 0.6745 and 1.960 times 2 us. The
 * prediction without draws has 0. A 0 in a file or of --set is a statement, so it stays. */
static void unseen_cost_is_half_normal_unless_somebody_writes_it(void)
{
	struct fixture f = begin();
	cfg_override(f.resolution, f.diag, (struct origin){"--set", 0}, "set.floor=0 s");
	CHECK(unseen_value(&f, "default", NULL) == 0);
	CHECK(unseen_value(&f, "file", "floor = \"0 s\";") == 0);
	CHECK(unseen_value(&f, "set", NULL) == 0);
	draw(&f);
	CHECK(f.unknowns.count == 1);
	CHECK(!drawn(&f, "file.floor") && !drawn(&f, "set.floor"));
	check_points(&f, "default.floor", 0.1254e-6, 1.349e-6, 3.920e-6);
	CHECK_NEAR(cfg_param_find(f.resolution, "default.floor")->high, 3.920e-6, 1e-3);
	arena_free(f.arena);
}

static void interval_in_a_file_overrides_the_prior(void)
{
	struct fixture f = begin();
	add(&f, "a",
	    "latency = { value = \"1 us\"; interval = 0.0; };\n"
	    "share = { value = 0.5; origin = \"assumption\"; };\n"
	    "clusters = { value = 1; low = 1; high = 3; };\n"
	    "peak = { value = 1.0; low = 0.5; high = 3.0; };");
	draw(&f);
	CHECK(drawn(&f, "a.latency") == NULL);
	check_points(&f, "a.share", 1 / 2.7, 0.5, 1.7 / 2.7);
	/* each side has its own width */
	check_points(&f, "a.peak", 0.5, 1, 3);
	double *clusters = drawn(&f, "a.clusters");
	for (size_t i = 0; clusters && i < DRAWS; i++)
		CHECK(clusters[i] == floor(clusters[i]) && clusters[i] >= 1);
	CHECK(clusters && num_quantile(clusters, DRAWS, 0.95) == 3);
	/* the scale of a factor has no place for 0 */
	add(&f, "b", "clusters = { value = 2; low = 0; high = 5; };");
	draw(&f);
	clusters = drawn(&f, "b.clusters");
	for (size_t i = 0; clusters && i < DRAWS; i++)
		CHECK(clusters[i] == floor(clusters[i]) && clusters[i] >= 0);
	CHECK(clusters && num_quantile(clusters, DRAWS, 0.05) == 0);
	arena_free(f.arena);
}

static void values_of_set_are_exact(void)
{
	struct fixture f = begin();
	cfg_override(f.resolution, f.diag, (struct origin){"--set", 0}, "a.latency=4 us");
	cfg_override(f.resolution, f.diag, (struct origin){"--set", 0}, "*.peak=0.6");
	add(&f, "a", "peak = { value = 1.0; low = 0.5; high = 3.0; };");
	draw(&f);
	CHECK(drawn(&f, "a.latency") == NULL && drawn(&f, "a.peak") == NULL);
	CHECK(drawn(&f, "a.share") != NULL);
	/* neither the class of the default nor the interval of the file is left */
	for (size_t i = 0; i < cfg_param_count(f.resolution); i++) {
		const struct cfg_param *param = cfg_param_at(f.resolution, i);
		bool set =
			strcmp(param->path, "a.latency") == 0 || strcmp(param->path, "a.peak") == 0;
		CHECK((param->prior == PRIOR_NONE && param->low == param->high) ||
		      (!set && param->row->prior != PRIOR_NONE));
		CHECK(!set || (strcmp(param->status, "given") == 0 && !param->note[0]));
	}
	arena_free(f.arena);
}

static void values_from_one_place_are_drawn_once(void)
{
	struct fixture f = begin();
	add(&f, "a", NULL);
	add(&f, "b", NULL);
	add(&f, "c", "latency = \"4 us\";"); /* set in another place: another uncertain parameter */
	draw(&f);
	CHECK(f.unknowns.param_count == 9 && f.unknowns.count == 4);
	double *a = drawn(&f, "a.latency"), *b = drawn(&f, "b.latency"),
	       *c = drawn(&f, "c.latency");
	size_t same = 0;
	for (size_t i = 0; a && b && c && i < DRAWS; i++) {
		CHECK(a[i] == b[i]);
		same += a[i] == c[i];
	}
	CHECK(same == 0);
	/* values on two lines of one file are equal, unless the value differs */
	add_from(&f, "d", "machine.cfg", "latency = \"3 us\";");
	add_from(&f, "e", "machine.cfg", "\n\nlatency = \"3 us\";");
	add_from(&f, "g", "machine.cfg", "latency = \"2 us\";");
	f.unknowns = unknowns_of(f.arena, &f.scenario);
	CHECK(f.unknowns.param_count == 18 && f.unknowns.count == 6);
	/* and unless an end of the interval differs */
	add_from(&f, "h", "machine.cfg", "peak = { value = 1.0; low = 0.5; high = 3.0; };");
	add_from(&f, "i", "machine.cfg", "peak = { value = 1.0; low = 0.5; high = 4.0; };");
	add_from(&f, "j", "machine.cfg", "peak = { value = 1.0; low = 0.4; high = 3.0; };");
	f.unknowns = unknowns_of(f.arena, &f.scenario);
	CHECK(f.unknowns.param_count == 27 && f.unknowns.count == 9);
	arena_free(f.arena);
}

static double correlation(const double *a, const double *b)
{
	double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
	for (size_t i = 0; i < DRAWS; i++) {
		sum_a += log(a[i]) / DRAWS;
		sum_b += log(b[i]) / DRAWS;
	}
	for (size_t i = 0; i < DRAWS; i++) {
		double x = log(a[i]) - sum_a, y = log(b[i]) - sum_b;
		aa += x * x;
		bb += y * y;
		ab += x * y;
	}
	return ab / sqrt(aa * bb);
}

static void fitted_parameters_are_drawn_with_their_correlation(void)
{
	struct fixture f = begin();
	add(&f, "a",
	    "latency = { value = \"1 us\"; low = \"0.5 us\"; high = \"2 us\"; };\n"
	    "peak = { value = 1.0; low = 0.8; high = 1.25;\n"
	    "  correlated = ( { path = \"a.latency\"; by = -0.8; }, { path = \"a.none\"; by = 0.5; "
	    "} ); };");
	draw(&f);
	check_points(&f, "a.latency", 5e-7, 1e-6, 2e-6);
	check_points(&f, "a.peak", 0.8, 1, 1.25);
	CHECK_NEAR(correlation(drawn(&f, "a.latency"), drawn(&f, "a.peak")), -0.8, 0.02);
	/* the first one of a pair may name the other one, too */
	add(&f, "b",
	    "latency = { value = \"1 us\"; low = \"0.5 us\"; high = \"2 us\";\n"
	    "  correlated = ( { path = \"b.peak\"; by = -0.8; } ); };\n"
	    "peak = { value = 1.0; low = 0.8; high = 1.25; };");
	draw(&f);
	CHECK_NEAR(correlation(drawn(&f, "b.latency"), drawn(&f, "b.peak")), -0.8, 0.02);
	arena_free(f.arena);
}

/* Student's t with 2 degrees of freedom: its 95 % point is 2.920, its 99 % point 6.965. */
static void few_degrees_of_freedom_give_long_tails(void)
{
	struct fixture f = begin();
	add(&f, "a", "peak = { value = 1.0; low = 0.8; high = 1.25; freedom = 2; };");
	draw(&f);
	check_points(&f, "a.peak", 0.8, 1, 1.25);
	double *peak = drawn(&f, "a.peak");
	CHECK_NEAR(log(num_quantile(peak, DRAWS, 0.99)) / log(1.25), 6.965 / 2.920, 0.05);
	arena_free(f.arena);
}

/* peak changes by -0.5 for each change of latency, so the ends of its logarithm are hypot(ln 1.25,
 * 0.5 ln 1.7). */
static void fitted_parameter_follows_given_costs(void)
{
	struct fixture f = begin();
	add(&f, "a",
	    "peak = { value = 1.0; low = 0.8; high = 1.25;\n"
	    "  follows = ( { path = \"a.latency\"; by = -0.5; } ); };");
	draw(&f);
	double own = log(1.25), given = 0.5 * log(1.7), ends = hypot(own, given);
	check_points(&f, "a.peak", exp(-ends), 1, exp(ends));
	CHECK_NEAR(correlation(drawn(&f, "a.latency"), drawn(&f, "a.peak")), -given / ends, 0.03);
	arena_free(f.arena);
}

/* The interval's end at ln 1.25 is the 95 % point of Student's t with 2 degrees of freedom, 2.920.
 */
static void deviation_of_a_fit_follows_from_its_degrees_of_freedom(void)
{
	struct fixture f = begin();
	add(&f, "a", "peak = { value = 1.0; low = 0.8; high = 1.25; freedom = 2; };");
	f.unknowns = unknowns_of(f.arena, &f.scenario);
	CHECK_NEAR(unknown_deviation(&f.unknowns.items[0]), log(1.25) / 2.920, 1e-3);
	arena_free(f.arena);
}

/* Latency and peak follow each other by half. The circle is cut behind the first one: its ends are
 * hypot(ln 2, 0.5 ln 1.25), and peak keeps its own. */
static void a_circle_of_costs_is_cut_behind_the_first(void)
{
	struct fixture f = begin();
	add(&f, "a",
	    "latency = { value = \"1 us\"; low = \"0.5 us\"; high = \"2 us\";\n"
	    "  follows = ( { path = \"a.peak\"; by = 0.5; } ); };\n"
	    "peak = { value = 1.0; low = 0.8; high = 1.25;\n"
	    "  follows = ( { path = \"a.latency\"; by = 0.5; } ); };");
	draw(&f);
	double *latency = drawn(&f, "a.latency");
	double high = exp(hypot(log(2), 0.5 * log(1.25)));
	CHECK_NEAR(num_quantile(latency, DRAWS, 0.95), 1e-6 * high, 0.02);
	check_points(&f, "a.peak", 0.8, 1, 1.25);
	arena_free(f.arena);
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* Each interval of 1/24 contains one draw. */
static void draws_are_stratified_in_every_dimension(void)
{
	enum { THINGS = 16, FEW = 24 };
	struct fixture f = begin();
	for (int i = 0; i < THINGS; i++)
		add(&f, arena_printf(f.arena, "thing%d", i),
		    arena_printf(f.arena, "%*slatency = \"4 us\"; share = 0.5; peak = 0.5;", i,
				 ""));
	f.unknowns = unknowns_of(f.arena, &f.scenario);
	size_t all = f.unknowns.count;
	CHECK(all == 3 * THINGS);
	const double *points = unknowns_points(f.arena, &f.unknowns, FEW, 7);
	for (size_t d = 0; d < all; d++) {
		double column[FEW];
		for (size_t i = 0; i < FEW; i++)
			column[i] = points[i * all + d];
		qsort(column, FEW, sizeof column[0], ascending);
		for (size_t i = 0; i < FEW; i++)
			CHECK(column[i] > (double)i / FEW && column[i] < (double)(i + 1) / FEW);
	}
	CHECK(points[0] != points[1]);
	arena_free(f.arena);
}

/* The draws do not depend on other parameters of the case or on its folder. */
static void cases_share_draws_of_common_parameters(void)
{
	struct fixture f = begin(), g = begin();
	add_from(&f, "a", "/here/machine.cfg", "latency = \"3 us\"; share = 0.5; peak = 0.3;");
	add_from(&g, "x", "other.cfg", "latency = \"3 us\"; share = 0.5;");
	add_from(&g, "a", "/there/machine.cfg", "latency = \"3 us\"; share = 0.6;");
	draw(&f);
	draw(&g);
	double *latency = drawn(&f, "a.latency"), *same_latency = drawn(&g, "a.latency"),
	       *other_latency = drawn(&g, "x.latency"), *share = drawn(&f, "a.share"),
	       *other_share = drawn(&g, "a.share");
	size_t same = 0;
	for (size_t i = 0; i < DRAWS; i++) {
		CHECK(latency[i] == same_latency[i]);
		same += latency[i] == other_latency[i];         /* of another file */
		same += share[i] / 0.5 == other_share[i] / 0.6; /* another value */
	}
	CHECK(same == 0);
	CHECK_NEAR(correlation(latency, other_latency), 0, 0.06);
	arena_free(f.arena);
	arena_free(g.arena);
}

/* If a case uses files of the same name from two folders, it draws two numbers. */
static void equal_file_names_in_two_folders_are_drawn_separately(void)
{
	struct fixture f = begin();
	add_from(&f, "link.a", "/here/machine.cfg", "latency = \"3 us\";");
	add_from(&f, "link.b", "/there/machine.cfg", "latency = \"3 us\";");
	draw(&f);
	CHECK_NEAR(correlation(drawn(&f, "link.a.latency"), drawn(&f, "link.b.latency")), 0, 0.06);
	arena_free(f.arena);
}

static void full_correlation_is_accepted(void)
{
	struct fixture f = begin();
	add(&f, "a",
	    "latency = { value = \"1 us\"; low = \"0.5 us\"; high = \"2 us\"; };\n"
	    "peak = { value = 1.0; low = 0.8; high = 1.25;\n"
	    "  correlated = ( { path = \"a.latency\"; by = 1.0; } ); };");
	draw(&f);
	CHECK_NEAR(correlation(drawn(&f, "a.latency"), drawn(&f, "a.peak")), 1, 1e-5);
	arena_free(f.arena);
}

static void malformed_intervals_are_refused(void)
{
	static const char *const texts[] = {
		"peak = { value = 1.0; freedom = 0; };",
		"peak = { value = 1.0; correlated = ( { path = \"a.b\"; by = 1.5; } ); };",
		"peak = { value = 1.0; follows = ( { by = 1.5; } ); };",
	};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct fixture f = begin();
		struct thing thing;
		const struct cfg_node *node = cfg_read_text(f.arena, f.diag, "t.cfg", texts[i]);
		CHECK(!cfg_params(f.resolution, f.arena, f.diag, node, "a", "a", &table, NULL, 0,
				  &thing));
		CHECK(diag_count(f.diag) == 1);
		arena_free(f.arena);
	}
}

static const struct test tests[] = {
	TEST(prior_interval_has_the_factor_of_its_class),
	TEST(unseen_cost_is_half_normal_unless_somebody_writes_it),
	TEST(interval_in_a_file_overrides_the_prior),
	TEST(values_of_set_are_exact),
	TEST(values_from_one_place_are_drawn_once),
	TEST(fitted_parameters_are_drawn_with_their_correlation),
	TEST(few_degrees_of_freedom_give_long_tails),
	TEST(full_correlation_is_accepted),
	TEST(fitted_parameter_follows_given_costs),
	TEST(deviation_of_a_fit_follows_from_its_degrees_of_freedom),
	TEST(a_circle_of_costs_is_cut_behind_the_first),
	TEST(draws_are_stratified_in_every_dimension),
	TEST(cases_share_draws_of_common_parameters),
	TEST(equal_file_names_in_two_folders_are_drawn_separately),
	TEST(malformed_intervals_are_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
