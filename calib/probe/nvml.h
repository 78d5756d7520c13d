/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML, found when the program runs, tells of a GPU. It is only asked: no
 * clock, power limit or mode is ever changed. */
#ifndef FARWIRE_CALIB_PROBE_NVML_H
#define FARWIRE_CALIB_PROBE_NVML_H

#include "calib/probe/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in driver, PCIe link, clock and throttling, as far as they are known. */
void nvml_describe(const char *pci_bus, struct gpu_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
