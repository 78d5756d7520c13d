/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the probes of probes.def. */
#pragma once

#include "calib/host/probe.h"

#define HOST_PROBE(name) extern const struct host_probe name;
#include "calib/host/probes.def"
#undef HOST_PROBE
