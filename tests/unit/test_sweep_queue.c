/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue of a sweep's points, and the texts between its ranks. Scripts take the place of MPI. */
#include <stdlib.h>

#include "sim/analysis/ranks.h"
#include "sim/analysis/sweep_queue.h"
#include "sim/engine/names.h"
#include "tests/test.h"

enum { POINTS = 10, TEXTS = 16 };
/* as in sim/analysis/sweep_ranks.c */
enum { WANT = 1, CHUNK, POINT, BROKEN, ERRORS, REFUSED, GONE, END };

/* ---- a sweep of two values of one key and five of another ---- */

static struct arena *arena;
static const struct setting base = {"case.batch=4", {"--batch", 0}};
static const char *const first_texts[] = {"a=1", "a=2"};
static const char *const second_texts[] = {"b=1", "b=2", "b=3", "b=4", "b=5"};
static const struct sweep_axis axes[] = {
	{.key = "a", .from = "--vary", .texts = first_texts, .count = 2},
	{.key = "b", .from = "--vary", .texts = second_texts, .count = 5}};

struct told {
	size_t before, done, count, times;
};
static struct told told;

static void tell(void *ctx, size_t before, size_t done, size_t count)
{
	told = (struct told){before, done, count, told.times + 1};
}

static struct sweep_request request_of(void)
{
	return (struct sweep_request){.input = {.request = {.settings = &base, .setting_count = 1},
						.watch = {tell, NULL}},
				      .axes = axes,
				      .axis_count = 2};
}

static struct sweep_queue queue_of(struct sweep_task *task)
{
	const struct sweep_request request = request_of();
	*task = sweep_task_of(&request);
	struct sweep_queue queue = {.arena = arena,
				    .task = task,
				    .points = ARENA_ARRAY(arena, POINTS, const struct prediction *),
				    .bad = SIZE_MAX,
				    .texts = names_new(arena)};
	pthread_mutex_init(&queue.lock, NULL);
	told = (struct told){0};
	return queue;
}

static const char *line_of(size_t index)
{
	const struct prediction p = {
		.name = "x", .ok = true, .throughput = estimate_exact(100 + (double)index)};
	return sweep_line(arena, index, &p);
}

/* Point 7 has the second value of the first axis and the third one of the second axis. */
static void last_axis_varies_fastest(void)
{
	const struct sweep_request request = request_of();
	const struct sweep_task task = sweep_task_of(&request);
	const struct sweep sweep = {.axes = axes, .axis_count = 2};
	CHECK(task.point_count == POINTS);
	CHECK(sweep_axis_index(&sweep, 7, 0) == 1 && sweep_axis_index(&sweep, 7, 1) == 2);
	const struct case_request point = sweep_point_case(arena, &task, 7);
	if (CHECK(point.setting_count == 3)) {
		CHECK_TEXT(point.settings[0].text, base.text);
		CHECK_TEXT(point.settings[1].text, "b=3");
		CHECK_TEXT(point.settings[2].text, "a=2");
	}
}

static void points_have_draws_up_to_the_most_that_may_have_them(void)
{
	struct sweep_request request = request_of();
	request.input.options.draws_count = 8;
	static const size_t most[] = {0, POINTS, POINTS - 1}, draws[] = {8, 8, 0};
	for (size_t i = 0; i < 3; i++) {
		request.most_drawn = most[i];
		CHECK(sweep_task_of(&request).request.input.options.draws_count == draws[i]);
	}
}

/* ---- the queue ---- */

static void check_taken(struct sweep_queue *queue, size_t most, size_t first, size_t count)
{
	size_t at = SIZE_MAX, taken = queue_take_points(queue, most, &at);
	CHECK(taken == count && (count == 0 || at == first));
}

/* Points 2 and 5 are finished. A worker gets consecutive points between them. */
static void workers_take_consecutive_points_that_are_not_finished(void)
{
	static const struct prediction finished;
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	queue.points[2] = queue.points[5] = &finished;
	check_taken(&queue, 1, 0, 1);
	check_taken(&queue, 4, 1, 1);
	check_taken(&queue, 4, 3, 2);
	struct sweep_queue failed = queue;
	check_taken(&queue, 9, 6, 4);
	check_taken(&queue, 9, 0, 0);
	/* the points up to the first one with errors are still needed */
	failed.bad = 7;
	check_taken(&failed, 9, 6, 2);
	check_taken(&failed, 9, 0, 0);
	queue = queue_of(&task);
	queue.outside = "disk full";
	check_taken(&queue, 1, 0, 0);
}

/* Each of the takers takes an eighth of its share, from 1 to 32 points. */
static void shares_become_smaller_towards_the_end(void)
{
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	CHECK(queue_share(&queue, 1) == 1 && queue_share(&queue, 3) == 1);
	task.point_count = 640;
	CHECK(queue_share(&queue, 1) == 32 && queue_share(&queue, 2) == 32);
	CHECK(queue_share(&queue, 4) == 20);
	queue.next = 320;
	CHECK(queue_share(&queue, 4) == 10);
	queue.next = 640;
	CHECK(queue_share(&queue, 1) == 1);
}

static void put(struct sweep_queue *queue, const char *line, bool computed)
{
	queue_put(queue, line, strlen(line), computed);
}

static void finished_points_are_kept_once(void)
{
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	put(&queue, line_of(3), false);
	CHECK(told.before == 1 && told.done == 1 && told.count == POINTS);
	put(&queue, line_of(8), true);
	CHECK(told.before == 1 && told.done == 2 && told.times == 2);
	put(&queue, line_of(3), true); /* computed again */
	put(&queue, line_of(POINTS), true);
	CHECK(told.times == 2 && queue.done == 2);
	for (size_t i = 0; i < POINTS; i++)
		CHECK((queue.points[i] != NULL) == (i == 3 || i == 8));
	if (queue.points[3] && queue.points[8])
		CHECK(queue.points[3]->throughput.value == 103 &&
		      queue.points[8]->throughput.value == 108);
	CHECK(!queue.broken && queue.bad == SIZE_MAX);
}

/* The queue ignores a malformed line of a journal, but a worker must not return one. */
static void malformed_lines_are_refused(void)
{
	const char *whole = line_of(3);
	int size = (int)strlen(whole);
	const char *const lines[] = {
		"",
		"\n",
		"{\"point\":3\n",
		"{\"point\":3,\"prediction\":\n",
		arena_printf(arena, "%.*s", size - 1, whole), /* without the end of the line */
		arena_printf(arena, "%.*s\n", size / 2, whole),
		arena_printf(arena, "{\"points%s", whole + strlen("{\"point\"")),
		arena_printf(arena, "{\"point\":3,\"predictiom%s", strstr(whole, "\":{"))};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		struct sweep_task task;
		struct sweep_queue queue = queue_of(&task);
		put(&queue, lines[i], false);
		CHECK(!queue.broken && told.times == 0);
		put(&queue, lines[i], true);
		CHECK_TEXT(queue.broken, "a worker returned a malformed sweep point");
		CHECK(queue.bad == 0 && queue.done == 0);
	}
}

static void errors_of_the_first_point_are_reported(void)
{
	static const char *const two[] = {"one", "two"}, *const other[] = {"other"};
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	queue_put_errors(&queue, 5, two, 2, NULL);
	queue_put_errors(&queue, 6, other, 1, NULL);
	queue_put_errors(&queue, 5, other, 1, NULL);
	if (CHECK(queue.bad == 5 && queue.error_count == 2 && !queue.broken)) {
		CHECK_TEXT(queue.errors[0], "one");
		CHECK_TEXT(queue.errors[1], "two");
	}
	queue_put_errors(&queue, 4, NULL, 0, "an invariant");
	CHECK(queue.bad == 4 && queue.error_count == 0);
	CHECK_TEXT(queue.broken, "an invariant");
	queue_put_errors(&queue, 1, other, 1, NULL);
	CHECK(queue.bad == 1 && queue.error_count == 1 && !queue.broken);
}

/* ---- ranks ---- */

struct text {
	int rank, tag; /* of the sender or of the receiver */
	const char *text;
};
static struct text script[TEXTS], sent[TEXTS];
static size_t script_count, script_next, sent_count;

static void send_text(int to, int tag, const char *bytes, size_t size_B)
{
	if (CHECK(sent_count < TEXTS))
		sent[sent_count++] =
			(struct text){to, tag, arena_printf(arena, "%.*s", (int)size_B, bytes)};
}

static int is_waiting(int *from, int *tag, size_t *size_B)
{
	static const struct text end = {1, GONE, ""};
	bool more = CHECK(script_next < script_count);
	const struct text *next = more ? &script[script_next] : &end;
	*from = next->rank;
	*tag = next->tag;
	*size_B = strlen(next->text);
	return 1;
}

static void receive(int from, int tag, char *bytes, size_t size_B)
{
	if (script_next < script_count)
		memcpy(bytes, script[script_next++].text, size_B);
}

static int gone;

static struct ranks ranks_of(int rank, int count)
{
	gone = 0;
	script_count = script_next = sent_count = 0;
	return (struct ranks){.version = RANKS_VERSION,
			      .rank = rank,
			      .count = count,
			      .gone_count = &gone,
			      .send = send_text,
			      .waiting = is_waiting,
			      .receive = receive};
}

static void comes(int rank, int tag, const char *text)
{
	script[script_count++] = (struct text){rank, tag, text};
}

/* Checks the next text that was sent. */
static void check_sent(size_t at, int rank, int tag, const char *text)
{
	if (CHECK(at < sent_count)) {
		CHECK(sent[at].rank == rank && sent[at].tag == tag);
		CHECK_TEXT(sent[at].text, text);
	}
}

static void set_launcher(const char *const *values)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE",
					    "OMPI_COMM_WORLD_RANK",
					    "PMI_SIZE",
					    "PMI_RANK",
					    "SLURM_STEP_NUM_TASKS",
					    "PMIX_RANK"};
	for (size_t i = 0; i < 6; i++)
		if (values[i])
			setenv(names[i], values[i], 1);
		else
			unsetenv(names[i]);
}

/* Open MPI comes before PMI and Slurm. A launcher without a rank, or with a wrong number, is
 * ignored. */
static void launcher_gives_the_number_of_ranks(void)
{
	static const struct {
		const char *values[6];
		int count, rank;
	} rows[] = {
		{{NULL}, 1, 0},
		{{"3", "2"}, 3, 2},
		{{"3", "0", "5", "4"}, 3, 0},
		{{"3", NULL, "5", "4"}, 5, 4},
		{{NULL, "2", NULL, NULL, "7", "6"}, 7, 6},
		{{NULL, NULL, NULL, NULL, "7", NULL}, 1, 0},
		{{"0", "0"}, 1, 0},
		{{"3", "-1"}, 1, 0},
		{{"x", "1"}, 1, 0},
		{{"1000000", "1"}, 1000000, 1},
		{{"1000001", "1"}, 1, 0},
	};
	int rank;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		set_launcher(rows[i].values);
		if (!CHECK(ranks_launched(&rank) == rows[i].count && rank == rows[i].rank))
			printf("  row %zu\n", i);
	}
	set_launcher(rows[0].values);
	setenv("FARWIRE_MPI", "/nowhere/none.so", 1);
	const char *message = NULL;
	CHECK(!ranks_open(arena, &message));
	CHECK_PART(message, "/nowhere/none.so");
	CHECK_PART(message, "(to build it, install libopenmpi-dev and run make)");
	unsetenv("FARWIRE_MPI");
}

/* Two ranks take the first two points. The second point has errors, so no other one is needed. */
static void first_rank_gives_points_and_takes_results(void)
{
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	const struct ranks ranks = ranks_of(0, 3);
	comes(1, WANT, "");
	comes(2, WANT, "");
	comes(1, POINT, line_of(0));
	comes(2, ERRORS, "1\nwrong\nbad\n");
	comes(1, WANT, "");
	comes(2, WANT, "");
	sweep_serve(&ranks, 1, &queue);
	CHECK(script_next == script_count && sent_count == 4 && gone == 0);
	check_sent(0, 1, CHUNK, "0 1");
	check_sent(1, 2, CHUNK, "1 1");
	check_sent(2, 1, CHUNK, "2 0");
	check_sent(3, 2, CHUNK, "2 0");
	CHECK(queue.points[0] && queue.points[0]->throughput.value == 100 && queue.done == 1);
	if (CHECK(queue.bad == 1 && queue.error_count == 2)) {
		CHECK_TEXT(queue.errors[0], "wrong");
		CHECK_TEXT(queue.errors[1], "bad");
	}
}

/* Each of the two threads of the other rank asks until nothing is left. A task of 640 points is
 * given in shares: an eighth of a quarter, because the first rank has two threads, too. */
static void all_threads_of_all_ranks_share_the_points(void)
{
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	const struct ranks ranks = ranks_of(0, 2);
	task.point_count = 640;
	queue.points = ARENA_ARRAY(arena, 640, const struct prediction *);
	comes(1, WANT, "");
	comes(1, WANT, "");
	comes(1, BROKEN, "5\nan invariant");
	comes(1, WANT, "");
	comes(1, WANT, "");
	sweep_serve(&ranks, 2, &queue);
	CHECK(script_next == script_count && sent_count == 4);
	check_sent(0, 1, CHUNK, "0 20");
	check_sent(1, 1, CHUNK, "20 19");
	check_sent(2, 1, CHUNK, "39 0");
	CHECK(queue.bad == 5 && queue.error_count == 0);
	CHECK_TEXT(queue.broken, "an invariant");
}

/* A rank that leaves needs nothing more, neither in this sweep nor in the next one. */
static void ranks_that_leave_are_not_waited_for(void)
{
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	const struct ranks ranks = ranks_of(0, 3);
	comes(2, GONE, "2\nno such file");
	comes(1, WANT, "");
	comes(1, WANT, "");
	comes(1, WANT, "");
	comes(1, WANT, "");
	sweep_serve(&ranks, 1, &queue);
	CHECK(gone == 1 && script_next == script_count && sent_count == 4);
	check_sent(2, 1, CHUNK, "2 1");
	check_sent(3, 1, CHUNK, "3 0");
	CHECK(queue.bad == 2 && queue.error_count == 1);
	/* without a sweep: the rank that is left is told so, and leaves */
	script_count = script_next = sent_count = 0;
	comes(1, WANT, "");
	comes(1, GONE, "0\n");
	sweep_leave(&ranks, "");
	CHECK(gone == 2 && sent_count == 1);
	check_sent(0, 1, CHUNK, "");
	/* another rank says that it leaves */
	const struct ranks other = ranks_of(2, 3);
	sweep_leave(&other, "7\nwhy");
	CHECK(sent_count == 1);
	check_sent(0, 0, GONE, "7\nwhy");
}

/* The case has no topology, so each point has errors. */
static void other_ranks_ask_and_return_results(void)
{
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	const struct ranks ranks = ranks_of(1, 2);
	task.request.input.options.ranks = &ranks;
	task.request.input.request.data_root = data_root_find(arena);
	comes(0, CHUNK, "3 2");
	comes(0, CHUNK, "5 0");
	CHECK(sweep_help(&queue));
	CHECK(sent_count == 4);
	check_sent(0, 0, WANT, "");
	check_sent(3, 0, WANT, "");
	for (size_t i = 1; i < 3 && i < sent_count; i++) {
		CHECK(sent[i].rank == 0 && sent[i].tag == ERRORS);
		CHECK(strncmp(sent[i].text, i == 1 ? "3\n" : "4\n", 2) == 0);
		CHECK_PART(sent[i].text, "topology is missing");
	}
	ranks_of(1, 2);
	comes(0, CHUNK, "");
	CHECK(!sweep_help(&queue));
}

/* The first rank sends the points of a list that are finished and those that it refused. */
static void all_ranks_get_the_points_of_a_list(void)
{
	const char *refused[POINTS] = {[4] = "too large"}, *others[POINTS] = {0};
	const struct sweep_list list = {.point_count = POINTS, .refused = refused};
	const struct sweep_list empty = {.point_count = POINTS, .refused = others};
	struct sweep_task task;
	struct sweep_queue queue = queue_of(&task);
	put(&queue, line_of(2), true);
	struct ranks ranks = ranks_of(0, 3);
	task.request.list = &list;
	task.request.input.options.ranks = &ranks;
	CHECK(sweep_share(&queue, false) && sent_count == 6);
	for (int to = 1; to < 3; to++) {
		check_sent((size_t)to - 1, to, POINT, line_of(2));
		check_sent((size_t)to + 1, to, REFUSED, "4\ntoo large");
		check_sent((size_t)to + 3, to, END, "");
	}
	sent_count = 0;
	CHECK(!sweep_share(&queue, true) && sent_count == 2);
	check_sent(1, 2, END, "failed");
	/* another rank receives them */
	queue = queue_of(&task);
	ranks = ranks_of(1, 3);
	task.request.list = &empty;
	task.request.input.options.ranks = &ranks;
	comes(0, POINT, line_of(2));
	comes(0, REFUSED, "4\ntoo large");
	comes(0, END, "");
	CHECK(sweep_share(&queue, false) && script_next == 3 && sent_count == 0);
	CHECK(queue.points[2] && queue.points[2]->throughput.value == 102);
	CHECK_TEXT(others[4], "too large");
	comes(0, END, "failed");
	CHECK(!sweep_share(&queue, false));
}

static const struct test tests[] = {
	TEST(last_axis_varies_fastest),
	TEST(points_have_draws_up_to_the_most_that_may_have_them),
	TEST(workers_take_consecutive_points_that_are_not_finished),
	TEST(shares_become_smaller_towards_the_end),
	TEST(finished_points_are_kept_once),
	TEST(malformed_lines_are_refused),
	TEST(errors_of_the_first_point_are_reported),
	TEST(launcher_gives_the_number_of_ranks),
	TEST(first_rank_gives_points_and_takes_results),
	TEST(all_threads_of_all_ranks_share_the_points),
	TEST(ranks_that_leave_are_not_waited_for),
	TEST(other_ranks_ask_and_return_results),
	TEST(all_ranks_get_the_points_of_a_list),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
