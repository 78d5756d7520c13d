/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the fake device and its list of operations. */
#include "tests/fake_gpu/fake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979

/* ---- clock and noise ---- */

double fake_now_s(struct fake *fake)
{
	if (fake->real)
		fake->clock_s = clock_now_s() - fake->zero_s;
	return fake->clock_s;
}

void fake_advance_to(struct fake *fake, double time_s)
{
	if (fake->real)
		while (fake_now_s(fake) < time_s)
			;
	else if (time_s > fake->clock_s)
		fake->clock_s = time_s;
}

double fake_noisy(struct fake *fake, double time_s)
{
	const struct planted *planted = &fake->planted;
	if (planted->sigma_ratio > 0) {
		double radius = sqrt(-2 * log(1 - plan_random_part(&fake->random)));
		time_s *= exp(planted->sigma_ratio * radius *
			      cos(2 * PI * plan_random_part(&fake->random)));
	}
	if (plan_random_part(&fake->random) < planted->outlier_rate_ratio)
		time_s *= planted->outlier_size_ratio;
	return time_s * (1 + planted->drift_per_s * fake->clock_s);
}

void fake_spend(struct fake *fake, double time_s)
{
	fake_advance_to(fake, fake_now_s(fake) + fake_noisy(fake, time_s));
}

/* ---- operations ---- */

static double at_least(double a, double b)
{
	return a > b ? a : b;
}

static double kernel_start_s(struct fake *fake, const struct fake_operation *operation,
			     size_t *place)
{
	const struct planted *planted = &fake->planted;
	const struct fake_stream *stream = &fake->streams[operation->stream];
	double start_s = at_least(operation->submitted_s + planted->launch_latency_s,
				  stream->end_s + (stream->gap_follows ? planted->gap_s : 0));
	size_t places = (size_t)planted->concurrent_count;
	*place = 0;
	for (size_t i = 1; i < places && i < sizeof(fake->kernels_s) / sizeof(double); i++)
		if (fake->kernels_s[i] < fake->kernels_s[*place])
			*place = i;
	return at_least(start_s, fake->kernels_s[*place]);
}

static void know_kernel(struct fake *fake, struct fake_operation *operation)
{
	size_t place;
	struct fake_stream *stream = &fake->streams[operation->stream];
	double start_s = kernel_start_s(fake, operation, &place);
	operation->end_s = start_s + operation->duration_s;
	fake->kernels_s[place] = operation->end_s;
	fake->compute_s = at_least(fake->compute_s, operation->end_s);
	stream->end_s = operation->end_s;
	stream->gap_follows = true;
	if (operation->slot >= 0) {
		fake->stamps[operation->slot].begin_s = start_s;
		fake->stamps[operation->slot].end_s = operation->end_s;
	}
}

static void know_copy(struct fake *fake, struct fake_operation *operation)
{
	struct fake_stream *stream = &fake->streams[operation->stream];
	double start_s =
		at_least(operation->submitted_s + fake->planted.launch_latency_s, stream->end_s);
	double duration_s = operation->duration_s;
	if (operation->engine >= 0) {
		int engine = fake->planted.copy_engines_count < 2 ? 0 : operation->engine;
		start_s = at_least(start_s, fake->engines_s[engine]);
		if (fake->engines_s[1 - engine] > start_s)
			duration_s *= fake->planted.duplex_ratio;
		else if (fake->compute_s > start_s)
			duration_s *= fake->planted.compute_ratio;
		fake->engines_s[engine] = start_s + duration_s;
	}
	operation->end_s = start_s + duration_s;
	stream->end_s = operation->end_s;
	stream->gap_follows = true;
}

/* Computes the blocker's end if it is known: it was released, or it timed out while the host
 * waited. */
static bool know_block(struct fake *fake, struct fake_operation *operation)
{
	struct fake_stream *stream = &fake->streams[operation->stream];
	if (fake->blocked && fake->released_s < 0)
		return false;
	operation->end_s =
		at_least(operation->submitted_s + fake->planted.launch_latency_s, fake->released_s);
	stream->end_s = operation->end_s;
	stream->gap_follows = true;
	return true;
}

static bool know(struct fake *fake, struct fake_operation *operation)
{
	struct fake_stream *stream = &fake->streams[operation->stream];
	switch (operation->kind) {
	case FAKE_KERNEL:
		know_kernel(fake, operation);
		return true;
	case FAKE_COPY:
		know_copy(fake, operation);
		return true;
	case FAKE_BLOCK:
		return know_block(fake, operation);
	case FAKE_RECORD:
		operation->end_s = at_least(operation->submitted_s, stream->end_s);
		fake->events[operation->event].time_s = operation->end_s;
		fake->events[operation->event].open = false;
		return true;
	case FAKE_WAIT:
		if (fake->events[operation->event].open)
			return false;
		operation->end_s = stream->end_s;
		if (fake->events[operation->event].time_s > stream->end_s) {
			operation->end_s =
				fake->events[operation->event].time_s + fake->planted.hop_s;
			stream->end_s = operation->end_s;
			stream->gap_follows = false;
		}
		return true;
	}
	return true;
}

/* Computes the times of all operations that follow from known times. */
void fake_know_all(struct fake *fake)
{
	bool stuck[GPU_STREAMS], some = true;
	while (some) {
		some = false;
		memset(stuck, 0, sizeof(stuck));
		for (size_t i = fake->first; i < fake->count; i++) {
			struct fake_operation *operation = &fake->operations[i];
			if (operation->known || stuck[operation->stream])
				continue;
			operation->known = know(fake, operation);
			if (operation->known) {
				fake->streams[operation->stream].open_count--;
				some = true;
			} else {
				stuck[operation->stream] = true;
			}
		}
	}
}

void fake_drop_done(struct fake *fake)
{
	while (fake->first < fake->count && fake->operations[fake->first].known &&
	       fake->operations[fake->first].end_s <= fake->clock_s)
		fake->argument_B -= fake->operations[fake->first++].argument_B;
	if (fake->first == fake->count)
		fake->first = fake->count = 0;
}

void fake_give_up_block(struct fake *fake)
{
	if (!fake->blocked || fake->released_s >= 0)
		return;
	fake->released_s = fake->blocked_from_s + fake->block_timeout_s;
	fake_know_all(fake);
}

/* Makes the host wait until the launch queue has room. */
static void wait_for_room(struct fake *fake)
{
	size_t depth = (size_t)fake->planted.depth_count;
	fake_drop_done(fake);
	while (fake->count - fake->first >= depth ||
	       (double)fake->argument_B >= fake->planted.depth_B) {
		double next_s = HUGE_VAL, under_way_B = 0;
		size_t under_way = 0;
		for (size_t i = fake->first; i < fake->count; i++) {
			const struct fake_operation *operation = &fake->operations[i];
			if (operation->known && operation->end_s <= fake->clock_s)
				continue;
			under_way++;
			under_way_B += (double)operation->argument_B;
			if (operation->known && operation->end_s < next_s)
				next_s = operation->end_s;
		}
		if (under_way < depth && under_way_B < fake->planted.depth_B)
			return;
		if (next_s >= HUGE_VAL)
			fake_give_up_block(fake);
		else
			fake_advance_to(fake, next_s);
		fake_drop_done(fake);
	}
}

int fake_submit(struct fake *fake, struct fake_operation operation)
{
	wait_for_room(fake);
	if (fake->count == fake->room) {
		size_t room = 2 * fake->room + 256;
		struct fake_operation *more = realloc(fake->operations, room * sizeof(*more));
		if (!more)
			return gpu_fail(fake->gpu.why, GPU_FAILED, "out of memory");
		fake->operations = more;
		fake->room = room;
	}
	operation.submitted_s = fake_now_s(fake);
	operation.duration_s =
		operation.spin_s +
		(operation.duration_s > 0 ? fake_noisy(fake, operation.duration_s) : 0);
	struct fake_stream *stream = &fake->streams[operation.stream];
	operation.known = stream->open_count == 0 && know(fake, &operation);
	stream->open_count += !operation.known;
	fake->argument_B += operation.argument_B;
	fake->operations[fake->count++] = operation;
	return GPU_OK;
}

/* Makes the host wait for a stream, after the cost of the call. */
void fake_wait_stream(struct fake *fake, int index)
{
	if (fake->streams[index].open_count > 0)
		fake_give_up_block(fake);
	double end_s = fake->streams[index].end_s;
	if (end_s > fake_now_s(fake)) {
		fake_advance_to(fake, end_s);
		fake_spend(fake, fake->planted.wake_spin_s);
	}
}
