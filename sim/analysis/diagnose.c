/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/diagnose.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/analysis/points.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/base/vec.h"
#include "sim/fabric/link_kinds.h"

/* Generates the single faults that `diagnose` simulates. */

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

static void suspect_link(struct generating *g, const struct link_entry *link, double carried_B)
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
			const char *also = topology_alias(t, node);
			add(g,
			    arena_printf(g->arena, "adapter %s%s%s%s is not used", node,
					 also ? " (" : "", also ? also : "", also ? ")" : ""),
			    arena_printf(g->arena, "case.fail=%s", node),
			    "NCCL_DEBUG=INFO must list it; check NCCL_IB_HCA and ibstat");
			return;
		}
}

/* Returns "no fault", then the suspects of a collective benchmark. Only links over which it sends
 * bytes are suspects. */
static struct suspect *suspects_of(struct arena *arena, const struct scenario *scenario,
				   uint64_t seed, size_t *count)
{
	const struct topology *t = &scenario->topology;
	struct generating g = {.arena = arena, .scenario = scenario};
	const struct point point = predict_point(arena, scenario, seed, false, NULL, NULL);
	add(&g, "no fault", "", "");
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_use *use = &point.outcome.links[2 * i];
		double carried_B = fmax(use[0].carried_B, use[1].carried_B);
		if (carried_B > 0)
			suspect_link(&g, &t->links[i], carried_B);
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

/* half_interval: half of a 90 % interval in standard deviations. common_share: share of the
 * prediction's variance that all sizes have in common. apart_ratio: ratio of two sizes whose other
 * errors are correlated by 1/e. prior: probability of no fault before the measurement. */
static const double half_interval = 1.645, common_share = 0.9, apart_ratio = 32, prior = 0.9;

/* Root mean square by which the sizes of a curve deviate from a straight line through the curve's
 * errors, in logarithms: 34 fit rows of NCCL on A100 and V100 in four curves, 5.1 % with the
 * profile of their system and 11.5 % without it (docs/diagnose.md). */
static const double fitted_noise = 0.05, other_noise = 0.12;

struct diagnosing {
	struct arena *arena;
	const struct diagnose_request *request;
	struct diagnosis *d;
	double *root; /* Cholesky factor of the errors' covariance */
};

/* ---- predictions ---- */

/* Predicts the points without a fault, with intervals in d->expected_s. */
static bool predict_healthy(struct diagnosing *w, const struct reported *step,
			    struct sweep_fault *fault)
{
	struct diagnosis *d = w->d;
	struct case_point *list = ARENA_ARRAY(w->arena, d->count, struct case_point);
	struct case_answer *answers = ARENA_ARRAY(w->arena, d->count, struct case_answer);
	const struct points points = {w->request->input, step};
	for (size_t i = 0; i < d->count; i++)
		list[i] = (struct case_point){.settings = d->rows[i]->settings,
					      .setting_count = d->rows[i]->setting_count};
	if (!points_answer(w->arena, &points, list, d->count, answers, &fault->broken))
		return false;
	d->suspects[0].time_s = ARENA_ARRAY(w->arena, d->count, double);
	for (size_t i = 0; i < d->count; i++) {
		d->expected_s[i] = answers[i].number;
		d->suspects[0].time_s[i] = answers[i].number.value;
	}
	return true;
}

/* Predicts all points with each fault. The journal keeps them. */
static bool predict_faults(struct diagnosing *w, struct diag *diag, const struct reported *step,
			   struct sweep_fault *fault)
{
	struct diagnosis *d = w->d;
	size_t n = d->count, count = n * d->simulated_count, most = 0;
	const struct setting **settings = ARENA_ARRAY(w->arena, count, const struct setting *);
	for (size_t i = 0; i < n; i++)
		most = d->rows[i]->setting_count > most ? d->rows[i]->setting_count : most;
	for (size_t i = 0; i < count; i++) {
		const struct dataset_row *row = d->rows[i % n];
		const struct setting own = {d->suspects[1 + i / n].setting, {"a suspect", 0}};
		struct setting *all = ARENA_ARRAY(w->arena, most + 1, struct setting);
		for (size_t k = 0; k <= most; k++)
			all[k] = k < row->setting_count ? row->settings[k] : own;
		settings[i] = all;
	}
	const struct sweep_list list = {.settings = settings,
					.setting_count = most + 1,
					.point_count = count,
					.refused = ARENA_ARRAY(w->arena, count, const char *)};
	struct sweep_request request = {
		.input = w->request->input, .list = &list, .journal = w->request->journal};
	request.input.options.draws_count = 0;
	const struct sweep *sweep = count > 0 ? sweep_run(w->arena, diag, &request, fault) : NULL;
	for (size_t i = 0; i < count && sweep; i++) {
		struct suspect *suspect = &d->suspects[1 + i / n];
		const struct prediction *p = sweep->points[i];
		if (i % n == 0)
			suspect->time_s = ARENA_ARRAY(w->arena, n, double);
		suspect->time_s[i % n] = p ? reported_of(step, p).value : NAN;
	}
	return count == 0 || sweep;
}

/* ---- likelihoods ---- */

/* Factors the covariance of the logarithms' errors. */
static void factor(struct diagnosing *w)
{
	struct diagnosis *d = w->d;
	size_t n = d->count;
	double *root = w->root = ARENA_ARRAY(w->arena, n * n, double);
	double *sigma = ARENA_ARRAY(w->arena, n, double);
	for (size_t i = 0; i < n; i++)
		sigma[i] = log(d->expected_s[i].high / d->expected_s[i].low) / 2 / half_interval;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++) {
			double apart = fabs(log(d->size_B[i] / d->size_B[j])) / log(apart_ratio);
			double noise = i == j ? w->d->noise_ratio : 0;
			root[i * n + j] =
				sigma[i] * sigma[j] *
					(common_share + (1 - common_share) * exp(-apart)) +
				noise * noise;
		}
	num_cholesky(root, n, 1e-12);
}

/* Returns the squared distance of the measured curve from a suspect's. */
static double distance_of(const struct diagnosing *w, const struct suspect *suspect)
{
	const struct diagnosis *d = w->d;
	size_t n = d->count;
	double *solved = ARENA_ARRAY(w->arena, n, double), sum = 0;
	for (size_t i = 0; i < n; i++) {
		double rest = log(d->rows[i]->measured / suspect->time_s[i]);
		for (size_t k = 0; k < i; k++)
			rest -= w->root[i * n + k] * solved[k];
		solved[i] = rest / w->root[i * n + i];
		sum += solved[i] * solved[i];
	}
	return sum;
}

/* Returns true if the curves differ by less than the noise at each size. */
static bool are_alike(const struct diagnosing *w, const struct suspect *a, const struct suspect *b)
{
	for (size_t i = 0; i < w->d->count; i++)
		if (!(fabs(log(a->time_s[i] / b->time_s[i])) <= w->d->noise_ratio))
			return false;
	return true;
}

static int by_distance(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	return (x->distance > y->distance) - (x->distance < y->distance);
}

static int by_probability(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	return (x->probability < y->probability) - (x->probability > y->probability);
}

/* Drops suspects that no size shows, that have the curve of the same fault elsewhere, or with which
 * the collective does not run. Joins the others to classes. */
static void classify(struct diagnosing *w)
{
	struct diagnosis *d = w->d;
	const struct suspect none = d->suspects[0];
	struct suspect before = none;
	size_t visible = 0, classes = 0;
	double total = 0;
	for (size_t i = 0; i < d->suspect_count; i++) {
		struct suspect *s = &d->suspects[i];
		s->distance = distance_of(w, s);
		bool hidden = i > 0 && are_alike(w, s, &none);
		bool known = s->again && are_alike(w, s, &before);
		before = *s;
		d->hidden_count += hidden;
		if (!hidden && !known && isfinite(s->distance))
			d->suspects[visible++] = *s;
	}
	qsort(d->suspects, visible, sizeof *d->suspects, by_distance);
	for (size_t i = 0; i < visible; i++) {
		struct suspect s = d->suspects[i];
		double own = s.setting[0] ? (1 - prior) / (double)visible : prior;
		size_t k = 0;
		s.probability = own * exp(-(s.distance - d->suspects[0].distance) / 2);
		total += s.probability;
		while (k < classes && !are_alike(w, &s, &d->suspects[k]))
			k++;
		struct suspect *first = &d->suspects[k];
		if (k == classes) {
			d->suspects[classes++] = s;
			continue;
		}
		first->probability += s.probability;
		first->alike = first->alike_count++
				       ? arena_printf(w->arena, "%s; %s", first->alike, s.what)
				       : s.what;
	}
	d->suspect_count = classes;
	for (size_t i = 0; i < classes; i++)
		d->suspects[i].probability /= total;
	qsort(d->suspects, classes, sizeof *d->suspects, by_probability);
	double n = (double)d->count;
	d->explained = d->suspects[0].distance < n + 3 * sqrt(2 * n);
}

/* ---- ranges of sizes ---- */

/* Sizes with up to twice the shortest time depend on latency, and those with 70 % of the highest
 * bandwidth on bandwidth. */
static size_t range_of(const struct diagnosis *d, size_t i, double least_s, double most_Bps)
{
	double time_s = d->expected_s[i].value;
	return time_s <= 2 * least_s ? 0 : d->size_B[i] / time_s >= 0.7 * most_Bps ? 2 : 1;
}

static void judge_ranges(struct diagnosing *w)
{
	static const char *const names[DIAGNOSE_RANGES] = {"small", "middle", "large"};
	struct diagnosis *d = w->d;
	double *ratios = ARENA_ARRAY(w->arena, d->count, double), least_s = INFINITY, most_Bps = 0;
	for (size_t i = 0; i < d->count; i++) {
		least_s = fmin(least_s, d->expected_s[i].value);
		most_Bps = fmax(most_Bps, d->size_B[i] / d->expected_s[i].value);
	}
	for (size_t k = 0; k < DIAGNOSE_RANGES; k++) {
		struct size_range *range = &d->ranges[k];
		*range = (struct size_range){.name = names[k], .from_B = INFINITY, .ratio = NAN};
		for (size_t i = 0; i < d->count; i++) {
			const struct estimate *e = &d->expected_s[i];
			double measured = d->rows[i]->measured;
			if (range_of(d, i, least_s, most_Bps) != k)
				continue;
			ratios[range->count++] = measured / e->value;
			range->from_B = fmin(range->from_B, d->size_B[i]);
			range->to_B = fmax(range->to_B, d->size_B[i]);
			range->outside_count += measured < e->low * (1 - w->d->noise_ratio) ||
						measured > e->high * (1 + w->d->noise_ratio);
		}
		if (range->count)
			range->ratio = num_quantile(ratios, range->count, 0.5);
		if (2 * range->outside_count > range->count)
			range->deviation = range->ratio < 1 ? -1 : 1;
	}
}

/* ---- the whole ---- */

/* Judges whether the log is faster. This is so if some ranges are faster than their intervals and
 * none is slower. It is also so if no range is slower than predicted, and the log as a whole is
 * faster by more than the noise. */
static void judge_curve(struct diagnosing *w)
{
	struct diagnosis *d = w->d;
	double *ratios = ARENA_ARRAY(w->arena, d->count, double), most = 0;
	int fastest = 0, slowest = 0;
	for (size_t i = 0; i < d->count; i++)
		ratios[i] = d->rows[i]->measured / d->expected_s[i].value;
	d->ratio = num_quantile(ratios, d->count, 0.5);
	for (size_t k = 0; k < DIAGNOSE_RANGES; k++) {
		const struct size_range *range = &d->ranges[k];
		most = range->count ? fmax(most, range->ratio) : most;
		fastest = range->deviation < fastest ? range->deviation : fastest;
		slowest = range->deviation > slowest ? range->deviation : slowest;
	}
	d->faster = (fastest < 0 && slowest == 0) || (most <= 1 && d->ratio < 1 - d->noise_ratio);
}

/* Takes at most DIAGNOSE_POINTS_MOST rows, evenly. */
static void take_rows(struct diagnosing *w)
{
	const struct dataset *dataset = w->request->dataset;
	struct diagnosis *d = w->d;
	size_t count = dataset->row_count;
	d->count = count < DIAGNOSE_POINTS_MOST ? count : DIAGNOSE_POINTS_MOST;
	const struct dataset_row **rows =
		ARENA_ARRAY(w->arena, d->count, const struct dataset_row *);
	d->size_B = ARENA_ARRAY(w->arena, d->count, double);
	d->expected_s = ARENA_ARRAY(w->arena, d->count, struct estimate);
	for (size_t i = 0; i < d->count; i++)
		rows[i] = &dataset->rows[d->count > 1 ? i * (count - 1) / (d->count - 1) : 0];
	d->rows = rows;
}

/* Returns the scenario of row i, and sets its size. */
static const struct scenario *read_row(struct diagnosing *w, struct diag *diag, size_t i)
{
	const struct case_request request =
		dataset_request(w->d->rows[i], w->request->input.request.data_root);
	const struct scenario *scenario = case_read(w->arena, diag, &request);
	if (scenario)
		w->d->size_B[i] = scenario->collective_size_B;
	return scenario;
}

const struct diagnosis *diagnose(struct arena *arena, struct diag *diag,
				 const struct diagnose_request *request, struct sweep_fault *fault)
{
	struct diagnosing w = {arena, request, ARENA_NEW(arena, struct diagnosis), NULL};
	struct diagnosis *d = w.d;
	const struct origin origin = {request->dataset->path, 0};
	const struct scenario *scenario = NULL;
	*fault = (struct sweep_fault){0};
	take_rows(&w);
	const struct cfg_resolution **cases =
		ARENA_ARRAY(arena, d->count, const struct cfg_resolution *);
	for (size_t i = 0; i < d->count; i++) {
		scenario = read_row(&w, diag, i);
		if (!scenario)
			return NULL;
		cases[i] = scenario->resolution;
	}
	FW_ASSERT(scenario); /* a dataset has rows */
	d->cases = cases;
	d->distance = scenario->distances[PART_OWN];
	d->noise_ratio = request->noise_ratio > 0              ? request->noise_ratio
			 : d->distance == DISTANCE_SAME_SYSTEM ? fitted_noise
							       : other_noise;
	size_t ranks = scenario->jobs[0].rank_count, gpus = scenario->topology.gpu_count;
	if (ranks != gpus && !(scenario->params->gpus_per_machine_count > 0)) {
		diag_error(diag, origin,
			   "the log has %zu ranks, but topology '%s' has %zu GPUs (write --set "
			   "case.gpus_per_machine=N if N GPUs of each machine were used)",
			   ranks, scenario->topology.name, gpus);
		return NULL;
	}
	d->suspects = suspects_of(arena, scenario, request->input.options.seed, &d->suspect_count);
	d->simulated_count = d->suspect_count - 1;
	const struct reported *step = reported_find(
		arena, diag, origin, (struct reporting){PREDICTION_COLLECTIVE, NULL}, "step");
	if (!step || !predict_healthy(&w, step, fault) || !predict_faults(&w, diag, step, fault))
		return NULL;
	for (size_t i = 0; i < d->count; i++)
		if (isnan(d->expected_s[i].value)) {
			diag_error(diag, origin, "the topology cannot run '%s' (see farwire run)",
				   d->rows[i]->label);
			return NULL;
		}
	factor(&w);
	judge_ranges(&w);
	judge_curve(&w);
	classify(&w);
	return d;
}
