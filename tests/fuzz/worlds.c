/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random systems run to their end (tests/fuzz/random_world.h). The bytes determine a topology of a
 * few nodes and its load: programs on local or remote GPUs, training jobs, collectives. */
#include "tests/fuzz/random_world.h"

enum { EVENTS_FEW = 1000, NODES_MAX = 12 };

/* ---- a topology ---- */

struct nodes {
	const char *names[NODES_MAX];
	unsigned count, host_count, guest_count, gpu_count;
};

static void put_link(FILE *out, struct bytes *bytes, unsigned number, const char *kind,
		     const char *a, const char *b)
{
	fprintf(out, "%s{ name = \"l%u\"; kind = \"%s\"; ends = [\"%s\", \"%s\"];",
		number ? ",\n" : "", number, kind, a, b);
	bool wire = strcmp(kind, "ethernet") == 0 || strcmp(kind, "infiniband") == 0 ||
		    strcmp(kind, "roce") == 0;
	if (wire) {
		fprintf(out, " bandwidth = \"%s\";",
			PICK(bytes, "1 Gbit/s", "100 Gbit/s", "1 kB/s", "1 TB/s"));
		fprintf(out, " latency = \"%s\";", PICK(bytes, "5 us", "0 s", "50 ms", "1 s"));
	}
	if (strcmp(kind, "ethernet") == 0)
		fprintf(out, " loss = %s;", PICK(bytes, "0.0", "0.001", "0.3", "1.0", "0.999999"));
	fputs(" }", out);
}

static void put_links(FILE *out, struct bytes *bytes, const struct nodes *nodes)
{
	static const char *const kinds[] = {"ethernet", "infiniband", "roce",  "shm",
					    "socket",   "pcie",       "nvlink"};
	unsigned number = 0;
	fputs("links = (", out);
	for (unsigned i = 0; i < nodes->gpu_count; i++) {
		const char *host = nodes->names[i % nodes->host_count];
		put_link(out, bytes, number++, PICK(bytes, "pcie", "pcie", "nvlink", "socket"),
			 host, nodes->names[nodes->count - nodes->gpu_count + i]);
	}
	for (unsigned i = 1; i < nodes->guest_count; i++) /* guests come after hosts */
		if (take(bytes, 8))
			put_link(out, bytes, number++, pick(bytes, kinds, 5),
				 nodes->names[nodes->host_count],
				 nodes->names[nodes->host_count + i]);
	for (unsigned more = take(bytes, 4); more > 0; more--) {
		const char *a = nodes->names[take(bytes, nodes->count)];
		const char *b = nodes->names[take(bytes, nodes->count)];
		if (strcmp(a, b) != 0)
			put_link(out, bytes, number++, pick(bytes, kinds, 7), a, b);
	}
	fputs("\n);\n", out);
}

static const char *node_add(struct arena *arena, struct nodes *nodes, const char *kind,
			    unsigned number)
{
	FUZZ_CHECK(nodes->count < NODES_MAX);
	return nodes->names[nodes->count++] = arena_printf(arena, "%s%u", kind, number);
}

static struct nodes put_topology(FILE *out, struct arena *arena, struct bytes *bytes)
{
	struct nodes nodes = {0};
	nodes.host_count = 1 + take(bytes, 3);
	nodes.guest_count = nodes.host_count + take(bytes, 2);
	nodes.gpu_count = 1 + take(bytes, 3);
	fputs("topology = { name = \"own\"; help = \"\";\nhosts = (", out);
	for (unsigned i = 0; i < nodes.host_count; i++)
		fprintf(out, "%s{ name = \"%s\"; cores = %s; }", i ? ", " : "",
			node_add(arena, &nodes, "h", i), PICK(bytes, "4", "1", "64"));
	fputs(");\nguests = (", out);
	for (unsigned i = 0; i < nodes.guest_count; i++)
		fprintf(out, "%s{ name = \"%s\"; host = \"h%u\"; kind = \"%s\"; }", i ? ", " : "",
			node_add(arena, &nodes, "v", i), i % nodes.host_count,
			PICK(bytes, "bare", "vm", "container"));
	fputs(");\n", out);
	if (take(bytes, 2))
		fprintf(out, "switches = [\"%s\"];\n", node_add(arena, &nodes, "s", 0));
	fputs("gpus = (", out);
	for (unsigned i = 0; i < nodes.gpu_count; i++)
		fprintf(out, "%s{ name = \"%s\"; host = \"h%u\"; profile = \"g\"; }", i ? ", " : "",
			node_add(arena, &nodes, "g", i), i % nodes.host_count);
	fputs(");\n", out);
	put_links(out, bytes, &nodes);
	fputs("};\n", out);
	return nodes;
}

/* A cluster of the tiny machines. */
static void put_cluster(FILE *out, struct bytes *bytes)
{
	bool counted = take(bytes, 4) == 0;
	fprintf(out, "topology = { name = \"own\"; cluster = { machine = \"m\"; count = %u;",
		counted ? take(bytes, 5) : 0);
	fprintf(out, " network = { kind = \"%s\";",
		PICK(bytes, "switch", "cable", "fat_tree", "torus", "dragonfly", "rail_optimised"));
	fprintf(out, " link = { kind = \"%s\";", PICK(bytes, "ethernet", "infiniband", "roce"));
	fprintf(out, " bandwidth = \"%s\"; }; };", PICK(bytes, "10 Gbit/s", "1 MB/s", "1 TB/s"));
	fprintf(out, "%s }; };\n", take(bytes, 2) ? " servers = [\"fs\"];" : "");
}

/* ---- its load ---- */

static void put_programs(FILE *out, struct bytes *bytes, const struct nodes *nodes)
{
	bool remote = take(bytes, 4) > 0;
	fprintf(out, "stack = \"%s\";", PICK(bytes, "s", "p"));
	fprintf(out, " batch = %s;", PICK(bytes, "8", "1", "1000"));
	if (remote) {
		fprintf(out, " runtime = \"r\"; transport = \"%s\";",
			PICK(bytes, "tcp", "rdma", "shm", "auto"));
		fprintf(out, " settings = [\"runtime.policy=%s\"];",
			PICK(bytes, "synchronous", "batched", "asynchronous", "flexdirect"));
	}
	fputs(" clients = (", out);
	for (unsigned i = 0, count = 1 + take(bytes, 3); i < count; i++) {
		fprintf(out, "%s{ name = \"c%u\";", i ? ", " : "", i);
		fprintf(out, " gpu = \"g%u\";", take(bytes, nodes->gpu_count));
		fprintf(out, " fraction = %s;", PICK(bytes, "0.3", "1.0", "0.001"));
		if (remote)
			fprintf(out, " program = \"v%u\";", take(bytes, nodes->guest_count));
		fputs(" }", out);
	}
	fputs(" );", out);
}

static void put_collective(FILE *out, struct bytes *bytes, unsigned gpu_count)
{
	fprintf(out, " gpus = %u;", gpu_count > 1 ? 2 + take(bytes, gpu_count - 1) : 1);
	fprintf(out, " collective = \"%s\";",
		PICK(bytes, "all_reduce", "all_gather", "reduce_scatter", "broadcast",
		     "all_to_all"));
	fprintf(out, " collective_size = \"%s\";", PICK(bytes, "1 MiB", "1 B", "1 PB", "4095 B"));
}

static void put_job(FILE *out, struct bytes *bytes, unsigned gpu_count)
{
	fprintf(out, "exchange = \"e\"; stack = \"%s\";", PICK(bytes, "p", "s"));
	fprintf(out, " batch = %s;", PICK(bytes, "8", "1", "1000"));
	fprintf(out, " transport = \"%s\";", PICK(bytes, "auto", "tcp", "rdma", "shm"));
	fprintf(out, " settings = [\"exchange.policy=%s\"];",
		PICK(bytes, "ddp", "horovod", "after_backward", "per_tensor"));
	unsigned kind = take(bytes, 3);
	if (kind == 0) {
		fprintf(out, " gpus = %u;", 1 + take(bytes, gpu_count));
	} else if (kind == 1) {
		fprintf(out, " jobs = ( { name = \"x\"; gpus = %u; },",
			1 + take(bytes, gpu_count / 2 + 1));
		fprintf(out, " { name = \"y\"; gpus = %u; } );",
			1 + take(bytes, gpu_count / 2 + 1));
	} else {
		put_collective(out, bytes, gpu_count);
	}
}

/* nodes NULL: the GPUs are those of a cluster, which has as many as the case needs. */
static void put_case(FILE *out, struct bytes *bytes, const struct nodes *nodes, bool job)
{
	fprintf(out, "case = { topology = \"own.cfg\"; model = \"tiny\"; steps = %u;",
		1 + take(bytes, 4));
	fprintf(out, " steps_warmup = %u; ", take(bytes, 2));
	if (job)
		put_job(out, bytes, nodes ? nodes->gpu_count : 8);
	else
		put_programs(out, bytes, nodes);
	fprintf(out, " };\ninput = { source = \"%s\"; };\n", PICK(bytes, "gpu", "host", "d"));
}

/* Writes the files of the case that the bytes determine, and returns its path. */
static const char *write_case(struct arena *arena, struct bytes *bytes)
{
	bool job = take(bytes, 2) == 1;
	bool cluster = job && take(bytes, 4) > 0;
	FILE *out = fuzz_create(arena, "own.cfg");
	struct nodes nodes = {0};
	if (cluster)
		put_cluster(out, bytes);
	else
		nodes = put_topology(out, arena, bytes);
	FUZZ_CHECK(fclose(out) == 0);
	out = fuzz_create(arena, "case.cfg");
	put_case(out, bytes, cluster ? NULL : &nodes, job);
	FUZZ_CHECK(fclose(out) == 0);
	return fuzz_path(arena, "case.cfg");
}

FUZZ_TARGET(data, size_B)
{
	struct bytes bytes = {data, data + size_B};
	struct arena *arena = arena_new();
	uint64_t seed = take(&bytes, 256) * 256;
	seed += take(&bytes, 256);
	const char *path = write_case(arena, &bytes);
	random_world_run(arena, &bytes, path, seed, hash_bytes(HASH_START, data, size_B),
			 EVENTS_FEW);
	arena_free(arena);
}
