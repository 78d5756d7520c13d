/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts programs that were forwarded to a second process (probe_stream.c) from the fitted
 * parameters. No fit uses these programs, so their errors
 * judge the whole calibration. The simulated system is two bare hosts and a link with the
 * latency and bandwidth that the forwarder added. */
#pragma once

#include "calib/fit/calibration.h"
#include "sim/predict/predict.h"

/* One measured point of the test, and its prediction. */
struct stream {
	const char *program, *mode;
	double kernel_s, latency_s, rate_Bps, copied_B;
	double measured_s, error_ratio;
	struct estimate predicted;
};
struct streams {
	struct stream *items;            /* by program, kernel, latency, rate and mode */
	size_t count;                    /* 0: the recording has none */
	double median_ratio, most_ratio; /* absolute errors */
};

enum { STEPS = 3, SETTINGS_MAX = 64 };

/* ---- the programs, as tests/forwarding/probe_stream.c has them ---- */

struct played {
	struct arena *arena;
	VEC(struct recorded_call) calls;
	double kernel_s, floor_s, t_s;
	bool waits; /* each call for its answer; else copies from the GPU alone */
};

static struct recorded_call *add(struct played *p, const char *function)
{
	struct recorded_call *call = VEC_PUSH(p->arena, &p->calls);
	*call = (struct recorded_call){.start_s = p->t_s,
				       .end_s = p->t_s,
				       .gpu_s = -1,
				       .function = function,
				       .stream = 7,
				       .event = -1};
	p->t_s += 1e-9; /* calls are 1 ns apart */
	return call;
}

static void launches(struct played *p, size_t count, double part)
{
	for (size_t i = 0; i < count; i++)
		add(p, "cudaLaunchKernel")->gpu_s = part * p->kernel_s + p->floor_s;
}

static void copy(struct played *p, enum recorded_copy way, double size_B)
{
	bool waits = p->waits || way == COPY_D2H;
	struct recorded_call *call = add(p, waits ? "cudaMemcpy" : "cudaMemcpyAsync");
	call->copy = (uint8_t)way;
	call->memory = MEMORY_PINNED;
	call->size_B = size_B;
}

/* Adds the calls of one step of the program. Returns false if there is no program of that name. */
static bool step_of(struct played *p, const char *name)
{
	if (strcmp(name, "launches") == 0) {
		launches(p, 200, 1);
		add(p, "cudaStreamSynchronize");
		return true;
	}
	if (strcmp(name, "pipeline") == 0) {
		for (int i = 0; i < 8; i++) {
			copy(p, COPY_H2D, 1 << 20);
			launches(p, 1, 1);
			copy(p, COPY_D2H, 256 << 10);
		}
		return true;
	}
	if (strcmp(name, "training") != 0)
		return false;
	copy(p, COPY_H2D, 4 << 20);
	launches(p, 60, 1);
	launches(p, 20, 0.1);
	copy(p, COPY_D2H, 4);
	add(p, "cudaStreamSynchronize");
	return true;
}

static const struct recorded_calls *program_of(const char *name, struct played p)
{
	struct arena *arena = p.arena;
	struct recorded_calls *recorded = ARENA_NEW(arena, struct recorded_calls);
	recorded->marks = ARENA_ARRAY(arena, STEPS + 1, struct recorded_mark);
	for (uint32_t step = 0; step <= STEPS; step++) {
		recorded->marks[recorded->mark_count++] = (struct recorded_mark){p.t_s, step, 0};
		p.t_s += 1e-9;
		if (step < STEPS && !step_of(&p, name))
			return NULL;
	}
	recorded->tool = recorded->gpu = "";
	recorded->calls = p.calls.items;
	recorded->call_count = p.calls.count;
	recorded->thread_count = 1;
	return recorded;
}

/* ---- predicting ---- */

struct predicting {
	struct arena *arena;
	struct diag *diag;
	const struct calibration *calibration;
	const char *data_root;
	uint64_t seed;
	double floor_s, way_s; /* duration of an empty kernel; transport time of a message */
	struct setting settings[SETTINGS_MAX];
	size_t count;
};

static void set(struct predicting *p, const char *text)
{
	if (p->count < SETTINGS_MAX)
		p->settings[p->count++] = (struct setting){text, {"calibrate", 0}};
}

/* Sets the fitted parameters that such a run uses. Stars in paths match every GPU and guest. */
static void set_parameters(struct predicting *p)
{
	static const char *const used[] = {"driver.", "gpu.", "dma.", "runtime.", "guest."};
	struct arena *arena = p->arena;
	for (size_t i = 0; i < p->calibration->parameters.count; i++) {
		const struct calibrated *c = &p->calibration->parameters.items[i];
		const char *path = c->path, *key = strrchr(path, '.');
		size_t k = 0;
		while (k < sizeof used / sizeof used[0] &&
		       strncmp(path, used[k], strlen(used[k])) != 0)
			k++;
		if (k == sizeof used / sizeof used[0])
			continue;
		if (strncmp(path, "gpu.", 4) == 0)
			path = arena_printf(arena, "gpu.*%s", key);
		if (strcmp(path, "gpu.*.kernel_floor") == 0)
			p->floor_s = c->value.value;
		if (strcmp(path, "guest.*.send") == 0 || strcmp(path, "guest.*.receive") == 0 ||
		    strcmp(path, "guest.*.thread_wake") == 0)
			p->way_s += c->value.value;
		set(p, arena_printf(arena, "%s=%.9g %s", path, c->value.value,
				    quantity_unit(c->quantity)));
	}
}

static bool read_stream(const struct recording_point *point, struct stream *stream)
{
	const char *place = recording_point_word(point, "place");
	*stream = (struct stream){
		.program = recording_point_word(point, "program"),
		.mode = recording_point_word(point, "mode"),
		.kernel_s = recording_point_number(point, "kernel_s", 0),
		.latency_s = recording_point_number(point, "latency_s", 0),
		.rate_Bps = recording_point_number(point, "rate_Bps", 0),
		.measured_s = point->value,
	};
	return stream->program && stream->mode && place && strcmp(place, "forwarded") == 0 &&
	       stream->measured_s > 0;
}

static void set_stream(struct predicting *p, const struct stream *stream)
{
	struct arena *arena = p->arena;
	/* the names are those of files in models/runtimes */
	set(p, arena_printf(arena, "case.runtime=%s",
			    strcmp(stream->mode, "sync") == 0    ? "synchronous"
			    : strcmp(stream->mode, "async") == 0 ? "asynchronous"
								 : "batched"));
	/* the forwarder's delivery time includes the transport time of the message */
	set(p,
	    arena_printf(arena, "link.wire.latency=%.9g s", fmax(stream->latency_s - p->way_s, 0)));
	if (stream->rate_Bps > 0)
		set(p, arena_printf(arena, "link.wire.bandwidth=%.9g B/s", stream->rate_Bps));
}

static bool predict_stream(struct predicting *p, struct stream *stream)
{
	struct arena *arena = p->arena;
	const char *broken;
	size_t kept = p->count;
	set_stream(p, stream);
	const struct recorded_calls *calls =
		program_of(stream->program, (struct played){
						    .arena = arena,
						    .kernel_s = stream->kernel_s,
						    .floor_s = p->floor_s,
						    .waits = strcmp(stream->mode, "sync") == 0,
					    });
	const struct case_request request = {.settings = p->settings,
					     .setting_count = p->count,
					     .data_root = p->data_root,
					     .calls = calls};
	const struct predict_options options = {.seed = p->seed, .jobs = 1};
	const struct prediction *prediction =
		calls ? predict_case(arena, p->diag, &request, &options, &broken) : NULL;
	p->count = kept;
	if (!prediction || !prediction->ok)
		return false;
	for (size_t i = 0; i < calls->call_count; i++)
		stream->copied_B += calls->calls[i].size_B / STEPS;
	stream->predicted = prediction->step_s;
	stream->error_ratio = prediction->step_s.value / stream->measured_s - 1;
	return true;
}

static void set_all(struct predicting *p)
{
	const struct calibration *calibration = p->calibration;
	struct arena *arena = p->arena;
	set(p, arena_printf(arena, "case.topology=%s/calib/measured/recorded/streams.cfg",
			    p->data_root));
	set(p, "case.calls=the probe's program");
	set(p, "case.transport=tcp");
	/* the forwarder sends the whole payload before it copies it */
	set(p, "runtime.pipelined=false");
	/* it has one thread, and its costs of a byte are in those of arguments and sockets */
	set(p, "runtime.handoff=0 s");
	set(p, "runtime.unmarshal=1 us");
	set(p, "runtime.deserialise_byte=0 s/B");
	set(p, "runtime.chunk=512 MiB");
	set(p, "case.program=client");
	set(p, "case.server=server");
	set_parameters(p);
	if (!(calibration->pcie_width_count > 0))
		return;
	/* the bandwidth of copies was fitted to this link */
	set(p,
	    arena_printf(arena, "link.slot.generation=%.0f", calibration->pcie_generation_count));
	set(p, arena_printf(arena, "link.slot.lanes=%.0f", calibration->pcie_width_count));
}

static int by_program(const void *a, const void *b)
{
	const struct stream *x = a, *y = b;
	int order = strcmp(x->program, y->program);
	order = order ? order : ORDER(x->kernel_s, y->kernel_s);
	order = order ? order : ORDER(x->latency_s, y->latency_s);
	order = order ? order : ORDER(x->rate_Bps, y->rate_Bps);
	order = order ? order : (strcmp(y->mode, "sync") == 0) - (strcmp(x->mode, "sync") == 0);
	return order ? order : strcmp(x->mode, y->mode);
}

/* Predicts all points of the test. A program that cannot be predicted is left out, with an error
 * in diag. */
static struct streams streams_predict(struct arena *arena, struct diag *diag,
				      const struct calibration *calibration)
{
	const struct recording_point *const *points;
	size_t count = recording_find(calibration->recording, arena, "stream", "", &points);
	struct streams streams = {.items = ARENA_ARRAY(arena, count + 1, struct stream)};
	double *errors = ARENA_ARRAY(arena, count + 1, double);
	struct predicting p = {.arena = arena,
			       .diag = diag,
			       .calibration = calibration,
			       .data_root = ".",
			       .seed = 1};
	set_all(&p);
	for (size_t i = 0; i < count; i++) {
		struct stream *stream = &streams.items[streams.count];
		if (!read_stream(points[i], stream) || !predict_stream(&p, stream))
			continue;
		errors[streams.count] = fabs(stream->error_ratio);
		streams.most_ratio = fmax(streams.most_ratio, errors[streams.count++]);
	}
	if (streams.count == 0)
		return streams;
	streams.median_ratio = num_quantile(errors, streams.count, 0.5);
	qsort(streams.items, streams.count, sizeof *streams.items, by_program);
	return streams;
}
