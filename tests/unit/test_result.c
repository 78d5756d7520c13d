/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact output of the writers, because other programs read it. */
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
	static struct job_prediction client = {.name = "trainer",
					       .gpu = "gpu0",
					       .ok = true,
					       .throughput = {36.5, 36, 37},
					       .ratio = {0.9, 0.875, 0.925},
					       .step_s = {0.5, 0.25, 0.75},
					       .gpu_utilization = {0.5, 0.5, 0.5},
					       .elapsed_s = {NAN, NAN, NAN}};
	static struct link_prediction link = {"wire client>server", 0.125, 1e6};
	static struct breakdown_part parts[] = {{"kernel", 0.375}, {"call issue", 0.125}};
	return (struct prediction){.name = "same_lan, \"16\"",
				   .setup = {"gpt2", "pytorch-amp", "fp16", "rcuda",
					     .transport = "tcp", .counted = "sequences"},
				   .ok = true,
				   .throughput = {36.5, 36, 37},
				   .token_throughput = {730, 720, 740},
				   .step_s = {0.5, 0.25, 0.75},
				   .ratio = {NAN, NAN, NAN},
				   .gpu_utilization = {0.5, 0.5, 0.5},
				   .breakdown = parts,
				   .breakdown_count = 2,
				   .bottleneck = "network",
				   .remedy = "less latency",
				   .jobs = &client,
				   .job_count = 1,
				   .links = &link,
				   .link_count = 1,
				   .seed = 1,
				   .events_count = 12345678901,
				   .calls_count = 7,
				   .polls_count = 3,
				   .gpu_token_throughput = {365, 360, 370},
				   .model_flops = {2000, 1000, 3000},
				   .mfu = {0.5, 0.25, 0.75},
				   .hfu = {0.625, 0.5, 0.75},
				   .memory_B = 4e10,
				   .memory_lacking_B = 5e9,
				   .retransmission_timeouts = 0.1,
				   .connect_s = 0.001,
				   .draws_count = 64,
				   .failed_draws_count = 3};
}

/* JSON, written here with ' in place of ". */
static const char *json_of(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text);
	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

#define SETUP                                                                                      \
	"'network': 'gpt2', 'stack': 'pytorch-amp', 'precision': 'fp16', 'runtime': 'rcuda', "     \
	"'exchange': null, 'library': null, 'transport': "
#define NONE(unit) "{'value': null, 'low': null, 'high': null, 'unit': '" unit "'}, "
#define LONG_RUN                                                                                   \
	"'goodput_ratio': " NONE("") "'failures': " NONE("") "'gpu_hours': " NONE(                 \
		"GPU-hours") "'spare_machines': null, 'lost_by_cause': {}, 'checkpoint': {}, "
#define MEMORY "'memory': null, 'memory_lacking': null, "
/* Fields of predictions without a job, with the quantities of tokens and without them. */
#define NO_JOB(quantities)                                                                         \
	"'gpus': null, 'speedup': " NONE("") "'training': " NONE("s") "'elapsed': " NONE(          \
		"s") "'phases': {}, " LONG_RUN                                                     \
		     "'collectives': null, 'communication': null, " quantities MEMORY              \
		     "'collective': null, 'choice': null, 'stages': [], "
static const char no_job[] =
	NO_JOB("'tokens_per_s_gpu': {'value': 365, 'low': 360, 'high': 370, 'unit': 'tokens/s'}, "
	       "'model_flops_gpu': {'value': 2000, 'low': 1000, 'high': 3000, 'unit': 'FLOP/s'}, "
	       "'mfu': {'value': 0.5, 'low': 0.25, 'high': 0.75, 'unit': ''}, "
	       "'hfu': {'value': 0.625, 'low': 0.5, 'high': 0.75, 'unit': ''}, ");
static const char no_tokens[] = NO_JOB("'tokens_per_s_gpu': " NONE(
	"tokens/s") "'model_flops_gpu': " NONE("FLOP/s") "'mfu': " NONE("") "'hfu': " NONE(""));

static void json_lines_have_every_field(void)
{
	static const char expected[] =
		"{'case': 'same_lan, \\'16\\'', " SETUP
		"'tcp', 'counted': 'sequences', 'devices': null, 'adapters': null, 'local': null, "
		"'verdict': 'ok', 'reason': null, "
		"'throughput': {'value': 36.5, 'low': 36, 'high': 37, 'unit': 'sequences/s'}, "
		"'tokens_per_s': {'value': 730, 'low': 720, 'high': 740, 'unit': 'tokens/s'}, "
		"'step': {'value': 0.5, 'low': 0.25, 'high': 0.75, 'unit': 's'}, "
		"'ratio': {'value': null, 'low': null, 'high': null, 'unit': ''}, "
		"'gpu_utilization': {'value': 0.5, 'low': null, 'high': null, 'unit': ''}, "
		"'breakdown': {'kernel': 0.375, 'call issue': 0.125}, 'waits': {}, "
		"'bottleneck': 'network', 'remedy': 'less latency', 'without_effect': null, "
		"'idle_adapters': null, 'events': 12345678901, 'parameters': [], 'seed': 1, "
		"'version': '" FARWIRE_VERSION
		"', 'draws': 64, 'failed_draws': 3, 'calls': 7, 'calls_by_kind': {}, 'polls': 3, "
		"'retransmission_timeouts': 0.1, 'connect': 0.001, 'evidence': null, "
		"'interval_from': null, 'drawn': {}, 'errors': [], %s"
		"'clients': [{'client': 'trainer', 'gpu': 'gpu0', 'verdict': 'ok', 'reason': null, "
		"'throughput': {'value': 36.5, 'low': 36, 'high': 37, 'unit': 'sequences/s'}, "
		"'step': {'value': 0.5, 'low': 0.25, 'high': 0.75, 'unit': 's'}, "
		"'ratio': {'value': 0.9, 'low': 0.875, 'high': 0.925, 'unit': ''}, "
		"'gpu_utilization': {'value': 0.5, 'low': null, 'high': null, 'unit': ''}, "
		"'elapsed': {'value': null, 'low': null, 'high': null, 'unit': 's'}}], "
		"'waiting_calls': [], 'links': [{'link': 'wire client>server', 'utilization': "
		"0.125, "
		"'carried_B': 1000000}]}\n";
	struct arena *arena = arena_new();
	struct capture capture;
	struct prediction prediction = sample();
	const struct prediction *list[] = {&prediction};
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_JSONL, list, 1);
	CHECK_TEXT(capture_end(&capture), json_of(arena, arena_printf(arena, expected, no_job)));
	free(capture.text);
	arena_free(arena);
}

static void failed_prediction_has_null_numbers(void)
{
	static const char expected[] =
		"{'case': 'same_lan, \\'16\\'', " SETUP
		"null, 'counted': 'sequences', 'devices': null, 'adapters': null, 'local': null, "
		"'verdict': 'fail', 'reason': 'connection "
		"timeout', "
		"'throughput': {'value': null, 'low': null, 'high': null, 'unit': 'sequences/s'}, "
		"'tokens_per_s': {'value': null, 'low': null, 'high': null, 'unit': 'tokens/s'}, "
		"'step': {'value': null, 'low': null, 'high': null, 'unit': 's'}, "
		"'ratio': {'value': null, 'low': null, 'high': null, 'unit': ''}, "
		"'gpu_utilization': {'value': null, 'low': null, 'high': null, 'unit': ''}, "
		"'breakdown': {'kernel': null, 'call issue': null}, 'waits': {}, "
		"'bottleneck': 'network', 'remedy': 'less latency', 'without_effect': null, "
		"'idle_adapters': null, 'events': 12345678901, 'parameters': [], 'seed': 1, "
		"'version': '" FARWIRE_VERSION "', 'draws': 64, 'failed_draws': 3, 'calls': null, "
		"'calls_by_kind': {}, 'polls': null, "
		"'retransmission_timeouts': null, 'connect': null, 'evidence': null, "
		"'interval_from': null, 'drawn': {}, 'errors': [], %s'clients': "
		"[], 'waiting_calls': [], 'links': []}\n";
	struct arena *arena = arena_new();
	struct capture capture;
	struct prediction prediction = sample();
	prediction.ok = false;
	prediction.reason = "connection timeout";
	prediction.setup.transport = NULL;
	prediction.job_count = prediction.link_count = 0;
	const struct prediction *list[] = {&prediction};
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_JSONL, list, 1);
	CHECK_TEXT(capture_end(&capture), json_of(arena, arena_printf(arena, expected, no_tokens)));
	free(capture.text);
	arena_free(arena);
}

/* A job on 8 GPUs, and a collective on 8 GPUs. */
static struct prediction sample_job(bool collective)
{
	struct prediction p = sample();
	p.name = collective ? "alone" : "train";
	p.gpu_count = 8;
	p.ratio = collective ? (struct estimate){NAN, NAN, NAN} : (struct estimate){0.9, 0.8, 1};
	p.speedup = collective ? p.ratio : (struct estimate){7.2, 6.4, 8};
	p.training_s = collective ? p.ratio : (struct estimate){7200, 7000, 7500};
	p.elapsed_s = p.training_s;
	p.goodput_ratio = collective ? p.ratio : (struct estimate){0.5, 0.25, 0.75};
	p.failures_count = collective ? p.ratio : (struct estimate){3, 2, 5};
	p.gpu_hours = collective ? p.ratio : (struct estimate){20, 18, 22};
	p.spares_count = 1;
	static const struct breakdown_part steps = {"steps", 7200};
	p.phases = &steps;
	p.phase_count = !collective;
	p.communication_s = collective ? NAN : 0.25;
	p.collective = collective ? "all_reduce, 1 MiB" : NULL;
	p.choice = "ring, LL128, 24 channels";
	p.throughput = collective ? (struct estimate){2e11, 1.5e11, 2.5e11} : p.throughput;
	return p;
}

static void jobs_have_their_fields_in_json_and_csv(void)
{
	struct prediction job = sample_job(false), collective = sample_job(true);
	const struct prediction *list[] = {&job, &collective};
	struct arena *arena = arena_new();
	struct capture capture;
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_JSONL, list, 2);
	const char *text = capture_end(&capture);
	CHECK(strstr(text, json_of(arena, "'gpus': 8, 'speedup': {'value': 7.2, 'low': 6.4, "
					  "'high': 8, 'unit': ''}, 'training': {'value': 7200, "
					  "'low': 7000, 'high': 7500, 'unit': 's'}, 'elapsed': "
					  "{'value': 7200, 'low': 7000, 'high': 7500, "
					  "'unit': 's'}, 'phases': {'steps': 7200}, "
					  "'goodput_ratio': {'value': 0.5, 'low': 0.25, 'high': "
					  "0.75, 'unit': ''}, 'failures': {'value': 3, ")));
	CHECK(strstr(text, json_of(arena, "'spare_machines': 1, 'lost_by_cause': {}, ")));
	CHECK(strstr(text, json_of(arena, "'memory': 40000000000, 'memory_lacking': 5000000000")));
	CHECK(strstr(text, "\"low\": 150000000000, \"high\": 250000000000, \"unit\": \"B/s\""));
	CHECK(strstr(text, json_of(arena, "'collective': 'all_reduce, 1 MiB'")));
	free(capture.text);
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_CSV, list, 2);
	text = capture_end(&capture);
	CHECK(strstr(text, "train,ok,,36.5,36,37,") != NULL);
	CHECK(strstr(text, ",64,8,7.2,6.4,8,7200,7000,7500,7200,7000,7500,0.5,0.25,0.75,3,2,5,20,"
			   "18,22,0.25,365,360,370,"
			   "2000,1000,3000,0.5,0.25,0.75,0.625,0.5,0.75,40000000000,,,,,"
			   "\"ring, LL128, 24 channels\",") != NULL);
	CHECK(strstr(text, "alone,ok,,,,,0.5,") != NULL); /* a collective has no images */
	CHECK(strstr(text, ",64,8,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\"all_reduce, 1 "
			   "MiB\",200000000000,150000000000,"
			   "250000000000,\"ring, LL128, 24 channels\",") != NULL);
	free(capture.text);
	arena_free(arena);
}

/* Returns the table of one prediction. The caller frees it. */
static char *table_of(const struct prediction *prediction, bool links)
{
	struct capture capture;
	capture_begin(&capture);
	predictions_table(capture.file, &prediction, 1, 0, links);
	capture_end(&capture);
	return capture.text;
}

/* Each kind has its own columns and none of the other kind. */
static void table_of_jobs_has_the_columns_of_its_kind(void)
{
	struct prediction remote = sample(), job = sample_job(false), collective = sample_job(true);
	const struct prediction *both[] = {&remote, &job};
	struct capture capture;
	const char *text = capture.text = table_of(&job, false);
	CHECK(strstr(text, "efficiency") && strstr(text, "7.20 (6.40..8.00)"));
	CHECK(strstr(text, "training time: 2.00 h (1.94..2.08)"));
	CHECK(strstr(text, "collectives run for 250 ms of a step; exposed communication is "));
	CHECK(strstr(text, "at once: ring, LL128, 24 channels"));
	CHECK(!strstr(text, "ratio") && !strstr(text, "calls") && !strstr(text, "bus bandwidth"));
	free(capture.text);
	text = capture.text = table_of(&collective, false);
	CHECK(strstr(text, "bus bandwidth") && strstr(text, "200 GB/s"));
	CHECK(strstr(text, "all_reduce, 1 MiB: ring, LL128, 24 channels"));
	CHECK(!strstr(text, "images/s") && !strstr(text, "efficiency"));
	CHECK(!strstr(text, "bottleneck"));
	free(capture.text);
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_TABLE, both, 2);
	text = capture_end(&capture);
	CHECK(strstr(text, "ratio") && strstr(text, "efficiency") && strstr(text, "GPUs"));
	free(capture.text);
}

/* The table shows the 40 busiest of 1,000 links, the busiest first; a few links are all shown in
 * their order. Without --links there are none. */
static void table_shows_the_busiest_forty_links(void)
{
	enum { LINKS = 1000 };
	struct arena *arena = arena_new();
	struct prediction p = sample();
	struct link_prediction *links = ARENA_ARRAY(arena, LINKS, struct link_prediction);
	for (size_t i = 0; i < LINKS; i++)
		links[i] = (struct link_prediction){arena_printf(arena, "cable%zu.", i),
						    (double)((i * 617) % LINKS) / LINKS, 1};
	p.links = links, p.link_count = LINKS;
	char *all = table_of(&p, true), *none = table_of(&p, false);
	p.link_count = 40;
	char *few = table_of(&p, true);
	const char *most = strstr(all, "99.9 %"), *next = strstr(all, "99.8 %");
	CHECK(most && next && most < next && next < strstr(all, "96.0 %"));
	CHECK(!strstr(all, "95.9 %") && strstr(all, "the 40 most used of 1000 links"));
	CHECK(strstr(few, "cable0.") < strstr(few, "cable1."));
	CHECK(strstr(few, "cable1.") < strstr(few, "cable2.") && !strstr(few, "most used"));
	CHECK(!strstr(none, "cable"));
	free(all), free(none), free(few);
	arena_free(arena);
}

static void csv_quotes_texts_and_leaves_failures_empty(void)
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
		   "case,verdict,reason,throughput_samples_per_s,throughput_samples_per_s_low,"
		   "throughput_samples_per_s_high,step_s,step_s_low,step_s_high,ratio,ratio_low,"
		   "ratio_high,gpu_utilization,gpu_utilization_low,gpu_utilization_high,"
		   "bottleneck,events,seed,version,draws,gpus,speedup,speedup_low,speedup_high,"
		   "training_s,training_s_low,training_s_high,elapsed_s,elapsed_s_low,"
		   "elapsed_s_high,goodput_ratio,goodput_ratio_low,goodput_ratio_high,failures,"
		   "failures_low,failures_high,gpu_hours,gpu_hours_low,gpu_hours_high,"
		   "communication_s,tokens_per_s_gpu,"
		   "tokens_per_s_gpu_low,tokens_per_s_gpu_high,model_flops_gpu,"
		   "model_flops_gpu_low,model_flops_gpu_high,mfu,mfu_low,mfu_high,"
		   "hfu,hfu_low,hfu_high,memory_B,collective,"
		   "bus_bandwidth_Bps,bus_bandwidth_Bps_low,bus_bandwidth_Bps_high,choice,"
		   "kernel_s,call_issue_s\r\n"
		   "\"same_lan, \"\"16\"\"\",ok,,36.5,36,37,0.5,0.25,0.75,,,,0.5,,,"
		   "network,12345678901,1," FARWIRE_VERSION
		   ",64,,,,,,,,,,,,,,,,,,,,,365,360,370,2000,1000,3000,0.5,0.25,0.75,0.625,0.5,0."
		   "75,,,,,,,0."
		   "375,0.125\r\n"
		   "far,fail,timeout,,,,,,,,,,,,,network,12345678901,1," FARWIRE_VERSION
		   ",64,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n");
	free(capture.text);
}

/* The table has the numbers that a reader needs, in any layout. */
static void table_contains_the_main_numbers(void)
{
	struct capture capture;
	struct prediction prediction = sample();
	const struct prediction *list[] = {&prediction, &prediction};
	char *one = table_of(&prediction, false);
	const char *text = one;
	CHECK(strstr(text,
		     "36.50 (36.00..37.00) sequences/s\nsetup: network gpt2; stack "
		     "pytorch-amp (fp16); runtime rcuda; transport tcp\nbottleneck: network\n"));
	CHECK(strstr(text, "would help: less latency\n") != NULL);
	CHECK(strstr(text, "730.0 (720.0..740.0) tokens/s") != NULL);
	/* the kernels' share: 0.375 of 0.5 */
	CHECK(strstr(text, "50.0 %") && strstr(text, "75.0 %"));
	CHECK(strstr(text, "64 draws") && strstr(text, "3 of the draws fail"));
	CHECK(strstr(text, "nan") == NULL);
	free(one);
	prediction.ok = false;
	prediction.reason = "connection timeout";
	capture_begin(&capture);
	predictions_write(capture.file, FORMAT_TABLE, list, 2);
	text = capture_end(&capture);
	CHECK(strstr(text, "failed: connection timeout [1]\n\n[1] connection timeout\n") != NULL);
	CHECK(strstr(text, "36.5") == NULL);
	CHECK(strstr(text, "part of the step") == NULL);
	free(capture.text);
}

static void written_numbers_read_back_exactly(void)
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

static void invalid_utf8_is_replaced(void)
{
	static const struct {
		const char *text, *json;
	} rows[] = {{"a\"b\\c\n\x01", "\"a\\\"b\\\\c\\n\\u0001\""},
		    {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		     "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
		    /* invisible: right-to-left override, a tag above U+FFFF, C1 control */
		    {"a\xe2\x80\xae\xf3\xa0\x80\x81\xc2\x85", "\"a\\u202e\\udb40\\udc01\\u0085\""},
		    {"x\xffy", "\"x\\ufffdy\""},
		    {"\xc0\xaf", "\"\\ufffd\\ufffd\""},            /* overlong */
		    {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
		    {"cut \xe2\x82", "\"cut \\ufffd\\ufffd\""}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct capture capture;
		capture_begin(&capture);
		struct json_writer json = jw_begin(capture.file, JSON_LINE);
		jw_text(&json, NULL, rows[i].text);
		CHECK_TEXT(capture_end(&capture), rows[i].json);
		free(capture.text);
	}
}

static void json_has_a_line_for_each_value_of_a_filled_level(void)
{
	struct capture capture;
	capture_begin(&capture);
	struct json_writer json = jw_begin(capture.file, JSON_PRETTY);
	jw_open(&json, NULL, '{');
	jw_open(&json, "empty", '[');
	jw_close(&json);
	jw_open(&json, "list", '[');
	jw_count(&json, NULL, 1);
	jw_close(&json);
	jw_open_flat(&json, "line", '{');
	jw_count(&json, "x", 2);
	jw_count(&json, "y", 3);
	jw_close(&json);
	jw_close(&json);
	jw_end(&json);
	CHECK_TEXT(capture_end(&capture), "{\n"
					  "  \"empty\": [],\n"
					  "  \"list\": [\n"
					  "    1\n"
					  "  ],\n"
					  "  \"line\": {\"x\": 2, \"y\": 3}\n"
					  "}\n");
	free(capture.text);
}

static void samples_are_images_or_sequences(void)
{
	const struct prediction image = {.ok = true},
				sequence = {.ok = true, .setup.counted = "sequences"},
				failed = {.setup.counted = "sequences"};
	const struct prediction *const predictions[] = {&image, &image, &sequence, &sequence,
							&failed};
	CHECK_TEXT(throughput_unit(predictions, 2), "images/s");
	CHECK_TEXT(throughput_unit(predictions + 1, 2), "samples/s");
	CHECK_TEXT(throughput_unit(predictions + 2, 2), "sequences/s");
	CHECK_TEXT(throughput_unit(predictions + 2, 3), "sequences/s");
	CHECK_TEXT(throughput_unit(predictions + 4, 1), "sequences/s");
}

/* On the wire, b overlaps a and gets its own lane; c is inside b's time but nests in a, which is
 * still running; d starts when a ends. k begins and ends in nanoseconds 1 and 4. */
static void overlapping_spans_get_their_own_lane(void)
{
	struct arena *arena = arena_new();
	struct trace *trace = trace_new(arena);
	uint32_t gpu = trace_track(trace, "gpu0", "stream 1");
	uint32_t wire = trace_track(trace, "wire", "client>server");
	trace_span(trace, wire, SPAN_WIRE, "a", 0, 10000000);
	trace_span(trace, wire, SPAN_WIRE, "b", 5000000, 12000000);
	trace_span(trace, wire, SPAN_WIRE, "c", 6000000, 9000001);
	trace_span(trace, wire, SPAN_WIRE, "d", 10000000, 11000000);
	trace_span(trace, gpu, SPAN_KERNEL, "k", 1900, 4100);
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
			SPAN("a", "wire", "2", "1", "0.000", "10.000") ",\n" SPAN(
				"k", "kernel", "1", "2", "0.001",
				"0.003") ",\n" SPAN("b", "wire", "2", "3", "5.000",
						    "7.000") ",\n" SPAN("c", "wire", "2", "1",
									"6.000",
									"3.000") ","
										 "\n" SPAN(
											 "d",
											 "wire",
											 "2", "1",
											 "10.000",
											 "1.000") "\n]}\n");
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

static void parameters_are_written_with_their_origin(void)
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
	struct prediction prediction = sample();
	prediction.resolution = resolution;
	const struct prediction *list[] = {&prediction};
	predictions_write(capture.file, FORMAT_JSONL, list, 1);
	const char *text = capture_end(&capture);
	const char *delay =
		"\"parameters\": [{\"key\": \"wire.delay\", \"value\": 5e-06, \"unit\": \"s\", "
		"\"origin\": \"default\", \"low\": 5e-06, \"high\": 5e-06, ";
	const char *lossy = "{\"key\": \"wire.lossy\", \"value\": true, \"unit\": null, "
			    "\"origin\": \"--set\", ";
	CHECK(strstr(text, delay) != NULL);
	CHECK(strstr(text, lossy) != NULL);
	free(capture.text);
	arena_free(arena);
}

static void saved_predictions_read_back_equal(void)
{
	static const enum output_format formats[] = {FORMAT_JSON, FORMAT_JSONL};
	char path[] = "/tmp/farwire-test-XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	struct arena *arena = arena_new();
	struct prediction good = sample();
	struct prediction bad = sample();
	struct prediction job = sample_job(false), collective = sample_job(true);
	bad.ok = false;
	bad.reason = "no route";
	const struct prediction *list[] = {&good, &bad, &job, &collective};
	for (size_t i = 0; i < 2; i++) {
		FILE *file = fopen(path, "w");
		predictions_write(file, formats[i], list, 4);
		fclose(file);
		struct diag *diag = diag_new(arena);
		size_t count = 0;
		const struct prediction *const *back = predictions_read(arena, diag, path, &count);
		if (!CHECK(back != NULL && count == 4))
			continue;
		struct capture was, is;
		capture_begin(&was);
		predictions_write(was.file, FORMAT_JSON, list, 4);
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

static const struct test tests[] = {
	TEST(json_lines_have_every_field),
	TEST(failed_prediction_has_null_numbers),
	TEST(jobs_have_their_fields_in_json_and_csv),
	TEST(table_of_jobs_has_the_columns_of_its_kind),
	TEST(table_shows_the_busiest_forty_links),
	TEST(csv_quotes_texts_and_leaves_failures_empty),
	TEST(table_contains_the_main_numbers),
	TEST(written_numbers_read_back_exactly),
	TEST(invalid_utf8_is_replaced),
	TEST(json_has_a_line_for_each_value_of_a_filled_level),
	TEST(samples_are_images_or_sequences),
	TEST(overlapping_spans_get_their_own_lane),
	TEST(parameters_are_written_with_their_origin),
	TEST(saved_predictions_read_back_equal),
};

int main(void)
{
	return TEST_MAIN(tests);
}
