/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a configuration gives a tree that can be walked, or errors with their place. */
#include "sim/cfg/cfg.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

static void walk(struct arena *arena, const struct cfg_node *node, unsigned depth)
{
	double number;
	bool flag;
	FUZZ_CHECK(depth <= 70);
	FUZZ_CHECK(cfg_origin(node).line >= 0);
	if (cfg_number(node, &number))
		FUZZ_CHECK(isfinite(number));
	if (cfg_is_group(node) || cfg_is_list(node))
		FUZZ_CHECK(!cfg_text(node) && !cfg_bool(node, &flag) &&
			   !cfg_scalar_text(arena, node));
	else
		FUZZ_CHECK(cfg_scalar_text(arena, node) != NULL);
	for (size_t i = 0; i < cfg_count(node); i++) {
		const struct cfg_node *child = cfg_at(node, i);
		if (cfg_is_group(node))
			FUZZ_CHECK(cfg_child(node, cfg_name(child)) == child);
		walk(arena, child, depth + 1);
	}
}

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const char *text = fuzz_text(arena, data, size_B);
	const struct cfg_node *root = cfg_read_text(arena, diag, "fuzz.cfg", text);
	FUZZ_CHECK_ANSWER(root, diag);
	if (root)
		walk(arena, root, 0);
	arena_free(arena);
}
