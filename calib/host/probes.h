/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the probes of probes.def. */
#ifndef FARWIRE_CALIB_HOST_PROBES_H
#define FARWIRE_CALIB_HOST_PROBES_H

#include "calib/host/probe.h"

#define HOST_PROBE(name) extern const struct host_probe name;
#include "calib/host/probes.def"
#undef HOST_PROBE

#endif
