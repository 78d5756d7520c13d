/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/measures.h"

#include "sim/base/arena.h"
#include "sim/predict/draws.h"
#include "sim/analysis/knobs.h"

static const struct {
	const char *path, *words;
} measures[] = {
#define MEASURE(path, words) {path, words},
#include "sim/report/measures.def"
#undef MEASURE
};

const char *measure_of(const char *path)
{
	for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++)
		if (paths_match(measures[i].path, path))
			return measures[i].words;
	return NULL;
}

const char *model_error_words(struct arena *arena, const struct scenario *scenario,
			      const struct reported *reported, struct estimate now)
{
	struct estimate alone = error_alone(scenario->error, now.value);
	struct reported bare = *reported;
	bare.unit = NULL;
	if (reported->part || !(now.low < now.high) || !(alone.low < alone.high))
		return "";
	return arena_printf(arena,
			    " The model error, which no such measurement narrows, gives %s to %s "
			    "even without uncertain parameters.",
			    reported_text(arena, &bare, alone.low),
			    reported_text(arena, reported, alone.high));
}
