/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each algorithm with many shapes (ranks, nodes, rings, channels, pieces):
 *   - its schedule computes the collective (schedule_meaning), in any order that its edges allow;
 *   - each send is received, and the bytes are the algorithm's volume;
 *   - on wires that share nothing (a short reference run in this file) it takes its ideal time;
 *   - the checks detect a missing send and a doubled addition. */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "tests/ideal_times.h"
#include "tests/schedule_meaning.h"
#include "tests/test.h"

enum { RANKS_MAX = 24, CHANNELS_MAX = 4 };

struct shape {
	size_t n, per_node; /* ranks in a node, of which the last may have fewer; 0: no nodes */
	bool turned;        /* each channel has a different ring order */
	size_t channels, pieces;
	uint32_t node_of[RANKS_MAX];
	uint32_t order[CHANNELS_MAX * RANKS_MAX];
	struct algorithm_spec spec;
};

/* The ring of channel c goes around each node from its c-th rank, backwards in odd channels, and
 * around the nodes from the c-th. */
static void turn(struct shape *shape, size_t channel)
{
	size_t n = shape->n, per = shape->per_node ? shape->per_node : n, at = channel * n;
	size_t node_count = (n + per - 1) / per;
	for (size_t k = 0; k < node_count; k++) {
		size_t first = (k + channel) % node_count * per;
		size_t count = n - first < per ? n - first : per;
		for (size_t i = 0; i < count; i++) {
			size_t place = (i + channel) % count;
			if (channel % 2)
				place = count - 1 - place;
			shape->order[at++] = (uint32_t)(first + place);
		}
	}
}

static const struct algorithm_spec *spec_of(struct shape *shape)
{
	struct algorithm_spec *spec = &shape->spec;
	*spec = (struct algorithm_spec){.rank_count = shape->n,
					.size_B = 720720, /* divisible by 1 to 16 */
					.channel_count = shape->channels,
					.pipeline_count = shape->pieces,
					.root = shape->n / 2,
					.server_count = 1 + shape->n % 3,
					.turn = shape->n + shape->channels,
					.whole = shape->pieces % 2,
					.local_on_cpu = shape->pieces > 2};
	if (shape->per_node) {
		for (size_t i = 0; i < shape->n; i++)
			shape->node_of[i] = (uint32_t)(i / shape->per_node);
		spec->node_of = shape->node_of;
		spec->node_count = (shape->n - 1) / shape->per_node + 1;
	}
	if (shape->turned) {
		for (size_t channel = 0; channel < shape->channels; channel++)
			turn(shape, channel);
		spec->order = shape->order;
	}
	return spec;
}

static const char *meaning(struct arena *arena, const struct algorithm_spec *spec,
			   const struct schedule *schedule)
{
	size_t n = spec->rank_count;
	uint32_t *owner = ARENA_ARRAY(arena, schedule->chunk_count, uint32_t);
	uint32_t *target = ARENA_ARRAY(arena, schedule->chunk_count, uint32_t);
	for (size_t c = 0; c < schedule->chunk_count; c++) {
		owner[c] = target[c] = (uint32_t)(c % n);
		if (schedule->collective == COLLECTIVE_BROADCAST)
			owner[c] = (uint32_t)spec->root;
		if (schedule->collective == COLLECTIVE_ALL_TO_ALL)
			owner[c] = (uint32_t)(c / n);
	}
	return schedule_meaning(arena, schedule, n, owner, target);
}

/* ---- a reference run: wires that share nothing ---- */

struct event {
	double time_s;
	uint32_t step;
};

struct run {
	const struct schedule *schedule;
	const struct ideal_link *link;
	uint32_t *missing, *next, *first_follower, *follower; /* lists of edges */
	double *wire_free_s;                                  /* by sender, receiver and channel */
	struct event *heap;
	size_t heap_count;
	double now_s;
};

static void heap_push(struct run *run, struct event event)
{
	size_t i = run->heap_count++;
	for (; i && run->heap[(i - 1) / 2].time_s > event.time_s; i = (i - 1) / 2)
		run->heap[i] = run->heap[(i - 1) / 2];
	run->heap[i] = event;
}

static struct event heap_pop(struct run *run)
{
	struct event top = run->heap[0], moved = run->heap[--run->heap_count];
	size_t i = 0, child;
	for (; (child = 2 * i + 1) < run->heap_count; i = child) {
		child += child + 1 < run->heap_count &&
			 run->heap[child + 1].time_s < run->heap[child].time_s;
		if (run->heap[child].time_s >= moved.time_s)
			break;
		run->heap[i] = run->heap[child];
	}
	run->heap[i] = moved;
	return top;
}

static void begin(struct run *run, uint32_t index)
{
	const struct schedule *schedule = run->schedule;
	const struct schedule_step *step = &schedule->steps[index];
	double size_B = schedule->chunk_B[step->chunk], over_s = run->now_s;
	if (step->kind == STEP_SEND) {
		double *free_s =
			&run->wire_free_s[(step->rank * schedule->rank_count + step->peer) *
						  schedule->channel_count +
					  step->channel];
		*free_s = fmax(*free_s, run->now_s) + size_B * run->link->spB;
		over_s = *free_s + run->link->latency_s;
	} else if (step->kind == STEP_REDUCE) {
		over_s += size_B * run->link->reduce_spB;
	}
	heap_push(run, (struct event){over_s, index});
}

static void link_edge(struct run *run, uint32_t before, uint32_t step, uint32_t *edges)
{
	run->follower[*edges] = step;
	run->next[*edges] = run->first_follower[before];
	run->first_follower[before] = (*edges)++;
	run->missing[step]++;
}

static double run_s(struct arena *arena, const struct schedule *schedule,
		    const struct ideal_link *link)
{
	size_t count = schedule->step_count, edge_room = 3 * count;
	struct run run = {.schedule = schedule, .link = link};
	run.missing = ARENA_ARRAY(arena, count, uint32_t);
	run.next = ARENA_ARRAY(arena, edge_room, uint32_t);
	run.follower = ARENA_ARRAY(arena, edge_room, uint32_t);
	run.first_follower = ARENA_ARRAY(arena, count, uint32_t);
	run.heap = ARENA_ARRAY(arena, count, struct event);
	run.wire_free_s = ARENA_ARRAY(
		arena, schedule->rank_count * schedule->rank_count * schedule->channel_count,
		double);
	for (size_t i = 0; i < count; i++)
		run.first_follower[i] = NO_STEP;
	uint32_t edges = 0;
	for (size_t i = count; i-- > 0;) { /* followers are read in the order of the array */
		const struct schedule_step *step = &schedule->steps[i];
		for (size_t a = 0; a < step->after_count; a++)
			link_edge(&run, schedule->after[step->after_first + a], (uint32_t)i,
				  &edges);
		if (step->source != NO_STEP)
			link_edge(&run, step->source, (uint32_t)i, &edges);
	}
	for (size_t i = 0; i < count; i++)
		if (!run.missing[i])
			begin(&run, (uint32_t)i);
	size_t over = 0;
	for (; run.heap_count; over++) {
		struct event event = heap_pop(&run);
		run.now_s = event.time_s;
		for (uint32_t e = run.first_follower[event.step]; e != NO_STEP; e = run.next[e])
			if (--run.missing[run.follower[e]] == 0)
				begin(&run, run.follower[e]);
	}
	CHECK(over == count);
	return run.now_s;
}

/* ---- properties ---- */

static void complain(const struct algorithm *algorithm, const struct shape *shape, const char *what)
{
	test_check(false, what, __FILE__, __LINE__);
	printf("  %s of %zu ranks, %zu a node, %s, %zu channels, %zu pieces\n", algorithm->name,
	       shape->n, shape->per_node, shape->turned ? "turned" : "straight", shape->channels,
	       shape->pieces);
}

/* In units of the buffer, over all ranks. An all-reduce that sends each value at most once up and
 * once down moves 2 (n - 1), parameter servers 2 n. With two levels each of n GPUs sends and
 * receives a value, and so does each of m machines. In recursive doubling, p ranks send the buffer
 * log2 p times, where p is the largest power of two <= n. The others send and receive it once. In
 * one shot each rank gets the buffers of all others. In all_to_all_nodes, a node of g ranks gets g
 * parts of a rank of another node, and forwards all but one of them. */
static double volume(const struct algorithm *algorithm, const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, power = 1, rounds = 0;
	for (; power * 2 <= n; power *= 2)
		rounds++;
	if (strcmp(algorithm->name, "recursive_doubling") == 0)
		return (double)(power * rounds + 2 * (n - power));
	double g = (double)n / (spec->node_of ? (double)spec->node_count : 1);
	if (strcmp(algorithm->name, "all_to_all_nodes") == 0)
		return g - 1 + ((double)n - g) * (2 - 1 / g);
	if (strcmp(algorithm->name, "one_shot") == 0)
		return (double)(n * (n - 1));
	if (strcmp(algorithm->name, "parameter_server") == 0)
		return 2 * (double)n;
	if (strcmp(algorithm->name, "two_level_server") == 0)
		return 2 * (double)(n + (spec->node_of ? spec->node_count : 1));
	return (algorithm->collective == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (double)(n - 1);
}

static void bytes_right(const struct algorithm *algorithm, const struct shape *shape,
			const struct schedule *schedule)
{
	double sent_B = 0, received_B = 0;
	double expected_B = volume(algorithm, &shape->spec) * shape->spec.size_B;
	for (size_t rank = 0; rank < schedule->rank_count; rank++) {
		sent_B += schedule_sent_B(schedule, rank);
		received_B += schedule_received_B(schedule, rank);
	}
	if (fabs(sent_B - received_B) > 1e-9 * expected_B ||
	    fabs(sent_B - expected_B) > 1e-9 * expected_B)
		complain(algorithm, shape, "bytes");
}

static void time_right(struct arena *arena, const struct algorithm *algorithm,
		       const struct shape *shape, const struct schedule *schedule,
		       double reduce_spB)
{
	struct ideal_link link = {5e-6, 1e-10, reduce_spB};
	double ran_s = run_s(arena, schedule, &link);
	double ideally_s = ideal_s(algorithm, &shape->spec, &link);
	bool right = fabs(ran_s - ideally_s) <= 1e-9 * ideally_s;
	/* Pieces overtake each other: the time is at least the bound, and at most that of pieces
	 * that do not overlap. */
	if (strcmp(algorithm->name, "multi_ring") == 0 && shape->pieces > 1) {
		struct algorithm_spec one = shape->spec;
		one.size_B /= (double)shape->pieces;
		one.pipeline_count = 1;
		double apart_s = (double)shape->pieces * ideal_s(algorithm, &one, &link);
		right = ran_s >= ideally_s * (1 - 1e-9) && ran_s <= apart_s * (1 + 1e-9);
	}
	if (!right) {
		complain(algorithm, shape, "time");
		printf("  ran %.17g, ideally %.17g\n", ran_s, ideally_s);
	}
}

static void shape_right(struct shape *shape)
{
	const struct algorithm_spec *spec = spec_of(shape);
	for (size_t a = 0; a < algorithm_count(); a++) {
		const struct algorithm *algorithm = algorithm_at(a);
		if (algorithm->refuse && algorithm->refuse(spec))
			continue;
		struct arena *arena = arena_new();
		const struct schedule *schedule = algorithm->build(algorithm, arena, spec);
		CHECK(schedule->collective == algorithm->collective);
		const char *wrong = meaning(arena, spec, schedule);
		if (wrong)
			complain(algorithm, shape, wrong);
		bytes_right(algorithm, shape, schedule);
		time_right(arena, algorithm, shape, schedule, 0);
		/* adding is faster than the wire */
		time_right(arena, algorithm, shape, schedule, 3e-11);
		time_right(arena, algorithm, shape, schedule, 3e-10); /* adding is slower */
		arena_free(arena);
	}
}

static void shapes_of(size_t n, size_t channels_max, size_t pieces_max)
{
	static const size_t per_nodes[] = {0, 1, 2, 4, 8};
	for (size_t i = 0; i < sizeof per_nodes / sizeof per_nodes[0]; i++)
		for (size_t channels = 1; channels <= channels_max; channels++)
			for (size_t pieces = 1; pieces <= pieces_max; pieces++) {
				struct shape shape = {.n = n,
						      .per_node = per_nodes[i],
						      .turned = (channels + pieces) % 2,
						      .channels = channels,
						      .pieces = pieces};
				shape_right(&shape);
			}
}

static void schedules_of_up_to_6_ranks_are_correct_and_ideal(void)
{
	for (size_t n = 1; n <= 6; n++)
		shapes_of(n, 4, 5);
}

static void schedules_of_up_to_24_ranks_are_correct_and_ideal(void)
{
	for (size_t n = 7; n <= 9; n++)
		shapes_of(n, 4, 5);
	shapes_of(16, 4, 3);
	shapes_of(24, 2, 2);
}

/* ---- changed schedules ---- */

/* The same steps in a random order that the edges allow. */
static const struct schedule *reordered(struct arena *arena, const struct schedule *schedule,
					struct rng *rng)
{
	size_t count = schedule->step_count;
	struct schedule_step *steps = ARENA_ARRAY(arena, count, struct schedule_step);
	uint32_t *after = ARENA_ARRAY(arena, 2 * count, uint32_t);
	uint32_t *place = ARENA_ARRAY(arena, count, uint32_t);
	uint32_t *open = ARENA_ARRAY(arena, count, uint32_t);
	uint32_t after_count = 0;
	for (size_t i = 0; i < count; i++) {
		place[i] = NO_STEP;
		open[i] = (uint32_t)i;
	}
	for (size_t done = 0; done < count;) { /* draws until a free step is found */
		size_t drawn = done + rng_below(rng, count - done);
		uint32_t index = open[drawn];
		struct schedule_step step = schedule->steps[index];
		bool free = step.source == NO_STEP || place[step.source] != NO_STEP;
		for (size_t i = 0; i < step.after_count; i++)
			free &= place[schedule->after[step.after_first + i]] != NO_STEP;
		if (!free)
			continue;
		open[drawn] = open[done];
		place[index] = (uint32_t)done;
		for (size_t i = 0; i < step.after_count; i++)
			after[after_count + i] = place[schedule->after[step.after_first + i]];
		step.after_first = after_count;
		after_count += step.after_count;
		if (step.source != NO_STEP)
			step.source = place[step.source];
		steps[done++] = step;
	}
	struct schedule *other = ARENA_NEW(arena, struct schedule);
	*other = *schedule;
	other->steps = steps;
	other->after = after;
	return other;
}

static void races(struct shape *shape, struct rng *rng)
{
	const struct algorithm_spec *spec = spec_of(shape);
	for (size_t a = 0; a < algorithm_count(); a++) {
		const struct algorithm *algorithm = algorithm_at(a);
		if (algorithm->refuse && algorithm->refuse(spec))
			continue;
		struct arena *arena = arena_new();
		const struct schedule *schedule = algorithm->build(algorithm, arena, spec);
		for (int round = 0; round < 3; round++) {
			const char *wrong = meaning(arena, spec, reordered(arena, schedule, rng));
			if (wrong)
				complain(algorithm, shape, wrong);
		}
		arena_free(arena);
	}
}

static void schedules_are_correct_in_any_allowed_order(void)
{
	struct rng rng = rng_named(1, "orders");
	for (size_t n = 2; n <= 6; n++)
		for (size_t per_node = 1; per_node <= 3; per_node++) {
			struct shape shape = {.n = n,
					      .per_node = per_node,
					      .turned = n % 2,
					      .channels = 1,
					      .pieces = 1 + n % 2};
			races(&shape, &rng);
		}
}

/* A copy of the schedule in which a step (with its receiver) is missing or is done twice. */
static const struct schedule *broken(struct arena *arena, const struct schedule *schedule,
				     size_t index, bool twice)
{
	struct schedule_builder *builder = schedule_builder_new(
		arena, schedule->collective, schedule->rank_count, schedule->channel_count,
		schedule->chunk_count, schedule->chunk_B);
	uint32_t *place = ARENA_ARRAY(arena, schedule->step_count, uint32_t);
	uint32_t after[8];
	for (size_t i = 0; i < schedule->step_count; i++) {
		const struct schedule_step *step = &schedule->steps[i];
		uint32_t source = step->source == NO_STEP ? NO_STEP : place[step->source];
		for (size_t k = 0; k < step->after_count; k++)
			after[k] = place[schedule->after[step->after_first + k]];
		place[i] = NO_STEP;
		if (i == index && !twice)
			continue;
		for (int times = i == index ? 2 : 1; times > 0; times--)
			if (step->kind == STEP_SEND)
				place[i] =
					schedule_send(builder, step->rank, step->peer, step->chunk,
						      step->channel, after, step->after_count);
			else if (source != NO_STEP)
				place[i] = (step->kind == STEP_REDUCE ? schedule_reduce
								      : schedule_copy)(
					builder, step->rank, step->chunk, step->channel, source,
					after, step->after_count);
	}
	return schedule_finish(builder);
}

static void missing_and_doubled_steps_are_detected(void)
{
	struct shape shape = {.n = 4, .per_node = 2, .channels = 1, .pieces = 2};
	const struct algorithm_spec *spec = spec_of(&shape);
	for (size_t a = 0; a < algorithm_count(); a++) {
		const struct algorithm *algorithm = algorithm_at(a);
		struct arena *arena = arena_new();
		const struct schedule *schedule = algorithm->build(algorithm, arena, spec);
		size_t broken_count = 0;
		for (size_t i = 0; i < schedule->step_count; i++) {
			enum step_kind kind = schedule->steps[i].kind;
			if (schedule->steps[i].source == NO_STEP && kind != STEP_SEND)
				continue; /* without a copy inside a rank the result is the same */
			broken_count++;
			if (!meaning(arena, spec, broken(arena, schedule, i, false)))
				complain(algorithm, &shape, "a missing step was not detected");
			if (kind == STEP_REDUCE &&
			    !meaning(arena, spec, broken(arena, schedule, i, true)))
				complain(algorithm, &shape, "a doubled addition was not detected");
		}
		CHECK(broken_count >= 4);
		CHECK(!meaning(arena, spec, broken(arena, schedule, NO_STEP, false)));
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(schedules_of_up_to_6_ranks_are_correct_and_ideal),
	TEST(schedules_of_up_to_24_ranks_are_correct_and_ideal),
	TEST(schedules_are_correct_in_any_allowed_order),
	TEST(missing_and_doubled_steps_are_detected),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
