/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranks of a job that plays a recording of rank 5 of 8: tensor parallelism of 2 (ranks 4 and
 * 5), data parallelism of 4 (ranks 1, 3, 5, 7), and a collective of all ranks. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/recorded_job.h"
#include "tests/test.h"

static struct recorded_call collective(uint32_t first, uint32_t count, uint32_t stride)
{
	return (struct recorded_call){.function = "ncclAllReduce",
				      .gpu_s = 1e-3,
				      .size_B = 1e6,
				      .group = {first, count, stride}};
}

static struct recorded_calls recording(struct recorded_call *calls, size_t count)
{
	return (struct recorded_calls){
		.calls = calls, .call_count = count, .rank = 5, .world_count = 8};
}

static bool has_members(const struct recorded_job *job, size_t rank,
			const struct recorded_call *call, const size_t *members, size_t count)
{
	uint32_t communicator = 0;
	if (!recorded_job_peer(job, rank, call, &communicator) || communicator == 0 ||
	    communicator > job->group_count)
		return false;
	const struct program_group *group = &job->groups[communicator - 1];
	return group->count == count &&
	       memcmp(group->members, members, count * sizeof *members) == 0;
}

static void inner_groups_repeat_and_outer_groups_grow(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct recorded_call calls[] = {collective(4, 2, 1), collective(1, 4, 2),
					collective(0, 0, 0)};
	struct recorded_calls recorded = recording(calls, 3);
	const struct recorded_job *job =
		recorded_job_new(arena, diag, (struct origin){0}, &recorded, 12);
	if (CHECK(job != NULL)) {
		static const size_t pair[] = {6, 7}, column[] = {0, 2, 4, 6, 8, 10};
		uint32_t communicator = 99;
		CHECK(job->group_count == 6 + 2);
		CHECK(has_members(job, 7, &calls[0], pair, 2));
		CHECK(has_members(job, 10, &calls[1], column, 6));
		CHECK(recorded_job_peer(job, 3, &calls[2], &communicator) && communicator == 0);
		CHECK(job->ranks[0] == &recorded && job->ranks[11] == &recorded);
	}
	arena_free(arena);
}

/* Groups of two ranks at distances of 1, 2 and 4 are three shapes. The last one spans the recorded
 * job, so it has three ranks in a job of 12. Communicators of a shape follow those of the last. */
static void groups_of_one_size_differ_by_their_distance(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct recorded_call calls[] = {collective(4, 2, 1), collective(5, 2, 2),
					collective(1, 2, 4), collective(5, 2, 2)};
	struct recorded_calls recorded = recording(calls, 4);
	const struct recorded_job *job =
		recorded_job_new(arena, diag, (struct origin){0}, &recorded, 12);
	if (CHECK(job != NULL)) {
		static const size_t pair[] = {10, 11}, next[] = {8, 10}, far[] = {2, 6, 10};
		uint32_t first = 0, last = 0;
		CHECK(job->shape_count == 3 && job->group_count == 6 + 6 + 4);
		CHECK(has_members(job, 10, &calls[0], pair, 2));
		CHECK(has_members(job, 10, &calls[1], next, 2));
		CHECK(has_members(job, 10, &calls[3], next, 2));
		CHECK(has_members(job, 10, &calls[2], far, 3));
		CHECK(recorded_job_peer(job, 0, &calls[1], &first) && first == 7);
		CHECK(recorded_job_peer(job, 11, &calls[1], &last) && last == 12);
		CHECK(recorded_job_peer(job, 3, &calls[2], &last) && last == 16);
	}
	arena_free(arena);
}

static void refused(struct recorded_call call, size_t rank_count)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct recorded_calls recorded = recording(&call, 1);
	CHECK(!recorded_job_new(arena, diag, (struct origin){0}, &recorded, rank_count));
	CHECK(diag_count(diag) == 1);
	arena_free(arena);
}

static void groups_that_do_not_cover_the_job_are_refused(void)
{
	refused(collective(4, 2, 1), 7);  /* 7 ranks in pairs */
	refused(collective(5, 2, 1), 8);  /* ranks 5 and 6: not aligned */
	refused(collective(0, 2, 1), 8);  /* without the recorded rank */
	refused(collective(1, 4, 2), 9);  /* two columns of 9 ranks */
	refused(collective(1, 64, 2), 8); /* more ranks than the job */
	refused(collective(5, 1, 8), 4);  /* groups of one rank of eight, in four ranks */
	struct recorded_call message = collective(0, 8, 1);
	message.function = "ncclSend";
	refused(message, 8); /* only one rank is recorded */
	struct recorded_call reduce = collective(0, 8, 1);
	reduce.function = "ncclReduce";
	refused(reduce, 8); /* it is not simulated between GPUs */
}

/* A group of one rank has nothing to simulate. A call without bytes is not a collective. */
static void groups_of_one_rank_and_calls_without_bytes_have_no_peers(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct recorded_call calls[] = {collective(5, 1, 1), collective(5, 2, 1)};
	struct recorded_calls recorded = recording(calls, 2);
	uint32_t communicator = 99;
	calls[1].size_B = 0; /* its group would be refused */
	const struct recorded_job *job =
		recorded_job_new(arena, diag, (struct origin){0}, &recorded, 8);
	if (CHECK(job != NULL)) {
		CHECK(job->shape_count == 0 && job->group_count == 0);
		CHECK(!recorded_job_peer(job, 5, &calls[0], &communicator) && communicator == 99);
		CHECK(!recorded_has_peers(&calls[1]) && recorded_calls_peers(&recorded));
	}
	arena_free(arena);
}

/* Two of four ranks are recorded, 0 and 5 of 8. Rank 0 plays its own recording, and the others play
 * both in turn. */
static void ranks_without_a_recording_play_the_others_in_turn(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct recorded_call call = collective(0, 0, 0);
	struct recorded_calls second = recording(&call, 1), first = recording(&call, 1);
	first.rank = 0;
	first.next = &second;
	const struct recorded_job *job =
		recorded_job_new(arena, diag, (struct origin){0}, &first, 4);
	if (CHECK(job != NULL)) {
		CHECK(job->ranks[0] == &first && job->ranks[1] == &second);
		CHECK(job->ranks[2] == &first && job->ranks[3] == &second);
	}
	second.rank = 2;
	job = recorded_job_new(arena, diag, (struct origin){0}, &first, 4);
	if (CHECK(job != NULL)) {
		CHECK(job->ranks[0] == &first && job->ranks[1] == &second);
		CHECK(job->ranks[2] == &second && job->ranks[3] == &second);
	}
	arena_free(arena);
}

/* Each rank of two sends to a rank. It must be another rank of the job. */
static void messages_go_to_another_rank_of_the_job(void)
{
	for (uint32_t peer = 0; peer < 3; peer++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		struct recorded_call calls[] = {collective(0, 2, 1), collective(0, 2, 1)};
		struct recorded_calls second = recording(&calls[1], 1), first = recording(calls, 1);
		uint32_t found = 99;
		calls[0].function = "ncclSend";
		calls[1].function = "ncclRecv";
		calls[0].peer = peer;
		first.rank = 0;
		first.next = &second;
		second.rank = 1;
		const struct recorded_job *job =
			recorded_job_new(arena, diag, (struct origin){0}, &first, 2);
		CHECK((job != NULL) == (peer == 1));
		CHECK(recorded_has_messages(&first) && recorded_has_messages(&second));
		if (job)
			CHECK(recorded_job_peer(job, 0, &calls[0], &found) && found == 1);
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(groups_of_one_rank_and_calls_without_bytes_have_no_peers),
	TEST(ranks_without_a_recording_play_the_others_in_turn),
	TEST(messages_go_to_another_rank_of_the_job),
	TEST(inner_groups_repeat_and_outer_groups_grow),
	TEST(groups_of_one_size_differ_by_their_distance),
	TEST(groups_that_do_not_cover_the_job_are_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
