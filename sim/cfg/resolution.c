/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cfg/resolution.h"
#include "sim/base/hash.h"

struct cfg_resolution *cfg_resolution_new(struct arena *arena)
{
	struct cfg_resolution *resolution = ARENA_NEW(arena, struct cfg_resolution);
	resolution->arena = arena;
	return resolution;
}

/* Copies text[length] without surrounding blanks and without one pair of quotes. */
static const char *trimmed(struct arena *arena, const char *text, size_t length)
{
	while (length && (*text == ' ' || *text == '\t')) {
		text++;
		length--;
	}
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	if (length >= 2 && *text == '"' && text[length - 1] == '"') {
		text++;
		length -= 2;
	}
	return arena_printf(arena, "%.*s", (int)length, text);
}

/* Returns the list in which overrides with that path are found. */
static size_t *list_of(struct cfg_resolution *resolution, const char *path)
{
	return &resolution->lists[hash_text(HASH_START, path) % resolution->list_count];
}

/* Puts the override with that number, which counts from 1, at the head of its list. */
static void enlist(struct cfg_resolution *resolution, size_t number)
{
	struct override *override = &resolution->overrides.items[number - 1];
	size_t *list =
		override->pattern ? &resolution->patterns : list_of(resolution, override->path);
	override->next = *list;
	*list = number;
}

/* Adds an override to a list. The lists keep the time of a look-up short: a draw of a large
 * topology overrides each of its parameters. */
static void add(struct cfg_resolution *resolution, struct override override)
{
	enum { FIRST_COUNT = 16 };
	override.pattern = strchr(override.path, '*') != NULL;
	*VEC_PUSH(resolution->arena, &resolution->overrides) = override;
	size_t count = resolution->overrides.count;
	if (count <= resolution->list_count) {
		enlist(resolution, count);
		return;
	}
	resolution->list_count = count == 1 ? FIRST_COUNT : 2 * resolution->list_count;
	resolution->lists = ARENA_ARRAY(resolution->arena, resolution->list_count, size_t);
	resolution->patterns = 0;
	for (size_t number = 1; number <= count; number++)
		enlist(resolution, number);
}

void cfg_override(struct cfg_resolution *resolution, struct diag *diag, struct origin origin,
		  const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	struct arena *arena = resolution->arena;
	const char *path =
		equals ? trimmed(arena, assignment, (size_t)(equals - assignment)) : NULL;
	if (!path || !*path) {
		diag_error(diag, origin, "'%s' sets nothing (write key=value, such as %s)",
			   assignment, "case.batch=32");
		return;
	}
	if (cfg_is_left_out(resolution, path, origin))
		return;
	add(resolution,
	    (struct override){.path = path,
			      .setting = {trimmed(arena, equals + 1, strlen(equals + 1)), origin}});
}

void cfg_leave_out(struct cfg_resolution *resolution, const char *path, struct origin origin)
{
	resolution->left_out = (struct cfg_setting){path, origin};
}

bool cfg_is_left_out(const struct cfg_resolution *resolution, const char *path,
		     struct origin origin)
{
	const struct cfg_setting *out = &resolution->left_out;
	return out->text && origin.line == out->origin.line && origin.line > 0 &&
	       strcmp(origin.file, out->origin.file) == 0 && paths_match(path, out->text);
}

void cfg_override_draw(struct cfg_resolution *resolution, const char *path, double value)
{
	add(resolution, (struct override){.kind = OVERRIDE_DRAW,
					  .path = arena_strdup(resolution->arena, path),
					  .value = value});
}

void cfg_override_node(struct cfg_resolution *resolution, const char *path,
		       const struct cfg_node *value)
{
	add(resolution, (struct override){.kind = OVERRIDE_NODE,
					  .path = arena_strdup(resolution->arena, path),
					  .node = value});
}

/* Returns true if the words of text[length] can be one name: a file name ("my.gpu.cfg"), or a name
 * with a version or the number of a copy ("tf-1.14"). */
static bool is_name(const char *text, size_t length)
{
	static const char ending[] = ".cfg";
	size_t tail = sizeof ending - 1;
	if (length > tail && memcmp(text + length - tail, ending, tail) == 0)
		return true;
	for (size_t i = 0; i < length; i++)
		if (text[i] == '.' && (i + 1 == length || text[i + 1] < '0' || text[i + 1] > '9'))
			return false;
	return true;
}

/* Returns true if some name at the begin of `path` can stand for "*", and `rest` matches what
 * follows it. */
static bool star_matches(const char *rest, const char *path)
{
	size_t length = 0;
	for (;;) {
		length += strcspn(path + length, ".");
		if (is_name(path, length) &&
		    (*rest && path[length] ? paths_match(rest + 1, path + length + 1)
					   : !*rest && !path[length]))
			return true;
		if (!path[length])
			return false;
		length++;
	}
}

bool paths_match(const char *a, const char *b)
{
	for (;;) {
		size_t in_a = strcspn(a, "."), in_b = strcspn(b, ".");
		if (in_a == 1 && *a == '*')
			return star_matches(a + 1, b);
		if (in_b == 1 && *b == '*')
			return star_matches(b + 1, a);
		if (in_a != in_b || memcmp(a, b, in_a) != 0)
			return false;
		if (!a[in_a] || !b[in_b])
			return !a[in_a] && !b[in_b];
		a += in_a + 1;
		b += in_b + 1;
	}
}

static bool is_meant(const struct override *override, const char *path)
{
	return override->pattern ? paths_match(override->path, path)
				 : strcmp(override->path, path) == 0;
}

/* Returns the number of the last override of a list that is meant by path; 0 if there is none. */
static size_t take_from(struct cfg_resolution *resolution, size_t list, const char *path,
			enum override_kind kind)
{
	size_t last = 0;
	for (size_t number = list; number;) {
		struct override *override = &resolution->overrides.items[number - 1];
		if (override->kind == kind && is_meant(override, path)) {
			override->used = true;
			last = number > last ? number : last;
		}
		number = override->next;
	}
	return last;
}

const struct override *cfg_override_take(struct cfg_resolution *resolution, const char *path,
					 enum override_kind kind)
{
	if (!resolution->list_count)
		return NULL;
	size_t exact = take_from(resolution, *list_of(resolution, path), path, kind);
	size_t pattern = take_from(resolution, resolution->patterns, path, kind);
	size_t last = exact > pattern ? exact : pattern;
	return last ? &resolution->overrides.items[last - 1] : NULL;
}

const char *cfg_override_text(struct cfg_resolution *resolution, const char *path)
{
	*VEC_PUSH(resolution->arena, &resolution->requested) =
		arena_strdup(resolution->arena, path);
	const struct override *override = cfg_override_take(resolution, path, OVERRIDE_SETTING);
	return override ? override->setting.text : NULL;
}

/* Copies texts, and shares a copy between neighbours, which often have the same file name. */
struct text_copier {
	struct arena *arena;
	const char *text, *copy; /* the last text and its copy */
};

static const char *copy_text(struct text_copier *c, const char *text)
{
	if (!text)
		return NULL;
	if (!c->text || strcmp(text, c->text) != 0) {
		c->text = text;
		c->copy = arena_strdup(c->arena, text);
	}
	return c->copy;
}

static const struct cfg_correlation *
copy_correlations(struct arena *arena, const struct cfg_correlation *items, size_t count)
{
	struct cfg_correlation *copies = ARENA_ARRAY(arena, count, struct cfg_correlation);
	for (size_t i = 0; i < count; i++)
		copies[i] = (struct cfg_correlation){arena_strdup(arena, items[i].path),
						     items[i].ratio};
	return count ? copies : NULL;
}

const struct cfg_resolution *cfg_resolution_copy(struct arena *arena,
						 const struct cfg_resolution *resolution)
{
	struct cfg_resolution *copy = cfg_resolution_new(arena);
	struct text_copier files = {.arena = arena}, notes = files;
	size_t count = resolution->params.count;
	copy->params.items = ARENA_ARRAY(arena, count, struct cfg_param);
	copy->params.count = copy->params.room = count;
	for (size_t i = 0; i < count; i++) {
		struct cfg_param *param = &copy->params.items[i];
		*param = resolution->params.items[i];
		param->path = arena_strdup(arena, param->path);
		param->origin.file = copy_text(&files, param->origin.file);
		if (param->text)
			param->text = arena_strdup(arena, param->text);
		if (param->note != param->row->source)
			param->note = copy_text(&notes, param->note);
		param->correlations =
			copy_correlations(arena, param->correlations, param->correlation_count);
		param->follows = copy_correlations(arena, param->follows, param->follow_count);
	}
	return copy;
}

bool cfg_param_varies(const struct cfg_param *param)
{
	return param->row->kind == PARAM_KIND_NUMBER && param->low < param->high;
}

const char *cfg_param_text(struct arena *arena, const struct cfg_param *param, double value)
{
	switch (param->row->kind) {
	case PARAM_KIND_NUMBER:
		return quantity_format(arena, param->row->quantity, value);
	case PARAM_KIND_BOOL:
		return value != 0 ? "true" : "false";
	default:
		return param->text ? param->text : "";
	}
}

size_t cfg_param_count(const struct cfg_resolution *resolution)
{
	return resolution->params.count;
}

const struct cfg_param *cfg_param_at(const struct cfg_resolution *resolution, size_t index)
{
	FW_ASSERT(index < resolution->params.count);
	return &resolution->params.items[index];
}

const struct cfg_param *cfg_param_find(const struct cfg_resolution *resolution, const char *path)
{
	for (size_t i = 0; i < resolution->params.count; i++)
		if (strcmp(resolution->params.items[i].path, path) == 0)
			return &resolution->params.items[i];
	return NULL;
}

void cfg_param_choose(struct cfg_resolution *resolution, const char *path, const char *text,
		      const char *note)
{
	for (size_t i = 0; i < resolution->params.count; i++) {
		struct cfg_param *param = &resolution->params.items[i];
		if (strcmp(param->path, path) == 0) {
			param->text = text;
			param->note = note;
		}
	}
}

/* ---- overrides that nothing used ---- */

/* Returns the known path that begins with the first `head` characters of a word and ends in
 * ".ending" if there is exactly one, else NULL. */
static const char *by_ending(const char *word, size_t head, const char *ending,
			     const char *const *known, size_t count)
{
	const char *found = NULL;
	size_t length = strlen(ending);
	for (size_t i = 0; i < count; i++) {
		size_t known_length = strlen(known[i]);
		if (strncmp(known[i], word, head) != 0)
			continue;
		if (known_length <= length || known[i][known_length - length - 1] != '.' ||
		    strcmp(known[i] + known_length - length, ending) != 0)
			continue;
		if (found)
			return NULL;
		found = known[i];
	}
	return found;
}

/* Returns the length of a path up to and including its last dot. */
static size_t head_length(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot ? (size_t)(dot + 1 - path) : 0;
}

/* Lists the head of each known path once, as "runtime.*". */
static size_t heads(struct arena *scratch, const char *const *known, size_t count, const char **out)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		const char *head =
			arena_printf(scratch, "%.*s*", (int)head_length(known[i]), known[i]);
		bool seen = false;
		for (size_t j = 0; j < kept && !seen; j++)
			seen = strcmp(out[j], head) == 0;
		if (!seen)
			out[kept++] = head;
	}
	return kept;
}

/* Words of other programs, and farwire's names of the same settings. */
static const char *const other_words[][2] = {
	{"serve.ttft", "serve.first_slo"},
	{"serve.tpot", "serve.between_slo"},
	{"serve.itl", "serve.between_slo"},
	{"serve.qps", "serve.rate"},
	{"serve.input_len", "serve.prompt"},
	{"serve.output_len", "serve.output"},
	{"serve.max_num_seqs", "serve.batch"},
	{"serve.max_num_batched_tokens", "serve.tokens"},
	{"serve.clients", "serve.concurrency"},
	{"serve.users", "serve.concurrency"},
	{"serve.max_concurrency", "serve.concurrency"},
	{"serve.isl", "serve.prompt"},
	{"serve.osl", "serve.output"},
	{"serve.quantization", "serve.weights"},
	{"serve.kv_cache_dtype", "serve.kv"},
	{"serve.max_model_len", "case.sequence"},
	{"serve.tensor", "case.tensor"},
	{"serve.tp", "case.tensor"},
	{"serve.tensor_parallel_size", "case.tensor"},
	{"plan.gbs", "plan.global_batch"},
	{"plan.mbs", "plan.micro_batch"},
	{"plan.zero", "plan.sharding"},
	{"plan.fsdp", "plan.sharding"},
	{"case.size", "case.collective_size"},
};

/* Finds the nearest known path. A mistake in the last part is searched among paths with the same
 * head, any other mistake among all paths. */
static const char *suggest(struct arena *scratch, const char *word, const char *const *known,
			   size_t count)
{
	for (size_t i = 0; i < sizeof other_words / sizeof other_words[0]; i++)
		if (strcmp(word, other_words[i][0]) == 0)
			return arena_printf(scratch, "write '%s'", other_words[i][1]);
	size_t length = head_length(word), kept = 0;
	const char **near = ARENA_ARRAY(scratch, count, const char *);
	for (size_t i = 0; length && i < count; i++)
		if (head_length(known[i]) == length && strncmp(known[i], word, length) == 0)
			near[kept++] = known[i] + length;
	if (kept) {
		const char *meant = diag_nearest(word + length, near, kept);
		return meant ? arena_printf(scratch, "did you mean '%.*s%s'?", (int)length, word,
					    meant)
			     : arena_printf(scratch, "%.*s has %s", (int)length - 1, word,
					    cfg_list(scratch, near, kept));
	}
	const char *meant = by_ending(word, 0, word, known, count);
	if (!meant)
		meant = diag_nearest(word, known, count);
	if (!meant)
		meant = by_ending(word, 0, word + length, known, count);
	if (!meant)
		meant = by_ending(word, strcspn(word, ".") + 1, word + length, known, count);
	if (meant)
		return arena_printf(scratch, "did you mean '%s'?", meant);
	kept = heads(scratch, known, count, near);
	return cfg_suggestion(scratch, word, near, kept);
}

void cfg_resolution_finish(struct cfg_resolution *resolution, struct diag *diag)
{
	struct arena *scratch = arena_new();
	size_t count = 0;
	const char **known = ARENA_ARRAY(
		scratch, resolution->params.count + resolution->requested.count, const char *);
	for (size_t i = 0; i < resolution->params.count; i++)
		known[count++] = resolution->params.items[i].path;
	for (size_t i = 0; i < resolution->requested.count; i++)
		known[count++] = resolution->requested.items[i];
	for (size_t i = 0; i < resolution->overrides.count; i++) {
		const struct override *override = &resolution->overrides.items[i];
		if (!override->used && override->kind == OVERRIDE_SETTING)
			diag_error(diag, override->setting.origin, "unknown parameter '%s' (%s)",
				   override->path, suggest(scratch, override->path, known, count));
	}
	arena_free(scratch);
}

/* ---- words ---- */

/* Returns the object of a path: "vswitch" of "link.vswitch.latency", "" of "runtime.handoff". */
static const char *object_words(struct arena *arena, const char *path)
{
	const char *first = strchr(path, '.'), *last = strrchr(path, '.');
	if (!first || first == last)
		return "";
	int group_length = (int)(first - path);
	const char *group = strncmp(path, "gpu.", 4) == 0 ? "GPU" : path;
	if (strncmp(first, ".*.", 3) == 0 && last == first + 2)
		return arena_printf(arena, " of every %.*s", group_length, group);
	return arena_printf(arena, " of %.*s", (int)(last - first - 1), first + 1);
}

const char *cfg_param_words(struct arena *arena, const char *path, const struct param_row *row)
{
	const char *last = strrchr(path, '.');
	char *phrase = arena_strdup(arena, row ? row->help : last ? last + 1 : path);
	phrase[strcspn(phrase, ",:;(")] = '\0';
	for (size_t end = strlen(phrase); end > 0 && phrase[end - 1] == ' '; end--)
		phrase[end - 1] = '\0';
	for (char *at = phrase; *at && !row; at++)
		if (*at == '_')
			*at = ' ';
	return arena_printf(arena, "%s%s", phrase, object_words(arena, path));
}
