/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Analyses take plain requests. A test builds them as a verb does, but without a command line. */
#include <unistd.h>

#include "sim/analysis/dataset.h"
#include "sim/analysis/scaling.h"
#include "sim/analysis/sensitivity.h"
#include "sim/analysis/solving.h"
#include "sim/analysis/sweep.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "tests/test.h"

static const struct setting settings[] = {{"case.topology=t320-same-lan", {"test", 0}},
					  {"case.stack=tf-1.12", {"test", 0}},
					  {"case.program=client", {"test", 0}},
					  {"case.runtime=asynchronous", {"test", 0}},
					  {"case.steps=2", {"test", 0}}};

static size_t told;

static void tell(void *ctx, size_t before, size_t done, size_t count)
{
	CHECK(before == 0 && done <= count);
	told++;
}

static struct analysis_input input_of(struct arena *arena)
{
	told = 0;
	return (struct analysis_input){
		.request = {.settings = settings,
			    .setting_count = sizeof settings / sizeof settings[0],
			    .data_root = data_root_find(arena)},
		.options = {.seed = 1, .jobs = 1},
		.watch = {tell, NULL}};
}

static void solving_finds_the_bound_of_a_plain_request(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct solving_request request = {.input = input_of(arena),
						.target = {"ratio>=0.9", {"my target", 0}},
						.key = {"link.lan-port.latency", {"my key", 0}},
						.between = {"1 us:100 ms", {"my range", 0}}};
	const char *broken;
	const struct solving *s = solving_run(arena, diag, &request, &broken);
	if (CHECK(s && !broken && diag_count(diag) == 0)) {
		CHECK(s->solution->bound_count == 1 && s->solution->bounds[0].upper);
		CHECK(s->solution->bounds[0].y.value >= 0.9);
		CHECK(told > 0);
	}
	arena_free(arena);
}

static void errors_name_the_place_that_the_caller_gave(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct solving_request request = {.input = input_of(arena),
					  .target = {"ratio>=0.9", {"my target", 0}},
					  .key = {"case.model", {"my key", 0}}};
	struct sensitivity_request other = {.input = input_of(arena),
					    .number = {"speed", {"my number", 0}}};
	const char *broken;
	CHECK(!solving_run(arena, diag, &request, &broken) && !broken);
	if (CHECK(diag_count(diag) == 1))
		CHECK_PART(diag_at(diag, 0), "my key: case.model is not a number");
	diag = diag_new(arena);
	CHECK(!sensitivity_find(arena, diag, &other, &broken) && !broken);
	if (CHECK(diag_count(diag) == 1))
		CHECK_PART(diag_at(diag, 0), "my number: ");
	CHECK(told == 0);
	arena_free(arena);
}

static void sensitivity_takes_the_main_number_where_none_is_named(void)
{
	static const char *const key = "runtime.handoff";
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct sensitivity_request request = {
		.input = input_of(arena), .vary_ratio = 0.5, .keys = &key, .key_count = 1};
	const char *broken;
	const struct sensitivity *found = sensitivity_find(arena, diag, &request, &broken);
	if (CHECK(found && diag_count(diag) == 0)) {
		CHECK_TEXT(found->reported->name, "ratio");
		CHECK(found->swing_count == 1 && found->vary_ratio == 0.5);
		/* a longer hand-off of answered calls lowers the ratio */
		CHECK(found->swings[0].high.number.value < found->swings[0].low.number.value);
		CHECK(told == 2);
	}
	arena_free(arena);
}

static void scaling_predicts_each_number_of_gpus(void)
{
	static const struct setting job[] = {{"case.topology=c10-p100", {"test", 0}},
					     {"case.steps=2", {"test", 0}}};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct scaling_request request = {.input = input_of(arena), .gpus = {"1,2", {"mine", 0}}};
	struct sweep_fault fault;
	request.input.request.settings = job;
	request.input.request.setting_count = 2;
	const struct scaling *scaling = scaling_run(arena, diag, &request, &fault);
	if (CHECK(scaling && scaling->count == 2)) {
		CHECK(scaling->predictions[0]->gpu_count == 1);
		CHECK(scaling->predictions[1]->gpu_count == 2);
		CHECK(told == 2);
	}
	request.gpus.text = "0.5";
	CHECK(!scaling_run(arena, diag, &request, &fault));
	CHECK_PART(diag_at(diag, 0), "mine: case.gpus = \"0.5\" is not a whole number");
	arena_free(arena);
}

/* A what-if of one row without draws. */
static const char *one_row(struct arena *arena)
{
	const char *path = arena_printf(arena, "/tmp/farwire-test-%ld.cfg", (long)getpid());
	FILE *file = fopen(path, "w");
	fputs("dataset = { name = \"one\"; title = \"one\"; draws = 0;\n"
	      "  settings = [\"case.topology=t320-same-lan\", \"case.steps=2\"];\n"
	      "  dimensions = ( { name = \"batch\"; setting = \"case.batch\"; values = [\"8\"]; } "
	      "); "
	      "};\n",
	      file);
	fclose(file);
	return path;
}

static void validation_uses_the_smaller_draws_of_a_dataset(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct analysis_input input = input_of(arena);
	struct validation_request request = {
		.name = one_row(arena),
		.input = {.options = input.options, .data_root = input.request.data_root}};
	const char *broken;
	request.input.options.draws_count = 2;
	const struct dataset_outcome *few = dataset_validate(arena, diag, &request, &broken);
	request.draws_given = true;
	const struct dataset_outcome *given = dataset_validate(arena, diag, &request, &broken);
	if (CHECK(few && given)) {
		CHECK(few->draws_count == 0 && given->draws_count == 2);
		CHECK(!(few->rows[0].predicted.low < few->rows[0].predicted.high));
		CHECK(given->rows[0].predicted.low < given->rows[0].predicted.high);
	}
	remove(request.name);
	CHECK(!dataset_validate(arena, diag, &request, &broken) && diag_count(diag) == 1);
	arena_free(arena);
}

static void ranges_have_their_number_of_values(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct sweep_axis axis;
	CHECK(sweep_axis_read(arena, diag, "--vary", "case.batch=1:9:lin9", &axis));
	CHECK(axis.count == 9 && axis.ranged && axis.values[4] == 5);
	CHECK(sweep_axis_read(arena, diag, "--vary", "case.batch=1:1000:log4", &axis));
	CHECK(axis.count == 4);
	CHECK_NEAR(axis.values[1], 10, 1e-9);
	/* both ends are the written ones, here 1 GiB to the byte */
	CHECK(sweep_axis_read(arena, diag, "--vary", "case.collective_size=1 KiB:1 GiB:log3",
			      &axis));
	CHECK(axis.values[0] == 1024 && axis.values[2] == 1073741824);
	CHECK(strcmp(axis.texts[2], "case.collective_size=1073741824 B") == 0);
	CHECK(!sweep_axis_read(arena, diag, "--vary", "case.batch=1:9:lin1", &axis));
	CHECK(!sweep_axis_read(arena, diag, "--vary", "case.batch=1:9:lin+3", &axis));
	arena_free(arena);
}

static void malformed_axes_have_their_message(void)
{
	static const struct {
		const char *text, *message;
	} rows[] = {{"x=0:2:log3", "must begin above 0"},
		    {"x=-1:2:log3", "must begin above 0"},
		    {"x=2:2:lin3", "the high end must be above the low end"},
		    {"x=1:2:cub3", "the spacing must be 'log' or 'lin'"},
		    {"x=1:2", "write the spacing"},
		    {"x=1:2:lin1000001", "2 to 1000000 values"},
		    {"x=1 us:2 GB/s:lin3", "units of different quantities"},
		    {"x=1 u:2 u:lin3", "'1 u' is not a number with a known unit"},
		    {"x=1e-300:1e300:log3", "too far apart"},
		    {"x=1, 2,1", "'1' is listed twice"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		struct sweep_axis axis;
		CHECK(!sweep_axis_read(arena, diag, "--vary", rows[i].text, &axis));
		CHECK(diag_count(diag) == 1);
		CHECK_PART(diag_at(diag, 0), rows[i].message);
		arena_free(arena);
	}
}

/* Values of one quantity are numbers. Words, and values of several quantities, are numbered. */
static void lists_are_numbers_or_words(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct sweep_axis axis;
	CHECK(sweep_axis_read(arena, diag, "--vary", "x=5 us, 2 ms,1 s", &axis));
	CHECK(!axis.words && !axis.ranged && axis.count == 3 && axis.quantity == QUANTITY_TIME);
	CHECK(axis.values[0] == 5e-6 && axis.values[1] == 2e-3 && axis.values[2] == 1);
	CHECK_TEXT(axis.texts[1], "x=2 ms");
	static const char *const words[] = {"x=b,a", "x=7,2 us", "x=7,a"};
	for (size_t i = 0; i < 3; i++) {
		CHECK(sweep_axis_read(arena, diag, "--vary", words[i], &axis));
		CHECK(axis.words && axis.values[0] == 0 && axis.values[1] == 1);
	}
	arena_free(arena);
}

static void lists_have_up_to_10000_values(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct sweep_axis axis;
	char text[70000] = "x=1", *end = text + 3;
	for (int i = 2; i <= 10000; i++)
		end += sprintf(end, ",%d", i);
	CHECK(sweep_axis_read(arena, diag, "--vary", text, &axis) && axis.count == 10000);
	strcpy(end, ",0");
	CHECK(!sweep_axis_read(arena, diag, "--vary", text, &axis));
	CHECK_PART(diag_at(diag, 0), "at most 10000 values");
	arena_free(arena);
}

/* A grid can have a million points, and each key once. */
static void grids_have_up_to_a_million_points(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct sweep_axis axes[3];
	CHECK(sweep_axis_read(arena, diag, "--vary", "x=1:2:lin1000", &axes[0]));
	CHECK(sweep_axis_read(arena, diag, "--vary", "y=1:2:lin1000", &axes[1]));
	CHECK(sweep_axis_read(arena, diag, "--vary", "z=1", &axes[2]));
	CHECK(sweep_axes_check(diag, axes, 3));
	CHECK(sweep_axis_read(arena, diag, "--vary", "z=1,2", &axes[2]));
	CHECK(!sweep_axes_check(diag, axes, 3));
	CHECK_PART(diag_at(diag, 0), "more than 1000000 points");
	CHECK(sweep_axis_read(arena, diag, "--vary", "x=1", &axes[2]));
	CHECK(!sweep_axes_check(diag, axes, 3));
	CHECK_PART(diag_at(diag, 1), "'x' is varied twice");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(malformed_axes_have_their_message),
	TEST(lists_are_numbers_or_words),
	TEST(lists_have_up_to_10000_values),
	TEST(grids_have_up_to_a_million_points),
	TEST(ranges_have_their_number_of_values),
	TEST(solving_finds_the_bound_of_a_plain_request),
	TEST(errors_name_the_place_that_the_caller_gave),
	TEST(sensitivity_takes_the_main_number_where_none_is_named),
	TEST(scaling_predicts_each_number_of_gpus),
	TEST(validation_uses_the_smaller_draws_of_a_dataset),
};

int main(void)
{
	return TEST_MAIN(tests);
}
