/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A test program is a table of named functions:
 *
 *   static void adds(void) { CHECK(1 + 1 == 2); CHECK_NEAR(0.1 + 0.2, 0.3, 1e-12); }
 *   static const struct test tests[] = { TEST(adds) };
 *   int main(void) { return TEST_MAIN(tests); }
 *
 * Each test prints "ok <program>.<name>" or "FAIL ..."; tests/run counts these lines.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
};

static int test_failures; /* failures of the current test */

#define TEST(function)                                                                             \
	{                                                                                          \
#function, function                                                                \
	}
#define TEST_MAIN(tests) test_main(__FILE__, tests, sizeof(tests) / sizeof((tests)[0]))

static inline bool test_check(bool holds, const char *what, const char *file, int line)
{
	if (!holds) {
		test_failures++;
		printf("  %s:%d: does not hold: %s\n", file, line, what);
	}
	return holds;
}
#define CHECK(condition) test_check((condition), #condition, __FILE__, __LINE__)

/* Checks |a - b| <= tolerance * max(|b|, tiny); b is the expected value. */
static inline bool test_near(double a, double b, double tolerance, const char *what,
			     const char *file, int line)
{
	double scale = fabs(b) > 0 ? fabs(b) : 1;
	bool near = fabs(a - b) <= tolerance * scale;
	if (!near) {
		test_failures++;
		printf("  %s:%d: %s: %.17g is not within %g of %.17g\n", file, line, what, a,
		       tolerance, b);
	}
	return near;
}
#define CHECK_NEAR(a, b, tolerance) test_near((a), (b), (tolerance), #a, __FILE__, __LINE__)

static inline bool test_text(const char *a, const char *b, const char *what, const char *file,
			     int line)
{
	bool same = a && b && strcmp(a, b) == 0;
	if (!same) {
		test_failures++;
		printf("  %s:%d: %s is\n    \"%s\", not\n    \"%s\"\n", file, line, what,
		       a ? a : "(null)", b ? b : "(null)");
	}
	return same;
}
#define CHECK_TEXT(a, b) test_text((a), (b), #a, __FILE__, __LINE__)

static inline bool test_part(const char *text, const char *part, const char *what, const char *file,
			     int line)
{
	bool found = text && strstr(text, part);
	if (!found) {
		test_failures++;
		printf("  %s:%d: \"%s\" is not in %s,\n    \"%s\"\n", file, line, part, what,
		       text ? text : "(null)");
	}
	return found;
}
#define CHECK_PART(text, part) test_part((text), (part), #text, __FILE__, __LINE__)

static inline int test_main(const char *file, const struct test *tests, size_t count)
{
	const char *slash = strrchr(file, '/');
	const char *base = slash ? slash + 1 : file;
	int length = (int)strcspn(base, ".");
	int failed = 0;
	for (size_t i = 0; i < count; i++) {
		test_failures = 0;
		tests[i].run();
		printf("%s %.*s.%s\n", test_failures ? "FAIL" : "ok", length, base, tests[i].name);
		fflush(stdout);
		failed += test_failures != 0;
	}
	return failed != 0;
}
