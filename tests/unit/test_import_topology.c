/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies of other tools (tests/samples/topologies) become machines whose values name their
 * place, or are refused with a line. import_facts.sh compares the devices. The test must run from
 * the root folder. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
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
		/* adapters without a speed beside GPUs of PCIe 3.0 */
		{"dgx1-v100-4nic.txt", "",
		 "bandwidth = \"100 Gbit/s\"; }; }; # "
		 "tests/samples/topologies/dgx1-v100-4nic.txt:10: mlx5_0; speed assumed"},
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
		CHECK_PART(imported.summary,
			   "8 InfiniBand switches, 5 of them leaves, 10 adapters");
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

/* The devices of NCCL are 3, 1, 2, and so are the names. */
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
	CHECK(strstr(written, "name = \"gpu1\"; profile = \"a100-sxm4-80\"; }, ") != NULL);
	CHECK(strstr(written, ":2: b\n") != NULL);
	CHECK(strstr(written, ":3: c\n") != NULL);
	const char *one = strstr(written, "\"gpu1\""), *b = strstr(written, ": b\n");
	const char *two = strstr(written, "\"gpu2\""), *c = strstr(written, ": c\n");
	CHECK(one < b && b < two && two < c && c < strstr(written, "\"gpu3\""));
	CHECK(strstr(written, "\"gpu0\"") == NULL);
	remove(path);
	arena_free(arena);
}

static void other_files_are_refused_with_a_reason(void)
{
	static const struct {
		const char *sample, *more, *error;
	} rows[] = {
		{"../workloads/msccl-allgather-8n.xml", "",
		 "8n.xml:3: this is an algorithm of MSCCL"},
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
	TEST(values_are_followed_by_their_place),    TEST(only_switches_with_adapters_are_leaves),
	TEST(gpus_have_the_numbers_of_the_file),     TEST(other_files_are_refused_with_a_reason),
	TEST(devices_of_nccl_are_where_they_belong),
};

int main(void)
{
	return TEST_MAIN(tests);
}
