/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the host probes. The verb `farwire probe host` only parses the options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_QUICK_S      60.0
#define HOST_FULL_S       600.0
#define HOST_QUICK_PASSES 3
#define HOST_FULL_PASSES  10

struct host_run_options {
	const char *output; /* NULL: standard output */
	const char *resume; /* recording to continue, whose settings apply */
	bool full, quiet;
	uint64_t seed;
	double budget_s; /* 0: the mode's default */
};
/* Runs the probes. Returns 0, 1 after an error or an interruption, or 2 for wrong options; stderr
 * has the reason. */
int host_run(const struct host_run_options *options);
