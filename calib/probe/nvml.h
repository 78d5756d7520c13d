/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts on a GPU from NVML, which is loaded at run time. Clocks, power limits and modes are
 * never changed. */
#pragma once

#include "calib/probe/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in driver, PCIe link, clock and throttling, as far as they are known. */
void nvml_describe(const char *pci_bus, struct gpu_facts *facts);

#ifdef __cplusplus
}
#endif
