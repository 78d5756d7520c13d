/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a network without repeated blocks. Layer 0 is the input, which computes nothing. */
#include "sim/base/arena.h"
#include "sim/training/plan.h"
#include "tests/test.h"

enum { LAYERS_MOST = 8 };

/* Cuts a chain of layers with this arithmetic, in which `skip` also reads the output of the layer
 * three before it (0: none does). Writes the part of each layer as a digit, and after a blank the
 * unit. */
static const char *cut(struct arena *arena, const double *macs, size_t count, size_t skip,
		       size_t part_count)
{
	struct layer layers[LAYERS_MOST] = {0};
	const struct network network = {.layers = layers, .layer_count = count};
	size_t parts[LAYERS_MOST], units[LAYERS_MOST];
	for (size_t i = 0; i < count; i++) {
		layers[i].macs = macs[i];
		layers[i].input_count = i == 0 ? 0 : i == skip && skip ? 2 : 1;
		layers[i].inputs[0] = i - 1;
		layers[i].inputs[1] = i - 3;
	}
	size_t unit_count = plan_cut(arena, &network, part_count, parts, units);
	if (unit_count == 0)
		return "none";
	const char *text = "";
	for (size_t i = 0; i < count; i++)
		text = arena_printf(arena, "%s%zu", text, parts[i]);
	for (size_t i = 0; i < count; i++)
		text = arena_printf(arena, "%s%s%zu", text, i ? "" : " ", units[i]);
	CHECK(units[count - 1] + 1 == unit_count);
	return text;
}

static void parts_have_about_equal_arithmetic(void)
{
	static const double even[] = {0, 4, 4, 4, 4, 4, 4}, rising[] = {0, 1, 2, 3, 4, 5, 6};
	struct arena *arena = arena_new();
	CHECK_TEXT(cut(arena, even, 7, 0, 3), "0001122 0012345");
	/* half of 21 is nearest to 1 + 2 + 3 + 4 */
	CHECK_TEXT(cut(arena, rising, 7, 0, 2), "0000011 0012345");
	/* 7 and 14 are nearest to 6 and 15 */
	CHECK_TEXT(cut(arena, rising, 7, 0, 3), "0000112 0012345");
	CHECK_TEXT(cut(arena, rising, 7, 0, 1), "0000000 0012345");
	arena_free(arena);
}

/* The last layer has nearly all arithmetic, so all parts end late. Each part still has a layer. */
static void each_part_has_a_layer(void)
{
	static const double last[] = {0, 1, 1, 1, 1, 100}, first[] = {0, 100, 1, 1, 1, 1};
	struct arena *arena = arena_new();
	CHECK_TEXT(cut(arena, last, 6, 0, 3), "000012 001234");
	CHECK_TEXT(cut(arena, first, 6, 0, 3), "001222 001234");
	CHECK_TEXT(cut(arena, first, 6, 0, 5), "001234 001234");
	CHECK_TEXT(cut(arena, first, 6, 0, 6), "none");
	arena_free(arena);
}

/* Layer 5 takes the output of layer 2, too. So layers 3 to 5 are one unit, and no cut is inside it.
 * A cut after layer 2 and one after layer 5 are equally near to the half, and the later one is
 * taken. */
static void no_cut_is_beside_a_residual_connection(void)
{
	static const double even[] = {0, 1, 1, 1, 1, 1, 1, 1};
	struct arena *arena = arena_new();
	CHECK_TEXT(cut(arena, even, 8, 5, 2), "00000011 00122234");
	CHECK_TEXT(cut(arena, even, 8, 5, 4), "00011123 00122234");
	CHECK_TEXT(cut(arena, even, 8, 5, 6), "none");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(parts_have_about_equal_arithmetic),
	TEST(each_part_has_a_layer),
	TEST(no_cut_is_beside_a_residual_connection),
};

int main(void)
{
	return TEST_MAIN(tests);
}
