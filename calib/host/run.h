/* SPDX-License-Identifier: Apache-2.0 */
/* A run of the host probes, and the server for a run on another machine: all of
 * `farwire probe host` but its words. */
#ifndef FARWIRE_CALIB_HOST_RUN_H
#define FARWIRE_CALIB_HOST_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_QUICK_S      60.0
#define HOST_FULL_S       600.0
#define HOST_QUICK_PASSES 3
#define HOST_FULL_PASSES  10

struct host_run_options {
	const char *only;    /* "tcp.roundtrip,rpc": tests, or variants; NULL: all */
	const char *connect; /* ADDRESS[:PORT] of a server; NULL: one of our own */
	const char *scratch; /* folder, or the file that is read; NULL: $TMPDIR or /tmp */
	const char *output;  /* NULL: standard output */
	const char *resume;  /* goes on with that recording, whose settings hold */
	bool full, quiet;
	uint64_t seed;
	double budget_s; /* 0: the mode's */
};
/* 0; 1 after an error or an interruption, 2 for options that are wrong; it says
 * why on stderr. */
int host_run(const struct host_run_options *options);

/* Serves one peer; the same codes. */
int host_serve(const char *address, bool quiet);

#endif
