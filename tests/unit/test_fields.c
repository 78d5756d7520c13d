/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of result fields: copies are complete, docs/formats.md lists every row, and files
 * without them are refused. */
#include "tests/test.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/analysis/sweep_queue.h"
#include "sim/result/field.h"

static const char *json_of(struct arena *arena, const struct prediction *prediction)
{
	char *text = NULL;
	size_t size_B = 0;
	FILE *memory = open_memstream(&text, &size_B);
	predictions_write(memory, FORMAT_JSONL, &prediction, 1);
	fclose(memory);
	const char *copy = arena_strdup(arena, text);
	free(text);
	return copy;
}

/* Gives every text of the record its own memory, which contains the field's key. */
static void fill_texts(struct arena *arena, struct fields fields, void *record)
{
	for (size_t i = 0; i < fields.count; i++)
		if (fields.rows[i].type == FIELD_TEXT)
			*(const char **)(void *)((char *)record + fields.rows[i].offset) =
				arena_printf(arena, "text of %s", fields.rows[i].json);
}

static void wipe_texts(struct fields fields, void *record)
{
	for (size_t i = 0; i < fields.count; i++)
		if (fields.rows[i].type == FIELD_TEXT) {
			char *text = *(char **)(void *)((char *)record + fields.rows[i].offset);
			memset(text, 'x', strlen(text));
		}
}

/* The copy must not change when every text and every list of the original is overwritten. */
static void copied_prediction_is_independent_of_the_original(void)
{
	struct arena *arena = arena_new(), *kept = arena_new();
	char kernel[] = "kernel";
	struct breakdown_part drawn[] = {{kernel, 1}, {kernel, 2}};
	struct job_prediction client = {.ok = false};
	struct link_prediction link = {.utilization = 0.5};
	struct call_prediction call = {.waited_s = 0.25};
	struct breakdown_part part = {kernel, 1};
	struct stage_prediction stage = {.parts = &part, .part_count = 1};
	struct prediction original = {.jobs = &client,
				      .job_count = 1,
				      .links = &link,
				      .link_count = 1,
				      .waiting_calls = &call,
				      .waiting_call_count = 1,
				      .gpu_count = 2,
				      .stages = &stage,
				      .stage_count = 1,
				      .breakdown = &part,
				      .breakdown_count = 1,
				      .drawn = drawn,
				      .drawn_count = 2};
	fill_texts(arena, prediction_fields, &original);
	fill_texts(arena, job_fields, &client);
	fill_texts(arena, link_fields, &link);
	fill_texts(arena, call_fields, &call);
	fill_texts(arena, stage_fields, &stage);
	const struct prediction *copy = prediction_copy(kept, NULL, &original);
	const char *before = json_of(arena, &original);
	wipe_texts(prediction_fields, &original);
	wipe_texts(job_fields, &client);
	wipe_texts(link_fields, &link);
	wipe_texts(call_fields, &call);
	wipe_texts(stage_fields, &stage);
	memset(kernel, 'x', strlen(kernel));
	client = (struct job_prediction){.ok = true};
	link.utilization = 1;
	call.waited_s = 1;
	drawn[1].seconds = 0;
	CHECK(strstr(before, "text of transport") && strstr(before, "text of gpu"));
	CHECK_TEXT(json_of(arena, copy), before);
	CHECK_NEAR(copy->drawn[1].seconds, 2, 0);
	arena_free(arena);
	arena_free(kept);
}

/* The point outlives the line that it was read from. */
static void sweep_point_keeps_its_texts_after_its_line_is_freed(void)
{
	static const char line[] =
		"{\"point\":0,\"prediction\":{\"case\":\"c\",\"verdict\":\"ok\","
		"\"throughput\":{},\"step\":{},\"ratio\":{},\"gpu_utilization\":{},"
		"\"bottleneck\":\"network\",\"transport\":\"tcp\"}}\n";
	struct arena *arena = arena_new();
	const struct sweep_task task = {.point_count = 1};
	const struct prediction *points[1] = {0};
	struct sweep_queue queue = {
		.arena = arena, .task = &task, .points = points, .bad = SIZE_MAX};
	pthread_mutex_init(&queue.lock, NULL);
	mallopt(M_PERTURB, 0xa5); /* freed memory gets another content */
	queue_put(&queue, line, sizeof line - 1, false);
	mallopt(M_PERTURB, 0);
	CHECK(points[0] != NULL);
	CHECK_TEXT(points[0]->setup.transport, "tcp");
	CHECK_TEXT(points[0]->bottleneck, "network");
	pthread_mutex_destroy(&queue.lock);
	arena_free(arena);
}

static const char *file_text(struct arena *arena, const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = arena_alloc(arena, 1 << 20);
	CHECK(file != NULL);
	if (file) {
		CHECK(fread(text, 1, (1 << 20) - 1, file) > 0);
		fclose(file);
	}
	return text;
}

static const char *unit_text(struct arena *arena, const struct field *field)
{
	if (!field->unit[0] || !field->unit[0][0])
		return "";
	const char *text = "";
	for (size_t i = 0; i < sizeof field->unit / sizeof field->unit[0]; i++)
		if (field->unit[i])
			text = arena_printf(arena, "%s%s`%s`", text, i ? ", " : "", field->unit[i]);
	return text;
}

/* A failure prints the line that is missing in docs/formats.md. */
static void formats_page_lists_every_field(void)
{
	static const char *const types[] = {
		[FIELD_TEXT] = "text",
		[FIELD_VERDICT] = "text",
		[FIELD_COUNT] = "count",
		[FIELD_NUMBER] = "number",
		[FIELD_ESTIMATE] = "estimate",
		[FIELD_VERSION] = "text",
		[FIELD_PARTS] = "object of numbers",
		[FIELD_LIST] = "array",
		[FIELD_PARAMETERS] = "array",
	};
	struct arena *arena = arena_new();
	const char *text = file_text(arena, "docs/formats.md");
	const struct fields all[] = {prediction_fields, job_fields,   link_fields,
				     call_fields,       stage_fields, error_fields};
	for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
		const char *at = text;
		for (size_t i = 0; i < all[k].count; i++) {
			const struct field *field = &all[k].rows[i];
			if (!field->json)
				continue;
			const char *line = arena_printf(arena, "\n| `%s` | %s | %s | %s |\n",
							field->json, types[field->type],
							unit_text(arena, field), field->help);
			const char *found = strstr(at, line);
			if (!CHECK(found != NULL))
				printf("  docs/formats.md lacks, in this place: %s", line + 1);
			else
				at = found + strlen(line) - 1;
		}
	}
	arena_free(arena);
}

static void malformed_result_files_are_refused(void)
{
	static const struct {
		const char *text, *complaint;
	} rows[] = {
		{"", "the file contains no prediction"},
		{"[\n\n{\"case\": \"a\" \"b\"}]", ":3: the file is not JSON"},
		{"[]", "the file contains no prediction"},
		{"{\"datasets\": []}", "'case' must be a text"},
		{"{\"case\": \"a\", \"verdict\": \"maybe\"}", "must be 'ok' or 'fail'"},
		{"[1]", "'case'"},
	};
	char path[] = "/tmp/farwire-test-XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	struct arena *arena = arena_new();
	size_t count;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		FILE *file = fopen(path, "w");
		fputs(rows[i].text, file);
		fclose(file);
		struct diag *diag = diag_new(arena);
		CHECK(predictions_read(arena, diag, path, &count) == NULL);
		CHECK(diag_count(diag) > 0 && strstr(diag_at(diag, 0), rows[i].complaint) != NULL);
	}
	unlink(path);
	struct diag *diag = diag_new(arena);
	CHECK(predictions_read(arena, diag, path, &count) == NULL);
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "No such file") != NULL);
	CHECK(predictions_read(arena, diag, "/", &count) == NULL);
	CHECK(diag_count(diag) == 2 && strstr(diag_at(diag, 1), "directory") != NULL);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(copied_prediction_is_independent_of_the_original),
	TEST(sweep_point_keeps_its_texts_after_its_line_is_freed),
	TEST(formats_page_lists_every_field),
	TEST(malformed_result_files_are_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
