/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random step graphs run to their end (tests/fuzz/random_world.h). The bytes determine a cluster
 * and one of three loads: a transformer that a plan splits over GPUs, model servers, or a recorded
 * program of several ranks. Most plans are possible, and most ranks of a recording call the same
 * collectives. */
#include "tests/fuzz/random_world.h"

enum { EVENTS_FEW = 8000, RANKS_MAX = 8, CALLS_MAX = 12 };

/* ---- plans ---- */

static bool rarely(struct bytes *bytes)
{
	return take(bytes, 16) == 1;
}

static const char *flag(struct bytes *bytes)
{
	return take(bytes, 2) ? "false" : "true";
}

static unsigned power(struct bytes *bytes, unsigned most)
{
	unsigned value = 1U << take(bytes, 3);
	return value < most ? value : most;
}

static void put_pipeline(FILE *out, struct bytes *bytes, unsigned pp)
{
	const char *schedule = PICK(bytes, "auto", "1f1b", "gpipe", "zb-h1", "interleaved");
	bool parts = strcmp(schedule, "interleaved") == 0 && pp > 1 && pp < 4;
	fprintf(out, " pp = %u; chunks = %u;", pp, parts || rarely(bytes) ? 2 : 1);
	fprintf(out, " schedule = \"%s\";", parts || rarely(bytes) ? schedule : "auto");
}

static void put_sharding(FILE *out, struct bytes *bytes, unsigned dp, bool experts)
{
	const char *sharding = PICK(bytes, "none", "optimizer", "gradients", "parameters");
	bool copies = dp > 1 && strcmp(sharding, "none") != 0 && !experts && take(bytes, 2);
	fprintf(out, " sharding = \"%s\"; replicas = %u;", sharding,
		copies || rarely(bytes) ? 2 : 1);
	if (experts)
		fprintf(out, " ep = %u;", power(bytes, dp));
}

static void put_plan(FILE *out, struct bytes *bytes, bool experts)
{
	unsigned tp = power(bytes, 4), pp = power(bytes, 4), dp = power(bytes, 4);
	unsigned cp = take(bytes, 4) == 1 ? 2 : 1, micro = power(bytes, 2);
	unsigned odd = rarely(bytes) ? 1 : 0;
	fprintf(out, " gpus = %u; };\nplan = { tp = %u; cp = %u;", tp * pp * dp * cp + odd, tp, cp);
	put_pipeline(out, bytes, pp);
	put_sharding(out, bytes, dp, experts);
	fprintf(out, " micro_batch = %u; global_batch = %u;", micro,
		micro * dp * power(bytes, 4) + odd);
	fprintf(out, " recompute = \"%s\";", PICK(bytes, "none", "selective", "full"));
	fprintf(out, " order = \"%s\";", PICK(bytes, "tp-cp-dp-pp", "dp-tp-pp-cp", "pp-dp-cp-tp"));
	fprintf(out, " overlap_tensor = \"%s\";", PICK(bytes, "none", "backward", "all"));
	fprintf(out, " sequence_parallel = %s;", experts && !odd ? "true" : flag(bytes));
	fprintf(out, " overlap_gradients = %s;", flag(bytes));
	fprintf(out, " overlap_parameters = %s;", flag(bytes));
	fprintf(out, " scatter_gather = %s;", flag(bytes));
	fprintf(out, " bucket = %s; };\n", PICK(bytes, "40000000", "500"));
}

static void put_training(FILE *out, struct bytes *bytes)
{
	bool experts = take(bytes, 2);
	fprintf(out, " model = \"%s\"; stack = \"b\";", experts ? "moe" : "gpt");
	put_plan(out, bytes, experts);
}

/* ---- model servers ---- */

static void put_replicas(FILE *out, struct bytes *bytes, bool tensor)
{
	unsigned kind = take(bytes, 4);
	if (kind == 0) {
		fputs(" clients = ( { name = \"p\"; gpu = \"n0.a\"; role = \"prefill\"; },"
		      " { name = \"d\"; gpu = \"n0.b\"; role = \"decode\"; } );",
		      out);
	} else if (kind == 1) {
		fputs(" clients = ( { name = \"x\"; gpu = \"n0.a\"; model = \"gpt\"; },", out);
		fprintf(out, " { name = \"y\"; gpu = \"n0.%s\"; model = \"tiny\"; } );",
			PICK(bytes, "a", "b"));
	} else {
		fprintf(out, " copies = %u;", 1 + take(bytes, 3));
		fprintf(out, " tensor = %u;", tensor || rarely(bytes) ? power(bytes, 4) : 1);
	}
	if (!tensor && take(bytes, 2))
		fprintf(out, " fraction = %s;", PICK(bytes, "0.5", "0.001"));
}

/* Servers of several models run equally long. With much different rates one of them would have 10^7
 * requests, which need 1.5 GB. */
static void put_service(FILE *out, struct bytes *bytes, bool several)
{
	const char *rate = PICK(bytes, "1", "1000", "1e6", "0.001");
	fprintf(out, " rate = %s;", several ? "1000" : rate);
	fprintf(out, " spread = %s; requests = %u;", PICK(bytes, "1.0", "0.0", "5.0"),
		1 + take(bytes, 64));
	fprintf(out, " prompt = %u;", 1 + take(bytes, 12));
	fprintf(out, " prompt_spread = %s;", PICK(bytes, "0.0", "1.0", "9.0"));
	fprintf(out, " output = %u;", 1 + take(bytes, 4));
	fprintf(out, " batching = \"%s\";", PICK(bytes, "auto", "fixed", "dynamic", "continuous"));
	fprintf(out, " batch = %u;", 1 + take(bytes, 8));
	fprintf(out, " delay = \"%s\";", PICK(bytes, "0 s", "1 ms", "10 s"));
	fprintf(out, " queue = %u;", take(bytes, 4));
	fprintf(out, " tokens = %u;", 1 + take(bytes, 32));
	fprintf(out, " block = %u;", 1 + take(bytes, 20));
	fprintf(out, " memory = %s;", PICK(bytes, "0.9", "0.01", "1.0"));
	fprintf(out, " chunked_prefill = %s;", flag(bytes));
	fprintf(out, " router = \"%s\";", PICK(bytes, "round-robin", "least-outstanding"));
	fprintf(out, " on = \"%s\"; off = \"1 ms\";", PICK(bytes, "0 s", "5 ms"));
	fprintf(out, " latency_slo = \"%s\";", PICK(bytes, "0 s", "2 ms"));
	fprintf(out, " reserve_prompt = %s;", flag(bytes));
}

static void put_serving(FILE *out, struct bytes *bytes)
{
	bool several = take(bytes, 4) == 0;
	const char *model = PICK(bytes, "gpt", "gpt", "moe", "tiny");
	fprintf(out, " model = \"%s\"; stack = \"%s\";", model, rarely(bytes) ? "p" : "b");
	put_replicas(out, bytes, strcmp(model, "gpt") == 0);
	fprintf(out, " };\nserve = %s", several ? "( { model = \"gpt\";" : "{");
	if (several) {
		put_service(out, bytes, several);
		fputs(" }, { model = \"tiny\";", out);
	}
	put_service(out, bytes, several);
	fprintf(out, " }%s;\n", several ? " )" : "");
}

/* ---- recorded programs ---- */

struct recorded {
	unsigned kind, stream, size, word, skips;
};

static void put_copy(FILE *out, const struct recorded *call)
{
	fprintf(out,
		"\"cudaMemcpyAsync\",\"stream\":%u,\"copy\":\"%s\",\"size_B\":%u,\"memory\":\"%s\","
		"\"copy_s\":1e-6}\n",
		call->stream, call->word & 1 ? "h2d" : "d2h", call->size * call->size,
		call->word & 2 ? "pinned" : "pageable");
}

/* All ranks take part, or groups of neighbours, or of ranks with a distance of 2. */
static void put_group(FILE *out, const struct recorded *call, unsigned rank, unsigned ranks)
{
	unsigned stride = call->word & 1 ? 2 : 1, size = 2U << (call->word / 4 % 3);
	unsigned both = size * stride;
	if (call->word & 2 || both > ranks)
		return;
	fprintf(out, ",\"group_first\":%u,\"group_size\":%u,\"group_stride\":%u",
		rank / both * both + rank % stride, size, stride);
}

static void put_recorded_collective(FILE *out, const struct recorded *call, unsigned rank,
				    unsigned ranks)
{
	static const char *const names[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
					    "ncclAlltoAll", "ncclBroadcast"};
	fprintf(out, "\"%s\",\"stream\":%u,\"size_B\":%u,\"kernel_s\":1e-5", names[call->kind % 5],
		call->stream, 1 + call->size * call->size);
	put_group(out, call, rank, ranks);
	fputs("}\n", out);
}

/* A message goes to the rank that is `away` ranks ahead, and one comes from the rank as far behind.
 */
static void put_messages(FILE *out, const struct recorded *call, unsigned rank, unsigned ranks,
			 double t_s)
{
	unsigned away = 1 + call->word % (ranks > 1 ? ranks - 1 : 1);
	fprintf(out, "\"ncclSend\",\"stream\":%u,\"size_B\":%u,\"peer\":%u}\n", call->stream,
		1 + call->size, (rank + away) % ranks);
	fprintf(out, "{\"start_s\":%.9g,\"end_s\":%.9g,\"call\":", t_s + 2e-6, t_s + 3e-6);
	fprintf(out, "\"ncclRecv\",\"stream\":%u,\"size_B\":%u,\"peer\":%u}\n", 15 - call->stream,
		1 + call->size, (rank + ranks - away) % ranks);
}

static void put_call(FILE *out, const struct recorded *call, unsigned rank, unsigned ranks,
		     double t_s)
{
	fprintf(out, "{\"start_s\":%.9g,\"end_s\":%.9g,\"call\":", t_s, t_s + 1e-6);
	if (call->kind == 5)
		put_messages(out, call, rank, ranks, t_s);
	else if (call->kind == 6)
		fputs("\"cudaDeviceSynchronize\"}\n", out);
	else if (call->kind == 7)
		put_copy(out, call);
	else if (call->kind == 8 || call->kind == 9)
		fprintf(out, "\"%s\",\"stream\":%u,\"event\":1}\n",
			call->kind == 8 ? "cudaStreamWaitEvent" : "cudaEventRecord", call->stream);
	else if (call->kind > 9)
		fprintf(out, "\"cudaLaunchKernel\",\"stream\":%u,\"kernel_s\":%.9g}\n",
			call->stream, 1e-6 * call->size);
	else
		put_recorded_collective(out, call, rank, ranks);
}

static struct recorded take_call(struct bytes *bytes)
{
	struct recorded call = {.kind = take(bytes, 12)};
	call.stream = 7 + take(bytes, 2);
	call.size = take(bytes, 256);
	call.word = take(bytes, 256);
	call.skips = take(bytes, 64); /* the rank that leaves out the call; usually none */
	return call;
}

static void put_recording(FILE *out, struct bytes *bytes, struct arena *arena)
{
	unsigned ranks = take(bytes, 4) == 1 ? 3 : 2 * power(bytes, RANKS_MAX / 2);
	unsigned count = 1 + take(bytes, CALLS_MAX);
	struct recorded calls[CALLS_MAX];
	for (unsigned i = 0; i < count; i++)
		calls[i] = take_call(bytes);
	FILE *file = fuzz_create(arena, "calls.jsonl");
	for (unsigned rank = 0; rank < ranks; rank++) {
		fprintf(file,
			"{\"format\":\"farwire-calls\",\"version\":1,\"rank\":%u,\"ranks\":%u}\n",
			rank, ranks);
		for (unsigned i = 0; i < count; i++)
			if (calls[i].skips != rank + 1)
				put_call(file, &calls[i], rank, ranks, 1e-5 * i);
		fputs("{\"end\":true}\n", file);
	}
	FUZZ_CHECK(fclose(file) == 0);
	fprintf(out, " calls = \"calls.jsonl\"; gpus = %u; };\n",
		ranks + (rarely(bytes) ? ranks : 0));
}

/* ---- the case ---- */

static void put_machines(FILE *out, struct bytes *bytes)
{
	fprintf(out,
		"topology = { name = \"own\"; cluster = { machine = \"m\"; network = { kind = ");
	fprintf(out, "\"%s\";", PICK(bytes, "switch", "fat_tree", "rail_optimised", "torus"));
	fprintf(out, " link = { kind = \"%s\";", PICK(bytes, "ethernet", "infiniband", "roce"));
	fprintf(out, " bandwidth = \"%s\"; }; }; }; };\n",
		PICK(bytes, "10 Gbit/s", "1 MB/s", "1 TB/s"));
}

static const char *write_case(struct arena *arena, struct bytes *bytes)
{
	unsigned kind = take(bytes, 3);
	FILE *out = fuzz_create(arena, "own.cfg");
	put_machines(out, bytes);
	FUZZ_CHECK(fclose(out) == 0);
	out = fuzz_create(arena, "case.cfg");
	fprintf(out, "case = { topology = \"own.cfg\"; exchange = \"e\";");
	fprintf(out, " transport = \"%s\";", PICK(bytes, "auto", "tcp", "auto", "rdma"));
	if (kind != 1)
		fprintf(out, " steps = 1; steps_warmup = %u;", take(bytes, 2));
	if (kind == 0)
		put_training(out, bytes);
	else if (kind == 1)
		put_serving(out, bytes);
	else
		put_recording(out, bytes, arena);
	FUZZ_CHECK(fclose(out) == 0);
	return fuzz_path(arena, "case.cfg");
}

FUZZ_TARGET(data, size_B)
{
	struct bytes bytes = {data, data + size_B};
	struct arena *arena = arena_new();
	uint64_t seed = take(&bytes, 256);
	const char *path = write_case(arena, &bytes);
	random_world_run(arena, &bytes, path, seed, hash_bytes(HASH_START, data, size_B),
			 EVENTS_FEW);
	arena_free(arena);
}
