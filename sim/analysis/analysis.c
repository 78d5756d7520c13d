/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/analysis.h"

#include "sim/base/arena.h"

struct analysis_input analysis_with_calls(struct analysis_input input,
					  const struct scenario *scenario)
{
	if (scenario && scenario->jobs[0].recorded)
		input.request.calls = scenario->jobs[0].recorded->calls;
	return input;
}
