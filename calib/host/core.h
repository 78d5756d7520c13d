/* SPDX-License-Identifier: Apache-2.0 */
/* Binds threads to cores. A round trip between two processes takes five times as long on two cores
 * as on one core that they share, and the kernel chooses anew for each connection. Therefore the
 * choice is fixed for a local server: the prober uses one core, the server all others.
 */
#pragma once

#include <stdbool.h>

struct core_set {
	unsigned char bits[128]; /* for 1024 cores */
};
/* Stores the cores of the calling thread for core_restore(). Returns false if the system refuses.
 */
bool core_save(struct core_set *set);
/* Binds the calling thread, and threads that it creates, to the first core of the set or to all
 * other cores. Returns false and does nothing if the set has only one core. */
bool core_keep(const struct core_set *set, bool first);
void core_restore(const struct core_set *set);
