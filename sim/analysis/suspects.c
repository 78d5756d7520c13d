/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/suspects.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/vec.h"
#include "sim/fabric/link_kinds.h"

/* Variables of the library, and what else has the same effect. */
static const struct {
	const char *setting, *what, *check;
} variables[] = {
	{"library.p2p_level=loc", "no peer access between GPUs (NCCL_P2P_DISABLE=1)",
	 "NCCL_DEBUG=INFO must not print 'via SHM' between GPUs of a machine; check NCCL_P2P_*, "
	 "nvidia-smi topo -p2p r, and IOMMU and ACS in the BIOS"},
	{"library.p2p_level=nvl", "no peer access over PCIe (NCCL_P2P_LEVEL=NVL)",
	 "check NCCL_P2P_LEVEL, and IOMMU and ACS in the BIOS"},
	{"library.net_gdr_level=loc", "GPUDirect RDMA off (NCCL_NET_GDR_LEVEL=LOC)",
	 "NCCL_DEBUG=INFO must print GDRDMA; check nvidia-peermem, NCCL_NET_GDR_LEVEL and ACS"},
	{"library.acs=true", "PCIe ACS on: peer traffic passes the root complex",
	 "ACSCtl in lspci -vvv must show SrcValid- for PCIe switches; check ACS and IOMMU in the "
	 "BIOS"},
	{"case.transport=tcp", "sockets in place of RDMA (NCCL_IB_DISABLE=1)",
	 "NCCL_DEBUG=INFO must print NET/IB; check NCCL_IB_DISABLE, NCCL_IB_HCA and ibstat"},
	{"library.pxn=false", "no PXN (NCCL_PXN_DISABLE=1)", "check NCCL_PXN_DISABLE"},
	{"library.cross_nic=0", "no change of rails (NCCL_CROSS_NIC=0)", "check NCCL_CROSS_NIC"},
	{"library.algorithm=ring", "ring forced (NCCL_ALGO=Ring)", "check NCCL_ALGO and nccl.conf"},
	{"library.algorithm=double_tree", "tree forced (NCCL_ALGO=Tree)",
	 "check NCCL_ALGO and nccl.conf"},
	{"library.nvls=false", "no NVLink SHARP (NCCL_NVLS_ENABLE=0)",
	 "NCCL_DEBUG=INFO must print NVLS; check NCCL_NVLS_ENABLE and the fabric manager"},
	{"library.protocol=ll", "LL forced (NCCL_PROTO=LL)", "check NCCL_PROTO and nccl.conf"},
	{"library.protocol=ll128", "LL128 forced (NCCL_PROTO=LL128)",
	 "check NCCL_PROTO and nccl.conf"},
	{"library.protocol=simple", "Simple forced (NCCL_PROTO=Simple)",
	 "check NCCL_PROTO and nccl.conf"},
	{"library.channels=1", "one channel (NCCL_MAX_NCHANNELS=1)", "check NCCL_MAX_NCHANNELS"},
	{"library.channels=2", "two channels (NCCL_MAX_NCHANNELS=2)", "check NCCL_MAX_NCHANNELS"},
	{"library.channels=4", "four channels (NCCL_MAX_NCHANNELS=4)", "check NCCL_MAX_NCHANNELS"},
	{"library.latency_scale=2", "all latencies twice as long",
	 "check clocks of GPUs and cores (nvidia-smi -q -d CLOCK, cpupower) and other processes"},
};

struct link_class {
	const char *key, *names, *halves; /* of all: "nv0,nv1" without machines, "nv0=0.5,..." */
	const struct link_entry *link, *last; /* the first of them, and the last */
	size_t count;
};

struct generating {
	struct arena *arena;
	const struct scenario *scenario;
	const struct link_use *uses;
	VEC(struct suspect) list;
	VEC(struct link_class) classes;
};

static void add(struct generating *g, const char *what, const char *setting, const char *check)
{
	const struct case_params *params = g->scenario->params;
	struct suspect *suspect = VEC_PUSH(g->arena, &g->list);
	const char *more = "";
	if (strncmp(setting, "case.fail=", 10) == 0)
		more = params->fail;
	if (strncmp(setting, "case.degrade=", 13) == 0)
		more = params->degrade;
	*suspect = (struct suspect){
		.what = what,
		.setting = arena_printf(g->arena, "%s%s%s", setting, *more ? "," : "", more),
		.check = check};
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

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* Links with equal kinds, rates, sorts of ends and (within a quarter) bytes are alike. */
static const char *key_of(struct generating *g, const struct link_entry *link, double carried_B)
{
	return arena_printf(g->arena, "%s %g %s %s %.0f", link->kind->name,
			    link->traits.capacity_Bps[0], without_digits(g->arena, link->ends[0]),
			    without_digits(g->arena, link->ends[1]), 10 * log10(carried_B));
}

static void classify(struct generating *g, const struct link_entry *link, double carried_B)
{
	const char *key = key_of(g, link, carried_B), *name = without_machine(link->name);
	struct link_class *class = NULL;
	for (size_t i = 0; i < g->classes.count && !class; i++)
		if (strcmp(g->classes.items[i].key, key) == 0)
			class = &g->classes.items[i];
	if (!class) {
		class = VEC_PUSH(g->arena, &g->classes);
		*class = (struct link_class){.key = key, .names = "", .halves = "", .link = link};
	}
	class->count++;
	class->last = link;
	if (has_word(class->names, name))
		return;
	const char *comma = *class->names ? "," : "";
	class->names = arena_printf(g->arena, "%s%s%s", class->names, comma, name);
	class->halves = arena_printf(g->arena, "%s%s%s=0.5", class->halves, comma, name);
}

static const char *check_of(const struct link_entry *link)
{
	if (link->kind == &link_nvlink)
		return "compare nvidia-smi nvlink -s and -e of all GPUs, and nvidia-smi topo -m";
	if (link->kind == &link_pcie)
		return "compare LnkSta with LnkCap in lspci -vv (width, speed); ACS must be off "
		       "(ACSCtl), or peer traffic uses the uplinks twice";
	if (link->kind == &link_socket)
		return "check lscpu, the speed of UPI or xGMI in the BIOS, and its NUMA nodes";
	return "compare the rates of ports (ibstat or ethtool), and their error counters";
}

static bool is_host(const struct generating *g, const char *node)
{
	for (size_t i = 0; i < g->scenario->topology.host_count; i++)
		if (strcmp(g->scenario->topology.hosts[i].name, node) == 0)
			return true;
	return false;
}

static const char *name_of(struct arena *arena, const struct link_class *class,
			   const struct link_entry *link)
{
	const char *kind = link->kind->name;
	return class->count > 1 ? arena_printf(arena, "link %s (%s, one of %zu alike)", link->name,
					       kind, class->count)
				: arena_printf(arena, "link %s (%s)", link->name, kind);
}

/* Adds that the first link is missing, and that the last one is. Rings may go around one of them
 * with less loss than around the other. */
static void add_missing(struct generating *g, const struct link_class *class)
{
	for (const struct link_entry *link = class->link; link;
	     link = link == class->last ? NULL : class->last)
		add(g, arena_printf(g->arena, "%s missing", name_of(g->arena, class, link)),
		    arena_printf(g->arena, "case.fail=%s", link->name), check_of(link));
	g->list.items[g->list.count - 1].again = class->last != class->link;
}

static void add_links(struct generating *g, const struct link_class *class)
{
	struct arena *arena = g->arena;
	const struct link_entry *link = class->link;
	const char *name = link->name, *kind = link->kind->name, *check = check_of(link);
	const char *who = name_of(arena, class, link);
	bool pcie = link->kind == &link_pcie, socket = link->kind == &link_socket;
	if (socket && (is_host(g, link->ends[0]) || is_host(g, link->ends[1])))
		add(g, arena_printf(arena, "host memory of %s on the other socket", name),
		    arena_printf(arena, "case.fail=%s", name),
		    "bind each process to the socket of its GPU (numactl, mpirun --bind-to)");
	else if (!pcie && !socket)
		add_missing(g, class);
	add(g, arena_printf(arena, "%s at half its rate", who),
	    arena_printf(arena, "case.degrade=%s=0.5", name), check);
	if (pcie)
		add(g, arena_printf(arena, "%s at a quarter of its rate", who),
		    arena_printf(arena, "case.degrade=%s=0.25", name), check);
	if (class->count > 1)
		add(g,
		    arena_printf(arena, "all links like %s (%s, %zu) at half their rate", name,
				 kind, class->count),
		    arena_printf(arena, "case.degrade=%s", class->halves), check);
}

/* Adds the adapter at an end of a network's link. */
static void add_adapter(struct generating *g, const struct link_entry *link)
{
	const struct topology *t = &g->scenario->topology;
	if (link->kind->inside_host)
		return;
	for (size_t i = 0; i < t->link_count; i++)
		for (size_t end = 0; end < 4; end++) {
			const char *node = link->ends[end / 2];
			if (!t->links[i].kind->inside_host ||
			    strcmp(t->links[i].ends[end % 2], node) != 0)
				continue;
			add(g, arena_printf(g->arena, "adapter %s is not used", node),
			    arena_printf(g->arena, "case.fail=%s", node),
			    "NCCL_DEBUG=INFO must list it; check NCCL_IB_HCA and ibstat");
			return;
		}
}

struct suspect *suspects_of(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			    size_t *count)
{
	const struct topology *t = &scenario->topology;
	struct generating g = {.arena = arena, .scenario = scenario};
	const struct point point = predict_point(arena, scenario, seed, false, NULL, NULL);
	add(&g, "no fault", "", "");
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_use *use = &point.outcome.links[2 * i];
		double carried_B = fmax(use[0].carried_B, use[1].carried_B);
		if (carried_B > 0)
			classify(&g, &t->links[i], carried_B);
	}
	for (size_t i = 0; i < g.classes.count; i++) {
		add_links(&g, &g.classes.items[i]);
		size_t before = g.list.count;
		add_adapter(&g, g.classes.items[i].link);
		if (g.classes.items[i].count > 1 && g.list.count > before) {
			add_adapter(&g, g.classes.items[i].last);
			g.list.items[g.list.count - 1].again = g.list.count > before + 1;
		}
	}
	const char *gpu = t->gpus[scenario->jobs[0].gpus[0]].name;
	add(&g, arena_printf(arena, "GPU %s (one of %zu) at half its rate", gpu, t->gpu_count),
	    arena_printf(arena, "case.degrade=%s=0.5", gpu),
	    "compare clocks, temperatures and throttle reasons of all GPUs (nvidia-smi -q -d "
	    "PERFORMANCE), and run with fewer ranks to find the slow one");
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
		add(&g, variables[i].what, variables[i].setting, variables[i].check);
	*count = g.list.count;
	return g.list.items;
}
