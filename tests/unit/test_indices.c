/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sobol indices of functions with known indices, and grouping of parameters into knobs. */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/analysis/indices.h"
#include "sim/analysis/knobs.h"
#include "tests/test.h"

static const double PI = 3.14159265358979323846;

struct function {
	double (*f)(const double *u);
	size_t inputs, calls;
};

static bool evaluate(void *ctx, const double *points, size_t count, double *answers)
{
	struct function *function = ctx;
	for (size_t i = 0; i < count; i++)
		answers[i] = function->f(points + i * function->inputs);
	function->calls += count;
	return true;
}

static void indices_of(double (*f)(const double *), size_t inputs, size_t points,
		       struct index_estimate *indices, size_t *failed)
{
	struct arena *arena = arena_new();
	struct function function = {.f = f, .inputs = inputs};
	const struct indices_problem problem = {inputs, points, 1, evaluate, &function};
	num_init();
	CHECK(indices_estimate(arena, &problem, indices, failed));
	CHECK(function.calls == points * (inputs + 1));
	arena_free(arena);
}

/* Ishigami and Homma (1990), x in -pi..pi: sin x1 + 7 sin^2 x2 + 0.1 x3^4 sin x1.
 * D1 = (1 + 0.1 pi^4 / 5)^2 / 2, D2 = 49 / 8, D13 = 0.01 pi^8 (1/18 - 1/50). */
static double ishigami(const double *u)
{
	double x1 = PI * (2 * u[0] - 1), x2 = PI * (2 * u[1] - 1), x3 = PI * (2 * u[2] - 1);
	return sin(x1) + 7 * sin(x2) * sin(x2) + 0.1 * x3 * x3 * x3 * x3 * sin(x1);
}

static void indices_of_ishigami_match_theory(void)
{
	struct index_estimate indices[3];
	size_t failed;
	double d1 = pow(1 + 0.1 * pow(PI, 4) / 5, 2) / 2, d2 = 49.0 / 8;
	double d13 = 0.01 * pow(PI, 8) * (1.0 / 18 - 1.0 / 50), d = d1 + d2 + d13;
	indices_of(ishigami, 3, 4096, indices, &failed);
	const double first[] = {d1 / d, d2 / d, 0}, total[] = {(d1 + d13) / d, d2 / d, d13 / d};
	CHECK(failed == 0);
	for (size_t k = 0; k < 3; k++) {
		CHECK(fabs(indices[k].first.value - first[k]) < 0.01);
		CHECK(fabs(indices[k].total.value - total[k]) < 0.01);
		CHECK(indices[k].first.low < indices[k].first.value);
		CHECK(indices[k].first.value < indices[k].first.high);
	}
	/* fewer samples give a wider interval, which contains the true value */
	indices_of(ishigami, 3, 256, indices, &failed);
	CHECK(indices[1].first.high - indices[1].first.low > 0.05);
	CHECK(indices[1].first.low < first[1] && first[1] < indices[1].first.high);
}

static double sum(const double *u) /* variances 1 : 4 : 0 */
{
	return 1000 + u[0] + 2 * u[1] + 0 * u[2];
}
static double constant(const double *u)
{
	return 3 + 0 * u[0];
}
static double failing(const double *u)
{
	return u[0] > 0.5 ? NAN : u[0];
}

static void indices_of_sums_constants_and_failing_functions_are_known(void)
{
	struct index_estimate indices[3];
	size_t failed;
	indices_of(sum, 3, 512, indices, &failed);
	CHECK_NEAR(indices[0].first.value, 0.2, 0.05);
	CHECK_NEAR(indices[1].total.value, 0.8, 0.05);
	CHECK(fabs(indices[2].first.value) < 1e-9 && indices[2].total.value < 1e-9);
	indices_of(constant, 1, 64, indices, &failed);
	CHECK(isnan(indices[0].first.value) && isnan(indices[0].total.value));
	/* a pair needs two values of u0 below 0.5: AB has that of B, BA that of A */
	indices_of(failing, 1, 256, indices, &failed);
	CHECK(failed > 150 && failed < 220);
	CHECK_NEAR(indices[0].total.value, 1, 0.3);
}

/* For a sum, both indices are equal and add up to 1 even with few samples, although cross terms
 * cancel only on average. For any function, the first index is at most the total index. */
static double sum_of_four(const double *u)
{
	return 100 + 4 * u[0] + 4 * exp(u[1]) + 2 * u[2] + u[3];
}
static double product(const double *u)
{
	return u[0] * u[1] * (1 + u[2]);
}
static void few_samples_keep_indices_consistent(void)
{
	struct index_estimate indices[4];
	size_t failed;
	indices_of(sum_of_four, 4, 32, indices, &failed);
	for (size_t k = 0; k < 4; k++)
		CHECK_NEAR(indices[k].first.value, indices[k].total.value, 1e-9);
	indices_of(product, 3, 16, indices, &failed);
	for (size_t k = 0; k < 3; k++)
		CHECK(indices[k].first.value < indices[k].total.value);
}

static void knobs_scale_within_their_bounds(void)
{
	const struct param_row row = {.kind = PARAM_KIND_NUMBER, .min = 0, .max = 100};
	const struct param_row whole = {
		.kind = PARAM_KIND_NUMBER, .min = 1, .max = 100, .whole = true};
	struct cfg_param param = {.path = "a.b", .row = &row, .value = 10};
	CHECK_NEAR(knob_scaled(&param, 1.1), 11, 1e-12);
	CHECK(knob_scaled(&param, 11) == 100); /* clamped to the row's bound */
	param = (struct cfg_param){.path = "a.b", .row = &whole, .value = 5};
	CHECK(knob_scaled(&param, 1.01) == 6 && knob_scaled(&param, 0.99) == 4);
	param.value = 1;
	CHECK(knob_scaled(&param, 0.9) == 1);
	CHECK(paths_match("guest.*.a", "guest.b.a") && !paths_match("guest.*", "guest.b.a"));
	CHECK(!paths_match("guest.*.a", "host.b.a") && paths_match("guest.b.a", "guest.*.a"));
	/* names with dots: files, versions and copies */
	CHECK(paths_match("gpu.*.memory", "gpu.my.gpu.cfg.memory"));
	CHECK(paths_match("gpu.../v1.2/my.cfg.memory", "gpu.*.memory"));
	CHECK(paths_match("efficiency.*.*.*.peak", "efficiency.a.b.tf-1.14-xla.peak"));
	CHECK(!paths_match("efficiency.*.*.peak", "efficiency.a.b.tf-1.14-xla.peak"));
	CHECK(paths_match("efficiency.*.*.peak", "efficiency.a.net.cfg.peak"));
	CHECK(paths_match("client.*.batch", "client.a.0.batch"));
	CHECK(!paths_match("gpu.*.memory", "gpu.a.b.memory") && !paths_match("*.a", "a"));
}

struct packet_params {
	double cost_s, other_s, count_count;
};
static const struct param_row packet_rows[] = {
	COST_ASSUMED(struct packet_params, cost_s, QUANTITY_TIME, 0, 1, "1 us", ""),
	PARAM_NUMBER(struct packet_params, other_s, QUANTITY_TIME, 0, 1, "1 us", ""),
	PARAM_WHOLE(struct packet_params, count_count, 0, 100, "4", ""), /* too few */
};
static const struct param_table packet_table =
	PARAM_TABLE("packet", struct packet_params, packet_rows);

/* Defaults of one row form one knob; a separate value forms another. */
static void equal_defaults_of_a_row_form_one_knob(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct cfg_resolution *resolution = cfg_resolution_new(arena);
	const struct cfg_node *tree =
		cfg_read_text(arena, diag, "test", "own = { cost = \"2 us\"; };\n");
	struct packet_params params;
	cfg_params(resolution, arena, diag, NULL, "guest.a", "guest 'a'", &packet_table, NULL, 0,
		   &params);
	cfg_params(resolution, arena, diag, NULL, "guest.b", "guest 'b'", &packet_table, NULL, 0,
		   &params);
	cfg_params(resolution, arena, diag, cfg_child(tree, "own"), "guest.c", "guest 'c'",
		   &packet_table, NULL, 0, &params);
	const struct scenario scenario = {.resolution = resolution};
	const struct knobs knobs = knobs_scalable(arena, &scenario);
	CHECK(diag_count(diag) == 0 && knobs.count == 3 && knobs.member_count == 6);
	CHECK_TEXT(knobs.items[0].name, "guest.{a,b}.cost"); /* guest.c.cost is another one */
	CHECK(knobs.items[0].count == 2);
	CHECK_TEXT(knobs.items[1].name, "guest.*.other");
	CHECK(knobs.items[1].count == 3);
	CHECK_TEXT(knobs.items[2].name, "guest.c.cost");
	/* The uncertain parameters are those that draws vary: costs of one row, value and file. */
	const struct knobs uncertain = knobs_uncertain(arena, &scenario);
	CHECK(uncertain.count == 2 && uncertain.member_count == 3);
	CHECK_TEXT(uncertain.items[0].name, "guest.{a,b}.cost");
	struct draw_value values[3];
	unknowns_draw(arena, uncertain.unknowns, (const double[]){0.95, 0.5}, values);
	CHECK_NEAR(values[0].value, 1e-6 * prior_factor(PRIOR_ASSUMED), 1e-9);
	CHECK(values[1].value == values[0].value);
	CHECK_NEAR(values[2].value, 2e-6, 1e-12);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(indices_of_ishigami_match_theory),
	TEST(indices_of_sums_constants_and_failing_functions_are_known),
	TEST(few_samples_keep_indices_consistent),
	TEST(knobs_scale_within_their_bounds),
	TEST(equal_defaults_of_a_row_form_one_knob),
};

int main(void)
{
	return TEST_MAIN(tests);
}
