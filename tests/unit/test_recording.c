/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading recordings: accepted content, refused content, and the place in the message. */
#include "calib/fit/recording.h"

#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "tests/much_memory.h"
#include "tests/test.h"

#define HEAD                                                                                       \
	"{\"format\":\"farwire-samples\",\"version\":1,\"tool\":\"t\",\"date\":\"d\",\"seed\":1,"  \
	"\"mode\":\"quick\",\"passes\":2,\"host\":{\"cpu\":\"c\",\"cores\":4,\"settings\":{}}}\n"
#define POINT(pass, samples)                                                                       \
	"{\"test\":\"call\",\"is\":{\"call\":\"get\",\"stream\":\"idle\"},\"x\":{\"size_B\":8},"   \
	"\"pass\":" pass ",\"t_s\":1,\"unit\":\"s\",\"samples\":[" samples                         \
	"],\"stop\":\"count\",\"held_out\":true}\n"
#define END "{\"end\":true,\"lines\":3,\"elapsed_s\":1,\"drift\":{\"call\":-0.01}}\n"

#define NINE(value)                                                                                \
	"\"a\":" value ",\"b\":" value ",\"c\":" value ",\"d\":" value ",\"e\":" value             \
	",\"f\":" value ",\"g\":" value ",\"h\":" value ",\"i\":" value
#define RATE(x, samples)                                                                           \
	"{\"test\":\"copy\",\"is\":{},\"x\":{" x                                                   \
	"},\"pass\":0,\"unit\":\"B/s\",\"samples\":[" samples "]}\n"

struct fixture {
	struct arena *arena;
	struct diag *diag;
	char path[64];
	const struct recording *recording;
};

static struct fixture begin(void)
{
	struct fixture f = {.arena = arena_new(), .path = "/tmp/test_recording.XXXXXX"};
	f.diag = diag_new(f.arena);
	return f;
}

static void read_into(struct fixture *f, const char *text, size_t size)
{
	int file = mkstemp(f->path);
	CHECK(file >= 0 && write(file, text, size) == (ssize_t)size);
	close(file);
	f->recording = recording_read(f->arena, f->diag, f->path);
	unlink(f->path);
}

static struct fixture read_bytes(const char *text, size_t size)
{
	struct fixture f = begin();
	read_into(&f, text, size);
	return f;
}

static struct fixture read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* Checks the message after the file's name: ":2: ..." */
static void refused(const char *text, const char *wanted)
{
	struct fixture f = read_text(text);
	CHECK(!f.recording);
	if (CHECK(diag_count(f.diag) > 0)) {
		const char *message = diag_at(f.diag, 0) + strlen(f.path);
		if (!CHECK(strstr(message, wanted) != NULL))
			printf("  it says \"%s\", not \"%s\"\n", message, wanted);
	}
	arena_free(f.arena);
}

static void recording_gives_medians_of_its_passes(void)
{
	struct fixture f = read_text(HEAD POINT("0", "3e-6,1e-6,2e-6") POINT("1", "4e-6,6e-6") END);
	if (CHECK(f.recording != NULL)) {
		const struct recording_point *const *points;
		CHECK(f.recording->ended && f.recording->pass_count == 2);
		CHECK_TEXT(f.recording->cpu, "c");
		CHECK(recording_find(f.recording, f.arena, "call", "call=get stream=idle",
				     &points) == 1);
		/* medians 2 us and 5 us */
		CHECK_NEAR(points[0]->value, 3.5e-6, 1e-12);
		CHECK(points[0]->held_out && points[0]->sample_count == 5);
		CHECK_NEAR(recording_point_number(points[0], "size_B", 0), 8, 1e-12);
		CHECK(recording_find(f.recording, f.arena, "call", "call=ge", &points) == 0);
		CHECK(recording_find(f.recording, f.arena, "copy", "", &points) == 0);
	}
	arena_free(f.arena);
}

/* sha256sum prints the same for a file with this text. */
static void fingerprint_is_sha256(void)
{
	struct fixture f = read_text(HEAD POINT("0", "1") END);
	if (CHECK(f.recording != NULL))
		CHECK_TEXT(f.recording->hash,
			   "4702a53d12bd2d9da617775648734a2ca1e42f605a645186b57df90297685f38");
	arena_free(f.arena);
}

/* A kernel can begin before its launch returns to the host. */
static void tests_of_differences_may_be_negative(void)
{
	struct fixture f = read_text(
		HEAD "{\"test\":\"kernel\",\"is\":{\"what\":\"start\"},\"x\":{},\"pass\":0,"
		     "\"unit\":\"s\",\"samples\":[-1e-7,2e-7,3e-7]}\n");
	if (CHECK(f.recording != NULL))
		CHECK_NEAR(f.recording->points.items[0].value, 2e-7, 1e-12);
	arena_free(f.arena);
}

/* 2 GB/s for 8 bytes: 4 ns. */
static void rates_are_converted_to_times(void)
{
	struct fixture f =
		read_text(HEAD "{\"test\":\"copy\",\"is\":{},\"x\":{\"size_B\":8},\"pass\":0,"
			       "\"unit\":\"B/s\",\"samples\":[2e9]}\n");
	if (CHECK(f.recording != NULL)) {
		CHECK_NEAR(f.recording->points.items[0].value, 4e-9, 1e-12);
		CHECK(!f.recording->ended);
	}
	arena_free(f.arena);
}

/* Nine samples of about 1 us (median distance 10 ns) and one of 2 us, which is 1 us away, beyond
 * 148 ns. */
static void outliers_are_counted_and_kept(void)
{
	struct fixture f = read_text(HEAD POINT(
		"0", "1e-6,1.01e-6,0.99e-6,1.02e-6,0.98e-6,1e-6,1.01e-6,0.99e-6,1e-6,2e-6") END);
	if (CHECK(f.recording != NULL)) {
		CHECK(f.recording->outlier_count == 1 && f.recording->sample_count == 10);
		CHECK_NEAR(f.recording->points.items[0].value, 1e-6, 1e-12);
	}
	arena_free(f.arena);
}

/* A recording cut after any byte past the first point is accepted and contains no more than before.
 */
static void recording_cut_anywhere_is_accepted(void)
{
	static const char text[] = HEAD POINT("0", "1e-6,2e-6") POINT("1", "3e-6,4e-6") END;
	size_t first = strlen(HEAD POINT("0", "1e-6,2e-6"));
	for (size_t size = first; size < sizeof text - 1; size++) {
		struct fixture f = read_bytes(text, size);
		if (!CHECK(f.recording != NULL && f.recording->points.count == 1)) {
			printf("  after %zu bytes: %s\n", size,
			       diag_count(f.diag) ? diag_at(f.diag, 0) : "");
			arena_free(f.arena);
			return;
		}
		arena_free(f.arena);
	}
}

static void wrong_first_lines_are_refused(void)
{
	refused("", "is empty");
	refused("\n\n", "is empty");
	refused("hello\n", ":1: ");
	refused("{\"format\":\"farwire-calls\",\"version\":1}\n",
		":1: this is not a recording of a probe");
	refused("{\"format\":\"farwire-samples\",\"version\":2}\n",
		":1: the recording has version 2");
	refused("[1]\n", ":1: ");
	refused(HEAD, "has no samples");
	refused(HEAD END, "has no samples");
}

static void wrong_samples_are_refused(void)
{
	refused(HEAD POINT("0", "1e-6,NaN"), ":2: sample 2 must be a finite number");
	refused(HEAD POINT("0", "1e-6,null"), ":2: sample 2 must be a finite number");
	refused(HEAD POINT("0", "Infinity"), ":2: sample 1 must be a finite number");
	refused(HEAD POINT("0", "1e-6") POINT("1", "-1e-6"),
		":3: sample 1 of 'call' must not be negative");
	refused(HEAD POINT("0", "1e-6") POINT("0", "1e-6"),
		":3: line 2 already has this point and pass of 'call'");
	refused(HEAD POINT("-1", "1e-6"), ":2: pass must be a whole number");
	refused(HEAD POINT("0.5", "1e-6"), ":2: pass must be a whole number");
	refused(HEAD POINT("5000", "1e-6"), ":2: pass must be a whole number");
	refused(HEAD "{\"test\":\"call\",\"is\":{},\"x\":{},\"pass\":0,\"unit\":\"s\"}\n",
		":2: the point needs the key \"samples\"");
	refused(HEAD "{\"test\":\"call\",\"is\":{},\"x\":{},\"pass\":0,\"unit\":\"m\",\"samples\":["
		     "1]}\n",
		":2: unit must be \"s\"");
	refused(HEAD "{\"test\":\"call\",\"is\":3}\n", ":2: is must be an object");
	refused(HEAD "{\"what\":1}\n", ":2: the line must have one of the keys");
	refused(HEAD POINT("0", "1e-6") "garbage\n" END, ":3: ");
	refused(HEAD POINT("0", "1e-6") END POINT("1", "1e-6"), ":4: there is a line after");
	refused(HEAD "{\"test\":3}\n", ":2: test must be a text");
	refused(HEAD "[1]\n", ":2: a line must be one object, {...}");
	refused(HEAD "{\"test\":\"call\",\"x\":{\"n\":-1}}\n", ":2: n must not be negative");
	refused(HEAD "{\"test\":\"call\",\"pass\":\"0\"}\n", ":2: pass must be a finite number");
	refused(HEAD "{\"test\":\"call\",\"held_out\":0}\n", ":2: held_out must be true or false");
	refused(HEAD "{\"test\":\"call\",\"is\":{" NINE("\"w\"") "}}\n",
		":2: \"is\" has more than 8 words");
	refused(HEAD "{\"test\":\"call\",\"x\":{" NINE("1") "}}\n",
		":2: \"x\" has more than 8 numbers");
	refused(HEAD RATE("", "1e9"), ":2: a point with the unit B/s needs a size above 0 (write "
				      "\"x\": {\"size_B\": 1024})");
	refused(HEAD RATE("\"size_B\":64", "1e9,0"), ":2: sample 2 of 'copy' must be above 0 B/s");
}

/* Writes each index with the format `each`, `count` times, after the header and `begin`. */
static void refused_many(const char *begin, const char *each, size_t count, const char *end,
			 const char *wanted)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	fprintf(out, "%s%s", HEAD, begin);
	for (size_t i = 0; i < count; i++)
		fprintf(out, each, i);
	fputs(end, out);
	fclose(out);
	refused(text, wanted);
	free(text);
}

static void too_many_samples_and_points_are_refused(void)
{
	refused_many("{\"test\":\"call\",\"samples\":[0", ",%zu", 65536, "]}\n",
		     ":2: the point has more than 65536 samples");
	refused_many("",
		     "{\"test\":\"call\",\"x\":{\"n\":%zu},\"pass\":0,\"unit\":\"s\","
		     "\"samples\":[1]}\n",
		     65537, "", ":65538: the recording has more than 65536 points");
}

/* Just below 8 GiB it is read, above it is refused. */
static void more_than_8_gib_are_refused(void)
{
	static const char text[] = HEAD POINT("0", "1e-6,2e-6") POINT("1", "1e-6,2e-6") END;
	for (int beyond = 0; beyond < 2; beyond++) {
		struct fixture f = begin();
		if (much_memory_used(f.arena, ((size_t)8 << 30) - (beyond ? 0 : 4 << 20))) {
			read_into(&f, text, sizeof text - 1);
			CHECK((f.recording != NULL) == !beyond &&
			      (int)diag_count(f.diag) == beyond);
			if (beyond && CHECK(diag_count(f.diag) > 0))
				CHECK(strstr(diag_at(f.diag, 0),
					     ":2: the recording needs more than 8 GiB of memory"));
		}
		arena_free(f.arena);
	}
}

/* The line has 1.5 MiB and no other error. */
static void huge_line_of(const char *key)
{
	size_t room = 3 << 19, head = strlen(HEAD);
	char *text = malloc(room + 64);
	CHECK(text != NULL);
	memcpy(text, HEAD, head);
	size_t size = head + (size_t)sprintf(text + head, "{\"%s\":\"", key);
	memset(text + size, 'x', room - size);
	strcpy(text + room, "\",\"test\":\"call\"}\n");
	refused(text, ":2: the line is longer than 1 MiB");
	free(text);
}

static void line_over_1_mib_is_refused(void)
{
	huge_line_of("why");
	huge_line_of("nobody_reads_this");
}

static const struct test tests[] = {
	TEST(recording_gives_medians_of_its_passes),
	TEST(fingerprint_is_sha256),
	TEST(rates_are_converted_to_times),
	TEST(tests_of_differences_may_be_negative),
	TEST(outliers_are_counted_and_kept),
	TEST(recording_cut_anywhere_is_accepted),
	TEST(wrong_first_lines_are_refused),
	TEST(wrong_samples_are_refused),
	TEST(too_many_samples_and_points_are_refused),
	TEST(line_over_1_mib_is_refused),
	TEST(more_than_8_gib_are_refused),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
