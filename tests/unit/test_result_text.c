/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links, parts, services and stages of a prediction, and lanes of a trace. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/engine/trace.h"
#include "sim/result/result.h"
#include "tests/test.h"

struct capture {
	FILE *file;
	char *text;
	size_t size_B;
};

static void capture_begin(struct capture *capture)
{
	capture->file = open_memstream(&capture->text, &capture->size_B);
}

static char *capture_end(struct capture *capture)
{
	fclose(capture->file);
	return capture->text;
}

static struct prediction sample(void)
{
	static struct job_prediction client = {.name = "trainer", .gpu = "gpu0", .ok = true};
	static struct link_prediction link = {"wire client>server", 0.125, 1e6};
	static struct breakdown_part parts[] = {{"kernel", 0.375}, {"call issue", 0.125}};
	return (struct prediction){.name = "sample",
				   .ok = true,
				   .throughput = {36.5, 36, 37},
				   .step_s = {0.5, 0.25, 0.75},
				   .ratio = ESTIMATE_NONE,
				   .breakdown = parts,
				   .breakdown_count = 2,
				   .jobs = &client,
				   .job_count = 1,
				   .links = &link,
				   .link_count = 1};
}

/* Returns the table of one prediction. The caller frees it. */
static char *table_of(const struct prediction *prediction, bool links)
{
	struct capture capture;
	capture_begin(&capture);
	predictions_table(capture.file, &prediction, 1, 0, links);
	return capture_end(&capture);
}

/* The memory of stages is the reason of some failures. Nothing was carried. */
static void failed_prediction_keeps_the_memory_of_its_stages(void)
{
	struct capture capture;
	struct prediction p = sample();
	struct stage_prediction stage = {.name = "stage 0", .rank_count = 2, .memory_B = 3e9};
	p.ok = false;
	p.stages = &stage, p.stage_count = 1;
	const struct prediction *list[] = {&p};
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_JSONL, list, 1);
	const char *text = capture_end(&capture);
	CHECK_PART(text, "\"memory\": 3000000000");
	CHECK_PART(text, "\"carried_B\": null");
	free(capture.text);
}

/* The first 40 of 41 equally busy links are shown in their order. */
static void equally_busy_links_keep_their_order(void)
{
	enum { LINKS = 41 };
	struct arena *arena = arena_new();
	struct prediction p = sample();
	struct link_prediction *links = ARENA_ARRAY(arena, LINKS, struct link_prediction);
	for (size_t i = 0; i < LINKS; i++)
		links[i] = (struct link_prediction){arena_printf(arena, "cable%zu.", i), 0.5, 1};
	p.links = links, p.link_count = LINKS;
	char *text = table_of(&p, true);
	const char *first = strstr(text, "cable0."), *last = strstr(text, "cable39.");
	CHECK(first && last && first < last && !strstr(text, "cable40."));
	free(text);
	arena_free(arena);
}

/* Parts of 600 ms, -100 ms and -1 ns: the last one is a remainder of rounding. */
static void negative_part_is_shown_unless_it_is_tiny(void)
{
	struct prediction p = sample();
	p.breakdown =
		(struct breakdown_part[]){{"kernel", 0.6}, {"call issue", -0.1}, {"copy", -1e-9}};
	p.breakdown_count = 3;
	char *text = table_of(&p, false);
	CHECK(strstr(text, "-20.0 %") && !strstr(text, "-0.0 %"));
	free(text);
}

static void table_of_services_has_their_latencies(void)
{
	struct job_prediction services[2] = {{.name = "chat", .ok = true},
					     {.name = "search", .ok = true}};
	struct prediction p = sample();
	p.jobs = services, p.job_count = 2, p.requests_count = 100;
	for (size_t i = 0; i < QUANTILE_COUNT; i++)
		p.latency_s[i] = p.first_token_s[i] = p.between_tokens_s[i] = ESTIMATE_NONE;
	char *text = table_of(&p, false);
	CHECK(strstr(text, "mean latency") && !strstr(text, "step time"));
	free(text);
	for (int i = 0; i < QUANTILE_COUNT; i++) {
		p.latency_s[i] = estimate_exact(1 + i);
		p.first_token_s[i] = estimate_exact(5 + i);
		p.between_tokens_s[i] = estimate_exact(9 + i);
	}
	const struct prediction *list[] = {&p};
	struct capture capture;
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_JSONL, list, 1);
	text = capture_end(&capture);
	static const char *const quantiles[] = {"p50", "p90", "p95", "p99"};
	static const char *const names[] = {"latency", "first_token", "between_tokens"};
	for (int i = 0; i < 12; i++) {
		char wanted[64];
		snprintf(wanted, sizeof wanted, "\"%s_%s\": {\"value\": %d,", names[i / 4],
			 quantiles[i % 4], 1 + i);
		CHECK_PART(text, wanted);
	}
	free(capture.text);
}

/* The second message leaves first. The third one has no receiver in the trace. An arrow ends 1 ns
 * before its receiver ends, inside of it. Tracks are numbered by
 * their first span, so the receiver has number 1. */
static void arrows_join_the_two_ends_of_a_message(void)
{
	struct arena *arena = arena_new();
	struct trace *trace = trace_new(arena);
	uint32_t from = trace_track(trace, "gpu0", "stream"),
		 to = trace_track(trace, "gpu1", "stream");
	trace_message(trace, 9, true);
	trace_span(trace, from, SPAN_WIRE, "send", 1000000, 2000000);
	trace_message(trace, 5, false);
	trace_span(trace, to, SPAN_WIRE, "receive", 0, 7000000);
	trace_span(trace, to, SPAN_KERNEL, "kernel", 7000000, 8000000);
	trace_message(trace, 5, true);
	trace_span(trace, from, SPAN_WIRE, "send", 4000000, 6000000);
	trace_message(trace, 9, false);
	trace_span(trace, to, SPAN_WIRE, "receive", 8000000, 8000000);
	trace_message(trace, 7, true);
	trace_span(trace, from, SPAN_WIRE, "send", 6000000, 7000000);
	/* each message belongs to the next span only */
	static const uint64_t messages[] = {9, 5, 0, 5, 9, 7};
	for (size_t i = 0; i < trace_span_count(trace); i++)
		CHECK(trace_span_at(trace, i)->message == messages[i]);
	struct capture capture;
	capture_begin(&capture);
	trace_write(capture.file, trace);
	const char *text = capture_end(&capture), *arrows = strstr(text, "{\"ph\": \"s\"");
	CHECK_TEXT(arrows,
		   "{\"ph\": \"s\", \"name\": \"message\", \"cat\": \"message\", \"id\": 1, "
		   "\"pid\": 1, \"tid\": 2, \"ts\": 1.000},\n"
		   "{\"ph\": \"f\", \"name\": \"message\", \"cat\": \"message\", \"id\": 1, "
		   "\"bp\": \"e\", \"pid\": 2, \"tid\": 1, \"ts\": 8.000},\n"
		   "{\"ph\": \"s\", \"name\": \"message\", \"cat\": \"message\", \"id\": 2, "
		   "\"pid\": 1, \"tid\": 2, \"ts\": 4.000},\n"
		   "{\"ph\": \"f\", \"name\": \"message\", \"cat\": \"message\", \"id\": 2, "
		   "\"bp\": \"e\", \"pid\": 2, \"tid\": 1, \"ts\": 6.999}\n]}\n");
	free(capture.text);
	arena_free(arena);
}

/* b crosses the end of a, and d crosses the ends of b and c, so there are three lanes. e starts
 * when b has ended, so it needs none. */
static void a_lane_is_used_again(void)
{
	static const int64_t spans_us[][2] = {{0, 10}, {5, 15}, {12, 20}, {14, 22}, {16, 30}};
	struct arena *arena = arena_new();
	struct trace *trace = trace_new(arena);
	uint32_t wire = trace_track(trace, "wire", "lane");
	for (size_t i = 0; i < 5; i++)
		trace_span(trace, wire, SPAN_WIRE, "x", spans_us[i][0] * 1000000,
			   spans_us[i][1] * 1000000);
	trace_span(trace, wire, SPAN_WIRE, "inner", 40000000, 41000000);
	trace_span(trace, wire, SPAN_WIRE, "outer", 40000000, 42000000);
	struct capture capture;
	capture_begin(&capture);
	trace_write(capture.file, trace);
	const char *text = capture_end(&capture);
	const char *second = strstr(text, "\"lane #2\"");
	CHECK(second && !strstr(second + 1, "\"lane #2\""));
	CHECK(strstr(text, "\"lane #3\"") && !strstr(text, "\"lane #4\""));
	CHECK(strstr(text, "\"tid\": 2, \"ts\": 16.000"));
	/* both nest in the first lane, the longer one first */
	CHECK(strstr(text, "\"outer\"") < strstr(text, "\"inner\""));
	free(capture.text);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(failed_prediction_keeps_the_memory_of_its_stages),
	TEST(equally_busy_links_keep_their_order),
	TEST(negative_part_is_shown_unless_it_is_tiny),
	TEST(table_of_services_has_their_latencies),
	TEST(arrows_join_the_two_ends_of_a_message),
	TEST(a_lane_is_used_again),
};

int main(void)
{
	return TEST_MAIN(tests);
}
