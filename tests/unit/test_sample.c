/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts that all probes share: statistics, the stopping rule, the plan, recordings. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/json/write.h"
#include "calib/sample/machine.h"
#include "calib/sample/plan.h"
#include "calib/sample/record.h"
#include "calib/sample/run.h"
#include "calib/sample/sampler.h"
#include "calib/sample/stats.h"
#include "tests/test.h"

/* ---- statistics ---- */

/* Binomial(10, 1/2): P(X <= 1) = 11/1024 = 1.07 % and P(X <= 2) = 5.5 %, so the interval is from
 * the second smallest to the second largest. Binomial(30, 1/2): P(X <= 9) = 2.14 % and P(X <= 10) =
 * 4.9 %: the tenth. For 6, P(X <= 0) = 1.56 %: all. For 100, P(X <= 39) = 1.76 % and P(X <= 40) =
 * 2.84 %: the fortieth. */
static void median_intervals_match_the_binomial_distribution(void)
{
	static const struct {
		size_t count;
		double low, high;
	} cases[] = {{1, 1, 1},    {5, 1, 5},     {6, 1, 6},       {10, 2, 9},
		     {30, 10, 21}, {100, 40, 61}, {1000, 469, 532}};
	double values[1000];
	for (size_t i = 0; i < 1000; i++)
		values[i] = (double)(i + 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stats_interval interval = stats_median_interval(values, cases[i].count);
		CHECK_NEAR(interval.low, cases[i].low, 1e-12);
		CHECK_NEAR(interval.high, cases[i].high, 1e-12);
	}
}

static void median_and_mad_ignore_outliers(void)
{
	double values[] = {7, 1, 3, 1000, 5};
	/* 1 3 5 7 1000: the median is 5; the distances 4 2 0 2 995 have the median 2. */
	stats_sort(values, 5);
	CHECK_NEAR(stats_median_sorted(values, 5), 5, 1e-12);
	CHECK_NEAR(stats_median_sorted(values, 4), 4, 1e-12);
	CHECK_NEAR(stats_mad(values, 5, 5), 2, 1e-12);
}

/* Values that rise by 1 each time change by 11 relative to their median of 15.5; one distant value
 * does not matter. Values that only go up and down do not change for certain. */
static void changes_are_told_from_noise(void)
{
	double rising[12], noise[12] = {10, 13, 9, 14, 8, 12, 11, 7, 13, 10, 9, 12};
	for (size_t i = 0; i < 12; i++)
		rising[i] = 10 + (double)i;
	CHECK_NEAR(stats_change(rising, 12), 11 / 15.5, 1e-12);
	rising[7] = 1000;
	CHECK_NEAR(stats_change(rising, 12), 11 / 15.5, 1e-12);
	CHECK(fabs(stats_change(noise, 12)) <= 0);
	CHECK(fabs(stats_change(rising, 3)) <= 0);
	for (size_t i = 0; i < 12; i++)
		noise[i] *= 1 - 0.05 * (double)i;
	CHECK(stats_change(noise, 12) < -0.1);
}

/* ---- the sampler ---- */

struct source {
	size_t taken;
	double clock_s, each_s;
	double (*value)(size_t number);
};

static int take(void *context, double *value)
{
	struct source *source = context;
	source->clock_s += source->each_s;
	*value = source->value(source->taken++);
	return 0;
}

static double look(void *context)
{
	return ((struct source *)context)->clock_s;
}

static struct sampler_result run(struct source *source, double share_s, double deadline_s)
{
	struct sampler_result result;
	const struct sampler sampler = {
		.interval_ratio = 0.01,
		.least = SAMPLER_LEAST,
		.most = SAMPLER_MOST,
		.warm_up_most = 200,
		.share_s = share_s,
		.deadline_s = deadline_s,
		.context = source,
		.sample = take,
		.now_s = look,
	};
	CHECK(sampler_run(&sampler, &result) == 0);
	return result;
}

static double constant(size_t number)
{
	return 5;
}

/* Values begin at 100 and fall to 10 within 40 samples. */
static double settling(size_t number)
{
	return number < 40 ? 100 - 2.25 * (double)number : 10;
}

/* Half of the samples are 1, half are 2: no interval of the median is narrow. */
static double two_humps(size_t number)
{
	return (double)(1 + number % 2);
}

/* Values are uniform over 10 % around 1, in an irregular order. */
static double spread(size_t number)
{
	struct plan_random random = {number};
	return 0.95 + 0.1 * plan_random_part(&random);
}

static void sampler_stops_when_the_interval_is_narrow(void)
{
	struct source source = {.value = constant, .each_s = 1e-6};
	struct sampler_result result = run(&source, 1, 10);
	CHECK(result.stop == SAMPLER_INTERVAL);
	CHECK(result.count == SAMPLER_LEAST);
	CHECK(result.thrown == 2 * SAMPLER_WARM_UP_WINDOW);
	free(result.values);

	/* For a uniform spread of +-5 %, the interval of n samples has a half width of about 0.05 *
	 * 1.96 / sqrt(n), which is 1 % from about a hundred samples on. */
	source = (struct source){.value = spread, .each_s = 1e-6};
	result = run(&source, 1, 10);
	CHECK(result.stop == SAMPLER_INTERVAL);
	CHECK(result.count >= 50 && result.count <= 250);
	free(result.values);
}

/* The first 30 samples behind the warm-up are 1 and 2 in turn, all others are 1. So 15 samples are
 * 2, and the interval is narrow once its upper end has 15 samples above it. The binomial
 * distribution allows this from 44 samples on: P(X <= 15) = 2.44 % of 44, and 3.30 % of 43. The
 * sampler looks at 30, 34, 38, 42 and 47 samples, each a tenth and one later. */
static double humps_then_constant(size_t number)
{
	return number < 2 * SAMPLER_WARM_UP_WINDOW + 30 ? (double)(1 + number % 2) : 1;
}

static void sampler_looks_at_the_interval_after_each_tenth(void)
{
	struct source source = {.value = humps_then_constant, .each_s = 1e-6};
	struct sampler_result result = run(&source, 1, 10);
	CHECK(result.thrown == 2 * SAMPLER_WARM_UP_WINDOW);
	CHECK(result.stop == SAMPLER_INTERVAL);
	CHECK(result.count == 47);
	free(result.values);
}

static void sampler_discards_the_warm_up(void)
{
	struct source source = {.value = settling, .each_s = 1e-6};
	struct sampler_result result = run(&source, 1, 10);
	CHECK(result.thrown >= 40 && result.thrown <= 60);
	CHECK(result.stop == SAMPLER_INTERVAL);
	for (size_t i = 0; i < result.count; i++)
		CHECK_NEAR(result.values[i], 10, 1e-12);
	free(result.values);
}

static void sampler_stops_at_its_limits(void)
{
	struct source source = {.value = two_humps, .each_s = 1e-6};
	struct sampler_result result = run(&source, 1, 10);
	CHECK(result.stop == SAMPLER_COUNT);
	CHECK(result.count == SAMPLER_MOST);
	free(result.values);

	/* Samples take a tenth of a second each and one second together, so two of them are
	 * warm-up. */
	source = (struct source){.value = two_humps, .each_s = 0.1};
	result = run(&source, 1, 10);
	CHECK(result.stop == SAMPLER_TIME);
	CHECK(result.thrown == 2);
	CHECK(result.count >= 7 && result.count <= 9);
	free(result.values);

	/* Three samples are taken even when the time has ended, but none after the deadline. */
	source = (struct source){.value = constant, .each_s = 0.5};
	result = run(&source, 1e-9, 10);
	CHECK(result.stop == SAMPLER_TIME);
	CHECK(result.count == 3);
	free(result.values);
	source = (struct source){.value = constant, .each_s = 20};
	result = run(&source, 1, 10);
	CHECK(result.stop == SAMPLER_DEADLINE);
	CHECK(result.count == 0);
	free(result.values);
}

/* ---- the plan ---- */

/* Published first values of SplitMix64 from state 0. */
static void random_numbers_match_splitmix64(void)
{
	struct plan_random random = {0};
	CHECK(plan_random_next(&random) == 0xe220a8397b1dcdafu);
	CHECK(plan_random_next(&random) == 0x6e789e6aa1b965f4u);
	for (int i = 0; i < 1000; i++) {
		double part = plan_random_part(&random);
		CHECK(part >= 0 && part < 1);
	}
}

static void passes_have_different_repeatable_orders(void)
{
	struct plan plan = {.seed = 42};
	size_t first[100], again[100], second[100];
	for (int i = 0; i < 100; i++) {
		plan_add(&plan, &(struct plan_point){.test = "copy", .x = {{"size_B", i}}});
	}
	struct plan_point twice = plan.points[7];
	twice.held_out = true;
	plan_add(&plan, &twice); /* already in the plan */
	CHECK(plan.count == 100 && !plan.failed);
	plan_shuffle(&plan, 0, first);
	plan_shuffle(&plan, 0, again);
	plan_shuffle(&plan, 1, second);
	CHECK(memcmp(first, again, sizeof(first)) == 0);
	CHECK(memcmp(first, second, sizeof(first)) != 0);
	bool seen[100] = {false};
	size_t in_place = 0;
	for (size_t i = 0; i < 100; i++) {
		CHECK(first[i] < 100 && !seen[first[i]]);
		seen[first[i]] = true;
		in_place += first[i] == i;
	}
	CHECK(in_place < 10);
	plan_free(&plan);
}

static void points_have_names_and_shares_of_time(void)
{
	const struct plan_point point = {
		.test = "copy", .is = {{"direction", "h2d"}}, .x = {{"size_B", 1073741825}}};
	char name[64];
	plan_point_name(&point, name, sizeof(name));
	CHECK_TEXT(name, "copy h2d size_B=1073741825");
	CHECK_TEXT(plan_point_word(&point, "direction"), "h2d");
	CHECK(plan_point_word(&point, "call") == NULL);
	CHECK_NEAR(plan_point_number(&point, "batch", 3), 3, 1e-12);
	CHECK(plan_matches("copy.*", "copy.h2d"));
	CHECK(plan_matches("*h?d*", "copy.h2d.pinned"));
	CHECK(!plan_matches("copy", "copy.h2d"));
	CHECK(!plan_matches("copy.*x", "copy.h2d"));
	CHECK_NEAR(plan_share_s(10, 1), 10, 1e-12);
	CHECK_NEAR(plan_share_s(100, 99), 2, 1e-12);
	CHECK_NEAR(plan_share_s(-1, 5), PLAN_SHARE_LEAST_S, 1e-12);
}

/* ---- recordings ---- */

static void json_writer_escapes_and_rounds(void)
{
	char *text = NULL;
	size_t size_B = 0;
	FILE *memory = open_memstream(&text, &size_B);
	struct json_writer json = jw_begin(memory, JSON_DENSE);
	jw_open(&json, NULL, '{');
	jw_text(&json, "a", "tab\t\"q\" \\ \xc3\xa9 \xff");
	jw_open(&json, "b", '[');
	jw_real(&json, NULL, 1073741825);
	jw_real(&json, NULL, 1.23456789012e-7);
	jw_real(&json, NULL, NAN);
	jw_digits(&json, NULL, "%.3f", 0.5);
	jw_close(&json);
	jw_flag(&json, "c", false);
	jw_open(&json, "d", '{');
	jw_close(&json);
	jw_text(&json, "e", NULL);
	jw_close(&json);
	jw_end(&json);
	fclose(memory);
	CHECK_TEXT(text, "{\"a\":\"tab\\t\\\"q\\\" \\\\ \xc3\xa9 \\ufffd\","
			 "\"b\":[1073741825,1.23456789e-07,null,0.500],\"c\":false,\"d\":{},"
			 "\"e\":null}\n");
	free(text);
}

#define POINTS 4

static void make_points(struct plan_point *points)
{
	for (int i = 0; i < POINTS; i++) {
		points[i] = (struct plan_point){.test = "copy",
						.is = {{"direction", i % 2 ? "h2d" : "d2h"}},
						.x = {{"size_B", 1 << i}},
						.held_out = i == 1};
	}
}

static int write_point(struct record *record, const struct plan_point *point)
{
	static const double values[] = {1e-6, 1.25e-6, 2e-6};
	return record_samples(record, &(struct record_samples){.point = point,
							       .pass = 0,
							       .t_s = 0.5,
							       .unit = "s",
							       .stop = "interval",
							       .values = values,
							       .count = 3});
}

static size_t slurp(const char *path, char *text, size_t room)
{
	int file = open(path, O_RDONLY);
	ssize_t got = file >= 0 ? read(file, text, room) : -1;
	if (file >= 0)
		close(file);
	return got < 0 ? 0 : (size_t)got;
}

static void spill(const char *path, const char *text, size_t count)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(file >= 0 && write(file, text, count) == (ssize_t)count);
	close(file);
}

static const struct record_start start = {
	.tool = "test", .mode = "quick", .seed = 9007199254740991, .passes = 3};

/* Writes a complete recording of POINTS points and an end; returns its bytes. */
static size_t record_whole(const char *path, char *text, size_t room)
{
	struct record record;
	struct plan_point points[POINTS];
	make_points(points);
	unlink(path);
	CHECK(record_create(&record, path, &start) == 0);
	for (int i = 0; i < POINTS; i++)
		CHECK(write_point(&record, &points[i]) == 0);
	const struct record_drift drift[] = {{"launch", -0.04}, {"copy", 0.01}};
	const struct record_end end = {.whole = true, 1.5, drift, 2};
	CHECK(record_end(&record, &end) == 0);
	CHECK(record_close(&record) == 0);
	return slurp(path, text, room);
}

/* A recording that is cut anywhere can be continued: complete lines are known, the incomplete line
 * is removed, and missing points can be added. */
static void recording_cut_anywhere_can_be_continued(void)
{
	static char whole[16384], text[16384];
	char path[] = "/tmp/farwire-test-XXXXXX";
	struct plan_point points[POINTS];
	int file = mkstemp(path);
	close(file);
	make_points(points);
	size_t size = record_whole(path, whole, sizeof(whole));
	CHECK_PART(whole,
		   "{\"end\":true,\"lines\":6,\"elapsed_s\":1.5,"); /* header, 4 points, end */
	size_t first = (size_t)((char *)memchr(whole, '\n', size) - whole) + 1;
	size_t last = size;
	while (whole[--last - 1] != '\n')
		;
	CHECK(size > first && last > first);
	for (size_t cut = 0; cut <= size; cut++) {
		struct record record;
		struct record_found found;
		spill(path, whole, cut);
		int code = record_continue(&record, path, &found);
		CHECK((code == 0) == (cut >= first));
		if (code == 0) {
			CHECK(record.ended == (cut == size));
			CHECK(record.drift_count == (cut == size ? 2 : 0));
			CHECK(cut < size || (strcmp(record.drift[0].anchor, "launch") == 0 &&
					     record.drift[0].ratio == -0.04));
			CHECK(found.seed == start.seed && found.passes == 3);
			for (int i = 0; i < POINTS; i++)
				if (!record_has(&record, &points[i], 0))
					write_point(&record, &points[i]);
			CHECK(!record_has(&record, &points[0], 1));
		}
		CHECK(record_close(&record) == 0);
		if (code == 0 && !test_failures) {
			size_t got = slurp(path, text, sizeof(text));
			CHECK(got == (cut == size ? size : last));
			CHECK(memcmp(text, whole, last) == 0);
		}
		if (test_failures)
			break;
	}
	unlink(path);
}

#define START "{\"format\":\"farwire-samples\",\"version\":1,"
#define HEAD  START "\"seed\":1,\"passes\":3}\n"

static void malformed_recordings_cannot_be_continued(void)
{
	static const char *const texts[] = {
		"",
		"{\"format\":\"something\",\"version\":1}\n",
		"{\"format\":\"farwire-samples\",\"version\":2,\"passes\":3}\n",
		"{\"format\":\"farwire-samples\",\"version\":1,\"passes\":0}\n",
		START "\"seed\":1,\"passes\":1e9}\n",
		START "\"seed\":-1,\"passes\":3}\n",
		START "\"seed\":1,\"passes\":3,\"host\":{\"cpu\":\"No Such\"}}\n",
		HEAD "no JSON at all, yes\n",
		"{\"x\":" HEAD,
	};
	static const char *const reasons[] = {"complete header", "line 1", "version",
					      "passes",          "passes", "no seed",
					      "this machine is", "line 2", "line 1"};
	char path[] = "/tmp/farwire-test-XXXXXX";
	int file = mkstemp(path);
	close(file);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct record record;
		struct record_found found;
		spill(path, texts[i], strlen(texts[i]));
		CHECK(record_continue(&record, path, &found) != 0);
		if (!CHECK(strstr(record.why, reasons[i]) != NULL))
			printf("    it says %s\n", record.why);
		record_close(&record);
	}
	struct record record;
	CHECK(record_create(&record, path, &start) != 0); /* the file exists */
	CHECK(strstr(record.why, "exists") != NULL);
	record_close(&record);
	unlink(path);
}

/* ---- runs ---- */

/* Its clock advances by step_s per reading. Points from fails_from on fail. */
struct fake {
	double now_s, step_s;
	double deadline_s; /* of the first point */
	double drift_ratio;
	int begun, fails_from;
};

static double fake_now_s(void *context)
{
	struct fake *fake = context;
	return fake->now_s += fake->step_s;
}

static bool fake_stopped(void *context)
{
	return false;
}

static int fake_begin(void *context, const struct plan_point *point, double deadline_s)
{
	struct fake *fake = context;
	if (fake->begun == 0)
		fake->deadline_s = deadline_s;
	return ++fake->begun >= fake->fails_from ? RUN_FAILED : RUN_OK;
}

static int fake_sample(void *context, const struct plan_point *point, double *value)
{
	*value = 1e-6;
	return 0;
}

static void fake_end(void *context, const struct plan_point *point)
{
}

static size_t fake_judge(void *context, struct record_drift *drift)
{
	drift[0] = (struct record_drift){"launch", ((struct fake *)context)->drift_ratio};
	return 1;
}

/* Returns the code of run_passes and the recording's text. */
static int run_fake(struct fake *fake, char *text, size_t room)
{
	char path[] = "/tmp/farwire-test-XXXXXX";
	struct plan_point points[POINTS];
	struct record record;
	const struct plan plan = {.points = points, .count = POINTS};
	const struct run_prober prober = {.context = fake,
					  .now_s = fake_now_s,
					  .stopped = fake_stopped,
					  .begin = fake_begin,
					  .sample = fake_sample,
					  .end = fake_end,
					  .judge = fake_judge,
					  .why = "it broke",
					  .deadline_s = 3};
	const struct run run = {.prober = &prober,
				.plan = &plan,
				.record = &record,
				.program = "test",
				.go_on = "",
				.passes = 1,
				.budget_s = 10,
				.quiet = true};
	make_points(points);
	close(mkstemp(path));
	unlink(path);
	CHECK(record_create(&record, path, &start) == 0);
	int code = run_passes(&run);
	CHECK(record_close(&record) == 0);
	text[slurp(path, text, room - 1)] = '\0';
	unlink(path);
	return code;
}

/* No line follows a point that failed. A point without a sample is recorded as waived, with the
 * reason. */
static void run_stops_at_a_failed_point_and_waives_missing_samples(void)
{
	static char text[65536];
	struct fake fake = {.step_s = 1e-6, .fails_from = 3};
	CHECK(run_fake(&fake, text, sizeof text) == 1 && fake.begun == 3);
	CHECK(strstr(text, "\"test\":") && !strstr(text, "\"end\""));
	fake = (struct fake){.step_s = 1000, .fails_from = 100};
	CHECK(run_fake(&fake, text, sizeof text) == 0);
	CHECK_PART(text, "{\"waived\":\"copy\",\"why\":\"no sample before its deadline\"}");
	CHECK(!strstr(text, "\"test\":"));
}

/* The limit of the drift is 3 %, in both directions. The first of four points has a share of 2/5 of
 * the 10 s (calib/sample/plan.h), and may take twice as long and the prober's 3 s. */
static void run_judges_drift_and_gives_points_their_share(void)
{
	static const struct {
		double ratio;
		int code;
	} rows[] = {{0.029, 0}, {-0.029, 0}, {0.031, 1}, {-0.031, 1}};
	static char text[65536];
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fake fake = {
			.step_s = 1e-6, .fails_from = 100, .drift_ratio = rows[i].ratio};
		CHECK(run_fake(&fake, text, sizeof text) == rows[i].code);
		CHECK_NEAR(fake.deadline_s, 2 * 10 * 2.0 / 5 + 3, 1e-4);
		CHECK_PART(text, rows[i].ratio < 0 ? "\"drift\":{\"launch\":-0.0"
						   : "\"drift\":{\"launch\":0.0");
	}
}

/* The name behind the first "model name" of /proc/cpuinfo; other architectures have no such line.
 */
static void processor_has_the_name_of_the_kernel(void)
{
	char line[512], name[512];
	FILE *file = fopen("/proc/cpuinfo", "re");
	if (!file)
		return;
	while (fgets(line, sizeof line, file))
		if (strncmp(line, "model name\t: ", 13) == 0 && line[13] != '\n') {
			line[strcspn(line, "\n")] = '\0';
			machine_cpu(name, sizeof name);
			CHECK_TEXT(name, line + 13);
			break;
		}
	fclose(file);
}

static const struct test tests[] = {
	TEST(processor_has_the_name_of_the_kernel),
	TEST(median_intervals_match_the_binomial_distribution),
	TEST(median_and_mad_ignore_outliers),
	TEST(changes_are_told_from_noise),
	TEST(sampler_stops_when_the_interval_is_narrow),
	TEST(sampler_looks_at_the_interval_after_each_tenth),
	TEST(sampler_discards_the_warm_up),
	TEST(sampler_stops_at_its_limits),
	TEST(random_numbers_match_splitmix64),
	TEST(passes_have_different_repeatable_orders),
	TEST(points_have_names_and_shares_of_time),
	TEST(json_writer_escapes_and_rounds),
	TEST(recording_cut_anywhere_can_be_continued),
	TEST(malformed_recordings_cannot_be_continued),
	TEST(run_stops_at_a_failed_point_and_waives_missing_samples),
	TEST(run_judges_drift_and_gives_points_their_share),
};

int main(void)
{
	return TEST_MAIN(tests);
}
