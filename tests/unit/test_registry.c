/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/arena.h"
#include "sim/base/registry.h"
#include "tests/test.h"

struct fruit {
	const char *name, *help;
};
static const struct fruit apple = {"apple", "grows on trees"}, melon = {"melon", "does not"};
static const struct registry_row rows[] = {REGISTRY_ROW(apple), REGISTRY_ROW(melon)};
REGISTRY_OF(struct fruit, fruit);
const struct registry fruit_registry = REGISTRY("fruit", "fruits", rows);

static void kinds_are_found_by_name(void)
{
	CHECK(fruit_count() == 2 && fruit_at(0) == &apple && fruit_at(1) == &melon);
	CHECK(fruit_find("melon") == &melon && !fruit_find("melons"));
}

static void unknown_names_get_a_suggestion_or_the_list(void)
{
	struct arena *arena = arena_new();
	CHECK_TEXT(registry_unknown(arena, &fruit_registry, "mellon", NULL),
		   "no fruit is called 'mellon' (did you mean 'melon'? `farwire list fruits` shows "
		   "them)");
	CHECK_TEXT(registry_unknown(arena, &fruit_registry, "any", "none"),
		   "no fruit is called 'any' (there are apple, melon, none; `farwire list fruits` "
		   "shows them)");
	arena_free(arena);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(kinds_are_found_by_name),
		TEST(unknown_names_get_a_suggestion_or_the_list),
	};
	return TEST_MAIN(tests);
}
