/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs on an artificial step, whose times can be computed by hand:
 *
 *   forward 10 ms, backward 4 ms (then tensor 0: 4 MB, update 1 ms) and 6 ms (then
 *   tensor 1: 8 MB, update 0.5 ms)
 *
 * Two GPUs are connected to a switch with 1 GB/s in each direction and no latency. A ring of two
 * ranks takes 2 (n - 1) / n S / B = S / B, so 4 ms and 8 ms, and 12 ms together.
 */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/engine/trace.h"
#include "sim/fabric/link.h"
#include "sim/workload/dp.h"
#include "tests/net.h"

#define MS 1e-3

enum { RANKS_MAX = 8, STEPS = 3, JOBS_MAX = 2 };
/* A kernel, a message and a delay are each rounded to a picosecond. */
static const int64_t SLACK_PS = 40;

/* The kernels of a step in the order in which the GPU runs them. The kernels of a segment start
 * when the thread has begun to issue it, and the last one when it has issued all of it. */
struct step_segment {
	const char *name;
	double compute_s;
	double host_s; /* work to issue the segment */
	double last_s; /* duration of its last kernel, which is part of compute_s */
	uint32_t tensor_first, tensor_count; /* tensors whose gradients are ready at its end */
};
struct step_profile {
	const struct step_segment *segments;
	size_t segment_count;
	const struct gradient *tensors;
	size_t tensor_count;
	double ops_count, begin_host_s; /* host work before the first segment is issued */
	bool ahead; /* the host issues the next step without waiting for the GPU */
	double images_count, element_B;
};

static const struct step_segment segments[] = {
	{.name = "forward", .compute_s = 10 * MS},
	{.name = "b", .compute_s = 4 * MS, .tensor_first = 0, .tensor_count = 1},
	{.name = "a", .compute_s = 6 * MS, .tensor_first = 1, .tensor_count = 1},
};
static const struct gradient tensors[] = {
	{.name = "b", .elements_count = 1e6, .update_s = 1 * MS},
	{.name = "a", .elements_count = 2e6, .update_s = 0.5 * MS},
};
static const struct step_profile hand_made = {
	.segments = segments,
	.segment_count = 3,
	.tensors = tensors,
	.tensor_count = 2,
	.images_count = 32,
	.element_B = 4,
};

struct job_world {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct host_params host_params;
	struct guest_params guest_params;
	struct gpu_params gpu_params;
	struct library_params library;
	struct exchange_params exchange;
	struct driver_params driver; /* calls cost nothing */
	const struct step_profile *profile;
	/* in place of the program of `profile`, if not NULL */
	const struct program *program;
	const struct gradients *gradients;
	size_t rank_count, job_count, step_count;
	uint32_t copies;                     /* ranks that each rank represents; 0: only itself */
	uint32_t first_more;                 /* ranks that the first rank represents in addition */
	size_t guest_count;                  /* guests, each with as many neighbouring ranks */
	size_t server_count;                 /* 0 or 1 server in host memory */
	double round_trip_s, slowdown_ratio; /* of the first rank only */
	uint64_t seed;
	bool traced;
	/* bytes of a batch, copied from pinned host memory at 2 GB/s; 0: no input */
	double input_B;
	double first_input_ratio; /* bytes of the first rank, divided by those of the others */
	bool across_machines;     /* the job counts as one on several machines */
	struct input_params input;
	struct dma_params dma;
	bool shared_wire; /* even and odd GPUs have separate switches, connected by one link */
	struct gpu *gpus[RANKS_MAX * JOBS_MAX];
	struct communicator *comm[JOBS_MAX];
	struct dp *job[JOBS_MAX];
	VEC(struct step_record) steps[JOBS_MAX];
};

static inline size_t policy_of(const char *name)
{
	for (size_t i = 0; i < exchange_policy_count(); i++)
		if (strcmp(exchange_policy_at(i)->name, name) == 0)
			return i;
	CHECK_TEXT("no such policy", name);
	return 0;
}

/* A library without latency or loss, whose kernels take no resources from others. */
static inline void free_library(struct job_world *b)
{
	net_presets(b->arena, &library_table, &b->library);
	b->library.algorithm = "ring";
	b->library.protocol = CHOOSE_SIMPLE;
	b->library.channels_count = 1;
	b->library.channel_net_s = 0;
	b->library.ring_search = false;
	b->library.latency_scale_ratio = 1e-30;
	b->library.nvlink_efficiency_ratio = 1;
	b->library.channel_bandwidth_Bps = 1e13;
	b->library.block_share_ratio = b->library.memory_traffic_ratio = 0;
}

static inline void setup(struct job_world *b, const char *policy)
{
	*b = (struct job_world){.arena = arena_new(),
				.profile = &hand_made,
				.rank_count = 2,
				.job_count = 1,
				.guest_count = 1,
				.step_count = STEPS,
				.slowdown_ratio = 1,
				.first_input_ratio = 1,
				.seed = 1};
	net_presets(b->arena, &host_table, &b->host_params);
	net_presets(b->arena, &guest_table, &b->guest_params);
	b->gpu_params = (struct gpu_params){.peer_access = true,
					    .fp32_flops = 1e12,
					    .memory_bandwidth_Bps = 100e9,
					    .memory_B = 16e9,
					    .memory_efficiency_ratio = 0.8,
					    .copy_engines_count = 2,
					    .queue_depth_count = 1024,
					    .concurrent_kernels_count = 128,
					    .multiprocessors_count = 5,
					    .slice_s = 2e-3};
	free_library(b);
	net_presets(b->arena, &input_table, &b->input);
	b->input.source = "host";
	b->input.staged = b->input.pinned = true;
	b->input.feed_s = 0;
	b->dma = (struct dma_params){.chunk_B = 1e6, .efficiency_ratio = 1};
	net_presets(b->arena, &exchange_table, &b->exchange);
	b->exchange.policy = (int)policy_of(policy);
	b->exchange.noise_ratio = b->exchange.launch_s = b->exchange.fusion_copy_ratio = 0;
	b->exchange.announce = ANNOUNCE_COMPUTED;
	b->exchange.cycle_late_s = b->exchange.copy_launch_s = b->exchange.callback_s = 0;
	b->exchange.negotiation_s = b->exchange.cached_negotiation_s = 0;
}

static inline void comm_failed(void *ctx, const char *reason)
{
	CHECK_TEXT(reason, "no failure");
}

struct job_steps { /* of one job */
	struct job_world *world;
	size_t index;
};

static inline struct job_steps *steps_of(struct job_world *b, size_t index)
{
	struct job_steps *steps = ARENA_NEW(b->arena, struct job_steps);
	*steps = (struct job_steps){b, index};
	return steps;
}

static inline bool step_done(void *ctx, const struct step_record *step)
{
	const struct job_steps *steps = ctx;
	struct job_world *b = steps->world;
	double parts_s = step->kernel_s + step->exposed_s + step->input_s + step->straggler_s +
			 step->other_s;
	CHECK_NEAR(parts_s, s_from_ps(step->end_ps - step->start_ps), 1e-12);
	CHECK(step->gpu_busy_s <= step->kernel_s * (1 + 1e-12));
	*VEC_PUSH(b->arena, &b->steps[steps->index]) = *step;
	return b->steps[steps->index].count < b->step_count;
}

static inline void build_wires(struct job_world *b)
{
	const struct link_traits wire = {.capacity_Bps = {1e9, 1e9}};
	const struct link_traits slot = {.capacity_Bps = {2e9, 2e9}};
	const struct link_traits wide = {.capacity_Bps = {1e15, 1e15}};
	int even = fabric_node_add(b->fabric, "even"), odd = even;
	if (b->shared_wire) {
		odd = fabric_node_add(b->fabric, "odd");
		fabric_link_add(b->fabric, "between", link_kind_find("nvlink"), even, odd, &wire);
	}
	for (size_t i = 0; i < b->rank_count * b->job_count; i++) {
		const char *name = arena_printf(b->arena, "gpu%zu", i);
		int node = fabric_node_add(b->fabric, name);
		fabric_link_add(b->fabric, arena_printf(b->arena, "port%zu", i),
				link_kind_find("nvlink"), node, i % 2 ? odd : even,
				b->shared_wire ? &wide : &wire);
		fabric_link_add(b->fabric, arena_printf(b->arena, "slot%zu", i),
				link_kind_find("pcie"), fabric_node_find(b->fabric, "host"), node,
				&slot);
		b->gpus[i] = gpu_new(b->arena, b->engine, b->fabric, name, node, &b->gpu_params);
	}
}

static inline struct input *build_input(struct job_world *b, struct gpu *gpu, struct guest *guest)
{
	double ratio = gpu == b->gpus[0] ? b->first_input_ratio : 1;
	const struct input_spec spec = {
		.arena = b->arena,
		.engine = b->engine,
		.fabric = b->fabric,
		.name = gpu_name(gpu),
		.params = &b->input,
		.guest = guest,
		.core = guest_core(guest),
		.dma = &b->dma,
		.to_device = fabric_route(b->fabric, guest_node(guest), gpu_node(gpu), TRAFFIC_ANY),
		.batch_count = b->profile->images_count,
		.batch_B = b->input_B * ratio};
	return b->input_B > 0 ? input_new(&spec) : NULL;
}

static inline const struct route *route_of(struct job_world *b, struct guest *guest,
					   struct gpu *gpu, bool to_device)
{
	int from = guest_node(guest), to = gpu_node(gpu);
	return fabric_route(b->fabric, to_device ? from : to, to_device ? to : from, TRAFFIC_ANY);
}

/* ---- the program of a step ---- */

struct step_writer {
	struct arena *arena;
	double work_ratio; /* time of host work in the guest */
	VEC(struct item) items;
};

static inline struct step_writer writer_new(const struct job_world *b)
{
	bool virtual = b->guest_params.kind == GUEST_VM;
	return (struct step_writer){
		.arena = b->arena,
		.work_ratio = virtual ? 1 + b->guest_params.work_cost_ratio : 1,
	};
}

static inline struct cuda_call *put_call(struct step_writer *w, enum call_kind kind)
{
	struct item *item = VEC_PUSH(w->arena, &w->items);
	*item = (struct item){.kind = ITEM_CALL, .call = {.kind = kind}};
	return &item->call;
}

static inline void put_kernels(struct step_writer *w, const struct step_segment *segment)
{
	struct cuda_call *launch = put_call(w, CALL_LAUNCH);
	launch->label = segment->name;
	launch->duration_s = segment->compute_s;
	if (segment->host_s <= 0)
		return;
	struct kernel_run *run = ARENA_NEW(w->arena, struct kernel_run);
	double behind_host_s =
		segment->host_s * w->work_ratio + segment->last_s - segment->compute_s;
	*run = (struct kernel_run){
		.host_s = segment->host_s,
		.all = {.kernels_s = segment->compute_s,
			.earliest_s = behind_host_s > 0 ? behind_host_s : 0,
			.count = 2},
		.but_last = {.kernels_s = segment->compute_s - segment->last_s, .count = 1}};
	launch->duration_s = segment->last_s;
	launch->run = run;
}

/* Returns the gradients that the program hands over. */
static inline const struct gradients *put_step(struct job_world *b, struct step_writer *w,
					       size_t all_count)
{
	const struct step_profile *profile = b->profile;
	bool held = dp_held_back(&b->exchange, all_count);
	struct gradients *gradients = ARENA_NEW(b->arena, struct gradients);
	struct hand_over *hand_overs =
		ARENA_ARRAY(b->arena, profile->segment_count + 1, struct hand_over);
	struct step_segment updates = {.name = "update"};
	*VEC_PUSH(w->arena, &w->items) = (struct item){.kind = ITEM_GATE};
	put_call(w, CALL_STEP_BEGIN);
	if (profile->begin_host_s > 0)
		*VEC_PUSH(w->arena, &w->items) =
			(struct item){.kind = ITEM_THINK, .work_s = profile->begin_host_s};
	*gradients = (struct gradients){.tensors = profile->tensors,
					.tensor_count = profile->tensor_count,
					.hand_overs = hand_overs,
					.ops_count = profile->ops_count};
	for (size_t i = 0; i < profile->segment_count; i++) {
		const struct step_segment *segment = &profile->segments[i];
		bool last = i + 1 == profile->segment_count;
		put_kernels(w, segment);
		if (held ? !last : segment->tensor_count == 0)
			continue;
		hand_overs[gradients->hand_over_count] =
			held ? (struct hand_over){0, (uint32_t)profile->tensor_count}
			     : (struct hand_over){segment->tensor_first, segment->tensor_count};
		put_call(w, CALL_GRADIENTS)->peer = (uint32_t)gradients->hand_over_count++;
	}
	if (dp_updates_in_stream(&b->exchange, all_count)) {
		put_call(w, CALL_REDUCED);
		for (size_t i = 0; i < profile->tensor_count; i++) {
			updates.compute_s += profile->tensors[i].update_s;
			updates.host_s += profile->tensors[i].update_host_s;
			updates.last_s = profile->tensors[i].update_s;
		}
		put_kernels(w, &updates);
	}
	put_call(w, CALL_STEP_END);
	return gradients;
}

static inline const struct program *copy_program(struct job_world *b, const struct program *program)
{
	struct program *copy = ARENA_NEW(b->arena, struct program);
	struct call_thread *thread = ARENA_NEW(b->arena, struct call_thread);
	*thread = program->threads[0];
	*copy = *program;
	copy->threads = thread;
	return copy;
}

static inline struct dp_rank build_rank(struct job_world *b, const char *name, struct gpu *gpu,
					struct guest *guest, double slowdown_ratio)
{
	return (struct dp_rank){.context = gpu_context_new(gpu, name, 1),
				.gpu = gpu,
				.guest = guest,
				.to_device = route_of(b, guest, gpu, true),
				.to_host = route_of(b, guest, gpu, false),
				.input = build_input(b, gpu, guest),
				.slowdown_ratio = slowdown_ratio};
}

static inline void build_job(struct job_world *b, size_t index, struct guest *const *guests)
{
	const char *name = arena_printf(b->arena, "job%zu", index);
	struct comm_rank places[RANKS_MAX + 1] = {0};
	struct dp_rank ranks[RANKS_MAX] = {0};
	uint32_t *copies = ARENA_ARRAY(b->arena, b->rank_count, uint32_t);
	for (size_t i = 0; i < b->rank_count; i++) {
		struct guest *guest = guests[i * b->guest_count / b->rank_count];
		copies[i] = b->copies + (i == 0 ? b->first_more : 0);
		struct gpu *gpu = b->gpus[index * b->rank_count + i];
		places[i] = (struct comm_rank){.gpu = gpu, .guest = guest};
		ranks[i] = build_rank(b, name, gpu, guest, i ? 1 : b->slowdown_ratio);
	}
	places[b->rank_count].guest = guests[0];
	const struct communicator_spec comm = {.arena = b->arena,
					       .engine = b->engine,
					       .fabric = b->fabric,
					       .name = name,
					       .library = &b->library,
					       .ranks = places,
					       .rank_count = b->rank_count,
					       .server_count = b->server_count,
					       .seed = b->seed,
					       .failed = comm_failed};
	b->comm[index] = b->rank_count > 1 ? communicator_new(&comm) : NULL;
	size_t all_count = b->rank_count * (b->copies > 0 ? b->copies : 1) + b->first_more;
	struct step_writer writer = writer_new(b);
	const struct gradients *gradients = put_step(b, &writer, all_count);
	const struct call_thread thread = {"main", writer.items.items, writer.items.count};
	const struct program program = {.threads = &thread, .thread_count = 1, .stream_count = 1};
	const struct exchange_host host = {.arena = b->arena,
					   .engine = b->engine,
					   .params = &b->exchange,
					   .gradients = b->gradients ? b->gradients : gradients,
					   .element_B = b->profile->element_B,
					   .comm = b->comm[index],
					   .rank_count = b->rank_count,
					   .copies = b->copies > 0 ? copies : NULL,
					   .all_count = all_count,
					   .network_round_trip_s = b->round_trip_s};
	const struct dp_spec spec = {.host = host,
				     .fabric = b->fabric,
				     .name = name,
				     .program = b->program ? b->program : copy_program(b, &program),
				     .ahead = b->profile->ahead,
				     .driver = &b->driver,
				     .dma = &b->dma,
				     .ranks = ranks,
				     .seed = b->seed,
				     .across_machines = b->across_machines,
				     .step_done = step_done,
				     .ctx = steps_of(b, index)};
	b->job[index] = dp_new(&spec);
	dp_start(b->job[index]);
}

static inline void run(struct job_world *b)
{
	b->engine = engine_new(b->arena, &(struct engine_limits){0});
	if (b->traced)
		engine_trace_set(b->engine, trace_new(b->arena));
	b->fabric = fabric_new(b->arena, b->engine);
	struct host *host = host_new(b->arena, b->engine, b->fabric, "host", &b->host_params);
	struct guest *guests[RANKS_MAX];
	for (size_t i = 0; i < b->guest_count; i++)
		guests[i] = guest_new(host, i ? arena_printf(b->arena, "os%zu", i) : "os",
				      fabric_node_find(b->fabric, "host"), &b->guest_params);
	build_wires(b);
	for (size_t i = 0; i < b->job_count; i++)
		build_job(b, i, guests);
	CHECK(engine_run(b->engine) == ENGINE_DRAINED);
	for (size_t i = 0; i < b->job_count; i++)
		CHECK(b->steps[i].count == b->step_count);
}

static inline void release(struct job_world *b)
{
	arena_free(b->arena);
}

static inline const struct step_record *step_of(const struct job_world *b, size_t index)
{
	return &b->steps[0].items[index];
}

static inline double step_ms(const struct job_world *b, size_t index)
{
	return s_from_ps(step_of(b, index)->end_ps - step_of(b, index)->start_ps) / MS;
}

static inline void check_step(const struct job_world *b, size_t index, double ms)
{
	const struct step_record *step = step_of(b, index);
	double off_ps = (double)(step->end_ps - step->start_ps) - ms * 1e9;
	if (!CHECK(fabs(off_ps) <= (double)SLACK_PS))
		printf("    step %zu took %.12g ms, not %.12g\n", index, step_ms(b, index), ms);
}
