/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/caption.h"

#include "sim/base/arena.h"
#include "sim/result/result.h"

const char *caption_text(struct arena *arena, const struct caption *caption)
{
	const char *draws = caption->draws ? arena_printf(arena, "90 %% intervals from %zu draws",
							  caption->draws)
					   : "no intervals";
	return arena_printf(arena, "farwire %s%s%s, seed %llu, %s%s", FARWIRE_VERSION,
			    caption->subject ? ", " : "", caption->subject ? caption->subject : "",
			    (unsigned long long)caption->seed, draws, caption->settings);
}
