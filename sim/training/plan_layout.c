/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads how many blocks each part of a pipeline has, as Megatron-LM writes it
 * (megatron/core/transformer/pipeline_parallel_layer_layout.py):
 *
 *   Et*3|(tt|)*29L
 *
 * A bar divides parts. t is a block, E the embedding, L logits and loss. "t*3" and "(tt|)*29"
 * repeat, and commas have no meaning. */
#include "sim/base/vec.h"
#include "sim/training/plan.h"

enum { REPEATS_MOST = 4096, PARTS_MOST = 65536, BLOCKS_MOST = 65536 };

struct pipeline_layout {
	struct arena *arena;
	VEC(size_t) blocks; /* by part */
	bool begun, ended;  /* the embedding and the loss were read */
	const char *why;
};

static bool fails(struct pipeline_layout *l, const char *why)
{
	l->why = arena_printf(
		l->arena,
		"plan.layout: %s (write for example Et*3|(tt|)*29L for 61 blocks in 31 "
		"parts)",
		why);
	return false;
}

static bool take(struct pipeline_layout *l, char letter)
{
	if (letter == 'm')
		return fails(l, "layers that predict a second token (m) are not simulated");
	if (!strchr("EtL|", letter))
		return fails(l, "a letter is not one of E, t, L and |");
	if ((letter == 'E') == l->begun)
		return fails(l, "E, the embedding, must come first and once");
	if (l->ended)
		return fails(l, "L, logits and loss, must come last and once");
	l->begun = true;
	l->ended = letter == 'L';
	l->blocks.items[l->blocks.count - 1] += letter == 't';
	if (l->blocks.items[l->blocks.count - 1] > BLOCKS_MOST || l->blocks.count > PARTS_MOST)
		return fails(l, "there are more than 65536 parts, or blocks in a part");
	if (letter == '|')
		*VEC_PUSH(l->arena, &l->blocks) = 0;
	return true;
}

static bool read_part(struct pipeline_layout *l, const char *at, const char *end)
{
	while (at < end) {
		const char *first = at, *last = at + 1;
		size_t times = 1;
		if (*at == ',') {
			at++;
			continue;
		}
		if (*at == '(') {
			first = at + 1;
			last = memchr(at, ')', (size_t)(end - at));
			if (!last)
				return fails(l, "a parenthesis is not closed");
		}
		at = last + (*at == '(');
		if (at < end && *at == '*') {
			char *behind;
			times = strtoul(at + 1, &behind, 10);
			if (behind == at + 1 || times < 1 || times > REPEATS_MOST)
				return fails(l, "a number behind * is not from 1 to 4096");
			at = behind;
		}
		for (size_t i = 0; i < times; i++)
			if (last - first > 1 ? !read_part(l, first, last) : !take(l, *first))
				return false;
	}
	return true;
}

static bool read_layout(struct pipeline_layout *l, const char *text)
{
	*VEC_PUSH(l->arena, &l->blocks) = 0;
	bool good = read_part(l, text, text + strlen(text));
	if (good && !l->ended)
		good = fails(l, "it does not end with L, logits and loss");
	for (size_t i = 1; good && i + 1 < l->blocks.count; i++)
		if (l->blocks.items[i] == 0)
			good = fails(l, "a part is empty");
	return good;
}

size_t plan_layout_parts(struct arena *arena, const char *text, const char **why)
{
	struct pipeline_layout l = {.arena = arena};
	bool good = read_layout(&l, text);
	*why = l.why;
	return good ? l.blocks.count : 0;
}

const size_t *plan_layout(struct arena *arena, const char *text, size_t part_count,
			  size_t block_count, const char **why)
{
	struct pipeline_layout l = {.arena = arena};
	size_t all = 0;
	bool good = read_layout(&l, text);
	for (size_t i = 0; i < l.blocks.count; i++)
		all += l.blocks.items[i];
	if (good && (l.blocks.count != part_count || all != block_count))
		good = fails(&l,
			     arena_printf(arena,
					  "it has %zu parts and %zu blocks, but the plan has %zu "
					  "(pp times chunks) and the network %zu",
					  l.blocks.count, all, part_count, block_count));
	*why = l.why;
	return good ? l.blocks.items : NULL;
}
