/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kind of call that the simulator uses for a recorded function.
 *
 * CUDA has some nine hundred functions in two interfaces; the simulator has one kind of call
 * for each way to cost time. functions.def maps the names. Copies have no row: their direction
 * follows from what they did, not from their name. */
#ifndef FARWIRE_TRACES_FUNCTIONS_H
#define FARWIRE_TRACES_FUNCTIONS_H

#include "sim/traces/recorded.h"
#include "sim/cuda/cuda.h"

enum function_host { HOST_ROW, HOST_OWN };

struct function_use {
	enum call_kind kind;
	enum function_host host;
};

/* Never fails: the last row fits everything. */
struct function_use function_use(const struct recorded_call *call);
/* Names a CUDA call: cuda..., cu... with a capital after it. */
bool function_is_cuda(const char *name);

#endif
