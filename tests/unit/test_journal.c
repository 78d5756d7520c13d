/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a journal that was cut, or belongs to another sweep. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/analysis/journal.h"
#include "tests/test.h"

struct place {
	struct arena *arena;
	char folder[64];
	const char *path;
	struct journal_part parts[2];
	char taken[256]; /* lines, one after the other */
	const char *message;
	bool refused;
};

static struct place place_new(void)
{
	struct place place = {.arena = arena_new(),
			      .folder = "/tmp/farwire-test-XXXXXX",
			      .parts = {{"files", "the files", 1}, {"axes", "the axes", 2}}};
	CHECK(mkdtemp(place.folder) != NULL);
	place.path = arena_printf(place.arena, "%s/journal", place.folder);
	return place;
}

static void place_free(struct place *place)
{
	unlink(place->path);
	rmdir(place->folder);
	arena_free(place->arena);
}

static void take(void *ctx, const char *line, size_t size_B)
{
	struct place *place = ctx;
	size_t used = strlen(place->taken);
	CHECK(used + size_B < sizeof place->taken);
	memcpy(place->taken + used, line, size_B);
}

static struct journal *open_it(struct place *place)
{
	const struct journal_head head = {10, place->parts, 2};
	struct diag *diag = diag_new(place->arena);
	memset(place->taken, 0, sizeof place->taken);
	struct journal *journal =
		journal_open(place->arena, diag, place->path, &head,
			     (struct journal_reader){take, place}, &place->refused);
	CHECK((journal == NULL) == (diag_count(diag) == 1));
	place->message = journal ? "" : diag_at(diag, 0);
	return journal;
}

static void add(struct journal *journal, const char *line)
{
	CHECK(journal_add(journal, line, strlen(line)) == 0);
}

/* Writes a journal with two lines. */
static void fill(struct place *place)
{
	struct journal *journal = open_it(place);
	add(journal, "{\"a\":1}\n");
	add(journal, "{\"b\":2}\n");
	CHECK(journal_close(journal) == 0);
}

static long size_of(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

static void journal_returns_all_its_lines(void)
{
	struct place place = place_new();
	fill(&place);
	struct journal *journal = open_it(&place);
	CHECK(strcmp(place.taken, "{\"a\":1}\n{\"b\":2}\n") == 0);
	add(journal, "{\"c\":3}\n");
	journal_close(journal);
	journal_close(open_it(&place));
	CHECK(strcmp(place.taken, "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n") == 0);
	place_free(&place);
}

/* A journal that is cut anywhere returns all complete lines, and lines added later are complete. */
static void cut_journal_returns_all_complete_lines(void)
{
	struct place place = place_new();
	fill(&place);
	long whole = size_of(place.path), line = (long)strlen("{\"a\":1}\n");
	for (long cut = whole; cut >= 0; cut--) {
		unlink(place.path);
		fill(&place);
		CHECK(truncate(place.path, cut) == 0);
		struct journal *journal = open_it(&place);
		const char *wanted = cut >= whole          ? "{\"a\":1}\n{\"b\":2}\n"
				     : cut >= whole - line ? "{\"a\":1}\n"
							   : "";
		if (!CHECK(journal && strcmp(place.taken, wanted) == 0))
			printf("  cut at %ld of %ld: %s%s\n", cut, whole, place.taken,
			       place.message);
		if (!journal)
			continue;
		add(journal, "{\"c\":3}\n");
		journal_close(journal);
		journal_close(open_it(&place));
		CHECK(strcmp(place.taken, arena_printf(place.arena, "%s{\"c\":3}\n", wanted)) == 0);
	}
	place_free(&place);
}

static void count_line(void *ctx, const char *line, size_t size_B)
{
	++*(size_t *)ctx;
}

/* A journal of 64 MB is read line by line, and needs less than 16 MB. */
static void long_journal_is_read_in_bounded_memory(void)
{
	enum { LINES = 1000, LINE_B = 64000 };
	struct place place = place_new();
	const struct journal_head head = {LINES, place.parts, 2};
	struct diag *diag = diag_new(place.arena);
	size_t count = 0;
	const struct journal_reader reader = {count_line, &count};
	char *line = arena_alloc(place.arena, LINE_B);
	memset(line, 'x', LINE_B - 1);
	line[LINE_B - 1] = '\n';
	struct journal *journal =
		journal_open(place.arena, diag, place.path, &head, reader, &place.refused);
	for (size_t i = 0; journal && i < LINES; i++)
		CHECK(journal_add(journal, line, LINE_B) == 0);
	CHECK(journal && count == 0 && journal_close(journal) == 0);
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	journal = journal_open(place.arena, diag, place.path, &head, reader, &place.refused);
	getrusage(RUSAGE_SELF, &after);
	CHECK(journal && count == LINES && journal_close(journal) == 0);
	CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
	place_free(&place);
}

static void zeroes_at_the_end_are_cut_off(void)
{
	struct place place = place_new();
	fill(&place);
	long whole = size_of(place.path);
	CHECK(truncate(place.path, whole + 100) == 0);
	struct journal *journal = open_it(&place);
	CHECK(strcmp(place.taken, "{\"a\":1}\n{\"b\":2}\n") == 0);
	CHECK(size_of(place.path) == whole);
	journal_close(journal);
	place_free(&place);
}

static void journal_of_another_sweep_is_refused(void)
{
	struct place place = place_new();
	fill(&place);
	place.parts[1].hash++;
	CHECK(open_it(&place) == NULL && place.refused);
	CHECK(strstr(place.message, "journal of another sweep, because the axes changed") != NULL);
	place.parts[0].hash++;
	CHECK(open_it(&place) == NULL);
	CHECK(strstr(place.message, "the files and the axes changed") != NULL);
	place_free(&place);
}

static void other_files_are_refused_as_journals(void)
{
	static const char *const texts[] = {"x", "a,b\n1,2\n", "{\"format\":\"", "\n", "{}\n"};
	struct place place = place_new();
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		FILE *file = fopen(place.path, "w");
		fputs(texts[i], file);
		fclose(file);
		struct journal *journal = open_it(&place);
		bool torn = i == 2; /* like the beginning of a first line */
		CHECK((journal != NULL) == torn);
		CHECK(torn || (place.refused && strstr(place.message, "not the journal") != NULL));
		CHECK(torn || size_of(place.path) == (long)strlen(texts[i]));
		if (journal)
			journal_close(journal);
	}
	unlink(place.path);
	place.path = arena_printf(place.arena, "%s/no/journal", place.folder);
	CHECK(open_it(&place) == NULL && !place.refused);
	CHECK(strstr(place.message, "No such file or directory") != NULL);
	place_free(&place);
}

static void second_process_is_refused(void)
{
	struct place place = place_new();
	struct journal *journal = open_it(&place);
	pid_t child = fork();
	if (child == 0) {
		struct journal *second = open_it(&place);
		_exit(!second && place.refused && strstr(place.message, "another farwire") ? 0 : 1);
	}
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	journal_close(journal);
	place_free(&place);
}

static const struct test tests[] = {TEST(journal_returns_all_its_lines),
				    TEST(cut_journal_returns_all_complete_lines),
				    TEST(long_journal_is_read_in_bounded_memory),
				    TEST(zeroes_at_the_end_are_cut_off),
				    TEST(journal_of_another_sweep_is_refused),
				    TEST(other_files_are_refused_as_journals),
				    TEST(second_process_is_refused)};

int main(void)
{
	return TEST_MAIN(tests);
}
