/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case file, its topology (own.cfg), and a file that either may include (part.cfg), separated by
 * lines "---". They are read as `farwire run` reads them, with tiny files instead of the shipped
 * ones. */
#include "sim/scenario/scenario.h"
#include "tests/fuzz/tiny_root.h"

#include <math.h>

static void check_parameters(const struct cfg_resolution *resolution)
{
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *param = cfg_param_at(resolution, i);
		FUZZ_CHECK(param->path && param->row && param->status && param->note);
		if (param->row->kind == PARAM_KIND_NUMBER)
			FUZZ_CHECK(isfinite(param->value) && param->value >= param->row->min &&
				   param->value <= param->row->max);
	}
}

FUZZ_TARGET(data, size_B)
{
	static const char *const names[] = {"case.cfg", "own.cfg", "part.cfg"};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct case_request request = {.data_root = tiny_root(arena)};
	char *text = fuzz_text(arena, data, size_B);
	for (size_t i = 0; i < 3; i++) {
		const char *part = fuzz_part(&text);
		const char *path = fuzz_file(arena, names[i], part, strlen(part));
		request.path = i == 0 ? path : request.path;
	}
	const struct scenario *scenario = case_read(arena, diag, &request);
	FUZZ_CHECK_ANSWER(scenario, diag);
	if (scenario) {
		FUZZ_CHECK(scenario->job_count > 0);
		check_parameters(scenario->resolution);
	}
	arena_free(arena);
}
