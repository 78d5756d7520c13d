/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Baselines that were computed before.
 *
 * A client's ratio is taken to the same program alone beside its GPU. That run
 * uses neither the runtime nor any network: over a sweep of the wire it is the
 * same run again and again, a quarter of the work. A job begins with the step of
 * one GPU alone, simulated call by call, which knows neither exchange nor wires:
 * the same on any number of GPUs. Here both are kept, under all that they can
 * depend on: every resolved parameter of the case, with its exact value, but
 * those of the runtime, of its transport and of links that a local driver's
 * copies cannot take (all but PCIe, NVLink and sockets' links), of a job's also
 * those of exchange, library, input and storage; the place; the seed. So what
 * comes out is never another number than without. (Of all GPUs and links that a
 * cluster has, too: with other machines it is another key.) Files do not change
 * while they are kept.
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
/* Both in arena. */
struct baseline_key baseline_key(struct arena *arena, const struct scenario *scenario, size_t job,
				 uint64_t seed);
/* Of the scenario's only job: what world_run says of it as solo_step_s. */
struct baseline_key baseline_solo_key(struct arena *arena, const struct scenario *scenario,
				      uint64_t seed);
bool baselines_find(struct baselines *baselines, struct baseline_key key, double *value);
/* Keeps a copy of the key; of the last few thousand. */
void baselines_add(struct baselines *baselines, struct baseline_key key, double value);

#endif
