/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines that report progress. */
#include "tests/test.h"

#include <string.h>
#include <unistd.h>

#include "calib/sample/clock.h"
#include "sim/verb/progress.h"

/* Writes what progress_tell prints about work that began spent_s ago. */
static void tell(struct progress progress, double spent_s, size_t before, size_t done, size_t count,
		 char *text, size_t size)
{
	FILE *file = tmpfile();
	int kept = dup(STDERR_FILENO);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	progress.made_s = progress.began_s = clock_now_s() - spent_s;
	progress_tell(&progress, before, done, count);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

static const char told[] = "tp=1";
static const struct {
	struct progress progress;
	double spent_s;
	size_t before, done, count;
	const char *text; /* "": nothing */
} rows[] = {
	{{.things = "points", .begun = true},
	 996,
	 0,
	 100,
	 854,
	 "100 of 854 points, 0.1 per second, 2 h 5 min left\n"},
	{{.things = "points", .begun = true},
	 996,
	 50,
	 150,
	 904,
	 "150 of 904 points, 0.1 per second, 2 h 5 min left\n"},
	{{.things = "plans", .begun = true, .terminal = true},
	 3610,
	 0,
	 3615054,
	 3615054,
	 "\r\033[K3615054 of 3615054 plans, 1001 per second, 1 h 0 min"},
	/* 30, 60, 200 and 3600 s are left */
	{{.things = "points", .begun = true},
	 8999,
	 0,
	 300,
	 301,
	 "300 of 301 points, 0.0333 per second, 30 s left\n"},
	{{.things = "points", .begun = true},
	 17997,
	 0,
	 300,
	 301,
	 "300 of 301 points, 0.0167 per second, 1 min 0 s left\n"},
	{{.things = "points", .begun = true},
	 5997,
	 0,
	 300,
	 310,
	 "300 of 310 points, 0.05 per second, 3 min 20 s left\n"},
	{{.things = "points", .begun = true},
	 35990,
	 0,
	 10,
	 11,
	 "10 of 11 points, 0.000278 per second, 1 h 0 min left\n"},
	/* the best plan is named once, before the number of plans */
	{{.things = "plans", .begun = true, .best = "tp=2", .best_s = 0.5},
	 996,
	 0,
	 100,
	 854,
	 "fastest so far: tp=2, 0.5 s a step\n"
	 "100 of 854 plans, 0.1 per second, 2 h 5 min left\n"},
	{{.things = "plans", .begun = true, .best = told, .told = told},
	 996,
	 0,
	 100,
	 854,
	 "100 of 854 plans, 0.1 per second, 2 h 5 min left\n"},
	{{.things = "plans", .begun = true, .best = "tp=2", .best_s = 2, .terminal = true},
	 996,
	 0,
	 100,
	 854,
	 "\r\033[Kfastest so far: tp=2, 2 s a step\n"
	 "\r\033[K100 of 854 plans, 0.1 per second, 2 h 5 min left"},
	/* nothing is shown before the first second (here, 5 s before it begins), nor
	   without new points */
	{{.things = "points", .begun = true}, -5, 0, 100, 854, ""},
	{{.things = "points", .begun = true}, 996, 100, 100, 854, ""},
	{{.things = "points", .begun = true, .quiet = true}, 996, 0, 100, 854, ""},
	{{.things = "points", .from = "x.journal"},
	 996,
	 50,
	 51,
	 100,
	 "continuing after 50 of 100 points in x.journal\n"},
	{{.things = "points", .from = "x.journal"}, 996, 0, 1, 100, ""},
};

/* In 996 s, 100 points were done: 0.1004 a second, and 754 more need 7510 s. If this test is
 * interrupted for a second or two, no printed digit changes. */
static void time_left_is_that_of_the_rest_at_the_same_rate(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[200];
		tell(rows[i].progress, rows[i].spent_s, rows[i].before, rows[i].done, rows[i].count,
		     text, sizeof text);
		CHECK_TEXT(text, rows[i].text);
	}
}

static const struct test tests[] = {
	TEST(time_left_is_that_of_the_rest_at_the_same_rate),
};

int main(void)
{
	return TEST_MAIN(tests);
}
