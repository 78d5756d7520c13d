/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of farwire-probe, which measures the timing of a machine's GPU, its driver and
 * its links. */
#pragma once

#include "calib/probe/gpu.h"

/* Does what the words after the name of the program say, and returns the exit code. */
int probe_command(const struct gpu_api *device, int count, char **words);
