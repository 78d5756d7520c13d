/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several training jobs in a case: what each says of itself, where it goes. */
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/scenario/scenario.h"
#include "tests/test.h"

static struct arena *arena;
static struct diag *diag; /* of the last case */

static const struct scenario *read_jobs(const char *settings, const char *jobs)
{
	char path[] = "/tmp/farwire-jobs-XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!CHECK(out != NULL))
		return NULL;
	fprintf(out, "case = { topology = \"dgx1-v100\"; %s jobs = ( %s ); };\n", settings, jobs);
	fclose(out);
	struct case_request request = {.path = path, .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, &request);
	unlink(path);
	return scenario;
}

/* What a job does not say is as the case says, whatever the job before it said. */
static void a_job_speaks_for_itself_alone(void)
{
	const struct scenario *s = read_jobs(
		"exchange = \"horovod-0.19\";",
		"{ gpus = 2; exchange = \"ddp\"; input = \"host\"; }, { gpus = 2; },"
		"{ gpus = 2; exchange = \"horovod-0.19\"; }, { gpus = 2; exchange = \"ddp\"; }");
	if (!CHECK(s && s->job_count == 4))
		return;
	const struct job_entry *jobs = s->jobs;
	CHECK(jobs[0].exchange->policy != jobs[1].exchange->policy);
	CHECK(jobs[2].exchange == jobs[1].exchange && jobs[2].library == jobs[1].library);
	CHECK(jobs[3].exchange == jobs[0].exchange && jobs[3].library == jobs[0].library);
	CHECK_TEXT(jobs[0].input->source, "host");
	for (size_t i = 1; i < 4; i++)
		CHECK_TEXT(jobs[i].input->source, "gpu");
}

/* A storage is one thing, whoever names it. */
static void jobs_meet_at_a_storage(void)
{
	const struct scenario *s =
		read_jobs("", "{ gpus = 2; input = \"sata-ssd\"; }, { gpus = 2; input = "
			      "\"sata-ssd\"; }, { gpus = 2; input = \"nvme\"; }, { gpus = 2; }");
	if (!CHECK(s && s->job_count == 4))
		return;
	CHECK(s->jobs[0].storage && s->jobs[0].storage == s->jobs[1].storage);
	CHECK(s->jobs[2].storage && s->jobs[2].storage != s->jobs[0].storage);
	CHECK(!s->jobs[3].storage);
}

/* Four GPUs of each machine: 0-3 and 8-11; so the next job begins at 12. */
static void the_next_job_takes_the_next_gpus(void)
{
	const struct scenario *s =
		read_jobs("gpus_per_machine = 4;", "{ gpus = 8; }, { gpus = 8; }");
	if (!CHECK(s && s->job_count == 2))
		return;
	static const size_t first[] = {0, 1, 2, 3, 8, 9, 10, 11},
			    second[] = {12, 13, 14, 15, 16, 17, 18, 19};
	for (size_t i = 0; i < 8; i++)
		CHECK(s->jobs[0].gpus[i] == first[i] && s->jobs[1].gpus[i] == second[i]);
}

static void a_collective_has_one_job(void)
{
	CHECK(!read_jobs("collective = \"all_reduce\";", "{ gpus = 2; }, { gpus = 2; }"));
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "one job, not 2"));
	CHECK(read_jobs("collective = \"all_reduce\";", "{ gpus = 2; }") != NULL);
}

static void shared_memory_joins_no_machines(void)
{
	CHECK(read_jobs("transport = \"shm\";", "{ gpus = 8; }") != NULL);
	CHECK(!read_jobs("transport = \"shm\";", "{ gpus = 16; }"));
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "several machines"));
}

static const struct test tests[] = {
	TEST(a_job_speaks_for_itself_alone),
	TEST(jobs_meet_at_a_storage),
	TEST(the_next_job_takes_the_next_gpus),
	TEST(a_collective_has_one_job),
	TEST(shared_memory_joins_no_machines),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
