/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the claims of a source, and makes observations for fits from claims of role fit. */
#include "sim/analysis/dataset_read.h"

static const struct claim_word {
	const char *name;
	enum claim_kind kind;
	bool dimension, value, than; /* keys that the kind needs */
} kinds[] = {
	{"range", CLAIM_RANGE, false, false, false},
	{"first", CLAIM_FIRST, true, true, false},
	{"last", CLAIM_LAST, true, true, false},
	{"greater", CLAIM_GREATER, true, true, true},
	{"rises", CLAIM_RISES, true, false, false},
	{"within", CLAIM_WITHIN, true, true, true},
	{"outgrows", CLAIM_OUTGROWS, true, true, true},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static const struct claim_word *kind_of(struct dataset_reader *r, const struct cfg_node *node)
{
	const char *name = dataset_need(r, node, "kind");
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	diag_error(r->diag, cfg_origin(node),
		   "dataset: the kind of claim '%s' does not exist (write range, first, last, "
		   "greater, rises, within or outgrows)",
		   name);
	return &kinds[0];
}

/* Reads dimension, value and than, as far as the kind needs them. */
static void read_comparison(struct dataset_reader *r, const struct cfg_node *node,
			    const struct claim_word *kind, struct claim *claim)
{
	if (!kind->dimension)
		return;
	if (!r->dataset->dimension_count || !dataset_text(node, "dimension")) {
		diag_error(r->diag, cfg_origin(node),
			   "dataset: this kind of claim needs a dimension (write dimension = "
			   "\"...\")");
		return;
	}
	size_t d = dataset_find_dimension(r, node, dataset_text(node, "dimension"));
	if (d == SIZE_MAX)
		return;
	claim->dimension = d;
	if (kind->value)
		claim->value = dataset_find_value(r, node, d, dataset_need(r, node, "value"));
	if (kind->than)
		claim->than = dataset_find_value(r, node, d, dataset_need(r, node, "than"));
}

static void read_words(struct dataset_reader *r, const struct cfg_node *list, struct claim *claim)
{
	size_t count = list ? cfg_count(list) : 0;
	const char **words = ARENA_ARRAY(r->arena, count + 1, const char *);
	for (size_t i = 0; i < count; i++)
		words[i] = cfg_text(cfg_at(list, i)) ? cfg_text(cfg_at(list, i)) : "";
	claim->words = words;
	claim->word_count = count;
}

static bool has_words(const struct claim *claim, const struct dataset_row *row)
{
	for (size_t i = 0; i < claim->word_count; i++)
		if (!label_has(row->label, claim->words[i]))
			return false;
	return true;
}

/* Reports an error if a claim matches no row. */
static void need_row(struct dataset_reader *r, const struct cfg_node *node,
		     const struct claim *claim)
{
	const char *words = "";
	for (size_t i = 0; i < r->dataset->row_count; i++)
		if (has_words(claim, &r->dataset->rows[i]))
			return;
	for (size_t k = 0; k < claim->word_count; k++)
		words = arena_printf(r->arena, "%s%s'%s'", words, k ? ", " : "", claim->words[k]);
	if (r->dataset->row_count)
		diag_error(r->diag, cfg_origin(node),
			   "dataset: no row has a label with %s (a label looks like '%s')", words,
			   r->dataset->rows[0].label);
}

static void need_number(struct dataset_reader *r, const struct cfg_node *node, const char *key,
			double *value)
{
	if (!cfg_number(cfg_child(node, key), value))
		diag_error(r->diag, cfg_origin(node),
			   "dataset: this kind of claim needs the number %s (write %s = 0.05)", key,
			   key);
}

static enum row_role read_role(struct dataset_reader *r, const struct cfg_node *node)
{
	const char *role = dataset_text(node, "role");
	if (!role || strcmp(role, "test") == 0)
		return ROLE_TEST;
	if (strcmp(role, "fit") != 0)
		diag_error(r->diag, cfg_origin(node),
			   "dataset: the role of a claim must be \"fit\" or \"test\", not '%s'",
			   role);
	return ROLE_FIT;
}

static struct claim read_claim(struct dataset_reader *r, const struct cfg_node *node)
{
	static const char *const known[] = {
		"claim", "kind", "dimension", "value", "than", "where",    "over", "part",
		"low",   "high", "slack",     "share", "rows", "quantity", "loss", "role"};
	const struct claim_word *kind = kind_of(r, node);
	struct claim claim = {.kind = kind->kind,
			      .text = dataset_need(r, node, "claim"),
			      .part = dataset_text(node, "part"),
			      .over = cfg_child(node, "over") != NULL,
			      .time = dataset_measure(r, node, "quantity", MEASURE_COUNT) ==
				      MEASURE_TIME,
			      .role = read_role(r, node),
			      .low = -INFINITY,
			      .high = INFINITY};
	cfg_only(r->diag, node, known, sizeof known / sizeof known[0]);
	if (cfg_child(node, "quantity") && !claim.time)
		diag_error(r->diag, cfg_origin(node),
			   "dataset: the quantity of a claim must be \"time\" (remove the key to "
			   "compare the dataset's own quantity)");
	cfg_bool(cfg_child(node, "loss"), &claim.loss);
	if (claim.loss && !claim.over)
		diag_error(r->diag, cfg_origin(node),
			   "dataset: a claim on a loss needs other rows to compare with (write "
			   "over = { ... })");
	if (claim.role == ROLE_FIT && (kind->kind != CLAIM_RANGE || !claim.over))
		diag_error(r->diag, cfg_origin(node),
			   "dataset: a claim of role fit must be a range relative to other rows "
			   "(write kind = \"range\" and over = { ... })");
	bool low = cfg_number(cfg_child(node, "low"), &claim.low);
	bool high = cfg_number(cfg_child(node, "high"), &claim.high);
	if (kind->kind == CLAIM_RANGE && !low && !high)
		diag_error(r->diag, cfg_origin(node),
			   "dataset: a claim of kind range needs low or high (write low = 0.9, for "
			   "example)");
	if (kind->kind == CLAIM_WITHIN)
		need_number(r, node, "slack", &claim.slack);
	if (kind->kind == CLAIM_OUTGROWS)
		need_number(r, node, "share", &claim.share);
	dataset_read_place(r, cfg_child(node, "where"), claim.where_at);
	dataset_read_place(r, cfg_child(node, "over"), claim.over_at);
	read_words(r, cfg_child(node, "rows"), &claim);
	need_row(r, cfg_child(node, "rows"), &claim);
	read_comparison(r, node, kind, &claim);
	return claim;
}

void dataset_read_claims(struct dataset_reader *r, const struct claim *own, size_t own_count)
{
	const struct cfg_node *list = cfg_child(r->node, "claims");
	size_t count = list ? cfg_count(list) : 0;
	struct claim *claims = ARENA_ARRAY(r->arena, own_count + count + 1, struct claim);
	for (size_t i = 0; i < own_count; i++) {
		claims[i] = own[i];
		dataset_read_place(r, NULL, claims[i].where_at);
		dataset_read_place(r, NULL, claims[i].over_at);
	}
	for (size_t i = 0; i < count; i++)
		claims[own_count + i] = read_claim(r, cfg_at(list, i));
	r->dataset->claims = claims;
	r->dataset->claim_count = own_count + count;
}

bool claim_is_about(const struct dataset *dataset, const struct claim *claim,
		    const struct dataset_row *row)
{
	for (size_t d = 0; d < dataset->dimension_count; d++)
		if (claim->where_at[d] != SIZE_MAX && claim->where_at[d] != row->at[d])
			return false;
	return has_words(claim, row);
}

size_t dataset_row_at(const struct dataset *dataset, const size_t *at)
{
	for (size_t i = 0; i < dataset->row_count; i++) {
		bool same = true;
		for (size_t d = 0; d < dataset->dimension_count; d++)
			same = same && dataset->rows[i].at[d] == at[d];
		if (same)
			return i;
	}
	return SIZE_MAX;
}

size_t claim_reference(const struct dataset *dataset, const struct claim *claim,
		       const struct dataset_row *row)
{
	size_t at[DIMENSIONS_OF_GRID_MAX];
	for (size_t d = 0; d < DIMENSIONS_OF_GRID_MAX; d++)
		at[d] = claim->over_at[d] == SIZE_MAX ? row->at[d] : claim->over_at[d];
	return dataset_row_at(dataset, at);
}

/* ---- observations ---- */

/* Returns the bound of the number divided by its reference. */
static double bound(const struct claim *claim, double value)
{
	return claim->loss ? 1 / (1 - value) : value;
}

void dataset_read_observations(struct dataset_reader *r)
{
	const struct dataset *dataset = r->dataset;
	VEC(struct dataset_row) rows = {0};
	FW_ASSERT(dataset->rows || dataset->row_count == 0);
	for (size_t i = 0; i < dataset->claim_count; i++) {
		const struct claim *claim = &dataset->claims[i];
		for (size_t k = 0; claim->role == ROLE_FIT && k < dataset->row_count; k++) {
			const struct dataset_row *row = &dataset->rows[k];
			size_t at = claim_reference(dataset, claim, row);
			if (!claim_is_about(dataset, claim, row) || at == SIZE_MAX)
				continue;
			const struct dataset_row *reference = &dataset->rows[at];
			struct dataset_row *one = VEC_PUSH(r->arena, &rows);
			*one = *row;
			one->label = claim->text;
			one->role = ROLE_FIT;
			one->relative = true;
			one->measure = claim->time ? MEASURE_TIME : row->measure;
			one->reference = reference->settings;
			one->reference_count = reference->setting_count;
			one->reference_path = reference->case_path;
			one->low = bound(claim, claim->low);
			one->high = bound(claim, claim->high);
			one->measured = sqrt(one->low * one->high);
		}
	}
	r->dataset->observations = rows.items;
	r->dataset->observation_count = rows.count;
}
