/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tcp_probe/sizes.h"

#include <math.h>

static bool has(const struct sizes *sizes, double size_B)
{
	for (size_t i = 0; i < sizes->count; i++)
		if (sizes->size_B[i] <= size_B && sizes->size_B[i] >= size_B)
			return true;
	return false;
}

struct sizes sizes_between(double least_B, double most_B, double step, size_t random_count,
			   struct plan_random *random)
{
	const size_t room = sizeof((struct sizes){0}.size_B) / sizeof(double);
	struct sizes sizes = {0};
	for (double size_B = least_B; size_B <= most_B && sizes.count < room; size_B *= step)
		sizes.size_B[sizes.count++] = size_B;
	for (size_t i = 0; i < random_count && sizes.count < room; i++) {
		double part = ((double)i + plan_random_part(random)) / (double)random_count;
		double size_B = floor(least_B * pow(most_B / least_B, part)) + 1;
		if (has(&sizes, size_B))
			continue;
		sizes.held_out[sizes.count] = true;
		sizes.size_B[sizes.count++] = size_B;
	}
	return sizes;
}
