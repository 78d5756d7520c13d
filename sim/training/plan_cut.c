/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts a network without repeated blocks into the parts of a pipeline. */
#include "sim/training/plan.h"

/* Returns true if no layer behind `layer` takes the output of a layer before it. */
static bool can_cut_after(const struct network *network, size_t layer)
{
	for (size_t i = layer + 1; i < network->layer_count; i++)
		for (size_t k = 0; k < network->layers[i].input_count; k++)
			if (network->layers[i].inputs[k] < layer)
				return false;
	return true;
}

static double macs_up_to(const struct network *network, size_t layer)
{
	double macs = 0;
	for (size_t i = 0; i <= layer; i++)
		macs += network->layers[i].macs;
	return macs;
}

/* Sets cuts[i] to the last layer of part i, so that the parts have about equal arithmetic. */
static void choose_cuts(const struct network *network, size_t part_count, const size_t *possible,
			size_t count, size_t *cuts)
{
	double all = macs_up_to(network, network->layer_count - 1);
	size_t next = 0;
	for (size_t p = 0; p + 1 < part_count; p++) {
		double wanted = all * (double)(p + 1) / (double)part_count;
		size_t last = count - (part_count - 1 - p); /* leaves a cut for each later part */
		while (next < last && fabs(macs_up_to(network, possible[next + 1]) - wanted) <=
					      fabs(macs_up_to(network, possible[next]) - wanted))
			next++;
		cuts[p] = possible[next++];
	}
	cuts[part_count - 1] = network->layer_count - 1;
}

size_t plan_cut(struct arena *arena, const struct network *network, size_t part_count,
		size_t *parts, size_t *units)
{
	size_t *possible = ARENA_ARRAY(arena, network->layer_count, size_t), count = 0;
	size_t *cuts = ARENA_ARRAY(arena, part_count, size_t), unit = 0, part = 0;
	for (size_t i = 1; i + 1 < network->layer_count; i++)
		if (can_cut_after(network, i))
			possible[count++] = i;
	if (count + 1 < part_count)
		return 0;
	choose_cuts(network, part_count, possible, count, cuts);
	for (size_t i = 0; i < network->layer_count; i++) {
		parts[i] = part;
		units[i] = unit;
		part += i == cuts[part];
		unit += unit < count && i == possible[unit];
	}
	return unit + 1;
}
