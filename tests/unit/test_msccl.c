/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms of MSCCL (tests/samples/workloads) have the ranks, steps and sizes that were counted
 * in their files, or are refused with a line. The test must run from the root folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/collective/msccl.h"
#include "tests/test.h"

static size_t kinds(const struct schedule *schedule, enum step_kind kind, bool received)
{
	size_t count = 0;
	for (size_t i = 0; i < schedule->step_count; i++)
		count += schedule->steps[i].kind == kind &&
			 (kind == STEP_SEND || (schedule->steps[i].source != NO_STEP) == received);
	return count;
}

static void schedules_have_the_steps_of_the_files(void)
{
	static const struct {
		const char *sample;
		enum collective collective;
		enum protocol protocol;
		size_t ranks, sends, reductions, receives, local;
		double most_B;
	} rows[] = {
		{"msccl-ring-8.xml", COLLECTIVE_ALL_REDUCE, PROTOCOL_LL128, 8, 112, 56, 56, 0, 1e9},
		{"msccl-allgather-8n.xml", COLLECTIVE_ALL_GATHER, PROTOCOL_LL, 8, 56, 0, 56, 0,
		 8192},
		{"msccl-alltoall-8n.xml", COLLECTIVE_ALL_TO_ALL, PROTOCOL_LL, 8, 56, 0, 56, 8,
		 9216},
		{"msccl-allreduce-1step.xml", COLLECTIVE_ALL_REDUCE, PROTOCOL_LL, 4, 24, 0, 24, 96,
		 2048},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		const struct msccl *msccl = msccl_read(
			arena, diag, (struct origin){0},
			arena_printf(arena, "tests/samples/workloads/%s", rows[i].sample));
		if (CHECK(msccl != NULL)) {
			const struct schedule *s = msccl->schedule;
			CHECK(msccl->collective == rows[i].collective);
			CHECK(msccl->protocol == rows[i].protocol);
			CHECK(s->rank_count == rows[i].ranks);
			CHECK(kinds(s, STEP_SEND, false) == rows[i].sends);
			CHECK(kinds(s, STEP_REDUCE, true) == rows[i].reductions);
			CHECK(kinds(s, STEP_COPY, true) == rows[i].receives);
			CHECK(kinds(s, STEP_COPY, false) == rows[i].local);
			CHECK(msccl->most_B <= rows[i].most_B || rows[i].most_B >= 1e9);
			CHECK(s->chunk_B[0] * 8 >= 1 && s->chunk_B[0] * 8 <= 1);
			/* parts of one chunk, two chunks, and so on of a buffer of 800 B */
			const struct algorithm_spec spec = {.rank_count = s->rank_count,
							    .size_B = 800,
							    .channel_count = s->channel_count,
							    .pipeline_count = 1,
							    .script = s};
			const struct schedule *built =
				algorithm_msccl.build(&algorithm_msccl, arena, &spec);
			CHECK(built->step_count == s->step_count);
			for (size_t c = 0; c < s->chunk_count; c++)
				CHECK_NEAR(built->chunk_B[c], 100 * (double)(c + 1), 1e-12);
		}
		arena_free(arena);
	}
}

#define ALGO                                                                                       \
	"<algo proto=\"LL\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" "                     \
	"coll=\"allreduce\">\n"
#define STEP(type, depid) "<step type=\"" type "\" cnt=\"1\" depid=\"" depid "\" deps=\"0\"/>\n"
static const struct {
	const char *text, *error;
} wrong[] = {
	{"{\"name\": \"allreduce\"}", ":1: this is a plan of MSCCL++"},
	{"<system/>", ":1: an algorithm of MSCCL begins with <algo>"},
	{"<algo coll=\"custom\"/>", ":1: coll=\"custom\" of <algo> is not known"},
	{ALGO "<tb/></algo>", ":2: <tb> does not belong here"},
	{ALGO "<gpu id=\"2\"/></algo>", ":2: id of <gpu> must be a whole number from 0 to 1"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"0\" recv=\"-1\" chan=\"0\"/></gpu></algo>",
	 ":3: a thread block cannot exchange data with its own GPU"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n" STEP(
		 "r", "-1") "</tb></gpu></algo>",
	 ":4: the thread block of this step has no such peer"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n" STEP(
		 "s", "-1") "</tb></gpu></algo>",
	 ":3: the peer does not receive all data"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"1\" chan=\"0\">\n" STEP(
		 "r", "-1") "</tb></gpu></algo>",
	 ":3: no thread block of the GPU in recv sends"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n" STEP(
		 "cpy", "0") "</tb></gpu></algo>",
	 ":4: this step waits for data or a step that never comes"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n" STEP(
		 "cpy", "7") "</tb></gpu></algo>",
	 ":4: the step in depid and deps does not exist"},
	{ALGO "<gpu id=\"0.5\"/></algo>", ":2: id of <gpu> must be a whole number from 0 to 1"},
	{ALGO "<gpu id=\"0\">\n" STEP("cpy", "-1") "</gpu></algo>",
	 ":3: <step> does not belong here"},
	{ALGO "<gpu id=\"-1\"/></algo>", ":2: id of <gpu> must be a whole number from 0 to 1"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"0\" chan=\"0\"/></gpu></algo>",
	 ":3: a thread block cannot exchange data with its own GPU"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"1\" chan=\"0\">\n" STEP(
		 "s", "-1") "</tb></gpu></algo>",
	 ":4: the thread block of this step has no such peer"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n" STEP(
		 "put", "-1") "</tb></gpu></algo>",
	 ":4: the step has the unknown type \"put\" (farwire reads s, r, rcs, rrc, rrs, "
	 "rrcs, "
	 "cpy, re and nop)"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
	      "<step type=\"cpy\" cnt=\"0\" depid=\"-1\" deps=\"-1\"/>\n</tb></gpu></algo>",
	 ":4: cnt of a step that moves data must be at least 1"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
	      "<step type=\"cpy\" cnt=\"1\" depid=\"0\" deps=\"-1\"/>\n</tb></gpu></algo>",
	 ":4: the step in depid and deps does not exist"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
	      "<step type=\"cpy\" cnt=\"1\" depid=\"0\" deps=\"1\"/>\n</tb></gpu></algo>",
	 ":4: the step in depid and deps does not exist"},
	{ALGO "<gpu id=\"0\">\n<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
	      "<step type=\"nop\" cnt=\"0\" depid=\"-1\" deps=\"-1\"/>\n</tb></gpu></algo>",
	 ":1: the algorithm has no step that moves data"},
};

static void wrong_algorithms_are_refused_with_their_line(void)
{
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		char path[] = "/tmp/farwire-msccl-XXXXXX";
		int fd = mkstemp(path);
		CHECK(fd >= 0);
		CHECK(write(fd, wrong[i].text, strlen(wrong[i].text)) > 0 && close(fd) == 0);
		CHECK(msccl_read(arena, diag, (struct origin){0}, path) == NULL);
		if (!CHECK(diag_count(diag) > 0 && strstr(diag_at(diag, 0), wrong[i].error)))
			printf("  %zu: %s\n", i, diag_count(diag) ? diag_at(diag, 0) : "no error");
		unlink(path);
		arena_free(arena);
	}
}

static void missing_files_are_named(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	CHECK(msccl_read(arena, diag, (struct origin){"job.cfg", 7}, "no-such.xml") == NULL);
	CHECK_PART(diag_at(diag, 0), "job.cfg:7: library.msccl: 'no-such.xml' ");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(missing_files_are_named),
	TEST(schedules_have_the_steps_of_the_files),
	TEST(wrong_algorithms_are_refused_with_their_line),
};

int main(void)
{
	return TEST_MAIN(tests);
}
