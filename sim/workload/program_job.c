/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/program_job.h"
#include "sim/workload/group.h"
#include "sim/workload/player.h"

/* Minimum number of losses for a mean: one round of the loss process (sim/transport/loss.h). */
enum { LOSSES_TO_SETTLE = 16 };

struct program_job;

struct device { /* a GPU of a rank */
	struct program_job *job;
	struct gpu_context *context;
	struct cuda_process *process;
	struct remote_client *remote;  /* NULL: local */
	struct remote_counters before; /* counters when the window opened */
	bool over_wire;                /* the server is in another guest than the rank */
};

struct program_place {
	struct program_job *job;
	const struct program_rank *place;
	struct device *devices;
	size_t device_count;
	struct player *player;
};

struct program_job {
	struct job job; /* must be first, because functions cast a job to this struct */
	struct program_job_spec spec;
	struct program_place *ranks;
	struct group *group; /* NULL: no collectives and messages */
	struct device *devices;
	size_t device_count;            /* number of devices of all ranks */
	size_t connecting_count;        /* devices whose connections are not open yet */
	struct remote_counters ends[2]; /* at the ends of a single rank's last two steps */
};

static struct program_job *program_job(const struct job *job)
{
	return (struct program_job *)job;
}

/* ---- functions of the job kind ---- */

static struct remote_counters counters_of(const struct program_job *p)
{
	struct remote_counters sum = {0};
	for (size_t i = 0; i < p->device_count; i++) {
		if (!p->devices[i].remote)
			continue;
		struct remote_counters one = remote_counters(p->devices[i].remote);
		for (int k = 0; k < CLASS_COUNT; k++)
			sum.calls_count[k] += one.calls_count[k];
		sum.answered_count += one.answered_count;
		sum.sent_count += one.sent_count;
		sum.messages_count += one.messages_count;
		sum.waited_s += one.waited_s;
		sum.sent_B += one.sent_B;
		sum.received_B += one.received_B;
		sum.losses_count += one.losses_count;
		sum.timeouts_count += one.timeouts_count;
		sum.stalled_s += one.stalled_s;
	}
	return sum;
}

static bool may_lose(const struct job *job)
{
	const struct program_job *p = program_job(job);
	bool over_wire = p->group != NULL;
	for (size_t i = 0; i < p->device_count; i++)
		over_wire = over_wire || p->devices[i].over_wire;
	return job->workload->lossy && over_wire;
}

/* Returns true if there were too few losses for a mean. */
static bool too_few_losses(const struct job *job, size_t step_count)
{
	return may_lose(job) && counters_of(program_job(job)).losses_count < LOSSES_TO_SETTLE;
}

static void window_opened(struct job *job)
{
	struct program_job *p = program_job(job);
	for (size_t i = 0; i < p->device_count; i++)
		if (p->devices[i].remote)
			p->devices[i].before = remote_counters(p->devices[i].remote);
}

static void pause_ranks(struct job *job, int64_t pause_ps)
{
	struct program_job *p = program_job(job);
	if (p->spec.rank_count == 1)
		player_pause(p->ranks[0].player, pause_ps);
}

static const char *waiting(const struct job *job, struct arena *arena)
{
	const struct program_job *p = program_job(job);
	const struct program_place *last = &p->ranks[0];
	for (size_t i = 1; i < p->spec.rank_count; i++)
		if (player_step_count(p->ranks[i].player) < player_step_count(last->player))
			last = &p->ranks[i];
	const char *text = player_waiting(last->player, arena);
	if (p->spec.rank_count > 1)
		text = arena_printf(arena, "rank %zu, %s", (size_t)(last - p->ranks), text);
	for (size_t i = 0; i < last->device_count; i++)
		if (last->devices[i].remote)
			text = arena_printf(arena, "%s; %s", text,
					    remote_waiting(last->devices[i].remote, arena));
	return p->group ? arena_printf(arena, "%s; %s", text, group_waiting(p->group, arena))
			: text;
}

/* Fails the job if calls wait in a batch that no further call fills. That happens without a limit
 * to the age of batched calls. Recorded ranks can also wait for each other, as real ones would,
 * because their collectives and messages come from files. */
static bool waits_forever(struct job *job)
{
	struct program_job *p = program_job(job);
	size_t batched_count = 0;
	for (size_t i = 0; i < p->device_count; i++)
		if (p->devices[i].remote)
			batched_count += remote_batched_count(p->devices[i].remote);
	if (batched_count > 0)
		job_failed(job, arena_printf(job->workload->arena,
					     "%zu calls wait forever in a batch that is not full "
					     "(set runtime.batch_wait above 0)",
					     batched_count));
	else if (p->spec.recorded && p->group)
		job_failed(job, arena_printf(job->workload->arena,
					     "the recorded ranks wait for each other forever: %s "
					     "(record the same step of all ranks)",
					     waiting(job, job->workload->arena)));
	return job->run->failed;
}

static const struct rank_times *read_times(const struct program_job *p)
{
	const struct job_run *run = p->job.run;
	struct rank_times *times =
		ARENA_ARRAY(p->job.workload->arena, p->spec.rank_count, struct rank_times);
	for (size_t i = 0; i < p->spec.rank_count; i++)
		for (size_t s = 0; s < run->steady_count; s++) {
			const struct step_record *step =
				player_step_at(p->ranks[i].player, run->steady_first + s);
			if (!step->gpu_ps)
				return NULL;
			for (int k = 0; k < GPU_TIME_COUNT; k++)
				times[i].ps[k] += step->gpu_ps[k];
			int wait = times[i].ps[GPU_BUBBLE] > 0 ? GPU_BUBBLE : GPU_STRAGGLER;
			if (workload_does_one_step(p->job.workload))
				times[i].ps[wait] += run->steps[0].end_ps - step->end_ps;
		}
	if (!p->spec.comm.fold)
		return times;
	size_t count = p->spec.comm.fold->rank_count;
	struct rank_times *all = ARENA_ARRAY(p->job.workload->arena, count, struct rank_times);
	for (size_t i = 0; i < count; i++)
		all[i] = times[fold_stand_in(p->spec.comm.fold, i)];
	return all;
}

static void read_job(struct job *job)
{
	struct program_job *p = program_job(job);
	struct job_run *run = job->run;
	run->remote = counters_of(p);
	if (p->spec.rank_count == 1 && p->devices[0].remote)
		run->forwarded = remote_step(p->devices[0].remote, &p->ends[0], &p->ends[1]);
	for (size_t i = 0; i < p->device_count; i++) {
		const struct device *device = &p->devices[i];
		if (!device->remote)
			continue;
		struct remote_counters now = remote_counters(device->remote);
		run->window_stalled_s += now.stalled_s - device->before.stalled_s;
		run->window_timeouts_count += now.timeouts_count - device->before.timeouts_count;
		for (int k = 0; k < CALL_KIND_COUNT; k++) {
			struct kind_counters *kind = &run->window_kinds[k];
			const struct kind_counters *before = &device->before.kinds[k];
			kind->calls_count += now.kinds[k].calls_count - before->calls_count;
			kind->waited_s += now.kinds[k].waited_s - before->waited_s;
			kind->served_s += now.kinds[k].served_s - before->served_s;
		}
	}
	if (!run->failed)
		run->rank_times = read_times(p);
	if (p->group)
		run->comm = group_counters(p->group);
}

static void account(struct job *job)
{
	struct program_job *p = program_job(job);
	for (size_t i = 0; i < p->device_count; i++)
		if (p->devices[i].remote)
			remote_account(p->devices[i].remote);
	if (p->group)
		group_account(p->group);
}

static const struct job_kind kind = {
	.waiting = waiting,
	.varies = may_lose,
	.in_doubt = too_few_losses,
	.read = read_job,
	.account = account,
	.window_opened = window_opened,
	.pause = pause_ranks,
	.drained = waits_forever,
	.repeats_ratio = 1e-4,
	.repeats_early = true,
	.settled_ratio = 0.004,
	.settled_events = INFINITY,
};

/* ---- steps ---- */

/* Adds the step of a rank that represents `count` ranks of all_count. */
static void add_step(struct step_record *sum, const struct step_record *one, uint32_t count,
		     double all_count)
{
	double share = count / all_count;
	sum->gpu_busy_s += one->gpu_busy_s * share;
	sum->exposed_s += one->exposed_s * share;
	for (int k = 0; k < TIME_KIND_COUNT; k++) {
		sum->thread_s[k] += one->thread_s[k] * share;
		sum->gpu_idle_s[k] += one->gpu_idle_s[k] * share;
	}
	sum->calls_count += one->calls_count * count;
	sum->polls_count += one->polls_count * count;
	sum->work_ps += one->work_ps * count;
}

static uint32_t count_of(const struct program_job *p, size_t rank)
{
	return p->spec.comm.fold ? fold_count(p->spec.comm.fold, rank) : 1;
}

/* Returns a step that all ranks have ended. Means come from small differences to the first rank. */
static struct step_record mean_step(const struct program_job *p, size_t index)
{
	size_t all = p->spec.comm.fold ? p->spec.comm.fold->rank_count : p->spec.rank_count;
	double start_ps = 0, end_ps = 0, last_ps = 0;
	FW_ASSERT(all > 0);
	const struct step_record *first = player_step_at(p->ranks[0].player, index);
	struct step_record sum = {0};
	for (size_t i = 0; i < p->spec.rank_count; i++) {
		const struct step_record *one = player_step_at(p->ranks[i].player, index);
		uint32_t count = count_of(p, i);
		add_step(&sum, one, count, (double)all);
		start_ps += (double)(one->start_ps - first->start_ps) * count;
		end_ps += (double)(one->end_ps - first->end_ps) * count;
		last_ps = fmax(last_ps, (double)(one->end_ps - first->end_ps));
	}
	sum.start_ps = first->start_ps + (int64_t)(start_ps / (double)all);
	bool only = first->gpu_ps && workload_does_one_step(p->job.workload);
	sum.end_ps = first->end_ps + (int64_t)(only ? last_ps : end_ps / (double)all);
	sum.mark_ps = sum.end_ps;
	return sum;
}

static bool step_done(void *ctx, struct player *player, const struct step_record *record)
{
	struct program_job *p = ((struct program_place *)ctx)->job;
	struct job *job = &p->job;
	if (p->spec.rank_count == 1) {
		p->ends[0] = p->ends[1];
		p->ends[1] = counters_of(p);
		return job_step_over(job, record);
	}
	size_t ended = player_step_count(player);
	for (size_t i = 0; i < p->spec.rank_count; i++)
		if (player_step_count(p->ranks[i].player) < ended)
			return !workload_is_over(job->workload);
	const struct step_record mean = mean_step(p, ended - 1);
	return job_step_over(job, &mean);
}

static void start_players(void *ctx, uint64_t arg)
{
	struct program_job *p = ctx;
	struct job *job = &p->job;
	job->run->connect_s = s_from_ps(engine_now_ps(job->workload->engine));
	for (size_t i = 0; i < p->spec.rank_count; i++)
		player_start(p->ranks[i].player);
	if (job->workload->limits.program_count == 1 && job->workload->warmup_count < 1)
		job_warm(job);
}

static void connected(void *ctx, uint64_t arg)
{
	struct program_job *p = ctx;
	if (--p->connecting_count > 0)
		return;
	if (p->group)
		group_open(p->group, start_players, p, 0);
	else
		start_players(p, 0);
}

static void connect(struct program_job *p)
{
	for (size_t i = 0; i < p->device_count; i++)
		p->connecting_count += p->devices[i].remote != NULL;
	if (p->connecting_count == 0) {
		p->connecting_count = 1;
		engine_after(p->job.workload->engine, 0, connected, p, 0);
		return;
	}
	for (size_t i = 0; i < p->device_count; i++)
		if (p->devices[i].remote)
			remote_connect(p->devices[i].remote, connected, p, 0);
}

/* ---- building ---- */

static double work_of_call(const struct cuda_call *call)
{
	double work_ps = (double)ps_from_s(call->duration_s);
	return call->run ? work_ps + (double)ps_from_s(call->run->but_last.kernels_s) : work_ps;
}

/* Returns the sum of the durations of the program's kernels. */
static double work_of(const struct program *program)
{
	double work_ps = 0;
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			if (program->threads[t].items[i].kind == ITEM_CALL)
				work_ps += work_of_call(&program->threads[t].items[i].call);
	return work_ps;
}

static bool take_memory(struct program_job *p, struct device *device, const struct program *program,
			const struct program_gpu *place)
{
	struct workload *w = p->job.workload;
	if (gpu_memory_take(device->context, program->memory_B))
		return true;
	job_failed(&p->job,
		   arena_printf(w->arena,
				"out of GPU memory: %s needs %.2f GB, GPU '%s' has %.2f GB%s%s%s",
				p->spec.what, program->memory_B / 1e9, gpu_name(place->gpu),
				gpu_params(place->gpu)->memory_B * p->spec.memory_ratio / 1e9,
				w->limits.program_count > 1 ? " for it and its neighbours" : "",
				p->spec.advice ? ": " : "", p->spec.advice ? p->spec.advice : ""));
	return false;
}

/* Returns a hint about a frequent cause of a missing route, a guest without a link, or "". */
static const char *unlinked(const struct program_job *p, const struct guest *client,
			    const struct guest *server)
{
	const struct guest *const ends[] = {client, server};
	for (size_t e = 0; e < 2; e++) {
		bool linked = false;
		for (size_t i = 0; i < fabric_link_count(p->spec.comm.fabric); i++) {
			int nodes[2];
			fabric_link_nodes(p->spec.comm.fabric, (int)i, &nodes[0], &nodes[1]);
			linked = linked || nodes[0] == guest_node(ends[e]) ||
				 nodes[1] == guest_node(ends[e]);
		}
		if (!linked)
			return arena_printf(p->job.workload->arena,
					    " (no link ends at guest '%s'; connect the network to "
					    "guests, not to their hosts)",
					    guest_name(ends[e]));
	}
	return fabric_route_hint(p->spec.comm.fabric);
}

/* Returns true if the rank holds GPUs in other guests. */
static bool holds_far(const struct program_place *rank)
{
	size_t far = 0;
	for (size_t i = 0; i < rank->device_count; i++)
		far += rank->place->gpus[i].server != rank->place->guest;
	return far > 0;
}

/* Returns the name of the job, with the number of the GPU if it has several. */
static const char *name_of(const struct program_job *p, const struct device *device)
{
	return p->device_count == 1 ? p->job.name
				    : arena_printf(p->job.workload->arena, "%s.%zu", p->job.name,
						   (size_t)(device - p->devices));
}

static struct cuda_port *build_port(struct program_job *p, const struct program_place *rank,
				    struct device *device, const struct program_gpu *place)
{
	struct workload *w = p->job.workload;
	/* A rank with remote GPUs uses the local driver for those of its own guest. If all its GPUs
	 * are in its own guest, the runtime forwards their calls within the guest, as the case
	 * asks. */
	bool own = rank->place->guest == place->server && holds_far(rank);
	if (!p->spec.runtime || own)
		return cuda_process_port(device->process);
	const struct remote_spec spec = {
		.arena = w->arena,
		.engine = w->engine,
		.fabric = p->spec.comm.fabric,
		.name = name_of(p, device),
		.params = p->spec.runtime,
		.transport = p->spec.comm.transport,
		.transport_params = p->spec.comm.transport_params,
		.client = rank->place->guest,
		.server = place->server,
		.process = device->process,
		.seed = w->seed,
		.failed = job_failed,
		.failed_ctx = &p->job,
	};
	device->over_wire = rank->place->guest != place->server;
	device->remote = remote_client_new(&spec);
	if (device->remote)
		return remote_port(device->remote);
	job_failed(&p->job, arena_printf(w->arena, "no route from '%s' to '%s' for %s%s",
					 guest_name(rank->place->guest), guest_name(place->server),
					 p->spec.comm.transport->name,
					 unlinked(p, rank->place->guest, place->server)));
	return NULL;
}

static bool build_process(struct program_job *p, const struct program_place *rank,
			  struct device *device, const struct program_gpu *place)
{
	struct workload *w = p->job.workload;
	const struct program *program = rank->place->program;
	const struct cuda_process_spec spec = {
		.arena = w->arena,
		.engine = w->engine,
		.fabric = p->spec.comm.fabric,
		.context = device->context,
		.guest = place->server,
		.driver = p->spec.driver,
		.guest_work = p->spec.guest_work,
		.dma = p->spec.dma,
		.stream_count = program->stream_count,
		.event_count = program->event_count,
		.to_device = place->to_device,
		.to_host = place->to_host,
		.peers = p->group ? group_peers(p->group) : NULL,
		.member = (size_t)(device - p->devices),
		.renames = program->renames,
		.role = program->role,
	};
	if (spec.to_device && spec.to_host) {
		device->process = cuda_process_new(&spec);
		return true;
	}
	job_failed(&p->job, arena_printf(w->arena, "no route from host '%s' to GPU '%s'%s",
					 host_name(guest_host(place->server)), gpu_name(place->gpu),
					 fabric_route_hint(p->spec.comm.fabric)));
	return false;
}

/* Creates the processes of a rank and their port. Returns NULL if the job has failed. */
static struct cuda_port *build_devices(struct program_job *p, struct program_place *rank)
{
	struct workload *w = p->job.workload;
	struct cuda_port **ports = ARENA_ARRAY(w->arena, rank->device_count, struct cuda_port *);
	for (size_t i = 0; i < rank->device_count; i++) {
		struct device *device = &rank->devices[i];
		const struct program_gpu *place = &rank->place->gpus[i];
		device->job = p;
		device->context =
			gpu_context_new(place->gpu, name_of(p, device), p->spec.fraction_ratio);
		gpu_context_memory_set(device->context, p->spec.memory_ratio);
		if (!take_memory(p, device, rank->place->program, place) ||
		    !build_process(p, rank, device, place))
			return NULL;
		ports[i] = build_port(p, rank, device, place);
		if (!ports[i])
			return NULL;
	}
	return device_ports_join(w->arena, ports, rank->device_count);
}

static bool build_rank(struct program_job *p, struct program_place *rank)
{
	struct workload *w = p->job.workload;
	struct cuda_port *port = build_devices(p, rank);
	if (!port)
		return false;
	struct cuda_process **processes =
		ARENA_ARRAY(w->arena, rank->device_count, struct cuda_process *);
	for (size_t i = 0; i < rank->device_count; i++)
		processes[i] = rank->devices[i].process;
	const char *name = p->job.name;
	if (p->spec.rank_count > 1)
		name = arena_printf(w->arena, "%s rank %zu", name, (size_t)(rank - p->ranks));
	const struct player_spec spec = {
		.arena = w->arena,
		.engine = w->engine,
		.name = name,
		.program = rank->place->program,
		.port = port,
		.guest = rank->place->guest,
		.guest_work = p->spec.guest_work,
		.processes = processes,
		.device_count = rank->device_count,
		.step_done = step_done,
		.ctx = rank,
	};
	rank->player = player_new(&spec);
	return true;
}

/* Returns 0 if the program has no all-reduce. */
static double largest_all_reduce_B(const struct program *program)
{
	double largest_B = 0;
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++) {
			const struct cuda_call *call = &program->threads[t].items[i].call;
			if (program->threads[t].items[i].kind == ITEM_CALL &&
			    call->kind == CALL_ALL_REDUCE)
				largest_B = fmax(largest_B, call->payload_B);
		}
	return largest_B;
}

static bool build_group(struct program_job *p)
{
	struct workload *w = p->job.workload;
	struct comm_rank *members = ARENA_ARRAY(w->arena, p->device_count, struct comm_rank);
	size_t *firsts = ARENA_ARRAY(w->arena, p->spec.rank_count, size_t), count = 0;
	const struct program **programs =
		ARENA_ARRAY(w->arena, p->spec.rank_count, const struct program *);
	for (size_t i = 0; i < p->spec.rank_count; i++) {
		const struct program_rank *rank = &p->spec.ranks[i];
		firsts[i] = count;
		programs[i] = rank->program;
		for (size_t k = 0; k < p->ranks[i].device_count; k++)
			members[count++] = (struct comm_rank){.gpu = rank->gpus[k].gpu,
							      .guest = rank->gpus[k].server};
	}
	struct group_spec spec = {
		.comm = p->spec.comm,
		.programs = programs,
		.program_count = p->spec.rank_count,
		.first_members = firsts,
		.groups = p->spec.groups,
		.group_count = p->spec.group_count,
	};
	spec.comm.ranks = members;
	spec.comm.rank_count = count;
	spec.comm.seed = w->seed;
	spec.comm.failed = job_failed;
	spec.comm.failed_ctx = &p->job;
	p->group = group_new(&spec);
	if (!p->group)
		return false;
	p->job.run->choice = group_choice_text(p->group, largest_all_reduce_B(programs[0]));
	return true;
}

static void build(struct program_job *p)
{
	if (p->spec.refused) {
		job_failed(&p->job, p->spec.refused);
		return;
	}
	if (p->spec.comm.library && !build_group(p))
		return;
	for (size_t i = 0; i < p->spec.rank_count; i++)
		if (!build_rank(p, &p->ranks[i]))
			return;
	connect(p);
}

struct job *program_job_new(struct workload *w, struct job_run *run,
			    const struct program_job_spec *spec)
{
	struct program_job *p = ARENA_NEW(w->arena, struct program_job);
	job_init(&p->job, w, &kind, spec->comm.name, run);
	p->spec = *spec;
	if (!(spec->memory_ratio > 0))
		p->spec.memory_ratio = spec->fraction_ratio;
	p->ranks = ARENA_ARRAY(w->arena, spec->rank_count, struct program_place);
	for (size_t i = 0; i < spec->rank_count; i++) {
		p->device_count += program_device_count(spec->ranks[i].program);
		p->job.work_ps += work_of(spec->ranks[i].program) * count_of(p, i);
	}
	p->devices = ARENA_ARRAY(w->arena, p->device_count, struct device);
	size_t next = 0;
	for (size_t i = 0; i < spec->rank_count; i++) {
		size_t count = program_device_count(spec->ranks[i].program);
		p->ranks[i] = (struct program_place){.job = p,
						     .place = &spec->ranks[i],
						     .devices = &p->devices[next],
						     .device_count = count};
		next += count;
	}
	build(p);
	return &p->job;
}
