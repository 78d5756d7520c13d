/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads dataset files. */
#include "sim/analysis/dataset_read.h"

const char *row_role_name(enum row_role role)
{
	static const char *const names[] = {"fit", "test", "report"};
	return names[role];
}

/* ---- measures ---- */

const struct measure_kind measures[MEASURE_COUNT] = {
	{"throughput", "images/s", "images/s", QUANTITY_COUNT},
	{"ratio", "ratio to local", "", QUANTITY_RATIO},
	{"speedup", "speed-up over one GPU", "", QUANTITY_COUNT},
	{"time", "time", "s", QUANTITY_TIME},
	{"gain", "gain over another case", "", QUANTITY_RATIO},
	{"elapsed", "time from launch to end", "s", QUANTITY_TIME},
	{"tokens", "tokens/s", "tokens/s", QUANTITY_COUNT},
	{"tokens_gpu", "tokens/s/GPU", "tokens/s/GPU", QUANTITY_COUNT},
	{"tflops_gpu", "model TFLOP/s/GPU", "TFLOP/s/GPU", QUANTITY_COUNT},
	{"mfu", "MFU", "", QUANTITY_RATIO},
	{"hfu", "HFU", "", QUANTITY_RATIO},
#define SERVED(name, text, words, member, answer) {text, words, "s", QUANTITY_TIME},
#include "sim/analysis/serving_measures.def"
#undef SERVED
};

enum measure dataset_measure(struct dataset_reader *r, const struct cfg_node *group,
			     const char *key, enum measure without)
{
	const char *name = dataset_text(group, key);
	if (!name)
		return without;
	for (int i = 0; i < MEASURE_COUNT; i++)
		if (strcmp(measures[i].name, name) == 0)
			return (enum measure)i;
	diag_error(r->diag, cfg_origin(cfg_child(group, key)),
		   "dataset: the quantity '%s' does not exist (write throughput, tokens, "
		   "tokens_gpu, tflops_gpu, mfu, hfu, ratio, speedup, time, gain or elapsed, or "
		   "for served requests latency_p50, first_token, token, or a quantile such as "
		   "token_p99)",
		   name);
	return without;
}

/* ---- texts and settings ---- */

bool label_has(const char *label, const char *text)
{
	size_t length = strlen(text);
	for (const char *at = strstr(label, text); length && at; at = strstr(at + 1, text)) {
		bool begins = at == label || at[-1] == ' ';
		bool ends = at[length] == '\0' || at[length] == ' ';
		if (begins && ends)
			return true;
	}
	return false;
}

const char *dataset_text(const struct cfg_node *group, const char *key)
{
	return cfg_text(cfg_child(group, key));
}

const char *dataset_need(struct dataset_reader *r, const struct cfg_node *group, const char *key)
{
	const char *text = dataset_text(group, key);
	if (!text)
		diag_error(r->diag, cfg_origin(group),
			   "dataset: %s is missing (write %s = \"...\")", key, key);
	return text ? text : "";
}

void dataset_add_settings(struct dataset_reader *r, settings_vec *settings,
			  const struct cfg_node *list)
{
	for (size_t i = 0; list && i < cfg_count(list); i++) {
		const char *text = cfg_text(cfg_at(list, i));
		if (!text)
			diag_error(
				r->diag, cfg_origin(list),
				"dataset: each setting must be a text (write [\"case.batch=32\"])");
		*VEC_PUSH(r->arena, settings) =
			(struct setting){text ? text : "", cfg_origin(cfg_at(list, i))};
	}
}

void dataset_add_extra(struct dataset_reader *r, settings_vec *settings)
{
	for (size_t i = 0; i < r->extra_count; i++)
		*VEC_PUSH(r->arena, settings) = r->extra[i];
}

const char *dataset_case(struct dataset_reader *r, const struct cfg_node *group)
{
	const char *name = dataset_text(group, "case");
	return name ? data_path(r->arena, r->diag, cfg_origin(cfg_child(group, "case")), r->root,
				"topologies/cases", "case", name, r->dataset->path)
		    : NULL;
}

/* Inserts the settings of the list before those of the command line, which are the last of every
 * row. */
static void add_further(struct dataset_reader *r, const struct setting **items, size_t *count,
			const struct cfg_node *list)
{
	settings_vec settings = {0};
	for (size_t i = 0; i + r->extra_count < *count; i++)
		*VEC_PUSH(r->arena, &settings) = (*items)[i];
	dataset_add_settings(r, &settings, list);
	dataset_add_extra(r, &settings);
	*items = settings.items;
	*count = settings.count;
}

void dataset_set_reference(struct dataset_reader *r, const struct cfg_node *list,
			   struct dataset_row *row)
{
	row->reference = row->settings;
	row->reference_count = row->setting_count;
	add_further(r, &row->reference, &row->reference_count, list);
}

/* ---- rows of `beside` ---- */

static struct dataset_row beside_row(struct dataset_reader *r, struct dataset_row row,
				     const struct cfg_node *list)
{
	add_further(r, &row.settings, &row.setting_count, list);
	if (row.reference)
		add_further(r, &row.reference, &row.reference_count, list);
	row.role = ROLE_REPORT;
	row.judged = false;
	return row;
}

static void read_beside(struct dataset_reader *r, const struct cfg_node *list)
{
	static const char *const known[] = {"title", "settings"};
	struct dataset *dataset = r->dataset;
	size_t count = list ? cfg_count(list) : 0;
	struct beside *beside = ARENA_ARRAY(r->arena, count + 1, struct beside);
	for (size_t i = 0; i < count; i++) {
		const struct cfg_node *node = cfg_at(list, i);
		struct dataset_row *rows =
			ARENA_ARRAY(r->arena, dataset->row_count + 1, struct dataset_row);
		cfg_only(r->diag, node, known, 2);
		for (size_t k = 0; k < dataset->row_count; k++)
			rows[k] = beside_row(r, dataset->rows[k], cfg_child(node, "settings"));
		beside[i] = (struct beside){dataset_need(r, node, "title"), rows};
	}
	dataset->beside = beside;
	dataset->beside_count = count;
}

/* ---- the whole file ---- */

static void read_dataset(struct dataset_reader *r)
{
	static const char *const known[] = {
		"name",    "title",        "source",     "table",
		"value",   "value_unit",   "quantity",   "quantity_column",
		"judge",   "quantities",   "reference",  "label",
		"role",    "role_column",  "where",      "settings",
		"columns", "utilization",  "dimensions", "utilization_slack",
		"claims",  "skip",         "beside",     "wide",
		"group",   "also",         "linear",     "case",
		"draws",   "value_if_any", "slow",       "native",
		"pencil",  "lines",
	};
	struct dataset *dataset = r->dataset;
	cfg_only(r->diag, r->node, known, sizeof known / sizeof known[0]);
	double draws = -1;
	const struct cfg_node *draws_node = cfg_child(r->node, "draws");
	if (draws_node && (!cfg_number(draws_node, &draws) || draws < 0 || draws > 1000))
		diag_error(r->diag, cfg_origin(draws_node),
			   "dataset: draws must be a number from 0 to 1000");
	dataset->draws = draws < 0 ? SIZE_MAX : (size_t)draws;
	const struct cfg_node *slow_node = cfg_child(r->node, "slow");
	if (slow_node && !cfg_bool(slow_node, &dataset->slow))
		diag_error(r->diag, cfg_origin(slow_node), "dataset: slow must be true or false");
	pencil_read_costs(r);
	dataset->name = dataset_need(r, r->node, "name");
	dataset->title = dataset_need(r, r->node, "title");
	const char *table = dataset_text(r->node, "table");
	const struct cfg_node *dimensions = cfg_child(r->node, "dimensions");
	dataset->what_if = dimensions && !table && !cfg_child(r->node, "claims") &&
			   !cfg_child(r->node, "source");
	/* prose: the text is in saved results */
	dataset->source = "nobody measured this";
	if (!dataset->what_if)
		dataset->source = dataset_need(r, r->node, "source");
	const struct cfg_node *lines = cfg_child(r->node, "lines");
	if (table && lines)
		diag_error(r->diag, cfg_origin(lines),
			   "dataset: lines and table = \"%s\" both give the rows (leave one of "
			   "them out)",
			   table);
	else if (table || lines)
		dataset_read_table(r, table);
	else if (dimensions)
		dataset_read_grid(r, dimensions);
	else
		diag_error(r->diag, cfg_origin(r->node),
			   "dataset: there is neither a table nor dimensions (write table = "
			   "\"x.tsv\", or dimensions = ( { name = ...; values = ...; } ))");
	for (size_t i = 0; i < dataset->row_count; i++)
		dataset->mixed =
			dataset->mixed || dataset->rows[i].measure != dataset->rows[0].measure;
	dataset->measure = dataset->row_count ? dataset->rows[0].measure : MEASURE_THROUGHPUT;
	dataset->ratio = dataset->measure == MEASURE_RATIO && !dataset->mixed;
	read_beside(r, cfg_child(r->node, "beside"));
}

const struct dataset *dataset_read(struct arena *arena, struct diag *diag, const char *data_root,
				   const char *name, const struct setting *extra,
				   size_t extra_count)
{
	const char *const *what_ifs;
	size_t count = data_names(arena, data_root, "topologies/what-ifs", &what_ifs);
	const char *folder = "calib/measured";
	for (size_t i = 0; i < count; i++)
		if (strcmp(what_ifs[i], name) == 0)
			folder = "topologies/what-ifs";
	const char *path = data_path(arena, diag, (struct origin){0}, data_root, folder, "dataset",
				     name, NULL);
	const struct cfg_node *file = path ? cfg_read(arena, diag, path) : NULL;
	if (!file)
		return NULL;
	struct dataset_reader r = {.arena = arena,
				   .diag = diag,
				   .root = data_root,
				   .node = cfg_child(file, "dataset"),
				   .dataset = ARENA_NEW(arena, struct dataset),
				   .extra = extra,
				   .extra_count = extra_count};
	r.dataset->path = path;
	if (r.node)
		read_dataset(&r);
	else
		diag_error(diag, cfg_origin(file), "the file has no group `dataset = { ... }`");
	return diag_count(diag) ? NULL : r.dataset;
}
