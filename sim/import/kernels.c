/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads times of kernels on one GPU: products of matrices and attention, one kernel at a time.
 *
 * A file is a table, separated by commas or tabs, whose heading names the columns in any order, or
 * a recording of calib/trace/kernels.py (JSON Lines):
 *
 *   type,m,n,k,time
 *   bf16,128,4096,4096,11.8 us
 *
 *   {"kind": "product", "type": "bf16", "m": 128, "n": 4096, "k": 4096, "s": 11.8e-6}
 *
 * Columns of the tables of ai-dynamo/aiconfigurator (Apache-2.0, collector/) have other names of
 * the same things, and a latency in ms. Its attention rows have isl new tokens after step cached
 * ones, or one new token. A role (fit, test or report) says which rows are held out. Without one, a
 * fifth of the shapes is. */
#include <strings.h>

#include "sim/gpu/kernel.h"
#include "sim/gpu/models.h"
#include "sim/import/importer.h"

/* The columns, each with its names and a comma behind each name. */
#define COLUMN_NAMES(COLUMN)                                                                       \
	COLUMN(TYPE, "type,gemm_dtype,attn_dtype,")                                                \
	COLUMN(CACHE, "cache,kv_cache_dtype,")                                                     \
	COLUMN(TIME, "time,")                                                                      \
	COLUMN(TIME_MS, "time_ms,latency,")                                                        \
	COLUMN(TIME_US, "time_us,")                                                                \
	COLUMN(TIME_S, "time_s,")                                                                  \
	COLUMN(GPU, "gpu,device,")                                                                 \
	COLUMN(ROLE, "role,")                                                                      \
	COLUMN(PHASE, "phase,op_name,")                                                            \
	COLUMN(SOURCE, "kernel_source,")                                                           \
	COLUMN(EXPERTS, "num_experts,")                                                            \
	COLUMN(M, "m,")                                                                            \
	COLUMN(N, "n,")                                                                            \
	COLUMN(K, "k,")                                                                            \
	COLUMN(SEQUENCES, "sequences,batch_size,")                                                 \
	COLUMN(QUERIES, "queries,isl,")                                                            \
	COLUMN(KEYS, "keys,")                                                                      \
	COLUMN(STEP, "step,")                                                                      \
	COLUMN(HEADS, "heads,num_heads,")                                                          \
	COLUMN(KV_HEADS, "kv_heads,num_key_value_heads,")                                          \
	COLUMN(HEAD_SIZE, "head_size,head_dim,")                                                   \
	COLUMN(WINDOW, "window,window_size,")
enum column {
#define COLUMN(name, names) name,
	COLUMN_NAMES(COLUMN)
#undef COLUMN
		COLUMNS,
};
static const char *const names[COLUMNS] = {
#define COLUMN(name, names) names,
	COLUMN_NAMES(COLUMN)
#undef COLUMN
};
/* Above the rate of any GPU: a B300 multiplies 15 PFLOP/s in FP4. */
#define FASTEST_FLOPS 50e15
enum { GPUS_MAX = 16, HELD_OUT_NTH = 5, CELL_MAX_B = 64 };

struct kernel_rows {
	struct importing *importing;
	const char *only; /* NAME of --gpu NAME or NAME=PROFILE; NULL: not given */
	const char *profile;
	const char *gpus[GPUS_MAX]; /* in the file */
	size_t gpu_count, rows_count;
	const char *cells[COLUMNS]; /* of the row; NULL: no such column */
	const char *recorded;       /* further words of a recorded point; NULL: a row of a table */
};

/* Sets *type to farwire's name of a number type in tables of other projects. Counts a row of
 * another type as skipped and returns false. */
static bool take_type(struct kernel_rows *k, const char *name, const char **type)
{
	static const struct {
		const char *name;
		enum number_type type;
	} types[] = {{"fp32", NUMBER_FP32}, {"float32", NUMBER_FP32},  {"tf32", NUMBER_TF32},
		     {"fp16", NUMBER_FP16}, {"float16", NUMBER_FP16},  {"half", NUMBER_FP16},
		     {"bf16", NUMBER_BF16}, {"bfloat16", NUMBER_BF16}, {"fp8", NUMBER_FP8}};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcasecmp(types[i].name, name) == 0) {
			*type = number_type_name(types[i].type);
			return true;
		}
	import_skip(k->importing,
		    arena_printf(k->importing->arena,
				 "the fit of a table has no constants of number type %.*s",
				 CELL_MAX_B, name));
	return false;
}

/* ---- the GPU ---- */

/* Returns true if rows of this GPU are wanted, and counts the others as skipped. */
static bool is_wanted(struct kernel_rows *k, const char *name)
{
	size_t i = 0;
	while (i < k->gpu_count && strcmp(k->gpus[i], name) != 0)
		i++;
	if (i == k->gpu_count && i < GPUS_MAX)
		k->gpus[k->gpu_count++] = arena_strdup(k->importing->arena, name);
	const struct gpu_model *model = gpu_model_by_name(name);
	bool wanted = !k->only || strcasecmp(k->only, name) == 0 ||
		      (model && strcasecmp(k->only, model->profile) == 0);
	if (!wanted)
		import_skip(k->importing, "a row of another GPU");
	return wanted;
}

static const char *gpu_list(const struct kernel_rows *k)
{
	const char *text = "";
	for (size_t i = 0; i < k->gpu_count; i++)
		text = arena_printf(k->importing->arena, "%s%s%.*s", text, i ? ", " : "",
				    CELL_MAX_B, k->gpus[i]);
	return text;
}

/* Sets the GPU of the recording, which must have a file, because the fit needs its peak rates. */
static void set_gpu(struct kernel_rows *k)
{
	struct importing *importing = k->importing;
	if (diag_count(importing->diag))
		return;
	importing->lines.origin.line = 0;
	if (k->gpu_count > 1 && !k->only) {
		import_error(importing,
			     "the rows are of several GPUs: %s (write --gpu %s, and one "
			     "command for each)",
			     gpu_list(k), k->gpus[0]);
		return;
	}
	if (k->gpu_count == 0 && !k->only) {
		import_error(importing, "the file does not name its GPU (write --gpu NAME, for "
					"example --gpu h100-sxm5, or add a column gpu)");
		return;
	}
	if (k->gpu_count > 0 && k->rows_count == 0 && k->only) {
		import_error(importing, "no row is of the GPU '%s' (write --gpu with one of: %s)",
			     k->only, gpu_list(k));
		return;
	}
	char *name = arena_strdup(importing->arena, k->only ? k->only : k->gpus[0]);
	for (char *c = name; *c; c++)
		*c = *c == '_' ? '-' : *c;
	const struct gpu_model *model =
		k->profile ? gpu_model_by_profile(k->profile) : gpu_model_by_name(name);
	if (!model)
		import_error(importing,
			     "no file of topologies/gpus describes the GPU '%s' (write --gpu "
			     "%s=%s if it is this one, or another name of `farwire list gpus`)",
			     k->profile ? k->profile : name, k->only ? k->only : k->gpus[0],
			     gpu_model_nearest(k->profile ? k->profile : name));
	else if (importing->gpu && strcmp(importing->gpu, model->profile) != 0)
		import_error(importing,
			     "the file is of the GPU %s, but an earlier one is of %s (import the "
			     "files of one GPU together)",
			     model->profile, importing->gpu);
	else
		importing->gpu = model->profile;
}

/* ---- kernels ---- */

/* Without roles, a fifth of the shapes judges the fit. */
static bool is_held_out(const struct import_point *point)
{
	unsigned long long hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < IMPORT_NUMBERS && point->x[i].key; i++)
		hash = (hash ^ (unsigned long long)fmin(point->x[i].value, 1e15)) * 0x100000001b3u;
	return (hash >> 32) % HELD_OUT_NTH == 0;
}

static void end_point(struct kernel_rows *k, struct import_point *point, double time_s,
		      const char *role)
{
	if (time_s > 0 || diag_count(k->importing->diag))
		import_sample(k->importing, point, time_s);
	else
		import_error(k->importing,
			     "the time is %g s, but must be above 0 (measure again, or remove the "
			     "row)",
			     time_s);
	point->held_out = role ? strcmp(role, "test") == 0 : is_held_out(point);
	k->rows_count++;
}

/* ---- tables ---- */

static double number_at(struct kernel_rows *k, enum column column, double least)
{
	const char *cell = k->cells[column];
	double value = 0;
	if (!cell || !number_parse(cell, &value) || value < least || value > floor(value) ||
	    value > 1e15)
		import_error(k->importing,
			     "%.*s is '%.*s', but must be a whole number of at least %g (correct "
			     "it, or remove the row)",
			     (int)strcspn(names[column], ","), names[column], CELL_MAX_B,
			     cell ? cell : "", least);
	return value;
}

static double time_at(struct kernel_rows *k)
{
	static const struct {
		enum column column;
		double unit_s;
	} units[] = {{TIME_MS, 1e-3}, {TIME_US, 1e-6}, {TIME_S, 1}};
	double time_s = 0;
	const char *cell = k->cells[TIME];
	const char *wrong =
		cell ? quantity_parse(k->importing->arena, QUANTITY_TIME, cell, &time_s) : NULL;
	for (size_t i = 0; i < sizeof units / sizeof units[0] && !cell; i++) {
		const char *text = k->cells[units[i].column];
		if (!text)
			continue;
		cell = text;
		if (number_parse(text, &time_s))
			time_s *= units[i].unit_s;
		else
			wrong = "is not a number (correct it, or remove the row)";
	}
	if (wrong)
		import_error(k->importing, "the time '%.*s' %s%s", CELL_MAX_B, cell, wrong,
			     cell == k->cells[TIME]
				     ? ", or call the column time_us, time_ms or time_s"
				     : "");
	return time_s;
}

static void check_rate(struct kernel_rows *k, const struct import_point *point, double time_s)
{
	double flop = 2;
	for (size_t i = 0; i < 3; i++)
		flop *= point->x[i].value;
	if (time_s > 0 && flop / time_s > FASTEST_FLOPS)
		import_error(k->importing,
			     "the product runs at %.3g TFLOP/s, but no GPU exceeds %g (correct "
			     "the time or its unit)",
			     flop / time_s / 1e12, FASTEST_FLOPS / 1e12);
}

static void take_product(struct kernel_rows *k, const char *type)
{
	/* vLLM quantises the first matrix of FP8 products, and has CUTLASS's tiles only. Its
	 * benchmark uses six second matrices in turn (aiconfigurator, collect_gemm.py). */
	bool vllm = k->cells[SOURCE] && strncmp(k->cells[SOURCE], "vllm", 4) == 0;
	const char *more = k->recorded                ? k->recorded
			   : !vllm                    ? ""
			   : strcmp(type, "fp8") == 0 ? " copies=6 quantise=true plain=true"
						      : " copies=6";
	struct import_point *point = import_point(
		k->importing, "gemm", arena_printf(k->importing->arena, "type=%s%s", type, more));
	import_at(k->importing, point, "m", number_at(k, M, 1));
	import_at(k->importing, point, "n", number_at(k, N, 1));
	import_at(k->importing, point, "k", number_at(k, K, 1));
	double time_s = time_at(k);
	check_rate(k, point, time_s);
	end_point(k, point, time_s, k->cells[ROLE]);
}

/* Returns whether a row with isl and step is of single new tokens: by its phase, else by the name
 * of the file. */
static bool is_of_tokens(struct kernel_rows *k)
{
	static const char *const tokens[] = {"generation", "decode", "token"};
	static const char *const prompts[] = {"context", "prefill", "prompt"};
	const char *text = k->cells[PHASE] ? k->cells[PHASE] : k->importing->lines.origin.file;
	for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
		if (strstr(text, tokens[i]))
			return true;
		if (strstr(text, prompts[i]))
			return false;
	}
	import_error(k->importing, "neither a column phase nor the name of the file says whether "
				   "the rows are of prompts or of single new tokens (add a column "
				   "phase with prompt or token)");
	return false;
}

static void take_attention(struct kernel_rows *k, const char *type)
{
	struct importing *importing = k->importing;
	const char *cache = type;
	if (k->cells[CACHE] && !take_type(k, k->cells[CACHE], &cache))
		return;
	double queries = number_at(k, QUERIES, 1), keys = queries;
	if (k->cells[KEYS]) {
		keys = number_at(k, KEYS, 1);
	} else if (k->cells[STEP]) {
		keys += number_at(k, STEP, 0);
		queries = is_of_tokens(k) ? 1 : queries;
	}
	double heads = number_at(k, HEADS, 1);
	double kv_heads = k->cells[KV_HEADS] ? number_at(k, KV_HEADS, 1) : heads;
	double window = k->cells[WINDOW] ? number_at(k, WINDOW, -1) : 0;
	struct import_point *point =
		import_point(importing, "attention",
			     arena_printf(importing->arena, "type=%s cache=%s%s", type, cache,
					  k->recorded ? k->recorded : ""));
	import_at(importing, point, "sequences",
		  k->cells[SEQUENCES] ? number_at(k, SEQUENCES, 1) : 1);
	import_at(importing, point, "queries", queries);
	import_at(importing, point, "keys", keys);
	import_at(importing, point, "heads", heads);
	import_at(importing, point, "kv_heads", kv_heads);
	import_at(importing, point, "head_size", number_at(k, HEAD_SIZE, 1));
	if (window > 0)
		import_at(importing, point, "window", window);
	if (fmod(heads, kv_heads) != 0)
		import_error(importing,
			     "%g heads cannot share %g heads of keys (write a divisor of heads)",
			     heads, kv_heads);
	else if (keys < queries)
		import_error(importing,
			     "%g keys do not contain %g new tokens (write at least as many keys)",
			     keys, queries);
	end_point(k, point, time_at(k), k->cells[ROLE]);
}

static void take_row(struct kernel_rows *k)
{
	struct importing *importing = k->importing;
	const char *type = NULL;
	const char *role = k->cells[ROLE];
	if (k->cells[GPU] && !is_wanted(k, k->cells[GPU]))
		return;
	if (role && strcmp(role, "report") == 0)
		import_skip(importing, "a row of role report");
	else if (role && strcmp(role, "fit") != 0 && strcmp(role, "test") != 0)
		import_error(importing,
			     "the role is '%.*s', but must be fit, test or report (correct it)",
			     CELL_MAX_B, role);
	else if (take_type(k, k->cells[TYPE] ? k->cells[TYPE] : "bf16", &type))
		(k->cells[M] ? take_product : take_attention)(k, type);
}

/* Fills `of` with the column of each word of the heading, COLUMNS for others. Returns false after
 * an error. */
static bool take_heading(struct kernel_rows *k, size_t count, enum column *of)
{
	struct importing *importing = k->importing;
	bool has[COLUMNS + 1] = {false};
	for (size_t i = 0; i < count; i++) {
		const char *word = arena_printf(importing->arena, "%s,", importing->words[i]);
		size_t column = 0;
		for (; column < COLUMNS; column++) {
			const char *at = strstr(names[column], word);
			if (at && (at == names[column] || at[-1] == ','))
				break;
		}
		if (column < COLUMNS && has[column]) {
			import_error(importing,
				     "the heading has two columns for '%.*s' (remove one)",
				     (int)strcspn(names[column], ","), names[column]);
			return false;
		}
		of[i] = (enum column)column;
		has[column] = true;
	}
	bool product = has[M] && has[N] && has[K];
	bool attention = has[QUERIES] && has[HEADS] && has[HEAD_SIZE];
	bool timed = has[TIME] || has[TIME_MS] || has[TIME_US] || has[TIME_S];
	if (has[EXPERTS])
		import_error(importing, "this is a table of experts, which the fit does not use "
					"(import tables of products and attention)");
	else if (!timed || !((has[TYPE] && product) || attention))
		import_error(importing,
			     "the heading needs the columns time, and type, m, n, k or queries, "
			     "heads, head_size, separated by commas or tabs (write them as the "
			     "first line)");
	return diag_count(importing->diag) == 0;
}

static void read_table(struct kernel_rows *k)
{
	struct importing *importing = k->importing;
	enum column of[IMPORT_WORDS_MAX] = {0};
	size_t columns = 0;
	char separator = ',';
	const char *line;
	while (diag_count(importing->diag) == 0 && (line = lines_next(&importing->lines))) {
		if (line[0] == '#' || !line[strspn(line, " \t\r")])
			continue;
		if (columns == 0)
			separator = strchr(line, '\t') ? '\t' : ',';
		size_t count = importing->word_count =
			lines_cells(arena_strdup(importing->arena, line), separator,
				    importing->words, IMPORT_WORDS_MAX);
		if (columns == 0) {
			if (!take_heading(k, columns = count, of))
				return;
			continue;
		}
		if (!import_fits(importing, columns, "the table"))
			return;
		memset(k->cells, 0, sizeof k->cells);
		for (size_t i = 0; i < count; i++)
			if (of[i] < COLUMNS)
				k->cells[of[i]] = importing->words[i];
		take_row(k);
	}
}

/* ---- recordings of kernels.py ---- */

static const char *text_at(const struct json *row, const char *key)
{
	const char *text = json_text_of(json_member(row, key));
	return text ? text : "";
}

static void take_recorded(struct kernel_rows *k, const struct json *row)
{
	static const struct {
		const char *key;
		enum column column;
	} keys[] = {{"m", M},
		    {"n", N},
		    {"k", K},
		    {"batch", SEQUENCES},
		    {"length", QUERIES},
		    {"heads", HEADS},
		    {"kv_heads", KV_HEADS},
		    {"head_size", HEAD_SIZE},
		    {"s", TIME_S}};
	bool is_product = strcmp(text_at(row, "kind"), "product") == 0;
	const char *layout = text_at(row, "layout");
	bool plain = strlen(layout) == 2 && strspn(layout, "nt") == 2;
	memset(k->cells, 0, sizeof k->cells);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct json *value = json_member(row, keys[i].key);
		k->cells[keys[i].column] = value ? value->text : NULL;
	}
	if (is_product) {
		k->cells[TYPE] = text_at(row, "type");
		k->recorded =
			arena_printf(k->importing->arena, " layout=%s", plain ? layout : "nt");
	} else {
		bool all = json_is(json_member(row, "causal"), JP_FALSE);
		k->recorded = all ? " causal=false" : "";
	}
	if (json_member(row, "failed"))
		import_skip(k->importing, "a kernel that failed");
	else if (!is_product && (strcmp(text_at(row, "backend"), "flash") != 0 ||
				 json_is(json_member(row, "backward"), JP_TRUE)))
		import_skip(k->importing, "attention backward, or not of FlashAttention");
	else
		take_row(k);
}

static void read_recording(struct kernel_rows *k)
{
	const struct json *row;
	while ((row = import_json(k->importing)) != NULL) {
		const char *kind = text_at(row, "kind"), *gpu = text_at(row, "gpu");
		if (strcmp(text_at(row, "format"), "farwire-kernels") == 0 && *gpu)
			is_wanted(k, gpu);
		else if (strcmp(kind, "product") == 0 || strcmp(kind, "attention") == 0)
			take_recorded(k, row);
	}
}

static void read_log(struct importing *importing)
{
	struct kernel_rows k = {.importing = importing, .only = importing->only_gpu};
	const char *equal = k.only ? strchr(k.only, '=') : NULL;
	if (equal) {
		k.profile = equal + 1;
		k.only = arena_printf(importing->arena, "%.*s", (int)(equal - k.only), k.only);
	}
	if (import_is_json(importing))
		read_recording(&k);
	else
		read_table(&k);
	set_gpu(&k);
}

const struct importer import_kernels = {
	.name = "kernels",
	.help = "times of products and attention on one GPU: tables, or recordings of "
		"calib/trace/kernels.py",
	.marks = {"\"farwire-kernels\"", "type,m,n,k,", "gemm_dtype", "attn_dtype"},
	.expected =
		"expected rows of products or attention below a heading such as type,m,n,k,time",
	.log = read_log,
	.joins = true,
};
