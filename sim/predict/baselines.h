/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores baselines that were computed before.
 *
 * The ratio of a client compares it with the same program on its GPU with the local driver.
 * That run depends neither on the runtime nor on the network. It is the same for all points of a
 * sweep over a network parameter, and takes a quarter of the work. A job begins with the step of
 * one GPU without other ranks, simulated call by call. That step does not depend on the exchange
 * or the network and is the same for any number of GPUs.
 *
 * The key of a stored value is a hash of everything on which it can depend: the exact values of the
 * case's parameters, the GPUs and links, the place and the seed. Left out are parameters that
 * cannot have an influence. For clients these are the parameters of the runtime, its transport,
 * and links that carry no copies of a local driver (all but PCIe, NVLink and socket links). For
 * jobs these are also the parameters of exchange, library, input and storage. Results are
 * therefore the same with and without stored baselines. The key assumes that input files do not
 * change while it is in use. */
#pragma once

#include "sim/base/base.h"

struct scenario;
struct baselines; /* may be used by several threads at the same time */

struct baselines *baselines_new(void);
void baselines_free(struct baselines *baselines); /* accepts NULL */

uint64_t baseline_key(const struct scenario *scenario, size_t job, uint64_t seed);
/* Returns the key for solo_step_s of the scenario's only job (sim/workload/job.h). */
uint64_t baseline_solo_key(const struct scenario *scenario, uint64_t seed);
bool baselines_find(struct baselines *baselines, uint64_t key, double *value);
/* At most a few thousand values are stored. */
void baselines_add(struct baselines *baselines, uint64_t key, double value);
