/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Baselines that were computed before.
 *
 * A client's ratio is taken to the same program alone beside its GPU. That run
 * uses neither the runtime nor any network: over a sweep of the wire it is the
 * same run again and again, a quarter of the work. Here it is kept under all
 * that it can depend on: every resolved parameter of the case, with its exact
 * value, but those of the runtime, of its transport and of links that a local
 * driver's copies cannot take (all but PCIe, NVLink and sockets' links); the
 * client's place; the seed. So what comes out is never another number than
 * without. Files do not change while a sweep reads them.
 */
#ifndef FARWIRE_PREDICT_BASELINES_H
#define FARWIRE_PREDICT_BASELINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct scenario;
struct baselines; /* for any number of threads */

struct baselines *baselines_new(void);
void baselines_free(struct baselines *baselines); /* NULL is fine */

struct baseline_key {
	const char *bytes;
	size_t size_B;
	uint64_t hash;
};
/* In arena. */
struct baseline_key baseline_key(struct arena *arena, const struct scenario *scenario,
				 size_t client, uint64_t seed);
bool baselines_find(struct baselines *baselines, struct baseline_key key, double *throughput);
/* Keeps a copy of the key; of a few thousand keys, then of no more. */
void baselines_add(struct baselines *baselines, struct baseline_key key, double throughput);

#endif
