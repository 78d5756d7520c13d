/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/knobs.h"

/* Smaller whole numbers are not scaled, because a step of 1 would be a large change. */
static const double WHOLE_LEAST = 5;

/* Returns true if a parameter can be scaled: a number that is not 0 and not a number of
 * simulated steps. */
static bool is_scalable(const struct cfg_param *param)
{
	if (param->row->kind != PARAM_KIND_NUMBER || param->value == 0)
		return false;
	return !(param->row->whole && param->value < WHOLE_LEAST) &&
	       strcmp(param->path, "case.steps") != 0 &&
	       strcmp(param->path, "case.steps_warmup") != 0;
}

double knob_scaled(const struct cfg_param *param, double factor)
{
	double value = param->value * factor;
	if (param->row->whole) {
		value = round(value);
		if (value == param->value)
			value += factor < 1 ? -1 : 1;
	}
	return fmin(fmax(value, param->row->min), param->row->max);
}

static bool same_place(const struct origin *a, const struct origin *b)
{
	if (!a->file || !b->file)
		return a->file == b->file;
	return a->line == b->line && strcmp(a->file, b->file) == 0;
}

static bool same_knob(const struct cfg_param *a, const struct cfg_param *b)
{
	return a->row == b->row && same_place(&a->origin, &b->origin);
}

/* Returns a path with "*" for each word in which the two paths differ. */
static const char *common(struct arena *arena, const char *a, const char *b)
{
	const char *text = "";
	for (;;) {
		size_t in_a = strcspn(a, "."), in_b = strcspn(b, ".");
		bool same = in_a == in_b && memcmp(a, b, in_a) == 0;
		text = arena_printf(arena, "%s%.*s", text, same ? (int)in_a : 1, same ? a : "*");
		if (!a[in_a] || !b[in_b])
			return text;
		text = arena_printf(arena, "%s.", text);
		a += in_a + 1;
		b += in_b + 1;
	}
}

static bool is_member(const struct cfg_param *const *members, size_t count, const char *path)
{
	for (size_t m = 0; m < count; m++)
		if (strcmp(members[m]->path, path) == 0)
			return true;
	return false;
}

/* Returns the name of a knob. If "link.*.latency" matches parameters of other knobs, too, the name
 * lists the first members: "link.{nv0,nv1,nv2,+5}.latency". */
static const char *name_of(struct arena *arena, const struct cfg_resolution *resolution,
			   const struct cfg_param *const *members, size_t count)
{
	enum { LISTED = 3 };
	FW_ASSERT(members && count > 0);
	const char *name = members[0]->path, *listed = "";
	bool others = false;
	for (size_t m = 1; m < count; m++)
		name = common(arena, name, members[m]->path);
	size_t before = strcspn(name, "*");
	for (size_t i = 0; i < cfg_param_count(resolution) && name[before] && !others; i++) {
		const char *path = cfg_param_at(resolution, i)->path;
		others = paths_match(name, path) && !is_member(members, count, path);
	}
	if (!others || strchr(name + before + 1, '*'))
		return name;
	for (size_t m = 0; m < count && m < LISTED; m++) {
		const char *word = members[m]->path + before;
		listed = arena_printf(arena, "%s%s%.*s", listed, m ? "," : "",
				      (int)strcspn(word, "."), word);
	}
	const char *rest = count > LISTED ? arena_printf(arena, ",+%zu", count - LISTED) : "";
	return arena_printf(arena, "%.*s{%s%s}%s", (int)before, name, listed, rest,
			    name + before + 1);
}

struct knobs knobs_scalable(struct arena *arena, const struct scenario *scenario)
{
	const struct cfg_resolution *resolution = scenario->resolution;
	size_t count = cfg_param_count(resolution);
	struct knob *items = ARENA_ARRAY(arena, count + 1, struct knob);
	bool *seen = ARENA_ARRAY(arena, count + 1, bool);
	struct knobs knobs = {.items = items};
	for (size_t i = 0; i < count; i++) {
		const struct cfg_param *first = cfg_param_at(resolution, i);
		if (seen[i] || !is_scalable(first))
			continue;
		VEC(const struct cfg_param *) members = {0};
		for (size_t k = i; k < count; k++) {
			const struct cfg_param *param = cfg_param_at(resolution, k);
			if (seen[k] || !is_scalable(param) || !same_knob(first, param))
				continue;
			seen[k] = true;
			*VEC_PUSH(arena, &members) = param;
		}
		const char *name = name_of(arena, resolution, members.items, members.count);
		items[knobs.count++] = (struct knob){name, members.items, members.count};
		knobs.member_count += members.count;
	}
	return knobs;
}

struct knobs knobs_uncertain(struct arena *arena, const struct scenario *scenario)
{
	struct unknowns *unknowns = ARENA_NEW(arena, struct unknowns);
	*unknowns = unknowns_of(arena, scenario);
	struct knob *items = ARENA_ARRAY(arena, unknowns->count + 1, struct knob);
	for (size_t i = 0; i < unknowns->count; i++) {
		const struct unknown *unknown = &unknowns->items[i];
		const char *name =
			name_of(arena, scenario->resolution, unknown->params, unknown->count);
		items[i] = (struct knob){name, unknown->params, unknown->count};
	}
	return (struct knobs){items, unknowns->count, unknowns->param_count, unknowns};
}
