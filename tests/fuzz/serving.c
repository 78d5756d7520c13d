/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts and files of model servers and pipelines; the first byte selects the reader: a list of
 * requests, stages of an arrival rate, the layout of a pipeline, or results of a benchmark. */
#include "sim/cfg/cfg.h"
#include "sim/import/importer.h"
#include "sim/serving/requests.h"
#include "sim/training/plan.h"
#include "tests/fuzz/fuzz.h"

static void list(struct arena *arena, const uint8_t *data, size_t size_B)
{
	struct diag *diag = diag_new(arena);
	const char *path = fuzz_file(arena, "x.tsv", data, size_B);
	struct request_list read = requests_read(arena, diag, (struct origin){path, 0}, path, 0);
	FUZZ_CHECK_ANSWER(read.count > 0 ? &read : NULL, diag);
	for (size_t i = 0; i < read.count; i++) {
		const struct serve_request *request = &read.items[i];
		FUZZ_CHECK(i == 0 || request->arrival_ps >= request[-1].arrival_ps);
		FUZZ_CHECK(request->arrival_ps >= 0 && request->prompt > 0 && request->output > 0);
		FUZZ_CHECK(request->shared <= request->prompt);
	}
}

/* Requests arrive in order, and a sequence of 100 tokens has room for each. */
static void stages(struct arena *arena, const uint8_t *data, size_t size_B)
{
	const char *text = fuzz_text(arena, data, size_B);
	if (requests_stages(arena, text).count == 0)
		return;
	const struct serve_params params = {.stages = text,
					    .spread_ratio = 1,
					    .requests_count = 50,
					    .prompt_count = 512,
					    .output_count = 128,
					    .output_spread_ratio = 1};
	struct request_list drawn = requests_draw(arena, &params, 1, "fuzz", 100);
	for (size_t i = 0; i < drawn.count; i++) {
		const struct serve_request *request = &drawn.items[i];
		FUZZ_CHECK(i == 0 || request->arrival_ps >= request[-1].arrival_ps);
		FUZZ_CHECK(request->arrival_ps >= 0 && request->prompt + request->output <= 100);
	}
}

static void layout(struct arena *arena, const uint8_t *data, size_t size_B)
{
	const char *text = fuzz_text(arena, data, size_B), *why = NULL;
	size_t parts = plan_layout_parts(arena, text, &why), blocks = 0;
	FUZZ_CHECK((parts == 0) == (why != NULL));
	for (size_t all = 0; parts > 0 && all < 20; all++) {
		const size_t *counts = plan_layout(arena, text, parts, all, &why);
		FUZZ_CHECK((counts == NULL) == (why != NULL));
		blocks = 0;
		for (size_t i = 0; counts && i < parts; i++)
			blocks += counts[i];
		FUZZ_CHECK(!counts || blocks == all);
	}
}

/* A dataset that the importer writes is a configuration. */
static void bench(struct arena *arena, const uint8_t *data, size_t size_B)
{
	struct diag *diag = diag_new(arena);
	const char *path = fuzz_file(arena, "x.json", data, size_B);
	struct imported imported;
	bool read = import_bench.files(arena, diag, &path, 1, &imported);
	FUZZ_CHECK_ANSWER(read ? &imported : NULL, diag);
	if (!read)
		return;
	FILE *out = fuzz_create(arena, "x.cfg");
	imported.write(out, imported.ctx);
	FUZZ_CHECK(fclose(out) == 0);
	const struct cfg_node *file = cfg_read(arena, diag, fuzz_path(arena, "x.cfg"));
	diag_print(diag, stdout);
	FUZZ_CHECK(file != NULL);
}

FUZZ_TARGET(data, size_B)
{
	static void (*const readers[])(struct arena * arena, const uint8_t *data,
				       size_t size_B) = {list, stages, layout, bench};
	if (size_B == 0)
		return;
	struct arena *arena = arena_new();
	readers[data[0] % 4](arena, data + 1, size_B - 1);
	FUZZ_CHECK(arena_used_B(arena) < (size_t)1 << 28);
	arena_free(arena);
}
