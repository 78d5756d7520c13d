/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/probe.h"

#define PROBE(name) extern const struct probe probe_##name;
#include "calib/probe/probes.def"
#undef PROBE

const struct probe *const probes[] = {
#define PROBE(name) &probe_##name,
#include "calib/probe/probes.def"
#undef PROBE
	NULL,
};
