/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topologies of other tools, up to two files that a line "---" divides. The importer
 * writes a configuration of farwire. */
#include "sim/cfg/cfg.h"
#include "sim/import/topology.h"
#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	char *text = fuzz_text(arena, data, size_B);
	const char *first = fuzz_part(&text), *second = text;
	const char *paths[] = {fuzz_file(arena, "1.txt", first, strlen(first)),
			       fuzz_file(arena, "2.txt", second, strlen(second))};
	struct imported imported;
	bool read = import_topology.files(arena, diag, paths, second[0] ? 2 : 1, &imported);
	FUZZ_CHECK_ANSWER(read ? &imported : NULL, diag);
	if (read) {
		FILE *out = fuzz_create(arena, "x.cfg");
		imported.write(out, imported.ctx);
		FUZZ_CHECK(fclose(out) == 0);
		const struct cfg_node *file = cfg_read(arena, diag, fuzz_path(arena, "x.cfg"));
		diag_print(diag, stdout);
		FUZZ_CHECK(file != NULL);
	}
	FUZZ_CHECK(arena_used_B(arena) < (size_t)1 << 28);
	arena_free(arena);
}
