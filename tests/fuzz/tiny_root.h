/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder as data_root with one small file of each kind. Cases that name no other files are read
 * in microseconds, and a change of a shipped file does not change the meaning of an input. */
#pragma once

#include "tests/fuzz/fuzz.h"

static const struct tiny_file {
	const char *name, *text;
} tiny_files[] = {
	{"topologies/gpus/g.cfg",
	 "gpu = { fp32 = \"1 TFLOPS\"; fp16 = \"2 TFLOPS\"; memory_bandwidth = \"100 GB/s\"; "
	 "memory = \"64 GiB\"; multiprocessors = 4; };\n"},
	{"topologies/machines/m.cfg",
	 "machine = { host = { cores = 4; clock = \"2 GHz\"; dram_bandwidth = \"50 GB/s\"; };\n"
	 "guests = ( { name = \"os\"; kind = \"bare\"; } );\n"
	 "gpus = ( { name = \"a\"; profile = \"g\"; }, { name = \"b\"; profile = \"g\"; } );\n"
	 "switches = [\"nic\"];\n"
	 "links = ( { name = \"s\"; kind = \"pcie\"; ends = [\"host\", \"a\"]; generation = 3; "
	 "lanes = 16; }, { name = \"t\"; kind = \"pcie\"; ends = [\"host\", \"b\"]; "
	 "generation = 3; lanes = 8; }, { name = \"u\"; kind = \"pcie\"; ends = [\"host\", "
	 "\"nic\"]; "
	 "generation = 3; lanes = 16; }, { name = \"v\"; kind = \"nvlink\"; ends = [\"a\", \"b\"]; "
	 "generation = 2; links = 1; } );\nports = [\"nic\"]; };\n"},
	{"topologies/networks/n.cfg",
	 "wiring = { kind = \"switch\"; link = { kind = \"ethernet\"; bandwidth = \"10 Gbit/s\"; "
	 "mtu = \"1500 B\"; latency = \"2 us\"; }; };\n"},
	{"topologies/t.cfg", "topology = { name = \"t\"; help = \"\"; cluster = { machine = \"m\"; "
			     "network = \"n\"; }; };\n"},
	{"topologies/cases/c.cfg",
	 "case = { name = \"c\"; topology = \"t\"; model = \"tiny\"; };\n"},
	{"models/networks/tiny.cfg",
	 "network = { name = \"tiny\"; image = 8; channels = 3; classes = 10; source = \"\";\n"
	 "layers = ( { name = \"c\"; op = \"conv\"; kernel = [3, 3]; out = 4; bias = true; "
	 "relu = true; }, { name = \"f\"; op = \"fc\"; out = 10; bias = true; } ); };\n"},
	{"models/networks/gpt.cfg",
	 "network = { name = \"gpt\"; sequence = 16; vocabulary = 8; source = \"\"; layers = (\n"
	 "{ name = \"e\"; op = \"embedding\"; out = 16; }, { name = \"b\"; repeat = 4; layers = (\n"
	 "{ name = \"a\"; op = \"attention\"; heads = 4; causal = true; },\n"
	 "{ name = \"m\"; op = \"mlp\"; hidden = 32; activation = \"gelu\"; } ); },\n"
	 "{ name = \"l\"; op = \"linear\"; tied = \"e\"; }, { name = \"x\"; op = "
	 "\"cross_entropy\"; } "
	 "); };\n"},
	{"models/networks/moe.cfg",
	 "network = { name = \"moe\"; sequence = 16; vocabulary = 8; source = \"\"; layers = (\n"
	 "{ name = \"e\"; op = \"embedding\"; out = 16; }, { name = \"b\"; repeat = 4; layers = (\n"
	 "{ name = \"a\"; op = \"attention\"; heads = 4; kv_heads = 4; causal = true; separate = "
	 "true; "
	 "rotary = true; },\n"
	 "{ name = \"m\"; op = \"experts\"; experts = 4; top = 2; hidden = 32; } ); },\n"
	 "{ name = \"l\"; op = \"linear\"; out = 8; }, { name = \"x\"; op = \"cross_entropy\"; } "
	 "); };\n"},
	{"models/stacks/b.cfg", "stack = { framework = \"pytorch\"; poller = false; precision = "
				"\"bf16\"; optimiser_copies = 2; "
				"fused_attention = true; };\n"},
	{"models/stacks/s.cfg", "stack = { framework = \"tensorflow-1\"; };\n"},
	{"models/stacks/p.cfg", "stack = { framework = \"pytorch\"; poller = false; };\n"},
	{"models/runtimes/r.cfg", "runtime = { policy = \"synchronous\"; };\n"},
	{"models/exchanges/e.cfg",
	 "exchange = { policy = \"ddp\"; };\nlibrary = { algorithm = \"auto\"; };\n"},
	{"models/storages/d.cfg", "storage = { bandwidth = \"500 MB/s\"; };\n"},
	{"calib/profiles/model-error.cfg", "parameters = ();\n"},
	{"calib/measured/m.cfg", ""},
	{"topologies/what-ifs/w.cfg", ""},
};

/* Returns the path of the folder, whose files are written once. */
static inline const char *tiny_root(struct arena *arena)
{
	const char *root = fuzz_path(arena, "root");
	if (access(root, F_OK) == 0)
		return root;
	FUZZ_CHECK(mkdir(root, 0777) == 0);
	for (size_t i = 0; i < sizeof tiny_files / sizeof tiny_files[0]; i++) {
		const char *name = arena_printf(arena, "root/%s", tiny_files[i].name);
		char *path = arena_strdup(arena, fuzz_path(arena, name));
		for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
			*slash = '\0';
			mkdir(path, 0777);
			*slash = '/';
		}
		fuzz_file(arena, name, tiny_files[i].text, strlen(tiny_files[i].text));
	}
	return root;
}
