/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies case.fail and case.degrade to the topology: failed links and GPUs are removed, and others
 * get a part of their rate. A fault of a node is also one of all links that end at it. */
#include "sim/engine/names.h"
#include "sim/scenario/case.h"

/* With less, a link or a GPU has failed: 50 GB/s would become 50 kB/s. */
static const double FACTOR_LEAST = 1e-6;

struct faults {
	struct reader *c;
	struct topology *topology;
	struct gpu_entry *gpus;
	struct link_entry *links;
};

/* Returns true for the whole name, and for the name without its machine: nv0 is n0.nv0, n1.nv0 and
 * so on. */
static bool is_called(const char *name, const char *part)
{
	const char *dot = strchr(name, '.');
	return strcmp(name, part) == 0 || (dot && strcmp(dot + 1, part) == 0);
}

/* Returns the nodes that the fault disables or slows down. A machine includes its guests and GPUs,
 * and in a cluster all nodes whose names begin with its name. */
static const struct names *nodes_of(struct faults *f, const char *part, double factor)
{
	const struct topology *t = f->topology;
	struct names *nodes = names_new(f->c->arena);
	size_t length = strlen(part);
	for (size_t i = 0; i < t->host_count; i++)
		if (is_called(t->hosts[i].name, part))
			names_add(nodes, part);
	for (size_t i = 0; i < t->guest_count; i++)
		if (is_called(t->guests[i].name, part) ||
		    strcmp(t->hosts[t->guests[i].host].name, part) == 0)
			names_add(nodes, t->guests[i].name);
	for (size_t i = 0; i < t->gpu_count; i++)
		if (is_called(f->gpus[i].name, part) ||
		    strcmp(t->hosts[f->gpus[i].host].name, part) == 0) {
			names_add(nodes, f->gpus[i].name);
			f->gpus[i].lost_ratio = 1 - factor * (1 - f->gpus[i].lost_ratio);
		}
	for (size_t i = 0; i < t->switch_count; i++)
		if (is_called(t->switches[i], part) ||
		    (strncmp(t->switches[i], part, length) == 0 && t->switches[i][length] == '.'))
			names_add(nodes, t->switches[i]);
	for (size_t i = 0; i < t->alias_count; i++)
		if (is_called(t->aliases[i].name, part))
			names_add(nodes, t->aliases[i].node);
	return nodes;
}

static void unknown(struct faults *f, struct origin origin, const char *part)
{
	const struct topology *t = f->topology;
	size_t count =
		t->host_count + t->gpu_count + t->switch_count + t->link_count + t->alias_count;
	size_t n = 0;
	const char **names = ARENA_ARRAY(f->c->arena, 2 * count + 1, const char *);
	for (size_t i = 0; i < t->link_count; i++)
		names[n++] = f->links[i].name;
	for (size_t i = 0; i < t->gpu_count; i++)
		names[n++] = f->gpus[i].name;
	for (size_t i = 0; i < t->switch_count; i++)
		names[n++] = t->switches[i];
	for (size_t i = 0; i < t->host_count; i++)
		names[n++] = t->hosts[i].name;
	for (size_t i = 0; i < t->alias_count; i++)
		names[n++] = t->aliases[i].name;
	for (size_t i = 0; i < count; i++) { /* also without their machines */
		const char *dot = strchr(names[i], '.');
		if (dot)
			names[n++] = dot + 1;
	}
	const char *near = diag_nearest(part, names, n);
	diag_error(f->c->diag, origin,
		   "topology '%s' has no link, GPU, adapter, switch or host '%s'%s%s%s", t->name,
		   part, near ? " (did you mean '" : " (the first link is '",
		   near            ? near
		   : t->link_count ? names[0]
				   : "none",
		   near ? "'?)" : "')");
}

static void apply(struct faults *f, struct origin origin, const char *part, double factor)
{
	static const char *const sorts[] = {"link.", "gpu.", "host."};
	for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++)
		if (strncmp(part, sorts[i], strlen(sorts[i])) == 0)
			part += strlen(sorts[i]);
	const struct names *nodes = nodes_of(f, part, factor);
	bool found = names_count(nodes) > 0;
	for (size_t i = 0; i < f->topology->link_count; i++) {
		struct link_entry *link = &f->links[i];
		if (!is_called(link->name, part) && names_find(nodes, link->ends[0]) < 0 &&
		    names_find(nodes, link->ends[1]) < 0)
			continue;
		link->traits.capacity_Bps[0] *= factor;
		link->traits.capacity_Bps[1] *= factor;
		found = true;
	}
	if (!found)
		unknown(f, origin, part);
}

/* Applies each part of "a,b" or "a=0.5,b=0.25". */
static void apply_list(struct faults *f, const char *key, const char *list, bool with_factor)
{
	struct arena *arena = f->c->arena;
	struct origin origin = case_origin_of(f->c, key);
	for (; *list; list += *list == ',') {
		size_t length = strcspn(list, ","), name = strcspn(list, "=,");
		const char *part = arena_printf(arena, "%.*s", (int)name, list);
		const char *number = arena_printf(arena, "%.*s", (int)(length - name), list + name);
		double factor = 0;
		bool good = name > 0 && with_factor == (*number == '=');
		if (good && with_factor)
			good = !quantity_parse(arena, QUANTITY_RATIO, number + 1, &factor) &&
			       factor >= FACTOR_LEAST && factor <= 1;
		if (good)
			apply(f, origin, part, factor);
		else
			diag_error(f->c->diag, origin, "%s: '%s%s' is not %s", key, part, number,
				   with_factor ? "a name with a factor from 0.000001 to 1 (write "
						 "nv0=0.5, for example, or --fail nv0)"
					       : "a name (write nv0, or --degrade nv0=0.5 for a "
						 "part of its rate)");
		list += length;
	}
}

/* Removes what failed. A GPU that is missing is reported when a job needs it. */
static void remove_failed(struct faults *f)
{
	struct topology *t = f->topology;
	size_t gpus = 0, links = 0;
	for (size_t i = 0; i < t->gpu_count; i++)
		if (f->gpus[i].lost_ratio < 1)
			f->gpus[gpus++] = f->gpus[i];
	for (size_t i = 0; i < t->link_count; i++)
		if (f->links[i].traits.capacity_Bps[0] > 0)
			f->links[links++] = f->links[i];
	t->gpus = f->gpus;
	t->gpu_count = gpus;
	t->links = f->links;
	t->link_count = links;
}

bool case_has_faults(const struct reader *c)
{
	return c->params->fail[0] || c->params->degrade[0];
}

const char *case_failed_words(const struct reader *c)
{
	struct arena *arena = c->arena;
	const struct case_params *params = c->params;
	const char *devices = params->devices[0]
				      ? arena_printf(arena, " with --devices %s", params->devices)
				      : "";
	return params->fail[0]
		       ? arena_printf(arena, "%s left after --fail %s", devices, params->fail)
		       : devices;
}

void case_faults(struct reader *c)
{
	struct topology *t = &c->scenario->topology;
	if (!case_has_faults(c) || diag_count(c->diag) > 0)
		return;
	struct faults f = {c, t, ARENA_ARRAY(c->arena, t->gpu_count + 1, struct gpu_entry),
			   ARENA_ARRAY(c->arena, t->link_count + 1, struct link_entry)};
	if (t->gpu_count)
		memcpy(f.gpus, t->gpus, t->gpu_count * sizeof *f.gpus);
	if (t->link_count)
		memcpy(f.links, t->links, t->link_count * sizeof *f.links);
	apply_list(&f, "case.fail", c->params->fail, false);
	apply_list(&f, "case.degrade", c->params->degrade, true);
	remove_failed(&f);
}
