/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/suspects.h"
#include "sim/analysis/knobs.h"
#include "sim/base/lines.h"
#include "sim/fabric/link_kinds.h"

/* Where a link is, one bit each. */
enum link_place {
	PLACE_NVLINK = 1,
	PLACE_PCIE = 2, /* slots of GPUs, and links of PCIe switches */
	PLACE_SLOT = 4, /* PCIe slots of adapters */
	PLACE_SOCKET = 8,
	PLACE_PORT = 16,  /* from a machine to the network */
	PLACE_TRUNK = 32, /* between two switches of the network */
	PLACE_OTHER = 64,
	PLACE_LOSSLESS = 128, /* also a bit of ports of RoCE */
	PLACE_ANY = 127,
};
enum extent { ONE, ALL };

enum { C = MEASURED_COLLECTIVE, S = MEASURED_STEP, T = MEASURED_TCP, R = MEASURED_RDMA };
enum { D = MEASURED_COPY };

static const struct {
	unsigned measured;
	const char *what, *settings, *check;
	double factor; /* of the parameters that `settings` names; 0: these are settings */
} settings[] = {
#define SETTING(measured, what, settings, check)     {measured, what, settings, check, 0},
#define SCALED(measured, what, paths, factor, check) {measured, what, paths, check, factor},
#define LINKS(measured, place, extent, factor, what, check)
#include "sim/analysis/suspects.def"
#undef SETTING
#undef SCALED
#undef LINKS
};

static const struct {
	unsigned measured, places;
	enum extent extent;
	double factor;
	const char *what, *check; /* check NULL: that of the place */
} link_faults[] = {
#define SETTING(measured, what, settings, check)
#define SCALED(measured, what, paths, factor, check)
#define LINKS(measured, places, extent, factor, what, check)                                       \
	{measured, places, extent, factor, what, check},
#include "sim/analysis/suspects.def"
#undef SETTING
#undef SCALED
#undef LINKS
};

struct link_class { /* links that are alike */
	const char *key;
	unsigned place;
	VEC(const struct link_entry *) links;
};

struct generating {
	struct arena *arena;
	const struct scenario *scenario;
	enum measured measured;
	const double *carried_B;
	VEC(struct suspect) list;
	VEC(struct link_class) classes;
};

static void add(struct generating *g, const char *what, const char *setting, const char *check)
{
	const struct case_params *params = g->scenario->params;
	const char *more = "";
	if (strncmp(setting, "case.fail=", 10) == 0)
		more = params->fail;
	if (strncmp(setting, "case.degrade=", 13) == 0)
		more = params->degrade;
	*VEC_PUSH(g->arena, &g->list) = (struct suspect){
		.what = what,
		.setting = arena_printf(g->arena, "%s%s%s", setting, *more ? "," : "", more),
		.check = check};
}

/* The last suspect is the same fault as the one before it. */
static void add_again(struct generating *g, bool again)
{
	g->list.items[g->list.count - 1].again = again;
}

static const char *without_digits(struct arena *arena, const char *name)
{
	char *text = arena_strdup(arena, name), *to = text;
	for (const char *at = text; *at; at++)
		if (!isdigit((unsigned char)*at))
			*to++ = *at;
	*to = 0;
	return text;
}

static const char *without_machine(const char *name)
{
	const char *dot = strchr(name, '.');
	return dot ? dot + 1 : name;
}

/* Returns true if a link inside of a machine, or one of the network, ends at the node. */
static bool has_end(const struct topology *t, const char *node, bool inside)
{
	for (size_t i = 0; i < t->link_count; i++)
		if (t->links[i].kind->inside_host == inside &&
		    (strcmp(t->links[i].ends[0], node) == 0 ||
		     strcmp(t->links[i].ends[1], node) == 0))
			return true;
	return false;
}

static bool is_host(const struct topology *t, const char *node)
{
	for (size_t i = 0; i < t->host_count; i++)
		if (strcmp(t->hosts[i].name, node) == 0)
			return true;
	for (size_t i = 0; i < t->guest_count; i++)
		if (strcmp(t->guests[i].name, node) == 0)
			return true;
	return false;
}

/* Returns the adapter at an end of a link of the network; NULL: both ends are switches or hosts. */
static const char *adapter_of(const struct topology *t, const struct link_entry *link)
{
	for (size_t end = 0; end < 2; end++)
		if (has_end(t, link->ends[end], true) && !is_host(t, link->ends[end]))
			return link->ends[end];
	return NULL;
}

static unsigned place_of(const struct topology *t, const struct link_entry *link)
{
	if (link->kind == &link_nvlink)
		return PLACE_NVLINK;
	if (link->kind == &link_socket)
		return PLACE_SOCKET;
	if (link->kind == &link_pcie)
		return has_end(t, link->ends[0], false) || has_end(t, link->ends[1], false)
			       ? PLACE_SLOT
			       : PLACE_PCIE;
	if (link->kind->inside_host)
		return PLACE_OTHER;
	if (!adapter_of(t, link) && !is_host(t, link->ends[0]) && !is_host(t, link->ends[1]))
		return PLACE_TRUNK;
	return link->kind == &link_roce ? PLACE_PORT | PLACE_LOSSLESS : PLACE_PORT;
}

/* Links with equal kinds, rates, sorts of ends and (within a quarter) bytes are alike. */
static const char *key_of(struct generating *g, const struct link_entry *link, double carried_B)
{
	return arena_printf(g->arena, "%s %g %s %s %.0f", link->kind->name,
			    link->traits.capacity_Bps[0], without_digits(g->arena, link->ends[0]),
			    without_digits(g->arena, link->ends[1]), 10 * log10(carried_B));
}

static void classify_link(struct generating *g, const struct link_entry *link, double carried_B)
{
	const char *key = key_of(g, link, carried_B);
	struct link_class *class = NULL;
	for (size_t i = 0; i < g->classes.count && !class; i++)
		if (strcmp(g->classes.items[i].key, key) == 0)
			class = &g->classes.items[i];
	if (!class) {
		class = VEC_PUSH(g->arena, &g->classes);
		*class = (struct link_class){.key = key,
					     .place = place_of(&g->scenario->topology, link)};
	}
	*VEC_PUSH(g->arena, &class->links) = link;
}

static const char *check_of(unsigned place)
{
	if (place & PLACE_NVLINK)
		return "compare nvidia-smi nvlink -s and -e of all GPUs, and nvidia-smi topo -m";
	if (place & (PLACE_PCIE | PLACE_SLOT))
		return "compare LnkSta with LnkCap in lspci -vv (width, speed); ACS must be off "
		       "(ACSCtl), or peer traffic uses the uplinks twice";
	if (place & PLACE_SOCKET)
		return "check lscpu, the speed of UPI or xGMI in the BIOS, and its NUMA nodes";
	return "compare the rates of ports (ibstat or ethtool), and their error counters";
}

static const char *name_of(struct arena *arena, const struct link_class *class,
			   const struct link_entry *link)
{
	const char *kind = link->kind->name;
	size_t count = class->links.count;
	return count > 1 ? arena_printf(arena, "link %s (%s, one of %zu alike)", link->name, kind,
					count)
			 : arena_printf(arena, "link %s (%s)", link->name, kind);
}

/* Returns the part of the network's equal cables that a trunk of this class still uses: ", 16 of 32
 * cables". Other links have none. */
static const char *cables_of(struct generating *g, const struct link_class *class, double factor)
{
	const double *trunk_Bps = class->links.items[0]->traits.capacity_Bps;
	for (size_t i = 0; i < g->classes.count && class->place == PLACE_TRUNK; i++)
		if (g->classes.items[i].place & PLACE_PORT) {
			double cables = trunk_Bps[0] /
					g->classes.items[i].links.items[0]->traits.capacity_Bps[0];
			return arena_printf(g->arena,
					    " use %.3g of %.3g equal cables:", factor * cables,
					    cables);
		}
	return "";
}

/* Adds a fault of one link: of the first of the class, of all for copies, and that the last one is
 * missing, because rings may go around one with less loss than around the other. */
static void add_one(struct generating *g, const struct link_class *class, size_t fault)
{
	size_t count = class->links.count;
	double factor = link_faults[fault].factor;
	bool each = g->measured & MEASURED_TRANSFER, last = !each && factor <= 0;
	const char *check = link_faults[fault].check;
	for (size_t i = 0; i < count; i += last && count > 1 && i == 0 ? count - 1 : 1) {
		const struct link_entry *link = class->links.items[i];
		if (i > 0 && !each && !last)
			break;
		add(g,
		    arena_printf(g->arena, "%s %s", name_of(g->arena, class, link),
				 link_faults[fault].what),
		    factor > 0 ? arena_printf(g->arena, "case.degrade=%s=%g", link->name, factor)
			       : arena_printf(g->arena, "case.fail=%s", link->name),
		    check ? check : check_of(class->place));
		add_again(g, last && i > 0);
	}
}

static void add_all(struct generating *g, const struct link_class *class, size_t fault)
{
	const struct link_entry *first = class->links.items[0];
	double factor = link_faults[fault].factor;
	const char *names = "", *check = link_faults[fault].check;
	if (class->links.count < 2)
		return;
	for (size_t i = 0; i < class->links.count; i++) {
		/* a port without "fabric." is called as its adapter, whose slot would be slow, too
		 */
		const struct link_entry *link = class->links.items[i];
		const char *name =
			link->kind->inside_host ? without_machine(link->name) : link->name;
		if (!has_word(names, name))
			names = arena_printf(g->arena, "%s%s%s=%g", names, *names ? "," : "", name,
					     factor);
	}
	add(g,
	    arena_printf(g->arena, "all links like %s (%s, %zu)%s %s", first->name,
			 first->kind->name, class->links.count, cables_of(g, class, factor),
			 link_faults[fault].what),
	    arena_printf(g->arena, "case.degrade=%s", names),
	    check ? check : check_of(class->place));
}

static void add_links(struct generating *g, const struct link_class *class)
{
	const struct topology *t = &g->scenario->topology;
	const struct link_entry *link = class->links.items[0];
	if (class->place == PLACE_SOCKET &&
	    (is_host(t, link->ends[0]) || is_host(t, link->ends[1])))
		add(g,
		    arena_printf(g->arena, "host memory of %s on the other socket (NUMA)",
				 link->name),
		    arena_printf(g->arena, "case.fail=%s", link->name),
		    "bind each process to the socket of its GPU (numactl, mpirun --bind-to)");
	for (size_t i = 0; i < sizeof link_faults / sizeof link_faults[0]; i++) {
		if (!(link_faults[i].measured & g->measured) ||
		    !(link_faults[i].places & class->place))
			continue;
		if (link_faults[i].extent == ONE)
			add_one(g, class, i);
		else
			add_all(g, class, i);
	}
}

/* Adds that the adapters of the first and the last port of a class are not used, because rings may
 * avoid one better than the other. Adds also that each machine uses only one adapter. */
static void add_adapters(struct generating *g, const struct link_class *class)
{
	const struct topology *t = &g->scenario->topology;
	const char *first = adapter_of(t, class->links.items[0]), *node = first;
	const char *check = "NCCL_DEBUG=INFO must list it; check NCCL_IB_HCA and ibstat";
	while (node) {
		const char *also = topology_alias(t, node);
		add(g,
		    arena_printf(g->arena, "adapter %s%s%s%s is not used", node, also ? " (" : "",
				 also ? also : "", also ? ")" : ""),
		    arena_printf(g->arena, "case.fail=%s", node), check);
		add_again(g, node != first);
		const char *last = adapter_of(t, class->links.items[class->links.count - 1]);
		node = node == first && last != first ? last : NULL;
	}
	if (first)
		add(g,
		    arena_printf(g->arena, "only adapter %s of each machine is used",
				 without_machine(first)),
		    arena_printf(g->arena, "case.adapters=%s", without_machine(first)),
		    "NCCL_DEBUG=INFO must list all adapters after 'NET/IB : Using'; check "
		    "NCCL_IB_HCA and ibstat");
}

/* Returns the bytes that a switch of the network carries; 0: it has no links of the network. */
static double switch_B(const struct generating *g, const char *name)
{
	const struct topology *t = &g->scenario->topology;
	double sum_B = 0;
	for (size_t i = 0; i < t->link_count; i++)
		if (!t->links[i].kind->inside_host && (strcmp(t->links[i].ends[0], name) == 0 ||
						       strcmp(t->links[i].ends[1], name) == 0))
			sum_B += g->carried_B[i];
	return sum_B;
}

/* Adds that the first switch of the network is slow, and the last one, at which a collective's
 * smaller jobs may have no machine. */
static void add_switches(struct generating *g)
{
	const struct topology *t = &g->scenario->topology;
	size_t count = 0, first = 0, last = 0;
	for (size_t i = 0; i < t->switch_count; i++)
		if (!has_end(t, t->switches[i], true) && switch_B(g, t->switches[i]) > 0) {
			first = count++ ? first : i;
			last = i;
		}
	for (size_t i = first; count > 0; i = last) {
		add(g,
		    arena_printf(g->arena, "switch %s (one of %zu) at half its rate",
				 t->switches[i], count),
		    arena_printf(g->arena, "case.degrade=%s=0.5", t->switches[i]),
		    "compare port counters, FEC errors and flapping links with its peers; run "
		    "the job on machines of another leaf");
		add_again(g, i > first);
		if (i == last)
			break;
	}
}

static void add_gpu(struct generating *g)
{
	const struct topology *t = &g->scenario->topology;
	const char *gpu = t->gpus[g->scenario->jobs[0].gpus[0]].name;
	add(g, arena_printf(g->arena, "GPU %s (one of %zu) at half its rate", gpu, t->gpu_count),
	    arena_printf(g->arena, "case.degrade=%s=0.5", gpu),
	    "compare clocks, temperatures and throttle reasons of all GPUs (nvidia-smi -q -d "
	    "PERFORMANCE), and run with fewer ranks to find the slow one");
}

/* Returns the settings "path=value" of a row of SCALED: each path's first parameter times the
 * factor. NULL: the case has none of them. */
static const char *scaled(struct generating *g, const char *paths, double factor)
{
	const struct cfg_resolution *resolution = g->scenario->resolution;
	const char *text = NULL;
	for (size_t length; *paths; paths += length + strspn(paths + length, " ")) {
		length = strcspn(paths, " ");
		const char *path = arena_printf(g->arena, "%.*s", (int)length, paths);
		for (size_t i = 0; i < cfg_param_count(resolution); i++) {
			const struct cfg_param *param = cfg_param_at(resolution, i);
			if (param->row->kind != PARAM_KIND_NUMBER || !(param->value > 0) ||
			    !paths_match(path, param->path))
				continue;
			char *value =
				arena_strdup(g->arena, cfg_param_text(g->arena, param,
								      knob_scaled(param, factor)));
			char *blank = strchr(value, ' ');
			if (blank)
				memmove(blank, blank + 1, strlen(blank));
			text = arena_printf(g->arena, "%s%s%s=%s", text ? text : "",
					    text ? " " : "", path, value);
			break;
		}
	}
	return text;
}

struct suspect *suspects_of(struct arena *arena, const struct scenario *scenario,
			    enum measured measured, const double *carried_B, size_t *count)
{
	const struct topology *t = &scenario->topology;
	struct generating g = {
		.arena = arena, .scenario = scenario, .measured = measured, .carried_B = carried_B};
	bool network = false; /* the bytes pass it, so its transport matters */
	add(&g, "no fault", "", "");
	for (size_t i = 0; i < t->link_count; i++)
		if (carried_B[i] > 0)
			classify_link(&g, &t->links[i], carried_B[i]);
	for (size_t i = 0; i < g.classes.count; i++) {
		const struct link_class *class = &g.classes.items[i];
		add_links(&g, class);
		network = network || class->place & PLACE_PORT;
		if (class->place & PLACE_PORT && !(measured & MEASURED_TRANSFER))
			add_adapters(&g, class);
	}
	if (!(measured & MEASURED_TRANSFER)) {
		add_switches(&g);
		add_gpu(&g);
	}
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		const char *setting = settings[i].factor > 0
					      ? scaled(&g, settings[i].settings, settings[i].factor)
					      : settings[i].settings;
		bool idle = !network && strncmp(settings[i].settings, "case.transport=", 15) == 0;
		if (settings[i].measured & measured && setting && !idle)
			add(&g, settings[i].what, setting, settings[i].check);
	}
	*count = g.list.count;
	return g.list.items;
}

size_t suspect_settings(struct arena *arena, const struct suspect *suspect,
			struct setting list[SUSPECT_SETTINGS_MAX])
{
	size_t count = 0, length;
	for (const char *at = suspect->setting; *at; at += length + strspn(at + length, " ")) {
		length = strcspn(at, " ");
		FW_ASSERT(count < SUSPECT_SETTINGS_MAX);
		list[count++] = (struct setting){arena_printf(arena, "%.*s", (int)length, at),
						 {"a suspect", 0}};
	}
	return count;
}
