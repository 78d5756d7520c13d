/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads results of benchmarks of model servers, and writes a dataset (docs/datasets.md):
 *
 *   vLLM         JSON of `vllm bench serve --save-result` and of the older benchmark_serving.py
 *                (vllm-project/vllm, vllm/benchmarks/serve.py)
 *   SGLang       JSON Lines of bench_serving (sgl-project/sglang, python/sglang/bench_serving.py)
 *   llama-bench  JSON, JSON Lines, CSV or the markdown table (ggml-org/llama.cpp,
 *                tools/llama-bench/README.md)
 *
 * Each statistic becomes a row that judges. None of these files states the GPU and its network in
 * farwire's words, so the user names them when the dataset is validated. */
#include "sim/import/reading.h"

enum { RESULTS_MAX = 2000, LENGTHS_MAX = 10000000, CELLS_MAX = 64 };

/* Tests of llama-bench have one sequence. A test is repeated, and the first times only fill the
 * cache with the tokens of the depth. */
enum { LLAMA_REQUESTS = 4, LLAMA_UBATCH = 512 };

struct serving_load { /* a benchmark's load; counts are of tokens */
	const char *engine, *model, *weights;
	double clients, rate, arrivals_spread, requests;
	double prompt, prompt_spread, output, output_spread, prefix, sequence;
};

struct serving_reader {
	struct reading reading;
	const char *path;
	int line;
	bool llama, served; /* there were results of llama-bench, or of servers */
	size_t result_count;
	const char *heads[CELLS_MAX]; /* of a table of llama-bench */
	size_t head_count;
};

static bool fail(struct serving_reader *r, const char *why)
{
	return diag_error(r->reading.diag, (struct origin){r->path, r->line},
			  "%s (import the unchanged results of one of vllm bench serve, "
			  "bench_serving of SGLang and llama-bench)",
			  why);
}

/* Returns a text as it can stand in a cell of a table and in quotes. */
static const char *cell_text(struct serving_reader *r, const char *text)
{
	char *cell = arena_strdup(r->reading.arena, reading_quote(&r->reading, text));
	for (char *c = cell; *c; c++)
		if (strchr("\"\\=", *c))
			*c = '?';
	return *cell ? cell : "unknown";
}

static void add_row(struct serving_reader *r, const struct serving_load *l, const char *metric,
		    double value)
{
	reading_line(&r->reading,
		     "\t\t, "
		     "\"test\\t%s\\t%s\\t%s\\t%.9g\\t%.9g\\t%.9g\\t%.9g\\t%.9g\\t%.6g\\t%.9g\\t%.6g"
		     "\\t%.9g\\t%.9g\\t%s\\t%.9g\"",
		     l->engine, l->model, l->weights, l->clients, l->rate, l->arrivals_spread,
		     l->requests, l->prompt, l->prompt_spread, l->output, l->output_spread,
		     l->prefix, l->sequence, metric, value);
	r->reading.used_count++;
}

static bool load_fits(struct serving_reader *r, const struct serving_load *l)
{
	bool fits = l->requests >= 1 && l->requests <= LENGTHS_MAX && l->prompt >= 1 &&
		    l->output >= 1 && l->prompt + l->output <= LENGTHS_MAX && l->rate > 0 &&
		    l->rate <= 1e9 && l->clients <= 1e6 && l->prefix >= 0;
	if (++r->result_count > RESULTS_MAX)
		return fail(r, "the files have more than 2000 results");
	return fits ||
	       fail(r, "a result has an impossible load: no requests or tokens, or too many");
}

/* ---- vLLM and SGLang ---- */

static double number_or(const struct json *object, const char *key, double without)
{
	double number;
	return json_number_of(json_member(object, key), &number) ? number : without;
}

/* Sets the mean of a list of lengths, and its standard deviation over the mean. Returns the
 * longest; 0 and no change if there is no list. */
static double take_lengths(const struct json *list, double *mean, double *spread)
{
	double sum = 0, squares = 0, most = 0, count = 0, length;
	for (size_t i = 0; i < json_size(list); i++)
		if (json_number_of(json_at(list, i), &length) && length >= 1) {
			sum += length;
			squares += length * length;
			most = fmax(most, length);
			count++;
		}
	if (!(count > 0))
		return 0;
	*mean = sum / count;
	*spread = sqrt(fmax(0, squares / count - *mean * *mean)) / *mean;
	return most;
}

/* Returns the spread of lengths that are uniform from `low` of the longest one to this one. */
static double uniform_spread(double low)
{
	return (1 - low) / sqrt(12) / ((1 + low) / 2);
}

static void take_statistics(struct serving_reader *r, const struct json *result,
			    const struct serving_load *l)
{
	static const char *const statistics[][2] = {{"mean", ""},    {"median", "_p50"},
						    {"p50", "_p50"}, {"p90", "_p90"},
						    {"p95", "_p95"}, {"p99", "_p99"}};
	static const char *const metrics[][2] = {{"ttft", "first_token"},
						 {"tpot", "token"},
						 {"e2el", "latency"},
						 {"e2e_latency", "latency"}};
	double value = number_or(result, "request_throughput", 0);
	struct arena *arena = r->reading.arena;
	if (value > 0)
		add_row(r, l, "throughput", value);
	for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++)
		for (size_t s = 0; s < sizeof statistics / sizeof statistics[0]; s++) {
			const char *key =
				arena_printf(arena, "%s_%s_ms", statistics[s][0], metrics[m][0]);
			bool again =
				s == 2 && json_member(result, arena_printf(arena, "median_%s_ms",
									   metrics[m][0]));
			value = number_or(result, key, 0);
			if (!(value > 0) || again || (m >= 2 && s == 0) ||
			    (m == 1 && l->output < 2))
				r->reading.skipped_count += value > 0;
			else
				add_row(r, l,
					arena_printf(arena, "%s%s", metrics[m][1],
						     statistics[s][1]),
					value);
		}
}

static const char *engine_of(const struct json *result)
{
	static const char *const engines[][2] = {{"sglang", "sglang"},
						 {"sgl", "sglang"},
						 {"trt", "tensorrt-llm"},
						 {"tensorrt", "tensorrt-llm"},
						 {"llama", "llama-cpp-rpc"}};
	const char *backend = json_text_of(json_member(result, "backend"));
	backend = backend ? backend : json_text_of(json_member(result, "endpoint_type"));
	for (size_t i = 0; backend && i < sizeof engines / sizeof engines[0]; i++)
		if (strstr(backend, engines[i][0]))
			return engines[i][1];
	return "vllm";
}

static bool take_served(struct serving_reader *r, const struct json *result)
{
	/* clients keep an open loop from its rate if less than this part of it is served */
	static const double SERVED_RATIO = 0.9;
	double completed = number_or(result, "completed", 0);
	double throughput = number_or(result, "request_throughput", 0);
	double range = number_or(result, "random_range_ratio", 1);
	double rate = number_or(result, "request_rate", INFINITY);
	double clients = number_or(result, "max_concurrency", 0);
	const char *model = json_text_of(json_member(result, "model_id"));
	struct serving_load l = {.engine = engine_of(result),
				 .model = cell_text(r, model ? model : "unknown"),
				 .weights = "auto",
				 .requests = completed,
				 .prompt = number_or(result, "total_input_tokens", 0) / completed,
				 .output = number_or(result, "total_output_tokens", 0) / completed};
	if (!(completed > 0))
		return fail(r, "a result has no completed requests");
	if (!(range >= 0 && range <= 1))
		return fail(r, "random_range_ratio is not from 0 to 1");
	l.prompt_spread = l.output_spread = uniform_spread(range);
	double longest =
		take_lengths(json_member(result, "input_lens"), &l.prompt, &l.prompt_spread) +
		take_lengths(json_member(result, "output_lens"), &l.output, &l.output_spread);
	if (!(longest > 0) && !json_member(result, "random_range_ratio"))
		reading_note(&r->reading,
			     "%s:%d: lengths are assumed to be equal, because the file has only "
			     "their sums (save them with --save-detailed or --output-details)",
			     r->path, r->line);
	l.sequence = fmax(ceil(longest), ceil(2 * (l.prompt + l.output)));
	bool limited = clients > 0 && !(throughput >= SERVED_RATIO * rate);
	l.clients = limited ? fmin(clients, completed) : isinf(rate) ? completed : 0;
	l.rate = isinf(rate) ? 1 : rate;
	/* vLLM draws gaps of a gamma distribution of this shape (get_request) */
	l.arrivals_spread = 1 / sqrt(fmax(1e-4, number_or(result, "burstiness", 1)));
	r->served = true;
	if (load_fits(r, &l))
		take_statistics(r, result, &l);
	return diag_count(r->reading.diag) == 0;
}

/* ---- llama-bench ---- */

/* Takes a test of prompt and output tokens behind `depth` others, at this many tokens/s. */
static bool take_llama(struct serving_reader *r, const char *model, double prompt, double output,
		       double depth, double per_s)
{
	static const char *const quantised[][2] = {
		{"Q4", "int4"}, {"IQ4", "int4"}, {"Q8", "int8"}, {"MXFP4", "mxfp4"}};
	if (!(per_s > 0) || !isfinite(per_s) || !(prompt >= 0 && output >= 0) ||
	    !(prompt + output >= 1))
		return fail(r, "a test of llama-bench lacks its tokens or its tokens/s");
	struct serving_load l = {.engine = "llama-cpp-rpc",
				 .model = cell_text(r, model),
				 .weights = "auto",
				 .clients = 1,
				 .rate = 1,
				 .requests = LLAMA_REQUESTS,
				 .prompt = fmax(1, depth + prompt),
				 .prefix = depth,
				 .output = output + 1, /* the first one follows the prompt */
				 .sequence = depth + prompt + output + 2};
	for (size_t i = 0; i < sizeof quantised / sizeof quantised[0]; i++)
		if (strstr(model, quantised[i][0]))
			l.weights = quantised[i][1];
	r->llama = true;
	if (!load_fits(r, &l))
		return false;
	double time_s = (prompt + output) / per_s;
	if (prompt > 0 && output > 0)
		add_row(r, &l, "latency_p50", 1e3 * time_s);
	else if (prompt > 0)
		add_row(r, &l, "first_token", 1e3 * time_s);
	else
		add_row(r, &l, "token", 1e3 / per_s);
	return true;
}

static bool take_value(struct serving_reader *r, const struct json *value)
{
	for (size_t i = 0; json_is(value, JP_ARRAY) && i < json_size(value); i++) {
		r->line = json_at(value, i)->line;
		if (!json_is(json_at(value, i), JP_OBJECT) || !take_value(r, json_at(value, i)))
			return diag_count(r->reading.diag) == 0
				       ? fail(r, "an object is expected here")
				       : false;
	}
	if (json_is(value, JP_ARRAY))
		return true;
	const char *model = json_text_of(json_member(value, "model_type"));
	if (json_member(value, "avg_ts") && model)
		return take_llama(r, model, number_or(value, "n_prompt", 0),
				  number_or(value, "n_gen", 0), number_or(value, "n_depth", 0),
				  number_or(value, "avg_ts", 0));
	if (json_member(value, "completed") && json_member(value, "total_input_tokens"))
		return take_served(r, value);
	return fail(r, "the value is not a result of a known benchmark");
}

static bool take_json(void *ctx, const struct json *value, struct origin origin)
{
	struct serving_reader *r = ctx;
	r->line = origin.line;
	return take_value(r, value);
}

static const char *column_of(const struct serving_reader *r, const char *const *cells,
			     const char *name)
{
	for (size_t i = 0; i < r->head_count; i++)
		if (strcmp(r->heads[i], name) == 0)
			return cells[i];
	return "";
}

/* Takes a row of the CSV: texts are in quotes. */
static bool take_csv(struct serving_reader *r, const char *const *cells)
{
	return take_llama(r, column_of(r, cells, "model_type"),
			  strtod(column_of(r, cells, "n_prompt"), NULL),
			  strtod(column_of(r, cells, "n_gen"), NULL),
			  strtod(column_of(r, cells, "n_depth"), NULL),
			  strtod(column_of(r, cells, "avg_ts"), NULL));
}

/* Takes a row of the table: its test is "pp512", "tg 128", "pp512+tg128" or "tg128 @ d4096". */
static bool take_markdown(struct serving_reader *r, const char *const *cells)
{
	const char *test = column_of(r, cells, "test"), *at = strchr(test, '@');
	const char *prompt = strstr(test, "pp"), *output = strstr(test, "tg");
	const char *depth = at ? strchr(at, 'd') : NULL;
	if (strncmp(test, "--", 2) == 0 || strncmp(test, ":-", 2) == 0)
		return true; /* the line below the heading */
	return take_llama(r, column_of(r, cells, "model"), prompt ? strtod(prompt + 2, NULL) : 0,
			  output ? strtod(output + 2, NULL) : 0,
			  depth ? strtod(depth + 1, NULL) : 0,
			  strtod(column_of(r, cells, "t/s"), NULL));
}

static bool take_table(struct serving_reader *r, bool csv)
{
	size_t size_B;
	char *text = reading_file(&r->reading, r->path, &size_B);
	struct lines *lines = text ? reading_lines(&r->reading, r->path, text) : NULL;
	r->head_count = 0;
	for (char *line; lines && (line = lines_next(lines));) {
		const char *cells[CELLS_MAX];
		r->line = lines->origin.line;
		if (!csv && line[0] != '|')
			continue; /* blank lines and the build number */
		size_t count = line[0] ? lines_cells(arena_strdup(r->reading.arena, line),
						     csv ? ',' : '|', cells, CELLS_MAX)
				       : 0;
		if (r->head_count == 0) {
			memcpy(r->heads, cells, count * sizeof *cells);
			r->head_count = count;
		} else if (count > 0 && count != r->head_count) {
			return fail(r, "the row has not as many cells as the heading");
		} else if (count > 0 && !(csv ? take_csv : take_markdown)(r, cells)) {
			return false;
		}
	}
	return text != NULL;
}

/* ---- the dataset ---- */

static void write_head(struct serving_reader *r, const char *name)
{
	static const char *const settings[][2] = {
		{"engine", "case.engine"},        {"weights", "serve.weights"},
		{"clients", "serve.concurrency"}, {"rate", "serve.rate"},
		{"arrivals", "serve.spread"},     {"requests", "serve.requests"},
		{"prompt", "serve.prompt"},       {"prompt_spread", "serve.prompt_spread"},
		{"output", "serve.output"},       {"output_spread", "serve.output_spread"},
		{"prefix", "serve.prefix"},       {"sequence", "case.sequence"}};
	struct reading *out = &r->reading;
	reading_line(out, "# Validate with --topology and --model, for example: farwire validate "
			  "FILE --topology hgx-h100 --model llama3-8b");
	reading_line(out,
		     "dataset = {\n\tname = \"%s\";\n\ttitle = \"Benchmark of a model server\";"
		     "\n\tsource = \"%s\";",
		     name, name);
	reading_line(out,
		     "\trole_column = \"role\";\n\tvalue = \"value\";\n\tvalue_unit = \"ms\";\n"
		     "\tslow = true;\n\tlabel = [\"model\", \"clients\", \"rate\", \"prompt\", "
		     "\"output\", \"metric\"];\n\tgroup = \"metric\";\n"
		     "\tquantity_column = \"metric\";");
	reading_line(out, "\tquantities = ( { is = \"throughput\"; quantity = \"throughput\"; }");
	static const char *const metrics[] = {"first_token", "token", "latency"};
	static const char *const quantiles[] = {"", "_p50", "_p90", "_p95", "_p99"};
	for (size_t i = 0; i < 15; i++)
		if (i != 10) /* a dataset has no quantity for the mean latency */
			reading_line(out, "\t\t, { is = \"%s%s\"; quantity = \"%s%s\"; }",
				     metrics[i / 5], quantiles[i % 5], metrics[i / 5],
				     quantiles[i % 5]);
	reading_line(out, "\t);\n\tcolumns = (");
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		reading_line(out, "\t\t%s{ column = \"%s\"; setting = \"%s\"; }", i ? ", " : "",
			     settings[i][0], settings[i][1]);
	reading_line(out,
		     "\t);\n\tlines = [\n\t\t\"role\\tengine\\tmodel\\tweights\\tclients\\trate"
		     "\\tarrivals\\trequests\\tprompt\\tprompt_spread\\toutput\\toutput_spread"
		     "\\tprefix\\tsequence\\tmetric\\tvalue\"");
}

static bool take_file(struct serving_reader *r)
{
	FILE *in = file_open(r->reading.diag, (struct origin){r->path, 0}, r->path);
	if (!in)
		return false;
	char start[256] = "";
	size_t length = fread(start, 1, sizeof start - 1, in);
	fclose(in);
	start[length] = '\0';
	const char *first = start + (strncmp(start, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
	first += strspn(first, " \t\r\n");
	r->line = 1;
	if (first[0] == '{' || first[0] == '[')
		return json_file_read(r->reading.diag, r->path, take_json, r);
	if (strncmp(first, "build_commit,", 13) == 0)
		return take_table(r, true);
	if (first[0] == '|' && strstr(first, "model"))
		return take_table(r, false);
	return fail(r, "the file begins neither with JSON nor with a table of llama-bench");
}

static bool import_bench_files(struct arena *arena, struct diag *diag, const char *const *paths,
			       size_t count, struct imported *imported)
{
	struct serving_reader *r = ARENA_NEW(arena, struct serving_reader);
	r->reading =
		(struct reading){.arena = arena, .diag = diag, .paths = paths, .path_count = count};
	const char *slash = strrchr(paths[0], '/');
	write_head(r, cell_text(r, slash ? slash + 1 : paths[0]));
	for (size_t i = 0; i < count; i++) {
		r->path = paths[i];
		if (!take_file(r))
			return false;
	}
	r->line = 1;
	if (r->reading.used_count == 0)
		return fail(r, "the files have no results");
	if (r->llama && r->served)
		return fail(r, "llama-bench does not measure a server, so that its results need a "
			       "dataset of their own");
	/* llama-bench measures neither the tokeniser nor the choice of tokens (its README) */
	reading_line(&r->reading, "\t];\n\tsettings = [\"serve.warmup=%s];\n};",
		     r->llama ? "0.5\", \"serve.request_host=0 s\", \"serve.sequence_host=0 s\", "
				"\"serve.message_host=0 s\""
			      : "0\"");
	return reading_done(&r->reading, "results", imported);
}

const struct importer import_bench = {
	.name = "bench",
	.help = "results of vllm bench serve, SGLang's bench_serving and llama-bench, which become "
		"a dataset",
	.files = import_bench_files,
};
