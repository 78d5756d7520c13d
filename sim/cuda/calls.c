/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "sim/base/diag.h"
#include "sim/cuda/cuda.h"

/* Rows are found by kind, so their order has no effect. The assertion below finds a missing one. */
static const char *const call_names[CALL_KIND_COUNT] = {
#define CALL_ROW(kind, name, cost, action) [CALL_##kind] = name,
#include "sim/cuda/cuda_call_kinds.def"
#undef CALL_ROW
};

enum {
	CALL_ROW_COUNT = 0
#define CALL_ROW(kind, name, cost, action) +1
#include "sim/cuda/cuda_call_kinds.def"
#undef CALL_ROW
};
_Static_assert((int)CALL_ROW_COUNT == (int)CALL_KIND_COUNT, "one row for each kind of call");

const char *call_kind_name(enum call_kind kind)
{
	FW_ASSERT((unsigned)kind < CALL_KIND_COUNT);
	return call_names[kind];
}
