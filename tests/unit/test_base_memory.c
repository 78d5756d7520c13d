/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "tests/test.h"

static void allocations_are_zeroed_aligned_and_distinct(void)
{
	struct arena *arena = arena_new();
	unsigned char *before = NULL;
	for (size_t size = 0; size < 300000; size = size * 2 + 1) {
		unsigned char *bytes = arena_alloc(arena, size);
		CHECK((uintptr_t)bytes % 16 == 0);
		CHECK(bytes != before);
		bool zero = true;
		for (size_t i = 0; i < size; i++)
			zero = zero && bytes[i] == 0;
		CHECK(zero);
		memset(bytes, 0xff, size);
		before = bytes;
	}
	arena_free(arena);
	arena_free(NULL);
}

static void used_bytes_are_the_sum_of_rounded_sizes(void)
{
	struct arena *arena = arena_new();
	CHECK(arena_used_B(arena) == 0);
	for (int i = 0; i < 1000; i++)
		arena_alloc(arena, 100); /* rounded up to 112, a multiple of 16 */
	CHECK(arena_used_B(arena) == 112000);
	arena_free(arena);
}

static void texts_are_copied_into_the_arena(void)
{
	struct arena *arena = arena_new();
	char text[] = "wire";
	char *copy = arena_strdup(arena, text);
	char *made = arena_printf(arena, "%s-%d", text, 42);
	text[0] = 'x';
	CHECK_TEXT(copy, "wire");
	CHECK_TEXT(made, "wire-42");
	arena_free(arena);
}

/* A long text is first formatted in the current block, whose rest must be zero again afterwards. */
static void long_text_leaves_the_current_block_zeroed(void)
{
	for (int length = 8000; length < 40000; length += 8000) {
		struct arena *arena = arena_new();
		arena_strdup(arena, "first");
		const char *text = arena_printf(arena, "%0*d", length, 7);
		CHECK(strlen(text) == (size_t)length && text[0] == '0' && text[length - 1] == '7');
		bool zero = true;
		for (int i = 0; i < 2000; i++) {
			const char *byte = arena_alloc(arena, 1);
			zero = zero && *byte == 0;
		}
		CHECK(zero);
		arena_free(arena);
	}
}

static void vector_keeps_its_items_when_it_grows(void)
{
	struct arena *arena = arena_new();
	VEC(int) numbers = {0};
	for (int i = 0; i < 1000; i++)
		*VEC_PUSH(arena, &numbers) = i;
	CHECK(numbers.count == 1000);
	int sum = 0;
	for (size_t i = 0; i < numbers.count; i++)
		sum += numbers.items[i];
	CHECK(sum == 499500);
	arena_free(arena);
}

static void error_text_begins_with_file_and_line(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	diag_error(diag, (struct origin){"a.cfg", 12}, "link '%s': is odd", "wire");
	diag_error(diag, (struct origin){"--set", 0}, "no '='");
	diag_error(diag, (struct origin){NULL, 0}, "nothing given");
	CHECK(diag_count(diag) == 3);
	CHECK_TEXT(diag_at(diag, 0), "a.cfg:12: link 'wire': is odd");
	CHECK_TEXT(diag_at(diag, 1), "--set: no '='");
	CHECK_TEXT(diag_at(diag, 2), "nothing given");
	arena_free(arena);
}

static void only_twenty_errors_are_kept_but_all_are_counted(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	for (int i = 1; i <= 25; i++)
		diag_error(diag, (struct origin){"a", i}, "x");
	CHECK(diag_count(diag) == 25);
	CHECK_TEXT(diag_at(diag, 19), "a:20: x");
	FILE *out = tmpfile();
	char text[400] = "";
	if (CHECK(out != NULL)) {
		diag_print(diag, out);
		rewind(out);
		text[fread(text, 1, sizeof text - 1, out)] = '\0';
		fclose(out);
	}
	CHECK(strstr(text, "a:20: x\n... and 5 more\n") != NULL);
	CHECK(strstr(text, "a:21") == NULL);
	arena_free(arena);
}

static void an_error_that_repeats_is_kept_once(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	for (int i = 0; i < 3; i++)
		diag_error(diag, (struct origin){"a", 1}, "x");
	diag_error(diag, (struct origin){"a", 2}, "x\ty\x7fz");
	CHECK(diag_count(diag) == 2);
	CHECK_TEXT(diag_at(diag, 1), "a:2: x y z"); /* control characters become blanks */
	arena_free(arena);
}

static const char *nearest(const char *word)
{
	static const char *const known[] = {"bandwidth", "latency", "mtu", "loss", "queue"};
	return diag_nearest(word, known, sizeof known / sizeof known[0]);
}

static void typing_errors_suggest_the_nearest_word(void)
{
	CHECK_TEXT(nearest("bandwith"), "bandwidth");
	CHECK_TEXT(nearest("Latency"), "latency");
	CHECK_TEXT(nearest("latnecy"), "latency"); /* swapping neighbours is one edit */
	CHECK_TEXT(nearest("mut"), "mtu");
	CHECK_TEXT(nearest("los"), "loss");
	CHECK_TEXT(nearest("band"), "bandwidth"); /* the beginning, no typing error */
	CHECK(nearest("enc") == NULL);
	CHECK(nearest("colour") == NULL);
	CHECK(nearest("xyz") == NULL);
	CHECK(nearest("") == NULL);
	CHECK(diag_nearest("ab", (const char *const[]){"b"}, 1) == NULL); /* one edit, one letter */
	CHECK(diag_nearest("x", (const char *const[]){"yx"}, 1) == NULL);
	char endless[400];
	memset(endless, 'a', sizeof endless - 1);
	endless[sizeof endless - 1] = '\0';
	CHECK(nearest(endless) == NULL);
	CHECK_TEXT(nearest("quxxe"), "queue"); /* two edits of five letters */
	/* the shortest word that begins with "h100" or has it after a hyphen; a beginning is better
	 */
	static const char *const named[] = {"ml-h100-sxm", "ml-h100", "mlh100", "h100-pcie-96"};
	CHECK_TEXT(diag_nearest("h100", named, 2), "ml-h100");
	CHECK_TEXT(diag_nearest("h100", named, 4), "h100-pcie-96");
	CHECK(diag_nearest("h100", named + 2, 1) == NULL);
	/* words of more than 127 bytes are not compared */
	const char *long_word = endless + sizeof endless - 1 - 128, *const known[] = {long_word};
	CHECK(diag_nearest(long_word + 1, known, 1) == NULL);
}

/* A rank that keeps the messages of its verb in memory ends with these messages in its log. */
static void a_message_of_the_end_is_printed_while_stderr_is_in_memory(void)
{
	static const char *const parts[] = {"violated at file.c:7: a > b", "out of memory"};
	for (int i = 0; i < 2; i++) {
		int ends[2];
		char text[256] = "", *kept = NULL;
		size_t kept_B = 0;
		if (!CHECK(pipe(ends) == 0))
			return;
		pid_t child = fork();
		if (child == 0) {
			setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
			dup2(ends[1], STDERR_FILENO);
			stderr = open_memstream(&kept, &kept_B);
			if (i == 0)
				fw_assert_failed("a > b", "file.c", 7);
			arena_out_of_memory();
		}
		close(ends[1]);
		CHECK(read(ends[0], text, sizeof text - 1) > 0);
		close(ends[0]);
		waitpid(child, NULL, 0);
		CHECK_PART(text, parts[i]);
	}
}

static const struct test tests[] = {
	TEST(a_message_of_the_end_is_printed_while_stderr_is_in_memory),
	TEST(allocations_are_zeroed_aligned_and_distinct),
	TEST(used_bytes_are_the_sum_of_rounded_sizes),
	TEST(texts_are_copied_into_the_arena),
	TEST(long_text_leaves_the_current_block_zeroed),
	TEST(vector_keeps_its_items_when_it_grows),
	TEST(error_text_begins_with_file_and_line),
	TEST(only_twenty_errors_are_kept_but_all_are_counted),
	TEST(an_error_that_repeats_is_kept_once),
	TEST(typing_errors_suggest_the_nearest_word),
};

int main(void)
{
	return TEST_MAIN(tests);
}
