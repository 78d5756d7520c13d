/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/arena.h"
#include "tests/test.h"
#include "tests/wire_params.h"

struct fixture {
	struct arena *arena;
	struct diag *diag;
	struct cfg_resolution *resolution;
	struct wire wire;
};

static struct fixture begin(void)
{
	struct fixture f = {.arena = arena_new()};
	f.diag = diag_new(f.arena);
	f.resolution = cfg_resolution_new(f.arena);
	return f;
}

static bool read_wire(struct fixture *f, const char *text)
{
	const struct cfg_node *root = cfg_read_text(f->arena, f->diag, "t.cfg", text);
	bool ok = cfg_params(f->resolution, f->arena, f->diag, root, "link.a", "link 'a'", &table,
			     NULL, 0, &f->wire);
	cfg_resolution_finish(f->resolution, f->diag);
	CHECK(ok == (diag_count(f->diag) == 0));
	return ok;
}

static const struct cfg_param *found(const struct fixture *f, const char *path)
{
	const struct cfg_param *param = cfg_param_find(f->resolution, path);
	CHECK(param != NULL);
	return param;
}

static void values_of_the_file_replace_defaults(void)
{
	struct fixture f = begin();
	CHECK(read_wire(&f, "bandwidth = \"25 Gbit/s\";\nstreams = 8;\nname = \"x\";\n"
			    "kind = \"copper\";\nfull_duplex = false;\nloss = \"3 %\";"));
	CHECK(f.wire.bandwidth_Bps == 3.125e9);
	CHECK(f.wire.latency_s == 5e-6);
	CHECK(f.wire.streams_count == 8);
	CHECK(f.wire.loss_ratio == 0.03);
	CHECK(!f.wire.full_duplex);
	CHECK_TEXT(f.wire.name, "x");
	CHECK(f.wire.kind == 0);
	CHECK(cfg_param_count(f.resolution) == 7);
	const struct cfg_param *latency = found(&f, "link.a.latency");
	CHECK(latency->source == CFG_SOURCE_DEFAULT && latency->origin.file == NULL);
	CHECK_TEXT(latency->status, "default");
	CHECK_TEXT(latency->note, "assumption: x");
	CHECK(latency->low == 5e-6 && latency->high == 5e-6);
	const struct cfg_param *kind = found(&f, "link.a.kind");
	CHECK(kind->source == CFG_SOURCE_FILE && kind->origin.line == 4 && kind->value == 0);
	CHECK_TEXT(kind->status, "given");
	CHECK_TEXT(kind->text, "copper");
	CHECK(cfg_param_find(f.resolution, "link.b.kind") == NULL);
	arena_free(f.arena);
}

static void value_groups_give_interval_and_origin(void)
{
	struct fixture f = begin();
	CHECK(read_wire(&f, "bandwidth = { value = \"10 Gbit/s\"; interval = \"10 %\"; };\n"
			    "latency = { value = \"71 us\"; low = \"66 us\"; high = \"77 us\";\n"
			    "  origin = \"fitted\"; note = \"same_esxi rows\"; };\n"
			    "loss = { value = 0.98; interval = 0.1; origin = \"assumption\"; };\n"
			    "streams = { value = 4; high = 6; };\n"
			    "kind = { value = \"copper\"; origin = \"published\"; };"));
	const struct cfg_param *latency = found(&f, "link.a.latency");
	CHECK(f.wire.latency_s == 71e-6 && latency->value == 71e-6);
	CHECK(latency->low == 66e-6 && latency->high == 77e-6);
	CHECK_TEXT(latency->status, "fitted");
	CHECK_TEXT(latency->note, "same_esxi rows");
	const struct cfg_param *bandwidth = found(&f, "link.a.bandwidth");
	CHECK_NEAR(bandwidth->low, 1.125e9, 1e-12);
	CHECK_NEAR(bandwidth->high, 1.375e9, 1e-12);
	CHECK_TEXT(bandwidth->status, "given");
	CHECK_TEXT(bandwidth->note, ""); /* the source in the row describes only the default */
	/* clamped to the row's maximum, 1 */
	const struct cfg_param *loss = found(&f, "link.a.loss");
	CHECK_NEAR(loss->low, 0.882, 1e-12);
	CHECK(loss->high == 1);
	const struct cfg_param *streams = found(&f, "link.a.streams");
	CHECK(streams->low == 4 && streams->high == 6);
	CHECK(f.wire.kind == 0);
	CHECK_TEXT(found(&f, "link.a.kind")->status, "published");
	arena_free(f.arena);
}

/* A fit adds degrees of freedom, correlations (-1 to 1) and dependences (-1000 to 1000). --set
 * makes the value exact. */
static void set_removes_what_a_fit_adds_to_an_interval(void)
{
	for (int set = 0; set < 2; set++) {
		struct fixture f = begin();
		if (set)
			cfg_override(f.resolution, f.diag, (struct origin){"--set", 0},
				     "link.a.latency=71 us");
		CHECK(read_wire(&f, "bandwidth = \"1 GB/s\"; latency = { value = \"71 us\"; "
				    "low = \"66 us\"; freedom = 3; "
				    "correlated = ( { path = \"a.b\"; by = -1; } );"
				    "follows = ( { path = \"a.c\"; by = 1000; }, "
				    "{ path = \"a.d\"; by = 0.5; } ); };"));
		const struct cfg_param *latency = found(&f, "link.a.latency");
		CHECK(latency->freedom_count == (set ? 0 : 3));
		CHECK(latency->correlation_count == (set ? 0 : 1));
		CHECK(latency->follow_count == (set ? 0 : 2));
		CHECK(cfg_param_varies(latency) == !set);
		if (!set) {
			CHECK(latency->correlations[0].ratio == -1 &&
			      latency->follows[0].ratio == 1000);
			CHECK_TEXT(latency->correlations[0].path, "a.b");
			CHECK_TEXT(latency->follows[1].path, "a.d");
			struct arena *own = arena_new(); /* a copy has all of it */
			const struct cfg_resolution *copied =
				cfg_resolution_copy(own, f.resolution);
			arena_free(f.arena);
			latency = cfg_param_find(copied, "link.a.latency");
			CHECK(latency->correlations[0].ratio == -1 &&
			      latency->follows[0].ratio == 1000 &&
			      latency->follows[1].ratio == 0.5);
			CHECK_TEXT(latency->correlations[0].path, "a.b");
			CHECK_TEXT(latency->follows[1].path, "a.d");
			arena_free(own);
			continue;
		}
		arena_free(f.arena);
	}
}

static void set_overrides_the_file(void)
{
	struct fixture f = begin();
	static const char *const settings[] = {
		"link.a.latency=1 ms",      "link.a.latency = \"2 ms\"", "link.a.streams=2",
		"link.a.full_duplex=false", "link.a.name=a=b",           "link.a.kind=copper",
		"link.a.bandwidth=1 GB/s",
	};
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		cfg_override(f.resolution, f.diag, (struct origin){"--set", 0}, settings[i]);
	CHECK(read_wire(&f,
			"latency = { value = \"71 us\"; low = \"66 us\"; high = \"77 us\"; };"));
	CHECK(f.wire.latency_s == 2e-3); /* the later of the two */
	CHECK(f.wire.streams_count == 2);
	CHECK(!f.wire.full_duplex);
	CHECK_TEXT(f.wire.name, "a=b");
	CHECK(f.wire.kind == 0);
	CHECK(f.wire.bandwidth_Bps == 1e9);
	const struct cfg_param *latency = found(&f, "link.a.latency");
	CHECK(latency->source == CFG_SOURCE_SET);
	CHECK_TEXT(latency->origin.file, "--set");
	CHECK_TEXT(latency->status, "given");
	CHECK(latency->low == 2e-3 && latency->high == 2e-3);
	arena_free(f.arena);
}

static void draw_replaces_the_value_and_keeps_interval_and_status(void)
{
	struct fixture f = begin();
	cfg_override_draw(f.resolution, "link.a.latency", 70e-6);
	CHECK(read_wire(&f, "bandwidth = \"1 GB/s\"; latency = { value = \"71 us\"; "
			    "low = \"66 us\"; high = \"77 us\"; origin = \"fitted\"; };"));
	const struct cfg_param *latency = found(&f, "link.a.latency");
	CHECK(f.wire.latency_s == 70e-6 && latency->value == 70e-6);
	CHECK(latency->source == CFG_SOURCE_DRAW);
	CHECK(latency->low == 66e-6 && latency->high == 77e-6);
	CHECK_TEXT(latency->status, "fitted");
	arena_free(f.arena);
}

/* A profile's value replaces the file's value; --set replaces both. */
static void profile_overrides_the_file_and_set_overrides_both(void)
{
	struct fixture f = begin();
	const struct cfg_node *profile = cfg_read_text(
		f.arena, f.diag, "p.cfg",
		"latency = { value = \"7 us\"; high = \"9 us\"; origin = \"fitted\"; };\n"
		"streams = 9;");
	cfg_override_node(f.resolution, "link.a.latency", cfg_child(profile, "latency"));
	cfg_override_node(f.resolution, "link.a.streams", cfg_child(profile, "streams"));
	cfg_override_node(f.resolution, "link.none.streams", cfg_child(profile, "streams"));
	cfg_override(f.resolution, f.diag, (struct origin){"--set", 0}, "link.a.streams=2");
	CHECK(read_wire(&f, "bandwidth = \"1 GB/s\"; latency = \"1 s\"; streams = 4;"));
	const struct cfg_param *latency = found(&f, "link.a.latency");
	CHECK(f.wire.latency_s == 7e-6 && latency->high == 9e-6);
	CHECK_TEXT(latency->origin.file, "p.cfg");
	CHECK_TEXT(latency->status, "fitted");
	CHECK(f.wire.streams_count == 2);
	arena_free(f.arena);
}

static void star_matches_any_single_part_of_a_path(void)
{
	struct fixture f = begin();
	struct origin set = {"--set", 0};
	cfg_override(f.resolution, f.diag, set, "link.*.latency=1 ms");
	cfg_override(f.resolution, f.diag, set, "link.*.streams=2");
	cfg_override(f.resolution, f.diag, set, "link.a.streams=3");
	CHECK(read_wire(&f, "bandwidth = \"1 GB/s\";"));
	CHECK(f.wire.latency_s == 1e-3 && f.wire.streams_count == 3);
	cfg_override(f.resolution, f.diag, set, "*.streams=2"); /* a part is missing */
	/* a star must be a whole part */
	cfg_override(f.resolution, f.diag, set, "link.a*.streams=2");
	cfg_override(f.resolution, f.diag, set, "link.*a.streams=2");
	CHECK(!cfg_override_text(f.resolution, "link.a.x"));
	struct wire again;
	const struct cfg_node *root =
		cfg_read_text(f.arena, f.diag, "t.cfg", "bandwidth = \"1 GB/s\";");
	CHECK(cfg_params(f.resolution, f.arena, f.diag, root, "link.a", "link 'a'", &table, NULL, 0,
			 &again));
	CHECK(again.streams_count == 3);
	cfg_resolution_finish(f.resolution, f.diag);
	CHECK(diag_count(f.diag) == 3); /* these three were not used */
	arena_free(f.arena);
}

/* 100 overrides of other paths stand between those of this path, so that the lists of overrides
 * grow several times. */
static void the_last_of_many_overrides_counts(void)
{
	struct fixture f = begin();
	struct origin set = {"--set", 0};
	cfg_override(f.resolution, f.diag, set, "link.a.streams=3");
	cfg_override(f.resolution, f.diag, set, "link.*.streams=4");
	cfg_override(f.resolution, f.diag, set, "link.*.latency=1 ms");
	cfg_override(f.resolution, f.diag, set, "link.a.latency=2 ms");
	for (int i = 0; i < 100; i++)
		cfg_override_draw(f.resolution, arena_printf(f.arena, "link.b%d.latency", i), 7);
	cfg_override(f.resolution, f.diag, set, "link.a.latency=3 ms");
	CHECK(read_wire(&f, "bandwidth = \"1 GB/s\";"));
	CHECK(f.wire.latency_s == 3e-3 && f.wire.streams_count == 4);
	CHECK(diag_count(f.diag) == 0); /* all settings were used */
	arena_free(f.arena);
}

static void override_text_finds_paths_without_rows(void)
{
	struct fixture f = begin();
	cfg_override(f.resolution, f.diag, (struct origin){"--set", 0}, "case.topology=far.cfg");
	CHECK_TEXT(cfg_override_text(f.resolution, "case.topology"), "far.cfg");
	CHECK(cfg_override_text(f.resolution, "case.runtime") == NULL);
	CHECK(read_wire(&f, "bandwidth = \"1 GB/s\";"));
	arena_free(f.arena);
}

static void keys_read_by_the_caller_are_accepted(void)
{
	struct fixture f = begin();
	static const char *const also[] = {"ports"};
	const struct cfg_node *root =
		cfg_read_text(f.arena, f.diag, "t.cfg", "bandwidth = \"1 GB/s\"; ports = ();");
	CHECK(cfg_params(f.resolution, f.arena, f.diag, root, "", "link 'a'", &table, also, 1,
			 &f.wire));
	CHECK(cfg_param_find(f.resolution, "latency") != NULL);
	CHECK(diag_count(f.diag) == 0);
	arena_free(f.arena);
}

static void words_are_the_first_phrase_of_the_help_and_the_object(void)
{
	struct arena *arena = arena_new();
	const struct param_row row = {.help = "one-way latency (ping, halved): NIC and cable"};
	CHECK_TEXT(cfg_param_words(arena, "link.vswitch.latency", &row),
		   "one-way latency of vswitch");
	CHECK_TEXT(cfg_param_words(arena, "link.*.latency", &row), "one-way latency of every link");
	CHECK_TEXT(cfg_param_words(arena, "gpu.*.slice", &row), "one-way latency of every GPU");
	CHECK_TEXT(cfg_param_words(arena, "shm.latency", &row), "one-way latency");
	CHECK_TEXT(cfg_param_words(arena, "link.*.a.latency", &row), "one-way latency of *.a");
	CHECK_TEXT(cfg_param_words(arena, "half_work", NULL), "half work");
	CHECK_TEXT(cfg_param_words(arena, "efficiency.p100.vgg16.half_work", NULL),
		   "half work of p100.vgg16");
	arena_free(arena);
}

/* Times move by a factor, and shares from 0 to 1 by a factor of their odds: 0.5 has the odds 1, and
 * the odds 4 are 0.8. Both stay within their bounds, and whole numbers stay whole. */
static void moved_values_stay_within_their_bounds(void)
{
	const struct param_row time = {.quantity = QUANTITY_TIME, .min = 1, .max = 8},
			       share = {.quantity = QUANTITY_RATIO, .max = 1},
			       count = {.quantity = QUANTITY_COUNT,
					.min = 1,
					.max = 8,
					.whole = true};
	CHECK_NEAR(param_moved(&time, 2, log(3)), 6, 1e-12);
	CHECK_NEAR(param_moved(&time, 2, log(5)), 8, 1e-12);
	CHECK_NEAR(param_moved(&time, 2, -log(5)), 1, 1e-12);
	CHECK_NEAR(param_moved(&share, 0.5, log(4)), 0.8, 1e-12);
	CHECK_NEAR(param_moved(&share, 0.5, -log(4)), 0.2, 1e-12);
	CHECK_NEAR(param_moved(&count, 2, log(1.4)), 3, 0);
	CHECK_NEAR(param_distance(&time, 2, 6), log(3), 1e-12);
	CHECK_NEAR(param_distance(&share, 0.2, 0.8), log(16), 1e-12);
}

/* The values after errors are safe to use. */
static void values_are_valid_after_errors(void)
{
	struct fixture f = begin();
	CHECK(!read_wire(&f, "name = 3; kind = \"wood\"; latency = \"x\";"));
	CHECK(f.wire.bandwidth_Bps == 1); /* the row's minimum */
	CHECK(f.wire.latency_s == 5e-6);
	CHECK_TEXT(f.wire.name, "");
	CHECK(f.wire.kind == 1);
	arena_free(f.arena);
}

static const struct test tests[] = {
	TEST(values_of_the_file_replace_defaults),
	TEST(value_groups_give_interval_and_origin),
	TEST(set_removes_what_a_fit_adds_to_an_interval),
	TEST(set_overrides_the_file),
	TEST(draw_replaces_the_value_and_keeps_interval_and_status),
	TEST(profile_overrides_the_file_and_set_overrides_both),
	TEST(star_matches_any_single_part_of_a_path),
	TEST(the_last_of_many_overrides_counts),
	TEST(override_text_finds_paths_without_rows),
	TEST(keys_read_by_the_caller_are_accepted),
	TEST(words_are_the_first_phrase_of_the_help_and_the_object),
	TEST(moved_values_stay_within_their_bounds),
	TEST(values_are_valid_after_errors),
};

int main(void)
{
	return TEST_MAIN(tests);
}
