/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of farwire-probe-fake, which needs no nvcc. */
#include "calib/probe/gpu.h"

const struct gpu_api *const gpu_devices[] = {&gpu_fake, &gpu_spin, NULL};
