/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/progress.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "calib/sample/clock.h"

/* FIRST_S: work that takes less time is not reported. */
static const double TERMINAL_EVERY_S = 0.2, LOG_EVERY_S = 10, FIRST_S = 1;
enum { TICK_S = 1, FIRST_TICKS = 2, LOG_TICKS = 10, STACK_B = 1 << 18 };

/* ---- a thread that counts seconds and takes interrupts ---- */

struct watcher {
	pthread_t thread;
	sigset_t interrupts, before; /* before: the mask of the program's thread */
	atomic_int waited_s;         /* -1: the first point is done */
	atomic_bool ended;
	bool terminal;
	char from[PATH_MAX]; /* file with the points of this run; "": none */
};

static void tick(struct watcher *w)
{
	int waited_s = atomic_load(&w->waited_s);
	if (waited_s < 0 || !atomic_compare_exchange_strong(&w->waited_s, &waited_s, waited_s + 1))
		return;
	if (++waited_s < FIRST_TICKS || (!w->terminal && waited_s % LOG_TICKS != 0))
		return;
	dprintf(STDERR_FILENO, "%sworking for %d s, without a result yet%s",
		w->terminal ? "\r\033[K" : "", waited_s, w->terminal ? "" : "\n");
}

/* Returns whether this program ignores the signal. A shell does so for SIGINT and work in its
 * background. */
static bool is_ignored(int number)
{
	struct sigaction action;
	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void *watch(void *ctx)
{
	struct watcher *w = ctx;
	const struct timespec second = {TICK_S, 0};
	for (;;) {
		int number = sigtimedwait(&w->interrupts, NULL, &second);
		if (atomic_load(&w->ended))
			return NULL;
		if (number > 0 && !is_ignored(number)) {
			bool kept = w->from[0] && access(w->from, F_OK) == 0;
			dprintf(STDERR_FILENO, "%sfarwire: interrupted; %s%s\n",
				w->terminal ? "\n" : "",
				kept ? "the same command goes on from " : "nothing was written",
				kept ? w->from : "");
			pthread_sigmask(SIG_UNBLOCK, &w->interrupts, NULL);
			raise(number);
		}
		tick(w);
	}
}

/* Returns NULL without memory or threads: the program goes on without. */
static struct watcher *watcher_new(const struct progress *p)
{
	struct watcher *w = calloc(1, sizeof *w);
	pthread_attr_t attributes;
	if (!w)
		return NULL;
	w->terminal = p->terminal;
	snprintf(w->from, sizeof w->from, "%s", p->from ? p->from : "");
	sigemptyset(&w->interrupts);
	sigaddset(&w->interrupts, SIGINT);
	sigaddset(&w->interrupts, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &w->interrupts, &w->before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_B);
	bool good = pthread_create(&w->thread, &attributes, watch, w) == 0;
	pthread_attr_destroy(&attributes);
	if (good)
		return w;
	pthread_sigmask(SIG_SETMASK, &w->before, NULL);
	free(w);
	return NULL;
}

/* Returns whether seconds were printed. */
static bool watcher_free(struct watcher *w)
{
	if (!w)
		return false;
	atomic_store(&w->ended, true);
	pthread_kill(w->thread, SIGINT); /* wakes the thread */
	pthread_join(w->thread, NULL);
	pthread_sigmask(SIG_SETMASK, &w->before, NULL);
	bool printed = atomic_load(&w->waited_s) >= FIRST_TICKS;
	free(w);
	return printed;
}

/* ---- texts ---- */

struct progress progress_new(const char *things, const char *from, bool quiet)
{
	struct progress progress = {.things = things,
				    .from = from,
				    .quiet = quiet,
				    .terminal = isatty(STDERR_FILENO),
				    .made_s = clock_now_s()};
	if (!quiet)
		progress.watcher = watcher_new(&progress);
	return progress;
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

void progress_tell(void *ctx, size_t before, size_t done, size_t count)
{
	struct progress *p = ctx;
	if (p->quiet || done == before)
		return;
	if (!p->begun || done < p->done) {
		/* A series of points begins with the work, or where the last series ended. */
		p->began_s = p->begun ? p->called_s : p->made_s;
		if (p->watcher)
			atomic_store(&p->watcher->waited_s, -1);
		if (!p->begun)
			p->printed_s = clock_now_s();
		p->begun = true;
		if (before > 0 && p->from)
			fprintf(stderr, "continuing after %zu of %zu %s in %s\n", before, count,
				p->things, p->from);
	}
	p->done = done;
	double now = clock_now_s(), spent_s = now - p->began_s;
	p->called_s = now;
	bool over = done == count;
	if (now - p->printed_s < (p->terminal ? TERMINAL_EVERY_S : LOG_EVERY_S) &&
	    !(over && p->terminal && p->shown))
		return;
	if (now - p->made_s < FIRST_S)
		return;
	p->printed_s = now;
	p->shown = true;
	if (p->best && p->best != p->told)
		fprintf(stderr, "%sfastest so far: %s, %.4g s a step\n",
			p->terminal ? "\r\033[K" : "", p->best, p->best_s);
	p->told = p->best;
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

void progress_best(void *ctx, const char *name, double step_s)
{
	struct progress *p = ctx;
	p->best = name;
	p->best_s = step_s;
}

void progress_end(struct progress *progress)
{
	bool printed = watcher_free(progress->watcher);
	if (progress->terminal && (progress->shown || printed))
		fputs(progress->shown ? "\n" : "\r\033[K", stderr);
	progress->watcher = NULL;
	progress->shown = false;
}
