/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grouping of parameters into knobs. */
#include "sim/base/arena.h"
#include "sim/analysis/knobs.h"
#include "tests/test.h"

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
	CHECK(!paths_match("client.a.*", "client.a") && !paths_match("client.a", "client.a.*"));
	CHECK(paths_match("client.a", "client.a") && paths_match("client.*", "client.a"));
	CHECK(!paths_match("gpu.*.memory", "gpu.a.b.memory") && !paths_match("*.a", "a"));
}

struct packet_params {
	double cost_s, other_s, count_count, more_count;
};
static const struct param_row packet_rows[] = {
	COST_ASSUMED(struct packet_params, cost_s, QUANTITY_TIME, 0, 1, "1 us", ""),
	PARAM_NUMBER(struct packet_params, other_s, QUANTITY_TIME, 0, 1, "1 us", ""),
	PARAM_WHOLE(struct packet_params, count_count, 0, 100, "4", ""), /* too few */
	PARAM_WHOLE(struct packet_params, more_count, 0, 100, "5", ""),
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
	CHECK(diag_count(diag) == 0 && knobs.count == 4 && knobs.member_count == 9);
	CHECK_TEXT(knobs.items[0].name, "guest.{a,b}.cost"); /* guest.c.cost is another one */
	CHECK(knobs.items[0].count == 2);
	CHECK_TEXT(knobs.items[1].name, "guest.*.other");
	CHECK(knobs.items[1].count == 3);
	CHECK_TEXT(knobs.items[2].name, "guest.*.more"); /* 5 is enough, and 4 is not */
	CHECK_TEXT(knobs.items[3].name, "guest.c.cost");
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
	TEST(knobs_scale_within_their_bounds),
	TEST(equal_defaults_of_a_row_form_one_knob),
};

int main(void)
{
	return TEST_MAIN(tests);
}
