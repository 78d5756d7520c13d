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
	struct recorded_call message = collective(0, 8, 1);
	message.function = "ncclSend";
	refused(message, 8); /* only one rank is recorded */
	struct recorded_call reduce = collective(0, 8, 1);
	reduce.function = "ncclReduce";
	refused(reduce, 8); /* it is not simulated between GPUs */
}

static const struct test tests[] = {
	TEST(inner_groups_repeat_and_outer_groups_grow),
	TEST(groups_that_do_not_cover_the_job_are_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
