/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies of other tools (tests/samples/topologies) become machines with the devices and links
 * that were counted in the files, or are refused with a line. The test must run from the root
 * folder. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/cfg/cfg.h"
#include "sim/import/topology.h"
#include "tests/test.h"

/* Returns the file that the importer writes, or the first error. */
static const char *import(struct arena *arena, const char *sample, const char *more)
{
	struct diag *diag = diag_new(arena);
	const char *folder = sample[0] == '/' ? "" : "tests/samples/topologies/";
	const char *paths[] = {arena_printf(arena, "%s%s", folder, sample),
			       arena_printf(arena, "tests/samples/topologies/%s", more)};
	struct imported imported;
	char *text = NULL;
	size_t size_B = 0;
	if (!import_topology.files(arena, diag, paths, more[0] ? 2 : 1, &imported))
		return diag_at(diag, 0);
	FILE *out = open_memstream(&text, &size_B);
	imported.write(out, imported.ctx);
	fclose(out);
	const char *copy = arena_strdup(arena, text);
	free(text);
	return copy;
}

static size_t times(const char *text, const char *word)
{
	size_t count = 0;
	for (; (text = strstr(text, word)); text++)
		count++;
	return count;
}

/* Returns the sum of `links` of all NVLinks. */
static int nvlinks(const char *text)
{
	int sum = 0;
	for (; (text = strstr(text, "; links = ")); text++)
		sum += atoi(text + strlen("; links = "));
	return sum;
}

static void machines_have_the_devices_of_the_files(void)
{
	static const struct {
		const char *sample, *profile;
		size_t gpus, nics, sockets, pairs;
		int nvlinks; /* of both ends together, or of GPUs to switches */
	} rows[] = {
		{"2016-SOC-legend-mlx4-tensorflow-gdr.txt", "a100-pcie-80", 4, 1, 2, 0, 0},
		{"2gpu-phb-threadripper-puget.txt", "a100-pcie-80", 2, 2, 1, 0, 0},
		{"dgx1-v100-4nic.txt", "v100-sxm2", 8, 4, 2, 16, 8 * 6 / 2},
		{"h200-a3ultra-8nic-ansi.txt", "h100-sxm5", 8, 8, 2, 8, 8 * 18},
		{"rtx6000ada-x4-4nic-asus-esc8000a.txt", "a100-pcie-80", 4, 4, 2, 0, 0},
		{"v100x8-1nic-dlperf.txt", "v100-sxm2", 8, 1, 2, 16, 8 * 6 / 2},
		{"v100x8-2nic-mixed-tabs-dlperf.txt", "v100-sxm2", 8, 2, 2, 16, 8 * 6 / 2},
		{"aws-p4d-24xl-topo.xml", "a100-sxm4-40", 8, 4, 2, 0, 0},
		{"azure-nc48v4-topo.xml", "a100-pcie-80", 2, 1, 2, 1, 12},
		{"azure-ncv4-topo.xml", "a100-pcie-80", 4, 1, 4, 0, 0},
		{"azure-ndv2-topo.xml", "a100-sxm4-80", 8, 1, 2, 0, 0},
		{"azure-ndv4-topo.xml", "a100-sxm4-80", 8, 8, 4, 0, 0},
		{"azure-ndv5-topo.xml", "h100-sxm5", 8, 8, 2, 0, 0},
		{"oci-H100-topology.xml", "h100-sxm5", 8, 8, 2, 8, 8 * 18},
		{"oci-topo-flattened-b4.xml", "a100-sxm4-80", 8, 8, 4, 0, 0},
		{"nvidiaDGX2.xml", "v100-sxm3-32", 16, 0, 2, 16, 16 * 6},
		{"power8gpudistances.xml", "p100-sxm2", 4, 0, 2, 6, 6 * 2},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		const char *text = import(arena, rows[i].sample, "");
		const char *profile = arena_printf(arena, "profile = \"%s\"", rows[i].profile);
		int before = test_failures;
		CHECK(times(text, "profile = ") == rows[i].gpus);
		CHECK(times(text, profile) == rows[i].gpus);
		CHECK(times(text, "name = \"slot-nic") == rows[i].nics);
		CHECK(times(text, "name = \"memory-") == rows[i].sockets);
		CHECK(times(text, "kind = \"nvlink\"") == rows[i].pairs);
		CHECK(nvlinks(text) == rows[i].nvlinks);
		CHECK(cfg_read_text(arena, diag, "x.cfg", text) != NULL);
		if (test_failures > before)
			printf("  %s:\n%s", rows[i].sample, text);
		arena_free(arena);
	}
}

static void values_are_followed_by_their_place(void)
{
	static const struct {
		const char *sample, *more, *line;
	} rows[] = {
		{"oci-H100-topology.xml", "",
		 "ends = [\"sw1\", \"gpu0\"]; generation = 5; lanes = 16; latency = \"150 ns\"; }, "
		 "# "
		 "tests/samples/topologies/oci-H100-topology.xml:6: 0000:0f:00.0\n"},
		{"oci-H100-topology.xml", "", "bandwidth = \"360 Gbit/s\""}, /* two ports of 180 */
		{"oci-H100-topology.xml", "", "dram_bandwidth = \"614.4 GB/s\"; # data sheet"},
		{"aws-p4d-24xl-topo.xml", "", "network = \"efa-v1\";"},
		{"azure-ncv4-topo.xml", "",
		 "ends = [\"cpu0\", \"gpu0\"]; generation = 4; lanes = 16; }, # "
		 "tests/samples/topologies/azure-ncv4-topo.xml:3: 0001:00:00.0; speed assumed\n"},
		{"azure-ncv4-topo.xml", "", "bandwidth = \"100 Gbit/s\""},
		{"h200-a3ultra-8nic-ansi.txt", "", "cores = 112; # two threads of a core"},
		{"aws-p4d-24xl-topo.xml", "h200-a3ultra-8nic-ansi.txt",
		 "ends = [\"gpu7\", \"nvswitch\"]; generation = 3; links = 18;"},
		{"dgx1-v100-4nic.txt", "superbench-ibnetdiscover.txt",
		 "ports_per_leaf = 2; oversubscription = 2; link = { kind = \"infiniband\"; "
		 "bandwidth = \"200 Gbit/s\"; };"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const char *text = import(arena, rows[i].sample, rows[i].more);
		if (!CHECK(strstr(text, rows[i].line) != NULL))
			printf("  no '%s' in\n%s\n", rows[i].line, text);
		arena_free(arena);
	}
}

/* The sample has 8 switches. Five of them have two adapters each and one cable up; the other
 * three have none. */
static void only_switches_with_adapters_are_leaves(void)
{
	struct arena *arena = arena_new();
	const char *folder = "tests/samples/topologies/";
	const char *paths[] = {arena_printf(arena, "%sdgx1-v100-4nic.txt", folder),
			       arena_printf(arena, "%ssuperbench-ibnetdiscover.txt", folder)};
	struct imported imported;
	if (CHECK(import_topology.files(arena, diag_new(arena), paths, 2, &imported)))
		CHECK_PART(imported.said, "8 InfiniBand switches, 5 of them leaves, 10 adapters");
	arena_free(arena);
}

/* Imports a text and checks that it is refused with this message. */
static void refused(const char *text, const char *message)
{
	struct arena *arena = arena_new();
	char path[] = "/tmp/farwire-topology-XXXXXX";
	int file = mkstemp(path);
	CHECK(write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
	CHECK_PART(import(arena, path, ""), message);
	remove(path);
	arena_free(arena);
}

static void devices_of_nccl_are_where_they_belong(void)
{
	refused("<system><cpu><pci busid=\"a\" class=\"0x0604\">\n<gpu dev=\"0\" sm=\"80\"/></pci>"
		"</cpu></system>",
		":2: a gpu must be in a pci element with class 0x0302");
	refused("<system><cpu><pci busid=\"a\" class=\"0x0302\">\n<net name=\"n\"/></pci></cpu>"
		"</system>",
		":2: a net must be in a nic element");
	refused("<system><cpu>\n<nvlink target=\"a\"/></cpu></system>",
		":2: an nvlink must be in a gpu element");
	refused("<machine>\n</machine>", "a topology of NCCL begins with <system>");
}

/* The devices of NCCL are 3, 1, 2: the last PCI device is gpu1. */
static void gpus_have_the_numbers_of_the_file(void)
{
	static const char text[] =
		"<system><cpu><pci busid=\"a\" class=\"0x0302\"><gpu dev=\"3\" sm=\"80\"/></pci>\n"
		"<pci busid=\"b\" class=\"0x0302\"><gpu dev=\"1\" sm=\"80\"/></pci>\n"
		"<pci busid=\"c\" class=\"0x0302\"><gpu dev=\"2\" sm=\"80\"/></pci></cpu></system>";
	struct arena *arena = arena_new();
	char path[] = "/tmp/farwire-topology-XXXXXX";
	int file = mkstemp(path);
	CHECK(write(file, text, sizeof text - 1) == sizeof text - 1);
	close(file);
	const char *written = import(arena, path, "");
	CHECK(strstr(written, "name = \"gpu0\"; profile = \"a100-sxm4-80\"; }, ") != NULL);
	CHECK(strstr(written, ":2: b\n") != NULL);
	CHECK(strstr(written, ":3: c\n") != NULL);
	const char *zero = strstr(written, "\"gpu0\""), *b = strstr(written, ": b\n");
	const char *one = strstr(written, "\"gpu1\""), *c = strstr(written, ": c\n");
	CHECK(zero < b && b < one && one < c && c < strstr(written, "\"gpu2\""));
	remove(path);
	arena_free(arena);
}

static void other_files_are_refused_with_a_reason(void)
{
	static const struct {
		const char *sample, *more, *error;
	} rows[] = {
		{"pkb-nvidia_smi_topo_output.txt", "", "output.txt:2: 'OK' is not a kind of path"},
		{"dgxa100-affinity-only-table.txt", "",
		 "table.txt:2: this table has affinities but"},
		{"aws-g5.48xl-topo.xml", "", "topo.xml:14: this PCI device has no class"},
		{"aws-p5.48xl-topo.xml", "", "topo.xml:17: this PCI device has no class"},
		{"azure-ncv4-graph.xml", "", "graph.xml:1: this is a graph of NCCL"},
		{"azure-nc48v4-graph.xml", "", "graph.xml:1: this is a graph of NCCL"},
		{"../workloads/msccl-allgather-8n.xml", "",
		 "8n.xml:3: this is an algorithm of MSCCL"},
		{"rccl-topo_8p_940.xml", "", "940.xml:6: this is a GPU of AMD"},
		{"rccl-topo_8p6l_6nic.xml", "", "6nic.xml:8: this is a GPU of AMD"},
		{"rccl-topo_8p_pcie_2nic.xml", "", "2nic.xml:9: this is a GPU of AMD"},
		{"cxlmem+dax.v3.xml", "", "cxlmem+dax.v3.xml: the files have no GPU"},
		{"superbench-ibnetdiscover.txt", "", "discover.txt: the files have no GPU"},
		{"nvidiaDGX2.xml", "dgx1-v100-4nic.txt",
		 "4nic.txt:2: the matrix has 8 GPUs, but another file has 16"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const char *text = import(arena, rows[i].sample, rows[i].more);
		if (!CHECK(strstr(text, rows[i].error) != NULL))
			printf("  %s: %.200s\n", rows[i].sample, text);
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(machines_have_the_devices_of_the_files), TEST(values_are_followed_by_their_place),
	TEST(only_switches_with_adapters_are_leaves), TEST(gpus_have_the_numbers_of_the_file),
	TEST(other_files_are_refused_with_a_reason),  TEST(devices_of_nccl_are_where_they_belong),
};

int main(void)
{
	return TEST_MAIN(tests);
}
