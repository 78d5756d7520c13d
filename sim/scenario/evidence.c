/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/evidence.h"

static const char *const keys[EVIDENCE_WORD_COUNT] = {
	"kind",   "topology", "gpu",       "generation", "links", "library",
	"family", "stack",    "framework", "numbers",    "model", "system"};
static const char *const kind_names[CASE_KIND_COUNT] = {"local", "forwarded", "training",
							"collective", "serving"};

const char *evidence_key(enum evidence_word word)
{
	return keys[word];
}

/* Returns the name of a file without folder and ".cfg". */
static const char *stem(struct arena *arena, const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	const char *dot = strstr(base, ".cfg");
	return dot ? arena_printf(arena, "%.*s", (int)(dot - base), base) : base;
}

/* Returns a name up to its first "-". */
static const char *family(struct arena *arena, const char *name)
{
	return arena_printf(arena, "%.*s", (int)strcspn(name, "-"), name);
}

/* Returns the kinds of links that the traffic of the case passes, in the order of the registry:
 * "ethernet" between machines, "pcie nvlink" inside one. */
static const char *links_of(struct arena *arena, const struct scenario *scenario)
{
	bool across = scenario_transport(scenario) != NULL;
	const char *words = "";
	for (size_t i = 0; i < link_kind_count(); i++) {
		const struct link_kind *kind = link_kind_at(i);
		bool found = false;
		for (size_t k = 0; k < scenario->topology.link_count && !found; k++)
			found = scenario->topology.links[k].kind == kind;
		if (found && kind->inside_host != across)
			words = arena_printf(arena, "%s%s%s", words, words[0] ? " " : "",
					     kind->name);
	}
	return words;
}

static void set_program(struct arena *arena, const struct scenario *scenario,
			const struct job_entry *job, const struct gpu_params *gpu,
			struct evidence *evidence)
{
	evidence->words[EVIDENCE_MODEL] = job->model ? job->model : "";
	if (!job->stack)
		return;
	evidence->words[EVIDENCE_STACK] =
		stem(arena, job->stack_name ? job->stack_name : scenario->params->stack);
	evidence->words[EVIDENCE_FRAMEWORK] = family(arena, evidence->words[EVIDENCE_STACK]);
	evidence->words[EVIDENCE_NUMBERS] =
		number_type_name(stack_product_type(job->stack, gpu, true));
}

struct evidence evidence_of(struct arena *arena, const struct scenario *scenario)
{
	struct evidence e;
	const struct job_entry *job = &scenario->jobs[0];
	const struct gpu_entry *gpu = &scenario->topology.gpus[job->gpus[0]];
	enum case_kind kind = scenario_kind(scenario);
	for (size_t i = 0; i < EVIDENCE_WORD_COUNT; i++)
		e.words[i] = "";
	e.words[EVIDENCE_KIND] = kind_names[kind];
	e.words[EVIDENCE_TOPOLOGY] = stem(arena, scenario->params->topology);
	e.words[EVIDENCE_GPU] = gpu->profile;
	e.words[EVIDENCE_GENERATION] =
		gpu_generation_name((enum gpu_generation)gpu->params.generation);
	if (kind != CASE_COLLECTIVE)
		set_program(arena, scenario, job, &gpu->params, &e);
	if (kind == CASE_LOCAL || kind == CASE_SERVING)
		return e;
	const char *library =
		stem(arena, job->runtime ? scenario->params->runtime : job->exchange_name);
	e.words[EVIDENCE_LINKS] = links_of(arena, scenario);
	e.words[EVIDENCE_LIBRARY] = library;
	e.words[EVIDENCE_FAMILY] = family(arena, library);
	return e;
}

bool evidence_is_left_out(const char *without, const char *system)
{
	if (!without)
		return false;
	size_t length = strlen(without);
	/* a system without EVIDENCE_BEYOND leaves out both kinds of rows */
	return strcmp(without, system) == 0 || (strncmp(without, system, length) == 0 &&
						strcmp(&system[length], EVIDENCE_BEYOND) == 0);
}

static bool is_kind(const struct evidence *evidence, enum case_kind kind)
{
	return strcmp(evidence->words[EVIDENCE_KIND], kind_names[kind]) == 0;
}

static bool is_left_out(struct arena *arena, const char *without, const struct evidence *e)
{
	bool local = is_kind(e, CASE_LOCAL);
	return without &&
	       evidence_is_left_out(without, arena_printf(arena, "%s%s", e->words[EVIDENCE_SYSTEM],
							  local ? "" : EVIDENCE_BEYOND));
}

size_t evidence_read(struct arena *arena, const struct cfg_node *node, const char *without,
		     const struct evidence **list)
{
	size_t count = node ? cfg_count(node) : 0, kept = 0;
	struct evidence *read = ARENA_ARRAY(arena, count + 1, struct evidence);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < EVIDENCE_WORD_COUNT; k++) {
			const char *word = cfg_text(cfg_child(cfg_at(node, i), keys[k]));
			read[kept].words[k] = word ? word : "";
		}
		kept += !is_left_out(arena, without, &read[kept]);
	}
	*list = read;
	return kept;
}

static bool agrees(const struct evidence *a, const struct evidence *b, unsigned words)
{
	for (size_t i = 0; i < EVIDENCE_WORD_COUNT; i++)
		if (words & 1U << i && strcmp(a->words[i], b->words[i]) != 0)
			return false;
	return true;
}

size_t evidence_of_other_generations(struct arena *arena, const struct evidence *own,
				     const struct evidence *list, size_t count,
				     const struct evidence **others)
{
	struct evidence *kept = ARENA_ARRAY(arena, count + 1, struct evidence);
	size_t kept_count = 0;
	for (size_t i = 0; i < count; i++)
		if (!agrees(own, &list[i], 1U << EVIDENCE_GENERATION))
			kept[kept_count++] = list[i];
	*others = kept;
	return kept_count;
}

bool evidence_is_equal(const struct evidence *a, const struct evidence *b)
{
	return agrees(a, b, ~0U);
}

/* The words that must agree for each distance. A library's version and a network matter only for
 * the same system; the kind of a rank's links, the GPU's generation and the number type make the
 * kind of machine. */
#define WORD(word) (1U << EVIDENCE_##word)
static const unsigned words_of[PART_ADDED][DISTANCE_NEW_LIBRARY] = {
	[PART_ONE_GPU] = {WORD(TOPOLOGY) | WORD(GPU) | WORD(STACK) | WORD(MODEL),
			  WORD(GENERATION) | WORD(FRAMEWORK) | WORD(NUMBERS), WORD(FRAMEWORK)},
	[PART_OWN] = {WORD(KIND) | WORD(TOPOLOGY) | WORD(GPU) | WORD(LINKS) | WORD(LIBRARY) |
			      WORD(STACK),
		      WORD(KIND) | WORD(GENERATION) | WORD(LINKS) | WORD(FAMILY),
		      WORD(KIND) | WORD(FAMILY)}};

static bool is_found(const struct evidence *evidence, const struct evidence *list, size_t count,
		     enum case_part part, unsigned words)
{
	enum case_kind kind = is_kind(evidence, CASE_SERVING) ? CASE_SERVING : CASE_LOCAL;
	for (size_t i = 0; i < count; i++)
		if ((part == PART_OWN || is_kind(&list[i], kind)) &&
		    agrees(evidence, &list[i], words))
			return true;
	return false;
}

enum distance evidence_distance(const struct evidence *evidence, enum case_part part,
				const struct evidence *used, size_t used_count,
				const struct evidence *all, size_t all_count)
{
	if (is_kind(evidence, CASE_LOCAL) || is_kind(evidence, CASE_SERVING))
		part = PART_ONE_GPU;
	if (is_found(evidence, used, used_count, part, words_of[part][DISTANCE_SAME_SYSTEM]))
		return DISTANCE_SAME_SYSTEM;
	for (enum distance d = DISTANCE_SAME_KIND; d < DISTANCE_NEW_LIBRARY; d++)
		if (is_found(evidence, used, used_count, part, words_of[part][d]) ||
		    is_found(evidence, all, all_count, part, words_of[part][d]))
			return d;
	return DISTANCE_NEW_LIBRARY;
}
