/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the writers print, to the letter: other programs read it. */
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/cfg/cfg.h"
#include "sim/engine/trace.h"
#include "sim/result/result.h"

struct capture {
	FILE *file;
	char *text;
	size_t size_B;
};

static void capture_begin(struct capture *capture)
{
	capture->file = open_memstream(&capture->text, &capture->size_B);
}

static const char *capture_end(struct capture *capture)
{
	fclose(capture->file);
	return capture->text;
}

static struct prediction sample(void)
{
	static struct client_prediction client = {.name = "trainer",
						  .gpu = "gpu0",
						  .ok = true,
						  .throughput = {36.5, 36, 37},
						  .ratio = {0.9, 0.875, 0.925},
						  .step_s = {0.5, 0.25, 0.75},
						  .gpu_utilization = {0.5, 0.5, 0.5}};
	static struct link_prediction link = {"wire client>server", 0.125, 1e6};
	return (struct prediction){.name = "same_lan, \"16\"",
				   .ok = true,
				   .reason = NULL,
				   .throughput = {36.5, 36, 37},
				   .step_s = {0.5, 0.25, 0.75},
				   .ratio = {NAN, NAN, NAN},
				   .gpu_utilization = {0.5, 0.5, 0.5},
				   .breakdown = {{"kernel", 0.375}, {"call issue", 0.125}},
				   .breakdown_count = 2,
				   .bottleneck = "network",
				   .clients = &client,
				   .client_count = 1,
				   .links = &link,
				   .link_count = 1,
				   .events_count = 12345678901,
				   .calls_count = 7,
				   .polls_count = 3,
				   .retransmission_timeouts = 0.1,
				   .connect_s = 0.001,
				   .seed = 1,
				   .draws_count = 64};
}

#define ESTIMATE(name, value, low, high, unit)                                                     \
	"\"" name "\": {\"value\": " value ", \"low\": " low ", \"high\": " high                   \
	", \"unit\": \"" unit "\"}"
#define NO_ESTIMATE(name, unit) ESTIMATE(name, "null", "null", "null", unit)

static void json_lines(void)
{
	struct capture capture;
	struct prediction prediction = sample();
	const struct prediction *list[] = {&prediction};
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_JSONL, list, 1);
	CHECK_TEXT(
		capture_end(&capture),
		"{\"case\": \"same_lan, \\\"16\\\"\", \"verdict\": \"ok\", \"reason\": "
		"null, " ESTIMATE("throughput", "36.5", "36", "37", "images/s") ", " ESTIMATE(
			"step", "0.5", "0.25", "0.75",
			"s") ", " NO_ESTIMATE("ratio",
					      "") ", " ESTIMATE("gpu_utilization", "0.5", "0.5",
								"0.5",
								"") ", "
								    "\"breakdown\": {\"kernel\": "
								    "0.375, \"call issue\": "
								    "0.125}, "
								    "\"bottleneck\": \"network\", "
								    "\"events\": 12345678901, "
								    "\"parameters\": [], "
								    "\"seed\": 1, \"version\": "
								    "\"" FARWIRE_VERSION
								    "\", \"draws\": 64, "
								    "\"calls\": 7, \"polls\": 3, "
								    "\"retransmission_timeouts\": "
								    "0.1, "
								    "\"connect\": 0.001, "
								    "\"clients\": [{\"client\": "
								    "\"trainer\", "
								    "\"gpu\": \"gpu0\", "
								    "\"verdict\": \"ok\", "
								    "\"reason\": null, " ESTIMATE("throughput", "36.5", "36", "37", "images/s") ", " ESTIMATE(
									    "step", "0.5", "0.25",
									    "0.75",
									    "s") ", " ESTIMATE("rat"
											       "io",
											       "0."
											       "9",
											       "0."
											       "87"
											       "5",
											       "0."
											       "92"
											       "5",
											       "") ", " ESTIMATE("gpu_utilization",
														 "0.5",
														 "0.5",
														 "0.5",
														 "") "}], "
														     "\"links\": [{\"link\": \"wire client>server\", \"utilization\": 0.125, "
														     "\"carried_B\": 1000000}]}\n");
	free(capture.text);
}

static void failed_verdict_has_nulls(void)
{
	struct capture capture;
	struct prediction prediction = sample();
	prediction.ok = false;
	prediction.reason = "connection timeout";
	prediction.client_count = prediction.link_count = 0;
	const struct prediction *list[] = {&prediction};
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_JSONL, list, 1);
	CHECK_TEXT(
		capture_end(&capture),
		"{\"case\": \"same_lan, \\\"16\\\"\", \"verdict\": \"fail\", "
		"\"reason\": \"connection timeout\", " NO_ESTIMATE(
			"throughput",
			"images/s") ", " NO_ESTIMATE("step",
						     "s") ", " NO_ESTIMATE("ratio",
									   "") ", " NO_ESTIMATE("gp"
												"u_"
												"ut"
												"il"
												"iz"
												"at"
												"io"
												"n",
												"") ", "
												    "\"breakdown\": {\"kernel\": null, \"call issue\": null}, "
												    "\"bottleneck\": \"network\", \"events\": 12345678901, \"parameters\": [], "
												    "\"seed\": 1, \"version\": \"" FARWIRE_VERSION
												    "\", \"draws\": 64, "
												    "\"calls\": null, \"polls\": null, \"retransmission_timeouts\": null, "
												    "\"connect\": null, \"clients\": [], \"links\": []}\n");
	free(capture.text);
}

static void csv(void)
{
	struct capture capture;
	struct prediction good = sample();
	struct prediction bad = sample();
	bad.name = "far";
	bad.ok = false;
	bad.reason = "timeout";
	bad.breakdown_count = 0;
	const struct prediction *list[] = {&good, &bad};
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_CSV, list, 2);
	CHECK_TEXT(capture_end(&capture),
		   "case,verdict,reason,throughput_images_per_s,throughput_images_per_s_low,"
		   "throughput_images_per_s_high,step_s,step_s_low,step_s_high,ratio,ratio_low,"
		   "ratio_high,gpu_utilization,gpu_utilization_low,gpu_utilization_high,"
		   "bottleneck,events,seed,version,draws,kernel_s,call_issue_s\r\n"
		   "\"same_lan, \"\"16\"\"\",ok,,36.5,36,37,0.5,0.25,0.75,,,,0.5,0.5,0.5,"
		   "network,12345678901,1," FARWIRE_VERSION ",64,0.375,0.125\r\n"
		   "far,fail,timeout,,,,,,,,,,,,,network,12345678901,1," FARWIRE_VERSION
		   ",64,,\r\n");
	free(capture.text);
}

/* The numbers that a reader looks for, without the layout. */
static void table_for_people(void)
{
	struct capture capture;
	struct prediction prediction = sample();
	const struct prediction *list[] = {&prediction, &prediction};
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_TABLE, list, 1);
	const char *text = capture_end(&capture);
	CHECK(strstr(text, "36.50 (36.00..37.00)") != NULL);
	CHECK(strstr(text, "50.0 %") != NULL);
	CHECK(strstr(text, "75.0 %") != NULL); /* the kernels' share: 0.375 of 0.5 */
	CHECK(strstr(text, "wire client>server") != NULL);
	CHECK(strstr(text, "64 draws") != NULL);
	CHECK(strstr(text, "nan") == NULL);
	free(capture.text);

	prediction.ok = false;
	prediction.reason = "connection timeout";
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_TABLE, list, 2);
	text = capture_end(&capture);
	CHECK(strstr(text, "FAIL: connection timeout") != NULL);
	CHECK(strstr(text, "36.5") == NULL);
	CHECK(strstr(text, "where a step's time goes") == NULL);
	free(capture.text);
}

static void numbers_read_back(void)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {{0.1, "0.1"},
		    {1.0 / 3, "0.3333333333333333"},
		    {0.1 + 0.2, "0.30000000000000004"},
		    {1e300, "1e+300"},
		    {42, "42"},
		    {NAN, "null"},
		    {-INFINITY, "null"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct capture capture;
		capture_begin(&capture);
		jw_number(capture.file, rows[i].value);
		CHECK_TEXT(capture_end(&capture), rows[i].text);
		free(capture.text);
	}
}

static void strings_are_utf8(void)
{
	static const struct {
		const char *text, *json;
	} rows[] = {{"a\"b\\c\n\x01", "\"a\\\"b\\\\c\\n\\u0001\""},
		    {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		     "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
		    {"x\xffy", "\"x\\ufffdy\""},
		    {"\xc0\xaf", "\"\\ufffd\\ufffd\""},            /* overlong */
		    {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
		    {"cut \xe2\x82", "\"cut \\ufffd\\ufffd\""}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct capture capture;
		capture_begin(&capture);
		jw_string(capture.file, rows[i].text);
		CHECK_TEXT(capture_end(&capture), rows[i].json);
		free(capture.text);
	}
}

static void result_tables(void)
{
	static const struct result_column columns[] = {
		{.name = "rtt_s", .quantity = QUANTITY_TIME},
		{.name = "ratio", .quantity = QUANTITY_RATIO, .interval = true},
		{.name = "verdict", .text = true}};
	struct result_cell cells[] = {
		{.number = {2e-5, NAN, NAN}}, {.number = {0.5, 0.25, 0.75}}, {.text = "ok"},
		{.number = {0.5, NAN, NAN}},  {.number = {NAN, NAN, NAN}},   {.text = NULL}};
	const struct result_table table = {"rtt", "Ratio over RTT", columns, 3, cells, 2};
	struct capture capture;
	capture_begin(&capture);
	result_table_write(capture.file, FORMAT_CSV, &table);
	CHECK_TEXT(capture_end(&capture), "rtt_s,ratio,ratio_low,ratio_high,verdict\r\n"
					  "2e-05,0.5,0.25,0.75,ok\r\n"
					  "0.5,,,,\r\n");
	free(capture.text);
	capture_begin(&capture);
	result_table_write(capture.file, FORMAT_JSONL, &table);
	CHECK_TEXT(capture_end(&capture),
		   "{\"rtt_s\": 2e-05, \"ratio\": {\"value\": 0.5, \"low\": 0.25, \"high\": 0.75}, "
		   "\"verdict\": \"ok\"}\n"
		   "{\"rtt_s\": 0.5, \"ratio\": {\"value\": null, \"low\": null, \"high\": null}, "
		   "\"verdict\": null}\n");
	free(capture.text);
	capture_begin(&capture);
	result_table_write(capture.file, FORMAT_JSON, &table);
	const char *text = capture_end(&capture);
	CHECK(strstr(text, "\"columns\": [\n    {\"name\": \"rtt_s\", \"unit\": \"s\"},\n") !=
	      NULL);
	free(capture.text);
	capture_begin(&capture);
	result_table_write(capture.file, FORMAT_TABLE, &table);
	text = capture_end(&capture);
	CHECK(strstr(text, "20 us") != NULL);
	CHECK(strstr(text, "0.5 (0.25..0.75)") != NULL);
	CHECK(strstr(text, "rtt_s") == NULL);
	free(capture.text);
}

/* On the wire, b overlaps a and goes to a lane of its own; c is inside b's
 * time but nests in a, which still lasts; d starts when a ends. */
static void trace_lanes(void)
{
	struct arena *arena = arena_new();
	struct trace *trace = trace_new(arena);
	uint32_t gpu = trace_track(trace, "gpu0", "stream 1");
	uint32_t wire = trace_track(trace, "wire", "client>server");
	trace_span(trace, wire, SPAN_WIRE, "a", 0, 10000000);
	trace_span(trace, wire, SPAN_WIRE, "b", 5000000, 12000000);
	trace_span(trace, wire, SPAN_WIRE, "c", 6000000, 9000001);
	trace_span(trace, wire, SPAN_WIRE, "d", 10000000, 11000000);
	trace_span(trace, gpu, SPAN_KERNEL, "k", 1, 2);
	struct capture capture;
	capture_begin(&capture);
	trace_write(capture.file, trace);
	const char *text = capture_end(&capture);
#define NAMES(pid, tid, group, track)                                                              \
	"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": " pid ", \"tid\": " tid              \
	", \"args\": {\"name\": \"" group "\"}},\n"                                                \
	"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " pid ", \"tid\": " tid               \
	", \"args\": {\"name\": \"" track "\"}},\n"
#define SPAN(name, kind, pid, tid, ts, dur)                                                        \
	"{\"ph\": \"X\", \"name\": \"" name "\", \"cat\": \"" kind "\", \"pid\": " pid             \
	", \"tid\": " tid ", \"ts\": " ts ", \"dur\": " dur "}"
	CHECK_TEXT(
		strstr(text, "[\n"),
		"[\n" NAMES("2", "1", "wire", "client>server") NAMES(
			"1", "2", "gpu0", "stream 1") NAMES("2", "3", "wire", "client>server #2")
			SPAN("a", "wire", "2", "1", "0.000000", "10.000000") ",\n" SPAN(
				"k", "kernel", "1", "2", "0.000001",
				"0.000001") ",\n" SPAN("b", "wire", "2", "3", "5.000000",
						       "7.000000") ",\n" SPAN("c", "wire", "2", "1",
									      "6.000000",
									      "3.000001") ","
											  "\n" SPAN(
												  "d",
												  "wire",
												  "2",
												  "1",
												  "10.000000",
												  "1.000000") "\n]}\n");
	free(capture.text);
	arena_free(arena);
}

struct wire_params {
	double delay_s;
	bool lossy;
};
static const struct param_row wire_rows[] = {
	PARAM_NUMBER(struct wire_params, delay_s, QUANTITY_TIME, 0, 1, "5 us", "one way", "a book"),
	PARAM_BOOL(struct wire_params, lossy, "false", "loses packets", "assumption: tidy"),
};
static const struct param_table wire_table = PARAM_TABLE("wire", struct wire_params, wire_rows);

static void parameters_with_origin(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct cfg_resolution *resolution = cfg_resolution_new(arena);
	cfg_override(resolution, diag, (struct origin){NULL, 0}, "wire.lossy=true");
	struct wire_params params;
	CHECK(cfg_params(resolution, arena, diag, NULL, "wire", "link 'wire'", &wire_table, NULL, 0,
			 &params));
	struct capture capture;
	capture_begin(&capture);
	struct json_writer json = jw_begin(capture.file, false);
	resolution_json(&json, NULL, resolution);
	jw_end(&json);
	const char *text = capture_end(&capture);
	const char *delay = "[{\"key\": \"wire.delay\", \"value\": 5e-06, \"unit\": \"s\", "
			    "\"origin\": \"default\", \"low\": 5e-06, \"high\": 5e-06, ";
	const char *lossy = "{\"key\": \"wire.lossy\", \"value\": true, \"unit\": null, "
			    "\"origin\": \"--set\", ";
	CHECK(strncmp(text, delay, strlen(delay)) == 0);
	CHECK(strstr(text, lossy) != NULL);
	free(capture.text);
	arena_free(arena);
}

static void saved_predictions_read_back(void)
{
	static const enum output_format formats[] = {FORMAT_JSON, FORMAT_JSONL};
	char path[] = "/tmp/farwire-test-XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	struct arena *arena = arena_new();
	struct prediction good = sample();
	struct prediction bad = sample();
	bad.ok = false;
	bad.reason = "no route";
	const struct prediction *list[] = {&good, &bad};
	for (size_t i = 0; i < 2; i++) {
		FILE *file = fopen(path, "w");
		predictions_write(file, formats[i], list, 2);
		fclose(file);
		struct diag *diag = diag_new(arena);
		size_t count = 0;
		const struct prediction *const *back = predictions_read(arena, diag, path, &count);
		if (!CHECK(back != NULL && count == 2))
			continue;
		struct capture was, is;
		capture_begin(&was);
		predictions_write(was.file, FORMAT_JSON, list, 2);
		capture_begin(&is);
		predictions_write(is.file, FORMAT_JSON, back, count);
		capture_end(&was);
		CHECK_TEXT(capture_end(&is), was.text);
		free(was.text);
		free(is.text);
	}
	unlink(path);
	arena_free(arena);
}

static void bad_files_are_refused(void)
{
	static const struct {
		const char *text, *complaint;
	} rows[] = {
		{"", "holds no prediction"},
		{"[\n\n{\"case\": \"a\" \"b\"}]", ":3: is no JSON"},
		{"[]", "holds no prediction"},
		{"{\"datasets\": []}", "'case': is no text"},
		{"{\"case\": \"a\", \"verdict\": \"maybe\"}", "neither 'ok' nor 'fail'"},
		{"[1]", "'case'"},
	};
	char path[] = "/tmp/farwire-test-XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	struct arena *arena = arena_new();
	size_t count;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		FILE *file = fopen(path, "w");
		fputs(rows[i].text, file);
		fclose(file);
		struct diag *diag = diag_new(arena);
		CHECK(predictions_read(arena, diag, path, &count) == NULL);
		if (CHECK(diag_count(diag) > 0))
			CHECK(strstr(diag_at(diag, 0), rows[i].complaint) != NULL);
	}
	unlink(path);
	struct diag *diag = diag_new(arena);
	CHECK(predictions_read(arena, diag, path, &count) == NULL);
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "No such file") != NULL);
	diag = diag_new(arena);
	CHECK(predictions_read(arena, diag, "/", &count) == NULL);
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "directory") != NULL);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(json_lines),
	TEST(failed_verdict_has_nulls),
	TEST(csv),
	TEST(table_for_people),
	TEST(numbers_read_back),
	TEST(strings_are_utf8),
	TEST(result_tables),
	TEST(trace_lanes),
	TEST(parameters_with_origin),
	TEST(saved_predictions_read_back),
	TEST(bad_files_are_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
