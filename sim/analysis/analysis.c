/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/analysis.h"

#include <string.h>

#include "sim/base/arena.h"

struct case_request request_with(struct arena *arena, const struct case_request *request,
				 const struct setting *settings, size_t count)
{
	struct case_request with = *request;
	struct setting *all = ARENA_ARRAY(arena, request->setting_count + count, struct setting);
	if (request->setting_count)
		memcpy(all, request->settings, request->setting_count * sizeof *all);
	if (count)
		memcpy(all + request->setting_count, settings, count * sizeof *all);
	with.settings = all;
	with.setting_count += count;
	return with;
}

struct analysis_input analysis_with_calls(struct analysis_input input,
					  const struct scenario *scenario)
{
	if (scenario && scenario->jobs[0].recorded)
		input.request.calls = scenario->jobs[0].recorded->calls;
	return input;
}
