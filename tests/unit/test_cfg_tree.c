/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/cfg/cfg.h"
#include "sim/cfg/xml.h"
#include "tests/test.h"

static const struct cfg_node *read_text(struct arena *arena, const char *text)
{
	struct diag *diag = diag_new(arena);
	const struct cfg_node *root = cfg_read_text(arena, diag, "t.cfg", text);
	CHECK(diag_count(diag) == 0);
	diag_print(diag, stdout);
	return root;
}

static void every_type_of_setting_is_read(void)
{
	struct arena *arena = arena_new();
	const struct cfg_node *root = read_text(
		arena, "# a comment with \"quotes and { braces\n"
		       "count = 8;\nshare = 0.25;\non_wire = true;\nname = \"a \\\"b\\\" # c\";\n"
		       "/* another\n comment */ big = 4294967296L; least = -2147483648;\n"
		       "group = { inner : 1, other = 2; }\n"
		       "list = ( \"x\", 3, { y = 4; } ); // end\n"
		       "array = [ 1, 2,\n 3 ]; mask = 0xff; empty = (); small = -1.5e-3;\n"
		       "plus = +2147483647; large = 1.5e+3;");
	double number;
	bool flag;
	CHECK(cfg_is_group(root) && cfg_count(root) == 14);
	CHECK(cfg_number(cfg_child(root, "count"), &number) && number == 8);
	CHECK(cfg_number(cfg_child(root, "share"), &number) && number == 0.25);
	CHECK(cfg_number(cfg_child(root, "big"), &number) && number == 4294967296.0);
	CHECK(cfg_number(cfg_child(root, "least"), &number) && number == -2147483648.0);
	CHECK(cfg_number(cfg_child(root, "mask"), &number) && number == 255);
	CHECK(cfg_number(cfg_child(root, "small"), &number) && number == -1.5e-3);
	CHECK(cfg_number(cfg_child(root, "plus"), &number) && number == 2147483647);
	CHECK(cfg_number(cfg_child(root, "large"), &number) && number == 1500);
	CHECK(cfg_bool(cfg_child(root, "on_wire"), &flag) && flag);
	CHECK(!cfg_bool(cfg_child(root, "count"), &flag));
	CHECK_TEXT(cfg_text(cfg_child(root, "name")), "a \"b\" # c");
	CHECK(cfg_text(cfg_child(root, "count")) == NULL);
	const struct cfg_node *list = cfg_child(root, "list");
	CHECK(cfg_is_list(list) && !cfg_is_group(list) && cfg_count(list) == 3);
	CHECK(cfg_name(cfg_at(list, 0)) == NULL);
	CHECK_TEXT(cfg_name(list), "list");
	CHECK(cfg_number(cfg_child(cfg_at(list, 2), "y"), &number) && number == 4);
	CHECK(cfg_is_list(cfg_child(root, "array")));
	CHECK(cfg_child(cfg_child(root, "group"), "none") == NULL);
	CHECK(cfg_child(NULL, "none") == NULL);
	static const char *const ends[] = {"count = 8;\n# end", "count = 8; // end",
					   "count = 8; #"};
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		CHECK(cfg_number(cfg_child(read_text(arena, ends[i]), "count"), &number) &&
		      number == 8);
	/* after a byte order mark */
	CHECK(cfg_number(cfg_child(read_text(arena, "\xef\xbb\xbf"
						    "a = 7;"),
				   "a"),
			 &number) &&
	      number == 7);
	arena_free(arena);
}

static void scalars_are_written_as_a_user_would(void)
{
	struct arena *arena = arena_new();
	const struct cfg_node *root =
		read_text(arena, "a = 8; b = 0.1; c = true; d = \"4.5 us\"; e = {}; f = 1e300;");
	CHECK_TEXT(cfg_scalar_text(arena, cfg_child(root, "a")), "8");
	CHECK_TEXT(cfg_scalar_text(arena, cfg_child(root, "b")), "0.1");
	CHECK_TEXT(cfg_scalar_text(arena, cfg_child(root, "c")), "true");
	CHECK_TEXT(cfg_scalar_text(arena, cfg_child(root, "d")), "4.5 us");
	CHECK(cfg_scalar_text(arena, cfg_child(root, "e")) == NULL);
	CHECK_TEXT(cfg_scalar_text(arena, cfg_child(root, "f")), "1e+300");
	arena_free(arena);
}

/* ---- includes ---- */

static char folder[] = "/tmp/farwire-test-XXXXXX";

static void write_file(struct arena *arena, const char *name, const char *text)
{
	FILE *out = fopen(arena_printf(arena, "%s/%s", folder, name), "w");
	if (CHECK(out != NULL)) {
		fputs(text, out);
		fclose(out);
	}
}

static void remove_all(struct arena *arena, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		remove(arena_printf(arena, "%s/%s", folder, names[i]));
}

static void check_origin(const struct cfg_node *node, const char *file, int line)
{
	CHECK(cfg_origin(node).line == line);
	CHECK_TEXT(cfg_origin(node).file, file);
}

static void every_value_has_its_file_and_line_through_includes(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const char *top = arena_printf(arena, "%s/top.cfg", folder);
	const char *inner = arena_printf(arena, "%s/sub/inner.cfg", folder);
	const char *last = arena_printf(arena, "%s/sub/last.cfg", folder);
	mkdir(arena_printf(arena, "%s/sub", folder), 0700);
	write_file(arena, "top.cfg",
		   "a = 1;\nlink = {\n  @include \"sub/inner.cfg\" /* x */ f = 6; # from there\n  "
		   "d = 4;\n};\n"
		   "list = (\n  { x = 1; },\n  { x = 2; }\n);\n");
	write_file(arena, "sub/inner.cfg", "b = 2;\n@include \"last.cfg\"\n\ne = 5;");
	write_file(arena, "sub/last.cfg", "\n\nc = 3; // no newline at the end");
	const struct cfg_node *root = cfg_read(arena, diag, top);
	diag_print(diag, stdout);
	if (CHECK(root != NULL)) {
		const struct cfg_node *link = cfg_child(root, "link");
		check_origin(root, top, 0);
		check_origin(cfg_child(root, "a"), top, 1);
		check_origin(link, top, 2);
		check_origin(cfg_child(link, "b"), inner, 1);
		check_origin(cfg_child(link, "c"), last, 3);
		check_origin(cfg_child(link, "e"), inner, 4);
		check_origin(cfg_child(link, "f"), top, 3);
		check_origin(cfg_child(link, "d"), top, 4);
		check_origin(cfg_at(cfg_child(root, "list"), 1), top, 8);
		check_origin(cfg_child(cfg_at(cfg_child(root, "list"), 1), "x"), top, 8);
	}
	static const char *const files[] = {"top.cfg", "sub/inner.cfg", "sub/last.cfg", "sub"};
	remove_all(arena, files, 4);
	arena_free(arena);
}

static void check_message(const struct diag *diag, size_t index, struct arena *arena,
			  const char *end)
{
	if (CHECK(index < diag_count(diag)))
		CHECK_TEXT(diag_at(diag, index), arena_printf(arena, "%s/%s", folder, end));
}

static void wrong_includes_are_refused_with_their_place(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	write_file(arena, "a.cfg", "x = 1;\n@include \"b.cfg\"\n");
	write_file(arena, "b.cfg", "@include \"a.cfg\"\n");
	write_file(arena, "c.cfg", "\n  @include \"none.cfg\"\n@include \".\"\n@include \"x\";\n");
	CHECK(cfg_read(arena, diag, arena_printf(arena, "%s/a.cfg", folder)) == NULL);
	CHECK(cfg_read(arena, diag, arena_printf(arena, "%s/c.cfg", folder)) == NULL);
	CHECK(cfg_read(arena, diag, arena_printf(arena, "%s/none.cfg", folder)) == NULL);
	CHECK(cfg_read(arena, diag, folder) == NULL);
	CHECK(diag_count(diag) == 6);
	check_message(diag, 0, arena,
		      arena_printf(arena,
				   "b.cfg:1: @include \"%s/a.cfg\": this file includes itself "
				   "through others (remove one @include)",
				   folder));
	check_message(diag, 1, arena,
		      arena_printf(arena,
				   "c.cfg:2: @include \"%s/none.cfg\": it cannot be read: No such "
				   "file or directory",
				   folder));
	check_message(diag, 2, arena,
		      arena_printf(arena,
				   "c.cfg:3: @include \"%s/.\": it is a directory (give a file)",
				   folder));
	check_message(diag, 3, arena,
		      "c.cfg:4: nothing may follow @include \"x\" on its line (remove the ';')");
	check_message(diag, 4, arena, "none.cfg: cannot be read: No such file or directory");
	CHECK_TEXT(diag_at(diag, 5),
		   arena_printf(arena, "%s: is a directory (give a file)", folder));
	static const char *const files[] = {"a.cfg", "b.cfg", "c.cfg"};
	remove_all(arena, files, 3);
	arena_free(arena);
}

/* At most 16 files can include each other below the first. */
static void more_than_16_nested_includes_are_refused(void)
{
	struct arena *arena = arena_new();
	for (int i = 0; i < 18; i++)
		write_file(arena, arena_printf(arena, "%d.cfg", i),
			   i == 17 ? "end = 1;"
				   : arena_printf(arena, "@include \"%d.cfg\"\n", i + 1));
	struct diag *diag = diag_new(arena);
	CHECK(cfg_read(arena, diag, arena_printf(arena, "%s/1.cfg", folder)) != NULL);
	CHECK(diag_count(diag) == 0);
	CHECK(cfg_read(arena, diag, arena_printf(arena, "%s/0.cfg", folder)) == NULL);
	check_message(diag, 0, arena,
		      arena_printf(arena,
				   "16.cfg:1: @include \"%s/17.cfg\": it is nested more than 16 "
				   "files deep (include it from a higher file)",
				   folder));
	for (int i = 0; i < 18; i++)
		remove(arena_printf(arena, "%s/%d.cfg", folder, i));
	arena_free(arena);
}

static void file_with_a_zero_byte_is_refused(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const char *path = arena_printf(arena, "%s/zero.cfg", folder);
	FILE *out = fopen(path, "w");
	if (CHECK(out != NULL)) {
		fwrite("a = 1;\0b = 2;", 1, 13, out);
		fclose(out);
	}
	CHECK(cfg_read(arena, diag, path) == NULL);
	check_message(diag, 0, arena, "zero.cfg: is not a text file (it contains a zero byte)");
	remove(path);
	arena_free(arena);
}

/* ---- XML ---- */

/* Notes each element as "name=value:line(", its text, and ")". */
static void note_open(void *ctx, const struct xml_element *element)
{
	char *seen = ctx;
	snprintf(seen + strlen(seen), 200, "%s=%s:%d(", element->name, xml_attribute(element, "a"),
		 element->origin.line);
}

static void note_close(void *ctx, const char *name, const char *text)
{
	char *seen = ctx;
	snprintf(seen + strlen(seen), 200, "%s)", text);
}

static const char *xml_seen(struct arena *arena, const char *text, const char **error)
{
	char *seen = arena_alloc(arena, 10000);
	struct diag *diag = diag_new(arena);
	const struct xml_reader reader = {note_open, note_close, seen};
	bool read = xml_read(arena, diag, "t.xml", text, strlen(text), &reader);
	CHECK(read == (diag_count(diag) == 0));
	*error = read ? "" : diag_at(diag, 0);
	return seen;
}

static void xml_is_read_element_by_element(void)
{
	struct arena *arena = arena_new();
	const char *error;
	CHECK_TEXT(
		xml_seen(arena, "<x a='1'>\n<y b='2' a='3'>in &lt; side</y>\n<z/>end</x>", &error),
		"x=1:1(y=3:2(in < side)z=:3()end)");
	CHECK_TEXT(error, "");
	xml_seen(arena, "<x>\n</y>", &error);
	CHECK_PART(error, "t.xml:2: this is not XML: ");
	xml_seen(arena, "<!DOCTYPE x [\n<!ENTITY e 'text'>]>\n<x>&e;</x>", &error);
	CHECK_TEXT(error, "t.xml:2: the file declares an entity (write its text in place)");
	char text[1000] = "";
	for (int depth = 1; depth <= 65; depth++) {
		for (int i = 0; i < depth; i++)
			strcpy(text + 3 * i, "<x>");
		for (int i = 0; i < depth; i++)
			strcpy(text + 3 * depth + 4 * i, "</x>");
		xml_seen(arena, text, &error);
		CHECK((strstr(error, "more than 64 levels") != NULL) == (depth == 65));
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(xml_is_read_element_by_element),
	TEST(every_type_of_setting_is_read),
	TEST(scalars_are_written_as_a_user_would),
	TEST(every_value_has_its_file_and_line_through_includes),
	TEST(wrong_includes_are_refused_with_their_place),
	TEST(more_than_16_nested_includes_are_refused),
	TEST(file_with_a_zero_byte_is_refused),
};

int main(void)
{
	setlocale(LC_NUMERIC, ""); /* the locale of the machine */
	if (!mkdtemp(folder))
		return 1;
	int failed = TEST_MAIN(tests);
	rmdir(folder);
	return failed;
}
