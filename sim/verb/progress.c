/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/progress.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* FIRST_S: work that takes less time is not reported. */
static const double TERMINAL_EVERY_S = 0.2, LOG_EVERY_S = 10, FIRST_S = 1;

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct progress progress_new(const char *things, const char *from, bool quiet)
{
	return (struct progress){.things = things,
				 .from = from,
				 .quiet = quiet,
				 .terminal = isatty(STDERR_FILENO),
				 .made_s = now_s()};
}

/* Prints a time, for example "8 s", "3 min 20 s" or "2 h 5 min". */
static void put_time(double seconds)
{
	unsigned long whole = (unsigned long)fmin(ceil(seconds), 1e9);
	if (whole < 60)
		fprintf(stderr, "%lu s", whole);
	else if (whole < 3600)
		fprintf(stderr, "%lu min %lu s", whole / 60, whole % 60);
	else
		fprintf(stderr, "%lu h %lu min", whole / 3600, whole % 3600 / 60);
}

/* Starts the clock when this run has done its first point. */
static void begin(struct progress *p, size_t before, size_t count)
{
	p->began_s = now_s();
	if (!p->begun)
		p->told_s = p->began_s;
	p->begun = true;
	if (before > 0 && p->from)
		fprintf(stderr, "continuing after %zu of %zu %s in %s\n", before, count, p->things,
			p->from);
}

void progress_tell(void *ctx, size_t before, size_t done, size_t count)
{
	struct progress *p = ctx;
	if (p->quiet || done == before)
		return;
	if (!p->begun || done < p->done)
		begin(p, before, count);
	p->done = done;
	double now = now_s(), spent_s = now - p->began_s;
	bool over = done == count;
	if (now - p->told_s < (p->terminal ? TERMINAL_EVERY_S : LOG_EVERY_S) &&
	    !(over && p->terminal && p->shown))
		return;
	if (now - p->made_s < FIRST_S)
		return;
	p->told_s = now;
	p->shown = true;
	double rate = (double)(done - before) / fmax(spent_s, 1e-9);
	fprintf(stderr, "%s%zu of %zu %s", p->terminal ? "\r\033[K" : "", done, count, p->things);
	if (spent_s > 0.1) {
		fprintf(stderr, rate < 1e3 ? ", %.3g per second, " : ", %.0f per second, ", rate);
		put_time(over ? spent_s : (double)(count - done) / rate);
		fputs(over ? "" : " left", stderr);
	}
	if (!p->terminal)
		fputc('\n', stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->terminal && progress->shown)
		fputc('\n', stderr);
	progress->shown = false;
}
