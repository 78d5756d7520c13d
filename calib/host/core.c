/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* for sched_setaffinity() */
#include "calib/host/core.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

bool core_save(struct core_set *set)
{
	cpu_set_t cores;
	CPU_ZERO(&cores);
	if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
		return false;
	memcpy(set->bits, &cores, sizeof(set->bits));
	return true;
}

bool core_keep(const struct core_set *set, bool first)
{
	cpu_set_t all, kept;
	size_t chosen = 0;
	memcpy(&all, set->bits, sizeof(all));
	if (CPU_COUNT(&all) < 2)
		return false;
	while (!CPU_ISSET(chosen, &all))
		chosen++;
	CPU_ZERO(&kept);
	CPU_SET(chosen, &kept);
	if (!first)
		CPU_XOR(&kept, &kept, &all);
	return sched_setaffinity(0, sizeof(kept), &kept) == 0;
}

void core_restore(const struct core_set *set)
{
	cpu_set_t all;
	memcpy(&all, set->bits, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}
