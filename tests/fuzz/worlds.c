/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random systems run to their end. The bytes determine a topology of a few nodes and its load:
 * programs on local or remote GPUs, training jobs, collectives. They also set up to eight
 * parameters of the case to a limit: minimum, maximum, 0, 1, 2^31, 1e308, half, a thousandfold.
 * Each system is refused with a reason or ends in a verdict within a number of events. No invariant
 * is violated, numbers are finite, and parts add up. */
#include <math.h>

#include "sim/base/hash.h"
#include "sim/predict/predict.h"
#include "tests/fuzz/tiny_root.h"

enum { EVENTS_FEW = 1000, EVENTS_MAX = 4000, SETTINGS_MAX = 8, NODES_MAX = 12 };

struct bytes {
	const uint8_t *at, *end;
};

/* Returns a number from 0 to below - 1, and 0 after the last byte. A statement must contain at most
 * one take(), because the compiler chooses the order in which arguments are evaluated. */
static unsigned take(struct bytes *bytes, unsigned below)
{
	return bytes->at < bytes->end ? *bytes->at++ % below : 0;
}

static const char *pick(struct bytes *bytes, const char *const *words, unsigned count)
{
	return words[take(bytes, count)];
}
#define PICK(bytes, ...)                                                                           \
	pick((bytes), (const char *const[]){__VA_ARGS__},                                          \
	     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

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

/* ---- parameters at their limits ---- */

/* A topology or a schedule of 10^5 parts is too large for thousands of runs a second. */
static bool makes_many(const struct cfg_param *param)
{
	static const char *const groups[] = {"case.", "job.", "client.", "cluster.", "wiring."};
	for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
		if (param->row->whole && strncmp(param->path, groups[i], strlen(groups[i])) == 0)
			return true;
	return false;
}

static double edge(const struct cfg_param *param, unsigned which)
{
	const struct param_row *row = param->row;
	const double edges[] = {row->min,
				row->max,
				0,
				1,
				param->value * 0.5,
				param->value * 2,
				param->value * 1e3,
				param->value / 1e3,
				0x1p31,
				0x1p63,
				1e308,
				5e-324,
				1e-3};
	double value = edges[which % (sizeof edges / sizeof edges[0])];
	value = fmin(fmax(value, row->min), fmin(row->max, 1e308));
	if (row->whole)
		value = floor(value);
	return makes_many(param) ? fmin(value, 8) : value;
}

static const char *setting_of(struct arena *arena, const struct cfg_param *param, unsigned which)
{
	const struct param_row *row = param->row;
	size_t count = 0;
	switch (row->kind) {
	case PARAM_KIND_NUMBER:
		return arena_printf(arena, "%s=%.17g %s", param->path, edge(param, which),
				    quantity_unit(row->quantity));
	case PARAM_KIND_BOOL:
		return arena_printf(arena, "%s=%s", param->path, which % 2 ? "true" : "false");
	case PARAM_KIND_CHOICE:
		while (param_choices(arena, row)[count])
			count++;
		return arena_printf(arena, "%s=%s", param->path,
				    param_choices(arena, row)[which % count]);
	case PARAM_KIND_TEXT:
		break;
	}
	return NULL;
}

/* Half of the cases change no parameter and are read only once. */
static size_t take_settings(struct arena *arena, struct bytes *bytes,
			    const struct case_request *request, struct setting *settings)
{
	size_t count = 0;
	unsigned tries = take(bytes, 256);
	tries = tries < 128 ? tries % (SETTINGS_MAX + 1) : 0;
	if (tries == 0)
		return 0;
	struct diag *diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, request);
	if (!scenario)
		return 0;
	const struct cfg_resolution *resolution = scenario->resolution;
	for (; tries > 0; tries--) {
		unsigned index = take(bytes, 256) * 256;
		index += take(bytes, 256);
		const struct cfg_param *param =
			cfg_param_at(resolution, index % cfg_param_count(resolution));
		const char *text = setting_of(arena, param, take(bytes, 24));
		if (text)
			settings[count++] = (struct setting){text, {"--set", 0}};
	}
	return count;
}

/* ---- the verdict ---- */

static void check_estimate(struct estimate estimate, bool needed)
{
	FUZZ_CHECK(needed ? isfinite(estimate.value) : !isinf(estimate.value));
	FUZZ_CHECK(!(estimate.value < 0) && !(estimate.low < 0) && !isinf(estimate.high));
	FUZZ_CHECK(!(estimate.low > estimate.high));
}

static void check_ok(const struct prediction *p)
{
	double sum_s = 0;
	check_estimate(p->throughput, true);
	check_estimate(p->step_s, true);
	check_estimate(p->ratio, false);
	check_estimate(p->gpu_utilization, false);
	FUZZ_CHECK(!(p->gpu_utilization.value > 1 + 1e-6));
	for (size_t i = 0; i < p->breakdown_count; i++) {
		FUZZ_CHECK(p->breakdown[i].seconds >= -1e-6 * p->step_s.value);
		sum_s += p->breakdown[i].seconds;
	}
	FUZZ_CHECK(p->breakdown_count == 0 || p->job_count != 1 ||
		   fabs(sum_s - p->step_s.value) <= 1e-6 * p->step_s.value + 1e-11);
}

static void check_prediction(const struct prediction *p, size_t events_max)
{
	FUZZ_CHECK(p->ok ? !p->reason : p->reason && *p->reason);
	FUZZ_CHECK(p->events_count <= events_max);
	if (p->ok)
		check_ok(p);
	for (size_t i = 0; i < p->job_count; i++)
		FUZZ_CHECK(p->jobs[i].ok || p->jobs[i].reason);
	for (size_t i = 0; i < p->link_count; i++) {
		FUZZ_CHECK(isfinite(p->links[i].carried_B) && p->links[i].carried_B >= 0);
		FUZZ_CHECK(p->links[i].utilization >= 0 && p->links[i].utilization <= 1 + 1e-6);
	}
}

static const char *text_file(struct arena *arena, const char *name, const char *text)
{
	return fuzz_file(arena, name, text, strlen(text));
}

/* Writes the files of the case that the bytes determine, and returns its path. */
static const char *write_case(struct arena *arena, struct bytes *bytes)
{
	char *text = NULL;
	size_t size_B = 0;
	bool job = take(bytes, 2) == 1;
	bool cluster = job && take(bytes, 4) > 0;
	FILE *out = open_memstream(&text, &size_B);
	struct nodes nodes = {0};
	FUZZ_CHECK(out != NULL);
	if (cluster)
		put_cluster(out, bytes);
	else
		nodes = put_topology(out, arena, bytes);
	FUZZ_CHECK(fclose(out) == 0);
	text_file(arena, "own.cfg", text);
	free(text);
	text = NULL;
	out = open_memstream(&text, &size_B);
	FUZZ_CHECK(out != NULL);
	put_case(out, bytes, cluster ? NULL : &nodes, job);
	FUZZ_CHECK(fclose(out) == 0);
	const char *path = text_file(arena, "case.cfg", text);
	free(text);
	return path;
}

/* Prints the system of a failed check: FARWIRE_FUZZ_SHOW=1 on replay. */
static void show(const struct case_request *request, const struct diag *diag)
{
	if (!getenv("FARWIRE_FUZZ_SHOW"))
		return;
	for (size_t i = 0; i < request->setting_count; i++)
		printf("  --set '%s'\n", request->settings[i].text);
	diag_print(diag, stdout);
	fflush(stdout);
}

FUZZ_TARGET(data, size_B)
{
	struct bytes bytes = {data, data + size_B};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct setting settings[SETTINGS_MAX];
	struct predict_options options = {.jobs = 1};
	/* A hash of the input decides whether there are draws and many events, which are slow. So
	 * libFuzzer cannot breed inputs for them. */
	uint64_t lot = hash_bytes(HASH_START, data, size_B);
	options.draws_count = lot % 32 == 0 ? 2 : 0;
	options.seed = take(&bytes, 256) * 256;
	options.seed += take(&bytes, 256);
	struct case_request request = {.data_root = tiny_root(arena),
				       .settings = settings,
				       .events_max = lot % 8 == 0 ? EVENTS_MAX : EVENTS_FEW};
	request.path = write_case(arena, &bytes);
	request.setting_count = take_settings(arena, &bytes, &request, settings);
	const char *broken = NULL;
	const struct prediction *p = predict_case(arena, diag, &request, &options, &broken);
	show(&request, diag);
	if (broken)
		printf("  %s\n", broken);
	FUZZ_CHECK(!broken);
	FUZZ_CHECK_ANSWER(p, diag);
	if (p && getenv("FARWIRE_FUZZ_SHOW"))
		printf("  %s after %llu events %s\n", p->ok ? "ok" : "fail",
		       (unsigned long long)p->events_count, p->reason ? p->reason : "");
	if (p)
		check_prediction(p, request.events_max);
	arena_free(arena);
}
