/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares each row of calib/measured/facts_links.tsv with the shipped defaults. The numbers of a
 * row must equal the default of a parameter, a property of a kind of link, or a value derived from
 * them. Entries for facts without a parameter, or with a deliberately different default, give the
 * reason. A row without an entry fails, so neither side can change alone. The test must run from
 * the root folder. tests/recorded/published.sh checks links and GPUs of machines. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/collective/library.h"
#include "sim/fabric/link.h"
#include "sim/host/host.h"
#include "sim/transport/dma.h"
#include "sim/transport/transport.h"
#include "tests/test.h"

enum { NUMBERS = 12 };

struct row {
	double numbers[NUMBERS]; /* numbers of its column `value` */
	size_t count;
};

/* ---- shipped defaults ---- */

static const struct param_row *row_of(const struct param_table *table, const char *key)
{
	char name[64];
	for (size_t i = 0; i < table->count; i++) {
		param_key(&table->rows[i], name, sizeof name);
		if (strcmp(name, key) == 0)
			return &table->rows[i];
	}
	printf("  no row '%s' in '%s'\n", key, table->name);
	return NULL;
}

/* Returns a default in SI units; NaN if there is none. */
static double preset(const struct param_table *table, const char *key)
{
	struct arena *arena = arena_new();
	const struct param_row *row = row_of(table, key);
	double value = NAN;
	if (row && quantity_parse(arena, row->quantity, row->preset, &value))
		value = NAN;
	arena_free(arena);
	return value;
}

static double link_preset(const char *kind, const char *key)
{
	return preset(link_kind_find(kind)->table, key);
}

static double tcp_preset(const char *key)
{
	return preset(transport_kind_find("tcp")->table, key);
}

/* Returns the bandwidth of a kind of link with generation and width, in one direction. */
static double capacity_Bps(const char *kind_name, const char *width, double generation, double many)
{
	union {
		char room[LINK_PARAMS_SIZE_MAX];
		double align;
	} params = {0};
	const struct link_kind *kind = link_kind_find(kind_name);
	struct link_traits traits = {0};
	for (size_t i = 0; i < kind->table->count; i++) {
		char key[64];
		param_key(&kind->table->rows[i], key, sizeof key);
		double value = strcmp(key, "generation") == 0 ? generation
			       : strcmp(key, width) == 0      ? many
							      : link_preset(kind_name, key);
		memcpy(params.room + kind->table->rows[i].offset, &value, sizeof value);
	}
	kind->traits(params.room, &traits);
	return traits.capacity_Bps[0];
}

static double pcie_goodput_Bps(double generation, double lanes)
{
	double payload_B = link_preset("pcie", "max_payload");
	return capacity_Bps("pcie", "lanes", generation, lanes) * payload_B /
	       (payload_B + link_preset("pcie", "tlp_overhead"));
}

static double copy_Bps(double generation)
{
	return pcie_goodput_Bps(generation, 16) * preset(&dma_table, "efficiency");
}

/* ---- rows ---- */

static bool near(double a, double b, double ratio)
{
	return fabs(a - b) <= ratio * fabs(b);
}
static bool between(double low, double x, double high)
{
	return low <= x && x <= high;
}

/* "0.985" is 128/130 of 8 GT/s, rounded to three digits. */
static bool pcie_lanes(const struct row *r)
{
	bool good = r->count == 5;
	for (size_t i = 0; i < r->count; i++)
		good &= near(capacity_Bps("pcie", "lanes", (double)i + 1, 1), 1e9 * r->numbers[i],
			     5e-4);
	return good;
}

static bool pcie_overhead(const struct row *r)
{
	double payload_B = link_preset("pcie", "max_payload");
	return between(r->numbers[0], link_preset("pcie", "tlp_overhead"), r->numbers[1]) &&
	       (payload_B == 128 || payload_B == 256 || payload_B == 512);
}

static bool pcie_writes(const struct row *r)
{
	return near(pcie_goodput_Bps(3, 8), 1e9 * r->numbers[0], 0.01);
}

/* The single efficiency for both directions lies between the two measurements. */
static bool copies_p100(const struct row *r)
{
	return between(1e9 * r->numbers[0], copy_Bps(3), 1e9 * r->numbers[1]);
}

static bool copies_a100(const struct row *r)
{
	return near(copy_Bps(4), 1e9 * r->numbers[0], 0.01);
}

/* Kernels that read the host's memory wait for answers. Kernels that write to it are as fast as a
 * copy engine. */
static bool copies_h100(const struct row *r)
{
	return between(1e9 * r->numbers[0], copy_Bps(5), 1e9 * r->numbers[1]);
}

static bool pageable(const struct row *r)
{
	return between(r->numbers[0], preset(&host_table, "copy_rate") / copy_Bps(3),
		       r->numbers[1]);
}

static bool nvlink_links(const struct row *r)
{
	bool good = r->count == 5;
	for (size_t i = 0; i < r->count; i++)
		good &= near(capacity_Bps("nvlink", "links", (double)i + 1, 1), 1e9 * r->numbers[i],
			     1e-3);
	return good;
}

/* 380 of 450 GB/s (749 of 900 in both directions) follow from 18 links, framing, and the library's
 * efficiency. */
static bool nvlink_peer(const struct row *r)
{
	double payload_B = link_preset("nvlink", "packet_payload");
	double goodput_Bps = capacity_Bps("nvlink", "links", 4, 18) * payload_B /
			     (payload_B + link_preset("nvlink", "packet_overhead"));
	double reached_Bps = goodput_Bps * preset(&library_table, "nvlink_efficiency");
	return near(reached_Bps, 1e9 * r->numbers[0], 0.03) &&
	       near(2 * reached_Bps, 1e9 * r->numbers[2], 0.03);
}

static bool ethernet_overhead(const struct row *r)
{
	return link_preset("ethernet", "packet_overhead") == r->numbers[0] &&
	       link_preset("ethernet", "mtu") == 1500;
}

/* Headers: IP 20, TCP 20, timestamps 12. */
static bool tcp_goodput(const struct row *r)
{
	double overhead_B = link_preset("ethernet", "packet_overhead");
	return near((1500 - 52) / (1500 + overhead_B), r->numbers[0], 1e-3) &&
	       near((9000 - 52) / (9000 + overhead_B), r->numbers[1], 1e-3);
}

static bool receiver_core(const struct row *r)
{
	return between(r->numbers[0], 8e-9 / preset(&guest_table, "byte"), r->numbers[1]);
}
static bool delayed_ack(const struct row *r)
{
	return near(tcp_preset("delayed_ack"), 1e-3 * r->numbers[0], 1e-9);
}
static bool least_timeout(const struct row *r)
{
	return near(tcp_preset("rto_min"), 1e-3 * r->numbers[0], 1e-9);
}
/* Each round waits for at least one interrupt. */
static bool moderation(const struct row *r)
{
	return near(1 / preset(&host_table, "nic_moderation_rate"), 1e-6 * r->numbers[0], 1e-9);
}
static bool vmxnet3(const struct row *r)
{
	const struct param_row *row = row_of(&guest_table, "coalescing_rate");
	return near(preset(&guest_table, "coalescing_rate"), r->numbers[0], 1e-9) && row &&
	       row->min == 100 && row->max == 1e5;
}
/* Latency sensitivity removes the wake-up of the virtual CPU. Two sends and two receives are most
 * of the native round trip. */
static bool vm_ping(const struct row *r)
{
	double native_s = 2 * (preset(&guest_table, "send") + preset(&guest_table, "receive"));
	return near(preset(&guest_table, "vcpu_wake"), 1e-6 * (r->numbers[0] - r->numbers[1]),
		    1e-9) &&
	       between(0.8e-6 * r->numbers[2], native_s, 1e-6 * r->numbers[2]);
}
/* RDMA in one direction: posting, two links through a switch, and the completion. */
static bool direct_path(const struct row *r)
{
	const struct param_table *rdma = transport_kind_find("rdma")->table;
	double way_s = preset(rdma, "post") + preset(rdma, "completion") +
		       2 * link_preset("infiniband", "latency");
	return between(0.5e-6 * r->numbers[0], way_s, 1e-6 * r->numbers[0]);
}
static bool edr(const struct row *r)
{
	double mtu_B = link_preset("infiniband", "mtu");
	double goodput_Bps = link_preset("infiniband", "bandwidth") * mtu_B /
			     (mtu_B + link_preset("infiniband", "packet_overhead"));
	double reached_Bps = goodput_Bps * preset(&library_table, "net_efficiency");
	return near(8e-9 * reached_Bps, r->numbers[0], 0.01) &&
	       near(2097152 / reached_Bps, 1e-6 * r->numbers[1], 0.03);
}
static bool roce(const struct row *r)
{
	double line_Gbps = 8e-9 * link_preset("roce", "bandwidth");
	double overhead_B = link_preset("roce", "packet_overhead");
	return near(line_Gbps * 2048 / (2048 + overhead_B), r->numbers[0], 0.02) &&
	       near(line_Gbps * 4096 / (4096 + overhead_B), r->numbers[1], 0.01);
}
/* One adapter at each end. */
static bool pvrdma(const struct row *r)
{
	return between(1e-6 * r->numbers[0], 2 * preset(&guest_table, "vnic_latency"),
		       1e-6 * r->numbers[1]);
}

static bool nccl_base(const struct row *r)
{
	static const size_t numbers[2][PROTOCOL_COUNT] = {{0, 2, 3}, {1, 2, 3}};
	bool good = r->count == 4;
	for (size_t i = 0; good && i < 6; i++)
		good = near(nccl_latencies[TUNING_2_18].base_s[i / 3][i % 3],
			    1e-6 * r->numbers[numbers[i / 3][i % 3]], 1e-9);
	return good;
}

static bool nccl_hops(const struct row *r, bool tree)
{
	bool good = r->count == 9;
	for (size_t i = 0; good && i < 9; i++)
		good = near(nccl_latencies[TUNING_2_18].hop_s[tree][i / 3][i % 3],
			    1e-6 * r->numbers[i], 1e-9);
	return good;
}
static bool nccl_ring(const struct row *r)
{
	return nccl_hops(r, false);
}
static bool nccl_tree(const struct row *r)
{
	return nccl_hops(r, true);
}

static const struct {
	const char *what; /* beginning of the row */
	bool (*agrees)(const struct row *row);
	const char *why; /* reason why there is nothing to compare */
} entries[] = {
	{"PCIe gen1..5, one lane", pcie_lanes, NULL},
	{"PCIe TLP overhead", pcie_overhead, NULL},
	{"PCIe gen3 x8 posted writes", pcie_writes, NULL},
	{"pinned H2D / D2H, P100", copies_p100, NULL},
	{"the same across the socket link", NULL,
	 "one board's, of which the source tells neither processors nor firmware: a socket link "
	 "has its line rate here, and such copies come out too fast on a board like that"},
	{"pinned copy, V100 cloud VM", NULL,
	 "a cloud's virtual machine, whose IOMMU and packets nobody tells: 71 % of the goodput, "
	 "where bare machines reach 84 to 90 % (--set dma.efficiency=0.71 for such)"},
	{"pinned copy, A100", copies_a100, NULL},
	{"H2D / D2H by kernel, H100", copies_h100, NULL},
	{"pageable against pinned copy", pageable, NULL},
	{"NVLink one link, one way", nvlink_links, NULL},
	{"NVLink links per GPU", NULL, "of machines: tests/recorded/published.sh"},
	{"NVLink peer copy H100", nvlink_peer, NULL},
	{"C4140-M, links between", NULL, "of a machine: tests/recorded/published.sh"},
	{"Ethernet per packet on the wire", ethernet_overhead, NULL},
	{"TCP goodput", tcp_goodput, NULL},
	{"VXLAN (flannel) / IPIP", NULL, "settings of cases: tests/recorded/published.sh"},
	{"encapsulation takes away NIC", NULL,
	 "a switch, not a number: guest.*.offload=false beside each encapsulation, "
	 "tests/recorded/published.sh"},
	{"Calico VXLAN against BGP", NULL,
	 "one vendor's measurement, whose ratio depends on its cores: no parameter is taken from "
	 "it (tcp.encapsulation_packet is an assumption)"},
	{"one TCP stream, Open MPI", NULL,
	 "what a case's sockets were set to: models/exchanges/ddl.cfg tells of it, the defaults "
	 "are Linux's own"},
	{"receiver core limits", receiver_core, NULL},
	{"Nagle x delayed ACK", delayed_ack, NULL},
	{"minimum TCP retransmission", least_timeout, NULL},
	{"1-byte round trip, GbE", moderation, NULL},
	{"VMXNET3 interrupt coalescing", vmxnet3, NULL},
	{"VM round trip by default", vm_ping, NULL},
	{"1 KB request-response", NULL,
	 "puts of a database, whose own work is in them and is not told: only their order could "
	 "be compared"},
	{"InfiniBand by DirectPath", direct_path, NULL},
	{"InfiniBand EDR write", edr, NULL},
	{"RoCE v2 100G write", roce, NULL},
	{"PVRDMA over DirectPath", pvrdma, NULL},
	{"RPC over InfiniBand", NULL,
	 "a whole RPC of RAMCloud with its dispatch and a table's look-up: the runtime's costs "
	 "are parameters of each runtime, not of InfiniBand"},
	{"remote GPU: highest latency", NULL, "advice to users, no number of a machine"},
	{"NCCL base latency", nccl_base, NULL},
	{"NCCL hop latency, ring", nccl_ring, NULL},
	{"NCCL hop latency, tree", nccl_tree, NULL},
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

/* Reads all numbers of a text. The column contains no words such as "2 MiB" or "gen3". */
static struct row numbers_of(const char *text)
{
	struct row row = {0};
	while (*text && row.count < NUMBERS) {
		char *end;
		double value = isdigit((unsigned char)*text) ? strtod(text, &end) : 0;
		if (!isdigit((unsigned char)*text)) {
			text++;
			continue;
		}
		/* in "20..28", strtod reads "20." */
		text = end[-1] == '.' ? end - 1 : end;
		row.numbers[row.count++] = value;
	}
	return row;
}

static void every_published_fact_about_links_matches_the_defaults(void)
{
	FILE *facts = fopen("calib/measured/facts_links.tsv", "r");
	char line[1024], what[256], value[256];
	bool seen[ENTRIES] = {0};
	if (!CHECK(facts != NULL))
		return;
	while (fgets(line, sizeof line, facts)) {
		if (sscanf(line, "%255[^\t]\t%255[^\t]", what, value) != 2 || what[0] == '#' ||
		    strcmp(what, "what") == 0)
			continue;
		size_t i = 0;
		while (i < ENTRIES && strncmp(what, entries[i].what, strlen(entries[i].what)) != 0)
			i++;
		if (!CHECK(i < ENTRIES && !seen[i])) {
			printf("  a fact that nothing is compared with: %s\n", what);
			continue;
		}
		seen[i] = true;
		struct row row = numbers_of(value);
		if (entries[i].agrees && !CHECK(entries[i].agrees(&row)))
			printf("  what ships is not %s: %s\n", what, value);
		CHECK(entries[i].agrees || entries[i].why);
	}
	fclose(facts);
	for (size_t i = 0; i < ENTRIES; i++)
		if (!CHECK(seen[i]))
			printf("  no such fact: %s\n", entries[i].what);
}

static const struct test tests[] = {TEST(every_published_fact_about_links_matches_the_defaults)};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
