/* SPDX-License-Identifier: Apache-2.0 */
/* Which cores a thread may use. A round trip between two processes takes five
 * times as long where each has a core than where they take turns on one, and the
 * kernel chooses anew for each connection; so for a server of our own it is laid
 * down: the prober's core is one, the server's the others.
 */
#ifndef FARWIRE_CALIB_HOST_CORE_H
#define FARWIRE_CALIB_HOST_CORE_H

#include <stdbool.h>

struct core_set {
	unsigned char bits[128]; /* of 1024 cores */
};
/* The calling thread's, for core_restore(); false: not on this system. */
bool core_save(struct core_set *set);
/* Keeps the calling thread, and those that it begins, to the first core of the
 * set or to all others; false, and nothing done, if there are no two. */
bool core_keep(const struct core_set *set, bool first);
void core_restore(const struct core_set *set);

#endif
