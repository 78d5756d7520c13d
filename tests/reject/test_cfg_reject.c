/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Invalid input, and the exact error messages. */
#include "sim/base/arena.h"
#include "sim/cfg/resolution.h"
#include "tests/test.h"
#include "tests/wire_params.h"

/* libconfig 1.5 does not free the text it was reading if a parse fails. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig\nleak:strbuf_append"; /* as a shared library, and linked statically
						      */
}

struct slip {
	const char *text, *answer;
};

/* ---- invalid text ---- */

static void syntax_errors_have_their_line_and_a_correction(void)
{
	static const struct slip slips[] = {
		{"a = \"x;\nb = 1;\n",
		 "t.cfg:1: the text that starts here is not closed on its line (is a \" missing?)"},
		{"/* a\nb = 1;", "t.cfg:1: the comment that starts here is not closed (write */)"},
		{"a = {\n  b = (1, 2;\n};",
		 "t.cfg:3: '}' cannot close the '(' of line 2 (write ')')"},
		{"a = {\n b = 1;\n", "t.cfg:1: the '{' that opens here is not closed (write '}')"},
		{"a = 1;\n};", "t.cfg:2: '}' has no opening bracket (remove it)"},
		{"a = (\n 1,\n 2,\n);", "t.cfg:4: a comma stands before ')' (remove it)"},
		{"a = [ 1, ];", "t.cfg:1: a comma stands before ']' (remove it)"},
		{"\nmode = fast;", "t.cfg:2: text needs quotes (write \"fast\")"},
		{"\na = ( fast, 1 );", "t.cfg:2: text needs quotes (write \"fast\")"},
		{"nagle = yes;", "t.cfg:1: 'yes' is not a value (write true or false)"},
		{"b = 25 Gbit/s;",
		 "t.cfg:1: a quantity with a unit needs quotes (write \"25 Gbit/s\")"},
		{"b = 3%;", "t.cfg:1: a quantity with a unit needs quotes (write \"3 %\")"},
		{"a = 4294967296;",
		 "t.cfg:1: the integer 4294967296 does not fit into 32 bits (write a quantity in "
		 "quotes, "
		 "such as \"4 GiB\", or a number with a point, such as 4294967296.0)"},
		{"a = 0xffffffff;",
		 "t.cfg:1: the integer 0xffffffff does not fit into 32 bits (write a quantity in "
		 "quotes, "
		 "such as \"4 GiB\", or a number with a point, such as 4294967296.0)"},
		{"a = 9223372036854775808L;",
		 "t.cfg:1: the integer 9223372036854775808L does not fit into 64 bits (write a "
		 "number with a point, such as 1.0e20)"},
		{"a = 1e999;", "t.cfg:1: a is too large (write a finite number)"},
		{"a = 1;\ng = {\n b = 1;\n c = 2;\n b = 3;\n};",
		 "t.cfg:5: 'b' is set twice in this group, first at t.cfg:3 (remove one of them)"},
		{"b : 1;\nb : 2;",
		 "t.cfg:2: 'b' is set twice in this group, first at t.cfg:1 (remove one of them)"},
		{"a = ;", "t.cfg:1: a value is missing before ';' (write name = value;)"},
		{"a = 1;\nb 2;\n", "t.cfg:2: syntax error at or before `b 2;` (write name = value; "
				   "for settings, { ... "
				   "} for groups, ( a, b ) for lists)"},
		{"value = \"\"value",
		 "t.cfg:1: syntax error at or before `value = \"\"value` (write name = value; for "
		 "settings, { ... } for groups, ( a, b ) for lists)"},
		{"a = [ 1, \"x\" ];", "t.cfg:1: the elements of an array [ ... ] must have the "
				      "same type (write ( ... ) for different types)"},
		{"@include b.cfg", "t.cfg:1: @include needs a file name in quotes (write @include "
				   "\"file.cfg\")"},
		{"a = @b;", "t.cfg:1: '@' is valid only in @include \"file.cfg\""},
	};
	for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		CHECK(cfg_read_text(arena, diag, "t.cfg", slips[i].text) == NULL);
		if (CHECK(diag_count(diag) == 1))
			CHECK_TEXT(diag_at(diag, 0), slips[i].answer);
		else
			diag_print(diag, stdout);
		arena_free(arena);
	}
}

static void other_alphabets_and_missing_values_are_reported(void)
{
	static const struct slip slips[] = {
		{"a = 1; # \xe2\x80\x9c\nb\xc2\xa0= 2;",
		 "t.cfg:2: '\xc2\xa0' may stand only in texts and comments (write plain blanks, "
		 "ASCII "
		 "letters and the quote \")"},
		{"a = \xe2\x80\x9cx\xe2\x80\x9d;", "t.cfg:1: '\xe2\x80\x9c' may stand only in "
						   "texts and comments (write plain blanks, "
						   "ASCII letters and the quote \")"},
		{"a =\n",
		 "t.cfg:2: syntax error at or before the end of the file (write name = value; "
		 "for settings, { ... } for groups, ( a, b ) for lists)"},
	};
	for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		CHECK(cfg_read_text(arena, diag, "t.cfg", slips[i].text) == NULL);
		if (CHECK(diag_count(diag) == 1))
			CHECK_TEXT(diag_at(diag, 0), slips[i].answer);
		else
			diag_print(diag, stdout);
		arena_free(arena);
	}
}

static void several_syntax_errors_are_reported_together(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	CHECK(cfg_read_text(arena, diag, "t.cfg", "a = on;\nb = 3 us;\nc = 5000000000;\n") == NULL);
	CHECK(diag_count(diag) == 3);
	arena_free(arena);
}

static void nesting_deeper_than_64_is_refused(void)
{
	enum { DEPTH = 100000 };
	static char text[DEPTH + 10] = "a = ";
	memset(text + 4, '(', DEPTH);
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	CHECK(cfg_read_text(arena, diag, "t.cfg", text) == NULL);
	CHECK_TEXT(diag_at(diag, 0),
		   "t.cfg:1: groups and lists are nested deeper than 64 (nest fewer)");
	for (int depth = 64; depth <= 65; depth++) {
		memset(text + 4, '(', (size_t)depth);
		memset(text + 4 + depth, ')', (size_t)depth);
		strcpy(text + 4 + 2 * depth, ";");
		diag = diag_new(arena);
		CHECK((cfg_read_text(arena, diag, "t.cfg", text) != NULL) == (depth == 64));
	}
	arena_free(arena);
}

/* An error shows at most 60 bytes of its line and no part of a character: here 59. The character
 * stands in a text. */
static void long_lines_are_cut_in_syntax_errors(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	char word[57], shown[100];
	memset(word, 'x', 56);
	word[56] = '\0';
	CHECK(!cfg_read_text(arena, diag, "t.cfg",
			     arena_printf(arena, "a = 1;\n  b %s\"\xc3\xa9\";", word)));
	snprintf(shown, sizeof shown, "t.cfg:2: syntax error at or before `b %s\"` (", word);
	CHECK_PART(diag_at(diag, 0), shown);
	arena_free(arena);
}

/* A list of known words shows twelve of them. */
static void lists_of_words_end_after_twelve(void)
{
	static const char *const words[] = {"a", "b", "c", "d", "e", "f", "g",
					    "h", "i", "j", "k", "l", "m"};
	struct arena *arena = arena_new();
	CHECK_TEXT(cfg_list(arena, words, 0), "nothing");
	CHECK_TEXT(cfg_list(arena, words, 12), "a, b, c, d, e, f, g, h, i, j, k, l");
	CHECK_TEXT(cfg_list(arena, words, 13), "a, b, c, d, e, f, g, h, i, j, k, l, ...");
	arena_free(arena);
}

/* Changes or cuts each byte of a valid text: the reader returns settings or errors and does not
 * crash. */
static void changed_text_is_read_or_refused(void)
{
	static const char good[] = "a = 1; b = \"x\\n\"; /* c */ g = { d = (1.5, 0x1L, -2); };\n"
				   "# e\n@include \"f\"\n[]";
	static const char bytes[] = "\"{}()[];,=@#/\\\n 0aL-.\x01\xff";
	for (size_t at = 0; at + 1 < sizeof good; at++) {
		for (size_t i = 0; i < sizeof bytes; i++) { /* the last byte, NUL, cuts the text */
			char text[sizeof good];
			memcpy(text, good, sizeof good);
			text[at] = bytes[i];
			struct arena *arena = arena_new();
			struct diag *diag = diag_new(arena);
			const struct cfg_node *root = cfg_read_text(arena, diag, "/none/t", text);
			CHECK((root == NULL) == (diag_count(diag) > 0));
			arena_free(arena);
		}
	}
}

/* ---- invalid values of parameters ---- */

static void check_answers(struct diag *diag, const char *const *answers, size_t count)
{
	if (!CHECK(diag_count(diag) == count))
		diag_print(diag, stdout);
	for (size_t i = 0; i < count && i < diag_count(diag); i++)
		CHECK_TEXT(diag_at(diag, i), answers[i]);
}

static void read_wire(struct arena *arena, struct diag *diag, const char *text)
{
	struct wire wire;
	const struct cfg_node *root = cfg_read_text(arena, diag, "t.cfg", text);
	struct cfg_resolution *resolution = cfg_resolution_new(arena);
	CHECK(!cfg_params(resolution, arena, diag, cfg_child(root, "wire"), "wire", "link 'wire'",
			  &table, NULL, 0, &wire));
}

static void wrong_values_are_refused_with_their_line(void)
{
	static const struct slip slips[] = {
		{"bandwidth = \"-3 Gbit/s\";", "t.cfg:2: link 'wire': bandwidth = \"-3 Gbit/s\" is "
					       "out of range (write a bandwidth from "
					       "1 B/s to 1 PB/s)"},
		{"bandwidth = \"3 us\";", "t.cfg:2: link 'wire': bandwidth = \"3 us\" is a time, "
					  "not a bandwidth (write for example "
					  "\"25 Gbit/s\")"},
		{"bandwidth = 3;",
		 "t.cfg:2: link 'wire': bandwidth = 3 has no unit (write a bandwidth "
		 "such as \"25 Gbit/s\")"},
		{"bandwidth = true;",
		 "t.cfg:2: link 'wire': bandwidth = true is not a bandwidth (write "
		 "\"25 Gbit/s\")"},
		{"bandwidth = (1, 2);", "t.cfg:2: link 'wire': bandwidth is a list, not a value "
					"(write \"25 Gbit/s\")"},
		{"",
		 "t.cfg:1: link 'wire': bandwidth is missing (write bandwidth = \"25 Gbit/s\";)"},
		{"bandwidth = \"1 B/s\"; latency = \"-1 s\";",
		 "t.cfg:2: link 'wire': latency = \"-1 s\" is out of range (write a time of at "
		 "least "
		 "0 s)"},
		{"bandwidth = \"1 B/s\"; streams = 65;",
		 "t.cfg:2: link 'wire': streams = 65 is out of range (write a plain number from 1 "
		 "to "
		 "64)"},
		{"bandwidth = \"1 B/s\"; loss = \"101 %\";",
		 "t.cfg:2: link 'wire': loss = \"101 %\" is out of range (write a ratio from 0 to "
		 "1)"},
		{"bandwidth = \"1 B/s\"; full_duplex = 1;",
		 "t.cfg:2: link 'wire': full_duplex = 1 is neither true nor false (write true or "
		 "false)"},
		{"bandwidth = \"1 B/s\"; name = 1;",
		 "t.cfg:2: link 'wire': name = 1 is not a text (put it in quotes)"},
		{"bandwidth = \"1 B/s\"; kind = \"fiber\";",
		 "t.cfg:2: link 'wire': kind = \"fiber\" is not one of copper, fibre (did you mean "
		 "\"fibre\"?)"},
		{"bandwidth = \"1 B/s\"; kind = \"x\";",
		 "t.cfg:2: link 'wire': kind = \"x\" is not one of its choices (write one of "
		 "copper, "
		 "fibre)"},
		{"bandwidth = \"1 B/s\";\nlatancy = \"1 s\";",
		 "t.cfg:3: link 'wire': unknown key 'latancy' (did you mean 'latency'?)"},
		{"bandwidth = \"1 B/s\";\ncolour = \"red\";",
		 "t.cfg:3: link 'wire': unknown key 'colour' (known: bandwidth, latency, streams, "
		 "loss, full_duplex, name, kind)"},
	};
	for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		read_wire(arena, diag, arena_printf(arena, "wire = {\n%s\n};", slips[i].text));
		check_answers(diag, &slips[i].answer, 1);
		arena_free(arena);
	}
}

/* Both ends of a range are allowed. Below them, numbers other than 0 need at least 10^-30 in SI
 * units, and rates 10^-3. */
static void limits_of_each_quantity_are_kept(void)
{
	struct limited {
		double rate_Bps, speed_flops, clock_Hz, wait_s, size_B, cores_count, shift;
	};
	static const struct param_row limited_rows[] = {
		PARAM_NUMBER(struct limited, rate_Bps, QUANTITY_RATE, 0, 1e9, "0 B/s", ""),
		PARAM_NUMBER(struct limited, speed_flops, QUANTITY_FLOP_RATE, 0, 1e9, "0 flop/s",
			     ""),
		PARAM_NUMBER(struct limited, clock_Hz, QUANTITY_FREQUENCY, 0, 1e9, "0 Hz", ""),
		PARAM_NUMBER(struct limited, wait_s, QUANTITY_TIME, 0, 2, "0 s", ""),
		PARAM_NUMBER(struct limited, size_B, QUANTITY_BYTES, 0, 1e9, "0 B", ""),
		PARAM_WHOLE(struct limited, cores_count, 1, 8, "1", ""),
		PARAM_NUMBER(struct limited, shift, QUANTITY_COUNT, -INFINITY, 5, "0", ""),
	};
	static const struct param_table limited_table =
		PARAM_TABLE("limited", struct limited, limited_rows);
	static const struct slip slips[] = {
		{"rate=0.0009 B/s", "is too small (write 0 B/s, or at least 0.001 B/s)"},
		{"speed=0.0009 flop/s", "is too small (write 0 FLOP/s, or at least 0.001 FLOP/s)"},
		{"clock=0.0009 Hz", "is too small (write 0 Hz, or at least 0.001 Hz)"},
		{"rate=0.001 B/s", NULL},
		{"rate=0 B/s", NULL},
		{"rate=1 GB/s", NULL},
		{"rate=1.001 GB/s", "is out of range (write a bandwidth from 0 B/s to 1 GB/s)"},
		{"wait=1e-19 ps", "is too small (write 0 s, or at least 1e-18 ps)"},
		{"wait=1e-18 ps", NULL},
		{"wait=2 s", NULL},
		{"size=1e-31 B", "is too small (write 0 B, or at least 1e-30 B)"},
		{"cores=8", NULL},
		{"cores=1", NULL},
		{"cores=0", "is out of range (write a whole number from 1 to 8)"},
		{"cores=9", "is out of range (write a whole number from 1 to 8)"},
		{"cores=2.5", "is not a whole number (write a whole number from 1 to 8)"},
		{"shift=-1e9", NULL},
		{"shift=6", "is out of range (write a plain number of at most 5)"},
	};
	for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		struct cfg_resolution *resolution = cfg_resolution_new(arena);
		struct limited limited;
		cfg_override(resolution, diag, (struct origin){"--set", 0}, slips[i].text);
		cfg_params(resolution, arena, diag, NULL, "", "x", &limited_table, NULL, 0,
			   &limited);
		CHECK(diag_count(diag) == (slips[i].answer ? 1 : 0));
		if (diag_count(diag) > 0)
			CHECK_PART(diag_at(diag, 0), slips[i].answer ? slips[i].answer : "none");
		arena_free(arena);
	}
}

static const struct slip bad_groups[] = {
	{"low = \"2 B/s\";", "t.cfg:1: link 'wire': bandwidth is a group without a value "
			     "(write { value = \"25 Gbit/s\"; })"},
	{"value = 3;", "t.cfg:2: link 'wire': bandwidth.value = 3 has no unit (write a bandwidth "
		       "such as \"25 Gbit/s\")"},
	{"value = \"3 B/s\"; low = \"4 B/s\";",
	 "t.cfg:2: link 'wire': bandwidth = 3 B/s is not between low = 4 B/s and high = 3 "
	 "B/s"},
	{"value = \"3 B/s\"; low = \"4 s\";", "t.cfg:2: link 'wire': bandwidth.low = \"4 "
					      "s\" is a time, not a bandwidth (write for "
					      "example \"25 Gbit/s\")"},
	{"value = \"3 B/s\"; high = \"2 B/s\"; interval = \"5 %\";",
	 "t.cfg:2: link 'wire': bandwidth has both an interval and low or high (write one "
	 "of "
	 "the two)"},
	{"value = \"3 B/s\"; interval = \"5 s\";",
	 "t.cfg:2: link 'wire': bandwidth.interval is not a ratio from 0 to 1 (write \"10 "
	 "%\")"},
	{"value = \"3 B/s\"; origin = \"measure\";",
	 "t.cfg:2: link 'wire': bandwidth.origin = \"measure\" is unknown (did you mean "
	 "'measured'?)"},
	{"value = \"3 B/s\"; origin = 1;",
	 "t.cfg:2: link 'wire': bandwidth.origin is not a text (write \"measured\")"},
	{"value = \"3 B/s\"; note = 1;",
	 "t.cfg:2: link 'wire': bandwidth.note is not a text (put it in quotes)"},
	{"value = \"3 B/s\";\nlow = \"4 B/s\";\nhigh = \"9 B/s\";",
	 "t.cfg:3: link 'wire': bandwidth = 3 B/s is not between low = 4 B/s and high = 9 "
	 "B/s"},
	{"value = \"3 B/s\";\nlow = \"1 B/s\";\nhigh = \"2 B/s\";",
	 "t.cfg:4: link 'wire': bandwidth = 3 B/s is not between low = 1 B/s and high = 2 "
	 "B/s"},
	{"value = \"3 B/s\"; interval = \"101 %\";",
	 "t.cfg:2: link 'wire': bandwidth.interval is not a ratio from 0 to 1 (write \"10 "
	 "%\")"},
	{"value = \"3 B/s\"; interval = \"-1 %\";",
	 "t.cfg:2: link 'wire': bandwidth.interval is not a ratio from 0 to 1 (write \"10 "
	 "%\")"},
	{"value = \"3 B/s\"; interval = ( 1 );",
	 "t.cfg:2: link 'wire': bandwidth.interval is not a ratio from 0 to 1 (write \"10 "
	 "%\")"},
	{"value = \"3 B/s\"; low = \"2 B/s\"; interval = \"5 %\";",
	 "t.cfg:2: link 'wire': bandwidth has both an interval and low or high (write one "
	 "of the two)"},
	{"value = \"3 B/s\"; freedom = 0;",
	 "t.cfg:2: link 'wire': bandwidth.freedom is not a number above 0 (write 3)"},
	{"value = \"3 B/s\"; follows = ( { path = \"a.b\"; by = 1000.5; } );",
	 "t.cfg:2: link 'wire': bandwidth.follows must be a list of groups with a path and "
	 "a number from -1000 to 1000 (write ( { path = \"runtime.handoff\"; by = -0.9; } "
	 "))"},
	{"value = \"3 B/s\"; correlated = ( { path = \"a.b\"; by = -1.5; } );",
	 "t.cfg:2: link 'wire': bandwidth.correlated must be a list of groups with a path "
	 "and a number from -1 to 1 (write ( { path = \"runtime.handoff\"; by = -0.9; } "
	 "))"},
	{"value = \"3 B/s\"; nota = \"x\";",
	 "t.cfg:2: link 'wire': bandwidth: unknown key 'nota' (did you mean 'note'?)"},
};

static void malformed_value_groups_are_refused(void)
{
	for (size_t i = 0; i < sizeof bad_groups / sizeof bad_groups[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		read_wire(arena, diag,
			  arena_printf(arena, "wire = { bandwidth = {\n%s\n}; };",
				       bad_groups[i].text));
		check_answers(diag, &bad_groups[i].answer, 1);
		arena_free(arena);
	}
}

/* Each kind of parameter has an example of its own, and only numbers have intervals. */
static void value_groups_of_each_kind_have_their_example(void)
{
	static const struct slip slips[] = {
		{"full_duplex = { note = \"x\"; };",
		 "t.cfg:1: link 'wire': full_duplex is a group without a value (write { value = "
		 "true; })"},
		{"kind = { note = \"x\"; };",
		 "t.cfg:1: link 'wire': kind is a group without a value (write { value = "
		 "\"copper\"; })"},
		{"name = { note = \"x\"; };",
		 "t.cfg:1: link 'wire': name is a group without a value (write { value = "
		 "\"...\"; })"},
		{"latency = { value = \"1 us\"; freedom = \"x\"; };",
		 "t.cfg:1: link 'wire': latency.freedom is not a number above 0 (write 3)"},
		{"full_duplex = { value = true; high = true; };",
		 "t.cfg:1: link 'wire': full_duplex is not a number and cannot have an interval "
		 "(write the value without a group)"},
	};
	for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		read_wire(arena, diag,
			  arena_printf(arena, "wire = { bandwidth = \"1 B/s\"; %s };",
				       slips[i].text));
		check_answers(diag, &slips[i].answer, 1);
		arena_free(arena);
	}
}

static void value_instead_of_a_group_is_refused(void)
{
	static const char *const answers[] = {
		"t.cfg:1: link 'wire' must be a group (write { ... })"};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	read_wire(arena, diag, "wire = 5;");
	check_answers(diag, answers, 1);
	arena_free(arena);
}

static void all_errors_of_a_group_are_reported(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	read_wire(arena, diag, "wire = { colour = 1; latency = 3; streams = 0; kind = 1; };");
	CHECK(diag_count(diag) == 5); /* one of them is the missing bandwidth */
	arena_free(arena);
}

static void wrong_overrides_are_refused_with_a_suggestion(void)
{
	static const char *const settings[] = {
		"novalue",           "=3",        "wire.bandwidth=3 us", "wire.full_duplex=on",
		"wire.latancy=1 us", "streams=2", "wire.colour=red",     "wire.kind=wood",
		"cable.colour=red",
	};
	static const char *const answers[] = {
		"--set: 'novalue' sets nothing (write key=value, such as case.batch=32)",
		"--set: '=3' sets nothing (write key=value, such as case.batch=32)",
		"--set: wire.bandwidth = \"3 us\" is a time, not a bandwidth (write for example "
		"\"25 "
		"Gbit/s\")",
		"--set: wire.full_duplex = \"on\" is neither true nor false (write true or false)",
		"--set: wire.kind = \"wood\" is not one of its choices (write one of copper, "
		"fibre)",
		"--set: unknown parameter 'wire.latancy' (did you mean 'wire.latency'?)",
		"--set: unknown parameter 'streams' (did you mean 'wire.streams'?)",
		"--set: unknown parameter 'wire.colour' (wire has bandwidth, latency, "
		"streams, loss, full_duplex, name, kind)",
		"--set: unknown parameter 'cable.colour' (known: wire.*)",
	};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct cfg_resolution *resolution = cfg_resolution_new(arena);
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		cfg_override(resolution, diag, (struct origin){"--set", 0}, settings[i]);
	struct wire wire;
	CHECK(!cfg_params(resolution, arena, diag, NULL, "wire", "link 'wire'", &table, NULL, 0,
			  &wire));
	cfg_resolution_finish(resolution, diag);
	check_answers(diag, answers, sizeof answers / sizeof answers[0]);
	arena_free(arena);
}

/* Only one path ends with "far.latency", so it is suggested although it is not near in letters. Two
 * paths end with "latency", so the error lists the known ones. */
static void override_with_a_unique_ending_gets_a_suggestion(void)
{
	static const char *const settings[] = {"far.latency=1 us", "latency=1 us"};
	static const char *const answers[] = {
		"--set: unknown parameter 'far.latency' (did you mean 'link.far.latency'?)",
		"--set: unknown parameter 'latency' (known: link.far.*, link.near.*)",
	};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct cfg_resolution *resolution = cfg_resolution_new(arena);
	for (size_t i = 0; i < 2; i++)
		cfg_override(resolution, diag, (struct origin){"--set", 0}, settings[i]);
	struct wire wire;
	const struct cfg_node *root = cfg_read_text(arena, diag, "t.cfg", "bandwidth = \"1 B/s\";");
	CHECK(cfg_params(resolution, arena, diag, root, "link.far", "link 'far'", &table, NULL, 0,
			 &wire));
	CHECK(cfg_params(resolution, arena, diag, root, "link.near", "link 'near'", &table, NULL, 0,
			 &wire));
	cfg_resolution_finish(resolution, diag);
	check_answers(diag, answers, 2);
	arena_free(arena);
}

static void draws_out_of_range_are_refused(void)
{
	static const char *const answers[] = {
		"t.cfg:1: wire.streams: a draw of 70 is out of range (write a plain number from 1 "
		"to "
		"64)",
	};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct cfg_resolution *resolution = cfg_resolution_new(arena);
	cfg_override_draw(resolution, "wire.streams", 70);
	cfg_override_draw(resolution, "wire.steams", 5); /* the case has no such parameter */
	struct wire wire;
	const struct cfg_node *root =
		cfg_read_text(arena, diag, "t.cfg",
			      "bandwidth = \"1 B/s\"; streams = { value = 4; high = 64; };");
	CHECK(!cfg_params(resolution, arena, diag, root, "wire", "link 'wire'", &table, NULL, 0,
			  &wire));
	cfg_resolution_finish(resolution, diag);
	check_answers(diag, answers, 1);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(syntax_errors_have_their_line_and_a_correction),
	TEST(other_alphabets_and_missing_values_are_reported),
	TEST(several_syntax_errors_are_reported_together),
	TEST(nesting_deeper_than_64_is_refused),
	TEST(long_lines_are_cut_in_syntax_errors),
	TEST(lists_of_words_end_after_twelve),
	TEST(limits_of_each_quantity_are_kept),
	TEST(changed_text_is_read_or_refused),
	TEST(wrong_values_are_refused_with_their_line),
	TEST(malformed_value_groups_are_refused),
	TEST(value_groups_of_each_kind_have_their_example),
	TEST(value_instead_of_a_group_is_refused),
	TEST(all_errors_of_a_group_are_reported),
	TEST(wrong_overrides_are_refused_with_a_suggestion),
	TEST(override_with_a_unique_ending_gets_a_suggestion),
	TEST(draws_out_of_range_are_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
