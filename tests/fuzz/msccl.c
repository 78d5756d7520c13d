/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms of MSCCL are refused, or give a schedule whose steps follow what they depend on. */
#include "sim/collective/msccl.h"
#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct msccl *msccl = msccl_read(arena, diag, (struct origin){"--set", 0},
					       fuzz_file(arena, "x.xml", data, size_B));
	FUZZ_CHECK_ANSWER(msccl, diag);
	for (size_t i = 0; msccl && i < msccl->schedule->step_count; i++) {
		const struct schedule_step *step = &msccl->schedule->steps[i];
		FUZZ_CHECK(step->kind == STEP_COPY || step->kind == STEP_SEND || step->source < i);
		for (uint32_t k = 0; k < step->after_count; k++)
			FUZZ_CHECK(msccl->schedule->after[step->after_first + k] < i);
	}
	FUZZ_CHECK(arena_used_B(arena) < (size_t)1 << 28);
	arena_free(arena);
}
