/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of farwire-probe. */
#include "calib/probe/gpu.h"

const struct gpu_api *const gpu_devices[] = {&gpu_cuda, &gpu_spin, &gpu_fake, NULL};
