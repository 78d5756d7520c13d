/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of links: their traits follow from their parameters. */
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/link.h"
#include "tests/test.h"

union params {
	double align;
	char bytes[LINK_PARAMS_SIZE_MAX];
};

/* Sets the defaults of a kind as the configuration reader does. */
static void preset(struct arena *arena, const struct link_kind *kind, union params *params)
{
	*params = (union params){0};
	for (size_t i = 0; i < kind->table->count; i++) {
		const struct param_row *row = &kind->table->rows[i];
		void *field = params->bytes + row->offset;
		if (row->kind == PARAM_KIND_BOOL) {
			*(bool *)field = strcmp(row->preset, "true") == 0;
			continue;
		}
		if (row->kind == PARAM_KIND_CHOICE) {
			CHECK_TEXT(row->preset, row->choices[0]); /* the value 0 */
			continue;
		}
		double value = NAN;
		CHECK(row->kind == PARAM_KIND_NUMBER);
		CHECK(quantity_parse(arena, row->quantity, row->preset, &value) == NULL);
		CHECK(value >= row->min && value <= row->max);
		*(double *)field = value;
	}
}

static void set(const struct link_kind *kind, union params *params, const char *field, double value)
{
	bool found = false;
	for (size_t i = 0; i < kind->table->count; i++) {
		const struct param_row *row = &kind->table->rows[i];
		if (strcmp(row->field, field) == 0) {
			*(double *)(void *)(params->bytes + row->offset) = value;
			found = true;
		}
	}
	CHECK(found);
}

/* The traits of each kind with its defaults, from the sources that its rows name. */
static void every_kind_of_link_has_the_traits_of_its_hardware(void)
{
	static const struct {
		const char *name;
		unsigned carries;
		bool inside, joins, own_packets, nic;
		double capacity_Bps, latency_s, payload_B, overhead_B;
	} kinds[] = {
		{"pcie", TRAFFIC_COPIES | TRAFFIC_SOCKETS | TRAFFIC_RDMA, true, false, true, false,
		 16 * 8e9 * 128 / 130 / 8, 300e-9, 256, 24},
		{"nvlink", TRAFFIC_PEERS, true, false, true, false, 25e9, 250e-9, 256, 16},
		{"socket", TRAFFIC_COPIES | TRAFFIC_SOCKETS | TRAFFIC_RDMA, true, true, true, false,
		 2 * 9.6e9 * 2, 60e-9, 64, 8},
		{"dram", 0, true, false, false, false, 4 * 19.2e9, 90e-9, 0, 0},
		{"shm", TRAFFIC_SHARED, true, false, false, false, 8e9, 200e-9, 0, 0},
		{"ethernet", TRAFFIC_SOCKETS, false, false, false, true, 10e9 / 8, 1e-6, 1500,
		 8 + 14 + 4 + 12},
		{"roce", TRAFFIC_SOCKETS | TRAFFIC_RDMA, false, false, false, true, 100e9 / 8,
		 500e-9, 4096, 38 + 20 + 8 + 12 + 4},
		{"infiniband", TRAFFIC_SOCKETS | TRAFFIC_RDMA, false, false, false, true, 100e9 / 8,
		 400e-9, 4096, 8 + 12 + 4 + 2},
		{"slingshot", TRAFFIC_SOCKETS | TRAFFIC_RDMA, false, false, false, true, 200e9 / 8,
		 650e-9, 4096, 82 - 8 - 12}, /* RoCEv2 without preamble and gap */
		{"efa", TRAFFIC_SOCKETS | TRAFFIC_RDMA, false, false, false, true, 100e9 / 8,
		 6.3e-6, 8192, 82},
	};
	struct arena *arena = arena_new();
	CHECK(sizeof kinds / sizeof kinds[0] == link_kind_count());
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		const struct link_kind *kind = link_kind_find(kinds[k].name);
		union params params;
		struct link_traits traits;
		if (!CHECK(kind != NULL))
			continue;
		preset(arena, kind, &params);
		kind->traits(&params, &traits);
		CHECK(kind->carries == kinds[k].carries && kind->inside_host == kinds[k].inside);
		CHECK(kind->joins_processors == kinds[k].joins);
		CHECK(traits.own_packets == kinds[k].own_packets);
		CHECK(traits.physical_nic == kinds[k].nic);
		CHECK_NEAR(traits.capacity_Bps[0], kinds[k].capacity_Bps, 1e-12);
		CHECK_NEAR(traits.latency_s, kinds[k].latency_s, 1e-12);
		CHECK(traits.packet_payload_B == kinds[k].payload_B);
		CHECK(traits.packet_overhead_B == kinds[k].overhead_B);
		CHECK(traits.loss_ratio[0] <= 0 && traits.loss_ratio[1] <= 0 && !traits.adds);
		CHECK(traits.efa_generation == (strcmp(kind->name, "efa") == 0 ? 2 : 0));
		CHECK(!traits.host_memory_only);
	}
	arena_free(arena);
}

/* Each parameter changes its own trait. The bandwidth of a lane or link follows its generation:
 * PCIe 2.5, 5, 8 ... 64 GT/s with its coding, NVLink as in NVIDIA's papers and nvidia-smi. */
#define OF(member) offsetof(struct link_traits, member)

static const struct {
	const char *kind, *field;
	double value;
	size_t trait;
	double wanted;
} changes[] = {
	{"pcie", "generation_count", 1, OF(capacity_Bps[0]), 16 * 2.5e9 * 0.8 / 8},
	{"pcie", "generation_count", 2, OF(capacity_Bps[0]), 16 * 5e9 * 0.8 / 8},
	{"pcie", "generation_count", 4, OF(capacity_Bps[0]), 16 * 16e9 * 128 / 130 / 8},
	{"pcie", "generation_count", 5, OF(capacity_Bps[1]), 16 * 32e9 * 128 / 130 / 8},
	{"pcie", "generation_count", 6, OF(capacity_Bps[1]), 16 * 64e9 * 236 / 256 / 8},
	{"pcie", "efficiency_ratio", 0.5, OF(capacity_Bps[1]), 8 * 8e9 * 128 / 130 / 8},
	{"nvlink", "generation_count", 1, OF(capacity_Bps[1]), 20e9},
	{"nvlink", "generation_count", 3, OF(capacity_Bps[1]), 25e9},
	{"nvlink", "generation_count", 4, OF(capacity_Bps[0]), 106.25e9 / 4},
	{"nvlink", "generation_count", 5, OF(capacity_Bps[1]), 212.5e9 / 4},
	{"nvlink", "bandwidth_Bps", 64e9, OF(capacity_Bps[1]), 64e9},
	{"ethernet", "flow_Bps", 5, OF(flow_Bps), 5},
	{"efa", "flow_Bps", 5, OF(flow_Bps), 5},
	{"ethernet", "bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"ethernet", "reverse_bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"ethernet", "reverse_bandwidth_Bps", 5, OF(capacity_Bps[0]), 1.25e9},
	{"ethernet", "loss_ratio", 0.5, OF(loss_ratio[0]), 0.5},
	{"ethernet", "loss_ratio", 0.5, OF(loss_ratio[1]), 0},
	{"ethernet", "reverse_loss_ratio", 0.5, OF(loss_ratio[1]), 0.5},
	{"ethernet", "reverse_loss_ratio", 0.5, OF(loss_ratio[0]), 0},
	{"ethernet", "unmoderated_loss_ratio", 0.5, OF(unmoderated_loss_ratio[0]), 0.5},
	{"ethernet", "unmoderated_loss_ratio", 0.5, OF(unmoderated_loss_ratio[1]), 0},
	{"roce", "reverse_bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"roce", "bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"roce", "loss_ratio", 0.5, OF(loss_ratio[0]), 0.5},
	{"roce", "reverse_loss_ratio", 0.5, OF(loss_ratio[1]), 0.5},
	{"infiniband", "loss_ratio", 0.5, OF(loss_ratio[0]), 0.5},
	{"infiniband", "loss_ratio", 0.5, OF(loss_ratio[1]), 0.5},
	{"slingshot", "bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"slingshot", "mtu_B", 999, OF(packet_payload_B), 999},
	{"efa", "packet_overhead_B", 7, OF(packet_overhead_B), 7},
	{"efa", "bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"dram", "bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"shm", "bandwidth_Bps", 5, OF(capacity_Bps[1]), 5},
	{"socket", "line_payload_B", 32, OF(packet_payload_B), 32},
};

static void parameters_of_links_change_their_traits(void)
{
	struct arena *arena = arena_new();
	struct link_traits traits;
	union params params;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		const struct link_kind *kind = link_kind_find(changes[i].kind);
		preset(arena, kind, &params);
		set(kind, &params, changes[i].field, changes[i].value);
		kind->traits(&params, &traits);
		double found = *(const double *)(const void *)((char *)&traits + changes[i].trait);
		if (!CHECK_NEAR(found, changes[i].wanted, 1e-12))
			printf("    %s with %s = %g\n", kind->name, changes[i].field,
			       changes[i].value);
	}
	static const struct {
		const char *kind, *field;
		size_t trait;
		bool wanted;
	} switches[] = {{"efa", "gpudirect", OF(host_memory_only), true},
			{"ethernet", "physical", OF(physical_nic), false},
			{"socket", "duplex", OF(half_duplex), true},
			{"infiniband", "sharp", OF(adds), true}};
	for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
		const struct link_kind *kind = link_kind_find(switches[i].kind);
		preset(arena, kind, &params);
		for (size_t r = 0; r < kind->table->count; r++)
			if (strcmp(kind->table->rows[r].field, switches[i].field) == 0) {
				bool *field = (void *)(params.bytes + kind->table->rows[r].offset);
				*field = !*field;
			}
		kind->traits(&params, &traits);
		CHECK(*(const bool *)((char *)&traits + switches[i].trait) == switches[i].wanted);
	}
	arena_free(arena);
}

static void every_kind_of_link_has_defaults_and_sources(void)
{
	struct arena *arena = arena_new();
	CHECK(link_kind_count() >= 8);
	for (size_t k = 0; k < link_kind_count(); k++) {
		const struct link_kind *kind = link_kind_at(k);
		CHECK(link_kind_find(kind->name) == kind);
		CHECK_TEXT(kind->table->name, kind->name);
		CHECK(kind->table->size <= LINK_PARAMS_SIZE_MAX);
		CHECK(kind->help[0] != '\0');
		for (size_t i = 0; i < kind->table->count; i++) {
			CHECK(kind->table->rows[i].source[0] != '\0');
			CHECK(kind->table->rows[i].help[0] != '\0');
			CHECK(kind->table->rows[i].preset != NULL);
		}
		union params params;
		struct link_traits traits;
		preset(arena, kind, &params);
		kind->traits(&params, &traits);
		CHECK(traits.capacity_Bps[0] > 0);
		CHECK(traits.capacity_Bps[1] == traits.capacity_Bps[0]);
		CHECK(traits.latency_s > 0);
	}
	CHECK(link_kind_find("tin can") == NULL);
	arena_free(arena);
}

/* Returns the bandwidth that full packets leave for data. */
static double goodput_Bps(const struct link_traits *traits, double header_B)
{
	double data_B = traits->packet_payload_B - header_B;
	return traits->capacity_Bps[0] * data_B / link_wire_B(traits, 0, header_B, data_B);
}

/* PCIe 3 x16: 16 * 8e9 * 128/130 / 8 = 15.754 GB/s, of which 256/280 = 14.404 GB/s are data. PCIe 1
 * x8: 8 * 2.5e9 * 0.8 / 8 = 2 GB/s. */
static void pcie_bandwidth_matches_generation_and_lanes(void)
{
	struct arena *arena = arena_new();
	const struct link_kind *kind = link_kind_find("pcie");
	union params params;
	struct link_traits traits;
	preset(arena, kind, &params);
	kind->traits(&params, &traits);
	CHECK_NEAR(traits.capacity_Bps[0], 15.753846e9, 1e-7);
	CHECK_NEAR(goodput_Bps(&traits, 0), 14.403516e9, 1e-7);
	CHECK(traits.own_packets && !traits.physical_nic);
	set(kind, &params, "generation_count", 1);
	set(kind, &params, "lanes_count", 8);
	kind->traits(&params, &traits);
	CHECK_NEAR(traits.capacity_Bps[0], 2e9, 1e-15);
	/* 16 lanes of 64 GT/s; flits of 256 bytes hold 236 bytes of packets. */
	set(kind, &params, "generation_count", 6);
	set(kind, &params, "lanes_count", 16);
	kind->traits(&params, &traits);
	CHECK_NEAR(traits.capacity_Bps[0], 118e9, 1e-15);
	arena_free(arena);
}

/* Four links of a P100: 80 GB/s, of which 256/272 are data (94 % in the paper). */
static void nvlink_bandwidth_matches_generation_and_links(void)
{
	struct arena *arena = arena_new();
	const struct link_kind *kind = link_kind_find("nvlink");
	union params params;
	struct link_traits traits;
	preset(arena, kind, &params);
	set(kind, &params, "generation_count", 1);
	set(kind, &params, "links_count", 4);
	kind->traits(&params, &traits);
	CHECK_NEAR(traits.capacity_Bps[0], 80e9, 1e-15);
	CHECK_NEAR(goodput_Bps(&traits, 0), 75.294118e9, 1e-7);
	arena_free(arena);
}

/* Gigabit Ethernet carries 125e6 * 1448/1538 = 117.685 MB/s of TCP data, which are the 941 Mbit/s
 * of common measurements. */
static void network_goodput_matches_packet_overhead(void)
{
	struct arena *arena = arena_new();
	const struct link_kind *ethernet = link_kind_find("ethernet");
	union params params;
	struct link_traits traits;
	preset(arena, ethernet, &params);
	set(ethernet, &params, "bandwidth_Bps", 125e6);
	set(ethernet, &params, "reverse_bandwidth_Bps", 1e6);
	set(ethernet, &params, "loss_ratio", 0.25);
	ethernet->traits(&params, &traits);
	CHECK_NEAR(goodput_Bps(&traits, 52) * 8, 941.482e6, 1e-6);
	CHECK(traits.capacity_Bps[1] == 1e6);
	CHECK(traits.loss_ratio[0] == 0.25 && traits.loss_ratio[1] == 0);
	CHECK(traits.physical_nic && !traits.own_packets);
	/* RoCEv2 with 4096 bytes per packet: 4096/4178 = 98.04 %; InfiniBand: 4096/4122 = 99.37 %.
	 */
	const struct link_kind *roce = link_kind_find("roce");
	preset(arena, roce, &params);
	roce->traits(&params, &traits);
	CHECK_NEAR(goodput_Bps(&traits, 0), 12.5e9 * 4096 / 4178, 1e-12);
	const struct link_kind *infiniband = link_kind_find("infiniband");
	preset(arena, infiniband, &params);
	infiniband->traits(&params, &traits);
	CHECK_NEAR(goodput_Bps(&traits, 0), 12.5e9 * 4096 / 4122, 1e-12);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(every_kind_of_link_has_the_traits_of_its_hardware),
	TEST(parameters_of_links_change_their_traits),
	TEST(every_kind_of_link_has_defaults_and_sources),
	TEST(pcie_bandwidth_matches_generation_and_lanes),
	TEST(nvlink_bandwidth_matches_generation_and_links),
	TEST(network_goodput_matches_packet_overhead),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
