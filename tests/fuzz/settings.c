/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations of other tools; the first byte selects the importer and the format. An
 * importer writes a configuration of farwire. */
#include "sim/cfg/cfg.h"
#include "sim/import/settings.h"
#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(data, size_B)
{
	static const char *const names[] = {"x.json", "x.toml", "x.sh"};
	if (size_B == 0)
		return;
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct importer *importer = data[0] & 1 ? &import_plan : &import_model;
	const char *path = fuzz_file(arena, names[data[0] / 2 % 3], data + 1, size_B - 1);
	struct imported imported;
	bool read = importer->files(arena, diag, &path, 1, &imported);
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
